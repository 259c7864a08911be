// SPDX-License-Identifier: Apache-2.0

/// Four leaves at once: AVX2, one 64-bit lane each.

#include "hash/kernel.h"

#if PFP_HAVE_X86_KERNELS

#include <immintrin.h>

#include "hash/rounds.h"

static const uint64_t initial[8] = PFP_BLAKE2B_START;

#define VECTOR __m256i
#define ADD _mm256_add_epi64
#define XOR _mm256_xor_si256
// AVX2 has no rotation: by whole bytes it is a shuffle, by 63 it is a doubling with the carry brought round.
#define ROTATE32(x) _mm256_shuffle_epi32((x), _MM_SHUFFLE(2, 3, 0, 1))
#define ROTATE24(x) _mm256_shuffle_epi8((x), by24)
#define ROTATE16(x) _mm256_shuffle_epi8((x), by16)
#define ROTATE63(x) rotate63(x)
#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i rotate63(__m256i x) {
  return _mm256_xor_si256(_mm256_srli_epi64(x, 63), _mm256_add_epi64(x, x));
}

/// Four rows of four words become four columns.
AVX2 static inline void transpose(__m256i m[4], const __m256i row[4]) {
  __m256i a = _mm256_unpacklo_epi64(row[0], row[1]);
  __m256i b = _mm256_unpackhi_epi64(row[0], row[1]);
  __m256i c = _mm256_unpacklo_epi64(row[2], row[3]);
  __m256i d = _mm256_unpackhi_epi64(row[2], row[3]);
  m[0] = _mm256_permute2x128_si256(a, c, 0x20);
  m[1] = _mm256_permute2x128_si256(b, d, 0x20);
  m[2] = _mm256_permute2x128_si256(a, c, 0x31);
  m[3] = _mm256_permute2x128_si256(b, d, 0x31);
}

AVX2 void pfp_compress_x4(struct pfp_states *states, const uint8_t *const message[PFP_LANES_MAX], size_t blocks,
                          const uint64_t tail[PFP_LANES_MAX]) {
  const __m256i by24 = _mm256_setr_epi8(3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10,  //
                                        3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10);
  const __m256i by16 = _mm256_setr_epi8(2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9,  //
                                        2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9);
  __m256i chain[8];
  __m256i count = _mm256_load_si256((const __m256i *)states->count);
  for (unsigned i = 0; i < 8; i++) chain[i] = _mm256_load_si256((const __m256i *)states->chain[i]);

  for (size_t block = 0; block < blocks; block++) {
    VECTOR v[16], m[16], row[4];
    size_t offset = block * PFP_BLOCK_BYTES;
    for (unsigned part = 0; part < 4; part++) {
      for (unsigned lane = 0; lane < 4; lane++) {
        row[lane] = _mm256_loadu_si256((const __m256i *)(const void *)(message[lane] + offset + (size_t)32 * part));
      }
      transpose(m + (size_t)4 * part, row);
    }
    for (unsigned i = 0; i < 8; i++) {
      v[i] = chain[i];
      v[i + 8] = _mm256_set1_epi64x((long long)initial[i]);
    }
    if (block + 1 < blocks) {
      count = ADD(count, _mm256_set1_epi64x(PFP_BLOCK_BYTES));
    } else {
      count = ADD(count, _mm256_loadu_si256((const __m256i *)tail));
      v[14] = XOR(v[14], _mm256_load_si256((const __m256i *)states->last));
    }
    v[12] = XOR(v[12], count);
    ALL_ROUNDS();
    for (unsigned i = 0; i < 8; i++) chain[i] = XOR(chain[i], XOR(v[i], v[i + 8]));
  }

  _mm256_store_si256((__m256i *)states->count, count);
  for (unsigned i = 0; i < 8; i++) _mm256_store_si256((__m256i *)states->chain[i], chain[i]);
}

#endif
