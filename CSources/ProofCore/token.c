// SPDX-License-Identifier: Apache-2.0

#include "token.h"

#include "crypto.h"
#include "internal.h"
#include "ratchet.h"
#include "verifier_detail.h"

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
  AT_HARDWARE = 32,  // Version 1
  AT_POLICY = 32,    // Version 2, up to the instance
  AT_ZERO = 33,
  AT_DELEGABLE = 34,
  AT_BASE = 36,
  AT_EXTENSION = 40,
  AT_INSTANCE = 48,
  AT_ISSUER = 64,
  AT_SECRETS = 72,

  // Within the sealed part of suite 2, behind the head.
  AT_BOX = PFC_TOKEN_HEAD_BYTES + PFC_PUBLIC_KEY_BYTES,

  // The longest signed bytes: version 1 has no hardware id there.
  SIGNED_BYTES_MAX =
      PFC_LABEL_BYTES + PFC_PUBLIC_KEY_BYTES + PFC_ID_BYTES + PFC_TOKEN_HEAD_BYTES + PFC_TOKEN_BODY_BYTES,
  SEAL_INFO_BYTES = 2 * PFC_PUBLIC_KEY_BYTES + PFC_ID_BYTES + PFC_TOKEN_HEAD_BYTES
};

_Static_assert(AT_SECRETS + sizeof(struct pfc_secrets) == PFC_TOKEN_BODY_BYTES, "four secrets end the body");
_Static_assert(sizeof(struct pfc_secrets) == 96, "secrets are copied as they stand");
_Static_assert(PFC_TOKEN_BYTES <= 400, "what a small radio can carry");

/// Every range of docs/SPEC.md section 8, for both directions, but for mode and form, which are answered apart.
static int is_valid(const struct pfc_token *token) {
  const struct pfc_secrets *secrets = &token->secrets;
  int zero;
  if (token->integrity_classes == 0) return 0;
  if (((token->device_classes | token->delegable_classes) & (uint16_t)~token->integrity_classes) != 0) return 0;
  if (token->attempts == 0 || token->uses == 0) return 0;
  if (token->generation == 0 || token->generation == PFC_GENERATION_ALL) return 0;
  if (token->version == PFC_TOKEN_VERSION_2 && (token->base == 0 || token->base > token->generation)) return 0;
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

/// The bits of a policy that this build does not carry out. Bits 0 and 1 together are reserved: the upper one is then
/// unknown. It does not branch: in an opened token the policy is public only once the whole body is.
static uint8_t unknown_policy(uint8_t policy) {
  uint8_t reserved = (uint8_t)((policy << 1) & policy & PFC_RATCHET_REFUSE);
  return (uint8_t)((policy & (uint8_t)~PFC_TOKEN_POLICY) | reserved);
}

/// The two versions, and the fields that version 1 has not.
static int version_is_known(const struct pfc_token *token) {
  if (token->version == PFC_TOKEN_VERSION_2) return unknown_policy(token->policy) == 0;
  return token->version == PFC_VERSION && token->policy == 0 && token->delegable_classes == 0 &&
         token->base == 0;
}

/// Puts together the signed bytes; answers their number. The head tells the version.
static size_t put_signed(uint8_t message[SIGNED_BYTES_MAX], const uint8_t recipient[PFC_PUBLIC_KEY_BYTES],
                         const uint8_t hardware_id[PFC_ID_BYTES], const uint8_t head[PFC_TOKEN_HEAD_BYTES],
                         const uint8_t body[PFC_TOKEN_BODY_BYTES]) {
  uint8_t *at = message + PFC_LABEL_BYTES;
  int second = head[AT_VERSION] == PFC_TOKEN_VERSION_2;
  memcpy(message, second ? PFC_LABEL_TOKEN_SIGN_2 : PFC_LABEL_TOKEN_SIGN, PFC_LABEL_BYTES);
  memcpy(at, recipient, PFC_PUBLIC_KEY_BYTES);
  at += PFC_PUBLIC_KEY_BYTES;
  if (second) {
    memcpy(at, hardware_id, PFC_ID_BYTES);
    at += PFC_ID_BYTES;
  }
  memcpy(at, head, PFC_TOKEN_HEAD_BYTES);
  at += PFC_TOKEN_HEAD_BYTES;
  memcpy(at, body, PFC_TOKEN_BODY_BYTES);
  return (size_t)(at + PFC_TOKEN_BODY_BYTES - message);
}

/// The parties to one box of suite 2, seen from either side.
struct seal {
  const uint8_t *own_secret;  ///< X25519: of the ephemeral key, or of the hardware
  const uint8_t *other;       ///< X25519: the other side's public key
  const uint8_t *ephemeral;   ///< Public keys, in the order of the page
  const uint8_t *recipient;
  const uint8_t *hardware_id;
  const uint8_t *factory_secret;
};

/// The key of one box of suite 2. PFC_E_RECIPIENT if X25519 gives zeros.
PFC_APART static int seal_key(uint8_t key[32], const struct seal *seal, const uint8_t head[PFC_TOKEN_HEAD_BYTES]) {
  uint8_t input[32 + PFC_FACTORY_SECRET_BYTES];
  uint8_t info[SEAL_INFO_BYTES];
  int result = pfc_shared_secret(input, seal->own_secret, seal->other) == PFC_OK ? PFC_OK : PFC_E_RECIPIENT;
  PFC_DECLASSIFY(&result, sizeof result);
  memcpy(input + 32, seal->factory_secret, PFC_FACTORY_SECRET_BYTES);
  memcpy(info, seal->ephemeral, PFC_PUBLIC_KEY_BYTES);
  memcpy(info + PFC_PUBLIC_KEY_BYTES, seal->recipient, PFC_PUBLIC_KEY_BYTES);
  memcpy(info + 2 * PFC_PUBLIC_KEY_BYTES, seal->hardware_id, PFC_ID_BYTES);
  memcpy(info + 2 * PFC_PUBLIC_KEY_BYTES + PFC_ID_BYTES, head, PFC_TOKEN_HEAD_BYTES);
  pfc_derive(key, PFC_LABEL_TOKEN_SEAL, input, sizeof input, info, sizeof info);
  pfc_wipe(input, sizeof input);
  return result;
}

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
  if (token->version == PFC_TOKEN_VERSION_2) {
    memset(body + AT_HARDWARE, 0, PFC_ID_BYTES);
    body[AT_POLICY] = token->policy;
    pfc_put16(body + AT_DELEGABLE, token->delegable_classes);
    pfc_put32(body + AT_BASE, token->base);
  } else {
    memcpy(body + AT_HARDWARE, token->hardware_id, PFC_ID_BYTES);
  }
  memcpy(body + AT_INSTANCE, token->instance_id, PFC_ID_BYTES);
  memcpy(body + AT_ISSUER, token->issuer_id, PFC_ISSUER_ID_BYTES);
  memcpy(body + AT_SECRETS, &token->secrets, sizeof token->secrets);
}

