// SPDX-License-Identifier: Apache-2.0

/// Records: two copies with any content, then saves under a storage that tears writes and refuses reads.
///
/// Oracles: a second reading of docs/SPEC.md, section 12, loads the same; after failed saves the next start finds the
/// content before or one that was meant to follow it, whole; storage is never touched outside the record's two areas.

#include <stdlib.h>

#include "fuzz.h"

enum { INDEX = 3, HEAD = 8, TAG = 16, AREA = HEAD + PFC_RECORD_PAYLOAD_MAX + TAG };

static uint8_t key[32];

struct storage {
  uint8_t areas[2][AREA];
  int read_fails[2];
  int write_fails;
  size_t torn;  ///< A failing write leaves this many of its bytes.
};

static int storage_read(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size) {
  struct storage *storage = context;
  REQUIRE(record == INDEX && copy < 2 && size <= AREA);
  if (storage->read_fails[copy]) return -1;
  memcpy(bytes, storage->areas[copy], size);
  return 0;
}

static int storage_write(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size) {
  struct storage *storage = context;
  REQUIRE(record == INDEX && copy < 2 && size <= AREA);
  size_t written = storage->write_fails && storage->torn < size ? storage->torn : size;
  memcpy(storage->areas[copy], bytes, written);
  return storage->write_fails;
}

static void tag_of(uint8_t tag[32], const uint8_t *area, size_t size) {
  struct pfc_mac mac;
  pfc_mac_init(&mac, key, sizeof key);
  pfc_mac_update(&mac, area, HEAD + size);
  pfc_mac_final(tag, &mac);
}

/// The payload's size in a copy of this version: version 1 had smaller records.
static size_t size_in(uint8_t version, size_t size) {
  return version == PFC_VERSION && size > PFC_RECORD_PAYLOAD_MAX_1 ? PFC_RECORD_PAYLOAD_MAX_1 : size;
}

/// One copy: raw bytes, or a right head and tag around the fuzzer's payload, with deviations.
static void fill(uint8_t *area, size_t size, struct fuzz_input *input) {
  uint8_t how = fuzz_u8(input), tag[32];
  if ((how & 1) == 0) {
    uint8_t head[4] = {'P', 'S', (how & 8) != 0 ? PFC_VERSION : PFC_RECORD_VERSION, INDEX};
    memcpy(area, head, sizeof head);
    size = size_in(head[2], size);
    fuzz_put32(area + 4, fuzz_u32(input));
    fuzz_take(input, area + HEAD, size);
    if ((how & 2) != 0) fuzz_flip(input, area, HEAD);
    tag_of(tag, area, size);
    memcpy(area + HEAD + size, tag, TAG);
    if ((how & 4) != 0) fuzz_flip(input, area, HEAD + size + TAG);
  } else {
    fuzz_take(input, area, AREA);
  }
}

static int intact(const uint8_t *area, size_t size) {
  uint8_t tag[32];
  int is_known = area[2] == PFC_VERSION || area[2] == PFC_RECORD_VERSION;
  size = size_in(area[2], size);
  tag_of(tag, area, size);
  return memcmp(area, "PS", 2) == 0 && is_known && area[3] == INDEX && memcmp(tag, area + HEAD + size, TAG) == 0;
}

/// The copy that section 12 calls the record, or -1.
static int current(const struct storage *storage, size_t size) {
  int found = -1;
  for (int copy = 0; copy < 2; copy++) {
    if (!intact(storage->areas[copy], size)) continue;
    if (found < 0 || fuzz_get32(storage->areas[copy] + 4) > fuzz_get32(storage->areas[found] + 4)) found = copy;
  }
  return found;
}

static int load(struct pfc_record *record, uint8_t *payload, size_t size, const struct pfc_storage *platform) {
  struct storage *storage = platform->context;
  uint8_t zeros[PFC_RECORD_BYTES_MAX] = {0};
  uint8_t *exact = fuzz_copy(zeros, PFC_RECORD_BYTES(size));
  // An unreadable copy might be the newer one: then a load finds no record, rather than an older one.
  int unreadable = storage->read_fails[0] || storage->read_fails[1];
  int copy = current(storage, size), result = pfc_record_load(record, exact, size, platform, INDEX, key);
  if (copy >= 0 && !unreadable) {
    REQUIRE(result == PFC_OK && record->copy == copy);
    REQUIRE(record->sequence == fuzz_get32(storage->areas[copy] + 4));
    REQUIRE(memcmp(exact, storage->areas[copy], PFC_RECORD_BYTES(size)) == 0);
  } else {
    REQUIRE(result == (unreadable ? PFC_E_STORAGE : PFC_E_DAMAGED));
    REQUIRE(fuzz_all(exact, PFC_RECORD_BYTES(size), 0));
  }
  if (size > 0) memcpy(payload, exact + HEAD, size);
  free(exact);
  return result;
}

