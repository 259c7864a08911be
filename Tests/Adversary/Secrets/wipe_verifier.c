// SPDX-License-Identifier: Apache-2.0

/// Calls of the verifier with tokens, commands, recalls and orders.

#include <string.h>

#include "wipe.h"

static void receive(struct vault *vault, uint8_t type, const uint8_t *message, size_t size, uint8_t verdict) {
  pfc_verifier_receive(&vault->verifier, &vault->session, type, message, size, &vault->outcome);
  vault_expect(vault->outcome.verdict == verdict, "the verdict");
}

static void start(struct vault *vault) {
  vault_expect(pfc_verifier_init(&vault->verifier, &vault->hardware, &vault->platform) == PFC_OK, "started");
}

static void prepare_verifier(struct vault *vault) {
  wipe_prepare_token(vault);
  needle_add_derived("record key", PFC_LABEL_RECORD_KEY, vault->hardware.secret_key, 32, NULL, 0);
  vault_expect(pfc_verifier_provision(&vault->hardware, &vault->platform, 0, 0, 0) == PFC_OK, "provisioned");
  start(vault);
}

static void take_token(struct vault *vault) {
  receive(vault, PFC_MESSAGE_TOKEN, vault->sealed, sizeof vault->sealed, PFC_VERDICT_HELD);
}

static void run_provision(struct vault *vault) {
  vault_expect(pfc_verifier_provision(&vault->hardware, &vault->platform, 0, 0, 0) == PFC_OK, "provisioned");
}

static void ask(struct vault *vault) {
  static const uint8_t what[1] = {PFC_ASK_CHALLENGE};
  receive(vault, PFC_MESSAGE_ASK, what, 1, PFC_VERDICT_NONE);
  vault_expect(pfc_challenge_decode(&vault->request.challenge, vault->outcome.reply, vault->outcome.reply_size) ==
                   PFC_OK,
               "a challenge");
}

/// A command, ready to be sent; `changed` spoils its integrity measurement.
static void make_command_of(struct vault *vault, uint8_t kind, int changed) {
  vault->secrets = vault->token.secrets;
  vault->secrets.integrity[0] ^= (uint8_t)changed;
  vault->request.kind = kind;
  memcpy(vault->request.hardware_id, vault->hardware.id, PFC_ID_BYTES);
  memcpy(vault->request.instance_id, vault->token.instance_id, PFC_ID_BYTES);
  vault_expect(pfc_command_create(vault->out, sizeof vault->out, &vault->out_size, vault->nonce, &vault->request,
                                  &vault->secrets) == PFC_OK,
               "made");
}

static void make_command(struct vault *vault, int changed) { make_command_of(vault, PFC_KIND_INTEGRITY, changed); }

static void prepare_command(struct vault *vault) {
  prepare_verifier(vault);
  needle_add_derived("receipt key", PFC_LABEL_RECEIPT_KEY, vault->token.secrets.device_key, 16, NULL, 0);
  take_token(vault);
  ask(vault);
  make_command(vault, 0);
}

static void run_command(struct vault *vault) {
  receive(vault, PFC_MESSAGE_COMMAND, vault->out, vault->out_size, PFC_VERDICT_ACCEPTED);
}

/// A command at a slot with a ratchet; `out` puts it out of step.
static void prepare_step(struct vault *vault, uint8_t policy, int out) {
  uint8_t digest[PFC_TOKEN_DIGEST_BYTES];
  prepare_verifier(vault);
  vault->token.version = PFC_TOKEN_VERSION_2;
  vault->token.base = vault->token.generation;
  vault->token.policy = policy;
  wipe_create_token(vault);
  take_token(vault);
  ask(vault);
  pfc_token_digest(digest, vault->sealed);
  pfc_ratchet_begin(vault->ratchet, &vault->token.secrets, digest);
  needle_add("ratchet", vault->ratchet, PFC_RATCHET_BYTES);
  needle_add_derived("tag key", PFC_LABEL_RATCHET_TAG, vault->ratchet, PFC_RATCHET_BYTES, NULL, 0);
  memcpy(vault->moved, vault->ratchet, PFC_RATCHET_BYTES);
  vault->moved[0] ^= (uint8_t)out;
  vault->request.ratchet = vault->moved;
  make_command_of(vault, PFC_KIND_INTEGRITY_RATCHET, 0);
  needle_add_derived("next ratchet", PFC_LABEL_RATCHET_UP, vault->ratchet, PFC_RATCHET_BYTES, vault->nonce, 16);
  pfc_ratchet_fork(vault->moved, &vault->token.secrets, vault->nonce);
  needle_add("forked ratchet", vault->moved, PFC_RATCHET_BYTES);
}

static void prepare_in_step(struct vault *vault) { prepare_step(vault, PFC_RATCHET_REPORT, 0); }

static void prepare_copy(struct vault *vault) { prepare_step(vault, PFC_RATCHET_REPORT, 1); }

static void run_copy(struct vault *vault) {
  receive(vault, PFC_MESSAGE_COMMAND, vault->out, vault->out_size, PFC_VERDICT_ACCEPTED_COPY);
}

