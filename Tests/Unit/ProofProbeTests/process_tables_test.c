// SPDX-License-Identifier: Apache-2.0

/// Tables of relocations that are odd, and files that are shorter than their object: only what stands there is read,
/// and nothing stays behind.

#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "process_place.h"
#include "process_suites.h"
#include "process_words.h"

static uintptr_t *const words_of_own = made.images[MADE_OWN].words;

// Tables ---------------------------------------------------------------------------------------------------------

/// Sizes of tables that are not there.
static void a_size_without_a_table_is_none(void) {
  words_begin();
  made_dynamic(MADE_OWN, DT_RELASZ, sizeof(ElfW(Rela)));
  made_dynamic(MADE_OWN, DT_PLTRELSZ, sizeof(ElfW(Rela)));
  made_dynamic(MADE_OWN, DT_RELRSZ, sizeof(uint64_t));
  words_check(0, "", 0, 0);
}

/// Each table has one entry more behind its end.
static void tables_end_with_their_size(void) {
  struct made_image *image = &made.images[MADE_OWN];
  words_begin();
  made_relocate(MADE_OWN, PFP_R_GLOBAL, MADE_SEALED, words.one, 0);
  made_relocate(MADE_OWN, PFP_R_SLOT, MADE_SLOT, words.one, 0);
  made_close_tables(MADE_OWN);
  image->table[1] = image->table[0];
  image->slots[1] = image->slots[0];
  page_word(MADE_SEALED, NOTHING);
  page_word(MADE_SLOT, NOTHING);
  words_check(0, "", 0, 0);
}

/// Slots with relocations of the other format have none that can be read.
static void slots_of_another_format_are_left_alone(void) {
  words_begin();
  made_relocate(MADE_OWN, PFP_R_SLOT, MADE_SLOT, words.one, 0);
  made_close_tables(MADE_OWN);
  made_dynamic(MADE_OWN, DT_PLTREL, DT_REL);
  words_set(MADE_SLOT, words.at_two);
  words_check(0, "", 0, 0);
  words_begin();
  made_relocate(MADE_OWN, PFP_R_SLOT, MADE_SLOT, words.one, 0);
  made_close_tables(MADE_OWN);
  made_dynamic(MADE_OWN, DT_PLTREL, DT_RELA);
  words_set(MADE_SLOT, words.at_two);
  page_place(MADE_SLOT, words.at_two);
  words_check(1, words_lead("one", words.at_two), 0, 0);
}

/// A chosen word among the slots, as a static linker puts it there, is covered by the raw digest.
static void chosen_words_among_slots_are_not_loose(void) {
  for (size_t word = MADE_SLOT - 1; word <= MADE_SLOT + 3; word++) {
    test_case("word %zu", word);
    words_begin();
    made_relocate(MADE_OWN, PFP_R_SLOT, MADE_SLOT, words.one, 0);
    made_relocate(MADE_OWN, PFP_R_SLOT, MADE_SLOT + 2, words.one, 0);
    made_relocate(MADE_OWN, PFP_R_CHOSEN, word, 0, 0);
    made_close_tables(MADE_OWN);
    page_word(word, NOTHING);
    page_word(MADE_SLOT, NOTHING);
    page_word(MADE_SLOT + 2, NOTHING);
    words_check(0, "", 0, word == MADE_SLOT + 3);
  }
}

// Files ----------------------------------------------------------------------------------------------------------

/// Slots that are not bound yet, as the file has them.
static bool begin_unbound(void) {
  words_begin();
  made_relocate(MADE_OWN, PFP_R_SLOT, MADE_SLOT + 3, words.one, 0);
  made_relocate(MADE_OWN, PFP_R_SLOT, MADE_SLOT + 5, words.one, 0);
  made_close_tables(MADE_OWN);
  words_set(MADE_SLOT + 3, made_function(MADE_OWN, 4));
  words_set(MADE_SLOT + 5, made_function(MADE_OWN, 5));
  return made_file(MADE_OWN);
}

static void page_slots(bool first, bool second) {
  if (first) page_symbol(MADE_SLOT + 3, MADE_OTHER, "one", "", 0);
  if (!first) page_place(MADE_SLOT + 3, words_of_own[MADE_SLOT + 3]);
  if (second) page_symbol(MADE_SLOT + 5, MADE_OTHER, "one", "", 0);
  if (!second) page_place(MADE_SLOT + 5, words_of_own[MADE_SLOT + 5]);
}

