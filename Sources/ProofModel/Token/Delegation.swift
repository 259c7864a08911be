// SPDX-License-Identifier: Apache-2.0

/// A grant by which the owner of a lock lends command classes to another app, without a network
/// (SPEC.md, section 19).
///
/// The owner's app makes it from a fresh measurement. The member's app, the owner's, or any other
/// brings the bytes to the lock:
///
///     let delegation = try await door.lend(CommandClasses(0), to: member, uses: 5, until: end)
///     show(delegation.text)  // a QR code of 128 characters
///
/// It is not secret: every courier can read and bring it, and the lock refuses a changed one.
public struct Delegation: Sendable, Hashable {
  /// The number of bytes.
  public static var byteCount: Int { CoreDelegation.byteCount }

  /// The bytes that go to the lock.
  public let bytes: [UInt8]
  /// The app that lends.
  public let owner: InstanceID
  /// The generation of the owner's token.
  public let generation: UInt32
  /// The rights that it lends, or takes back.
  public let loan: Loan

  private let hint: [UInt8]

  /// The bytes in base64url: 128 characters.
  public var text: String { Base64.encode(bytes, .url) }

  /// The message for the lock.
  public var message: Message { Message(encoded: .grant, bytes) }

  /// The nonce of the receipt that answers it: the member's where it lends, the owner's where it
  /// takes back.
  public var nonce: ProofNonce { CoreDelegation.digest(of: bytes) }

  /// Lends, or takes back.
  ///
  /// - Parameters:
  ///   - loan: What is lent.
  ///   - lender: The owner's app at the lock.
  ///   - secrets: The secrets that the owner's app and the lock share, made from a fresh measurement.
  public init(_ loan: Loan, from lender: Lender, with secrets: HardwareSecrets) {
    self.init(loan, from: lender, with: secrets, releasing: { _ in })
  }

  /// Lends, and gives the tag to a closure once its MAC is done. The tag as the closure leaves it goes
  /// into the bytes.
  package init<E: Error>(
    _ loan: Loan, from lender: Lender, with secrets: HardwareSecrets,
    releasing release: (inout Proof) throws(E) -> Void
  ) throws(E) {
    let (made, tag) = CoreDelegation.make(loan, from: lender, secrets.core)
    var released = tag
    try release(&released)
    bytes = made.dropLast(Proof.byteCount) + released.bytes
    owner = lender.instance
    generation = lender.generation
    self.loan = loan
    hint = Array(lender.hardware.bytes.prefix(4))
  }

  /// Reads the bytes of a delegation. Only the lock can tell whether its owner made them.
  ///
  /// - Parameter bytes: As many as ``byteCount``.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``, ``ProofError/tooNew(_:)``.
  public init(_ bytes: [UInt8]) throws(ProofError) {
    (hint, owner, generation, loan) = try CoreDelegation.read(bytes)
    self.bytes = bytes
  }

  /// Reads the text of a delegation.
  ///
  /// - Parameter text: 128 characters of base64url.
  /// - Throws: As ``init(_:)``; ``ProofError/malformed(_:byteCount:)`` if it is no base64url.
  public init(text: String) throws(ProofError) {
    guard let bytes = Base64.decode(text, .url) else {
      throw .malformed("delegation", byteCount: text.utf8.count)
    }
    try self.init(bytes)
  }

  /// Whether it may be for this hardware: it carries the first four bytes of the id.
  ///
  /// - Parameter hardware: The hardware.
  /// - Returns: Whether they are the same.
  public func hints(at hardware: HardwareID) -> Bool { hardware.bytes.starts(with: hint) }

  /// Checks the lock's answer.
  ///
  /// - Parameters:
  ///   - answer: The answer that came over the link.
  ///   - secrets: The secrets that the lock shares with the member's app; with the owner's where it
  ///     takes back.
  /// - Returns: The authenticated verdict, with the number of uses that are left.
  /// - Throws: ``ProofError/unauthenticated(_:)``, ``ProofError/answerToAnother(expected:actual:)``,
  ///   ``ProofError/differs(_:)``.
  public func receipt(
    of answer: Answer, with secrets: HardwareSecrets
  ) throws(ProofError) -> Receipt {
    try Receipt(answer, to: nonce, counter: 0, with: secrets)
  }
}

extension Delegation {
  /// Checks that the owner of these secrets made it, as the lock does.
  package func check(
    with secrets: HardwareSecrets, at hardware: HardwareID, token: TokenDigest
  ) throws(ProofError) {
    guard hints(at: hardware) else { throw .notForThisHardware("delegation") }
    try CoreDelegation.check(bytes, secrets.core, token)
  }
}

extension Delegation: CustomStringConvertible {
  /// The owner, the member's token, and the loan.
  public var description: String { "delegation: \(owner) \(loan)" }
}
