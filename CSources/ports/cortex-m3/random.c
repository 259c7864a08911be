// SPDX-License-Identifier: Apache-2.0

/// Random bytes on a board that has no generator: a seed of 32 random bytes that the factory puts into flash.
///
/// At each start the seed is replaced by its successor, and only then a pool is made of it: whatever is cut, no start
/// ever draws from the seed of another, and who reads the flash later cannot tell what was drawn before. Two copies, as
/// everything here that a power cut may hit. It is as good as the factory's random bytes, and no better: where the
/// board has a generator, ask that.
///
/// A seed stands in flash as sequence 4 ‖ seed 32 ‖ SHA256("port.seed......." ‖ sequence ‖ seed)[0..16).

#include <string.h>

#include "crypto.h"
#include "port.h"

enum {
  AT_SEED = 4,
  SEED_BYTES = 32,
  AT_CHECK = AT_SEED + SEED_BYTES,
  CHECK_BYTES = 16,
  BYTES = AT_CHECK + CHECK_BYTES
};

static uint8_t pool[SEED_BYTES];
static uint32_t drawn;
static uint8_t ready;

static void make_check(uint8_t check[32], const uint8_t *bytes) {
  pfc_hash_once(check, "port.seed.......", bytes, AT_CHECK);
}

static uint32_t sequence_of(const uint8_t *bytes) {
  return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/// The newest intact seed, and the page it stands in; -1 without one.
static int load(uint8_t newest[BYTES], const struct pfd_flash *flash) {
  uint8_t bytes[BYTES], check[32];
  int page = -1;
  for (int i = 0; i < 2; i++) {
    if (pfd_flash_read(flash, (unsigned)(NOR_SEED_PAGE + i), bytes, sizeof bytes) != 0) continue;
    make_check(check, bytes);
    if (!pfc_equal(check, bytes + AT_CHECK, CHECK_BYTES)) continue;
    if (page >= 0 && sequence_of(bytes) < sequence_of(newest)) continue;
    memcpy(newest, bytes, sizeof bytes);
    page = i;
  }
  pfc_wipe(bytes, sizeof bytes);
  return page;
}

PFC_APART void random_begin(const struct pfd_flash *flash) {
  uint8_t bytes[BYTES], check[32];
  int page = load(bytes, flash);
  if (page >= 0) {
    uint32_t sequence = sequence_of(bytes) + 1;
    pfc_derive(pool, "port.seed-pool..", bytes + AT_SEED, SEED_BYTES, NULL, 0);
    pfc_derive(bytes + AT_SEED, "port.seed-next..", bytes + AT_SEED, SEED_BYTES, NULL, 0);
    for (unsigned i = 0; i < 4; i++) bytes[i] = (uint8_t)(sequence >> (8 * i));
    make_check(check, bytes);
    memcpy(bytes + AT_CHECK, check, CHECK_BYTES);
    ready = pfd_flash_write(flash, NOR_SEED_PAGE + (unsigned)(page ^ 1), bytes, sizeof bytes) == 0;
    // The seed of this start goes, too.
    if (ready) ready = pfd_flash_write(flash, NOR_SEED_PAGE + (unsigned)page, bytes, sizeof bytes) == 0;
  }
  pfc_wipe(bytes, sizeof bytes);
}

int random_bytes(void *context, uint8_t *bytes, size_t size) {
  uint8_t block[32];
  (void)context;
  if (!ready) return -1;
  while (size > 0) {
    size_t piece = size < sizeof block ? size : sizeof block;
    drawn++;
    pfc_derive(block, "port.seed-draw..", pool, sizeof pool, &drawn, sizeof drawn);
    memcpy(bytes, block, piece);
    bytes += piece;
    size -= piece;
  }
  pfc_wipe(block, sizeof block);
  return 0;
}
