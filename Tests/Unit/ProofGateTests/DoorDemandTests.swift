// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend
@testable import ProofGate

/// Openings, demands and answers at a gate's door: the challenge that is set, and what an answer
/// keeps.
@Suite struct DoorDemandTests {
  private typealias Line = ForwardSite.Line

  /// A site that opens no token without work, and as many as are given for work.
  private func closed(_ rules: String? = nil, worked: Double = 0) throws -> ForwardSite {
    var openings = OpeningBudget()
    openings.strangers = OpeningBudget.Rate(burst: 0, perSecond: 0)
    openings.worked = OpeningBudget.Rate(burst: worked, perSecond: 0)
    guard let rules else { return try ForwardSite.needing(openings: openings) }
    return try ForwardSite(rules, openings: openings)
  }

  @Test(
    "The work for an opening is of level 16, or of the rule's own if that is higher",
    arguments: [
      ("need proof\n young none", 16), ("need proof\n young work 3", 16),
      ("need proof\n young work 16", 16), ("need proof\n young work 17", 17),
      ("need proof work 17\n young none", 17), ("need proof work 18\n young work 17", 18),
      ("need proof work 2\n young work 18", 18), ("need proof work 20\n young none", 20),
      ("need proof memory 7\n young none", 16),
    ] as [(String, UInt8)])
  func levels(_ need: String, _ level: UInt8) throws {
    let site = try closed("route a\n path /*\n \(need)\n")
    let asked = site.answer("GET", "/", try site.proven("GET", "/"))
    #expect(try asked.challengeKind == .work && asked.challengeLevel == level)
    #expect(asked.status == 428 && asked.reason == RejectedRequest.busy.description)
  }

