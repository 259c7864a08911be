/// What a measurement costs: memory that does not grow with the bundle, and calls and bytes that grow with it in a
/// straight line. Counted, not timed.

#define _GNU_SOURCE

#include <fcntl.h>
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
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_INCREMENTAL; policy++) {
    long baseline = peak_kib();
    struct pfp_files *files = files_new((enum pfp_policy)policy, 0);
    for (unsigned round = 0; round < 2; round++) {
      struct pfp_bundle bundle = measure(files, tree);
      good = bundle.entries != 0 && good;
    }
    pfp_files_free(files);
    long more = peak_kib() - baseline;
    test_note("%s: %ld KiB above the baseline", policy == PFP_POLICY_FULL ? "full" : "incremental", more);
    good = CHECK(SANITIZED || more < 8 << 10) && good;
  }
  tree_drop(&small);
  return good;
}

static void hundred_thousand(void) {
  enum { COUNT = SANITIZED ? 30000 : 100000, FIRST_NAMES = (COUNT + 19999) / 20000 };
  static struct last last;
  struct tree tree = tree_make();
  struct pfp_files *files = files_new(PFP_POLICY_INCREMENTAL, 0);
  struct pfp_bundle bundle, again;
  faults_reset();
  last.count = 0;
  make_many(&tree, COUNT);
  CHECK_NUMBER(pfp_files_digest_bundle(files, tree.root, increasing, &last, &bundle), PFP_OK);
  CHECK_COUNT(bundle.entries, COUNT + FIRST_NAMES);
  // They do not all fit into what may be known; that is told, and changes nothing.
  CHECK(pfp_files_statistics(files)->unkept_full > 0);
  again = measure(files, &tree);
  CHECK_BYTES(again.digest, bundle.digest, 32);
  CHECK(pfp_files_statistics(files)->reused > 0);
  CHECK_COUNT(pfp_files_statistics(files)->reused + pfp_files_statistics(files)->files_read, COUNT + FIRST_NAMES);
  // What a sanitizer adds is no property of the probe, and takes it minutes.
  if (!SANITIZED) CHECK(in_child(in_8_mib, &tree));
  pfp_files_free(files);
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

// Calls and bytes ------------------------------------------------------------------------------------------------

/// What one measurement asked of the platform.
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

/// What `more` files more cost, the second time as the first.
static struct cost difference(const struct cost *a, const struct cost *b) {
  return (struct cost){b->opens - a->opens, b->reads - a->reads, b->looks - a->looks, b->bytes - a->bytes};
}

static void linear_in_files(void) {
  enum { STEP = 700, STEPS = 3, SIZE = 4096 };
  static const struct {
    enum pfp_policy policy;
    uint32_t descriptors;
  } ways[] = {{PFP_POLICY_FULL, 0}, {PFP_POLICY_INCREMENTAL, 0}, {PFP_POLICY_INCREMENTAL, 100000}};
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
    if (ways[way].policy == PFP_POLICY_INCREMENTAL) CHECK_COUNT(one.looks, STEP);
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
    TEST("100,000 entries in one folder come in order, in 8 MiB", hundred_thousand),
    TEST("long files need no more than 8 MiB either", long_file_memory),
    TEST("each file more costs what the one before it cost, cold and warm", linear_in_files),
    TEST("each leaf more costs one read", linear_in_bytes),
};

const struct suite files_cost_suite = SUITE("cost", tests);
