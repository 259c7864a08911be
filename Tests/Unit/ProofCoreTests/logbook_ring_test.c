// SPDX-License-Identifier: Apache-2.0

/// The log's place in flash: power fails in every operation, with any subset of words changed.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "log_chip.h"

enum {
  ENTRIES = 256,
  EVENTS = 48,
  EVENTS_QUICK = 34  ///< Two blocks, and more than the ring keeps
};

/// Flash of one shape. The smaller pages are, the more is erased.
struct shape {
  const char *name;
  uint16_t page_bytes, pages;
  uint8_t once;
};

static const struct shape shapes[] = {
    {"3 pages of 8 entries", 288, 5, 0},
    {"3 pages of 8 entries, each word programmed once", 288, 5, 1},
    {"2 pages of 16 entries", 544, 4, 0},
    {"9 pages of 2 entries", 96, 11, 0},
    {"9 pages of 2 entries, each word programmed once", 96, 11, 1},
};

enum { SHAPES = sizeof shapes / sizeof shapes[0], SHAPES_QUICK = 3 };

/// A lock, its chip, what it was told, and a reader whom couriers reach now and then.
struct life {
  struct chip chip;
  struct pfc_log_ring ring;
  uint32_t slot;  ///< Counter of the last command that the slot knows
  uint32_t event;
  struct pfc_log_content kept[ENTRIES];  ///< By number: what was written whole, says `pfc_log_ring_write`
  bool is_kept[ENTRIES], happened[ENTRIES];
  struct pfc_log_reader reader;
  uint8_t stored[ENTRIES][PFC_LOG_ENTRY_BYTES];
  bool has_stored[ENTRIES];
  bool is_undone[ENTRIES];  ///< Torn or undone, says the reader
  unsigned alarms;
};

static struct life now, moment;
static struct pfc_hardware hardware;
static uint8_t nonce[16] = "a fresh nonce..", keys[ENTRIES][32];

static const struct pfc_log_content command = {.event = PFC_LOG_COMMAND, .verdict = 1, .kind = 1, .who = {1, 2, 3, 4}};

// The lock's life ---------------------------------------------------------------------------------------------------

static void attach(struct life *life) {
  chip_attach(&life->chip);
  life->ring.flash = &life->chip.port;
}

static void begin(const struct shape *shape) {
  struct dice dice = {91};
  uint8_t drawn[32];
  memset(&now, 0, sizeof now);
  dice_fill(&dice, hardware.id, sizeof hardware.id);
  dice_fill(&dice, hardware.secret_key, sizeof hardware.secret_key);
  dice_fill(&dice, drawn, sizeof drawn);
  pfc_log_first_key(keys[0], drawn, hardware.id);
  for (unsigned i = 1; i < ENTRIES; i++) {
    memcpy(keys[i], keys[i - 1], 32);
    pfc_log_step(keys[i]);
  }
  chip_make(&now.chip, shape->page_bytes, shape->pages, shape->once);
  attach(&now);
  pfc_log_reader_begin(&now.reader, keys[0], 0, hardware.id);
  CHECK_NUMBER(pfc_log_ring_format(&now.chip.port, &hardware, 0, keys[0]), PFC_OK);
}

static uint32_t ring_entries(const struct life *life) {
  return (life->chip.port.pages - 3u) * (life->chip.port.page_bytes / 32u - 1u);
}

// The reader -----------------------------------------------------------------------------------------------------

static const uint8_t *find_stored(void *context, uint64_t number) {
  struct life *life = context;
  return number < ENTRIES && life->has_stored[number] ? life->stored[number] : NULL;
}

