// SPDX-License-Identifier: Apache-2.0

/// Records of files, and the index of a bundle, byte by byte as docs/PROBE.md, files.h and bundle_index.h have them.

#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sodium/crypto_generichash_blake2b.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ProofProbe.h"
#include "base/secret.h"
#include "process_place.h"
#include "process_suites.h"

enum { SHARDS = 64, HASH = 32, HEAD = 8 + SHARDS * HASH + SHARDS * 4, FILES = 3, INDEX = HEAD + 16 * FILES + 16 };

/// The message at hand.
static struct {
  uint8_t bytes[8192];
  size_t size;
} message;

static void add(const void *bytes, size_t size) {
  memcpy(message.bytes + message.size, bytes, size);
  message.size += size;
}

static void add_number(uint64_t number, size_t size) {
  uint8_t bytes[8];
  put64(bytes, number);
  add(bytes, size);
}

/// BLAKE2b-256 of the message under a key, or without one, with this personalisation; the message is then empty.
static void take(uint8_t digest[HASH], const uint8_t *key, const char personal[17]) {
  static const uint8_t SALT[16];
  (void)crypto_generichash_blake2b_salt_personal(digest, HASH, message.bytes, message.size, key, key != NULL ? 32 : 0,
                                                 SALT, (const uint8_t *)personal);
  message.size = 0;
}

static const uint8_t KEY[32] = "ProofKit evidence, version 1";

static void content_of(uint8_t digest[HASH], const char *text) {
  add(text, strlen(text));
  take(digest, KEY, "pfp1.content....");
}

/// An entry: a file that is there.
static void entry_of(uint8_t digest[HASH], const char *path, const char *text, uint16_t mode) {
  uint8_t content[HASH];
  content_of(content, text);
  add_number(1, 1);
  add_number(1, 1);
  add_number(mode, 2);
  add_number(strlen(text), 8);
  add_number(strlen(path), 4);
  add(path, strlen(path));
  add(content, sizeof content);
  take(digest, KEY, "pfp1.entry......");
}

/// The bundle of the place, in its order.
static const struct {
  const char *path, *text;
  mode_t mode;
} BUNDLE[FILES] = {{"one", "1\n", 0640}, {"three", "333\n", 0604}, {"two", "22\n", 0755}};
enum { ROOT_MODE = 0751 };

static uint8_t entries[FILES][HASH], shards[SHARDS][HASH];

static unsigned shard_of(const char *path) {
  uint32_t hash = 2166136261u;
  for (; *path != 0; path++) hash = (hash ^ (uint8_t)*path) * 16777619u;
  return hash % SHARDS;
}

static void set_mode(const char *name, mode_t mode) {
  char path[160];
  (void)snprintf(path, sizeof path, "%s/%s", place.bundle, name);
  CHECK_NUMBER(chmod(path, mode), 0);
}

static bool begin(void) {
  if (!place_begin()) return false;
  set_mode("", ROOT_MODE);
  for (size_t i = 0; i < FILES; i++) {
    set_mode(BUNDLE[i].path, BUNDLE[i].mode);
    entry_of(entries[i], BUNDLE[i].path, BUNDLE[i].text, (uint16_t)BUNDLE[i].mode);
  }
  for (unsigned shard = 0; shard < SHARDS; shard++) {
    uint64_t count = 0;
    for (size_t i = 0; i < FILES; i++) {
      if (shard_of(BUNDLE[i].path) != shard) continue;
      add(entries[i], HASH);
      count++;
    }
    add_number(count, 8);
    if (shard == 0) add_number(ROOT_MODE, 8);
    take(shards[shard], NULL, "pfp1.shard......");
  }
  return true;
}

// Records --------------------------------------------------------------------------------------------------------

struct record {
  uint8_t class_, number;
  const char *name;
  uint8_t digest[HASH];
  unsigned seen;
};

static int keep(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                const uint8_t *digest) {
  struct record *record = context;
  if (class_ != record->class_ || number != record->number || name_size != strlen(record->name) ||
      memcmp(name, record->name, name_size) != 0) {
    return 0;
  }
  if (digest != NULL) memcpy(record->digest, digest, HASH);
  record->seen++;
  return 0;
}

