// SPDX-License-Identifier: Apache-2.0

/// Files that change or vanish while they are read, at moments that the tests choose.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "harness.h"
#include "probe_suites.h"
#include "tree.h"

/// Files of one leaf, of some, of many, mapped and not.
static const struct {
  const char *name;
  size_t size;
  bool no_maps;
} kinds[] = {{"one leaf", 30000, false}, {"some leaves", 400000, false}, {"mapped", 5000000, false},
             {"not mapped", 5000000, true}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static char victim[1024];
static atomic_uint times_left;

static bool strike(void) {
  unsigned left = atomic_load(&times_left);
  while (left > 0 && !atomic_compare_exchange_weak(&times_left, &left, left - 1)) {
  }
  return left > 0;
}

// Changes to a file ----------------------------------------------------------------------------------------------

static void change(void) {
  static atomic_uint turn;
  unsigned char byte = (unsigned char)atomic_fetch_add(&turn, 1);
  int fd = open(victim, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || pwrite(fd, &byte, 1, 17) != 1) abort();
  (void)close(fd);
}
static void touch(void) {
  if (utimensat(AT_FDCWD, victim, NULL, 0) != 0) abort();
}
static void grow(void) {
  int fd = open(victim, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0 || write(fd, "more", 4) != 4) abort();
  (void)close(fd);
}
static void shrink(void) {
  struct stat found;
  if (stat(victim, &found) != 0 || truncate(victim, found.st_size / 3) != 0) abort();
}
static void empty(void) {
  if (truncate(victim, 0) != 0) abort();
}
/// Another file takes the name; what is open stays what it was.
static void replace(void) {
  char other[1100];
  (void)snprintf(other, sizeof other, "%s.new", victim);
  int fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0 || write(fd, "replaced", 8) != 8 || rename(other, victim) != 0) abort();
  (void)close(fd);
}
static void vanish(void) { (void)unlink(victim); }
static void become_link(void) {
  (void)unlink(victim);
  if (symlink("/etc/hostname", victim) != 0 && errno != EEXIST) abort();
}
static void become_fifo(void) {
  (void)unlink(victim);
  if (mkfifo(victim, 0600) != 0 && errno != EEXIST) abort();
}

static void (*act)(void);
static void act_on_fd(int fd) {
  (void)fd;
  if (strike()) act();
}
static void act_before_open(const char *name) {
  if (strcmp(name, "victim") == 0 && strike()) act();
}

/// Measures a bundle of one file while `what` happens to it `times` times, once it is mapped or after a read.
static int measure_while(struct pfp_files *files, unsigned kind, void (*what)(void), unsigned times,
                         struct pfp_bundle *bundle, struct tree *tree) {
  *tree = tree_make();
  faults_reset();
  tree_noise(tree, "victim", kinds[kind].size, 2);
  (void)snprintf(victim, sizeof victim, "%s", tree_path(tree, "victim"));
  act = what;
  faults.no_maps = kinds[kind].no_maps;
  faults.after_map = act_on_fd;
  faults.after_read = act_on_fd;
  atomic_store(&times_left, times);
  int result = pfp_files_digest_bundle(files, tree->root, NULL, NULL, bundle);
  atomic_store(&times_left, 0);
  return result;
}

static void changes_once(void) {
  static void (*const changes[])(void) = {change, grow, shrink, empty};
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_TRUSTING; policy++) {
    for (unsigned kind = 0; kind < KINDS; kind++) {
      for (unsigned c = 0; c < sizeof changes / sizeof changes[0]; c++) {
        struct pfp_files *files = files_new((enum pfp_policy)policy, 10);
        struct tree tree;
        struct pfp_bundle bundle;
        test_case("policy %u, %s, change %u", policy, kinds[kind].name, c);
        CHECK_NUMBER(measure_while(files, kind, changes[c], 1, &bundle, &tree), PFP_OK);
        CHECK_COUNT(pfp_files_statistics(files)->retries, 1);
        faults_reset();
        struct pfp_bundle after = measure_cold(&tree);
        CHECK_BYTES(bundle.digest, after.digest, 32);
        after = measure(files, &tree);
        CHECK_BYTES(bundle.digest, after.digest, 32);
        pfp_files_free(files);
        tree_drop(&tree);
      }
    }
  }
}

