// SPDX-License-Identifier: Apache-2.0

/// Sealed commands at both ends: keys, proofs and the command are secret; sealed bytes, hints and verdicts are public.

#include <string.h>

#include "constant_time.h"

static uint8_t areas[PFC_SLOTS + 1][PFC_RECORD_COPIES][PFC_RECORD_BYTES_MAX];

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

/// Hardware with a secret key, and an issuer's token for it with this policy.
static void make_hardware(struct pfc_hardware *hardware, struct pfc_token *token, uint8_t bytes[PFC_TOKEN_BYTES],
                          uint8_t policy) {
  uint8_t seed[32], signing_key[PFC_SIGNING_KEY_BYTES], ephemeral[32];
  memset(hardware, 0, sizeof *hardware);
  memset(hardware->id, 0x48, PFC_ID_BYTES);
  hardware->mode = PFC_MODE_PRODUCTION;
  hardware->issuer_count = 1;
  make_secret(hardware->secret_key, sizeof hardware->secret_key, 1);
  make_secret(seed, sizeof seed, 2);
  pfc_public_key(hardware->public_key, hardware->secret_key);
  pfc_signing_key(hardware->issuers[0].public_key, signing_key, seed);
  reveal(hardware->public_key, sizeof hardware->public_key);
  reveal(hardware->issuers[0].public_key, PFC_PUBLIC_KEY_BYTES);
  reveal(signing_key + 32, 32);
  *token = (struct pfc_token){.version = PFC_TOKEN_VERSION_2,
                              .policy = policy,
                              .mode = PFC_MODE_PRODUCTION,
                              .form = PFC_FORM_DIVERSIFIED,
                              .integrity_classes = 3,
                              .device_classes = 1,
                              .attempts = 9,
                              .uses = 9,
                              .generation = 1,
                              .base = 1,
                              .issued = 1000};
  memcpy(token->hardware_id, hardware->id, PFC_ID_BYTES);
  memset(token->instance_id, 0x49, PFC_ID_BYTES);
  make_secret(&token->secrets, sizeof token->secrets, 3);
  make_secret(ephemeral, sizeof ephemeral, 4);
  expect("created", pfc_token_create(bytes, token, hardware->public_key, NULL, signing_key, ephemeral) == PFC_OK);
  reveal(bytes, PFC_TOKEN_BYTES);
}

static const struct {
  uint8_t kind;
  uint8_t proof;     ///< 1: a wrong integrity measurement. 2: a wrong device measurement
  uint8_t flipped;   ///< This byte of the message is changed, unless 0
  uint8_t policy;    ///< The token's, which the next case may share
  uint8_t verdict;
} cases[] = {
    {PFC_KIND_SEALED_INTEGRITY, 0, 0, PFC_POLICY_SEALED, PFC_VERDICT_ACCEPTED},
    {PFC_KIND_SEALED_DEVICE, 0, 0, PFC_POLICY_SEALED, PFC_VERDICT_ACCEPTED_DEVICE},
    {PFC_KIND_SEALED_INTEGRITY, 1, 0, PFC_POLICY_SEALED, PFC_VERDICT_INTEGRITY_DIFFERS},
    {PFC_KIND_SEALED_DEVICE, 2, 0, PFC_POLICY_SEALED, PFC_VERDICT_DEVICE_DIFFERS},
    {PFC_KIND_SEALED_INTEGRITY, 0, 1, PFC_POLICY_SEALED, PFC_VERDICT_DEVICE_DIFFERS},
    {PFC_KIND_SEALED_INTEGRITY, 0, 60, PFC_POLICY_SEALED, PFC_VERDICT_DEVICE_DIFFERS},
    {PFC_KIND_SEALED_INTEGRITY, 0, 100, PFC_POLICY_SEALED, PFC_VERDICT_DEVICE_DIFFERS},
    {PFC_KIND_SEALED_INTEGRITY, 0, 0, PFC_RATCHET_REPORT, PFC_VERDICT_ACCEPTED},
    {PFC_KIND_SEALED_INTEGRITY, 0, 0, PFC_RATCHET_REPORT, PFC_VERDICT_ACCEPTED_COPY},
};

