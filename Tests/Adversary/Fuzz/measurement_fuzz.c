// SPDX-License-Identifier: Apache-2.0

/// Folds: a configuration of the fuzzer's choice, then a stream of records.
///
/// Oracles: a model of the order and of what is asked for gives the same answer to every record; a refused fold is
/// dead and empty; a complete one gives IM, DM and DPK as docs/SPEC.md, section 6, computes them over the whole
/// evidence at once; a baseline that is repeated gives the same; and the baseline differs from nothing when measured
/// again, and in one group when one record did.

#include <stdlib.h>

#include "fuzz.h"

enum { RECORDS_MAX = 64, EVIDENCE_MAX = RECORDS_MAX * (5 + 255 + 32) };

struct record {
  uint8_t class_, number, name_size, present;
  const uint8_t *name;  ///< In the input, so that reading beyond it is an error
  uint8_t digest[PFC_DIGEST_BYTES];
};

static const uint8_t mpk[PFC_KEY_BYTES] = "measurement key";

static struct pfc_config draft_from(struct fuzz_input *input) {
  struct pfc_config draft = {.policy = PFC_POLICY_FULL, .limit_log2 = 20, .generation = 1};
  uint8_t class_ = PFC_CLASS_DEVICE, number = 1;
  memset(draft.salt, 0x5A, sizeof draft.salt);
  draft.source_count = (uint8_t)(2 + fuzz_u8(input) % 26);
  for (unsigned i = 0; i < draft.source_count && i < PFC_CONFIG_SOURCES_MAX; i++) {
    uint8_t step = fuzz_u8(input);
    if (i == 1 || (i > 1 && (step & 0x80) != 0)) class_++;
    number = (uint8_t)(number + (step & 3));
    draft.sources[i] = (struct pfc_source){class_, number++, (uint8_t)(1 + (step >> 2 & 1)), step >> 4 & 7};
  }
  return draft;
}

/// The next record: mostly of the sources asked for, in order; the input may say otherwise.
static void record_from(struct record *record, const struct pfc_config *config, unsigned *source,
                        struct fuzz_input *input) {
  uint8_t how = fuzz_u8(input);
  if ((how & 1) != 0) *source = *source + 1;
  const struct pfc_source *asked = &config->sources[*source % PFC_CONFIG_SOURCES_MAX];
  record->class_ = asked->class_;
  record->number = asked->number;
  if ((how & 0x0E) == 0x0E) record->class_ = fuzz_u8(input);
  if ((how & 0x0E) == 0x0C) record->number = fuzz_u8(input);
  record->present = (how & 0x10) == 0;
  size_t name_size = 1 + (how >> 5);
  if (name_size == 8) name_size = fuzz_u8(input);
  if (name_size > input->left) name_size = input->left;
  record->name = input->bytes;
  record->name_size = (uint8_t)name_size;
  input->bytes += name_size;
  input->left -= name_size;
  memset(record->digest, how, sizeof record->digest);
}

/// The fold's result for record i, given that all before were taken.
static int expected(const struct record *records, unsigned i, const struct pfc_config *config) {
  const struct record *record = &records[i];
  int asked = 0;
  if (record->name_size == 0) return PFC_E_ARGUMENT;
  for (unsigned j = 0; j < config->source_count; j++) {
    asked |= config->sources[j].class_ == record->class_ && config->sources[j].number == record->number;
  }
  if (!asked) return PFC_E_SOURCE;
  if (i == 0) return PFC_OK;
  const struct record *before = &records[i - 1];
  int order = (record->class_ - before->class_) * 256 + record->number - before->number;
  size_t common = record->name_size < before->name_size ? record->name_size : before->name_size;
  if (order == 0) order = memcmp(record->name, before->name, common);
  if (order == 0) order = record->name_size - before->name_size;
  return order > 0 ? PFC_OK : PFC_E_ORDER;
}

static int add(struct pfc_measurement *fold, const struct record *record) {
  uint8_t *name = fuzz_copy(record->name, record->name_size);
  int result = pfc_measurement_update(fold, record->class_, record->number, name, record->name_size,
                                      record->present ? record->digest : NULL);
  free(name);
  return result;
}

