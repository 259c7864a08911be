// SPDX-License-Identifier: Apache-2.0

/// The device's state in a file beside the flash: FLASH.state. It is replaced as a whole, so that a power cut or a
/// `kill -9` leaves the state before or the state after.

#ifndef STATE_FILE_H
#define STATE_FILE_H

#include "ProofDevice.h"

enum { STATE_PATH_BYTES = 4096 };

struct state_file {
  int folder;                    ///< The flash's
  char name[STATE_PATH_BYTES];   ///< Name of the file, within the folder
  char draft[STATE_PATH_BYTES];  ///< Name of the file that takes its place
};

/// Finds the folder of the flash. The process that has locked the flash is the only one that writes the state. GO_ON,
/// or the status to end with: the log says the cause.
int state_file_open(struct state_file *file, const char *flash);
void state_file_close(struct state_file *file);

/// Restores the state of a unit that was started. A file that is not there leaves the factory's state. GO_ON, or the
/// status to end with: a damaged file is refused, because the factory's state would let an older firmware in.
int state_file_load(const struct state_file *file, struct pfd_unit *unit);

/// `pfd_port.keep`.
int state_file_keep(const struct state_file *file, const uint8_t state[PFD_STATE_BYTES]);

/// Removes the state of the device that had this flash before. GO_ON, or the status to end with.
int state_file_remove(const struct state_file *file);

#endif
