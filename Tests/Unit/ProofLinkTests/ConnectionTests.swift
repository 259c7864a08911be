// SPDX-License-Identifier: Apache-2.0

import LinkBench
import OwnThreads
import ProofKit
import ProofLink
import ProofModel
import Testing

extension BenchTests {
  @Suite("A connection")
  struct ConnectionTests {
    @Test("the token is presented when the hardware does not hold it, and only then")
    func presentsOnce() async throws {
      let bench = try Bench(seed: 1)
      let stage = try Stage(bench)
      let door = stage.connection()
      #expect(try await door.send(Stage.open).verdict == .accepted)
      let first = stage.transport.count
      #expect(try await door.send(Stage.open).verdict == .accepted)
      // Two round trips on a link that is up: challenge read, command and verdict.
      #expect(stage.transport.count - first == 4)
      #expect(await door.memory.heldToken == stage.token.digest)
      #expect(bench.done == 2)
      // An app that remembers presents no token again and discovers nothing again.
      await door.disconnect()
      let next = Stage(stage, bench)
      let again = next.connection(memory: await door.memory)
      #expect(try await again.send(Stage.open).verdict == .accepted)
      // An opening, and the page's repeat at MTU 185.
      #expect(next.transport.count == 1 + 8)
      #expect(bench.done == 3)
    }

    @Test("status, reply and order go the same way")
    func errands() async throws {
      let bench = try Bench(seed: 2)
      let stage = try Stage(bench)
      for mtu in [23, 185] {
        let door = stage.connection(mtu: mtu)
        let status = try await door.status()
        #expect(status.hardware == bench.identity.id)
        #expect(status.mode == .production)
        try await door.connect()
        #expect(try await door.present().verdict == .held)
        _ = try await door.reply()
        let receipt = try await door.send(Stage.open)
        let reply = try #require(try await door.reply())
        #expect(reply.counter == receipt.counter)
        #expect(reply.result == .done)
        #expect(reply.doneCount == bench.done)
        await door.disconnect()
        #expect(try await door.reply() == nil)
        #expect(try await door.status().slotsUsed == 1)
        await door.disconnect()
      }
      let door = stage.connection()
      let later: UnixTime = 1_720_000_000
      let epoch = Order.Action.epoch(bench.identity.id)
      try await door.deliver(Order(epoch, issued: later).signed(by: bench.issuer))
      #expect(try await door.status().epoch == later)
      let revoke = try Order(
        .revoke(bench.instance, through: nil, bench.identity.id), issued: later
      ).signed(by: bench.issuer)
      try await door.deliver(revoke)
      let revoked = LinkError.refused(.revoked, isAuthenticated: false)
      await #expect(throws: revoked) { try await door.send(Stage.open) }
      let stranger = try IssuerKey(
        seed: SecretBytes(copying: [UInt8](repeating: 1, count: 32).span))
      let forged = try Order(epoch, issued: later + 1).signed(by: stranger)
      await #expect(throws: LinkError.refused(.notSigned, isAuthenticated: false)) {
        try await door.deliver(forged)
      }
      await #expect(throws: revoked) { try await door.present() }
    }

