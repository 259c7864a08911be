// SPDX-License-Identifier: Apache-2.0

/// Computations of app and hardware with keys: comparisons, proofs, receipts, recalls, commands, derived keys.

#include "constant_time.h"

static void equal(void) {
  uint8_t a[32], b[32];
  make_secret(a, sizeof a, 1);
  make_secret(b, sizeof b, 1);
  expect("equal", pfc_equal(a, b, sizeof a) == 1);
  for (size_t i = 0; i < sizeof b; i += 31) {
    b[i] ^= 1;
    expect("different", pfc_equal(a, b, sizeof a) == 0);
  }
  expect("not zero", pfc_is_zero(a, sizeof a) == 0);
  for (size_t i = 0; i < sizeof a; i++) a[i] ^= a[i];
  conceal(a, sizeof a);
  expect("zero", pfc_is_zero(a, sizeof a) == 1);
}

static void proofs(void) {
  struct pfc_proof_key expanded;
  uint8_t key[PFC_KEY_BYTES], measurement[PFC_MEASUREMENT_BYTES], proof[PFC_PROOF_BYTES];
  static const uint8_t nonce[PFC_NONCE_BYTES] = "a public nonce";
  int right, wrong;
  make_secret(key, sizeof key, 1);
  make_secret(measurement, sizeof measurement, 2);
  pfc_proof_key_init(&expanded, key);
  pfc_proof_make(proof, &expanded, nonce, measurement);
  expect_secret("the proof", proof, sizeof proof);
  reveal(proof, sizeof proof);  // It goes over the link.
  right = pfc_proof_check(proof, &expanded, nonce, measurement);
  proof[31] ^= 1;
  wrong = pfc_proof_check(proof, &expanded, nonce, measurement);
  pfc_proof_key_wipe(&expanded);
  expect("the right proof alone", right == PFC_OK && wrong == PFC_E_DIFFERS);
}

static void two_proofs(void) {
  struct pfc_proof_key expanded[2];
  const struct pfc_proof_key *const keys[2] = {&expanded[0], &expanded[1]};
  uint8_t key[2][PFC_KEY_BYTES], measurement[2][PFC_MEASUREMENT_BYTES], proofs_made[2][PFC_PROOF_BYTES];
  static const uint8_t nonce[PFC_NONCE_BYTES] = "a public nonce";
  const uint8_t *const nonces[2] = {nonce, nonce};
  const uint8_t *const measurements[2] = {measurement[0], measurement[1]};
  make_secret(key, sizeof key, 1);
  make_secret(measurement, sizeof measurement, 2);
  for (unsigned i = 0; i < 2; i++) pfc_proof_key_init(&expanded[i], key[i]);
  pfc_proof_make_two(proofs_made, keys, nonces, measurements);
  expect_secret("the first proof", proofs_made[0], PFC_PROOF_BYTES);
  expect_secret("the second proof", proofs_made[1], PFC_PROOF_BYTES);
}

static void literal(void) {
  struct pfc_measured measured;
  uint8_t mpk[PFC_KEY_BYTES], proof[PFC_PROOF_BYTES];
  static const uint8_t nonce[PFC_NONCE_BYTES] = "a public nonce";
  struct pfc_key key = make_secret_key(mpk);
  make_secret(&measured, sizeof measured, 2);
  expect("integrity", pfc_proof_literal(proof, PFC_KIND_INTEGRITY, &key, &measured, nonce) == PFC_OK);
  expect_secret("the integrity proof", proof, sizeof proof);
  expect("device", pfc_proof_literal(proof, PFC_KIND_DEVICE, &key, &measured, nonce) == PFC_OK);
  expect_secret("the device proof", proof, sizeof proof);
}

