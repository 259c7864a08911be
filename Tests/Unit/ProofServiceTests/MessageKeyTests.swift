// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

@Suite struct MessageKeyTests {
  @Test func `an account without a message key sends none, and names none in tokens`() throws {
    let bench = try Bench()
    let answer = try bench.attest(bench.app)
    #expect(answer.messageKey == nil)
    #expect(try bench.claims(answer.token).messageKeyID == nil)
    #expect(try bench.management.messageKey() == nil)
  }

  @Test func `an app that passes gets the account's key with each token, not with others`() throws {
    let bench = try Bench(policy: [.secureStrings: "on", .customTokens: "on", .deviceRate: "0"])
    try bench.management.changeKey(of: .message)
    let (id, key) = try #require(try bench.management.messageKey())
    let answer = try bench.attest(bench.app)
    #expect(answer.messageKey == key)
    #expect(try bench.claims(answer.token).messageKeyID == id)
    let measured = try bench.attest(bench.app, .measurement, name: Bench.lockAPI)
    #expect(measured.messageKey == key)
    #expect(try bench.sealedClaims(measured.token).messageKeyID == id)
    #expect(try bench.attest(bench.app, name: Bench.plain).messageKey == nil)
    #expect(try bench.attest(bench.app, name: "unknown.example.com").messageKey == nil)
    try bench.management.setSecureString("s", to: "v")
    var string = AttestationReport.Subject(.secureString, name: "s")
    string.payload = [0]
    #expect(try bench.attest(bench.app, string).messageKey == nil)
    let custom = AttestationReport.Subject(.customJWT, payload: Array("{}".utf8))
    #expect(try bench.attest(bench.app, custom).messageKey == nil)
  }

  /// Another key each time would tell the app that it failed.
  @Test func `an app that fails gets a key that no account holds, the same each time`() throws {
    let bench = try Bench()
    var decoys: [MessageKey] = []
    for _ in 0..<2 {
      try bench.management.changeKey(of: .message)
      let (_, key) = try #require(try bench.management.messageKey())
      var other = bench.app
      other.evidence[TestApp.Name(.device, 5, "secret")] = Digest(hashing: [2])
      for app in [bench.app, other] { try bench.management.set(.fail, for: app.device) }
      let keys = try [bench.app, bench.app, other].map { app in
        try #require(try bench.attest(app).messageKey)
      }
      #expect(keys.allSatisfy { $0 == keys[0] && $0 != key })
      decoys.append(keys[0])
    }
    #expect(decoys[0] != decoys[1])
  }

  @Test func `another key has another name, and a removed one is gone`() throws {
    let bench = try Bench()
    try bench.management.changeKey(of: .message)
    let old = try #require(try bench.management.messageKey())
    try bench.management.changeKey(of: .message)
    let new = try #require(try bench.management.messageKey())
    #expect(old.id != new.id && old.key != new.key)
    #expect(try bench.attest(bench.app).messageKey == new.key)
    try bench.management.removeMessageKey()
    #expect(try bench.attest(bench.app).messageKey == nil)
  }

  @Test func `the key stands sealed in the store, for its place`() throws {
    let bench = try Bench()
    try bench.management.changeKey(of: .message)
    let key = try #require(try bench.management.messageKey()).key
    let secret = key.withBytes { JOSESecret(copying: $0) }
    let bytes = secret.withBytes { Array(copying: $0) }
    for row in try bench.store.rows(of: .account) {
      #expect(!row.value.contains(bytes))
      #expect(!row.value.contains(Array(Base64.encode(bytes).utf8)))
    }
    // Where another secret stands it does not open.
    let row = try #require(try bench.store.row("messageKey", of: .account))
    let sealing = try #require(try bench.store.row("sealingKey", of: .account))
    guard case .object(var fields) = try JSONValue(parsing: row.span),
      case .object(let other) = try JSONValue(parsing: sealing.span)
    else {
      Issue.record("no object")
      return
    }
    fields["key"] = other["key"]
    try bench.store.apply([
      .put(.account, "messageKey", Array(JSONValue.object(fields).text.utf8))
    ])
    #expect(throws: ServiceError.self) { try bench.management.messageKey() }
  }

  @Test func `an app with an activity is annotated if neither desktop nor terminal launched it`()
    throws
  {
    let bench = try Bench(policy: [.annotations: "automated-launch", .deviceRate: "0"])
    for (launch, expected) in [("other", ["automated-launch"]), ("desktop", []), ("terminal", [])] {
      let subject = AttestationReport.Subject(
        .token, name: Bench.api,
        properties: [.init("activity", "unlock"), .init("launch", launch)])
      let claims = try bench.claims(try bench.attest(bench.app, subject).token)
      #expect(claims.annotations == expected, "\(launch)")
    }
    #expect(try bench.claims(try bench.attest(bench.app).token).annotations == [])
  }
}
