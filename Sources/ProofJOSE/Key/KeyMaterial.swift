// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The material of a key, shared by all copies of the value and wiped with the last of them.
final class KeyMaterial: Sendable {
  let algorithm: KeyAlgorithm
  /// The symmetric key, seed, scalar or private numbers; nil for a public key.
  let secret: SharedSecret?
  /// The key of libcrypto; nil for symmetric algorithms.
  let coreKey: CoreKey?
  /// The number of tokens sealed under this key, over all its users.
  private let sealed = Atomic<UInt64>(0)

  init(_ algorithm: KeyAlgorithm, secret: consuming JOSESecret) throws(JOSEError) {
    guard algorithm.secretByteCounts.contains(secret.count) else {
      throw .keyLength(algorithm, allowed: algorithm.secretByteCounts, actual: secret.count)
    }
    self.algorithm = algorithm
    if let kind = algorithm.coreKind {
      coreKey = try secret.withBytes { bytes throws(JOSEError) in
        try CoreKey(kind, secret: bytes)
      }
    } else {
      coreKey = nil
    }
    self.secret = SharedSecret(secret)
  }

  init(_ algorithm: KeyAlgorithm, publicBytes: [UInt8]) throws(JOSEError) {
    guard let kind = algorithm.coreKind else {
      throw .keyUnsupported("\(algorithm.rawValue) has no public keys")
    }
    guard kind.publicByteCounts.contains(publicBytes.count) else {
      throw .keyLength(
        algorithm, allowed: kind.publicByteCounts[0]...(kind.publicByteCounts.last ?? 0),
        actual: publicBytes.count)
    }
    self.algorithm = algorithm
    coreKey = try CoreKey(kind, publicBytes: publicBytes)
    secret = nil
  }

  /// Counts one more token, or refuses it.
  func countSealed() throws(JOSEError) {
    // The counter cannot wrap, because 2^64 attempts are out of reach. So counting refused ones
    // does no harm.
    let before = sealed.wrappingAdd(1, ordering: .relaxed).oldValue
    guard before < JOSELimits.messagesPerKey else {
      throw .keyExhausted(limit: JOSELimits.messagesPerKey)
    }
  }

  /// Sets the count to at least this many earlier tokens.
  func assumeSealed(_ count: UInt64) {
    // Bound it by the limit: refused attempts then cannot wrap the counter, and the atomic maximum,
    // which compares as signed on this platform, is right.
    sealed.max(min(count, JOSELimits.messagesPerKey), ordering: .relaxed)
  }

  var sealedCount: UInt64 {
    min(sealed.load(ordering: .relaxed), JOSELimits.messagesPerKey)
  }
}
