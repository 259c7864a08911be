// SPDX-License-Identifier: Apache-2.0

/// One app on one device: a key, a configuration, its evidence. What config, measurement, leaf and emit tests share.

#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ProofCore.h"

/// One observation, as a collector would hand it over.
struct evidence {
  uint8_t class_;
  uint8_t number;
  bool absent;
  size_t name_size;
  uint8_t name[PFC_NAME_MAX];
  uint8_t digest[PFC_DIGEST_BYTES];
};

enum { SAMPLE_RECORDS = 12 };

struct sample {
  uint8_t mpk[PFC_KEY_BYTES];
  struct pfc_key key;
  struct pfc_config draft;  ///< Configuration that a service fills in
  struct pfc_config config;
  uint8_t bytes[PFC_CONFIG_BYTES_MAX];
  size_t size;
  struct evidence records[SAMPLE_RECORDS];
};

/// Six sources in 18 groups, 12 records, made from `seed`; complete, with its baseline.
void sample_make(struct sample *sample, uint64_t seed);

/// Only the draft and the key.
void sample_draft(struct sample *sample, uint64_t seed);

struct evidence evidence_make(uint8_t class_, uint8_t number, const char *name, const char *content);

/// A whole baseline, measurement or comparison in one call; answers as the core's last function did, or the first that
/// refused.
int baseline(struct pfc_config *config, const struct pfc_config *draft, const struct pfc_key *key,
             const struct evidence *records, size_t count);
int measure(struct pfc_measured *measured, const uint8_t *config, size_t size, const struct pfc_key *key,
            const struct evidence *records, size_t count);
int compare(struct pfc_difference *difference, const uint8_t *config, size_t size, const struct pfc_key *key,
            const struct evidence *records, size_t count);
/// Adds records to a fold; PFC_OK, or the first refusal.
int add(struct pfc_measurement *fold, const struct evidence *records, size_t count);

/// Puts the right tag under a configuration's altered bytes, from docs/SPEC.md section 5 alone.
void retag(uint8_t *config, size_t size);

#endif
