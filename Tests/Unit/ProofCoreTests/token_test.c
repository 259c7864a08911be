// SPDX-License-Identifier: Apache-2.0

/// The measurement token: signed, then sealed.

#include <string.h>

#include "ProofCore.h"
#include "forge.h"
#include "harness.h"
#include "world.h"

static struct world world;
static struct app app;

static void begin(uint64_t seed) {
  world_make(&world, seed);
  app_make(&app, &world, seed + 50);
  app.token.not_after = app.token.issued + 1000;
  app.token.uses = 12;
  app_issue(&app, &world);
}

/// Opening answers this, and on refusal leaves zeros.
static void opens(const uint8_t *bytes, size_t size, int expected) {
  struct pfc_token token;
  memset(&token, 0xa5, sizeof token);
  CHECK_NUMBER(pfc_token_open(&token, bytes, size, &world.hardware), expected);
  if (expected != PFC_OK) CHECK_ZEROS(&token, sizeof token);
}

static void what_is_created_is_opened(void) {
  struct pfc_token token;
  uint8_t id[8];
  begin(1);
  memset(&token, 0xa5, sizeof token);
  REQUIRE(CHECK_NUMBER(pfc_token_open(&token, app.bytes, sizeof app.bytes, &world.hardware), PFC_OK));
  CHECK_NUMBER(token.mode, app.token.mode);
  CHECK_NUMBER(token.form, app.token.form);
  CHECK_NUMBER(token.integrity_classes, app.token.integrity_classes);
  CHECK_NUMBER(token.device_classes, app.token.device_classes);
  CHECK_NUMBER(token.attempts, app.token.attempts);
  CHECK_NUMBER(token.uses, app.token.uses);
  CHECK_NUMBER(token.generation, app.token.generation);
  CHECK_COUNT(token.not_after, app.token.not_after);
  CHECK_COUNT(token.issued, app.token.issued);
  CHECK_BYTES(token.hardware_id, app.token.hardware_id, 16);
  CHECK_BYTES(token.instance_id, app.token.instance_id, 16);
  CHECK_BYTES(&token.secrets, &app.token.secrets, sizeof token.secrets);
  pfc_issuer_id(id, world.issuer.public_key);
  CHECK_BYTES(token.issuer_id, id, 8);
}

static void bytes_are_the_specs(void) {
  uint8_t head[8], body[168], bytes[PFC_TOKEN_BYTES], digest[32];
  struct pfc_hash hash;
  begin(2);
  forge_parts(head, body, &app.token, &world.issuer);
  forge_token(bytes, head, body, world.hardware.public_key, world.hardware.public_key, &world.issuer,
              get64(app.token.instance_id) + app.token.generation);
  CHECK_BYTES(app.bytes, bytes, sizeof bytes);
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, "pfc1.token-id...", 16);
  pfc_hash_update(&hash, bytes, sizeof bytes);
  pfc_hash_final(digest, &hash);
  CHECK_BYTES(app.digest, digest, 16);
}

static void flipped_bits_are_refused(void) {
  begin(3);
  for (size_t bit = 0; bit < 8 * sizeof app.bytes; bit++) {
    size_t byte = bit / 8;
    test_case("bit %zu of byte %zu", bit % 8, byte);
    app.bytes[byte] ^= (uint8_t)(1u << (bit % 8));
    opens(app.bytes, sizeof app.bytes, byte < 2 ? PFC_E_MALFORMED : byte < 4 ? PFC_E_TOO_NEW : PFC_E_RECIPIENT);
    app.bytes[byte] ^= (uint8_t)(1u << (bit % 8));
  }
}

static void other_lengths_are_refused(void) {
  uint8_t longer[PFC_TOKEN_BYTES + 64];
  begin(4);
  memset(longer, 0, sizeof longer);
  memcpy(longer, app.bytes, sizeof app.bytes);
  for (size_t size = 0; size <= sizeof longer; size++) {
    test_case("%zu bytes", size);
    if (size != PFC_TOKEN_BYTES) opens(longer, size, PFC_E_MALFORMED);
  }
}

