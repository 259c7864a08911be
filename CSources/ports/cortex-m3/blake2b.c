// SPDX-License-Identifier: Apache-2.0

/// BLAKE2b's compression (RFC 7693, section 3.2) with its rounds in a loop, in the place of libsodium's, which writes
/// all twelve out and takes 14,266 bytes of flash for one call in each token: the sealed box's nonce.

#include "crypto_generichash/blake2b/ref/blake2.h"

#include "private/common.h"

static const uint64_t initial[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                                    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

/// The tenth and the eleventh round take the words in the order of the first two.
static const uint8_t order[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

static void mix(uint64_t *v, unsigned i, uint64_t x, uint64_t y) {
  // Four columns, then four diagonals.
  unsigned column = i & 3, turn = i >> 2;
  uint64_t *a = v + column, *b = v + 4 + ((column + turn) & 3);
  uint64_t *c = v + 8 + ((column + 2 * turn) & 3), *d = v + 12 + ((column + 3 * turn) & 3);
  *a += *b + x;
  *d = ROTR64(*d ^ *a, 32);
  *c += *d;
  *b = ROTR64(*b ^ *c, 24);
  *a += *b + y;
  *d = ROTR64(*d ^ *a, 16);
  *c += *d;
  *b = ROTR64(*b ^ *c, 63);
}

int blake2b_compress_ref(blake2b_state *state, const uint8_t block[BLAKE2B_BLOCKBYTES]) {
  uint64_t v[16];
  for (unsigned i = 0; i < 8; i++) {
    v[i] = state->h[i];
    v[i + 8] = initial[i];
  }
  for (unsigned i = 0; i < 2; i++) {
    v[12 + i] ^= state->t[i];
    v[14 + i] ^= state->f[i];
  }
  for (unsigned round = 0; round < 12; round++) {
    const uint8_t *words = order[round % 10];
    for (unsigned i = 0; i < 8; i++) {
      mix(v, i, LOAD64_LE(block + 8 * words[2 * i]), LOAD64_LE(block + 8 * words[2 * i + 1]));
    }
  }
  for (unsigned i = 0; i < 8; i++) state->h[i] ^= v[i] ^ v[i + 8];
  return 0;
}
