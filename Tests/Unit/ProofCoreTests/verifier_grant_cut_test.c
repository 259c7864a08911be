// SPDX-License-Identifier: Apache-2.0

/// Power cuts and failed writes in grants and lent commands, and the second look by itself.

#include <string.h>

#include "grant_stage.h"
#include "suites.h"
#include "../../../CSources/ProofCore/verifier_review.h"

#if PFC_GRANTS

enum { LENT = 3, OWNED = 10 };

static struct grant_stage ready;

/// A lent command's writes: the owner's slot, the row, the member's slot.
static void stand(void) {
  stage_begin(OWNED);
  stage.member.token.policy = PFC_RATCHET_REPORT;
  stage.member.token.generation = 2;
  CHECK_NUMBER(stage_hold(&stage.member), PFC_VERDICT_HELD);
  CHECK_NUMBER(stage_lend(1, LENT), PFC_VERDICT_DONE);
  ready = stage;
}

/// `stage` moves nowhere, so pointers into it stay right.
static void return_to(const struct grant_stage *moment) { stage = *moment; }

static void cuts_in_a_command_cost_uses_and_give_none(void) {
  unsigned cuts = 0, charged = 0;
  stand();
  for (long write = 0; write < 3; write++) {
    for (size_t offset = 0; offset <= PFC_RECORD_BYTES_MAX; offset += offset < 16 ? 1 : 13) {
      uint32_t uses, owned;
      unsigned accepted = 0;
      uint8_t verdict;
      return_to(&ready);
      test_case("write %ld, offset %zu", write, offset);
      stage.world.flash.cut_write = stage.world.flash.writes + write;
      stage.world.flash.cut_offset = offset;
      stage.world.flash.cut_rest = (enum flash_rest)(offset % 3);
      CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_FAULT);
      CHECK_NUMBER(stage.world.outcome.execute, 0);
      CHECK_NUMBER(stage_start(), PFC_OK);
      uses = stage_row(&stage.member)->uses;
      owned = stage_slot(&stage.owner)->uses;
      CHECK(uses == LENT || uses == LENT - 1);
      CHECK(owned == OWNED || owned == OWNED - 1);
      // The owner is charged first: what the row has lost, the owner has.
      CHECK(LENT - uses <= OWNED - owned);
      if (owned != OWNED) charged++;
      cuts++;
      // The app asks, and follows: accepted although it was not executed, or not.
      verdict = app_recall(&stage.member, &stage.world);
      CHECK(verdict == PFC_VERDICT_ACCEPTED || verdict == PFC_VERDICT_NOT_EXECUTED);
      if (verdict == PFC_VERDICT_ACCEPTED) {
        CHECK_NUMBER(uses, LENT - 1);
        app_follow(&stage.member, verdict);
      }
      while (stage_do(&stage.member, OPEN) == PFC_VERDICT_ACCEPTED) accepted++;
      CHECK_NUMBER(accepted, uses);
      CHECK_NUMBER(stage_detail(), PFC_DETAIL_GRANT_SPENT);
    }
  }
  CHECK(charged > 0);
  test_note("verifier grant: %u cuts, %u charged the owner", cuts, charged);
}

static void failed_writes_do_nothing_for_the_member(void) {
  for (long write = 0; write < 3; write++) {
    stand();
    test_case("write %ld", write);
    stage.world.flash.fail_write = stage.world.flash.writes + write;
    CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_FAULT);
    CHECK_NUMBER(stage.world.outcome.execute, 0);
    CHECK(stage_row(&stage.member)->uses >= LENT - 1);
    CHECK_NUMBER(stage_slot(&stage.owner)->uses, OWNED - 1);
    stage.world.flash.fail_write = FLASH_NEVER;
    CHECK_NUMBER(app_recall(&stage.member, &stage.world), PFC_VERDICT_NOT_EXECUTED);
    CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
  }
}

