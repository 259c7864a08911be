// SPDX-License-Identifier: Apache-2.0

/// Known entries of a bundle, packed and read back.

#define _GNU_SOURCE

#include "context/known.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probe_suites.h"
#include "tree.h"

static struct pfp_known_entry entry_number(struct dice *dice, char path[64], unsigned i) {
  struct pfp_known_entry entry = {.fd = -1};
  entry.path_size = (uint32_t)snprintf(path, 64, "folder-%04u/%s/name-%u", i / 50, i % 3 == 0 ? "a" : "abc", i % 50);
  entry.path = path;
  entry.identity = (struct pfp_identity){.device = 1 + i % 2,
                                         .mount = 7,
                                         .inode = dice_roll(dice),
                                         .size = dice_roll(dice),
                                         .changed = dice_roll(dice),
                                         .modified = dice_roll(dice),
                                         .mode = (uint16_t)(dice_roll(dice) & 07777),
                                         .type = (uint8_t)(1 + i % 7)};
  dice_fill(dice, entry.content, sizeof entry.content);
  return entry;
}

/// Appends `count` entries in order of their numbers; answers how many fitted.
static unsigned fill(struct pfp_known *known, unsigned count, size_t bytes_max) {
  struct dice dice = {11};
  for (unsigned i = 0; i < count; i++) {
    char path[64];
    struct pfp_known_entry entry = entry_number(&dice, path, i);
    if (!pfp_known_append(known, &entry, bytes_max)) return i;
  }
  return count;
}

static bool same(const struct pfp_known_entry *a, const struct pfp_known_entry *b) {
  return a->path_size == b->path_size && strcmp(a->path, b->path) == 0 && a->fd == b->fd &&
         pfp_identity_equal(&a->identity, &b->identity) && memcmp(a->content, b->content, 32) == 0;
}

static void round_trip(void) {
  struct pfp_known known;
  struct dice dice = {11};
  unsigned i = 0, pages = 0;
  faults_reset();
  pfp_known_init(&known);
  CHECK_COUNT(fill(&known, 5000, SIZE_MAX), 5000);
  CHECK_COUNT(known.entries, 5000);
  for (struct pfp_known_page *page = known.first; page != NULL; page = page->next, pages++) {
    struct pfp_known_cursor cursor;
    pfp_known_read(&cursor, &known, page);
    while (pfp_known_next(&cursor)) {
      char path[64];
      struct pfp_known_entry expected = entry_number(&dice, path, i++);
      test_case("entry %u", i);
      REQUIRE(CHECK(same(&cursor.entry, &expected)));
    }
  }
  CHECK_COUNT(i, 5000);
  CHECK_COUNT(known.bytes, pages * sizeof(struct pfp_known_page));
  CHECK_COUNT(pfp_known_clear(&known), 0);
  CHECK(known.first == NULL && known.bytes == 0);
}

static void twenty_thousand(void) {
  enum { BYTES = 2359296 };
  struct pfp_known known;
  faults_reset();
  pfp_known_init(&known);
  CHECK_COUNT(fill(&known, 20000, BYTES), 20000);
  test_note("20,000 entries take %zu KiB", known.bytes / 1024);
  // Beyond the bound an entry is refused, and what is there stays.
  unsigned most = 20000 + fill(&known, 20000, BYTES);
  CHECK(most < 40000);
  CHECK(known.bytes <= BYTES);
  CHECK_COUNT(known.entries, most);
  (void)pfp_known_clear(&known);
}

static void consumed_in_order(void) {
  struct pfp_known known;
  struct pfp_known_consumer consumer;
  struct dice dice = {11};
  size_t before;
  faults_reset();
  pfp_known_init(&known);
  CHECK_COUNT(fill(&known, 3000, SIZE_MAX), 3000);
  before = known.bytes;
  pfp_known_consume(&consumer, &known);
  CHECK(known.first == NULL);
  for (unsigned i = 0; i < 3000; i++) {
    char path[64], missing[80];
    struct pfp_known_entry expected = entry_number(&dice, path, i);
    // The order of the numbers is not always that of the paths; what comes too late is not found and does no harm.
    if (i % 50 >= 10 || i % 3 != 0) continue;
    if (i % 7 == 0) continue;
    const struct pfp_known_entry *found = pfp_known_find(&consumer, path);
    test_case("%s", path);
    if (found != NULL) CHECK(same(found, &expected));
    (void)snprintf(missing, sizeof missing, "%s\x01", path);
    CHECK(pfp_known_find(&consumer, missing) == NULL);
  }
  CHECK(consumer.known.bytes < before);
  pfp_known_consumed(&consumer, &known, false);
  CHECK(known.first == NULL);
}

