// SPDX-License-Identifier: Apache-2.0

import LinkBench
import ProofKit
import ProofLink
import ProofModel
import Testing

extension BenchTests {
  @Suite("A connection that seals its commands")
  struct SealedTests {
    private static let unlock = Command("open", class: 0)
    private static let sealing = HardwareConnection.Options(
      patience: Stage.patience, sealsCommands: true)

    /// A connection that seals, over a tapped link to hardware that does.
    private static func door(
      _ stage: Stage, mtu: Int = 185, tap: Tap = Tap(), memory: LinkMemory = LinkMemory(),
      remember: @escaping @Sendable (LinkMemory) throws -> Void = { _ in }
    ) -> HardwareConnection {
      var options = sealing
      options.mtu = mtu
      return HardwareConnection(
        to: stage.pair, proving: BenchProver(secrets: stage.bench.secrets),
        over: TappedTransport(stage.transport, tap), memory: HeardMemory(memory, remember),
        clock: stage.clock, options: options)
    }

    @Test("commands of both kinds are done, at every MTU", arguments: [23, 60, 185, 517])
    func done(mtu: Int) async throws {
      let bench = try Bench(seed: 60)
      bench.seal()
      let tap = Tap()
      let stage = try Stage(bench, ratchet: .report)
      let door = Self.door(stage, mtu: mtu, tap: tap)
      #expect(try await door.send(Stage.open).verdict == .accepted)
      let before = tap.toHardware.count
      #expect(try await door.send(Stage.open).verdict == .accepted)
      if mtu == 185 {
        // Two round trips, as in the clear: a read and a write.
        #expect(tap.toHardware.count - before == 2)
      }
      #expect(try await door.send(Self.unlock, proving: .device).verdict == .acceptedDeviceOnly)
      #expect(try await door.reply()?.counter != nil)
      #expect(bench.done == 3)
      #expect(Tap.commandKinds(tap.toHardware) == [5, 5, 5, 6])
    }

    @Test("an eavesdropper finds neither command nor instance, and sees one shape for all commands")
    func eavesdropper() async throws {
      var shapes: [[Tap.Shape]] = []
      for command in [Command("autolock 12345", class: 2), Command("install 654321", class: 3)] {
        let bench = try Bench(seed: 61)
        bench.seal()
        let tap = Tap()
        let stage = try Stage(bench)
        let door = Self.door(stage, tap: tap)
        let receipt = try await door.send(command)
        #expect(receipt.verdict == .accepted && receipt.usesLeft == 999)
        let heard = tap.toHardware + tap.toApp
        for secret in [command.bytes, bench.instance.bytes, receipt.nonce.bytes] {
          // Four bytes of these would stand in random ones by chance, in one of a million runs.
          for length in [6, secret.count] {
            #expect(!heard.contains { Tap.contains($0, secret.prefix(length)) })
          }
        }
        // No VERDICT in the clear follows the one that holds the token.
        let types = tap.toApp.filter { $0[0] == 0x1B && $0[3] & 0x80 != 0 }.map { $0[3] & 15 }
        #expect(types == [5, 10])
        shapes.append(tap.shapes)
      }
      // The two commands differ in random and encrypted values alone.
      #expect(shapes[0] == shapes[1])
    }

    @Test("an eavesdropper cannot tell an accepted command from a refused one")
    func refused() async throws {
      var shapes: [[Tap.Shape]] = []
      for classes in [1, 9] as [UInt8] {
        let bench = try Bench(seed: 62)
        bench.seal()
        let tap = Tap()
        let stage = try Stage(bench, ratchet: .refuse)
        let door = Self.door(stage, tap: tap)
        #expect(try await door.send(Stage.open).verdict == .accepted)
        let copied = await door.memory
        #expect(try await door.send(Stage.open).verdict == .accepted)
        await door.disconnect()
        let other = Tap()
        let copy = Self.door(Stage(stage, bench), tap: other, memory: copied)
        let command = Command("open", class: classes == 1 ? 0 : 1)
        if classes == 1 {
          #expect(try await copy.send(command).verdict == .acceptedCopy)
        } else {
          let error = await #expect(throws: LinkError.self) { try await copy.send(command) }
          #expect(error?.reason == .copied && error?.isAuthenticated == true)
        }
        shapes.append(other.shapes)
      }
      #expect(shapes[0] == shapes[1])
    }

