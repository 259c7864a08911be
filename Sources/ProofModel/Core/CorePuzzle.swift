// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ProofCore

/// The puzzles of challenges of kind work, as the core solves and checks them. The ids have 60 bytes.
package enum CorePuzzle {
  package static var puzzleCount: Int { Int(PFC_PUZZLES) }
  package static var puzzleLevels: ClosedRange<UInt8> { 1...UInt8(PFC_PUZZLE_LEVEL_MAX) }
  package static var puzzleSolution: Int { 4 * Int(PFC_PUZZLES) }
  package static var pairingLevels: ClosedRange<UInt8> { 1...UInt8(PFC_PAIRING_LEVEL_MAX) }
  package static var pairingSolution: Int { 2 + 5 * Int(PFC_PAIRING_CHOSEN) / 2 }

  /// The seed of a challenge's 16 puzzles.
  package static func seed(_ id: [UInt8]) -> [UInt8] {
    precondition(id.count == CoreWire.challengeID)
    return unsafe [UInt8](unsafeUninitializedCapacity: Int(PFC_PUZZLE_SEED_BYTES)) { seed, count in
      unsafe pfc_puzzle_seed(seed.baseAddress, id)
      count = Int(PFC_PUZZLE_SEED_BYTES)
    }
  }

  /// Searches with at most `tries` hashes from a counter on. Returns the number of hashes, and whether the counter,
  /// which moves on, solves the puzzle.
  package static func search(
    _ counter: inout UInt32, _ seed: [UInt8], index: UInt32, level: UInt8, tries: UInt32
  ) -> (hashes: UInt32, isSolved: Bool) {
    precondition(seed.count == Int(PFC_PUZZLE_SEED_BYTES))
    var hashes: UInt32 = 0
    let result = unsafe CoreResult(
      pfc_puzzle_search(&counter, &hashes, seed, index, UInt32(level), tries))
    precondition(result != .argument, "The caller gave an index, a level or tries out of range.")
    return (hashes, result == .ok)
  }

  /// Whether 64 bytes solve all puzzles.
  package static func isSolved(_ solution: [UInt8], _ seed: [UInt8], level: UInt8) -> Bool {
    guard solution.count == puzzleSolution, puzzleLevels.contains(level) else { return false }
    return unsafe pfc_puzzle_check(solution, seed, UInt32(level)) == PFC_OK.rawValue
  }

  /// Whether 42 bytes solve one birthday problem.
  package static func isPaired(_ solution: ArraySlice<UInt8>, _ id: [UInt8], index: UInt8) -> Bool {
    guard solution.count == pairingSolution, id.count == CoreWire.challengeID else { return false }
    return unsafe solution.withUnsafeBufferPointer { solution in
      unsafe pfc_pairing_check(solution.baseAddress, id, index) == PFC_OK.rawValue
    }
  }
}

/// The 32 MiB in which birthday problems are solved, one attempt at a time.
///
/// `@unchecked Sendable` because a solver has it alone: each problem takes a room of its own.
@safe package final class PairingRoom: @unchecked Sendable {
  private let room: UnsafeMutablePointer<pfc_pairing_room>

  /// Takes the memory; nil if the system has none to give.
  package init?() {
    guard let memory = unsafe malloc(MemoryLayout<pfc_pairing_room>.size) else { return nil }
    unsafe room = memory.bindMemory(to: pfc_pairing_room.self, capacity: 1)
  }

  deinit { unsafe free(room) }

  /// Makes one attempt at one birthday problem. Nil if it has no solution.
  package func pair(_ id: [UInt8], index: UInt8, attempt: UInt16) -> [UInt8]? {
    precondition(id.count == CoreWire.challengeID)
    var solution = [UInt8](repeating: 0, count: CorePuzzle.pairingSolution)
    let result = unsafe pfc_pairing_solve(&solution, room, id, index, attempt)
    return result == PFC_OK.rawValue ? solution : nil
  }
}