/// A failed measurement keeps the entries that it had not come to, and further entries come behind them.
static void kept_after_a_failure(void) {
  struct pfp_known known;
  struct pfp_known_consumer consumer;
  struct dice dice = {13};
  char path[64], last[64] = "";
  unsigned i = 0, kept = 0, found = 0;
  faults_reset();
  pfp_known_init(&known);
  for (; i < 600; i++) {
    struct pfp_known_entry entry = entry_number(&dice, path, i);
    entry.path_size = (uint32_t)snprintf(path, sizeof path, "%06u", i);
    entry.identity.device = 1;
    if (!CHECK(pfp_known_append(&known, &entry, SIZE_MAX))) return;
  }
  pfp_known_consume(&consumer, &known);
  CHECK(pfp_known_find(&consumer, "000001") != NULL);
  pfp_known_consumed(&consumer, &known, true);
  for (struct pfp_known_page *page = known.first; page != NULL; page = page->next) kept += page->entries;
  CHECK(kept > 0 && kept < 600);
  for (; i < 1200; i++) {
    struct pfp_known_entry entry = entry_number(&dice, path, i);
    entry.path_size = (uint32_t)snprintf(path, sizeof path, "%06u", i);
    entry.identity.device = 1;
    if (!CHECK(pfp_known_append(&known, &entry, SIZE_MAX))) break;
  }
  for (struct pfp_known_page *page = known.first; page != NULL; page = page->next) {
    struct pfp_known_cursor cursor;
    pfp_known_read(&cursor, &known, page);
    while (pfp_known_next(&cursor)) {
      test_case("%s after %s", cursor.path, last);
      CHECK(strcmp(cursor.path, last) > 0);
      memcpy(last, cursor.path, cursor.entry.path_size + 1);
      found++;
    }
  }
  CHECK_COUNT(found, kept + 600);
  CHECK_COUNT(pfp_known_clear(&known), 0);
  CHECK(known.bytes == 0);
}

