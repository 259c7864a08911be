// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

@Suite struct UpcomingTests {
  private typealias Name = TestApp.Name

  @Test func `a fetch before the update gives the pair of the updated app`() throws {
    let bench = try Bench()
    let updated = bench.app.updated
    try bench.register(updated)
    let (answer, base) = try bench.askForLock(bench.app)
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
    #expect(try bench.askForLock(bench.app).generation == 1)
    #expect(try bench.askForLock(bench.app).generation == 5)
    #expect(try bench.askForLock(bench.app, takes: false).generation == 9)
    #expect(try bench.askForLock(bench.app).generation == 10)
  }

  @Test func `an app that takes no pairs gets none`() throws {
    let bench = try Bench()
    try bench.register(bench.app.updated)
    #expect(try bench.askForLock(bench.app, takes: false).answer.upcoming.isEmpty)
  }

  @Test func `an environment to come gives a pair of its own, and one with the update`() throws {
    let bench = try Bench()
    let updated = bench.app.updated
    let kernel = try EvidenceRecord(
      SourceID(.environment, 9), name: "kernel", digest: Digest(hashing: [9]))
    let records = try EvidenceSet([kernel])
    try bench.management.register(
      Prediction.name(ofEnvironment: records), name: "kernel 6.13",
      prediction: Prediction(records: records))
    let alone = try bench.askForLock(bench.app)
    #expect(alone.answer.upcoming.map(\.config.generation) == [alone.generation + 2])
    try bench.register(updated)
    let (answer, base) = try bench.askForLock(bench.app)
    #expect(answer.upcoming.map(\.config.generation) == [base + 1, base + 2, base + 3])
    #expect(
      answer.upcoming.map(\.label) == ["door 2.0", "kernel 6.13", "door 2.0 + kernel 6.13"])
  }

  @Test func `a withdrawn build is predicted no more`() throws {
    let bench = try Bench()
    let updated = bench.app.updated
    try bench.register(updated)
    #expect(try bench.askForLock(bench.app).answer.upcoming.count == 1)
    try bench.management.removeRegistration(updated.digest)
    #expect(try bench.askForLock(bench.app).answer.upcoming.isEmpty)
  }

  @Test func `an app that fails gets as many pairs, and tokens that open under no key`() throws {
    let bench = try Bench()
    try bench.register(bench.app.updated)
    var failing = bench.app
    failing.evidence[Name(.app, 2, "executable")] = Digest(hashing: [66])
    let good = try bench.askForLock(bench.app).answer
    let bad = try bench.askForLock(failing).answer
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
    try bench.register(bench.app.updated)
    let answer = try bench.askForLock(side).answer
    #expect(answer.upcoming.count == 1)
    _ = try bench.sealedClaims(answer.token)
    #expect(throws: JOSEError.self) { try bench.sealedClaims(answer.upcoming[0].token) }
  }

  @Test func `the operator is told why there is no pair`() throws {
    let log = HandLog()
    let bench = try Bench(log: log)
    let updated = bench.app.updated
    let files = try EvidenceSet(
      updated.set.records.filter { record in
        record.source.evidenceClass == .app && [2, 3].contains(record.source.number)
      })
    let registration = try bench.register(updated, records: files)
    #expect(try bench.askForLock(bench.app).answer.upcoming.isEmpty)
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
    let updated = bench.app.updated
    #expect(throws: ServiceError.self) {
      try bench.register(updated, records: bench.app.referenceRecords())
    }
    #expect(throws: ServiceError.self) { try bench.register(updated, updating: updated) }
    var stranger = bench.app
    stranger.evidence[Name(.app, 2, "executable")] = Digest(hashing: [55])
    #expect(throws: ServiceError.self) {
      try bench.register(updated, updating: stranger)
    }
  }

  @Test func `an update is predicted until its registration ends, the newest one of several`()
    throws
  {
    let bench = try Bench()
    var (first, second) = (bench.app.updated, bench.app.updated)
    first.evidence[Name(.app, 3, "1")] = Digest(hashing: [1])
    second.evidence[Name(.app, 3, "1")] = Digest(hashing: [2])
    for (app, name, seconds) in [(first, "2.0", nil), (second, "3.0", 60)]
      as [(TestApp, String, Int?)]
    {
      try bench.management.register(
        app.digest, name: name, expireAfter: seconds,
        prediction: Prediction(updates: bench.app.digest, records: try app.referenceRecords()))
      bench.clock.advance(by: 1)
    }
    func labels() throws -> [String] {
      try bench.askForLock(bench.app).answer.upcoming.map(\.label)
    }
    #expect(try labels() == ["3.0"])
    bench.clock.advance(by: 58)
    #expect(try labels() == ["3.0"])
    bench.clock.advance(by: 1)
    #expect(try labels() == ["2.0"])
  }

  @Test func `an app without an update gets the token of the environment to come alone`() throws {
    let bench = try Bench()
    var side = bench.app
    side.evidence[Name(.app, 2, "executable")] = Digest(hashing: [77])
    try bench.management.register(side.digest, name: "side 1.0")
    try bench.register(bench.app.updated)
    let records = try EvidenceSet([
      EvidenceRecord(SourceID(.environment, 9), name: "kernel", digest: Digest(hashing: [9]))
    ])
    try bench.management.register(
      Prediction.name(ofEnvironment: records), name: "kernel 6.13",
      prediction: Prediction(records: records))
    for (app, expected) in [(bench.app, [true, true, true]), (side, [false, true, false])] {
      let upcoming = try bench.askForLock(app).answer.upcoming
      #expect(upcoming.map { (try? bench.sealedClaims($0.token)) != nil } == expected)
    }
  }

  @Test func `an app takes pairs by the property “upcoming” with the value 1`() throws {
    let bench = try Bench()
    try bench.register(bench.app.updated)
    for (name, value, count) in [
      ("upcoming", "1", 1), ("upcoming", "2", 0), ("upcoming", "", 0), ("other", "1", 0),
    ] {
      let challenge = try bench.challenge(bench.app, .measurement, host: Bench.lockAPI)
      let subject = AttestationReport.Subject(
        .measurement, name: Bench.lockAPI, properties: [.init(name, value)])
      let report = try bench.app.report(subject, answering: challenge)
      let answer = try bench.send(report, challenge.draft.salt, bench.app)
      #expect(answer.upcoming.count == count, "\(name) \(value)")
    }
  }

  @Test func `an update needs the executable's own record in each source that is asked for`() throws
  {
    let (file, link) = (try SourceID(.app, 1), try SourceID(.environment, 6))
    func missing(_ names: [String], _ asked: [SourceID], isUpdate: Bool = true) throws -> [SourceID]
    {
      let records = try EvidenceSet(
        names.map { try EvidenceRecord(file, name: $0, digest: Digest(hashing: [1])) })
      let updates = isUpdate ? try AppDigest([UInt8](repeating: 4, count: 32)) : nil
      return Prediction(updates: updates, records: records).missing(of: asked)
    }
    #expect(try missing(["libc.so.6"], [file, link]) == [file, link])
    #expect(try missing(["executable"], [file, link]) == [link])
    #expect(try missing(["executable", "libc.so.6"], [file]) == [])
    #expect(try missing(["libc.so.6"], [link]) == [link])
    #expect(try missing(["libc.so.6"], []) == [])
    #expect(try missing(["libc.so.6"], [file, link], isUpdate: false) == [])
  }

  @Test func `an environment to come has no update, and no key of an unknown build`() throws {
    let bench = try Bench()
    let updated = bench.app.updated
    let records = try updated.referenceRecords()
    let environment = try Prediction.name(ofEnvironment: records)
    try bench.management.register(
      environment, name: "e", prediction: Prediction(records: records))
    #expect(throws: ServiceError.unknown("registration", name: environment.description)) {
      try bench.management.register(
        updated.digest, name: "u", prediction: Prediction(updates: environment, records: records))
    }
    let key = try KeyID([UInt8](repeating: 9, count: 8))
    #expect(throws: ServiceError.unknown("SDK build", name: key.description)) {
      try bench.management.register(
        updated.digest, name: "u",
        prediction: Prediction(updates: bench.app.digest, records: records, keyID: key))
    }
  }

  /// The reasons why the log has no pair.
  private static func reasons(_ log: HandLog) -> [String] {
    log.all.flatMap(\.details).filter { $0.0 == "upcoming" }.map(\.1)
  }

  @Test func `an update of another build is measured under that build's key until it is revoked`()
    throws
  {
    let log = HandLog()
    let bench = try Bench(log: log)
    let (updated, key) = (bench.app.updated, [UInt8](repeating: 9, count: 16))
    let build = try bench.management.addSDKBuild(key: secret(key), name: "2", mode: .development)
    let registration = try bench.management.register(
      updated.digest, name: "door 2.0",
      prediction: Prediction(
        updates: bench.app.digest, records: updated.referenceRecords(), keyID: build.id))
    let pair = try #require(try bench.askForLock(bench.app).answer.upcoming.first)
    let claims = try bench.sealedClaims(pair.token)
    let hasKey = claims.measurement?.withProofKey { JOSESecret(copying: $0).matches(secret(key)) }
    #expect(hasKey == true && claims.others.text("mmd") == "development")
    func reason() throws -> String? {
      guard case .object(let shown)? = try bench.management.shown(registration)["upcoming"] else {
        return nil
      }
      #expect(shown.text("keyID") == build.id.description)
      return shown.text("reason")
    }
    #expect(try reason() == nil && Self.reasons(log) == [])
    try bench.management.revokeSDKBuild(build.id)
    #expect(try bench.askForLock(bench.app).answer.upcoming.isEmpty)
    let words = "the SDK key \(build.id) is unknown or revoked"
    #expect(try reason() == words && Self.reasons(log) == ["none, \(words)"])
  }

  @Test func `records of a source that no app is asked for give no pair`() throws {
    let log = HandLog()
    let bench = try Bench(policy: [.sourcesWithout: "3/9"], log: log)
    let records = try EvidenceSet([
      EvidenceRecord(SourceID(.environment, 9), name: "kernel", digest: Digest(hashing: [9]))
    ])
    try bench.management.register(
      Prediction.name(ofEnvironment: records), name: "kernel 6.13",
      prediction: Prediction(records: records))
    #expect(try bench.askForLock(bench.app).answer.upcoming.isEmpty)
    #expect(Self.reasons(log) == ["none, no source of its records is asked for"])
  }
}
