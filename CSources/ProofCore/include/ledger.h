// SPDX-License-Identifier: Apache-2.0

/// Everything the hardware must not forget: counters, epoch, floor, slots. Nothing here ever moves back.
///
/// Every change goes to storage first and to memory after it, so that what memory says is durable. A change that
/// storage refuses has not happened. But for what commands count: `pfc_ledger_store`.

#ifndef PFC_LEDGER_H
#define PFC_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "record.h"
#include "result.h"
#include "slot.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PFC_LEDGER_GLOBAL_BYTES 24  ///< Record 0, encoded. Record 1 + i is slot i.

/// Secret: slots hold secrets.
struct pfc_ledger {
  struct pfc_storage storage;
  uint8_t record_key[32];
  uint64_t counter;      ///< Counter of the next challenge
  uint64_t counter_end;  ///< The first counter that is not reserved
  uint64_t epoch;        ///< Unix seconds: it is at least this late; 0 if nothing is known
  uint64_t floor;        ///< Unix seconds: tokens issued before are superseded
  struct pfc_record global;
  struct pfc_record records[PFC_SLOTS];
  struct pfc_slot slots[PFC_SLOTS];
};

/// The past of a ledger. One that takes its place must not fall below it.
struct pfc_ledger_past {
  uint64_t counter;  ///< The first counter that was never reserved
  uint64_t epoch;    ///< Unix seconds, as in `pfc_ledger`
  uint64_t floor;    ///< Unix seconds, as in `pfc_ledger`
};

/// Reads the past of the ledger in storage, and changes nothing there. PFC_E_DAMAGED if record 0 has no intact copy. On
/// failure `*past` is all zeros.
PFC_MUST_USE int pfc_ledger_read_past(struct pfc_ledger_past *past, const struct pfc_storage *storage,
                                      const uint8_t hardware_secret_key[PFC_SECRET_KEY_BYTES]);

/// Writes an empty ledger over whatever stands in storage.
PFC_MUST_USE int pfc_ledger_format(const struct pfc_storage *storage,
                                   const uint8_t hardware_secret_key[PFC_SECRET_KEY_BYTES], uint64_t epoch,
                                   uint64_t floor, uint64_t counter);

/// Loads, and reserves the first block of counters. PFC_E_DAMAGED if a record has no intact copy. On failure `*ledger`
/// is all zeros.
PFC_MUST_USE int pfc_ledger_load(struct pfc_ledger *ledger, const struct pfc_storage *storage,
                                      const uint8_t hardware_secret_key[PFC_SECRET_KEY_BYTES]);

/// The next challenge counter, never given before in the hardware's life.
PFC_MUST_USE int pfc_ledger_take_counter(struct pfc_ledger *ledger, uint64_t *counter);

/// Raises epoch and floor to these values where they are higher, and frees the slots the floor has passed, or
/// disarms them where a revocation outlasts it. `*changed` is set to 1 if anything rose, and left alone otherwise.
PFC_MUST_USE int pfc_ledger_raise(struct pfc_ledger *ledger, uint64_t epoch, uint64_t floor, int *changed);

/// Stores a slot as it stands in memory. The caller has changed it there, where there is no room for a second one, and
/// answers for what becomes of the change if storage refuses it.
PFC_MUST_USE int pfc_ledger_store(struct pfc_ledger *ledger, int index);

/// Stores a slot's new content. A slot that is free in memory must be free in storage: a fault that has wiped a tenant
/// in memory does not make room for another, nor for the tenant's own older token. PFC_E_STORAGE then.
PFC_MUST_USE int pfc_ledger_put(struct pfc_ledger *ledger, int index, const struct pfc_slot *slot);

/// The slot of an instance, or -1.
PFC_MUST_USE int pfc_ledger_find(const struct pfc_ledger *ledger, const uint8_t instance_id[PFC_ID_BYTES]);

/// A free slot, or -1.
PFC_MUST_USE int pfc_ledger_find_free(const struct pfc_ledger *ledger);

#ifdef __cplusplus
}
#endif

#endif
