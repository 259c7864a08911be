// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "system/platform.h"

// Not in every libc's headers yet; Linux 6.8. Unlike the older number it is never used twice.
#define STATX_MNT_ID_UNIQUE_ 0x4000u
// Linux 5.5.
#define STATX_ATTR_VERITY_ 0x00100000u

int pfp_here(void) { return AT_FDCWD; }

// Opening --------------------------------------------------------------------------------------------------------

static int open_flags(int folder, const char *name, int flags, bool follow) {
  int fd;
  do {
    fd = openat(folder, name, flags | O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
  } while (fd < 0 && errno == EINTR);
  return fd < 0 ? -errno : fd;
}

int pfp_open_file(int folder, const char *name, bool follow) { return open_flags(folder, name, 0, follow); }

int pfp_open_folder(int folder, const char *name, bool follow) {
  return open_flags(folder, name, O_DIRECTORY, follow);
}

int pfp_open_below(int root, const char *path) {
  struct open_how how = {
      .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
  };
  long fd;
  do {
    fd = syscall(SYS_openat2, root, path, &how, sizeof how);
  } while (fd < 0 && (errno == EINTR || errno == EAGAIN));
  return fd < 0 ? -errno : (int)fd;
}

void pfp_close(int fd) {
  if (fd >= 0) (void)close(fd);
}

int pfp_duplicate(int fd) {
  int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  return copy < 0 ? -errno : copy;
}

// Identity -------------------------------------------------------------------------------------------------------

static uint8_t type_of(unsigned mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return PFP_TYPE_FILE;
    case S_IFDIR: return PFP_TYPE_FOLDER;
    case S_IFLNK: return PFP_TYPE_LINK;
    case S_IFIFO: return PFP_TYPE_FIFO;
    case S_IFSOCK: return PFP_TYPE_SOCKET;
    case S_IFCHR: return PFP_TYPE_CHARACTER;
    case S_IFBLK: return PFP_TYPE_BLOCK;
    default: return 0;
  }
}

static uint64_t nanoseconds(int64_t seconds, uint32_t nanosecond) {
  return (uint64_t)seconds * UINT64_C(1000000000) + nanosecond;
}

/// Sizes of folders and modes of links depend on the file system, not on what was put there.
static void normalize(struct pfp_identity *identity, uint64_t size, uint64_t special) {
  switch (identity->type) {
    case PFP_TYPE_FILE: identity->size = size; break;
    case PFP_TYPE_LINK:
      identity->size = size;
      identity->mode = 0;
      break;
    case PFP_TYPE_CHARACTER:
    case PFP_TYPE_BLOCK: identity->size = special; break;
    default: identity->size = 0; break;
  }
}

/// With an ACL, the group's bits of the mode are its mask: without the mask's write bit no entry of it may write.
static uint8_t guard_of(const struct statx *found) {
  if ((found->stx_attributes & STATX_ATTR_VERITY_) != 0) return PFP_GUARD_VERITY;
  return found->stx_uid == 0 && (found->stx_mode & (S_IWGRP | S_IWOTH)) == 0 ? PFP_GUARD_ROOT : PFP_GUARD_NONE;
}

static int identify(struct pfp_identity *identity, int folder, const char *name, int flags) {
  struct statx found;
  memset(identity, 0, sizeof *identity);
  if (statx(folder, name, flags, STATX_BASIC_STATS | STATX_MNT_ID | STATX_MNT_ID_UNIQUE_, &found) != 0) return -errno;
  identity->device = (uint64_t)found.stx_dev_major << 32 | found.stx_dev_minor;
  // If the mount's number is missing (before Linux 5.8) nothing is kept: pfp_keep_entry refuses 0.
  if ((found.stx_mask & (STATX_MNT_ID | STATX_MNT_ID_UNIQUE_)) != 0) identity->mount = found.stx_mnt_id;
  identity->inode = found.stx_ino;
  identity->changed = nanoseconds(found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec);
  identity->modified = nanoseconds(found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec);
  identity->mode = found.stx_mode & 07777;
  identity->type = type_of(found.stx_mode);
  identity->guard = guard_of(&found);
  normalize(identity, found.stx_size, (uint64_t)found.stx_rdev_major << 32 | found.stx_rdev_minor);
  return 0;
}

