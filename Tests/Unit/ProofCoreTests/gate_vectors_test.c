// SPDX-License-Identifier: Apache-2.0

/// The second implementation's vectors of gates, requests and compact tokens, valid and hostile.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "vectors.h"

/// A text that a block has as bytes.
struct text {
  uint8_t bytes[1024];
  size_t size;
};

static void text_of(const struct block *block, const char *name, struct text *text) {
  text->size = block_bytes(block, name, text->bytes, sizeof text->bytes);
}

static uint32_t number32(const struct block *block, const char *name) {
  uint64_t number = block_number(block, name);
  CHECK(number <= UINT32_MAX);
  return (uint32_t)number;
}

// Gates ----------------------------------------------------------------------------------------------------------

static void judge_gate_keys(const struct block *block) {
  uint8_t mpk[16], im[32], gate_id[16], instance[16], audience[16], secret[32];
  struct pfc_key key = key_of(block, mpk, PFC_MODE_PRODUCTION);
  struct pfc_gate_keys keys;
  struct pfc_compact_keys events;
  uint32_t generation = number32(block, "generation");
  block_exactly(block, "im", im, 32);
  block_exactly(block, "gate_id", gate_id, 16);
  block_exactly(block, "instance_id", instance, 16);
  block_exactly(block, "audience", audience, 16);
  CHECK_NUMBER(pfc_gate_secret_make(secret, &key, im, gate_id, instance, generation), PFC_OK);
  check_field(block, "secret", secret, 32);
  pfc_gate_keys_make(&keys, secret, generation);
  pfc_gate_event_keys_make(&events, secret, generation, audience);
  check_field(block, "handle", keys.compact.handle, 16);
  check_field(block, "handle", events.handle, 16);
  check_field(block, "request_key", keys.request, 32);
  check_field(block, "compact_key", keys.compact.tag, 32);
  check_field(block, "mask_key", keys.compact.mask, 32);
  check_field(block, "proof_key", keys.proof, 32);
  check_field(block, "event_key", events.tag, 32);
  check_field(block, "event_mask_key", events.mask, 32);
}

static void judge_account(const struct block *block) {
  struct text name;
  uint8_t key[32], account[32];
  char characters[PFC_ACCOUNT_MAX];
  text_of(block, "name", &name);
  block_exactly(block, "account_key", key, 32);
  REQUIRE(CHECK(name.size <= sizeof characters));
  memcpy(characters, name.bytes, name.size);
  CHECK_NUMBER(pfc_gate_account(account, key, characters, name.size), PFC_OK);
  check_field(block, "account", account, 32);
}

static void judge_beacon(const struct block *block) {
  uint8_t own[32], gate_id[16], key[32], message[PFC_BEACON_MESSAGE_BYTES];
  block_exactly(block, "own_secret", own, 32);
  block_exactly(block, "gate_id", gate_id, 16);
  pfc_beacon_key(key, own, gate_id, byte_of(block, "number"));
  check_field(block, "beacon_key", key, 32);
  pfc_beacon_make(message, key, block_number(block, "time"));
  check_field(block, "message", message, sizeof message);
}

static void token_of(const struct block *block, struct pfc_gate_token *token) {
  uint8_t findings[2 * PFC_FINDINGS_MAX];
  memset(token, 0, sizeof *token);
  token->mode = byte_of(block, "mode");
  token->flags = (uint16_t)block_number(block, "flags");
  token->generation = number32(block, "generation");
  token->issued = block_number(block, "issued");
  token->not_after = block_number(block, "not_after");
  token->first_seen = block_number(block, "first_seen");
  block_exactly(block, "gate_id", token->gate_id, 16);
  block_exactly(block, "instance_id", token->instance_id, 16);
  token->properties = number32(block, "properties");
  block_exactly(block, "arc", token->arc, PFC_ARC_BYTES);
  block_exactly(block, "secret", token->secret, 32);
  block_exactly(block, "findings", findings, sizeof findings);
  for (unsigned i = 0; i < PFC_FINDINGS_MAX; i++) {
    token->findings[i] = (struct pfc_finding){findings[2 * i], findings[2 * i + 1]};
  }
  block_exactly(block, "app", token->app, PFC_APP_BYTES);
}