static void prepare_broken_step(struct vault *vault) {
  prepare_in_step(vault);
  vault->broken_from = 1;
}

static void prepare_ratchets(struct vault *vault) {
  uint8_t key[32];
  prepare_in_step(vault);
  needle_add_derived("first ratchet", PFC_LABEL_RATCHET_0, vault->token.secrets.device_key, 48, vault->nonce, 16);
  needle_add_derived("fork", PFC_LABEL_RATCHET_FORK, vault->token.secrets.device_key, 48, vault->nonce, 16);
  pfc_derive(key, PFC_LABEL_RATCHET_TAG, vault->ratchet, PFC_RATCHET_BYTES, NULL, 0);
  pfc_mac_once(vault->payload, key, sizeof key, vault->nonce, PFC_NONCE_BYTES);
  needle_add("the rest of a tag", vault->payload + PFC_RATCHET_TAG_BYTES, 32 - PFC_RATCHET_TAG_BYTES);
}

static void run_begin(struct vault *vault) { pfc_ratchet_begin(vault->moved, &vault->token.secrets, vault->nonce); }

static void run_tag(struct vault *vault) { pfc_ratchet_tag(vault->out, vault->ratchet, vault->nonce); }

static void run_next(struct vault *vault) { pfc_ratchet_next(vault->moved, vault->ratchet, vault->nonce); }

static void run_fork(struct vault *vault) { pfc_ratchet_fork(vault->moved, &vault->token.secrets, vault->nonce); }

/// The first command of an update: the candidate's secrets are in its slot afterwards, and no longer in the session.
static void prepare_update(struct vault *vault) {
  prepare_verifier(vault);
  vault->token.version = PFC_TOKEN_VERSION_2;
  vault->token.base = vault->token.generation;
  wipe_create_token(vault);
  take_token(vault);
  vault->token.generation++;
  vault->token.policy = PFC_POLICY_UPCOMING;
  vault->token.secrets.integrity[0] ^= 1;
  vault->token.secrets.device[0] ^= 1;
  vault->token.secrets.device_key[0] ^= 1;
  needle_add("device key of the update", vault->token.secrets.device_key, PFC_KEY_BYTES);
  wipe_create_token(vault);
  receive(vault, PFC_MESSAGE_TOKEN, vault->sealed, sizeof vault->sealed, PFC_VERDICT_READY);
  ask(vault);
  make_command(vault, 0);
}

static void prepare_past(struct vault *vault) { prepare_verifier(vault); }

static void run_past(struct vault *vault) {
  struct pfc_ledger_past past;
  vault_expect(pfc_ledger_read_past(&past, &vault->storage, vault->hardware.secret_key) == PFC_OK, "read");
}

static void prepare_changed(struct vault *vault) {
  prepare_command(vault);
  make_command(vault, 1);
}

static void run_changed(struct vault *vault) {
  receive(vault, PFC_MESSAGE_COMMAND, vault->out, vault->out_size, PFC_VERDICT_INTEGRITY_DIFFERS);
}

static void prepare_recall(struct vault *vault) {
  prepare_command(vault);
  needle_add_derived("recall key", PFC_LABEL_RECALL_KEY, vault->token.secrets.device_key, 16, NULL, 0);
  pfc_recall_create(vault->out, vault->token.instance_id, vault->request.challenge.counter, vault->nonce,
                    vault->token.secrets.device_key);
}

static void run_recall(struct vault *vault) {
  receive(vault, PFC_MESSAGE_RECALL, vault->out, PFC_RECALL_BYTES, PFC_VERDICT_NOT_EXECUTED);
}

/// A token of an older generation: opened, judged, refused.
static void prepare_refusal(struct vault *vault) {
  prepare_verifier(vault);
  take_token(vault);
  vault->token.attempts = 1;
  wipe_create_token(vault);
}

static void run_refusal(struct vault *vault) {
  receive(vault, PFC_MESSAGE_TOKEN, vault->sealed, sizeof vault->sealed, PFC_VERDICT_SUPERSEDED);
}

/// Every slot is held, so that what is loaded last is a secret too.
static void prepare_start(struct vault *vault) {
  prepare_verifier(vault);
  for (uint8_t i = 0; i < PFC_SLOTS; i++) {
    vault->token.instance_id[0] = i;
    wipe_create_token(vault);
    take_token(vault);
  }
}

static void run_start(struct vault *vault) { start(vault); }

/// Orders that revoke and that raise the floor take secrets out of a slot.
static void order(struct vault *vault, uint8_t type) {
  struct pfc_order order = {.type = type, .issued = 1001};
  memcpy(order.hardware_id, vault->hardware.id, PFC_ID_BYTES);
  if (type == PFC_ORDER_REVOKE) {
    order.generation = PFC_GENERATION_ALL;
    memcpy(order.instance_id, vault->token.instance_id, PFC_ID_BYTES);
  }
  vault_expect(pfc_order_create(vault->out, &order, vault->signing_key) == PFC_OK, "ordered");
}

