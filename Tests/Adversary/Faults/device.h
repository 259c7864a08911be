// SPDX-License-Identifier: Apache-2.0

/// The least of a device model: judges a message, does the command if it is to be done, sends the reply.

#ifndef DEVICE_H
#define DEVICE_H

#include "ProofCore.h"

struct device {
  struct pfc_verifier *verifier;
  struct pfc_session *session;
  struct pfc_outcome outcome;
  uint8_t reply_type;
  uint8_t reply[PFC_REPLY_MAX];
};

/// How many commands were done. It stands apart: a wild store that hits the device is no command.
extern volatile unsigned device_done;

void device_receive(struct device *device, uint8_t type, const uint8_t *message, size_t size);

#endif
