// SPDX-License-Identifier: Apache-2.0

/// How tokens come into the hardware's slots, and stay out of them.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "world.h"

static struct world world;
static struct app app;

static void begin(uint64_t seed) {
  world_make(&world, seed);
  app_make(&app, &world, seed + 3000);
}

static void hold(void) {
  app_issue(&app, &world);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
}

static uint8_t present(const uint8_t *bytes) { return world_send(&world, PFC_MESSAGE_TOKEN, bytes, PFC_TOKEN_BYTES); }

static void held_token_is_cheap_and_harmless(void) {
  begin(1);
  hold();
  for (unsigned i = 0; i < 50; i++) {
    long writes = world.flash.writes;
    CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
    CHECK_NUMBER(world.flash.writes, writes);
  }
  CHECK_NUMBER(world.link->openings, 0);
  CHECK_NUMBER(world_status(&world).slots_used, 1);
}

static void generations_never_go_back(void) {
  struct app older;
  begin(2);
  app.token.generation = 5;
  hold();
  older = app;
  for (uint32_t generation = 1; generation <= 5; generation++) {
    test_case("generation %u after 5", (unsigned)generation);
    pfc_session_init(world.link);
    older.token.generation = generation;
    older.token.attempts++;
    app_issue(&older, &world);
    CHECK_NUMBER(app_present(&older, &world), PFC_VERDICT_SUPERSEDED);
  }
  test_case("generation 6");
  older = app;
  app.token.generation = 6;
  hold();
  CHECK_NUMBER(present(older.bytes), PFC_VERDICT_SUPERSEDED);
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(present(older.bytes), PFC_VERDICT_SUPERSEDED);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
  test_case("the last generation");
  app.token.generation = PFC_GENERATION_ALL - 1;
  hold();
}

static void new_token_replaces_all_rights(void) {
  struct app renewed;
  begin(3);
  app.token.uses = 5;
  hold();
  renewed = app;
  renewed.token.generation = 2;
  renewed.token.uses = 9;
  renewed.token.attempts = 1;
  renewed.token.integrity_classes = renewed.token.device_classes = 0x0100;
  renewed.token.secrets.integrity[0] ^= 1;
  renewed.token.secrets.device[0] ^= 1;
  app_issue(&renewed, &world);
  CHECK_NUMBER(app_present(&renewed, &world), PFC_VERDICT_HELD);
  CHECK_NUMBER(world.answer.detail, 9);
  CHECK_NUMBER(world_status(&world).slots_used, 1);
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 8, "go"), PFC_VERDICT_DEVICE_DIFFERS);
  CHECK_NUMBER(app_do(&renewed, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(app_do(&renewed, &world, PFC_KIND_INTEGRITY, 8, "go"), PFC_VERDICT_ACCEPTED);
}

static void tokens_are_kept_over_restarts(void) {
  begin(4);
  hold();
  for (unsigned i = 0; i < 5; i++) {
    REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
    CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
    CHECK_NUMBER(world.link->openings, 0);
    CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
  }
}

static void refusals_are_told_apart(void) {
  static const struct {
    const char *what;
    uint8_t expected;
  } cases[] = {
      {"a wrong magic", PFC_VERDICT_MALFORMED},
      {"another version", PFC_VERDICT_TOO_NEW},
      {"another suite", PFC_VERDICT_TOO_NEW},
      {"another hint", PFC_VERDICT_NOT_FOR_ME},
      {"sealed to other hardware", PFC_VERDICT_NOT_FOR_ME},
      {"another hardware id inside", PFC_VERDICT_NOT_FOR_ME},
      {"an unknown issuer", PFC_VERDICT_NOT_SIGNED},
      {"an altered signature", PFC_VERDICT_NOT_SIGNED},
      {"a development token", PFC_VERDICT_WRONG_MODE},
      {"a literal token", PFC_VERDICT_WRONG_MODE},
      {"no attempts", PFC_VERDICT_MALFORMED},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    static struct world other;
    struct issuer stranger;
    uint8_t head[8], body[168], bytes[PFC_TOKEN_BYTES];
    test_case("%u. %s", i + 1, cases[i].what);
    begin(5);
    world_make(&other, 6);
    issuer_make(&stranger, 777);
    forge_parts(head, body, &app.token, i == 6 ? &stranger : &world.issuer);
    if (i == 5) body[47] ^= 1;
    if (i == 8) body[0] = PFC_MODE_DEVELOPMENT;
    if (i == 9) body[1] = PFC_FORM_LITERAL;
    if (i == 10) body[6] = body[7] = 0;
    forge_token(bytes, head, body, world.hardware.public_key,
                i == 4 ? other.hardware.public_key : world.hardware.public_key,
                i == 6 || i == 7 ? &stranger : &world.issuer, i);
    if (i == 0) bytes[0] ^= 1;
    if (i == 1) bytes[2] = 3;
    if (i == 2) bytes[3] = 0;
    if (i == 3) bytes[7] ^= 1;
    CHECK_NUMBER(present(bytes), cases[i].expected);
    CHECK_NUMBER(world_status(&world).slots_used, 0);
    // A refusal by the header costs no public-key work and does not count.
    CHECK_NUMBER(world.link->openings, i >= 4);
  }
}

static void development_hardware_refuses_production(void) {
  begin(8);
  world.hardware.mode = PFC_MODE_DEVELOPMENT;
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  app_issue(&app, &world);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_WRONG_MODE);
  app.token.mode = PFC_MODE_DEVELOPMENT;
  hold();
  CHECK_NUMBER(world_status(&world).mode, PFC_MODE_DEVELOPMENT);
}

