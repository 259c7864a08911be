// SPDX-License-Identifier: Apache-2.0

/// The conditions under which a digest may be kept (system/keep.c), each from both of its sides.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#include "system/platform.h"
#include "system/proc.h"
#include "probe_suites.h"
#include "tree.h"
#include "wrapped.h"

/// The kernel's answers while a test plays.
static struct {
  unsigned long type;  ///< Type of each file system but procfs; 0: its own
  bool notes;  ///< Notes what is asked. Workers of other tests ask as well.
  bool sync_fails;
  int synced_fd;
  long long from, size;
  unsigned flags, syncs;
} kernel;

WRAPPED(int, fstatfs, int fd, struct statfs *found) {
  int result = __real_fstatfs(fd, found);
  if (result != 0 || kernel.type == 0 || (unsigned long)found->f_type == 0x9FA0) return result;
  memcpy(&found->f_type, &kernel.type, sizeof found->f_type);
  return 0;
}

WRAPPED(int, sync_file_range, int fd, off_t from, off_t size, unsigned flags) {
  if (!kernel.notes) return __real_sync_file_range(fd, from, size, flags);
  kernel.syncs++;
  kernel.synced_fd = fd;
  kernel.from = from;
  kernel.size = size;
  kernel.flags = flags;
  if (!kernel.sync_fails) return __real_sync_file_range(fd, from, size, flags);
  errno = EIO;
  return -1;
}

static const uint64_t ms = 1000000, s = 1000000000;

static void begin(void) {
  memset(&kernel, 0, sizeof kernel);
  kernel.notes = true;
  faults_reset();
}

/// `tree` may be NULL.
static void end(const struct tree *tree) {
  memset(&kernel, 0, sizeof kernel);
  faults_reset();
  if (tree != NULL) tree_drop(tree);
}

static void settled_from_both_sides(void) {
  static const struct {
    uint64_t changed, now;
    bool settled;
  } cases[] = {
      {100 * s + 1, 100 * s + 1 + 20 * ms, true},     {100 * s + 1, 100 * s + 20 * ms, false},
      {100 * s + 1, 100 * s + 2 + 20 * ms, true},     {100 * s + 1, 100 * s + 1, false},
      {101 * s - 1, 101 * s - 1 + 20 * ms, true},     {101 * s - 1, 101 * s - 2 + 20 * ms, false},
      {100 * s, 102 * s, true},                       {100 * s, 102 * s - 1, false},
      {100 * s, 100 * s + 20 * ms, false},            {0, 2 * s, true},
      {0, 2 * s - 1, false},                          {100 * s + 1, 100 * s, false},
      {UINT64_MAX, 100 * s, false},                   {100 * s + 1, UINT64_MAX, true},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_case("case %u", i);
    CHECK(pfp_keep_settled(cases[i].changed, cases[i].now) == cases[i].settled);
  }
}

static uint64_t coarse(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return (uint64_t)now.tv_sec * s + (uint64_t)now.tv_nsec;
}

static void the_clock_of_files(void) {
  begin();
  faults.clock_ahead = 0;
  for (unsigned i = 0; i < 1000; i++) {
    uint64_t before = coarse(), between = pfp_keep_clock(), after = coarse();
    if (!CHECK(before <= between && between <= after)) break;
  }
  end(NULL);
}

// File systems ---------------------------------------------------------------------------------------------------

enum kind { TELLS, SEALED, SILENT };

/// Each number of the list and its neighbours. Numbers are those of the kernel.
static const struct {
  unsigned long type;
  enum kind kind;
} systems[] = {
    {0xEF53, TELLS},      {0xEF52, SILENT},      {0xEF54, SILENT},      {0x58465342, TELLS},  {0x58465341, SILENT},
    {0x58465343, SILENT}, {0x9123683E, TELLS},   {0x9123683D, SILENT},  {0x9123683F, SILENT}, {0x73717368, SEALED},
    {0x73717367, SILENT}, {0x73717369, SILENT},  {0xE0F5E1E2, SEALED},  {0xE0F5E1E1, SILENT}, {0xE0F5E1E3, SILENT},
    {0x01021994, SILENT}, {0x794C7630, SILENT},  {0x6969, SILENT},      {0x65735546, SILENT}, {0x9FA0, SILENT},
};

