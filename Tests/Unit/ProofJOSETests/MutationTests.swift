// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import ProofJOSE

/// Every parser meets altered, cut, joined and invented inputs; none may trap, and none may take what
/// is not authentic. The seed is fixed: a failure comes again.
@Suite("Altered inputs")
struct MutationTests {
  private static let rounds = 4_000

  private static let fragments: [[UInt8]] =
    [
      "{", "}", "[", "]", ":", ",", "\"", "\\", "\\u", "\\ud800", "\\udc00", ".", "..", "=", "-",
      "_", "e",
      "E+", "0", "00", "1e400", "-0", "9223372036854775808", "null", "true", "\"alg\":\"none\"",
      "\"crit\":[\"x\"]", "\"exp\":1e999", "\"kid\":\"k1\"", "\u{feff}", "\u{212a}", "\0", "\n",
      " ",
      "eyJhbGciOiJub25lIn0", "[[[[[[[[[[[[[[[[[[", "{\"a\":{\"a\":{\"a\":",
    ].map { Array($0.utf8) } + [
      [0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80],
    ]

  /// One to four alterations.
  private static func alter(_ input: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
    var bytes = input
    for _ in 0..<Int.random(in: 1...4, using: &generator) {
      let place = Int.random(in: 0...bytes.count, using: &generator)
      switch Int.random(in: 0..<7, using: &generator) {
      case 0 where place < bytes.count:
        bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      case 1 where place < bytes.count:
        bytes[place] = UInt8.random(in: .min ... .max, using: &generator)
      case 2: bytes.insert(contentsOf: fragments.randomElement(using: &generator)!, at: place)
      case 3:
        bytes.removeSubrange(
          place..<min(bytes.count, place + Int.random(in: 1...9, using: &generator)))
      case 4: bytes = Array(bytes[..<place])
      case 5:
        let end = Int.random(in: place...bytes.count, using: &generator)
        bytes.insert(contentsOf: bytes[place..<end], at: place)
      default: bytes.swapAt(min(place, max(0, bytes.count - 1)), 0)
      }
      if bytes.isEmpty { bytes = [UInt8(ascii: "{")] }
    }
    return bytes
  }

  private static let texts: [[UInt8]] = [
    #"{"exp":1800000300,"did":"AQIDBAUGBwgJCgsMDQ4PEA==","anno":["a","b"],"aud":["x"],"x":{"y":[1.5e3,null,true]}}"#,
    #"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
    #"{"kty":"oct","alg":"HS256","k":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8","key_ops":["sign"]}"#,
    #"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#,
    #"{"keys":[{"kty":"oct","alg":"dir","kid":"a","k":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"},{"kty":"oct","alg":"dir","kid":"b","k":"AQECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"}]}"#,
    #"["\ud83d\ude00","\u00e9",-0.0e-1,[[[[[[[[[[[[[]]]]]]]]]]]]]]"#,
  ].map { Array($0.utf8) }

  @Test("JSON, keys, key sets and claims: what is taken is written canonically, and taken again")
  func texts() throws {
    var generator = SeededGenerator(seed: 1)
    var taken = 0
    for _ in 0..<Self.rounds {
      let bytes = Self.alter(Self.texts.randomElement(using: &generator)!, &generator)
      if let value = try? JSONValue(parsing: bytes.span) {
        taken += 1
        #expect(try JSONValue(parsing: value.text) == value)
        #expect(try JSONValue(parsing: value.text).text == value.text)
      }
      if let key = try? JSONWebKey(parsing: bytes.span), key.isPrivate {
        let isSame = try JSONWebKey(parsing: key.privateJSON()).isSameKey(as: key)
        #expect(isSame)
      }
      if let keys = try? JSONWebKey.keys(parsing: bytes.span) {
        #expect(!keys.isEmpty && (keys.count == 1 || keys.allSatisfy { $0.id != nil }))
      }
      if let set = try? JWKS(parsing: bytes.span) {
        #expect(try JWKS(parsing: set.publicJSON).publicJSON == set.publicJSON)
      }
      if let claims = try? Claims(parsing: bytes.span) {
        let text = try claims.secretJSON()
        let isSame = try text.withBytes { bytes throws(JOSEError) in
          try Claims(parsing: bytes).secretJSON()
        }.matches(text)
        #expect(isSame)
      }
    }
    #expect(taken > 100)
  }

  @Test("Tokens: nothing altered is taken, in any of our algorithms")
  func tokens() throws {
    var generator = SeededGenerator(seed: 2)
    let signed = try Sample.signing.map { try (Sample.key($0), Sample.signedToken($0)) }
    let sealed = try Sample.sealing.map { try (Sample.key($0), Sample.sealedToken($0)) }
    for _ in 0..<Self.rounds {
      let (key, token) = signed.randomElement(using: &generator)!
      let altered = String(decoding: Self.alter(Array(token.utf8), &generator), as: UTF8.self)
      if altered != token {
        #expect(error { try JWSVerifier(key, keyID: .optional).verify(altered) } != nil)
      }
      _ = try? UnverifiedToken(reading: altered)
      let (other, box) = sealed.randomElement(using: &generator)!
      let broken = String(decoding: Self.alter(Array(box.utf8), &generator), as: UTF8.self)
      if broken != box {
        #expect(error { try JWEDecrypter(other, keyID: .optional).open(broken) } != nil)
      }
    }
  }

  @Test(
    "Rightly signed and sealed tokens of altered headers and payloads are judged without a trap")
  func authenticNonsense() throws {
    var generator = SeededGenerator(seed: 3)
    let mac = try Sample.key(.hs256)
    let direct = try Sample.key(.direct)
    let policy = try Sample.policy()
    for _ in 0..<Self.rounds {
      let header = Self.alter(Array(#"{"alg":"HS256","kid":"k1","typ":"JWT"}"#.utf8), &generator)
      let payload = Self.alter(Self.texts[0], &generator)
      let input = Forge.base64(header) + "." + Forge.base64(payload)
      let token = try Forge.token(input: input, key: mac)
      let claims = try? JWSVerifier(mac, keyID: .optional).claims(of: token, under: policy)
      if let claims { #expect(claims.expiry != nil && claims.audience.isEmpty) }
      let sealed = try JWEEncrypter(direct).seal(payload: payload.span, type: "JWT")
      let opened = try? JWEDecrypter(direct).claims(of: sealed, under: policy)
      if let opened { #expect(opened.expiry != nil && opened.audience.isEmpty) }
    }
  }
}
