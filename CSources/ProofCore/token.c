#include "token.h"

#include "crypto.h"
#include "internal.h"

enum {
  AT_VERSION = 2,
  AT_SUITE = 3,
  AT_HINT = 4,
  HINT_BYTES = PFC_TOKEN_HEAD_BYTES - AT_HINT,

  // Within the body.
  AT_MODE = 0,
  AT_FORM = 1,
  AT_INTEGRITY_CLASSES = 2,
  AT_DEVICE_CLASSES = 4,
  AT_ATTEMPTS = 6,
  AT_USES = 8,
  AT_GENERATION = 12,
  AT_NOT_AFTER = 16,
  AT_ISSUED = 24,
  AT_HARDWARE = 32,
  AT_INSTANCE = 48,
  AT_ISSUER = 64,
  AT_SECRETS = 72,

  // Within the signed bytes.
  SIGNED_RECIPIENT = PFC_LABEL_BYTES,
  SIGNED_HEAD = SIGNED_RECIPIENT + PFC_PUBLIC_KEY_BYTES,
  SIGNED_BODY = SIGNED_HEAD + PFC_TOKEN_HEAD_BYTES,
  SIGNED_BYTES = SIGNED_BODY + PFC_TOKEN_BODY_BYTES
};

_Static_assert(AT_SECRETS + sizeof(struct pfc_secrets) == PFC_TOKEN_BODY_BYTES, "four secrets end the body");
_Static_assert(sizeof(struct pfc_secrets) == 96, "secrets are copied as they stand");
_Static_assert(PFC_TOKEN_BYTES <= 400, "what a small radio can carry");

/// Every range of docs/SPEC.md section 8, for both directions, but for mode and form, which are answered apart.
static int is_valid(const struct pfc_token *token) {
  const struct pfc_secrets *secrets = &token->secrets;
  int zero;
  if (token->integrity_classes == 0) return 0;
  if ((token->device_classes & (uint16_t)~token->integrity_classes) != 0) return 0;
  if (token->attempts == 0 || token->uses == 0) return 0;
  if (token->generation == 0 || token->generation == PFC_GENERATION_ALL) return 0;
  if (token->issued == 0 || (token->not_after != 0 && token->not_after < token->issued)) return 0;
  if (pfc_is_zero(token->instance_id, PFC_ID_BYTES)) return 0;
  // An all-zero secret shows a defect in the app's code, and would match every app with the same defect.
  zero = pfc_is_zero(secrets->integrity_key, PFC_KEY_BYTES) |
         pfc_is_zero(secrets->integrity, PFC_MEASUREMENT_BYTES) |
         pfc_is_zero(secrets->device_key, PFC_KEY_BYTES) | pfc_is_zero(secrets->device, PFC_MEASUREMENT_BYTES);
  PFC_DECLASSIFY(&zero, sizeof zero);
  return !zero;
}

static int mode_is_known(uint8_t mode) { return mode == PFC_MODE_PRODUCTION || mode == PFC_MODE_DEVELOPMENT; }

static int form_is_known(uint8_t form) { return form == PFC_FORM_DIVERSIFIED || form == PFC_FORM_LITERAL; }

static void encode_body(uint8_t body[PFC_TOKEN_BODY_BYTES], const struct pfc_token *token) {
  body[AT_MODE] = token->mode;
  body[AT_FORM] = token->form;
  pfc_put16(body + AT_INTEGRITY_CLASSES, token->integrity_classes);
  pfc_put16(body + AT_DEVICE_CLASSES, token->device_classes);
  pfc_put16(body + AT_ATTEMPTS, token->attempts);
  pfc_put32(body + AT_USES, token->uses);
  pfc_put32(body + AT_GENERATION, token->generation);
  pfc_put64(body + AT_NOT_AFTER, token->not_after);
  pfc_put64(body + AT_ISSUED, token->issued);
  memcpy(body + AT_HARDWARE, token->hardware_id, PFC_ID_BYTES);
  memcpy(body + AT_INSTANCE, token->instance_id, PFC_ID_BYTES);
  memcpy(body + AT_ISSUER, token->issuer_id, PFC_ISSUER_ID_BYTES);
  memcpy(body + AT_SECRETS, &token->secrets, sizeof token->secrets);
}

int pfc_token_create(uint8_t bytes[PFC_TOKEN_BYTES], const struct pfc_token *token,
                     const uint8_t recipient[PFC_PUBLIC_KEY_BYTES], const uint8_t signing_key[PFC_SIGNING_KEY_BYTES],
                     const uint8_t ephemeral[PFC_SECRET_KEY_BYTES]) {
  uint8_t message[SIGNED_BYTES];
  uint8_t plain[PFC_TOKEN_BODY_BYTES + PFC_SIGNATURE_BYTES];
  struct pfc_token named;
  int result;
  memset(bytes, 0, PFC_TOKEN_BYTES);
  if (!mode_is_known(token->mode) || !form_is_known(token->form) || !is_valid(token)) return PFC_E_ARGUMENT;

  named = *token;
  // The second half of a signing key is its public key.
  pfc_issuer_id(named.issuer_id, signing_key + PFC_SIGNING_KEY_BYTES - PFC_PUBLIC_KEY_BYTES);
  memcpy(bytes, PFC_TOKEN_MAGIC, AT_VERSION);
  bytes[AT_VERSION] = PFC_VERSION;
  bytes[AT_SUITE] = PFC_SUITE;
  memcpy(bytes + AT_HINT, token->hardware_id, HINT_BYTES);
  encode_body(plain, &named);

  memcpy(message, PFC_LABEL_TOKEN_SIGN, PFC_LABEL_BYTES);
  memcpy(message + SIGNED_RECIPIENT, recipient, PFC_PUBLIC_KEY_BYTES);
  memcpy(message + SIGNED_HEAD, bytes, PFC_TOKEN_HEAD_BYTES);
  memcpy(message + SIGNED_BODY, plain, PFC_TOKEN_BODY_BYTES);
  pfc_sign(plain + PFC_TOKEN_BODY_BYTES, message, sizeof message, signing_key);
  result = pfc_seal(bytes + PFC_TOKEN_HEAD_BYTES, plain, sizeof plain, recipient, ephemeral);
  if (result != PFC_OK) memset(bytes, 0, PFC_TOKEN_BYTES);
  pfc_wipe(message, sizeof message);
  pfc_wipe(plain, sizeof plain);
  pfc_wipe(&named, sizeof named);
  return result;
}

