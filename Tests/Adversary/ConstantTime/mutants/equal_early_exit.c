// SPDX-License-Identifier: Apache-2.0

/// Replaces pfc_equal: stops at the first byte that differs.

#include "ProofCore.h"

int pfc_equal(const void *a, const void *b, size_t size) {
  const uint8_t *left = a, *right = b;
  for (size_t i = 0; i < size; i++) {
    if (left[i] != right[i]) return 0;
  }
  return 1;
}
