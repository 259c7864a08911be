// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The use of a salt by one report: all that ``Store/use(_:)`` judges and writes in one transaction.
public struct SaltUse: Sendable, Hashable {
  /// The device that the salt was given to.
  public var device: InstanceID
  /// The salt.
  public var salt: Salt
  /// The salt's end, as the salt's own MAC proves it.
  public var expiry: UnixTime
  /// The time. A store with a clock of its own, which several machines share, judges
  /// ``expiry`` by that clock too: the salt must be unexpired by both.
  public var time: UnixTime
  /// SHA-256 of the whole report.
  public var report: Digest
  /// The answer to the report, sealed. Never empty.
  public var answer: [UInt8]
  /// The store's revision that the report was judged under.
  public var revision: UInt64
  /// The report's facts about the device; nil if the report was refused.
  public var sighting: DeviceSighting?

  /// A use of these parts.
  public init(
    of salt: Salt, by device: InstanceID, expiring expiry: UnixTime, at time: UnixTime,
    report: Digest,
    answer: [UInt8], revision: UInt64, sighting: DeviceSighting? = nil
  ) {
    self.device = device
    self.salt = salt
    self.expiry = expiry
    self.time = time
    self.report = report
    self.answer = answer
    self.revision = revision
    self.sighting = sighting
  }
}

/// A report's facts about its device.
public struct DeviceSighting: Sendable, Hashable {
  /// The version of the device's row that the report was judged by; 0 for a device without row.
  public var version: UInt64
  /// The generation of the measurement that the report gave; 0 for none. It becomes the device's if
  /// it is higher.
  public var generation: UInt32
  /// Whether the report counts only if the generation is above the device's.
  public var mustRaiseGeneration: Bool
  /// The gate whose line the generation is of; nil for the device's own, which opens locks.
  public var gate: GateID?
  /// The service's note about the device.
  public var note: [UInt8]
  /// The change of the device's secure strings.
  public var strings: StringsChange

  /// The change of the row of a device's secure strings.
  public enum StringsChange: Sendable, Hashable {
    /// Leaves the row.
    case none
    /// Writes the row.
    case put([UInt8])
    /// Removes the row.
    case remove
  }

  /// A sighting of these parts.
  public init(
    over version: UInt64, generation: UInt32 = 0, mustRaiseGeneration: Bool = false,
    gate: GateID? = nil, note: [UInt8], strings: StringsChange = .none
  ) {
    self.version = version
    self.generation = generation
    self.mustRaiseGeneration = mustRaiseGeneration
    self.gate = gate
    self.note = note
    self.strings = strings
  }
}

/// The outcome of a use.
public enum SaltOutcome: Sendable, Hashable {
  /// This call spent the salt.
  case used
  /// The same report spent the salt before, and this is the stored answer.
  case again([UInt8])
  /// The salt has expired, another report spent it, or the generation was not raised.
  case stale
  /// The configuration or the device's row changed since the report was judged: judge again.
  case changed
}

/// A salt and its end, which say where its mark stands.
public struct SaltPlace: Sendable, Hashable {
  /// The salt.
  public let salt: Salt
  /// The salt's end.
  public let expiry: UnixTime

  /// Makes a place.
  ///
  /// - Parameters:
  ///   - salt: The salt.
  ///   - expiry: The salt's end.
  public init(_ salt: Salt, expiring expiry: UnixTime) {
    self.salt = salt
    self.expiry = expiry
  }

  /// The table of ``SpentRing`` that has the mark.
  package var slot: Int { SpentRing.slot(of: SpentRing.minute(of: expiry)) }
}

/// The answer of ``Store/glance(at:and:)``.
public struct StoreGlance: Sendable, Hashable {
  /// The store's revision.
  public let revision: UInt64
  /// The row of the device; nil if it is unknown.
  public let device: DeviceRow?
  /// The mark of the salt; nil if it was not spent, or was not asked for.
  public let mark: SpentMark?

  /// Makes an answer.
  ///
  /// - Parameters:
  ///   - revision: The store's revision.
  ///   - device: The row of the device.
  ///   - mark: The mark of the salt.
  public init(revision: UInt64, device: DeviceRow?, mark: SpentMark? = nil) {
    self.revision = revision
    self.device = device
    self.mark = mark
  }
}

/// The mark of a spent salt.
public struct SpentMark: Sendable, Hashable {
  /// SHA-256 of the report that spent it.
  public var report: Digest
  /// The answer to that report, sealed; empty if the report lost its generation to another one.
  public var answer: [UInt8]

  /// A mark of these parts.
  public init(_ report: Digest, answer: [UInt8]) {
    self.report = report
    self.answer = answer
  }

  /// The outcome for a report that comes under the spent salt.
  public func outcome(for report: Digest) -> SaltOutcome {
    self.report == report && !answer.isEmpty ? .again(answer) : .stale
  }
}

/// The ring of tables that hold the marks of spent salts.
///
/// A slot holds the marks of salts that expire in one minute, and is emptied as a whole. The slot
/// follows from the salt's authenticated expiry alone. A clock at redemption would let one salt be
/// redeemed in two slots, on both sides of a minute.
public enum SpentRing {
  /// The number of slots. Salts live 10 minutes at most, so 11 slots are in use at a time.
  public static let slotCount = 64

  /// The minute of an expiry, counted from the Unix epoch.
  public static func minute(of expiry: UnixTime) -> Int64 { max(0, expiry.seconds) / 60 }

  /// The slot of a minute.
  public static func slot(of minute: Int64) -> Int { Int(minute % Int64(slotCount)) }

  /// The bytes of a salt that make its place, the highest first: of the second in which it expires,
  /// then its noise. docs/SERVICE.md, section 4, has a salt's layout.
  static let placeBytes = [0, 7, 6]

  /// A number that is near for salts that were made one after the other. Other salts may share it.
  static func place(of salt: Salt) -> Int64 {
    let bytes = salt.bytes
    return placeBytes.reduce(0) { $0 * 256 + Int64(bytes[$1]) }
  }
}
