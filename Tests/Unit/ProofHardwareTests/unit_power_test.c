// SPDX-License-Identifier: Apache-2.0

/// Power fails in every flash operation of a unit's life; flash wears out; both copies are damaged.

#include <string.h>

#include "hardware_suites.h"
#include "rig.h"

enum { USES = 6, ACCEPTED_MAX = 16 };

static struct rig rig;
static struct owner owner, stranger;

/// Answers given before the power went.
static struct {
  bool provisioned;
  unsigned accepted;  ///< Accepted commands of the owner
  bool revoked;       ///< The stranger
  uint64_t epoch;
  uint64_t counter;  ///< The highest
  uint8_t message[PFC_MESSAGE_MAX];
  size_t size;  ///< Size of the last command sent
} told;

static void command(unsigned link) {
  if (!owner_ask(&owner, &rig, link)) return;
  CHECK(owner.challenge.counter > told.counter);
  told.counter = owner.challenge.counter;
  owner_prepare(&owner, &rig, 1, "open");
  memcpy(told.message, owner.message, owner.size);
  told.size = owner.size;
  if (owner_send(&owner, &rig, link) == PFC_VERDICT_ACCEPTED) told.accepted++;
}

/// From blank flash to the end of it, as far as power lasts.
static void live(void) {
  unsigned link;
  memset(&told, 0, sizeof told);
  if (rig_provision(&rig, 0, 1) != PFC_OK) return;
  told.provisioned = true;
  if (rig_start(&rig) != PFC_OK) return;
  link = rig_connect(&rig, 185);
  (void)owner_present(&owner, &rig, link);
  (void)owner_present(&stranger, &rig, link);
  for (unsigned i = 0; i < 4; i++) command(link);
  if (rig_order(&rig, link, PFC_ORDER_REVOKE, 1700000500, &stranger, PFC_GENERATION_ALL) == PFC_VERDICT_DONE) {
    told.revoked = true;
  }
  if (rig_order(&rig, link, PFC_ORDER_EPOCH, 1700000600, NULL, 0) == PFC_VERDICT_DONE) told.epoch = 1700000600;
  if (rig.nor.dark) return;
  if (rig_start(&rig) == PFC_OK) command(rig_connect(&rig, 23));
}

/// After the power came back: what was told is so, and the owner gets in while there are uses.
static void check_afterwards(void) {
  unsigned link;
  if (!told.provisioned) {
    int result = rig_start(&rig);
    CHECK(result == PFC_OK || result == PFC_E_DAMAGED);
    CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
  }
  REQUIRE(CHECK_NUMBER(rig_start(&rig), PFC_OK));
  link = rig_connect(&rig, 185);
  CHECK(pfc_verifier_epoch(&rig.unit.verifier) >= told.epoch);
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
  if (told.revoked) CHECK_NUMBER(owner_present(&stranger, &rig, link), PFC_VERDICT_REVOKED);
  // The recorded command, on the new link, without and with a challenge.
  if (told.size != 0) {
    CHECK_NUMBER(rig_verdict(&rig, link, PFD_HANDLE_COMMAND, told.message, told.size), PFC_VERDICT_STALE);
    CHECK(owner_ask(&owner, &rig, link));
    CHECK_NUMBER(rig_verdict(&rig, link, PFD_HANDLE_COMMAND, told.message, told.size), PFC_VERDICT_STALE);
  }
  CHECK_NUMBER(rig.unit.device.done, 0);
  // No use comes back.
  while (told.accepted < ACCEPTED_MAX && owner_do(&owner, &rig, link, 1, "open") == PFC_VERDICT_ACCEPTED) {
    CHECK(owner.challenge.counter > told.counter);
    told.accepted++;
  }
  CHECK(told.accepted <= USES);
  // One may be lost with the answer that was.
  CHECK(told.accepted >= USES - 1);
  CHECK(!rig.nor.broke_rule);
}

