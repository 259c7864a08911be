// SPDX-License-Identifier: Apache-2.0

/// The measurement token: what the backend tells one piece of hardware about one app instance.
///
/// Signed by the backend, then sealed to the hardware. The signature covers the recipient's public key and the clear
/// header, so a token can be neither forged from the public keys alone nor re-sealed to another recipient.
///
/// Version 1 carries the hardware id in its body. Version 2 signs it without carrying it, and has policy, delegable
/// classes and base in its place. Both have 288 bytes. A token of version 2 is sealed by suite 1, or by suite 2, whose
/// key comes from X25519 and from the hardware's factory secret: a quantum computer that breaks X25519 and Ed25519
/// neither opens nor makes such a token.

#ifndef PFC_TOKEN_H
#define PFC_TOKEN_H

#include <stddef.h>
#include <stdint.h>

#include "hardware.h"
#include "key.h"
#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A measurement token, opened. Secret.
struct pfc_token {
  uint8_t version;             ///< PFC_VERSION or PFC_TOKEN_VERSION_2
  uint8_t policy;              ///< enum pfc_ratchet_policy, within PFC_TOKEN_POLICY; 0 in version 1
  uint8_t mode;                ///< enum pfc_mode
  uint8_t form;                ///< enum pfc_form
  uint16_t integrity_classes;  ///< Command classes an integrity match permits, one bit each; at least one
  uint16_t device_classes;     ///< Those a device-only match permits; a subset of `integrity_classes`
  uint16_t delegable_classes;  ///< Those its owner may lend by grants; a subset of `integrity_classes`; 0 in
                               ///< version 1
  uint16_t attempts;           ///< Integrity failures allowed; 1 or more
  uint32_t uses;               ///< Accepted commands allowed; 1 or more, or PFC_USES_UNLIMITED
  uint32_t generation;         ///< Generation of the configuration; 1 to PFC_GENERATION_ALL - 1
  uint32_t base;               ///< Lowest generation of the same fetch: 1 to `generation`; 0 in version 1
  uint64_t not_after;          ///< Unix seconds, or 0 for no end. Otherwise not before `issued`
  uint64_t issued;             ///< Unix seconds; 1 or more. The token is an epoch marker too
  uint8_t hardware_id[PFC_ID_BYTES];
  uint8_t instance_id[PFC_ID_BYTES];
  uint8_t issuer_id[PFC_ISSUER_ID_BYTES];  ///< Set by `pfc_token_create`
  struct pfc_secrets secrets;              ///< None of the four may be all zeros.
};

/// Backend side: signs, then seals: by suite 2 with the PFC_FACTORY_SECRET_BYTES of `factory_secret`, by suite 1 where
/// that is NULL. `ephemeral` is 32 fresh random bytes. PFC_E_ARGUMENT if a field is out of range, or if suite 2 is
/// asked for with version 1 or with the literal form, or PFC_POLICY_UPCOMING with the literal form;
/// PFC_E_RECIPIENT if the recipient's key is not usable. The output
/// is then zeroed.
PFC_MUST_USE int pfc_token_create(uint8_t bytes[PFC_TOKEN_BYTES], const struct pfc_token *token,
                                  const uint8_t recipient[PFC_PUBLIC_KEY_BYTES], const uint8_t *factory_secret,
                                  const uint8_t signing_key[PFC_SIGNING_KEY_BYTES],
                                  const uint8_t ephemeral[PFC_SECRET_KEY_BYTES]);

/// Checks the head alone, at almost no cost: PFC_E_MALFORMED, PFC_E_TOO_NEW or PFC_E_RECIPIENT for bytes not shaped
/// like a token for this hardware, PFC_E_MODE for suite 1 where there is a factory secret. Suite 2 is PFC_E_TOO_NEW
/// where there is none. `pfc_token_open` begins with it.
PFC_MUST_USE int pfc_token_check_head(const uint8_t *bytes, size_t size, const struct pfc_hardware *hardware);

/// Hardware side: refuses what is not shaped like a token before any public-key work (`pfc_token_check_head`), then
/// unseals (PFC_E_RECIPIENT), checks issuer and signature (PFC_E_SIGNATURE), hardware id (version 1: PFC_E_RECIPIENT;
/// version 2 signs it), policy and reserved bytes (PFC_E_TOO_NEW), mode and form (PFC_E_MODE) and every bound
/// (PFC_E_MALFORMED). On failure `*token` is all zeros.
PFC_MUST_USE int pfc_token_open(struct pfc_token *token, const uint8_t *bytes, size_t size,
                                const struct pfc_hardware *hardware);

/// A token's short name, of its sealed bytes; the nonce of the receipt that answers it.
void pfc_token_digest(uint8_t digest[PFC_TOKEN_DIGEST_BYTES], const uint8_t bytes[PFC_TOKEN_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
