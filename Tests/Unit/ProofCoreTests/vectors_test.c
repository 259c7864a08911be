// SPDX-License-Identifier: Apache-2.0

/// The second implementation's vectors (Tests/Vectors/README.md): keys, configurations, measurements, proofs.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "vectors.h"

// Keys -----------------------------------------------------------------------------------------------------------

static void judge_mpk(const struct block *block) {
  uint8_t mpk[16], id[8];
  struct pfc_key key = key_of(block, mpk, byte_of(block, "mode"));
  pfc_key_id(id, &key);
  check_field(block, "key_id", id, 8);
}

static void judge_dpk(const struct block *block) {
  uint8_t mpk[16], salt[16], dpk[16];
  struct pfc_key key = key_of(block, mpk, PFC_MODE_PRODUCTION);
  block_exactly(block, "salt", salt, 16);
  pfc_key_device(dpk, &key, salt);
  check_field(block, "dpk", dpk, 16);
}

static void judge_issuer(const struct block *block) {
  uint8_t seed[32], public_key[32], signing_key[64], id[8];
  block_exactly(block, "issuer_seed", seed, 32);
  pfc_signing_key(public_key, signing_key, seed);
  check_field(block, "issuer_public", public_key, 32);
  pfc_issuer_id(id, public_key);
  check_field(block, "issuer_id", id, 8);
}

static void judge_hardware(const struct block *block) {
  uint8_t secret[32], public_key[32];
  block_exactly(block, "hardware_secret", secret, 32);
  pfc_public_key(public_key, secret);
  check_field(block, "hardware_public", public_key, 32);
}

static void judge_diversified(const struct block *block) {
  struct pfc_secrets secrets;
  uint8_t key[32];
  secrets_of(block, &secrets);
  check_field(block, "k_hw", secrets.integrity_key, 16);
  check_field(block, "im_hw", secrets.integrity, 32);
  check_field(block, "dpk_hw", secrets.device_key, 16);
  check_field(block, "dm_hw", secrets.device, 32);
  pfc_derive(key, PFC_LABEL_RECEIPT_KEY, secrets.device_key, 16, NULL, 0);
  check_field(block, "receipt_key", key, 32);
  pfc_derive(key, PFC_LABEL_RECALL_KEY, secrets.device_key, 16, NULL, 0);
  check_field(block, "recall_key", key, 32);
}

// Configuration and measurement ----------------------------------------------------------------------------------

static void judge_config(const struct block *block) {
  uint8_t mpk[16], dpk[16], bytes[PFC_CONFIG_BYTES_MAX];
  struct pfc_key key = key_of(block, mpk, byte_of(block, "mode"));
  struct pfc_config draft, config;
  struct pfc_measurement fold;
  size_t size;
  memset(&draft, 0, sizeof draft);
  draft.policy = byte_of(block, "policy");
  draft.generation = (uint32_t)block_number(block, "generation");
  draft.limit_log2 = byte_of(block, "limit");
  block_exactly(block, "salt", draft.salt, 16);
  for (size_t i = 0; i < block->count; i++) {
    if (strcmp(block->fields[i].name, "source") != 0) continue;
    REQUIRE(CHECK(draft.source_count < PFC_CONFIG_SOURCES_MAX));
    CHECK(parse_source(block->fields[i].value, &draft.sources[draft.source_count++]));
  }
  REQUIRE(CHECK_NUMBER(pfc_measurement_baseline_init(&fold, &draft, &key), PFC_OK));
  REQUIRE(CHECK_NUMBER(add_records(&fold, block), PFC_OK));
  REQUIRE(CHECK_NUMBER(pfc_measurement_baseline_final(&config, &fold), PFC_OK));
  REQUIRE(CHECK_NUMBER(pfc_config_encode(bytes, sizeof bytes, &size, &config), PFC_OK));
  pfc_key_device(dpk, &key, draft.salt);
  check_field(block, "dpk", dpk, 16);
  check_field(block, "key_id", config.key_id, 8);
  check_field(block, "wrapped", config.wrapped_key, 16);
  check_field(block, "leaf_check", config.leaf_check, 4);
  check_field(block, "leaves", config.leaves, 4u * config.leaf_count);
  check_field(block, "tag", bytes + size - 16, 16);
  check_field(block, "config", bytes, size);
}