/// Seals body and signature behind the head that stands in `bytes`.
static int seal_token(uint8_t bytes[PFC_TOKEN_BYTES], const uint8_t *plain, size_t size,
                      const uint8_t recipient[PFC_PUBLIC_KEY_BYTES], const uint8_t *factory_secret,
                      const uint8_t hardware_id[PFC_ID_BYTES], const uint8_t ephemeral[PFC_SECRET_KEY_BYTES]) {
  uint8_t *sealed = bytes + PFC_TOKEN_HEAD_BYTES;
  uint8_t key[32];
  struct seal seal = {.own_secret = ephemeral,
                      .other = recipient,
                      .ephemeral = sealed,
                      .recipient = recipient,
                      .hardware_id = hardware_id,
                      .factory_secret = factory_secret};
  int result;
  if (factory_secret == NULL) return pfc_seal(sealed, plain, size, recipient, ephemeral);
  pfc_public_key(sealed, ephemeral);
  result = seal_key(key, &seal, bytes);
  if (result == PFC_OK) pfc_box(bytes + AT_BOX, plain, size, key);
  pfc_wipe(key, sizeof key);
  return result;
}

int pfc_token_create(uint8_t bytes[PFC_TOKEN_BYTES], const struct pfc_token *token,
                     const uint8_t recipient[PFC_PUBLIC_KEY_BYTES], const uint8_t *factory_secret,
                     const uint8_t signing_key[PFC_SIGNING_KEY_BYTES], const uint8_t ephemeral[PFC_SECRET_KEY_BYTES]) {
  uint8_t message[SIGNED_BYTES_MAX];
  uint8_t plain[PFC_TOKEN_BODY_BYTES + PFC_SIGNATURE_BYTES];
  struct pfc_token named;
  size_t size;
  int result;
  memset(bytes, 0, PFC_TOKEN_BYTES);
  if (!version_is_known(token) || !mode_is_known(token->mode) || !form_is_known(token->form) || !is_valid(token)) {
    return PFC_E_ARGUMENT;
  }
  if (factory_secret != NULL && (token->version == PFC_VERSION || token->form == PFC_FORM_LITERAL)) {
    return PFC_E_ARGUMENT;
  }
  if (token->form == PFC_FORM_LITERAL && (token->policy & PFC_POLICY_UPCOMING) != 0) return PFC_E_ARGUMENT;

  named = *token;
  // The second half of a signing key is its public key.
  pfc_issuer_id(named.issuer_id, signing_key + PFC_SIGNING_KEY_BYTES - PFC_PUBLIC_KEY_BYTES);
  memcpy(bytes, PFC_TOKEN_MAGIC, AT_VERSION);
  bytes[AT_VERSION] = token->version;
  bytes[AT_SUITE] = factory_secret != NULL ? PFC_SUITE_FACTORY : PFC_SUITE;
  memcpy(bytes + AT_HINT, token->hardware_id, HINT_BYTES);
  encode_body(plain, &named);
  size = put_signed(message, recipient, token->hardware_id, bytes, plain);
  pfc_sign(plain + PFC_TOKEN_BODY_BYTES, message, size, signing_key);
  result = seal_token(bytes, plain, sizeof plain, recipient, factory_secret, token->hardware_id, ephemeral);
  if (result != PFC_OK) memset(bytes, 0, PFC_TOKEN_BYTES);
  pfc_wipe(message, sizeof message);
  pfc_wipe(plain, sizeof plain);
  pfc_wipe(&named, sizeof named);
  return result;
}