/// The part of a segment that comes from the file ends within the last slot, or the file does.
static void slots_behind_the_file_are_not_unbound(void) {
  struct pfp_segment *segment = &made.items[MADE_OWN].segments[0];
  REQUIRE(place_begin());
  for (unsigned short_ = 0; short_ < 2 && begin_unbound(); short_++) {
    test_case("%u bytes short", short_);
    segment->file_size = (MADE_SLOT + 6) * sizeof(uintptr_t) - short_;
    page_slots(true, !short_);
    words_check(short_, short_ ? words_lead("one", words_of_own[MADE_SLOT + 5]) : "", 0, 0);
  }
  if (begin_unbound()) {
    test_case("a file that is too short");
    CHECK_NUMBER(truncate(made.items[MADE_OWN].path, MADE_FILE_OFFSET + (MADE_SLOT + 6) * sizeof(uintptr_t) - 1), 0);
    page_slots(false, false);
    words_check(2, words_lead("one", words_of_own[MADE_SLOT + 3]), 0, 0);
  }
  if (begin_unbound()) {
    test_case("a file that ends with the slots");
    CHECK_NUMBER(truncate(made.items[MADE_OWN].path, MADE_FILE_OFFSET + (MADE_SLOT + 6) * sizeof(uintptr_t)), 0);
    page_slots(true, true);
    words_check(0, "", 0, 0);
  }
  place_finish();
}

/// The segment in which the slots stand is found behind others.
static void slots_are_read_at_their_segment(void) {
  struct pfp_object *own = &made.items[MADE_OWN];
  REQUIRE(place_begin());
  if (begin_unbound()) {
    const struct pfp_segment data = own->segments[0];
    const size_t first = (MADE_SLOT + 3) * sizeof(uintptr_t);
    // The first segment ends where the slots begin; the second one begins there.
    own->segments[own->segment_count++] = data;
    own->segments[0].size = own->segments[0].file_size = first;
    own->segments[1] = data;
    own->segments[1].start += first;
    own->segments[1].size -= first;
    own->segments[1].file_size -= first;
    own->segments[1].offset += first;
    page_slots(true, true);
    words_check(0, "", 0, 0);
  }
  place_finish();
}

static void a_file_that_is_gone_has_no_slots(void) {
  REQUIRE(place_begin());
  if (begin_unbound()) {
    CHECK_NUMBER(unlink(made.items[MADE_OWN].path), 0);
    page_slots(false, false);
    words_check(2, words_lead("one", words_of_own[MADE_SLOT + 3]), 0, 0);
  }
  place_finish();
}

/// The number that a new descriptor would have.
static int next_descriptor(void) {
  int next = dup(0);
  (void)close(next);
  return next;
}

static bool play(bool is_short) {
  if (!begin_unbound()) return false;
  made.items[MADE_OWN].is_system_module = 1;
  made_dynamic_at(MADE_OWN, DT_RELR, made.images[MADE_OWN].packed);
  if (is_short && !CHECK_NUMBER(truncate(made.items[MADE_OWN].path, 0), 0)) return false;
  if (!made_scopes()) return false;
  pfp_object_links(&made.items[MADE_OWN], &made.scopes);
  made_end();
  return true;
}

static void play_with_a_whole_file(void) { CHECK(play(false)); }
static void play_with_a_short_file(void) { CHECK(play(true)); }

static void nothing_stays_behind(void) {
  const int next = next_descriptor();
  REQUIRE(place_begin());
  CHECK_COUNT(made_left(play_with_a_whole_file), 0);
  CHECK_COUNT(made_left(play_with_a_short_file), 0);
  place_finish();
  CHECK_NUMBER(next_descriptor(), next);
}

// Raw digests ----------------------------------------------------------------------------------------------------

static struct pfp_hash hash;

static bool take_raw(uint8_t digest[PFC_DIGEST_BYTES]) {
  bool taken = CHECK_NUMBER(pfp_objects_links_raw(&made.objects, &hash), 0);
  memcpy(digest, made.items[MADE_OWN].links_raw, PFC_DIGEST_BYTES);
  return taken;
}

