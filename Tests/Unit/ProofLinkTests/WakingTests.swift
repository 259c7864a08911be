// SPDX-License-Identifier: Apache-2.0

import Foundation
import LinkBench
import ProofLink
import ProofModel
import Testing

/// Runs tasks on a thread of its own.
private final class OwnThread: TaskExecutor {
  private let queue = DispatchQueue(label: "WakingTests")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

/// A clock on which, of two sleeps, the shorter ends, and the longer lasts until it is cancelled. A
/// sleep of more than ten seconds is no match for any.
private final class PairClock: Clock {
  typealias Instant = StillClock.Instant

  private struct State {
    var count = 0
    var cancelled: Set<Int> = []
    var sleepers: [(number: Int, length: Duration, waker: AsyncStream<Never>.Continuation)] = []
  }

  private let state = CoreLock(State())

  var now: Instant { Instant(offset: .zero) }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let number = state.withLock {
      $0.count += 1
      return $0.count
    }
    let (lasting, waker) = AsyncStream<Never>.makeStream()
    await withTaskCancellationHandler {
      state.withLock {
        guard !$0.cancelled.contains(number), deadline.offset < .seconds(10) else { return }
        $0.sleepers.append((number, deadline.offset, waker))
        if $0.sleepers.count == 2, let shorter = $0.sleepers.min(by: { $0.length < $1.length }) {
          $0.sleepers.removeAll { $0.number == shorter.number }
          shorter.waker.finish()
        }
      }
      for await _ in lasting {}
    } onCancel: {
      state.withLock {
        $0.cancelled.insert(number)
        $0.sleepers.removeAll { $0.number == number }
      }
    }
    withExtendedLifetime(waker) {}
    try Task.checkCancellation()
  }
}

extension BenchTests {
  /// A connection is woken by its event, even if the process is busy.
  @Suite("A connection is woken")
  struct WakingTests {
    @Test("while other tasks hold every thread that tasks share")
    func sharedThreads() async throws {
      let bench = try Bench(seed: 1)
      let release = DispatchSemaphore(value: 0)
      let done = DispatchSemaphore(value: 0)
      // More than there can be threads: what needs one of them comes after all of these.
      let holders = 16 * ProcessInfo.processInfo.activeProcessorCount
      @Sendable func hold() { release.wait() }
      // From the link's opening on, and until the call has remembered its end.
      let stage = try Stage(bench) { number in
        if number == 1 { for _ in 0..<holders { Task { hold() } } }
        return .carry
      }
      let door = stage.connection { memory in
        if memory.heldToken != nil, memory.openCommand == nil { done.signal() }
      }
      // Only a call that waits for one of those threads takes as long.
      @Sendable func isDone() -> Bool { done.wait(timeout: .now() + .seconds(60)) == .success }
      let watch = Task(executorPreference: OwnThread()) {
        defer { for _ in 0..<holders { release.signal() } }
        return isDone()
      }
      #expect(try await door.send(Stage.open).verdict == .accepted)
      #expect(await watch.value)
    }

    @Test("by hardware that was out of reach for long, however short its patience")
    func outOfReach() async throws {
      let bench = try Bench(seed: 2)
      // Openings, as long as nothing else happens: the pauses between them grow to a second.
      let stage = try Stage(bench) { $0 <= 9 ? .cut : .carry }
      let door = HardwareConnection(
        to: stage.pair, proving: BenchProver(secrets: bench.secrets), over: stage.transport,
        memory: HeardMemory(), clock: PairClock(), options: .init(patience: .milliseconds(100)))
      #expect(try await door.status().hardware == bench.identity.id)
    }

    @Test("by the link that it waits for, not by one that it gave up")
    func givenUp() async throws {
      let bench = try Bench(seed: 3)
      let usual = try Stage(bench)
      _ = try await usual.connection().status()
      let clock = StillClock()
      let upAgain = DispatchSemaphore(value: 0)
      // The first opening takes longer than the connection's patience: it ends when the second link
      // is up and carries.
      let stage = try Stage(bench, clock: clock) { number in
        if number == 1 {
          clock.pass(Stage.patience)
          upAgain.wait()
        } else if number == 3 {
          upAgain.signal()
        }
        return .carry
      }
      #expect(try await stage.connection().status().hardware == bench.identity.id)
      #expect(stage.transport.count == usual.transport.count + 1)
    }
  }
}
