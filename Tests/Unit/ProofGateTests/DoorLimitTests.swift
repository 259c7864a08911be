// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend
@testable import ProofGate

/// Rate limits and the load of challenges at a gate's door.
@Suite struct DoorLimitTests {
  private static let rules = """
    route address
      path /address
      need none
      limit address 2/hour
    route instance
      path /instance
      need proof
      young none
      limit instance 1/hour
    route account
      path /account
      need proof
      young none
      limit account 1/minute
    route watched
      path /watched
      need none
      mode watch
      limit address 1/hour
    route priced
      path /priced
      need none
      limit address 1/hour then work 2
    route person
      path /person
      need proof
      young none
      limit instance 1/hour then person
    route rest
      path /*
      need proof
    """

  /// A site, and its gate with a clock of limits that stands.
  private func site() throws -> (ForwardSite, ForwardGate) {
    let site = try ForwardSite(Self.rules)
    return (
      site,
      try ForwardGate(
        site.gate.rules, site.requests, own: site.site.own, desks: site.desks,
        limits: GateLimits { 7 })
    )
  }

  @Test("A request beyond its address's limit is told when the next one counts")
  func addresses() throws {
    let (site, gate) = try site()
    for _ in 0..<2 { #expect(site.answer("GET", "/address", at: gate).code == "unjudged") }
    let refused = site.answer("GET", "/address", at: gate)
    #expect(refused.status == 429 && refused.code == "limit-address")
    #expect(refused["Retry-After"] == "1801" && refused["Proof-Status"] == "429")
    #expect(refused["Proof-Verdict"] == nil && refused["Proof-Refusal"] == nil)
    #expect(
      refused.reason
        == "The address has sent more than 2 requests a hour: it may go on in 1801 s.")
    #expect(site.answer("GET", "/address", from: "192.0.2.9", at: gate).code == "unjudged")
  }

  @Test("Requests with a proof count for their installation, and for the account that they name")
  func proofs() throws {
    let (site, gate) = try site()
    func ask(_ path: String, _ account: String? = nil) throws -> ForwardAnswer {
      site.answer("GET", path, try site.proven("GET", path, account: account), at: gate)
    }
    #expect(try ask("/instance").status == 200)
    let again = try ask("/instance")
    #expect(again.status == 429 && again.code == "limit-instance")
    #expect(again["Retry-After"] == "3601")
    #expect(try ask("/other").status == 200, "no limit of this rule")
    let (ada, eve) = (try ForwardSite.account("ada").text, try ForwardSite.account("eve").text)
    #expect(try ask("/account", ada).status == 200)
    let more = try ask("/account", ada)
    #expect(more.status == 429 && more.code == "limit-account" && more["Retry-After"] == "61")
    #expect(try ask("/account", eve).status == 200)
    for _ in 0..<2 { #expect(try ask("/account").status == 200, "no account is named") }
    #expect(site.answer("GET", "/instance", at: gate).status == 401, "no proof, no count")
  }

  @Test("A rule that watches lets pass what is beyond its limit, and says so")
  func watched() throws {
    let (site, gate) = try site()
    #expect(site.answer("GET", "/watched", at: gate).code == "unjudged")
    let watched = site.answer("GET", "/watched", at: gate)
    #expect(watched.status == 200 && watched.isWatched && watched.code == "limit-address")
    #expect(watched["Retry-After"] == nil)
    #expect(try site.verdict(watched, "GET", "/watched")?.reason == watched.reason)
  }

  @Test("Beyond a limit with a challenge its answer lets a request pass")
  func priced() throws {
    let (site, gate) = try site()
    #expect(site.answer("GET", "/priced", at: gate).code == "unjudged")
    let asked = site.answer("GET", "/priced", at: gate)
    #expect(try asked.status == 428 && asked.challengeKind == .work && asked.challengeLevel == 2)
    #expect(asked["Retry-After"] == nil)
    #expect(site.answer("GET", "/priced", try site.solved(asked), at: gate).status == 200)
    let proven = try site.proven("GET", "/person")
    #expect(site.answer("GET", "/person", proven, at: gate).status == 200)
    let person = site.answer("GET", "/person", try site.proven("GET", "/person"), at: gate)
    #expect(try person.status == 428 && person.challengeKind == .person)
  }

  // MARK: Load

  /// The bits of sixteen more challenges of a client: the last one has one if none is open.
  private func bits(_ site: ForwardSite, _ client: ChallengeClient, _ rule: String) -> [UInt8] {
    (0..<16).map { _ in
      site.desks.load.set(client, on: RouteRule(rule).number, at: ForwardSite.now)
    }
  }

  @Test("An answer that counts takes its challenge off its sender's load, and a wrong one does not")
  func load() throws {
    let none = [UInt8](repeating: 0, count: 15) + [1]
    let site = try ForwardSite.needing()
    let address = ChallengeClient.address(Site.address)
    let asked = site.answer("GET", "/search")
    #expect(site.answer("GET", "/search", try site.solved(asked)).status == 200)
    #expect(bits(site, address, "search") == none)
    // In loads of their own: two senders share a cell now and then.
    let second = try ForwardSite.needing()
    let app = ChallengeClient.app(second.secret.keys.handle)
    let both = second.answer("GET", "/both", try second.proven("GET", "/both"))
    let answer = try second.proven("GET", "/both") + second.solved(both)
    #expect(second.answer("GET", "/both", answer).status == 200)
    #expect(bits(second, app, "both") == none)
    let other = try ForwardSite.needing()
    let id = ("Proof-Challenge", try #require(other.answer("GET", "/search")["Proof-Challenge"]))
    #expect(other.answer("GET", "/search", [id, ("Proof-Answer", "x")]).status == 428)
    // Two challenges of the route are open.
    #expect(bits(other, address, "search") == [UInt8](repeating: 0, count: 13) + [1, 1, 1])
  }

  @Test("A challenge for an opening that is answered is off the load")
  func openings() throws {
    var openings = OpeningBudget()
    openings.strangers = OpeningBudget.Rate(burst: 0, perSecond: 0)
    let site = try ForwardSite.needing(openings: openings)
    let asked = site.answer("GET", "/quiet", try site.proven("GET", "/quiet"))
    let answer = try site.proven("GET", "/quiet") + site.solved(asked)
    #expect(site.answer("GET", "/quiet", answer).status == 200)
    #expect(
      bits(site, .address(Site.address), "quiet") == [UInt8](repeating: 0, count: 15) + [1])
  }

  @Test("Challenges of kind token price no other challenge of their sender")
  func tokens() throws {
    let site = try ForwardSite.needing()
    for _ in 0..<20 { #expect(try site.answer("GET", "/token").challengeKind == .token) }
    #expect(bits(site, .address(Site.address), "token") == [UInt8](repeating: 0, count: 15) + [1])
    let person = try ForwardSite.needing()
    for _ in 0..<15 { _ = person.answer("GET", "/person") }
    #expect(try person.answer("GET", "/search").challengeLevel == 4)
  }
}
