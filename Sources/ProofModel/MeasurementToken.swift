/// A grant, signed by the backend and sealed to one piece of hardware: 288 bytes that the app stores
/// and carries, and cannot read.
public struct MeasurementToken: Sendable, Hashable {
  /// How many bytes a token has.
  public static var byteCount: Int { CoreWire.token }

  /// The token's bytes.
  public let bytes: [UInt8]

  /// Checks what can be checked without the hardware's key: length, magic, version and suite.
  ///
  /// - Parameter bytes: A token's bytes.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``, ``ProofError/tooNew(_:)``.
  public init(_ bytes: [UInt8]) throws(ProofError) {
    try CoreWire.check(bytes, CoreWire.token, CoreWire.tokenMagic, "measurement token")
    self.bytes = bytes
  }

  /// For what the core made.
  init(sealed bytes: [UInt8]) { self.bytes = bytes }

  /// The token's short name. The receipt that says the token is held answers it.
  public var digest: TokenDigest { CoreToken.digest(of: bytes) }

  /// Whether the token may be for a piece of hardware: its clear part names the beginning of the id.
  ///
  /// - Parameter hardware: The hardware.
  /// - Returns: False if it is for other hardware; true if it may be for this one.
  public func mayBe(for hardware: HardwareID) -> Bool { CoreToken.hints(at: hardware, bytes) }

  /// The token as a message.
  public var message: Message { Message(encoded: .token, bytes) }

  /// Checks the hardware's answer to this token.
  ///
  /// Only ``Verdict/held`` has a receipt: what refuses a token shares no key with the app.
  ///
  /// - Parameters:
  ///   - answer: The answer that came over the link.
  ///   - secrets: The secrets that app and hardware share.
  /// - Returns: The verdict, believed.
  /// - Throws: ``ProofError/unauthenticated(_:)``, ``ProofError/answerToAnother(expected:actual:)``,
  ///   ``ProofError/differs(_:)``.
  public func receipt(
    of answer: Answer, with secrets: HardwareSecrets
  ) throws(ProofError) -> Receipt {
    let nonce = ProofNonce(storage: digest.storage)
    return try Receipt(answer, to: nonce, counter: 0, with: secrets)
  }
}
