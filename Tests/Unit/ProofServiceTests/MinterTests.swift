// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// Claims and fields of what the service mints, each by its setting, and clocks that were set back.
@Suite struct MinterTests {
  private static let all: [PolicySetting: String] = [
    .annotations: "first-fetch,debug", .addressTracking: "on", .responseCodes: "on",
    .issuer: "me", .audience: "on", .issuedAt: "on", .subject: "on", .deviceRate: "0",
  ]

  @Test(
    arguments: [
      .annotations, .addressTracking, .responseCodes, .issuer, .audience, .issuedAt, .subject,
    ] as [PolicySetting])
  func `each claim of a token is there with its setting, and alone away without it`(
    _ setting: PolicySetting
  ) throws {
    func claims(_ policy: [PolicySetting: String]) throws -> Claims {
      let bench = try Bench(policy: policy)
      let audience = policy[.audience] == "on" ? Bench.api : nil
      return try bench.claims(bench.attest(bench.app).token, audience: audience)
    }
    let off: [PolicySetting: String] = [.annotations: "none", .issuer: "none"]
    for (policy, isThere) in [
      (Self.all, true), (Self.all.merging([setting: off[setting] ?? "off"]) { $1 }, false),
    ] {
      let claims = try claims(policy)
      func has(_ other: PolicySetting) -> Bool { other == setting ? isThere : true }
      #expect(claims.annotations == (has(.annotations) ? ["first-fetch"] : nil))
      #expect(claims.address == (has(.addressTracking) ? "192.0.2.7" : nil))
      #expect((claims.attestationCode?.count == 10) == has(.responseCodes))
      #expect(claims.issuer == (has(.issuer) ? "me" : nil))
      #expect(claims.audience == (has(.audience) ? [Bench.api] : []))
      #expect(claims.issuedAt == (has(.issuedAt) ? 1_800_000_000 : nil))
      #expect(claims.subject == (has(.subject) ? Base64.encode(claims.instance ?? []) : nil))
      #expect(claims.expiry == 1_800_000_300 && claims.binding == nil)
    }
  }

  @Test func `a connection without an address gives a token without one`() throws {
    let bench = try Bench()
    func post(_ path: String, _ body: [UInt8]) -> [UInt8] {
      bench.post(path, body, peer: "").body
    }
    let challenge = try AttestationChallenge(post("/v1/challenge", bench.app.question().bytes))
    let report = try bench.app.report(.init(.token, name: Bench.api), answering: challenge)
    let answer = try AttestationAnswer(
      post("/v1/report", report), to: challenge.draft.salt, with: bench.app.key)
    #expect(try bench.claims(answer.token).address == nil)
  }

  @Test func `an API is found in any case, and its kind decides what it gives`() throws {
    let bench = try Bench(policy: [.deviceRate: "0"])
    for (purpose, name, outcome) in [
      (.token, Bench.api.uppercased(), .done), (.token, Bench.lockAPI.uppercased(), .done),
      (.measurement, Bench.lockAPI.uppercased(), .done), (.measurement, Bench.api, .notEncrypted),
      (.token, Bench.plain.uppercased(), .unprotectedDomain),
      (.measurement, Bench.plain, .unprotectedDomain), (.token, "", .unknownDomain),
    ] as [(AttestationPurpose, String, AttestationAnswer.Outcome)] {
      let answer = try bench.attest(bench.app, purpose, name: name)
      #expect(answer.outcome == outcome, "\(purpose) \(name)")
      #expect(answer.token.isEmpty == (outcome != .done))
      #expect(answer.tokenLifetime == (outcome == .done ? 300 : 0))
      #expect(answer.responseCode.count == 10 && answer.secureString == nil)
    }
  }

  @Test func `reasons are between commas, in the order of the properties, for failing apps alone`()
    throws
  {
    let bench = try Bench(policy: [.rejectionReasons: "on", .deviceRate: "0"])
    #expect(try bench.attest(bench.app).rejectionReasons.isEmpty)
    var app = bench.app
    app.evidence[TestApp.Name(.environment, 1, "tracer")] = Digest(hashing: [1])
    app.evidence[TestApp.Name(.environment, 5, "private")] = Digest(hashing: [1])
    app.evidence[TestApp.Name(.app, 2, "executable")] = Digest(hashing: [1])
    for name in [Bench.api, Bench.plain, "none.example.com"] {
      #expect(
        try bench.attest(app, name: name).rejectionReasons == "debug,patched,app-not-registered")
    }
    try bench.management.set(.pass, for: app.device)
    #expect(try bench.attest(app).rejectionReasons.isEmpty)
    try bench.management.set(.fail, for: app.device)
    #expect(try bench.attest(bench.app).rejectionReasons == "forced-fail")
    #expect(
      try bench.attest(app).rejectionReasons == "debug,patched,app-not-registered,forced-fail")
  }

  @Test func `a device is first seen at its issue at the latest, also with a clock set back`()
    throws
  {
    let world = try GateBench()
    let start = world.now
    func grant() throws -> GateGrant {
      let token = try world.admit(world.bench.app).admission.token
      return try world.gate().open(token.bytes, at: world.now)
    }
    let first = try grant()
    #expect(first.issued == start && first.firstSeen == start && first.notAfter == start + 3_600)
    world.bench.clock.advance(by: 50)
    let later = try grant()
    #expect(later.issued == start + 50 && later.firstSeen == start)
    world.bench.clock.advance(by: -80)
    let back = try grant()
    #expect(back.issued == start - 30 && back.firstSeen == start - 30)
  }
}
