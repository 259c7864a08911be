// SPDX-License-Identifier: Apache-2.0

/// The core's one door to libsodium. No other source of the core names a libsodium function, but for the self-test of
/// the native SHA-256 (sha256_trial.c). On that path the functions of SHA-256, HMAC and HKDF below are code of our own
/// (sha256.h); wiping, comparing, Curve25519 and BLAKE2b are libsodium's everywhere.
///
/// Nothing here allocates, asks the operating system or needs `sodium_init`. Every function that held a secret on its
/// stack wipes it before it returns. Inputs may be NULL only where their length is 0.

#ifndef PFC_CRYPTO_H
#define PFC_CRYPTO_H

#include <sodium/crypto_auth_hmacsha256.h>
#include <sodium/crypto_hash_sha256.h>
#include <stddef.h>
#include <stdint.h>

#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A SHA-256 transcript in progress.
struct pfc_hash {
  crypto_hash_sha256_state state;
};

/// An HMAC-SHA-256 in progress, or, when nothing was added yet, a precomputed key state that may be copied.
/// Secret: wipe it with `pfc_wipe` when done.
struct pfc_mac {
  crypto_auth_hmacsha256_state state;
};

/// Begins a SHA-256.
void pfc_hash_init(struct pfc_hash *hash);
/// Adds bytes to the transcript; `bytes` may be NULL if `size` is 0.
void pfc_hash_update(struct pfc_hash *hash, const void *bytes, size_t size);
/// Ends the transcript and wipes it.
void pfc_hash_final(uint8_t digest[32], struct pfc_hash *hash);

/// The SHA-256 of a label and one piece of bytes. Its state is off the stack when it returns.
void pfc_hash_once(uint8_t digest[32], const char label[PFC_LABEL_BYTES + 1], const void *bytes, size_t size);

/// Begins an HMAC-SHA-256 under a key of any length.
void pfc_mac_init(struct pfc_mac *mac, const uint8_t *key, size_t key_size);
/// Adds bytes to the transcript; `bytes` may be NULL if `size` is 0.
void pfc_mac_update(struct pfc_mac *mac, const void *bytes, size_t size);
/// Ends the transcript and wipes it, the key state included.
void pfc_mac_final(uint8_t tag[32], struct pfc_mac *mac);

/// A short message, in one or two pieces, under a key state that nothing was added to. The key stays as it is and may
/// serve any number of messages, also at once. At most 55 bytes in all take two compressions; more are not wrong, only
/// slower.
struct pfc_short {
  const struct pfc_mac *key;
  const void *a;
  size_t a_size;
  const void *b;  ///< NULL if there is no second piece.
  size_t b_size;
};

/// The HMAC-SHA-256 of a short message.
void pfc_mac_short(uint8_t tag[32], const struct pfc_short *message);
/// Computes two of them; on the native path both take little longer than one.
void pfc_mac_short_two(uint8_t tags[2][32], const struct pfc_short messages[2]);

/// The HMAC-SHA-256 of one piece of bytes. Its state is off the stack when it returns.
void pfc_mac_once(uint8_t tag[32], const uint8_t *key, size_t key_size, const void *bytes, size_t size);

/// HKDF-SHA-256 (RFC 5869) of 32 bytes: salt is the label, `info` the context.
/// A key goes in as input keying material, so it never keys an HMAC here: the bare proof formula alone does that.
void pfc_derive(uint8_t derived[32], const char label[PFC_LABEL_BYTES + 1], const uint8_t *key, size_t key_size,
                const void *info, size_t info_size);

/// The same with any salt; the door that published HKDF vectors come through.
void pfc_hkdf(uint8_t derived[32], const uint8_t *salt, size_t salt_size, const uint8_t *key, size_t key_size,
              const void *info, size_t info_size);

/// Compares in constant time. 1 if equal, 0 if not. `size` is public.
PFC_MUST_USE int pfc_equal(const void *a, const void *b, size_t size);

