// SPDX-License-Identifier: Apache-2.0

/// Files measured by themselves: what is kept of them, how much memory it takes, and what guards them.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context/context.h"
#include "harness.h"
#include "probe_suites.h"
#include "tree.h"

static struct pfp_files *with_cache(enum pfp_policy policy, uint32_t cache_bytes) {
  // Descriptors are kept of a bundle's entries alone.
  struct pfp_files_options made = {.key = {1, 2, 3},
                                   .salt = {4, 5, 6},
                                   .policy = (uint8_t)policy,
                                   .limit_log2 = 40,
                                   .cache_bytes = cache_bytes,
                                   .descriptors = 10};
  struct pfp_files *files;
  CHECK_NUMBER(pfp_files_create(&files, &made), PFP_OK);
  return files;
}

/// Measures the file; whether its digest was known.
static bool known(struct pfp_files *files, const struct tree *tree, const char *path) {
  const struct pfp_files_statistics *statistics = pfp_files_statistics(files);
  struct pfp_entry entry;
  CHECK_NUMBER(pfp_files_digest_file(files, tree_path(tree, path), &entry), PFP_OK);
  CHECK_COUNT(statistics->files, 1);
  CHECK_COUNT(statistics->files_read + statistics->reused, 1);
  CHECK_COUNT(statistics->bytes_read, statistics->reused == 1 ? 0 : entry.size);
  // Those of the bundle's entries, of which there is one at most.
  CHECK_COUNT(statistics->descriptors, files->known.entries);
  return statistics->reused == 1;
}

/// A digest that is kept takes its structure, and the path with its end.
static void memory_of_one_file(void) {
  struct tree tree = tree_make();
  faults_reset();
  tree_text(&tree, "one", "text");
  tree_text(&tree, "two", "other");
  size_t size = sizeof(struct pfp_single) + strlen(tree_path(&tree, "one")) + 1;
  for (unsigned room = 1; room <= 2; room++) {
    for (unsigned less = 0; less < 2; less++) {
      struct pfp_files *files = with_cache(PFP_POLICY_TRUSTING, (uint32_t)(room * size - less));
      bool first = room == 2 || less == 0, second = room == 2 && less == 0;
      test_case("room for %u files less %u", room, less);
      for (unsigned round = 0; round < 3; round++) {
        CHECK(known(files, &tree, "one") == (first && round % 2 == 1));
        CHECK_COUNT(pfp_files_statistics(files)->unkept_full, first ? 0 : 1);
        CHECK(known(files, &tree, "two") == (second && round % 2 == 1));
        CHECK_COUNT(pfp_files_statistics(files)->unkept_full, second ? 0 : 1);
        // Memory of what is forgotten is free again.
        if (round == 1) pfp_files_forget(files);
      }
      pfp_files_free(files);
    }
  }
  tree_drop(&tree);
}

/// A file whose digest is not kept takes no memory from another one.
static void memory_of_no_file(void) {
  struct tree tree = tree_make();
  faults_reset();
  tree_text(&tree, "one", "text");
  tree_text(&tree, "two", "other");
  size_t size = sizeof(struct pfp_single) + strlen(tree_path(&tree, "one")) + 1;
  struct pfp_files *files = with_cache(PFP_POLICY_TRUSTING, (uint32_t)size);
  int writer = open(tree_path(&tree, "one"), O_WRONLY | O_CLOEXEC);
  CHECK(!known(files, &tree, "one"));
  CHECK_COUNT(pfp_files_statistics(files)->unkept_full, 0);
  CHECK(!known(files, &tree, "two") && known(files, &tree, "two"));
  (void)close(writer);
  CHECK(!known(files, &tree, "one"));
  CHECK_COUNT(pfp_files_statistics(files)->unkept_full, 1);
  pfp_files_free(files);
  tree_drop(&tree);
}

