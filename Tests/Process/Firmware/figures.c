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

int main(void) {
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
  return outcome.verdict == PFC_VERDICT_NOT_FOR_ME ? 0 : 7;
}
