// SPDX-License-Identifier: Apache-2.0

import OwnThreads
import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

@Suite struct SecureStringTests {
  private func ask(
    _ bench: Bench, _ name: String, define: String? = nil, app: TestApp? = nil
  ) throws -> AttestationAnswer {
    var subject = AttestationReport.Subject(.secureString, name: name)
    subject.payload = define.map { [1] + Array($0.utf8) } ?? [0]
    return try bench.attest(app ?? bench.app, subject)
  }

  private func custom(_ bench: Bench, _ payload: String) throws -> AttestationAnswer {
    try bench.attest(
      bench.app, AttestationReport.Subject(.customJWT, payload: Array(payload.utf8)))
  }

  @Test func `a predefined string goes to apps that pass, and to no others`() throws {
    let bench = try Bench(policy: [.secureStrings: "on", .rejectionReasons: "on"])
    try bench.management.setSecureString("key", to: "value é")
    let answer = try ask(bench, "key")
    #expect(answer.outcome == .done && answer.secureString == "value é")
    #expect(try ask(bench, "other").outcome == .unknownKey)
    try bench.management.set(.fail, for: bench.app.device)
    let refused = try ask(bench, "key")
    #expect(refused.outcome == .rejected && refused.secureString == nil)
    #expect(refused.rejectionReasons == "forced-fail")
  }

  @Test func `an installation's own definition is its own, and can be removed`() throws {
    let bench = try Bench(policy: [.secureStrings: "on", .deviceRate: "0"])
    try bench.management.setSecureString("key", to: "for all")
    #expect(try ask(bench, "key", define: "mine").secureString == "mine")
    #expect(try ask(bench, "key").secureString == "mine")
    var other = bench.app
    other.evidence[TestApp.Name(.device, 5, "secret")] = Digest(hashing: [2])
    #expect(try ask(bench, "key", app: other).secureString == "for all")
    #expect(try ask(bench, "key", define: "").secureString == "")
    #expect(try ask(bench, "key").secureString == "for all")
    #expect(try bench.store.rows(of: .deviceString) == [])
    for index in 0..<DeviceStrings.countMax {
      #expect(try ask(bench, "\(index)", define: "x").outcome == .done)
    }
    #expect(try ask(bench, "more", define: "x").outcome == .badKey)
    #expect(try ask(bench, "0", define: "y").secureString == "y")
  }