static bool each_system(void *user) {
  const int *fd = user;
  bool good = true;
  // An ordinary user's process: root's files are guarded from it.
  become_ordinary();
  for (unsigned i = 0; i < sizeof systems / sizeof systems[0]; i++) {
    bool tells = systems[i].kind == TELLS, sealed = systems[i].kind == SEALED;
    struct pfp_identity identity = {.device = 1, .mount = 1, .changed = 100 * s + 1, .type = PFP_TYPE_FILE};
    kernel.type = systems[i].type;
    test_case("%lx", systems[i].type);
    for (unsigned guard = PFP_GUARD_NONE; guard <= PFP_GUARD_VERITY; guard++) {
      bool expected = sealed || (tells && guard != PFP_GUARD_NONE);
      identity.guard = (uint8_t)guard;
      good = CHECK(pfp_keep_guarded(&identity, &(struct pfp_keep_memory){0}, *fd) == expected) && good;
    }
    int kept = tells || sealed ? PFP_KEEP : PFP_KEEP_FOREIGN, recent = tells || sealed ? PFP_KEEP_RECENT : kept;
    good = CHECK_NUMBER(pfp_keep_entry(&identity, 101 * s, &(struct pfp_keep_memory){0}, *fd), kept) && good;
    good = CHECK_NUMBER(pfp_keep_entry(&identity, 100 * s, &(struct pfp_keep_memory){0}, *fd), recent) && good;
    identity.mount = 0;
    good = CHECK_NUMBER(pfp_keep_entry(&identity, 101 * s, &(struct pfp_keep_memory){0}, *fd), PFP_KEEP_FOREIGN) &&
           good;
    identity.mount = 1;
    // Device 0 is a device as well: an empty memory knows nothing of it.
    identity.device = 0;
    good = CHECK_NUMBER(pfp_keep_entry(&identity, 101 * s, &(struct pfp_keep_memory){0}, *fd), kept) && good;
  }
  kernel.type = 0;
  return good;
}

static void file_systems_of_the_list(void) {
  struct tree tree = tree_make();
  tree_text(&tree, "file", "text");
  int fd = open(tree_path(&tree, "file"), O_RDONLY | O_CLOEXEC);
  begin();
  CHECK(in_child(each_system, &fd));
  // The same file, with root's rights.
  struct pfp_identity identity = {.device = 1, .mount = 1, .guard = PFP_GUARD_ROOT};
  if (geteuid() == 0) CHECK(!pfp_keep_guarded(&identity, &(struct pfp_keep_memory){0}, fd));
  (void)close(fd);
  end(&tree);
}

// Files ----------------------------------------------------------------------------------------------------------

static enum pfp_keep keep_of(int fd, bool trusts_owner) {
  struct pfp_identity identity, plain;
  struct pfp_keep_memory memory = {0};
  enum pfp_keep keep = PFP_KEEP_NOTHING;
  memset(&identity, 0xEE, sizeof identity);
  CHECK_NUMBER(pfp_keep_file(&identity, &keep, &memory, fd, trusts_owner), 0);
  CHECK_NUMBER(pfp_identify(&plain, fd), 0);
  CHECK(pfp_identity_equal(&identity, &plain));
  // A lease that stayed would hold the next writer up.
  CHECK_NUMBER(fcntl(fd, F_GETLEASE), F_UNLCK);
  return keep;
}

