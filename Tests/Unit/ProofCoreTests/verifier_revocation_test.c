// SPDX-License-Identifier: Apache-2.0

/// Effects of a revocation: it holds at once, before its token is seen, beside a newer one, and until a floor above it.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "order_stage.h"

static void revocation_ends_a_held_token(void) {
  begin(6);
  CHECK_NUMBER(hold(3, 100), PFC_VERDICT_HELD);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  CHECK_NUMBER(revoke(3, 200), PFC_VERDICT_DONE);
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_REVOKED);
  CHECK_NUMBER(act(), PFC_VERDICT_REVOKED);
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_DEVICE, 1, "go"), PFC_VERDICT_REVOKED);
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_UNKNOWN);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_REVOKED);
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_REVOKED);
  CHECK_NUMBER(act(), PFC_VERDICT_REVOKED);
  CHECK_NUMBER(hold(2, 300), PFC_VERDICT_REVOKED);
  CHECK_NUMBER(hold(4, 300), PFC_VERDICT_HELD);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  new_link();
  CHECK_NUMBER(hold(3, 400), PFC_VERDICT_REVOKED);
}

static void revocation_leaves_no_secrets(void) {
  static const struct pfc_secrets none;
  begin(7);
  CHECK_NUMBER(hold(3, 100), PFC_VERDICT_HELD);
  CHECK_NUMBER(revoke(3, 200), PFC_VERDICT_DONE);
  int index = pfc_ledger_find(&world.verifier.ledger, app.token.instance_id);
  REQUIRE(CHECK(index >= 0));
  CHECK_BYTES(&world.verifier.ledger.slots[index].secrets, &none, sizeof none);
}

static void older_revocation_spares_a_newer_token(void) {
  begin(8);
  CHECK_NUMBER(hold(5, 100), PFC_VERDICT_HELD);
  CHECK_NUMBER(revoke(4, 200), PFC_VERDICT_DONE);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
  CHECK_NUMBER(revoke(5, 300), PFC_VERDICT_DONE);
  CHECK_NUMBER(act(), PFC_VERDICT_REVOKED);
}

static void revocation_comes_before_the_token(void) {
  begin(9);
  CHECK_NUMBER(revoke(3, 200), PFC_VERDICT_DONE);
  CHECK_NUMBER(world_status(&world).slots_used, 1);
  CHECK_NUMBER(hold(3, 100), PFC_VERDICT_REVOKED);
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_REVOKED);
  CHECK_NUMBER(hold(4, 300), PFC_VERDICT_HELD);
  CHECK_NUMBER(world_status(&world).slots_used, 1);
}

static void revocation_of_all_leaves_none(void) {
  begin(10);
  CHECK_NUMBER(revoke(PFC_GENERATION_ALL, 200), PFC_VERDICT_DONE);
  CHECK_NUMBER(hold(1, 300), PFC_VERDICT_REVOKED);
  CHECK_NUMBER(hold(PFC_GENERATION_ALL - 1, 300), PFC_VERDICT_REVOKED);
}

static void revocations_never_go_down(void) {
  begin(11);
  CHECK_NUMBER(revoke(9, 200), PFC_VERDICT_DONE);
  CHECK_NUMBER(revoke(4, 300), PFC_VERDICT_DONE);
  CHECK_NUMBER(hold(9, 400), PFC_VERDICT_REVOKED);
  CHECK_NUMBER(hold(10, 400), PFC_VERDICT_HELD);
  new_link();
  CHECK_NUMBER(revoke(9, 500), PFC_VERDICT_DONE);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
}

