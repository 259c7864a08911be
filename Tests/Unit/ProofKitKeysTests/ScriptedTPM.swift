// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import ProofKit
import ProofModel
import Testing

/// A Unix socket that answers as a TPM does, with the keys, signatures and memory that a test says.
///
/// TPM 2.0 Library, Part 3. Each answer has the form that tpm2-tss checks, with the names of
/// objects and the tag of a session.
final class ScriptedTPM: Sendable {
  /// The things that this TPM says.
  struct Script: Sendable {
    /// The coordinates of its keys.
    var x = [UInt8](repeating: 4, count: 32)
    var y = [UInt8](repeating: 4, count: 32)
    /// The algorithm of its signatures, and their numbers.
    var algorithm: UInt16 = 0x0018
    var r = [UInt8](repeating: 1, count: 32)
    var s = [UInt8](repeating: 2, count: 32)
    /// The index of the certificate, and the bytes that a reading has in excess.
    var memory: [UInt8] = []
    var excess = 0
    /// Whether an endorsement key stands at its usual place.
    var hasEndorsement = true
    /// The content of each credential, and how many it refuses before.
    var secret = [UInt8](0..<32)
    var refusals = 0
  }

  /// The numbers of commands.
  enum Command {
    static let makePrimary: UInt32 = 0x131
    static let activate: UInt32 = 0x147
    static let read: UInt32 = 0x14E
    static let policySecret: UInt32 = 0x151
    static let sign: UInt32 = 0x15D
    static let flush: UInt32 = 0x165
    static let readIndex: UInt32 = 0x169
    static let readPublic: UInt32 = 0x173
    static let startSession: UInt32 = 0x176
  }

  let path = "/tmp/tpm-\(UInt32.random(in: 1 ... .max))"
  private let commands = CoreLock<[[UInt8]]>([])
  private let script: CoreLock<Script>
  private let listener: Int32

  init(_ script: Script = Script()) throws {
    self.script = CoreLock(script)
    listener = try TPMSocket.listen(at: path)
    let file = listener
    let (commands, said) = (commands, self.script)
    Thread { Self.serve(file, commands, said) }.start()
  }

  deinit { TPMSocket.end(listener, at: path) }

  /// The commands of this number, in the order in which they came, each without its head.
  func commands(_ number: UInt32) -> [[UInt8]] {
    commands.withLock { $0 }.filter { Self.number($0[6..<10]) == number }.map { Array($0[10...]) }
  }

  /// The numbers of all commands.
  var numbers: [UInt32] { commands.withLock { $0 }.map { Self.number($0[6..<10]) } }

  private static func serve(
    _ listener: Int32, _ commands: CoreLock<[[UInt8]]>, _ script: CoreLock<Script>
  ) {
    defer { close(listener) }
    while true {
      let line = accept(listener, nil, nil)
      guard line >= 0 else { return }
      var piece = [UInt8](repeating: 0, count: 4_096)
      var count = unsafe read(line, &piece, piece.count)
      while count > 0 {
        let command = Array(piece[..<count])
        let place = commands.withLock { commands in
          commands.append(command)
          return commands.count
        }
        let said = script.withLock { Self.answer(to: command, place, &$0) }
        unsafe _ = send(line, said, said.count, Int32(MSG_NOSIGNAL))
        count = unsafe read(line, &piece, piece.count)
      }
      close(line)
    }
  }

  private static func answer(
    to command: [UInt8], _ place: Int, _ script: inout Script
  ) -> [UInt8] {
    let nothing = counted([])
    switch number(command[6..<10]) {
    case Command.makePrimary: return primary(command, place, script)
    case Command.sign:
      let head = bytes(script.algorithm) + bytes(UInt16(0x000B))
      return passed(head + counted(script.r) + counted(script.s))
    case Command.readIndex:
      let area =
        bytes(UInt32(0x01C0_0002)) + bytes(UInt16(0x000B)) + bytes(UInt32(0x6207_2001)) + nothing
        + bytes(UInt16(script.memory.count))
      return whole(counted(area) + counted(name(area)))
    case Command.read:
      let (count, offset) = (number(command.suffix(4).prefix(2)), number(command.suffix(2)))
      let end = min(Int(offset + count) + script.excess, script.memory.count)
      return passed(counted(Array(script.memory[Int(offset)..<end])))
    case Command.readPublic:
      guard script.hasEndorsement else { return refusal(0x18B) }
      return whole(
        counted(endorsementArea) + counted(name(endorsementArea))
          + counted([0, 11] + [UInt8](repeating: 0, count: 32)))
    case Command.startSession:
      return whole(bytes(UInt32(0x0300_0000)) + counted([UInt8](repeating: 5, count: 32)))
    case Command.policySecret:
      return passed(nothing + [0x80, 0x23] + bytes(UInt32(0x4000_0007)) + nothing)
    case Command.activate:
      guard script.refusals == 0 else {
        script.refusals -= 1
        return refusal(0x1DF)
      }
      return opened(command, script.secret)
    case Command.flush: return whole([])
    default: return refusal(0x143)
    }
  }

