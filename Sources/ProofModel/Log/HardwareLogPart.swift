// SPDX-License-Identifier: Apache-2.0

/// A part of the hardware's log, as a phone carries it: one LOG behind the nonce that it answers.
///
/// The phone cannot read the entries, and stores ``bytes``. Anyone can read the fields
/// here, and change them: the backend's ``HardwareLogReader`` checks the LOG's head first.
public struct HardwareLogPart: Sendable, Hashable {
  /// The lengths that a part may have, in bytes.
  public static var byteCounts: ClosedRange<Int> {
    HardwareLogNonce.byteCount + CoreLog.least...HardwareLogNonce.byteCount + CoreLog.most
  }

  /// The nonce that the LOG answers.
  public let nonce: HardwareLogNonce
  /// The LOG, as the hardware sent it.
  public let message: [UInt8]
  /// The numbers of the part's entries.
  public let entries: Range<UInt64>
  /// The number of the oldest entry that the hardware still has.
  public let oldest: UInt64
  /// The number that the next entry will have.
  public let next: UInt64
  /// Events since the last entry, as the next note will tell it.
  public let pending: HardwareLogNote

  /// Reads a part as a phone stored it.
  ///
  /// - Parameter bytes: The nonce, then the LOG.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``, ``ProofError/tooNew(_:)``.
  public init(_ bytes: [UInt8]) throws(ProofError) {
    guard Self.byteCounts.contains(bytes.count),
      let nonce = try? HardwareLogNonce(Array(bytes.prefix(HardwareLogNonce.byteCount)))
    else { throw .malformed("part of a log", byteCount: bytes.count) }
    try self.init(answering: nonce, Array(bytes.dropFirst(HardwareLogNonce.byteCount)))
  }

  /// Takes a LOG that answers a nonce.
  ///
  /// - Parameters:
  ///   - nonce: The nonce of the LOG-ASK.
  ///   - message: The LOG.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``, ``ProofError/tooNew(_:)``.
  public init(answering nonce: HardwareLogNonce, _ message: [UInt8]) throws(ProofError) {
    let fields = try CoreLog.fields(of: message)
    self.nonce = nonce
    self.message = message
    entries = fields.entries
    oldest = fields.oldest
    next = fields.next
    pending = fields.pending
  }

  /// Takes the hardware's answer to a LOG-ASK.
  package init(answering nonce: HardwareLogNonce, _ answer: Message) throws(ProofError) {
    try self.init(answering: nonce, answer.bytes(of: .log))
  }

  /// The nonce, then the LOG: what a phone stores and sends.
  public var bytes: [UInt8] { nonce.bytes + message }

  /// Whether the part has the log's last entry, or says that there is none from its first on.
  public var isLast: Bool { entries.upperBound == next }
}
