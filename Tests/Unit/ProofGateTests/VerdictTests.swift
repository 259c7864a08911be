// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend
@testable import ProofGate

/// Verdicts: authenticated for one host, bound to one request, and of one moment.
@Suite struct VerdictTests {
  private static let now = Site.start
  private static let body = Digest(hashing: [1, 2, 3])

  private func verdict() throws -> GateVerdict {
    var verdict = GateVerdict(reference: "r1", moment: Self.now, rule: "pay", passes: true)
    verdict.body = Self.body
    verdict.reason = "would be refused: stale ü \" \\"
    verdict.solved = ["work"]
    var app = GateVerdict.App(try GateSecret.random(generation: 1).keys.handle)
    app.isFailed = true
    app.responseCode = "ABCDEFGH27"
    app.findings = [GateFinding(category: 3, number: 1)]
    app.properties = .max
    app.firstSeen = 5
    verdict.app = app
    return verdict
  }

  private func reader(_ site: Site, host: String = Site.host, _ replay: (any ReplayStore)? = nil)
    -> GateVerdictReader
  {
    GateVerdictReader(for: host, keys: site.own.verdictKeys(for: host), replay: replay)
  }

  private func refusal(
    _ reader: GateVerdictReader, _ text: String, method: String = "POST",
    target: String = "/pay?to=7",
    body: Digest = body, authorization: String? = "Bearer abc", now: UnixTime = now
  ) -> GateVerdictRefusal? {
    do throws(GateVerdictRefusal) {
      _ = try reader.check(
        text, method: method, target: target, body: body, authorization: authorization, now: now)
      return nil
    } catch {
      return error
    }
  }

  private func text(_ site: Site, _ verdict: GateVerdict) throws -> String {
    try VerdictDesk(site.own, for: Site.host)
      .text(of: verdict, method: "POST", target: "/pay?to=7", authorization: "Bearer abc")
  }

  @Test("An API reads what its gate said")
  func members() throws {
    let site = try Site()
    var bare = GateVerdict(reference: "r2", moment: Self.now, rule: "", passes: false)
    bare.body = nil
    for verdict in [try verdict(), bare] {
      let read = try reader(site).check(
        text(site, verdict), method: "POST", target: "/pay?to=7", body: Self.body,
        authorization: "Bearer abc", now: Self.now)
      #expect(read == verdict)
    }
  }

  @Test("A verdict is for its request, body, host, gate and moment alone")
  func binding() throws {
    let (site, other) = (try Site(), try Site())
    let reader = reader(site)
    let text = try text(site, verdict())
    #expect(refusal(reader, text) == nil)
    #expect(refusal(reader, text, method: "PUT") == .request)
    #expect(refusal(reader, text, target: "/pay?to=8") == .request)
    #expect(refusal(reader, text, target: "/pay\n") == .request)
    #expect(refusal(reader, text, authorization: nil) == .request)
    #expect(refusal(reader, text, body: .zero) == .body)
    #expect(refusal(reader, text, now: Self.now + 30) == nil)
    let last = UnixTime(seconds: (Self.now + 30).seconds, nanoseconds: 999_999_999)
    #expect(refusal(reader, text, now: last) == nil, "the whole last second")
    #expect(refusal(reader, text, now: Self.now + 31) == .time)
    #expect(refusal(reader, text, now: Self.now - 30) == nil)
    #expect(refusal(reader, text, now: Self.now - 31) == .time)
    #expect(refusal(self.reader(other), text) == .tag)
    #expect(refusal(self.reader(site, host: "shop.example.com"), text) == .tag)
    let plain = GateVerdictReader(
      for: Site.host, scheme: "http", keys: site.own.verdictKeys(for: Site.host))
    #expect(refusal(plain, text) == .request)
    #expect(refusal(GateVerdictReader(for: Site.host, keys: []), text) == .key)
  }

  @Test("Every changed character is refused, and nothing malformed is read")
  func changed() throws {
    let site = try Site()
    let reader = reader(site)
    let text = Array(try text(site, verdict()).utf8)
    for place in text.indices {
      var other = text
      other[place] = other[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      #expect(refusal(reader, String(decoding: other, as: UTF8.self)) != nil, "\(place)")
    }
    for text in ["", ".", "a.b.c", "HAE.", String(repeating: "A", count: 5000)] {
      #expect(refusal(reader, text) == .text)
    }
  }

  @Test("With a store a verdict counts once")
  func once() throws {
    let site = try Site()
    let reader = reader(site, MemoryReplayStore())
    let text = try text(site, verdict())
    #expect(refusal(reader, text) == nil)
    #expect(refusal(reader, text) == .spent)
    let failing = SharedStore()
    failing.isFailing = true
    guard case .store = refusal(self.reader(site, failing), text) else {
      Issue.record("A store that is out of reach is no success.")
      return
    }
  }
}
