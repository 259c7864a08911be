// SPDX-License-Identifier: Apache-2.0

/// The functions that this port provides to the unit (unit.h), and what they need to begin.
///
/// | function | source | here |
/// |---|---|---|
/// | random | random.c | a seed in flash, moved on at each start; a board with a generator asks that |
/// | seconds | clock.c | the board's timer |
/// | read, erase, program | nor.c | NOR flash, simulated word by word |
/// | send | uart.c | the serial line to the radio |
/// | event | log.c | a second serial line, for a log's reader; not in every profile |

#ifndef PORT_H
#define PORT_H

#include <stddef.h>
#include <stdint.h>

#include "ProofDevice.h"

#define STACK_PAINT 0x5AC35AC3u  ///< Content of stack words that were never used

// clock.c --------------------------------------------------------------------------------------------------------

void clock_begin(void);
/// Seconds since `clock_begin`. To be called at least every 171 seconds, when the timer has gone round.
uint32_t clock_seconds(void *context);
/// Processor instructions under `qemu -icount shift=0`, in steps of 40: for measuring, and for nothing else.
uint32_t clock_count(void);

// nor.c ----------------------------------------------------------------------------------------------------------

enum {
  NOR_PAGE_BYTES = 4096,
  NOR_SEED_PAGE = PFD_FLASH_PAGES,
  NOR_LOG_PAGE = NOR_SEED_PAGE + 2,
  NOR_LOG_PAGES = PFC_KEEPS_LOG ? 6 : 0,
  NOR_GRANT_PAGE = NOR_LOG_PAGE + NOR_LOG_PAGES,
  NOR_PAGES = NOR_GRANT_PAGE + (PFC_GRANTS ? (int)PFD_GRANT_PAGES : 0)
};

/// Pages 0 to PFD_FLASH_PAGES - 1 as flash.h lays them out; the two behind hold the seed (random.c), those behind it
/// the log, and the last ones what was lent.
int nor_read(void *context, uint32_t offset, uint8_t *bytes, size_t size);
int nor_erase(void *context, uint32_t offset);
int nor_program(void *context, uint32_t offset, const uint8_t *bytes, size_t size);
#if PFC_KEEPS_LOG
/// Whether the factory has begun a log: its key pages are then never blank at the same time.
int nor_has_log(void);
#endif

// random.c -------------------------------------------------------------------------------------------------------

/// Takes the seed out of flash and puts its successor there, before any byte of it is given. Without a seed, or if
/// flash takes nothing, `random_bytes` fails and the hardware gives no challenge.
void random_begin(const struct pfd_flash *flash);
int random_bytes(void *context, uint8_t *bytes, size_t size);

// uart.c ---------------------------------------------------------------------------------------------------------

/// PDUs in a stream of bytes, as over the FIFO pair (docs/LINK.md, section 1): length 2, then as many bytes. A length
/// of 0 is no PDU: it ends the link. Each side sends it once for each link, first or in answer; between the two, what
/// comes is dropped. At power on the hardware sends it.
enum uart_result { UART_LATER, UART_PDU, UART_RESET };

void uart_begin(void);
/// Takes what came. On UART_PDU `*pdu` and `*size` tell it, until the next call.
enum uart_result uart_receive(const uint8_t **pdu, size_t *size);
int uart_send(void *context, unsigned link, const uint8_t *pdu, size_t size);
/// Says that the link is over, once for each link: when this side ends it, or else in answer to the radio's.
void uart_end(void);

// log.c ----------------------------------------------------------------------------------------------------------

void log_begin(void);
/// One frame of 31 bytes: a mark 0xE7, a number that counts events, the event's first 28 bytes, and the sum of all
/// before. Waits a millisecond at most: the rest of a frame that the line does not take by then is lost.
void log_event(void *context, const struct pfd_event *event);

#endif
