// SPDX-License-Identifier: Apache-2.0

/// Changes that an attacker tries to hide: each is seen under both policies, with descriptors kept and without.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "files.h"
#include "harness.h"
#include "probe_suites.h"
#include "tree.h"

/// The ways to measure, side by side, each with what it learned before.
enum { WAYS = 3 };
static struct pfp_files *ways[WAYS];
static struct pfp_bundle before_attack[WAYS];

/// `unkept`: files that may not be kept.
static void watch(const struct tree *tree, unsigned unkept) {
  for (unsigned way = 0; way < WAYS; way++) {
    ways[way] = files_new(way == 0 ? PFP_POLICY_FULL : PFP_POLICY_TRUSTING, way == 2 ? 1000 : 0);
    before_attack[way] = measure(ways[way], tree);
    struct pfp_bundle again = measure(ways[way], tree);
    CHECK(same_digest(&again, &before_attack[way]));
    if (way != 0) CHECK_COUNT(pfp_files_statistics(ways[way])->files_read, unkept);
  }
}

/// Whether every way sees that something is different, and sees the same.
static bool seen(const struct tree *tree) {
  bool all = true;
  struct pfp_bundle cold = measure_cold(tree);
  for (unsigned way = 0; way < WAYS; way++) {
    struct pfp_bundle now = measure(ways[way], tree);
    all = CHECK(!same_digest(&now, &before_attack[way])) && all;
    all = CHECK_BYTES(now.digest, cold.digest, 32) && all;
  }
  return all;
}

static void done(void) {
  for (unsigned way = 0; way < WAYS; way++) pfp_files_free(ways[way]);
}

// Changes --------------------------------------------------------------------------------------------------------

static void poked(const struct tree *tree) { tree_poke(tree, "lib/long", 2999999, '~'); }
static void appended(const struct tree *tree) {
  int fd = open(tree_path(tree, "empty"), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0 || write(fd, "x", 1) != 1) abort();
  (void)close(fd);
}
static void cut(const struct tree *tree) {
  if (truncate(tree_path(tree, "lib/one-more"), 65536) != 0) abort();
}
static void executable(const struct tree *tree) { tree_mode(tree, "readme", 0755); }
static void set_user_id(const struct tree *tree) { tree_mode(tree, "lib/one-leaf", 04644); }
static void folder_opened(const struct tree *tree) { tree_mode(tree, "lib", 0777); }
static void root_opened(const struct tree *tree) { tree_mode(tree, "", 0777); }
static void added(const struct tree *tree) { tree_text(tree, "lib/deep/added", ""); }
static void folder_added(const struct tree *tree) { tree_folder(tree, "lib/deep/deeper/added"); }
static void removed(const struct tree *tree) { tree_remove(tree, "lib/small-3"); }
static void renamed(const struct tree *tree) { tree_rename(tree, "lib/small-3", "lib/small-3a"); }
static void moved(const struct tree *tree) { tree_rename(tree, "lib-2/x", "nothing/x"); }
static void swapped(const struct tree *tree) {
  tree_rename(tree, "lib/small-20", "swap");
  tree_rename(tree, "lib/small-21", "lib/small-20");
  tree_rename(tree, "swap", "lib/small-21");
}
static void link_turned(const struct tree *tree) {
  tree_remove(tree, "link");
  tree_link(tree, "link", "lib/lon2");
}
static void link_to_file(const struct tree *tree) {
  tree_remove(tree, "lib-2/x");
  tree_link(tree, "lib-2/x", "x");
}
static void fifo_to_file(const struct tree *tree) {
  tree_remove(tree, "fifo");
  tree_text(tree, "fifo", "");
  tree_mode(tree, "fifo", 0600);
}
static void folder_replaced(const struct tree *tree) {
  tree_rename(tree, "lib-2", "aside");
  tree_folder(tree, "lib-2");
  tree_text(tree, "lib-2/x", "y");
}
/// The same size, and the same times as far as a program can set them.
static void times_restored(const struct tree *tree) {
  struct stat found;
  const char *path = tree_path(tree, "lib/some-leaves");
  if (stat(path, &found) != 0) abort();
  tree_poke(tree, "lib/some-leaves", 200000, '~');
  const struct timespec times[2] = {found.st_atim, found.st_mtim};
  if (utimensat(AT_FDCWD, path, times, 0) != 0) abort();
}
static void replaced_with_times(const struct tree *tree) {
  struct stat found;
  const char *path = tree_path(tree, "lib/small-30");
  if (stat(path, &found) != 0) abort();
  tree_noise(tree, "lib/other", (size_t)found.st_size, 999);
  const struct timespec times[2] = {found.st_atim, found.st_mtim};
  if (utimensat(AT_FDCWD, tree_path(tree, "lib/other"), times, 0) != 0) abort();
  tree_rename(tree, "lib/other", "lib/small-30");
}

