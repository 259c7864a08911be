// SPDX-License-Identifier: Apache-2.0

/// Stands in for the kernel and the choice of the native path. valgrind does not know the processor's SHA-256
/// instructions, and all else of that path (copying, padding, key states, short messages) is ordinary code, which it
/// can judge. kernels.py judges the kernel itself.

#include "sha256_constants.h"
#include "sha256_parts.h"

static uint32_t rotated(uint32_t word, unsigned bits) { return (word >> bits) | (word << (32 - bits)); }

static void compress_one(uint32_t state[8], const uint8_t block[64]) {
  static const uint32_t constants[64] = PFC_SHA256_ROUND_CONSTANTS;
  uint32_t w[64], s[8];
  for (unsigned i = 0; i < 16; i++) {
    w[i] = ((uint32_t)block[4 * i] << 24) | ((uint32_t)block[4 * i + 1] << 16) | ((uint32_t)block[4 * i + 2] << 8) |
           block[4 * i + 3];
  }
  for (unsigned i = 16; i < 64; i++) {
    uint32_t low = rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ (w[i - 15] >> 3);
    uint32_t high = rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + low + w[i - 7] + high;
  }
  for (unsigned i = 0; i < 8; i++) s[i] = state[i];
  for (unsigned i = 0; i < 64; i++) {
    uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    uint32_t first = s[7] + (rotated(s[4], 6) ^ rotated(s[4], 11) ^ rotated(s[4], 25)) + choice + constants[i] + w[i];
    uint32_t second = (rotated(s[0], 2) ^ rotated(s[0], 13) ^ rotated(s[0], 22)) + majority;
    for (unsigned j = 7; j > 0; j--) s[j] = s[j - 1];
    s[4] += first;
    s[0] = first + second;
  }
  for (unsigned i = 0; i < 8; i++) state[i] += s[i];
}

void pfc_sha256_compress(uint32_t state[8], const uint8_t *blocks, size_t count) {
  for (; count > 0; count--, blocks += 64) compress_one(state, blocks);
}

void pfc_sha256_compress_two(uint32_t first[8], const uint8_t first_block[64], uint32_t second[8],
                             const uint8_t second_block[64]) {
  compress_one(first, first_block);
  compress_one(second, second_block);
}

void pfc_sha256_forget(void) {}

int pfc_sha256_is_native(void) { return 1; }

enum pfc_hash_path pfc_hash_in_use(void) { return PFC_HASH_X86; }

int pfc_hash_use(enum pfc_hash_path path) { return path == PFC_HASH_X86 ? PFC_OK : PFC_E_ARGUMENT; }
