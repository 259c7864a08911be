// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

/// Callers that wait at the same time have numbers of their own: each is told, and one that leaves
/// takes no other with it.
@Suite("Callers that wait at the same time", .timeLimit(.minutes(5)))
struct NumberedCallTests {
  @Test("each watcher is told of each update")
  func watchers() async throws {
    let stage = try Stage()
    let attestor = stage.attestor
    var first = attestor.updates.makeAsyncIterator()
    var second = attestor.updates.makeAsyncIterator()
    stage.service.set { $0.serial = 2 }
    try await attestor.update()
    let text = attestor.accountConfiguration
    for told in [await first.next(), await second.next()] { #expect(told == .configuration(text)) }
    for told in [await first.next(), await second.next()] { #expect(told == .pins(attestor.pins)) }
  }

  @Test("a cancellation calls each handler whose body has not ended, once")
  func handlers() {
    let cancellation = Cancellation()
    let called = CoreLock<[Int]>([])
    func handler(_ number: Int) -> @Sendable () -> Void {
      { called.withLock { $0.append(number) } }
    }
    cancellation.withHandler(handler(1)) {
      cancellation.withHandler(handler(2)) {}
      cancellation.withHandler(handler(3)) {
        cancellation.withHandler(handler(4)) { cancellation.cancel() }
      }
    }
    #expect(called.withLock { $0.sorted() } == [1, 3, 4])
    // From now on at once.
    cancellation.withHandler(handler(5)) { #expect(called.withLock { $0.last } == 5) }
    cancellation.cancel()
    #expect(called.withLock { $0.count } == 4)
  }

  @Test("one that leaves the line for a turn is the one that was cancelled")
  func turns() async {
    let turns = Turns()
    #expect(await turns.take())
    let tasks = (0..<8).map { _ in
      Task {
        let isTaken = await turns.take()
        if isTaken { turns.give() }
        return isTaken
      }
    }
    tasks[5].cancel()
    #expect(await !tasks[5].value)
    turns.give()
    for (number, task) in tasks.enumerated() where number != 5 { #expect(await task.value) }
  }

  @Test("one that leaves a gate's beginning takes no other with it")
  func readiness() async throws {
    let (latch, entered) = (Latch(), Handover<Bool>())
    let service = InProcessService { path, _ in
      guard path == "challenge" else { return }
      entered.give(true)
      latch.wait()
    }
    let stage = try GateStage(service, isStarted: false)
    let readiness = Readiness()
    readiness.begin(stage.session)
    await entered.arrival()
    let tasks = (0..<8).map { number in
      Task { await readiness.event(isForEnd: number % 2 == 0) }
    }
    tasks[5].cancel()
    #expect(await tasks[5].value == .putOff(.cancelled))
    latch.open()
    for (number, task) in tasks.enumerated() where number != 5 {
      #expect(await task.value == .ready)
    }
    stage.session.stop()
  }
}
