// SPDX-License-Identifier: Apache-2.0

package import ProofBackend
internal import ProofModel

/// Bounds on the tries of persons, and on the processor time of pictures.
///
/// Memory is fixed: clients share 65,536 cells, found by a hash with a random seed for each process. A client without a
/// cell takes the one of its set whose hour ends first. Each node counts for itself, and a restart forgets.
package final class PersonBounds: Sendable {
  /// The bounds.
  package struct Settings: Sendable {
    /// The tries of one session: a challenge, and those that follow wrong answers to it.
    package var triesOfSession: UInt8 = 3
    /// The tries of one client in an hour. A client is an app's handle, or an address prefix.
    package var triesOfClient: UInt16 = 10
    /// The pictures of one client in an hour.
    package var picturesOfClient: UInt16 = 30
    /// Pictures in a second for all clients together that have done the picture's work.
    package var worked = OpeningBudget.Rate(burst: 60, perSecond: 30)
    /// Pictures in a second for all clients together that have not: pages without script.
    package var strangers = OpeningBudget.Rate(burst: 20, perSecond: 2)

    package init() {}
  }

  private static let setCount = 1 << 14
  private static let setSize = 4
  private static let seconds: UInt64 = 3600

  private struct Cell {
    var name = 0
    var end: UnixTime = 0
    var tries: UInt16 = 0
    var pictures: UInt16 = 0
  }

  private struct State {
    var cells = [Cell](repeating: Cell(), count: setCount * setSize)
    var worked = RateBucket()
    var strangers = RateBucket()
  }

  /// The bounds.
  package let settings: Settings
  private let state = CoreLock(State())

  package init(_ settings: Settings = Settings()) { self.settings = settings }

  /// Takes one try of a client; false if it has none left in this hour.
  func takeTry(of client: ChallengeClient, at now: UnixTime) -> Bool {
    let name = Self.name(of: client)
    return state.withLock { state in
      let place = Self.place(of: name, at: now, in: &state)
      guard state.cells[place].tries < settings.triesOfClient else { return false }
      state.cells[place].tries += 1
      return true
    }
  }

  /// Takes one picture of a client; false if it has none left, or if all together have had too many.
  ///
  /// - Parameters:
  ///   - client: The client.
  ///   - hasWorked: Whether it has done the picture's work. Those who have not can use up only a budget of their own.
  ///   - now: The time.
  /// - Returns: Whether it got one.
  func takePicture(of client: ChallengeClient, hasWorked: Bool, at now: UnixTime) -> Bool {
    let name = Self.name(of: client)
    return state.withLock { state in
      let place = Self.place(of: name, at: now, in: &state)
      guard state.cells[place].pictures < settings.picturesOfClient else { return false }
      let isTaken =
        hasWorked
        ? state.worked.take(settings.worked, at: now)
        : state.strangers.take(settings.strangers, at: now)
      guard isTaken else { return false }
      state.cells[place].pictures += 1
      return true
    }
  }

  /// The bytes of the table.
  static var byteCount: Int { setCount * setSize * MemoryLayout<Cell>.stride }

  private static func place(of name: Int, at now: UnixTime, in state: inout State) -> Int {
    let first = (name & (setCount - 1)) * setSize
    let set = first..<first + setSize
    if let held = set.first(where: { state.cells[$0].name == name && state.cells[$0].end > now }) {
      return held
    }
    let free = set.min { state.cells[$0].end < state.cells[$1].end } ?? first
    state.cells[free] = Cell(name: name, end: now + seconds)
    return free
  }

  private static func name(of client: ChallengeClient) -> Int {
    var hasher = Hasher()
    hasher.combine(client.bytes)
    return hasher.finalize()
  }
}
