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
/// A thread that finds a lane free leads it: it takes the waiting calls, up to a batch, and performs
/// them with its own. Then it hands the lane to the thread that waits longest, or frees it. No thread
/// waits for a batch to fill, so a single thread's call is a batch of one.
///
/// Invariants between two sections under the lock. Tests/Adversary/Models/batches.pml checks them:
/// 1. A lane is free, or exactly one thread leads it or is appointed to.
/// 2. Calls wait only while no lane is free.
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
  private let batchMax: Int
  private let waitingMax: Int

  /// - Parameters:
  ///   - lanes: At least one.
  ///   - batchMax: The most calls of a batch.
  ///   - waitingMax: The most calls that wait; the next one fails with `.busy`.
  package init(lanes: [Lane], batchMax: Int = 16, waitingMax: Int = 1_024) {
    precondition(!lanes.isEmpty && batchMax > 0, "A batcher needs a lane and a batch.")
    state = CoreLock(State(free: lanes))
    self.batchMax = batchMax
    self.waitingMax = waitingMax
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
      if let lane = state.free.popLast() { return .lead(lane) }
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
      if ticket.turn.wait(timeout: .now() + .milliseconds(milliseconds)) == .timedOut {
        guard !leave(ticket) else {
          throw PostgresError(.busy, "no connection was free within \(milliseconds) ms")
        }
        // The call is in a batch, or this thread is appointed: the other calls rely on it.
        ticket.turn.wait()
      }
      if let lane = ticket.lane { lead(lane, ticket) }
    }
    return try ticket.outcome!.get()
  }

  /// Takes a call that still waits out of the queue. False: it does not wait any more.
  private func leave(_ ticket: Ticket) -> Bool {
    state.withLock { state in
      guard let place = state.waiting.firstIndex(where: { $0 === ticket }) else { return false }
      state.waiting.remove(at: place)
      return true
    }
  }

  private func lead(_ lane: Lane, _ own: Ticket) {
    let batch = state.withLock { state in
      state.batches += 1
      let others = state.waiting.prefix(batchMax - 1)
      state.waiting.removeFirst(others.count)
      return [own] + others
    }
    let outcomes = lane.perform(batch.map(\.call))
    precondition(outcomes.count == batch.count, "A lane answers each call.")
    let next: Ticket? = state.withLock { state in
      guard !state.waiting.isEmpty else {
        state.free.append(lane)
        return nil
      }
      let next = state.waiting.removeFirst()
      next.lane = lane
      return next
    }
    // Hand over first, so that the lane is not idle while the finished threads wake up.
    next?.turn.signal()
    for (ticket, outcome) in zip(batch, outcomes) {
      ticket.outcome = outcome
      if ticket !== own { ticket.turn.signal() }
    }
  }
}
