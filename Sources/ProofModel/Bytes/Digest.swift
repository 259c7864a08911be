// SPDX-License-Identifier: Apache-2.0

/// The digest, usually SHA-256, of the content of one source.
///
/// The collector decides how a source's bytes are collected; the measurement takes any digest.
public struct Digest: FixedBytes {
  /// 32 bytes.
  public static var byteCount: Int { 32 }

  let storage: InlineBytes<32>

  init(storage: InlineBytes<32>) { self.storage = storage }

  /// Checks and takes 32 bytes.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "digest")
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}

extension Digest {
  /// The SHA-256 digest of bytes.
  ///
  /// - Parameter bytes: The content of a source.
  public init(hashing bytes: Span<UInt8>) {
    self = CoreCrypto.sha256(bytes)
  }

  /// The SHA-256 digest of bytes.
  ///
  /// - Parameter bytes: The content of a source.
  public init(hashing bytes: [UInt8]) {
    self.init(hashing: bytes.span)
  }
}
