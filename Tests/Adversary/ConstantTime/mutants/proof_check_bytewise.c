// SPDX-License-Identifier: Apache-2.0

/// Replaces pfc_proof_check: compares in constant time, one byte after the other, and stops at the first that differs.

#include "ProofCore.h"

int pfc_proof_check(const uint8_t proof[PFC_PROOF_BYTES], const struct pfc_proof_key *expanded,
                    const uint8_t nonce[PFC_NONCE_BYTES], const uint8_t measurement[PFC_MEASUREMENT_BYTES]) {
  uint8_t expected[PFC_PROOF_BYTES];
  pfc_proof_make(expected, expanded, nonce, measurement);
  for (unsigned i = 0; i < PFC_PROOF_BYTES; i++) {
    if (!pfc_equal(expected + i, proof + i, 1)) return PFC_E_DIFFERS;
  }
  return PFC_OK;
}
