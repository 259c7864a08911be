// SPDX-License-Identifier: Apache-2.0

/// The C shim at its bounds: sizes from both sides, one byte and none, each bit of a tag, and published values.

#define _GNU_SOURCE

#include "bounds.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CCrypto.h"

static int passed, failed;
const uint8_t zeros[2048];
uint8_t large[MESSAGE_MAX + 1];

void that(int holds, const char *words) {
  if (holds) {
    passed++;
    return;
  }
  failed++;
  printf("FAILED %s\n", words);
}

int is_zero(const void *bytes, size_t size) { return memcmp(bytes, zeros, size) == 0; }

int is_hex(const uint8_t *bytes, size_t size, const char *digits) {
  char text[3];
  int is_same = strlen(digits) == 2 * size;
  for (size_t i = 0; is_same && i < size; i++) {
    snprintf(text, sizeof text, "%02x", bytes[i]);
    is_same = memcmp(text, digits + 2 * i, 2) == 0;
  }
  return is_same;
}

void unhex(uint8_t *bytes, const char *digits) {
  for (size_t i = 0; digits[2 * i] != 0; i++) {
    const char pair[3] = {digits[2 * i], digits[2 * i + 1], 0};
    bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
  }
}

// Memory ---------------------------------------------------------------------------------------------------------

static void test_memory(void) {
  uint8_t *none = pfj_secret_new(0), *one = pfj_secret_new(1);
  that(none != NULL && one != NULL && one[0] == 0, "a secret of no byte and of one");
  pfj_secret_free(none, 0);
  pfj_secret_free(one, 1);
  pfj_secret_free(NULL, 0);
  uint8_t bytes[3] = {1, 2, 3};
  pfj_wipe(bytes + 1, 1);
  that(bytes[0] == 1 && bytes[1] == 0 && bytes[2] == 3, "one byte is wiped");
  pfj_wipe(bytes, 0);
  pfj_wipe(NULL, 0);
  that(bytes[0] == 1, "no byte is wiped");
  that(pfj_equal("a", "b", 1) == 0 && pfj_equal("a", "a", 1) == 1, "one byte is compared");
  that(pfj_equal("ab", "ac", 2) == 0 && pfj_equal("ab", "ac", 1) == 1, "as many bytes as told are compared");
  that(pfj_equal(NULL, NULL, 0) == 1 && pfj_equal("a", "b", 0) == 1, "nothing is equal to nothing");
}

static void test_random(enum pfj_result (*draw)(uint8_t *, size_t), const char *name) {
  uint8_t one[2] = {0, 7}, many[64];
  int seen = 0;
  that(draw(NULL, 0) == PFJ_OK, name);
  for (int i = 0; i < 64 && !seen; i++) {
    that(draw(one, 1) == PFJ_OK && one[1] == 7, name);
    seen = one[0] != 0;
  }
  that(seen, "one byte is drawn");
  memset(many, 0, sizeof many);
  that(draw(many, sizeof many) == PFJ_OK && !is_zero(many, 32) && !is_zero(many + 32, 32), name);
  memset(large, 1, sizeof large);
  that(draw(large, MESSAGE_MAX) == PFJ_OK && !is_zero(large + MESSAGE_MAX - 32, 32), name);
  that(large[MESSAGE_MAX] == 1, name);
  memset(large, 1, sizeof large);
  that(draw(large, MESSAGE_MAX + 1) == PFJ_E_SIZE, name);
  that(large[0] == 0 && large[MESSAGE_MAX] == 0, "what was not drawn is zeros");
}

/// Whether a process may lock two pages more. A sanitizer has a `mlock` of its own, which does nothing.
static int may_lock(void) {
  void *const pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int locks = pages != MAP_FAILED && syscall(SYS_mlock, pages, (size_t)8192) == 0;
  if (pages != MAP_FAILED) munmap(pages, 8192);
  return locks;
}

