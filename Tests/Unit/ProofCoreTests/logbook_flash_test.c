// SPDX-License-Identifier: Apache-2.0

/// The log's place in flash: starts, shapes, and flash that is worn, silent, damaged or put back.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "log_chip.h"

enum { PAGE = 288, PAGES = 5, PLACES = PAGE / 32 - 1, KEPT = 2 * PLACES };

static struct chip chip, earlier;
static struct pfc_log_ring ring;
static struct pfc_hardware hardware;
static struct pfc_log_content last;
static uint8_t first_key[32];

static const struct pfc_log_content command = {.event = PFC_LOG_COMMAND, .verdict = 1, .kind = 1};

static void key_at(uint8_t key[32], uint64_t number) {
  memcpy(key, first_key, 32);
  while (number-- > 0) pfc_log_step(key);
}

static int format(uint64_t number) {
  uint8_t key[32];
  key_at(key, number);
  return pfc_log_ring_format(&chip.port, &hardware, number, key);
}

static int start(void) {
  int result = pfc_log_ring_start(&ring, &chip.port, &hardware, &last);
  if (result == PFC_OK) pfc_log_ring_settle(&ring, 0);
  return result;
}

static void make(uint16_t page_bytes, uint16_t pages, uint8_t once) {
  struct dice dice = {94};
  chip_make(&chip, page_bytes, pages, once);
  dice_fill(&dice, hardware.id, sizeof hardware.id);
  dice_fill(&dice, hardware.secret_key, sizeof hardware.secret_key);
  dice_fill(&dice, first_key, sizeof first_key);
}

/// A new log that has started.
static void begin(uint16_t page_bytes, uint16_t pages, uint8_t once) {
  make(page_bytes, pages, once);
  CHECK_NUMBER(format(0), PFC_OK);
  CHECK_NUMBER(start(), PFC_OK);
}

static int write_one(uint32_t counter) {
  struct pfc_log_content content = command;
  content.counter = counter;
  return pfc_log_ring_write(&ring, &content, 9);
}

/// A log whose last entry has this number.
static void begin_with(uint64_t end) {
  begin(PAGE, PAGES, 0);
  for (uint32_t i = 0; i < end; i++) CHECK_NUMBER(write_one(i), PFC_OK);
  CHECK_COUNT(ring.log.next, end + 1);
}

/// Whether this entry opens, and its content.
static bool opens(uint64_t number, struct pfc_log_content *content) {
  uint8_t entry[PFC_LOG_ENTRY_BYTES], key[32];
  key_at(key, number);
  return pfc_log_ring_read(&ring, entry, number) == PFC_OK &&
         pfc_log_open(content, entry, key, number, hardware.id) == PFC_OK;
}

// Starts ---------------------------------------------------------------------------------------------------------

static void starts_write_nothing(void) {
  for (unsigned once = 0; once < 2; once++) {
    for (uint32_t end = 0; end < 40; end++) {
      unsigned before;
      begin(PAGE, PAGES, (uint8_t)once);
      for (uint32_t i = 0; i < end; i++) CHECK_NUMBER(write_one(i), PFC_OK);
      before = chip.operations;
      for (unsigned i = 0; i < 5; i++) {
        test_case("%u entries, start %u", end, i);
        CHECK_NUMBER(start(), PFC_OK);
        CHECK_COUNT(ring.log.next, end == 0 ? 0 : end + 1u);
        for (unsigned verdict = 16; verdict < 50; verdict++) pfc_log_refuse(&ring.log, (uint8_t)verdict);
      }
      CHECK_NUMBER(chip.operations, before);
    }
  }
}

static void a_start_tells_the_last_entry(void) {
  begin(PAGE, PAGES, 0);
  CHECK_ZEROS(&last, sizeof last);
  for (uint32_t i = 1; i < 20; i++) {
    uint8_t key[32];
    test_case("%u entries", i);
    CHECK_NUMBER(write_one(1000 + i), PFC_OK);
    CHECK_NUMBER(start(), PFC_OK);
    CHECK_NUMBER(last.event, PFC_LOG_COMMAND);
    CHECK_COUNT(last.counter, 1000 + i);
    key_at(key, ring.log.next);
    CHECK_BYTES(ring.log.key, key, 32);
    CHECK_NUMBER(ring.log.flags, PFC_LOG_STARTED);
    // A note, and the next entry.
    CHECK_COUNT(ring.log.next, 2 * i);
  }
}

