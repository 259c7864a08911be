// SPDX-License-Identifier: Apache-2.0

/// Version 2: its tokens in both suites, and every way in which versions, suites and factory secrets meet.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "suites.h"
#include "world.h"

static struct world world;
static struct app app;

static void begin(uint64_t seed, bool factory) {
  world_make(&world, seed);
  if (factory) world_factory(&world);
  app_make(&app, &world, seed + 50);
  app.token.uses = 12;
  app_renew(&app);
  app_issue(&app, &world);
}

static int open_token(struct pfc_token *token) {
  memset(token, 0xa5, sizeof *token);
  return pfc_token_open(token, app.bytes, sizeof app.bytes, &world.hardware);
}

static void what_is_created_is_opened(void) {
  for (unsigned factory = 0; factory < 2; factory++) {
    struct pfc_token token;
    test_case("suite %u", 1 + factory);
    begin(1, factory != 0);
    app.token.delegable_classes = 0x0102;
    app.token.generation = 9;
    app.token.base = 7;
    app_issue(&app, &world);
    CHECK_NUMBER(app.bytes[2], 2);
    CHECK_NUMBER(app.bytes[3], 1 + factory);
    REQUIRE(CHECK_NUMBER(open_token(&token), PFC_OK));
    CHECK_NUMBER(token.version, 2);
    CHECK_NUMBER(token.policy, 0);
    CHECK_NUMBER(token.delegable_classes, 0x0102);
    CHECK_NUMBER(token.base, 7);
    CHECK_NUMBER(token.generation, 9);
    CHECK_BYTES(token.hardware_id, world.hardware.id, 16);
    CHECK_BYTES(token.instance_id, app.token.instance_id, 16);
    CHECK_BYTES(&token.secrets, &app.token.secrets, sizeof token.secrets);
  }
}

static void flipped_bits_are_refused(void) {
  begin(3, true);
  for (size_t bit = 0; bit < 8 * sizeof app.bytes; bit++) {
    struct pfc_token token;
    size_t byte = bit / 8;
    int expected = byte < 2 ? PFC_E_MALFORMED : byte < 4 ? PFC_E_TOO_NEW : PFC_E_RECIPIENT;
    test_case("bit %zu of byte %zu", bit % 8, byte);
    app.bytes[byte] ^= (uint8_t)(1u << (bit % 8));
    CHECK_NUMBER(open_token(&token), expected);
    CHECK_ZEROS(&token, sizeof token);
    app.bytes[byte] ^= (uint8_t)(1u << (bit % 8));
  }
}

static void factory_secret_is_derived(void) {
  uint8_t drawn[32], id[16], secret[32], other[32], expected[32];
  memset(drawn, 0x5f, sizeof drawn);
  memset(id, 0x48, sizeof id);
  pfc_factory_secret(secret, drawn, id);
  pfc_hkdf(expected, (const uint8_t *)"pfc2.factory-s..", 16, drawn, sizeof drawn, id, sizeof id);
  CHECK_BYTES(secret, expected, sizeof secret);
  id[15] ^= 1;
  pfc_factory_secret(other, drawn, id);
  CHECK(memcmp(other, secret, sizeof secret) != 0);
}

static void hardware_has_one_or_none(void) {
  begin(4, true);
  CHECK_NUMBER(pfc_hardware_check(&world.hardware), PFC_OK);
  world.hardware.has_factory_secret = 2;
  CHECK_NUMBER(pfc_hardware_check(&world.hardware), PFC_E_ARGUMENT);
  test_case("a secret without the mark: suite 1 would be taken again");
  world.hardware.has_factory_secret = 0;
  CHECK_NUMBER(pfc_hardware_check(&world.hardware), PFC_E_ARGUMENT);
  memset(world.hardware.factory_secret, 0, sizeof world.hardware.factory_secret);
  CHECK_NUMBER(pfc_hardware_check(&world.hardware), PFC_OK);
  test_case("the mark without a secret: everyone knows zeros");
  world.hardware.has_factory_secret = 1;
  CHECK_NUMBER(pfc_hardware_check(&world.hardware), PFC_E_ARGUMENT);
}