/// Every byte of `records`, as the transcripts take them; from `begin` to `end`. Returns the size.
static size_t evidence(uint8_t *bytes, const struct record *records, unsigned count, const struct pfc_config *config) {
  uint8_t *at = bytes;
  struct pfc_hash hash;
  for (unsigned i = 0; i < count; i++) {
    const struct record *record = &records[i];
    int source = pfc_config_find(config, record->class_, record->number);
    *at++ = record->class_;
    *at++ = record->number;
    *at++ = config->sources[source].version;
    *at++ = record->present;
    *at++ = record->name_size;
    memcpy(at, record->name, record->name_size);
    at += record->name_size;
    pfc_hash_init(&hash);
    pfc_hash_update(&hash, PFC_LABEL_ABSENT, PFC_LABEL_BYTES);
    pfc_hash_final(at, &hash);
    if (record->present) memcpy(at, record->digest, PFC_DIGEST_BYTES);
    at += PFC_DIGEST_BYTES;
  }
  return (size_t)(at - bytes);
}

static void mac(uint8_t tag[32], const uint8_t *key, size_t key_size, const uint8_t *bytes, size_t size) {
  struct pfc_mac state;
  pfc_mac_init(&state, key, key_size);
  pfc_mac_update(&state, bytes, size);
  pfc_mac_final(tag, &state);
}

/// IM, DM and DPK as section 6 writes them, over whole transcripts.
static void whole(struct pfc_measured *measured, const struct record *records, unsigned count,
                  const struct pfc_config *config, const uint8_t *mc, size_t mc_size) {
  static uint8_t transcript[64 + PFC_CONFIG_BYTES_MAX + EVIDENCE_MAX];
  uint8_t key[32], device_set[32];
  unsigned devices = 0;
  struct pfc_hash hash;
  while (devices < count && records[devices].class_ == PFC_CLASS_DEVICE) devices++;

  memcpy(transcript, PFC_LABEL_DEVICE_SET, 16);
  size_t size = 16 + evidence(transcript + 16, records, devices, config);
  fuzz_put32(transcript + size, devices);
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, transcript, size + 4);
  pfc_hash_final(device_set, &hash);

  memcpy(transcript, PFC_LABEL_INTEGRITY, 16);
  fuzz_put32(transcript + 16, (uint32_t)mc_size);
  memcpy(transcript + 20, mc, mc_size);
  size = 20 + mc_size + evidence(transcript + 20 + mc_size, records, count, config);
  fuzz_put32(transcript + size, count);
  pfc_derive(key, PFC_LABEL_IM_KEY, mpk, sizeof mpk, config->salt, PFC_SALT_BYTES);
  mac(measured->integrity, key, sizeof key, transcript, size + 4);

  pfc_derive(key, PFC_LABEL_WRAP_KEY, device_set, sizeof device_set, config->salt, PFC_SALT_BYTES);
  for (unsigned i = 0; i < PFC_KEY_BYTES; i++) measured->device_key[i] = mc[36 + i] ^ key[i];
  memcpy(transcript, PFC_LABEL_DEVICE, 16);
  memcpy(transcript + 16, mc + 4, 3);
  memcpy(transcript + 19, mc + 20, 32);
  size = 51;
  for (const uint8_t *source = mc + 60; source < mc + 60 + 4 * mc[57] && source[0] == PFC_CLASS_DEVICE; source += 4) {
    memcpy(transcript + size, source, 4);
    size += 4;
  }
  memcpy(transcript + size, device_set, 32);
  pfc_derive(key, PFC_LABEL_DM_KEY, measured->device_key, PFC_KEY_BYTES, config->salt, PFC_SALT_BYTES);
  mac(measured->device, key, sizeof key, transcript, size + 32);
}

static void begin(struct pfc_measurement *fold, const uint8_t *mc, size_t mc_size, unsigned flags) {
  struct pfc_key key = pfc_key_plain(mpk, mc[6]);
  uint8_t *copy = fuzz_copy(mc, mc_size);
  REQUIRE(pfc_measurement_init(fold, copy, mc_size, &key, flags) == PFC_OK);
  free(copy);
}

/// A baseline that goes on as the measurement gives the same bytes and the same measurement.
static void check_repeating(const struct record *records, unsigned count, const struct pfc_config *draft,
                            const uint8_t *mc, size_t mc_size, const struct pfc_measured *expected_measured) {
  struct pfc_key key = pfc_key_plain(mpk, PFC_MODE_PRODUCTION);
  struct pfc_measurement fold;
  struct pfc_measured measured;
  uint8_t bytes[PFC_CONFIG_BYTES_MAX];
  size_t size;
  REQUIRE(pfc_measurement_baseline_init(&fold, draft, &key) == PFC_OK);
  for (unsigned i = 0; i < count; i++) REQUIRE(add(&fold, &records[i]) == PFC_OK);
  REQUIRE(pfc_measurement_baseline_repeat(bytes, sizeof bytes, &size, &fold, &key) == PFC_OK);
  REQUIRE(size == mc_size && memcmp(bytes, mc, size) == 0);
  for (unsigned i = 0; i < count; i++) REQUIRE(add(&fold, &records[i]) == PFC_OK);
  REQUIRE(pfc_measurement_final(&measured, &fold) == PFC_OK && fuzz_all(&fold, sizeof fold, 0));
  REQUIRE(memcmp(&measured, expected_measured, sizeof measured) == 0);
}

