// SPDX-License-Identifier: Apache-2.0

/// The record of words that are bound before a program runs: words with a symbol, relative words, packed ones, and the
/// loader's resolver. Which words count, and which bytes the raw digest covers.

#include <string.h>

#include "process_place.h"
#include "process_suites.h"
#include "process_words.h"

enum { UNKNOWN_TYPE = 9999 };  ///< A relocation of no kind that the probe knows

// Words with a symbol --------------------------------------------------------------------------------------------

/// One word, with this relocation.
static void begin_word(unsigned type, size_t word, uint32_t symbol, uint64_t addend, uintptr_t value) {
  words_begin();
  made_relocate(MADE_OWN, type, word, symbol, addend);
  made_close_tables(MADE_OWN);
  words_set(word, value);
}

static void a_symbols_word_names_it(void) {
  words_begin();
  begin_word(PFP_R_GLOBAL, MADE_SEALED, words.one, 6, words.at_one);
  page_symbol(MADE_SEALED, MADE_OTHER, "one", "", 0);
  words_check(0, "", 0, 0);
  begin_word(PFP_R_GLOBAL, MADE_LOOSE, words.one, 6, words.at_one);
  page_symbol(MADE_LOOSE, MADE_OTHER, "one", "", 0);
  words_check(0, "", 0, 1);
  begin_word(PFP_R_WORD, MADE_SEALED, words.one, 6, words.at_one + 6);
  page_symbol(MADE_SEALED, MADE_OTHER, "one", "", 6);
  words_check(0, "", 0, 0);
  begin_word(PFP_R_GLOBAL, MADE_SEALED, words.choice, 0, words.at_choice);
  page_symbol(MADE_SEALED, MADE_OTHER, "choice", "", 0);
  words_check(0, "", 0, 0);
  begin_word(PFP_R_WORD, MADE_SEALED, words.choice, 6, words.at_choice + 6);
  page_symbol(MADE_SEALED, MADE_OTHER, "choice", "", 6);
  words_check(0, "", 0, 0);
}

/// A definition at the end of an object, where no object is: found by its name alone.
static void the_end_of_an_object_is_a_symbol(void) {
  words_begin();
  begin_word(PFP_R_GLOBAL, MADE_SEALED, words.nowhere, 0, 0);
  made.items[MADE_APART].high = made_function(MADE_APART, 2);
  (void)made_symbol(MADE_OTHER, "nowhere", STT_OBJECT, words.outside);
  words_set(MADE_SEALED, words.outside);
  page_symbol(MADE_SEALED, MADE_OTHER, "nowhere", "", 0);
  words_check(0, "", 0, 0);
}

/// A word that is not lazy may lead to a namesake: the symbol is recorded with its object.
static void a_namesakes_word_names_its_object(void) {
  words_begin();
  begin_word(PFP_R_GLOBAL, MADE_SEALED, words.one, 0, made_function(MADE_APART, 1));
  page_symbol(MADE_SEALED, MADE_APART, "one", "", 0);
  words_check(0, "", 0, 0);
}

static void a_second_object_of_a_name_is_counted(void) {
  words_begin();
  begin_word(PFP_R_GLOBAL, MADE_SEALED, words.one, 0, made_function(MADE_APART, 1));
  (void)strcpy(made.items[MADE_APART].name, "libother.so");
  page_symbol(MADE_SEALED, MADE_APART, "one", "", 0);
  words_check(0, "", 0, 0);
}

static void a_redirected_symbols_word_is_a_place(void) {
  const uintptr_t places[] = {made_function(MADE_OTHER, 2), made_function(MADE_OTHER, 1) + 1,
                              made_function(MADE_OWN, 1)};
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    test_case("place %zu", i);
    words_begin();
    begin_word(PFP_R_GLOBAL, MADE_SEALED, words.one, 0, places[i]);
    page_place(MADE_SEALED, places[i]);
    words_check(1, words_lead("one", places[i]), 0, 0);
  }
  words_begin();
  begin_word(PFP_R_GLOBAL, MADE_SEALED, words.one, 0, words.outside);
  page_word(MADE_SEALED, OUTSIDE);
  words_check(1, words_lead("one", words.outside), 0, 0);
  begin_word(PFP_R_WORD, MADE_SEALED, words.one, 6, words.at_one);
  page_place(MADE_SEALED, words.at_one);
  words_check(1, words_lead("one", words.at_one), 0, 0);
}

