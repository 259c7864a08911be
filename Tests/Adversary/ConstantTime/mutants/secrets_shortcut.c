// SPDX-License-Identifier: Apache-2.0

/// Replaces pfc_secrets_make: looks at a secret to save itself work.

#include <string.h>

#include "ProofCore.h"

int pfc_secrets_make(struct pfc_secrets *secrets, const struct pfc_key *key, const struct pfc_measured *measured,
                     uint8_t form, const uint8_t hardware_id[PFC_ID_BYTES]) {
  uint8_t derived[32];
  (void)form;
  key->load(secrets->integrity_key, key->context);
  pfc_derive(derived, PFC_LABEL_HARDWARE_IM, measured->integrity, sizeof measured->integrity, hardware_id,
             PFC_ID_BYTES);
  memcpy(secrets->integrity, derived, sizeof derived);
  memcpy(secrets->device_key, measured->device_key, sizeof secrets->device_key);
  memcpy(secrets->device, measured->device, sizeof secrets->device);
  if (memcmp(measured->integrity, measured->device, sizeof measured->device) != 0) {
    pfc_derive(secrets->device, PFC_LABEL_HARDWARE_DM, measured->device, sizeof measured->device, hardware_id,
               PFC_ID_BYTES);
  }
  return PFC_OK;
}
