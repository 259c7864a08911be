// SPDX-License-Identifier: Apache-2.0

/// A unit that keeps a log: power fails in every flash operation of its life, and the backend reads the log afterwards.

#include <string.h>

#include "hardware_suites.h"
#include "rig.h"

enum { USES = 60, COUNTERS = 64, ENTRIES = 256 };

static struct rig rig;
static struct owner owner, other;
static uint8_t first_key[32], nonce[16] = "a fresh nonce..";

/// Answers given before the power went.
static struct {
  bool provisioned;
  unsigned count;
  uint64_t accepted[COUNTERS];
} told;

/// Findings of the backend.
static struct {
  uint64_t counters[ENTRIES];  ///< By number: of accepted commands, 0 for others
  unsigned notes, tokens, orders, alarms;
} found;

static const uint8_t *find_stored(void *context, uint64_t number) {
  (void)context, (void)number;
  return NULL;
}

static void note_finding(void *context, const struct pfc_log_finding *finding) {
  const struct pfc_log_content *content = finding->content;
  (void)context;
  if (!CHECK(finding->first + finding->count <= ENTRIES)) return;
  for (uint64_t i = finding->first; finding->kind == PFC_LOG_UNDONE && i < finding->first + finding->count; i++) {
    found.counters[i] = 0;
  }
  if (finding->kind == PFC_LOG_ENTRY) {
    found.notes += content->event == PFC_LOG_NOTE;
    found.tokens += content->event == PFC_LOG_TOKEN;
    found.orders += content->event == PFC_LOG_ORDER;
    if (content->event == PFC_LOG_COMMAND && content->verdict == PFC_VERDICT_ACCEPTED) {
      found.counters[finding->first] = content->counter;
    }
  }
  if ((finding->kind & (PFC_LOG_CHANGED | PFC_LOG_FORKED | PFC_LOG_SHORTER | PFC_LOG_UNKNOWN | PFC_LOG_MISSING)) != 0) {
    found.alarms++;
  }
}

/// Carries the whole log to the backend. Its outcome.
static int carry(void) {
  static const struct pfc_log_listener listener = {NULL, find_stored, note_finding};
  const struct pfc_log_ring *ring = &rig.unit.log;
  struct pfc_log_reader reader;
  uint8_t message[PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX)];
  uint64_t at = ring->oldest;
  size_t size;
  memset(&found, 0, sizeof found);
  pfc_log_reader_begin(&reader, first_key, 0, rig.hardware.id);
  do {
    uint8_t count = 0;
    for (; count < PFC_LOG_ENTRIES_MAX && at + count < ring->log.next; count++) {
      CHECK_NUMBER(pfc_log_ring_read(ring, message + PFC_LOG_FIELDS_BYTES + count * PFC_LOG_ENTRY_BYTES, at + count),
                   PFC_OK);
    }
    CHECK_NUMBER(pfc_log_message_make(message, sizeof message, &size, &ring->log, ring->oldest, at, count, nonce),
                 PFC_OK);
    CHECK_NUMBER(pfc_log_reader_take(&reader, nonce, message, size, ENTRIES, &listener), PFC_OK);
    at += count;
  } while (at < ring->log.next);
  return pfc_log_reader_end(&reader, &listener);
}

static void begin(uint64_t seed) {
  struct dice dice = {seed + 1};
  rig_make(&rig, seed, true);
  rig.nor.log_pages = NOR_LOG_PAGES;
  dice_fill(&dice, first_key, sizeof first_key);
  owner_make(&owner, &rig, 5, 1, USES);
  owner_make(&other, &rig, 6, 1, USES);
  memset(&told, 0, sizeof told);
}

static int provision(void) {
  int result = rig_provision(&rig, 0, 1);
  return result == PFC_OK ? pfd_unit_provision_log(&rig.port, &rig.hardware, 0, first_key) : result;
}

static void command(unsigned link) {
  if (owner_do(&owner, &rig, link, 1, "open") != PFC_VERDICT_ACCEPTED || told.count == COUNTERS) return;
  told.accepted[told.count++] = owner.challenge.counter;
}

