// SPDX-License-Identifier: Apache-2.0

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include "internal.h"

enum { EXPONENT = 65537, CONTENT_KEY = PFJ_AES_KEY_BYTES };

/// The private numbers in the order in which they are handed in and out.
enum number { D, P, Q, DP, DQ, QI, NUMBERS };

static const char *const names[NUMBERS] = {
    OSSL_PKEY_PARAM_RSA_D,         OSSL_PKEY_PARAM_RSA_FACTOR1,   OSSL_PKEY_PARAM_RSA_FACTOR2,
    OSSL_PKEY_PARAM_RSA_EXPONENT1, OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
};

static int is_size(size_t size) { return size == 256 || size == 384 || size == 512; }

/// How many bytes a private number takes under a modulus of `size` bytes.
static size_t width(size_t number, size_t size) { return number == D ? size : size / 2; }

static void free_numbers(BIGNUM *numbers[NUMBERS]) {
  for (size_t i = 0; i < NUMBERS; i++) BN_clear_free(numbers[i]);
}

static int new_numbers(BIGNUM *numbers[NUMBERS]) {
  int is_made = 1;
  for (size_t i = 0; i < NUMBERS; i++) {
    numbers[i] = BN_secure_new();
    if (numbers[i] == NULL) {
      is_made = 0;
    } else {
      BN_set_flags(numbers[i], BN_FLG_CONSTTIME);
    }
  }
  return is_made;
}

/// Whether `exponent` is `d` modulo `prime` - 1, and inverts 65537 there. -1 when there is no memory.
static int is_exponent(const BIGNUM *exponent, const BIGNUM *d, const BIGNUM *prime, BN_CTX *context) {
  int answer = -1;
  BN_CTX_start(context);
  BIGNUM *below = BN_CTX_get(context);
  BIGNUM *rest = BN_CTX_get(context);
  BIGNUM *e = BN_CTX_get(context);
  if (e == NULL || BN_sub(below, prime, BN_value_one()) != 1) goto done;
  BN_set_flags(below, BN_FLG_CONSTTIME);
  if (BN_mod(rest, d, below, context) != 1) goto done;
  answer = 0;
  if (BN_cmp(rest, exponent) != 0) goto done;
  answer = -1;
  if (BN_set_word(e, EXPONENT) != 1 || BN_mod_mul(rest, exponent, e, below, context) != 1) goto done;
  answer = BN_is_one(rest);
done:
  BN_CTX_end(context);
  return answer;
}

/// Computes the modulus. 1 if all numbers belong together, 0 if not, -1 when there is no memory.
static int multiply(BIGNUM *modulus, BIGNUM *numbers[NUMBERS], size_t size, BN_CTX *context) {
  const int half = (int)size * 4;
  const BIGNUM *p = numbers[P];
  const BIGNUM *q = numbers[Q];
  if (BN_num_bits(p) != half || BN_num_bits(q) != half || !BN_is_odd(p) || !BN_is_odd(q)) return 0;
  if (BN_cmp(p, q) == 0 || BN_cmp(numbers[QI], p) >= 0) return 0;
  if (BN_mul(modulus, p, q, context) != 1) return -1;
  if (BN_num_bits(modulus) != 2 * half || BN_cmp(numbers[D], modulus) >= 0) return 0;
  int answer = is_exponent(numbers[DP], numbers[D], p, context);
  if (answer == 1) answer = is_exponent(numbers[DQ], numbers[D], q, context);
  if (answer != 1) return answer;
  BN_CTX_start(context);
  BIGNUM *product = BN_CTX_get(context);
  answer = product != NULL && BN_mod_mul(product, numbers[Q], numbers[QI], p, context) == 1 ? BN_is_one(product) : -1;
  BN_CTX_end(context);
  return answer;
}

/// A key of libcrypto from its modulus and, if `numbers` is not NULL, its private numbers.
static EVP_PKEY *rsa_key(const BIGNUM *modulus, BIGNUM *numbers[NUMBERS]) {
  EVP_PKEY *key = NULL;
  OSSL_PARAM *parameters = NULL;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
  OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
  if (context == NULL || builder == NULL) goto done;
  if (OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus) != 1) goto done;
  if (OSSL_PARAM_BLD_push_ulong(builder, OSSL_PKEY_PARAM_RSA_E, EXPONENT) != 1) goto done;
  for (size_t i = 0; numbers != NULL && i < NUMBERS; i++) {
    if (OSSL_PARAM_BLD_push_BN(builder, names[i], numbers[i]) != 1) goto done;
  }
  parameters = OSSL_PARAM_BLD_to_param(builder);
  if (parameters == NULL || EVP_PKEY_fromdata_init(context) != 1) goto done;
  const int selection = numbers != NULL ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY;
  if (EVP_PKEY_fromdata(context, &key, selection, parameters) != 1) {
    EVP_PKEY_free(key);
    key = NULL;
  }
done:
  OSSL_PARAM_free(parameters);  // wipes what came from secure numbers
  OSSL_PARAM_BLD_free(builder);
  EVP_PKEY_CTX_free(context);
  return key;
}

enum pfj_result pfj_rsa_generate(uint8_t *numbers, size_t size) {
  enum pfj_result result = is_size(size) ? PFJ_E_LIBRARY : PFJ_E_SIZE;
  EVP_PKEY *key = NULL;
  BIGNUM *drawn[NUMBERS] = {NULL};
  uint8_t *end = numbers;
  pfj_errors_mark();
  if (!is_size(size) || !new_numbers(drawn)) goto done;
  key = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", size * 8);
  if (key == NULL) goto done;
  for (size_t i = 0; i < NUMBERS; i++) {
    if (EVP_PKEY_get_bn_param(key, names[i], &drawn[i]) != 1) goto done;
    if (BN_bn2binpad(drawn[i], end, (int)width(i, size)) < 0) goto done;
    end += width(i, size);
  }
  result = PFJ_OK;
done:
  free_numbers(drawn);
  EVP_PKEY_free(key);
  pfj_errors_drop();
  if (result != PFJ_OK && is_size(size)) pfj_wipe(numbers, PFJ_RSA_PRIVATE_BYTES(size));
  return result;
}

