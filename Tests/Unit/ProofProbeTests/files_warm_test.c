// SPDX-License-Identifier: Apache-2.0

/// Measuring again: what did not change is not read, and what is reported is the same.

#define _GNU_SOURCE

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "system/platform.h"
#include "harness.h"
#include "probe_suites.h"
#include "tree.h"

static uint64_t files_read(const struct pfp_files *files) { return pfp_files_statistics(files)->files_read; }

struct sum {
  uint64_t count;
  uint8_t bytes[64];
};

/// Everything an entry says, in order.
static int add_up(void *user, const struct pfp_entry *entry) {
  struct sum *sum = user;
  uint8_t line[128] = {entry->type, entry->state};
  sum->count++;
  put64(line + 2, entry->size);
  put16(line + 10, entry->mode);
  memcpy(line + 12, entry->content, 32);
  memcpy(line + 44, entry->digest, 32);
  line[76] = (uint8_t)entry->path_size;
  for (size_t i = 0; i < entry->path_size; i++) line[77 + i % 48] = (uint8_t)(line[77 + i % 48] * 31 + entry->path[i]);
  for (unsigned i = 0; i < sizeof line; i++) {
    sum->bytes[i % 64] = (uint8_t)(sum->bytes[i % 64] * 167 + line[i] + sum->bytes[(i + 1) % 64]);
  }
  return 0;
}

static void nothing_is_read(void) {
  for (unsigned way = 0; way < 3; way++) {
    static const uint32_t descriptors[] = {0, 5, 1000};
    struct tree tree = tree_sample();
    struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, descriptors[way]);
    struct sum first = {0};
    struct pfp_bundle cold, warm;
    faults_reset();
    test_case("%u descriptors", descriptors[way]);
    CHECK_NUMBER(pfp_files_digest_bundle(files, tree.root, add_up, &first, &cold), PFP_OK);
    CHECK_COUNT(pfp_files_statistics(files)->reused, 0);
    CHECK(pfp_files_statistics(files)->descriptors <= descriptors[way]);
    CHECK(way == 0 || pfp_files_statistics(files)->descriptors > 0);
    for (unsigned round = 0; round < 3; round++) {
      struct sum again = {0};
      CHECK_NUMBER(pfp_files_digest_bundle(files, tree.root, add_up, &again, &warm), PFP_OK);
      CHECK_COUNT(files_read(files), 0);
      CHECK_COUNT(pfp_files_statistics(files)->reused, pfp_files_statistics(files)->files);
      CHECK_BYTES(&warm, &cold, sizeof cold);
      CHECK_BYTES(&again, &first, sizeof first);
    }
    pfp_files_free(files);
    tree_drop(&tree);
  }
}

/// A caller that kept the entries gets them again only if it may be another bundle.
static void known_entries_are_not_told_again(void) {
  struct tree tree = tree_sample();
  struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 1000);
  struct sum first = {0}, again = {0}, other = {0};
  struct pfp_bundle cold, warm;
  uint8_t known[32], wrong[32];
  faults_reset();
  CHECK_NUMBER(pfp_files_digest_known_bundle(files, tree.root, NULL, add_up, &first, &cold), PFP_OK);
  memcpy(known, cold.digest, sizeof known);
  memcpy(wrong, cold.digest, sizeof wrong);
  wrong[31] ^= 1;
  CHECK_NUMBER(pfp_files_digest_known_bundle(files, tree.root, known, add_up, &again, &warm), PFP_OK);
  CHECK_COUNT(again.count, 0);
  CHECK_BYTES(&warm, &cold, sizeof cold);
  test_case("another digest is known");
  CHECK_NUMBER(pfp_files_digest_known_bundle(files, tree.root, wrong, add_up, &again, &warm), PFP_OK);
  CHECK_BYTES(&again, &first, sizeof first);
  test_case("a file changed");
  tree_poke(&tree, "lib/small-9", 3, '!');
  CHECK_NUMBER(pfp_files_digest_known_bundle(files, tree.root, known, add_up, &other, &warm), PFP_OK);
  CHECK_COUNT(other.count, first.count);
  CHECK_DIFFER(warm.digest, cold.digest, 32);
  pfp_files_free(files);
  tree_drop(&tree);
}

