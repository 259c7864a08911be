// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "system/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/// Whether an open file is procfs's, and of the mount that `folder` is of: another process's file, mounted in the place
/// of ours, is procfs's too.
static bool is_of(int folder, int file) {
  struct statfs system;
  struct statx own, other;
  if (fstatfs(file, &system) != 0) return false;
  if (statx(file, "", AT_EMPTY_PATH, STATX_MNT_ID, &own) != 0) return false;
  if (statx(folder, "", AT_EMPTY_PATH, STATX_MNT_ID, &other) != 0) return false;
  errno = EXDEV;
  if ((unsigned long)system.f_type != PROC_SUPER_MAGIC) return false;
  // Before Linux 5.8 mounts have no number, and the file system's name has to do.
  return (own.stx_mask & STATX_MNT_ID) == 0 || own.stx_mnt_id == other.stx_mnt_id;
}

static int open_below(int folder, const char *path, int flags) {
  int error;
  int file = openat(folder, path, flags | O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0 || is_of(folder, file)) return file;
  error = errno;
  (void)close(file);
  errno = error;
  return -1;
}

int pfp_proc_open(int folder, const char *path, int flags) {
  int root, file, error;
  if (folder >= 0) return open_below(folder, path, flags);
  root = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return -1;
  file = open_below(root, path, flags);
  error = errno;
  (void)close(root);
  errno = error;
  return file;
}