/// The whole table: the token's version and suite, made with which secret, at hardware with which.
static void versions_and_secrets_meet(void) {
  enum secret { NONE, RIGHT, WRONG };
  unsigned accepted = 0, refused = 0;
  for (unsigned hardware = NONE; hardware <= RIGHT; hardware++) {
    for (unsigned version = 1; version <= 2; version++) {
      for (unsigned sealed = NONE; sealed <= WRONG; sealed++) {
        uint8_t secret[PFC_FACTORY_SECRET_BYTES], drawn[PFC_FACTORY_SECRET_BYTES] = {1}, ephemeral[32] = {2};
        uint8_t expected = PFC_VERDICT_HELD;
        if (version == 1 && sealed != NONE) continue;  // The creator refuses it: `creator_refuses_what_no_one_takes`.
        if (hardware == NONE && sealed == RIGHT) continue;  // No secret is right there.
        test_case("token of version %u, sealed with secret %u, hardware has %u", version, sealed, hardware);
        begin(5, hardware == RIGHT);
        pfc_factory_secret(secret, drawn, world.hardware.id);
        app.token.version = (uint8_t)version;
        app.token.base = version - 1;
        REQUIRE(CHECK_NUMBER(pfc_token_create(app.bytes, &app.token, world.hardware.public_key,
                                              sealed == NONE    ? NULL
                                              : sealed == RIGHT ? world.hardware.factory_secret
                                                                : secret,
                                              world.issuer.signing_key, ephemeral),
                             PFC_OK));
        pfc_token_digest(app.digest, app.bytes);
        if (hardware == RIGHT && sealed == NONE) expected = PFC_VERDICT_WRONG_MODE;
        if (hardware == RIGHT && sealed == WRONG) expected = PFC_VERDICT_NOT_FOR_ME;
        if (hardware == NONE && sealed != NONE) expected = PFC_VERDICT_TOO_NEW;
        CHECK_NUMBER(app_present(&app, &world), expected);
        if (expected == PFC_VERDICT_WRONG_MODE) CHECK_NUMBER(world.answer.detail, PFC_DETAIL_SUITE);
        // Only the wrong secret costs public-key work.
        CHECK_NUMBER(world.link->openings, expected == PFC_VERDICT_NOT_FOR_ME);
        if (expected != PFC_VERDICT_HELD) {
          CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_UNKNOWN);
          refused++;
          continue;
        }
        CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
        REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
        CHECK_NUMBER(app_do(&app, &world, PFC_KIND_DEVICE, 1, "go"), PFC_VERDICT_ACCEPTED_DEVICE);
        accepted++;
      }
    }
  }
  test_note("%u combinations accepted, %u refused", accepted, refused);
}

static void creator_refuses_what_no_one_takes(void) {
  static const char *const names[] = {"version 0",        "version 3",          "a policy bit",     "base 0",
                                      "base 2 of 1",      "a class to pass on", "version 1, policy", "version 1, base",
                                      "version 1, to pass on", "version 1, suite 2", "literal, suite 2"};
  for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct pfc_token token;
    uint8_t bytes[PFC_TOKEN_BYTES], ephemeral[32] = {3};
    const uint8_t *secret = NULL;
    test_case("%s", names[i]);
    begin(6, true);
    token = app.token;
    token.integrity_classes = token.device_classes = 3;
    if (i == 0) token.version = 0;
    if (i == 1) token.version = 3;
    if (i == 2) token.policy = 3;
    if (i == 3) token.base = 0;
    if (i == 4) token.base = 2;
    if (i == 5) token.delegable_classes = 4;
    if (i >= 6 && i <= 9) token.version = PFC_VERSION;
    if (i >= 6 && i <= 9) token.base = 0;
    if (i == 6) token.policy = 1;
    if (i == 7) token.base = 1;
    if (i == 8) token.delegable_classes = 1;
    if (i == 10) token.form = PFC_FORM_LITERAL;
    if (i >= 9) secret = world.hardware.factory_secret;
    memset(bytes, 0xa5, sizeof bytes);
    CHECK_NUMBER(
        pfc_token_create(bytes, &token, world.hardware.public_key, secret, world.issuer.signing_key, ephemeral),
        PFC_E_ARGUMENT);
    CHECK_ZEROS(bytes, sizeof bytes);
  }
}