/// The default of the limit has room for a file; what is known of a bundle counts as well.
static void memory_beside_a_bundle(void) {
  struct tree tree = tree_make();
  faults_reset();
  tree_text(&tree, "one", "text");
  size_t size = sizeof(struct pfp_single) + strlen(tree_path(&tree, "one")) + 1;
  for (unsigned less = 0; less < 2; less++) {
    struct pfp_files *files = with_cache(PFP_POLICY_TRUSTING, (uint32_t)(32768 + size - less));
    (void)measure(files, &tree);
    CHECK_COUNT(files->known.bytes, 32768);
    CHECK(!known(files, &tree, "one"));
    CHECK(known(files, &tree, "one") == (less == 0));
    pfp_files_free(files);
  }
  struct pfp_files *files = with_cache(PFP_POLICY_TRUSTING, 0);
  CHECK_COUNT(files->options.cache_bytes, 67108864);
  CHECK(!known(files, &tree, "one") && known(files, &tree, "one"));
  pfp_files_free(files);
  tree_drop(&tree);
}

/// Many files, kept and changed: each has its own digest, wherever it stands in the list.
static void many_files(void) {
  enum { COUNT = 20 };
  struct tree tree = tree_make();
  struct pfp_files *files = with_cache(PFP_POLICY_TRUSTING, 0), *full = with_cache(PFP_POLICY_FULL, 0);
  faults_reset();
  for (unsigned i = 0; i < COUNT; i++) {
    char name[8];
    (void)snprintf(name, sizeof name, "%02u", i);
    tree_noise(&tree, name, 100 + i, i);
    CHECK(!known(files, &tree, name));
  }
  for (unsigned round = 0; round < 3; round++) {
    if (round == 1) tree_poke(&tree, "07", 5, '!');
    for (unsigned i = 0; i < COUNT; i++) {
      char name[8];
      struct pfp_entry entry, expected;
      (void)snprintf(name, sizeof name, "%02u", i);
      test_case("round %u, file %u", round, i);
      CHECK(known(files, &tree, name) == (round != 1 || i != 7));
      CHECK_NUMBER(pfp_files_digest_file(files, tree_path(&tree, name), &entry), PFP_OK);
      CHECK_NUMBER(pfp_files_digest_file(full, tree_path(&tree, name), &expected), PFP_OK);
      CHECK_BYTES(entry.digest, expected.digest, 32);
    }
  }
  pfp_files_free(files);
  pfp_files_free(full);
  tree_drop(&tree);
}

/// Each reason not to keep a digest is told, and the file is kept once the reason is gone.
static void reasons_not_to_keep(void) {
  struct tree tree = tree_make(), memory = {"/dev/shm"};
  struct pfp_files *files = with_cache(PFP_POLICY_TRUSTING, 0), *incremental = with_cache(PFP_POLICY_INCREMENTAL, 0);
  const struct pfp_files_statistics *statistics = pfp_files_statistics(files);
  char name[64];
  faults_reset();
  tree_text(&tree, "file", "text");
  test_case("a writer");
  int fd = open(tree_path(&tree, "file"), O_WRONLY | O_CLOEXEC);
  for (unsigned round = 0; round < 2; round++) {
    CHECK(!known(files, &tree, "file"));
    CHECK_COUNT(statistics->unkept_writers, 1);
    CHECK_COUNT(statistics->unkept_recent + statistics->unkept_foreign + statistics->unkept_full, 0);
  }
  (void)close(fd);
  CHECK(!known(files, &tree, "file") && known(files, &tree, "file"));
  test_case("a recent change");
  tree_poke(&tree, "file", 0, 'T');
  faults.clock_ahead = (uint64_t)0 - UINT64_C(3600000000000);
  for (unsigned round = 0; round < 2; round++) {
    CHECK(!known(files, &tree, "file"));
    CHECK_COUNT(statistics->unkept_recent, 1);
    CHECK_COUNT(statistics->unkept_writers + statistics->unkept_foreign + statistics->unkept_full, 0);
  }
  faults_reset();
  CHECK(!known(files, &tree, "file") && known(files, &tree, "file"));
  test_case("another file system");
  (void)snprintf(name, sizeof name, "probe-single-%d", (int)getpid());
  tree_text(&memory, name, "text");
  for (unsigned round = 0; round < 2; round++) {
    CHECK(!known(files, &memory, name));
    CHECK_COUNT(statistics->unkept_foreign, 1);
    CHECK(!known(incremental, &memory, name));
    CHECK_COUNT(pfp_files_statistics(incremental)->unkept_foreign, 1);
  }
  tree_remove(&memory, name);
  test_case("an owner who is not trusted");
  for (unsigned round = 0; round < 2; round++) {
    CHECK(!known(incremental, &tree, "file"));
    CHECK_COUNT(pfp_files_statistics(incremental)->unkept_writable, 1);
    CHECK_COUNT(pfp_files_statistics(incremental)->unkept_full, 0);
  }
  pfp_files_free(files);
  pfp_files_free(incremental);
  tree_drop(&tree);
}

