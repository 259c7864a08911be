// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// A link as an attacker uses it: docs/LINK.md by hand, with no checks of the SDK.
final class RawLink {
  /// The handles of the attributes (docs/LINK.md, section 3).
  enum Handle: UInt8 {
    case token = 0x03
    case challenge = 0x05
    case command = 0x08
    case verdict = 0x0A
    case verdictDescriptor = 0x0B
  }

  private enum Opcode {
    static let error: UInt8 = 0x01
    static let readRequest: UInt8 = 0x0A
    static let readResponse: UInt8 = 0x0B
    static let readBlobRequest: UInt8 = 0x0C
    static let readBlobResponse: UInt8 = 0x0D
    static let writeRequest: UInt8 = 0x12
    static let writeResponse: UInt8 = 0x13
    static let notification: UInt8 = 0x1B
    static let writeCommand: UInt8 = 0x52
  }

  /// The smallest packet: 23 bytes with the head, 22 bytes of a value that is read.
  static let packetSize = 20
  private static let valueSize = 22

  /// The timeout for the lock's answers, in seconds.
  private static let patienceSeconds = 20

  private let socket: PacketSocket
  private var reassembler = Reassembler()

  /// Connects, and subscribes to verdicts.
  init(to path: String) throws {
    socket = try PacketSocket.connected(to: path)
    socket.limitWaiting(seconds: Self.patienceSeconds)
    socket.send([Opcode.writeRequest, Handle.verdictDescriptor.rawValue, 0, 1, 0])
    _ = try next(Opcode.writeResponse)
  }

  /// Asks for a challenge.
  func challenge() throws -> Challenge {
    socket.send([Opcode.readRequest, Handle.challenge.rawValue, 0])
    var value = Array(try next(Opcode.readResponse).dropFirst())
    while value.count.isMultiple(of: Self.valueSize) {
      let offset = [UInt8(value.count & 0xFF), UInt8(value.count >> 8)]
      socket.send([Opcode.readBlobRequest, Handle.challenge.rawValue, 0] + offset)
      value += try next(Opcode.readBlobResponse).dropFirst()
    }
    return try Challenge(Message(.challenge, value))
  }

  /// Sends a message, and waits for the hardware's answer.
  func ask(_ message: Message, at handle: Handle) throws -> Answer {
    for packet in try message.packets(of: Self.packetSize) {
      socket.send(Self.written(packet, at: handle))
    }
    while true {
      let packet = Array(try next(Opcode.notification).dropFirst(3))
      if case .complete(let message) = reassembler.receive(packet) { return try Answer(message) }
    }
  }

  /// A packet as a Write Command.
  static func written(_ packet: [UInt8], at handle: Handle) -> [UInt8] {
    [Opcode.writeCommand, handle.rawValue, 0] + packet
  }

  /// The packet of a Write Command to a handle; nil for every other PDU.
  static func packet(of pdu: [UInt8], writtenAt handle: Handle) -> [UInt8]? {
    pdu.count > 3 && pdu[0] == Opcode.writeCommand && pdu[1] == handle.rawValue
      ? Array(pdu[3...]) : nil
  }

  /// The packet of a notification of verdicts; nil for every other PDU.
  static func packet(ofVerdict pdu: [UInt8]) -> [UInt8]? {
    pdu.count > 3 && pdu[0] == Opcode.notification && pdu[1] == Handle.verdict.rawValue
      ? Array(pdu[3...]) : nil
  }

  private func next(_ opcode: UInt8) throws -> [UInt8] {
    while let pdu = socket.receive() {
      if pdu[0] == opcode { return pdu }
      guard pdu[0] != Opcode.error else {
        throw AttackFailure("the hardware answers error \(pdu.last ?? 0)")
      }
    }
    throw AttackFailure(
      "the hardware closed the link, or sent nothing for \(Self.patienceSeconds) seconds")
  }
}
