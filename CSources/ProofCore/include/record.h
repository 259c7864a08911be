// SPDX-License-Identifier: Apache-2.0

/// Small records that survive a power cut at any byte.
///
/// A record's content is a secret and stands in memory once. The caller of a save puts it PFC_RECORD_HEAD_BYTES behind
/// the beginning of the bytes that go to storage; a load leaves it at the same place.
///
/// Each record stands in two copies. A save goes to the copy that is not the current one; until its last byte is
/// right, the other copy is the record. A copy is judged by its tag, keyed with a key made from the hardware's secret
/// key, so that an edited copy is a damaged one.

#ifndef PFC_RECORD_H
#define PFC_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PFC_RECORD_COPIES 2u

/// A record's bytes in storage: head, a payload of this size, tag.
#define PFC_RECORD_BYTES(size) (PFC_RECORD_HEAD_BYTES + (size) + PFC_RECORD_TAG_BYTES)

/// The firmware's storage. `record` counts from 0 to PFC_SLOTS, and to 2 PFC_SLOTS where the hardware takes grants;
/// `copy` is 0 or 1, `size` never exceeds
/// PFC_RECORD_BYTES_MAX and is always the same for one record; a slot's records of version 1 were 12 bytes shorter, and
/// reading one gives any bytes behind it. Each (record, copy) is an area of its own: a write that
/// is cut short may leave anything in its own area and nothing anywhere else.
struct pfc_storage {
  void *context;
  /// Fills `bytes`. 0, or anything else if storage does not answer. An area that is erased, or was written only in
  /// part, does answer, with whatever stands there: a port whose memory reports such an area fills in zeros and
  /// returns 0.
  int (*read)(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size);
  /// Returns 0 only when the bytes are durable.
  int (*write)(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size);
};

/// Where a record stands. Keep one for each record.
struct pfc_record {
  uint32_t sequence;
  uint8_t copy;  ///< The current one
#if PFC_READS_VERSION_1
  uint8_t is_old;   ///< 1 if the current copy is of version 1: the bytes loaded are a payload of that version.
  uint8_t has_old;  ///< 1 if any intact copy is. Save twice then: firmware of version 1 would take such a copy, though
                    ///< a newer one of version 2 stands beside it, and go back in time.
#endif
};

/// Makes the key under which records are tagged. Secret.
void pfc_record_key(uint8_t key[32], const uint8_t hardware_secret_key[PFC_SECRET_KEY_BYTES]);

/// Loads the newest intact copy into `bytes`, which has room for PFC_RECORD_BYTES(size). A payload of version 1 is at
/// most PFC_RECORD_PAYLOAD_MAX_1 long, otherwise `size` too. PFC_E_DAMAGED if there is
/// none; PFC_E_STORAGE if either copy cannot be read, because it might be the newer one. On failure `bytes` are wiped.
PFC_MUST_USE int pfc_record_load(struct pfc_record *record, uint8_t *bytes, size_t size,
                                 const struct pfc_storage *storage, unsigned index, const uint8_t key[32]);

/// Saves the payload in `bytes`, fills in what stands before and behind it, and leaves all of it to the caller to wipe.
/// On PFC_E_STORAGE `*record` is unchanged: the old content is still the record, or the new one is after the next
/// start, never a mixture. `size` is at most PFC_RECORD_PAYLOAD_MAX.
PFC_MUST_USE int pfc_record_save(struct pfc_record *record, uint8_t *bytes, size_t size,
                                 const struct pfc_storage *storage, unsigned index, const uint8_t key[32]);

/// Saves both copies, whatever stood there. For provisioning.
PFC_MUST_USE int pfc_record_format(struct pfc_record *record, uint8_t *bytes, size_t size,
                                   const struct pfc_storage *storage, unsigned index, const uint8_t key[32]);

#ifdef __cplusplus
}
#endif

#endif
