// SPDX-License-Identifier: Apache-2.0

// The kernels for 64-bit Arm, with the instructions of its cryptography extension.
//
// Assembly for the reason that sha256_x86.c gives: no word of a block stands on the stack, in any build. v8 to v15
// belong to the caller and stay out of it.

#include "sha256_parts.h"

#if PFC_SHA256_NATIVE && defined(__aarch64__)

#include "sha256_constants.h"

// The text of the assembly is longer than ISO C has every compiler take as a string; gcc and clang take it.
#pragma GCC diagnostic ignored "-Woverlength-strings"

#if defined(__clang__)
#define WITH_SHA2 __attribute__((target("sha2")))
#else
#define WITH_SHA2 __attribute__((target("+crypto")))
#endif

static const uint32_t constants[64] __attribute__((aligned(16))) = PFC_SHA256_ROUND_CONSTANTS;

#define LOAD_BLOCK(block, m0, m1, m2, m3)                                                 \
  "ld1 {" m0 ".16b, " m1 ".16b, " m2 ".16b, " m3 ".16b}, [%[" block "]]\n\t"              \
  "rev32 " m0 ".16b, " m0 ".16b\n\t"                                                      \
  "rev32 " m1 ".16b, " m1 ".16b\n\t"                                                      \
  "rev32 " m2 ".16b, " m2 ".16b\n\t"                                                      \
  "rev32 " m3 ".16b, " m3 ".16b\n\t"

// Four rounds with the words of `m`, of the state in vector and quadword registers `v0`, `v1` (`q0`, `q1`).
#define ROUNDS(k, q0, v0, q1, m, qw, w, qt, t)          \
  "ldr " qw ", [%[constants], #" k "]\n\t"              \
  "add " w ".4s, " w ".4s, " m ".4s\n\t"                \
  "mov " t ".16b, " v0 ".16b\n\t"                       \
  "sha256h " q0 ", " q1 ", " w ".4s\n\t"                \
  "sha256h2 " q1 ", " qt ", " w ".4s\n\t"

// The words of sixteen rounds later, in place of `m0`.
#define SCHEDULE(m0, m1, m2, m3)                 \
  "sha256su0 " m0 ".4s, " m1 ".4s\n\t"           \
  "sha256su1 " m0 ".4s, " m2 ".4s, " m3 ".4s\n\t"

#define CLEAR(v) "movi " v ".16b, #0\n\t"
#define CLEAR_REGISTERS                                                                                     \
  CLEAR("v0") CLEAR("v1") CLEAR("v2") CLEAR("v3") CLEAR("v4") CLEAR("v5") CLEAR("v6") CLEAR("v7")           \
  CLEAR("v16") CLEAR("v17") CLEAR("v18") CLEAR("v19") CLEAR("v20") CLEAR("v21") CLEAR("v22") CLEAR("v23")   \
  CLEAR("v24") CLEAR("v25") CLEAR("v26") CLEAR("v27") CLEAR("v28") CLEAR("v29") CLEAR("v30") CLEAR("v31")   \
  "mov x5, xzr\n\tmov x6, xzr\n\tmov x7, xzr\n\tmov x8, xzr\n\tmov x9, xzr\n\tmov x10, xzr\n\t"             \
  "mov x11, xzr\n\tmov x12, xzr\n\tmov x13, xzr\n\tmov x14, xzr\n\tmov x15, xzr\n\t"

#define CHANGED                                                                                                    \
  "memory", "cc", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "v0", "v1", "v2", "v3",  \
      "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27",  \
      "v28", "v29", "v30", "v31"

#define M0 "v4"
#define M1 "v5"
#define M2 "v6"
#define M3 "v7"

void pfc_sha256_forget(void) { __asm__ volatile(CLEAR_REGISTERS : : : CHANGED); }

// One state --------------------------------------------------------------------------------------------------------

#define LAST(k, m) ROUNDS(k, "q0", "v0", "q1", m, "q16", "v16", "q17", "v17")
#define FOUR(k, m0, m1, m2, m3) LAST(k, m0) SCHEDULE(m0, m1, m2, m3)

