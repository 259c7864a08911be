// SPDX-License-Identifier: Apache-2.0

/// Simulated flash: one area for each record and copy, writes that fail, and writes that power cuts tear.

#ifndef FLASH_H
#define FLASH_H

#include <stdbool.h>
#include <stdint.h>

#include "ProofCore.h"
#include "harness.h"

/// Records of the ledger, then of the grants. At least for eight slots, because the second implementation's vectors
/// name so many.
enum { FLASH_RECORDS = PFC_SLOTS < 8 ? 17 : 2 * PFC_SLOTS + 1, FLASH_NEVER = -1 };

/// Content behind the tear in a torn area.
enum flash_rest {
  FLASH_OLD,     ///< Old content
  FLASH_ERASED,  ///< 0xFF: the area was erased before it was written
  FLASH_RANDOM   ///< Cells caught halfway
};

struct flash {
  uint8_t areas[FLASH_RECORDS][PFC_RECORD_COPIES][PFC_RECORD_BYTES_MAX];
  struct dice dice;
  long writes;      ///< So far
  long reads;       ///< So far
  long fail_write;  ///< This write fails and changes nothing, or FLASH_NEVER
  long fail_read;
  bool fail_all_writes;
  long cut_write;     ///< Power fails during this write, or FLASH_NEVER
  size_t cut_offset;  ///< So many bytes of it were written; at most its size
  enum flash_rest cut_rest;
  bool dark;         ///< Power has failed: nothing reads or writes until `flash_power`
  size_t last_size;  ///< Size of the last write
  unsigned last_record, last_copy;
};

/// Erased, everything works.
void flash_erase(struct flash *flash, uint64_t seed);
/// Power is back, and nothing fails from here on.
void flash_power(struct flash *flash);
/// The callbacks; `flash` is their context.
struct pfc_storage flash_storage(struct flash *flash);
int flash_read(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size);
int flash_write(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size);

/// Records whose payload stands by itself. At most PFC_RECORD_PAYLOAD_MAX bytes of one are ever copied.
int payload_load(struct pfc_record *record, uint8_t *payload, size_t size, const struct pfc_storage *storage,
                 unsigned index, const uint8_t key[32]);
int payload_save(struct pfc_record *record, const uint8_t *payload, size_t size, const struct pfc_storage *storage,
                 unsigned index, const uint8_t key[32]);
int payload_format(struct pfc_record *record, const uint8_t *payload, size_t size, const struct pfc_storage *storage,
                   unsigned index, const uint8_t key[32]);

#endif