/// Everything that follows from a complete baseline.
static void check_measuring(struct record *records, unsigned count, const struct pfc_config *draft,
                            const struct pfc_config *config) {
  struct pfc_measurement plain, leaves;
  struct pfc_measured measured, none, reference;
  struct pfc_difference difference;
  uint8_t mc[PFC_CONFIG_BYTES_MAX];
  size_t size;
  REQUIRE(pfc_config_encode(mc, sizeof mc, &size, config) == PFC_OK);
  begin(&plain, mc, size, 0);
  begin(&leaves, mc, size, PFC_MEASURE_LEAVES);
  for (unsigned i = 0; i < count; i++) {
    REQUIRE(add(&plain, &records[i]) == PFC_OK && add(&leaves, &records[i]) == PFC_OK);
  }
  REQUIRE(pfc_measurement_final(&measured, &plain) == PFC_OK);
  REQUIRE(pfc_measurement_final(&none, &leaves) == PFC_E_ARGUMENT && fuzz_all(&none, sizeof none, 0));
  whole(&reference, records, count, config, mc, size);
  REQUIRE(memcmp(&measured, &reference, sizeof measured) == 0);
  REQUIRE(fuzz_all(&plain, sizeof plain, 0) && fuzz_all(&leaves, sizeof leaves, 0));
  check_repeating(records, count, draft, mc, size, &measured);

  begin(&leaves, mc, size, PFC_MEASURE_LEAVES);
  for (unsigned i = 0; i < count; i++) REQUIRE(add(&leaves, &records[i]) == PFC_OK);
  REQUIRE(pfc_measurement_compare(&difference, &leaves) == PFC_OK);
  REQUIRE(difference.device_comparable == 1 && difference.app_comparable == 1);
  REQUIRE(fuzz_all(difference.groups, sizeof difference.groups, 0));

  struct record *changed = &records[count - 1];
  changed->present = 1;
  changed->digest[0] ^= 0x80;
  changed->digest[31] ^= 1;
  int group = pfc_config_group(config, changed->class_, changed->number, changed->name, changed->name_size);
  begin(&leaves, mc, size, PFC_MEASURE_LEAVES);
  for (unsigned i = 0; i < count; i++) REQUIRE(add(&leaves, &records[i]) == PFC_OK);
  REQUIRE(pfc_measurement_compare(&difference, &leaves) == PFC_OK);
  REQUIRE(difference.groups[group / 8] == 1u << group % 8);
  difference.groups[group / 8] = 0;
  REQUIRE(fuzz_all(difference.groups, sizeof difference.groups, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  struct pfc_key key = pfc_key_plain(mpk, PFC_MODE_PRODUCTION);
  struct pfc_config draft = draft_from(&input), config;
  struct pfc_measurement fold;
  struct pfc_measured measured;
  struct record records[RECORDS_MAX] = {0};
  unsigned count = 0, source = 0;
  uint32_t seen = 0;
  int result = pfc_measurement_baseline_init(&fold, &draft, &key);
  if (result != PFC_OK) {
    REQUIRE(result == PFC_E_ARGUMENT && fuzz_all(&fold, sizeof fold, 0));
    return 0;
  }
  while (count < RECORDS_MAX && input.left > 0) {
    record_from(&records[count], &draft, &source, &input);
    result = add(&fold, &records[count]);
    REQUIRE(result == expected(records, count, &draft));
    if (result != PFC_OK) {
      REQUIRE(fuzz_all(&fold, sizeof fold, 0) && add(&fold, &records[0]) == PFC_E_ARGUMENT);
      REQUIRE(pfc_measurement_final(&measured, &fold) == PFC_E_ARGUMENT);
      REQUIRE(fuzz_all(&measured, sizeof measured, 0));
      return 0;
    }
    seen |= 1u << pfc_config_find(&draft, records[count].class_, records[count].number);
    count++;
  }
  result = pfc_measurement_baseline_final(&config, &fold);
  REQUIRE(fuzz_all(&fold, sizeof fold, 0));
  if (seen != (1u << draft.source_count) - 1) {
    REQUIRE(result == PFC_E_SOURCE && fuzz_all(&config, sizeof config, 0));
    return 0;
  }
  REQUIRE(result == PFC_OK);
  check_measuring(records, count, &draft, &config);
  return 0;
}
