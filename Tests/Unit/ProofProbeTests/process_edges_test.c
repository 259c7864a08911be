// SPDX-License-Identifier: Apache-2.0

/// Words, tables and names at their edges: one slot, the last bit of a bitmap, versions of one name, a name of one
/// letter, tables that begin where their segment does.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process_place.h"
#include "process_suites.h"
#include "process_words.h"

static void need_nothing(size_t object) {
  for (size_t i = 0; i < made.images[object].dynamic_count; i++) {
    if (made.images[object].dynamic[i].d_tag == DT_NEEDED) made.images[object].dynamic[i].d_tag = DT_DEBUG;
  }
}

static void need(size_t object, size_t other) {
  made_dynamic(object, DT_NEEDED, made_string(object, made.items[other].name));
}

static void begin_word(unsigned type, size_t word, uint32_t symbol, uint64_t addend, uintptr_t value) {
  made_relocate(MADE_OWN, type, word, symbol, addend);
  made_close_tables(MADE_OWN);
  words_set(word, value);
}

// Words ----------------------------------------------------------------------------------------------------------

static void one_slot_alone_is_read_from_the_file(void) {
  REQUIRE(place_begin());
  words_begin();
  begin_word(PFP_R_SLOT, MADE_SLOT + 3, words.one, 0, made_function(MADE_OWN, 4));
  if (made_file(MADE_OWN)) {
    page_symbol(MADE_SLOT + 3, MADE_OTHER, "one", "", 0);
    words_check(0, "", 0, 0);
  }
  place_finish();
}

/// Bit 63 stands for the last word of a bitmap, bit 1 for the first.
static void each_bit_of_a_bitmap_is_its_word(void) {
  struct made_image *image = &made.images[MADE_OWN];
  for (unsigned bit = 1; bit < 64; bit++) {
    test_case("bit %u", bit);
    words_begin();
    // The address stands before word 1 by as many words as the bit says.
    image->packed[0] = 4096 + 8 - 8 * (uint64_t)bit;
    image->packed[1] = 1 | UINT64_C(1) << bit;
    made_dynamic_at(MADE_OWN, DT_RELR, image->packed);
    made_dynamic(MADE_OWN, DT_RELRSZ, 2 * sizeof image->packed[0]);
    words_set(0, made_function(MADE_OWN, 1));
    words_set(1, made_function(MADE_OWN, 2));
    words_set(2, made_function(MADE_OWN, 3));
    if (bit == 1) page_place(0, image->words[0]);
    page_place(1, image->words[1]);
    words_check(0, "", bit == 1 ? 2 : 1, 0);
  }
}

/// An addend that leads from nothing to a definition does not make the word one.
static void an_empty_word_is_nothing_whatever_is_added(void) {
  words_begin();
  begin_word(PFP_R_WORD, MADE_SEALED, words.one, 0 - words.at_one, 0);
  page_word(MADE_SEALED, NOTHING);
  words_check(0, "", 0, 0);
}

/// An executable's entry of the PLT stands for a function's address, and no call leads to it.
static void calls_pass_over_the_executables_own_entry(void) {
  words_begin();
  const uint32_t entry = made_symbol(MADE_EXECUTABLE, "one", STT_FUNC, made_function(MADE_EXECUTABLE, 1));
  made.images[MADE_EXECUTABLE].symbols[entry].st_shndx = SHN_UNDEF;
  made_relocate(MADE_OWN, PFP_R_GLOBAL, MADE_SEALED, words.one, 0);
  begin_word(PFP_R_SLOT, MADE_SLOT, words.one, 0, words.at_one);
  words_set(MADE_SEALED, made_function(MADE_EXECUTABLE, 1));
  page_symbol(MADE_SEALED, MADE_EXECUTABLE, "one", "", 0);
  page_symbol(MADE_SLOT, MADE_OTHER, "one", "", 0);
  words_check(0, "", 0, 0);
}

