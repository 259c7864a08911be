// SPDX-License-Identifier: Apache-2.0

import ReasonRows
import Testing

@testable import ProofJOSE

@Suite("Words")
struct ErrorTests {
  private static let all: [JOSEError] =
    [
      .tooLong("token", count: 2, limit: 1), .wrongParts(expected: 3, actual: 5),
      .wrongParts(expected: 5, actual: 3), .wrongParts(expected: 3, actual: 1),
      .notBase64(.payload),
      .notJSON(.header, JSONError(reason: .tooDeep, offset: 7)),
      .wrongLength(.tag, expected: 16, actual: 1), .notAnObject(.key), .headerMember("alg"),
      .algorithmRefused("“none”"), .algorithmMismatch(token: .hs256, key: .es256),
      .encryptionRefused("“A128GCM”"), .headerRefused("jwk"), .keyUnknown(nil), .keyUnknown("“k”"),
      .typeRefused(nil, expected: "JWT"), .contentTypeRefused("“JWT”"), .signatureWrong,
      .decryptionFailed, .signatureMissing, .headerKeyInvalid, .keyNotPublic, .claimMissing("exp"),
      .measurementInClear,
      .expired(at: Sample.now, now: Sample.now), .notYetValid(from: Sample.now, now: Sample.now),
      .issuedInFuture(at: Sample.now, now: Sample.now), .validTooLong(until: Sample.now, limit: 1),
      .issuerRefused(nil), .audienceRefused([]), .audienceRefused(["“x”"]), .subjectRefused(nil),
      .bindingWrong, .keyInvalid("its point is off"),
      .keyLength(.hs256, allowed: 32...64, actual: 1),
      .keyLength(.direct, allowed: 32...32, actual: 1), .keyUnsupported("RSA"),
      .keyForOtherUse(.es256, wanted: "sign"), .keyNotPrivate, .keyIDRepeated("“k”"), .keyIDMissing,
      .keyIDInvalid, .secretInPublishedSet, .keyExhausted(limit: 1), .secretNotBase64(.url),
      .secretNotBase64(.standard), .outOfRange("leeway", allowed: 0...1, actual: 2), .randomFailed,
      .libraryFailed, .heapNotReserved,
    ]
    + [
      ClaimForm.time, .text, .texts, .bytes(16), .base32, .address, .publicKey, .together,
      .otherName,
    ].map { .claimInvalid("x", $0) }

  @Test("Every refusal has a sentence of its own for people")
  func sentences() {
    let words = Self.all.map(\.description)
    for sentence in words {
      #expect(sentence.count > 20 && sentence.hasSuffix("."))
      #expect(sentence.first?.isUppercase == true)
    }
    #expect(Set(words).count == words.count)
  }

  @Test("Every refusal has the code of the page of reasons")
  func codes() throws {
    let answers = Self.all.map { ReasonRows.Answer($0.code, nil) }
    #expect(try ReasonRows(of: "JOSE").differences(fromUnordered: answers) == [])
  }

  @Test("Every fault of a JSON text has words and its place")
  func faults() {
    let reasons: [JSONError.Reason] = [
      .notUTF8, .ended, .unexpected, .badNumber, .badString, .repeatedMember, .trailing, .tooDeep,
      .tooLarge,
    ]
    let words = reasons.map { JSONError(reason: $0, offset: 7).description }
    #expect(Set(words).count == reasons.count)
    #expect(words.allSatisfy { $0.hasSuffix(", at byte 7") })
  }

  @Test("A peer's text is short and harmless in an error")
  func excerpts() throws {
    #expect(ExactText.quoted("a\nb\u{1b}[31mé\u{202e}") == "“a·b·[31m··”")
    #expect(ExactText.quoted(String(repeating: "x", count: 99)).count == 51)
    let hostile = JSONValue.string("\u{1b}]0;x\u{7}" + String(repeating: "A", count: 500)).text
    let key = try Sample.key(.hs256)
    let token = try Forge.token(
      header: #"{"alg":\#(hostile),"kid":"k1"}"#, payload: "{}", key: key)
    let words = try #require(error { try JWSVerifier(key).verify(token) }).description
    #expect(!words.contains("\u{1b}") && !words.contains("\u{7}") && words.count < 300)
  }

  @Test("No refusal of a token or key repeats what was secret in it")
  func noSecrets() throws {
    let secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I"
    for text in [
      #"{"kty":"oct","alg":"HS256","k":"\#(secret)="}"#,
      #"{"kty":"oct","alg":"HS512","k":"\#(secret)"}"#,
      #"{"kty":"oct","alg":"HS256","k":"\#(secret)"#,
      #"{"kty":"oct","alg":"HS256","k":"\#(secret)\u000a"}"#,
      #"{"kty":"EC","crv":"P-256","d":"\#(secret)","x":"\#(secret)","y":"\#(secret)"}"#,
    ] {
      let refusal = try #require(error { try JSONWebKey(parsing: text) })
      #expect(!"\(refusal)".contains("c2Vj") && !String(reflecting: refusal).contains("c2Vj"))
    }
    let key = try Sample.key(.direct)
    let claims = #"{"exp":1900000000,"imh":"\#(secret)","dmh":"\#(secret)","mpk":"\#(secret)"}"#
    let refusal = try #require(
      error {
        try JWEDecrypter(key).claims(
          of: Forge.sealed(claims: claims, key: key), under: Sample.policy())
      })
    #expect(!"\(refusal)".contains("c2Vj") && !String(reflecting: refusal).contains("c2Vj"))
  }
}
