// SPDX-License-Identifier: Apache-2.0

#include <openssl/evp.h>
#include <openssl/params.h>

#include "internal.h"

/// libcrypto's contract has no NULL, not even for nothing.
static const uint8_t nothing[1] = {0};

enum pfj_result pfj_sha256(uint8_t digest[PFJ_SHA256_BYTES], const uint8_t *message, size_t size) {
  pfj_errors_mark();
  const int is_done = EVP_Q_digest(NULL, "SHA256", NULL, size > 0 ? message : nothing, size, digest, NULL) == 1;
  pfj_errors_drop();
  if (is_done) return PFJ_OK;
  pfj_wipe(digest, PFJ_SHA256_BYTES);
  return PFJ_E_LIBRARY;
}

enum pfj_result pfj_hmac_sha256(uint8_t tag[PFJ_SHA256_BYTES], const uint8_t *key, size_t key_size,
                                const uint8_t *message, size_t size) {
  size_t written = 0;
  pfj_errors_mark();
  const int is_done = EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, key_size > 0 ? key : nothing, key_size,
                                size > 0 ? message : nothing, size, tag, PFJ_SHA256_BYTES, &written) != NULL;
  pfj_errors_drop();
  if (is_done && written == PFJ_SHA256_BYTES) return PFJ_OK;
  pfj_wipe(tag, PFJ_SHA256_BYTES);
  return PFJ_E_LIBRARY;
}