static void begin(uint64_t seed) {
  rig_make(&rig, seed, true);
  owner_make(&owner, &rig, 5, 1, USES);
  owner_make(&stranger, &rig, 6, 1, USES);
}

static void begin_life(void) { begin(31); }

static void a_cut_in_any_operation(void) {
  begin_life();
  live();
  CHECK_NUMBER(told.accepted, 5);
  CHECK(told.revoked && told.epoch != 0);
  rig_cut_each(&rig, &(struct life){"life", 3 * NOR_TEARS, begin_life, live, check_afterwards});
}

/// A life whose newest copies lie as `parity` says, then other keys, cut in operation `cut`; 0: it is not.
static int live_and_rekey(unsigned parity, unsigned cut, unsigned turn) {
  unsigned link;
  begin(34);
  memset(&told, 0, sizeof told);
  CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  link = rig_connect(&rig, 185);
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
  CHECK_NUMBER(owner_present(&stranger, &rig, link), PFC_VERDICT_HELD);
  if (parity == 1) command(link);
  CHECK_NUMBER(rig_order(&rig, link, PFC_ORDER_REVOKE, 1700000500, &stranger, PFC_GENERATION_ALL), PFC_VERDICT_DONE);
  told.epoch = 1700000500;
  if (parity == 1) CHECK_NUMBER(rig_start(&rig), PFC_OK);
  link = rig_connect(&rig, 185);
  command(link);
  rig.hardware.secret_key[0] ^= 0x10;
  pfc_public_key(rig.hardware.public_key, rig.hardware.secret_key);
  rig.nor.operations = 0;
  rig.nor.dice.state = turn;
  rig.nor.tear = (enum nor_tear)(turn % NOR_TEARS);
  rig.nor.cut = cut;
  return rig_provision(&rig, 1700001000, UINT64_C(1) << 24);
}

static void a_cut_while_other_keys_are_provisioned(void) {
  unsigned old = 0, new = 0, none = 0;
  for (unsigned parity = 0; parity < 2; parity++) {
    CHECK_NUMBER(live_and_rekey(parity, 0, 0), PFC_OK);
    unsigned operations = rig.nor.operations;
    for (unsigned at = 1; at <= operations; at++) {
      for (unsigned turn = 0; turn < 3 * NOR_TEARS; turn++) {
        test_case("parity %u, operation %u of %u, turn %u", parity, at, operations, turn);
        CHECK_NUMBER(live_and_rekey(parity, at, turn), PFC_E_STORAGE);
        nor_power(&rig.nor);
        int result = rig_start(&rig);
        CHECK(result == PFC_OK || result == PFC_E_DAMAGED);
        none += result != PFC_OK;
        if (result == PFC_OK) {
          unsigned link = rig_connect(&rig, 185);
          CHECK(pfc_verifier_epoch(&rig.unit.verifier) >= told.epoch || rig.unit.verifier.ledger.floor > told.epoch);
          CHECK(owner_ask(&owner, &rig, link));
          CHECK(owner.challenge.counter > told.counter);
          uint8_t verdict = owner_present(&stranger, &rig, link);
          CHECK(verdict == PFC_VERDICT_REVOKED || verdict == PFC_VERDICT_NOT_FOR_ME);
          old += verdict == PFC_VERDICT_REVOKED;
          new += verdict == PFC_VERDICT_NOT_FOR_ME;
          while (owner_do(&owner, &rig, link, 1, "open") == PFC_VERDICT_ACCEPTED) told.accepted++;
          CHECK(told.accepted == USES || verdict == PFC_VERDICT_NOT_FOR_ME);
        }
        CHECK_NUMBER(rig_provision(&rig, 1700001000, UINT64_C(1) << 24), PFC_OK);
        CHECK_NUMBER(rig_start(&rig), PFC_OK);
        CHECK_NUMBER(owner_present(&owner, &rig, rig_connect(&rig, 185)), PFC_VERDICT_NOT_FOR_ME);
      }
    }
  }
  CHECK(old != 0 && none != 0);
  test_note("other keys: %u starts with the old, %u with the new, %u refused until provisioned\n", old, new, none);
}

