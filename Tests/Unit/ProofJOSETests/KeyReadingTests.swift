// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

@Suite("Reading keys")
struct KeyReadingTests {
  private static let k = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
  private static let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"

  @Test(
    "Text that is not a key, or not a safe one, is refused",
    arguments: [
      "", "[]", "\"x\"", "null", "{}", #"{"kty":"oct"}"#, #"{"kty":1,"k":"\#(k)","alg":"HS256"}"#,
      #"{"kty":"oct","alg":"HS256"}"#, #"{"kty":"oct","alg":"HS256","k":1}"#,
      #"{"kty":"oct","alg":"HS256","k":""}"#, #"{"kty":"oct","alg":"HS256","k":"AAAA"}"#,
      #"{"kty":"oct","alg":"HS256","k":"\#(k)="}"#, #"{"kty":"oct","alg":"HS256","k":"\#(k) "}"#,
      #"{"kty":"oct","alg":"HS256","k":"\#(k)","k":"\#(k)"}"#,
      #"{"kty":"oct","alg":"HS256","\u006b":"\#(k)","k":"\#(k)"}"#,
      #"{"kty":"oct","alg":"HS256","k":"\u0041\#(k)"}"#,
      #"{"kty":"oct","alg":"HS256","k":"\#(k)","kid":7}"#,
      #"{"kty":"oct","alg":"HS256","k":"\#(k)","kid":""}"#,
      #"{"kty":"oct","alg":"HS256","k":"\#(k)","key_ops":"sign"}"#,
      #"{"kty":"oct","alg":"HS256","k":"\#(k)","key_ops":[1]}"#,
      #"{"kty":"oct","alg":"HS256","k":"\#(k)","key_ops":["sign","sign"]}"#,
      #"{"kty":"OKP","crv":"Ed25519"}"#, #"{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#,
      #"{"kty":"OKP","crv":"Ed25519","x":"\#(x)A"}"#, #"{"kty":"OKP","crv":"Ed25519","d":"\#(x)"}"#,
      #"{"kty":"EC","crv":"P-256","x":"\#(x)"}"#,
      #"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(x)"}"#,
      #"{"kty":"OKP","crv":"Ed25519","x":"\#(x)","use":1}"#,
    ])
  func malformed(text: String) {
    #expect(error { try JSONWebKey(parsing: text) } != nil)
  }

