// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend

/// The redeemer of event tokens.
@Suite struct EventVerifierTests {
  typealias Question = EventVerifier.Question
  static let data = Array("order 17".utf8)

  /// A gate, an app that it has admitted, and a redeemer.
  struct Shop {
    let gate: Gate
    let app: GateApp
    let audience = AudienceID.random()
    let redeemer: EventVerifier
    let store = FailingReplayStore()

    init(
      isFailed: Bool = false, settings: EventVerifier.Settings = .init(),
      _ replay: (any RedemptionStore)? = nil, rules: [RiskRule] = []
    ) throws {
      gate = try Gate()
      app = try GateApp(at: gate, isFailed: isFailed)
      redeemer = try gate.redeemer(audience, replay ?? store, settings: settings, rules: rules)
      redeemer.admit(app.grant)
    }

    func judge(
      _ token: String, event: UInt16 = 3300, account: String? = "user-4711",
      data: [UInt8]? = EventVerifierTests.data, key: String? = nil
    ) -> EventJudgement {
      redeemer.judge(
        Question(token, event: event, account: account, data: data, idempotencyKey: key))
    }
  }

  @Test("A token counts once, with the facts of its app")
  func once() throws {
    let shop = try Shop()
    let token = try shop.app.event(for: shop.audience)
    #expect(token.utf8.count == 88)
    shop.gate.clock.now += 5
    let judgement = shop.judge(token)
    #expect(judgement.isValid && judgement.age == 5 && judgement.measured == 3)
    #expect(judgement.isAnchored && !judgement.isYoung && !judgement.isRepeated)
    #expect(judgement.facts?.instance == shop.app.instance)
    #expect(shop.judge(token).reason == .refused(.replayed))
    for seconds in [55, -1_000, 30] as [Int64] {
      shop.gate.clock.now = Gate.start + seconds
      #expect(shop.judge(token).reason == .refused(.replayed))
    }
  }

  @Test("A token for another event, account or data does not count, and is not used up")
  func bindings() throws {
    let shop = try Shop()
    let token = try shop.app.event(for: shop.audience)
    #expect(shop.judge(token, event: 3301).reason == .refused(.event))
    #expect(shop.judge(token, account: "user-4712").reason == .refused(.otherAccount))
    #expect(shop.judge(token, account: nil).reason == .refused(.otherAccount))
    #expect(shop.judge(token, account: "").reason == .unknownAccountKey)
    #expect(shop.judge(token, data: Array("order 18".utf8)).reason == .refused(.otherData))
    #expect(shop.judge(token, data: nil).reason == .refused(.otherData))
    #expect(shop.judge(token).isValid)
    let withoutAccount = try shop.app.event(for: shop.audience, account: nil, data: nil, count: 2)
    #expect(shop.judge(withoutAccount, data: nil).reason == .refused(.otherAccount))
    #expect(shop.judge(withoutAccount, account: nil, data: nil).isValid)
  }

