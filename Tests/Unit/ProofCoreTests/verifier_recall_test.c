// SPDX-License-Identifier: Apache-2.0

/// Recalls: what became of a command whose answer was lost. The one lie that must never be told is "not executed" of a
/// command that was done, or is done later.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "world.h"

static struct world world;
static struct app app;

static void begin(uint64_t seed, uint32_t uses) {
  world_make(&world, seed);
  app_make(&app, &world, seed + 8000);
  app.token.uses = uses;
  app_issue(&app, &world);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
}

static uint8_t act(void) { return app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"); }

static void renew(uint32_t uses) {
  app.token.generation++;
  app.token.uses = uses;
  app_issue(&app, &world);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
}

static void accepted_is_told(void) {
  for (unsigned i = 0; i < 4; i++) {
    uint8_t kind = (uint8_t)(1 + i % 2);
    test_case("%s, kind %u", i < 2 ? "without limit" : "counted", kind);
    begin(1, i < 2 ? PFC_USES_UNLIMITED : 10);
    uint8_t verdict = app_do(&app, &world, kind, 1, "go");
    CHECK_NUMBER(verdict, kind == 1 ? PFC_VERDICT_ACCEPTED : PFC_VERDICT_ACCEPTED_DEVICE);
    // Any number of times, and over another link.
    for (unsigned again = 0; again < 3; again++) CHECK_NUMBER(app_recall(&app, &world), verdict);
    world.link = &world.links[1];
    CHECK_NUMBER(app_recall(&app, &world), verdict);
    CHECK_NUMBER(app_recall(&app, &world), verdict);
  }
}

static void never_sent_is_not_executed(void) {
  begin(2, PFC_USES_UNLIMITED);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_NOT_EXECUTED);
  test_case("and that is final");
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_NOT_EXECUTED);
  test_case("under a new challenge it is done");
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
}

static void refused_is_not_executed(void) {
  begin(3, 10);
  struct app changed = app;
  changed.token.secrets.integrity[0] ^= 1;
  CHECK_NUMBER(app_do(&changed, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_INTEGRITY_DIFFERS);
  CHECK_NUMBER(app_recall(&changed, &world), PFC_VERDICT_NOT_EXECUTED);
}

static void recalls_one_after_the_other(void) {
  struct app first;
  begin(20, PFC_USES_UNLIMITED);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  first = app;
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  CHECK_NUMBER(app_recall(&first, &world), PFC_VERDICT_NOT_EXECUTED);
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_NOT_EXECUTED);
  CHECK_NUMBER(app_recall(&first, &world), PFC_VERDICT_NOT_EXECUTED);
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
}

static void final_on_every_link(void) {
  begin(4, PFC_USES_UNLIMITED);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  world.link = &world.links[1];
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_NOT_EXECUTED);
  world.link = &world.links[0];
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
}

static void final_also_after_a_new_token(void) {
  begin(5, PFC_USES_UNLIMITED);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  world.link = &world.links[1];
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_NOT_EXECUTED);
  renew(PFC_USES_UNLIMITED);
  world.link = &world.links[0];
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
}

static void final_also_after_a_revocation(void) {
  begin(18, PFC_USES_UNLIMITED);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  world.link = &world.links[1];
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_NOT_EXECUTED);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 1, app.token.instance_id, 1), PFC_VERDICT_DONE);
  renew(PFC_USES_UNLIMITED);
  world.link = &world.links[0];
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
}

static void final_also_after_a_floor(void) {
  // The floor frees the slot, a new token takes one again; the challenge of the other link is alive all the while.
  begin(6, PFC_USES_UNLIMITED);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  world.link = &world.links[1];
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_NOT_EXECUTED);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 10, NULL, 0), PFC_VERDICT_DONE);
  app.token.issued = WORLD_BEGIN + 20;
  renew(PFC_USES_UNLIMITED);
  world.link = &world.links[0];
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
}

