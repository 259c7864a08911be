// SPDX-License-Identifier: Apache-2.0

#include "config.h"

#include "crypto.h"
#include "internal.h"

enum {
  AT_MAGIC = 0,
  AT_VERSION = 4,
  AT_SUITE = 5,
  AT_MODE = 6,
  AT_POLICY = 7,
  AT_GENERATION = 8,
  AT_KEY_ID = 12,
  AT_SALT = 20,
  AT_WRAPPED = 36,
  AT_LEAF_CHECK = 52,
  AT_LIMIT = 56,
  AT_SOURCES = 57,
  AT_LEAVES = 58,
  AT_ZERO = 59
};

_Static_assert(AT_ZERO + 1 == PFC_CONFIG_HEAD_BYTES, "the head ends here");

static unsigned groups_of(const struct pfc_source *source) { return 1u << source->groups_log2; }

/// Every range of docs/SPEC.md section 5, for both directions.
int pfc_config_is_valid(const struct pfc_config *config) {
  unsigned leaves = 0;
  unsigned classes = 0;
  if (config->mode != PFC_MODE_PRODUCTION && config->mode != PFC_MODE_DEVELOPMENT) return 0;
  if (config->policy < PFC_POLICY_FULL || config->policy > PFC_POLICY_TRUSTING) return 0;
  if (config->generation == 0 || config->generation == PFC_GENERATION_ALL) return 0;
  if (config->key_id[0] != config->mode) return 0;
  if (pfc_is_zero(config->salt, sizeof config->salt)) return 0;
  if (config->limit_log2 < PFC_CONFIG_LIMIT_LOG2_MIN || config->limit_log2 > PFC_CONFIG_LIMIT_LOG2_MAX) return 0;
  if (config->source_count == 0 || config->source_count > PFC_CONFIG_SOURCES_MAX) return 0;
  for (unsigned i = 0; i < config->source_count; i++) {
    const struct pfc_source *source = &config->sources[i];
    if (source->class_ < PFC_CLASS_DEVICE || source->class_ > PFC_CLASS_ENVIRONMENT) return 0;
    if (source->number == 0 || source->version == 0 || source->groups_log2 > PFC_CONFIG_GROUPS_LOG2_MAX) return 0;
    if (i > 0) {
      const struct pfc_source *before = &config->sources[i - 1];
      if (source->class_ < before->class_) return 0;
      if (source->class_ == before->class_ && source->number <= before->number) return 0;
    }
    classes |= 1u << source->class_;
    leaves += groups_of(source);
  }
  if ((classes & (1u << PFC_CLASS_DEVICE)) == 0 || (classes & (1u << PFC_CLASS_APP)) == 0) return 0;
  return leaves <= PFC_CONFIG_LEAVES_MAX && leaves == config->leaf_count;
}

static void make_tag(uint8_t tag[PFC_CONFIG_TAG_BYTES], const uint8_t *bytes, size_t size) {
  uint8_t key[32];
  uint8_t full[32];
  pfc_derive(key, PFC_LABEL_CONFIG_TAG, bytes + AT_SALT, PFC_SALT_BYTES, NULL, 0);
  pfc_mac_once(full, key, sizeof key, bytes, size);
  memcpy(tag, full, PFC_CONFIG_TAG_BYTES);
  pfc_wipe(key, sizeof key);
  pfc_wipe(full, sizeof full);
}

int pfc_config_encode(uint8_t *bytes, size_t capacity, size_t *size, const struct pfc_config *config) {
  uint8_t *at;
  size_t total;
  *size = 0;
  if (!pfc_config_is_valid(config)) return PFC_E_ARGUMENT;
  total = PFC_CONFIG_HEAD_BYTES + (size_t)config->source_count * PFC_CONFIG_SOURCE_BYTES +
          (size_t)config->leaf_count * PFC_CONFIG_LEAF_BYTES + PFC_CONFIG_TAG_BYTES;
  if (capacity < total) return PFC_E_SPACE;
  memcpy(bytes + AT_MAGIC, PFC_CONFIG_MAGIC, AT_VERSION);
  bytes[AT_VERSION] = PFC_VERSION;
  bytes[AT_SUITE] = PFC_SUITE;
  bytes[AT_MODE] = config->mode;
  bytes[AT_POLICY] = config->policy;
  pfc_put32(bytes + AT_GENERATION, config->generation);
  memcpy(bytes + AT_KEY_ID, config->key_id, PFC_KEY_ID_BYTES);
  memcpy(bytes + AT_SALT, config->salt, PFC_SALT_BYTES);
  memcpy(bytes + AT_WRAPPED, config->wrapped_key, PFC_KEY_BYTES);
  memcpy(bytes + AT_LEAF_CHECK, config->leaf_check, PFC_CONFIG_LEAF_BYTES);
  bytes[AT_LIMIT] = config->limit_log2;
  bytes[AT_SOURCES] = config->source_count;
  bytes[AT_LEAVES] = config->leaf_count;
  bytes[AT_ZERO] = 0;
  at = bytes + PFC_CONFIG_HEAD_BYTES;
  for (unsigned i = 0; i < config->source_count; i++) {
    *at++ = config->sources[i].class_;
    *at++ = config->sources[i].number;
    *at++ = config->sources[i].version;
    *at++ = config->sources[i].groups_log2;
  }
  memcpy(at, config->leaves, (size_t)config->leaf_count * PFC_CONFIG_LEAF_BYTES);
  make_tag(bytes + total - PFC_CONFIG_TAG_BYTES, bytes, total - PFC_CONFIG_TAG_BYTES);
  *size = total;
  return PFC_OK;
}

