// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend
@testable import ProofGate

/// Openings of gate tokens beyond the budget: the client solves a puzzle first, and each solution pays for one.
@Suite struct ForwardOpeningTests {
  /// A gate that opens no token without work, and `worked` of clients that solved a puzzle.
  private func site(worked: Double = 10, seen: UnixTime = ForwardSite.now - 200_000) throws
    -> ForwardSite
  {
    var openings = OpeningBudget()
    openings.strangers = OpeningBudget.Rate(burst: 0, perSecond: 0)
    openings.worked = OpeningBudget.Rate(burst: worked, perSecond: 0)
    return try ForwardSite.needing(seen: seen, openings: openings)
  }

  @Test("A client solves a puzzle, its token is opened, and from then on the gate knows the app")
  func opened() throws {
    let site = try site()
    let asked = site.answer("GET", "/quiet", try site.proven("GET", "/quiet"))
    #expect(asked.status == 428 && asked.code == "busy" && asked["Proof-Refusal"] == "token")
    #expect(try asked.challengeKind == .work && asked.challengeLevel == ForwardGate.openingLevel)
    #expect(asked["Proof-Time"] != nil && site.requests.admissionCount == 0)
    let answer = try site.solved(asked)
    let passed = site.answer("GET", "/quiet", try site.proven("GET", "/quiet") + answer)
    #expect(passed.status == 200 && passed["Proof-Ticket"] != nil)
    #expect(try site.verdict(passed, "GET", "/quiet")?.solved == ["work"])
    let known = site.answer("GET", "/quiet", try site.proven("GET", "/quiet", token: false))
    #expect(known.status == 200)
  }

  @Test("A solution pays for one opening, at one node, whatever the token is")
  func once() throws {
    let site = try site()
    let node = try site.other()
    let answer = try site.solved(site.answer("GET", "/x", try site.proven("GET", "/x")))
    var forged = try site.proven("GET", "/x", token: false)
    forged.append(("Proof-Token", flipped(site.token, bit: 1600)))
    #expect(site.answer("GET", "/x", forged + answer).status == 401)
    let again = site.answer("GET", "/x", try site.proven("GET", "/x") + answer)
    #expect(again.status == 428 && again.reason == ChallengeRefusal.spent.description)
    let elsewhere = site.answer(
      "GET", "/x", try site.proven("GET", "/x") + answer, at: node.gate)
    #expect(elsewhere.status == 428 && node.requests.admissionCount == 0)
    #expect(site.requests.admissionCount == 0)
  }

  @Test("A solution of a lower level, of another request or client, or a wrong one, opens nothing")
  func others() throws {
    let site = try site()
    func ask(_ answer: [ForwardSite.Line], from address: String = Site.address) throws
      -> ForwardAnswer
    {
      site.answer("GET", "/x", try site.proven("GET", "/x") + answer, from: address)
    }
    let cheap = site.desks.challenges.set(
      .work, level: ForwardGate.openingLevel - 1,
      for: try ChallengeSubject(
        ChallengePlace(method: "GET", authority: Site.host, target: "/x"),
        from: .address(Site.address)))
    let solution = [
      ("Proof-Challenge", cheap.text), ("Proof-Answer", try solve(cheap.text).solution),
    ]
    #expect(try ask(solution).reason == ChallengeRefusal.otherAnswer.description)
    let answer = try site.solved(ask([]))
    #expect(try ask(answer, from: "192.0.2.9").reason == ChallengeRefusal.subject.description)
    let other = site.answer("GET", "/quiet", try site.proven("GET", "/quiet") + answer)
    #expect(other.reason == ChallengeRefusal.subject.description)
    let wrong = [answer[0], ("Proof-Answer", String(repeating: "A", count: 86))]
    #expect(try ask(wrong).reason == ChallengeRefusal.wrong.description)
    #expect(site.requests.admissionCount == 0 && site.replay.count == 0)
    site.replay.isFailing = true
    #expect(try ask(site.solved(ask([]))).status == 503)
  }

  @Test("A bad token is charged to the share of those who worked, and a spent share answers 429")
  func share() throws {
    let site = try site(worked: 1)
    let first = try site.solved(site.answer("GET", "/x", try site.proven("GET", "/x")))
    var forged = try site.proven("GET", "/x", token: false)
    forged.append(("Proof-Token", flipped(site.token, bit: 1600)))
    #expect(site.answer("GET", "/x", forged + first).status == 401)
    let second = try site.solved(site.answer("GET", "/x", try site.proven("GET", "/x")))
    let refused = site.answer("GET", "/x", try site.proven("GET", "/x") + second)
    #expect(refused.status == 429 && refused["Retry-After"] != nil && refused.code == "busy")
  }

