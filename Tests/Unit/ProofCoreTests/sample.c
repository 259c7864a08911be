// SPDX-License-Identifier: Apache-2.0

#include "sample.h"

#include <string.h>

#include "harness.h"

struct evidence evidence_make(uint8_t class_, uint8_t number, const char *name, const char *content) {
  struct evidence record;
  struct pfc_hash hash;
  memset(&record, 0, sizeof record);
  record.class_ = class_;
  record.number = number;
  record.name_size = strlen(name);
  memcpy(record.name, name, record.name_size);
  record.absent = content == NULL;
  if (content != NULL) {
    pfc_hash_init(&hash);
    pfc_hash_update(&hash, content, strlen(content));
    pfc_hash_final(record.digest, &hash);
  }
  return record;
}

void sample_draft(struct sample *sample, uint64_t seed) {
  static const struct pfc_source sources[] = {
      {PFC_CLASS_DEVICE, 1, 1, 0}, {PFC_CLASS_DEVICE, 2, 1, 1},      {PFC_CLASS_APP, 1, 2, 3},
      {PFC_CLASS_APP, 3, 1, 2},    {PFC_CLASS_ENVIRONMENT, 1, 1, 0}, {PFC_CLASS_ENVIRONMENT, 9, 5, 1},
  };
  struct dice dice = {seed};
  memset(sample, 0, sizeof *sample);
  dice_fill(&dice, sample->mpk, sizeof sample->mpk);
  sample->key = pfc_key_plain(sample->mpk, PFC_MODE_PRODUCTION);
  dice_fill(&dice, sample->draft.salt, sizeof sample->draft.salt);
  sample->draft.policy = PFC_POLICY_FULL;
  sample->draft.limit_log2 = 30;
  sample->draft.generation = 7;
  sample->draft.source_count = sizeof sources / sizeof sources[0];
  memcpy(sample->draft.sources, sources, sizeof sources);
}

void sample_make(struct sample *sample, uint64_t seed) {
  static const struct {
    uint8_t class_, number;
    const char *name, *content;
  } records[SAMPLE_RECORDS] = {
      {PFC_CLASS_DEVICE, 1, "machine-id", "d0"},
      {PFC_CLASS_DEVICE, 2, "board", NULL},
      {PFC_CLASS_DEVICE, 2, "cpu", "d2"},
      {PFC_CLASS_APP, 1, "a", "a0"},
      {PFC_CLASS_APP, 1, "a.so", "a1"},
      {PFC_CLASS_APP, 1, "b", "a2"},
      {PFC_CLASS_APP, 1, "main", "a3"},
      {PFC_CLASS_APP, 3, "bundle/en", "a4"},
      {PFC_CLASS_APP, 3, "bundle/fr", "a5"},
      {PFC_CLASS_ENVIRONMENT, 1, "debugger", "e0"},
      {PFC_CLASS_ENVIRONMENT, 9, "LD_AUDIT", NULL},
      {PFC_CLASS_ENVIRONMENT, 9, "LD_PRELOAD", NULL},
  };
  sample_draft(sample, seed);
  for (unsigned i = 0; i < SAMPLE_RECORDS; i++) {
    sample->records[i] = evidence_make(records[i].class_, records[i].number, records[i].name, records[i].content);
  }
  if (!CHECK_NUMBER(baseline(&sample->config, &sample->draft, &sample->key, sample->records, SAMPLE_RECORDS), PFC_OK) ||
      !CHECK_NUMBER(pfc_config_encode(sample->bytes, sizeof sample->bytes, &sample->size, &sample->config), PFC_OK)) {
    sample->size = 0;
  }
}

int add(struct pfc_measurement *fold, const struct evidence *records, size_t count) {
  for (size_t i = 0; i < count; i++) {
    int result = pfc_measurement_update(fold, records[i].class_, records[i].number, records[i].name,
                                        records[i].name_size, records[i].absent ? NULL : records[i].digest);
    if (result != PFC_OK) return result;
  }
  return PFC_OK;
}

int baseline(struct pfc_config *config, const struct pfc_config *draft, const struct pfc_key *key,
             const struct evidence *records, size_t count) {
  struct pfc_measurement fold;
  int result = pfc_measurement_baseline_init(&fold, draft, key);
  if (result == PFC_OK) result = add(&fold, records, count);
  return result == PFC_OK ? pfc_measurement_baseline_final(config, &fold) : result;
}

int measure(struct pfc_measured *measured, const uint8_t *config, size_t size, const struct pfc_key *key,
            const struct evidence *records, size_t count) {
  struct pfc_measurement fold;
  int result = pfc_measurement_init(&fold, config, size, key, 0);
  if (result == PFC_OK) result = add(&fold, records, count);
  return result == PFC_OK ? pfc_measurement_final(measured, &fold) : result;
}

int compare(struct pfc_difference *difference, const uint8_t *config, size_t size, const struct pfc_key *key,
            const struct evidence *records, size_t count) {
  struct pfc_measurement fold;
  int result = pfc_measurement_init(&fold, config, size, key, PFC_MEASURE_LEAVES);
  if (result == PFC_OK) result = add(&fold, records, count);
  return result == PFC_OK ? pfc_measurement_compare(difference, &fold) : result;
}

void retag(uint8_t *config, size_t size) {
  struct pfc_mac mac;
  uint8_t key[32], tag[32];
  pfc_hkdf(key, (const uint8_t *)"pfc1.config-tag.", 16, config + 20, 16, NULL, 0);
  pfc_mac_init(&mac, key, sizeof key);
  pfc_mac_update(&mac, config, size - 16);
  pfc_mac_final(tag, &mac);
  memcpy(config + size - 16, tag, 16);
}
