// SPDX-License-Identifier: Apache-2.0

/// The second implementation's sealed commands and answers, and those that must be refused.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "vectors.h"

#if PFC_SEALS_COMMANDS

/// The facts of a block, with the bytes that they point to.
struct known {
  uint8_t hardware_id[16], instance_id[16], token_digest[16], device_key[16], lock_secret[32], lock_key[32];
  struct pfc_challenge challenge;
  struct pfc_seal_facts facts;
};

static void known_of(const struct block *block, struct known *known) {
  memset(known, 0, sizeof *known);
  block_exactly(block, "hardware_id", known->hardware_id, 16);
  block_exactly(block, "instance_id", known->instance_id, 16);
  block_exactly(block, "token_digest", known->token_digest, 16);
  block_exactly(block, "dpk", known->device_key, 16);
  block_exactly(block, "lock_secret", known->lock_secret, 32);
  block_exactly(block, "challenge", known->challenge.bytes, 32);
  known->challenge.counter = block_number(block, "counter");
  pfc_public_key(known->lock_key, known->lock_secret);
  known->facts = (struct pfc_seal_facts){.hardware_id = known->hardware_id,
                                         .instance_id = known->instance_id,
                                         .token_digest = known->token_digest,
                                         .device_key = known->device_key,
                                         .lock_key = known->lock_key,
                                         .challenge = &known->challenge};
}

static void judge_challenge(const struct block *block) {
  struct pfc_challenge challenge = {block_number(block, "counter"), {0}}, decoded;
  uint8_t lock_key[32], again[32], message[PFC_SEALED_CHALLENGE_BYTES];
  block_exactly(block, "challenge", challenge.bytes, 32);
  block_exactly(block, "lock_key", lock_key, 32);
  pfc_sealed_challenge_encode(message, &challenge, lock_key);
  check_field(block, "message", message, sizeof message);
  CHECK_NUMBER(pfc_sealed_challenge_decode(&decoded, again, message, sizeof message), PFC_OK);
  CHECK_COUNT(decoded.counter, challenge.counter);
  CHECK_BYTES(decoded.bytes, challenge.bytes, 32);
  CHECK_BYTES(again, lock_key, 32);
}

static void judge_command(const struct block *block) {
  static struct known known;
  static uint8_t message[PFC_MESSAGE_MAX], plain[PFC_SEALED_PLAIN_MAX], text[PFC_COMMAND_MAX];
  struct pfc_secrets secrets;
  struct pfc_request request;
  struct pfc_sealed_sent sent;
  struct pfc_sealed sealed;
  struct pfc_command opened;
  uint8_t ephemeral[32], shared[32], hint[8], nonce[16], step[16], down[32], ratchet[16];
  size_t size;
  known_of(block, &known);
  memset(&request, 0, sizeof request);
  memset(&secrets, 0, sizeof secrets);
  block_exactly(block, "k", secrets.integrity_key, 16);
  block_exactly(block, "im", secrets.integrity, 32);
  block_exactly(block, "dpk", secrets.device_key, 16);
  block_exactly(block, "dm", secrets.device, 32);
  block_exactly(block, "ephemeral", ephemeral, 32);
  request.kind = byte_of(block, "kind");
  request.command_class = byte_of(block, "class");
  request.known = (uint32_t)block_number(block, "known");
  if (block_bytes(block, "ratchet", ratchet, sizeof ratchet) != 0) request.ratchet = ratchet;
  request.command = text;
  request.command_size = block_bytes(block, "command", text, sizeof text);
  request.challenge = known.challenge;
  memcpy(request.hardware_id, known.hardware_id, 16);
  memcpy(request.instance_id, known.instance_id, 16);
  REQUIRE(CHECK_NUMBER(pfc_sealed_create(message, sizeof message, &size, &sent, &request, &known.facts, &secrets,
                                         ephemeral), PFC_OK));
  check_field(block, "message", message, size);
  check_field(block, "nonce", sent.nonce, 16);
  check_field(block, "step", sent.step, 16);
  check_field(block, "down", sent.down, 32);
  REQUIRE(CHECK_NUMBER(pfc_sealed_decode(&sealed, message, size), PFC_OK));
  CHECK_COUNT(sealed.counter, known.challenge.counter);
  check_field(block, "hint", sealed.hint, 8);
  pfc_seal_hint(hint, known.device_key, &known.challenge, sealed.kind, known.lock_key, sealed.app_key);
  check_field(block, "hint", hint, 8);
  CHECK_NUMBER(pfc_shared_secret(shared, known.lock_secret, sealed.app_key), PFC_OK);
  check_field(block, "shared", shared, 32);
  REQUIRE(CHECK_NUMBER(pfc_sealed_open(&opened, plain, nonce, &known.facts, shared, message, size), PFC_OK));
  check_field(block, "nonce", nonce, 16);
  CHECK_NUMBER(opened.kind, request.kind);
  CHECK_NUMBER(opened.command_class, request.command_class);
  CHECK_NUMBER(opened.known, request.known);
  CHECK_NUMBER(opened.ratchet_tag != NULL, request.ratchet != NULL);
  check_field(block, "command", opened.command, opened.command_size);
  pfc_sealed_follow(step, down, &known.facts, shared, message, size);
  check_field(block, "step", step, 16);
  check_field(block, "down", down, 32);
}

