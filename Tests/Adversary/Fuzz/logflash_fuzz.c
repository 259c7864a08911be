// SPDX-License-Identifier: Apache-2.0

/// The log's place in flash with any bytes: raw ones, and records, heads and entries of the hardware at any place with
/// any number. Then starts, writes, power cuts and reads that fail, driven by the input.
///
/// Oracles: the ring stays in its area and its pages. A start answers a documented result and writes at most the end of
/// one key. Where it finds a log, the place is one from which the log can go on: its key is L_next, what it says is
/// there can be read, a second start finds the same, and what is written then is read back by its number.

#include "fuzz.h"

enum { OFFSET = 64, PAGE = 288, PAGES = 5, PLACES = PAGE / 32 - 1, NUMBERS = 256 };

struct chip {
  uint8_t bytes[OFFSET + PAGE * PAGES + 64];
  struct pfc_log_flash port;
  unsigned writes, cut, reads, deaf;
  uint8_t mask;  ///< The bytes of each eight that the cut operation changes
  int dark;
};

static uint8_t keys[NUMBERS + 64][PFC_LOG_KEY_BYTES];
static struct pfc_hardware hardware;
static uint8_t store_key[32];

static int chip_read(void *context, uint32_t offset, uint8_t *bytes, size_t size) {
  struct chip *chip = context;
  REQUIRE(offset >= OFFSET && offset + size <= OFFSET + PAGE * PAGES);
  if (++chip->reads == chip->deaf || chip->dark) return -1;
  memcpy(bytes, chip->bytes + offset, size);
  return 0;
}

static int change(struct chip *chip, uint32_t offset, const uint8_t *bytes, size_t size) {
  if (chip->dark) return -1;
  chip->dark = ++chip->writes == chip->cut;
  for (size_t i = 0; i < size; i++) {
    if (!chip->dark || (chip->mask >> i / 8 % 8 & 1) != 0) chip->bytes[offset + i] = bytes != NULL ? bytes[i] : 255;
  }
  return chip->dark ? -1 : 0;
}

static int chip_erase(void *context, uint32_t offset) {
  REQUIRE(offset >= OFFSET && (offset - OFFSET) % PAGE == 0 && offset < OFFSET + PAGE * PAGES);
  return change(context, offset, NULL, PAGE);
}

static int chip_program(void *context, uint32_t offset, const uint8_t *bytes, size_t size) {
  struct chip *chip = context;
  uint8_t after[PFC_LOG_KEY_PLACE_BYTES];
  REQUIRE(offset >= OFFSET && offset % 32 == 0 && size % 32 == 0 && size <= sizeof after);
  REQUIRE((offset - OFFSET) / PAGE == (offset - OFFSET + size - 1) / PAGE && offset + size <= OFFSET + PAGE * PAGES);
  for (size_t i = 0; i < size; i++) after[i] = chip->bytes[offset + i] & bytes[i];
  return change(chip, offset, after, size);
}

static void make_keys(void) {
  if (keys[1][0] != 0) return;
  memset(&hardware, 0x48, sizeof hardware);
  pfc_log_store_key(store_key, hardware.secret_key);
  memset(keys[0], 0x4C, sizeof keys[0]);
  for (unsigned i = 1; i < NUMBERS + 64; i++) {
    memcpy(keys[i], keys[i - 1], PFC_LOG_KEY_BYTES);
    pfc_log_step(keys[i]);
  }
}

/// One thing that stands in flash.
static void put(struct chip *chip, struct fuzz_input *input) {
  uint8_t what = fuzz_u8(input), where = fuzz_u8(input), number = fuzz_u8(input);
  unsigned page = where % PAGES, place = where / PAGES;
  uint8_t *at = chip->bytes + OFFSET + page * PAGE;
  struct pfc_log_key_record record = {.sequence = what, .number = number / 16u * 16, .undone = where % 16u};
  struct pfc_log_content content = {.event = PFC_LOG_COMMAND, .verdict = 1, .kind = 1, .counter = number};
  switch (what % 5) {
    case 0:
      place %= PAGE / PFC_LOG_KEY_PLACE_BYTES;
      memcpy(record.key, keys[record.number], sizeof record.key);
      REQUIRE(pfc_log_key_record_encode(at + place * PFC_LOG_KEY_PLACE_BYTES, &record, store_key) == PFC_OK);
      break;
    case 1:
      pfc_log_page_encode(at, number, store_key);
      break;
    case 2:
      place %= PLACES;
      REQUIRE(pfc_log_seal(at + 32 + place * 32, &content, keys[number], number, hardware.id) == PFC_OK);
      break;
    case 3:
      at += place % (PAGE / 32) * 32;
      fuzz_take(input, at, 32);
      break;
    default:
      memset(at, number, PAGE);
  }
}

