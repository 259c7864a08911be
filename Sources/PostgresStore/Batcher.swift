// SPDX-License-Identifier: Apache-2.0

private import Dispatch
internal import ProofModel

/// A connection, or anything else, that answers calls in batches. One thread at a time uses it.
package protocol BatchLane: AnyObject, Sendable {
  associatedtype Call: Sendable
  associatedtype Answer: Sendable

  /// Answers each call, in the order of the calls. It ends: each of its waits has a deadline.
  func perform(_ calls: [Call]) -> [Result<Answer, PostgresError>]
}

/// Gathers calls from many threads into batches on few lanes.
///
/// A thread that finds all lanes free leads one: it takes the waiting calls, up to a batch, and
/// performs them with its own. Then it hands the lane to the thread that waits longest, or frees it.
/// So a single thread's call is a batch of one. A call that comes meanwhile waits for the lane that is
/// led and goes with its next batch: one commit for several calls. It takes a free lane if a whole
/// batch waits, or if it waited for 20 ms: a lane that hangs does not hold the others up.
///
/// Invariants between two sections under the lock. Tests/Adversary/Models/batches.pml checks them:
/// 1. A lane is free, or exactly one thread leads it or is appointed to.
/// 2. Calls wait only while a lane is led.
/// 3. A call waits, leads, or is in exactly one batch, so it is performed once and answered once.
package final class Batcher<Lane: BatchLane>: Sendable {
  /// A thread's call.
  ///
  /// `@unchecked Sendable` because `lane` and `outcome` are written before `turn` is signalled, and
  /// read after the wait for it.
  private final class Ticket: @unchecked Sendable {
    let call: Lane.Call
    let turn = DispatchSemaphore(value: 0)
    /// The lane that this thread is appointed to lead.
    var lane: Lane?
    var outcome: Result<Lane.Answer, PostgresError>?

    init(_ call: Lane.Call) { self.call = call }
  }

  private struct State {
    var free: [Lane]
    var waiting: [Ticket] = []
    var batches = 0
  }

  private enum Start {
    case lead(Lane)
    case wait
    case full
  }

  private let state: CoreLock<State>
  private let laneCount: Int
  private let batchMax: Int
  private let waitingMax: Int
  private let patience: Int

  /// - Parameters:
  ///   - lanes: At least one.
  ///   - batchMax: The most calls of a batch.
  ///   - waitingMax: The most calls that wait; the next one fails with `.busy`.
  ///   - patience: Milliseconds that a call waits for a lane that is led before it takes a free one.
  package init(lanes: [Lane], batchMax: Int = 16, waitingMax: Int = 1_024, patience: Int = 20) {
    precondition(!lanes.isEmpty && batchMax > 0, "A batcher needs a lane and a batch.")
    state = CoreLock(State(free: lanes))
    laneCount = lanes.count
    self.batchMax = batchMax
    self.waitingMax = waitingMax
    self.patience = patience
  }

  /// The calls that wait, the lanes that are free, and the batches that were begun: for tests.
  package var counts: (waiting: Int, free: Int, batches: Int) {
    state.withLock { ($0.waiting.count, $0.free.count, $0.batches) }
  }

  /// Performs a call, perhaps together with others. The wait for a lane ends after `milliseconds`. A
  /// call whose batch has begun is waited for until the lane answers.
  package func answer(
    to call: Lane.Call, within milliseconds: Int = 3_000
  ) throws(PostgresError) -> Lane.Answer {
    let ticket = Ticket(call)
    let start: Start = state.withLock { state in
      if state.free.count == laneCount || state.waiting.count + 1 >= batchMax,
        let lane = state.free.popLast()
      {
        return .lead(lane)
      }
      if state.waiting.count >= waitingMax { return .full }
      state.waiting.append(ticket)
      return .wait
    }
    switch start {
    case .full:
      throw PostgresError(.busy, "\(waitingMax) calls wait; call again later")
    case .lead(let lane):
      lead(lane, ticket)
    case .wait:
      guard wait(ticket, milliseconds) else {
        throw PostgresError(.busy, "no connection was free within \(milliseconds) ms")
      }
      if let lane = ticket.lane { lead(lane, ticket) }
    }
    return try ticket.outcome!.get()
  }

  /// Waits until a call was performed, or has a lane. False: its time was over, and it left the queue.
  private func wait(_ ticket: Ticket, _ milliseconds: Int) -> Bool {
    let end = DispatchTime.now() + .milliseconds(milliseconds)
    while ticket.turn.wait(timeout: min(end, .now() + .milliseconds(patience))) == .timedOut {
      let isOver = DispatchTime.now() >= end
      let ends: Bool? = state.withLock { state in
        // A call that does not wait is in a batch, or this thread is appointed: the other calls rely on it.
        guard let place = state.waiting.firstIndex(where: { $0 === ticket }) else { return nil }
        ticket.lane = state.free.popLast()
        guard isOver || ticket.lane != nil else { return false }
        state.waiting.remove(at: place)
        return true
      }
      switch ends {
      case nil:
        ticket.turn.wait()
        return true
      case true?: return ticket.lane != nil
      case false?: continue
      }
    }
    return true
  }

  private func lead(_ lane: Lane, _ own: Ticket) {
    let batch = state.withLock { state in
      state.batches += 1
      let others = state.waiting.prefix(batchMax - 1)
      state.waiting.removeFirst(others.count)
      return [own] + others
    }
    // A closure: a key path of a generic type is built anew at each call.
    let outcomes = lane.perform(batch.map { $0.call })
    precondition(outcomes.count == batch.count, "A lane answers each call.")
    let next: Ticket? = state.withLock { state in
      // The thread that leads another lane takes them, unless they are too many for it.
      let isLast = state.free.count + 1 == laneCount
      guard !state.waiting.isEmpty, isLast || state.waiting.count >= batchMax else {
        state.free.append(lane)
        return nil
      }
      let next = state.waiting.removeFirst()
      next.lane = lane
      return next
    }
    // Hand over first, so that the lane is not idle while the finished threads wake up.
    next?.turn.signal()
    for index in batch.indices {
      batch[index].outcome = outcomes[index]
      if batch[index] !== own { batch[index].turn.signal() }
    }
  }
}
