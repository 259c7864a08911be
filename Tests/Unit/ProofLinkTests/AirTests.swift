// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LinkSimulation

@Suite("What lies between app and hardware")
struct AirTests {
  private static let pdu: [UInt8] = [1, 2, 3, 4]

  private static func fate(_ change: (inout LinkFaults) -> Void = { _ in }) -> (
    fate: LinkAir.Fate, trace: String
  ) {
    var faults = LinkFaults()
    change(&faults)
    var air = LinkAir(faults, seed: 7)
    let fate = air.carry(pdu, toApp: true, at: 31)
    return (fate, air.traces.toApp)
  }

  /// A PDU at the next connection event after 31 ms, and its latency: 60 + 20 ms.
  private static func delivery(after delay: Int = 0) -> LinkAir.Delivery {
    .init(pdu: pdu, toApp: true, time: 80 + delay)
  }

  @Test("no fault has a chance: a PDU comes whole, once, at the next event")
  func faultless() {
    let (fate, trace) = Self.fate()
    #expect(fate == .carried([Self.delivery()]))
    #expect(trace == ".")
  }

  @Test("a fault with every chance happens to each PDU")
  func certain() {
    #expect(Self.fate { $0.loss = 1000 } == (.carried([]), "l"))
    let twice = [Self.delivery(), Self.delivery()]
    #expect(Self.fate { $0.duplication = 1000 }.fate == .carried(twice))
    #expect(Self.fate { $0.reordering = 1000 } == (.carried([Self.delivery(after: 90)]), ".r"))
    #expect(Self.fate { $0.disconnection = 1000 } == (.linkEnds, "e"))
    #expect(Self.fate { $0.powerLoss = 1000 } == (.powerFails, "p"))
  }

  @Test("an impostor replays what it heard, as it was and with one bit altered")
  func impostor() {
    var impostor = LinkImpostor()
    impostor.hear(Self.pdu, toApp: false)
    var dice = LinkDice(seed: 7)
    let said = (0..<400).flatMap { _ in impostor.speak(toApp: false, &dice) }
    let differing = said.filter { $0.count == Self.pdu.count }.map { pdu in
      zip(pdu, Self.pdu).map { ($0 ^ $1).nonzeroBitCount }.reduce(0, +)
    }
    #expect(differing.count(where: { $0 == 0 }) > 50)
    #expect(differing.count(where: { $0 == 1 }) > 50)
  }
}
