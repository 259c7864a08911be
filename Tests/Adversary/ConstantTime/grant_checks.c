// SPDX-License-Identifier: Apache-2.0

/// Grants at both ends: the owner's four secrets and the tag are secret until the tag is sent; a loan is public.

#include <string.h>

#include "constant_time.h"

static uint8_t areas[2 * PFC_SLOTS + 1][PFC_RECORD_COPIES][PFC_RECORD_BYTES_MAX];

static int area_read(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size) {
  (void)context;
  memcpy(bytes, areas[record][copy], size);
  return 0;
}

static int area_write(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size) {
  (void)context;
  memcpy(areas[record][copy], bytes, size);
  return 0;
}

static int count_random(void *context, uint8_t *bytes, size_t size) {
  uint8_t *next = context;
  memset(bytes, ++*next, size);
  return 0;
}

struct holder {
  struct pfc_token token;
  uint8_t bytes[PFC_TOKEN_BYTES], digest[PFC_TOKEN_DIGEST_BYTES];
};

static struct pfc_hardware hardware;
static struct pfc_verifier verifier;
static struct pfc_session session;
static struct pfc_outcome outcome;
static struct holder owner, member;
static uint8_t signing_key[PFC_SIGNING_KEY_BYTES], drawn;

static void make_hardware(void) {
  uint8_t seed[32];
  struct pfc_platform platform = {
      .context = &drawn, .random = count_random, .storage = {NULL, area_read, area_write}};
  memset(areas, 0, sizeof areas);
  memset(&hardware, 0, sizeof hardware);
  memset(hardware.id, 0x48, PFC_ID_BYTES);
  hardware.mode = PFC_MODE_PRODUCTION;
  hardware.issuer_count = 1;
  make_secret(hardware.secret_key, sizeof hardware.secret_key, 1);
  make_secret(seed, sizeof seed, 2);
  pfc_public_key(hardware.public_key, hardware.secret_key);
  pfc_signing_key(hardware.issuers[0].public_key, signing_key, seed);
  reveal(hardware.public_key, sizeof hardware.public_key);
  reveal(hardware.issuers[0].public_key, PFC_PUBLIC_KEY_BYTES);
  reveal(signing_key + 32, 32);
  expect("provisioned", pfc_verifier_provision(&hardware, &platform, 0, 0, 0) == PFC_OK);
  expect("started", pfc_verifier_init(&verifier, &hardware, &platform) == PFC_OK);
  expect("takes grants", pfc_verifier_take_grants(&verifier) == PFC_OK);
  pfc_session_init(&session);
}

static void hold(struct holder *holder, uint8_t name, uint16_t classes, uint16_t delegable) {
  uint8_t ephemeral[32];
  holder->token = (struct pfc_token){.version = PFC_TOKEN_VERSION_2,
                                     .mode = PFC_MODE_PRODUCTION,
                                     .form = PFC_FORM_DIVERSIFIED,
                                     .integrity_classes = classes,
                                     .delegable_classes = delegable,
                                     .attempts = 9,
                                     .uses = 9,
                                     .generation = 1,
                                     .base = 1,
                                     .issued = 1000};
  memcpy(holder->token.hardware_id, hardware.id, PFC_ID_BYTES);
  memset(holder->token.instance_id, name, PFC_ID_BYTES);
  make_secret(&holder->token.secrets, sizeof holder->token.secrets, name);
  make_secret(ephemeral, sizeof ephemeral, (uint8_t)(name + 1));
  expect("created", pfc_token_create(holder->bytes, &holder->token, hardware.public_key, NULL, signing_key,
                                     ephemeral) == PFC_OK);
  reveal(holder->bytes, sizeof holder->bytes);
  pfc_token_digest(holder->digest, holder->bytes);
  pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_TOKEN, holder->bytes, sizeof holder->bytes, &outcome);
  expect("held", outcome.verdict == PFC_VERDICT_HELD);
}