static unsigned open_descriptors(void) {
  unsigned count = 0;
  for (int fd = 0; fd < 1024; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

static void descriptors_are_not_lost(void) {
  unsigned before = open_descriptors();
  for (unsigned way = 0; way < 3; way++) {
    struct pfp_known known;
    struct pfp_known_consumer consumer;
    struct dice dice = {12};
    uint32_t closed;
    unsigned taken = 0;
    faults_reset();
    pfp_known_init(&known);
    for (unsigned i = 0; i < 600; i++) {
      char path[64];
      struct pfp_known_entry entry = entry_number(&dice, path, i);
      entry.path_size = (uint32_t)snprintf(path, sizeof path, "%06u", i);
      entry.fd = dup(0);
      if (!CHECK(pfp_known_append(&known, &entry, SIZE_MAX))) return;
    }
    test_case("way %u", way);
    if (way == 0) {
      closed = pfp_known_clear(&known);
    } else {
      pfp_known_consume(&consumer, &known);
      for (unsigned i = 0; i < 300; i += 3) {
        char path[64];
        (void)snprintf(path, sizeof path, "%06u", i);
        const struct pfp_known_entry *entry = pfp_known_find(&consumer, path);
        if (!CHECK(entry != NULL)) return;
        (void)close(entry->fd);
        taken++;
      }
      // A measurement that failed keeps what it had not come to.
      pfp_known_consumed(&consumer, &known, way == 2);
      closed = consumer.closed;
      CHECK((known.first != NULL) == (way == 2));
      closed += pfp_known_clear(&known);
    }
    CHECK_COUNT(closed + taken, 600);
    CHECK_COUNT(open_descriptors(), before);
  }
}

/// Entries of 80 bytes and a path of its own: sixteen of 1,967 bytes of path fill a page of 32 KiB less its head.
static bool append_plain(struct pfp_known *known, unsigned i, uint32_t path_size, size_t bytes_max) {
  char path[PFP_PATH_MAX + 1];
  struct pfp_known_entry entry = {.path = path, .path_size = path_size, .fd = -1};
  entry.identity = (struct pfp_identity){.device = 3, .mount = 3, .type = 1};
  memset(path, 'a' + (int)i, path_size);
  path[path_size] = '\0';
  return pfp_known_append(known, &entry, bytes_max);
}

static void pages_are_filled_to_their_end(void) {
  for (unsigned less = 0; less < 2; less++) {
    struct pfp_known known;
    faults_reset();
    pfp_known_init(&known);
    // Less than a page is room for nothing.
    CHECK(!append_plain(&known, 0, 1967, 32767));
    CHECK_COUNT(known.bytes, 0);
    for (unsigned i = 0; i < 16; i++) CHECK(append_plain(&known, i, i == 0 ? 1967 + less : 1967, 32768 * (1 + less)));
    CHECK_COUNT(known.bytes, 32768 * (1 + less));
    CHECK(less == 1 || known.last->used == 32752);
    if (less == 0) CHECK(!append_plain(&known, 16, 1, 65535));
    CHECK_COUNT(known.entries, 16);
    CHECK(append_plain(&known, 16, 1, 65536));
    CHECK_COUNT(known.bytes, 65536);
    CHECK_COUNT(known.entries, 17);
    CHECK_COUNT(pfp_known_clear(&known), 0);
  }
}

/// A bundle over so many devices and mounts.
static void sixteen_mounts(void) {
  struct pfp_known known;
  struct pfp_known_cursor cursor;
  unsigned at = 0;
  faults_reset();
  pfp_known_init(&known);
  for (unsigned i = 0; i < 17; i++) {
    char path[8];
    // Each differs from its neighbour in the device or in the mount alone.
    struct pfp_known_entry entry = {.path = path, .path_size = 2, .fd = -1};
    entry.identity = (struct pfp_identity){.device = 100 + i / 2, .mount = 200 + (i + 1) / 2, .type = 1};
    (void)snprintf(path, sizeof path, "%02u", i);
    test_case("mount %u", i);
    for (unsigned again = 0; again < 2; again++) CHECK(pfp_known_append(&known, &entry, SIZE_MAX) == (i < 16));
    path[0]++;
  }
  CHECK_COUNT(known.mounts, 16);
  CHECK_COUNT(known.entries, 32);
  pfp_known_read(&cursor, &known, known.first);
  for (; pfp_known_next(&cursor); at++) {
    CHECK_COUNT(cursor.entry.identity.device, 100 + at / 4);
    CHECK_COUNT(cursor.entry.identity.mount, 200 + (at / 2 + 1) / 2);
  }
  CHECK_COUNT(at, 32);
  (void)pfp_known_clear(&known);
}

/// Entries on these devices and mounts.
static void append_on(struct pfp_known *known, const uint8_t *mounts, unsigned count, char first) {
  for (unsigned i = 0; i < count; i++) {
    char path[16];
    struct pfp_known_entry entry = {.path = path, .path_size = 3, .fd = -1};
    entry.identity = (struct pfp_identity){.device = mounts[i] / 10, .mount = mounts[i] % 10, .type = 1};
    (void)snprintf(path, sizeof path, "%c%02u", first, i);
    CHECK(pfp_known_append(known, &entry, SIZE_MAX));
  }
}

/// Entries that were not consumed are kept after a failure if both number their mounts alike.
static void mounts_numbered_alike(void) {
  static const struct {
    uint8_t written[3];
    unsigned count;
    bool kept;
  } cases[] = {{{0}, 0, true},          {{11}, 1, true},          {{11, 22}, 2, true},  {{11, 22, 33}, 3, true},
               {{21}, 1, false},        {{12}, 1, false},         {{22}, 1, false},     {{11, 21}, 2, false},
               {{11, 12}, 2, false},    {{11, 22, 34}, 3, false}, {{11, 22, 43}, 3, false}};
  static const uint8_t both[] = {11, 22};
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct pfp_known known;
    struct pfp_known_consumer consumer;
    unsigned pages = 0;
    faults_reset();
    test_case("case %u", i);
    pfp_known_init(&known);
    append_on(&known, both, 2, 'a');
    // A second page, which is not consumed.
    for (unsigned p = 0; p < 16; p++) CHECK(append_plain(&known, 1 + p, 2047, SIZE_MAX));
    size_t whole = known.bytes;
    CHECK_COUNT(whole, 65536);
    pfp_known_consume(&consumer, &known);
    CHECK(pfp_known_find(&consumer, "a00") != NULL);
    append_on(&known, cases[i].written, cases[i].count, 'A');
    pfp_known_consumed(&consumer, &known, true);
    for (struct pfp_known_page *page = known.first; page != NULL; page = page->next) {
      struct pfp_known_cursor cursor;
      pages++;
      pfp_known_read(&cursor, &known, page);
      if (page != known.last || !cases[i].kept) continue;
      CHECK(pfp_known_next(&cursor) && cursor.path[0] == 'q' && cursor.entry.path_size == 2047);
      CHECK(cursor.entry.identity.device == 3 && cursor.entry.identity.mount == 3);
    }
    CHECK_COUNT(pages, (cases[i].count != 0) + (cases[i].kept ? 1u : 0u));
    CHECK_COUNT(known.bytes, pages * sizeof(struct pfp_known_page));
    CHECK_COUNT(known.mounts, cases[i].kept ? 3 : cases[i].count);
    (void)pfp_known_clear(&known);
    CHECK_COUNT(known.bytes, 0);
  }
}

/// A process whose descriptor 0 is one of ours: dropped, passed by, or left over.
static bool descriptor_zero(void *user) {
  bool good = true;
  (void)user;
  for (unsigned way = 0; way < 4; way++) {
    struct pfp_known known;
    struct pfp_known_consumer consumer;
    struct pfp_known_entry entry = {.path = "a", .path_size = 1, .fd = 0, .identity = {.type = 1}};
    test_case("way %u", way);
    (void)close(0);
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) != 0) return false;
    pfp_known_init(&known);
    good = CHECK(pfp_known_append(&known, &entry, SIZE_MAX)) && good;
    if (way == 0) {
      good = CHECK_COUNT(pfp_known_clear(&known), 1) && good;
    } else {
      pfp_known_consume(&consumer, &known);
      // Behind it, before it, or nothing asked for.
      if (way < 3) good = CHECK(pfp_known_find(&consumer, way == 1 ? "b" : "A") == NULL) && good;
      pfp_known_consumed(&consumer, &known, false);
      good = CHECK_COUNT(consumer.closed, 1) && good;
    }
    good = CHECK(fcntl(0, F_GETFD) < 0) && good;
  }
  return good;
}