static void note_finding(void *context, const struct pfc_log_finding *finding) {
  struct life *life = context;
  uint64_t i = finding->first;
  if (!CHECK(finding->count <= ENTRIES && i <= ENTRIES - finding->count)) return;
  for (uint64_t end = i + finding->count; i < end; i++) {
    // It may be said again.
    if ((finding->kind & (PFC_LOG_TORN | PFC_LOG_UNDONE)) != 0) life->is_undone[i] = true;
    if (finding->kind == PFC_LOG_UNDONE) CHECK(!life->happened[i]);
  }
  if ((finding->kind & (PFC_LOG_CHANGED | PFC_LOG_FORKED | PFC_LOG_SHORTER | PFC_LOG_UNKNOWN | PFC_LOG_MISSING)) != 0) {
    life->alarms++;
  }
  if (finding->kind == PFC_LOG_ENTRY && life->is_kept[finding->first]) {
    CHECK_BYTES(finding->content, &life->kept[finding->first], sizeof *finding->content);
  }
}

/// A courier brings what the reader has not got yet.
static void fetch(struct life *life) {
  struct pfc_log_listener listener = {life, find_stored, note_finding};
  uint8_t message[PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX)];
  const struct pfc_log *log = &life->ring.log;
  uint64_t at = life->reader.next > life->ring.oldest ? life->reader.next : life->ring.oldest;
  size_t size;
  do {
    uint8_t count = 0;
    if (at > log->next) at = log->next;
    for (; count < PFC_LOG_ENTRIES_MAX && at + count < log->next; count++) {
      uint8_t *entry = message + PFC_LOG_FIELDS_BYTES + (size_t)count * PFC_LOG_ENTRY_BYTES;
      REQUIRE(CHECK_NUMBER(pfc_log_ring_read(&life->ring, entry, at + count), PFC_OK));
    }
    REQUIRE(CHECK_NUMBER(pfc_log_message_make(message, sizeof message, &size, log, life->ring.oldest, at, count, nonce),
                         PFC_OK));
    REQUIRE(CHECK_NUMBER(pfc_log_reader_take(&life->reader, nonce, message, size, ENTRIES, &listener), PFC_OK));
    for (unsigned i = 0; i < count; i++) {
      memcpy(life->stored[at + i], message + PFC_LOG_FIELDS_BYTES + i * PFC_LOG_ENTRY_BYTES, PFC_LOG_ENTRY_BYTES);
      life->has_stored[at + i] = true;
    }
    at += count;
  } while (at < log->next);
}

// The lock -------------------------------------------------------------------------------------------------------

/// Whether an 8-byte piece of a key stands in flash.
static bool stands(const struct chip *chip, const uint8_t key[32]) {
  for (size_t at = CHIP_OFFSET; at < sizeof chip->bytes; at += CHIP_WORD_BYTES) {
    for (unsigned piece = 0; piece < 32; piece += CHIP_WORD_BYTES) {
      if (memcmp(chip->bytes + at, key + piece, CHIP_WORD_BYTES) == 0) return true;
    }
  }
  return false;
}

/// No key of a block before `block` stands in flash.
static void check_past_is_gone(const struct chip *chip, uint64_t block) {
  for (unsigned i = 0; i < block / 16; i++) {
    if (!CHECK(!stands(chip, keys[16 * i]))) return;
  }
}

/// An accepted command, as the lock's firmware does it: entry, slot. PFC_OK if it is carried out.
static int happen(struct life *life) {
  struct pfc_log_content content = command, note;
  struct pfc_log *log = &life->ring.log;
  uint64_t before = log->next;
  int has_note, result;
  content.epoch = 1000 + life->event;
  content.counter = ++life->event;
  has_note = pfc_log_note(log, &note, content.epoch, 7);
  result = pfc_log_ring_write(&life->ring, &content, 7);
  if (has_note && (result == PFC_OK || log->next > before + 1)) {
    life->kept[before] = note;
    life->is_kept[before] = life->happened[before] = true;
  }
  if (result != PFC_OK) return result;
  CHECK_COUNT(log->next, before + 1 + (uint64_t)has_note);
  life->kept[log->next - 1] = content;
  life->is_kept[log->next - 1] = true;
  check_past_is_gone(&life->chip, life->ring.block);
  // The slot's write is an operation of its own, in other flash.
  life->chip.sizes[++life->chip.operations % 16] = 0;
  if (life->chip.operations == life->chip.cut) life->chip.dark = true;
  if (life->chip.dark) return PFC_E_STORAGE;
  life->slot = content.counter;
  life->happened[log->next - 1] = true;
  return PFC_OK;
}