/// One file of many changes: that one is read, the others are not.
static void only_what_changed(void) {
  for (uint32_t descriptors = 0; descriptors <= 1000; descriptors += 1000) {
    struct tree tree = tree_sample();
    struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, descriptors);
    faults_reset();
    (void)measure(files, &tree);
    tree_poke(&tree, "lib/small-9", 3, '!');
    struct pfp_bundle cold = measure_cold(&tree), warm = measure(files, &tree);
    CHECK_BYTES(warm.digest, cold.digest, 32);
    CHECK_COUNT(files_read(files), 1);
    tree_touch(&tree, "lib/long");
    tree_text(&tree, "lib/new", "new");
    tree_remove(&tree, "lib/small-11");
    tree_rename(&tree, "lib/deep", "lib/deeper");
    cold = measure_cold(&tree);
    warm = measure(files, &tree);
    CHECK_BYTES(warm.digest, cold.digest, 32);
    // Entries of the renamed folder have other paths, so they are not looked up.
    CHECK_COUNT(files_read(files), 3);
    warm = measure(files, &tree);
    CHECK_BYTES(warm.digest, cold.digest, 32);
    CHECK_COUNT(files_read(files), 0);
    pfp_files_free(files);
    tree_drop(&tree);
  }
}

static void full_keeps_nothing(void) {
  struct tree tree = tree_sample();
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 1000);
  for (unsigned round = 0; round < 3; round++) {
    (void)measure(files, &tree);
    CHECK_COUNT(files_read(files), pfp_files_statistics(files)->files);
    CHECK_COUNT(pfp_files_statistics(files)->reused, 0);
    CHECK_COUNT(pfp_files_statistics(files)->descriptors, 0);
  }
  pfp_files_free(files);
  tree_drop(&tree);
}

static void forgotten(void) {
  struct tree tree = tree_sample(), other = tree_sample();
  struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 1000);
  faults_reset();
  struct pfp_bundle first = measure(files, &tree), again;
  pfp_files_forget(files);
  again = measure(files, &tree);
  CHECK_COUNT(files_read(files), pfp_files_statistics(files)->files);
  // Another bundle is another bundle, even one like it.
  again = measure(files, &other);
  CHECK_COUNT(files_read(files), pfp_files_statistics(files)->files);
  CHECK_BYTES(again.digest, first.digest, 32);
  again = measure(files, &other);
  CHECK_COUNT(files_read(files), 0);
  pfp_files_free(files);
  tree_drop(&tree);
  tree_drop(&other);
}

/// The same path leads to another folder.
static void another_root(void) {
  struct tree tree = tree_sample(), other = tree_sample(), link;
  struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 1000);
  faults_reset();
  tree_text(&other, "readme", "changed!\n");
  link = tree_make();
  tree_link(&link, "current", tree.root);
  (void)snprintf(link.root + strlen(link.root), sizeof link.root - strlen(link.root), "/current");
  (void)measure(files, &link);
  (void)measure(files, &link);
  CHECK_COUNT(files_read(files), 0);
  REQUIRE(CHECK(unlink(link.root) == 0 && symlink(other.root, link.root) == 0));
  struct pfp_bundle cold = measure_cold(&other), warm = measure(files, &link);
  CHECK_BYTES(warm.digest, cold.digest, 32);
  pfp_files_free(files);
  tree_drop(&tree);
  tree_drop(&other);
}

