// SPDX-License-Identifier: Apache-2.0

/// The core's sealed commands, for Tests/Vectors/check.py to read.

#include <string.h>

#include "ProofCore.h"
#include "emit.h"
#include "harness.h"

#if PFC_SEALS_COMMANDS

static void emit_one(uint8_t kind, size_t command_size, int has_ratchet) {
  static uint8_t message[PFC_MESSAGE_MAX], text[PFC_SEALED_COMMAND_MAX];
  struct dice dice = {4715 + kind + command_size};
  struct pfc_request request = {.kind = kind, .command_class = 11, .command = text, .command_size = command_size};
  struct pfc_secrets secrets;
  struct pfc_sealed_sent sent;
  struct pfc_answer answer = {.verdict = PFC_VERDICT_ACCEPTED, .detail = 65535};
  uint8_t digest[16], lock_secret[32], lock_key[32], ephemeral[32], ratchet[PFC_RATCHET_BYTES];
  uint8_t down[PFC_SEALED_DOWN_BYTES], asked[PFC_SEALED_CHALLENGE_BYTES];
  struct pfc_seal_facts facts = {.hardware_id = request.hardware_id,
                                 .instance_id = request.instance_id,
                                 .token_digest = digest,
                                 .device_key = secrets.device_key,
                                 .lock_key = lock_key,
                                 .challenge = &request.challenge};
  size_t size;
  dice_fill(&dice, text, sizeof text);
  dice_fill(&dice, request.hardware_id, sizeof request.hardware_id);
  dice_fill(&dice, request.instance_id, sizeof request.instance_id);
  dice_fill(&dice, request.challenge.bytes, sizeof request.challenge.bytes);
  dice_fill(&dice, &secrets, sizeof secrets);
  dice_fill(&dice, digest, sizeof digest);
  dice_fill(&dice, lock_secret, sizeof lock_secret);
  dice_fill(&dice, ephemeral, sizeof ephemeral);
  dice_fill(&dice, ratchet, sizeof ratchet);
  pfc_public_key(lock_key, lock_secret);
  request.challenge.counter = dice_roll(&dice);
  answer.counter = request.challenge.counter;
  if (has_ratchet) request.ratchet = ratchet, request.known = 77;
  CHECK_NUMBER(pfc_sealed_create(message, sizeof message, &size, &sent, &request, &facts, &secrets, ephemeral), PFC_OK);
  pfc_sealed_down_create(down, &answer, 0, sent.down);
  pfc_sealed_challenge_encode(asked, &request.challenge, lock_key);
  begin_block("made_sealed_command", "a sealed command and its answer");
  field_bytes("hardware_id", request.hardware_id, 16);
  field_bytes("instance_id", request.instance_id, 16);
  field_bytes("token_digest", digest, 16);
  field_bytes("dpk", secrets.device_key, 16);
  field_bytes("lock_secret", lock_secret, 32);
  field_bytes("challenge", request.challenge.bytes, 32);
  field_number("counter", request.challenge.counter);
  field_bytes("asked", asked, sizeof asked);
  field_number("kind", kind);
  field_number("class", request.command_class);
  field_number("known", request.known);
  field_bytes("ratchet", ratchet, has_ratchet ? sizeof ratchet : 0);
  field_bytes("command", text, command_size);
  field_bytes("k", secrets.integrity_key, 16);
  field_bytes("im", secrets.integrity, 32);
  field_bytes("dm", secrets.device, 32);
  field_bytes("ephemeral", ephemeral, 32);
  field_bytes("message", message, size);
  field_bytes("nonce", sent.nonce, sizeof sent.nonce);
  field_bytes("step", sent.step, sizeof sent.step);
  field_number("verdict", answer.verdict);
  field_number("detail", answer.detail);
  field_bytes("answer", down, sizeof down);
}

void emit_sealed(void) {
  for (uint8_t kind = PFC_KIND_SEALED_INTEGRITY; kind <= PFC_KIND_SEALED_DEVICE; kind++) {
    emit_one(kind, 0, 0);
    emit_one(kind, 8, 1);
    emit_one(kind, PFC_SEALED_COMMAND_MAX, 1);
  }
}

#endif
