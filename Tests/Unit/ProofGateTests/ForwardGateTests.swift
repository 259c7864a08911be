// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ProofRequest
import Testing

@testable import ProofBackend
@testable import ProofGate

/// The answers of a gate to its proxy: what passes, what the API learns, and what holds while the gate cannot judge.
@Suite struct ForwardGateTests {
  private static let rules = """
    route open
      path /open
      need none
    route watched
      path /watched
      need proof
      mode watch
    route lenient
      path /lenient
      need proof
      doubt pass
    route unchecked
      methods GET
      path /unchecked
      need proof
      body unchecked
    route rest
      path /*
      need proof
    """

  @Test("A proof passes, and the verdict has handle, rule and digest for this request alone")
  func passes() throws {
    let site = try ForwardSite(Self.rules)
    let (answer, verdict) = try site.ask("POST", "/pay", body: [1, 2])
    #expect(answer.status == 200 && answer.code == "passed" && answer.handle == site.handle)
    #expect(verdict?.body == Digest(hashing: [1, 2]) && verdict?.rule == "rest")
    #expect(verdict?.app.map { Base64.encode($0.handle.bytes, .url) } == site.handle)
    #expect(verdict?.reference == answer.reference && verdict?.reason == nil)
  }

  @Test(
    "A rule for a host that the account dropped refuses that host, and the others stay in force")
  func droppedHost() throws {
    let site = try ForwardSite("route gone\n  host gone.example.com\n  need none\n" + Self.rules)
    #expect(try site.ask("POST", "/pay", body: [1, 2]).answer.code == "passed")
    let answer = site.answer("GET", "/", host: "gone.example.com")
    #expect(answer.status != 200 && answer.code == "host")
  }

  @Test("A compact proof without a word of the gate is worth what its rule says")
  func unanchored() throws {
    let rules = "route one\n  path /*\n  need proof\n  unanchored "
    for (worth, code) in [("pass", "passed"), ("safe", "passed"), ("refuse", "gate-69")] {
      let site = try ForwardSite(rules + worth, form: "compact")
      let digest = try RequestDigest(
        method: "GET", scheme: "https", authority: Site.host, target: "/x",
        body: Digest(hashing: []), authorization: "")
      let draft = CompactDraft(
        created: ForwardSite.now, start: 7, count: 1, measured: 3, event: 0, accountKey: 0)
      let proof = try draft.text(
        for: .request(digest, account: nil), with: site.secret.keys.compact)
      let answer = site.answer("GET", "/x", [("proof", proof), ("proof-token", site.token)])
      #expect(answer.code == code, "\(worth)")
    }
  }

  @Test(
    "A GET without a digest has the digest of an empty body in the verdict, unless the rule leaves bodies unchecked"
  )
  func emptyBody() throws {
    let site = try ForwardSite(Self.rules)
    #expect(try site.ask("GET", "/prices").verdict?.body == Digest(hashing: []))
    #expect(try site.ask("GET", "/unchecked").verdict?.body == nil)
    let compact = try ForwardSite(Self.rules, form: "compact")
    #expect(try compact.ask("GET", "/prices").answer.code == "request-1", "its form is another")
  }

  @Test("A refusal has its class, a reference and no verdict")
  func refusals() throws {
    let site = try ForwardSite(Self.rules)
    let fields = try site.proven("POST", "/pay", body: [1])
    #expect(site.answer("POST", "/pay", fields).status == 200)
    let again = site.answer("POST", "/pay", fields)
    #expect(again.status == 401 && again.code == "request-22")
    let names = again.fields.map(\.name)
    #expect(names == ["Proof-Time", "Proof-Refusal", "Proof-Reference", "Proof-Status"])
    let foreign = site.answer("GET", "/open", [("Proof-Verdict", "x")])
    #expect(
      foreign.status == 403 && foreign.code == "foreign-field" && foreign.route == "unmatched")
    #expect(site.answer("GET", "/open", host: "other.example.com").code == "host")
  }

  @Test("A rule that needs nothing judges nothing, and lets no other method through")
  func open() throws {
    let site = try ForwardSite(Self.rules)
    let answer = site.answer("GET", "/open")
    let verdict = try site.verdict(answer, "GET", "/open")
    #expect(answer.status == 200 && verdict?.app == nil && verdict?.body == nil)
    let changed = site.answer("GET", "/open", [("X-HTTP-Method-Override", "DELETE")])
    #expect(changed.status == 403 && changed.code == "method-override")
  }

  @Test(
    "A rule that watches, and a gate that watches all, let pass and say why they would not have")
  func watching() throws {
    let site = try ForwardSite(Self.rules)
    let watched = site.answer("POST", "/watched")
    #expect(watched.status == 200 && watched.isWatched && watched.code == "request-1")
    #expect(try site.verdict(watched, "POST", "/watched")?.reason == watched.reason)
    #expect(!watched.fields.contains { $0.name == "Proof-Refusal" })
    let all = try ForwardSite(Self.rules, watchesAll: true)
    #expect(all.answer("POST", "/pay").status == 200)
    let ambiguous = all.answer("GET", "/a//b")
    #expect(ambiguous.status == 200 && ambiguous.isWatched && ambiguous.fields.isEmpty)
  }

  @Test(
    "A configuration that is too old counts no more, unless the rule says so for methods that change nothing"
  )
  func age() throws {
    let site = try ForwardSite(Self.rules)
    site.site.clock.now += 3600
    #expect(try site.ask("POST", "/pay", body: [1]).answer.status == 200)
    site.site.clock.now += 1
    #expect(site.gate.isTooOld(at: site.site.clock.now))
    let old = try site.ask("POST", "/pay", body: [1]).answer
    #expect(old.status == 503 && old.code == "configuration-age")
    #expect(try site.ask("POST", "/lenient", body: [1]).answer.status == 503)
    #expect(try site.ask("GET", "/lenient").answer.status == 200)
    #expect(site.answer("GET", "/lenient").status == 401, "it still judges")
  }

  @Test("While the replay store does not answer, nothing passes but what the rule lets pass")
  func store() throws {
    let site = try ForwardSite(Self.rules)
    site.replay.isFailing = true
    for (method, path) in [("POST", "/pay"), ("GET", "/prices"), ("POST", "/lenient")] {
      let answer = try site.ask(method, path, body: method == "POST" ? [1] : nil).answer
      #expect(answer.status == 503 && answer.code == "store", "\(method) \(path)")
    }
    #expect(try site.ask("GET", "/lenient").answer.status == 200)
  }

  @Test("Rules that cannot hold are refused at the start")
  func errors() throws {
    #expect(throws: ForwardGateError.bodyForm) { try ForwardSite(Self.rules, form: "body") }
  }
}
