// SPDX-License-Identifier: Apache-2.0

/// One hardware's scripted life, and a witness who remembers what the hardware has answered. For power cuts: whatever
/// was answered must still be so after the power comes back.

#ifndef LIFE_H
#define LIFE_H

#include "world.h"

enum { LIFE_APPS = 5, LIFE_STEPS = 36, LIFE_TRACE_MAX = 2 * (PFC_SLOTS + 1) + 8 };

/// Answers of the hardware about one app instance, as the outside saw them.
struct witness {
  uint32_t generation;  ///< Held
  uint64_t issued;
  uint32_t uses;      ///< Left
  uint16_t attempts;  ///< Left
  uint32_t revoked;   ///< Up to this generation
  uint64_t revoked_issued;
};

/// One write of a step that nothing interrupted.
struct life_write {
  unsigned record;
  size_t size;
  uint8_t bytes[PFC_RECORD_BYTES_MAX];
};

/// Everything, so that a copy of it is a moment to come back to.
struct life {
  struct world world;
  struct app apps[LIFE_APPS];
  struct witness witnesses[LIFE_APPS];
  uint64_t epoch;                     ///< Answered
  uint64_t floor;                     ///< Answered
  bool provisioned;                   ///< Answered
  bool done_twice;                    ///< A command was done that had been done before
  uint8_t done[64][PFC_NONCE_BYTES];  ///< Nonces of the commands done so far
  unsigned done_count;
  struct app last;  ///< App that sent the last command, with it
};

/// Hardware fresh from the factory, nothing written yet.
void life_begin(struct life *life, uint64_t seed);

/// Does one step of the life, as its app or backend would, and lets the witness hear what is answered while there is
/// power. `strict`: nothing was interrupted so far, and every verdict is the script's.
void life_step(struct life *life, unsigned step, bool strict);

/// The step's name, for people.
const char *life_step_name(unsigned step);

/// Whether this step writes a new, empty ledger over the old one.
bool life_step_provisions(unsigned step);

/// Compares what the hardware knows after a start with what the witness heard.
void life_check(struct life *life);

#endif
