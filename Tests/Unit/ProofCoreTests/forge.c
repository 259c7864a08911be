// SPDX-License-Identifier: Apache-2.0

#include "forge.h"

#include <string.h>

#include "harness.h"

void issuer_make(struct issuer *issuer, uint64_t seed) {
  struct dice dice = {seed};
  uint8_t bytes[32];
  dice_fill(&dice, bytes, sizeof bytes);
  pfc_signing_key(issuer->public_key, issuer->signing_key, bytes);
}

static void issuer_id(uint8_t id[8], const struct issuer *issuer) {
  struct pfc_hash hash;
  uint8_t digest[32];
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, "pfc1.issuer-id..", 16);
  pfc_hash_update(&hash, issuer->public_key, 32);
  pfc_hash_final(digest, &hash);
  memcpy(id, digest, 8);
}

void forge_parts(uint8_t head[PFC_TOKEN_HEAD_BYTES], uint8_t body[PFC_TOKEN_BODY_BYTES], const struct pfc_token *token,
                 const struct issuer *issuer) {
  memcpy(head, "PT\1\1", 4);
  memcpy(head + 4, token->hardware_id, 4);
  body[0] = token->mode;
  body[1] = token->form;
  put16(body + 2, token->integrity_classes);
  put16(body + 4, token->device_classes);
  put16(body + 6, token->attempts);
  put32(body + 8, token->uses);
  put32(body + 12, token->generation);
  put64(body + 16, token->not_after);
  put64(body + 24, token->issued);
  memcpy(body + 32, token->hardware_id, 16);
  memcpy(body + 48, token->instance_id, 16);
  issuer_id(body + 64, issuer);
  memcpy(body + 72, token->secrets.integrity_key, 16);
  memcpy(body + 88, token->secrets.integrity, 32);
  memcpy(body + 120, token->secrets.device_key, 16);
  memcpy(body + 136, token->secrets.device, 32);
}

void forge_token(uint8_t bytes[PFC_TOKEN_BYTES], const uint8_t head[PFC_TOKEN_HEAD_BYTES],
                 const uint8_t body[PFC_TOKEN_BODY_BYTES], const uint8_t signed_for[PFC_PUBLIC_KEY_BYTES],
                 const uint8_t sealed_to[PFC_PUBLIC_KEY_BYTES], const struct issuer *issuer, uint64_t seed) {
  struct dice dice = {seed};
  uint8_t message[16 + 32 + 8 + 168], plain[168 + 64], ephemeral[32];
  memcpy(message, "pfc1.token-sign.", 16);
  memcpy(message + 16, signed_for, 32);
  memcpy(message + 48, head, 8);
  memcpy(message + 56, body, 168);
  memcpy(plain, body, 168);
  memset(plain + 168, 0, 64);
  if (issuer != NULL) pfc_sign(plain + 168, message, sizeof message, issuer->signing_key);
  dice_fill(&dice, ephemeral, sizeof ephemeral);
  memcpy(bytes, head, 8);
  CHECK_NUMBER(pfc_seal(bytes + 8, plain, sizeof plain, sealed_to, ephemeral), PFC_OK);
}

void forge_order_body(uint8_t body[PFC_ORDER_BODY_BYTES], const struct pfc_order *order, const struct issuer *issuer) {
  memset(body, 0, PFC_ORDER_BODY_BYTES);
  memcpy(body, "PO\1\1", 4);
  body[4] = order->type;
  issuer_id(body + 8, issuer);
  put64(body + 16, order->issued);
  memcpy(body + 24, order->hardware_id, 16);
  memcpy(body + 40, order->instance_id, 16);
  put32(body + 56, order->generation);
}

void forge_order(uint8_t bytes[PFC_ORDER_BYTES], const uint8_t body[PFC_ORDER_BODY_BYTES],
                 const struct issuer *issuer) {
  uint8_t message[16 + 60];
  memcpy(message, "pfc1.order-sign.", 16);
  memcpy(message + 16, body, 60);
  memcpy(bytes, body, 60);
  pfc_sign(bytes + 60, message, sizeof message, issuer->signing_key);
}
