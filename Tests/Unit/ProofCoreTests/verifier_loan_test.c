// SPDX-License-Identifier: Apache-2.0

/// Commands of a class that is lent: who may send them, who pays, and how it ends.

#include <string.h>

#include "grant_stage.h"
#include "log_chip.h"
#include "suites.h"

#if PFC_GRANTS

static void lent_commands_are_accepted_and_counted(void) {
  stage_begin(10);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_CLASS_NOT_PERMITTED);
  CHECK_NUMBER(stage_lend(1, 2), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(stage_row(&stage.member)->uses, 1);
  CHECK_NUMBER(stage_slot(&stage.owner)->uses, 9);
  CHECK_NUMBER(app_recall(&stage.member, &stage.world), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(stage_start(), PFC_OK);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(stage_slot(&stage.owner)->uses, 8);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_GRANT_SPENT);
  CHECK_NUMBER(stage_slot(&stage.owner)->uses, 8);
  // No other class is lent.
  CHECK_NUMBER(stage_do(&stage.member, SETTINGS), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_CLASS_NOT_PERMITTED);
}

static void own_classes_cost_the_owner_nothing(void) {
  long writes;
  stage_begin(10);
  CHECK_NUMBER(stage_lend(1, 2), PFC_VERDICT_DONE);
  writes = stage.world.flash.writes;
  CHECK_NUMBER(stage_do(&stage.member, RING), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(stage.world.flash.writes, writes);
  CHECK_NUMBER(stage_row(&stage.member)->uses, 2);
  CHECK_NUMBER(stage_slot(&stage.owner)->uses, 10);
  // The owner's own commands cost the loan nothing.
  CHECK_NUMBER(stage_do(&stage.owner, OPEN), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(stage_row(&stage.member)->uses, 2);
}

static void only_an_integrity_match_borrows(void) {
  stage_begin(PFC_USES_UNLIMITED);
  CHECK_NUMBER(stage_lend(1, 2), PFC_VERDICT_DONE);
  CHECK_NUMBER(app_do(&stage.member, &stage.world, PFC_KIND_DEVICE, OPEN, "x"), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_INTEGRITY_DEMANDED);
  stage.member.token.secrets.integrity[0] ^= 1;
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_INTEGRITY_DIFFERS);
  CHECK_NUMBER(stage_row(&stage.member)->uses, 2);
}

static void the_members_own_limits_hold(void) {
  stage_begin(PFC_USES_UNLIMITED);
  stage.member.token.uses = 2;
  stage.member.token.generation = 2;
  CHECK_NUMBER(stage_hold(&stage.member), PFC_VERDICT_HELD);
  CHECK_NUMBER(stage_lend(1, 5), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(stage_detail(), 1);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_NO_USES);
  CHECK_NUMBER(stage_row(&stage.member)->uses, 3);
}

static void check_owner_cannot(void) {
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_OWNER_CANNOT);
  CHECK_NUMBER(stage_row(&stage.member)->uses, 5);
  // The member's own classes stay.
  CHECK_NUMBER(stage_do(&stage.member, RING), PFC_VERDICT_ACCEPTED);
}

static void the_owner_must_still_be_able_to(void) {
  for (unsigned i = 0; i < 6; i++) {
    struct pfc_slot *owner;
    test_case("%u", i);
    stage_begin(10);
    CHECK_NUMBER(stage_lend(1, 5), PFC_VERDICT_DONE);
    owner = stage_slot(&stage.owner);
    if (i == 0) owner->attempts = 0;
    if (i == 1) owner->uses = 0;
    if (i == 2) owner->not_after = WORLD_BEGIN - 1;
    if (i == 3) owner->delegable_classes = 1u << RING;
    if (i == 4) owner->integrity_classes = 1u << RING;
    if (i == 5) owner->instance_id[0] ^= 1;
    check_owner_cannot();
    // The last second of the owner's token, and all else as it was: it lends again.
    if (i != 2) continue;
    owner->not_after = WORLD_BEGIN;
    CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
  }
}

static void more_uses_than_the_owner_has(void) {
  stage_begin(2);
  CHECK_NUMBER(stage_lend(1, 5), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_OWNER_CANNOT);
  CHECK_NUMBER(stage_do(&stage.owner, OPEN), PFC_VERDICT_NO_USES);
}

