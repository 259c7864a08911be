// SPDX-License-Identifier: Apache-2.0

/// A grant, signed by the backend and sealed to one piece of hardware: 288 bytes that the app stores
/// and carries, and cannot read.
public struct MeasurementToken: Sendable, Hashable {
  /// The length of a token, in bytes.
  public static var byteCount: Int { CoreWire.token }

  /// The token's bytes.
  public let bytes: [UInt8]

  /// Checks length, magic, version and suite, of both versions. Further checks need the hardware's
  /// key.
  ///
  /// - Parameter bytes: A token's bytes.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``, ``ProofError/tooNew(_:)``.
  public init(_ bytes: [UInt8]) throws(ProofError) {
    try CoreWire.checkToken(bytes)
    self.bytes = bytes
  }

  /// Takes a token that the core made.
  init(sealed bytes: [UInt8]) { self.bytes = bytes }

  /// The token's digest. A receipt for a held token answers it.
  public var digest: TokenDigest { CoreToken.digest(of: bytes) }

  /// Whether the token may be for a piece of hardware: its clear part has the beginning of the id.
  ///
  /// - Parameter hardware: The hardware.
  /// - Returns: False if it is for other hardware; true if it may be for this one.
  public func mayBe(for hardware: HardwareID) -> Bool { CoreToken.hints(at: hardware, bytes) }

  /// The token as a message.
  public var message: Message { Message(encoded: .token, bytes) }

  /// Checks the hardware's answer to this token.
  ///
  /// Only ``Verdict/held`` has a receipt: hardware that refuses a token shares no key with the app.
  ///
  /// - Parameters:
  ///   - answer: The answer that came over the link.
  ///   - secrets: The secrets that app and hardware share.
  /// - Returns: The authenticated verdict.
  /// - Throws: ``ProofError/unauthenticated(_:)``, ``ProofError/answerToAnother(expected:actual:)``,
  ///   ``ProofError/differs(_:)``.
  public func receipt(
    of answer: Answer, with secrets: HardwareSecrets
  ) throws(ProofError) -> Receipt {
    let nonce = ProofNonce(storage: digest.storage)
    return try Receipt(answer, to: nonce, counter: 0, with: secrets)
  }
}

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
