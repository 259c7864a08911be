// SPDX-License-Identifier: Apache-2.0

/// NOR flash in a file: pages that are erased to ones, programming that only clears bits, wear, and power that fails
/// in the middle of an operation.

#ifndef FLASH_FILE_H
#define FLASH_FILE_H

#include <stdbool.h>

#include "ProofDevice.h"

enum {
  FLASH_PAGE_BYTES = 4096,
  FLASH_LOG_PAGES = 6  ///< Behind the others, where the hardware keeps a log: 381 entries or more
};

struct options;

struct flash_file {
  int file;
  struct pfd_flash port;     ///< Its context is this structure.
  unsigned long operations;  ///< Programs and erases so far
  unsigned long erases;
  unsigned long cut;  ///< As in `struct options`
  uint64_t cut_seed;
  unsigned long worn;
  bool formatted;  ///< The file was new: this is another device.
};

/// Opens the file and locks it: two pieces of hardware with one flash would be one that forgets. With `provision` a
/// missing one is made, erased. GO_ON, or the status to end with.
int flash_file_open(struct flash_file *flash, const struct options *options);
/// Adds the pages of a log, erased, or takes them away: what stood there is gone. GO_ON, or the status to end with.
int flash_file_set_log(struct flash_file *flash, const struct options *options, bool keeps);
void flash_file_close(struct flash_file *flash);

#endif
