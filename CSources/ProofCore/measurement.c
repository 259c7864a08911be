// SPDX-License-Identifier: Apache-2.0

#include "measurement.h"

#include "internal.h"

/// States of a fold. Dead is zero, so that a wiped fold is dead.
enum { DEAD = 0, MEASURING = 1, BASELINE = 2, REPEATING = 3 };

/// Subjects of a leaf's transcript.
enum { LEAF_EMPTY = 0, LEAF_RECORD = 1, LEAF_CHECK = 2 };

enum { STATE_ABSENT = 0, STATE_PRESENT = 1 };

/// Class, number, version, state and the name's size.
enum { HEAD_BYTES = 5 };

_Static_assert(PFC_CONFIG_SOURCES_MAX <= 32, "one bit of `seen` for each source");

static int die(struct pfc_measurement *fold, int result) {
  pfc_wipe(fold, sizeof *fold);
  return result;
}

// Leaves ---------------------------------------------------------------------------------------------------------

static void leaf_begin(struct pfc_mac *mac, const uint8_t key[32], uint8_t what) {
  pfc_mac_init(mac, key, 32);
  pfc_mac_update(mac, PFC_LABEL_LEAF, PFC_LABEL_BYTES);
  pfc_mac_update(mac, &what, sizeof what);
}

static void leaf_end(uint8_t leaf[PFC_CONFIG_LEAF_BYTES], struct pfc_mac *mac) {
  uint8_t full[32];
  pfc_mac_final(full, mac);
  for (unsigned i = 0; i < PFC_CONFIG_LEAF_BYTES; i++) leaf[i] ^= full[i];
  pfc_wipe(full, sizeof full);
}

/// Writes the leaves of two empty groups, or of one twice.
static void leaves_empty_two(struct pfc_measurement *fold, const struct pfc_mac *key, const uint8_t leaves[2]) {
  static const uint8_t beginning[PFC_LABEL_BYTES + 2] = PFC_LABEL_LEAF;
  const struct pfc_short messages[2] = {{key, beginning, PFC_LABEL_BYTES + 1, &leaves[0], 1},
                                        {key, beginning, PFC_LABEL_BYTES + 1, &leaves[1], 1}};
  uint8_t full[2][32];
  pfc_mac_short_two(full, messages);
  for (unsigned i = 0; i < 2; i++) memcpy(fold->leaves[leaves[i]], full[i], PFC_CONFIG_LEAF_BYTES);
  pfc_wipe(full, sizeof full);
}

_Static_assert(LEAF_EMPTY == 0, "the zero after the label says what the leaf is about");

/// An empty group looks like any other: its leaf starts as a pseudorandom value of its own.
/// The key state is made once, and serves two leaves at a time.
static void leaves_empty(struct pfc_measurement *fold, const uint8_t key[32], int device) {
  struct pfc_mac expanded;
  uint8_t leaf = 0, pair[2];
  unsigned waiting = 0;
  pfc_mac_init(&expanded, key, 32);
  for (unsigned i = 0; i < fold->config.source_count; i++) {
    const struct pfc_source *source = &fold->config.sources[i];
    for (unsigned group = 0; group < (1u << source->groups_log2); group++, leaf++) {
      if ((source->class_ == PFC_CLASS_DEVICE) != (device != 0)) continue;
      pair[waiting++] = leaf;
      if (waiting < 2) continue;
      leaves_empty_two(fold, &expanded, pair);
      waiting = 0;
    }
  }
  if (waiting > 0) {
    pair[1] = pair[0];
    leaves_empty_two(fold, &expanded, pair);
  }
  pfc_wipe(&expanded, sizeof expanded);
}

