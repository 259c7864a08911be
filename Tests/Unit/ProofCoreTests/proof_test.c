// SPDX-License-Identifier: Apache-2.0

/// Proofs, nonces, receipts.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"

static void hmac(uint8_t tag[32], const uint8_t *key, size_t key_size, const uint8_t *message, size_t size) {
  struct pfc_mac mac;
  pfc_mac_init(&mac, key, key_size);
  pfc_mac_update(&mac, message, size);
  pfc_mac_final(tag, &mac);
}

static void flip(uint8_t *bytes, size_t bit) { bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8)); }

static void proof_is_the_formula(void) {
  struct dice dice = {1};
  for (unsigned round = 0; round < 100; round++) {
    uint8_t key[16], message[48], proof[32], expected[32];
    struct pfc_proof_key expanded;
    test_case("round %u", round);
    dice_fill(&dice, key, sizeof key);
    dice_fill(&dice, message, sizeof message);
    hmac(expected, key, 16, message, 48);
    pfc_proof_key_init(&expanded, key);
    pfc_proof_make(proof, &expanded, message, message + 16);
    CHECK_BYTES(proof, expected, 32);
    CHECK_NUMBER(pfc_proof_check(proof, &expanded, message, message + 16), PFC_OK);
    // The expanded key serves any number of calls.
    pfc_proof_make(proof, &expanded, message, message + 16);
    CHECK_BYTES(proof, expected, 32);
    pfc_proof_key_wipe(&expanded);
    CHECK_ZEROS(&expanded, sizeof expanded);
  }
}

static void flipped_bits_never_verify(void) {
  struct dice dice = {2};
  uint8_t key[16], nonce[16], measurement[32], proof[32];
  struct {
    const char *what;
    uint8_t *bytes;
    size_t size;
  } parts[4] = {{"key", key, 16}, {"nonce", nonce, 16}, {"measurement", measurement, 32}, {"proof", proof, 32}};
  struct pfc_proof_key expanded;
  dice_fill(&dice, key, 16);
  dice_fill(&dice, nonce, 16);
  dice_fill(&dice, measurement, 32);
  pfc_proof_key_init(&expanded, key);
  pfc_proof_make(proof, &expanded, nonce, measurement);
  for (unsigned part = 0; part < 4; part++) {
    for (size_t bit = 0; bit < 8 * parts[part].size; bit++) {
      test_case("bit %zu of the %s", bit, parts[part].what);
      flip(parts[part].bytes, bit);
      pfc_proof_key_init(&expanded, key);
      CHECK_NUMBER(pfc_proof_check(proof, &expanded, nonce, measurement), PFC_E_DIFFERS);
      flip(parts[part].bytes, bit);
    }
  }
  pfc_proof_key_init(&expanded, key);
  CHECK_NUMBER(pfc_proof_check(proof, &expanded, nonce, measurement), PFC_OK);
}

static void literal_takes_the_kinds_key(void) {
  struct dice dice = {3};
  uint8_t mpk[16], message[48], proof[32], expected[32];
  struct pfc_key key;
  struct pfc_measured measured;
  dice_fill(&dice, mpk, 16);
  dice_fill(&dice, message, 16);
  dice_fill(&dice, &measured, sizeof measured);
  key = pfc_key_plain(mpk, PFC_MODE_PRODUCTION);
  memcpy(message + 16, measured.integrity, 32);
  hmac(expected, mpk, 16, message, 48);
  CHECK_NUMBER(pfc_proof_literal(proof, PFC_KIND_INTEGRITY, &key, &measured, message), PFC_OK);
  CHECK_BYTES(proof, expected, 32);
  memcpy(message + 16, measured.device, 32);
  hmac(expected, measured.device_key, 16, message, 48);
  CHECK_NUMBER(pfc_proof_literal(proof, PFC_KIND_DEVICE, &key, &measured, message), PFC_OK);
  CHECK_BYTES(proof, expected, 32);
  for (unsigned kind = 0; kind < 256; kind++) {
    if (kind == 1 || kind == 2) continue;
    test_case("kind %u", kind);
    CHECK_NUMBER(pfc_proof_literal(proof, (uint8_t)kind, &key, &measured, message), PFC_E_ARGUMENT);
    CHECK_DIFFER(proof, expected, 32);
  }
}

