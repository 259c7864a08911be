// SPDX-License-Identifier: Apache-2.0

/// A context of files: options, what is known, and how a call ends.

#ifndef PFP_FILES_CONTEXT_H
#define PFP_FILES_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "files.h"
#include "context/known.h"
#include "system/platform.h"
#include "hash/fold.h"

#define PFP_WORKERS_MAX 4      ///< That an app may ask for
#define PFP_WORKERS_DEFAULT 2  ///< At most, unless it asks

/// A file measured by itself, known.
struct pfp_single {
  struct pfp_single *next;
  bool kept;     ///< `identity` and `content` hold.
  bool guarded;  ///< No program of this process's user can change the bytes without moving ctime.
  struct pfp_identity identity;
  uint8_t content[PFP_HASH_BYTES];
  char path[];
};

struct pfp_files {
  struct pfp_hash hash;
  struct pfp_files_options options;
  atomic_bool cancel;
  atomic_uint_fast32_t descriptors_left;  ///< How many more may be kept
  struct pfp_files_statistics statistics;
  struct pfp_failure failure;
  char failure_path[PFP_PATH_MAX + 1];
  char path[PFP_PATH_MAX + 1];  ///< Path of the entry being reported

  struct pfp_known known;
  bool known_whole;     ///< `known` is all there was, and each entry of it may be taken for unchanged.
  struct pfp_bundle known_bundle;
  uint64_t known_files;  ///< Regular files among its entries
  struct pfp_identity known_root;
  char known_path[PFP_PATH_MAX + 1];  ///< The root's, as given
  int mounts;                         ///< Watched, or -1
  struct pfp_single *singles;
  size_t singles_bytes;
};

static inline bool pfp_incremental(const struct pfp_files *files) {
  return files->options.policy != PFP_POLICY_FULL;
}
static inline bool pfp_trusts_owner(const struct pfp_files *files) {
  return files->options.policy == PFP_POLICY_TRUSTING;
}

/// Notes what went wrong and answers `result`.
int pfp_files_fail(struct pfp_files *files, int result, int error, const char *path, size_t path_size);

/// Takes one of the descriptors that may be kept. On another thread their number may go below zero for a moment: each
/// gives back what it should not have taken.
static inline bool pfp_descriptor_take(struct pfp_files *files) {
  if (files->options.descriptors == 0) return false;
  if ((int32_t)atomic_fetch_sub(&files->descriptors_left, 1) > 0) return true;
  atomic_fetch_add(&files->descriptors_left, 1);
  return false;
}

/// Gives a kept descriptor up.
void pfp_files_release(struct pfp_files *files, int fd);

/// 0, or PFP_E_CANCELLED: when the caller said so from elsewhere or in answer to a report of progress.
int pfp_files_progress(struct pfp_files *files, const struct pfp_progress *progress);

/// Threads to read with.
unsigned pfp_workers(const struct pfp_files *files);

#endif
