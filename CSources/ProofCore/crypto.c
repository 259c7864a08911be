// SPDX-License-Identifier: Apache-2.0

#include "crypto.h"

#include <sodium/core.h>
#include <sodium/crypto_box.h>
#include <sodium/crypto_generichash.h>
#include <sodium/crypto_scalarmult.h>
#include <sodium/crypto_onetimeauth_poly1305.h>
#include <sodium/crypto_secretbox.h>
#include <sodium/crypto_sign.h>
#include <sodium/crypto_stream_xsalsa20.h>
#include <sodium/utils.h>

#include "internal.h"
#include "sha256_parts.h"

// Does the call on the native path, if that is in use, and returns. Builds without that path have nothing here.
#if PFC_SHA256_NATIVE
#define OR_NATIVELY(call)       \
  if (pfc_sha256_is_native()) { \
    pfc_native_##call;          \
    return;                     \
  }
#else
#define OR_NATIVELY(call)
#endif

_Static_assert(PFC_SEAL_BYTES == crypto_box_SEALBYTES, "sealed boxes are libsodium's");
_Static_assert(PFC_SIGNING_KEY_BYTES == crypto_sign_SECRETKEYBYTES, "signing keys are libsodium's");
_Static_assert(PFC_PUBLIC_KEY_BYTES == crypto_box_PUBLICKEYBYTES, "X25519");
_Static_assert(PFC_PUBLIC_KEY_BYTES == crypto_sign_PUBLICKEYBYTES, "Ed25519");
_Static_assert(PFC_SEAL_BYTES == PFC_PUBLIC_KEY_BYTES + crypto_secretbox_MACBYTES, "both suites add as many bytes");

void pfc_hash_init(struct pfc_hash *hash) {
  OR_NATIVELY(hash_init(hash))
  crypto_hash_sha256_init(&hash->state);
}

void pfc_hash_update(struct pfc_hash *hash, const void *bytes, size_t size) {
  OR_NATIVELY(hash_update(hash, bytes, size))
  // libsodium's contract has no NULL, not even for nothing.
  if (size > 0) crypto_hash_sha256_update(&hash->state, bytes, size);
}

void pfc_hash_final(uint8_t digest[32], struct pfc_hash *hash) {
  OR_NATIVELY(hash_final(digest, hash))
  crypto_hash_sha256_final(&hash->state, digest);
  pfc_wipe(hash, sizeof *hash);
}

PFC_APART void pfc_hash_once(uint8_t digest[32], const char label[PFC_LABEL_BYTES + 1], const void *bytes,
                             size_t size) {
  struct pfc_hash hash;
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, label, PFC_LABEL_BYTES);
  pfc_hash_update(&hash, bytes, size);
  pfc_hash_final(digest, &hash);
}

void pfc_mac_init(struct pfc_mac *mac, const uint8_t *key, size_t key_size) {
  static const uint8_t nothing[1] = {0};
  OR_NATIVELY(mac_init(mac, key, key_size))
  crypto_auth_hmacsha256_init(&mac->state, key_size > 0 ? key : nothing, key_size);
}

void pfc_mac_update(struct pfc_mac *mac, const void *bytes, size_t size) {
  OR_NATIVELY(mac_update(mac, bytes, size))
  if (size > 0) crypto_auth_hmacsha256_update(&mac->state, bytes, size);
}

void pfc_mac_final(uint8_t tag[32], struct pfc_mac *mac) {
  OR_NATIVELY(mac_final(tag, mac))
  crypto_auth_hmacsha256_final(&mac->state, tag);
  pfc_wipe(mac, sizeof *mac);
}

void pfc_mac_short(uint8_t tag[32], const struct pfc_short *message) {
  OR_NATIVELY(mac_short(tag, message))
  struct pfc_mac mac = *message->key;
  pfc_mac_update(&mac, message->a, message->a_size);
  pfc_mac_update(&mac, message->b, message->b_size);
  pfc_mac_final(tag, &mac);
}

