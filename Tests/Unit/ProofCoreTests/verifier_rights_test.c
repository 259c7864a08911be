// SPDX-License-Identifier: Apache-2.0

/// Rights of a token: classes, kinds, attempts, uses, time; and which reason is told first.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "world.h"

static struct world world;
static struct app app;

static void begin(uint64_t seed) {
  world_make(&world, seed);
  app_make(&app, &world, seed + 2000);
}

static void hold(void) {
  app_issue(&app, &world);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
}

static struct app changed_app(void) {
  struct app changed = app;
  changed.token.secrets.integrity[9] ^= 1;
  return changed;
}

static struct app changed_device(void) {
  struct app changed = app;
  changed.token.secrets.device[9] ^= 1;
  return changed;
}

static void classes_are_permitted_bit_by_bit(void) {
  static const uint16_t integrity[] = {0xffff, 0x0001, 0x8000, 0x5555, 0x00ff};
  static const uint16_t device[] = {0xffff, 0x0000, 0x8000, 0x0011, 0x000f};
  for (unsigned i = 0; i < 5; i++) {
    begin(1 + i);
    app.token.integrity_classes = integrity[i];
    app.token.device_classes = device[i];
    app.token.uses = 100;
    hold();
    for (uint8_t class_ = 0; class_ < 16; class_++) {
      test_case("masks %u, class %u", i, class_);
      CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, class_, "go"),
                   (integrity[i] >> class_ & 1) != 0 ? PFC_VERDICT_ACCEPTED : PFC_VERDICT_NOT_PERMITTED);
      CHECK_NUMBER(app_do(&app, &world, PFC_KIND_DEVICE, class_, "go"),
                   (device[i] >> class_ & 1) != 0 ? PFC_VERDICT_ACCEPTED_DEVICE : PFC_VERDICT_NOT_PERMITTED);
    }
  }
}

static void device_match_has_device_rights(void) {
  begin(10);
  app.token.integrity_classes = 0x0003;
  app.token.device_classes = 0x0001;
  hold();
  struct app changed = changed_app();
  CHECK_NUMBER(app_do(&changed, &world, PFC_KIND_DEVICE, 0, "low"), PFC_VERDICT_ACCEPTED_DEVICE);
  CHECK_NUMBER(app_do(&changed, &world, PFC_KIND_DEVICE, 1, "full"), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(app_do(&changed, &world, PFC_KIND_INTEGRITY, 1, "full"), PFC_VERDICT_INTEGRITY_DIFFERS);
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "full"), PFC_VERDICT_ACCEPTED);
}

static void uses_are_counted(void) {
  begin(11);
  app.token.uses = 3;
  hold();
  CHECK_NUMBER(world.answer.detail, 3);
  for (unsigned left = 3; left > 0; left--) {
    test_case("%u left", left);
    CHECK_NUMBER(app_do(&app, &world, (uint8_t)(1 + left % 2), 1, "go"),
                 left % 2 == 0 ? PFC_VERDICT_ACCEPTED : PFC_VERDICT_ACCEPTED_DEVICE);
    CHECK_NUMBER(world.answer.detail, left - 1);
    // A refused command uses nothing up.
    struct app changed = changed_device();
    CHECK(app_do(&changed, &world, PFC_KIND_DEVICE, 1, "go") > PFC_VERDICT_ACCEPTED_DEVICE);
    // Presenting the token again gives nothing back, and neither does a restart.
    CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
    CHECK_NUMBER(world.answer.detail, left - 1);
    REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  }
  for (uint8_t kind = 1; kind <= 2; kind++) CHECK_NUMBER(app_do(&app, &world, kind, 1, "go"), PFC_VERDICT_NO_USES);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
  CHECK_NUMBER(world.answer.detail, 0);
  app.token.generation++;
  hold();
  CHECK_NUMBER(world.answer.detail, 3);
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
}

static void uses_fit_their_detail(void) {
  static const struct {
    uint32_t uses;
    uint16_t held, after;
  } cases[] = {{65533, 65533, 65532}, {65534, 65534, 65533},       {65535, 65534, 65534},      {65536, 65534, 65534},
               {70000, 65534, 65534}, {0xFFFFFFFEu, 65534, 65534}, {0xFFFFFFFFu, 65535, 65535}};
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_case("%u uses", (unsigned)cases[i].uses);
    begin(12);
    app.token.uses = cases[i].uses;
    hold();
    CHECK_NUMBER(world.answer.detail, cases[i].held);
    CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
    CHECK_NUMBER(world.answer.detail, cases[i].after);
  }
}

