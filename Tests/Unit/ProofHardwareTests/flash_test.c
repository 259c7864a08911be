// SPDX-License-Identifier: Apache-2.0

/// Two copies in pages of NOR flash: whatever is cut, worn or damaged.

#include <string.h>

#include "hardware_suites.h"
#include "nor.h"

static struct nor nor, before;
static uint8_t key[32];

static void make(uint64_t seed) {
  struct dice dice = {seed};
  nor_make(&nor, seed);
  dice_fill(&dice, key, sizeof key);
}

/// The number that record 1 holds, or -1.
static long stored(void) {
  struct pfc_storage storage = pfd_flash_storage(&nor.port);
  struct pfc_record record;
  uint8_t bytes[PFC_RECORD_BYTES(PFC_SLOT_BYTES)];
  if (pfc_record_load(&record, bytes, PFC_SLOT_BYTES, &storage, 1, key) != PFC_OK) return -1;
  return (long)get32(bytes + PFC_RECORD_HEAD_BYTES);
}

static int store(uint32_t number, bool format) {
  struct pfc_storage storage = pfd_flash_storage(&nor.port);
  struct pfc_record record;
  uint8_t bytes[PFC_RECORD_BYTES(PFC_SLOT_BYTES)];
  int result = PFC_OK;
  if (!format) result = pfc_record_load(&record, bytes, PFC_SLOT_BYTES, &storage, 1, key);
  memset(bytes, 0x5A, sizeof bytes);
  put32(bytes + PFC_RECORD_HEAD_BYTES, number);
  if (result != PFC_OK) return result;
  return format ? pfc_record_format(&record, bytes, PFC_SLOT_BYTES, &storage, 1, key)
                : pfc_record_save(&record, bytes, PFC_SLOT_BYTES, &storage, 1, key);
}

static void appends_and_erases_only_full_pages(void) {
  make(1);
  CHECK_NUMBER(store(0, true), PFC_OK);
  for (uint32_t i = 1; i <= 400; i++) {
    REQUIRE(CHECK_NUMBER(store(i, false), PFC_OK));
    REQUIRE(CHECK_NUMBER(stored(), i));
  }
  CHECK(!nor.broke_rule);
  // 402 writes, each in one step since 232 is a multiple of 8; two pages, four entries in each.
  CHECK_NUMBER(nor.operations - nor.erases, 402);
  CHECK_NUMBER(nor.erases, 2 * ((201 - 1) / (NOR_PAGE_BYTES / (int)PFD_ENTRY_BYTES)));
}

static void old_or_new_after_a_cut_anywhere(void) {
  unsigned cuts = 0;
  make(2);
  CHECK_NUMBER(store(0, true), PFC_OK);
  for (uint32_t i = 1; i <= 24; i++) {
    before = nor;
    CHECK_NUMBER(store(i, false), PFC_OK);
    unsigned operations = nor.operations - before.operations;
    for (unsigned at = 1; at <= operations; at++) {
      for (unsigned turn = 0; turn < 3 * 16; turn++) {
        test_case("write %u, operation %u of %u, turn %u", i, at, operations, turn);
        nor = before;
        nor_attach(&nor);
        nor.dice.state = turn;
        nor.tear = (enum nor_tear)(turn % NOR_TEARS);
        nor.cut = before.operations + at;
        CHECK(store(i, false) != PFC_OK);
        nor_power(&nor);
        long found = stored();
        CHECK(found == (long)i - 1 || found == (long)i);
        // Life goes on, over whatever the cut left behind, and is cut again.
        nor.cut = nor.operations + 1;
        CHECK(store(100, false) != PFC_OK);
        nor_power(&nor);
        found = stored();
        CHECK(found == (long)i - 1 || found == (long)i || found == 100);
        for (uint32_t more = 0; more < 9; more++) {
          REQUIRE(CHECK_NUMBER(store(200 + more, false), PFC_OK));
          REQUIRE(CHECK_NUMBER(stored(), 200 + more));
        }
        CHECK(!nor.broke_rule);
        cuts++;
      }
    }
    nor = before;
    nor_attach(&nor);
    CHECK_NUMBER(store(i, false), PFC_OK);
  }
  test_note("flash: %u cuts\n", cuts);
}

static void an_entry_that_does_not_read_back_moves_to_an_erased_page(void) {
  make(3);
  CHECK_NUMBER(store(0, true), PFC_OK);
  nor.stuck = true;
  for (uint32_t i = 1; i <= 8; i++) {
    CHECK_NUMBER(store(i, false), PFC_OK);
    CHECK_NUMBER(stored(), i);
  }
  CHECK_NUMBER(nor.erases, 8);
}

static void worn_flash_keeps_what_it_has_and_says_so(void) {
  make(4);
  CHECK_NUMBER(store(0, true), PFC_OK);
  CHECK_NUMBER(store(7, false), PFC_OK);
  nor.worn = true;
  CHECK_NUMBER(store(8, false), PFC_E_STORAGE);
  CHECK_NUMBER(stored(), 7);
}