int pfp_identify(struct pfp_identity *identity, int fd) { return identify(identity, fd, "", AT_EMPTY_PATH); }

int pfp_identify_name(struct pfp_identity *identity, int folder, const char *name, bool follow) {
  return identify(identity, folder, name, AT_NO_AUTOMOUNT | (follow ? 0 : AT_SYMLINK_NOFOLLOW));
}

bool pfp_unmoved(const struct pfp_identity *identity, int fd) {
  struct stat found;
  struct pfp_identity now;
  if (fstat(fd, &found) != 0) return false;
  now = *identity;
  now.type = type_of(found.st_mode);
  now.mode = found.st_mode & 07777;
  now.changed = nanoseconds(found.st_ctim.tv_sec, (uint32_t)found.st_ctim.tv_nsec);
  now.modified = nanoseconds(found.st_mtim.tv_sec, (uint32_t)found.st_mtim.tv_nsec);
  normalize(&now, (uint64_t)found.st_size,
            (uint64_t)major(found.st_rdev) << 32 | (uint64_t)minor(found.st_rdev));
  return found.st_ino == identity->inode && pfp_identity_equal(&now, identity);
}

bool pfp_identity_equal(const struct pfp_identity *a, const struct pfp_identity *b) {
  return a->device == b->device && a->mount == b->mount && a->inode == b->inode && a->size == b->size &&
         a->changed == b->changed && a->modified == b->modified && a->mode == b->mode && a->type == b->type;
}

// Reading --------------------------------------------------------------------------------------------------------

int64_t pfp_read(int fd, void *bytes, size_t size) {
  size_t have = 0;
  while (have < size) {
    ssize_t got = read(fd, (uint8_t *)bytes + have, size - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -errno;
    have += (size_t)got;
    // A short answer is the end of a regular file. Should a file system cut answers short, the size does not fit the
    // identity. A file of several leaves is read again, then reported. One of a leaf has the size that was read, as
    // files of sysfs are shorter than they say, and is measured anew each time.
    if (have < size) break;
  }
  return (int64_t)have;
}

int64_t pfp_read_at(int fd, void *bytes, size_t size, uint64_t offset) {
  size_t have = 0;
  while (have < size) {
    ssize_t got = pread(fd, (uint8_t *)bytes + have, size - have, (off_t)(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -errno;
    if (got == 0) break;
    have += (size_t)got;
  }
  return (int64_t)have;
}

int64_t pfp_read_link(int folder, const char *name, void *bytes, size_t size) {
  ssize_t got = readlinkat(folder, name, bytes, size);
  if (got < 0) return -errno;
  return (size_t)got == size ? -ENAMETOOLONG : got;
}

bool pfp_error_is_change(int error) {
  // ELOOP: became a link. ENXIO: a socket, or a FIFO. ENOTDIR: a folder no more. EINVAL: of readlink, no link any more.
  return error == ENOENT || error == ELOOP || error == ENXIO || error == ENOTDIR || error == EINVAL ||
         error == ESTALE || error == ENODEV;
}

bool pfp_error_is_resource(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM; }

// Means ----------------------------------------------------------------------------------------------------------

uint64_t pfp_keep_clock(void) {
  struct timespec now;
  // The clock of ctime itself: a finer one would be ahead of it.
  (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return nanoseconds(now.tv_sec, (uint32_t)now.tv_nsec);
}

unsigned pfp_processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return (unsigned)CPU_COUNT(&set);
}

uint32_t pfp_descriptors_spare(void) {
  // Left to the process: what it may hold itself, and what a measurement opens for its own time.
  const rlim_t theirs = 512;
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= theirs) return 0;
  limit.rlim_cur -= theirs;
  return limit.rlim_cur < UINT32_MAX ? (uint32_t)limit.rlim_cur : UINT32_MAX;
}
