// SPDX-License-Identifier: Apache-2.0

#include "gate_token.h"

#include "crypto.h"
#include "internal.h"

enum {
  AT_VERSION = 2,
  AT_SUITE = 3,
  AT_KEY = 4,
  AT_HINT = 5,
  HINT_BYTES = PFC_GATE_TOKEN_HEAD_BYTES - AT_HINT,

  // Within the body.
  AT_MODE = 0,
  AT_FORM = 1,
  AT_FLAGS = 2,
  AT_GENERATION = 4,
  AT_ISSUED = 8,
  AT_NOT_AFTER = 16,
  AT_FIRST_SEEN = 24,
  AT_GATE = 32,
  AT_INSTANCE = 48,
  AT_ISSUER = 64,
  AT_PROPERTIES = 72,
  AT_ARC = 76,
  AT_ZERO = 86,
  AT_SECRET = 88,
  AT_FINDINGS = 120,
  AT_APP = 152,

  // Within the signed bytes.
  SIGNED_RECIPIENT = PFC_LABEL_BYTES,
  SIGNED_HEAD = SIGNED_RECIPIENT + PFC_PUBLIC_KEY_BYTES,
  SIGNED_BODY = SIGNED_HEAD + PFC_GATE_TOKEN_HEAD_BYTES,
  SIGNED_BYTES = SIGNED_BODY + PFC_GATE_TOKEN_BODY_BYTES
};

_Static_assert(AT_SECRET + PFC_GATE_SECRET_BYTES == AT_FINDINGS, "findings follow the secret");
_Static_assert(AT_FINDINGS + 2 * PFC_FINDINGS_MAX == AT_APP, "the app follows the findings");
_Static_assert(AT_APP + PFC_APP_BYTES == PFC_GATE_TOKEN_BODY_BYTES, "the app ends the body");
_Static_assert(PFC_GATE_FORM != PFC_FORM_DIVERSIFIED && PFC_GATE_FORM != PFC_FORM_LITERAL, "a form of its own");

static int arc_is_valid(const uint8_t arc[PFC_ARC_BYTES]) {
  if (pfc_is_zero(arc, PFC_ARC_BYTES)) return 1;
  for (unsigned i = 0; i < PFC_ARC_BYTES; i++) {
    if (!(arc[i] >= 'A' && arc[i] <= 'Z') && !(arc[i] >= '2' && arc[i] <= '7')) return 0;
  }
  return 1;
}

static int findings_are_valid(const struct pfc_finding findings[PFC_FINDINGS_MAX]) {
  unsigned before = 0;
  int ended = 0;
  for (unsigned i = 0; i < PFC_FINDINGS_MAX; i++) {
    unsigned value = findings[i].class_ * 256u + findings[i].number;
    if (value == 0) {
      ended = 1;
      continue;
    }
    if (ended || value <= before || findings[i].class_ < 1 || findings[i].class_ > 3 || findings[i].number == 0) {
      return 0;
    }
    before = value;
  }
  return 1;
}

/// Every range of docs/SPEC.md section 15, for both directions, but for mode, form and life, which are answered apart.
static int is_valid(const struct pfc_gate_token *token) {
  int zero;
  if ((token->flags & ~(PFC_GATE_FAILED | PFC_GATE_FORCED)) != 0) return 0;
  if (token->generation == 0 || token->generation == PFC_GENERATION_ALL) return 0;
  if (token->issued == 0 || token->not_after < token->issued) return 0;
  if (token->first_seen == 0 || token->first_seen > token->issued) return 0;
  if (pfc_is_zero(token->instance_id, PFC_ID_BYTES)) return 0;
  if (!arc_is_valid(token->arc) || !findings_are_valid(token->findings)) return 0;
  // An all-zero secret means that some code failed, and would match everywhere it failed alike.
  zero = pfc_is_zero(token->secret, PFC_GATE_SECRET_BYTES);
  PFC_DECLASSIFY(&zero, sizeof zero);
  return !zero;
}

