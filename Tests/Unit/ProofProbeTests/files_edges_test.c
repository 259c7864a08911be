// SPDX-License-Identifier: Apache-2.0

/// The limits of a measurement, each from both of its sides.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "harness.h"
#include "page.h"
#include "probe_suites.h"
#include "tree.h"

static bool failed_at(const struct pfp_files *files, int result, int error, const char *path, size_t path_size) {
  const struct pfp_failure *failure = pfp_files_failure(files);
  bool good = CHECK_NUMBER(failure->result, result) && CHECK_NUMBER(failure->error, error);
  good = CHECK_COUNT(failure->path_size, path_size) && CHECK_BYTES(failure->path, path, path_size) && good;
  return CHECK_NUMBER(failure->path[path_size], 0) && good;
}

static void options_of_a_context(void) {
  static const struct {
    uint8_t policy, limit_log2, kernel, workers;
    uint32_t descriptors;
    int result;
  } cases[] = {
      {1, 16, 0, 0, 0, PFP_OK},         {3, 16, 0, 0, 0, PFP_OK},          {1, 50, 0, 0, 0, PFP_OK},
      {0, 30, 0, 0, 0, PFP_E_ARGUMENT}, {4, 30, 0, 0, 0, PFP_E_ARGUMENT},  {255, 30, 0, 0, 0, PFP_E_ARGUMENT},
      {1, 15, 0, 0, 0, PFP_E_ARGUMENT}, {1, 51, 0, 0, 0, PFP_E_ARGUMENT},  {1, 0, 0, 0, 0, PFP_E_ARGUMENT},
      {1, 30, 0, 1, 0, PFP_OK},         {1, 30, 0, 4, 0, PFP_OK},          {1, 30, 0, 5, 0, PFP_E_ARGUMENT},
      {1, 30, 1, 0, 0, PFP_OK},         {1, 30, 4, 0, 0, PFP_E_ARGUMENT},  {3, 30, 0, 0, INT32_MAX, PFP_OK},
      {1, 30, 0, 0, INT32_MAX, PFP_OK}, {3, 30, 0, 0, (uint32_t)INT32_MAX + 1, PFP_E_ARGUMENT},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct pfp_files_options made = {.policy = cases[i].policy,
                                     .limit_log2 = cases[i].limit_log2,
                                     .kernel = cases[i].kernel,
                                     .workers = cases[i].workers,
                                     .descriptors = cases[i].descriptors};
    struct pfp_files *files = (struct pfp_files *)(void *)&made;
    test_case("case %u", i);
    CHECK_NUMBER(pfp_files_create(&files, &made), cases[i].result);
    CHECK((files != NULL) == (cases[i].result == PFP_OK));
    pfp_files_free(files);
  }
}

// Paths ----------------------------------------------------------------------------------------------------------

/// A folder of 16 steps of 251 bytes: 4,016 with the slash behind it.
static int deep_folder(const struct tree *tree) {
  char name[251];
  int fd = open(tree->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  memset(name, 'n', 250);
  name[250] = '\0';
  for (unsigned i = 0; i < 16; i++) {
    if (mkdirat(fd, name, 0755) != 0) abort();
    int next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)close(fd);
    if (next < 0) abort();
    fd = next;
  }
  return fd;
}

