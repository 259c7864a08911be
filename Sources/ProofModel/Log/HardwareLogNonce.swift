// SPDX-License-Identifier: Apache-2.0

/// The nonce that a part of the hardware's log answers.
///
/// A backend that has to tell a fresh answer from an old one draws it and gives it to the phone.
/// Otherwise the phone draws it.
public struct HardwareLogNonce: RandomBytes {
  /// 16 bytes.
  public static var byteCount: Int { 16 }

  let storage: InlineBytes<16>

  /// Checks and takes 16 bytes that are not all zeros.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "log nonce")
    if storage.isZero { throw .allZeros(of: "log nonce") }
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}
