// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofLink

/// docs/LINK.md, sections 6 and 9.
@Suite("Values of a link at their bounds")
struct LinkFormTests {
  private static func reply(result: UInt8 = 1, open: UInt8 = 1) -> [UInt8] {
    [1, 2, 3, 4, 5, 6, 7, 8, result, open, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18]
  }

  @Test("each field of a reply has its place")
  func reply() throws {
    #expect(DeviceReply.byteCount == 18)
    let reply = try #require(DeviceReply(Self.reply()))
    #expect(reply.counter == 0x0807_0605_0403_0201)
    #expect(reply.result == .done && reply.isOpen)
    #expect(reply.autolock == 0x1211 && reply.firmware == 0x1413)
    #expect(reply.doneCount == 0x1817_1615)
    #expect(DeviceReply(Self.reply(open: 0))?.isOpen == false)
    #expect(DeviceReply(Self.reply(open: 2)) == nil)
  }

  @Test("a reply has one of four results, and 18 bytes")
  func replyForms() {
    let results: [DeviceReply.Result?] = [
      nil, .done, .unknownCommand, .outOfRange, .notStored, nil,
    ]
    for (number, result) in results.enumerated() {
      #expect(DeviceReply(Self.reply(result: UInt8(number)))?.result == result)
    }
    #expect(DeviceReply([]) == nil)
    #expect(DeviceReply(Self.reply().dropLast()) == nil)
    #expect(DeviceReply(Self.reply() + [0]) == nil)
  }

  @Test("a memory of version 3 has a serial, and zeros behind it")
  func memory() throws {
    var memory = LinkMemory()
    memory.lastSerial = 1
    let bytes = Array(memory.bytes.prefix(148))
    func read(_ changed: [UInt8]) throws -> LinkMemory {
      try LinkMemory(changed + Digest(hashing: Array("pkl1.link-memory".utf8) + changed).bytes)
    }
    #expect(try read(bytes) == memory)
    for place in 140..<148 {
      var changed = bytes
      changed[140] = 0
      changed[place] = 1
      if place < 144 {
        #expect(try read(changed).lastSerial == 1 << (8 * (place - 140)))
        changed[place] = 0
      } else {
        changed[140] = 1
      }
      #expect(throws: ProofError.malformed("link memory", byteCount: 180)) { try read(changed) }
    }
  }
}
