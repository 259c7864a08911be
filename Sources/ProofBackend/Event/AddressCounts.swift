// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// Tokens that did not count, by the address of the client that sent them.
///
/// The room holds 4,096 addresses. A new one takes the place of the one with the fewest tokens in the last day.
final class AddressCounts: Sendable {
  private let meters = CoreLock(NameTable(capacity: 4096, first: EventMeter()))

  /// Counts a token that did not count.
  func add(_ address: String?, at now: UnixTime) {
    guard let name = Self.name(of: address) else { return }
    meters.withLock { meters in
      let place = meters.place(of: name) { UInt64($0.day(at: now)) }
      meters[place].add(at: now)
    }
  }

  /// The numbers of an address.
  func span(of address: String?, at now: UnixTime) -> EventCounts.Span {
    guard let name = Self.name(of: address) else { return EventCounts.Span() }
    return meters.withLock { meters in
      meters.held(name).map { meters[$0].span(at: now) } ?? EventCounts.Span()
    }
  }

  private static func name(of address: String?) -> HashedName? {
    address.map { HashedName(AddressPrefix.of($0)) }
  }
}
