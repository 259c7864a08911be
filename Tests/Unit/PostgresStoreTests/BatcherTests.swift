// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import OwnThreads
import PostgresServers
import PostgresStore
import ProofModel
import Testing

/// A lane that doubles numbers. It counts its threads and its calls, and can be held.
private final class Doubling: BatchLane {
  struct Seen {
    var inside = 0
    var most = 0
    var calls: [Int] = []
    var largest = 0
  }

  let seen = CoreLock(Seen())
  let entered = DispatchSemaphore(value: 0)
  let gate: DispatchSemaphore?

  init(gate: DispatchSemaphore? = nil) { self.gate = gate }

  func perform(_ calls: [Int]) -> [Result<Int, PostgresError>] {
    seen.withLock { seen in
      seen.inside += 1
      seen.most = max(seen.most, seen.inside)
      seen.largest = max(seen.largest, calls.count)
      seen.calls += calls
    }
    entered.signal()
    gate?.wait()
    seen.withLock { $0.inside -= 1 }
    return calls.map { call in
      call % 10 == 3 ? .failure(PostgresError(.refused, "\(call)")) : .success(call * 2)
    }
  }
}

@Suite("Calls in batches")
struct BatcherTests {
  @Test("Calls of 32 threads are performed once and answered once, at most 16 in a batch")
  func manyThreads() {
    let lanes = [Doubling(), Doubling()]
    let batcher = Batcher(lanes: lanes)
    let wrong = CoreLock(0)
    onThreads(32) { thread in
      for round in 0..<100 {
        let call = thread * 100 + round
        let answer = Result { () throws(PostgresError) in
          try batcher.answer(to: call, within: 60_000)
        }
        let expected: Result<Int, PostgresError> =
          call % 10 == 3 ? .failure(PostgresError(.refused, "\(call)")) : .success(call * 2)
        if answer != expected { wrong.withLock { $0 += 1 } }
      }
    }
    #expect(wrong.withLock { $0 } == 0)
    let performed = lanes.flatMap { $0.seen.withLock { $0.calls } }
    #expect(performed.sorted() == Array(0..<3_200))
    #expect(lanes.allSatisfy { $0.seen.withLock { $0.most <= 1 && $0.largest <= 16 } })
    let counts = batcher.counts
    #expect(counts.waiting == 0 && counts.free == 2)
  }

  @Test("Calls that wait share a batch; a lone call does not wait for others")
  func gathering() throws {
    let gate = DispatchSemaphore(value: 0)
    let lane = Doubling(gate: gate)
    let batcher = Batcher(lanes: [lane])
    let answers = CoreLock<[Int]>([])
    let group = DispatchGroup()
    for call in [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160, 170] {
      group.enter()
      DispatchQueue(label: "call").async {
        let answer = try? batcher.answer(to: call, within: 60_000)
        answers.withLock { $0.append(answer ?? -1) }
        group.leave()
      }
      // The first one is performed while the others queue up behind it.
      if call == 0 { lane.entered.wait() }
    }
    waitUntil { batcher.counts.waiting >= 17 }
    for _ in 0..<3 { gate.signal() }
    group.wait()
    #expect(batcher.counts.batches == 3)
    #expect(lane.seen.withLock { $0.largest } == 16)
    #expect(answers.withLock { $0.sorted() } == (0..<18).map { $0 * 20 })
  }

  /// Begins calls in threads of their own.
  private func begin(
    _ calls: ClosedRange<Int>, _ batcher: Batcher<Doubling>, _ group: DispatchGroup
  ) {
    for call in calls {
      group.enter()
      DispatchQueue(label: "call").async {
        let answer = try? batcher.answer(to: call, within: 60_000)
        #expect(answer == call * 2)
        group.leave()
      }
    }
  }

  @Test("Calls that come while a lane is led go with its next batch, although another lane is free")
  func sharing() {
    let (gate, group) = (DispatchSemaphore(value: 0), DispatchGroup())
    let (other, led) = (Doubling(), Doubling(gate: gate))
    let batcher = Batcher(lanes: [other, led], patience: 60_000)
    begin(10...10, batcher, group)
    led.entered.wait()
    begin(14...18, batcher, group)
    waitUntil { batcher.counts.waiting >= 5 }
    #expect(batcher.counts.free == 1)
    for _ in 0..<2 { gate.signal() }
    group.wait()
    #expect(batcher.counts.batches == 2 && batcher.counts.free == 2)
    #expect(led.seen.withLock { $0.largest } == 5)
    #expect(other.seen.withLock { $0.calls } == [])
  }

