// SPDX-License-Identifier: Apache-2.0

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <string.h>

#include "internal.h"

void pfj_key_free(pfj_key *key) { EVP_PKEY_free(key); }

// Ed25519

enum pfj_result pfj_ed25519_pair(pfj_key **key, uint8_t public_key[PFJ_ED25519_PUBLIC_BYTES],
                                 const uint8_t seed[PFJ_ED25519_SEED_BYTES]) {
  enum pfj_result result = PFJ_E_LIBRARY;
  size_t size = PFJ_ED25519_PUBLIC_BYTES;
  pfj_errors_mark();
  *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, PFJ_ED25519_SEED_BYTES);
  if (*key == NULL) goto done;
  if (EVP_PKEY_get_raw_public_key(*key, public_key, &size) != 1 || size != PFJ_ED25519_PUBLIC_BYTES) goto done;
  result = PFJ_OK;
done:
  pfj_errors_drop();
  if (result != PFJ_OK) {
    EVP_PKEY_free(*key);
    *key = NULL;
    pfj_wipe(public_key, PFJ_ED25519_PUBLIC_BYTES);
  }
  return result;
}

/// Whether y, below the prime, is that of one of the eight points whose order divides 8: 0, 1, -1, and the two of order
/// 8 (their negatives in x share them).
static int is_of_small_order(const BIGNUM *y, const BIGNUM *p) {
  static const char *const order_8 = "7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7";
  int is_small = 1;  // refused, when there is no memory
  BIGNUM *eighth = NULL;
  BIGNUM *sum = BN_new();
  if (sum == NULL || BN_hex2bn(&eighth, order_8) == 0) goto done;
  if (BN_is_zero(y) || BN_is_one(y) || BN_cmp(y, eighth) == 0) goto done;
  if (BN_add(sum, y, BN_value_one()) != 1 || BN_cmp(sum, p) == 0) goto done;
  if (BN_add(sum, y, eighth) != 1 || BN_cmp(sum, p) == 0) goto done;
  is_small = 0;
done:
  BN_free(eighth);
  BN_free(sum);
  return is_small;
}

/// libcrypto takes any 32 bytes as a public key and finds out at the first signature. RFC 8032, 5.1.3: a point is there
/// if (y^2 - 1) / (d y^2 + 1) is a square; the quotient and the product of two numbers are squares together.
static int is_usable_point(const uint8_t public_key[PFJ_ED25519_PUBLIC_BYTES]) {
  static const char *const prime = "7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFED";
  static const char *const d_hex = "52036CEE2B6FFE738CC740797779E89800700A4D4141D8AB75EB4DCA135978A3";
  int is_usable = 0;
  uint8_t y_bytes[PFJ_ED25519_PUBLIC_BYTES];
  BN_CTX *context = BN_CTX_new();
  BIGNUM *p = NULL;
  BIGNUM *d = NULL;
  BIGNUM *y = BN_new();
  BIGNUM *square = BN_new();
  BIGNUM *product = BN_new();
  memcpy(y_bytes, public_key, sizeof y_bytes);
  y_bytes[31] &= 0x7f;  // the sign of x
  if (context == NULL || y == NULL || square == NULL || product == NULL) goto done;
  if (BN_hex2bn(&p, prime) == 0 || BN_hex2bn(&d, d_hex) == 0) goto done;
  if (BN_lebin2bn(y_bytes, sizeof y_bytes, y) == NULL) goto done;
  if (BN_cmp(y, p) >= 0 || is_of_small_order(y, p)) goto done;
  if (BN_mod_sqr(square, y, p, context) != 1) goto done;
  if (BN_mod_mul(product, d, square, p, context) != 1) goto done;
  if (BN_add_word(product, 1) != 1 || BN_sub_word(square, 1) != 1) goto done;  // y is not 0: the square is at least 1
  if (BN_mod_mul(product, product, square, p, context) != 1) goto done;
  // -2 is a failure, and 0 would be x = 0, which only points of small order have.
  is_usable = BN_kronecker(product, p, context) == 1;
done:
  BN_free(product);
  BN_free(square);
  BN_free(y);
  BN_free(d);
  BN_free(p);
  BN_CTX_free(context);
  return is_usable;
}

