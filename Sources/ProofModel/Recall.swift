/// The question what became of a command: sent after a lost link, and authenticated.
public struct Recall: Sendable {
  /// What to send.
  public let message: Message
  /// Who asks.
  public let instance: InstanceID
  /// The counter of the challenge that the command answered.
  public let counter: UInt64
  /// The nonce that the command's proofs answered.
  public let nonce: ProofNonce
  private let secrets: HardwareSecrets

  /// Asks about a command.
  ///
  /// - Parameters:
  ///   - nonce: The nonce that the command's proofs answered.
  ///   - counter: The counter of the challenge that the command answered.
  ///   - instance: Who asks.
  ///   - secrets: What the app shares with the hardware.
  public init(
    of nonce: ProofNonce, counter: UInt64, from instance: InstanceID,
    with secrets: HardwareSecrets
  ) {
    message = CoreMessage.recall(nonce, counter, instance, secrets.core)
    self.instance = instance
    self.counter = counter
    self.nonce = nonce
    self.secrets = secrets
  }

  /// Parses and checks a RECALL message, on the hardware's side.
  ///
  /// - Parameters:
  ///   - message: What the app sent.
  ///   - secrets: What the hardware shares with the app.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``, ``ProofError/differs(_:)``.
  public init(_ message: Message, with secrets: HardwareSecrets) throws(ProofError) {
    let parsed = try CoreMessage.recall(message.bytes(of: .recall), secrets.core)
    self.message = message
    instance = parsed.instance
    counter = parsed.counter
    nonce = parsed.nonce
    self.secrets = secrets
  }

  /// Checks the hardware's answer.
  ///
  /// It is no ``Receipt``: the same verdict, "stale", says of a command that it was not taken and of
  /// a recall that nobody knows.
  ///
  /// - Parameter answer: What came over the link.
  /// - Returns: What became of the command, believed.
  /// - Throws: ``ProofError/unauthenticated(_:)``, ``ProofError/answerToAnother(expected:actual:)``,
  ///   ``ProofError/differs(_:)``.
  public func fate(of answer: Answer) throws(ProofError) -> Fate {
    try Fate(Receipt(answer, to: nonce, counter: counter, with: secrets).verdict)
  }
}