static void check_result(int result) {
  REQUIRE(result == PFC_OK || result == PFC_E_DAMAGED || result == PFC_E_STORAGE);
}

/// The place that a start has found.
static void check_place(const struct pfc_log_ring *ring) {
  uint8_t entry[PFC_LOG_ENTRY_BYTES];
  uint64_t next = ring->log.next;
  REQUIRE(ring->block % 16 == 0 && next >= ring->block && next - ring->block <= 16);
  REQUIRE(ring->oldest <= next && next - ring->oldest <= 3 * PLACES);
  REQUIRE(next < NUMBERS + 64 && memcmp(ring->log.key, keys[next], PFC_LOG_KEY_BYTES) == 0);
  for (uint64_t i = ring->oldest; i < next; i++) REQUIRE(pfc_log_ring_read(ring, entry, i) == PFC_OK);
  REQUIRE(pfc_log_ring_read(ring, entry, next) == PFC_E_ARGUMENT);
}

static int start(struct pfc_log_ring *ring, const struct chip *chip) {
  struct pfc_log_content last;
  int result = pfc_log_ring_start(ring, &chip->port, &hardware, &last);
  check_result(result);
  if (result != PFC_OK) {
    REQUIRE(fuzz_all(ring, sizeof *ring, 0) && fuzz_all(&last, sizeof last, 0));
    return result;
  }
  pfc_log_ring_settle(ring, last.event == PFC_LOG_COMMAND && last.counter % 3 == 0);
  return result;
}

/// Writes an event, perhaps cut. 0 if the lock has to start again.
static int write_event(struct pfc_log_ring *ring, struct chip *chip, uint8_t how) {
  struct pfc_log_content content = {.event = PFC_LOG_COMMAND, .verdict = 1, .kind = 1, .counter = how}, opened;
  uint8_t entry[PFC_LOG_ENTRY_BYTES];
  uint64_t before = ring->log.next;
  if (before > NUMBERS) return 0;
  chip->cut = how >= 192 ? chip->writes + 1 + how % 8 : 0;
  chip->mask = how;
  if (pfc_log_ring_write(ring, &content, 3) != PFC_OK) {
    REQUIRE(ring->log.next >= before && ring->log.next - before <= 2);
    return !chip->dark;
  }
  REQUIRE(pfc_log_ring_read(ring, entry, ring->log.next - 1) == PFC_OK || chip->dark);
  if (chip->dark) return 0;
  REQUIRE(pfc_log_open(&opened, entry, keys[ring->log.next - 1], ring->log.next - 1, hardware.id) == PFC_OK);
  REQUIRE(memcmp(&opened, &content, sizeof opened) == 0);
  return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct chip chip;
  struct fuzz_input input = {data, size};
  struct pfc_log_ring ring;
  uint8_t how;
  unsigned writes;
  make_keys();
  memset(&chip, 0, sizeof chip);
  memset(chip.bytes, 255, sizeof chip.bytes);
  how = fuzz_u8(&input);
  chip.port = (struct pfc_log_flash){.context = &chip,
                                     .offset = OFFSET,
                                     .page_bytes = PAGE,
                                     .pages = PAGES,
                                     .programs_once = how & 1,
                                     .read = chip_read,
                                     .erase = chip_erase,
                                     .program = chip_program};
  if ((how & 2) != 0) {
    unsigned first = how / 64u * 16;
    REQUIRE(pfc_log_ring_format(&chip.port, &hardware, first, keys[first]) == PFC_OK);
  }
  for (unsigned count = fuzz_u8(&input) % 32; count > 0; count--) put(&chip, &input);
  chip.deaf = fuzz_u8(&input);
  (void)start(&ring, &chip);
  chip.deaf = 0;
  while (input.left > 0) {
    chip.dark = 0;
    chip.cut = 0;
    if (start(&ring, &chip) != PFC_OK) break;
    check_place(&ring);
    writes = chip.writes;
    if (start(&ring, &chip) != PFC_OK) fuzz_fail("a second start fails", __FILE__, __LINE__);
    check_place(&ring);
    REQUIRE(chip.writes == writes);
    while (input.left > 0 && write_event(&ring, &chip, fuzz_u8(&input))) continue;
    if (ring.log.next > NUMBERS) break;
  }
  return 0;
}
