// SPDX-License-Identifier: Apache-2.0

internal import CTPM
internal import ProofKitKeys
internal import ProofModel

/// One TPM, through the bridge to tpm2-tss.
struct CoreTPM: Sendable {
  /// The reason why an operation failed.
  enum Failure: Error, Hashable {
    case absent, denied, busy, lockedOut, timedOut, brokenOff
    case refused(UInt32)
    case otherKey, noCertificate
    case library(UInt32)
  }

  let device: String
  /// The timeout of one operation, in milliseconds.
  let timeout: Int32

  /// The public half of the key that the TPM derives from 32 bytes.
  func point(_ unique: CoreSecret) throws(Failure) -> InstallationPoint {
    var point = [UInt8](repeating: 0, count: Int(PHT_POINT_BYTES))
    try unsafe run { tpm in
      unsafe unique.withPointer { unsafe pht_point(&point, &tpm, $0) }
    }
    return try Self.taken(point)
  }

  func sign(
    _ digest: [UInt8], _ unique: CoreSecret, _ point: InstallationPoint
  ) throws(Failure) -> InstallationSignature {
    var signature = [UInt8](repeating: 0, count: Int(PHT_SIGNATURE_BYTES))
    try unsafe run { tpm in
      unsafe unique.withPointer { unsafe pht_sign(&signature, &tpm, $0, point.bytes, digest) }
    }
    return try Self.taken(signature)
  }

  func certificate() throws(Failure) -> [UInt8] {
    var certificate = [UInt8](repeating: 0, count: Int(PHT_CERTIFICATE_MAX))
    var size = 0
    try unsafe run { tpm in unsafe pht_certificate(&certificate, &size, &tpm) }
    return Array(certificate.prefix(size))
  }

  func open(
    _ credential: KeyCredential, _ unique: CoreSecret, _ point: InstallationPoint
  ) throws(Failure) -> CredentialSecret {
    var secret = [UInt8](repeating: 0, count: Int(PHT_SECRET_BYTES))
    defer { CoreSecret.wipe(&secret) }
    try unsafe run { tpm in
      unsafe unique.withPointer {
        unsafe pht_activate(
          &secret, &tpm, $0, point.bytes, credential.object, credential.object.count,
          credential.seed, credential.seed.count)
      }
    }
    return try Self.taken(secret)
  }

  private static func taken<Value: FixedBytes>(_ bytes: [UInt8]) throws(Failure) -> Value {
    guard let value = try? Value(bytes) else { throw .brokenOff }
    return value
  }

  private func run(_ body: (inout pht_tpm) -> pht_result) throws(Failure) {
    let (result, code) = unsafe device.withCString { device in
      var tpm = unsafe pht_tpm(device: device, timeout: timeout, code: 0)
      let result = unsafe body(&tpm)
      return unsafe (result, tpm.code)
    }
    switch result {
    case PHT_OK: return
    case PHT_E_ABSENT: throw .absent
    case PHT_E_DENIED: throw .denied
    case PHT_E_BUSY: throw .busy
    case PHT_E_LOCKED_OUT: throw .lockedOut
    case PHT_E_TIMED_OUT: throw .timedOut
    case PHT_E_BROKEN_OFF: throw .brokenOff
    case PHT_E_REFUSED: throw .refused(code)
    case PHT_E_OTHER_KEY: throw .otherKey
    case PHT_E_NO_CERTIFICATE: throw .noCertificate
    default: throw .library(code)
    }
  }
}