static void single_files(void) {
  struct tree tree = tree_sample();
  struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 0), *full = files_new(PFP_POLICY_FULL, 0);
  static const char *const paths[] = {"empty", "lib/one-more", "lib/long", "link"};
  faults_reset();
  for (unsigned i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    const char *path = tree_path(&tree, paths[i]);
    struct pfp_entry cold, first, again;
    test_case("%s", paths[i]);
    CHECK_NUMBER(pfp_files_digest_file(full, path, &cold), PFP_OK);
    CHECK_NUMBER(pfp_files_digest_file(files, path, &first), PFP_OK);
    CHECK_COUNT(files_read(files), 1);
    CHECK_NUMBER(pfp_files_digest_file(files, path, &again), PFP_OK);
    CHECK_COUNT(files_read(files), 0);
    CHECK_BYTES(first.digest, cold.digest, 32);
    CHECK_BYTES(again.digest, cold.digest, 32);
    tree_poke(&tree, paths[i], 0, (char)('0' + i));
    CHECK_NUMBER(pfp_files_digest_file(full, path, &cold), PFP_OK);
    CHECK_NUMBER(pfp_files_digest_file(files, path, &again), PFP_OK);
    CHECK_COUNT(files_read(files), 1);
    CHECK_BYTES(again.digest, cold.digest, 32);
    CHECK_DIFFER(again.digest, first.digest, 32);
  }
  pfp_files_free(files);
  pfp_files_free(full);
  tree_drop(&tree);
}

// Not kept -------------------------------------------------------------------------------------------------------

static void recent(void) {
  static const uint64_t ms = 1000000, s = 1000000000;
  static const struct {
    uint64_t changed, now;
    bool settled;
  } cases[] = {
      {100 * s + 1, 100 * s + 1, false},       {100 * s + 1, 100 * s + 19 * ms, false},
      {100 * s + 1, 100 * s + 21 * ms, true},  {100 * s + 1, 200 * s, true},
      {100 * s + 1, 100 * s, false},           {100 * s, 100 * s + 999 * ms, false},
      {100 * s, 101 * s + 999 * ms, false},    {100 * s, 102 * s, true},
      {300 * s + 5, 200 * s, false},
  };
  struct tree tree = tree_sample();
  struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 1000);
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_case("case %u", i);
    CHECK(pfp_keep_settled(cases[i].changed, cases[i].now) == cases[i].settled);
  }
  // The clock of the files themselves, set back by an hour: all of them were changed in the future.
  faults_reset();
  faults.clock_ahead = (uint64_t)0 - 3600 * s;
  test_case("the clock was set back");
  struct pfp_bundle first = measure(files, &tree), again = measure(files, &tree);
  CHECK_COUNT(pfp_files_statistics(files)->unkept_recent, pfp_files_statistics(files)->files);
  CHECK_COUNT(files_read(files), pfp_files_statistics(files)->files);
  CHECK_BYTES(again.digest, first.digest, 32);
  faults_reset();
  (void)measure(files, &tree);
  // Set forward or back, what is known is still known: clocks are asked when files are read, not when they are not.
  faults.clock_ahead = (uint64_t)0 - 3600 * s;
  again = measure(files, &tree);
  CHECK_COUNT(files_read(files), 0);
  CHECK_BYTES(again.digest, first.digest, 32);
  faults_reset();
  pfp_files_free(files);
  tree_drop(&tree);
}

static void memory_file_systems(void) {
  char root[] = "/dev/shm/probe-files-XXXXXX";
  struct tree tree = tree_sample(), memory;
  struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 1000);
  faults_reset();
  REQUIRE(CHECK(mkdtemp(root) != NULL && chmod(root, 0755) == 0));
  (void)snprintf(memory.root, sizeof memory.root, "%s", root);
  tree_copy(&memory, &tree);
  struct pfp_bundle first = measure_cold(&tree), again;
  for (unsigned round = 0; round < 2; round++) {
    again = measure(files, &memory);
    CHECK_BYTES(again.digest, first.digest, 32);
    CHECK_COUNT(pfp_files_statistics(files)->unkept_foreign, pfp_files_statistics(files)->files);
    CHECK_COUNT(files_read(files), pfp_files_statistics(files)->files);
  }
  pfp_files_free(files);
  tree_drop(&memory);
  tree_drop(&tree);
}

