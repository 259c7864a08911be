// SPDX-License-Identifier: Apache-2.0

/// Details of refused tokens and orders (enum pfc_detail), which the verifier tells.

#ifndef PFC_VERIFIER_DETAIL_H
#define PFC_VERIFIER_DETAIL_H

#include "message.h"
#include "order.h"
#include "token.h"

/// The value of a detail in this build: 0 where details are not told.
#define PFC_TOLD(detail) ((uint16_t)(PFC_TELLS_DETAILS ? (detail) : 0))

#if PFC_OPENS_TOKENS

/// The detail of a token whose head was refused with `result`.
uint16_t pfc_token_head_detail(const uint8_t *bytes, int result);

/// Opens a token as `pfc_token_open` does. `*detail` is set where it was refused after its signature was checked, and
/// is 0 otherwise: a sender without a signature learns nothing from it.
PFC_MUST_USE int pfc_token_open_told(struct pfc_token *token, const uint8_t *bytes, size_t size,
                                     const struct pfc_hardware *hardware, uint16_t *detail);

/// The detail of an order that was refused with `result`.
uint16_t pfc_order_detail(const uint8_t *bytes, int result);

#endif

#endif
