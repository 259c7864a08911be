// SPDX-License-Identifier: Apache-2.0

/// The hand-over between the calling thread and its workers (jobs/handover.h), in all orders with few deviations, and
/// among real threads that are held back at random.
///
/// This program is built with smaller numbers than the library: a file of two leaves is a long one, a window has one
/// leaf, and two windows may be ahead.

#define _GNU_SOURCE

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "jobs/run.h"
#include "harness.h"
#include "schedule.h"
#include "tree.h"

/// Longer than any of these tests takes on a busy machine. An end of the test, and no part of what it asserts.
enum { SECONDS = 3600 };

static struct pfp_files *context(unsigned workers) {
  struct pfp_files_options made = {
      .policy = PFP_POLICY_FULL, .limit_log2 = 40, .kernel = PFP_KERNEL_PORTABLE, .workers = (uint8_t)workers};
  struct pfp_files *files = NULL;
  CHECK_NUMBER(pfp_files_create(&files, &made), PFP_OK);
  return files;
}

static void file(const struct tree *tree, char name, unsigned leaves, unsigned more) {
  const char text[] = {name, '\0'};
  tree_noise(tree, text, (size_t)leaves * PFP_LEAF_BYTES + more, (uint64_t)(unsigned char)name);
}

// Every order ----------------------------------------------------------------------------------------------------

static void hangs(void) {
  (void)printf("handover: hangs in the order %s\n", schedule_words());
  (void)fflush(stdout);
  _exit(1);
}

struct story {
  const struct tree *tree;
  unsigned workers, deviations;
  const char *name;  ///< The one file that is read, or NULL for the tree
};

static bool play_all(void *user) {
  const struct story *story = user;
  const struct schedule schedule = {.deviations = story->deviations};
  struct pfp_files *files = context(story->workers);
  struct pfp_bundle expected, bundle;
  uint64_t runs = 0;
  bool good = CHECK_NUMBER(pfp_files_digest_bundle(files, story->tree->root, NULL, NULL, &expected), PFP_OK);
  schedule_hangs = hangs;
  schedule_begin(&schedule);
  do {
    schedule_start();
    int result = pfp_files_digest_bundle(files, story->tree->root, NULL, NULL, &bundle);
    (void)schedule_stop();
    runs++;
    good = CHECK_NUMBER(result, PFP_OK) && CHECK_BYTES(bundle.digest, expected.digest, 32) && good;
  } while (good && schedule_next());
  test_note("%u workers, %u deviations: %llu orders", story->workers, story->deviations, (unsigned long long)runs);
  pfp_files_free(files);
  return good;
}

/// A long file whose windows are held back, and short ones behind it in the same batch.
static struct tree long_before_short(void) {
  struct tree tree = tree_make();
  file(&tree, 'a', 4, 0);
  for (char name = 'b'; name < 'j'; name++) file(&tree, name, 0, 10);
  return tree;
}

static void one_long(void) {
  struct tree tree = long_before_short();
  faults_reset();
  faults.no_maps = true;
  CHECK(in_child(play_all, &(struct story){&tree, 1, 2, NULL}));
  CHECK(in_child(play_all, &(struct story){&tree, 2, options.thorough ? 3 : 2, NULL}));
  CHECK(in_child(play_all, &(struct story){&tree, 4, options.thorough ? 2 : 1, NULL}));
  tree_drop(&tree);
}

static void several_long(void) {
  struct tree tree = tree_make();
  faults_reset();
  faults.no_maps = true;
  file(&tree, 'a', 3, 1);
  file(&tree, 'b', 0, 5);
  file(&tree, 'c', 2, 7);
  file(&tree, 'd', 3, 0);
  file(&tree, 'e', 1, 9);
  CHECK(in_child(play_all, &(struct story){&tree, 2, options.thorough ? 3 : 2, NULL}));
  CHECK(in_child(play_all, &(struct story){&tree, 3, 1, NULL}));
  tree_drop(&tree);
}

// Contents in memory, shared by two threads -----------------------------------------------------------------------