    @Test("each error that an app can act on")
    func errors() async throws {
      let bench = try Bench(seed: 3)
      let stage = try Stage(bench, uses: .limited(1))
      let door = stage.connection()
      _ = try await door.send(Stage.open)
      await #expect(throws: LinkError.refused(.usesExhausted, isAuthenticated: true)) {
        try await door.send(Stage.open)
      }
      #expect(await door.memory.openCommand == nil)
      let away = try Stage(bench) { _ in .cut }
      await #expect(throws: LinkError(.unreachable, words: "out of reach")) {
        try await away.connection().send(Stage.open)
      }
      // Another app on this device, or this app, changed: the hardware tells it so.
      let changed = try HardwareSecrets(
        integrityKey: SecretBytes(copying: [UInt8](repeating: 1, count: 16).span),
        integrity: SecretBytes(copying: [UInt8](repeating: 99, count: 32).span),
        deviceKey: SecretBytes(copying: [UInt8](repeating: 3, count: 16).span),
        device: SecretBytes(copying: [UInt8](repeating: 4, count: 32).span), form: .diversified)
      let fresh = try Stage(bench, generation: 2)
      _ = try await fresh.connection().present()
      let refusal = await #expect(throws: LinkError.self) {
        try await fresh.connection(proving: BenchProver(secrets: changed)).send(Stage.open)
      }
      #expect(refusal?.reason == .integrityDiffers && refusal?.isAuthenticated == true)
      #expect(refusal?.whoCanMend == .online && refusal?.code == "LOCK-16.2")
      #expect(refusal?.detail == .attemptsLeft(2))
      #expect(bench.done == 1)
    }

    @Test(
      "an app that cannot be measured is told so, and is never accused",
      .timeLimit(.minutes(5)), arguments: [true, false])
    func notMeasured(isHeld: Bool) async throws {
      let bench = try Bench(seed: 12)
      let stage = try Stage(bench)
      if isHeld { _ = try await stage.connection().send(Stage.open) }
      let exhausted = ProofError.resourcesExhausted(reason: "too many open files")
      let door = stage.connection(
        proving: BenchProver(secrets: bench.secrets, failure: exhausted))
      let error = await #expect(throws: LinkError.self) { try await door.send(Stage.open) }
      #expect(error?.reason == .notMeasured && error?.measurement == exhausted)
      #expect(error?.whoCanMend == .retry && error?.commandMayBeDone == false)
      #expect("\(error!)".contains("too many open files"))
      #expect(bench.done == (isHeld ? 1 : 0))
      // The open command is asked about by a measurement, too.
      var open = await door.memory
      let nonce = try ProofNonce([UInt8](repeating: 9, count: 16))
      open.openCommand = OpenCommand(nonce: nonce, counter: 1)
      let again = stage.connection(
        proving: BenchProver(secrets: bench.secrets, failure: exhausted), memory: open)
      await #expect(throws: LinkError.notMeasured(exhausted)) { try await again.settle() }
    }

    @Test(
      "after a refusal everything is read again, and the command is sent once more if that changes it",
      arguments: [(3, true), (3, false), (1, true)])
    func remeasured(attempts: UInt16, isMended: Bool) async throws {
      let bench = try Bench(seed: 13)
      let token = try bench.token(attempts: attempts)
      let wrong = try HardwareSecrets(
        integrityKey: SecretBytes(copying: [UInt8](repeating: 1, count: 16).span),
        integrity: SecretBytes(copying: [UInt8](repeating: 99, count: 32).span),
        deviceKey: SecretBytes(copying: [UInt8](repeating: 3, count: 16).span),
        device: SecretBytes(copying: [UInt8](repeating: 4, count: 32).span), form: .diversified)
      let stage = try Stage(bench)
      let prover = MendedProver(
        before: wrong, after: isMended ? bench.secrets : wrong, token: bench.secrets)
      let door = HardwareConnection(
        to: try bench.pair(token), proving: prover, over: stage.transport, memory: HeardMemory(),
        clock: stage.clock)
      if isMended, attempts > 1 {
        #expect(try await door.send(Stage.open).verdict == .accepted)
      } else {
        let error = await #expect(throws: LinkError.self) { try await door.send(Stage.open) }
        #expect(error?.reason == .integrityDiffers && error?.isAuthenticated == true)
      }
      #expect(bench.done == (isMended && attempts > 1 ? 1 : 0))
      #expect(prover.readings.withLock { $0 } == (attempts > 1 ? 1 : 0))
    }

    /// Proves with other secrets once everything was read again.
    final class MendedProver: CommandProver {
      let before: HardwareSecrets
      let after: HardwareSecrets
      let token: HardwareSecrets
      let readings = CoreLock(0)

      init(before: HardwareSecrets, after: HardwareSecrets, token: HardwareSecrets) {
        (self.before, self.after, self.token) = (before, after, token)
      }

      private var now: BenchProver {
        BenchProver(secrets: readings.withLock { $0 } > 0 ? after : before)
      }

      func prove(
        _ command: Command, _ kind: ProofKind, from instance: InstanceID, to hardware: HardwareID,
        answering challenge: Challenge, form: TokenForm
      ) throws(ProofError) -> ProvedCommand {
        try now.prove(
          command, kind, from: instance, to: hardware, answering: challenge, form: form)
      }

      func hasChanged(
        since command: ProvedCommand, at hardware: HardwareID, form: TokenForm
      ) throws(ProofError) -> Bool {
        readings.withLock { $0 += 1 }
        return !command.isProved(with: now.secrets)
      }

      func receipt(
        of answer: Answer, to held: MeasurementToken, for hardware: HardwareID, form: TokenForm
      ) throws(ProofError) -> Receipt { try held.receipt(of: answer, with: token) }

      func recall(
        of command: OpenCommand, from instance: InstanceID, to hardware: HardwareID,
        form: TokenForm
      ) throws(ProofError) -> Recall {
        Recall(of: command.nonce, counter: command.counter, from: instance, with: token)
      }
    }

    @Test("hardware that wants no more is left alone for as long as it says", arguments: [5, 30])
    func busy(limit: Int) async throws {
      let bench = try Bench(seed: 4)
      let stage = try await Stage.busy(bench)
      let door = stage.connection()
      if limit < 7 {
        let error = await #expect(throws: LinkError.self) {
          try await door.send(Stage.open, within: .seconds(limit))
        }
        #expect(error?.reason == .busy && error?.whoCanMend == .wait(.seconds(7)))
        #expect(bench.done == 1)
      } else {
        stage.clock.pass(.seconds(7))
        #expect(try await door.send(Stage.open, within: .seconds(limit)).verdict == .accepted)
        #expect(bench.done == 2)
      }
    }

    @Test("a command that cannot be stored is not sent")
    func notStored() async throws {
      struct Full: Error, CustomStringConvertible { let description = "no space is left" }
      let bench = try Bench(seed: 5)
      let stage = try Stage(bench)
      let door = stage.connection { memory in if memory.openCommand != nil { throw Full() } }
      await #expect(throws: LinkError(.notStored, words: "no space is left")) {
        try await door.send(Stage.open)
      }
      #expect(bench.done == 0)
    }

    @Test("a call may take as long as a duration can say", arguments: [Int64.max, .min])
    func longest(seconds: Int64) async throws {
      let bench = try Bench(seed: 11)
      let stage = try Stage(bench)
      let longest = Duration.seconds(seconds)
      let door = HardwareConnection(
        to: stage.pair, proving: BenchProver(secrets: bench.secrets), over: stage.transport,
        memory: HeardMemory(), options: .init(patience: longest))
      if seconds > 0 {
        #expect(try await door.status(within: longest).hardware == bench.identity.id)
      } else {
        await #expect(throws: LinkError(.timedOut)) {
          try await door.send(Stage.open, within: longest)
        }
        #expect(bench.done == 0)
      }
    }

    /// A clock that the test sets; a sleep by it lasts until it is cancelled.
    final class SetClock: Clock {
      private let offset = CoreLock(Duration.zero)

      var now: StillClock.Instant { StillClock.Instant(offset: offset.withLock { $0 }) }
      var minimumResolution: Duration { .zero }

      func set(_ time: Duration) { offset.withLock { $0 = time } }

      func sleep(until deadline: StillClock.Instant, tolerance: Duration?) async throws {
        let (lasting, waker) = AsyncStream<Never>.makeStream()
        for await _ in lasting {}
        withExtendedLifetime(waker) {}
        try Task.checkCancellation()
      }
    }

    @Test(
      "a command that is given up while it is proved does not leave", arguments: [false, true])
    func givenUpWhileProving(isLate: Bool) async throws {
      let bench = try Bench(seed: 10)
      let stage = try Stage(bench)
      let clock = SetClock()
      let call = CoreLock<Task<Receipt, any Error>?>(nil)
      let prover = BenchProver(secrets: bench.secrets) { _ in
        if isLate { clock.set(Stage.deadline) } else { call.withLock { $0?.cancel() } }
      }
      let door = HardwareConnection(
        to: stage.pair, proving: prover, over: stage.transport, memory: HeardMemory(), clock: clock)
      // It begins when its end can be asked for.
      let (gate, opener) = AsyncStream<Never>.makeStream()
      let task = Task { () async throws -> Receipt in
        for await _ in gate {}
        return try await door.send(Stage.open, within: Stage.deadline)
      }
      call.withLock { $0 = task }
      opener.finish()
      await #expect(throws: LinkError(isLate ? .timedOut : .cancelled)) { try await task.value }
      #expect(bench.done == 0)
      #expect(!stage.transport.isUp)
      #expect(await door.memory.openCommand == nil)
    }

    /// A radio that finds no hardware, and looks for as long as it is let.
    final class Search: LinkTransport {
      let found = AsyncStream<Never>.makeStream()
      let (began, beginning) = AsyncStream<Void>.makeStream()
      let (ended, ending) = AsyncStream<Void>.makeStream()
      let endCount = CoreLock(0)

      func open() async throws(LinkUnavailable) -> any LinkChannel {
        beginning.yield()
        await withTaskCancellationHandler {
          for await _ in found.stream {}
        } onCancel: {
          endCount.withLock { $0 += 1 }
          ending.yield()
        }
        throw LinkUnavailable("nobody was found")
      }
    }

    @Test(
      "a search ends with the call that wanted it; a call that waits for its turn ends alone",
      .timeLimit(.minutes(5)))
    func search() async throws {
      let bench = try Bench(seed: 7)
      let stage = try Stage(bench)
      let search = Search()
      let door = HardwareConnection(
        to: stage.pair, proving: BenchProver(secrets: bench.secrets), over: search,
        memory: HeardMemory(), clock: stage.clock)
      let first = Task { try await door.send(Stage.open, within: .seconds(60)) }
      for await _ in search.began { break }
      let waiting = Task { try await door.send(Stage.open) }
      waiting.cancel()
      await #expect(throws: LinkError(.cancelled)) {
        try await waiting.value
      }
      let late = Task { try await door.status() }
      stage.clock.pass(.seconds(30))
      await #expect(throws: LinkError(.timedOut)) {
        try await late.value
      }
      #expect(search.endCount.withLock { $0 } == 0)
      stage.clock.pass(.seconds(60))
      await #expect(throws: LinkError(.timedOut)) {
        try await first.value
      }
      // The call tells its end before the search has heard of it.
      for await _ in search.ended { break }
      #expect(search.endCount.withLock { $0 } == 1)
    }

    @Test("a released connection leaves no link", .timeLimit(.minutes(5)))
    func forgotten() async throws {
      let bench = try Bench(seed: 8)
      let stage = try Stage(bench)
      do {
        let door = stage.connection()
        _ = try await door.send(Stage.open)
        #expect(stage.transport.isUp)
      }
      await stage.transport.waitUntilDown()
      #expect(!stage.transport.isUp)
    }

    @Test("a memory comes back from its bytes, or is told to be damaged")
    func memoryBytes() throws {
      var memory = LinkMemory()
      #expect(try LinkMemory(memory.bytes) == memory)
      memory.attributes = AttributeTable(
        values: Dictionary(
          uniqueKeysWithValues: AttributeTable.Characteristic.allCases.map {
            ($0, 0x1234 + $0.rawValue)
          }), verdictDescriptor: 0xABCD)
      memory.heldToken = try TokenDigest([UInt8](repeating: 7, count: 16))
      #expect(try LinkMemory(memory.bytes) == memory)
      memory.openCommand = OpenCommand(
        nonce: try ProofNonce([UInt8](repeating: 9, count: 16)), counter: .max - 5)
      #expect(try LinkMemory(memory.bytes) == memory)
      #expect(memory.bytes.count == LinkMemory.byteCount)
      for index in memory.bytes.indices {
        var damaged = memory.bytes
        damaged[index] ^= 0x10
        #expect(throws: ProofError.malformed("link memory", byteCount: damaged.count)) {
          try LinkMemory(damaged)
        }
        #expect(throws: ProofError.malformed("link memory", byteCount: index)) {
          try LinkMemory(Array(memory.bytes.prefix(index)))
        }
      }
    }

    @Test("a link that cannot be opened is told with the transport's words, until one can")
    func unreachable() async throws {
      let isThere = CoreLock(false)
      let stage = try Stage(Bench(seed: 9)) { _ in isThere.withLock { $0 } ? .carry : .cut }
      let door = stage.connection()
      await #expect(throws: LinkError(.unreachable, words: "out of reach")) {
        try await door.connect()
      }
      isThere.withLock { $0 = true }
      try await door.connect()
      struct Exhausted: LinkTransport {
        func open() async throws(LinkUnavailable) -> any LinkChannel {
          throw LinkUnavailable("too many open files", isExhausted: true)
        }
      }
      let exhausted = await #expect(throws: LinkError.self) {
        try await stage.connection(over: Exhausted()).send(Stage.open)
      }
      #expect(exhausted == LinkError(.resourcesExhausted, words: "too many open files"))
      #expect(exhausted?.whoCanMend == .retry)
      for path in ["/var/tmp/proofkit-no-such-folder/socket", "/etc/passwd/socket"] {
        let door = stage.connection(over: PipeTransport(.socket(path)))
        let error = await #expect(throws: LinkError.self) { try await door.send(Stage.open) }
        #expect(error?.reason == .unreachable && error?.commandMayBeDone == false)
        #expect(error?.whoCanMend == .user)
        #expect("\(error!)".contains("(\(path): ") && "\(error!)".contains("Check the address"))
      }
    }

    @Test(
      "a copy on another device is refused, and the call does not go on until its deadline",
      .timeLimit(.minutes(5)))
    func copied() async throws {
      let bench = try Bench(seed: 16)
      let stage = try Stage(bench)
      let owner = stage.connection()
      _ = try await owner.send(Stage.open)
      let other = try HardwareSecrets(
        integrityKey: SecretBytes(copying: [UInt8](repeating: 11, count: 16).span),
        integrity: SecretBytes(copying: [UInt8](repeating: 12, count: 32).span),
        deviceKey: SecretBytes(copying: [UInt8](repeating: 13, count: 16).span),
        device: SecretBytes(copying: [UInt8](repeating: 14, count: 32).span), form: .diversified)
      // On the real clock: the answer to the token does not authenticate, so its timeout passes.
      let thief = HardwareConnection(
        to: stage.pair, proving: BenchProver(secrets: other), over: stage.transport,
        memory: HeardMemory(await owner.memory), options: .init(patience: .milliseconds(300)))
      let error = await #expect(throws: LinkError.self) {
        try await thief.send(Stage.open, within: .seconds(3600))
      }
      #expect(error?.reason == .deviceDiffers && error?.isAuthenticated == false)
      #expect(error?.commandMayBeDone == true && bench.done == 1)
    }

    @Test("a lost link is opened again until the deadline, more often than one exchange tries")
    func manyLinks() async throws {
      // Every link ends at its first PDU, for three times as many links as an exchange tries.
      let openings = CoreLock(0)
      let bench = try Bench(seed: 14)
      let stage = try Stage(bench) { number in
        let lost = 2 * 3 * LinkExchange.linkCountMax
        if number <= lost, number % 2 == 1 { openings.withLock { $0 += 1 } }
        return number <= lost && number % 2 == 0 ? .cut : .carry
      }
      #expect(try await stage.connection().send(Stage.open).verdict == .accepted)
      #expect(openings.withLock { $0 } == 3 * LinkExchange.linkCountMax)
      #expect(bench.done == 1)
    }

    @Test("a memory that cannot be read sends nothing; a damaged one counts as none")
    func unreadableMemory() async throws {
      struct Unreadable: LinkMemoryStore {
        struct Failure: Error, CustomStringConvertible { let description = "too many open files" }
        func load() throws -> [UInt8]? { throw Failure() }
        func save(_ bytes: [UInt8]) throws {}
      }
      struct Damaged: LinkMemoryStore {
        func load() throws -> [UInt8]? { [1, 2, 3] }
        func save(_ bytes: [UInt8]) throws {}
      }
      let bench = try Bench(seed: 15)
      let stage = try Stage(bench)
      let stores: [(any LinkMemoryStore, Bool)] = [(Unreadable(), false), (Damaged(), true)]
      for (store, isUsable) in stores {
        let door = HardwareConnection(
          to: stage.pair, proving: BenchProver(secrets: bench.secrets), over: stage.transport,
          memory: store, clock: stage.clock)
        if isUsable {
          #expect(try await door.send(Stage.open).verdict == .accepted)
        } else {
          await #expect(throws: LinkError(.notStored, words: "too many open files")) {
            try await door.send(Stage.open)
          }
        }
      }
      #expect(bench.done == 1)
    }

    @Test("calls made at the same time are served one after the other, each once")
    func inTurn() async throws {
      let bench = try Bench(seed: 6)
      let stage = try Stage(bench)
      let door = stage.connection()
      try await withThrowingTaskGroup(of: Verdict.self) { group in
        for _ in 0..<20 { group.addTask { try await door.send(Stage.open).verdict } }
        for try await verdict in group { #expect(verdict == .accepted) }
      }
      #expect(bench.done == 20)
      #expect(try await door.settle() == nil)
    }
  }
}
