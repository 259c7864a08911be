// SPDX-License-Identifier: Apache-2.0

/// The files that the incremental policy keeps: those whose bytes no program of this process's user can change. The
/// attacks here move no time, so the trusting policy does not see them: that is the control.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "system/platform.h"
#include "harness.h"
#include "probe_suites.h"
#include "tree.h"

/// Files read at the second measurement, when nothing changed.
static uint64_t read_again(enum pfp_policy policy, const struct tree *tree) {
  struct pfp_files *files = files_new(policy, 0);
  uint64_t read;
  (void)measure(files, tree);
  (void)measure(files, tree);
  read = pfp_files_statistics(files)->files_read;
  CHECK_COUNT(read + pfp_files_statistics(files)->reused, pfp_files_statistics(files)->files);
  if (policy == PFP_POLICY_INCREMENTAL) CHECK_COUNT(pfp_files_statistics(files)->unkept_writable, read);
  pfp_files_free(files);
  return read;
}

static uint64_t all_files(const struct tree *tree) {
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
  uint64_t all;
  (void)measure(files, tree);
  all = pfp_files_statistics(files)->files;
  pfp_files_free(files);
  return all;
}

static void own_files(void) {
  struct tree tree = tree_sample();
  faults_reset();
  CHECK_COUNT(read_again(PFP_POLICY_INCREMENTAL, &tree), all_files(&tree));
  CHECK_COUNT(read_again(PFP_POLICY_TRUSTING, &tree), 0);
  tree_drop(&tree);
}

// An ordinary user's process ---------------------------------------------------------------------------------------

/// system.posix_acl_access: user::rw-, user:65534:rw-, group::r--, mask::MASK, other::r--
static void set_acl(const char *path, uint8_t mask) {
  const uint8_t acl[] = {2, 0, 0, 0,                             //
                         1, 0, 6, 0, 255, 255, 255, 255,         //
                         2, 0, 6, 0, 0xFE, 0xFF, 0, 0,           //
                         4, 0, 4, 0, 255, 255, 255, 255,         //
                         16, 0, mask, 0, 255, 255, 255, 255,     //
                         32, 0, 4, 0, 255, 255, 255, 255};
  CHECK(syscall(SYS_setxattr, path, "system.posix_acl_access", acl, sizeof acl, 0) == 0);
}

static bool as_ordinary_user(void *user) {
  const struct tree *tree = user;
  struct pfp_files *files;
  bool good;
  become_ordinary();
  CHECK_COUNT(read_again(PFP_POLICY_TRUSTING, tree), 0);
  files = files_new(PFP_POLICY_INCREMENTAL, 0);
  (void)measure(files, tree);
  (void)measure(files, tree);
  // Four of six files are read: this user, its group or another user may write to them, or they are this user's own.
  good = CHECK_COUNT(pfp_files_statistics(files)->files_read, 4);
  good = CHECK_COUNT(pfp_files_statistics(files)->reused, 2) && good;
  good = CHECK_COUNT(pfp_files_statistics(files)->unkept_writable, 4) && good;
  pfp_files_free(files);
  return good;
}

static void roots_files(void) {
  static const char *const names[] = {"kept", "acl-that-may-not-write", "acl-that-may", "group", "others", "own"};
  struct tree tree = tree_make();
  if (geteuid() != 0) {
    test_note("skipped: it takes root to make files of root's");
    tree_drop(&tree);
    return;
  }
  tree_mode(&tree, "", 0755);
  for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
    tree_text(&tree, names[i], names[i]);
    tree_mode(&tree, names[i], 0644);
  }
  set_acl(tree_path(&tree, "acl-that-may-not-write"), 4);
  set_acl(tree_path(&tree, "acl-that-may"), 6);
  tree_mode(&tree, "group", 0664);
  tree_mode(&tree, "others", 0646);
  CHECK(chown(tree_path(&tree, "own"), 65534, 65534) == 0);
  faults_reset();
  CHECK(in_child(as_ordinary_user, &tree));
  tree_drop(&tree);
}

