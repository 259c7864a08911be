// SPDX-License-Identifier: Apache-2.0

/// The ratchet: a copy of the app is told of at its first command, and a lost answer never looks like one.

#include <string.h>

#include "harness.h"
#include "world.h"

enum { UNLOCK = 0, SETTINGS = 2 };

static struct world world;
static struct app owner, copy;

static struct pfc_slot *slot(void) {
  return &world.verifier.ledger.slots[pfc_ledger_find(&world.verifier.ledger, owner.token.instance_id)];
}

/// An owner with a token of this policy. A device match permits the class UNLOCK.
static void begin(uint8_t policy) {
  world_make(&world, 90);
  app_make(&owner, &world, 91);
  app_ratchet(&owner, policy);
  owner.token.device_classes = 1u << UNLOCK;
  app_issue(&owner, &world);
  REQUIRE(CHECK_NUMBER(app_present(&owner, &world), PFC_VERDICT_HELD));
}

/// Sends a command, and follows the answer.
static uint8_t act(struct app *app, uint8_t kind, uint8_t class_) {
  uint8_t verdict = app_do(app, &world, kind, class_, "open");
  app_follow(app, verdict);
  return verdict;
}

static void owners_stay_in_step(void) {
  for (uint8_t policy = PFC_RATCHET_REPORT; policy <= PFC_RATCHET_REFUSE; policy++) {
    begin(policy);
    for (unsigned i = 0; i < 40; i++) {
      long before = world.flash.writes;
      uint8_t kind = i % 3 == 2 ? PFC_KIND_DEVICE_RATCHET : PFC_KIND_INTEGRITY_RATCHET;
      test_case("policy %u, command %u", policy, i);
      CHECK_NUMBER(act(&owner, kind, UNLOCK), i % 3 == 2 ? PFC_VERDICT_ACCEPTED_DEVICE : PFC_VERDICT_ACCEPTED);
      CHECK_NUMBER(world.flash.writes - before, 1);
      CHECK_NUMBER(world.answer.detail, 65535);
      CHECK_BYTES(slot()->ratchet, owner.ratchet, PFC_RATCHET_BYTES);
      CHECK_NUMBER(slot()->sum, pfc_slot_sum(slot()));
      if (i % 7 == 0) CHECK_NUMBER(world_restart(&world), PFC_OK);
    }
    CHECK_NUMBER(slot()->copies, 0);
  }
}

