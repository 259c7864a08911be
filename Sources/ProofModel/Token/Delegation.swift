// SPDX-License-Identifier: Apache-2.0

/// A grant by which the owner of a lock lends command classes to another app, without a network
/// (SPEC.md, section 19).
///
/// The owner's app makes it from a fresh measurement. The member's app, the owner's, or any other
/// brings the bytes to the lock:
///
///     let delegation = try Delegation(
///       of: classes, uses: 5, until: end, to: memberToken, serial: serial,
///       from: rights, token: token.digest)
///     show(delegation.text)  // a QR code of 128 characters
///
/// It is not secret: every courier can read and bring it, and the lock refuses a changed one.
public struct Delegation: Sendable, Hashable {
  /// The number of bytes.
  public static var byteCount: Int { CoreDelegation.byteCount }
  /// The highest number of commands that one delegation lends.
  public static var usesMax: UInt16 { CoreDelegation.usesMax }

  /// The bytes that go to the lock.
  public let bytes: [UInt8]
  /// The app that lends.
  public let owner: InstanceID
  /// The token of the app that borrows.
  public let member: TokenDigest
  /// The generation of the owner's token.
  public let generation: UInt32
  /// The number among the owner's delegations to this member. A higher one ends the lower ones.
  public let serial: UInt32
  /// The classes that it lends; none where it takes back.
  public let classes: CommandClasses
  /// The number of commands that it lends; 0 where it takes back.
  public let uses: UInt16
  /// The last second in which it counts; nil where it takes back.
  public let end: UnixTime?

  private let hint: [UInt8]

  /// Whether it takes back what this owner lent to this member.
  public var takesBack: Bool { classes.isEmpty }

  /// The bytes in base64url: 128 characters.
  public var text: String { Base64.encode(bytes, .url) }

  /// The message for the lock.
  public var message: Message { Message(encoded: .grant, bytes) }

  /// The nonce of the receipt that answers it: the member's where it lends, the owner's where it
  /// takes back.
  public var nonce: ProofNonce { CoreDelegation.digest(of: bytes) }

  /// Lends classes of commands.
  ///
  /// - Parameters:
  ///   - classes: The classes, at least one. The lock takes those that the owner's token lets it
  ///     delegate.
  ///   - uses: The number of commands, 1 to ``usesMax``.
  ///   - end: The last second in which it counts, after 1970 began; a fraction of a second is not
  ///     written.
  ///   - member: The digest of the token that the other app holds at this lock.
  ///   - serial: At least 1, and higher than before to this member: the time in seconds, or one
  ///     more than the last one, whichever is higher.
  ///   - rights: The owner's rights at the lock, with secrets of a fresh measurement.
  ///   - token: The digest of the owner's token.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``.
  public init(
    of classes: CommandClasses, uses: UInt16, until end: UnixTime, to member: TokenDigest,
    serial: UInt32, from rights: MeasurementGrant, token: TokenDigest
  ) throws(ProofError) {
    guard !classes.isEmpty else {
      throw .outOfRange(field: "set of classes to lend", value: "empty", allowed: "one or more")
    }
    guard uses > 0, uses <= Self.usesMax else {
      throw .outOfRange(
        field: "number of uses to lend", value: "\(uses)", allowed: "1 to \(Self.usesMax)")
    }
    guard end.seconds > 0 else {
      throw .outOfRange(field: "end", value: "\(end)", allowed: "Unix seconds from 1")
    }
    try self.init(classes, uses, end.unsigned, member, serial, rights, token)
  }

  /// Takes back what the owner lent to a member.
  ///
  /// - Parameters:
  ///   - member: The digest that the delegation named, or of the token that the member holds now.
  ///   - serial: Higher than that of each delegation to end.
  ///   - rights: The owner's rights at the lock, with secrets of a fresh measurement.
  ///   - token: The digest of the owner's token.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``.
  public init(
    takingBackFrom member: TokenDigest, serial: UInt32, from rights: MeasurementGrant,
    token: TokenDigest
  ) throws(ProofError) {
    try self.init([], 0, 0, member, serial, rights, token)
  }

  private init(
    _ classes: CommandClasses, _ uses: UInt16, _ end: UInt64, _ member: TokenDigest,
    _ serial: UInt32, _ rights: MeasurementGrant, _ token: TokenDigest
  ) throws(ProofError) {
    guard serial > 0 else {
      throw .outOfRange(field: "serial", value: "0", allowed: "1 to 4294967295")
    }
    let fields = CoreDelegation.Fields(
      owner: rights.instance, member: member, generation: rights.generation, serial: serial,
      classes: classes, uses: uses, end: end)
    try self.init(
      CoreDelegation.make(fields, at: rights.hardware, rights.secrets.core, token))
  }

  /// Reads the bytes of a delegation. Only the lock can tell whether its owner made them.
  ///
  /// - Parameter bytes: As many as ``byteCount``.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``, ``ProofError/tooNew(_:)``.
  public init(_ bytes: [UInt8]) throws(ProofError) {
    let fields = try CoreDelegation.read(bytes)
    self.bytes = bytes
    owner = fields.owner
    member = fields.member
    generation = fields.generation
    serial = fields.serial
    classes = fields.classes
    uses = fields.uses
    end = fields.classes.isEmpty ? nil : UnixTime(clamping: fields.end)
    hint = fields.hint
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
  public func hints(at hardware: HardwareID) -> Bool { hardware.bytes.starts(with: hint) }

  /// Checks that the owner of these rights made it.
  ///
  /// - Parameters:
  ///   - rights: The owner's rights at the lock.
  ///   - token: The digest of the owner's token.
  /// - Throws: ``ProofError/notForThisHardware(_:)``, ``ProofError/differs``.
  package func check(
    with rights: MeasurementGrant, token: TokenDigest
  ) throws(ProofError) {
    guard hints(at: rights.hardware) else { throw .notForThisHardware("delegation") }
    try CoreDelegation.check(bytes, rights.secrets.core, token)
  }
}

extension Delegation: CustomStringConvertible {
  /// The owner, the member's token, and the loan.
  public var description: String {
    takesBack
      ? "delegation: \(owner) takes back from token \(member), serial \(serial)"
      : "delegation: \(owner) lends \(uses) uses to token \(member), serial \(serial)"
  }
}
