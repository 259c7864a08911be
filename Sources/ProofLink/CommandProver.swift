// SPDX-License-Identifier: Apache-2.0

public import ProofKit
public import ProofModel

/// Measures the app when a command is to be proved: usually a ``/ProofKit/Prover``.
///
/// Each call measures afresh. The calls do not run on Swift's shared thread pool: a
/// ``HardwareConnection`` has a queue of its own.
public protocol CommandProver: Sendable {
  /// Proves a command.
  ///
  /// - Parameters:
  ///   - command: The command to be done.
  ///   - kind: The kind of proof to make.
  ///   - instance: The app instance that asks.
  ///   - hardware: The hardware that is asked.
  ///   - challenge: The hardware's challenge.
  ///   - form: The form of the token that the hardware holds.
  /// - Returns: The message to send, and the values that authenticate the answer.
  /// - Throws: If the app cannot be measured.
  func prove(
    _ command: Command, _ kind: ProofKind, from instance: InstanceID, to hardware: HardwareID,
    answering challenge: Challenge, form: TokenForm
  ) throws(ProofError) -> ProvedCommand

  /// Proves a command for a token with a ratchet. The default implementation has none: it refuses
  /// a ratchet.
  ///
  /// - Parameters:
  ///   - command: The command to be done.
  ///   - kind: The kind of proof to make.
  ///   - instance: The app instance that asks.
  ///   - hardware: The hardware that is asked.
  ///   - challenge: The hardware's challenge.
  ///   - form: The form of the token that the hardware holds.
  ///   - ratchet: The token's ratchet; nil where it has none.
  /// - Returns: The message to send, the values that authenticate the answer, and the ratchet to
  ///   store before.
  /// - Throws: If the app cannot be measured.
  func prove(
    _ command: Command, _ kind: ProofKind, from instance: InstanceID, to hardware: HardwareID,
    answering challenge: Challenge, form: TokenForm, stepping ratchet: Ratchet?
  ) throws(ProofError) -> ProvedCommand

  /// Proves a command and seals it. The default implementation seals nothing: it refuses.
  ///
  /// - Parameters:
  ///   - command: The command to be done.
  ///   - kind: The kind of proof to make.
  ///   - instance: The app instance that asks.
  ///   - hardware: The hardware that is asked.
  ///   - challenge: The hardware's challenge, with its key for the command.
  ///   - token: The token that the hardware holds.
  ///   - form: The form of that token.
  ///   - ratchet: The token's ratchet; nil where it has none.
  /// - Returns: The message to send, the values that authenticate the answer, and the ratchet to
  ///   store before.
  /// - Throws: If the app cannot be measured, or the command cannot be sealed.
  func prove(
    _ command: Command, _ kind: ProofKind, from instance: InstanceID, to hardware: HardwareID,
    answering challenge: SealedChallenge, of token: TokenDigest, form: TokenForm,
    stepping ratchet: Ratchet?
  ) throws(ProofError) -> ProvedCommand

  /// Reads everything again, and compares. The default implementation tells of no change.
  ///
  /// - Parameters:
  ///   - command: A command that was proved before.
  ///   - hardware: The hardware that was asked.
  ///   - form: The form of the token that the hardware holds.
  /// - Returns: Whether the command would be proved with other secrets now.
  /// - Throws: If the app cannot be measured.
  func hasChanged(
    since command: ProvedCommand, at hardware: HardwareID, form: TokenForm
  ) throws(ProofError) -> Bool

  /// Checks the hardware's answer to a token.
  ///
  /// - Parameters:
  ///   - answer: The answer that came over the link.
  ///   - token: The token that was sent.
  ///   - hardware: The hardware that was asked.
  ///   - form: The token's form.
  /// - Returns: The authenticated verdict.
  /// - Throws: If the answer does not authenticate, or the app cannot be measured.
  func receipt(
    of answer: Answer, to token: MeasurementToken, for hardware: HardwareID, form: TokenForm
  ) throws(ProofError) -> Receipt

