// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LinkSimulation

@Suite("The faults between app and hardware, one by one")
struct AirFaultTests {
  private static let pdu: [UInt8] = [1, 2, 3, 4]

  /// A PDU at the next connection event after 31 ms, and its latency: 60 + 20 ms.
  private static func delivery() -> LinkAir.Delivery { .init(pdu: pdu, toApp: true, time: 80) }

  private static func carry(
    _ count: Int, toApp: Bool, in air: inout LinkAir, at time: Int = 31
  ) -> [LinkAir.Fate] {
    (0..<count).map { _ in air.carry(pdu, toApp: toApp, at: time) }
  }

  private static func deliveries(_ fate: LinkAir.Fate) -> [LinkAir.Delivery] {
    if case .carried(let deliveries) = fate { deliveries } else { [] }
  }

  @Test("each direction has its own trace and draws, however the two interleave")
  func directions() {
    var faults = LinkFaults()
    faults.loss = 500
    var one = LinkAir(faults, seed: 7)
    var other = LinkAir(faults, seed: 7)
    _ = Self.carry(200, toApp: false, in: &one)
    #expect(one.traces.toApp.isEmpty && Set(one.traces.toHardware) == ["l", "."])
    _ = Self.carry(200, toApp: true, in: &one)
    for _ in 0..<200 {
      _ = Self.carry(1, toApp: true, in: &other)
      _ = Self.carry(1, toApp: false, in: &other)
    }
    #expect(one.traces == other.traces && one.traces.toApp != one.traces.toHardware)
    #expect(one.traces.toApp.count == 200 && one.traces.toHardware.count == 200)
    let first = one.traces
    one.connect()
    #expect(one.traces == ("", ""))
    for toApp in [true, false] { _ = Self.carry(200, toApp: toApp, in: &one) }
    #expect(one.traces.toApp != first.toApp && one.traces.toHardware != first.toHardware)
    let second = one.traces
    one.connect()
    for toApp in [true, false] { _ = Self.carry(200, toApp: toApp, in: &one) }
    #expect(one.traces != second && one.traces.toApp != one.traces.toHardware)
    var stranger = LinkAir(faults, seed: 8)
    for toApp in [true, false] { _ = Self.carry(200, toApp: toApp, in: &stranger) }
    #expect(stranger.traces.toApp != first.toApp)
    #expect(stranger.traces.toHardware != first.toHardware)
  }

  @Test("a link ends at its PDU of this number, counted over both directions and for each link")
  func ends() {
    var faults = LinkFaults()
    faults.endsAtPDU = 3
    var air = LinkAir(faults, seed: 7)
    for _ in 0..<2 {
      let fates = [true, false, true, true].map { air.carry(Self.pdu, toApp: $0, at: 31) }
      #expect(fates.map { $0 == .linkEnds } == [false, false, true, false])
      #expect(air.traces.toApp == ".e." && air.traces.toHardware == ".")
      air.connect()
    }
  }

  @Test("a PDU waits for the next connection event, and then for its latency")
  func arrival() {
    for (now, time) in [(0, 50), (1, 50), (29, 50), (30, 80), (31, 80), (59, 80), (60, 110)] {
      var air = LinkAir(LinkFaults(), seed: 7)
      #expect(Self.deliveries(air.carry(Self.pdu, toApp: true, at: now)).map(\.time) == [time])
    }
    var faults = LinkFaults()
    faults.interval = 0
    faults.latency = 0
    var air = LinkAir(faults, seed: 7)
    #expect(Self.deliveries(air.carry(Self.pdu, toApp: false, at: 5)).map(\.time) == [6])
    #expect(Self.deliveries(air.carry(Self.pdu, toApp: false, at: 5)).map(\.toApp) == [false])
  }

  @Test("a slow peer takes one PDU after the other, each direction by itself")
  func slowness() {
    var faults = LinkFaults()
    faults.slowness = 100
    var air = LinkAir(faults, seed: 7)
    func time(_ toApp: Bool, _ now: Int) -> [Int] {
      Self.deliveries(air.carry(Self.pdu, toApp: toApp, at: now)).map(\.time)
    }
    #expect(time(true, 31) == [180])
    #expect(time(true, 31) == [280])
    #expect(time(false, 31) == [180])
    #expect(time(true, 500) == [630])
    #expect(time(false, 31) == [280])
  }

