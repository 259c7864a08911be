// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofRequest

/// The bounds of a signature as a signer writes it and as a verifier reads it, for both kinds.
@Suite struct SignatureBoundTests {
  private static let url = "https://api.example.com/pay?to=7"

  private static func refusal(_ body: () throws -> Void) -> RequestRefusal? {
    do {
      try body()
      return nil
    } catch { return error as? RequestRefusal }
  }

  private static func sign(
    _ head: inout RequestHead, _ kind: SignatureKind, _ keyID: String = "handle",
    body: ContentDigest? = nil, form: StandardForm = StandardForm()
  ) throws {
    switch kind {
    case .hmac:
      try StandardFormTests.key().withBytes { key in
        try form.sign(
          &head, body: body, with: key, keyID: keyID, created: 1_790_000_000, nonce: "n0")
      }
    case .installation:
      try form.sign(&head, body: body, keyID: keyID, created: 1_790_000_000, nonce: "n0") { _ in
        try InstallationSignature([UInt8](repeating: 5, count: 64))
      }
    }
  }

  private static func head(_ fields: [(name: String, value: String)] = []) throws -> RequestHead {
    try RequestHead(method: "GET", url: url, fields: HeaderFields(fields))
  }

  @Test("Signature-Input has up to 4,096 bytes, which a verifier reads")
  func longest() throws {
    for (kind, name) in [
      (SignatureKind.hmac, "proofkit=("), (.installation, "proofkit-key=("),
    ] {
      var short = try Self.head()
      try Self.sign(&short, kind, "k")
      let rest = try #require(short.fields.first("signature-input")).utf8.count - 1
      for (count, refusal) in [
        (4_095, nil), (4_096, nil), (4_097, .tooLong),
      ] as [(Int, RequestRefusal?)] {
        var head = try Self.head()
        let keyID = String(repeating: "k", count: count - rest)
        #expect(Self.refusal { try Self.sign(&head, kind, keyID) } == refusal, "\(kind) \(count)")
        guard refusal == nil else { continue }
        let input = try #require(head.fields.first("signature-input"))
        #expect(input.utf8.count == count && input.hasPrefix(name))
        switch kind {
        case .hmac: #expect(try StandardProof(reading: head).keyID == keyID)
        case .installation: #expect(try InstallationProof(reading: head).keyID == keyID)
        }
      }
    }
  }

