// SPDX-License-Identifier: Apache-2.0

#include "proof.h"

#include "internal.h"

void pfc_proof_key_init(struct pfc_proof_key *expanded, const uint8_t key[PFC_KEY_BYTES]) {
  pfc_mac_init(&expanded->mac, key, PFC_KEY_BYTES);
}

void pfc_proof_key_wipe(struct pfc_proof_key *expanded) { pfc_wipe(expanded, sizeof *expanded); }

void pfc_proof_make(uint8_t proof[PFC_PROOF_BYTES], const struct pfc_proof_key *expanded,
                    const uint8_t nonce[PFC_NONCE_BYTES], const uint8_t measurement[PFC_MEASUREMENT_BYTES]) {
  const struct pfc_short message = {&expanded->mac, nonce, PFC_NONCE_BYTES, measurement, PFC_MEASUREMENT_BYTES};
  pfc_mac_short(proof, &message);
}

void pfc_proof_make_two(uint8_t proofs[2][PFC_PROOF_BYTES], const struct pfc_proof_key *const keys[2],
                        const uint8_t *const nonces[2], const uint8_t *const measurements[2]) {
  const struct pfc_short messages[2] = {
      {&keys[0]->mac, nonces[0], PFC_NONCE_BYTES, measurements[0], PFC_MEASUREMENT_BYTES},
      {&keys[1]->mac, nonces[1], PFC_NONCE_BYTES, measurements[1], PFC_MEASUREMENT_BYTES}};
  pfc_mac_short_two(proofs, messages);
}

PFC_APART void pfc_proof_make_once(uint8_t proof[PFC_PROOF_BYTES], const uint8_t key[PFC_KEY_BYTES],
                                   const uint8_t nonce[PFC_NONCE_BYTES],
                                   const uint8_t measurement[PFC_MEASUREMENT_BYTES]) {
  struct pfc_mac mac;
  pfc_mac_init(&mac, key, PFC_KEY_BYTES);
  pfc_mac_update(&mac, nonce, PFC_NONCE_BYTES);
  pfc_mac_update(&mac, measurement, PFC_MEASUREMENT_BYTES);
  pfc_mac_final(proof, &mac);
}

int pfc_proof_check(const uint8_t proof[PFC_PROOF_BYTES], const struct pfc_proof_key *expanded,
                    const uint8_t nonce[PFC_NONCE_BYTES], const uint8_t measurement[PFC_MEASUREMENT_BYTES]) {
  uint8_t expected[PFC_PROOF_BYTES];
  int result;
  pfc_proof_make(expected, expanded, nonce, measurement);
  result = pfc_equal(expected, proof, sizeof expected) ? PFC_OK : PFC_E_DIFFERS;
  pfc_wipe(expected, sizeof expected);
  return result;
}

int pfc_proof_literal(uint8_t proof[PFC_PROOF_BYTES], uint8_t kind, const struct pfc_key *key,
                      const struct pfc_measured *measured, const uint8_t nonce[PFC_NONCE_BYTES]) {
  uint8_t bytes[PFC_KEY_BYTES];
  if (kind == PFC_KIND_INTEGRITY) {
    key->load(bytes, key->context);
    pfc_proof_make_once(proof, bytes, nonce, measured->integrity);
    pfc_wipe(bytes, sizeof bytes);
  } else if (kind == PFC_KIND_DEVICE) {
    pfc_proof_make_once(proof, measured->device_key, nonce, measured->device);
  } else {
    memset(proof, 0, PFC_PROOF_BYTES);
    return PFC_E_ARGUMENT;
  }
  return PFC_OK;
}

int pfc_kind_is_known(uint8_t kind) {
  return kind >= PFC_KIND_INTEGRITY && kind <= (PFC_RATCHETS ? PFC_KIND_DEVICE_RATCHET : PFC_KIND_DEVICE);
}

int pfc_kind_is_integrity(uint8_t kind) {
  return kind == PFC_KIND_INTEGRITY || (PFC_RATCHETS && kind == PFC_KIND_INTEGRITY_RATCHET) ||
         (PFC_SEALS_COMMANDS && kind == PFC_KIND_SEALED_INTEGRITY);
}

int pfc_kind_has_ratchet(uint8_t kind) {
  return (PFC_RATCHETS && (kind == PFC_KIND_INTEGRITY_RATCHET || kind == PFC_KIND_DEVICE_RATCHET)) ||
         pfc_kind_is_sealed(kind);
}