static void revocation_needs_room(void) {
  struct app others[PFC_SLOTS];
  begin(12);
  for (unsigned i = 0; i < PFC_SLOTS; i++) {
    app_make(&others[i], &world, 6500 + i);
    app_issue(&others[i], &world);
    CHECK_NUMBER(app_present(&others[i], &world), PFC_VERDICT_HELD);
  }
  CHECK_NUMBER(revoke(1, WORLD_BEGIN + 1), PFC_VERDICT_NO_ROOM);
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), WORLD_BEGIN);
  test_case("an instance that has a slot needs none");
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 1, others[PFC_SLOTS - 1].token.instance_id, 1),
               PFC_VERDICT_DONE);
  CHECK_NUMBER(app_do(&others[PFC_SLOTS - 1], &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_REVOKED);
  CHECK_NUMBER(app_do(&others[PFC_SLOTS - 2], &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
}

static void floor_spares_a_later_revocation(void) {
  begin(16);
  test_case("1. a revocation issued after the floor, of a token issued before it");
  CHECK_NUMBER(hold(1, 100), PFC_VERDICT_HELD);
  CHECK_NUMBER(revoke(PFC_GENERATION_ALL, 200), PFC_VERDICT_DONE);
  CHECK_NUMBER(floor_at(150), PFC_VERDICT_DONE);
  CHECK_NUMBER(hold(2, 160), PFC_VERDICT_REVOKED);
  test_case("2. a revocation issued before the floor goes with its slot");
  new_link();
  CHECK_NUMBER(floor_at(201), PFC_VERDICT_DONE);
  CHECK_NUMBER(world_status(&world).slots_used, 0);
  test_case("3. a revocation issued before its token, the floor between them");
  CHECK_NUMBER(hold(7, 500), PFC_VERDICT_HELD);
  CHECK_NUMBER(revoke(7, 300), PFC_VERDICT_DONE);
  CHECK_NUMBER(floor_at(400), PFC_VERDICT_DONE);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_REVOKED);
}

static void floor_spares_a_revocation_beside_a_newer_token(void) {
  static const struct pfc_secrets none;
  begin(26);
  CHECK_NUMBER(hold(5, 100), PFC_VERDICT_HELD);
  CHECK_NUMBER(revoke(3, 200), PFC_VERDICT_DONE);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(floor_at(150), PFC_VERDICT_DONE);
  test_case("1. the floor ends the token, and its secrets go");
  int index = pfc_ledger_find(&world.verifier.ledger, app.token.instance_id);
  REQUIRE(CHECK(index >= 0));
  CHECK_BYTES(&world.verifier.ledger.slots[index].secrets, &none, sizeof none);
  CHECK_NUMBER(act(), PFC_VERDICT_REVOKED);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_SUPERSEDED);
  test_case("2. the revocation stays, restarts included");
  CHECK_NUMBER(hold(3, 160), PFC_VERDICT_REVOKED);
  CHECK_NUMBER(hold(4, 160), PFC_VERDICT_SUPERSEDED);
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(hold(3, 160), PFC_VERDICT_REVOKED);
  test_case("3. up to its own time");
  new_link();
  CHECK_NUMBER(floor_at(200), PFC_VERDICT_DONE);
  CHECK_NUMBER(hold(3, 200), PFC_VERDICT_REVOKED);
  CHECK_NUMBER(floor_at(201), PFC_VERDICT_DONE);
  CHECK_NUMBER(world_status(&world).slots_used, 0);
  test_case("4. the next generation may come all the while");
  begin(27);
  CHECK_NUMBER(hold(5, 100), PFC_VERDICT_HELD);
  CHECK_NUMBER(revoke(3, 200), PFC_VERDICT_DONE);
  CHECK_NUMBER(floor_at(150), PFC_VERDICT_DONE);
  CHECK_NUMBER(hold(6, 160), PFC_VERDICT_HELD);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
}

static void revocation_beside_a_newer_token_counts_from_its_latest_time(void) {
  begin(28);
  CHECK_NUMBER(hold(5, 100), PFC_VERDICT_HELD);
  CHECK_NUMBER(revoke(3, 120), PFC_VERDICT_DONE);
  CHECK_NUMBER(revoke(2, 200), PFC_VERDICT_DONE);
  CHECK_NUMBER(floor_at(150), PFC_VERDICT_DONE);
  CHECK_NUMBER(hold(3, 160), PFC_VERDICT_REVOKED);
}

static void renewed_revocation_counts_from_its_own_time(void) {
  begin(17);
  CHECK_NUMBER(revoke(PFC_GENERATION_ALL, 100), PFC_VERDICT_DONE);
  CHECK_NUMBER(revoke(PFC_GENERATION_ALL, 200), PFC_VERDICT_DONE);
  CHECK_NUMBER(floor_at(150), PFC_VERDICT_DONE);
  CHECK_NUMBER(hold(2, 160), PFC_VERDICT_REVOKED);
}

