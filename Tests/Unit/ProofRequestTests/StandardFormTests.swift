// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofRequest

/// The standard form: a change of anything that it covers is noticed, and what it does not cover is
/// refused.
@Suite struct StandardFormTests {
  static let body = Array(#"{"cents":1200}"#.utf8)

  static func key(_ byte: UInt8 = 7) -> SecretBytes {
    SecretBytes(copying: [UInt8](repeating: byte, count: 32).span)
  }

  /// Whether a request is read and its signature is a key's.
  static func isSigned(
    _ head: RequestHead, _ byte: UInt8 = 7, form: StandardForm = StandardForm()
  ) throws -> Bool {
    let proof = try StandardProof(reading: head, form: form)
    return key(byte).withBytes { proof.isSigned(with: $0) }
  }

  static func signed(
    _ method: String = "POST", _ url: String = "https://api.example.com/pay?to=7",
    fields: [(name: String, value: String)] = [("Content-Type", "application/json")],
    form: StandardForm = StandardForm()
  ) throws -> RequestHead {
    var head = try RequestHead(method: method, url: url, fields: HeaderFields(fields))
    let body = StandardForm.needsDigest(method) ? ContentDigest(of: body.span) : nil
    try key().withBytes { key in
      try form.sign(
        &head, body: body, with: key, keyID: "handle", created: 1_790_000_000, nonce: "n0")
    }
    return head
  }

  @Test("A signed request is read and is the key's, and no other key's")
  func honest() throws {
    let proof = try StandardProof(reading: try Self.signed())
    #expect(try Self.isSigned(try Self.signed()))
    #expect(try !Self.isSigned(try Self.signed(), 8))
    #expect(proof.keyID == "handle" && proof.created == 1_790_000_000 && proof.nonce == "n0")
    #expect(proof.body == ContentDigest(of: Self.body.span))
  }

  @Test("Worked example: field by field")
  func example() throws {
    let head = try Self.signed()
    #expect(
      head.fields.values(of: "signature-input") == [
        #"proofkit=("@method" "@authority" "@path" "@query" "content-digest" "content-type")"#
          + #";created=1790000000;keyid="handle";alg="hmac-sha256";nonce="n0";tag="proofkit""#
      ])
    #expect(
      head.fields.values(of: "content-digest") == [
        "sha-256=:" + Base64.encode(Digest(hashing: Self.body).bytes) + ":"
      ])
  }

  @Test("A request in which one covered part differs is not the key's")
  func changes() throws {
    let fields = [
      (name: "Content-Type", value: "application/json"), ("Authorization", "Bearer a"),
      ("X-HTTP-Method-Override", "PATCH"), ("Proof-Account", "u1"),
    ]
    let head = try Self.signed(fields: fields)
    #expect(try Self.isSigned(head))
    let changed: [RequestHead] = [
      try RequestHead(
        method: "PUT", scheme: .https, authority: head.authority, target: head.target,
        fields: head.fields),
      try RequestHead(
        method: "POST", scheme: .https, authority: "other.example.com", target: head.target,
        fields: head.fields),
      try RequestHead(
        method: "POST", scheme: .https, authority: head.authority, target: "/pay?to=8",
        fields: head.fields),
      try RequestHead(
        method: "POST", scheme: .https, authority: head.authority, target: "/pay/?to=7",
        fields: head.fields),
    ]
    for other in changed { #expect(try !Self.isSigned(other)) }
    for name in ["content-type", "authorization", "x-http-method-override", "proof-account"] {
      var other = head
      try other.fields.set(name, "z")
      #expect(try !Self.isSigned(other), "\(name)")
    }
    var other = head
    try other.fields.set("content-digest", ContentDigest(of: [UInt8(0)].span).text)
    #expect(try !Self.isSigned(other))
  }

  @Test("A field that comes later, and that the form covers where present, is refused as uncovered")
  func added() throws {
    for name in StandardForm.whenPresent {
      var head = try Self.signed("GET", fields: [])
      try head.fields.append(name, "x")
      #expect(throws: RequestRefusal.uncoveredComponent, "\(name)") {
        try StandardProof(reading: head)
      }
    }
    var form = StandardForm()
    form.moreFields = ["cookie"]
    var head = try Self.signed("GET", fields: [])
    try head.fields.append("Cookie", "s=1")
    #expect(throws: Never.self) { try StandardProof(reading: head) }
    #expect(throws: RequestRefusal.uncoveredComponent) {
      try StandardProof(reading: head, form: form)
    }
  }

  @Test("A covered component with a parameter does not stand for the one that is required")
  func parameterisedComponent() throws {
    var head = try Self.signed()
    let input = try #require(head.fields.values(of: "signature-input").first)
    try head.fields.set(
      "signature-input", input.replacing("\"content-type\"", with: "\"content-type\";bs"))
    #expect(throws: RequestRefusal.uncoveredComponent) { try StandardProof(reading: head) }
  }

  @Test("A GET with a body, announced by length or by chunks, is refused without a digest")
  func uncoveredBody() throws {
    for (name, value) in [("Content-Length", "1"), ("Transfer-Encoding", "chunked")] {
      var head = try Self.signed("GET", fields: [])
      try head.fields.append(name, value)
      #expect(throws: RequestRefusal.uncoveredBody) { try StandardProof(reading: head) }
    }
    var empty = try Self.signed("GET", fields: [])
    try empty.fields.append("Content-Length", "0")
    #expect(throws: Never.self) { try StandardProof(reading: empty) }
    var post = try Self.signed("GET", fields: [])
    post = try RequestHead(
      method: "POST", scheme: .https, authority: post.authority, target: post.target,
      fields: post.fields)
    #expect(throws: RequestRefusal.uncoveredBody) { try StandardProof(reading: post) }
  }

  @Test("Fields that can stand once are refused twice")
  func repeated() throws {
    for name in ["Authorization", "Content-Type", "Content-Digest", "Host", "Content-Length"] {
      var head = try Self.signed(fields: [("Authorization", "a"), ("Content-Type", "b")])
      while head.fields.values(of: name.lowercased()).count < 2 {
        try head.fields.append(name, "1")
      }
      #expect(throws: RequestRefusal.repeatedField, "\(name)") { try StandardProof(reading: head) }
    }
  }

  @Test("Two signatures with the tag are refused; another one beside is left alone")
  func labels() throws {
    var head = try Self.signed()
    let input = try #require(head.fields.values(of: "signature-input").first)
    let tag = try #require(head.fields.values(of: "signature").first)
    var twice = head
    try twice.fields.append("signature-input", input.replacing("proofkit=", with: "b="))
    try twice.fields.append("signature", tag.replacing("proofkit=", with: "b="))
    #expect(throws: RequestRefusal.severalSignatures) { try StandardProof(reading: twice) }
    try head.fields.append("signature-input", #"proxy=("@method");created=1;keyid="p""#)
    try head.fields.append("signature", "proxy=:AAAA:")
    #expect(try Self.isSigned(head))
  }

  @Test("A signed request gets no second signature, and another one's is left alone")
  func signedTwice() throws {
    var head = try Self.signed()
    let input = try #require(head.fields.values(of: "signature-input").first)
    let tag = try #require(head.fields.values(of: "signature").first)
    func sign(_ head: inout RequestHead) throws {
      try Self.key().withBytes { key in
        try StandardForm().sign(
          &head, body: ContentDigest(of: Self.body.span), with: key, keyID: "handle",
          created: 1_790_000_000, nonce: "n1")
      }
    }
    // Under its label.
    let signed = head
    #expect(throws: RequestRefusal.self) { try sign(&head) }
    #expect(head == signed)
    // Under another label, with its tag.
    try head.fields.set("signature-input", input.replacing("proofkit=", with: "b="))
    try head.fields.set("signature", tag.replacing("proofkit=", with: "b="))
    #expect(throws: RequestRefusal.severalSignatures) { try sign(&head) }
    try head.fields.set("signature-input", #"proxy=("@method");created=1;keyid="p""#)
    try head.fields.set("signature", "proxy=:AAAA:")
    try sign(&head)
    #expect(try Self.isSigned(head))
  }

  @Test("The signature base has a line for each component, as RFC 9421, section 2.5, spells it")
  func base() throws {
    let head = try RequestHead(
      method: "POST", url: "https://api.example.com/pay?to=7",
      fields: HeaderFields([("Content-Type", "text/plain"), ("X-Amount", "12"), ("X-Amount", "5")]))
    let digest = ContentDigest(of: Self.body.span)
    var form = StandardForm()
    form.moreFields = ["x-amount", "x-absent", "x-amount"]
    let draft = try SignatureDraft(of: form, head, digest, .init(.hmac, "k", 5, "n"))
    let components =
      #"("@method" "@authority" "@path" "@query" "content-digest" "content-type" "x-amount")"#
    #expect(
      String(decoding: draft.base, as: UTF8.self).split(separator: "\n").map(String.init) == [
        #""@method": POST"#, #""@authority": api.example.com"#, #""@path": /pay"#,
        #""@query": ?to=7"#, #""content-digest": "# + digest.text, #""content-type": text/plain"#,
        #""x-amount": 12, 5"#,
        #""@signature-params": "# + components
          + #";created=5;keyid="k";alg="hmac-sha256";nonce="n";tag="proofkit""#,
      ])
  }

  @Test("An address of IPv6 stands in brackets and has three characters at least")
  func addresses() throws {
    func authority(_ host: String) -> String? {
      try? RequestHead(method: "GET", url: "https://\(host)/").authority
    }
    #expect(authority("[::1]") == "[::1]")
    #expect(authority("[::1]:8443") == "[::1]:8443")
    for host in ["[::]", "[:]", "[]", "[", "[::1", "[::g]", "[::1]x"] {
      #expect(authority(host) == nil, "\(host)")
    }
  }

  /// Edits of Signature-Input, and what each meets.
  static let edits: [(from: String, to: String, refusal: RequestRefusal)] = [
    (";created=1790000000", "", .missingParameter),
    (";keyid=\"handle\"", "", .missingParameter),
    (";nonce=\"n0\"", "", .missingParameter),
    (";nonce=\"n0\"", ";nonce=\"\"", .badParameter),
    (";created=1790000000", ";created=\"1790000000\"", .badParameter),
    (";created=1790000000", ";created=1790000000.5", .badParameter),
    (";created=1790000000", ";created=1790000000;created=1790000001", .malformedInput),
    ("hmac-sha256", "hmac-sha512", .wrongAlgorithm),
    ("hmac-sha256", "none", .wrongAlgorithm),
    (";alg=\"hmac-sha256\"", ";alg=hmac-sha256", .badParameter),
    (";nonce=", ";more=1;nonce=", .badParameter),
    (";tag=\"proofkit\"", "", .noSignature),
    (";tag=\"proofkit\"", ";tag=proofkit", .noSignature),
    ("\"@method\" ", "", .uncoveredComponent),
    ("\"@authority\" ", "", .uncoveredComponent),
    ("\"@path\" ", "", .uncoveredComponent),
    ("\"@query\" ", "", .uncoveredComponent),
    (" \"content-digest\"", "", .uncoveredComponent),
    (" \"content-type\"", "", .uncoveredComponent),
    ("\"@method\" ", "\"@method\" \"@method\" ", .repeatedComponent),
    ("\"@method\" ", "\"@method\" \"@status\" ", .unknownComponent),
    ("\"@method\" ", "\"@method\" \"@method\";req ", .unknownComponent),
    ("\"@method\" ", "\"@method\" \"X-A\" ", .unknownComponent),
    ("\"@method\" ", "\"@method\" \"x-a\" ", .missingField),
    ("\"@method\" ", "\"@method\"  @method ", .malformedInput),
    ("\"@method\" ", "\"@method\" method ", .malformedInput),
    ("proofkit=", "other=", .labelWithoutSignature),
  ]

  @Test("Each edit of the signature's parameters has a refusal of its own", arguments: edits)
  func edited(from: String, to: String, refusal: RequestRefusal) throws {
    var head = try Self.signed()
    let input = try #require(head.fields.values(of: "signature-input").first)
    #expect(input.contains(from))
    let range = try #require(input.firstRange(of: from))
    try head.fields.set(
      "signature-input", input[..<range.lowerBound] + to + input[range.upperBound...])
    #expect(throws: refusal) { try StandardProof(reading: head) }
  }

  /// Values of Signature, and what each meets.
  static let signatures: [(value: String, refusal: RequestRefusal)] = [
    ("proofkit=:AAAA:", .wrongSignature),
    ("proofkit=::", .wrongSignature),
    ("proofkit=\"AAAA\"", .malformedSignature),
    ("proofkit=:AAAB=:", .malformedSignature),
    ("proofkit=:AA_-:", .malformedSignature),
    ("proofkit=:AB==:", .malformedSignature),
    ("proofkit", .malformedSignature),
    ("", .labelWithoutSignature),
    (",", .malformedSignature),
    ("proofkit=:AAAA:,", .malformedSignature),
    ("proofkit=:AAAA:, proofkit=:AAAA:", .malformedSignature),
  ]

  @Test("A malformed signature is refused", arguments: signatures)
  func badSignature(value: String, refusal: RequestRefusal) throws {
    var head = try Self.signed()
    try head.fields.set("signature", value)
    #expect(throws: refusal) { try StandardProof(reading: head) }
  }

  @Test("Allowing one spelling allows no other")
  func independent() {
    let rules: [TargetRule] = [
      .encodedSlash, .dotSegment, .doubleSlash, .backslash, .encodedZero, .brokenEscape,
      .emptyQuery,
    ]
    for rule in rules {
      #expect(rules.count { !$0.isDisjoint(with: rule) } == 1, "\(rule)")
    }
  }

  @Test("Targets that servers read differently are refused unless the route allows them")
  func targets() throws {
    let cases: [(target: String, rule: TargetRule)] = [
      ("/a%2fb", .encodedSlash), ("/a%5Cb", .encodedSlash), ("/a/./b", .dotSegment),
      ("/a/..", .dotSegment), ("/a/%2e%2E/b", .dotSegment), ("/a/..;x=1/b", .dotSegment),
      ("/.", .dotSegment), ("//a", .doubleSlash), ("/a//b", .doubleSlash), ("/a\\b", .backslash),
      ("/a%00", .encodedZero), ("/a?b=%00", .encodedZero), ("/a%2", .brokenEscape),
      ("/a%zz", .brokenEscape), ("/a?b=%", .brokenEscape),
    ]
    for (target, rule) in cases {
      var form = StandardForm()
      form.allowed = rule
      let head = try Self.signed("GET", "https://a.example.com" + target, fields: [], form: form)
      #expect(TargetRule.found(in: head) == rule, "\(target)")
      #expect(throws: RequestRefusal.ambiguousTarget, "\(target)") {
        try StandardProof(reading: head)
      }
      #expect(try Self.isSigned(head, form: form))
    }
    for target in ["/", "/a/", "/...", "/a.b/..c", "/a?b=//..%2f", "/a;b/c", "/%41"] {
      let head = try RequestHead(method: "GET", url: "https://a.example.com" + target)
      #expect(TargetRule.found(in: head).isEmpty, "\(target)")
    }
    var form = StandardForm()
    form.allowed = .emptyQuery
    #expect(throws: RequestRefusal.ambiguousTarget) {
      try Self.signed("GET", "https://a.example.com/a?", fields: [], form: form)
    }
  }

  @Test("A header that HTTP forbids, or with a line feed, never becomes a field")
  func fields() {
    for (name, value) in [
      ("a b", "c"), ("", "c"), ("a", "b\nc"), ("a", "b\rc"), ("a:", "b"),
      ("a", "b\0"),
    ] {
      #expect(throws: RequestFormatError.badField(name)) { try HeaderFields([(name, value)]) }
    }
  }

  @Test("Long fields and many components are refused before they are read")
  func limits() throws {
    var head = try Self.signed()
    try head.fields.set("signature-input", String(repeating: "a", count: 5000))
    #expect(throws: RequestRefusal.tooLong) { try StandardProof(reading: head) }
    try head.fields.set("signature-input", String(repeating: "a", count: 4096))
    let short = #expect(throws: RequestRefusal.self) { try StandardProof(reading: head) }
    #expect(short != .tooLong)
    try head.fields.set("signature-input", String(repeating: "a", count: 4097))
    #expect(throws: RequestRefusal.tooLong) { try StandardProof(reading: head) }
    let many = (0..<40).map { "\"x\($0)\"" }.joined(separator: " ")
    try head.fields.set("signature-input", "proofkit=(\(many));tag=\"proofkit\"")
    #expect(throws: RequestRefusal.tooLong) { try StandardProof(reading: head) }
  }
}