static void little_room(void) {
  struct tree tree = tree_make();
  struct pfp_files *files;
  struct pfp_files_options file_options = {.key = {1, 2, 3},
                                           .salt = {4, 5, 6},
                                           .policy = PFP_POLICY_TRUSTING,
                                           .limit_log2 = 40,
                                           .cache_bytes = 40000,
                                           .descriptors = 1000};
  faults_reset();
  for (unsigned i = 0; i < 900; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "%04u", i);
    tree_noise(&tree, name, i, i);
  }
  REQUIRE(CHECK_NUMBER(pfp_files_create(&files, &file_options), PFP_OK));
  struct pfp_bundle cold = measure_cold(&tree);
  for (unsigned round = 0; round < 3; round++) {
    struct pfp_bundle bundle = measure(files, &tree);
    const struct pfp_files_statistics *statistics = pfp_files_statistics(files);
    CHECK_BYTES(bundle.digest, cold.digest, 32);
    CHECK(statistics->unkept_full > 300 && statistics->unkept_full < 900);
    CHECK_COUNT(statistics->files_read, round == 0 ? 900 : statistics->unkept_full);
    CHECK_COUNT(statistics->files_read + statistics->reused, 900);
    CHECK(statistics->descriptors <= 900 - statistics->unkept_full + 1);
  }
  pfp_files_free(files);
  tree_drop(&tree);
}

static void no_word_about_mounts(void) {
  struct tree tree = tree_sample();
  faults_reset();
  faults.no_mounts = true;
  struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 1000);
  faults_reset();
  struct pfp_bundle first = measure(files, &tree), again = measure(files, &tree);
  CHECK_COUNT(pfp_files_statistics(files)->descriptors, 0);
  CHECK_COUNT(files_read(files), 0);
  CHECK_BYTES(again.digest, first.digest, 32);
  pfp_files_free(files);
  tree_drop(&tree);
}

static int stop(void *user, const struct pfp_entry *entry) {
  unsigned *left = user;
  (void)entry;
  return (*left)-- == 0;
}

/// A failed measurement loses nothing that was learned before it, and adds nothing that was not.
static void after_failure(void) {
  struct tree tree = tree_make();
  struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 2000);
  faults_reset();
  for (unsigned i = 0; i < 1200; i++) {
    char name[64];
    (void)snprintf(name, sizeof name, "%04u-with-a-name-so-that-pages-are-many", i);
    tree_noise(&tree, name, 10 + i, i);
  }
  (void)measure(files, &tree);
  for (unsigned round = 0; round < 10; round++) {
    unsigned left = round * 130, most = left;
    struct pfp_bundle bundle;
    // Some of it has to be looked at anew, so that the bundle is walked.
    tree_poke(&tree, "0600-with-a-name-so-that-pages-are-many", 1, (char)round);
    test_case("cancelled after %u entries", most);
    CHECK_NUMBER(pfp_files_digest_bundle(files, tree.root, stop, &left, &bundle), PFP_E_CANCELLED);
    struct pfp_bundle cold = measure_cold(&tree), warm = measure(files, &tree);
    CHECK_BYTES(warm.digest, cold.digest, 32);
    // At most the page that was being read is lost, and what was under way.
    CHECK(files_read(files) < 1200);
    CHECK(round == 0 || pfp_files_statistics(files)->reused > 0);
  }
  pfp_files_free(files);
  tree_drop(&tree);
}

static int stop_at_once(void *user, const struct pfp_progress *progress) {
  (void)progress;
  return atomic_load((atomic_bool *)user);
}

/// A bundle that is known is not walked: looking at each entry of it must hear a cancel too.
static void cancelled_while_looking(void) {
  enum { COUNT = 3000 };
  atomic_bool stops = false;
  struct tree tree = tree_make();
  struct pfp_files_options made = {
      .policy = PFP_POLICY_TRUSTING, .limit_log2 = 40, .workers = 1, .progress = stop_at_once, .user = &stops};
  struct pfp_files *files;
  struct pfp_bundle first, bundle;
  faults_reset();
  for (unsigned i = 0; i < COUNT; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "%04u", i);
    tree_noise(&tree, name, i % 7, i);
  }
  REQUIRE(CHECK_NUMBER(pfp_files_create(&files, &made), PFP_OK));
  first = measure(files, &tree);
  atomic_store(&faults.looks, 0);
  (void)measure(files, &tree);
  CHECK(atomic_load(&faults.looks) >= COUNT);
  atomic_store(&stops, true);
  atomic_store(&faults.looks, 0);
  CHECK_NUMBER(pfp_files_digest_bundle(files, tree.root, NULL, NULL, &bundle), PFP_E_CANCELLED);
  CHECK(atomic_load(&faults.looks) < COUNT / 2);
  // Known entries are still known.
  atomic_store(&stops, false);
  bundle = measure(files, &tree);
  CHECK_BYTES(bundle.digest, first.digest, 32);
  pfp_files_free(files);
  tree_drop(&tree);
}

