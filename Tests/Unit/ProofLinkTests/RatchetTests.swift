// SPDX-License-Identifier: Apache-2.0

import LinkBench
import ProofKit
import ProofLink
import ProofModel
import Testing

extension BenchTests {
  @Suite("A connection to hardware with a ratchet")
  struct RatchetTests {
    private static let unlock = Command("open", class: 0)

    @Test(
      "the hardware tells the policy once, and the app stays in step",
      arguments: RatchetPolicy.allCases)
    func owner(policy: RatchetPolicy) async throws {
      let bench = try Bench(seed: 40)
      let stage = try Stage(bench, uses: .unlimited, ratchet: policy)
      let door = stage.connection()
      #expect(try await door.send(Stage.open).verdict == .accepted)
      #expect(await door.memory.ratchet?.policy == policy)
      let before = stage.transport.count
      for kind in [ProofKind.integrity, .integrity] {
        #expect(try await door.send(Stage.open, proving: kind).verdict == .accepted)
      }
      #expect(
        try await door.send(Self.unlock, proving: .device).verdict == .acceptedDeviceOnly)
      // Two round trips each: the policy is not told again.
      #expect(stage.transport.count - before == 12)
      // An app that begins again goes on.
      let again = Stage(stage, bench).connection(memory: await door.memory)
      await door.disconnect()
      #expect(try await again.send(Stage.open).verdict == .accepted)
      #expect(try await again.hasSeenCopy() == false)
      #expect(bench.done == 5)
    }

    @Test("a copy of the memory is told of, and then the app that it was copied from")
    func copy() async throws {
      let bench = try Bench(seed: 41)
      let stage = try Stage(bench, ratchet: .report)
      let door = stage.connection()
      #expect(try await door.send(Stage.open).verdict == .accepted)
      let copied = await door.memory
      #expect(try await door.send(Stage.open).verdict == .accepted)
      await door.disconnect()
      let other = Stage(stage, bench).connection(memory: copied)
      let receipt = try await other.send(Stage.open)
      #expect(receipt.verdict == .acceptedCopy && receipt.usesLeft == 997)
      #expect(try await other.hasSeenCopy())
      // It is in step now.
      #expect(try await other.send(Stage.open).verdict == .accepted)
      await other.disconnect()
      #expect(try await door.hasSeenCopy() == false)
      #expect(try await door.send(Stage.open).verdict == .acceptedCopy)
      #expect(try await door.hasSeenCopy())
      try await door.forgetCopy()
      #expect(try await door.hasSeenCopy() == false)
      #expect(try await door.send(Stage.open).verdict == .accepted)
      #expect(bench.done == 6)
    }

    @Test("a copy is refused what no device match permits, and unlocks")
    func refused() async throws {
      let bench = try Bench(seed: 42)
      let stage = try Stage(bench, ratchet: .refuse)
      let door = stage.connection()
      #expect(try await door.send(Stage.open).verdict == .accepted)
      let copied = await door.memory
      #expect(try await door.send(Stage.open).verdict == .accepted)
      await door.disconnect()
      let other = Stage(stage, bench).connection(memory: copied)
      for _ in 0..<2 {
        let error = await #expect(throws: LinkError.self) { try await other.send(Stage.open) }
        #expect(error?.reason == .copied && error?.code == "LOCK-23")
        #expect(error?.isAuthenticated == true && error?.commandMayBeDone == false)
        #expect(try await other.send(Self.unlock).verdict == .acceptedCopy)
      }
      #expect(try await other.hasSeenCopy())
      await other.disconnect()
      #expect(try await door.send(Stage.open).verdict == .accepted)
      #expect(try await door.hasSeenCopy() == false)
      #expect(bench.done == 5)
    }

    @Test("no answer that is lost looks like a copy, wherever the link ends")
    func lost() async throws {
      for cut in 1...60 {
        let bench = try Bench(seed: UInt64(cut))
        let stage = try Stage(bench, ratchet: .report) { $0 % 61 == cut ? .cut : .carry }
        let door = stage.connection()
        try await Stage.expectNoCopy(seenBy: door, "\(cut)")
      }
    }