static void judge_gate_token(const struct block *block) {
  struct pfc_gate_token token, opened;
  struct pfc_gate gate;
  uint8_t seed[32], signing_key[64], ephemeral[32], bytes[PFC_GATE_TOKEN_BYTES];
  token_of(block, &token);
  memset(&gate, 0, sizeof gate);
  memcpy(gate.id, token.gate_id, 16);
  gate.mode = token.mode;
  gate.key_count = gate.issuer_count = 1;
  gate.keys[0].number = byte_of(block, "key_number");
  block_exactly(block, "gate_secret", gate.keys[0].secret_key, 32);
  pfc_public_key(gate.keys[0].public_key, gate.keys[0].secret_key);
  check_field(block, "gate_public", gate.keys[0].public_key, 32);
  block_exactly(block, "issuer_seed", seed, 32);
  block_exactly(block, "ephemeral_secret", ephemeral, 32);
  pfc_signing_key(gate.issuers[0].public_key, signing_key, seed);
  check_field(block, "issuer_public", gate.issuers[0].public_key, 32);
  CHECK_NUMBER(pfc_gate_check(&gate), PFC_OK);
  CHECK_NUMBER(pfc_gate_token_create(bytes, &token, gate.keys[0].number, gate.keys[0].public_key, signing_key,
                                     ephemeral),
               PFC_OK);
  check_field(block, "token", bytes, sizeof bytes);
  check_field(block, "header", bytes, PFC_GATE_TOKEN_HEAD_BYTES);
  CHECK_NUMBER(pfc_gate_token_open(&opened, bytes, sizeof bytes, &gate, token.issued), PFC_REFUSAL_NONE);
  pfc_issuer_id(token.issuer_id, gate.issuers[0].public_key);
  token.key_number = gate.keys[0].number;
  CHECK_BYTES(opened.secret, token.secret, 32);
  CHECK_BYTES(opened.findings, token.findings, sizeof token.findings);
  CHECK_BYTES(opened.issuer_id, token.issuer_id, 8);
  CHECK_NUMBER(opened.key_number, token.key_number);
}

// Requests and compact tokens ------------------------------------------------------------------------------------

static int digest_of(const struct block *block, uint8_t digest[32]) {
  static const char *const names[] = {"method", "scheme", "authority", "target", "authorization"};
  static struct text texts[5];
  static char characters[5][1024];
  struct pfc_http request;
  for (unsigned i = 0; i < 5; i++) {
    text_of(block, names[i], &texts[i]);
    memcpy(characters[i], texts[i].bytes, texts[i].size);
  }
  request = (struct pfc_http){.method = characters[0], .method_size = texts[0].size,
                              .scheme = characters[1], .scheme_size = texts[1].size,
                              .authority = characters[2], .authority_size = texts[2].size,
                              .target = characters[3], .target_size = texts[3].size,
                              .authorization = characters[4], .authorization_size = texts[4].size};
  block_exactly(block, "body_digest", request.body_digest, 32);
  return pfc_http_digest(digest, &request);
}

static void judge_request(const struct block *block) {
  uint8_t digest[32];
  CHECK_NUMBER(digest_of(block, digest), PFC_OK);
  check_field(block, "digest", digest, 32);
}

static struct pfc_compact_subject subject_from(const struct block *block) {
  struct pfc_compact_subject subject;
  block_exactly(block, "account", subject.account, 32);
  block_exactly(block, "digest", subject.digest, 32);
  block_exactly(block, "body_digest", subject.body, 32);
  return subject;
}

static struct pfc_compact_keys keys_from(const struct block *block) {
  uint8_t secret[32], audience[16];
  uint32_t generation = number32(block, "generation");
  struct pfc_gate_keys keys;
  block_exactly(block, "secret", secret, 32);
  block_exactly(block, "audience", audience, 16);
  pfc_gate_keys_make(&keys, secret, generation);
  if (block_number(block, "kind") == PFC_COMPACT_EVENT) {
    pfc_gate_event_keys_make(&keys.compact, secret, generation, audience);
  }
  return keys.compact;
}

