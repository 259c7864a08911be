// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// A backend's own pair, and the key that signs inside, are replaced by the steps of docs/ROTATION.md.
@Suite struct PublicKeyRotationTests {
  private static let host = "vault.example.com"

  /// An account that seals to a backend's public key, signed by `s1`, and that backend's private key.
  private func bench() throws -> (bench: Bench, own: JSONWebKey) {
    let bench = try Bench(policy: [.deviceRate: "0"])
    let own = try JSONWebKey.random(.ecdhES, id: "b1")
    try bench.management.addPublicKey(own.publicJSON(), for: .ecdhES)
    try bench.management.addKey(.es256, id: "s1")
    try bench.management.add(API(Self.host, .measurement, keyID: "b1", signerID: "s1"))
    return (bench, own)
  }

  private func verifier(_ bench: Bench, _ keys: [JSONWebKey]) throws -> TokenVerifier {
    var rules = TokenVerifier.Rules()
    rules.audience = Self.host
    rules.clock = bench.clock.clock
    return try TokenVerifier(keys, rules: rules)
  }

  private func token(_ bench: Bench) throws -> String {
    try bench.attest(bench.app, .measurement, name: Self.host).token
  }

  private func end(_ bench: Bench) throws -> Int64 {
    Int64(try bench.management.policy().tokenLifetime) + Management.endMargin
  }