static void a_revoked_owner_ends_what_was_lent(void) {
  stage_begin(10);
  CHECK_NUMBER(stage_lend(1, 5), PFC_VERDICT_DONE);
  CHECK_NUMBER(world_order(&stage.world, PFC_ORDER_REVOKE, WORLD_BEGIN + 1, stage.owner.token.instance_id, 1),
               PFC_VERDICT_DONE);
  check_owner_cannot();
  CHECK_NUMBER(stage_lend(2, 5), PFC_VERDICT_REVOKED);
  // A later token of the owner revives nothing.
  stage.owner.token.generation = 2;
  CHECK_NUMBER(stage_hold(&stage.owner), PFC_VERDICT_HELD);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_CLASS_NOT_PERMITTED);
  CHECK_NUMBER(stage_lend(1, 1), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
}

static void a_revoked_member_loses_it(void) {
  uint8_t first[PFC_GRANT_BYTES];
  stage_begin(10);
  CHECK_NUMBER(stage_lend(1, 5), PFC_VERDICT_DONE);
  memcpy(first, stage.bytes, sizeof first);
  CHECK_NUMBER(world_order(&stage.world, PFC_ORDER_REVOKE, WORLD_BEGIN + 1, stage.member.token.instance_id, 1),
               PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_REVOKED);
  stage.member.token.generation = 2;
  CHECK_NUMBER(stage_hold(&stage.member), PFC_VERDICT_HELD);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_NOT_PERMITTED);
  memcpy(stage.bytes, first, sizeof first);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_UNKNOWN);
}

static void slots_that_get_new_instances_bring_nothing_along(void) {
  struct app others[2];
  stage_begin(10);
  CHECK_NUMBER(stage_lend(7, 5), PFC_VERDICT_DONE);
  // The floor frees both slots, and two others take them in the same order.
  CHECK_NUMBER(world_order(&stage.world, PFC_ORDER_FLOOR, WORLD_BEGIN + 1, NULL, 0), PFC_VERDICT_DONE);
  for (unsigned i = 0; i < 2; i++) {
    others[i] = i == 0 ? stage.owner : stage.member;
    others[i].token.instance_id[0] ^= 0x80;
    others[i].token.issued = WORLD_BEGIN + 1;
    CHECK_NUMBER(stage_hold(&others[i]), PFC_VERDICT_HELD);
    CHECK_NUMBER(stage_row(&others[i]) - stage.world.verifier.grants.rows, i);
  }
  CHECK_ZEROS(stage_row(&others[1]), sizeof(struct pfc_grant_row));
  CHECK_NUMBER(stage_do(&others[1], OPEN), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_CLASS_NOT_PERMITTED);
  // Serials begin again.
  stage.owner = others[0];
  stage.member = others[1];
  CHECK_NUMBER(stage_lend(1, 1), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
}

static void the_slot_of_the_owner_alone_is_reused(void) {
  struct app other;
  stage_begin(10);
  stage.member.token.issued = WORLD_BEGIN + 5;
  stage.member.token.generation = 2;
  CHECK_NUMBER(stage_hold(&stage.member), PFC_VERDICT_HELD);
  CHECK_NUMBER(stage_lend(7, 5), PFC_VERDICT_DONE);
  CHECK_NUMBER(world_order(&stage.world, PFC_ORDER_FLOOR, WORLD_BEGIN + 1, NULL, 0), PFC_VERDICT_DONE);
  check_owner_cannot();
  other = stage.owner;
  other.token.instance_id[0] ^= 0x80;
  other.token.issued = WORLD_BEGIN + 2;
  CHECK_NUMBER(stage_hold(&other), PFC_VERDICT_HELD);
  CHECK_NUMBER(stage_row(&other) - stage.world.verifier.grants.rows, 0);
  CHECK_NUMBER(stage_row(&stage.member)->owner, 0);
  CHECK_NUMBER(stage_row(&stage.member)->serials[0], 0);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_CLASS_NOT_PERMITTED);
}

static void rows_name_their_instances(void) {
  // Firmware that takes no grants has given slots away meanwhile.
  stage_begin(10);
  CHECK_NUMBER(stage_lend(7, 5), PFC_VERDICT_DONE);
  stage_row(&stage.member)->member_id[7] ^= 1;
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_CLASS_NOT_PERMITTED);
  // The next grant begins a row of its own.
  stage_row(&stage.member)->serials[3] = 9;
  CHECK_NUMBER(stage_lend(1, 1), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_row(&stage.member)->serials[3], 0);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
}

