// SPDX-License-Identifier: Apache-2.0

/// The hardware's record of one app instance, and its layout in storage.

#ifndef PFC_SLOT_H
#define PFC_SLOT_H

#include <stddef.h>
#include <stdint.h>

#include "key.h"
#include "result.h"
#include "token.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// States of a slot. The numbers are stored and never reused.
enum pfc_slot_state {
  PFC_SLOT_FREE = 0,
  PFC_SLOT_HELD = 1,
  PFC_SLOT_REVOKED = 2  ///< No secrets left; kept so that older tokens stay revoked.
};

/// The last command accepted, for recalls.
struct pfc_last {
  uint8_t verdict;  ///< enum pfc_verdict; PFC_VERDICT_NONE if none was, or none is remembered
  uint64_t counter;
  /// The first bytes of its nonce. The counter names one challenge, which was accepted once, and a recall carries a
  /// tag: the nonce only tells two commands under one challenge apart.
  uint8_t nonce[PFC_LAST_NONCE_BYTES];
};

/// Rights of one instance. One slot for each instance, persistent, secret.
struct pfc_slot {
  uint8_t state;  ///< enum pfc_slot_state
  uint16_t integrity_classes;
  uint16_t device_classes;
#if PFC_OPENS_TOKENS
  uint16_t delegable_classes;  ///< Those that a grant may lend (grant.h)
#endif
  uint16_t attempts;
  uint32_t uses;
  uint32_t generation;
  uint32_t revoked;     ///< Generations up to this one are revoked …
  uint64_t revoked_at;  ///< … until a floor rises above this: the latest revocation's time
  uint64_t not_after;
  uint64_t issued;
  uint8_t instance_id[PFC_ID_BYTES];
  uint8_t token_digest[PFC_TOKEN_DIGEST_BYTES];
  struct pfc_last last;  ///< Persistent if `pfc_slot_stores_last`; otherwise until the next start.
  struct pfc_secrets secrets;
#if PFC_RATCHETS
  uint8_t ratchet[PFC_RATCHET_BYTES];  ///< Secret; zeros without a ratchet
  uint8_t policy;                      ///< The token's, within PFC_SLOT_POLICY
  uint8_t copies;                      ///< Commands out of step since the token came in; stays at 255
#endif
  uint32_t sum;  ///< Checksum of the secrets and the ratchet by `pfc_slot_sum`, since they came in; not stored
};

#define PFC_SLOT_BYTES 208  ///< Encoded.

/// Puts a token into a slot. What the slot remembers of the same instance's revocations and last command stays.
void pfc_slot_fill(struct pfc_slot *slot, const struct pfc_token *token,
                   const uint8_t digest[PFC_TOKEN_DIGEST_BYTES]);

#if PFC_OPENS_TOKENS
/// Prepares a candidate to replace `slot`, which is of the same instance. The revocation is the slot's.
/// Attempts and uses are the lower of both, so that two generations share one budget.
void pfc_slot_inherit(struct pfc_slot *candidate, const struct pfc_slot *slot);
#endif

/// Remembers that generations up to `generation` are revoked, by an order of the time `issued`, and takes the secrets
/// out if the slot's own is one of them.
void pfc_slot_revoke(struct pfc_slot *slot, uint32_t generation, uint64_t issued);

/// Applies a floor to a slot. The slot stays as it is if its token was not issued before the floor. It is cleared if
/// both token and latest revocation were. Otherwise the revocation stays, without secrets. 1 if the slot has changed.
PFC_MUST_USE int pfc_slot_supersede(struct pfc_slot *slot, uint64_t floor);

/// Checksum of the slot's secrets and ratchet, 0 if it has none. A fault that overwrites them does not update
/// `slot->sum` too.
uint32_t pfc_slot_sum(const struct pfc_slot *slot);

/// 1 if each accepted command is stored: where uses are counted, and where there is a ratchet.
PFC_MUST_USE int pfc_slot_stores_last(const struct pfc_slot *slot);

#if PFC_RATCHETS
/// The slot's part of enum pfc_ratchet_policy.
static inline uint8_t pfc_slot_ratchet(const struct pfc_slot *slot) {
  return PFC_SEALS_COMMANDS ? slot->policy & PFC_POLICY_RATCHET : slot->policy;
}

/// Moves the ratchet and its part of `slot->sum`. The part of the secrets stays as it is: should a fault have changed
/// them, the sum still tells.
void pfc_slot_step(struct pfc_slot *slot, const uint8_t ratchet[PFC_RATCHET_BYTES]);
#endif

/// The slot as its record stores it.
void pfc_slot_encode(uint8_t bytes[PFC_SLOT_BYTES], const struct pfc_slot *slot);
/// PFC_E_DAMAGED if the state is unknown. PFC_E_TOO_NEW if other firmware has written what this build would not obey:
/// an unknown policy; a ratchet or copies seen without a policy that has a ratchet. The slot is then all zeros.
PFC_MUST_USE int pfc_slot_decode(struct pfc_slot *slot, const uint8_t bytes[PFC_SLOT_BYTES]);

#if PFC_READS_VERSION_1
/// Turns the PFC_RECORD_PAYLOAD_MAX_1 bytes of a slot of version 1 into those of version 2, in place.
void pfc_slot_upgrade(uint8_t bytes[PFC_SLOT_BYTES]);
#endif

#ifdef __cplusplus
}
#endif

#endif
