// SPDX-License-Identifier: Apache-2.0

/// Measures what the hardware does, in instructions and in bytes of stack, on the board: prints `figure NAME
/// instructions N stack N` for each. Instructions are ticks of the board's timer under `-icount shift=0`, 40 each.

#include <stdio.h>
#include <string.h>

#include "ProofCore.h"
#include "forge.h"
#include "port.h"
#include "world.h"

enum { DEEP_WORDS = 4096, ROUNDS = 8 };

static struct world world;
static struct app app;
static uint8_t token[PFC_TOKEN_BYTES];
static uint8_t message[PFC_MESSAGE_MAX];
static size_t size;
static struct pfc_outcome outcome;
static struct pfc_token opened;
static int result;

/// Calls `work` on a stack that was painted below here. What this frame takes is not counted.
static __attribute__((noinline)) size_t stack_of(void (*work)(void)) {
  volatile uint32_t *top;
  size_t untouched = 0;
  __asm__ volatile("mov %0, sp" : "=r"(top));
  for (size_t i = 16; i < DEEP_WORDS; i++) top[-(ptrdiff_t)i] = STACK_PAINT;
  work();
  while (untouched < DEEP_WORDS - 16 && top[-(ptrdiff_t)(DEEP_WORDS - 1) + (ptrdiff_t)untouched] == STACK_PAINT) {
    untouched++;
  }
  return 4 * (DEEP_WORDS - 1 - untouched);
}

static void nothing(void) {}

static void measure(const char *name, void (*prepare)(void), void (*work)(void)) {
  uint32_t sum = 0;
  size_t stack;
  prepare();
  stack = stack_of(work);
  for (unsigned i = 0; i < ROUNDS; i++) {
    uint32_t begin;
    prepare();
    begin = clock_count();
    work();
    sum += clock_count() - begin;
  }
  printf("figure %s instructions %lu stack %lu\n", name, (unsigned long)(sum / ROUNDS), (unsigned long)stack);
}

static void open_token(void) { result = pfc_token_open(&opened, token, sizeof token, &world.hardware); }

static void check_proof(void) {
  static const uint8_t nonce[PFC_NONCE_BYTES], proof[PFC_PROOF_BYTES];
  struct pfc_proof_key key;
  pfc_proof_key_init(&key, app.token.secrets.device_key);
  result = pfc_proof_check(proof, &key, nonce, app.token.secrets.device);
  pfc_proof_key_wipe(&key);
}

static void judge(uint8_t type) {
  pfc_verifier_receive(&world.verifier, world.link, type, message, size, &outcome);
}

static void judge_command(void) { judge(PFC_MESSAGE_COMMAND); }

static void right(void) {
  if (!world_ask(&world, &app.challenge)) return;
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "open");
  memcpy(message, app.message, app.size);
  size = app.size;
}

static void right_device(void) {
  if (!world_ask(&world, &app.challenge)) return;
  app_command(&app, &world, PFC_KIND_DEVICE, 0, "status");
  memcpy(message, app.message, app.size);
  size = app.size;
}

static void strange(void) {
  right();
  world.link->refusals = 0;
  message[size - 20] ^= 1;
  message[60] ^= 1;
}

/// Bytes that are no challenge and fit no slot.
static void garbage(void) {
  memset(message, 0xA5, sizeof message);
  message[0] = PFC_KIND_INTEGRITY;
  message[1] = 1;
  size = 120;
  world.link->refusals = 0;
}

static void judge_token(void) { judge(PFC_MESSAGE_TOKEN); }

/// Addressed to this hardware, and noise behind that.
static void garbage_token(void) {
  memcpy(message, token, sizeof token);
  for (size_t i = PFC_TOKEN_HEAD_BYTES; i < sizeof token; i++) message[i] = (uint8_t)(i * 37);
  size = sizeof token;
  world.link->openings = 0;
}

