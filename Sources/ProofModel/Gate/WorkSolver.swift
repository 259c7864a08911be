// SPDX-License-Identifier: Apache-2.0

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
  package var hashes: UInt64 { before + problem.hashes }
  /// How many problems there are. Each of them may be solved on another thread.
  package var count: UInt8 { kind == .puzzles ? UInt8(CorePuzzle.puzzleCount) : level }

  private let id: [UInt8]
  private let seed: [UInt8]
  private var solution: [UInt8] = []
  private var index: UInt8 = 0
  private var before: UInt64 = 0
  private var problem: Problem

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
    problem = Problem(kind: kind, id: id, seed: seed, level: level, index: 0)
  }

  /// One of the problems, for a thread of its own. The solutions one after the other are the solution of the whole.
  ///
  /// - Parameter index: The problem's number, below ``count``.
  /// - Returns: The problem, of which nothing is solved yet.
  package func problem(_ index: UInt8) -> Problem {
    precondition(index < count)
    return Problem(kind: kind, id: id, seed: seed, level: level, index: index)
  }

  /// Works on: at most `tries` hashes, or one attempt at a birthday problem.
  ///
  /// - Parameter tries: How many hashes, at least 1.
  /// - Returns: The solution in base64url; nil if there is more to do.
  package mutating func step(_ tries: UInt32 = 100_000) -> String? {
    if index < count, case .solved(let part) = problem.step(tries) {
      solution += part
      index += 1
      if index < count {
        before += problem.hashes
        problem = problem(index)
      }
    }
    return index == count ? Base64.encode(solution, .url) : nil
  }

  /// One puzzle, or one birthday problem.
  package struct Problem: Sendable {
    /// The result of one step.
    package enum Progress: Sendable {
      /// More steps are needed.
      case more
      /// The solution's bytes.
      case solved([UInt8])
      /// The system has no memory for a birthday problem.
      case outOfMemory
    }

    /// How many hashes it took so far, or, for a birthday problem, attempts.
    package private(set) var hashes: UInt64 = 0
    private let kind: Kind
    private let id: [UInt8]
    private let seed: [UInt8]
    private let level: UInt8
    private let index: UInt8
    private var counter: UInt32 = 0
    private var room: PairingRoom?

    fileprivate init(kind: Kind, id: [UInt8], seed: [UInt8], level: UInt8, index: UInt8) {
      self.kind = kind
      self.id = id
      self.seed = seed
      self.level = level
      self.index = index
    }

    /// Works on: at most `tries` hashes, or one attempt at a birthday problem.
    package mutating func step(_ tries: UInt32 = 100_000) -> Progress {
      kind == .puzzles ? search(tries) : pair()
    }

    private mutating func search(_ tries: UInt32) -> Progress {
      let (made, isSolved) = CorePuzzle.search(
        &counter, seed, index: UInt32(index), level: level, tries: tries)
      hashes += UInt64(made)
      guard isSolved else { return .more }
      return .solved(counter.littleEndianBytes)
    }

    private mutating func pair() -> Progress {
      guard let room = room ?? PairingRoom() else { return .outOfMemory }
      self.room = room
      hashes += 1
      defer { counter += 1 }
      guard let found = room.pair(id, index: index, attempt: UInt16(truncatingIfNeeded: counter))
      else { return .more }
      self.room = nil
      return .solved(found)
    }
  }
}
