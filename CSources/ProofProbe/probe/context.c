// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/parts.h"

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
