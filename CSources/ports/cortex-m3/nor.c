// SPDX-License-Identifier: Apache-2.0

/// NOR flash as its data sheets describe it: a page is erased whole and to ones, programming only clears bits, both
/// take their time, and where power fails there may be anything in between. Each word goes through such a half-way
/// state, so that a processor that stops at any instruction leaves what a power cut leaves.
///
/// Behind the pages stands a counter of erasures for each page, for tests of wear.

#include "board.h"
#include "port.h"

enum { PAGE_WORDS = NOR_PAGE_BYTES / 4, WEAR_AT = NOR_PAGES * PAGE_WORDS };

/// As long as a word takes on common parts: 20 microseconds.
PFC_APART static void work(void) {
  uint32_t begin = BOARD_TIMER->value;
  while (begin - BOARD_TIMER->value < BOARD_HERTZ / 50000) continue;
}

/// Some bits of a word: what happens to have changed by now. Another pattern for each word.
static uint32_t some(uint32_t at) { return at * 0x9E3779B9u; }

int nor_read(void *context, uint32_t offset, uint8_t *bytes, size_t size) {
  const volatile uint8_t *from = (const volatile uint8_t *)BOARD_NOR + offset;
  (void)context;
  for (size_t i = 0; i < size; i++) bytes[i] = from[i];
  return 0;
}

#if PFC_KEEPS_LOG
int nor_has_log(void) {
  uint32_t all = UINT32_MAX;
  const uint32_t first = NOR_LOG_PAGE * PAGE_WORDS;
  for (uint32_t at = first; at < first + PFC_LOG_KEY_PAGES * PAGE_WORDS; at++) all &= BOARD_NOR[at];
  return all != UINT32_MAX;
}
#endif

int nor_erase(void *context, uint32_t offset) {
  uint32_t first = offset / 4;
  (void)context;
  BOARD_NOR[WEAR_AT + offset / NOR_PAGE_BYTES]++;
  for (uint32_t at = first; at < first + PAGE_WORDS; at++) {
    BOARD_NOR[at] |= some(at);
    work();
    BOARD_NOR[at] = UINT32_MAX;
  }
  return 0;
}

int nor_program(void *context, uint32_t offset, const uint8_t *bytes, size_t size) {
  (void)context;
  for (size_t i = 0; i < size; i += 4) {
    const uint8_t *from = bytes + i;
    uint32_t word = from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
    uint32_t at = (uint32_t)(offset + i) / 4;
    BOARD_NOR[at] &= word | some(at);
    work();
    BOARD_NOR[at] &= word;
  }
  return 0;
}
