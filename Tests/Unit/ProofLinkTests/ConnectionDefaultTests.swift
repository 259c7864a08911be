// SPDX-License-Identifier: Apache-2.0

import LinkBench
import ProofKit
import ProofLink
import ProofModel
import Testing

/// A way to hardware that is never found.
private struct NoHardware: LinkTransport {
  func open() async throws(LinkUnavailable) -> any LinkChannel {
    let (stream, continuation) = AsyncStream<Never>.makeStream()
    defer { continuation.finish() }
    await withTaskCancellationHandler {
      for await _ in stream {}
    } onCancel: {
      continuation.finish()
    }
    throw LinkUnavailable("out of reach")
  }
}

extension BenchTests {
  @Suite("A connection's defaults, and its memory")
  struct ConnectionDefaultTests {
    @Test(
      "asks for 185 bytes, waits for 3 s, seals nothing, and keeps a channel where it seals")
    func options() {
      let options = HardwareConnection.Options()
      #expect(options.mtu == 185 && options.patience == .seconds(3))
      #expect(!options.sealsCommands && options.keepsChannel)
      let other = HardwareConnection.Options(
        mtu: 23, patience: .seconds(1), sealsCommands: true, keepsChannel: false)
      #expect(other.mtu == 23 && other.patience == .seconds(1))
      #expect(other.sealsCommands && !other.keepsChannel)
    }

    @Test("each call ends after 30 s unless it says otherwise", .timeLimit(.minutes(5)))
    func deadlines() async throws {
      let stage = try Stage(Bench(seed: 31))
      let delegation = try LinkPair().delegation()
      let order = try Order(.epoch(stage.bench.identity.id), issued: 1_720_000_000)
        .signed(by: stage.bench.issuer)
      var memory = LinkMemory()
      memory.openCommand = OpenCommand(
        nonce: try ProofNonce([UInt8](repeating: 9, count: 16)), counter: 1)
      let settling = stage.connection(memory: memory, over: NoHardware())
      let door = stage.connection(over: NoHardware())
      let calls: [@Sendable () async throws -> Void] = [
        { try await door.connect() }, { _ = try await door.present() },
        { _ = try await door.send(Stage.open) }, { _ = try await settling.settle() },
        { _ = try await door.status() }, { _ = try await door.reply() },
        { try await door.deliver(order) }, { _ = try await door.collectLog() },
        { _ = try await door.deliver(delegation) },
      ]
      for (number, call) in calls.enumerated() {
        stage.clock.pass(.seconds(30))
        let error = await #expect(throws: LinkError.self) { try await call() }
        #expect(error?.reason == .timedOut, "\(number)")
      }
    }

    @Test(
      "a link that the app ends is opened again for the call that uses it", .timeLimit(.minutes(5)))
    func disconnected() async throws {
      let (lost, losing) = AsyncStream<Void>.makeStream()
      let losesAt = CoreLock(0)
      let bench = try Bench(seed: 32)
      let stage = try Stage(bench) { number in
        guard losesAt.withLock({ $0 }) == number else { return .carry }
        losing.yield()
        return .lose
      }
      let door = stage.connection()
      // A connection that has no link ends none.
      await door.disconnect()
      try await door.connect()
      losesAt.withLock { $0 = stage.transport.count + 1 }
      let call = Task { try await door.status() }
      for await _ in lost { break }
      await door.disconnect()
      #expect(try await call.value.hardware == bench.identity.id)
    }

