// SPDX-License-Identifier: Apache-2.0

package import ProofLink
package import ProofModel

/// The hardware's end of the simulated link.
package protocol LinkPeripheral {
  mutating func connect()
  mutating func disconnect()
  mutating func losePower()
  /// Takes one PDU and returns the PDUs to send back; nil if it ends the link.
  mutating func receive(_ pdu: [UInt8]) -> [[UInt8]]?
}

/// The result of an exchange.
package typealias LinkResult = Result<LinkOutcome, LinkError>

/// The app's side of a simulated exchange: what ``LinkExchange`` asks its caller to compute.
package struct LinkApp: Sendable {
  package let prove: @Sendable (Challenge) throws(LinkError) -> ProvedCommand
  let proveSealed: @Sendable (SealedChallenge) throws(LinkError) -> ProvedCommand
  let sealNext: @Sendable (CommandChannel) throws(LinkError) -> ProvedCommand
  let receipt: @Sendable (Answer) throws(ProofError) -> Receipt

  package init(
    prove: @escaping @Sendable (Challenge) throws(LinkError) -> ProvedCommand,
    proveSealed: @escaping @Sendable (SealedChallenge) throws(LinkError) -> ProvedCommand = {
      _ throws(LinkError) in throw .notMeasured(.storageFailed)
    },
    sealNext: @escaping @Sendable (CommandChannel) throws(LinkError) -> ProvedCommand = {
      _ throws(LinkError) in throw .notMeasured(.storageFailed)
    },
    receipt: @escaping @Sendable (Answer) throws(ProofError) -> Receipt
  ) {
    self.prove = prove
    self.proveSealed = proveSealed
    self.sealNext = sealNext
    self.receipt = receipt
  }

  /// An app without keys, for exchanges that need none.
  package static let keyless = LinkApp(
    prove: { _ throws(LinkError) in throw .notMeasured(.storageFailed) },
    receipt: { _ throws(ProofError) in throw .storageFailed })
}

/// One exchange between an app and a peripheral over a link with faults, on a virtual clock.
///
/// It has no real waits and no other randomness: time is a number, and every fault comes from the
/// seed.
package struct LinkModel<Peripheral: LinkPeripheral>: ~Copyable {
  package var peripheral: Peripheral
  /// Milliseconds.
  package private(set) var now = 0
  /// A digest of everything that happened, in order: FNV-1a.
  package private(set) var trace: UInt64 = 14_695_981_039_346_656_037
  private var air: LinkAir
  private var queue: [Entry] = []
  private var order = 0
  private var connection = 0
  private var isUp = false

  /// The app's timeout for an answer, in milliseconds.
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
    air = LinkAir(faults, seed: seed)
  }

  /// Plays an exchange to its end.
  package mutating func play(
    _ exchange: inout LinkExchange, of app: LinkApp = .keyless
  ) -> LinkResult {
    queue = []
    // The next exchange begins with a link of its own.
    defer { hangUp() }
    var result = apply(exchange.start(), &exchange, app)
    while result == nil {
      guard let entry = next() else { preconditionFailure("an exchange always has a timer") }
      now = max(now, entry.time)
      // Events of an earlier connection were lost with it; only the app's timer outlives it.
      if case .timer = entry.arrival {} else if entry.connection != connection { continue }
      result = arrive(entry.arrival, at: &exchange, of: app)
    }
    return result ?? .failure(LinkError(.linkLost))
  }

  private mutating func arrive(
    _ arrival: Arrival, at exchange: inout LinkExchange, of app: LinkApp
  ) -> LinkResult? {
    switch arrival {
    case .up:
      isUp = true
      peripheral.connect()
      note(1, [])
      return apply(exchange.handle(.connected), &exchange, app)
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
      return apply(exchange.handle(.received(pdu)), &exchange, app)
    case .ended:
      note(4, [])
      return apply(exchange.handle(.disconnected), &exchange, app)
    case .timer(let number):
      note(5, [])
      return apply(exchange.handle(.timeout(number)), &exchange, app)
    }
  }

  private mutating func apply(
    _ first: [LinkExchange.Action], _ exchange: inout LinkExchange, _ app: LinkApp
  ) -> LinkResult? {
    var actions = first
    var done = 0
    while done < actions.count {
      defer { done += 1 }
      switch actions[done] {
      case .connect:
        connection += 1
        air.connect()
        schedule(.up, after: air.faults.interval)
      case .disconnect: hangUp()
      case .send(let pdu): if isUp { carry(pdu, toApp: false) }
      case .setTimer(let number): schedule(.timer(number), after: Self.patience)
      case .prove(let challenge):
        let result = Result { () throws(LinkError) in try app.prove(challenge) }
        actions += exchange.handle(.proved(result))
      case .proveSealed(let challenge):
        let result = Result { () throws(LinkError) in try app.proveSealed(challenge) }
        actions += exchange.handle(.proved(result))
      case .sealNext(let channel):
        let result = Result { () throws(LinkError) in try app.sealNext(channel) }
        actions += exchange.handle(.proved(result))
      case .check(let answer):
        actions += exchange.handle(.checked(.success(try? app.receipt(answer))))
      case .checkDelegation: actions += exchange.handle(.checked(.success(nil)))
      case .remeasure: actions += exchange.handle(.remeasured(.success(false)))
      case .recallBefore: actions += exchange.handle(.recallBefore(.success(nil)))
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

  /// Ends the link for both sides, and tells the app.
  private mutating func end() {
    hangUp()
    schedule(.ended, after: air.faults.interval)
  }

  private mutating func carry(_ pdu: [UInt8], toApp: Bool) {
    switch air.carry(pdu, toApp: toApp, at: now) {
    case .linkEnds: end()
    case .powerFails:
      end()
      peripheral.losePower()
    case .carried(let deliveries):
      for each in deliveries {
        schedule(each.toApp ? .atApp(each.pdu) : .atHardware(each.pdu), after: each.time - now)
      }
    }
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