/// Real, effective, saved: each in turn is root's, without a capability, which the id could bring back.
static bool with_one_id_of_roots(void *user) {
  const unsigned *which = user;
  uint32_t header[2] = {0x20080522, 0}, none[6] = {0};
  uid_t ids[3] = {65534, 65534, 65534};
  ids[*which] = 0;
  if (setresuid(ids[0], ids[1], ids[2]) != 0 || syscall(SYS_capset, header, none) != 0) return false;
  return !pfp_trust_unprivileged();
}

/// CAP_DAC_OVERRIDE kept over the change of user, in the permitted set alone.
static bool with_a_capability(void *user) {
  (void)user;
  struct {
    uint32_t version;
    int pid;
  } header = {0x20080522, 0};
  uint32_t data[6] = {0, 1u << 1, 0, 0, 0, 0};
  if (syscall(SYS_prctl, 8 /* PR_SET_KEEPCAPS */, 1, 0, 0, 0) != 0) return false;
  become_ordinary();
  if (syscall(SYS_capset, &header, data) != 0 || pfp_trust_unprivileged()) return false;
  data[1] = 0;
  return syscall(SYS_capset, &header, data) == 0 && pfp_trust_unprivileged();
}

static bool without_any(void *user) {
  (void)user;
  become_ordinary();
  return pfp_trust_unprivileged();
}

/// Another user namespace: whom it calls root may be any user, whose programs may write to its files.
static bool where_root_is_another(void *user) {
  uint32_t header[2] = {0x20080522, 0}, none[6] = {0};
  char line[64];
  (void)user;
  (void)snprintf(line, sizeof line, "1000 %lu 1", (unsigned long)geteuid());
  if (!CHECK(unshare(CLONE_NEWUSER) == 0)) return false;
  int map = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
  CHECK(map >= 0 && write(map, line, strlen(line)) == (ssize_t)strlen(line));
  (void)close(map);
  if (!CHECK(syscall(SYS_capset, header, none) == 0) || !CHECK(geteuid() == 1000)) return false;
  return !pfp_trust_unprivileged();
}

static void privileges(void) {
  CHECK(in_child(without_any, NULL));
  if (geteuid() != 0) {
    test_note("skipped: it takes root to have privileges");
    return;
  }
  CHECK(!pfp_trust_unprivileged());
  for (unsigned which = 0; which < 3; which++) {
    test_case("id %u is root's", which);
    CHECK(in_child(with_one_id_of_roots, &which));
  }
  if (SANITIZED_THREAD) {
    test_note("skipped: a child of the thread sanitizer has two threads, and may not change its user namespace");
  } else {
    test_case("another user namespace");
    CHECK(in_child(where_root_is_another, NULL));
  }
  test_case("a capability");
  CHECK(in_child(with_a_capability, NULL));
}

/// A file with fs-verity is believed where the file system is on the list. The kernel's own word for it is faked.
static void verity(void) {
  struct tree tree = tree_make();
  struct pfp_keep_memory memory = {0}, others = {0};
  struct pfp_identity identity;
  tree_text(&tree, "file", "text");
  int fd = open(tree_path(&tree, "file"), O_RDONLY | O_CLOEXEC), foreign = memfd_create("foreign", MFD_CLOEXEC);
  REQUIRE(CHECK(fd >= 0 && foreign >= 0 && pfp_identify(&identity, fd) == 0));
  identity.guard = PFP_GUARD_VERITY;
  CHECK(pfp_keep_guarded(&identity, &memory, fd));
  CHECK(!pfp_keep_guarded(&identity, &others, foreign));
  identity.guard = PFP_GUARD_NONE;
  CHECK(!pfp_keep_guarded(&identity, &memory, fd));
  (void)close(fd);
  (void)close(foreign);
  tree_drop(&tree);
}

/// Answers about four file systems are kept; a fifth takes the place of the first. Without a descriptor the kernel
/// says nothing, and only what is kept counts.
static void answers_are_kept(void) {
  struct tree tree = tree_make();
  struct pfp_keep_memory memory = {0};
  struct pfp_identity identity;
  tree_text(&tree, "file", "text");
  int fd = open(tree_path(&tree, "file"), O_RDONLY | O_CLOEXEC);
  REQUIRE(CHECK(fd >= 0 && pfp_identify(&identity, fd) == 0));
  identity.guard = PFP_GUARD_VERITY;
  for (identity.device = 1; identity.device <= 4; identity.device++) {
    CHECK(!pfp_keep_guarded(&identity, &(struct pfp_keep_memory){0}, -1));
    CHECK(pfp_keep_guarded(&identity, &memory, fd));
  }
  for (identity.device = 1; identity.device <= 4; identity.device++) CHECK(pfp_keep_guarded(&identity, &memory, -1));
  identity.device = 5;
  CHECK(!pfp_keep_guarded(&identity, &memory, -1));
  for (identity.device = 2; identity.device <= 4; identity.device++) CHECK(pfp_keep_guarded(&identity, &memory, -1));
  identity.device = 1;
  CHECK(!pfp_keep_guarded(&identity, &memory, -1));
  (void)close(fd);
  tree_drop(&tree);
}

