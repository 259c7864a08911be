// SPDX-License-Identifier: Apache-2.0

/// Effects of orders: time goes on, floors free slots, and nothing ever goes back. Revocations have a page of their
/// own.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "order_stage.h"

static void epochs_only_rise(void) {
  static const struct {
    uint64_t issued, epoch;
  } cases[] = {{100, 100}, {99, 100}, {100, 100}, {101, 101}, {1, 101}, {1000, 1000}, {5, 1000}};
  begin(1);
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_case("%u", i + 1);
    new_link();
    CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, cases[i].issued, NULL, 0), PFC_VERDICT_DONE);
    CHECK_COUNT(pfc_verifier_epoch(&world.verifier), cases[i].epoch);
    CHECK_COUNT(world_status(&world).epoch, cases[i].epoch);
    REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
    CHECK_COUNT(pfc_verifier_epoch(&world.verifier), cases[i].epoch);
  }
}

static void every_order_tells_the_time(void) {
  begin(2);
  CHECK_NUMBER(revoke(1, 500), PFC_VERDICT_DONE);
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), 500);
  CHECK_NUMBER(floor_at(600), PFC_VERDICT_DONE);
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), 600);
}

static void orders_for_any_hardware_are_refused(void) {
  struct pfc_order order = {.type = PFC_ORDER_EPOCH, .issued = 700};
  uint8_t bytes[PFC_ORDER_BYTES];
  begin(3);
  CHECK_NUMBER(pfc_order_create(bytes, &order, world.issuer.signing_key), PFC_E_ARGUMENT);
  memcpy(order.hardware_id, world.hardware.id, PFC_ID_BYTES);
  REQUIRE(CHECK_NUMBER(pfc_order_create(bytes, &order, world.issuer.signing_key), PFC_OK));
  memset(bytes + 24, 0, PFC_ID_BYTES);
  CHECK_NUMBER(world_send(&world, PFC_MESSAGE_ORDER, bytes, sizeof bytes), PFC_VERDICT_NOT_FOR_ME);
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), 0);
}

static uint8_t tell(uint8_t type, uint64_t issued) {
  new_link();
  return world_order(&world, type, issued, type == PFC_ORDER_REVOKE ? app.token.instance_id : NULL,
                     type == PFC_ORDER_REVOKE);
}

/// Presents a token of this time under a generation that is news.
static uint8_t present(uint64_t issued, uint32_t generation) {
  new_link();
  return hold(generation, issued);
}

static void one_signature_moves_time_by_a_step_at_most(void) {
  static const uint8_t types[] = {PFC_ORDER_EPOCH, PFC_ORDER_REVOKE, PFC_ORDER_FLOOR};
  for (unsigned clock = 0; clock < 2; clock++) {
    for (unsigned i = 0; i < sizeof types; i++) {
      uint64_t time = WORLD_BEGIN;
      test_case("type %u, %s clock", types[i], clock ? "with" : "without");
      begin(30 + i);
      world_clock(&world, clock == 1);
      CHECK_NUMBER(tell(PFC_ORDER_EPOCH, time), PFC_VERDICT_DONE);
      if (clock) time += 1000;
      world.seconds += 1000;
      CHECK_NUMBER(tell(types[i], time + PFC_EPOCH_STEP + 1), PFC_VERDICT_EXPIRED);
      CHECK_NUMBER(world.answer.detail, PFC_DETAIL_AHEAD);
      CHECK_NUMBER(tell(types[i], UINT64_MAX), PFC_VERDICT_EXPIRED);
      CHECK_COUNT(pfc_verifier_epoch(&world.verifier), time);
      CHECK_COUNT(world.verifier.ledger.epoch, WORLD_BEGIN);
      CHECK_COUNT(world.verifier.ledger.floor, 0);
      CHECK_NUMBER(world_status(&world).slots_used, 0);
      CHECK_NUMBER(present(time + PFC_EPOCH_STEP + 1, 1), PFC_VERDICT_EXPIRED);
      CHECK_NUMBER(world.answer.detail, PFC_DETAIL_AHEAD);
      CHECK_NUMBER(world_status(&world).slots_used, 0);
      CHECK_NUMBER(tell(types[i], time + PFC_EPOCH_STEP), PFC_VERDICT_DONE);
      CHECK_COUNT(pfc_verifier_epoch(&world.verifier), time + PFC_EPOCH_STEP);
      // The next step counts from there, also after a restart.
      REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
      time += PFC_EPOCH_STEP;
      CHECK_NUMBER(tell(types[i], time + PFC_EPOCH_STEP + 1), PFC_VERDICT_EXPIRED);
      CHECK_NUMBER(present(time + PFC_EPOCH_STEP, 7), PFC_VERDICT_HELD);
      CHECK_COUNT(pfc_verifier_epoch(&world.verifier), time + PFC_EPOCH_STEP);
    }
  }
}

