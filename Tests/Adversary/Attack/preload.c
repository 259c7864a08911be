// SPDX-License-Identifier: Apache-2.0

// A library that preloads itself over the app's own, and hides the variable that brought it.

#define _GNU_SOURCE
#include <stdlib.h>

int sample_may_open(int door);

int sample_may_open(int door) { return door < 0 ? -1 : 1; }

__attribute__((constructor)) static void hide(void) { (void)unsetenv("LD_PRELOAD"); }
