// SPDX-License-Identifier: Apache-2.0

/// Sealed commands at app and hardware.

#include <string.h>

#include "wipe.h"

static struct pfc_seal_facts facts_of(struct vault *vault) {
  return (struct pfc_seal_facts){.hardware_id = vault->hardware.id,
                                 .instance_id = vault->token.instance_id,
                                 .token_digest = vault->token_digest,
                                 .device_key = vault->token.secrets.device_key,
                                 .lock_key = vault->verifier.seal.public_key,
                                 .challenge = &vault->request.challenge};
}

static void receive(struct vault *vault, uint8_t type, const uint8_t *message, size_t size, uint8_t verdict) {
  pfc_verifier_receive(&vault->verifier, &vault->session, type, message, size, &vault->outcome);
  vault_expect(vault->outcome.verdict == verdict, "the verdict");
}

static int make(struct vault *vault) {
  struct pfc_seal_facts facts = facts_of(vault);
  return pfc_sealed_create(vault->out, sizeof vault->out, &vault->out_size, &vault->sealed_sent, &vault->request,
                           &facts, &vault->token.secrets, vault->ephemeral);
}

/// A lock with a token and a key, and a command of its owner.
static void prepare_policy(struct vault *vault, uint8_t policy, uint8_t class_) {
  static const uint8_t what[1] = {PFC_ASK_SEALED};
  uint8_t input[48], public_key[32], lock_key[32];
  struct pfc_hash hash;
  uint8_t id[32];
  wipe_prepare_token(vault);
  vault->token.version = PFC_TOKEN_VERSION_2;
  vault->token.base = vault->token.generation;
  vault->token.policy = policy;
  wipe_create_token(vault);
  pfc_token_digest(vault->token_digest, vault->sealed);
  vault_expect(pfc_verifier_provision(&vault->hardware, &vault->platform, 0, 0, 0) == PFC_OK, "provisioned");
  vault_expect(pfc_verifier_init(&vault->verifier, &vault->hardware, &vault->platform) == PFC_OK, "started");
  vault_expect(pfc_verifier_prepare(&vault->verifier) == PFC_OK, "prepared");
  vault_fill(vault->verifier.seal.secret, 32, 81);
  pfc_public_key(vault->verifier.seal.public_key, vault->verifier.seal.secret);
  receive(vault, PFC_MESSAGE_TOKEN, vault->sealed, sizeof vault->sealed, PFC_VERDICT_HELD);
  receive(vault, PFC_MESSAGE_ASK, what, 1, PFC_VERDICT_NONE);
  vault_expect(pfc_sealed_challenge_decode(&vault->request.challenge, lock_key, vault->outcome.reply,
                                           vault->outcome.reply_size) == PFC_OK, "a challenge");
  vault_fill(vault->ephemeral, sizeof vault->ephemeral, 82);
  vault_fill(vault->text, sizeof vault->text, 83);
  vault->request.kind = PFC_KIND_SEALED_INTEGRITY;
  vault->request.command_class = class_;
  vault->request.command = (const uint8_t *)vault->text;
  vault->request.command_size = 40;
  vault->request.ratchet = NULL;
  memcpy(vault->request.hardware_id, vault->hardware.id, PFC_ID_BYTES);
  memcpy(vault->request.instance_id, vault->token.instance_id, PFC_ID_BYTES);
  vault_expect(make(vault) == PFC_OK, "made");
  pfc_public_key(public_key, vault->ephemeral);
  vault_expect(pfc_shared_secret(vault->shared, vault->ephemeral, lock_key) == PFC_OK, "shared");
  memcpy(input, vault->shared, 32);
  memcpy(input + 32, vault->token.secrets.device_key, PFC_KEY_BYTES);
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, PFC_LABEL_SEAL_ID, PFC_LABEL_BYTES);
  pfc_hash_update(&hash, vault->hardware.id, PFC_ID_BYTES);
  pfc_hash_update(&hash, vault->token.instance_id, PFC_ID_BYTES);
  pfc_hash_update(&hash, vault->token_digest, PFC_TOKEN_DIGEST_BYTES);
  pfc_hash_update(&hash, vault->request.challenge.bytes, PFC_CHALLENGE_BYTES);
  pfc_hash_update(&hash, vault->out, PFC_SEALED_HEAD_BYTES);
  pfc_hash_update(&hash, lock_key, sizeof lock_key);
  pfc_hash_final(id, &hash);
  needle_add("e_lock", vault->verifier.seal.secret, 32);
  needle_add("shared secret", vault->shared, 32);
  needle_add("device key", vault->token.secrets.device_key, PFC_KEY_BYTES);
  needle_add("answer key", vault->sealed_sent.down, 32);
  needle_add("step", vault->sealed_sent.step, PFC_NONCE_BYTES);
  needle_add("a channel's key", vault->sealed_sent.chain, PFC_CHANNEL_KEY_BYTES);
  needle_add("the command", vault->text, 40);
  needle_add_derived("box key", PFC_LABEL_SEAL_FIRST, input, sizeof input, id, 32);
  needle_add_derived("hint key", PFC_LABEL_SEAL_HINT, vault->token.secrets.device_key, PFC_KEY_BYTES, NULL, 0);
}

