// SPDX-License-Identifier: Apache-2.0

/// Eight leaves at once: AVX-512F, one 64-bit lane each.
///
/// Bound by the two shuffle/rotate ports and the adders, not by memory: 1,392 vector operations for 1,024 bytes.

#include "hash/kernel.h"

#if PFP_HAVE_X86_KERNELS

#include <immintrin.h>

#include "hash/rounds.h"

static const uint64_t initial[8] = PFP_BLAKE2B_START;

#define VECTOR __m512i
#define ADD _mm512_add_epi64
#define XOR _mm512_xor_si512
#define ROTATE32(x) _mm512_ror_epi64((x), 32)
#define ROTATE24(x) _mm512_ror_epi64((x), 24)
#define ROTATE16(x) _mm512_ror_epi64((x), 16)
#define ROTATE63(x) _mm512_ror_epi64((x), 63)
#define AVX512 __attribute__((target("avx512f")))

/// Eight rows of eight words become eight columns: row[i] word j to m[j] lane i.
AVX512 static inline void transpose(__m512i m[8], const __m512i row[8]) {
  __m512i pair[8], quad[8];
  for (unsigned i = 0; i < 8; i += 2) {
    pair[i] = _mm512_unpacklo_epi64(row[i], row[i + 1]);
    pair[i + 1] = _mm512_unpackhi_epi64(row[i], row[i + 1]);
  }
  for (unsigned i = 0; i < 8; i += 4) {
    for (unsigned odd = 0; odd < 2; odd++) {
      quad[i + odd] = _mm512_shuffle_i64x2(pair[i + odd], pair[i + 2 + odd], 0x88);
      quad[i + 2 + odd] = _mm512_shuffle_i64x2(pair[i + odd], pair[i + 2 + odd], 0xdd);
    }
  }
  for (unsigned i = 0; i < 4; i++) {
    m[i] = _mm512_shuffle_i64x2(quad[i], quad[i + 4], 0x88);
    m[i + 4] = _mm512_shuffle_i64x2(quad[i], quad[i + 4], 0xdd);
  }
}

AVX512 void pfp_compress_x8(struct pfp_states *states, const uint8_t *const message[PFP_LANES_MAX], size_t blocks,
                            const uint64_t tail[PFP_LANES_MAX]) {
  __m512i chain[8];
  __m512i count = _mm512_load_si512(states->count);
  for (unsigned i = 0; i < 8; i++) chain[i] = _mm512_load_si512(states->chain[i]);

  for (size_t block = 0; block < blocks; block++) {
    VECTOR v[16], m[16], row[8];
    size_t offset = block * PFP_BLOCK_BYTES;
    for (unsigned half = 0; half < 2; half++) {
      for (unsigned lane = 0; lane < 8; lane++) row[lane] = _mm512_loadu_si512(message[lane] + offset + 64 * half);
      transpose(m + (size_t)8 * half, row);
    }
    for (unsigned i = 0; i < 8; i++) {
      v[i] = chain[i];
      v[i + 8] = _mm512_set1_epi64((long long)initial[i]);
    }
    if (block + 1 < blocks) {
      count = ADD(count, _mm512_set1_epi64(PFP_BLOCK_BYTES));
    } else {
      count = ADD(count, _mm512_loadu_si512(tail));
      v[14] = XOR(v[14], _mm512_load_si512(states->last));
    }
    v[12] = XOR(v[12], count);
    ALL_ROUNDS();
    for (unsigned i = 0; i < 8; i++) chain[i] = XOR(chain[i], XOR(v[i], v[i + 8]));
  }

  _mm512_store_si512(states->count, count);
  for (unsigned i = 0; i < 8; i++) _mm512_store_si512(states->chain[i], chain[i]);
}

#endif
