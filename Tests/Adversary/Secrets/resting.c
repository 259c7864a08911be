// SPDX-License-Identifier: Apache-2.0

/// A process that has made proofs with the SDK's key and is at rest: its memory is what a thief finds. It says "ready"
/// and waits until its input ends. Arguments plant what must be found: `key` or `midstate` on the heap.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ProofKey.h"

/// The app's own secrets, which it keeps; none of them is MPK.
static struct pfc_measured measured;
static struct pfc_secrets secrets;

static void measure(void) {
  struct pfc_config draft = {.policy = PFC_POLICY_FULL, .limit_log2 = 20, .generation = 1, .source_count = 2};
  static struct pfc_measurement fold;
  uint8_t mc[PFC_CONFIG_BYTES_MAX], digest[PFC_DIGEST_BYTES] = {7};
  size_t size;
  memset(draft.salt, 0x5A, sizeof draft.salt);
  draft.sources[0] = (struct pfc_source){PFC_CLASS_DEVICE, 1, 1, 0};
  draft.sources[1] = (struct pfc_source){PFC_CLASS_APP, 1, 1, 0};
  int result = pfc_measurement_baseline_init(&fold, &draft, &pfc_sdk_key);
  for (uint8_t i = 0; i < 2 && result == PFC_OK; i++) {
    result = pfc_measurement_update(&fold, draft.sources[i].class_, 1, (const uint8_t *)"n", 1, digest);
  }
  if (result == PFC_OK) result = pfc_measurement_baseline_final(&draft, &fold);
  if (result == PFC_OK) result = pfc_config_encode(mc, sizeof mc, &size, &draft);
  if (result == PFC_OK) result = pfc_measurement_init(&fold, mc, size, &pfc_sdk_key, 0);
  for (uint8_t i = 0; i < 2 && result == PFC_OK; i++) {
    result = pfc_measurement_update(&fold, draft.sources[i].class_, 1, (const uint8_t *)"n", 1, digest);
  }
  if (result == PFC_OK) result = pfc_measurement_final(&measured, &fold);
  if (result != PFC_OK) exit(2);
}

int main(int argc, char **argv) {
  uint8_t nonce[PFC_NONCE_BYTES] = {0}, proof[PFC_PROOF_BYTES], id[PFC_ID_BYTES] = "some hardware", device_key[16];
  struct pfc_proof_key *planted = malloc(sizeof *planted);
  if (planted == NULL) return 2;
  measure();
  for (unsigned i = 0; i < 1000; i++) {
    nonce[0] = (uint8_t)i;
    uint8_t kind = i % 2 ? PFC_KIND_INTEGRITY : PFC_KIND_DEVICE;
    if (pfc_proof_literal(proof, kind, &pfc_sdk_key, &measured, nonce) != PFC_OK) return 2;
  }
  pfc_key_id(id, &pfc_sdk_key);
  pfc_key_device(device_key, &pfc_sdk_key, nonce);
  if (pfc_secrets_make(&secrets, &pfc_sdk_key, &measured, PFC_FORM_DIVERSIFIED, id) != PFC_OK) return 2;
  if (argc > 1) {
    uint8_t *key = malloc(PFC_KEY_BYTES);
    if (key == NULL) return 2;
    pfc_sdk_key.load(key, pfc_sdk_key.context);
    pfc_proof_key_init(planted, key);
    if (strcmp(argv[1], "key") != 0) pfc_wipe(key, PFC_KEY_BYTES);
    if (strcmp(argv[1], "midstate") != 0) pfc_proof_key_wipe(planted);
    // Not freed: at rest, but in use.
  }
  printf("ready\n");
  fflush(stdout);
  while (getchar() != EOF) continue;
  return 0;
}