static void tokens_tell_the_time(void) {
  struct app later;
  begin(9);
  app.token.not_after = WORLD_BEGIN + 10;
  hold();
  app_make(&later, &world, 9000);
  later.token.issued = WORLD_BEGIN + 11;
  app_issue(&later, &world);
  CHECK_NUMBER(app_present(&later, &world), PFC_VERDICT_HELD);
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), WORLD_BEGIN + 11);
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_EXPIRED);
  test_case("an older token does not turn it back");
  struct app earlier;
  app_make(&earlier, &world, 9001);
  earlier.token.issued = WORLD_BEGIN + 5;
  app_issue(&earlier, &world);
  CHECK_NUMBER(app_present(&earlier, &world), PFC_VERDICT_HELD);
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), WORLD_BEGIN + 11);
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), WORLD_BEGIN + 11);
}

static void expired_tokens_are_refused(void) {
  static const struct {
    uint64_t issued, not_after;
    uint8_t expected;
  } cases[] = {
      // The epoch is WORLD_BEGIN + 100.
      {WORLD_BEGIN, WORLD_BEGIN + 99, PFC_VERDICT_EXPIRED},
      {WORLD_BEGIN, WORLD_BEGIN + 100, PFC_VERDICT_HELD},
      {WORLD_BEGIN, 0, PFC_VERDICT_HELD},
      {WORLD_BEGIN, WORLD_BEGIN, PFC_VERDICT_EXPIRED},
      {WORLD_BEGIN + 200, WORLD_BEGIN + 200, PFC_VERDICT_HELD},
      {1, UINT64_MAX, PFC_VERDICT_HELD},
      {WORLD_BEGIN + 100 + PFC_EPOCH_STEP, UINT64_MAX, PFC_VERDICT_HELD},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_case("%u", i + 1);
    begin(10);
    CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 100, NULL, 0), PFC_VERDICT_DONE);
    app.token.issued = cases[i].issued;
    app.token.not_after = cases[i].not_after;
    app_issue(&app, &world);
    CHECK_NUMBER(app_present(&app, &world), cases[i].expected);
  }
}

static void full_hardware_has_no_room(void) {
  struct app apps[PFC_SLOTS + 1];
  begin(11);
  for (unsigned i = 0; i <= PFC_SLOTS; i++) {
    test_case("instance %u", i + 1);
    app_make(&apps[i], &world, 7000 + i);
    apps[i].token.issued = WORLD_BEGIN + i;
    app_issue(&apps[i], &world);
    CHECK_NUMBER(app_present(&apps[i], &world), i < PFC_SLOTS ? PFC_VERDICT_HELD : PFC_VERDICT_NO_ROOM);
  }
  CHECK_NUMBER(world_status(&world).slots_used, PFC_SLOTS);
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), WORLD_BEGIN + PFC_SLOTS - 1);
  test_case("a held instance may still renew");
  apps[2].token.generation = 2;
  app_issue(&apps[2], &world);
  CHECK_NUMBER(app_present(&apps[2], &world), PFC_VERDICT_HELD);
  for (unsigned i = 0; i < PFC_SLOTS; i++) {
    CHECK_NUMBER(app_do(&apps[i], &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
  }
  test_case("a floor makes room");
  CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 1, NULL, 0), PFC_VERDICT_DONE);
  CHECK_NUMBER(world_status(&world).slots_used, PFC_SLOTS - 1);
  CHECK_NUMBER(app_present(&apps[PFC_SLOTS], &world), PFC_VERDICT_HELD);
  CHECK_NUMBER(app_present(&apps[0], &world), PFC_VERDICT_SUPERSEDED);
}

static void reasons_are_told_in_order(void) {
  // Superseded by the floor before revoked, revoked before superseded by a generation, that before expired, that
  // before no room.
  static const uint8_t expected[] = {PFC_VERDICT_EXPIRED, PFC_VERDICT_SUPERSEDED, PFC_VERDICT_REVOKED,
                                     PFC_VERDICT_SUPERSEDED};
  for (unsigned row = 0; row < 4; row++) {
    struct app fill;
    test_case("row %u", row + 1);
    begin(12);
    app.token.issued = WORLD_BEGIN + 50;
    if (row >= 1) {
      app.token.generation = 4;
      app.token.not_after = 0;
      hold();
    }
    for (unsigned i = 0; i < PFC_SLOTS; i++) {
      app_make(&fill, &world, 8000 + i);
      fill.token.issued = WORLD_BEGIN + 50;
      app_issue(&fill, &world);
      (void)app_present(&fill, &world);
    }
    CHECK_NUMBER(world_status(&world).slots_used, PFC_SLOTS);
    pfc_session_init(world.link);
    if (row >= 2) {
      CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 400, app.token.instance_id, 3),
                   PFC_VERDICT_DONE);
    }
    CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 500, NULL, 0), PFC_VERDICT_DONE);
    if (row >= 3) CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 51, NULL, 0), PFC_VERDICT_DONE);
    app.token.generation = 3;
    app.token.not_after = WORLD_BEGIN + 60;
    app.token.attempts = 77;
    app_issue(&app, &world);
    CHECK_NUMBER(app_present(&app, &world), expected[row]);
  }
}

