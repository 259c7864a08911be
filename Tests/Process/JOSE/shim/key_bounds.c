// SPDX-License-Identifier: Apache-2.0

/// The C shim's keys, signatures and certificates at their bounds.

#include "bounds.h"

#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "CCrypto.h"

// Keys and signatures --------------------------------------------------------------------------------------------

static void test_curves(void) {
  static const struct {
    const char *scalar;
    enum pfj_result result;
  } rows[] = {
      {"0000000000000000000000000000000000000000000000000000000000000000", PFJ_E_KEY},
      {"0000000000000000000000000000000000000000000000000000000000000001", PFJ_OK},
      {"ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550", PFJ_OK},
      {"ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551", PFJ_E_KEY},
      {"ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632552", PFJ_E_KEY},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    uint8_t scalar[32], point[65];
    pfj_key *key = NULL;
    unhex(scalar, rows[i].scalar);
    memset(point, 8, sizeof point);
    that(pfj_p256_pair(&key, point, scalar) == rows[i].result, rows[i].scalar);
    that((key != NULL) == (rows[i].result == PFJ_OK) && point[64] == 8, rows[i].scalar);
    // The base point, and its negative, which has the same x.
    that(rows[i].result == PFJ_OK
             ? is_hex(point, 32, "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296")
             : is_zero(point, 64),
         rows[i].scalar);
    that(i != 1 || is_hex(point + 32, 32, "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"), "y");
    pfj_key_free(key);
  }
  // RFC 8032, 7.1, the first test.
  uint8_t seed[32], public_key[33] = {[32] = 8}, signature[64];
  pfj_key *key = NULL;
  unhex(seed, "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
  that(pfj_ed25519_pair(&key, public_key, seed) == PFJ_OK && public_key[32] == 8 &&
           is_hex(public_key, 32, "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"),
       "the key of RFC 8032");
  that(pfj_ed25519_sign(signature, key, NULL, 0) == PFJ_OK &&
           is_hex(signature, 64,
                  "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
                  "d25bf5f0595bbe24655141438e7a100b"),
       "the signature of RFC 8032");
  pfj_key_free(key);
  pfj_key_free(NULL);
}

typedef enum pfj_result (*signer)(uint8_t *, const pfj_key *, const uint8_t *, size_t);
typedef enum pfj_result (*verifier)(const uint8_t *, const pfj_key *, const uint8_t *, size_t);

static size_t modulus_size;

static enum pfj_result rs256_sign(uint8_t *signature, const pfj_key *key, const uint8_t *message, size_t size) {
  return pfj_rs256_sign(signature, modulus_size, key, message, size);
}
static enum pfj_result rs256_verify(const uint8_t *signature, const pfj_key *key, const uint8_t *message, size_t size) {
  return pfj_rs256_verify(signature, modulus_size, key, message, size);
}

/// Messages of no byte, of one and of the most, and one byte more.
static void test_signatures(const char *name, signer sign, verifier verify, const pfj_key *key, size_t signature_size) {
  static const size_t sizes[] = {0, 1, 2, MESSAGE_MAX};
  uint8_t signature[513];
  memset(large, 5, sizeof large);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    const size_t size = sizes[i];
    memset(signature, 0, sizeof signature);
    signature[signature_size] = 9;
    that(sign(signature, key, large, size) == PFJ_OK && signature[signature_size] == 9, name);
    that(verify(signature, key, large, size) == PFJ_OK, name);
    if (size > 0) {
      large[size - 1] = 6;
      that(verify(signature, key, large, size) == PFJ_E_REFUSED, name);
      large[size - 1] = 5;
      that(verify(signature, key, large, size - 1) == PFJ_E_REFUSED, name);
    }
    if (size < MESSAGE_MAX) that(verify(signature, key, large, size + 1) == PFJ_E_REFUSED, name);
    for (size_t bit = 0; bit < 8 * signature_size && size == 1; bit += signature_size > 64 ? 61 : 1) {
      signature[bit / 8] ^= (uint8_t)(1U << bit % 8);
      that(verify(signature, key, large, size) == PFJ_E_REFUSED, name);
      signature[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
  }
  that(verify(zeros, key, large, 1) == PFJ_E_REFUSED, name);
  that(verify(signature, key, large, MESSAGE_MAX + 1) == PFJ_E_SIZE, name);
  memset(signature, 7, sizeof signature);
  that(sign(signature, key, large, MESSAGE_MAX + 1) == PFJ_E_SIZE, name);
  that(is_zero(signature, signature_size) && signature[signature_size] == 7, name);
}

static void test_curve_signatures(void) {
  uint8_t seed[32] = {4}, public_key[64], agreed[33] = {[32] = 8};
  pfj_key *key = NULL;
  that(pfj_p256_pair(&key, public_key, seed) == PFJ_OK, "P-256");
  test_signatures("ES256", pfj_es256_sign, pfj_es256_verify, key, 64);
  that(pfj_p256_agree(agreed, key, public_key) == PFJ_OK && !is_zero(agreed, 32) && agreed[32] == 8, "agreed");
  public_key[63] ^= 1;
  memset(agreed, 7, 32);
  that(pfj_p256_agree(agreed, key, public_key) == PFJ_E_KEY && is_zero(agreed, 32) && agreed[32] == 8, "off the curve");
  pfj_key_free(key);
  that(pfj_ed25519_pair(&key, public_key, seed) == PFJ_OK, "Ed25519");
  test_signatures("EdDSA", pfj_ed25519_sign, pfj_ed25519_verify, key, 64);
  pfj_key_free(key);
}

/// A modulus has 2048, 3072 or 4096 bits; its private numbers have three and a half times as many bytes.
static void test_rsa(size_t size) {
  uint8_t numbers[1793], modulus[513], again[513], wrapped[513], opened[33] = {[32] = 8}, content[32] = {1, 2, 3};
  pfj_key *pair = NULL, *public_key = NULL;
  char name[32];
  snprintf(name, sizeof name, "RSA, %zu bytes", size);
  memset(numbers, 7, sizeof numbers);
  modulus_size = size;
  that(pfj_rsa_generate(numbers, size) == PFJ_OK && numbers[size / 2 * 7] == 7, name);
  // p, q and 1/q mod p have their places.
  that((numbers[size] & 0x80) != 0 && (numbers[size + size / 2] & 0x80) != 0 && (numbers[size / 2 * 3 - 1] & 1) != 0,
       name);
  memset(modulus, 7, sizeof modulus);
  that(pfj_rsa_pair(&pair, modulus, size, numbers) == PFJ_OK && modulus[size] == 7 && (modulus[0] & 0x80) != 0, name);
  that(pfj_rsa_public(&public_key, modulus, size) == PFJ_OK && public_key != NULL, name);
  test_signatures(name, rs256_sign, rs256_verify, pair, size);
  memset(wrapped, 7, sizeof wrapped);
  that(pfj_oaep_wrap(wrapped, size, public_key, content) == PFJ_OK && wrapped[size] == 7, name);
  that(pfj_oaep_unwrap(opened, pair, wrapped, size) == PFJ_OK && opened[32] == 8 && memcmp(opened, content, 32) == 0,
       name);
  for (size_t place = 0; place < size / 2 * 7; place += size / 4) {
    pfj_key *none = NULL;
    numbers[place] ^= 1;
    memset(again, 7, sizeof again);
    that(pfj_rsa_pair(&none, again, size, numbers) == PFJ_E_KEY && none == NULL && is_zero(again, size), name);
    numbers[place] ^= 1;
  }
  pfj_key *none = NULL;
  modulus[size - 1] &= 0xfe;
  that(pfj_rsa_public(&none, modulus, size) == PFJ_E_KEY && none == NULL, "the last bit");
  pfj_key_free(pair);
  pfj_key_free(public_key);
}

/// OAEP that opens to another length than a content key's gives a random key, and another one each time.
static void test_other_lengths(void) {
  uint8_t numbers[896], modulus[256], wrapped[256], first[32], second[32], content[190];
  pfj_key *pair = NULL;
  memset(content, 0xff, sizeof content);
  that(pfj_rsa_generate(numbers, 256) == PFJ_OK && pfj_rsa_pair(&pair, modulus, 256, numbers) == PFJ_OK, "a pair");
  static const size_t sizes[] = {0, 1, 31, 33, 190};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    size_t written = sizeof wrapped;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, pair, NULL);
    that(context != NULL && EVP_PKEY_encrypt_init(context) == 1 &&
             EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1 &&
             EVP_PKEY_CTX_set_rsa_oaep_md(context, EVP_sha256()) == 1 &&
             EVP_PKEY_CTX_set_rsa_mgf1_md(context, EVP_sha256()) == 1 &&
             EVP_PKEY_encrypt(context, wrapped, &written, content, sizes[i]) == 1,
         "another length");
    EVP_PKEY_CTX_free(context);
    that(pfj_oaep_unwrap(first, pair, wrapped, 256) == PFJ_OK && pfj_oaep_unwrap(second, pair, wrapped, 256) == PFJ_OK,
         "no error");
    that(memcmp(first, second, 32) != 0 && !is_zero(first, 31) && !is_zero(second, 31), "random keys");
  }
  pfj_key_free(pair);
}