// Guarded ----------------------------------------------------------------------------------------------------------

struct guarded {
  const char *name;
  bool guarded;
};

static bool guarded_in_child(void *user) {
  static const struct guarded cases[] = {{"roots", true}, {"own", false}, {"others", false}, {"to-roots", true}};
  const struct tree *tree = user;
  struct tree here = {"."};
  bool good = true;
  if (chdir(tree->root) != 0) return false;
  become_ordinary();
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_TRUSTING; policy++) {
    struct pfp_files *files = with_cache((enum pfp_policy)policy, 0);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      const char *path = tree_path(&here, cases[i].name);
      bool trusting = policy == PFP_POLICY_TRUSTING, full = policy == PFP_POLICY_FULL;
      bool kept = !full && (trusting || cases[i].guarded);
      test_case("policy %u, %s", policy, cases[i].name);
      good = CHECK(!pfp_files_is_guarded(files, path)) && CHECK(pfp_files_may_keep(files, path) == kept) && good;
      good = CHECK(!known(files, &here, cases[i].name)) && good;
      good = CHECK(pfp_files_is_guarded(files, path) == (!full && cases[i].guarded)) && good;
      // The answer is known for a file that is kept.
      atomic_store(&faults.opens, 0);
      good = CHECK(pfp_files_may_keep(files, path) == kept) && good;
      good = CHECK_COUNT(atomic_load(&faults.opens), policy == PFP_POLICY_INCREMENTAL && !kept) && good;
      good = CHECK(known(files, &here, cases[i].name) == kept) && good;
      good = CHECK(pfp_files_is_guarded(files, path) == (!full && cases[i].guarded)) && good;
    }
    pfp_files_forget(files);
    good = CHECK(!pfp_files_is_guarded(files, tree_path(&here, "roots"))) && good;
    good = CHECK(!known(files, &here, "roots")) && good;
    if (policy == PFP_POLICY_INCREMENTAL) {
      static const char *const none[] = {"missing", "folder", "fifo", "secret", "dangling"};
      for (unsigned i = 0; i < sizeof none / sizeof none[0]; i++) {
        test_case("%s", none[i]);
        good = CHECK(!pfp_files_may_keep(files, tree_path(&here, none[i]))) && good;
      }
    }
    pfp_files_free(files);
  }
  return good && harness_failures() == 0;
}

static void files_that_are_guarded(void) {
  struct tree tree = tree_make();
  faults_reset();
  if (geteuid() != 0) {
    test_note("skipped: it takes root to make files of root's");
    tree_drop(&tree);
    return;
  }
  tree_text(&tree, "roots", "roots");
  tree_text(&tree, "own", "own");
  tree_text(&tree, "others", "others");
  tree_text(&tree, "secret", "secret");
  tree_mode(&tree, "secret", 0600);
  tree_mode(&tree, "others", 0646);
  tree_folder(&tree, "folder");
  tree_link(&tree, "to-roots", "roots");
  tree_link(&tree, "dangling", "nowhere");
  CHECK(mkfifo(tree_path(&tree, "fifo"), 0644) == 0);
  CHECK(chown(tree_path(&tree, "own"), 65534, 65534) == 0);
  CHECK(in_child(guarded_in_child, &tree));
  tree_drop(&tree);
}

