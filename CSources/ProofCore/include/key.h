// SPDX-License-Identifier: Apache-2.0

/// The measurement proof key (MPK) and what is derived from it.
///
/// A key is not bytes but a way to get at bytes: the app's key is dissolved in generated code, the service's stands in
/// its store. Either way the core loads it into its own stack inside one call and wipes it before the call returns.

#ifndef PFC_KEY_H
#define PFC_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Production or development. A development key marks everything made with it; production hardware refuses it.
enum pfc_mode {
  PFC_MODE_PRODUCTION = 1,
  PFC_MODE_DEVELOPMENT = 2
};

/// A measurement proof key. `load` writes the 16 bytes to `bytes`, from `context`, and keeps no copy.
struct pfc_key {
  void (*load)(uint8_t bytes[PFC_KEY_BYTES], const void *context);
  const void *context;
  uint8_t mode;  ///< enum pfc_mode
};

/// A key whose 16 bytes stand at `context` (the service's side, tests). `bytes` must outlive the key.
struct pfc_key pfc_key_plain(const uint8_t bytes[PFC_KEY_BYTES], uint8_t mode);

/// The key's public name: the mode byte, then seven bytes derived from the key and the mode.
void pfc_key_id(uint8_t id[PFC_KEY_ID_BYTES], const struct pfc_key *key);

/// The device proof key (DPK) that this key gives under a configuration's salt. Secret.
void pfc_key_device(uint8_t device_key[PFC_KEY_BYTES], const struct pfc_key *key,
                    const uint8_t salt[PFC_SALT_BYTES]);

/// Result of one measurement. Secret; wipe it when done.
struct pfc_measured {
  uint8_t integrity[PFC_MEASUREMENT_BYTES];  ///< IM
  uint8_t device[PFC_MEASUREMENT_BYTES];     ///< DM
  uint8_t device_key[PFC_KEY_BYTES];         ///< DPK
};

/// How a token's secrets relate to the app's.
enum pfc_form {
  PFC_FORM_DIVERSIFIED = 1,  ///< Derived for one piece of hardware; useless at any other.
  PFC_FORM_LITERAL = 2       ///< Plain MPK, IM, DPK, DM: the compatibility mode. Hardware must allow it by name.
};

/// Secrets that one piece of hardware needs to check proofs, and the app to make them.
struct pfc_secrets {
  uint8_t integrity_key[PFC_KEY_BYTES];
  uint8_t integrity[PFC_MEASUREMENT_BYTES];
  uint8_t device_key[PFC_KEY_BYTES];
  uint8_t device[PFC_MEASUREMENT_BYTES];
};

/// Makes the secrets for the hardware named. PFC_E_ARGUMENT for an unknown form.
PFC_MUST_USE int pfc_secrets_make(struct pfc_secrets *secrets, const struct pfc_key *key,
                                  const struct pfc_measured *measured, uint8_t form,
                                  const uint8_t hardware_id[PFC_ID_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
