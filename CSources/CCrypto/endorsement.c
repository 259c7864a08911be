// SPDX-License-Identifier: Apache-2.0

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "internal.h"

// Labels and algorithms: TPM 2.0 Library, Part 1, 11.4.10.2 (KDFa), 24 (credential protection), B.10.4 (OAEP).

enum { SEED_BYTES = 32, AES_BYTES = 16, RSA_BITS = 2048, CIPHER_BYTES = 2 + PFJ_TPM_SECRET_BYTES, INPUT_MAX = 64 };

/// tcg-kp-EKCertificate: what tells the certificate of an endorsement key from others of the same authority.
static const char endorsement_usage[] = "2.23.133.8.1";

// Authorities

void pfj_authorities_free(pfj_authorities *authorities) { X509_STORE_free(authorities); }

enum pfj_result pfj_authorities_new(pfj_authorities **authorities, const char *pem, size_t size) {
  enum pfj_result result = PFJ_E_LIBRARY;
  X509 *certificate = NULL;
  BIO *text = NULL;
  int count = 0;
  *authorities = NULL;
  if (size > PFJ_AUTHORITIES_MAX) return PFJ_E_SIZE;
  pfj_errors_mark();
  X509_STORE *store = X509_STORE_new();
  if (store == NULL) goto done;
  if (size == 0) {
    result = PFJ_E_KEY;
    goto done;
  }
  text = BIO_new_mem_buf(pem, (int)size);
  if (text == NULL) goto done;
  while ((certificate = PEM_read_bio_X509(text, NULL, NULL, NULL)) != NULL) {
    const int is_added = X509_STORE_add_cert(store, certificate);
    X509_free(certificate);
    if (is_added != 1) goto done;
    count++;
  }
  // The reader ends with this reason after the last one, and with another at one that does not parse.
  result = count > 0 && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE ? PFJ_OK : PFJ_E_KEY;
done:
  BIO_free(text);
  if (result == PFJ_OK) {
    *authorities = store;
  } else {
    X509_STORE_free(store);
  }
  pfj_errors_drop();
  return result;
}

// Certificates

static int is_for_endorsement(X509 *certificate) {
  int is_found = 0;
  EXTENDED_KEY_USAGE *usage = X509_get_ext_d2i(certificate, NID_ext_key_usage, NULL, NULL);
  for (int i = 0; usage != NULL && i < sk_ASN1_OBJECT_num(usage); i++) {
    char text[64] = {0};
    const int size = OBJ_obj2txt(text, sizeof text, sk_ASN1_OBJECT_value(usage, i), 1);
    if (size == (int)strlen(endorsement_usage) && strcmp(text, endorsement_usage) == 0) is_found = 1;
  }
  EXTENDED_KEY_USAGE_free(usage);
  return is_found;
}

static enum pfj_result verify(X509 *certificate, const pfj_authorities *authorities, int64_t time) {
  enum pfj_result result = PFJ_E_LIBRARY;
  X509_STORE_CTX *context = X509_STORE_CTX_new();
  if (context == NULL || X509_STORE_CTX_init(context, (X509_STORE *)(uintptr_t)authorities, certificate, NULL) != 1) {
    goto done;
  }
  X509_VERIFY_PARAM *rules = X509_STORE_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_time(rules, (time_t)time);
  if (X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_PARTIAL_CHAIN) != 1) goto done;
  result = X509_verify_cert(context) == 1 && is_for_endorsement(certificate) ? PFJ_OK : PFJ_E_REFUSED;
done:
  X509_STORE_CTX_free(context);
  return result;
}

// Credentials

static int hmac(uint8_t tag[PFJ_SHA256_BYTES], const uint8_t *key, size_t key_size, const uint8_t *message,
                size_t size) {
  return pfj_hmac_sha256(tag, key, key_size, message, size) == PFJ_OK;
}

/// KDFa with one block: at most 256 bits. `label` with its zero at the end.
static int derive(uint8_t key[PFJ_SHA256_BYTES], const uint8_t seed[SEED_BYTES], const char *label, size_t label_size,
                  const uint8_t *context, size_t context_size, uint16_t bits) {
  uint8_t input[INPUT_MAX] = {0, 0, 0, 1};
  size_t size = 4;
  if (label_size + context_size + 8 > sizeof input) return 0;
  memcpy(input + size, label, label_size);
  size += label_size;
  if (context_size > 0) memcpy(input + size, context, context_size);
  size += context_size;
  input[size++] = 0;
  input[size++] = 0;
  input[size++] = (uint8_t)(bits >> 8);
  input[size++] = (uint8_t)bits;
  return hmac(key, seed, SEED_BYTES, input, size);
}

static int encipher(uint8_t cipher[CIPHER_BYTES], const uint8_t key[AES_BYTES],
                    const uint8_t secret[PFJ_TPM_SECRET_BYTES]) {
  static const uint8_t zeros[AES_BYTES] = {0};
  uint8_t plain[CIPHER_BYTES] = {0, PFJ_TPM_SECRET_BYTES};
  int count = 0;
  memcpy(plain + 2, secret, PFJ_TPM_SECRET_BYTES);
  EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
  const int is_done = context != NULL && EVP_EncryptInit_ex(context, EVP_aes_128_cfb128(), NULL, key, zeros) == 1 &&
                      EVP_EncryptUpdate(context, cipher, &count, plain, CIPHER_BYTES) == 1 && count == CIPHER_BYTES;
  EVP_CIPHER_CTX_free(context);
  pfj_wipe(plain, sizeof plain);
  return is_done;
}

