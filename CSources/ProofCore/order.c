// SPDX-License-Identifier: Apache-2.0

#include "order.h"

#include "crypto.h"
#include "internal.h"
#include "verifier_detail.h"

enum {
  AT_VERSION = 2,
  AT_SUITE = 3,
  AT_TYPE = 4,
  AT_ZERO = 5,
  AT_ISSUER = 8,
  AT_ISSUED = 16,
  AT_HARDWARE = 24,
  AT_INSTANCE = 40,
  AT_GENERATION = 56,

  SIGNED_BYTES = PFC_LABEL_BYTES + PFC_ORDER_BODY_BYTES
};

_Static_assert(AT_GENERATION + 4 == PFC_ORDER_BODY_BYTES, "the generation ends the body");

/// Every range of docs/SPEC.md section 9, for both directions.
static int is_valid(const struct pfc_order *order) {
  int revokes = order->type == PFC_ORDER_REVOKE;
  if (order->type < PFC_ORDER_EPOCH || order->type > PFC_ORDER_FLOOR || order->issued == 0) return 0;
  if (pfc_is_zero(order->hardware_id, PFC_ID_BYTES)) return 0;
  if (pfc_is_zero(order->instance_id, PFC_ID_BYTES) == revokes) return 0;
  return (order->generation != 0) == revokes;
}

static void signed_bytes(uint8_t message[SIGNED_BYTES], const uint8_t body[PFC_ORDER_BODY_BYTES]) {
  memcpy(message, PFC_LABEL_ORDER_SIGN, PFC_LABEL_BYTES);
  memcpy(message + PFC_LABEL_BYTES, body, PFC_ORDER_BODY_BYTES);
}

int pfc_order_create(uint8_t bytes[PFC_ORDER_BYTES], const struct pfc_order *order,
                     const uint8_t signing_key[PFC_SIGNING_KEY_BYTES]) {
  uint8_t message[SIGNED_BYTES];
  memset(bytes, 0, PFC_ORDER_BYTES);
  if (!is_valid(order)) return PFC_E_ARGUMENT;
  memcpy(bytes, PFC_ORDER_MAGIC, AT_VERSION);
  bytes[AT_VERSION] = PFC_VERSION;
  bytes[AT_SUITE] = PFC_SUITE;
  bytes[AT_TYPE] = order->type;
  // The second half of a signing key is its public key.
  pfc_issuer_id(bytes + AT_ISSUER, signing_key + PFC_SIGNING_KEY_BYTES - PFC_PUBLIC_KEY_BYTES);
  pfc_put64(bytes + AT_ISSUED, order->issued);
  memcpy(bytes + AT_HARDWARE, order->hardware_id, PFC_ID_BYTES);
  memcpy(bytes + AT_INSTANCE, order->instance_id, PFC_ID_BYTES);
  pfc_put32(bytes + AT_GENERATION, order->generation);
  signed_bytes(message, bytes);
  pfc_sign(bytes + PFC_ORDER_BODY_BYTES, message, sizeof message, signing_key);
  return PFC_OK;
}

int pfc_order_check_head(const uint8_t *bytes, size_t size, const struct pfc_hardware *hardware) {
  if (size != PFC_ORDER_BYTES || memcmp(bytes, PFC_ORDER_MAGIC, AT_VERSION) != 0) return PFC_E_MALFORMED;
  if (bytes[AT_VERSION] != PFC_VERSION || bytes[AT_SUITE] != PFC_SUITE) return PFC_E_TOO_NEW;
  return memcmp(bytes + AT_HARDWARE, hardware->id, PFC_ID_BYTES) == 0 ? PFC_OK : PFC_E_RECIPIENT;
}

#if PFC_OPENS_TOKENS
int pfc_order_open(struct pfc_order *order, const uint8_t *bytes, size_t size, const struct pfc_hardware *hardware) {
  uint8_t message[SIGNED_BYTES];
  int result;
  memset(order, 0, sizeof *order);
  result = pfc_order_check_head(bytes, size, hardware);
  if (result != PFC_OK) return result;
  signed_bytes(message, bytes);
  result = pfc_issuer_verify(hardware, bytes + AT_ISSUER, bytes + PFC_ORDER_BODY_BYTES, message, sizeof message);
  if (result != PFC_OK) return result;
  order->type = bytes[AT_TYPE];
  order->generation = pfc_get32(bytes + AT_GENERATION);
  order->issued = pfc_get64(bytes + AT_ISSUED);
  memcpy(order->hardware_id, bytes + AT_HARDWARE, PFC_ID_BYTES);
  memcpy(order->instance_id, bytes + AT_INSTANCE, PFC_ID_BYTES);
  memcpy(order->issuer_id, bytes + AT_ISSUER, PFC_ISSUER_ID_BYTES);
  // Later versions extend orders here (docs/SPEC.md, section 10).
  if (order->type > PFC_ORDER_FLOOR || !pfc_is_zero(bytes + AT_ZERO, AT_ISSUER - AT_ZERO)) {
    result = PFC_E_TOO_NEW;
  } else if (!is_valid(order)) {
    result = PFC_E_MALFORMED;
  }
  if (result != PFC_OK) memset(order, 0, sizeof *order);
  return result;
}

uint16_t pfc_order_detail(const uint8_t *bytes, int result) {
  if (result != PFC_E_TOO_NEW) return 0;
  if (bytes[AT_VERSION] != PFC_VERSION) return PFC_TOLD(PFC_DETAIL_LATER_VERSION);
  if (bytes[AT_SUITE] != PFC_SUITE) return PFC_TOLD(PFC_DETAIL_LATER_SUITE);
  return bytes[AT_TYPE] > PFC_ORDER_FLOOR ? PFC_TOLD(PFC_DETAIL_UNKNOWN_KIND) : PFC_TOLD(PFC_DETAIL_RESERVED_BIT);
}
#endif
