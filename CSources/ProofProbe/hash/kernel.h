// SPDX-License-Identifier: Apache-2.0

/// Several BLAKE2b states advanced at once: what a kernel is, and the kernels there are.
///
/// A kernel knows compression and nothing else. Keys, roles, lengths and who gets which lane are the business of
/// hash/lanes.c.

#ifndef PFP_HASH_KERNEL_H
#define PFP_HASH_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define PFP_BLOCK_BYTES 128
#define PFP_LANES_MAX 8

/// Where every BLAKE2b starts (RFC 7693, section 2.6).
#define PFP_BLAKE2B_START                                                                      \
  {                                                                                            \
    UINT64_C(0x6A09E667F3BCC908), UINT64_C(0xBB67AE8584CAA73B), UINT64_C(0x3C6EF372FE94F82B),  \
        UINT64_C(0xA54FF53A5F1D36F1), UINT64_C(0x510E527FADE682D1), UINT64_C(0x9B05688C2B3E6C1F), \
        UINT64_C(0x1F83D9ABFB41BD6B), UINT64_C(0x5BE0CD19137E2179)                             \
  }

/// The states, word by word, lanes side by side: as a kernel loads them. Lanes beyond a kernel's width are unused.
struct pfp_states {
  _Alignas(64) uint64_t chain[8][PFP_LANES_MAX];  ///< RFC 7693: h
  _Alignas(64) uint64_t count[PFP_LANES_MAX];     ///< t, low word: 2^64 bytes are out of reach
  _Alignas(64) uint64_t last[PFP_LANES_MAX];      ///< f0 for the final block of the run: all ones or zero
};

/// Compresses `blocks` blocks, at least 1, of every lane, from `message[lane]` on, which needs no alignment. Each
/// block counts 128 bytes; the final one of the run counts what `tail[lane]` says and carries `last[lane]`.
typedef void (*pfp_compress_fn)(struct pfp_states *states, const uint8_t *const message[PFP_LANES_MAX], size_t blocks,
                                const uint64_t tail[PFP_LANES_MAX]);

#if defined(__x86_64__)
#define PFP_HAVE_X86_KERNELS 1
void pfp_compress_x4(struct pfp_states *states, const uint8_t *const message[PFP_LANES_MAX], size_t blocks,
                     const uint64_t tail[PFP_LANES_MAX]);
void pfp_compress_x8(struct pfp_states *states, const uint8_t *const message[PFP_LANES_MAX], size_t blocks,
                     const uint64_t tail[PFP_LANES_MAX]);
#else
#define PFP_HAVE_X86_KERNELS 0
#endif

#endif
