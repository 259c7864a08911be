// SPDX-License-Identifier: Apache-2.0

/// The twelve rounds of BLAKE2b (RFC 7693, section 3.2) over vectors of lanes. Included by each kernel after it has
/// defined VECTOR, ADD, XOR, ROTATE32, ROTATE24, ROTATE16 and ROTATE63; works on `v[16]` and `m[16]` in scope.
///
/// The schedule is written out, not looked up, so that every index is a constant and `v` can live in registers.

#define MIX(a, b, c, d, x, y)          \
  do {                                 \
    v[a] = ADD(ADD(v[a], m[x]), v[b]); \
    v[d] = ROTATE32(XOR(v[d], v[a]));  \
    v[c] = ADD(v[c], v[d]);            \
    v[b] = ROTATE24(XOR(v[b], v[c]));  \
    v[a] = ADD(ADD(v[a], m[y]), v[b]); \
    v[d] = ROTATE16(XOR(v[d], v[a]));  \
    v[c] = ADD(v[c], v[d]);            \
    v[b] = ROTATE63(XOR(v[b], v[c]));  \
  } while (0)

#define ROUND(s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15) \
  do {                                                                              \
    MIX(0, 4, 8, 12, s0, s1);                                                       \
    MIX(1, 5, 9, 13, s2, s3);                                                       \
    MIX(2, 6, 10, 14, s4, s5);                                                      \
    MIX(3, 7, 11, 15, s6, s7);                                                      \
    MIX(0, 5, 10, 15, s8, s9);                                                      \
    MIX(1, 6, 11, 12, s10, s11);                                                    \
    MIX(2, 7, 8, 13, s12, s13);                                                     \
    MIX(3, 4, 9, 14, s14, s15);                                                     \
  } while (0)

#define ALL_ROUNDS()                                                \
  do {                                                              \
    ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);    \
    ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);    \
    ROUND(11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4);    \
    ROUND(7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8);    \
    ROUND(9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13);    \
    ROUND(2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9);    \
    ROUND(12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11);    \
    ROUND(13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10);    \
    ROUND(6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5);    \
    ROUND(10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0);    \
    ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);    \
    ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);    \
  } while (0)