/// A heap is reserved once in a process, so each size has one of its own.
static void test_reserve(void) {
  const int locks = may_lock();
  if (!locks) printf("a heap is not seen locked: this user may lock no memory\n");
  static const struct {
    size_t size;
    int stands;
  } rows[] = {
      {0, 0}, {1, 0}, {2048, 0}, {4095, 0}, {4096, 1}, {4097, 0}, {8192, 1}, {12288, 0}, {67108864, 1}, {134217728, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      const int answer = pfj_secret_reserve(rows[i].size);
      // It stands without being locked where a process may lock less.
      int is_right = CRYPTO_secure_malloc_initialized() == rows[i].stands && answer <= rows[i].stands;
      is_right = is_right && (answer == rows[i].stands || rows[i].size > 8192 || !locks);
      if (rows[i].stands) {
        uint8_t *secret = pfj_secret_new(1);
        uint8_t *huge = pfj_secret_new(rows[i].size + 1);
        is_right = is_right && CRYPTO_secure_allocated(secret) && huge != NULL && !CRYPTO_secure_allocated(huge);
        is_right = is_right && is_zero(huge, 2048) && pfj_secret_reserve(rows[i].size) == 0;
        pfj_secret_free(secret, 1);
        pfj_secret_free(huge, rows[i].size + 1);
        is_right = is_right && CRYPTO_secure_used() == 0;
      }
      _exit(is_right ? 0 : 1);
    }
    int status = 1;
    char words[64];
    snprintf(words, sizeof words, "a heap of %zu bytes", rows[i].size);
    that(child > 0 && waitpid(child, &status, 0) == child && status == 0, words);
  }
}

// Hashes and ciphers ---------------------------------------------------------------------------------------------