static void check_record(struct pfp_probe *probe, uint8_t policy, uint8_t number, const char *name,
                         const uint8_t *digest) {
  struct record record = {.class_ = 2, .number = number, .name = name};
  struct pfc_config draft = place_draft(policy, 1);
  unsigned kept = 0;
  for (unsigned i = 0; i < draft.source_count; i++) {
    if (draft.sources[i].class_ == 2 && draft.sources[i].number != 1) draft.sources[kept++] = draft.sources[i];
  }
  draft.source_count = (uint8_t)kept;
  test_case("policy %u, %s", policy, name);
  CHECK_NUMBER(pfp_probe_collect(probe, &draft, keep, &record), PFP_OK);
  CHECK_NUMBER(record.seen, 1);
  CHECK_BYTES(record.digest, digest, HASH);
}

/// The longest name of a further folder.
static const char FOLDER[] = "0123456789012345678901234567890123456789012345678901234567890123";

static void records_of_files_are_those_of_the_page(void) {
  char program[160], library[128], name[80];
  uint8_t executable[HASH], folder[HASH], sdk[HASH];
  struct pfp_probe_folder folders[] = {{FOLDER, library}};
  struct pfp_probe_options own = {
      .executable = program, .bundle = place.bundle, .folders = folders, .folder_count = 1};
  struct pfp_probe *probe;
  REQUIRE(begin());
  (void)snprintf(program, sizeof program, "%s/program", place.folder);
  (void)snprintf(library, sizeof library, "%s/library", place.folder);
  (void)snprintf(name, sizeof name, "folder:%s", FOLDER);
  CHECK(mkdir(library, 0700) == 0 && chmod(library, 0705) == 0);
  place_write("../library/a", "of a folder");
  set_mode("../library/a", 0444);
  place_write("../program", "run");
  content_of(executable, "run");
  entry_of(folder, "a", "of a folder", 0444);
  add_number(0705, 2);
  add(folder, HASH);
  add_number(1, 8);
  take(folder, KEY, "pfp1.bundle.....");
  add(folder, HASH);
  take(folder, NULL, "pfp1.folder.....");
  add_number(strlen(PFP_SDK_VERSION), 4);
  add(PFP_SDK_VERSION, strlen(PFP_SDK_VERSION));
  take(sdk, NULL, "pfp1.fact.......");
  REQUIRE(CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_OK));
  for (uint8_t policy = 1; policy <= 3; policy++) {
    check_record(probe, policy, 2, "executable", executable);
    for (unsigned shard = 0; shard < SHARDS; shard++) {
      const char letter[] = {(char)('0' + shard), 0};
      check_record(probe, policy, 3, letter, shards[shard]);
    }
    check_record(probe, policy, 3, name, folder);
    check_record(probe, policy, 4, "sdk", sdk);
  }
  pfp_probe_free(probe);
  place_finish();
}

// Index ----------------------------------------------------------------------------------------------------------

static struct baseline baseline;
static struct pfp_probe *probe;
static char index_path[128];
static uint8_t secret[32];

/// The device and the bundle alone, with the secret that is in the storage.
static bool begin_index(void) {
  struct pfc_key key = place_key();
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  draft.source_count = 2;
  draft.sources[0] = (struct pfc_source){.class_ = 1, .number = 1, .version = 1};
  draft.sources[1] = (struct pfc_source){.class_ = 2, .number = 3, .version = 1, .groups_log2 = 6};
  (void)snprintf(index_path, sizeof index_path, "%s/bundle-index", place.storage);
  probe = place_probe();
  return probe != NULL && CHECK_NUMBER(pfp_secret_read(secret, place.storage), PFP_OK) &&
         CHECK_NUMBER(pfp_probe_baseline(&baseline.config, probe, &draft, &key), PFP_OK) &&
         CHECK_NUMBER(pfc_config_encode(baseline.bytes, sizeof baseline.bytes, &baseline.size, &baseline.config),
                      PFC_OK);
}

static int make_index(void) {
  struct pfc_key key = place_key();
  return pfp_probe_index(probe, baseline.bytes, baseline.size, &key);
}

static void end_index(void) {
  pfp_probe_free(probe);
  place_finish();
}

