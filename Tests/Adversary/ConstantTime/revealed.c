// SPDX-License-Identifier: Apache-2.0

/// Values that become public in the middle of a call. The core marks them itself where it can (PFC_DECLASSIFY). The
/// rest stands only here, each with its reason: the linker puts these functions around the named ones (--wrap), also
/// inside libsodium. No list of suppressed reports exists.

#include <sodium.h>
#include <string.h>

#include "constant_time.h"

enum { VERDICT_BYTES_MIN = 4 };

int __real_sodium_memcmp(const void *a, const void *b, size_t size);
int __wrap_sodium_memcmp(const void *a, const void *b, size_t size);

/// Whether proof, receipt, tag or leaf is the expected one: verdict and diagnosis tell it. They do not tell which byte
/// differs, so a comparison of fewer bytes than a leaf stays secret.
int __wrap_sodium_memcmp(const void *a, const void *b, size_t size) {
  int result = __real_sodium_memcmp(a, b, size);
  if (size >= VERDICT_BYTES_MIN) reveal(&result, sizeof result);
  return result;
}

int __real_sodium_is_zero(const uint8_t *bytes, size_t size);
int __wrap_sodium_is_zero(const uint8_t *bytes, size_t size);

/// Whether a whole secret is missing: such a token is malformed, and the verdict tells it.
int __wrap_sodium_is_zero(const uint8_t *bytes, size_t size) {
  int result = __real_sodium_is_zero(bytes, size);
  if (size >= VERDICT_BYTES_MIN) reveal(&result, sizeof result);
  return result;
}

int __real_crypto_scalarmult_curve25519(uint8_t *q, const uint8_t *n, const uint8_t *p);
int __wrap_crypto_scalarmult_curve25519(uint8_t *q, const uint8_t *n, const uint8_t *p);

/// Whether the shared secret is all zeros, which depends on the public point alone: it is of low order or it is not.
int __wrap_crypto_scalarmult_curve25519(uint8_t *q, const uint8_t *n, const uint8_t *p) {
  int result = __real_crypto_scalarmult_curve25519(q, n, p);
  reveal(&result, sizeof result);
  return result;
}

int __real_crypto_onetimeauth_poly1305_verify(const uint8_t *tag, const uint8_t *in, unsigned long long size,
                                              const uint8_t *key);
int __wrap_crypto_onetimeauth_poly1305_verify(const uint8_t *tag, const uint8_t *in, unsigned long long size,
                                              const uint8_t *key);

/// Whether a sealed box is intact: the verdict "not for me" tells it.
int __wrap_crypto_onetimeauth_poly1305_verify(const uint8_t *tag, const uint8_t *in, unsigned long long size,
                                              const uint8_t *key) {
  int result = __real_crypto_onetimeauth_poly1305_verify(tag, in, size, key);
  reveal(&result, sizeof result);
  return result;
}

int __real_pfc_issuer_verify(const struct pfc_hardware *hardware, const uint8_t issuer_id[PFC_ISSUER_ID_BYTES],
                             const uint8_t signature[PFC_SIGNATURE_BYTES], const uint8_t *message, size_t size);
int __wrap_pfc_issuer_verify(const struct pfc_hardware *hardware, const uint8_t issuer_id[PFC_ISSUER_ID_BYTES],
                             const uint8_t signature[PFC_SIGNATURE_BYTES], const uint8_t *message, size_t size);

/// Issuer and signature of a token that was unsealed. Both are public values; Ed25519 verification takes a time that
/// depends on them and on the SHA-512 of the message, and on nothing else of it. A hash over 96 secret bytes does not
/// reveal them. Copies are revealed: the message itself stays secret.
int __wrap_pfc_issuer_verify(const struct pfc_hardware *hardware, const uint8_t issuer_id[PFC_ISSUER_ID_BYTES],
                             const uint8_t signature[PFC_SIGNATURE_BYTES], const uint8_t *message, size_t size) {
  uint8_t id[PFC_ISSUER_ID_BYTES], sign[PFC_SIGNATURE_BYTES], shown[512];
  expect("the signed message fits", size <= sizeof shown);
  memcpy(id, issuer_id, sizeof id);
  memcpy(sign, signature, sizeof sign);
  memcpy(shown, message, size);
  reveal(id, sizeof id);
  reveal(sign, sizeof sign);
  reveal(shown, size);
  return __real_pfc_issuer_verify(hardware, id, sign, shown, size);
}

void __real_pfc_key_id(uint8_t id[PFC_KEY_ID_BYTES], const struct pfc_key *key);
void __wrap_pfc_key_id(uint8_t id[PFC_KEY_ID_BYTES], const struct pfc_key *key);

/// A key's name is public: it stands in every configuration.
void __wrap_pfc_key_id(uint8_t id[PFC_KEY_ID_BYTES], const struct pfc_key *key) {
  __real_pfc_key_id(id, key);
  reveal(id, PFC_KEY_ID_BYTES);
}

int __real_pfc_hardware_check(const struct pfc_hardware *hardware);
int __wrap_pfc_hardware_check(const struct pfc_hardware *hardware);

/// Whether the hardware's secret key belongs to its public one: asked once at the start, before the link has a peer.
int __wrap_pfc_hardware_check(const struct pfc_hardware *hardware) {
  struct pfc_hardware shown = *hardware;
  reveal(&shown, sizeof shown);
  return __real_pfc_hardware_check(&shown);
}

int __real_pfc_verify(const uint8_t signature[PFC_SIGNATURE_BYTES], const uint8_t *message, size_t size,
                      const uint8_t public_key[PFC_PUBLIC_KEY_BYTES]);
int __wrap_pfc_verify(const uint8_t signature[PFC_SIGNATURE_BYTES], const uint8_t *message, size_t size,
                      const uint8_t public_key[PFC_PUBLIC_KEY_BYTES]);

/// The same of a gate token, whose message holds 32 secret bytes.
int __wrap_pfc_verify(const uint8_t signature[PFC_SIGNATURE_BYTES], const uint8_t *message, size_t size,
                      const uint8_t public_key[PFC_PUBLIC_KEY_BYTES]) {
  uint8_t sign[PFC_SIGNATURE_BYTES], shown[512];
  expect("the signed message fits", size <= sizeof shown);
  memcpy(sign, signature, sizeof sign);
  memcpy(shown, message, size);
  reveal(sign, sizeof sign);
  reveal(shown, size);
  return __real_pfc_verify(sign, shown, size, public_key);
}