static int lives_too_long(const struct pfc_gate_token *token) {
  return token->not_after - token->issued > PFC_GATE_LIFE_SECONDS;
}

static void encode_body(uint8_t body[PFC_GATE_TOKEN_BODY_BYTES], const struct pfc_gate_token *token) {
  memset(body, 0, PFC_GATE_TOKEN_BODY_BYTES);
  body[AT_MODE] = token->mode;
  body[AT_FORM] = PFC_GATE_FORM;
  pfc_put16(body + AT_FLAGS, token->flags);
  pfc_put32(body + AT_GENERATION, token->generation);
  pfc_put64(body + AT_ISSUED, token->issued);
  pfc_put64(body + AT_NOT_AFTER, token->not_after);
  pfc_put64(body + AT_FIRST_SEEN, token->first_seen);
  memcpy(body + AT_GATE, token->gate_id, PFC_ID_BYTES);
  memcpy(body + AT_INSTANCE, token->instance_id, PFC_ID_BYTES);
  memcpy(body + AT_ISSUER, token->issuer_id, PFC_ISSUER_ID_BYTES);
  pfc_put32(body + AT_PROPERTIES, token->properties);
  memcpy(body + AT_ARC, token->arc, PFC_ARC_BYTES);
  memcpy(body + AT_SECRET, token->secret, PFC_GATE_SECRET_BYTES);
  for (unsigned i = 0; i < PFC_FINDINGS_MAX; i++) {
    body[AT_FINDINGS + 2 * i] = token->findings[i].class_;
    body[AT_FINDINGS + 2 * i + 1] = token->findings[i].number;
  }
  memcpy(body + AT_APP, token->app, PFC_APP_BYTES);
}

static void decode_body(struct pfc_gate_token *token, const uint8_t body[PFC_GATE_TOKEN_BODY_BYTES]) {
  token->mode = body[AT_MODE];
  token->flags = pfc_get16(body + AT_FLAGS);
  token->generation = pfc_get32(body + AT_GENERATION);
  token->issued = pfc_get64(body + AT_ISSUED);
  token->not_after = pfc_get64(body + AT_NOT_AFTER);
  token->first_seen = pfc_get64(body + AT_FIRST_SEEN);
  memcpy(token->gate_id, body + AT_GATE, PFC_ID_BYTES);
  memcpy(token->instance_id, body + AT_INSTANCE, PFC_ID_BYTES);
  memcpy(token->issuer_id, body + AT_ISSUER, PFC_ISSUER_ID_BYTES);
  token->properties = pfc_get32(body + AT_PROPERTIES);
  memcpy(token->arc, body + AT_ARC, PFC_ARC_BYTES);
  memcpy(token->secret, body + AT_SECRET, PFC_GATE_SECRET_BYTES);
  for (unsigned i = 0; i < PFC_FINDINGS_MAX; i++) {
    token->findings[i].class_ = body[AT_FINDINGS + 2 * i];
    token->findings[i].number = body[AT_FINDINGS + 2 * i + 1];
  }
  memcpy(token->app, body + AT_APP, PFC_APP_BYTES);
}

static void signed_bytes(uint8_t message[SIGNED_BYTES], const uint8_t recipient[PFC_PUBLIC_KEY_BYTES],
                         const uint8_t *head, const uint8_t *body) {
  memcpy(message, PFC_LABEL_GATE_SIGN, PFC_LABEL_BYTES);
  memcpy(message + SIGNED_RECIPIENT, recipient, PFC_PUBLIC_KEY_BYTES);
  memcpy(message + SIGNED_HEAD, head, PFC_GATE_TOKEN_HEAD_BYTES);
  memcpy(message + SIGNED_BODY, body, PFC_GATE_TOKEN_BODY_BYTES);
}