/// Opens the leaves of the device class or of the others. Their key is needed only here: what follows begins alike.
static void leaves_start(struct pfc_measurement *fold, const char label[PFC_LABEL_BYTES + 1],
                         const uint8_t key[PFC_KEY_BYTES], int device) {
  uint8_t leaf_key[32];
  pfc_derive(leaf_key, label, key, PFC_KEY_BYTES, fold->config.salt, PFC_SALT_BYTES);
  if (!device) {
    struct pfc_mac mac;
    leaf_begin(&mac, leaf_key, LEAF_CHECK);
    leaf_end(fold->leaf_check, &mac);
  }
  leaf_begin(&fold->record_beginning, leaf_key, LEAF_RECORD);
  leaves_empty(fold, leaf_key, device);
  pfc_wipe(leaf_key, sizeof leaf_key);
}

// Device ---------------------------------------------------------------------------------------------------------

/// The key that wraps the device proof key: made from what only this device answers.
static void wrap_mask(uint8_t mask[32], const struct pfc_measurement *fold) {
  pfc_derive(mask, PFC_LABEL_WRAP_KEY, fold->device_digest, sizeof fold->device_digest, fold->config.salt,
             PFC_SALT_BYTES);
}

/// Closes the device class: its digest, the device proof key, and the key that blinds the other classes' leaves.
static void device_finish(struct pfc_measurement *fold) {
  uint8_t count[4];
  uint8_t mask[32];
  if (fold->device_done) return;
  fold->device_done = 1;
  pfc_put32(count, fold->device_records);
  pfc_hash_update(&fold->device_set, count, sizeof count);
  pfc_hash_final(fold->device_digest, &fold->device_set);
  wrap_mask(mask, fold);
  if (fold->state == BASELINE) {
    for (unsigned i = 0; i < PFC_KEY_BYTES; i++) fold->config.wrapped_key[i] = fold->device_key[i] ^ mask[i];
  } else {
    for (unsigned i = 0; i < PFC_KEY_BYTES; i++) fold->device_key[i] = fold->config.wrapped_key[i] ^ mask[i];
  }
  pfc_wipe(mask, sizeof mask);
  if (fold->leaves_wanted) leaves_start(fold, PFC_LABEL_LEAF_KEY, fold->device_key, 0);
}

// Begin ----------------------------------------------------------------------------------------------------------

static void begin(struct pfc_measurement *fold, uint8_t state, int leaves_wanted, const uint8_t key[PFC_KEY_BYTES]) {
  fold->state = state;
  fold->leaves_wanted = leaves_wanted != 0;
  pfc_hash_init(&fold->device_set);
  pfc_hash_update(&fold->device_set, PFC_LABEL_DEVICE_SET, PFC_LABEL_BYTES);
  if (leaves_wanted) leaves_start(fold, PFC_LABEL_DEVICE_LEAF_KEY, key, 1);
}

/// Opens IM's transcript, up to the records.
static void integrity_begin(struct pfc_measurement *fold, const uint8_t key[PFC_KEY_BYTES], const uint8_t *config,
                            size_t size) {
  uint8_t im_key[32];
  uint8_t length[4];
  pfc_derive(im_key, PFC_LABEL_IM_KEY, key, PFC_KEY_BYTES, fold->config.salt, PFC_SALT_BYTES);
  pfc_mac_init(&fold->integrity, im_key, sizeof im_key);
  pfc_put32(length, (uint32_t)size);
  pfc_mac_update(&fold->integrity, PFC_LABEL_INTEGRITY, PFC_LABEL_BYTES);
  pfc_mac_update(&fold->integrity, length, sizeof length);
  pfc_mac_update(&fold->integrity, config, size);
  pfc_wipe(im_key, sizeof im_key);
}

