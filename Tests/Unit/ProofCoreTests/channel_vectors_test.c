// SPDX-License-Identifier: Apache-2.0

/// The second implementation's channels, and their commands that must be refused.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "vectors.h"

#if PFC_CHANNEL

static void judge_key(const struct block *block) {
  static uint8_t message[PFC_MESSAGE_MAX];
  uint8_t hardware_id[16], instance_id[16], digest[16], device_key[16], lock_secret[32], lock_key[32], shared[32];
  uint8_t chain[32];
  struct pfc_challenge challenge = {block_number(block, "counter"), {0}};
  struct pfc_seal_facts facts = {hardware_id, instance_id, digest, device_key, lock_key, &challenge};
  size_t size = block_bytes(block, "message", message, sizeof message);
  block_exactly(block, "hardware_id", hardware_id, 16);
  block_exactly(block, "instance_id", instance_id, 16);
  block_exactly(block, "token_digest", digest, 16);
  block_exactly(block, "dpk", device_key, 16);
  block_exactly(block, "lock_secret", lock_secret, 32);
  block_exactly(block, "challenge", challenge.bytes, 32);
  block_exactly(block, "shared", shared, 32);
  pfc_public_key(lock_key, lock_secret);
  pfc_sealed_chain(chain, &facts, shared, message, size);
  check_field(block, "chain", chain, sizeof chain);
}

static void judge_command(const struct block *block) {
  static uint8_t message[PFC_MESSAGE_MAX], plain[PFC_SEALED_PLAIN_MAX], text[PFC_COMMAND_MAX];
  struct pfc_sealed_sent sent;
  struct pfc_command opened;
  struct pfc_answer answer;
  uint8_t chain[32], nonce[16], down[32], next[32], told[PFC_SEALED_DOWN_BYTES];
  uint64_t counter = block_number(block, "counter"), following = 0;
  size_t size, text_size = block_bytes(block, "command", text, sizeof text);
  block_exactly(block, "chain", chain, 32);
  REQUIRE(CHECK_NUMBER(pfc_channel_up_create(message, sizeof message, &size, &sent, chain, counter,
                                             byte_of(block, "class"), text, text_size), PFC_OK));
  check_field(block, "message", message, size);
  check_field(block, "nonce", sent.nonce, 16);
  check_field(block, "back", sent.down, 32);
  check_field(block, "following", sent.chain, 32);
  REQUIRE(CHECK_NUMBER(pfc_channel_up_open(&opened, plain, nonce, message, size, chain), PFC_OK));
  check_field(block, "nonce", nonce, 16);
  check_field(block, "command", opened.command, opened.command_size);
  CHECK_COUNT(opened.counter, counter);
  CHECK_NUMBER(opened.command_class, byte_of(block, "class"));
  pfc_channel_follow(down, next, chain, counter);
  check_field(block, "back", down, 32);
  check_field(block, "following", next, 32);
  block_exactly(block, "answer", told, sizeof told);
  CHECK_NUMBER(pfc_sealed_down_open(&answer, &following, told, sizeof told, counter, down), PFC_OK);
  CHECK_COUNT(following, counter / 2);
}

static void judge_hostile(const struct block *block) {
  static uint8_t message[1024], plain[PFC_SEALED_PLAIN_MAX];
  struct pfc_command opened;
  uint8_t chain[32], nonce[16];
  size_t size = block_bytes(block, "message", message, sizeof message);
  const char *word = block_word(block, "refusal");
  int refused = strcmp(word, "malformed") == 0 ? PFC_E_MALFORMED : PFC_E_RECIPIENT;
  int expected = strcmp(word, "none") == 0 ? PFC_OK : refused;
  block_exactly(block, "chain", chain, 32);
  CHECK_NUMBER(pfc_channel_up_open(&opened, plain, nonce, message, size, chain), expected);
  if (expected == PFC_OK) return;
  CHECK_ZEROS(&opened, sizeof opened);
  CHECK_ZEROS(plain, sizeof plain);
  CHECK_ZEROS(nonce, sizeof nonce);
}

static void valid_file(void) {
  static const struct judge judges[] = {{"channel_key", judge_key}, {"channel_command", judge_command}};
  JUDGE_FILE("channel.txt", judges);
}

static void hostile_file(void) {
  static const struct judge judges[] = {{"open_channel_command", judge_hostile}};
  JUDGE_FILE("hostile_channel.txt", judges);
}

static const struct test tests[] = {
    TEST("keys, commands and answers are the second implementation's", valid_file),
    TEST("hostile commands are refused for the right reason", hostile_file),
};

const struct suite channel_vectors_suite = SUITE("channel vectors", tests);

#endif
