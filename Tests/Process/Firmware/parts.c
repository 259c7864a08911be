// SPDX-License-Identifier: Apache-2.0

/// Parts of the port on this machine, as a library that parts_test.py calls: the clock, the log's frames, the flash,
/// the seed, and the smaller hashes and loops over memory.

// In front of everything that declares the C library's own.
#define memcpy port_memcpy
#define memset port_memset
#define memcmp port_memcmp
#define strlen port_strlen
#include "../../../CSources/ports/cortex-m3/memory.c"
#undef memcpy
#undef memset
#undef memcmp
#undef strlen

#include <string.h>

#include "parts.h"
#include "port.h"

// The board ------------------------------------------------------------------------------------------------------

uint32_t parts_nor[1 << 15];
/// Ticks that pass with each look at the timer, and how many looks there were.
uint32_t parts_step, parts_looks;
struct board_timer parts_now;
/// The bytes of the log's line, and how many it takes; then it is full.
uint8_t parts_said[256];
uint32_t parts_said_count, parts_room = UINT32_MAX;
struct board_uart parts_uart = {.data = UINT32_MAX};

struct board_timer *parts_timer(void) {
  parts_looks++;
  parts_now.value -= parts_step;
  return &parts_now;
}

/// Takes the byte that was put since the last look.
struct board_uart *parts_line(void) {
  if (parts_uart.data != UINT32_MAX && parts_said_count < sizeof parts_said) {
    parts_said[parts_said_count++] = (uint8_t)parts_uart.data;
  }
  parts_uart.data = UINT32_MAX;
  parts_uart.state = parts_said_count >= parts_room ? BOARD_UART_TRANSMIT_FULL : BOARD_UART_RECEIVED;
  return &parts_uart;
}

// The unit's pages, for the seed ---------------------------------------------------------------------------------

uint8_t parts_pages[20][64];
/// The page that cannot be read, the one that cannot be written, and the order in which pages were written.
int parts_unread = -1, parts_unwritten = -1;
uint8_t parts_written[8];
uint32_t parts_written_count;

int pfd_flash_read(const struct pfd_flash *flash, unsigned page, uint8_t *bytes, size_t size) {
  (void)flash;
  memcpy(bytes, parts_pages[page], size);
  return (int)page == parts_unread ? -1 : 0;
}

int pfd_flash_write(const struct pfd_flash *flash, unsigned page, const uint8_t *bytes, size_t size) {
  (void)flash;
  if ((int)page == parts_unwritten) return -1;
  parts_written[parts_written_count++ % 8] = (uint8_t)page;
  memcpy(parts_pages[page], bytes, size);
  return 0;
}

/// The bytes of a start: 0 if there are some.
int parts_start(uint8_t *bytes, uint32_t size, uint32_t count);

// The port's sources ---------------------------------------------------------------------------------------------

#include "../../../CSources/ports/cortex-m3/clock.c"
#include "../../../CSources/ports/cortex-m3/log.c"
#include "../../../CSources/ports/cortex-m3/nor.c"
#define load load_seed
#include "../../../CSources/ports/cortex-m3/random.c"
#undef load

int parts_start(uint8_t *bytes, uint32_t size, uint32_t count) {
  ready = 0;
  drawn = 0;
  random_begin(NULL);
  for (uint32_t i = 0; i < count; i++) {
    if (random_bytes(NULL, bytes + (size_t)i * size, size) != 0) return -1;
  }
  return 0;
}

/// The enumerations of port.h, for the test to compare with the page.
const uint32_t parts_places[] = {NOR_PAGE_BYTES, NOR_SEED_PAGE, NOR_LOG_PAGE, NOR_LOG_PAGES, NOR_GRANT_PAGE, NOR_PAGES};
