// SPDX-License-Identifier: Apache-2.0

/// The cost of a measurement: memory that grows with what is kept only, and calls and bytes that grow with it in a
/// straight line. Counted, not timed.

#define _GNU_SOURCE

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "harness.h"
#include "peak.h"
#include "probe_suites.h"
#include "tree.h"

// Memory ---------------------------------------------------------------------------------------------------------

/// Bytes that the last digits of a name of `make_many` may add to an entry that is kept, and a share of its page's end.
enum { OWN_BYTES = 60 };

/// Entries with names as long as names can be; few inodes, so that making them does not take longer than measuring.
static void make_many(const struct tree *tree, unsigned count) {
  int fd = open(tree->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  char name[256], first[16] = "";
  memset(name, 'f', 255);
  name[255] = '\0';
  for (unsigned i = 0; i < count; i++) {
    if (i % 20000 == 0) {
      (void)snprintf(first, sizeof first, "%u", i);
      tree_text(tree, first, first);
    }
    (void)snprintf(name + 200, 56, "%055u", i * 7919u % count);
    if (!CHECK(linkat(fd, first, fd, name, 0) == 0)) break;
  }
  (void)close(fd);
}

struct last {
  char path[PFP_PATH_MAX + 1];
  unsigned count;
};

static int increasing(void *user, const struct pfp_entry *entry) {
  struct last *last = user;
  if (last->count++ > 0 && strcmp(last->path, entry->path) >= 0) return 1;
  (void)strcpy(last->path, entry->path);
  return 0;
}

/// All that is needed is mapped and linked before the baseline is taken.
static bool in_8_mib(void *user) {
  const struct tree *tree = user;
  struct tree small = tree_make();
  bool good = true;
  faults_reset();
  tree_text(&small, "x", "x");
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_TRUSTING; policy++) {
    uint64_t kept = 0;
    long baseline = peak_kib();
    struct pfp_files *files = files_new((enum pfp_policy)policy, 0);
    for (unsigned round = 0; round < 2; round++) {
      struct pfp_bundle bundle = measure(files, tree);
      good = bundle.entries != 0 && good;
      kept = pfp_files_statistics(files)->reused;
    }
    pfp_files_free(files);
    long more = peak_kib() - baseline;
    test_note("policy %u: %ld KiB above the baseline, %llu entries kept", policy, more, (unsigned long long)kept);
    good = CHECK(policy != PFP_POLICY_FULL || kept == 0) && good;
    good = CHECK(SANITIZED || more < (8 << 10) + (long)(kept * (PFP_CACHE_ENTRY_BYTES + OWN_BYTES) >> 10)) && good;
  }
  tree_drop(&small);
  return good;
}

static void hundred_thousand(void) {
  enum { COUNT = SANITIZED ? 30000 : 100000, FIRST_NAMES = (COUNT + 19999) / 20000 };
  static struct last last;
  struct tree tree = tree_make();
  struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 0);
  struct pfp_bundle bundle, again;
  faults_reset();
  last.count = 0;
  make_many(&tree, COUNT);
  CHECK_NUMBER(pfp_files_digest_bundle(files, tree.root, increasing, &last, &bundle), PFP_OK);
  CHECK_COUNT(bundle.entries, COUNT + FIRST_NAMES);
  CHECK_COUNT(pfp_files_statistics(files)->unkept_full, 0);
  again = measure(files, &tree);
  CHECK_BYTES(again.digest, bundle.digest, 32);
  CHECK_COUNT(pfp_files_statistics(files)->reused, COUNT + FIRST_NAMES);
  CHECK_COUNT(pfp_files_statistics(files)->files_read, 0);
  // Skip under a sanitizer: its own memory is no property of the probe, and it takes minutes.
  if (!SANITIZED) CHECK(in_child(in_8_mib, &tree));
  pfp_files_free(files);
  tree_drop(&tree);
}

