// SPDX-License-Identifier: Apache-2.0

/// All evidence of one measurement, in its order: files, process, environment, who watches.

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/parts.h"
#include "evidence/transcript.h"
#include "process/watch.h"

// Progress -------------------------------------------------------------------------------------------------------

static int report_progress(struct pfp_probe *probe, uint64_t files, uint64_t bytes) {
  struct pfp_progress sum = {probe->done.files + files, probe->done.bytes + bytes};
  if (atomic_load(&probe->cancelled)) return 1;
  return probe->options.progress != NULL ? probe->options.progress(probe->options.user, &sum) : 0;
}

static int files_progress(void *user, const struct pfp_progress *progress) {
  return report_progress(user, progress->files, progress->bytes);
}

static int code_progress(void *context, uint64_t bytes) {
  struct pfp_probe *probe = context;
  probe->done.bytes += bytes;
  return report_progress(probe, 0, 0);
}

/// Reading an object's file only to vouch for it is no progress of its own, but may be cancelled.
static int object_progress(void *user, const struct pfp_progress *progress) {
  (void)progress;
  return report_progress(user, 0, 0);
}

// Files ----------------------------------------------------------------------------------------------------------

/// Contexts for this policy and limit; another policy begins anew.
static int ready_files(struct pfp_probe *probe, const struct pfc_config *config) {
  struct pfp_files_options options = {.policy = config->policy,
                                      .limit_log2 = config->limit_log2,
                                      .descriptors = probe->options.descriptors,
                                      .cache_bytes = probe->options.cache_bytes,
                                      .progress = files_progress,
                                      .user = probe};
  struct pfp_files_options objects = {.policy = config->policy,
                                      .limit_log2 = config->limit_log2,
                                      .cache_bytes = 1u << 17,
                                      .progress = object_progress,
                                      .user = probe};
  if (probe->files != NULL && probe->policy == config->policy && probe->limit_log2 == config->limit_log2) {
    return PFP_OK;
  }
  pfp_probe_free_files(probe);
  memcpy(options.key, pfp_evidence_key, sizeof options.key);
  memcpy(objects.key, pfp_evidence_key, sizeof objects.key);
  if (pfp_files_create(&probe->files, &options) != PFP_OK) return PFP_E_RESOURCE;
  if (config->policy != PFC_POLICY_FULL && pfp_files_create(&probe->object_files, &objects) != PFP_OK) {
    pfp_probe_free_files(probe);
    return PFP_E_RESOURCE;
  }
  for (size_t i = 0; i < probe->options.folder_count; i++) {
    if (pfp_files_create(&probe->folder_files[i], &options) != PFP_OK) {
      pfp_probe_free_files(probe);
      return PFP_E_RESOURCE;
    }
  }
  probe->policy = config->policy;
  probe->limit_log2 = config->limit_log2;
  return PFP_OK;
}

static int is_about_the_call(int result) {
  return result == PFP_E_CANCELLED || result == PFP_E_RESOURCE || result == PFP_E_CHANGING || result == PFP_E_LIMIT;
}

static int gather_executable(struct pfp_probe *probe, struct pfp_evidence *evidence) {
  const char *path = probe->options.executable != NULL ? probe->options.executable : "/proc/self/exe";
  struct pfp_entry entry;
  int result = PFP_E_MISSING, own = 1;
  if (!pfp_evidence_wants(evidence, PFC_CLASS_APP, PFP_APP_EXECUTABLE)) return PFP_OK;
  if (probe->options.executable == NULL) own = pfp_process_executable();
  if (own < 0) return pfp_probe_fail(probe, PFP_E_RESOURCE, 0, 0, path);
  if (own > 0) {
    result = pfp_files_digest_file(probe->files, path, &entry);
  }
  if (result != PFP_OK && is_about_the_call(result)) {
    const struct pfp_failure *failure = pfp_files_failure(probe->files);
    return pfp_probe_fail(probe, result, 0, failure->error, failure->path);
  }
  (void)pfp_evidence_add(evidence, PFC_CLASS_APP, PFP_APP_EXECUTABLE, "executable",
                         result == PFP_OK ? entry.content : NULL);
  if (result == PFP_OK) {
    probe->done.files++;
    probe->done.bytes += entry.size;
  }
  return PFP_OK;
}

struct shards {
  struct pfp_transcript transcripts[PFP_BUNDLE_SHARDS];
  uint64_t counts[PFP_BUNDLE_SHARDS];
  struct pfp_bundle_look *look;
};

static uint32_t shard_of(const struct pfp_entry *entry) {
  return pfc_name_hash((const uint8_t *)entry->path, entry->path_size) % PFP_BUNDLE_SHARDS;
}