static void replayed_old_revocations_take_no_room(void) {
  // Orders are public and for ever: a stranger replays those a floor has swept away.
  struct app victims[PFC_SLOTS];
  begin(19);
  for (unsigned i = 0; i < PFC_SLOTS; i++) {
    app_make(&victims[i], &world, 6700 + i);
    new_link();
    CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, 100 + i, victims[i].token.instance_id, 1), PFC_VERDICT_DONE);
  }
  CHECK_NUMBER(world_status(&world).slots_used, PFC_SLOTS);
  CHECK_NUMBER(floor_at(500), PFC_VERDICT_DONE);
  CHECK_NUMBER(world_status(&world).slots_used, 0);
  for (unsigned i = 0; i < PFC_SLOTS; i++) {
    new_link();
    (void)world_order(&world, PFC_ORDER_REVOKE, 100 + i, victims[i].token.instance_id, 1);
  }
  new_link();
  CHECK_NUMBER(hold(1, 600), PFC_VERDICT_HELD);
}

static void revocations_without_news_are_no_progress(void) {
  // The same again, an older one, one of fewer generations: each counts as an opening, and costs no write.
  begin(24);
  CHECK_NUMBER(revoke(5, 200), PFC_VERDICT_DONE);
  new_link();
  long writes = world.flash.writes;
  CHECK_NUMBER(revoke(5, 200), PFC_VERDICT_DONE);
  CHECK_NUMBER(revoke(5, 150), PFC_VERDICT_DONE);
  CHECK_NUMBER(revoke(3, 200), PFC_VERDICT_DONE);
  CHECK_NUMBER(revoke(4, 199), PFC_VERDICT_DONE);
  CHECK_NUMBER(revoke(5, 200), PFC_VERDICT_BUSY);
  CHECK_NUMBER(world.flash.writes, writes);
  test_case("beside a newer token");
  begin(25);
  CHECK_NUMBER(hold(9, 100), PFC_VERDICT_HELD);
  CHECK_NUMBER(revoke(5, 200), PFC_VERDICT_DONE);
  new_link();
  writes = world.flash.writes;
  for (unsigned i = 0; i < PFC_SESSION_OPENINGS_MAX; i++) CHECK_NUMBER(revoke(5, 200), PFC_VERDICT_DONE);
  CHECK_NUMBER(revoke(5, 200), PFC_VERDICT_BUSY);
  CHECK_NUMBER(world.flash.writes, writes);
}

static void replayed_old_revocations_are_no_progress(void) {
  // A revocation removed by a floor changes nothing when it comes again: it counts as an opening, and costs no write.
  begin(23);
  CHECK_NUMBER(revoke(1, 100), PFC_VERDICT_DONE);
  CHECK_NUMBER(floor_at(500), PFC_VERDICT_DONE);
  new_link();
  long writes = world.flash.writes;
  for (unsigned i = 0; i < PFC_SESSION_OPENINGS_MAX; i++) CHECK_NUMBER(revoke(1, 100), PFC_VERDICT_DONE);
  CHECK_NUMBER(revoke(1, 100), PFC_VERDICT_BUSY);
  CHECK_NUMBER(world.flash.writes, writes);
}

static const struct test tests[] = {
    TEST("a revocation ends a held token at once and for good", revocation_ends_a_held_token),
    TEST("a revoked slot keeps no secret", revocation_leaves_no_secrets),
    TEST("a revocation of older generations spares a newer token", older_revocation_spares_a_newer_token),
    TEST("a revocation holds that arrives before its token", revocation_comes_before_the_token),
    TEST("a revocation of all generations leaves none", revocation_of_all_leaves_none),
    TEST("a revoked generation never goes down", revocations_never_go_down),
    TEST("a revocation of an unknown instance needs room, of a known one none", revocation_needs_room),
    TEST("a floor spares a revocation issued after it", floor_spares_a_later_revocation),
    TEST("a floor that ends a token spares an older generation's later revocation",
         floor_spares_a_revocation_beside_a_newer_token),
    TEST("a revocation beside a newer token counts from its latest time",
         revocation_beside_a_newer_token_counts_from_its_latest_time),
    TEST("a renewed revocation counts from its own time", renewed_revocation_counts_from_its_own_time),
    TEST("revocations that a floor has swept away take no room when replayed", replayed_old_revocations_take_no_room),
    TEST("revocations that a floor has swept away are no progress when replayed",
         replayed_old_revocations_are_no_progress),
    TEST("revocations that say nothing new are no progress", revocations_without_news_are_no_progress),
};

const struct suite verifier_revocation_suite = SUITE("verifier revocation", tests);