/// A product of two primes that lacks its first bit.
static void test_short_modulus(void) {
  uint8_t modulus[256];
  BIGNUM *p = BN_new(), *q = BN_new(), *n = BN_new();
  BN_CTX *context = BN_CTX_new();
  that(BN_generate_prime_ex(p, 1024, 0, NULL, NULL, NULL) == 1 &&
           BN_generate_prime_ex(q, 1023, 0, NULL, NULL, NULL) == 1 && BN_mul(n, p, q, context) == 1 &&
           BN_num_bits(n) == 2047 && BN_bn2binpad(n, modulus, 256) == 256,
       "a modulus of 2047 bits");
  pfj_key *key = NULL;
  that(pfj_rsa_public(&key, modulus, 256) == PFJ_E_KEY && key == NULL, "the first bit");
  BN_free(p);
  BN_free(q);
  BN_free(n);
  BN_CTX_free(context);
}

static void test_rsa_sizes(void) {
  static const size_t sizes[] = {0, 128, 255, 257, 320, 383, 385, 448, 511, 513, 640, 1024};
  static uint8_t bytes[4096];
  memset(bytes, 0xff, sizeof bytes);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    pfj_key *key = (pfj_key *)bytes;
    char name[32];
    snprintf(name, sizeof name, "a modulus of %zu bytes", sizes[i]);
    that(pfj_rsa_public(&key, bytes, sizes[i]) == PFJ_E_SIZE && key == NULL, name);
    that(pfj_rsa_pair(&key, bytes, sizes[i], bytes) == PFJ_E_SIZE && key == NULL, name);
    that(pfj_rsa_generate(bytes, sizes[i]) == PFJ_E_SIZE, name);
  }
}

