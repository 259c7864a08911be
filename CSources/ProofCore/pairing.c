// SPDX-License-Identifier: Apache-2.0

#include "pairing.h"

#include "crypto.h"
#include "internal.h"

enum { WORDS = 4, LEAVES_OF_BLOCK = 4, BLOCK_WORDS = 16, LAST = PFC_PAIRING_ROUNDS - 1, INDEX_BYTES = 5 };

#define DIGIT_MASK ((1u << PFC_PAIRING_DIGIT_BITS) - 1)

_Static_assert(PFC_PAIRING_ROUNDS == WORDS, "each round takes the low bits of a word");
_Static_assert(2 + INDEX_BYTES * PFC_PAIRING_CHOSEN / 2 == PFC_PAIRING_SOLUTION_BYTES, "two leaves in five bytes");

void pfc_pairing_key(uint8_t key[32], const uint8_t challenge_id[PFC_CHALLENGE_ID_BYTES], uint8_t index,
                     uint16_t attempt) {
  uint8_t text[PFC_CHALLENGE_ID_BYTES + 3];
  memcpy(text, challenge_id, PFC_CHALLENGE_ID_BYTES);
  text[PFC_CHALLENGE_ID_BYTES] = index;
  pfc_put16(text + PFC_CHALLENGE_ID_BYTES + 1, attempt);
  pfc_hash_once(key, PFC_LABEL_PAIRING, text, sizeof text);
}

// Leaves ----------------------------------------------------------------------------------------------------------

static uint32_t rotated(uint32_t word, unsigned bits) { return word << bits | word >> (32 - bits); }

static void quarter(uint32_t *x, unsigned a, unsigned b, unsigned c, unsigned d) {
  x[a] += x[b];
  x[d] = rotated(x[d] ^ x[a], 16);
  x[c] += x[d];
  x[b] = rotated(x[b] ^ x[c], 12);
  x[a] += x[b];
  x[d] = rotated(x[d] ^ x[a], 8);
  x[c] += x[d];
  x[b] = rotated(x[b] ^ x[c], 7);
}

/// A block of the ChaCha20 key stream, RFC 8439, section 2.3, as words.
static void make_block(uint32_t out[BLOCK_WORDS], const uint8_t key[32], uint32_t counter) {
  uint32_t from[BLOCK_WORDS] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  uint32_t x[BLOCK_WORDS];
  for (unsigned i = 0; i < 8; i++) from[4 + i] = pfc_get32(key + 4 * i);
  from[12] = counter;
  memcpy(x, from, sizeof x);
  for (unsigned i = 0; i < 10; i++) {
    quarter(x, 0, 4, 8, 12);
    quarter(x, 1, 5, 9, 13);
    quarter(x, 2, 6, 10, 14);
    quarter(x, 3, 7, 11, 15);
    quarter(x, 0, 5, 10, 15);
    quarter(x, 1, 6, 11, 12);
    quarter(x, 2, 7, 8, 13);
    quarter(x, 3, 4, 9, 14);
  }
  for (unsigned i = 0; i < BLOCK_WORDS; i++) out[i] = x[i] + from[i];
}

/// The fifth digit.
static uint32_t last_digit(const uint32_t words[WORDS]) {
  return words[0] >> PFC_PAIRING_DIGIT_BITS | (words[1] >> PFC_PAIRING_DIGIT_BITS & 15u) << 14;
}

/// Whether a subtree has zeros in the digits of its round, counted from 0.
static int fits(const uint32_t words[WORDS], unsigned round) {
  return (words[round] & DIGIT_MASK) == 0 && (round < LAST || last_digit(words) == 0);
}

// Solutions -------------------------------------------------------------------------------------------------------