static void begin_raw(void) {
  static const uint8_t KEY[PFP_HASH_KEY_BYTES], SALT[PFP_HASH_SALT_BYTES];
  CHECK_NUMBER(pfp_hash_init(&hash, KEY, SALT, PFP_KERNEL_BEST), PFP_OK);
  words_begin();
  made_relocate(MADE_OWN, PFP_R_SLOT, 17, words.one, 0);
  made_relocate(MADE_OWN, PFP_R_SLOT, 19, words.one, 0);
  made_close_tables(MADE_OWN);
  made_dynamic_at(MADE_OWN, DT_PLTGOT, &words_of_own[MADE_LOOSE]);
}

/// Whether the raw digest depends on this word.
static bool covers(size_t word) {
  uint8_t before[PFC_DIGEST_BYTES], after[PFC_DIGEST_BYTES];
  if (!take_raw(before)) return false;
  words_of_own[word] ^= 1;
  if (!take_raw(after)) return false;
  words_of_own[word] ^= 1;
  return memcmp(before, after, sizeof before) != 0;
}

/// RELRO that ends between two slots, and RELRO that is empty.
static void raw_digests_cover_slots_that_are_half_sealed(void) {
  begin_raw();
  made.items[MADE_OWN].relro_end = made_word_address(MADE_OWN, 18);
  CHECK(covers(17) && covers(18) && covers(19) && !covers(20));
  made.items[MADE_OWN].relro = made_word_address(MADE_OWN, 18);
  made.items[MADE_OWN].relro_end = made_word_address(MADE_OWN, 22);
  CHECK(covers(17) && covers(18) && covers(19) && covers(21) && !covers(16) && !covers(22));
  for (size_t i = 0; i < MADE_OBJECTS; i++) made.items[i].relro = made.items[i].relro_end = 0;
  CHECK(covers(17) && covers(18) && covers(19) && !covers(16) && !covers(20));
}

static void raw_digests_cover_no_got_outside_of_the_data(void) {
  begin_raw();
  CHECK(covers(MADE_LOOSE) && covers(MADE_LOOSE + 1) && covers(MADE_LOOSE + 2) && !covers(MADE_LOOSE + 3));
  made.items[MADE_OWN].segments[0].size = (MADE_LOOSE + 3) * sizeof(uintptr_t);
  CHECK(covers(MADE_LOOSE));
  made.items[MADE_OWN].segments[0].size--;
  CHECK(!covers(MADE_LOOSE) && covers(17));
}

/// A slot outside of the data is none, and the others are still covered.
static void raw_digests_cover_slots_of_the_data(void) {
  begin_raw();
  made.items[MADE_OWN].segments[0].start = made_word_address(MADE_OWN, 18);
  made.items[MADE_OWN].segments[0].size = 6 * sizeof(uintptr_t);
  CHECK(!covers(17) && !covers(18) && covers(19) && !covers(20));
}

static void take_one(void) {
  uint8_t digest[PFC_DIGEST_BYTES];
  CHECK(take_raw(digest));
}

static void raw_digests_leave_nothing_behind(void) {
  begin_raw();
  CHECK_COUNT(made_left(take_one), 0);
}

static const struct test tests[] = {
    TEST("a table that is not there is not read, whatever its size", a_size_without_a_table_is_none),
    TEST("a table of relocations ends with its size", tables_end_with_their_size),
    TEST("slots with relocations of another format are left alone", slots_of_another_format_are_left_alone),
    TEST("a chosen word among the slots is no loose word", chosen_words_among_slots_are_not_loose),
    TEST("a slot that the file has only in part is not unbound", slots_behind_the_file_are_not_unbound),
    TEST("slots are read in the segment that has them", slots_are_read_at_their_segment),
    TEST("a file that is gone has no unbound slots", a_file_that_is_gone_has_no_slots),
    TEST("reading links leaves no descriptor and no memory behind", nothing_stays_behind),
    TEST("the raw digest covers all slots if only some are sealed", raw_digests_cover_slots_that_are_half_sealed),
    TEST("the raw digest covers reserved words in the object's data only",
         raw_digests_cover_no_got_outside_of_the_data),
    TEST("the raw digest covers slots in the object's data only", raw_digests_cover_slots_of_the_data),
    TEST("taking raw digests leaves no memory behind", raw_digests_leave_nothing_behind),
};

const struct suite process_tables_suite = SUITE("tables of words", tests);
