// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

/// Characters, media types, sizes and words at their bounds.
@Suite struct TextBoundTests {
  @Test("Printable characters begin with the space, and do not include DEL")
  func printable() {
    for (text, isPrintable) in [
      ("\u{1f}", false), (" ", true), ("~", true), ("\u{7f}", false), ("\u{80}", false),
      ("\u{9f}", false), ("\u{a0}", true), ("é", true), ("", true),
    ] {
      #expect(ExactText.isPrintable(text) == isPrintable, "\(text.unicodeScalars)")
    }
    #expect(ExactText.quoted("\u{1f} ~\u{7f}") == "“· ~·”")
    let long = String(repeating: "x", count: 48)
    #expect(ExactText.quoted(long) == "“\(long)”")
    #expect(ExactText.quoted(long + "y") == "“\(long)…”")
  }

  @Test("JSON is written with each control character escaped, and no other one")
  func escapes() {
    let short: [UInt8: String] = [8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"]
    for byte in UInt8(0)..<0x20 {
      let digits = (byte < 16 ? "0" : "") + String(byte, radix: 16)
      let text = JSONValue.string(String(UnicodeScalar(byte))).text
      #expect(text == "\"\(short[byte] ?? "\\u00\(digits)")\"", "\(byte)")
    }
    for byte in UInt8(0x20)..<0x80 where byte != 0x22 && byte != 0x5c {
      let character = String(UnicodeScalar(byte))
      #expect(JSONValue.string(character).text == "\"\(character)\"", "\(byte)")
    }
  }

  @Test("Of two types the letters A to Z are the same in both cases, and no other character is")
  func types() throws {
    for (actual, expected, isSame) in [
      ("Az+jwt", "aZ+JWT", true), ("application/a", "A", true), ("A", "APPLICATION/A", true),
      ("@", "`", false), ("`", "@", false), ("[", "{", false), ("{", "[", false),
      ("a", "b", false),
    ] {
      let policy = try ClaimsPolicy(clock: .fixed(Sample.now), type: expected)
      let refusal = error { try policy.judge(type: actual, contentType: nil) }
      #expect((refusal == nil) == isSame, "\(actual) \(expected)")
    }
  }

  @Test("A policy takes a longest lifetime of one second, and no less")
  func lifetime() throws {
    let policy = try ClaimsPolicy(clock: .fixed(Sample.now), longestLifetime: 1)
    #expect(error { try policy.judge(Claims(expiry: Sample.now.advanced(by: 1))) } == nil)
    #expect(error { try policy.judge(Claims(expiry: Sample.now.advanced(by: 2))) } != nil)
    for seconds in [0, -1] {
      #expect(
        error { try ClaimsPolicy(longestLifetime: seconds) }
          == .outOfRange("longest lifetime in seconds", allowed: 1...Int.max, actual: seconds))
    }
  }

  @Test("A text of JSON has a quarter as many values as the caller allows bytes")
  func values() throws {
    for (count, isRead) in [(99, true), (100, false)] {
      let text = "[" + String(repeating: "1,", count: count - 1) + "1]"
      let value = try? JSONValue(parsing: Array(text.utf8).span, bytesMax: 400)
      #expect((value != nil) == isRead, "\(count) in an array, which is one itself")
    }
  }

  @Test("A token of 65,536 characters is read, and a longer one is not")
  func token() throws {
    let verifier = try JWSVerifier(Sample.key(.hs256))
    for (count, expected) in [
      (65_536, .wrongParts(expected: 3, actual: 1)),
      (65_537, .tooLong("token", count: 65_537, limit: 65_536)),
    ] as [(Int, JOSEError)] {
      #expect(error { try verifier.verify(String(repeating: "A", count: count)) } == expected)
    }
  }

  private static let words: [(JOSEError, String)] = [
    (.tooLong("token", count: 2, limit: 1), "The token has 2 bytes; at most 1 are taken."),
    (
      .wrongParts(expected: 3, actual: 5),
      "The token has 5 parts instead of 3: it is encrypted (JWE), "
        + "and a signed one (JWS) was expected."
    ),
    (
      .wrongParts(expected: 5, actual: 3),
      "The token has 3 parts instead of 5: it is signed (JWS), "
        + "and an encrypted one (JWE) was expected."
    ),
    (.wrongLength(.tag, expected: 16, actual: 1), "The tag has 1 bytes instead of 16."),
    (
      .algorithmMismatch(token: .hs256, key: .es256),
      "The token names the algorithm HS256, but its key is for ES256 alone."
    ),
    (
      .keyLength(.hs256, allowed: 32...64, actual: 1),
      "A key for HS256 has 32 to 64 bytes; this one has 1."
    ),
    (
      .keyLength(.direct, allowed: 32...32, actual: 1),
      "A key for dir has 32 bytes; this one has 1."
    ),
    (
      .outOfRange("leeway", allowed: 0...1, actual: 2),
      "The leeway is 2; it must be from 0 to 1."
    ),
    (
      .audienceRefused(["a", "b", "c", "d", "e"]),
      "The token is for a, b, c, d, not for this service."
    ),
    (.audienceRefused(["a"]), "The token is for a, not for this service."),
    (.audienceRefused([]), "The token does not say for whom it is, and must."),
    (.keyIDInvalid, "A key's name must have 1 to 128 bytes and no control characters."),
    (
      .claimInvalid("x", .text),
      "The claim “x” is wrong: it must be a string of at most 1024 bytes "
        + "without control characters."
    ),
    (
      .claimInvalid("x", .texts),
      "The claim “x” is wrong: it must be a string or up to 64 strings in an array."
    ),
    (.secretNotBase64(.url), "The secret is not base64url without padding."),
    (.secretNotBase64(.standard), "The secret is not padded standard base64."),
  ]

  @Test("The sentence of an error has its numbers, each at its place")
  func sentences() {
    for (error, words) in Self.words { #expect(error.description == words) }
    for (expected, actual) in [(3, 1), (3, 2), (3, 4), (3, 6), (5, 1), (5, 2), (5, 4), (5, 6)] {
      #expect(
        JOSEError.wrongParts(expected: expected, actual: actual).description
          == "The token has \(actual) parts instead of \(expected): "
          + "it is no token, or was cut or joined on the way.")
    }
  }
}
