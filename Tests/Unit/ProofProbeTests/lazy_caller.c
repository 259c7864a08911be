// SPDX-License-Identifier: Apache-2.0

/// A library of its own, whose link to a function of libc's is bound when it is first used.

#include <unistd.h>

pid_t call_late(void);

pid_t call_late(void) { return getppid(); }