/// MADE_OTHER has version A of a name at its first function, and B at its resolver, which chooses that function.
/// MADE_OWN asks for `asked`.
static void begin_versions(const char *asked) {
  words_begin();
  made_choice = made_function(MADE_OTHER, 5);
  made_version(MADE_OTHER, made_symbol(MADE_OTHER, "both", STT_FUNC, made_function(MADE_OTHER, 5)), "A");
  made_version(MADE_OTHER, made_symbol(MADE_OTHER, "both", STT_GNU_IFUNC, (uintptr_t)made_resolver), "B");
  const uint32_t both = made_symbol(MADE_OWN, "both", STT_FUNC, 0);
  if (asked != NULL) made_version(MADE_OWN, both, asked);
  begin_word(PFP_R_GLOBAL, MADE_SEALED, both, 0, made_function(MADE_OTHER, 5));
}

/// A word is told by the version that was asked for, if that leads there; else by the one that is there.
static void a_word_has_the_version_that_was_asked_for(void) {
  static const char *const TOLD[][2] = {{"A", "A"}, {"B", "B"}, {"C", "A"}};
  for (size_t i = 0; i < 3; i++) {
    test_case("version %s", TOLD[i][0]);
    begin_versions(TOLD[i][0]);
    page_symbol(MADE_SEALED, MADE_OTHER, "both", TOLD[i][1], 0);
    words_check(0, "", 0, 0);
    CHECK_NUMBER(made_resolved, i == 1);
  }
  test_case("no version");
  begin_versions(NULL);
  page_symbol(MADE_SEALED, MADE_OTHER, "both", "", 0);
  words_check(0, "", 0, 0);
  CHECK_NUMBER(made_resolved, 0);
}

/// The very version that was asked for is there: no resolver of another object is asked whether it chose that.
static void a_version_that_is_there_asks_no_resolver(void) {
  words_begin();
  made_choice = made_function(MADE_APART, 5);
  made_version(MADE_OTHER, made_symbol(MADE_OTHER, "both", STT_GNU_IFUNC, (uintptr_t)made_resolver), "A");
  made_version(MADE_APART, made_symbol(MADE_APART, "both", STT_FUNC, made_function(MADE_APART, 5)), "A");
  const uint32_t both = made_symbol(MADE_OWN, "both", STT_FUNC, 0);
  made_version(MADE_OWN, both, "A");
  begin_word(PFP_R_GLOBAL, MADE_SEALED, both, 0, made_function(MADE_APART, 5));
  page_symbol(MADE_SEALED, MADE_APART, "both", "A", 0);
  words_check(0, "", 0, 0);
  CHECK_NUMBER(made_resolved, 0);
}

// Raw digests ----------------------------------------------------------------------------------------------------

static struct pfp_hash hash;

static void begin_raw(void) {
  static const uint8_t KEY[PFP_HASH_KEY_BYTES], SALT[PFP_HASH_SALT_BYTES];
  CHECK_NUMBER(pfp_hash_init(&hash, KEY, SALT, PFP_KERNEL_BEST), PFP_OK);
  made_begin();
  for (size_t i = 0; i < MADE_OBJECTS; i++) {
    made_dynamic_at(i, DT_PLTGOT, &made.images[i].words[MADE_LOOSE]);
    made_relocate(i, PFP_R_SLOT, MADE_SLOT + 1, 0, 0);
    made_close_tables(i);
  }
}

/// Every object has all three parts: RELRO, a slot and the reserved words.
static void each_object_has_a_raw_digest_of_three_parts(void) {
  static const size_t WORDS[] = {MADE_SEALED, MADE_SLOT + 1, MADE_LOOSE + 2};
  begin_raw();
  made.items[MADE_OBJECTS] = made.items[MADE_OWN];
  CHECK_NUMBER(pfp_objects_links_raw(&made.objects, &hash), 0);
  // No object behind the list has one.
  CHECK_ZEROS(made.items[MADE_OBJECTS].links_raw, PFC_DIGEST_BYTES);
  for (size_t i = 0; i < MADE_OBJECTS; i++) {
    for (size_t j = 0; j < 3; j++) {
      uint8_t before[MADE_OBJECTS][PFC_DIGEST_BYTES];
      test_case("object %zu, word %zu", i, WORDS[j]);
      for (size_t k = 0; k < MADE_OBJECTS; k++) memcpy(before[k], made.items[k].links_raw, PFC_DIGEST_BYTES);
      made.images[i].words[WORDS[j]] ^= 1;
      CHECK_NUMBER(pfp_objects_links_raw(&made.objects, &hash), 0);
      for (size_t k = 0; k < MADE_OBJECTS; k++) {
        CHECK((memcmp(before[k], made.items[k].links_raw, PFC_DIGEST_BYTES) != 0) == (k == i));
      }
    }
  }
}

