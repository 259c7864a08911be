// SPDX-License-Identifier: Apache-2.0

/// Upcoming tokens: a candidate on one link, which replaces the slot's generation when it first proves itself.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "world.h"

static struct world world;
static struct app app, updated;

/// The present token is held, and the backend has made the upcoming one.
static void begin(uint64_t seed) {
  world_make(&world, seed);
  app_make(&app, &world, seed + 7000);
  app_renew(&app);
}

static void hold(void) {
  app_issue(&app, &world);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
  updated = app;
  app_update(&updated);
  app_issue(&updated, &world);
}

static void stand(void) { CHECK_NUMBER(app_present(&updated, &world), PFC_VERDICT_READY); }

static uint8_t act(struct app *who) { return app_do(who, &world, PFC_KIND_INTEGRITY, 1, "go"); }

static uint8_t act_changed(struct app *who) {
  who->token.secrets.integrity[0] ^= 1;
  uint8_t verdict = act(who);
  who->token.secrets.integrity[0] ^= 1;
  return verdict;
}

static void use_link(unsigned number) { world.link = &world.links[number]; }

static void disconnect(void) {
  pfc_session_close(world.link);
  pfc_session_init(world.link);
}

static const struct pfc_slot *slot(void) {
  int index = pfc_ledger_find(&world.verifier.ledger, app.token.instance_id);
  return &world.verifier.ledger.slots[index < 0 ? 0 : index];
}

static void presenting_changes_nothing(void) {
  begin(1);
  hold();
  long writes = world.flash.writes;
  struct pfc_slot before = *slot();
  stand();
  CHECK_NUMBER(world.answer.detail, 65535);
  CHECK_NUMBER(world.flash.writes, writes);
  CHECK_BYTES(slot(), &before, sizeof before);
  CHECK_NUMBER(world_status(&world).slots_used, 1);
  test_case("the present app, on the same link");
  CHECK_NUMBER(act(&app), PFC_VERDICT_ACCEPTED);
  test_case("the updated app, on another link");
  use_link(1);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_DEVICE_DIFFERS);
}

static void first_proof_commits_in_one_write(void) {
  begin(2);
  app.token.uses = 9;
  hold();
  stand();
  long writes = world.flash.writes;
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(world.answer.detail, 8);
  CHECK_NUMBER(world.flash.writes, writes + 1);
  CHECK_NUMBER(slot()->generation, 2);
  CHECK_ZEROS(&world.link->candidate, sizeof world.link->candidate);
  for (unsigned start = 0; start < 2; start++) {
    test_case("start %u", start);
    CHECK_NUMBER(act(&app), PFC_VERDICT_DEVICE_DIFFERS);
    CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_SUPERSEDED);
    CHECK_NUMBER(app_present(&updated, &world), PFC_VERDICT_HELD);
    CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
    REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  }
}

static void commit_is_stored_without_limit_of_uses(void) {
  begin(3);
  hold();
  stand();
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(act(&app), PFC_VERDICT_DEVICE_DIFFERS);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
}

static void candidate_ends_with_its_link(void) {
  begin(4);
  hold();
  stand();
  disconnect();
  CHECK_NUMBER(act(&updated), PFC_VERDICT_DEVICE_DIFFERS);
  stand();
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(act(&updated), PFC_VERDICT_DEVICE_DIFFERS);
  stand();
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
}

static void without_held_slot_it_is_ordinary(void) {
  begin(5);
  test_case("a free slot");
  app_issue(&app, &world);
  updated = app;
  app_update(&updated);
  app_issue(&updated, &world);
  CHECK_NUMBER(app_present(&updated, &world), PFC_VERDICT_HELD);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
  test_case("a revoked slot");
  begin(6);
  hold();
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN, app.token.instance_id, 1), PFC_VERDICT_DONE);
  CHECK_NUMBER(app_present(&updated, &world), PFC_VERDICT_HELD);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
}