  @Test func `concurrent definitions of an installation are all kept`() throws {
    let place = Workplace()
    let bench = try Bench(
      try SQLiteStore(creatingAt: place.path(of: "store")),
      policy: [.secureStrings: "on", .deviceRate: "0"])
    onThreads(16) { index in
      let answer = try! ask(bench, "\(index)", define: "value \(index)")
      precondition(answer.outcome == .done)
    }
    for index in 0..<16 { #expect(try ask(bench, "\(index)").secureString == "value \(index)") }
    onThreads(16) { index in
      _ = try! ask(bench, "\(index)", define: "")
    }
    #expect(try bench.store.rows(of: .deviceString) == [])
  }

  @Test func `names are 1 to 64 characters, payloads as the page says`() throws {
    let bench = try Bench(policy: [.secureStrings: "on"])
    #expect(try ask(bench, "").outcome == .badKey)
    #expect(try ask(bench, String(repeating: "n", count: 65)).outcome == .badKey)
    #expect(try ask(bench, String(repeating: "n", count: 64)).outcome == .unknownKey)
    for payload in [[], [2], [0, 0], [1, 0xFF]] as [[UInt8]] {
      var subject = AttestationReport.Subject(.secureString, name: "n")
      subject.payload = payload
      let error = #expect(throws: Refused.self) { try bench.attest(bench.app, subject) }
      #expect(error?.response.status == 400)
    }
  }

  @Test func `a custom token has the app's claims, and the service's end and device`() throws {
    let bench = try Bench(policy: [.customTokens: "on"])
    let claims = try bench.customClaims(custom(bench, #"{"role":"guest","n":[1,2]}"#).token)
    #expect(claims.others.text("role") == "guest" && claims.others["n"] == [1, 2])
    #expect(claims.expiry == bench.clock.now + 300)
    #expect(claims.instance == bench.app.device.bytes)
    try bench.management.set(.fail, for: bench.app.device)
    #expect(try custom(bench, "{}").outcome == .rejected)
  }

  @Test func `no backend takes a custom token for one of an API`() throws {
    let bench = try Bench(policy: [.customTokens: "on", .audience: "off"])
    let payload = #"{"anno":["debug"],"role":"admin"}"#
    #expect(try custom(bench, payload).outcome == .badPayload)
    let token = try custom(bench, #"{"role":"admin","ten":"acme"}"#).token
    #expect(throws: JOSEError.signatureWrong) { try bench.claims(token, audience: nil) }
    // Even a backend that was given both keys.
    let keys = try [
      JSONWebKey(secret: bench.management.secret(), algorithm: .hs256),
      JSONWebKey(secret: bench.management.customKey(), algorithm: .hs256),
    ]
    for key in keys {
      var rules = TokenVerifier.Rules()
      rules.clock = bench.clock.clock
      let verifier = try TokenVerifier([key], rules: rules)
      #expect(throws: TokenRefusal.self) { try verifier.claims(of: token) }
    }
    #expect(try UnverifiedToken(reading: token).type == "custom+jwt")
    let api = try bench.attest(bench.app).token
    #expect(throws: JOSEError.signatureWrong) { try bench.customClaims(api) }
    let check = try bench.management.check(token: token)
    #expect(check.isValid && check.isCustom && check.shown.flag("custom") == true)
    #expect(try !bench.management.check(token: api).isCustom)
    try bench.management.changeKey(of: .custom)
    #expect(throws: JOSEError.signatureWrong) { try bench.customClaims(token) }
    _ = try bench.claims(api, audience: nil)
    #expect(try !bench.management.check(token: token).isAuthentic)
  }

  @Test func `a device's damaged strings are told to the operator, and hold no token up`()
    throws
  {
    let log = HandLog()
    let bench = try Bench(policy: [.secureStrings: "on"], log: log)
    _ = try ask(bench, "key", define: "mine")
    let row = try #require(bench.store.rows(of: .deviceString).first)
    let sealed = try #require(String(bytes: row.value, encoding: .utf8))
    for damaged in ["no JSON", sealed.replacing(/"key":"..../, with: "\"key\":\"AAAA")] {
      try bench.store.apply([.put(.deviceString, row.key, Array(damaged.utf8))])
      #expect(throws: (any Error).self) { try ask(bench, "key") }
      #expect(try bench.attest(bench.app).outcome == .done)
    }
    #expect(
      log.all.filter { $0.name == "request failed" }.map { $0.details[0].value.prefix(37) } == [
        "A row of a device's strings is damage", "A device's string cannot be read. The",
      ])
  }

  @Test func `an account of before gets a key for custom tokens when it is opened`() throws {
    let bench = try Bench(policy: [.customTokens: "on"])
    try bench.store.apply([.remove(.account, "customKey")])
    #expect(bench.get("/health").status == 503)
    let account = try Account.open(in: bench.store, with: keyFile())
    let management = Management(account, clock: bench.clock.clock)
    let key = try management.customKey().withBytes { Array(copying: $0) }
    #expect(key.count == 64)
    _ = try Account.open(in: bench.store, with: keyFile())
    #expect(try bench.management.customKey().withBytes { Array(copying: $0) } == key)
    _ = try bench.customClaims(custom(bench, "{}").token)
  }

  @Test(arguments: [
    "", "[]", "3", "{", #"{"exp":9}"#, #"{"did":"x"}"#, #"{"pay":"x"}"#, #"{"mpk":"x"}"#,
    #"{"dpk":"x"}"#, #"{"a":1,"a":2}"#, #"{"dpk":1}"#, #"{"mgn":"x"}"#, #"{"mgn":4}"#,
    #"{"mmd":"production"}"#, #"{"role":"x","mmd":null}"#,
  ])
  func `a custom token's payload is an object, and sets nothing that API tokens mean`(
    _ payload: String
  ) throws {
    let bench = try Bench(policy: [.customTokens: "on"])
    #expect(try custom(bench, payload).outcome == .badPayload)
  }
}
