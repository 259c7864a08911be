// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Testing

@testable import ProofBackend
@testable import ProofGate

/// Questions with answers, tickets, clearances and demands that are almost right: only what the gate made counts.
@Suite struct ForwardFuzzTests {
  private static let rules = "route a\npath /*\nneed work 1\norigin https://www.example.com\n"

  @Test("No field of any form makes a request pass, but the right answer does once")
  func questions() throws {
    let site = try ForwardSite(Self.rules)
    let right = try site.solved(site.answer("GET", "/"))
    let passed = site.answer("GET", "/", right)
    let clearance = try #require(passed["Proof-Clearance"])
    let ticket = site.desks.tickets.ticket(
      for: GateGrant(
        for: site.site.id, instance: site.instance, mode: .production, issued: ForwardSite.now,
        notAfter: ForwardSite.now + 60, firstSeen: 0, secret: site.secret))
    let names = [
      "Proof-Challenge", "Proof-Answer", "Proof-Clearance", "Proof-Ticket", "Proof-Token", "Cookie",
      "Origin", "Accept", "Signature-Input", "Signature", "Proof",
    ]
    let seeds = [
      right[0].value, right[1].value, clearance, ticket, site.token,
      "\(ClearanceField.cookieName)=\(clearance)", "https://www.example.com", "text/html",
    ].map { Array($0.utf8) }
    var mutator = Mutator("questions")
    for _ in 0..<Mutator.rounds {
      let lines = (0..<mutator.pick([1, 2, 3, 4])).map { _ in
        (
          name: mutator.pick(names),
          value: String(decoding: mutator.mutant(of: seeds), as: UTF8.self)
        )
      }
      let answer = site.answer("GET", "/", lines)
      if answer.status == 200 {
        #expect(
          lines.contains {
            $0.value == clearance || $0.value.hasSuffix("\(ClearanceField.cookieName)=\(clearance)")
          }, "\(lines)")
      } else {
        let document = site.gate.document(of: answer)
        #expect(document.status == answer.status && !document.body.isEmpty)
      }
    }
    #expect(site.requests.admissionCount == 0)
  }

  @Test("No event or account of any form passes beside a right proof, but the right ones once")
  func events() throws {
    let site = try ForwardSite(
      "route a\npath /*\nneed proof event 3300\nyoung none\n", redeems: true)
    let ada = try ForwardSite.account("ada")
    let event = try site.event(data: [1], account: ada)
    let seeds = [event, ada.text, try site.event(3301, data: [1])].map { Array($0.utf8) }
    var mutator = Mutator("events")
    for round in 0..<Mutator.rounds {
      let token = String(decoding: mutator.mutant(of: seeds), as: UTF8.self)
      let account = String(decoding: mutator.mutant(of: seeds), as: UTF8.self)
      let isRight = token == event && account == ada.text
      guard !isRight, let fields = try? site.proven("POST", "/", body: [1], account: account) else {
        continue
      }
      let answer = site.answer("POST", "/", fields + [("Proof-Event", token)])
      #expect([401, 403].contains(answer.status), "round \(round): \(token) \(account)")
    }
    #expect(site.events.count == 0)
    let fields = try site.proven("POST", "/", body: [1], account: ada.text)
    #expect(site.answer("POST", "/", fields + [("Proof-Event", event)]).status == 200)
  }

  @Test("A second question of any form gets a refusal")
  func refusals() throws {
    let site = try ForwardSite(Self.rules)
    let names = [
      "X-Proof-Status", "X-Proof-Challenge", "X-Proof-Nonce", "X-Proof-Time", "X-Proof-Refusal",
      "X-Proof-Reference", "Accept", "Origin", "X-Original-URI", "X-Original-Method",
    ]
    let seeds = ["428", "401", "text/html", "https://www.example.com", "/a?b=c", "GET", "AAAA"]
      .map { Array($0.utf8) }
    let told = ForwardStyle.original.told(method: "GET", target: "/", host: Site.host)
    var mutator = Mutator("refusals")
    for _ in 0..<Mutator.rounds {
      let lines = (0..<4).map { _ in
        (
          name: mutator.pick(names),
          value: String(decoding: mutator.mutant(of: seeds), as: UTF8.self)
        )
      }
      let document = site.gate.refusal(told + lines, at: ForwardSite.now)
      #expect([401, 403, 428, 429, 503].contains(document.status))
      for field in document.fields {
        #expect(field.value.utf8.allSatisfy { (0x20..<0x7F).contains($0) }, "\(field)")
      }
      let text = String(decoding: document.body, as: UTF8.self)
      #expect(!text.lowercased().contains("<script"))
    }
  }

  @Test("A demand of any form is judged, and only an API's own is taken")
  func demands() throws {
    let site = try ForwardSite(Self.rules)
    let text = GateDemand(.person, of: "a.192.0.2.7").text(
      with: site.site.own.verdictKeys(for: Site.host)[0], at: ForwardSite.now)
    var mutator = Mutator("demands")
    for _ in 0..<Mutator.rounds {
      let other = String(decoding: mutator.mutant(of: [Array(text.utf8)]), as: UTF8.self)
      if site.gate.take(demand: other, at: ForwardSite.now) != .refused { #expect(other == text) }
    }
    #expect(site.gate.take(demand: text, at: ForwardSite.now) == .taken)
  }
}
