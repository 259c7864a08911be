// SPDX-License-Identifier: Apache-2.0

/// Decides which of several requests that met a challenge solve it.
///
/// A flight is the time from a challenge to the end of the request that answers it. The invariant: a key has at most
/// one leader; it has one for as long as a request waits for it; and each request that waits gets one word, unless it
/// leaves or takes over before. The leader must end its flight.
struct ChallengeFlights<Key: Hashable & Sendable, Member: Hashable & Sendable>: Hashable, Sendable {
  /// The word that a waiting request gets.
  enum Word: Sendable, Hashable {
    /// The leader got a clearance: send again with it.
    case follow
    /// The leader got none: answer a challenge of your own.
    case lead
  }

  private struct Flight: Hashable {
    var leader: Member
    var waiting: [Member] = []
  }

  private var flights: [Key: Flight] = [:]

  /// The leader of a key; nil if it has none.
  func leader(of key: Key) -> Member? { flights[key]?.leader }

  /// Takes part in a flight.
  ///
  /// - Returns: Whether the member leads; otherwise it waits for a word.
  mutating func enter(_ key: Key, _ member: Member) -> Bool {
    guard flights[key] != nil else {
      flights[key] = Flight(leader: member)
      return true
    }
    flights[key]?.waiting.append(member)
    return false
  }

  /// Ends the leader's part. A leader whose place was taken ends nothing.
  ///
  /// - Parameters:
  ///   - key: The flight.
  ///   - member: The leader.
  ///   - isCleared: Whether it got a clearance that serves the others.
  /// - Returns: The words to give, before another call.
  mutating func end(_ key: Key, _ member: Member, isCleared: Bool) -> [(Member, Word)] {
    guard let flight = flights[key], flight.leader == member else { return [] }
    guard !isCleared, let next = flight.waiting.first else {
      flights[key] = nil
      return flight.waiting.map { ($0, .follow) }
    }
    flights[key] = Flight(leader: next, waiting: Array(flight.waiting.dropFirst()))
    return [(next, .lead)]
  }

  /// Takes the place of a leader that takes long.
  ///
  /// - Returns: False if the member has its word already, which it must then obey.
  mutating func takeOver(_ key: Key, _ member: Member) -> Bool {
    guard leave(key, member) else { return false }
    flights[key]?.leader = member
    return true
  }

  /// Leaves before a word came.
  ///
  /// - Returns: False if the member has its word already, which it must then obey.
  mutating func leave(_ key: Key, _ member: Member) -> Bool {
    guard let place = flights[key]?.waiting.firstIndex(of: member) else { return false }
    flights[key]?.waiting.remove(at: place)
    return true
  }
}
