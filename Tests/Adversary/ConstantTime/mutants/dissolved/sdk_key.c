// SPDX-License-Identifier: Apache-2.0

/// Stands where the generated key stands: looks bytes up at places that other bytes of the key decide.

#include "ProofKey.h"

static const volatile uint8_t noise_a[97] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
static const volatile uint8_t noise_b[97] = {2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5, 9, 0, 4, 5};
static const volatile uint8_t noise_c[97] = {1, 4, 1, 4, 2, 1, 3, 5, 6, 2, 3, 7, 3, 0, 9, 5};

static void load(uint8_t bytes[PFC_KEY_BYTES], const void *context) {
  (void)context;
  for (unsigned i = 0; i < PFC_KEY_BYTES; i++) bytes[i] = (uint8_t)(noise_a[i] ^ noise_b[noise_c[i] % 97]);
}

const struct pfc_key pfc_sdk_key = {.load = load, .context = NULL, .mode = PFC_MODE_DEVELOPMENT};
