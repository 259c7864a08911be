public import ProofKit
public import ProofModel

/// Who measures the app when a command is to be proved: ``/ProofKit/Prover``, as a rule.
///
/// Each call measures afresh. None of them runs on the threads that Swift's tasks share: a
/// ``HardwareConnection`` has a queue of its own.
public protocol CommandProver: Sendable {
  /// Proves a command.
  ///
  /// - Parameters:
  ///   - command: What is asked for.
  ///   - kind: What to prove.
  ///   - instance: Who asks.
  ///   - hardware: Who is asked.
  ///   - challenge: The hardware's challenge.
  ///   - form: The form of the token that the hardware holds.
  /// - Returns: The message to send, and what is needed to believe the answer.
  /// - Throws: If the app cannot be measured.
  func prove(
    _ command: Command, _ kind: ProofKind, from instance: InstanceID, to hardware: HardwareID,
    answering challenge: Challenge, form: TokenForm
  ) throws(ProofError) -> ProvedCommand

  /// Checks the hardware's answer to a token.
  ///
  /// - Parameters:
  ///   - answer: What came over the link.
  ///   - token: The token that was sent.
  ///   - hardware: Who was asked.
  ///   - form: The token's form.
  /// - Returns: The verdict, believed.
  /// - Throws: If the answer cannot be believed, or the app cannot be measured.
  func receipt(
    of answer: Answer, to token: MeasurementToken, for hardware: HardwareID, form: TokenForm
  ) throws(ProofError) -> Receipt

  /// Asks what became of a command of an earlier run of the app.
  ///
  /// - Parameters:
  ///   - command: What is remembered of it.
  ///   - instance: Who asks.
  ///   - hardware: Who is asked.
  ///   - form: The form of the token that the hardware holds.
  /// - Returns: The message to send, and what is needed to believe the answer.
  /// - Throws: If the app cannot be measured.
  func recall(
    of command: OpenCommand, from instance: InstanceID, to hardware: HardwareID, form: TokenForm
  ) throws(ProofError) -> Recall
}

extension Prover: CommandProver {
  /// Asks what became of a command of an earlier run of the app.
  ///
  /// - Parameters:
  ///   - command: What is remembered of it.
  ///   - instance: Who asks.
  ///   - hardware: Who is asked.
  ///   - form: The form of the token that the hardware holds.
  /// - Returns: The message to send, and what is needed to believe the answer.
  /// - Throws: What collecting throws.
  public func recall(
    of command: OpenCommand, from instance: InstanceID, to hardware: HardwareID,
    form: TokenForm = .diversified
  ) throws(ProofError) -> Recall {
    try Recall(
      of: command.nonce, counter: command.counter, from: instance,
      with: secrets(for: hardware, form: form))
  }
}
