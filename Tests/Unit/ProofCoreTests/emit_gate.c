// SPDX-License-Identifier: Apache-2.0

/// The core's output for gates, printed for Tests/Vectors/check.py.

#include "emit.h"

#include <string.h>

#include "gate_world.h"

static struct gate_world world;

static void emit_keys(const char *comment) {
  begin_block("made_gate_keys", comment);
  field_bytes("mpk", world.mpk, sizeof world.mpk);
  field_bytes("im", world.integrity, sizeof world.integrity);
  field_bytes("gate_id", world.gate.id, PFC_ID_BYTES);
  field_bytes("instance_id", world.token.instance_id, PFC_ID_BYTES);
  field_number("generation", world.token.generation);
  field_bytes("audience", world.audience, PFC_ID_BYTES);
  field_bytes("secret", world.token.secret, PFC_GATE_SECRET_BYTES);
  field_bytes("handle", world.keys.compact.handle, PFC_HANDLE_BYTES);
  field_bytes("request_key", world.keys.request, PFC_GATE_KEY_BYTES);
  field_bytes("compact_key", world.keys.compact.tag, PFC_GATE_KEY_BYTES);
  field_bytes("mask_key", world.keys.compact.mask, PFC_GATE_KEY_BYTES);
  field_bytes("proof_key", world.keys.proof, PFC_GATE_KEY_BYTES);
  field_bytes("event_key", world.event_keys.tag, PFC_GATE_KEY_BYTES);
  field_bytes("event_mask_key", world.event_keys.mask, PFC_GATE_KEY_BYTES);
}

static void emit_beacons(void) {
  static const uint64_t times[] = {0, 299, 300, GATE_NOW, UINT32_MAX, UINT64_C(1) << 40};
  for (unsigned i = 0; i < sizeof times / sizeof times[0]; i++) {
    uint8_t own[32], key[32], message[PFC_BEACON_MESSAGE_BYTES];
    dice_fill(&world.dice, own, sizeof own);
    pfc_beacon_key(key, own, world.gate.id, (uint8_t)(3 * i));
    pfc_beacon_make(message, key, times[i]);
    begin_block("made_beacon", "a beacon");
    field_bytes("own_secret", own, sizeof own);
    field_bytes("gate_id", world.gate.id, PFC_ID_BYTES);
    field_number("number", 3 * i);
    field_number("time", times[i]);
    field_bytes("message", message, sizeof message);
  }
}

static void emit_token(const char *comment, unsigned key) {
  uint8_t bytes[PFC_GATE_TOKEN_BYTES], ephemeral[32], findings[2 * PFC_FINDINGS_MAX];
  const struct pfc_gate_token *token = &world.token;
  const struct pfc_gate_identity *identity = &world.gate.keys[key];
  dice_fill(&world.dice, ephemeral, sizeof ephemeral);
  CHECK_NUMBER(pfc_gate_token_create(bytes, token, identity->number, identity->public_key, world.issuer.signing_key,
                                     ephemeral),
               PFC_OK);
  for (unsigned i = 0; i < PFC_FINDINGS_MAX; i++) {
    findings[2 * i] = token->findings[i].class_;
    findings[2 * i + 1] = token->findings[i].number;
  }
  begin_block("made_gate_token", comment);
  field_bytes("gate_id", world.gate.id, PFC_ID_BYTES);
  field_number("key_number", identity->number);
  field_bytes("gate_secret", identity->secret_key, PFC_SECRET_KEY_BYTES);
  field_bytes("issuer_public", world.issuer.public_key, PFC_PUBLIC_KEY_BYTES);
  field_number("mode", token->mode);
  field_number("flags", token->flags);
  field_number("generation", token->generation);
  field_number("issued", token->issued);
  field_number("not_after", token->not_after);
  field_number("first_seen", token->first_seen);
  field_bytes("instance_id", token->instance_id, PFC_ID_BYTES);
  field_number("properties", token->properties);
  field_bytes("arc", token->arc, PFC_ARC_BYTES);
  field_bytes("secret", token->secret, PFC_GATE_SECRET_BYTES);
  field_bytes("findings", findings, sizeof findings);
  field_bytes("app", token->app, PFC_APP_BYTES);
  field_bytes("token", bytes, sizeof bytes);
}

