// SPDX-License-Identifier: Apache-2.0

#include "compact.h"

#include "base64url.h"
#include "crypto.h"
#include "internal.h"

enum {
  AT_KEY = 1,
  AT_HANDLE = 2,
  AT_MASKED = PFC_COMPACT_HEAD_BYTES,
  AT_TAG = AT_MASKED + PFC_COMPACT_PLAIN_BYTES,

  // Within the plain part.
  AT_CREATED = 0,
  AT_EVENT = 4,
  AT_START = 6,
  AT_COUNT = 10,
  AT_FLAGS = 14,
  AT_MEASURED = 15,
  AT_ACCOUNT_HINT = 16,
  AT_DIGEST_HINT = 17,
  AT_BEACON = 18,
  AT_GENERATION = 22,

  // Within the tagged bytes.
  TAGGED_HEAD = PFC_LABEL_BYTES,
  TAGGED_PLAIN = TAGGED_HEAD + PFC_COMPACT_HEAD_BYTES,
  TAGGED_ACCOUNT = TAGGED_PLAIN + PFC_COMPACT_PLAIN_BYTES,
  TAGGED_DIGEST = TAGGED_ACCOUNT + PFC_DIGEST_BYTES,
  TAGGED_BYTES = TAGGED_DIGEST + PFC_DIGEST_BYTES,

  BODY_HINT_BYTES = AT_START - AT_EVENT,
  FLAGS_KNOWN = PFC_COMPACT_ERROR | PFC_COMPACT_YOUNG
};

_Static_assert(AT_GENERATION + 2 == PFC_COMPACT_PLAIN_BYTES, "the generation ends the plain part");
_Static_assert(PFC_COMPACT_BYTES % 3 == 0, "no bit of the text is unused");
_Static_assert(PFC_BASE64URL_SIZE(PFC_COMPACT_BYTES) == PFC_COMPACT_TEXT_BYTES, "the text's length");

static int kind_is_known(uint8_t kind) { return kind >= PFC_COMPACT_REQUEST && kind <= PFC_COMPACT_EVENT; }

/// Whether keys are those of this kind, and of an app that has a handle.
static int keys_fit(const struct pfc_compact_keys *keys, uint8_t kind) {
  return keys->event == (kind == PFC_COMPACT_EVENT) && !pfc_is_zero(keys->handle, PFC_HANDLE_BYTES);
}

static const char *label_of(uint8_t kind) {
  if (kind == PFC_COMPACT_EVENT) return PFC_LABEL_COMPACT_EVENT;
  return kind == PFC_COMPACT_BODY ? PFC_LABEL_COMPACT_BODY : PFC_LABEL_COMPACT_REQUEST;
}

static void make_tag(uint8_t tag[PFC_COMPACT_TAG_BYTES], uint8_t kind, const uint8_t head[PFC_COMPACT_HEAD_BYTES],
                     const uint8_t plain[PFC_COMPACT_PLAIN_BYTES], const struct pfc_compact_subject *subject,
                     const struct pfc_compact_keys *keys) {
  uint8_t message[TAGGED_BYTES];
  uint8_t full[32];
  memcpy(message, label_of(kind), PFC_LABEL_BYTES);
  memcpy(message + TAGGED_HEAD, head, PFC_COMPACT_HEAD_BYTES);
  memcpy(message + TAGGED_PLAIN, plain, PFC_COMPACT_PLAIN_BYTES);
  memcpy(message + TAGGED_ACCOUNT, subject->account, PFC_DIGEST_BYTES);
  memcpy(message + TAGGED_DIGEST, subject->digest, PFC_DIGEST_BYTES);
  pfc_mac_once(full, keys->tag, PFC_GATE_KEY_BYTES, message, sizeof message);
  memcpy(tag, full, PFC_COMPACT_TAG_BYTES);
  pfc_wipe(message, sizeof message);
  pfc_wipe(full, sizeof full);
}

