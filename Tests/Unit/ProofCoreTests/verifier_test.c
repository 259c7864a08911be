// SPDX-License-Identifier: Apache-2.0

/// The hardware's judgement of commands.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "world.h"

static struct world world;
static struct app app;

/// A world whose hardware holds the app's token.
static void begin(uint64_t seed) {
  world_make(&world, seed);
  app_make(&app, &world, seed + 1000);
  app_issue(&app, &world);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
}

static uint16_t attempts_left(void) {
  int index = pfc_ledger_find(&world.verifier.ledger, app.token.instance_id);
  return index < 0 ? 0 : world.verifier.ledger.slots[index].attempts;
}

static void first_contact(void) {
  begin(1);
  CHECK_NUMBER(world.answer.detail, 65535);
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 3, "open"), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(world.outcome.command_class, 3);
  CHECK_NUMBER(world.outcome.kind, PFC_KIND_INTEGRITY);
  CHECK_NUMBER(world.outcome.command_size, 4);
  CHECK_BYTES(world.outcome.command, "open", 4);
  CHECK_BYTES(world.outcome.instance_id, app.token.instance_id, 16);
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_DEVICE, 0, ""), PFC_VERDICT_ACCEPTED_DEVICE);
  CHECK_NUMBER(world.outcome.command_size, 0);
}

/// From evidence to verdict, with every secret made by the core.
static void real_measurements_verify(void) {
  uint8_t mpk[16] = {1, 1, 2, 3, 5, 8}, name[1] = {'x'}, digest[32] = {9}, bytes[PFC_CONFIG_BYTES_MAX];
  struct pfc_key key = pfc_key_plain(mpk, PFC_MODE_PRODUCTION);
  struct pfc_config config;
  struct pfc_measurement fold;
  struct pfc_measured measured;
  size_t size;
  memset(&config, 0, sizeof config);
  config.salt[0] = 1;
  config.policy = 1;
  config.limit_log2 = 20;
  config.generation = 1;
  config.source_count = 2;
  config.sources[0] = (struct pfc_source){PFC_CLASS_DEVICE, 1, 1, 0};
  config.sources[1] = (struct pfc_source){PFC_CLASS_APP, 1, 1, 0};
  REQUIRE(CHECK_NUMBER(pfc_measurement_baseline_init(&fold, &config, &key), PFC_OK));
  REQUIRE(CHECK_NUMBER(pfc_measurement_update(&fold, 1, 1, name, 1, digest), PFC_OK));
  REQUIRE(CHECK_NUMBER(pfc_measurement_update(&fold, 2, 1, name, 1, digest), PFC_OK));
  REQUIRE(CHECK_NUMBER(pfc_measurement_baseline_final(&config, &fold), PFC_OK));
  REQUIRE(CHECK_NUMBER(pfc_config_encode(bytes, sizeof bytes, &size, &config), PFC_OK));
  for (unsigned change = 0; change < 4; change++) {
    static const char *const what[] = {"untouched", "another app", "another device", "another key"};
    static const uint8_t expected[] = {PFC_VERDICT_ACCEPTED, PFC_VERDICT_INTEGRITY_DIFFERS, PFC_VERDICT_DEVICE_DIFFERS,
                                       PFC_VERDICT_INTEGRITY_DIFFERS};
    uint8_t changed[32] = {8};
    test_case("%s", what[change]);
    if (change == 3) mpk[15] ^= 1;
    REQUIRE(CHECK_NUMBER(pfc_measurement_init(&fold, bytes, size, &key, 0), PFC_OK));
    REQUIRE(CHECK_NUMBER(pfc_measurement_update(&fold, 1, 1, name, 1, change == 2 ? changed : digest), PFC_OK));
    REQUIRE(CHECK_NUMBER(pfc_measurement_update(&fold, 2, 1, name, 1, change == 1 ? changed : digest), PFC_OK));
    REQUIRE(CHECK_NUMBER(pfc_measurement_final(&measured, &fold), PFC_OK));
    if (change == 0) {
      world_make(&world, 2);
      app_make(&app, &world, 3);
    }
    REQUIRE(CHECK_NUMBER(pfc_secrets_make(&app.token.secrets, &key, &measured, PFC_FORM_DIVERSIFIED, world.hardware.id),
                         PFC_OK));
    if (change == 0) {
      app_issue(&app, &world);
      REQUIRE(CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD));
    }
    CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "open"), expected[change]);
    CHECK_NUMBER(app_do(&app, &world, PFC_KIND_DEVICE, 1, "open"),
                 change == 2 ? PFC_VERDICT_DEVICE_DIFFERS : PFC_VERDICT_ACCEPTED_DEVICE);
  }
}

