// SPDX-License-Identifier: Apache-2.0

/// Looks at what can watch this process while it runs: tracers, breakpoints in the processor's debug registers, and the
/// personality it was started with. A measurement looks once, as its last act; what is made of the measurement is
/// released by a second look (`pfp_release`).

#ifndef PFP_WATCH_H
#define PFP_WATCH_H

#include <stdint.h>

#include "process/process.h"

/// One look.
struct pfp_sight {
  int tracer;            ///< 1 a thread is traced, 0 none is, -1 cannot be told
  int every_tracer;      ///< 1 if a tracer outside of this process namespace would be seen; asked if none is seen
  int breakpoints;       ///< enum pfp_breakpoints
  unsigned free_code, free_data;  ///< Breakpoints that were free, of the kinds that this processor keeps apart
  int personality_told;  ///< 0: `personality` means nothing
  unsigned long personality;
};

enum pfp_breakpoints {
  PFP_BREAKPOINTS_UNTOLD = 0,  ///< The kernel does not let this process ask, or has none to give.
  PFP_BREAKPOINTS_FREE = 1,    ///< All that an x86-64 processor has were free.
  PFP_BREAKPOINTS_IN_USE = 2,  ///< At least one was not.
  PFP_BREAKPOINTS_COUNTED = 3  ///< On a processor whose number of breakpoints only the baseline knows.
};

/// Asks. 0, or -1 if no descriptor or memory is left, which says nothing about who is watching.
int pfp_watch_look(struct pfp_sight *sight, const struct pfp_process *process);

/// Records of source PFP_ENVIRONMENT_TRACER.
void pfp_watch_report(struct pfp_evidence *evidence, const struct pfp_sight *sight);

/// Remembers this look as the measuring thread's, for `pfp_release`; NULL remembers that the source was not asked for.
void pfp_watch_remember(const struct pfp_sight *sight);

/// Holds the calling thread's breakpoints until `pfp_watch_end`. Calls nest. Without right or descriptor it holds none,
/// and the look says so.
void pfp_watch_begin(void);
void pfp_watch_end(void);

/// The step that a released proof follows.
enum pfp_release_after {
  PFP_AFTER_MEASUREMENT = 0,  ///< This thread's last measurement
  PFP_AFTER_PROOF = 1         ///< The proof that this thread released last, in the same message
};

/// Looks again and turns a proof into another one if the answer is not that of the look before. PFP_OK, or
/// PFP_E_RESOURCE: the proof is then all zeros.
int pfp_release(uint8_t proof[PFC_PROOF_BYTES], const struct pfp_process *process, enum pfp_release_after after);

#endif