static void attempts_are_counted(void) {
  begin(13);
  hold();
  struct app changed = changed_app();
  for (unsigned left = 3; left > 0; left--) {
    test_case("%u left", left);
    CHECK_NUMBER(app_do(&changed, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_INTEGRITY_DIFFERS);
    CHECK_NUMBER(world.answer.detail, left - 1);
    if (left == 1) break;
    // Success gives no attempt back, nor does the token again, nor a restart.
    CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
    CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
    REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  }
  test_case("none left");
  for (uint8_t kind = 1; kind <= 2; kind++) {
    CHECK_NUMBER(app_do(&app, &world, kind, 1, "go"), PFC_VERDICT_NO_ATTEMPTS);
    CHECK_NUMBER(app_do(&changed, &world, kind, 1, "go"), PFC_VERDICT_NO_ATTEMPTS);
  }
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_NO_ATTEMPTS);
  test_case("a new generation");
  app.token.generation++;
  hold();
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
}

static void device_failures_cost_nothing(void) {
  begin(14);
  hold();
  struct app changed = changed_device();
  for (unsigned i = 0; i < 200; i++) {
    pfc_session_init(world.link);
    CHECK_NUMBER(app_do(&changed, &world, (uint8_t)(1 + i % 2), 1, "go"), PFC_VERDICT_DEVICE_DIFFERS);
  }
  changed = changed_app();
  CHECK_NUMBER(app_do(&changed, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_INTEGRITY_DIFFERS);
  CHECK_NUMBER(world.answer.detail, 2);
}

static void owner_can_check_the_refusal_of_its_own_device_proof(void) {
  // The measurement differs, the key does not: the receipt tells the owner that it spoke to its hardware.
  begin(15);
  hold();
  struct app changed = changed_device();
  CHECK_NUMBER(app_do(&changed, &world, PFC_KIND_DEVICE, 1, "go"), PFC_VERDICT_DEVICE_DIFFERS);
  CHECK(app_believes(&changed, &world));
}

static void receipts_answer_one_command(void) {
  begin(16);
  hold();
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "first"), PFC_VERDICT_ACCEPTED);
  struct app first = app;
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "first"), PFC_VERDICT_ACCEPTED);
  CHECK(!app_believes(&first, &world));
  CHECK(app_believes(&app, &world));
  world.answer.verdict = PFC_VERDICT_ACCEPTED_DEVICE;
  CHECK(!app_believes(&app, &world));
}

static void time_is_enforced_by_epoch(void) {
  begin(17);
  app.token.not_after = WORLD_BEGIN + 100;
  hold();
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), WORLD_BEGIN);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 100, NULL, 0), PFC_VERDICT_DONE);
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 101, NULL, 0), PFC_VERDICT_DONE);
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_EXPIRED);
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_DEVICE, 1, "go"), PFC_VERDICT_EXPIRED);
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_EXPIRED);
}

static void clock_moves_the_epoch_on(void) {
  begin(18);
  world_clock(&world, true);
  world.seconds = 500;
  app.token.not_after = WORLD_BEGIN + 100;
  hold();
  world.seconds += 100;
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), WORLD_BEGIN + 100);
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
  world.seconds += 1;
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_EXPIRED);
}

static void absent_clock_never_expires_by_itself(void) {
  begin(19);
  world_clock(&world, false);
  app.token.not_after = WORLD_BEGIN + 100;
  hold();
  world.seconds += 1000000;
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), WORLD_BEGIN);
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
}

static void unknown_epoch_stays_unknown(void) {
  begin(20);
  world_clock(&world, true);
  world.seconds += 1000;
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), 0);
  CHECK_COUNT(world_status(&world).epoch, 0);
}