/// Masks, or takes the mask off. `to` and `from` may be the same.
static void mask(uint8_t *to, const uint8_t *from, const uint8_t tag[PFC_COMPACT_TAG_BYTES],
                 const struct pfc_compact_keys *keys) {
  uint8_t message[PFC_LABEL_BYTES + PFC_COMPACT_TAG_BYTES];
  uint8_t full[32];
  memcpy(message, PFC_LABEL_MASK, PFC_LABEL_BYTES);
  memcpy(message + PFC_LABEL_BYTES, tag, PFC_COMPACT_TAG_BYTES);
  pfc_mac_once(full, keys->mask, PFC_GATE_KEY_BYTES, message, sizeof message);
  for (unsigned i = 0; i < PFC_COMPACT_PLAIN_BYTES; i++) to[i] = from[i] ^ full[i];
  pfc_wipe(full, sizeof full);
}

// Making ---------------------------------------------------------------------------------------------------------

int pfc_compact_make(uint8_t bytes[PFC_COMPACT_BYTES], const struct pfc_compact *compact,
                     const struct pfc_compact_subject *subject, const struct pfc_compact_keys *keys) {
  uint8_t plain[PFC_COMPACT_PLAIN_BYTES];
  memset(bytes, 0, PFC_COMPACT_BYTES);
  if (!kind_is_known(compact->kind) || !keys_fit(keys, compact->kind)) return PFC_E_ARGUMENT;
  if (compact->created == 0 || compact->count == 0 || (compact->flags & ~FLAGS_KNOWN) != 0) return PFC_E_ARGUMENT;
  if (compact->kind != PFC_COMPACT_EVENT && compact->event != 0) return PFC_E_ARGUMENT;
  bytes[0] = (uint8_t)(PFC_COMPACT_VERSION << 4 | compact->kind);
  bytes[AT_KEY] = compact->account_key;
  memcpy(bytes + AT_HANDLE, keys->handle, PFC_HANDLE_BYTES);
  pfc_put32(plain + AT_CREATED, compact->created);
  pfc_put16(plain + AT_EVENT, compact->event);
  if (compact->kind == PFC_COMPACT_REQUEST) memcpy(plain + AT_EVENT, subject->body, BODY_HINT_BYTES);
  pfc_put32(plain + AT_START, compact->start);
  pfc_put32(plain + AT_COUNT, compact->count);
  plain[AT_FLAGS] = compact->flags;
  plain[AT_MEASURED] = compact->measured;
  plain[AT_ACCOUNT_HINT] = subject->account[0];
  plain[AT_DIGEST_HINT] = subject->digest[0];
  memcpy(plain + AT_BEACON, compact->beacon, PFC_BEACON_BYTES);
  pfc_put16(plain + AT_GENERATION, keys->generation);
  make_tag(bytes + AT_TAG, compact->kind, bytes, plain, subject, keys);
  mask(bytes + AT_MASKED, plain, bytes + AT_TAG, keys);
  pfc_wipe(plain, sizeof plain);
  return PFC_OK;
}

int pfc_compact_make_error(uint8_t bytes[PFC_COMPACT_BYTES], uint8_t kind, uint8_t cause,
                           const uint8_t random[PFC_COMPACT_PLAIN_BYTES + PFC_COMPACT_TAG_BYTES]) {
  memset(bytes, 0, PFC_COMPACT_BYTES);
  if (!kind_is_known(kind) || cause == 0) return PFC_E_ARGUMENT;
  bytes[0] = (uint8_t)(PFC_COMPACT_VERSION << 4 | kind);
  memcpy(bytes + AT_MASKED, random, PFC_COMPACT_PLAIN_BYTES + PFC_COMPACT_TAG_BYTES);
  bytes[AT_MASKED] = cause;
  return PFC_OK;
}

void pfc_compact_encode(char text[PFC_COMPACT_TEXT_BYTES + 1], const uint8_t bytes[PFC_COMPACT_BYTES]) {
  pfc_base64url_encode(text, bytes, PFC_COMPACT_BYTES);
  text[PFC_COMPACT_TEXT_BYTES] = '\0';
}

// Checking -------------------------------------------------------------------------------------------------------

