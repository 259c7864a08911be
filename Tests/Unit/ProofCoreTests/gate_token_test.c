// SPDX-License-Identifier: Apache-2.0

/// The gate token: signed, then sealed, and a form of its own.

#include <string.h>

#include "ProofCore.h"
#include "gate_world.h"

static struct gate_world world;
static uint8_t issued[PFC_GATE_TOKEN_BYTES];

static void issue(uint8_t bytes[PFC_GATE_TOKEN_BYTES], const struct pfc_gate_token *token, unsigned key) {
  uint8_t ephemeral[32];
  memset(ephemeral, 0x5a, sizeof ephemeral);
  CHECK_NUMBER(pfc_gate_token_create(bytes, token, world.gate.keys[key].number, world.gate.keys[key].public_key,
                                     world.issuer.signing_key, ephemeral),
               PFC_OK);
}

static void begin(uint64_t seed) {
  gate_world_make(&world, seed);
  issue(issued, &world.token, 0);
}

/// Opening answers this, and on a refusal leaves zeros.
static void opens_at(const uint8_t *bytes, size_t size, uint64_t now, enum pfc_refusal expected) {
  struct pfc_gate_token token;
  memset(&token, 0xa5, sizeof token);
  CHECK_NUMBER(pfc_gate_token_open(&token, bytes, size, &world.gate, now), expected);
  if (expected != PFC_REFUSAL_NONE) CHECK_ZEROS(&token, sizeof token);
}

static void opens(const uint8_t *bytes, size_t size, enum pfc_refusal expected) {
  opens_at(bytes, size, GATE_NOW, expected);
}

static void what_is_created_is_opened(void) {
  struct pfc_gate_token token;
  uint8_t id[8];
  begin(1);
  for (unsigned key = 0; key < 2; key++) {
    test_case("key number %u", world.gate.keys[key].number);
    issue(issued, &world.token, key);
    memset(&token, 0xa5, sizeof token);
    REQUIRE(CHECK_NUMBER(pfc_gate_token_open(&token, issued, sizeof issued, &world.gate, GATE_NOW), 0));
    CHECK_NUMBER(token.mode, world.token.mode);
    CHECK_NUMBER(token.key_number, world.gate.keys[key].number);
    CHECK_NUMBER(token.flags, world.token.flags);
    CHECK_NUMBER(token.generation, world.token.generation);
    CHECK_COUNT(token.issued, world.token.issued);
    CHECK_COUNT(token.not_after, world.token.not_after);
    CHECK_COUNT(token.first_seen, world.token.first_seen);
    CHECK_BYTES(token.gate_id, world.token.gate_id, 16);
    CHECK_BYTES(token.instance_id, world.token.instance_id, 16);
    CHECK_COUNT(token.properties, world.token.properties);
    CHECK_BYTES(token.arc, world.token.arc, PFC_ARC_BYTES);
    CHECK_BYTES(token.secret, world.token.secret, 32);
    CHECK_BYTES(token.findings, world.token.findings, sizeof token.findings);
    CHECK_BYTES(token.app, world.token.app, PFC_APP_BYTES);
    pfc_issuer_id(id, world.issuer.public_key);
    CHECK_BYTES(token.issuer_id, id, 8);
  }
}

static void bytes_are_the_specs(void) {
  uint8_t head[8], body[168], bytes[288];
  begin(2);
  gate_forge_parts(head, body, &world.token, 7, &world.issuer);
  gate_forge(bytes, head, body, "pfc1.gate-sign..", world.gate.keys[0].public_key, world.gate.keys[0].public_key,
             &world.issuer);
  CHECK_BYTES(issued, bytes, sizeof bytes);
}

static void flipped_bits_are_refused(void) {
  begin(3);
  for (size_t bit = 0; bit < 8 * sizeof issued; bit++) {
    size_t byte = bit / 8;
    enum pfc_refusal expected = byte < 2   ? PFC_REFUSAL_TOKEN_MAGIC
                                : byte < 4 ? PFC_REFUSAL_TOKEN_VERSION
                                : byte > 7 ? PFC_REFUSAL_TOKEN_SEAL
                                           : PFC_REFUSAL_TOKEN_GATE;
    test_case("bit %zu of byte %zu", bit % 8, byte);
    issued[byte] ^= (uint8_t)(1u << (bit % 8));
    opens(issued, sizeof issued, byte == 4 ? PFC_REFUSAL_TOKEN_KEY : expected);
    issued[byte] ^= (uint8_t)(1u << (bit % 8));
  }
  test_case("the number of the gate's other key");
  issued[4] = 8;
  opens(issued, sizeof issued, PFC_REFUSAL_TOKEN_SEAL);
}

