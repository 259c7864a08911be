// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import ProofRequest
import Testing

@testable import ProofBackend
@testable import ProofGate

private let order = Array("order 17".utf8)

/// Routes that need an event: the gate redeems the token of a request as its last step.
@Suite struct ForwardEventTests {
  typealias Line = ForwardSite.Line

  private static let rules = """
    route pay
      path /pay
      need proof event 3300
      young none
    route paid-work
      path /paid-work
      need proof event 3300 work 2
      young none
    route watched
      path /watched
      need proof event 3300
      young none
      mode watch
    route shared
      path /shared
      need proof event 3300
      young none
      rollout 0
    route limited
      path /limited
      need proof event 3300
      young none
      limit instance 1/hour
    route gone
      path /gone
      need proof event 9
      young none
    route rest
      path /*
      need proof
      young none
    """

  private func site(
    watchesAll: Bool = false, memory: SharedStore = SharedStore(), capacity: Int = 1000,
    form: String = "standard"
  ) throws -> ForwardSite {
    try ForwardSite(
      Self.rules, form: form, watchesAll: watchesAll, redeems: true, eventMemory: memory,
      eventCapacity: capacity)
  }

  /// A request of the app with an event token.
  private func send(
    _ site: ForwardSite, _ event: String?, _ target: String = "/pay", body: [UInt8] = order,
    account: String? = nil, token: Bool = true, more: [Line] = [], at gate: ForwardGate? = nil
  ) throws -> ForwardAnswer {
    var fields = try site.proven("POST", target, body: body, token: token, account: account)
    if let event { fields.append(("Proof-Event", event)) }
    return site.answer("POST", target, fields + more, at: gate)
  }

  @Test("The event of the request's app, body and account passes once, and the verdict tells it")
  func once() throws {
    let site = try site()
    let ada = try ForwardSite.account("ada")
    let event = try site.event(data: order, account: ada)
    let answer = try send(site, event, account: ada.text)
    #expect(answer.status == 200 && answer.code == "passed" && site.events.count == 1)
    let said = try #require(try site.verdict(answer, "POST", "/pay", body: order)?.event)
    #expect(said.number == 3300 && said.age == 0 && said.measured == 3 && said.isAnchored)
    #expect(said.counts.eventsOfDevice.day == 1 && said.counts.accountsOfDevice.day == 1)
    #expect(said.risk.level == .none && said.account == ada)
    #expect(said.account?.isOf("ada", site.configuration.accountKeys) == true)
    #expect(said.account?.isOf("eve", site.configuration.accountKeys) == false)
    #expect(said.account?.isOf("ada", []) == false)
    let again = try send(site, event, account: ada.text)
    #expect(again.status == 403 && again.code == "event-replayed" && again["Proof-Verdict"] == nil)
    #expect(again["Proof-Refusal"] == "refused" && again["Proof-Status"] == "403")
    #expect(try send(site, event, account: ada.text, at: site.other().gate).status == 403)
    let next = try send(site, try site.event(data: order, count: 2))
    let second = try site.verdict(next, "POST", "/pay", body: order)?.event
    #expect(second?.account == nil && second?.counts.eventsOfDevice.day == 2)
    // A route that needs none leaves the token to its API.
    let open = try send(site, try site.event(data: order, count: 3), "/other")
    #expect(open.status == 200 && site.events.count == 2)
    #expect(try site.verdict(open, "POST", "/other", body: order)?.event == nil)
  }

