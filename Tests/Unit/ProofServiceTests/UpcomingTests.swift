// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

@Suite struct UpcomingTests {
  private typealias Name = TestApp.Name

  /// The app after its update: another executable, in the file and in memory.
  private static func updated(_ app: TestApp) -> TestApp {
    var updated = app
    for name in [
      Name(.app, 1, "executable"), Name(.app, 2, "executable"), Name(.app, 3, "0"),
      Name(.environment, 6, "executable"),
    ] { updated.evidence[name] = Digest(hashing: Array("updated \(name)".utf8)) }
    return updated
  }

  /// Its records that a reference machine has: of the app, and its links.
  private static func records(_ app: TestApp) throws -> EvidenceSet {
    try EvidenceSet(
      app.set.records.filter { record in
        record.source.evidenceClass == .app
          || (record.source.evidenceClass == .environment && record.source.number == 6)
      })
  }

  private static func ask(
    _ bench: Bench, _ app: TestApp, takes: Bool = true
  ) throws -> (answer: AttestationAnswer, generation: UInt32) {
    let challenge = try bench.challenge(app, .measurement, host: Bench.lockAPI)
    var subject = AttestationReport.Subject(.measurement, name: Bench.lockAPI)
    if takes { subject.properties = [AttestationReport.Property("upcoming", "1")] }
    let report = try app.report(subject, answering: challenge)
    return (
      try bench.send(report, challenge.draft.salt, app), challenge.draft.generation
    )
  }

  @discardableResult
  private static func register(
    _ app: TestApp, for bench: Bench, updating present: TestApp? = nil,
    records: EvidenceSet? = nil
  ) throws -> Registration {
    try bench.management.register(
      app.digest, name: "door 2.0",
      prediction: Prediction(
        updates: (present ?? bench.app).digest, records: try records ?? Self.records(app)))
  }

