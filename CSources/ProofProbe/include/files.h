// SPDX-License-Identifier: Apache-2.0

/// Digests of files and of bundles: folders with everything below them.
///
/// A context holds what does not change between measurements (key, salt, limits, policy) and, under the incremental
/// policy, what the last measurement learned. One thread at a time may use a context; `pfp_files_cancel` alone may be
/// called by any. Two worker threads, without signals, live during each call that has to read; callbacks come on the
/// calling thread. Heap and mapped memory together stay below 8 MiB for each context, whatever is measured. Added to
/// this is what is kept between measurements: nothing under the policy full, at most `cache_bytes` otherwise.
///
/// **Bundle.** Entries are the files, folders, links and special files below the root, in order of their relative
/// paths as byte strings ("a", "a-b", "a/c", "a0"): no locale, no encoding, no order of the file system. Links are
/// entries, never followed; special files are never opened. With B of hash.h:
///
///     entry  = B("pfp1.entry......", u8(type) ‖ u8(state) ‖ u16(mode) ‖ u64(size) ‖ u32(n) ‖ path, n bytes ‖ content)
///     bundle = B("pfp1.bundle.....", u16(mode of the root) ‖ entry 0 ‖ entry 1 ‖ … ‖ u64(number of entries))
///
/// `mode` is the twelve bits 07777, 0 for links. `size` is the number of bytes of a file or of a link's target, the
/// device number (major in the upper 32 bits) of a device node, otherwise 0. `content` is the digest of a file's bytes
/// (hash.h), of a link's target as B("pfp1.link.......", target), otherwise 32 zero bytes. An entry that is there and
/// cannot be read has state 0, size 0 and content zeros: that is an observation, not an error.
///
/// **Files that move.** An entry that changes or vanishes while it is read is read once more. If its content was the
/// same at both readings, only its times moved and the digest stands; otherwise PFP_E_CHANGING names it.
///
/// **Incremental.** docs/SECURITY.md says what this policy cannot see. A digest is reused when statx still gives the
/// same device, mount, inode, size, mode, mtime and ctime as when the content was read, on a file system that is known
/// to move ctime with every change, for a file that was not being written at that moment, and whose bytes no program of
/// this process's user can change: it has fs-verity, or lies on a file system that cannot be written (squashfs, EROFS),
/// or is root's and not writable for others, while this process has neither root's rights nor capabilities. Every other
/// file is read each time.
///
/// **Trusting.** The same without the last condition: it trusts every program that runs as the owner of the files, or
/// as any user who may write to them. Such a program can change bytes without moving ctime (system/keep.c, no. 5).

#ifndef PFP_FILES_H
#define PFP_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"
#include "probe_result.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PFP_PATH_MAX 4095      ///< Bytes of a path, without its terminator.
#define PFP_DEPTH_MAX 128      ///< Folders within folders.
#define PFP_LIMIT_LOG2_MIN 16  ///< As in a configuration.
#define PFP_LIMIT_LOG2_MAX 50
#define PFP_CACHE_BYTES 67108864  ///< Unless the caller says otherwise: 64 MiB, some 600,000 entries.
/// Memory of an entry that is kept, to which the bytes of its path are added that the entry before it does not share.
#define PFP_CACHE_ENTRY_BYTES 80

/// The numbers of a configuration's policy.
enum pfp_policy {
  PFP_POLICY_FULL = 1,        ///< Every byte is read and hashed at every measurement. Nothing is kept.
  PFP_POLICY_INCREMENTAL = 2,  ///< Files that no program of this process's user can have changed are not read again.
  PFP_POLICY_TRUSTING = 3  ///< Trusts the owner: what ctime says did not change is not read again. See below.
};

/// Types of entries, as hashed.
enum pfp_type {
  PFP_TYPE_FILE = 1,
  PFP_TYPE_FOLDER = 2,
  PFP_TYPE_LINK = 3,
  PFP_TYPE_FIFO = 4,
  PFP_TYPE_SOCKET = 5,
  PFP_TYPE_CHARACTER = 6,
  PFP_TYPE_BLOCK = 7
};

/// States of entries, as hashed; the numbers of a configuration's records.
enum pfp_state { PFP_STATE_ABSENT = 0, PFP_STATE_PRESENT = 1 };

/// How far a measurement is.
struct pfp_progress {
  uint64_t files;  ///< Entries of any type, done.
  uint64_t bytes;  ///< Contents, read or known.
};

/// Called now and then by the calling thread. Any answer but 0 cancels.
typedef int (*pfp_progress_fn)(void *user, const struct pfp_progress *progress);

/// Options of a context. All zeros but `policy` and `limit_log2` is a good choice for everything after them.
struct pfp_files_options {
  uint8_t key[PFP_HASH_KEY_BYTES];
  uint8_t salt[PFP_HASH_SALT_BYTES];
  uint8_t policy;      ///< enum pfp_policy
  uint8_t limit_log2;  ///< At most 2^limit_log2 bytes of contents in one call, 16 to 50.
  uint8_t kernel;      ///< enum pfp_kernel; 0 is the fastest.
  uint8_t workers;     ///< 1 or 2; 0 is one for each processor that this thread may run on, at most 2.
  /// Incremental: at most so many descriptors stay open between measurements, which makes the next one about twice as
  /// fast. 0 keeps none. Beyond it, and beyond RLIMIT_NOFILE, entries are looked up by name.
  uint32_t descriptors;
  /// Incremental and trusting: the limit of the memory for what is known; 0 is PFP_CACHE_BYTES. The memory grows with
  /// the entries that are kept, in pages of 32 KiB; less than one page keeps no entry of a bundle. Entries beyond the
  /// limit are read at each measurement.
  uint32_t cache_bytes;
  pfp_progress_fn progress;  ///< May be NULL.
  void *user;                ///< Passed to `progress`.
};

