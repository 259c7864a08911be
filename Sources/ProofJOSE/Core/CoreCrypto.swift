// SPDX-License-Identifier: Apache-2.0

internal import CCrypto

/// Throws for a result of the C shim that does not depend on the message.
func check(_ result: pfj_result) throws(JOSEError) {
  switch result {
  case PFJ_OK: return
  case PFJ_E_RANDOM: throw .randomFailed
  // Sizes are bounded before C is called, and refusals have results of their own, so this is a
  // failure of libcrypto.
  default: throw .libraryFailed
  }
}

/// Random bytes from libcrypto's generators.
enum Randomness {
  static func fillSecret(_ bytes: inout MutableSpan<UInt8>) throws(JOSEError) {
    let result = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      unsafe pfj_random_secret(buffer.baseAddress, buffer.count)
    }
    try check(result)
  }

  /// Public random bytes, from a generator that no secret comes from.
  static func fillPublic(_ bytes: inout MutableSpan<UInt8>) throws(JOSEError) {
    let result = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      unsafe pfj_random_public(buffer.baseAddress, buffer.count)
    }
    try check(result)
  }
}

/// Comparison without early exit.
enum ConstantTime {
  /// Compares in time that depends on the counts alone.
  static func areEqual(_ one: Span<UInt8>, _ other: Span<UInt8>) -> Bool {
    guard one.count == other.count else { return false }
    return unsafe one.withUnsafeBufferPointer { first in
      unsafe other.withUnsafeBufferPointer { second in
        unsafe pfj_equal(first.baseAddress, second.baseAddress, first.count) == 1
      }
    }
  }
}

/// SHA-256 and HMAC-SHA-256.
enum Digest {
  static let byteCount = PFJ_SHA256_BYTES

  static func sha256(_ message: Span<UInt8>) throws(JOSEError) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: byteCount)
    var span = digest.mutableSpan
    try sha256(message, into: &span)
    return digest
  }

  /// The hash of a secret, into memory for secrets.
  static func sha256(
    _ message: Span<UInt8>, into digest: inout MutableSpan<UInt8>
  ) throws(JOSEError) {
    precondition(digest.count == byteCount)
    let result = unsafe digest.withUnsafeMutableBufferPointer { digest in
      unsafe message.withUnsafeBufferPointer { message in
        unsafe pfj_sha256(digest.baseAddress, message.baseAddress, message.count)
      }
    }
    try check(result)
  }

  static func hmac(_ message: Span<UInt8>, key: Span<UInt8>) throws(JOSEError) -> [UInt8] {
    var tag = [UInt8](repeating: 0, count: byteCount)
    var span = tag.mutableSpan
    try hmac(message, key: key, into: &span)
    return tag
  }

  /// Whether a tag is the message's. The computed tag is kept as a secret: for a message that an
  /// attacker sent, it would be a forgery.
  static func isMAC(
    _ tag: Span<UInt8>, of message: Span<UInt8>, key: Span<UInt8>
  ) throws(JOSEError) -> Bool {
    let expected = try JOSESecret(count: byteCount) { bytes throws(JOSEError) in
      try hmac(message, key: key, into: &bytes)
    }
    return expected.withBytes { expected in ConstantTime.areEqual(expected, tag) }
  }

  private static func hmac(
    _ message: Span<UInt8>, key: Span<UInt8>, into tag: inout MutableSpan<UInt8>
  ) throws(JOSEError) {
    precondition(tag.count == byteCount)
    let result = unsafe tag.withUnsafeMutableBufferPointer { tag in
      unsafe message.withUnsafeBufferPointer { message in
        unsafe key.withUnsafeBufferPointer { key in
          unsafe pfj_hmac_sha256(
            tag.baseAddress, key.baseAddress, key.count, message.baseAddress, message.count)
        }
      }
    }
    try check(result)
  }
}
