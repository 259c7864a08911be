// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

@Suite("Headers")
struct HeaderTests {
  private func verify(_ header: String, id: String? = "k1") throws -> VerifiedToken {
    let key = try Sample.key(.hs256, id: id)
    return try JWSVerifier(key).verify(Forge.token(header: header, payload: "{}", key: key))
  }

  @Test(
    "A rightly signed header that demands an extension, compresses, or brings a key is refused",
    arguments: [
      (#""crit":["exp"]"#, "crit"), (#""crit":[]"#, "crit"),
      (#""crit":["b64"],"b64":false"#, "crit"),
      (#""crit":"x""#, "crit"), (#""crit":null"#, "crit"), (#""b64":true"#, "b64"),
      (#""zip":"DEF""#, "zip"), (#""zip":null"#, "zip"), (#""jku":"https://example.com""#, "jku"),
      (#""jwk":{"kty":"oct","k":"AA"}"#, "jwk"), (#""x5u":"https://example.com""#, "x5u"),
      (#""x5c":["MII"]"#, "x5c"), (#""\u0063rit":["x"]"#, "crit"), (#""jw\u006b":{}"#, "jwk"),
    ])
  func refused(member: String, name: String) throws {
    #expect(
      error { try verify(#"{"alg":"HS256","kid":"k1",\#(member)}"#) } == .headerRefused(name))
    let key = try Sample.key(.direct)
    let token = try Forge.sealed(
      header: #"{"alg":"dir","enc":"A256GCM","kid":"k1",\#(member)}"#, payload: "{}", key: key)
    #expect(error { try JWEDecrypter(key).open(token) } == .headerRefused(name))
  }

  @Test(
    "A header that is not one object of plain strings is refused",
    arguments: [
      "", "[]", "null", "\"HS256\"", "{", "{}", #"{"alg":"HS256"}{}"#, #"{"alg":1,"kid":"k1"}"#,
      #"{"alg":null,"kid":"k1"}"#, #"{"alg":["HS256"],"kid":"k1"}"#, #"{"alg":"HS256","kid":1}"#,
      #"{"alg":"HS256","kid":null}"#, #"{"alg":"HS256","kid":["k1"]}"#, #"{"kid":"k1"}"#,
      #"{"alg":"HS256","kid":"k1","typ":1}"#, #"{"alg":"HS256","kid":"k1","cty":{}}"#,
      #"{"alg":"HS256","kid":"k1","enc":1}"#, #"{"ALG":"HS256","kid":"k1"}"#,
      #"{"alg":"HS256","kid":"k1","typ":"a\nb"}"#, #"{"alg":"HS256","kid":"k1\u0000"}"#,
      "\u{feff}{\"alg\":\"HS256\",\"kid\":\"k1\"}", #"{"alg":"HS256","kid":"k1",}"#,
    ])
  func malformed(header: String) {
    #expect(error { try verify(header) } != nil)
  }

  @Test(
    "No member of a header comes twice",
    arguments: [
      #"{"alg":"HS256","alg":"HS256","kid":"k1"}"#, #"{"alg":"none","kid":"k1","alg":"HS256"}"#,
      #"{"alg":"HS256","kid":"k1","kid":"k2"}"#, #"{"alg":"HS256","kid":"k1","\u0061lg":"none"}"#,
      #"{"alg":"HS256","kid":"k1","x":{"y":1,"y":2}}"#,
    ])
  func duplicates(header: String) {
    guard case .notJSON(.header, let fault)? = error(of: { try verify(header) }) else {
      Issue.record("taken, or refused otherwise")
      return
    }
    #expect(fault.reason == .repeatedMember)
  }

  @Test("White space and unknown members of a signed header do no harm")
  func harmless() throws {
    _ = try verify(
      "{\r\n \"kid\" : \"k1\" ,\t\"alg\":\"HS256\", \"more\":{\"jwk\":1}, \"x5t\":\"y\"}")
    _ = try verify(#"{"alg":"HS256","kid":"k1","\u212aid":"k2"}"#)
    _ = try verify(#"{"\u0061lg":"HS256","kid":"\u006b1"}"#)
  }

  @Test("Text cannot break out of the header it is written into")
  func injection() throws {
    for id in [
      #"k","alg":"none"#, #"\"#, #""}"#, "k\u{2028}", "'; DROP TABLE keys; --", "../../etc",
    ] {
      let key = try Sample.key(.hs256, id: id)
      let token = try JWSSigner(key).sign(Sample.claims())
      let verified = try JWSVerifier(key).verify(token)
      #expect(ExactText.areEqual(verified.key.id, id))
      let header = Forge.decoded(token.prefix { $0 != "." })
      #expect(
        try JSONValue(parsing: header.span) == ["alg": "HS256", "kid": .string(id), "typ": "JWT"])
    }
    let signer = try JWSSigner(Sample.key(.hs256))
    let payload: [UInt8] = []
    for text in ["a\nb", "\0", String(repeating: "x", count: 129)] {
      #expect(error { try signer.sign(payload: payload.span, type: text) } == .headerMember("typ"))
      #expect(
        error { try signer.sign(payload: payload.span, contentType: text) } == .headerMember("cty"))
    }
  }

  @Test(
    "The type is compared as a media type, and may be left out only when it is JWT",
    arguments: [
      ("JWT", "JWT", true), ("jwt", "JWT", true), ("application/jwt", "JWT", true),
      ("Application/JWT", "jwt", true), (nil, "JWT", true), (nil, "config+jwt", false),
      ("JWT", "config+jwt", false), ("config+jwt", "JWT", false),
      ("config+jwt", "config+jwt", true),
      ("JOSE", "JWT", false), ("", "JWT", false), ("text/jwt", "JWT", false),
      ("jwt ", "JWT", false),
    ] as [(String?, String, Bool)])
  func types(actual: String?, expected: String, isTaken: Bool) throws {
    let policy = try ClaimsPolicy(clock: .fixed(Sample.now), type: expected)
    let signer = try JWSSigner(Sample.key(.hs256))
    let token = try signer.sign(Sample.claims(), type: actual)
    let verifier = try JWSVerifier(Sample.key(.hs256))
    #expect((error { try verifier.claims(of: token, under: policy) } == nil) == isTaken)
    let sealed = try JWEEncrypter(Sample.key(.direct)).seal(Sample.claims(), type: actual)
    let decrypter = try JWEDecrypter(Sample.key(.direct))
    #expect((error { try decrypter.claims(of: sealed, under: policy) } == nil) == isTaken)
  }
}
