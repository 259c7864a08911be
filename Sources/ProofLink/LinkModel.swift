/// How badly a link behaves. All chances are in thousandths, for each PDU in each direction.
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
  /// An answer without receipt arrives that the hardware never gave.
  package var forgery = 0
  /// Milliseconds between two connection events; a PDU waits for the next.
  package var interval = 30
  /// Milliseconds that a PDU takes on top, at most.
  package var latency = 20
  /// The link ends at this PDU of each connection; nil for never.
  package var endsAtPDU: Int?

  package init() {}
}

/// Dice with a seed: the same rolls on every machine (SplitMix64).
package struct LinkDice: Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func roll() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  package mutating func below(_ sides: Int) -> Int { Int(roll() % UInt64(sides)) }

  package mutating func happens(_ thousandths: Int) -> Bool { below(1000) < thousandths }
}

/// The hardware's end, as the model drives it.
package protocol LinkPeripheral {
  mutating func connect()
  mutating func disconnect()
  mutating func losePower()
  /// Takes one PDU; what it sends in return. Nil if it ends the link.
  mutating func receive(_ pdu: [UInt8]) -> [[UInt8]]?
}

/// How an exchange ended.
package typealias LinkResult = Result<LinkOutcome, LinkError>

/// One exchange between an app and a peripheral over a link with faults, on a virtual clock.
///
/// Nothing waits and nothing is random: time is a number, and every fate comes from the seed.
package struct LinkModel<Peripheral: LinkPeripheral> {
  package let faults: LinkFaults
  package var peripheral: Peripheral
  /// Milliseconds.
  package private(set) var now = 0
  /// A digest of everything that happened, in order: FNV-1a.
  package private(set) var trace: UInt64 = 14_695_981_039_346_656_037
  private var dice: LinkDice
  private var queue: [Entry] = []
  private var order = 0
  private var connection = 0
  private var isUp = false
  private var pdusOfConnection = 0

  /// How long the app waits for an answer before it does something about it, in milliseconds.
  private static var patience: Int { 3000 }

  private enum Arrival {
    case up
    case atHardware([UInt8])
    case atApp([UInt8])
    case ended
    case timer(Int)
  }

  private struct Entry {
    let time: Int
    let order: Int
    let connection: Int
    let arrival: Arrival
  }

  package init(_ peripheral: Peripheral, faults: LinkFaults, seed: UInt64) {
    self.peripheral = peripheral
    self.faults = faults
    dice = LinkDice(seed: seed)
  }

  /// Plays an exchange to its end. `forge` makes an answer that anyone could have made.
  package mutating func play(
    _ exchange: inout LinkExchange, forge: (inout LinkDice) -> [[UInt8]] = { _ in [] }
  ) -> LinkResult {
    queue = []
    // The next exchange begins with a link of its own.
    defer { hangUp() }
    var result = apply(exchange.start())
    while result == nil {
      guard let entry = next() else { preconditionFailure("an exchange always has a timer") }
      now = max(now, entry.time)
      // What belongs to an earlier connection was lost with it; only the app's timer outlives it.
      if case .timer = entry.arrival {} else if entry.connection != connection { continue }
      result = arrive(entry.arrival, at: &exchange)
      if result == nil, isUp, dice.happens(faults.forgery) {
        for pdu in forge(&dice) { schedule(.atApp(pdu), after: dice.below(100)) }
      }
    }
    return result ?? .failure(.linkLost(commandMayBeDone: false))
  }

  private mutating func arrive(
    _ arrival: Arrival, at exchange: inout LinkExchange
  ) -> LinkResult? {
    switch arrival {
    case .up:
      isUp = true
      peripheral.connect()
      note(1, [])
      return apply(exchange.handle(.connected))
    case .atHardware(let pdu):
      note(2, pdu)
      if let answers = peripheral.receive(pdu) {
        for answer in answers { carry(answer, toApp: true) }
      } else {
        end()
      }
      return nil
    case .atApp(let pdu):
      note(3, pdu)
      return apply(exchange.handle(.received(pdu)))
    case .ended:
      note(4, [])
      return apply(exchange.handle(.disconnected))
    case .timer(let number):
      note(5, [])
      return apply(exchange.handle(.timeout(number)))
    }
  }

  private mutating func apply(_ actions: [LinkExchange.Action]) -> LinkResult? {
    for action in actions {
      switch action {
      case .connect:
        connection += 1
        pdusOfConnection = 0
        schedule(.up, after: faults.interval)
      case .disconnect: hangUp()
      case .send(let pdu): if isUp { carry(pdu, toApp: false) }
      case .setTimer(let number): schedule(.timer(number), after: Self.patience)
      case .finish(let result): return result
      }
    }
    return nil
  }

  private mutating func hangUp() {
    if isUp { peripheral.disconnect() }
    isUp = false
    connection += 1
  }

  /// The link ends under both, and the app hears of it.
  private mutating func end() {
    hangUp()
    schedule(.ended, after: faults.interval)
  }

  private mutating func carry(_ pdu: [UInt8], toApp: Bool) {
    pdusOfConnection += 1
    if faults.endsAtPDU == pdusOfConnection || dice.happens(faults.disconnection) {
      end()
      return
    }
    if dice.happens(faults.powerLoss) {
      end()
      peripheral.losePower()
      return
    }
    if dice.happens(faults.loss) { return }
    var copies = [pdu]
    if dice.happens(faults.duplication) { copies.append(pdu) }
    for copy in copies {
      var carried = copy
      if dice.happens(faults.corruption) {
        carried[dice.below(carried.count)] ^= 1 << UInt8(dice.below(8))
      }
      if dice.happens(faults.truncation) { carried.removeLast(dice.below(carried.count)) }
      let late = dice.happens(faults.reordering) ? 3 * faults.interval : 0
      schedule(toApp ? .atApp(carried) : .atHardware(carried), after: delay() + late)
    }
  }

  /// Up to the next connection event, and then on its way; in order, unless a fault says otherwise.
  private mutating func delay() -> Int {
    faults.interval - now % faults.interval + faults.latency
  }

  private mutating func schedule(_ arrival: Arrival, after delay: Int) {
    order += 1
    queue.append(
      Entry(time: now + delay, order: order, connection: connection, arrival: arrival))
  }

  private mutating func next() -> Entry? {
    guard
      let index = queue.indices.min(by: {
        (queue[$0].time, queue[$0].order) < (queue[$1].time, queue[$1].order)
      })
    else { return nil }
    return queue.remove(at: index)
  }

  private mutating func note(_ kind: UInt8, _ bytes: [UInt8]) {
    for byte in [kind, UInt8(truncatingIfNeeded: now)] + bytes {
      trace = (trace ^ UInt64(byte)) &* 1_099_511_628_211
    }
  }
}
