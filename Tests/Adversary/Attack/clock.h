// SPDX-License-Identifier: Apache-2.0

#ifndef CLOCK_H
#define CLOCK_H

#include <time.h>

/// From now on the time of day is this many seconds ahead of the system's.
void clock_shift(long seconds);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __real_clock_gettime(clockid_t clock, struct timespec *now);

#endif