static void a_page_that_does_not_answer_is_not_taken_for_blank(void) {
  make(5);
  CHECK_NUMBER(store(3, true), PFC_OK);
  nor.silent = true;
  CHECK_NUMBER(stored(), -1);
  nor_power(&nor);
  CHECK_NUMBER(stored(), 3);
}

static void each_single_read_that_fails_is_told(void) {
  uint8_t entry[PFD_ENTRY_BYTES], bytes[PFC_RECORD_BYTES(PFC_SLOT_BYTES)];
  unsigned page = PFD_FLASH_IDENTITY_PAGES + 2;
  make(10);
  memset(entry, 0x5A, sizeof entry);
  CHECK_NUMBER(pfd_flash_write(&nor.port, page, entry, sizeof entry), 0);
  unsigned before_it = nor.reads;
  CHECK_NUMBER(pfd_flash_read(&nor.port, page, bytes, sizeof bytes), 0);
  unsigned reads = nor.reads - before_it;
  CHECK(reads > 2);
  for (unsigned i = 1; i <= reads; i++) {
    test_case("read %u of %u", i, reads);
    nor.deaf = nor.reads + i;
    CHECK_NUMBER(pfd_flash_read(&nor.port, page, bytes, sizeof bytes), -1);
  }
}

static void one_damaged_copy_is_survived_two_are_told(void) {
  for (unsigned copy = 0; copy < 2; copy++) {
    make(6 + copy);
    CHECK_NUMBER(store(3, true), PFC_OK);
    nor_damage(&nor, PFD_FLASH_IDENTITY_PAGES + 2 + copy);
    CHECK_NUMBER(stored(), 3);
    nor_damage(&nor, PFD_FLASH_IDENTITY_PAGES + 2 + (copy ^ 1));
    CHECK_NUMBER(stored(), -1);
    CHECK_NUMBER(store(4, true), PFC_OK);
    CHECK_NUMBER(stored(), 4);
  }
}

static void identity_comes_back_as_it_was_saved(void) {
  struct pfc_hardware saved = {.mode = PFC_MODE_DEVELOPMENT, .allow_literal = 1, .issuer_count = 3};
  struct pfc_hardware found;
  struct dice dice = {9};
  make(9);
  saved.challenge_seconds = 500;
  dice_fill(&dice, saved.id, sizeof saved.id);
  dice_fill(&dice, saved.secret_key, sizeof saved.secret_key);
  pfc_public_key(saved.public_key, saved.secret_key);
  for (unsigned i = 0; i < 3; i++) dice_fill(&dice, saved.issuers[i].public_key, PFC_PUBLIC_KEY_BYTES);
  CHECK_NUMBER(pfd_identity_load(&found, &nor.port), PFC_E_DAMAGED);
  CHECK_NUMBER(pfd_identity_save(&saved, &nor.port), PFC_OK);
  for (unsigned page = 0; page < 2; page++) {
    CHECK_NUMBER(pfd_identity_load(&found, &nor.port), PFC_OK);
    CHECK_BYTES(found.id, saved.id, sizeof saved.id);
    CHECK_BYTES(found.public_key, saved.public_key, sizeof saved.public_key);
    CHECK_BYTES(found.issuers, saved.issuers, sizeof saved.issuers);
    CHECK_NUMBER(found.mode, PFC_MODE_DEVELOPMENT);
    CHECK_NUMBER(found.challenge_seconds, 500);
    CHECK_NUMBER(found.issuer_count, 3);
    CHECK_NUMBER(found.allow_literal, 1);
    // Any one byte changed, and the other copy serves; then none.
    for (size_t i = 0; i < PFD_IDENTITY_BYTES; i++) {
      nor.bytes[page * NOR_PAGE_BYTES + i] ^= 1;
      CHECK_NUMBER(pfd_identity_load(&found, &nor.port), page == 0 ? PFC_OK : PFC_E_DAMAGED);
      nor.bytes[page * NOR_PAGE_BYTES + i] ^= 1;
    }
    nor_damage(&nor, page);
  }
  CHECK_NUMBER(pfd_identity_load(&found, &nor.port), PFC_E_DAMAGED);
  CHECK_ZEROS(&found, sizeof found);
  saved.mode = 3;
  CHECK_NUMBER(pfd_identity_save(&saved, &nor.port), PFC_E_ARGUMENT);
}

static const struct test tests[] = {
    TEST("a write appends, and erases only a full page", appends_and_erases_only_full_pages),
    TEST("after a cut in any operation a record is the old one or the new one", old_or_new_after_a_cut_anywhere),
    TEST("an entry that does not read back is written to an erased page",
         an_entry_that_does_not_read_back_moves_to_an_erased_page),
    TEST("worn flash keeps what it has and says that it takes no more", worn_flash_keeps_what_it_has_and_says_so),
    TEST("a page that does not answer is not taken for a blank one",
         a_page_that_does_not_answer_is_not_taken_for_blank),
    TEST("each single read that fails is told", each_single_read_that_fails_is_told),
    TEST("one damaged copy is survived, two are told", one_damaged_copy_is_survived_two_are_told),
    TEST("an identity comes back as it was saved, from either copy", identity_comes_back_as_it_was_saved),
};

const struct suite flash_suite = SUITE("flash", tests);
