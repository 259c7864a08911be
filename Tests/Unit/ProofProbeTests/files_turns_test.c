// SPDX-License-Identifier: Apache-2.0

/// Entries that turn into something else between two looks, and calls that fail in the middle: what is told, and what
/// is kept for the next time.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/walk.h"
#include "harness.h"
#include "page.h"
#include "probe_suites.h"
#include "tree.h"

static bool failed_at(const struct pfp_files *files, int result, int error, const char *path) {
  const struct pfp_failure *failure = pfp_files_failure(files);
  bool good = CHECK_NUMBER(failure->result, result) && CHECK_NUMBER(failure->error, error);
  return CHECK(strcmp(failure->path, path) == 0) && CHECK_COUNT(failure->path_size, strlen(path)) && good;
}

/// The tree of the test at hand, and how often its hook was called.
static struct tree here;
static atomic_uint turns;

static void begin(void) {
  here = tree_make();
  atomic_store(&turns, 0);
  faults_reset();
}

static void end(struct pfp_files *files) {
  faults_reset();
  pfp_files_free(files);
  tree_drop(&here);
}

// Folders --------------------------------------------------------------------------------------------------------

/// Away at the first opening, and back at the second.
static void away_and_back(const char *name) {
  if (strcmp(name, "victim") != 0) return;
  unsigned turn = atomic_fetch_add(&turns, 1);
  if (turn == 0) tree_rename(&here, "victim", "aside");
  if (turn == 1) tree_rename(&here, "aside", "victim");
}

static void a_folder_that_is_back(void) {
  begin();
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
  struct pfp_bundle bundle;
  tree_folder(&here, "victim");
  tree_text(&here, "victim/file", "text");
  faults.before_open = away_and_back;
  CHECK_NUMBER(pfp_files_digest_bundle(files, here.root, NULL, NULL, &bundle), PFP_OK);
  CHECK_COUNT(bundle.entries, 2);
  CHECK_COUNT(atomic_load(&turns), 2);
  end(files);
}

/// One folder more than wait for their descent: "a", the first, is opened again.
static void make_waiting_folders(void) {
  char name[PFP_OPENED + 2] = "a";
  for (unsigned i = 0; i <= PFP_OPENED; i++) {
    char inside[PFP_OPENED + 10];
    tree_folder(&here, name);
    (void)snprintf(inside, sizeof inside, "%s/file", name);
    tree_text(&here, inside, "text");
    name[i + 1] = '-';
  }
}

static bool second_opening_of_a(const char *name) {
  return strcmp(name, "a") == 0 && atomic_fetch_add(&turns, 1) == 1;
}
static void gone_at_the_second(const char *name) {
  if (second_opening_of_a(name)) tree_rename(&here, "a", "0");
}
static void no_descriptors_at_the_second(const char *name) {
  const struct rlimit none = {0, 100};
  if (second_opening_of_a(name) && setrlimit(RLIMIT_NOFILE, &none) != 0) abort();
}

static bool opened_again_without_means(void *user) {
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
  (void)user;
  faults.before_open = no_descriptors_at_the_second;
  return CHECK_NUMBER(measure_result(files, &here), PFP_E_RESOURCE) && failed_at(files, PFP_E_RESOURCE, EMFILE, "a");
}

static void folders_opened_again(void) {
  begin();
  make_waiting_folders();
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
  CHECK(in_child(opened_again_without_means, NULL));
  faults_reset();
  atomic_store(&turns, 0);
  faults.before_open = gone_at_the_second;
  CHECK_NUMBER(measure_result(files, &here), PFP_E_CHANGING);
  CHECK(failed_at(files, PFP_E_CHANGING, ENOENT, "a"));
  CHECK_COUNT(atomic_load(&turns), 2);
  end(files);
}

static bool at_the_first(const char *name) { return strcmp(name, "a") == 0 && atomic_fetch_add(&turns, 1) == 0; }
static bool from_the_second_on(const char *name) { return strcmp(name, "a") == 0 && atomic_fetch_add(&turns, 1) > 0; }