    @Test(
      "a forgotten command leaves the rest of the memory, and a ratchet without what would follow")
    func forgotten() async throws {
      let token = try TokenDigest([UInt8](repeating: 7, count: 16))
      let value = [UInt8](repeating: 1, count: 16)
      var memory = LinkMemory()
      memory.heldToken = token
      memory.hasSeenCopy = true
      memory.openCommand = OpenCommand(
        nonce: try ProofNonce([UInt8](repeating: 9, count: 16)), counter: 5)
      memory.ratchet = Ratchet(
        .refuse, of: token, lastAccepted: 4, value: value, after: .init(next: value, fork: value))
      let stored = CoreLock<[LinkMemory]>([])
      let stage = try Stage(Bench(seed: 33))
      let door = stage.connection(
        memory: memory, over: NoHardware(),
        remember: { kept in stored.withLock { $0.append(kept) } })
      #expect(try await door.hasOpenCommand())
      #expect(try await door.hasSeenCopy())
      try await door.forgetOpenCommand()
      #expect(try await !door.hasOpenCommand())
      #expect(try await door.hasSeenCopy())
      var expected = memory
      expected.openCommand = nil
      expected.ratchet = Ratchet(.refuse, of: token, lastAccepted: 4, value: value, after: nil)
      #expect(stored.withLock { $0 } == [expected])
      #expect(try await door.settle() == nil)
      try await door.forgetCopy()
      expected.hasSeenCopy = false
      #expect(stored.withLock { $0.last } == expected)
      #expect(try await !door.hasSeenCopy())
    }

    @Test("a memory that cannot be stored says so, and a command is open as before")
    func unstored() async throws {
      struct Full: Error, CustomStringConvertible { let description = "no space is left" }
      var memory = LinkMemory()
      memory.hasSeenCopy = true
      memory.openCommand = OpenCommand(
        nonce: try ProofNonce([UInt8](repeating: 9, count: 16)), counter: 5)
      let stage = try Stage(Bench(seed: 34))
      let door = stage.connection(
        memory: memory, over: NoHardware(), remember: { _ throws in throw Full() })
      let error = LinkError(.notStored, words: "no space is left")
      await #expect(throws: error) { try await door.forgetOpenCommand() }
      await #expect(throws: error) { try await door.forgetCopy() }
      #expect(try await door.hasOpenCommand())
      #expect(try await door.hasSeenCopy())
    }

    @Test("the highest number of a delegation stays, and a time beyond it is that one")
    func serials() async throws {
      let stage = try LoanStage()
      let pair = stage.owner.pair
      for (last, now, serial) in [
        (0, 7, 7), (7, 7, 8), (.max - 1, 7, .max), (.max, 7, .max), (3, UnixTime.last, .max),
      ] as [(UInt32, UnixTime, UInt32)] {
        var memory = LinkMemory()
        memory.heldToken = pair.token.digest
        memory.lastSerial = last
        let door = HardwareConnection(
          to: pair, proving: BenchProver(secrets: stage.owner.secrets),
          over: NoHardware(), memory: HeardMemory(memory), clock: StillClock())
        let loan = try await door.lend(
          LoanStage.lent, to: stage.member.pair.token.digest, uses: 1, until: LoanStage.end,
          at: now)
        #expect(loan.loan.serial == serial && loan.loan.uses == 1)
        #expect(loan.owner == pair.instance && loan.generation == pair.generation)
        #expect(await door.memory.lastSerial == serial)
      }
    }

    @Test("a newer pair that the app fits is used, its acceptance is told, and names its member")
    func newerPair() async throws {
      let bench = try Bench(seed: 35)
      let (old, new) = (try Stage(bench), try Stage(bench, generation: 2))
      let prover = BenchProver(secrets: bench.secrets)
      let (hasBefore, accepted) = (CoreLock(true), CoreLock<[TokenDigest]>([]))
      let (newer, older) = (new.pair, old.pair)
      let keeper = ConnectionKeeper(
        fitting: { ((newer, prover), hasBefore.withLock { $0 } ? (older, prover) : nil) },
        accepted: { pair in accepted.withLock { $0.append(pair.token.digest) } },
        noteCopy: {}, hasReportedCopy: { false })
      let door = old.connection(keeping: keeper)
      // While the hardware may still hold the present token, that one is the member's name.
      #expect(await door.memberName() == old.token.digest)
      #expect(try await door.send(Stage.open).verdict == .accepted)
      #expect(await door.memory.heldToken == new.token.digest)
      #expect(accepted.withLock { $0 } == [new.token.digest])
      hasBefore.withLock { $0 = false }
      #expect(await door.memberName() == new.token.digest)
      // Nothing is told where no older pair is left to delete.
      #expect(try await door.send(Stage.open).verdict == .accepted)
      #expect(accepted.withLock { $0 } == [new.token.digest])
      let alone = old.connection(over: NoHardware())
      #expect(await alone.memberName() == old.token.digest)
    }
  }
}
