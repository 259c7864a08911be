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

/// The state of an ``OpeningBudget``. Its memory is fixed: addresses share 4,096 cells. The hash
/// that selects a cell has a random seed for each process, so that an attacker cannot choose an
/// address in another one's cell.
final class Openings: Sendable {
  private static let cellCount = 4096
  private static let knownSeconds: UInt64 = 86_400

  private struct Cell {
    var bucket = RateBucket()
    var known: Int = 0
    var knownUntil: UnixTime = 0
  }

  private struct State {
    var cells = [Cell](repeating: Cell(), count: cellCount)
    var strangers = RateBucket()
    var known = RateBucket()
    var worked = RateBucket()
  }

  /// The share that an opening comes from.
  fileprivate enum Share {
    case strangers, known, worked
  }

  /// One opening that was taken.
  struct Taken {
    fileprivate let name: Int
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
    let name = Self.name(of: address)
    return state.withLock { state in
      if hasWorked {
        return state.worked.take(budget.worked, at: now) ? Taken(name: name, share: .worked) : nil
      }
      let place = name & (Self.cellCount - 1)
      let isKnown = state.cells[place].known == name && state.cells[place].knownUntil >= now
      guard state.cells[place].bucket.take(budget.perAddress, at: now) else { return nil }
      let isTaken =
        isKnown
        ? state.known.take(budget.known, at: now)
        : state.strangers.take(budget.strangers, at: now)
      guard isTaken else {
        state.cells[place].bucket.giveBack()
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
      let place = taken.name & (Self.cellCount - 1)
      state.cells[place].known = taken.name
      state.cells[place].knownUntil = now + Self.knownSeconds
      guard !isCharged else { return }
      switch taken.share {
      case .strangers: state.strangers.giveBack()
      case .known: state.known.giveBack()
      case .worked: state.worked.giveBack()
      }
      if taken.share != .worked { state.cells[place].bucket.giveBack() }
    }
  }

  private static func name(of address: String?) -> Int {
    var hasher = Hasher()
    hasher.combine(address.map(AddressPrefix.of))
    return hasher.finalize()
  }
}