static void judge_differences(const struct block *block, const uint8_t *bytes, size_t size, const struct pfc_key *key,
                              const struct pfc_config *config) {
  const char *comparable = block_word(block, "comparable"), *index = block_word(block, "differing");
  struct pfc_measurement fold;
  struct pfc_difference difference;
  uint8_t expected[PFC_CONFIG_LEAVES_MAX / 8] = {0};
  bool device = strcmp(comparable, "all") == 0 || strcmp(comparable, "device") == 0;
  bool other = strcmp(comparable, "all") == 0 || strcmp(comparable, "other") == 0;
  for (uint64_t number; parse_number(index, &number); index += strcspn(index, " "), index += strspn(index, " ")) {
    REQUIRE(CHECK(number < PFC_CONFIG_LEAVES_MAX));
    expected[number / 8] |= (uint8_t)(1u << (number % 8));
  }
  REQUIRE(CHECK_NUMBER(pfc_measurement_init(&fold, bytes, size, key, PFC_MEASURE_LEAVES), PFC_OK));
  REQUIRE(CHECK_NUMBER(add_records(&fold, block), PFC_OK));
  REQUIRE(CHECK_NUMBER(pfc_measurement_compare(&difference, &fold), PFC_OK));
  CHECK_NUMBER(difference.device_comparable, device);
  CHECK_NUMBER(difference.app_comparable, other);
  CHECK_BYTES(difference.groups, expected, sizeof expected);

  // The leaves as recomputed: put into the configuration, no other group may differ from them. The key's id as well,
  // so that they can be compared.
  struct pfc_config recomputed = *config;
  uint8_t again[PFC_CONFIG_BYTES_MAX];
  static const uint8_t none[PFC_CONFIG_LEAVES_MAX / 8];
  recomputed.mode = key->mode;
  pfc_key_id(recomputed.key_id, key);
  block_exactly(block, "leaf_check", recomputed.leaf_check, 4);
  block_exactly(block, "leaves", recomputed.leaves[0], 4u * config->leaf_count);
  REQUIRE(CHECK_NUMBER(pfc_config_encode(again, sizeof again, &size, &recomputed), PFC_OK));
  REQUIRE(CHECK_NUMBER(pfc_measurement_init(&fold, again, size, key, PFC_MEASURE_LEAVES), PFC_OK));
  REQUIRE(CHECK_NUMBER(add_records(&fold, block), PFC_OK));
  REQUIRE(CHECK_NUMBER(pfc_measurement_compare(&difference, &fold), PFC_OK));
  CHECK_NUMBER(difference.device_comparable, 1);
  CHECK_NUMBER(difference.app_comparable, 1);
  CHECK_BYTES(difference.groups, none, sizeof none);
}

static void judge_measurement(const struct block *block) {
  uint8_t mpk[16], bytes[PFC_CONFIG_BYTES_MAX];
  size_t size = block_bytes(block, "config", bytes, sizeof bytes);
  struct pfc_config config;
  struct pfc_measurement fold;
  struct pfc_measured measured;
  REQUIRE(CHECK_NUMBER(pfc_config_decode(&config, bytes, size), PFC_OK));
  struct pfc_key key = key_of(block, mpk, config.mode);
  REQUIRE(CHECK_NUMBER(pfc_measurement_init(&fold, bytes, size, &key, 0), PFC_OK));
  REQUIRE(CHECK_NUMBER(add_records(&fold, block), PFC_OK));
  REQUIRE(CHECK_NUMBER(pfc_measurement_final(&measured, &fold), PFC_OK));
  check_field(block, "im", measured.integrity, 32);
  check_field(block, "dpk", measured.device_key, 16);
  check_field(block, "dm", measured.device, 32);
  judge_differences(block, bytes, size, &key, &config);
}

// Proof ----------------------------------------------------------------------------------------------------------

static void judge_bare(const struct block *block) {
  uint8_t key[16], nonce[16], measurement[32], proof[32];
  struct pfc_proof_key expanded;
  block_exactly(block, "key", key, 16);
  block_exactly(block, "nonce", nonce, 16);
  block_exactly(block, "measurement", measurement, 32);
  pfc_proof_key_init(&expanded, key);
  pfc_proof_make(proof, &expanded, nonce, measurement);
  check_field(block, "proof", proof, 32);
  CHECK_NUMBER(pfc_proof_check(proof, &expanded, nonce, measurement), PFC_OK);
}