static unsigned openings;

/// Another file takes the name after the first one was read.
static void replace_at_second_opening(const char *name) {
  if (strcmp(name, "./victim") == 0 && ++openings == 2 && rename("roots", "victim") != 0) abort();
}

static bool replaced_in_child(void *user) {
  const struct tree *tree = user;
  struct tree here = {"."};
  if (chdir(tree->root) != 0) return false;
  become_ordinary();
  struct pfp_files *files = with_cache(PFP_POLICY_TRUSTING, 0);
  faults.before_open = replace_at_second_opening;
  bool good = CHECK(!known(files, &here, "victim")) && CHECK_COUNT(openings, 2);
  good = CHECK(!pfp_files_is_guarded(files, "./victim")) && good;
  good = CHECK(!known(files, &here, "victim")) && CHECK(pfp_files_is_guarded(files, "./victim")) && good;
  pfp_files_free(files);
  return good && harness_failures() == 0;
}

/// The file that was read counts, and not the one that has its name a moment later.
static void a_guarded_file_in_its_place(void) {
  struct tree tree = tree_make();
  faults_reset();
  if (geteuid() != 0) {
    test_note("skipped: it takes root to make files of root's");
  } else {
    tree_text(&tree, "roots", "roots");
    tree_text(&tree, "victim", "victim");
    CHECK(chown(tree_path(&tree, "victim"), 65534, 65534) == 0 && chown(tree.root, 65534, 65534) == 0);
    CHECK(in_child(replaced_in_child, &tree));
  }
  tree_drop(&tree);
}

// Gone -----------------------------------------------------------------------------------------------------------

static const struct tree *gone_tree;

static void remove_before_open(const char *name) {
  (void)name;
  (void)unlink(tree_path(gone_tree, "file"));
}

/// A single file that vanishes before it is opened is missing, and what was known of it is not told.
static void a_file_that_vanishes(void) {
  struct tree tree = tree_make();
  struct pfp_files *files = with_cache(PFP_POLICY_TRUSTING, 0);
  struct pfp_entry entry;
  const char *path = tree_path(&tree, "file");
  gone_tree = &tree;
  faults_reset();
  tree_text(&tree, "file", "text");
  faults.before_open = remove_before_open;
  CHECK_NUMBER(pfp_files_digest_file(files, path, &entry), PFP_E_MISSING);
  CHECK_NUMBER(pfp_files_failure(files)->error, ENOENT);
  CHECK(strcmp(pfp_files_failure(files)->path, path) == 0);
  CHECK_ZEROS(&entry, sizeof entry);
  CHECK_COUNT(pfp_files_statistics(files)->retries, 0);
  faults_reset();
  pfp_files_free(files);
  tree_drop(&tree);
}

static const struct test tests[] = {
    TEST("a file is kept if its memory fits, and forgotten memory is free again", memory_of_one_file),
    TEST("a file that is not kept takes no memory", memory_of_no_file),
    TEST("files share the limit of the memory with the bundle", memory_beside_a_bundle),
    TEST("each of many files keeps its own digest", many_files),
    TEST("each reason not to keep a file's digest is told", reasons_not_to_keep),
    TEST("a file that only root can change is guarded", files_that_are_guarded),
    TEST("a guarded file that takes another one's place guards nothing", a_guarded_file_in_its_place),
    TEST("a file that vanishes before it is opened is missing", a_file_that_vanishes),
};

const struct suite files_singles_suite = SUITE("singles", tests);
