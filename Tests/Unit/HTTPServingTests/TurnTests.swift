// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing

@testable import HTTPServing

/// A wait for an answer ends when it is woken, and not before.
@Suite("HTTP: a wait ends when it is woken")
struct TurnTests {
  /// Notes of the thread that wakes.
  private final class Order: Sendable {
    let isFinished = Atomic(false)
    let wasEarly = Atomic(false)
  }

  @Test("A response that comes later is not finished before its wake", arguments: 1...3)
  func waits(rounds: Int) {
    let order = Order()
    @Sendable func later(_ left: Int) -> HTTPAnswer {
      guard left > 0 else { return .now(HTTPResponse(status: 200 + rounds)) }
      return .later(
        HTTPWait { wake in
          order.isFinished.store(false, ordering: .sequentiallyConsistent)
          Thread {
            // A wait that ended by itself would go on to its end meanwhile.
            for _ in 0..<2_000 { sched_yield() }
            if order.isFinished.load(ordering: .sequentiallyConsistent) {
              order.wasEarly.store(true, ordering: .sequentiallyConsistent)
            }
            wake()
          }.start()
        } finish: {
          order.isFinished.store(true, ordering: .sequentiallyConsistent)
          return later(left - 1)
        })
    }
    #expect(later(rounds).response().status == 200 + rounds)
    let wasEarly = order.wasEarly.load(ordering: .sequentiallyConsistent)
    #expect(!wasEarly)
  }

  @Test("Each turn that was given is taken once, also before the wait for it begins")
  func turns() {
    let turn = Turn()
    for count in 1...3 {
      for _ in 0..<count { turn.give() }
      for _ in 0..<count { turn.take() }
    }
    let taken = Atomic(0)
    let done = Turn()
    Thread {
      for _ in 0..<3 {
        turn.take()
        taken.add(1, ordering: .sequentiallyConsistent)
        done.give()
      }
    }.start()
    for count in 1...3 {
      #expect(taken.load(ordering: .sequentiallyConsistent) < count)
      turn.give()
      done.take()
      #expect(taken.load(ordering: .sequentiallyConsistent) == count)
    }
  }
}