static void final_also_after_a_floor_and_a_revocation(void) {
  // As before, but the slot that the instance comes back to is another, taken by a revocation first.
  struct app other;
  begin(17, PFC_USES_UNLIMITED);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  world.link = &world.links[1];
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_NOT_EXECUTED);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 10, NULL, 0), PFC_VERDICT_DONE);
  app_make(&other, &world, 8400);
  other.token.issued = WORLD_BEGIN + 20;
  app_issue(&other, &world);
  CHECK_NUMBER(app_present(&other, &world), PFC_VERDICT_HELD);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 20, app.token.instance_id, 1), PFC_VERDICT_DONE);
  app.token.issued = WORLD_BEGIN + 30;
  renew(PFC_USES_UNLIMITED);
  world.link = &world.links[0];
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
}

static void spares_later_challenges_and_other_instances(void) {
  struct app other, later;
  begin(7, PFC_USES_UNLIMITED);
  app_make(&other, &world, 8100);
  app_issue(&other, &world);
  CHECK_NUMBER(app_present(&other, &world), PFC_VERDICT_HELD);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  later = app;
  test_case("another instance may answer the challenge that one has recalled");
  other.challenge = app.challenge;
  app_command(&other, &world, PFC_KIND_INTEGRITY, 1, "go");
  world.link = &world.links[1];
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_NOT_EXECUTED);
  REQUIRE(CHECK(world_ask(&world, &later.challenge)));
  world.link = &world.links[0];
  CHECK_NUMBER(app_send(&other, &world), PFC_VERDICT_ACCEPTED);
  test_case("a later challenge is alive");
  world.link = &world.links[1];
  app_command(&later, &world, PFC_KIND_INTEGRITY, 1, "go");
  CHECK_NUMBER(app_send(&later, &world), PFC_VERDICT_ACCEPTED);
}

static void older_than_remembered_is_stale(void) {
  begin(8, PFC_USES_UNLIMITED);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  struct app first = app;
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(app_recall(&first, &world), PFC_VERDICT_STALE);
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_ACCEPTED);
}

static void another_nonce_under_the_same_challenge(void) {
  // The app asks after a command it never sent, under the challenge of one that was done.
  begin(9, PFC_USES_UNLIMITED);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "something else");
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_NOT_EXECUTED);
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
}

static void counted_commands_are_told_after_a_restart(void) {
  begin(10, 10);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  struct app done = app;
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(app_recall(&done, &world), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_NOT_EXECUTED);
}

static void uncounted_commands_are_forgotten_at_a_restart(void) {
  begin(11, PFC_USES_UNLIMITED);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  struct app done = app;
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(app_recall(&done, &world), PFC_VERDICT_STALE);
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_STALE);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_NOT_EXECUTED);
}

static void forgotten_nonces_tell_nothing(void) {
  // The failed attempt stores the slot, and with it the command done before. At the start that is forgotten, nonce and
  // all, although the first new challenge has the counter that the slot has then.
  begin(19, PFC_USES_UNLIMITED);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  struct app changed = app;
  changed.token.secrets.integrity[0] ^= 1;
  CHECK_NUMBER(app_do(&changed, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_INTEGRITY_DIFFERS);
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_NOT_EXECUTED);
}

/// A command that was done is never told as "not executed", for every event in between.
static void done_is_never_denied(void) {
  enum { HAPPENINGS = 13 };
  static const char *const what[HAPPENINGS] = {
      "a token without limit",
      "a counted token",
      "a restart",
      "a restart, a counted token",
      "a counted token, a restart",
      "a failed attempt, a restart",
      "a floor, a token",
      "a floor, a counted token, a restart",
      "a revocation, a token",
      "a revocation, a restart, a counted token",
      "another command, a restart",
      "a floor, another tenant, a floor, a token",
      "a floor, a revocation, a token",
  };
  for (unsigned i = 0; i < 2 * HAPPENINGS; i++) {
    unsigned happening = i % HAPPENINGS;
    struct app done, other;
    test_case("%s, then %s", i < HAPPENINGS ? "without limit" : "counted", what[happening]);
    begin(12, i < HAPPENINGS ? PFC_USES_UNLIMITED : 10);
    CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
    done = app;
    if (happening == 6 || happening == 7 || happening >= 11) {
      CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 10, NULL, 0), PFC_VERDICT_DONE);
      app.token.issued = WORLD_BEGIN + 20;
    }
    if (happening == 8 || happening == 9 || happening == 12) {
      CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 10, app.token.instance_id, 1), PFC_VERDICT_DONE);
    }
    if (happening == 11) {
      app_make(&other, &world, 8200);
      other.token.issued = WORLD_BEGIN + 11;
      other.token.uses = 5;
      app_issue(&other, &world);
      CHECK_NUMBER(app_present(&other, &world), PFC_VERDICT_HELD);
      CHECK_NUMBER(app_do(&other, &world, PFC_KIND_DEVICE, 1, "go"), PFC_VERDICT_ACCEPTED_DEVICE);
      CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 12, NULL, 0), PFC_VERDICT_DONE);
    }
    if (happening == 5) {
      struct app changed = app;
      changed.token.secrets.integrity[0] ^= 1;
      CHECK_NUMBER(app_do(&changed, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_INTEGRITY_DIFFERS);
      CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
      done = app;
    }
    if (happening == 2 || happening == 3 || happening == 9) REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
    if (happening == 0 || happening == 6 || happening == 8 || happening >= 11) renew(PFC_USES_UNLIMITED);
    if (happening == 1 || happening == 3 || happening == 4 || happening == 7 || happening == 9) renew(10);
    if (happening == 10) CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
    if (happening == 4 || happening == 5 || happening == 7 || happening == 10) {
      REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
    }
    CHECK(app_recall(&done, &world) != PFC_VERDICT_NOT_EXECUTED);
  }
}