int pfc_gate_token_create(uint8_t bytes[PFC_GATE_TOKEN_BYTES], const struct pfc_gate_token *token, uint8_t key_number,
                          const uint8_t recipient[PFC_PUBLIC_KEY_BYTES],
                          const uint8_t signing_key[PFC_SIGNING_KEY_BYTES],
                          const uint8_t ephemeral[PFC_SECRET_KEY_BYTES]) {
  uint8_t message[SIGNED_BYTES];
  uint8_t plain[PFC_GATE_TOKEN_BODY_BYTES + PFC_SIGNATURE_BYTES];
  int result;
  memset(bytes, 0, PFC_GATE_TOKEN_BYTES);
  if (token->mode != PFC_MODE_PRODUCTION && token->mode != PFC_MODE_DEVELOPMENT) return PFC_E_ARGUMENT;
  if (!is_valid(token) || lives_too_long(token)) return PFC_E_ARGUMENT;

  encode_body(plain, token);
  // The second half of a signing key is its public key.
  pfc_issuer_id(plain + AT_ISSUER, signing_key + PFC_SIGNING_KEY_BYTES - PFC_PUBLIC_KEY_BYTES);
  memcpy(bytes, PFC_GATE_TOKEN_MAGIC, AT_VERSION);
  bytes[AT_VERSION] = PFC_VERSION;
  bytes[AT_SUITE] = PFC_SUITE;
  bytes[AT_KEY] = key_number;
  memcpy(bytes + AT_HINT, token->gate_id, HINT_BYTES);
  signed_bytes(message, recipient, bytes, plain);
  pfc_sign(plain + PFC_GATE_TOKEN_BODY_BYTES, message, sizeof message, signing_key);
  result = pfc_seal(bytes + PFC_GATE_TOKEN_HEAD_BYTES, plain, sizeof plain, recipient, ephemeral);
  if (result != PFC_OK) memset(bytes, 0, PFC_GATE_TOKEN_BYTES);
  pfc_wipe(plain, sizeof plain);
  pfc_wipe(message, sizeof message);
  return result;
}

/// The gate's key of this number; NULL if it holds none.
static const struct pfc_gate_identity *identity_of(const struct pfc_gate *gate, uint8_t number) {
  for (unsigned i = 0; i < gate->key_count && i < PFC_GATE_KEYS_MAX; i++) {
    if (gate->keys[i].number == number) return &gate->keys[i];
  }
  return NULL;
}

static const struct pfc_issuer *issuer_of(const struct pfc_gate *gate, const uint8_t id[PFC_ISSUER_ID_BYTES]) {
  uint8_t trusted[PFC_ISSUER_ID_BYTES];
  for (unsigned i = 0; i < gate->issuer_count && i < PFC_ISSUERS_MAX; i++) {
    pfc_issuer_id(trusted, gate->issuers[i].public_key);
    if (memcmp(trusted, id, sizeof trusted) == 0) return &gate->issuers[i];
  }
  return NULL;
}

enum pfc_refusal pfc_gate_token_check_head(const uint8_t *bytes, size_t size, const struct pfc_gate *gate) {
  if (size != PFC_GATE_TOKEN_BYTES) return PFC_REFUSAL_TOKEN_LENGTH;
  if (memcmp(bytes, PFC_GATE_TOKEN_MAGIC, AT_VERSION) != 0) return PFC_REFUSAL_TOKEN_MAGIC;
  if (bytes[AT_VERSION] != PFC_VERSION || bytes[AT_SUITE] != PFC_SUITE) return PFC_REFUSAL_TOKEN_VERSION;
  if (memcmp(bytes + AT_HINT, gate->id, HINT_BYTES) != 0) return PFC_REFUSAL_TOKEN_GATE;
  return identity_of(gate, bytes[AT_KEY]) != NULL ? PFC_REFUSAL_NONE : PFC_REFUSAL_TOKEN_KEY;
}