static void a_provisioned_time_bounds_the_first_signature(void) {
  for (unsigned floor = 0; floor < 2; floor++) {
    test_case("%s", floor ? "floor" : "epoch");
    begin(40);
    CHECK_NUMBER(pfc_verifier_provision(&world.hardware, &world.platform, floor ? 0 : WORLD_BEGIN,
                                        floor ? WORLD_BEGIN : 0, 1),
                 PFC_OK);
    REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
    CHECK_COUNT(pfc_verifier_epoch(&world.verifier), floor ? 0 : WORLD_BEGIN);
    CHECK_NUMBER(tell(PFC_ORDER_EPOCH, WORLD_BEGIN + PFC_EPOCH_STEP + 1), PFC_VERDICT_EXPIRED);
    CHECK_NUMBER(present(WORLD_BEGIN + PFC_EPOCH_STEP + 1, 1), PFC_VERDICT_EXPIRED);
    CHECK_NUMBER(present(WORLD_BEGIN + PFC_EPOCH_STEP, 1), PFC_VERDICT_HELD);
  }
}

static void an_unknown_time_takes_the_first_signature_as_it_comes(void) {
  begin(41);
  CHECK_NUMBER(tell(PFC_ORDER_EPOCH, UINT64_MAX), PFC_VERDICT_DONE);
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), UINT64_MAX);
  // Near the last second no time is beyond the step.
  begin(42);
  CHECK_NUMBER(tell(PFC_ORDER_EPOCH, UINT64_MAX - 5), PFC_VERDICT_DONE);
  CHECK_NUMBER(tell(PFC_ORDER_EPOCH, UINT64_MAX), PFC_VERDICT_DONE);
}

static void what_is_beyond_the_step_counts_as_an_opening(void) {
  begin(43);
  CHECK_NUMBER(tell(PFC_ORDER_EPOCH, WORLD_BEGIN), PFC_VERDICT_DONE);
  new_link();
  for (unsigned i = 0; i < PFC_SESSION_OPENINGS_MAX; i++) {
    CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, UINT64_MAX - i, NULL, 0), PFC_VERDICT_EXPIRED);
  }
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 1, NULL, 0), PFC_VERDICT_BUSY);
}

static void marker_outlives_the_clock(void) {
  // The clock has passed the marker already; after a restart the clock is gone and the marker must count.
  begin(4);
  world_clock(&world, true);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, 1000, NULL, 0), PFC_VERDICT_DONE);
  world.seconds += 500;
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), 1500);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, 1400, NULL, 0), PFC_VERDICT_DONE);
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), 1500);
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK(pfc_verifier_epoch(&world.verifier) >= 1400);
}

static void clock_runs_on_after_a_marker(void) {
  begin(5);
  world_clock(&world, true);
  world.seconds = 100;
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, 1000, NULL, 0), PFC_VERDICT_DONE);
  world.seconds += 50;
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), 1050);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, 1020, NULL, 0), PFC_VERDICT_DONE);
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), 1050);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, 2000, NULL, 0), PFC_VERDICT_DONE);
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), 2000);
  world.seconds += 7;
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), 2007);
}

