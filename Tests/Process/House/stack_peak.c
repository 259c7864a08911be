// SPDX-License-Identifier: Apache-2.0

/// How deep the stack really gets, libsodium and callbacks included: each operation runs on a painted stack of its own,
/// and what is no longer painted was used. Prints a line for each: bytes, then the operation.

#include <ProofCore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { STACK_BYTES = 64 * 1024, PAINT = 0xA5, AREAS = 2 * (PFC_SLOTS + 1) };

static const uint8_t hardware_id[PFC_ID_BYTES] = {'h', 'a', 'r', 'd'};
static const uint8_t instance_id[PFC_ID_BYTES] = {'a', 'p', 'p'};

static uint8_t areas[AREAS][PFC_RECORD_BYTES_MAX];
static uint8_t token_bytes[PFC_TOKEN_BYTES];
static uint8_t message[PFC_MESSAGE_MAX];
static size_t message_size;
static struct pfc_verifier verifier;
static struct pfc_session session;
static struct pfc_outcome outcome;

static void require(int held, const char *what) {
  if (held) return;
  (void)fprintf(stderr, "stack_peak: does not hold: %s\n", what);
  exit(1);
}
#define REQUIRE(held) require((held), #held)

static int area_read(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size) {
  (void)context;
  memcpy(bytes, areas[2 * record + copy], size);
  return 0;
}

static int area_write(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size) {
  (void)context;
  memcpy(areas[2 * record + copy], bytes, size);
  return 0;
}

/// Not random, but never the same twice, which is all that counts here.
static int count_up(void *context, uint8_t *bytes, size_t size) {
  static uint8_t calls;
  (void)context;
  memset(bytes, ++calls, size);
  return 0;
}

static struct pfc_hardware hardware = {.mode = PFC_MODE_DEVELOPMENT};
static const struct pfc_platform platform = {.random = count_up, .storage = {.read = area_read, .write = area_write}};

static void start(void) {
  REQUIRE(pfc_verifier_init(&verifier, &hardware, &platform) == PFC_OK);
}

static void receive_token(void) {
  pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_TOKEN, token_bytes, sizeof token_bytes, &outcome);
}

static void receive_ask(void) {
  static const uint8_t ask = PFC_ASK_CHALLENGE;
  pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_ASK, &ask, 1, &outcome);
}

static void receive_command(void) {
  pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_COMMAND, message, message_size, &outcome);
}

static ucontext_t here, there;
static uint8_t stack[STACK_BYTES] __attribute__((aligned(64)));
static void (*operation)(void);
static uintptr_t top;

static void perform(void) {
  top = (uintptr_t)__builtin_frame_address(0);
  operation();
}

static void print_depth(const char *name, void (*performed)(void)) {
  memset(stack, PAINT, sizeof stack);
  operation = performed;
  REQUIRE(getcontext(&there) == 0);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = sizeof stack;
  there.uc_link = &here;
  makecontext(&there, perform, 0);
  REQUIRE(swapcontext(&here, &there) == 0);
  size_t untouched = 0;
  while (untouched < sizeof stack && stack[untouched] == PAINT) untouched++;
  REQUIRE(untouched > 0);
  (void)printf("%zu %s\n", (size_t)(top - (uintptr_t)stack) - untouched, name);
}

int main(void) {
  static const uint8_t ephemeral[PFC_SECRET_KEY_BYTES] = {7};
  static const uint8_t hardware_secret[PFC_SECRET_KEY_BYTES] = {9};
  static const uint8_t seed[32] = {11};
  uint8_t issuer[PFC_PUBLIC_KEY_BYTES], signing_key[PFC_SIGNING_KEY_BYTES];
  pfc_signing_key(issuer, signing_key, seed);
  memcpy(hardware.id, hardware_id, sizeof hardware.id);
  memcpy(hardware.secret_key, hardware_secret, sizeof hardware.secret_key);
  pfc_public_key(hardware.public_key, hardware_secret);
  hardware.issuer_count = 1;
  memcpy(hardware.issuers[0].public_key, issuer, sizeof issuer);

  struct pfc_token token = {.version = PFC_VERSION,
                            .mode = PFC_MODE_DEVELOPMENT,
                            .form = PFC_FORM_DIVERSIFIED,
                            .integrity_classes = 3,
                            .device_classes = 1,
                            .attempts = 5,
                            .uses = 100,
                            .generation = 1,
                            .issued = 1};
  memcpy(token.hardware_id, hardware_id, sizeof token.hardware_id);
  memcpy(token.instance_id, instance_id, sizeof token.instance_id);
  memset(&token.secrets, 3, sizeof token.secrets);
  REQUIRE(pfc_token_create(token_bytes, &token, hardware.public_key, NULL, signing_key, ephemeral) == PFC_OK);
  REQUIRE(pfc_verifier_provision(&hardware, &platform, 0, 0, 0) == PFC_OK);

  print_depth("start (load every record)", start);
  pfc_session_init(&session);
  print_depth("TOKEN (unseal, verify, store)", receive_token);
  REQUIRE(outcome.verdict == PFC_VERDICT_HELD);
  print_depth("ASK (draw a challenge)", receive_ask);

  struct pfc_request request = {.kind = PFC_KIND_INTEGRITY, .command_class = 0};
  memcpy(request.instance_id, instance_id, sizeof request.instance_id);
  memcpy(request.hardware_id, hardware_id, sizeof request.hardware_id);
  REQUIRE(pfc_challenge_decode(&request.challenge, outcome.reply, outcome.reply_size) == PFC_OK);
  uint8_t nonce[PFC_NONCE_BYTES];
  REQUIRE(pfc_command_create(message, sizeof message, &message_size, nonce, &request, &token.secrets) == PFC_OK);
  print_depth("COMMAND (two proofs, count a use, receipt)", receive_command);
  REQUIRE(outcome.verdict == PFC_VERDICT_ACCEPTED && outcome.execute == PFC_EXECUTE);
  return 0;
}