/// Tells damage from what only looks like it, before any field is believed.
static int check_frame(const uint8_t *bytes, size_t size) {
  uint8_t tag[PFC_CONFIG_TAG_BYTES];
  int intact;
  if (size >= AT_VERSION && memcmp(bytes, PFC_CONFIG_MAGIC, AT_VERSION) != 0) return PFC_E_FOREIGN;
  if (size < PFC_CONFIG_HEAD_BYTES + PFC_CONFIG_TAG_BYTES || size > PFC_CONFIG_BYTES_MAX) return PFC_E_DAMAGED;
  make_tag(tag, bytes, size - PFC_CONFIG_TAG_BYTES);
  intact = pfc_equal(tag, bytes + size - PFC_CONFIG_TAG_BYTES, PFC_CONFIG_TAG_BYTES);
  PFC_DECLASSIFY(&intact, sizeof intact);
  if (!intact) return PFC_E_DAMAGED;
  if (bytes[AT_VERSION] != PFC_VERSION || bytes[AT_SUITE] != PFC_SUITE) return PFC_E_TOO_NEW;
  return PFC_OK;
}

static int parse(struct pfc_config *config, const uint8_t *bytes, size_t size) {
  const uint8_t *at = bytes + PFC_CONFIG_HEAD_BYTES;
  config->mode = bytes[AT_MODE];
  config->policy = bytes[AT_POLICY];
  config->generation = pfc_get32(bytes + AT_GENERATION);
  memcpy(config->key_id, bytes + AT_KEY_ID, PFC_KEY_ID_BYTES);
  memcpy(config->salt, bytes + AT_SALT, PFC_SALT_BYTES);
  memcpy(config->wrapped_key, bytes + AT_WRAPPED, PFC_KEY_BYTES);
  memcpy(config->leaf_check, bytes + AT_LEAF_CHECK, PFC_CONFIG_LEAF_BYTES);
  config->limit_log2 = bytes[AT_LIMIT];
  config->source_count = bytes[AT_SOURCES];
  config->leaf_count = bytes[AT_LEAVES];
  if (config->source_count > PFC_CONFIG_SOURCES_MAX || config->leaf_count > PFC_CONFIG_LEAVES_MAX) {
    return PFC_E_MALFORMED;
  }
  if (size != PFC_CONFIG_HEAD_BYTES + (size_t)config->source_count * PFC_CONFIG_SOURCE_BYTES +
                  (size_t)config->leaf_count * PFC_CONFIG_LEAF_BYTES + PFC_CONFIG_TAG_BYTES) {
    return PFC_E_MALFORMED;
  }
  for (unsigned i = 0; i < config->source_count; i++) {
    config->sources[i].class_ = *at++;
    config->sources[i].number = *at++;
    config->sources[i].version = *at++;
    config->sources[i].groups_log2 = *at++;
  }
  memcpy(config->leaves, at, (size_t)config->leaf_count * PFC_CONFIG_LEAF_BYTES);
  return bytes[AT_ZERO] == 0 && pfc_config_is_valid(config) ? PFC_OK : PFC_E_MALFORMED;
}

int pfc_config_decode(struct pfc_config *config, const uint8_t *bytes, size_t size) {
  int result;
  memset(config, 0, sizeof *config);
  result = check_frame(bytes, size);
  if (result == PFC_OK) result = parse(config, bytes, size);
  if (result != PFC_OK) memset(config, 0, sizeof *config);
  return result;
}

int pfc_config_check_key(const struct pfc_config *config, const struct pfc_key *key) {
  uint8_t id[PFC_KEY_ID_BYTES];
  if (config->mode != key->mode) return PFC_E_MODE;
  pfc_key_id(id, key);
  return memcmp(id, config->key_id, sizeof id) == 0 ? PFC_OK : PFC_E_FOREIGN;
}

int pfc_config_find(const struct pfc_config *config, uint8_t class_, uint8_t number) {
  for (unsigned i = 0; i < config->source_count && i < PFC_CONFIG_SOURCES_MAX; i++) {
    if (config->sources[i].class_ == class_ && config->sources[i].number == number) return (int)i;
  }
  return -1;
}

uint32_t pfc_name_hash(const uint8_t *name, size_t size) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < size; i++) hash = (hash ^ name[i]) * 16777619u;
  return hash;
}

int pfc_config_group(const struct pfc_config *config, uint8_t class_, uint8_t number, const uint8_t *name,
                     size_t name_size) {
  int index = pfc_config_find(config, class_, number);
  unsigned first = 0;
  if (index < 0 || name_size == 0 || name_size > PFC_NAME_MAX) return -1;
  for (int i = 0; i < index; i++) first += groups_of(&config->sources[i]);
  return (int)(first + (pfc_name_hash(name, name_size) & (groups_of(&config->sources[index]) - 1)));
}
