// SPDX-License-Identifier: Apache-2.0

/// The steps in which a secret is made and read, with each call of the system that fails in turn.

#define _GNU_SOURCE

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/secret.h"
#include "crypto.h"
#include "harness.h"
#include "probe_suites.h"
#include "tree.h"
#include "wrapped.h"

/// The calls that were made, a letter each, and what the next ones answer.
static struct {
  bool plays;  ///< Calls of other tests are none of this one's.
  char made[64];
  size_t count;
  size_t fails_at;  ///< The call of this number fails, from 1 on; 0: none
  int error;        ///< with this errno; 0: it does nothing, and answers 0
  bool pieces;      ///< A write takes five bytes at most.
  uint8_t random[64];
  size_t randoms, wipes;
  uint8_t wiped[2][64];
  size_t wiped_size[2];
  unsigned flags, rename_flags;
  char old[64], new[64];
} calls;

static bool fails(char letter) {
  if (!calls.plays) return false;
  if (calls.count + 1 < sizeof calls.made) calls.made[calls.count++] = letter;
  if (calls.fails_at == 0 || calls.count != calls.fails_at) return false;
  errno = calls.error;
  return true;
}

WRAPPED(ssize_t, getrandom, void *bytes, size_t size, unsigned flags) {
  if (fails('r')) return calls.error == 0 ? (ssize_t)size - 1 : -1;
  ssize_t got = __real_getrandom(bytes, size, flags);
  if (!calls.plays) return got;
  if (calls.randoms + size <= sizeof calls.random) memcpy(calls.random + calls.randoms, bytes, size);
  calls.randoms += size;
  calls.flags |= flags;
  return got;
}
WRAPPED(int, fchmod, int fd, mode_t mode) { return fails('m') ? -1 : __real_fchmod(fd, mode); }
WRAPPED(ssize_t, write, int fd, const void *bytes, size_t size) {
  if (fails('w')) return calls.error == 0 ? 0 : -1;
  return __real_write(fd, bytes, calls.pieces && size > 5 ? 5 : size);
}
WRAPPED(int, fsync, int fd) {
  struct stat found;
  bool folder = fstat(fd, &found) == 0 && S_ISDIR(found.st_mode);
  return fails(folder ? 'f' : 's') ? -1 : __real_fsync(fd);
}
WRAPPED(int, renameat2, int from, const char *old, int to, const char *new, unsigned flags) {
  if (!calls.plays) return __real_renameat2(from, old, to, new, flags);
  calls.rename_flags = flags;
  (void)snprintf(calls.old, sizeof calls.old, "%s", old);
  (void)snprintf(calls.new, sizeof calls.new, "%s", new);
  return fails('n') ? -1 : __real_renameat2(from, old, to, new, flags);
}

/// The core's, which this program has no need of otherwise.
void pfc_wipe(void *bytes, size_t size) {
  if (calls.wipes < 2) {
    memcpy(calls.wiped[calls.wipes], bytes, size < 64 ? size : 64);
    calls.wiped_size[calls.wipes] = size;
  }
  calls.wipes++;
  memset(bytes, 0, size);
}

static struct tree folder_make(void) {
  struct tree tree = tree_make();
  tree_mode(&tree, "", 0700);
  memset(&calls, 0, sizeof calls);
  calls.plays = true;
  return tree;
}

static void folder_drop(const struct tree *tree) {
  memset(&calls, 0, sizeof calls);
  tree_drop(tree);
}

/// The files in the folder.
static unsigned files_in(const struct tree *tree) {
  unsigned count = 0;
  DIR *listing = opendir(tree->root);
  const struct dirent *entry;
  while (listing != NULL && (entry = readdir(listing)) != NULL) {
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  }
  if (listing != NULL) (void)closedir(listing);
  return count;
}

static void the_steps_of_a_secret(void) {
  static const struct {
    size_t fails_at;
    int error, result;
    const char *made;
    unsigned files;
  } cases[] = {
      {0, 0, PFP_OK, "rrmwsnf", 1},
      {1, EIO, PFP_E_RESOURCE, "r", 0},
      {1, 0, PFP_E_RESOURCE, "r", 0},
      {1, EINTR, PFP_OK, "rrrmwsnf", 1},
      {2, EIO, PFP_E_RESOURCE, "rr", 0},
      {2, 0, PFP_E_RESOURCE, "rr", 0},
      {2, EINTR, PFP_OK, "rrrmwsnf", 1},
      {3, EIO, PFP_E_UNREADABLE, "rrm", 0},
      {4, EIO, PFP_E_UNREADABLE, "rrmw", 0},
      {4, 0, PFP_E_UNREADABLE, "rrmw", 0},
      {4, EINTR, PFP_OK, "rrmwwsnf", 1},
      {5, EIO, PFP_E_UNREADABLE, "rrmws", 0},
      {5, EEXIST, PFP_E_UNREADABLE, "rrmws", 0},
      {6, EIO, PFP_E_UNREADABLE, "rrmwsn", 0},
      {6, EEXIST, PFP_OK, "rrmwsn", 0},
      {7, EIO, PFP_E_UNREADABLE, "rrmwsnf", 1},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct tree tree = folder_make();
    calls.fails_at = cases[i].fails_at;
    calls.error = cases[i].error;
    test_case("call %zu fails with %d", cases[i].fails_at, cases[i].error);
    CHECK_NUMBER(pfp_storage_prepare(tree.root), cases[i].result);
    if (!CHECK(strcmp(calls.made, cases[i].made) == 0)) test_note("made: %s", calls.made);
    CHECK_COUNT(files_in(&tree), cases[i].files);
    CHECK_COUNT(calls.wipes, calls.count > 2);
    if (strchr(calls.made, 'n') != NULL) {
      // RENAME_NOREPLACE: a secret that is there stays.
      CHECK_COUNT(calls.rename_flags, 1);
      CHECK(strncmp(calls.old, ".device-secret-", 15) == 0 && strlen(calls.old) == 31);
      CHECK(strcmp(calls.new, "device-secret") == 0);
    }
    CHECK_COUNT(calls.flags, 0);
    folder_drop(&tree);
  }
}