static void receipts(void) {
  uint8_t key[PFC_KEY_BYTES], receipt[PFC_RECEIPT_BYTES];
  static const uint8_t nonce[PFC_NONCE_BYTES] = "a public nonce";
  int right, wrong;
  make_secret(key, sizeof key, 1);
  pfc_receipt_make(receipt, key, nonce, PFC_VERDICT_ACCEPTED, 7, 9);
  expect_secret("the receipt", receipt, sizeof receipt);
  reveal(receipt, sizeof receipt);  // It goes over the link.
  right = pfc_receipt_check(receipt, key, nonce, PFC_VERDICT_ACCEPTED, 7, 9);
  wrong = pfc_receipt_check(receipt, key, nonce, PFC_VERDICT_ACCEPTED, 8, 9);
  expect("the right receipt alone", right == PFC_OK && wrong == PFC_E_DIFFERS);
}

static void recalls(void) {
  uint8_t key[PFC_KEY_BYTES], message[PFC_RECALL_BYTES];
  static const uint8_t id[PFC_ID_BYTES] = "an instance", nonce[PFC_NONCE_BYTES] = "a public nonce";
  int right, wrong;
  make_secret(key, sizeof key, 1);
  pfc_recall_create(message, id, 9, nonce, key);
  expect_secret("the tag", message + PFC_RECALL_BYTES - PFC_PROOF_BYTES, PFC_PROOF_BYTES);
  reveal(message, sizeof message);  // It goes over the link.
  right = pfc_recall_check(message, key);
  message[0] ^= 1;
  wrong = pfc_recall_check(message, key);
  expect("the right recall alone", right == PFC_OK && wrong == PFC_E_DIFFERS);
}

static void commands(void) {
  struct pfc_secrets secrets;
  struct pfc_request request = {.command_class = 3, .command = (const uint8_t *)"open", .command_size = 4};
  uint8_t message[PFC_MESSAGE_MAX], nonce[PFC_NONCE_BYTES];
  size_t size;
  uint8_t ratchet[PFC_RATCHET_BYTES];
  make_secret(&secrets, sizeof secrets, 1);
  make_secret(ratchet, sizeof ratchet, 2);
  request.ratchet = ratchet;
  for (uint8_t kind = PFC_KIND_INTEGRITY; kind <= PFC_KIND_DEVICE_RATCHET; kind++) {
    request.kind = kind;
    expect("created", pfc_command_create(message, sizeof message, &size, nonce, &request, &secrets) == PFC_OK);
    expect_secret("the first proof, or the tag", message + PFC_COMMAND_HEAD_BYTES,
                  kind == PFC_KIND_DEVICE_RATCHET ? PFC_RATCHET_TAG_BYTES : PFC_PROOF_BYTES);
    expect_secret("the last proof", message + size - request.command_size - PFC_PROOF_BYTES, PFC_PROOF_BYTES);
  }
}

static void keys(void) {
  uint8_t mpk[PFC_KEY_BYTES], device_key[PFC_KEY_BYTES], id[PFC_KEY_ID_BYTES];
  static const uint8_t salt[PFC_SALT_BYTES] = "a public salt";
  struct pfc_key key = make_secret_key(mpk);
  pfc_key_device(device_key, &key, salt);
  expect_secret("the device proof key", device_key, sizeof device_key);
  pfc_key_id(id, &key);
  reveal(id, sizeof id);  // The key's public name.
  expect("the mode leads the name", id[0] == PFC_MODE_PRODUCTION);
}

static void secrets(void) {
  struct pfc_measured measured;
  struct pfc_secrets made;
  uint8_t mpk[PFC_KEY_BYTES];
  static const uint8_t id[PFC_ID_BYTES] = "some hardware";
  struct pfc_key key = make_secret_key(mpk);
  make_secret(&measured, sizeof measured, 2);
  for (uint8_t form = PFC_FORM_DIVERSIFIED; form <= PFC_FORM_LITERAL; form++) {
    expect("made", pfc_secrets_make(&made, &key, &measured, form, id) == PFC_OK);
    expect_secret("the secrets", &made, sizeof made);
  }
}

const struct check checks_proof[] = {
    {"equal and is-zero", equal},
    {"proof: make and check", proofs},
    {"proof: two at once", two_proofs},
    {"proof: literal, both kinds", literal},
    {"receipt: make and check", receipts},
    {"recall: create and check", recalls},
    {"command: create, every kind", commands},
    {"key: name and device key", keys},
    {"secrets: diversified and literal", secrets},
    {NULL, NULL},
};