static void emit_request(const char *scheme, const char *authority, const char *target, const char *authorization,
                         uint8_t digest[32]) {
  struct pfc_http request = request_of("POST", scheme, authority, target);
  authorize(&request, authorization);
  dice_fill(&world.dice, request.body_digest, sizeof request.body_digest);
  CHECK_NUMBER(pfc_http_digest(digest, &request), PFC_OK);
  begin_block("made_request", "a request");
  field_bytes("method", request.method, request.method_size);
  field_bytes("scheme", scheme, request.scheme_size);
  field_bytes("authority", authority, request.authority_size);
  field_bytes("target", target, request.target_size);
  field_bytes("authorization", authorization, request.authorization_size);
  field_bytes("body_digest", request.body_digest, sizeof request.body_digest);
  field_bytes("digest", digest, 32);
}

static void emit_compact(uint8_t kind, uint32_t count) {
  struct pfc_compact compact = compact_of(&world, kind, count);
  struct pfc_compact_subject subject;
  uint8_t bytes[PFC_COMPACT_BYTES];
  char text[PFC_COMPACT_TEXT_BYTES + 1];
  dice_fill(&world.dice, &subject, sizeof subject);
  compact.created += 97 * count;
  compact.start = (uint32_t)dice_roll(&world.dice);
  compact.account_key = (uint8_t)count;
  CHECK_NUMBER(pfc_compact_make(bytes, &compact, &subject, keys_of(&world, kind)), PFC_OK);
  pfc_compact_encode(text, bytes);
  begin_block("made_compact", "a compact token");
  field_bytes("secret", world.token.secret, PFC_GATE_SECRET_BYTES);
  field_number("generation", world.token.generation);
  field_bytes("audience", world.audience, PFC_ID_BYTES);
  field_number("kind", kind);
  field_number("account_key", compact.account_key);
  field_bytes("account", subject.account, PFC_DIGEST_BYTES);
  field_bytes("digest", subject.digest, PFC_DIGEST_BYTES);
  field_bytes("body_digest", subject.body, PFC_DIGEST_BYTES);
  field_number("created", compact.created);
  field_number("event", compact.event);
  field_number("start", compact.start);
  field_number("count", compact.count);
  field_number("flags", compact.flags);
  field_number("measured", compact.measured);
  field_bytes("beacon", compact.beacon, PFC_BEACON_BYTES);
  field_bytes("token", bytes, sizeof bytes);
  field_text("text", text);
}

void emit_gates(void) {
  uint8_t digest[32];
  for (uint64_t seed = 1; seed <= 3; seed++) {
    gate_world_make(&world, 8000 + seed);
    emit_keys("an app at a gate");
    emit_token("the first key", 0);
    emit_token("the second key", 1);
    memset(world.token.findings, 0, sizeof world.token.findings);
    memset(world.token.arc, 0, sizeof world.token.arc);
    world.token.not_after = world.token.issued + PFC_GATE_LIFE_SECONDS;
    emit_token("a day, nothing known", 0);
    for (uint8_t kind = PFC_COMPACT_REQUEST; kind <= PFC_COMPACT_EVENT; kind++) {
      for (uint32_t count = 1; count <= 4; count++) emit_compact(kind, count);
    }
  }
  emit_beacons();
  emit_request("https", "api.example.com", "/pay?to=a%20b", "Bearer x", digest);
  emit_request("http", "[::1]:8080", "/", "", digest);
  emit_request("https", "a:80", "*", "Basic \xff", digest);
}
