// SPDX-License-Identifier: Apache-2.0

/// The name of one gate: a verifier that speaks HTTP.
public struct GateID: RandomBytes {
  /// 16 bytes.
  public static var byteCount: Int { 16 }

  let storage: InlineBytes<16>

  init(storage: InlineBytes<16>) { self.storage = storage }

  /// Checks and takes 16 bytes that are not all zeros.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "gate id")
    if storage.isZero { throw .allZeros(of: "gate id") }
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}

/// The name of one audience: the redeemer, or the redeemers, that judge a set of event numbers.
public struct AudienceID: RandomBytes {
  /// 16 bytes.
  public static var byteCount: Int { 16 }

  let storage: InlineBytes<16>

  /// Checks and takes 16 bytes.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "audience id")
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}

/// The name under which a gate knows an app instance. Each gate and each generation has another, and
/// none of them leads to the instance id.
public struct GateHandle: FixedBytes {
  /// 16 bytes.
  public static var byteCount: Int { 16 }

  let storage: InlineBytes<16>

  init(storage: InlineBytes<16>) { self.storage = storage }

  /// Checks and takes 16 bytes that are not all zeros: zeros stand for an app without keys.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "handle")
    if storage.isZero { throw .allZeros(of: "handle") }
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}

/// The name under which a compact token is used once: handle, start and count.
public struct ReplayKey: FixedBytes {
  /// 24 bytes.
  public static var byteCount: Int { 24 }

  let storage: InlineBytes<24>

  init(storage: InlineBytes<24>) { self.storage = storage }

  /// Takes 24 bytes.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "replay key")
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}
