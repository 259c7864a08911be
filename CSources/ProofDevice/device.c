// SPDX-License-Identifier: Apache-2.0

#include "device.h"

#include <string.h>

void pfd_device_init(struct pfd_device *device) {
  memset(device, 0, sizeof *device);
  device->firmware = PFD_FIRMWARE_FIRST;
}

static int is_word(const uint8_t *command, size_t size, const char *word) {
  return size == strlen(word) && memcmp(command, word, size) == 0;
}

/// The number behind `word`, written without sign, space or leading zero; -1 if that is not what stands there.
static int32_t number_after(const uint8_t *command, size_t size, const char *word) {
  size_t at = strlen(word);
  int32_t number = 0;
  if (size <= at || size > at + 5 || memcmp(command, word, at) != 0) return -1;
  if (command[at] == '0' && size > at + 1) return -1;
  for (; at < size; at++) {
    if (command[at] < '0' || command[at] > '9') return -1;
    number = number * 10 + (command[at] - '0');
  }
  return number;
}

static enum pfd_done turn(struct pfd_device *device, const uint8_t *command, size_t size, uint32_t seconds) {
  if (is_word(command, size, "open")) {
    device->open = 1;
    device->opened = seconds;
    return PFD_DONE;
  }
  if (is_word(command, size, "close")) {
    device->open = 0;
    return PFD_DONE;
  }
  return PFD_DONE_UNKNOWN;
}

static enum pfd_done set_autolock(struct pfd_device *device, const uint8_t *command, size_t size) {
  int32_t number = number_after(command, size, "autolock ");
  if (number < 0) return PFD_DONE_UNKNOWN;
  if (number > PFD_AUTOLOCK_MAX) return PFD_DONE_RANGE;
  device->autolock = (uint16_t)number;
  return PFD_DONE;
}

static enum pfd_done install(struct pfd_device *device, const uint8_t *command, size_t size) {
  int32_t number = number_after(command, size, "install ");
  if (number < 0) return PFD_DONE_UNKNOWN;
  if (number > UINT16_MAX || number < device->firmware) return PFD_DONE_RANGE;
  device->firmware = (uint16_t)number;
  return PFD_DONE;
}

enum pfd_done pfd_device_do(struct pfd_device *device, uint8_t command_class, const uint8_t *command, size_t size,
                            uint32_t seconds) {
  enum pfd_done done = PFD_DONE_UNKNOWN;
  switch (command_class) {
    case PFD_CLASS_STATUS:
      if (is_word(command, size, "status")) done = PFD_DONE;
      break;
    case PFD_CLASS_UNLOCK:
      done = turn(device, command, size, seconds);
      break;
    case PFD_CLASS_SETTINGS:
      done = set_autolock(device, command, size);
      break;
    case PFD_CLASS_FIRMWARE:
      done = install(device, command, size);
      break;
    default:
      break;
  }
  if (done == PFD_DONE) device->done++;
  return done;
}

int pfd_device_tick(struct pfd_device *device, uint32_t seconds) {
  if (!device->open || device->autolock == 0 || seconds - device->opened < device->autolock) return 0;
  device->open = 0;
  return 1;
}