static void same_challenge_twice(void) {
  begin(3);
  for (uint8_t kind = 1; kind <= 2; kind++) {
    CHECK(app_do(&app, &world, kind, 1, "open") <= PFC_VERDICT_ACCEPTED_DEVICE);
    CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
    CHECK_COUNT(world.answer.counter, app.challenge.counter);
    app_command(&app, &world, kind, 1, "something else");
    CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
  }
}

static void failure_spends_the_challenge(void) {
  for (unsigned i = 1; i <= 7; i++) {
    static const char *const what[] = {"device differs",  "integrity differs", "not permitted", "unknown instance",
                                       "another counter", "no uses",           "expired"};
    static const uint8_t expected[] = {
        PFC_VERDICT_DEVICE_DIFFERS, PFC_VERDICT_INTEGRITY_DIFFERS, PFC_VERDICT_NOT_PERMITTED, PFC_VERDICT_UNKNOWN,
        PFC_VERDICT_STALE,          PFC_VERDICT_NO_USES,           PFC_VERDICT_EXPIRED};
    struct app bad;
    world_make(&world, 4);
    app_make(&app, &world, 5);
    app.token.integrity_classes = app.token.device_classes = 1 << 1;
    app.token.uses = 1;
    app.token.not_after = WORLD_BEGIN + 100;
    app_issue(&app, &world);
    REQUIRE(CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD));
    if (i == 6) CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "open"), PFC_VERDICT_ACCEPTED);
    if (i == 7) CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 101, NULL, 0), PFC_VERDICT_DONE);
    test_case("%u. %s", i, what[i - 1]);
    REQUIRE(CHECK(world_ask(&world, &app.challenge)));
    bad = app;
    if (i == 1) bad.token.secrets.device[0] ^= 1;
    if (i == 2) bad.token.secrets.integrity[0] ^= 1;
    if (i == 4) bad.token.instance_id[0] ^= 1;
    if (i == 5) bad.challenge.counter++;
    app_command(&bad, &world, PFC_KIND_INTEGRITY, i == 3 ? 2 : 1, "open");
    CHECK_NUMBER(app_send(&bad, &world), expected[i - 1]);
    app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "open");
    CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
  }
}

static void malformed_leaves_the_challenge(void) {
  begin(5);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "open");
  uint8_t kept = app.message[0];
  app.message[0] = 5;
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_TOO_NEW);
  app.message[0] = kept;
  app.message[1] = 16;
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_MALFORMED);
  app.message[1] = 1;
  CHECK_NUMBER(world_send(&world, PFC_MESSAGE_COMMAND, app.message, 57), PFC_VERDICT_MALFORMED);
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_ACCEPTED);
}

static void new_challenge_replaces(void) {
  struct pfc_challenge first, second;
  begin(6);
  REQUIRE(CHECK(world_ask(&world, &first)));
  REQUIRE(CHECK(world_ask(&world, &second)));
  CHECK_COUNT(second.counter, first.counter + 1);
  CHECK_DIFFER(first.bytes, second.bytes, 32);
  app.challenge = first;
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "open");
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
  // The stale answer has spent the live one as well.
  app.challenge = second;
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "open");
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
}

static void no_challenge_is_stale(void) {
  begin(7);
  app.challenge.counter = 1;
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "open");
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
}

static void disconnect_kills_the_challenge(void) {
  begin(8);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "open");
  pfc_session_close(world.link);
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
  pfc_session_init(world.link);
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
}

static void challenges_belong_to_a_link(void) {
  struct pfc_challenge other;
  begin(9);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "open");
  world.link = &world.links[1];
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
  REQUIRE(CHECK(world_ask(&world, &other)));
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
  // Where it belongs it is still alive.
  world.link = &world.links[0];
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
}

static void restart_kills_the_challenge(void) {
  begin(10);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "open");
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "open"), PFC_VERDICT_ACCEPTED);
}

static void challenges_grow_old(void) {
  static const struct {
    bool clock;
    uint16_t limit;
    uint32_t age;
    uint8_t expected;
  } cases[] = {
      {true, 30, 0, PFC_VERDICT_ACCEPTED},      {true, 30, 30, PFC_VERDICT_ACCEPTED},
      {true, 30, 31, PFC_VERDICT_STALE},        {true, 30, UINT32_MAX, PFC_VERDICT_STALE},
      {true, 0, 1000000, PFC_VERDICT_ACCEPTED}, {false, 30, 1000000, PFC_VERDICT_ACCEPTED},
      {true, 1, 2, PFC_VERDICT_STALE},          {true, 65535, 65535, PFC_VERDICT_ACCEPTED},
      {true, 65535, 65536, PFC_VERDICT_STALE},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_case("%u", i + 1);
    begin(11);
    world.hardware.challenge_seconds = cases[i].limit;
    world_clock(&world, cases[i].clock);
    // A clock that runs over its 32 bits meanwhile does not matter.
    world.seconds = i % 2 != 0 ? UINT32_MAX - 5 : 1000;
    REQUIRE(CHECK(world_ask(&world, &app.challenge)));
    world.seconds += cases[i].age;
    app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "open");
    CHECK_NUMBER(app_send(&app, &world), cases[i].expected);
  }
}