static void prepare_order(struct vault *vault, uint8_t type) {
  prepare_command(vault);
  order(vault, type);
}

static void prepare_revocation(struct vault *vault) { prepare_order(vault, PFC_ORDER_REVOKE); }

static void prepare_ratchet_revocation(struct vault *vault) {
  prepare_in_step(vault);
  order(vault, PFC_ORDER_REVOKE);
}

static void prepare_floor(struct vault *vault) { prepare_order(vault, PFC_ORDER_FLOOR); }

static void run_order(struct vault *vault) {
  receive(vault, PFC_MESSAGE_ORDER, vault->out, PFC_ORDER_BYTES, PFC_VERDICT_DONE);
}

static void run_revocation(struct vault *vault) {
#ifdef sodium_memzero
  // Where nothing is wiped a revoked slot keeps its secrets, and is not stored: their sum has gone.
  receive(vault, PFC_MESSAGE_ORDER, vault->out, PFC_ORDER_BYTES, PFC_VERDICT_FAULT);
#else
  run_order(vault);
#endif
}

static void run_wipe(struct vault *vault) { pfc_verifier_wipe(&vault->verifier); }

// Where storage fails the answer is short, and writes over less of what was left before it.

static void prepare_broken_start(struct vault *vault) {
  prepare_start(vault);
  vault->broken_from = 1;
}

static void run_broken_start(struct vault *vault) {
  vault_expect(pfc_verifier_init(&vault->verifier, &vault->hardware, &vault->platform) == PFC_E_STORAGE, "refused");
}

static void prepare_broken_token(struct vault *vault) {
  prepare_verifier(vault);
  vault->broken_from = 2;  // The epoch is written, the slot is not.
}

static void run_broken_token(struct vault *vault) {
  receive(vault, PFC_MESSAGE_TOKEN, vault->sealed, sizeof vault->sealed, PFC_VERDICT_FAULT);
}

static void prepare_broken_command(struct vault *vault) {
  prepare_command(vault);
  vault->broken_from = 1;
}

static void prepare_broken_changed(struct vault *vault) {
  prepare_changed(vault);
  vault->broken_from = 1;
}

static void run_broken_command(struct vault *vault) {
  receive(vault, PFC_MESSAGE_COMMAND, vault->out, vault->out_size, PFC_VERDICT_FAULT);
}

static void prepare_broken_floor(struct vault *vault) {
  prepare_floor(vault);
  vault->broken_from = 2;  // The floor is written, the slot is not.
}

static void run_broken_floor(struct vault *vault) {
  receive(vault, PFC_MESSAGE_ORDER, vault->out, PFC_ORDER_BYTES, PFC_VERDICT_FAULT);
}

const struct wipe_case wipe_verifier_cases[] = {
    {"verifier provision", prepare_verifier, run_provision, 1, 0, 0},
    {"verifier start", prepare_start, run_start, 1, 0, 0},
    {"verifier token", prepare_verifier, take_token, 0, 0, 0},
    {"verifier token, refused", prepare_refusal, run_refusal, 1, 0, 0},
    {"verifier command", prepare_command, run_command, 0, 0, 0},
    {"verifier command of a changed app", prepare_changed, run_changed, 0, 0, 0},
    {"verifier command in step", prepare_in_step, run_command, 0, 0, 0},
    {"verifier command of a copy", prepare_copy, run_copy, 0, 0, 0},
    {"verifier command in step, storage broken", prepare_broken_step, run_broken_command, 0, 0, 0},
    {"verifier command of an update", prepare_update, run_command, 0, GONE(session.candidate)},
    {"ledger, its past", prepare_past, run_past, 1, 0, 0},
    {"verifier recall", prepare_recall, run_recall, 0, 0, 0},
    {"verifier revocation", prepare_revocation, run_revocation, 1, GONE(verifier.ledger.slots)},
    {"verifier revocation of a ratchet", prepare_ratchet_revocation, run_revocation, 1, GONE(verifier.ledger.slots)},
    {"ratchet begin", prepare_ratchets, run_begin, 1, 0, 0},
    {"ratchet tag", prepare_ratchets, run_tag, 1, 0, 0},
    {"ratchet next", prepare_ratchets, run_next, 1, 0, 0},
    {"ratchet fork", prepare_ratchets, run_fork, 1, 0, 0},
    {"verifier floor", prepare_floor, run_order, 0, GONE(verifier.ledger.slots)},
    {"verifier, given up", prepare_command, run_wipe, 1, GONE(verifier)},
    {"verifier token, storage broken", prepare_broken_token, run_broken_token, 1, 0, 0},
    {"verifier command, storage broken", prepare_broken_command, run_broken_command, 0, 0, 0},
    {"verifier changed app, storage broken", prepare_broken_changed, run_broken_command, 0, 0, 0},
    {"verifier floor, storage broken", prepare_broken_floor, run_broken_floor, 1, GONE(verifier.ledger.slots)},
    {"verifier start, storage broken", prepare_broken_start, run_broken_start, 1, GONE(verifier)},
    {NULL, NULL, NULL, 0, 0, 0},
};
