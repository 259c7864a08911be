// SPDX-License-Identifier: Apache-2.0

/// Records of version 1 at the first start of this firmware: nothing is lost, and nothing of them is left that firmware
/// of version 1 would take.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "suites.h"
#include "world.h"

enum { APPS = 3, OLD_SLOT = PFC_RECORD_BYTES(PFC_RECORD_PAYLOAD_MAX_1), RECORDS = 1 + PFC_SLOTS };

static struct world world, before;
static struct app apps[APPS];

static size_t old_size(unsigned record) {
  return record == 0 ? PFC_RECORD_BYTES(PFC_LEDGER_GLOBAL_BYTES) : (size_t)OLD_SLOT;
}

/// Writes a copy as version 1 had it: no policy, a nonce of 16 bytes, and behind it what stood there before.
static void age_copy(unsigned record, unsigned copy) {
  uint8_t *area = world.flash.areas[record][copy];
  uint8_t aged[PFC_RECORD_BYTES_MAX];
  size_t size = old_size(record);
  memcpy(aged, area, sizeof aged);
  aged[2] = 1;
  if (record != 0) {
    uint8_t *payload = aged + PFC_RECORD_HEAD_BYTES;
    memset(payload + 92, 0xcc, 8);
    memcpy(payload + 100, area + PFC_RECORD_HEAD_BYTES + 92, 96);
  }
  uint8_t tag[32];
  pfc_mac_once(tag, world.verifier.ledger.record_key, 32, aged, size - 16);
  memcpy(aged + size - 16, tag, 16);
  memset(aged + size, 0xff, sizeof aged - size);
  memcpy(area, aged, sizeof aged);
}

/// Whether firmware of version 1 would take this copy.
static bool is_taken_by_old(unsigned record, unsigned copy) {
  const uint8_t *area = world.flash.areas[record][copy];
  size_t size = old_size(record);
  uint8_t tag[32];
  pfc_mac_once(tag, world.verifier.ledger.record_key, 32, area, size - 16);
  return memcmp(tag, area + size - 16, 16) == 0 && memcmp(area, "PS\1", 3) == 0 && area[3] == record;
}

static unsigned count_old(void) {
  unsigned count = 0;
  for (unsigned record = 0; record < RECORDS; record++) {
    for (unsigned copy = 0; copy < PFC_RECORD_COPIES; copy++) count += is_taken_by_old(record, copy);
  }
  return count;
}