int pfc_kind_is_sealed(uint8_t kind) {
  return PFC_SEALS_COMMANDS && (kind == PFC_KIND_SEALED_INTEGRITY || kind == PFC_KIND_SEALED_DEVICE);
}

int pfc_nonce_derive(uint8_t nonce[PFC_NONCE_BYTES], const uint8_t hardware_id[PFC_ID_BYTES],
                     const struct pfc_challenge *challenge, uint8_t kind, uint8_t command_class,
                     const uint8_t *command, size_t command_size) {
  struct pfc_hash hash;
  uint8_t head[12];
  uint8_t digest[32];
  memset(nonce, 0, PFC_NONCE_BYTES);
  if (!pfc_kind_is_known(kind)) return PFC_E_ARGUMENT;
  if (command_class >= PFC_CLASSES || command_size > PFC_COMMAND_MAX) return PFC_E_ARGUMENT;
  pfc_put64(head, challenge->counter);
  head[8] = kind;
  head[9] = command_class;
  pfc_put16(head + 10, (uint16_t)command_size);
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, PFC_LABEL_NONCE, PFC_LABEL_BYTES);
  pfc_hash_update(&hash, hardware_id, PFC_ID_BYTES);
  pfc_hash_update(&hash, challenge->bytes, PFC_CHALLENGE_BYTES);
  pfc_hash_update(&hash, head, sizeof head);
  pfc_hash_update(&hash, command, command_size);
  pfc_hash_final(digest, &hash);
  memcpy(nonce, digest, PFC_NONCE_BYTES);
  return PFC_OK;
}

void pfc_nonce_escort(uint8_t escort[PFC_NONCE_BYTES], const uint8_t nonce[PFC_NONCE_BYTES],
                      const uint8_t integrity_proof[PFC_PROOF_BYTES]) {
  uint8_t bytes[PFC_NONCE_BYTES + PFC_PROOF_BYTES];
  uint8_t digest[32];
  memcpy(bytes, nonce, PFC_NONCE_BYTES);
  memcpy(bytes + PFC_NONCE_BYTES, integrity_proof, PFC_PROOF_BYTES);
  pfc_hash_once(digest, PFC_LABEL_ESCORT, bytes, sizeof bytes);
  memcpy(escort, digest, PFC_NONCE_BYTES);
}

#if PFC_RATCHETS
void pfc_nonce_escort_ratchet(uint8_t escort[PFC_NONCE_BYTES], const uint8_t nonce[PFC_NONCE_BYTES],
                              const uint8_t *before, size_t size) {
  uint8_t bytes[PFC_NONCE_BYTES + PFC_PROOF_BYTES + PFC_COMMAND_RATCHET_BYTES];
  uint8_t digest[32];
  memcpy(bytes, nonce, PFC_NONCE_BYTES);
  memcpy(bytes + PFC_NONCE_BYTES, before, size);
  pfc_hash_once(digest, PFC_LABEL_ESCORT_2, bytes, PFC_NONCE_BYTES + size);
  memcpy(escort, digest, PFC_NONCE_BYTES);
}
#endif

void pfc_receipt_make(uint8_t receipt[PFC_RECEIPT_BYTES], const uint8_t device_key[PFC_KEY_BYTES],
                      const uint8_t nonce[PFC_NONCE_BYTES], uint8_t verdict, uint16_t detail, uint64_t counter) {
  uint8_t key[32];
  uint8_t told[PFC_NONCE_BYTES + 11];
  memcpy(told, nonce, PFC_NONCE_BYTES);
  told[PFC_NONCE_BYTES] = verdict;
  pfc_put16(told + PFC_NONCE_BYTES + 1, detail);
  pfc_put64(told + PFC_NONCE_BYTES + 3, counter);
  pfc_derive(key, PFC_LABEL_RECEIPT_KEY, device_key, PFC_KEY_BYTES, NULL, 0);
  pfc_mac_once(receipt, key, sizeof key, told, sizeof told);
  pfc_wipe(key, sizeof key);
}

int pfc_receipt_check(const uint8_t receipt[PFC_RECEIPT_BYTES], const uint8_t device_key[PFC_KEY_BYTES],
                      const uint8_t nonce[PFC_NONCE_BYTES], uint8_t verdict, uint16_t detail, uint64_t counter) {
  uint8_t expected[PFC_RECEIPT_BYTES];
  int result;
  pfc_receipt_make(expected, device_key, nonce, verdict, detail, counter);
  result = pfc_equal(expected, receipt, sizeof expected) ? PFC_OK : PFC_E_DIFFERS;
  pfc_wipe(expected, sizeof expected);
  return result;
}