/// 1 if all bytes are 0, in constant time.
PFC_MUST_USE int pfc_is_zero(const void *bytes, size_t size);

/// Overwrites with zeros in a way no compiler removes.
void pfc_wipe(void *bytes, size_t size);

/// X25519 public key of a secret key.
void pfc_public_key(uint8_t public_key[PFC_PUBLIC_KEY_BYTES], const uint8_t secret_key[PFC_SECRET_KEY_BYTES]);

/// X25519. Low-order points give a shared secret of zeros and are refused: PFC_E_SIGNATURE, output zeroed.
PFC_MUST_USE int pfc_shared_secret(uint8_t shared[32], const uint8_t secret_key[PFC_SECRET_KEY_BYTES],
                                   const uint8_t public_key[PFC_PUBLIC_KEY_BYTES]);

/// Sealed box (libsodium `crypto_box_seal`, byte for byte) with the ephemeral secret passed in, so that randomness is
/// the caller's: 32 fresh random bytes for each call, never reused. `sealed` receives `size + PFC_SEAL_BYTES` bytes
/// and must not overlap the message. PFC_E_RECIPIENT when the recipient's key is a low-order point.
PFC_MUST_USE int pfc_seal(uint8_t *sealed, const uint8_t *message, size_t size,
                          const uint8_t recipient[PFC_PUBLIC_KEY_BYTES],
                          const uint8_t ephemeral[PFC_SECRET_KEY_BYTES]);

/// Opens a sealed box of `size` bytes into `size - PFC_SEAL_BYTES` bytes. PFC_E_RECIPIENT if it was not sealed to this
/// key or was altered; the output is then zeroed.
PFC_MUST_USE int pfc_unseal(uint8_t *message, const uint8_t *sealed, size_t size,
                            const uint8_t public_key[PFC_PUBLIC_KEY_BYTES],
                            const uint8_t secret_key[PFC_SECRET_KEY_BYTES]);

/// XSalsa20-Poly1305 (libsodium `crypto_secretbox`) with a nonce of zeros: `key` serves for one message and never
/// again. `boxed` receives an authenticator of 16 bytes, then `size` bytes. The message may stand at `boxed + 16`;
/// otherwise they must not overlap.
void pfc_box(uint8_t *boxed, const uint8_t *message, size_t size, const uint8_t key[32]);

/// Opens such a box of `size` bytes, authenticator included. PFC_E_RECIPIENT if it was made under another key or was
/// altered; the output is then zeroed.
PFC_MUST_USE int pfc_unbox(uint8_t *message, const uint8_t *boxed, size_t size, const uint8_t key[32]);

#if PFC_SEALS_COMMANDS
#define PFC_UNBOX_WHOLE_MAX 352  ///< Whole blocks of 64 bytes, with the authenticator's key.
/// The same for a content that must leave no copy on the stack: of a last block that is not whole, the stream cipher of
/// libsodium 1.0.18 keeps one there. The content has at most PFC_UNBOX_WHOLE_MAX bytes.
PFC_MUST_USE int pfc_unbox_whole(uint8_t *message, const uint8_t *boxed, size_t size, const uint8_t key[32]);
#endif

/// Ed25519 key pair from a seed of 32 random bytes.
void pfc_signing_key(uint8_t public_key[PFC_PUBLIC_KEY_BYTES], uint8_t signing_key[PFC_SIGNING_KEY_BYTES],
                     const uint8_t seed[32]);
/// Ed25519 signature of a message. Deterministic: the same message and key give the same bytes.
void pfc_sign(uint8_t signature[PFC_SIGNATURE_BYTES], const uint8_t *message, size_t size,
              const uint8_t signing_key[PFC_SIGNING_KEY_BYTES]);
/// PFC_E_SIGNATURE unless the signature is valid; non-canonical and small-order values are refused.
PFC_MUST_USE int pfc_verify(const uint8_t signature[PFC_SIGNATURE_BYTES], const uint8_t *message, size_t size,
                            const uint8_t public_key[PFC_PUBLIC_KEY_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
