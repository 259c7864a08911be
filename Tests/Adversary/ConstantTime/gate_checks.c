// SPDX-License-Identifier: Apache-2.0

/// Gates: the secret and its keys, the gate token, requests with a credential, compact tokens of both sides.

#include <string.h>

#include "constant_time.h"

#define NOW UINT64_C(1700000000)

static void make_keys(struct pfc_gate_keys *keys, struct pfc_compact_keys *events) {
  static const uint8_t gate_id[PFC_ID_BYTES] = "gate", instance[PFC_ID_BYTES] = "app", audience[PFC_ID_BYTES] = "shop";
  uint8_t mpk[PFC_KEY_BYTES], integrity[PFC_MEASUREMENT_BYTES], secret[PFC_GATE_SECRET_BYTES];
  struct pfc_key key = make_secret_key(mpk);
  make_secret(integrity, sizeof integrity, 2);
  expect("made", pfc_gate_secret_make(secret, &key, integrity, gate_id, instance, 5) == PFC_OK);
  expect_secret("S", secret, sizeof secret);
  pfc_gate_keys_make(keys, secret, 5);
  pfc_gate_event_keys_make(events, secret, 5, audience);
}

static void secret_and_keys(void) {
  struct pfc_gate_keys keys;
  struct pfc_compact_keys events;
  make_keys(&keys, &events);
  expect_secret("the standard form's key", keys.request, sizeof keys.request);
  expect_secret("the proof's key", keys.proof, sizeof keys.proof);
  expect_secret("the tag's key", keys.compact.tag, sizeof keys.compact.tag);
  expect_secret("the mask's key", keys.compact.mask, sizeof keys.compact.mask);
  expect_secret("the handle", keys.compact.handle, sizeof keys.compact.handle);
  expect_secret("the event's key", events.tag, sizeof events.tag);
  expect_secret("the event's mask", events.mask, sizeof events.mask);
}

static void challenge_proofs(void) {
  static const uint8_t gate_id[PFC_ID_BYTES] = "gate", id[PFC_CHALLENGE_ID_BYTES] = {0x16, 1};
  static const struct pfc_http request = {
      .method = "GET", .method_size = 3, .scheme = "https", .scheme_size = 5, .authority = "a.example",
      .authority_size = 9, .target = "/", .target_size = 1};
  struct pfc_gate_keys keys;
  struct pfc_compact_keys events;
  uint8_t proof[PFC_PROOF_BYTES];
  make_keys(&keys, &events);
  expect("made", pfc_gate_proof_make(proof, &keys, gate_id, id, &request) == PFC_OK);
  expect_secret("the proof", proof, sizeof proof);
  expect("checked", pfc_gate_proof_check(proof, &keys, gate_id, id, &request) == PFC_OK);
  proof[31] ^= 1;
  expect("refused", pfc_gate_proof_check(proof, &keys, gate_id, id, &request) == PFC_E_DIFFERS);
}

static void accounts_and_beacons(void) {
  uint8_t key[PFC_GATE_KEY_BYTES], own[32], account[PFC_DIGEST_BYTES], message[PFC_BEACON_MESSAGE_BYTES];
  static const uint8_t gate_id[PFC_ID_BYTES] = "gate";
  struct pfc_beacons beacons;
  char name[9];
  make_secret(key, sizeof key, 1);
  make_secret(name, sizeof name, 2);
  expect("an account", pfc_gate_account(account, key, name, sizeof name) == PFC_OK);
  expect_secret("the account", account, sizeof account);
  make_secret(own, sizeof own, 3);
  pfc_beacon_key(key, own, gate_id, 1);
  expect_secret("the beacon's key", key, sizeof key);
  pfc_beacon_make(message, key, NOW);
  expect_secret("the beacon", message + 5, PFC_BEACON_BYTES);
  pfc_beacons_at(&beacons, key, NOW);
  expect_secret("the valid beacons", &beacons, sizeof beacons);
}

static void make_gate(struct pfc_gate *gate, uint8_t signing_key[PFC_SIGNING_KEY_BYTES]) {
  uint8_t seed[32];
  memset(gate, 0, sizeof *gate);
  memset(gate->id, 0x47, sizeof gate->id);
  gate->mode = PFC_MODE_PRODUCTION;
  gate->key_count = gate->issuer_count = 1;
  gate->keys[0].number = 7;
  make_secret(gate->keys[0].secret_key, PFC_SECRET_KEY_BYTES, 1);
  pfc_public_key(gate->keys[0].public_key, gate->keys[0].secret_key);
  reveal(gate->keys[0].public_key, PFC_PUBLIC_KEY_BYTES);
  make_secret(seed, sizeof seed, 2);
  pfc_signing_key(gate->issuers[0].public_key, signing_key, seed);
  reveal(gate->issuers[0].public_key, PFC_PUBLIC_KEY_BYTES);
  // The second half of a signing key is the public one.
  reveal(signing_key + 32, 32);
}