static void other_lengths_are_refused(void) {
  uint8_t longer[PFC_GATE_TOKEN_BYTES + 64] = {0};
  begin(4);
  memcpy(longer, issued, sizeof issued);
  for (size_t size = 0; size <= sizeof longer; size++) {
    test_case("%zu bytes", size);
    if (size != PFC_GATE_TOKEN_BYTES) opens(longer, size, PFC_REFUSAL_TOKEN_LENGTH);
  }
}

static void every_body_byte_is_signed(void) {
  uint8_t plain[168 + 64], ephemeral[32] = {5};
  const struct pfc_gate_identity *key;
  begin(5);
  key = &world.gate.keys[0];
  REQUIRE(CHECK_NUMBER(pfc_unseal(plain, issued + 8, 280, key->public_key, key->secret_key), PFC_OK));
  for (size_t byte = 0; byte < sizeof plain; byte++) {
    test_case("byte %zu of body and signature", byte);
    plain[byte] ^= 0x10;
    REQUIRE(CHECK_NUMBER(pfc_seal(issued + 8, plain, sizeof plain, key->public_key, ephemeral), PFC_OK));
    opens(issued, sizeof issued, byte >= 64 && byte < 72 ? PFC_REFUSAL_TOKEN_ISSUER : PFC_REFUSAL_TOKEN_SIGNATURE);
    plain[byte] ^= 0x10;
  }
  REQUIRE(CHECK_NUMBER(pfc_seal(issued + 8, plain, sizeof plain, key->public_key, ephemeral), PFC_OK));
  opens(issued, sizeof issued, PFC_REFUSAL_NONE);
}

/// A token of a body that has this changed, rightly signed and sealed.
static void opens_with(const char *what, size_t at, const void *bytes, size_t size, enum pfc_refusal expected) {
  uint8_t head[8], body[168], token[288];
  const uint8_t *recipient = world.gate.keys[0].public_key;
  test_case("%s", what);
  gate_forge_parts(head, body, &world.token, 7, &world.issuer);
  memcpy(body + at, bytes, size);
  gate_forge(token, head, body, "pfc1.gate-sign..", recipient, recipient, &world.issuer);
  opens(token, sizeof token, expected);
}

static void opens_with64(const char *what, size_t at, uint64_t value, enum pfc_refusal expected) {
  uint8_t bytes[8];
  put64(bytes, value);
  opens_with(what, at, bytes, 8, expected);
}

static void fields_out_of_range_are_refused(void) {
  static const uint8_t zeros[32] = {0}, ones[4] = {255, 255, 255, 255};
  begin(6);
  opens_with("the control", 0, "\x01\x03", 2, PFC_REFUSAL_NONE);
  opens_with("mode 0", 0, "\x00", 1, PFC_REFUSAL_TOKEN_MODE);
  opens_with("development on production", 0, "\x02", 1, PFC_REFUSAL_TOKEN_MODE);
  for (unsigned form = 0; form < 256; form++) {
    const uint8_t byte = (uint8_t)form;
    opens_with("another form", 1, &byte, 1, form == 3 ? PFC_REFUSAL_NONE : PFC_REFUSAL_TOKEN_FORM);
  }
  for (unsigned bit = 2; bit < 16; bit++) {
    uint8_t flags[2];
    put16(flags, (uint16_t)(1u << bit));
    opens_with("a reserved flag", 2, flags, 2, PFC_REFUSAL_TOKEN_RANGE);
  }
  opens_with("both flags", 2, "\x03\x00", 2, PFC_REFUSAL_NONE);
  opens_with("generation 0", 4, zeros, 4, PFC_REFUSAL_TOKEN_RANGE);
  opens_with("generation 2^32 - 1", 4, ones, 4, PFC_REFUSAL_TOKEN_RANGE);
  opens_with64("issued at 0", 8, 0, PFC_REFUSAL_TOKEN_RANGE);
  opens_with64("over before it was issued", 16, GATE_NOW - 1, PFC_REFUSAL_TOKEN_RANGE);
  opens_with64("never seen", 24, 0, PFC_REFUSAL_TOKEN_RANGE);
  opens_with64("first seen after its issue", 24, GATE_NOW + 1, PFC_REFUSAL_TOKEN_RANGE);
  opens_with64("first seen at its issue", 24, GATE_NOW, PFC_REFUSAL_NONE);
  opens_with("a gate id of zeros", 32, zeros, 16, PFC_REFUSAL_TOKEN_GATE);
  opens_with("another gate behind the same hint", 47, "\x00", 1, PFC_REFUSAL_TOKEN_GATE);
  opens_with("an instance id of zeros", 48, zeros, 16, PFC_REFUSAL_TOKEN_RANGE);
  opens_with("an issuer id of zeros", 64, zeros, 8, PFC_REFUSAL_TOKEN_ISSUER);
  opens_with("no ARC", 76, zeros, 10, PFC_REFUSAL_NONE);
  opens_with("an ARC with a lower-case letter", 76, "a", 1, PFC_REFUSAL_TOKEN_RANGE);
  opens_with("an ARC with 1", 76, "1", 1, PFC_REFUSAL_TOKEN_RANGE);
  opens_with("an ARC with 8", 85, "8", 1, PFC_REFUSAL_TOKEN_RANGE);
  opens_with("an ARC that ends in zero", 85, zeros, 1, PFC_REFUSAL_TOKEN_RANGE);
  opens_with("a reserved byte", 86, "\x01", 1, PFC_REFUSAL_TOKEN_RANGE);
  opens_with("another reserved byte", 87, "\x80", 1, PFC_REFUSAL_TOKEN_RANGE);
  opens_with("a secret of zeros", 88, zeros, 32, PFC_REFUSAL_TOKEN_RANGE);
  opens_with("findings twice", 120, "\x02\x05\x02\x05", 4, PFC_REFUSAL_TOKEN_RANGE);
  opens_with("findings out of order", 120, "\x03\x01\x02\x05", 4, PFC_REFUSAL_TOKEN_RANGE);
  opens_with("a finding after the end", 120, "\x02\x05\x00\x00\x03\x01", 6, PFC_REFUSAL_TOKEN_RANGE);
  opens_with("a finding of class 4", 122, "\x04\x01", 2, PFC_REFUSAL_TOKEN_RANGE);
  opens_with("a finding of class 0", 120, "\x00\x01\x00\x02", 4, PFC_REFUSAL_TOKEN_RANGE);
  opens_with("a finding of number 0", 120, "\x02\x00", 2, PFC_REFUSAL_TOKEN_RANGE);
  opens_with("no finding", 120, zeros, 32, PFC_REFUSAL_NONE);
  opens_with("no app", 152, zeros, 16, PFC_REFUSAL_NONE);
}

