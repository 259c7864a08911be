// SPDX-License-Identifier: Apache-2.0

/// The verifier's log: which events have an entry, when it is written, and what a lock does that cannot write one.

#include <string.h>

#include "harness.h"
#include "log_chip.h"
#include "world.h"

enum { UNLOCK = 1, SETTINGS = 2 };

static struct world world;
static struct chip chip;
static struct pfc_log_ring ring;
static struct app owner, other;
static uint8_t first_key[32];

static int start(void) {
  CHECK_NUMBER(world_restart(&world), PFC_OK);
  return pfc_verifier_keep_log(&world.verifier, &ring, &chip.port);
}

/// A lock with a log, whose first note is written, and an owner with three uses.
static void begin(uint32_t uses) {
  struct dice dice = {95};
  world_make(&world, 96);
  chip_make(&chip, 1024, 5, 0);
  dice_fill(&dice, first_key, sizeof first_key);
  CHECK_NUMBER(pfc_log_ring_format(&chip.port, &world.hardware, 0, first_key), PFC_OK);
  CHECK_NUMBER(start(), PFC_OK);
  app_make(&owner, &world, 97);
  owner.token.uses = uses;
  owner.token.device_classes = 1u << UNLOCK;
  owner.token.integrity_classes = 1u << UNLOCK | 1u << SETTINGS;
  app_issue(&owner, &world);
  app_make(&other, &world, 98);
  app_issue(&other, &world);
  REQUIRE(CHECK_NUMBER(app_present(&owner, &world), PFC_VERDICT_HELD));
  CHECK_COUNT(ring.log.next, 2);
}

static void read_entry(struct pfc_log_content *content, uint64_t number) {
  uint8_t key[32], entry[PFC_LOG_ENTRY_BYTES];
  memset(content, 0, sizeof *content);
  memcpy(key, first_key, sizeof key);
  for (uint64_t i = 0; i < number; i++) pfc_log_step(key);
  REQUIRE(CHECK_NUMBER(pfc_log_ring_read(&ring, entry, number), PFC_OK));
  CHECK_NUMBER(pfc_log_open(content, entry, key, number, world.hardware.id), PFC_OK);
}

/// The last entry is of this event; what an event does not use is zero.
static void check_last(uint8_t event, uint8_t verdict, uint8_t kind, uint8_t class_, const uint8_t *who) {
  struct pfc_log_content found, expected = {.event = event, .verdict = verdict, .command_class = class_, .kind = kind};
  read_entry(&found, ring.log.next - 1);
  expected.epoch = (uint32_t)pfc_verifier_epoch(&world.verifier);
  expected.counter = event == PFC_LOG_COMMAND ? (uint32_t)world.highest_counter
                                              : (uint32_t)world.verifier.ledger.counter;
  if (who != NULL) memcpy(expected.who, who, sizeof expected.who);
  // A token and an order are written before the time that they bring.
  if (event != PFC_LOG_COMMAND) expected.epoch = found.epoch;
  CHECK_BYTES(&found, &expected, sizeof expected);
}

static uint8_t act(uint8_t kind, uint8_t class_) {
  uint8_t verdict = app_do(&owner, &world, kind, class_, "open");
  app_follow(&owner, verdict);
  return verdict;
}

