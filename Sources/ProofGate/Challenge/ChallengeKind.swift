// SPDX-License-Identifier: Apache-2.0

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

  /// The word of rules and verdicts.
  public var word: String {
    switch self {
    case .token: "token"
    case .proof: "proof"
    case .work: "work"
    case .memoryWork: "memory"
    case .person: "person"
    }
  }

  /// The levels that a challenge of this kind may have.
  public var levels: ClosedRange<UInt8> {
    switch self {
    case .token, .proof: 0...0
    // How many tries the session had before this one.
    case .person: 0...9
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

  /// The words of the kinds, in the order of their numbers.
  public var words: [String] {
    ChallengeKind.allCases.filter { contains(ChallengeKinds($0)) }.map(\.word)
  }

  /// All kinds.
  static let all = ChallengeKinds(rawValue: 0x1f)
}
