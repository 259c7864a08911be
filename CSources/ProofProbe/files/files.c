// SPDX-License-Identifier: Apache-2.0

#include "files.h"

#include <errno.h>
#include <sodium/utils.h>
#include <stdlib.h>
#include <string.h>

#include "files/bundle.h"
#include "jobs/work.h"

// Contexts -------------------------------------------------------------------------------------------------------

static bool valid(const struct pfp_files_options *options) {
  return options->policy >= PFP_POLICY_FULL && options->policy <= PFP_POLICY_TRUSTING &&
         options->limit_log2 >= PFP_LIMIT_LOG2_MIN && options->limit_log2 <= PFP_LIMIT_LOG2_MAX &&
         options->workers <= PFP_WORKERS_MAX && options->descriptors <= INT32_MAX;
}

int pfp_files_create(struct pfp_files **files, const struct pfp_files_options *options) {
  struct pfp_files *new;
  uint32_t spare;
  *files = NULL;
  if (!valid(options)) return PFP_E_ARGUMENT;
  new = calloc(1, sizeof *new);
  if (new == NULL) return PFP_E_RESOURCE;
  if (pfp_hash_init(&new->hash, options->key, options->salt, (enum pfp_kernel)options->kernel) != PFP_OK) {
    free(new);
    return PFP_E_ARGUMENT;
  }
  new->options = *options;
  if (new->options.cache_bytes == 0) new->options.cache_bytes = PFP_CACHE_BYTES;
  if (!pfp_incremental(new)) new->options.descriptors = 0;
  new->mounts = new->options.descriptors == 0 ? -1 : pfp_mounts_watch();
  // If the kernel does not report mounts, an open descriptor proves nothing about its name: keep none.
  if (new->mounts < 0) new->options.descriptors = 0;
  spare = new->options.descriptors == 0 ? 0 : pfp_descriptors_spare();
  if (new->options.descriptors > spare) new->options.descriptors = spare;
  atomic_init(&new->descriptors_left, new->options.descriptors);
  pfp_known_init(&new->known);
  new->failure.path = new->failure_path;
  *files = new;
  return PFP_OK;
}

static void singles_forget(struct pfp_files *files) {
  while (files->singles != NULL) {
    struct pfp_single *single = files->singles;
    files->singles = single->next;
    free(single);
  }
  files->singles_bytes = 0;
}

void pfp_files_forget(struct pfp_files *files) {
  atomic_fetch_add(&files->descriptors_left, pfp_known_clear(&files->known));
  files->known_whole = false;
  files->known_path[0] = '\0';
  singles_forget(files);
}

void pfp_files_free(struct pfp_files *files) {
  if (files == NULL) return;
  pfp_files_forget(files);
  pfp_close(files->mounts);
  sodium_memzero(files, sizeof *files);
  free(files);
}

void pfp_files_cancel(struct pfp_files *files) { atomic_store(&files->cancel, true); }

const struct pfp_failure *pfp_files_failure(const struct pfp_files *files) { return &files->failure; }

const struct pfp_files_statistics *pfp_files_statistics(const struct pfp_files *files) { return &files->statistics; }

// A call ---------------------------------------------------------------------------------------------------------

static void count_descriptors(struct pfp_files *files) {
  files->statistics.descriptors = files->options.descriptors - (uint32_t)atomic_load(&files->descriptors_left);
}

static void begin(struct pfp_files *files) {
  atomic_store(&files->cancel, false);
  memset(&files->statistics, 0, sizeof files->statistics);
  // For a call that ends before it measures.
  count_descriptors(files);
  (void)pfp_files_fail(files, PFP_OK, 0, "", 0);
}

/// Result for an error about the very path that was asked for.
static int about(struct pfp_files *files, int error, const char *path) {
  int result = PFP_E_UNREADABLE;
  if (error == ENOENT || error == ENOTDIR) result = PFP_E_MISSING;
  if (pfp_error_is_resource(error)) result = PFP_E_RESOURCE;
  return pfp_files_fail(files, result, error, path, strlen(path));
}

// Bundles --------------------------------------------------------------------------------------------------------

