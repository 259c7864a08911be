// SPDX-License-Identifier: Apache-2.0

/// Inputs of a bundle's digest, and facts that are no input.

#define _GNU_SOURCE

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness.h"
#include "probe_suites.h"
#include "tree.h"

// Entries --------------------------------------------------------------------------------------------------------

struct seen {
  unsigned count;
  char paths[400][300];
  struct pfp_entry entries[400];
};

static int see(void *user, const struct pfp_entry *entry) {
  struct seen *seen = user;
  if (seen->count == 400) return 1;
  (void)snprintf(seen->paths[seen->count], sizeof seen->paths[0], "%s", entry->path);
  CHECK_COUNT(strlen(entry->path), entry->path_size);
  seen->entries[seen->count] = *entry;
  seen->count++;
  return 0;
}

static const struct pfp_entry *seen_entry(const struct seen *seen, const char *path) {
  for (unsigned i = 0; i < seen->count; i++) {
    if (strcmp(seen->paths[i], path) == 0) return &seen->entries[i];
  }
  return NULL;
}

static struct seen *see_all(struct pfp_files *files, const struct tree *tree, struct pfp_bundle *bundle) {
  static struct seen seen;
  seen.count = 0;
  faults_reset();
  CHECK_NUMBER(pfp_files_digest_bundle(files, tree->root, see, &seen, bundle), PFP_OK);
  CHECK_COUNT(bundle->entries, seen.count);
  return &seen;
}