static int start(struct life *life) {
  struct pfc_log_content last;
  int result = pfc_log_ring_start(&life->ring, &life->chip.port, &hardware, &last);
  if (result != PFC_OK) return result;
  check_past_is_gone(&life->chip, life->ring.block);
  pfc_log_ring_settle(&life->ring, last.event == PFC_LOG_COMMAND && last.counter != life->slot);
  return result;
}

/// Each entry that was acknowledged is there, unless the ring has overwritten it. None is behind the end.
static void check_kept(const struct life *life) {
  const struct pfc_log_ring *ring = &life->ring;
  uint8_t entry[PFC_LOG_ENTRY_BYTES];
  struct pfc_log_content content;
  CHECK(ring->oldest == 0 || ring->log.next - ring->oldest >= ring_entries(life));
  for (uint64_t i = ring->oldest; i < ENTRIES; i++) {
    if (!life->is_kept[i]) continue;
    REQUIRE(CHECK(i < ring->log.next));
    REQUIRE(CHECK_NUMBER(pfc_log_ring_read(ring, entry, i), PFC_OK));
    CHECK_NUMBER(pfc_log_open(&content, entry, keys[i], i, hardware.id), PFC_OK);
    CHECK_BYTES(&content, &life->kept[i], sizeof content);
  }
}

static unsigned cuts;

/// The event at hand is cut in operation `cut`; then the lock starts again, and lives on.
static void cut_once(unsigned cut, uint32_t subset, bool noise, unsigned again) {
  struct pfc_log_listener listener = {&now, find_stored, note_finding};
  unsigned undone = 0, most = again > 1 ? 2 : 1;
  now = moment;
  attach(&now);
  now.chip.cut = now.chip.operations + cut;
  now.chip.subset = subset;
  now.chip.noise = noise;
  now.chip.dice.state = cuts++;
  CHECK(happen(&now) != PFC_OK);
  REQUIRE(CHECK(now.chip.dark));
  chip_power(&now.chip);
  // The start may be cut, too.
  if (again == 1) {
    now.chip.cut = now.chip.operations + 1;
    now.chip.subset = subset * 0x9E3779B1u;
    if (start(&now) != PFC_OK) CHECK(now.chip.dark);
    chip_power(&now.chip);
  }
  REQUIRE(CHECK_NUMBER(start(&now), PFC_OK));
  check_kept(&now);
  fetch(&now);
  // The next event may be cut, too.
  if (again > 1) {
    now.chip.cut = now.chip.operations + again - 1;
    now.chip.subset = subset * 0x9E3779B1u;
    if (happen(&now) != PFC_OK) CHECK(now.chip.dark);
    chip_power(&now.chip);
    REQUIRE(CHECK_NUMBER(start(&now), PFC_OK));
    check_kept(&now);
  }
  for (unsigned i = 0; i < (cuts % 3 == 0 ? 17 : 3); i++) {
    if (!CHECK_NUMBER(happen(&now), PFC_OK)) return;
    if (i == 0) check_kept(&now);
  }
  check_kept(&now);
  fetch(&now);
  CHECK(pfc_log_reader_end(&now.reader, &listener) != PFC_LOG_ALTERED);
  CHECK_NUMBER(now.alarms, 0);
  for (unsigned i = 0; i < ENTRIES; i++) undone += now.is_undone[i];
  CHECK(undone <= most);
  CHECK(!now.chip.broke_rule);
}

