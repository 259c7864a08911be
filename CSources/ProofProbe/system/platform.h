// SPDX-License-Identifier: Apache-2.0

/// Operating system calls for measuring files. Another system is one more set of files behind this header.
///
/// Every function answers 0 (or a count, or a descriptor) or a negative errno, and goes on after signals by itself.

#ifndef PFP_FILES_PLATFORM_H
#define PFP_FILES_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files.h"

/// The protection of a file's bytes from a program without privileges.
enum pfp_guard {
  PFP_GUARD_NONE = 0,
  PFP_GUARD_ROOT,   ///< The file is root's, and no group, no other user and no entry of an ACL may write to it.
  PFP_GUARD_VERITY  ///< fs-verity: the kernel refuses every write, root's too.
};

/// Fields that tell whether a file is still the one that was read, and unchanged.
struct pfp_identity {
  uint64_t device;
  uint64_t mount;
  uint64_t inode;
  uint64_t size;      ///< As hashed: bytes of a file or a link's target, the number of a device, otherwise 0.
  uint64_t changed;   ///< ctime, in nanoseconds, modulo 2^64
  uint64_t modified;  ///< mtime, likewise
  uint16_t mode;      ///< As hashed: 07777; 0 for links.
  uint8_t type;       ///< enum pfp_type, 0 for anything else
  uint8_t guard;      ///< enum pfp_guard. Not compared: it cannot change unless `changed` does.
};

bool pfp_identity_equal(const struct pfp_identity *a, const struct pfp_identity *b);

/// The name of a folder relative to which paths are as the process sees them.
int pfp_here(void);

// Opening and reading --------------------------------------------------------------------------------------------

/// Never waits for the other end of a FIFO, never becomes a controlling terminal, never outlives exec. Without
/// `follow` a link is refused.
int pfp_open_file(int folder, const char *name, bool follow);
int pfp_open_folder(int folder, const char *name, bool follow);
/// A folder some levels below `root`: no link on the way, no way out. For looking things up in it only.
int pfp_open_below(int root, const char *path);
void pfp_close(int fd);
int pfp_duplicate(int fd);

int pfp_identify(struct pfp_identity *identity, int fd);
int pfp_identify_name(struct pfp_identity *identity, int folder, const char *name, bool follow);
/// Whether the open file is still as identified. The cheapest way to ask; device, mount and inode of an open
/// descriptor never change.
bool pfp_unmoved(const struct pfp_identity *identity, int fd);

/// Bytes read, less than `size` only at the end of the file.
int64_t pfp_read(int fd, void *bytes, size_t size);
int64_t pfp_read_at(int fd, void *bytes, size_t size, uint64_t offset);
/// A link's target. Answers its length, or -ENAMETOOLONG if it does not fit.
int64_t pfp_read_link(int folder, const char *name, void *bytes, size_t size);

/// Whether an error says that what was found a moment ago is gone or of another type.
bool pfp_error_is_change(int error);
/// Whether an error is about this process's means and says nothing about the file.
bool pfp_error_is_resource(int error);

// Folders --------------------------------------------------------------------------------------------------------

/// A folder being listed. `.` and `..` are left out.
struct pfp_listing {
  int fd;
  uint32_t at, filled;
  _Alignas(16) uint8_t buffer[32768];
};

/// Begins anew, from the folder's first entry.
int pfp_listing_begin(struct pfp_listing *listing, int fd);
/// 1 and the next name, terminated, valid until the next call; 0 at the end. `*type` is 0 where the folder does not
/// tell.
int pfp_listing_next(struct pfp_listing *listing, const char **name, uint8_t *type);

// Memory ---------------------------------------------------------------------------------------------------------

/// Zeroed pages, touched when used, given back to the system when freed. NULL without memory.
void *pfp_pages(size_t size);
void pfp_pages_free(void *pages, size_t size);