static void each_condition_of_a_file(void) {
  struct tree tree = tree_make();
  tree_text(&tree, "file", "text");
  tree_mode(&tree, "file", 0666);
  int fd = open(tree_path(&tree, "file"), O_RDONLY | O_CLOEXEC);
  REQUIRE(CHECK(fd >= 0));
  begin();
  CHECK_NUMBER(keep_of(fd, true), PFP_KEEP);
  test_case("all pages of the file are written back, and that is waited for");
  CHECK_COUNT(kernel.syncs, 1);
  CHECK_NUMBER(kernel.synced_fd, fd);
  CHECK_NUMBER(kernel.from, 0);
  CHECK_NUMBER(kernel.size, 0);
  CHECK_COUNT(kernel.flags, 1 | 2 | 4);
  test_case("its pages cannot be written back");
  kernel.sync_fails = true;
  CHECK_NUMBER(keep_of(fd, true), PFP_KEEP_FOREIGN);
  kernel.sync_fails = false;
  test_case("a lease may not be asked for");
  faults.no_leases = true;
  CHECK_NUMBER(keep_of(fd, true), PFP_KEEP);
  faults.no_leases = false;
  test_case("it changed a moment ago");
  faults.clock_ahead = 0;
  tree_poke(&tree, "file", 0, 'T');
  faults.clock_ahead = (uint64_t)0 - 3600 * s;
  CHECK_NUMBER(keep_of(fd, true), PFP_KEEP_RECENT);
  faults_reset();
  test_case("a writer has it open");
  int writer = open(tree_path(&tree, "file"), O_WRONLY | O_CLOEXEC);
  CHECK_NUMBER(keep_of(fd, true), PFP_KEEP_WRITERS);
  (void)close(writer);
  CHECK_NUMBER(keep_of(fd, true), PFP_KEEP);
  test_case("the owner is not trusted");
  kernel.syncs = 0;
  CHECK_NUMBER(keep_of(fd, false), PFP_KEEP_WRITABLE);
  CHECK_COUNT(kernel.syncs, 0);
  kernel.type = 0x01021994;
  CHECK_NUMBER(keep_of(fd, false), PFP_KEEP_FOREIGN);
  CHECK_NUMBER(keep_of(fd, true), PFP_KEEP_FOREIGN);
  test_case("a file system that cannot be written");
  kernel.type = 0x73717368;
  CHECK_NUMBER(keep_of(fd, false), PFP_KEEP);
  kernel.type = 0;
  (void)close(fd);
  struct pfp_identity identity;
  enum pfp_keep keep;
  for (unsigned trusts = 0; trusts < 2; trusts++) {
    CHECK_NUMBER(pfp_keep_file(&identity, &keep, &(struct pfp_keep_memory){0}, -1, trusts == 1), -EBADF);
  }
  end(&tree);
}

/// Guarded at the first look, and no longer at the second.
static void a_guard_that_is_gone(void) {
  struct tree tree = tree_make();
  tree_text(&tree, "file", "text");
  int fd = open(tree_path(&tree, "file"), O_RDONLY | O_CLOEXEC);
  for (unsigned looks = 0; looks < 3; looks++) {
    struct pfp_identity identity;
    enum pfp_keep keep = PFP_KEEP_NOTHING;
    begin();
    faults.guarded_looks = looks;
    test_case("guarded at %u looks", looks);
    CHECK_NUMBER(pfp_keep_file(&identity, &keep, &(struct pfp_keep_memory){0}, fd, false), 0);
    CHECK_NUMBER(keep, looks == 2 ? PFP_KEEP : PFP_KEEP_WRITABLE);
  }
  faults_reset();
  (void)close(fd);
  end(&tree);
}

static bool lease_of_another(void *user) {
  const int *fd = user;
  become_ordinary();
  return CHECK_NUMBER(pfp_lease_begin(*fd), -EACCES);
}