static void raw_digests_cover_no_slots_of_another_format(void) {
  uint8_t before[PFC_DIGEST_BYTES];
  begin_raw();
  made_dynamic(MADE_OWN, DT_PLTREL, DT_REL);
  CHECK_NUMBER(pfp_objects_links_raw(&made.objects, &hash), 0);
  memcpy(before, made.items[MADE_OWN].links_raw, sizeof before);
  made.images[MADE_OWN].words[MADE_SLOT + 1] ^= 1;
  CHECK_NUMBER(pfp_objects_links_raw(&made.objects, &hash), 0);
  CHECK_BYTES(made.items[MADE_OWN].links_raw, before, sizeof before);
}

// Names ----------------------------------------------------------------------------------------------------------

static struct pfp_wanted wanted(const char *name, const char *version) {
  struct pfp_wanted request = {.name = name, .version = version, .hash = 5381};
  for (; *name != 0; name++) request.hash = request.hash * 33 + (uint8_t)*name;
  return request;
}

static bool finds(const char *name) {
  struct pfp_wanted request = wanted(name, NULL);
  struct pfp_definition found = {0};
  return pfp_scopes_find(&found, &made.scopes, &made.items[MADE_OWN], &request) == 1 &&
         found.object == &made.items[MADE_OTHER];
}

/// A definition whose name stands behind the strings has none; a name of one letter is a name.
static void short_names_are_names_and_no_name_is_none(void) {
  words_begin();
  (void)made_symbol(MADE_OTHER, "x", STT_FUNC, made_function(MADE_OTHER, 6));
  const uint32_t nameless = made_symbol(MADE_OTHER, "y", STT_FUNC, made_function(MADE_OTHER, 6));
  made.images[MADE_OTHER].symbols[nameless].st_name = 9999;
  if (made_scopes()) CHECK(finds("x") && !finds("y") && !finds(""));
  made_end();
}

/// Tables, code and words may stand in any segment.
static void each_segment_may_be_the_first(void) {
  for (unsigned turn = 0; turn < 3; turn++) {
    test_case("turn %u", turn);
    words_begin();
    for (size_t i = 0; i < MADE_OBJECTS; i++) {
      struct pfp_segment *segments = made.items[i].segments;
      const struct pfp_segment all[3] = {segments[0], segments[1], segments[2]};
      for (unsigned j = 0; j < 3; j++) segments[j] = all[(j + turn) % 3];
    }
    made_relocate(MADE_OWN, PFP_R_CHOSEN, MADE_SEALED + 1, 0, (uintptr_t)made_resolver - made.items[MADE_OWN].bias);
    begin_word(PFP_R_GLOBAL, MADE_SEALED, words.one, 0, words.at_one);
    words_set(MADE_SEALED + 1, made_choice);
    page_word(MADE_SEALED + 1, CHOSEN);
    page_object(MADE_OWN);
    page_number((uintptr_t)made_resolver - made.items[MADE_OWN].bias);
    page_symbol(MADE_SEALED, MADE_OTHER, "one", "", 0);
    words_check(0, "", 0, 0);
  }
}

static struct pfp_symbols symbols;

static bool open_own(void) { return CHECK_NUMBER(pfp_symbols_open(&symbols, &made.items[MADE_OWN]), 0); }

static bool is_there(const char *name) {
  struct pfp_wanted request = wanted(name, NULL);
  struct pfp_definition found;
  return pfp_symbols_find(&found, &symbols, &request) == 1;
}

static void begin_names(bool is_gnu) {
  made_begin();
  if (is_gnu) made_gnu(MADE_OWN);
  (void)made_symbol(MADE_OWN, "a", STT_FUNC, made_function(MADE_OWN, 1));
  (void)made_symbol(MADE_OWN, "b", STT_FUNC, made_function(MADE_OWN, 2));
}

