// SPDX-License-Identifier: Apache-2.0

/// The name of a backend that signs measurement tokens and orders: derived from its public key.
public struct IssuerID: FixedBytes {
  /// 8 bytes.
  public static var byteCount: Int { 8 }

  let storage: InlineBytes<8>

  init(storage: InlineBytes<8>) { self.storage = storage }

  /// Checks and takes 8 bytes.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "issuer id")
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}

/// The Ed25519 key under which hardware checks a backend's signatures.
public struct IssuerPublicKey: FixedBytes {
  /// 32 bytes.
  public static var byteCount: Int { 32 }

  let storage: InlineBytes<32>

  init(storage: InlineBytes<32>) { self.storage = storage }

  /// Checks and takes 32 bytes that are not all zeros.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "issuer public key")
    if storage.isZero { throw .allZeros(of: "issuer public key") }
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}

extension IssuerPublicKey {
  /// The issuer's name, as tokens and orders carry it.
  public var id: IssuerID { CoreIssuer.id(of: self) }
}