static void nonce_is_the_specs(void) {
  struct dice dice = {4};
  uint8_t hardware[16], command[256], transcript[16 + 16 + 32 + 12 + 256], digest[32], nonce[16];
  static const size_t sizes[] = {0, 1, 8, 255, 256};
  struct pfc_challenge challenge;
  dice_fill(&dice, hardware, 16);
  dice_fill(&dice, command, sizeof command);
  dice_fill(&dice, challenge.bytes, 32);
  challenge.counter = UINT64_C(0x0102030405060708);
  for (unsigned i = 0; i < 5; i++) {
    for (uint8_t kind = 1; kind <= 2; kind++) {
      struct pfc_hash hash;
      test_case("kind %u, %zu bytes", kind, sizes[i]);
      memcpy(transcript, "pfc1.nonce......", 16);
      memcpy(transcript + 16, hardware, 16);
      memcpy(transcript + 32, challenge.bytes, 32);
      put64(transcript + 64, challenge.counter);
      transcript[72] = kind;
      transcript[73] = 15;
      put16(transcript + 74, (uint16_t)sizes[i]);
      memcpy(transcript + 76, command, sizes[i]);
      pfc_hash_init(&hash);
      pfc_hash_update(&hash, transcript, 76 + sizes[i]);
      pfc_hash_final(digest, &hash);
      CHECK_NUMBER(pfc_nonce_derive(nonce, hardware, &challenge, kind, 15, sizes[i] != 0 ? command : NULL, sizes[i]),
                   PFC_OK);
      CHECK_BYTES(nonce, digest, 16);
    }
  }
}

static void escort_is_the_specs(void) {
  struct dice dice = {5};
  uint8_t nonce[16], proof[32], escort[16], digest[32];
  struct pfc_hash hash;
  dice_fill(&dice, nonce, 16);
  dice_fill(&dice, proof, 32);
  pfc_nonce_escort(escort, nonce, proof);
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, "pfc1.escort.....", 16);
  pfc_hash_update(&hash, nonce, 16);
  pfc_hash_update(&hash, proof, 32);
  pfc_hash_final(digest, &hash);
  CHECK_BYTES(escort, digest, 16);
}

static void everything_earns_another_nonce(void) {
  struct dice dice = {6};
  uint8_t hardware[16], command[9], nonce[16], other[16];
  struct pfc_challenge challenge;
  dice_fill(&dice, hardware, 16);
  dice_fill(&dice, command, sizeof command);
  dice_fill(&dice, challenge.bytes, 32);
  challenge.counter = 77;
  CHECK_NUMBER(pfc_nonce_derive(nonce, hardware, &challenge, 1, 3, command, 8), PFC_OK);
  for (size_t bit = 0; bit < 128; bit++) {
    test_case("hardware id, bit %zu", bit);
    flip(hardware, bit);
    CHECK_NUMBER(pfc_nonce_derive(other, hardware, &challenge, 1, 3, command, 8), PFC_OK);
    CHECK_DIFFER(other, nonce, 16);
    flip(hardware, bit);
  }
  for (size_t bit = 0; bit < 256; bit++) {
    test_case("challenge, bit %zu", bit);
    flip(challenge.bytes, bit);
    CHECK_NUMBER(pfc_nonce_derive(other, hardware, &challenge, 1, 3, command, 8), PFC_OK);
    CHECK_DIFFER(other, nonce, 16);
    flip(challenge.bytes, bit);
  }
  for (unsigned bit = 0; bit < 64; bit++) {
    test_case("counter, bit %u", bit);
    challenge.counter ^= UINT64_C(1) << bit;
    CHECK_NUMBER(pfc_nonce_derive(other, hardware, &challenge, 1, 3, command, 8), PFC_OK);
    CHECK_DIFFER(other, nonce, 16);
    challenge.counter ^= UINT64_C(1) << bit;
  }
  for (size_t bit = 0; bit < 64; bit++) {
    test_case("command, bit %zu", bit);
    flip(command, bit);
    CHECK_NUMBER(pfc_nonce_derive(other, hardware, &challenge, 1, 3, command, 8), PFC_OK);
    CHECK_DIFFER(other, nonce, 16);
    flip(command, bit);
  }
  for (uint8_t kind = 1; kind <= 2; kind++) {
    for (uint8_t class_ = 0; class_ < 16; class_++) {
      for (size_t size = 7; size <= 9; size++) {
        test_case("kind %u class %u size %zu", kind, class_, size);
        CHECK_NUMBER(pfc_nonce_derive(other, hardware, &challenge, kind, class_, command, size), PFC_OK);
        if (kind != 1 || class_ != 3 || size != 8) CHECK_DIFFER(other, nonce, 16);
      }
    }
  }
}

static void nonce_has_bounds(void) {
  static uint8_t command[70000];
  uint8_t hardware[16] = {1}, nonce[16];
  struct pfc_challenge challenge = {1, {2}};
  for (unsigned value = 0; value < 256; value++) {
    test_case("%u", value);
    if (value < 1 || value > 4) {
      CHECK_NUMBER(pfc_nonce_derive(nonce, hardware, &challenge, (uint8_t)value, 0, command, 8), PFC_E_ARGUMENT);
    }
    if (value > 15) {
      CHECK_NUMBER(pfc_nonce_derive(nonce, hardware, &challenge, 1, (uint8_t)value, command, 8), PFC_E_ARGUMENT);
    }
  }
  CHECK_NUMBER(pfc_nonce_derive(nonce, hardware, &challenge, 1, 0, command, 257), PFC_E_ARGUMENT);
  CHECK_NUMBER(pfc_nonce_derive(nonce, hardware, &challenge, 1, 0, command, 65536), PFC_E_ARGUMENT);
  CHECK_NUMBER(pfc_nonce_derive(nonce, hardware, &challenge, 1, 0, command, 65544), PFC_E_ARGUMENT);
}

