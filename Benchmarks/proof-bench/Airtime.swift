// SPDX-License-Identifier: Apache-2.0

import LinkBench
import LinkSimulation
import ProofLink

/// The hardware on the bench, with what goes over the air counted.
struct OnAir: LinkPeripheral {
  let bench: Bench
  /// Since the link came up.
  private(set) var airtime = Airtime()

  init(_ bench: Bench) { self.bench = bench }

  mutating func connect() {
    airtime = Airtime()
    bench.connect()
  }

  func disconnect() { bench.disconnect() }

  func losePower() { bench.losePower() }

  mutating func receive(_ pdu: [UInt8]) -> [[UInt8]]? {
    airtime.add(pdu.count)
    let sent = bench.receive(pdu)
    for pdu in sent ?? [] { airtime.add(pdu.count) }
    return sent
  }
}

/// Air time of ATT PDUs: Bluetooth Core 5.4, volume 6, part B, sections 2.1, 2.4 and 4.1.1.
struct Airtime {
  private(set) var pduCount = 0
  private(set) var byteCount = 0
  /// On the LE 1M PHY, eight microseconds for a byte.
  private(set) var microseconds = 0

  /// Payload of one packet on the air, with the data length extension.
  private static let payloadMax = 251
  /// Length and channel of L2CAP, before each PDU.
  private static let channelHead = 4
  /// Preamble, access address, header and CRC of a packet; what an empty answer is made of.
  private static let packetFrame = 1 + 4 + 2 + 3
  /// Between two packets.
  private static let space = 150

  mutating func add(_ count: Int) {
    pduCount += 1
    byteCount += count
    let whole = count + Self.channelHead
    let packets = (whole + Self.payloadMax - 1) / Self.payloadMax
    // Each packet is answered by one, at least an empty one, and both are followed by a space.
    microseconds += 8 * (whole + packets * 2 * Self.packetFrame) + packets * 2 * Self.space
  }
}