static void uses_are_shared(void) {
  begin(7);
  app.token.uses = 4;
  hold();
  CHECK_NUMBER(act(&app), PFC_VERDICT_ACCEPTED);
  stand();
  test_case("what the present generation has used");
  CHECK_NUMBER(world.answer.detail, 3);
  CHECK_NUMBER(act(&app), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(world.answer.detail, 1);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_NO_USES);
  test_case("the upcoming token's own limit");
  begin(8);
  hold();
  updated.token.uses = 2;
  app_issue(&updated, &world);
  stand();
  CHECK_NUMBER(world.answer.detail, 2);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(world.answer.detail, 1);
  test_case("no use is left");
  begin(9);
  app.token.uses = 1;
  hold();
  CHECK_NUMBER(act(&app), PFC_VERDICT_ACCEPTED);
  stand();
  CHECK_NUMBER(act(&updated), PFC_VERDICT_NO_USES);
}

static void attempts_are_shared(void) {
  begin(10);
  hold();
  CHECK_NUMBER(act_changed(&app), PFC_VERDICT_INTEGRITY_DIFFERS);
  stand();
  CHECK_NUMBER(act_changed(&updated), PFC_VERDICT_INTEGRITY_DIFFERS);
  CHECK_NUMBER(world.answer.detail, 1);
  CHECK_NUMBER(slot()->generation, 1);
  test_case("the attempt is stored, and another candidate brings none back");
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(slot()->attempts, 1);
  stand();
  CHECK_NUMBER(act_changed(&updated), PFC_VERDICT_INTEGRITY_DIFFERS);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_NO_ATTEMPTS);
  CHECK_NUMBER(act(&app), PFC_VERDICT_NO_ATTEMPTS);
  test_case("what is left goes over with the commit");
  begin(11);
  hold();
  CHECK_NUMBER(act_changed(&app), PFC_VERDICT_INTEGRITY_DIFFERS);
  stand();
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(slot()->attempts, 2);
}

static void device_match_commits_nothing(void) {
  begin(12);
  hold();
  stand();
  CHECK_NUMBER(app_do(&updated, &world, PFC_KIND_DEVICE, 1, "go"), PFC_VERDICT_DEVICE_DIFFERS);
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_DEVICE, 1, "go"), PFC_VERDICT_ACCEPTED_DEVICE);
  CHECK_NUMBER(slot()->generation, 1);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
}

static void refused_command_commits_nothing(void) {
  begin(13);
  hold();
  updated.token.integrity_classes = updated.token.device_classes = 1;
  app_issue(&updated, &world);
  stand();
  CHECK_NUMBER(act(&updated), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(slot()->generation, 1);
  CHECK_NUMBER(act(&app), PFC_VERDICT_ACCEPTED);
}

static void candidate_is_judged_again(void) {
  struct app newest;
  test_case("revoked meanwhile");
  begin(14);
  hold();
  stand();
  use_link(1);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN, app.token.instance_id, 2), PFC_VERDICT_DONE);
  newest = updated;
  newest.token.generation = 3;
  newest.token.policy = 0;
  app_issue(&newest, &world);
  CHECK_NUMBER(app_present(&newest, &world), PFC_VERDICT_HELD);
  use_link(0);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_REVOKED);
  test_case("a newer token meanwhile");
  begin(15);
  hold();
  stand();
  use_link(1);
  newest = updated;
  newest.token.generation = 3;
  newest.token.policy = 0;
  newest.token.secrets.device[0] ^= 1;
  app_issue(&newest, &world);
  CHECK_NUMBER(app_present(&newest, &world), PFC_VERDICT_HELD);
  use_link(0);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_SUPERSEDED);
  CHECK_NUMBER(act(&newest), PFC_VERDICT_ACCEPTED);
  test_case("a floor above the candidate meanwhile");
  begin(16);
  app.token.issued = WORLD_BEGIN + 20;
  hold();
  updated.token.issued = WORLD_BEGIN;
  app_issue(&updated, &world);
  stand();
  CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 10, NULL, 0), PFC_VERDICT_DONE);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_SUPERSEDED);
  CHECK_NUMBER(act(&app), PFC_VERDICT_ACCEPTED);
  test_case("the slot is freed meanwhile");
  begin(17);
  hold();
  stand();
  CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 10, NULL, 0), PFC_VERDICT_DONE);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_UNKNOWN);
  test_case("the slot is revoked meanwhile, and the candidate is not");
  begin(18);
  hold();
  stand();
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN, app.token.instance_id, 1), PFC_VERDICT_DONE);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_REVOKED);
}