/// The random bytes are the secret, and no copy of them is left.
static void the_bytes_of_a_secret(void) {
  for (unsigned pieces = 0; pieces < 2; pieces++) {
    struct tree tree = folder_make();
    uint8_t secret[PFP_SECRET_BYTES];
    calls.pieces = pieces == 1;
    CHECK_NUMBER(pfp_storage_prepare(tree.root), PFP_OK);
    CHECK(strcmp(calls.made, pieces == 1 ? "rrmwwwwwwwsnf" : "rrmwsnf") == 0);
    CHECK_COUNT(calls.randoms, 32 + 8);
    CHECK_NUMBER(pfp_secret_read(secret, tree.root), PFP_OK);
    CHECK_BYTES(secret, calls.random, 32);
    CHECK_COUNT(calls.wipes, 2);
    CHECK_COUNT(calls.wiped_size[0], 32);
    CHECK_COUNT(calls.wiped_size[1], 33);
    for (unsigned i = 0; i < 2; i++) CHECK_BYTES(calls.wiped[i], secret, 32);
    folder_drop(&tree);
  }
}

static void modes_of_a_secret(void) {
  static const mode_t masks[] = {0, 022, 077, 0277, 0777};
  for (unsigned i = 0; i < sizeof masks / sizeof masks[0]; i++) {
    struct tree tree = folder_make();
    struct stat found;
    mode_t before = umask(masks[i]);
    CHECK_NUMBER(pfp_storage_prepare(tree.root), PFP_OK);
    (void)umask(before);
    test_case("umask %o", masks[i]);
    CHECK(stat(tree_path(&tree, "device-secret"), &found) == 0 && (found.st_mode & 07777) == 0600);
    folder_drop(&tree);
  }
}

/// Each bit of a mode that lets others in, and each owner but this user.
static void exposed_secrets(void) {
  static const struct {
    mode_t folder, file;
    uid_t owner_of_folder, owner_of_file;
    int result;
  } cases[] = {
      {0700, 0600, 0, 0, PFP_OK},        {0500, 0400, 0, 0, PFP_OK},        {01700, 04600, 0, 0, PFP_OK},
      {0701, 0600, 0, 0, PFP_E_EXPOSED}, {0702, 0600, 0, 0, PFP_E_EXPOSED}, {0704, 0600, 0, 0, PFP_E_EXPOSED},
      {0710, 0600, 0, 0, PFP_E_EXPOSED}, {0720, 0600, 0, 0, PFP_E_EXPOSED}, {0740, 0600, 0, 0, PFP_E_EXPOSED},
      {0700, 0601, 0, 0, PFP_E_EXPOSED}, {0700, 0602, 0, 0, PFP_E_EXPOSED}, {0700, 0604, 0, 0, PFP_E_EXPOSED},
      {0700, 0610, 0, 0, PFP_E_EXPOSED}, {0700, 0620, 0, 0, PFP_E_EXPOSED}, {0700, 0640, 0, 0, PFP_E_EXPOSED},
      {0700, 0600, 1, 0, PFP_E_EXPOSED}, {0700, 0600, 0, 1, PFP_E_EXPOSED},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct tree tree = folder_make();
    uint8_t secret[PFP_SECRET_BYTES];
    const char *path = tree_path(&tree, "device-secret");
    bool folder = (cases[i].folder & 077) == 0 && cases[i].owner_of_folder == 0;
    CHECK_NUMBER(pfp_storage_prepare(tree.root), PFP_OK);
    if (geteuid() == 0) CHECK(chown(path, cases[i].owner_of_file, 0) == 0);
    CHECK(chmod(path, cases[i].file) == 0);
    if (geteuid() == 0) CHECK(chown(tree.root, cases[i].owner_of_folder, 0) == 0);
    tree_mode(&tree, "", cases[i].folder);
    test_case("case %u", i);
    if (geteuid() == 0 || cases[i].owner_of_folder + cases[i].owner_of_file == 0) {
      CHECK_NUMBER(pfp_secret_read(secret, tree.root), cases[i].result);
      CHECK_NUMBER(pfp_storage_prepare(tree.root), folder ? PFP_OK : PFP_E_EXPOSED);
      // Whether a secret was read or not: the memory for it is wiped.
      CHECK_COUNT(calls.wipes, folder ? 2 : 1);
    }
    tree_mode(&tree, "", 0700);
    folder_drop(&tree);
  }
}