#if PFC_OPENS_TOKENS

/// Version 2 alone has a suite 2, and only hardware with a factory secret knows it.
static int is_known(uint8_t version, uint8_t suite, const struct pfc_hardware *hardware) {
  if (version == PFC_TOKEN_VERSION_2 && suite == PFC_SUITE_FACTORY) return hardware->has_factory_secret == 1;
  return (version == PFC_VERSION || version == PFC_TOKEN_VERSION_2) && suite == PFC_SUITE;
}

int pfc_token_check_head(const uint8_t *bytes, size_t size, const struct pfc_hardware *hardware) {
  if (size != PFC_TOKEN_BYTES || memcmp(bytes, PFC_TOKEN_MAGIC, AT_VERSION) != 0) return PFC_E_MALFORMED;
  if (!is_known(bytes[AT_VERSION], bytes[AT_SUITE], hardware)) return PFC_E_TOO_NEW;
  if (memcmp(bytes + AT_HINT, hardware->id, HINT_BYTES) != 0) return PFC_E_RECIPIENT;
  // Downgrade: the box of suite 1 holds only until X25519 falls. Refused before any public-key work.
  if (bytes[AT_SUITE] != PFC_SUITE_FACTORY && hardware->has_factory_secret != 0) return PFC_E_MODE;
  return PFC_OK;
}

uint16_t pfc_token_head_detail(const uint8_t *bytes, int result) {
  if (result == PFC_E_MODE) return PFC_TOLD(PFC_DETAIL_SUITE);
  if (result != PFC_E_TOO_NEW) return 0;
  return bytes[AT_VERSION] == PFC_VERSION || bytes[AT_VERSION] == PFC_TOKEN_VERSION_2
             ? PFC_TOLD(PFC_DETAIL_LATER_SUITE)
             : PFC_TOLD(PFC_DETAIL_LATER_VERSION);
}

/// Splits the body. Answers the bits that this build does not know, or-ed: 0 in version 1, which has no room for any.
static uint8_t decode_body(struct pfc_token *token, uint8_t version, const uint8_t body[PFC_TOKEN_BODY_BYTES]) {
  uint8_t unknown = 0;
  token->version = version;
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
  if (version == PFC_TOKEN_VERSION_2) {
    token->policy = body[AT_POLICY];
    token->delegable_classes = pfc_get16(body + AT_DELEGABLE);
    token->base = pfc_get32(body + AT_BASE);
    unknown = unknown_policy(token->policy) | body[AT_ZERO];
    for (size_t i = AT_EXTENSION; i < AT_INSTANCE; i++) unknown |= body[i];
  }
  // All but the secrets is the backend's word, and will show in the verdict.
  PFC_DECLASSIFY(token, offsetof(struct pfc_token, secrets));
  PFC_DECLASSIFY(&unknown, sizeof unknown);
  return unknown;
}

