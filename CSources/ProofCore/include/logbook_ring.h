// SPDX-License-Identifier: Apache-2.0

/// The log's place in flash: a ring of pages with entries, and two pages for the key record's two copies.
///
///     page 0, 1          key records: copy 0, copy 1. Each page is filled from its beginning, a place for each record
///     page 2 and up      the ring, at least two pages: a page head, then the entries in the order of their numbers
///
/// All memory is the caller's. Order of calls:
///
///     pfc_log_ring_format(...)       once, in the factory: the log is empty
///     pfc_log_ring_start(...)        at each start: finds the newest key record and the last entry
///     pfc_log_ring_settle(...)       then: says whether the last entry happened
///     pfc_log_ring_write(...)        for each proved event, before it is carried out
///
/// Invariant. Between any two calls of `erase` and `program`, and whatever part of one of them a power cut leaves:
///
/// 1. One key record is intact, its block begins at most 16 entries before the end of the log, and its key leads to
///    all entries from there on. Only `pfc_log_ring_format` breaks this: there is no log until it is done.
/// 2. A page whose head is right was erased as a whole before its head was written. Its places are filled in order.
///    The place of an entry whose number was used is not blank.
/// 3. A page is erased only while the newest page is full, and it is the page with the oldest entries. At a start in
///    this state that page does not count any more: its erasure may have begun.
/// 4. Keys of an earlier block stand in at most one record beside the newest, and only until the next call of
///    `pfc_log_ring_start` or `pfc_log_ring_write` returns PFC_OK.
///
/// So a power cut leaves the entry whole, torn or not there, and takes no other entry away. A torn entry keeps its
/// number, and the next note tells of it (logbook.h).

#ifndef PFC_LOGBOOK_RING_H
#define PFC_LOGBOOK_RING_H

#include <stddef.h>
#include <stdint.h>

#include "hardware.h"
#include "logbook.h"
#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PFC_LOG_KEY_PAGES 2u
#define PFC_LOG_PAGES_MIN (PFC_LOG_KEY_PAGES + 2u)

/// A key record's place. A multiple of 32, as the place of its key, so that its key can be programmed to zeros alone
/// where a word has up to 32 bytes. Ones fill it behind the record.
#define PFC_LOG_KEY_PLACE_BYTES 96u

/// Flash functions that the port provides. Each answers 0, or anything else if it failed.
struct pfc_log_flash {
  void *context;
  uint32_t offset;      ///< Where the log's area begins
  uint32_t page_bytes;  ///< A page is erased whole. A multiple of 32, at least PFC_LOG_KEY_PLACE_BYTES
  uint16_t pages;       ///< At least PFC_LOG_PAGES_MIN; 0: there is no log. All but one page of the ring must have room
                        ///< for a block of entries
  /// 1 for flash that can program a word once between two erasures, because of its error correction: the page of the
  /// older key record is then erased at each block. 0: its key is programmed to zeros. A port that says 0 of flash that
  /// does not do this leaves keys of the past behind; the readback finds it, and the log then takes no entry.
  uint8_t programs_once;
  /// Fills `bytes`. A word whose write was cut does answer, with whatever stands there: a port whose flash reports it
  /// fills in zeros and returns 0.
  int (*read)(void *context, uint32_t offset, uint8_t *bytes, size_t size);
  /// Sets the page that begins at `offset` to ones. Returns when it is done.
  int (*erase)(void *context, uint32_t offset);
  /// Clears bits: `offset` and `size` are multiples of 32. Returns when it is durable.
  int (*program)(void *context, uint32_t offset, const uint8_t *bytes, size_t size);
};

/// The hardware's end of the log, and its place in flash. Secret: wipe it when done. Only `log` is for others than the
/// ring: for `pfc_log_refuse`, `pfc_log_undo` and `pfc_log_message_make`.
struct pfc_log_ring {
  const struct pfc_log_flash *flash;
  const struct pfc_hardware *hardware;
  struct pfc_log log;
  uint64_t oldest;        ///< The oldest entry that the ring still has; log.next if it has none
  uint64_t block;         ///< The newest key record's block
  uint64_t acknowledged;  ///< As in the key record
  uint32_t sequence;      ///< The newest key record's
  uint16_t page;          ///< The newest page of the ring, from 0
  uint16_t place;         ///< Its first free place; the number of its places if it is full
  uint8_t copy;           ///< The page of the newest key record
  uint8_t is_stale;       ///< The other page may hold a key of an earlier block.
  uint8_t is_ready;       ///< Started and settled
};

/// Empties the area and begins a log at entry `number`, a multiple of PFC_LOG_BLOCK, with L_number. A number that was
/// used before is used twice then, and the backend's reader says so: new flash begins at 0, flash whose log was lost
/// behind every number that the backend has seen. PFC_E_ARGUMENT if the area, the number or the key cannot be right;
/// PFC_E_STORAGE.
PFC_MUST_USE int pfc_log_ring_format(const struct pfc_log_flash *flash, const struct pfc_hardware *hardware,
                                     uint64_t number, const uint8_t key[PFC_LOG_KEY_BYTES]);

/// Finds the place where the log ends. `flash` and `hardware` are borrowed. `*last` is the last entry that opens of
/// those behind the newest key record, all zeros if there is none. Writes only where a power cut left the key of an
/// earlier block: it is made unreadable.
/// PFC_E_DAMAGED if there is no intact key record, or entries and key record contradict each other, which no power cut
/// causes. PFC_E_TOO_NEW if a later version has written here; PFC_E_STORAGE; PFC_E_ARGUMENT if the area cannot be
/// right. The ring then takes no entries.
PFC_MUST_USE int pfc_log_ring_start(struct pfc_log_ring *ring, const struct pfc_log_flash *flash,
                                    const struct pfc_hardware *hardware, struct pfc_log_content *last);

/// Ends the start. `is_undone` as in `pfc_log_resume_end`.
void pfc_log_ring_settle(struct pfc_log_ring *ring, int is_undone);

/// Writes a note if one is due, with this counter of the next challenge, and then the entry of an event. PFC_OK once
/// the entry is durable: carry out the event then. PFC_E_STORAGE if flash takes it not, or not whole: do not carry it
/// out. The next call goes on behind whatever stands there. PFC_E_ARGUMENT for a note, or a content out of range.
PFC_MUST_USE int pfc_log_ring_write(struct pfc_log_ring *ring, const struct pfc_log_content *content,
                                    uint64_t next_counter);

/// Reads an entry as it stands in flash, torn ones too. PFC_E_ARGUMENT unless oldest <= number < next; PFC_E_STORAGE.
/// The entry is then all zeros.
PFC_MUST_USE int pfc_log_ring_read(const struct pfc_log_ring *ring, uint8_t entry[PFC_LOG_ENTRY_BYTES],
                                   uint64_t number);

#ifdef __cplusplus
}
#endif

#endif
