// SPDX-License-Identifier: Apache-2.0

import LinkBench
import ProofKit
import ProofLink
import ProofModel
import Testing

extension BenchTests {
  @Suite("A connection that keeps a channel")
  struct ChannelTests {
    private static let bell = Command("ring", class: 0)

    private static func bench(_ seed: UInt64) throws -> Bench {
      let bench = try Bench(seed: seed)
      bench.seal()
      bench.keepChannels()
      return bench
    }

    private static func door(
      _ stage: Stage, tap: Tap = Tap(), keeps: Bool = true, memory: LinkMemory = LinkMemory(),
      clock: (any Clock<Duration>)? = nil,
      remember: @escaping @Sendable (LinkMemory) throws -> Void = { _ in }
    ) -> HardwareConnection {
      HardwareConnection(
        to: stage.pair, proving: BenchProver(secrets: stage.bench.secrets),
        over: TappedTransport(stage.transport, tap), memory: HeardMemory(memory, remember),
        clock: clock ?? stage.clock,
        options: .init(patience: Stage.patience, sealsCommands: true, keepsChannel: keeps))
    }

    /// The types of the messages among PDUs to the hardware, by the head of the first fragment.
    private static func types(_ pdus: [[UInt8]]) -> [UInt8] {
      pdus.filter { $0[0] == 0x52 && $0.count > 3 && $0[3] & 0x80 != 0 }.map { $0[3] & 15 }
    }

    @Test("the first command costs two round trips, and each further one a single one")
    func roundTrips() async throws {
      let bench = try Self.bench(80)
      let tap = Tap()
      let stage = try Stage(bench, ratchet: .report, permitsChannel: true)
      let door = Self.door(stage, tap: tap)
      #expect(try await door.send(Stage.open).verdict == .accepted)
      // Hardware without a clock: four further commands, then a fresh proof.
      for round in 1...9 {
        let before = tap.toHardware.count
        #expect(try await door.send(Stage.open).verdict == .accepted)
        // A read and a write, or a write alone.
        #expect(tap.toHardware.count - before == (round == 5 ? 2 : 1), "command \(round)")
      }
      #expect(bench.done == 10)
      #expect(Self.types(tap.toHardware) == [3, 4, 4, 9, 9, 9, 9, 4, 9, 9, 9, 9])
      #expect(try await !door.hasSeenCopy())
    }

