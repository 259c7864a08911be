// SPDX-License-Identifier: Apache-2.0

/// When a file's identity, its ctime above all, can be trusted to tell that the file changed.
///
/// A digest is kept with the file's identity, so every later change of the bytes has to move ctime. Five things stand
/// in the way; each is closed before a digest is kept.
///
/// 1. *File systems that do not tell.* On tmpfs and overlayfs a store through a shared mapping does not move ctime.
///    Only ext2/3/4, XFS and Btrfs are on the list, each was tried, and file systems that cannot be written at all.
/// 2. *Pages that are dirty already.* A store through a shared mapping moves ctime when its page becomes writable, not
///    again while it stays so. `sync_file_range` writes the pages back and so makes them read-only: the next store
///    faults. It works on descriptors that are open for reading.
/// 3. *Writes that have begun.* A write, and a fault that makes a page writable, first moves ctime and then changes the
///    bytes, and the writer can delay the second as long as it likes (a source buffer under userfaultfd). A read
///    lease is granted only while no process has the file open, or mapped, for writing. Identifying the file under one
///    proves that no such write is under way (system/lease.c). The owner and CAP_LEASE may ask for one.
/// 4. *Clocks that stand still.* ctime comes from a clock that ticks every 1 to 10 ms, on file systems with old inodes
///    every second. A ctime that lies clearly before the present tick differs from every later one. Linux 6.13 stamps
///    finer, but not for every file system behind the same magic number, so the rule is the same for all.
/// 5. *Changes that move no time.* A program that may write to a file can hold a page of it pinned: with
///    process_vm_writev, whose source stands under userfaultfd or in a file of FUSE, or with a direct read into a
///    mapping of the file. Mapping and descriptor may be gone by then, so no lease sees the pin, and the bytes arrive
///    when the program lets them. EXT4_IOC_MOVE_EXT exchanges blocks and moves no time at all. No question to the
///    kernel shows either. So a digest is kept only for a file whose bytes no program of this process's user can change
///    (`pfp_keep_guarded`), unless the configuration says that the owner is trusted.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "system/platform.h"
#include "system/proc.h"

// In no header that every libc ships.
#define XFS_SUPER_MAGIC_ 0x58465342
#define EROFS_SUPER_MAGIC_ 0xE0F5E1E2

static const uint64_t second = UINT64_C(1000000000);
/// Two ticks of the slowest clock (HZ = 100).
static const uint64_t settled_after = UINT64_C(20000000);

/// Kinds of file systems. SEALED: the kernel has no code to write to one, whatever is mounted how.
enum { UNKNOWN = 0, TELLS, SEALED, SILENT };

static uint8_t kind_of(int fd) {
  struct statfs found;
  if (fstatfs(fd, &found) != 0) return SILENT;
  switch ((unsigned long)found.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC_:
    case BTRFS_SUPER_MAGIC: return TELLS;
    case SQUASHFS_MAGIC:
    case EROFS_SUPER_MAGIC_: return SEALED;
    default: return SILENT;
  }
}

static uint8_t judged(struct pfp_keep_memory *memory, uint64_t device, int fd) {
  enum { SLOTS = sizeof memory->verdict };
  for (unsigned i = 0; i < SLOTS; i++) {
    if (memory->device[i] == device && memory->verdict[i] != UNKNOWN) return memory->verdict[i];
  }
  unsigned slot = memory->next++ % SLOTS;
  memory->device[slot] = device;
  memory->verdict[slot] = kind_of(fd);
  return memory->verdict[slot];
}

static bool unprivileged(struct pfp_keep_memory *memory) {
  enum { NOT_ASKED = 0, PRIVILEGED, UNPRIVILEGED };
  if (memory->privileges == NOT_ASKED) memory->privileges = pfp_trust_unprivileged() ? UNPRIVILEGED : PRIVILEGED;
  return memory->privileges == UNPRIVILEGED;
}

bool pfp_keep_guarded(const struct pfp_identity *identity, struct pfp_keep_memory *memory, int fd) {
  uint8_t kind = judged(memory, identity->device, fd);
  if (kind == SEALED || identity->guard == PFP_GUARD_VERITY) return kind != SILENT;
  return kind == TELLS && identity->guard == PFP_GUARD_ROOT && unprivileged(memory);
}

bool pfp_keep_settled(uint64_t changed, uint64_t now) {
  // Whole seconds: by chance, or because the inode has no room for more.
  uint64_t least = changed % second == 0 ? 2 * second : settled_after;
  return changed <= now && now - changed >= least;
}

enum pfp_keep pfp_keep_entry(const struct pfp_identity *identity, uint64_t before, struct pfp_keep_memory *memory,
                             int fd) {
  if (identity->mount == 0 || judged(memory, identity->device, fd) == SILENT) return PFP_KEEP_FOREIGN;
  return pfp_keep_settled(identity->changed, before) ? PFP_KEEP : PFP_KEEP_RECENT;
}

int pfp_keep_file(struct pfp_identity *identity, enum pfp_keep *keep, struct pfp_keep_memory *memory, int fd,
                  bool trusts_owner) {
  int leased, result, synced;
  uint64_t before;
  if (!trusts_owner) {
    // Asked first: a file that is not kept needs neither its pages written back nor a lease.
    result = pfp_identify(identity, fd);
    if (result != 0) return result;
    *keep = judged(memory, identity->device, fd) == SILENT ? PFP_KEEP_FOREIGN : PFP_KEEP_WRITABLE;
    if (!pfp_keep_guarded(identity, memory, fd)) return 0;
  }
  synced = sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  leased = pfp_lease_begin(fd);
  before = pfp_keep_clock();
  result = pfp_identify(identity, fd);
  if (leased == 1) pfp_lease_end(fd);
  if (result != 0) return result;
  *keep = pfp_keep_entry(identity, before, memory, fd);
  if (*keep == PFP_KEEP && synced != 0) *keep = PFP_KEEP_FOREIGN;
  if (*keep == PFP_KEEP && leased == 0) *keep = PFP_KEEP_WRITERS;
  // Its owner or mode may have changed since it was asked first.
  if (*keep == PFP_KEEP && !trusts_owner && !pfp_keep_guarded(identity, memory, fd)) *keep = PFP_KEEP_WRITABLE;
  return 0;
}

int pfp_mounts_watch(void) {
  int fd = pfp_proc_open(-1, "self/mounts", 0);
  return fd < 0 ? -errno : fd;
}

bool pfp_mounts_moved(int fd) {
  // proc_pid_mounts(5): a change is an exceptional condition, reported once.
  struct pollfd watched = {.fd = fd, .events = POLLPRI};
  return poll(&watched, 1, 0) != 0;
}