/// Judges the signature over `message`, which has room for the signed bytes.
static enum pfc_refusal check_signature(uint8_t message[SIGNED_BYTES], const uint8_t *head, const uint8_t *plain,
                                        const struct pfc_gate_identity *identity, const struct pfc_gate *gate) {
  const struct pfc_issuer *issuer;
  uint8_t issuer_id[PFC_ISSUER_ID_BYTES];
  int result;
  memcpy(issuer_id, plain + AT_ISSUER, sizeof issuer_id);
  // The issuer's name is public; it came out of a box that holds secrets.
  PFC_DECLASSIFY(issuer_id, sizeof issuer_id);
  issuer = issuer_of(gate, issuer_id);
  if (issuer == NULL) return PFC_REFUSAL_TOKEN_ISSUER;
  signed_bytes(message, identity->public_key, head, plain);
  result = pfc_verify(plain + PFC_GATE_TOKEN_BODY_BYTES, message, SIGNED_BYTES, issuer->public_key);
  PFC_DECLASSIFY(&result, sizeof result);
  return result == PFC_OK ? PFC_REFUSAL_NONE : PFC_REFUSAL_TOKEN_SIGNATURE;
}

/// Judges what its issuer signed.
static enum pfc_refusal check_body(const struct pfc_gate_token *token, uint8_t form, int reserved,
                                   const struct pfc_gate *gate, uint64_t now) {
  if (memcmp(token->gate_id, gate->id, PFC_ID_BYTES) != 0) return PFC_REFUSAL_TOKEN_GATE;
  if (token->mode != gate->mode) return PFC_REFUSAL_TOKEN_MODE;
  if (form != PFC_GATE_FORM) return PFC_REFUSAL_TOKEN_FORM;
  if (reserved || !is_valid(token)) return PFC_REFUSAL_TOKEN_RANGE;
  if (lives_too_long(token)) return PFC_REFUSAL_TOKEN_LIFE;
  // Written so that no sum can wrap.
  if (token->issued > now && token->issued - now > PFC_GATE_AHEAD_SECONDS) return PFC_REFUSAL_TOKEN_AHEAD;
  if (now > token->not_after) return PFC_REFUSAL_TOKEN_EXPIRED;
  return token->issued < gate->floor ? PFC_REFUSAL_TOKEN_SUPERSEDED : PFC_REFUSAL_NONE;
}

enum pfc_refusal pfc_gate_token_open(struct pfc_gate_token *token, const uint8_t *bytes, size_t size,
                                     const struct pfc_gate *gate, uint64_t now) {
  uint8_t plain[PFC_GATE_TOKEN_BODY_BYTES + PFC_SIGNATURE_BYTES];
  uint8_t message[SIGNED_BYTES];
  const struct pfc_gate_identity *identity;
  enum pfc_refusal refusal;
  int result;
  memset(token, 0, sizeof *token);
  refusal = pfc_gate_token_check_head(bytes, size, gate);
  if (refusal != PFC_REFUSAL_NONE) return refusal;
  identity = identity_of(gate, bytes[AT_KEY]);
  if (identity == NULL) return PFC_REFUSAL_TOKEN_KEY;
  result = pfc_unseal(plain, bytes + PFC_GATE_TOKEN_HEAD_BYTES, size - PFC_GATE_TOKEN_HEAD_BYTES,
                      identity->public_key, identity->secret_key);
  PFC_DECLASSIFY(&result, sizeof result);
  refusal = result == PFC_OK ? check_signature(message, bytes, plain, identity, gate) : PFC_REFUSAL_TOKEN_SEAL;
  if (refusal == PFC_REFUSAL_NONE) {
    // From here on all but the secret is the service's word.
    PFC_DECLASSIFY(plain, AT_SECRET);
    PFC_DECLASSIFY(plain + AT_FINDINGS, PFC_GATE_TOKEN_BODY_BYTES - AT_FINDINGS);
    decode_body(token, plain);
    token->key_number = identity->number;
    refusal = check_body(token, plain[AT_FORM], !pfc_is_zero(plain + AT_ZERO, AT_SECRET - AT_ZERO), gate, now);
  }
  if (refusal != PFC_REFUSAL_NONE) pfc_wipe(token, sizeof *token);
  pfc_wipe(plain, sizeof plain);
  pfc_wipe(message, sizeof message);
  return refusal;
}
