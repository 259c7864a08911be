// SPDX-License-Identifier: Apache-2.0

import Glibc
import LinkSimulation

/// Carries PDUs between apps and their hardware, with the faults of a simulated radio.
final class Relay {
  private let options: RelayOptions
  private let watch: RelayWatch
  private let door: RelaySocket
  private var links: [RelayLink] = []
  private var linkCount = 0

  init(_ options: RelayOptions) throws {
    self.options = options
    watch = try RelayWatch()
    door = try RelaySocket.listening(at: options.listen)
  }

  /// Runs until a signal asks it to stop.
  func run() throws {
    defer { RelayWatch.remove(options.listen) }
    while true {
      let sockets = [door] + links.flatMap { [$0.app, $0.hardware] }
      let due = links.compactMap(\.nextTime).min()
      guard let ready = try watch.wait(for: sockets, until: due) else { break }
      for link in links { link.attend(ready) }
      // Handle the links before the door, because this wait did not cover a new link's sockets.
      links.removeAll { link in
        if link.isOver { link.close() }
        return link.isOver
      }
      if ready.contains(door.descriptor) { welcome() }
    }
    for link in links { link.close() }
    door.close()
  }

  /// Flushes each line, so that a reader of the output sees it at once.
  static func tell(_ text: String) {
    print(text)
    fflush(nil)
  }

  private func welcome() {
    guard let app = door.accepted() else { return }
    guard let hardware = try? RelaySocket.connected(to: options.connect) else {
      app.close()
      Self.tell("no process listens at \(options.connect)")
      return
    }
    linkCount += 1
    // Each link has a seed of its own, so that concurrent links behave as they would one by one.
    let seed = options.seed &+ UInt64(linkCount) &* 0x9E37_79B9_7F4A_7C15
    links.append(
      RelayLink(linkCount, app, hardware, LinkAir(options.faults, seed: seed)))
  }
}

/// One link through the relay.
final class RelayLink {
  let app: RelaySocket
  let hardware: RelaySocket
  private(set) var isOver = false
  private let number: Int
  private var air: LinkAir
  private var queue: [(order: Int, delivery: LinkAir.Delivery)] = []
  private var order = 0
  private var count = 0
  private let begun = RelayWatch.now

  init(
    _ number: Int, _ app: RelaySocket, _ hardware: RelaySocket, _ air: consuming LinkAir
  ) {
    self.number = number
    self.app = app
    self.hardware = hardware
    self.air = air
    self.air.connect()
  }

  var nextTime: Int? { queue.map(\.delivery.time).min() }

  func attend(_ ready: Set<Int32>) {
    if ready.contains(app.descriptor) { take(from: app, toApp: false) }
    if !isOver, ready.contains(hardware.descriptor) { take(from: hardware, toApp: true) }
    if !isOver { deliver() }
  }

  func close() {
    app.close()
    hardware.close()
    Relay.tell(
      "link \(number): \(count) PDUs, \(RelayWatch.now - begun) ms\n"
        + "  to hardware \(air.traces.toHardware)\n  to app      \(air.traces.toApp)")
  }

  private func take(from side: RelaySocket, toApp: Bool) {
    while true {
      switch side.take() {
      case .nothing: return
      case .end:
        isOver = true
        return
      case .pdu(let pdu):
        count += 1
        switch air.carry(pdu, toApp: toApp, at: RelayWatch.now) {
        case .carried(let deliveries):
          for each in deliveries {
            order += 1
            queue.append((order, each))
          }
        case .linkEnds, .powerFails:
          isOver = true
          return
        }
      }
    }
  }

  private func deliver() {
    let now = RelayWatch.now
    let due = queue.filter { $0.delivery.time <= now }
      .sorted { ($0.delivery.time, $0.order) < ($1.delivery.time, $1.order) }
    queue.removeAll { $0.delivery.time <= now }
    for (_, delivery) in due { (delivery.toApp ? app : hardware).send(delivery.pdu) }
  }
}