static void paths_of_4095_bytes(void) {
  // A name at 4,016 bytes, and a file below it.
  static const struct {
    unsigned size;
    bool folder, below;
    int result;
    uint64_t entries;
    size_t path_size;
  } cases[] = {
      {78, false, false, PFP_OK, 17, 0},      {79, false, false, PFP_OK, 17, 0},
      {80, false, false, PFP_E_DEEP, 0, 4016}, {78, true, false, PFP_OK, 17, 0},
      {79, true, false, PFP_E_DEEP, 0, 4095}, {77, true, true, PFP_OK, 18, 0},
      {78, true, true, PFP_E_DEEP, 0, 4095},  {80, true, false, PFP_E_DEEP, 0, 4016},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct tree tree = tree_make();
    struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
    struct pfp_bundle bundle;
    char name[81], path[PFP_PATH_MAX + 1];
    int fd = deep_folder(&tree), below;
    faults_reset();
    memset(name, 'x', sizeof name);
    name[cases[i].size] = '\0';
    if (cases[i].folder) {
      REQUIRE(CHECK(mkdirat(fd, name, 0755) == 0));
      below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (cases[i].below) CHECK(mknodat(below, "y", S_IFREG | 0644, 0) == 0);
    } else {
      below = openat(fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    }
    (void)close(below);
    (void)close(fd);
    for (unsigned at = 0; at < sizeof path; at++) path[at] = at >= 4016 ? 'x' : at % 251 == 250 ? '/' : 'n';
    if (cases[i].below) path[4016 + cases[i].size] = '/';
    test_case("case %u", i);
    CHECK_NUMBER(pfp_files_digest_bundle(files, tree.root, NULL, NULL, &bundle), cases[i].result);
    CHECK_COUNT(bundle.entries, cases[i].entries);
    if (cases[i].result != PFP_OK) CHECK(failed_at(files, PFP_E_DEEP, ENAMETOOLONG, path, cases[i].path_size));
    pfp_files_free(files);
    tree_drop(&tree);
  }
}

static void folders_128_deep(void) {
  for (unsigned more = 0; more < 2; more++) {
    struct tree tree = tree_make();
    struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
    struct pfp_bundle bundle;
    char path[2 * (PFP_DEPTH_MAX + 2)] = "";
    faults_reset();
    for (unsigned i = 0; i < 128 + more; i++) {
      (void)strcat(path, i == 0 ? "d" : "/d");
      tree_folder(&tree, path);
    }
    test_case("%u more", more);
    CHECK_NUMBER(pfp_files_digest_bundle(files, tree.root, NULL, NULL, &bundle), more == 0 ? PFP_OK : PFP_E_DEEP);
    CHECK_COUNT(bundle.entries, more == 0 ? 128 : 0);
    if (more == 1) CHECK(failed_at(files, PFP_E_DEEP, ENAMETOOLONG, path, strlen(path)));
    pfp_files_free(files);
    tree_drop(&tree);
  }
}

/// A path of so many bytes to the file "file" in the root.
static void long_way(char *path, size_t size, const struct tree *tree) {
  size_t at = strlen(tree->root);
  memcpy(path, tree->root, at);
  path[at++] = '/';
  if ((size - at) % 2 != 0) path[at++] = '/';
  for (; at + 4 < size; at += 2) memcpy(path + at, "./", 2);
  memcpy(path + at, "file", 5);
}

static void paths_of_single_files(void) {
  static char path[PFP_PATH_MAX + 905];
  struct tree tree = tree_make();
  struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 0);
  struct pfp_entry entry;
  faults_reset();
  tree_text(&tree, "file", "text");
  long_way(path, 4095, &tree);
  CHECK_COUNT(strlen(path), 4095);
  for (unsigned round = 0; round < 2; round++) {
    CHECK_NUMBER(pfp_files_digest_file(files, path, &entry), PFP_OK);
    CHECK_COUNT(entry.path_size, 4095);
    CHECK_COUNT(pfp_files_statistics(files)->reused, round);
  }
  for (size_t size = 4096; size <= 4999; size += 903) {
    long_way(path, size, &tree);
    CHECK_NUMBER(pfp_files_digest_file(files, path, &entry), PFP_E_UNREADABLE);
    CHECK_ZEROS(&entry, sizeof entry);
    // As much of it as is kept.
    CHECK(failed_at(files, PFP_E_UNREADABLE, ENAMETOOLONG, path, 4095));
  }
  CHECK_NUMBER(pfp_files_digest_file(files, tree_path(&tree, "file"), &entry), PFP_OK);
  CHECK(failed_at(files, PFP_OK, 0, "", 0));
  pfp_files_free(files);
  tree_drop(&tree);
}