static void nothing_before_the_start(void) {
  struct pfc_log_ring unsettled;
  uint8_t entry[PFC_LOG_ENTRY_BYTES];
  begin_with(3);
  REQUIRE(CHECK_NUMBER(pfc_log_ring_start(&unsettled, &chip.port, &hardware, &last), PFC_OK));
  CHECK_NUMBER(pfc_log_ring_write(&unsettled, &command, 9), PFC_E_STORAGE);
  CHECK_NUMBER(pfc_log_ring_read(&unsettled, entry, 0), PFC_E_ARGUMENT);
  memset(&ring, 0, sizeof ring);
  CHECK_NUMBER(pfc_log_ring_write(&ring, &command, 9), PFC_E_STORAGE);
}

static void arguments(void) {
  static const struct {
    uint16_t page_bytes, pages;
    bool fits;
  } shapes[] = {{288, 5, true}, {288, 4, false}, {544, 4, true},  {512, 4, false}, {512, 5, true},  {290, 5, false},
                {96, 11, true}, {96, 10, false},  {64, 40, false}, {4096, 4, true}, {4096, 3, false},
                {4096, 0, false}, {4096, 1, false}};
  uint8_t key[32] = {0}, entry[PFC_LOG_ENTRY_BYTES];
  struct pfc_log_content note = {.event = PFC_LOG_NOTE}, wide = command;
  for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    test_case("%u pages of %u bytes", shapes[i].pages, shapes[i].page_bytes);
    make(shapes[i].page_bytes, shapes[i].pages, 0);
    CHECK_NUMBER(format(0), shapes[i].fits ? PFC_OK : PFC_E_ARGUMENT);
    CHECK_NUMBER(start(), shapes[i].fits ? PFC_OK : PFC_E_ARGUMENT);
    CHECK(!chip.broke_rule);
  }
  test_case("numbers and keys");
  begin(PAGE, PAGES, 0);
  CHECK_NUMBER(format(15), PFC_E_ARGUMENT);
  CHECK_NUMBER(pfc_log_ring_format(&chip.port, &hardware, 0, key), PFC_E_ARGUMENT);
  CHECK_NUMBER(start(), PFC_OK);
  CHECK_NUMBER(pfc_log_ring_write(&ring, &note, 9), PFC_E_ARGUMENT);
  wide.kind = 16;
  CHECK_NUMBER(write_one(1), PFC_OK);
  CHECK_NUMBER(pfc_log_ring_write(&ring, &wide, 9), PFC_E_ARGUMENT);
  CHECK_COUNT(ring.log.next, 2);
  test_case("reading");
  CHECK_NUMBER(pfc_log_ring_read(&ring, entry, 1), PFC_OK);
  CHECK_NUMBER(pfc_log_ring_read(&ring, entry, 2), PFC_E_ARGUMENT);
  CHECK_ZEROS(entry, sizeof entry);
  for (uint32_t i = 0; i < 40; i++) CHECK_NUMBER(write_one(i), PFC_OK);
  CHECK_NUMBER(pfc_log_ring_read(&ring, entry, ring.oldest), PFC_OK);
  CHECK_NUMBER(pfc_log_ring_read(&ring, entry, ring.oldest - 1), PFC_E_ARGUMENT);
}

/// Flash that is asked and does not answer: the area was taken for one.
static int silent_read(void *context, uint32_t offset, uint8_t *bytes, size_t size) {
  (void)context, (void)offset, (void)bytes, (void)size;
  return -1;
}