/// The hash table is the first thing of its segment.
static void a_table_may_begin_with_its_segment(void) {
  for (unsigned is_gnu = 0; is_gnu < 2; is_gnu++) {
    test_case("%s", is_gnu ? "newer format" : "older format");
    begin_names(is_gnu != 0);
    made.items[MADE_OWN].segments[1].start = (uintptr_t)made.images[MADE_OWN].hash;
    if (open_own()) CHECK(is_there("a") && is_there("b"));
    pfp_symbols_close(&symbols);
  }
}

/// Two bits of the filter stand for a name: its hash, and its hash shifted.
static void each_shift_of_the_filter_counts(void) {
  const uint32_t hash_of_b = wanted("b", NULL).hash;
  for (uint32_t shift = 0; shift < 32; shift++) {
    for (unsigned how = 0; how < 3; how++) {
      const uint64_t first = UINT64_C(1) << hash_of_b % 64, second = UINT64_C(1) << (hash_of_b >> shift) % 64;
      const uint64_t filter = how == 0 ? first | second : how == 1 ? ~first : ~second;
      test_case("shift %u, how %u", shift, how);
      begin_names(true);
      made.images[MADE_OWN].hash[3] = shift;
      memcpy(made.images[MADE_OWN].hash + 4, &filter, sizeof filter);
      if (open_own()) CHECK(is_there("b") == (how == 0));
      pfp_symbols_close(&symbols);
    }
  }
}

/// Behind the last symbol of the table stands another one.
static void walks_end_with_the_last_symbol(void) {
  struct made_image *image = &made.images[MADE_OWN];
  uint32_t index = 0;
  begin_names(true);
  image->symbols[3] = image->symbols[2];
  if (!open_own()) return;
  CHECK(pfp_symbols_next(&symbols, &index) != NULL);
  index = 2;
  CHECK(pfp_symbols_next(&symbols, &index) != NULL);
  CHECK_COUNT(index, 2);
  index = 3;
  CHECK(pfp_symbols_next(&symbols, &index) == NULL);
  CHECK_COUNT(index, 3);
  pfp_symbols_close(&symbols);
}

/// A table of versions has one entry more behind its end.
static void versions_end_with_their_number(void) {
  struct made_image *image = &made.images[MADE_OWN];
  struct pfp_wanted request;
  begin_names(false);
  made_version(MADE_OWN, 1, "V");
  made_version(MADE_OWN, 2, "W");
  for (size_t i = 0; i < image->dynamic_count; i++) {
    if (image->dynamic[i].d_tag == DT_VERDEFNUM) image->dynamic[i].d_un.d_val = 1;
  }
  if (!open_own()) return;
  request = pfp_symbols_wanted(&symbols, 1);
  CHECK(request.version != NULL && strcmp(request.version, "V") == 0);
  request = pfp_symbols_wanted(&symbols, 2);
  CHECK(request.version == NULL);
  pfp_symbols_close(&symbols);
}

/// Each list of versions that are asked for has one more behind its end, and so has the list of these lists.
static void needed_versions_end_with_their_numbers(void) {
  static struct {
    ElfW(Verneed) need;
    ElfW(Vernaux) names[2];
  } table[2];
  begin_names(false);
  for (size_t i = 0; i < 2; i++) {
    table[i].need = (ElfW(Verneed)){.vn_version = 1, .vn_cnt = 1, .vn_aux = sizeof(ElfW(Verneed)),
                                    .vn_next = sizeof table[0]};
    for (size_t j = 0; j < 2; j++) {
      table[i].names[j] = (ElfW(Vernaux)){.vna_other = (ElfW(Half))(2 + 2 * i + j),
                                          .vna_name = made_string(MADE_OWN, "N"),
                                          .vna_next = sizeof(ElfW(Vernaux))};
    }
  }
  made_dynamic_at(MADE_OWN, DT_VERSYM, made.images[MADE_OWN].versions);
  made_dynamic(MADE_OWN, DT_VERNEED, (uintptr_t)&table - made.items[MADE_OWN].bias);
  made_dynamic(MADE_OWN, DT_VERNEEDNUM, 1);
  for (unsigned version = 2; version <= 5; version++) {
    test_case("version %u", version);
    made.images[MADE_OWN].versions[1] = (ElfW(Half))version;
    if (open_own()) CHECK((pfp_symbols_wanted(&symbols, 1).version != NULL) == (version == 2));
    pfp_symbols_close(&symbols);
  }
}