// Certificates of TPMs -------------------------------------------------------------------------------------------

static EVP_PKEY *authority_key, *endorsement_key;

/// A certificate of so many bytes, for an endorsement key that the authority signs; for the authority if `size` is 0.
static X509 *certified(size_t size) {
  X509 *made = X509_new();
  X509_set_version(made, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
  X509_gmtime_adj(X509_getm_notBefore(made), -1000);
  X509_gmtime_adj(X509_getm_notAfter(made), 100000);
  X509_NAME *name = X509_NAME_new();
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const uint8_t *)"authority", -1, -1, 0);
  X509_set_issuer_name(made, name);
  X509_set_pubkey(made, size == 0 ? authority_key : endorsement_key);
  if (size == 0) X509_set_subject_name(made, name);
  X509_NAME_free(name);
  X509_EXTENSION *use = size == 0 ? X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, "critical,CA:TRUE")
                                  : X509V3_EXT_conf_nid(NULL, NULL, NID_ext_key_usage, "2.23.133.8.1");
  X509_add_ext(made, use, -1);
  X509_EXTENSION_free(use);
  // A signature with Ed25519 has always as many bytes, so the first round tells how long the filler must be.
  for (int round = 0, count = 1000; size > 0 && round < 2; round++) {
    static uint8_t filler[8192];
    ASN1_OCTET_STRING *text = ASN1_OCTET_STRING_new();
    ASN1_OCTET_STRING_set(text, filler, count);
    X509_EXTENSION *more = X509_EXTENSION_create_by_NID(NULL, NID_netscape_comment, 0, text);
    X509_add_ext(made, more, -1);
    X509_sign(made, authority_key, NULL);
    count += (int)size - i2d_X509(made, NULL);
    if (round == 0) X509_EXTENSION_free(X509_delete_ext(made, 1));
    X509_EXTENSION_free(more);
    ASN1_OCTET_STRING_free(text);
  }
  X509_sign(made, authority_key, NULL);
  return made;
}

static void test_certificates(void) {
  uint8_t credential[69], seed[257], secret[32] = {1}, name[34] = {0, 11};
  authority_key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
  endorsement_key = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048);
  X509 *authority = certified(0);
  BIO *text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(text, authority);
  char *pem = NULL;
  const long pem_size = BIO_get_mem_data(text, &pem);
  pfj_authorities *authorities = NULL;
  that(pfj_authorities_new(&authorities, pem, (size_t)pem_size) == PFJ_OK && authorities != NULL, "an authority");
  static const int sizes[] = {1500, 4095, 4096, 4097, 4098};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    X509 *made = certified((size_t)sizes[i]);
    uint8_t *der = NULL;
    const int size = i2d_X509(made, &der);
    char words[64];
    snprintf(words, sizeof words, "a certificate of %d bytes (%d)", sizes[i], size);
    memset(credential, 7, sizeof credential);
    memset(seed, 7, sizeof seed);
    const enum pfj_result expected = sizes[i] <= 4096 ? PFJ_OK : PFJ_E_KEY;
    that(size == sizes[i], words);
    that(pfj_tpm_credential(credential, seed, secret, name, der, (size_t)size, authorities, time(NULL)) == expected,
         words);
    that(credential[68] == 7 && seed[256] == 7, words);
    if (expected == PFJ_OK) {
      that(credential[0] == 0 && credential[1] == 32 && !is_zero(seed, 128) && !is_zero(credential + 34, 34), words);
    } else {
      that(is_zero(credential, 68) && is_zero(seed, 256), words);
    }
    OPENSSL_free(der);
    X509_free(made);
  }
  BIO_free(text);
  X509_free(authority);
  EVP_PKEY_free(authority_key);
  EVP_PKEY_free(endorsement_key);
  pfj_authorities_free(authorities);
  pfj_authorities_free(NULL);
}

void test_keys(void) {
  test_curves();
  test_curve_signatures();
  for (size_t size = 256; size <= 512; size += 128) test_rsa(size);
  test_other_lengths();
  test_short_modulus();
  test_rsa_sizes();
  test_certificates();
}
