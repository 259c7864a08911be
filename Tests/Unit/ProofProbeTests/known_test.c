// SPDX-License-Identifier: Apache-2.0

/// Known entries of a bundle, packed and read back.

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

static const struct test tests[] = {
    TEST("packed entries are read back", round_trip),
    TEST("20,000 entries fit in 2.25 MiB, and what does not fit is refused", twenty_thousand),
    TEST("entries are found in order, and pages given back", consumed_in_order),
    TEST("a failed measurement keeps the entries that it had not come to, and more are added", kept_after_a_failure),
    TEST("no descriptor is lost, and none closed twice", descriptors_are_not_lost),
};

const struct suite known_suite = SUITE("known", tests);
