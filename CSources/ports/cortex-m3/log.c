// SPDX-License-Identifier: Apache-2.0

/// Events in binary over the second serial line (docs/FIRMWARE.md, section 2). eventlog.py, on a machine with room for
/// them, makes the words.

#include <stddef.h>

#include "board.h"
#include "port.h"

#if PFD_TELLS_EVENTS

enum {
  MARK = 0xE7,
  EVENT_BYTES = 28,
  // A frame takes 0.2 ms at this port's speed. Who holds the line up for longer misses the event, and sees it by the
  // number of the next.
  PATIENCE_TICKS = BOARD_HERTZ / 1000
};

// The line carries the event as it stands in memory, without what the compiler adds at its end.
_Static_assert(offsetof(struct pfd_event, result) == 4 && offsetof(struct pfd_event, detail) == 6 &&
                   offsetof(struct pfd_event, number) == 8 && offsetof(struct pfd_event, id) == 16 &&
                   offsetof(struct pfd_event, message) == 24,
               "an event has no holes");

static uint8_t number;

void log_begin(void) {
  BOARD_LOG_UART->divider = 16;
  BOARD_LOG_UART->control = BOARD_UART_TRANSMIT;
}

void log_event(void *context, const struct pfd_event *event) {
  const uint8_t *bytes = (const uint8_t *)event;
  uint32_t begin = BOARD_TIMER->value;
  uint8_t check = 0;
  (void)context;
  number++;
  for (int at = -2; at <= EVENT_BYTES; at++) {
    uint8_t byte = at == -2 ? MARK : at == -1 ? number : at < EVENT_BYTES ? bytes[at] : check;
    while ((BOARD_LOG_UART->state & BOARD_UART_TRANSMIT_FULL) != 0) {
      if (begin - BOARD_TIMER->value > PATIENCE_TICKS) return;
    }
    BOARD_LOG_UART->data = byte;
    check = (uint8_t)(check + byte);
  }
}

#endif
