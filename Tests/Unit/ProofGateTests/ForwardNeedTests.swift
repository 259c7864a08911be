// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend
@testable import ProofGate

/// Challenges at a gate's door: the kind that a request is asked for, and which answers count.
@Suite struct ForwardNeedTests {
  @Test("Work is asked for, its solution passes once, and its clearance passes from its address")
  func work() throws {
    let site = try ForwardSite.needing()
    let first = site.answer("GET", "/search?q=1")
    #expect(first.status == 428 && first.code == "challenge-work" && first["Proof-Status"] == "428")
    #expect(first.status(for: .original) == 401 && first.status(for: .forwarded) == 428)
    #expect(try first.challengeKind == .work && first.challengeLevel == 3 && site.replay.count == 0)
    let answer = try site.solved(first)
    let passed = site.answer("GET", "/search?q=1", answer)
    #expect(passed.status == 200 && passed["Proof-Challenge"] == nil)
    #expect(try site.verdict(passed, "GET", "/search?q=1")?.solved == ["work"])
    let clearance = try #require(passed["Proof-Clearance"])
    let again = site.answer("GET", "/search?q=1", answer)
    #expect(again.status == 428 && again["Proof-Challenge"] != first["Proof-Challenge"])
    #expect(again.reason == ChallengeRefusal.spent.description)
    #expect(site.answer("POST", "/other", [("Proof-Clearance", clearance)]).status == 200)
    let cookie = ("Cookie", "a=b; \(ClearanceField.cookieName)=\(clearance)")
    #expect(site.answer("GET", "/other", [cookie]).status == 200)
    #expect(site.answer("GET", "/hard", [("Proof-Clearance", clearance)]).status == 428)
    let far = site.answer("GET", "/other", [("Proof-Clearance", clearance)], from: "192.0.2.9")
    #expect(far.status == 428)
    let host = site.answer(
      "GET", "/other", [("Proof-Clearance", clearance)], host: ForwardSite.elsewhere)
    #expect(host.status == 428)
    site.site.clock.now += 901
    #expect(site.answer("GET", "/other", [("Proof-Clearance", clearance)]).status == 428)
  }

  @Test("An answer counts at one node, once, and for its own request alone")
  func bound() throws {
    let site = try ForwardSite.needing()
    let node = try site.other().gate
    let answer = try site.solved(site.answer("GET", "/search"))
    for (method, target, address) in [
      ("POST", "/search", Site.address), ("GET", "/search?x=1", Site.address),
      ("GET", "/other", Site.address), ("GET", "/search", "192.0.2.9"),
    ] {
      let refused = site.answer(method, target, answer, from: address)
      #expect(refused.status == 428 && refused.reason == ChallengeRefusal.subject.description)
    }
    #expect(site.answer("GET", "/search", answer).status == 200)
    #expect(site.answer("GET", "/search", answer, at: node).status == 428)
    let memory = site.answer("GET", "/memory")
    #expect(try memory.challengeKind == .memoryWork)
    #expect(site.answer("GET", "/memory", try site.solved(memory)).status == 200)
  }

  @Test("A wrong answer uses its challenge up and gets another one")
  func wrong() throws {
    let site = try ForwardSite.needing()
    let first = site.answer("GET", "/search")
    let right = try site.solved(first)
    let bad = [right[0], ("Proof-Answer", String(repeating: "A", count: 86))]
    #expect(site.answer("GET", "/search", bad).reason == ChallengeRefusal.wrong.description)
    #expect(site.answer("GET", "/search", right).status == 428, "it is used up")
    #expect(site.answer("GET", "/search", right + right).status == 428, "which one counts?")
    #expect(site.replay.count == 0, "wrong answers are not stored")
    let person = site.answer("GET", "/person")
    let id = try #require(person["Proof-Challenge"])
    let forged = [("Proof-Challenge", id), ("Proof-Answer", "yes")]
    #expect(site.answer("GET", "/person", forged).status == 428, "the page alone judges persons")
  }

  @Test("While the replay store does not answer, no answer counts")
  func store() throws {
    let site = try ForwardSite.needing()
    let answer = try site.solved(site.answer("GET", "/search"))
    site.replay.isFailing = true
    let doubtful = site.answer("GET", "/search", answer)
    #expect(doubtful.status == 503 && doubtful["Retry-After"] == "5" && doubtful.code == "store")
    site.replay.isFailing = false
    #expect(site.answer("GET", "/search", answer).status == 200)
  }

