#include "record.h"

#include "crypto.h"
#include "internal.h"

enum {
  AT_VERSION = 2,
  AT_INDEX = 3,
  AT_SEQUENCE = 4
};

void pfc_record_key(uint8_t key[32], const uint8_t hardware_secret_key[PFC_SECRET_KEY_BYTES]) {
  pfc_derive(key, PFC_LABEL_RECORD_KEY, hardware_secret_key, PFC_SECRET_KEY_BYTES, NULL, 0);
}

static void make_tag(uint8_t tag[32], const uint8_t *bytes, size_t size, const uint8_t key[32]) {
  struct pfc_mac mac;
  pfc_mac_init(&mac, key, 32);
  pfc_mac_update(&mac, bytes, size);
  pfc_mac_final(tag, &mac);
}

static int is_intact(const uint8_t *bytes, size_t size, unsigned index, const uint8_t key[32]) {
  uint8_t tag[32];
  int intact;
  make_tag(tag, bytes, size - PFC_RECORD_TAG_BYTES, key);
  intact = pfc_equal(tag, bytes + size - PFC_RECORD_TAG_BYTES, PFC_RECORD_TAG_BYTES);
  PFC_DECLASSIFY(&intact, sizeof intact);
  pfc_wipe(tag, sizeof tag);
  return intact && memcmp(bytes, PFC_RECORD_MAGIC, AT_VERSION) == 0 && bytes[AT_VERSION] == PFC_VERSION &&
         bytes[AT_INDEX] == index;
}

int pfc_record_load(struct pfc_record *record, uint8_t *payload, size_t size, const struct pfc_storage *storage,
                    unsigned index, const uint8_t key[32]) {
  uint8_t bytes[PFC_RECORD_BYTES_MAX];
  size_t total = PFC_RECORD_HEAD_BYTES + size + PFC_RECORD_TAG_BYTES;
  int result = PFC_E_DAMAGED;
  memset(record, 0, sizeof *record);
  if (size > PFC_RECORD_PAYLOAD_MAX) return PFC_E_ARGUMENT;
  memset(payload, 0, size);
  for (uint8_t copy = 0; copy < PFC_RECORD_COPIES; copy++) {
    uint32_t sequence;
    memset(bytes, 0, sizeof bytes);
    if (storage->read(storage->context, index, copy, bytes, total) != 0) {
      result = PFC_E_STORAGE;
      break;
    }
    if (!is_intact(bytes, total, index, key)) continue;
    sequence = pfc_get32(bytes + AT_SEQUENCE);
    if (result == PFC_OK && sequence <= record->sequence) continue;
    result = PFC_OK;
    record->sequence = sequence;
    record->copy = copy;
    memcpy(payload, bytes + PFC_RECORD_HEAD_BYTES, size);
  }
  pfc_wipe(bytes, sizeof bytes);
  if (result != PFC_OK) pfc_wipe(payload, size);
  return result;
}

static int write_copy(struct pfc_record *record, uint8_t copy, uint32_t sequence, const uint8_t *payload, size_t size,
                      const struct pfc_storage *storage, unsigned index, const uint8_t key[32]) {
  uint8_t bytes[PFC_RECORD_BYTES_MAX];
  uint8_t tag[32];
  size_t total = PFC_RECORD_HEAD_BYTES + size + PFC_RECORD_TAG_BYTES;
  int result = PFC_OK;
  memcpy(bytes, PFC_RECORD_MAGIC, AT_VERSION);
  bytes[AT_VERSION] = PFC_VERSION;
  bytes[AT_INDEX] = (uint8_t)index;
  pfc_put32(bytes + AT_SEQUENCE, sequence);
  memcpy(bytes + PFC_RECORD_HEAD_BYTES, payload, size);
  make_tag(tag, bytes, total - PFC_RECORD_TAG_BYTES, key);
  memcpy(bytes + total - PFC_RECORD_TAG_BYTES, tag, PFC_RECORD_TAG_BYTES);
  if (storage->write(storage->context, index, copy, bytes, total) == 0) {
    record->sequence = sequence;
    record->copy = copy;
  } else {
    result = PFC_E_STORAGE;
  }
  pfc_wipe(bytes, sizeof bytes);
  pfc_wipe(tag, sizeof tag);
  return result;
}

int pfc_record_save(struct pfc_record *record, const uint8_t *payload, size_t size, const struct pfc_storage *storage,
                    unsigned index, const uint8_t key[32]) {
  if (size > PFC_RECORD_PAYLOAD_MAX) return PFC_E_ARGUMENT;
  // No flash lives for 2^32 writes; a sequence at its end means a defect, and wrapping would bring the past back.
  if (record->sequence == UINT32_MAX) return PFC_E_STORAGE;
  return write_copy(record, record->copy ^ 1u, record->sequence + 1, payload, size, storage, index, key);
}

int pfc_record_format(struct pfc_record *record, const uint8_t *payload, size_t size,
                      const struct pfc_storage *storage, unsigned index, const uint8_t key[32]) {
  uint8_t old[PFC_RECORD_PAYLOAD_MAX];
  int result;
  if (size > PFC_RECORD_PAYLOAD_MAX) return PFC_E_ARGUMENT;
  // What stood there, if anything did, must lose against the new from the first copy written.
  result = pfc_record_load(record, old, size, storage, index, key);
  pfc_wipe(old, sizeof old);
  if (result != PFC_OK) memset(record, 0, sizeof *record);
  for (unsigned copies = 0; copies < PFC_RECORD_COPIES; copies++) {
    result = pfc_record_save(record, payload, size, storage, index, key);
    if (result != PFC_OK) return result;
  }
  return PFC_OK;
}
