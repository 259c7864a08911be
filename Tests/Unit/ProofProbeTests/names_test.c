// SPDX-License-Identifier: Apache-2.0

/// Names of one folder against sorting all of them at once.

#include "files/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "probe_suites.h"

/// A place as text: the name, the descent's with its slash.
struct line {
  char text[PFP_NAME_MAX + 2];
};

static int by_text(const void *a, const void *b) {
  return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

static int by_name(const void *a, const void *b) {
  const char *x = a, *y = b;
  return strcmp(x, y);
}

/// Hands out `names` (unique, with types) from `size` bytes of memory; compares with sorting. Answers the passes.
static unsigned hand_out(char (*names)[PFP_NAME_MAX + 1], const uint8_t *types, unsigned count, uint32_t size) {
  struct line *expected = calloc(2 * (size_t)count + 1, sizeof *expected);
  void *memory = malloc(size);
  struct pfp_names folder;
  struct pfp_name name;
  unsigned lines = 0, at = 0, passes = 0;
  if (expected == NULL || memory == NULL) abort();
  for (unsigned i = 0; i < count; i++) {
    (void)snprintf(expected[lines++].text, sizeof expected[0].text, "%s", names[i]);
    if (types[i] == PFP_TYPE_FOLDER) (void)snprintf(expected[lines++].text, sizeof expected[0].text, "%s/", names[i]);
  }
  qsort(expected, lines, sizeof *expected, by_text);
  // A folder before it may have left anything.
  memset(&folder, 0xFF, sizeof folder);
  pfp_names_begin(&folder, memory, size);
  do {
    passes++;
    for (unsigned i = 0; i < count; i++) pfp_names_add(&folder, types[i], names[i]);
    CHECK(pfp_names_sort(&folder) <= size);
    while (pfp_names_next(&folder, &name)) {
      struct line line;
      (void)snprintf(line.text, sizeof line.text, "%s%s", name.bytes, name.descent ? "/" : "");
      if (!CHECK(at < lines) || !CHECK(strcmp(line.text, expected[at].text) == 0)) {
        free(expected);
        free(memory);
        return 0;
      }
      CHECK_COUNT(name.size, strlen(name.bytes));
      at++;
    }
  } while (pfp_names_more(&folder));
  CHECK_COUNT(at, lines);
  free(expected);
  free(memory);
  return passes;
}

/// Random names over few letters, so that prefixes and neighbours of the slash abound.
static unsigned random_names(struct dice *dice, char (*names)[PFP_NAME_MAX + 1], uint8_t *types, unsigned wanted,
                             unsigned longest) {
  static const char letters[] = "a-.0/";  // the slash stands for a high byte
  unsigned count = 0;
  for (unsigned i = 0; i < wanted; i++) {
    unsigned size = 1 + dice_below(dice, longest);
    for (unsigned c = 0; c < size; c++) {
      char letter = letters[dice_below(dice, 5)];
      names[i][c] = letter == '/' ? (char)0xfe : letter;
    }
    names[i][size] = '\0';
  }
  qsort(names, wanted, sizeof names[0], by_name);
  for (unsigned i = 0; i < wanted; i++) {
    if (i > 0 && strcmp(names[i], names[count - 1]) == 0) continue;
    memmove(names[count], names[i], sizeof names[0]);
    types[count++] = dice_below(dice, 3) == 0 ? PFP_TYPE_FOLDER : PFP_TYPE_FILE;
  }
  // Any order will do, but not the right one.
  for (unsigned i = count; i > 1; i--) {
    unsigned other = dice_below(dice, i);
    char name[PFP_NAME_MAX + 1];
    memcpy(name, names[i - 1], sizeof name);
    memcpy(names[i - 1], names[other], sizeof name);
    memcpy(names[other], name, sizeof name);
  }
  return count;
}

static void any_memory(void) {
  enum { MOST = 3000 };
  static char names[MOST][PFP_NAME_MAX + 1];
  static uint8_t types[MOST];
  struct dice dice = {7};
  unsigned most_passes = 0;
  for (unsigned round = 0; round < 60; round++) {
    static const unsigned longest[] = {3, 9, 40, PFP_NAME_MAX};
    unsigned count = random_names(&dice, names, types, 1 + dice_below(&dice, MOST), longest[round % 4]);
    uint32_t size = round % 3 == 0 ? 1u << 20 : PFP_NAMES_LEAST + dice_below(&dice, 20000);
    test_case("round %u: %u names, %u bytes", round, count, size);
    unsigned passes = hand_out(names, types, count, size);
    if (passes == 0) return;
    if (passes > most_passes) most_passes = passes;
    if (size == 1u << 20 && round % 4 != 3) CHECK_COUNT(passes, 1);
  }
  CHECK(most_passes > 20);
}

static void no_names(void) {
  char name[1][PFP_NAME_MAX + 1] = {"only"};
  uint8_t type = PFP_TYPE_FOLDER;
  CHECK_COUNT(hand_out(name, &type, 0, PFP_NAMES_LEAST), 1);
  CHECK_COUNT(hand_out(name, &type, 1, PFP_NAMES_LEAST), 1);
}

/// The layout of a pass: a name of n bytes takes n + 3 from the front, each place 16 from the end and 8 for sorting.
static bool apart(const struct pfp_names *folder) {
  return CHECK(folder->used + folder->count * 16 + (folder->count + 1) / 2 * 16 <= folder->size);
}

/// Names of one size, added until one is left out. A pass ends when memory for two more places is lacking.
static void memory_is_used_to_its_end(void) {
  static const unsigned sizes[] = {2, 3, 6, 13, 40, 254, 255};
  for (unsigned way = 0; way < 4 * sizeof sizes / sizeof sizes[0]; way++) {
    unsigned size = sizes[way / 4], places = 1 + way % 2, count = 0;
    uint32_t bytes = way % 4 < 2 ? 4096 : 65541;
    _Alignas(16) static uint8_t memory[65541 + 32];
    struct pfp_names folder;
    char name[PFP_NAME_MAX + 1];
    memset(memory, 0xEE, sizeof memory);
    memset(name, 'n', sizeof name);
    name[size] = '\0';
    pfp_names_begin(&folder, memory, bytes);
    CHECK_COUNT(folder.size, bytes == 4096 ? 4096 : 65536);
    test_case("%u bytes of memory, names of %u bytes, %u places each", bytes, size, places);
    for (; count < 4000 && !folder.bounded; count++) {
      uint32_t used = folder.used, had = folder.count;
      name[0] = (char)('0' + count / 64);
      name[1] = (char)('0' + count % 64);
      pfp_names_add(&folder, places == 2 ? PFP_TYPE_FOLDER : PFP_TYPE_FILE, name);
      if (!apart(&folder)) return;
      if (folder.bounded) {
        CHECK(used + size + 3 + (had + 2) * 24 + 16 > folder.size);
      } else {
        CHECK(used + size + 3 + (had + 2) * 24 + 16 <= folder.size);
        CHECK_COUNT(folder.used, used + size + 3);
        CHECK_COUNT(folder.count, had + places);
      }
    }
    CHECK(folder.bounded);
    for (unsigned i = 0; i < 32; i++) CHECK_NUMBER(memory[bytes + i], 0xEE);
  }
}

/// The lower half of the places stays when memory is full, and each name that has one of them once.
static void the_lower_half_stays(void) {
  _Alignas(16) static uint8_t memory[4096];
  struct pfp_names folder;
  struct pfp_name name;
  char text[8];
  unsigned count = 0, at = 0;
  uint32_t before = 0;
  pfp_names_begin(&folder, memory, sizeof memory);
  for (unsigned i = 0; !folder.bounded; i++) {
    before = folder.count;
    // The highest first, so that each further one is wanted.
    (void)snprintf(text, sizeof text, "%03u", 900 - i);
    pfp_names_add(&folder, PFP_TYPE_FOLDER, text);
    count++;
  }
  // Half of the places that were there, and the name that found no room.
  CHECK_COUNT(folder.count, before / 2 + 2);
  CHECK_COUNT(folder.used, 6 * ((before / 2 + 1) / 2 + 1));
  CHECK_COUNT(pfp_names_sort(&folder), (folder.used + 15) / 16 * 16 + folder.count * 16);
  while (pfp_names_next(&folder, &name)) {
    (void)snprintf(text, sizeof text, "%03u", 901 - count + at / 2);
    test_case("place %u", at);
    CHECK(strcmp(name.bytes, text) == 0 && name.descent == (at % 2 == 1));
    at++;
  }
  CHECK_COUNT(at, before / 2 + 2);
}

/// The answer is what the names take from now on: the records, and behind them the places, aligned.
static void memory_that_is_needed(void) {
  for (unsigned size = 1; size <= 40; size++) {
    _Alignas(16) uint8_t memory[4096];
    struct pfp_names folder;
    struct pfp_name name;
    char text[64];
    memset(text, 'x', size);
    text[size] = '\0';
    test_case("a name of %u bytes", size);
    pfp_names_begin(&folder, memory, sizeof memory);
    pfp_names_add(&folder, PFP_TYPE_FOLDER, text);
    CHECK_COUNT(pfp_names_sort(&folder), (size + 3 + 15) / 16 * 16 + 32);
    for (unsigned i = 0; i < 2; i++) {
      REQUIRE(CHECK(pfp_names_next(&folder, &name)));
      CHECK_NUMBER(name.size, size);
      CHECK_NUMBER(name.type, PFP_TYPE_FOLDER);
      CHECK(name.descent == (i == 1));
      CHECK_BYTES(name.bytes, text, size + 1);
    }
    CHECK(!pfp_names_next(&folder, &name) && !pfp_names_more(&folder));
  }
}

static const struct test tests[] = {
    TEST("names come out sorted, each once, however little memory there is", any_memory),
    TEST("an empty folder and a folder of one", no_names),
    TEST("memory is used to its end, and no record meets the room for sorting", memory_is_used_to_its_end),
    TEST("the lower half of the places stays when memory is full", the_lower_half_stays),
    TEST("sorted names take their records and their places", memory_that_is_needed),
};

const struct suite names_suite = SUITE("names", tests);
