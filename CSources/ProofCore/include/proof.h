// SPDX-License-Identifier: Apache-2.0

/// The proof, the nonce it answers and the receipt that answers it.
///
///     proof   = HMAC-SHA-256(key, nonce || measurement)      key 16, nonce 16, measurement 32, proof 32
///     nonce   = SHA-256("pfc1.nonce......" || hardware id || challenge || counter || kind || class || size ||
///                       command)[0..16)
///     receipt = HMAC-SHA-256(receipt key, nonce || verdict || detail || counter)

#ifndef PFC_PROOF_H
#define PFC_PROOF_H

#include <stddef.h>
#include <stdint.h>

#include "crypto.h"
#include "key.h"
#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Kinds of match that a proof shows.
enum pfc_kind {
  PFC_KIND_INTEGRITY = 1,  ///< App, environment and device are as measured.
  PFC_KIND_DEVICE = 2,     ///< The device is as measured; the app may have been updated.
  PFC_KIND_INTEGRITY_RATCHET = 3,  ///< As 1, at a slot with a ratchet (ratchet.h).
  PFC_KIND_DEVICE_RATCHET = 4,     ///< As 2, at a slot with a ratchet.
  PFC_KIND_SEALED_INTEGRITY = 5,   ///< As 1 or 3, sealed (sealed.h).
  PFC_KIND_SEALED_DEVICE = 6       ///< As 2 or 4, sealed.
};

/// 1 if this build knows the kind as that of a command in the clear.
PFC_MUST_USE int pfc_kind_is_known(uint8_t kind);
/// 1 for a known kind whose match includes app and environment.
PFC_MUST_USE int pfc_kind_is_integrity(uint8_t kind);
/// 1 for a known kind whose command has room for a ratchet's tag.
PFC_MUST_USE int pfc_kind_has_ratchet(uint8_t kind);

/// 1 for a known kind whose command is sealed.
PFC_MUST_USE int pfc_kind_is_sealed(uint8_t kind);

/// A key, expanded: both HMAC states precomputed, so that a proof costs two compressions. Secret.
struct pfc_proof_key {
  struct pfc_mac mac;
};

/// Expands a key.
void pfc_proof_key_init(struct pfc_proof_key *expanded, const uint8_t key[PFC_KEY_BYTES]);
/// Wipes an expanded key.
void pfc_proof_key_wipe(struct pfc_proof_key *expanded);

/// One proof. The expanded key stays as it is and may serve any number of calls, also at once.
void pfc_proof_make(uint8_t proof[PFC_PROOF_BYTES], const struct pfc_proof_key *expanded,
                    const uint8_t nonce[PFC_NONCE_BYTES], const uint8_t measurement[PFC_MEASUREMENT_BYTES]);

/// Two proofs at once, for callers that have both nonces: on the native path of sha256.h they take little longer than
/// one. Over the link the device proof of an integrity command answers the escort nonce, which needs the first proof.
void pfc_proof_make_two(uint8_t proofs[2][PFC_PROOF_BYTES], const struct pfc_proof_key *const keys[2],
                        const uint8_t *const nonces[2], const uint8_t *const measurements[2]);

/// One proof by a key that serves once: no expanded key, half the stack.
void pfc_proof_make_once(uint8_t proof[PFC_PROOF_BYTES], const uint8_t key[PFC_KEY_BYTES],
                         const uint8_t nonce[PFC_NONCE_BYTES], const uint8_t measurement[PFC_MEASUREMENT_BYTES]);

/// PFC_OK or PFC_E_DIFFERS, in constant time.
PFC_MUST_USE int pfc_proof_check(const uint8_t proof[PFC_PROOF_BYTES], const struct pfc_proof_key *expanded,
                                 const uint8_t nonce[PFC_NONCE_BYTES],
                                 const uint8_t measurement[PFC_MEASUREMENT_BYTES]);

/// The literal formula of both kinds, with the caller's nonce: what an app calls that brings its own link.
/// Loads the key, makes the proof, wipes the key. PFC_E_ARGUMENT for an unknown kind.
PFC_MUST_USE int pfc_proof_literal(uint8_t proof[PFC_PROOF_BYTES], uint8_t kind, const struct pfc_key *key,
                                   const struct pfc_measured *measured, const uint8_t nonce[PFC_NONCE_BYTES]);

/// The hardware's challenge: 32 random bytes and a counter that never repeats in the hardware's life.
struct pfc_challenge {
  uint64_t counter;
  uint8_t bytes[PFC_CHALLENGE_BYTES];
};

/// The nonce a proof over the link answers. PFC_E_ARGUMENT if the kind is unknown, the class is over 15 or the
/// command over PFC_COMMAND_MAX bytes.
PFC_MUST_USE int pfc_nonce_derive(uint8_t nonce[PFC_NONCE_BYTES], const uint8_t hardware_id[PFC_ID_BYTES],
                                  const struct pfc_challenge *challenge, uint8_t kind, uint8_t command_class,
                                  const uint8_t *command, size_t command_size);

/// The nonce that the device proof of an integrity command answers. It binds the integrity proof beside it: a peer that
/// corrupts the integrity proof on the way makes both wrong. A right device proof beside a wrong integrity proof
/// therefore comes from the owner's own device.
void pfc_nonce_escort(uint8_t escort[PFC_NONCE_BYTES], const uint8_t nonce[PFC_NONCE_BYTES],
                      const uint8_t integrity_proof[PFC_PROOF_BYTES]);

#if PFC_RATCHETS
/// The nonce that the device proof of a command of kind 3 or 4 answers. It binds all `size` bytes between the
/// command's head and its device proof: the integrity proof (kind 3), the ratchet's tag, the counter that the app
/// knows. A peer that corrupts the tag on the way therefore makes the device proof wrong, and cannot make an owner look
/// like a copy. `size` is at most PFC_PROOF_BYTES + PFC_COMMAND_RATCHET_BYTES.
void pfc_nonce_escort_ratchet(uint8_t escort[PFC_NONCE_BYTES], const uint8_t nonce[PFC_NONCE_BYTES],
                              const uint8_t *before, size_t size);
#endif

/// The receipt of a verdict. Keyed by a key derived from the device proof key, which an updated app still has.
void pfc_receipt_make(uint8_t receipt[PFC_RECEIPT_BYTES], const uint8_t device_key[PFC_KEY_BYTES],
                      const uint8_t nonce[PFC_NONCE_BYTES], uint8_t verdict, uint16_t detail, uint64_t counter);

/// PFC_OK or PFC_E_DIFFERS, in constant time.
PFC_MUST_USE int pfc_receipt_check(const uint8_t receipt[PFC_RECEIPT_BYTES],
                                   const uint8_t device_key[PFC_KEY_BYTES], const uint8_t nonce[PFC_NONCE_BYTES],
                                   uint8_t verdict, uint16_t detail, uint64_t counter);

#ifdef __cplusplus
}
#endif

#endif
