// SPDX-License-Identifier: Apache-2.0

/// The C shim when there is no memory: every allocation of every operation fails once.
///
/// Under every failure, an operation answers with an error and zeros, or with the right result; it leaks nothing (the
/// address sanitizer looks) and leaves no error in libcrypto's queue.

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CCrypto.h"

enum { MODULUS = PFJ_RSA_MIN_BYTES, OUTPUT = 1024, NEVER = -1 };

static long countdown = NEVER;
static int has_failed;

static int must_fail(void) {
  if (countdown == NEVER || countdown-- > 0) return 0;
  countdown = NEVER;
  has_failed = 1;
  return 1;
}

static void *failing_malloc(size_t size, const char *file, int line) {
  (void)file;
  (void)line;
  return must_fail() ? NULL : malloc(size);
}

static void *failing_realloc(void *block, size_t size, const char *file, int line) {
  (void)file;
  (void)line;
  return must_fail() ? NULL : realloc(block, size);
}

static void plain_free(void *block, const char *file, int line) {
  (void)file;
  (void)line;
  free(block);
}

static const uint8_t message[] = "message";
static uint8_t seed[32] = {7};
static uint8_t iv[12] = {1};
static uint8_t plain[64] = {2};
static uint8_t point[PFJ_P256_POINT_BYTES];
static uint8_t edwards[PFJ_ED25519_PUBLIC_BYTES];
static uint8_t sealed[sizeof plain];
static uint8_t tag[PFJ_GCM_TAG_BYTES];
static uint8_t wrapped[PFJ_WRAPPED_KEY_BYTES];
static uint8_t es256[PFJ_SIGNATURE_BYTES];
static uint8_t ed25519[PFJ_SIGNATURE_BYTES];
static pfj_key *p256_key;
static uint8_t numbers[PFJ_RSA_PRIVATE_BYTES(MODULUS)];
static uint8_t modulus[MODULUS];
static uint8_t rs256[MODULUS];
static uint8_t oaep[MODULUS];
static pfj_key *edwards_key;
static pfj_key *rsa_key;

/// An operation writes its outputs one behind the other, or nothing.
typedef enum pfj_result (*operation)(uint8_t output[OUTPUT]);

static enum pfj_result sha256(uint8_t *output) { return pfj_sha256(output, message, sizeof message); }
static enum pfj_result hmac(uint8_t *output) {
  return pfj_hmac_sha256(output, seed, sizeof seed, message, sizeof message);
}
static enum pfj_result gcm_seal(uint8_t *output) {
  return pfj_gcm_seal(output, output + sizeof plain, seed, iv, message, sizeof message, plain, sizeof plain);
}
static enum pfj_result gcm_open(uint8_t *output) {
  return pfj_gcm_open(output, seed, iv, message, sizeof message, sealed, sizeof sealed, tag);
}
static enum pfj_result key_wrap(uint8_t *output) { return pfj_key_wrap(output, seed, plain); }
static enum pfj_result key_unwrap(uint8_t *output) { return pfj_key_unwrap(output, seed, wrapped); }