static void floor_supersedes_and_frees(void) {
  struct app kept;
  begin(13);
  CHECK_NUMBER(hold(1, 100), PFC_VERDICT_HELD);
  app_make(&kept, &world, 6600);
  kept.token.issued = 150;
  app_issue(&kept, &world);
  CHECK_NUMBER(app_present(&kept, &world), PFC_VERDICT_HELD);
  CHECK_NUMBER(floor_at(150), PFC_VERDICT_DONE);
  CHECK_NUMBER(world_status(&world).slots_used, 1);
  CHECK_NUMBER(act(), PFC_VERDICT_UNKNOWN);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_SUPERSEDED);
  CHECK_NUMBER(app_do(&kept, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(world_status(&world).slots_used, 1);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_SUPERSEDED);
  CHECK_NUMBER(hold(2, 149), PFC_VERDICT_SUPERSEDED);
  CHECK_NUMBER(hold(2, 150), PFC_VERDICT_HELD);
}

static void a_floor_holds_though_its_slots_could_not_be_stored(void) {
  begin(16);
  CHECK_NUMBER(hold(1, 100), PFC_VERDICT_HELD);
  // The floor is written, and then the slot is not.
  world.flash.fail_write = world.flash.writes + 1;
  CHECK_NUMBER(floor_at(150), PFC_VERDICT_FAULT);
  flash_power(&world.flash);
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_COUNT(world.verifier.ledger.floor, 150);
  CHECK_NUMBER(world_status(&world).slots_used, 0);
  CHECK_NUMBER(act(), PFC_VERDICT_UNKNOWN);
}

static void floors_only_rise(void) {
  begin(14);
  CHECK_NUMBER(floor_at(500), PFC_VERDICT_DONE);
  CHECK_NUMBER(floor_at(400), PFC_VERDICT_DONE);
  CHECK_NUMBER(hold(1, 450), PFC_VERDICT_SUPERSEDED);
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_SUPERSEDED);
}

static void freed_slots_hold_nothing(void) {
  static const uint8_t nothing[PFC_SLOT_BYTES];
  uint8_t payload[PFC_SLOT_BYTES], encoded[PFC_SLOT_BYTES];
  struct pfc_record record;
  begin(15);
  CHECK_NUMBER(hold(1, 100), PFC_VERDICT_HELD);
  CHECK_NUMBER(floor_at(150), PFC_VERDICT_DONE);
  pfc_slot_encode(encoded, &world.verifier.ledger.slots[0]);
  CHECK_BYTES(encoded, nothing, sizeof nothing);
  CHECK_NUMBER(
      payload_load(&record, payload, sizeof payload, &world.platform.storage, 1, world.verifier.ledger.record_key),
      PFC_OK);
  CHECK_BYTES(payload, nothing, sizeof nothing);
}

static void orders_twice_late_or_out_of_turn_do_no_harm(void) {
  struct {
    uint8_t type;
    uint64_t issued;
    uint32_t generation;
  } orders[] = {
      {PFC_ORDER_EPOCH, 300, 0}, {PFC_ORDER_REVOKE, 200, 2}, {PFC_ORDER_FLOOR, 150, 0}, {PFC_ORDER_REVOKE, 250, 3}};
  // Every order of the four, each twice: the end is the same.
  for (unsigned permutation = 0; permutation < 256; permutation++) {
    unsigned seen = 0;
    for (unsigned i = 0; i < 4; i++) seen |= 1u << (permutation >> (2 * i) & 3);
    if (seen != 15) continue;
    test_case("order %03x", permutation);
    begin(20);
    CHECK_NUMBER(hold(2, 160), PFC_VERDICT_HELD);
    for (unsigned i = 0; i < 8; i++) {
      unsigned which = permutation >> (2 * (i % 4)) & 3;
      new_link();
      CHECK_NUMBER(
          world_order(&world, orders[which].type, orders[which].issued,
                      orders[which].type == PFC_ORDER_REVOKE ? app.token.instance_id : NULL, orders[which].generation),
          PFC_VERDICT_DONE);
    }
    CHECK_COUNT(pfc_verifier_epoch(&world.verifier), 300);
    CHECK_COUNT(world.verifier.ledger.floor, 150);
    CHECK_NUMBER(act(), PFC_VERDICT_REVOKED);
    CHECK_NUMBER(hold(3, 400), PFC_VERDICT_REVOKED);
    CHECK_NUMBER(hold(4, 400), PFC_VERDICT_HELD);
  }
}