// Scopes ---------------------------------------------------------------------------------------------------------

/// MADE_OTHER was opened. It has so many names that another object has too, and then one of its own that the program
/// finds.
static bool is_global_behind(unsigned shared) {
  bool global = false;
  made_begin();
  need_nothing(MADE_EXECUTABLE);
  need(MADE_EXECUTABLE, MADE_OWN);
  made_gnu(MADE_OTHER);
  for (unsigned i = 0; i < shared; i++) (void)made_symbol(MADE_OTHER, "shared", STT_FUNC, made_function(MADE_OTHER, 1));
  (void)made_symbol(MADE_OTHER, "made_resolver", STT_FUNC, made_function(MADE_OTHER, 1));
  (void)made_symbol(MADE_LOADER, "shared", STT_FUNC, made_function(MADE_LOADER, 1));
  if (made_scopes()) global = made.scopes.global_count == 3;
  made_end();
  return global;
}

static void sixteen_names_of_an_object_are_tried(void) {
  CHECK(is_global_behind(15));
  CHECK(!is_global_behind(16));
}

/// A name is another object's too if that one has it in another version.
static void names_are_compared_without_versions(void) {
  made_begin();
  need_nothing(MADE_EXECUTABLE);
  need(MADE_EXECUTABLE, MADE_OWN);
  made_gnu(MADE_OTHER);
  made_version(MADE_OTHER, made_symbol(MADE_OTHER, "shared", STT_FUNC, made_function(MADE_OTHER, 1)), "V");
  (void)made_symbol(MADE_OTHER, "made_resolver", STT_FUNC, made_function(MADE_OTHER, 2));
  made_version(MADE_LOADER, made_symbol(MADE_LOADER, "shared", STT_FUNC, made_function(MADE_LOADER, 1)), "W");
  if (made_scopes()) CHECK_COUNT(made.scopes.global_count, 3);
  made_end();
}

/// The executable's names are others' too: they do not tell whether an object was opened for all.
static void the_executables_names_are_not_an_objects_own(void) {
  made_begin();
  need_nothing(MADE_EXECUTABLE);
  need(MADE_EXECUTABLE, MADE_OWN);
  made_gnu(MADE_OTHER);
  (void)made_symbol(MADE_OTHER, "shared", STT_FUNC, made_function(MADE_OTHER, 1));
  (void)made_symbol(MADE_OTHER, "made_resolver", STT_FUNC, made_function(MADE_OTHER, 2));
  (void)made_symbol(MADE_EXECUTABLE, "shared", STT_FUNC, made_function(MADE_EXECUTABLE, 1));
  if (made_scopes()) CHECK_COUNT(made.scopes.global_count, 3);
  made_end();
}

/// A list has its objects and no other: a definition in the executable is not its first.
static void a_list_ends_with_its_last_object(void) {
  const struct pfp_wanted request = {.name = "alone", .hash = 0};
  struct pfp_definition definition = {.object = &made.items[MADE_EXECUTABLE]};
  made_begin();
  definition.symbol =
      &made.images[MADE_EXECUTABLE].symbols[made_symbol(MADE_EXECUTABLE, "alone", STT_FUNC,
                                                        made_function(MADE_EXECUTABLE, 1))];
  if (made_scopes()) {
    CHECK_NUMBER(pfp_scopes_may_find(&definition, &made.scopes, &made.items[MADE_APART], &request), 0);
  }
  made_end();
}

static void the_executables_namesakes_are_counted(void) {
  made_begin();
  (void)strcpy(made.items[MADE_APART].name, "executable");
  if (made_scopes()) {
    CHECK_NUMBER(made.scopes.namesakes[MADE_APART], 1);
    CHECK_NUMBER(made.scopes.namesakes[MADE_EXECUTABLE], 0);
  }
  made_end();
}

static void make_and_free(void) {
  (void)made_scopes();
  made_end();
}

/// Each object has tables of versions of its own.
static void scopes_of_versions_leave_nothing_behind(void) {
  made_begin();
  for (size_t i = 0; i < MADE_OBJECTS; i++) {
    made_version(i, made_symbol(i, "versioned", STT_FUNC, made_function(i, 1)), "V");
  }
  CHECK_COUNT(made_left(make_and_free), 0);
}

