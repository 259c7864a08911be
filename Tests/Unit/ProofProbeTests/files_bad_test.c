// SPDX-License-Identifier: Apache-2.0

/// Malformed bundles: each is a clear error or a defined observation.

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
#include "probe_suites.h"
#include "tree.h"

static bool failed_at(const struct pfp_files *files, int result, const char *path) {
  const struct pfp_failure *failure = pfp_files_failure(files);
  return CHECK_NUMBER(failure->result, result) && CHECK(strcmp(failure->path, path) == 0) &&
         CHECK_COUNT(failure->path_size, strlen(path));
}

static void bad_roots(void) {
  struct tree tree = tree_make();
  struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 10);
  static const struct {
    const char *path;
    int as_bundle, as_file;
  } cases[] = {
      {"missing", PFP_E_MISSING, PFP_E_MISSING},     {"file", PFP_E_TYPE, PFP_OK},
      {"fifo", PFP_E_TYPE, PFP_E_TYPE},              {"folder", PFP_OK, PFP_E_TYPE},
      {"dangling", PFP_E_MISSING, PFP_E_MISSING},    {"loop", PFP_E_UNREADABLE, PFP_E_UNREADABLE},
      {"file/below", PFP_E_MISSING, PFP_E_MISSING},  {"to-folder", PFP_OK, PFP_E_TYPE},
      {"to-file", PFP_E_TYPE, PFP_OK},               {"to-device", PFP_E_TYPE, PFP_E_TYPE},
  };
  faults_reset();
  tree_text(&tree, "file", "file");
  tree_folder(&tree, "folder");
  tree_link(&tree, "dangling", "missing");
  tree_link(&tree, "loop", "loop");
  tree_link(&tree, "to-folder", "folder");
  tree_link(&tree, "to-file", "file");
  tree_link(&tree, "to-device", "/dev/zero");
  REQUIRE(CHECK(mkfifo(tree_path(&tree, "fifo"), 0600) == 0));
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *path = tree_path(&tree, cases[i].path);
    struct pfp_bundle bundle;
    struct pfp_entry entry;
    test_case("%s", cases[i].path);
    CHECK_NUMBER(pfp_files_digest_bundle(files, path, NULL, NULL, &bundle), cases[i].as_bundle);
    if (cases[i].as_bundle != PFP_OK) {
      CHECK(failed_at(files, cases[i].as_bundle, path));
      CHECK_ZEROS(&bundle, sizeof bundle);
    }
    CHECK_NUMBER(pfp_files_digest_file(files, path, &entry), cases[i].as_file);
    if (cases[i].as_file != PFP_OK) {
      CHECK(failed_at(files, cases[i].as_file, path));
      CHECK_ZEROS(&entry, sizeof entry);
    }
  }
  pfp_files_free(files);
  tree_drop(&tree);
}

static void bad_options(void) {
  const struct pfp_files_options good = {.policy = PFP_POLICY_FULL, .limit_log2 = 30};
  struct pfp_files_options bad[] = {good, good, good, good, good, good, good};
  struct pfp_files *files;
  bad[0].policy = 0;
  bad[1].policy = 4;
  bad[2].limit_log2 = 15;
  bad[3].limit_log2 = 51;
  bad[4].workers = 5;
  bad[5].kernel = 4;
  bad[6].descriptors = UINT32_MAX;
  for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    test_case("case %u", i);
    CHECK_NUMBER(pfp_files_create(&files, &bad[i]), PFP_E_ARGUMENT);
    CHECK(files == NULL);
  }
  CHECK_NUMBER(pfp_files_create(&files, &good), PFP_OK);
  pfp_files_free(files);
  pfp_files_free(NULL);
}

// Unreadable -----------------------------------------------------------------------------------------------------

static int count_absent(void *user, const struct pfp_entry *entry) {
  unsigned *absent = user;
  if (entry->state == PFP_STATE_PRESENT) return 0;
  (*absent)++;
  CHECK_NUMBER(entry->error, EACCES);
  CHECK_COUNT(entry->size, 0);
  CHECK_ZEROS(entry->content, 32);
  CHECK(strcmp(entry->path, "secret") == 0 || strcmp(entry->path, "closed") == 0);
  CHECK_NUMBER(entry->type, entry->path[0] == 's' ? PFP_TYPE_FILE : PFP_TYPE_FOLDER);
  CHECK_NUMBER(entry->mode, 0);
  return 0;
}

