// SPDX-License-Identifier: Apache-2.0

/// The handling of a gate's secrets in app, service and gate.

#include <string.h>

#include "wipe.h"

#define NOW UINT64_C(1700000000)

// The secret and its keys ----------------------------------------------------------------------------------------

/// MPK, IM, and what S is made of. The salt stands for the gate's id, the nonce for the instance's.
static void need_secret(struct vault *vault) {
  uint8_t both[PFC_KEY_BYTES + 32];
  vault_fill(vault->mpk, sizeof vault->mpk, 1);
  vault->key = pfc_key_plain(vault->mpk, PFC_MODE_PRODUCTION);
  vault_fill(vault->salt, sizeof vault->salt, 2);
  vault_fill(vault->measured.integrity, sizeof vault->measured.integrity, 3);
  vault_fill(vault->nonce, sizeof vault->nonce, 4);
  needle_add_mac_key("MPK", vault->mpk, sizeof vault->mpk);
  needle_add("IM", vault->measured.integrity, sizeof vault->measured.integrity);
  needle_add_derived("K_gate", PFC_LABEL_GATE_KEY, vault->mpk, PFC_KEY_BYTES, vault->salt, PFC_ID_BYTES);
  needle_add_derived("IM_gate", PFC_LABEL_GATE_IM, vault->measured.integrity, 32, vault->salt, PFC_ID_BYTES);
  pfc_derive(both, PFC_LABEL_GATE_KEY, vault->mpk, PFC_KEY_BYTES, vault->salt, PFC_ID_BYTES);
  pfc_derive(both + PFC_KEY_BYTES, PFC_LABEL_GATE_IM, vault->measured.integrity, 32, vault->salt, PFC_ID_BYTES);
  needle_add("K_gate and IM_gate", both, sizeof both);
}

static void run_secret(struct vault *vault) {
  vault_expect(pfc_gate_secret_make(vault->out, &vault->key, vault->measured.integrity, vault->salt, vault->nonce, 5) ==
                   PFC_OK,
               "made");
}

static void prepare_keys(struct vault *vault) {
  uint8_t *s = vault->gate_token.secret;
  vault_fill(s, PFC_GATE_SECRET_BYTES, 30);
  vault_fill(vault->nonce, sizeof vault->nonce, 31);
  needle_add_derived("request key", PFC_LABEL_REQUEST_KEY, s, 32, NULL, 0);
  needle_add_derived("proof key", PFC_LABEL_GATE_PROOF_KEY, s, 32, NULL, 0);
  needle_add_derived("compact key", PFC_LABEL_COMPACT_KEY, s, 32, NULL, 0);
  needle_add_derived("mask key", PFC_LABEL_MASK_KEY, s, 32, NULL, 0);
  needle_add_derived("event key", PFC_LABEL_EVENT_KEY, s, 32, vault->nonce, 16);
  needle_add_derived("event mask key", PFC_LABEL_MASK_KEY, s, 32, vault->nonce, 16);
}

static void run_keys(struct vault *vault) {
  pfc_gate_keys_make(&vault->gate_keys, vault->gate_token.secret, 5);
  pfc_gate_event_keys_make(&vault->event_keys, vault->gate_token.secret, 5, vault->nonce);
}

static void prepare_account(struct vault *vault) {
  vault_fill(vault->record_key, sizeof vault->record_key, 32);
  needle_add_mac_key("account key", vault->record_key, sizeof vault->record_key);
  vault_fill(vault->text, sizeof vault->text, 33);
}

static void run_account(struct vault *vault) {
  vault_expect(pfc_gate_account(vault->out, vault->record_key, vault->text, 20) == PFC_OK, "made");
}

static void prepare_beacon(struct vault *vault) {
  uint8_t info[PFC_ID_BYTES + 1];
  vault_fill(vault->seed, sizeof vault->seed, 34);
  memcpy(info, vault->salt, PFC_ID_BYTES);
  info[PFC_ID_BYTES] = 1;
  needle_add_derived("beacon key", PFC_LABEL_BEACON_KEY, vault->seed, 32, info, sizeof info);
}

static void run_beacon(struct vault *vault) {
  pfc_beacon_key(vault->record_key, vault->seed, vault->salt, 1);
  pfc_beacon_make(vault->out, vault->record_key, NOW);
}

