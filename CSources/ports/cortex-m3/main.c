// SPDX-License-Identifier: Apache-2.0

/// The firmware: one unit, one serial line to the radio, one central at a time.
///
/// Interrupts wake the processor and are never taken, so there is one flow of control and one stack to reason about.

#include "board.h"
#include "port.h"

static struct pfd_unit unit;

/// Until a byte comes or half a second has passed.
static void wait(void) {
  __asm__ volatile("dsb\n\twfi" ::: "memory");
  BOARD_NVIC_CLEAR = 1u << BOARD_UART_INTERRUPT_NUMBER;
  BOARD_INTERRUPT_STATE = BOARD_SYSTICK_CLEAR;
}

int main(void) {
  static struct pfd_port port = {.random = random_bytes,
                                 .seconds = clock_seconds,
                                 .flash = {.page_bytes = NOR_PAGE_BYTES,
                                           .read = nor_read,
                                           .erase = nor_erase,
                                           .program = nor_program,
#if PFC_KEEPS_LOG
                                           .log_page = NOR_LOG_PAGE,
#endif
#if PFC_GRANTS
                                           .grant_page = NOR_GRANT_PAGE,
#endif
                                 },
                                 .send = uart_send,
#if PFD_TELLS_EVENTS
                                 .event = log_event,
#endif
  };
  int link = -1;
  int started;
  int closed = 1;  // By this side, which has said so; the radio has not answered yet.
  __asm__ volatile("cpsid i");
  clock_begin();
  BOARD_SYSTICK_RELOAD = BOARD_HERTZ / 2;
  BOARD_SYSTICK_VALUE = 0;
  BOARD_SYSTICK_CONTROL = 7;
  uart_begin();
#if PFD_TELLS_EVENTS
  log_begin();
#endif
#if PFC_KEEPS_LOG
  port.flash.log_pages = nor_has_log() ? NOR_LOG_PAGES : 0;
#endif
  random_begin(&port.flash);
  started = pfd_unit_start(&unit, &port);
#if PFD_ANSWERS_SEALED && PFC_CHANNEL
  if (started == PFC_OK) started = pfd_unit_keep_channels(&unit);
#endif
#if PFD_ANSWERS_SEALED
  if (started == PFC_OK) started = pfd_unit_seal(&unit);
#endif
  // Damaged flash is no reason to be silent: the unit then answers *fault* to every message.
  (void)started;
  uart_end();
  for (;;) {
    const uint8_t *pdu;
    size_t size;
    enum uart_result came = uart_receive(&pdu, &size);
    int over = 0;
    if (came == UART_LATER) {
      pfd_unit_tick(&unit);
      // The radio alone knows who waits for the one link. So each link without an accepted command ends by itself.
      over = link >= 0 && pfd_unit_is_overdue(&unit, (unsigned)link);
      if (!over) {
        wait();
        continue;
      }
    }
    if (came == UART_RESET) {
      if (link >= 0) pfd_unit_disconnect(&unit, (unsigned)link);
      link = -1;
      if (!closed) uart_end();
      closed = 0;
      continue;
    }
    if (came == UART_PDU) {
      // Sent before the radio knew that this link is over.
      if (closed) continue;
      if (link < 0) link = pfd_unit_connect(&unit);
      over = pfd_unit_receive(&unit, (unsigned)link, pdu, size) == PFD_LINK_CLOSE;
#if PFD_ANSWERS_SEALED
      // After the answer, and before the next PDU is looked at: so no app that was answered is told to wait for a key.
      pfd_unit_tick(&unit);
#endif
    }
    if (over) {
      pfd_unit_disconnect(&unit, (unsigned)link);
      link = -1;
      closed = 1;
      uart_end();
    }
  }
}
