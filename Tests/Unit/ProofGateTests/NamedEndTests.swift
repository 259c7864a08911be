// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofGate

/// The answer to a request for a named challenge in the last second of a clearance, and after it.
@Suite struct NamedEndTests {
  @Test("A clearance opens a named challenge to its last second, with no second left then")
  func ends() throws {
    let site = try ForwardSite(
      "route rest\n  path /*\n  need proof\n",
      challenges: #"{"name":"slow","kind":"work","level":2,"life":77}"#)
    func ask(_ fields: [ForwardSite.Line] = []) throws -> PageAnswer {
      let told: [ForwardSite.Line] = [
        ("X-Original-Host", Site.host), ("X-Original-Scheme", "https"),
      ]
      return try #require(
        site.gate.answer(
          named: "GET", PageHandler.folder + "challenges/slow", told + fields, from: Site.address,
          at: site.site.clock.now))
    }
    let asked = try ask()
    let text = try #require(asked.field("Proof-Challenge"))
    #expect(asked.status == 428 && asked.code == "challenge-work" && asked.reason == nil)
    let fields = [("Proof-Challenge", text), ("Proof-Answer", try solve(text).solution)]
    let right = try ask(fields.map { (name: $0.0, value: $0.1) })
    #expect(right.code == "cleared" && right.object["expires"] == 900)
    let held = [(name: "Proof-Clearance", value: try #require(right.field("Proof-Clearance")))]
    for (seconds, left) in [(899, 1), (1, 0)] as [(Int64, Int64)] {
      site.site.clock.now += seconds
      let again = try ask(held)
      #expect(again.status == 200 && again.object["expires"] == .number(JSONNumber(left)))
      #expect(again.field("Proof-Clearance") == held[0].value)
    }
    site.site.clock.now += 1
    #expect(try ask(held).status == 428)
    let repeated = try ask(held + held)
    #expect(repeated.status == 403 && repeated.reason != nil)
  }

  @Test("A named challenge asks a young app for its own work, and a person by a page")
  func askers() throws {
    let site = try ForwardSite(
      "route rest\n  path /*\n  need proof\n", seen: ForwardSite.now - 100,
      challenges: #"{"name":"slow","kind":"work","level":2,"life":77}"#)
    let path = PageHandler.folder + "challenges/slow"
    func ask(_ fields: [ForwardSite.Line]) throws -> PageAnswer {
      let told: [ForwardSite.Line] = [
        ("X-Original-Host", Site.host), ("X-Original-Scheme", "https"),
      ]
      return try #require(
        site.gate.answer(
          named: "GET", path, told + fields, from: Site.address, at: site.site.clock.now))
    }
    let young = try ask(site.proven("GET", path))
    let id = try #require(young.field("Proof-Challenge"))
    #expect(young.status == 428)
    #expect(try #require(Base64.decode(id, .url))[0...2].elementsEqual([0x17, 1, 2]))
    let program = try ask([])
    #expect(program.field("Content-Type") == "application/problem+json")
    let person = try ask([("Accept", "text/html")])
    #expect(person.status == 428 && person.field("Content-Type") == "text/html; charset=utf-8")
    #expect(person.text.contains("page?challenge=") && person.text.contains("method=GET&amp;"))
  }
}
