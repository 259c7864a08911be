// SPDX-License-Identifier: Apache-2.0

/// Shared by the suites about watching: one record of the debugger's source, and a child to look in.

#ifndef PROCESS_SIGHT_H
#define PROCESS_SIGHT_H

#include "ProofProbe.h"

#define BREAKPOINTS "hardware breakpoints"

struct sight_record {
  const char *name;
  int seen, present;
  uint8_t digest[PFC_DIGEST_BYTES];
};

/// A sink for `pfp_probe_collect`: keeps the record of this name. The context is the `sight_record`.
int sight_keep(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
               const uint8_t *digest);
/// A configuration that asks for one source of the environment.
struct pfc_config sight_draft(uint8_t number);
/// One record of the debugger's source, from one measurement.
int sight_look(struct sight_record *record, struct pfp_probe *probe, const char *name);
int sight_says(const struct sight_record *record, const char *fact);
/// The exit status of a child that runs this with a probe of its own.
int sight_in_child(int (*run)(struct pfp_probe *));
/// A hardware breakpoint of the calling thread, as perf sets it on a program before it executes it; -1 with `errno`.
int sight_breakpoint(void);
/// Whether this kernel lets a process ask for breakpoints at all; containers and some distributions do not.
int sight_can_ask(void);

#endif
