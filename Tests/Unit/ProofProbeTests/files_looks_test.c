// SPDX-License-Identifier: Apache-2.0

/// The looks and the openings that a known bundle costs, counted one by one; and the statistics of each call.

#define _GNU_SOURCE

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "context/context.h"
#include "harness.h"
#include "probe_suites.h"
#include "tree.h"

static struct pfp_files *context(enum pfp_policy policy, uint32_t descriptors, uint8_t workers,
                                 pfp_progress_fn progress, void *user) {
  struct pfp_files_options made = {.key = {1, 2, 3},
                                   .salt = {4, 5, 6},
                                   .policy = (uint8_t)policy,
                                   .limit_log2 = 40,
                                   .workers = workers,
                                   .descriptors = descriptors,
                                   .progress = progress,
                                   .user = user};
  struct pfp_files *files;
  CHECK_NUMBER(pfp_files_create(&files, &made), PFP_OK);
  return files;
}

/// Folders whose names have one length, with files of one name.
static struct tree alike_folders(void) {
  struct tree tree = tree_sample();
  for (unsigned i = 0; i < 12; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "same-%02u", i);
    tree_folder(&tree, name);
    (void)snprintf(name, sizeof name, "same-%02u/x", i);
    tree_noise(&tree, name, i, i);
  }
  return tree;
}

/// How often the folder changes from one entry to the next, but for the root.
struct folders {
  char last[PFP_PATH_MAX + 1];
  unsigned changes, entries, files;
  uint64_t bytes;
};

static int count_folders(void *user, const struct pfp_entry *entry) {
  struct folders *folders = user;
  const char *slash = strrchr(entry->path, '/');
  size_t size = slash == NULL ? 0 : (size_t)(slash - entry->path);
  folders->entries++;
  folders->files += entry->type == PFP_TYPE_FILE;
  if (entry->type == PFP_TYPE_FILE) folders->bytes += entry->size;
  if (size == 0 || (strlen(folders->last) == size && strncmp(folders->last, entry->path, size) == 0)) return 0;
  memcpy(folders->last, entry->path, size);
  folders->last[size] = '\0';
  folders->changes++;
  return 0;
}

static void count_from_here(void) {
  atomic_store(&faults.opens, 0);
  atomic_store(&faults.opens_below, 0);
  atomic_store(&faults.looks, 0);
  atomic_store(&faults.reads_made, 0);
}

/// Each entry is looked at once, and the root twice. A folder is opened for the entries that are looked up by name.
static void one_look_for_each_entry(void) {
  static const uint32_t descriptors[] = {0, 1000};
  struct tree tree = alike_folders();
  for (unsigned way = 0; way < 4; way++) {
    struct folders folders = {.changes = 0};
    struct pfp_bundle bundle;
    faults_reset();
    struct pfp_files *files = context(PFP_POLICY_TRUSTING, descriptors[way % 2], (uint8_t)(1 + way / 2), NULL, NULL);
    CHECK_NUMBER(pfp_files_digest_bundle(files, tree.root, count_folders, &folders, &bundle), PFP_OK);
    CHECK(files->known_whole);
    CHECK_COUNT(files->known.entries, folders.entries);
    CHECK_COUNT(pfp_files_statistics(files)->files, folders.files);
    CHECK_COUNT(pfp_files_statistics(files)->files_read, folders.files);
    CHECK_COUNT(pfp_files_statistics(files)->bytes_read, folders.bytes);
    CHECK_COUNT(bundle.bytes, folders.bytes);
    for (unsigned round = 0; round < 2; round++) {
      test_case("%u descriptors, %u workers", descriptors[way % 2], 1 + way / 2);
      count_from_here();
      (void)measure(files, &tree);
      CHECK_COUNT(atomic_load(&faults.opens), 1);
      CHECK_COUNT(atomic_load(&faults.looks), 2 + folders.entries);
      CHECK_COUNT(atomic_load(&faults.reads_made), 0);
      // Links and special files have no descriptor kept: "lib/dangling" alone is in a folder.
      CHECK_COUNT(atomic_load(&faults.opens_below), descriptors[way % 2] == 0 ? folders.changes : 1);
      CHECK_COUNT(pfp_files_statistics(files)->files, folders.files);
      CHECK_COUNT(pfp_files_statistics(files)->reused, folders.files);
      CHECK_COUNT(pfp_files_statistics(files)->bytes_read, 0);
    }
    pfp_files_free(files);
  }
  tree_drop(&tree);
}

enum { MANY = 3000 };

static struct tree many_files(void) {
  struct tree tree = tree_make();
  for (unsigned i = 0; i < MANY; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "%04u", i);
    tree_noise(&tree, name, i % 7 + 1, i);
  }
  return tree;
}