static const size_t shared_sizes[] = {PFP_LEAF_BYTES + 1, 5, 0, 7, 2 * PFP_LEAF_BYTES, 3};
enum { SHARED = sizeof shared_sizes / sizeof shared_sizes[0] };

/// Two leaves may be ahead: a thread that holds one back holds up the other thread, which then ends.
static bool share_all(void *user) {
  const struct schedule schedule = {.deviations = *(const unsigned *)user};
  static uint8_t bytes[2 * PFP_LEAF_BYTES];
  struct pfp_content expected[SHARED], shared[SHARED];
  struct pfp_hash hash;
  uint64_t runs = 0;
  static const uint8_t key[PFP_HASH_KEY_BYTES] = {1}, salt[PFP_HASH_SALT_BYTES] = {2};
  bool good = CHECK_NUMBER(pfp_hash_init(&hash, key, salt, PFP_KERNEL_PORTABLE), PFP_OK);
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 31 + (i >> 8));
  for (unsigned i = 0; i < SHARED; i++) {
    expected[i] = shared[i] = (struct pfp_content){.bytes = bytes, .size = shared_sizes[i]};
  }
  pfp_hash_contents(&hash, expected, SHARED);
  schedule_hangs = hangs;
  schedule_begin(&schedule);
  do {
    for (unsigned i = 0; i < SHARED; i++) memset(shared[i].digest, 0, PFP_HASH_BYTES);
    schedule_start();
    pfp_hash_contents_shared(&hash, shared, SHARED);
    (void)schedule_stop();
    runs++;
    for (unsigned i = 0; i < SHARED; i++) {
      good = CHECK_BYTES(shared[i].digest, expected[i].digest, PFP_HASH_BYTES) && good;
    }
  } while (good && schedule_next());
  test_note("%u deviations: %llu orders", schedule.deviations, (unsigned long long)runs);
  // One thread alone has one order.
  return CHECK(runs > 1) && good;
}

static void shared_contents(void) {
  unsigned deviations = options.thorough ? 6 : 4;
  faults_reset();
  CHECK(in_child(share_all, &deviations));
}

// Reports of progress ---------------------------------------------------------------------------------------------

enum { REPORTS = 8, MEBIBYTES_16 = 16 << 20 };
struct reports {
  unsigned count;
  struct pfp_progress told[REPORTS];
};

static int tell(void *user, const struct pfp_progress *progress) {
  struct reports *reports = user;
  if (reports->count < REPORTS) reports->told[reports->count] = *progress;
  reports->count++;
  return 0;
}

/// Files of these sizes, or so many empty ones; and the reports of their measurement.
struct progress_story {
  unsigned empty;
  uint64_t sizes[8];
  unsigned count;
  struct pfp_progress expected[REPORTS];
};

static bool progress_is_told(void *user) {
  const struct progress_story *story = user;
  const struct schedule schedule = {.deviations = 0};
  struct tree tree = tree_make();
  bool good = true;
  for (unsigned i = 0; i < story->empty + 8; i++) {
    char name[8];
    uint64_t size = i < 8 && story->empty == 0 ? story->sizes[i] : 0;
    if (story->empty == 0 ? size == 0 : i >= story->empty) continue;
    (void)snprintf(name, sizeof name, "%03u", i);
    tree_file(&tree, name, NULL, 0);
    if (truncate(tree_path(&tree, name), (off_t)size) != 0) return false;
  }
  schedule_hangs = hangs;
  for (unsigned workers = 1; workers <= 2; workers++) {
    struct reports reports = {0};
    struct pfp_files_options made = {.policy = PFP_POLICY_FULL,
                                     .limit_log2 = 40,
                                     .kernel = PFP_KERNEL_PORTABLE,
                                     .workers = (uint8_t)workers,
                                     .progress = tell,
                                     .user = &reports};
    struct pfp_files *files;
    struct pfp_bundle bundle;
    good = CHECK_NUMBER(pfp_files_create(&files, &made), PFP_OK) && good;
    // No wait comes to its time here, so the walk alone reports.
    schedule_begin(&schedule);
    schedule_start();
    int result = pfp_files_digest_bundle(files, tree.root, NULL, NULL, &bundle);
    (void)schedule_stop();
    test_case("%u workers", workers);
    good = CHECK_NUMBER(result, PFP_OK) && CHECK_COUNT(reports.count, story->count) && good;
    for (unsigned i = 0; i < story->count; i++) {
      good = CHECK_COUNT(reports.told[i].files, story->expected[i].files) && good;
      good = CHECK_COUNT(reports.told[i].bytes, story->expected[i].bytes) && good;
    }
    pfp_files_free(files);
  }
  tree_drop(&tree);
  return good;
}