  /// Asks for the outcome of a command of an earlier run of the app.
  ///
  /// - Parameters:
  ///   - command: The stored record of the command.
  ///   - instance: The app instance that asks.
  ///   - hardware: The hardware that is asked.
  ///   - form: The form of the token that the hardware holds.
  /// - Returns: The message to send, and the values that authenticate the answer.
  /// - Throws: If the app cannot be measured.
  func recall(
    of command: OpenCommand, from instance: InstanceID, to hardware: HardwareID, form: TokenForm
  ) throws(ProofError) -> Recall

  /// Lends command classes to another app, or takes them back. The default implementation refuses.
  ///
  /// - Parameters:
  ///   - loan: What is lent.
  ///   - lender: This app at the hardware.
  ///   - form: The form of the token that the hardware holds.
  /// - Returns: The delegation.
  /// - Throws: If the app cannot be measured.
  func delegate(
    _ loan: Delegation.Loan, from lender: Delegation.Lender, form: TokenForm
  ) throws(ProofError) -> Delegation

  /// Checks the hardware's answer to a delegation. The default implementation refuses.
  ///
  /// - Parameters:
  ///   - answer: The answer that came over the link.
  ///   - delegation: The delegation that was sent.
  ///   - hardware: The hardware that was asked.
  ///   - form: The form of the token that the hardware holds.
  /// - Returns: The authenticated verdict.
  /// - Throws: If the answer does not authenticate, or the app cannot be measured.
  func receipt(
    of answer: Answer, to delegation: Delegation, for hardware: HardwareID, form: TokenForm
  ) throws(ProofError) -> Receipt
}

extension CommandProver {
  /// Proves a command without a ratchet, and refuses one with it.
  public func prove(
    _ command: Command, _ kind: ProofKind, from instance: InstanceID, to hardware: HardwareID,
    answering challenge: Challenge, form: TokenForm, stepping ratchet: Ratchet?
  ) throws(ProofError) -> ProvedCommand {
    guard ratchet == nil else {
      throw .outOfRange(field: "ratchet", value: "one", allowed: "none by this prover")
    }
    return try prove(
      command, kind, from: instance, to: hardware, answering: challenge, form: form)
  }

  /// Seals nothing.
  public func prove(
    _ command: Command, _ kind: ProofKind, from instance: InstanceID, to hardware: HardwareID,
    answering challenge: SealedChallenge, of token: TokenDigest, form: TokenForm,
    stepping ratchet: Ratchet?
  ) throws(ProofError) -> ProvedCommand {
    throw .outOfRange(field: "sealed challenge", value: "one", allowed: "none by this prover")
  }

  /// Lends nothing.
  public func delegate(
    _ loan: Delegation.Loan, from lender: Delegation.Lender, form: TokenForm
  ) throws(ProofError) -> Delegation {
    throw .outOfRange(field: "delegation", value: "one", allowed: "none by this prover")
  }

  /// Reads no receipt.
  public func receipt(
    of answer: Answer, to delegation: Delegation, for hardware: HardwareID, form: TokenForm
  ) throws(ProofError) -> Receipt {
    throw .outOfRange(field: "delegation", value: "one", allowed: "none by this prover")
  }

  /// Tells of no change, so that no command is sent again.
  public func hasChanged(
    since command: ProvedCommand, at hardware: HardwareID, form: TokenForm
  ) throws(ProofError) -> Bool { false }
}

extension Prover: CommandProver {
  /// Asks for the outcome of a command of an earlier run of the app.
  ///
  /// - Parameters:
  ///   - command: The stored record of the command.
  ///   - instance: The app instance that asks.
  ///   - hardware: The hardware that is asked.
  ///   - form: The form of the token that the hardware holds.
  /// - Returns: The message to send, and the values that authenticate the answer.
  /// - Throws: The errors of collecting evidence.
  public func recall(
    of command: OpenCommand, from instance: InstanceID, to hardware: HardwareID,
    form: TokenForm = .diversified
  ) throws(ProofError) -> Recall {
    try Recall(
      of: command.nonce, counter: command.counter, from: instance,
      with: secrets(for: hardware, form: form))
  }
}
