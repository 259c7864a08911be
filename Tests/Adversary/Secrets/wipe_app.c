// SPDX-License-Identifier: Apache-2.0

/// Calls of an app with its key and its measurement.

#include <string.h>

#include "ProofKey.h"
#include "wipe.h"

static void need_mpk(struct vault *vault) {
  vault_fill(vault->mpk, sizeof vault->mpk, 1);
  vault->key = pfc_key_plain(vault->mpk, PFC_MODE_PRODUCTION);
  vault_fill(vault->salt, sizeof vault->salt, 2);
  needle_add_mac_key("MPK", vault->mpk, sizeof vault->mpk);
}

static void need_measured(struct vault *vault) {
  vault_fill(&vault->measured, sizeof vault->measured, 3);
  needle_add("IM", vault->measured.integrity, sizeof vault->measured.integrity);
  needle_add("DM", vault->measured.device, sizeof vault->measured.device);
  needle_add_mac_key("DPK", vault->measured.device_key, sizeof vault->measured.device_key);
}

static void need_nonce(struct vault *vault) { vault_fill(vault->nonce, sizeof vault->nonce, 4); }

// Proofs ---------------------------------------------------------------------------------------------------------

static void prepare_proof(struct vault *vault) {
  need_mpk(vault);
  need_measured(vault);
  need_nonce(vault);
}

static void run_proof(struct vault *vault) {
  pfc_proof_key_init(&vault->proof_key, vault->mpk);
  pfc_proof_make(vault->out, &vault->proof_key, vault->nonce, vault->measured.integrity);
  pfc_proof_key_wipe(&vault->proof_key);
}

/// A proof that is expected and never came is a secret: an attacker who finds it can use it.
static void prepare_proof_check(struct vault *vault) {
  prepare_proof(vault);
  pfc_proof_key_init(&vault->proof_key, vault->mpk);
  pfc_proof_make(vault->out, &vault->proof_key, vault->nonce, vault->measured.integrity);
  needle_add("the expected proof", vault->out, PFC_PROOF_BYTES);
  memset(vault->out, 0, PFC_PROOF_BYTES);
}

static void run_proof_check(struct vault *vault) {
  vault_expect(pfc_proof_check(vault->out, &vault->proof_key, vault->nonce, vault->measured.integrity) ==
                   PFC_E_DIFFERS,
               "refused");
}

static void run_literal(struct vault *vault) {
  for (uint8_t kind = PFC_KIND_INTEGRITY; kind <= PFC_KIND_DEVICE; kind++) {
    vault_expect(pfc_proof_literal(vault->out, kind, &vault->key, &vault->measured, vault->nonce) == PFC_OK, "made");
  }
}

static void prepare_dissolved(struct vault *vault) {
  need_measured(vault);
  need_nonce(vault);
  vault->key = pfc_sdk_key;
  pfc_sdk_key.load(vault->mpk, pfc_sdk_key.context);
  needle_add_mac_key("the SDK's MPK", vault->mpk, sizeof vault->mpk);
}

// Receipts, recalls, commands ------------------------------------------------------------------------------------

static void prepare_receipt(struct vault *vault) {
  need_measured(vault);
  need_nonce(vault);
  needle_add_derived("receipt key", PFC_LABEL_RECEIPT_KEY, vault->measured.device_key, PFC_KEY_BYTES, NULL, 0);
  pfc_receipt_make(vault->out, vault->measured.device_key, vault->nonce, PFC_VERDICT_ACCEPTED, 1, 2);
  needle_add("the expected receipt", vault->out, PFC_RECEIPT_BYTES);
  memset(vault->out, 0, PFC_RECEIPT_BYTES);
}

static void run_receipt(struct vault *vault) {
  vault_expect(pfc_receipt_check(vault->out, vault->measured.device_key, vault->nonce, PFC_VERDICT_ACCEPTED, 1, 2) ==
                   PFC_E_DIFFERS,
               "refused");
}

static void run_receipt_make(struct vault *vault) {
  pfc_receipt_make(vault->out, vault->measured.device_key, vault->nonce, PFC_VERDICT_HELD, 1, 2);
}