static void delegable_classes_are_kept(void) {
  begin(7, true);
  app.token.delegable_classes = 0x8001;
  app_issue(&app, &world);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"), PFC_VERDICT_ACCEPTED);
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(world.verifier.ledger.slots[0].delegable_classes, 0x8001);
  app.token.generation = app.token.base = 2;
  app.token.delegable_classes = 0;
  app_issue(&app, &world);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
  CHECK_NUMBER(world.verifier.ledger.slots[0].delegable_classes, 0);
}

static void capabilities_are_told(void) {
  for (unsigned factory = 0; factory < 2; factory++) {
    struct pfc_capabilities told, read;
    uint8_t value[PFC_CAPABILITIES_BYTES + 1] = {0};
    test_case("a factory secret: %u", factory);
    begin(8, factory != 0);
    pfc_verifier_capabilities(&world.verifier, &told);
    pfc_capabilities_encode(value, &told);
    CHECK_NUMBER(value[0], 1);
    CHECK_NUMBER(value[1], PFC_SLOTS);
    CHECK_ZEROS(value + 2, 2);
    CHECK_NUMBER(get32(value + 4), factory != 0 ? 0x63 : 0x43);
    CHECK_BYTES(value + 8, world.hardware.id, 16);
    CHECK_ZEROS(value + 24, 16);
    REQUIRE(CHECK_NUMBER(pfc_capabilities_decode(&read, value, PFC_CAPABILITIES_BYTES), PFC_OK));
    CHECK_NUMBER(read.features, told.features);
    CHECK_NUMBER(read.slots, told.slots);
    CHECK_BYTES(read.hardware_id, world.hardware.id, 16);
    test_case("what a later version sets is no defect");
    memset(value + 2, 0xff, 6);
    memset(value + 24, 0xff, 16);
    CHECK_NUMBER(pfc_capabilities_decode(&read, value, PFC_CAPABILITIES_BYTES), PFC_OK);
    CHECK_NUMBER(pfc_capabilities_decode(&read, value, PFC_CAPABILITIES_BYTES - 1), PFC_E_MALFORMED);
    CHECK_NUMBER(pfc_capabilities_decode(&read, value, PFC_CAPABILITIES_BYTES + 1), PFC_E_MALFORMED);
    value[0] = 2;
    CHECK_NUMBER(pfc_capabilities_decode(&read, value, PFC_CAPABILITIES_BYTES), PFC_E_TOO_NEW);
    CHECK_ZEROS(&read, sizeof read);
  }
  pfc_verifier_wipe(&world.verifier);
  struct pfc_capabilities nothing;
  pfc_verifier_capabilities(&world.verifier, &nothing);
  CHECK_ZEROS(&nothing, sizeof nothing);
}

static const struct test tests[] = {
    TEST("a token of version 2 opens to what was granted, in both suites", what_is_created_is_opened),
    TEST("suite 2: every flipped bit is refused", flipped_bits_are_refused),
    TEST("the factory secret of one piece of hardware comes from the drawn one", factory_secret_is_derived),
    TEST("hardware with a factory secret of zeros, or an unmarked one, does not start", hardware_has_one_or_none),
    TEST("versions, suites and factory secrets meet in every combination", versions_and_secrets_meet),
    TEST("the creator refuses what no hardware takes", creator_refuses_what_no_one_takes),
    TEST("delegable classes are stored and replaced with the token", delegable_classes_are_kept),
    TEST("capabilities tell what the hardware takes", capabilities_are_told),
};

const struct suite version_suite = SUITE("version", tests);