/// In a process that is not root.
static bool unreadable_in_child(void *user) {
  struct tree here = {"."};
  const struct tree *tree = user;
  bool good = true;
  if (chdir(tree->root) != 0) return false;
  become_ordinary();
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_TRUSTING; policy++) {
    struct pfp_files *files = files_new((enum pfp_policy)policy, 10);
    for (unsigned round = 0; round < 3; round++) {
      struct pfp_bundle bundle;
      unsigned absent = 0;
      good = CHECK_NUMBER(pfp_files_digest_bundle(files, here.root, count_absent, &absent, &bundle), PFP_OK) && good;
      good = CHECK_COUNT(absent, 2) && CHECK_COUNT(bundle.absent, 2) && CHECK_COUNT(bundle.entries, 3) && good;
    }
    struct pfp_bundle bundle;
    struct pfp_entry entry;
    good = CHECK_NUMBER(pfp_files_digest_bundle(files, "closed", NULL, NULL, &bundle), PFP_E_UNREADABLE) && good;
    good = CHECK_NUMBER(pfp_files_digest_file(files, "secret", &entry), PFP_E_UNREADABLE) && good;
    good = CHECK_NUMBER(pfp_files_failure(files)->error, EACCES) && good;
    pfp_files_free(files);
  }
  return good;
}

static void unreadable(void) {
  struct tree tree = tree_make();
  faults_reset();
  tree_text(&tree, "open", "open");
  tree_text(&tree, "secret", "secret");
  tree_folder(&tree, "closed");
  tree_text(&tree, "closed/within", "within");
  struct pfp_bundle readable = measure_cold(&tree);
  CHECK_COUNT(readable.absent, 0);
  tree_mode(&tree, "secret", 0);
  tree_mode(&tree, "closed", 0);
  CHECK(in_child(unreadable_in_child, &tree));
  tree_mode(&tree, "closed", 0755);
  tree_drop(&tree);
}

static void read_errors(void) {
  static const char *const paths[] = {"short", "medium", "long"};
  struct tree tree = tree_make();
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
  tree_noise(&tree, "long", 2500000, 1);
  tree_noise(&tree, "medium", 300000, 2);
  tree_noise(&tree, "short", 300, 3);
  for (unsigned good = 0; good < 30; good++) {
    struct pfp_bundle bundle;
    faults_reset();
    faults.no_maps = true;
    faults.read_error = EIO;
    faults.reads_good = good;
    test_case("%u reads succeed", good);
    CHECK_NUMBER(pfp_files_digest_bundle(files, tree.root, NULL, NULL, &bundle), PFP_OK);
    CHECK(good < 1 ? bundle.absent == 3 : bundle.absent >= 1 && bundle.absent <= 3);
  }
  for (unsigned i = 0; i < 3; i++) {
    struct pfp_entry entry;
    faults_reset();
    faults.no_maps = true;
    faults.read_error = EIO;
    CHECK_NUMBER(pfp_files_digest_file(files, tree_path(&tree, paths[i]), &entry), PFP_E_UNREADABLE);
    CHECK_NUMBER(pfp_files_failure(files)->error, EIO);
  }
  faults_reset();
  pfp_files_free(files);
  tree_drop(&tree);
}

// Limits ---------------------------------------------------------------------------------------------------------

static struct pfp_files *files_limited(uint8_t limit_log2) {
  struct pfp_files_options file_options = {.policy = PFP_POLICY_TRUSTING, .limit_log2 = limit_log2};
  struct pfp_files *files;
  CHECK_NUMBER(pfp_files_create(&files, &file_options), PFP_OK);
  return files;
}

static void sparse(void) {
  struct tree tree = tree_make();
  struct pfp_files *files = files_limited(34);
  struct pfp_entry entry;
  faults_reset();
  tree_text(&tree, "before", "small");
  tree_text(&tree, "sparse", "");
  REQUIRE(CHECK(truncate(tree_path(&tree, "sparse"), (off_t)1 << 40) == 0));
  CHECK_NUMBER(measure_result(files, &tree), PFP_E_LIMIT);
  CHECK(failed_at(files, PFP_E_LIMIT, "sparse"));
  CHECK_NUMBER(pfp_files_digest_file(files, tree_path(&tree, "sparse"), &entry), PFP_E_LIMIT);
  CHECK_COUNT(pfp_files_statistics(files)->bytes_read, 0);
  tree_remove(&tree, "sparse");
  CHECK_NUMBER(measure_result(files, &tree), PFP_OK);
  pfp_files_free(files);
  tree_drop(&tree);
}

static void sums(void) {
  struct tree tree = tree_make();
  struct pfp_files *files = files_limited(16);
  faults_reset();
  for (unsigned i = 0; i < 16; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "%02u", i);
    tree_noise(&tree, name, 4096, i);
  }
  // 2^16 bytes exactly, twice: what is known counts like what is read.
  CHECK_NUMBER(measure_result(files, &tree), PFP_OK);
  CHECK_NUMBER(measure_result(files, &tree), PFP_OK);
  CHECK_COUNT(pfp_files_statistics(files)->reused, 16);
  tree_text(&tree, "16", "x");
  CHECK_NUMBER(measure_result(files, &tree), PFP_E_LIMIT);
  tree_remove(&tree, "16");
  CHECK_NUMBER(measure_result(files, &tree), PFP_OK);
  pfp_files_free(files);
  tree_drop(&tree);
}

