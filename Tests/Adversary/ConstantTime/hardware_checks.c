// SPDX-License-Identifier: Apache-2.0

/// The backend's and the hardware's side: sealed boxes, signatures, tokens, records, and the verifier's judgement.

#include <string.h>

#include "constant_time.h"

static void unseal(void) {
  uint8_t secret_key[PFC_SECRET_KEY_BYTES], public_key[PFC_PUBLIC_KEY_BYTES], ephemeral[PFC_SECRET_KEY_BYTES];
  uint8_t plain[64], sealed[64 + PFC_SEAL_BYTES], opened[64];
  make_secret(secret_key, sizeof secret_key, 1);
  make_secret(ephemeral, sizeof ephemeral, 2);
  make_secret(plain, sizeof plain, 3);
  pfc_public_key(public_key, secret_key);
  expect_secret("the public key", public_key, sizeof public_key);
  reveal(public_key, sizeof public_key);
  expect("sealed", pfc_seal(sealed, plain, sizeof plain, public_key, ephemeral) == PFC_OK);
  reveal(sealed, sizeof sealed);  // It goes over the link.
  expect("opened", pfc_unseal(opened, sealed, sizeof sealed, public_key, secret_key) == PFC_OK);
  expect_secret("the content", opened, sizeof opened);
  sealed[sizeof sealed - 1] ^= 1;
  expect("refused", pfc_unseal(opened, sealed, sizeof sealed, public_key, secret_key) == PFC_E_RECIPIENT);
}

static void sign(void) {
  uint8_t seed[32], public_key[PFC_PUBLIC_KEY_BYTES], signing_key[PFC_SIGNING_KEY_BYTES];
  uint8_t signature[PFC_SIGNATURE_BYTES];
  static const uint8_t message[] = "a public message";
  make_secret(seed, sizeof seed, 1);
  pfc_signing_key(public_key, signing_key, seed);
  expect_secret("the signing key", signing_key, sizeof signing_key);
  pfc_sign(signature, message, sizeof message, signing_key);
  expect_secret("the signature", signature, sizeof signature);
}

/// One piece of hardware with a secret key, and an issuer it trusts.
struct parties {
  struct pfc_hardware hardware;
  uint8_t signing_key[PFC_SIGNING_KEY_BYTES];
};

static void make_parties(struct parties *parties) {
  struct pfc_hardware *hardware = &parties->hardware;
  uint8_t seed[32];
  memset(parties, 0, sizeof *parties);
  memset(hardware->id, 0x48, sizeof hardware->id);
  make_secret(hardware->secret_key, sizeof hardware->secret_key, 1);
  pfc_public_key(hardware->public_key, hardware->secret_key);
  reveal(hardware->public_key, sizeof hardware->public_key);
  hardware->mode = PFC_MODE_PRODUCTION;
  hardware->issuer_count = 1;
  make_secret(seed, sizeof seed, 2);
  pfc_signing_key(hardware->issuers[0].public_key, parties->signing_key, seed);
  reveal(hardware->issuers[0].public_key, PFC_PUBLIC_KEY_BYTES);
  // The second half of a signing key is the public one.
  reveal(parties->signing_key + 32, 32);
}

static void make_token(uint8_t bytes[PFC_TOKEN_BYTES], const struct parties *parties, struct pfc_token *token,
                       uint8_t policy) {
  uint8_t ephemeral[PFC_SECRET_KEY_BYTES];
  *token = (struct pfc_token){.version = PFC_VERSION,
                              .mode = PFC_MODE_PRODUCTION,
                              .form = PFC_FORM_DIVERSIFIED,
                              .integrity_classes = 3,
                              .device_classes = 1,
                              .attempts = 2,
                              .uses = 9,
                              .generation = 1,
                              .issued = 1000};
  if (parties->hardware.has_factory_secret || policy != PFC_RATCHET_NONE) {
    token->version = PFC_TOKEN_VERSION_2;
    token->base = 1;
    token->policy = policy;
  }
  memcpy(token->hardware_id, parties->hardware.id, PFC_ID_BYTES);
  memset(token->instance_id, 0x49, PFC_ID_BYTES);
  make_secret(&token->secrets, sizeof token->secrets, 3);
  make_secret(ephemeral, sizeof ephemeral, 4);
  const uint8_t *factory = parties->hardware.has_factory_secret ? parties->hardware.factory_secret : NULL;
  expect("created", pfc_token_create(bytes, token, parties->hardware.public_key, factory, parties->signing_key,
                                     ephemeral) == PFC_OK);
  expect_secret("the sealed body", bytes + PFC_TOKEN_HEAD_BYTES, PFC_TOKEN_BYTES - PFC_TOKEN_HEAD_BYTES);
  reveal(bytes, PFC_TOKEN_BYTES);  // It goes over the link.
}

