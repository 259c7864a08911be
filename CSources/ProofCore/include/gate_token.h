// SPDX-License-Identifier: Apache-2.0

/// The gate token: what the service tells one gate about one app installation.
///
/// A form of its own: another magic, another form byte and another label under the signature than the token for a lock,
/// so that a lock refuses it and a gate refuses that one, also if both had the same keys. The signature covers the
/// gate's public key and the clear header.

#ifndef PFC_GATE_TOKEN_H
#define PFC_GATE_TOKEN_H

#include <stddef.h>
#include <stdint.h>

#include "gate.h"
#include "refusal.h"
#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Bits of `flags`. Bits 2 to 15 are zero in this version.
enum pfc_gate_flag {
  PFC_GATE_FAILED = 1,  ///< The app failed its attestation. The route's rule for failed apps applies
  PFC_GATE_FORCED = 2   ///< An operator decided about this device
};

/// Something the SDK found out about its process (docs/MANAGEMENT.md).
struct pfc_finding {
  uint8_t class_;  ///< 1 to 3
  uint8_t number;  ///< 1 to 255
};

/// A gate token, opened. Secret for its secret.
struct pfc_gate_token {
  uint8_t mode;         ///< enum pfc_mode
  uint8_t key_number;   ///< Number of the gate's key that it is sealed to. Set by `pfc_gate_token_open`
  uint16_t flags;       ///< enum pfc_gate_flag
  uint32_t generation;  ///< 1 to PFC_GENERATION_ALL - 1
  uint64_t issued;      ///< Unix seconds; 1 or more
  uint64_t not_after;   ///< Unix seconds; from `issued` to PFC_GATE_LIFE_SECONDS later. The last second that counts
  uint64_t first_seen;  ///< Unix seconds; 1 to `issued`
  uint8_t gate_id[PFC_ID_BYTES];
  uint8_t instance_id[PFC_ID_BYTES];       ///< Not all zeros
  uint8_t issuer_id[PFC_ISSUER_ID_BYTES];  ///< Set by `pfc_gate_token_create`
  uint32_t properties;                     ///< Bit n for the property of number n
  uint8_t arc[PFC_ARC_BYTES];              ///< `A` to `Z`, `2` to `7`; or zeros for none
  uint8_t secret[PFC_GATE_SECRET_BYTES];   ///< S; not all zeros
  struct pfc_finding findings[PFC_FINDINGS_MAX];  ///< In strictly increasing order, then zeros
  uint8_t app[PFC_APP_BYTES];                     ///< From the app digest; zeros for none
};

/// Service side: signs, then seals to the key of this number. `ephemeral` is 32 fresh random bytes. PFC_E_ARGUMENT if
/// a field is out of range, PFC_E_RECIPIENT if the gate's key is not usable; the output is then zeros.
PFC_MUST_USE int pfc_gate_token_create(uint8_t bytes[PFC_GATE_TOKEN_BYTES], const struct pfc_gate_token *token,
                                       uint8_t key_number, const uint8_t recipient[PFC_PUBLIC_KEY_BYTES],
                                       const uint8_t signing_key[PFC_SIGNING_KEY_BYTES],
                                       const uint8_t ephemeral[PFC_SECRET_KEY_BYTES]);

/// The causes that cost no public-key work. `pfc_gate_token_open` begins with it; a gate calls it before it takes the
/// token from its budget of openings.
PFC_MUST_USE enum pfc_refusal pfc_gate_token_check_head(const uint8_t *bytes, size_t size,
                                                        const struct pfc_gate *gate);

/// Gate side: opens, in the order of docs/SPEC.md, section 15. `now` is the highest Unix time that the node has seen.
/// On a refusal `*token` is all zeros. The caller looks up revocations by instance id and generation afterwards.
PFC_MUST_USE enum pfc_refusal pfc_gate_token_open(struct pfc_gate_token *token, const uint8_t *bytes, size_t size,
                                                  const struct pfc_gate *gate, uint64_t now);

#ifdef __cplusplus
}
#endif

#endif