/// A bundle is known again by the whole path of its root.
static void a_root_of_4095_bytes(void) {
  static char path[PFP_PATH_MAX + 1];
  struct tree tree = tree_make();
  struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 0);
  struct pfp_bundle bundle;
  faults_reset();
  tree_folder(&tree, "file");
  tree_text(&tree, "file/one", "text");
  long_way(path, 4095, &tree);
  for (unsigned round = 0; round < 2; round++) {
    atomic_store(&faults.opens, 0);
    CHECK_NUMBER(pfp_files_digest_bundle(files, path, NULL, NULL, &bundle), PFP_OK);
    CHECK_COUNT(bundle.entries, 1);
    CHECK_COUNT(pfp_files_statistics(files)->reused, round);
    CHECK_COUNT(atomic_load(&faults.opens), 2 - round);
  }
  pfp_files_free(files);
  tree_drop(&tree);
}

/// A link's target of every length that the system takes.
static void targets_of_4095_bytes(void) {
  static char target[4096];
  struct tree tree = tree_make();
  struct pfp_bundle bundle;
  memset(target, 't', 4095);
  tree_link(&tree, "link", target);
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_TRUSTING; policy++) {
    struct pfp_files *files = files_new((enum pfp_policy)policy, 0);
    faults_reset();
    CHECK_NUMBER(pfp_files_digest_bundle(files, tree.root, NULL, NULL, &bundle), PFP_OK);
    CHECK_COUNT(bundle.absent, 0);
    struct page_entry expected = page_look(&tree, "link");
    uint8_t entry[1][32], digest[32];
    CHECK_COUNT(expected.size, 4095);
    page_entry(entry[0], &expected);
    page_bundle(digest, 0755, (const uint8_t(*)[32])entry, 1);
    CHECK_BYTES(bundle.digest, digest, 32);
    pfp_files_free(files);
  }
  tree_drop(&tree);
}

// Contents -------------------------------------------------------------------------------------------------------

static struct pfp_files *limited(enum pfp_policy policy, uint8_t limit_log2) {
  struct pfp_files_options made = {.policy = (uint8_t)policy, .limit_log2 = limit_log2};
  struct pfp_files *files;
  CHECK_NUMBER(pfp_files_create(&files, &made), PFP_OK);
  return files;
}

static void one_file_of_the_limit(void) {
  static const struct {
    uint8_t limit_log2;
    off_t size;
  } cases[] = {{16, 65536}, {17, 131072}, {20, 1048576}, {21, 2097152}};
  for (unsigned i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
    struct tree tree = tree_make();
    struct pfp_files *files = limited(PFP_POLICY_FULL, cases[i / 2].limit_log2);
    struct pfp_entry entry;
    int expected = i % 2 == 0 ? PFP_OK : PFP_E_LIMIT;
    faults_reset();
    tree_text(&tree, "file", "");
    CHECK(truncate(tree_path(&tree, "file"), cases[i / 2].size + (off_t)(i % 2)) == 0);
    test_case("2^%u bytes and %u", cases[i / 2].limit_log2, i % 2);
    CHECK_NUMBER(measure_result(files, &tree), expected);
    if (expected != PFP_OK) CHECK(failed_at(files, PFP_E_LIMIT, 0, "file", 4));
    CHECK_NUMBER(pfp_files_digest_file(files, tree_path(&tree, "file"), &entry), expected);
    pfp_files_free(files);
    tree_drop(&tree);
  }
}

static const struct tree *touched;
static atomic_uint touches;

static void touch_once(int fd) {
  (void)fd;
  if (atomic_fetch_add(&touches, 1) == 0) tree_poke(touched, "file", 3, '!');
}

/// A second reading counts in place of the first.
static void a_second_reading_counts_once(void) {
  static const size_t sizes[] = {65536, 1048576};
  for (unsigned i = 0; i < 2; i++) {
    struct tree tree = tree_make();
    struct pfp_files *files = limited(PFP_POLICY_FULL, i == 0 ? 16 : 20);
    tree_noise(&tree, "file", sizes[i], 1);
    faults_reset();
    faults.no_maps = true;
    faults.after_read = touch_once;
    touched = &tree;
    atomic_store(&touches, 0);
    test_case("%zu bytes", sizes[i]);
    CHECK_NUMBER(measure_result(files, &tree), PFP_OK);
    CHECK_COUNT(pfp_files_statistics(files)->retries, 1);
    faults_reset();
    pfp_files_free(files);
    tree_drop(&tree);
  }
}