static void revocation_goes_over(void) {
  struct app third;
  begin(19);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 5, app.token.instance_id, 4), PFC_VERDICT_DONE);
  app.token.generation = 5;
  app_renew(&app);
  hold();
  stand();
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(slot()->revoked, 4);
  CHECK(slot()->revoked_at == WORLD_BEGIN + 5);
  third = updated;
  third.token.generation = 4;
  third.token.base = 4;
  app_issue(&third, &world);
  CHECK_NUMBER(app_present(&third, &world), PFC_VERDICT_REVOKED);
}

static void two_links_commit_once(void) {
  begin(20);
  app.token.uses = 5;
  hold();
  stand();
  use_link(1);
  stand();
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(world.answer.detail, 4);
  use_link(0);
  test_case("the other link's candidate is the slot's token now");
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(world.answer.detail, 3);
  CHECK_NUMBER(act_changed(&updated), PFC_VERDICT_INTEGRITY_DIFFERS);
  CHECK_NUMBER(world.answer.detail, 2);
}

static void last_of_several_stands(void) {
  struct app both;
  begin(21);
  hold();
  both = updated;
  app_update(&both);
  app_issue(&both, &world);
  stand();
  CHECK_NUMBER(app_present(&both, &world), PFC_VERDICT_READY);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_DEVICE_DIFFERS);
  CHECK_NUMBER(act(&both), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(app_present(&updated, &world), PFC_VERDICT_SUPERSEDED);
}

static void another_instance_does_not_serve(void) {
  struct app guest;
  begin(22);
  app_make(&guest, &world, 99);
  app_renew(&guest);
  app_issue(&guest, &world);
  CHECK_NUMBER(app_present(&guest, &world), PFC_VERDICT_HELD);
  hold();
  stand();
  CHECK_NUMBER(act(&guest), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(slot()->generation, 1);
  test_case("the candidate's proofs under the guest's name");
  memcpy(updated.token.instance_id, guest.token.instance_id, PFC_ID_BYTES);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_DEVICE_DIFFERS);
}

static void candidates_cost_openings(void) {
  begin(23);
  hold();
  for (unsigned i = 0; i < PFC_SESSION_OPENINGS_MAX; i++) stand();
  CHECK_NUMBER(app_present(&updated, &world), PFC_VERDICT_BUSY);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
}

static void strangers_pay_for_both_looks(void) {
  begin(24);
  hold();
  stand();
  struct app stranger = updated;
  stranger.token.secrets.device[0] ^= 1;
  for (unsigned i = 0; i < PFC_SESSION_REFUSALS_MAX; i++) {
    CHECK_NUMBER(act(&stranger), PFC_VERDICT_DEVICE_DIFFERS);
    CHECK_NUMBER(world.link->refusals, i + 1);
  }
  CHECK_NUMBER(act(&updated), PFC_VERDICT_BUSY);
  CHECK_NUMBER(slot()->attempts, 3);
}

static void ends_are_each_generations_own(void) {
  begin(25);
  app.token.not_after = WORLD_BEGIN + 10;
  hold();
  updated.token.not_after = 0;
  app_issue(&updated, &world);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 20, NULL, 0), PFC_VERDICT_DONE);
  stand();
  CHECK_NUMBER(act(&app), PFC_VERDICT_EXPIRED);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
  test_case("the candidate's end passes meanwhile");
  begin(26);
  hold();
  updated.token.not_after = WORLD_BEGIN + 10;
  app_issue(&updated, &world);
  stand();
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 20, NULL, 0), PFC_VERDICT_DONE);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_EXPIRED);
  disconnect();
  CHECK_NUMBER(app_present(&updated, &world), PFC_VERDICT_EXPIRED);
  CHECK_NUMBER(act(&app), PFC_VERDICT_ACCEPTED);
}

