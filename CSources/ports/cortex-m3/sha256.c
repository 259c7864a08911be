// SPDX-License-Identifier: Apache-2.0

/// SHA-256 (FIPS 180-4, section 6.2) and HMAC (RFC 2104) in the place of libsodium's, which writes sixteen rounds out
/// and keeps a schedule of 64 words on the stack: 2,800 bytes of flash and 450 of stack. Here four rounds are written
/// out, and schedule and padded key stand where the block stands, which is not needed afterwards.

#include "crypto_hash_sha256.h"
#include "crypto_auth_hmacsha256.h"

#include <string.h>

#include "utils.h"

/// A block's bytes, as the words they become.
typedef uint32_t __attribute__((may_alias)) word;

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turned(uint32_t x, unsigned by) { return x >> by | x << (32 - by); }

/// The next sixteen words of the schedule, each in the place of the one that was sixteen before.
static __attribute__((noinline)) void schedule(word w[16]) {
  uint32_t next = w[0], before = w[14], last = w[15];
  for (unsigned i = 0; i < 16; i++) {
    uint32_t made = next + w[(i + 9) & 15] + (turned(before, 17) ^ turned(before, 19) ^ before >> 10);
    next = w[(i + 1) & 15];
    made += turned(next, 7) ^ turned(next, 18) ^ next >> 3;
    w[i] = made;
    before = last, last = made;
  }
}

#define ROUND(a, b, c, d, e, f, g, h)                                                                    \
  h += (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + (g ^ (e & (f ^ g))) + *constant++ + *w++;       \
  d += h;                                                                                                \
  h += (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) | (c & (a | b)));

static void compress(crypto_hash_sha256_state *state) {
  const uint32_t *constant = constants;
  word *w = (word *)state->buf;
  uint32_t a = state->state[0], b = state->state[1], c = state->state[2], d = state->state[3];
  uint32_t e = state->state[4], f = state->state[5], g = state->state[6], h = state->state[7];
  for (unsigned i = 0; i < 16; i++) w[i] = __builtin_bswap32(w[i]);
  for (;;) {
    for (const word *end = w + 16; w < end;) {
      uint32_t kept;
      ROUND(a, b, c, d, e, f, g, h)
      ROUND(h, a, b, c, d, e, f, g)
      ROUND(g, h, a, b, c, d, e, f)
      ROUND(f, g, h, a, b, c, d, e)
      kept = a, a = e, e = kept;
      kept = b, b = f, f = kept;
      kept = c, c = g, g = kept;
      kept = d, d = h, h = kept;
    }
    w -= 16;
    if (constant == constants + 64) break;
    schedule(w);
  }
  state->state[0] += a, state->state[1] += b, state->state[2] += c, state->state[3] += d;
  state->state[4] += e, state->state[5] += f, state->state[6] += g, state->state[7] += h;
}

int crypto_hash_sha256_init(crypto_hash_sha256_state *state) {
  static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  state->count = 0;
  memcpy(state->state, initial, sizeof initial);
  return 0;
}

int crypto_hash_sha256_update(crypto_hash_sha256_state *given, const unsigned char *bytes, unsigned long long size) {
  crypto_hash_sha256_state *state = given;
  size_t left = (size_t)size;
  unsigned at;
  // If a glitch skips the copy of the pointer, a register of the caller's takes its place: the address of a slot, say.
  __asm__("" : "+r"(state));
  if (state != given) return -1;
  at = (unsigned)(state->count >> 3) & 63;
  state->count += (uint64_t)left << 3;
  while (left > 0) {
    size_t piece = sizeof state->buf - at;
    if (piece > left) piece = left;
    memcpy(state->buf + at, bytes, piece);
    bytes += piece;
    left -= piece;
    at += piece;
    if (at < sizeof state->buf) break;
    compress(state);
    at = 0;
  }
  return 0;
}

int crypto_hash_sha256_final(crypto_hash_sha256_state *state, unsigned char *digest) {
  unsigned at = (unsigned)(state->count >> 3) & 63;
  word *length = (word *)(state->buf + 56);
  state->buf[at++] = 0x80;
  memset(state->buf + at, 0, sizeof state->buf - at);
  if (at > 56) {
    compress(state);
    memset(state->buf, 0, 56);
  }
  length[0] = __builtin_bswap32((uint32_t)(state->count >> 32));
  length[1] = __builtin_bswap32((uint32_t)state->count);
  compress(state);
  for (unsigned i = 0; i < 8; i++) ((word *)state->state)[i] = __builtin_bswap32(state->state[i]);
  memcpy(digest, state->state, crypto_hash_sha256_BYTES);
  sodium_memzero(state, sizeof *state);
  return 0;
}

// HMAC -----------------------------------------------------------------------------------------------------------

/// A hash that has taken one block: the key, each byte turned by `pad`.
static void begin(crypto_hash_sha256_state *state, const unsigned char *key, size_t size, unsigned char pad) {
  crypto_hash_sha256_init(state);
  state->count = 8 * sizeof state->buf;
  for (size_t i = 0; i < sizeof state->buf; i++) state->buf[i] = (unsigned char)((i < size ? key[i] : 0) ^ pad);
  compress(state);
}

int crypto_auth_hmacsha256_init(crypto_auth_hmacsha256_state *state, const unsigned char *key, size_t size) {
  if (size > sizeof state->octx.buf) {
    crypto_hash_sha256_init(&state->ictx);
    crypto_hash_sha256_update(&state->ictx, key, size);
    crypto_hash_sha256_final(&state->ictx, state->octx.buf);
    key = state->octx.buf;
    size = crypto_hash_sha256_BYTES;
  }
  begin(&state->ictx, key, size, 0x36);
  begin(&state->octx, key, size, 0x5c);
  return 0;
}

int crypto_auth_hmacsha256_update(crypto_auth_hmacsha256_state *state, const unsigned char *bytes,
                                  unsigned long long size) {
  return crypto_hash_sha256_update(&state->ictx, bytes, size);
}

int crypto_auth_hmacsha256_final(crypto_auth_hmacsha256_state *state, unsigned char *tag) {
  crypto_hash_sha256_final(&state->ictx, tag);
  crypto_hash_sha256_update(&state->octx, tag, crypto_hash_sha256_BYTES);
  return crypto_hash_sha256_final(&state->octx, tag);
}