/// Hardware with a held slot whose last command is known, a revoked one, one with a spent attempt, all of version 1.
static void live_in_version_1(void) {
  world_make(&world, 1);
  for (unsigned i = 0; i < APPS; i++) {
    app_make(&apps[i], &world, 10 + i);
    apps[i].token.uses = 5;
    app_issue(&apps[i], &world);
    CHECK_NUMBER(app_present(&apps[i], &world), PFC_VERDICT_HELD);
    CHECK_NUMBER(app_do(&apps[i], &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
  }
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 5, apps[1].token.instance_id, 1), PFC_VERDICT_DONE);
  struct app wrong = apps[2];
  wrong.token.secrets.integrity[0] ^= 1;
  CHECK_NUMBER(app_do(&wrong, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_INTEGRITY_DIFFERS);
  for (unsigned record = 0; record < RECORDS; record++) {
    for (unsigned copy = 0; copy < PFC_RECORD_COPIES; copy++) age_copy(record, copy);
  }
  CHECK_NUMBER(count_old(), RECORDS * PFC_RECORD_COPIES);
  before = world;
}

/// The hardware knows all that it knew in version 1.
static void check_kept(void) {
  const struct pfc_ledger *old = &before.verifier.ledger, *new = &world.verifier.ledger;
  CHECK_COUNT(new->epoch, old->epoch);
  CHECK_COUNT(new->floor, old->floor);
  CHECK(new->counter >= old->counter);
  for (unsigned i = 0; i < PFC_SLOTS; i++) {
    const struct pfc_slot *was = &old->slots[i], *is = &new->slots[i];
    uint8_t expected[PFC_SLOT_BYTES], found[PFC_SLOT_BYTES];
    pfc_slot_encode(expected, was);
    pfc_slot_encode(found, is);
    CHECK_BYTES(found, expected, sizeof found);
    CHECK_NUMBER(is->sum, was->sum);
  }
  CHECK_NUMBER(count_old(), 0);
}

/// The apps go on with the tokens that they have.
static void check_served(void) {
  CHECK_NUMBER(app_recall(&apps[0], &world), PFC_VERDICT_ACCEPTED);
  struct app owner = apps[0];
  CHECK_NUMBER(app_do(&owner, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(world.answer.detail, 3);
  owner = apps[1];
  CHECK_NUMBER(app_present(&owner, &world), PFC_VERDICT_REVOKED);
  owner = apps[2];
  owner.token.secrets.integrity[0] ^= 1;
  CHECK_NUMBER(app_do(&owner, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_INTEGRITY_DIFFERS);
  CHECK_NUMBER(world.answer.detail, 1);
}

static void first_start_keeps_all(void) {
  live_in_version_1();
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  check_kept();
  long writes = world.flash.writes;
  check_served();
  test_case("the next start writes nothing of it again");
  writes = world.flash.writes;
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(world.flash.writes - writes, 1);  // The block of counters
}

static void cuts_leave_a_start(void) {
  unsigned cuts = 0;
  live_in_version_1();
  long writes = world.flash.writes;
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  writes = world.flash.writes - writes;
  CHECK_NUMBER(writes, 2 * RECORDS);
  for (long write = 0; write < writes; write++) {
    for (size_t offset = 0; offset <= PFC_RECORD_BYTES_MAX; offset++) {
      for (unsigned rest = 0; rest < 3; rest++) {
        if (!options.thorough && (offset + (size_t)write) % 3 != rest) continue;
        test_case("write %ld cut at byte %zu, rest %u", write, offset, rest);
        world = before;
        world.flash.cut_write = world.flash.writes + write;
        world.flash.cut_offset = offset;
        world.flash.cut_rest = (enum flash_rest)rest;
        CHECK_NUMBER(pfc_verifier_init(&world.verifier, &world.hardware, &world.platform), PFC_E_STORAGE);
        REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
        check_kept();
        cuts++;
      }
    }
  }
  check_served();
  test_note("%u cuts in %ld writes of the first start", cuts, writes);
}

/// One copy of either version: the newer counts, and the other one goes.
static void mixed_copies_are_settled(void) {
  for (unsigned newer_is_old = 0; newer_is_old < 2; newer_is_old++) {
    test_case("the newer copy is of version %u", newer_is_old != 0 ? 1 : 2);
    live_in_version_1();
    REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
    before = world;
    unsigned copy = world.verifier.ledger.records[0].copy;
    age_copy(1, newer_is_old != 0 ? copy : copy ^ 1u);
    CHECK_NUMBER(count_old(), 1);
    REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
    check_kept();
  }
}

static void later_slots_stop_the_start(void) {
  for (size_t byte = 188; byte < 206; byte++) {
    struct pfc_slot slot;
    uint8_t bytes[PFC_SLOT_BYTES];
    test_case("byte %zu of a slot", byte);
    live_in_version_1();
    REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
    pfc_slot_encode(bytes, &world.verifier.ledger.slots[0]);
    bytes[byte] = 0x10;
    memset(&slot, 0xa5, sizeof slot);
    CHECK_NUMBER(pfc_slot_decode(&slot, bytes), PFC_E_TOO_NEW);
    CHECK_ZEROS(&slot, sizeof slot);
    REQUIRE(CHECK_NUMBER(payload_save(&world.verifier.ledger.records[0], bytes, sizeof bytes,
                                      &world.platform.storage, 1, world.verifier.ledger.record_key),
                         PFC_OK));
    CHECK_NUMBER(world_restart(&world), PFC_E_TOO_NEW);
    CHECK_NUMBER(app_do(&apps[0], &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_FAULT);
  }
}

static const struct test tests[] = {
    TEST("the first start keeps every slot, and leaves no copy of version 1", first_start_keeps_all),
    TEST("power cuts at any byte of it leave a start that does", cuts_leave_a_start),
    TEST("the newer of copies of both versions counts", mixed_copies_are_settled),
    TEST("a slot that later firmware wrote stops the start: too new", later_slots_stop_the_start),
};

const struct suite upgrade_suite = SUITE("upgrade", tests);