/// An object that is opened for all needs one that is global already.
static void objects_are_global_once(void) {
  static const size_t GLOBAL[] = {MADE_EXECUTABLE, MADE_OWN, MADE_OTHER, MADE_APART};
  made_begin();
  need_nothing(MADE_EXECUTABLE);
  need(MADE_EXECUTABLE, MADE_OWN);
  need(MADE_OTHER, MADE_OWN);
  need(MADE_OTHER, MADE_APART);
  made_gnu(MADE_OTHER);
  (void)made_symbol(MADE_OTHER, "made_resolver", STT_FUNC, made_function(MADE_OTHER, 1));
  if (made_scopes() && CHECK_COUNT(made.scopes.global_count, 4)) {
    for (size_t i = 0; i < 4; i++) CHECK_COUNT(made.scopes.global[i], GLOBAL[i]);
  }
  made_end();
}

// Lists ----------------------------------------------------------------------------------------------------------

enum { CHAIN = 260 };

/// Each object needs the next one; the first is the executable.
static void chains_of_needs_are_followed(void) {
  static ElfW(Dyn) needs[CHAIN][2];
  static char names[CHAIN][8];
  struct pfp_object *items = calloc(CHAIN, sizeof *items);
  struct pfp_objects objects = {.items = items, .count = CHAIN};
  REQUIRE(CHECK(items != NULL));
  for (size_t i = 0; i < CHAIN; i++) {
    (void)snprintf(items[i].name, sizeof items[i].name, i == 0 ? "executable" : "l%zu", i);
    (void)snprintf(names[i], sizeof names[i], "l%zu", i + 1);
    needs[i][0] = (ElfW(Dyn)){.d_tag = DT_NEEDED};
    items[i].dynamic = needs[i];
    items[i].strings = names[i];
    items[i].strings_size = sizeof names[i];
  }
  pfp_objects_explain(&objects, NULL, 0);
  for (size_t i = 0; i < CHAIN; i++) {
    test_case("object %zu", i);
    CHECK_NUMBER(items[i].explained, i <= 256);
  }
  pfp_objects_free(&objects);
}

static const struct test tests[] = {
    TEST("one slot alone is compared with the file", one_slot_alone_is_read_from_the_file),
    TEST("each bit of a bitmap is its word", each_bit_of_a_bitmap_is_its_word),
    TEST("an empty word is nothing, whatever is added to it", an_empty_word_is_nothing_whatever_is_added),
    TEST("a call passes over the executable's own entry of the PLT", calls_pass_over_the_executables_own_entry),
    TEST("a word has the version that was asked for, if it leads there", a_word_has_the_version_that_was_asked_for),
    TEST("a version that is there asks no resolver", a_version_that_is_there_asks_no_resolver),
    TEST("each object's raw digest has its three parts", each_object_has_a_raw_digest_of_three_parts),
    TEST("the raw digest covers no slots of another format", raw_digests_cover_no_slots_of_another_format),
    TEST("a name of one letter is found, and no name is not", short_names_are_names_and_no_name_is_none),
    TEST("each segment may be the first", each_segment_may_be_the_first),
    TEST("a hash table may begin with its segment", a_table_may_begin_with_its_segment),
    TEST("both bits of a table's filter count, for each shift", each_shift_of_the_filter_counts),
    TEST("a walk ends with the last symbol", walks_end_with_the_last_symbol),
    TEST("defined versions end with their number", versions_end_with_their_number),
    TEST("needed versions end with their numbers", needed_versions_end_with_their_numbers),
    TEST("sixteen names of an opened object are tried", sixteen_names_of_an_object_are_tried),
    TEST("names of opened objects are compared without versions", names_are_compared_without_versions),
    TEST("the executable's names are not an object's own", the_executables_names_are_not_an_objects_own),
    TEST("a list ends with its last object", a_list_ends_with_its_last_object),
    TEST("the executable's namesakes are counted", the_executables_namesakes_are_counted),
    TEST("scopes of versions leave no memory behind", scopes_of_versions_leave_nothing_behind),
    TEST("an object is global once", objects_are_global_once),
    TEST("a chain of needs is followed, 256 long", chains_of_needs_are_followed),
};

const struct suite process_edges_suite = SUITE("edges", tests);
