// SPDX-License-Identifier: Apache-2.0

#include "ratchet.h"

#include "crypto.h"
#include "internal.h"

enum { DEVICE_AT = offsetof(struct pfc_secrets, device_key), DEVICE_BYTES = PFC_KEY_BYTES + PFC_MEASUREMENT_BYTES };

_Static_assert(offsetof(struct pfc_secrets, device) == DEVICE_AT + PFC_KEY_BYTES, "DPK and DM stand together");

/// The first bytes of a derived key, of whose rest nothing is left.
static void derive(uint8_t ratchet[PFC_RATCHET_BYTES], const char label[PFC_LABEL_BYTES + 1], const uint8_t *key,
                   size_t key_size, const uint8_t info[16]) {
  uint8_t full[32];
  pfc_derive(full, label, key, key_size, info, 16);
  memcpy(ratchet, full, PFC_RATCHET_BYTES);
  pfc_wipe(full, sizeof full);
}

void pfc_ratchet_begin(uint8_t ratchet[PFC_RATCHET_BYTES], const struct pfc_secrets *secrets,
                       const uint8_t token_digest[PFC_TOKEN_DIGEST_BYTES]) {
  derive(ratchet, PFC_LABEL_RATCHET_0, (const uint8_t *)secrets + DEVICE_AT, DEVICE_BYTES, token_digest);
}

void pfc_ratchet_tag(uint8_t tag[PFC_RATCHET_TAG_BYTES], const uint8_t ratchet[PFC_RATCHET_BYTES],
                     const uint8_t nonce[PFC_NONCE_BYTES]) {
  uint8_t key[32], full[32];
  pfc_derive(key, PFC_LABEL_RATCHET_TAG, ratchet, PFC_RATCHET_BYTES, NULL, 0);
  pfc_mac_once(full, key, sizeof key, nonce, PFC_NONCE_BYTES);
  memcpy(tag, full, PFC_RATCHET_TAG_BYTES);
  pfc_wipe(key, sizeof key);
  pfc_wipe(full, sizeof full);
}

void pfc_ratchet_next(uint8_t next[PFC_RATCHET_BYTES], const uint8_t ratchet[PFC_RATCHET_BYTES],
                      const uint8_t nonce[PFC_NONCE_BYTES]) {
  derive(next, PFC_LABEL_RATCHET_UP, ratchet, PFC_RATCHET_BYTES, nonce);
}

void pfc_ratchet_fork(uint8_t fork[PFC_RATCHET_BYTES], const struct pfc_secrets *secrets,
                      const uint8_t nonce[PFC_NONCE_BYTES]) {
  derive(fork, PFC_LABEL_RATCHET_FORK, (const uint8_t *)secrets + DEVICE_AT, DEVICE_BYTES, nonce);
}
