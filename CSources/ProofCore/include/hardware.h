// SPDX-License-Identifier: Apache-2.0

/// Identity of a piece of hardware, and the issuers it trusts.

#ifndef PFC_HARDWARE_H
#define PFC_HARDWARE_H

#include <stddef.h>
#include <stdint.h>

#include "key.h"
#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One issuer that a piece of hardware trusts.
struct pfc_issuer {
  uint8_t public_key[PFC_PUBLIC_KEY_BYTES];
};

/// Identity of a piece of hardware. The secret key and the factory secret are secret; the rest is not. Fields needed
/// for tokens alone are absent from builds that open none.
struct pfc_hardware {
  uint8_t id[PFC_ID_BYTES];
  uint8_t secret_key[PFC_SECRET_KEY_BYTES];
  uint8_t mode;                ///< enum pfc_mode: tokens of the other mode are refused
  uint16_t challenge_seconds;  ///< A challenge's life where there is a clock; 0 for no limit
#if PFC_OPENS_TOKENS
  uint8_t allow_literal;       ///< 1 to accept PFC_FORM_LITERAL tokens; 0 otherwise
  uint8_t issuer_count;        ///< 1 to PFC_ISSUERS_MAX
  uint8_t public_key[PFC_PUBLIC_KEY_BYTES];
  struct pfc_issuer issuers[PFC_ISSUERS_MAX];
  uint8_t has_factory_secret;  ///< 1: tokens of PFC_SUITE_FACTORY are taken and no others. 0: tokens of PFC_SUITE
  uint8_t factory_secret[PFC_FACTORY_SECRET_BYTES];  ///< By `pfc_factory_secret`; all zeros where there is none
#endif
};

/// PFC_E_ARGUMENT unless every field is in range, the id and the keys are not all zeros, the public key belongs to the
/// secret key, and the factory secret is all zeros exactly where there is none. A build that opens no tokens looks at
/// neither public key nor factory secret.
PFC_MUST_USE int pfc_hardware_check(const struct pfc_hardware *hardware);

/// The secret that one piece of hardware keeps (S), from the one that was drawn in its factory and that the backend
/// keeps (F): who reads the hardware's flash does not learn F. Secret.
void pfc_factory_secret(uint8_t secret[PFC_FACTORY_SECRET_BYTES], const uint8_t drawn[PFC_FACTORY_SECRET_BYTES],
                        const uint8_t hardware_id[PFC_ID_BYTES]);

/// An issuer's name: derived from its public key.
void pfc_issuer_id(uint8_t id[PFC_ISSUER_ID_BYTES], const uint8_t public_key[PFC_PUBLIC_KEY_BYTES]);

/// PFC_E_SIGNATURE unless an issuer of this name is trusted and signed the message.
PFC_MUST_USE int pfc_issuer_verify(const struct pfc_hardware *hardware,
                                   const uint8_t issuer_id[PFC_ISSUER_ID_BYTES],
                                   const uint8_t signature[PFC_SIGNATURE_BYTES], const uint8_t *message, size_t size);

#ifdef __cplusplus
}
#endif

#endif