static void write_solution(uint8_t solution[PFC_PAIRING_SOLUTION_BYTES], uint16_t attempt,
                           const uint32_t chosen[PFC_PAIRING_CHOSEN]) {
  pfc_put16(solution, attempt);
  for (unsigned i = 0; i < PFC_PAIRING_CHOSEN / 2; i++) {
    uint64_t both = chosen[2 * i] | (uint64_t)chosen[2 * i + 1] << 20;
    pfc_put32(solution + 2 + INDEX_BYTES * i, (uint32_t)both);
    solution[2 + INDEX_BYTES * i + 4] = (uint8_t)(both >> 32);
  }
}

static void read_solution(uint32_t chosen[PFC_PAIRING_CHOSEN], const uint8_t solution[PFC_PAIRING_SOLUTION_BYTES]) {
  for (unsigned i = 0; i < PFC_PAIRING_CHOSEN / 2; i++) {
    const uint8_t *from = solution + 2 + INDEX_BYTES * i;
    uint64_t both = pfc_get32(from) | (uint64_t)from[4] << 32;
    chosen[2 * i] = (uint32_t)(both & 0xfffff);
    chosen[2 * i + 1] = (uint32_t)(both >> 20);
  }
}

static int are_distinct(const uint32_t chosen[PFC_PAIRING_CHOSEN]) {
  for (unsigned i = 0; i < PFC_PAIRING_CHOSEN; i++) {
    for (unsigned k = 0; k < i; k++) {
      if (chosen[i] == chosen[k]) return 0;
    }
  }
  return 1;
}

int pfc_pairing_check(const uint8_t solution[PFC_PAIRING_SOLUTION_BYTES],
                      const uint8_t challenge_id[PFC_CHALLENGE_ID_BYTES], uint8_t index) {
  uint32_t chosen[PFC_PAIRING_CHOSEN], words[PFC_PAIRING_CHOSEN][WORDS], block[BLOCK_WORDS];
  uint8_t key[32];
  read_solution(chosen, solution);
  for (unsigned i = 0; i < PFC_PAIRING_CHOSEN; i++) {
    if (chosen[i] >= PFC_PAIRING_LEAVES) return PFC_E_DIFFERS;
  }
  if (!are_distinct(chosen)) return PFC_E_DIFFERS;
  pfc_pairing_key(key, challenge_id, index, pfc_get16(solution));
  for (unsigned i = 0; i < PFC_PAIRING_CHOSEN; i++) {
    make_block(block, key, chosen[i] / LEAVES_OF_BLOCK);
    memcpy(words[i], block + WORDS * (chosen[i] % LEAVES_OF_BLOCK), sizeof words[i]);
  }
  for (unsigned round = 0; round < PFC_PAIRING_ROUNDS; round++) {
    unsigned half = 1u << round;
    for (unsigned i = 0; i < PFC_PAIRING_CHOSEN; i += 2 * half) {
      if (chosen[i] >= chosen[i + half]) return PFC_E_DIFFERS;
      for (unsigned k = 0; k < WORDS; k++) words[i][k] ^= words[i + half][k];
      if (!fits(words[i], round)) return PFC_E_DIFFERS;
    }
  }
  return PFC_OK;
}

// Solving ---------------------------------------------------------------------------------------------------------

/// Orders entries by the digit of a round. Afterwards the entries of digit d stand in `order` from `ends[d - 1]`, or 0,
/// to `ends[d]`.
static void sort(struct pfc_pairing_room *room, const uint32_t (*words)[WORDS], uint32_t count, unsigned round) {
  uint32_t sum = 0;
  memset(room->ends, 0, sizeof room->ends);
  for (uint32_t i = 0; i < count; i++) room->ends[words[i][round] & DIGIT_MASK]++;
  for (uint32_t digit = 0; digit <= DIGIT_MASK; digit++) {
    uint32_t own = room->ends[digit];
    room->ends[digit] = sum;
    sum += own;
  }
  for (uint32_t i = 0; i < count; i++) room->order[room->ends[words[i][round] & DIGIT_MASK]++] = i;
}

