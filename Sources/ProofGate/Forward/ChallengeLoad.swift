// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofModel

/// Counts the challenges that were set and not answered, by sender and by route, in a fixed room.
///
/// The sender's own count raises the level of its next challenge first. The load of a route adds at most 2 bits, so that
/// a flood does not price other clients out. A new sender takes the place of the one with the fewest open challenges.
final class ChallengeLoad: Sendable {
  /// The most bits that a sender's own challenges add.
  static let senderBitsMax: UInt8 = 6
  /// The most bits that the load of a route adds.
  static let routeBitsMax: UInt8 = 2
  /// The highest level that is reached by adding bits: about a second on a phone.
  static let ceiling: UInt8 = 18
  /// The same for memory-hard work.
  static let memoryCeiling: UInt8 = 3

  private static let capacity = 4096
  /// Open challenges that add nothing, of a sender and of a route.
  private static let freeOfSender = 8.0
  private static let freeOfRoute = 500.0
  /// Seconds after which an open challenge counts half.
  private static let halfLife = 30.0

  private struct Count {
    var count = 0.0
    var time: UnixTime = 0

    mutating func add(_ more: Double, at now: UnixTime) {
      count = max(0, value(at: now) + more)
      time = max(time, now)
    }

    func value(at now: UnixTime) -> Double {
      guard now > time else { return count }
      // A shift of at most 60 half-lives: afterwards nothing is left.
      let halves = min(60, Double(now - time) / halfLife)
      var factor = 1.0
      for _ in 0..<Int(halves) { factor /= 2 }
      return count * factor * (1 - (halves - Double(Int(halves))) / 2)
    }

    /// The loss if the count is forgotten, in thousandths of an open challenge.
    func loss(at now: UnixTime) -> UInt64 { UInt64(min(value(at: now), 1e9) * 1000) }
  }

  private struct State {
    var senders = NameTable(capacity: capacity, first: Count())
    var routes = NameTable(capacity: capacity, first: Count())
  }

  private let state = CoreLock(State())

  /// The bytes of the room.
  static var byteCount: Int { 2 * NameTable<Count>.byteCount(of: capacity) }

  /// Counts a challenge that is set now.
  ///
  /// - Returns: The bits to add to its level.
  func set(_ client: ChallengeClient, on route: UInt32, at now: UnixTime) -> UInt8 {
    state.withLock { state in
      let sender = state.senders.place(of: HashedName(client.bytes)) { $0.loss(at: now) }
      let place = state.routes.place(of: HashedName(route)) { $0.loss(at: now) }
      state.senders[sender].add(1, at: now)
      state.routes[place].add(1, at: now)
      return Self.bits(state.senders[sender].count / Self.freeOfSender, Self.senderBitsMax)
        + Self.bits(state.routes[place].count / Self.freeOfRoute, Self.routeBitsMax)
    }
  }

  /// Counts a right answer.
  func answered(_ client: ChallengeClient, on route: UInt32, at now: UnixTime) {
    state.withLock { state in
      if let sender = state.senders.held(HashedName(client.bytes)) {
        state.senders[sender].add(-1, at: now)
      }
      if let place = state.routes.held(HashedName(route)) { state.routes[place].add(-1, at: now) }
    }
  }

  /// The level of a challenge. A rule's own level is never lowered.
  static func level(_ demand: ClearanceRule.Demand, adding bits: UInt8) -> UInt8 {
    switch demand.kind {
    case .work: max(demand.level, min(demand.level + bits, ceiling))
    case .memoryWork: max(demand.level, min(demand.level + bits / 2, memoryCeiling))
    case .token, .proof, .person: 0
    }
  }

  /// One bit for each doubling beyond what is free.
  private static func bits(_ times: Double, _ most: UInt8) -> UInt8 {
    var (bits, rest) = (0 as UInt8, times)
    while bits < most, rest >= 2 {
      bits += 1
      rest /= 2
    }
    return bits
  }
}