WITH_SHA2 void pfc_sha256_compress(uint32_t state[8], const uint8_t *blocks, size_t count) {
  if (count == 0) return;
  __asm__ volatile(
      "ldp q0, q1, [%[state]]\n\t"
      "1:\n\t"
      "mov v2.16b, v0.16b\n\t"
      "mov v3.16b, v1.16b\n\t"
      LOAD_BLOCK("blocks", M0, M1, M2, M3)
      FOUR("0", M0, M1, M2, M3) FOUR("16", M1, M2, M3, M0) FOUR("32", M2, M3, M0, M1) FOUR("48", M3, M0, M1, M2)
      FOUR("64", M0, M1, M2, M3) FOUR("80", M1, M2, M3, M0) FOUR("96", M2, M3, M0, M1) FOUR("112", M3, M0, M1, M2)
      FOUR("128", M0, M1, M2, M3) FOUR("144", M1, M2, M3, M0) FOUR("160", M2, M3, M0, M1) FOUR("176", M3, M0, M1, M2)
      LAST("192", M0) LAST("208", M1) LAST("224", M2) LAST("240", M3)
      "add v0.4s, v0.4s, v2.4s\n\t"
      "add v1.4s, v1.4s, v3.4s\n\t"
      "add %[blocks], %[blocks], #64\n\t"
      "subs %[count], %[count], #1\n\t"
      "b.ne 1b\n\t"
      "stp q0, q1, [%[state]]\n\t"
      CLEAR_REGISTERS
      : [blocks] "+r"(blocks), [count] "+r"(count)
      : [state] "r"(state), [constants] "r"(constants)
      : CHANGED);
}

// Two states -------------------------------------------------------------------------------------------------------

#define N0 "v20"
#define N1 "v21"
#define N2 "v22"
#define N3 "v23"
#define LAST_TWO(k, m, n)                                         \
  ROUNDS(k, "q0", "v0", "q1", m, "q16", "v16", "q17", "v17")      \
  ROUNDS(k, "q2", "v2", "q3", n, "q18", "v18", "q19", "v19")
#define FOUR_TWO(k, m0, m1, m2, m3, n0, n1, n2, n3) \
  LAST_TWO(k, m0, n0) SCHEDULE(m0, m1, m2, m3) SCHEDULE(n0, n1, n2, n3)
#define SIXTEEN_TWO(k0, k1, k2, k3)                                                               \
  FOUR_TWO(k0, M0, M1, M2, M3, N0, N1, N2, N3) FOUR_TWO(k1, M1, M2, M3, M0, N1, N2, N3, N0)       \
  FOUR_TWO(k2, M2, M3, M0, M1, N2, N3, N0, N1) FOUR_TWO(k3, M3, M0, M1, M2, N3, N0, N1, N2)

WITH_SHA2 void pfc_sha256_compress_two(uint32_t first[8], const uint8_t first_block[64], uint32_t second[8],
                                       const uint8_t second_block[64]) {
  __asm__ volatile(
      "ldp q0, q1, [%[first]]\n\t"
      "ldp q2, q3, [%[second]]\n\t"
      LOAD_BLOCK("first_block", M0, M1, M2, M3)
      LOAD_BLOCK("second_block", N0, N1, N2, N3)
      SIXTEEN_TWO("0", "16", "32", "48") SIXTEEN_TWO("64", "80", "96", "112") SIXTEEN_TWO("128", "144", "160", "176")
      LAST_TWO("192", M0, N0) LAST_TWO("208", M1, N1) LAST_TWO("224", M2, N2) LAST_TWO("240", M3, N3)
      "ldp q4, q5, [%[first]]\n\t"
      "ldp q6, q7, [%[second]]\n\t"
      "add v0.4s, v0.4s, v4.4s\n\t"
      "add v1.4s, v1.4s, v5.4s\n\t"
      "add v2.4s, v2.4s, v6.4s\n\t"
      "add v3.4s, v3.4s, v7.4s\n\t"
      "stp q0, q1, [%[first]]\n\t"
      "stp q2, q3, [%[second]]\n\t"
      CLEAR_REGISTERS
      :
      : [first] "r"(first), [second] "r"(second), [first_block] "r"(first_block), [second_block] "r"(second_block),
        [constants] "r"(constants)
      : CHANGED);
}

#else

/// A source file holds at least one declaration.
extern int pfc_sha256_no_arm;

#endif
