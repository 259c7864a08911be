// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofModel
import Synchronization
import Testing

@testable import ProofService

/// A report is judged by the row that its challenge was made by, and never answered by it alone.
@Suite struct RecentDevicesTests {
  private func row(_ first: UInt8, _ last: UInt8 = 0, note: Int = 1) throws -> DeviceRow {
    var id = [UInt8](repeating: 1, count: InstanceID.byteCount)
    id[0] = first
    id[id.count - 1] = last
    return DeviceRow(
      device: try InstanceID(id), firstSeen: 1, lastSeen: 2, generation: 3,
      note: [UInt8](repeating: 0x20, count: note), version: 4)
  }

  @Test func `a row is given once, and to its own device`() throws {
    let recent = RecentDevices()
    recent.keep(try row(1))
    recent.keep(try row(2))
    #expect(recent.take(try row(1, 9).device) == nil, "another device of the same place")
    #expect(recent.take(try row(1).device) == (try row(1)))
    #expect(recent.take(try row(1).device) == nil)
    #expect(recent.take(try row(2).device) == (try row(2)))
  }

  @Test func `a later device takes the place of an earlier one`() throws {
    let recent = RecentDevices()
    recent.keep(try row(1))
    recent.keep(try row(1, 9))
    #expect(recent.take(try row(1).device) == nil)
    #expect(recent.take(try row(1, 9).device) == (try row(1, 9)))
  }

  @Test func `long notes are not kept`() throws {
    let recent = RecentDevices()
    recent.keep(try row(1, note: RecentDevices.noteMax))
    recent.keep(try row(2, note: RecentDevices.noteMax + 1))
    #expect(recent.take(try row(1).device) != nil)
    #expect(recent.take(try row(2).device) == nil)
  }

  /// How often the store is read for a challenge, and then for its report.
  private func readings(
    _ store: InterruptedStore, _ bench: Bench, between: () throws -> Void = {},
    forging: Bool = false
  ) throws -> (challenge: Int, report: Int, answer: AttestationAnswer) {
    let before = store.glances.load(ordering: .relaxed)
    let challenge = try bench.challenge(bench.app)
    let middle = store.glances.load(ordering: .relaxed)
    try between()
    var report = try bench.app.report(.init(.token, name: Bench.api), answering: challenge)
    if forging { report[report.count - 1] ^= 1 }
    let answer = try bench.send(report, challenge.draft.salt, bench.app)
    return (middle - before, store.glances.load(ordering: .relaxed) - middle, answer)
  }

  @Test func `a challenge and its report read a known device once`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    let first = try readings(store, bench)
    #expect(first.challenge == 1 && first.report == 1, "no row yet")
    for _ in 0..<3 {
      let known = try readings(store, bench)
      #expect(known.challenge == 1 && known.report == 0)
      #expect(known.answer.outcome == .done)
    }
    #expect(try bench.store.device(bench.app.device)?.version == 4)
    #expect(bench.service.metrics[.passed] == 4 && bench.service.metrics[.parsed] == 4)
  }

  @Test func `a ban between challenge and report counts`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    _ = try bench.attest(bench.app)
    let seen = try readings(store, bench) {
      try bench.management.set(.fail, for: bench.app.device)
    }
    #expect(seen.report == 1, "judged again")
    #expect(throws: (any Error).self) { try bench.claims(seen.answer.token) }
    #expect(bench.service.metrics[.failed] == 1 && bench.service.metrics[.passed] == 1)
  }

  @Test func `a clone that reports between challenge and report is seen`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    _ = try bench.attest(bench.app)
    var clone = bench.app
    clone.evidence[TestApp.Name(.device, 1, "machine-id")] = Digest(hashing: [1])
    let seen = try readings(store, bench) {
      let challenge = try bench.challenge(clone)
      let report = try clone.report(.init(.token, name: Bench.api), answering: challenge)
      _ = try bench.send(report, challenge.draft.salt, clone)
      // The clone's report took the row: put the older one back, as if its challenge came from another process.
      let now = try #require(try bench.store.device(bench.app.device))
      var before = now
      before.version -= 1
      bench.service.recentDevices.keep(before)
    }
    #expect(seen.report == 2, "one for the clone's challenge; this report is judged again")
    let code = try bench.management.read(responseCode: seen.answer.responseCode)
    #expect(code.properties.contains(.clonedStorage))
    #expect(try bench.store.device(bench.app.device)?.version == 3)
  }

  @Test func `a forged report is refused by what the store says, and spends its salt once`()
    throws
  {
    let store = InterruptedStore()
    let bench = try Bench(store)
    _ = try bench.attest(bench.app)
    let seen = try readings(store, bench, forging: true)
    #expect(seen.answer.outcome == .unbelievable)
    #expect(seen.report == 1, "a row of memory refuses nothing")
    #expect(bench.service.metrics[.unbelievable] == 1)
  }

  @Test func `an expired challenge is stale by what the store says`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store, policy: [.saltLifetime: "30"])
    _ = try bench.attest(bench.app)
    let seen = try readings(store, bench) { bench.clock.advance(by: 31) }
    #expect(seen.answer.outcome == .askAgain && seen.report == 1)
    #expect(bench.service.metrics[.staleReports] == 1)
  }

  /// The first process knows neither the key of the second one's salt nor that it does not know it.
  @Test func `a challenge of another process is known after keys were rotated`() throws {
    let place = Workplace()
    let bench = try Bench(try SQLiteStore(creatingAt: place.path(of: "store")))
    let other = AttestationService(
      account: try Account.open(in: SQLiteStore(at: place.path(of: "store")), with: keyFile()),
      clock: bench.clock.clock)
    _ = try bench.attest(bench.app)
    _ = try bench.challenge(bench.app)
    try bench.management.rotateSaltKey()
    let question = HTTPRequest(
      method: "POST", path: "/v1/challenge", body: bench.app.question(.token, host: "").bytes,
      peer: "192.0.2.8")
    let challenge = try AttestationChallenge(other.respond(to: question).body)
    let report = try bench.app.report(.init(.token, name: Bench.api), answering: challenge)
    let answer = try bench.send(report, challenge.draft.salt, bench.app)
    #expect(answer.outcome == .done)
    #expect(bench.service.metrics[.unknownSalts] == 0)
  }

  @Test func `a report is counted once for its address, judged twice or not`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store, policy: [.addressRate: "1", .deviceRate: "0"])
    _ = try bench.attest(bench.app)
    for _ in 0..<4 {
      let seen = try readings(store, bench) { try bench.management.setSecureString("n", to: "v") }
      #expect(seen.report == 1, "judged again")
    }
    #expect(throws: Refused.self) { try bench.challenge(bench.app) }
  }
}
