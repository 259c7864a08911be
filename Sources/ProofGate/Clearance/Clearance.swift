// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
public import ProofModel

/// A gate's note that a client answered challenges: docs/SPEC.md, section 16. It authorises nothing by itself.
public struct Clearance: Sendable, Hashable {
  /// How many bytes a clearance has.
  public static let byteCount = ClearanceWire.byteCount
  /// How many characters it has in a header or a cookie.
  public static let characterCount = ClearanceWire.characterCount

  /// The party that holds it.
  public enum Holder: Sendable, Hashable {
    /// An app installation, by its handle. It counts only beside a valid proof of the same handle.
    case app(GateHandle)
    /// A session of a page or another client, by 16 random bytes. It counts only from its address prefix.
    case session([UInt8])
  }

  /// The kinds of challenges that were answered.
  public let solved: ChallengeKinds
  /// The highest level of work (a) that was solved; 0 for none.
  public let workLevel: UInt8
  /// The highest level of work (b) that was solved; 0 for none.
  public let memoryWorkLevel: UInt8
  /// The holder.
  public let holder: Holder
  /// The last second in which it counts.
  public let expiry: UnixTime
  /// Rises with each clearance that takes this one's place.
  public let serial: UInt32
  /// The clearance in base64url.
  public let text: String
  let bytes: [UInt8]

  static let label: StaticString = "pfc1.clearance.."

  /// Reads the fields of a clearance whose tag was checked; nil for fields that no gate writes.
  init?(_ bytes: [UInt8]) {
    let kinds = ChallengeKinds(rawValue: bytes[ClearanceWire.kindsAt])
    let flags = bytes[ClearanceWire.flagsAt]
    guard kinds.isSubset(of: .all), !kinds.isEmpty, flags & ~ClearanceWire.appFlag == 0,
      bytes[ClearanceWire.flagsAt + 1] == 0
    else { return nil }
    let name = Array(bytes[ClearanceWire.holderAt..<ClearanceWire.tagAt])
    if flags & ClearanceWire.appFlag != 0 {
      guard let handle = try? GateHandle(name) else { return nil }
      holder = .app(handle)
    } else {
      holder = .session(name)
    }
    solved = kinds
    workLevel = bytes[ClearanceWire.levelsAt] & ClearanceWire.workLevelMask
    memoryWorkLevel = bytes[ClearanceWire.levelsAt] >> ClearanceWire.workLevelBits
    expiry = UnixTime(
      clamping: UInt32(littleEndianBytes: bytes[ClearanceWire.expiryAt..<ClearanceWire.startAt]))
    serial = UInt32(littleEndianBytes: bytes[ClearanceWire.serialAt..<ClearanceWire.hostAt])
    text = Base64.encode(bytes, .url)
    self.bytes = bytes
  }

  /// The mark of the process that made the first one of its line.
  var start: ArraySlice<UInt8> { bytes[ClearanceWire.startAt..<ClearanceWire.serialAt] }

  /// The name under which it is spent.
  var replayKey: ReplayKey { ReplayKey(label: Self.label, bytes) }
}

/// The challenges that a route wants answered. Each kind stands for itself alone: work never stands for a proof.
public struct ClearanceRule: Sendable, Hashable {
  /// One way to satisfy a rule.
  public struct Demand: Sendable, Hashable {
    /// The kind of challenge.
    public var kind: ChallengeKind
    /// The lowest level that suffices; 0 for kinds without levels.
    public var level: UInt8

    /// Names a kind and a level.
    public init(_ kind: ChallengeKind, level: UInt8 = 0) {
      self.kind = kind
      self.level = level
    }
  }

  /// The ways, of which one suffices. A rule without any is never satisfied.
  public var demands: [Demand]

  /// A rule that any of these demands satisfies.
  public init(_ demands: Demand...) { self.demands = demands }

  /// Whether a clearance satisfies one of the demands.
  ///
  /// - Parameter clearance: A clearance that was checked for this request.
  /// - Returns: Whether it does.
  public func isSatisfied(by clearance: Clearance) -> Bool {
    demands.contains { demand in
      guard clearance.solved.contains(ChallengeKinds(demand.kind)) else { return false }
      return switch demand.kind {
      case .work: clearance.workLevel >= demand.level
      case .memoryWork: clearance.memoryWorkLevel >= demand.level
      case .token, .proof, .person: true
      }
    }
  }
}