/// How many entries are "a" and could not be looked at, or are below "a".
static int count_of_a(void *user, const struct pfp_entry *entry) {
  unsigned *counts = user;
  if (strcmp(entry->path, "a") == 0 && entry->state == PFP_STATE_ABSENT && entry->error == EACCES) counts[0]++;
  if (strncmp(entry->path, "a/", 2) == 0) counts[1]++;
  return 0;
}

/// A folder whose entry says that it may not be opened has nothing below it, and is not asked again.
static void folders_that_are_denied(void) {
  begin();
  make_waiting_folders();
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
  struct pfp_bundle bundle;
  for (unsigned round = 0; round < 2; round++) {
    unsigned counts[2] = {0};
    test_case("denied at the %s", round == 0 ? "first opening" : "second opening");
    atomic_store(&turns, 0);
    faults.denies = round == 0 ? at_the_first : from_the_second_on;
    int result = pfp_files_digest_bundle(files, here.root, count_of_a, counts, &bundle);
    CHECK_NUMBER(result, round == 0 ? PFP_OK : PFP_E_CHANGING);
    CHECK_COUNT(atomic_load(&turns), round + 1);
    CHECK_COUNT(counts[0], round == 0);
    CHECK_COUNT(counts[1], 0);
    if (round == 1) CHECK(failed_at(files, PFP_E_CHANGING, EACCES, "a"));
  }
  end(files);
}

/// The types come from a look at each entry where a folder does not tell them.
static void folders_that_tell_no_types(void) {
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_TRUSTING; policy++) {
    begin();
    struct tree tree = tree_sample();
    struct pfp_files *files = files_new((enum pfp_policy)policy, 0);
    struct pfp_bundle expected = measure_cold(&tree), bundle;
    faults.no_types = true;
    for (unsigned round = 0; round < 2; round++) {
      bundle = measure(files, &tree);
      CHECK_BYTES(&bundle, &expected, sizeof bundle);
    }
    tree_drop(&tree);
    end(files);
  }
}

static int untold(void *user, const struct pfp_entry *entry) {
  unsigned *count = user;
  struct page_entry expected = {.path = entry->path, .path_size = entry->path_size};
  uint8_t digest[32];
  if (strncmp(entry->path, "listed/", 7) != 0) return 0;
  page_entry(digest, &expected);
  CHECK_BYTES(entry->digest, digest, 32);
  CHECK_NUMBER(entry->type, 0);
  CHECK_NUMBER(entry->state, PFP_STATE_ABSENT);
  CHECK_NUMBER(entry->error, EACCES);
  (*count)++;
  return 0;
}

static bool untold_in_child(void *user) {
  bool good = true;
  (void)user;
  if (chdir(here.root) != 0) return false;
  become_ordinary();
  faults.no_types = true;
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_TRUSTING; policy++) {
    struct pfp_files *files = files_new((enum pfp_policy)policy, 0);
    for (unsigned round = 0; round < 2; round++) {
      struct pfp_bundle bundle;
      unsigned count = 0;
      good = CHECK_NUMBER(pfp_files_digest_bundle(files, ".", untold, &count, &bundle), PFP_OK) && good;
      good = CHECK_COUNT(count, 2) && CHECK_COUNT(bundle.absent, 2) && CHECK_COUNT(bundle.entries, 3) && good;
    }
    pfp_files_free(files);
  }
  return good && harness_failures() == 0;
}

/// Names may be listed, and neither the folder nor a look tells their types.
static void entries_of_no_known_type(void) {
  begin();
  tree_folder(&here, "listed");
  tree_text(&here, "listed/file", "text");
  tree_folder(&here, "listed/folder");
  tree_mode(&here, "listed", 0744);
  if (geteuid() != 0) {
    test_note("skipped: it takes root to make a folder that this user may not search");
  } else {
    CHECK(in_child(untold_in_child, NULL));
  }
  tree_mode(&here, "listed", 0755);
  end(NULL);
}

