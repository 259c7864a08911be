// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import Testing

@testable import ProofRequest

/// RFC 9421 by the RFC's own vectors and by those of another project.
@Suite struct SignatureVectorTests {
  @Test("The HMAC and Ed25519 vectors of RFC 9421, appendix B, are signed as the RFC says")
  func appendixB() throws {
    let file = try Vectors.file("rfc9421/rfc9421.json")
    let text = try #require(file["request"] as? String)
    let keys = try #require(file["keys"] as? [String: String])
    let lines = text.components(separatedBy: "\n\n")[0].components(separatedBy: "\n")
    var fields = HeaderFields()
    for line in lines.dropFirst() {
      let colon = try #require(line.firstIndex(of: ":"))
      try fields.append(String(line[..<colon]), String(line[line.index(after: colon)...]))
    }
    let tests = try #require(file["tests"] as? [[String: String]])
    #expect(tests.count == 2)
    for test in tests {
      let label = try #require(test["label"])
      let tag = try #require(test["signature"])
      var head = try RequestHead(
        method: "POST", url: "https://example.com/foo?param=Value&Pet=dog", fields: fields)
      let input = try #require(test["input"])
      try head.fields.append("Signature-Input", "\(label)=\(input)")
      try head.fields.append("Signature", "\(label)=:\(tag):")
      let signature = try MessageSignature.read(from: head, label: label)
      let base = try signature.base(of: head)
      if test["alg"] == "hmac-sha256" {
        let text = try #require(keys["test-shared-secret"])
        let bytes = try #require(Base64.decode(text))
        let key = SecretBytes(copying: bytes.span)
        #expect(CoreCrypto.hmac(key: key, base.span).bytes == signature.bytes)
      } else {
        let text = try #require(keys["test-key-ed25519"])
        let der = try #require(Base64.decode(text))
        let key = try IssuerPublicKey(Array(der.suffix(32)))
        try CoreCrypto.verify(signature.bytes.span, of: base.span, by: key)
      }
    }
  }

  /// Positive vectors whose profile rewrites the target before it signs. ProofKit signs the raw target.
  static let rewritten = [
    "006-dot-segment-path.json", "009-percent-encoded-unreserved-decoded.json",
  ]

  @Test("Requests that another project signed have the base that it printed, and its signature")
  func positive() throws {
    let keys = try #require(
      try Vectors.file("request-signing/keys.json")["keys"] as? [[String: Any]])
    var checked = 0
    for name in try Vectors.names("request-signing/positive") where !Self.rewritten.contains(name) {
      let foreign = try ForeignRequest("positive/\(name)")
      let head = try foreign.standardHead()
      let signature = try MessageSignature.read(from: head, label: "sig1")
      var base = try signature.base(of: head)
      if name.hasPrefix("008") {
        // The profile writes hexadecimal digits of escapes in upper case.
        let text = String(decoding: base, as: UTF8.self)
        base = Array(text.replacingOccurrences(of: "%e2%98%83", with: "%E2%98%83").utf8)
      }
      if let expected = foreign.base { #expect(String(decoding: base, as: UTF8.self) == expected) }
      let key = try #require(keys.first { $0["kid"] as? String == foreign.keyID })
      guard key["crv"] as? String == "Ed25519" else { continue }
      let text = try #require(key["x"] as? String)
      let x = try #require(Base64.decode(text, .url))
      try CoreCrypto.verify(
        signature.bytes.span, of: base.span, by: try IssuerPublicKey(x))
      checked += 1
    }
    #expect(checked == 9)
  }

  /// The refusal of each negative vector. Vectors that test the other project's own policy (key purposes,
  /// required operations, rate limits, life of a signature) are not in the list.
  static let negative: [(name: String, refusal: RequestRefusal)] = [
    ("001-no-signature-header.json", .noSignature),
    ("002-wrong-tag.json", .noSignature),
    ("005-alg-not-allowed.json", .noSignature),
    ("011-malformed-header.json", .malformedInput),
    ("019-signature-without-signature-input.json", .malformedInput),
    ("021-duplicate-signature-input-label.json", .malformedInput),
    ("023-multi-valued-content-digest.json", .noSignature),
    ("024-unquoted-string-param.json", .noSignature),
  ]

  @Test(
    "Malformed requests of another project are refused for a reason of our own", arguments: negative
  )
  func malformed(name: String, refusal: RequestRefusal) throws {
    let head = try ForeignRequest("negative/\(name)").standardHead()
    #expect(throws: refusal) { try StandardProof(reading: head) }
  }

  @Test("Two content types in one line are refused, as in two lines")
  func contentTypes() throws {
    let foreign = try ForeignRequest("negative/022-multi-valued-content-type.json").head()
    let value = try #require(foreign.fields.values(of: "content-type").first)
    var head = try StandardFormTests.signed()
    try head.fields.set("content-type", value)
    #expect(throws: RequestRefusal.repeatedField) { try StandardProof(reading: head) }
    try head.fields.set("content-type", #"multipart/form-data; boundary="a,b""#)
    #expect(throws: Never.self) { try StandardProof(reading: head) }
  }

  @Test("A host outside ASCII, and one that is no host, is no authority")
  func authorities() throws {
    let cases = try #require(
      try Vectors.file("request-signing/canonicalization.json")["cases"] as? [[String: Any]])
    // The profile rewrites these hosts and targets; ProofKit asks the caller for the encoded form.
    let rewritten = [
      "idn-to-punycode", "idn-mixed-case-to-punycode", "idn-u-label-root-dot-stripped",
      "userinfo-stripped", "fragment-stripped",
    ]
    for vector in cases {
      let name = try #require(vector["name"] as? String)
      let url = try #require(vector["input_url"] as? String)
      let head = try? RequestHead(method: "GET", url: url)
      let expected = rewritten.contains(name) ? nil : vector["expected_authority"] as? String
      #expect(head?.authority == expected, "\(name)")
    }
  }
}
