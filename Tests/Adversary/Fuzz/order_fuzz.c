// SPDX-License-Identifier: Apache-2.0

/// Orders: raw bytes, and orders that the harness signs.
///
/// Oracles: a second reading of docs/SPEC.md, section 9, gives the same answer; what opens can be created again, byte
/// for byte; a refused order leaves all zeros.

#include <stdlib.h>

#include "fuzz.h"

enum { BODY = 60 };

static int expected(const uint8_t *body, unsigned signer, int damaged, const struct pfc_hardware *hardware) {
  int instance = !fuzz_all(body + 40, PFC_ID_BYTES, 0), generation = fuzz_get32(body + 56) != 0;
  if (memcmp(body, "PO", 2) != 0) return PFC_E_MALFORMED;
  if (body[2] != 1 || body[3] != 1) return PFC_E_TOO_NEW;
  if (memcmp(body + 24, hardware->id, PFC_ID_BYTES) != 0) return PFC_E_RECIPIENT;
  if (signer >= hardware->issuer_count || damaged) return PFC_E_SIGNATURE;
  if (memcmp(body + 8, fuzz_fixture()->issuer_ids[signer], PFC_ISSUER_ID_BYTES) != 0) return PFC_E_SIGNATURE;
  if (body[4] > PFC_ORDER_FLOOR || !fuzz_all(body + 5, 3, 0)) return PFC_E_TOO_NEW;
  if (body[4] < PFC_ORDER_EPOCH || fuzz_get64(body + 16) == 0) return PFC_E_MALFORMED;
  if (body[4] == PFC_ORDER_REVOKE ? !(instance && generation) : (instance || generation)) return PFC_E_MALFORMED;
  return PFC_OK;
}

static int open(struct pfc_order *order, const uint8_t *bytes, size_t size) {
  uint8_t *copy = fuzz_copy(bytes, size);
  memset(order, 0xEE, sizeof *order);
  int result = pfc_order_open(order, copy, size, &fuzz_fixture()->hardware);
  REQUIRE(result == PFC_OK || fuzz_all(order, sizeof *order, 0));
  free(copy);
  return result;
}

static void check_made(struct fuzz_input *input) {
  const struct fuzz_fixture *fixture = fuzz_fixture();
  uint8_t how = fuzz_u8(input);
  unsigned signer = how % FUZZ_ISSUERS;
  uint8_t bytes[PFC_ORDER_BYTES] = {'P', 'O', 1, 1}, again[PFC_ORDER_BYTES];
  uint8_t transcript[PFC_LABEL_BYTES + BODY];
  struct pfc_order order;
  bytes[4] = (uint8_t)(PFC_ORDER_EPOCH + (how >> 2) % 3);
  memcpy(bytes + 8, fixture->issuer_ids[signer], PFC_ISSUER_ID_BYTES);
  fuzz_put64(bytes + 16, 1000);
  if ((how & 0x10) == 0) memcpy(bytes + 24, fixture->hardware.id, PFC_ID_BYTES);
  if (bytes[4] == PFC_ORDER_REVOKE) {
    memset(bytes + 40, 0x49, PFC_ID_BYTES);
    fuzz_put32(bytes + 56, 1);
  }
  fuzz_xor(input, bytes, BODY);
  memcpy(transcript, PFC_LABEL_ORDER_SIGN, PFC_LABEL_BYTES);
  memcpy(transcript + PFC_LABEL_BYTES, bytes, BODY);
  pfc_sign(bytes + BODY, transcript, sizeof transcript, fixture->signing_keys[signer]);
  int damaged = fuzz_flip(input, bytes + BODY, PFC_SIGNATURE_BYTES);

  int result = open(&order, bytes, sizeof bytes);
  REQUIRE(result == expected(bytes, signer, damaged, &fixture->hardware));
  if (result == PFC_OK) {
    REQUIRE(pfc_order_create(again, &order, fixture->signing_keys[signer]) == PFC_OK);
    REQUIRE(memcmp(again, bytes, sizeof bytes) == 0);
  }
}

/// Any structure on its way out: refused, or it opens at the hardware it names.
static void check_create(struct fuzz_input *input) {
  struct pfc_order order, opened;
  uint8_t bytes[PFC_ORDER_BYTES];
  fuzz_take(input, &order, sizeof order);
  memset(bytes, 0xEE, sizeof bytes);
  int result = pfc_order_create(bytes, &order, fuzz_fixture()->signing_keys[0]);
  REQUIRE(result == PFC_OK || (result == PFC_E_ARGUMENT && fuzz_all(bytes, sizeof bytes, 0)));
  if (result != PFC_OK) return;
  int mine = memcmp(order.hardware_id, fuzz_fixture()->hardware.id, PFC_ID_BYTES) == 0;
  REQUIRE(open(&opened, bytes, sizeof bytes) == (mine ? PFC_OK : PFC_E_RECIPIENT));
  REQUIRE(!mine || (opened.type == order.type && opened.issued == order.issued &&
                    opened.generation == order.generation));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  struct pfc_order order;
  switch (fuzz_u8(&input) % 3) {
    case 0:
      check_made(&input);
      break;
    case 1:
      check_create(&input);
      break;
    default:
      REQUIRE(open(&order, input.bytes, input.left) != PFC_OK || input.left == PFC_ORDER_BYTES);
  }
  return 0;
}
