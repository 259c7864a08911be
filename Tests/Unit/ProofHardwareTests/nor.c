// SPDX-License-Identifier: Apache-2.0

#include "nor.h"

#include <string.h>

static int nor_read(void *context, uint32_t offset, uint8_t *bytes, size_t size) {
  struct nor *nor = context;
  nor->reads++;
  if (nor->dark || nor->silent || nor->reads == nor->deaf || offset + size > NOR_BYTES) return -1;
  memcpy(bytes, nor->bytes + offset, size);
  return 0;
}

/// Changes `size` bytes into `after`, as far as power lasts.
static int change(struct nor *nor, uint32_t offset, const uint8_t *after, size_t size) {
  uint8_t *at = nor->bytes + offset;
  uint32_t end = dice_below(&nor->dice, (uint32_t)size);
  nor->operations++;
  if (nor->dark || nor->worn) return -1;
  if (nor->operations != nor->cut) {
    memcpy(at, after, size);
    return 0;
  }
  nor->dark = true;
  if (nor->tear == NOR_PART) {
    memcpy(at, after, end);
    at[end] = (uint8_t)(at[end] ^ ((at[end] ^ after[end]) & (uint8_t)dice_roll(&nor->dice)));
  } else if (nor->tear == NOR_NOISE) {
    for (size_t i = 0; i < size; i++) at[i] = (uint8_t)(at[i] ^ ((at[i] ^ after[i]) & (uint8_t)dice_roll(&nor->dice)));
  }
  return -1;
}

static int nor_erase(void *context, uint32_t offset) {
  struct nor *nor = context;
  uint8_t after[NOR_PAGE_BYTES];
  if (offset % NOR_PAGE_BYTES != 0 || offset >= NOR_BYTES) nor->broke_rule = true;
  memset(after, 0xFF, sizeof after);
  nor->erases++;
  return change(nor, offset, after, sizeof after);
}

static int nor_program(void *context, uint32_t offset, const uint8_t *bytes, size_t size) {
  struct nor *nor = context;
  uint8_t after[NOR_PAGE_BYTES];
  bool fits = offset % 8 == 0 && size % 8 == 0 && size <= NOR_PAGE_BYTES &&
              offset / NOR_PAGE_BYTES == (offset + size - 1) / NOR_PAGE_BYTES && offset + size <= NOR_BYTES;
  if (!fits) {
    nor->broke_rule = true;
    return -1;
  }
  for (size_t i = 0; i < size; i++) after[i] = nor->bytes[offset + i] & bytes[i];
  // The page's first entry is the one that does not stick.
  if (nor->stuck && offset % NOR_PAGE_BYTES >= PFD_ENTRY_BYTES) after[0] |= nor->bytes[offset];
  return change(nor, offset, after, size);
}

void nor_attach(struct nor *nor) {
  nor->port = (struct pfd_flash){.context = nor,
                                 .page_bytes = NOR_PAGE_BYTES,
                                 .read = nor_read,
                                 .erase = nor_erase,
                                 .program = nor_program,
                                 .log_page = PFD_FLASH_PAGES,
                                 .log_pages = (uint16_t)nor->log_pages,
                                 .grant_page = (uint16_t)(nor->lends ? NOR_GRANT_PAGE : 0)};
}

void nor_make(struct nor *nor, uint64_t seed) {
  memset(nor, 0, sizeof *nor);
  memset(nor->bytes, 0xFF, sizeof nor->bytes);
  nor->dice.state = seed;
  nor_attach(nor);
}

void nor_power(struct nor *nor) {
  nor->dark = nor->worn = nor->stuck = nor->silent = false;
  nor->cut = nor->deaf = 0;
}

void nor_damage(struct nor *nor, unsigned page) {
  dice_fill(&nor->dice, nor->bytes + (size_t)page * NOR_PAGE_BYTES, NOR_PAGE_BYTES);
}
