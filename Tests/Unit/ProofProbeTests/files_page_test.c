// SPDX-License-Identifier: Apache-2.0

/// Each digest and each field that a measurement tells is that of files.h, computed here from libsodium alone.

#define _GNU_SOURCE

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "files.h"
#include "harness.h"
#include "page.h"
#include "probe_suites.h"

enum { ENTRIES = 800, LONG_NAME = 200 };

struct told {
  unsigned count;
  char *paths[ENTRIES];
  struct pfp_entry entries[ENTRIES];
  uint8_t digests[ENTRIES][32];
};
static struct told told;

static int note(void *user, const struct pfp_entry *entry) {
  (void)user;
  if (told.count == ENTRIES) return 1;
  told.paths[told.count] = strdup(entry->path);
  told.entries[told.count] = *entry;
  told.count++;
  return 0;
}

static void forget(void) {
  for (unsigned i = 0; i < told.count; i++) free(told.paths[i]);
  told.count = 0;
}

static bool measure_told(struct pfp_files *files, const char *root, struct pfp_bundle *bundle) {
  forget();
  return CHECK_NUMBER(pfp_files_digest_bundle(files, root, note, NULL, bundle), PFP_OK);
}

static bool same_entry(const struct pfp_entry *entry, const struct page_entry *expected, uint8_t digest[32]) {
  page_entry(digest, expected);
  return CHECK_NUMBER(entry->type, expected->type) && CHECK_NUMBER(entry->state, expected->state) &&
         CHECK_NUMBER(entry->mode, expected->mode) && CHECK_COUNT(entry->size, expected->size) &&
         CHECK_COUNT(entry->path_size, expected->path_size) && CHECK_BYTES(entry->content, expected->content, 32) &&
         CHECK_BYTES(entry->digest, digest, 32);
}

/// All that was told of the tree, and the bundle of it.
static void judge(const struct tree *tree, const struct pfp_bundle *bundle, uint16_t mode) {
  uint64_t bytes = 0;
  for (unsigned i = 0; i < told.count; i++) {
    struct page_entry expected = page_look(tree, told.paths[i]);
    test_case("%.60s, %zu bytes of path", told.paths[i], strlen(told.paths[i]));
    (void)same_entry(&told.entries[i], &expected, told.digests[i]);
    CHECK_NUMBER(told.entries[i].error, 0);
    if (expected.type == 1) bytes += expected.size;
  }
  uint8_t digest[32];
  page_bundle(digest, mode, (const uint8_t(*)[32])told.digests, told.count);
  CHECK_BYTES(bundle->digest, digest, 32);
  CHECK_NUMBER(bundle->mode, mode);
  CHECK_COUNT(bundle->entries, told.count);
  CHECK_COUNT(bundle->absent, 0);
  CHECK_COUNT(bundle->bytes, bytes);
}

/// Sizes around a leaf, a reading and a window; modes, paths and device numbers in which each byte differs.
static struct tree every_kind(void) {
  static const size_t sizes[] = {0,      1,       127,     128,     129,     65535,   65536,  65537,  131072, 200000,
                                 524288, 1048575, 1048576, 1048577, 1114112, 1572865, 2097152, 2100000, 3000001};
  struct tree tree = tree_make();
  char name[2 * LONG_NAME + 16];
  for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    (void)snprintf(name, sizeof name, "file-%zu", sizes[i]);
    tree_noise(&tree, name, sizes[i], i);
  }
  tree_mode(&tree, "file-1", 04751);
  tree_text(&tree, "sparse", "");
  if (truncate(tree_path(&tree, "sparse"), 0x1020304) != 0) abort();
  memset(name, 'n', sizeof name);
  name[LONG_NAME] = '\0';
  tree_folder(&tree, name);
  tree_mode(&tree, name, 01750);
  name[LONG_NAME] = '/';
  name[2 * LONG_NAME] = '\0';
  tree_link(&tree, name, "anywhere");
  if (mkfifo(tree_path(&tree, "fifo"), 0640) != 0) abort();
  if (geteuid() == 0) {
    if (mknod(tree_path(&tree, "character"), S_IFCHR | 0666, makedev(0x123, 0x4567)) != 0) abort();
    if (mknod(tree_path(&tree, "block"), S_IFBLK | 0600, makedev(0x89, 0xABCDE)) != 0) abort();
  }
  tree_mode(&tree, "", 02751);
  return tree;
}