/// Sends the app's command with one byte range altered, under a fresh challenge each time.
static void flip_every_bit_of(uint8_t kind) {
  size_t fixed = kind == PFC_KIND_INTEGRITY ? 90 : 58;
  begin(12 + kind);
  for (size_t bit = 0; bit < 8 * (fixed + 4); bit++) {
    size_t byte = bit / 8;
    uint8_t verdict;
    test_case("kind %u, bit %zu of byte %zu", kind, bit % 8, byte);
    // Refusals are counted for each link; this is about the judgement alone.
    pfc_session_init(world.link);
    REQUIRE(CHECK(world_ask(&world, &app.challenge)));
    app_command(&app, &world, kind, 1, "open");
    app.message[byte] ^= (uint8_t)(1u << (bit % 8));
    verdict = app_send(&app, &world);
    CHECK_NUMBER(world.outcome.execute, 0);
    CHECK_NUMBER(attempts_left(), 3);
    if (byte >= 2 && byte < 18) {
      CHECK_NUMBER(verdict, PFC_VERDICT_UNKNOWN);
    } else if (byte >= 18 && byte < 26) {
      CHECK_NUMBER(verdict, PFC_VERDICT_STALE);
    } else if (byte < 2) {
      CHECK(verdict == PFC_VERDICT_MALFORMED || verdict == PFC_VERDICT_TOO_NEW ||
            verdict == PFC_VERDICT_DEVICE_DIFFERS);
    } else {
      CHECK_NUMBER(verdict, PFC_VERDICT_DEVICE_DIFFERS);
    }
  }
}

static void every_flipped_bit_is_refused(void) {
  flip_every_bit_of(PFC_KIND_INTEGRITY);
  flip_every_bit_of(PFC_KIND_DEVICE);
}

static void every_other_length_is_refused(void) {
  for (uint8_t kind = 1; kind <= 2; kind++) {
    begin(15);
    for (size_t size = 0; size <= PFC_MESSAGE_MAX + 2; size++) {
      uint8_t longer[PFC_MESSAGE_MAX + 8] = {0};
      test_case("kind %u, %zu bytes", kind, size);
      pfc_session_init(world.link);
      REQUIRE(CHECK(world_ask(&world, &app.challenge)));
      app_command(&app, &world, kind, 1, "open");
      if (size == app.size) continue;
      memcpy(longer, app.message, app.size);
      uint8_t verdict = world_send(&world, PFC_MESSAGE_COMMAND, longer, size);
      CHECK(verdict == PFC_VERDICT_MALFORMED || verdict == PFC_VERDICT_TOO_NEW ||
            verdict == PFC_VERDICT_DEVICE_DIFFERS);
      CHECK_NUMBER(attempts_left(), 3);
    }
  }
}

static void proofs_of_other_things_are_refused(void) {
  static struct world other;
  static const char *const what[] = {"another command",
                                     "another class",
                                     "another kind",
                                     "another hardware id",
                                     "the same challenge with another counter",
                                     "another challenge with the same counter",
                                     "the proof of an earlier command"};
  for (unsigned i = 0; i < 7; i++) {
    struct app made;
    struct pfc_challenge earlier;
    test_case("%u. %s", i + 1, what[i]);
    begin(16);
    world_make(&other, 17);
    REQUIRE(CHECK(world_ask(&world, &earlier)));
    REQUIRE(CHECK(world_ask(&world, &app.challenge)));
    made = app;
    if (i == 4) made.challenge.counter--;
    if (i == 5 || i == 6) memcpy(made.challenge.bytes, earlier.bytes, 32);
    app_command(&made, i == 3 ? &other : &world, i == 2 ? PFC_KIND_DEVICE : PFC_KIND_INTEGRITY, i == 1 ? 2 : 1,
                i == 0 ? "shut" : "open");
    app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "open");
    if (i == 2) {
      // The device proof of kind 2 in the place of the escort's.
      memcpy(app.message + 58, made.message + 26, 32);
    } else {
      memcpy(app.message + 26, made.message + 26, 64);
    }
    CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_DEVICE_DIFFERS);
    CHECK_NUMBER(attempts_left(), 3);
  }
}

static void escort_does_not_pass_as_device_proof(void) {
  begin(18);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "open");
  struct app device = app;
  app_command(&device, &world, PFC_KIND_DEVICE, 1, "open");
  memcpy(device.message + 26, app.message + 58, 32);
  CHECK_NUMBER(app_send(&device, &world), PFC_VERDICT_DEVICE_DIFFERS);
}

