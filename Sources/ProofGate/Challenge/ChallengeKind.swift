/// The way in which a challenge is answered. The numbers stand in each challenge.
public enum ChallengeKind: UInt8, Sendable, Hashable, CaseIterable {
  /// An attested app sends its ticket, then its gate token.
  case token = 5
  /// An attested app answers with a proof of its gate keys.
  case proof = 6
  /// Any client solves 16 puzzles of SHA-256: work (a).
  case work = 7
  /// Any client solves birthday problems, which need memory: work (b).
  case memoryWork = 8
  /// A person answers on a page.
  case person = 9

  /// The levels that a challenge of this kind may have.
  public var levels: ClosedRange<UInt8> {
    switch self {
    case .token, .proof, .person: 0...0
    case .work: WorkPuzzle.levels
    case .memoryWork: MemoryPuzzle.levels
    }
  }

  /// The life of a challenge in seconds, unless the gate's settings say otherwise.
  public var life: UInt32 {
    switch self {
    case .token, .proof: 60
    case .work, .memoryWork: 120
    case .person: 600
    }
  }
}

/// A set of kinds.
public struct ChallengeKinds: OptionSet, Sendable, Hashable {
  /// One bit for each kind, in the order of their numbers.
  public let rawValue: UInt8

  /// A set of bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// One kind.
  public init(_ kind: ChallengeKind) {
    rawValue = 1 << (kind.rawValue - ChallengeKind.token.rawValue)
  }

  /// All kinds.
  static let all = ChallengeKinds(rawValue: 0x1f)
}
