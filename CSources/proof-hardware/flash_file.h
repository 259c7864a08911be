// SPDX-License-Identifier: Apache-2.0

/// NOR flash in a file: pages that are erased to ones, programming that only clears bits, wear, and power that fails
/// in the middle of an operation.

#ifndef FLASH_FILE_H
#define FLASH_FILE_H

#include <stdbool.h>

#include "ProofDevice.h"

enum {
  FLASH_PAGE_BYTES = 4096,
  FLASH_LOG_PAGES = 6,  ///< Behind the others, where the hardware keeps a log: 381 entries or more
  FLASH_GRANT_PAGES = (int)PFD_GRANT_PAGES  ///< Behind these, where the hardware takes grants
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
/// Sets which pages the file has behind the ledger's: those of a log, and those of loans. A log whose pages stay is
/// kept, unless it `begins`; all other pages are erased. GO_ON, or the status to end with.
int flash_file_set_areas(struct flash_file *flash, const struct options *options, bool log, bool begins, bool grants);
void flash_file_close(struct flash_file *flash);

#endif
