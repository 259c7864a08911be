/// Solves the work of a gate's challenge at the processor's speed, a piece at a time: docs/SPEC.md, section 16.
///
/// A caller stops between two pieces. Each puzzle is independent, so several threads may each solve some of them.
package struct WorkSolver: Sendable {
  /// The kind of work.
  package enum Kind: UInt8, Sendable {
    /// 16 puzzles of SHA-256: work (a).
    case puzzles = 7
    /// Birthday problems: work (b).
    case pairings = 8
  }

  /// The kind of work.
  package let kind: Kind
  /// Zero bits of a puzzle, or how many birthday problems there are.
  package let level: UInt8
  /// How many hashes it took so far, or, for birthday problems, attempts.
  package private(set) var hashes: UInt64 = 0

  private let id: [UInt8]
  private let seed: [UInt8]
  private var solution: [UInt8] = []
  private var index: UInt8 = 0
  private var counter: UInt32 = 0

  /// Takes a challenge of kind work.
  ///
  /// - Parameters:
  ///   - text: The id, 80 characters.
  ///   - puzzleLevelMax: The highest level of puzzles that the caller accepts: an unknown gate must not burn a battery.
  ///   - pairingLevelMax: The same for birthday problems.
  /// - Throws: ``ProofError/malformed(_:byteCount:)`` for another text; ``ProofError/outOfRange(field:value:allowed:)``
  ///   for a higher level.
  package init(
    _ text: String, puzzleLevelMax: UInt8 = 18, pairingLevelMax: UInt8 = 4
  ) throws(ProofError) {
    guard let id = Base64.decode(text, .url), id.count == CoreWire.challengeID, id[0] >> 4 == 1,
      let kind = Kind(rawValue: id[0] & 15)
    else { throw .malformed("challenge of kind work", byteCount: text.utf8.count) }
    let levels = kind == .puzzles ? CorePuzzle.puzzleLevels : CorePuzzle.pairingLevels
    let highest = min(
      kind == .puzzles ? puzzleLevelMax : pairingLevelMax, levels.upperBound)
    guard id[2] >= levels.lowerBound, id[2] <= highest else {
      throw .outOfRange(
        field: "level of a challenge", value: "\(id[2])",
        allowed: "\(levels.lowerBound) to \(highest)")
    }
    self.id = id
    self.kind = kind
    level = id[2]
    seed = CorePuzzle.seed(id)
  }

  /// Works on: at most `tries` hashes, or one attempt at a birthday problem.
  ///
  /// - Parameter tries: How many hashes, at least 1.
  /// - Returns: The solution in base64url; nil if there is more to do.
  package mutating func step(_ tries: UInt32 = 100_000) -> String? {
    switch kind {
    case .puzzles: search(tries)
    case .pairings: pair()
    }
    let count = kind == .puzzles ? UInt8(CorePuzzle.puzzleCount) : level
    return index == count ? Base64.encode(solution, .url) : nil
  }

  private mutating func search(_ tries: UInt32) {
    guard index < CorePuzzle.puzzleCount else { return }
    let (hashes, isSolved) = CorePuzzle.search(
      &counter, seed, index: UInt32(index), level: level, tries: tries)
    self.hashes += UInt64(hashes)
    guard isSolved else { return }
    solution += (0..<4).map { UInt8(truncatingIfNeeded: counter >> ($0 * 8)) }
    index += 1
    counter = 0
  }

  private mutating func pair() {
    guard index < level else { return }
    let found = CorePuzzle.pair(id, index: index, attempt: UInt16(truncatingIfNeeded: counter))
    hashes += 1
    counter += 1
    guard let found else { return }
    solution += found
    index += 1
    counter = 0
  }
}
