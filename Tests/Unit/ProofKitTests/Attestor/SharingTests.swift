// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import OwnThreads
import ProofModel
import Testing

@testable import ProofKit

/// A gate that a test opens.
final class Latch: Sendable {
  private let opened = DispatchSemaphore(value: 0)
  @available(*, noasync)
  func wait() {
    opened.wait()
    opened.signal()
  }
  func open() { opened.signal() }
}

extension Attestor {
  /// How many wait for fetches at this moment.
  var seatCount: Int {
    state.withLock { $0.flights.values.reduce(0) { $0 + $1.seats.count } }
  }

  /// Goes on once so many wait.
  func waitForSeats(_ count: Int) async { await waitUntil { seatCount == count } }
}

/// Whether a group is over in time: only callers that wait for each other's threads take as long.
private func isOver(_ group: DispatchGroup) async -> Bool {
  let end = Handover<Bool>()
  CoreThread.run { end.give(group.wait(timeout: .now() + 300) == .success) }
  return await end.arrival()
}

@Suite("Sharing")
struct SharingTests {
  let api = "api.example.com"

  @Test("64 concurrent fetches, in all three ways, share one", arguments: ["", "?measurement"])
  func shared(suffix: String) async throws {
    let gate = Latch()
    let service = InProcessService { path, _ in if path == "challenge" { gate.wait() } }
    let stage = try Stage(service)
    let attestor = stage.attestor
    let domain = api + suffix
    let results = try await withThrowingTaskGroup(of: FetchResult.self) { group in
      for index in 0..<64 {
        group.addTask {
          switch index % 3 {
          case 0: return try await attestor.fetchToken(for: domain)
          case 1:
            return await withCheckedContinuation { continuation in
              attestor.begin(
                FetchRequest.token(domain),
                Seat { result in
                  continuation.resume(
                    returning: result ?? FetchResult(.cancelled, reason: "left"))
                })
            }
          default:
            return await withCheckedContinuation { continuation in
              // A thread of its own: the dispatch library has 64, which tasks need, too.
              Thread {
                continuation.resume(
                  returning: attestor.fetchTokenAndWait(for: domain, within: .seconds(300)))
              }.start()
            }
          }
        }
      }
      await attestor.waitForSeats(64)
      gate.open()
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(results.count == 64 && Set(results).count == 1)
    #expect(results[0].status == .success)
    #expect(service.count("report") == 1)
  }

  @Test("64 concurrent fetches of 16 APIs, while settings and pins are read and changed")
  func mixed() async throws {
    let stage = try Stage()
    let attestor = stage.attestor
    let results = try await withThrowingTaskGroup(of: FetchResult.self) { group in
      for index in 0..<64 {
        group.addTask {
          if index % 8 == 0 { attestor.setUserProperty("\(index)") }
          if index % 8 == 1 { _ = attestor.pins }
          if index % 8 == 2 { _ = try attestor.readInstance() }
          if index % 8 == 3 { stage.service.set { $0.serial += 1 } }
          if index % 8 == 4 { try await attestor.update() }
          return try await attestor.fetchToken(for: "api-\(index % 16).example.com")
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(results.allSatisfy { $0.status == .success })
    #expect(attestor.seatCount == 0)
  }

  @Test("more blocked callers and callbacks than the dispatch library has threads still end")
  func manyBlocked() async {
    // In a process of its own: if they did not end, nothing else there would get a thread either.
    await #expect(processExitsWith: .success) {
      let attestor = try Stage().attestor
      let group = DispatchGroup()
      let start = Latch()
      for _ in 0..<300 {
        group.enter()
        // As queues are served in their order, what the first ones ask for comes after the last one.
        DispatchQueue(label: "caller").async {
          start.wait()
          attestor.begin(
            FetchRequest.token("a.example.com"),
            Seat { _ in
              DispatchQueue(label: "callback").async {
                #expect(attestor.fetchTokenAndWait(for: "b.example.com").status == .success)
                group.leave()
              }
            })
          #expect(attestor.fetchTokenAndWait(for: "c.example.com").status == .success)
        }
      }
      start.open()
      #expect(await isOver(group))
    }
  }

  @Test("blocking calls on all threads that tasks share still end")
  func blockedTasks() async {
    await #expect(processExitsWith: .success) {
      let attestor = try Stage().attestor
      let group = DispatchGroup()
      for number in 0..<64 {
        group.enter()
        Task {
          let result = attestor.fetchTokenAndWait(for: "api-\(number).example.com")
          #expect(result.status == .success)
          group.leave()
        }
      }
      #expect(await isOver(group))
    }
  }

  @Test("a caller that is cancelled leaves at once, and the others get their token")
  func oneLeaves() async throws {
    let gate = Latch()
    let stage = try Stage(InProcessService { path, _ in if path == "challenge" { gate.wait() } })
    let attestor = stage.attestor
    let stays = Task { try await attestor.fetchToken(for: api) }
    let leaves = Task { try await attestor.fetchToken(for: api) }
    await attestor.waitForSeats(2)
    leaves.cancel()
    await #expect(throws: CancellationError.self) { try await leaves.value }
    #expect(attestor.seatCount == 1)
    gate.open()
    #expect(try await stays.value.status == .success)
  }

  /// A service that answers a challenge once it is cancelled, or the gate is open.
  private func waiting(_ gate: Handover<Bool>) -> InProcessService {
    InProcessService { path, cancellation in
      guard path == "challenge" else { return }
      // A blocking call without a deadline ends by this time, with a token. Tests beside this one may hold
      // all threads for many seconds.
      cancellation.withHandler({ gate.give(true) }, { _ = gate.wait(for: .seconds(300)) })
    }
  }

  @Test("a blocking call ends when its time is over, and gives up its place")
  func deadline() throws {
    let gate = Handover<Bool>()
    let stage = try Stage(waiting(gate))
    let result = stage.attestor.fetchTokenAndWait(for: api, within: .milliseconds(20))
    #expect(result.status == .poorNetwork && result.reason.contains("0.02 seconds"))
    #expect(result.token.isEmpty && stage.attestor.seatCount == 0)
    // Its result is not remembered as a failure. It may have ended before it asked the service.
    gate.give(true)
    #expect(stage.attestor.fetchTokenAndWait(for: api).status == .success)
  }

  @Test(
    "each blocking call has a deadline", arguments: [Duration.zero, .seconds(-1), .nanoseconds(1)])
  func deadlines(time: Duration) throws {
    let calls: [@Sendable (Attestor) -> FetchResult] = [
      { $0.fetchTokenAndWait(for: "api.example.com", within: time) },
      { $0.fetchSecureStringAndWait("key", within: time) },
      { $0.fetchCustomJWTAndWait("{}", within: time) },
    ]
    for call in calls {
      let attestor = try Stage(waiting(Handover())).attestor
      let result = call(attestor)
      #expect(result.status == .poorNetwork && result.reason.contains("did not end within"))
      #expect(attestor.seatCount == 0)
    }
  }

  @Test("a time without end is no overflow", arguments: [Int64.max, 1 << 40, 120])
  func longDeadline(seconds: Int64) throws {
    let result = try Stage().attestor.fetchTokenAndWait(for: api, within: .seconds(seconds))
    #expect(result.status == .success)
  }

  @Test("one whose time is over leaves the others their token")
  func deadlineOfOne() async throws {
    let gate = Handover<Bool>()
    let stage = try Stage(waiting(gate))
    let attestor = stage.attestor
    let stays = Task { try await attestor.fetchToken(for: api) }
    await attestor.waitForSeats(1)
    #expect(attestor.fetchTokenAndWait(for: api, within: .zero).status == .poorNetwork)
    #expect(attestor.seatCount == 1)
    gate.give(true)
    #expect(try await stays.value.status == .success)
  }

  @Test("when the last one leaves the request ends, and the next fetch is a new one")
  func allLeave() async throws {
    let (begun, cancelled) = (Handover<Bool>(), Handover<Bool>())
    let isFirst = CoreLock(true)
    let service = InProcessService { path, cancellation in
      let waits = isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
      guard waits else { return }
      begun.give(true)
      let end = Handover<Bool>()
      cancellation.withHandler({ end.give(true) }, { cancelled.give(end.wait()) })
    }
    let stage = try Stage(service)
    let attestor = stage.attestor
    let tasks = (0..<3).map { _ in Task { try await attestor.fetchToken(for: api) } }
    await attestor.waitForSeats(3)
    // A fetch that everyone leaves before its thread comes to it asks for nothing.
    await begun.arrival()
    for task in tasks { task.cancel() }
    for task in tasks {
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    #expect(await cancelled.arrival())
    // The cancelled fetch is not remembered as a failure.
    #expect(try await attestor.fetchToken(for: api).status == .success)
  }

  @Test("one who leaves while the environment is looked at takes nothing from the others")
  func leavesWhileLooking() async throws {
    let stage = try Stage()
    let attestor = stage.attestor
    stage.service.set { $0.messageKey = .random() }
    let first = try await attestor.fetchToken(for: api)
    let signature = attestor.messageSignature(of: "m")
    let looks = Handover<Bool>()
    let gate = Latch()
    stage.scene.state.withLock {
      $0.isLooking = {
        looks.give(true)
        gate.wait()
      }
    }
    let leaves = Task { try await attestor.fetchToken(for: api) }
    #expect(await looks.arrival())
    leaves.cancel()
    await #expect(throws: CancellationError.self) { try await leaves.value }
    gate.open()
    // Until the fetch without waiting callers has come to its end.
    await waitUntil { stage.scene.state.withLock { $0.cancellation == nil } }
    stage.scene.state.withLock { $0.isLooking = nil }
    #expect(try await attestor.fetchToken(for: api) == first)
    #expect(signature != nil && attestor.messageSignature(of: "m") == signature)
    #expect(stage.service.count("report") == 1)
  }

  @Test("a task that is cancelled before it fetches starts nothing")
  func cancelledBefore() async throws {
    let stage = try Stage()
    let attestor = stage.attestor
    let task = Task {
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      return try await attestor.fetchToken(for: api)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(stage.service.state.withLock { $0.counts.isEmpty })
  }

  @Test("a fetch with other bound data does not join one that began with the data of before")
  func bindingIsNotShared() async throws {
    let gate = Latch()
    let service = InProcessService { path, _ in if path == "challenge" { gate.wait() } }
    let stage = try Stage(service)
    let attestor = stage.attestor
    attestor.setDataHash(of: "1")
    let first = Task { try await attestor.fetchToken(for: api) }
    await attestor.waitForSeats(1)
    attestor.setDataHash(of: "2")
    let second = Task { try await attestor.fetchToken(for: api) }
    await attestor.waitForSeats(2)
    gate.open()
    let results = (try await first.value, try await second.value)
    #expect(results.0 != results.1)
    // The token of the old data ended later or earlier: either way it is not handed out any more.
    #expect(try await attestor.fetchToken(for: api) == results.1)
    let hashes = Set(service.state.withLock { $0.subjects.map(\.dataHash) })
    #expect(hashes == [Digest(hashing: Array("1".utf8)), Digest(hashing: Array("2".utf8))])
  }

  @Test("reinitialisation is refused while a fetch is in flight, and done afterwards")
  func reinitialisation() async throws {
    let gate = Latch()
    let stage = try Stage(InProcessService { path, _ in if path == "challenge" { gate.wait() } })
    let attestor = stage.attestor
    let other = InProcessService("other").configuration()
    let fetch = Task { try await attestor.fetchToken(for: api) }
    await attestor.waitForSeats(1)
    #expect(throws: SetupError.fetchesInFlight(count: 1)) {
      try attestor.initializeAndWait(other, comment: "reinit")
    }
    gate.open()
    #expect(try await fetch.value.status == .success)
    try await attestor.initialize(other, comment: "reinit")
    #expect(attestor.accountConfiguration == other)
  }
}
