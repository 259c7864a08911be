// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import Testing

@testable import ProofKit

@Suite("Attestor's wire")
struct AttestorWireTests {
  @Test(
    "no changed byte of an answer gives a token, and none of a challenge gets further than a refusal"
  )
  func mutations() throws {
    var seed = UInt64.random(in: .min ... .max)
    print("seed of the mutations: \(seed)")
    func draw() -> UInt64 {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return seed >> 33
    }
    for _ in 0..<600 {
      let path = draw() % 2 == 0 ? "challenge" : "report"
      let kind = draw() % 4
      let place = Int(draw())
      let value = UInt8(truncatingIfNeeded: draw() | 1)
      let stage = try Stage()
      stage.service.set {
        $0.tamper = { where_, bytes in
          guard where_ == path, !bytes.isEmpty else { return bytes }
          var mutant = bytes
          switch kind {
          case 0: mutant[place % bytes.count] ^= value
          case 1: mutant.removeLast(1 + place % bytes.count)
          case 2: mutant.insert(value, at: place % bytes.count)
          default: mutant = (0..<place % 300).map { UInt8(truncatingIfNeeded: $0 &* place) }
          }
          return mutant
        }
      }
      let result = stage.attestor.fetchTokenAndWait(for: "api.example.com")
      // A challenge has no tag: one that still parses only makes a report that its service refuses, or
      // one of its lifetime or serial, which decide nothing.
      let allowed: Set<FetchStatus> =
        path == "report"
        ? [.noService] : [.noService, .internalError, .success, .poorNetwork]
      #expect(allowed.contains(result.status), "\(path) \(kind) \(place) \(value): \(result)")
      if result.status != .success { #expect(result.token.isEmpty) }
    }
  }

  @Test("a loggable token is the claims and six characters of the signature")
  func loggable() {
    func result(_ token: String, _ status: FetchStatus = .success) -> String {
      FetchResult(status, token: token).loggableToken
    }
    func jws(_ claims: String) -> String {
      "e30." + Base64.encode(Array(claims.utf8), .url) + ".abcdefghij"
    }
    #expect(
      result(jws(#"{"exp":1.5,"anno":["a"]}"#)) == #"{"exp":1.5,"anno":["a"],"sip":"abcdef"}"#)
    #expect(result(jws("{ }\n")) == #"{ "sip":"abcdef"}"#)
    #expect(result("", .noNetwork) == #"{"error":"no network"}"#)
    #expect(result("a.b.c.d.e") == #"{"error":"encrypted token"}"#)
    #expect(result("a.b") == #"{"error":"unreadable token"}"#)
    #expect(result("") == #"{"error":"no token"}"#)
    for claims in ["[]", "{", #"{"sip":"x"}"#, #"{"a":1,"a":2}"#, ""] {
      #expect(result(jws(claims)) == #"{"error":"unreadable token"}"#)
    }
  }

  @Test("a result shows neither token nor secure string")
  func description() {
    let result = FetchResult(.success, token: "to.ke.n", secureString: "secret", arc: "ARC")
    for text in [
      "\(result)", String(reflecting: result),
      "\(Mirror(reflecting: result).children.map(\.value))",
    ] {
      #expect(!text.contains("to.ke.n") && !text.contains("secret"))
    }
  }

  @Test(
    "JSON that RFC 8259 does not allow is refused",
    arguments: [
      "", " ", "{", "}", "[1,]", "{\"a\":1,}", "{\"a\"}", "{a:1}", "01", "-", "+1", "1.", ".5",
      "1e", "0x1", "NaN",
      "\"\n\"", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "tru",
      "nul", "truefalse",
      "[1 2]", "{\"a\":1,\"\\u0061\":2}", "{\"\u{E9}\":1,\"e\u{301}\":2}", "1e999", "\u{FEFF}{}",
      "\"a", "[\"a\"",
    ])
  func json(text: String) {
    #expect(throws: JSONText.Fault.self) { try JSONText.parse(Array(text.utf8)) }
  }

  @Test("JSON is read as it is meant")
  func jsonValues() throws {
    func parse(_ text: String) throws -> JSONText { try JSONText.parse(Array(text.utf8)) }
    #expect(
      try parse(" [ 1 , -2.5e1 , \"\\ud83d\\ude00\\n\" , null , true , {} ] ")
        == .array([
          .integer(1), .number(-25), .string("\u{1F600}\n"), .null, .bool(true), .object([:]),
        ]))
    #expect(try parse("9223372036854775808") == .number(9_223_372_036_854_775_808))
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    _ = try parse(nested(32))
    #expect(throws: JSONText.Fault.self) { _ = try parse(nested(33)) }
    #expect(throws: JSONText.Fault.self) { _ = try parse(nested(100_000)) }
    #expect(throws: JSONText.Fault.self) { try JSONText.parse([0x22, 0xFF, 0x22]) }
    for text in ["", "a\"b\\c\n\u{1}\u{7F}\u{E4}\u{1F600}"] {
      #expect(try parse(JSONText.quote(text)) == .string(text))
    }
  }

  @Test("base64 has one text for one value", arguments: 0...64)
  func base64(count: Int) {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
    let text = Base64.encode(bytes)
    #expect(text == Data(bytes).base64EncodedString())
    #expect(Base64.decode(text) == bytes)
    #expect(Base64.decode(Base64.encode(bytes, .url), .url) == bytes)
    for mutant in [text + "=", text + "A", text + "\n", "=" + text] {
      #expect(Base64.decode(mutant) == nil)
    }
  }

  @Test(
    "base64 with stray bits, or of the other alphabet, is refused",
    arguments: [
      "AB==", "AAB=", "A===", "AA-_", "AA", "AA=A", "A A=",
    ])
  func strictBase64(text: String) { #expect(Base64.decode(text) == nil) }

  // In a process of its own: whatever else looks at this one meanwhile must not see the page.
  @Test("a probe tells of unexplained executable memory")
  func alarm() async {
    await #expect(processExitsWith: .success) {
      let probe = try Probe(.init(hardens: false))
      let source = try #require(Probe.sources.first { $0.id.description == "environment 4" })
      let size = 4096
      let page = unsafe mmap(
        nil, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
      defer { unsafe munmap(page, size) }
      let seen = try probe.observe(
        [source], policy: .incremental, limitLog2: 33, cancellation: Cancellation())
      #expect(seen.alarms.contains { $0.source == source.id && $0.name == "anonymous" })
      #expect(
        try probe.observe(
          [source], policy: .incremental, limitLog2: 33, cancellation: Cancellation()
        ).evidence == seen.evidence)
    }
  }
}
