// SPDX-License-Identifier: Apache-2.0

#include "logbook_ring.h"

#include "crypto.h"
#include "internal.h"

enum {
  BLANK = 0xFF,
  CHUNK_BYTES = 32  ///< Flash is looked at in pieces: an entry, a page head, a key.
};

_Static_assert(PFC_LOG_ENTRY_BYTES == CHUNK_BYTES && PFC_LOG_PAGE_HEAD_BYTES == CHUNK_BYTES, "one chunk each");
_Static_assert(PFC_LOG_KEY_BYTES == CHUNK_BYTES && PFC_LOG_KEY_RECORD_KEY_AT % CHUNK_BYTES == 0, "a key is a chunk");
_Static_assert(PFC_LOG_KEY_PLACE_BYTES % CHUNK_BYTES == 0 && PFC_LOG_KEY_RECORD_BYTES <= PFC_LOG_KEY_PLACE_BYTES,
               "a key record fits its place");

// Flash ----------------------------------------------------------------------------------------------------------

static uint32_t page_at(const struct pfc_log_flash *flash, unsigned page) {
  return flash->offset + page * flash->page_bytes;
}

static unsigned ring_pages(const struct pfc_log_flash *flash) { return flash->pages - PFC_LOG_KEY_PAGES; }

/// Entries of one page.
static uint32_t places(const struct pfc_log_flash *flash) { return flash->page_bytes / PFC_LOG_ENTRY_BYTES - 1; }

static uint32_t place_at(const struct pfc_log_flash *flash, unsigned ring_page, uint32_t place) {
  return page_at(flash, PFC_LOG_KEY_PAGES + ring_page) + PFC_LOG_PAGE_HEAD_BYTES + place * PFC_LOG_ENTRY_BYTES;
}

static int area_is_right(const struct pfc_log_flash *flash) {
  return flash->read != NULL && flash->erase != NULL && flash->program != NULL && flash->pages >= PFC_LOG_PAGES_MIN &&
         flash->page_bytes % CHUNK_BYTES == 0 && flash->page_bytes >= PFC_LOG_KEY_PLACE_BYTES &&
         flash->page_bytes <= UINT16_MAX * PFC_LOG_ENTRY_BYTES &&
         (ring_pages(flash) - 1) * (uint64_t)places(flash) >= PFC_LOG_BLOCK;
}

/// Whether flash holds these bytes, or `value` in each byte where `bytes` is NULL: 1 or 0, or -1 if flash does not
/// answer. `size` is a multiple of CHUNK_BYTES.
static int holds(const struct pfc_log_flash *flash, uint32_t at, const uint8_t *bytes, uint8_t value, size_t size) {
  uint8_t found[CHUNK_BYTES];
  unsigned bits = 0;
  int result = 0;
  for (size_t done = 0; done < size && result == 0; done += CHUNK_BYTES) {
    result = flash->read(flash->context, (uint32_t)(at + done), found, sizeof found);
    for (size_t i = 0; result == 0 && i < CHUNK_BYTES; i++) {
      bits |= found[i] ^ (unsigned)(bytes != NULL ? bytes[done + i] : value);
    }
  }
  PFC_DECLASSIFY(&bits, sizeof bits);
  pfc_wipe(found, sizeof found);
  return result == 0 ? bits == 0 : -1;
}

/// Counts the places up to the last that is not blank.
static int find_end(const struct pfc_log_flash *flash, uint32_t at, size_t place_bytes, uint32_t count,
                    uint32_t *used) {
  int blank = 1;
  // From the end: what a cut write left is not blank, and nothing behind it is written.
  for (*used = count; *used > 0 && blank == 1;) {
    blank = holds(flash, (uint32_t)(at + (*used - 1) * place_bytes), NULL, BLANK, place_bytes);
    if (blank == 1) --*used;
  }
  return blank < 0 ? PFC_E_STORAGE : PFC_OK;
}