static void second_issuer_takes_over(void) {
  struct issuer next;
  begin(13);
  hold();
  issuer_make(&next, 555);
  memcpy(world.hardware.issuers[1].public_key, next.public_key, 32);
  world.hardware.issuer_count = 2;
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
  world.issuer = next;
  app.token.generation = 2;
  hold();
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
}

static void resealed_token_of_the_same_content(void) {
  // The backend sends the same grant again under another ephemeral key: other bytes, the same generation.
  begin(14);
  hold();
  struct app again = app;
  uint8_t head[8], body[168];
  forge_parts(head, body, &app.token, &world.issuer);
  forge_token(again.bytes, head, body, world.hardware.public_key, world.hardware.public_key, &world.issuer, 12345);
  pfc_token_digest(again.digest, again.bytes);
  CHECK_DIFFER(again.digest, app.digest, 16);
  CHECK_NUMBER(app_present(&again, &world), PFC_VERDICT_SUPERSEDED);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
}

static void challenges_wait_for_tokens(void) {
  begin(16);
  for (unsigned i = 0; i < 2; i++) {
    test_case("%s", i == 0 ? "an instance new to its slot" : "the same instance with a newer token");
    REQUIRE(CHECK(world_ask(&world, &app.challenge)));
    app.token.generation++;
    hold();
    app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
    CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_ACCEPTED);
  }
}

static void new_instances_begin_after_swept_recalls(void) {
  // An instance that takes a slot after a floor might be one that was told "not executed" before it.
  struct app recaller, tenant, later;
  begin(17);
  hold();
  recaller = app;
  app_make(&app, &world, 3100);
  app.token.issued = WORLD_BEGIN + 20;
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  world.link = &world.links[1];
  REQUIRE(CHECK(world_ask(&world, &recaller.challenge)));
  app_command(&recaller, &world, PFC_KIND_INTEGRITY, 1, "go");
  CHECK_NUMBER(app_recall(&recaller, &world), PFC_VERDICT_NOT_EXECUTED);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 10, NULL, 0), PFC_VERDICT_DONE);
  // Another takes the very slot that was recalled in.
  app_make(&tenant, &world, 3200);
  tenant.token.issued = WORLD_BEGIN + 20;
  app_issue(&tenant, &world);
  CHECK_NUMBER(app_present(&tenant, &world), PFC_VERDICT_HELD);
  hold();
  later = app;
  REQUIRE(CHECK(world_ask(&world, &later.challenge)));
  world.link = &world.links[0];
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
  world.link = &world.links[1];
  app_command(&later, &world, PFC_KIND_INTEGRITY, 1, "go");
  CHECK_NUMBER(app_send(&later, &world), PFC_VERDICT_ACCEPTED);
}

static void attempts_do_not_come_back_by_presenting(void) {
  begin(15);
  hold();
  struct app changed = app;
  changed.token.secrets.integrity[0] ^= 1;
  CHECK_NUMBER(app_do(&changed, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_INTEGRITY_DIFFERS);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
  CHECK_NUMBER(app_do(&changed, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_INTEGRITY_DIFFERS);
  CHECK_NUMBER(world.answer.detail, 1);
}

static const struct test tests[] = {
    TEST("a held token is answered without public-key work, writes or limits", held_token_is_cheap_and_harmless),
    TEST("an older generation never returns", generations_never_go_back),
    TEST("a newer token replaces every right and secret of the older", new_token_replaces_all_rights),
    TEST("a held token is held after a restart", tokens_are_kept_over_restarts),
    TEST("each refusal of a token has its verdict", refusals_are_told_apart),
    TEST("a development token never opens production hardware, nor the reverse",
         development_hardware_refuses_production),
    TEST("a token is an epoch marker and never turns the epoch back", tokens_tell_the_time),
    TEST("a token that is over is refused", expired_tokens_are_refused),
    TEST("a new instance gets no room until a floor frees a slot", full_hardware_has_no_room),
    TEST("the first reason in the specification's order is the verdict", reasons_are_told_in_order),
    TEST("a second issuer takes over while the first one's tokens serve", second_issuer_takes_over),
    TEST("the same grant in other bytes is superseded, and the held one serves", resealed_token_of_the_same_content),
    TEST("a challenge asked for before the token may be answered after it", challenges_wait_for_tokens),
    TEST("after a floor, new instances answer no challenge up to the highest one recalled before",
         new_instances_begin_after_swept_recalls),
    TEST("presenting a token gives no attempt back", attempts_do_not_come_back_by_presenting),
};

const struct suite verifier_token_suite = SUITE("verifier token", tests);
