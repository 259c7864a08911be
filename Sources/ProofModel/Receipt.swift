/// A verdict that is known to come from the hardware that could open the token.
///
/// Values are made only by checking an ``Answer``. A receipt needs no further check.
public struct Receipt: Sendable, Hashable {
  /// The hardware's verdict.
  public let verdict: Verdict
  /// Uses or attempts left, by the verdict; otherwise 0.
  public let detail: UInt16
  /// The counter of the challenge or recall answered; 0 for tokens.
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

  /// How many more commands the token permits: nil without limit, or if the verdict does not tell.
  public var usesLeft: UInt16? {
    switch verdict {
    case .accepted, .acceptedDeviceOnly, .held: detail == .max ? nil : detail
    default: nil
    }
  }

  /// How many more integrity failures the token permits, if the verdict tells.
  public var attemptsLeft: UInt16? { verdict == .integrityDiffers ? detail : nil }
}
