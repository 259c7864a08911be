// SPDX-License-Identifier: Apache-2.0

/// A bundle being walked. Everything here is the calling thread's.

#ifndef PFP_FILES_WALK_H
#define PFP_FILES_WALK_H

#include "files/names.h"
#include "jobs/run.h"

/// Memory for the names of all folders on the way down. A folder takes what it needs, at most three quarters of what
/// is left, and always enough to go on: with more names than fit it is listed again (files/names.h).
#define PFP_NAMES_BYTES (UINT32_C(1792) << 10)
#define PFP_NAMES_ALL (PFP_NAMES_BYTES + (PFP_DEPTH_MAX + 1u) * PFP_NAMES_LEAST)

/// Folders that wait for their descent. More is possible and rare; the first of them are then opened again.
#define PFP_OPENED 8u

/// A folder on the way down.
struct pfp_level {
  struct pfp_folder *folder;
  struct pfp_names names;
  uint32_t path_size;    ///< Size of its own path, with the slash behind it
  uint32_t memory_from;  ///< Start of its names
  struct pfp_identity identity;  ///< As it was before it was listed
};

/// A folder whose entry was handed out and whose descent is still to come. What stands between the two begins with the
/// folder's own path ("a", "a-b", "a/c"), so the last in is the first out, and its path's length tells it.
struct pfp_opened {
  struct pfp_folder *folder;
  struct pfp_identity identity;
  size_t path_size;
};

struct pfp_walk {
  struct pfp_files *files;
  struct pfp_run *run;
  pfp_entry_fn entry;
  void *user;
  struct pfp_bundle *bundle;
  struct pfp_fold fold;
  struct pfp_known_consumer consumer;
  struct pfp_keep_memory memory;
  bool whole;  ///< Everything so far may be taken for unchanged the next time.
  uint64_t reported;
  uint8_t *names;
  uint32_t names_used;
  uint32_t depth;
  struct pfp_opened opened[PFP_OPENED];
  uint32_t opened_count;
  /// Bits of the folders that wait for their descent and could not be opened, by the sizes of their paths: each of
  /// these paths begins with the one before it, so no two have the same size.
  uint8_t absent[PFP_PATH_MAX / 8 + 1];
  struct pfp_level levels[PFP_DEPTH_MAX + 1];
  struct pfp_listing listing;
  char path[PFP_PATH_MAX + 2];
};

/// Notes what went wrong at the first `path_size` bytes of the walk's path.
static inline int pfp_walk_fail(struct pfp_walk *walk, int result, int error, size_t path_size) {
  return pfp_files_fail(walk->files, result, error, walk->path, path_size);
}

// files/walk.c
/// Goes down into a folder, whose path is the walk's: `path_size` bytes with the slash. Takes the reference over.
int pfp_walk_down(struct pfp_walk *walk, struct pfp_folder *folder, const struct pfp_identity *identity,
                  size_t path_size);
/// Hands out the next entry, or goes down or up.
int pfp_walk_step(struct pfp_walk *walk);
/// Goes all the way up.
void pfp_walk_leave(struct pfp_walk *walk);
struct pfp_folder *pfp_walk_folder(struct pfp_walk *walk, int fd);

// files/collect.c
/// Reports and folds what is done; if `wait`, at least one entry if there is one.
int pfp_walk_collect(struct pfp_walk *walk, bool wait);

#endif
