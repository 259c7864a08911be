// SPDX-License-Identifier: Apache-2.0

import LinkBench
import LinkSimulation
import ProofBench
import ProofLink
import ProofModel

/// One unlock over the link, with the hardware's real code at its other end and no faults.
struct Unlock {
  /// The link's smallest MTU, those that phones settle on, and the largest.
  static let mtus = [23, 185, 247, 517]

  private let bench: Bench
  private var generation: UInt32 = 1
  private var held: MeasurementToken
  /// Places of the attributes: discovered once for each piece of hardware.
  private var table: AttributeTable?

  init() throws {
    bench = try Bench(seed: 1)
    held = try bench.token()
    _ = try play(mtu: 23, isHeld: false)
  }

  /// Costs of one unlock.
  struct Course {
    /// Until the receipt, on the virtual clock: an interval of 30 ms, 20 ms of latency.
    let milliseconds: Int
    let airtime: Airtime
    /// Working time of app and hardware.
    let work: Duration
  }

  /// With a token that the hardware has not seen, or with one that it holds.
  mutating func play(mtu: Int, isFirst: Bool) throws -> Course {
    if isFirst {
      generation += 1
      held = try bench.token(generation: generation)
    }
    return try play(mtu: mtu, isHeld: !isFirst)
  }

  private mutating func play(mtu: Int, isHeld: Bool) throws -> Course {
    let request = bench.request(held, isHeld: isHeld, mtu: mtu, table: table)
    var model = LinkModel(OnAir(bench), faults: LinkFaults(), seed: 1)
    var exchange = LinkExchange(request)
    let app = try bench.app(held)
    let start = ContinuousClock.now
    let result = model.play(&exchange, of: app)
    let work = ContinuousClock.now - start
    guard case .receipt(let receipt) = try result.get(), receipt.verdict == .accepted else {
      throw PeerError("the exchange ends with \(result)")
    }
    table = exchange.table
    guard model.peripheral.airtime.pduCount == exchange.pduCount else {
      throw PeerError("some of the \(exchange.pduCount) PDUs were lost on the way")
    }
    let course = Course(
      milliseconds: model.now, airtime: model.peripheral.airtime, work: work)
    model.peripheral.disconnect()
    return course
  }
}

/// Working time of app and hardware for an unlock, packets and all; the link's own time is a
/// figure.
func linkGroup() throws -> Group {
  let unlock = Held(try Unlock())
  func candidate(_ name: String, mtu: Int, isFirst: Bool) -> Candidate {
    Candidate(name: name, count: 4) { count in
      try (0..<count).reduce(Duration.zero) { total, _ in
        try total + unlock.value.play(mtu: mtu, isFirst: isFirst).work
      }
    }
  }
  return Group(
    name: "link",
    candidates: [23, 185].flatMap { mtu in
      [
        candidate("first-contact.\(mtu)", mtu: mtu, isFirst: true),
        candidate("repeat.\(mtu)", mtu: mtu, isFirst: false),
      ]
    },
    ratios: [
      ("first-contact.185", "repeat.185"), ("first-contact.23", "first-contact.185"),
      ("repeat.23", "repeat.185"),
    ])
}

/// Something that candidates share and change.
final class Held<Value> {
  var value: Value

  init(_ value: Value) { self.value = value }
}

/// Packets, bytes, and time of the link per unlock.
func linkFigures() throws -> [Figure] {
  var unlock = try Unlock()
  return try Unlock.mtus.flatMap { mtu in
    try [("first-contact", true), ("repeat", false)].flatMap { name, isFirst in
      let course = try unlock.play(mtu: mtu, isFirst: isFirst)
      return [
        Figure("link.\(mtu).\(name).packets", course.airtime.pduCount),
        Figure("link.\(mtu).\(name).bytes", course.airtime.byteCount),
        Figure("link.\(mtu).\(name).milliseconds", course.milliseconds),
        Figure("link.\(mtu).\(name).air.microseconds", course.airtime.microseconds),
      ]
    }
  }
}
