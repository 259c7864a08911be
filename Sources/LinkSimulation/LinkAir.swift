// SPDX-License-Identifier: Apache-2.0

/// A simulated medium between an app and its hardware, with faults.
///
/// Every fault is drawn from the seed, by a separate generator for each link and direction. So the
/// n-th PDU of a direction meets the same faults however the two directions interleave, on a
/// virtual clock or a real one.
package struct LinkAir: ~Copyable {
  /// A PDU on its way.
  package struct Delivery: Sendable, Hashable {
    package let pdu: [UInt8]
    package let toApp: Bool
    /// Milliseconds, on the caller's clock.
    package let time: Int
  }

  package enum Fate: Sendable, Hashable {
    case carried([Delivery])
    case linkEnds
    case powerFails
  }

  private struct Direction {
    var dice: LinkDice
    /// The time at which the slow peer takes the next PDU.
    var free = 0
  }

  package let faults: LinkFaults
  private let seed: UInt64
  private var impostor = LinkImpostor()
  private var linkCount: UInt64 = 0
  private var count = 0
  private var toHardware: Direction
  private var toApp: Direction
  /// The events so far, one letter for each PDU: of those to the hardware, and of those to the app.
  package private(set) var traces: (toHardware: String, toApp: String) = ("", "")

  package init(_ faults: LinkFaults, seed: UInt64) {
    self.faults = faults
    self.seed = seed
    toHardware = Direction(dice: LinkDice(seed: seed))
    toApp = Direction(dice: LinkDice(seed: ~seed))
  }

  /// Another link begins.
  package mutating func connect() {
    linkCount += 1
    count = 0
    traces = ("", "")
    var dice = LinkDice(seed: seed ^ (linkCount << 32))
    toHardware = Direction(dice: LinkDice(seed: dice.roll()))
    toApp = Direction(dice: LinkDice(seed: dice.roll()))
  }

  /// Decides the fate of a PDU that is sent now.
  package mutating func carry(_ pdu: [UInt8], toApp isToApp: Bool, at now: Int) -> Fate {
    count += 1
    var direction = isToApp ? toApp : toHardware
    let (fate, letters) = decide(pdu, isToApp, now, &direction)
    if isToApp {
      toApp = direction
      traces.toApp += letters
    } else {
      toHardware = direction
      traces.toHardware += letters
    }
    return fate
  }

  private mutating func decide(
    _ pdu: [UInt8], _ isToApp: Bool, _ now: Int, _ direction: inout Direction
  ) -> (Fate, String) {
    if faults.hostility > 0 { impostor.hear(pdu, toApp: isToApp) }
    if faults.endsAtPDU == count || direction.dice.happens(faults.disconnection) {
      return (.linkEnds, "e")
    }
    if direction.dice.happens(faults.powerLoss) { return (.powerFails, "p") }
    var deliveries: [Delivery] = []
    var letters = ""
    if direction.dice.happens(faults.loss) {
      letters += "l"
    } else {
      let isDoubled = direction.dice.happens(faults.duplication)
      letters += isDoubled ? "d" : "."
      for _ in 0..<(isDoubled ? 2 : 1) {
        deliveries.append(deliver(pdu, isToApp, now, &direction, &letters))
      }
    }
    if direction.dice.happens(faults.hostility) {
      letters += "h"
      // The impostor draws from a generator of its own: its draws depend on the PDUs it heard, and
      // must not change the direction's.
      var words = LinkDice(seed: direction.dice.roll())
      let saysToApp = words.happens(500)
      let time = now + words.below(100)
      for said in impostor.speak(toApp: saysToApp, &words) {
        deliveries.append(Delivery(pdu: said, toApp: saysToApp, time: time))
      }
    }
    return (.carried(deliveries), letters)
  }

  private func deliver(
    _ pdu: [UInt8], _ isToApp: Bool, _ now: Int, _ direction: inout Direction,
    _ letters: inout String
  ) -> Delivery {
    var carried = pdu
    if direction.dice.happens(faults.corruption), !carried.isEmpty {
      carried[direction.dice.below(carried.count)] ^= 1 << UInt8(direction.dice.below(8))
      letters += "c"
    }
    if direction.dice.happens(faults.truncation), !carried.isEmpty {
      carried.removeLast(direction.dice.below(carried.count))
      letters += "t"
    }
    var time = arrival(now, &direction)
    if direction.dice.happens(faults.reordering) {
      time += 3 * faults.interval
      letters += "r"
    }
    return Delivery(pdu: carried, toApp: isToApp, time: time)
  }

  /// The time of arrival: the next connection event plus the latency, behind a slow peer's queue.
  private func arrival(_ now: Int, _ direction: inout Direction) -> Int {
    let interval = max(1, faults.interval)
    let time = now + interval - now % interval + faults.latency
    guard faults.slowness > 0 else { return time }
    direction.free = max(time, direction.free) + faults.slowness
    return direction.free
  }
}