static void unsigned_is_refused(void) {
  struct issuer stranger;
  uint8_t head[8], body[168], bytes[PFC_TOKEN_BYTES];
  begin(5);
  issuer_make(&stranger, 99);
  const uint8_t *hardware = world.hardware.public_key;
  test_case("1. a signature of zeros, by someone who knows every public key");
  forge_parts(head, body, &app.token, &world.issuer);
  forge_token(bytes, head, body, hardware, hardware, NULL, 1);
  opens(bytes, sizeof bytes, PFC_E_SIGNATURE);
  test_case("2. signed by a stranger under the issuer's name");
  forge_token(bytes, head, body, hardware, hardware, &stranger, 2);
  opens(bytes, sizeof bytes, PFC_E_SIGNATURE);
  test_case("3. signed by a stranger under its own name");
  forge_parts(head, body, &app.token, &stranger);
  forge_token(bytes, head, body, hardware, hardware, &stranger, 3);
  opens(bytes, sizeof bytes, PFC_E_SIGNATURE);
  test_case("4. signed by the issuer under another's name");
  forge_token(bytes, head, body, hardware, hardware, &world.issuer, 4);
  opens(bytes, sizeof bytes, PFC_E_SIGNATURE);
  test_case("5. the control: signed by the issuer under its name");
  forge_parts(head, body, &app.token, &world.issuer);
  forge_token(bytes, head, body, hardware, hardware, &world.issuer, 5);
  opens(bytes, sizeof bytes, PFC_OK);
}

static void every_body_byte_is_signed(void) {
  uint8_t head[8], body[168], bytes[PFC_TOKEN_BYTES], plain[168 + 64], ephemeral[32] = {5};
  begin(6);
  forge_parts(head, body, &app.token, &world.issuer);
  forge_token(bytes, head, body, world.hardware.public_key, world.hardware.public_key, &world.issuer, 1);
  // An attacker with the hardware's secret key, or a careless backend, could alter the opened token and seal it again.
  REQUIRE(
      CHECK_NUMBER(pfc_unseal(plain, bytes + 8, 280, world.hardware.public_key, world.hardware.secret_key), PFC_OK));
  for (size_t byte = 0; byte < sizeof plain; byte++) {
    test_case("byte %zu of body and signature", byte);
    plain[byte] ^= 0x10;
    REQUIRE(CHECK_NUMBER(pfc_seal(bytes + 8, plain, sizeof plain, world.hardware.public_key, ephemeral), PFC_OK));
    opens(bytes, sizeof bytes, PFC_E_SIGNATURE);
    plain[byte] ^= 0x10;
  }
  REQUIRE(CHECK_NUMBER(pfc_seal(bytes + 8, plain, sizeof plain, world.hardware.public_key, ephemeral), PFC_OK));
  opens(bytes, sizeof bytes, PFC_OK);
}

static void resealed_is_refused(void) {
  struct world other;
  uint8_t head[8], body[168], bytes[PFC_TOKEN_BYTES];
  begin(7);
  world_make(&other, 1234);
  memcpy(other.hardware.issuers[0].public_key, world.issuer.public_key, 32);
  test_case("1. a token for hardware B, opened there and sealed on to hardware A");
  memcpy(app.token.hardware_id, world.hardware.id, 16);
  forge_parts(head, body, &app.token, &world.issuer);
  forge_token(bytes, head, body, other.hardware.public_key, world.hardware.public_key, &world.issuer, 1);
  opens(bytes, sizeof bytes, PFC_E_SIGNATURE);
  test_case("2. signed for A, sealed to B");
  forge_token(bytes, head, body, world.hardware.public_key, other.hardware.public_key, &world.issuer, 2);
  opens(bytes, sizeof bytes, PFC_E_RECIPIENT);
  test_case("3. B's id in the body, A's in the hint, signed and sealed to A");
  memcpy(app.token.hardware_id, other.hardware.id, 16);
  forge_parts(head, body, &app.token, &world.issuer);
  memcpy(head + 4, world.hardware.id, 4);
  forge_token(bytes, head, body, world.hardware.public_key, world.hardware.public_key, &world.issuer, 3);
  opens(bytes, sizeof bytes, PFC_E_RECIPIENT);
  test_case("4. the header of another version under the signature");
  memcpy(app.token.hardware_id, world.hardware.id, 16);
  forge_parts(head, body, &app.token, &world.issuer);
  head[3] = 2;
  forge_token(bytes, head, body, world.hardware.public_key, world.hardware.public_key, &world.issuer, 4);
  opens(bytes, sizeof bytes, PFC_E_TOO_NEW);
  bytes[3] = 1;
  opens(bytes, sizeof bytes, PFC_E_SIGNATURE);
  test_case("5. a low-order point for an ephemeral key");
  app_issue(&app, &world);
  memset(app.bytes + 8, 0, 32);
  opens(app.bytes, sizeof app.bytes, PFC_E_RECIPIENT);
}