  @Test("A paid opening that exceeds the share of those who worked is told to come again")
  func share() throws {
    let site = try closed()
    let token = ("Proof-Token", site.token)
    let id = ("Proof-Challenge", try #require(site.answer("GET", "/token")["Proof-Challenge"]))
    let busy = site.answer("GET", "/token", [id, token])
    #expect(busy.status == 428 && busy.reason == RejectedRequest.busy.description)
    let refused = site.answer("GET", "/token", try site.solved(busy) + [token])
    #expect(refused.status == 429 && refused.code == "busy" && refused["Retry-After"] == "5")
  }

  @Test("A request with two answers to its challenge has none")
  func twice() throws {
    let site = try ForwardSite.needing()
    let right = try site.solved(site.answer("GET", "/search"))
    let asked = site.answer("GET", "/search", right + [right[1]])
    #expect(asked.status == 428 && asked.reason == ChallengeRefusal.text.description)
    #expect(site.answer("GET", "/search", right).status == 200, "it was not judged")
  }

  @Test("A compact proof of a GET or HEAD covers no body, and one of a POST needs its digest")
  func bodies() throws {
    let site = try ForwardSite("route a\n path /*\n need proof\n young none\n", form: "compact")
    for (method, code) in [("GET", "passed"), ("HEAD", "passed"), ("POST", "request-15")] {
      let digest = try RequestDigest(
        method: method, scheme: "https", authority: Site.host, target: "/x",
        body: Digest(hashing: []), authorization: "")
      let draft = CompactDraft(
        created: ForwardSite.now, start: 7, count: method == "GET" ? 1 : 2, measured: 3, event: 0,
        accountKey: 0)
      let proof = try draft.text(
        for: .request(digest, account: nil), with: site.secret.keys.compact)
      let answer = site.answer(method, "/x", [("proof", proof), ("proof-token", site.token)])
      #expect(answer.code == code && (answer.status == 200) == (code == "passed"), "\(method)")
    }
  }

  // MARK: Demands

  private func demand(
    _ site: ForwardSite, _ kind: GateDemand.Kind, level: UInt8 = 0, seconds: UInt32 = 3_600
  ) -> DemandResult {
    let key = site.site.own.verdictKeys(for: Site.host)[0]
    let demand = GateDemand(kind, level: level, of: "a.\(Site.address)", seconds: seconds)
    return site.gate.take(
      demand: demand.text(with: key, at: site.site.clock.now), at: site.site.clock.now)
  }

  @Test("A demand challenges a client without an app until its end, and for no proof")
  func strangers() throws {
    let site = try ForwardSite.needing()
    let passed = site.answer("GET", "/search", try site.solved(site.answer("GET", "/search")))
    let held = [("Proof-Clearance", try #require(passed["Proof-Clearance"]))]
    site.site.clock.now += 1
    #expect(demand(site, .proof) == .taken)
    #expect(site.answer("GET", "/search", held).status == 200, "it has no app to prove")
    site.site.clock.now += 1
    #expect(demand(site, .work, level: 4, seconds: 10) == .taken)
    for seconds in [0, 10] as [Int64] {
      site.site.clock.now += seconds
      let asked = site.answer("GET", "/search", held)
      #expect(try asked.status == 428 && asked.challengeLevel == 4)
      #expect(try site.answer("GET", "/search", from: "192.0.2.9").challengeLevel == 3)
    }
    site.site.clock.now += 1
    #expect(site.answer("GET", "/search", held).status == 200)
  }

  @Test("An answer of another kind than the demand keeps what was answered before")
  func kept() throws {
    let site = try ForwardSite.needing()
    let work = site.answer("GET", "/pair", try site.solved(site.answer("GET", "/pair")))
    let held: [Line] = [("Proof-Clearance", try #require(work["Proof-Clearance"]))]
    site.site.clock.now += 1
    #expect(demand(site, .work, level: 3) == .taken)
    func solved(_ answer: ForwardAnswer) throws -> ChallengeKinds {
      let text = try #require(answer["Proof-Clearance"])
      return try site.desks.clearances.check(
        ClearanceField(text, in: .header), for: Site.host, proven: nil, from: Site.address
      ).solved
    }
    let memory = site.answer("GET", "/pair", held)
    #expect(try memory.challengeKind == .memoryWork)
    let both = site.answer("GET", "/pair", try site.solved(memory) + held)
    #expect(try both.status == 428 && both.challengeKind == .work && both.challengeLevel == 3)
    #expect(try solved(both) == [ChallengeKinds(.work), ChallengeKinds(.memoryWork)])
    // The demand wants its own kind anew, so the answer before it does not count beside it.
    let more: [Line] = [("Proof-Clearance", try #require(both["Proof-Clearance"]))]
    let anew = site.answer("GET", "/pair", try site.solved(both) + more)
    #expect(try anew.challengeKind == .memoryWork && solved(anew) == ChallengeKinds(.work))
    let last: [Line] = [("Proof-Clearance", try #require(anew["Proof-Clearance"]))]
    #expect(site.answer("GET", "/pair", try site.solved(anew) + last).status == 200)
  }

  // MARK: Questions

  @Test("A preflight has no body, of a told length or in chunks")
  func preflight() throws {
    let site = try ForwardSite.needing()
    let asks: [Line] = [
      ("Access-Control-Request-Method", "POST"), ("Origin", "https://www.example.com"),
    ]
    #expect(site.answer("OPTIONS", "/search", asks).code == "unjudged")
    for more: Line in [
      ("X-Original-Content-Length", "0"), ("X-Original-Transfer-Encoding", "chunked"),
      ("Access-Control-Request-Method", "POST"), ("Origin", "https://www.example.com"),
    ] {
      #expect(site.answer("OPTIONS", "/search", asks + [more]).status == 428, "\(more)")
    }
    #expect(site.answer("GET", "/search", asks).status == 428, "a GET is none")
  }

  @Test("A field's name is read in lower case, whichever letter is a capital")
  func names() throws {
    let told = ForwardStyle.original.told(method: "GET", target: "/", host: Site.host)
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" {
      let request = try ForwardedRequest(told + [("x-\(letter)", "1")], at: .init())
      #expect(request.head.fields.fields.map(\.name) == ["x-\(letter.lowercased())"])
    }
    let own = try ForwardedRequest(
      told + [("proof-Answer", "a"), ("proof-clearanCe", "b"), ("proof-challengE", "c")],
      at: .init())
    #expect(
      own.head.fields.fields.map(\.name) == ["proof-answer", "proof-clearance", "proof-challenge"])
  }

  @Test("Each escape of a path is looked at, one behind the other")
  func escapes() throws {
    func isRead(_ target: String) -> Bool {
      let told = ForwardStyle.original.told(method: "GET", target: target, host: Site.host)
      return (try? ForwardedRequest(told, at: .init())) != nil
    }
    for target in ["/%20%21", "/%20a%21b", "/%C3%BC%20", "/a%20"] { #expect(isRead(target)) }
    for target in ["/%20%61", "/%20a%61", "/%61%20", "/%C3%BC%7E", "/%20%2D", "/%20%20%5a"] {
      #expect(!isRead(target), "\(target)")
    }
    for byte in 0x21...0x7E as ClosedRange<UInt8> {
      let digits = String(byte, radix: 16, uppercase: true)
      let isPlain = RequestDoor.isUnreserved(byte)
      let expected = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8
      ).contains(byte)
      #expect(isPlain == expected, "\(digits)")
      if expected { #expect(!isRead("/%\(digits)"), "\(digits)") }
    }
  }
}
