// SPDX-License-Identifier: Apache-2.0

/// Answers to challenges of kind work: a right solution of a puzzle, or of the memory puzzle, that the fuzzer changes.
///
/// Oracles: a second reading of docs/SPEC.md, section 16, which asks libsodium for every hash and every leaf; a search
/// finds nothing that the check refuses, passes nothing over, and tells how many hashes it took.

#include <sodium.h>
#include <stdlib.h>

#include "fuzz.h"

enum { LEVEL = 6, CHOSEN = PFC_PAIRING_CHOSEN, LEAF_BITS = 20 };

// Puzzles --------------------------------------------------------------------------------------------------------

static int solves(const uint8_t seed[PFC_PUZZLE_SEED_BYTES], uint32_t index, uint32_t counter, unsigned level) {
  uint8_t message[16 + PFC_PUZZLE_SEED_BYTES + 8], hash[32];
  memcpy(message, PFC_LABEL_PUZZLE, 16);
  memcpy(message + 16, seed, PFC_PUZZLE_SEED_BYTES);
  fuzz_put32(message + 16 + PFC_PUZZLE_SEED_BYTES, index);
  fuzz_put32(message + 20 + PFC_PUZZLE_SEED_BYTES, counter);
  crypto_hash_sha256(hash, message, sizeof message);
  for (unsigned bit = 0; bit < level; bit++) {
    if ((hash[bit / 8] >> (7 - bit % 8) & 1) != 0) return 0;
  }
  return 1;
}

static void check_puzzles(struct fuzz_input *input, const uint8_t id[PFC_CHALLENGE_ID_BYTES]) {
  uint8_t seed[PFC_PUZZLE_SEED_BYTES], solution[PFC_PUZZLE_SOLUTION_BYTES];
  unsigned level = fuzz_u8(input) ^ LEVEL;
  int is_level = level >= 1 && level <= PFC_PUZZLE_LEVEL_MAX, right = 1;
  pfc_puzzle_seed(seed, id);
  for (uint32_t i = 0; i < PFC_PUZZLES; i++) {
    uint32_t counter = 0, hashes = 0;
    REQUIRE(pfc_puzzle_search(&counter, &hashes, seed, i, LEVEL, 100000) == PFC_OK);
    REQUIRE(hashes == counter + 1 && solves(seed, i, counter, LEVEL));
    fuzz_put32(solution + 4 * i, counter);
  }
  fuzz_xor(input, solution, sizeof solution);
  for (uint32_t i = 0; i < PFC_PUZZLES; i++) right &= is_level && solves(seed, i, fuzz_get32(solution + 4 * i), level);
  uint8_t *exact = fuzz_copy(solution, sizeof solution);
  int result = pfc_puzzle_check(exact, seed, level);
  REQUIRE(result == (!is_level ? PFC_E_ARGUMENT : right ? PFC_OK : PFC_E_DIFFERS));
  free(exact);
}

static void check_search(struct fuzz_input *input, const uint8_t id[PFC_CHALLENGE_ID_BYTES]) {
  uint8_t seed[PFC_PUZZLE_SEED_BYTES];
  uint32_t from = fuzz_u32(input), tries = fuzz_u8(input), counter = from, hashes = 7;
  uint8_t index = fuzz_u8(input) & 31, level = fuzz_u8(input) & 31;
  pfc_puzzle_seed(seed, id);
  int result = pfc_puzzle_search(&counter, &hashes, seed, index, level, tries);
  int is_valid = index < PFC_PUZZLES && level >= 1 && level <= PFC_PUZZLE_LEVEL_MAX &&
                 (uint64_t)from + tries < UINT32_MAX;
  REQUIRE((result == PFC_E_ARGUMENT) == !is_valid);
  if (!is_valid) {
    REQUIRE(hashes == 0 && counter == from);
    return;
  }
  uint32_t first = from;
  while (first != from + tries && !solves(seed, index, first, level)) first++;
  int found = first != from + tries;
  REQUIRE(result == (found ? PFC_OK : PFC_E_DIFFERS));
  REQUIRE(counter == first && hashes == first - from + (uint32_t)found);
}

// The memory puzzle ----------------------------------------------------------------------------------------------