/// Entries that do not fit are read at each measurement. Those that fit stay the same, and are never read again.
static void forty_thousand(void) {
  enum { COUNT = SANITIZED ? 20000 : 40000, FIRST_NAMES = (COUNT + 19999) / 20000, ALL = COUNT + FIRST_NAMES };
  struct tree tree = tree_make();
  faults_reset();
  make_many(&tree, COUNT);
  struct pfp_bundle cold = measure_cold(&tree);
  // From the default down to no room for one page.
  static const uint32_t limits[] = {0, 1u << 20, 1u << 16, 1};
  for (unsigned i = 0; i < sizeof limits / sizeof limits[0]; i++) {
    struct pfp_files_options made = {
        .policy = PFP_POLICY_TRUSTING, .limit_log2 = 40, .key = {1, 2, 3}, .salt = {4, 5, 6}, .cache_bytes = limits[i]};
    struct pfp_files *files;
    uint64_t unkept = 0;
    test_case("cache_bytes %u", limits[i]);
    REQUIRE(CHECK_NUMBER(pfp_files_create(&files, &made), PFP_OK));
    for (unsigned round = 0; round < 4; round++) {
      struct pfp_bundle bundle = measure(files, &tree);
      const struct pfp_files_statistics *now = pfp_files_statistics(files);
      CHECK_BYTES(bundle.digest, cold.digest, 32);
      if (round == 0) unkept = now->unkept_full;
      CHECK_COUNT(now->unkept_full, unkept);
      CHECK_COUNT(now->files_read, round == 0 ? ALL : unkept);
      CHECK_COUNT(now->reused, round == 0 ? 0 : ALL - unkept);
    }
    if (limits[i] == 0) CHECK_COUNT(unkept, 0);
    if (limits[i] == 1) CHECK_COUNT(unkept, ALL);
    if (limits[i] > 1) CHECK((ALL - unkept) * (PFP_CACHE_ENTRY_BYTES + OWN_BYTES) >= limits[i] / 2);
    test_note("limit %u: %llu of %u kept", limits[i], (unsigned long long)(ALL - unkept), ALL);
    pfp_files_free(files);
  }
  tree_drop(&tree);
}

static void long_file_memory(void) {
  struct tree tree = tree_make();
  faults_reset();
  tree_text(&tree, "long", "");
  REQUIRE(CHECK(truncate(tree_path(&tree, "long"), (off_t)(SANITIZED ? 100 : 1024) << 20) == 0));
  for (unsigned i = 0; i < 40; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "%u", i);
    tree_noise(&tree, name, 1200000 + 70000 * i, i);
  }
  CHECK(in_child(in_8_mib, &tree));
  tree_drop(&tree);
}

/// Held back now and then, so that another worker gets ahead. Two reads of others are enough: on a busy machine each
/// turn of the processor that is given away may take milliseconds to come back.
static void throttle(int fd) {
  static atomic_uint_fast64_t rolls;
  const uint64_t own = atomic_fetch_add(&rolls, 1);
  struct dice dice = {own};
  (void)fd;
  for (uint32_t i = dice_below(&dice, 4) == 0 ? dice_below(&dice, 200) : 0; i != 0; i--) {
    if (atomic_load(&rolls) > own + 2) break;
    (void)sched_yield();
  }
}

/// With as many workers as may be; read by calls, and mapped.
static bool many_workers(void *user) {
  const struct tree *tree = user;
  long baseline = peak_kib();
  // An end of the test, not a part of what it asserts.
  (void)alarm(3600);
  struct pfp_bundle expected = measure_cold(tree);
  bool good = true;
  for (unsigned mapped = 0; mapped < 2; mapped++) {
    faults.no_maps = mapped == 0;
    for (unsigned workers = 1; workers <= 4; workers *= 2) {
      // One worker gets ahead of no other.
      faults.after_read = workers > 1 ? throttle : NULL;
      for (unsigned round = 0; round < (options.thorough ? 200u : 4u); round++) {
        struct pfp_files *files = files_workers(workers);
        struct pfp_bundle bundle = measure(files, tree);
        good = CHECK_BYTES(bundle.digest, expected.digest, 32) && good;
        pfp_files_free(files);
      }
      long more = peak_kib() - baseline;
      test_note("%s, %u workers: %ld KiB above the baseline", mapped ? "mapped" : "read", workers, more);
      good = CHECK(SANITIZED || more < 8 << 10) && good;
    }
  }
  return good;
}

static void long_among_short(void) {
  static const unsigned mebibytes[] = {9, 12, 24, 48};
  struct tree tree = tree_make();
  faults_reset();
  for (unsigned i = 0; i < 4; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "%u", i);
    tree_text(&tree, name, "");
    REQUIRE(CHECK(truncate(tree_path(&tree, name), (off_t)mebibytes[i] << 20) == 0));
    for (unsigned j = 0; j < 15; j++) {
      (void)snprintf(name, sizeof name, "%u-%u", i, j);
      tree_noise(&tree, name, 3000 + 7000 * j, j);
    }
  }
  CHECK(in_child(many_workers, &tree));
  faults_reset();
  tree_drop(&tree);
}

// Calls and bytes ------------------------------------------------------------------------------------------------

/// Calls of the platform in one measurement.
struct cost {
  uint64_t opens, reads, looks, bytes;
};