static void changes_always(void) {
  static void (*const changes[])(void) = {change, grow};
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_TRUSTING; policy++) {
    for (unsigned kind = 0; kind < KINDS; kind++) {
      for (unsigned c = 0; c < sizeof changes / sizeof changes[0]; c++) {
        struct pfp_files *files = files_new((enum pfp_policy)policy, 10);
        struct tree tree;
        struct pfp_bundle bundle;
        test_case("policy %u, %s, change %u", policy, kinds[kind].name, c);
        CHECK_NUMBER(measure_while(files, kind, changes[c], 100000, &bundle, &tree), PFP_E_CHANGING);
        CHECK(strcmp(pfp_files_failure(files)->path, "victim") == 0);
        CHECK_ZEROS(&bundle, sizeof bundle);
        // When it is left alone the context is as good as new.
        faults_reset();
        struct pfp_bundle after = measure_cold(&tree), again = measure(files, &tree);
        CHECK_BYTES(again.digest, after.digest, 32);
        pfp_files_free(files);
        tree_drop(&tree);
      }
    }
  }
}

static void touched_always(void) {
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_TRUSTING; policy++) {
    for (unsigned kind = 0; kind < KINDS; kind++) {
      struct pfp_files *files = files_new((enum pfp_policy)policy, 10);
      struct tree tree;
      struct pfp_bundle bundle;
      test_case("policy %u, %s", policy, kinds[kind].name);
      CHECK_NUMBER(measure_while(files, kind, touch, 100000, &bundle, &tree), PFP_OK);
      CHECK_COUNT(pfp_files_statistics(files)->retries, 1);
      faults_reset();
      struct pfp_bundle after = measure_cold(&tree);
      CHECK_BYTES(bundle.digest, after.digest, 32);
      pfp_files_free(files);
      tree_drop(&tree);
    }
  }
}

/// Between the listing of its folder and the opening.
static void gone_before_opening(void) {
  static const struct {
    void (*what)(void);
    unsigned times;
    int result;
  } cases[] = {{replace, 1, PFP_OK},           {vanish, 1, PFP_E_CHANGING},      {become_link, 1, PFP_E_CHANGING},
               {become_fifo, 1, PFP_E_CHANGING}, {become_link, 5, PFP_E_CHANGING}, {replace, 5, PFP_OK}};
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
    struct tree tree = tree_make();
    struct pfp_bundle bundle;
    faults_reset();
    tree_text(&tree, "victim", "victim");
    tree_text(&tree, "aside", "aside");
    (void)snprintf(victim, sizeof victim, "%s", tree_path(&tree, "victim"));
    act = cases[i].what;
    faults.before_open = act_before_open;
    atomic_store(&times_left, cases[i].times);
    test_case("case %u", i);
    CHECK_NUMBER(pfp_files_digest_bundle(files, tree.root, NULL, NULL, &bundle), cases[i].result);
    if (cases[i].result != PFP_OK) CHECK(strcmp(pfp_files_failure(files)->path, "victim") == 0);
    faults_reset();
    pfp_files_free(files);
    tree_drop(&tree);
  }
}

static void folder_gone(void) {
  (void)rmdir(victim);
}
static void folder_to_file(void) {
  (void)rmdir(victim);
  int fd = open(victim, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd >= 0) (void)close(fd);
}

static void folders_too(void) {
  static void (*const changes[])(void) = {folder_gone, folder_to_file};
  for (unsigned c = 0; c < 2; c++) {
    struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 10);
    struct tree tree = tree_make();
    faults_reset();
    tree_folder(&tree, "victim");
    (void)snprintf(victim, sizeof victim, "%s", tree_path(&tree, "victim"));
    act = changes[c];
    faults.before_open = act_before_open;
    atomic_store(&times_left, 1);
    CHECK_NUMBER(measure_result(files, &tree), PFP_E_CHANGING);
    CHECK(strcmp(pfp_files_failure(files)->path, "victim") == 0);
    faults_reset();
    CHECK_NUMBER(measure_result(files, &tree), PFP_OK);
    pfp_files_free(files);
    tree_drop(&tree);
  }
}

// SIGBUS ---------------------------------------------------------------------------------------------------------

static void own_bus(int number) { (void)number; }

static void bus_is_left_alone(void) {
  struct tree tree = tree_make();
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
  struct sigaction ours = {.sa_handler = own_bus}, now, before;
  faults_reset();
  tree_noise(&tree, "long", 3000000, 1);
  REQUIRE(CHECK(sigaction(SIGBUS, NULL, &before) == 0));
  struct pfp_bundle first = measure(files, &tree);
  REQUIRE(CHECK(sigaction(SIGBUS, NULL, &now) == 0));
  CHECK(now.sa_handler == before.sa_handler && now.sa_flags == before.sa_flags);
  // A process that handles it itself keeps its handler, also while it is measured.
  (void)sigaction(SIGBUS, &ours, NULL);
  struct pfp_bundle again = measure(files, &tree);
  CHECK_BYTES(again.digest, first.digest, 32);
  REQUIRE(CHECK(sigaction(SIGBUS, NULL, &now) == 0));
  CHECK(now.sa_handler == own_bus);
  (void)sigaction(SIGBUS, &before, NULL);
  pfp_files_free(files);
  tree_drop(&tree);
}

