// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

@Suite struct AttestationTests {
  @Test func `an app that passes gets a token of the account's secret, with the claims of old`()
    throws
  {
    let bench = try Bench()
    var subject = AttestationReport.Subject(.token, name: Bench.api)
    subject.dataHash = Digest(hashing: Array("Bearer session".utf8))
    let answer = try bench.attest(bench.app, subject)
    #expect(answer.outcome == .done)
    let claims = try bench.claims(answer.token)
    #expect(claims.expiry == bench.clock.now + 300)
    #expect(claims.instance == bench.app.device.bytes)
    #expect(claims.address == "192.0.2.7")
    #expect(claims.attestationCode == answer.responseCode)
    #expect(answer.responseCode.utf8.count == 10)
    #expect(claims.binding == (try Claims.Binding(to: "Bearer session")))
    #expect(claims.annotations == nil && claims.audience == [Bench.api] && claims.issuer == nil)
    #expect(claims.issuedAt == nil && claims.subject == nil && claims.measurement == nil)
    #expect(answer.rejectionReasons == "")
  }

  @Test func `a token ends after the policy's seconds`() throws {
    let bench = try Bench()
    let answer = try bench.attest(bench.app)
    bench.clock.advance(by: 299)
    _ = try bench.claims(answer.token)
    bench.clock.advance(by: 1)
    #expect(throws: JOSEError.self) { try bench.claims(answer.token) }
  }

  @Test(arguments: [10, 300, 86_400])
  func `the answer says how long its token lives, and a failing app's says the same`(
    lifetime: UInt32
  ) throws {
    let bench = try Bench(policy: [.tokenLifetime: "\(lifetime)", .customTokens: "on"])
    var failing = bench.app
    failing.evidence[TestApp.Name(.app, 2, "executable")] = Digest(hashing: Array("other".utf8))
    for (purpose, name) in [
      (AttestationPurpose.token, Bench.api), (.token, Bench.lockAPI), (.measurement, Bench.lockAPI),
    ] {
      let good = try bench.attest(bench.app, purpose, name: name)
      let bad = try bench.attest(failing, purpose, name: name)
      #expect(good.tokenLifetime == lifetime && bad.tokenLifetime == lifetime)
      // Nothing else in the answer tells them apart either: the same length, the same outcome.
      #expect(good.outcome == bad.outcome)
      #expect(good.bytes(with: bench.app.key).count == bad.bytes(with: bench.app.key).count)
    }
    let claims = try bench.claims(try bench.attest(bench.app).token)
    #expect(claims.expiry == bench.clock.now + Int64(lifetime))
    let custom = AttestationReport.Subject(.customJWT, name: "", payload: Array("{}".utf8))
    #expect(try bench.attest(bench.app, custom).tokenLifetime == lifetime)
    #expect(try bench.attest(failing, custom).tokenLifetime == 0)
    #expect(try bench.attest(bench.app, name: Bench.plain).tokenLifetime == 0)
  }

