// SPDX-License-Identifier: Apache-2.0

// The kernels for x86-64, with the instructions of Intel's SHA extensions.
//
// Assembly, and not intrinsics: a compiler may keep words of a secret block on the stack, and does so without
// optimisation. Here the words live in registers alone, in every build, and the last instructions clear them.
//
// Two words of the state share no register with their neighbours: the instructions want A, B, E, F in one and C, D, G,
// H in the other, each with its first word on top.

#include "sha256_parts.h"

#if PFC_SHA256_NATIVE && defined(__x86_64__)

#include "sha256_constants.h"

// The text of the assembly is longer than ISO C has every compiler take as a string; gcc and clang take it.
#pragma GCC diagnostic ignored "-Woverlength-strings"

static const struct {
  uint32_t rounds[64];
  uint8_t swap[16];  ///< Turns the bytes of each big-endian word of a block.
} constants __attribute__((aligned(16))) = {
    PFC_SHA256_ROUND_CONSTANTS, {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12}};

#define SWAP "256(%[constants])"

// Memory's A B C D and E F G H, to `abef` and `cdgh`; `t` is lost.
#define LOAD_STATE(state, abef, cdgh, t) \
  "movdqu (%[" state "]), " t "\n\t"     \
  "movdqu 16(%[" state "]), " cdgh "\n\t" \
  "pshufd $0xb1, " t ", " t "\n\t"       \
  "pshufd $0x1b, " cdgh ", " cdgh "\n\t" \
  "movdqa " t ", " abef "\n\t"           \
  "palignr $8, " cdgh ", " abef "\n\t"   \
  "pblendw $0xf0, " t ", " cdgh "\n\t"

// The inverse of LOAD_STATE.
#define STORE_STATE(state, abef, cdgh, t) \
  "pshufd $0x1b, " abef ", " t "\n\t"     \
  "pshufd $0xb1, " cdgh ", " cdgh "\n\t"  \
  "movdqa " t ", " abef "\n\t"            \
  "pblendw $0xf0, " cdgh ", " abef "\n\t" \
  "palignr $8, " t ", " cdgh "\n\t"       \
  "movdqu " abef ", (%[" state "])\n\t"   \
  "movdqu " cdgh ", 16(%[" state "])\n\t"

#define LOAD_WORDS(block, offset, m)            \
  "movdqu " offset "(%[" block "]), " m "\n\t" \
  "pshufb " SWAP ", " m "\n\t"

#define LOAD_BLOCK(block, m0, m1, m2, m3) \
  LOAD_WORDS(block, "0", m0) LOAD_WORDS(block, "16", m1) LOAD_WORDS(block, "32", m2) LOAD_WORDS(block, "48", m3)

// Four rounds with the words of `m`; xmm0 is the instruction's own operand.
#define ROUNDS(k, abef, cdgh, m)                   \
  "movdqa " k "(%[constants]), %%xmm0\n\t"         \
  "paddd " m ", %%xmm0\n\t"                        \
  "sha256rnds2 %%xmm0, " abef ", " cdgh "\n\t"     \
  "pshufd $0x0e, %%xmm0, %%xmm0\n\t"               \
  "sha256rnds2 %%xmm0, " cdgh ", " abef "\n\t"

// The words of sixteen rounds later, in place of `m0`.
#define SCHEDULE(m0, m1, m2, m3, t) \
  "movdqa " m3 ", " t "\n\t"        \
  "palignr $4, " m2 ", " t "\n\t"   \
  "sha256msg1 " m1 ", " m0 "\n\t"   \
  "paddd " t ", " m0 "\n\t"         \
  "sha256msg2 " m3 ", " m0 "\n\t"

#define CLEAR(x) "pxor " x ", " x "\n\t"

// Every vector register, and the general ones that a callee may change: the caller may have carried words of a block in
// them.
#define CLEAR_REGISTERS                                                                                      \
  CLEAR("%%xmm0") CLEAR("%%xmm1") CLEAR("%%xmm2") CLEAR("%%xmm3") CLEAR("%%xmm4") CLEAR("%%xmm5")            \
  CLEAR("%%xmm6") CLEAR("%%xmm7") CLEAR("%%xmm8") CLEAR("%%xmm9") CLEAR("%%xmm10") CLEAR("%%xmm11")          \
  CLEAR("%%xmm12") CLEAR("%%xmm13") CLEAR("%%xmm14") CLEAR("%%xmm15")                                        \
  "xorl %%eax, %%eax\n\t"                                                                                    \
  "xorl %%r8d, %%r8d\n\t"                                                                                    \
  "xorl %%r9d, %%r9d\n\t"                                                                                    \
  "xorl %%r10d, %%r10d\n\t"                                                                                  \
  "xorl %%r11d, %%r11d\n\t"

#define CHANGED                                                                                                   \
  "memory", "cc", "rax", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", \
      "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"

void pfc_sha256_forget(void) { __asm__ volatile(CLEAR_REGISTERS : : : CHANGED); }

// One state --------------------------------------------------------------------------------------------------------