void wipe_prepare_sealed(struct vault *vault, uint8_t policy, uint8_t class_) {
  prepare_policy(vault, policy, class_);
}

static void prepare_sealed(struct vault *vault) { prepare_policy(vault, PFC_POLICY_SEALED, 0); }

/// The hint that a message should have had: an attacker who learns it makes the hardware multiply.
static void prepare_wrong(struct vault *vault) {
  prepare_sealed(vault);
  needle_add("the right hint", vault->out + 1, PFC_SEAL_HINT_BYTES);
  vault->out[1] ^= 1;
}

static void prepare_rest(struct vault *vault) {
  uint8_t key[32], told[105], full[32];
  prepare_sealed(vault);
  pfc_derive(key, PFC_LABEL_SEAL_HINT, vault->token.secrets.device_key, PFC_KEY_BYTES, NULL, 0);
  memcpy(told, vault->request.challenge.bytes, 32);
  for (unsigned i = 0; i < 8; i++) told[32 + i] = (uint8_t)(vault->request.challenge.counter >> (8 * i));
  told[40] = vault->out[0];
  memcpy(told + 41, vault->verifier.seal.public_key, 32);
  memcpy(told + 73, vault->out + 17, 32);
  pfc_mac_once(full, key, sizeof key, told, sizeof told);
  vault_expect(memcmp(full, vault->out + 1, PFC_SEAL_HINT_BYTES) == 0, "the hint");
  needle_add("the rest of the hint", full + PFC_SEAL_HINT_BYTES, 24);
}

static void run_hint(struct vault *vault) {
  pfc_seal_hint(vault->nonce, vault->token.secrets.device_key, &vault->request.challenge, vault->out[0],
                vault->verifier.seal.public_key, vault->out + 17);
}

static void run_create(struct vault *vault) { vault_expect(make(vault) == PFC_OK, "made"); }

static void run_open(struct vault *vault) {
  struct pfc_seal_facts facts = facts_of(vault);
  struct pfc_command command;
  vault_expect(pfc_sealed_open(&command, vault->verifier.opened, vault->nonce, &facts, vault->shared, vault->out,
                               vault->out_size) == PFC_OK, "opened");
}

static void run_follow(struct vault *vault) {
  struct pfc_seal_facts facts = facts_of(vault);
  pfc_sealed_follow(vault->sealed_sent.step, vault->sealed_sent.down, &facts, vault->shared, vault->out,
                    vault->out_size);
  pfc_sealed_chain(vault->sealed_sent.chain, &facts, vault->shared, vault->out, vault->out_size);
}

static void run_command(struct vault *vault) {
  receive(vault, PFC_MESSAGE_COMMAND, vault->out, vault->out_size, PFC_VERDICT_ACCEPTED);
}

static void run_wrong(struct vault *vault) {
  receive(vault, PFC_MESSAGE_COMMAND, vault->out, vault->out_size, PFC_VERDICT_DEVICE_DIFFERS);
}

static void prepare_next(struct vault *vault) {
  prepare_sealed(vault);
  run_command(vault);
}

static void run_next(struct vault *vault) {
  static const uint8_t what[1] = {PFC_ASK_STATUS};
  receive(vault, PFC_MESSAGE_ASK, what, 1, PFC_VERDICT_NONE);
}

static void prepare_refused_token(struct vault *vault) {
  prepare_sealed(vault);
  vault_expect(pfc_verifier_provision(&vault->hardware, &vault->platform, 0, 0, 0) == PFC_OK, "provisioned");
  vault_expect(pfc_verifier_init(&vault->verifier, &vault->hardware, &vault->platform) == PFC_OK, "started");
}

static void run_refused_token(struct vault *vault) {
  receive(vault, PFC_MESSAGE_TOKEN, vault->sealed, sizeof vault->sealed, PFC_VERDICT_TOO_NEW);
}

const struct wipe_case wipe_sealed_cases[] = {
    {"seal hint", prepare_rest, run_hint, 1, 0, 0},
    {"sealed create", prepare_sealed, run_create, 1, 0, 0},
    {"sealed open", prepare_sealed, run_open, 1, 0, 0},
    {"sealed follow", prepare_sealed, run_follow, 1, 0, 0},
    {"verifier sealed command", prepare_sealed, run_command, 1, GONE(verifier.seal.secret)},
    {"verifier sealed command, wrong hint", prepare_wrong, run_wrong, 0, 0, 0},
    {"verifier, the message after a sealed one", prepare_next, run_next, 0, GONE(verifier.opened)},
    {"verifier token that demands sealed commands, refused", prepare_refused_token, run_refused_token, 1, 0, 0},
    {NULL, NULL, NULL, 0, 0, 0},
};