  @Test("One answer serves the opening and the work of an app of less than a day")
  func young() throws {
    let site = try site(seen: ForwardSite.now - 100)
    let asked = site.answer("GET", "/x", try site.proven("GET", "/x"))
    let passed = site.answer("GET", "/x", try site.proven("GET", "/x") + site.solved(asked))
    #expect(passed.status == 200)
    let clearance = ("Proof-Clearance", try #require(passed["Proof-Clearance"]))
    let next = try site.proven("GET", "/x", token: false) + [clearance]
    #expect(site.answer("GET", "/x", next).status == 200)
  }

  @Test("The work counts also where the budget has room again when the answer comes")
  func room() throws {
    var openings = OpeningBudget()
    openings.strangers = OpeningBudget.Rate(burst: 1, perSecond: 1)
    let site = try ForwardSite.needing(seen: ForwardSite.now - 100, openings: openings)
    var forged = try site.proven("GET", "/x", token: false)
    forged.append(("Proof-Token", flipped(site.token, bit: 1600)))
    #expect(site.answer("GET", "/x", forged).status == 401)
    let asked = site.answer("GET", "/x", try site.proven("GET", "/x"))
    #expect(asked.code == "busy")
    let answer = try site.solved(asked)
    site.site.clock.now += 2
    let passed = site.answer("GET", "/x", try site.proven("GET", "/x") + answer)
    #expect(passed.status == 200)
    #expect(try site.verdict(passed, "GET", "/x")?.solved == ["work"])
  }

  @Test("A ticket needs no opening, also beside a token")
  func ticket() throws {
    let site = try site()
    let asked = site.answer("GET", "/x", try site.proven("GET", "/x"))
    let opened = site.answer("GET", "/x", try site.proven("GET", "/x") + site.solved(asked))
    let ticket = ("Proof-Ticket", try #require(opened["Proof-Ticket"]))
    let node = try site.other()
    let admitted = site.answer("GET", "/x", try site.proven("GET", "/x") + [ticket], at: node.gate)
    #expect(admitted.status == 200)
  }

  @Test("A token without a proof is opened for work, too, and the clearance says both")
  func token() throws {
    let site = try site()
    let token = ("Proof-Token", site.token)
    let asked = site.answer("GET", "/token")
    #expect(try asked.challengeKind == .token)
    let id = ("Proof-Challenge", try #require(asked["Proof-Challenge"]))
    let busy = site.answer("GET", "/token", [id, token])
    #expect(busy.status == 428 && busy.code == "busy" && busy["Proof-Refusal"] == "token")
    #expect(try busy.challengeKind == .work)
    let without = site.answer("GET", "/token", try site.solved(busy))
    #expect(try without.status == 428 && without.challengeKind == .token, "work is no token")
    let next = ("Proof-Challenge", try #require(without["Proof-Challenge"]))
    let paid = try site.solved(site.answer("GET", "/token", [next, token]))
    let passed = site.answer("GET", "/token", paid + [token])
    #expect(passed.status == 200)
    #expect(try site.verdict(passed, "GET", "/token")?.solved == ["token", "work"])
  }

  @Test("Work pays for the opening of a token that comes with it, and stands for none")
  func forgedToken() throws {
    let site = try site()
    let forged = ("Proof-Token", flipped(site.token, bit: 1600))
    let asked = site.answer("GET", "/token")
    let id = ("Proof-Challenge", try #require(asked["Proof-Challenge"]))
    let paid = try site.solved(site.answer("GET", "/token", [id, forged]))
    let refused = site.answer("GET", "/token", paid + [forged])
    #expect(refused.status == 428 && refused["Proof-Verdict"] == nil)
    #expect(refused.reason == ChallengeRefusal.wrong.description)
    if let clearance = refused["Proof-Clearance"] {
      #expect(site.answer("GET", "/token", [("Proof-Clearance", clearance)]).status == 428)
    }
    #expect(site.requests.admissionCount == 0)
  }

  @Test("A rule that watches asks for nothing")
  func watching() throws {
    var openings = OpeningBudget()
    openings.strangers = OpeningBudget.Rate(burst: 0, perSecond: 0)
    let site = try ForwardSite(
      "route x\n  path /*\n  need proof\n  mode watch", openings: openings)
    let watched = site.answer("GET", "/x", try site.proven("GET", "/x"))
    #expect(watched.status == 200 && watched.isWatched && watched["Proof-Refusal"] == nil)
    #expect(watched["Proof-Challenge"] == nil && watched.code == "busy")
  }
}
