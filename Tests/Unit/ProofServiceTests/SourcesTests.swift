// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// Sources and evidence that an operator leaves out of a measurement, and of a judgement.
@Suite struct SourcesTests {
  private static let jit = TestApp.Name(.environment, 4, "anonymous")
  private static let finding = AttestationReport.Property("finding.3.4", "anonymous: memory is")

  private func asked(_ bench: Bench, _ app: TestApp) throws -> [String] {
    try bench.challenge(app, .measurement).draft.sources.map {
      "\($0.id.evidenceClass.rawValue)/\($0.id.number)"
    }
  }

  /// An app with memory of a just-in-time compiler, as the probe and the SDK's finding tell it.
  private func code(_ bench: Bench, _ changed: [TestApp.Name]) throws -> ResponseCode {
    var app = bench.app
    for name in changed { app.evidence[name] = Digest(hashing: [7]) }
    var subject = AttestationReport.Subject(.token, name: Bench.api)
    subject.properties = [Self.finding]
    return try bench.management.read(responseCode: bench.attest(app, subject).responseCode)
  }

  @Test func `apps are asked for every source unless the policy leaves some out`() throws {
    let bench = try Bench()
    let all = try asked(bench, bench.app)
    #expect(all == SourcesAsked.all.map { "\($0.id.evidenceClass.rawValue)/\($0.id.number)" })
    _ = try bench.management.perform("policy/set", ["sources-without": "3/9,3/4,3/8"])
    #expect(try asked(bench, bench.app) == all.filter { !["3/4", "3/8", "3/9"].contains($0) })
    #expect(try bench.management.policy()[.sourcesWithout] == "3/4,3/8,3/9")
    _ = try bench.management.perform("policy/set", ["sources-without": "none"])
    #expect(try asked(bench, bench.app) == all)
  }

  @Test func `a source that is left out changes neither pass nor measurement`() throws {
    let bench = try Bench(policy: [.sourcesWithout: "3/4,3/8,3/9"])
    var upgraded = bench.app
    for name in [
      Self.jit, TestApp.Name(.environment, 8, "os-release"),
      TestApp.Name(.environment, 9, "kernel"),
    ] {
      upgraded.evidence[name] = Digest(hashing: [7])
    }
    let reports = try [bench.app, upgraded].map { app in
      let challenge = try bench.challenge(bench.app, .measurement)
      let subject = AttestationReport.Subject(.measurement, name: Bench.lockAPI)
      return try AttestationReport(app.report(subject, answering: challenge)).evidence
    }
    #expect(reports[0] == reports[1])
    let seen = try code(bench, [Self.jit])
    #expect(seen.isPassed && !seen.properties.contains(.injected))
  }

