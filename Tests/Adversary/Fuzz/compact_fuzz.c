// SPDX-License-Identifier: Apache-2.0

/// Compact tokens: raw texts, raw bytes, and plain parts that the harness tags and masks. base64url beside them.
///
/// Oracles: a second reading of docs/SPEC.md, section 15, gives the same refusal; what is checked can be made again,
/// byte for byte; a text that decodes encodes to itself; a refused token leaves all zeros.

#include <stdlib.h>

#include "fuzz.h"

#define NOW UINT32_C(1700000000)

static struct pfc_gate_keys request_keys;
static struct pfc_compact_keys event_keys;

static const struct pfc_compact_keys *keys_of(uint8_t kind) {
  static const uint8_t secret[PFC_GATE_SECRET_BYTES] = "S of one app at one gate", audience[PFC_ID_BYTES] = "shop";
  if (event_keys.event == 0) {
    pfc_gate_keys_make(&request_keys, secret, 0x10005);
    pfc_gate_event_keys_make(&event_keys, secret, 0x10005, audience);
  }
  return kind == PFC_COMPACT_EVENT ? &event_keys : &request_keys.compact;
}

static void hmac(uint8_t tag[24], const uint8_t key[32], const uint8_t *message, size_t size) {
  uint8_t full[32];
  struct pfc_mac mac;
  pfc_mac_init(&mac, key, 32);
  pfc_mac_update(&mac, message, size);
  pfc_mac_final(full, &mac);
  memcpy(tag, full, 24);
}

/// A token of any plain part, by the letter of the page.
static void forge(uint8_t bytes[66], uint8_t kind, uint8_t account_key, const uint8_t plain[24],
                  const struct pfc_compact_subject *subject) {
  static const char *const labels[] = {PFC_LABEL_COMPACT_REQUEST, PFC_LABEL_COMPACT_BODY, PFC_LABEL_COMPACT_EVENT};
  const struct pfc_compact_keys *keys = keys_of(kind);
  uint8_t message[122], mask[40], stream[24];
  bytes[0] = (uint8_t)(0x10 + kind);
  bytes[1] = account_key;
  memcpy(bytes + 2, keys->handle, 16);
  memcpy(message, labels[kind - 1], 16);
  memcpy(message + 16, bytes, 18);
  memcpy(message + 34, plain, 24);
  memcpy(message + 58, subject->account, 32);
  memcpy(message + 90, subject->digest, 32);
  hmac(bytes + 42, keys->tag, message, sizeof message);
  memcpy(mask, PFC_LABEL_MASK, 16);
  memcpy(mask + 16, bytes + 42, 24);
  hmac(stream, keys->mask, mask, sizeof mask);
  for (int i = 0; i < 24; i++) bytes[18 + i] = plain[i] ^ stream[i];
}

/// A checker's answer to a rightly tagged plain part.
static enum pfc_refusal expected(uint8_t kind, const uint8_t plain[24], const struct pfc_compact_subject *subject) {
  uint16_t event = fuzz_get16(plain + 4);
  if (plain[14] > 3 || fuzz_get32(plain) == 0 || fuzz_get32(plain + 10) == 0) return PFC_REFUSAL_RESERVED;
  if (kind == 1 && memcmp(plain + 4, subject->body, 2) != 0) return PFC_REFUSAL_RESERVED;
  if (kind == 2 && event != 0) return PFC_REFUSAL_RESERVED;
  if (fuzz_get16(plain + 22) != 5) return PFC_REFUSAL_GENERATION;
  return (plain[14] & 1) != 0 ? PFC_REFUSAL_ERROR_STATE : PFC_REFUSAL_NONE;
}

static enum pfc_refusal check(struct pfc_compact *compact, const uint8_t *bytes, size_t size, uint8_t kind,
                              const struct pfc_compact_subject *subject) {
  uint8_t *copy = fuzz_copy(bytes, size);
  memset(compact, 0xEE, sizeof *compact);
  enum pfc_refusal refusal = pfc_compact_check(compact, copy, size, kind, subject, keys_of(kind));
  if (refusal != PFC_REFUSAL_NONE && refusal != PFC_REFUSAL_ERROR_STATE) {
    REQUIRE(fuzz_all(compact, sizeof *compact, 0));
  }
  free(copy);
  return refusal;
}

static enum pfc_refusal judged(const struct pfc_compact *c, const struct pfc_compact_rules *r) {
  int64_t age = (int64_t)r->now - (int64_t)c->created;
  int anchored = 0;
  for (int i = 0; i < 4; i++) anchored |= memcmp(c->beacon, r->beacons.valid[i], 4) == 0;
  if (c->flags & 1) return PFC_REFUSAL_ERROR_STATE;
  if (c->event != r->event) return PFC_REFUSAL_EVENT;
  if (-age > (int64_t)r->window) return PFC_REFUSAL_AHEAD;
  if (age > (int64_t)r->window) return PFC_REFUSAL_STALE;
  if (r->unanchored != 1 && (!anchored || fuzz_all(c->beacon, 4, 0))) return PFC_REFUSAL_UNANCHORED;
  if (c->measured > r->measured_max) return PFC_REFUSAL_MEASURED;
  return (int64_t)r->newest - (int64_t)c->count >= 64 ? PFC_REFUSAL_KEPT : PFC_REFUSAL_NONE;
}