#define FOUR(k, m0, m1, m2, m3) ROUNDS(k, "%%xmm1", "%%xmm2", m0) SCHEDULE(m0, m1, m2, m3, "%%xmm7")
#define LAST(k, m) ROUNDS(k, "%%xmm1", "%%xmm2", m)
#define M0 "%%xmm3"
#define M1 "%%xmm4"
#define M2 "%%xmm5"
#define M3 "%%xmm6"

void pfc_sha256_compress(uint32_t state[8], const uint8_t *blocks, size_t count) {
  if (count == 0) return;
  __asm__ volatile(
      LOAD_STATE("state", "%%xmm1", "%%xmm2", "%%xmm7")
      "1:\n\t"
      "movdqa %%xmm1, %%xmm8\n\t"
      "movdqa %%xmm2, %%xmm9\n\t"
      LOAD_BLOCK("blocks", M0, M1, M2, M3)
      FOUR("0", M0, M1, M2, M3) FOUR("16", M1, M2, M3, M0) FOUR("32", M2, M3, M0, M1) FOUR("48", M3, M0, M1, M2)
      FOUR("64", M0, M1, M2, M3) FOUR("80", M1, M2, M3, M0) FOUR("96", M2, M3, M0, M1) FOUR("112", M3, M0, M1, M2)
      FOUR("128", M0, M1, M2, M3) FOUR("144", M1, M2, M3, M0) FOUR("160", M2, M3, M0, M1) FOUR("176", M3, M0, M1, M2)
      LAST("192", M0) LAST("208", M1) LAST("224", M2) LAST("240", M3)
      "paddd %%xmm8, %%xmm1\n\t"
      "paddd %%xmm9, %%xmm2\n\t"
      "addq $64, %[blocks]\n\t"
      "subq $1, %[count]\n\t"
      "jnz 1b\n\t"
      STORE_STATE("state", "%%xmm1", "%%xmm2", "%%xmm7")
      CLEAR_REGISTERS
      : [blocks] "+r"(blocks), [count] "+r"(count)
      : [state] "r"(state), [constants] "r"(&constants)
      : CHANGED);
}

// Two states -------------------------------------------------------------------------------------------------------

#define N0 "%%xmm10"
#define N1 "%%xmm11"
#define N2 "%%xmm12"
#define N3 "%%xmm13"
#define FOUR_TWO(k, m0, m1, m2, m3, n0, n1, n2, n3)                                    \
  ROUNDS(k, "%%xmm1", "%%xmm2", m0) ROUNDS(k, "%%xmm8", "%%xmm9", n0)                  \
  SCHEDULE(m0, m1, m2, m3, "%%xmm7") SCHEDULE(n0, n1, n2, n3, "%%xmm14")
#define LAST_TWO(k, m, n) ROUNDS(k, "%%xmm1", "%%xmm2", m) ROUNDS(k, "%%xmm8", "%%xmm9", n)
#define SIXTEEN_TWO(k0, k1, k2, k3)                                                               \
  FOUR_TWO(k0, M0, M1, M2, M3, N0, N1, N2, N3) FOUR_TWO(k1, M1, M2, M3, M0, N1, N2, N3, N0)       \
  FOUR_TWO(k2, M2, M3, M0, M1, N2, N3, N0, N1) FOUR_TWO(k3, M3, M0, M1, M2, N3, N0, N1, N2)

// The registers do not hold both chaining values beside all else, so they are read again in the end.
#define ADD_STATE(state, abef, cdgh) \
  LOAD_STATE(state, M0, M1, "%%xmm7")            \
  "paddd " M0 ", " abef "\n\t"                   \
  "paddd " M1 ", " cdgh "\n\t"

void pfc_sha256_compress_two(uint32_t first[8], const uint8_t first_block[64], uint32_t second[8],
                             const uint8_t second_block[64]) {
  __asm__ volatile(
      LOAD_STATE("first", "%%xmm1", "%%xmm2", "%%xmm7")
      LOAD_STATE("second", "%%xmm8", "%%xmm9", "%%xmm14")
      LOAD_BLOCK("first_block", M0, M1, M2, M3)
      LOAD_BLOCK("second_block", N0, N1, N2, N3)
      SIXTEEN_TWO("0", "16", "32", "48") SIXTEEN_TWO("64", "80", "96", "112") SIXTEEN_TWO("128", "144", "160", "176")
      LAST_TWO("192", M0, N0) LAST_TWO("208", M1, N1) LAST_TWO("224", M2, N2) LAST_TWO("240", M3, N3)
      ADD_STATE("first", "%%xmm1", "%%xmm2")
      ADD_STATE("second", "%%xmm8", "%%xmm9")
      STORE_STATE("first", "%%xmm1", "%%xmm2", "%%xmm7")
      STORE_STATE("second", "%%xmm8", "%%xmm9", "%%xmm14")
      CLEAR_REGISTERS
      :
      : [first] "r"(first), [second] "r"(second), [first_block] "r"(first_block), [second_block] "r"(second_block),
        [constants] "r"(&constants)
      : CHANGED);
}

#else

/// A source file holds at least one declaration.
extern int pfc_sha256_no_x86;

#endif
