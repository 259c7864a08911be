// SPDX-License-Identifier: Apache-2.0

// The self-tests of the native path: the kernels against published digests, and all of it against libsodium. Keys and
// messages are these files' own, never the caller's.

#include "sha256_parts.h"

#if PFC_SHA256_NATIVE

#include "internal.h"
#include "sha256_constants.h"

// Kernels ----------------------------------------------------------------------------------------------------------

// The examples of NIST's "Secure Hash Standard", padded: one block and two. The texts end with the bit that ends a
// message, and with a zero.
static const struct {
  char text[5];
  uint8_t padding[59];
} one_block = {"abc\x80", {[58] = 3 * 8}};

static const struct {
  char text[58];
  uint8_t padding[70];
} two_blocks = {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq\x80",
                {[68] = 56 * 8 / 256, [69] = 56 * 8 % 256}};

static const uint32_t digest_of_one[8] = {0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223,
                                          0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad};
static const uint32_t digest_of_two[8] = {0x248d6a61, 0xd20638b8, 0xe5c02693, 0x0c3e6039,
                                          0xa33ce459, 0x64ff2167, 0xf6ecedd4, 0x19db06c1};

_Static_assert(sizeof one_block == 64 && sizeof two_blocks == 128, "whole blocks");

static void begin(uint32_t state[8]) {
  static const uint32_t first[8] = PFC_SHA256_FIRST_STATE;
  for (unsigned i = 0; i < 8; i++) state[i] = first[i];
}

/// 0 if equal.
static uint32_t other_than(const uint32_t state[8], const uint32_t expected[8]) {
  uint32_t bits = 0;
  for (unsigned i = 0; i < 8; i++) bits |= state[i] ^ expected[i];
  return bits;
}

int pfc_sha256_kernels_work(void) {
  const uint8_t *one = (const uint8_t *)&one_block, *two = (const uint8_t *)&two_blocks;
  uint32_t first[8], second[8], wrong;
  begin(first);
  pfc_sha256_compress(first, two, 2);
  wrong = other_than(first, digest_of_two);
  begin(first);
  begin(second);
  pfc_sha256_compress_two(first, two, second, one);
  wrong |= other_than(second, digest_of_one);
  begin(second);
  pfc_sha256_compress_two(second, one, first, two + 64);
  wrong |= other_than(second, digest_of_one) | other_than(first, digest_of_two);
  return wrong == 0;
}

// Transcripts ------------------------------------------------------------------------------------------------------

enum { TRIAL_BYTES = 200 };

/// 0 if equal.
static unsigned differ(const uint8_t a[32], const uint8_t b[32]) {
  unsigned bits = 0;
  for (size_t i = 0; i < 32; i++) bits |= (unsigned)(a[i] ^ b[i]);
  return bits;
}

/// A hash by libsodium, by the native path, begun by either and ended by the other.
PFC_APART static unsigned try_hash(const uint8_t *bytes, size_t size, size_t cut) {
  struct pfc_hash hash;
  uint8_t expected[32], digest[32];
  unsigned wrong;
  (void)crypto_hash_sha256_init(&hash.state);
  (void)crypto_hash_sha256_update(&hash.state, bytes, size);
  (void)crypto_hash_sha256_final(&hash.state, expected);

  pfc_native_hash_init(&hash);
  pfc_native_hash_update(&hash, bytes, cut);
  pfc_native_hash_update(&hash, bytes + cut, size - cut);
  pfc_native_hash_final(digest, &hash);
  wrong = differ(digest, expected);

  (void)crypto_hash_sha256_init(&hash.state);
  (void)crypto_hash_sha256_update(&hash.state, bytes, cut);
  pfc_native_hash_update(&hash, bytes + cut, size - cut);
  pfc_native_hash_final(digest, &hash);
  wrong |= differ(digest, expected);

  pfc_native_hash_init(&hash);
  pfc_native_hash_update(&hash, bytes, cut);
  (void)crypto_hash_sha256_update(&hash.state, bytes + cut, size - cut);
  (void)crypto_hash_sha256_final(&hash.state, digest);
  return wrong | differ(digest, expected);
}

/// The same of an HMAC, and its short forms.
PFC_APART static unsigned try_mac(const uint8_t *bytes, size_t key_size, size_t size) {
  const uint8_t *message = bytes + 7;
  struct pfc_mac key, mac;
  uint8_t expected[2][32], tags[2][32];
  unsigned wrong;
  (void)crypto_auth_hmacsha256_init(&key.state, bytes, key_size);
  for (size_t i = 0; i < 2; i++) {
    mac = key;
    (void)crypto_auth_hmacsha256_update(&mac.state, message, size + i);
    (void)crypto_auth_hmacsha256_final(&mac.state, expected[i]);
  }

  mac = key;
  pfc_native_mac_update(&mac, message, size);
  pfc_native_mac_final(tags[0], &mac);
  wrong = differ(tags[0], expected[0]);

  pfc_native_mac_init(&key, bytes, key_size);
  mac = key;
  (void)crypto_auth_hmacsha256_update(&mac.state, message, size);
  (void)crypto_auth_hmacsha256_final(&mac.state, tags[0]);
  wrong |= differ(tags[0], expected[0]);

  const struct pfc_short messages[2] = {{&key, message, size / 3, message + size / 3, size - size / 3},
                                        {&key, message, size + 1, NULL, 0}};
  pfc_native_mac_short(tags[0], &messages[0]);
  wrong |= differ(tags[0], expected[0]);
  pfc_native_mac_short_two(tags, messages);
  return wrong | differ(tags[0], expected[0]) | differ(tags[1], expected[1]);
}

int pfc_sha256_trial(void) {
  static const uint8_t sizes[] = {0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 192};
  uint8_t bytes[TRIAL_BYTES];
  unsigned wrong = 0;
  for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 151 + 29);
  for (unsigned i = 0; i < sizeof sizes; i++) wrong |= try_hash(bytes, sizes[i], sizes[i] / 2);
  wrong |= try_mac(bytes, 32, 48) | try_mac(bytes, 16, 54) | try_mac(bytes, 65, 100);
  return wrong == 0;
}

#else

/// A source file holds at least one declaration.
extern int pfc_sha256_no_trial;

#endif