static struct cost cost_of(struct pfp_files *files, const struct tree *tree) {
  atomic_store(&faults.opens, 0);
  atomic_store(&faults.reads_made, 0);
  atomic_store(&faults.looks, 0);
  (void)measure(files, tree);
  return (struct cost){atomic_load(&faults.opens), atomic_load(&faults.reads_made), atomic_load(&faults.looks),
                       pfp_files_statistics(files)->bytes_read};
}

static bool same_cost(const struct cost *a, const struct cost *b) {
  return CHECK_COUNT(a->opens, b->opens) && CHECK_COUNT(a->reads, b->reads) && CHECK_COUNT(a->looks, b->looks) &&
         CHECK_COUNT(a->bytes, b->bytes);
}

/// Cost of `more` files more, the second time as the first.
static struct cost difference(const struct cost *a, const struct cost *b) {
  return (struct cost){b->opens - a->opens, b->reads - a->reads, b->looks - a->looks, b->bytes - a->bytes};
}

static void linear_in_files(void) {
  enum { STEP = 700, STEPS = 3, SIZE = 4096 };
  static const struct {
    enum pfp_policy policy;
    uint32_t descriptors;
  } ways[] = {{PFP_POLICY_FULL, 0}, {PFP_POLICY_TRUSTING, 0}, {PFP_POLICY_TRUSTING, 100000}};
  for (unsigned way = 0; way < sizeof ways / sizeof ways[0]; way++) {
    struct cost cold[STEPS], warm[STEPS];
    struct tree tree = tree_make();
    faults_reset();
    for (unsigned step = 0; step < STEPS; step++) {
      struct pfp_files *files = files_new(ways[way].policy, ways[way].descriptors);
      for (unsigned i = step * STEP; i < (step + 1) * STEP; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%06u", i);
        tree_noise(&tree, name, SIZE, i);
      }
      cold[step] = cost_of(files, &tree);
      warm[step] = cost_of(files, &tree);
      pfp_files_free(files);
    }
    test_case("way %u", way);
    for (unsigned step = 2; step < STEPS; step++) {
      struct cost before = difference(&cold[step - 2], &cold[step - 1]), now = difference(&cold[step - 1], &cold[step]);
      (void)same_cost(&now, &before);
      before = difference(&warm[step - 2], &warm[step - 1]);
      now = difference(&warm[step - 1], &warm[step]);
      (void)same_cost(&now, &before);
    }
    // Each file is opened once and read once; warm, it is looked at once and nothing else.
    struct cost one = difference(&cold[0], &cold[1]);
    CHECK_COUNT(one.opens, STEP);
    CHECK_COUNT(one.reads, STEP);
    CHECK_COUNT(one.bytes, (uint64_t)STEP * SIZE);
    one = difference(&warm[0], &warm[1]);
    CHECK_COUNT(one.opens, ways[way].policy == PFP_POLICY_FULL ? STEP : 0);
    CHECK_COUNT(one.bytes, ways[way].policy == PFP_POLICY_FULL ? (uint64_t)STEP * SIZE : 0);
    if (ways[way].policy == PFP_POLICY_TRUSTING) CHECK_COUNT(one.looks, STEP);
    tree_drop(&tree);
  }
}

static void linear_in_bytes(void) {
  enum { STEPS = 4 };
  struct tree tree = tree_make();
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
  faults_reset();
  // Mapped files are not read by calls; the way that counts is the other one.
  faults.no_maps = true;
  tree_text(&tree, "long", "");
  for (unsigned step = 1; step <= STEPS; step++) {
    uint64_t size = (uint64_t)step * 16 * PFP_LEAF_BYTES;
    REQUIRE(CHECK(truncate(tree_path(&tree, "long"), (off_t)size) == 0));
    struct cost cost = cost_of(files, &tree);
    test_case("%llu bytes", (unsigned long long)size);
    CHECK_COUNT(cost.bytes, size);
    CHECK_COUNT(cost.reads, size / PFP_LEAF_BYTES);
    CHECK_COUNT(cost.opens, 2);  // The root and the file
  }
  faults_reset();
  pfp_files_free(files);
  tree_drop(&tree);
}

static const struct test tests[] = {
    TEST("100,000 entries in one folder come in order, in 8 MiB and 140 bytes for each that is kept", hundred_thousand),
    TEST("40,000 files are read once, and beyond the limit as many stay kept", forty_thousand),
    TEST("long files need no more than 8 MiB either", long_file_memory),
    TEST("throttled files of 9 to 48 MiB among short ones end on 1, 2 and 4 workers, in 8 MiB", long_among_short),
    TEST("each file more costs what the one before it cost, cold and warm", linear_in_files),
    TEST("each leaf more costs one read", linear_in_bytes),
};

const struct suite files_cost_suite = SUITE("cost", tests);