  @Test func `a fetch before the update gives the pair of the updated app`() throws {
    let bench = try Bench()
    let updated = Self.updated(bench.app)
    try Self.register(updated, for: bench)
    let (answer, base) = try Self.ask(bench, bench.app)
    let pair = try #require(answer.upcoming.first)
    #expect(answer.upcoming.count == 1 && pair.label == "door 2.0")
    #expect(pair.config.generation == base + 1)
    #expect(
      try AttestationAnswer(
        answer.bytes(with: bench.app.key), to: answer.salt, with: bench.app.key) == answer)
    let claims = try bench.sealedClaims(pair.token)
    #expect(claims.others["mgn"] == .number(JSONNumber(Int64(base + 1))))
    #expect(claims.others["mgb"] == .number(JSONNumber(Int64(base))))
    #expect(claims.others["mup"] == .bool(true))
    // The updated app, with no network, measures the same as the token says.
    let asked = Set(pair.config.sources.map(\.id))
    func measures(_ app: TestApp) throws -> Bool {
      let evidence = try EvidenceSet(app.set.records.filter { asked.contains($0.source) })
      let measured = try Measurement(of: evidence, under: pair.config, with: app.key)
      let mine = measured.withBytes(of: .integrity) { SecretBytes(copying: $0) }
      let told = claims.measurement?.withIntegrityMeasurement { SecretBytes(copying: $0) }
      return told?.matches(mine) == true
    }
    #expect(try measures(updated))
    #expect(try !measures(bench.app))
  }

  @Test func `a fetch reserves four generations, for an app that takes pairs`() throws {
    let bench = try Bench()
    #expect(try Self.ask(bench, bench.app).generation == 1)
    #expect(try Self.ask(bench, bench.app).generation == 5)
    #expect(try Self.ask(bench, bench.app, takes: false).generation == 9)
    #expect(try Self.ask(bench, bench.app).generation == 10)
  }

  @Test func `an app that takes no pairs gets none`() throws {
    let bench = try Bench()
    try Self.register(Self.updated(bench.app), for: bench)
    #expect(try Self.ask(bench, bench.app, takes: false).answer.upcoming.isEmpty)
  }

  @Test func `an environment to come gives a pair of its own, and one with the update`() throws {
    let bench = try Bench()
    let updated = Self.updated(bench.app)
    let kernel = try EvidenceRecord(
      SourceID(.environment, 9), name: "kernel", digest: Digest(hashing: [9]))
    let records = try EvidenceSet([kernel])
    try bench.management.register(
      Prediction.name(ofEnvironment: records), name: "kernel 6.13",
      prediction: Prediction(records: records))
    let alone = try Self.ask(bench, bench.app)
    #expect(alone.answer.upcoming.map(\.config.generation) == [alone.generation + 2])
    try Self.register(updated, for: bench)
    let (answer, base) = try Self.ask(bench, bench.app)
    #expect(answer.upcoming.map(\.config.generation) == [base + 1, base + 2, base + 3])
    #expect(
      answer.upcoming.map(\.label) == ["door 2.0", "kernel 6.13", "door 2.0 + kernel 6.13"])
  }

  @Test func `a withdrawn build is predicted no more`() throws {
    let bench = try Bench()
    let updated = Self.updated(bench.app)
    try Self.register(updated, for: bench)
    #expect(try Self.ask(bench, bench.app).answer.upcoming.count == 1)
    try bench.management.removeRegistration(updated.digest)
    #expect(try Self.ask(bench, bench.app).answer.upcoming.isEmpty)
  }

  @Test func `an app that fails gets as many pairs, and tokens that open under no key`() throws {
    let bench = try Bench()
    try Self.register(Self.updated(bench.app), for: bench)
    var failing = bench.app
    failing.evidence[Name(.app, 2, "executable")] = Digest(hashing: [66])
    let good = try Self.ask(bench, bench.app).answer
    let bad = try Self.ask(bench, failing).answer
    #expect(bad.upcoming.count == good.upcoming.count)
    #expect(
      bad.bytes(with: failing.key).count == good.bytes(with: bench.app.key).count)
    #expect(throws: JOSEError.self) { try bench.sealedClaims(bad.upcoming[0].token) }
  }

  @Test func `an app without an update gets another's pair, and a token for no key`() throws {
    let bench = try Bench()
    var side = bench.app
    side.evidence[Name(.app, 2, "executable")] = Digest(hashing: [77])
    try bench.management.register(side.digest, name: "side 1.0")
    try Self.register(Self.updated(bench.app), for: bench)
    let answer = try Self.ask(bench, side).answer
    #expect(answer.upcoming.count == 1)
    _ = try bench.sealedClaims(answer.token)
    #expect(throws: JOSEError.self) { try bench.sealedClaims(answer.upcoming[0].token) }
  }

  @Test func `the operator is told why there is no pair`() throws {
    let log = HandLog()
    let bench = try Bench(log: log)
    let updated = Self.updated(bench.app)
    let files = try EvidenceSet(
      updated.set.records.filter { record in
        record.source.evidenceClass == .app && [2, 3].contains(record.source.number)
      })
    let registration = try Self.register(updated, for: bench, records: files)
    #expect(try Self.ask(bench, bench.app).answer.upcoming.isEmpty)
    guard case .object(let shown)? = try bench.management.shown(registration)["upcoming"] else {
      Issue.record("nothing is shown")
      return
    }
    #expect(shown.flag("predicted") == false)
    let reason = try #require(shown.text("reason"))
    #expect(reason.contains("--records"), "\(reason)")
    #expect(shown.text("updates") == bench.app.digest.description)
    #expect(shown.integer("records") == Int64(files.records.count))
    let told = log.all.flatMap(\.details).filter { $0.0 == "upcoming" }.map(\.1)
    #expect(told == ["none, \(reason)"])
  }

  @Test func `records of another build, and an update of an unknown one, are refused`() throws {
    let bench = try Bench()
    let updated = Self.updated(bench.app)
    #expect(throws: ServiceError.self) {
      try Self.register(updated, for: bench, records: Self.records(bench.app))
    }
    #expect(throws: ServiceError.self) { try Self.register(updated, for: bench, updating: updated) }
    var stranger = bench.app
    stranger.evidence[Name(.app, 2, "executable")] = Digest(hashing: [55])
    #expect(throws: ServiceError.self) {
      try Self.register(updated, for: bench, updating: stranger)
    }
  }
}