static void an_empty_word_is_nothing(void) {
  words_begin();
  begin_word(PFP_R_GLOBAL, MADE_SEALED, words.one, 0, 0);
  page_word(MADE_SEALED, NOTHING);
  words_check(0, "", 0, 0);
  // A resolver that answers 0, or less than nothing, is not asked for an empty word.
  begin_word(PFP_R_WORD, MADE_SEALED, words.choice, 6, 0);
  made_choice = (uintptr_t)0 - 6;
  page_word(MADE_SEALED, NOTHING);
  words_check(0, "", 0, 0);
  CHECK_NUMBER(made_resolved, 0);
}

/// Symbol 0 has no name, and no place is a wrong one.
static void a_word_without_a_name_is_not_suspicious(void) {
  begin_word(PFP_R_GLOBAL, MADE_SEALED, 0, 0, made_function(MADE_OTHER, 2));
  page_place(MADE_SEALED, made_function(MADE_OTHER, 2));
  words_check(0, "", 0, 0);
}

static void the_kernels_object_is_one_place(void) {
  begin_word(PFP_R_GLOBAL, MADE_SEALED, 0, 0, made_function(MADE_VDSO, 2));
  page_place(MADE_SEALED, made_function(MADE_VDSO, 2));
  words_check(0, "", 0, 0);
}

// Words without a symbol -----------------------------------------------------------------------------------------

static void a_relative_word_is_its_place(void) {
  const uintptr_t target = made_function(MADE_OWN, 2);
  for (unsigned wrong = 0; wrong < 2; wrong++) {
    test_case("%s", wrong ? "redirected" : "as it should be");
    words_begin();
    begin_word(PFP_R_RELATIVE, MADE_SEALED, 0, target - made.items[MADE_OWN].bias, target + wrong);
    page_place(MADE_SEALED, target + wrong);
    words_check(0, "", wrong, 0);
  }
}

/// Variables may change: only sealed words of these kinds count, and no relocation of another kind.
static void variables_are_not_recorded(void) {
  static const unsigned TYPES[] = {PFP_R_WORD, PFP_R_RELATIVE};
  words_begin();
  for (size_t i = 0; i < 2; i++) {
    begin_word(TYPES[i], MADE_LOOSE, words.one, 0, words.outside);
    words_check(0, "", 0, 0);
    begin_word(TYPES[i], MADE_SLOT, words.one, 0, words.outside);
    words_check(0, "", 0, 0);
  }
  begin_word(UNKNOWN_TYPE, MADE_SEALED, words.one, 0, words.outside);
  words_check(0, "", 0, 0);
}

/// RELRO's first and last word are sealed, a word that reaches beyond is not.
static void seals_end_with_relro(void) {
  struct pfp_object *own = &made.items[MADE_OWN];
  for (unsigned short_ = 0; short_ < 2; short_++) {
    for (unsigned late = 0; late < 2; late++) {
      test_case("%u bytes short, %u late", short_, late);
      words_begin();
      begin_word(PFP_R_RELATIVE, MADE_SEALED + 4, 0, own->low - own->bias, own->low);
      own->relro = made_word_address(MADE_OWN, MADE_SEALED + 4) + late;
      own->relro_end = made_word_address(MADE_OWN, MADE_SEALED + 5) - short_;
      if (!short_ && !late) page_place(MADE_SEALED + 4, own->low);
      words_check(0, "", 0, 0);
    }
  }
}

/// A relocation of a word outside of the object's data is not followed, also where the word reaches beyond by a byte.
static void only_data_is_read(void) {
  struct pfp_object *own = &made.items[MADE_OWN];
  for (unsigned how = 0; how < 5; how++) {
    test_case("how %u", how);
    words_begin();
    begin_word(PFP_R_GLOBAL, MADE_LOOSE, words.one, 0, words.at_one);
    if (how == 1) own->segments[0].size = (MADE_LOOSE + 1) * sizeof(uintptr_t) - 1;
    if (how == 2) own->segments[0].start = made_word_address(MADE_OWN, MADE_LOOSE) + 1;
    if (how == 3) own->segments[0].flags = PFP_READ | PFP_EXECUTE;
    if (how == 4) own->segments[0].size = sizeof(uintptr_t) - 1;
    if (how == 0) own->segments[0].size = (MADE_LOOSE + 1) * sizeof(uintptr_t);
    if (how == 0) page_symbol(MADE_LOOSE, MADE_OTHER, "one", "", 0);
    words_check(0, "", 0, how == 0);
  }
}