// Clean proofs ---------------------------------------------------------------------------------------------------

/// Reads, touches and backs up, as fast as it can, until it is ended.
static void meddle(const struct tree *tree, const struct tree *backup) {
  static char bytes[70000];
  for (unsigned round = 0;; round++) {
    char name[64];
    (void)snprintf(name, sizeof name, "lib/small-%u", round % 40);
    int fd = open(tree_path(tree, name), O_RDONLY | O_CLOEXEC);
    ssize_t size = read(fd, bytes, sizeof bytes);
    (void)close(fd);
    if (size >= 0 && round % 16 == 0) {
      (void)snprintf(name, sizeof name, "copy-%u", round % 40);
      tree_file(backup, name, bytes, (size_t)size);
    }
    if (round % 8 == 0) {
      (void)snprintf(name, sizeof name, "lib/small-%u", round / 8 % 40);
      (void)utimensat(AT_FDCWD, tree_path(tree, name), NULL, 0);
    }
  }
}

static void no_false_alarm(void) {
  unsigned proofs = options.thorough ? 100000 : 2000;
  struct tree tree = tree_sample(), backup = tree_make();
  struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 1000);
  uint64_t retries = 0, reread = 0;
  faults_reset();
  struct pfp_bundle first = measure(files, &tree);
  (void)fflush(stdout);
  pid_t child = fork();
  REQUIRE(CHECK(child >= 0));
  if (child == 0) meddle(&tree, &backup);
  for (unsigned i = 0; i < proofs; i++) {
    struct pfp_bundle again;
    int result = pfp_files_digest_bundle(files, tree.root, NULL, NULL, &again);
    test_case("proof %u of %u: %s", i, proofs, pfp_files_failure(files)->path);
    if (!CHECK_NUMBER(result, PFP_OK) || !CHECK_BYTES(again.digest, first.digest, 32)) break;
    retries += pfp_files_statistics(files)->retries;
    reread += files_read(files);
  }
  (void)kill(child, SIGKILL);
  (void)waitpid(child, NULL, 0);
  test_note("%u clean proofs beside a process that reads, touches and copies: %llu files read again, %llu while it "
            "touched them",
            proofs, (unsigned long long)reread, (unsigned long long)retries);
  pfp_files_free(files);
  tree_drop(&tree);
  tree_drop(&backup);
}

static const struct test tests[] = {
    TEST("nothing changed: nothing is read, and every entry is reported as before", nothing_is_read),
    TEST("entries that the caller knows are told again only when they may have changed",
         known_entries_are_not_told_again),
    TEST("only what changed is read", only_what_changed),
    TEST("the full policy keeps nothing", full_keeps_nothing),
    TEST("a forgotten bundle, and another one, is read", forgotten),
    TEST("another folder at the same path is another bundle", another_root),
    TEST("single files are kept too", single_files),
    TEST("a file that changed too recently is not kept, with any clock", recent),
    TEST("on a file system that does not tell changes nothing is kept", memory_file_systems),
    TEST("entries beyond the limit are read each time, and counted", little_room),
    TEST("no descriptor is kept if the mounts cannot be watched", no_word_about_mounts),
    TEST("a measurement that was cancelled loses little and invents nothing", after_failure),
    TEST("a cancel is heard while a known bundle is looked at", cancelled_while_looking),
    TEST("reading, touching and copying raise no alarm", no_false_alarm),
};

const struct suite files_warm_suite = SUITE("warm", tests);
