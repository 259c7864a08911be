// SPDX-License-Identifier: Apache-2.0

#include <stdlib.h>

#include "board.h"
#include "port.h"

static uint32_t before, ticks, seconds;

void clock_begin(void) {
  BOARD_TIMER->reload = UINT32_MAX;
  BOARD_TIMER->value = UINT32_MAX;
  BOARD_TIMER->control = 1;
  before = UINT32_MAX;
}

uint32_t clock_seconds(void *context) {
  uint32_t now = BOARD_TIMER->value;
  (void)context;
  // Counts down, and the difference is right across the end of its 32 bits.
  ticks += before - now;
  before = now;
  while (ticks >= BOARD_HERTZ) {
    ticks -= BOARD_HERTZ;
    seconds++;
  }
  // Both looks at a message ask this clock. A skipped instruction that lost time for good restarts the hardware.
  if (seconds * BOARD_HERTZ + ticks != UINT32_MAX - before) abort();
  return seconds;
}

uint32_t clock_count(void) { return (UINT32_MAX - BOARD_TIMER->value) * 40u; }
