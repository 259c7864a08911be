// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofModel
import ProofRequest
import Testing

/// Verdicts go from a gate to an API as one header.
@Suite("Verdicts of a gate")
struct GateVerdictTests {
  private static let moment: UnixTime = 1_900_000_000
  private static let host = "api.example.com"
  private static let body = Digest(hashing: [1, 2, 3])

  /// None of its fields has the value that a verdict begins with.
  private static func whole() throws -> GateVerdict {
    var verdict = GateVerdict(reference: "r-1", moment: moment, rule: "orders", passes: true)
    verdict.reason = "work"
    verdict.body = body
    verdict.solved = ["work", "person"]
    verdict.client = "s.abc"
    var app = GateVerdict.App(try GateHandle([UInt8](1...16)))
    app.isFailed = true
    app.isForced = true
    app.responseCode = "ABCDEFGHIJ"
    app.findings = [
      GateFinding(category: 1, number: 2), GateFinding(category: 3, number: 255),
    ]
    app.properties = 0x8000_0001
    app.firstSeen = 1_700_000_000
    app.isAnchored = true
    verdict.app = app
    var event = GateVerdict.Event(65_535, age: -2, measured: 255)
    event.isYoung = true
    event.isAnchored = true
    verdict.event = event
    return verdict
  }

  /// The verdict that an API reads.
  private func read(_ verdict: GateVerdict) throws -> GateVerdict {
    let key = GateKey(SecretBytes(copying: [UInt8](repeating: 7, count: 32).span), number: 1)
    let request = try RequestDigest(
      method: "POST", scheme: "https", authority: Self.host, target: "/orders?a=b",
      body: verdict.body ?? .zero)
    let bytes = SecretBytes(copying: [UInt8](repeating: 7, count: 32).span)
    let reader = GateVerdictReader(
      for: Self.host, keys: [try GateVerdictKey(bytes, number: 1)])
    return try reader.check(
      verdict.text(for: request, with: key), method: "POST", target: "/orders?a=b",
      body: Self.body, now: Self.moment)
  }

  @Test("an API reads each field as the gate wrote it")
  func fields() throws {
    let whole = try Self.whole()
    #expect(try read(whole) == whole)
    let changes: [(inout GateVerdict) -> Void] = [
      { $0.passes = false }, { $0.reason = nil }, { $0.body = nil }, { $0.solved = [] },
      { $0.client = nil }, { $0.event = nil }, { $0.app = nil }, { $0.reference = "" },
      { $0.rule = "a\"b\\c\n\u{1F} \u{E9}" },
      { $0.app?.isFailed = false }, { $0.app?.isForced = false }, { $0.app?.isAnchored = false },
      { $0.app?.responseCode = nil }, { $0.app?.findings = [] }, { $0.app?.properties = .max },
      { $0.app?.firstSeen = 0 }, { $0.event?.isYoung = false }, { $0.event?.isAnchored = false },
    ]
    for change in changes {
      var verdict = whole
      change(&verdict)
      #expect(verdict != whole)
      #expect(try read(verdict) == verdict)
    }
    let bare = GateVerdict(reference: "r-2", moment: Self.moment, rule: "", passes: false)
    #expect(try read(bare) == bare)
  }
}