int pfc_measurement_init(struct pfc_measurement *fold, const uint8_t *config, size_t size, const struct pfc_key *key,
                         unsigned flags) {
  uint8_t bytes[PFC_KEY_BYTES];
  int result;
  memset(fold, 0, sizeof *fold);
  if ((flags & ~PFC_MEASURE_LEAVES) != 0) return PFC_E_ARGUMENT;
  result = pfc_config_decode(&fold->config, config, size);
  if (result != PFC_OK) return die(fold, result);
  fold->own_key = pfc_config_check_key(&fold->config, key) == PFC_OK;

  key->load(bytes, key->context);
  // A comparison folds no IM: its inputs would tell a debugger all that IM is made of, and spend no attempt.
  if ((flags & PFC_MEASURE_LEAVES) == 0) integrity_begin(fold, bytes, config, size);
  begin(fold, MEASURING, (flags & PFC_MEASURE_LEAVES) != 0, bytes);
  pfc_wipe(bytes, sizeof bytes);
  return PFC_OK;
}

int pfc_measurement_baseline_init(struct pfc_measurement *fold, const struct pfc_config *draft,
                                  const struct pfc_key *key) {
  uint8_t bytes[PFC_KEY_BYTES];
  unsigned leaves = 0;
  memset(fold, 0, sizeof *fold);
  if (draft->source_count > PFC_CONFIG_SOURCES_MAX) return PFC_E_ARGUMENT;
  for (unsigned i = 0; i < draft->source_count; i++) {
    if (draft->sources[i].groups_log2 > PFC_CONFIG_GROUPS_LOG2_MAX) return PFC_E_ARGUMENT;
    leaves += 1u << draft->sources[i].groups_log2;
  }
  if (leaves > PFC_CONFIG_LEAVES_MAX) return PFC_E_ARGUMENT;
  fold->config = *draft;
  fold->config.mode = key->mode;
  fold->config.leaf_count = (uint8_t)leaves;
  pfc_key_id(fold->config.key_id, key);
  if (!pfc_config_is_valid(&fold->config)) return die(fold, PFC_E_ARGUMENT);

  fold->own_key = 1;
  pfc_key_device(fold->device_key, key, fold->config.salt);
  key->load(bytes, key->context);
  begin(fold, BASELINE, 1, bytes);
  pfc_wipe(bytes, sizeof bytes);
  return PFC_OK;
}

// Records --------------------------------------------------------------------------------------------------------

/// Whether (class, number, name) stands strictly after the record before.
static int stands_after(const struct pfc_measurement *fold, uint8_t class_, uint8_t number, const uint8_t *name,
                        size_t name_size) {
  size_t common = name_size < fold->name_size ? name_size : fold->name_size;
  int compared;
  if (fold->records == 0) return 1;
  if (class_ != fold->class_) return class_ > fold->class_;
  if (number != fold->number) return number > fold->number;
  compared = memcmp(name, fold->name, common);
  return compared != 0 ? compared > 0 : name_size > fold->name_size;
}

static void absent_digest(uint8_t digest[PFC_DIGEST_BYTES]) {
  struct pfc_hash hash;
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, PFC_LABEL_ABSENT, PFC_LABEL_BYTES);
  pfc_hash_final(digest, &hash);
}

/// A record as its transcripts take it, in one piece: one call for each transcript.
struct encoded_record {
  /// The leaf that the record belongs to, then the record. Only a leaf's transcript takes the first byte.
  uint8_t bytes[1 + HEAD_BYTES + PFC_NAME_MAX + PFC_DIGEST_BYTES];
  size_t size;  ///< The first byte does not count.
};

static void encode(struct encoded_record *record, const struct pfc_source *source, const uint8_t *name,
                   size_t name_size, const uint8_t *digest) {
  uint8_t *at = record->bytes + 1;
  *at++ = source->class_;
  *at++ = source->number;
  *at++ = source->version;
  *at++ = digest != NULL ? STATE_PRESENT : STATE_ABSENT;
  *at++ = (uint8_t)name_size;
  memcpy(at, name, name_size);
  at += name_size;
  if (digest != NULL) {
    memcpy(at, digest, PFC_DIGEST_BYTES);
  } else {
    absent_digest(at);
  }
  record->size = HEAD_BYTES + name_size + PFC_DIGEST_BYTES;
}