static int by_bytes(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/// "a-b" and "a.b" come between the folder "a" and what is in it; names are bytes, not text.
static void order(void) {
  const char *folders[] = {"a", "a/c", "a-", "a--", "a!", "a!/a", "a!/a-", "Z", "a.", "a/c-"};
  const char *files[] = {"b",      "a0",     "a-/y",  "a--/z", "a!/x", "a!/a/q", "a!/a-/r", "a/-",     "a/c/d",
                         "a/c.d",  "a.b",    "aa",    "A",     "B",    "a\x7f",  "a\xc3(",  "\xc3\xa9", "\xff\xfe",
                         "\x01",   "a \n",   "a-.",   "a./x",  "a/c-/e", "\x80", "a/c0"};
  enum { FOLDERS = sizeof folders / sizeof folders[0], FILES = sizeof files / sizeof files[0] };
  const char *expected[FOLDERS + FILES];
  struct tree tree = tree_make();
  struct pfp_files *context = files_new(PFP_POLICY_FULL, 0);
  struct pfp_bundle bundle;
  for (unsigned i = 0; i < FOLDERS; i++) tree_folder(&tree, expected[i] = folders[i]);
  for (unsigned i = 0; i < FILES; i++) tree_text(&tree, expected[FOLDERS + i] = files[i], files[i]);
  qsort(expected, FOLDERS + FILES, sizeof expected[0], by_bytes);
  const struct seen *seen = see_all(context, &tree, &bundle);
  REQUIRE(CHECK_COUNT(seen->count, FOLDERS + FILES));
  for (unsigned i = 0; i < FOLDERS + FILES; i++) {
    test_case("entry %u: %s, expected %s", i, seen->paths[i], expected[i]);
    CHECK(strcmp(seen->paths[i], expected[i]) == 0);
  }
  pfp_files_free(context);
  tree_drop(&tree);
}

static void every_type(void) {
  struct tree tree = tree_make();
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
  struct pfp_bundle bundle, without;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const char *here;
  tree_text(&tree, "file", "12345");
  tree_mode(&tree, "file", 04751);
  tree_folder(&tree, "folder");
  tree_mode(&tree, "folder", 01750);
  tree_link(&tree, "link", "anywhere");
  without = measure_cold(&tree);
  REQUIRE(CHECK(mkfifo(tree_path(&tree, "pipe"), 0640) == 0));
  // A socket's address is short: bind from inside.
  here = realpath(".", NULL);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  (void)snprintf(address.sun_path, sizeof address.sun_path, "socket");
  REQUIRE(CHECK(chdir(tree.root) == 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0));
  REQUIRE(CHECK(chdir(here) == 0));
  const struct seen *seen = see_all(files, &tree, &bundle);
  static const struct {
    const char *path;
    uint8_t type;
    uint16_t mode;
    uint64_t size;
  } expected[] = {{"file", PFP_TYPE_FILE, 04751, 5},
                  {"folder", PFP_TYPE_FOLDER, 01750, 0},
                  {"link", PFP_TYPE_LINK, 0, 8},
                  {"pipe", PFP_TYPE_FIFO, 0640, 0}};
  for (unsigned i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    const struct pfp_entry *entry = seen_entry(seen, expected[i].path);
    test_case("%s", expected[i].path);
    REQUIRE(CHECK(entry != NULL));
    CHECK_NUMBER(entry->type, expected[i].type);
    CHECK_NUMBER(entry->mode, expected[i].mode);
    CHECK_COUNT(entry->size, expected[i].size);
    CHECK_NUMBER(entry->state, PFP_STATE_PRESENT);
    if (entry->type != PFP_TYPE_FILE && entry->type != PFP_TYPE_LINK) CHECK_ZEROS(entry->content, 32);
  }
  CHECK(seen_entry(seen, "socket") != NULL && seen_entry(seen, "socket")->type == PFP_TYPE_SOCKET);
  CHECK_DIFFER(without.digest, bundle.digest, 32);
  if (geteuid() == 0) {
    // The digest of a device node covers its number and nothing else.
    REQUIRE(CHECK(mknod(tree_path(&tree, "zero"), S_IFCHR | 0666, makedev(1, 5)) == 0));
    REQUIRE(CHECK(mknod(tree_path(&tree, "block"), S_IFBLK | 0600, makedev(7, 3)) == 0));
    seen = see_all(files, &tree, &bundle);
    CHECK_COUNT(seen_entry(seen, "zero")->size, UINT64_C(1) << 32 | 5);
    CHECK_NUMBER(seen_entry(seen, "zero")->type, PFP_TYPE_CHARACTER);
    CHECK_COUNT(seen_entry(seen, "block")->size, UINT64_C(7) << 32 | 3);
    CHECK_NUMBER(seen_entry(seen, "block")->type, PFP_TYPE_BLOCK);
  }
  (void)close(fd);
  free((void *)(uintptr_t)here);
  pfp_files_free(files);
  tree_drop(&tree);
}

static void loops_of_links(void) {
  struct tree tree = tree_make();
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
  struct pfp_bundle bundle;
  tree_folder(&tree, "folder");
  tree_link(&tree, "folder/up", "..");
  tree_link(&tree, "folder/self", "self");
  tree_link(&tree, "one", "two");
  tree_link(&tree, "two", "one");
  CHECK_COUNT(see_all(files, &tree, &bundle)->count, 5);
  // As a root, or as a file, a loop is an error that says so.
  struct pfp_entry entry;
  CHECK_NUMBER(pfp_files_digest_bundle(files, tree_path(&tree, "one"), NULL, NULL, &bundle), PFP_E_UNREADABLE);
  CHECK_NUMBER(pfp_files_digest_file(files, tree_path(&tree, "one"), &entry), PFP_E_UNREADABLE);
  pfp_files_free(files);
  tree_drop(&tree);
}

// Stability ------------------------------------------------------------------------------------------------------

static void unchanged(void) {
  struct tree tree = tree_sample(), other = tree_make();
  struct pfp_bundle first = measure_cold(&tree), again;
  char here[400];

  test_case("measured again");
  again = measure_cold(&tree);
  CHECK_BYTES(again.digest, first.digest, 32);

  test_case("copied away and back");
  tree_copy(&other, &tree);
  again = measure_cold(&other);
  CHECK_BYTES(again.digest, first.digest, 32);
  tree_drop(&tree);
  REQUIRE(CHECK(mkdir(tree.root, 0755) == 0));
  tree_copy(&tree, &other);
  again = measure_cold(&tree);
  CHECK_BYTES(again.digest, first.digest, 32);

  test_case("touched");
  tree_touch(&tree, "lib/long");
  tree_touch(&tree, "lib");
  tree_touch(&tree, "link");
  again = measure_cold(&tree);
  CHECK_BYTES(again.digest, first.digest, 32);

  test_case("a hard link instead of a copy");
  tree_remove(&tree, "lib/small-7");
  REQUIRE(CHECK(link(tree_path(&other, "lib/small-7"), tree_path(&tree, "lib/small-7")) == 0));
  again = measure_cold(&tree);
  CHECK_BYTES(again.digest, first.digest, 32);

  test_case("another working directory, and a relative path");
  REQUIRE(CHECK(getcwd(here, sizeof here) != NULL && chdir(tree.root) == 0));
  again = measure_cold(&(struct tree){"."});
  CHECK_BYTES(again.digest, first.digest, 32);
  again = measure_cold(&(struct tree){"lib/deep/../.."});
  CHECK_BYTES(again.digest, first.digest, 32);
  REQUIRE(CHECK(chdir(here) == 0));

  test_case("by way of a link");
  tree_remove(&other, "readme");
  tree_link(&other, "readme", tree.root);
  (void)snprintf(other.root + strlen(other.root), sizeof other.root - strlen(other.root), "/readme");
  again = measure_cold(&other);
  CHECK_BYTES(again.digest, first.digest, 32);
  tree_drop(&tree);
}

static void locales(void) {
  // Where the C library sorts without regard to case and punctuation. Without them installed, the environment.
  static const char *const names[] = {"C", "C.UTF-8", "en_US.UTF-8", "de_DE.UTF-8", "cs_CZ.UTF-8", ""};
  struct tree tree = tree_sample();
  tree_text(&tree, "B", "");
  tree_text(&tree, "_b", "");
  tree_text(&tree, "c", "");
  struct pfp_bundle first = measure_cold(&tree);
  for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
    test_case("%s", names[i]);
    if (setlocale(LC_ALL, names[i]) == NULL) continue;
    struct pfp_bundle again = measure_cold(&tree);
    CHECK_BYTES(again.digest, first.digest, 32);
  }
  (void)setlocale(LC_ALL, "C");
  tree_drop(&tree);
}