/// A page has 65,535 entries at most.
static void the_largest_page(void) {
  static const struct {
    uint32_t page_bytes;
    int result;
  } rows[] = {{2097088, PFC_E_STORAGE}, {2097120, PFC_E_STORAGE}, {2097152, PFC_E_ARGUMENT}, {2097121, PFC_E_ARGUMENT}};
  make(PAGE, PAGES, 0);
  chip.port.read = silent_read;
  for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    test_case("%u bytes", (unsigned)rows[i].page_bytes);
    chip.port.page_bytes = rows[i].page_bytes;
    CHECK_NUMBER(pfc_log_ring_start(&ring, &chip.port, &hardware, &last), rows[i].result);
  }
}

static int (*chip_erase)(void *context, uint32_t offset);
static unsigned erasures[PAGES];

static int counting_erase(void *context, uint32_t offset) {
  erasures[(offset - CHIP_OFFSET) / PAGE]++;
  return chip_erase(context, offset);
}

/// A key record takes 96 bytes, so a page of 288 serves three blocks of 16 entries for each erasure.
static void key_records_fill_their_page(void) {
  begin(PAGE, PAGES, 0);
  chip_erase = chip.port.erase;
  chip.port.erase = counting_erase;
  memset(erasures, 0, sizeof erasures);
  for (uint32_t i = 0; ring.log.next < 16 * 13; i++) CHECK_NUMBER(write_one(i), PFC_OK);
  CHECK_NUMBER(erasures[0], 2);
  CHECK_NUMBER(erasures[1], 1);
  for (uint32_t i = 0; ring.log.next < 16 * 25; i++) CHECK_NUMBER(write_one(i), PFC_OK);
  CHECK_NUMBER(erasures[0], 4);
  CHECK_NUMBER(erasures[1], 3);
}

static void a_log_begins_at_a_number(void) {
  struct pfc_log_content content;
  make(PAGE, PAGES, 0);
  CHECK_NUMBER(format(4096), PFC_OK);
  CHECK_NUMBER(start(), PFC_OK);
  CHECK_COUNT(ring.log.next, 4096);
  CHECK_COUNT(ring.oldest, 4096);
  for (uint32_t i = 0; i < 30; i++) CHECK_NUMBER(write_one(i), PFC_OK);
  CHECK_NUMBER(start(), PFC_OK);
  CHECK_COUNT(ring.log.next, 4096 + 31);
  CHECK(opens(4096 + 30, &content) && content.counter == 29);
}

static void the_ring_keeps_what_it_promises(void) {
  struct pfc_log_content content;
  unsigned erased;
  begin(4096, 4, 0);
  erased = chip.operations;
  for (uint32_t i = 0; i < 2000; i++) {
    REQUIRE(CHECK_NUMBER(write_one(i), PFC_OK));
    CHECK(ring.oldest == 0 || ring.log.next - ring.oldest >= 127);
  }
  CHECK(opens(ring.oldest, &content) && content.counter == ring.oldest - 1);
  // 2,001 entries; 16 pages, a head and an erasure each; 126 blocks, of which the first record was there: each is
  // written, and the key before it destroyed. 42 records fill a page: each is erased once.
  CHECK_NUMBER(chip.operations - erased, 2001 + 2 * 16 + 2 * 125 + 2);
  CHECK(!chip.broke_rule);
  test_case("a start");
  CHECK_NUMBER(start(), PFC_OK);
  CHECK(ring.log.next - ring.oldest >= 127);
}

// Flash that fails -----------------------------------------------------------------------------------------------

static void each_read_that_fails_is_told(void) {
  unsigned reads;
  begin_with(37);
  reads = chip.reads;
  CHECK_NUMBER(start(), PFC_OK);
  reads = chip.reads - reads;
  CHECK(reads > 20);
  for (unsigned i = 1; i <= reads; i++) {
    test_case("read %u of %u", i, reads);
    chip.deaf = chip.reads + i;
    CHECK_NUMBER(start(), PFC_E_STORAGE);
    CHECK_ZEROS(&ring, sizeof ring);
    CHECK_ZEROS(&last, sizeof last);
  }
}