static void receipt_is_the_specs(void) {
  struct dice dice = {7};
  uint8_t dpk[16], key[32], message[27], receipt[32], expected[32];
  dice_fill(&dice, dpk, 16);
  dice_fill(&dice, message, 16);
  message[16] = PFC_VERDICT_ACCEPTED;
  put16(message + 17, 0xfffe);
  put64(message + 19, UINT64_C(0x8070605040302010));
  pfc_hkdf(key, (const uint8_t *)"pfc1.receipt-key", 16, dpk, 16, NULL, 0);
  hmac(expected, key, 32, message, 27);
  pfc_receipt_make(receipt, dpk, message, PFC_VERDICT_ACCEPTED, 0xfffe, UINT64_C(0x8070605040302010));
  CHECK_BYTES(receipt, expected, 32);
}

static void flipped_receipts_are_refused(void) {
  struct dice dice = {8};
  uint8_t dpk[16], nonce[16], receipt[32];
  dice_fill(&dice, dpk, 16);
  dice_fill(&dice, nonce, 16);
  pfc_receipt_make(receipt, dpk, nonce, 1, 500, 9000);
  CHECK_NUMBER(pfc_receipt_check(receipt, dpk, nonce, 1, 500, 9000), PFC_OK);
  for (unsigned bit = 0; bit < 256; bit++) {
    test_case("bit %u", bit);
    flip(receipt, bit);
    CHECK_NUMBER(pfc_receipt_check(receipt, dpk, nonce, 1, 500, 9000), PFC_E_DIFFERS);
    flip(receipt, bit);
    if (bit < 128) {
      flip(dpk, bit);
      CHECK_NUMBER(pfc_receipt_check(receipt, dpk, nonce, 1, 500, 9000), PFC_E_DIFFERS);
      flip(dpk, bit);
      flip(nonce, bit);
      CHECK_NUMBER(pfc_receipt_check(receipt, dpk, nonce, 1, 500, 9000), PFC_E_DIFFERS);
      flip(nonce, bit);
    }
    if (bit < 64) {
      CHECK_NUMBER(pfc_receipt_check(receipt, dpk, nonce, 1, 500, 9000 ^ UINT64_C(1) << bit), PFC_E_DIFFERS);
    }
    if (bit < 16) {
      CHECK_NUMBER(pfc_receipt_check(receipt, dpk, nonce, 1, (uint16_t)(500 ^ 1u << bit), 9000), PFC_E_DIFFERS);
    }
    if (bit < 8) {
      CHECK_NUMBER(pfc_receipt_check(receipt, dpk, nonce, (uint8_t)(1 ^ 1u << bit), 500, 9000), PFC_E_DIFFERS);
    }
  }
}

static void proof_and_receipt_share_no_key(void) {
  // 16 bytes of nonce and 32 of measurement against 16 and 11: even over equal bytes the keys keep them apart.
  uint8_t dpk[16] = {1}, receipt_key[32], recall_key[32];
  pfc_hkdf(receipt_key, (const uint8_t *)PFC_LABEL_RECEIPT_KEY, 16, dpk, 16, NULL, 0);
  pfc_hkdf(recall_key, (const uint8_t *)PFC_LABEL_RECALL_KEY, 16, dpk, 16, NULL, 0);
  CHECK_DIFFER(receipt_key, dpk, 16);
  CHECK_DIFFER(recall_key, dpk, 16);
  CHECK_DIFFER(receipt_key, recall_key, 32);
}

static const struct test tests[] = {
    TEST("a proof is HMAC-SHA-256(key, nonce || measurement)", proof_is_the_formula),
    TEST("a flipped bit of key, nonce, measurement or proof never verifies", flipped_bits_never_verify),
    TEST("the literal proof takes the kind's own key and measurement", literal_takes_the_kinds_key),
    TEST("a nonce is the specification's transcript", nonce_is_the_specs),
    TEST("an escort nonce is the specification's transcript", escort_is_the_specs),
    TEST("hardware, challenge, counter, kind, class, length and command each earn another nonce",
         everything_earns_another_nonce),
    TEST("a nonce is not derived for an unknown kind, class or length", nonce_has_bounds),
    TEST("a receipt is the specification's transcript", receipt_is_the_specs),
    TEST("a flipped bit of a receipt or of what it says is refused", flipped_receipts_are_refused),
    TEST("receipts and recalls are keyed by derived keys, never by the proof's", proof_and_receipt_share_no_key),
};

const struct suite proof_suite = SUITE("proof", tests);