/// Pairs the entries that agree in the digit of a round before the last. Returns how many pairs there are; those beyond
/// the room are dropped.
static uint32_t pair(struct pfc_pairing_room *room, uint32_t count, unsigned round) {
  const uint32_t (*from)[WORDS] = (const uint32_t (*)[WORDS])room->words[round % 2];
  uint32_t (*to)[WORDS] = room->words[1 - round % 2];
  uint32_t made = 0, start = 0;
  sort(room, from, count, round);
  for (uint32_t digit = 0; digit <= DIGIT_MASK; digit++) {
    uint32_t end = room->ends[digit];
    for (uint32_t i = start; i < end; i++) {
      for (uint32_t k = i + 1; k < end && made < PFC_PAIRING_ROOM; k++) {
        uint32_t a = room->order[i], b = room->order[k];
        for (unsigned word = 0; word < WORDS; word++) to[made][word] = from[a][word] ^ from[b][word];
        room->pairs[round][made][0] = a;
        room->pairs[round][made][1] = b;
        made++;
      }
    }
    start = end;
  }
  return made;
}

/// The leaves of an entry of a round, with the subtree of the lower first leaf on the left.
static void unfold(uint32_t chosen[PFC_PAIRING_CHOSEN], const struct pfc_pairing_room *room, uint32_t a, uint32_t b) {
  chosen[0] = a;
  chosen[1] = b;
  for (unsigned round = LAST; round-- > 0;) {
    unsigned count = 1u << (LAST - round);
    for (unsigned i = count; i-- > 0;) {
      const uint32_t *pair_of = room->pairs[round][chosen[i]];
      chosen[2 * i + 1] = pair_of[1];
      chosen[2 * i] = pair_of[0];
    }
  }
  for (unsigned half = 1; half < PFC_PAIRING_CHOSEN; half *= 2) {
    for (unsigned i = 0; i < PFC_PAIRING_CHOSEN; i += 2 * half) {
      if (chosen[i] <= chosen[i + half]) continue;
      for (unsigned k = i; k < i + half; k++) {
        uint32_t other = chosen[k];
        chosen[k] = chosen[k + half];
        chosen[k + half] = other;
      }
    }
  }
}

/// The last round: two entries that agree in both digits, and have no leaf in common.
static int finish(uint32_t chosen[PFC_PAIRING_CHOSEN], struct pfc_pairing_room *room, uint32_t count) {
  const uint32_t (*words)[WORDS] = (const uint32_t (*)[WORDS])room->words[LAST % 2];
  uint32_t start = 0;
  sort(room, words, count, LAST);
  for (uint32_t digit = 0; digit <= DIGIT_MASK; digit++) {
    uint32_t end = room->ends[digit];
    for (uint32_t i = start; i < end; i++) {
      for (uint32_t k = i + 1; k < end; k++) {
        uint32_t a = room->order[i], b = room->order[k];
        if (last_digit(words[a]) != last_digit(words[b])) continue;
        unfold(chosen, room, a, b);
        if (are_distinct(chosen)) return 1;
      }
    }
    start = end;
  }
  return 0;
}

int pfc_pairing_solve(uint8_t solution[PFC_PAIRING_SOLUTION_BYTES], struct pfc_pairing_room *room,
                      const uint8_t challenge_id[PFC_CHALLENGE_ID_BYTES], uint8_t index, uint16_t attempt) {
  uint32_t chosen[PFC_PAIRING_CHOSEN];
  uint8_t key[32];
  uint32_t count = PFC_PAIRING_LEAVES;
  memset(solution, 0, PFC_PAIRING_SOLUTION_BYTES);
  pfc_pairing_key(key, challenge_id, index, attempt);
  for (uint32_t i = 0; i < PFC_PAIRING_LEAVES / LEAVES_OF_BLOCK; i++) {
    uint32_t block[BLOCK_WORDS];
    make_block(block, key, i);
    memcpy(room->words[0][LEAVES_OF_BLOCK * i], block, sizeof block);
  }
  for (unsigned round = 0; round < LAST; round++) count = pair(room, count, round);
  if (!finish(chosen, room, count)) return PFC_E_DIFFERS;
  write_solution(solution, attempt, chosen);
  return PFC_OK;
}