static int add_entry(void *user, const struct pfp_entry *entry) {
  struct shards *shards = user;
  uint32_t shard = shard_of(entry);
  pfp_transcript_raw(&shards->transcripts[shard], entry->digest, sizeof entry->digest);
  shards->counts[shard]++;
  if (shards->look != NULL) pfp_index_entry(shards->look, shard, entry);
  return 0;
}

/// The digests of the shards that make up `bundle`, from what its entries told.
static void finish_shards(struct pfp_probe *probe, struct shards *shards, const struct pfp_bundle *bundle) {
  for (size_t i = 0; i < PFP_BUNDLE_SHARDS; i++) {
    pfp_transcript_number(&shards->transcripts[i], shards->counts[i]);
    // The root has no entry of its own; its mode goes with the first shard.
    if (i == 0) pfp_transcript_number(&shards->transcripts[i], bundle->mode);
    pfp_transcript_final(probe->shards[i], &shards->transcripts[i]);
  }
  memcpy(probe->shards_of, bundle->digest, sizeof probe->shards_of);
  probe->knows_shards = 1;
}

/// Fills the probe's shards. They are a function of what the bundle's digest is of, so the same digest means the same
/// shards: then a warm measurement need not go through all entries to fold them once more.
static int read_bundle(struct pfp_probe *probe, struct shards *shards, struct pfp_bundle *bundle) {
  const uint8_t *known = NULL;
  int result;
  if (probe->policy != PFC_POLICY_FULL && probe->knows_shards && shards->look == NULL) known = probe->shards_of;
  for (size_t i = 0; i < PFP_BUNDLE_SHARDS; i++) pfp_transcript_init(&shards->transcripts[i], PFP_LABEL_SHARD);
  result = pfp_files_digest_known_bundle(probe->files, probe->options.bundle, known, add_entry, shards, bundle);
  if (result != PFP_OK) {
    const struct pfp_failure *failure = pfp_files_failure(probe->files);
    return pfp_probe_fail(probe, result, 0, failure->error, failure->path);
  }
  if (known == NULL || memcmp(known, bundle->digest, sizeof probe->shards_of) != 0) {
    finish_shards(probe, shards, bundle);
  }
  return PFP_OK;
}

static int gather_bundle(struct pfp_probe *probe, struct pfp_evidence *evidence, struct pfp_bundle_look *look) {
  struct shards *shards;
  struct pfp_bundle bundle;
  int result;
  if (!pfp_evidence_wants(evidence, PFC_CLASS_APP, PFP_APP_BUNDLE)) return PFP_OK;
  if (probe->options.bundle != NULL) {
    shards = calloc(1, sizeof *shards);
    if (shards == NULL) return pfp_probe_fail(probe, PFP_E_RESOURCE, 0, 0, "");
    shards->look = look;
    result = read_bundle(probe, shards, &bundle);
    free(shards);
    if (result != PFP_OK) return result;
    probe->done.files += bundle.entries;
    probe->done.bytes += bundle.bytes;
  }
  for (size_t i = 0; i < PFP_BUNDLE_SHARDS; i++) {
    const char name[2] = {(char)(PFP_BUNDLE_SHARD_FIRST + (int)i), 0};
    (void)pfp_evidence_add(evidence, PFC_CLASS_APP, PFP_APP_BUNDLE, name,
                           probe->options.bundle != NULL ? probe->shards[i] : NULL);
  }
  return PFP_OK;
}

/// Each further folder is one record, made of its digest as a bundle.
static int gather_folders(struct pfp_probe *probe, struct pfp_evidence *evidence) {
  if (!pfp_evidence_wants(evidence, PFC_CLASS_APP, PFP_APP_BUNDLE)) return PFP_OK;
  for (size_t i = 0; i < probe->options.folder_count; i++) {
    const struct pfp_probe_folder *folder = &probe->options.folders[i];
    char name[PFP_FOLDER_NAME_MAX + sizeof PFP_FOLDER_RECORD];
    struct pfp_transcript transcript;
    struct pfp_bundle bundle;
    uint8_t digest[PFC_DIGEST_BYTES];
    int result = pfp_files_digest_bundle(probe->folder_files[i], folder->path, NULL, NULL, &bundle);
    if (result != PFP_OK) {
      const struct pfp_failure *failure = pfp_files_failure(probe->folder_files[i]);
      return pfp_probe_fail(probe, result, 0, failure->error, failure->path);
    }
    probe->done.files += bundle.entries;
    probe->done.bytes += bundle.bytes;
    pfp_transcript_init(&transcript, PFP_LABEL_FOLDER);
    pfp_transcript_raw(&transcript, bundle.digest, sizeof bundle.digest);
    pfp_transcript_final(digest, &transcript);
    (void)snprintf(name, sizeof name, PFP_FOLDER_RECORD "%s", folder->name);
    (void)pfp_evidence_add(evidence, PFC_CLASS_APP, PFP_APP_BUNDLE, name, digest);
  }
  return PFP_OK;
}

