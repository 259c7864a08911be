// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import Testing

@testable import ProofRequest

/// Cases that public suites refuse, each with the reason that ProofKit gives.
@Suite struct NegativeVectorTests {
  /// Requests of adcontextprotocol/adcp, with the tag, the algorithm and the components of ProofKit's form in the place
  /// of the profile's own. Those about that profile's policy are left out: the window of `expires` (003, 004, 012 and
  /// 013), the purpose and revocation of a key (009, 017, 025), a digest that the profile forbids (018), rates (020).
  static let requests: [(name: String, refusal: RequestRefusal)] = [
    ("001-no-signature-header.json", .noSignature),
    ("002-wrong-tag.json", .noSignature),
    ("005-alg-not-allowed.json", .wrongAlgorithm),
    ("006-missing-covered-component.json", .uncoveredComponent),
    ("007-missing-content-digest.json", .uncoveredBody),
    ("011-malformed-header.json", .malformedInput),
    ("014-missing-nonce-param.json", .missingParameter),
    ("019-signature-without-signature-input.json", .malformedInput),
    ("021-duplicate-signature-input-label.json", .malformedInput),
    ("022-multi-valued-content-type.json", .repeatedField),
    ("023-multi-valued-content-digest.json", .malformedDigest),
    ("024-unquoted-string-param.json", .badParameter),
    ("027-webhook-registration-authentication-unsigned.json", .noSignature),
    ("028-unsigned-protocol-method-required.json", .noSignature),
  ]

  @Test("A foreign request in ProofKit's form has a refusal of its own", arguments: requests)
  func requestsInOurForm(name: String, refusal: RequestRefusal) throws {
    let head = try Self.translated(name)
    #expect(throws: refusal) { try StandardProof(reading: head) }
  }

  /// Well-formed requests that a check after the reading refuses.
  @Test("A foreign request with a wrong digest or signature is read, and is not the key's")
  func readAndRefused() throws {
    for name in [
      "008-unknown-keyid.json", "010-content-digest-mismatch.json", "015-signature-invalid.json",
      "016-replayed-nonce.json",
    ] {
      let proof = try StandardProof(reading: try Self.translated(name))
      #expect(StandardFormTests.key().withBytes { !proof.isSigned(with: $0) }, "\(name)")
      let body = try ForeignRequest("negative/\(name)").request["body"] as? String ?? ""
      let isOther = proof.body != ContentDigest(of: body.utf8.span)
      #expect(isOther == name.hasPrefix("010"), "\(name)")
    }
  }