// File systems that cannot be written ------------------------------------------------------------------------------

static bool run_tool(const char *command) {
  int status = system(command);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// In a view of mounts of its own: an image of the tree, mounted.
static bool sealed_in_child(void *user) {
  const struct tree *tree = user;
  struct tree mounted;
  bool good;
  if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return CHECK(false);
  char command[2048];
  (void)snprintf(mounted.root, sizeof mounted.root, "%s", tree_path(tree, "mounted"));
  (void)snprintf(command, sizeof command, "mount -o loop '%s' '%s'", tree_path(tree, "image"), mounted.root);
  if (!run_tool(command)) return CHECK(false);
  good = CHECK_COUNT(read_again(PFP_POLICY_INCREMENTAL, &mounted), 0);
  return CHECK(umount(mounted.root) == 0) && good;
}

static void sealed_file_systems(void) {
  static const char *const makers[] = {"mksquashfs", "mkfs.erofs"};
  for (unsigned i = 0; i < 2; i++) {
    struct tree tree = tree_make(), content = tree_sample();
    char command[2048];
    test_case("%s", makers[i]);
    tree_folder(&tree, "mounted");
    char image[600];
    (void)snprintf(image, sizeof image, "%s", tree_path(&tree, "image"));
    if (i == 0) {
      (void)snprintf(command, sizeof command, "mksquashfs '%s' '%s' -quiet -no-progress >/dev/null 2>&1",
                     content.root, image);
    } else {
      (void)snprintf(command, sizeof command, "mkfs.erofs '%s' '%s' >/dev/null 2>&1", image, content.root);
    }
    faults_reset();
    if (geteuid() != 0 || !run_tool(command)) {
      test_note("skipped: %s is not there, or this is not root", makers[i]);
    } else {
      CHECK(in_child(sealed_in_child, &tree));
    }
    tree_drop(&tree);
    tree_drop(&content);
  }
}

// Changes that move no time ----------------------------------------------------------------------------------------

/// Both policies, each with what it learned before.
struct pair {
  struct pfp_files *incremental, *trusting;
  struct pfp_bundle before;
};

static struct pair pair_begin(const struct tree *tree) {
  struct pair pair = {files_new(PFP_POLICY_INCREMENTAL, 0), files_new(PFP_POLICY_TRUSTING, 0), {{0}, 0, 0, 0, 0}};
  pair.before = measure(pair.incremental, tree);
  struct pfp_bundle other = measure(pair.trusting, tree);
  CHECK(same_digest(&other, &pair.before));
  return pair;
}

static void pair_judge(struct pair *pair, const struct tree *tree) {
  struct pfp_bundle cold = measure_cold(tree), now = measure(pair->incremental, tree);
  CHECK(!same_digest(&cold, &pair->before));
  CHECK(same_digest(&now, &cold));
  // The control: what the policy without this defence sees.
  now = measure(pair->trusting, tree);
  CHECK(same_digest(&now, &pair->before));
  pfp_files_free(pair->incremental);
  pfp_files_free(pair->trusting);
}

struct pin {
  uint8_t *target, *source;
};

static void *write_pinned(void *user) {
  const struct pin *pin = user;
  const struct iovec from = {pin->source, 4096}, to = {pin->target, 4096};
  if (process_vm_writev(getpid(), &from, 1, &to, 1, 0) != 4096) abort();
  return NULL;
}

/// The page of the file is pinned by a copy whose source does not come; mapping and descriptor are gone.
static void pinned_page(void) {
  struct tree tree = tree_sample();
  struct uffdio_api api = {.api = UFFD_API};
  struct pin pin = {.source = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
  struct uffdio_register range = {.range = {(uintptr_t)pin.source, 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
  static _Alignas(4096) uint8_t evil[4096];
  struct uffdio_copy deliver = {.dst = (uintptr_t)pin.source, .src = (uintptr_t)evil, .len = 4096};
  struct uffd_msg message;
  struct pair pair;
  pthread_t writer;
  int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  if (uffd < 0 && errno == EPERM) {
    test_note("skipped: userfaultfd is not permitted");
    tree_drop(&tree);
    return;
  }
  REQUIRE(CHECK(uffd >= 0 && ioctl(uffd, UFFDIO_API, &api) == 0 && ioctl(uffd, UFFDIO_REGISTER, &range) == 0));
  memset(evil, 'E', sizeof evil);
  int fd = open(tree_path(&tree, "lib/one-leaf"), O_RDWR | O_CLOEXEC);
  pin.target = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  REQUIRE(CHECK(fd >= 0 && pin.target != MAP_FAILED));
  REQUIRE(CHECK(pthread_create(&writer, NULL, write_pinned, &pin) == 0));
  // The copy asks for its source: the page is pinned by now.
  REQUIRE(CHECK(read(uffd, &message, sizeof message) == sizeof message && message.event == UFFD_EVENT_PAGEFAULT));
  CHECK(munmap(pin.target, 4096) == 0 && close(fd) == 0);
  faults_reset();
  pair = pair_begin(&tree);
  REQUIRE(CHECK(ioctl(uffd, UFFDIO_COPY, &deliver) == 0));
  (void)pthread_join(writer, NULL);
  pair_judge(&pair, &tree);
  (void)close(uffd);
  (void)munmap(pin.source, 4096);
  tree_drop(&tree);
}

/// From ext4's own header, which is not in the kernel's interface.
struct move_extent {
  uint32_t reserved, donor_fd;
  uint64_t orig_start, donor_start, len, moved_len;
};
#define EXT4_IOC_MOVE_EXT_ _IOWR('f', 15, struct move_extent)

static void moved_extent(void) {
  struct tree tree = tree_sample(), other = tree_make();
  struct pair pair;
  tree_noise(&other, "other", 65536, 7);
  int victim = open(tree_path(&tree, "lib/one-leaf"), O_RDWR | O_CLOEXEC);
  int fd = open(tree_path(&other, "other"), O_RDWR | O_CLOEXEC);
  struct move_extent move = {.len = 1};
  CHECK(fsync(victim) == 0 && fsync(fd) == 0);
  faults_reset();
  // A descriptor for writing would keep the file from being kept.
  CHECK(close(victim) == 0);
  pair = pair_begin(&tree);
  victim = open(tree_path(&tree, "lib/one-leaf"), O_RDWR | O_CLOEXEC);
  move.donor_fd = (uint32_t)victim;
  if (ioctl(fd, EXT4_IOC_MOVE_EXT_, &move) != 0 || move.moved_len != 1) {
    test_note("skipped: no blocks can be moved here: errno %d", errno);
    pfp_files_free(pair.incremental);
    pfp_files_free(pair.trusting);
  } else {
    // The block is unwritten now; the page cache still has what was in it.
    CHECK(posix_fadvise(victim, 0, 0, POSIX_FADV_DONTNEED) == 0 && close(victim) == 0);
    victim = -1;
    pair_judge(&pair, &tree);
  }
  if (victim >= 0) (void)close(victim);
  (void)close(fd);
  tree_drop(&tree);
  tree_drop(&other);
}

static const struct test tests[] = {
    TEST("incremental: files that this process could change are read each time", own_files),
    TEST("incremental: an ordinary process keeps root's files that nothing lets others write to", roots_files),
    TEST("any id of root's and any capability are privileges", privileges),
    TEST("fs-verity guards a file on a file system of the list", verity),
    TEST("answers about four file systems are kept", answers_are_kept),
    TEST("squashfs and EROFS are kept, for root too", sealed_file_systems),
    TEST("incremental: bytes that arrive late in a pinned page are seen", pinned_page),
    TEST("incremental: a block exchanged by EXT4_IOC_MOVE_EXT is seen", moved_extent),
};

const struct suite files_trust_suite = SUITE("trust", tests);