    @Test("what was heard is not done again: on its link, on another one, after a new key")
    func replayed() async throws {
      let bench = try Bench(seed: 63)
      bench.seal()
      let tap = Tap()
      let stage = try Stage(bench)
      let door = Self.door(stage, tap: tap)
      #expect(try await door.send(Stage.open).verdict == .accepted)
      #expect(bench.done == 1)
      let heard = tap.toHardware
      // On the same link.
      for pdu in heard { _ = bench.receive(pdu) }
      #expect(bench.done == 1)
      await door.disconnect()
      for _ in 0..<2 {
        bench.connect()
        // The whole session, which asks for a challenge of its own.
        for pdu in heard { _ = bench.receive(pdu) }
        bench.disconnect()
        #expect(bench.done == 1)
        bench.losePower()
      }
      // The owner goes on.
      #expect(try await door.send(Stage.open).verdict == .accepted)
      #expect(bench.done == 2)
    }

    @Test("a command with a byte changed on its way is not done; it is sealed anew, and done once")
    func changedCommand() async throws {
      let length = 3 + 4 + 142 + 4 + 2
      for index in 0..<length {
        let bench = try Bench(seed: 64)
        bench.seal()
        let tap = Tap()
        let stage = try Stage(bench)
        let door = Self.door(stage, tap: tap)
        tap.changeToHardware { pdu in
          // The first whole COMMAND.
          guard pdu.count == length, pdu[3] == 0xC4 else { return nil }
          // Some of these get no answer.
          stage.clock.pass(Stage.patience)
          var changed = pdu
          changed[index] ^= 0x10
          return changed
        }
        #expect(try await door.send(Stage.open).verdict == .accepted, "byte \(index)")
        #expect(bench.done == 1, "byte \(index)")
        #expect(tap.changes == 1)
      }
    }

    @Test("an answer with a byte changed on its way is no answer; the hardware is asked")
    func changedAnswer() async throws {
      let length = 3 + 4 + 35 + 2
      for index in 0..<length {
        let bench = try Bench(seed: 65)
        bench.seal()
        let tap = Tap()
        let stage = try Stage(bench)
        let door = Self.door(stage, tap: tap)
        tap.changeToApp { pdu in
          guard pdu.count == length, pdu[3] == 0xCA else { return nil }
          stage.clock.pass(Stage.patience)
          var changed = pdu
          changed[index] ^= 0x01
          return changed
        }
        #expect(try await door.send(Stage.open).verdict == .accepted, "byte \(index)")
        #expect(bench.done == 1 && tap.changes == 1, "byte \(index)")
      }
    }

    @Test("a peer in the middle who puts a key of his own in the challenge gets nothing done")
    func replacedKey() async throws {
      let bench = try Bench(seed: 66)
      bench.seal()
      let tap = Tap()
      let stage = try Stage(bench)
      let door = Self.door(stage, tap: tap)
      tap.changeToApp(times: 3) { pdu in
        #expect(bench.done == 0)
        // The response to the read: opcode, counter 8, challenge 32, key 32.
        guard pdu.count == 1 + 72, pdu[0] == 0x0B else { return nil }
        return pdu.prefix(41) + [9] + [UInt8](repeating: 0, count: 31)
      }
      #expect(try await door.send(Stage.open).verdict == .accepted)
      // Three commands for the peer's key, and one for the hardware's: it alone is done.
      #expect(tap.changes == 3 && bench.done == 1)
      #expect(Tap.commandKinds(tap.toHardware) == [5, 5, 5, 5])
      // A key of low order, with which every listener could read: nothing is sealed for it.
      tap.changeToApp(times: .max) { pdu in
        guard pdu.count == 1 + 72, pdu[0] == 0x0B else { return nil }
        return pdu.prefix(41) + [UInt8](repeating: 0, count: 32)
      }
      let error = await #expect(throws: LinkError.self) { try await door.send(Stage.open) }
      #expect(error?.reason == .notMeasured && error?.commandMayBeDone == false)
      #expect(Tap.commandKinds(tap.toHardware).count == 4 && bench.done == 1)
    }