int pfp_files_digest_bundle(struct pfp_files *files, const char *root, pfp_entry_fn entry, void *user,
                            struct pfp_bundle *bundle) {
  return pfp_files_digest_known_bundle(files, root, NULL, entry, user, bundle);
}

int pfp_files_digest_known_bundle(struct pfp_files *files, const char *root, const uint8_t *known, pfp_entry_fn entry,
                                  void *user, struct pfp_bundle *bundle) {
  struct pfp_root open = {.path = root, .before = pfp_keep_clock()};
  int result;
  memset(bundle, 0, sizeof *bundle);
  begin(files);
  // By name first: a root that is no folder is never opened.
  result = pfp_identify_name(&open.identity, pfp_here(), root, true);
  if (result != 0) return about(files, -result, root);
  if (open.identity.type != PFP_TYPE_FOLDER) return pfp_files_fail(files, PFP_E_TYPE, 0, root, strlen(root));
  open.fd = pfp_open_folder(pfp_here(), root, true);
  if (open.fd < 0) return about(files, -open.fd, root);
  result = pfp_identify(&open.identity, open.fd);
  if (result != 0) {
    pfp_close(open.fd);
    return about(files, -result, root);
  }
  if (!pfp_warm_holds(files, &open)) {
    result = pfp_bundle_measure(files, &open, entry, user, bundle);
  } else {
    pfp_close(open.fd);
    files->statistics.files = files->statistics.reused = files->known_files;
    if (known != NULL && memcmp(known, files->known_bundle.digest, PFP_HASH_BYTES) == 0) entry = NULL;
    if (entry != NULL) result = pfp_warm_report(files, entry, user);
    if (result == PFP_OK) *bundle = files->known_bundle;
  }
  count_descriptors(files);
  return result;
}

// Single files ---------------------------------------------------------------------------------------------------

static struct pfp_single *single_find(const struct pfp_files *files, const char *path) {
  struct pfp_single *single = files->singles;
  while (single != NULL && strcmp(single->path, path) != 0) single = single->next;
  return single;
}

/// Whether the digest of this file may be kept without trusting the owner. Asked of the file that was read: another
/// file under this path has another identity.
static bool single_guarded(const struct pfp_files *files, const char *path, const struct pfp_identity *identity) {
  struct pfp_keep_memory memory = {0};
  struct pfp_identity now;
  bool guarded;
  int fd;
  if (!pfp_trusts_owner(files)) return true;  // Nothing else is kept.
  fd = pfp_open_file(pfp_here(), path, true);
  if (fd < 0) return false;
  guarded = pfp_identify(&now, fd) == 0 && pfp_identity_equal(&now, identity) && pfp_keep_guarded(&now, &memory, fd);
  pfp_close(fd);
  return guarded;
}

/// Keeps what was learned of a file, if there is room and reason to.
static void single_keep(struct pfp_files *files, const char *path, const struct pfp_item *item) {
  struct pfp_files_statistics *statistics = &files->statistics;
  struct pfp_single *single = single_find(files, path);
  size_t size = sizeof *single + item->path_size + 1;
  statistics->unkept_foreign += item->keep == PFP_KEEP_FOREIGN;
  statistics->unkept_recent += item->keep == PFP_KEEP_RECENT;
  statistics->unkept_writers += item->keep == PFP_KEEP_WRITERS;
  statistics->unkept_writable += item->keep == PFP_KEEP_WRITABLE;
  if (single == NULL) {
    if (item->keep != PFP_KEEP) return;
    if (files->known.bytes + files->singles_bytes + size <= files->options.cache_bytes) single = malloc(size);
    if (single == NULL) {
      statistics->unkept_full++;
      return;
    }
    (void)strcpy(single->path, path);
    single->next = files->singles;
    files->singles = single;
    files->singles_bytes += size;
  }
  single->kept = item->keep == PFP_KEEP;
  single->guarded = single->kept && single_guarded(files, path, &item->identity);
  single->identity = item->identity;
  memcpy(single->content, item->content, sizeof single->content);
}

