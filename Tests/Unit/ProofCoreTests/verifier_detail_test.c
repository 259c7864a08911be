// SPDX-License-Identifier: Apache-2.0

/// Details of refusals (docs/SPEC.md, section 10): each condition has its own, and a stranger learns nothing from them.

#include <string.h>

#include "ProofCore.h"
#include "forge.h"
#include "harness.h"
#include "suites.h"
#include "world.h"

static struct world world;
static struct app app;

static void begin(uint64_t seed) {
  world_make(&world, seed);
  app_make(&app, &world, seed + 4000);
}

static void hold(void) {
  app_issue(&app, &world);
  REQUIRE(CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD));
}

static void new_link(void) { pfc_session_init(world.link); }

static void expect(uint8_t verdict, uint8_t expected, unsigned detail) {
  CHECK_NUMBER(verdict, expected);
  CHECK_NUMBER(world.answer.detail, detail);
}

static void stale_commands_tell_why(void) {
  begin(1);
  world_clock(&world, true);
  hold();
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  new_link();
  expect(app_send(&app, &world), PFC_VERDICT_STALE, PFC_DETAIL_NO_CHALLENGE);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app.challenge.counter++;
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  expect(app_send(&app, &world), PFC_VERDICT_STALE, PFC_DETAIL_OTHER_CHALLENGE);
  expect(app_send(&app, &world), PFC_VERDICT_STALE, PFC_DETAIL_NO_CHALLENGE);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  world.seconds += world.hardware.challenge_seconds + 1u;
  expect(app_send(&app, &world), PFC_VERDICT_STALE, PFC_DETAIL_CHALLENGE_TIMED_OUT);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_NOT_EXECUTED);
  expect(app_send(&app, &world), PFC_VERDICT_STALE, PFC_DETAIL_CHALLENGE_ENDED);
}

static void not_permitted_tells_class_or_match(void) {
  begin(2);
  app.token.integrity_classes = 0x0003;
  app.token.device_classes = 0x0001;
  hold();
  expect(app_do(&app, &world, PFC_KIND_DEVICE, 1, "go"), PFC_VERDICT_NOT_PERMITTED, PFC_DETAIL_INTEGRITY_DEMANDED);
  expect(app_do(&app, &world, PFC_KIND_DEVICE, 2, "go"), PFC_VERDICT_NOT_PERMITTED, PFC_DETAIL_CLASS_NOT_PERMITTED);
  expect(app_do(&app, &world, PFC_KIND_INTEGRITY, 2, "go"), PFC_VERDICT_NOT_PERMITTED, PFC_DETAIL_CLASS_NOT_PERMITTED);
}

static void tokens_tell_days_since_their_end(void) {
  static const struct {
    uint64_t after;
    unsigned days;
  } cases[] = {{1, 1}, {86399, 1}, {86400, 2}, {30 * 86400, 31}, {UINT32_MAX, PFC_DETAIL_DAYS_MAX},
               {UINT64_C(1) << 33, PFC_DETAIL_DAYS_MAX}};
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_case("%u days", cases[i].days);
    begin(3);
    app.token.not_after = WORLD_BEGIN + 50;
    app_issue(&app, &world);
    CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 50 + cases[i].after, NULL, 0), PFC_VERDICT_DONE);
    expect(app_present(&app, &world), PFC_VERDICT_EXPIRED, cases[i].days);
  }
}

static void superseded_tokens_tell_floor_or_generation(void) {
  begin(4);
  app.token.generation = 3;
  hold();
  app.token.generation = 2;
  app_issue(&app, &world);
  expect(app_present(&app, &world), PFC_VERDICT_SUPERSEDED, PFC_DETAIL_OLDER_GENERATION);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 100, NULL, 0), PFC_VERDICT_DONE);
  expect(app_present(&app, &world), PFC_VERDICT_SUPERSEDED, PFC_DETAIL_BELOW_FLOOR);
}

static void wrong_mode_tells_mode_form_or_suite(void) {
  begin(5);
  app.token.mode = PFC_MODE_DEVELOPMENT;
  app_issue(&app, &world);
  expect(app_present(&app, &world), PFC_VERDICT_WRONG_MODE, PFC_DETAIL_OTHER_MODE);
  app.token.mode = PFC_MODE_PRODUCTION;
  app.token.form = PFC_FORM_LITERAL;
  app_issue(&app, &world);
  expect(app_present(&app, &world), PFC_VERDICT_WRONG_MODE, PFC_DETAIL_LITERAL_FORM);
}

