// SPDX-License-Identifier: Apache-2.0

/// Replaces pfc_native_mac_short: pads by another way when one bit of the message is set.

#include "../../../../CSources/ProofCore/sha256_parts.h"

void pfc_native_mac_short(uint8_t tag[32], const struct pfc_short *message) {
  struct pfc_mac mac = *message->key;
  const uint8_t *measurement = message->b;
  pfc_native_mac_update(&mac, message->a, message->a_size);
  if ((measurement[0] & 1) != 0) {
    pfc_native_mac_update(&mac, measurement, 1);
    pfc_native_mac_update(&mac, measurement + 1, message->b_size - 1);
  } else {
    pfc_native_mac_update(&mac, measurement, message->b_size);
  }
  pfc_native_mac_final(tag, &mac);
}
