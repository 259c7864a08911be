// SPDX-License-Identifier: Apache-2.0

// SHA-256 and HMAC on the native path: the same fields as libsodium's, other code.
//
// Bytes are copied and wiped here word by word, without memcpy and memset: the functions of those names are a shared
// library's, which a program can replace. Lengths are public; nothing branches on anything else.

#include "sha256_parts.h"

#if PFC_SHA256_NATIVE

#include "sha256_constants.h"

_Static_assert(sizeof(crypto_hash_sha256_state) == 104 && offsetof(crypto_hash_sha256_state, state) == 0 &&
                   offsetof(crypto_hash_sha256_state, count) == 32 && offsetof(crypto_hash_sha256_state, buf) == 40,
               "libsodium's SHA-256 state: 8 words, a count of bits, a block");
_Static_assert(sizeof(crypto_auth_hmacsha256_state) == 208 && offsetof(crypto_auth_hmacsha256_state, ictx) == 0 &&
                   offsetof(crypto_auth_hmacsha256_state, octx) == 104,
               "libsodium's HMAC state: the inner transcript and the outer one");

enum { BLOCK = 64, LENGTH_AT = 56, DIGEST = 32, KEYED_BITS = 8 * BLOCK };

/// Words at any address. The kernels read blocks by sixteen bytes, which is quick only if they were written so.
typedef uint64_t __attribute__((may_alias, aligned(1))) loose64;
typedef uint64_t __attribute__((vector_size(16), may_alias, aligned(1))) loose128;
typedef uint32_t __attribute__((vector_size(16), may_alias, aligned(1))) loose32s;

/// A barrier for the compiler: a loop around it stays a loop, a store before it stays.
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

static void copy(uint8_t *to, const uint8_t *from, size_t size) {
  for (; size >= sizeof(loose128); size -= sizeof(loose128)) {
    *(loose128 *)to = *(const loose128 *)from;
    to += sizeof(loose128);
    from += sizeof(loose128);
    KEEP(to);
  }
  for (; size > 0; size--) {
    *to++ = *from++;
    KEEP(to);
  }
}

/// Zeros. The barriers keep a wipe of what nothing reads again.
static void clear(uint8_t *bytes, size_t size) {
  for (; size >= sizeof(loose128); size -= sizeof(loose128)) {
    *(loose128 *)bytes = (loose128){0, 0};
    bytes += sizeof(loose128);
    KEEP(bytes);
  }
  for (; size > 0; size--) {
    *bytes++ = 0;
    KEEP(bytes);
  }
}

static void wipe(void *bytes, size_t size) { clear(bytes, size); }

/// Four words, each with its bytes turned.
static loose32s turned(loose32s words) {
  const loose32s odd = {0x00ff00ff, 0x00ff00ff, 0x00ff00ff, 0x00ff00ff};
  words = ((words & odd) << 8) | ((words >> 8) & odd);
  return (words << 16) | (words >> 16);
}

static void put_words(uint8_t bytes[DIGEST], const uint32_t state[8]) {
  const loose32s *words = (const loose32s *)(const void *)state;
  loose32s *to = (loose32s *)(void *)bytes;
  to[0] = turned(words[0]);
  to[1] = turned(words[1]);
}

static void put_length(uint8_t block[BLOCK], uint64_t bits) {
  *(loose64 *)(block + LENGTH_AT) = __builtin_bswap64(bits);
}

// Hash -------------------------------------------------------------------------------------------------------------

static void begin(crypto_hash_sha256_state *state) {
  static const uint32_t first[8] = PFC_SHA256_FIRST_STATE;
  copy((uint8_t *)state->state, (const uint8_t *)first, sizeof first);
  state->count = 0;
}

static size_t filled(const crypto_hash_sha256_state *state) { return (size_t)(state->count >> 3) % BLOCK; }

static void update(crypto_hash_sha256_state *state, const uint8_t *bytes, size_t size) {
  size_t fill = filled(state), whole;
  state->count += (uint64_t)size << 3;
  if (fill > 0) {
    size_t piece = size < BLOCK - fill ? size : BLOCK - fill;
    copy(state->buf + fill, bytes, piece);
    if (fill + piece < BLOCK) {
      pfc_sha256_forget();
      return;
    }
    pfc_sha256_compress(state->state, state->buf, 1);
    bytes += piece;
    size -= piece;
  }
  whole = size / BLOCK;
  pfc_sha256_compress(state->state, bytes, whole);
  copy(state->buf, bytes + whole * BLOCK, size % BLOCK);
  pfc_sha256_forget();
}

static void final(uint8_t digest[DIGEST], crypto_hash_sha256_state *state) {
  size_t fill = filled(state);
  state->buf[fill++] = 0x80;
  clear(state->buf + fill, BLOCK - fill);
  if (fill > LENGTH_AT) {
    pfc_sha256_compress(state->state, state->buf, 1);
    clear(state->buf, LENGTH_AT);
  }
  put_length(state->buf, state->count);
  pfc_sha256_compress(state->state, state->buf, 1);
  put_words(digest, state->state);
  wipe(state, sizeof *state);
}

void pfc_native_hash_init(struct pfc_hash *hash) { begin(&hash->state); }

void pfc_native_hash_update(struct pfc_hash *hash, const void *bytes, size_t size) {
  if (size > 0) update(&hash->state, bytes, size);
}

void pfc_native_hash_final(uint8_t digest[32], struct pfc_hash *hash) { final(digest, &hash->state); }

// HMAC -------------------------------------------------------------------------------------------------------------