static enum pfj_result keep_nothing(pfj_key *key, enum pfj_result result) {
  if ((key != NULL) != (result == PFJ_OK)) {
    puts("a key and an error, or neither");
    exit(1);
  }
  pfj_key_free(key);
  return result;
}
static enum pfj_result ed25519_pair(uint8_t *output) {
  pfj_key *key = NULL;
  const enum pfj_result result = pfj_ed25519_pair(&key, output, seed);
  return keep_nothing(key, result);
}
static enum pfj_result ed25519_public(uint8_t *output) {
  pfj_key *key = NULL;
  (void)output;
  const enum pfj_result result = pfj_ed25519_public(&key, edwards);
  return keep_nothing(key, result);
}
static enum pfj_result p256_pair(uint8_t *output) {
  pfj_key *key = NULL;
  const enum pfj_result result = pfj_p256_pair(&key, output, seed);
  return keep_nothing(key, result);
}
static enum pfj_result p256_public(uint8_t *output) {
  pfj_key *key = NULL;
  (void)output;
  const enum pfj_result result = pfj_p256_public(&key, point);
  return keep_nothing(key, result);
}
static enum pfj_result ed25519_sign(uint8_t *output) {
  return pfj_ed25519_sign(output, edwards_key, message, sizeof message);
}
static enum pfj_result ed25519_verify(uint8_t *output) {
  (void)output;
  return pfj_ed25519_verify(ed25519, edwards_key, message, sizeof message);
}
/// A signature is another each time: it is checked here, and not compared.
static enum pfj_result es256_sign(uint8_t *output) {
  const enum pfj_result result = pfj_es256_sign(output, p256_key, message, sizeof message);
  if (result != PFJ_OK) return result;
  countdown = NEVER;
  if (pfj_es256_verify(output, p256_key, message, sizeof message) != PFJ_OK) exit(1);
  memset(output, 0, PFJ_SIGNATURE_BYTES);
  return PFJ_OK;
}
static enum pfj_result es256_verify(uint8_t *output) {
  (void)output;
  return pfj_es256_verify(es256, p256_key, message, sizeof message);
}
static enum pfj_result p256_agree(uint8_t *output) { return pfj_p256_agree(output, p256_key, point); }
/// Making a key (pfj_rsa_generate) is left out: each of its hundreds of allocations would cost a search for primes.
static enum pfj_result rsa_pair(uint8_t *output) {
  pfj_key *key = NULL;
  const enum pfj_result result = pfj_rsa_pair(&key, output, MODULUS, numbers);
  return keep_nothing(key, result);
}
static enum pfj_result rsa_public(uint8_t *output) {
  pfj_key *key = NULL;
  (void)output;
  const enum pfj_result result = pfj_rsa_public(&key, modulus, MODULUS);
  return keep_nothing(key, result);
}
/// A pair that was not used yet: libcrypto's blinding, which stands in the key, changes with each use, and so do the
/// allocations. A failure in the middle leaves it wrong for the next 32 uses.
static pfj_key *fresh_pair(void) {
  const long kept = countdown;
  pfj_key *key = NULL;
  uint8_t product[MODULUS];
  countdown = NEVER;
  if (pfj_rsa_pair(&key, product, MODULUS, numbers) != PFJ_OK) exit(1);
  countdown = kept;
  return key;
}
static enum pfj_result rs256_sign(uint8_t *output) {
  pfj_key *key = fresh_pair();
  const enum pfj_result result = pfj_rs256_sign(output, MODULUS, key, message, sizeof message);
  pfj_key_free(key);
  return result;
}
static enum pfj_result rs256_verify(uint8_t *output) {
  (void)output;
  return pfj_rs256_verify(rs256, MODULUS, rsa_key, message, sizeof message);
}
/// Wrapped bytes are others each time: they are opened here, and not compared.
static enum pfj_result oaep_wrap(uint8_t *output) {
  const enum pfj_result result = pfj_oaep_wrap(output, MODULUS, rsa_key, seed);
  if (result != PFJ_OK) return result;
  countdown = NEVER;
  uint8_t opened[PFJ_AES_KEY_BYTES];
  if (pfj_oaep_unwrap(opened, rsa_key, output, MODULUS) != PFJ_OK || memcmp(opened, seed, sizeof seed) != 0) exit(1);
  memset(output, 0, MODULUS);
  return PFJ_OK;
}
/// A failure gives a random key in place of an error.
static enum pfj_result oaep_unwrap(uint8_t *output) {
  pfj_key *key = fresh_pair();
  const enum pfj_result result = pfj_oaep_unwrap(output, key, oaep, MODULUS);
  pfj_key_free(key);
  if (result != PFJ_OK || memcmp(output, seed, sizeof seed) == 0) return result;
  memset(output, 0, sizeof seed);
  return PFJ_E_REFUSED;
}
static enum pfj_result secret(uint8_t *output) {
  uint8_t *block = pfj_secret_new(40);
  if (block == NULL) return PFJ_E_LIBRARY;
  memcpy(output, block, 40);
  pfj_secret_free(block, 40);
  return PFJ_OK;
}

