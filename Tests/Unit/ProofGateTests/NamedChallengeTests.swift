// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofBackend
@testable import ProofGate

/// Named challenges: each kind is answered like a route's, and its clearance is the client's own.
@Suite struct NamedChallengeTests {
  private typealias Line = ForwardSite.Line

  private func site(watchesAll: Bool = false) throws -> ForwardSite {
    try ForwardSite(
      "route person\n  path /person\n  need person\nroute work\n  path /work\n  need work 2\n"
        + "route token\n  path /token\n  need token\nroute rest\n  path /*\n  need proof\n",
      watchesAll: watchesAll,
      challenges: ["token", "proof", "person"].map {
        #"{"name":"\#($0)","kind":"\#($0)","level":0,"life":60}"#
      }.joined(separator: ",")
        + #",{"name":"slow","kind":"work","level":2,"life":77},"#
        + #"{"name":"dear","kind":"memory","level":1,"life":77}"#)
  }

  private func path(_ name: String) -> String { PageHandler.folder + "challenges/" + name }

  private func ask(
    _ site: ForwardSite, _ name: String, _ fields: [Line] = [], method: String = "GET",
    from address: String = Site.address
  ) -> PageAnswer? {
    let told = [("X-Original-Host", Site.host), ("X-Original-Scheme", "https")]
    return site.gate.answer(
      named: method, path(name), told.map { (name: $0.0, value: $0.1) } + fields, from: address,
      at: site.site.clock.now)
  }

  private func proven(_ site: ForwardSite, _ name: String, token: Bool = true) throws -> [Line] {
    try site.proven("GET", path(name), token: token)
  }

  private func id(_ answer: PageAnswer?, _ kind: ChallengeKind) throws -> String {
    let text = try #require(answer?.field("Proof-Challenge"))
    #expect(answer?.status == 428)
    #expect(try #require(Base64.decode(text, .url))[0] & 15 == kind.rawValue)
    return text
  }

  @Test("Work is answered once, in its time, and its clearance passes at routes")
  func work() throws {
    let site = try site()
    for name in ["slow", "dear"] {
      let text = try id(ask(site, name), name == "slow" ? .work : .memoryWork)
      let bytes = try #require(Base64.decode(text, .url))
      #expect(UInt32(littleEndianBytes: bytes[4..<8]) == UInt32(site.site.clock.now.seconds) + 77)
      let fields = [("Proof-Challenge", text), ("Proof-Answer", try solve(text).solution)]
      #expect(ask(site, name == "slow" ? "dear" : "slow", fields)?.status == 428, "another place")
      let right = try #require(ask(site, name, fields))
      let clearance = try #require(right.field("Proof-Clearance"))
      #expect(right.status == 200 && right.object["clearance"] == .string(clearance))
      #expect(right.object["expires"] == 900 && right.field("Proof-Verdict") == nil)
      #expect(ask(site, name, fields)?.status == 428, "once")
      let held = [("Proof-Clearance", clearance)]
      #expect(ask(site, name, held)?.status == 200)
      #expect(ask(site, name, held, from: "203.0.113.9")?.status == 428)
      #expect(ask(site, "person", held)?.status == 428)
      #expect(site.answer("GET", "/work", held).status == (name == "slow" ? 200 : 428))
    }
  }

  @Test("Where nothing is enforced, a client that asks for a challenge gets it")
  func watched() throws {
    #expect(ask(try site(watchesAll: true), "slow")?.status == 428)
  }

  @Test("An app that proves gets a clearance of its own, which counts beside its proof alone")
  func app() throws {
    let site = try site()
    let text = try id(ask(site, "slow", proven(site, "slow")), .work)
    let solution = [("Proof-Challenge", text), ("Proof-Answer", try solve(text).solution)]
    #expect(ask(site, "slow", solution)?.status == 428, "another client")
    let right = try #require(
      ask(site, "slow", try proven(site, "slow", token: false) + solution))
    let held = [("Proof-Clearance", try #require(right.field("Proof-Clearance")))]
    #expect(right.status == 200 && right.field("Proof-Time") != nil)
    #expect(ask(site, "slow", held)?.status == 428)
    #expect(try ask(site, "slow", proven(site, "slow") + held)?.status == 200)
    #expect(site.answer("GET", "/work", held).status == 428)
    #expect(try site.answer("GET", "/work", site.proven("GET", "/work") + held).status == 200)
  }

  @Test("A wrong or repeated proof is refused")
  func proofs() throws {
    let site = try site()
    let fields = try proven(site, "slow")
    #expect(ask(site, "slow", fields)?.status == 428)
    #expect(ask(site, "slow", fields)?.status == 401, "the same proof again")
    #expect(try ask(site, "slow", proven(site, "dear"))?.status == 401, "another place")
  }

  @Test("A token, a ticket or a proof answers the kind token")
  func token() throws {
    let site = try site()
    let text = try id(ask(site, "token"), .token)
    #expect(ask(site, "token", [("Proof-Challenge", text)])?.status == 428)
    let other = try id(ask(site, "token"), .token)
    let fields = [("Proof-Challenge", other), ("Proof-Token", site.token)]
    let right = try #require(ask(site, "token", fields))
    #expect(right.status == 200)
    #expect(ask(site, "token", fields)?.status == 428, "once")
    let held = [("Proof-Clearance", try #require(right.field("Proof-Clearance")))]
    #expect(site.answer("GET", "/token", held).status == 200)

    let own = try #require(ask(site, "token", try proven(site, "token")))
    let clearance = [("Proof-Clearance", try #require(own.field("Proof-Clearance")))]
    #expect(own.status == 200)
    #expect(site.answer("GET", "/token", clearance).status == 428, "without the app's proof")
  }

  @Test("The keys of an attested app answer the kind proof")
  func proof() throws {
    let site = try site()
    let place = ChallengePlace(method: "GET", authority: Site.host, target: path("proof"))
    func answer(_ text: String) throws -> [Line] {
      let bytes = try #require(Base64.decode(text, .url))
      let proof = try site.secret.keys.challengeProof(
        answering: bytes, at: site.site.id, for: place)
      return [("Proof-Challenge", text), ("Proof-Answer", Base64.encode(proof.bytes, .url))]
    }
    let foreign = try id(ask(site, "proof"), .proof)
    #expect(ask(site, "proof", try answer(foreign))?.status == 428, "no proof of the request")
    let text = try id(ask(site, "proof", proven(site, "proof")), .proof)
    let wrong = [
      ("Proof-Challenge", text),
      ("Proof-Answer", Base64.encode([UInt8](repeating: 1, count: 32), .url)),
    ]
    let again = try id(ask(site, "proof", proven(site, "proof") + wrong), .proof)
    #expect(ask(site, "proof", try proven(site, "proof") + answer(text))?.status == 428, "used up")
    let fields = try answer(again)
    let right = try #require(ask(site, "proof", try proven(site, "proof") + fields))
    #expect(right.status == 200 && right.field("Proof-Clearance") != nil)
    #expect(try ask(site, "proof", proven(site, "proof") + fields)?.status == 428, "once")
  }

  @Test("A person answers on the page, and the page's clearance opens the named challenge")
  func person() throws {
    let site = try site()
    let text = try id(ask(site, "person"), .person)
    let fields = [("Proof-Challenge", text), ("Proof-Answer", "slider 100 AAAA")]
    #expect(ask(site, "person", fields)?.status == 428)
    let page = PageHandler(
      PageSettings(), own: site.site.own, site.desks.challenges, site.desks.clearances,
      PersonBounds(), clock: site.site.clock.clock)
    let puzzle = try #require(
      SliderPuzzle(
        site.desks.challenges.read(
          text, for: site.site.subject("GET", path("person"))), site.site.own[.challenge]))
    let position = try #require((0...999).first { puzzle.isRight($0) })
    let body: JSONObject = [
      "challenge": .string(text), "method": "GET", "target": .string(path("person")),
      "answer": .string("slider \(position) \(puzzle.mark)"),
    ]
    var request = PageRequest(
      "POST", PageHandler.folder + "answer", at: Site.host, from: Site.address,
      body: Array(JSONValue.object(body).text.utf8))
    try request.fields.append("content-type", "application/json")
    let right = page.answer(request)
    #expect(right.status == 200)
    guard case .string(let clearance) = right.object["clearance"] else {
      Issue.record("none"); return
    }
    #expect(ask(site, "person", [("Proof-Clearance", clearance)])?.status == 200)
    #expect(site.answer("GET", "/person", [("Proof-Clearance", clearance)]).status == 200)
  }

  @Test("A person's challenge of a route is answered on the page")
  func route() throws {
    let site = try site()
    let asked = site.answer("GET", "/person")
    let text = try #require(asked["Proof-Challenge"])
    let page = PageHandler(
      PageSettings(), own: site.site.own, site.desks.challenges, site.desks.clearances,
      PersonBounds(), clock: site.site.clock.clock)
    let request = PageRequest(
      "GET", PageHandler.folder + "page?challenge=\(text)&method=GET&target=%2Fperson",
      at: Site.host, from: Site.address)
    #expect(page.answer(request).status == 200)
  }

  @Test("Other names, methods and hosts, and fields that speak for the proxy, get nothing")
  func others() throws {
    let site = try site()
    #expect(ask(site, "none") == nil && ask(site, "slow?a") == nil && ask(site, "") == nil)
    #expect(ask(site, "slow", method: "POST") == nil)
    #expect(ask(site, "slow", [("X-Original-URI", "/x")])?.status == 403)
    #expect(ask(site, "slow", [("X-Original-Method", "PUT")])?.status == 403)
    #expect(ask(site, "slow", [("X-Original-Host", "x.example")])?.status == 403)
    #expect(ask(site, "slow", [("Proof-Verdict", "x")])?.status == 403)
  }
}