/// Goes down by name, as paths get too long for the system.
static void deep(void) {
  struct tree tree = tree_make();
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
  char here[400], name[251];
  faults_reset();
  memset(name, 'n', 250);
  name[250] = '\0';
  REQUIRE(CHECK(getcwd(here, sizeof here) != NULL));
  for (unsigned way = 0; way < 2; way++) {
    const char *step = way == 0 ? "d" : name;
    unsigned fits = way == 0 ? PFP_DEPTH_MAX : PFP_PATH_MAX / 251;
    REQUIRE(CHECK(chdir(tree.root) == 0));
    for (unsigned i = 0; i < fits; i++) REQUIRE(CHECK(mkdir(step, 0755) == 0 && chdir(step) == 0));
    test_case("as deep as may be, names of %zu bytes", strlen(step));
    struct pfp_bundle bundle;
    CHECK_NUMBER(pfp_files_digest_bundle(files, tree.root, NULL, NULL, &bundle), PFP_OK);
    CHECK_COUNT(bundle.entries, fits);
    test_case("deeper, names of %zu bytes", strlen(step));
    REQUIRE(CHECK(mkdir(step, 0755) == 0 && chdir(step) == 0 && mkdir(step, 0755) == 0));
    CHECK_NUMBER(pfp_files_digest_bundle(files, tree.root, NULL, NULL, &bundle), PFP_E_DEEP);
    CHECK(pfp_files_failure(files)->path_size > 200);
    REQUIRE(CHECK(chdir(here) == 0));
    tree_drop(&tree);
    REQUIRE(CHECK(mkdir(tree.root, 0755) == 0));
  }
  pfp_files_free(files);
  tree_drop(&tree);
}

// Means ----------------------------------------------------------------------------------------------------------

/// However few descriptors are left, the answer is never that a file is absent.
static bool few_descriptors(void *user) {
  const struct tree *tree = user;
  struct pfp_bundle expected = measure_cold(tree);
  bool good = true, once = false;
  for (rlim_t limit = 3; limit < 24; limit++) {
    struct rlimit few = {limit, 100};
    struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
    struct pfp_bundle bundle;
    int result;
    if (setrlimit(RLIMIT_NOFILE, &few) != 0) return false;
    result = pfp_files_digest_bundle(files, tree->root, NULL, NULL, &bundle);
    test_case("%d descriptors", (int)limit);
    good = CHECK(result == PFP_E_RESOURCE || result == PFP_OK) && good;
    if (result == PFP_OK) good = CHECK_BYTES(bundle.digest, expected.digest, 32) && good;
    once = once || result == PFP_OK;
    pfp_files_free(files);
    few.rlim_cur = few.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &few) != 0) return false;
  }
  return CHECK(once) && good;
}

static bool no_threads(void *user) {
  const struct tree *tree = user;
  struct rlimit none = {1, 1};
  struct tree here = {"."};
  if (chdir(tree->root) != 0) return false;
  become_ordinary();
  // An ordinary user's other processes count: at least this one is there.
  if (setrlimit(RLIMIT_NPROC, &none) != 0) return false;
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
  bool good = CHECK_NUMBER(measure_result(files, &here), PFP_E_RESOURCE);
  pfp_files_free(files);
  return good;
}

static void no_means(void) {
  struct tree tree = tree_sample();
  struct pfp_bundle expected = measure_cold(&tree);
  faults_reset();
  test_case("descriptors");
  CHECK(in_child(few_descriptors, &tree));
  test_case("threads");
  if (!SANITIZED) CHECK(in_child(no_threads, &tree));
  // Memory runs out at each allocation in turn, until all succeed.
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_TRUSTING; policy++) {
    struct pfp_files *files = files_new((enum pfp_policy)policy, 10);
    int result = PFP_E_RESOURCE;
    for (unsigned good = 0; good < 20 && result != PFP_OK; good++) {
      struct pfp_bundle bundle;
      faults_reset();
      faults.pages_fail = true;
      faults.pages_good = good;
      test_case("policy %u, %u allocations succeed", policy, good);
      result = pfp_files_digest_bundle(files, tree.root, NULL, NULL, &bundle);
      CHECK(result == PFP_OK || result == PFP_E_RESOURCE);
      if (result == PFP_OK) CHECK_BYTES(bundle.digest, expected.digest, 32);
    }
    CHECK_NUMBER(result, PFP_OK);
    faults_reset();
    struct pfp_bundle bundle = measure(files, &tree);
    CHECK_BYTES(bundle.digest, expected.digest, 32);
    pfp_files_free(files);
  }
  tree_drop(&tree);
}

static const struct test tests[] = {
    TEST("a root that is missing, no folder, a device or a loop is told apart", bad_roots),
    TEST("options out of range are refused", bad_options),
    TEST("an entry that cannot be opened is absent, each time", unreadable),
    TEST("an entry whose read fails is absent", read_errors),
    TEST("a sparse file of 1 TiB is refused by the limit, unread", sparse),
    TEST("the limit is of all contents together, known or read", sums),
    TEST("folders nested too deep and paths too long are refused by name", deep),
    TEST("without descriptors, threads or memory nothing is taken for absent", no_means),
};

const struct suite files_bad_suite = SUITE("bad input", tests);