/// The next generation each time, so that it is opened and held.
static void next_token(void) {
  app.token.generation++;
  app_issue(&app, &world);
  memcpy(message, app.bytes, sizeof token);
  size = sizeof token;
  world.link->openings = 0;
}

#if PFC_CHANNEL

static struct pfc_sealed_sent sent;
static uint8_t ephemeral[32];

/// The app's own number for each command. Not random: nothing here is secret.
static void next_ephemeral(void) {
  for (size_t i = 0; i < sizeof ephemeral; i++) ephemeral[i] = (uint8_t)(ephemeral[i] * 5 + i + 1);
}

/// A sealed command of the longest, under a fresh key of the hardware.
static void right_sealed(void) {
  static const uint8_t command[PFC_SEALED_COMMAND_MAX], what = PFC_ASK_SEALED;
  uint8_t lock_key[PFC_PUBLIC_KEY_BYTES];
  struct pfc_request request = {.kind = PFC_KIND_SEALED_INTEGRITY, .command_class = 1, .command = command,
                                .command_size = sizeof command};
  struct pfc_seal_facts facts = {.hardware_id = world.hardware.id, .instance_id = app.token.instance_id,
                                 .token_digest = app.digest, .device_key = app.token.secrets.device_key,
                                 .lock_key = lock_key, .challenge = &request.challenge};
  world.link->refusals = 0;
  result = pfc_verifier_prepare(&world.verifier);
  (void)world_send(&world, PFC_MESSAGE_ASK, &what, 1);
  result = pfc_sealed_challenge_decode(&request.challenge, lock_key, world.outcome.reply, world.outcome.reply_size);
  if (result != PFC_OK) return;
  memcpy(request.instance_id, app.token.instance_id, PFC_ID_BYTES);
  memcpy(request.hardware_id, world.hardware.id, PFC_ID_BYTES);
  next_ephemeral();
  app.challenge = request.challenge;
  result = pfc_sealed_create(message, sizeof message, &size, &sent, &request, &facts, &app.token.secrets, ephemeral);
}

static void strange_sealed(void) {
  right_sealed();
  message[1] ^= 1;
}

/// A command of the longest, in the channel that a sealed command has opened.
static void right_channel(void) {
  static const uint8_t command[PFC_SEALED_COMMAND_MAX];
  struct pfc_answer answer;
  uint8_t chain[sizeof sent.chain];
  uint64_t next = 0;
  right_sealed();
  judge_command();
  memcpy(chain, sent.chain, sizeof chain);
  result = pfc_sealed_down_open(&answer, &next, outcome.reply, outcome.reply_size, app.challenge.counter, sent.down);
  if (result != PFC_OK || next == 0) return;
  result = pfc_channel_up_create(message, sizeof message, &size, &sent, chain, next, 1, command, sizeof command);
}

static void judge_channel(void) { judge(PFC_MESSAGE_SEALED_UP); }

static void spend_key(void) { right_sealed(), judge_command(); }

static void make_key(void) { result = pfc_verifier_prepare(&world.verifier); }

static int measure_sealed(void) {
  result = pfc_verifier_prepare(&world.verifier);
  if (result == PFC_OK) result = pfc_verifier_keep_channels(&world.verifier);
  if (result != PFC_OK) return 8;
  app_ratchet(&app, PFC_POLICY_CHANNEL);
  app.token.generation++;
  app_issue(&app, &world);
  world.link->openings = 0;
  if (app_present(&app, &world) != PFC_VERDICT_HELD) return 9;
  measure("message-sealed-accepted", right_sealed, judge_command);
  if (outcome.verdict != PFC_VERDICT_ACCEPTED) return 10;
  measure("message-sealed-stranger", strange_sealed, judge_command);
  if (outcome.verdict != PFC_VERDICT_DEVICE_DIFFERS) return 11;
  measure("message-channel-accepted", right_channel, judge_channel);
  if (outcome.verdict != PFC_VERDICT_ACCEPTED) return 12;
  measure("sealed-key", spend_key, make_key);
  return result == PFC_OK ? 0 : 13;
}