  @Test(
    "A whole batch that waits takes a free lane, whose end leaves the rest to the lane that is led")
  func wholeBatch() {
    let (gates, group) = ([0, 0].map { DispatchSemaphore(value: $0) }, DispatchGroup())
    let (second, first) = (Doubling(gate: gates[1]), Doubling(gate: gates[0]))
    let batcher = Batcher(lanes: [second, first], batchMax: 3, patience: 60_000)
    begin(10...10, batcher, group)
    first.entered.wait()
    begin(14...15, batcher, group)
    waitUntil { batcher.counts.waiting >= 2 }
    #expect(batcher.counts.batches == 1)
    begin(16...16, batcher, group)
    second.entered.wait()
    gates[1].signal()
    waitUntil { batcher.counts.free >= 1 }
    #expect(second.seen.withLock { $0.calls.sorted() } == [14, 15, 16])
    begin(17...17, batcher, group)
    waitUntil { batcher.counts.waiting >= 1 }
    #expect(batcher.counts.free == 1 && batcher.counts.batches == 2)
    for _ in 0..<2 { gates[0].signal() }
    group.wait()
    #expect(first.seen.withLock { $0.calls } == [10, 17])
  }

  @Test("A lane that is freed beside another one leaves it the calls that fit into a batch")
  func left() {
    let (gates, group) = ([0, 0].map { DispatchSemaphore(value: $0) }, DispatchGroup())
    let (second, first) = (Doubling(gate: gates[1]), Doubling(gate: gates[0]))
    let batcher = Batcher(lanes: [second, first], batchMax: 2, patience: 60_000)
    begin(10...10, batcher, group)
    first.entered.wait()
    begin(14...14, batcher, group)
    waitUntil { batcher.counts.waiting >= 1 }
    begin(15...15, batcher, group)
    second.entered.wait()
    begin(16...16, batcher, group)
    waitUntil { batcher.counts.waiting >= 1 }
    gates[1].signal()
    waitUntil { batcher.counts.free >= 1 }
    #expect(batcher.counts.waiting == 1)
    for _ in 0..<2 { gates[0].signal() }
    group.wait()
    #expect(first.seen.withLock { $0.calls } == [10, 16])
  }

  @Test("A call behind a lane that hangs takes a free one")
  func hanging() throws {
    let (gate, group) = (DispatchSemaphore(value: 0), DispatchGroup())
    let (other, hung) = (Doubling(), Doubling(gate: gate))
    let batcher = Batcher(lanes: [other, hung])
    begin(10...10, batcher, group)
    hung.entered.wait()
    #expect(try batcher.answer(to: 14, within: 60_000) == 28)
    #expect(other.seen.withLock { $0.calls } == [14])
    gate.signal()
    group.wait()
    #expect(batcher.counts.free == 2)
  }

  @Test("A call whose time is over leaves the queue, and is not performed")
  func deadline() throws {
    let gate = DispatchSemaphore(value: 0)
    let lane = Doubling(gate: gate)
    let batcher = Batcher(lanes: [lane])
    let group = DispatchGroup()
    group.enter()
    DispatchQueue(label: "first").async {
      _ = try? batcher.answer(to: 1)
      group.leave()
    }
    lane.entered.wait()
    let late = failure { () throws(PostgresError) in try batcher.answer(to: 2, within: 1) }
    #expect(late?.reason == .busy && late?.commit == PostgresError.Commit.none)
    gate.signal()
    group.wait()
    gate.signal()
    #expect(try batcher.answer(to: 4) == 8)
    #expect(lane.seen.withLock { $0.calls } == [1, 4])
  }

  @Test("A full queue refuses the next call at once")
  func full() {
    let gate = DispatchSemaphore(value: 0)
    let lane = Doubling(gate: gate)
    let batcher = Batcher(lanes: [lane], waitingMax: 1)
    let group = DispatchGroup()
    for call in 0..<2 {
      group.enter()
      DispatchQueue(label: "call").async {
        _ = try? batcher.answer(to: call, within: 60_000)
        group.leave()
      }
      if call == 0 { lane.entered.wait() }
    }
    waitUntil { batcher.counts.waiting >= 1 }
    let refused = failure { () throws(PostgresError) in try batcher.answer(to: 9, within: 60_000) }
    #expect(refused?.reason == .busy && refused?.mender == .program)
    gate.signal()
    gate.signal()
    group.wait()
  }

  @Test("A lost race is tried 3 times again, every other failure is told at once")
  func retries() {
    func calls(_ error: PostgresError, failing: Int) -> (Int, PostgresError?) {
      var count = 0
      let failed = failure { () throws(PostgresError) in
        try retryingConflicts { () throws(PostgresError) in
          count += 1
          if count <= failing { throw error }
        }
      }
      return (count, failed)
    }
    for state in ["40001", "40P01"] {
      let conflict = PostgresError(.conflict, state: state, "lost")
      #expect(calls(conflict, failing: 3) == (4, nil))
      #expect(calls(conflict, failing: 99) == (4, conflict))
    }
    let other = PostgresError(.refused, state: "23505", "twice")
    #expect(calls(other, failing: 1) == (1, other))
    let broken = PostgresError(.brokenOff, commit: .unknown, "gone")
    #expect(calls(broken, failing: 1) == (1, broken))
  }
}
