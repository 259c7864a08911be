// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// Tokens that did not count, by the address of the client that sent them. In memory: addresses share 4,096 cells, so
/// that a flood takes no more of it. An address that finds its cell taken by another one begins at 0.
final class AddressCounts: Sendable {
  private static let cellCount = 4_096

  private struct Cell {
    var name = 0
    var meter = EventMeter()
  }

  // A random seed for each process selects the cell: no client can choose one in another's cell.
  private let cells = CoreLock([Cell](repeating: Cell(), count: cellCount))

  /// Counts a token that did not count.
  func add(_ address: String?, at now: UnixTime) {
    guard let name = Self.name(of: address) else { return }
    cells.withLock { cells in
      let place = name & (Self.cellCount - 1)
      if cells[place].name != name { cells[place] = Cell(name: name) }
      cells[place].meter.add(at: now)
    }
  }

  /// The numbers of an address.
  func span(of address: String?, at now: UnixTime) -> EventCounts.Span {
    guard let name = Self.name(of: address) else { return EventCounts.Span() }
    return cells.withLock { cells in
      let place = name & (Self.cellCount - 1)
      return cells[place].name == name ? cells[place].meter.span(at: now) : EventCounts.Span()
    }
  }

  private static func name(of address: String?) -> Int? {
    guard let address else { return nil }
    var hasher = Hasher()
    hasher.combine(AddressPrefix.of(address))
    return hasher.finalize()
  }
}