  @Test(
    "Other kinds of keys are refused as unsupported, by name",
    arguments: [
      (#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#, "RSA"),
      (#"{"kty":"EC","crv":"P-384","x":"\#(x)","y":"\#(x)"}"#, "P-384"),
      (#"{"kty":"EC","crv":"secp256k1","x":"\#(x)","y":"\#(x)"}"#, "secp256k1"),
      (#"{"kty":"OKP","crv":"X25519","x":"\#(x)"}"#, "X25519"),
      (#"{"kty":"OKP","crv":"P-256","x":"\#(x)","y":"\#(x)"}"#, "OKP"),
      (#"{"kty":"EC","crv":"Ed25519","x":"\#(x)"}"#, "EC"),
      (#"{"kty":"oct","alg":"HS512","k":"\#(k)"}"#, "HS512"),
      (#"{"kty":"oct","alg":"none","k":"\#(k)"}"#, "none"),
      (#"{"kty":"oct","alg":"ES256","k":"\#(k)"}"#, "ES256"),
      (#"{"kty":"oct","alg":"A128KW","k":"\#(k)"}"#, "A128KW"),
      (#"{"kty":"OKP","crv":"Ed25519","alg":"ES256","x":"\#(x)"}"#, "ES256"),
      (#"{"kty":"OKP","crv":"Ed25519","alg":"HS256","x":"\#(x)"}"#, "HS256"),
      (#"{"kty":"oct","k":"\#(k)"}"#, "does not say"), (#"{"kty":"Oct","k":"\#(k)"}"#, "Oct"),
    ])
  func unsupported(text: String, name: String) {
    guard case .keyUnsupported(let reason)? = error(of: { try JSONWebKey(parsing: text) }) else {
      Issue.record("taken, or refused otherwise")
      return
    }
    #expect(reason.contains(name))
  }

  @Test("An oct key without alg takes the caller's, and no key takes another than its own")
  func callersAlgorithm() throws {
    let plain = #"{"kty":"oct","k":"\#(Self.k)"}"#
    for algorithm in [KeyAlgorithm.hs256, .direct, .a256kw] {
      #expect(try JSONWebKey(parsing: plain, as: algorithm).algorithm == algorithm)
    }
    #expect(error { try JSONWebKey(parsing: plain, as: .es256) } != nil)
    let mac = #"{"kty":"oct","alg":"HS256","k":"\#(Self.k)"}"#
    for algorithm in KeyAlgorithm.allCases where algorithm != .hs256 {
      #expect(error { try JSONWebKey(parsing: mac, as: algorithm) } != nil)
    }
    let edwards = #"{"kty":"OKP","crv":"Ed25519","x":"\#(Self.x)"}"#
    #expect(try JSONWebKey(parsing: edwards).algorithm == .edDSA)
    #expect(error { try JSONWebKey(parsing: edwards, as: .hs256) } != nil)
    let direct = #"{"kty":"oct","alg":"A256GCM","k":"\#(Self.k)"}"#
    #expect(try JSONWebKey(parsing: direct).algorithm == .direct)
  }

  @Test("A key is used for what its use and key_ops say, and for nothing else")
  func operations() throws {
    func mac(_ more: String) throws -> JSONWebKey {
      try JSONWebKey(parsing: #"{"kty":"oct","alg":"HS256","k":"\#(Self.k)",\#(more)}"#)
    }
    _ = try JWSSigner(mac(#""use":"sig""#))
    #expect(
      error { try mac(#""use":"enc""#) } == .keyForOtherUse(.hs256, wanted: "sign"))
    #expect(error { try mac(#""use":"SIG""#) } != nil)
    #expect(error { try mac(#""key_ops":["encrypt"]"#) } != nil)
    #expect(error { try mac(#""key_ops":[]"#) } != nil)
    #expect(error { try mac(#""key_ops":["sign, verify"]"#) } != nil)
    _ = try JWSSigner(mac(#""key_ops":["sign","unknown"]"#))
    #expect(
      error { try JWSVerifier(mac(#""key_ops":["sign"]"#)) }
        == .keyForOtherUse(.hs256, wanted: "check signatures"))
    #expect(
      error { try JWSSigner(mac(#""key_ops":["verify"]"#)) }
        == .keyForOtherUse(.hs256, wanted: "sign"))
    let seal = try JSONWebKey(
      parsing: #"{"kty":"oct","alg":"A256KW","k":"\#(Self.k)","key_ops":["wrapKey"]}"#)
    _ = try JWEEncrypter(seal)
    #expect(error { try JWEDecrypter(seal) } == .keyForOtherUse(.a256kw, wanted: "decrypt"))
    let json = try seal.privateJSON()
    #expect(error { try JWEDecrypter(JSONWebKey(parsing: json)) } != nil)
    let signOnly = try JSONWebKey(
      parsing: #"{"kty":"OKP","crv":"Ed25519","x":"\#(Self.x)","key_ops":["sign"]}"#)
    #expect(error { try JWSVerifier(signOnly) } != nil)
  }

  @Test(
    "A key is for signatures or for encryption, never for both", arguments: KeyAlgorithm.allCases)
  func kinds(algorithm: KeyAlgorithm) throws {
    let key = try Sample.key(algorithm)
    #expect((error { try JWSSigner(key) } == nil) == algorithm.isSignature)
    #expect((error { try JWSVerifier(key) } == nil) == algorithm.isSignature)
    #expect((error { try JWEEncrypter(key) } == nil) == !algorithm.isSignature)
    #expect((error { try JWEDecrypter(key) } == nil) == !algorithm.isSignature)
  }

  @Test("Unknown members are ignored, and not written again")
  func unknownMembers() throws {
    let key = try JSONWebKey(
      parsing:
        #"{"kty":"OKP","crv":"Ed25519","x":"\#(Self.x)","x5c":["x"],"\u212ata":"y","more":{}}"#)
    #expect(
      try key.publicJSON()
        == #"{"alg":"EdDSA","crv":"Ed25519","kty":"OKP","use":"sig","x":"\#(Self.x)"}"#)
  }
}

@Suite("Key sets")
struct KeySetTests {
  @Test("A published set is read as it was written, and holds public keys only")
  func published() throws {
    let keys = try Sample.signing.map { try Sample.key($0, id: "key \($0)") }
    let set = try JWKS(keys)
    let text = set.publicJSON
    #expect(!text.contains("\"d\"") && !text.contains("\"k\""))
    let read = try JWKS(parsing: text)
    #expect(read.keys.map(\.algorithm) == [.es256, .edDSA, .rs256])
    #expect(read.publicJSON == text)
    #expect(try #require(read["key es256"]).isSameKey(as: keys[1]))
    #expect(read["key hs256"] == nil)
    #expect(try JWKS([]).publicJSON == #"{"keys":[]}"#)
  }

  @Test("Every key of a set has a name, and no other has it")
  func names() throws {
    let one = try Sample.key(.es256)
    #expect(error { try JWKS([one, one]) } == .keyIDRepeated("“k1”"))
    #expect(error { try JWKS([one.named(nil)]) } == .keyIDMissing)
    let kelvin = try JWKS([one.named("K"), one.named("\u{212a}")])
    #expect(kelvin["K"]?.id?.utf8.count == 1)
    #expect(kelvin["\u{212a}"]?.id?.utf8.count == 3)
    #expect(try JWKS((0..<256).map { try one.named("\($0)") }).keys.count == 256)
    #expect(
      error { try JWKS((0...256).map { try one.named("\($0)") }) }
        == .outOfRange("number of keys in a set", allowed: 0...256, actual: 257))
  }

  @Test("Keys of other kinds are left out; secrets and broken keys are refused")
  func strangers() throws {
    let mine = try Sample.key(.es256).publicJSON()
    let set = try JWKS(
      parsing: #"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"},\#(mine),{"kty":"new"}],"more":1}"#)
    #expect(set.keys.count == 1)
    let secret = try Sample.key(.hs256).privateJSON().withBytes { bytes in
      String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
    #expect(error { try JWKS(parsing: #"{"keys":[\#(secret)]}"#) } == .secretInPublishedSet)
    let broken = mine.replacing("\"x\":\"", with: "\"x\":\"A")
    #expect(error { try JWKS(parsing: #"{"keys":[\#(broken)]}"#) } != nil)
    for text in ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[1]}"#, #"{"keys":[],"keys":[]}"#] {
      #expect(error { try JWKS(parsing: text) } != nil)
    }
  }
}