static void proved_events_have_entries(void) {
  const uint8_t *who;
  uint64_t next = 2;
  struct pfc_log_content note;
  begin(PFC_USES_UNLIMITED);
  who = owner.token.instance_id;
  test_case("the start's note, and the token");
  read_entry(&note, 0);
  CHECK_NUMBER(note.event, PFC_LOG_NOTE);
  CHECK_NUMBER(note.flags, PFC_LOG_STARTED);
  CHECK_COUNT(note.counter, world.verifier.ledger.counter);
  check_last(PFC_LOG_TOKEN, PFC_VERDICT_HELD, 0, 0, who);
  test_case("accepted");
  CHECK_NUMBER(act(PFC_KIND_INTEGRITY, SETTINGS), PFC_VERDICT_ACCEPTED);
  check_last(PFC_LOG_COMMAND, PFC_VERDICT_ACCEPTED, PFC_KIND_INTEGRITY, SETTINGS, who);
  CHECK_NUMBER(act(PFC_KIND_DEVICE, UNLOCK), PFC_VERDICT_ACCEPTED_DEVICE);
  check_last(PFC_LOG_COMMAND, PFC_VERDICT_ACCEPTED_DEVICE, PFC_KIND_DEVICE, UNLOCK, who);
  test_case("refused");
  CHECK_NUMBER(act(PFC_KIND_DEVICE, SETTINGS), PFC_VERDICT_NOT_PERMITTED);
  check_last(PFC_LOG_COMMAND, PFC_VERDICT_NOT_PERMITTED, PFC_KIND_DEVICE, SETTINGS, who);
  owner.token.secrets.integrity[0] ^= 1;
  CHECK_NUMBER(act(PFC_KIND_INTEGRITY, UNLOCK), PFC_VERDICT_INTEGRITY_DIFFERS);
  check_last(PFC_LOG_COMMAND, PFC_VERDICT_INTEGRITY_DIFFERS, PFC_KIND_INTEGRITY, UNLOCK, who);
  owner.token.secrets.integrity[0] ^= 1;
  test_case("orders");
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 5, NULL, 0), PFC_VERDICT_DONE);
  check_last(PFC_LOG_ORDER, PFC_VERDICT_DONE, PFC_ORDER_EPOCH, 0, NULL);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 6, who, 1), PFC_VERDICT_DONE);
  check_last(PFC_LOG_ORDER, PFC_VERDICT_DONE, PFC_ORDER_REVOKE, 0, who);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 7, NULL, 0), PFC_VERDICT_DONE);
  check_last(PFC_LOG_ORDER, PFC_VERDICT_DONE, PFC_ORDER_FLOOR, 0, NULL);
  next += 7;
  CHECK_COUNT(ring.log.next, next);
}