static void flash_that_is_full_refuses_and_opens_nothing(void) {
  unsigned link;
  begin(32);
  CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  link = rig_connect(&rig, 185);
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
  rig.nor.worn = true;
  CHECK_NUMBER(owner_do(&owner, &rig, link, 1, "open"), PFC_VERDICT_FAULT);
  CHECK_NUMBER(rig.unit.device.open, 0);
  CHECK_NUMBER(owner_present(&stranger, &rig, link), PFC_VERDICT_FAULT);
  // It cannot start either: counters could not be reserved. It says so, and answers fault.
  CHECK_NUMBER(rig_start(&rig), PFC_E_STORAGE);
  CHECK_NUMBER(rig.event.kind, PFD_EVENT_REFUSES);
  link = rig_connect(&rig, 185);
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_FAULT);
  nor_power(&rig.nor);
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  CHECK_NUMBER(owner_do(&owner, &rig, rig_connect(&rig, 185), 1, "open"), PFC_VERDICT_ACCEPTED);
}

static void both_copies_damaged_refuse_until_provisioned(void) {
  for (unsigned record = 0; record <= 1 + PFC_SLOTS; record++) {
    unsigned first = 2 * record;  // 0: the identity; then the global record and the slots
    unsigned link;
    test_case("pages %u and %u", first, first + 1);
    begin(33);
    CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
    CHECK_NUMBER(rig_start(&rig), PFC_OK);
    link = rig_connect(&rig, 185);
    CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
    CHECK_NUMBER(owner_do(&owner, &rig, link, 1, "open"), PFC_VERDICT_ACCEPTED);
    nor_damage(&rig.nor, first);
    CHECK_NUMBER(rig_start(&rig), PFC_OK);
    CHECK_NUMBER(rig_start(&rig), PFC_OK);
    nor_damage(&rig.nor, first);
    nor_damage(&rig.nor, first + 1);
    CHECK_NUMBER(rig_start(&rig), PFC_E_DAMAGED);
    CHECK_NUMBER(rig.event.kind, PFD_EVENT_REFUSES);
    CHECK_NUMBER(rig.event.result, PFC_E_DAMAGED);
    link = rig_connect(&rig, 185);
    CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_FAULT);
    CHECK_NUMBER(owner_send(&owner, &rig, link), PFC_VERDICT_FAULT);
    CHECK(!owner_ask(&owner, &rig, link));
    CHECK_NUMBER(rig.unit.device.done, 0);
    // Provisioned with a floor: what was issued before stays outside, what is issued now gets in.
    CHECK_NUMBER(rig_provision(&rig, 1700000100, 1 << 20), PFC_OK);
    CHECK_NUMBER(rig_start(&rig), PFC_OK);
    link = rig_connect(&rig, 185);
    CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_SUPERSEDED);
    owner_make(&owner, &rig, 5, 200, USES);
    CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
    CHECK_NUMBER(owner_do(&owner, &rig, link, 1, "open"), PFC_VERDICT_ACCEPTED);
  }
}

static const struct test tests[] = {
    TEST("after a cut in any flash operation, torn as it may be, what was told is so", a_cut_in_any_operation),
    TEST("after a cut while other keys are provisioned nothing of the past comes back",
         a_cut_while_other_keys_are_provisioned),
    TEST("flash that takes nothing any more opens nothing, and says so",
         flash_that_is_full_refuses_and_opens_nothing),
    TEST("both copies damaged: refuses, says so, and is provisioned back",
         both_copies_damaged_refuse_until_provisioned),
};

const struct suite unit_power_suite = SUITE("unit-power", tests);
