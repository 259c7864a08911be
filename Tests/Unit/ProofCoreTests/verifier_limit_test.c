// SPDX-License-Identifier: Apache-2.0

/// Budgets, strangers, garbage: only the owner spends the owner's attempts, uses and tokens.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "world.h"

static struct world world;
static struct app app;

static void begin(uint64_t seed) {
  world_make(&world, seed);
  app_make(&app, &world, seed + 9000);
  app.token.uses = 1000;
  app_issue(&app, &world);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
}

static uint8_t act(void) { return app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"); }

/// A token whose header is right and whose rest is noise: what costs public-key work.
static void costly_garbage(uint8_t bytes[PFC_TOKEN_BYTES], uint64_t seed) {
  struct dice dice = {seed};
  dice_fill(&dice, bytes, PFC_TOKEN_BYTES);
  memcpy(bytes, app.bytes, 8);
}

static void busy(uint8_t verdict) {
  CHECK_NUMBER(verdict, PFC_VERDICT_BUSY);
  CHECK_NUMBER(world.answer.detail, PFC_SESSION_WAIT_SECONDS);
}

static void openings_are_limited(void) {
  uint8_t bytes[PFC_TOKEN_BYTES];
  begin(1);
  for (unsigned i = 0; i < 4; i++) {
    costly_garbage(bytes, i);
    CHECK_NUMBER(world_send(&world, PFC_MESSAGE_TOKEN, bytes, sizeof bytes), PFC_VERDICT_NOT_FOR_ME);
  }
  costly_garbage(bytes, 5);
  busy(world_send(&world, PFC_MESSAGE_TOKEN, bytes, sizeof bytes));
  busy(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 5, NULL, 0));
  CHECK_COUNT(pfc_verifier_epoch(&world.verifier), WORLD_BEGIN);
  test_case("a held token and commands are still served");
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  test_case("a refusal by the header is still told");
  bytes[0] ^= 1;
  CHECK_NUMBER(world_send(&world, PFC_MESSAGE_TOKEN, bytes, sizeof bytes), PFC_VERDICT_MALFORMED);
  test_case("a new link starts anew");
  pfc_session_close(world.link);
  pfc_session_init(world.link);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 5, NULL, 0), PFC_VERDICT_DONE);
}

static void closing_resets_the_link(void) {
  uint8_t bytes[PFC_TOKEN_BYTES];
  begin(2);
  for (unsigned i = 0; i < 4; i++) {
    costly_garbage(bytes, i);
    CHECK_NUMBER(world_send(&world, PFC_MESSAGE_TOKEN, bytes, sizeof bytes), PFC_VERDICT_NOT_FOR_ME);
  }
  pfc_session_close(world.link);
  CHECK_ZEROS(world.link, sizeof *world.link);
  CHECK_NUMBER(world_send(&world, PFC_MESSAGE_TOKEN, bytes, sizeof bytes), PFC_VERDICT_NOT_FOR_ME);
}

static void progress_is_free(void) {
  begin(3);
  // Openings that change something do not count, however many.
  for (unsigned i = 1; i <= 40; i++) {
    test_case("%u", i);
    if (i % 2 != 0) {
      CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + i, NULL, 0), PFC_VERDICT_DONE);
    } else {
      app.token.generation++;
      app_issue(&app, &world);
      CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
    }
    CHECK_NUMBER(world.link->openings, 0);
  }
}

static void repeated_orders_count(void) {
  begin(4);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 5, NULL, 0), PFC_VERDICT_DONE);
  for (unsigned i = 0; i < 4; i++) {
    CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 5, NULL, 0), PFC_VERDICT_DONE);
  }
  busy(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 6, NULL, 0));
}

static void superseded_tokens_count(void) {
  begin(5);
  struct app old = app;
  app.token.generation = 2;
  app_issue(&app, &world);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
  for (unsigned i = 0; i < 4; i++) CHECK_NUMBER(app_present(&old, &world), PFC_VERDICT_SUPERSEDED);
  busy(app_present(&old, &world));
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
}

static void refusals_are_limited(void) {
  for (unsigned by = 0; by < 2; by++) {
    begin(6);
    struct app stranger = app;
    memset(stranger.token.secrets.device_key, 1, 16);
    test_case("by %s", by == 0 ? "commands" : "recalls");
    for (unsigned i = 0; i < 16; i++) {
      CHECK_NUMBER(app_do(&stranger, &world, (uint8_t)(1 + i % 2), 1, "go"), PFC_VERDICT_DEVICE_DIFFERS);
      if (by == 0) continue;
      CHECK_NUMBER(app_recall(&stranger, &world), PFC_VERDICT_DEVICE_DIFFERS);
      i++;
    }
    REQUIRE(CHECK(world_ask(&world, &app.challenge)));
    app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
    busy(app_send(&app, &world));
    busy(app_recall(&app, &world));
    busy(app_recall(&stranger, &world));
    test_case("busy leaves the challenge, tokens and orders alone");
    CHECK_NUMBER(world.link->live, 1);
    CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
    CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 9, NULL, 0), PFC_VERDICT_DONE);
    test_case("another link is not busy");
    world.link = &world.links[1];
    CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
    test_case("a new link starts anew");
    pfc_session_close(&world.links[0]);
    pfc_session_init(&world.links[0]);
    world.link = &world.links[0];
    CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  }
}

