// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// The 16 puzzles of a challenge of kind ``ChallengeKind/work``: docs/SPEC.md, section 16.
public struct WorkPuzzle: Sendable {
  /// The zero bits that each hash begins with. A challenge takes 16 times 2^level hashes on average.
  public static var levels: ClosedRange<UInt8> { CorePuzzle.puzzleLevels }

  private let seed: [UInt8]
  private let level: UInt8

  /// The puzzles of a challenge; nil for one of another kind.
  public init?(_ challenge: GateChallenge) {
    guard challenge.kind == .work else { return nil }
    seed = CorePuzzle.seed(challenge.bytes)
    level = challenge.level
  }

  /// Whether a text solves all of them.
  ///
  /// - Parameter text: 16 counters of 4 bytes each in base64url: 86 characters.
  /// - Returns: False for any other text, too.
  public func isSolved(by text: String) -> Bool {
    guard text.utf8.count == 86, let solution = Base64.decode(text, .url) else { return false }
    return CorePuzzle.isSolved(solution, seed, level: level)
  }
}

/// The birthday problems of a challenge of kind ``ChallengeKind/memoryWork``: docs/SPEC.md, section 16.
public struct MemoryPuzzle: Sendable {
  /// How many problems a challenge has.
  public static var levels: ClosedRange<UInt8> { CorePuzzle.pairingLevels }

  private let id: [UInt8]
  private let level: UInt8

  /// The problems of a challenge; nil for one of another kind.
  public init?(_ challenge: GateChallenge) {
    guard challenge.kind == .memoryWork else { return nil }
    id = challenge.bytes
    level = challenge.level
  }

  /// Whether a text solves all of them.
  ///
  /// - Parameter text: 42 bytes for each problem in base64url: 56 characters.
  /// - Returns: False for any other text, too.
  public func isSolved(by text: String) -> Bool {
    let count = CorePuzzle.pairingSolution
    guard text.utf8.count == count / 3 * 4 * Int(level), let solution = Base64.decode(text, .url)
    else { return false }
    return (0..<level).allSatisfy { index in
      let start = Int(index) * count
      return CorePuzzle.isPaired(solution[start..<start + count], id, index: index)
    }
  }
}