/// A SIGBUS that is none of ours still ends the process, also while files are mapped.
static void bus_of_their_own(int fd) {
  (void)fd;
  (void)raise(SIGBUS);
}

static bool killed_by_bus(void *user) {
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
  faults.after_map = bus_of_their_own;
  (void)measure_result(files, user);
  return true;
}

static void other_bus(void) {
  struct tree tree = tree_make();
  faults_reset();
  tree_noise(&tree, "long", 3000000, 1);
  CHECK(!in_child(killed_by_bus, &tree));
  faults_reset();
  tree_drop(&tree);
}

// Progress and cancelling ----------------------------------------------------------------------------------------

struct watcher {
  struct pfp_files *files;
  uint64_t files_seen, bytes_seen, reports, cancel_after;
  bool backwards;
};

static int watch(void *user, const struct pfp_progress *progress) {
  struct watcher *watcher = user;
  watcher->backwards = watcher->backwards || progress->files < watcher->files_seen;
  watcher->files_seen = progress->files;
  watcher->bytes_seen = progress->bytes;
  watcher->reports++;
  return watcher->cancel_after != 0 && watcher->reports >= watcher->cancel_after;
}

static int cancel_at_third(void *user, const struct pfp_entry *entry) {
  unsigned *seen = user;
  (void)entry;
  return ++*seen == 3;
}

static void *cancel_soon(void *user) {
  struct watcher *watcher = user;
  // At some moment of the measurement, or before it: both must be harmless.
  pfp_files_cancel(watcher->files);
  return NULL;
}

static void progress_and_cancel(void) {
  struct tree tree = tree_sample();
  for (unsigned i = 0; i < 1000; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "n%u", i);
    tree_noise(&tree, name, i, i);
  }
  struct pfp_bundle expected = measure_cold(&tree), bundle;
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_TRUSTING; policy++) {
    struct watcher watcher = {0};
    struct pfp_files_options file_options = {.key = {1, 2, 3},
                                             .salt = {4, 5, 6},
                                             .policy = (uint8_t)policy,
                                             .limit_log2 = 40,
                                             .progress = watch,
                                             .user = &watcher};
    unsigned seen = 0;
    faults_reset();
    REQUIRE(CHECK_NUMBER(pfp_files_create(&watcher.files, &file_options), PFP_OK));
    test_case("policy %u: to the end", policy);
    bundle = measure(watcher.files, &tree);
    CHECK(watcher.reports >= 4 && !watcher.backwards);
    CHECK_COUNT(watcher.files_seen, bundle.entries);
    CHECK_COUNT(watcher.bytes_seen, bundle.bytes);

    test_case("policy %u: cancelled in answer to a report", policy);
    pfp_files_forget(watcher.files);
    watcher = (struct watcher){.files = watcher.files, .cancel_after = 2};
    CHECK_NUMBER(measure_result(watcher.files, &tree), PFP_E_CANCELLED);
    CHECK_COUNT(watcher.reports, 2);

    test_case("policy %u: cancelled in answer to an entry", policy);
    watcher.cancel_after = 0;
    CHECK_NUMBER(pfp_files_digest_bundle(watcher.files, tree.root, cancel_at_third, &seen, &bundle), PFP_E_CANCELLED);
    CHECK_COUNT(seen, 3);

    for (unsigned round = 0; round < 20; round++) {
      pthread_t thread;
      pfp_files_forget(watcher.files);
      test_case("policy %u: cancelled by another thread, round %u", policy, round);
      REQUIRE(CHECK(pthread_create(&thread, NULL, cancel_soon, &watcher) == 0));
      int result = pfp_files_digest_bundle(watcher.files, tree.root, NULL, NULL, &bundle);
      (void)pthread_join(thread, NULL);
      CHECK(result == PFP_OK || result == PFP_E_CANCELLED);
    }

    test_case("policy %u: afterwards", policy);
    bundle = measure(watcher.files, &tree);
    CHECK_BYTES(bundle.digest, expected.digest, 32);
    pfp_files_free(watcher.files);
  }
  tree_drop(&tree);
}

static const struct test tests[] = {
    TEST("a file that changes while it is read is read again", changes_once),
    TEST("a file that changes each time it is read is reported by name", changes_always),
    TEST("a file whose times alone change is measured", touched_always),
    TEST("a file that vanishes or becomes something else before it is opened is reported by name",
         gone_before_opening),
    TEST("so is a folder", folders_too),
    TEST("the process's handling of SIGBUS is left as it was", bus_is_left_alone),
    TEST("a SIGBUS of other code still kills", other_bus),
    TEST("progress reaches the end, and cancelling leaves the context usable", progress_and_cancel),
};

const struct suite files_moving_suite = SUITE("moving files", tests);
