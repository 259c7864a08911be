/// What the hardware answered, as it came over the link: believed by nobody yet.
///
/// Anyone on the link can make one. ``ProvedCommand/receipt(of:)``,
/// ``MeasurementToken/receipt(of:with:)`` turn it into a ``Receipt``, ``Recall/fate(of:)`` into a
/// ``Fate``.
public struct Answer: Sendable, Hashable {
  /// What the hardware is said to have decided.
  public let verdict: Verdict
  /// Uses or attempts left, or seconds to wait, by the verdict; otherwise 0.
  public let detail: UInt16
  /// The counter of the challenge or recall answered; 0 for tokens and orders.
  public let counter: UInt64
  let tag: InlineBytes<32>

  /// Decodes a VERDICT message.
  ///
  /// - Parameter message: What the hardware answered.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``.
  public init(_ message: Message) throws(ProofError) {
    self = try CoreMessage.answer(message.bytes(of: .verdict))
  }

  /// Makes an answer with its receipt, on the hardware's side.
  ///
  /// - Parameters:
  ///   - verdict: What the hardware decided.
  ///   - detail: As documented with the verdict.
  ///   - counter: Of the challenge or recall answered; 0 for tokens and orders.
  ///   - nonce: What is answered.
  ///   - secrets: What the app shares with the hardware; nil for an answer without receipt.
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
