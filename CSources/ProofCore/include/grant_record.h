// SPDX-License-Identifier: Apache-2.0

/// Loans and serials, which the hardware must not forget (docs/SPEC.md, section 19): one record for each slot, behind
/// those of the slots.

#ifndef PFC_GRANT_RECORD_H
#define PFC_GRANT_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "record.h"
#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PFC_GRANT_PREFIX_BYTES 8  ///< The first bytes of an id or a digest.
#define PFC_GRANT_RECORD_BYTES (48 + 4 * PFC_SLOTS)  ///< Encoded.

/// The loan of the instance of one slot. Holds no secret.
struct pfc_grant_row {
  uint8_t owner;     ///< The owner's slot, counted from 1; 0 if nothing was lent
  uint16_t classes;  ///< Command classes lent
  uint16_t uses;     ///< Commands left; 0 if used up or taken back
  uint64_t end;      ///< Unix seconds
  uint8_t digest[PFC_GRANT_PREFIX_BYTES];    ///< The grant's
  uint8_t owner_id[PFC_GRANT_PREFIX_BYTES];  ///< The owner's instance
  uint8_t member_id[PFC_GRANT_PREFIX_BYTES]; ///< The instance of the row's own slot
  uint8_t named[PFC_GRANT_PREFIX_BYTES];     ///< Digest of the member's token, as the grant names it
  uint32_t serials[PFC_SLOTS];               ///< By the owner's slot: the highest serial that was taken
};

#if PFC_GRANTS

/// The loans of all slots, as the hardware keeps them.
struct pfc_grants {
  uint8_t on;  ///< 1: this hardware takes grants
  struct pfc_record records[PFC_SLOTS];
  struct pfc_grant_row rows[PFC_SLOTS];
};

/// Writes a row in the form in which storage holds it.
void pfc_grant_row_encode(uint8_t bytes[PFC_GRANT_RECORD_BYTES], const struct pfc_grant_row *row);
/// PFC_E_DAMAGED for a slot that this build has not, PFC_E_TOO_NEW if a reserved byte is not zero. The row is then all
/// zeros.
PFC_MUST_USE int pfc_grant_row_decode(struct pfc_grant_row *row, const uint8_t bytes[PFC_GRANT_RECORD_BYTES]);

/// Writes empty records over whatever stands in storage. For provisioning, beside `pfc_verifier_provision`: grants of
/// the time before end with it.
PFC_MUST_USE int pfc_grants_format(const struct pfc_storage *storage,
                                   const uint8_t hardware_secret_key[PFC_SECRET_KEY_BYTES]);

/// Loads. A record without an intact copy and with a blank one, all zeros or all ones, is formatted: hardware that
/// takes grants for the first time has none, and power may fail in the first write. PFC_E_DAMAGED if both copies were
/// written and none is intact.
PFC_MUST_USE int pfc_grants_load(struct pfc_grants *grants, const struct pfc_storage *storage,
                                 const uint8_t record_key[32]);

/// Stores a row's new content, and then takes it over.
PFC_MUST_USE int pfc_grants_put(struct pfc_grants *grants, int index, const struct pfc_grant_row *row,
                                const struct pfc_storage *storage, const uint8_t record_key[32]);

/// 1 if storage holds the row as memory does. It reads again.
PFC_MUST_USE int pfc_grants_are_stored(const struct pfc_grants *grants, int index, const struct pfc_storage *storage,
                                       const uint8_t record_key[32]);

/// Forgets what a slot was lent, what it lent, and its serials. Before the slot holds a token that does not follow one
/// which it holds.
PFC_MUST_USE int pfc_grants_forget(struct pfc_grants *grants, int index, const struct pfc_storage *storage,
                                   const uint8_t record_key[32]);

#endif

#ifdef __cplusplus
}
#endif

#endif