/// An attacker holds a command back, and lets it through after a later one was done whose answer was lost.
static void held_back_commands_deny_no_later_one(void) {
  for (unsigned i = 0; i < 4; i++) {
    struct app first, done;
    test_case("%s, %s", i % 2 == 0 ? "without limit" : "counted", i < 2 ? "the same token" : "a floor, a new token");
    begin(21, i % 2 == 0 ? PFC_USES_UNLIMITED : 10);
    REQUIRE(CHECK(world_ask(&world, &app.challenge)));
    app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "first");
    first = app;
    world.link = &world.links[1];
    CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
    done = app;
    if (i >= 2) {
      CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 10, NULL, 0), PFC_VERDICT_DONE);
      app.token.issued = WORLD_BEGIN + 20;
      renew(app.token.uses);
    }
    world.link = &world.links[0];
    CHECK_NUMBER(app_send(&first, &world), PFC_VERDICT_STALE);
    world.link = &world.links[1];
    CHECK(app_recall(&done, &world) != PFC_VERDICT_NOT_EXECUTED);
  }
}

static void accepted_commands_spare_later_challenges_and_other_instances(void) {
  struct app other, later;
  begin(22, PFC_USES_UNLIMITED);
  app_make(&other, &world, 8500);
  app_issue(&other, &world);
  CHECK_NUMBER(app_present(&other, &world), PFC_VERDICT_HELD);
  REQUIRE(CHECK(world_ask(&world, &other.challenge)));
  app_command(&other, &world, PFC_KIND_INTEGRITY, 1, "go");
  world.link = &world.links[1];
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  test_case("another instance's command under an older challenge");
  world.link = &world.links[0];
  CHECK_NUMBER(app_send(&other, &world), PFC_VERDICT_ACCEPTED);
  test_case("the instance's own under a later one");
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  world.link = &world.links[1];
  later = app;
  REQUIRE(CHECK(world_ask(&world, &later.challenge)));
  world.link = &world.links[0];
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_ACCEPTED);
  world.link = &world.links[1];
  app_command(&later, &world, PFC_KIND_INTEGRITY, 1, "go");
  CHECK_NUMBER(app_send(&later, &world), PFC_VERDICT_ACCEPTED);
}

static void strangers_learn_and_change_nothing(void) {
  uint8_t message[PFC_RECALL_BYTES];
  begin(13, PFC_USES_UNLIMITED);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  world.link = &world.links[1];
  for (size_t bit = 0; bit < 8 * PFC_RECALL_BYTES; bit++) {
    uint8_t verdict;
    test_case("bit %zu", bit);
    pfc_session_init(world.link);
    pfc_recall_create(message, app.token.instance_id, app.challenge.counter, app.nonce, app.token.secrets.device_key);
    message[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    verdict = world_send(&world, PFC_MESSAGE_RECALL, message, sizeof message);
    CHECK_NUMBER(verdict, bit < 128 ? PFC_VERDICT_UNKNOWN : PFC_VERDICT_DEVICE_DIFFERS);
    CHECK_ZEROS(world.answer.receipt, 32);
    CHECK_NUMBER(world.link->refusals, bit >= 128);
  }
  for (size_t size = 0; size <= PFC_RECALL_BYTES + 1; size++) {
    static uint8_t longer[PFC_RECALL_BYTES + 1];
    test_case("%zu bytes", size);
    pfc_recall_create(longer, app.token.instance_id, app.challenge.counter, app.nonce, app.token.secrets.device_key);
    if (size != PFC_RECALL_BYTES) {
      CHECK_NUMBER(world_send(&world, PFC_MESSAGE_RECALL, longer, size), PFC_VERDICT_MALFORMED);
    }
  }
  world.link = &world.links[0];
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_ACCEPTED);
}

