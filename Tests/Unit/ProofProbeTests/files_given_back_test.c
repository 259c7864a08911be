// SPDX-License-Identifier: Apache-2.0

/// Descriptors and memory: a call leaves open and mapped what it says it keeps, however it ended.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context/context.h"
#include "harness.h"
#include "probe_suites.h"
#include "tree.h"
#include "wrapped.h"

static unsigned open_descriptors(void) {
  unsigned count = 0;
  for (int fd = 0; fd < 1100; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

static struct pfp_files *context(enum pfp_policy policy, uint32_t descriptors, uint8_t limit_log2, uint8_t workers) {
  struct pfp_files_options made = {.key = {1, 2, 3},
                                   .salt = {4, 5, 6},
                                   .policy = (uint8_t)policy,
                                   .limit_log2 = limit_log2,
                                   .workers = workers,
                                   .descriptors = descriptors};
  struct pfp_files *files;
  CHECK_NUMBER(pfp_files_create(&files, &made), PFP_OK);
  return files;
}

/// Descriptors and pages before the context was made.
static unsigned open_before;
static long pages_before;

static void begin(void) {
  faults_reset();
  open_before = open_descriptors();
  pages_before = atomic_load(&faults.pages_held);
}

/// The descriptors of entries that are kept, one for the mounts, and the pages of what is known.
static bool as_it_says(const struct pfp_files *files) {
  uint32_t kept = files->options.descriptors - (uint32_t)atomic_load(&files->descriptors_left);
  bool good = CHECK_COUNT(open_descriptors(), open_before + kept + (files->options.descriptors != 0));
  return CHECK_NUMBER(atomic_load(&faults.pages_held) - pages_before, files->known.bytes) && good;
}

static void end(struct pfp_files *files) {
  pfp_files_free(files);
  CHECK_COUNT(open_descriptors(), open_before);
  CHECK_NUMBER(atomic_load(&faults.pages_held), pages_before);
  faults_reset();
}

/// The n-th allocation of this thread fails; 0: none.
static unsigned fails_at;

WRAPPED(void *, malloc, size_t size) { return fails_at != 0 && --fails_at == 0 ? NULL : __real_malloc(size); }

// Ends of a call ---------------------------------------------------------------------------------------------------

static struct pfp_files *at_hand;
static const struct tree *tree_at_hand;
static atomic_uint count, count_at;

static bool now(void) { return atomic_fetch_add(&count, 1) + 1 == atomic_load(&count_at); }

static int stop_entry(void *user, const struct pfp_entry *entry) {
  (void)user;
  (void)entry;
  return now();
}
static void cancel_here(int fd) {
  (void)fd;
  if (now()) pfp_files_cancel(at_hand);
}

/// Workers call it side by side, so it has paths of its own.
static void change_always(int fd) {
  static const char *const names[] = {"lib/some-leaves", "lib/long", "readme"};
  char byte = (char)atomic_fetch_add(&count, 1), path[600];
  (void)fd;
  for (unsigned i = 0; i < 3; i++) {
    (void)snprintf(path, sizeof path, "%s/%s", tree_at_hand->root, names[i]);
    tree_overwrite(path, 5, byte);
  }
}

enum outcome {
  WHOLE, ENTRY, READ, MAPPED, CHANGES, READ_FAILS, LISTING_FAILS, NO_PAGES, NO_MEMORY, LOOK_FAILS, OUTCOMES
};

/// One call that ends in this way, at its n-th occasion. The results it may have besides PFP_OK.
static int play(enum outcome outcome, unsigned n) {
  struct pfp_bundle bundle;
  faults_reset();
  atomic_store(&count, 0);
  atomic_store(&count_at, n);
  faults.no_maps = outcome == READ || (outcome == CHANGES && n % 2 == 0);
  switch (outcome) {
    case WHOLE: break;
    case ENTRY: return pfp_files_digest_bundle(at_hand, tree_at_hand->root, stop_entry, NULL, &bundle);
    case READ: faults.after_read = cancel_here; break;
    case MAPPED: faults.after_map = cancel_here; break;
    case CHANGES: faults.after_read = faults.after_map = change_always; break;
    case READ_FAILS:
      faults.read_error = n % 2 == 0 ? EIO : ENOMEM;
      faults.reads_good = n;
      break;
    case LISTING_FAILS:
      faults.listing_error = EIO;
      faults.names_good = n;
      break;
    case NO_PAGES:
      faults.pages_fail = true;
      faults.pages_good = n;
      break;
    case NO_MEMORY: fails_at = n; break;
    case LOOK_FAILS: faults.identify_error = EIO; break;
    case OUTCOMES: break;
  }
  return pfp_files_digest_bundle(at_hand, tree_at_hand->root, NULL, NULL, &bundle);
}

static void however_it_ended(void) {
  static const uint32_t descriptors[] = {0, 5, 900};
  static const int results[OUTCOMES] = {
      PFP_OK, PFP_E_CANCELLED, PFP_E_CANCELLED, PFP_E_CANCELLED, PFP_E_CHANGING, PFP_E_RESOURCE, PFP_E_UNREADABLE,
      PFP_E_RESOURCE, PFP_E_RESOURCE, PFP_E_UNREADABLE};
  for (unsigned way = 0; way < 9; way++) {
    struct tree tree = tree_sample();
    unsigned seen = 0;
    tree_at_hand = &tree;
    begin();
    at_hand = context((enum pfp_policy)(1 + way % 3), descriptors[way / 3], 40, (uint8_t)(1 + way % 2));
    CHECK(as_it_says(at_hand));
    for (unsigned outcome = WHOLE; outcome < OUTCOMES; outcome++) {
      // Odd and even in turn: 1, 2, 5, 10, 21, 42.
      for (unsigned n = 1; n < 60; n = n * 2 + (n % 2 == 0)) {
        if (outcome == NO_MEMORY) {
          // All of it is known, and it is walked.
          CHECK_NUMBER(play(WHOLE, 0), PFP_OK);
          tree_poke(&tree, "lib/long", 8, (char)n);
        }
        int result = play((enum outcome)outcome, n);
        fails_at = 0;
        test_case("way %u, outcome %u, at %u", way, outcome, n);
        CHECK(result == PFP_OK || result == results[outcome]);
        if (result != PFP_OK) seen |= 1u << outcome;
        CHECK(as_it_says(at_hand));
        if (outcome >= NO_PAGES && result == PFP_E_RESOURCE) {
          CHECK_NUMBER(pfp_files_failure(at_hand)->result, PFP_E_RESOURCE);
          CHECK_NUMBER(pfp_files_failure(at_hand)->error, ENOMEM);
        }
        // Something to read for the next one.
        tree_poke(&tree, "lib/some-leaves", 7, (char)n);
        tree_poke(&tree, "lib/long", 7, (char)n);
      }
    }
    CHECK_COUNT(seen, (1u << OUTCOMES) - 2);
    pfp_files_forget(at_hand);
    CHECK(as_it_says(at_hand));
    CHECK_COUNT(atomic_load(&at_hand->descriptors_left), at_hand->options.descriptors);
    CHECK_COUNT(at_hand->known.bytes, 0);
    end(at_hand);
    tree_drop(&tree);
  }
}

/// Calls that end before anything is measured, or at a limit, and bundles in turn.
static void other_ends(void) {
  struct tree tree = tree_sample(), other = tree_sample();
  struct pfp_bundle bundle;
  struct pfp_entry entry;
  begin();
  struct pfp_files *files = context(PFP_POLICY_TRUSTING, 900, 22, 2);
  (void)measure(files, &tree);
  uint64_t kept = pfp_files_statistics(files)->descriptors;
  CHECK(kept > 50);
  for (unsigned round = 0; round < 3; round++) {
    const struct tree *trees[] = {&other, &tree, &other};
    test_case("round %u", round);
    (void)measure(files, trees[round]);
    CHECK(as_it_says(files));
    CHECK_COUNT(pfp_files_statistics(files)->descriptors, kept);
    CHECK_NUMBER(pfp_files_digest_bundle(files, tree_path(&tree, "missing"), NULL, NULL, &bundle), PFP_E_MISSING);
    CHECK_COUNT(pfp_files_statistics(files)->descriptors, kept);
    CHECK_NUMBER(pfp_files_digest_bundle(files, tree_path(&tree, "fifo"), NULL, NULL, &bundle), PFP_E_TYPE);
    CHECK_COUNT(pfp_files_statistics(files)->descriptors, kept);
    CHECK_NUMBER(pfp_files_digest_file(files, tree_path(&tree, "missing"), &entry), PFP_E_MISSING);
    CHECK_COUNT(pfp_files_statistics(files)->descriptors, kept);
    CHECK_NUMBER(pfp_files_digest_file(files, tree_path(&tree, "lib"), &entry), PFP_E_TYPE);
    CHECK_COUNT(pfp_files_statistics(files)->descriptors, kept);
    CHECK_NUMBER(pfp_files_digest_file(files, tree_path(&tree, "lib/long"), &entry), PFP_OK);
    CHECK_NUMBER(pfp_files_digest_file(files, tree_path(&tree, "readme"), &entry), PFP_OK);
    CHECK(as_it_says(files));
  }
  for (unsigned at = 3; at < 100; at += 90) {
    test_case("told again, and cancelled at entry %u", at);
    (void)measure(files, &other);
    atomic_store(&count, 0);
    atomic_store(&count_at, at);
    int result = pfp_files_digest_bundle(files, other.root, stop_entry, NULL, &bundle);
    CHECK_NUMBER(result, at == 3 ? PFP_E_CANCELLED : PFP_OK);
    CHECK_NUMBER(pfp_files_failure(files)->result, result);
    CHECK_COUNT(pfp_files_statistics(files)->files_read, 0);
    CHECK_COUNT(atomic_load(&count), at == 3 ? 3 : bundle.entries);
    if (at == 3) CHECK_ZEROS(&bundle, sizeof bundle);
    CHECK(as_it_says(files));
  }
  test_case("the limit");
  tree_text(&other, "lib/zzz", "");
  CHECK(truncate(tree_path(&other, "lib/zzz"), 1 << 22) == 0);
  CHECK_NUMBER(measure_result(files, &other), PFP_E_LIMIT);
  CHECK(as_it_says(files));
  end(files);
  tree_drop(&tree);
  tree_drop(&other);
}

static bool without_threads(void *user) {
  const struct tree *tree = user;
  const struct rlimit none = {1, 1};
  struct tree here = {"."};
  if (chdir(tree->root) != 0) return false;
  become_ordinary();
  // An ordinary user's other processes count: at least this one is there.
  if (setrlimit(RLIMIT_NPROC, &none) != 0) return false;
  begin();
  struct pfp_files *files = context(PFP_POLICY_TRUSTING, 10, 30, 2);
  bool good = CHECK_NUMBER(measure_result(files, &here), PFP_E_RESOURCE) && CHECK(as_it_says(files));
  good = CHECK_NUMBER(pfp_files_failure(files)->error, EAGAIN) && good;
  end(files);
  return good && harness_failures() == 0;
}

static void no_threads(void) {
  struct tree tree = tree_sample();
  if (!SANITIZED) CHECK(in_child(without_threads, &tree));
  tree_drop(&tree);
}

static void contexts_that_are_not_made(void) {
  struct pfp_files_options bad = {.policy = PFP_POLICY_TRUSTING, .limit_log2 = 30, .kernel = 9, .descriptors = 10};
  struct pfp_files *files;
  begin();
  CHECK_NUMBER(pfp_files_create(&files, &bad), PFP_E_ARGUMENT);
  CHECK_COUNT(open_descriptors(), open_before);
  files = context(PFP_POLICY_FULL, 10, 30, 0);
  CHECK_COUNT(open_descriptors(), open_before);
  CHECK_COUNT(files->options.descriptors, 0);
  end(files);
  files = context(PFP_POLICY_INCREMENTAL, 0, 30, 0);
  CHECK_COUNT(open_descriptors(), open_before);
  end(files);
  files = context(PFP_POLICY_INCREMENTAL, 1, 30, 0);
  CHECK_COUNT(open_descriptors(), open_before + 1);
  end(files);
}

// Numbers of descriptors -------------------------------------------------------------------------------------------

/// Eight entries of one kind.
static struct tree eight(unsigned kind) {
  static const size_t sizes[] = {0, 100, 200000, 1100000};
  struct tree tree = tree_make();
  for (unsigned i = 0; i < 8; i++) {
    char name[2] = {(char)('a' + i), '\0'};
    if (kind == 0) tree_folder(&tree, name);
    if (kind != 0) tree_noise(&tree, name, sizes[kind], i);
  }
  return tree;
}

static void as_many_as_allowed(void) {
  static const uint32_t allowed[] = {1, 3, 7, 8, 9};
  for (unsigned kind = 0; kind < 4; kind++) {
    struct tree tree = eight(kind);
    for (unsigned i = 0; i < 2 * sizeof allowed / sizeof allowed[0]; i++) {
      uint32_t limit = allowed[i / 2];
      begin();
      struct pfp_files *files = context(PFP_POLICY_TRUSTING, limit, 40, (uint8_t)(1 + i % 2));
      faults.no_maps = i % 2 == 1;
      for (unsigned round = 0; round < 3; round++) {
        test_case("kind %u, %u allowed, round %u", kind, limit, round);
        (void)measure(files, &tree);
        CHECK_COUNT(pfp_files_statistics(files)->descriptors, limit < 8 ? limit : 8);
        CHECK(as_it_says(files));
        // The last round walks the bundle, with what is known.
        if (round == 1) tree_mode(&tree, "", i % 2 == 0 ? 0711 : 0755);
      }
      end(files);
    }
    tree_drop(&tree);
  }
}

static bool limited_by_the_process(void *user) {
  const struct tree *tree = user;
  const struct rlimit few = {515, 1024};
  if (setrlimit(RLIMIT_NOFILE, &few) != 0) return false;
  begin();
  struct pfp_files *files = context(PFP_POLICY_TRUSTING, 1000, 40, 1);
  (void)measure(files, tree);
  bool good = CHECK_COUNT(pfp_files_statistics(files)->descriptors, 3) && CHECK(as_it_says(files));
  end(files);
  const struct rlimit none = {512, 1024};
  if (setrlimit(RLIMIT_NOFILE, &none) != 0) return false;
  files = context(PFP_POLICY_TRUSTING, 1000, 40, 1);
  (void)measure(files, tree);
  good = CHECK_COUNT(pfp_files_statistics(files)->descriptors, 0) && good;
  end(files);
  return good && harness_failures() == 0;
}

static void as_many_as_are_spare(void) {
  struct tree tree = eight(1);
  CHECK(in_child(limited_by_the_process, &tree));
  tree_drop(&tree);
}

// Descriptor 0 -----------------------------------------------------------------------------------------------------

/// Descriptor 0 is free before this entry is opened, or after it was looked at.
static void free_zero(const char *name) {
  if (strcmp(name, "a") == 0) (void)close(0);
}
static void free_zero_later(int fd) {
  struct stat found;
  if (fstat(fd, &found) == 0 && (found.st_mode & 07777) == 0700) (void)close(0);
}

static bool with_descriptor_zero(void *user) {
  unsigned way = *(const unsigned *)user, kind = way % 4;
  struct tree tree = eight(kind);
  bool good = true;
  for (char name = 'b'; name < 'i'; name++) tree_remove(&tree, (const char[]){name, '\0'});
  (void)close(0);
  if (open("/dev/null", O_RDONLY) != 0) return false;
  if (kind == 0) tree_mode(&tree, "a", 0700);
  begin();
  struct pfp_files *files = context(way < 4 ? PFP_POLICY_FULL : PFP_POLICY_TRUSTING, way < 8 ? 0 : 9, 40, 1);
  for (unsigned round = 0; round < 3; round++) {
    // Known, the entry is not opened; once the root has another mode the bundle is walked.
    if (round == 2) tree_mode(&tree, "", 0711);
    struct pfp_bundle cold = measure_cold(&tree);
    faults.no_maps = true;
    // A folder's second descriptor is the one that is kept.
    if (round == 0 && way == 8) faults.after_look = free_zero_later;
    if (round == 0 && way != 8) faults.before_open = free_zero;
    struct pfp_bundle bundle = measure(files, &tree);
    faults_reset();
    test_case("way %u, round %u", way, round);
    good = CHECK_BYTES(bundle.digest, cold.digest, 32) && good;
    good = CHECK((fcntl(0, F_GETFD) >= 0) == (way >= 8)) && good;
    if (round > 0 && way >= 4) good = CHECK_COUNT(pfp_files_statistics(files)->files_read, 0) && good;
    good = CHECK_COUNT(pfp_files_statistics(files)->descriptors, way >= 8) && good;
  }
  pfp_files_free(files);
  good = CHECK(fcntl(0, F_GETFD) < 0) && good;
  tree_drop(&tree);
  return good && harness_failures() == 0;
}

static void descriptor_zero(void) {
  for (unsigned way = 0; way < 12; way++) {
    test_case("way %u", way);
    CHECK(in_child(with_descriptor_zero, &way));
  }
}

// Wiping -----------------------------------------------------------------------------------------------------------

static const void *watched;
static size_t watched_size;
static bool was_freed, was_zero;

WRAPPED(void, free, void *pointer) {
  if (pointer != NULL && pointer == watched) {
    const uint8_t *bytes = pointer;
    was_freed = was_zero = true;
    for (size_t i = 0; i < watched_size; i++) was_zero = was_zero && bytes[i] == 0;
    watched = NULL;
  }
  __real_free(pointer);
}

static void a_context_is_wiped(void) {
  struct tree tree = tree_sample();
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_TRUSTING; policy++) {
    begin();
    struct pfp_files *files = context((enum pfp_policy)policy, 10, 40, 0);
    (void)measure(files, &tree);
    watched = files;
    watched_size = sizeof *files;
    was_freed = was_zero = false;
    pfp_files_free(files);
    CHECK(was_freed && was_zero);
  }
  tree_drop(&tree);
}

static const struct test tests[] = {
    TEST("a call leaves what it keeps, however it ended", however_it_ended),
    TEST("so do calls that measure nothing, and bundles in turn", other_ends),
    TEST("a call without threads leaves nothing", no_threads),
    TEST("a context opens what it needs, and one that is not made opens nothing", contexts_that_are_not_made),
    TEST("as many descriptors are kept as are allowed", as_many_as_allowed),
    TEST("no more descriptors are kept than the process can spare", as_many_as_are_spare),
    TEST("descriptor 0 is one like others", descriptor_zero),
    TEST("a context is wiped before it is freed", a_context_is_wiped),
};

const struct suite files_given_back_suite = SUITE("given back", tests);