static void fields_out_of_range_are_refused(void) {
  static const struct {
    const char *what;
    size_t at, count;
    uint8_t byte;
    int expected;
  } cases[] = {
      {"mode 0", 0, 1, 0, PFC_E_MODE},
      {"mode 3", 0, 1, 3, PFC_E_MODE},
      {"development on production", 0, 1, 2, PFC_E_MODE},
      {"form 0", 1, 1, 0, PFC_E_MALFORMED},
      {"form 3", 1, 1, 3, PFC_E_MALFORMED},
      {"the literal form, not allowed", 1, 1, 2, PFC_E_MODE},
      {"no class permitted", 2, 4, 0, PFC_E_MALFORMED},
      {"no attempts", 6, 2, 0, PFC_E_MALFORMED},
      {"no uses", 8, 4, 0, PFC_E_MALFORMED},
      {"generation 0", 12, 4, 0, PFC_E_MALFORMED},
      {"generation 2^32 - 1", 12, 4, 255, PFC_E_MALFORMED},
      {"issued at 0", 24, 8, 0, PFC_E_MALFORMED},
      {"an instance id of zeros", 48, 16, 0, PFC_E_MALFORMED},
      {"an issuer id of zeros", 64, 8, 0, PFC_E_SIGNATURE},
      {"a hardware id of zeros", 32, 16, 0, PFC_E_RECIPIENT},
      {"K_hw of zeros", 72, 16, 0, PFC_E_MALFORMED},
      {"IM_hw of zeros", 88, 32, 0, PFC_E_MALFORMED},
      {"DPK_hw of zeros", 120, 16, 0, PFC_E_MALFORMED},
      {"DM_hw of zeros", 136, 32, 0, PFC_E_MALFORMED},
  };
  uint8_t head[8], body[168], bytes[PFC_TOKEN_BYTES];
  begin(8);
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_case("%u. %s", i + 1, cases[i].what);
    forge_parts(head, body, &app.token, &world.issuer);
    memset(body + cases[i].at, cases[i].byte, cases[i].count);
    forge_token(bytes, head, body, world.hardware.public_key, world.hardware.public_key, &world.issuer, i);
    opens(bytes, sizeof bytes, cases[i].expected);
  }
  test_case("a device class that an integrity match does not permit");
  forge_parts(head, body, &app.token, &world.issuer);
  put16(body + 2, 0x0ff0);
  put16(body + 4, 0x1010);
  forge_token(bytes, head, body, world.hardware.public_key, world.hardware.public_key, &world.issuer, 1);
  opens(bytes, sizeof bytes, PFC_E_MALFORMED);
  test_case("over before it was issued");
  forge_parts(head, body, &app.token, &world.issuer);
  put64(body + 16, app.token.issued - 1);
  forge_token(bytes, head, body, world.hardware.public_key, world.hardware.public_key, &world.issuer, 1);
  opens(bytes, sizeof bytes, PFC_E_MALFORMED);
  test_case("mode is told before any other field");
  forge_parts(head, body, &app.token, &world.issuer);
  body[0] = 2;
  put16(body + 6, 0);
  forge_token(bytes, head, body, world.hardware.public_key, world.hardware.public_key, &world.issuer, 1);
  opens(bytes, sizeof bytes, PFC_E_MODE);
  test_case("at the edges of every range");
  forge_parts(head, body, &app.token, &world.issuer);
  put16(body + 2, 1);
  put16(body + 4, 0);
  put16(body + 6, 65535);
  put32(body + 8, PFC_USES_UNLIMITED);
  put32(body + 12, PFC_GENERATION_ALL - 1);
  put64(body + 16, app.token.issued);
  forge_token(bytes, head, body, world.hardware.public_key, world.hardware.public_key, &world.issuer, 1);
  opens(bytes, sizeof bytes, PFC_OK);
}

static void modes_and_forms_are_kept_apart(void) {
  for (unsigned i = 0; i < 16; i++) {
    uint8_t head[8], body[168], bytes[PFC_TOKEN_BYTES];
    uint8_t hardware_mode = (uint8_t)(1 + i % 2), mode = (uint8_t)(1 + i / 2 % 2), form = (uint8_t)(1 + i / 4 % 2);
    begin(9);
    world.hardware.mode = hardware_mode;
    world.hardware.allow_literal = (uint8_t)(i / 8);
    test_case("hardware mode %u, token mode %u, form %u, literal allowed %u", hardware_mode, mode, form, i / 8);
    forge_parts(head, body, &app.token, &world.issuer);
    body[0] = mode;
    body[1] = form;
    forge_token(bytes, head, body, world.hardware.public_key, world.hardware.public_key, &world.issuer, i);
    opens(bytes, sizeof bytes,
          mode == hardware_mode && (form == PFC_FORM_DIVERSIFIED || i / 8 != 0) ? PFC_OK : PFC_E_MODE);
  }
}