static void judge_down(const struct block *block) {
  struct pfc_answer answer = {0}, opened;
  uint8_t key[32], message[PFC_SEALED_DOWN_BYTES];
  uint64_t next = 0;
  block_exactly(block, "key", key, 32);
  answer.verdict = byte_of(block, "verdict");
  answer.detail = (uint16_t)block_number(block, "detail");
  answer.counter = block_number(block, "counter");
  pfc_sealed_down_create(message, &answer, block_number(block, "next"), key);
  check_field(block, "message", message, sizeof message);
  CHECK_NUMBER(pfc_sealed_down_open(&opened, &next, message, sizeof message, answer.counter, key), PFC_OK);
  CHECK_NUMBER(opened.verdict, answer.verdict);
  CHECK_NUMBER(opened.detail, answer.detail);
  CHECK_COUNT(next, block_number(block, "next"));
}

// Hostile --------------------------------------------------------------------------------------------------------

/// The word for what refuses the message, in the order of the page.
static const char *refusal_of(const struct known *known, const uint8_t *message, size_t size) {
  static uint8_t plain[PFC_SEALED_PLAIN_MAX];
  struct pfc_sealed sealed;
  struct pfc_command opened;
  uint8_t hint[8], shared[32], nonce[16];
  int result = pfc_sealed_decode(&sealed, message, size);
  if (result == PFC_E_TOO_NEW) return "too-new";
  if (result != PFC_OK) return "malformed";
  if (sealed.counter != known->challenge.counter) return "stale";
  pfc_seal_hint(hint, known->device_key, &known->challenge, sealed.kind, known->lock_key, sealed.app_key);
  if (!pfc_equal(hint, sealed.hint, sizeof hint)) return "differs";
  if (pfc_shared_secret(shared, known->lock_secret, sealed.app_key) != PFC_OK) return "not-for-me";
  result = pfc_sealed_open(&opened, plain, nonce, &known->facts, shared, message, size);
  if (result == PFC_OK) return "none";
  CHECK_ZEROS(&opened, sizeof opened);
  CHECK_ZEROS(plain, sizeof plain);
  CHECK_ZEROS(nonce, sizeof nonce);
  return result == PFC_E_MALFORMED ? "malformed" : "not-for-me";
}

static void judge_open_command(const struct block *block) {
  static struct known known;
  static uint8_t message[1024];
  size_t size = block_bytes(block, "message", message, sizeof message);
  const char *word;
  known_of(block, &known);
  word = refusal_of(&known, message, size);
  if (!CHECK(strcmp(word, block_word(block, "refusal")) == 0)) test_note("%s", word);
}

static void judge_open_down(const struct block *block) {
  struct pfc_answer answer;
  uint8_t key[32], message[64];
  uint64_t next = 1;
  size_t size = block_bytes(block, "message", message, sizeof message);
  const char *word = block_word(block, "refusal");
  int expected = strcmp(word, "none") == 0 ? PFC_OK : strcmp(word, "differs") == 0 ? PFC_E_DIFFERS : PFC_E_MALFORMED;
  block_exactly(block, "key", key, 32);
  CHECK_NUMBER(pfc_sealed_down_open(&answer, &next, message, size, block_number(block, "counter"), key), expected);
  CHECK_COUNT(next, 0);
  if (expected != PFC_OK) CHECK_ZEROS(&answer, sizeof answer);
}

static void valid_file(void) {
  static const struct judge judges[] = {
      {"sealed_challenge", judge_challenge}, {"sealed_command", judge_command}, {"sealed_down", judge_down}};
  JUDGE_FILE("sealed.txt", judges);
}

static void hostile_file(void) {
  static const struct judge judges[] = {{"open_sealed_command", judge_open_command},
                                        {"open_sealed_down", judge_open_down}};
  JUDGE_FILE("hostile_sealed.txt", judges);
}

static const struct test tests[] = {
    TEST("challenges, commands and answers are the second implementation's", valid_file),
    TEST("hostile commands and answers are refused for the right reason", hostile_file),
};

const struct suite sealed_vectors_suite = SUITE("sealed vectors", tests);

#endif
