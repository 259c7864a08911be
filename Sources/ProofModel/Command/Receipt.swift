// SPDX-License-Identifier: Apache-2.0

/// A verdict that is known to come from the hardware that could open the token.
///
/// Values are made only by checking an ``Answer``. A receipt needs no further check.
public struct Receipt: Sendable, Hashable {
  /// The hardware's verdict.
  public let verdict: Verdict
  /// Uses left, or the number of the cause of a refusal (``refusal``), by the verdict; 0 where none was
  /// told.
  public let detail: UInt16
  /// The counter of the challenge or recall answered; 0 for tokens and delegations.
  public let counter: UInt64
  /// The nonce of the message answered.
  public let nonce: ProofNonce

  /// Checks an answer's receipt, in constant time.
  ///
  /// - Parameters:
  ///   - answer: The answer that came over the link.
  ///   - nonce: The nonce of the message that was sent.
  ///   - secrets: The secrets that app and hardware share.
  /// - Throws: ``ProofError/unauthenticated(_:)`` if there is no receipt,
  ///   ``ProofError/differs(_:)`` if it is not the expected one.
  public init(
    _ answer: Answer, to nonce: ProofNonce, with secrets: HardwareSecrets
  ) throws(ProofError) {
    guard !answer.isHint else { throw .unauthenticated(answer.verdict) }
    try CoreReceipt.check(answer, nonce, secrets.core)
    verdict = answer.verdict
    detail = answer.detail
    counter = answer.counter
    self.nonce = nonce
  }

  /// Checks an answer's receipt, and that it answers the challenge or recall of a counter.
  init(
    _ answer: Answer, to nonce: ProofNonce, counter: UInt64, with secrets: HardwareSecrets
  ) throws(ProofError) {
    guard !answer.isHint else { throw .unauthenticated(answer.verdict) }
    guard answer.counter == counter else {
      throw .answerToAnother(expected: counter, actual: answer.counter)
    }
    try self.init(answer, to: nonce, with: secrets)
  }

  /// Takes an answer that came out of a sealed box.
  init(opened answer: Answer, to nonce: ProofNonce) {
    verdict = answer.verdict
    detail = answer.detail
    counter = answer.counter
    self.nonce = nonce
  }

  /// The number of further commands that the token permits, or the loan after a delegation; nil if it
  /// has no limit, or the verdict does not carry it.
  public var usesLeft: UInt16? {
    switch verdict {
    case .accepted, .acceptedDeviceOnly, .acceptedCopy, .acceptedDeviceOnlyCopy, .held, .orderDone:
      detail == .max ? nil : detail
    default: nil
    }
  }

  /// The policy of the slot, where the verdict is that the command has the kind of the other sort of
  /// slot: the inner nil for a slot without a ratchet, the outer one for any other verdict.
  package var ratchetPolicy: RatchetPolicy?? {
    guard verdict == .notPermitted else { return nil }
    return switch detail {
    case 6: .some(.report)
    case 7: .some(.refuse)
    case 8: .some(nil)
    default: nil
    }
  }

  /// The number of further integrity failures that the token permits, if the verdict carries it.
  public var attemptsLeft: UInt16? { verdict == .integrityDiffers ? detail : nil }
}
