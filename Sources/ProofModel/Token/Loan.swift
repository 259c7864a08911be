// SPDX-License-Identifier: Apache-2.0

extension Delegation {
  /// The rights that an owner lends to a member, or takes back.
  public struct Loan: Sendable, Hashable {
    /// The highest number of commands that one delegation lends.
    public static var usesMax: UInt16 { CoreDelegation.usesMax }

    /// The token of the app that borrows, at the lock.
    public let member: TokenDigest
    /// The number among the owner's delegations to this member. A higher one ends the lower ones.
    public let serial: UInt32
    /// The classes that it lends; none where it takes back.
    public let classes: CommandClasses
    /// The number of commands that it lends; 0 where it takes back.
    public let uses: UInt16
    /// The last second in which it counts; nil where it takes back.
    public let end: UnixTime?

    /// Whether it takes back what this owner lent to this member.
    public var takesBack: Bool { classes.isEmpty }

    /// Lends classes of commands.
    ///
    /// - Parameters:
    ///   - classes: The classes, at least one. The lock takes those that the owner's token lets it
    ///     delegate.
    ///   - member: The digest of the token that the other app holds at this lock.
    ///   - uses: The number of commands, 1 to ``usesMax``.
    ///   - end: The last second in which it counts, after 1970 began; a fraction of a second is not
    ///     written.
    ///   - serial: At least 1, and higher than before to this member: the time in seconds, or one
    ///     more than the last one, whichever is higher.
    /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``.
    public init(
      of classes: CommandClasses, to member: TokenDigest, uses: UInt16, until end: UnixTime,
      serial: UInt32
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
      try Self.check(serial)
      self.init(member: member, serial: serial, classes: classes, uses: uses, end: end.whole)
    }

    /// Takes back what the owner lent to a member.
    ///
    /// - Parameters:
    ///   - member: The digest that the delegation named, or of the token that the member holds now.
    ///   - serial: Higher than that of each delegation to end.
    /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``.
    public init(takingBackFrom member: TokenDigest, serial: UInt32) throws(ProofError) {
      try Self.check(serial)
      self.init(member: member, serial: serial, classes: [], uses: 0, end: nil)
    }

    /// Takes fields that are in their ranges.
    init(
      member: TokenDigest, serial: UInt32, classes: CommandClasses, uses: UInt16, end: UnixTime?
    ) {
      self.member = member
      self.serial = serial
      self.classes = classes
      self.uses = uses
      self.end = end
    }

    private static func check(_ serial: UInt32) throws(ProofError) {
      guard serial > 0 else {
        throw .outOfRange(field: "serial", value: "0", allowed: "1 to \(UInt32.max)")
      }
    }
  }

  /// An owner's app at one lock.
  public struct Lender: Sendable, Hashable {
    /// The app.
    public let instance: InstanceID
    /// The lock.
    public let hardware: HardwareID
    /// The generation of the token that the lock holds of this app.
    public let generation: UInt32
    /// The digest of that token.
    public let token: TokenDigest

    /// Names an owner's app.
    ///
    /// - Parameters:
    ///   - instance: The app.
    ///   - hardware: The lock.
    ///   - generation: The token's generation, at least 1.
    ///   - token: The digest of the token that the lock holds of this app.
    /// - Throws: ``ProofError/outOfRange(field:value:allowed:)``.
    public init(
      _ instance: InstanceID, at hardware: HardwareID, generation: UInt32, token: TokenDigest
    ) throws(ProofError) {
      guard generation > 0 else {
        throw .outOfRange(field: "generation", value: "0", allowed: "1 to \(UInt32.max)")
      }
      self.instance = instance
      self.hardware = hardware
      self.generation = generation
      self.token = token
    }
  }
}

extension Delegation.Loan: CustomStringConvertible {
  /// The member's token, and what is lent.
  public var description: String {
    takesBack
      ? "takes back from token \(member), serial \(serial)"
      : "lends \(uses) uses to token \(member), serial \(serial)"
  }
}