static void copies_and_candidates_have_entries(void) {
  struct app copy;
  begin(PFC_USES_UNLIMITED);
  owner.token.generation = 2;
  app_ratchet(&owner, PFC_RATCHET_REFUSE);
  app_issue(&owner, &world);
  CHECK_NUMBER(app_present(&owner, &world), PFC_VERDICT_HELD);
  CHECK_NUMBER(act(PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_ACCEPTED);
  copy = owner;
  CHECK_NUMBER(act(PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(app_do(&copy, &world, PFC_KIND_INTEGRITY_RATCHET, SETTINGS, "open"), PFC_VERDICT_COPIED);
  check_last(PFC_LOG_COMMAND, PFC_VERDICT_COPIED, PFC_KIND_INTEGRITY_RATCHET, SETTINGS, copy.token.instance_id);
  test_case("a candidate stands without an entry, however often, and its first command has one");
  app_update(&owner);
  owner.token.policy |= PFC_RATCHET_REFUSE;
  app_issue(&owner, &world);
  uint64_t next = ring.log.next;
  for (unsigned i = 0; i < 4; i++) CHECK_NUMBER(app_present(&owner, &world), PFC_VERDICT_READY);
  CHECK_COUNT(ring.log.next, next);
  owner.known = (uint32_t)owner.challenge.counter;
  uint8_t verdict = act(PFC_KIND_INTEGRITY_RATCHET, UNLOCK);
  CHECK_COUNT(ring.log.next, next + 1);
  check_last(PFC_LOG_COMMAND, verdict, PFC_KIND_INTEGRITY_RATCHET, UNLOCK, owner.token.instance_id);
}

static void nothing_else_has_an_entry(void) {
  uint8_t garbage[PFC_TOKEN_BYTES] = {0};
  uint64_t next;
  struct pfc_log_content note;
  begin(PFC_USES_UNLIMITED);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 5, NULL, 0), PFC_VERDICT_DONE);
  // An older token of the owner, recorded on the air.
  struct app old = owner;
  owner.token.generation = 2;
  app_issue(&owner, &world);
  CHECK_NUMBER(app_present(&owner, &world), PFC_VERDICT_HELD);
  next = ring.log.next;
  for (unsigned i = 0; i < 100; i++) {
    test_case("round %u", i);
    pfc_session_init(world.link);
    CHECK_NUMBER(app_present(&old, &world), PFC_VERDICT_SUPERSEDED);
    CHECK_NUMBER(app_present(&owner, &world), PFC_VERDICT_HELD);
    CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 5, NULL, 0), PFC_VERDICT_DONE);
    CHECK_NUMBER(world_send(&world, PFC_MESSAGE_TOKEN, garbage, sizeof garbage), PFC_VERDICT_MALFORMED);
    CHECK_NUMBER(app_do(&other, &world, PFC_KIND_INTEGRITY, UNLOCK, "open"), PFC_VERDICT_UNKNOWN);
    owner.token.secrets.device[0] ^= 1;
    CHECK_NUMBER(act(PFC_KIND_INTEGRITY, UNLOCK), PFC_VERDICT_DEVICE_DIFFERS);
    owner.token.secrets.device[0] ^= 1;
    CHECK_NUMBER(app_send(&owner, &world), PFC_VERDICT_STALE);
    (void)world_status(&world);
  }
  CHECK_COUNT(ring.log.next, next);
  test_case("the note tells of them");
  CHECK_NUMBER(act(PFC_KIND_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
  CHECK_COUNT(ring.log.next, next + 2);
  read_entry(&note, next);
  CHECK_NUMBER(note.event, PFC_LOG_NOTE);
  CHECK_BYTES(note.refused, "\377\144\144\0", 4);
}

/// A revocation that finds no slot changes nothing, so it is news each time that it is sent.
static void an_order_without_room_has_no_entry(void) {
  uint64_t next;
  begin(PFC_USES_UNLIMITED);
  for (unsigned i = 1; i < PFC_SLOTS; i++) {
    app_make(&other, &world, 200 + i);
    app_issue(&other, &world);
    CHECK_NUMBER(app_present(&other, &world), PFC_VERDICT_HELD);
  }
  next = ring.log.next;
  app_make(&other, &world, 300);
  app_issue(&other, &world);
  for (unsigned i = 0; i < 20; i++) {
    pfc_session_init(world.link);
    CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 6, other.token.instance_id, 1),
                 PFC_VERDICT_NO_ROOM);
    CHECK_NUMBER(app_present(&other, &world), PFC_VERDICT_NO_ROOM);
  }
  CHECK_COUNT(ring.log.next, next);
}

// Failures -------------------------------------------------------------------------------------------------------