/// A file mapped for reading. A file that is cut off while it is read would kill the process with SIGBUS: until
/// `pfp_map_end` such a page reads as zeros instead, and is remembered. Answers -ENOTSUP when the process handles
/// SIGBUS itself, which is then left alone.
struct pfp_map {
  const uint8_t *bytes;
  uint64_t size;
  int guard;
};

/// Whether mapping a long file is faster than reading it. It depends on the processor; both give the same digests.
bool pfp_map_pays(void);
int pfp_map_begin(struct pfp_map *map, int fd, uint64_t size);
/// Gives pages back that are not needed any more.
void pfp_map_release(const struct pfp_map *map, uint64_t offset, size_t size);
/// Whether the file was readable everywhere so far; false if a page read as zeros.
bool pfp_map_whole(const struct pfp_map *map);
/// Answers the same, for the last time.
bool pfp_map_end(struct pfp_map *map);

// Keeping --------------------------------------------------------------------------------------------------------

/// Why a digest may be kept, or not. Above PFP_KEEP: why not.
enum pfp_keep {
  PFP_KEEP_NOTHING = 0,
  PFP_KEEP = 1,
  PFP_KEEP_FOREIGN,   ///< The file system is not on the list.
  PFP_KEEP_RECENT,    ///< Changed too shortly before for this kernel's clock.
  PFP_KEEP_WRITERS,   ///< A program has the file open, or mapped, for writing.
  PFP_KEEP_WRITABLE   ///< Programs that run as this process's user can change the bytes without moving ctime.
};

/// Answers of this measurement so far: about file systems, and about this process's privileges.
struct pfp_keep_memory {
  uint64_t device[4];
  uint8_t verdict[4];
  uint8_t next;
  uint8_t privileges;
};

/// To be called before a regular file is read: brings the file into a state in which every later change moves its
/// ctime, identifies it, and answers in `*keep` whether that worked. system/keep.c says how.
///
/// `trusts_owner`: also keep files that programs of this process's user can change in place.
int pfp_keep_file(struct pfp_identity *identity, enum pfp_keep *keep, struct pfp_keep_memory *memory, int fd,
                  bool trusts_owner);
/// Whether `pfp_keep_file` could answer PFP_KEEP for this regular file without `trusts_owner`, writers and clocks
/// aside.
bool pfp_keep_guarded(const struct pfp_identity *identity, struct pfp_keep_memory *memory, int fd);
/// Whether this thread has no user id of root's and no capability, and root is the machine's: then the mode of a file
/// of root's binds it. Another process of the same user is bound alike, unless it runs a program that gains privileges.
bool pfp_trust_unprivileged(void);
/// Whether root is the machine's root: this process is in the first user namespace. In another one, an ordinary user
/// may be called root. False if the kernel does not say.
bool pfp_trust_root(void);
/// The same for what cannot be written to: folders (their listings), links, special files. `before` is the clock's time
/// before the identification; `fd` is of the entry or its folder.
enum pfp_keep pfp_keep_entry(const struct pfp_identity *identity, uint64_t before, struct pfp_keep_memory *memory,
                             int fd);
/// 1: no process can write to the file until `pfp_lease_end`. 0: one can. Negative: this process may not ask. On a
/// worker only.
int pfp_lease_begin(int fd);
void pfp_lease_end(int fd);
/// Whether a ctime is old enough, at this moment, for every later one to differ from it.
bool pfp_keep_settled(uint64_t changed, uint64_t now);
/// The clock that stamps files, in nanoseconds.
uint64_t pfp_keep_clock(void);

/// Tells when something was mounted or unmounted in this process's view. Answers a descriptor.
int pfp_mounts_watch(void);
/// Whether something was since the last time it was asked.
bool pfp_mounts_moved(int fd);

// Means ----------------------------------------------------------------------------------------------------------

/// Processors that this thread may run on.
unsigned pfp_processors(void);
/// Descriptors that may stay open without getting into the way of the rest of the process.
uint32_t pfp_descriptors_spare(void);

#endif
