// SPDX-License-Identifier: Apache-2.0

#include "gate_proof.h"

#include "crypto.h"
#include "internal.h"

static int digest_of(uint8_t digest[PFC_DIGEST_BYTES], const uint8_t gate_id[PFC_ID_BYTES],
                     const uint8_t challenge_id[PFC_CHALLENGE_ID_BYTES], const struct pfc_http *request) {
  struct pfc_http bare = *request;
  uint8_t text[PFC_ID_BYTES + PFC_CHALLENGE_ID_BYTES + PFC_DIGEST_BYTES];
  int result;
  memset(bare.body_digest, 0, sizeof bare.body_digest);
  bare.authorization = NULL;
  bare.authorization_size = 0;
  memcpy(text, gate_id, PFC_ID_BYTES);
  memcpy(text + PFC_ID_BYTES, challenge_id, PFC_CHALLENGE_ID_BYTES);
  result = pfc_http_digest(text + PFC_ID_BYTES + PFC_CHALLENGE_ID_BYTES, &bare);
  if (result != PFC_OK) return result;
  pfc_hash_once(digest, PFC_LABEL_GATE_PROOF, text, sizeof text);
  return PFC_OK;
}

int pfc_gate_proof_make(uint8_t proof[PFC_PROOF_BYTES], const struct pfc_gate_keys *keys,
                        const uint8_t gate_id[PFC_ID_BYTES], const uint8_t challenge_id[PFC_CHALLENGE_ID_BYTES],
                        const struct pfc_http *request) {
  uint8_t text[PFC_LABEL_BYTES + PFC_DIGEST_BYTES];
  int result = digest_of(text + PFC_LABEL_BYTES, gate_id, challenge_id, request);
  memset(proof, 0, PFC_PROOF_BYTES);
  if (result != PFC_OK) return result;
  memcpy(text, PFC_LABEL_GATE_PROOF_MAC, PFC_LABEL_BYTES);
  pfc_mac_once(proof, keys->proof, PFC_GATE_KEY_BYTES, text, sizeof text);
  return PFC_OK;
}

int pfc_gate_proof_check(const uint8_t proof[PFC_PROOF_BYTES], const struct pfc_gate_keys *keys,
                         const uint8_t gate_id[PFC_ID_BYTES], const uint8_t challenge_id[PFC_CHALLENGE_ID_BYTES],
                         const struct pfc_http *request) {
  uint8_t expected[PFC_PROOF_BYTES];
  int result = pfc_gate_proof_make(expected, keys, gate_id, challenge_id, request);
  int equal = pfc_equal(expected, proof, sizeof expected);
  pfc_wipe(expected, sizeof expected);
  // The answer says so.
  PFC_DECLASSIFY(&equal, sizeof equal);
  if (result != PFC_OK) return result;
  return equal ? PFC_OK : PFC_E_DIFFERS;
}
