// SPDX-License-Identifier: Apache-2.0

import LinkBench
import ProofKit
import ProofLink
import ProofModel
import Testing

extension BenchTests {
  @Suite("A delegation over a bad link")
  struct LoanLinkTests {
    @Test("is taken once, wherever the link is cut, or a packet is lost")
    func cut() async throws {
      let counter = CoreLock(0)
      let whole = try LoanStage(decide: { number in
        counter.withLock { $0 = number }
        return .carry
      })
      try await whole.introduce()
      try await whole.member.door.deliver(whole.lend())
      let events = counter.withLock { $0 }
      #expect(events > 10)
      for loses in [false, true] {
        for at in 1...events {
          let clock = StillClock()
          let stage = try LoanStage(
            clock: clock,
            decide: { number in
              guard number == at else { return .carry }
              guard loses else { return .cut }
              clock.pass(Stage.patience)
              return .lose
            })
          try await stage.introduce()
          let loan = try await stage.lend()
          #expect(try await stage.member.door.deliver(loan)?.usesLeft == 3, "event \(at)")
          for _ in 0..<3 {
            #expect(try await stage.member.door.send(LoanStage.open).verdict == .accepted)
          }
          let error = await stage.refusal { try await stage.member.door.send(LoanStage.open) }
          #expect(error?.code == "LOCK-19.4", "event \(at)")
          #expect(stage.bench.done == 3)
        }
      }
    }

    @Test("is no word of a liar: a receipt that no key made counts for nothing")
    func lies() async throws {
      // A verdict *done* with a receipt that no key made.
      let bytes = [4, 3, 0] + [UInt8](repeating: 0, count: 8) + [UInt8](repeating: 7, count: 32)
      let packets = try Message(.verdict, bytes).packets(of: 182).map { [0x1B, 0x0A, 0x00] + $0 }
      let lies = CoreLock(false)
      let stage = try LoanStage(decide: { _ in lies.withLock { $0 } ? .lie(packets) : .carry })
      try await stage.introduce()
      let tooWide = try await stage.lend(CommandClasses(rawValue: 1))
      let loan = try await stage.lend()
      lies.withLock { $0 = true }
      // The hardware's own answers are heard at last.
      let error = await stage.refusal { try await stage.member.door.deliver(tooWide) }
      #expect(error?.code == "LOCK-19.9")
      #expect(try await stage.member.door.deliver(loan)?.usesLeft == 3)
    }

    @Test("outlives a restart of the hardware, and so do the uses that are left")
    func power() async throws {
      let stage = try LoanStage()
      try await stage.introduce()
      let loan = try await stage.lend()
      for left in [3, 2, 1, 0] as [UInt16] {
        #expect(try await stage.member.door.deliver(loan)?.usesLeft == left)
        await stage.member.door.disconnect()
        stage.bench.losePower()
        if left > 0 {
          #expect(try await stage.member.door.send(LoanStage.open).verdict == .accepted)
        }
      }
      #expect(stage.bench.done == 3)
    }

    @Test("a memory that has lent is version 3, and is read back")
    func memory() throws {
      var memory = LinkMemory()
      memory.lastSerial = 77
      #expect(memory.bytes.count == LinkMemory.byteCountMax && memory.bytes[4] == 3)
      #expect(try LinkMemory(memory.bytes) == memory)
      memory.hasSeenCopy = true
      memory.heldToken = try TokenDigest([UInt8](repeating: 3, count: 16))
      #expect(try LinkMemory(memory.bytes) == memory)
      for index in memory.bytes.indices {
        var damaged = memory.bytes
        damaged[index] ^= 1
        #expect(throws: ProofError.self) { try LinkMemory(damaged) }
      }
    }
  }
}
