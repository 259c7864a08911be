// SPDX-License-Identifier: Apache-2.0

/// From reset to `main`: paints the stack, copies data, clears the rest. No interrupt is ever taken (main.c).

#include "board.h"
#include "port.h"

extern uint32_t data_image[], data_begin[], data_end[], bss_begin[], bss_end[], stack_bottom[], stack_top[],
    paint_end[];

int main(void);
void abort(void) __attribute__((noreturn));
void start(void);

/// Resets after an unexpected exception: a glitch or a defect. Power-on is the one known state.
static void restart(void) {
  BOARD_RESET = BOARD_RESET_NOW;
  for (;;) continue;
}

/// libsodium's answer to a caller that breaks its contract; the C library's own would bring signals and a heap.
void abort(void) {
  restart();
  for (;;) continue;
}

typedef void (*vector)(void);

__attribute__((section(".vectors"), used)) static const struct {
  uint32_t *stack;
  vector reset;
  vector faults[14];
} vectors = {stack_top, start, {restart, restart, restart, restart, restart, restart, restart,
                                restart, restart, restart, restart, restart, restart, restart}};

__attribute__((noreturn)) void start(void) {
  // By hand: a call to memset would stand on the stack that is being painted.
  for (volatile uint32_t *word = stack_bottom; word < paint_end; word++) *word = STACK_PAINT;
  for (uint32_t *to = data_begin, *from = data_image; to < data_end; to++, from++) *to = *from;
  for (volatile uint32_t *word = bss_begin; word < bss_end; word++) *word = 0;
  (void)main();
  restart();
  for (;;) continue;
}
