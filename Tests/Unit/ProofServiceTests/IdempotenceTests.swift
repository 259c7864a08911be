// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPServing
import OwnThreads
import ProofJOSE
import ProofModel
import Synchronization
import Testing

@testable import ProofService

/// An app whose connection broke sends its report again, and gets the answer that it missed.
@Suite struct IdempotenceTests {
  private func report(
    _ bench: Bench, _ purpose: AttestationPurpose = .token, name: String = Bench.api,
    payload: [UInt8] = []
  ) throws -> (bytes: [UInt8], salt: Salt) {
    let challenge = try bench.challenge(bench.app, purpose, host: name)
    let subject = AttestationReport.Subject(purpose, name: name, payload: payload)
    return (try bench.app.report(subject, answering: challenge), challenge.draft.salt)
  }

  private func send(_ bench: Bench, _ bytes: [UInt8]) -> [UInt8] {
    let response = bench.post("/v1/report", bytes)
    #expect(response.status == 200)
    return response.body
  }

  @Test(arguments: StoreKind.local)
  func `a report that comes again gets the same bytes, whatever its purpose`(
    _ kind: StoreKind
  ) throws {
    let place = Workplace()
    defer { withExtendedLifetime(place) {} }
    let gates = try GateBench(
      try kind.make(place),
      policy: [.deviceRate: "0", .secureStrings: "on", .customTokens: "on"])
    let bench = gates.bench
    let cases: [(AttestationPurpose, String, [UInt8])] = [
      (.token, Bench.api, []), (.token, "unknown.example.com", []),
      (.measurement, Bench.lockAPI, []), (.secureString, "n", [1, 65]), (.secureString, "n", [0]),
      (.customJWT, "", Array("{}".utf8)), (.gate, GateBench.host, []), (.stringKey, "", []),
    ]
    for (purpose, name, payload) in cases {
      let (bytes, salt) = try report(bench, purpose, name: name, payload: payload)
      let grants = bench.grants.all.count
      let passed = bench.service.metrics[.passed]
      let first = send(bench, bytes)
      let version = try #require(try bench.store.device(bench.app.device)).version
      bench.clock.advance(by: 7)
      for _ in 0..<3 { #expect(send(bench, bytes) == first, "\(purpose) \(name)") }
      let answer = try AttestationAnswer(first, to: salt, with: bench.app.key)
      #expect(answer.outcome == (name.hasPrefix("unknown") ? .unknownDomain : .done))
      #expect(try bench.store.device(bench.app.device)?.version == version, "seen once")
      #expect(bench.grants.all.count == grants + (purpose == .gate ? 1 : 0))
      #expect(bench.service.metrics[.passed] == passed + 1)
    }
    #expect(bench.service.metrics[.repeatedReports] == cases.count * 3)
  }

  @Test func `a report that comes again is not read, and its answer ends with its salt`() throws {
    let bench = try Bench(policy: [.saltLifetime: "30"])
    let (bytes, salt) = try report(bench)
    let first = send(bench, bytes)
    let parsed = bench.service.metrics[.parsed]
    bench.clock.advance(by: 29)
    #expect(send(bench, bytes) == first)
    bench.clock.advance(by: 1)
    let late = try AttestationAnswer(send(bench, bytes), to: salt, with: bench.app.key)
    #expect(late.outcome == .askAgain)
    #expect(bench.service.metrics[.parsed] == parsed)
  }

  @Test func `a later decision of the account does not change an earlier answer`() throws {
    let bench = try Bench()
    let (bytes, _) = try report(bench)
    let first = send(bench, bytes)
    try bench.management.set(.fail, for: bench.app.device)
    try bench.management.add(API("new.example.com"))
    try bench.management.rotateSaltKey()
    #expect(send(bench, bytes) == first)
    let (next, salt) = try report(bench)
    let answer = try AttestationAnswer(send(bench, next), to: salt, with: bench.app.key)
    #expect(throws: (any Error).self) { try bench.claims(answer.token) }
  }

  @Test func `another process of the account gives the same answer`() throws {
    let place = Workplace()
    let bench = try Bench(try SQLiteStore(creatingAt: place.path(of: "store")))
    let other = AttestationService(
      account: try Account.open(in: SQLiteStore(at: place.path(of: "store")), with: keyFile()),
      clock: bench.clock.clock)
    for _ in 0..<3 {
      let (bytes, _) = try report(bench)
      let request = HTTPRequest(method: "POST", path: "/v1/report", body: bytes, peer: "192.0.2.8")
      let first = other.respond(to: request)
      #expect(first.status == 200)
      #expect(send(bench, bytes) == first.body)
      #expect(other.respond(to: request).body == first.body)
    }
    #expect(bench.service.metrics[.passed] == 0 && other.metrics[.passed] == 3)
  }

  @Test func `a kept answer opens for its own device and salt alone`() throws {
    let bench = try Bench()
    let challenges = try (0..<2).map { _ in try bench.challenge(bench.app) }
    let reports = try challenges.map {
      try bench.app.report(.init(.token, name: Bench.api), answering: $0)
    }
    let answer = send(bench, reports[0])
    let expiry = bench.clock.now + 60
    let mark = try #require(
      try bench.store.glance(
        at: bench.app.device, and: SaltPlace(challenges[0].draft.salt, expiring: expiry)
      ).mark)
    #expect(mark.answer.count == answer.count + 40)
    #expect(!mark.answer.indices.contains { mark.answer[$0...].starts(with: answer.prefix(16)) })
    // An attacker who can write the store moves it to another salt.
    let use = SaltUse(
      of: challenges[1].draft.salt, by: bench.app.device, expiring: expiry,
      at: bench.clock.now, report: Digest(hashing: reports[1]), answer: mark.answer,
      revision: try bench.store.revision())
    #expect(try bench.store.use(use) == .used)
    #expect(bench.post("/v1/report", reports[1]).status == 503)
  }

