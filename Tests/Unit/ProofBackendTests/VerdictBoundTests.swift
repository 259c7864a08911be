// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import ProofRequest
import Testing

@testable import ProofBackend

/// Verdicts at the bounds of their page, and verdicts that no gate makes.
@Suite struct VerdictBoundTests {
  private static let now: UnixTime = 1_900_000_000
  private static let host = "api.example.com"

  private static func bytes() -> SecretBytes {
    SecretBytes(copying: [UInt8](repeating: 7, count: 32).span)
  }

  private static func request() throws -> RequestDigest {
    try RequestDigest(
      method: "GET", scheme: "https", authority: host, target: "/a", body: .zero)
  }

  private static func reader(
    _ replay: (any ReplayStore)? = nil, seconds: UInt64? = nil
  ) throws -> GateVerdictReader {
    let keys = [try GateVerdictKey(bytes(), number: 1)]
    guard let seconds else { return GateVerdictReader(for: host, keys: keys, replay: replay) }
    return GateVerdictReader(for: host, keys: keys, seconds: seconds, replay: replay)
  }

  private static func text(_ verdict: GateVerdict) throws -> String {
    verdict.text(for: try request(), with: GateKey(bytes(), number: 1))
  }

  private static func read(
    _ text: String, _ reader: GateVerdictReader? = nil, at now: UnixTime = now
  ) throws -> GateVerdict {
    try (reader ?? Self.reader()).check(text, method: "GET", target: "/a", body: .zero, now: now)
  }

  private static func refusal(_ text: String, at now: UnixTime = now) -> GateVerdictRefusal? {
    do {
      _ = try read(text, at: now)
      return nil
    } catch {
      return error as? GateVerdictRefusal
    }
  }

  private static func verdict(rule: String = "r", at moment: UnixTime = now) -> GateVerdict {
    GateVerdict(reference: "x", moment: moment, rule: rule, passes: true)
  }

  @Test("A verdict has 4,096 characters at most")
  func length() throws {
    var texts: [Int: String] = [:]
    for count in 2_800..<3_000 {
      let text = try Self.text(Self.verdict(rule: String(repeating: "r", count: count)))
      texts[text.utf8.count] = text
    }
    #expect(Self.refusal(try #require(texts[4_096])) == nil)
    // Base64url has no text of 4,053 characters before the dot.
    #expect(Self.refusal(try #require(texts[4_098])) == .text)
  }

  @Test("A rule's name comes as it was, with each character that JSON escapes alone in it")
  func characters() throws {
    let controls = (UInt8(0)...0x20).map { String(UnicodeScalar($0)) }
    for rule in controls + ["!", "\"", "\\", "~", "\u{7F}", "é"] {
      let verdict = Self.verdict(rule: rule)
      #expect(try Self.read(Self.text(verdict)) == verdict, "\(rule.utf8.map { $0 })")
    }
  }

  @Test("A used verdict is kept for twice the seconds after its moment")
  func kept() throws {
    for (seconds, end) in [(nil, Self.now + 60), (7, Self.now + 14)] as [(UInt64?, UnixTime)] {
      let store = FailingReplayStore()
      let reader = try Self.reader(store, seconds: seconds)
      _ = try Self.read(Self.text(Self.verdict()), reader, at: Self.now + 3)
      #expect(store.lastExpiry == end)
    }
  }

  // MARK: Forged verdicts

  private static func signed(_ said: [UInt8], tag: Int = 32) -> String {
    let mac = GateKey(bytes(), number: 1).mac("pfc1.verdict....", said).bytes
    return Base64.encode(said, .url) + "." + Base64.encode(Array(mac.prefix(tag)), .url)
  }

  private static func forged(_ changes: [String: JSONValue?] = [:]) throws -> String {
    var object: JSONObject = [
      "at": 0, "id": "x", "pass": true, "rule": "r",
      "request": .string(Base64.encode(try request().bytes, .url)),
    ]
    for (name, value) in changes { object[name] = value }
    return signed([0x1C, 1] + Array(JSONValue.object(object).text.utf8))
  }

  private static func app(seen: JSONValue) -> JSONValue {
    [
      "anchored": true, "failed": false, "findings": [], "forced": false,
      "handle": .string(Base64.encode([UInt8](1...16), .url)), "properties": 4_294_967_295,
      "seen": seen,
    ]
  }

  @Test("Times of a verdict begin with 1970, and each member has its form")
  func members() throws {
    for (name, value) in [
      ("at", 0), ("app", Self.app(seen: 0)), ("body", nil), ("why", "x"), ("solved", ["a"]),
    ] as [(String, JSONValue?)] {
      #expect(Self.refusal(try Self.forged([name: value]), at: 0) == nil, "\(name)")
    }
    for (name, value) in [
      ("at", -1), ("at", "0"), ("at", nil), ("id", nil), ("rule", 1), ("pass", 1), ("request", nil),
      ("app", Self.app(seen: -1)), ("app", ["handle": "AAAA"]), ("body", "AAAA"),
      ("event", ["number": 1]),
    ] as [(String, JSONValue?)] {
      #expect(
        Self.refusal(try Self.forged([name: value]), at: 0) == .malformed, "\(name)")
    }
  }

  @Test("A verdict begins with its kind and its key's number, and has a tag of 32 bytes")
  func heads() throws {
    let json = Array("{}".utf8)
    for (said, refusal) in [
      ([0x1C, 1], .text), ([0x1C], .text), ([], .text), ([0x1C, 1, 0x7B], .malformed),
      ([0x1C, 1] + json, .malformed), ([0x1B, 1] + json, .kind), ([0x1D, 1] + json, .kind),
      ([0x1C, 0] + json, .key), ([0x1C, 2] + json, .key),
    ] as [([UInt8], GateVerdictRefusal)] {
      #expect(Self.refusal(Self.signed(said)) == refusal, "\(said)")
    }
    for count in [0, 16, 31] {
      #expect(Self.refusal(Self.signed([0x1C, 1] + json, tag: count)) == .tag)
    }
  }

  @Test("An app of which the handle alone is known has no property and no first time")
  func unknown() throws {
    let app = GateVerdict.App(try GateHandle([UInt8](1...16)))
    #expect(app.properties == 0 && app.firstSeen == 0 && app.findings.isEmpty)
    #expect(!app.isFailed && !app.isForced && !app.isAnchored && app.responseCode == nil)
  }
}
