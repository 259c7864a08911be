// SPDX-License-Identifier: Apache-2.0

import LinkBench
import OwnThreads
import ProofKit
import ProofModel
import Testing

@testable import ProofLink

/// A clock that stands still, and knows the sleeps under way.
private final class SleepClock: Clock {
  private let still = StillClock()
  private let state = CoreLock<[Duration]>([])

  var now: StillClock.Instant { still.now }
  var minimumResolution: Duration { still.minimumResolution }
  var sleeping: [Duration] { state.withLock { $0 } }

  func pass(_ duration: Duration) { still.pass(duration) }

  func sleep(until deadline: StillClock.Instant, tolerance: Duration?) async throws {
    let duration = now.duration(to: deadline)
    state.withLock { $0.append(duration) }
    defer {
      state.withLock { sleeping in
        if let index = sleeping.firstIndex(of: duration) { sleeping.remove(at: index) }
      }
    }
    try await still.sleep(until: deadline, tolerance: tolerance)
  }

  /// Returns when a sleep of this length has begun.
  func waitFor(_ duration: Duration) async {
    while !sleeping.contains(duration), !Task.isCancelled { await Task.yield() }
  }

  /// Returns when no sleep is under way.
  func waitUntilAwake() async {
    while !sleeping.isEmpty, !Task.isCancelled { await Task.yield() }
  }
}

/// A transport that counts its channels, and those of them that the app has closed.
private final class CountingTransport: LinkTransport {
  final class Channel: LinkChannel {
    let received: AsyncStream<[UInt8]>
    private let channel: any LinkChannel
    private let isClosed = CoreLock(false)
    private let transport: CountingTransport

    init(_ channel: any LinkChannel, _ transport: CountingTransport) {
      self.channel = channel
      self.transport = transport
      received = channel.received
    }

    func send(_ pdu: [UInt8]) { channel.send(pdu) }

    func close() {
      let wasClosed = isClosed.withLock { isClosed in
        defer { isClosed = true }
        return isClosed
      }
      if !wasClosed { transport.counts.withLock { $0.closed += 1 } }
      channel.close()
    }
  }

  let counts = CoreLock((opened: 0, closed: 0))
  private let transport: BenchTransport

  init(_ transport: BenchTransport) { self.transport = transport }

  func open() async throws(LinkUnavailable) -> any LinkChannel {
    let channel = Channel(try await transport.open(), self)
    counts.withLock { $0.opened += 1 }
    return channel
  }
}

/// A transport that finds its hardware when its caller has given up.
private final class LateTransport: LinkTransport {
  final class Channel: LinkChannel {
    let received = AsyncStream<[UInt8]> { _ in }
    let (closed, closing) = AsyncStream<Never>.makeStream()

    func send(_ pdu: [UInt8]) {}
    func close() { closing.finish() }
  }

  let channel = Channel()
  let (begun, beginning) = AsyncStream<Void>.makeStream()
  private let search = AsyncStream<Never>.makeStream()

  func open() async throws(LinkUnavailable) -> any LinkChannel {
    beginning.yield()
    // This wait ends with its task.
    for await _ in search.stream {}
    return channel
  }
}

extension BenchTests {
  @Suite("A connection's call, and what it leaves", .timeLimit(.minutes(5)))
  struct ConnectionReleaseTests {
    private func connection(
      _ stage: Stage, _ clock: SleepClock
    ) -> HardwareConnection {
      HardwareConnection(
        to: stage.pair, proving: BenchProver(secrets: stage.bench.secrets), over: stage.transport,
        memory: HeardMemory(), clock: clock, options: .init(patience: Stage.patience))
    }

    @Test("no timer goes on after a command, also over links that were lost")
    func timers() async throws {
      for cuts in [[], [4], [5, 11]] {
        let stage = try Stage(Bench(seed: 41)) { cuts.contains($0) ? .cut : .carry }
        let clock = SleepClock()
        let door = connection(stage, clock)
        #expect(try await door.send(Stage.open).verdict == .accepted)
        await clock.waitUntilAwake()
        #expect(clock.sleeping == [], "\(cuts)")
      }
    }

