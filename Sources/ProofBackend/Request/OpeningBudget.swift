// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// Bounds on the public-key work that requests may cause before their sender has shown a valid gate token.
///
/// Only tokens that do not open are charged. Each address has a budget of its own; an IPv6 address counts by its first
/// 64 bits. Addresses that sent a token that opened have a share of their own, so that a flood from many addresses
/// leaves it to them. An installation that the verifier knows needs no opening at all.
public struct OpeningBudget: Sendable, Hashable {
  /// So many at once, and so many in each second.
  public struct Rate: Sendable, Hashable {
    /// How many at once.
    public var burst: Double
    /// How many more in a second.
    public var perSecond: Double

    /// Describes a rate.
    public init(burst: Double, perSecond: Double) {
      self.burst = burst
      self.perSecond = perSecond
    }
  }

  /// For each address.
  public var perAddress = Rate(burst: 8, perSecond: 0.2)
  /// For all addresses together from which no token has opened in the last day.
  public var strangers = Rate(burst: 200, perSecond: 100)
  /// For all other addresses together.
  public var known = Rate(burst: 200, perSecond: 100)
  /// For all clients together that solved a puzzle for the opening. A gate sets one where the other shares are spent.
  public var worked = Rate(burst: 60, perSecond: 30)

  /// The budget without changes.
  public init() {}
}

/// The state of an ``OpeningBudget``. Its memory is fixed: 4,096 addresses have a budget of their own at the same time,
/// and 8,192 addresses are known. A full table forgets the budget of which the most is left, so that no address is
/// refused for what another one has used; and the known address whose last opening is the oldest. Only an address whose
/// token opened becomes known: a flood of bad tokens forgets none.
final class Openings: Sendable {
  private static let knownSeconds: UInt64 = 86_400

  private struct State {
    var buckets = NameTable(capacity: 4096, first: RateBucket())
    /// When an address is not known any more.
    var known = NameTable(capacity: 8192, first: UnixTime(0))
    var strangers = RateBucket()
    var knownOnes = RateBucket()
    var worked = RateBucket()
  }

  /// The share that an opening comes from.
  fileprivate enum Share {
    case strangers, known, worked
  }

  /// One opening that was taken.
  struct Taken {
    fileprivate let name: HashedName
    fileprivate let share: Share
  }

  private let budget: OpeningBudget
  private let state = CoreLock(State())

  init(_ budget: OpeningBudget) { self.budget = budget }

  /// Takes an opening for an address.
  ///
  /// - Parameters:
  ///   - address: The client's address.
  ///   - hasWorked: Whether the client solved a puzzle for this opening: it has a share of its own.
  ///   - now: The time.
  /// - Returns: The opening; nil if there is none.
  func take(for address: String?, hasWorked: Bool, at now: UnixTime) -> Taken? {
    let name = HashedName(address.map(AddressPrefix.of))
    return state.withLock { state in
      if hasWorked {
        return state.worked.take(budget.worked, at: now) ? Taken(name: name, share: .worked) : nil
      }
      let isKnown = state.known.held(name).map { state.known[$0] >= now } ?? false
      let place = state.buckets.place(of: name) { $0.loss(at: now, budget.perAddress) }
      guard state.buckets[place].take(budget.perAddress, at: now) else { return nil }
      let isTaken =
        isKnown
        ? state.knownOnes.take(budget.known, at: now)
        : state.strangers.take(budget.strangers, at: now)
      guard isTaken else {
        state.buckets[place].giveBack()
        return nil
      }
      return Taken(name: name, share: isKnown ? .known : .strangers)
    }
  }

  /// The token opened, and the address is known.
  ///
  /// - Parameters:
  ///   - taken: The opening.
  ///   - isCharged: Whether the opening stays spent.
  ///   - now: The time.
  func opened(_ taken: Taken, isCharged: Bool, at now: UnixTime) {
    state.withLock { state in
      let place = state.known.place(of: taken.name) { UInt64(clamping: now.distance(to: $0)) }
      state.known[place] = now + Self.knownSeconds
      guard !isCharged else { return }
      switch taken.share {
      case .strangers: state.strangers.giveBack()
      case .known: state.knownOnes.giveBack()
      case .worked: state.worked.giveBack()
      }
      guard taken.share != .worked, let bucket = state.buckets.held(taken.name) else { return }
      state.buckets[bucket].giveBack()
    }
  }
}