enum pfj_result pfj_ed25519_public(pfj_key **key, const uint8_t public_key[PFJ_ED25519_PUBLIC_BYTES]) {
  enum pfj_result result = PFJ_E_KEY;
  *key = NULL;
  pfj_errors_mark();
  if (!is_usable_point(public_key)) goto done;
  *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public_key, PFJ_ED25519_PUBLIC_BYTES);
  result = *key != NULL ? PFJ_OK : PFJ_E_LIBRARY;
done:
  pfj_errors_drop();
  return result;
}

// P-256

enum { UNCOMPRESSED_BYTES = 1 + PFJ_P256_POINT_BYTES };

/// A key of libcrypto from a point and, if `scalar` is not NULL, its scalar in the order of bytes of this machine.
static EVP_PKEY *p256_key(uint8_t point[UNCOMPRESSED_BYTES], uint8_t *scalar) {
  char group[] = "P-256";
  EVP_PKEY *key = NULL;
  OSSL_PARAM parameters[4];
  size_t count = 0;
  parameters[count++] = OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0);
  parameters[count++] = OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, UNCOMPRESSED_BYTES);
  if (scalar != NULL) {
    parameters[count++] = OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_PRIV_KEY, scalar, PFJ_P256_SCALAR_BYTES);
  }
  parameters[count] = OSSL_PARAM_construct_end();
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
  if (context != NULL && EVP_PKEY_fromdata_init(context) == 1) {
    const int selection = scalar != NULL ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY;
    if (EVP_PKEY_fromdata(context, &key, selection, parameters) != 1) {
      EVP_PKEY_free(key);
      key = NULL;
    }
  }
  EVP_PKEY_CTX_free(context);
  return key;
}

enum pfj_result pfj_p256_pair(pfj_key **key, uint8_t point[PFJ_P256_POINT_BYTES],
                              const uint8_t scalar[PFJ_P256_SCALAR_BYTES]) {
  enum pfj_result result = PFJ_E_LIBRARY;
  uint8_t native[PFJ_P256_SCALAR_BYTES] = {0};
  uint8_t uncompressed[UNCOMPRESSED_BYTES] = {0};
  *key = NULL;
  pfj_errors_mark();
  BN_CTX *context = BN_CTX_secure_new();
  BIGNUM *d = BN_secure_new();
  EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
  EC_POINT *public_point = group != NULL ? EC_POINT_new(group) : NULL;
  if (context == NULL || d == NULL || public_point == NULL) goto done;
  BN_set_flags(d, BN_FLG_CONSTTIME);
  if (BN_bin2bn(scalar, PFJ_P256_SCALAR_BYTES, d) == NULL) goto done;
  if (BN_is_zero(d) || BN_cmp(d, EC_GROUP_get0_order(group)) >= 0) {
    result = PFJ_E_KEY;
    goto done;
  }
  if (EC_POINT_mul(group, public_point, d, NULL, NULL, context) != 1) goto done;
  if (EC_POINT_point2oct(group, public_point, POINT_CONVERSION_UNCOMPRESSED, uncompressed, sizeof uncompressed,
                         context) != sizeof uncompressed) {
    goto done;
  }
  if (BN_bn2nativepad(d, native, sizeof native) != sizeof native) goto done;
  *key = p256_key(uncompressed, native);
  if (*key != NULL) result = PFJ_OK;
done:
  memcpy(point, uncompressed + 1, PFJ_P256_POINT_BYTES);
  if (result != PFJ_OK) pfj_wipe(point, PFJ_P256_POINT_BYTES);
  pfj_wipe(native, sizeof native);
  EC_POINT_clear_free(public_point);
  EC_GROUP_free(group);
  BN_clear_free(d);
  BN_CTX_free(context);
  pfj_errors_drop();
  return result;
}

enum pfj_result pfj_p256_public(pfj_key **key, const uint8_t point[PFJ_P256_POINT_BYTES]) {
  uint8_t uncompressed[UNCOMPRESSED_BYTES] = {POINT_CONVERSION_UNCOMPRESSED};
  memcpy(uncompressed + 1, point, PFJ_P256_POINT_BYTES);
  pfj_errors_mark();
  // libcrypto reads the point here, and takes none that is not on the curve.
  *key = p256_key(uncompressed, NULL);
  pfj_errors_drop();
  return *key != NULL ? PFJ_OK : PFJ_E_KEY;
}
