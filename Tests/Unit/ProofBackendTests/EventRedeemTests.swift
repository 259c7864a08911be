// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend

/// A store that notes what a redeemer hands to it.
private final class NotingStore: RedemptionStore {
  private let store = MemoryReplayStore()
  let redemptions = CoreLock<[Redemption]>([])
  let records = CoreLock<[ReplayRecord]>([])
  /// The bytes that were kept with each redemption.
  let bytes = CoreLock<[[UInt8]]>([])

  func begin(at now: UnixTime) -> ReplayMemory { ReplayMemory(highest: 0, gap: nil) }

  func insert(
    _ key: ReplayKey, until expiry: UnixTime, at now: UnixTime
  ) throws(ReplayStoreFailure) -> Bool { try store.insert(key, until: expiry, at: now) }

  func judgement(under name: ReplayKey) -> [UInt8]? { store.judgement(under: name) }

  func record(
    _ record: ReplayRecord, using key: ReplayKey?, until expiry: UnixTime, at now: UnixTime
  ) throws(ReplayStoreFailure) -> ReplayRecording {
    records.withLock { $0.append(record) }
    return try store.record(record, using: key, until: expiry, at: now)
  }

  func redeem(
    _ redemption: Redemption, at now: UnixTime, _ judged: (EventCounts) -> [UInt8]
  ) throws(ReplayStoreFailure) -> RedemptionEnd {
    redemptions.withLock { $0.append(redemption) }
    return try store.redeem(redemption, at: now) { counts in
      let made = judged(counts)
      bytes.withLock { $0.append(made) }
      return made
    }
  }

  func forget(account: ReplayKey) -> Int { store.forget(account: account) }
}

/// A redeemer's questions to its store, and its rules about accounts.
@Suite struct EventRedeemTests {
  typealias Shop = EventVerifierTests.Shop
  typealias Question = EventVerifier.Question
  private static let data = EventVerifierTests.data

  private static func key(_ text: [UInt8]) throws -> ReplayKey {
    try ReplayKey(Array(Digest(hashing: text).bytes.prefix(24)))
  }

  private static func settings(_ change: (inout EventVerifier.Settings) -> Void = { _ in })
    -> EventVerifier.Settings
  {
    var settings = EventVerifier.Settings()
    change(&settings)
    return settings
  }