/// The segment is no longer than one word, and the word is its first.
static void a_segment_of_one_word_is_read(void) {
  words_begin();
  begin_word(PFP_R_GLOBAL, MADE_LOOSE, words.one, 0, words.at_one);
  made.items[MADE_OWN].segments[0].start = made_word_address(MADE_OWN, MADE_LOOSE);
  made.items[MADE_OWN].segments[0].size = sizeof(uintptr_t);
  page_symbol(MADE_LOOSE, MADE_OTHER, "one", "", 0);
  words_check(0, "", 0, 1);
}

// Packed words ---------------------------------------------------------------------------------------------------

/// Words 1, 2, 4 and 6 of RELRO: an address, bitmaps of the words behind it; word 2 once more, by its own address.
static void begin_packed(bool is_module) {
  struct made_image *image = &made.images[MADE_OWN];
  words_begin();
  made.items[MADE_OWN].is_system_module = is_module;
  image->packed[0] = 4096 + 8;
  image->packed[1] = 1 | 1u << 1 | 1u << 3 | 1u << 5 | UINT64_C(1) << 63;
  image->packed[2] = 1 | 1u << 1;
  image->packed[3] = 4096 + 16;
  made_dynamic_at(MADE_OWN, DT_RELR, image->packed);
  made_dynamic(MADE_OWN, DT_RELRSZ, 3 * sizeof image->packed[0]);
  for (size_t word = 0; word < MADE_WORDS; word++) words_set(word, made_function(MADE_OWN, 1) + word);
}

static void page_packed(void) {
  for (size_t word = 1; word <= 6; word++) {
    if (word != 3 && word != 5) page_place(word, made.images[MADE_OWN].words[word]);
  }
}

static void packed_words_are_places(void) {
  REQUIRE(place_begin());
  begin_packed(true);
  page_packed();
  if (made_file(MADE_OWN)) words_check(0, "", 0, 0);
  place_finish();
}

/// The file of an object that is no system module is not read: each word differs from nothing.
static void packed_words_of_others_have_no_file(void) {
  REQUIRE(place_begin());
  begin_packed(false);
  page_packed();
  if (made_file(MADE_OWN)) words_check(0, "", 4, 0);
  place_finish();
}

static void a_redirected_packed_word_has_moved(void) {
  REQUIRE(place_begin());
  begin_packed(true);
  if (made_file(MADE_OWN)) {
    words_set(4, made_function(MADE_OTHER, 1));
    page_packed();
    words_check(0, "", 1, 0);
  }
  place_finish();
}

/// Bits 1 to 63 stand for 63 words; the next bitmap goes on behind them.
static void bitmaps_follow_each_other(void) {
  struct made_image *image = &made.images[MADE_OWN];
  for (unsigned after = 0; after < 2; after++) {
    test_case("word %u of the second bitmap", after);
    words_begin();
    // The second bitmap begins with this word, the first one 63 words before it.
    image->packed[0] = 4096 - (64 - after) * 8;
    image->packed[1] = 1;
    image->packed[2] = 1 | 1u << 1;
    made_dynamic_at(MADE_OWN, DT_RELR, image->packed);
    made_dynamic(MADE_OWN, DT_RELRSZ, 3 * sizeof image->packed[0]);
    words_set(0, made_function(MADE_OWN, 1));
    words_set(1, made_function(MADE_OWN, 2));
    page_place(after, image->words[after]);
    words_check(0, "", 1, 0);
  }
}

// The loader's resolver ------------------------------------------------------------------------------------------

enum { GOT = MADE_LOOSE, RESOLVER = GOT + 2 };

static void begin_got(uintptr_t resolver) {
  words_begin();
  made_dynamic_at(MADE_OWN, DT_PLTGOT, &made.images[MADE_OWN].words[GOT]);
  words_set(GOT, words.outside);
  words_set(GOT + 1, words.outside);
  words_set(RESOLVER, resolver);
}

