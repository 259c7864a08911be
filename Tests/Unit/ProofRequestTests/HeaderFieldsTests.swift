// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofRequest

/// The lines of a header: their order, their names and what is known of them.
@Suite struct HeaderFieldsTests {
  private static let names: [(String, ComponentName)] = [
    ("authorization", .authorization), ("content-type", .contentType),
    ("x-http-method-override", .methodOverride), ("proof-account", .account),
    ("content-digest", .contentDigest), ("content-length", .contentLength),
    ("transfer-encoding", .transferEncoding), ("host", .host),
    ("signature-input", .signatureInput), ("signature", .signature), ("@method", .method),
    ("@authority", .authority), ("@path", .path), ("@query", .query), ("@scheme", .scheme),
    ("@request-target", .requestTarget), ("@target-uri", .targetURI),
    ("@query-param", .queryParameter),
  ]

  @Test("Each known name has a number of its own, a line, and is a field's or a derived one")
  func knownNames() {
    for (place, (name, component)) in Self.names.enumerated() {
      #expect(ComponentName(name.utf8.span) == component && component.rawValue == place + 1)
      #expect("\(component.line)" == "\"\(name)\": ")
      #expect(component.isDerived == name.hasPrefix("@"))
      var set = ComponentSet()
      #expect(!set.has(component))
      set.add(component)
      for (_, other) in Self.names { #expect(set.has(other) == (other == component)) }
      #expect(!set.has(.other))
      set.add(.other)
      #expect(set == ComponentSet(component) && set.rawValue.nonzeroBitCount == 1)
      set.drop(.other)
      set.drop(component)
      #expect(set.isEmpty)
      // Another name of this length is not known.
      let other = name.dropLast() + "0"
      #expect(ComponentName(String(other).utf8.span) == .other, "\(other)")
    }
    for count in 0..<30 {
      #expect(ComponentName(String(repeating: "z", count: count).utf8.span) == .other)
    }
  }

  @Test("Lines keep their order, with names in lower case and values without outer white space")
  func order() throws {
    var fields = HeaderFields()
    for (name, value) in [
      ("X-A", " 1"), ("x-b", "2\t"), ("X-a", " \t3 4\t "), ("X-C", "  "), ("X-D", ""),
    ] { try fields.append(name, value) }
    #expect(fields.fields.map(\.name) == ["x-a", "x-b", "x-a", "x-c", "x-d"])
    #expect(fields.fields.map(\.value) == ["1", "2", "3 4", "", ""])
    #expect(fields.values(of: "x-a") == ["1", "3 4"] && fields.values(of: "X-A") == [])
    #expect(fields.count(of: "x-a") == 2 && fields.count(of: "x-b") == 1)
    #expect(fields.count(of: "x-z") == 0 && fields.first("x-a") == "1")
    #expect(fields.first("x-z") == nil && fields.first("x-c") == "")
  }

  @Test("A line that replaces others takes the place at the end, and stands once")
  func replaced() throws {
    for (name, component) in Self.names.filter({ !$0.0.hasPrefix("@") }) {
      var fields = try HeaderFields([(name, "1"), ("x", "2"), (name.uppercased(), "3")])
      #expect(fields.known.has(component) && fields.repeated.has(component))
      #expect(fields.combined(component) == Array("1, 3".utf8))
      try fields.set(name.uppercased(), "4")
      #expect(fields.fields.map(\.name) == ["x", name])
      #expect(fields.known.has(component) && !fields.repeated.has(component))
      #expect(fields.first(component) == "4" && fields.combined(component) == Array("4".utf8))
      try fields.append(name, "5")
      #expect(fields.repeated.has(component))
      fields.replace(name, component, checked: "6")
      #expect(fields.values(of: name) == ["6"] && !fields.repeated.has(component))
      fields.replace(name, component, checked: "7")
      #expect(fields.values(of: name) == ["7"] && fields.known.has(component))
    }
    var none = HeaderFields()
    #expect(none.first(ComponentName.host) == nil && none.combined(.host) == nil)
    none.replace("host", .host, checked: "a")
    #expect(none.first(ComponentName.host) == "a")
  }

  @Test("A line that HTTP forbids changes nothing")
  func unchanged() throws {
    var fields = try HeaderFields([("host", "1"), ("host", "2")])
    let before = fields
    #expect(throws: RequestFormatError.badField("Host")) { try fields.set("Host", "a\n") }
    #expect(fields == before && fields.repeated.has(.host) && fields.known.has(.host))
    #expect(throws: RequestFormatError.badField("Ho st")) { try fields.append("Ho st", "a") }
    #expect(fields == before)
  }

  @Test("A signed request whose fields stood twice before is signed after one replaced them")
  func signedAfterwards() throws {
    var head = try RequestHead(
      method: "GET", url: "https://a.example.com/",
      fields: HeaderFields([("Authorization", "a"), ("Authorization", "b")]))
    func sign() throws {
      try StandardFormTests.key().withBytes { key in
        try StandardForm().sign(
          &head, body: nil, with: key, keyID: "k", created: 1_790_000_000, nonce: "n")
      }
    }
    #expect(throws: RequestRefusal.repeatedField) { try sign() }
    try head.fields.set("Authorization", "c")
    try sign()
    #expect(try StandardFormTests.isSigned(head))
  }

  @Test("A content type that is a list is refused, and commas within quotes make none")
  func contentTypes() throws {
    let types: [(String, Bool)] = [
      ("text/plain", false), ("a, b", true), (#"a;b="c,d""#, false), (#"a;b="c",d"#, true),
      (#"a;b="c\",d""#, false), (#"a;b="c\\",d"#, true), (#"a;b="c\\\",d""#, false),
      (#"a;b="c"#, true), (#"a;b="c\""#, true), (#"a\,b"#, true), (#"a;b="";c=",""#, false),
      (#"a\";b="c""#, true),
    ]
    for (type, isList) in types {
      var head = try StandardFormTests.signed()
      try head.fields.set("content-type", type)
      let refusal: RequestRefusal?
      do {
        _ = try StandardProof(reading: head)
        refusal = nil
      } catch { refusal = error }
      #expect(refusal == (isList ? .repeatedField : nil), "\(type)")
    }
  }
}