static void hole_punched(const struct tree *tree) {
  int fd = open(tree_path(tree, "lib/long"), O_WRONLY | O_CLOEXEC);
  if (fd < 0 || fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8192, 8192) != 0) abort();
  (void)close(fd);
}
static void exchanged(const struct tree *tree) {
  if (renameat2(AT_FDCWD, tree_path(tree, "lib/small-4"), AT_FDCWD, tree_path(tree, "lib/small-5"), RENAME_EXCHANGE) !=
      0) {
    abort();
  }
}

static void every_change(void) {
  static const struct {
    const char *what;
    void (*change)(const struct tree *);
  } changes[] = {
      {"one byte at the end of a long file", poked},
      {"a byte appended to an empty file", appended},
      {"a byte cut off", cut},
      {"made executable", executable},
      {"made set-user-id", set_user_id},
      {"a folder made writable", folder_opened},
      {"the root made writable", root_opened},
      {"an empty file added", added},
      {"an empty folder added", folder_added},
      {"a file removed", removed},
      {"a file renamed", renamed},
      {"a file moved to another folder", moved},
      {"two files swapped", swapped},
      {"a link turned", link_turned},
      {"a file replaced by a link", link_to_file},
      {"a FIFO replaced by a file", fifo_to_file},
      {"a folder replaced", folder_replaced},
      {"content changed, times restored", times_restored},
      {"a file replaced, size and times restored", replaced_with_times},
      {"a hole punched", hole_punched},
      {"two files exchanged", exchanged},
  };
  for (unsigned i = 0; i < sizeof changes / sizeof changes[0]; i++) {
    struct tree tree = tree_sample();
    test_case("%s", changes[i].what);
    faults_reset();
    watch(&tree, 0);
    changes[i].change(&tree);
    (void)seen(&tree);
    done();
    tree_drop(&tree);
  }
}

// Stores through a shared mapping ----------------------------------------------------------------------------------

struct mapping {
  uint8_t *bytes;
  int fd;
};

static struct mapping map_shared(const struct tree *tree, const char *path) {
  struct mapping mapping = {.fd = open(tree_path(tree, path), O_RDWR | O_CLOEXEC)};
  mapping.bytes = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, mapping.fd, 0);
  if (mapping.fd < 0 || mapping.bytes == MAP_FAILED) abort();
  return mapping;
}

static void unmap(struct mapping mapping) {
  (void)munmap(mapping.bytes, 65536);
  (void)close(mapping.fd);
}

/// The page is dirty when the file is measured: a further store into it would move no time.
static void mapped_stores(void) {
  for (unsigned owner = 0; owner < 2; owner++) {
    struct tree tree = tree_sample();
    struct mapping mapping = map_shared(&tree, "lib/one-leaf");
    faults_reset();
    faults.no_leases = owner == 0;
    mapping.bytes[0] ^= 1;
    // A store now moves the mtime, however short ago the file changed.
    tree_touch(&tree, "lib/one-leaf");
    // The owner learns that another process can write and keeps nothing; others make the next store tell.
    watch(&tree, owner);
    for (unsigned round = 0; round < 20; round++) {
      test_case("%s, store %u", owner == 1 ? "the owner's file" : "another user's file", round);
      mapping.bytes[round * 13] ^= 1;
      if (!seen(&tree)) break;
      tree_touch(&tree, "lib/one-leaf");
      for (unsigned way = 0; way < WAYS; way++) before_attack[way] = measure(ways[way], &tree);
    }
    unmap(mapping);
    done();
    tree_drop(&tree);
  }
}