static void judge_nonce(const struct block *block) {
  uint8_t hardware[16], command[PFC_COMMAND_MAX], nonce[16];
  struct pfc_challenge challenge;
  size_t size = block_bytes(block, "command", command, sizeof command);
  block_exactly(block, "hardware_id", hardware, 16);
  block_exactly(block, "challenge", challenge.bytes, 32);
  challenge.counter = block_number(block, "counter");
  CHECK_NUMBER(
      pfc_nonce_derive(nonce, hardware, &challenge, byte_of(block, "kind"), byte_of(block, "class"), command, size),
      PFC_OK);
  check_field(block, "nonce", nonce, 16);
}

static void judge_escort(const struct block *block) {
  uint8_t nonce[16], proof[32], escort[16];
  block_exactly(block, "nonce", nonce, 16);
  block_exactly(block, "integrity_proof", proof, 32);
  pfc_nonce_escort(escort, nonce, proof);
  check_field(block, "escort", escort, 16);
}

static void judge_ratchet(const struct block *block) {
  struct pfc_secrets secrets;
  uint8_t digest[16], nonce[16], first[16], moved[16], tag[PFC_RATCHET_TAG_BYTES], escort[16];
  uint8_t before[PFC_PROOF_BYTES + PFC_COMMAND_RATCHET_BYTES];
  size_t size = block_bytes(block, "integrity_proof", before, PFC_PROOF_BYTES);
  memset(&secrets, 0, sizeof secrets);
  block_exactly(block, "dpk_hw", secrets.device_key, 16);
  block_exactly(block, "dm_hw", secrets.device, 32);
  block_exactly(block, "token_digest", digest, 16);
  block_exactly(block, "nonce", nonce, 16);
  pfc_ratchet_begin(first, &secrets, digest);
  check_field(block, "first", first, 16);
  pfc_ratchet_tag(tag, first, nonce);
  check_field(block, "tag", tag, sizeof tag);
  pfc_ratchet_next(moved, first, nonce);
  check_field(block, "next", moved, 16);
  pfc_ratchet_fork(moved, &secrets, nonce);
  check_field(block, "fork", moved, 16);
  memcpy(before + size, tag, sizeof tag);
  put32(before + size + sizeof tag, (uint32_t)block_number(block, "known"));
  pfc_nonce_escort_ratchet(escort, nonce, before, size + PFC_COMMAND_RATCHET_BYTES);
  check_field(block, "escort", escort, 16);
}

static void judge_receipt(const struct block *block) {
  uint8_t dpk[16], nonce[16], receipt[32], key[32];
  uint8_t verdict = byte_of(block, "verdict");
  uint16_t detail = (uint16_t)block_number(block, "detail");
  uint64_t counter = block_number(block, "counter");
  block_exactly(block, "dpk_hw", dpk, 16);
  block_exactly(block, "nonce", nonce, 16);
  pfc_receipt_make(receipt, dpk, nonce, verdict, detail, counter);
  check_field(block, "receipt", receipt, 32);
  pfc_derive(key, PFC_LABEL_RECEIPT_KEY, dpk, 16, NULL, 0);
  check_field(block, "receipt_key", key, 32);
  CHECK_NUMBER(pfc_receipt_check(receipt, dpk, nonce, verdict, detail, counter), PFC_OK);
}

static void judge_recall(const struct block *block) {
  uint8_t message[PFC_RECALL_BYTES];
  recall_of(block, message);
}

// Files ----------------------------------------------------------------------------------------------------------

static void key_file(void) {
  static const struct judge judges[] = {{"mpk", judge_mpk},
                                        {"dpk", judge_dpk},
                                        {"issuer", judge_issuer},
                                        {"hardware", judge_hardware},
                                        {"diversified", judge_diversified}};
  JUDGE_FILE("key.txt", judges);
}

static void config_file(void) {
  static const struct judge judges[] = {{"config", judge_config}};
  JUDGE_FILE("config.txt", judges);
}

static void measurement_file(void) {
  static const struct judge judges[] = {{"measurement", judge_measurement}};
  JUDGE_FILE("measurement.txt", judges);
}

static void proof_file(void) {
  static const struct judge judges[] = {{"bare", judge_bare},
                                        {"nonce", judge_nonce},
                                        {"escort", judge_escort}, {"ratchet", judge_ratchet},
                                        {"receipt", judge_receipt},
                                        {"recall", judge_recall}};
  JUDGE_FILE("proof.txt", judges);
}

static const struct test tests[] = {
    TEST("keys are the second implementation's", key_file),
    TEST("configurations are the second implementation's", config_file),
    TEST("measurements and differences are the second implementation's", measurement_file),
    TEST("proofs, nonces and receipts are the second implementation's", proof_file),
};

const struct suite vectors_suite = SUITE("vectors", tests);