static void visit(void) {
  static const uint8_t what[1] = {PFC_ASK_SEALED};
  static struct pfc_verifier verifier;
  struct pfc_hardware hardware;
  struct pfc_token token;
  struct pfc_session session;
  struct pfc_outcome outcome;
  struct pfc_answer answer;
  struct pfc_sealed_sent sent;
  uint8_t next = 0, bytes[PFC_TOKEN_BYTES], message[PFC_MESSAGE_MAX], text[4], lock_key[32], digest[16], ephemeral[32];
  uint8_t ratchet[PFC_RATCHET_BYTES];
  uint64_t following;
  size_t size;
  struct pfc_platform platform = {
      .context = &next, .random = count_random, .storage = {NULL, area_read, area_write}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct pfc_request request = {.kind = cases[i].kind, .command = text, .command_size = sizeof text};
    struct pfc_secrets secrets;
    struct pfc_seal_facts facts;
    if (i == 0 || cases[i].policy != cases[i - 1].policy) {
      make_hardware(&hardware, &token, bytes, cases[i].policy);
      expect("provisioned", pfc_verifier_provision(&hardware, &platform, 0, 0, 0) == PFC_OK);
      expect("started", pfc_verifier_init(&verifier, &hardware, &platform) == PFC_OK);
      expect("prepared", pfc_verifier_prepare(&verifier) == PFC_OK);
      pfc_session_init(&session);
      pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_TOKEN, bytes, sizeof bytes, &outcome);
      expect("held", outcome.verdict == PFC_VERDICT_HELD);
      pfc_token_digest(digest, bytes);
      pfc_ratchet_begin(ratchet, &token.secrets, digest);
    }
    expect("prepared", pfc_verifier_prepare(&verifier) == PFC_OK);
    conceal(verifier.seal.secret, sizeof verifier.seal.secret);
    pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_ASK, what, 1, &outcome);
    expect("asked", pfc_sealed_challenge_decode(&request.challenge, lock_key, outcome.reply, outcome.reply_size) ==
                        PFC_OK);
    memcpy(request.hardware_id, hardware.id, PFC_ID_BYTES);
    memcpy(request.instance_id, token.instance_id, PFC_ID_BYTES);
    if (cases[i].policy == PFC_RATCHET_REPORT) request.ratchet = ratchet;
    make_secret(text, sizeof text, 6);
    make_secret(ephemeral, sizeof ephemeral, (uint8_t)(7 + i));
    secrets = token.secrets;
    if (cases[i].proof == 1) secrets.integrity[0] ^= 1;
    if (cases[i].proof == 2) secrets.device[0] ^= 1;
    facts = (struct pfc_seal_facts){.hardware_id = hardware.id,
                                    .instance_id = token.instance_id,
                                    .token_digest = digest,
                                    .device_key = secrets.device_key,
                                    .lock_key = lock_key,
                                    .challenge = &request.challenge};
    expect("made", pfc_sealed_create(message, sizeof message, &size, &sent, &request, &facts, &secrets, ephemeral) ==
                       PFC_OK);
    expect_secret("the box", message + PFC_SEALED_HEAD_BYTES, size - PFC_SEALED_HEAD_BYTES);
    expect_secret("the hint", message + 1, PFC_SEAL_HINT_BYTES);
    expect_secret("the answer's key", sent.down, sizeof sent.down);
    reveal(message, sizeof message);
    if (cases[i].flipped != 0) message[cases[i].flipped] ^= 1;
    pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_COMMAND, message, size, &outcome);
    expect("the expected verdict", outcome.verdict == cases[i].verdict);
    if (outcome.reply_type != PFC_MESSAGE_SEALED_DOWN) continue;
    expect_secret("the sealed answer", outcome.reply + 8, PFC_SEALED_DOWN_BYTES - 8);
    reveal(outcome.reply, sizeof outcome.reply);
    expect("opened", pfc_sealed_down_open(&answer, &following, outcome.reply, outcome.reply_size,
                                          request.challenge.counter, sent.down) == PFC_OK);
    outcome.reply[20] ^= 1;
    expect("refused", pfc_sealed_down_open(&answer, &following, outcome.reply, outcome.reply_size,
                                           request.challenge.counter, sent.down) == PFC_E_DIFFERS);
    // The app's ratchet stays where it was: the next command is out of step.
  }
}

const struct check checks_sealed[] = {
    {"sealed: a visit", visit},
    {NULL, NULL},
};
