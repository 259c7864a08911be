// SPDX-License-Identifier: Apache-2.0

/// Signed orders: time, revocation, floor.

#include <string.h>

#include "ProofCore.h"
#include "forge.h"
#include "harness.h"
#include "world.h"

static struct world world;

static struct pfc_order order_make(uint8_t type) {
  struct pfc_order order;
  memset(&order, 0, sizeof order);
  order.type = type;
  order.issued = WORLD_BEGIN;
  memcpy(order.hardware_id, world.hardware.id, 16);
  if (type == PFC_ORDER_REVOKE) {
    memset(order.instance_id, 7, 16);
    order.generation = 9;
  }
  return order;
}

static void opens(const uint8_t *bytes, size_t size, int expected) {
  struct pfc_order order;
  memset(&order, 0xa5, sizeof order);
  CHECK_NUMBER(pfc_order_open(&order, bytes, size, &world.hardware), expected);
  if (expected != PFC_OK) CHECK_ZEROS(&order, sizeof order);
}

static void what_is_created_is_opened(void) {
  world_make(&world, 1);
  for (uint8_t type = 1; type <= 3; type++) {
    struct pfc_order order = order_make(type), opened;
    uint8_t bytes[PFC_ORDER_BYTES], body[60], expected[PFC_ORDER_BYTES], id[8];
    test_case("type %u", type);
    REQUIRE(CHECK_NUMBER(pfc_order_create(bytes, &order, world.issuer.signing_key), PFC_OK));
    forge_order_body(body, &order, &world.issuer);
    forge_order(expected, body, &world.issuer);
    CHECK_BYTES(bytes, expected, sizeof bytes);
    memset(&opened, 0xa5, sizeof opened);
    REQUIRE(CHECK_NUMBER(pfc_order_open(&opened, bytes, sizeof bytes, &world.hardware), PFC_OK));
    pfc_issuer_id(id, world.issuer.public_key);
    CHECK_NUMBER(opened.type, type);
    CHECK_NUMBER(opened.generation, order.generation);
    CHECK_COUNT(opened.issued, order.issued);
    CHECK_BYTES(opened.hardware_id, order.hardware_id, 16);
    CHECK_BYTES(opened.instance_id, order.instance_id, 16);
    CHECK_BYTES(opened.issuer_id, id, 8);
  }
}

static void flipped_bits_are_refused(void) {
  world_make(&world, 2);
  for (uint8_t type = 1; type <= 3; type++) {
    struct pfc_order order = order_make(type);
    uint8_t bytes[PFC_ORDER_BYTES];
    REQUIRE(CHECK_NUMBER(pfc_order_create(bytes, &order, world.issuer.signing_key), PFC_OK));
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
      size_t byte = bit / 8;
      int expected = byte < 2                  ? PFC_E_MALFORMED
                     : byte < 4                ? PFC_E_TOO_NEW
                     : byte >= 24 && byte < 40 ? PFC_E_RECIPIENT
                                               : PFC_E_SIGNATURE;
      test_case("type %u, bit %zu of byte %zu", type, bit % 8, byte);
      bytes[byte] ^= (uint8_t)(1u << (bit % 8));
      opens(bytes, sizeof bytes, expected);
      bytes[byte] ^= (uint8_t)(1u << (bit % 8));
    }
  }
}

static void other_lengths_are_refused(void) {
  struct pfc_order order;
  uint8_t bytes[PFC_ORDER_BYTES + 32] = {0};
  world_make(&world, 3);
  order = order_make(PFC_ORDER_EPOCH);
  REQUIRE(CHECK_NUMBER(pfc_order_create(bytes, &order, world.issuer.signing_key), PFC_OK));
  for (size_t size = 0; size <= sizeof bytes; size++) {
    test_case("%zu bytes", size);
    if (size != PFC_ORDER_BYTES) opens(bytes, size, PFC_E_MALFORMED);
  }
}

static void strangers_are_refused(void) {
  struct issuer stranger;
  struct pfc_order order;
  uint8_t body[60], bytes[PFC_ORDER_BYTES];
  world_make(&world, 4);
  issuer_make(&stranger, 500);
  order = order_make(PFC_ORDER_FLOOR);
  test_case("1. a stranger under the issuer's name");
  forge_order_body(body, &order, &world.issuer);
  forge_order(bytes, body, &stranger);
  opens(bytes, sizeof bytes, PFC_E_SIGNATURE);
  test_case("2. a stranger under its own name");
  forge_order_body(body, &order, &stranger);
  forge_order(bytes, body, &stranger);
  opens(bytes, sizeof bytes, PFC_E_SIGNATURE);
  test_case("3. a signature of zeros");
  forge_order_body(body, &order, &world.issuer);
  memset(bytes, 0, sizeof bytes);
  memcpy(bytes, body, 60);
  opens(bytes, sizeof bytes, PFC_E_SIGNATURE);
  test_case("4. the signature of a token's label");
  uint8_t message[76];
  memcpy(message, "pfc1.token-sign.", 16);
  memcpy(message + 16, body, 60);
  pfc_sign(bytes + 60, message, sizeof message, world.issuer.signing_key);
  opens(bytes, sizeof bytes, PFC_E_SIGNATURE);
}