static int erase(const struct pfc_log_flash *flash, unsigned page) {
  return flash->erase(flash->context, page_at(flash, page)) == 0 ? PFC_OK : PFC_E_STORAGE;
}

/// Programs, and compares what stands there then.
static int program(const struct pfc_log_flash *flash, uint32_t at, const uint8_t *bytes, size_t size) {
  if (flash->program(flash->context, at, bytes, size) != 0) return PFC_E_STORAGE;
  return holds(flash, at, bytes, 0, size) == 1 ? PFC_OK : PFC_E_STORAGE;
}

// Key records ----------------------------------------------------------------------------------------------------

static int find_records(const struct pfc_log_flash *flash, unsigned copy, uint32_t *used) {
  return find_end(flash, page_at(flash, copy), PFC_LOG_KEY_PLACE_BYTES, flash->page_bytes / PFC_LOG_KEY_PLACE_BYTES,
                  used);
}

/// Makes the last record's key of a page unreadable. Those before it are so already. Writes nothing if it is.
static int destroy_key(const struct pfc_log_flash *flash, unsigned copy) {
  static const uint8_t zeros[PFC_LOG_KEY_BYTES] = {0};
  uint32_t used, at;
  int result = find_records(flash, copy, &used), gone;
  if (result != PFC_OK || used == 0) return result;
  if (flash->programs_once) {
    result = erase(flash, copy);
    if (result == PFC_OK && holds(flash, page_at(flash, copy), NULL, BLANK, flash->page_bytes) != 1) {
      result = PFC_E_STORAGE;
    }
    return result;
  }
  at = page_at(flash, copy) + (used - 1) * PFC_LOG_KEY_PLACE_BYTES + PFC_LOG_KEY_RECORD_KEY_AT;
  gone = holds(flash, at, zeros, 0, sizeof zeros);
  if (gone != 0) return gone > 0 ? PFC_OK : PFC_E_STORAGE;
  return program(flash, at, zeros, sizeof zeros);
}

/// Writes a record into the page that does not hold the newest one, behind what stands there.
static int write_record(const struct pfc_log_flash *flash, unsigned copy, const struct pfc_log_key_record *record,
                        const struct pfc_hardware *hardware) {
  uint8_t bytes[PFC_LOG_KEY_PLACE_BYTES], store_key[32];
  uint32_t used;
  // An earlier attempt may have left this block's key there.
  int result = destroy_key(flash, copy);
  if (result == PFC_OK) result = find_records(flash, copy, &used);
  if (result == PFC_OK && (used + 1) * PFC_LOG_KEY_PLACE_BYTES > flash->page_bytes) {
    result = erase(flash, copy);
    used = 0;
  }
  if (result != PFC_OK) return result;
  memset(bytes, BLANK, sizeof bytes);
  pfc_log_store_key(store_key, hardware->secret_key);
  result = pfc_log_key_record_encode(bytes, record, store_key);
  if (result == PFC_OK) {
    result = program(flash, page_at(flash, copy) + used * PFC_LOG_KEY_PLACE_BYTES, bytes, sizeof bytes);
  }
  pfc_wipe(store_key, sizeof store_key);
  pfc_wipe(bytes, sizeof bytes);
  return result;
}

/// The key record for the block that begins, and the end of the key before.
static int turn(struct pfc_log_ring *ring) {
  struct pfc_log_key_record record;
  unsigned copy = ring->copy ^ 1u;
  int result;
  pfc_log_turn(&record, &ring->log, ring->sequence + 1, ring->acknowledged);
  result = write_record(ring->flash, copy, &record, ring->hardware);
  pfc_wipe(&record, sizeof record);
  if (result != PFC_OK) return result;
  ring->sequence++;
  ring->block = ring->log.next;
  ring->copy = (uint8_t)copy;
  ring->is_stale = 1;
  return PFC_OK;
}