static void add_to_leaf(struct pfc_measurement *fold, struct encoded_record *record, uint8_t leaf) {
  // The device class comes first, and is closed before a record of another one gets here.
  struct pfc_mac mac = fold->record_beginning;
  record->bytes[0] = leaf;
  pfc_mac_update(&mac, record->bytes, 1 + record->size);
  leaf_end(fold->leaves[leaf], &mac);
}

int pfc_measurement_update(struct pfc_measurement *fold, uint8_t class_, uint8_t number, const uint8_t *name,
                           size_t name_size, const uint8_t *digest) {
  struct encoded_record record;
  int source;
  if (fold->state == DEAD) return PFC_E_ARGUMENT;
  if (name_size == 0 || name_size > PFC_NAME_MAX) return die(fold, PFC_E_ARGUMENT);
  if (fold->records == UINT32_MAX) return die(fold, PFC_E_ARGUMENT);
  source = pfc_config_find(&fold->config, class_, number);
  if (source < 0) return die(fold, PFC_E_SOURCE);
  if (!stands_after(fold, class_, number, name, name_size)) return die(fold, PFC_E_ORDER);

  encode(&record, &fold->config.sources[source], name, name_size, digest);
  if (fold->state == REPEATING) {
    // All that follows from the device class is known, and the leaves stand in the configuration.
  } else if (class_ == PFC_CLASS_DEVICE) {
    pfc_hash_update(&fold->device_set, record.bytes + 1, record.size);
    fold->device_records++;
  } else {
    device_finish(fold);
  }
  if (fold->state != BASELINE && !fold->leaves_wanted) {
    pfc_mac_update(&fold->integrity, record.bytes + 1, record.size);
  }
  if (fold->leaves_wanted) {
    add_to_leaf(fold, &record, (uint8_t)pfc_config_group(&fold->config, class_, number, name, name_size));
  }

  fold->records++;
  fold->seen |= 1u << source;
  fold->class_ = class_;
  fold->number = number;
  fold->name_size = (uint8_t)name_size;
  memcpy(fold->name, name, name_size);
  pfc_wipe(record.bytes, 1 + record.size);
  return PFC_OK;
}

// End ------------------------------------------------------------------------------------------------------------

/// Whether the fold is of this state and nothing asked for was skipped; closes the device class.
static int close_records(struct pfc_measurement *fold, uint8_t state) {
  uint32_t all = (uint32_t)((1ull << fold->config.source_count) - 1);
  if (fold->state == DEAD || fold->state != state) return PFC_E_ARGUMENT;
  if (fold->seen != all) return PFC_E_SOURCE;
  device_finish(fold);
  return PFC_OK;
}

/// The part of the configuration that a device measurement depends on.
static void mac_device_part(struct pfc_mac *mac, const struct pfc_config *config) {
  const uint8_t head[3] = {PFC_VERSION, PFC_SUITE, config->mode};
  pfc_mac_update(mac, head, sizeof head);
  pfc_mac_update(mac, config->salt, sizeof config->salt);
  pfc_mac_update(mac, config->wrapped_key, sizeof config->wrapped_key);
  for (unsigned i = 0; i < config->source_count; i++) {
    const struct pfc_source *source = &config->sources[i];
    const uint8_t bytes[PFC_CONFIG_SOURCE_BYTES] = {source->class_, source->number, source->version,
                                                    source->groups_log2};
    if (source->class_ == PFC_CLASS_DEVICE) pfc_mac_update(mac, bytes, sizeof bytes);
  }
}

