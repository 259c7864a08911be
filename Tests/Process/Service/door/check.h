// SPDX-License-Identifier: Apache-2.0

/// Words of the programs beside the door, where something is not as it should be.

#ifndef DOOR_CHECK_H
#define DOOR_CHECK_H

#include <sched.h>
#include <stdio.h>
#include <time.h>

static unsigned failures;

/// Counts, and names the line and the row of a table, if `holds` is 0. Whether it holds.
#define CHECK(holds, row) check((holds) ? 1 : 0, #holds, (row), __LINE__)

/// Leaves the processor to other threads until `holds`, for a minute at most. The line after it checks which it was.
#define AWAIT(holds) \
  for (const time_t await_end = time(NULL) + 60; !(holds) && time(NULL) < await_end;) sched_yield()

static inline int check(int holds, const char *words, const char *row, int line) {
  if (!holds) {
    failures += 1;
    fprintf(stderr, "line %d: %s (%s)\n", line, words, row);
  }
  return holds;
}

#endif
