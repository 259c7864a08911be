// SPDX-License-Identifier: Apache-2.0

#include <openssl/evp.h>

#include "internal.h"

/// libcrypto counts the uses of a key in the key itself, atomically; what the caller sees of it never changes.
static EVP_PKEY *counted(const pfj_key *key) { return (EVP_PKEY *)(uintptr_t)key; }

enum pfj_result pfj_p256_agree(uint8_t secret[PFJ_AGREED_BYTES], const pfj_key *key,
                               const uint8_t point[PFJ_P256_POINT_BYTES]) {
  size_t written = PFJ_AGREED_BYTES;
  pfj_key *peer = NULL;
  // Refuses a point off the curve: multiplying one would tell the scalar modulo a small order.
  enum pfj_result result = pfj_p256_public(&peer, point);
  if (result == PFJ_OK) {
    pfj_errors_mark();
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, counted(key), NULL);
    const int is_agreed = context != NULL && EVP_PKEY_derive_init(context) == 1 &&
                          EVP_PKEY_derive_set_peer(context, peer) == 1 &&
                          EVP_PKEY_derive(context, secret, &written) == 1 && written == PFJ_AGREED_BYTES;
    EVP_PKEY_CTX_free(context);
    pfj_errors_drop();
    result = is_agreed ? PFJ_OK : PFJ_E_LIBRARY;
  }
  pfj_key_free(peer);
  if (result != PFJ_OK) pfj_wipe(secret, PFJ_AGREED_BYTES);
  return result;
}