static void listings_that_fail(void) {
  static const struct {
    int error, result;
  } cases[] = {{EIO, PFP_E_UNREADABLE}, {ENOENT, PFP_E_UNREADABLE}, {ENOMEM, PFP_E_RESOURCE}};
  // A name and the end of the list, for each folder in turn.
  static const char *const paths[] = {"", "", "folder", "folder", "folder/below"};
  for (unsigned i = 0; i < 5 * sizeof cases / sizeof cases[0]; i++) {
    begin();
    struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
    tree_folder(&here, "folder");
    tree_folder(&here, "folder/below");
    faults.listing_error = cases[i / 5].error;
    faults.names_good = i % 5;
    test_case("error %d, name %u", cases[i / 5].error, i % 5);
    CHECK_NUMBER(measure_result(files, &here), cases[i / 5].result);
    CHECK(failed_at(files, cases[i / 5].result, cases[i / 5].error, paths[i % 5]));
    end(files);
  }
}

static struct pfp_files *cancelled;

static void cancel_at_the_third(const char *name) {
  (void)name;
  if (atomic_fetch_add(&turns, 1) == 2) pfp_files_cancel(cancelled);
}

static void a_cancel_between_names(void) {
  begin();
  cancelled = files_new(PFP_POLICY_FULL, 0);
  for (unsigned i = 0; i < 50; i++) {
    char name[8];
    (void)snprintf(name, sizeof name, "%u", i);
    tree_text(&here, name, name);
  }
  faults.after_name = cancel_at_the_third;
  CHECK_NUMBER(measure_result(cancelled, &here), PFP_E_CANCELLED);
  CHECK(failed_at(cancelled, PFP_E_CANCELLED, 0, ""));
  CHECK_COUNT(atomic_load(&turns), 3);
  end(cancelled);
}

// Roots ----------------------------------------------------------------------------------------------------------

/// The root alone changed a moment ago: its entries are known, and the root is listed again.
static void a_root_that_changed_recently(void) {
  begin();
  struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 0);
  tree_text(&here, "file", "text");
  faults.clock_lags = 1;
  (void)measure(files, &here);
  CHECK(!files->known_whole);
  CHECK_COUNT(files->known.entries, 1);
  (void)measure(files, &here);
  CHECK(files->known_whole);
  CHECK_COUNT(pfp_files_statistics(files)->reused, 1);
  end(files);
}

/// The root was opened, and then could not be looked at.
static void a_root_that_cannot_be_looked_at(void) {
  static const struct {
    int error, result;
  } cases[] = {{EIO, PFP_E_UNREADABLE}, {ENOENT, PFP_E_MISSING}, {ENOTDIR, PFP_E_MISSING}, {ENOMEM, PFP_E_RESOURCE},
               {EMFILE, PFP_E_RESOURCE}};
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin();
    struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
    faults.identify_error = cases[i].error;
    test_case("error %d", cases[i].error);
    CHECK_NUMBER(measure_result(files, &here), cases[i].result);
    CHECK(failed_at(files, cases[i].result, cases[i].error, here.root));
    end(files);
  }
}

// Files ----------------------------------------------------------------------------------------------------------

/// A file whose read failed is absent this time, and read the next time.
static void a_failed_read_is_not_kept(void) {
  static const size_t sizes[] = {300, 300000, 2500000};
  for (unsigned i = 0; i < 3; i++) {
    begin();
    struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 10);
    struct pfp_bundle bundle;
    tree_noise(&here, "file", sizes[i], i);
    test_case("%zu bytes", sizes[i]);
    faults.no_maps = true;
    faults.read_error = EIO;
    CHECK_NUMBER(pfp_files_digest_bundle(files, here.root, NULL, NULL, &bundle), PFP_OK);
    CHECK_COUNT(bundle.absent, 1);
    CHECK_COUNT(bundle.bytes, 0);
    CHECK_COUNT(pfp_files_statistics(files)->descriptors, 0);
    CHECK_COUNT(pfp_files_statistics(files)->files, 0);
    CHECK_COUNT(files->known.entries, 0);
    faults_reset();
    struct pfp_bundle cold = measure_cold(&here);
    for (unsigned round = 0; round < 2; round++) {
      bundle = measure(files, &here);
      CHECK_BYTES(&bundle, &cold, sizeof cold);
      CHECK_COUNT(pfp_files_statistics(files)->reused, round);
    }
    end(files);
  }
}