void pfc_mac_short_two(uint8_t tags[2][32], const struct pfc_short messages[2]) {
  OR_NATIVELY(mac_short_two(tags, messages))
  pfc_mac_short(tags[0], &messages[0]);
  pfc_mac_short(tags[1], &messages[1]);
}

PFC_APART void pfc_mac_once(uint8_t tag[32], const uint8_t *key, size_t key_size, const void *bytes, size_t size) {
  struct pfc_mac mac;
  pfc_mac_init(&mac, key, key_size);
  pfc_mac_update(&mac, bytes, size);
  pfc_mac_final(tag, &mac);
}

void pfc_hkdf(uint8_t derived[32], const uint8_t *salt, size_t salt_size, const uint8_t *key, size_t key_size,
              const void *info, size_t info_size) {
  static const uint8_t first_block[1] = {1};
  struct pfc_mac mac;
  uint8_t extracted[32];
  pfc_mac_init(&mac, salt, salt_size);
  pfc_mac_update(&mac, key, key_size);
  pfc_mac_final(extracted, &mac);
  pfc_mac_init(&mac, extracted, sizeof extracted);
  pfc_mac_update(&mac, info, info_size);
  pfc_mac_update(&mac, first_block, sizeof first_block);
  pfc_mac_final(derived, &mac);
  pfc_wipe(extracted, sizeof extracted);
}

void pfc_derive(uint8_t derived[32], const char label[PFC_LABEL_BYTES + 1], const uint8_t *key, size_t key_size,
                const void *info, size_t info_size) {
  pfc_hkdf(derived, (const uint8_t *)label, PFC_LABEL_BYTES, key, key_size, info, info_size);
}

int pfc_equal(const void *a, const void *b, size_t size) { return size == 0 || sodium_memcmp(a, b, size) == 0; }

int pfc_is_zero(const void *bytes, size_t size) { return size == 0 || sodium_is_zero(bytes, size) == 1; }

void pfc_wipe(void *bytes, size_t size) {
  if (size > 0) sodium_memzero(bytes, size);
}

void pfc_public_key(uint8_t public_key[PFC_PUBLIC_KEY_BYTES], const uint8_t secret_key[PFC_SECRET_KEY_BYTES]) {
  // Cannot fail: the base point is not of low order, and the scalar is clamped.
  (void)crypto_scalarmult_base(public_key, secret_key);
}

int pfc_shared_secret(uint8_t shared[32], const uint8_t secret_key[PFC_SECRET_KEY_BYTES],
                      const uint8_t public_key[PFC_PUBLIC_KEY_BYTES]) {
  if (crypto_scalarmult(shared, secret_key, public_key) == 0) return PFC_OK;
  pfc_wipe(shared, 32);
  return PFC_E_SIGNATURE;
}

int pfc_seal(uint8_t *sealed, const uint8_t *message, size_t size, const uint8_t recipient[PFC_PUBLIC_KEY_BYTES],
             const uint8_t ephemeral[PFC_SECRET_KEY_BYTES]) {
  uint8_t keys[2 * PFC_PUBLIC_KEY_BYTES];
  uint8_t nonce[crypto_box_NONCEBYTES];
  int result = PFC_OK;
  pfc_public_key(keys, ephemeral);
  memcpy(keys + PFC_PUBLIC_KEY_BYTES, recipient, PFC_PUBLIC_KEY_BYTES);
  (void)crypto_generichash(nonce, sizeof nonce, keys, sizeof keys, NULL, 0);
  memcpy(sealed, keys, PFC_PUBLIC_KEY_BYTES);
  if (crypto_box_easy(sealed + PFC_PUBLIC_KEY_BYTES, message, size, nonce, recipient, ephemeral) != 0) {
    pfc_wipe(sealed, size + PFC_SEAL_BYTES);
    result = PFC_E_RECIPIENT;
  }
  return result;
}

