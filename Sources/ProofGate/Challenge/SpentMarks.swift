// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// Challenges that were answered wrongly at this node, in a fixed room of 1 MiB.
///
/// A mark that has no room replaces another one of its set. A wrong answer can then be followed by another try, which
/// gains nothing: the answers of the kinds that are marked here cannot be guessed. Right answers, and each answer of a
/// person, stand in the replay store instead.
final class SpentMarks: Sendable {
  private static let setCount = 1 << 15
  private static let setSize = 4

  private struct State {
    var marks = [UInt64](repeating: 0, count: setCount * setSize)
    var next: UInt8 = 0
  }

  private let state = CoreLock(State())

  /// The bytes of the room.
  static var byteCount: Int { setCount * setSize * MemoryLayout<UInt64>.size }

  /// Whether a key is marked.
  func contains(_ key: ReplayKey) -> Bool {
    let (mark, first) = Self.place(of: key)
    return state.withLock { state in
      (first..<first + Self.setSize).contains { state.marks[$0] == mark }
    }
  }

  /// Marks a key.
  func insert(_ key: ReplayKey) {
    let (mark, first) = Self.place(of: key)
    state.withLock { state in
      let places = first..<first + Self.setSize
      guard !places.contains(where: { state.marks[$0] == mark }) else { return }
      let place = places.first { state.marks[$0] == 0 } ?? first + Int(state.next) % Self.setSize
      state.marks[place] = mark
      state.next &+= 1
    }
  }

  /// The mark is never 0, which stands for none. Keys are digests, so their bytes are evenly spread.
  private static func place(of key: ReplayKey) -> (mark: UInt64, first: Int) {
    key.withBytes { bytes in
      let mark = (0..<8).reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[$1]) } | 1
      let set = (8..<10).reduce(0) { $0 << 8 | Int(bytes[$1]) } % setCount
      return (mark, set * setSize)
    }
  }
}