static void reports_of_progress(void) {
  static const uint64_t all = MEBIBYTES_16;
  const struct progress_story stories[] = {
      {.empty = 255, .count = 1, .expected = {{255, 0}}},
      {.empty = 256, .count = 2, .expected = {{256, 0}, {256, 0}}},
      {.empty = 600, .count = 3, .expected = {{256, 0}, {512, 0}, {600, 0}}},
      {.sizes = {all - 1, 1, 1}, .count = 2, .expected = {{2, all}, {3, all + 1}}},
      {.sizes = {all, 1, all - 2, 1, 5}, .count = 3, .expected = {{1, all}, {4, 2 * all}, {5, 2 * all + 5}}},
      {.sizes = {all + 9, all - 1, 1}, .count = 3, .expected = {{1, all + 9}, {3, 2 * all + 9}, {3, 2 * all + 9}}},
  };
  faults_reset();
  faults.no_maps = true;
  for (unsigned i = 0; i < sizeof stories / sizeof stories[0]; i++) {
    struct progress_story story = stories[i];
    test_case("story %u", i);
    CHECK(in_child(progress_is_told, &story));
  }
}

// A cancel at every step -----------------------------------------------------------------------------------------

static void cancel(void *files) { pfp_files_cancel(files); }

enum { ENTRIES = 16 };
/// The entries that a call reported. A cancelled call reports the first entries of a whole one.
struct reported {
  const struct reported *whole;
  unsigned count;
  bool other;  ///< An entry that the whole one does not have there
  uint8_t digests[ENTRIES][PFP_HASH_BYTES];
};

static int report(void *user, const struct pfp_entry *entry) {
  struct reported *reported = user;
  unsigned i = reported->count++;
  if (i >= ENTRIES) return 1;
  memcpy(reported->digests[i], entry->digest, PFP_HASH_BYTES);
  if (reported->whole != NULL) {
    reported->other |= memcmp(entry->digest, reported->whole->digests[i], PFP_HASH_BYTES) != 0;
  }
  return 0;
}

static int digest(struct pfp_files *files, const struct story *story, struct reported *reported) {
  struct pfp_bundle bundle;
  struct pfp_entry entry;
  char path[PFP_PATH_MAX + 1];
  int result;
  reported->count = 0;
  if (story->name == NULL) return pfp_files_digest_bundle(files, story->tree->root, report, reported, &bundle);
  (void)snprintf(path, sizeof path, "%s/%s", story->tree->root, story->name);
  result = pfp_files_digest_file(files, path, &entry);
  if (result == PFP_OK) (void)report(reported, &entry);
  return result;
}

static bool cancel_everywhere(void *user) {
  const struct story *story = user;
  struct pfp_files *files = context(story->workers);
  static struct reported whole, reported = {.whole = &whole};
  unsigned cancelled = 0, late = 0;
  bool good = CHECK_NUMBER(digest(files, story, &whole), PFP_OK), more = true;
  schedule_hangs = hangs;
  for (uint64_t at = 1; good && more; at++) {
    const struct schedule schedule = {
        .deviations = story->deviations, .interrupt_at = at, .interrupt = cancel, .user = files};
    more = false;
    schedule_begin(&schedule);
    do {
      schedule_start();
      int result = digest(files, story, &reported);
      struct schedule_run run = schedule_stop();
      test_case("cancelled at step %llu, order %s", (unsigned long long)at, schedule_words());
      more = more || run.interrupted;
      cancelled += result == PFP_E_CANCELLED;
      late += run.interrupted && result == PFP_OK;
      if (result != PFP_OK) good = CHECK_NUMBER(result, PFP_E_CANCELLED);
      if (result != PFP_OK) good = CHECK_NUMBER(pfp_files_failure(files)->result, PFP_E_CANCELLED) && good;
      if (!run.interrupted) good = CHECK_NUMBER(result, PFP_OK) && good;
      if (result == PFP_OK) good = CHECK_COUNT(reported.count, whole.count) && good;
      good = CHECK(!reported.other) && good;
    } while (good && schedule_next());
  }
  good = CHECK(cancelled > 0) && good;
  test_note("%u workers: %u runs cancelled, %u were over", story->workers, cancelled, late);
  pfp_files_free(files);
  return good;
}

