// SPDX-License-Identifier: Apache-2.0

/// The hardware's answer as it came over the link, not yet authenticated.
///
/// Anyone on the link can forge one. ``ProvedCommand/receipt(of:)`` and
/// ``MeasurementToken/receipt(of:with:)`` turn it into a ``Receipt``. ``Recall/outcome(of:)`` turns it
/// into an ``Outcome``.
public struct Answer: Sendable, Hashable {
  /// The verdict that the answer claims.
  public let verdict: Verdict
  /// Uses left, or the number of the cause of a refusal (``refusal``), by the verdict; 0 where none was
  /// told.
  public let detail: UInt16
  /// The counter of the challenge or recall answered; 0 for tokens and orders.
  public let counter: UInt64
  let tag: InlineBytes<32>

  /// Decodes a VERDICT message.
  ///
  /// - Parameter message: The hardware's answer.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``.
  public init(_ message: Message) throws(ProofError) {
    self = try CoreMessage.answer(message.bytes(of: .verdict))
  }

  /// Makes an answer with its receipt, on the hardware's side.
  ///
  /// - Parameters:
  ///   - verdict: The hardware's verdict.
  ///   - detail: As documented with the verdict.
  ///   - counter: The counter of the challenge or recall answered; 0 for tokens and orders.
  ///   - nonce: The nonce of the message answered.
  ///   - secrets: The secrets shared with the app; nil for an answer without receipt.
  public init(
    _ verdict: Verdict, detail: UInt16 = 0, counter: UInt64 = 0, to nonce: ProofNonce,
    with secrets: HardwareSecrets?
  ) {
    let tag = CoreReceipt.tag(verdict, detail, counter, nonce, secrets?.core)
    self.init(verdict: verdict, detail: detail, counter: counter, tag: tag)
  }

  init(verdict: Verdict, detail: UInt16, counter: UInt64, tag: InlineBytes<32>) {
    self.verdict = verdict
    self.detail = detail
    self.counter = counter
    self.tag = tag
  }

  /// Whether the answer carries no receipt at all.
  public var isHint: Bool { tag.isZero }

  /// The answer as a message.
  public var message: Message { CoreMessage.encode(self) }

  /// Whether all fields are equal.
  public static func == (left: Answer, right: Answer) -> Bool {
    left.verdict == right.verdict && left.detail == right.detail && left.counter == right.counter
      && left.tag.isEqual(to: right.tag)
  }

  /// Hashes verdict, detail and counter.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(verdict)
    hasher.combine(detail)
    hasher.combine(counter)
  }
}