static void check_text(const struct block *block, const uint8_t bytes[PFC_COMPACT_BYTES]) {
  char text[PFC_COMPACT_TEXT_BYTES + 1];
  pfc_compact_encode(text, bytes);
  CHECK_NUMBER(strcmp(text, block_word(block, "text")), 0);
}

static void judge_compact(const struct block *block) {
  struct pfc_compact compact, checked;
  struct pfc_compact_subject subject = subject_from(block);
  struct pfc_compact_keys keys = keys_from(block);
  uint8_t bytes[PFC_COMPACT_BYTES];
  memset(&compact, 0, sizeof compact);
  compact.kind = byte_of(block, "kind");
  compact.account_key = byte_of(block, "account_key");
  compact.created = number32(block, "created");
  compact.event = (uint16_t)block_number(block, "event");
  compact.start = number32(block, "start");
  compact.count = number32(block, "count");
  compact.flags = byte_of(block, "flags");
  compact.measured = byte_of(block, "measured");
  block_exactly(block, "beacon", compact.beacon, PFC_BEACON_BYTES);
  CHECK_NUMBER(pfc_compact_make(bytes, &compact, &subject, &keys), PFC_OK);
  check_field(block, "token", bytes, sizeof bytes);
  check_field(block, "tag", bytes + 42, PFC_COMPACT_TAG_BYTES);
  check_text(block, bytes);
  CHECK_NUMBER(pfc_compact_check(&checked, bytes, sizeof bytes, compact.kind, &subject, &keys),
               (compact.flags & PFC_COMPACT_ERROR) != 0 ? PFC_REFUSAL_ERROR_STATE : PFC_REFUSAL_NONE);
  CHECK_COUNT(checked.created, compact.created);
  CHECK_NUMBER(checked.event, compact.event);
  CHECK_COUNT(checked.start, compact.start);
  CHECK_COUNT(checked.count, compact.count);
  CHECK_NUMBER(checked.measured, compact.measured);
  CHECK_BYTES(checked.beacon, compact.beacon, PFC_BEACON_BYTES);
}

static void judge_error_token(const struct block *block) {
  uint8_t random[48], bytes[PFC_COMPACT_BYTES];
  block_exactly(block, "random", random, sizeof random);
  CHECK_NUMBER(pfc_compact_make_error(bytes, byte_of(block, "kind"), byte_of(block, "cause"), random), PFC_OK);
  check_field(block, "token", bytes, sizeof bytes);
  check_text(block, bytes);
}

// Hostile cases --------------------------------------------------------------------------------------------------

/// The number of a refusal; 0 for a case that is none.
static int expected_refusal(const struct block *block) {
  const char *word = block_word(block, "refusal");
  uint64_t number = 0;
  if (strcmp(word, "none") != 0) CHECK(parse_number(word, &number) && number != 0);
  CHECK_NUMBER(strcmp(block_word(block, "result"), "valid") == 0, number == 0);
  return (int)number;
}

static void judge_open_gate_token(const struct block *block) {
  static uint8_t bytes[1024];
  size_t size = block_bytes(block, "token", bytes, sizeof bytes), written;
  struct pfc_gate gate;
  struct pfc_gate_token token;
  int expected = expected_refusal(block);
  memset(&gate, 0, sizeof gate);
  block_exactly(block, "gate_id", gate.id, 16);
  gate.mode = byte_of(block, "mode");
  gate.floor = block_number(block, "floor");
  for (size_t i = 0; i < block->count; i++) {
    const char *value = block->fields[i].value;
    if (strcmp(block->fields[i].name, "gate_key") == 0) {
      struct pfc_gate_identity *key = &gate.keys[gate.key_count];
      uint64_t number = 0;
      REQUIRE(CHECK(gate.key_count < PFC_GATE_KEYS_MAX && parse_number(value, &number)));
      key->number = (uint8_t)number;
      CHECK(parse_bytes(strchr(value, ' ') + 1, key->secret_key, 32, &written));
      pfc_public_key(key->public_key, key->secret_key);
      gate.key_count++;
    } else if (strcmp(block->fields[i].name, "issuer") == 0) {
      REQUIRE(CHECK(gate.issuer_count < PFC_ISSUERS_MAX));
      CHECK(parse_bytes(value, gate.issuers[gate.issuer_count++].public_key, 32, &written));
    }
  }
  memset(&token, 0xa5, sizeof token);
  CHECK_NUMBER(pfc_gate_token_open(&token, bytes, size, &gate, block_number(block, "now")), expected);
  if (expected != 0) CHECK_ZEROS(&token, sizeof token);
}

