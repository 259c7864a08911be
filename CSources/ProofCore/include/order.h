// SPDX-License-Identifier: Apache-2.0

/// Signed orders that any app may carry to the hardware: time, revocation, a floor under old tokens.
///
/// Orders only ever move the hardware forward, so carrying one twice, late or out of turn does no harm. Each names one
/// piece of hardware, so that hardware that is provisioned with another id obeys none of the orders before.

#ifndef PFC_ORDER_H
#define PFC_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "result.h"
#include "token.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Types of order. The numbers are on the wire and never reused.
enum pfc_order_type {
  PFC_ORDER_EPOCH = 1,   ///< "It is at least `issued`."
  PFC_ORDER_REVOKE = 2,  ///< Tokens of `instance_id` up to and including `generation` are revoked.
  PFC_ORDER_FLOOR = 3    ///< Tokens issued before `issued` are superseded, revocations before it forgotten.
};

/// Order of a backend to hardware, carried by any app. Orders are idempotent.
struct pfc_order {
  uint8_t type;         ///< enum pfc_order_type
  uint32_t generation;  ///< PFC_ORDER_REVOKE: 1 to PFC_GENERATION_ALL (all, for good); otherwise 0
  uint64_t issued;      ///< Unix seconds; 1 or more. Every order is an epoch marker too
  uint8_t hardware_id[PFC_ID_BYTES];       ///< Not all zeros
  uint8_t instance_id[PFC_ID_BYTES];       ///< PFC_ORDER_REVOKE: not all zeros; otherwise all zeros
  uint8_t issuer_id[PFC_ISSUER_ID_BYTES];  ///< Set by `pfc_order_create`
};

/// Backend side. PFC_E_ARGUMENT if a field is out of range; the output is then zeroed.
PFC_MUST_USE int pfc_order_create(uint8_t bytes[PFC_ORDER_BYTES], const struct pfc_order *order,
                                  const uint8_t signing_key[PFC_SIGNING_KEY_BYTES]);

/// Checks the head alone, at almost no cost: PFC_E_MALFORMED, PFC_E_TOO_NEW or PFC_E_RECIPIENT for bytes not shaped
/// like an order for this hardware. `pfc_order_open` begins with it.
PFC_MUST_USE int pfc_order_check_head(const uint8_t *bytes, size_t size, const struct pfc_hardware *hardware);

/// Hardware side: shape and addressee first, then the signature. Answers as `pfc_token_open` does.
PFC_MUST_USE int pfc_order_open(struct pfc_order *order, const uint8_t *bytes, size_t size,
                                const struct pfc_hardware *hardware);

#ifdef __cplusplus
}
#endif

#endif
