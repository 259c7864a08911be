// SPDX-License-Identifier: Apache-2.0

#include "log_chip.h"

#include <string.h>

static int chip_read(void *context, uint32_t offset, uint8_t *bytes, size_t size) {
  struct chip *chip = context;
  chip->reads++;
  if (offset < CHIP_OFFSET || offset + size > sizeof chip->bytes) chip->broke_rule = true;
  if (chip->dark || chip->broke_rule || chip->reads == chip->deaf) return -1;
  memcpy(bytes, chip->bytes + offset, size);
  return 0;
}

/// Changes `size` bytes into `after`, as far as power lasts.
static int change(struct chip *chip, uint32_t offset, const uint8_t *after, size_t size) {
  chip->sizes[++chip->operations % 16] = (uint16_t)size;
  if (chip->dark || chip->worn || chip->broke_rule) return -1;
  for (size_t i = 0; i < size; i++) {
    uint8_t *at = chip->bytes + offset + i;
    uint8_t changing = *at ^ after[i];
    if (chip->operations == chip->cut && (chip->subset >> i / CHIP_WORD_BYTES % 32 & 1u) == 0) {
      changing &= chip->noise ? (uint8_t)dice_roll(&chip->dice) : 0;
    }
    *at ^= changing;
  }
  chip->dark = chip->operations == chip->cut;
  return chip->dark ? -1 : 0;
}

static int chip_erase(void *context, uint32_t offset) {
  struct chip *chip = context;
  uint8_t after[CHIP_BYTES];
  if ((offset - CHIP_OFFSET) % chip->port.page_bytes != 0 ||
      offset - CHIP_OFFSET >= (uint32_t)chip->port.pages * chip->port.page_bytes) {
    chip->broke_rule = true;
  }
  memset(after, 255, sizeof after);
  return change(chip, offset, after, chip->port.page_bytes);
}

static int chip_program(void *context, uint32_t offset, const uint8_t *bytes, size_t size) {
  struct chip *chip = context;
  uint8_t after[PFC_LOG_KEY_PLACE_BYTES];
  uint32_t page = chip->port.page_bytes;
  if (offset % 32 != 0 || size % 32 != 0 || size > sizeof after ||
      (offset - CHIP_OFFSET) / page != (offset - CHIP_OFFSET + size - 1) / page) {
    chip->broke_rule = true;
    return -1;
  }
  for (size_t i = 0; i < size; i++) {
    after[i] = chip->bytes[offset + i] & bytes[i];
    if (chip->keeps && chip->bytes[offset + i] != 255) after[i] = chip->bytes[offset + i];
    if (chip->port.programs_once && chip->bytes[offset + i] != 255) chip->broke_rule = true;
  }
  if (chip->stuck) after[0] |= chip->bytes[offset] & 15u;
  return change(chip, offset, after, size);
}

void chip_attach(struct chip *chip) { chip->port.context = chip; }

void chip_make(struct chip *chip, uint16_t page_bytes, uint16_t pages, uint8_t once) {
  memset(chip, 0, sizeof *chip);
  memset(chip->bytes, 255, sizeof chip->bytes);
  chip->port = (struct pfc_log_flash){.offset = CHIP_OFFSET,
                                      .page_bytes = page_bytes,
                                      .pages = pages,
                                      .programs_once = once,
                                      .read = chip_read,
                                      .erase = chip_erase,
                                      .program = chip_program};
  chip_attach(chip);
}

void chip_power(struct chip *chip) {
  chip->dark = chip->worn = chip->stuck = false;
  chip->cut = chip->deaf = 0;
}