static void copies_are_told_of(void) {
  begin(PFC_RATCHET_REPORT);
  for (unsigned i = 0; i < 3; i++) (void)act(&owner, PFC_KIND_INTEGRITY_RATCHET, UNLOCK);
  copy = owner;
  CHECK_NUMBER(act(&owner, PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(act(&copy, PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_ACCEPTED_COPY);
  CHECK_NUMBER(slot()->copies, 1);
  CHECK(copy.known > owner.known);
  // The copy is in step now, and the owner is told at once.
  CHECK_NUMBER(act(&copy, PFC_KIND_DEVICE_RATCHET, UNLOCK), PFC_VERDICT_ACCEPTED_DEVICE);
  CHECK_NUMBER(act(&owner, PFC_KIND_DEVICE_RATCHET, UNLOCK), PFC_VERDICT_ACCEPTED_DEVICE_COPY);
  CHECK_NUMBER(slot()->copies, 2);
  CHECK_NUMBER(act(&owner, PFC_KIND_INTEGRITY_RATCHET, UNLOCK), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(world_restart(&world), PFC_OK);
  CHECK_NUMBER(slot()->copies, 2);
  CHECK_NUMBER(act(&copy, PFC_KIND_INTEGRITY_RATCHET, UNLOCK), PFC_VERDICT_ACCEPTED_COPY);
  for (unsigned i = 0; i < 300; i++) {
    (void)act(i % 2 ? &copy : &owner, PFC_KIND_INTEGRITY_RATCHET, UNLOCK);
    CHECK_NUMBER(world.outcome.verdict, PFC_VERDICT_ACCEPTED_COPY);
  }
  CHECK_NUMBER(slot()->copies, 255);
}

static void the_outcome_tells_what_the_app_knows(void) {
  begin(PFC_RATCHET_REPORT);
  owner.known = 0x89abcdef;
  CHECK_NUMBER(app_do(&owner, &world, PFC_KIND_INTEGRITY_RATCHET, UNLOCK, "open"), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(world.outcome.known, 0x89abcdef);
}

static void refused_copies_change_nothing(void) {
  begin(PFC_RATCHET_REFUSE);
  copy = owner;
  CHECK_NUMBER(act(&owner, PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_ACCEPTED);
  for (unsigned i = 0; i < 4; i++) {
    long before = world.flash.writes;
    test_case("attempt %u", i);
    CHECK_NUMBER(act(&copy, PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_COPIED);
    CHECK_NUMBER(world.answer.detail, (uint16_t)owner.known);
    CHECK_NUMBER(world.flash.writes - before, i == 0 ? 1 : 0);
    CHECK_NUMBER(slot()->copies, i + 1);
    CHECK_NUMBER(app_recall(&copy, &world), PFC_VERDICT_NOT_EXECUTED);
  }
  // It unlocks, as a device match may, and stays out of step for the rest.
  CHECK_NUMBER(act(&copy, PFC_KIND_INTEGRITY_RATCHET, UNLOCK), PFC_VERDICT_ACCEPTED_COPY);
  CHECK_NUMBER(act(&copy, PFC_KIND_DEVICE_RATCHET, UNLOCK), PFC_VERDICT_ACCEPTED_DEVICE_COPY);
  CHECK_BYTES(slot()->ratchet, owner.ratchet, PFC_RATCHET_BYTES);
  CHECK_NUMBER(slot()->sum, pfc_slot_sum(slot()));
  CHECK_NUMBER(act(&copy, PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_COPIED);
  CHECK_NUMBER(slot()->copies, 7);
  // The owner is not disturbed.
  CHECK_NUMBER(act(&owner, PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(world_restart(&world), PFC_OK);
  CHECK_NUMBER(slot()->copies, 7);
  CHECK_NUMBER(act(&owner, PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_ACCEPTED);
  world.flash.fail_all_writes = true;
  CHECK_NUMBER(act(&copy, PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_FAULT);
}

static void a_write_that_fails_counts_no_copy(void) {
  for (uint8_t policy = PFC_RATCHET_REPORT; policy <= PFC_RATCHET_REFUSE; policy++) {
    struct pfc_slot before;
    begin(policy);
    copy = owner;
    test_case("policy %u", policy);
    CHECK_NUMBER(act(&owner, PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_ACCEPTED);
    before = *slot();
    world.flash.fail_all_writes = true;
    CHECK_NUMBER(act(&copy, PFC_KIND_INTEGRITY_RATCHET, UNLOCK), PFC_VERDICT_FAULT);
    CHECK_BYTES(slot(), &before, sizeof before);
    world.flash.fail_all_writes = false;
    CHECK_NUMBER(act(&copy, PFC_KIND_INTEGRITY_RATCHET, UNLOCK), PFC_VERDICT_ACCEPTED_COPY);
    CHECK_NUMBER(slot()->copies, 1);
  }
}

static void the_other_kinds_are_refused(void) {
  static const uint16_t details[] = {PFC_DETAIL_RATCHET_NONE, PFC_DETAIL_RATCHET_REPORT, PFC_DETAIL_RATCHET_REFUSE};
  for (uint8_t policy = PFC_RATCHET_NONE; policy <= PFC_RATCHET_REFUSE; policy++) {
    uint8_t right = policy == PFC_RATCHET_NONE ? PFC_KIND_INTEGRITY : PFC_KIND_INTEGRITY_RATCHET;
    uint8_t wrong = policy == PFC_RATCHET_NONE ? PFC_KIND_INTEGRITY_RATCHET : PFC_KIND_INTEGRITY;
    struct pfc_slot before;
    begin(policy);
    test_case("policy %u", policy);
    before = *slot();
    for (uint8_t device = 0; device < 2; device++) {
      CHECK_NUMBER(act(&owner, (uint8_t)(wrong + device), UNLOCK), PFC_VERDICT_NOT_PERMITTED);
      CHECK_NUMBER(world.answer.detail, details[policy]);
    }
    CHECK_BYTES(slot(), &before, sizeof before);
    CHECK_NUMBER(act(&owner, right, UNLOCK), PFC_VERDICT_ACCEPTED);
    // Another reason has another detail.
    CHECK_NUMBER(act(&owner, (uint8_t)(right + 1), SETTINGS), PFC_VERDICT_NOT_PERMITTED);
    CHECK_NUMBER(world.answer.detail, PFC_DETAIL_INTEGRITY_DEMANDED);
  }
}

static void the_air_makes_no_copies(void) {
  for (uint8_t kind = PFC_KIND_INTEGRITY_RATCHET; kind <= PFC_KIND_DEVICE_RATCHET; kind++) {
    size_t at = PFC_COMMAND_HEAD_BYTES + (kind == PFC_KIND_INTEGRITY_RATCHET ? PFC_PROOF_BYTES : 0u);
    begin(PFC_RATCHET_REPORT);
    for (size_t i = 0; i < PFC_COMMAND_RATCHET_BYTES; i++) {
      struct pfc_slot before = *slot();
      test_case("kind %u, byte %zu", kind, i);
      REQUIRE(CHECK(world_ask(&world, &owner.challenge)));
      app_command(&owner, &world, kind, UNLOCK, "open");
      owner.message[at + i] ^= 1;
      CHECK_NUMBER(app_send(&owner, &world), PFC_VERDICT_DEVICE_DIFFERS);
      CHECK_BYTES(slot(), &before, sizeof before);
    }
  }
}

static void refusals_do_not_step(void) {
  uint8_t before[PFC_RATCHET_BYTES];
  begin(PFC_RATCHET_REPORT);
  memcpy(before, slot()->ratchet, sizeof before);
  struct app changed = owner;
  changed.token.secrets.integrity[3] ^= 1;
  CHECK_NUMBER(act(&changed, PFC_KIND_INTEGRITY_RATCHET, UNLOCK), PFC_VERDICT_INTEGRITY_DIFFERS);
  changed = owner;
  changed.token.secrets.device[3] ^= 1;
  CHECK_NUMBER(act(&changed, PFC_KIND_INTEGRITY_RATCHET, UNLOCK), PFC_VERDICT_DEVICE_DIFFERS);
  CHECK_NUMBER(act(&owner, PFC_KIND_DEVICE_RATCHET, SETTINGS), PFC_VERDICT_NOT_PERMITTED);
  CHECK_BYTES(slot()->ratchet, before, sizeof before);
  CHECK_NUMBER(act(&owner, PFC_KIND_INTEGRITY_RATCHET, UNLOCK), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(slot()->copies, 0);
}

static void lost_answers_are_no_copies(void) {
  struct dice dice = {93};
  unsigned lost = 0;
  for (uint8_t policy = PFC_RATCHET_REPORT; policy <= PFC_RATCHET_REFUSE; policy++) {
    begin(policy);
    for (unsigned i = 0; i < 400; i++) {
      unsigned fate = (unsigned)dice_below(&dice, 5);
      uint8_t verdict = PFC_VERDICT_NOT_EXECUTED;
      test_case("policy %u, command %u, fate %u", policy, i, fate);
      REQUIRE(CHECK(world_ask(&world, &owner.challenge)));
      app_command(&owner, &world, PFC_KIND_INTEGRITY_RATCHET, SETTINGS, "open");
      if (fate != 1) verdict = app_send(&owner, &world);  // 1: the command is lost
      if (fate == 2 || fate == 3) verdict = PFC_VERDICT_NONE;  // The answer is lost
      if (fate >= 3) CHECK_NUMBER(world_restart(&world), PFC_OK);
      if (verdict != PFC_VERDICT_ACCEPTED) {
        verdict = app_recall(&owner, &world);
        CHECK_NUMBER(verdict, fate == 1 ? PFC_VERDICT_NOT_EXECUTED : PFC_VERDICT_ACCEPTED);
        lost++;
      }
      app_follow(&owner, verdict);
    }
    CHECK_NUMBER(slot()->copies, 0);
  }
  test_note("%u commands or answers lost of 800", lost);
}

static void copies_look_like_no_lost_answer(void) {
  begin(PFC_RATCHET_REPORT);
  copy = owner;
  // The owner's answer is lost, and the copy speaks before the owner asks.
  CHECK_NUMBER(app_do(&owner, &world, PFC_KIND_INTEGRITY_RATCHET, UNLOCK, "open"), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(act(&copy, PFC_KIND_INTEGRITY_RATCHET, UNLOCK), PFC_VERDICT_ACCEPTED_COPY);
  CHECK_NUMBER(app_recall(&owner, &world), PFC_VERDICT_STALE);
  CHECK_NUMBER(world_restart(&world), PFC_OK);
  CHECK_NUMBER(app_recall(&owner, &world), PFC_VERDICT_STALE);
  // The copy's answer is lost: the recall tells of the copy, too.
  copy = owner;
  CHECK_NUMBER(app_do(&copy, &world, PFC_KIND_INTEGRITY_RATCHET, UNLOCK, "open"), PFC_VERDICT_ACCEPTED_COPY);
  CHECK_NUMBER(world_restart(&world), PFC_OK);
  CHECK_NUMBER(app_recall(&copy, &world), PFC_VERDICT_ACCEPTED_COPY);
}

/// Power fails at each byte of the one write of an accepted command, in step or not.
static void cuts_leave_old_or_new(void) {
  unsigned cuts = 0;
  for (unsigned out = 0; out < 2; out++) {
    for (uint8_t policy = PFC_RATCHET_REPORT; policy <= PFC_RATCHET_REFUSE; policy++) {
      for (size_t offset = 0; offset <= PFC_RECORD_BYTES_MAX; offset++) {
        uint8_t verdict;
        struct app *app = out != 0 ? &copy : &owner;
        begin(policy);
        copy = owner;
        (void)act(&owner, PFC_KIND_INTEGRITY_RATCHET, UNLOCK);
        (void)act(&owner, PFC_KIND_INTEGRITY_RATCHET, UNLOCK);
        test_case("%s, policy %u, cut at byte %zu", out != 0 ? "a copy" : "the owner", policy, offset);
        world.flash.cut_write = world.flash.writes;
        world.flash.cut_offset = offset;
        world.flash.cut_rest = (enum flash_rest)(offset % 3);
        CHECK_NUMBER(app_do(app, &world, PFC_KIND_INTEGRITY_RATCHET, UNLOCK, "open"), PFC_VERDICT_FAULT);
        CHECK(world.flash.dark);
        CHECK_NUMBER(world_restart(&world), PFC_OK);
        verdict = app_recall(app, &world);
        if (verdict != PFC_VERDICT_NOT_EXECUTED) {
          CHECK_NUMBER(verdict, out != 0 ? PFC_VERDICT_ACCEPTED_COPY : PFC_VERDICT_ACCEPTED);
        }
        app_follow(app, verdict);
        CHECK_NUMBER(slot()->copies, out != 0 && verdict == PFC_VERDICT_ACCEPTED_COPY ? 1 : 0);
        if (out == 0) CHECK_NUMBER(act(&owner, PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_ACCEPTED);
        cuts++;
      }
    }
  }
  test_note("%u cuts", cuts);
}

/// Writes, and says that it failed.
static int write_denied(void *context, unsigned record, unsigned copy_, const uint8_t *bytes, size_t size) {
  (void)flash_write(context, record, copy_, bytes, size);
  return -1;
}

static void denied_writes_are_taken_back(void) {
  begin(PFC_RATCHET_REPORT);
  (void)act(&owner, PFC_KIND_INTEGRITY_RATCHET, UNLOCK);
  world.verifier.ledger.storage.write = write_denied;
  CHECK_NUMBER(app_do(&owner, &world, PFC_KIND_INTEGRITY_RATCHET, UNLOCK, "open"), PFC_VERDICT_FAULT);
  CHECK_BYTES(slot()->ratchet, owner.ratchet, PFC_RATCHET_BYTES);
  CHECK_NUMBER(slot()->sum, pfc_slot_sum(slot()));
  // The hardware does not say "not executed" while the next start could say the opposite.
  CHECK_NUMBER(app_recall(&owner, &world), PFC_VERDICT_FAULT);
  world.verifier.ledger.storage.write = flash_write;
  CHECK_NUMBER(app_recall(&owner, &world), PFC_VERDICT_NOT_EXECUTED);
  CHECK_NUMBER(world_restart(&world), PFC_OK);
  CHECK_NUMBER(act(&owner, PFC_KIND_INTEGRITY_RATCHET, UNLOCK), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(slot()->copies, 0);
}

static void tokens_begin_anew(void) {
  uint8_t first[PFC_RATCHET_BYTES];
  begin(PFC_RATCHET_REPORT);
  memcpy(first, slot()->ratchet, sizeof first);
  CHECK_BYTES(first, owner.ratchet, sizeof first);
  copy = owner;
  (void)act(&owner, PFC_KIND_INTEGRITY_RATCHET, UNLOCK);
  (void)act(&copy, PFC_KIND_INTEGRITY_RATCHET, UNLOCK);
  // The same token again does not launder a copy.
  CHECK_NUMBER(app_present(&owner, &world), PFC_VERDICT_HELD);
  CHECK_NUMBER(act(&owner, PFC_KIND_INTEGRITY_RATCHET, UNLOCK), PFC_VERDICT_ACCEPTED_COPY);
  owner.token.generation++;
  app_renew(&owner);
  app_issue(&owner, &world);
  CHECK_NUMBER(app_present(&owner, &world), PFC_VERDICT_HELD);
  CHECK_NUMBER(slot()->copies, 0);
  CHECK(memcmp(first, slot()->ratchet, sizeof first) != 0);
  CHECK_NUMBER(act(&owner, PFC_KIND_INTEGRITY_RATCHET, UNLOCK), PFC_VERDICT_ACCEPTED);
  // A policy of 0 takes the ratchet away.
  owner.token.generation++;
  app_ratchet(&owner, PFC_RATCHET_NONE);
  app_issue(&owner, &world);
  CHECK_NUMBER(app_present(&owner, &world), PFC_VERDICT_HELD);
  CHECK_ZEROS(slot()->ratchet, PFC_RATCHET_BYTES);
  CHECK_NUMBER(slot()->policy, 0);
  CHECK_NUMBER(act(&owner, PFC_KIND_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
}

static void revocations_take_the_ratchet(void) {
  begin(PFC_RATCHET_REFUSE);
  copy = owner;
  (void)act(&owner, PFC_KIND_INTEGRITY_RATCHET, UNLOCK);
  (void)act(&copy, PFC_KIND_INTEGRITY_RATCHET, SETTINGS);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 1, owner.token.instance_id, 1), PFC_VERDICT_DONE);
  CHECK_ZEROS(slot()->ratchet, PFC_RATCHET_BYTES);
  CHECK_NUMBER(slot()->policy, 0);
  CHECK_NUMBER(slot()->copies, 0);
  CHECK_NUMBER(slot()->sum, 0);
  CHECK_NUMBER(world_restart(&world), PFC_OK);
}

/// The upcoming token of `owner`, updated. A copied phone has it, too.
static void upcoming_tokens_carry_the_ratchet(void) {
  for (uint8_t policy = PFC_RATCHET_REPORT; policy <= PFC_RATCHET_REFUSE; policy++) {
    struct app updated;
    long before;
    test_case("policy %u", policy);
    begin(policy);
    CHECK_NUMBER(act(&owner, PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_ACCEPTED);
    updated = owner;
    app_update(&updated);
    updated.token.policy = PFC_POLICY_UPCOMING | policy;
    app_issue(&updated, &world);
    CHECK_NUMBER(app_present(&updated, &world), PFC_VERDICT_READY);
    copy = updated;
    memcpy(copy.ratchet, owner.ratchet, sizeof copy.ratchet);
    CHECK_NUMBER(act(&owner, PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_ACCEPTED);
    memcpy(updated.ratchet, owner.ratchet, sizeof updated.ratchet);
    test_case("policy %u: a device command and one without a ratchet commit nothing", policy);
    CHECK_NUMBER(act(&updated, PFC_KIND_DEVICE_RATCHET, UNLOCK), PFC_VERDICT_DEVICE_DIFFERS);
    CHECK_NUMBER(act(&updated, PFC_KIND_INTEGRITY, SETTINGS), PFC_VERDICT_NOT_PERMITTED);
    CHECK_NUMBER(slot()->generation, owner.token.generation);
    test_case("policy %u: a write that fails commits nothing, and the recall says so", policy);
    world.flash.fail_all_writes = true;
    CHECK_NUMBER(act(&updated, PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_FAULT);
    world.flash.fail_all_writes = false;
    CHECK_NUMBER(world.verifier.unsure, 1u << (slot() - world.verifier.ledger.slots));
    CHECK_NUMBER(slot()->generation, owner.token.generation);
    CHECK_NUMBER(act(&owner, PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_ACCEPTED);
    test_case("policy %u: the commit moves the slot's ratchet, in one write", policy);
    CHECK_NUMBER(app_present(&updated, &world), PFC_VERDICT_READY);
    memcpy(updated.ratchet, owner.ratchet, sizeof updated.ratchet);
    before = world.flash.writes;
    CHECK_NUMBER(act(&updated, PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_ACCEPTED);
    CHECK_NUMBER(world.flash.writes - before, 1);
    CHECK_NUMBER(slot()->policy, policy);
    CHECK_NUMBER(slot()->copies, 0);
    CHECK_NUMBER(slot()->sum, pfc_slot_sum(slot()));
    CHECK_BYTES(slot()->ratchet, updated.ratchet, PFC_RATCHET_BYTES);
    CHECK_NUMBER(world_restart(&world), PFC_OK);
    CHECK_NUMBER(act(&updated, PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_ACCEPTED);
    CHECK_NUMBER(act(&copy, PFC_KIND_INTEGRITY_RATCHET, SETTINGS),
                 policy == PFC_RATCHET_REPORT ? PFC_VERDICT_ACCEPTED_COPY : PFC_VERDICT_COPIED);
    CHECK_NUMBER(slot()->copies, 1);
    test_case("policy %u: a copy whose update is first", policy);
    begin(policy);
    updated = owner;
    app_update(&updated);
    updated.token.policy = PFC_POLICY_UPCOMING | policy;
    app_issue(&updated, &world);
    CHECK_NUMBER(app_present(&updated, &world), PFC_VERDICT_READY);
    CHECK_NUMBER(act(&owner, PFC_KIND_INTEGRITY_RATCHET, SETTINGS), PFC_VERDICT_ACCEPTED);
    CHECK_NUMBER(act(&updated, PFC_KIND_INTEGRITY_RATCHET, SETTINGS),
                 policy == PFC_RATCHET_REPORT ? PFC_VERDICT_ACCEPTED_COPY : PFC_VERDICT_COPIED);
    CHECK_NUMBER(slot()->copies, 1);
    CHECK_NUMBER(slot()->generation, policy == PFC_RATCHET_REPORT ? updated.token.generation : owner.token.generation);
  }
}

static void unknown_policies_are_too_new(void) {
  uint8_t bytes[PFC_SLOT_BYTES], ephemeral[32] = {1};
  struct pfc_slot decoded;
  unsigned sealed = PFC_SLOT_POLICY & (PFC_POLICY_SEALED | PFC_POLICY_CHANNEL);
  begin(PFC_RATCHET_REPORT);
  for (unsigned policy = 0; policy < 256; policy++) {
    struct pfc_token token = owner.token;
    unsigned ratchet = policy & ~(PFC_POLICY_UPCOMING | sealed);
    int known = (policy & ~sealed) <= PFC_RATCHET_REFUSE;
    int without = (policy & ~sealed) == PFC_RATCHET_NONE;
    test_case("policy %u", policy);
    token.policy = (uint8_t)policy;
    CHECK_NUMBER(pfc_token_create(owner.bytes, &token, world.hardware.public_key, NULL, world.issuer.signing_key,
                                  ephemeral),
                 ratchet <= PFC_RATCHET_REFUSE ? PFC_OK : PFC_E_ARGUMENT);
    pfc_slot_encode(bytes, slot());
    bytes[204] = (uint8_t)policy;
    // A ratchet beside a policy that has none is of other firmware.
    CHECK_NUMBER(pfc_slot_decode(&decoded, bytes), known && !without ? PFC_OK : PFC_E_TOO_NEW);
    if (!without) continue;
    memset(bytes + 188, 0, 16);
    CHECK_NUMBER(pfc_slot_decode(&decoded, bytes), PFC_OK);
    bytes[205] = 1;
    CHECK_NUMBER(pfc_slot_decode(&decoded, bytes), PFC_E_TOO_NEW);
  }
}

static const struct test tests[] = {
    TEST("an owner stays in step, with one write for each command, also across restarts", owners_stay_in_step),
    TEST("a copy is told of at its first command, and the owner at the next", copies_are_told_of),
    TEST("the outcome tells the counter that the app knows", the_outcome_tells_what_the_app_knows),
    TEST("a refused copy changes nothing but the count, and unlocking does not bring it into step",
         refused_copies_change_nothing),
    TEST("a command out of step whose write fails counts no copy", a_write_that_fails_counts_no_copy),
    TEST("a kind of the other sort of slot is refused, and the detail tells the policy", the_other_kinds_are_refused),
    TEST("a tag or counter corrupted on the air is a wrong device proof, not a copy", the_air_makes_no_copies),
    TEST("a refused command does not step", refusals_do_not_step),
    TEST("lost commands, lost answers and restarts are no copies", lost_answers_are_no_copies),
    TEST("a copy does not look like a lost answer", copies_look_like_no_lost_answer),
    TEST("a power cut at any byte leaves the ratchet before or after, and the recall tells which",
         cuts_leave_old_or_new),
    TEST("a write that failed and arrived is taken back before a recall denies the command",
         denied_writes_are_taken_back),
    TEST("a new token begins a new ratchet, and the same token does not", tokens_begin_anew),
    TEST("an upcoming token carries the slot's ratchet on, so that it hides no copy",
         upcoming_tokens_carry_the_ratchet),
    TEST("a revocation takes the ratchet", revocations_take_the_ratchet),
    TEST("an unknown policy is too new, in a token and in a slot", unknown_policies_are_too_new),
};

const struct suite verifier_ratchet_suite = SUITE("verifier ratchet", tests);