/// The first difference ends it: what is behind it is looked at by the walk alone.
static void the_first_difference_ends_the_looks(void) {
  static const char *const changed[] = {"0000", "1000", "2999"};
  struct tree tree = many_files();
  uint64_t looks[3];
  for (unsigned i = 0; i < 3; i++) {
    faults_reset();
    struct pfp_files *files = context(PFP_POLICY_TRUSTING, 0, 1, NULL, NULL);
    (void)measure(files, &tree);
    tree_poke(&tree, changed[i], 0, (char)i);
    count_from_here();
    (void)measure(files, &tree);
    looks[i] = atomic_load(&faults.looks);
    CHECK_COUNT(pfp_files_statistics(files)->files_read, 1);
    CHECK_COUNT(pfp_files_statistics(files)->reused, MANY - 1);
    CHECK_COUNT(pfp_files_statistics(files)->files, MANY);
    CHECK_COUNT(atomic_load(&faults.opens), 2);
    pfp_files_free(files);
  }
  CHECK_COUNT(looks[1] - looks[0], 1000);
  CHECK_COUNT(looks[2] - looks[0], MANY - 1);
  tree_drop(&tree);
}

struct reports {
  unsigned count;
  bool something;  ///< A report that tells anything done
  unsigned cancel_at;
};

static int note_report(void *user, const struct pfp_progress *progress) {
  struct reports *reports = user;
  reports->count++;
  reports->something = reports->something || progress->files != 0 || progress->bytes != 0;
  return reports->count == reports->cancel_at;
}

/// Between the pages of a known bundle the caller is asked, and told of nothing done.
static void reports_between_pages(void) {
  struct tree tree = many_files();
  struct reports reports = {0};
  faults_reset();
  struct pfp_files *files = context(PFP_POLICY_TRUSTING, 0, 1, note_report, &reports);
  struct pfp_bundle first = measure(files, &tree), bundle;
  unsigned pages = (unsigned)(files->known.bytes / 32768);
  CHECK(pages > 5 && reports.something);
  reports = (struct reports){0};
  bundle = measure(files, &tree);
  CHECK_COUNT(reports.count, pages);
  CHECK(!reports.something);
  for (unsigned at = 1; at <= pages; at += pages - 1) {
    test_case("cancelled at report %u of %u", at, pages);
    reports = (struct reports){.cancel_at = at};
    CHECK_NUMBER(pfp_files_digest_bundle(files, tree.root, NULL, NULL, &bundle), PFP_E_CANCELLED);
    CHECK_ZEROS(&bundle, sizeof bundle);
    CHECK_COUNT(reports.count, at);
  }
  reports = (struct reports){0};
  bundle = measure(files, &tree);
  CHECK_BYTES(&bundle, &first, sizeof first);
  pfp_files_free(files);
  tree_drop(&tree);
}

static pthread_t caller;
static atomic_bool elsewhere;

/// The second thread looks at a page of its own meanwhile.
static int on_the_callers_thread(void *user, const struct pfp_progress *progress) {
  (void)user;
  (void)progress;
  if (!pthread_equal(pthread_self(), caller)) atomic_store(&elsewhere, true);
  while (atomic_load(&faults.looks) == 2 && !atomic_load(&elsewhere)) (void)sched_yield();
  return 0;
}

static void reports_of_two_threads(void) {
  struct tree tree = many_files();
  faults_reset();
  caller = pthread_self();
  if (pfp_processors() < 2) {
    test_note("skipped: one processor has one thread");
  } else {
    struct pfp_files *files = context(PFP_POLICY_TRUSTING, 0, 2, on_the_callers_thread, NULL);
    struct pfp_bundle first = measure(files, &tree);
    count_from_here();
    struct pfp_bundle again = measure(files, &tree);
    CHECK(!atomic_load(&elsewhere));
    CHECK_BYTES(&again, &first, sizeof first);
    CHECK_COUNT(atomic_load(&faults.looks), 2 + MANY);
    pfp_files_free(files);
  }
  tree_drop(&tree);
}

/// A cancel without a call in progress does nothing.
static void a_cancel_beforehand(void) {
  struct tree tree = tree_make();
  struct pfp_entry entry;
  tree_text(&tree, "file", "text");
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_TRUSTING; policy++) {
    faults_reset();
    struct pfp_files *files = context((enum pfp_policy)policy, 0, 1, NULL, NULL);
    for (unsigned round = 0; round < 2; round++) {
      pfp_files_cancel(files);
      (void)measure(files, &tree);
      pfp_files_cancel(files);
      CHECK_NUMBER(pfp_files_digest_file(files, tree_path(&tree, "file"), &entry), PFP_OK);
    }
    pfp_files_free(files);
  }
  tree_drop(&tree);
}

static const struct test tests[] = {
    TEST("a known bundle costs a look at each entry", one_look_for_each_entry),
    TEST("the first difference ends the looks", the_first_difference_ends_the_looks),
    TEST("a caller is asked between the pages of a known bundle", reports_between_pages),
    TEST("the caller's thread alone reports while two threads look", reports_of_two_threads),
    TEST("a cancel before a call does nothing", a_cancel_beforehand),
};

const struct suite files_looks_suite = SUITE("looks", tests);