static void check_judgement(struct fuzz_input *input, const struct pfc_compact *compact) {
  struct pfc_compact_rules rules = {.now = NOW, .window = 60, .measured_max = 10, .event = compact->event};
  memset(&rules.beacons, 0xBE, sizeof rules.beacons);
  rules.now += (uint64_t)(int64_t)(int16_t)fuzz_u16(input);
  rules.window ^= fuzz_u32(input);
  rules.newest = fuzz_u32(input);
  rules.event ^= fuzz_u16(input);
  rules.measured_max ^= fuzz_u8(input);
  rules.unanchored = fuzz_u8(input);
  fuzz_xor(input, rules.beacons.valid[2], 4);
  REQUIRE(pfc_compact_judge(compact, &rules) == judged(compact, &rules));
}

static void check_made(struct fuzz_input *input) {
  struct pfc_compact_subject subject;
  struct pfc_compact compact;
  uint8_t plain[24] = {0}, bytes[66], again[66];
  uint8_t kind = (uint8_t)(1 + fuzz_u8(input) % 3);
  memset(&subject, 0x5A, sizeof subject);
  fuzz_put32(plain, NOW);
  if (kind == 1) memcpy(plain + 4, subject.body, 2);
  fuzz_put32(plain + 10, 1);
  memset(plain + 16, 0x5A, 2);
  memset(plain + 18, 0xBE, 4);
  plain[22] = 5;
  fuzz_xor(input, plain, sizeof plain);
  forge(bytes, kind, 3, plain, &subject);
  enum pfc_refusal refusal = check(&compact, bytes, sizeof bytes, kind, &subject);
  REQUIRE(refusal == expected(kind, plain, &subject));
  if (refusal == PFC_REFUSAL_NONE || refusal == PFC_REFUSAL_ERROR_STATE) {
    // The hints are the maker's word, and nothing compares them in a token that is intact.
    memset(plain + 16, 0x5A, 2);
    forge(bytes, kind, 3, plain, &subject);
    REQUIRE(pfc_compact_make(again, &compact, &subject, keys_of(kind)) == PFC_OK);
    REQUIRE(memcmp(again, bytes, sizeof bytes) == 0);
    check_judgement(input, &compact);
  }
  if (fuzz_flip(input, bytes, sizeof bytes)) {
    refusal = check(&compact, bytes, sizeof bytes, kind, &subject);
    REQUIRE(refusal != PFC_REFUSAL_NONE && refusal != PFC_REFUSAL_ERROR_STATE);
  }
}

/// Any structure on its way out: refused, or it says what it was made of.
static void check_make(struct fuzz_input *input) {
  struct pfc_compact compact = {.kind = 3, .created = NOW, .count = 1}, checked;
  struct pfc_compact_subject subject;
  uint8_t fields[sizeof compact], bytes[66];
  memcpy(fields, &compact, sizeof compact);
  fuzz_xor(input, fields, sizeof fields);
  memcpy(&compact, fields, sizeof compact);
  fuzz_take(input, &subject, sizeof subject);
  memset(bytes, 0xEE, sizeof bytes);
  int result = pfc_compact_make(bytes, &compact, &subject, keys_of(compact.kind));
  if (result != PFC_OK) {
    REQUIRE(result == PFC_E_ARGUMENT && fuzz_all(bytes, sizeof bytes, 0));
    return;
  }
  enum pfc_refusal refusal = check(&checked, bytes, sizeof bytes, compact.kind, &subject);
  REQUIRE(refusal == ((compact.flags & 1) != 0 ? PFC_REFUSAL_ERROR_STATE : PFC_REFUSAL_NONE));
  REQUIRE(checked.created == compact.created && checked.count == compact.count && checked.start == compact.start);
  REQUIRE(checked.event == compact.event && checked.measured == compact.measured);
}

static void check_text(struct fuzz_input *input) {
  uint8_t bytes[256];
  char again[PFC_BASE64URL_SIZE(sizeof bytes)];
  size_t capacity = fuzz_u8(input), size = 77, left = input->left;
  char *text = (char *)fuzz_copy(input->bytes, left);
  int result = pfc_base64url_decode(bytes, capacity, &size, text, left);
  REQUIRE(size <= capacity && (result == PFC_OK || size == 0));
  if (result == PFC_OK) {
    REQUIRE(PFC_BASE64URL_SIZE(size) == left);
    pfc_base64url_encode(again, bytes, size);
    REQUIRE(left == 0 || memcmp(again, text, left) == 0);
  }
  uint8_t token[66];
  enum pfc_refusal refusal = pfc_compact_decode(token, text, left);
  REQUIRE(refusal == PFC_REFUSAL_TEXT ? fuzz_all(token, sizeof token, 0) : left == 88);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  struct pfc_compact compact;
  struct pfc_compact_subject subject;
  uint8_t kind;
  switch (fuzz_u8(&input) % 4) {
    case 0:
      check_made(&input);
      break;
    case 1:
      check_make(&input);
      break;
    case 2:
      check_text(&input);
      break;
    default:
      kind = fuzz_u8(&input);
      memset(&subject, 0, sizeof subject);
      // No input is valid without the keys. An error state is told as one.
      REQUIRE(check(&compact, input.bytes, input.left, kind, &subject) != PFC_REFUSAL_NONE);
  }
  return 0;
}