static void cancelled_anywhere(void) {
  struct tree tree = long_before_short();
  faults_reset();
  faults.no_maps = true;
  for (unsigned workers = 1; workers <= PFP_WORKERS_MAX; workers *= 2) {
    CHECK(in_child(cancel_everywhere, &(struct story){&tree, workers, workers < 4, NULL}));
  }
  tree_drop(&tree);
}

/// Not one byte of a file's digest comes from a reading that was not over.
static void one_file_cancelled(void) {
  struct tree tree = long_before_short();
  faults_reset();
  faults.no_maps = true;
  CHECK(in_child(cancel_everywhere, &(struct story){&tree, 1, 1, "b"}));
  for (unsigned workers = 1; workers <= PFP_WORKERS_MAX; workers *= 2) {
    CHECK(in_child(cancel_everywhere, &(struct story){&tree, workers, workers < 4, "a"}));
  }
  tree_drop(&tree);
}

// Real threads ---------------------------------------------------------------------------------------------------

static atomic_uint_fast64_t rolls;

/// Now and then another thread goes first.
static void throttle(int fd) {
  struct dice dice = {atomic_fetch_add(&rolls, 1)};
  (void)fd;
  for (uint32_t i = dice_below(&dice, 4) == 0 ? dice_below(&dice, 20) : 0; i != 0; i--) (void)sched_yield();
}

/// Long files of 9, 12, 24 and 48 windows' worth, each among short ones.
static struct tree mixed(void) {
  static const unsigned lengths[] = {9, 12, 24, 48};
  struct tree tree = tree_make();
  char name = 'A';
  for (unsigned i = 0; i < 4; i++) {
    file(&tree, name++, lengths[i], 0);
    for (unsigned j = 0; j < 6; j++) file(&tree, name++, j == 3, j);
  }
  return tree;
}

static bool stress(void *user) {
  const struct story *story = user;
  struct pfp_files *files = context(story->workers);
  struct pfp_bundle expected, bundle;
  bool good = true;
  (void)alarm(SECONDS);
  good = CHECK_NUMBER(pfp_files_digest_bundle(files, story->tree->root, NULL, NULL, &expected), PFP_OK);
  for (unsigned round = 0; round < (options.thorough ? 2000u : 60u) && good; round++) {
    good = CHECK_NUMBER(pfp_files_digest_bundle(files, story->tree->root, NULL, NULL, &bundle), PFP_OK) &&
           CHECK_BYTES(bundle.digest, expected.digest, 32);
  }
  (void)alarm(0);
  pfp_files_free(files);
  return good;
}

static void throttled(void) {
  struct tree tree = mixed();
  for (unsigned workers = 1; workers <= PFP_WORKERS_MAX; workers *= 2) {
    faults_reset();
    faults.no_maps = true;
    faults.after_read = throttle;
    test_case("%u workers", workers);
    CHECK(in_child(stress, &(struct story){&tree, workers, 0, NULL}));
  }
  faults_reset();
  tree_drop(&tree);
}

struct canceller {
  struct pfp_files *files;
  atomic_uint_fast64_t go;  ///< Reads from which on the call is cancelled
  atomic_uint_fast64_t reads;
  atomic_bool waits;  ///< The read of that number ends when the call is cancelled
  atomic_bool done;   ///< It has been cancelled
  atomic_bool over;
};
static struct canceller canceller;

