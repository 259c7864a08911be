// SPDX-License-Identifier: Apache-2.0

/// The records of one measurement, gathered before any is folded: so the order of collection is free, and a finding can
/// still be told in words.

#ifndef PFP_EVIDENCE_H
#define PFP_EVIDENCE_H

#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "wire.h"

/// Whether a record says by itself that something is wrong, whatever the baseline said.
enum pfp_alarm {
  PFP_ALARM_NONE = 0,
  PFP_ALARM_UNEXPLAINED = 1,  ///< Nothing explains that it is there. An app that does not declare its plugins has many.
  PFP_ALARM_CHANGED = 2       ///< It is not what it was when it was made or loaded.
};

struct pfp_record {
  uint8_t class_;
  uint8_t number;
  uint8_t present;  ///< 0: could not be read, `digest` means nothing
  uint8_t alarm;    ///< enum pfp_alarm
  uint8_t name_size;
  char name[PFC_NAME_MAX + 1];
  uint8_t digest[PFC_DIGEST_BYTES];
  char *note;  ///< The finding in words; NULL for nothing special. Never part of a digest
};

struct pfp_evidence {
  const struct pfc_config *asked;  ///< Records of sources that it does not ask for are dropped.
  struct pfp_record **records;
  size_t count;
  size_t capacity;
  int failed;  ///< Out of memory, once and for all
};

/// Adds one record and returns it, or NULL if it was not asked for or memory is out. A NULL digest means absent.
struct pfp_record *pfp_evidence_add(struct pfp_evidence *evidence, uint8_t class_, uint8_t number, const char *name,
                                    const uint8_t *digest);

/// 1 if the configuration asks for this source.
int pfp_evidence_wants(const struct pfp_evidence *evidence, uint8_t class_, uint8_t number);

/// Gives a record words, and marks it as suspicious by itself or not (enum pfp_alarm).
void pfp_record_note(struct pfp_record *record, int alarm, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// Brings records into the order of a measurement.
void pfp_evidence_sort(struct pfp_evidence *evidence);

/// Wipes the records: digests of the device unwrap its proof key.
void pfp_evidence_free(struct pfp_evidence *evidence);

#endif