    @Test("nothing goes out in the clear where the hardware seals nothing, or seems to")
    func downgraded() async throws {
      for hides in [false, true] {
        let bench = try Bench(seed: 67)
        if hides { bench.seal() }
        let tap = Tap()
        let stage = try Stage(bench)
        let door = Self.door(stage, tap: tap)
        if hides {
          // To a search behind the known handles: there is nothing.
          tap.changeToApp(times: .max) { pdu in
            pdu[0] == 0x09 && pdu[2] >= 0x14 ? [0x01, 0x08, 0x14, 0, 0x0A] : nil
          }
        }
        let error = await #expect(throws: LinkError.self) { try await door.send(Stage.open) }
        #expect(error?.reason == .sealingMissing && error?.code == "LINK-24")
        #expect(error?.commandMayBeDone == false && error?.description.isEmpty == false)
        #expect(Tap.commandKinds(tap.toHardware).isEmpty && bench.done == 0)
        // A connection that does not seal goes on.
        if !hides {
          await door.disconnect()
          #expect(try await stage.connection().send(Stage.open).verdict == .accepted)
        }
      }
    }

    @Test("a token that demands sealed commands opens nothing in the clear, and says why")
    func demanded() async throws {
      let bench = try Bench(seed: 68)
      bench.seal()
      let stage = try Stage(bench, demandsSealing: true)
      let clear = stage.connection()
      let error = await #expect(throws: LinkError.self) { try await clear.send(Stage.open) }
      #expect(error?.code == "LOCK-19.3" && error?.isAuthenticated == true)
      #expect(error?.detail == .sealedDemanded && bench.done == 0)
      await clear.disconnect()
      #expect(try await Self.door(stage).send(Stage.open).verdict == .accepted)
      #expect(bench.done == 1)
    }

    @Test("a lost answer is settled by a recall, and the ratchet stays in step")
    func lost() async throws {
      for cut in 1...40 {
        let bench = try Bench(seed: UInt64(cut))
        bench.seal()
        let stage = try Stage(bench, ratchet: .report) { $0 % 41 == cut ? .cut : .carry }
        let door = Self.door(stage)
        try await Stage.expectNoCopy(seenBy: door, "\(cut)")
      }
    }

    @Test("an app that ends before its sealed answer goes on in step")
    func ended() async throws {
      let bench = try Bench(seed: 69)
      bench.seal()
      let stage = try Stage(bench, ratchet: .report)
      let kept = CoreLock([LinkMemory]())
      let door = Self.door(stage) { memory in kept.withLock { $0.append(memory) } }
      for _ in 0..<3 { #expect(try await door.send(Stage.open).verdict == .accepted) }
      await door.disconnect()
      let before = try #require(kept.withLock { $0.last { $0.openCommand != nil } })
      let again = Self.door(Stage(stage, bench), memory: before)
      let error = await #expect(throws: LinkError.self) { try await again.send(Stage.open) }
      #expect(error?.earlier?.isAccepted == true)
      #expect(try await again.send(Stage.open).verdict == .accepted)
      #expect(try await again.hasSeenCopy() == false)
      #expect(bench.done == 4)
    }

    @Test("a command that is too long to be sealed is not sent")
    func long() async throws {
      let bench = try Bench(seed: 70)
      bench.seal()
      let stage = try Stage(bench)
      let door = Self.door(stage)
      let longest = try Command([UInt8](repeating: 0x78, count: 216), class: 1)
      #expect(try await door.send(longest).verdict == .accepted)
      let error = await #expect(throws: LinkError.self) {
        try await door.send(Command([UInt8](repeating: 0x78, count: 217), class: 1))
      }
      #expect(error?.reason == .notMeasured && error?.commandMayBeDone == false)
      #expect(bench.done == 1)
    }
  }
}