  @Test("An event for another body, account, number or app is refused, and is not used up")
  func bound() throws {
    let site = try site()
    let (ada, eve) = (try ForwardSite.account("ada"), try ForwardSite.account("eve"))
    let event = try site.event(data: order, account: ada)
    func code(_ event: String?, _ account: String? = ada.text, body: [UInt8] = order) throws
      -> String
    {
      let answer = try send(site, event, body: body, account: account)
      #expect(answer.status == 403 && answer["Proof-Refusal"] == "refused")
      return answer.code
    }
    #expect(try code(event, body: Array("order 18".utf8)) == "event-other-data")
    #expect(try code(event, body: []) == "event-other-data")
    #expect(try code(event, eve.text) == "event-other-account")
    #expect(try code(event, nil) == "event-other-account")
    #expect(try code(event, "ada") == "event-account")
    let unknown = try #require(EventAccount(ada.digest, key: 2))
    #expect(try code(event, unknown.text) == "event-unknown-account-key")
    #expect(
      try code(site.event(3301, data: order, account: ada)) == "event-other-event")
    #expect(try code(nil) == "event-missing")
    #expect(try code("AAAA") == "event-malformed")
    let twice = try send(
      site, event, account: ada.text, more: [("Proof-Event", event)])
    #expect(twice.status == 403 && twice.code == "event-repeated")
    #expect(site.events.count == 0)
    #expect(try send(site, event, account: ada.text).status == 200)
  }

  @Test("The event of another app is refused before it is redeemed, and counts for its own app")
  func otherApp() throws {
    let site = try site()
    let other = try GateSecret.random(generation: 1)
    let event = try site.event(data: order, of: other)
    let stranger = try send(site, event)
    #expect(stranger.status == 403 && stranger.code == "event-unknown-app")
    let grant = GateGrant(
      for: site.site.id, instance: .random(), mode: .production, issued: ForwardSite.now,
      notAfter: ForwardSite.now + 36_000, firstSeen: ForwardSite.now - 200_000, secret: other)
    try site.requests.admit(grant)
    let known = try send(site, event)
    #expect(known.status == 403 && known.code == "event-other-app" && site.events.count == 0)
    let own = try #require(site.redeemer)
      .judge(EventVerifier.Question(event, event: 3300, data: order))
    #expect(own.isValid, "its own backend can redeem it")
  }

  @Test("An empty body stands for no data, and a GET has none")
  func empty() throws {
    let site = try site()
    #expect(try send(site, try site.event(), body: []).status == 200)
    let get = try site.proven("GET", "/pay") + [("Proof-Event", try site.event(count: 2))]
    #expect(site.answer("GET", "/pay", get).status == 200)
    let data = [("Proof-Event", try site.event(data: [], count: 3))]
    #expect(
      site.answer("GET", "/pay", try site.proven("GET", "/pay") + data).code == "event-other-data")
  }

  @Test("A request that is refused for another reason uses no event up")
  func last() throws {
    let site = try site()
    let event = try site.event(data: order)
    let unproven = site.answer("POST", "/pay", [("Proof-Event", event)])
    #expect(unproven.status == 401)
    let changed = try site.proven("POST", "/pay", body: order) + [("Proof-Event", event)]
    #expect(site.answer("POST", "/pay?more", changed).status == 401)
    let asked = try send(site, event, "/paid-work")
    #expect(asked.status == 428 && asked.code == "challenge-work" && site.events.count == 0)
    let solved = try send(site, event, "/paid-work", more: try site.solved(asked))
    #expect(solved.status == 200 && site.events.count == 1)
    #expect(try send(site, try site.event(data: order, count: 2), "/limited").status == 200)
    let third = try site.event(data: order, count: 3)
    #expect(try send(site, third, "/limited").status == 429)
    site.replay.isFailing = true
    #expect(try send(site, third).code == "store")
    site.replay.isFailing = false
    site.site.clock.now += 3601
    #expect(try send(site, third).code == "configuration-age")
    site.site.clock.now -= 3601
    #expect(site.events.count == 2)
  }

  @Test("A token without the gate's time gets the class clock, and the answer has the time")
  func clock() throws {
    let site = try site()
    let answer = try send(site, try site.event(data: order, isAnchored: false))
    #expect(answer.status == 401 && answer.code == "event-unanchored")
    #expect(answer["Proof-Refusal"] == "clock" && answer["Proof-Nonce"] != nil)
    #expect(answer["Proof-Time"] != nil && site.events.count == 0)
    let old = try site.event(data: order)
    site.site.clock.now += 61
    #expect(try send(site, old)["Proof-Refusal"] == "clock")
  }

  @Test("While the store of events does not answer, or may lack uses, the answer is 503")
  func store() throws {
    let site = try site()
    let event = try site.event(data: order)
    site.events.isFailing = true
    let answer = try send(site, event)
    #expect(answer.status == 503 && answer.code == "event-store")
    #expect(answer["Retry-After"] != nil && answer["Proof-Verdict"] == nil)
    site.events.isFailing = false
    #expect(try send(site, event).status == 200)
    let begun = SharedStore(isComplete: false, highest: ForwardSite.now)
    let young = try self.site(memory: begun)
    let early = try send(young, try young.event(data: order))
    #expect(early.status == 503 && early.code == "event-before-start" && begun.count == 0)
  }

  @Test(
    "A rule that watches judges the token and leaves it to the API",
    arguments: ["/watched", "/shared", "/pay"])
  func watching(_ target: String) throws {
    let site = try site(watchesAll: target == "/pay")
    let event = try site.event(data: order)
    let good = try send(site, event, target)
    #expect(good.status == 200 && !good.isWatched && good.code == "passed")
    let verdict = try site.verdict(good, "POST", target, body: order)
    #expect(verdict?.app != nil && verdict?.event == nil && site.events.count == 0)
    let bad = try send(site, try site.event(3301, data: order), target)
    #expect(bad.status == 200 && bad.isWatched && bad.code == "event-other-event")
    #expect(try site.verdict(bad, "POST", target, body: order)?.reason == bad.reason)
    let unanchored = try send(site, try site.event(data: order, isAnchored: false), target)
    #expect(unanchored.isWatched && unanchored["Proof-Refusal"] == nil)
    #expect(unanchored["Proof-Nonce"] == nil)
    site.events.isFailing = true
    #expect(try send(site, event, target).code == "passed", "nothing is asked of the store")
  }

  @Test("An app that the redeemer has forgotten is asked for its ticket, and its event then counts")
  func forgotten() throws {
    let site = try site(capacity: 1)
    let first = try send(site, try site.event(data: order))
    let ticket = try #require(first["Proof-Ticket"])
    let redeemer = try #require(site.redeemer)
    for _ in 0..<2 {
      redeemer.admit(
        GateGrant(
          for: site.site.id, instance: .random(), mode: .production, issued: ForwardSite.now,
          notAfter: ForwardSite.now + 36_000, firstSeen: 1,
          secret: try .random(generation: 1)))
    }
    let event = try site.event(data: order, count: 2)
    let asked = try send(site, event, token: false)
    #expect(asked.status == 428 && asked.code == "request-\(RequestRefusal.unknownKey.rawValue)")
    #expect(asked["Proof-Refusal"] == "token" && asked["Proof-Challenge"] != nil)
    let answer = try send(
      site, event, token: false, more: [("Proof-Ticket", ticket)])
    #expect(answer.status == 200 && site.events.count == 2)
  }

  @Test("The event of an app that failed its attestation passes with the same answer")
  func failing() throws {
    var names: [[String]] = []
    for isFailed in [false, true] {
      let site = try ForwardSite(Self.rules, isFailed: isFailed, redeems: true)
      let answer = try send(site, try site.event(data: order))
      let verdict = try site.verdict(answer, "POST", "/pay", body: order)
      #expect(answer.status == 200 && verdict?.app?.isFailed == isFailed && verdict?.event != nil)
      names.append(answer.fields.map(\.name))
      names.append(try send(site, "AAAA").fields.map(\.name))
    }
    #expect(names[0] == names[2] && names[1] == names[3])
  }

  @Test("A number that the account lists no more is refused, and the gate judges on")
  func unlisted() throws {
    let site = try site()
    let answer = try send(site, try site.event(9, data: order), "/gone")
    #expect(answer.status == 403 && answer.code == "event-unlisted-event")
    #expect(throws: RouteFileError.self) { try ForwardSite(Self.rules) }
  }

  @Test("A verdict with an event of another form is not read")
  func forms() throws {
    let event = GateVerdict.Event(7, age: -2, measured: 255)
    #expect(GateVerdict.Event(event.object) == event)
    for name in event.object.members.map(\.name) {
      var object = event.object
      object[name] = .string("x")
      #expect(GateVerdict.Event(object) == nil, "\(name)")
      object[name] = nil
      #expect(GateVerdict.Event(object) == nil, "\(name)")
    }
    var object = event.object
    object["account"] = .string("1.x")
    #expect(GateVerdict.Event(object) == nil)
    for text in ["", "1", "1.", "0." + Base64.encode(Digest(hashing: []).bytes, .url), "1.x.y"] {
      #expect(EventAccount(text) == nil, "\(text)")
    }
  }
}