static unsigned open_descriptors(void) {
  unsigned count = 0;
  for (int fd = 0; fd < 1024; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

static bool few_descriptors(void *user) {
  const struct tree *tree = user;
  uint8_t secret[PFP_SECRET_BYTES];
  bool good = true;
  for (int fd = 3; fd < 1024; fd++) (void)close(fd);
  // No folder, a folder and no file in it, and both.
  for (rlim_t limit = 3; limit <= 5; limit++) {
    const struct rlimit few = {limit, 100};
    if (setrlimit(RLIMIT_NOFILE, &few) != 0) return false;
    test_case("%u descriptors", (unsigned)limit);
    good = CHECK_NUMBER(pfp_secret_read(secret, tree->root), limit < 5 ? PFP_E_RESOURCE : PFP_OK) && good;
    good = CHECK_NUMBER(pfp_storage_prepare(tree->root), limit < 4 ? PFP_E_RESOURCE : PFP_OK) && good;
  }
  return CHECK_COUNT(open_descriptors(), 3) && good && harness_failures() == 0;
}

/// The folder is descriptor 0.
static bool without_standard_input(void *user) {
  const struct tree *tree = user;
  uint8_t secret[PFP_SECRET_BYTES];
  (void)close(0);
  bool good = CHECK_NUMBER(pfp_storage_prepare(tree->root), PFP_OK) && CHECK(fcntl(0, F_GETFD) < 0);
  return CHECK_NUMBER(pfp_secret_read(secret, tree->root), PFP_OK) && CHECK(fcntl(0, F_GETFD) < 0) && good;
}

static bool as_another_user(void *user) {
  const struct tree *tree = user;
  uint8_t secret[PFP_SECRET_BYTES];
  if (chdir(tree->root) != 0) return false;
  become_ordinary();
  // A folder of its own that cannot be written, one that cannot be opened, and a secret that cannot.
  bool good = CHECK_NUMBER(pfp_storage_prepare("unwritable"), PFP_E_UNREADABLE);
  good = CHECK_NUMBER(pfp_secret_read(secret, "unwritable"), PFP_E_MISSING) && good;
  good = CHECK_NUMBER(pfp_storage_prepare("closed"), PFP_E_UNREADABLE) && good;
  good = CHECK_NUMBER(pfp_secret_read(secret, "closed"), PFP_E_UNREADABLE) && good;
  good = CHECK_NUMBER(pfp_secret_read(secret, "own"), PFP_E_UNREADABLE) && good;
  good = CHECK_NUMBER(pfp_storage_prepare("own"), PFP_OK) && good;
  good = CHECK_NUMBER(pfp_secret_read(secret, "missing"), PFP_E_MISSING) && good;
  good = CHECK_NUMBER(pfp_secret_read(secret, "own/device-secret"), PFP_E_TYPE) && good;
  return good && harness_failures() == 0;
}

static void secrets_out_of_reach(void) {
  static const char *const folders[] = {"unwritable", "closed", "own"};
  struct tree tree = folder_make(), outer = tree_make();
  unsigned before = open_descriptors();
  CHECK_NUMBER(pfp_storage_prepare(tree.root), PFP_OK);
  CHECK(in_child(few_descriptors, &tree));
  CHECK(in_child(without_standard_input, &tree));
  if (geteuid() == 0) {
    for (unsigned i = 0; i < 3; i++) {
      tree_folder(&outer, folders[i]);
      CHECK(chown(tree_path(&outer, folders[i]), 65534, 65534) == 0);
    }
    tree_text(&outer, "own/device-secret", "01234567890123456789012345678901");
    CHECK(chown(tree_path(&outer, "own/device-secret"), 65534, 65534) == 0);
    tree_mode(&outer, "own/device-secret", 0);
    tree_mode(&outer, "unwritable", 0500);
    tree_mode(&outer, "closed", 0);
    tree_mode(&outer, "own", 0700);
    CHECK(in_child(as_another_user, &outer));
  }
  CHECK_COUNT(open_descriptors(), before);
  tree_drop(&outer);
  folder_drop(&tree);
}

static const struct test tests[] = {
    TEST("a secret is made in steps, and a step that fails leaves nothing", the_steps_of_a_secret),
    TEST("a secret is the system's random bytes, and its copies are wiped", the_bytes_of_a_secret),
    TEST("a secret has mode 0600 under each umask", modes_of_a_secret),
    TEST("each bit and each owner that lets others in is refused", exposed_secrets),
    TEST("a secret out of reach is told by its reason", secrets_out_of_reach),
};

const struct suite storage_suite = SUITE("secret", tests);