/// Every kernel, one worker and two, mapped and read: how does not matter.
static void every_way(void) {
  struct tree tree = tree_sample();
  struct pfp_bundle first = measure_cold(&tree);
  for (unsigned way = 0; way < 32; way++) {
    struct pfp_files_options file_options = {.key = {1, 2, 3},
                                             .salt = {4, 5, 6},
                                             .policy = (way & 1) != 0 ? PFP_POLICY_TRUSTING : PFP_POLICY_FULL,
                                             .limit_log2 = 40,
                                             .kernel = (uint8_t)(way >> 1 & 3),
                                             .workers = (uint8_t)(1 + (way >> 3 & 1))};
    struct pfp_files *files;
    if (!pfp_kernel_available((enum pfp_kernel)file_options.kernel)) continue;
    test_case("policy %u, kernel %u, %u workers, %s", file_options.policy, file_options.kernel, file_options.workers,
              way >= 16 ? "read" : "mapped");
    faults_reset();
    faults.no_maps = way >= 16;
    REQUIRE(CHECK_NUMBER(pfp_files_create(&files, &file_options), PFP_OK));
    struct pfp_bundle again = measure(files, &tree);
    CHECK_BYTES(again.digest, first.digest, 32);
    CHECK_COUNT(pfp_files_statistics(files)->bytes_read, again.bytes);
    pfp_files_free(files);
  }
  faults_reset();
  tree_drop(&tree);
}

static void key_and_salt(void) {
  struct tree tree = tree_sample();
  struct pfp_bundle first = measure_cold(&tree), again;
  for (unsigned i = 0; i < 2; i++) {
    struct pfp_files_options file_options = {
        .key = {1, 2, 3}, .salt = {4, 5, 6}, .policy = PFP_POLICY_FULL, .limit_log2 = 40};
    struct pfp_files *files;
    if (i == 0) file_options.key[31] ^= 1;
    if (i == 1) file_options.salt[15] ^= 1;
    REQUIRE(CHECK_NUMBER(pfp_files_create(&files, &file_options), PFP_OK));
    again = measure(files, &tree);
    CHECK_DIFFER(again.digest, first.digest, 32);
    pfp_files_free(files);
  }
  tree_drop(&tree);
}

static void a_file_wherever_it_is(void) {
  struct tree tree = tree_sample();
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
  static const char *const paths[] = {"empty", "readme", "lib/one-leaf", "lib/one-more", "lib/some-leaves", "lib/long"};
  struct pfp_bundle bundle;
  const struct seen *seen = see_all(files, &tree, &bundle);
  for (unsigned i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    const struct pfp_entry *in_bundle = seen_entry(seen, paths[i]);
    struct pfp_entry alone, elsewhere;
    test_case("%s", paths[i]);
    REQUIRE(CHECK(in_bundle != NULL));
    REQUIRE(CHECK_NUMBER(pfp_files_digest_file(files, tree_path(&tree, paths[i]), &alone), PFP_OK));
    CHECK_BYTES(alone.content, in_bundle->content, 32);
    CHECK_DIFFER(alone.digest, in_bundle->digest, 32);
    CHECK_COUNT(alone.size, in_bundle->size);
    tree_rename(&tree, paths[i], "elsewhere");
    REQUIRE(CHECK_NUMBER(pfp_files_digest_file(files, tree_path(&tree, "elsewhere"), &elsewhere), PFP_OK));
    CHECK_BYTES(elsewhere.digest, alone.digest, 32);
    tree_rename(&tree, "elsewhere", paths[i]);
  }
  pfp_files_free(files);
  tree_drop(&tree);
}

static const struct test tests[] = {
    TEST("entries come in byte order of their whole paths, whatever their names", order),
    TEST("each type has its mode, size and number, and special files are not opened", every_type),
    TEST("links are entries, and their loops end nowhere", loops_of_links),
    TEST("a bundle that was copied, touched or reached otherwise keeps its digest", unchanged),
    TEST("the locale does not matter", locales),
    TEST("kernel, workers, policy and mapping do not matter", every_way),
    TEST("key and salt do matter", key_and_salt),
    TEST("a file's digest is the same wherever it lies, its content's also in a bundle", a_file_wherever_it_is),
};

const struct suite bundle_suite = SUITE("bundle", tests);