enum pfj_result pfj_rsa_pair(pfj_key **key, uint8_t *modulus, size_t size, const uint8_t *numbers) {
  enum pfj_result result = PFJ_E_LIBRARY;
  BIGNUM *read[NUMBERS] = {NULL};
  BIGNUM *product = NULL;
  BN_CTX *context = NULL;
  *key = NULL;
  if (!is_size(size)) return PFJ_E_SIZE;
  pfj_errors_mark();
  context = BN_CTX_secure_new();
  product = BN_new();
  if (!new_numbers(read) || context == NULL || product == NULL) goto done;
  for (size_t i = 0; i < NUMBERS; i++) {
    if (BN_bin2bn(numbers, (int)width(i, size), read[i]) == NULL) goto done;
    numbers += width(i, size);
  }
  const int belong = multiply(product, read, size, context);
  if (belong == 0) result = PFJ_E_KEY;
  if (belong != 1 || BN_bn2binpad(product, modulus, (int)size) < 0) goto done;
  *key = rsa_key(product, read);
  if (*key != NULL) result = PFJ_OK;
done:
  free_numbers(read);
  BN_clear_free(product);
  BN_CTX_free(context);
  pfj_errors_drop();
  if (result != PFJ_OK) pfj_wipe(modulus, size);
  return result;
}

enum pfj_result pfj_rsa_public(pfj_key **key, const uint8_t *modulus, size_t size) {
  enum pfj_result result = PFJ_E_KEY;
  BIGNUM *n = NULL;
  EVP_PKEY_CTX *context = NULL;
  *key = NULL;
  if (!is_size(size)) return PFJ_E_SIZE;
  // A modulus with a zero in its first bit is one of a smaller size.
  if ((modulus[0] & 0x80) == 0 || (modulus[size - 1] & 1) == 0) return PFJ_E_KEY;
  pfj_errors_mark();
  n = BN_bin2bn(modulus, (int)size, NULL);
  if (n != NULL) *key = rsa_key(n, NULL);
  if (*key != NULL) context = EVP_PKEY_CTX_new_from_pkey(NULL, *key, NULL);
  if (context == NULL) {
    result = PFJ_E_LIBRARY;
  } else if (EVP_PKEY_public_check(context) == 1) {
    // NIST SP 800-56B, 6.4.2: no small factor, neither a prime nor the power of one.
    result = PFJ_OK;
  }
  EVP_PKEY_CTX_free(context);
  BN_free(n);
  if (result != PFJ_OK) {
    EVP_PKEY_free(*key);
    *key = NULL;
  }
  pfj_errors_drop();
  return result;
}

/// libcrypto counts the uses of a key in the key itself, atomically; what the caller sees of it never changes.
static EVP_PKEY *counted(const pfj_key *key) { return (EVP_PKEY *)(uintptr_t)key; }

/// Says that both hashes of OAEP are SHA-256; the label is empty.
static int set_oaep(EVP_PKEY_CTX *context) {
  return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1 &&
         EVP_PKEY_CTX_set_rsa_oaep_md(context, EVP_sha256()) == 1 &&
         EVP_PKEY_CTX_set_rsa_mgf1_md(context, EVP_sha256()) == 1;
}

enum pfj_result pfj_oaep_wrap(uint8_t *wrapped, size_t size, const pfj_key *key,
                              const uint8_t content_key[PFJ_AES_KEY_BYTES]) {
  size_t written = size;
  pfj_errors_mark();
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, counted(key), NULL);
  const int is_wrapped = context != NULL && EVP_PKEY_encrypt_init(context) == 1 && set_oaep(context) &&
                         EVP_PKEY_encrypt(context, wrapped, &written, content_key, CONTENT_KEY) == 1 &&
                         written == size;
  EVP_PKEY_CTX_free(context);
  pfj_errors_drop();
  if (is_wrapped) return PFJ_OK;
  pfj_wipe(wrapped, size);
  return PFJ_E_LIBRARY;
}

enum pfj_result pfj_oaep_unwrap(uint8_t content_key[PFJ_AES_KEY_BYTES], const pfj_key *key, const uint8_t *wrapped,
                                size_t size) {
  // As large as any message of any key: libcrypto writes nothing into what is smaller.
  uint8_t opened[PFJ_RSA_MAX_BYTES] = {0};
  size_t written = sizeof opened;
  // Drawn before anything is known, and always: the work does not depend on the answer.
  const enum pfj_result drawn = pfj_random_secret(content_key, CONTENT_KEY);
  if (drawn != PFJ_OK) return drawn;
  pfj_errors_mark();
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, counted(key), NULL);
  const int is_opened = context != NULL && EVP_PKEY_decrypt_init(context) == 1 && set_oaep(context) &&
                        EVP_PKEY_decrypt(context, opened, &written, wrapped, size) == 1;
  EVP_PKEY_CTX_free(context);
  pfj_errors_drop();
  // All ones or zeros; no branch and no address depends on it.
  const uint8_t mask = (uint8_t)(0 - (unsigned)(is_opened & (written == CONTENT_KEY)));
  for (size_t i = 0; i < CONTENT_KEY; i++) {
    content_key[i] = (uint8_t)((content_key[i] & (uint8_t)~mask) | (opened[i] & mask));
  }
  pfj_wipe(opened, sizeof opened);
  return PFJ_OK;
}