  @Test("corruption flips one bit, and truncation leaves a beginning")
  func damage() {
    var faults = LinkFaults()
    faults.corruption = 1000
    var air = LinkAir(faults, seed: 7)
    var places: Set<Int> = []
    for fate in Self.carry(400, toApp: true, in: &air) {
      let carried = Self.deliveries(fate)[0].pdu
      #expect(carried.count == Self.pdu.count)
      let bits = zip(carried, Self.pdu).map { $0 ^ $1 }
      #expect(bits.map(\.nonzeroBitCount).reduce(0, +) == 1)
      for (index, bit) in bits.enumerated() where bit != 0 {
        places.insert(8 * index + bit.trailingZeroBitCount)
      }
    }
    #expect(places.count == 32 && air.traces.toApp == String(repeating: ".c", count: 400))
    faults.corruption = 0
    faults.truncation = 1000
    air = LinkAir(faults, seed: 7)
    var counts: Set<Int> = []
    for fate in Self.carry(200, toApp: true, in: &air) {
      let carried = Self.deliveries(fate)[0].pdu
      #expect(carried == Array(Self.pdu.prefix(carried.count)))
      counts.insert(carried.count)
    }
    #expect(counts == [1, 2, 3, 4] && air.traces.toApp == String(repeating: ".t", count: 200))
    faults.corruption = 1000
    air = LinkAir(faults, seed: 7)
    #expect(Self.deliveries(air.carry([], toApp: true, at: 31)).map(\.pdu) == [[]])
    #expect(air.traces.toApp == ".")
    faults = LinkFaults()
    faults.duplication = 1000
    air = LinkAir(faults, seed: 7)
    _ = Self.carry(1, toApp: true, in: &air)
    #expect(air.traces.toApp == "d")
  }

  @Test("an impostor's PDUs come within 100 ms, to both sides, and change no other draw")
  func hostility() {
    var faults = LinkFaults()
    faults.hostility = 1000
    var air = LinkAir(faults, seed: 7)
    var said: [LinkAir.Delivery] = []
    for fate in Self.carry(400, toApp: true, in: &air) {
      let deliveries = Self.deliveries(fate)
      #expect(deliveries.first == Self.delivery())
      said += deliveries.dropFirst()
    }
    #expect(air.traces.toApp == String(repeating: ".h", count: 400))
    #expect(said.allSatisfy { (31..<131).contains($0.time) })
    #expect(Set(said.map(\.toApp)) == [true, false] && Set(said.map(\.time)).count > 90)
    // It replays what it heard on this link.
    #expect(said.contains { $0.pdu == Self.pdu && $0.toApp })
    faults.loss = 500
    func trace(_ pdu: [UInt8]) -> String {
      var air = LinkAir(faults, seed: 7)
      for _ in 0..<200 { _ = air.carry(pdu, toApp: true, at: 31) }
      return air.traces.toApp
    }
    #expect(trace(Self.pdu) == trace([9]))
  }

  @Test("an impostor says what it heard in that direction, noise, and verdicts to the app alone")
  func sayings() {
    var dice = LinkDice(seed: 7)
    var impostor = LinkImpostor()
    func said(toApp: Bool) -> [[UInt8]] {
      (0..<400).flatMap { _ in impostor.speak(toApp: toApp, &dice) }
    }
    let verdict: (([UInt8]) -> Bool) = { $0.starts(with: [0x1B, 10, 0]) }
    // It has heard nothing: noise, of 1 to 40 bytes.
    let noise = said(toApp: false)
    #expect(noise.count == 400 && !noise.contains(where: verdict))
    #expect(Set(noise.map(\.count)) == Set(1...40))
    #expect(said(toApp: true).contains(where: verdict))
    impostor.hear(Self.pdu, toApp: true)
    impostor.hear([], toApp: true)
    #expect(said(toApp: true).contains(Self.pdu))
    #expect(!said(toApp: false).contains(Self.pdu))
    #expect(said(toApp: true).allSatisfy { !$0.isEmpty })
    // It remembers the last 64.
    for number in UInt8(0)..<64 { impostor.hear([0xEE, number, 0xEE, 0xEE, 0xEE], toApp: true) }
    let later = said(toApp: true) + said(toApp: true)
    #expect(!later.contains(Self.pdu))
    #expect(later.contains { $0.count == 5 && $0[0] == 0xEE })
  }

  @Test("dice with a chance of 0 never happen, and with 1,000 they always do")
  func dice() {
    var dice = LinkDice(seed: 7)
    var same = LinkDice(seed: 7)
    #expect((0..<2000).allSatisfy { _ in !dice.happens(0) })
    #expect((0..<2000).allSatisfy { _ in dice.happens(1000) })
    #expect(Set((0..<200).map { _ in dice.below(6) }) == Set(0..<6))
    for _ in 0..<4200 { _ = same.roll() }
    #expect(dice.roll() == same.roll())
    let half = (0..<2000).count { _ in dice.happens(500) }
    #expect((800..<1200).contains(half))
  }
}
