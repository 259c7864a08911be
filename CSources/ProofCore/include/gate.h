// SPDX-License-Identifier: Apache-2.0

/// A gate: a verifier that speaks HTTP. Its identity, and the keys between one gate and one app installation.
///
///     K_gate  = KDF("pfc1.gate-key...", MPK, gate id)[0..16)
///     IM_gate = KDF("pfc1.gate-im....", IM, gate id)
///     S       = KDF("pfc1.gate-secret", K_gate || IM_gate, gate id || instance id || generation)
///
/// The app derives S from a fresh measurement; the service derives it from what it registered, and seals it into a gate
/// token. All other keys come from S. The app wipes S and its keys when its environment changes.

#ifndef PFC_GATE_H
#define PFC_GATE_H

#include <stddef.h>
#include <stdint.h>

#include "hardware.h"
#include "key.h"
#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One X25519 key of a gate. The secret key is secret.
struct pfc_gate_identity {
  uint8_t number;  ///< Stands in the token's header. Two keys of one gate have different numbers.
  uint8_t public_key[PFC_PUBLIC_KEY_BYTES];
  uint8_t secret_key[PFC_SECRET_KEY_BYTES];
};

/// A gate's identity, and the issuers it trusts. All of it comes from the gate's signed configuration. No issuer of a
/// gate is one that a lock knows.
struct pfc_gate {
  uint8_t id[PFC_ID_BYTES];
  uint8_t mode;          ///< enum pfc_mode: tokens of the other mode are refused
  uint8_t key_count;     ///< 1, or 2 while the identity rotates
  uint8_t issuer_count;  ///< 1 to PFC_ISSUERS_MAX
  struct pfc_gate_identity keys[PFC_GATE_KEYS_MAX];
  struct pfc_issuer issuers[PFC_ISSUERS_MAX];
  uint64_t floor;  ///< Unix seconds: tokens issued before are superseded. 0 for none
};

/// PFC_E_ARGUMENT unless every field is in range, id and keys are not all zeros, no two keys share a number, and each
/// public key belongs to its secret key.
PFC_MUST_USE int pfc_gate_check(const struct pfc_gate *gate);

/// Makes S, for app and service alike: `integrity` is the IM of a fresh measurement, or the registered one. Loads the
/// key, and wipes it before it returns. PFC_E_ARGUMENT for a generation of 0 or PFC_GENERATION_ALL; S is then zeros.
PFC_MUST_USE int pfc_gate_secret_make(uint8_t secret[PFC_GATE_SECRET_BYTES], const struct pfc_key *key,
                                      const uint8_t integrity[PFC_MEASUREMENT_BYTES],
                                      const uint8_t gate_id[PFC_ID_BYTES], const uint8_t instance_id[PFC_ID_BYTES],
                                      uint32_t generation);

/// The keys of one use of the compact layout (compact.h). Secret, but for handle and generation.
struct pfc_compact_keys {
  uint8_t handle[PFC_HANDLE_BYTES];  ///< Sent in the place of the instance id
  uint16_t generation;               ///< The lower 16 bits
  uint8_t event;                     ///< 1 for the keys of an audience, 0 for those of requests
  uint8_t tag[PFC_GATE_KEY_BYTES];
  uint8_t mask[PFC_GATE_KEY_BYTES];
};

/// The keys that a gate derives from S. Secret; wipe it when done.
struct pfc_gate_keys {
  uint8_t request[PFC_GATE_KEY_BYTES];  ///< Standard form (RFC 9421, hmac-sha256). The only one for other libraries
  uint8_t proof[PFC_GATE_KEY_BYTES];    ///< Answers to challenges of kind proof
  struct pfc_compact_keys compact;      ///< Compact form; also has the handle, which is the standard form's keyid
};

/// Derives the keys of requests. `generation` is that of S.
void pfc_gate_keys_make(struct pfc_gate_keys *keys, const uint8_t secret[PFC_GATE_SECRET_BYTES],
                        uint32_t generation);

/// Derives the keys of event tokens for one audience: all that its redeemer holds. Another audience's keys, and S,
/// cannot be computed from them.
void pfc_gate_event_keys_make(struct pfc_compact_keys *keys, const uint8_t secret[PFC_GATE_SECRET_BYTES],
                              uint32_t generation, const uint8_t audience[PFC_ID_BYTES]);

// Accounts of users -----------------------------------------------------------------------------------------------

/// A user account as it leaves the device: HMAC of its UTF-8 bytes under the gate's account key. An attacker who
/// extracts that key from an app can guess short names. PFC_E_ARGUMENT for 0 or over PFC_ACCOUNT_MAX bytes; the output
/// is then zeros, which stand for no account.
PFC_MUST_USE int pfc_gate_account(uint8_t account[PFC_DIGEST_BYTES], const uint8_t key[PFC_GATE_KEY_BYTES],
                                  const char *name, size_t size);

// Beacons ---------------------------------------------------------------------------------------------------------

/// The key of a gate's beacons, from the gate's own secret of 32 bytes and that secret's number. All nodes share it,
/// and redeemers that judge events get it. Secret.
void pfc_beacon_key(uint8_t key[PFC_GATE_KEY_BYTES], const uint8_t own_secret[32], const uint8_t gate_id[PFC_ID_BYTES],
                    uint8_t number);

/// The beacon of the interval that `now` (Unix seconds) is in, as it stands in an answer's `Proof-Time` header, before
/// base64url.
void pfc_beacon_make(uint8_t message[PFC_BEACON_MESSAGE_BYTES], const uint8_t key[PFC_GATE_KEY_BYTES], uint64_t now);

/// App side: the beacon to carry, and its interval, by which the app keeps the newest. The app cannot authenticate a
/// beacon; TLS does. PFC_E_MALFORMED for another size or kind or a beacon of zeros, PFC_E_TOO_NEW for another version;
/// the outputs are then zeros.
PFC_MUST_USE int pfc_beacon_read(uint8_t beacon[PFC_BEACON_BYTES], uint32_t *interval, const uint8_t *message,
                                 size_t size);

/// The beacons that anchor a token at one moment.
struct pfc_beacons {
  uint8_t valid[PFC_BEACONS_VALID][PFC_BEACON_BYTES];
};

/// Makes the beacons of the interval of `now`, the two before, and the next, which a node with a faster clock may have
/// given out already. Make them once for each interval, not for each token.
void pfc_beacons_at(struct pfc_beacons *beacons, const uint8_t key[PFC_GATE_KEY_BYTES], uint64_t now);

#ifdef __cplusplus
}
#endif

#endif
