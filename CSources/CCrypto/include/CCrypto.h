// SPDX-License-Identifier: Apache-2.0

/// The one door to libcrypto (OpenSSL 3). No other source of this package names a function of it.
///
/// Every function is one whole operation: nothing is set up in one call and finished in another, nothing is variadic,
/// and no type of libcrypto is visible except a key, which is opaque. Outputs come first; a size follows its pointer; a
/// fixed size stands in the prototype. Inputs may be NULL only where their size is 0.
///
/// All functions may be called from many threads at once, also with the same key. Each leaves libcrypto's error queue
/// of its thread as it found it, so that another user of libcrypto in the process never sees our errors.
///
/// On any result but PFJ_OK, outputs are zeros (or NULL). Where libcrypto does not tell a refusal from a failure of its
/// own, such as a lack of memory in the middle of a verification, it is a refusal.

#ifndef CCRYPTO_H
#define CCRYPTO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PFJ_MUST_USE __attribute__((warn_unused_result))

enum {
  PFJ_SHA256_BYTES = 32,
  PFJ_AES_KEY_BYTES = 32,
  PFJ_GCM_IV_BYTES = 12,
  PFJ_GCM_TAG_BYTES = 16,
  /// RFC 3394 adds one block of eight bytes.
  PFJ_WRAPPED_KEY_BYTES = 40,
  /// r and s, or R and S.
  PFJ_SIGNATURE_BYTES = 64,
  PFJ_ED25519_SEED_BYTES = 32,
  PFJ_ED25519_PUBLIC_BYTES = 32,
  PFJ_P256_SCALAR_BYTES = 32,
  /// x and y.
  PFJ_P256_POINT_BYTES = 64,
  /// The x coordinate that two keys of P-256 agree on.
  PFJ_AGREED_BYTES = 32,
  /// An RSA modulus has 256, 384 or 512 bytes (2048, 3072 or 4096 bits), with all its bits. The exponent is 65537.
  PFJ_RSA_MIN_BYTES = 256,
  PFJ_RSA_MAX_BYTES = 512,
  /// No message is longer: sizes stay far inside the `int` that libcrypto counts in.
  PFJ_MESSAGE_MAX = 1 << 20,
};

/// The private numbers of an RSA key one behind the other, big-endian, each with leading zeros: d as long as the
/// modulus; p, q, d mod p - 1, d mod q - 1 and 1/q mod p half as long (RFC 8017, 3.2).
#define PFJ_RSA_PRIVATE_BYTES(modulus_size) ((modulus_size) / 2 * 7)

enum pfj_result {
  PFJ_OK = 0,
  /// A signature or tag is not the message's: the message is not authentic.
  PFJ_E_REFUSED = 1,
  /// Bytes are not a key of this kind: a scalar out of range, a point off the curve or of small order, numbers that do
  /// not belong together.
  PFJ_E_KEY = 2,
  /// A message is over PFJ_MESSAGE_MAX, or a modulus has another size.
  PFJ_E_SIZE = 3,
  /// libcrypto failed: no memory, an algorithm that this machine's configuration took away.
  PFJ_E_LIBRARY = 4,
  /// The generator of random bytes failed.
  PFJ_E_RANDOM = 5,
};

// Memory (memory.c).

/// A block of zeros for a secret; from libcrypto's secure heap where the process reserved one that has room, else from
/// the ordinary heap. NULL when there is no memory. `size` may be 0.
PFJ_MUST_USE uint8_t *pfj_secret_new(size_t size);

/// Overwrites a block of `pfj_secret_new` and gives it back. `secret` may be NULL.
void pfj_secret_free(uint8_t *secret, size_t size);

/// Reserves a secure heap for the whole process: locked into memory, left out of core dumps, between guard pages.
/// `size` is a power of two from 4 KiB to 64 MiB. To be called before other threads are.
/// Returns 1 when it stands and is locked, 0 when it could not be had, or not be locked, or stood already.
PFJ_MUST_USE int pfj_secret_reserve(size_t size);

/// Overwrites with zeros in a way no compiler removes.
void pfj_wipe(void *bytes, size_t size);

/// Compares in constant time. 1 if equal, 0 if not. `size` is public.
PFJ_MUST_USE int pfj_equal(const void *a, const void *b, size_t size);

/// Random bytes that will be secret.
PFJ_MUST_USE enum pfj_result pfj_random_secret(uint8_t *bytes, size_t size);

/// Random bytes that everyone may see. They come from another generator than the secret ones.
PFJ_MUST_USE enum pfj_result pfj_random_public(uint8_t *bytes, size_t size);

// Hashes (digest.c).

PFJ_MUST_USE enum pfj_result pfj_sha256(uint8_t digest[PFJ_SHA256_BYTES], const uint8_t *message, size_t size);

