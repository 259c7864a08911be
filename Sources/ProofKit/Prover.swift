// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// Makes proofs, with no need of a network: the offline half of the SDK.
///
/// Every call measures afresh, after the nonce is known, so that a proof is about the present. The
/// measurement is wiped when the call returns.
public struct Prover<Collector: EvidenceCollector>: Sendable {
  /// The configuration to measure under.
  public let config: MeasurementConfig
  private let key: MeasurementProofKey
  private let collector: Collector

  /// Makes a prover.
  ///
  /// - Parameters:
  ///   - config: The stored configuration.
  ///   - collector: Observes the app.
  ///   - key: This build's key, unless a test has its own.
  public init(
    config: MeasurementConfig, collector: Collector, key: MeasurementProofKey = .sdk
  ) {
    self.config = config
    self.collector = collector
    self.key = key
  }

  /// Proves that app, environment and device are as they were measured.
  ///
  /// - Parameter nonce: The verifier's nonce, never used before.
  /// - Returns: The proof.
  /// - Throws: ``/ProofModel/ProofError/configForOtherKey(config:key:)`` if the SDK was updated
  ///   since the baseline, and the errors of collecting evidence. A changed app throws no error:
  ///   its proof differs.
  public func integrityMeasurementProof(nonce: ProofNonce) throws(ProofError) -> Proof {
    try config.check(key)
    return try proof(of: .integrity, for: nonce)
  }

  /// Proves that app, environment and device are as they were measured.
  ///
  /// - Parameter nonce: Exactly 16 bytes.
  /// - Returns: The proof.
  /// - Throws: ``/ProofModel/ProofError/wrongLength(of:expected:actual:)`` for any other length,
  ///   and the errors of the call with a ``/ProofModel/ProofNonce``.
  public func integrityMeasurementProof(nonce: [UInt8]) throws(ProofError) -> Proof {
    try integrityMeasurementProof(nonce: ProofNonce(nonce))
  }

  /// Proves that the device is as it was measured; app and SDK may have been updated since.
  ///
  /// - Parameter nonce: The verifier's nonce, never used before.
  /// - Returns: The proof.
  /// - Throws: The errors of collecting evidence.
  public func deviceMeasurementProof(nonce: ProofNonce) throws(ProofError) -> Proof {
    try proof(of: .device, for: nonce)
  }

  /// Proves that the device is as it was measured; app and SDK may have been updated since.
  ///
  /// - Parameter nonce: Exactly 16 bytes.
  /// - Returns: The proof.
  /// - Throws: ``/ProofModel/ProofError/wrongLength(of:expected:actual:)`` for any other length,
  ///   and the errors of collecting evidence.
  public func deviceMeasurementProof(nonce: [UInt8]) throws(ProofError) -> Proof {
    try deviceMeasurementProof(nonce: ProofNonce(nonce))
  }

  /// Proves a command over the link.
  ///
  /// - Parameters:
  ///   - command: The command to be done.
  ///   - kind: The kind of proof to make.
  ///   - instance: The app instance that asks.
  ///   - hardware: The hardware that is asked.
  ///   - challenge: The hardware's last challenge.
  ///   - form: The form of the token that the hardware holds.
  /// - Returns: The message to send, and the values that authenticate the answer.
  /// - Throws: The errors of collecting evidence.
  public func prove(
    _ command: Command, _ kind: ProofKind, from instance: InstanceID, to hardware: HardwareID,
    answering challenge: Challenge, form: TokenForm = .diversified
  ) throws(ProofError) -> ProvedCommand {
    try prove(
      command, kind, from: instance, to: hardware, answering: challenge, form: form, stepping: nil)
  }

  /// Proves a command over the link, for a token with a ratchet.
  ///
  /// - Parameters:
  ///   - command: The command to be done.
  ///   - kind: The kind of proof to make.
  ///   - instance: The app instance that asks.
  ///   - hardware: The hardware that is asked.
  ///   - challenge: The hardware's last challenge.
  ///   - form: The form of the token that the hardware holds.
  ///   - ratchet: The token's ratchet; nil where it has none.
  /// - Returns: The message to send, the values that authenticate the answer, and the ratchet to
  ///   store before.
  /// - Throws: The errors of collecting evidence.
  public func prove(
    _ command: Command, _ kind: ProofKind, from instance: InstanceID, to hardware: HardwareID,
    answering challenge: Challenge, form: TokenForm, stepping ratchet: Ratchet?
  ) throws(ProofError) -> ProvedCommand {
    if kind == .integrity { try config.check(key) }
    return try collector.guarding { () throws(ProofError) in
      try ProvedCommand(
        command, proving: kind, from: instance, to: hardware, answering: challenge,
        with: secrets(for: hardware, form: form), stepping: ratchet
      ) { proof, previous throws(ProofError) in
        try collector.release(&proof, after: previous)
      }
    }
  }

