#define _GNU_SOURCE
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crypto.h"
#include "probe_parts.h"
#include "watch.h"

// Create and free ------------------------------------------------------------------------------------------------

/// Digests of evidence are the same on every device, so that a service can know an app's code by them; the salt of a
/// configuration comes in when they are folded.
const uint8_t pfp_evidence_key[PFP_HASH_KEY_BYTES] = "ProofKit evidence, version 1";
static const uint8_t EVIDENCE_SALT[PFP_HASH_SALT_BYTES];

/// Copies a string unless it is NULL. 0 without memory.
static int copy(const char **own, const char *text) {
  *own = text != NULL ? strdup(text) : NULL;
  return text == NULL || *own != NULL;
}

static int copy_options(struct pfp_probe_options *own, const struct pfp_probe_options *options) {
  const char **plugins = NULL;
  int whole = copy(&own->executable, options->executable) && copy(&own->bundle, options->bundle) &&
              copy(&own->storage, options->storage);
  own->harden = options->harden;
  if (whole && options->folder_count != 0) {
    struct pfp_probe_folder *folders = calloc(options->folder_count, sizeof *folders);
    own->folders = folders;
    whole = folders != NULL;
    for (size_t i = 0; i < options->folder_count && whole; i++) {
      own->folder_count++;
      whole = copy(&folders[i].name, options->folders[i].name) && copy(&folders[i].path, options->folders[i].path);
    }
  }
  own->descriptors = options->descriptors;
  own->cache_bytes = options->cache_bytes;
  own->progress = options->progress;
  own->user = options->user;
  if (whole && options->plugin_count != 0) {
    plugins = calloc(options->plugin_count, sizeof *plugins);
    own->plugins = plugins;
    whole = plugins != NULL;
  }
  for (size_t i = 0; i < options->plugin_count && whole; i++) {
    own->plugin_count++;
    whole = copy(&plugins[i], options->plugins[i]);
  }
  return whole;
}

/// Names are what tells folders apart: in records, and for people.
static int are_folders(const struct pfp_probe_options *options) {
  if (options->folder_count > PFP_FOLDERS_MAX) return 0;
  for (size_t i = 0; i < options->folder_count; i++) {
    const char *name = options->folders[i].name;
    if (name == NULL || options->folders[i].path == NULL || strchr(name, '/') != NULL) return 0;
    if (name[0] == 0 || strlen(name) > PFP_FOLDER_NAME_MAX) return 0;
    for (size_t j = 0; j < i; j++) {
      if (strcmp(name, options->folders[j].name) == 0) return 0;
    }
  }
  return 1;
}

static void release(const void *bytes) {
  // Options point to const for their readers; these are the probe's own copies.
  union {
    const void *constant;
    void *own;
  } pointer = {bytes};
  free(pointer.own);
}

int pfp_probe_create(struct pfp_probe **probe, const struct pfp_probe_options *options) {
  struct pfp_probe *made = calloc(1, sizeof *made);
  *probe = NULL;
  if (made == NULL) return PFP_E_RESOURCE;
  if (!are_folders(options)) {
    free(made);
    return PFP_E_ARGUMENT;
  }
  made->process.maps = made->process.pagemap = made->process.status = made->process.initial = -1;
  made->failure.path = "";
  if (!copy_options(&made->options, options) ||
      pfp_hash_init(&made->hash, pfp_evidence_key, EVIDENCE_SALT, PFP_KERNEL_BEST) != PFP_OK) {
    pfp_probe_free(made);
    return PFP_E_RESOURCE;
  }
  // In this order: what a process that is not dumpable may not open is open before.
  if (pfp_process_open(&made->process) != 0) {
    pfp_probe_free(made);
    return PFP_E_RESOURCE;
  }
  if (options->harden && pfp_harden() != 0) {
    pfp_probe_free(made);
    return PFP_E_RESOURCE;
  }
  *probe = made;
  return PFP_OK;
}

void pfp_probe_free_files(struct pfp_probe *probe) {
  pfp_files_free(probe->files);
  pfp_files_free(probe->object_files);
  probe->files = NULL;
  probe->object_files = NULL;
  for (size_t i = 0; i < PFP_FOLDERS_MAX; i++) {
    pfp_files_free(probe->folder_files[i]);
    probe->folder_files[i] = NULL;
  }
}

void pfp_probe_free(struct pfp_probe *probe) {
  if (probe == NULL) return;
  pfp_probe_free_files(probe);
  pfp_process_close(&probe->process);
  release(probe->options.executable);
  release(probe->options.bundle);
  release(probe->options.storage);
  for (size_t i = 0; i < probe->options.folder_count; i++) {
    release(probe->options.folders[i].name);
    release(probe->options.folders[i].path);
  }
  release(probe->options.folders);
  for (size_t i = 0; i < probe->options.plugin_count; i++) release(probe->options.plugins[i]);
  release(probe->options.plugins);
  free(probe);
}

void pfp_probe_forget(struct pfp_probe *probe) {
  if (probe->files != NULL) pfp_files_forget(probe->files);
  if (probe->object_files != NULL) pfp_files_forget(probe->object_files);
  for (size_t i = 0; i < PFP_FOLDERS_MAX; i++) {
    if (probe->folder_files[i] != NULL) pfp_files_forget(probe->folder_files[i]);
  }
  free(probe->process.cache);
  probe->process.cache = NULL;
  probe->process.cache_count = 0;
  probe->process.knows_processor = 0;
  probe->knows_shards = 0;
}

void pfp_probe_cancel(struct pfp_probe *probe) { atomic_store(&probe->cancelled, 1); }

int pfp_probe_fail(struct pfp_probe *probe, int result, int core, int error, const char *path) {
  (void)snprintf(probe->failure_path, sizeof probe->failure_path, "%s", path);
  probe->failure.result = result;
  probe->failure.core = core;
  probe->failure.error = error;
  probe->failure.path = probe->failure_path;
  return result;
}

const struct pfp_probe_failure *pfp_probe_failure(const struct pfp_probe *probe) { return &probe->failure; }

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