  /// A primary key with the template of the command: its area, and what else an answer has.
  private static func primary(_ command: [UInt8], _ place: Int, _ script: Script) -> [UInt8] {
    var rest = command[14...]
    func take(_ width: Int) -> [UInt8] {
      let count = Int(number(rest.prefix(width)))
      let taken = Array(rest.dropFirst(width).prefix(count))
      rest = rest.dropFirst(width + count)
      return taken
    }
    _ = take(4)
    _ = take(2)
    let template = take(2)
    let area =
      template[1] == 0x23
      ? template[..<20] + counted(script.x) + counted(script.y)
      : template.dropLast(258) + counted([UInt8](repeating: 0x99, count: 256))
    let nothing = counted([])
    let creation = bytes(UInt32(0)) + nothing + [1, 0, 11] + nothing + nothing + nothing
    let ticket = [0x80, 0x21] + Array(command[10..<14]) + nothing
    return passed(
      counted(Array(area)) + counted(creation) + counted([UInt8](repeating: 0, count: 32)) + ticket
        + counted(name(Array(area))), handle: 0x8000_0000 + UInt32(place))
  }

  /// An opened credential, with the tag of the session by which the command was allowed.
  private static func opened(_ command: [UInt8], _ secret: [UInt8]) -> [UInt8] {
    // Behind the head, two handles, the size of the sessions and the password's handle: its nonce.
    var at = 26
    at += 2 + Int(number(command[at..<at + 2])) + 1
    at += 2 + Int(number(command[at..<at + 2])) + 4
    let count = Int(number(command[at..<at + 2]))
    let caller = Array(command[at + 2..<at + 2 + count])
    let attributes = command[at + 2 + count]
    let parameters = counted(secret)
    let nonce = [UInt8](repeating: 6, count: 32)
    let digest = Digest(hashing: bytes(UInt32(0)) + bytes(Command.activate) + parameters).bytes
    let tag = hmac(digest + nonce + caller + [attributes])
    return whole(
      bytes(UInt32(parameters.count)) + parameters + [0, 0, 1, 0, 0] + counted(nonce)
        + [attributes] + counted(tag), tag: 0x8002)
  }

  /// HMAC-SHA256 under no key.
  private static func hmac(_ message: [UInt8]) -> [UInt8] {
    let inner = Digest(hashing: [UInt8](repeating: 0x36, count: 64) + message).bytes
    return Digest(hashing: [UInt8](repeating: 0x5C, count: 64) + inner).bytes
  }

  /// An answer with parameters, by the password's session.
  private static func passed(_ parameters: [UInt8], handle: UInt32? = nil) -> [UInt8] {
    let handles = handle.map { bytes($0) } ?? []
    return whole(
      handles + bytes(UInt32(parameters.count)) + parameters + [0, 0, 1, 0, 0], tag: 0x8002)
  }

  private static func whole(_ body: [UInt8], tag: UInt16 = 0x8001) -> [UInt8] {
    bytes(tag) + bytes(UInt32(10 + body.count)) + bytes(UInt32(0)) + body
  }

  private static func refusal(_ code: UInt32) -> [UInt8] {
    bytes(UInt16(0x8001)) + bytes(UInt32(10)) + bytes(code)
  }

  private static func name(_ area: [UInt8]) -> [UInt8] { [0, 11] + Digest(hashing: area).bytes }

  private static func counted(_ content: [UInt8]) -> [UInt8] {
    bytes(UInt16(content.count)) + content
  }

  private static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    stride(from: Number.bitWidth - 8, through: 0, by: -8).map {
      UInt8(truncatingIfNeeded: number >> Number($0))
    }
  }

  static func number(_ bytes: some Sequence<UInt8>) -> UInt32 {
    bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// The area of an endorsement key up to its modulus: template L-1, TCG EK Credential Profile.
  static let endorsementTemplate: [UInt8] = [
    0x00, 0x01, 0x00, 0x0B, 0x00, 0x03, 0x00, 0xB2, 0x00, 0x20, 0x83, 0x71, 0x97, 0x67, 0x44, 0x84,
    0xB3, 0xF8, 0x1A, 0x90, 0xCC, 0x8D, 0x46, 0xA5, 0xD7, 0x24, 0xFD, 0x52, 0xD7, 0x6E, 0x06, 0x52,
    0x0B, 0x64, 0xF2, 0xA1, 0xDA, 0x1B, 0x33, 0x14, 0x69, 0xAA, 0x00, 0x06, 0x00, 0x80, 0x00, 0x43,
    0x00, 0x10, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00,
  ]
  private static let endorsementArea =
    endorsementTemplate + [UInt8](repeating: 0x55, count: 256)
}