static void prepare_recall(struct vault *vault) {
  need_measured(vault);
  need_nonce(vault);
  needle_add_derived("recall key", PFC_LABEL_RECALL_KEY, vault->measured.device_key, PFC_KEY_BYTES, NULL, 0);
  pfc_recall_create(vault->out, vault->salt, 9, vault->nonce, vault->measured.device_key);
  needle_add("the expected tag", vault->out + PFC_RECALL_BYTES - 32, 32);
  memset(vault->out + PFC_RECALL_BYTES - 32, 0, 32);
}

static void run_recall(struct vault *vault) {
  vault_expect(pfc_recall_check(vault->out, vault->measured.device_key) == PFC_E_DIFFERS, "refused");
}

static void run_recall_create(struct vault *vault) {
  pfc_recall_create(vault->out, vault->salt, 8, vault->nonce, vault->measured.device_key);
}

static void prepare_command(struct vault *vault) {
  vault_fill(&vault->secrets, sizeof vault->secrets, 5);
  needle_add_mac_key("K_hw", vault->secrets.integrity_key, PFC_KEY_BYTES);
  needle_add("IM_hw", vault->secrets.integrity, PFC_MEASUREMENT_BYTES);
  needle_add_mac_key("DPK_hw", vault->secrets.device_key, PFC_KEY_BYTES);
  needle_add("DM_hw", vault->secrets.device, PFC_MEASUREMENT_BYTES);
  vault->request.kind = PFC_KIND_INTEGRITY;
}

static void run_command(struct vault *vault) {
  vault_expect(pfc_command_create(vault->out, sizeof vault->out, &vault->out_size, vault->nonce, &vault->request,
                                  &vault->secrets) == PFC_OK,
               "made");
}

// Keys -----------------------------------------------------------------------------------------------------------

static void prepare_secrets(struct vault *vault) {
  need_mpk(vault);
  need_measured(vault);
  need_nonce(vault);  // Stands for the hardware id.
  needle_add_derived("K_hw", PFC_LABEL_HARDWARE_KEY, vault->mpk, 16, vault->nonce, 16);
  needle_add_derived("IM_hw", PFC_LABEL_HARDWARE_IM, vault->measured.integrity, 32, vault->nonce, 16);
  needle_add_derived("DPK_hw", PFC_LABEL_HARDWARE_DEVICE_KEY, vault->measured.device_key, 16, vault->nonce, 16);
  needle_add_derived("DM_hw", PFC_LABEL_HARDWARE_DM, vault->measured.device, 32, vault->nonce, 16);
}

static void run_secrets(struct vault *vault) {
  vault_expect(pfc_secrets_make(&vault->secrets, &vault->key, &vault->measured, PFC_FORM_DIVERSIFIED, vault->nonce) ==
                   PFC_OK,
               "made");
}

static void prepare_keys(struct vault *vault) {
  need_mpk(vault);
  needle_add_derived("DPK", PFC_LABEL_DEVICE_KEY, vault->mpk, PFC_KEY_BYTES, vault->salt, PFC_SALT_BYTES);
}

static void run_key_id(struct vault *vault) { pfc_key_id(vault->out, &vault->key); }

static void run_key_device(struct vault *vault) { pfc_key_device(vault->out, &vault->key, vault->salt); }

// Measurements ---------------------------------------------------------------------------------------------------

/// The device's name is so long that the app's record after it ends within a block of SHA-256: nothing is compressed
/// after the device class is closed, and what that left on the stack stays there.
static void add_record(struct vault *vault, uint8_t i) {
  static const uint8_t name[31] = "a name of thirty bytes, nearly";
  vault_expect(pfc_measurement_update(&vault->fold, (uint8_t)(PFC_CLASS_DEVICE + i), 1, name, i == 0 ? 30 : 1,
                                      vault->digests[i]) == PFC_OK,
               "taken");
}

static void add_records(struct vault *vault) {
  for (uint8_t i = 0; i < 3; i++) add_record(vault, i);
}

