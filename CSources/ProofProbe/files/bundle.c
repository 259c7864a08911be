// SPDX-License-Identifier: Apache-2.0

#include <errno.h>
#include <string.h>

#include "files/bundle.h"
#include "files/walk.h"

/// Loads the known entries of this bundle; none if they belong to another bundle.
static void known_begin(struct pfp_walk *walk, const char *root) {
  struct pfp_files *files = walk->files;
  if (strcmp(files->known_path, root) != 0) {
    atomic_fetch_add(&files->descriptors_left, pfp_known_clear(&files->known));
  }
  pfp_known_consume(&walk->consumer, &files->known);
  files->known_whole = false;
  (void)strncpy(files->known_path, root, PFP_PATH_MAX);
}

static void known_end(struct pfp_walk *walk, const struct pfp_identity *root, bool failed) {
  struct pfp_files *files = walk->files;
  pfp_known_consumed(&walk->consumer, &files->known, failed);
  atomic_fetch_add(&files->descriptors_left, walk->consumer.closed);
  files->known_whole = walk->whole && !failed;
  files->known_root = *root;
  files->known_bundle = *walk->bundle;
  files->known_files = files->statistics.files;
}

static int walk_all(struct pfp_walk *walk, const struct pfp_root *root) {
  int result;
  struct pfp_folder *folder = pfp_walk_folder(walk, root->fd);
  if (folder == NULL) {
    pfp_close(root->fd);
    return pfp_walk_fail(walk, PFP_E_RESOURCE, ENOMEM, 0);
  }
  pfp_fold_init(&walk->fold, &walk->files->hash, PFP_BUNDLE);
  pfp_fold_number(&walk->fold, root->identity.mode, 2);
  result = pfp_walk_down(walk, folder, &root->identity, 0);
  while (result == PFP_OK && walk->depth != 0) result = pfp_walk_step(walk);
  while (result == PFP_OK && walk->run->retired < walk->run->filled) result = pfp_walk_collect(walk, true);
  if (result == PFP_OK) {
    struct pfp_progress progress = {.files = walk->bundle->entries, .bytes = walk->bundle->bytes};
    result = pfp_files_progress(walk->files, &progress);
  }
  pfp_walk_leave(walk);
  return result;
}

int pfp_bundle_measure(struct pfp_files *files, const struct pfp_root *root, pfp_entry_fn entry, void *user,
                       struct pfp_bundle *bundle) {
  const size_t names = PFP_NAMES_ALL;
  struct pfp_walk *walk = pfp_pages(sizeof *walk);
  int result = PFP_E_RESOURCE;
  memset(bundle, 0, sizeof *bundle);
  if (walk != NULL && (walk->names = pfp_pages(names)) != NULL) {
    walk->files = files;
    walk->entry = entry;
    walk->user = user;
    walk->bundle = bundle;
    bundle->mode = root->identity.mode;
    result = pfp_run_begin(&walk->run, files, pfp_workers(files));
  } else {
    (void)pfp_files_fail(files, PFP_E_RESOURCE, ENOMEM, "", 0);
  }
  if (result == PFP_OK) {
    if (pfp_incremental(files)) {
      walk->whole = pfp_keep_entry(&root->identity, root->before, &walk->memory, root->fd) == PFP_KEEP;
      known_begin(walk, root->path);
    }
    result = walk_all(walk, root);
    if (result == PFP_OK) {
      pfp_fold_number(&walk->fold, bundle->entries, 8);
      pfp_fold_final(bundle->digest, &walk->fold);
    }
    pfp_run_end(walk->run);
    if (pfp_incremental(files)) known_end(walk, &root->identity, result != PFP_OK);
  } else {
    pfp_close(root->fd);
  }
  if (walk != NULL) {
    pfp_pages_free(walk->names, names);
    pfp_pages_free(walk, sizeof *walk);
  }
  if (result != PFP_OK) memset(bundle, 0, sizeof *bundle);
  return result;
}
