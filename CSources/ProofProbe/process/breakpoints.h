// SPDX-License-Identifier: Apache-2.0

/// The processor's breakpoints of one thread, held so that no other program has one.

#ifndef PFP_BREAKPOINTS_H
#define PFP_BREAKPOINTS_H

#include <pthread.h>
#include <semaphore.h>
#include <sys/types.h>

/// More than any processor has.
#define PFP_BREAKPOINTS_MAX 32u
/// x86-64 has four, for code and data together.
#define PFP_BREAKPOINTS_X86 4u

/// Stays at its address while it is held.
struct pfp_hold {
  unsigned code, data;  ///< How many of each were free; x86-64 has one kind, counted as code
  int error;            ///< ENOSPC: all that were free are held. Otherwise why the kernel gave no answer
  // The module's own
  pid_t thread;
  int helped;
  pthread_t helper;
  sem_t taken, ended;
};

/// Takes all that are free for the calling thread.
void pfp_hold_take(struct pfp_hold *hold);
/// In the same process: frees them.
void pfp_hold_release(struct pfp_hold *hold);

#endif