enum pfc_refusal pfc_compact_decode(uint8_t bytes[PFC_COMPACT_BYTES], const char *text, size_t size) {
  size_t written = 0;
  memset(bytes, 0, PFC_COMPACT_BYTES);
  if (size == PFC_COMPACT_TEXT_BYTES &&
      pfc_base64url_decode(bytes, PFC_COMPACT_BYTES, &written, text, size) == PFC_OK) {
    return PFC_REFUSAL_NONE;
  }
  memset(bytes, 0, PFC_COMPACT_BYTES);
  return PFC_REFUSAL_TEXT;
}

enum pfc_refusal pfc_compact_read_head(struct pfc_compact *compact, const uint8_t *bytes, size_t size, uint8_t kind) {
  memset(compact, 0, sizeof *compact);
  if (size != PFC_COMPACT_BYTES) return PFC_REFUSAL_COMPACT_LENGTH;
  if (bytes[0] >> 4 != PFC_COMPACT_VERSION) return PFC_REFUSAL_COMPACT_VERSION;
  if ((bytes[0] & 15) != kind || !kind_is_known(kind)) return PFC_REFUSAL_COMPACT_KIND;
  compact->kind = kind;
  if (pfc_is_zero(bytes + AT_HANDLE, PFC_HANDLE_BYTES)) {
    compact->flags = PFC_COMPACT_ERROR;
    compact->measured = bytes[AT_MASKED];
    return PFC_REFUSAL_ERROR_STATE;
  }
  compact->account_key = bytes[AT_KEY];
  memcpy(compact->handle, bytes + AT_HANDLE, PFC_HANDLE_BYTES);
  return PFC_REFUSAL_NONE;
}

/// Why a tag may differ, from hints that nothing authenticates. A word for the log; the token is refused anyway.
static enum pfc_refusal guess_cause(const uint8_t plain[PFC_COMPACT_PLAIN_BYTES], uint8_t kind,
                                    const struct pfc_compact_subject *subject, const struct pfc_compact_keys *keys) {
  if (pfc_get16(plain + AT_GENERATION) != keys->generation) return PFC_REFUSAL_TAG;
  if ((plain[AT_FLAGS] & ~FLAGS_KNOWN) != 0 || pfc_get32(plain + AT_COUNT) == 0) return PFC_REFUSAL_TAG;
  if (plain[AT_ACCOUNT_HINT] != subject->account[0]) return PFC_REFUSAL_OTHER_ACCOUNT;
  if (kind == PFC_COMPACT_REQUEST && memcmp(plain + AT_EVENT, subject->body, BODY_HINT_BYTES) != 0) {
    return PFC_REFUSAL_OTHER_BODY;
  }
  if (plain[AT_DIGEST_HINT] == subject->digest[0]) return PFC_REFUSAL_TAG;
  if (kind == PFC_COMPACT_EVENT) return PFC_REFUSAL_OTHER_DATA;
  return kind == PFC_COMPACT_BODY ? PFC_REFUSAL_OTHER_BODY : PFC_REFUSAL_OTHER_REQUEST;
}

/// Fields that the tag authenticates and no app writes.
static int has_reserved(const uint8_t plain[PFC_COMPACT_PLAIN_BYTES], uint8_t kind,
                        const struct pfc_compact_subject *subject) {
  static const uint8_t none[BODY_HINT_BYTES] = {0};
  const uint8_t *hint = kind == PFC_COMPACT_REQUEST ? subject->body : none;
  if ((plain[AT_FLAGS] & ~FLAGS_KNOWN) != 0) return 1;
  if (pfc_get32(plain + AT_CREATED) == 0 || pfc_get32(plain + AT_COUNT) == 0) return 1;
  return kind != PFC_COMPACT_EVENT && memcmp(plain + AT_EVENT, hint, BODY_HINT_BYTES) != 0;
}

static void decode_plain(struct pfc_compact *compact, const uint8_t plain[PFC_COMPACT_PLAIN_BYTES]) {
  compact->created = pfc_get32(plain + AT_CREATED);
  compact->event = compact->kind == PFC_COMPACT_EVENT ? pfc_get16(plain + AT_EVENT) : 0;
  compact->start = pfc_get32(plain + AT_START);
  compact->count = pfc_get32(plain + AT_COUNT);
  compact->flags = plain[AT_FLAGS];
  compact->measured = plain[AT_MEASURED];
  memcpy(compact->beacon, plain + AT_BEACON, PFC_BEACON_BYTES);
  compact->generation = pfc_get16(plain + AT_GENERATION);
}

