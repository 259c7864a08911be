// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "evidence/evidence.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crypto.h"

int pfp_evidence_wants(const struct pfp_evidence *evidence, uint8_t class_, uint8_t number) {
  return pfc_config_find(evidence->asked, class_, number) >= 0;
}

struct pfp_record *pfp_evidence_add(struct pfp_evidence *evidence, uint8_t class_, uint8_t number, const char *name,
                                    const uint8_t *digest) {
  struct pfp_record *record;
  size_t size = strlen(name);
  if (evidence->failed || !pfp_evidence_wants(evidence, class_, number)) return NULL;
  if (evidence->count == evidence->capacity) {
    size_t capacity = evidence->capacity != 0 ? 2 * evidence->capacity : 128;
    struct pfp_record **grown = realloc(evidence->records, capacity * sizeof *grown);
    if (grown == NULL) {
      evidence->failed = 1;
      return NULL;
    }
    evidence->records = grown;
    evidence->capacity = capacity;
  }
  record = calloc(1, sizeof *record);
  if (record == NULL) {
    evidence->failed = 1;
    return NULL;
  }
  if (size > PFC_NAME_MAX) size = PFC_NAME_MAX;
  record->class_ = class_;
  record->number = number;
  record->name_size = (uint8_t)size;
  memcpy(record->name, name, size);
  if (digest != NULL) {
    record->present = 1;
    memcpy(record->digest, digest, PFC_DIGEST_BYTES);
  }
  evidence->records[evidence->count++] = record;
  return record;
}

void pfp_record_note(struct pfp_record *record, int alarm, const char *format, ...) {
  va_list arguments;
  if (record == NULL) return;
  record->alarm = (uint8_t)alarm;
  free(record->note);
  va_start(arguments, format);
  if (vasprintf(&record->note, format, arguments) < 0) record->note = NULL;
  va_end(arguments);
}

/// Names compare as bytes, a prefix before its extensions, as docs/SPEC.md section 4 has it.
static int compare(const void *left, const void *right) {
  const struct pfp_record *a = *(struct pfp_record *const *)left;
  const struct pfp_record *b = *(struct pfp_record *const *)right;
  size_t common = a->name_size < b->name_size ? a->name_size : b->name_size;
  int order;
  if (a->class_ != b->class_) return a->class_ < b->class_ ? -1 : 1;
  if (a->number != b->number) return a->number < b->number ? -1 : 1;
  order = memcmp(a->name, b->name, common);
  if (order != 0) return order;
  return (a->name_size > b->name_size) - (a->name_size < b->name_size);
}

void pfp_evidence_sort(struct pfp_evidence *evidence) {
  if (evidence->count > 1) qsort(evidence->records, evidence->count, sizeof *evidence->records, compare);
}

void pfp_evidence_free(struct pfp_evidence *evidence) {
  for (size_t i = 0; i < evidence->count; i++) {
    free(evidence->records[i]->note);
    pfc_wipe(evidence->records[i], sizeof *evidence->records[i]);
    free(evidence->records[i]);
  }
  free(evidence->records);
  memset(evidence, 0, sizeof *evidence);
}