/// The rules of what was unsealed. `message` has room for the signed bytes.
static int check_body(struct pfc_token *token, uint8_t message[SIGNED_BYTES_MAX], const uint8_t *head,
                      const uint8_t *plain, const struct pfc_hardware *hardware, uint16_t *detail) {
  uint8_t unknown;
  size_t size = put_signed(message, hardware->public_key, hardware->id, head, plain);
  int result = pfc_issuer_verify(hardware, plain + AT_ISSUER, plain + PFC_TOKEN_BODY_BYTES, message, size);
  PFC_DECLASSIFY(&result, sizeof result);
  if (result != PFC_OK) return result;
  unknown = decode_body(token, head[AT_VERSION], plain);
  if (token->version == PFC_TOKEN_VERSION_2) memcpy(token->hardware_id, hardware->id, PFC_ID_BYTES);
  if (memcmp(token->hardware_id, hardware->id, PFC_ID_BYTES) != 0) return PFC_E_RECIPIENT;
  // Before every range: a bit of a later version may give another field another meaning.
  *detail = PFC_TOLD(PFC_DETAIL_RESERVED_BIT);
  if (unknown != 0) return PFC_E_TOO_NEW;
  *detail = PFC_TOLD(PFC_DETAIL_OTHER_MODE);
  if (token->mode != hardware->mode) return PFC_E_MODE;
  *detail = PFC_TOLD(PFC_DETAIL_LITERAL_FORM);
  if (token->form == PFC_FORM_LITERAL && hardware->allow_literal != 1) return PFC_E_MODE;
  // Literal secrets are those of all hardware: the secret of one does not seal them.
  if (token->form == PFC_FORM_LITERAL && head[AT_SUITE] == PFC_SUITE_FACTORY) return PFC_E_MODE;
  // Development's shortcut has one generation: a literal secret is not predicted.
  if (token->form == PFC_FORM_LITERAL && (token->policy & PFC_POLICY_UPCOMING) != 0) return PFC_E_MODE;
  *detail = 0;
  return form_is_known(token->form) && is_valid(token) ? PFC_OK : PFC_E_MALFORMED;
}

/// Opens the box, by the suite that the head names.
static int unseal_token(uint8_t plain[PFC_TOKEN_BODY_BYTES + PFC_SIGNATURE_BYTES], const uint8_t bytes[PFC_TOKEN_BYTES],
                        const struct pfc_hardware *hardware) {
  const uint8_t *sealed = bytes + PFC_TOKEN_HEAD_BYTES;
  uint8_t key[32];
  struct seal seal = {.own_secret = hardware->secret_key,
                      .other = sealed,
                      .ephemeral = sealed,
                      .recipient = hardware->public_key,
                      .hardware_id = hardware->id,
                      .factory_secret = hardware->factory_secret};
  int result;
  if (bytes[AT_SUITE] == PFC_SUITE) {
    return pfc_unseal(plain, sealed, PFC_TOKEN_BYTES - PFC_TOKEN_HEAD_BYTES, hardware->public_key,
                      hardware->secret_key);
  }
  result = seal_key(key, &seal, bytes);
  if (result == PFC_OK) result = pfc_unbox(plain, bytes + AT_BOX, PFC_TOKEN_BYTES - AT_BOX, key);
  pfc_wipe(key, sizeof key);
  return result;
}

/// Judges what was unsealed. Apart: the room for the signed bytes is not on the stack while the box is opened.
PFC_APART static int judge_body(struct pfc_token *token, const uint8_t *head, const uint8_t *plain,
                                const struct pfc_hardware *hardware, uint16_t *detail) {
  uint8_t message[SIGNED_BYTES_MAX];
  int result = check_body(token, message, head, plain, hardware, detail);
  pfc_wipe(message, sizeof message);
  return result;
}

int pfc_token_open_told(struct pfc_token *token, const uint8_t *bytes, size_t size,
                        const struct pfc_hardware *hardware, uint16_t *detail) {
  uint8_t plain[PFC_TOKEN_BODY_BYTES + PFC_SIGNATURE_BYTES];
  int result;
  *detail = 0;
  memset(token, 0, sizeof *token);
  result = pfc_token_check_head(bytes, size, hardware);
  if (result != PFC_OK) return result;
  result = unseal_token(plain, bytes, hardware);
  PFC_DECLASSIFY(&result, sizeof result);
  if (result == PFC_OK) result = judge_body(token, bytes, plain, hardware, detail);
  if (result != PFC_OK) pfc_wipe(token, sizeof *token);
  pfc_wipe(plain, sizeof plain);
  return result;
}

int pfc_token_open(struct pfc_token *token, const uint8_t *bytes, size_t size, const struct pfc_hardware *hardware) {
  uint16_t detail;
  return pfc_token_open_told(token, bytes, size, hardware, &detail);
}

#endif

void pfc_token_digest(uint8_t digest[PFC_TOKEN_DIGEST_BYTES], const uint8_t bytes[PFC_TOKEN_BYTES]) {
  uint8_t full[32];
  pfc_hash_once(full, PFC_LABEL_TOKEN_ID, bytes, PFC_TOKEN_BYTES);
  memcpy(digest, full, PFC_TOKEN_DIGEST_BYTES);
}
