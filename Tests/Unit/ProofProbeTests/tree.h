// SPDX-License-Identifier: Apache-2.0

/// Folders to be measured, made and changed by tests. Failures end the program: they are no property of the probe.
///
/// Paths are relative to a tree's root. Everything lies below the scratch folder, which must be on a file system that
/// tells every change (ext4, XFS, Btrfs).

#ifndef TREE_H
#define TREE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "files.h"
#include "sanitized.h"

/// Set before anything else; emptied when the program ends.
void tree_scratch(const char *folder);

/// A root.
struct tree {
  char root[512];
};

/// A new, empty root.
struct tree tree_make(void);
/// The path below the root, in one of a few static buffers.
const char *tree_path(const struct tree *tree, const char *path);

void tree_file(const struct tree *tree, const char *path, const void *bytes, size_t size);
void tree_text(const struct tree *tree, const char *path, const char *text);
/// `size` bytes that depend on `seed`.
void tree_noise(const struct tree *tree, const char *path, size_t size, uint64_t seed);
void tree_folder(const struct tree *tree, const char *path);
void tree_link(const struct tree *tree, const char *path, const char *target);
void tree_rename(const struct tree *tree, const char *from, const char *to);
void tree_remove(const struct tree *tree, const char *path);
void tree_mode(const struct tree *tree, const char *path, mode_t mode);
/// Sets mtime and atime to a time long ago.
void tree_touch(const struct tree *tree, const char *path);
/// Overwrites one byte, leaving the size. The file's mtime is one that no other call gives: the clock of files stands
/// still for up to 10 ms, and two changes in that time would else have the same times. Any thread may call it.
void tree_overwrite(const char *path, off_t offset, char byte);
/// The same, for a path below the root.
void tree_poke(const struct tree *tree, const char *path, off_t offset, char byte);
/// Like `cp -a`: types, modes, contents, links, times.
void tree_copy(const struct tree *to, const struct tree *from);
/// Removes the root and everything below it.
void tree_drop(const struct tree *tree);

/// A handful of everything: files of 0 to 3 MiB, folders, links, a FIFO.
struct tree tree_sample(void);

// Measuring ------------------------------------------------------------------------------------------------------

/// A context under the policy, key and salt fixed. Descriptors kept if incremental and `descriptors` is not 0.
struct pfp_files *files_new(enum pfp_policy policy, uint32_t descriptors);
/// The same under the full policy, with so many workers.
struct pfp_files *files_workers(unsigned workers);
/// Measures the root; checks that it went well.
struct pfp_bundle measure(struct pfp_files *files, const struct tree *tree);
/// By a fresh context under the full policy.
struct pfp_bundle measure_cold(const struct tree *tree);
/// The result of measuring the root, whatever it is.
int measure_result(struct pfp_files *files, const struct tree *tree);
bool same_digest(const struct pfp_bundle *a, const struct pfp_bundle *b);

/// Runs in a process of its own; true if it answered true and came to no harm.
bool in_child(bool (*work)(void *), void *user);
/// In a process of its own, gives up the rights of root if it has them.
void become_ordinary(void);

// Faults (files_faults.c) ------------------------------------------------------------------------------------------

/// Faults of the next calls of the platform's functions. All zeros: none.
struct faults {
  /// Called after each read of a file with its descriptor; may change the file.
  void (*after_read)(int fd);
  /// Called before each read of a file; may change the file.
  void (*before_read)(int fd);
  /// Called after each link was read, and after each name that a folder tells.
  void (*after_link)(const char *name);
  void (*after_name)(const char *name);
  /// Called before each file or folder is opened.
  void (*before_open)(const char *name);
  /// Whether this folder may not be opened now. Called after `before_open`.
  bool (*denies)(const char *name);
  /// Called after each look at what is open.
  void (*after_look)(int fd);
  /// Called after a file was mapped.
  void (*after_map)(int fd);
  bool no_maps;        ///< Nothing can be mapped.
  bool no_leases;      ///< Files belong to another user.
  bool folders_move;   ///< Every folder is another one after it was listed.
  unsigned guarded_looks;  ///< Files have fs-verity at so many looks.
  bool no_types;       ///< Folders do not tell the types of their entries.
  bool no_mounts;      ///< Mounts cannot be watched: /proc is not there.
  int listing_error;   ///< Errno of the listings from the name `names_good` on
  unsigned names_good;
  int identify_error;  ///< Errno of each look at what is open
  int read_error;      ///< Errno of the reads from `reads_good` on
  unsigned reads_good;
  unsigned pages_good;  ///< With `pages_fail`: that many allocations succeed before all fail.
  bool pages_fail;
  unsigned short_reads;  ///< So many reads get half of what they ask for.
  /// Calls so far. Counted, not faults.
  atomic_ulong opens, opens_below, reads_made, looks;
  atomic_long pages_held;  ///< Bytes of pages that were not freed
  uint64_t clock_ahead;  ///< Nanoseconds added to the clock of changes
  unsigned clock_lags;   ///< So many readings of it are an hour behind.
};
extern struct faults faults;

/// Forgets all faults, and sets the clock a minute ahead: what was just written then counts as long settled.
void faults_reset(void);

#endif