// Names of many folders --------------------------------------------------------------------------------------------

/// So many names of 200 bytes, all of one file.
static void many_names(int fd, const char *file, int file_fd, unsigned count) {
  char name[201];
  memset(name, 'f', 200);
  name[200] = '\0';
  for (unsigned i = 0; i < count; i++) {
    (void)snprintf(name + 190, 11, "%010u", i);
    if (linkat(file_fd, file, fd, name, 0) != 0) abort();
  }
}

static int count_names(void *user, const struct pfp_entry *entry) {
  uint64_t *count = user;
  (void)entry;
  (*count)++;
  return 0;
}

/// Each folder on the way down has more names than a share of the memory holds; the names of all are held at once.
static void names_on_the_way_down(void) {
  struct tree tree = tree_make();
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
  struct pfp_bundle bundle;
  uint64_t seen = 0, made = 1;
  int root = open(tree.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = dup(root);
  faults_reset();
  tree_text(&tree, "0", "text");
  for (unsigned depth = 0; depth <= 128; depth++) {
    unsigned count = depth == 0 ? 8000 : depth < 8 ? 2000 : 30;
    many_names(fd, "0", root, count);
    made += count + (depth < 128);
    if (depth == 128) break;
    // It comes before the names in its folder.
    if (mkdirat(fd, "d", 0755) != 0) abort();
    int next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)close(fd);
    fd = next;
  }
  (void)close(fd);
  (void)close(root);
  CHECK_NUMBER(pfp_files_digest_bundle(files, tree.root, count_names, &seen, &bundle), PFP_OK);
  CHECK_COUNT(seen, made);
  CHECK_COUNT(bundle.entries, made);
  pfp_files_free(files);
  tree_drop(&tree);
}

static atomic_uint names_told;

static void count_told(const char *name) {
  (void)name;
  atomic_fetch_add(&names_told, 1);
}

/// Folders side by side, together with more names than there is memory for: each gives its memory back, so the next
/// one's names fit, and each folder is listed once.
static void names_side_by_side(void) {
  enum { FOLDERS = 420, EACH = 40, LARGEST = 3000 };
  struct tree tree = tree_make();
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
  struct pfp_bundle bundle;
  int root = open(tree.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  faults_reset();
  tree_text(&tree, "0", "text");
  for (unsigned i = 0; i < FOLDERS; i++) {
    char name[8];
    (void)snprintf(name, sizeof name, "a%03u", i);
    tree_folder(&tree, name);
    int fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    many_names(fd, "0", root, i == 0 ? LARGEST : EACH);
    (void)close(fd);
  }
  (void)close(root);
  atomic_store(&names_told, 0);
  faults.after_name = count_told;
  CHECK_NUMBER(pfp_files_digest_bundle(files, tree.root, NULL, NULL, &bundle), PFP_OK);
  CHECK_COUNT(bundle.entries, LARGEST + (FOLDERS - 1) * EACH + FOLDERS + 1);
  CHECK_COUNT(atomic_load(&names_told), bundle.entries);
  faults_reset();
  pfp_files_free(files);
  tree_drop(&tree);
}

static const struct test tests[] = {
    TEST("options are taken up to their limits", options_of_a_context),
    TEST("paths are measured up to 4,095 bytes", paths_of_4095_bytes),
    TEST("folders are measured 128 deep", folders_128_deep),
    TEST("a single file's path has up to 4,095 bytes", paths_of_single_files),
    TEST("a root's path of 4,095 bytes is known again", a_root_of_4095_bytes),
    TEST("a link's target of 4,095 bytes is read", targets_of_4095_bytes),
    TEST("one file may have as many bytes as the limit", one_file_of_the_limit),
    TEST("a file that is read twice counts once towards the limit", a_second_reading_counts_once),
    TEST("folders on the way down have their names side by side in memory", names_on_the_way_down),
    TEST("a folder gives the memory of its names back", names_side_by_side),
};

const struct suite files_edges_suite = SUITE("edges", tests);
