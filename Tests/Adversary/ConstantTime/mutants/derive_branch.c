// SPDX-License-Identifier: Apache-2.0

/// Replaces pfc_derive: takes another way when one bit of the key is set.

#include "ProofCore.h"

void pfc_derive(uint8_t derived[32], const char label[PFC_LABEL_BYTES + 1], const uint8_t *key, size_t key_size,
                const void *info, size_t info_size) {
  uint8_t extra[32];
  pfc_hkdf(derived, (const uint8_t *)label, PFC_LABEL_BYTES, key, key_size, info, info_size);
  if ((key[0] & 1) != 0) pfc_hkdf(extra, NULL, 0, key, key_size, NULL, 0);
}