int pfc_measurement_final(struct pfc_measured *measured, struct pfc_measurement *fold) {
  uint8_t count[4];
  uint8_t dm_key[32];
  struct pfc_mac mac;
  int result = close_records(fold, fold->state == REPEATING ? REPEATING : MEASURING);
  memset(measured, 0, sizeof *measured);
  if (result == PFC_OK && fold->state == REPEATING && fold->records != fold->records_before) result = PFC_E_ORDER;
  if (result == PFC_OK && fold->leaves_wanted) result = PFC_E_ARGUMENT;
  if (result != PFC_OK) return die(fold, result);

  pfc_put32(count, fold->records);
  pfc_mac_update(&fold->integrity, count, sizeof count);
  pfc_mac_final(measured->integrity, &fold->integrity);

  memcpy(measured->device_key, fold->device_key, PFC_KEY_BYTES);
  pfc_derive(dm_key, PFC_LABEL_DM_KEY, fold->device_key, PFC_KEY_BYTES, fold->config.salt, PFC_SALT_BYTES);
  pfc_mac_init(&mac, dm_key, sizeof dm_key);
  pfc_mac_update(&mac, PFC_LABEL_DEVICE, PFC_LABEL_BYTES);
  mac_device_part(&mac, &fold->config);
  pfc_mac_update(&mac, fold->device_digest, sizeof fold->device_digest);
  pfc_mac_final(measured->device, &mac);
  pfc_wipe(dm_key, sizeof dm_key);
  return die(fold, PFC_OK);
}

int pfc_measurement_compare(struct pfc_difference *difference, struct pfc_measurement *fold) {
  unsigned leaf = 0;
  int result = close_records(fold, MEASURING);
  memset(difference, 0, sizeof *difference);
  if (result == PFC_OK && !fold->leaves_wanted) result = PFC_E_ARGUMENT;
  if (result != PFC_OK) return die(fold, result);

  difference->device_comparable = fold->own_key;
  difference->app_comparable =
      (uint8_t)pfc_equal(fold->leaf_check, fold->config.leaf_check, PFC_CONFIG_LEAF_BYTES);
  for (unsigned i = 0; i < fold->config.source_count; i++) {
    const struct pfc_source *source = &fold->config.sources[i];
    int comparable = source->class_ == PFC_CLASS_DEVICE ? difference->device_comparable : difference->app_comparable;
    for (unsigned group = 0; group < (1u << source->groups_log2); group++, leaf++) {
      if (comparable && !pfc_equal(fold->leaves[leaf], fold->config.leaves[leaf], PFC_CONFIG_LEAF_BYTES)) {
        difference->groups[leaf / 8] |= (uint8_t)(1u << (leaf % 8));
      }
    }
  }
  return die(fold, PFC_OK);
}

/// Completes a baseline's configuration.
static int close_baseline(struct pfc_measurement *fold) {
  int result = close_records(fold, BASELINE);
  if (result != PFC_OK) return result;
  memcpy(fold->config.leaf_check, fold->leaf_check, sizeof fold->leaf_check);
  memset(fold->config.leaves, 0, sizeof fold->config.leaves);
  memcpy(fold->config.leaves, fold->leaves, (size_t)fold->config.leaf_count * PFC_CONFIG_LEAF_BYTES);
  return PFC_OK;
}

int pfc_measurement_baseline_final(struct pfc_config *config, struct pfc_measurement *fold) {
  int result = close_baseline(fold);
  memset(config, 0, sizeof *config);
  if (result == PFC_OK) *config = fold->config;
  return die(fold, result);
}

int pfc_measurement_baseline_repeat(uint8_t *config, size_t capacity, size_t *size, struct pfc_measurement *fold,
                                    const struct pfc_key *key) {
  uint8_t bytes[PFC_KEY_BYTES];
  int result = close_baseline(fold);
  *size = 0;
  if (result == PFC_OK) result = pfc_config_encode(config, capacity, size, &fold->config);
  if (result != PFC_OK) return die(fold, result);
  key->load(bytes, key->context);
  integrity_begin(fold, bytes, config, *size);
  pfc_wipe(bytes, sizeof bytes);
  fold->state = REPEATING;
  fold->leaves_wanted = 0;
  fold->records_before = fold->records;
  fold->records = 0;
  fold->seen = 0;
  return PFC_OK;
}

void pfc_measurement_wipe(struct pfc_measurement *fold) { pfc_wipe(fold, sizeof *fold); }