PFJ_MUST_USE enum pfj_result pfj_hmac_sha256(uint8_t tag[PFJ_SHA256_BYTES], const uint8_t *key, size_t key_size,
                                             const uint8_t *message, size_t size);

// Ciphers (cipher.c).

/// AES-256-GCM. `ciphertext` has `size` bytes. An IV must never be used twice with a key.
PFJ_MUST_USE enum pfj_result pfj_gcm_seal(uint8_t *ciphertext, uint8_t tag[PFJ_GCM_TAG_BYTES],
                                          const uint8_t key[PFJ_AES_KEY_BYTES], const uint8_t iv[PFJ_GCM_IV_BYTES],
                                          const uint8_t *aad, size_t aad_size, const uint8_t *plaintext, size_t size);

/// The reverse. PFJ_E_REFUSED when the tag is wrong.
PFJ_MUST_USE enum pfj_result pfj_gcm_open(uint8_t *plaintext, const uint8_t key[PFJ_AES_KEY_BYTES],
                                          const uint8_t iv[PFJ_GCM_IV_BYTES], const uint8_t *aad, size_t aad_size,
                                          const uint8_t *ciphertext, size_t size,
                                          const uint8_t tag[PFJ_GCM_TAG_BYTES]);

/// AES-256 key wrap (RFC 3394) of a 256-bit key.
PFJ_MUST_USE enum pfj_result pfj_key_wrap(uint8_t wrapped[PFJ_WRAPPED_KEY_BYTES], const uint8_t kek[PFJ_AES_KEY_BYTES],
                                          const uint8_t key[PFJ_AES_KEY_BYTES]);

/// The reverse. PFJ_E_REFUSED when it was not wrapped under this key.
PFJ_MUST_USE enum pfj_result pfj_key_unwrap(uint8_t key[PFJ_AES_KEY_BYTES], const uint8_t kek[PFJ_AES_KEY_BYTES],
                                            const uint8_t wrapped[PFJ_WRAPPED_KEY_BYTES]);

// Keys of curves (key.c).

/// A key pair or a public key. Never changes; wiped when freed.
typedef struct evp_pkey_st pfj_key;

/// `key` may be NULL.
void pfj_key_free(pfj_key *key);

/// The pair of a seed.
PFJ_MUST_USE enum pfj_result pfj_ed25519_pair(pfj_key **key, uint8_t public_key[PFJ_ED25519_PUBLIC_BYTES],
                                              const uint8_t seed[PFJ_ED25519_SEED_BYTES]);

/// PFJ_E_KEY for bytes that are not the canonical encoding of a point, or of one of small order, under which any
/// attacker can sign.
PFJ_MUST_USE enum pfj_result pfj_ed25519_public(pfj_key **key, const uint8_t public_key[PFJ_ED25519_PUBLIC_BYTES]);

/// The pair of a scalar. PFJ_E_KEY for 0, the order of the group, and what is above.
PFJ_MUST_USE enum pfj_result pfj_p256_pair(pfj_key **key, uint8_t point[PFJ_P256_POINT_BYTES],
                                           const uint8_t scalar[PFJ_P256_SCALAR_BYTES]);

/// PFJ_E_KEY for a point that is not on the curve, and for coordinates not below the field's prime.
PFJ_MUST_USE enum pfj_result pfj_p256_public(pfj_key **key, const uint8_t point[PFJ_P256_POINT_BYTES]);

// Keys of RSA (rsa.c).

/// Draws the private numbers of a fresh key. Takes 0.05 to 3 s.
PFJ_MUST_USE enum pfj_result pfj_rsa_generate(uint8_t *numbers, size_t modulus_size);

/// The pair of private numbers, and its modulus. PFJ_E_KEY for numbers that do not belong together; whether p and q are
/// primes is not looked at.
PFJ_MUST_USE enum pfj_result pfj_rsa_pair(pfj_key **key, uint8_t *modulus, size_t size, const uint8_t *numbers);

/// PFJ_E_KEY for a modulus that lacks its first bit, is even, has a factor below 752, or is a prime or the power of
/// one.
PFJ_MUST_USE enum pfj_result pfj_rsa_public(pfj_key **key, const uint8_t *modulus, size_t size);

// Content keys for the owner of a private key (agreement.c, rsa.c).

/// Elliptic-curve Diffie-Hellman with a pair of P-256. PFJ_E_KEY for a point that is not on the curve.
PFJ_MUST_USE enum pfj_result pfj_p256_agree(uint8_t secret[PFJ_AGREED_BYTES], const pfj_key *key,
                                            const uint8_t point[PFJ_P256_POINT_BYTES]);

/// RSAES-OAEP with SHA-256 for hash and mask, without label. `wrapped` has the modulus's size.
PFJ_MUST_USE enum pfj_result pfj_oaep_wrap(uint8_t *wrapped, size_t size, const pfj_key *key,
                                           const uint8_t content_key[PFJ_AES_KEY_BYTES]);