/// All subsets of up to 4 words; of more words edges and a draw.
static void cut_all_ways(unsigned cut, size_t size, struct dice *dice) {
  unsigned draws = options.thorough ? 1000 : 12;
  for (uint32_t subset = 0; subset < (size == 0 ? 1 : 16); subset++) cut_once(cut, subset, false, subset % 8);
  for (unsigned i = 0; i < (size == 0 ? 0 : 4); i++) cut_once(cut, (uint32_t)dice_roll(dice), true, i);
  if (size <= 32) return;
  for (unsigned i = 0; i < 12; i++) {
    cut_once(cut, 1u << i, false, 0);
    cut_once(cut, UINT32_MAX << i, false, i % 5);
    cut_once(cut, ~(1u << i), i % 2 == 1, 0);
  }
  for (unsigned i = 0; i < draws; i++) cut_once(cut, (uint32_t)dice_roll(dice), i % 2 == 0, i % 7);
}

static void after_a_cut_anywhere(void) {
  struct dice dice = {92};
  unsigned count = options.thorough ? SHAPES : SHAPES_QUICK, events = options.thorough ? EVENTS : EVENTS_QUICK;
  cuts = 0;
  for (unsigned s = 0; s < count; s++) {
    begin(&shapes[s]);
    REQUIRE(CHECK_NUMBER(start(&now), PFC_OK));
    for (unsigned event = 0; event < events; event++) {
      unsigned operations;
      uint16_t sizes[16];
      test_case("%s, event %u", shapes[s].name, event);
      // Starts, so that notes are due in some of the events.
      if (event % 7 == 3) REQUIRE(CHECK_NUMBER(start(&now), PFC_OK));
      fetch(&now);
      moment = now;
      REQUIRE(CHECK_NUMBER(happen(&now), PFC_OK));
      operations = now.chip.operations - moment.chip.operations;
      memcpy(sizes, now.chip.sizes, sizeof sizes);
      CHECK(operations <= 16);
      for (unsigned cut = 1; cut <= operations; cut++) {
        test_case("%s, event %u, operation %u of %u", shapes[s].name, event, cut, operations);
        cut_all_ways(cut, sizes[(moment.chip.operations + cut) % 16], &dice);
      }
      now = moment;
      attach(&now);
      REQUIRE(CHECK_NUMBER(happen(&now), PFC_OK));
      check_kept(&now);
    }
    CHECK(!now.chip.broke_rule);
    CHECK(now.ring.oldest > 0 && now.ring.log.next > events);
  }
  test_note("log in flash: %u cuts", cuts);
}

static void many_cuts_in_one_life(void) {
  struct dice dice = {93};
  unsigned count = 0;
  for (unsigned round = 0; round < (options.thorough ? 4000u : 40u); round++) {
    struct pfc_log_listener listener = {&now, find_stored, note_finding};
    unsigned row = 0;
    begin(&shapes[round % SHAPES]);
    REQUIRE(CHECK_NUMBER(start(&now), PFC_OK));
    for (unsigned step = 0; step < 90; step++) {
      test_case("round %u, step %u", round, step);
      now.chip.cut = now.chip.operations + 1 + dice_below(&dice, 6);
      now.chip.subset = (uint32_t)dice_roll(&dice);
      now.chip.noise = dice_below(&dice, 2) == 0;
      // More cut writes in a row than a note can tell look like changed entries, says the page.
      if (row == 7) now.chip.cut = 0;
      row = happen(&now) == PFC_OK ? 0 : row + 1;
      count += now.chip.dark;
      if (!now.chip.dark) continue;
      chip_power(&now.chip);
      REQUIRE(CHECK_NUMBER(start(&now), PFC_OK));
      check_kept(&now);
      if (dice_below(&dice, 2) == 0) fetch(&now);
    }
    fetch(&now);
    CHECK(pfc_log_reader_end(&now.reader, &listener) != PFC_LOG_ALTERED);
    CHECK_NUMBER(now.alarms, 0);
    CHECK(!now.chip.broke_rule);
  }
  test_note("log in flash: %u more cuts, many in each life", count);
}

static const struct test tests[] = {
    TEST("after a cut in any operation, with any words changed, no acknowledged entry is lost and no alarm is given",
         after_a_cut_anywhere),
    TEST("the same when power fails again and again", many_cuts_in_one_life),
};

const struct suite logbook_ring_suite = SUITE("log-ring", tests);
