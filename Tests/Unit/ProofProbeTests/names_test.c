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

static const struct test tests[] = {
    TEST("names come out sorted, each once, however little memory there is", any_memory),
    TEST("an empty folder and a folder of one", no_names),
};

const struct suite names_suite = SUITE("names", tests);
