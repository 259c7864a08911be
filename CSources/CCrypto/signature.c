// SPDX-License-Identifier: Apache-2.0

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>

#include "internal.h"

enum { HALF = PFJ_SIGNATURE_BYTES / 2, DER_MAX = 80 };

/// libcrypto's contract has no NULL, not even for nothing.
static const uint8_t nothing[1] = {0};

/// libcrypto counts the uses of a key in the key itself, atomically; what the caller sees of it never changes.
static EVP_PKEY *counted(const pfj_key *key) { return (EVP_PKEY *)(uintptr_t)key; }

/// `digest` is NULL for an algorithm that hashes by itself. `*written` holds how much `signature` takes, then how much
/// was written.
static int sign(uint8_t *signature, size_t *written, const pfj_key *key, const EVP_MD *digest, const uint8_t *message,
                size_t size) {
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  const int is_signed = context != NULL && EVP_DigestSignInit(context, NULL, digest, NULL, counted(key)) == 1 &&
                        EVP_DigestSign(context, signature, written, size > 0 ? message : nothing, size) == 1;
  EVP_MD_CTX_free(context);
  return is_signed;
}

static enum pfj_result verify(const uint8_t *signature, size_t signature_size, const pfj_key *key,
                              const EVP_MD *digest, const uint8_t *message, size_t size) {
  enum pfj_result result = PFJ_E_LIBRARY;
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  if (context != NULL && EVP_DigestVerifyInit(context, NULL, digest, NULL, counted(key)) == 1) {
    const int answer =
        EVP_DigestVerify(context, signature, signature_size, size > 0 ? message : nothing, size);
    // Some wrong signatures are 0, others (r = 0, a malformed integer) are negative like a failure.
    result = answer == 1 ? PFJ_OK : PFJ_E_REFUSED;
  }
  EVP_MD_CTX_free(context);
  return result;
}

enum pfj_result pfj_ed25519_sign(uint8_t signature[PFJ_SIGNATURE_BYTES], const pfj_key *key, const uint8_t *message,
                                 size_t size) {
  size_t written = PFJ_SIGNATURE_BYTES;
  enum pfj_result result = PFJ_E_SIZE;
  pfj_errors_mark();
  if (size <= PFJ_MESSAGE_MAX) {
    const int is_signed = sign(signature, &written, key, NULL, message, size) && written == PFJ_SIGNATURE_BYTES;
    result = is_signed ? PFJ_OK : PFJ_E_LIBRARY;
  }
  pfj_errors_drop();
  if (result != PFJ_OK) pfj_wipe(signature, PFJ_SIGNATURE_BYTES);
  return result;
}

enum pfj_result pfj_ed25519_verify(const uint8_t signature[PFJ_SIGNATURE_BYTES], const pfj_key *key,
                                   const uint8_t *message, size_t size) {
  if (size > PFJ_MESSAGE_MAX) return PFJ_E_SIZE;
  pfj_errors_mark();
  const enum pfj_result result = verify(signature, PFJ_SIGNATURE_BYTES, key, NULL, message, size);
  pfj_errors_drop();
  return result;
}

enum pfj_result pfj_es256_sign(uint8_t signature[PFJ_SIGNATURE_BYTES], const pfj_key *key, const uint8_t *message,
                               size_t size) {
  uint8_t der[DER_MAX];
  size_t written = sizeof der;
  const uint8_t *rest = der;
  ECDSA_SIG *parts = NULL;
  enum pfj_result result = PFJ_E_SIZE;
  pfj_errors_mark();
  if (size > PFJ_MESSAGE_MAX) goto done;
  result = PFJ_E_LIBRARY;
  if (!sign(der, &written, key, EVP_sha256(), message, size)) goto done;
  parts = d2i_ECDSA_SIG(NULL, &rest, (long)written);
  if (parts == NULL) goto done;
  if (BN_bn2binpad(ECDSA_SIG_get0_r(parts), signature, HALF) != HALF) goto done;
  if (BN_bn2binpad(ECDSA_SIG_get0_s(parts), signature + HALF, HALF) != HALF) goto done;
  result = PFJ_OK;
done:
  ECDSA_SIG_free(parts);
  pfj_errors_drop();
  if (result != PFJ_OK) pfj_wipe(signature, PFJ_SIGNATURE_BYTES);
  return result;
}

enum pfj_result pfj_es256_verify(const uint8_t signature[PFJ_SIGNATURE_BYTES], const pfj_key *key,
                                 const uint8_t *message, size_t size) {
  uint8_t der[DER_MAX];
  uint8_t *end = der;
  enum pfj_result result = PFJ_E_SIZE;
  ECDSA_SIG *parts = NULL;
  BIGNUM *r = NULL;
  BIGNUM *s = NULL;
  pfj_errors_mark();
  if (size > PFJ_MESSAGE_MAX) goto done;
  result = PFJ_E_LIBRARY;
  parts = ECDSA_SIG_new();
  r = BN_bin2bn(signature, HALF, NULL);
  s = BN_bin2bn(signature + HALF, HALF, NULL);
  if (parts == NULL || r == NULL || s == NULL || ECDSA_SIG_set0(parts, r, s) != 1) goto done;
  r = NULL;  // both belong to `parts` now
  s = NULL;
  const int der_size = i2d_ECDSA_SIG(parts, NULL);
  if (der_size <= 0 || der_size > DER_MAX || i2d_ECDSA_SIG(parts, &end) != der_size) goto done;
  result = verify(der, (size_t)der_size, key, EVP_sha256(), message, size);
done:
  BN_free(r);
  BN_free(s);
  ECDSA_SIG_free(parts);
  pfj_errors_drop();
  return result;
}

enum pfj_result pfj_rs256_sign(uint8_t *signature, size_t signature_size, const pfj_key *key, const uint8_t *message,
                               size_t size) {
  size_t written = signature_size;
  enum pfj_result result = PFJ_E_SIZE;
  pfj_errors_mark();
  if (size <= PFJ_MESSAGE_MAX) {
    // The padding of an RSA key is PKCS #1 v1.5 unless another is set.
    const int is_signed = sign(signature, &written, key, EVP_sha256(), message, size) && written == signature_size;
    result = is_signed ? PFJ_OK : PFJ_E_LIBRARY;
  }
  pfj_errors_drop();
  if (result != PFJ_OK) pfj_wipe(signature, signature_size);
  return result;
}

enum pfj_result pfj_rs256_verify(const uint8_t *signature, size_t signature_size, const pfj_key *key,
                                 const uint8_t *message, size_t size) {
  if (size > PFJ_MESSAGE_MAX) return PFJ_E_SIZE;
  pfj_errors_mark();
  const enum pfj_result result = verify(signature, signature_size, key, EVP_sha256(), message, size);
  pfj_errors_drop();
  return result;
}