static void other_hardware_gives_nothing_away(void) {
  // Opening hardware B teaches its token's secrets. At A they are a stranger's.
  static struct world other;
  struct app stolen;
  uint8_t mpk[16] = {3};
  struct pfc_key key = pfc_key_plain(mpk, PFC_MODE_PRODUCTION);
  struct pfc_measured measured;
  memset(&measured, 0x31, sizeof measured);
  world_make(&world, 19);
  world_make(&other, 20);
  app_make(&app, &world, 21);
  REQUIRE(CHECK_NUMBER(pfc_secrets_make(&app.token.secrets, &key, &measured, PFC_FORM_DIVERSIFIED, world.hardware.id),
                       PFC_OK));
  app_issue(&app, &world);
  REQUIRE(CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD));
  stolen = app;
  REQUIRE(CHECK_NUMBER(
      pfc_secrets_make(&stolen.token.secrets, &key, &measured, PFC_FORM_DIVERSIFIED, other.hardware.id), PFC_OK));
  CHECK_NUMBER(app_do(&stolen, &world, PFC_KIND_INTEGRITY, 1, "open"), PFC_VERDICT_DEVICE_DIFFERS);
  CHECK_NUMBER(app_do(&stolen, &world, PFC_KIND_DEVICE, 1, "open"), PFC_VERDICT_DEVICE_DIFFERS);
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "open"), PFC_VERDICT_ACCEPTED);
}

static void literal_secrets_serve_where_allowed(void) {
  uint8_t mpk[16] = {4};
  struct pfc_key key = pfc_key_plain(mpk, PFC_MODE_PRODUCTION);
  struct pfc_measured measured;
  memset(&measured, 0x32, sizeof measured);
  world_make(&world, 22);
  world.hardware.allow_literal = 1;
  app_make(&app, &world, 23);
  app.token.form = PFC_FORM_LITERAL;
  REQUIRE(
      CHECK_NUMBER(pfc_secrets_make(&app.token.secrets, &key, &measured, PFC_FORM_LITERAL, world.hardware.id), PFC_OK));
  app_issue(&app, &world);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "open"), PFC_VERDICT_ACCEPTED);
}

static void ten_thousand_in_a_row(void) {
  begin(24);
  for (unsigned i = 0; i < 10000; i++) {
    char text[24];
    uint8_t kind = (uint8_t)(1 + i % 3 % 2);
    test_case("proof %u", i);
    put64((uint8_t *)text, i | UINT64_C(0x0101010101010101));
    text[8] = '\0';
    REQUIRE(CHECK_NUMBER(app_do(&app, &world, kind, (uint8_t)(i % 16), text),
                         kind == 1 ? PFC_VERDICT_ACCEPTED : PFC_VERDICT_ACCEPTED_DEVICE));
    if (i % 1000 == 999) REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  }
  CHECK_NUMBER(attempts_left(), 3);
}

static const struct test tests[] = {
    TEST("token, challenge, command: the command is done once and the receipt is right", first_contact),
    TEST("measurements made by the core verify; a changed app, device or key is told apart", real_measurements_verify),
    TEST("the same challenge twice is refused the second time", same_challenge_twice),
    TEST("a refusal of any kind spends the challenge", failure_spends_the_challenge),
    TEST("a message that does not parse leaves the challenge alive", malformed_leaves_the_challenge),
    TEST("a new challenge replaces the one before, and answering the old spends the new", new_challenge_replaces),
    TEST("a command without a challenge is stale", no_challenge_is_stale),
    TEST("a challenge is dead after the link ends", disconnect_kills_the_challenge),
    TEST("a challenge is alive on its own link only", challenges_belong_to_a_link),
    TEST("a challenge is dead after a restart", restart_kills_the_challenge),
    TEST("a challenge older than the limit is stale, at the limit it is not, without a clock it never is",
         challenges_grow_old),
    TEST("a command with any bit flipped is refused and costs no attempt", every_flipped_bit_is_refused),
    TEST("a command cut short or lengthened is refused and costs no attempt", every_other_length_is_refused),
    TEST("a proof for another command, class, kind, hardware or challenge is refused",
         proofs_of_other_things_are_refused),
    TEST("the device proof of an integrity command is not one of a device command",
         escort_does_not_pass_as_device_proof),
    TEST("secrets from one piece of hardware are useless at another", other_hardware_gives_nothing_away),
    TEST("literal secrets serve where they are allowed", literal_secrets_serve_where_allowed),
    TEST("10,000 proofs in a row verify, restarts included", ten_thousand_in_a_row),
};

const struct suite verifier_suite = SUITE("verifier", tests);