/// Makes the key of the block before unreadable, unless that is done.
static int leave_past(struct pfc_log_ring *ring) {
  int result = ring->is_stale ? destroy_key(ring->flash, ring->copy ^ 1u) : PFC_OK;
  if (result == PFC_OK) ring->is_stale = 0;
  return result;
}

/// Reads the newest record.
PFC_APART static int load_record(struct pfc_log_ring *ring, struct pfc_log_key_record *newest,
                                 const uint8_t store_key[32]) {
  struct pfc_log_key_record record;
  uint8_t bytes[PFC_LOG_KEY_RECORD_BYTES];
  int result = PFC_OK, found = 0;
  for (unsigned copy = 0; copy < PFC_LOG_KEY_PAGES && result == PFC_OK; copy++) {
    uint32_t used, at;
    result = find_records(ring->flash, copy, &used);
    if (result != PFC_OK || used == 0) continue;
    at = page_at(ring->flash, copy) + (used - 1) * PFC_LOG_KEY_PLACE_BYTES;
    if (ring->flash->read(ring->flash->context, at, bytes, sizeof bytes) != 0) {
      result = PFC_E_STORAGE;
      continue;
    }
    result = pfc_log_key_record_decode(&record, bytes, store_key);
    if (result == PFC_OK && (!found || record.sequence > newest->sequence)) {
      *newest = record;
      ring->copy = (uint8_t)copy;
      found = 1;
    }
    // A copy that a power cut has torn, or whose key is gone: the other one counts.
    if (result == PFC_E_DAMAGED) result = PFC_OK;
  }
  pfc_wipe(&record, sizeof record);
  pfc_wipe(bytes, sizeof bytes);
  return result == PFC_OK && !found ? PFC_E_DAMAGED : result;
}

// The ring -------------------------------------------------------------------------------------------------------

/// Where the entry stands that is so many before the end of the ring.
static uint32_t entry_at(const struct pfc_log_ring *ring, uint32_t back) {
  uint32_t count = places(ring->flash), pages_back;
  if (back <= ring->place) return place_at(ring->flash, ring->page, ring->place - back);
  back -= ring->place;
  pages_back = (back - 1) / count + 1;
  return place_at(ring->flash, (ring->page + ring_pages(ring->flash) - pages_back) % ring_pages(ring->flash),
                  pages_back * count - back);
}

/// Entries that stay when the page with the oldest ones is erased.
static uint32_t kept_entries(const struct pfc_log_flash *flash) { return (ring_pages(flash) - 1) * places(flash); }

/// Begins a page with the next entry's number, in the place of the oldest page.
static int open_page(struct pfc_log_ring *ring) {
  const struct pfc_log_flash *flash = ring->flash;
  unsigned page = (ring->page + 1u) % ring_pages(flash);
  uint8_t head[PFC_LOG_PAGE_HEAD_BYTES], store_key[32];
  int result;
  // Its entries are gone from here on, however far the erasure comes.
  if (ring->log.next - ring->oldest > kept_entries(flash)) ring->oldest = ring->log.next - kept_entries(flash);
  result = erase(flash, PFC_LOG_KEY_PAGES + page);
  if (result != PFC_OK) return result;
  pfc_log_store_key(store_key, ring->hardware->secret_key);
  pfc_log_page_encode(head, ring->log.next, store_key);
  pfc_wipe(store_key, sizeof store_key);
  result = program(flash, page_at(flash, PFC_LOG_KEY_PAGES + page), head, sizeof head);
  if (result != PFC_OK) return result;
  ring->page = (uint16_t)page;
  ring->place = 0;
  return PFC_OK;
}

/// Makes room and moves the key record on, as far as the next entry needs it.
static int prepare(struct pfc_log_ring *ring) {
  int result = PFC_OK;
  if (ring->place == places(ring->flash)) result = open_page(ring);
  if (result == PFC_OK && pfc_log_turns(&ring->log) && ring->block != ring->log.next) result = turn(ring);
  return result == PFC_OK ? leave_past(ring) : result;
}

