// SPDX-License-Identifier: Apache-2.0

/// Where the hardware's records stand in NOR flash: pages that are erased whole, bits that programming only clears.
///
/// Each record of the ledger stands in two copies, each copy in a page of its own, so that whatever a power cut leaves
/// of an erase or a program step, the other copy is untouched. Within its page a copy is written behind the one before,
/// and the page is erased only when it is full: with pages of 4096 bytes each erase serves 17 writes. The last entry
/// that is not blank is the copy; whether it is whole, its tag tells (docs/SPEC.md, section 12).
///
/// Entries of version 1 had 224 bytes. The third byte of a page, the version of its first entry, tells which entries
/// the page has. A page of version 1 is read, and erased at the next write to it.
///
///     page 0, 1               identity, two copies (identity.h)
///     page 2 + 2r + c         copy c of record r
///     where the port says     copy c of the record that tells what slot s was lent: 2s + c pages behind there
///     where the port says     the log, as logbook_ring.h lays it out, where the hardware keeps one

#ifndef PFD_FLASH_H
#define PFD_FLASH_H

#include <stddef.h>
#include <stdint.h>

#include "ProofCore.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PFD_ENTRY_BYTES 232u       ///< A multiple of 8, the usual unit of programming
#define PFD_ENTRY_BYTES_1 224u     ///< In version 1
#define PFD_PAGE_BYTES_MIN 256u
#define PFD_FLASH_IDENTITY_PAGES 2u
#define PFD_FLASH_PAGES (PFD_FLASH_IDENTITY_PAGES + 2u * (1u + PFC_SLOTS))
#define PFD_GRANT_PAGES (2u * PFC_SLOTS)

/// Flash functions that the port provides. Offsets count from the start of the area set aside, which holds
/// PFD_FLASH_PAGES pages. Each function answers 0, or anything else if it failed.
struct pfd_flash {
  void *context;
  uint32_t page_bytes;  ///< At least PFD_PAGE_BYTES_MIN
  int (*read)(void *context, uint32_t offset, uint8_t *bytes, size_t size);
  /// Sets the page that begins at `offset` to ones. Returns when it is done.
  int (*erase)(void *context, uint32_t offset);
  /// Clears bits: `offset` and `size` are multiples of 8. Returns when it is durable.
  int (*program)(void *context, uint32_t offset, const uint8_t *bytes, size_t size);
#if PFC_KEEPS_LOG
  uint16_t log_pages;         ///< Pages of the log, 0 or at least PFC_LOG_PAGES_MIN: 0 if the hardware keeps none
  uint16_t log_page;          ///< The first of them, PFD_FLASH_PAGES or behind
  uint8_t log_programs_once;  ///< As `programs_once` of struct pfc_log_flash
#endif
#if PFC_GRANTS
  uint16_t grant_page;  ///< The first of PFD_GRANT_PAGES, PFD_FLASH_PAGES or behind; 0 if the hardware takes no grants
#endif
};

_Static_assert(PFC_RECORD_BYTES_MAX <= PFD_ENTRY_BYTES && PFD_ENTRY_BYTES % 8 == 0, "a record fits an entry");

/// The last entry of a page, as it stands there; zeros if the page is blank. `size` is at most PFD_ENTRY_BYTES. Of an
/// entry of version 1 at most PFD_ENTRY_BYTES_1 are read, and zeros fill the rest.
PFC_MUST_USE int pfd_flash_read(const struct pfd_flash *flash, unsigned page, uint8_t *bytes, size_t size);

/// Writes a new last entry, reads it back, and answers 0 only if it stands there. A page whose blank part is not blank
/// enough, because an erase was cut short, is erased and written once more.
PFC_MUST_USE int pfd_flash_write(const struct pfd_flash *flash, unsigned page, const uint8_t *bytes, size_t size);

#if PFC_KEEPS_LOG
/// The log's area in this flash.
struct pfc_log_flash pfd_flash_log(const struct pfd_flash *flash);
#endif

/// The storage of ledger and loans in this flash. `flash` is borrowed.
struct pfc_storage pfd_flash_storage(const struct pfd_flash *flash);

#ifdef __cplusplus
}
#endif

#endif