    @Test("an app that ends before its answer goes on in step, from what it stored before")
    func ended() async throws {
      let bench = try Bench(seed: 43)
      let stage = try Stage(bench, ratchet: .report)
      let kept = CoreLock([LinkMemory]())
      let door = stage.connection { memory in kept.withLock { $0.append(memory) } }
      for _ in 0..<3 { #expect(try await door.send(Stage.open).verdict == .accepted) }
      await door.disconnect()
      // The last memory with an open command: the answer to it never came.
      let before = try #require(kept.withLock { $0.last { $0.openCommand != nil } })
      let again = Stage(stage, bench).connection(memory: before)
      let error = await #expect(throws: LinkError.self) { try await again.send(Stage.open) }
      #expect(error?.earlier?.isAccepted == true)
      #expect(try await again.send(Stage.open).verdict == .accepted)
      #expect(try await again.hasSeenCopy() == false)
      #expect(bench.done == 4)
    }

    @Test("a copy that speaks while an answer is lost is told of")
    func forgotten() async throws {
      let bench = try Bench(seed: 44)
      let stage = try Stage(bench, ratchet: .report)
      let kept = CoreLock([LinkMemory]())
      let door = stage.connection { memory in kept.withLock { $0.append(memory) } }
      for _ in 0..<2 { #expect(try await door.send(Stage.open).verdict == .accepted) }
      await door.disconnect()
      let memories = kept.withLock { $0 }
      let open = try #require(memories.last { $0.openCommand != nil })
      let settled = try #require(memories.last)
      let copy = Stage(stage, bench).connection(memory: settled)
      #expect(try await copy.send(Stage.open).verdict == .accepted)
      await copy.disconnect()
      let again = Stage(stage, bench).connection(memory: open)
      #expect(try await again.settle() == .unknown)
      #expect(try await again.hasSeenCopy())
    }

    @Test("the attestor is told of a copy at once and after a restart, until the service knows it")
    func reported() async throws {
      let bench = try Bench(seed: 47)
      let stage = try Stage(bench, ratchet: .report)
      let door = stage.connection()
      for _ in 0..<2 { #expect(try await door.send(Stage.open).verdict == .accepted) }
      let copied = await door.memory
      #expect(try await door.send(Stage.open).verdict == .accepted)
      await door.disconnect()
      let (noted, isReported) = (CoreLock(0), CoreLock(false))
      let keeper = ConnectionKeeper(
        fitting: { nil }, accepted: { _ in }, noteCopy: { noted.withLock { $0 += 1 } },
        hasReportedCopy: { isReported.withLock { $0 } })
      let copy = Stage(stage, bench).connection(memory: copied, keeping: keeper)
      #expect(try await copy.send(Stage.open).verdict == .acceptedCopy)
      #expect(noted.withLock { $0 } == 1)
      #expect(try await copy.send(Stage.open).verdict == .accepted)
      #expect(try await copy.hasSeenCopy() && noted.withLock { $0 } == 1)
      await copy.disconnect()
      // The app begins again before it has reported.
      let again = Stage(stage, bench).connection(memory: await copy.memory, keeping: keeper)
      #expect(try await again.hasSeenCopy() && noted.withLock { $0 } == 2)
      isReported.withLock { $0 = true }
      #expect(try await again.send(Stage.open).verdict == .accepted)
      #expect(await again.memory.hasSeenCopy == false && noted.withLock { $0 } == 2)
    }

    @Test("a new token begins a new ratchet, with a policy or without")
    func renewed() async throws {
      let bench = try Bench(seed: 45)
      let stage = try Stage(bench, ratchet: .report)
      let door = stage.connection()
      #expect(try await door.send(Stage.open).verdict == .accepted)
      var memory = await door.memory
      await door.disconnect()
      let policies: [RatchetPolicy?] = [.refuse, nil, .report]
      for (generation, policy) in zip(UInt32(2)..., policies) {
        let next = try Stage(bench, generation: generation, ratchet: policy)
        let door = next.connection(memory: memory)
        #expect(try await door.send(Stage.open).verdict == .accepted)
        #expect(await door.memory.ratchet?.policy == policy)
        memory = await door.memory
        await door.disconnect()
      }
      #expect(bench.done == 4)
    }

    @Test("a memory with a ratchet is read as it was stored, and no other bytes are")
    func stored() throws {
      let token = try TokenDigest([UInt8](repeating: 7, count: 16))
      var memory = LinkMemory()
      #expect(memory.bytes.count == LinkMemory.byteCount)
      let plain = Ratchet(.report, of: token, lastAccepted: 9)
      let full = Ratchet(
        .refuse, of: token, lastAccepted: .max, value: [UInt8](repeating: 1, count: 16),
        after: .init(
          next: [UInt8](repeating: 2, count: 16), fork: [UInt8](repeating: 3, count: 16)))
      for ratchet in [plain, full, nil] {
        memory.ratchet = ratchet
        memory.hasSeenCopy = ratchet != full
        memory.openCommand = OpenCommand(
          nonce: try ProofNonce([UInt8](repeating: 5, count: 16)), counter: 6)
        let bytes = memory.bytes
        #expect(bytes.count == LinkMemory.byteCountTwo)
        #expect(try LinkMemory(bytes) == memory)
        #expect(!"\(full)".contains("1, 1"))
        for index in bytes.indices {
          var damaged = bytes
          damaged[index] ^= 1
          #expect(throws: ProofError.self) { try LinkMemory(damaged) }
        }
      }
    }
  }
}
