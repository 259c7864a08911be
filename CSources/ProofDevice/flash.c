#include "flash.h"

#include <string.h>

enum { BLANK = 0xFF };

static uint32_t entry_offset(const struct pfd_flash *flash, unsigned page, uint32_t entry) {
  return (uint32_t)page * flash->page_bytes + entry * PFD_ENTRY_BYTES;
}

static int is_blank(const uint8_t bytes[PFD_ENTRY_BYTES]) {
  for (unsigned i = 0; i < PFD_ENTRY_BYTES; i++) {
    if (bytes[i] != BLANK) return 0;
  }
  return 1;
}

/// Counts the entries up to the last that is not blank, and leaves that one in `bytes`.
static int find_last(const struct pfd_flash *flash, unsigned page, uint32_t *used, uint8_t bytes[PFD_ENTRY_BYTES]) {
  uint32_t entry = flash->page_bytes / PFD_ENTRY_BYTES;
  *used = 0;
  // From the end: behind a torn erase there may be anything, and a blank hole is no end.
  while (entry > 0) {
    entry--;
    if (flash->read(flash->context, entry_offset(flash, page, entry), bytes, PFD_ENTRY_BYTES) != 0) return -1;
    if (!is_blank(bytes)) {
      *used = entry + 1;
      return 0;
    }
  }
  return 0;
}

int pfd_flash_read(const struct pfd_flash *flash, unsigned page, uint8_t *bytes, size_t size) {
  uint8_t entry[PFD_ENTRY_BYTES];
  uint32_t used;
  int result = size <= sizeof entry ? find_last(flash, page, &used, entry) : -1;
  if (result == 0) {
    if (used == 0) memset(entry, 0, sizeof entry);
    memcpy(bytes, entry, size);
  }
  pfc_wipe(entry, sizeof entry);
  return result;
}

/// Programs an entry and compares what stands there then.
static int write_entry(const struct pfd_flash *flash, uint32_t offset, const uint8_t bytes[PFD_ENTRY_BYTES]) {
  uint8_t found[PFD_ENTRY_BYTES];
  int result = flash->program(flash->context, offset, bytes, PFD_ENTRY_BYTES);
  if (result == 0) result = flash->read(flash->context, offset, found, sizeof found);
  if (result == 0 && !pfc_equal(found, bytes, sizeof found)) result = -1;
  pfc_wipe(found, sizeof found);
  return result;
}

/// Behind the last entry if there is room, otherwise in a page erased for it.
static int append(const struct pfd_flash *flash, unsigned page, uint32_t used, const uint8_t entry[PFD_ENTRY_BYTES]) {
  if ((used + 1) * PFD_ENTRY_BYTES <= flash->page_bytes &&
      write_entry(flash, entry_offset(flash, page, used), entry) == 0) {
    return 0;
  }
  if (flash->erase(flash->context, entry_offset(flash, page, 0)) != 0) return -1;
  return write_entry(flash, entry_offset(flash, page, 0), entry);
}

int pfd_flash_write(const struct pfd_flash *flash, unsigned page, const uint8_t *bytes, size_t size) {
  uint8_t entry[PFD_ENTRY_BYTES];
  uint32_t used;
  int result = size <= sizeof entry ? find_last(flash, page, &used, entry) : -1;
  if (result == 0) {
    memset(entry, BLANK, sizeof entry);
    memcpy(entry, bytes, size);
    result = append(flash, page, used, entry);
  }
  pfc_wipe(entry, sizeof entry);
  return result;
}

// The ledger's ---------------------------------------------------------------------------------------------------

static unsigned page_of(unsigned record, unsigned copy) { return PFD_FLASH_IDENTITY_PAGES + 2 * record + copy; }

static int storage_read(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size) {
  return pfd_flash_read(context, page_of(record, copy), bytes, size);
}

static int storage_write(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size) {
  return pfd_flash_write(context, page_of(record, copy), bytes, size);
}

struct pfc_storage pfd_flash_storage(struct pfd_flash *flash) {
  struct pfc_storage storage = {.context = flash, .read = storage_read, .write = storage_write};
  return storage;
}
