// SPDX-License-Identifier: Apache-2.0

#include "flash.h"

#include <string.h>

enum {
  BLANK = 0xFF,
  UNIT_BYTES = 8,     ///< Unit of programming
  CHUNK_BYTES = 116,  ///< Flash is looked at in pieces: a record that is made takes more stack than one of them.
};

_Static_assert(PFD_ENTRY_BYTES % CHUNK_BYTES == 0, "an entry is so many chunks");

static uint32_t entry_offset(const struct pfd_flash *flash, unsigned page, uint32_t entry) {
  return (uint32_t)page * flash->page_bytes + entry * PFD_ENTRY_BYTES;
}

/// Whether an entry holds these bytes, and behind them nothing: 0, or 1 if something else stands there, or -1.
static int differs(const struct pfd_flash *flash, uint32_t offset, const uint8_t *bytes, size_t size) {
  uint8_t found[CHUNK_BYTES];
  // Volatile, so that the bytes pass through one register: an unrolled loop kept a piece of them on the stack.
  volatile unsigned bits = 0;
  int result = 0;
  for (size_t at = 0; at < PFD_ENTRY_BYTES;) {
    result = flash->read(flash->context, (uint32_t)(offset + at), found, sizeof found);
    if (result != 0) break;
    for (size_t i = 0; i < CHUNK_BYTES; i++, at++) bits |= found[i] ^ (at < size ? bytes[at] : BLANK);
  }
  pfc_wipe(found, sizeof found);
  return result == 0 ? bits != 0 : -1;
}

/// Counts the entries up to the last that is not blank.
static int find_last(const struct pfd_flash *flash, unsigned page, uint32_t *used) {
  int result = 0;
  // From the end: behind a torn erase there may be anything, and a blank hole is no end.
  for (*used = flash->page_bytes / PFD_ENTRY_BYTES; *used > 0; --*used) {
    result = differs(flash, entry_offset(flash, page, *used - 1), NULL, 0);
    if (result != 0) break;
  }
  return result < 0 ? -1 : 0;
}

#if PFC_READS_VERSION_1
/// 1 if a page's entries are of version 1, by its first one; 0 if not; -1 if flash does not answer. A write of version
/// 2, or an erase after it, that was cut short leaves bit 1 set there: no such page is taken for an old one.
static int is_old(const struct pfd_flash *flash, unsigned page) {
  uint8_t head[3];
  if (flash->read(flash->context, entry_offset(flash, page, 0), head, sizeof head) != 0) return -1;
  return head[2] == PFC_VERSION;
}

/// The same as `pfd_flash_read` for an old page.
static int read_old(const struct pfd_flash *flash, unsigned page, uint8_t *bytes, size_t size) {
  uint8_t unit[UNIT_BYTES];
  uint8_t blank = BLANK;
  uint32_t first = entry_offset(flash, page, 0);
  uint32_t at = flash->page_bytes / PFD_ENTRY_BYTES_1 * PFD_ENTRY_BYTES_1;
  size_t count = size < PFD_ENTRY_BYTES_1 ? size : PFD_ENTRY_BYTES_1;
  while (at > 0 && blank == BLANK) {
    at -= UNIT_BYTES;
    if (flash->read(flash->context, first + at, unit, sizeof unit) != 0) return -1;
    for (size_t i = 0; i < sizeof unit; i++) blank &= unit[i];
  }
  memset(bytes, 0, size);
  return flash->read(flash->context, first + at / PFD_ENTRY_BYTES_1 * PFD_ENTRY_BYTES_1, bytes, count);
}
#else
static int is_old(const struct pfd_flash *flash, unsigned page) {
  (void)flash;
  (void)page;
  return 0;
}
#endif

int pfd_flash_read(const struct pfd_flash *flash, unsigned page, uint8_t *bytes, size_t size) {
  uint32_t used;
  if (size > PFD_ENTRY_BYTES) return -1;
#if PFC_READS_VERSION_1
  int old = is_old(flash, page);
  if (old != 0) return old > 0 ? read_old(flash, page, bytes, size) : -1;
#endif
  if (find_last(flash, page, &used) != 0) return -1;
  if (used > 0) return flash->read(flash->context, entry_offset(flash, page, used - 1), bytes, size);
  memset(bytes, 0, size);
  return 0;
}

/// Programs an entry and compares what stands there then.
static int write_entry(const struct pfd_flash *flash, uint32_t offset, const uint8_t *bytes, size_t size) {
  uint8_t last[UNIT_BYTES];
  size_t rest = size % UNIT_BYTES, whole = size - rest;
  int result = whole > 0 ? flash->program(flash->context, offset, bytes, whole) : 0;
  if (result == 0 && rest > 0) {
    memset(last, BLANK, sizeof last);
    memcpy(last, bytes + whole, rest);
    result = flash->program(flash->context, (uint32_t)(offset + whole), last, sizeof last);
    pfc_wipe(last, sizeof last);
  }
  return result == 0 ? differs(flash, offset, bytes, size) : result;
}

int pfd_flash_write(const struct pfd_flash *flash, unsigned page, const uint8_t *bytes, size_t size) {
  uint32_t used, first = entry_offset(flash, page, 0);
  int old = is_old(flash, page);
  if (old < 0 || size > PFD_ENTRY_BYTES || find_last(flash, page, &used) != 0) return -1;
  // Behind the last entry if there is room, otherwise in a page erased for it. An old page has none.
  if (!old && (used + 1) * PFD_ENTRY_BYTES <= flash->page_bytes &&
      write_entry(flash, entry_offset(flash, page, used), bytes, size) == 0) {
    return 0;
  }
  if (flash->erase(flash->context, first) != 0) return -1;
  return write_entry(flash, first, bytes, size) == 0 ? 0 : -1;
}

// The ledger's ---------------------------------------------------------------------------------------------------

/// Loans stand behind the ledger, or where the port says. Without a place for them they are not asked for.
static unsigned page_of(const struct pfd_flash *flash, unsigned record, unsigned copy) {
#if PFC_GRANTS
  if (record > PFC_SLOTS) return flash->grant_page + 2 * (record - PFC_SLOTS - 1) + copy;
#else
  (void)flash;
#endif
  return PFD_FLASH_IDENTITY_PAGES + 2 * record + copy;
}

static int storage_read(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size) {
  return pfd_flash_read(context, page_of(context, record, copy), bytes, size);
}

static int storage_write(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size) {
  return pfd_flash_write(context, page_of(context, record, copy), bytes, size);
}

struct pfc_storage pfd_flash_storage(const struct pfd_flash *flash) {
  // Nothing is ever written through it: both functions above take it as what it was.
  struct pfc_storage storage = {.context = (void *)(uintptr_t)flash, .read = storage_read, .write = storage_write};
  return storage;
}

// The log's ------------------------------------------------------------------------------------------------------

#if PFC_KEEPS_LOG
struct pfc_log_flash pfd_flash_log(const struct pfd_flash *flash) {
  struct pfc_log_flash log = {.context = flash->context,
                              .offset = flash->log_page * flash->page_bytes,
                              .page_bytes = flash->page_bytes,
                              .pages = flash->log_pages,
                              .programs_once = flash->log_programs_once,
                              .read = flash->read,
                              .erase = flash->erase,
                              .program = flash->program};
  return log;
}
#endif