  @Test func `a build of the SDK leaves sources out for its own apps alone`() throws {
    let bench = try Bench()
    let key = [UInt8](repeating: 9, count: 16)
    let build = try bench.management.addSDKBuild(
      key: secret(key), name: "jit", mode: .production, without: .init(parsing: "3/4"))
    var other = bench.app
    other.key = try MeasurementProofKey(SecretBytes(copying: key.span), mode: .production)
    #expect(try !asked(bench, other).contains("3/4"))
    #expect(try asked(bench, bench.app).contains("3/4"))
    other.evidence[Self.jit] = Digest(hashing: [7])
    var subject = AttestationReport.Subject(.token, name: Bench.api)
    subject.properties = [Self.finding]
    let seen = try bench.attest(other, subject).responseCode
    #expect(try bench.management.read(responseCode: seen).isPassed)
    #expect(try !code(bench, [Self.jit]).isPassed)
    try bench.management.setSources(without: .none, ofSDKBuild: build.id)
    #expect(try asked(bench, other).contains("3/4"))
    #expect(throws: ServiceError.self) {
      try bench.management.setSources(
        without: .none, ofSDKBuild: KeyID([UInt8](repeating: 1, count: 8)))
    }
  }

  @Test func `a registration leaves single records out, and the rest of the source counts`() throws
  {
    let bench = try Bench()
    let digest = bench.app.digest
    let memfd = TestApp.Name(.environment, 4, "memfd")
    let writable = TestApp.Name(.environment, 4, "writable")
    #expect(try !code(bench, [Self.jit]).isPassed)
    for without in ["3/4/anonymous,3/4/writable", "3/4"] {
      try bench.management.register(
        digest, name: "jit", without: LeftOutEvidence(parsing: without))
      let seen = try code(bench, [Self.jit, writable])
      #expect(seen.isPassed && !seen.properties.contains(.injected), "\(without)")
      #expect(try code(bench, [Self.jit, memfd]).isPassed == (without == "3/4"), "\(without)")
      let unexplained = TestApp.Name(.environment, 3, "unexplained")
      #expect(try code(bench, [unexplained]).properties.contains(.injected), "\(without)")
      #expect(try asked(bench, bench.app).contains("3/4"), "it is measured nevertheless")
    }
    var other = bench.app
    other.evidence[TestApp.Name(.app, 2, "executable")] = Digest(hashing: [8])
    try bench.management.register(other.digest, name: "other")
    other.evidence[Self.jit] = Digest(hashing: [7])
    #expect(try !bench.management.read(responseCode: bench.attest(other).responseCode).isPassed)
  }

  @Test func `a registration that has expired leaves nothing out`() throws {
    let bench = try Bench(policy: [.rejection: "injected"])
    try bench.management.register(
      bench.app.digest, name: "jit", expireAfter: 60, without: .init(parsing: "3/4"))
    #expect(try code(bench, [Self.jit]).isPassed)
    bench.clock.advance(by: 60)
    #expect(try !code(bench, [Self.jit]).isPassed)
  }

  @Test(arguments: [
    "", ",", "3/4,", "3", "3/99", "4/1", "3/04", "x", "3/4/", "1/5", "2/2", "2/3",
    "1/1,1/2,1/3,1/4", "3/4/anonymous", "none,3/4", "3/4/anonymous/x",
  ])
  func `sources that no measurement can do without, or that are none, are refused`(_ text: String)
    throws
  {
    let bench = try Bench()
    #expect(throws: ServiceError.self) { try LeftOutSources(parsing: text) }
    #expect(throws: ServiceError.self) {
      try bench.management.perform("policy/set", ["sources-without": .string(text)])
    }
    #expect(try bench.management.policy()[.sourcesWithout] == "none")
  }

  @Test(arguments: ["3/6/libc.so.6", "3/4/nothing", "2/1/executable", "3/8/os-release"])
  func `a record without a constant cannot be left out alone`(_ text: String) {
    #expect(throws: ServiceError.self) { try LeftOutEvidence(parsing: text) }
  }

  @Test func `omitted sources are written as they are read, and shown`() throws {
    for text in ["none", "3/4", "3/6,3/4/anonymous,3/4/memfd", "2/1,3/7/views"] {
      #expect(try LeftOutEvidence(parsing: text).text == text)
    }
    #expect(try LeftOutEvidence(parsing: "3/4/memfd,3/4").text == "3/4")
    #expect(try LeftOutSources(parsing: "3/8,3/4").text == "3/4,3/8")
    let bench = try Bench()
    let digest = JSONValue.string(bench.app.digest.description)
    let added = try bench.management.perform(
      "registration/add", ["digest": digest, "without": "3/4/writable"])
    guard case .object(let shown) = added else { throw ServiceError.damaged("answer") }
    #expect(shown.text("without") == "3/4/writable")
    #expect(try bench.management.registrations().first?.without.text == "3/4/writable")
    let id = JSONValue.string(bench.app.key.id.description)
    let changed = try bench.management.perform("sdk/sources", ["id": id, "without": "3/4,1/4"])
    guard case .object(let build) = changed else { throw ServiceError.damaged("answer") }
    #expect(build.text("without") == "1/4,3/4")
  }
}
