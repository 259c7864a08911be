// SPDX-License-Identifier: Apache-2.0

/// The registers of qemu's mps2-an385, a Cortex-M3 at 25 MHz, as far as this port uses them (Arm DUI 0479 for the
/// processor, Arm DAI 0385 for the board).

#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

#define BOARD_HERTZ 25000000u

struct board_uart {
  volatile uint32_t data;
  volatile uint32_t state;
  volatile uint32_t control;
  volatile uint32_t interrupt;
  volatile uint32_t divider;
};

#define BOARD_UART ((struct board_uart *)0x40004000u)
/// A second line, for what happened (log.c).
#define BOARD_LOG_UART ((struct board_uart *)0x40005000u)
#define BOARD_UART_TRANSMIT_FULL 1u
#define BOARD_UART_RECEIVED 2u
#define BOARD_UART_ENABLE 0x0Bu            ///< Transmit, receive, interrupt on receipt
#define BOARD_UART_TRANSMIT 0x01u          ///< Transmit alone
#define BOARD_UART_RECEIVED_INTERRUPT 2u
#define BOARD_UART_INTERRUPT_NUMBER 0u

/// Counts down, 32 bits.
struct board_timer {
  volatile uint32_t control;
  volatile uint32_t value;
  volatile uint32_t reload;
  volatile uint32_t interrupt;
};

#define BOARD_TIMER ((struct board_timer *)0x40000000u)

#define BOARD_SYSTICK_CONTROL (*(volatile uint32_t *)0xE000E010u)
#define BOARD_SYSTICK_RELOAD (*(volatile uint32_t *)0xE000E014u)
#define BOARD_SYSTICK_VALUE (*(volatile uint32_t *)0xE000E018u)
#define BOARD_NVIC_ENABLE (*(volatile uint32_t *)0xE000E100u)
#define BOARD_NVIC_CLEAR (*(volatile uint32_t *)0xE000E280u)
#define BOARD_INTERRUPT_STATE (*(volatile uint32_t *)0xE000ED04u)
#define BOARD_SYSTICK_CLEAR 0x02000000u
#define BOARD_RESET (*(volatile uint32_t *)0xE000ED0Cu)
#define BOARD_RESET_NOW 0x05FA0004u

/// 16 MiB that the runner backs with a file: the NOR flash stands at their beginning.
#define BOARD_NOR ((volatile uint32_t *)0x21000000u)

#endif
