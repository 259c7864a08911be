// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

@Suite("Calls that share one body, from its beginning to its end")
struct SharedCallTests {
  private typealias Calls = SharedCalls<String, Int>

  /// A call that waits.
  private struct Caller {
    let answer = Handover<Int>()
    let place: Calls.Place

    init() {
      let answer = answer
      place = Calls.Place { answer.give($0) }
    }
  }

  @Test("run one body for one key, and each gets its value; the next call runs another")
  func shared() async {
    let calls = Calls()
    let count = CoreLock(0)
    let latch = Handover<Bool>()
    let body: @Sendable (Cancellation) -> Int = { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      _ = latch.wait()
      return number
    }
    let callers = (0..<5).map { _ in Caller() }
    for caller in callers { calls.begin("a", caller.place, body) }
    latch.give(true)
    for caller in callers { #expect(await caller.answer.arrival() == 1) }
    let later = Caller()
    calls.begin("a", later.place, body)
    #expect(await later.answer.arrival() == 2)
  }

  @Test("of different keys run apart")
  func keys() async {
    let calls = Calls()
    let (one, other) = (Caller(), Caller())
    let latch = Handover<Bool>()
    calls.begin("a", one.place) { _ in
      _ = latch.wait()
      return 1
    }
    calls.begin("b", other.place) { _ in 2 }
    #expect(await other.answer.arrival() == 2)
    latch.give(true)
    #expect(await one.answer.arrival() == 1)
  }

  @Test("leave one by one: the body ends early when the last one has left, and makes room")
  func left() async {
    let calls = Calls()
    let (one, other, next) = (Caller(), Caller(), Caller())
    let (begun, ended) = (Handover<Cancellation>(), Handover<Bool>())
    calls.begin("a", one.place) { cancellation in
      let stop = Handover<Bool>()
      return cancellation.withHandler({ stop.give(true) }) {
        begun.give(cancellation)
        _ = stop.wait()
        ended.give(true)
        return 1
      }
    }
    calls.begin("a", other.place) { _ in 9 }
    let cancellation = await begun.arrival()
    calls.leave("a", one.place, -1)
    #expect(await one.answer.arrival() == -1)
    #expect(!cancellation.isCancelled)
    // A place that has left, or that never was, ends nothing.
    calls.leave("a", one.place, -3)
    calls.leave("b", other.place, -2)
    #expect(!cancellation.isCancelled)
    #expect(await other.answer.arrival() == -2)
    calls.leave("a", other.place, -4)
    #expect(cancellation.isCancelled)
    await ended.arrival()
    calls.begin("a", next.place) { _ in 3 }
    #expect(await next.answer.arrival() == 3)
  }
}