static void all_issuers_are_trusted_and_no_other(void) {
  struct issuer issuers[PFC_ISSUERS_MAX + 1];
  begin(10);
  for (unsigned i = 0; i <= PFC_ISSUERS_MAX; i++) {
    issuer_make(&issuers[i], 700 + i);
    if (i < PFC_ISSUERS_MAX) memcpy(world.hardware.issuers[i].public_key, issuers[i].public_key, 32);
  }
  for (uint8_t count = 1; count <= PFC_ISSUERS_MAX; count++) {
    world.hardware.issuer_count = count;
    for (unsigned i = 0; i <= PFC_ISSUERS_MAX; i++) {
      uint8_t head[8], body[168], bytes[PFC_TOKEN_BYTES];
      test_case("issuer %u of %u", i + 1, count);
      forge_parts(head, body, &app.token, &issuers[i]);
      forge_token(bytes, head, body, world.hardware.public_key, world.hardware.public_key, &issuers[i], i);
      opens(bytes, sizeof bytes, i < count ? PFC_OK : PFC_E_SIGNATURE);
    }
  }
}

static void creator_keeps_the_ranges(void) {
  uint8_t ephemeral[32] = {3}, zeros[32] = {0};
  begin(11);
  for (unsigned i = 1; i <= 17; i++) {
    struct pfc_token token = app.token;
    uint8_t bytes[PFC_TOKEN_BYTES];
    test_case("%u", i);
    switch (i) {
      case 1: token.mode = 0; break;
      case 2: token.mode = 3; break;
      case 3: token.form = 0; break;
      case 4: token.form = 3; break;
      case 5: token.integrity_classes = token.device_classes = 0; break;
      case 6:
        token.integrity_classes = 1;
        token.device_classes = 2;
        break;
      case 7: token.attempts = 0; break;
      case 8: token.uses = 0; break;
      case 9: token.generation = 0; break;
      case 10: token.generation = PFC_GENERATION_ALL; break;
      case 11: token.issued = 0; break;
      case 12: token.not_after = token.issued - 1; break;
      case 13: memset(token.instance_id, 0, 16); break;
      case 14: memset(token.secrets.integrity_key, 0, 16); break;
      case 15: memset(token.secrets.integrity, 0, 32); break;
      case 16: memset(token.secrets.device_key, 0, 16); break;
      default: memset(token.secrets.device, 0, 32); break;
    }
    memset(bytes, 0xa5, sizeof bytes);
    CHECK_NUMBER(pfc_token_create(bytes, &token, world.hardware.public_key, NULL, world.issuer.signing_key, ephemeral),
                 PFC_E_ARGUMENT);
    CHECK_ZEROS(bytes, sizeof bytes);
  }
  test_case("an unusable recipient");
  memset(app.bytes, 0xa5, sizeof app.bytes);
  CHECK_NUMBER(pfc_token_create(app.bytes, &app.token, zeros, NULL, world.issuer.signing_key, ephemeral),
               PFC_E_RECIPIENT);
  CHECK_ZEROS(app.bytes, sizeof app.bytes);
}

static void garbage_is_refused(void) {
  struct dice dice = {12};
  uint8_t bytes[PFC_TOKEN_BYTES];
  begin(12);
  for (unsigned round = 0; round < 500; round++) {
    test_case("round %u", round);
    dice_fill(&dice, bytes, sizeof bytes);
    memcpy(bytes, app.bytes, 8);
    opens(bytes, sizeof bytes, PFC_E_RECIPIENT);
  }
}

static const struct test tests[] = {
    TEST("a created token is opened", what_is_created_is_opened),
    TEST("a token's bytes and digest are the specification's", bytes_are_the_specs),
    TEST("every flipped bit is refused", flipped_bits_are_refused),
    TEST("every truncation and every extension is refused", other_lengths_are_refused),
    TEST("a token without the issuer's signature is refused", unsigned_is_refused),
    TEST("every byte of body and signature is signed", every_body_byte_is_signed),
    TEST("a re-sealed or mis-addressed token is refused", resealed_is_refused),
    TEST("a field out of range is refused, though signed", fields_out_of_range_are_refused),
    TEST("modes are kept apart, and the literal form where it is not allowed", modes_and_forms_are_kept_apart),
    TEST("every issuer the hardware counts is trusted, and no other", all_issuers_are_trusted_and_no_other),
    TEST("the creator refuses what the opener would", creator_keeps_the_ranges),
    TEST("garbage behind the right header is refused", garbage_is_refused),
};

const struct suite token_suite = SUITE("token", tests);
