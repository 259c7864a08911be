// SPDX-License-Identifier: Apache-2.0

/// The salt of a measurement configuration: the service draws a fresh one for each.
///
/// Two configurations under one salt would wrap the device proof key twice under one mask.
public struct Salt: RandomBytes {
  /// 16 bytes.
  public static var byteCount: Int { 16 }

  let storage: InlineBytes<16>

  init(storage: InlineBytes<16>) { self.storage = storage }

  /// Checks and takes 16 bytes that are not all zeros.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "salt")
    if storage.isZero { throw .allZeros(of: "salt") }
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}