  @Test func `the key that signs inside moves when backends can have it, stays while tokens live`()
    throws
  {
    let (bench, own) = try bench()
    let management = bench.management
    try management.addKey(.edDSA, id: "s2")
    for body in [
      { try management.changeKey("s1", to: "s2") },
      {
        var change = Management.APIChange()
        change.signerID = .some("s2")
        try management.changeAPI(Self.host, change)
        return []
      },
    ] as [() throws -> [String]] {
      let error = #expect(throws: ServiceError.self) { try body() }
      #expect("\(error, default: "none")".contains("300 more seconds"))
    }
    #expect(try management.apis().first { $0.host == Self.host }?.signerID == "s1")
    bench.clock.advance(by: KeySetKey.publishedSeconds)
    let last = try token(bench)
    let both = try verifier(bench, [own, management.key("s1"), management.key("s2")])
    #expect(try management.changeKey("s1", to: "s2") == [Self.host])
    for token in try [last, token(bench)] { _ = try both.claims(of: token) }
    let new = try verifier(bench, [own, management.key("s2")])
    _ = try new.claims(of: token(bench))
    #expect(throws: TokenRefusal.self) { try new.claims(of: last) }
    bench.clock.advance(by: try end(bench) - 1)
    let error = #expect(throws: ServiceError.self) { try management.removeKey("s1") }
    #expect("\(error, default: "none")".contains("end in 1 seconds"))
    bench.clock.advance(by: 1)
    try management.removeKey("s1")
    #expect(throws: ServiceError.inUse("key “s2”", by: Self.host)) {
      try management.removeKey("s2")
    }
  }

  @Test func `a public key that its backend handed in counts as given`() throws {
    let (bench, own) = try bench()
    let management = bench.management
    let before = try token(bench)
    let next = try JSONWebKey.random(.rsaOAEP256, bits: 2_048, id: "b2")
    try management.addPublicKey(next.publicJSON(), for: .rsaOAEP256)
    #expect(try management.changeKey("b1", to: "b2") == [Self.host])
    let verifier = try verifier(bench, [own, next, management.key("s1")])
    for token in try [before, token(bench)] { _ = try verifier.measurement(of: token) }
    #expect(throws: ServiceError.self) { try management.removeKey("b1") }
    bench.clock.advance(by: try end(bench))
    try management.removeKey("b1")
  }

  @Test func `a change leaves no API that is sealed to a public key without signature or audience`()
    throws
  {
    let (bench, _) = try bench()
    let management = bench.management
    try management.addKey(.direct, id: "d1")
    try management.addKey(.hs256, id: "h1")
    for id in ["d1", "h1"] { _ = try management.key(id) }
    try management.add(API("shared.example.com", .measurement, keyID: "d1", hasAudience: false))
    bench.clock.advance(by: KeySetKey.publishedSeconds)
    let rows = try bench.store.rows(of: .api)
    func refused(_ words: String, _ host: String, _ set: (inout Management.APIChange) -> Void) {
      var change = Management.APIChange()
      set(&change)
      let error = #expect(throws: ServiceError.self) {
        try management.changeAPI(host, change, atOnce: true)
      }
      #expect("\(error, default: "none")".contains(words), "\(words)")
    }
    refused("none", Self.host) { $0.signerID = .some(nil) }
    refused("audience", Self.host) { $0.hasAudience = .some(false) }
    refused("ES256, EdDSA or RS256", Self.host) { $0.signerID = .some("h1") }
    refused("ES256, EdDSA or RS256", Self.host) { $0.signerID = .some("b1") }
    refused("has no key", Self.host) { $0.signerID = .some("none") }
    refused("--signed-by", "shared.example.com") { $0.key = .named("b1") }
    refused("audience", "shared.example.com") {
      $0.key = .named("b1")
      $0.signerID = .some("s1")
    }
    refused("not sealed", Bench.api) { $0.signerID = .some("s1") }
    #expect(throws: ServiceError.self) { try management.changeKey("d1", to: "b1", atOnce: true) }
    #expect(throws: ServiceError.self) { try management.changeKey("s1", to: "h1", atOnce: true) }
    #expect(try bench.store.rows(of: .api) == rows)
  }

  @Test func `an API moves between a shared key and a public one, both keys in one step`() throws {
    let (bench, own) = try bench()
    let management = bench.management
    bench.clock.advance(by: KeySetKey.publishedSeconds)
    var change = Management.APIChange()
    change.key = .own
    change.signerID = .some(nil)
    try management.changeAPI(Self.host, change)
    let sealing = try management.handOutKeys(of: .sealing)
    _ = try verifier(bench, sealing).measurement(of: token(bench))
    let ends = try bench.clock.now + end(bench)
    #expect(try management.keys().map(\.end) == [ends, ends])
    change.key = .named("b1")
    change.signerID = .some("s1")
    try management.changeAPI(Self.host, change)
    _ = try verifier(bench, [own, management.key("s1")]).measurement(of: token(bench))
    #expect(try management.keys().allSatisfy { $0.end == nil })
  }

  @Test func `PEM of a shared key is refused, and does not count as handing it out`() throws {
    let bench = try Bench()
    let management = bench.management
    try management.addKey(.hs256, id: "h1")
    #expect(throws: ServiceError.self) {
      try management.perform("keyset/get", ["kid": "h1", "pem": true])
    }
    #expect(try management.keys().first?.isGiven == false)
    #expect(throws: ServiceError.self) { try management.changeAPI(Bench.api, keyedBy: "h1") }
    _ = try management.perform("keyset/get", ["kid": "h1"])
    try management.changeAPI(Bench.api, keyedBy: "h1")
  }

  @Test func `a public key has its size: bits beside it are refused`() throws {
    let bench = try Bench()
    let own = try JSONWebKey.random(.rsaOAEP256, bits: 2_048, id: "b1")
    for algorithm in ["RS256", "RSA-OAEP-256"] {
      #expect(throws: ServiceError.self) {
        try bench.management.perform(
          "keyset/add",
          ["alg": .string(algorithm), "bits": 2_048, "public": .string(own.publicJSON())])
      }
    }
    #expect(try bench.management.keys().isEmpty)
  }
}

extension Management {
  fileprivate func changeAPI(_ host: String, keyedBy id: String) throws(ServiceError) {
    var change = APIChange()
    change.key = .named(id)
    try changeAPI(host, change)
  }
}