/// The reverse. Bytes that do not open, or open to another length, give PFJ_OK and a random key, after the same work:
/// the caller learns of it, as of wrong content, from the content's tag (RFC 7516, 11.5).
PFJ_MUST_USE enum pfj_result pfj_oaep_unwrap(uint8_t content_key[PFJ_AES_KEY_BYTES], const pfj_key *key,
                                             const uint8_t *wrapped, size_t size);

// Signatures (signature.c).

PFJ_MUST_USE enum pfj_result pfj_ed25519_sign(uint8_t signature[PFJ_SIGNATURE_BYTES], const pfj_key *key,
                                              const uint8_t *message, size_t size);

/// PFJ_E_REFUSED also for S not below the order of the group.
PFJ_MUST_USE enum pfj_result pfj_ed25519_verify(const uint8_t signature[PFJ_SIGNATURE_BYTES], const pfj_key *key,
                                                const uint8_t *message, size_t size);

/// ECDSA with SHA-256; r and s as JOSE writes them, 32 bytes each.
PFJ_MUST_USE enum pfj_result pfj_es256_sign(uint8_t signature[PFJ_SIGNATURE_BYTES], const pfj_key *key,
                                            const uint8_t *message, size_t size);

/// PFJ_E_REFUSED also for r or s that is 0 or not below the order of the group. Both of s and its negative are
/// accepted: the standard does not choose one, and other people's signers do not.
PFJ_MUST_USE enum pfj_result pfj_es256_verify(const uint8_t signature[PFJ_SIGNATURE_BYTES], const pfj_key *key,
                                              const uint8_t *message, size_t size);

/// RSASSA-PKCS1-v1_5 with SHA-256. `signature` has the modulus's size.
PFJ_MUST_USE enum pfj_result pfj_rs256_sign(uint8_t *signature, size_t signature_size, const pfj_key *key,
                                            const uint8_t *message, size_t size);

/// PFJ_E_REFUSED also for a signature of another size, or not below the modulus.
PFJ_MUST_USE enum pfj_result pfj_rs256_verify(const uint8_t *signature, size_t signature_size, const pfj_key *key,
                                              const uint8_t *message, size_t size);

// Keys in a TPM 2.0 (endorsement.c).

enum {
  /// The name of an object of a TPM: 2 bytes that name SHA-256, then the digest of its public area.
  PFJ_TPM_NAME_BYTES = 34,
  /// The secret in a credential.
  PFJ_TPM_SECRET_BYTES = 32,
  /// TPMS_ID_OBJECT: a tag of 32 bytes, and the enciphered secret, each with its size.
  PFJ_TPM_CREDENTIAL_BYTES = 2 + 32 + 2 + PFJ_TPM_SECRET_BYTES,
  /// The seed encrypted for an RSA-2048 endorsement key.
  PFJ_TPM_SEED_BYTES = 256,
  /// Longer ones are refused: a certificate, a file of authorities.
  PFJ_CERTIFICATE_MAX = 4096,
  PFJ_AUTHORITIES_MAX = 1 << 20,
};

/// Certificates of makers of TPMs that may vouch for an endorsement key. Never changes.
typedef struct x509_store_st pfj_authorities;

/// Reads PEM certificates: authorities at the root or between; each is trusted by itself. PFJ_E_KEY where one does not
/// parse or there is none, PFJ_E_SIZE over PFJ_AUTHORITIES_MAX.
PFJ_MUST_USE enum pfj_result pfj_authorities_new(pfj_authorities **authorities, const char *pem, size_t size);

/// `authorities` may be NULL.
void pfj_authorities_free(pfj_authorities *authorities);

/// Makes a credential (TPM2_MakeCredential): only the TPM with the certificate's endorsement key opens it, and only
/// while an object of this name is in it.
///
/// PFJ_E_REFUSED unless the certificate (DER) is valid at `time` (Unix seconds), is for an endorsement key (extended
/// key usage 2.23.133.8.1), and one of `authorities` signed it, with certificates of `authorities` between. PFJ_E_KEY
/// if it does not parse, or its key is not RSA-2048.
PFJ_MUST_USE enum pfj_result pfj_tpm_credential(uint8_t credential[PFJ_TPM_CREDENTIAL_BYTES],
                                                uint8_t seed[PFJ_TPM_SEED_BYTES],
                                                const uint8_t secret[PFJ_TPM_SECRET_BYTES],
                                                const uint8_t name[PFJ_TPM_NAME_BYTES], const uint8_t *certificate,
                                                size_t certificate_size, const pfj_authorities *authorities,
                                                int64_t time);

#ifdef __cplusplus
}
#endif

#endif
