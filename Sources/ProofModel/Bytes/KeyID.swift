// SPDX-License-Identifier: Apache-2.0

/// The public name of a measurement proof key: its mode, then seven bytes derived from the key.
public struct KeyID: FixedBytes {
  /// 8 bytes.
  public static var byteCount: Int { 8 }

  let storage: InlineBytes<8>

  init(storage: InlineBytes<8>) { self.storage = storage }

  /// Checks and takes 8 bytes.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "key id")
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}