/// From blank flash over two blocks, as far as power lasts.
static void live(void) {
  unsigned link;
  if (provision() != PFC_OK) return;
  told.provisioned = true;
  for (unsigned round = 0; round < 3; round++) {
    if (rig.nor.dark || rig_start(&rig) != PFC_OK) return;
    link = rig_connect(&rig, 185);
    (void)owner_present(round == 1 ? &other : &owner, &rig, link);
    for (unsigned i = 0; i < 11; i++) command(link);
    (void)rig_order(&rig, link, PFC_ORDER_EPOCH, 1700000600 + round, NULL, 0);
  }
}

/// The backend finds each accepted command once, and nothing wrong.
static void check_afterwards(void) {
  if (!told.provisioned) {
    int result = rig_start(&rig);
    CHECK(result == PFC_OK || result == PFC_E_DAMAGED);
    CHECK_NUMBER(provision(), PFC_OK);
  }
  REQUIRE(CHECK_NUMBER(rig_start(&rig), PFC_OK));
  for (unsigned round = 0; round < 2; round++) {
    unsigned more = 0;
    CHECK_NUMBER(carry(), PFC_LOG_WHOLE);
    CHECK_NUMBER(found.alarms, 0);
    for (unsigned i = 0; i < told.count; i++) {
      unsigned times = 0;
      for (unsigned k = 0; k < ENTRIES; k++) times += found.counters[k] == told.accepted[i];
      CHECK_NUMBER(times, 1);
    }
    for (unsigned k = 0; k < ENTRIES; k++) more += found.counters[k] != 0;
    // The answer may be lost that was on its way.
    CHECK(more >= told.count && more <= told.count + 1);
    if (round == 1) break;
    unsigned link = rig_connect(&rig, 185);
    CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
    command(link);
  }
  CHECK(!rig.nor.broke_rule);
}

static void begin_life(void) { begin(41); }

static void a_cut_in_any_operation(void) {
  begin_life();
  live();
  CHECK_NUMBER(told.count, 33);
  CHECK_NUMBER(carry(), PFC_LOG_WHOLE);
  CHECK_NUMBER(found.tokens, 2);
  CHECK_NUMBER(found.orders, 3);
  CHECK_NUMBER(found.notes, 3);
  CHECK_COUNT(rig.unit.log.log.next, 33 + 2 + 3 + 3);
  rig_cut_each(&rig,
               &(struct life){"log", NOR_TEARS * (options.thorough ? 4u : 1u), begin_life, live, check_afterwards});
}

static void a_unit_without_its_log_refuses(void) {
  unsigned link;
  begin(42);
  CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
  test_case("none yet");
  CHECK_NUMBER(rig_start(&rig), PFC_E_DAMAGED);
  CHECK_NUMBER(rig.event.kind, PFD_EVENT_REFUSES);
  CHECK_NUMBER(owner_present(&owner, &rig, rig_connect(&rig, 185)), PFC_VERDICT_FAULT);
  test_case("there");
  CHECK_NUMBER(pfd_unit_provision_log(&rig.port, &rig.hardware, 0, first_key), PFC_OK);
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  link = rig_connect(&rig, 185);
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
  test_case("provisioned again with the same key: the log goes on");
  CHECK_NUMBER(rig_provision(&rig, 0, 1 << 20), PFC_OK);
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  CHECK_COUNT(rig.unit.log.log.next, 2);
  test_case("with another key it does not");
  rig.hardware.secret_key[0] ^= 0x10;
  pfc_public_key(rig.hardware.public_key, rig.hardware.secret_key);
  CHECK_NUMBER(rig_provision(&rig, 0, 1 << 21), PFC_OK);
  CHECK_NUMBER(rig_start(&rig), PFC_E_DAMAGED);
  test_case("without pages for it none is kept");
  rig.nor.log_pages = 0;
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  CHECK(rig.unit.verifier.log == NULL);
}

static const struct test tests[] = {
    TEST("after a cut in any flash operation the backend finds each accepted command, and nothing wrong",
         a_cut_in_any_operation),
    TEST("a unit that is to keep a log and has none opens nothing", a_unit_without_its_log_refuses),
};

const struct suite unit_log_suite = SUITE("unit-log", tests);
