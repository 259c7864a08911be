// SPDX-License-Identifier: Apache-2.0

/// The question for the outcome of a command: sent after a lost link, and authenticated.
public struct Recall: Sendable {
  /// The message to send.
  public let message: Message
  /// The app instance that asks.
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
  ///   - instance: The app instance that asks.
  ///   - secrets: The secrets that app and hardware share.
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
  ///   - message: The app's message.
  ///   - secrets: The secrets that app and hardware share.
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
  /// The answer is no ``Receipt``. Answering a command, the verdict "stale" says that the command
  /// was not taken. Answering a recall, it says that the hardware does not know the command any
  /// more.
  ///
  /// - Parameter answer: The answer that came over the link.
  /// - Returns: The authenticated outcome of the command.
  /// - Throws: ``ProofError/unauthenticated(_:)``, ``ProofError/answerToAnother(expected:actual:)``,
  ///   ``ProofError/differs(_:)``.
  public func outcome(of answer: Answer) throws(ProofError) -> Outcome {
    try Outcome(receipt(of: answer))
  }

  /// The receipt behind an outcome, which says why a command was refused.
  package func receipt(of answer: Answer) throws(ProofError) -> Receipt {
    try Receipt(answer, to: nonce, counter: counter, with: secrets)
  }
}
