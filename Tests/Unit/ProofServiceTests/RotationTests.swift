// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// The key of an SDK build is replaced: the steps of MANAGEMENT.md.
@Suite struct RotationTests {
  @Test func `two builds overlap until the old one is revoked, and a device stays the same`() throws
  {
    let bench = try Bench(policy: [.deviceRate: "0"])
    let old = bench.app
    var new = old
    let bytes = [UInt8](repeating: 5, count: 16)
    new.key = try MeasurementProofKey(SecretBytes(copying: bytes.span), mode: .production)
    new.evidence[TestApp.Name(.app, 2, "executable")] = Digest(hashing: [2])
    #expect(bench.post("/v1/challenge", new.question().bytes).status == 404)
    try bench.management.addSDKBuild(key: secret(bytes), name: "2.0", mode: .production)
    try bench.management.register(new.digest, name: "door 2.0")
    #expect(old.device == new.device)
    func measure(_ app: TestApp) throws -> Claims {
      let subject = AttestationReport.Subject(.measurement, name: Bench.lockAPI)
      return try bench.sealedClaims(bench.attest(app, subject).token)
    }
    let before = try measure(old)
    for app in [old, new, old, new] { _ = try bench.claims(bench.attest(app).token) }
    let after = try measure(new)
    #expect(before.instance == after.instance)
    let generations = [before, after].map { $0.others["mgn"] }
    #expect(generations == [.number(JSONNumber(1)), .number(JSONNumber(2))])
    // A challenge that was given before the revocation is no way around it.
    let challenge = try bench.challenge(old)
    let report = try old.report(.init(.token, name: Bench.api), answering: challenge)
    try bench.management.revokeSDKBuild(old.key.id)
    #expect(bench.post("/v1/report", report).status == 404)
    #expect(bench.post("/v1/challenge", old.question().bytes).status == 404)
    try bench.management.removeRegistration(old.digest)
    _ = try bench.claims(bench.attest(new).token)
    #expect(throws: ServiceError.self) {
      try bench.management.addSDKBuild(
        key: secret([UInt8](1...16)), name: "again", mode: .production)
    }
  }
}