/// Values of another implementation: Python's hashlib and hmac.
static void test_digests(void) {
  static const uint8_t seven[] = {7}, nine[] = {9};
  uint8_t digest[33] = {[32] = 5};
  that(pfj_sha256(digest, NULL, 0) == PFJ_OK &&
           is_hex(digest, 32, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
       "the digest of nothing");
  that(pfj_sha256(digest, seven, 1) == PFJ_OK && digest[32] == 5 &&
           is_hex(digest, 32, "ca358758f6d27e6cf45272937977a748fd88391db679ceda7dc7bf1f005ee879"),
       "the digest of one byte");
  that(pfj_hmac_sha256(digest, NULL, 0, NULL, 0) == PFJ_OK &&
           is_hex(digest, 32, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
       "the tag of nothing under nothing");
  that(pfj_hmac_sha256(digest, seven, 1, nine, 1) == PFJ_OK && digest[32] == 5 &&
           is_hex(digest, 32, "4ac3b26ea875d14b2166d4e47a2acbb9fac30a7432e8163190085ba62255bd1f"),
       "the tag of one byte under one byte");
}

/// Test cases 13 and 14 of the paper on GCM, and the first byte of the second alone.
static void test_gcm_values(void) {
  uint8_t key[32] = {0}, iv[12] = {0}, tag[16], sealed[16], opened[16];
  that(pfj_gcm_seal(sealed, tag, key, iv, NULL, 0, NULL, 0) == PFJ_OK &&
           is_hex(tag, 16, "530f8afbc74536b9a963b4f1c4cb738b"),
       "the seal of nothing");
  that(pfj_gcm_open(opened, key, iv, NULL, 0, NULL, 0, tag) == PFJ_OK, "nothing is opened");
  that(pfj_gcm_seal(sealed, tag, key, iv, NULL, 0, zeros, 16) == PFJ_OK &&
           is_hex(sealed, 16, "cea7403d4d606b6e074ec5d3baf39d18") &&
           is_hex(tag, 16, "d0d1c8a799996bf0265b98b5d48ab919"),
       "the seal of a block");
  that(pfj_gcm_seal(sealed, tag, key, iv, NULL, 0, zeros, 1) == PFJ_OK && sealed[0] == 0xce, "the seal of a byte");
  opened[0] = 1;
  that(pfj_gcm_open(opened, key, iv, NULL, 0, sealed, 1, tag) == PFJ_OK && opened[0] == 0, "a byte is opened");
  static const uint8_t one[] = {1}, other[] = {2};
  that(pfj_gcm_seal(sealed, tag, key, iv, one, 1, NULL, 0) == PFJ_OK, "a byte beside nothing");
  that(pfj_gcm_open(opened, key, iv, one, 1, NULL, 0, tag) == PFJ_OK, "a byte beside nothing is opened");
  that(pfj_gcm_open(opened, key, iv, other, 1, NULL, 0, tag) == PFJ_E_REFUSED, "another byte beside nothing");
  that(pfj_gcm_open(opened, key, iv, NULL, 0, NULL, 0, tag) == PFJ_E_REFUSED, "no byte beside nothing");
}

static void test_gcm_refusals(void) {
  uint8_t key[32] = {1}, iv[12] = {2}, tag[17] = {[16] = 9}, sealed[21], opened[21];
  memset(sealed, 3, sizeof sealed);
  that(pfj_gcm_seal(sealed, tag, key, iv, key, 32, large, 20) == PFJ_OK && tag[16] == 9 && sealed[20] == 3, "sealed");
  for (size_t bit = 0; bit < 128; bit++) {
    uint8_t changed[16];
    memcpy(changed, tag, 16);
    changed[bit / 8] ^= (uint8_t)(1U << bit % 8);
    memset(opened, 7, sizeof opened);
    that(pfj_gcm_open(opened, key, iv, key, 32, sealed, 20, changed) == PFJ_E_REFUSED, "each bit of a tag counts");
    that(is_zero(opened, 20) && opened[20] == 7, "what was refused is zeros");
  }
  that(pfj_gcm_open(opened, key, iv, key, 32, sealed, 20, tag) == PFJ_OK && memcmp(opened, large, 20) == 0, "opened");
}

static void test_gcm_sizes(void) {
  static uint8_t output[MESSAGE_MAX + 1], again[MESSAGE_MAX + 1];
  uint8_t key[32] = {1}, iv[12] = {2}, tag[16];
  memset(large, 5, sizeof large);
  that(pfj_gcm_seal(output, tag, key, iv, large, MESSAGE_MAX, large, MESSAGE_MAX) == PFJ_OK, "the longest is sealed");
  that(pfj_gcm_open(again, key, iv, large, MESSAGE_MAX, output, MESSAGE_MAX, tag) == PFJ_OK &&
           memcmp(again, large, MESSAGE_MAX) == 0,
       "the longest is opened");
  memset(tag, 1, sizeof tag);
  memset(output, 1, sizeof output);
  that(pfj_gcm_seal(output, tag, key, iv, NULL, 0, large, MESSAGE_MAX + 1) == PFJ_E_SIZE, "one more is not sealed");
  that(is_zero(tag, 16) && output[0] == 0 && output[MESSAGE_MAX] == 0, "what was not sealed is zeros");
  memset(tag, 1, sizeof tag);
  that(pfj_gcm_seal(output, tag, key, iv, large, MESSAGE_MAX + 1, large, 4) == PFJ_E_SIZE, "one byte more beside it");
  that(is_zero(tag, 16) && is_zero(output, 4), "what was not sealed beside it is zeros");
  memset(again, 1, sizeof again);
  that(pfj_gcm_open(again, key, iv, NULL, 0, large, MESSAGE_MAX + 1, tag) == PFJ_E_SIZE, "one byte more is not opened");
  that(again[0] == 0 && again[MESSAGE_MAX] == 0, "what was not opened is zeros");
  memset(again, 1, 8);
  that(pfj_gcm_open(again, key, iv, large, MESSAGE_MAX + 1, large, 4, tag) == PFJ_E_SIZE, "one more beside what opens");
  that(is_zero(again, 4) && again[4] == 1, "what was not opened beside it is zeros");
}

/// RFC 3394, 4.6.
static void test_key_wrap(void) {
  uint8_t kek[32], key[32], wrapped[41] = {[40] = 6}, again[33] = {[32] = 6};
  unhex(kek, "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
  unhex(key, "00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f");
  that(pfj_key_wrap(wrapped, kek, key) == PFJ_OK && wrapped[40] == 6 &&
           is_hex(wrapped, 40,
                  "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21"),
       "a key is wrapped as the RFC says");
  that(pfj_key_unwrap(again, kek, wrapped) == PFJ_OK && again[32] == 6 && memcmp(again, key, 32) == 0, "unwrapped");
  for (size_t bit = 0; bit < 320; bit++) {
    wrapped[bit / 8] ^= (uint8_t)(1U << bit % 8);
    memset(again, 7, 32);
    that(pfj_key_unwrap(again, kek, wrapped) == PFJ_E_REFUSED && is_zero(again, 32), "each bit counts");
    wrapped[bit / 8] ^= (uint8_t)(1U << bit % 8);
  }
}

int main(void) {
  ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
  ERR_set_mark();
  const unsigned long raised = ERR_peek_error();
  test_reserve();
  test_memory();
  test_random(pfj_random_secret, "random bytes that are secret");
  test_random(pfj_random_public, "random bytes that all may see");
  test_digests();
  test_gcm_values();
  test_gcm_refusals();
  test_gcm_sizes();
  test_key_wrap();
  test_keys();
  that(raised != 0 && ERR_peek_error() == raised && ERR_peek_last_error() == raised, "the queue has one error alone");
  that(ERR_pop_to_mark() == 1 && ERR_pop_to_mark() == 0, "the queue has another's mark alone");
  printf("%d passed, %d failed\n", passed, failed);
  return failed > 0;
}
