// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend
@testable import ProofGate

/// Clearances that count once, and the fields of answers that the gate cannot give.
@Suite struct DoorSpendTests {
  private static let rules = """
    route app
      path /app
      need proof work 2
      young none
      spend yes
    route any
      path /any
      need work 2
      spend yes
    route free
      path /free
      need none
    """

  private func clearance(_ answer: ForwardAnswer) throws -> [ForwardSite.Line] {
    [("Proof-Clearance", try #require(answer["Proof-Clearance"]))]
  }

  @Test("An app spends its clearances one after the other, each beside a proof")
  func apps() throws {
    let site = try ForwardSite(Self.rules)
    func ask(_ more: [ForwardSite.Line]) throws -> ForwardAnswer {
      site.answer("GET", "/app", try site.proven("GET", "/app") + more)
    }
    let first = try clearance(ask(site.solved(ask([]))))
    let second = try ask(first)
    #expect(second.status == 200)
    #expect(try ask(first).status == 428, "spent")
    let third = try ask(clearance(second))
    #expect(third.status == 200)
    #expect(try clearance(third)[0].value != clearance(second)[0].value)
    #expect(try ask(clearance(third)).status == 200)
    let unproven = site.answer("GET", "/any", try clearance(third))
    #expect(unproven.status == 428, "an app's clearance counts beside its proof alone")
  }

  @Test("A session's clearance stays the session's if it is spent beside a proof")
  func sessions() throws {
    let site = try ForwardSite(Self.rules)
    let first = try clearance(
      site.answer("GET", "/any", try site.solved(site.answer("GET", "/any"))))
    let beside = site.answer("GET", "/any", try site.proven("GET", "/any") + first)
    #expect(beside.status == 200 && beside.handle == site.handle)
    let alone = site.answer("GET", "/any", try clearance(beside))
    #expect(alone.status == 200)
    #expect(site.answer("GET", "/any", try clearance(beside)).status == 428, "spent")
    let last = try clearance(alone)
    #expect(site.answer("GET", "/any", last, from: "192.0.2.9").status == 428)
    // Where nothing is asked for, nothing is spent.
    let used = site.replay.count
    #expect(site.answer("GET", "/free", last).status == 200 && site.replay.count == used)
    #expect(site.answer("GET", "/any", last).status == 200)
  }

  @Test("An answer while the gate cannot judge has a pause and a reference alone")
  func doubts() throws {
    let site = try ForwardSite(Self.rules)
    let fields = try site.proven("GET", "/app")
    site.replay.isFailing = true
    let doubt = site.answer("GET", "/app", fields)
    #expect(doubt.status == 503 && doubt.code == "store")
    #expect(doubt.fields.map(\.name) == ["Retry-After", "Proof-Reference", "Proof-Status"])
    #expect(doubt["Retry-After"] == "5" && doubt["Proof-Status"] == "503")
    site.replay.isFailing = false
    let old = try ForwardSite(Self.rules, staleAfter: 0)
    old.site.clock.now += 1
    let stale = old.answer("GET", "/app", try old.proven("GET", "/app"))
    #expect(stale.status == 503 && stale.code == "configuration-age")
    #expect(stale.fields.map(\.name) == ["Retry-After", "Proof-Reference", "Proof-Status"])
  }

  @Test("A client that works for its opening is told one class, and the time")
  func openings() throws {
    var openings = OpeningBudget()
    openings.strangers = OpeningBudget.Rate(burst: 0, perSecond: 0)
    let site = try ForwardSite(Self.rules, openings: openings)
    let asked = site.answer("GET", "/app", try site.proven("GET", "/app"))
    #expect(asked.status == 428 && asked.code == "busy")
    #expect(
      asked.fields.map(\.name).sorted() == [
        "Proof-Challenge", "Proof-Reference", "Proof-Refusal", "Proof-Status", "Proof-Time",
      ])
  }
}
