// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

@Suite struct `Tokens that only the backend opens` {
  private static let host = "vault.example.com"

  /// An account that seals to a backend's public key, and that backend's private one.
  private func bench(
    _ algorithm: KeyAlgorithm = .ecdhES, signedBy signing: KeyAlgorithm = .es256
  ) throws -> (bench: Bench, own: JSONWebKey) {
    let bench = try Bench(policy: [.deviceRate: "0"])
    let own = try JSONWebKey.random(algorithm, bits: algorithm == .ecdhES ? nil : 2_048, id: "b1")
    try bench.management.addPublicKey(own.publicJSON(), for: algorithm)
    try bench.management.addKey(signing, bits: signing == .rs256 ? 2_048 : nil, id: "s1")
    try bench.management.add(API(Self.host, .measurement, keyID: "b1", signerID: "s1"))
    return (bench, own)
  }

  private func verifier(_ bench: Bench, _ own: JSONWebKey) throws -> TokenVerifier {
    var rules = TokenVerifier.Rules()
    rules.audience = Self.host
    rules.clock = bench.clock.clock
    return try TokenVerifier([own, bench.management.key("s1")], rules: rules)
  }

  @Test(
    arguments: [
      (.ecdhES, .es256), (.ecdhES, .edDSA), (.rsaOAEP256, .rs256),
    ] as [(KeyAlgorithm, KeyAlgorithm)])
  func `the backend opens a measurement, the account does not, a failing app's is refused`(
    _ algorithm: KeyAlgorithm, _ signing: KeyAlgorithm
  ) throws {
    let (bench, own) = try bench(algorithm, signedBy: signing)
    let verifier = try verifier(bench, own)
    let answer = try bench.attest(bench.app, .measurement, name: Self.host)
    #expect(answer.outcome == .done)
    let app = try verifier.measurement(of: answer.token)
    #expect(app.instance.bytes == bench.app.device.bytes)
    let check = try bench.management.check(token: answer.token)
    #expect(!check.isAuthentic && check.problem.contains("only that backend opens it"))
    try bench.management.set(.fail, for: bench.app.device)
    let failing = try bench.attest(bench.app, .measurement, name: Self.host).token
    // Only the claims differ: the header and the lengths of the parts are alike.
    #expect(failing.split(separator: ".").count == answer.token.split(separator: ".").count)
    #expect(abs(failing.utf8.count - answer.token.utf8.count) < 8)
    #expect(
      throws: TokenRefusal(of: .signatureWrong)
    ) { try verifier.claims(of: failing) }
  }

  @Test func `a backend that opens tokens cannot make them`() throws {
    let (bench, own) = try bench()
    let verifier = try verifier(bench, own)
    let claims = try verifier.claims(
      of: bench.attest(bench.app, .measurement, name: Self.host).token)
    let mine = try JSONWebKey.random(.es256, id: "s1")
    let forged = try JWEEncrypter(own).seal(claims, signedBy: JWSSigner(mine))
    #expect(throws: TokenRefusal(of: .signatureWrong)) { try verifier.claims(of: forged) }
    #expect(throws: JOSEError.signatureMissing) { try JWEEncrypter(own).seal(claims) }
    // A backend needs the service's key, and an audience, to open anything.
    #expect(throws: JOSEError.audienceRefused([])) { try TokenVerifier([own]) }
    var rules = TokenVerifier.Rules()
    rules.audience = Self.host
    rules.clock = bench.clock.clock
    let blind = try TokenVerifier([own], rules: rules)
    let token = try bench.attest(bench.app, .measurement, name: Self.host).token
    #expect(throws: TokenRefusal(of: .signatureMissing)) { try blind.claims(of: token) }
  }

  @Test func `tokens name their API although the policy says none`() throws {
    let (bench, own) = try bench()
    var policy = try bench.management.policy()
    policy.hasAudience = false
    try bench.management.set(policy)
    let token = try bench.attest(bench.app, .measurement, name: Self.host).token
    #expect(try verifier(bench, own).claims(of: token).audience == [Self.host])
  }

  @Test func `sealed under a shared key, a token may be signed inside too`() throws {
    let (bench, _) = try bench()
    try bench.management.add(API("both.example.com", .measurement, signerID: "s1"))
    let token = try bench.attest(bench.app, .measurement, name: "both.example.com").token
    var rules = TokenVerifier.Rules()
    rules.audience = "both.example.com"
    rules.clock = bench.clock.clock
    let sealing = try JSONWebKey(secret: bench.management.sealingKey(), algorithm: .direct)
    let verifier = try TokenVerifier([sealing, bench.management.key("s1")], rules: rules)
    _ = try verifier.measurement(of: token)
    let check = try bench.management.check(token: token)
    #expect(check.isAuthentic && check.claims.text("imh") == "(secret)")
    try bench.management.set(.fail, for: bench.app.device)
    let failing = try bench.attest(bench.app, .measurement, name: "both.example.com").token
    #expect(throws: TokenRefusal(of: .decryptionFailed)) { try verifier.claims(of: failing) }
  }

  @Test func `an API of a public key without a signature inside, or without aud, is refused`()
    throws
  {
    let (bench, _) = try bench()
    let management = bench.management
    try management.addKey(.hs256, id: "h1")
    try management.addKey(.direct, id: "d1")
    for (host, key, signer, audience) in [
      ("a.example.com", "b1", nil, nil), ("b.example.com", "b1", "h1", nil),
      ("c.example.com", "b1", "d1", nil), ("d.example.com", "b1", "b1", nil),
      ("e.example.com", "b1", "none", nil), ("f.example.com", "b1", "s1", false),
      ("g.example.com", "d1", "h1", nil),
    ] as [(String, String, String?, Bool?)] {
      #expect(throws: ServiceError.self, "\(host)") {
        try management.add(
          API(host, .measurement, keyID: key, hasAudience: audience, signerID: signer))
      }
    }
    #expect(throws: ServiceError.self) {
      try management.add(API("h.example.com", .token, keyID: "s1", signerID: "s1"))
    }
    #expect(throws: ServiceError.self) { try management.add(API("i.example.com", keyID: "b1")) }
    for id in ["b1", "s1"] {
      #expect(throws: ServiceError.inUse("key “\(id)”", by: Self.host)) {
        try management.removeKey(id)
      }
    }
  }

  @Test func `a public key comes as PEM or JWK, and a private one is refused`() throws {
    let bench = try Bench()
    let management = bench.management
    for algorithm in [KeyAlgorithm.ecdhES, .rsaOAEP256] {
      let own = try JSONWebKey.random(
        algorithm, bits: algorithm == .ecdhES ? nil : 2_048, id: "kid-\(algorithm)")
      let added = try management.addPublicKey(own.publicPEM(), for: algorithm)
      #expect(added.isPublic && added.shown.flag("public") == true)
      #expect(try management.key(added.id).isSameKey(as: own.named(added.id)))
      #expect(try management.key(added.id).publicPEM() == own.publicPEM())
      let named = try management.addPublicKey(own.publicJSON(), for: algorithm)
      #expect(named.id == "kid-\(algorithm)")
      let secret = try own.privateJSON().withBytes {
        String(decoding: Array(copying: $0), as: UTF8.self)
      }
      #expect(throws: ServiceError.jose(.keyNotPublic)) {
        try management.addPublicKey(secret, for: algorithm, id: "x")
      }
      #expect(throws: ServiceError.self) { try management.addKey(algorithm, id: "x") }
      for other in KeyAlgorithm.allCases where other != algorithm {
        #expect(throws: ServiceError.self) {
          try management.addPublicKey(own.publicJSON(), for: other, id: "x")
        }
      }
    }
    for text in ["", "{}", "x", "-----BEGIN", #"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#] {
      #expect(throws: ServiceError.self) {
        try management.addPublicKey(text, for: .ecdhES, id: "x")
      }
    }
    // Keys to seal to are not for checking signatures.
    #expect(try management.jwks() == #"{"keys":[]}"#)
  }

  @Test func `a public key that was put into the store without the account's key is not taken`()
    throws
  {
    let (bench, _) = try bench()
    let theirs = try JSONWebKey.random(.ecdhES, id: "b1")
    let other = try Bench()
    try other.management.addPublicKey(theirs.publicJSON(), for: .ecdhES)
    let rows = try other.store.rows(of: .key)
    let row = try #require(rows.first)
    try bench.store.apply([.put(.key, row.key, row.value)])
    #expect(throws: ServiceError.self) { try bench.management.key("b1") }
    #expect(throws: Refused.self) {
      try bench.attest(bench.app, .measurement, name: Self.host)
    }
  }
}