static void refusals_are_told_apart(void) {
  static const char *const what[] = {"a wrong magic",
                                     "another version",
                                     "another suite",
                                     "other hardware",
                                     "a stranger's signature",
                                     "a type of a later version",
                                     "a revocation of no instance"};
  static const uint8_t expected[] = {PFC_VERDICT_MALFORMED,  PFC_VERDICT_TOO_NEW,    PFC_VERDICT_TOO_NEW,
                                     PFC_VERDICT_NOT_FOR_ME, PFC_VERDICT_NOT_SIGNED, PFC_VERDICT_TOO_NEW,
                                     PFC_VERDICT_MALFORMED};
  for (unsigned i = 0; i < 7; i++) {
    struct pfc_order order;
    struct issuer stranger;
    uint8_t body[60], bytes[PFC_ORDER_BYTES];
    test_case("%u. %s", i + 1, what[i]);
    begin(21);
    issuer_make(&stranger, 22);
    memset(&order, 0, sizeof order);
    order.type = i == 6 ? PFC_ORDER_REVOKE : PFC_ORDER_EPOCH;
    order.generation = i == 6;
    order.issued = 900;
    memcpy(order.hardware_id, world.hardware.id, 16);
    forge_order_body(body, &order, &world.issuer);
    if (i == 5) body[4] = 9;
    forge_order(bytes, body, i == 4 ? &stranger : &world.issuer);
    if (i == 0) bytes[1] ^= 1;
    if (i == 1) bytes[2] = 2;
    if (i == 2) bytes[3] = 2;
    if (i == 3) bytes[39] ^= 1;
    CHECK_NUMBER(world_send(&world, PFC_MESSAGE_ORDER, bytes, sizeof bytes), expected[i]);
    CHECK_COUNT(pfc_verifier_epoch(&world.verifier), 0);
    CHECK_NUMBER(world.link->openings, i >= 4);
  }
}

static const struct test tests[] = {
    TEST("the epoch rises and never goes back, restarts included", epochs_only_rise),
    TEST("every order tells the time", every_order_tells_the_time),
    TEST("an order for any hardware is refused", orders_for_any_hardware_are_refused),
    TEST("one signature moves the time by a step at most", one_signature_moves_time_by_a_step_at_most),
    TEST("a provisioned time bounds the first signature", a_provisioned_time_bounds_the_first_signature),
    TEST("an unknown time takes the first signature as it comes",
         an_unknown_time_takes_the_first_signature_as_it_comes),
    TEST("an order or a token beyond the step counts as an opening", what_is_beyond_the_step_counts_as_an_opening),
    TEST("a marker that the clock has passed already still counts after a restart", marker_outlives_the_clock),
    TEST("a clock runs on from the last marker that was news", clock_runs_on_after_a_marker),
    TEST("a floor supersedes older tokens and frees their slots", floor_supersedes_and_frees),
    TEST("a floor holds though its slots could not be stored", a_floor_holds_though_its_slots_could_not_be_stored),
    TEST("a floor never goes down", floors_only_rise),
    TEST("a freed slot holds nothing, in memory and in storage", freed_slots_hold_nothing),
    TEST("orders twice, late or out of turn do no harm", orders_twice_late_or_out_of_turn_do_no_harm),
    TEST("each refusal of an order has its verdict", refusals_are_told_apart),
};

const struct suite verifier_order_suite = SUITE("verifier order", tests);
