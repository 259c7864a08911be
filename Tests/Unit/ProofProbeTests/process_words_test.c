// SPDX-License-Identifier: Apache-2.0

/// The record of an object's links, byte by byte as PROBE.md has it: each kind of relocation, each place a word may
/// lead to, and which words are suspicious by themselves.

#include "process_place.h"
#include "process_suites.h"
#include "process_words.h"

// Words of a resolver's ------------------------------------------------------------------------------------------

/// A sealed or loose word that this object's own resolver chooses.
static void begin_chosen(size_t word, uintptr_t value, uintptr_t resolver) {
  words_begin();
  made_relocate(MADE_OWN, PFP_R_CHOSEN, word, 0, resolver - made.items[MADE_OWN].bias);
  made_close_tables(MADE_OWN);
  words_set(word, value);
}

static void a_chosen_word_names_its_resolver(void) {
  for (size_t word = MADE_SEALED; word <= MADE_LOOSE; word += MADE_LOOSE) {
    test_case("word %zu", word);
    begin_chosen(word, made_function(MADE_OTHER, 3), (uintptr_t)made_resolver);
    page_word(word, CHOSEN);
    page_object(MADE_OWN);
    page_number((uintptr_t)made_resolver - made.items[MADE_OWN].bias);
    words_check(0, "", 0, word == MADE_LOOSE);
    CHECK_NUMBER(made_resolved, 1);
  }
}

static void a_redirected_chosen_word_is_a_place(void) {
  begin_chosen(MADE_SEALED, made_function(MADE_OTHER, 4), (uintptr_t)made_resolver);
  page_place(MADE_SEALED, made_function(MADE_OTHER, 4));
  words_check(1, words_lead("a chosen function", made_function(MADE_OTHER, 4)), 0, 0);
}

/// The resolver is not called for a word that leads into no object, whatever it would answer.
static void an_unfilled_chosen_word_asks_no_resolver(void) {
  begin_chosen(MADE_SEALED, 0, (uintptr_t)made_resolver);
  made_choice = 0;
  page_word(MADE_SEALED, NOTHING);
  words_check(0, "", 0, 0);
  CHECK_NUMBER(made_resolved, 0);
  begin_chosen(MADE_SEALED, 0, (uintptr_t)made_resolver);
  made_choice = words.outside;
  words_set(MADE_SEALED, words.outside);
  page_word(MADE_SEALED, OUTSIDE);
  words_check(1, words_lead("a chosen function", words.outside), 0, 0);
  CHECK_NUMBER(made_resolved, 0);
}

/// Addresses before, behind and in no code of the object's are not called.
static void a_resolver_that_is_no_code_chooses_nothing(void) {
  const uintptr_t resolvers[] = {(uintptr_t)made_resolver - 1, (uintptr_t)made_resolver + 1, (uintptr_t)made.images};
  for (size_t i = 0; i < sizeof resolvers / sizeof resolvers[0]; i++) {
    test_case("resolver %zu", i);
    begin_chosen(MADE_SEALED, made_function(MADE_OTHER, 3), resolvers[i]);
    page_place(MADE_SEALED, made_function(MADE_OTHER, 3));
    words_check(1, words_lead("a chosen function", made_function(MADE_OTHER, 3)), 0, 0);
    CHECK_NUMBER(made_resolved, 0);
  }
}

// Slots ----------------------------------------------------------------------------------------------------------

static void begin_slot(uint32_t symbol, uintptr_t value) {
  words_begin();
  made_relocate(MADE_OWN, PFP_R_SLOT, MADE_SLOT + 3, symbol, 0);
  made_relocate(MADE_OWN, PFP_R_SLOT, MADE_SLOT + 5, symbol, 9);
  made_close_tables(MADE_OWN);
  words_set(MADE_SLOT + 3, value);
  words_set(MADE_SLOT + 5, value);
}

/// Both slots of this value are told as this definition.
static void slots_are_symbols(uint32_t symbol, uintptr_t value, const char *name) {
  begin_slot(symbol, value);
  page_symbol(MADE_SLOT + 3, MADE_OTHER, name, "", 0);
  page_symbol(MADE_SLOT + 5, MADE_OTHER, name, "", 0);
  words_check(0, "", 0, 0);
}

static void bound_slots_are_their_definition(void) {
  words_begin();
  slots_are_symbols(words.one, words.at_one, "one");
  slots_are_symbols(words.choice, words.at_choice, "choice");
}

/// Slots as the file has them, plus the load address.
static void unbound_slots_are_what_will_be_found(void) {
  static const size_t FIRST[] = {3, 5};
  REQUIRE(place_begin());
  for (size_t i = 0; i < 3; i++) {
    test_case("symbol %zu", i);
    words_begin();
    begin_slot(i == 0 ? words.one : i == 1 ? words.choice : words.nowhere, made_function(MADE_OWN, 4));
    for (size_t j = 0; j < 2; j++) {
      if (i == 2) page_word(MADE_SLOT + FIRST[j], NOTHING);
      if (i != 2) page_symbol(MADE_SLOT + FIRST[j], MADE_OTHER, i == 0 ? "one" : "choice", "", 0);
    }
    if (made_file(MADE_OWN)) words_check(0, "", 0, 0);
    CHECK_NUMBER(made_resolved, 0);
  }
  place_finish();
}

/// An address of the object's own, where the file has another one.
static void slots_unlike_the_file_are_places(void) {
  REQUIRE(place_begin());
  words_begin();
  begin_slot(words.one, made_function(MADE_OWN, 4));
  if (made_file(MADE_OWN)) {
    words_set(MADE_SLOT + 5, made_function(MADE_OWN, 5));
    page_symbol(MADE_SLOT + 3, MADE_OTHER, "one", "", 0);
    page_place(MADE_SLOT + 5, made_function(MADE_OWN, 5));
    words_check(1, words_lead("one", made_function(MADE_OWN, 5)), 0, 0);
  }
  place_finish();
}

