// SPDX-License-Identifier: Apache-2.0

internal import CCrypto

// Content keys for the owner of a private key: agreement on P-256, and OAEP.

extension CoreKey {
  static let agreedByteCount = PFJ_AGREED_BYTES

  /// The secret on which this pair of P-256 and another pair's point agree. `nil` for a point that
  /// is not on the curve.
  func agreed(with point: [UInt8]) throws(JOSEError) -> JOSESecret? {
    precondition(isPair && kind == .p256 && point.count == PFJ_P256_POINT_BYTES)
    var result = PFJ_E_LIBRARY
    let secret = JOSESecret(count: Self.agreedByteCount) { secret in
      result = unsafe secret.withUnsafeMutableBufferPointer { secret in
        unsafe pfj_p256_agree(secret.baseAddress, pointer, point)
      }
    }
    if result == PFJ_E_KEY { return nil }
    try check(result)
    return secret
  }

  /// A content key, encrypted to this key of RSA.
  func encrypt(_ contentKey: borrowing JOSESecret) throws(JOSEError) -> [UInt8] {
    precondition(kind == .rsa && contentKey.count == GCM.keyByteCount)
    var wrapped = [UInt8](repeating: 0, count: publicBytes.count)
    let count = wrapped.count
    let result = contentKey.withBytes { contentKey in
      unsafe contentKey.withUnsafeBufferPointer { contentKey in
        unsafe pfj_oaep_wrap(&wrapped, count, pointer, contentKey.baseAddress)
      }
    }
    try check(result)
    return wrapped
  }

  /// The content key that was encrypted. If the bytes do not open, a random key, after the same
  /// work.
  func decrypt(_ wrapped: Span<UInt8>) throws(JOSEError) -> JOSESecret {
    precondition(isPair && kind == .rsa && wrapped.count == publicBytes.count)
    return try JOSESecret(count: GCM.keyByteCount) { contentKey throws(JOSEError) in
      let result = unsafe contentKey.withUnsafeMutableBufferPointer { contentKey in
        unsafe wrapped.withUnsafeBufferPointer { wrapped in
          unsafe pfj_oaep_unwrap(
            contentKey.baseAddress, pointer, wrapped.baseAddress, wrapped.count)
        }
      }
      try check(result)
    }
  }
}