static void borrow(uint8_t verdict) {
  static const uint8_t what[1] = {PFC_ASK_CHALLENGE};
  struct pfc_request request = {.kind = PFC_KIND_INTEGRITY, .command_class = 0};
  uint8_t message[PFC_MESSAGE_MAX], nonce[PFC_NONCE_BYTES];
  size_t size;
  pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_ASK, what, 1, &outcome);
  expect("asked", pfc_challenge_decode(&request.challenge, outcome.reply, outcome.reply_size) == PFC_OK);
  memcpy(request.hardware_id, hardware.id, PFC_ID_BYTES);
  memcpy(request.instance_id, member.token.instance_id, PFC_ID_BYTES);
  expect("made", pfc_command_create(message, sizeof message, &size, nonce, &request, &member.token.secrets) == PFC_OK);
  reveal(message, sizeof message);
  pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_COMMAND, message, size, &outcome);
  expect("the expected verdict on a command", outcome.verdict == verdict);
}

static const struct {
  uint16_t classes;
  uint8_t uses;
  uint8_t secret;   ///< This byte of the owner's secrets is another one, unless 0
  uint8_t flipped;  ///< This byte of the message is changed, unless 0
  uint8_t verdict, command;
} cases[] = {
    {1, 2, 0, 64, PFC_VERDICT_DEVICE_DIFFERS, PFC_VERDICT_NOT_PERMITTED},
    {1, 2, 0, 95, PFC_VERDICT_DEVICE_DIFFERS, PFC_VERDICT_NOT_PERMITTED},
    {1, 2, 20, 0, PFC_VERDICT_DEVICE_DIFFERS, PFC_VERDICT_NOT_PERMITTED},
    {1, 2, 95, 0, PFC_VERDICT_DEVICE_DIFFERS, PFC_VERDICT_NOT_PERMITTED},
    {3, 2, 0, 0, PFC_VERDICT_NOT_PERMITTED, PFC_VERDICT_NOT_PERMITTED},
    {1, 2, 0, 0, PFC_VERDICT_DONE, PFC_VERDICT_ACCEPTED},
    {0, 0, 0, 0, PFC_VERDICT_DONE, PFC_VERDICT_NOT_PERMITTED},
};

static void visit(void) {
  make_hardware();
  hold(&owner, 0x51, 7, 1);
  hold(&member, 0x61, 2, 0);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct pfc_grant grant = {.generation = 1,
                              .serial = (uint32_t)i + 1,
                              .classes = cases[i].classes,
                              .uses = cases[i].uses,
                              .end = cases[i].classes != 0 ? 5000 : 0};
    struct pfc_secrets secrets = owner.token.secrets;
    uint8_t bytes[PFC_GRANT_BYTES];
    memcpy(grant.hardware_id, hardware.id, PFC_ID_BYTES);
    memcpy(grant.owner, owner.token.instance_id, PFC_ID_BYTES);
    memcpy(grant.member, member.digest, PFC_TOKEN_DIGEST_BYTES);
    if (cases[i].secret != 0) ((uint8_t *)&secrets)[cases[i].secret] ^= 1;
    expect("made", pfc_grant_create(bytes, &grant, &secrets, owner.digest) == PFC_OK);
    expect_secret("the tag", bytes + 64, PFC_GRANT_TAG_BYTES);
    reveal(bytes, sizeof bytes);
    if (cases[i].flipped != 0) bytes[cases[i].flipped] ^= 1;
    pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_GRANT, bytes, sizeof bytes, &outcome);
    expect("the expected verdict", outcome.verdict == cases[i].verdict);
    if (outcome.verdict == PFC_VERDICT_DONE) expect_secret("the receipt", outcome.reply + 11, PFC_RECEIPT_BYTES);
    borrow(cases[i].command);
  }
}

const struct check checks_grant[] = {
    {"grant: a visit", visit},
    {NULL, NULL},
};
