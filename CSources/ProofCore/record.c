// SPDX-License-Identifier: Apache-2.0

#include "record.h"

#include "crypto.h"
#include "internal.h"

enum {
  AT_VERSION = 2,
  AT_INDEX = 3,
  AT_SEQUENCE = 4
};

static int version_is_known(uint8_t version) {
  return version == PFC_RECORD_VERSION || (PFC_READS_VERSION_1 && version == PFC_VERSION);
}

void pfc_record_key(uint8_t key[32], const uint8_t hardware_secret_key[PFC_SECRET_KEY_BYTES]) {
  pfc_derive(key, PFC_LABEL_RECORD_KEY, hardware_secret_key, PFC_SECRET_KEY_BYTES, NULL, 0);
}

/// Whether a copy of this size, head and tag included, is what was saved as this record.
static int is_intact(const uint8_t *bytes, size_t size, unsigned index, const uint8_t key[32]) {
  uint8_t tag[32];
  int intact;
#if PFC_READS_VERSION_1
  if (bytes[AT_VERSION] == PFC_VERSION && size > PFC_RECORD_BYTES(PFC_RECORD_PAYLOAD_MAX_1)) {
    size = PFC_RECORD_BYTES(PFC_RECORD_PAYLOAD_MAX_1);
  }
#endif
  pfc_mac_once(tag, key, 32, bytes, size - PFC_RECORD_TAG_BYTES);
  intact = pfc_equal(tag, bytes + size - PFC_RECORD_TAG_BYTES, PFC_RECORD_TAG_BYTES);
  PFC_DECLASSIFY(&intact, sizeof intact);
  pfc_wipe(tag, sizeof tag);
  return intact && memcmp(bytes, PFC_RECORD_MAGIC, AT_VERSION) == 0 && version_is_known(bytes[AT_VERSION]) &&
         bytes[AT_INDEX] == index;
}

static int read_copy(uint8_t *bytes, size_t size, const struct pfc_storage *storage, unsigned index, unsigned copy,
                     const uint8_t key[32]) {
  memset(bytes, 0, size);
  if (storage->read(storage->context, index, copy, bytes, size) != 0) return PFC_E_STORAGE;
  return is_intact(bytes, size, index, key) ? PFC_OK : PFC_E_DAMAGED;
}

int pfc_record_load(struct pfc_record *record, uint8_t *bytes, size_t size, const struct pfc_storage *storage,
                    unsigned index, const uint8_t key[32]) {
  size_t total = PFC_RECORD_BYTES(size);
  int result = PFC_E_DAMAGED;
  memset(record, 0, sizeof *record);
  if (size > PFC_RECORD_PAYLOAD_MAX) return PFC_E_ARGUMENT;
  for (uint8_t copy = 0; copy < PFC_RECORD_COPIES; copy++) {
    int found = read_copy(bytes, total, storage, index, copy, key);
    uint32_t sequence = pfc_get32(bytes + AT_SEQUENCE);
    if (found == PFC_E_STORAGE) {
      result = found;
      break;
    }
#if PFC_READS_VERSION_1
    if (found == PFC_OK && bytes[AT_VERSION] == PFC_VERSION) record->has_old = 1;
#endif
    if (found != PFC_OK || (result == PFC_OK && sequence <= record->sequence)) continue;
    result = PFC_OK;
    record->sequence = sequence;
    record->copy = copy;
  }
  // The copy read last is not the newest one: read and judge the newest again.
  if (result == PFC_OK && record->copy != PFC_RECORD_COPIES - 1) {
    result = read_copy(bytes, total, storage, index, record->copy, key);
    if (result == PFC_OK && pfc_get32(bytes + AT_SEQUENCE) != record->sequence) result = PFC_E_STORAGE;
  }
#if PFC_READS_VERSION_1
  record->is_old = bytes[AT_VERSION] == PFC_VERSION;
#endif
  if (result != PFC_OK) pfc_wipe(bytes, total);
  return result;
}

int pfc_record_save(struct pfc_record *record, uint8_t *bytes, size_t size, const struct pfc_storage *storage,
                    unsigned index, const uint8_t key[32]) {
  size_t tagged = PFC_RECORD_HEAD_BYTES + size;
  uint8_t copy = record->copy ^ 1u;
  uint8_t tag[32];
  if (size > PFC_RECORD_PAYLOAD_MAX) return PFC_E_ARGUMENT;
  // No flash lives for 2^32 writes; a sequence at its end means a defect, and wrapping would bring the past back.
  if (record->sequence == UINT32_MAX) return PFC_E_STORAGE;
  memcpy(bytes, PFC_RECORD_MAGIC, AT_VERSION);
  bytes[AT_VERSION] = PFC_RECORD_VERSION;
  bytes[AT_INDEX] = (uint8_t)index;
  pfc_put32(bytes + AT_SEQUENCE, record->sequence + 1);
  pfc_mac_once(tag, key, 32, bytes, tagged);
  memcpy(bytes + tagged, tag, PFC_RECORD_TAG_BYTES);
  pfc_wipe(tag, sizeof tag);
  if (storage->write(storage->context, index, copy, bytes, tagged + PFC_RECORD_TAG_BYTES) != 0) return PFC_E_STORAGE;
  record->sequence++;
  record->copy = copy;
  return PFC_OK;
}

int pfc_record_format(struct pfc_record *record, uint8_t *bytes, size_t size, const struct pfc_storage *storage,
                      unsigned index, const uint8_t key[32]) {
  uint8_t old[PFC_RECORD_BYTES_MAX];
  int result;
  if (size > PFC_RECORD_PAYLOAD_MAX) return PFC_E_ARGUMENT;
  // Load an existing record first: both its copies must lose against the new record's first copy.
  result = pfc_record_load(record, old, size, storage, index, key);
  pfc_wipe(old, sizeof old);
  if (result != PFC_OK) memset(record, 0, sizeof *record);
  for (unsigned copies = 0; copies < PFC_RECORD_COPIES; copies++) {
    result = pfc_record_save(record, bytes, size, storage, index, key);
    if (result != PFC_OK) return result;
  }
  return PFC_OK;
}
