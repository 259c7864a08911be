// SPDX-License-Identifier: Apache-2.0

#include "device.h"

#include <string.h>

volatile unsigned device_done;

/// Does the command, if the outcome says so, as it stands in memory by now.
static void act(const struct pfc_outcome *outcome) {
  const volatile uint32_t *execute = &outcome->execute;
  if (*execute != PFC_EXECUTE) return;
  device_done++;
}

void device_receive(struct device *device, uint8_t type, const uint8_t *message, size_t size) {
  struct pfc_outcome *outcome = &device->outcome;
  memset(outcome, 0, sizeof *outcome);
  pfc_verifier_receive(device->verifier, device->session, type, message, size, outcome);
  if (outcome->execute == PFC_EXECUTE) act(outcome);
  device->reply_type = outcome->reply_type;
  memcpy(device->reply, outcome->reply, sizeof device->reply);
  memset(outcome, 0, sizeof *outcome);
}