/// The result that a word of a decoder means.
static int expected_result(const struct block *block) {
  const char *word = block_word(block, "refusal");
  if (strcmp(word, "none") == 0) return PFC_OK;
  return strcmp(word, "too-new") == 0 ? PFC_E_TOO_NEW : PFC_E_MALFORMED;
}

static void judge_read_beacon(const struct block *block) {
  uint8_t message[64], beacon[PFC_BEACON_BYTES];
  uint32_t interval;
  size_t size = block_bytes(block, "message", message, sizeof message);
  CHECK_NUMBER(pfc_beacon_read(beacon, &interval, message, size), expected_result(block));
}

static void judge_read_request(const struct block *block) {
  uint8_t digest[32];
  CHECK_NUMBER(digest_of(block, digest), expected_result(block));
}

static void judge_check_compact(const struct block *block) {
  const char *text = block_word(block, "text");
  struct pfc_compact_subject subject = subject_from(block);
  struct pfc_compact_keys keys = keys_from(block);
  struct pfc_compact compact;
  struct pfc_compact_rules rules;
  uint8_t bytes[PFC_COMPACT_BYTES], beacon_key[32];
  enum pfc_refusal refusal = pfc_compact_decode(bytes, text, strlen(text));
  block_exactly(block, "beacon_key", beacon_key, 32);
  memset(&rules, 0, sizeof rules);
  rules.now = block_number(block, "now");
  rules.window = number32(block, "window");
  rules.newest = number32(block, "newest");
  rules.event = (uint16_t)block_number(block, "event");
  rules.measured_max = byte_of(block, "measured_max");
  rules.unanchored = byte_of(block, "unanchored");
  pfc_beacons_at(&rules.beacons, beacon_key, rules.now);
  if (refusal == PFC_REFUSAL_NONE) {
    refusal = pfc_compact_check(&compact, bytes, sizeof bytes, byte_of(block, "kind"), &subject, &keys);
  }
  if (refusal == PFC_REFUSAL_NONE) refusal = pfc_compact_judge(&compact, &rules);
  CHECK_NUMBER(refusal, expected_refusal(block));
}

static void valid_files(void) {
  static const struct judge gates[] = {{"gate_keys", judge_gate_keys},
                                       {"account", judge_account},
                                       {"beacon", judge_beacon},
                                       {"gate_token", judge_gate_token}};
  static const struct judge requests[] = {{"request", judge_request}};
  static const struct judge compacts[] = {{"compact", judge_compact}, {"error_token", judge_error_token}};
  JUDGE_FILE("gate.txt", gates);
  JUDGE_FILE("request.txt", requests);
  JUDGE_FILE("compact.txt", compacts);
}

static void gate_file(void) {
  static const struct judge judges[] = {{"open_gate_token", judge_open_gate_token}, {"read_beacon", judge_read_beacon}};
  JUDGE_FILE("hostile_gate.txt", judges);
}

static void request_file(void) {
  static const struct judge judges[] = {{"read_request", judge_read_request}};
  JUDGE_FILE("hostile_request.txt", judges);
}

static void compact_file(void) {
  static const struct judge judges[] = {{"check_compact", judge_check_compact}};
  JUDGE_FILE("hostile_compact.txt", judges);
}

static const struct test tests[] = {
    TEST("keys, tokens, requests and compact tokens are the second implementation's", valid_files),
    TEST("hostile gate tokens and beacons are refused for the right reason", gate_file),
    TEST("hostile spellings of requests are refused", request_file),
    TEST("hostile compact tokens are refused for the right reason", compact_file),
};

const struct suite gate_vectors_suite = SUITE("gate vectors", tests);