static void cuts_in_a_grant_leave_it_or_not(void) {
  unsigned taken = 0;
  stand();
  for (size_t offset = 0; offset <= PFC_RECORD_BYTES(PFC_GRANT_RECORD_BYTES); offset++) {
    return_to(&ready);
    test_case("offset %zu", offset);
    stage.world.flash.cut_write = stage.world.flash.writes;
    stage.world.flash.cut_offset = offset;
    stage.world.flash.cut_rest = (enum flash_rest)(offset % 3);
    CHECK_NUMBER(stage_take_back(2), PFC_VERDICT_FAULT);
    CHECK_NUMBER(stage_start(), PFC_OK);
    CHECK(stage_row(&stage.member)->uses == LENT || stage_row(&stage.member)->uses == 0);
    CHECK_NUMBER(stage_row(&stage.member)->serials[0], stage_row(&stage.member)->uses == 0 ? 2 : 1);
    if (stage_row(&stage.member)->uses == 0) taken++;
    CHECK_NUMBER(stage_present(&stage.owner), PFC_VERDICT_DONE);
    CHECK_NUMBER(stage_row(&stage.member)->uses, 0);
  }
  CHECK(taken > 0);
}

static void cuts_in_a_new_tenancy_leave_no_loan(void) {
  for (long write = 0; write < 6; write++) {
    struct app other;
    stage_begin(OWNED);
    CHECK_NUMBER(stage_lend(1, LENT), PFC_VERDICT_DONE);
    CHECK_NUMBER(world_order(&stage.world, PFC_ORDER_FLOOR, WORLD_BEGIN + 1, NULL, 0), PFC_VERDICT_DONE);
    for (unsigned i = 0; i < 2; i++) {
      other = i == 0 ? stage.owner : stage.member;
      other.token.instance_id[0] ^= 0x80;
      other.token.issued = WORLD_BEGIN + 2 + i;
      test_case("write %ld, tenant %u", write, i);
      stage.world.flash.cut_write = stage.world.flash.writes + write;
      stage.world.flash.cut_offset = 200;
      app_issue(&other, &stage.world);
      (void)app_present(&other, &stage.world);
      CHECK_NUMBER(stage_start(), PFC_OK);
      CHECK_NUMBER(stage_hold(&other), PFC_VERDICT_HELD);
    }
    CHECK_NUMBER(stage_do(&other, OPEN), PFC_VERDICT_NOT_PERMITTED);
    CHECK_NUMBER(stage_detail(), PFC_DETAIL_CLASS_NOT_PERMITTED);
    CHECK_ZEROS(stage_row(&other), sizeof(struct pfc_grant_row));
  }
}

static void cuts_after_a_revocation_revive_no_loan(void) {
  unsigned held = 0;
  for (unsigned who = 0; who < 2; who++) {
    for (long write = 0; write < 4; write++) {
      for (size_t offset = 0; offset <= 240; offset += 24) {
        struct app *back;
        stage_begin(OWNED);
        CHECK_NUMBER(stage_lend(1, LENT), PFC_VERDICT_DONE);
        back = who == 0 ? &stage.owner : &stage.member;
        CHECK_NUMBER(world_order(&stage.world, PFC_ORDER_REVOKE, WORLD_BEGIN + 1, back->token.instance_id, 1),
                     PFC_VERDICT_DONE);
        back->token.generation = 2;
        back->token.issued = WORLD_BEGIN + 2;
        test_case("who %u, write %ld, offset %zu", who, write, offset);
        stage.world.flash.cut_write = stage.world.flash.writes + write;
        stage.world.flash.cut_offset = offset;
        app_issue(back, &stage.world);
        (void)app_present(back, &stage.world);
        CHECK_NUMBER(stage_start(), PFC_OK);
        if (stage_slot(back)->state == PFC_SLOT_HELD) held++;
        CHECK_NUMBER(app_present(back, &stage.world), PFC_VERDICT_HELD);
        CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_NOT_PERMITTED);
        CHECK_NUMBER(stage_detail(), PFC_DETAIL_CLASS_NOT_PERMITTED);
      }
    }
  }
  CHECK(held > 0);
}

static void a_tenancy_that_cannot_clear_does_not_begin(void) {
  struct app other;
  stage_begin(OWNED);
  CHECK_NUMBER(stage_lend(1, LENT), PFC_VERDICT_DONE);
  CHECK_NUMBER(world_order(&stage.world, PFC_ORDER_FLOOR, WORLD_BEGIN + 1, NULL, 0), PFC_VERDICT_DONE);
  other = stage.owner;
  other.token.instance_id[0] ^= 0x80;
  other.token.issued = WORLD_BEGIN + 1;
  // The clearing is the first write: the token brings no later time.
  stage.world.flash.fail_write = stage.world.flash.writes;
  app_issue(&other, &stage.world);
  CHECK_NUMBER(app_present(&other, &stage.world), PFC_VERDICT_FAULT);
  CHECK_NUMBER(stage.world.verifier.grants.rows[1].owner, 1);
  CHECK_NUMBER(app_present(&other, &stage.world), PFC_VERDICT_HELD);
  CHECK_NUMBER(stage.world.verifier.grants.rows[1].owner, 0);
}

