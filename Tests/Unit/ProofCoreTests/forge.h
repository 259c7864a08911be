// SPDX-License-Identifier: Apache-2.0

/// Tokens and orders put together by hand from docs/SPEC.md, sections 8 and 9, so that fields can be hostile.

#ifndef FORGE_H
#define FORGE_H

#include <stdint.h>

#include "ProofCore.h"

struct issuer {
  uint8_t public_key[PFC_PUBLIC_KEY_BYTES];
  uint8_t signing_key[PFC_SIGNING_KEY_BYTES];
};

void issuer_make(struct issuer *issuer, uint64_t seed);

/// A token's clear header and body, unsigned.
void forge_parts(uint8_t head[PFC_TOKEN_HEAD_BYTES], uint8_t body[PFC_TOKEN_BODY_BYTES], const struct pfc_token *token,
                 const struct issuer *issuer);

/// Signs for one recipient and seals to another, or the same; an issuer of NULL leaves a signature of zeros.
void forge_token(uint8_t bytes[PFC_TOKEN_BYTES], const uint8_t head[PFC_TOKEN_HEAD_BYTES],
                 const uint8_t body[PFC_TOKEN_BODY_BYTES], const uint8_t signed_for[PFC_PUBLIC_KEY_BYTES],
                 const uint8_t sealed_to[PFC_PUBLIC_KEY_BYTES], const struct issuer *issuer, uint64_t seed);

/// An order's 60 bytes before the signature.
void forge_order_body(uint8_t body[PFC_ORDER_BODY_BYTES], const struct pfc_order *order, const struct issuer *issuer);
void forge_order(uint8_t bytes[PFC_ORDER_BYTES], const uint8_t body[PFC_ORDER_BODY_BYTES], const struct issuer *issuer);

#endif
