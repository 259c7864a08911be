// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Testing

@Suite("Frames")
struct FrameTests {
  static let sizes = [20, 21, 64, 182, 244, 514]

  @Test("bring every type of message across, at every size of packet", arguments: sizes)
  func roundTrip(size: Int) throws {
    for message in try messages() {
      let packets = try message.packets(of: size)
      #expect(try packets.count == Frame.packetCount(of: message, packetSize: size))
      #expect(packets.allSatisfy { $0.count <= size })
      #expect(packets.dropLast().allSatisfy { $0.count == size })
      var reassembler = Reassembler()
      for packet in packets.dropLast() { #expect(reassembler.receive(packet) == .more) }
      #expect(reassembler.receive(packets[packets.count - 1]) == .complete(message))
    }
  }

  @Test("need the packets that docs/SPEC.md budgets for")
  func budget() throws {
    let table: [(MessageType, Int, Int, Int)] = [
      (.ask, 1, 1, 1), (.challenge, 40, 3, 1), (.token, 288, 17, 2), (.command, 90 + 8, 6, 1),
      (.verdict, 43, 3, 1),
    ]
    for (type, count, small, large) in table {
      #expect(try Frame.packetCount(of: type, byteCount: count, packetSize: 20) == small)
      #expect(try Frame.packetCount(of: type, byteCount: count, packetSize: 182) == large)
    }
  }

  @Test("of a size that no link has, or of a length that no message has, are refused")
  func misuse() {
    for size in [Int.min, -1, 0, 19, 515, .max] {
      #expect(throws: ProofError.self) { try Message.askForChallenge.packets(of: size) }
      #expect(throws: ProofError.self) { _ = try Fragmenter(.askForChallenge, packetSize: size) }
      #expect(throws: ProofError.self) {
        try Frame.packetCount(of: .askForChallenge, packetSize: size)
      }
    }
    #expect(throws: ProofError.malformed("ask message", byteCount: 2)) {
      try Frame.packetCount(of: .ask, byteCount: 2, packetSize: 20)
    }
  }

  @Test("end: a fragmenter that gave all packets gives no more")
  func exhausted() throws {
    var fragmenter = try Fragmenter(.askForChallenge, packetSize: 20)
    let packets = [fragmenter.next(), fragmenter.next(), fragmenter.next()]
    #expect(packets.map { $0 != nil } == [true, false, false])
  }

  @Test("may be repeated, but neither lost nor swapped")
  func faults() throws {
    let message = try Message(.verdict, [1] + [UInt8](repeating: 9, count: 42))
    let packets = try message.packets(of: 20)
    #expect(packets.count == 3)

    var repeating = Reassembler()
    #expect(repeating.receive(packets[0]) == .more)
    #expect(repeating.receive(packets[1]) == .more)
    #expect(repeating.receive(packets[1]) == .repeated)
    #expect(repeating.receive(packets[2]) == .complete(message))

    var losing = Reassembler()
    #expect(losing.receive(packets[0]) == .more)
    #expect(losing.receive(packets[2]) == .lost)
    #expect(losing.receive(packets[1]) == .garbage)

    var corrupted = Reassembler()
    #expect(corrupted.receive(packets[0]) == .more)
    #expect(corrupted.receive(flipped(packets[1], bit: 60)) == .more)
    #expect(corrupted.receive(packets[2]) == .lost)
  }

  @Test("of random bytes never disturb more than the message in flight")
  func garbage() throws {
    let message = try Message(.verdict, [1] + [UInt8](repeating: 9, count: 42))
    let packets = try message.packets(of: 20)
    var generator = SeededGenerator(seed: 99)
    var reassembler = Reassembler()
    for _ in 0..<2_000 {
      let count = Int.random(in: 0...600, using: &generator)
      let noise = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
      _ = reassembler.receive(noise)
      let results = packets.map { reassembler.receive($0) }
      #expect(results == [.more, .more, .complete(message)])
    }
  }

  private func messages() throws -> [Message] {
    let lengths: [(MessageType, Int)] = [
      (.ask, 1), (.challenge, 40), (.token, 288), (.command, 58), (.command, 90), (.command, 98),
      (.command, 358), (.verdict, 43), (.order, 124), (.recall, 72), (.status, 28),
    ]
    return try lengths.map { type, count in
      try Message(type, (0..<count).map { UInt8(truncatingIfNeeded: 7 * $0 + 1) })
    }
  }
}
