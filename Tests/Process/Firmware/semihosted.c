// SPDX-License-Identifier: Apache-2.0

/// Reset of a test program that speaks to its host through the debugger's door: arguments, files, printf, exit.

#include <stddef.h>
#include <stdint.h>

extern uint32_t stack_top[];
void _start(void);
static void stop(void);

__attribute__((section(".vectors"), used)) static const struct {
  uint32_t *stack;
  void (*handlers[15])(void);
} vectors = {stack_top, {_start, stop, stop, stop, stop, stop, stop, stop, stop, stop, stop, stop, stop, stop, stop}};

/// Functions that the C library's start calls before and after `main`.
void _init(void);
void _fini(void);
void _init(void) {}
void _fini(void) {}

/// For the throw-away keys of a test; the same ones in each run.
void randombytes_buf(void *bytes, size_t size);
void randombytes_buf(void *bytes, size_t size) {
  static uint32_t state = 1;
  uint8_t *to = bytes;
  for (size_t i = 0; i < size; i++) {
    state = state * 1664525u + 1013904223u;
    to[i] = (uint8_t)(state >> 24);
  }
}

static void stop(void) {
  register uint32_t operation __asm__("r0") = 0x18;  // SYS_EXIT
  register uint32_t reason __asm__("r1") = 0x20023;  // a run-time error
  for (;;) __asm__ volatile("bkpt 0xAB" : : "r"(operation), "r"(reason) : "memory");
}
