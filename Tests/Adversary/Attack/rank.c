// SPDX-License-Identifier: Apache-2.0

// Set-user-id root: ends with 0 if that made its caller root.

#include <unistd.h>

int main(void) { return geteuid() == 0 ? 0 : 1; }
