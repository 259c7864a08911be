// SPDX-License-Identifier: Apache-2.0

/// The answer to a nonce: `HMAC-SHA-256(key, nonce ‖ measurement)`, 32 bytes.
///
/// A proof is public. It reveals nothing about the key or the measurement, and is valid for its
/// nonce alone.
public struct Proof: FixedBytes {
  /// 32 bytes.
  public static var byteCount: Int { 32 }

  let storage: InlineBytes<32>

  init(storage: InlineBytes<32>) { self.storage = storage }

  /// Checks and takes 32 bytes.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "proof")
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}

/// The subject of a proof.
public enum ProofKind: UInt8, Sendable, CaseIterable {
  /// The app, its environment and its device are as they were measured.
  case integrity = 1
  /// The device is as it was measured; the app may have been updated since.
  case device = 2
}