  @Test("A host outside ASCII is no authority")
  func host() {
    #expect(throws: RequestFormatError.self) {
      try ForeignRequest("negative/026-non-ascii-host.json").head()
    }
  }

  /// The request with its profile's words replaced by ProofKit's.
  private static func translated(_ name: String) throws -> RequestHead {
    let foreign = try ForeignRequest("negative/\(name)")
    var head = try foreign.head()
    let isWithoutDigest = name.hasPrefix("007") || head.fields.count(of: "signature-input") == 0
    if !isWithoutDigest, head.fields.count(of: "content-digest") == 0 {
      let body = foreign.request["body"] as? String ?? ""
      try head.fields.set("content-digest", ContentDigest(of: body.utf8.span).text)
    }
    if let input = head.fields.first("signature-input") {
      var translated = input
      for (theirs, ours) in [
        ("adcp/request-signing/v1", StandardForm.tag), ("\"ed25519\"", "\"hmac-sha256\""),
        ("\"@target-uri\"", "\"@path\" \"@query\""), (" \"content-digest\"", ""),
        ("\"content-type\")", "\"content-type\" \"content-digest\")"),
      ] {
        translated = translated.replacingOccurrences(of: theirs, with: ours)
      }
      try head.fields.set("signature-input", translated)
    }
    // A signature of 64 bytes is none of HMAC-SHA-256.
    if head.fields.count(of: "signature") > 0 {
      try head.fields.set("signature", "sig1=:\(Base64.encode([UInt8](repeating: 0, count: 32))):")
    }
    return head
  }

  /// Parameters of components that yaronf/httpsign refuses: of another type, or that RFC 9421 does not know.
  @Test(
    "A component with a parameter of another type, or with an unknown one, is refused",
    arguments: [
      "\"host\";req=1", "\"host\";sf=\"y\"", "\"host\";bs=0", "\"host\";bs=?0", "\"host\";tr=x",
      "\"host\";optional=1", "\"host\";optional", "\"cookie\";key=1", "\"cookie\";key",
      "\"@query-param\";name=1", "\"@query-param\"", "\"host\";foo=1", "\"host\";bs;key=\"a\"",
      "\"@method\";bs", "\"@status\"", "\"@request-response\"", "\"@signature-params\"", "\"\"",
      "\"Host\"",
    ])
  func componentParameters(component: String) throws {
    var head = try StandardFormTests.signed()
    try head.fields.append("Host", "api.example.com")
    try head.fields.append("Cookie", "a=1")
    let input = try #require(head.fields.first("signature-input"))
    try head.fields.set(
      "signature-input",
      input.replacingOccurrences(of: "\"@method\" ", with: "\"@method\" \(component) "))
    #expect(throws: RequestRefusal.unknownComponent) { try StandardProof(reading: head) }
  }

  /// Dictionaries that httpwg/structured-field-tests refuses (`dictionary`, `param-dict`, and the items of `string`,
  /// `binary`, `boolean`, `number` and `token` as the value of a member), in the spelling of RFC 8941.
  @Test(
    "A field that the working group's suite refuses is malformed",
    arguments: [
      "a=1, b=2,", "a=1,,b=2", ",", ",a=1", "a=1;b =2", "a=1;b= 2", "a=1 ;b=2", "a= 1", "a =1",
      "a=b;q=1.0,,c=d", "A=1", "1a=1", "-a=1", "a;B=1", "a;1=2", "a=(1 2", "a=(1;b", "a=(1,2)",
      "a='foo'", "a=\"foo", "a=\"foo \\,\"", "a=\"foo \\", "a=\"f\u{fc}\"", "a=\"\t\"",
      "a=:aGVsbG8:", "a=:aGVsbG8=", "a=:aGVsb G8=:", "a=:aGVsbG!8=:", "a=:aGVsbG8=!:", "a=:iZ==:",
      "a=:iZ=:", "a=:====:", "a=:=:", "a=:_-Ah:", "a=*aGVsbG8=*",
      "a=?", "a=?2", "a=?T", "a=? 1", "a=?-1", "a=4-2", "a=-a23", "a=--1", "a=+1", "a=1.5.4",
      "a=1..4", "a=.5", "a=1.", "a=-1.", "a=1.1234", "a=1234567890123456", "a=1234567890123.1",
      "a=1e3", "a=0x1", "a=\u{a0}1", "a=@1659578233", "a=%\"x\"", "a={1}",
    ])
  func structuredFields(text: String) throws {
    #expect(StructuredDictionary(Array(text.utf8)) == nil)
    var head = try StandardFormTests.signed()
    try head.fields.set("signature-input", text)
    #expect(throws: RequestRefusal.malformedInput) { try StandardProof(reading: head) }
  }

  /// The suite lets the last of two equal keys win. Two readers that disagree would check different signatures.
  @Test(
    "A key that stands twice is refused, where the working group's suite takes the last",
    arguments: ["a=1,b=2,a=3", "a=1;b=1;b=2", "a=(1;x=1;x=2)"])
  func repeatedKeys(text: String) {
    #expect(StructuredDictionary(Array(text.utf8)) == nil)
  }

  @Test(
    "Spellings that the working group's suite takes are written in the canonical one",
    arguments: [
      ("a=1,b=2", "a=1, b=2"), ("a=1 ,  b=2", "a=1, b=2"), ("a=b; q=1.0", "a=b;q=1.0"),
      ("a=(1 2); q=1.0", "a=(1 2);q=1.0"), ("a=3;c;d=5", "a=3;c;d=5"),
      ("a=b;  c=1  ,  d=e; f=2; g=3", "a=b;c=1, d=e;f=2;g=3"), ("a=00", "a=0"), ("a=-0", "a=0"),
      ("a=-042", "a=-42"), ("a=\"foo \\\"bar\\\"\"", "a=\"foo \\\"bar\\\"\""), ("a=::", "a=::"),
      ("a=1,\tb=2", "a=1, b=2"), ("a=?0", "a=?0"), ("a=foo123;456=1", nil), ("a=*foo", "a=*foo"),
    ] as [(String, String?)])
  func spellings(text: String, expected: String?) {
    #expect(StructuredFieldTests.rewritten(text) == expected)
  }
}