static void the_loaders_resolver_is_lawful(void) {
  begin_got(made_function(MADE_LOADER, 2));
  words_check(0, "", 0, 0);
  begin_got(0);
  words_check(0, "", 0, 0);
}

static void another_resolver_is_suspicious(void) {
  begin_got(made_function(MADE_OTHER, 2));
  page_place(RESOLVER, made_function(MADE_OTHER, 2));
  words_check(1, words_lead("the loader's resolver", made_function(MADE_OTHER, 2)), 0, 0);
  words_begin();
  begin_got(words.outside);
  page_word(RESOLVER, OUTSIDE);
  words_check(1, words_lead("the loader's resolver", words.outside), 0, 0);
  // Two letters make the name.
  begin_got(made_function(MADE_OTHER, 2));
  (void)strcpy(made.items[MADE_OTHER].name, "l");
  page_place(RESOLVER, made_function(MADE_OTHER, 2));
  words_check(1, words_lead("the loader's resolver", made_function(MADE_OTHER, 2)), 0, 0);
}

/// Bound at the start, or not in the object's data: the word is never used.
static void a_resolver_without_use_is_not_recorded(void) {
  begin_got(made_function(MADE_OTHER, 2));
  made.items[MADE_OWN].binds_now = 1;
  words_check(0, "", 0, 0);
  begin_got(made_function(MADE_OTHER, 2));
  made.items[MADE_OWN].segments[0].size = (RESOLVER + 1) * sizeof(uintptr_t) - 1;
  words_check(0, "", 0, 0);
  begin_got(made_function(MADE_OTHER, 2));
  made.items[MADE_OWN].segments[0].size = (RESOLVER + 1) * sizeof(uintptr_t);
  page_place(RESOLVER, made_function(MADE_OTHER, 2));
  words_check(1, words_lead("the loader's resolver", made_function(MADE_OTHER, 2)), 0, 0);
}

// Objects without links ------------------------------------------------------------------------------------------

static void objects_without_tables_have_no_links(void) {
  struct pfp_object *own = &made.items[MADE_OWN];
  for (unsigned how = 0; how < 3; how++) {
    test_case("how %u", how);
    words_begin();
    begin_word(PFP_R_GLOBAL, MADE_LOOSE, words.one, 0, words.at_two);
    own->astray = own->moved = own->loose = 7;
    own->astray_first[0] = 'x';
    if (how == 0) own->is_vdso = 1;
    if (how == 1) own->dynamic = NULL;
    if (how == 2) own->readable = 0;
    if (made_scopes()) pfp_object_links(own, &made.scopes);
    CHECK_NUMBER(own->has_links, 0);
    CHECK_NUMBER(own->astray + own->moved + own->loose, 0);
    CHECK_NUMBER(own->astray_first[0], 0);
    made_end();
  }
}

// Raw digests ----------------------------------------------------------------------------------------------------

static struct pfp_hash hash;

/// Digests of the raw words of MADE_OWN and MADE_OTHER.
static void take_raw(uint8_t digests[2][PFC_DIGEST_BYTES]) {
  memset(made.items[MADE_OWN].links_raw, 0, PFC_DIGEST_BYTES);
  CHECK_NUMBER(pfp_objects_links_raw(&made.objects, &hash), 0);
  memcpy(digests[0], made.items[MADE_OWN].links_raw, PFC_DIGEST_BYTES);
  memcpy(digests[1], made.items[MADE_OTHER].links_raw, PFC_DIGEST_BYTES);
}

/// RELRO is words 0 to 15; slots are 17 to 19, of relocations in no order; the three words of the GOT are 24 to 26.
static void begin_raw(void) {
  static const uint8_t KEY[PFP_HASH_KEY_BYTES], SALT[PFP_HASH_SALT_BYTES];
  CHECK_NUMBER(pfp_hash_init(&hash, KEY, SALT, PFP_KERNEL_BEST), PFP_OK);
  begin_got(0);
  made_relocate(MADE_OWN, PFP_R_SLOT, 19, words.one, 0);
  made_relocate(MADE_OWN, PFP_R_SLOT, 17, words.one, 0);
  made_relocate(MADE_OWN, PFP_R_SLOT, 18, words.one, 0);
  made_close_tables(MADE_OWN);
}

