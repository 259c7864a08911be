// SPDX-License-Identifier: Apache-2.0

/// One thread at a time, in an order that the test chooses: every order with few deviations, one run for each.
///
/// The linker puts the functions of schedule.c before those of pthread that files_*.c calls (--wrap). A thread goes on
/// until it waits, and then the first that is ready goes on. Deviations are another thread then, and another thread
/// before a lock is taken. If no thread can go on, the run hangs, and that is known at once: no clock is asked.

#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct schedule {
  unsigned deviations;  ///< At most, in one run
  /// Called before the step of this number, or never if 0. Timed waits end once it was called.
  uint64_t interrupt_at;
  void (*interrupt)(void *user);
  void *user;
};

/// The outcome of a run.
struct schedule_run {
  uint64_t steps;
  bool interrupted;
};

/// Begins with the first order. The calling thread is the first of the run's.
void schedule_begin(const struct schedule *schedule);
/// Begins a run: nothing may run but the caller.
void schedule_start(void);
/// Ends it. The schedule is no longer in force.
struct schedule_run schedule_stop(void);
/// The next order; false after the last.
bool schedule_next(void);

/// Called when no thread can go on; must not return.
extern void (*schedule_hangs)(void);
/// The order at hand, for people: the choices that were not the first.
const char *schedule_words(void);

#endif
