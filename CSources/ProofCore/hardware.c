// SPDX-License-Identifier: Apache-2.0

#include "hardware.h"

#include "crypto.h"
#include "internal.h"

int pfc_hardware_check(const struct pfc_hardware *hardware) {
  if (hardware->mode != PFC_MODE_PRODUCTION && hardware->mode != PFC_MODE_DEVELOPMENT) return PFC_E_ARGUMENT;
  if (pfc_is_zero(hardware->id, PFC_ID_BYTES)) return PFC_E_ARGUMENT;
  if (pfc_is_zero(hardware->secret_key, PFC_SECRET_KEY_BYTES)) return PFC_E_ARGUMENT;
#if PFC_OPENS_TOKENS
  {
    uint8_t public_key[PFC_PUBLIC_KEY_BYTES];
    if (hardware->allow_literal > 1) return PFC_E_ARGUMENT;
    if (hardware->issuer_count == 0 || hardware->issuer_count > PFC_ISSUERS_MAX) return PFC_E_ARGUMENT;
    for (unsigned i = 0; i < hardware->issuer_count; i++) {
      if (pfc_is_zero(hardware->issuers[i].public_key, PFC_PUBLIC_KEY_BYTES)) return PFC_E_ARGUMENT;
    }
    pfc_public_key(public_key, hardware->secret_key);
    if (!pfc_equal(public_key, hardware->public_key, sizeof public_key)) return PFC_E_ARGUMENT;
    if (hardware->has_factory_secret > 1) return PFC_E_ARGUMENT;
    if (pfc_is_zero(hardware->factory_secret, PFC_FACTORY_SECRET_BYTES) == hardware->has_factory_secret) {
      return PFC_E_ARGUMENT;
    }
  }
#endif
  return PFC_OK;
}

void pfc_factory_secret(uint8_t secret[PFC_FACTORY_SECRET_BYTES], const uint8_t drawn[PFC_FACTORY_SECRET_BYTES],
                        const uint8_t hardware_id[PFC_ID_BYTES]) {
  pfc_derive(secret, PFC_LABEL_FACTORY_SECRET, drawn, PFC_FACTORY_SECRET_BYTES, hardware_id, PFC_ID_BYTES);
}

void pfc_issuer_id(uint8_t id[PFC_ISSUER_ID_BYTES], const uint8_t public_key[PFC_PUBLIC_KEY_BYTES]) {
  uint8_t digest[32];
  pfc_hash_once(digest, PFC_LABEL_ISSUER_ID, public_key, PFC_PUBLIC_KEY_BYTES);
  memcpy(id, digest, PFC_ISSUER_ID_BYTES);
}

#if PFC_OPENS_TOKENS
int pfc_issuer_verify(const struct pfc_hardware *hardware, const uint8_t issuer_id[PFC_ISSUER_ID_BYTES],
                      const uint8_t signature[PFC_SIGNATURE_BYTES], const uint8_t *message, size_t size) {
  uint8_t id[PFC_ISSUER_ID_BYTES];
  for (unsigned i = 0; i < hardware->issuer_count && i < PFC_ISSUERS_MAX; i++) {
    pfc_issuer_id(id, hardware->issuers[i].public_key);
    if (memcmp(id, issuer_id, sizeof id) == 0) {
      return pfc_verify(signature, message, size, hardware->issuers[i].public_key);
    }
  }
  return PFC_E_SIGNATURE;
}
#endif