static int append(struct pfc_log_ring *ring, const struct pfc_log_content *content) {
  uint8_t entry[PFC_LOG_ENTRY_BYTES];
  uint32_t at;
  int result = prepare(ring);
  if (result == PFC_OK) result = pfc_log_put(entry, &ring->log, content, ring->hardware->id);
  if (result != PFC_OK) return result;
  at = place_at(ring->flash, ring->page, ring->place);
  result = program(ring->flash, at, entry, sizeof entry);
  if (result == PFC_OK) {
    pfc_log_written(&ring->log, content);
  } else if (holds(ring->flash, at, NULL, BLANK, sizeof entry) == 1) {
    // Nothing stands there. After a start the number would be free, so it is free now.
    return result;
  } else {
    pfc_log_failed(&ring->log);
  }
  ring->place++;
  return result;
}

int pfc_log_ring_write(struct pfc_log_ring *ring, const struct pfc_log_content *content, uint64_t next_counter) {
  struct pfc_log_content note;
  int result = PFC_OK;
  if (!ring->is_ready) return PFC_E_STORAGE;
  if (content->event == PFC_LOG_NOTE) return PFC_E_ARGUMENT;
  if (pfc_log_note(&ring->log, &note, content->epoch, next_counter)) result = append(ring, &note);
  return result == PFC_OK ? append(ring, content) : result;
}

int pfc_log_ring_read(const struct pfc_log_ring *ring, uint8_t entry[PFC_LOG_ENTRY_BYTES], uint64_t number) {
  uint64_t next = ring->log.next;
  memset(entry, 0, PFC_LOG_ENTRY_BYTES);
  if (!ring->is_ready || number < ring->oldest || number >= next) return PFC_E_ARGUMENT;
  if (ring->flash->read(ring->flash->context, entry_at(ring, (uint32_t)(next - number)), entry, PFC_LOG_ENTRY_BYTES) ==
      0) {
    return PFC_OK;
  }
  memset(entry, 0, PFC_LOG_ENTRY_BYTES);
  return PFC_E_STORAGE;
}

// Starts ---------------------------------------------------------------------------------------------------------

/// Reads a page's head. PFC_E_DAMAGED if it has none.
static int load_head(const struct pfc_log_flash *flash, unsigned ring_page, uint64_t *number,
                     const uint8_t store_key[32]) {
  uint8_t head[PFC_LOG_PAGE_HEAD_BYTES];
  *number = 0;
  if (flash->read(flash->context, page_at(flash, PFC_LOG_KEY_PAGES + ring_page), head, sizeof head) != 0) {
    return PFC_E_STORAGE;
  }
  return pfc_log_page_decode(number, head, store_key);
}

/// Finds the newest page, its first free place, and the oldest entry. `*end` is the number behind the last entry, that
/// of the key record if no page has a head.
static int find_pages(struct pfc_log_ring *ring, uint64_t *end, const uint8_t store_key[32]) {
  const struct pfc_log_flash *flash = ring->flash;
  uint32_t count = places(flash), used, older;
  uint64_t number, first = 0;
  int result, found = 0;
  ring->page = (uint16_t)(ring_pages(flash) - 1);
  ring->place = (uint16_t)count;
  for (unsigned page = 0; page < ring_pages(flash); page++) {
    result = load_head(flash, page, &number, store_key);
    if (result != PFC_OK && result != PFC_E_DAMAGED) return result;
    if (result != PFC_OK || (found && number <= first)) continue;
    first = number;
    ring->page = (uint16_t)page;
    found = 1;
  }
  ring->oldest = *end;
  if (!found) return PFC_OK;
  result = find_end(flash, place_at(flash, ring->page, 0), PFC_LOG_ENTRY_BYTES, count, &used);
  if (result != PFC_OK) return result;
  ring->place = (uint16_t)used;
  *end = first + used;
  ring->oldest = first;
  // The page that is erased next does not count while the newest is full: its erasure may have begun.
  older = ring_pages(flash) - 1 - (used == count);
  for (unsigned back = 1; back <= older && ring->oldest >= count; back++) {
    result = load_head(flash, (ring->page + ring_pages(flash) - back) % ring_pages(flash), &number, store_key);
    if (result == PFC_E_DAMAGED || (result == PFC_OK && number != ring->oldest - count)) break;
    if (result != PFC_OK) return result;
    ring->oldest = number;
  }
  return PFC_OK;
}