/// Windows of a long file that are not taken yet are not read once one of them failed.
static void a_broken_file_is_not_read_on(void) {
  begin();
  struct pfp_files *files = files_workers(1);
  struct pfp_entry entry;
  tree_noise(&here, "file", 3000000, 1);
  faults.no_maps = true;
  faults.read_error = EIO;
  atomic_store(&faults.reads_made, 0);
  CHECK_NUMBER(pfp_files_digest_file(files, tree_path(&here, "file"), &entry), PFP_E_UNREADABLE);
  CHECK(failed_at(files, PFP_E_UNREADABLE, EIO, tree_path(&here, "file")));
  CHECK_COUNT(atomic_load(&faults.reads_made), 1);
  end(files);
}

/// A read that gets less than there is: the file is not taken for shorter.
static void a_read_that_is_cut_short(void) {
  static const size_t sizes[] = {40000, 65536, 65537, 300000};
  for (unsigned i = 0; i < 4; i++) {
    begin();
    struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 10);
    tree_noise(&here, "file", sizes[i], i);
    struct pfp_bundle cold = measure_cold(&here), bundle;
    test_case("%zu bytes", sizes[i]);
    faults.short_reads = 1;
    bundle = measure(files, &here);
    CHECK_BYTES(&bundle, &cold, sizeof cold);
    CHECK_COUNT(pfp_files_statistics(files)->retries, 1);
    CHECK_COUNT(pfp_files_statistics(files)->descriptors, 1);
    end(files);
  }
}

static off_t grown_to;

/// Sets the size that the file has when it is read.
static void grow_before_read(int fd) {
  (void)fd;
  if (truncate(tree_path(&here, "file"), grown_to) != 0) abort();
}
/// Sets the size that the file has when it is looked at.
static void shrink_before_open(const char *name) {
  if (strcmp(name, "file") == 0 && truncate(tree_path(&here, "file"), 30000) != 0) abort();
}

static int keep_entry(void *user, const struct pfp_entry *entry) {
  *(struct pfp_entry *)user = *entry;
  return 0;
}

/// Twice the same bytes, and at no look as many as were read: the size is that of what was read.
static void the_size_of_the_bytes_that_were_read(void) {
  static const struct {
    off_t size;
    int result;
  } cases[] = {{30000, PFP_OK}, {30001, PFP_OK}, {65535, PFP_OK}, {65536, PFP_OK}, {65537, PFP_E_CHANGING}};
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin();
    struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
    struct pfp_bundle bundle;
    struct pfp_entry entry = {0};
    tree_text(&here, "file", "text");
    grown_to = cases[i].size;
    faults.before_open = shrink_before_open;
    faults.before_read = grow_before_read;
    test_case("read at %d bytes", (int)cases[i].size);
    CHECK_NUMBER(pfp_files_digest_bundle(files, here.root, keep_entry, &entry, &bundle), cases[i].result);
    if (cases[i].result == PFP_OK) {
      struct page_entry expected = page_look(&here, "file");
      CHECK_COUNT(entry.size, expected.size);
      CHECK_COUNT(entry.size, (uint64_t)cases[i].size);
      CHECK_BYTES(entry.content, expected.content, 32);
      CHECK_COUNT(pfp_files_statistics(files)->bytes_read, (uint64_t)cases[i].size);
    } else {
      CHECK(failed_at(files, PFP_E_CHANGING, 0, "file"));
    }
    end(files);
  }
}