static void worn_flash_uses_no_number(void) {
  for (uint32_t end = 5; end < 36; end++) {
    struct pfc_log before;
    test_case("%u entries", end);
    begin_with(end);
    before = ring.log;
    chip.worn = true;
    for (unsigned i = 0; i < 3; i++) CHECK_NUMBER(write_one(i), PFC_E_STORAGE);
    CHECK_BYTES(&ring.log, &before, sizeof before);
    CHECK_NUMBER(start(), PFC_OK);
    CHECK_COUNT(ring.log.next, before.next);
    chip_power(&chip);
    CHECK_NUMBER(write_one(7), PFC_OK);
  }
}

static void a_torn_entry_is_told_of(void) {
  struct pfc_log_content content;
  begin_with(5);
  chip.stuck = true;
  CHECK_NUMBER(write_one(100), PFC_E_STORAGE);
  CHECK_NUMBER(write_one(101), PFC_E_STORAGE);
  chip_power(&chip);
  CHECK_COUNT(ring.log.next, 8);
  CHECK_NUMBER(ring.log.undone, 2);
  CHECK(!opens(6, &content) && !opens(7, &content));
  CHECK_NUMBER(write_one(102), PFC_OK);
  CHECK(opens(8, &content) && content.event == PFC_LOG_NOTE && content.undone == 2);
  CHECK(opens(9, &content) && content.counter == 102);
}

/// A port that says what it does not do: programming twice. The key of the block before would stay.
static void keys_that_stay_are_found(void) {
  begin(PAGE, PAGES, 0);
  chip.keeps = true;
  for (uint32_t i = 0; i < 15; i++) CHECK_NUMBER(write_one(i), PFC_OK);
  CHECK_COUNT(ring.log.next, 16);
  for (uint32_t i = 0; i < 3; i++) CHECK_NUMBER(write_one(i), PFC_E_STORAGE);
  CHECK_COUNT(ring.log.next, 16);
  CHECK_NUMBER(start(), PFC_E_STORAGE);
  test_case("the same, and its port says so");
  begin(PAGE, PAGES, 1);
  chip.keeps = true;
  for (uint32_t i = 0; i < 100; i++) CHECK_NUMBER(write_one(i), PFC_OK);
}

/// A key record that does not read back is written again, behind itself. Its key goes, too.
static void a_torn_key_record_keeps_no_key(void) {
  uint8_t key[32];
  // No page begins with a block: the head of one would be torn first.
  begin(320, PAGES, 0);
  for (uint32_t i = 0; i < 15; i++) CHECK_NUMBER(write_one(i), PFC_OK);
  key_at(key, 16);
  chip.stuck = true;
  CHECK_NUMBER(write_one(2), PFC_E_STORAGE);
  CHECK_COUNT(ring.log.next, 16);
  CHECK_COUNT(ring.block, 0);
  chip_power(&chip);
  for (uint32_t i = 0; i < 16; i++) CHECK_NUMBER(write_one(i), PFC_OK);
  CHECK_COUNT(ring.block, 16);
  CHECK_NUMBER(write_one(3), PFC_OK);
  CHECK_COUNT(ring.block, 32);
  for (size_t at = CHIP_OFFSET; at < sizeof chip.bytes; at += 8) {
    for (unsigned piece = 0; piece < 32; piece += 8) CHECK(memcmp(chip.bytes + at, key + piece, 8) != 0);
  }
}

static void damaged_records(void) {
  begin_with(20);
  earlier = chip;
  make(PAGE, PAGES, 0);
  CHECK_NUMBER(start(), PFC_E_DAMAGED);
  for (unsigned bit = 0; bit < 8 * 80; bit++) {
    unsigned page = ring.copy;
    chip = earlier;
    chip_attach(&chip);
    CHECK_NUMBER(start(), PFC_OK);
    // The newest record; the key of the older one is gone.
    page = ring.copy;
    test_case("bit %u of the record in page %u", bit, page);
    chip.bytes[CHIP_OFFSET + page * PAGE + bit / 8] ^= (uint8_t)(1u << bit % 8);
    CHECK_NUMBER(start(), PFC_E_DAMAGED);
  }
  test_case("another hardware's");
  chip = earlier;
  chip_attach(&chip);
  hardware.secret_key[5] ^= 1;
  CHECK_NUMBER(start(), PFC_E_DAMAGED);
  CHECK_NUMBER(format(64), PFC_OK);
  CHECK_NUMBER(start(), PFC_OK);
  CHECK_NUMBER(write_one(1), PFC_OK);
}