static void put_tag(uint8_t *bytes, size_t size) {
  uint8_t tag[HASH];
  add("t", 1);
  add(bytes, size - 16);
  take(tag, secret, "pfp1.index......");
  memcpy(bytes + size - 16, tag, 16);
}

/// Half of an entry: M(letter, path, or path and digest).
static void put_half(uint8_t *at, char letter, const char *path, const uint8_t *digest) {
  uint8_t half[HASH];
  add(&letter, 1);
  add(path, strlen(path));
  if (digest != NULL) add(digest, HASH);
  take(half, secret, "pfp1.index......");
  memcpy(at, half, 8);
}

static int compare_names(const void *left, const void *right) {
  const uint64_t a = get64(left), b = get64(right);
  return (a > b) - (a < b);
}

static void expect_index(uint8_t bytes[INDEX]) {
  uint8_t *at = bytes + HEAD;
  memcpy(bytes, "PKBI0001", 8);
  memcpy(bytes + 8, shards, sizeof shards);
  for (unsigned shard = 0; shard < SHARDS; shard++) {
    uint32_t count = 0;
    for (size_t i = 0; i < FILES; i++) {
      if (shard_of(BUNDLE[i].path) != shard) continue;
      put_half(at + 16 * count, 'n', BUNDLE[i].path, NULL);
      put_half(at + 16 * count + 8, 'c', BUNDLE[i].path, entries[i]);
      count++;
    }
    qsort(at, count, 16, compare_names);
    at += 16 * count;
    put32(bytes + 8 + SHARDS * HASH + 4 * shard, count);
  }
  put_tag(bytes, INDEX);
}

