// SPDX-License-Identifier: Apache-2.0

#include "gate_world.h"

#include <string.h>

void gate_world_make(struct gate_world *world, uint64_t seed) {
  static const char arc[] = "ABCXYZ2347";
  uint8_t own_secret[32];
  memset(world, 0, sizeof *world);
  world->dice.state = seed;
  issuer_make(&world->issuer, seed + 1000);
  dice_fill(&world->dice, world->gate.id, PFC_ID_BYTES);
  world->gate.mode = PFC_MODE_PRODUCTION;
  world->gate.key_count = 2;
  for (unsigned i = 0; i < 2; i++) {
    world->gate.keys[i].number = (uint8_t)(7 + i);
    dice_fill(&world->dice, world->gate.keys[i].secret_key, 32);
    pfc_public_key(world->gate.keys[i].public_key, world->gate.keys[i].secret_key);
  }
  world->gate.issuer_count = 1;
  memcpy(world->gate.issuers[0].public_key, world->issuer.public_key, 32);
  dice_fill(&world->dice, world->mpk, PFC_KEY_BYTES);
  world->key = pfc_key_plain(world->mpk, PFC_MODE_PRODUCTION);
  dice_fill(&world->dice, world->integrity, PFC_MEASUREMENT_BYTES);
  dice_fill(&world->dice, world->audience, PFC_ID_BYTES);
  dice_fill(&world->dice, own_secret, sizeof own_secret);
  pfc_beacon_key(world->beacon_key, own_secret, world->gate.id, 1);

  world->token.mode = PFC_MODE_PRODUCTION;
  world->token.flags = PFC_GATE_FAILED;
  world->token.generation = 0x12345;
  world->token.issued = GATE_NOW;
  world->token.not_after = GATE_NOW + 3600;
  world->token.first_seen = GATE_NOW - 86400;
  memcpy(world->token.gate_id, world->gate.id, PFC_ID_BYTES);
  dice_fill(&world->dice, world->token.instance_id, PFC_ID_BYTES);
  world->token.properties = 0x80000401;
  memcpy(world->token.arc, arc, PFC_ARC_BYTES);
  world->token.findings[0] = (struct pfc_finding){2, 5};
  world->token.findings[1] = (struct pfc_finding){3, 1};
  dice_fill(&world->dice, world->token.app, PFC_APP_BYTES);
  CHECK_NUMBER(pfc_gate_secret_make(world->token.secret, &world->key, world->integrity, world->gate.id,
                                    world->token.instance_id, world->token.generation),
               PFC_OK);
  pfc_gate_keys_make(&world->keys, world->token.secret, world->token.generation);
  pfc_gate_event_keys_make(&world->event_keys, world->token.secret, world->token.generation, world->audience);
}

void gate_forge_parts(uint8_t head[8], uint8_t body[168], const struct pfc_gate_token *token, uint8_t key_number,
                      const struct issuer *issuer) {
  memcpy(head, "PG\x01\x01", 4);
  head[4] = key_number;
  memcpy(head + 5, token->gate_id, 3);
  memset(body, 0, 168);
  body[0] = token->mode;
  body[1] = 3;
  put16(body + 2, token->flags);
  put32(body + 4, token->generation);
  put64(body + 8, token->issued);
  put64(body + 16, token->not_after);
  put64(body + 24, token->first_seen);
  memcpy(body + 32, token->gate_id, 16);
  memcpy(body + 48, token->instance_id, 16);
  pfc_issuer_id(body + 64, issuer->public_key);
  put32(body + 72, token->properties);
  memcpy(body + 76, token->arc, 10);
  memcpy(body + 88, token->secret, 32);
  for (unsigned i = 0; i < 16; i++) {
    body[120 + 2 * i] = token->findings[i].class_;
    body[121 + 2 * i] = token->findings[i].number;
  }
  memcpy(body + 152, token->app, 16);
}

void gate_forge(uint8_t bytes[288], const uint8_t head[8], const uint8_t body[168], const char *label,
                const uint8_t signed_for[32], const uint8_t sealed_to[32], const struct issuer *issuer) {
  uint8_t message[16 + 32 + 8 + 168], plain[168 + 64] = {0}, ephemeral[32];
  memset(ephemeral, 0x5a, sizeof ephemeral);
  memcpy(message, label, 16);
  memcpy(message + 16, signed_for, 32);
  memcpy(message + 48, head, 8);
  memcpy(message + 56, body, 168);
  memcpy(plain, body, 168);
  if (issuer != NULL) pfc_sign(plain + 168, message, sizeof message, issuer->signing_key);
  memcpy(bytes, head, 8);
  CHECK_NUMBER(pfc_seal(bytes + 8, plain, sizeof plain, sealed_to, ephemeral), PFC_OK);
}

