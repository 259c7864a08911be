// SPDX-License-Identifier: Apache-2.0

import Console
import Dispatch
import Glibc
import ProofModel
import Synchronization

/// A man in the middle: he relays and records the app's packets. On request he replaces the first
/// command by another, once.
final class Tap: Sendable {
  private let door: PacketSocket
  private let path: String
  /// The command that replaces the first one.
  private let replacement: Mutex<[UInt8]?>
  /// Whether the next verdict is the one on the replaced command.
  private let isWaiting = Mutex(false)

  init(listeningAt own: String, before path: String, replacing: String?) throws {
    door = try PacketSocket.listening(at: own)
    self.path = path
    replacement = Mutex(replacing.map { Array($0.utf8) })
  }

  /// Serves one app after the other, until the process is ended.
  func run() throws -> Never {
    say("ready")
    while true {
      let app = try door.accept()
      let hardware = try PacketSocket.connected(to: path)
      DispatchQueue(label: "to the app").async {
        self.carry(from: hardware, to: app)
      }
      try overhear(from: app, to: hardware)
      hardware.close()
    }
  }

  private func overhear(from app: PacketSocket, to hardware: PacketSocket) throws {
    var reassembler = Reassembler()
    while let pdu = app.receive() {
      guard let packet = RawLink.packet(of: pdu, writtenAt: .command) else {
        hardware.send(pdu)
        continue
      }
      // Hold a command back until it is complete.
      guard case .complete(let message) = reassembler.receive(packet) else { continue }
      say("command \(Hexadecimal.encode(message.bytes))")
      let passed = try replaced(message)
      for packet in try passed.packets(of: RawLink.packetSize) {
        hardware.send(RawLink.written(packet, at: .command))
      }
    }
  }

  /// The message with the replacement command in it, if one is still to be placed.
  private func replaced(_ message: Message) throws -> Message {
    let command = replacement.withLock { replacement in
      defer { replacement = nil }
      return replacement
    }
    guard let command else { return message }
    let received = try ReceivedCommand(message)
    let head = message.bytes.count - received.command.bytes.count
    var bytes = Array(message.bytes[..<head]) + command
    bytes[1] = 1
    isWaiting.withLock { $0 = true }
    return try Message(.command, bytes)
  }

  private func carry(from hardware: PacketSocket, to app: PacketSocket) {
    var reassembler = Reassembler()
    while let pdu = hardware.receive() {
      app.send(pdu)
      guard let packet = RawLink.packet(ofVerdict: pdu),
        case .complete(let message) = reassembler.receive(packet),
        let answer = try? Answer(message),
        isWaiting.withLock({ waiting in
          defer { waiting = false }
          return waiting
        })
      else { continue }
      say("verdict \(answer.verdict)")
    }
    app.close()
  }

  private func say(_ line: String) {
    print(line)
    fflush(nil)
  }
}
