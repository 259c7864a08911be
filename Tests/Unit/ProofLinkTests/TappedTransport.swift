// SPDX-License-Identifier: Apache-2.0

import ProofLink
import ProofModel

/// A listener on the air, with a hand in it: hears every PDU, and may change some.
final class Tap: Sendable {
  /// The part of a PDU that an eavesdropper sees besides random or encrypted bytes.
  struct Shape: Hashable {
    let toApp: Bool
    let opcode: UInt8
    let count: Int
  }

  /// Changes a PDU, or leaves it: nil.
  typealias Change = @Sendable ([UInt8]) -> [UInt8]?

  private struct State {
    var heard: [(toApp: Bool, pdu: [UInt8])] = []
    var toHardware: (times: Int, change: Change)?
    var toApp: (times: Int, change: Change)?
    var changes = 0
  }

  private let state = CoreLock(State())

  var toHardware: [[UInt8]] { state.withLock { $0.heard.filter { !$0.toApp }.map(\.pdu) } }
  var toApp: [[UInt8]] { state.withLock { $0.heard.filter(\.toApp).map(\.pdu) } }
  var changes: Int { state.withLock { $0.changes } }

  var shapes: [Shape] {
    state.withLock { state in
      state.heard.map { Shape(toApp: $0.toApp, opcode: $0.pdu[0], count: $0.pdu.count) }
    }
  }

  func changeToHardware(times: Int = 1, _ change: @escaping Change) {
    state.withLock { $0.toHardware = (times, change) }
  }

  func changeToApp(times: Int = 1, _ change: @escaping Change) {
    state.withLock { $0.toApp = (times, change) }
  }

  /// Hears a PDU, and returns the one that goes on.
  fileprivate func pass(_ pdu: [UInt8], toApp: Bool) -> [UInt8] {
    state.withLock { state in
      state.heard.append((toApp, pdu))
      guard let hand = toApp ? state.toApp : state.toHardware, hand.times > 0,
        let changed = hand.change(pdu)
      else { return pdu }
      state.changes += 1
      if toApp { state.toApp?.times -= 1 } else { state.toHardware?.times -= 1 }
      return changed
    }
  }

  /// Whether these bytes stand anywhere in a PDU.
  static func contains(_ pdu: [UInt8], _ bytes: some Collection<UInt8>) -> Bool {
    guard !bytes.isEmpty, pdu.count >= bytes.count else { return false }
    return (0...pdu.count - bytes.count).contains { start in
      pdu[start..<start + bytes.count].elementsEqual(bytes)
    }
  }

  /// The kinds of all COMMANDs among the PDUs: the first byte behind a first fragment's head.
  static func commandKinds(_ pdus: [[UInt8]]) -> [UInt8] {
    pdus.filter { $0[0] == 0x52 && $0.count > 7 && $0[3] & 0x8F == 0x84 }.map { $0[7] }
  }
}

/// A transport under a tap.
struct TappedTransport: LinkTransport {
  private let inner: any LinkTransport
  private let tap: Tap

  init(_ inner: any LinkTransport, _ tap: Tap) {
    self.inner = inner
    self.tap = tap
  }

  func open() async throws(LinkUnavailable) -> any LinkChannel {
    TappedChannel(try await inner.open(), tap)
  }
}

private final class TappedChannel: LinkChannel {
  let received: AsyncStream<[UInt8]>
  private let inner: any LinkChannel
  private let tap: Tap
  private let task: Task<Void, Never>

  init(_ inner: any LinkChannel, _ tap: Tap) {
    self.inner = inner
    self.tap = tap
    let (stream, mailbox) = AsyncStream.makeStream(of: [UInt8].self)
    received = stream
    task = Task {
      for await pdu in inner.received { mailbox.yield(tap.pass(pdu, toApp: true)) }
      mailbox.finish()
    }
  }

  func send(_ pdu: [UInt8]) { inner.send(tap.pass(pdu, toApp: false)) }

  func close() {
    inner.close()
  }
}