/// Makes the tag of stored bytes anew.
static void tag_anew(uint8_t *bytes, size_t size) {
  uint8_t key[32], full[32];
  pfc_log_store_key(key, hardware.secret_key);
  pfc_mac_once(full, key, 32, bytes, size - 16);
  memcpy(bytes + size - 16, full, 16);
}

static void later_versions_are_left_alone(void) {
  unsigned before;
  begin_with(20);
  before = chip.operations;
  earlier = chip;
  chip.bytes[CHIP_OFFSET + ring.copy * PAGE + 2] = 2;
  tag_anew(chip.bytes + CHIP_OFFSET + ring.copy * PAGE, 80);
  CHECK_NUMBER(start(), PFC_E_TOO_NEW);
  for (unsigned page = 2; page < PAGES; page++) {
    test_case("page %u", page);
    chip = earlier;
    chip_attach(&chip);
    chip.bytes[CHIP_OFFSET + page * PAGE + 2] = 2;
    tag_anew(chip.bytes + CHIP_OFFSET + page * PAGE, 32);
    CHECK_NUMBER(start(), PFC_E_TOO_NEW);
  }
  CHECK_NUMBER(chip.operations, before);
}

/// Puts pages `from` to `to` - 1 back.
static void put_back(unsigned from, unsigned to) {
  memcpy(chip.bytes + CHIP_OFFSET + from * PAGE, earlier.bytes + CHIP_OFFSET + from * PAGE,
         (size_t)(to - from) * PAGE);
}

static void the_newer_key_record_counts(void) {
  unsigned old;
  begin_with(14);
  CHECK_NUMBER(write_one(1), PFC_OK);
  for (unsigned round = 0; round < 2; round++) {
    uint64_t block = 16 + 16 * round;
    test_case("round %u", round);
    old = ring.copy;
    earlier = chip;
    CHECK_NUMBER(write_one(2), PFC_OK);
    CHECK(ring.copy != old);
    // As a cut before the end of the old key leaves it.
    put_back(old, old + 1);
    CHECK_NUMBER(start(), PFC_OK);
    CHECK_COUNT(ring.block, block);
    CHECK(ring.copy != old);
    CHECK(memcmp(chip.bytes + CHIP_OFFSET + old * PAGE, earlier.bytes + CHIP_OFFSET + old * PAGE, PAGE) != 0);
    while (ring.log.next < block + 16) CHECK_NUMBER(write_one(2), PFC_OK);
  }
}

static void parts_put_back_are_found(void) {
  begin_with(14);
  earlier = chip;
  for (uint32_t i = 0; i < 40; i++) CHECK_NUMBER(write_one(i), PFC_OK);
  test_case("key records");
  put_back(0, 2);
  CHECK_NUMBER(start(), PFC_E_DAMAGED);
  test_case("entries");
  begin_with(14);
  earlier = chip;
  for (uint32_t i = 0; i < 40; i++) CHECK_NUMBER(write_one(i), PFC_OK);
  put_back(2, PAGES);
  CHECK_NUMBER(start(), PFC_E_DAMAGED);
  test_case("all of it: the log goes on from there, and the reader finds it");
  put_back(0, PAGES);
  CHECK_NUMBER(start(), PFC_OK);
  CHECK_COUNT(ring.log.next, 15);
}