    @Test("no channel without the permission, the option, the hardware or the same kind")
    func fallBack() async throws {
      for (permits, keeps, opens) in [
        (false, true, true), (true, false, true), (true, true, false),
      ] {
        let bench = try Bench(seed: 81)
        bench.seal()
        if opens { bench.keepChannels() }
        let tap = Tap()
        let stage = try Stage(bench, permitsChannel: permits)
        let door = Self.door(stage, tap: tap, keeps: keeps)
        for _ in 0..<3 { #expect(try await door.send(Stage.open).verdict == .accepted) }
        #expect(Self.types(tap.toHardware) == [3, 4, 4, 4] && bench.done == 3)
      }
      let bench = try Self.bench(82)
      let tap = Tap()
      let stage = try Stage(bench, ratchet: .report, permitsChannel: true)
      let door = Self.door(stage, tap: tap)
      #expect(try await door.send(Stage.open).verdict == .accepted)
      #expect(try await door.send(Self.bell, proving: .device).verdict == .acceptedDeviceOnly)
      #expect(try await door.send(Self.bell, proving: .device).verdict == .acceptedDeviceOnly)
      #expect(Self.types(tap.toHardware) == [3, 4, 4, 4, 9])
    }

    @Test("what reads leaves the channel, and a new link has none")
    func between() async throws {
      let bench = try Self.bench(83)
      let tap = Tap()
      let stage = try Stage(bench, permitsChannel: true)
      let door = Self.door(stage, tap: tap)
      #expect(try await door.send(Stage.open).verdict == .accepted)
      _ = try await door.status()
      #expect(try await door.reply() != nil)
      #expect(try await door.send(Stage.open).verdict == .accepted)
      #expect(Self.types(tap.toHardware) == [3, 4, 9])
      await door.disconnect()
      #expect(try await door.send(Stage.open).verdict == .accepted)
      #expect(Self.types(tap.toHardware) == [3, 4, 9, 4])
      // The token again ends it.
      try await door.present()
      #expect(try await door.send(Stage.open).verdict == .accepted)
      #expect(Self.types(tap.toHardware) == [3, 4, 9, 4, 3, 4])
      #expect(bench.done == 4)
    }

    @Test("a delegation ends it, even one that the hardware refuses")
    func delegation() async throws {
      let bench = try Bench(seed: 91)
      bench.lend()
      bench.seal()
      bench.keepChannels()
      let tap = Tap()
      let stage = try Stage(bench, permitsChannel: true)
      let door = Self.door(stage, tap: tap)
      #expect(try await door.send(Stage.open).verdict == .accepted)
      let digest = stage.token.digest
      let refused = try Delegation(
        Delegation.Loan(takingBackFrom: digest, serial: 1),
        from: Delegation.Lender(
          bench.instance, at: bench.identity.id, generation: 1, token: digest),
        with: LoanStage.secrets(20))
      await #expect(throws: LinkError.self) { try await door.deliver(refused) }
      #expect(try await door.send(Stage.open).verdict == .accepted)
      #expect(Self.types(tap.toHardware) == [3, 4, 13, 4] && bench.done == 2)
    }

    @Test("a channel is given up after 25 seconds, counted from its first command")
    func age() async throws {
      let bench = try Self.bench(90)
      let tap = Tap()
      let stage = try Stage(bench, permitsChannel: true)
      let clock = MovedClock(still: stage.clock)
      let door = Self.door(stage, tap: tap, clock: clock)
      for seconds in [0, 13, 11, 1] {
        clock.move(.seconds(seconds))
        #expect(try await door.send(Stage.open).verdict == .accepted)
      }
      #expect(Self.types(tap.toHardware) == [3, 4, 9, 9, 4] && bench.done == 4)
    }

    @Test("the app has stored a command before it sends it")
    func stored() async throws {
      let bench = try Self.bench(84)
      let counters = CoreLock<[UInt64]>([])
      let sentBefore = CoreLock<[Int]>([])
      let tap = Tap()
      let stage = try Stage(bench, permitsChannel: true)
      let door = Self.door(stage, tap: tap) { memory in
        guard let open = memory.openCommand else { return }
        counters.withLock { $0.append(open.counter) }
        sentBefore.withLock { $0.append(Self.types(tap.toHardware).filter { $0 == 9 }.count) }
      }
      for _ in 0..<4 { #expect(try await door.send(Stage.open).verdict == .accepted) }
      let seen = counters.withLock { $0 }
      #expect(seen.count == 4 && Set(seen).count == 4 && seen == seen.sorted())
      #expect(sentBefore.withLock { $0 } == [0, 0, 1, 2])
      // A store that fails sends nothing, and the command is not done.
      let other = try Stage(bench, generation: 2, permitsChannel: true)
      let fails = CoreLock(false)
      let heard = Tap()
      let second = Self.door(other, tap: heard) { memory in
        if memory.openCommand != nil, fails.withLock({ $0 }) { throw LinkUnavailable("full") }
      }
      #expect(try await second.send(Stage.open).verdict == .accepted)
      fails.withLock { $0 = true }
      let error = await #expect(throws: LinkError.self) { try await second.send(Stage.open) }
      #expect(error?.reason == .notStored && error?.commandMayBeDone == false)
      #expect(!Self.types(heard.toHardware).contains(9) && bench.done == 5)
      fails.withLock { $0 = false }
      #expect(try await second.send(Stage.open).verdict == .accepted)
      #expect(bench.done == 6)
    }

    @Test("a command that is cut, lost or changed is done once, and never sent twice")
    func lost() async throws {
      // The further command and its answer, lost, changed, or gone with the link.
      for (index, fate) in [0, 1, 2, 3, 4].enumerated() {
        let bench = try Self.bench(85)
        let tap = Tap()
        let stage = try Stage(bench, ratchet: .report, permitsChannel: true)
        let door = Self.door(stage, tap: tap)
        #expect(try await door.send(Stage.open).verdict == .accepted)
        switch fate {
        case 0, 1:
          tap.changeToHardware { pdu in
            guard pdu.count > 8, pdu[3] & 0x8F == 0x89 else { return nil }
            stage.clock.pass(Stage.patience)
            var changed = pdu
            // The frame is damaged and dropped; or the box under a right check does not open.
            changed[fate == 0 ? pdu.count - 1 : 3] ^= fate == 0 ? 1 : 0x40
            return changed
          }
        case 2, 3:
          tap.changeToApp { pdu in
            guard pdu.count > 8, pdu[3] & 0x8F == 0x8A else { return nil }
            stage.clock.pass(Stage.patience)
            var changed = pdu
            changed[fate == 2 ? 20 : pdu.count - 1] ^= 1
            return changed
          }
        default:
          bench.losePower()
        }
        let receipt = try await door.send(Self.bell)
        #expect(receipt.verdict == .accepted, "fate \(index)")
        #expect(bench.done == 2, "fate \(index)")
        // Each SEALED-UP is another one.
        let ups = tap.toHardware.filter { $0.count > 8 && $0[3] & 0x8F == 0x89 }
        #expect(Set(ups).count == ups.count, "fate \(index)")
        #expect(try await door.send(Self.bell).verdict == .accepted)
        #expect(try await !door.hasSeenCopy() && bench.done == 3, "fate \(index)")
      }
    }

    @Test("the link may end at any event: each command is done at most once")
    func cut() async throws {
      var event = 1
      while true {
        let bench = try Self.bench(86)
        let place = event
        let stage = try Stage(bench, ratchet: .report, permitsChannel: true) { number in
          number == place ? .cut : .carry
        }
        let door = Self.door(stage)
        var accepted = 0
        for _ in 0..<4 {
          do throws(LinkError) {
            if try await door.send(Stage.open).verdict == .accepted { accepted += 1 }
          } catch { continue }
        }
        #expect(bench.done == accepted && accepted == 4, "cut at event \(place)")
        #expect(try await !door.hasSeenCopy(), "cut at event \(place)")
        if stage.transport.count < place { break }
        event += 1
      }
      #expect(event > 20)
    }

    @Test("a replay, on its link and on another one, is not done, and the owner goes on")
    func replayed() async throws {
      let bench = try Self.bench(87)
      let tap = Tap()
      let stage = try Stage(bench, permitsChannel: true)
      let door = Self.door(stage, tap: tap)
      #expect(try await door.send(Stage.open).verdict == .accepted)
      #expect(try await door.send(Stage.open).verdict == .accepted)
      let heard = tap.toHardware
      for pdu in heard where Self.types([pdu]) == [9] { _ = bench.receive(pdu) }
      #expect(bench.done == 2)
      // The replay has ended the channel: the hardware denies the next command, and takes a fresh proof.
      #expect(try await door.send(Stage.open).verdict == .accepted)
      #expect(bench.done == 3)
      await door.disconnect()
      bench.connect()
      for pdu in heard { _ = bench.receive(pdu) }
      bench.disconnect()
      #expect(bench.done == 3)
      #expect(try await door.send(Stage.open).verdict == .accepted && bench.done == 4)
    }

    @Test("a revocation in between ends it")
    func revoked() async throws {
      let bench = try Self.bench(88)
      let tap = Tap()
      let stage = try Stage(bench, permitsChannel: true)
      let door = Self.door(stage, tap: tap)
      #expect(try await door.send(Stage.open).verdict == .accepted)
      let revoke = try Order(
        .revoke(bench.instance, through: 1, bench.identity.id), issued: 1_700_000_100)
      try await door.deliver(revoke.signed(by: bench.issuer))
      let error = await #expect(throws: LinkError.self) { try await door.send(Stage.open) }
      #expect(error?.reason == .revoked && bench.done == 1)
      #expect(!Self.types(tap.toHardware).contains(9))
    }

    @Test("an eavesdropper finds neither command nor instance")
    func eavesdropper() async throws {
      var shapes: [[Tap.Shape]] = []
      for text in ["autolock 12345", "install 654321"] {
        let bench = try Self.bench(89)
        let tap = Tap()
        let stage = try Stage(bench, permitsChannel: true)
        let door = Self.door(stage, tap: tap)
        #expect(try await door.send(Stage.open).verdict == .accepted)
        let command = try Command(Array(text.utf8), class: text.first == "a" ? 2 : 3)
        let receipt = try await door.send(command)
        let heard = tap.toHardware + tap.toApp
        for secret in [[UInt8](text.utf8), bench.instance.bytes, receipt.nonce.bytes] {
          #expect(!heard.contains { Tap.contains($0, secret.prefix(6)) })
        }
        shapes.append(tap.shapes)
      }
      #expect(shapes[0] == shapes[1])
    }
  }
}

/// A still clock whose present can be moved.
private final class MovedClock: Clock {
  private let still: StillClock
  private let offset = CoreLock(Duration.zero)

  init(still: StillClock) { self.still = still }

  var now: StillClock.Instant { StillClock.Instant(offset: offset.withLock { $0 }) }
  var minimumResolution: Duration { still.minimumResolution }

  func move(_ duration: Duration) { offset.withLock { $0 += duration } }

  func sleep(until deadline: StillClock.Instant, tolerance: Duration?) async throws {
    let left = StillClock.Instant(offset: deadline.offset - offset.withLock { $0 })
    try await still.sleep(until: left, tolerance: tolerance)
  }
}
