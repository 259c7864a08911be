// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// Tokens that an operator makes and checks: each key that may have made one, and each claim.
@Suite struct TokenExampleTests {
  /// The loggable form of a signed token: its claims, and six characters of its signature.
  private func loggable(_ token: String) throws -> String {
    var claims = try UnverifiedToken(reading: token).payload
    claims.set("sip", String(token.split(separator: ".")[2].prefix(6)))
    return JSONValue.object(claims).text
  }

  @Test func `an example has the claims that the policy and the API say`() throws {
    let bench = try Bench(policy: [.tokenLifetime: "77", .issuer: "us"])
    let management = bench.management
    func claims(_ boundText: String? = nil, for audience: String? = Bench.api) throws -> Claims {
      try bench.claims(
        management.exampleToken(for: Bench.api.uppercased(), boundTo: boundText),
        audience: audience)
    }
    let first = try claims()
    #expect(first.expiry == bench.clock.now + 77 && first.issuer == "us")
    #expect(first.audience == [Bench.api] && first.binding == nil)
    #expect(try first.instance?.count == 16 && claims().instance != first.instance)
    #expect(try claims("x").binding == Claims.Binding(to: "x"))
    var change = Management.APIChange()
    change.hasAudience = .some(false)
    try management.changeAPI(Bench.api, change)
    var policy = try management.policy()
    try policy.set(.issuer, to: "none")
    try management.set(policy)
    let second = try claims(for: nil)
    #expect(second.audience.isEmpty && second.issuer == nil)
    #expect(throws: ServiceError.unknown("API with tokens", name: Bench.plain)) {
      try management.exampleToken(for: Bench.plain)
    }
  }

  @Test func `an example measurement is of generation 1 and for development`() throws {
    let bench = try Bench()
    let token = try bench.management.exampleToken(for: Bench.lockAPI, isMeasured: true)
    let claims = try bench.sealedClaims(token)
    #expect(claims.measurement != nil && claims.instance?.count == 16)
    #expect(claims.others["mgn"] == 1 && claims.others["mmd"] == "development")
    let plain = try bench.sealedClaims(bench.management.exampleToken(for: Bench.lockAPI))
    #expect(plain.measurement == nil && plain.others["mgn"] == nil)
  }

  @Test func `an API whose key was removed from the store has no example`() throws {
    let bench = try Bench()
    try bench.management.addKey(.es256, id: "e")
    try bench.management.add(API("e.example.com", keyID: "e"))
    try bench.store.apply([.remove(.key, "e")])
    #expect(throws: ServiceError.damaged("key of the API “e.example.com”")) {
      try bench.management.exampleToken(for: "e.example.com")
    }
  }

  @Test func `a token by a key of a key set is checked by the key that it names`() throws {
    let bench = try Bench()
    let management = bench.management
    for (id, algorithm) in [("e", KeyAlgorithm.es256), ("f", .edDSA), ("h", .hs256)] {
      try management.addKey(algorithm, id: id)
      try management.add(API("\(id).example.com", keyID: id))
    }
    try management.addKey(.direct, id: "d")
    try management.addKey(.a256kw, id: "k")
    for (id, signer) in [("d", nil), ("k", nil), ("d", "e")] as [(String, String?)] {
      let host = "\(id)\(signer ?? "").example.com"
      try management.add(API(host, .measurement, keyID: id, signerID: signer))
    }
    for name in ["e", "f", "h", "d", "k", "de"] {
      let host = "\(name).example.com"
      let good = try management.check(token: management.exampleToken(for: host))
      #expect(good.isValid && good.problem == "" && !good.isCustom, "\(name)")
      #expect(good.claims.text("aud") == host)
      #expect(good.form == (["e", "f", "h"].contains(name) ? .signed : .sealed))
      let bad = try management.check(token: management.exampleToken(for: host, isValid: false))
      #expect(!bad.isAuthentic && !bad.problem.isEmpty, "\(name)")
      #expect(!bad.problem.contains("backend's public key"), "the account has none")
    }
  }

  @Test func `a sealed token that does not open has the problem of sealing keys alone`() throws {
    let bench = try Bench()
    let management = bench.management
    let lost = try management.exampleToken(for: Bench.lockAPI, isValid: false)
    let problem = "\(JOSEError.decryptionFailed)"
    for (id, algorithm) in [("e", KeyAlgorithm.es256), ("f", .edDSA), ("h", .hs256)] {
      try management.addKey(algorithm, id: id)
      #expect(try management.check(token: lost).problem == problem, "\(id)")
    }
    try management.addPublicKey(JSONWebKey.random(.ecdhES, id: "b").publicJSON(), for: .ecdhES)
    #expect(
      try management.check(token: lost).problem
        == problem + " If it is sealed to a backend's public key, only that backend opens it.")
  }

  @Test func `a token of an earlier version names no key, and is checked by the active one`()
    throws
  {
    let bench = try Bench()
    let before = try bench.account.snapshot().secret.key
    let claims: JSONObject = ["exp": .number(JSONNumber(bench.clock.now.seconds + 9)), "n": "x"]
    let payload = Array(JSONValue.object(claims).text.utf8)
    func token(_ key: JSONWebKey) throws -> String {
      try JWSSigner(key).sign(payload: payload.span, type: "JWT")
    }
    let unnamed = try token(before.named(nil))
    let named = try token(before)
    for token in [unnamed, named] {
      #expect(try bench.management.check(token: token).isValid)
      #expect(try bench.management.check(token: loggable(token)).isValid)
    }
    // A token of the key before is known by its name, and in the loggable form by each key.
    try bench.management.prepareKey(of: .secret)
    try bench.management.promoteKey(of: .secret, atOnce: true)
    #expect(try bench.management.check(token: named).isValid)
    #expect(try !bench.management.check(token: unnamed).isAuthentic)
    for token in [unnamed, named, try token(bench.account.snapshot().secret.key)] {
      let check = try bench.management.check(token: loggable(token))
      #expect(check.isValid && check.form == .loggable && check.problem == "")
      #expect(check.claims == claims)
    }
    try bench.management.retireKey(of: .secret, atOnce: true)
    for token in [unnamed, named] {
      #expect(try !bench.management.check(token: token).isAuthentic)
      #expect(try !bench.management.check(token: loggable(token)).isAuthentic)
    }
  }

  @Test func `a custom token is checked by the keys of custom tokens alone`() throws {
    let bench = try Bench(policy: [.customTokens: "on"])
    let subject = AttestationReport.Subject(.customJWT, payload: Array("{}".utf8))
    let token = try bench.attest(bench.app, subject).token
    try bench.management.prepareKey(of: .custom)
    try bench.management.promoteKey(of: .custom, atOnce: true)
    let check = try bench.management.check(token: token)
    #expect(check.isValid && check.isCustom)
    try bench.management.changeKey(of: .custom)
    #expect(try !bench.management.check(token: token).isAuthentic)
    // Signed by the secret of API tokens, it is none.
    let secret = try bench.account.snapshot().secret.key
    let payload = Array(#"{"exp":4000000000}"#.utf8)
    for (type, isAuthentic) in [("custom+jwt", false), ("JWT", true)] {
      let forged = try JWSSigner(secret).sign(payload: payload.span, type: type)
      #expect(try bench.management.check(token: forged).isAuthentic == isAuthentic)
    }
  }

  @Test func `a text of five parts is a sealed token, and of another count a signed one`() throws {
    let bench = try Bench()
    for text in ["a.b.c.d.e", "....", ".b.c.d."] {
      let check = try bench.management.check(token: text)
      #expect(check.form == .sealed && !check.isAuthentic && check.claims.members.isEmpty)
      #expect(!check.problem.isEmpty && check.responseCode == nil)
    }
    for text in ["", "a.b.c.d", "a.b.c.d.e.f", "a.b"] {
      #expect(throws: ServiceError.self) { try bench.management.check(token: text) }
    }
  }
}