/// Suite 1, and with a factory secret suite 2.
static void tokens(int factory) {
  struct parties parties;
  struct pfc_token token, opened;
  uint8_t bytes[PFC_TOKEN_BYTES], drawn[PFC_FACTORY_SECRET_BYTES];
  make_parties(&parties);
  if (factory) {
    make_secret(drawn, sizeof drawn, 5);
    pfc_factory_secret(parties.hardware.factory_secret, drawn, parties.hardware.id);
    expect_secret("the factory secret", parties.hardware.factory_secret, PFC_FACTORY_SECRET_BYTES);
    parties.hardware.has_factory_secret = 1;
  }
  make_token(bytes, &parties, &token, PFC_RATCHET_NONE);
  expect("opened", pfc_token_open(&opened, bytes, sizeof bytes, &parties.hardware) == PFC_OK);
  expect_secret("the secrets", &opened.secrets, sizeof opened.secrets);
  bytes[100] ^= 1;
  expect("refused", pfc_token_open(&opened, bytes, sizeof bytes, &parties.hardware) == PFC_E_RECIPIENT);
}

static void tokens_of_suite_1(void) { tokens(0); }
static void tokens_of_suite_2(void) { tokens(1); }

static uint8_t areas[PFC_SLOTS + 1][PFC_RECORD_COPIES][PFC_RECORD_BYTES_MAX];

static int area_read(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size) {
  (void)context;
  memcpy(bytes, areas[record][copy], size);
  return 0;
}

static int area_write(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size) {
  (void)context;
  expect_secret("the record's tag", bytes + size - PFC_RECORD_TAG_BYTES, PFC_RECORD_TAG_BYTES);
  memcpy(areas[record][copy], bytes, size);
  return 0;
}

static const struct pfc_storage storage = {NULL, area_read, area_write};

static void records(void) {
  uint8_t secret_key[PFC_SECRET_KEY_BYTES], key[32];
  uint8_t saved[PFC_RECORD_BYTES(64)], loaded[PFC_RECORD_BYTES(64)];
  struct pfc_record record;
  make_secret(secret_key, sizeof secret_key, 1);
  make_secret(saved + PFC_RECORD_HEAD_BYTES, 64, 2);
  pfc_record_key(key, secret_key);
  expect("formatted", pfc_record_format(&record, saved, 64, &storage, 1, key) == PFC_OK);
  expect("loaded", pfc_record_load(&record, loaded, 64, &storage, 1, key) == PFC_OK);
  expect_secret("the payload", loaded + PFC_RECORD_HEAD_BYTES, 64);
  areas[1][0][20] ^= 1;
  areas[1][1][20] ^= 1;
  expect("refused", pfc_record_load(&record, loaded, 64, &storage, 1, key) == PFC_E_DAMAGED);
}

static int count_random(void *context, uint8_t *bytes, size_t size) {
  uint8_t *next = context;
  memset(bytes, ++*next, size);
  return 0;
}

static uint8_t ask(struct pfc_verifier *verifier, struct pfc_session *session, struct pfc_challenge *challenge) {
  static const uint8_t what[1] = {PFC_ASK_CHALLENGE};
  struct pfc_outcome outcome;
  pfc_verifier_receive(verifier, session, PFC_MESSAGE_ASK, what, 1, &outcome);
  return pfc_challenge_decode(challenge, outcome.reply, outcome.reply_size) == PFC_OK;
}