  @Test func `a failing app gets a well-formed token that is wrongly signed`() throws {
    let bench = try Bench(policy: [.rejectionReasons: "on"])
    var app = bench.app
    app.evidence[TestApp.Name(.app, 2, "executable")] = Digest(hashing: Array("other".utf8))
    let good = try bench.attest(bench.app)
    let bad = try bench.attest(app)
    #expect(bad.outcome == .done)
    #expect(bad.rejectionReasons == "app-not-registered")
    #expect(throws: JOSEError.signatureWrong) { try bench.claims(bad.token) }
    #expect(bad.token.utf8.count == good.token.utf8.count)
    let read = try UnverifiedToken(reading: bad.token)
    #expect(read.algorithm == .hs256 && read.type == "JWT")
    #expect(
      read.payload.members.map(\.name)
        == (try UnverifiedToken(reading: good.token)).payload.members.map(\.name))
  }

  /// Another signature under the same claims would tell the app that it failed.
  @Test(arguments: [KeyAlgorithm.hs256, .edDSA, .rs256])
  func `two tokens of one moment are alike, whether the app passes or fails`(
    _ algorithm: KeyAlgorithm
  ) throws {
    let bench = try Bench(policy: [.responseCodes: "off"])
    try bench.management.addKey(algorithm, bits: algorithm == .rs256 ? 2_048 : nil, id: "k")
    try bench.management.add(API("k.example.com", keyID: "k"))
    for decision in [DeviceRule.Decision.pass, .fail] {
      try bench.management.set(decision, for: bench.app.device)
      let tokens = try (0..<2).map { _ in try bench.attest(bench.app, name: "k.example.com").token }
      #expect(tokens[0] == tokens[1], "\(decision)")
      #expect(try bench.management.check(token: tokens[0]).isAuthentic == (decision == .pass))
    }
  }

  @Test func `a measurement goes into a sealed token, as the app measured it`() throws {
    let bench = try Bench()
    let challenge = try bench.challenge(bench.app, .measurement)
    let (bytes, config) = try AttestationReport.make(
      AttestationReport.Subject(.measurement, name: Bench.lockAPI), of: bench.app.set,
      answering: challenge, account: "door", configSerial: 0, sdkVersion: "0.1.0",
      with: bench.app.key)
    let answer = try bench.send(bytes, challenge.draft.salt, bench.app)
    let claims = try bench.sealedClaims(answer.token)
    let measured = try Measurement(of: bench.app.set, under: config, with: bench.app.key)
    func same(_ part: Measurement.Part, _ span: Span<UInt8>) -> Bool {
      measured.withBytes(of: part) { JOSESecret(copying: $0).matches(JOSESecret(copying: span)) }
    }
    let measurement = try #require(claims.measurement)
    #expect(measurement.withIntegrityMeasurement { same(.integrity, $0) })
    #expect(measurement.withDeviceMeasurement { same(.device, $0) })
    #expect(
      measurement.withProofKey { key in
        bench.app.key.withBytes { JOSESecret(copying: $0).matches(JOSESecret(copying: key)) }
      })
    let isDeviceKey = try measurement.withDeviceKey { same(.deviceKey, $0) }
    #expect(isDeviceKey)
    #expect(claims.others.integer("mgn") == 1)
    #expect(claims.others.text("mmd") == "production")
  }

  @Test func `a failing app's sealed token does not open`() throws {
    let bench = try Bench()
    try bench.management.set(.fail, for: bench.app.device)
    let answer = try bench.attest(bench.app, .measurement, name: Bench.lockAPI)
    #expect(answer.outcome == .done && answer.token.split(separator: ".").count == 4)
    #expect(throws: JOSEError.decryptionFailed) { try bench.sealedClaims(answer.token) }
  }

  @Test func `a token without measurement for a sealed API is sealed too`() throws {
    let bench = try Bench()
    let answer = try bench.attest(bench.app, .token, name: Bench.lockAPI)
    #expect(try bench.sealedClaims(answer.token).measurement == nil)
  }

  @Test(arguments: [
    (AttestationPurpose.token, "unknown.example.com", AttestationAnswer.Outcome.unknownDomain),
    (.measurement, "unknown.example.com", .unknownDomain),
    (.token, Bench.plain, .unprotectedDomain),
    (.measurement, Bench.plain, .unprotectedDomain),
    (.measurement, Bench.api, .notEncrypted),
    (.secureString, "name", .disabled),
    (.customJWT, "", .disabled),
  ])
  func `a refused request has its own outcome`(
    _ purpose: AttestationPurpose, _ name: String, _ outcome: AttestationAnswer.Outcome
  ) throws {
    let bench = try Bench()
    var subject = AttestationReport.Subject(purpose, name: name)
    if purpose == .secureString { subject.payload = [0] }
    if purpose == .customJWT { subject.payload = Array("{}".utf8) }
    let answer = try bench.attest(bench.app, subject)
    #expect(answer.outcome == outcome && answer.token == "")
  }

  @Test func `one salt is good for one report`() throws {
    let bench = try Bench()
    let challenge = try bench.challenge(bench.app)
    let report = try bench.app.report(.init(.token, name: Bench.api), answering: challenge)
    #expect(try bench.send(report, challenge.draft.salt, bench.app).outcome == .done)
    var other = AttestationReport.Subject(.token, name: Bench.api)
    other.userProperty = "other"
    let second = try bench.app.report(other, answering: challenge)
    let answer = try bench.send(second, challenge.draft.salt, bench.app)
    #expect(answer.outcome == .askAgain && answer.token == "")
    #expect(bench.service.metrics[.passed] == 1)
  }

  @Test func `a salt ends after the policy's seconds`() throws {
    let bench = try Bench(policy: [.saltLifetime: "30"])
    for (seconds, outcome) in [(29, AttestationAnswer.Outcome.done), (30, .askAgain)] {
      let challenge = try bench.challenge(bench.app)
      #expect(challenge.lifetime == 30)
      let report = try bench.app.report(.init(.token, name: Bench.api), answering: challenge)
      bench.clock.advance(by: Int64(seconds))
      #expect(try bench.send(report, challenge.draft.salt, bench.app).outcome == outcome)
    }
  }

  @Test func `groups are asked for only where the app keeps the configuration`() throws {
    let bench = try Bench()
    for purpose in AttestationPurpose.allCases {
      let sources = try bench.challenge(bench.app, purpose).draft.sources
      #expect(sources.map(\.id) == SourcesAsked.all.map(\.id))
      let expected = SourcesAsked.all.map { purpose == .measurement ? $0.groupCount : 1 }
      #expect(sources.map(\.groupCount) == expected)
    }
  }

  @Test func `a salt that was not given out is asked for again`() throws {
    let bench = try Bench()
    let draft = try BaselineDraft(salt: .random(), sources: SourcesAsked.all)
    let challenge = AttestationChallenge(draft, lifetime: 60, configSerial: 1)
    let report = try bench.app.report(.init(.token, name: Bench.api), answering: challenge)
    #expect(try bench.send(report, draft.salt, bench.app).outcome == .askAgain)
  }

  @Test func `a challenge writes nothing, and a report's mark is dropped after its end`() throws {
    let bench = try Bench(policy: [.deviceRate: "0"])
    let before = try bench.store.revision()
    for purpose in AttestationPurpose.allCases { _ = try bench.challenge(bench.app, purpose) }
    #expect(try bench.store.revision() == before && bench.store.counts().devices == 0)
    let challenge = try bench.challenge(bench.app)
    let report = try bench.app.report(.init(.token, name: Bench.api), answering: challenge)
    #expect(try bench.send(report, challenge.draft.salt, bench.app).outcome == .done)
    let expiry = bench.clock.now + 60
    func mark() throws -> SpentMark? {
      let place = SaltPlace(challenge.draft.salt, expiring: expiry)
      return try bench.store.glance(at: bench.app.device, and: place).mark
    }
    for (seconds, isKept) in [(179, true), (120, false)] as [(Int64, Bool)] {
      bench.clock.advance(by: seconds)
      _ = try bench.attest(bench.app)
      #expect(try (mark() != nil) == isKept, "\(seconds)")
    }
  }

  @Test func `each measurement has a higher generation, and two cannot share one`() throws {
    let bench = try Bench()
    let first = try bench.challenge(bench.app, .measurement)
    let second = try bench.challenge(bench.app, .measurement)
    #expect(first.draft.generation == 1 && second.draft.generation == 1)
    let subject = AttestationReport.Subject(.measurement, name: Bench.lockAPI)
    let reports = try [first, second].map { try bench.app.report(subject, answering: $0) }
    #expect(try bench.send(reports[0], first.draft.salt, bench.app).outcome == .done)
    #expect(try bench.send(reports[1], second.draft.salt, bench.app).outcome == .askAgain)
    #expect(try bench.attest(bench.app).outcome == .done)
    #expect(try bench.challenge(bench.app, .measurement).draft.generation == 2)
  }

  @Test func `accounts, keys and paths that are not here are status 404`() throws {
    let bench = try Bench()
    var app = bench.app
    app.account = "other"
    #expect(bench.post("/v1/challenge", app.question().bytes).status == 404)
    let challenge = try bench.challenge(bench.app)
    let report = try app.report(.init(.token, name: Bench.api), answering: challenge)
    #expect(bench.post("/v1/report", report).status == 404)
    app = bench.app
    app.key = try MeasurementProofKey(
      SecretBytes(copying: [UInt8](repeating: 9, count: 16).span), mode: .production)
    #expect(bench.post("/v1/challenge", app.question().bytes).status == 404)
    for path in ["", "/", "/v1", "/v1/", "/v1/challenge/", "/v2/report", "/v1/config", "/v1/jwks"] {
      #expect(bench.get(path).status == 404, "\(path)")
    }
    #expect(bench.get("/v1/config/other").status == 404)
    #expect(bench.get("/v1/jwks/other").status == 404)
    #expect(bench.get("/v1/report").status == 405)
    #expect(bench.post("/health", []).status == 405)
    #expect(bench.get("/health").status == 200)
    #expect(bench.post("/v1/report", [1, 2, 3]).status == 400)
    for (count, status) in [(1 << 20, 400), (1 << 20 + 1, 413)] {
      #expect(bench.post("/v1/report", [UInt8](repeating: 0, count: count)).status == status)
    }
  }

  @Test func `a revoked SDK build is unknown from then on, also to challenges given before`()
    throws
  {
    let bench = try Bench()
    let challenge = try bench.challenge(bench.app)
    let report = try bench.app.report(.init(.token, name: Bench.api), answering: challenge)
    try bench.management.revokeSDKBuild(bench.app.key.id)
    #expect(bench.post("/v1/report", report).status == 404)
    #expect(bench.post("/v1/challenge", bench.app.question().bytes).status == 404)
  }
}