  @Test("A signature by an installation's key has its own tag, algorithm, 64 bytes and message")
  func installation() throws {
    var head = try Self.head([("Content-Type", "text/plain")])
    let digest = ContentDigest(of: [1, 2].span)
    var message: [UInt8] = []
    try StandardForm().sign(
      &head, body: digest, keyID: "k", created: UnixTime(seconds: 5), nonce: "n"
    ) {
      message = $0
      return try InstallationSignature((1...64).map { UInt8($0) })
    }
    let parameters =
      #"("@method" "@authority" "@path" "@query" "content-digest" "content-type")"#
      + #";created=5;keyid="k";alg="ecdsa-p256-sha256";nonce="n";tag="proofkit-key""#
    #expect(head.fields.first("signature-input") == "proofkit-key=" + parameters)
    #expect(
      head.fields.first("signature") == "proofkit-key=:"
        + "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAhIiMkJSYnKCkqKywtLi8w"
        + "MTIzNDU2Nzg5Ojs8PT4/QA==:")
    let proof = try InstallationProof(reading: head)
    #expect(proof.message == message && proof.signature.bytes == (1...64).map { UInt8($0) })
    #expect(
      String(decoding: message, as: UTF8.self).hasSuffix("\"@signature-params\": " + parameters))
    #expect(proof.keyID == "k" && proof.nonce == "n" && proof.body == digest)
    #expect(proof.created == 5 && proof.expires == nil)
    for count in [0, 32, 63, 65] {
      let text = Base64.encode([UInt8](repeating: 5, count: count))
      try head.fields.set("signature", "proofkit-key=:\(text):")
      #expect(throws: RequestRefusal.wrongSignature, "\(count)") {
        try InstallationProof(reading: head)
      }
    }
    #expect(throws: RequestRefusal.noSignature) { try StandardProof(reading: head) }
  }

  /// RFC 9421, section 2.3.
  @Test("A proof may expire and may leave its algorithm out, and each parameter has its type")
  func parameters() throws {
    var head = try Self.head()
    try Self.sign(&head, .hmac)
    let input = try #require(head.fields.first("signature-input"))
    let edits: [(String, String, RequestRefusal?, Int64?)] = [
      (";alg=\"hmac-sha256\"", "", nil, nil),
      (";nonce", ";expires=1790000060;nonce", nil, 1_790_000_060),
      (";nonce", ";expires=-1;nonce", nil, -1),
      (";nonce", ";expires=1.5;nonce", .badParameter, nil),
      (";nonce", ";expires=\"1\";nonce", .badParameter, nil),
      (";nonce", ";expires;nonce", .badParameter, nil),
      ("\"handle\"", "\"\"", .badParameter, nil), ("\"handle\"", "handle", .badParameter, nil),
      ("\"handle\"", "\"\\\"\"", nil, nil), ("\"n0\"", "n0", .badParameter, nil),
      ("\"n0\"", "\"" + String(repeating: "\\\\", count: 128) + "\"", nil, nil),
      ("\"n0\"", "\"" + String(repeating: "\\\\", count: 129) + "\"", .badParameter, nil),
      ("\"hmac-sha256\"", "\"ecdsa-p256-sha256\"", .wrongAlgorithm, nil),
      ("\"hmac-sha256\"", "\"hmac-sha25\"", .wrongAlgorithm, nil),
    ]
    for (from, to, refusal, expires) in edits {
      var other = head
      try other.fields.set("signature-input", input.replacing(from, with: to))
      #expect(Self.refusal { _ = try StandardProof(reading: other) } == refusal, "\(to)")
      guard refusal == nil else { continue }
      #expect(try StandardProof(reading: other).expires?.seconds == expires, "\(to)")
    }
  }

  @Test("A signer refuses a request that has only one of the two fields, and changes nothing")
  func halves() throws {
    for (fields, refusal) in [
      ([(name: "Signature", value: "proofkit=:AAAA:")], .malformedSignature),
      ([(name: "Signature-Input", value: "proxy=();created=1")], .labelWithoutSignature),
      ([(name: "Signature", value: "proxy=:AAAA:")], nil),
    ] as [([(name: String, value: String)], RequestRefusal?)] {
      for kind in [SignatureKind.hmac, .installation] {
        var fields = fields
        if kind == .installation {
          fields[0].value = fields[0].value.replacing("proofkit", with: "proofkit-key")
        }
        var head = try Self.head(fields)
        let before = head
        #expect(Self.refusal { try Self.sign(&head, kind) } == refusal, "\(fields)")
        #expect((head == before) == (refusal != nil))
      }
    }
  }

  @Test("A signer replaces a digest by the body's, even where it stood twice, and checks another")
  func replacedDigests() throws {
    let digest = ContentDigest(of: [1].span)
    var head = try Self.head([("Content-Digest", "a"), ("Content-Digest", "b")])
    #expect(Self.refusal { try Self.sign(&head, .hmac) } == .repeatedField)
    try Self.sign(&head, .hmac, body: digest)
    #expect(head.fields.values(of: "content-digest") == [digest.text])
    #expect(try StandardProof(reading: head).body == digest)
    var other = try Self.head([("Content-Digest", "a")])
    #expect(Self.refusal { try Self.sign(&other, .hmac) } == .malformedDigest)
    var own = try Self.head([("Content-Digest", digest.text)])
    try Self.sign(&own, .hmac)
    #expect(try StandardProof(reading: own).body == digest)
  }

  @Test("A further field is covered once, and not a second time if the form covers it")
  func moreFields() throws {
    var form = StandardForm()
    form.moreFields = ["authorization", "x-a", "content-digest", "x-b", "x-a", "cookie"]
    var head = try Self.head([("X-A", "1"), ("Authorization", "b"), ("Cookie", "c")])
    try Self.sign(&head, .hmac, form: form)
    let input = try #require(head.fields.first("signature-input"))
    #expect(
      input.hasPrefix(
        #"proofkit=("@method" "@authority" "@path" "@query" "authorization" "x-a" "cookie");"#))
    #expect(try StandardFormTests.isSigned(head, form: form))
  }

  /// RFC 9530, section 2; the members of other algorithms are not used.
  @Test("Content-Digest is a dictionary of byte sequences without parameters of SHA-256")
  func contentDigests() throws {
    let body = StandardFormTests.body
    let digest = ContentDigest(of: body.span)
    let own = digest.text
    for (field, isRead) in [
      (own, true), (own + ", md5=:AAEC:", true), ("md5=:AAEC:;a=1, " + own, true),
      (" " + own, true), (own + ";a=1", false), (own + ";a", false), (own + ", b=1", false),
      (own + ", b", false), ("b=?0, " + own, false), ("md5=:AAEC:", false), ("", false),
      ("sha-256=:AAEC:", false), ("sha-512" + own.dropFirst(7), false), (own + ",", false),
      (String(own.dropLast()), false), (own + ":", false), ("sha-256", false),
    ] {
      let read = try? ContentDigest(reading: field)
      #expect(read == (isRead ? digest : nil), "\(field)")
    }
  }

  @Test("Components that differ in one part only are two components")
  func neighbours() throws {
    var head = try Self.head([("X", "a=1"), ("Y", "a=1")])
    try head.fields.append(
      "Signature-Input", #"s=("x";bs "y";bs "x";key="a" "y";key="a" "x" "y");created=1"#)
    try head.fields.append("Signature", "s=:AAAA:")
    let signature = try MessageSignature.read(from: head, label: "s")
    let base = String(decoding: try signature.base(of: head), as: UTF8.self)
    #expect(base.hasPrefix("\"x\";bs: :YT0x:\n\"y\";bs: :YT0x:\n\"x\";key=\"a\": 1\n"))
    #expect(signature.covers("x") && signature.covers("y"))
    // The list of the last signature ends with the field.
    try head.fields.set("Signature-Input", #"s=("x")"#)
    let last = try MessageSignature.read(from: head, label: "s")
    #expect(last.covers("x") && !last.covers("y") && !last.covers("s"))
  }

  @Test("Values at the bounds of a structured field are written as they were read")
  func structured() {
    for text in [
      "a=0", "a=0.0", "a=0.001", "a=10.05", "a=-1.5", "a=999999999999.999", "a=\" ~\"", "a=9",
      "a=\"\"", "a=A", "a=*", "a=a:/!#$%&'*+-.^_`|~Z", "a=:AA==:", "a=:AAA=:",
    ] {
      #expect(StructuredFieldTests.rewritten(text) == text)
    }
    for text in ["a=\"\u{1F}\"", "a=\"\u{7F}\"", "a=\u{7F}", "`=1", "{=1", "a=(1 2)b", "a=1;"] {
      #expect(StructuredFieldTests.rewritten(text) == nil, "\(text)")
    }
    #expect(StructuredDictionary(Array("a=:AA".utf8) + [0xFF] + Array("A:".utf8)) == nil)
    #expect(StructuredDictionary(Array("a=\"".utf8) + [0xFF] + Array("\"".utf8)) == nil)
  }

  @Test("A dictionary has the places of its members, and the text within quotes")
  func places() throws {
    let dictionary = try #require(
      StructuredDictionary(Array(#"a="x\"\\y", b=(1 2);c"#.utf8)))
    #expect(dictionary.string(1) == #"x"\y"# && dictionary.stringCount(1) == 4)
    #expect(dictionary.members == [0, 2])
    for (key, place) in [("a", 0), ("b", 2), ("c", nil), ("x", nil)] as [(String, Int?)] {
      let bytes = Array(key.utf8)
      let found = dictionary.member(bytes.span)
      #expect(found == place, "\(key)")
    }
  }
}