int pfc_token_check_head(const uint8_t *bytes, size_t size, const struct pfc_hardware *hardware) {
  if (size != PFC_TOKEN_BYTES || memcmp(bytes, PFC_TOKEN_MAGIC, AT_VERSION) != 0) return PFC_E_MALFORMED;
  if (bytes[AT_VERSION] != PFC_VERSION || bytes[AT_SUITE] != PFC_SUITE) return PFC_E_TOO_NEW;
  if (memcmp(bytes + AT_HINT, hardware->id, HINT_BYTES) != 0) return PFC_E_RECIPIENT;
  return PFC_OK;
}

#if PFC_OPENS_TOKENS

static void decode_body(struct pfc_token *token, const uint8_t body[PFC_TOKEN_BODY_BYTES]) {
  token->mode = body[AT_MODE];
  token->form = body[AT_FORM];
  token->integrity_classes = pfc_get16(body + AT_INTEGRITY_CLASSES);
  token->device_classes = pfc_get16(body + AT_DEVICE_CLASSES);
  token->attempts = pfc_get16(body + AT_ATTEMPTS);
  token->uses = pfc_get32(body + AT_USES);
  token->generation = pfc_get32(body + AT_GENERATION);
  token->not_after = pfc_get64(body + AT_NOT_AFTER);
  token->issued = pfc_get64(body + AT_ISSUED);
  memcpy(token->hardware_id, body + AT_HARDWARE, PFC_ID_BYTES);
  memcpy(token->instance_id, body + AT_INSTANCE, PFC_ID_BYTES);
  memcpy(token->issuer_id, body + AT_ISSUER, PFC_ISSUER_ID_BYTES);
  memcpy(&token->secrets, body + AT_SECRETS, sizeof token->secrets);
}

/// Judges what was unsealed. `message` has room for the signed bytes.
static int check_body(struct pfc_token *token, uint8_t message[SIGNED_BYTES], const uint8_t *head,
                      const uint8_t *plain, const struct pfc_hardware *hardware) {
  int result;
  memcpy(message, PFC_LABEL_TOKEN_SIGN, PFC_LABEL_BYTES);
  memcpy(message + SIGNED_RECIPIENT, hardware->public_key, PFC_PUBLIC_KEY_BYTES);
  memcpy(message + SIGNED_HEAD, head, PFC_TOKEN_HEAD_BYTES);
  memcpy(message + SIGNED_BODY, plain, PFC_TOKEN_BODY_BYTES);
  result = pfc_issuer_verify(hardware, plain + AT_ISSUER, plain + PFC_TOKEN_BODY_BYTES, message, SIGNED_BYTES);
  PFC_DECLASSIFY(&result, sizeof result);
  if (result != PFC_OK) return result;
  decode_body(token, plain);
  // From here on all but the secrets is the backend's word, and will show in the verdict.
  PFC_DECLASSIFY(token, offsetof(struct pfc_token, secrets));
  if (memcmp(token->hardware_id, hardware->id, PFC_ID_BYTES) != 0) return PFC_E_RECIPIENT;
  if (token->mode != hardware->mode) return PFC_E_MODE;
  if (token->form == PFC_FORM_LITERAL && hardware->allow_literal != 1) return PFC_E_MODE;
  return form_is_known(token->form) && is_valid(token) ? PFC_OK : PFC_E_MALFORMED;
}

int pfc_token_open(struct pfc_token *token, const uint8_t *bytes, size_t size, const struct pfc_hardware *hardware) {
  uint8_t plain[PFC_TOKEN_BODY_BYTES + PFC_SIGNATURE_BYTES];
  uint8_t message[SIGNED_BYTES];
  int result;
  memset(token, 0, sizeof *token);
  result = pfc_token_check_head(bytes, size, hardware);
  if (result != PFC_OK) return result;
  result = pfc_unseal(plain, bytes + PFC_TOKEN_HEAD_BYTES, size - PFC_TOKEN_HEAD_BYTES, hardware->public_key,
                      hardware->secret_key);
  PFC_DECLASSIFY(&result, sizeof result);
  if (result == PFC_OK) result = check_body(token, message, bytes, plain, hardware);
  if (result != PFC_OK) pfc_wipe(token, sizeof *token);
  pfc_wipe(plain, sizeof plain);
  pfc_wipe(message, sizeof message);
  return result;
}

#endif

void pfc_token_digest(uint8_t digest[PFC_TOKEN_DIGEST_BYTES], const uint8_t bytes[PFC_TOKEN_BYTES]) {
  uint8_t full[32];
  pfc_hash_once(full, PFC_LABEL_TOKEN_ID, bytes, PFC_TOKEN_BYTES);
  memcpy(digest, full, PFC_TOKEN_DIGEST_BYTES);
}