static const struct {
  const char *name;
  operation run;
} operations[] = {
    {"sha256", sha256},
    {"hmac_sha256", hmac},
    {"gcm_seal", gcm_seal},
    {"gcm_open", gcm_open},
    {"key_wrap", key_wrap},
    {"key_unwrap", key_unwrap},
    {"ed25519_pair", ed25519_pair},
    {"ed25519_public", ed25519_public},
    {"p256_pair", p256_pair},
    {"p256_public", p256_public},
    {"ed25519_sign", ed25519_sign},
    {"ed25519_verify", ed25519_verify},
    {"es256_sign", es256_sign},
    {"es256_verify", es256_verify},
    {"p256_agree", p256_agree},
    {"rsa_pair", rsa_pair},
    {"rsa_public", rsa_public},
    {"rs256_sign", rs256_sign},
    {"rs256_verify", rs256_verify},
    {"oaep_wrap", oaep_wrap},
    {"oaep_unwrap", oaep_unwrap},
    {"secret_new", secret},
};

static int prepare(void) {
  return pfj_p256_pair(&p256_key, point, seed) == PFJ_OK && pfj_ed25519_pair(&edwards_key, edwards, seed) == PFJ_OK &&
         pfj_es256_sign(es256, p256_key, message, sizeof message) == PFJ_OK &&
         pfj_ed25519_sign(ed25519, edwards_key, message, sizeof message) == PFJ_OK &&
         pfj_gcm_seal(sealed, tag, seed, iv, message, sizeof message, plain, sizeof plain) == PFJ_OK &&
         pfj_key_wrap(wrapped, seed, plain) == PFJ_OK && pfj_rsa_generate(numbers, MODULUS) == PFJ_OK &&
         pfj_rsa_pair(&rsa_key, modulus, MODULUS, numbers) == PFJ_OK &&
         pfj_rs256_sign(rs256, MODULUS, rsa_key, message, sizeof message) == PFJ_OK &&
         pfj_oaep_wrap(oaep, MODULUS, rsa_key, seed) == PFJ_OK;
}

/// How many allocations failed in turn; negative at the first wrong answer.
static long run(operation perform) {
  static const uint8_t zeros[OUTPUT];
  uint8_t expected[OUTPUT] = {0};
  if (perform(expected) != PFJ_OK) return -1;
  for (long failing = 0;; failing++) {
    uint8_t output[OUTPUT] = {0};
    has_failed = 0;
    countdown = failing;
    const enum pfj_result result = perform(output);
    countdown = NEVER;
    if (ERR_peek_error() != 0) return -1;
    if (memcmp(output, result == PFJ_OK ? expected : zeros, OUTPUT) != 0) return -1;
    if (!has_failed) return result == PFJ_OK ? failing : -1;
  }
}

int main(void) {
  int passed = 0;
  int failed = 0;
  if (CRYPTO_set_mem_functions(failing_malloc, failing_realloc, plain_free) != 1 || !prepare()) {
    puts("0 passed, 1 failed");
    return 1;
  }
  for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
    const long faults = run(operations[i].run);
    if (faults > 0) {
      passed++;
    } else {
      failed++;
    }
    printf("%s: %s (%ld allocations)\n", operations[i].name, faults > 0 ? "ok" : "WRONG", faults);
  }
  pfj_key_free(p256_key);
  pfj_key_free(edwards_key);
  pfj_key_free(rsa_key);
  printf("%d passed, %d failed\n", passed, failed);
  return failed > 0;
}