// The gate token -------------------------------------------------------------------------------------------------

static void create(struct vault *vault) {
  vault_expect(pfc_gate_token_create(vault->gate_sealed, &vault->gate_token, 7, vault->gate.keys[0].public_key,
                                     vault->signing_key, vault->ephemeral) == PFC_OK,
               "created");
}

/// The cases of X25519, the box and Ed25519 are in wipe_hardware.c.
static void prepare_token(struct vault *vault) {
  struct pfc_gate *gate = &vault->gate;
  struct pfc_gate_token *token = &vault->gate_token;
  vault_fill(gate->id, PFC_ID_BYTES, 35);
  gate->mode = PFC_MODE_PRODUCTION;
  gate->key_count = gate->issuer_count = 1;
  gate->keys[0].number = 7;
  vault_fill(gate->keys[0].secret_key, PFC_SECRET_KEY_BYTES, 36);
  pfc_public_key(gate->keys[0].public_key, gate->keys[0].secret_key);
  vault_fill(vault->seed, sizeof vault->seed, 37);
  pfc_signing_key(gate->issuers[0].public_key, vault->signing_key, vault->seed);
  vault_fill(vault->ephemeral, sizeof vault->ephemeral, 38);
  token->mode = PFC_MODE_PRODUCTION;
  token->generation = 5;
  token->issued = token->not_after = token->first_seen = NOW;
  memcpy(token->gate_id, gate->id, PFC_ID_BYTES);
  vault_fill(token->instance_id, PFC_ID_BYTES, 39);
  vault_fill(token->secret, PFC_GATE_SECRET_BYTES, 40);
  needle_add_mac_key("S", token->secret, PFC_GATE_SECRET_BYTES);
  create(vault);
}

static void run_open(struct vault *vault) {
  vault_expect(pfc_gate_token_open(&vault->gate_opened, vault->gate_sealed, sizeof vault->gate_sealed, &vault->gate,
                                   NOW) == PFC_REFUSAL_NONE,
               "opened");
}

/// Opened, and then found to be over.
static void run_refused(struct vault *vault) {
  vault_expect(pfc_gate_token_open(&vault->gate_opened, vault->gate_sealed, sizeof vault->gate_sealed, &vault->gate,
                                   NOW + 1) == PFC_REFUSAL_TOKEN_EXPIRED,
               "refused");
}

// Requests and compact tokens ------------------------------------------------------------------------------------

static void prepare_http(struct vault *vault) {
  struct pfc_http *http = &vault->http;
  uint8_t digest[32];
  struct pfc_hash hash;
  http->method = "GET", http->method_size = 3;
  http->scheme = "https", http->scheme_size = 5;
  http->authority = "a", http->authority_size = 1;
  http->target = "/", http->target_size = 1;
  for (size_t i = 0; i < sizeof vault->text; i++) vault->text[i] = (char)('A' + (i * 7 + i / 5) % 50);
  http->authorization = vault->text, http->authorization_size = sizeof vault->text;
  needle_add("the credential", vault->text, sizeof vault->text);
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, vault->text, sizeof vault->text);
  pfc_hash_final(digest, &hash);
  needle_add("the credential's digest", digest, sizeof digest);
}

static void run_http(struct vault *vault) {
  vault_expect(pfc_http_digest(vault->out, &vault->http) == PFC_OK, "a digest");
}

static void make(struct vault *vault, uint8_t bytes[PFC_COMPACT_BYTES]) {
  vault_expect(pfc_compact_make(bytes, &vault->compact, &vault->subject, &vault->event_keys) == PFC_OK, "made");
}