static void what_cannot_be_opened_is_not_created(void) {
  struct pfc_gate_token token;
  uint8_t bytes[288], ephemeral[32] = {1};
  begin(7);
  for (unsigned wrong = 0; wrong < 12; wrong++) {
    test_case("%u", wrong);
    token = world.token;
    if (wrong == 0) token.mode = 0;
    if (wrong == 1) token.mode = 3;
    if (wrong == 2) token.flags = 4;
    if (wrong == 3) token.generation = 0;
    if (wrong == 4) token.not_after = token.issued + 86401;
    if (wrong == 5) token.first_seen = token.issued + 1;
    if (wrong == 6) memset(token.instance_id, 0, 16);
    if (wrong == 7) memset(token.secret, 0, 32);
    if (wrong == 8) token.arc[0] = '=';
    if (wrong == 9) token.findings[5].number = 1;
    if (wrong == 10) token.issued = 0;
    if (wrong == 11) token.not_after = token.issued - 1;
    memset(bytes, 0xa5, sizeof bytes);
    CHECK_NUMBER(pfc_gate_token_create(bytes, &token, 7, world.gate.keys[0].public_key, world.issuer.signing_key,
                                       ephemeral),
                 PFC_E_ARGUMENT);
    CHECK_ZEROS(bytes, sizeof bytes);
  }
  test_case("a gate's key that is a low-order point");
  memset(bytes, 0, 32);
  memset(world.gate.keys[0].public_key, 0, 32);
  CHECK_NUMBER(pfc_gate_token_create(bytes, &world.token, 7, world.gate.keys[0].public_key,
                                     world.issuer.signing_key, ephemeral),
               PFC_E_RECIPIENT);
  CHECK_ZEROS(bytes, sizeof bytes);
}

static void time_is_judged_at_its_edges(void) {
  begin(8);
  test_case("1. issued 300 seconds ahead, and one more");
  opens_at(issued, sizeof issued, GATE_NOW - 300, PFC_REFUSAL_NONE);
  opens_at(issued, sizeof issued, GATE_NOW - 301, PFC_REFUSAL_TOKEN_AHEAD);
  opens_at(issued, sizeof issued, 0, PFC_REFUSAL_TOKEN_AHEAD);
  test_case("2. its last second, and the one after");
  opens_at(issued, sizeof issued, GATE_NOW + 3600, PFC_REFUSAL_NONE);
  opens_at(issued, sizeof issued, GATE_NOW + 3601, PFC_REFUSAL_TOKEN_EXPIRED);
  opens_at(issued, sizeof issued, UINT64_MAX, PFC_REFUSAL_TOKEN_EXPIRED);
  test_case("3. a day, and a second more");
  opens_with64("a day", 16, GATE_NOW + 86400, PFC_REFUSAL_NONE);
  opens_with64("a second more", 16, GATE_NOW + 86401, PFC_REFUSAL_TOKEN_LIFE);
  opens_with64("without end", 16, UINT64_MAX, PFC_REFUSAL_TOKEN_LIFE);
  test_case("4. the floor, and a second above it");
  world.gate.floor = GATE_NOW;
  opens(issued, sizeof issued, PFC_REFUSAL_NONE);
  world.gate.floor = GATE_NOW + 1;
  opens(issued, sizeof issued, PFC_REFUSAL_TOKEN_SUPERSEDED);
}