// Gather ---------------------------------------------------------------------------------------------------------

/// Whether a source is asked for of which the mappings and what stands in them tell.
static int wants_view(const struct pfp_evidence *evidence) {
  static const uint8_t OF_A_VIEW[] = {PFP_ENVIRONMENT_OBJECTS, PFP_ENVIRONMENT_MAPPINGS, PFP_ENVIRONMENT_PAGES,
                                      PFP_ENVIRONMENT_LINKS};
  int wants = pfp_evidence_wants(evidence, PFC_CLASS_APP, PFP_APP_CODE);
  for (size_t i = 0; i < sizeof OF_A_VIEW; i++) {
    wants = wants || pfp_evidence_wants(evidence, PFC_CLASS_ENVIRONMENT, OF_A_VIEW[i]);
  }
  return wants;
}

static int gather_process(struct pfp_probe *probe, struct pfp_evidence *evidence) {
  struct pfp_view view;
  struct pfp_look look = {
      .files = probe->object_files,
      .hash = &probe->hash,
      .plugins = probe->options.plugins,
      .plugin_count = probe->options.plugin_count,
      .wants_code = pfp_evidence_wants(evidence, PFC_CLASS_APP, PFP_APP_CODE),
      .wants_links = pfp_evidence_wants(evidence, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_LINKS),
      .pace = {code_progress, probe},
  };
  int result = pfp_view_take(&view, &probe->process, &look);
  if (result != PFP_OK) {
    return pfp_probe_fail(probe, result, 0, 0, result == PFP_E_CHANGING ? "loaded libraries" : "");
  }
  pfp_view_report(evidence, &view);
  pfp_view_free(&view);
  return PFP_OK;
}

/// The last look of a measurement, and the first of two (process/watch.h).
static void watch(struct pfp_probe *probe, struct pfp_evidence *evidence) {
  struct pfp_sight sight;
  pfp_watch_remember(NULL);
  if (!pfp_evidence_wants(evidence, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_TRACER)) return;
  if (pfp_watch_look(&sight, &probe->process) != 0) evidence->failed = 1;
  pfp_watch_report(evidence, &sight);
  pfp_watch_remember(&sight);
}

int pfp_probe_gather(struct pfp_probe *probe, struct pfp_evidence *evidence, struct pfp_bundle_look *look) {
  uint8_t digest[PFC_DIGEST_BYTES];
  size_t index;
  int result;
  (void)pfp_probe_fail(probe, PFP_OK, 0, 0, "");
  if (pfp_process_renew(&probe->process) != 0) return pfp_probe_fail(probe, PFP_E_RESOURCE, 0, 0, "");
  memset(&probe->done, 0, sizeof probe->done);
  if (pfp_sources_check(evidence->asked, &index) != PFC_OK) {
    const struct pfc_source *source = &evidence->asked->sources[index];
    return pfp_probe_fail(probe, PFP_E_UNSUPPORTED, 0, 0, pfp_source_name(source->class_, source->number));
  }
  result = ready_files(probe, evidence->asked);
  if (result != PFP_OK) return pfp_probe_fail(probe, result, 0, 0, "");

  // Files first, the process and its environment last: a change that is made while files are read is still seen.
  pfp_watch_begin();
  result = gather_bundle(probe, evidence, look);
  if (result == PFP_OK) result = gather_folders(probe, evidence);
  if (result == PFP_OK) result = gather_executable(probe, evidence);
  if (result == PFP_OK) {
    pfp_fact(digest, PFP_SDK_VERSION, sizeof PFP_SDK_VERSION - 1);
    (void)pfp_evidence_add(evidence, PFC_CLASS_APP, PFP_APP_SDK, "sdk", digest);
    pfp_device_report(evidence, probe->options.storage, &probe->process,
                      evidence->asked->policy != PFC_POLICY_FULL);
    if (wants_view(evidence)) result = gather_process(probe, evidence);
  }
  if (result == PFP_OK) pfp_environment_report(evidence, &probe->process);
  if (result == PFP_OK) pfp_variables_report(evidence, &probe->process);
  if (result == PFP_OK) watch(probe, evidence);
  pfp_watch_end();
  if (result == PFP_OK && atomic_load(&probe->cancelled)) result = pfp_probe_fail(probe, PFP_E_CANCELLED, 0, 0, "");
  if (result == PFP_OK && evidence->failed) result = pfp_probe_fail(probe, PFP_E_RESOURCE, 0, 0, "");
  atomic_store(&probe->cancelled, 0);
  pfp_evidence_sort(evidence);
  return result;
}