  @Test func `a string that a report defines is in the same step as its salt`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store, policy: [.secureStrings: "on"])
    let changes = Atomic(0)
    store.interrupt(by: { changes.add(1, ordering: .relaxed) })
    let (bytes, salt) = try report(bench, .secureString, name: "n", payload: [1, 65])
    let answer = try AttestationAnswer(send(bench, bytes), to: salt, with: bench.app.key)
    #expect(answer.outcome == .done && answer.secureString == "A")
    #expect(try bench.store.row(bench.app.device.description, of: .deviceString) != nil)
    #expect(changes.load(ordering: .relaxed) == 0, "no second transaction")
  }

  @Test func `a ban that is acknowledged while a report is judged counts for that report`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    let (bytes, salt) = try report(bench)
    store.interrupt(.use) { try! bench.management.set(.fail, for: bench.app.device) }
    let answer = try AttestationAnswer(send(bench, bytes), to: salt, with: bench.app.key)
    #expect(throws: JOSEError.signatureWrong) { try bench.claims(answer.token) }
    #expect(bench.service.metrics[.failed] == 1 && bench.service.metrics[.passed] == 0)
    #expect(bench.service.metrics[.parsed] == 2, "it was judged twice")
    #expect(bench.service.metrics[.firstFetches] == 1, "and counted once")
  }

  @Test func `a report of the same device that comes first is seen by the one that comes second`()
    throws
  {
    let store = InterruptedStore()
    let bench = try Bench(store)
    var clone = bench.app
    clone.evidence[TestApp.Name(.device, 1, "machine-id")] = Digest(hashing: [1])
    let (bytes, salt) = try report(bench)
    store.interrupt(.use) { [clone] in _ = try! bench.attest(clone) }
    let answer = try AttestationAnswer(send(bench, bytes), to: salt, with: bench.app.key)
    let code = try bench.management.read(responseCode: answer.responseCode)
    #expect(code.properties.contains(.clonedStorage) && !code.properties.contains(.firstFetch))
  }

  @Test func `a report whose device changes without end is refused, and its salt stays good`()
    throws
  {
    let (store, log) = (InterruptedStore(), HandLog())
    let bench = try Bench(store, policy: [.deviceRate: "0", .addressRate: "0"], log: log)
    let (bytes, salt) = try report(bench)
    let isOver = Atomic(false)
    @Sendable func change() {
      if isOver.load(ordering: .relaxed) { return }
      try! bench.management.setSecureString("n", to: "v")
      store.interrupt(.use) { change() }
    }
    store.interrupt(.use) { change() }
    let refused = bench.post("/v1/report", bytes)
    #expect(refused.status == 503)
    #expect(
      String(decoding: refused.body, as: UTF8.self)
        == "The service cannot answer this request. Its log has the reason.\n")
    #expect(
      log.all.filter { $0.name == "request failed" }.map(\.details.first?.value) == [
        "A report was judged 32 times, and each time its device or the account had changed."
      ])
    #expect(bench.service.metrics[.parsed] == AttestationService.judgementsMax)
    #expect(bench.service.metrics[.firstFetches] == 1)
    isOver.store(true, ordering: .relaxed)
    let answer = try AttestationAnswer(send(bench, bytes), to: salt, with: bench.app.key)
    #expect(answer.outcome == .done)
  }

  /// A report is judged by its device's note. Judged at the same time by the note before, both
  /// machines of a clone would pass.
  @Test(arguments: StoreKind.local)
  func `concurrent reports of clones keep every machine`(_ kind: StoreKind) throws {
    let place = Workplace()
    defer { withExtendedLifetime(place) {} }
    let bench = try Bench(try kind.make(place), policy: [.deviceRate: "0", .addressRate: "0"])
    let count = DeviceNote.machineMax
    let apps = (0..<count).map { number in
      var app = bench.app
      app.evidence[TestApp.Name(.device, 1, "machine-id")] = Digest(hashing: [UInt8(number)])
      return app
    }
    let challenges = try apps.map { try bench.challenge($0) }
    let outcomes = CoreLock([AttestationAnswer.Outcome](repeating: .askAgain, count: count))
    onThreads(count) { number in
      let report = try! apps[number].report(
        .init(.token, name: Bench.api), answering: challenges[number])
      let answer = try! AttestationAnswer(
        bench.post("/v1/report", report).body, to: challenges[number].draft.salt,
        with: bench.app.key)
      outcomes.withLock { $0[number] = answer.outcome }
    }
    #expect(outcomes.withLock { $0 } == .init(repeating: .done, count: count))
    let row = try #require(try bench.store.device(bench.app.device))
    #expect(row.version == UInt64(count))
    #expect(DeviceNote(row.note)?.machines.count == count)
  }

  /// An app states texts, and its note is JSON that the strict parser reads, whatever they contain.
  @Test func `a note keeps each statement of an app as it is`() throws {
    let bench = try Bench()
    let statements = ["plain", "\"", "\\", "a\nb\t\u{0}\u{1F}\u{7F}", "\u{2028} é 😀", ""]
    var subject = AttestationReport.Subject(
      .token, name: Bench.api, userProperty: statements.joined())
    for (number, statement) in statements.enumerated() {
      subject.properties.append(.init("p\(number)\"", statement))
    }
    subject.properties.append(.init("p0\"", "said again"))
    let report = try bench.app.report(
      subject, answering: try bench.challenge(bench.app))
    #expect(bench.post("/v1/report", report).status == 200)
    let row = try #require(try bench.store.device(bench.app.device))
    guard case .object(let note) = try JSONValue(parsing: row.note.span),
      case .object(let said) = note["said"]
    else {
      Issue.record("the note is no object")
      return
    }
    #expect(note.text("userProperty") == statements.joined())
    #expect(said.text("p0\"") == "said again")
    for (number, statement) in statements.enumerated().dropFirst() {
      #expect(said.text("p\(number)\"") == statement)
    }
    #expect(DeviceNote(row.note)?.machines.count == 1)
  }

  /// Four threads attest while a fifth rotates. It waits for the challenges of two keys before, as an
  /// operator does by the clock.
  @Test func `a rotation of the key of salts under load refuses no report`() throws {
    let place = Workplace()
    defer { withExtendedLifetime(place) {} }
    let bench = try Bench(
      try SQLiteStore(creatingAt: place.path(of: "store")),
      policy: [.deviceRate: "0", .addressRate: "0", .firstFetchRate: "0"])
    struct Load {
      var rotations = 0
      /// The number of rotations when the thread's present challenge was asked for.
      var begun: [Int: Int] = [:]
      var ended = 0
    }
    let load = CoreLock(Load())
    onThreads(5) { thread in
      guard thread > 0 else {
        while true {
          let (isOver, isDue) = load.withLock { load in
            (load.ended == 4, load.begun.values.allSatisfy { $0 >= load.rotations })
          }
          if isOver { break }
          if isDue {
            try! endOldKey(bench)
            try! bench.management.rotateSaltKey()
            load.withLock { $0.rotations += 1 }
          } else {
            sched_yield()
          }
        }
        return
      }
      var app = bench.app
      app.evidence[TestApp.Name(.device, 5, "secret")] = Digest(hashing: [UInt8(thread)])
      for _ in 0..<25 {
        load.withLock { $0.begun[thread] = $0.rotations }
        let answer = try! bench.attest(app)
        precondition(answer.outcome == .done, "refused: \(answer.outcome)")
        load.withLock { $0.begun[thread] = nil }
      }
      load.withLock { $0.ended += 1 }
    }
    #expect(load.withLock { $0.rotations } > 1)
    #expect(bench.service.metrics[.passed] == 100 && bench.service.metrics[.staleReports] == 0)
  }

  private func endOldKey(_ bench: Bench) throws {
    let place = AccountDocument.saltKey
    try bench.management.rewrite(place.rawValue, of: .account) { _ throws(ServiceError) in
      var stages = try AccountDocument.saltKey.needed(SaltKeyStages.self, from: bench.store)
      stages.old?.end = 0
      return Array(JSONValue.object(stages.fields).text.utf8)
    }
  }
}
