// SPDX-License-Identifier: Apache-2.0

/// A signing key in a TPM 2.0, through tpm2-tss (ESAPI). No other source of this package names a function of it.
///
/// Every function is one whole operation: it opens the device, does its work, takes out of the TPM what it loaded, and
/// closes the device. No handle of the TPM outlives a call. Each call ends within the time that its caller allows, also
/// when the TPM does not answer. All functions may be called from many threads at once.
///
/// The key is a primary key of the owner hierarchy, made from the TPM's seed and 32 bytes of the caller's. The same
/// bytes give the same key in the same TPM, and another key in every other TPM. The private half never leaves the TPM.
/// Template (TPMT_PUBLIC): ECC, name SHA-256, fixedTPM, fixedParent, sensitiveDataOrigin, userWithAuth, noDA, sign,
/// no policy, ECDSA with SHA-256, P-256. docs/SERVICE.md has its bytes.
///
/// Outputs come first. On any result but PHT_OK, outputs are zeros.

#ifndef CTPM_H
#define CTPM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PHT_MUST_USE __attribute__((warn_unused_result))

enum {
  /// The caller's part of the key.
  PHT_UNIQUE_BYTES = 32,
  /// x and y.
  PHT_POINT_BYTES = 64,
  /// r and s.
  PHT_SIGNATURE_BYTES = 64,
  PHT_DIGEST_BYTES = 32,
  /// The secret that a credential holds.
  PHT_SECRET_BYTES = 32,
  /// A longer certificate is not read.
  PHT_CERTIFICATE_MAX = 4096,
};

/// How an operation ended. Numbers are never reused.
enum pht_result {
  PHT_OK = 0,
  PHT_E_ABSENT = 1,          ///< No such device exists.
  PHT_E_DENIED = 2,          ///< The device is there, and this user may not open it.
  PHT_E_BUSY = 3,            ///< Another program uses it, or it has no room at the moment.
  PHT_E_LOCKED_OUT = 4,      ///< Too many wrong passwords (of any program): it refuses for a time of its own.
  PHT_E_TIMED_OUT = 5,       ///< No answer in time.
  PHT_E_BROKEN_OFF = 6,      ///< The connection ended, or what came is no answer of a TPM.
  PHT_E_REFUSED = 7,         ///< The TPM refused; `code` says why.
  PHT_E_OTHER_KEY = 8,       ///< This TPM makes another key from these bytes.
  PHT_E_NO_CERTIFICATE = 9,  ///< The TPM holds no RSA-2048 endorsement certificate, or one over the limit.
  PHT_E_LIBRARY = 10         ///< tpm2-tss failed, or there is no memory; `code` says how.
};

/// The TPM to use, and the longest time of one operation.
struct pht_tpm {
  /// A character device such as `/dev/tpmrm0`, or a Unix socket of swtpm. Borrowed.
  const char *device;
  /// Milliseconds, at least 1, for everything together.
  int timeout;
  /// Set by each operation: the code (TSS2_RC) of what failed, or 0.
  uint32_t code;
};

/// Makes the key of `unique`, and tells its public half. PHT_E_OTHER_KEY where a coordinate begins with a zero byte,
/// which TPMs encode in two ways: draw another `unique` then (1 of 128).
PHT_MUST_USE enum pht_result pht_point(uint8_t point[PHT_POINT_BYTES], struct pht_tpm *tpm,
                                       const uint8_t unique[PHT_UNIQUE_BYTES]);

/// Signs a SHA-256 digest with the key of `unique`, if its public half is `point`.
PHT_MUST_USE enum pht_result pht_sign(uint8_t signature[PHT_SIGNATURE_BYTES], struct pht_tpm *tpm,
                                      const uint8_t unique[PHT_UNIQUE_BYTES], const uint8_t point[PHT_POINT_BYTES],
                                      const uint8_t digest[PHT_DIGEST_BYTES]);

/// Reads the certificate (DER) of the TPM's RSA-2048 endorsement key.
PHT_MUST_USE enum pht_result pht_certificate(uint8_t certificate[PHT_CERTIFICATE_MAX], size_t *size,
                                             struct pht_tpm *tpm);

/// Opens a credential (TPM2_ActivateCredential): only the TPM with the endorsement key that it was made for does, and
/// only while the key of the name that it was made for is in it.
///
/// `credential` is a TPMS_ID_OBJECT, `encrypted` the secret encrypted for the endorsement key.
PHT_MUST_USE enum pht_result pht_activate(uint8_t secret[PHT_SECRET_BYTES], struct pht_tpm *tpm,
                                          const uint8_t unique[PHT_UNIQUE_BYTES],
                                          const uint8_t point[PHT_POINT_BYTES], const uint8_t *credential,
                                          size_t credential_size, const uint8_t *encrypted, size_t encrypted_size);

#ifdef __cplusplus
}
#endif

#endif
