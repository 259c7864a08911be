// SPDX-License-Identifier: Apache-2.0

/// The core's commands of channels, for Tests/Vectors/check.py to read.

#include "ProofCore.h"
#include "emit.h"
#include "harness.h"

#if PFC_CHANNEL

static void emit_one(size_t command_size) {
  static uint8_t message[PFC_MESSAGE_MAX], text[PFC_SEALED_COMMAND_MAX];
  struct dice dice = {5715 + command_size};
  struct pfc_sealed_sent sent;
  struct pfc_answer answer = {.verdict = PFC_VERDICT_ACCEPTED, .detail = 65535};
  uint8_t chain[PFC_CHANNEL_KEY_BYTES], down[PFC_SEALED_DOWN_BYTES];
  size_t size;
  dice_fill(&dice, text, sizeof text);
  dice_fill(&dice, chain, sizeof chain);
  answer.counter = dice_roll(&dice);
  CHECK_NUMBER(pfc_channel_up_create(message, sizeof message, &size, &sent, chain, answer.counter, 11, text,
                                     command_size), PFC_OK);
  pfc_sealed_down_create(down, &answer, 99, sent.down);
  begin_block("made_channel_command", "a command of a channel and its answer");
  field_bytes("chain", chain, sizeof chain);
  field_number("counter", answer.counter);
  field_number("class", 11);
  field_bytes("command", text, command_size);
  field_bytes("message", message, size);
  field_bytes("nonce", sent.nonce, sizeof sent.nonce);
  field_bytes("following", sent.chain, sizeof sent.chain);
  field_number("verdict", answer.verdict);
  field_number("detail", answer.detail);
  field_number("next", 99);
  field_bytes("answer", down, sizeof down);
}

void emit_channel(void) {
  emit_one(0);
  emit_one(8);
  emit_one(PFC_SEALED_COMMAND_MAX);
}

#endif