static void new_tokens_keep_what_was_taken(void) {
  uint8_t kept[PFC_GRANT_BYTES];
  struct app before;
  stage_begin(PFC_USES_UNLIMITED);
  CHECK_NUMBER(stage_lend(1, 5), PFC_VERDICT_DONE);
  stage_fill(&stage.owner, &stage.member, 2, 1u << OPEN, 9);
  stage_sign(&stage.owner);
  memcpy(kept, stage.bytes, sizeof kept);
  stage.owner.token.generation = 2;
  CHECK_NUMBER(stage_hold(&stage.owner), PFC_VERDICT_HELD);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
  // The key of the one that was not presented is gone.
  memcpy(stage.bytes, kept, sizeof kept);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_DEVICE_DIFFERS);
  before = stage.member;
  stage.member.token.generation = 2;
  CHECK_NUMBER(stage_hold(&stage.member), PFC_VERDICT_HELD);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(stage_row(&stage.member)->uses, 3);
  // The owner knows the earlier token, and can take back.
  stage_fill(&stage.owner, &before, 3, 0, 0);
  stage_sign(&stage.owner);
  CHECK_NUMBER(stage_present(&stage.owner), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_GRANT_SPENT);
}

static void a_candidate_commits_with_a_lent_command(void) {
  struct app updated;
  stage_begin(10);
  CHECK_NUMBER(stage_lend(1, 5), PFC_VERDICT_DONE);
  updated = stage.member;
  app_update(&updated);
  app_issue(&updated, &stage.world);
  CHECK_NUMBER(app_present(&updated, &stage.world), PFC_VERDICT_READY);
  CHECK_NUMBER(stage_do(&updated, OPEN), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(stage_slot(&updated)->generation, 2);
  CHECK_NUMBER(stage_row(&updated)->uses, 4);
  CHECK_NUMBER(stage_slot(&stage.owner)->uses, 9);
}

static void taken_back(void) {
  uint8_t first[PFC_GRANT_BYTES], back[PFC_GRANT_BYTES];
  long writes;
  stage_begin(10);
  CHECK_NUMBER(stage_lend(1, 5), PFC_VERDICT_DONE);
  memcpy(first, stage.bytes, sizeof first);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
  test_case("an old one takes nothing back");
  CHECK_NUMBER(stage_take_back(1), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_GRANT_SPENT);
  CHECK_NUMBER(stage_take_back(2), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_detail(), 0);
  memcpy(back, stage.bytes, sizeof back);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_GRANT_SPENT);
  CHECK_NUMBER(stage_do(&stage.member, RING), PFC_VERDICT_ACCEPTED);
  test_case("presented again: the grant, and what took it back");
  memcpy(stage.bytes, first, sizeof first);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_NOT_PERMITTED);
  memcpy(stage.bytes, back, sizeof back);
  writes = stage.world.flash.writes;
  CHECK_NUMBER(stage_present(&stage.owner), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage.world.flash.writes, writes);
  CHECK_NUMBER(stage_start(), PFC_OK);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_NOT_PERMITTED);
  test_case("lent again");
  CHECK_NUMBER(stage_lend(3, 1), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
}

static void taken_back_before_it_came(void) {
  stage_begin(10);
  CHECK_NUMBER(stage_take_back(4), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_lend(4, 5), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_lend(3, 5), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_CLASS_NOT_PERMITTED);
}

static void owners_do_not_touch_each_other(void) {
  struct app second;
  uint8_t first[PFC_GRANT_BYTES];
  stage_begin(10);
  app_make(&second, &stage.world, 230);
  second.token = stage.owner.token;
  second.token.instance_id[0] ^= 0x80;
  CHECK_NUMBER(stage_hold(&second), PFC_VERDICT_HELD);
  CHECK_NUMBER(stage_lend(9, 5), PFC_VERDICT_DONE);
  memcpy(first, stage.bytes, sizeof first);
  test_case("the second owner takes back what is not his");
  stage_fill(&second, &stage.member, 1, 0, 0);
  stage_sign(&second);
  CHECK_NUMBER(stage_present(&second), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(stage_slot(&stage.owner)->uses, 9);
  test_case("the loan presented last counts, and its owner pays");
  stage_fill(&second, &stage.member, 2, 1u << OPEN, 1);
  stage_sign(&second);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(stage_slot(&stage.owner)->uses, 9);
  CHECK_NUMBER(stage_slot(&second)->uses, 9);
  test_case("the first one is not presented again");
  memcpy(stage.bytes, first, sizeof first);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_NOT_PERMITTED);
}