static void damaged_heads(void) {
  struct pfc_log_content content;
  begin_with(50);
  earlier = chip;
  test_case("an older page's");
  chip.bytes[CHIP_OFFSET + (2 + (ring.page + 2u) % 3) * PAGE] ^= 1;
  CHECK_NUMBER(start(), PFC_OK);
  CHECK_COUNT(ring.oldest, 48);
  CHECK_COUNT(ring.log.next, 51);
  CHECK(opens(48, &content));
  CHECK_NUMBER(write_one(1), PFC_OK);
  test_case("an older page of another round: its head is right, and its number does not join");
  begin_with(14);
  earlier = chip;
  for (uint32_t i = 0; i < 44; i++) CHECK_NUMBER(write_one(i), PFC_OK);
  put_back(2, 3);
  CHECK_NUMBER(start(), PFC_OK);
  CHECK_COUNT(ring.log.next, 59);
  CHECK_COUNT(ring.oldest, 56);
  begin_with(50);
  earlier = chip;
  test_case("the newest page's: its entries are gone, and the reader finds their numbers used twice");
  chip = earlier;
  chip_attach(&chip);
  chip.bytes[CHIP_OFFSET + (2u + ring.page) * PAGE] ^= 1;
  CHECK_NUMBER(start(), PFC_OK);
  CHECK_COUNT(ring.log.next, 48);
}

static void a_format_that_is_cut(void) {
  unsigned operations;
  begin_with(20);
  earlier = chip;
  operations = chip.operations;
  CHECK_NUMBER(format(64), PFC_OK);
  operations = chip.operations - operations;
  for (unsigned cut = 1; cut <= operations; cut++) {
    for (unsigned turn = 0; turn < 40; turn++) {
      int result;
      test_case("operation %u of %u, turn %u", cut, operations, turn);
      chip = earlier;
      chip_attach(&chip);
      chip.cut = chip.operations + cut;
      chip.subset = turn < 16 ? turn : turn * 0x9E3779B1u;
      CHECK_NUMBER(format(64), PFC_E_STORAGE);
      chip_power(&chip);
      result = start();
      // The old log as it was, or none.
      CHECK(result == PFC_E_DAMAGED || (result == PFC_OK && (ring.log.next == 21 || ring.log.next == 64)));
      if (result == PFC_OK && ring.log.next == 21) CHECK(ring.oldest == 0 && cut <= 2);
      CHECK_NUMBER(format(64), PFC_OK);
      CHECK_NUMBER(start(), PFC_OK);
      CHECK_COUNT(ring.log.next, 64);
    }
  }
}

static const struct test tests[] = {
    TEST("starts and refusals write nothing", starts_write_nothing),
    TEST("a start tells the last entry that opens", a_start_tells_the_last_entry),
    TEST("nothing is written before the start is settled", nothing_before_the_start),
    TEST("an area, a number, a key or a content that cannot be right is refused", arguments),
    TEST("a page has 65,535 entries at most", the_largest_page),
    TEST("key records fill their page before it is erased", key_records_fill_their_page),
    TEST("a log may begin at a later number", a_log_begins_at_a_number),
    TEST("two pages of 4,096 bytes keep 127 entries or more, and an erasure serves 127",
         the_ring_keeps_what_it_promises),
    TEST("each read that fails at a start is told", each_read_that_fails_is_told),
    TEST("flash that takes nothing uses no number", worn_flash_uses_no_number),
    TEST("an entry that does not read back keeps its number, and the next note tells of it", a_torn_entry_is_told_of),
    TEST("keys of the past that flash keeps are found, and then nothing is written", keys_that_stay_are_found),
    TEST("a key record that does not read back keeps no key", a_torn_key_record_keeps_no_key),
    TEST("of two key records the newer one counts, and the older one's key is made unreadable",
         the_newer_key_record_counts),
    TEST("a damaged key record, or one of other hardware, is no log", damaged_records),
    TEST("what a later version has written is left alone", later_versions_are_left_alone),
    TEST("entries or key records that are put back alone are found at the start", parts_put_back_are_found),
    TEST("damaged page heads cost entries and no more", damaged_heads),
    TEST("a format that is cut leaves the log as it was, or none", a_format_that_is_cut),
};

const struct suite logbook_flash_suite = SUITE("log-flash", tests);
