// SPDX-License-Identifier: Apache-2.0

/// The app's way from evidence to measurement, with a secret MPK and secret digests, and the dissolved key.

#include <string.h>

#include "constant_time.h"

// The generated source itself, because its tables are the secret and nothing else can name them.
#include "sdk_key.c"

enum { SOURCES = 3 };

static const struct pfc_source sources[SOURCES] = {
    {PFC_CLASS_DEVICE, 1, 1, 1}, {PFC_CLASS_APP, 1, 1, 2}, {PFC_CLASS_ENVIRONMENT, 9, 2, 0}};

static void draft(struct pfc_config *config) {
  memset(config, 0, sizeof *config);
  config->policy = PFC_POLICY_FULL;
  config->limit_log2 = 20;
  config->generation = 1;
  config->source_count = SOURCES;
  memset(config->salt, 0x5A, sizeof config->salt);
  memcpy(config->sources, sources, sizeof sources);
}

/// Every source, present and absent; which is public, what the digests are is not.
static void fold_records(struct pfc_measurement *fold) {
  uint8_t digest[PFC_DIGEST_BYTES];
  static const uint8_t names[3][2] = {"a", "b", "c"};
  for (unsigned source = 0; source < SOURCES; source++) {
    for (unsigned i = 0; i < 3; i++) {
      make_secret(digest, sizeof digest, (uint8_t)(16 * source + i));
      expect("taken", pfc_measurement_update(fold, sources[source].class_, sources[source].number, names[i], 1,
                                             i == 2 ? NULL : digest) == PFC_OK);
    }
  }
}

static void baseline(void) {
  struct pfc_config config;
  struct pfc_measurement fold;
  uint8_t mpk[PFC_KEY_BYTES];
  struct pfc_key key = make_secret_key(mpk);
  draft(&config);
  expect("begun", pfc_measurement_baseline_init(&fold, &config, &key) == PFC_OK);
  fold_records(&fold);
  expect("ended", pfc_measurement_baseline_final(&config, &fold) == PFC_OK);
  expect_secret("the wrapped key", config.wrapped_key, sizeof config.wrapped_key);
  expect_secret("a leaf", config.leaves[0], PFC_CONFIG_LEAF_BYTES);
}

/// The baseline's bytes, which are public: they stand in a file.
static size_t encoded(uint8_t mc[PFC_CONFIG_BYTES_MAX], const struct pfc_key *key) {
  struct pfc_config config;
  struct pfc_measurement fold;
  size_t size = 0;
  draft(&config);
  expect("begun", pfc_measurement_baseline_init(&fold, &config, key) == PFC_OK);
  fold_records(&fold);
  expect("ended", pfc_measurement_baseline_final(&config, &fold) == PFC_OK);
  reveal(&config, sizeof config);
  expect("encoded", pfc_config_encode(mc, PFC_CONFIG_BYTES_MAX, &size, &config) == PFC_OK);
  return size;
}

static void measure(void) {
  struct pfc_measurement fold;
  struct pfc_measured measured;
  uint8_t mpk[PFC_KEY_BYTES], mc[PFC_CONFIG_BYTES_MAX];
  struct pfc_key key = make_secret_key(mpk);
  size_t size = encoded(mc, &key);
  expect("begun", pfc_measurement_init(&fold, mc, size, &key, 0) == PFC_OK);
  fold_records(&fold);
  expect("ended", pfc_measurement_final(&measured, &fold) == PFC_OK);
  expect_secret("IM, DM, DPK", &measured, sizeof measured);
}

static void repeat(void) {
  struct pfc_config config;
  struct pfc_measurement fold;
  struct pfc_measured measured;
  uint8_t mpk[PFC_KEY_BYTES], mc[PFC_CONFIG_BYTES_MAX];
  struct pfc_key key = make_secret_key(mpk);
  size_t size;
  draft(&config);
  expect("begun", pfc_measurement_baseline_init(&fold, &config, &key) == PFC_OK);
  fold_records(&fold);
  expect("repeated", pfc_measurement_baseline_repeat(mc, sizeof mc, &size, &fold, &key) == PFC_OK);
  expect_secret("a leaf", mc + PFC_CONFIG_HEAD_BYTES + SOURCES * PFC_CONFIG_SOURCE_BYTES, PFC_CONFIG_LEAF_BYTES);
  fold_records(&fold);
  expect("ended", pfc_measurement_final(&measured, &fold) == PFC_OK);
  expect_secret("IM, DM, DPK", &measured, sizeof measured);
}

static void compare(void) {
  struct pfc_measurement fold;
  struct pfc_difference difference;
  uint8_t mpk[PFC_KEY_BYTES], mc[PFC_CONFIG_BYTES_MAX];
  struct pfc_key key = make_secret_key(mpk);
  size_t size = encoded(mc, &key);
  expect("begun", pfc_measurement_init(&fold, mc, size, &key, PFC_MEASURE_LEAVES) == PFC_OK);
  fold_records(&fold);
  expect("ended", pfc_measurement_compare(&difference, &fold) == PFC_OK);
  reveal(&difference, sizeof difference);  // The diagnosis is for the service and the user.
  expect("nothing differs", difference.groups[0] == 0 && difference.app_comparable && difference.device_comparable);
}

/// An attacker who changes a byte of a configuration must not learn from the time how much of the tag is right.
static void config_tag(void) {
  struct pfc_config config;
  uint8_t mpk[PFC_KEY_BYTES] = {1}, mc[PFC_CONFIG_BYTES_MAX];
  struct pfc_key key = pfc_key_plain(mpk, PFC_MODE_PRODUCTION);
  size_t size = encoded(mc, &key);
  conceal(mc + size - PFC_CONFIG_TAG_BYTES, PFC_CONFIG_TAG_BYTES);
  expect("right", pfc_config_decode(&config, mc, size) == PFC_OK);
  mc[size - 1] ^= 1;
  expect("wrong", pfc_config_decode(&config, mc, size) == PFC_E_DAMAGED);
}

static void dissolved(void) {
  uint8_t bytes[PFC_KEY_BYTES], id[PFC_KEY_ID_BYTES], proof[PFC_PROOF_BYTES];
  struct pfc_measured measured;
  static const uint8_t nonce[PFC_NONCE_BYTES] = "a public nonce";
  conceal((void *)(uintptr_t)noise_a, sizeof noise_a);
  conceal((void *)(uintptr_t)noise_b, sizeof noise_b);
  conceal((void *)(uintptr_t)noise_c, sizeof noise_c);
  pfc_sdk_key.load(bytes, pfc_sdk_key.context);
  expect_secret("the key", bytes, sizeof bytes);
  make_secret(&measured, sizeof measured, 1);
  expect("a proof", pfc_proof_literal(proof, PFC_KIND_INTEGRITY, &pfc_sdk_key, &measured, nonce) == PFC_OK);
  expect_secret("the proof", proof, sizeof proof);
  pfc_key_id(id, &pfc_sdk_key);
  reveal((void *)(uintptr_t)noise_a, sizeof noise_a);
  reveal((void *)(uintptr_t)noise_b, sizeof noise_b);
  reveal((void *)(uintptr_t)noise_c, sizeof noise_c);
}

const struct check checks_measurement[] = {
    {"measurement: baseline", baseline},
    {"measurement: fold", measure},
    {"measurement: repeated baseline", repeat},
    {"measurement: compare", compare},
    {"config: tag", config_tag},
    {"dissolved key: load and prove", dissolved},
    {NULL, NULL},
};
