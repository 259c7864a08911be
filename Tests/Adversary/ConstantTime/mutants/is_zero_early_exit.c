// SPDX-License-Identifier: Apache-2.0

/// Replaces pfc_is_zero: stops at the first byte that is not zero.

#include "ProofCore.h"

int pfc_is_zero(const void *bytes, size_t size) {
  const uint8_t *byte = bytes;
  for (size_t i = 0; i < size; i++) {
    if (byte[i] != 0) return 0;
  }
  return 1;
}