static void need_draft(struct vault *vault) {
  struct pfc_config *draft = &vault->config;
  need_mpk(vault);
  draft->policy = PFC_POLICY_FULL;
  draft->limit_log2 = 20;
  draft->generation = 1;
  draft->source_count = 3;
  memcpy(draft->salt, vault->salt, sizeof draft->salt);
  for (uint8_t i = 0; i < 3; i++) {
    draft->sources[i] = (struct pfc_source){(uint8_t)(PFC_CLASS_DEVICE + i), 1, 1, 1};
    vault_fill(vault->digests[i], PFC_DIGEST_BYTES, 10u + i);
  }
  // The device class's digests unwrap the device proof key; the other classes' digests anyone can compute.
  needle_add("a device digest", vault->digests[0], PFC_DIGEST_BYTES);
  needle_add_derived("DPK", PFC_LABEL_DEVICE_KEY, vault->mpk, PFC_KEY_BYTES, vault->salt, PFC_SALT_BYTES);
  needle_add_derived("IM key", PFC_LABEL_IM_KEY, vault->mpk, PFC_KEY_BYTES, vault->salt, PFC_SALT_BYTES);
  needle_add_derived("device leaf key", PFC_LABEL_DEVICE_LEAF_KEY, vault->mpk, PFC_KEY_BYTES, vault->salt,
                     PFC_SALT_BYTES);
}

static void run_baseline(struct vault *vault) {
  vault_expect(pfc_measurement_baseline_init(&vault->fold, &vault->config, &vault->key) == PFC_OK, "begun");
  add_records(vault);
  vault_expect(pfc_measurement_baseline_final(&vault->config, &vault->fold) == PFC_OK, "ended");
}

static void prepare_measurement(struct vault *vault) {
  uint8_t device_set[32], mask[32];
  need_draft(vault);
  run_baseline(vault);
  vault_expect(pfc_config_encode(vault->mc, sizeof vault->mc, &vault->mc_size, &vault->config) == PFC_OK, "encoded");

  vault_expect(pfc_measurement_init(&vault->fold, vault->mc, vault->mc_size, &vault->key, 0) == PFC_OK, "begun");
  add_records(vault);
  memcpy(device_set, vault->fold.device_digest, sizeof device_set);
  vault_expect(pfc_measurement_final(&vault->measured, &vault->fold) == PFC_OK, "ended");
  needle_add("DS", device_set, sizeof device_set);
  needle_add_derived("wrap key", PFC_LABEL_WRAP_KEY, device_set, sizeof device_set, vault->salt, PFC_SALT_BYTES);
  pfc_derive(mask, PFC_LABEL_WRAP_KEY, device_set, sizeof device_set, vault->salt, PFC_SALT_BYTES);
  needle_add("wrap mask", mask, sizeof mask);
  needle_add_derived("DM key", PFC_LABEL_DM_KEY, vault->measured.device_key, PFC_KEY_BYTES, vault->salt, 16);
  needle_add_derived("leaf key", PFC_LABEL_LEAF_KEY, vault->measured.device_key, PFC_KEY_BYTES, vault->salt, 16);
  needle_add("IM", vault->measured.integrity, sizeof vault->measured.integrity);
  needle_add("DM", vault->measured.device, sizeof vault->measured.device);
}

/// A baseline that goes on as the measurement. What it left behind is looked for before the first record, too.
static void prepare_repeating(struct vault *vault) {
  prepare_measurement(vault);
  vault_expect(pfc_measurement_baseline_init(&vault->fold, &vault->config, &vault->key) == PFC_OK, "begun");
  add_records(vault);
}

static void repeat(struct vault *vault) {
  vault_expect(pfc_measurement_baseline_repeat(vault->mc, sizeof vault->mc, &vault->mc_size, &vault->fold,
                                               &vault->key) == PFC_OK,
               "repeated");
}

static void run_repeating(struct vault *vault) {
  repeat(vault);
  add_records(vault);
  vault_expect(pfc_measurement_final(&vault->measured, &vault->fold) == PFC_OK, "ended");
}

static void begin(struct vault *vault) {
  vault_expect(pfc_measurement_init(&vault->fold, vault->mc, vault->mc_size, &vault->key, 0) == PFC_OK, "begun");
}

static void begin_comparison(struct vault *vault) {
  vault_expect(pfc_measurement_init(&vault->fold, vault->mc, vault->mc_size, &vault->key, PFC_MEASURE_LEAVES) == PFC_OK,
               "begun");
}