struct pfc_compact compact_of(const struct gate_world *world, uint8_t kind, uint32_t count) {
  struct pfc_compact compact;
  uint8_t message[PFC_BEACON_MESSAGE_BYTES];
  uint32_t interval;
  memset(&compact, 0, sizeof compact);
  compact.kind = kind;
  compact.account_key = 3;
  compact.created = (uint32_t)GATE_NOW;
  compact.event = kind == PFC_COMPACT_EVENT ? GATE_EVENT : 0;
  compact.start = 0x89abcdef;
  compact.count = count;
  compact.flags = PFC_COMPACT_YOUNG;
  compact.measured = 9;
  pfc_beacon_make(message, world->beacon_key, GATE_NOW);
  CHECK_NUMBER(pfc_beacon_read(compact.beacon, &interval, message, sizeof message), PFC_OK);
  return compact;
}

struct pfc_compact_subject subject_of(uint8_t kind) {
  struct pfc_compact_subject subject;
  memset(subject.account, 0x10 + kind, sizeof subject.account);
  memset(subject.digest, 0x20 + kind, sizeof subject.digest);
  memset(subject.body, 0x30 + kind, sizeof subject.body);
  return subject;
}

const struct pfc_compact_keys *keys_of(const struct gate_world *world, uint8_t kind) {
  return kind == PFC_COMPACT_EVENT ? &world->event_keys : &world->keys.compact;
}

struct pfc_compact_rules rules_of(const struct gate_world *world, uint8_t kind) {
  struct pfc_compact_rules rules;
  memset(&rules, 0, sizeof rules);
  rules.now = GATE_NOW;
  rules.window = PFC_COMPACT_WINDOW_SECONDS;
  rules.event = kind == PFC_COMPACT_EVENT ? GATE_EVENT : 0;
  rules.measured_max = 10;
  pfc_beacons_at(&rules.beacons, world->beacon_key, GATE_NOW);
  return rules;
}

void compact_forge(uint8_t made[66], uint8_t kind, const uint8_t plain[24], const struct pfc_compact_subject *subject,
                   const struct pfc_compact_keys *keys, unsigned at, uint8_t change) {
  static const char *const labels[] = {"pfc1.mac-request", "pfc1.mac-body...", "pfc1.mac-event.."};
  uint8_t message[122], mask[40], full[32];
  struct pfc_mac mac;
  made[0] = (uint8_t)(0x10 + kind);
  made[1] = 3;
  memcpy(made + 2, keys->handle, 16);
  memcpy(message, labels[kind - 1], 16);
  memcpy(message + 16, made, 18);
  memcpy(message + 34, plain, 24);
  memcpy(message + 58, subject->account, 32);
  memcpy(message + 90, subject->digest, 32);
  pfc_mac_init(&mac, keys->tag, 32);
  pfc_mac_update(&mac, message, sizeof message);
  pfc_mac_final(full, &mac);
  memcpy(made + 42, full, 24);
  made[42 + at] ^= change;
  memcpy(mask, "pfc1.mask.......", 16);
  memcpy(mask + 16, made + 42, 24);
  pfc_mac_init(&mac, keys->mask, 32);
  pfc_mac_update(&mac, mask, sizeof mask);
  pfc_mac_final(full, &mac);
  for (unsigned i = 0; i < 24; i++) made[18 + i] = plain[i] ^ full[i];
}

struct pfc_http request_of(const char *method, const char *scheme, const char *authority, const char *target) {
  struct pfc_http request;
  memset(&request, 0, sizeof request);
  request.method = method;
  request.method_size = strlen(method);
  request.scheme = scheme;
  request.scheme_size = strlen(scheme);
  request.authority = authority;
  request.authority_size = strlen(authority);
  request.target = target;
  request.target_size = strlen(target);
  memset(request.body_digest, 0x42, sizeof request.body_digest);
  return request;
}

void authorize(struct pfc_http *request, const char *text) {
  request->authorization = text;
  request->authorization_size = strlen(text);
}