static void leases(void) {
  struct tree tree = tree_make();
  tree_text(&tree, "file", "text");
  int fd = open(tree_path(&tree, "file"), O_RDONLY | O_CLOEXEC);
  begin();
  // It announces the second opening to this thread.
  void (*before)(int) = signal(SIGIO, SIG_IGN);
  CHECK_NUMBER(pfp_lease_begin(fd), 1);
  CHECK_NUMBER(fcntl(fd, F_GETLEASE), F_RDLCK);
  struct f_owner_ex owner;
  CHECK(fcntl(fd, F_GETOWN_EX, &owner) == 0 && owner.type == F_OWNER_TID && owner.pid == gettid());
  int second = open(tree_path(&tree, "file"), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  CHECK(second < 0 && errno == EWOULDBLOCK);
  pfp_lease_end(fd);
  CHECK_NUMBER(fcntl(fd, F_GETLEASE), F_UNLCK);
  int writer = open(tree_path(&tree, "file"), O_WRONLY | O_CLOEXEC);
  CHECK_NUMBER(pfp_lease_begin(fd), 0);
  CHECK_NUMBER(fcntl(fd, F_GETLEASE), F_UNLCK);
  (void)close(writer);
  if (geteuid() == 0) CHECK(in_child(lease_of_another, &fd));
  (void)close(fd);
  CHECK_NUMBER(pfp_lease_begin(fd), -EBADF);
  (void)signal(SIGIO, before);
  end(&tree);
}

// Mounts and /proc -------------------------------------------------------------------------------------------------

static bool mounts_in_child(void *user) {
  const struct tree *tree = user;
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
    test_note("skipped: no right to mounts of its own");
    return true;
  }
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return CHECK(false);
  int watched = pfp_mounts_watch();
  bool good = CHECK(watched >= 0) && CHECK(!pfp_mounts_moved(watched)) && CHECK(!pfp_mounts_moved(watched));
  good = CHECK(mount("none", tree->root, "tmpfs", 0, NULL) == 0) && good;
  good = CHECK(pfp_mounts_moved(watched)) && CHECK(!pfp_mounts_moved(watched)) && good;
  good = CHECK(umount(tree->root) == 0) && good;
  good = CHECK(pfp_mounts_moved(watched)) && CHECK(!pfp_mounts_moved(watched)) && good;
  pfp_close(watched);
  // Descriptor 0 is one like others.
  (void)close(0);
  watched = pfp_mounts_watch();
  good = CHECK(watched > 0) && good;
  pfp_close(watched);
  // A file over the kernel's own, and no /proc at all.
  char own[64], other[600];
  (void)snprintf(own, sizeof own, "/proc/%d/mounts", (int)getpid());
  (void)snprintf(other, sizeof other, "%s", tree_path(tree, "file"));
  good = CHECK(mount(other, own, NULL, MS_BIND, NULL) == 0) && CHECK_NUMBER(pfp_mounts_watch(), -EXDEV) && good;
  // Another process's file is procfs's as well.
  good = CHECK(umount(own) == 0) && CHECK(mount("/proc/1/mounts", own, NULL, MS_BIND, NULL) == 0) && good;
  good = CHECK_NUMBER(pfp_mounts_watch(), -EXDEV) && CHECK(umount(own) == 0) && good;
  int left = open("/dev/null", O_RDONLY | O_CLOEXEC);
  good = CHECK_NUMBER(left, 0) && good;
  (void)close(left);
  good = CHECK(mount("none", "/proc", "tmpfs", 0, NULL) == 0) && CHECK_NUMBER(pfp_mounts_watch(), -ENOENT) && good;
  return good;
}

static void mounts_are_watched(void) {
  struct tree tree = tree_make();
  begin();
  tree_text(&tree, "file", "text");
  CHECK(in_child(mounts_in_child, &tree));
  end(&tree);
}

static void files_of_proc(void) {
  int folder = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC), other = open("/", O_PATH | O_CLOEXEC);
  int from_root = pfp_proc_open(-1, "self/status", 0), from_folder = pfp_proc_open(folder, "status", O_NOFOLLOW);
  begin();
  CHECK(from_root >= 0 && from_folder >= 0);
  CHECK_NUMBER(fcntl(from_root, F_GETFD), FD_CLOEXEC);
  pfp_close(from_root);
  pfp_close(from_folder);
  int link = pfp_proc_open(-1, "self/exe", O_PATH | O_NOFOLLOW);
  CHECK(link >= 0);
  pfp_close(link);
  errno = 0;
  CHECK(pfp_proc_open(folder, "no-such-file", 0) == -1 && errno == ENOENT);
  errno = 0;
  CHECK(pfp_proc_open(-1, "no-such-file", 0) == -1 && errno == ENOENT);
  // The executable is a file of another file system; and so is what lies outside /proc.
  errno = 0;
  CHECK(pfp_proc_open(folder, "exe", 0) == -1 && errno == EXDEV);
  errno = 0;
  CHECK(pfp_proc_open(other, "etc/passwd", 0) == -1 && errno == EXDEV);
  // A file of procfs that is reached from another mount.
  errno = 0;
  CHECK(pfp_proc_open(other, "proc/self/status", 0) == -1 && errno == EXDEV);
  (void)close(folder);
  (void)close(other);
  end(NULL);
}

static const struct test tests[] = {
    TEST("a ctime is settled after 20 ms, and one of a whole second after two", settled_from_both_sides),
    TEST("the clock of files is the kernel's coarse one", the_clock_of_files),
    TEST("file systems are kept by the kernel's numbers of the list", file_systems_of_the_list),
    TEST("each condition keeps a file from being kept, and says so", each_condition_of_a_file),
    TEST("a file that is guarded no longer is not kept", a_guard_that_is_gone),
    TEST("a read lease keeps writers out, and is given back", leases),
    TEST("each mount and its end is told once", mounts_are_watched),
    TEST("files of /proc are the kernel's own", files_of_proc),
};

const struct suite keep_suite = SUITE("keep", tests);