static void ratchets_move_with_lent_commands(void) {
  stage_begin(10);
  stage.member.token.policy = PFC_RATCHET_REFUSE;
  stage.member.token.generation = 2;
  CHECK_NUMBER(stage_hold(&stage.member), PFC_VERDICT_HELD);
  CHECK_NUMBER(stage_lend(1, 3), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
  // A copy of the member's app borrows nothing, and costs the owner nothing.
  stage.member.ratchet[0] ^= 1;
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_COPIED);
  CHECK_NUMBER(stage_row(&stage.member)->uses, 1);
  CHECK_NUMBER(stage_slot(&stage.owner)->uses, 8);
}

static void the_log_has_grants(void) {
  static struct chip chip;
  static struct pfc_log_ring ring;
  struct dice dice = {231};
  uint8_t first[32];
  chip_make(&chip, 1024, 5, 0);
  stage_begin(10);
  dice_fill(&dice, first, sizeof first);
  CHECK_NUMBER(pfc_log_ring_format(&chip.port, &stage.world.hardware, 0, first), PFC_OK);
  CHECK_NUMBER(pfc_verifier_keep_log(&stage.world.verifier, &ring, &chip.port), PFC_OK);
  for (uint8_t kind = PFC_LOG_LENDS; kind <= PFC_LOG_TAKES_BACK; kind++) {
    struct pfc_log_content content;
    uint8_t key[32], entry[PFC_LOG_ENTRY_BYTES];
    uint64_t number;
    CHECK_NUMBER(kind == PFC_LOG_LENDS ? stage_lend(kind, 5) : stage_take_back(kind), PFC_VERDICT_DONE);
    REQUIRE(CHECK(ring.log.next > 0));
    number = ring.log.next - 1;
    memcpy(key, first, sizeof key);
    for (uint64_t i = 0; i < number; i++) pfc_log_step(key);
    CHECK_NUMBER(pfc_log_ring_read(&ring, entry, number), PFC_OK);
    CHECK_NUMBER(pfc_log_open(&content, entry, key, number, stage.world.hardware.id), PFC_OK);
    CHECK_NUMBER(content.event, PFC_LOG_GRANT);
    CHECK_NUMBER(content.verdict, PFC_VERDICT_DONE);
    CHECK_NUMBER(content.kind, kind);
    CHECK_BYTES(content.who, stage.member.token.instance_id, sizeof content.who);
    // A grant that changes nothing has no entry.
    CHECK_NUMBER(stage_present(kind == PFC_LOG_LENDS ? &stage.member : &stage.owner), PFC_VERDICT_DONE);
    CHECK_COUNT(ring.log.next, number + 1);
  }
  chip.worn = true;
  CHECK_NUMBER(stage_lend(8, 5), PFC_VERDICT_FAULT);
  CHECK_NUMBER(stage_row(&stage.member)->uses, 0);
}

static const struct test tests[] = {
    TEST("lent commands are accepted and counted, at the owner's expense", lent_commands_are_accepted_and_counted),
    TEST("own classes cost the owner nothing", own_classes_cost_the_owner_nothing),
    TEST("only an integrity match borrows", only_an_integrity_match_borrows),
    TEST("the member's own limits hold", the_members_own_limits_hold),
    TEST("nothing is lent that the owner could not do now", the_owner_must_still_be_able_to),
    TEST("uses end with the owner's", more_uses_than_the_owner_has),
    TEST("a revoked owner ends what was lent", a_revoked_owner_ends_what_was_lent),
    TEST("a revoked member loses what was lent", a_revoked_member_loses_it),
    TEST("slots that get new instances bring nothing along", slots_that_get_new_instances_bring_nothing_along),
    TEST("the slot of the owner alone is reused", the_slot_of_the_owner_alone_is_reused),
    TEST("rows name their instances", rows_name_their_instances),
    TEST("new tokens keep what was taken, not what was not", new_tokens_keep_what_was_taken),
    TEST("a candidate commits with a lent command", a_candidate_commits_with_a_lent_command),
    TEST("what is taken back does not return", taken_back),
    TEST("a grant can be taken back before it is presented", taken_back_before_it_came),
    TEST("owners do not touch each other's loans", owners_do_not_touch_each_other),
    TEST("ratchets move with lent commands", ratchets_move_with_lent_commands),
    TEST("the log has grants", the_log_has_grants),
};

const struct suite verifier_loan_suite = SUITE("verifier loan", tests);

#endif
