// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ProofRequest
import Testing

@testable import ProofBackend

/// The verifier: the honest case, facts, forms, and the words that a client gets.
@Suite struct RequestVerifierTests {
  static let route = RequestRoute(Gate.host)

  static func field(_ judgement: RequestJudgement, _ name: String) -> String? {
    judgement.fields.first { $0.name == name }?.value
  }

  @Test("A request with its token counts, and the next one counts without the token")
  func honest() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let store = FailingReplayStore()
    let verifier = try gate.verifier(store)
    let first = verifier.judge(try app.standard(), on: Self.route)
    // Kept as long as a node whose clock is behind may accept it, and no longer.
    #expect(store.lastExpiry == Gate.start + (2 * UInt64(Self.route.window) + 30))
    let verdict = try #require(first.verdict)
    #expect(verdict.form == .standard && verdict.facts.handle == app.keys.handle)
    #expect(verdict.facts.instance == app.instance && !verdict.facts.isFailed)
    #expect(verdict.facts.responseCode == "ABCDEFGH27" && verdict.facts.properties == 1 << 16)
    #expect(verdict.facts.findings == [GateFinding(category: 3, number: 1)])
    #expect(verdict.facts.firstSeen == Gate.start - 86_400)
    #expect(verdict.created == Gate.start && !verdict.isAnchored)
    #expect(verdict.body == Digest(hashing: Gate.body) && verdict.isBodyChecked)
    #expect(verdict.isReplayChecked && verdict.measured == nil)
    #expect(first.fields.map(\.name) == ["Proof-Time"])
    #expect(verifier.judge(try app.standard(withToken: false), on: Self.route).verdict != nil)
    let compact = verifier.judge(try app.compact(withToken: false), on: Self.route)
    #expect(compact.verdict?.form == .compact && compact.verdict?.measured == 3)
    #expect(compact.verdict?.isAnchored == true && verifier.admissionCount == 1)
  }

  @Test("An unknown installation is asked for its token; another gate's token is refused")
  func tokens() throws {
    let gate = try Gate()
    let (app, other) = (try GateApp(at: gate), try GateApp(at: try Gate()))
    let verifier = try gate.verifier()
    let unknown = verifier.judge(try app.standard(withToken: false), on: Self.route)
    #expect(unknown.rejection == .request(.unknownKey))
    #expect(Self.field(unknown, "Proof-Refusal") == "token")
    let foreign = verifier.judge(try other.standard(), on: Self.route)
    #expect(foreign.rejection == .gate(.tokenGate))
    #expect(Self.field(foreign, "Proof-Refusal") == "token")
    // Another installation's token beside a request.
    var mixed = try app.standard(withToken: false)
    try mixed.fields.append("Proof-Token", try GateApp(at: gate).token)
    #expect(verifier.judge(mixed, on: Self.route).rejection == .gate(.handle))
    gate.clock.now += 3_601
    #expect(verifier.judge(try app.standard(), on: Self.route).rejection == .gate(.tokenExpired))
    gate.clock.now = Gate.start
    var text = app.token
    text.removeLast()
    var cut = try app.standard(withToken: false)
    try cut.fields.append("Proof-Token", text)
    #expect(verifier.judge(cut, on: Self.route).rejection == .gate(.tokenLength))
  }

  @Test("A token that has ended no longer counts for a known installation; a revoked one neither")
  func ends() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    #expect(verifier.judge(try app.standard(), on: Self.route).verdict != nil)
    verifier.revoke([app.instance: 1])
    #expect(verifier.judge(try app.standard(), on: Self.route).rejection == .gate(.tokenRevoked))
    #expect(throws: RejectedRequest.gate(.tokenRevoked)) { try verifier.admit(app.grant) }
    verifier.revoke([app.instance: 0])
    #expect(verifier.judge(try app.standard(), on: Self.route).verdict != nil)
    gate.clock.now += 3_601
    let late = verifier.judge(try app.standard(withToken: false), on: Self.route)
    #expect(late.rejection == .gate(.tokenExpired))
    #expect(verifier.admissionCount == 0)
  }

  @Test("A grant that was opened is handed on with a request that counts, not with a refused one")
  func grants() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    var changed = try app.standard()
    changed.method = "DELETE"
    let refused = try gate.verifier().judge(changed, on: Self.route)
    #expect(refused.rejection == .request(.wrongSignature) && refused.opened == nil)
    let verifier = try gate.verifier()
    #expect(verifier.judge(try app.standard(), on: Self.route).opened != nil)
    let known = verifier.judge(try app.standard(withToken: false), on: Self.route)
    #expect(known.verdict != nil && known.opened == nil)
  }

  @Test("A bad token beside a good proof of a known installation costs it nothing")
  func badToken() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    #expect(verifier.judge(try app.standard(), on: Self.route).verdict != nil)
    var request = try app.standard(withToken: false)
    try request.fields.append("Proof-Token", "nonsense")
    #expect(verifier.judge(request, on: Self.route).verdict != nil)
  }

  @Test("Forms count only where the route takes them, and a request has one proof")
  func forms() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    var route = Self.route
    route.forms = .compact
    #expect(verifier.judge(try app.standard(), on: route).rejection == .request(.noSignature))
    let body = try app.compact(bodyOnly: true)
    #expect(verifier.judge(body, on: route).rejection == .gate(.compactKind))
    route.forms = .bodyOnly
    #expect(verifier.judge(body, on: route).verdict?.form == .bodyOnly)
    #expect(verifier.judge(try app.compact(count: 2), on: route).rejection == .gate(.compactKind))
    var both = try app.standard()
    try both.fields.append(
      "Proof", try #require(try app.compact().fields.values(of: "proof").first))
    #expect(verifier.judge(both, on: Self.route).rejection == .request(.severalSignatures))
    var twice = try app.compact()
    try twice.fields.append("Proof", "x")
    #expect(verifier.judge(twice, on: Self.route).rejection == .request(.repeatedField))
    let none = ReceivedRequest(
      method: "GET", target: "/", fields: HeaderFields(), body: Digest(hashing: []))
    let refused = verifier.judge(none, on: Self.route)
    #expect(refused.rejection == .request(.noSignature) && refused.rejection?.status == 401)
    #expect(Self.field(refused, "Proof-Refusal") == "proof")
  }

  @Test("Names of header fields are settings: a client of another vendor sends wToken")
  func names() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    var route = Self.route
    route.fields.compact = "wtoken"
    var request = try app.compact()
    let text = try #require(request.fields.values(of: "proof").first)
    #expect(verifier.judge(request, on: route).rejection == .request(.noSignature))
    try request.fields.append("wToken", text)
    #expect(verifier.judge(request, on: route).verdict != nil)
  }

  @Test("A wrong clock is told with the gate's time and a nonce, which makes it harmless")
  func wrongClock() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    for (offset, refusal) in [(-61, RequestRefusal.stale), (61, .ahead)] {
      let created = gate.clock.now + Int64(offset)
      let judged = verifier.judge(try app.standard(created: created), on: Self.route)
      #expect(judged.rejection == .request(refusal))
      #expect(Self.field(judged, "Proof-Refusal") == "clock")
      let word = try #require(Self.field(judged, "Proof-Nonce"))
      let nonce = word + "." + ReplayKey.fresh()
      let again = verifier.judge(try app.standard(created: created, nonce: nonce), on: Self.route)
      #expect(again.verdict?.isAnchored == true)
      #expect(again.verdict?.created == gate.clock.now)
      // The whole nonce is single use, and the word ends.
      let replayed = verifier.judge(
        try app.standard(created: created, nonce: nonce), on: Self.route)
      #expect(replayed.rejection == .request(.replayed))
      gate.clock.now += 61
      let old = word + "." + ReplayKey.fresh()
      let late = verifier.judge(
        try app.standard(created: gate.clock.now - 100, nonce: old), on: Self.route)
      #expect(late.rejection == .request(.stale))
    }
  }

  @Test("A beacon before the dot of a nonce anchors a proof; a route may ask for it")
  func anchors() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    var route = Self.route
    route.unanchored = .refused
    let none = verifier.judge(try app.standard(), on: route)
    #expect(none.rejection == .gate(.unanchored))
    #expect(Self.field(none, "Proof-Refusal") == "clock")
    let beacon = try #require(Self.field(none, "Proof-Time"))
    let nonce = beacon + "." + ReplayKey.fresh()
    #expect(verifier.judge(try app.standard(nonce: nonce), on: route).verdict?.isAnchored == true)
    // Compact: by default an unanchored token passes for a safe method only.
    let post = try app.compact(count: 1, anchored: false)
    #expect(verifier.judge(post, on: Self.route).rejection == .gate(.unanchored))
    let get = try app.compact("GET", body: [], count: 2, anchored: false)
    #expect(verifier.judge(get, on: Self.route).verdict?.isAnchored == false)
    let third = try app.compact("GET", body: [], count: 3, anchored: false)
    #expect(verifier.judge(third, on: route).rejection == .gate(.unanchored))
  }

  @Test("A body that was not read is compared later: the verdict has its digest")
  func behind() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    var request = try app.standard()
    request.body = nil
    let verdict = try #require(verifier.judge(request, on: Self.route).verdict)
    #expect(!verdict.isBodyChecked && verdict.body == Digest(hashing: Gate.body))
    var compact = try app.compact()
    compact.body = nil
    #expect(verifier.judge(compact, on: Self.route).rejection == .request(.uncoveredBody))
  }

  @Test("A route may demand a fresh measurement, and a token kept beside 64 others is refused")
  func measuredAndKept() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    var route = Self.route
    route.measuredMax = 2
    #expect(verifier.judge(try app.compact(), on: route).rejection == .gate(.measured))
    #expect(verifier.judge(try app.compact(count: 100), on: Self.route).verdict != nil)
    #expect(verifier.judge(try app.compact(count: 37), on: Self.route).verdict != nil)
    #expect(verifier.judge(try app.compact(count: 36), on: Self.route).rejection == .gate(.kept))
    #expect(verifier.judge(try app.compact(count: 1, start: 8), on: Self.route).verdict != nil)
  }

  @Test("A malformed request is 400, and every reason has a class and a status")
  func answers() throws {
    let gate = try Gate()
    let verifier = try gate.verifier()
    let bad = ReceivedRequest(
      method: "GET", target: "no slash", fields: HeaderFields(), body: nil)
    #expect(verifier.judge(bad, on: Self.route).rejection?.status == 400)
    for refusal in RequestRefusal.allCases {
      #expect([401, 403].contains(RejectedRequest.request(refusal).status))
      #expect(!RejectedRequest.request(refusal).description.isEmpty)
    }
    for refusal in GateRefusal.allCases {
      #expect((RejectedRequest.gate(refusal).status == 403) == (refusal.kind == .refused))
    }
    #expect(RejectedRequest.busy.status == 429)
    #expect(GateRefusal.Kind.allCases.map(\.text) == ["token", "clock", "proof", "refused"])
  }
}
