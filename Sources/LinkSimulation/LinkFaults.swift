// SPDX-License-Identifier: Apache-2.0

internal import ProofBytes

/// The faults of a simulated link. All chances are in thousandths, for each PDU in each direction.
package struct LinkFaults: Sendable {
  package var loss = 0
  package var duplication = 0
  package var reordering = 0
  package var corruption = 0
  package var truncation = 0
  /// The link ends instead of delivering.
  package var disconnection = 0
  /// The hardware loses power instead.
  package var powerLoss = 0
  /// A hostile peer sends PDUs: see `LinkImpostor`.
  package var hostility = 0
  /// Milliseconds between two connection events; a PDU waits for the next.
  package var interval = 30
  /// Milliseconds that a PDU takes on top.
  package var latency = 20
  /// Milliseconds that each side of a slow peer takes for a PDU before it takes the next.
  package var slowness = 0
  /// The link ends at this PDU of each connection; nil for never.
  package var endsAtPDU: Int?

  package init() {}
}

/// The dice of a simulated link: the same rolls from the same seed.
package struct LinkDice: Sendable {
  private var random: SplitMix64

  package init(seed: UInt64) { random = SplitMix64(seed: seed) }

  package mutating func roll() -> UInt64 { random.next() }

  package mutating func below(_ sides: Int) -> Int { Int(roll() % UInt64(sides)) }

  package mutating func happens(_ thousandths: Int) -> Bool { below(1000) < thousandths }
}
