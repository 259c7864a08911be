// SPDX-License-Identifier: Apache-2.0

import LinkBench
import ProofLink
import ProofModel
import Testing

extension BenchTests {
  /// Each test walks through a contact, from the first event to the last: there something happens,
  /// and what the app is told afterwards must be so.
  @Suite("A command is done at most once")
  struct AtMostOnceTests {
    /// Fault at event number n.
    enum Blow: CaseIterable, Sendable {
      case cut
      case lose
      case cancel
      case deadline
      /// The app is killed: what it remembered durably is all that is left.
      case kill
      /// An attacker on the air answers "stale" to the command, with the right counter.
      case lie
    }

    /// A hand that strikes while it holds something.
    final class Hand: Sendable {
      private let task = CoreLock<Task<Receipt, any Error>?>(nil)
      private let blows = CoreLock(0)
      private let counter = CoreLock<UInt64>(0)

      func hold(_ held: Task<Receipt, any Error>?) { task.withLock { $0 = held } }
      var isHolding: Bool { task.withLock { $0 != nil } }
      var hasStruck: Bool { blows.withLock { $0 > 0 } }

      func strike() {
        blows.withLock { $0 += 1 }
        task.withLock { $0?.cancel() }
      }

      func hear(_ heard: UInt64) { counter.withLock { $0 = heard } }

      /// A verdict that anyone on the air can make.
      func lie() -> [[UInt8]] {
        let heard = counter.withLock { $0 }
        var bytes = [UInt8](repeating: 0, count: 43)
        bytes[0] = Verdict.stale.rawValue
        for index in 0..<8 { bytes[3 + index] = UInt8(truncatingIfNeeded: heard >> (8 * index)) }
        guard let packets = try? Message(.verdict, bytes).packets(of: 20) else { return [] }
        return packets.map { [0x1B, 0x0A, 0x00] + $0 }
      }
    }

    @Test(
      "wherever a blow falls, first contact or repeat",
      arguments: Blow.allCases, [(23, false), (185, false), (23, true), (185, true)])
    func everywhere(_ blow: Blow, _ contact: (mtu: Int, isKnown: Bool)) async throws {
      var at = 1
      while try await survive(blow, at: at, contact) { at += 1 }
      // Opening, MTU, discovery, subscription, token, challenge, command, verdict: all were struck.
      #expect(at > (contact.isKnown ? 8 : 15))
    }

    /// False once the contact ends before event number `at`.
    private func survive(
      _ blow: Blow, at: Int, _ contact: (mtu: Int, isKnown: Bool)
    ) async throws -> Bool {
      let bench = try Bench(seed: UInt64(at))
      let clock = StillClock()
      let hand = Hand()
      // The app stores bytes.
      let durable = CoreLock(LinkMemory().bytes)
      let stage = try Stage(bench, clock: clock) { number in
        guard number == at, hand.isHolding else { return .carry }
        switch blow {
        case .cut: return .cut
        case .lose:
          clock.pass(Stage.patience)
          return .lose
        case .cancel, .kill:
          hand.strike()
          return .carry
        case .lie: return .lie(hand.lie())
        case .deadline:
          clock.pass(Stage.deadline)
          return .carry
        }
      }
      if contact.isKnown {
        let before = Stage(stage, bench).connection(mtu: contact.mtu)
        _ = try await before.send(Stage.open)
        let memory = await before.memory
        durable.withLock { $0 = memory.bytes }
        await before.disconnect()
      }
      let doneBefore = bench.done
      let prover = BenchProver(secrets: bench.secrets) { hand.hear($0) }
      let door = try stage.connection(
        mtu: contact.mtu, proving: prover, memory: LinkMemory(durable.withLock { $0 })
      ) { memory in
        // A killed app remembers nothing more.
        if blow != .kill || !hand.hasStruck { durable.withLock { $0 = memory.bytes } }
      }
      // It begins when the hand holds it.
      let (gate, opener) = AsyncStream<Never>.makeStream()
      let task = Task { () async throws -> Receipt in
        for await _ in gate {}
        return try await door.send(Stage.open)
      }
      hand.hold(task)
      opener.finish()
      let result = await task.result
      hand.hold(nil)
      let struck = stage.transport.count >= at
      clock.forget()
      let done = bench.done - doneBefore
      #expect(done <= 1, "\(blow) at \(at)")
      judge(result, done, "\(blow) at \(at)")

      // The app goes on, or begins again with what it remembered.
      let after =
        blow == .kill
        ? try stage.connection(mtu: contact.mtu, memory: LinkMemory(durable.withLock { $0 })) : door
      let isOpen = try await after.hasOpenCommand()
      // A command that was done and not told is remembered.
      if done == 1, case .failure = result { #expect(isOpen, "\(blow) at \(at)") }
      if at % 2 == 0 {
        let outcome = try await after.settle()
        #expect((outcome == nil) == !isOpen)
        if let outcome {
          #expect(outcome.isAccepted == (done == 1), "\(blow) at \(at): \(outcome)")
        }
        #expect(bench.done - doneBefore == done)
      } else if isOpen, done == 1 {
        // The command that was done is told, and not done again.
        let error = await #expect(throws: LinkError.self) { try await after.send(Stage.open) }
        #expect(error?.reason == .earlierCommand && error?.earlier?.isAccepted == true)
        #expect(bench.done - doneBefore == 1)
      }
      let settled = bench.done
      #expect(try await after.send(Stage.open).verdict == .accepted, "\(blow) at \(at)")
      #expect(bench.done == settled + 1)
      return struck
    }

    private func judge(_ result: Result<Receipt, any Error>, _ done: Int, _ what: String) {
      switch result {
      case .success(let receipt):
        #expect(receipt.verdict == .accepted, "\(what)")
        #expect(done == 1, "\(what)")
      case .failure(let error as LinkError):
        if !error.commandMayBeDone { #expect(done == 0, "\(what): \(error)") }
      case .failure(let error): Issue.record("\(what): \(error)")
      }
    }
  }
}