int pfc_unseal(uint8_t *message, const uint8_t *sealed, size_t size, const uint8_t public_key[PFC_PUBLIC_KEY_BYTES],
               const uint8_t secret_key[PFC_SECRET_KEY_BYTES]) {
  if (size < PFC_SEAL_BYTES) return PFC_E_RECIPIENT;
  if (crypto_box_seal_open(message, sealed, size, public_key, secret_key) == 0) return PFC_OK;
  pfc_wipe(message, size - PFC_SEAL_BYTES);
  return PFC_E_RECIPIENT;
}

static const uint8_t box_nonce[crypto_secretbox_NONCEBYTES] = {0};

void pfc_box(uint8_t *boxed, const uint8_t *message, size_t size, const uint8_t key[32]) {
  (void)crypto_secretbox_easy(boxed, message, size, box_nonce, key);
}

int pfc_unbox(uint8_t *message, const uint8_t *boxed, size_t size, const uint8_t key[32]) {
  if (size < crypto_secretbox_MACBYTES) return PFC_E_RECIPIENT;
  if (crypto_secretbox_open_easy(message, boxed, size, box_nonce, key) == 0) return PFC_OK;
  pfc_wipe(message, size - crypto_secretbox_MACBYTES);
  return PFC_E_RECIPIENT;
}

#if PFC_SEALS_COMMANDS
PFC_APART int pfc_unbox_whole(uint8_t *message, const uint8_t *boxed, size_t size, const uint8_t key[32]) {
  enum { BLOCK = 64, AUTHENTICATOR_KEY = crypto_onetimeauth_poly1305_KEYBYTES };
  uint8_t room[PFC_UNBOX_WHOLE_MAX + AUTHENTICATOR_KEY] = {0};
  size_t length;
  int wrong, result = PFC_E_RECIPIENT;
  if (size < crypto_secretbox_MACBYTES || size - crypto_secretbox_MACBYTES > PFC_UNBOX_WHOLE_MAX) return result;
  length = size - crypto_secretbox_MACBYTES;
  memcpy(room + AUTHENTICATOR_KEY, boxed + crypto_secretbox_MACBYTES, length);
  for (size_t at = 0; at < AUTHENTICATOR_KEY + length; at += BLOCK) {
    (void)crypto_stream_xsalsa20_xor_ic(room + at, room + at, BLOCK, box_nonce, at / BLOCK, key);
  }
  // The stream's first bytes are the authenticator's key.
  wrong = crypto_onetimeauth_poly1305_verify(boxed, boxed + crypto_secretbox_MACBYTES, length, room);
  PFC_DECLASSIFY(&wrong, sizeof wrong);
  if (wrong == 0) {
    memcpy(message, room + AUTHENTICATOR_KEY, length);
    result = PFC_OK;
  } else {
    memset(message, 0, length);
  }
  pfc_wipe(room, sizeof room);
  return result;
}
#endif

void pfc_signing_key(uint8_t public_key[PFC_PUBLIC_KEY_BYTES], uint8_t signing_key[PFC_SIGNING_KEY_BYTES],
                     const uint8_t seed[32]) {
  (void)crypto_sign_seed_keypair(public_key, signing_key, seed);
}

void pfc_sign(uint8_t signature[PFC_SIGNATURE_BYTES], const uint8_t *message, size_t size,
              const uint8_t signing_key[PFC_SIGNING_KEY_BYTES]) {
  (void)crypto_sign_detached(signature, NULL, message, size, signing_key);
}

int pfc_verify(const uint8_t signature[PFC_SIGNATURE_BYTES], const uint8_t *message, size_t size,
               const uint8_t public_key[PFC_PUBLIC_KEY_BYTES]) {
  static const uint8_t nothing[1] = {0};
  if (size == 0) message = nothing;
  return crypto_sign_verify_detached(signature, message, size, public_key) == 0 ? PFC_OK : PFC_E_SIGNATURE;
}
