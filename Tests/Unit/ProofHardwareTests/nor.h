// SPDX-License-Identifier: Apache-2.0

/// NOR flash in memory: programming only clears bits, erasing is by page, power can fail in any operation.

#ifndef NOR_H
#define NOR_H

#include <stdbool.h>

#include "ProofDevice.h"
#include "harness.h"

enum {
  NOR_PAGE_BYTES = 1024,
  NOR_LOG_PAGES = 5,
  NOR_GRANT_PAGE = (int)PFD_FLASH_PAGES + NOR_LOG_PAGES,
  NOR_BYTES = NOR_PAGE_BYTES * (NOR_GRANT_PAGE + (int)PFD_GRANT_PAGES)
};

/// State of the flash after an operation that a power cut interrupted.
enum nor_tear {
  NOR_NOTHING,  ///< It had not begun.
  NOR_PART,     ///< Whole bytes up to a place, some bits of the byte there
  NOR_NOISE,    ///< Any bit that was to change did or did not
  NOR_TEARS
};

struct nor {
  uint8_t bytes[NOR_BYTES];
  struct dice dice;
  struct pfd_flash port;  ///< Its context is this structure: `nor_attach` after a copy.
  unsigned log_pages;     ///< 0, or NOR_LOG_PAGES if there is a log
  bool lends;             ///< It has pages for loans.
  unsigned operations;    ///< Programs and erases so far
  unsigned erases;
  unsigned reads;
  unsigned deaf;  ///< This read fails, counted from 1; 0 for none
  unsigned cut;   ///< Power fails in this one, counted from 1; 0 for never
  enum nor_tear tear;
  bool dark;        ///< Power has failed.
  bool worn;        ///< Takes nothing any more
  bool stuck;       ///< One bit of each entry cannot be programmed until its page is erased.
  bool silent;      ///< Does not answer reads
  bool broke_rule;  ///< A caller programmed a one over a zero, or beyond a page, or unaligned.
};

/// Erased.
void nor_make(struct nor *nor, uint64_t seed);
void nor_attach(struct nor *nor);
/// Power is back.
void nor_power(struct nor *nor);
/// Fills one page with noise.
void nor_damage(struct nor *nor, unsigned page);

#endif