static void count_read(int fd) {
  throttle(fd);
  uint_fast64_t number = atomic_fetch_add(&canceller.reads, 1) + 1;
  while (atomic_load(&canceller.waits) && number >= atomic_load(&canceller.go) && !atomic_load(&canceller.done)) {
    (void)sched_yield();
  }
}

/// Cancels again and again from the read of that number on: a cancel before the call began does nothing.
static void *cancel_later(void *user) {
  (void)user;
  while (!atomic_load(&canceller.over)) {
    if (atomic_load(&canceller.reads) >= atomic_load(&canceller.go)) {
      pfp_files_cancel(canceller.files);
      atomic_store(&canceller.done, true);
    }
    (void)sched_yield();
  }
  return NULL;
}

static bool cancel_threads(void *user) {
  const struct story *story = user;
  struct dice dice = {2026 + story->workers};
  struct pfp_bundle bundle;
  unsigned cancelled = 0;
  bool good = true;
  canceller.files = context(story->workers);
  (void)alarm(SECONDS);
  for (unsigned round = 0; round < (options.thorough ? 2000u : 100u) && good; round++) {
    pthread_t thread;
    atomic_store(&canceller.reads, 0);
    atomic_store(&canceller.over, false);
    atomic_store(&canceller.done, false);
    // The canceller may come late to each round. The first one waits for it at its first read.
    atomic_store(&canceller.waits, round == 0);
    atomic_store(&canceller.go, round == 0 ? 1 : dice_below(&dice, 130));
    if (!CHECK(pthread_create(&thread, NULL, cancel_later, NULL) == 0)) return false;
    int result = pfp_files_digest_bundle(canceller.files, story->tree->root, NULL, NULL, &bundle);
    atomic_store(&canceller.over, true);
    (void)pthread_join(thread, NULL);
    cancelled += result == PFP_E_CANCELLED;
    if (result != PFP_OK) good = CHECK_NUMBER(result, PFP_E_CANCELLED);
  }
  (void)alarm(0);
  good = CHECK(cancelled > 0) && good;
  pfp_files_free(canceller.files);
  return good;
}

static void cancelled_by_threads(void) {
  struct tree tree = mixed();
  for (unsigned workers = 1; workers <= PFP_WORKERS_MAX; workers *= 2) {
    faults_reset();
    faults.no_maps = true;
    faults.after_read = count_read;
    test_case("%u workers", workers);
    CHECK(in_child(cancel_threads, &(struct story){&tree, workers, 0, NULL}));
  }
  faults_reset();
  tree_drop(&tree);
}

static const struct test tests[] = {
    TEST("a long file before short ones ends in every order", one_long),
    TEST("several long files end in every order", several_long),
    TEST("contents shared by two threads get their digests in every order", shared_contents),
    TEST("progress is told after 256 entries, after 16 MiB, and at the end", reports_of_progress),
    TEST("a cancel at any step ends the call, and nothing half read is reported", cancelled_anywhere),
    TEST("a cancel at any step of one file's reading gives its digest or none", one_file_cancelled),
    TEST("throttled long files among short ones end on 1, 2 and 4 threads", throttled),
    TEST("a cancel by another thread ends the call", cancelled_by_threads),
};

static const struct suite handover_suite = SUITE("handover", tests);
static const struct suite *const suites[] = {&handover_suite};

int main(int argc, char **argv) {
  const char *scratch = NULL;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--long") == 0) {
      options.thorough = true;
    } else if (strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
      options.filter = argv[++i];
    } else if (strcmp(argv[i], "--scratch") == 0 && i + 1 < argc) {
      scratch = argv[++i];
    } else {
      scratch = NULL;
      break;
    }
  }
  if (scratch == NULL) {
    (void)fprintf(stderr, "usage: handover-tests --scratch DIR [--long] [--filter TEXT]\n");
    return 2;
  }
  tree_scratch(scratch);
  faults_reset();
  return harness_run(suites, 1);
}