static void counters_to_come_are_malformed(void) {
  begin(14, PFC_USES_UNLIMITED);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  uint64_t next = app.challenge.counter + 1;
  static const uint64_t ahead[] = {0, 1, 65536, UINT64_MAX / 2};
  for (unsigned i = 0; i < 4; i++) {
    test_case("%u", i + 1);
    app.challenge.counter = next + ahead[i];
    CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_MALFORMED);
  }
  test_case("and recall nothing");
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  app.challenge.counter = UINT64_MAX;
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_MALFORMED);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
}

static void unknown_instances_are_unknown(void) {
  begin(15, PFC_USES_UNLIMITED);
  struct app other;
  app_make(&other, &world, 8300);
  CHECK_NUMBER(app_recall(&other, &world), PFC_VERDICT_UNKNOWN);
}

static void recalls_spend_nothing(void) {
  begin(16, 3);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  struct app pending = app;
  app_command(&pending, &world, PFC_KIND_INTEGRITY, 1, "go");
  long writes = world.flash.writes;
  app.challenge.counter--;
  for (unsigned i = 0; i < 100; i++) (void)app_recall(&app, &world);
  CHECK_NUMBER(world.flash.writes, writes);
  test_case("the live challenge, uses and attempts are as they were");
  CHECK_NUMBER(app_send(&pending, &world), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(world.answer.detail, 1);
}

static const struct test tests[] = {
    TEST("a recall tells an accepted command, any number of times, over any link", accepted_is_told),
    TEST("a command that was never received is not executed, and never will be", never_sent_is_not_executed),
    TEST("a refused command is not executed", refused_is_not_executed),
    TEST("of recalls one after the other, the highest counts", recalls_one_after_the_other),
    TEST("\"not executed\" is final on every link", final_on_every_link),
    TEST("\"not executed\" is final also after a new token", final_also_after_a_new_token),
    TEST("\"not executed\" is final also after a revocation and a new token", final_also_after_a_revocation),
    TEST("\"not executed\" is final also after a floor and a new token", final_also_after_a_floor),
    TEST("\"not executed\" is final also after a floor, a revocation and a new token",
         final_also_after_a_floor_and_a_revocation),
    TEST("a recall spares later challenges and other instances", spares_later_challenges_and_other_instances),
    TEST("a command before the last accepted one is too old to tell", older_than_remembered_is_stale),
    TEST("another command under the challenge of one that was done is not executed",
         another_nonce_under_the_same_challenge),
    TEST("where uses are counted the last command is told after a restart", counted_commands_are_told_after_a_restart),
    TEST("where they are not, what was before a restart is too old to tell",
         uncounted_commands_are_forgotten_at_a_restart),
    TEST("a nonce from before a restart tells nothing under a challenge from after it", forgotten_nonces_tell_nothing),
    TEST("a command that was done is never told as not executed, whatever came after", done_is_never_denied),
    TEST("a command that was held back makes no later one that was done \"not executed\"",
         held_back_commands_deny_no_later_one),
    TEST("an accepted command spares later challenges and other instances",
         accepted_commands_spare_later_challenges_and_other_instances),
    TEST("a stranger's recall tells and changes nothing", strangers_learn_and_change_nothing),
    TEST("a recall of a challenge to come is malformed", counters_to_come_are_malformed),
    TEST("a recall of an unknown instance is unknown", unknown_instances_are_unknown),
    TEST("recalls cost no use, no attempt, no write and no challenge", recalls_spend_nothing),
};

const struct suite verifier_recall_suite = SUITE("verifier recall", tests);
