// SPDX-License-Identifier: Apache-2.0

#include <string.h>

#include "board.h"
#include "port.h"

enum { LENGTH_BYTES = 2 };

static uint8_t buffer[PFD_MTU_MAX];
static uint16_t length, filled;

void uart_begin(void) {
  BOARD_UART->divider = 16;
  BOARD_UART->control = BOARD_UART_ENABLE;
  BOARD_NVIC_ENABLE = 1u << BOARD_UART_INTERRUPT_NUMBER;
}

PFC_APART static void put(uint8_t byte) {
  while ((BOARD_UART->state & BOARD_UART_TRANSMIT_FULL) != 0) continue;
  BOARD_UART->data = byte;
}

enum uart_result uart_receive(const uint8_t **pdu, size_t *size) {
  while ((BOARD_UART->state & BOARD_UART_RECEIVED) != 0) {
    uint8_t byte = (uint8_t)BOARD_UART->data;
    size_t at = filled++;
    BOARD_UART->interrupt = BOARD_UART_RECEIVED_INTERRUPT;
    if (at < LENGTH_BYTES) {
      length = (uint16_t)(at == 0 ? byte : length | byte << 8);
      if (at == 0 || length != 0) continue;
      filled = 0;
      return UART_RESET;
    }
    // Read a packet longer than any PDU to its end and drop the excess: the unit refuses it by its size.
    if (at - LENGTH_BYTES < sizeof buffer) buffer[at - LENGTH_BYTES] = byte;
    if (filled < LENGTH_BYTES + (size_t)length) continue;
    filled = 0;
    *pdu = buffer;
    *size = length;
    return UART_PDU;
  }
  return UART_LATER;
}

int uart_send(void *context, unsigned link, const uint8_t *pdu, size_t size) {
  (void)context;
  (void)link;
  put((uint8_t)size);
  put((uint8_t)(size >> 8));
  for (size_t i = 0; i < size; i++) put(pdu[i]);
  return 0;
}

void uart_end(void) {
  put(0);
  put(0);
}