static void tokens(void) {
  struct pfc_gate gate;
  struct pfc_gate_token opened, token = {.mode = PFC_MODE_PRODUCTION, .generation = 5, .issued = NOW};
  uint8_t signing_key[PFC_SIGNING_KEY_BYTES], ephemeral[32], bytes[PFC_GATE_TOKEN_BYTES];
  make_gate(&gate, signing_key);
  token.not_after = NOW + 3600;
  token.first_seen = NOW;
  memcpy(token.gate_id, gate.id, PFC_ID_BYTES);
  memset(token.instance_id, 0x49, PFC_ID_BYTES);
  token.findings[0].class_ = token.findings[0].number = 1;
  make_secret(token.secret, sizeof token.secret, 3);
  make_secret(ephemeral, sizeof ephemeral, 4);
  expect("created", pfc_gate_token_create(bytes, &token, 7, gate.keys[0].public_key, signing_key, ephemeral) == PFC_OK);
  expect_secret("the sealed body", bytes + PFC_GATE_TOKEN_HEAD_BYTES, PFC_GATE_TOKEN_BYTES - PFC_GATE_TOKEN_HEAD_BYTES);
  reveal(bytes, sizeof bytes);  // It goes over the network.
  expect("opened", pfc_gate_token_open(&opened, bytes, sizeof bytes, &gate, NOW) == PFC_REFUSAL_NONE);
  expect_secret("S", opened.secret, sizeof opened.secret);
  expect("its facts are public", opened.findings[0].class_ == 1);
  expect("expired", pfc_gate_token_open(&opened, bytes, sizeof bytes, &gate, NOW + 3601) == PFC_REFUSAL_TOKEN_EXPIRED);
  bytes[100] ^= 1;
  expect("refused", pfc_gate_token_open(&opened, bytes, sizeof bytes, &gate, NOW) == PFC_REFUSAL_TOKEN_SEAL);
}

static void requests(void) {
  char authorization[24];
  uint8_t digest[PFC_DIGEST_BYTES];
  struct pfc_http request = {.method = "GET", .method_size = 3, .scheme = "https", .scheme_size = 5,
                             .authority = "a", .authority_size = 1, .target = "/", .target_size = 1};
  make_secret(authorization, sizeof authorization, 60);
  request.authorization = authorization;
  request.authorization_size = sizeof authorization;
  make_secret(request.body_digest, sizeof request.body_digest, 2);
  expect("a digest", pfc_http_digest(digest, &request) == PFC_OK);
  expect_secret("the digest", digest, sizeof digest);
}

/// One token of this kind, made by the app and checked by the holder of the keys, intact and damaged.
static void make_and_check(uint8_t kind, struct pfc_compact_keys *keys) {
  struct pfc_compact checked, compact = {.kind = kind, .created = (uint32_t)NOW, .count = 1};
  struct pfc_compact_subject subject;
  uint8_t bytes[PFC_COMPACT_BYTES];
  // The handle is sent in the clear.
  reveal(keys->handle, sizeof keys->handle);
  make_secret(subject.account, sizeof subject.account, 3);
  make_secret(subject.digest, sizeof subject.digest, 4);
  memset(subject.body, 0x62, sizeof subject.body);
  expect("made", pfc_compact_make(bytes, &compact, &subject, keys) == PFC_OK);
  expect_secret("the masked part", bytes + PFC_COMPACT_HEAD_BYTES, PFC_COMPACT_PLAIN_BYTES);
  expect_secret("the tag", bytes + 42, PFC_COMPACT_TAG_BYTES);
  reveal(bytes, sizeof bytes);
  expect("checked", pfc_compact_check(&checked, bytes, sizeof bytes, kind, &subject, keys) == PFC_REFUSAL_NONE);
  // Where a tag differs, the first bytes of account and digest choose the word in the log.
  reveal(subject.account, 1);
  reveal(subject.digest, 1);
  for (size_t at = 42; at < sizeof bytes; at += 23) {
    bytes[at] ^= 1;
    expect("refused", pfc_compact_check(&checked, bytes, sizeof bytes, kind, &subject, keys) != PFC_REFUSAL_NONE);
    bytes[at] ^= 1;
  }
  subject.account[0] ^= 1;
  expect("another account",
         pfc_compact_check(&checked, bytes, sizeof bytes, kind, &subject, keys) == PFC_REFUSAL_OTHER_ACCOUNT);
}

static void compacts(void) {
  struct pfc_gate_keys keys;
  struct pfc_compact_keys events;
  make_keys(&keys, &events);
  make_and_check(PFC_COMPACT_REQUEST, &keys.compact);
  make_and_check(PFC_COMPACT_BODY, &keys.compact);
  make_and_check(PFC_COMPACT_EVENT, &events);
}

const struct check checks_gate[] = {
    {"gate: secret and keys", secret_and_keys},
    {"gate: proofs of challenges", challenge_proofs},
    {"gate: accounts and beacons", accounts_and_beacons},
    {"gate token: create and open", tokens},
    {"http: a request with a credential", requests},
    {"compact: make and check", compacts},
    {NULL, NULL},
};
