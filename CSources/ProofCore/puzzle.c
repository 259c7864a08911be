// SPDX-License-Identifier: Apache-2.0

#include "puzzle.h"

#include "crypto.h"
#include "internal.h"
#include "sha256_constants.h"
#include "sha256_parts.h"

enum {
  AT_SEED = PFC_LABEL_BYTES,
  AT_INDEX = AT_SEED + PFC_PUZZLE_SEED_BYTES,
  AT_COUNTER = AT_INDEX + 4,
  TEXT_BYTES = AT_COUNTER + 4,
  BLOCK_BYTES = 64
};

_Static_assert(TEXT_BYTES + 1 + 8 <= BLOCK_BYTES, "a puzzle's text is one block");

void pfc_puzzle_seed(uint8_t seed[PFC_PUZZLE_SEED_BYTES], const uint8_t challenge_id[PFC_CHALLENGE_ID_BYTES]) {
  uint8_t digest[PFC_DIGEST_BYTES];
  pfc_hash_once(digest, PFC_LABEL_PUZZLE_SEED, challenge_id, PFC_CHALLENGE_ID_BYTES);
  memcpy(seed, digest, PFC_PUZZLE_SEED_BYTES);
}

/// The text with SHA-256's padding behind it.
static void make_block(uint8_t block[BLOCK_BYTES], const uint8_t seed[PFC_PUZZLE_SEED_BYTES], uint32_t index) {
  memset(block, 0, BLOCK_BYTES);
  memcpy(block, PFC_LABEL_PUZZLE, PFC_LABEL_BYTES);
  memcpy(block + AT_SEED, seed, PFC_PUZZLE_SEED_BYTES);
  pfc_put32(block + AT_INDEX, index);
  block[TEXT_BYTES] = 0x80;
  block[BLOCK_BYTES - 2] = (uint8_t)(TEXT_BYTES * 8 >> 8);
  block[BLOCK_BYTES - 1] = (uint8_t)(TEXT_BYTES * 8 & 255);
}

/// The first four bytes of the hash, as a big-endian number.
static uint32_t beginning(const uint8_t block[BLOCK_BYTES]) {
  struct pfc_hash hash;
  uint8_t digest[PFC_DIGEST_BYTES];
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, block, TEXT_BYTES);
  pfc_hash_final(digest, &hash);
  return (uint32_t)digest[0] << 24 | (uint32_t)digest[1] << 16 | (uint32_t)digest[2] << 8 | digest[3];
}

/// The same of two blocks. On the native path both compressions run side by side.
static void beginnings(uint32_t found[2], uint8_t blocks[2][BLOCK_BYTES]) {
#if PFC_SHA256_NATIVE
  static const uint32_t first[8] = PFC_SHA256_FIRST_STATE;
  if (pfc_sha256_is_native()) {
    uint32_t states[2][8];
    memcpy(states[0], first, sizeof first);
    memcpy(states[1], first, sizeof first);
    pfc_sha256_compress_two(states[0], blocks[0], states[1], blocks[1]);
    found[0] = states[0][0];
    found[1] = states[1][0];
    return;
  }
#endif
  found[0] = beginning(blocks[0]);
  found[1] = beginning(blocks[1]);
}

static int level_is_valid(unsigned level) { return level > 0 && level <= PFC_PUZZLE_LEVEL_MAX; }

int pfc_puzzle_search(uint32_t *counter, uint32_t *hashes, const uint8_t seed[PFC_PUZZLE_SEED_BYTES], uint32_t index,
                      unsigned level, uint32_t tries) {
  uint8_t blocks[2][BLOCK_BYTES];
  *hashes = 0;
  if (index >= PFC_PUZZLES || !level_is_valid(level) || *counter == UINT32_MAX || tries > UINT32_MAX - 1 - *counter) {
    return PFC_E_ARGUMENT;
  }
  make_block(blocks[0], seed, index);
  make_block(blocks[1], seed, index);
  while (*hashes < tries) {
    uint32_t found[2];
    pfc_put32(blocks[0] + AT_COUNTER, *counter);
    pfc_put32(blocks[1] + AT_COUNTER, *counter + 1);
    beginnings(found, blocks);
    for (unsigned i = 0; i < 2 && *hashes < tries; i++) {
      *hashes += 1;
      if (found[i] >> (32 - level) == 0) return PFC_OK;
      *counter += 1;
    }
  }
  return PFC_E_DIFFERS;
}

int pfc_puzzle_check(const uint8_t solution[PFC_PUZZLE_SOLUTION_BYTES], const uint8_t seed[PFC_PUZZLE_SEED_BYTES],
                     unsigned level) {
  if (!level_is_valid(level)) return PFC_E_ARGUMENT;
  for (uint32_t index = 0; index < PFC_PUZZLES; index += 2) {
    uint8_t blocks[2][BLOCK_BYTES];
    uint32_t found[2];
    for (uint32_t i = 0; i < 2; i++) {
      make_block(blocks[i], seed, index + i);
      memcpy(blocks[i] + AT_COUNTER, solution + 4 * (index + i), 4);
    }
    beginnings(found, blocks);
    if ((found[0] | found[1]) >> (32 - level) != 0) return PFC_E_DIFFERS;
  }
  return PFC_OK;
}