static void upcoming_token_tells_the_time(void) {
  begin(27);
  hold();
  updated.token.issued = WORLD_BEGIN + 100;
  app_issue(&updated, &world);
  stand();
  CHECK(world_status(&world).epoch == WORLD_BEGIN + 100);
}

static void recall_finds_either_generation(void) {
  begin(28);
  app.token.uses = 9;
  hold();
  test_case("the verdict is lost after the commit");
  stand();
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
  disconnect();
  CHECK_NUMBER(app_recall(&updated, &world), PFC_VERDICT_ACCEPTED);
  test_case("the command is lost before the commit");
  begin(29);
  app.token.uses = 9;
  hold();
  stand();
  REQUIRE(world_ask(&world, &updated.challenge));
  app_command(&updated, &world, PFC_KIND_INTEGRITY, 1, "go");
  disconnect();
  CHECK_NUMBER(app_recall(&updated, &world), PFC_VERDICT_DEVICE_DIFFERS);
  struct app older = app;
  older.challenge = updated.challenge;
  memcpy(older.nonce, updated.nonce, sizeof older.nonce);
  CHECK_NUMBER(app_recall(&older, &world), PFC_VERDICT_NOT_EXECUTED);
}

static void last_command_goes_over(void) {
  begin(30);
  app.token.uses = 9;
  hold();
  CHECK_NUMBER(act(&app), PFC_VERDICT_ACCEPTED);
  struct app done = app;
  stand();
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
  test_case("an older command under the newer pair");
  struct app asker = updated;
  asker.challenge = done.challenge;
  memcpy(asker.nonce, done.nonce, sizeof asker.nonce);
  CHECK_NUMBER(app_recall(&asker, &world), PFC_VERDICT_STALE);
}

static void failed_store_leaves_the_older(void) {
  begin(31);
  app.token.uses = 5;
  hold();
  stand();
  world.flash.fail_write = world.flash.writes;
  CHECK_NUMBER(act(&updated), PFC_VERDICT_FAULT);
  CHECK_NUMBER(slot()->generation, 1);
  CHECK_NUMBER(slot()->uses, 5);
  CHECK_NUMBER(act(&app), PFC_VERDICT_ACCEPTED);
  stand();
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(world.answer.detail, 3);
}

static void power_cut_leaves_one_generation(void) {
  static struct world moment;
  struct app app_then, updated_then;
  unsigned older = 0, newer = 0;
  begin(32);
  app.token.uses = 5;
  hold();
  stand();
  moment = world;
  app_then = app;
  updated_then = updated;
  for (size_t offset = 0; offset <= PFC_RECORD_BYTES_MAX; offset++) {
    for (int rest = FLASH_OLD; rest <= FLASH_RANDOM; rest++) {
      test_case("cut after %zu bytes, rest %d", offset, rest);
      world = moment;
      app = app_then;
      updated = updated_then;
      // The copy's callbacks lead to its own flash: there is one world.
      world.flash.cut_write = world.flash.writes;
      world.flash.cut_offset = offset;
      world.flash.cut_rest = (enum flash_rest)rest;
      world.link = &world.links[0];
      (void)act(&updated);
      REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
      bool is_new = slot()->generation == 2;
      CHECK_NUMBER(slot()->uses, is_new ? 4 : 5);
      CHECK_NUMBER(act(is_new ? &app : &updated), PFC_VERDICT_DEVICE_DIFFERS);
      CHECK_NUMBER(act(is_new ? &updated : &app), PFC_VERDICT_ACCEPTED);
      CHECK_NUMBER(app_present(&updated, &world), is_new ? PFC_VERDICT_HELD : PFC_VERDICT_READY);
      older += !is_new;
      newer += is_new;
    }
  }
  CHECK(older > 0 && newer > 0);
  test_note("%u cuts left the older generation, %u the newer", older, newer);
}

