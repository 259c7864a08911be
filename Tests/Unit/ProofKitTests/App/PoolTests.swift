// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import OwnThreads
import ProofModel
import Testing

@testable import ProofKit

/// How many threads this process has, as the kernel counts them.
private func threadsOfProcess() throws -> Int {
  try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
}

@Suite("The library's threads")
struct PoolTests {
  @Test("1,000 calls at once of each kind need no thread each")
  func manyCalls() async {
    // In a process of its own, where no other test makes threads.
    await #expect(processExitsWith: .success) {
      let gate = Latch()
      let service = InProcessService { _, _ in gate.wait() }
      service.set { $0.failure = .unreachable("x") }
      let attestor = try Stage(service).attestor
      let before = try threadsOfProcess()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<1000 {
          group.addTask {
            await #expect(throws: AttestationError.self) {
              try await attestor.token(for: "api-\(number).example.com")
            }
          }
          group.addTask { _ = try await attestor.instance() }
        }
        await attestor.waitForSeats(1000)
        let threads = try threadsOfProcess()
        #expect(threads - before <= 32 + ProcessInfo.processInfo.processorCount + 8)
        #expect(CorePool.fetches.threadCount <= 32)
        gate.open()
        try await group.waitForAll()
      }
      #expect(service.count("challenge") == 1000)
    }
  }

  @Test("no more than the limit run at once, and the others run later, in order of arrival")
  func limit() async throws {
    let pool = CorePool(limit: 3)
    let gate = Latch()
    let ran = CoreLock<[Int]>([])
    let begun = DispatchSemaphore(value: 0)
    let ended = Handover<Bool>()
    for number in 0..<10 {
      pool.run {
        begun.signal()
        gate.wait()
        let isLast = ran.withLock { ran in
          ran.append(number)
          return ran.count == 10
        }
        if isLast { ended.give(true) }
      }
    }
    for _ in 0..<3 { begun.wait() }
    #expect(pool.threadCount == 3)
    #expect(begun.wait(timeout: .now()) == .timedOut)
    gate.open()
    #expect(await ended.arrival())
    #expect(Set(ran.withLock { $0 }) == Set(0..<10) && pool.threadCount <= 3)
  }

  @Test("a cancelled call that waits in line returns at once, and never begins")
  func cancelled() async throws {
    struct Left: Error {}
    let pool = CorePool(limit: 1)
    let gate = Latch()
    let begun = Handover<Bool>()
    pool.run {
      begun.give(true)
      gate.wait()
    }
    await begun.arrival()
    let hasBegun = CoreLock(false)
    let call = Task {
      try await pool.value(orIfCancelled: Left()) { _ throws(Left) in
        hasBegun.withLock { $0 = true }
      }
    }
    call.cancel()
    await #expect(throws: Left.self) { try await call.value }
    gate.open()
    try await pool.value(orIfCancelled: Left()) { _ throws(Left) in }
    #expect(hasBegun.withLock { !$0 })
  }

  @Test("a call that leaves returns while its body goes on; one that does not waits for it")
  func leaving() async throws {
    struct Left: Error {}
    let pool = CorePool(limit: 1)
    let (gate, begun) = (Latch(), Handover<Bool>())
    let call = Task {
      try await pool.value(orIfCancelled: Left(), leaving: true) { _ throws(Left) in
        begun.give(true)
        gate.wait()
      }
    }
    await begun.arrival()
    call.cancel()
    await #expect(throws: Left.self) { try await call.value }
    gate.open()
    let heard = Task {
      try await pool.value(orIfCancelled: Left()) { cancellation throws(Left) in
        waitUntil { cancellation.isCancelled }
        return 7
      }
    }
    heard.cancel()
    let value = try? await heard.value
    #expect(value == 7 || value == nil)
  }

  @Test("blocking { } gives the result of an async call, and its error")
  func adapter() async throws {
    let stage = try Stage()
    let attestor = stage.attestor
    let answers = await withCheckedContinuation { continuation in
      Thread {
        let token = try? blocking { try await attestor.token(for: "api.example.com") }
        var error: AttestationError?
        do throws(AttestationError) {
          _ = try blocking { () async throws(AttestationError) in
            try await attestor.customToken(claims: "[")
          }
        } catch let thrown { error = thrown }
        continuation.resume(returning: (token, error))
      }.start()
    }
    #expect(answers.0?.text.isEmpty == false && answers.1?.reason == .invalidArgument)
  }

  @Test("blocking { } inside a task traps")
  func trap() async {
    await #expect(processExitsWith: .failure) {
      await Task { blocking { () async in } }.value
    }
  }
}