static void without_an_entry_nothing_happens(void) {
  struct pfc_slot before;
  begin(3);
  const struct pfc_slot *slot = &world.verifier.ledger.slots[0];
  before = *slot;
  long writes = world.flash.writes;
  chip.worn = true;
  for (unsigned i = 0; i < 4; i++) {
    CHECK_NUMBER(act(PFC_KIND_INTEGRITY, UNLOCK), PFC_VERDICT_FAULT);
    CHECK_NUMBER(world.outcome.execute, 0);
    CHECK_NUMBER(app_present(&other, &world), PFC_VERDICT_FAULT);
  }
  pfc_session_init(world.link);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 6, NULL, 0), PFC_VERDICT_FAULT);
  CHECK_BYTES(slot, &before, sizeof before);
  CHECK_NUMBER(world.flash.writes, writes);
  test_case("a refusal stands, and its attempt is spent");
  owner.token.secrets.integrity[0] ^= 1;
  CHECK_NUMBER(act(PFC_KIND_INTEGRITY, UNLOCK), PFC_VERDICT_INTEGRITY_DIFFERS);
  CHECK_NUMBER(slot->attempts, 2);
  owner.token.secrets.integrity[0] ^= 1;
  test_case("the flash is mended");
  chip_power(&chip);
  CHECK_NUMBER(act(PFC_KIND_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(slot->uses, 2);
}

static void an_event_whose_slot_fails_is_withdrawn(void) {
  begin(3);
  struct pfc_log_content note;
  uint64_t next = ring.log.next;
  world.flash.fail_all_writes = true;
  CHECK_NUMBER(act(PFC_KIND_INTEGRITY, UNLOCK), PFC_VERDICT_FAULT);
  CHECK_NUMBER(app_present(&other, &world), PFC_VERDICT_FAULT);
  world.flash.fail_all_writes = false;
  CHECK_COUNT(ring.log.next, next + 3);
  CHECK_NUMBER(ring.log.undone, 1);
  read_entry(&note, next + 1);
  CHECK_NUMBER(note.undone, 1);
  CHECK_NUMBER(act(PFC_KIND_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
  read_entry(&note, next + 3);
  CHECK_NUMBER(note.undone, 1);
}

static void the_capabilities_name_it(void) {
  struct pfc_capabilities capabilities;
  begin(3);
  pfc_verifier_capabilities(&world.verifier, &capabilities);
  CHECK_NUMBER(capabilities.features & PFC_FEATURE_LOG, PFC_FEATURE_LOG);
  CHECK_NUMBER(world_restart(&world), PFC_OK);
  pfc_verifier_capabilities(&world.verifier, &capabilities);
  CHECK_NUMBER(capabilities.features & PFC_FEATURE_LOG, 0);
}

static void a_lock_that_cannot_start_its_log_refuses(void) {
  begin(3);
  for (size_t i = 0; i < 2048; i++) chip.bytes[CHIP_OFFSET + i] ^= 0x10;
  CHECK_NUMBER(start(), PFC_E_DAMAGED);
  CHECK_NUMBER(act(PFC_KIND_INTEGRITY, UNLOCK), PFC_VERDICT_FAULT);
  CHECK_NUMBER(app_present(&owner, &world), PFC_VERDICT_FAULT);
  CHECK_NUMBER(pfc_verifier_keep_log(&world.verifier, &ring, &chip.port), PFC_E_ARGUMENT);
  CHECK_NUMBER(pfc_log_ring_format(&chip.port, &world.hardware, 0, first_key), PFC_OK);
  CHECK_NUMBER(start(), PFC_OK);
  CHECK_NUMBER(act(PFC_KIND_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
  test_case("its end leaves no key");
  pfc_verifier_wipe(&world.verifier);
  CHECK_ZEROS(&ring, sizeof ring);
}

/// Power fails in each write of a command: entry before slot, and the start tells of an entry without its slot.
static void after_a_cut_the_log_tells(uint32_t uses, bool ratchet) {
  static struct world world_before;
  static struct chip chip_before;
  struct pfc_log_ring ring_before;
  struct app owner_before;
  unsigned written = 0, undone = 0;
  begin(uses);
  if (ratchet) {
    owner.token.generation = 2;
    app_ratchet(&owner, PFC_RATCHET_REPORT);
    app_issue(&owner, &world);
    CHECK_NUMBER(app_present(&owner, &world), PFC_VERDICT_HELD);
  }
  uint8_t kind = ratchet ? PFC_KIND_INTEGRITY_RATCHET : PFC_KIND_INTEGRITY;
  CHECK_NUMBER(act(kind, UNLOCK), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(start(), PFC_OK);
  world_before = world;
  chip_before = chip;
  ring_before = ring;
  owner_before = owner;
  for (unsigned cut = 0; cut < 3; cut++) {
    for (unsigned turn = 0; turn < 19; turn++) {
      world = world_before;
      world.platform.context = world.verifier.platform.context = &world;
      world.platform.storage = world.verifier.platform.storage = world.verifier.ledger.storage =
          flash_storage(&world.flash);
      world.verifier.hardware = &world.hardware;
      world.link = &world.links[0];
      world.verifier.log = &ring;
      chip = chip_before;
      chip_attach(&chip);
      ring = ring_before;
      ring.hardware = &world.hardware;
      owner = owner_before;
      // Note, entry, slot.
      if (cut < 2) {
        chip.cut = chip.operations + 1 + cut;
        chip.subset = turn;
      } else {
        world.flash.cut_write = world.flash.writes;
        world.flash.cut_offset = (size_t)turn * 13;
      }
      test_case("uses %u, cut %u, turn %u", uses, cut, turn);
      uint8_t verdict = act(kind, UNLOCK);
      if (cut == 2 && uses == PFC_USES_UNLIMITED && !ratchet) {
        // This slot stores no last command.
        CHECK_NUMBER(verdict, PFC_VERDICT_ACCEPTED);
        continue;
      }
      CHECK_NUMBER(verdict, PFC_VERDICT_FAULT);
      CHECK_NUMBER(world.outcome.execute, 0);
      chip_power(&chip);
      REQUIRE(CHECK_NUMBER(start(), PFC_OK));
      struct pfc_log_content last = {0};
      if (ring.log.next == 0) continue;
      uint8_t entry[PFC_LOG_ENTRY_BYTES], key[32];
      memcpy(key, first_key, sizeof key);
      for (uint64_t i = 1; i < ring.log.next; i++) pfc_log_step(key);
      CHECK_NUMBER(pfc_log_ring_read(&ring, entry, ring.log.next - 1), PFC_OK);
      bool opens = pfc_log_open(&last, entry, key, ring.log.next - 1, world.hardware.id) == PFC_OK;
      bool is_there = opens && last.event == PFC_LOG_COMMAND && last.counter == (uint32_t)owner.challenge.counter;
      uint8_t recalled = app_recall(&owner, &world);
      written += is_there;
      if (recalled == PFC_VERDICT_ACCEPTED) {
        CHECK(is_there && ring.log.undone == 0);
      } else if (pfc_slot_stores_last(&world.verifier.ledger.slots[0])) {
        CHECK_NUMBER(ring.log.undone, is_there || !opens);
        undone += is_there;
      } else {
        CHECK_NUMBER(ring.log.undone, !opens);
      }
    }
  }
  if (uses != PFC_USES_UNLIMITED || ratchet) CHECK(undone > 3 && written > undone);
}

static void after_a_cut_anywhere(void) {
  after_a_cut_the_log_tells(9, false);
  after_a_cut_the_log_tells(PFC_USES_UNLIMITED, true);
  after_a_cut_the_log_tells(PFC_USES_UNLIMITED, false);
}

/// The entry is in flash when the slot is written.
static long slots_written;
static int check_entry_first(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size) {
  struct pfc_log_content content;
  read_entry(&content, ring.log.next - 1);
  CHECK(content.event != PFC_LOG_NOTE);
  CHECK_COUNT(ring.log.next, world.highest_counter != 0 ? 3 + (uint64_t)slots_written : 2);
  slots_written++;
  return flash_write(context, record, copy, bytes, size);
}

static void entries_come_first(void) {
  begin(9);
  slots_written = 0;
  world.verifier.ledger.storage.write = check_entry_first;
  for (unsigned i = 0; i < 3; i++) CHECK_NUMBER(act(PFC_KIND_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
  owner.token.secrets.integrity[0] ^= 1;
  CHECK_NUMBER(act(PFC_KIND_INTEGRITY, UNLOCK), PFC_VERDICT_INTEGRITY_DIFFERS);
  CHECK_NUMBER(slots_written, 4);
  uint64_t next = ring.log.next;
  world.verifier.ledger.storage.write = flash_write;
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 9, NULL, 0), PFC_VERDICT_DONE);
  CHECK_COUNT(ring.log.next, next + 1);
}

static const struct test tests[] = {
    TEST("commands with a right device proof, tokens that take a slot and orders that change something have an entry",
         proved_events_have_entries),
    TEST("a copy has an entry, and a candidate has one with its first command", copies_and_candidates_have_entries),
    TEST("nothing that a stranger can send, or send again, has an entry", nothing_else_has_an_entry),
    TEST("an order that finds no room has no entry, however often it is sent", an_order_without_room_has_no_entry),
    TEST("without an entry nothing is carried out, and a refusal stands", without_an_entry_nothing_happens),
    TEST("an event whose slot could not be stored is told of", an_event_whose_slot_fails_is_withdrawn),
    TEST("capabilities name the log", the_capabilities_name_it),
    TEST("a lock that cannot start its log opens nothing", a_lock_that_cannot_start_its_log_refuses),
    TEST("after a cut in any write of a command its entry is there, torn or told of", after_a_cut_anywhere),
    TEST("the entry is in flash before the slot is written", entries_come_first),
};

const struct suite verifier_log_suite = SUITE("verifier-log", tests);
