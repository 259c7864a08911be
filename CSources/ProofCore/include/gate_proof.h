// SPDX-License-Identifier: Apache-2.0

/// An app's answer to a gate's challenge of kind proof: docs/SPEC.md, section 16.
///
///     H      = the request digest of method, scheme, authority and target, with a body digest of zeros and without
///              authorization
///     digest = SHA256("pfc1.gate-proof." || gate id || challenge id || H)
///     proof  = HMAC(proof key, "pfc1.mac-gproof." || digest)
///
/// The app takes the authority from its connection, and never from the challenge.

#ifndef PFC_GATE_PROOF_H
#define PFC_GATE_PROOF_H

#include <stddef.h>
#include <stdint.h>

#include "gate.h"
#include "http.h"
#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Makes the proof. Of the request only method, scheme, authority and target count. PFC_E_MALFORMED, and zeros, for
/// another spelling of one of them (http.h).
PFC_MUST_USE int pfc_gate_proof_make(uint8_t proof[PFC_PROOF_BYTES], const struct pfc_gate_keys *keys,
                                     const uint8_t gate_id[PFC_ID_BYTES],
                                     const uint8_t challenge_id[PFC_CHALLENGE_ID_BYTES],
                                     const struct pfc_http *request);

/// Checks a proof, in time that does not depend on it. PFC_E_DIFFERS for another one; PFC_E_MALFORMED as above.
PFC_MUST_USE int pfc_gate_proof_check(const uint8_t proof[PFC_PROOF_BYTES], const struct pfc_gate_keys *keys,
                                      const uint8_t gate_id[PFC_ID_BYTES],
                                      const uint8_t challenge_id[PFC_CHALLENGE_ID_BYTES],
                                      const struct pfc_http *request);

#ifdef __cplusplus
}
#endif

#endif