/// Saves, or formats, out of memory that ends where the record does.
static int put(struct pfc_record *record, const uint8_t *payload, size_t size, const struct pfc_storage *platform,
               int (*save)(struct pfc_record *, uint8_t *, size_t, const struct pfc_storage *, unsigned,
                           const uint8_t[32])) {
  uint8_t bytes[PFC_RECORD_BYTES_MAX] = {0};
  memcpy(bytes + HEAD, payload, size);
  uint8_t *exact = fuzz_copy(bytes, PFC_RECORD_BYTES(size));
  int result = save(record, exact, size, platform, INDEX, key);
  free(exact);
  return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  struct storage storage = {0};
  struct pfc_storage platform = {&storage, storage_read, storage_write};
  struct pfc_record record;
  uint8_t tried[256] = {0};  ///< Contents whose save failed since the last one that did not
  uint8_t payload[PFC_RECORD_PAYLOAD_MAX + 1] = {0}, next[PFC_RECORD_PAYLOAD_MAX + 1] = {0};
  size_t payload_size = fuzz_u8(&input) % (PFC_RECORD_PAYLOAD_MAX + 2);
  memset(key, 0x4B, sizeof key);
  if (payload_size > PFC_RECORD_PAYLOAD_MAX) {
    REQUIRE(pfc_record_load(&record, payload, payload_size, &platform, INDEX, key) == PFC_E_ARGUMENT);
    REQUIRE(pfc_record_save(&record, payload, payload_size, &platform, INDEX, key) == PFC_E_ARGUMENT);
    REQUIRE(pfc_record_format(&record, payload, payload_size, &platform, INDEX, key) == PFC_E_ARGUMENT);
    return 0;
  }
  fill(storage.areas[0], payload_size, &input);
  fill(storage.areas[1], payload_size, &input);
  storage.read_fails[0] = fuzz_u8(&input) == 1;
  storage.read_fails[1] = fuzz_u8(&input) == 1;
  int result = load(&record, payload, payload_size, &platform);
  storage.read_fails[0] = storage.read_fails[1] = 0;
  if (result != PFC_OK) {
    result = put(&record, payload, payload_size, &platform, pfc_record_format);
    if (result != PFC_OK) {
      // Only the end of the sequence stops a format, and only where a copy was intact.
      REQUIRE(result == PFC_E_STORAGE && current(&storage, payload_size) >= 0);
      return 0;
    }
  }
  REQUIRE(load(&record, payload, payload_size, &platform) == PFC_OK);

  while (input.left > 0) {
    uint8_t how = fuzz_u8(&input);
    memset(next, how, payload_size);
    storage.write_fails = (how & 3) == 3;
    storage.torn = how;
    struct pfc_record before = record;
    result = put(&record, next, payload_size, &platform, pfc_record_save);
    if (result == PFC_OK) {
      REQUIRE(!storage.write_fails && record.sequence == before.sequence + 1 && record.copy != before.copy);
    } else {
      REQUIRE(result == PFC_E_STORAGE && (storage.write_fails || before.sequence == UINT32_MAX));
      REQUIRE(record.sequence == before.sequence && record.copy == before.copy);
    }
    if (result == PFC_OK) {
      memcpy(payload, next, payload_size);
      memset(tried, 0, sizeof tried);
    } else {
      tried[how] = 1;
    }
    if ((how & 4) != 0) {  // A restart
      uint8_t found[PFC_RECORD_PAYLOAD_MAX + 1] = {0};
      REQUIRE(load(&record, found, payload_size, &platform) == PFC_OK);
      REQUIRE(memcmp(found, payload, payload_size) == 0 ||
              (tried[found[0]] && fuzz_all(found, payload_size, found[0])));
      memcpy(payload, found, payload_size);
      memset(tried, 0, sizeof tried);
    }
  }
  return 0;
}