  @Test("One changed character never counts")
  func mutants() throws {
    let shop = try Shop()
    let token = Array(try shop.app.event(for: shop.audience).utf8)
    for index in token.indices {
      var other = token
      other[index] = other[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      #expect(!shop.judge(String(decoding: other, as: UTF8.self)).isValid, "\(index)")
    }
    for text in ["", "x", String(decoding: token + [65], as: UTF8.self)] {
      #expect(shop.judge(text).reason == .refused(.text))
    }
    #expect(shop.judge(String(decoding: token, as: UTF8.self)).isValid)
  }

  @Test("The account's rules of a number decide: which numbers, how long, with what")
  func rules() throws {
    let shop = try Shop()
    func listed(
      _ numbers: ClosedRange<UInt16>, life: UInt32, strict: Bool
    ) -> GateConfiguration.Events {
      GateConfiguration.Events(
        numbers: numbers, name: "shop", audience: shop.audience, life: life, needsAccount: strict,
        needsData: strict, allowsUnanchored: !strict, measuredMax: strict ? 2 : 3)
    }
    var settings = EventVerifier.Settings()
    settings.clock = shop.gate.clock.clock
    let redeemer = try EventVerifier(
      for: shop.audience, name: "shop", beacons: shop.gate.beaconKey(),
      accountKeys: [shop.gate.accountKey], replay: FailingReplayStore(), settings: settings,
      rules: [
        EventRules(listed(7...8, life: 10, strict: true)),
        EventRules(listed(3300...3400, life: 90, strict: false)),
      ])
    redeemer.admit(shop.app.grant)
    func reason(
      _ token: String, _ event: UInt16, _ account: String? = "user-4711",
      _ data: [UInt8]? = Self.data
    ) -> EventJudgement.Reason? {
      redeemer.judge(Question(token, event: event, account: account, data: data)).reason
    }
    let now = shop.gate.clock.now
    let old = try shop.app.event(for: shop.audience, created: now - 80, anchored: false)
    #expect(reason(old, 9) == .unlistedEvent && reason(old, 3401) == .unlistedEvent)
    #expect(reason(old, 7, nil) == .needsAccount)
    #expect(reason(old, 7, "user-4711", nil) == .needsData)
    #expect(reason(old, 7) == .refused(.event) || reason(old, 7) == .refused(.stale))
    #expect(reason(old, 3300) == nil)
    #expect(reason(old, 3300) == .refused(.replayed))
    let stale = try shop.app.event(for: shop.audience, count: 2, created: now - 91)
    #expect(reason(stale, 3300) == .refused(.stale))
  }

  @Test("Old, early, unanchored and kept tokens say so")
  func moments() throws {
    let shop = try Shop()
    let now = shop.gate.clock.now
    func reason(_ token: String) -> EventJudgement.Reason? { shop.judge(token).reason }
    let audience = shop.audience
    #expect(
      reason(try shop.app.event(for: audience, created: now - 61)) == .refused(.stale))
    #expect(reason(try shop.app.event(for: audience, created: now + 61)) == .refused(.ahead))
    #expect(
      reason(try shop.app.event(for: audience, anchored: false)) == .refused(.unanchored))
    #expect(reason(try shop.app.event(for: audience, count: 100)) == nil)
    #expect(reason(try shop.app.event(for: audience, count: 36)) == .refused(.kept))
    // A token that was made ahead of time under a false clock has no beacon of the time.
    let early = try shop.app.event(for: audience, count: 101, created: now + 3_000)
    shop.gate.clock.now += 3_000
    #expect(reason(early) == .refused(.unanchored))
    #expect(shop.judge(early).facts != nil)
  }

  @Test("The keys of one audience are useless at another one, and no request's key is an event's")
  func audiences() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let (one, two) = (AudienceID.random(), AudienceID.random())
    let (first, second) = (try gate.redeemer(one), try gate.redeemer(two))
    let verifier = try gate.verifier(events: [first, second])
    #expect(verifier.judge(try app.standard(), on: RequestRulesTests.route).verdict != nil)
    let token = try app.event(for: one)
    let question = Question(token, event: 3300, account: "user-4711", data: Self.data)
    #expect(second.judge(question).reason == .refused(.tag))
    #expect(first.judge(question).isValid)
    // An event token is no request's proof, and the reverse.
    var request = try app.compact()
    try request.fields.set("Proof", try app.event(for: one, count: 9))
    #expect(
      verifier.judge(request, on: RequestRulesTests.route).rejection == .gate(.compactKind))
    let proof = try #require(try app.compact().fields.values(of: "proof").first)
    #expect(first.judge(Question(proof, event: 3300)).reason == .refused(.compactKind))
    // The same app at another gate.
    let other = try GateApp(at: try Gate(), instance: app.instance)
    let foreign = Question(
      try other.event(for: one), event: 3300, account: "user-4711", data: Self.data)
    #expect(first.judge(foreign).reason == .refused(.handle))
  }

  @Test("The same idempotency key gets the same judgement, and another question under it none")
  func idempotency() throws {
    let shop = try Shop()
    let token = try shop.app.event(for: shop.audience)
    let first = shop.judge(token, key: "a")
    #expect(first.isValid)
    // Also when the token would be stale by then.
    for seconds in [0, 50, 400] as [Int64] {
      shop.gate.clock.now = Gate.start + seconds
      let again = shop.judge(token, key: "a")
      #expect(again.isValid && again.isRepeated && again.age == first.age)
      #expect(again.created == first.created && again.facts == first.facts)
    }
    #expect(shop.judge(token, event: 3301, key: "a").reason == .otherQuestion)
    let other = try shop.app.event(for: shop.audience, count: 2)
    #expect(shop.judge(other, key: "a").reason == .otherQuestion)
    #expect(shop.judge(token, key: "b").reason == .refused(.stale))
    // A refusal is kept, too: an early token does not become good under the name that saw it early.
    let early = try shop.app.event(
      for: shop.audience, count: 3, created: shop.gate.clock.now + 70)
    #expect(shop.judge(early, key: "c").reason == .refused(.ahead))
    shop.gate.clock.now += 60
    #expect(shop.judge(early, key: "c").reason == .refused(.ahead))
    #expect(shop.judge(early, key: "d").isValid)
    #expect(shop.judge(early, key: "e").reason == .refused(.replayed))
  }

  @Test("Two redeemers with one store: each key is its own, and the token counts at one of them")
  func redeemers() throws {
    let shop = try Shop()
    let twin = try shop.gate.redeemer(shop.audience, shop.store, name: "sho")
    twin.admit(shop.app.grant)
    let token = try shop.app.event(for: shop.audience)
    #expect(shop.judge(token, key: "a").isValid)
    let question = Question(
      token, event: 3300, account: "user-4711", data: Self.data, idempotencyKey: "a")
    #expect(twin.judge(question).reason == .refused(.replayed))
    var prefixed = question
    prefixed.idempotencyKey = "pa"
    #expect(twin.judge(prefixed).reason == .refused(.replayed))
  }

  @Test("An app in an error state makes tokens that never count, and that are counted")
  func errorStates() throws {
    let shop = try Shop()
    let token = try shop.app.event(for: shop.audience, isInErrorState: true)
    #expect(shop.judge(token).reason == .refused(.errorState))
    for _ in 0..<2 {
      let text = CompactDraft.errorText(.event, .notReady)
      #expect(shop.judge(text).reason == .refused(.errorState))
    }
    #expect(shop.redeemer.errorStates == [0: 1, 2: 2])
  }

  @Test("With the store out of reach nothing counts, and the question can be asked again")
  func storeFails() throws {
    let shop = try Shop()
    let token = try shop.app.event(for: shop.audience)
    shop.store.isFailing = true
    #expect(shop.judge(token).reason == .store)
    #expect(shop.judge(token, key: "a").reason == .store)
    shop.store.isFailing = false
    #expect(shop.judge(token, key: "a").isValid)
  }

  @Test("A redeemer that starts with an empty store accepts nothing from before")
  func startsEmpty() throws {
    let shop = try Shop(MemoryReplayStore())
    let before = try shop.app.event(for: shop.audience, created: Gate.start + 60)
    #expect(shop.judge(before).reason == .beforeStart)
    shop.gate.clock.now += 61
    #expect(shop.judge(before).reason == .beforeStart)
    #expect(shop.judge(try shop.app.event(for: shop.audience, count: 2)).isValid)
  }

  @Test("An app that failed has tokens that count, with the fact in the judgement")
  func failing() throws {
    let shop = try Shop(isFailed: true)
    let judgement = shop.judge(try shop.app.event(for: shop.audience))
    #expect(judgement.isValid && judgement.facts?.isFailed == true)
  }
}
