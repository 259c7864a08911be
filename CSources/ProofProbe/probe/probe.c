// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "probe.h"

#include <string.h>

#include "crypto.h"
#include "probe/parts.h"
#include "process/watch.h"

// Collect --------------------------------------------------------------------------------------------------------

int pfp_probe_collect(struct pfp_probe *probe, const struct pfc_config *config, pfp_sink sink, void *context) {
  return pfp_probe_observe(probe, config, sink, NULL, context);
}

int pfp_probe_observe(struct pfp_probe *probe, const struct pfc_config *config, pfp_sink sink, pfp_alarm_fn alarm,
                      void *context) {
  struct pfp_evidence evidence = {.asked = config};
  int result = pfp_probe_gather(probe, &evidence, NULL);
  for (size_t i = 0; i < evidence.count && result == PFP_OK; i++) {
    const struct pfp_record *record = evidence.records[i];
    int answer = sink(context, record->class_, record->number, (const uint8_t *)record->name, record->name_size,
                      record->present ? record->digest : NULL);
    if (answer != 0) result = pfp_probe_fail(probe, PFP_E_CORE, answer, 0, record->name);
  }
  for (size_t i = 0; alarm != NULL && i < evidence.count && result == PFP_OK; i++) {
    const struct pfp_record *record = evidence.records[i];
    if (record->alarm && record->note != NULL) {
      alarm(context, record->class_, record->number, record->name, record->note);
    }
  }
  pfp_evidence_free(&evidence);
  return result;
}

static int fold_record(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                       const uint8_t *digest) {
  return pfc_measurement_update(context, class_, number, name, name_size, digest);
}

/// No key is loaded before everything was looked at.
int pfp_probe_measure(struct pfc_measured *measured, struct pfp_probe *probe, const uint8_t *config, size_t size,
                      const struct pfc_key *key) {
  struct pfc_measurement fold;
  struct pfc_config decoded;
  struct pfp_evidence evidence = {.asked = &decoded};
  int core, result;
  memset(measured, 0, sizeof *measured);
  core = pfc_config_decode(&decoded, config, size);
  if (core != PFC_OK) return pfp_probe_fail(probe, PFP_E_CORE, core, 0, "");
  pfp_watch_begin();
  result = pfp_probe_gather(probe, &evidence, NULL);
  if (result == PFP_OK) {
    core = pfc_measurement_init(&fold, config, size, key, 0);
    for (size_t i = 0; i < evidence.count && core == PFC_OK; i++) {
      const struct pfp_record *record = evidence.records[i];
      core = fold_record(&fold, record->class_, record->number, (const uint8_t *)record->name, record->name_size,
                         record->present ? record->digest : NULL);
    }
    if (core == PFC_OK) core = pfc_measurement_final(measured, &fold);
    if (core != PFC_OK) result = pfp_probe_fail(probe, PFP_E_CORE, core, 0, "");
    pfc_measurement_wipe(&fold);
  }
  pfp_evidence_free(&evidence);
  pfp_watch_end();
  return result;
}

int pfp_probe_baseline(struct pfc_config *config, struct pfp_probe *probe, const struct pfc_config *draft,
                       const struct pfc_key *key) {
  struct pfc_measurement fold;
  int result;
  int core = pfc_measurement_baseline_init(&fold, draft, key);
  memset(config, 0, sizeof *config);
  if (core != PFC_OK) return pfp_probe_fail(probe, PFP_E_CORE, core, 0, "");
  result = pfp_probe_collect(probe, draft, fold_record, &fold);
  if (result == PFP_OK) {
    core = pfc_measurement_baseline_final(config, &fold);
    if (core != PFC_OK) result = pfp_probe_fail(probe, PFP_E_CORE, core, 0, "");
  }
  pfc_measurement_wipe(&fold);
  return result;
}

// Proofs ---------------------------------------------------------------------------------------------------------

void pfp_probe_hold(void) { pfp_watch_begin(); }

void pfp_probe_let_go(void) { pfp_watch_end(); }

static int release_after(struct pfp_probe *probe, uint8_t proof[PFC_PROOF_BYTES], enum pfp_release_after after) {
  int result = pfp_process_renew(&probe->process) == 0 ? PFP_OK : PFP_E_RESOURCE;
  if (result == PFP_OK) result = pfp_release(proof, &probe->process, after);
  if (result != PFP_OK) pfc_wipe(proof, PFC_PROOF_BYTES);
  return result == PFP_OK ? PFP_OK : pfp_probe_fail(probe, result, 0, 0, "");
}

int pfp_probe_release(struct pfp_probe *probe, uint8_t proof[PFC_PROOF_BYTES]) {
  return release_after(probe, proof, PFP_AFTER_MEASUREMENT);
}

int pfp_probe_release_next(struct pfp_probe *probe, uint8_t proof[PFC_PROOF_BYTES]) {
  return release_after(probe, proof, PFP_AFTER_PROOF);
}

int pfp_probe_command(uint8_t *message, size_t capacity, size_t *size, uint8_t nonce[PFC_NONCE_BYTES],
                      struct pfp_probe *probe, const struct pfc_request *request, const struct pfc_secrets *secrets) {
  int result = PFP_OK;
  enum pfp_release_after after = PFP_AFTER_MEASUREMENT;
  int core = pfc_command_begin(message, capacity, size, nonce, request, secrets);
  if (core != PFC_OK) return pfp_probe_fail(probe, PFP_E_CORE, core, 0, "");
  if (request->kind == PFC_KIND_INTEGRITY) {
    result = release_after(probe, message + PFC_COMMAND_HEAD_BYTES, after);
    after = PFP_AFTER_PROOF;
  }
  if (result == PFP_OK) {
    pfc_command_end(message, nonce, secrets);
    result = release_after(probe, pfc_command_device_proof(message), after);
  }
  if (result != PFP_OK) {
    pfc_wipe(message, *size);
    *size = 0;
  }
  return result;
}