#else

static int measure_sealed(void) { return 0; }

#endif

static struct app member;
static uint32_t serial;

/// A grant of the owner, each later than the one before: the member may do a hundred commands of class 1.
static void next_grant(void) {
  struct pfc_grant grant = {.generation = app.token.generation, .serial = ++serial, .classes = 1u << 1, .uses = 100,
                            .end = UINT64_MAX};
  memcpy(grant.hardware_id, world.hardware.id, PFC_ID_BYTES);
  memcpy(grant.owner, app.token.instance_id, PFC_ID_BYTES);
  memcpy(grant.member, member.digest, PFC_TOKEN_DIGEST_BYTES);
  result = pfc_grant_create(message, &grant, &app.token.secrets, app.digest);
  size = PFC_GRANT_BYTES;
  world.link->refusals = 0;
}

static void forged_grant(void) {
  next_grant();
  message[size - 1] ^= 1;
}

static void judge_grant(void) { judge(PFC_MESSAGE_GRANT); }

/// A command of the class that was lent.
static void right_lent(void) {
  if (!world_ask(&world, &member.challenge)) return;
  app_command(&member, &world, PFC_KIND_INTEGRITY, 1, "open");
  memcpy(message, member.message, member.size);
  size = member.size;
}

static bool holds(struct app *with) {
  app_renew(with);
  app_issue(with, &world);
  world.link->openings = 0;
  return app_present(with, &world) == PFC_VERDICT_HELD;
}

static int measure_loans(void) {
  if (pfc_verifier_take_grants(&world.verifier) != PFC_OK) return 14;
  app.token.generation++;
  app.token.delegable_classes = 1u << 1;
  app_make(&member, &world, 7);
  member.token.integrity_classes = 1u << 3;
  member.token.device_classes = 0;
  if (!holds(&app) || !holds(&member)) return 15;
  measure("message-grant-taken", next_grant, judge_grant);
  if (outcome.verdict != PFC_VERDICT_DONE) return 16;
  measure("message-grant-forged", forged_grant, judge_grant);
  if (outcome.verdict != PFC_VERDICT_DEVICE_DIFFERS) return 17;
  measure("message-command-lent", right_lent, judge_command);
  return outcome.verdict == PFC_VERDICT_ACCEPTED ? 0 : 18;
}

int main(void) {
  int failed;

  clock_begin();
  world_make(&world, 5);
  app_make(&app, &world, 6);
  app.token.uses = PFC_USES_UNLIMITED;
  app.token.integrity_classes = 0x000f;
  app.token.device_classes = 0x0001;
  app_issue(&app, &world);
  memcpy(token, app.bytes, sizeof token);
  (void)app_present(&app, &world);
  measure("nothing", nothing, nothing);
  measure("token-open", nothing, open_token);
  if (result != PFC_OK) return 1;
  measure("proof-check", nothing, check_proof);
  measure("message-token-held", next_token, judge_token);
  if (outcome.verdict != PFC_VERDICT_HELD) return 2;
  measure("message-command-accepted", right, judge_command);
  if (outcome.verdict != PFC_VERDICT_ACCEPTED) return 3;
  measure("message-command-device", right_device, judge_command);
  if (outcome.verdict != PFC_VERDICT_ACCEPTED_DEVICE) return 4;
  measure("message-command-stranger", strange, judge_command);
  if (outcome.verdict != PFC_VERDICT_DEVICE_DIFFERS) return 5;
  measure("message-command-garbage", garbage, judge_command);
  if (outcome.execute != 0) return 6;
  measure("message-token-garbage", garbage_token, judge_token);
  if (outcome.verdict != PFC_VERDICT_NOT_FOR_ME) return 7;
  failed = measure_sealed();
  return failed != 0 ? failed : measure_loans();
}