    @Test("no timer goes on after a wait for busy hardware that the call's end cut short")
    func rest() async throws {
      let stage = try await Stage.busy(Bench(seed: 42))
      let clock = SleepClock()
      let door = connection(stage, clock)
      let call = Task { try await door.send(Stage.open, within: .seconds(30)) }
      await clock.waitFor(.seconds(7))
      clock.pass(.seconds(30))
      let error = await #expect(throws: LinkError.self) { try await call.value }
      #expect(error?.reason == .timedOut)
      await clock.waitUntilAwake()
      #expect(clock.sleeping == [])
    }

    @Test("each link that was up is closed, also one that the hardware has ended")
    func links() async throws {
      let stage = try Stage(Bench(seed: 43)) { [5, 11].contains($0) ? .cut : .carry }
      let transport = CountingTransport(stage.transport)
      do {
        let door = stage.connection(over: transport)
        #expect(try await door.send(Stage.open).verdict == .accepted)
        let counts = transport.counts.withLock { $0 }
        #expect(counts.opened == 3 && counts.closed == 2)
      }
      await stage.transport.waitUntilDown()
      let counts = transport.counts.withLock { $0 }
      #expect(counts.opened == 3 && counts.closed == 3)
    }

    @Test("a link that is up when its call was given up is closed at once")
    func late() async throws {
      let stage = try Stage(Bench(seed: 44))
      let transport = LateTransport()
      let door = stage.connection(over: transport)
      let call = Task { try await door.connect() }
      for await _ in transport.begun { break }
      call.cancel()
      await #expect(throws: LinkError(.cancelled)) { try await call.value }
      for await _ in transport.channel.closed {}
      #expect(!Task.isCancelled)
    }
  }
}

/// A prover that an app has written for measurement tokens, before there were ratchets, sealed
/// commands and delegations.
private struct EarlyProver: CommandProver {
  let proved: ProvedCommand

  func prove(
    _ command: Command, _ kind: ProofKind, from instance: InstanceID, to hardware: HardwareID,
    answering challenge: Challenge, form: TokenForm
  ) throws(ProofError) -> ProvedCommand { proved }

  func receipt(
    of answer: Answer, to token: MeasurementToken, for hardware: HardwareID, form: TokenForm
  ) throws(ProofError) -> Receipt { throw .differs("receipt") }

  func recall(
    of command: OpenCommand, from instance: InstanceID, to hardware: HardwareID, form: TokenForm
  ) throws(ProofError) -> Recall { throw .differs("recall") }
}

@Suite("A prover of an app's own")
struct EarlyProverTests {
  private static func refused(_ field: String) -> ProofError {
    .outOfRange(field: field, value: "one", allowed: "none by this prover")
  }

  @Test("proves without what it does not know, and refuses each thing that it does not know")
  func defaults() throws {
    let pair = try LinkPair()
    let proved = try pair.proved()
    let prover: any CommandProver = EarlyProver(proved: proved)
    let (command, hardware) = (Command("open", class: 0), pair.identity.id)
    let challenge = try Challenge(counter: 7, bytes: [UInt8](repeating: 3, count: 32))
    let plain = try prover.prove(
      command, .integrity, from: pair.instance, to: hardware, answering: challenge,
      form: .diversified, stepping: nil)
    #expect(plain.nonce == proved.nonce && plain.counter == proved.counter)
    #expect(try !prover.hasChanged(since: proved, at: hardware, form: .diversified))
    #expect(throws: Self.refused("ratchet")) {
      try prover.prove(
        command, .integrity, from: pair.instance, to: hardware, answering: challenge,
        form: .diversified, stepping: Ratchet(.refuse, of: pair.token.digest))
    }
    let sealed = try SealedChallenge(
      Message(.challenge, [UInt8](repeating: 7, count: SealedChallenge.byteCount)))
    #expect(throws: Self.refused("sealed challenge")) {
      try prover.prove(
        command, .integrity, from: pair.instance, to: hardware, answering: sealed,
        of: pair.token.digest, form: .diversified, stepping: nil)
    }
    let delegation = try pair.delegation()
    let lender = try Delegation.Lender(
      pair.instance, at: hardware, generation: 1, token: pair.token.digest)
    #expect(throws: Self.refused("delegation")) {
      try prover.delegate(delegation.loan, from: lender, form: .diversified)
    }
    let answer = try Answer(Message(.verdict, [49, 7, 0] + [UInt8](repeating: 0, count: 40)))
    #expect(throws: Self.refused("delegation")) {
      try prover.receipt(of: answer, to: delegation, for: hardware, form: .diversified)
    }
  }
}
