// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofRequest

/// The bounds of a request's signature, with the numbers written out, from both sides.
@Suite struct BoundsTests {
  @Test("The bounds of a signature are 4,096 bytes, 32 components and a nonce of 128")
  func limits() {
    #expect(RequestLimits.fieldBytes == 4_096)
    #expect(RequestLimits.components == 32)
    #expect(RequestLimits.nonceBytes == 128)
    #expect(SignatureKind.hmac.signatureBytes == 32)
    #expect(SignatureKind.installation.signatureBytes == 64)
  }

  /// docs/REASONS.md: the numbers of `request-1` to `request-24`.
  @Test("Refusals have the numbers of the reasons' page")
  func refusals() {
    let numbers: [(RequestRefusal, UInt8)] = [
      (.noSignature, 1), (.malformedInput, 2), (.malformedSignature, 3), (.severalSignatures, 4),
      (.labelWithoutSignature, 5), (.repeatedComponent, 6), (.unknownComponent, 7),
      (.missingField, 8), (.uncoveredComponent, 9), (.repeatedField, 10), (.badParameter, 11),
      (.missingParameter, 12), (.wrongAlgorithm, 13), (.ambiguousTarget, 14),
      (.uncoveredBody, 15), (.malformedDigest, 16), (.otherBody, 17), (.unknownKey, 18),
      (.wrongSignature, 19), (.stale, 20), (.ahead, 21), (.replayed, 22), (.expired, 23),
      (.tooLong, 24),
    ]
    for (refusal, number) in numbers { #expect(refusal.rawValue == number, "\(refusal)") }
    #expect(numbers.count == RequestRefusal.allCases.count)
  }

  @Test("Each rule of a target is one bit of its own")
  func rules() {
    let rules: [TargetRule] = [
      .encodedSlash, .dotSegment, .doubleSlash, .backslash, .encodedZero, .brokenEscape,
      .emptyQuery,
    ]
    #expect(rules.map(\.rawValue) == [1, 2, 4, 8, 16, 32, 64])
  }

  /// The refusal of a signer that is asked to cover `more` further fields, all present.
  private static func signed(
    more: Int = 0, _ keyID: String = "handle", created: UnixTime = 1_790_000_000,
    nonce: String = "n0"
  ) throws -> (refusal: RequestRefusal?, head: RequestHead) {
    let names = (0..<more).map { "x-\($0)" }
    var head = try RequestHead(
      method: "GET", url: "https://api.example.com/pay?to=7",
      fields: HeaderFields(names.map { (name: $0, value: "1") }))
    var form = StandardForm()
    form.moreFields = names
    do throws(RequestRefusal) {
      try StandardFormTests.key().withBytes { (key) throws(RequestRefusal) in
        try form.sign(&head, body: nil, with: key, keyID: keyID, created: created, nonce: nonce)
      }
      return (nil, head)
    } catch { return (error, head) }
  }

  @Test("A signer writes a nonce of 1 to 128 bytes, which a verifier reads")
  func nonces() throws {
    for (count, isWritten) in [(0, false), (1, true), (127, true), (128, true), (129, false)] {
      let nonce = String(repeating: "n", count: count)
      let (refusal, head) = try Self.signed(nonce: nonce)
      #expect(refusal == (isWritten ? nil : .badParameter), "\(count)")
      guard isWritten else { continue }
      #expect(try StandardProof(reading: head).nonce == nonce)
    }
  }

  @Test("A verifier refuses a nonce of 0 or of 129 bytes")
  func readNonces() throws {
    let (_, head) = try Self.signed()
    let input = try #require(head.fields.values(of: "signature-input").first)
    for (count, refusal) in [
      (0, .badParameter), (1, nil), (128, nil), (129, .badParameter),
    ] as [(Int, RequestRefusal?)] {
      var other = head
      let nonce = String(repeating: "n", count: count)
      try other.fields.set("signature-input", input.replacing("\"n0\"", with: "\"\(nonce)\""))
      let found: RequestRefusal?
      do throws(RequestRefusal) {
        _ = try StandardProof(reading: other)
        found = nil
      } catch { found = error }
      #expect(found == refusal, "\(count)")
    }
  }

  @Test("A signer covers 32 components, four of them its own, and refuses a 33rd")
  func components() throws {
    #expect(try Self.signed(more: 27).refusal == nil)
    let (refusal, head) = try Self.signed(more: 28)
    #expect(refusal == nil)
    #expect(throws: Never.self) { try StandardProof(reading: head) }
    #expect(try Self.signed(more: 29).refusal == .tooLong)
  }

  @Test("A signer writes a moment of at most fifteen digits, before and after the epoch")
  func moments() throws {
    for (created, isWritten) in [
      (999_999_999_999_999, true), (1_000_000_000_000_000, false),
      (-999_999_999_999_999, true), (-1_000_000_000_000_000, false),
    ] as [(Int64, Bool)] {
      let (refusal, head) = try Self.signed(created: UnixTime(seconds: created))
      #expect(refusal == (isWritten ? nil : .badParameter), "\(created)")
      guard isWritten else { continue }
      #expect(try StandardProof(reading: head).created.seconds == created)
    }
  }

  @Test("The name of a key has visible ASCII and spaces, and no quote or backslash")
  func keyIDs() throws {
    for (text, isWritten) in [
      ("", false), (" ", true), ("~", true), ("a b", true), ("\u{1F}", false), ("\u{7F}", false),
      ("é", false), ("\"", false), ("\\", false),
    ] {
      #expect(try Self.signed(text).refusal == (isWritten ? nil : .badParameter), "\(text)")
    }
  }

  @Test("Content-Digest is read up to 512 bytes")
  func digests() throws {
    let body = StandardFormTests.body
    let own = ContentDigest(of: body.span)
    for (count, isRead) in [(511, true), (512, true), (513, false)] {
      // Spaces before a further member fill the field.
      let rest = ",md5=:AAEC:"
      let room = String(repeating: " ", count: count - own.text.utf8.count - rest.utf8.count)
      let field = own.text + room + rest
      #expect(field.utf8.count == count)
      if isRead {
        #expect(try ContentDigest(reading: field) == own, "\(count)")
      } else {
        #expect(throws: RequestRefusal.malformedDigest) { try ContentDigest(reading: field) }
      }
    }
    #expect(own.text.utf8.count == 54)
  }

  @Test("An error quotes 80 characters, and three dots stand for more")
  func quotes() {
    for (count, isWhole) in [(79, true), (80, true), (81, false)] {
      let name = String(repeating: "n", count: count)
      let shown = "“" + String(repeating: "n", count: min(80, count)) + (isWhole ? "”" : "…”")
      let text = RequestFormatError.badField(name).description
      #expect(text.hasPrefix("header field \(shown):"), "\(count)")
    }
    let text = RequestFormatError.badField("\u{1F} ~\u{7F}é").description
    #expect(text.hasPrefix("header field “· ~··”:"))
  }

  @Test(
    "Numbers of a structured field have up to 15 digits, a decimal 12 and 3",
    arguments: [
      ("a=123456789012345", true), ("a=1234567890123456", false),
      ("a=-123456789012345", true), ("a=-1234567890123456", false),
      ("a=123456789012.123", true), ("a=1234567890123.1", false), ("a=1.123", true),
      ("a=1.1234", false),
    ])
  func numbers(_ text: String, _ isRead: Bool) {
    #expect((StructuredDictionary(Array(text.utf8)) != nil) == isRead)
  }

  @Test("A method has up to 32 characters, a host with its port up to 261")
  func heads() throws {
    for (count, isTaken) in [(1, true), (32, true), (33, false)] {
      let method = String(repeating: "M", count: count)
      let head = try? RequestHead(
        method: method, scheme: .https, authority: "a.example", target: "/")
      #expect((head != nil) == isTaken, "\(count)")
    }
    for (count, isTaken) in [(261, true), (262, false)] {
      let host = String(repeating: "a", count: count)
      #expect((Authority.normalised(host, .https) == host) == isTaken, "\(count)")
    }
  }

  @Test("A port has one to five digits and is at most 65,535")
  func ports() {
    for (port, read) in [
      ("1", "a.example:1"), ("65535", "a.example:65535"), ("65536", nil), ("008080", nil),
      ("443", "a.example"), ("442", "a.example:442"), ("444", "a.example:444"), ("", nil),
    ] as [(String, String?)] {
      #expect(Authority.normalised("a.example:\(port)", .https) == read, "\(port)")
    }
    #expect(Authority.normalised("a.example:80", .http) == "a.example")
    #expect(Authority.normalised("[::]", .https) == nil)
    #expect(Authority.normalised("[::1]", .https) == "[::1]")
  }
}