  @Test("A rule that spends takes each clearance once and gives the next one")
  func spending() throws {
    let site = try ForwardSite.needing()
    let answer = try site.solved(site.answer("GET", "/spent"))
    let passed = site.answer("GET", "/spent", answer)
    let first = try #require(passed["Proof-Clearance"])
    let second = site.answer("GET", "/spent", [("Proof-Clearance", first)])
    #expect(second.status == 200)
    #expect(site.answer("GET", "/spent", [("Proof-Clearance", first)]).status == 428)
    let next = try #require(second["Proof-Clearance"])
    let cookie = ("Cookie", "\(ClearanceField.cookieName)=\(next)")
    let third = site.answer("GET", "/spent", [cookie])
    #expect(third.status == 200 && third["Proof-Clearance"] == nil)
    #expect(third["Set-Cookie"]?.hasPrefix("\(ClearanceField.cookieName)=") == true)
    site.replay.isFailing = true
    let cookies = try #require(third["Set-Cookie"]?.split(separator: ";").first)
    #expect(site.answer("GET", "/spent", [("Cookie", String(cookies))]).status == 503)
  }

  @Test("Several kinds are answered one after the other, and each answer is kept")
  func pairs() throws {
    let site = try ForwardSite.needing()
    let first = site.answer("GET", "/pair")
    #expect(try first.challengeKind == .work)
    let second = site.answer("GET", "/pair", try site.solved(first))
    #expect(try second.challengeKind == .memoryWork)
    let kept = ("Proof-Clearance", try #require(second["Proof-Clearance"]))
    let last = try site.solved(second)
    #expect(site.answer("GET", "/pair", last).status == 428, "without the first answer")
    let third = site.answer("GET", "/pair", [kept])
    let passed = site.answer("GET", "/pair", try site.solved(third) + [kept])
    #expect(passed.status == 200)
    #expect(try site.verdict(passed, "GET", "/pair")?.solved == ["work", "memory"])
  }

  @Test(
    "Unanswered challenges are not kept, raise their sender's level, and another client's by 2 at most"
  )
  func load() throws {
    let site = try ForwardSite.needing()
    for _ in 0..<20_000 { _ = site.answer("GET", "/search", from: "203.0.113.5") }
    #expect(
      site.replay.count == 0 && site.requests.admissionCount == 0 && site.desks.demands.count == 0)
    let flood = try site.answer("GET", "/search", from: "203.0.113.5").challengeLevel
    #expect(flood == 3 + 6 + 2)
    let owner = try site.answer("GET", "/search").challengeLevel
    #expect(owner == 3 + 2)
    #expect(try site.answer("GET", "/other").challengeLevel == 3, "another route")
    site.site.clock.now += 600
    #expect(try site.answer("GET", "/search", from: "203.0.113.5").challengeLevel == 3)
    #expect(ChallengeLoad.level(.init(.work, level: 17), adding: 8) == 18)
    #expect(ChallengeLoad.level(.init(.work, level: 20), adding: 8) == 20, "the operator's own")
    let memory = (0...7 as ClosedRange<UInt8>).map {
      ChallengeLoad.level(.init(.memoryWork, level: 1), adding: $0)
    }
    #expect(memory == [1, 1, 2, 2, 3, 3, 3, 3], "two bits of work are one of memory")
    #expect(ChallengeLoad.level(.init(.memoryWork, level: 5), adding: 8) == 5)
    for kind in [ChallengeKind.token, .proof, .person] {
      #expect(ChallengeLoad.level(.init(kind, level: 3), adding: 8) == 0)
    }
    #expect((1 << 16...1 << 18).contains(ChallengeLoad.byteCount))
    #expect(ChallengeLoad.level(.init(.memoryWork, level: 1), adding: 8) == 3)
    #expect(
      ChallengeLoad.level(.init(.memoryWork, level: 1), adding: 8) == ChallengeLoad.memoryCeiling)
  }

  @Test("A sender's 16th open challenge adds a bit, as does the route's 1,000th; 30 s halve them")
  func bits() throws {
    let load = ChallengeLoad()
    let now = ForwardSite.now
    func bits(_ client: Int, on route: UInt32 = 1, after seconds: UInt64 = 0) -> UInt8 {
      load.set(.address("192.0.2.\(client)"), on: route, at: now + seconds)
    }
    #expect((1...16).map { _ in bits(1) } == [UInt8](repeating: 0, count: 15) + [1])
    load.answered(.address("192.0.2.1"), on: 1, at: now)
    #expect(bits(1) == 1 && bits(2) == 0)
    for _ in 1...128 { _ = bits(3) }
    #expect((1...64).map { _ in bits(3, after: 30) } == [UInt8](repeating: 3, count: 63) + [4])
    #expect((1...8).map { _ in bits(1, after: 30) } == [UInt8](repeating: 0, count: 7) + [1])
    // Between the halves it falls evenly: a quarter in half the time.
    #expect((1...4).map { _ in bits(1, after: 45) } == [0, 0, 0, 1])
    let others = (0..<1_000).map { bits($0 % 200, on: 2, after: 100_000) }
    #expect(others == [UInt8](repeating: 0, count: 999) + [1])
  }

  @Test("A watching rule sets no challenge, and the verdict says what was missing")
  func watching() throws {
    let site = try ForwardSite.needing()
    let watched = site.answer("GET", "/watched")
    #expect(watched.status == 200 && watched.isWatched && watched["Proof-Challenge"] == nil)
    #expect(try site.verdict(watched, "GET", "/watched")?.reason == watched.reason)
  }
}
