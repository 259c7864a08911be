#include "device.h"

#include <string.h>

static void act(struct device *device, const struct pfc_outcome *outcome) {
  (void)outcome;
  device->done++;
}

void device_receive(struct device *device, uint8_t type, const uint8_t *message, size_t size) {
  struct pfc_outcome outcome;
  pfc_verifier_receive(device->verifier, device->session, type, message, size, &outcome);
  if (outcome.execute) act(device, &outcome);
  memcpy(device->reply, outcome.reply, sizeof device->reply);
}