static void write_index(const uint8_t *bytes, size_t size) {
  int file = open(index_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  CHECK(file >= 0 && write(file, bytes, size) == (ssize_t)size && close(file) == 0);
}

static void an_index_is_written_as_on_the_page(void) {
  uint8_t expected[INDEX], written[INDEX + 1] = {0};
  int file;
  REQUIRE(begin() && begin_index() && CHECK_NUMBER(make_index(), PFP_OK));
  expect_index(expected);
  file = open(index_path, O_RDONLY | O_CLOEXEC);
  CHECK_NUMBER(read(file, written, sizeof written), INDEX);
  (void)close(file);
  CHECK_BYTES(written, expected, 8);
  CHECK_BYTES(written + 8, expected + 8, SHARDS * HASH);
  CHECK_BYTES(written + 8 + SHARDS * HASH, expected + 8 + SHARDS * HASH, SHARDS * 4);
  CHECK_BYTES(written + HEAD, expected + HEAD, INDEX - HEAD);
  end_index();
}

/// Whether an index names the entry that changed, or added: one finding either way.
static bool names_the_entry(const char *text) {
  const struct pfp_diagnosis *diagnosis = baseline_diagnose(probe, &baseline);
  if (!CHECK_COUNT(diagnosis->count, 1)) return false;
  return diagnosis->findings[0].certain == 1 && strcmp(diagnosis->findings[0].text, text) == 0;
}

/// Each index has a right tag, unless the tag itself is wrong.
static void an_index_that_is_not_sound_is_not_believed(void) {
  uint8_t sound[INDEX + 16], bytes[INDEX + 16];
  REQUIRE(begin() && begin_index());
  memset(sound, 0, sizeof sound);
  expect_index(sound);
  place_write("two", "2?\n");
  for (unsigned how = 0; how < 10; how++) {
    uint8_t *counts = bytes + 8 + SHARDS * HASH, *last = counts;
    size_t size = INDEX;
    test_case("how %u", how);
    memcpy(bytes, sound, sizeof bytes);
    for (unsigned i = 0; i < SHARDS; i++) last = get32(counts + 4 * i) != 0 ? counts + 4 * i : last;
    if (how == 1) bytes[7] = '2';
    if (how == 2) bytes[0]++;
    if (how == 3) put32(last, get32(last) + 1);
    if (how == 4) put32(last, get32(last) - 1);
    if (how == 5) size += 1;
    if (how == 6) size += 15;
    if (how == 7) size += 16;
    put_tag(bytes, size);
    if (how == 8) bytes[size - 1] ^= 1;
    if (how == 9) bytes[size - 16] ^= 1;
    write_index(bytes, size);
    CHECK(names_the_entry("bundle: two: changed") == (how == 0));
  }
  end_index();
}

/// A link to an index is none, and what is no file is not waited for.
static void an_index_is_a_file_of_its_own(void) {
  char other[160];
  REQUIRE(begin() && begin_index() && CHECK_NUMBER(make_index(), PFP_OK));
  (void)snprintf(other, sizeof other, "%s/other", place.storage);
  place_write("two", "2?\n");
  CHECK(names_the_entry("bundle: two: changed"));
  CHECK(rename(index_path, other) == 0 && symlink("other", index_path) == 0);
  CHECK(!names_the_entry("bundle: two: changed"));
  CHECK(unlink(index_path) == 0 && mkfifo(index_path, 0600) == 0);
  CHECK(!names_the_entry("bundle: two: changed"));
  CHECK(unlink(index_path) == 0 && rename(other, index_path) == 0);
  CHECK(names_the_entry("bundle: two: changed"));
  end_index();
}

static void an_index_of_nothing_names_what_is_added(void) {
  struct stat status;
  char path[160];
  REQUIRE(begin());
  for (size_t i = 0; i < FILES; i++) {
    (void)snprintf(path, sizeof path, "%s/%s", place.bundle, BUNDLE[i].path);
    CHECK_NUMBER(unlink(path), 0);
  }
  REQUIRE(begin_index() && CHECK_NUMBER(make_index(), PFP_OK));
  CHECK(stat(index_path, &status) == 0 && status.st_size == HEAD + 16);
  place_write("new", "1");
  CHECK(names_the_entry("bundle: new: added"));
  end_index();
}

static size_t count_files(const char *folder) {
  DIR *listing = opendir(folder);
  size_t count = 0;
  while (listing != NULL && readdir(listing) != NULL) count++;
  if (listing != NULL) (void)closedir(listing);
  return count - 2;
}

static void an_index_that_cannot_be_put_in_place_leaves_nothing(void) {
  const struct pfp_probe_failure *failure;
  REQUIRE(begin() && begin_index());
  CHECK_NUMBER(mkdir(index_path, 0700), 0);
  CHECK_NUMBER(make_index(), PFP_E_UNREADABLE);
  failure = pfp_probe_failure(probe);
  CHECK(failure->result == PFP_E_UNREADABLE && failure->core == 0 && failure->error == 0);
  CHECK(strcmp(failure->path, place.storage) == 0);
  // The secret, and the folder.
  CHECK_COUNT(count_files(place.storage), 2);
  CHECK_NUMBER(rmdir(index_path), 0);
  CHECK_NUMBER(make_index(), PFP_OK);
  CHECK_NUMBER(pfp_probe_failure(probe)->result, PFP_OK);
  CHECK_COUNT(count_files(place.storage), 2);
  test_case("a storage that is open to others");
  CHECK_NUMBER(chmod(place.storage, 0750), 0);
  CHECK_NUMBER(make_index(), PFP_E_EXPOSED);
  failure = pfp_probe_failure(probe);
  CHECK(failure->result == PFP_E_EXPOSED && failure->core == 0 && failure->error == 0);
  CHECK(strcmp(failure->path, place.storage) == 0);
  test_case("another bundle");
  CHECK_NUMBER(chmod(place.storage, 0700), 0);
  place_write("two", "2?\n");
  CHECK_NUMBER(make_index(), PFP_E_CHANGING);
  failure = pfp_probe_failure(probe);
  CHECK(failure->result == PFP_E_CHANGING && failure->core == 0 && failure->error == 0);
  CHECK(strcmp(failure->path, place.bundle) == 0);
  end_index();
}

static const struct test tests[] = {
    TEST("records of files are those of the page", records_of_files_are_those_of_the_page),
    TEST("an index is written as on the page", an_index_is_written_as_on_the_page),
    TEST("an index that is not sound is not believed", an_index_that_is_not_sound_is_not_believed),
    TEST("an index is a file of its own", an_index_is_a_file_of_its_own),
    TEST("an index of nothing names what is added", an_index_of_nothing_names_what_is_added),
    TEST("an index that cannot be made is told, and leaves nothing",
         an_index_that_cannot_be_put_in_place_leaves_nothing),
};

const struct suite process_bytes_suite = SUITE("bytes", tests);
