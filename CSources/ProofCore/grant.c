// SPDX-License-Identifier: Apache-2.0

#include "grant.h"

#include "crypto.h"
#include "internal.h"
#include "message.h"

enum {
  AT_VERSION = 2,
  AT_SUITE = 3,
  AT_HINT = 4,
  HINT_BYTES = 4,
  AT_OWNER = 8,
  AT_MEMBER = 24,
  AT_GENERATION = 40,
  AT_SERIAL = 44,
  AT_CLASSES = 48,
  AT_USES = 50,
  AT_END = 52,
  AT_ZERO = 60,
  AT_TAG = 64
};

_Static_assert(AT_TAG + PFC_GRANT_TAG_BYTES == PFC_GRANT_BYTES, "the tag ends a grant");
_Static_assert(sizeof(struct pfc_secrets) == 96, "the four secrets are one key as they stand");

/// The ranges of docs/SPEC.md, section 19.
static int is_valid(const struct pfc_grant *grant) {
  if (grant->generation == 0 || grant->serial == 0) return 0;
  if (grant->classes == 0) return grant->uses == 0 && grant->end == 0;
  return grant->uses != 0 && grant->uses <= PFC_GRANT_USES_MAX && grant->end != 0;
}

PFC_APART void pfc_grant_tag(uint8_t tag[PFC_GRANT_TAG_BYTES], const uint8_t bytes[PFC_GRANT_BYTES],
                             const struct pfc_secrets *secrets, const uint8_t token_digest[PFC_TOKEN_DIGEST_BYTES]) {
  uint8_t key[32];
  pfc_derive(key, PFC_LABEL_GRANT_KEY, (const uint8_t *)secrets, sizeof *secrets, token_digest,
             PFC_TOKEN_DIGEST_BYTES);
  pfc_mac_once(tag, key, sizeof key, bytes, AT_TAG);
  pfc_wipe(key, sizeof key);
}

int pfc_grant_create(uint8_t bytes[PFC_GRANT_BYTES], const struct pfc_grant *grant, const struct pfc_secrets *secrets,
                     const uint8_t token_digest[PFC_TOKEN_DIGEST_BYTES]) {
  memset(bytes, 0, PFC_GRANT_BYTES);
  if (!is_valid(grant)) return PFC_E_ARGUMENT;
  memcpy(bytes, PFC_GRANT_MAGIC, AT_VERSION);
  bytes[AT_VERSION] = PFC_VERSION;
  bytes[AT_SUITE] = PFC_SUITE;
  memcpy(bytes + AT_HINT, grant->hardware_id, HINT_BYTES);
  memcpy(bytes + AT_OWNER, grant->owner, PFC_ID_BYTES);
  memcpy(bytes + AT_MEMBER, grant->member, PFC_TOKEN_DIGEST_BYTES);
  pfc_put32(bytes + AT_GENERATION, grant->generation);
  pfc_put32(bytes + AT_SERIAL, grant->serial);
  pfc_put16(bytes + AT_CLASSES, grant->classes);
  pfc_put16(bytes + AT_USES, grant->uses);
  pfc_put64(bytes + AT_END, grant->end);
  pfc_grant_tag(bytes + AT_TAG, bytes, secrets, token_digest);
  return PFC_OK;
}

void pfc_grant_digest(uint8_t digest[PFC_NONCE_BYTES], const uint8_t bytes[PFC_GRANT_BYTES]) {
  uint8_t full[32];
  pfc_hash_once(full, PFC_LABEL_GRANT_ID, bytes, PFC_GRANT_BYTES);
  memcpy(digest, full, PFC_NONCE_BYTES);
}

int pfc_grant_read(struct pfc_grant *grant, const uint8_t *bytes, size_t size) {
  memset(grant, 0, sizeof *grant);
  if (size != PFC_GRANT_BYTES || memcmp(bytes, PFC_GRANT_MAGIC, AT_VERSION) != 0) return PFC_E_MALFORMED;
  if (bytes[AT_VERSION] != PFC_VERSION || bytes[AT_SUITE] != PFC_SUITE) return PFC_E_TOO_NEW;
  if (pfc_get32(bytes + AT_ZERO) != 0) return PFC_E_TOO_NEW;
  memcpy(grant->hardware_id, bytes + AT_HINT, HINT_BYTES);
  memcpy(grant->owner, bytes + AT_OWNER, PFC_ID_BYTES);
  memcpy(grant->member, bytes + AT_MEMBER, PFC_TOKEN_DIGEST_BYTES);
  grant->generation = pfc_get32(bytes + AT_GENERATION);
  grant->serial = pfc_get32(bytes + AT_SERIAL);
  grant->classes = pfc_get16(bytes + AT_CLASSES);
  grant->uses = pfc_get16(bytes + AT_USES);
  grant->end = pfc_get64(bytes + AT_END);
  if (is_valid(grant)) return PFC_OK;
  memset(grant, 0, sizeof *grant);
  return PFC_E_MALFORMED;
}

#if PFC_GRANTS

int pfc_grant_decode(struct pfc_grant *grant, const uint8_t *bytes, size_t size,
                     const uint8_t hardware_id[PFC_ID_BYTES]) {
  int result = pfc_grant_read(grant, bytes, size);
  if (result != PFC_OK) return result;
  if (memcmp(grant->hardware_id, hardware_id, HINT_BYTES) != 0) {
    memset(grant, 0, sizeof *grant);
    return PFC_E_RECIPIENT;
  }
  memcpy(grant->hardware_id, hardware_id, PFC_ID_BYTES);
  return PFC_OK;
}

uint16_t pfc_grant_head_detail(const uint8_t bytes[PFC_GRANT_BYTES]) {
  if (bytes[AT_VERSION] != PFC_VERSION) return PFC_DETAIL_LATER_VERSION;
  return bytes[AT_SUITE] != PFC_SUITE ? PFC_DETAIL_LATER_SUITE : PFC_DETAIL_RESERVED_BIT;
}

int pfc_grant_check(const uint8_t bytes[PFC_GRANT_BYTES], const struct pfc_secrets *secrets,
                    const uint8_t token_digest[PFC_TOKEN_DIGEST_BYTES]) {
  uint8_t expected[PFC_GRANT_TAG_BYTES];
  int result;
  pfc_grant_tag(expected, bytes, secrets, token_digest);
  result = pfc_equal(expected, bytes + AT_TAG, sizeof expected) ? PFC_OK : PFC_E_DIFFERS;
  pfc_wipe(expected, sizeof expected);
  return result;
}

#endif
