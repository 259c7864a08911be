// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofRequest

/// The line of each component in a signature base, as RFC 9421, section 2, spells it.
@Suite struct SignatureComponentTests {
  /// The lines before that of the parameters.
  private static func lines(
    _ components: String, _ url: String = "https://www.example.com/path?param=value",
    _ fields: [(name: String, value: String)] = []
  ) throws -> [String] {
    var head = try RequestHead(method: "POST", url: url, fields: HeaderFields(fields))
    try head.fields.append("Signature-Input", "s=(\(components));created=1")
    try head.fields.append("Signature", "s=:AAAA:")
    let base = try MessageSignature.read(from: head, label: "s").base(of: head)
    let lines = String(decoding: base, as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: false
    ).map(String.init)
    #expect(lines.last == "\"@signature-params\": (\(components));created=1")
    return Array(lines.dropLast())
  }

  private static func refusal(
    _ components: String, _ url: String = "https://www.example.com/path?param=value",
    _ fields: [(name: String, value: String)] = []
  ) -> RequestRefusal? {
    do {
      _ = try lines(components, url, fields)
      return nil
    } catch { return error as? RequestRefusal }
  }

  @Test("Derived components have the request's parts")
  func derived() throws {
    let all =
      #""@method" "@authority" "@path" "@query" "@scheme" "@request-target" "@target-uri""#
    #expect(
      try Self.lines(all) == [
        #""@method": POST"#, #""@authority": www.example.com"#, #""@path": /path"#,
        #""@query": ?param=value"#, #""@scheme": https"#,
        #""@request-target": /path?param=value"#,
        #""@target-uri": https://www.example.com/path?param=value"#,
      ])
    #expect(
      try Self.lines(all, "http://www.example.com:8080/") == [
        #""@method": POST"#, #""@authority": www.example.com:8080"#, #""@path": /"#,
        #""@query": ?"#, #""@scheme": http"#, #""@request-target": /"#,
        #""@target-uri": http://www.example.com:8080/"#,
      ])
  }

  @Test("Fields are joined by a comma, of known and of other names")
  func fields() throws {
    let fields = [(name: "Host", value: "a"), ("X-One", "1"), ("Host", "b"), ("X-One", " 2 ")]
    #expect(
      try Self.lines(#""host" "x-one""#, "https://a.example/", fields) == [
        #""host": a, b"#, #""x-one": 1, 2"#,
      ])
    for name in ["host", "x-one", "content-type"] {
      #expect(Self.refusal("\"\(name)\"") == .missingField)
    }
    for name in ["X-One", "x one", ""] { #expect(Self.refusal("\"\(name)\"") == .unknownComponent) }
  }

  /// Section 2.1.3.
  @Test("A field as bytes has each of its lines in base64")
  func wrapped() throws {
    let fields = [
      (name: "Example-Header", value: "value, with, lots"), ("Example-Header", "of, commas"),
    ]
    #expect(
      try Self.lines(#""example-header";bs"#, "https://a.example/", fields) == [
        #""example-header";bs: :dmFsdWUsIHdpdGgsIGxvdHM=:, :b2YsIGNvbW1hcw==:"#
      ])
    #expect(
      try Self.lines(#""host";bs"#, "https://a.example/", [("Host", "")]) == [#""host";bs: ::"#])
    #expect(Self.refusal(#""example-header";bs"#) == .missingField)
  }

  /// Section 2.1.2.
  @Test("A member of a dictionary stands by its key")
  func members() throws {
    let fields = [
      (name: "Example-Dict", value: "a=1, b=2;x=1;y=2, c=(a   b    c), d")
    ]
    #expect(
      try Self.lines(
        #""example-dict";key="a" "example-dict";key="b" "#
          + #""example-dict";key="c" "example-dict";key="d""#,
        "https://a.example/", fields) == [
          #""example-dict";key="a": 1"#, #""example-dict";key="b": 2;x=1;y=2"#,
          #""example-dict";key="c": (a b c)"#, #""example-dict";key="d": ?1"#,
        ])
    #expect(Self.refusal(#""example-dict";key="e""#, "https://a.example/", fields) == .missingField)
    #expect(Self.refusal(#""example-dict";key="a""#) == .missingField)
    #expect(
      Self.refusal(#""x";key="a""#, "https://a.example/", [("X", "a=(")]) == .missingField)
    // Two lines are one dictionary.
    #expect(
      try Self.lines(#""x";key="b""#, "https://a.example/", [("X", "a=1"), ("X", "b=2")]) == [
        #""x";key="b": 2"#
      ])
  }

  /// Section 2.2.8.
  @Test("A parameter of the query is decoded and encoded again")
  func queryParameters() throws {
    let url =
      "https://a.example/parameters?var=this%20is%20a%20big%0Avalue&bar=with+plus&empty=&no&%66=1"
    func line(_ name: String) throws -> String {
      try Self.lines("\"@query-param\";name=\"\(name)\"", url)[0]
    }
    #expect(try line("var") == #""@query-param";name="var": this%20is%20a%20big%0Avalue"#)
    #expect(try line("bar") == #""@query-param";name="bar": with%20plus"#)
    #expect(try line("empty") == #""@query-param";name="empty": "#)
    #expect(try line("no") == #""@query-param";name="no": "#)
    #expect(try line("f") == #""@query-param";name="f": 1"#)
    for name in ["absent", "va", "?var"] {
      #expect(Self.refusal("\"@query-param\";name=\"\(name)\"", url) == .missingField)
    }
    #expect(Self.refusal(#""@query-param";name="a""#, "https://a.example/") == .missingField)
    #expect(
      Self.refusal(#""@query-param";name="a""#, "https://a.example/?a=1&a=2") == .repeatedComponent)
    #expect(
      try Self.lines(#""@query-param";name="a""#, "https://a.example/?a=b=c&&d") == [
        #""@query-param";name="a": b%3Dc"#
      ])
  }

  @Test("A name may stand once with each of its parameters, and once without")
  func repeated() throws {
    let fields = [(name: "X", value: "a=1, b=2")]
    #expect(
      try Self.lines(#""x" "x";bs "x";key="a" "x";key="b""#, "https://a.example/", fields).count
        == 4)
    for components in [
      #""x" "x""#, #""host" "host""#, #""x";bs "x";bs"#, #""x";key="a" "@path" "x";key="a""#,
      #""@path" "@query" "@path""#,
    ] {
      #expect(Self.refusal(components, "https://a.example/", fields) == .repeatedComponent)
    }
  }

  @Test("Thirty-two components are read, and not one more")
  func count() {
    let most = RequestLimits.components
    func list(_ count: Int) -> String { (0..<count).map { "\"x\($0)\"" }.joined(separator: " ") }
    let fields = (0...most).map { (name: "x\($0)", value: "1") }
    #expect(Self.refusal(list(most), "https://a.example/", fields) == nil)
    #expect(Self.refusal(list(most + 1), "https://a.example/", fields) == .tooLong)
  }

  @Test("Each signature needs a list, a label among the signatures, and bytes")
  func signatures() throws {
    func refusal(_ input: String?, _ signature: String?) throws -> RequestRefusal? {
      var head = try RequestHead(method: "GET", url: "https://a.example/")
      if let input { try head.fields.append("Signature-Input", input) }
      if let signature { try head.fields.append("Signature", signature) }
      do {
        _ = try MessageSignature.read(from: head, tag: "t")
        return nil
      } catch { return error }
    }
    #expect(try refusal(nil, nil) == .noSignature)
    #expect(try refusal(nil, "s=:AAAA:") == .malformedInput)
    #expect(try refusal(#"s=();tag="t""#, nil) == .labelWithoutSignature)
    #expect(try refusal(#"s=1;tag="t""#, "s=:AAAA:") == .malformedInput)
    #expect(try refusal(#"s=(1);tag="t""#, "s=:AAAA:") == .malformedInput)
    #expect(try refusal(#"s=();tag="t""#, "r=:AAAA:") == .labelWithoutSignature)
    #expect(try refusal(#"s=();tag="t""#, "s=1") == .malformedSignature)
    #expect(try refusal(#"s=();tag="t""#, "s=(") == .malformedSignature)
    #expect(try refusal(#"s=();tag=t"#, "s=:AAAA:") == .noSignature)
    #expect(try refusal(#"s=();tag="u""#, "s=:AAAA:") == .noSignature)
    #expect(try refusal(#"s=();tagg="t""#, "s=:AAAA:") == .noSignature)
    #expect(try refusal(#"s=();tag="t""#, "s=:AAAA:") == nil)
    #expect(
      try refusal(#"s=();tag="t", r=();tag="t""#, "s=:AAAA:, r=:AAAA:") == .severalSignatures)
    #expect(try refusal(#"s=();tag="t", r=();tag="u""#, "s=:AAAA:, r=:AAAA:") == nil)
    let long = String(repeating: "a", count: RequestLimits.fieldBytes + 1)
    #expect(try refusal(long, "s=:AAAA:") == .tooLong)
    #expect(try refusal(#"s=();tag="t""#, long) == .tooLong)
    let padding = String(repeating: "a", count: RequestLimits.fieldBytes - 8)
    #expect(try refusal(#"s=();tag="t""#, "s=:AAAA:" + padding) != .tooLong)
  }

  @Test("A name is covered by itself, and not with a parameter")
  func covers() throws {
    var head = try RequestHead(method: "GET", url: "https://a.example/")
    try head.fields.append("Signature-Input", #"s=("x" "y";bs "@path" "host");created=1"#)
    try head.fields.append("Signature", "s=:AAECAw==:")
    let signature = try MessageSignature.read(from: head, label: "s")
    #expect(signature.covers("x") && signature.covers("@path") && signature.covers("host"))
    #expect(!signature.covers("y") && !signature.covers("created") && !signature.covers(""))
    #expect(signature.covered == ComponentSet(.path, .host))
    #expect(signature.bytes == [0, 1, 2, 3])
  }
}
