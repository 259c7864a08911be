// SPDX-License-Identifier: Apache-2.0

/// NOR flash of the log's tests. Power fails in any operation, with any subset of words changed.

#ifndef LOG_CHIP_H
#define LOG_CHIP_H

#include <stdbool.h>

#include "ProofCore.h"
#include "harness.h"

enum {
  CHIP_BYTES = 16384,
  CHIP_OFFSET = 512,  ///< The bytes before the area are not the log's.
  CHIP_WORD_BYTES = 8
};

struct chip {
  uint8_t bytes[CHIP_OFFSET + CHIP_BYTES];
  struct pfc_log_flash port;  ///< Its context is this structure: `chip_attach` after a copy.
  unsigned operations, reads;
  uint16_t sizes[16];  ///< Bytes of each of the last operations
  unsigned cut;     ///< Power fails in this operation, counted from 1; 0 for never
  uint32_t subset;  ///< Words that change before it fails, bit by bit; in an erasure, of the page's words modulo 32
  bool noise;       ///< Any bits of the other words change, too.
  struct dice dice;
  unsigned deaf;  ///< This read fails, counted from 1; 0 for none
  bool dark;
  bool worn;        ///< Takes nothing any more
  bool stuck;       ///< The lowest bits of what is programmed stay ones.
  bool broke_rule;  ///< A caller left the area, or a page, or programmed a word twice where it must not.
  bool keeps;       ///< A word that was programmed stays as it is until it is erased, and no error is told.
};

/// Erased, and no cut to come.
void chip_make(struct chip *chip, uint16_t page_bytes, uint16_t pages, uint8_t once);
void chip_attach(struct chip *chip);
/// Power is back.
void chip_power(struct chip *chip);

#endif
