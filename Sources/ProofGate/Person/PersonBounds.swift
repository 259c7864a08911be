// SPDX-License-Identifier: Apache-2.0

package import ProofBackend
internal import ProofModel

/// Bounds on the tries of persons, and on the processor time of pictures.
///
/// Memory is fixed: 65,536 clients are counted at the same time. A new one takes the place of the one with the fewest
/// tries and pictures in its hour. Each node counts for itself, and a restart forgets.
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

  private static let capacity = 1 << 16
  private static let seconds: UInt64 = 3600

  private struct Hour {
    var end: UnixTime = 0
    var tries: UInt16 = 0
    var pictures: UInt16 = 0
  }

  private struct State {
    var hours = NameTable(capacity: capacity, first: Hour())
    var worked = RateBucket()
    var strangers = RateBucket()
  }

  /// The bounds.
  package let settings: Settings
  private let state = CoreLock(State())

  package init(_ settings: Settings = Settings()) { self.settings = settings }

  /// Takes one try of a client; false if it has none left in this hour.
  func takeTry(of client: ChallengeClient, at now: UnixTime) -> Bool {
    state.withLock { state in
      let place = place(of: client, at: now, in: &state.hours)
      guard state.hours[place].tries < settings.triesOfClient else { return false }
      state.hours[place].tries += 1
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
    state.withLock { state in
      let place = place(of: client, at: now, in: &state.hours)
      guard state.hours[place].pictures < settings.picturesOfClient else { return false }
      let isTaken =
        hasWorked
        ? state.worked.take(settings.worked, at: now)
        : state.strangers.take(settings.strangers, at: now)
      guard isTaken else { return false }
      state.hours[place].pictures += 1
      return true
    }
  }

  /// The bytes of the table.
  static var byteCount: Int { NameTable<Hour>.byteCount(of: capacity) }

  private func place(
    of client: ChallengeClient, at now: UnixTime, in hours: inout NameTable<Hour>
  ) -> Int {
    let place = hours.place(of: HashedName(client.bytes)) { hour in
      guard hour.end > now else { return 0 }
      // The part of its tries and the one of its pictures weigh the same.
      return UInt64(hour.tries) * UInt64(settings.picturesOfClient)
        + UInt64(hour.pictures) * UInt64(settings.triesOfClient)
    }
    if hours[place].end <= now { hours[place] = Hour(end: now + Self.seconds) }
    return place
  }
}