static void replays_of_the_older_generation_fail(void) {
  begin(33);
  hold();
  REQUIRE(world_ask(&world, &app.challenge));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  use_link(1);
  stand();
  CHECK_NUMBER(act(&updated), PFC_VERDICT_ACCEPTED);
  use_link(0);
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
  for (unsigned i = 0; i < 3; i++) {
    CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_SUPERSEDED);
    CHECK_NUMBER(act(&app), PFC_VERDICT_DEVICE_DIFFERS);
  }
}

static void overwritten_candidate_is_not_committed(void) {
  begin(34);
  hold();
  stand();
  memset(&world.link->candidate.secrets, 0x5a, sizeof world.link->candidate.secrets);
  memset(&updated.token.secrets, 0x5a, sizeof updated.token.secrets);
  CHECK_NUMBER(act(&updated), PFC_VERDICT_FAULT);
  CHECK_NUMBER(slot()->generation, 1);
  CHECK_NUMBER(act(&app), PFC_VERDICT_ACCEPTED);
}

static void capabilities_name_it(void) {
  struct pfc_capabilities capabilities;
  begin(35);
  pfc_verifier_capabilities(&world.verifier, &capabilities);
  CHECK((capabilities.features & PFC_FEATURE_UPCOMING) != 0);
}

static void literal_form_is_refused(void) {
  struct pfc_token token;
  begin(36);
  world.hardware.allow_literal = 1;
  hold();
  token = updated.token;
  token.form = PFC_FORM_LITERAL;
  uint8_t bytes[PFC_TOKEN_BYTES], ephemeral[32] = {5};
  CHECK_NUMBER(
      pfc_token_create(bytes, &token, world.hardware.public_key, NULL, world.issuer.signing_key, ephemeral),
      PFC_E_ARGUMENT);
}

static const struct test tests[] = {
    TEST("presenting an upcoming token changes nothing", presenting_changes_nothing),
    TEST("its first proof commits it, in one write", first_proof_commits_in_one_write),
    TEST("the commit is stored where uses are not counted", commit_is_stored_without_limit_of_uses),
    TEST("a candidate ends with its link", candidate_ends_with_its_link),
    TEST("without a held slot it is an ordinary token", without_held_slot_it_is_ordinary),
    TEST("two generations share the uses", uses_are_shared),
    TEST("two generations share the attempts", attempts_are_shared),
    TEST("a device match commits nothing", device_match_commits_nothing),
    TEST("a refused command commits nothing", refused_command_commits_nothing),
    TEST("a candidate is judged again at its command", candidate_is_judged_again),
    TEST("the revocation goes over to the new generation", revocation_goes_over),
    TEST("two links commit once", two_links_commit_once),
    TEST("the last of several upcoming tokens stands", last_of_several_stands),
    TEST("a candidate does not serve another instance", another_instance_does_not_serve),
    TEST("candidates cost openings", candidates_cost_openings),
    TEST("a stranger's guess costs one refusal, and no attempt", strangers_pay_for_both_looks),
    TEST("each generation ends at its own time", ends_are_each_generations_own),
    TEST("an upcoming token tells the time", upcoming_token_tells_the_time),
    TEST("a recall finds either generation", recall_finds_either_generation),
    TEST("the last command goes over to the new generation", last_command_goes_over),
    TEST("a commit that could not be stored leaves the older generation", failed_store_leaves_the_older),
    TEST("a power cut leaves one generation", power_cut_leaves_one_generation),
    TEST("replays of the older generation fail", replays_of_the_older_generation_fail),
    TEST("an overwritten candidate is not committed", overwritten_candidate_is_not_committed),
    TEST("capabilities name it", capabilities_name_it),
    TEST("the literal form has no upcoming token", literal_form_is_refused),
};

const struct suite verifier_candidate_suite = SUITE("verifier candidate", tests);
