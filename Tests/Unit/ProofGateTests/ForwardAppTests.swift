// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend
@testable import ProofGate

/// Apps at a gate's door: their proofs, tokens, tickets and clearances beside challenges.
@Suite struct ForwardAppTests {
  @Test(
    "An app's clearance counts beside a proof of the same app alone, and work never stands for a proof"
  )
  func apps() throws {
    let site = try ForwardSite.needing()
    #expect(site.answer("GET", "/both").status == 401, "no proof")
    let first = site.answer("GET", "/both", try site.proven("GET", "/both"))
    #expect(first.status == 428 && first.handle == site.handle)
    let answer = try site.solved(first)
    #expect(site.answer("GET", "/both", answer).status == 401)
    let passed = site.answer("GET", "/both", try site.proven("GET", "/both") + answer)
    #expect(passed.status == 200)
    let clearance = ("Proof-Clearance", try #require(passed["Proof-Clearance"]))
    #expect(site.answer("GET", "/both", [clearance]).status == 401)
    #expect(site.answer("GET", "/search", [clearance]).status == 428)
    #expect(
      site.answer("GET", "/both", try site.proven("GET", "/both") + [clearance]).status == 200)
    let verdict = try site.verdict(
      site.answer("GET", "/search", try site.proven("GET", "/search") + [clearance]), "GET",
      "/search")
    #expect(verdict?.solved == ["work"] && verdict?.app != nil && verdict?.client == nil)
  }

  @Test("A proof that came has to be right where none is needed, and a method override is refused")
  func needless() throws {
    let site = try ForwardSite.needing()
    var fields = try site.proven("GET", "/search")
    fields.append(
      contentsOf: try site.solved(site.answer("GET", "/search", try site.proven("GET", "/search"))))
    #expect(site.answer("GET", "/search", fields).status == 200)
    #expect(site.answer("GET", "/search", fields).code == "request-22")
    let changed = site.answer("GET", "/search", [("X-HTTP-Method-Override", "DELETE")])
    #expect(changed.status == 403 && changed.code == "method-override")
    let twice = [("Proof-Clearance", "a"), ("Proof-Clearance", "b")]
    #expect(site.answer("GET", "/search", twice).status == 403)
  }

  @Test("An app of less than a day pays work, unless the rule says otherwise")
  func young() throws {
    let site = try ForwardSite.needing(seen: ForwardSite.now - 100)
    let first = site.answer("GET", "/x", try site.proven("GET", "/x"))
    #expect(first.status == 428 && first.code == "challenge-work")
    #expect(try first.challengeLevel == 2)
    let answer = try site.solved(first)
    #expect(site.answer("GET", "/x", try site.proven("GET", "/x") + answer).status == 200)
    let free = site.answer("GET", "/both", try site.proven("GET", "/both"))
    #expect(try free.challengeLevel == 3, "only what the rule itself needs")
    site.site.clock.now += 3_000
    let old = try ForwardSite.needing(seen: ForwardSite.now - 86_400)
    #expect(old.answer("GET", "/x", try old.proven("GET", "/x")).status == 200)
  }

  @Test("A ticket admits an app at another node, unless it is revoked, superseded or altered")
  func tickets() throws {
    let site = try ForwardSite.needing()
    let opened = site.answer("GET", "/x", try site.proven("GET", "/x"))
    let ticket = try #require(opened["Proof-Ticket"])
    let known = site.answer("GET", "/x", try site.proven("GET", "/x", token: false))
    #expect(known.status == 200 && known["Proof-Ticket"] == nil)
    let node = try site.other()
    func ask(_ ticket: String?) throws -> ForwardAnswer {
      let more = ticket.map { [("Proof-Ticket", $0)] } ?? []
      return site.answer(
        "GET", "/x", try site.proven("GET", "/x", token: false) + more, at: node.gate)
    }
    let unknown = try ask(nil)
    #expect(unknown.status == 428 && unknown["Proof-Refusal"] == "token")
    #expect(try unknown.challengeKind == .token)
    #expect(try ask(flipped(ticket, bit: 900)).status == 428)
    node.requests.revoke([site.instance: 1])
    #expect(try ask(ticket).status == 428 && node.requests.admissionCount == 0)
    node.requests.revoke([:])
    let admitted = try ask(ticket)
    #expect(admitted.status == 200 && admitted.handle == site.handle)
    node.requests.revoke([site.instance: 1])
    #expect(try ask(ticket).status == 401, "the next request is judged by the list")
    let raised = try ForwardSite.needing(floor: ForwardSite.now + 1)
    let grant = GateGrant(
      for: raised.site.id, instance: raised.instance, mode: .production, issued: ForwardSite.now,
      notAfter: ForwardSite.now + 36_000, firstSeen: 0, secret: raised.secret)
    let late = raised.answer(
      "GET", "/x",
      try raised.proven("GET", "/x", token: false)
        + [("Proof-Ticket", raised.desks.tickets.ticket(for: grant))])
    #expect(late.status == 428)
  }

  @Test("A refused request gets no ticket")
  func noTicket() throws {
    let site = try ForwardSite.needing()
    let fields = try site.proven("GET", "/x")
    let refused = site.answer("POST", "/x", fields)
    #expect(refused.status == 401 && refused["Proof-Ticket"] == nil)
  }

  @Test("A rule that needs a token takes one beside the answer to its challenge")
  func token() throws {
    let site = try ForwardSite.needing()
    #expect(site.answer("GET", "/token", [("Proof-Token", site.token)]).status == 428)
    let asked = site.answer("GET", "/token")
    #expect(try asked.challengeKind == .token)
    let id = ("Proof-Challenge", try #require(asked["Proof-Challenge"]))
    #expect(site.answer("GET", "/token", [id]).status == 428)
    let next = site.answer("GET", "/token")
    let other = ("Proof-Challenge", try #require(next["Proof-Challenge"]))
    let passed = site.answer("GET", "/token", [other, ("Proof-Token", site.token)])
    #expect(passed.status == 200)
    #expect(try site.verdict(passed, "GET", "/token")?.app == nil, "a token proves no request")
    let clearance = ("Proof-Clearance", try #require(passed["Proof-Clearance"]))
    #expect(site.answer("GET", "/token", [clearance]).status == 200)
    #expect(site.answer("GET", "/search", [clearance]).status == 428)
    #expect(site.answer("GET", "/token", try site.proven("GET", "/token")).status == 200)
  }

  @Test("An app that failed gets the same answers, field by field")
  func failing() throws {
    func told(_ isFailed: Bool) throws -> [[String]] {
      let site = try ForwardSite.needing(isFailed: isFailed, seen: ForwardSite.now - 100)
      var answers = [site.answer("GET", "/x", try site.proven("GET", "/x"))]
      let answer = try site.solved(answers[0])
      answers.append(site.answer("GET", "/x", try site.proven("GET", "/x") + answer))
      answers.append(site.answer("GET", "/both", try site.proven("GET", "/both")))
      answers.append(site.answer("GET", "/quiet", try site.proven("GET", "/quiet")))
      answers.append(site.answer("POST", "/x", try site.proven("GET", "/x")))
      return answers.map { answer in
        ["\(answer.status)", answer.code]
          + answer.fields.filter { $0.name != "Proof-Verdict" }.map {
            "\($0.name) \($0.value.utf8.count)"
          }
      }
    }
    #expect(try told(true) == told(false))
  }
}