/// A context. Owns threads during calls, and memory and descriptors between them.
struct pfp_files;

/// PFP_E_ARGUMENT for an option out of range, PFP_E_RESOURCE without memory. `*files` is NULL on failure.
PFP_MUST_USE int pfp_files_create(struct pfp_files **files, const struct pfp_files_options *options);
/// Closes and frees everything, wiping the key. NULL is fine.
void pfp_files_free(struct pfp_files *files);

/// Forgets what was learned: the next measurement reads everything.
void pfp_files_forget(struct pfp_files *files);

/// Asks the call in progress to end with PFP_E_CANCELLED. Any thread, at any time; without a call in progress it
/// does nothing.
void pfp_files_cancel(struct pfp_files *files);

/// One entry of a bundle, or one file.
struct pfp_entry {
  const char *path;  ///< Relative to the bundle's root, any bytes, terminated. Valid during the callback only.
  size_t path_size;
  uint8_t type;   ///< enum pfp_type
  uint8_t state;  ///< enum pfp_state
  uint16_t mode;
  uint64_t size;
  int error;  ///< errno of an absent entry, for people; not hashed.
  uint8_t content[PFP_HASH_BYTES];
  uint8_t digest[PFP_HASH_BYTES];  ///< Digest of all of the above but `error`: an entry's record carries it.
};

/// Called for each entry, in order, by the calling thread. Any answer but 0 cancels.
typedef int (*pfp_entry_fn)(void *user, const struct pfp_entry *entry);

/// A bundle, measured.
struct pfp_bundle {
  uint8_t digest[PFP_HASH_BYTES];
  uint16_t mode;     ///< Mode of the root.
  uint64_t entries;
  uint64_t absent;   ///< Entries that could not be read.
  uint64_t bytes;    ///< Size of all contents.
};

/// Measures everything below `root`. A root that is a link is followed; nothing below it is. `entry` may be NULL, which
/// is the fastest. PFP_E_MISSING, PFP_E_TYPE, PFP_E_UNREADABLE are about the root itself. On failure `*bundle` is all
/// zeros, and entries may have been reported before it.
PFP_MUST_USE int pfp_files_digest_bundle(struct pfp_files *files, const char *root, pfp_entry_fn entry, void *user,
                                         struct pfp_bundle *bundle);

/// The same for a caller that keeps the entries reported to it: if nothing changed since the last call, and the digest
/// still is `known`, no entry is reported. A caller that gets `known` back has the entries already, reported again or
/// not. `known` may be NULL.
PFP_MUST_USE int pfp_files_digest_known_bundle(struct pfp_files *files, const char *root, const uint8_t *known,
                                               pfp_entry_fn entry, void *user, struct pfp_bundle *bundle);

/// Measures one regular file, following links. `entry->path` is `path`; `entry->digest` is that of an entry whose path
/// has length 0: a file's digest does not depend on where it was found. A file that cannot be read is
/// PFP_E_UNREADABLE, not an absent entry. On failure `*entry` is all zeros.
PFP_MUST_USE int pfp_files_digest_file(struct pfp_files *files, const char *path, struct pfp_entry *entry);

/// Whether a digest of this file, following links, may be kept under the context's policy, or is: then asking again is
/// cheap. Under the policy *trusting* true of any path; under the others false for what cannot be read.
bool pfp_files_may_keep(struct pfp_files *files, const char *path);

/// Whether the digest of this file is kept, and no program of this process's user can change the file's bytes without
/// moving its times: the condition under which the incremental policy keeps a digest, also where the context trusts the
/// owner.
bool pfp_files_is_guarded(const struct pfp_files *files, const char *path);

/// About the last call that failed. Valid until the next call.
struct pfp_failure {
  int result;        ///< enum pfp_result
  int error;         ///< errno, or 0 where none is to blame.
  const char *path;  ///< Path that failed, as given or relative to the root; "" if nothing in particular.
  size_t path_size;
};
const struct pfp_failure *pfp_files_failure(const struct pfp_files *files);

/// About the last call: what was read and what was known. Every entry that was not known says why.
struct pfp_files_statistics {
  uint64_t files;         ///< Regular files measured.
  uint64_t files_read;    ///< Regular files read and hashed.
  uint64_t bytes_read;
  uint64_t retries;       ///< Second readings.
  uint64_t reused;        ///< Regular files whose digest was reused.
  uint64_t unkept_foreign;///< Not kept: the file system is not on the allow-list.
  uint64_t unkept_recent; ///< Not kept: changed too shortly before for this kernel's clock.
  uint64_t unkept_writers;///< Not kept: open, or mapped, for writing in some process.
  uint64_t unkept_full;   ///< Not kept: no room.
  uint64_t unkept_writable;  ///< Not kept: programs of this process's user can change it. Incremental policy only.
  uint64_t descriptors;   ///< Open between this call and the next.
};
const struct pfp_files_statistics *pfp_files_statistics(const struct pfp_files *files);

#ifdef __cplusplus
}
#endif

#endif