/// The entry of a file by itself: its digest is of the file, wherever it was found.
static void single_entry(struct pfp_files *files, struct pfp_entry *entry, const char *path,
                         const struct pfp_identity *identity, const uint8_t content[PFP_HASH_BYTES]) {
  uint8_t message[PFP_ENTRY_HEADER + PFP_HASH_BYTES];
  struct pfp_item item = {.message = message, .state = PFP_STATE_PRESENT, .identity = *identity};
  memcpy(item.content, content, sizeof item.content);
  pfp_item_message(&item);
  *entry = (struct pfp_entry){
      .path = path,
      .path_size = strlen(path),
      .type = identity->type,
      .state = PFP_STATE_PRESENT,
      .mode = identity->mode,
      .size = identity->size,
  };
  memcpy(entry->content, content, sizeof entry->content);
  pfp_hash_one(entry->digest, &files->hash, PFP_ENTRY, message, sizeof message);
}

static int single_read(struct pfp_files *files, const char *path, size_t path_size, unsigned workers,
                       struct pfp_entry *entry) {
  struct pfp_run *run;
  struct pfp_item *item;
  int result = pfp_run_begin(&run, files, workers);
  if (result != PFP_OK) return result;
  item = pfp_run_item(run, path, path_size);
  item->follow = true;
  item->identity.type = PFP_TYPE_FILE;
  pfp_run_fill(run);
  (void)pfp_run_oldest(run, true, &result);
  if (result != PFP_OK) {
    result = pfp_files_fail(files, result, 0, "", 0);
  } else if (item->result != PFP_OK) {
    result = pfp_files_fail(files, item->result, item->error, path, path_size);
  } else if (item->state != PFP_STATE_PRESENT) {
    result = about(files, item->error, path);
  } else {
    single_entry(files, entry, path, &item->identity, item->content);
    if (pfp_incremental(files)) single_keep(files, path, item);
  }
  pfp_run_end(run);
  return result;
}

int pfp_files_digest_file(struct pfp_files *files, const char *path, struct pfp_entry *entry) {
  struct pfp_identity identity;
  const struct pfp_single *known;
  size_t path_size = strlen(path);
  unsigned workers = 1;
  int result;
  memset(entry, 0, sizeof *entry);
  begin(files);
  if (path_size > PFP_PATH_MAX) return about(files, ENAMETOOLONG, path);
  // By name first: what is no regular file is never opened.
  result = pfp_identify_name(&identity, pfp_here(), path, true);
  if (result != 0) return about(files, -result, path);
  if (identity.type != PFP_TYPE_FILE) return pfp_files_fail(files, PFP_E_TYPE, 0, path, path_size);
  known = single_find(files, path);
  if (known != NULL && known->kept && pfp_identity_equal(&known->identity, &identity)) {
    single_entry(files, entry, path, &identity, known->content);
    files->statistics.files = files->statistics.reused = 1;
  } else {
    // One worker alone is as fast where there is nothing to share.
    if (identity.size >= PFP_LONG_FROM) workers = pfp_workers(files);
    result = single_read(files, path, path_size, workers, entry);
  }
  count_descriptors(files);
  return result;
}

bool pfp_files_is_guarded(const struct pfp_files *files, const char *path) {
  const struct pfp_single *known = single_find(files, path);
  return known != NULL && known->kept && known->guarded;
}

bool pfp_files_may_keep(struct pfp_files *files, const char *path) {
  struct pfp_keep_memory memory = {0};
  struct pfp_identity identity;
  const struct pfp_single *known = single_find(files, path);
  bool may = false;
  int fd;
  if (!pfp_incremental(files)) return false;
  if (pfp_trusts_owner(files) || (known != NULL && known->kept)) return true;
  // By name first: what is no regular file is never opened.
  if (pfp_identify_name(&identity, pfp_here(), path, true) != 0 || identity.type != PFP_TYPE_FILE) return false;
  fd = pfp_open_file(pfp_here(), path, true);
  if (fd < 0) return false;
  if (pfp_identify(&identity, fd) == 0) may = pfp_keep_guarded(&identity, &memory, fd);
  pfp_close(fd);
  return may;
}