static void ranges_and_addressees(void) {
  static const struct {
    const char *what;
    uint8_t type;
    size_t at, count;
    uint8_t byte;
    int expected;
  } cases[] = {
      {"type 0", 1, 4, 1, 0, PFC_E_MALFORMED},
      {"type 4", 1, 4, 1, 4, PFC_E_TOO_NEW},
      {"type 255", 1, 4, 1, 255, PFC_E_TOO_NEW},
      {"a reserved byte that is not zero", 1, 7, 1, 1, PFC_E_TOO_NEW},
      {"issued at 0", 1, 16, 8, 0, PFC_E_MALFORMED},
      {"an epoch for any hardware", 1, 24, 16, 0, PFC_E_RECIPIENT},
      {"a revocation for any hardware", 2, 24, 16, 0, PFC_E_RECIPIENT},
      {"a floor for any hardware", 3, 24, 16, 0, PFC_E_RECIPIENT},
      {"other hardware", 1, 39, 1, 0x5a, PFC_E_RECIPIENT},
      {"an epoch with an instance", 1, 40, 1, 1, PFC_E_MALFORMED},
      {"an epoch with a generation", 1, 56, 1, 1, PFC_E_MALFORMED},
      {"a floor with an instance", 3, 40, 1, 1, PFC_E_MALFORMED},
      {"a floor with a generation", 3, 56, 1, 1, PFC_E_MALFORMED},
      {"a revocation of no instance", 2, 40, 16, 0, PFC_E_MALFORMED},
      {"a revocation of generation 0", 2, 56, 4, 0, PFC_E_MALFORMED},
      {"a revocation of all", 2, 56, 4, 255, PFC_OK},
  };
  world_make(&world, 5);
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct pfc_order order = order_make(cases[i].type);
    uint8_t body[60], bytes[PFC_ORDER_BYTES];
    test_case("%u. %s", i + 1, cases[i].what);
    forge_order_body(body, &order, &world.issuer);
    memset(body + cases[i].at, cases[i].byte, cases[i].count);
    forge_order(bytes, body, &world.issuer);
    opens(bytes, sizeof bytes, cases[i].expected);
  }
}

static void creator_keeps_the_ranges(void) {
  world_make(&world, 6);
  for (unsigned i = 1; i <= 12; i++) {
    struct pfc_order order = order_make((uint8_t)(i <= 6   ? PFC_ORDER_EPOCH
                                                  : i <= 9 ? PFC_ORDER_REVOKE
                                                           : PFC_ORDER_FLOOR));
    uint8_t bytes[PFC_ORDER_BYTES];
    test_case("%u", i);
    switch (i) {
      case 1: order.type = 0; break;
      case 2: order.type = 4; break;
      case 3: order.issued = 0; break;
      case 4: order.generation = 1; break;
      case 5: order.instance_id[3] = 1; break;
      case 6: order.type = 255; break;
      case 7: memset(order.instance_id, 0, 16); break;
      case 8: order.generation = 0; break;
      case 9: memset(order.hardware_id, 0, 16); break;
      case 10: order.generation = 1; break;
      case 11: order.instance_id[15] = 1; break;
      default: memset(order.hardware_id, 0, 16); break;
    }
    memset(bytes, 0xa5, sizeof bytes);
    CHECK_NUMBER(pfc_order_create(bytes, &order, world.issuer.signing_key), PFC_E_ARGUMENT);
    CHECK_ZEROS(bytes, sizeof bytes);
  }
}

static const struct test tests[] = {
    TEST("a created order is opened, and its bytes are the specification's", what_is_created_is_opened),
    TEST("every flipped bit is refused", flipped_bits_are_refused),
    TEST("every truncation and every extension is refused", other_lengths_are_refused),
    TEST("an order without the issuer's signature is refused", strangers_are_refused),
    TEST("ranges and addressees are checked, though signed", ranges_and_addressees),
    TEST("the creator refuses what the opener would", creator_keeps_the_ranges),
};

const struct suite order_suite = SUITE("order", tests);
