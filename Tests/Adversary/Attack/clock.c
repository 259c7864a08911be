// SPDX-License-Identifier: Apache-2.0

// The app's clock, which a command sets forward or back: the system's own clock would change for every process. Linked
// with --wrap=clock_gettime.

#define _GNU_SOURCE
#include "clock.h"

static time_t shift;

void clock_shift(long seconds) { shift = seconds; }

int __wrap_clock_gettime(clockid_t clock, struct timespec *now) {
  int result = __real_clock_gettime(clock, now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += shift;
  return result;
}
