// SPDX-License-Identifier: Apache-2.0

/// Entries on their way out, in the order in which they went in: into the bundle's digest, to the caller, and into what
/// is known the next time.

#include <string.h>

#include "files/walk.h"

static void keep(struct pfp_walk *walk, struct pfp_item *item) {
  struct pfp_files *files = walk->files;
  struct pfp_known_entry entry = {
      .path = files->path, .path_size = item->path_size, .fd = item->fd, .identity = item->identity};
  if (!pfp_incremental(files)) return;
  memcpy(entry.content, item->content, sizeof entry.content);
  size_t room = files->options.cache_bytes;
  room = room > walk->consumer.known.bytes ? room - walk->consumer.known.bytes : 0;
  if (item->keep == PFP_KEEP && pfp_known_append(&files->known, &entry, room)) {
    item->fd = -1;
    return;
  }
  walk->whole = false;
  pfp_files_release(files, item->fd);
  item->fd = -1;
  if (item->identity.type != PFP_TYPE_FILE || item->state != PFP_STATE_PRESENT) return;
  files->statistics.unkept_foreign += item->keep == PFP_KEEP_FOREIGN;
  files->statistics.unkept_recent += item->keep == PFP_KEEP_RECENT;
  files->statistics.unkept_writers += item->keep == PFP_KEEP_WRITERS;
  files->statistics.unkept_writable += item->keep == PFP_KEEP_WRITABLE;
  files->statistics.unkept_full += item->keep == PFP_KEEP;
}

static int report(struct pfp_walk *walk, const struct pfp_item *item) {
  struct pfp_files *files = walk->files;
  if (walk->entry != NULL) {
    struct pfp_entry entry = {
        .path = files->path,
        .path_size = item->path_size,
        .type = item->identity.type,
        .state = item->state,
        .mode = item->identity.mode,
        .size = item->state == PFP_STATE_PRESENT ? item->identity.size : 0,
        .error = item->error,
    };
    memcpy(entry.content, item->content, sizeof entry.content);
    memcpy(entry.digest, item->digest, sizeof entry.digest);
    if (walk->entry(walk->user, &entry) != 0) return pfp_files_fail(files, PFP_E_CANCELLED, 0, "", 0);
  }
  // Not for each entry: a report is for people.
  if (walk->bundle->entries % 256 == 0 || walk->bundle->bytes - walk->reported >= (UINT64_C(16) << 20)) {
    struct pfp_progress progress = {.files = walk->bundle->entries, .bytes = walk->bundle->bytes};
    walk->reported = walk->bundle->bytes;
    return pfp_files_progress(files, &progress);
  }
  return PFP_OK;
}

static int retire(struct pfp_walk *walk, struct pfp_item *item) {
  struct pfp_files *files = walk->files;
  memcpy(files->path, pfp_item_path(item), item->path_size);
  files->path[item->path_size] = '\0';
  if (item->result != PFP_OK) {
    return pfp_files_fail(files, item->result, item->error, files->path, item->path_size);
  }
  pfp_fold_update(&walk->fold, item->digest, PFP_HASH_BYTES);
  walk->bundle->entries++;
  walk->bundle->absent += item->state == PFP_STATE_ABSENT;
  if (item->identity.type == PFP_TYPE_FILE && item->state == PFP_STATE_PRESENT) {
    walk->bundle->bytes += item->identity.size;
  }
  int result = report(walk, item);
  keep(walk, item);
  pfp_run_retire(walk->run);
  return result;
}

int pfp_walk_collect(struct pfp_walk *walk, bool wait) {
  int result;
  struct pfp_item *item = pfp_run_oldest(walk->run, wait, &result);
  while (item != NULL && result == PFP_OK) {
    result = retire(walk, item);
    if (result == PFP_OK) item = pfp_run_oldest(walk->run, false, &result);
  }
  // The worker or the callback cancelled; the walk has not noted it yet.
  if (result == PFP_E_CANCELLED) return pfp_walk_fail(walk, result, 0, 0);
  return result;
}