static void too_new_tells_the_part(void) {
  static const struct {
    uint8_t type, at, value;
    unsigned detail;
  } cases[] = {{PFC_MESSAGE_TOKEN, 2, 3, PFC_DETAIL_LATER_VERSION}, {PFC_MESSAGE_TOKEN, 2, 0, PFC_DETAIL_LATER_VERSION},
               {PFC_MESSAGE_TOKEN, 3, 2, PFC_DETAIL_LATER_SUITE},   {PFC_MESSAGE_TOKEN, 3, 0, PFC_DETAIL_LATER_SUITE},
               {PFC_MESSAGE_ORDER, 2, 2, PFC_DETAIL_LATER_VERSION}, {PFC_MESSAGE_ORDER, 3, 2, PFC_DETAIL_LATER_SUITE},
               {PFC_MESSAGE_ASK, 0, 3, PFC_DETAIL_UNKNOWN_KIND},
               {PFC_MESSAGE_COMMAND, 0, 5, PFC_DETAIL_UNKNOWN_KIND}};
  begin(6);
  app_issue(&app, &world);
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint8_t bytes[PFC_MESSAGE_MAX] = {0};
    size_t size = PFC_ASK_BYTES;
    test_case("type %u, byte %u is %u", cases[i].type, cases[i].at, cases[i].value);
    if (cases[i].type == PFC_MESSAGE_TOKEN) memcpy(bytes, app.bytes, size = PFC_TOKEN_BYTES);
    if (cases[i].type == PFC_MESSAGE_COMMAND) size = PFC_COMMAND_DEVICE_BYTES;
    if (cases[i].type == PFC_MESSAGE_ORDER) {
      struct pfc_order order = {.type = PFC_ORDER_EPOCH, .issued = WORLD_BEGIN};
      memcpy(order.hardware_id, world.hardware.id, PFC_ID_BYTES);
      REQUIRE(CHECK_NUMBER(pfc_order_create(bytes, &order, world.issuer.signing_key), PFC_OK));
      size = PFC_ORDER_BYTES;
    }
    bytes[cases[i].at] = cases[i].value;
    expect(world_send(&world, cases[i].type, bytes, size), PFC_VERDICT_TOO_NEW, cases[i].detail);
  }
}

static void faults_tell_what_failed(void) {
  const uint8_t what = PFC_ASK_CHALLENGE;
  begin(7);
  world.random = RANDOM_FAILS;
  expect(world_send(&world, PFC_MESSAGE_ASK, &what, 1), PFC_VERDICT_FAULT, PFC_DETAIL_NOT_DRAWN);
  pfc_verifier_wipe(&world.verifier);
  expect(world_send(&world, PFC_MESSAGE_ASK, &what, 1), PFC_VERDICT_FAULT, PFC_DETAIL_NOT_STARTED);
}

/// Sends a command of this app from another device. The answer without its receipt and counter.
static unsigned guess(const struct app *stranger, uint8_t kind, uint8_t class_) {
  struct app other = *stranger;
  other.token.secrets.device[3] ^= 1;
  new_link();
  uint8_t verdict = app_do(&other, &world, kind, class_, "go");
  return (unsigned)verdict << 16 | world.answer.detail;
}

static void strangers_learn_no_rights(void) {
  begin(8);
  app.token.integrity_classes = 0x0003;
  app.token.device_classes = 0x0001;
  app.token.uses = 2;
  hold();
  for (uint8_t kind = PFC_KIND_INTEGRITY; kind <= PFC_KIND_DEVICE; kind++) {
    for (uint8_t class_ = 0; class_ < PFC_CLASSES; class_++) {
      test_case("kind %u, class %u", kind, class_);
      CHECK_NUMBER(guess(&app, kind, class_), (unsigned)PFC_VERDICT_DEVICE_DIFFERS << 16);
    }
  }
}

/// The verdict of an ended, exhausted or used-up slot comes before the proofs: with no detail.
static void strangers_learn_no_limits(void) {
  begin(9);
  app.token.not_after = WORLD_BEGIN + 50;
  hold();
  for (unsigned days = 1; days < 400; days += 133) {
    test_case("%u days after the end", days);
    CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 50 + 86400 * days, NULL, 0), PFC_VERDICT_DONE);
    CHECK_NUMBER(guess(&app, PFC_KIND_INTEGRITY, 1), (unsigned)PFC_VERDICT_EXPIRED << 16);
  }
}

/// Unknown issuer and wrong signature are one answer, so that a stranger cannot ask which issuers hardware trusts.
static void strangers_learn_no_issuers(void) {
  begin(10);
  test_case("a wrong signature of a known issuer");
  world.issuer.signing_key[0] ^= 1;
  app_issue(&app, &world);
  expect(app_present(&app, &world), PFC_VERDICT_NOT_SIGNED, 0);
  test_case("an unknown issuer");
  issuer_make(&world.issuer, 999);
  app_issue(&app, &world);
  expect(app_present(&app, &world), PFC_VERDICT_NOT_SIGNED, 0);
}

static const struct test tests[] = {
    TEST("a stale command tells what became of its challenge", stale_commands_tell_why),
    TEST("a class that is not permitted tells whether an integrity match would do", not_permitted_tells_class_or_match),
    TEST("an expired token tells the days since its end", tokens_tell_days_since_their_end),
    TEST("a superseded token tells floor or generation", superseded_tokens_tell_floor_or_generation),
    TEST("a token of the wrong mode tells mode or form", wrong_mode_tells_mode_form_or_suite),
    TEST("too new tells version, suite or kind", too_new_tells_the_part),
    TEST("a fault tells what failed", faults_tell_what_failed),
    TEST("a stranger's command does not tell the token's classes", strangers_learn_no_rights),
    TEST("a stranger's command does not tell when the token ended", strangers_learn_no_limits),
    TEST("a token that is not signed does not tell which issuers are known", strangers_learn_no_issuers),
};

const struct suite verifier_detail_suite = SUITE("verifier details", tests);
