/// The digest of a measurement token's sealed bytes, which reveals nothing of its content.
public struct TokenDigest: FixedBytes {
  /// 16 bytes.
  public static var byteCount: Int { 16 }

  let storage: InlineBytes<16>

  init(storage: InlineBytes<16>) { self.storage = storage }

  /// Checks and takes 16 bytes.
  public init(_ bytes: Span<UInt8>) throws(ProofError) {
    storage = try InlineBytes(bytes, of: "token digest")
  }

  /// Lends the bytes, for as long as the closure runs.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try storage.withSpan(body)
  }
}
