// SPDX-License-Identifier: Apache-2.0

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "BenchInstruments.h"

bench_hmac *bench_hmac_new(const unsigned char *key, size_t size) {
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                   OSSL_PARAM_construct_end()};
  EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
  EVP_MAC_CTX *context = EVP_MAC_CTX_new(hmac);
  EVP_MAC_free(hmac);
  if (context != NULL && EVP_MAC_init(context, key, size, parameters) == 1) return context;
  EVP_MAC_CTX_free(context);
  return NULL;
}

void bench_hmac_free(bench_hmac *hmac) { EVP_MAC_CTX_free(hmac); }

int bench_hmac_make(bench_hmac *hmac, unsigned char tag[32], const unsigned char *message, size_t size) {
  size_t written = 0;
  // A NULL key keeps the key before, whose two states the context has.
  return EVP_MAC_init(hmac, NULL, 0, NULL) == 1 && EVP_MAC_update(hmac, message, size) == 1 &&
         EVP_MAC_final(hmac, tag, &written, 32) == 1 && written == 32;
}