// The second look ------------------------------------------------------------------------------------------------

static int slot_number(const struct app *app) {
  return (int)(stage_slot(app) - stage.world.verifier.ledger.slots);
}

static uint32_t look(void) {
  return pfc_review_grant(&stage.world.verifier, slot_number(&stage.owner), slot_number(&stage.member), stage.bytes,
                          sizeof stage.bytes);
}

static void the_second_look_sees_everything(void) {
  struct pfc_slot *owner, *member;
  struct pfc_grant_row *row;
  static struct grant_stage kept;
  stage_begin(OWNED);
  stage_fill(&stage.owner, &stage.member, 5, 1u << OPEN, 2);
  stage_sign(&stage.owner);
  CHECK_NUMBER(look(), PFC_REVIEW_PASSED);
  kept = stage;
  for (unsigned bit = 0; bit < 8 * PFC_GRANT_BYTES; bit++) {
    test_case("bit %u", bit);
    stage.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    CHECK(look() != PFC_REVIEW_PASSED && look() != PFC_REVIEW_READY);
    stage.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  for (unsigned i = 0; i < 14; i++) {
    stage = kept;
    test_case("%u", i);
    owner = stage_slot(&stage.owner);
    member = stage_slot(&stage.member);
    row = stage_row(&stage.member);
    memcpy(row->member_id, member->instance_id, 8);
    int from = slot_number(&stage.owner), to = slot_number(&stage.member);
    if (i == 0) owner->state = PFC_SLOT_REVOKED;
    if (i == 1) owner->instance_id[15] ^= 1;
    if (i == 2) owner->generation++;
    if (i == 3) owner->secrets.device[0] ^= 1;
    if (i == 4) owner->token_digest[0] ^= 1;
    if (i == 5) member->state = PFC_SLOT_REVOKED;
    if (i == 6) member->token_digest[15] ^= 1;
    if (i == 7) row->serials[0] = 5;
    if (i == 8) owner->attempts = 0;
    if (i == 9) owner->uses = 0;
    if (i == 10) owner->not_after = WORLD_BEGIN - 1;
    if (i == 11) owner->delegable_classes = 0;
    if (i == 12) owner->integrity_classes = 1u << RING;
    if (i == 13) stage.world.verifier.epoch = GRANT_END + 1;
    CHECK(pfc_review_grant(&stage.world.verifier, from, to, stage.bytes, 96) != PFC_REVIEW_PASSED);
    CHECK(pfc_review_grant(&stage.world.verifier, from, to, stage.bytes, 96) != PFC_REVIEW_READY);
  }
  stage = kept;
  test_case("slots that are none");
  CHECK(pfc_review_grant(&stage.world.verifier, -1, 1, stage.bytes, 96) != PFC_REVIEW_PASSED);
  CHECK(pfc_review_grant(&stage.world.verifier, PFC_SLOTS, 1, stage.bytes, 96) != PFC_REVIEW_PASSED);
  CHECK(pfc_review_grant(&stage.world.verifier, 0, -1, stage.bytes, 96) != PFC_REVIEW_PASSED);
  CHECK(pfc_review_grant(&stage.world.verifier, 0, PFC_SLOTS, stage.bytes, 96) != PFC_REVIEW_PASSED);
  CHECK(pfc_review_grant(&stage.world.verifier, 0, 1, stage.bytes, 95) != PFC_REVIEW_PASSED);
  stage.world.verifier.grants.on = 0;
  CHECK(look() != PFC_REVIEW_PASSED);
}

static void the_second_look_tells_what_was_taken(void) {
  stage_begin(OWNED);
  CHECK_NUMBER(stage_lend(5, 2), PFC_VERDICT_DONE);
  CHECK_NUMBER(look(), PFC_REVIEW_READY);
  stage_row(&stage.member)->digest[0] ^= 1;
  CHECK(look() != PFC_REVIEW_READY && look() != PFC_REVIEW_PASSED);
  stage_row(&stage.member)->digest[0] ^= 1;
  stage_row(&stage.member)->owner++;
  CHECK(look() != PFC_REVIEW_READY && look() != PFC_REVIEW_PASSED);
  stage_row(&stage.member)->owner--;
  stage_row(&stage.member)->serials[0]++;
  CHECK(look() != PFC_REVIEW_READY && look() != PFC_REVIEW_PASSED);
  stage_row(&stage.member)->serials[0]--;
  stage_fill(&stage.owner, &stage.member, 5, 0, 0);
  stage_sign(&stage.owner);
  CHECK(look() != PFC_REVIEW_READY && look() != PFC_REVIEW_PASSED);
  stage_row(&stage.member)->uses = 0;
  CHECK_NUMBER(look(), PFC_REVIEW_READY);
  test_case("by the token that the member held then");
  stage_row(&stage.member)->uses = 2;
  stage_fill(&stage.owner, &stage.member, 6, 0, 0);
  stage_sign(&stage.owner);
  stage_slot(&stage.member)->token_digest[0] ^= 1;
  CHECK_NUMBER(look(), PFC_REVIEW_PASSED);
  stage_row(&stage.member)->named[0] ^= 1;
  CHECK(look() != PFC_REVIEW_PASSED);
}

static bool passes(void) {
  struct pfc_verifier *verifier = &stage.world.verifier;
  int index = slot_number(&stage.member);
#if PFC_SEALS_COMMANDS
  return pfc_review_command(verifier, stage.world.link, index, &verifier->ledger.slots[index], stage.member.message,
                            stage.member.size, PFC_VERDICT_ACCEPTED, NULL) == PFC_REVIEW_PASSED;
#else
  return pfc_review_command(verifier, stage.world.link, index, &verifier->ledger.slots[index], stage.member.message,
                            stage.member.size, PFC_VERDICT_ACCEPTED) == PFC_REVIEW_PASSED;
#endif
}

static void the_second_look_at_a_lent_command(void) {
  stage_begin(OWNED);
  CHECK_NUMBER(stage_lend(1, LENT), PFC_VERDICT_DONE);
  CHECK(world_ask(&stage.world, &stage.member.challenge));
  app_command(&stage.member, &stage.world, PFC_KIND_INTEGRITY, OPEN, "x");
  CHECK(passes());
  ready = stage;
  for (unsigned i = 0; i < 14; i++) {
    struct pfc_slot *owner;
    struct pfc_grant_row *row;
    stage = ready;
    test_case("%u", i);
    owner = stage_slot(&stage.owner);
    row = stage_row(&stage.member);
    if (i == 0) owner->state = PFC_SLOT_REVOKED;
    if (i == 1) owner->instance_id[0] ^= 1;
    if (i == 2) owner->attempts = 0;
    if (i == 3) owner->uses = 0;
    if (i == 4) owner->not_after = WORLD_BEGIN - 1;
    if (i == 5) owner->delegable_classes = 0;
    if (i == 6) owner->integrity_classes = 0;
    if (i == 7) row->owner = 0;
    if (i == 8) row->owner = PFC_SLOTS + 1;
    if (i == 9) row->classes = 1u << SETTINGS;
    if (i == 10) row->uses = 0;
    if (i == 11) row->end = WORLD_BEGIN - 1;
    if (i == 12) row->member_id[0] ^= 1;
    if (i == 13) stage.world.verifier.grants.on = 0;
    CHECK(!passes());
  }
  stage = ready;
  app_command(&stage.member, &stage.world, PFC_KIND_DEVICE, OPEN, "x");
  CHECK(!passes());
}

static const struct test tests[] = {
    TEST("cuts in a lent command cost uses and give none", cuts_in_a_command_cost_uses_and_give_none),
    TEST("failed writes do nothing for the member", failed_writes_do_nothing_for_the_member),
    TEST("cuts in a grant leave it or not", cuts_in_a_grant_leave_it_or_not),
    TEST("cuts in a new tenancy leave no loan", cuts_in_a_new_tenancy_leave_no_loan),
    TEST("cuts after a revocation revive no loan", cuts_after_a_revocation_revive_no_loan),
    TEST("a tenancy that cannot clear does not begin", a_tenancy_that_cannot_clear_does_not_begin),
    TEST("the second look at a grant sees everything", the_second_look_sees_everything),
    TEST("the second look tells what was taken already", the_second_look_tells_what_was_taken),
    TEST("the second look at a lent command sees everything", the_second_look_at_a_lent_command),
};

const struct suite verifier_grant_cut_suite = SUITE("verifier grant cuts", tests);

#endif