static void mapped_after(void) {
  for (unsigned owner = 0; owner < 2; owner++) {
    struct tree tree = tree_sample();
    faults_reset();
    faults.no_leases = owner == 0;
    tree_touch(&tree, "lib/one-leaf");
    watch(&tree, 0);
    struct mapping mapping = map_shared(&tree, "lib/one-leaf");
    for (unsigned round = 0; round < 5; round++) {
      test_case("%s, store %u", owner == 1 ? "the owner's file" : "another user's file", round);
      mapping.bytes[round * 13] ^= 1;
      if (!seen(&tree)) break;
      tree_touch(&tree, "lib/one-leaf");
      for (unsigned way = 0; way < WAYS; way++) before_attack[way] = measure(ways[way], &tree);
    }
    unmap(mapping);
    done();
    tree_drop(&tree);
  }
}

/// After the last writer closes the file it is kept again.
static void writers_come_and_go(void) {
  struct tree tree = tree_sample();
  struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 1000);
  int fd = open(tree_path(&tree, "lib/one-leaf"), O_WRONLY | O_CLOEXEC);
  faults_reset();
  for (unsigned round = 0; round < 3; round++) {
    (void)measure(files, &tree);
    CHECK_COUNT(pfp_files_statistics(files)->unkept_writers, 1);
    CHECK_COUNT(pfp_files_statistics(files)->files_read, round == 0 ? pfp_files_statistics(files)->files : 1);
  }
  (void)close(fd);
  (void)measure(files, &tree);
  CHECK_COUNT(pfp_files_statistics(files)->files_read, 1);
  (void)measure(files, &tree);
  CHECK_COUNT(pfp_files_statistics(files)->files_read, 0);
  pfp_files_free(files);
  tree_drop(&tree);
}

// A write that has begun -------------------------------------------------------------------------------------------

struct stalled {
  int fd;
  void *page;  ///< Its content does not come until another thread delivers it.
};

static void *write_stalled(void *user) {
  const struct stalled *stalled = user;
  if (pwrite(stalled->fd, stalled->page, 4096, 0) != 4096) abort();
  return NULL;
}

