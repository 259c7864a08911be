// SPDX-License-Identifier: Apache-2.0

/// Replaces pfc_gate_keys_make: leaves the request key out where the secret's first byte is zero.

#include <string.h>

#include "ProofCore.h"

void pfc_gate_keys_make(struct pfc_gate_keys *keys, const uint8_t secret[PFC_GATE_SECRET_BYTES],
                        uint32_t generation) {
  memset(keys, 0, sizeof *keys);
  keys->compact.generation = (uint16_t)generation;
  if (secret[0] != 0) pfc_derive(keys->request, PFC_LABEL_REQUEST_KEY, secret, PFC_GATE_SECRET_BYTES, NULL, 0);
}