/// Both states of a key come from blocks of their own: they are compressed side by side, in the states' buffers.
void pfc_native_mac_init(struct pfc_mac *mac, const uint8_t *key, size_t key_size) {
  crypto_hash_sha256_state *inner = &mac->state.ictx, *outer = &mac->state.octx;
  begin(inner);
  begin(outer);
  if (key_size > BLOCK) {
    update(outer, key, key_size);
    // Ends in the inner state's buffer. The outer state begins again.
    final(inner->buf, outer);
    begin(outer);
    key_size = DIGEST;
  } else {
    copy(inner->buf, key, key_size);
  }
  clear(inner->buf + key_size, BLOCK - key_size);
  for (size_t i = 0; i < BLOCK / sizeof(loose128); i++) {
    loose128 *in = (loose128 *)inner->buf + i, *out = (loose128 *)outer->buf + i;
    *out = *in ^ UINT64_C(0x5c5c5c5c5c5c5c5c);
    *in ^= UINT64_C(0x3636363636363636);
    KEEP(out);
  }
  pfc_sha256_compress_two(inner->state, inner->buf, outer->state, outer->buf);
  wipe(inner->buf, BLOCK);
  wipe(outer->buf, BLOCK);
  inner->count = KEYED_BITS;
  outer->count = KEYED_BITS;
}

void pfc_native_mac_update(struct pfc_mac *mac, const void *bytes, size_t size) {
  if (size > 0) update(&mac->state.ictx, bytes, size);
}

void pfc_native_mac_final(uint8_t tag[32], struct pfc_mac *mac) {
  uint8_t digest[DIGEST];
  final(digest, &mac->state.ictx);
  update(&mac->state.octx, digest, sizeof digest);
  final(tag, &mac->state.octx);
  wipe(digest, sizeof digest);
}

// Short messages ---------------------------------------------------------------------------------------------------

/// One HMAC of two compressions, each of one block that is complete.
struct short_mac {
  uint32_t state[8];
  uint8_t block[BLOCK];
};

/// Whether nothing was added to the key, and the message fits one block with its padding.
static int is_short(const struct pfc_short *message) {
  const crypto_auth_hmacsha256_state *key = &message->key->state;
  return key->ictx.count == KEYED_BITS && key->octx.count == KEYED_BITS && message->a_size < LENGTH_AT &&
         message->b_size < LENGTH_AT - message->a_size;
}

/// Pads a block that follows the key's own and holds `size` bytes.
static void put_padding(uint8_t block[BLOCK], size_t size) {
  uint64_t length = __builtin_bswap64(KEYED_BITS + 8 * (uint64_t)size);
  if (size == BLOCK - sizeof(loose128)) {
    *(loose128 *)(block + size) = (loose128){0x80, length};
  } else if (size == DIGEST) {
    *(loose128 *)(block + DIGEST) = (loose128){0x80, 0};
    *(loose128 *)(block + DIGEST + sizeof(loose128)) = (loose128){0, length};
  } else {
    block[size] = 0x80;
    clear(block + size + 1, LENGTH_AT - size - 1);
    *(loose64 *)(block + LENGTH_AT) = length;
  }
}

static void short_inner(struct short_mac *work, const struct pfc_short *message) {
  size_t size = message->a_size + message->b_size;
  copy((uint8_t *)work->state, (const uint8_t *)message->key->state.ictx.state, sizeof work->state);
  if (message->a_size > 0) copy(work->block, message->a, message->a_size);
  if (message->b_size > 0) copy(work->block + message->a_size, message->b, message->b_size);
  put_padding(work->block, size);
}

static void short_outer(struct short_mac *work, const struct pfc_short *message) {
  put_words(work->block, work->state);
  put_padding(work->block, DIGEST);
  copy((uint8_t *)work->state, (const uint8_t *)message->key->state.octx.state, sizeof work->state);
}

static void short_end(uint8_t tag[DIGEST], struct short_mac *work) {
  put_words(tag, work->state);
  wipe(work, sizeof *work);
}

/// The same without the fixed shape.
static void longer(uint8_t tag[32], const struct pfc_short *message) {
  struct pfc_mac mac;
  copy((uint8_t *)&mac, (const uint8_t *)message->key, sizeof mac);
  pfc_native_mac_update(&mac, message->a, message->a_size);
  pfc_native_mac_update(&mac, message->b, message->b_size);
  pfc_native_mac_final(tag, &mac);
}

void pfc_native_mac_short(uint8_t tag[32], const struct pfc_short *message) {
  struct short_mac work;
  if (!is_short(message)) {
    longer(tag, message);
    return;
  }
  short_inner(&work, message);
  pfc_sha256_compress(work.state, work.block, 1);
  short_outer(&work, message);
  pfc_sha256_compress(work.state, work.block, 1);
  short_end(tag, &work);
}

void pfc_native_mac_short_two(uint8_t tags[2][32], const struct pfc_short messages[2]) {
  struct short_mac first, second;
  if (!is_short(&messages[0]) || !is_short(&messages[1])) {
    pfc_native_mac_short(tags[0], &messages[0]);
    pfc_native_mac_short(tags[1], &messages[1]);
    return;
  }
  short_inner(&first, &messages[0]);
  short_inner(&second, &messages[1]);
  pfc_sha256_compress_two(first.state, first.block, second.state, second.block);
  short_outer(&first, &messages[0]);
  short_outer(&second, &messages[1]);
  pfc_sha256_compress_two(first.state, first.block, second.state, second.block);
  short_end(tags[0], &first);
  short_end(tags[1], &second);
}

#else

/// A source file holds at least one declaration.
extern int pfc_sha256_no_native;

#endif