static void descriptor_zero_is_closed(void) {
  faults_reset();
  CHECK(in_child(descriptor_zero, NULL));
}

/// Each byte of a path counts, and so does its end.
static void paths_are_found_whole(void) {
  static const char *const paths[] = {"a", "a-", "a/b", "a0", "b", "ba", "bb"};
  static const char *const asked[] = {"A", "a", "a!", "a-", "a/", "a/b", "a/bc", "b", "ba", "bb", "c"};
  struct pfp_known known;
  struct pfp_known_consumer consumer;
  faults_reset();
  pfp_known_init(&known);
  for (unsigned i = 0; i < 7; i++) {
    struct pfp_known_entry entry = {.path = paths[i], .path_size = (uint32_t)strlen(paths[i]), .fd = -1};
    entry.identity = (struct pfp_identity){.inode = i, .type = 1};
    CHECK(pfp_known_append(&known, &entry, SIZE_MAX));
  }
  pfp_known_consume(&consumer, &known);
  for (unsigned i = 0; i < sizeof asked / sizeof asked[0]; i++) {
    const struct pfp_known_entry *found = pfp_known_find(&consumer, asked[i]);
    bool there = false;
    for (unsigned p = 0; p < 7; p++) there = there || strcmp(paths[p], asked[i]) == 0;
    test_case("%s", asked[i]);
    CHECK((found != NULL) == there);
    if (found != NULL) CHECK(strcmp(found->path, asked[i]) == 0 && strcmp(paths[found->identity.inode], asked[i]) == 0);
  }
  pfp_known_consumed(&consumer, &known, false);
}

static const struct test tests[] = {
    TEST("packed entries are read back", round_trip),
    TEST("20,000 entries fit in 2.25 MiB, and what does not fit is refused", twenty_thousand),
    TEST("entries are found in order, and pages given back", consumed_in_order),
    TEST("a failed measurement keeps the entries that it had not come to, and more are added", kept_after_a_failure),
    TEST("no descriptor is lost, and none closed twice", descriptors_are_not_lost),
    TEST("pages are filled to their end, and none is begun beyond the limit", pages_are_filled_to_their_end),
    TEST("entries of sixteen mounts are kept, and none of a seventeenth", sixteen_mounts),
    TEST("a failed measurement keeps entries whose mounts are numbered alike", mounts_numbered_alike),
    TEST("descriptor 0 is closed like others", descriptor_zero_is_closed),
    TEST("a path is found if each byte of it is the same", paths_are_found_whole),
};

const struct suite known_suite = SUITE("known", tests);