  @Test("A use is kept for two windows and the skew after its token, and its judgement for a day")
  func redemption() throws {
    let store = NotingStore()
    let shop = try Shop(
      settings: Self.settings {
        $0.window = 50
        $0.skew = 7
        $0.retention = 1_000
      }, store)
    let created: UnixTime = shop.gate.clock.now - 10
    #expect(shop.judge(try shop.app.event(for: shop.audience, created: created)).isValid)
    let token = try shop.app.event(for: shop.audience, count: 2, created: created)
    #expect(shop.judge(token, key: "k").isValid)
    let account = try shop.gate.accountKey.digest(of: "user-4711")
    for (redemption, name) in zip(store.redemptions.withLock { $0 }, [nil, "4:shopk"]) {
      #expect(redemption.expiry == created + 107)
      #expect(redemption.kept == shop.gate.clock.now + 1_000)
      #expect(
        try redemption.device
          == Self.key(
            Array("pfb1.count-device".utf8) + shop.audience.bytes + shop.app.instance.bytes))
      #expect(
        try redemption.account
          == Self.key(Array("pfb1.count-account".utf8) + shop.audience.bytes + account.bytes))
      #expect(try redemption.name == name.map { try Self.key(Array($0.utf8)) })
    }
    // Only a question with a key has its judgement kept.
    #expect(store.bytes.withLock { $0.map(\.isEmpty) } == [true, false])
    #expect(store.records.withLock { $0.isEmpty })
  }

  @Test("A refusal of a token whose tag is right is kept under the question's key alone")
  func refusal() throws {
    let store = NotingStore()
    let shop = try Shop(settings: Self.settings { $0.retention = 1_000 }, store)
    let stale = try shop.app.event(for: shop.audience, created: shop.gate.clock.now - 61)
    #expect(shop.judge(stale).reason == .refused(.stale))
    #expect(shop.redeemer.check(question(stale, key: "k")).reason == .refused(.stale))
    #expect(shop.judge("x", key: "k").reason == .refused(.text))
    #expect(store.records.withLock { $0.isEmpty })
    #expect(shop.judge(stale, key: "k").reason == .refused(.stale))
    let records = store.records.withLock { $0 }
    #expect(records.map(\.expiry) == [shop.gate.clock.now + 1_000])
    #expect(try records.map(\.name) == [Self.key(Array("4:shopk".utf8))])
    #expect(store.redemptions.withLock { $0.isEmpty })
  }

  private func question(_ token: String, key: String? = nil) -> Question {
    Question(token, event: 3300, account: "user-4711", data: Self.data, idempotencyKey: key)
  }

  @Test("A token of an app counts until the end of its admission, to the second")
  func end() throws {
    let shop = try Shop()
    shop.gate.clock.now = Gate.start + 3_600
    #expect(shop.judge(try shop.app.event(for: shop.audience)).isValid)
    shop.gate.clock.now = Gate.start + 3_601
    #expect(
      shop.judge(try shop.app.event(for: shop.audience, count: 2)).reason == .refused(.handle))
  }

  @Test("A question about another app than the token's is refused, and uses nothing up")
  func instance() throws {
    let shop = try Shop()
    var question = question(try shop.app.event(for: shop.audience))
    question.instance = .random()
    #expect(shop.redeemer.judge(question).reason == .otherApp)
    question.instance = shop.app.instance
    #expect(shop.redeemer.judge(question).isValid)
  }

  @Test("An account that is told by its digest counts as the one that is told by its name")
  func digest() throws {
    let shop = try Shop()
    let digest = try shop.gate.accountKey.digest(of: "user-4711")
    func judge(_ app: GateApp, _ count: UInt32, _ account: EventAccount?) throws -> EventJudgement {
      var question = question(try app.event(for: shop.audience, count: count))
      question.account = nil
      question.accountDigest = account
      return shop.redeemer.judge(question)
    }
    #expect(try judge(shop.app, 1, EventAccount(digest, key: 2)).reason == .unknownAccountKey)
    let other = try shop.gate.accountKey.digest(of: "other")
    #expect(
      try judge(shop.app, 1, EventAccount(other, key: 1)).reason == .refused(.otherAccount))
    #expect(try judge(shop.app, 1, EventAccount(digest, key: 1)).counts?.devicesOfAccount.day == 1)
    let second = try GateApp(at: shop.gate)
    shop.redeemer.admit(second.grant)
    let named = shop.judge(try second.event(for: shop.audience))
    #expect(named.counts?.devicesOfAccount.day == 2)
  }

  private func accountKey(_ number: UInt8, _ byte: UInt8) throws -> GateAccountKey {
    try GateAccountKey(
      SecretBytes(copying: [UInt8](repeating: byte, count: 32).span), number: number)
  }

  private func redeemer(
    _ gate: Gate, _ audience: AudienceID, _ keys: [GateAccountKey],
    _ replay: any RedemptionStore = FailingReplayStore(), rules: [EventRules]? = nil
  ) throws -> EventVerifier {
    var settings = EventVerifier.Settings()
    settings.clock = gate.clock.clock
    return try EventVerifier(
      for: audience, name: "shop", beacons: gate.beaconKey(), accountKeys: keys, replay: replay,
      settings: settings, rules: rules ?? [EventRules(settings)])
  }

  @Test("While account keys rotate, an account is known under each, and counted under the first")
  func rotation() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let audience = AudienceID.random()
    let both = try redeemer(gate, audience, [accountKey(2, 9), gate.accountKey])
    both.admit(app.grant)
    let first = both.judge(question(try app.event(for: audience)))
    #expect(first.counts?.devicesOfAccount.day == 1)
    #expect(try both.forget(account: "user-4711") == 1)
    let stranger = try redeemer(gate, audience, [accountKey(2, 9)])
    stranger.admit(app.grant)
    let token = try app.event(for: audience, count: 2)
    #expect(stranger.judge(question(token)).reason == .unknownAccountKey)
    let none = try redeemer(gate, audience, [])
    none.admit(app.grant)
    let bare = try app.event(for: audience, account: nil, count: 3)
    #expect(none.judge(question(bare)).reason == .unknownAccountKey)
    #expect(stranger.judge(question(bare)).reason == .refused(.otherAccount))
  }

  @Test("A question under a used key is the same one only with the same account and data")
  func otherQuestion() throws {
    let shop = try Shop()
    let first = question(try shop.app.event(for: shop.audience), key: "k")
    #expect(shop.redeemer.judge(first).isValid)
    var others = [first, first, first, first, first]
    others[0].account = "user-4712"
    others[1].account = nil
    others[2].data = [1]
    others[3].data = nil
    (others[4].account, others[4].accountDigest) = (
      nil, EventAccount(try shop.gate.accountKey.digest(of: "user-4711"), key: 1)
    )
    for other in others { #expect(shop.redeemer.judge(other).reason == .otherQuestion) }
    var same = first
    (same.data, same.digest) = (nil, Digest(hashing: Self.data))
    #expect(shop.redeemer.judge(same).isRepeated && shop.redeemer.judge(same).isValid)
  }

  @Test("After a start with an empty store, tokens wait for the longest life of all ranges")
  func longest() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let audience = AudienceID.random()
    func rules(_ numbers: ClosedRange<UInt16>, _ life: UInt32) -> EventRules {
      EventRules(
        GateConfiguration.Events(
          numbers: numbers, name: "shop", audience: audience, life: life, needsAccount: false,
          needsData: false, allowsUnanchored: false, measuredMax: 255))
    }
    let redeemer = try redeemer(
      gate, audience, [gate.accountKey], MemoryReplayStore(),
      rules: [rules(7...8, 10), rules(3300...3300, 90)])
    redeemer.admit(app.grant)
    for (seconds, reason) in [(90, .beforeStart), (91, nil)]
      as [(UInt64, EventJudgement.Reason?)]
    {
      gate.clock.now = Gate.start + seconds
      for (event, start) in [(7, 7), (3300, 8)] as [(UInt16, UInt32)] {
        var question = question(
          try app.event(event, for: audience, count: UInt32(seconds), start: start))
        question.event = event
        #expect(redeemer.judge(question).reason == reason)
      }
    }
  }

  // MARK: Newer configurations

  private func configuration(
    _ events: String, key: UInt8, risk: String = "[]"
  ) throws -> GateConfiguration {
    let desk = try ConfigurationDesk()
    let bytes = Base64.encode([UInt8](repeating: key, count: 32), .url)
    return try GateConfiguration(
      desk.signed([
        "evt": "[\(events)]", "risk": risk,
        "aks": #"[{"num":1,"sta":"active","key":"\#(bytes)"}]"#,
      ]), signedBy: desk.fingerprint)
  }

  private func row(
    _ first: Int, _ last: Int, _ audience: AudienceID, name: String = "a"
  ) -> String {
    let id = Base64.encode(audience.bytes, .url)
    return #"{"first":\#(first),"last":\#(last),"audience":"\#(name)","aud":"\#(id)","life":60,"#
      + #""account":true,"data":false,"unanchored":false,"measured":255}"#
  }

  @Test("A newer configuration decides events, risks and account keys; apps that are known stay so")
  func follow() throws {
    let shop = try Shop()
    func judge(_ event: UInt16, _ count: UInt32, _ account: String? = "user-4711") throws
      -> EventJudgement
    {
      var question = question(try shop.app.event(event, for: shop.audience, count: count))
      (question.event, question.account) = (event, account)
      return shop.redeemer.judge(question)
    }
    #expect(try judge(3300, 1).isValid)
    let risk = #"[{"first":8,"last":9,"when":"measured > 2","level":"high","reason":"old"}]"#
    shop.redeemer.follow(
      try configuration(
        row(7, 9, shop.audience) + "," + row(10, 11, .random(), name: "b"), key: 3, risk: risk))
    #expect(try judge(3300, 2).reason == .unlistedEvent)
    #expect(try judge(10, 2).reason == .unlistedEvent)
    #expect(try judge(8, 2, nil).reason == .needsAccount)
    let eight = try judge(8, 2)
    #expect(eight.isValid && eight.risk == EventRisk(level: .high, reasons: ["old"]))
    #expect(try judge(7, 3).risk == EventRisk())
    // The account's key is another one by now.
    shop.redeemer.follow(try configuration(row(7, 9, shop.audience), key: 4))
    #expect(try judge(7, 4).reason == .refused(.otherAccount))
    shop.redeemer.follow(try configuration(row(7, 9, .random()), key: 3))
    #expect(try judge(7, 5).reason == .unlistedEvent)
  }
}