/// Policies, kernels, workers; read and mapped; cold, and told again from what is known.
static void digests_of_the_page(void) {
  struct tree tree = every_kind();
  for (unsigned way = 0; way < 12; way++) {
    struct pfp_files_options made = {.key = {1, 2, 3},
                                     .salt = {4, 5, 6},
                                     .policy = (uint8_t)(1 + way % 3),
                                     .limit_log2 = 40,
                                     .workers = (uint8_t)(way % 4),
                                     .kernel = way % 2 == 0 ? PFP_KERNEL_BEST : PFP_KERNEL_PORTABLE};
    struct pfp_files *files;
    struct pfp_bundle bundle;
    faults_reset();
    faults.no_maps = way >= 6;
    REQUIRE(CHECK_NUMBER(pfp_files_create(&files, &made), PFP_OK));
    for (unsigned round = 0; round < 2; round++) {
      REQUIRE(measure_told(files, tree.root, &bundle));
      judge(&tree, &bundle, 02751);
    }
    CHECK_COUNT(pfp_files_statistics(files)->files, 20);
    pfp_files_free(files);
  }
  faults_reset();
  forget();
  tree_drop(&tree);
}

/// A single file is an entry without a path.
static void single_files_of_the_page(void) {
  static const char *const names[] = {"file-0",       "file-1",       "file-65536",   "file-65537",
                                      "file-1048575", "file-1048576", "file-3000001", "sparse"};
  struct tree tree = every_kind();
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_TRUSTING; policy++) {
    struct pfp_files *files = files_new((enum pfp_policy)policy, 0);
    faults_reset();
    for (unsigned i = 0; i < 2 * sizeof names / sizeof names[0]; i++) {
      const char *name = names[i / 2], *path = tree_path(&tree, name);
      struct page_entry expected = page_look(&tree, name);
      struct pfp_entry entry;
      uint8_t digest[32];
      test_case("policy %u, %s", policy, name);
      expected.path_size = 0;
      REQUIRE(CHECK_NUMBER(pfp_files_digest_file(files, path, &entry), PFP_OK));
      CHECK(entry.path == path && entry.path_size == strlen(path));
      entry.path_size = 0;
      (void)same_entry(&entry, &expected, digest);
    }
    pfp_files_free(files);
  }
  tree_drop(&tree);
}

// Entries that cannot be read --------------------------------------------------------------------------------------

struct absent {
  const char *path;
  uint8_t type;
  uint16_t mode;
};

/// An entry that may not be opened has its mode. Below a folder that may not be searched no mode is known.
static const struct absent absent[] = {
    {"closed", 2, 0311},        {"listed/fifo", 4, 0}, {"listed/file", 1, 0}, {"listed/folder", 2, 0},
    {"listed/link", 3, 0},      {"secret", 1, 02711},
};
enum { ABSENT = sizeof absent / sizeof absent[0] };

static bool judge_absent(const struct pfp_bundle *bundle) {
  unsigned at = 0;
  uint8_t digest[32];
  for (unsigned i = 0; i < told.count; i++) {
    const struct pfp_entry *entry = &told.entries[i];
    test_case("%s", told.paths[i]);
    if (entry->state == PFP_STATE_PRESENT) {
      memcpy(told.digests[i], entry->digest, 32);
      continue;
    }
    if (!CHECK(at < ABSENT) || !CHECK(strcmp(told.paths[i], absent[at].path) == 0)) return false;
    struct page_entry expected = {.type = absent[at].type, .mode = absent[at].mode, .path = absent[at].path,
                                  .path_size = strlen(absent[at].path)};
    CHECK_NUMBER(entry->error, EACCES);
    if (!same_entry(entry, &expected, told.digests[i])) return false;
    at++;
  }
  page_bundle(digest, bundle->mode, (const uint8_t(*)[32])told.digests, told.count);
  return CHECK_COUNT(at, ABSENT) && CHECK_COUNT(bundle->absent, ABSENT) && CHECK_BYTES(bundle->digest, digest, 32);
}

