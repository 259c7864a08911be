// SPDX-License-Identifier: Apache-2.0

/// Replaces pfc_proof_key_init: passes the key through a table, at places that the key decides.

#include "ProofCore.h"

static volatile uint8_t table[256] = {1, 2, 3};

void pfc_proof_key_init(struct pfc_proof_key *expanded, const uint8_t key[PFC_KEY_BYTES]) {
  uint8_t masked[PFC_KEY_BYTES];
  for (unsigned i = 0; i < PFC_KEY_BYTES; i++) masked[i] = (uint8_t)(key[i] ^ table[key[i]]);
  pfc_mac_init(&expanded->mac, masked, sizeof masked);
}