/// Docs: COMMAND is judged in this order. Each row adds the reason before it to all that follow.
static void reasons_are_told_in_order(void) {
  static const uint8_t order[] = {PFC_VERDICT_ACCEPTED,       PFC_VERDICT_NOT_PERMITTED, PFC_VERDICT_INTEGRITY_DIFFERS,
                                  PFC_VERDICT_DEVICE_DIFFERS, PFC_VERDICT_NO_USES,       PFC_VERDICT_NO_ATTEMPTS,
                                  PFC_VERDICT_EXPIRED,        PFC_VERDICT_REVOKED,       PFC_VERDICT_STALE,
                                  PFC_VERDICT_BUSY,           PFC_VERDICT_MALFORMED};
  for (unsigned row = 0; row < sizeof order; row++) {
    struct app sent;
    test_case("row %u", row + 1);
    begin(21);
    app.token.integrity_classes = app.token.device_classes = 0x0002;
    app.token.attempts = row >= 5 ? 1 : 3;
    app.token.uses = 1;
    app.token.not_after = WORLD_BEGIN + 100;
    hold();
    struct app changed = changed_app();
    // No attempts before no uses: an attempt is spent by a changed app, which needs a use left.
    if (row >= 5) CHECK_NUMBER(app_do(&changed, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_INTEGRITY_DIFFERS);
    if (row == 4) CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
    if (row >= 6) CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 101, NULL, 0), PFC_VERDICT_DONE);
    if (row >= 7) {
      CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 101, app.token.instance_id, 5),
                   PFC_VERDICT_DONE);
    }
    REQUIRE(CHECK(world_ask(&world, &app.challenge)));
    sent = app;
    if (row >= 2) sent.token.secrets.integrity[0] ^= 1;
    if (row >= 3) sent.token.secrets.device[0] ^= 1;
    if (row >= 8) sent.challenge.counter += 5;
    if (row >= 9) {
      // Refusals need a held token: another instance's.
      struct app other;
      app_make(&other, &world, 4000);
      app_issue(&other, &world);
      CHECK_NUMBER(app_present(&other, &world), PFC_VERDICT_HELD);
      other.token.secrets.device[0] ^= 1;
      for (unsigned i = 0; i < 16; i++) {
        CHECK_NUMBER(app_do(&other, &world, PFC_KIND_DEVICE, 1, "go"), PFC_VERDICT_DEVICE_DIFFERS);
      }
    }
    app_command(&sent, &world, PFC_KIND_INTEGRITY, row >= 1 ? 3 : 1, "go");
    if (row >= 10) sent.message[1] = 16;
    CHECK_NUMBER(app_send(&sent, &world), order[row]);
  }
  test_case("unknown comes before what only a slot can tell");
  begin(22);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_UNKNOWN);
}

static void instances_do_not_disturb_each_other(void) {
  struct app apps[PFC_SLOTS];
  begin(23);
  for (unsigned i = 0; i < PFC_SLOTS; i++) {
    app_make(&apps[i], &world, 5000 + i);
    apps[i].token.uses = 100;
    app_issue(&apps[i], &world);
    CHECK_NUMBER(app_present(&apps[i], &world), PFC_VERDICT_HELD);
  }
  struct pfc_status status = world_status(&world);
  CHECK_NUMBER(status.slots_used, PFC_SLOTS);
  for (unsigned round = 0; round < 3; round++) {
    for (unsigned i = 0; i < PFC_SLOTS; i++) {
      struct app changed = apps[i];
      test_case("round %u, instance %u", round, i);
      CHECK_NUMBER(app_do(&apps[i], &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
      CHECK_NUMBER(world.answer.detail, 99 - round);
      changed.token.secrets.integrity[0] ^= 1;
      if (i == 3 && round == 0) {
        for (unsigned left = 3; left > 0; left--) {
          CHECK_NUMBER(app_do(&changed, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_INTEGRITY_DIFFERS);
        }
        apps[i].token.generation++;
        app_issue(&apps[i], &world);
        CHECK_NUMBER(app_present(&apps[i], &world), PFC_VERDICT_HELD);
        CHECK_NUMBER(app_do(&apps[i], &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
      }
      // One instance's proofs under another's name.
      memcpy(changed.token.instance_id, apps[(i + 1) % PFC_SLOTS].token.instance_id, 16);
      pfc_session_init(world.link);
      CHECK_NUMBER(app_do(&changed, &world, PFC_KIND_DEVICE, 1, "go"), PFC_VERDICT_DEVICE_DIFFERS);
    }
  }
}

static const struct test tests[] = {
    TEST("each class is permitted for each kind by its own bit", classes_are_permitted_bit_by_bit),
    TEST("a changed app on its device has the device's rights and no more", device_match_has_device_rights),
    TEST("uses go down to none and never come back", uses_are_counted),
    TEST("uses left fit a verdict's detail", uses_fit_their_detail),
    TEST("attempts go down to none and never come back", attempts_are_counted),
    TEST("a wrong device proof never costs an attempt", device_failures_cost_nothing),
    TEST("an owner whose device differs can check the refusal's receipt",
         owner_can_check_the_refusal_of_its_own_device_proof),
    TEST("a receipt answers one command and one verdict", receipts_answer_one_command),
    TEST("a token is over when the epoch has passed its end, and stays over", time_is_enforced_by_epoch),
    TEST("a clock moves the epoch on", clock_moves_the_epoch_on),
    TEST("hardware without a clock expires nothing until an epoch does", absent_clock_never_expires_by_itself),
    TEST("a clock alone does not know the epoch", unknown_epoch_stays_unknown),
    TEST("the first reason in the specification's order is the verdict", reasons_are_told_in_order),
    TEST("instances do not disturb each other", instances_do_not_disturb_each_other),
};

const struct suite verifier_rights_suite = SUITE("verifier rights", tests);
