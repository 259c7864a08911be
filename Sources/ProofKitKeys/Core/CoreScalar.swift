// SPDX-License-Identifier: Apache-2.0

internal import CCrypto
internal import ProofModel

/// A private number of P-256 in libcrypto's memory for secrets, and its public half.
@safe
final class CoreScalar {
  static let byteCount = PFJ_P256_SCALAR_BYTES

  let point: InstallationPoint
  private let key: OpaquePointer

  /// Makes the pair of a number; nil if the number is not a scalar.
  init?(_ number: UnsafePointer<UInt8>) {
    var key: OpaquePointer?
    var point = [UInt8](repeating: 0, count: InstallationPoint.byteCount)
    guard unsafe pfj_p256_pair(&key, &point, number) == PFJ_OK, let key = unsafe key else {
      return nil
    }
    unsafe self.key = key
    guard let point = try? InstallationPoint(point) else {
      preconditionFailure("The count is right.")
    }
    self.point = point
  }

  deinit { unsafe pfj_key_free(key) }

  func signature(of message: [UInt8]) -> InstallationSignature? {
    var signature = [UInt8](repeating: 0, count: InstallationSignature.byteCount)
    guard unsafe pfj_es256_sign(&signature, key, message, message.count) == PFJ_OK else {
      return nil
    }
    return try? InstallationSignature(signature)
  }
}

// Sendable because the shim may be called from many threads with the same key, which never changes.
extension CoreScalar: @unchecked Sendable {}

/// 32 bytes in libcrypto's memory for secrets, wiped when the owner goes.
@safe
package final class CoreSecret {
  package static let byteCount = 32

  private let base: UnsafeMutablePointer<UInt8>

  /// Copies bytes out of an array. The caller wipes the array.
  package init?(copying bytes: ArraySlice<UInt8>) {
    guard bytes.count == Self.byteCount, let base = unsafe pfj_secret_new(Self.byteCount) else {
      return nil
    }
    unsafe self.base = base
    for (offset, byte) in bytes.enumerated() { unsafe base[offset] = byte }
  }

  /// Draws fresh random bytes.
  package init?() {
    guard let base = unsafe pfj_secret_new(Self.byteCount) else { return nil }
    unsafe self.base = base
    guard unsafe pfj_random_secret(base, Self.byteCount) == PFJ_OK else { return nil }
  }

  deinit { unsafe pfj_secret_free(base, Self.byteCount) }

  package func withPointer<R>(_ body: (UnsafePointer<UInt8>) -> R) -> R { unsafe body(base) }

  var scalar: CoreScalar? { unsafe CoreScalar(base) }

  /// Adds a copy to an array. The caller wipes the array.
  func append(to bytes: inout [UInt8]) {
    for offset in 0..<Self.byteCount { unsafe bytes.append(base[offset]) }
  }

  /// Overwrites an array that held a secret.
  package static func wipe(_ bytes: inout [UInt8]) { unsafe pfj_wipe(&bytes, bytes.count) }
}

// Sendable because the bytes do not change between init and deinit.
extension CoreSecret: @unchecked Sendable {}

/// SHA-256; nil if libcrypto fails.
package func coreSHA256(_ message: [UInt8]) -> [UInt8]? {
  var digest = [UInt8](repeating: 0, count: PFJ_SHA256_BYTES)
  return unsafe pfj_sha256(&digest, message, message.count) == PFJ_OK ? digest : nil
}