/// The keys, the fields, the mask, and account and digest, which nothing on the wire tells.
static void prepare_compact(struct vault *vault) {
  uint8_t message[PFC_LABEL_BYTES + PFC_COMPACT_TAG_BYTES], mask[32], plain[PFC_COMPACT_PLAIN_BYTES];
  struct pfc_compact_keys *keys = &vault->event_keys;
  vault_fill(keys, sizeof *keys, 41);
  keys->event = 1;
  needle_add_mac_key("tag key", keys->tag, sizeof keys->tag);
  needle_add_mac_key("mask key", keys->mask, sizeof keys->mask);
  vault_fill(&vault->compact, sizeof vault->compact, 42);
  vault->compact.kind = PFC_COMPACT_EVENT;
  vault->compact.flags = 0;
  vault_fill(&vault->subject, sizeof vault->subject, 43);
  needle_add("account", vault->subject.account, PFC_DIGEST_BYTES);
  needle_add("digest", vault->subject.digest, PFC_DIGEST_BYTES);
  make(vault, vault->out);
  memcpy(message, PFC_LABEL_MASK, PFC_LABEL_BYTES);
  memcpy(message + PFC_LABEL_BYTES, vault->out + 42, PFC_COMPACT_TAG_BYTES);
  pfc_mac_once(mask, keys->mask, PFC_GATE_KEY_BYTES, message, sizeof message);
  for (unsigned i = 0; i < sizeof plain; i++) plain[i] = vault->out[PFC_COMPACT_HEAD_BYTES + i] ^ mask[i];
  needle_add("the fields", plain, sizeof plain);
  needle_add("the mask", mask, sizeof mask);
}

static void run_compact_make(struct vault *vault) { make(vault, vault->out); }

/// For other data than the checker has: the tag that it expects was never sent.
static void prepare_compact_check(struct vault *vault) {
  prepare_compact(vault);
  vault->subject.digest[31] ^= 1;
  make(vault, vault->sealed);
  needle_add("the expected tag", vault->sealed + 42, PFC_COMPACT_TAG_BYTES);
}

static void run_compact_check(struct vault *vault) {
  vault_expect(pfc_compact_check(&vault->compact, vault->out, PFC_COMPACT_BYTES, PFC_COMPACT_EVENT, &vault->subject,
                                 &vault->event_keys) == PFC_REFUSAL_TAG,
               "refused");
}

/// Another proof than the checker expects: the expected one was never sent. The salt stands for the gate's id, the text
/// for the challenge's.
static void prepare_gate_proof(struct vault *vault) {
  struct pfc_http *http = &vault->http;
  vault_fill(vault->gate_token.secret, PFC_GATE_SECRET_BYTES, 43);
  vault_fill(vault->salt, sizeof vault->salt, 44);
  vault_fill(vault->text, sizeof vault->text, 45);
  http->method = "GET", http->method_size = 3;
  http->scheme = "https", http->scheme_size = 5;
  http->authority = "a", http->authority_size = 1;
  http->target = "/", http->target_size = 1;
  pfc_gate_keys_make(&vault->gate_keys, vault->gate_token.secret, 5);
  needle_add_mac_key("proof key", vault->gate_keys.proof, PFC_GATE_KEY_BYTES);
  vault_expect(pfc_gate_proof_make(vault->out, &vault->gate_keys, vault->salt, (const uint8_t *)vault->text, http) ==
                   PFC_OK,
               "made");
  needle_add("the expected proof", vault->out, PFC_PROOF_BYTES);
  memset(vault->out, 0, PFC_PROOF_BYTES);
}

static void run_gate_proof_check(struct vault *vault) {
  vault_expect(pfc_gate_proof_check(vault->out, &vault->gate_keys, vault->salt, (const uint8_t *)vault->text,
                                    &vault->http) == PFC_E_DIFFERS,
               "refused");
}

const struct wipe_case wipe_gate_cases[] = {
    {"gate secret", need_secret, run_secret, 1, 0, 0},
    {"gate keys", prepare_keys, run_keys, 0, 0, 0},
    {"account", prepare_account, run_account, 0, 0, 0},
    {"beacon", prepare_beacon, run_beacon, 0, 0, 0},
    {"gate token: create", prepare_token, create, 1, 0, 0},
    {"gate token: open", prepare_token, run_open, 1, 0, 0},
    {"gate token: opened and refused", prepare_token, run_refused, 1, GONE(gate_opened)},
    {"http: a request with a credential", prepare_http, run_http, 0, 0, 0},
    {"compact: make", prepare_compact, run_compact_make, 0, 0, 0},
    {"compact: check", prepare_compact_check, run_compact_check, 1, 0, 0},
    {"gate proof: check", prepare_gate_proof, run_gate_proof_check, 1, 0, 0},
    {NULL, NULL, NULL, 0, 0, 0},
};
