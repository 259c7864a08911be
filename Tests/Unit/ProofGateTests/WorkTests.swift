// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofGate

/// Puzzles: solved natively, checked cheaply, and of even difficulty.
@Suite struct WorkTests {
  /// A challenge of a kind and level whose id is made from a number.
  private static func challenge(_ kind: ChallengeKind, _ level: UInt8, seed: Int) -> GateChallenge {
    let digest = Digest(hashing: seed.littleEndianBytes).bytes
    var bytes = digest + digest.prefix(28)
    bytes[0] = 0x10 | kind.rawValue
    bytes[2] = level
    return GateChallenge(kind, bytes)
  }

  @Test("A solution solves its own challenge and level, and no other")
  func solutions() throws {
    for kind in [ChallengeKind.work, .memoryWork] {
      let level: UInt8 = kind == .work ? 8 : 2
      let challenge = Self.challenge(kind, level, seed: 1)
      let solution = try solve(challenge.text).solution
      func isSolved(_ challenge: GateChallenge, _ text: String) -> Bool {
        WorkPuzzle(challenge)?.isSolved(by: text) ?? MemoryPuzzle(challenge)?.isSolved(by: text)
          ?? false
      }
      #expect(isSolved(challenge, solution))
      #expect(!isSolved(Self.challenge(kind, level, seed: 2), solution))
      #expect(!isSolved(Self.challenge(kind, level + 8, seed: 1), solution))
      for text in ["", solution + "AAAA", String(solution.dropLast(4)), "=" + solution.dropFirst()]
      {
        #expect(!isSolved(challenge, text))
      }
      guard kind == .memoryWork else { continue }
      for bit in 0..<42 * 8 { #expect(!isSolved(challenge, flipped(solution, bit: bit)), "\(bit)") }
    }
  }

  @Test(
    "Neither equal leaves, nor another order of the leaves, nor problems in another order are a solution"
  )
  func pairings() throws {
    let challenge = Self.challenge(.memoryWork, 2, seed: 3)
    let puzzle = try #require(MemoryPuzzle(challenge))
    let bytes = try #require(Base64.decode(try solve(challenge.text).solution, .url))
    #expect(puzzle.isSolved(by: Base64.encode(bytes, .url)))
    var leaves = Self.leaves(bytes)
    func isSolved(_ leaves: [UInt32]) -> Bool {
      puzzle.isSolved(by: Base64.encode(Self.bytes(bytes, leaves), .url))
    }
    #expect(isSolved(leaves))
    for half in [1, 2, 4, 8] {
      let swapped =
        Array(leaves[half..<2 * half]) + Array(leaves[..<half]) + Array(leaves[(2 * half)...])
      #expect(!isSolved(swapped))
    }
    #expect(!isSolved([UInt32](repeating: leaves[0], count: 16)))
    leaves.replaceSubrange(8..<16, with: leaves[..<8])
    #expect(!isSolved(leaves))
    #expect(!puzzle.isSolved(by: Base64.encode(bytes.suffix(42) + bytes.prefix(42), .url)))
  }

  /// The 16 leaves of the first problem.
  private static func leaves(_ bytes: [UInt8]) -> [UInt32] {
    stride(from: 2, to: 42, by: 5).flatMap { at in
      let both = (0..<5).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[at + $1]) }
      return [UInt32(both & 0xfffff), UInt32(both >> 20)]
    }
  }

  private static func bytes(_ bytes: [UInt8], _ leaves: [UInt32]) -> [UInt8] {
    var bytes = bytes
    for pair in 0..<8 {
      let both = UInt64(leaves[2 * pair]) | UInt64(leaves[2 * pair + 1]) << 20
      bytes.replaceSubrange(2 + 5 * pair..<7 + 5 * pair, with: both.littleEndianBytes.prefix(5))
    }
    return bytes
  }

  @Test(
    "The number of hashes that work (a) takes varies little: the 95th percentile is below 1.6 times the median"
  )
  func statistics() throws {
    let counts = try (0..<400).map { seed in
      Int(try solve(Self.challenge(.work, 6, seed: seed).text).hashes)
    }.sorted()
    let (median, high) = (counts[counts.count / 2], counts[counts.count * 95 / 100])
    // 16 puzzles of 2^6 hashes each, on average.
    #expect((922...1126).contains(counts.reduce(0, +) / counts.count))
    #expect(Double(high) / Double(median) < 1.6, "\(median) \(high)")
  }

  @Test("A solver works in pieces, and a caller can stop between two of them")
  func pieces() throws {
    let text = Self.challenge(.work, 12, seed: 5).text
    var solver = try WorkSolver(text)
    #expect(solver.step(10) == nil && solver.hashes == 10)
    #expect(solver.step(10) == nil && solver.hashes == 20)
    var solution: String?
    while solution == nil { solution = solver.step(1000) }
    #expect(solution == (try solve(text).solution))
    #expect(solver.step() == solution)
  }

  @Test("A solver refuses other texts, and levels above what its caller accepts")
  func ceilings() throws {
    for text in ["", "A", Self.challenge(.person, 0, seed: 1).text] {
      #expect(throws: ProofError.self) { try WorkSolver(text) }
    }
    for (kind, level) in [(ChallengeKind.work, UInt8(19)), (.work, 0), (.memoryWork, 5)] {
      #expect(throws: ProofError.self) { try WorkSolver(Self.challenge(kind, level, seed: 1).text) }
    }
    let hard = Self.challenge(.work, 24, seed: 1).text
    #expect(throws: ProofError.self) { try WorkSolver(hard) }
    #expect(try WorkSolver(hard, puzzleLevelMax: 24).level == 24)
  }
}