enum pfc_refusal pfc_compact_check(struct pfc_compact *compact, const uint8_t *bytes, size_t size, uint8_t kind,
                                   const struct pfc_compact_subject *subject, const struct pfc_compact_keys *keys) {
  uint8_t plain[PFC_COMPACT_PLAIN_BYTES];
  uint8_t expected[PFC_COMPACT_TAG_BYTES];
  int intact;
  enum pfc_refusal refusal = pfc_compact_read_head(compact, bytes, size, kind);
  if (refusal != PFC_REFUSAL_NONE) return refusal;
  if (!keys_fit(keys, kind) || memcmp(compact->handle, keys->handle, PFC_HANDLE_BYTES) != 0) {
    memset(compact, 0, sizeof *compact);
    return PFC_REFUSAL_HANDLE;
  }
  mask(plain, bytes + AT_MASKED, bytes + AT_TAG, keys);
  make_tag(expected, kind, bytes, plain, subject, keys);
  intact = pfc_equal(expected, bytes + AT_TAG, sizeof expected);
  PFC_DECLASSIFY(&intact, sizeof intact);
  // The token's fields are public from here on: it chooses the answer.
  PFC_DECLASSIFY(plain, sizeof plain);
  if (!intact) {
    refusal = guess_cause(plain, kind, subject, keys);
  } else if (has_reserved(plain, kind, subject)) {
    refusal = PFC_REFUSAL_RESERVED;
  } else if (pfc_get16(plain + AT_GENERATION) != keys->generation) {
    refusal = PFC_REFUSAL_GENERATION;
  } else {
    decode_plain(compact, plain);
    if ((compact->flags & PFC_COMPACT_ERROR) != 0) refusal = PFC_REFUSAL_ERROR_STATE;
  }
  if (refusal != PFC_REFUSAL_NONE && refusal != PFC_REFUSAL_ERROR_STATE) memset(compact, 0, sizeof *compact);
  pfc_wipe(plain, sizeof plain);
  pfc_wipe(expected, sizeof expected);
  return refusal;
}

// Judging --------------------------------------------------------------------------------------------------------

int pfc_compact_is_anchored(const struct pfc_compact *compact, const struct pfc_beacons *beacons) {
  int found = 0;
  if (pfc_is_zero(compact->beacon, PFC_BEACON_BYTES)) return 0;
  for (unsigned i = 0; i < PFC_BEACONS_VALID; i++) {
    found |= pfc_equal(compact->beacon, beacons->valid[i], PFC_BEACON_BYTES);
  }
  return found;
}

enum pfc_refusal pfc_compact_judge(const struct pfc_compact *compact, const struct pfc_compact_rules *rules) {
  uint64_t created = compact->created;
  if ((compact->flags & PFC_COMPACT_ERROR) != 0) return PFC_REFUSAL_ERROR_STATE;
  if (compact->event != rules->event) return PFC_REFUSAL_EVENT;
  // Written so that no sum can wrap.
  if (created > rules->now && created - rules->now > rules->window) return PFC_REFUSAL_AHEAD;
  if (rules->now > created && rules->now - created > rules->window) return PFC_REFUSAL_STALE;
  if (rules->unanchored != 1 && !pfc_compact_is_anchored(compact, &rules->beacons)) return PFC_REFUSAL_UNANCHORED;
  if (compact->measured > rules->measured_max) return PFC_REFUSAL_MEASURED;
  if (rules->newest > compact->count && rules->newest - compact->count >= PFC_COMPACT_COUNTS_KEPT) {
    return PFC_REFUSAL_KEPT;
  }
  return PFC_REFUSAL_NONE;
}

void pfc_compact_replay_key(uint8_t key[PFC_REPLAY_KEY_BYTES], const struct pfc_compact *compact) {
  memcpy(key, compact->handle, PFC_HANDLE_BYTES);
  pfc_put32(key + PFC_HANDLE_BYTES, compact->start);
  pfc_put32(key + PFC_HANDLE_BYTES + 4, compact->count);
}