static int encrypt(uint8_t encrypted[PFJ_TPM_SEED_BYTES], EVP_PKEY *key, const uint8_t seed[SEED_BYTES]) {
  static const char identity[] = "IDENTITY";
  size_t size = PFJ_TPM_SEED_BYTES;
  int is_done = 0;
  // The context takes the label and frees it.
  char *label = OPENSSL_memdup(identity, sizeof identity);
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
  if (context == NULL || label == NULL || EVP_PKEY_encrypt_init(context) != 1) goto done;
  if (EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) != 1) goto done;
  if (EVP_PKEY_CTX_set_rsa_oaep_md(context, EVP_sha256()) != 1) goto done;
  if (EVP_PKEY_CTX_set_rsa_mgf1_md(context, EVP_sha256()) != 1) goto done;
  if (EVP_PKEY_CTX_set0_rsa_oaep_label(context, label, sizeof identity) != 1) goto done;
  label = NULL;
  is_done = EVP_PKEY_encrypt(context, encrypted, &size, seed, SEED_BYTES) == 1 && size == PFJ_TPM_SEED_BYTES;
done:
  OPENSSL_free(label);
  EVP_PKEY_CTX_free(context);
  return is_done;
}

static enum pfj_result make(uint8_t credential[PFJ_TPM_CREDENTIAL_BYTES], uint8_t encrypted[PFJ_TPM_SEED_BYTES],
                            const uint8_t secret[PFJ_TPM_SECRET_BYTES], const uint8_t name[PFJ_TPM_NAME_BYTES],
                            EVP_PKEY *endorsement) {
  static const char storage[] = "STORAGE";
  static const char integrity[] = "INTEGRITY";
  uint8_t seed[SEED_BYTES] = {0};
  uint8_t key[PFJ_SHA256_BYTES] = {0};
  uint8_t protected_bytes[CIPHER_BYTES + PFJ_TPM_NAME_BYTES] = {0};
  uint8_t *tag = credential + 2;
  uint8_t *cipher = tag + PFJ_SHA256_BYTES;
  enum pfj_result result = pfj_random_secret(seed, sizeof seed);
  if (result != PFJ_OK) goto done;
  result = PFJ_E_LIBRARY;
  if (!derive(key, seed, storage, sizeof storage, name, PFJ_TPM_NAME_BYTES, 8 * AES_BYTES)) goto done;
  if (!encipher(cipher, key, secret)) goto done;
  if (!derive(key, seed, integrity, sizeof integrity, NULL, 0, 8 * PFJ_SHA256_BYTES)) goto done;
  memcpy(protected_bytes, cipher, CIPHER_BYTES);
  memcpy(protected_bytes + CIPHER_BYTES, name, PFJ_TPM_NAME_BYTES);
  if (!hmac(tag, key, sizeof key, protected_bytes, sizeof protected_bytes)) goto done;
  credential[0] = 0;
  credential[1] = PFJ_SHA256_BYTES;
  if (encrypt(encrypted, endorsement, seed)) result = PFJ_OK;
done:
  pfj_wipe(seed, sizeof seed);
  pfj_wipe(key, sizeof key);
  return result;
}

enum pfj_result pfj_tpm_credential(uint8_t credential[PFJ_TPM_CREDENTIAL_BYTES], uint8_t seed[PFJ_TPM_SEED_BYTES],
                                   const uint8_t secret[PFJ_TPM_SECRET_BYTES], const uint8_t name[PFJ_TPM_NAME_BYTES],
                                   const uint8_t *certificate, size_t certificate_size,
                                   const pfj_authorities *authorities, int64_t time) {
  enum pfj_result result = PFJ_E_KEY;
  const uint8_t *rest = certificate;
  X509 *parsed = NULL;
  memset(credential, 0, PFJ_TPM_CREDENTIAL_BYTES);
  memset(seed, 0, PFJ_TPM_SEED_BYTES);
  pfj_errors_mark();
  if (certificate_size == 0 || certificate_size > PFJ_CERTIFICATE_MAX) goto done;
  parsed = d2i_X509(NULL, &rest, (long)certificate_size);
  if (parsed == NULL || rest != certificate + certificate_size) goto done;
  EVP_PKEY *key = X509_get0_pubkey(parsed);
  if (key == NULL || EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA || EVP_PKEY_get_bits(key) != RSA_BITS) goto done;
  result = verify(parsed, authorities, time);
  if (result == PFJ_OK) result = make(credential, seed, secret, name, key);
done:
  X509_free(parsed);
  pfj_errors_drop();
  if (result != PFJ_OK) {
    memset(credential, 0, PFJ_TPM_CREDENTIAL_BYTES);
    memset(seed, 0, PFJ_TPM_SEED_BYTES);
  }
  return result;
}