static bool absent_in_child(void *user) {
  const struct tree *tree = user;
  bool good = true;
  if (chdir(tree->root) != 0) return false;
  become_ordinary();
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_TRUSTING; policy++) {
    struct pfp_files *files = files_new((enum pfp_policy)policy, 10);
    for (unsigned round = 0; round < 3; round++) {
      struct pfp_bundle bundle;
      good = measure_told(files, ".", &bundle) && judge_absent(&bundle) && good;
      good = CHECK_COUNT(pfp_files_statistics(files)->files, 1) && good;
    }
    pfp_files_free(files);
  }
  return good && harness_failures() == 0;
}

static void entries_that_are_absent(void) {
  struct tree tree = tree_make();
  faults_reset();
  tree_text(&tree, "open", "open");
  tree_text(&tree, "secret", "secret");
  tree_folder(&tree, "closed");
  tree_text(&tree, "closed/within", "within");
  tree_folder(&tree, "listed");
  tree_text(&tree, "listed/file", "file");
  tree_link(&tree, "listed/link", "file");
  tree_folder(&tree, "listed/folder");
  REQUIRE(CHECK(mkfifo(tree_path(&tree, "listed/fifo"), 0600) == 0));
  tree_mode(&tree, "secret", 02711);
  tree_mode(&tree, "closed", 0311);
  tree_mode(&tree, "listed", 0744);
  if (geteuid() != 0) {
    test_note("skipped: it takes root to make files that this user may not read");
  } else {
    CHECK(in_child(absent_in_child, &tree));
  }
  tree_mode(&tree, "closed", 0755);
  tree_mode(&tree, "listed", 0755);
  tree_drop(&tree);
}

// Known entries, told again ----------------------------------------------------------------------------------------

/// More entries than are hashed side by side, with short paths and then with paths that fill the memory first.
static void many_known_entries(void) {
  for (unsigned way = 0; way < 2; way++) {
    struct tree tree = tree_make();
    struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 0);
    struct pfp_bundle bundle, again;
    char path[PFP_PATH_MAX + 1];
    size_t size = 0;
    faults_reset();
    for (unsigned depth = 0; depth < way * 4; depth++) {
      memset(path + size, 'a' + (int)depth, 240);
      path[size + 240] = '\0';
      tree_folder(&tree, path);
      path[size + 240] = '/';
      size += 241;
    }
    for (unsigned i = 0; i < 300; i++) {
      (void)snprintf(path + size, sizeof path - size, "%03u", i);
      tree_noise(&tree, path, i, i);
    }
    for (unsigned round = 0; round < 3; round++) {
      REQUIRE(measure_told(files, tree.root, round == 0 ? &bundle : &again));
      CHECK_COUNT(told.count, 300 + way * 4);
      judge(&tree, round == 0 ? &bundle : &again, 0755);
      if (round > 0) CHECK_BYTES(&again, &bundle, sizeof bundle);
    }
    pfp_files_free(files);
    forget();
    tree_drop(&tree);
  }
}

/// Hundreds of long paths under way: their messages go round in memory more than once.
static void long_paths_go_round(void) {
  for (unsigned workers = 1; workers <= 4; workers++) {
    struct tree tree = tree_make();
    struct pfp_files *files = files_workers(workers);
    struct pfp_bundle bundle;
    char path[PFP_PATH_MAX + 1];
    size_t size = 0;
    faults_reset();
    for (unsigned depth = 0; depth < 15; depth++) {
      memset(path + size, 'a' + (int)depth, 240);
      path[size + 240] = '\0';
      tree_folder(&tree, path);
      path[size + 240] = '/';
      size += 241;
    }
    for (unsigned i = 0; i < 700; i++) {
      (void)snprintf(path + size, sizeof path - size, "%0*u", 1 + (int)(i % 190), i);
      tree_file(&tree, path, NULL, 0);
    }
    REQUIRE(measure_told(files, tree.root, &bundle));
    judge(&tree, &bundle, 0755);
    pfp_files_free(files);
    forget();
    tree_drop(&tree);
  }
}

static const struct test tests[] = {
    TEST("each entry and bundle has the digest of the page, whatever reads it", digests_of_the_page),
    TEST("a single file has the digest of an entry without a path", single_files_of_the_page),
    TEST("an entry that cannot be read has its type and, where it is told, its mode", entries_that_are_absent),
    TEST("many known entries are told as they were", many_known_entries),
    TEST("entries with long paths keep their order and their digests", long_paths_go_round),
};

const struct suite files_page_suite = SUITE("page", tests);