static void end(struct vault *vault) {
  vault_expect(pfc_measurement_final(&vault->measured, &vault->fold) == PFC_OK, "ended");
}

static void run_measurement(struct vault *vault) {
  begin(vault);
  add_records(vault);
  end(vault);
}

// Step by step, because a later step writes over what an earlier one left.

static void begin_baseline(struct vault *vault) {
  vault_expect(pfc_measurement_baseline_init(&vault->fold, &vault->config, &vault->key) == PFC_OK, "begun");
}

static void prepare_records(struct vault *vault) {
  prepare_measurement(vault);
  begin(vault);
}

static void run_device_record(struct vault *vault) { add_record(vault, 0); }

/// A record without leaves: their keys are made later and overwrite the mask that unwraps DPK.
static void prepare_app_record(struct vault *vault) {
  prepare_records(vault);
  add_record(vault, 0);
}

static void run_app_record(struct vault *vault) { add_record(vault, 1); }

static void prepare_end(struct vault *vault) {
  prepare_records(vault);
  add_records(vault);
}

static void prepare_comparison(struct vault *vault) {
  prepare_measurement(vault);
  begin_comparison(vault);
}

static void prepare_comparison_end(struct vault *vault) {
  prepare_comparison(vault);
  add_records(vault);
}

static void run_wipe(struct vault *vault) { pfc_measurement_wipe(&vault->fold); }

/// A record out of order kills a fold, and a dead fold holds nothing.
static void run_refused_record(struct vault *vault) {
  vault_expect(pfc_measurement_update(&vault->fold, PFC_CLASS_DEVICE, 1, vault->salt, 1, NULL) == PFC_E_ORDER,
               "refused");
}

static void run_compare(struct vault *vault) {
  vault_expect(pfc_measurement_compare(&vault->difference, &vault->fold) == PFC_OK, "ended");
}

const struct wipe_case wipe_app_cases[] = {
    {"proof", prepare_proof, run_proof, 1, GONE(proof_key)},
    {"proof check", prepare_proof_check, run_proof_check, 1, 0, 0},
    {"literal proof", prepare_proof, run_literal, 0, 0, 0},
    {"literal proof with the dissolved key", prepare_dissolved, run_literal, 0, 0, 0},
    {"receipt check", prepare_receipt, run_receipt, 1, 0, 0},
    {"receipt make", prepare_receipt, run_receipt_make, 1, 0, 0},
    {"recall check", prepare_recall, run_recall, 1, 0, 0},
    {"recall create", prepare_recall, run_recall_create, 1, 0, 0},
    {"command", prepare_command, run_command, 0, 0, 0},
    {"secrets", prepare_secrets, run_secrets, 1, 0, 0},
    {"key name", prepare_keys, run_key_id, 1, 0, 0},
    {"device key", prepare_keys, run_key_device, 1, 0, 0},
    {"baseline", need_draft, run_baseline, 1, GONE(fold)},
    {"baseline, begin", need_draft, begin_baseline, 1, 0, 0},
    {"repeated baseline", prepare_repeating, run_repeating, 1, GONE(fold)},
    {"repeated baseline, begin", prepare_repeating, repeat, 1, 0, 0},
    {"measurement", prepare_measurement, run_measurement, 1, 0, 0},
    {"measurement, begin", prepare_measurement, begin, 1, 0, 0},
    {"measurement, a device record", prepare_records, run_device_record, 1, 0, 0},
    {"measurement, the first app record", prepare_app_record, run_app_record, 1, 0, 0},
    {"measurement, end", prepare_end, end, 1, GONE(fold)},
    {"measurement, given up", prepare_end, run_wipe, 1, GONE(fold)},
    {"measurement, refused", prepare_end, run_refused_record, 1, GONE(fold)},
    {"comparison, begin", prepare_measurement, begin_comparison, 1, 0, 0},
    {"comparison, a device record", prepare_comparison, run_device_record, 1, 0, 0},
    {"comparison, end", prepare_comparison_end, run_compare, 1, GONE(fold)},
    {NULL, NULL, NULL, 0, 0, 0},
};
