// SPDX-License-Identifier: Apache-2.0

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "internal.h"

enum { RESERVE_MIN = 4 << 10, RESERVE_MAX = 64 << 20, SMALLEST_SECRET = 16 };

uint8_t *pfj_secret_new(size_t size) {
  // libcrypto answers NULL to a request for nothing.
  const size_t held = size > 0 ? size : 1;
  uint8_t *secret = OPENSSL_secure_zalloc(held);
  // A reserved heap that is full gives NULL. Going on without lock is better than refusing service; the wipe stays.
  if (secret == NULL) secret = OPENSSL_zalloc(held);
  return secret;
}

void pfj_secret_free(uint8_t *secret, size_t size) { OPENSSL_secure_clear_free(secret, size > 0 ? size : 1); }

int pfj_secret_reserve(size_t size) {
  if (size < RESERVE_MIN || size > RESERVE_MAX || (size & (size - 1)) != 0) return 0;
  if (CRYPTO_secure_malloc_initialized()) return 0;
  pfj_errors_mark();
  // 2 says: it stands, but is not locked.
  const int answer = CRYPTO_secure_malloc_init(size, SMALLEST_SECRET);
  pfj_errors_drop();
  return answer == 1;
}

void pfj_wipe(void *bytes, size_t size) {
  if (size > 0) OPENSSL_cleanse(bytes, size);
}

int pfj_equal(const void *a, const void *b, size_t size) { return size == 0 || CRYPTO_memcmp(a, b, size) == 0; }

enum pfj_result pfj_random_secret(uint8_t *bytes, size_t size) {
  if (size == 0) return PFJ_OK;
  if (size > PFJ_MESSAGE_MAX) {
    pfj_wipe(bytes, size);
    return PFJ_E_SIZE;
  }
  pfj_errors_mark();
  const int is_drawn = RAND_priv_bytes(bytes, (int)size) == 1;
  pfj_errors_drop();
  if (is_drawn) return PFJ_OK;
  pfj_wipe(bytes, size);
  return PFJ_E_RANDOM;
}

enum pfj_result pfj_random_public(uint8_t *bytes, size_t size) {
  if (size == 0) return PFJ_OK;
  if (size > PFJ_MESSAGE_MAX) {
    pfj_wipe(bytes, size);
    return PFJ_E_SIZE;
  }
  pfj_errors_mark();
  const int is_drawn = RAND_bytes(bytes, (int)size) == 1;
  pfj_errors_drop();
  if (is_drawn) return PFJ_OK;
  pfj_wipe(bytes, size);
  return PFJ_E_RANDOM;
}
