// SPDX-License-Identifier: Apache-2.0

/// A small device to command: a lock with a setting and a firmware, in four classes of commands.
///
/// Commands are ASCII words, so that a log and a demonstration can be read:
///
/// | class | command | does |
/// |---|---|---|
/// | 0 status | `status` | nothing |
/// | 1 unlock | `open`, `close` | opens and closes the lock |
/// | 2 settings | `autolock N` | closes N seconds after opening, 0 to 3600, 0 never; needs a clock |
/// | 3 firmware | `install N` | sets the firmware's version, 1 to 65535, never to a lower one |
///
/// The verifier decides whether a command may be done; the device says whether it knows how. A port that stores the
/// state (state.h) brings lock, setting and version back after a power cut; otherwise they are the factory's then.

#ifndef PFD_DEVICE_H
#define PFD_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PFD_AUTOLOCK_MAX 3600    ///< Seconds
#define PFD_FIRMWARE_FIRST 1     ///< The factory's

enum pfd_class {
  PFD_CLASS_STATUS = 0,
  PFD_CLASS_UNLOCK = 1,
  PFD_CLASS_SETTINGS = 2,
  PFD_CLASS_FIRMWARE = 3
};

/// The device's result of a command.
enum pfd_done {
  PFD_DONE_NOTHING = 0,   ///< No command was accepted on this link.
  PFD_DONE = 1,
  PFD_DONE_UNKNOWN = 2,   ///< No such command in this class
  PFD_DONE_RANGE = 3,     ///< Its number is out of range, or lower than what is installed
  PFD_DONE_NOT_STORED = 4 ///< The port could not store the new state, so the device is as it was
};

struct pfd_device {
  uint8_t open;
  uint16_t autolock;
  uint16_t firmware;
  uint32_t opened;  ///< Seconds, when the lock was opened
  uint32_t done;    ///< Commands done since the start
};

void pfd_device_init(struct pfd_device *device);

/// Does a command that the verifier accepted. `seconds` is the platform's clock, 0 always where there is none.
enum pfd_done pfd_device_do(struct pfd_device *device, uint8_t command_class, const uint8_t *command, size_t size,
                            uint32_t seconds);

/// Lets time pass: closes the lock when its time is over. 1 if it did.
int pfd_device_tick(struct pfd_device *device, uint32_t seconds);

#ifdef __cplusplus
}
#endif

#endif