/// Takes the entries behind the key record.
PFC_APART static int take_entries(struct pfc_log_ring *ring, uint64_t end, struct pfc_log_content *last) {
  struct pfc_log_content content;
  uint8_t entry[PFC_LOG_ENTRY_BYTES];
  int result = 0;
  while (result == 0 && ring->log.next < end) {
    uint32_t at = entry_at(ring, (uint32_t)(end - ring->log.next));
    result = ring->flash->read(ring->flash->context, at, entry, sizeof entry);
    if (result == 0 && pfc_log_resume_entry(&ring->log, &content, entry, ring->hardware->id) != PFC_E_DIFFERS) {
      *last = content;
    }
  }
  pfc_wipe(&content, sizeof content);
  return result == 0 ? PFC_OK : PFC_E_STORAGE;
}

int pfc_log_ring_start(struct pfc_log_ring *ring, const struct pfc_log_flash *flash,
                       const struct pfc_hardware *hardware, struct pfc_log_content *last) {
  struct pfc_log_key_record record;
  uint8_t store_key[32];
  uint64_t end;
  int result;
  memset(ring, 0, sizeof *ring);
  memset(last, 0, sizeof *last);
  if (!area_is_right(flash)) return PFC_E_ARGUMENT;
  ring->flash = flash;
  ring->hardware = hardware;
  pfc_log_store_key(store_key, hardware->secret_key);
  memset(&record, 0, sizeof record);
  result = load_record(ring, &record, store_key);
  end = record.number;
  if (result == PFC_OK) result = find_pages(ring, &end, store_key);
  pfc_wipe(store_key, sizeof store_key);
  // Before the first entry behind a block a key record is written, and each number before it is in flash.
  if (result == PFC_OK && (end < record.number || end - record.number > PFC_LOG_BLOCK)) result = PFC_E_DAMAGED;
  if (result == PFC_OK) {
    ring->block = record.number;
    ring->acknowledged = record.acknowledged;
    ring->sequence = record.sequence;
    ring->is_stale = 1;
    pfc_log_resume(&ring->log, &record);
    result = take_entries(ring, end, last);
  }
  pfc_wipe(&record, sizeof record);
  if (result == PFC_OK) result = leave_past(ring);
  if (result != PFC_OK) {
    memset(last, 0, sizeof *last);
    pfc_wipe(ring, sizeof *ring);
  }
  return result;
}

void pfc_log_ring_settle(struct pfc_log_ring *ring, int is_undone) {
  pfc_log_resume_end(&ring->log, is_undone);
  ring->is_ready = 1;
}

int pfc_log_ring_format(const struct pfc_log_flash *flash, const struct pfc_hardware *hardware, uint64_t number,
                        const uint8_t key[PFC_LOG_KEY_BYTES]) {
  struct pfc_log_key_record record = {.sequence = 1, .number = number};
  int result = PFC_OK, is_zero = pfc_is_zero(key, PFC_LOG_KEY_BYTES);
  PFC_DECLASSIFY(&is_zero, sizeof is_zero);
  if (!area_is_right(flash) || number % PFC_LOG_BLOCK != 0 || is_zero) return PFC_E_ARGUMENT;
  // The key records first: a cut leaves no log, and none that goes on under numbers it had.
  for (unsigned page = 0; page < flash->pages && result == PFC_OK; page++) result = erase(flash, page);
  memcpy(record.key, key, sizeof record.key);
  if (result == PFC_OK) result = write_record(flash, 0, &record, hardware);
  pfc_wipe(&record, sizeof record);
  return result;
}
