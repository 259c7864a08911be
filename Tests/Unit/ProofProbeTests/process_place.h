// SPDX-License-Identifier: Apache-2.0

/// A place to measure in: a bundle of three files and a storage of its own, in a folder on a disk.

#ifndef PROCESS_PLACE_H
#define PROCESS_PLACE_H

#include <stdbool.h>

#include "ProofProbe.h"

struct place {
  char folder[64], bundle[96], storage[96];
};
extern struct place place;

/// False, and the test has failed, if it cannot be made.
bool place_begin(void);
void place_finish(void);
/// Writes a file of the bundle.
void place_write(const char *name, const char *text);
/// A probe that looks at the place.
struct pfp_probe *place_probe(void);

/// Nanoseconds that are added to the clock by which a file has settled.
extern uint64_t place_ahead;

/// A configuration that asks for everything.
struct pfc_config place_draft(uint8_t policy, uint8_t salt);

struct baseline {
  uint8_t bytes[PFC_CONFIG_BYTES_MAX];
  size_t size;
  struct pfc_config config;
};

/// The key of every baseline here.
struct pfc_key place_key(void);
bool baseline_take(struct baseline *baseline, struct pfp_probe *probe, uint8_t policy, uint8_t salt);
int baseline_measure(struct pfc_measured *measured, struct pfp_probe *probe, const struct baseline *baseline);
/// The same memory each time.
const struct pfp_diagnosis *baseline_diagnose(struct pfp_probe *probe, const struct baseline *baseline);

/// Every record as one line of bytes, for comparison.
struct listing {
  uint8_t bytes[1 << 16];
  size_t size;
  unsigned absent;
};

/// A sink for `pfp_probe_collect`; the context is the listing.
int listing_add(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                const uint8_t *digest);
bool listing_collect(struct listing *listing, struct pfp_probe *probe, uint8_t policy);
bool listing_same(const struct listing *a, const struct listing *b);

#endif