  /// Proves a command over the link, and seals it.
  ///
  /// - Parameters:
  ///   - command: The command to be done; at most 216 bytes.
  ///   - kind: The kind of proof to make.
  ///   - instance: The app instance that asks.
  ///   - hardware: The hardware that is asked.
  ///   - challenge: The hardware's last challenge, with its key for the command.
  ///   - token: The token that the hardware holds.
  ///   - form: The form of that token.
  ///   - ratchet: The token's ratchet; nil where it has none.
  /// - Returns: The message to send, the values that authenticate the answer, and the ratchet to
  ///   store before.
  /// - Throws: The errors of collecting evidence, and those of
  ///   ``/ProofModel/ProvedCommand/init(_:proving:from:to:answering:of:with:stepping:)``.
  public func prove(
    _ command: Command, _ kind: ProofKind, from instance: InstanceID, to hardware: HardwareID,
    answering challenge: SealedChallenge, of token: TokenDigest, form: TokenForm,
    stepping ratchet: Ratchet?
  ) throws(ProofError) -> ProvedCommand {
    if kind == .integrity { try config.check(key) }
    return try collector.guarding { () throws(ProofError) in
      try ProvedCommand(
        command, proving: kind, from: instance, to: hardware, answering: challenge, of: token,
        with: secrets(for: hardware, form: form), stepping: ratchet
      ) { proof, previous throws(ProofError) in
        try collector.release(&proof, after: previous)
      }
    }
  }

  /// Lends command classes to another app, or takes them back.
  ///
  /// - Parameters:
  ///   - loan: What is lent.
  ///   - lender: This app at the hardware.
  ///   - form: The form of the token that the hardware holds.
  /// - Returns: The delegation. A changed app throws no error: the hardware refuses what it makes.
  /// - Throws: ``/ProofModel/ProofError/configForOtherKey(config:key:)`` if the SDK was updated since
  ///   the baseline, and the errors of collecting evidence.
  public func delegate(
    _ loan: Delegation.Loan, from lender: Delegation.Lender, form: TokenForm = .diversified
  ) throws(ProofError) -> Delegation {
    try config.check(key)
    return try collector.guarding { () throws(ProofError) in
      try Delegation(loan, from: lender, with: secrets(for: lender.hardware, form: form)) {
        tag throws(ProofError) in try collector.release(&tag, after: nil)
      }
    }
  }

  /// Checks the hardware's answer to a delegation that lends to this app, or that this app took back.
  ///
  /// - Parameters:
  ///   - answer: The answer that came over the link.
  ///   - delegation: The delegation that was sent.
  ///   - hardware: The hardware that was asked.
  ///   - form: The form of the token that the hardware holds.
  /// - Returns: The authenticated verdict.
  /// - Throws: As ``/ProofModel/Delegation/receipt(of:with:)``, and the errors of collecting evidence.
  public func receipt(
    of answer: Answer, to delegation: Delegation, for hardware: HardwareID,
    form: TokenForm = .diversified
  ) throws(ProofError) -> Receipt {
    try delegation.receipt(of: answer, with: secrets(for: hardware, form: form))
  }

  /// Reads everything again, whatever the policy, and compares.
  ///
  /// - Parameters:
  ///   - command: A command that was proved before.
  ///   - hardware: The hardware that was asked.
  ///   - form: The form of the token that the hardware holds.
  /// - Returns: Whether the command would be proved with other secrets now.
  /// - Throws: The errors of collecting evidence.
  public func hasChanged(
    since command: ProvedCommand, at hardware: HardwareID, form: TokenForm = .diversified
  ) throws(ProofError) -> Bool {
    collector.forget()
    return try !command.isProved(with: secrets(for: hardware, form: form))
  }

  /// Checks the hardware's answer to a token.
  ///
  /// - Parameters:
  ///   - answer: The answer that came over the link.
  ///   - token: The token that was sent.
  ///   - hardware: The hardware that was asked.
  ///   - form: The token's form.
  /// - Returns: The authenticated verdict.
  /// - Throws: As ``/ProofModel/MeasurementToken/receipt(of:with:)``, and the errors of collecting
  ///   evidence.
  public func receipt(
    of answer: Answer, to token: MeasurementToken, for hardware: HardwareID,
    form: TokenForm = .diversified
  ) throws(ProofError) -> Receipt {
    try token.receipt(of: answer, with: secrets(for: hardware, form: form))
  }

  /// Finds the differences from the baseline, for a person or for the backend.
  ///
  /// - Returns: The differences.
  /// - Throws: The errors of collecting evidence.
  public func difference() throws(ProofError) -> Difference {
    try Difference(of: collector.collect(for: config), under: config, with: key)
  }

  private func measure() throws(ProofError) -> Measurement {
    try collector.measurement(under: config, with: key)
  }

  private func proof(
    of kind: ProofKind, for nonce: ProofNonce
  ) throws(ProofError) -> Proof {
    try collector.guarding { () throws(ProofError) in
      var proof = try measure().proof(of: kind, for: nonce, with: key)
      try collector.release(&proof, after: nil)
      return proof
    }
  }

  /// The secrets that this measurement shares with a piece of hardware.
  package func secrets(
    for hardware: HardwareID, form: TokenForm
  ) throws(ProofError) -> HardwareSecrets {
    try measure().secrets(for: hardware, with: key, form: form)
  }
}