/// Both slots, told as places. The first is told in words, the second is counted.
static void slots_are_places(uint32_t symbol, uintptr_t value, const char *name) {
  begin_slot(symbol, value);
  for (size_t word = MADE_SLOT + 3; word <= MADE_SLOT + 5; word += 2) {
    if (value == 0) page_word(word, NOTHING);
    if (value == words.outside) page_word(word, OUTSIDE);
    if (value != 0 && value != words.outside) page_place(word, value);
  }
  words_check(value == 0 ? 0 : 2, value == 0 ? "" : words_lead(name, value), 0, 0);
}

static void slots_that_lead_elsewhere_are_places(void) {
  words_begin();
  slots_are_places(words.one, words.at_two, "one");
  slots_are_places(words.one, words.at_one + 1, "one");
  slots_are_places(words.one, words.outside, "one");
  slots_are_places(words.one, 0, "one");
  slots_are_places(words.nowhere, words.at_one, "nowhere");
  slots_are_places(words.nowhere, 0, "nowhere");
  slots_are_places(words.choice, words.at_one, "choice");
  slots_are_places(words.choice, made_function(MADE_OTHER, 4), "choice");
}

/// A resolver that answers with an address outside of every object does not make that address lawful.
static void choices_outside_are_suspicious(void) {
  words_begin();
  begin_slot(words.choice, words.outside);
  made_choice = words.outside;
  page_word(MADE_SLOT + 3, OUTSIDE);
  page_word(MADE_SLOT + 5, OUTSIDE);
  words_check(2, words_lead("choice", words.outside), 0, 0);
  CHECK_NUMBER(made_resolved, 0);
}

/// A definition of the name in an object that no list of the caller's has.
static void slots_to_a_namesake_are_suspicious(void) {
  words_begin();
  words_begin();
  begin_slot(words.one, made_function(MADE_APART, 1));
  page_symbol(MADE_SLOT + 3, MADE_APART, "one", "", 0);
  page_symbol(MADE_SLOT + 5, MADE_APART, "one", "", 0);
  words_check(2, words_lead("one", made_function(MADE_APART, 1)), 0, 0);
}

/// The caller stands in the list of an object that was opened with RTLD_DEEPBIND, and has the name itself.
static void slots_to_a_lists_first_are_lawful(void) {
  words_begin();
  words_begin();
  begin_slot(words.one, made_function(MADE_APART, 1));
  made_dynamic(MADE_APART, DT_NEEDED, made_string(MADE_APART, "libown.so"));
  page_symbol(MADE_SLOT + 3, MADE_OTHER, "one", "", 0);
  page_symbol(MADE_SLOT + 5, MADE_OTHER, "one", "", 0);
  words_check(0, "", 0, 0);
}

/// Bound at the start, or in RELRO: the word must hold the definition's address.
static void sealed_slots_are_bound(void) {
  for (unsigned how = 0; how < 4; how++) {
    test_case("how %u", how);
    REQUIRE(place_begin());
    words_begin();
    begin_slot(words.one, how % 2 == 0 ? made_function(MADE_OWN, 4) : words.at_one);
    if (how < 2) made.items[MADE_OWN].binds_now = 1;
    if (how >= 2) made.items[MADE_OWN].relro_end = made_word_address(MADE_OWN, MADE_LOOSE);
    if (made_file(MADE_OWN)) {
      for (size_t word = MADE_SLOT + 3; word <= MADE_SLOT + 5; word += 2) {
        if (how % 2 == 0) page_place(word, made_function(MADE_OWN, 4));
        if (how % 2 == 1) page_symbol(word, MADE_OTHER, "one", "", 0);
      }
      words_check(how % 2 == 0 ? 2 : 0, how % 2 == 0 ? words_lead("one", made_function(MADE_OWN, 4)) : "", 0, 0);
    }
    place_finish();
  }
}

static const struct test tests[] = {
    TEST("a word that the object's own resolver chose is recorded by the resolver", a_chosen_word_names_its_resolver),
    TEST("a chosen word that leads to another place in an object is that place, and suspicious",
         a_redirected_chosen_word_is_a_place),
    TEST("a chosen word that leads into no object asks no resolver", an_unfilled_chosen_word_asks_no_resolver),
    TEST("a resolver outside of the object's code is not called, and chooses nothing",
         a_resolver_that_is_no_code_chooses_nothing),
    TEST("a bound slot is recorded as its definition", bound_slots_are_their_definition),
    TEST("an unbound slot is recorded as the definition that the loader will find",
         unbound_slots_are_what_will_be_found),
    TEST("a slot that is neither bound nor as in the file is its place, and suspicious",
         slots_unlike_the_file_are_places),
    TEST("a slot that leads elsewhere is its place, and the first is told in words",
         slots_that_lead_elsewhere_are_places),
    TEST("a slot that leads outside is suspicious, though its resolver would choose that",
         choices_outside_are_suspicious),
    TEST("a slot bound to a namesake outside of the object's scope is that symbol, and suspicious",
         slots_to_a_namesake_are_suspicious),
    TEST("a slot bound to the first definition in a list of the object is lawful", slots_to_a_lists_first_are_lawful),
    TEST("a slot that is bound at the start, or sealed, must hold its definition", sealed_slots_are_bound),
};

const struct suite process_words_suite = SUITE("words", tests);