static void unsigned_and_resealed_are_refused(void) {
  struct issuer stranger;
  uint8_t head[8], body[168], bytes[288];
  const uint8_t *here, *there;
  begin(9);
  issuer_make(&stranger, 99);
  here = world.gate.keys[0].public_key;
  there = world.gate.keys[1].public_key;
  gate_forge_parts(head, body, &world.token, 7, &world.issuer);
  test_case("1. a signature of zeros");
  gate_forge(bytes, head, body, "pfc1.gate-sign..", here, here, NULL);
  opens(bytes, sizeof bytes, PFC_REFUSAL_TOKEN_SIGNATURE);
  test_case("2. by a stranger in the issuer's name");
  gate_forge(bytes, head, body, "pfc1.gate-sign..", here, here, &stranger);
  opens(bytes, sizeof bytes, PFC_REFUSAL_TOKEN_SIGNATURE);
  test_case("3. by a stranger in its own name");
  gate_forge_parts(head, body, &world.token, 7, &stranger);
  gate_forge(bytes, head, body, "pfc1.gate-sign..", here, here, &stranger);
  opens(bytes, sizeof bytes, PFC_REFUSAL_TOKEN_ISSUER);
  // The gate has the stranger's key, and does not count it; then it does.
  memcpy(world.gate.issuers[1].public_key, stranger.public_key, 32);
  opens(bytes, sizeof bytes, PFC_REFUSAL_TOKEN_ISSUER);
  world.gate.issuer_count = 2;
  opens(bytes, sizeof bytes, PFC_REFUSAL_NONE);
  gate_forge_parts(head, body, &world.token, 7, &world.issuer);
  test_case("sealed to a key that the gate has and does not count");
  issue(bytes, &world.token, 1);
  world.gate.key_count = 1;
  opens(bytes, sizeof bytes, PFC_REFUSAL_TOKEN_KEY);
  world.gate.key_count = 2;
  opens(bytes, sizeof bytes, PFC_REFUSAL_NONE);
  test_case("4. signed for the gate's other key");
  gate_forge(bytes, head, body, "pfc1.gate-sign..", there, here, &world.issuer);
  opens(bytes, sizeof bytes, PFC_REFUSAL_TOKEN_SIGNATURE);
  test_case("5. sealed to the gate's other key");
  gate_forge(bytes, head, body, "pfc1.gate-sign..", here, there, &world.issuer);
  opens(bytes, sizeof bytes, PFC_REFUSAL_TOKEN_SEAL);
  test_case("6. another header under the signature");
  gate_forge(bytes, head, body, "pfc1.gate-sign..", here, here, &world.issuer);
  bytes[4] = 8;
  world.gate.keys[1] = world.gate.keys[0];
  world.gate.keys[1].number = 8;
  opens(bytes, sizeof bytes, PFC_REFUSAL_TOKEN_SIGNATURE);
  test_case("7. the control");
  bytes[4] = 7;
  opens(bytes, sizeof bytes, PFC_REFUSAL_NONE);
}

static const struct test tests[] = {
    TEST("a gate token that is created is opened, under either key of a gate that rotates", what_is_created_is_opened),
    TEST("a gate token's bytes are the page's", bytes_are_the_specs),
    TEST("every flipped bit of a gate token is refused", flipped_bits_are_refused),
    TEST("every other length of a gate token is refused", other_lengths_are_refused),
    TEST("every byte of a gate token's body is signed", every_body_byte_is_signed),
    TEST("a gate token's field out of range is refused, each for its reason", fields_out_of_range_are_refused),
    TEST("a gate token that no gate opens is not created", what_cannot_be_opened_is_not_created),
    TEST("a gate token's time is judged at its edges", time_is_judged_at_its_edges),
    TEST("a gate token that is not signed for this gate is refused", unsigned_and_resealed_are_refused),
};

const struct suite gate_token_suite = SUITE("gate token", tests);