// Links and special files ----------------------------------------------------------------------------------------

static unsigned link_turns;

static void turn_link(const char *name) {
  if (atomic_fetch_add(&turns, 1) >= link_turns) return;
  tree_remove(&here, name);
  tree_link(&here, name, atomic_load(&turns) % 2 == 1 ? "second" : "third");
}

/// A link that is another one after it was read is read once more.
static void links_that_turn(void) {
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_TRUSTING; policy++) {
    for (link_turns = 0; link_turns < 3; link_turns++) {
      begin();
      struct pfp_files *files = files_new((enum pfp_policy)policy, 0);
      bool seen = policy != PFP_POLICY_FULL;
      tree_link(&here, "link", "first");
      faults.after_link = turn_link;
      test_case("policy %u, %u turns", policy, link_turns);
      CHECK_NUMBER(measure_result(files, &here), seen && link_turns == 2 ? PFP_E_CHANGING : PFP_OK);
      CHECK_COUNT(pfp_files_statistics(files)->retries, seen && link_turns > 0);
      if (seen && link_turns == 2) CHECK(failed_at(files, PFP_E_CHANGING, 0, "link"));
      faults_reset();
      struct pfp_bundle cold = measure_cold(&here), again = measure(files, &here);
      CHECK_BYTES(again.digest, cold.digest, 32);
      end(files);
    }
  }
}

/// Its type was told with its name.
static void replace_by_folder(const char *name) {
  if (atomic_fetch_add(&turns, 1) != 0) return;
  tree_remove(&here, name);
  tree_folder(&here, name);
}

/// Entries that were listed as something else than they are.
static void listed_as_another_type(void) {
  for (unsigned policy = PFP_POLICY_FULL; policy <= PFP_POLICY_TRUSTING; policy++) {
    for (unsigned kind = 0; kind < 3; kind++) {
      begin();
      struct pfp_files *files = files_new((enum pfp_policy)policy, 0);
      if (kind == 0) CHECK(mkfifo(tree_path(&here, "a"), 0600) == 0);
      if (kind == 1) tree_link(&here, "a", "anywhere");
      if (kind == 2) tree_text(&here, "a", "text");
      faults.after_name = replace_by_folder;
      test_case("policy %u, kind %u", policy, kind);
      CHECK_NUMBER(measure_result(files, &here), PFP_E_CHANGING);
      CHECK(failed_at(files, PFP_E_CHANGING, 0, "a"));
      faults_reset();
      struct pfp_bundle cold = measure_cold(&here), again = measure(files, &here);
      CHECK_BYTES(again.digest, cold.digest, 32);
      end(files);
    }
  }
}

static const struct test tests[] = {
    TEST("a folder that is back at the second opening is measured", a_folder_that_is_back),
    TEST("a folder that is opened again and is not there is told by name", folders_opened_again),
    TEST("a folder is entered as absent, or walked, or changing", folders_that_are_denied),
    TEST("a folder that tells no types gives the same digests", folders_that_tell_no_types),
    TEST("an entry of which nothing may be known is absent", entries_of_no_known_type),
    TEST("a listing that fails is an error, and no shorter folder", listings_that_fail),
    TEST("a cancel is heard between two names of a folder", a_cancel_between_names),
    TEST("a root that changed recently is listed the next time", a_root_that_changed_recently),
    TEST("a root that cannot be looked at is an error", a_root_that_cannot_be_looked_at),
    TEST("a file whose read failed is read the next time", a_failed_read_is_not_kept),
    TEST("a long file is not read on after an error", a_broken_file_is_not_read_on),
    TEST("a file is not taken for shorter if a read is cut short", a_read_that_is_cut_short),
    TEST("an entry has the size of the bytes that were read", the_size_of_the_bytes_that_were_read),
    TEST("a link that turns while it is read is read again", links_that_turn),
    TEST("an entry of another type than was listed is told by name", listed_as_another_type),
};

const struct suite files_turns_suite = SUITE("turns", tests);
