// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend
@testable import ProofGate

/// Challenges that an API demands.
@Suite struct ForwardDemandTests {
  @Test("An API's demand challenges the next request of its client alone, until that answered anew")
  func demands() throws {
    let site = try ForwardSite.needing()
    let now = ForwardSite.now
    let key = site.site.own.verdictKeys(for: Site.host)[0]
    let proven = try site.ask("GET", "/both")
    let first = site.answer(
      "GET", "/both", try site.proven("GET", "/both") + site.solved(proven.answer))
    let clearance = ("Proof-Clearance", try #require(first["Proof-Clearance"]))
    let read = try site.verdict(first, "GET", "/both")
    let verdict = try #require(read)
    let demand = try #require(GateDemand(.work, level: 3, after: verdict))
    let text = demand.text(with: key, at: now + 1)
    let dearer = try #require(GateDemand(.work, level: 4, after: verdict))
    let mixed = zip([dearer.text(with: key, at: now + 1), text], [0, 1]).map { text, part in
      String(text.split(separator: ".")[part])
    }
    #expect(
      site.gate.take(demand: mixed.joined(separator: "."), at: now + 1) == .refused, "another tag")
    #expect(site.gate.take(demand: text, at: now + 32) == .refused, "too old")
    let last = UnixTime(seconds: (now + 31).seconds, nanoseconds: 999_999_999)
    #expect(site.gate.take(demand: text, at: last) == .taken, "the whole last second")
    #expect(site.gate.take(demand: text, at: now + 1) == .taken)
    func ask(_ more: [(name: String, value: String)]) throws -> ForwardAnswer {
      site.answer("GET", "/both", try site.proven("GET", "/both") + more)
    }
    site.site.clock.now += 1
    let asked = try ask([clearance])
    #expect(asked.status == 428, "the clearance is older than the demand")
    let answered = try ask(site.solved(asked))
    #expect(answered.status == 200)
    let newer = try #require(answered["Proof-Clearance"])
    #expect(try ask([("Proof-Clearance", newer)]).status == 200)
    // Another client, and the other host of the gate, are not asked.
    let session = site.answer("GET", "/search", try site.solved(site.answer("GET", "/search")))
    let seen = try site.verdict(session, "GET", "/search")
    let name = try #require(seen?.client)
    #expect(name == "a.\(Site.address)")
    let foreign = GateDemand(.person, of: name).text(
      with: site.site.own.verdictKeys(for: ForwardSite.elsewhere)[0], at: now)
    #expect(site.gate.take(demand: foreign, at: now) == .taken)
    let held = ("Proof-Clearance", try #require(session["Proof-Clearance"]))
    #expect(site.answer("GET", "/search", [held]).status == 200)
    let proof = GateDemand(.proof, of: "h.\(site.handle)").text(with: key, at: now + 2)
    #expect(site.gate.take(demand: proof, at: now + 2) == .taken)
    site.site.clock.now += 1
    let wanted = try ask([clearance])
    let id = try #require(wanted["Proof-Challenge"])
    let place = ChallengePlace(method: "GET", authority: Site.host, target: "/both")
    let answer = try site.secret.keys.challengeProof(
      answering: wanted.challengeBytes(), at: site.site.id, for: place)
    let fields = [("Proof-Challenge", id), ("Proof-Answer", Base64.encode(answer.bytes, .url))]
    #expect(try wanted.challengeKind == .proof)
    let proved = try ask(fields)
    #expect(proved.code == "challenge-work", "the rule's own work is missing")
    let kept = ("Proof-Clearance", try #require(proved["Proof-Clearance"]))
    #expect(try ask(site.solved(proved) + [kept]).status == 200)
  }

  @Test("A demand of another time, for more than a day, or of a level that is none, is refused")
  func bounds() throws {
    let site = try ForwardSite.needing()
    let now = ForwardSite.now
    let key = site.site.own.verdictKeys(for: Site.host)[0]
    func take(_ demand: GateDemand, made moment: UnixTime = ForwardSite.now) -> DemandResult {
      site.gate.take(demand: demand.text(with: key, at: moment), at: now)
    }
    let name = "a.\(Site.address)"
    for moment: UnixTime in [now - 30, now + 30] {
      #expect(take(GateDemand(.person, of: name), made: moment) == .taken)
    }
    for moment: UnixTime in [now - 31, now + 31] {
      #expect(take(GateDemand(.person, of: name), made: moment) == .refused)
    }
    #expect(take(GateDemand(.person, of: name, seconds: 86_400)) == .taken)
    #expect(take(GateDemand(.person, of: name, seconds: 86_401)) == .refused)
    #expect(take(GateDemand(.work, level: 200, of: name)) == .refused)
  }

  @Test("The table of demands is bounded")
  func demandTable() throws {
    let table = DemandTable()
    func put(_ name: Int, at now: UnixTime) -> Bool {
      table.put(
        .init(kind: .person, level: 0, moment: now, end: now + 10), for: "\(name)", at: "a",
        now: now)
    }
    for name in 0..<DemandTable.countMax { #expect(put(name, at: 100)) }
    #expect(!put(-1, at: 110) && table.count == DemandTable.countMax)
    #expect(put(-1, at: 111) && table.count == 1)
  }
}
