// SPDX-License-Identifier: Apache-2.0

#include "flash.h"

#include <string.h>

void flash_power(struct flash *flash) {
  flash->fail_write = flash->fail_read = flash->cut_write = FLASH_NEVER;
  flash->fail_all_writes = false;
  flash->dark = false;
}

void flash_erase(struct flash *flash, uint64_t seed) {
  memset(flash, 0, sizeof *flash);
  memset(flash->areas, 0xff, sizeof flash->areas);
  flash->dice.state = seed;
  flash_power(flash);
}

int flash_read(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size) {
  struct flash *flash = context;
  long index = flash->reads++;
  if (!CHECK(record < FLASH_RECORDS && copy < PFC_RECORD_COPIES && size <= PFC_RECORD_BYTES_MAX)) return -1;
  if (flash->dark || index == flash->fail_read) return -1;
  memcpy(bytes, flash->areas[record][copy], size);
  return 0;
}

int flash_write(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size) {
  struct flash *flash = context;
  long index = flash->writes++;
  if (!CHECK(record < FLASH_RECORDS && copy < PFC_RECORD_COPIES && size <= PFC_RECORD_BYTES_MAX)) return -1;
  if (flash->dark || flash->fail_all_writes || index == flash->fail_write) return -1;
  uint8_t *area = flash->areas[record][copy];
  flash->last_size = size;
  flash->last_record = record;
  flash->last_copy = copy;
  if (index != flash->cut_write) {
    memcpy(area, bytes, size);
    return 0;
  }
  size_t written = flash->cut_offset < size ? flash->cut_offset : size;
  memcpy(area, bytes, written);
  if (flash->cut_rest == FLASH_ERASED) memset(area + written, 0xff, size - written);
  if (flash->cut_rest == FLASH_RANDOM) dice_fill(&flash->dice, area + written, size - written);
  flash->dark = true;
  return -1;
}

struct pfc_storage flash_storage(struct flash *flash) {
  return (struct pfc_storage){.context = flash, .read = flash_read, .write = flash_write};
}

// Payloads -------------------------------------------------------------------------------------------------------

static size_t copied(size_t size) { return size <= PFC_RECORD_PAYLOAD_MAX ? size : PFC_RECORD_PAYLOAD_MAX; }

int payload_load(struct pfc_record *record, uint8_t *payload, size_t size, const struct pfc_storage *storage,
                 unsigned index, const uint8_t key[32]) {
  uint8_t bytes[PFC_RECORD_BYTES_MAX] = {0};
  int result = pfc_record_load(record, bytes, size, storage, index, key);
  memcpy(payload, bytes + PFC_RECORD_HEAD_BYTES, copied(size));
  return result;
}

int payload_save(struct pfc_record *record, const uint8_t *payload, size_t size, const struct pfc_storage *storage,
                 unsigned index, const uint8_t key[32]) {
  uint8_t bytes[PFC_RECORD_BYTES_MAX] = {0};
  memcpy(bytes + PFC_RECORD_HEAD_BYTES, payload, copied(size));
  return pfc_record_save(record, bytes, size, storage, index, key);
}

int payload_format(struct pfc_record *record, const uint8_t *payload, size_t size, const struct pfc_storage *storage,
                   unsigned index, const uint8_t key[32]) {
  uint8_t bytes[PFC_RECORD_BYTES_MAX] = {0};
  memcpy(bytes + PFC_RECORD_HEAD_BYTES, payload, copied(size));
  return pfc_record_format(record, bytes, size, storage, index, key);
}
