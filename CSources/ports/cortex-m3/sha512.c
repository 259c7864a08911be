// SPDX-License-Identifier: Apache-2.0

/// SHA-512 (FIPS 180-4, section 6.4) in the place of libsodium's, which writes sixteen rounds out and keeps a schedule
/// of 80 words on the stack: 7,700 bytes of flash and 700 of stack. Here the rounds are a loop, and the schedule stands
/// where the block stands, which is not needed afterwards. Ed25519 alone asks for it.

#include "crypto_hash_sha512.h"

#include <string.h>

#include "utils.h"

/// A block's bytes, as the words they become.
typedef uint64_t __attribute__((may_alias)) word;

static const uint64_t constants[80] = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc,
    0x3956c25bf348b538, 0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118,
    0xd807aa98a3030242, 0x12835b0145706fbe, 0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2,
    0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235, 0xc19bf174cf692694,
    0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5,
    0x983e5152ee66dfab, 0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4,
    0xc6e00bf33da88fc2, 0xd5a79147930aa725, 0x06ca6351e003826f, 0x142929670a0e6e70,
    0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed, 0x53380d139d95b3df,
    0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30,
    0xd192e819d6ef5218, 0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8,
    0x19a4c116b8d2d0c8, 0x1e376c085141ab53, 0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8,
    0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373, 0x682e6ff3d6b2b8a3,
    0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b,
    0xca273eceea26619c, 0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178,
    0x06f067aa72176fba, 0x0a637dc5a2c898a6, 0x113f9804bef90dae, 0x1b710b35131c471b,
    0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc, 0x431d67c49c100d4c,
    0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817};

static uint64_t turned(uint64_t x, unsigned by) { return x >> by | x << (64 - by); }

static __attribute__((noinline)) void compress(crypto_hash_sha512_state *state) {
  word *w = (word *)state->buf;
  uint64_t s[8];
  memcpy(s, state->state, sizeof s);
  for (unsigned i = 0; i < 80; i++) {
    word *now = &w[i & 15];
    uint64_t a, e, h;
    if (i < 16) {
      *now = __builtin_bswap64(*now);
    } else {
      uint64_t next = w[(i + 1) & 15], before = w[(i + 14) & 15];
      *now += w[(i + 9) & 15] + (turned(before, 19) ^ turned(before, 61) ^ before >> 6) +
              (turned(next, 1) ^ turned(next, 8) ^ next >> 7);
    }
    a = s[0], e = s[4];
    h = s[7] + (turned(e, 14) ^ turned(e, 18) ^ turned(e, 41)) + (s[6] ^ (e & (s[5] ^ s[6]))) + constants[i] + *now;
    a = h + (turned(a, 28) ^ turned(a, 34) ^ turned(a, 39)) + ((a & s[1]) | (s[2] & (a | s[1])));
    // No memmove: the C library's goes on through RAM if a glitch skips its comparison.
    for (unsigned k = 7; k > 0; k--) s[k] = s[k - 1];
    s[0] = a;
    s[4] += h;
  }
  for (unsigned i = 0; i < 8; i++) state->state[i] += s[i];
  sodium_memzero(s, sizeof s);
}

int crypto_hash_sha512_init(crypto_hash_sha512_state *state) {
  static const uint64_t initial[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                                      0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
  state->count[0] = state->count[1] = 0;
  memcpy(state->state, initial, sizeof initial);
  return 0;
}

/// `count[1]` counts bits; no message of this hardware comes near the limit of a word.
int crypto_hash_sha512_update(crypto_hash_sha512_state *state, const unsigned char *bytes, unsigned long long size) {
  size_t left = (size_t)size;
  unsigned at = (unsigned)(state->count[1] >> 3) & 127;
  state->count[1] += (uint64_t)left << 3;
  while (left > 0) {
    size_t piece = sizeof state->buf - at;
    if (piece > left) piece = left;
    memcpy(state->buf + at, bytes, piece);
    bytes += piece;
    left -= piece;
    at += (unsigned)piece;
    if (at < sizeof state->buf) break;
    compress(state);
    at = 0;
  }
  return 0;
}

int crypto_hash_sha512_final(crypto_hash_sha512_state *state, unsigned char *digest) {
  unsigned at = (unsigned)(state->count[1] >> 3) & 127;
  state->buf[at++] = 0x80;
  memset(state->buf + at, 0, sizeof state->buf - at);
  if (at > 112) {
    compress(state);
    memset(state->buf, 0, 120);
  }
  ((word *)state->buf)[15] = __builtin_bswap64(state->count[1]);
  compress(state);
  for (unsigned i = 0; i < 8; i++) ((word *)state->state)[i] = __builtin_bswap64(state->state[i]);
  memcpy(digest, state->state, crypto_hash_sha512_BYTES);
  sodium_memzero(state, sizeof *state);
  return 0;
}

int crypto_hash_sha512(unsigned char *digest, const unsigned char *bytes, unsigned long long size) {
  crypto_hash_sha512_state state;
  crypto_hash_sha512_init(&state);
  crypto_hash_sha512_update(&state, bytes, size);
  return crypto_hash_sha512_final(&state, digest);
}
