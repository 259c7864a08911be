// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "process/process.h"

enum { UUID_BYTES = 16 };

/// XFS's own answer to XFS_IOC_FSGEOMETRY_V1, the form that every kernel with XFS knows (xfs/libxfs/xfs_fs.h). The
/// header belongs to xfsprogs, so the one field that is read here is described here.
struct xfs_geometry {
  uint32_t sizes[6];
  uint32_t counts[2];
  uint64_t blocks[3];
  uint64_t log_start;
  uint8_t uuid[UUID_BYTES];
  uint32_t more[7];
};
_Static_assert(sizeof(struct xfs_geometry) == 112, "the size is part of the request's number");
#define XFS_GEOMETRY _IOR('X', 100, struct xfs_geometry)
#define XFS_MAGIC 0x58465342ul

static int is_zero(const uint8_t *bytes, size_t size) {
  uint8_t any = 0;
  for (size_t i = 0; i < size; i++) any |= bytes[i];
  return any == 0;
}

static int of_bytes(char text[PFP_ROOT_TEXT_MAX], const char *type, const uint8_t *bytes, size_t size) {
  int at = snprintf(text, PFP_ROOT_TEXT_MAX, "%s ", type);
  if (is_zero(bytes, size)) return 0;
  for (size_t i = 0; i < size; i++) {
    at += snprintf(text + at, PFP_ROOT_TEXT_MAX - (size_t)at, "%02x", bytes[i]);
  }
  return at;
}

/// ext2, ext3 and ext4 give the UUID's two halves, XORed, as `f_fsid`, on every kernel. FS_IOC_GETFSUUID is newer than
/// Linux 6.8, and answers with the UUID at the time of mounting: `tune2fs -U` under a mounted root would change the
/// answer at the next start only.
static int of_ext(char text[PFP_ROOT_TEXT_MAX], const struct statfs *status) {
  uint8_t id[8];
  _Static_assert(sizeof status->f_fsid == sizeof id, "two words");
  memcpy(id, &status->f_fsid, sizeof id);
  return of_bytes(text, "ext", id, sizeof id);
}

/// `f_fsid` is the block device's number.
static int of_xfs(char text[PFP_ROOT_TEXT_MAX], int root) {
  struct xfs_geometry geometry;
  memset(&geometry, 0, sizeof geometry);
  if (ioctl(root, XFS_GEOMETRY, &geometry) != 0) return -1;
  return of_bytes(text, "xfs", geometry.uuid, sizeof geometry.uuid);
}

/// `f_fsid` depends on the subvolume, which is another one after a snapshot was booted.
static int of_btrfs(char text[PFP_ROOT_TEXT_MAX], int root) {
  struct btrfs_ioctl_fs_info_args info;
  memset(&info, 0, sizeof info);
  if (ioctl(root, BTRFS_IOC_FS_INFO, &info) != 0) return -1;
  return of_bytes(text, "btrfs", info.fsid, sizeof info.fsid);
}

int pfp_root_identity(char text[PFP_ROOT_TEXT_MAX], const char *path) {
  struct statfs status;
  int error, size = 0;
  int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return -1;
  if (fstatfs(root, &status) != 0) {
    size = -1;
  } else if ((unsigned long)status.f_type == EXT4_SUPER_MAGIC) {
    size = of_ext(text, &status);
  } else if ((unsigned long)status.f_type == XFS_MAGIC) {
    size = of_xfs(text, root);
  } else if ((unsigned long)status.f_type == BTRFS_SUPER_MAGIC) {
    size = of_btrfs(text, root);
  }
  error = errno;
  (void)close(root);
  errno = error;
  return size;
}