static void owners_failures_are_no_refusals(void) {
  begin(7);
  app.token.generation = 2;
  app.token.attempts = 65535;
  app_issue(&app, &world);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
  struct app changed = app;
  changed.token.secrets.integrity[0] ^= 1;
  for (unsigned i = 1; i <= 100; i++) {
    CHECK_NUMBER(app_do(&changed, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_INTEGRITY_DIFFERS);
    CHECK_NUMBER(world.answer.detail, 65535 - i);
  }
  CHECK_NUMBER(world.link->refusals, 0);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
}

/// Actions of a stranger who hears every message of the owner and can send, replay and alter messages.
static void stranger_acts(struct dice *dice, struct app *stranger) {
  uint8_t bytes[PFC_MESSAGE_MAX + 4];
  size_t size;
  switch (dice_below(dice, 9)) {
    case 0:  // Noise of any type and size
      size = dice_below(dice, sizeof bytes + 1);
      dice_fill(dice, bytes, size);
      (void)world_send(&world, (uint8_t)dice_roll(dice), bytes, size);
      break;
    case 1:  // Noise of a size the type has
      dice_fill(dice, bytes, sizeof bytes);
      (void)world_send(&world, PFC_MESSAGE_COMMAND, bytes, 58 + dice_below(dice, 289));
      break;
    case 2:  // The owner's last command again
      (void)app_send(&app, &world);
      break;
    case 3:  // The owner's last command under a fresh challenge, altered or not
    case 4:
      if (!world_ask(&world, &stranger->challenge)) break;
      memcpy(bytes, app.message, app.size);
      put64(bytes + 18, stranger->challenge.counter);
      if (dice_below(dice, 2) != 0) bytes[26 + dice_below(dice, 64)] ^= (uint8_t)(1u << dice_below(dice, 8));
      (void)world_send(&world, PFC_MESSAGE_COMMAND, bytes, app.size);
      break;
    case 5:  // The stranger's own proofs under the owner's name
      (void)app_do(stranger, &world, (uint8_t)(1 + dice_below(dice, 2)), 1, "let me in");
      break;
    case 6:  // A recall
      pfc_recall_create(bytes, app.token.instance_id, dice_roll(dice) % 100, stranger->nonce,
                        stranger->token.secrets.device_key);
      (void)world_send(&world, PFC_MESSAGE_RECALL, bytes, PFC_RECALL_BYTES);
      break;
    case 7:  // The owner's token, altered behind its header
      memcpy(bytes, app.bytes, PFC_TOKEN_BYTES);
      bytes[8 + dice_below(dice, 280)] ^= (uint8_t)(1u << dice_below(dice, 8));
      (void)world_send(&world, PFC_MESSAGE_TOKEN, bytes, PFC_TOKEN_BYTES);
      break;
    default:  // An order without a signature
      dice_fill(dice, bytes, PFC_ORDER_BYTES);
      memcpy(bytes, "PO\1\1\3\0\0\0", 8);
      memcpy(bytes + 24, world.hardware.id, 16);
      (void)world_send(&world, PFC_MESSAGE_ORDER, bytes, PFC_ORDER_BYTES);
      break;
  }
}

static void strangers_spend_nothing(void) {
  struct dice dice = {8};
  uint8_t before[PFC_SLOT_BYTES], after[PFC_SLOT_BYTES];
  begin(8);
  struct app stranger = app;
  dice_fill(&dice, &stranger.token.secrets, sizeof stranger.token.secrets);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  pfc_slot_encode(before, &world.verifier.ledger.slots[0]);
  long writes = world.flash.writes;
  for (unsigned i = 0; i < 20000; i++) {
    test_case("message %u", i);
    stranger_acts(&dice, &stranger);
    REQUIRE(CHECK_NUMBER(world.outcome.execute, 0));
    if (i % 50 == 49) pfc_session_init(world.link);
  }
  pfc_slot_encode(after, &world.verifier.ledger.slots[0]);
  CHECK_BYTES(after, before, sizeof before);
  CHECK_NUMBER(world.flash.writes, writes);
  CHECK_NUMBER(world_status(&world).slots_used, 1);
  pfc_session_init(world.link);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
}

static void stranger_on_another_link_does_not_stop_the_owner(void) {
  struct dice dice = {9};
  begin(9);
  struct app stranger = app;
  dice_fill(&dice, &stranger.token.secrets, sizeof stranger.token.secrets);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  for (unsigned i = 0; i < 300; i++) {
    test_case("round %u", i);
    world.link = &world.links[0];
    REQUIRE(CHECK(world_ask(&world, &app.challenge)));
    app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
    // Between the owner's challenge and its answer.
    world.link = &world.links[1];
    if (i % 10 == 0) pfc_session_init(world.link);
    for (unsigned n = 0; n < 5; n++) stranger_acts(&dice, &stranger);
    world.link = &world.links[0];
    REQUIRE(CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_ACCEPTED));
  }
}

