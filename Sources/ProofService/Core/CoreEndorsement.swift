// SPDX-License-Identifier: Apache-2.0

internal import CCrypto
internal import Glibc
internal import ProofModel

/// Certificates of makers of TPMs, the only authorities that may vouch for a key in hardware.
@safe
public final class TPMAuthorities {
  /// The reason why a file of certificates was refused.
  public enum Refusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file holds no certificate in PEM, or a part that is not one.
    case unreadable(path: String, reason: String)

    /// The failure and the next step.
    public var description: String {
      switch self {
      case .unreadable(let path, let reason):
        "The TPM authorities in \(path) cannot be read: \(reason). The file holds certificates in PEM, one"
          + " after the other, at most 1 MiB."
      }
    }
  }

  private let pointer: OpaquePointer

  /// Reads certificates in PEM. Each is trusted by itself, so a file may hold root authorities,
  /// intermediate ones, or both.
  ///
  /// - Parameters:
  ///   - pem: The file's bytes.
  ///   - path: The file's path, for the error.
  /// - Throws: ``Refusal``.
  public init(pem: [UInt8], path: String) throws(Refusal) {
    var pointer: OpaquePointer?
    let result = unsafe pem.withUnsafeBytes { bytes in
      unsafe pfj_authorities_new(
        &pointer, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    guard result == PFJ_OK, let pointer = unsafe pointer else {
      let reason =
        switch result {
        case PFJ_E_SIZE: "it is too long"
        case PFJ_E_KEY: "a part of it is no certificate, or it has none"
        default: "libcrypto failed"
        }
      throw .unreadable(path: path, reason: reason)
    }
    unsafe self.pointer = pointer
  }

  deinit { unsafe pfj_authorities_free(pointer) }

  /// Makes a credential that only the TPM of a certificate can open, and only while a key is in it.
  ///
  /// - Parameters:
  ///   - secret: The content of the credential.
  ///   - endorsement: The TPM's certificate, and the key.
  ///   - now: The time.
  /// - Returns: The credential; nil if no authority of these vouches for the certificate at that time.
  func credential(
    holding secret: CredentialSecret, for endorsement: Endorsement, at now: UnixTime
  ) -> KeyCredential? {
    var object = [UInt8](repeating: 0, count: Int(PFJ_TPM_CREDENTIAL_BYTES))
    var seed = [UInt8](repeating: 0, count: Int(PFJ_TPM_SEED_BYTES))
    let result = unsafe pfj_tpm_credential(
      &object, &seed, secret.bytes, TPMKeyName.bytes(of: endorsement.point),
      endorsement.certificate, endorsement.certificate.count, pointer, now.seconds)
    return result == PFJ_OK ? KeyCredential(object: object, seed: seed) : nil
  }
}

// Sendable because libcrypto counts references atomically, and the parts of the certificates that
// are read never change.
extension TPMAuthorities: @unchecked Sendable {}

/// The name that a TPM gives the one key that counts as hardware: SHA-256 of its public area.
///
/// The service writes the area itself. So a key with other attributes has another name, and no
/// credential for it opens: a key that can leave its TPM, or one that was made outside.
enum TPMKeyName {
  /// TPMT_PUBLIC up to the point: ECC, name by SHA-256; fixedTPM, fixedParent, sensitiveDataOrigin,
  /// userWithAuth, noDA, sign; no policy; no symmetric cipher; ECDSA with SHA-256; P-256; no key derivation.
  private static let area: [UInt8] = [
    0x00, 0x23, 0x00, 0x0B, 0x00, 0x04, 0x04, 0x72, 0x00, 0x00, 0x00, 0x10, 0x00, 0x18, 0x00, 0x0B,
    0x00, 0x03, 0x00, 0x10,
  ]
  private static let half = InstallationPoint.byteCount / 2

  static func bytes(of point: InstallationPoint) -> [UInt8] {
    let size: [UInt8] = [0, UInt8(half)]
    let bytes = point.bytes
    let area = area + size + bytes[..<half] + size + bytes[half...]
    return [0x00, 0x0B] + Digest(hashing: area).bytes
  }
}

extension InstallationPoint {
  /// Whether this key signed a message: ES256.
  func hasSigned(_ message: [UInt8], _ signature: InstallationSignature) -> Bool {
    var key: OpaquePointer?
    guard unsafe pfj_p256_public(&key, bytes) == PFJ_OK else { return false }
    defer { unsafe pfj_key_free(key) }
    return unsafe pfj_es256_verify(signature.bytes, key, message, message.count) == PFJ_OK
  }
}