/// A whole visit: token, commands right and wrong, recalls right and wrong. Only verdicts may be told apart.
static void visit(uint8_t policy) {
  struct parties parties;
  struct pfc_token token;
  struct pfc_verifier verifier;
  struct pfc_session session;
  struct pfc_outcome outcome;
  struct pfc_request request = {.kind = PFC_KIND_INTEGRITY, .command = (const uint8_t *)"open", .command_size = 4};
  uint8_t next = 0, bytes[PFC_TOKEN_BYTES], message[PFC_MESSAGE_MAX], nonce[PFC_NONCE_BYTES];
  uint8_t ratchet[PFC_RATCHET_BYTES], digest[PFC_TOKEN_DIGEST_BYTES];
  size_t size;
  struct pfc_platform platform = {.context = &next, .random = count_random, .storage = storage};
  make_parties(&parties);
  make_token(bytes, &parties, &token, policy);
  expect("provisioned", pfc_verifier_provision(&parties.hardware, &platform, 0, 0, 0) == PFC_OK);
  expect("started", pfc_verifier_init(&verifier, &parties.hardware, &platform) == PFC_OK);
  pfc_session_init(&session);
  pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_TOKEN, bytes, sizeof bytes, &outcome);
  expect("held", outcome.verdict == PFC_VERDICT_HELD);
  expect_secret("the receipt", outcome.reply + 11, PFC_RECEIPT_BYTES);
  expect("held again", pfc_verifier_init(&verifier, &parties.hardware, &platform) == PFC_OK);
  pfc_token_digest(digest, bytes);
  pfc_ratchet_begin(ratchet, &token.secrets, digest);
  expect_secret("the ratchet", ratchet, sizeof ratchet);
  request.ratchet = ratchet;
  memcpy(request.hardware_id, parties.hardware.id, PFC_ID_BYTES);
  memcpy(request.instance_id, token.instance_id, PFC_ID_BYTES);
  static const struct {
    uint8_t kind;
    size_t wrong;  ///< This byte of the first proof, or of what follows it
    int changed;
    uint8_t verdict;
  } cases[] = {
      {PFC_KIND_INTEGRITY, 0, 0, PFC_VERDICT_ACCEPTED},
      {PFC_KIND_DEVICE, 0, 0, PFC_VERDICT_ACCEPTED_DEVICE},
      {PFC_KIND_INTEGRITY, 0, 1, PFC_VERDICT_INTEGRITY_DIFFERS},
      {PFC_KIND_INTEGRITY, 1, 0, PFC_VERDICT_DEVICE_DIFFERS},
      {PFC_KIND_DEVICE, 31, 0, PFC_VERDICT_DEVICE_DIFFERS},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct pfc_secrets secrets = token.secrets;
    expect("asked", ask(&verifier, &session, &request.challenge));
    request.kind = (uint8_t)(cases[i].kind + (policy != PFC_RATCHET_NONE ? 2 : 0));
    secrets.integrity[0] ^= (uint8_t)cases[i].changed;
    expect("made", pfc_command_create(message, sizeof message, &size, nonce, &request, &secrets) == PFC_OK);
    reveal(message, sizeof message);
    reveal(nonce, sizeof nonce);
    if (cases[i].wrong > 0) message[PFC_COMMAND_HEAD_BYTES + cases[i].wrong] ^= 1;
    pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_COMMAND, message, size, &outcome);
    expect("the expected verdict", outcome.verdict == cases[i].verdict);
    expect_secret("the receipt", outcome.reply + 11, PFC_RECEIPT_BYTES);
    if (policy != PFC_RATCHET_NONE && i < 2) pfc_ratchet_next(ratchet, ratchet, nonce);
  }
  // Out of step: told, or refused.
  for (uint8_t class_ = 0; policy != PFC_RATCHET_NONE && class_ < 2; class_++) {
    uint8_t told = policy == PFC_RATCHET_REFUSE && class_ == 1 ? PFC_VERDICT_COPIED : PFC_VERDICT_ACCEPTED_COPY;
    ratchet[class_] ^= 1;
    expect("asked", ask(&verifier, &session, &request.challenge));
    request.kind = PFC_KIND_INTEGRITY_RATCHET;
    request.command_class = class_;
    expect("made", pfc_command_create(message, sizeof message, &size, nonce, &request, &token.secrets) == PFC_OK);
    reveal(message, sizeof message);
    reveal(nonce, sizeof nonce);
    pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_COMMAND, message, size, &outcome);
    expect("the expected verdict", outcome.verdict == told);
    if (told == PFC_VERDICT_ACCEPTED_COPY && policy == PFC_RATCHET_REPORT) {
      pfc_ratchet_fork(ratchet, &token.secrets, nonce);
    }
  }
  expect("started with a stored ratchet", pfc_verifier_init(&verifier, &parties.hardware, &platform) == PFC_OK);
  pfc_session_init(&session);
  expect("asked", ask(&verifier, &session, &request.challenge));
  for (uint8_t wrong = 0; wrong < 2; wrong++) {
    pfc_recall_create(message, token.instance_id, request.challenge.counter, nonce, token.secrets.device_key);
    reveal(message, PFC_RECALL_BYTES);
    message[PFC_RECALL_BYTES - 1] ^= wrong;
    pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_RECALL, message, PFC_RECALL_BYTES, &outcome);
    expect("the expected verdict",
           outcome.verdict == (wrong ? PFC_VERDICT_DEVICE_DIFFERS : PFC_VERDICT_NOT_EXECUTED));
  }
}

static void verifier(void) { visit(PFC_RATCHET_NONE); }
static void verifier_reporting(void) { visit(PFC_RATCHET_REPORT); }
static void verifier_refusing(void) { visit(PFC_RATCHET_REFUSE); }

const struct check checks_hardware[] = {
    {"sealed box: seal and open", unseal},
    {"signature: key and sign", sign},
    {"token: create and open", tokens_of_suite_1},
    {"token by suite 2, with a factory secret: create and open", tokens_of_suite_2},
    {"record: save and load", records},
    {"verifier: a whole visit", verifier},
    {"verifier: a visit with a ratchet that reports", verifier_reporting},
    {"verifier: a visit with a ratchet that refuses", verifier_refusing},
    {NULL, NULL},
};