static void garbage_does_not_stop_the_owner(void) {
  struct dice dice = {10};
  unsigned rounds = options.thorough ? 1000000 : 20000;
  begin(10);
  for (unsigned i = 0; i < rounds; i++) {
    static uint8_t bytes[1024];
    static const uint8_t types[] = {1, 3, 4, 6, 7};
    uint8_t type = (uint8_t)dice_roll(&dice);
    size_t size = dice_below(&dice, sizeof bytes);
    if (i % 2 != 0) {
      // As near to a message as noise can be.
      type = types[dice_below(&dice, 5)];
      size = type == 1 ? 1 : type == 3 ? 288 : type == 6 ? 124 : type == 7 ? 72 : 58 + dice_below(&dice, 289);
    }
    dice_fill(&dice, bytes, size);
    if (i % 4 == 1 && type == 3) memcpy(bytes, app.bytes, 8);
    if (i % 4 == 1 && type == 4) memcpy(bytes + 2, app.token.instance_id, 16);
    test_case("message %u, type %u, %zu bytes", i, type, size);
    (void)world_send(&world, type, bytes, size);
    REQUIRE(CHECK_NUMBER(world.outcome.execute, 0));
    if (i % 1000 != 999) continue;
    // The owner comes by on a link of its own.
    world.link = &world.links[1];
    pfc_session_init(world.link);
    REQUIRE(CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD));
    REQUIRE(CHECK_NUMBER(app_do(&app, &world, PFC_KIND_DEVICE, 1, "go"),
                         i / 1000 < 1000 ? PFC_VERDICT_ACCEPTED_DEVICE : PFC_VERDICT_NO_USES));
    world.link = &world.links[0];
    if (i % 5000 == 4999) pfc_session_init(world.link);
  }
  test_note("%u garbage messages, and the owner still gets in", rounds);
}

static void what_is_no_message_is_malformed(void) {
  static uint8_t bytes[1024];
  begin(11);
  for (unsigned type = 0; type < 256; type++) {
    for (size_t size = 0; size <= 400; size++) {
      bool known = type == 1 || type == 3 || type == 4 || type == 6 || type == 7;
      if (known && pfc_message_fits((uint8_t)type, size)) continue;
      test_case("type %u, %zu bytes", type, size);
      CHECK_NUMBER(world_send(&world, (uint8_t)type, bytes, size), PFC_VERDICT_MALFORMED);
    }
  }
  for (unsigned what = 0; what < 256; what++) {
    const uint8_t message = (uint8_t)what;
    test_case("ASK %u", what);
    if (what == 1 || what == 2) continue;
    CHECK_NUMBER(world_send(&world, PFC_MESSAGE_ASK, &message, 1), PFC_VERDICT_TOO_NEW);
  }
}

static void status_is_public_and_right(void) {
  struct pfc_status status;
  begin(12);
  status = world_status(&world);
  CHECK_NUMBER(status.mode, PFC_MODE_PRODUCTION);
  CHECK_NUMBER(status.slots, PFC_SLOTS);
  CHECK_NUMBER(status.slots_used, 1);
  CHECK_COUNT(status.epoch, WORLD_BEGIN);
  CHECK_BYTES(status.hardware_id, world.hardware.id, 16);
  pfc_verifier_status(&world.verifier, &status);
  CHECK_NUMBER(status.slots_used, 1);
}

static const struct test tests[] = {
    TEST("four fruitless openings, then busy; held tokens are still served", openings_are_limited),
    TEST("the end of a link wipes it and starts its budgets anew", closing_resets_the_link),
    TEST("openings that change something are free", progress_is_free),
    TEST("orders that change nothing count", repeated_orders_count),
    TEST("tokens that are superseded count", superseded_tokens_count),
    TEST("sixteen wrong device proofs or recalls, then busy, on that link only", refusals_are_limited),
    TEST("an owner's changed app is no stranger: its failures are attempts, not refusals",
         owners_failures_are_no_refusals),
    TEST("a stranger's traffic changes nothing and never spends the owner's attempts or uses", strangers_spend_nothing),
    TEST("a stranger on another link does not come between the owner's challenge and command",
         stranger_on_another_link_does_not_stop_the_owner),
    TEST("garbage without end does not keep the owner out", garbage_does_not_stop_the_owner),
    TEST("a message that is not for hardware is malformed", what_is_no_message_is_malformed),
    TEST("the status is right", status_is_public_and_right),
};

const struct suite verifier_limit_suite = SUITE("verifier limit", tests);