static void key_of(uint8_t key[32], const uint8_t id[PFC_CHALLENGE_ID_BYTES], uint8_t index, uint16_t attempt) {
  uint8_t message[16 + PFC_CHALLENGE_ID_BYTES + 3];
  memcpy(message, PFC_LABEL_PAIRING, 16);
  memcpy(message + 16, id, PFC_CHALLENGE_ID_BYTES);
  message[16 + PFC_CHALLENGE_ID_BYTES] = index;
  fuzz_put16(message + 17 + PFC_CHALLENGE_ID_BYTES, attempt);
  crypto_hash_sha256(key, message, sizeof message);
}

static void digits_of(uint32_t digits[5], const uint8_t key[32], uint32_t leaf) {
  static const uint8_t nonce[12], zeros[64];
  uint8_t stream[64];
  uint32_t word[4];
  crypto_stream_chacha20_ietf_xor_ic(stream, zeros, sizeof zeros, nonce, leaf / 4, key);
  for (unsigned i = 0; i < 4; i++) {
    word[i] = fuzz_get32(stream + 16 * (leaf % 4) + 4 * i);
    digits[i] ^= word[i] & 0x3ffff;
  }
  digits[4] ^= word[0] >> 18 | (word[1] >> 18 & 15) << 14;
}

/// Whether the leaves from `first` on, `count` of them, form a right tree.
static int is_tree(const uint32_t leaves[CHOSEN], const uint8_t key[32], unsigned first, unsigned count) {
  uint32_t digits[5] = {0};
  unsigned round = 0;
  if (count == 1) return leaves[first] < PFC_PAIRING_LEAVES;
  if (!is_tree(leaves, key, first, count / 2) || !is_tree(leaves, key, first + count / 2, count / 2)) return 0;
  for (unsigned i = 0; i < count; i++) digits_of(digits, key, leaves[first + i]);
  for (unsigned size = count; size > 2; size /= 2) round++;
  return leaves[first] < leaves[first + count / 2] && digits[round] == 0 && (count < CHOSEN || digits[4] == 0);
}

static int is_right(const uint8_t solution[PFC_PAIRING_SOLUTION_BYTES], const uint8_t id[PFC_CHALLENGE_ID_BYTES],
                    uint8_t index) {
  uint8_t key[32];
  uint32_t leaves[CHOSEN];
  key_of(key, id, index, fuzz_get16(solution));
  for (unsigned i = 0; i < CHOSEN; i++) {
    leaves[i] = 0;
    for (unsigned bit = 0; bit < LEAF_BITS; bit++) {
      unsigned at = LEAF_BITS * i + bit;
      leaves[i] |= (uint32_t)(solution[2 + at / 8] >> at % 8 & 1) << bit;
    }
    for (unsigned k = 0; k < i; k++) {
      if (leaves[k] == leaves[i]) return 0;
    }
  }
  return is_tree(leaves, key, 0, CHOSEN);
}

static void check_pairing(struct fuzz_input *input) {
  static uint8_t id[PFC_CHALLENGE_ID_BYTES], right[PFC_PAIRING_SOLUTION_BYTES];
  static int is_solved;
  uint8_t solution[PFC_PAIRING_SOLUTION_BYTES], other[PFC_CHALLENGE_ID_BYTES], index = 0;
  if (!is_solved) {
    struct pfc_pairing_room *room = malloc(sizeof *room);
    REQUIRE(room != NULL);
    memset(id, 0x6a, sizeof id);
    for (uint16_t attempt = 0; pfc_pairing_solve(right, room, id, 0, attempt) != PFC_OK; attempt++) continue;
    free(room);
    is_solved = 1;
    REQUIRE(is_right(right, id, 0));
  }
  memcpy(solution, right, sizeof solution);
  memcpy(other, id, sizeof other);
  (void)fuzz_flip(input, other, sizeof other);
  fuzz_xor(input, &index, 1);
  fuzz_xor(input, solution, sizeof solution);
  uint8_t *exact = fuzz_copy(solution, sizeof solution);
  REQUIRE((pfc_pairing_check(exact, other, index) == PFC_OK) == is_right(solution, other, index));
  free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  uint8_t id[PFC_CHALLENGE_ID_BYTES];
  memset(id, 0x6a, sizeof id);
  switch (fuzz_u8(&input) % 3) {
    case 0: check_pairing(&input); break;
    case 1:
      (void)fuzz_flip(&input, id, sizeof id);
      check_puzzles(&input, id);
      break;
    default: check_search(&input, id);
  }
  return 0;
}