static bool is_raw(size_t word) { return word < 16 || (word >= 17 && word <= 19) || (word >= 24 && word <= 26); }

static void raw_digests_cover_the_words(void) {
  uint8_t before[2][PFC_DIGEST_BYTES], after[2][PFC_DIGEST_BYTES];
  begin_raw();
  take_raw(before);
  for (size_t word = 0; word < MADE_WORDS; word++) {
    test_case("word %zu", word);
    made.images[MADE_OWN].words[word] ^= 1;
    take_raw(after);
    CHECK((memcmp(before[0], after[0], PFC_DIGEST_BYTES) != 0) == is_raw(word));
    CHECK_BYTES(after[1], before[1], PFC_DIGEST_BYTES);
    made.images[MADE_OWN].words[word] ^= 1;
  }
}

/// The same words in another object have the same digest, whatever stands before it in the list.
static void raw_digests_are_the_objects_own(void) {
  uint8_t first[2][PFC_DIGEST_BYTES], second[2][PFC_DIGEST_BYTES];
  begin_raw();
  take_raw(first);
  words_set(3, 1);
  made.images[MADE_OTHER].words[3] = 1;
  take_raw(second);
  CHECK_DIFFER(first[0], second[0], PFC_DIGEST_BYTES);
  CHECK_DIFFER(first[1], second[1], PFC_DIGEST_BYTES);
  made.items[MADE_EXECUTABLE].readable = 0;
  take_raw(first);
  CHECK_BYTES(first[0], second[0], PFC_DIGEST_BYTES);
  CHECK_BYTES(first[1], second[1], PFC_DIGEST_BYTES);
  made.items[MADE_OWN].readable = 0;
  take_raw(first);
  CHECK_ZEROS(first[0], PFC_DIGEST_BYTES);
  CHECK_BYTES(first[1], second[1], PFC_DIGEST_BYTES);
}

static const struct test tests[] = {
    TEST("a word with a symbol is recorded as its definition and addend", a_symbols_word_names_it),
    TEST("a definition at the end of an object is found by its name", the_end_of_an_object_is_a_symbol),
    TEST("a word that leads to a namesake is recorded with that object", a_namesakes_word_names_its_object),
    TEST("an object has the number of earlier objects with its name", a_second_object_of_a_name_is_counted),
    TEST("a word with a symbol that leads elsewhere is its place, and suspicious",
         a_redirected_symbols_word_is_a_place),
    TEST("a word that holds 0 is nothing, and not suspicious", an_empty_word_is_nothing),
    TEST("a word whose symbol has no name is not suspicious", a_word_without_a_name_is_not_suspicious),
    TEST("a word that leads into the vdso is recorded without an offset", the_kernels_object_is_one_place),
    TEST("a relative word is recorded as its place, and counted if that is not the file's",
         a_relative_word_is_its_place),
    TEST("words that a program may change are not recorded", variables_are_not_recorded),
    TEST("a word is sealed if RELRO has all of it", seals_end_with_relro),
    TEST("a word is read if a writable segment has all of it", only_data_is_read),
    TEST("a segment of one word is read", a_segment_of_one_word_is_read),
    TEST("packed words are recorded as their places", packed_words_are_places),
    TEST("packed words of an object that is no system module are compared with no file",
         packed_words_of_others_have_no_file),
    TEST("a packed word of a system module that leads elsewhere is counted", a_redirected_packed_word_has_moved),
    TEST("each bitmap of packed words stands for 63 words", bitmaps_follow_each_other),
    TEST("a resolver in the loader is lawful, and so is none", the_loaders_resolver_is_lawful),
    TEST("a resolver outside of the loader is its place, and suspicious", another_resolver_is_suspicious),
    TEST("a resolver that no slot uses is not recorded", a_resolver_without_use_is_not_recorded),
    TEST("an object without tables has no links, and nothing of an earlier look", objects_without_tables_have_no_links),
    TEST("the raw digest changes with each sealed word, slot and reserved word, and with no other",
         raw_digests_cover_the_words),
    TEST("the raw digest of an object depends on no other object", raw_digests_are_the_objects_own),
};

const struct suite process_sealed_suite = SUITE("sealed words", tests);