static bool same_time(const struct timespec *a, const struct timespec *b) {
  return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/// A write moves both times at once. The ctime may be the one that the file had: its clock stands still for a while.
static bool times_moved(const char *path, const struct stat *since) {
  struct stat now;
  if (stat(path, &now) != 0) abort();
  return !same_time(&now.st_ctim, &since->st_ctim) || !same_time(&now.st_mtim, &since->st_mtim);
}

/// A write moves ctime first and the bytes later, as much later as its source buffer likes. In between the file looks
/// settled; what is kept then would hold for ever.
static void a_write_under_way(void) {
  struct tree tree = tree_sample();
  const char *path = tree_path(&tree, "lib/one-leaf");
  struct uffdio_api api = {.api = UFFD_API};
  struct stalled stalled = {.page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
  struct uffdio_register range = {.range = {(uintptr_t)stalled.page, 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
  static _Alignas(4096) uint8_t evil[4096];
  struct uffdio_copy deliver = {.dst = (uintptr_t)stalled.page, .src = (uintptr_t)evil, .len = 4096};
  struct stat since;
  pthread_t writer;
  int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  if (uffd < 0 && errno == EPERM) {
    // The rule itself, that a possible writer keeps a file from being kept, has its own test.
    test_note("this user may not delay a write: userfaultfd is not permitted");
    tree_drop(&tree);
    return;
  }
  REQUIRE(CHECK(uffd >= 0 && ioctl(uffd, UFFDIO_API, &api) == 0 && ioctl(uffd, UFFDIO_REGISTER, &range) == 0));
  memset(evil, 'E', sizeof evil);
  tree_touch(&tree, "lib/one-leaf");
  stalled.fd = open(path, O_WRONLY | O_CLOEXEC);
  REQUIRE(CHECK(stalled.fd >= 0 && stat(path, &since) == 0));
  REQUIRE(CHECK(pthread_create(&writer, NULL, write_stalled, &stalled) == 0));
  while (!times_moved(path, &since)) (void)sched_yield();
  REQUIRE(CHECK(stat(path, &since) == 0));
  faults_reset();
  watch(&tree, 1);
  REQUIRE(CHECK(ioctl(uffd, UFFDIO_COPY, &deliver) == 0));
  (void)pthread_join(writer, NULL);
  // This is why: the bytes changed, the times did not.
  CHECK(!times_moved(path, &since));
  (void)seen(&tree);
  (void)close(stalled.fd);
  (void)close(uffd);
  (void)munmap(stalled.page, 4096);
  done();
  tree_drop(&tree);
}

// Mounts -----------------------------------------------------------------------------------------------------------

/// Where the kernel would tell of mounts there is a file, which tells of none.
static bool silenced;

static bool silence(const struct tree *tree) {
  char mounts_of[64], other[600];
  (void)snprintf(mounts_of, sizeof mounts_of, "/proc/%d/mounts", (int)getpid());
  (void)snprintf(other, sizeof other, "%s", tree_path(tree, "empty"));
  return CHECK(mount(other, mounts_of, NULL, MS_BIND, NULL) == 0);
}

/// In a view of mounts of its own.
static bool mounts_in_child(void *user) {
  const struct tree *tree = user;
  char inside[600], outside[600];
  bool good = true;
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return CHECK(false);
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return CHECK(false);
  static const char *const covers[][2] = {{"lib/small-13", "lib/small-12"}, {"lib-2", "nothing"}, {"readme", "empty"}};
  faults_reset();
  if (silenced && !silence(tree)) return false;
  watch(tree, 0);
  for (unsigned i = 0; i < 3; i++) {
    (void)snprintf(inside, sizeof inside, "%s", tree_path(tree, covers[i][0]));
    (void)snprintf(outside, sizeof outside, "%s", tree_path(tree, covers[i][1]));
    test_case("a mount over %s", covers[i][0]);
    good = CHECK(mount(outside, inside, NULL, MS_BIND, NULL) == 0) && good;
    good = seen(tree) && good;
    // Once more, with the digests that were kept under the mount.
    good = seen(tree) && good;
    test_case("no mount over %s any more", covers[i][0]);
    // Descriptors kept open below it make it busy.
    good = CHECK(umount2(inside, MNT_DETACH) == 0) && good;
    for (unsigned way = 0; way < WAYS; way++) {
      struct pfp_bundle now = measure(ways[way], tree);
      good = CHECK(same_digest(&now, &before_attack[way])) && good;
    }
  }
  done();
  return good;
}

static void mounts(void) {
  for (unsigned i = 0; i < 2; i++) {
    struct tree tree = tree_sample();
    silenced = i == 1;
    CHECK(in_child(mounts_in_child, &tree));
    tree_drop(&tree);
  }
}

static const struct test tests[] = {
    TEST("each change of a bundle is seen under every policy", every_change),
    TEST("stores into a page that was dirty before are seen", mapped_stores),
    TEST("stores through a mapping made later are seen", mapped_after),
    TEST("a file that another process could write to is not kept until none can", writers_come_and_go),
    TEST("a write that has begun and not ended is seen", a_write_under_way),
    TEST("a mount over a file or a folder is seen, and its end too", mounts),
};

const struct suite files_attack_suite = SUITE("attacks", tests);
