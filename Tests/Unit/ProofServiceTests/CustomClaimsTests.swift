// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

@Suite struct `Claims of custom tokens` {
  private func answer(_ bench: Bench, _ payload: String) throws -> AttestationAnswer {
    try bench.attest(
      bench.app, AttestationReport.Subject(.customJWT, payload: Array(payload.utf8)))
  }

  private func bench(_ claims: String) throws -> Bench {
    try Bench(policy: [.customTokens: "on", .customClaims: claims, .deviceRate: "0"])
  }

  private static let values = [
    ("iss", #""app""#), ("sub", #""user-7""#), ("aud", #""api.example.com""#), ("nbf", "1"),
    ("iat", "1700000000.5"), ("jti", #""4711""#),
  ]

  @Test(arguments: values)
  func `a registered claim is taken where the policy names it, and refused by name elsewhere`(
    _ name: String, _ value: String
  ) throws {
    let payload = #"{"role":"x","\#(name)":\#(value)}"#
    let taken = try answer(bench(name), payload)
    #expect(taken.outcome == .done && taken.rejectionReasons.isEmpty)
    let read = try UnverifiedToken(reading: taken.token).payload
    #expect(read[name]?.text == value)
    let others = Self.values.map(\.0).filter { $0 != name }.joined(separator: ",")
    for policy in ["none", others] {
      let refused = try answer(bench(policy), payload)
      #expect(refused.outcome == .badPayload && refused.token.isEmpty)
      #expect(refused.rejectionReasons.contains("“\(name)”"))
      #expect(refused.rejectionReasons.contains("custom-claims"))
    }
  }

  @Test func `all of them together, an array of audiences and nested values are taken`() throws {
    let bench = try bench("jti,iat,nbf,aud,sub,iss")
    #expect(try bench.management.policy()[.customClaims] == "iss,sub,aud,nbf,iat,jti")
    let deep = String(repeating: "[", count: 15) + String(repeating: "]", count: 15)
    let payload =
      #"{"aud":["a","b"],"iat":1700000000,"iss":"app","jti":"4711","nbf":1700000000,"#
      + #""sub":"user-7","x":{"y":[1.5e400,null,{"z":"\u00e9"}]},"deep":\#(deep)}"#
    let answer = try answer(bench, payload)
    #expect(answer.outcome == .done, "\(answer.rejectionReasons)")
    let claims = try JWSVerifier(
      bench.management.handOutKeys(of: .custom)[0]
    ).claims(
      of: answer.token,
      under: ClaimsPolicy(clock: bench.clock.clock, audience: "b", type: "custom+jwt"))
    #expect(claims.issuer == "app" && claims.subject == "user-7" && claims.audience == ["a", "b"])
    #expect(claims.instance == bench.app.device.bytes)
    #expect(claims.expiry == bench.clock.now + 300)
    #expect(claims.others["x"]?.text == #"{"y":[1.5e400,null,{"z":"é"}]}"#)
  }

  @Test(arguments: [
    (#"{"exp":9}"#, "“exp”"), (#"{"did":"x"}"#, "“did”"), (#"{"pay":"x"}"#, "“pay”"),
    (#"{"imh":"x"}"#, "“imh”"), (#"{"dpk":"x"}"#, "“dpk”"), (#"{"mgn":4}"#, "“mgn”"),
    (#"{"mmd":null}"#, "“mmd”"), (#"{"ip":"::1"}"#, "“ip”"), (#"{"ipk":"x"}"#, "“ipk”"),
    (#"{"sub":7}"#, "“sub”"), (#"{"iss":["x"]}"#, "“iss”"), (#"{"aud":[]}"#, "“aud”"),
    (#"{"aud":{"x":1}}"#, "“aud”"), (#"{"iat":"now"}"#, "“iat”"), (#"{"nbf":1e400}"#, "“nbf”"),
    (#"{"nbf":-1}"#, "“nbf”"), (#"{"sub":"a\u0000"}"#, "“sub”"), ("[]", "no object"),
    ("{", "ends too early"), (#"{"a":1,"a":2}"#, "two members"), ("", "ends too early"),
    (#"{"a":[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}"#, "nested too deep"),
  ])
  func `a refusal says which claim, or what is wrong with the text`(
    _ payload: String, _ words: String
  ) throws {
    let refused = try answer(bench("iss,sub,aud,nbf,iat,jti"), payload)
    #expect(refused.outcome == .badPayload && refused.token.isEmpty)
    #expect(refused.rejectionReasons.contains(words), "\(refused.rejectionReasons)")
    #expect(refused.rejectionReasons.utf8.count <= 1_024)
  }

  @Test func `one size limit counts, and is told`() throws {
    let bench = try bench("none")
    func payload(_ count: Int) -> String {
      #"{"a":""# + String(repeating: "x", count: count - 8) + #""}"#
    }
    #expect(payload(40_000).utf8.count == 40_000)
    #expect(try answer(bench, payload(40_000)).outcome == .done)
    let refused = try answer(bench, payload(40_001))
    #expect(refused.outcome == .badPayload)
    #expect(
      refused.rejectionReasons == "the claims have 40001 bytes; at most 40000 are taken")
  }

  @Test func `the setting takes names of registered claims alone, each once`() throws {
    var policy = Policy()
    #expect(policy[.customClaims] == "jti")
    for text in ["exp", "did", "sub,sub", "sub,", ",sub", "sub iss", "SUB", "all", "", ","] {
      #expect(throws: ServiceError.self) { try policy.set(.customClaims, to: text) }
    }
    try policy.set(.customClaims, to: "none")
    #expect(policy.customClaims.isEmpty && policy[.customClaims] == "none")
  }

  @Test func `an app that fails is not told what its claims lack`() throws {
    let bench = try bench("none")
    try bench.management.set(.fail, for: bench.app.device)
    let answer = try answer(bench, #"{"exp":1}"#)
    #expect(answer.outcome == .rejected && answer.rejectionReasons.isEmpty)
  }
}
