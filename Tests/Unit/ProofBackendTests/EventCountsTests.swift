// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Testing

@testable import ProofBackend

/// Counts and risk, as a redeemer tells them.
@Suite struct EventCountsTests {
  typealias Shop = EventVerifierTests.Shop
  typealias Question = EventVerifier.Question

  @Test("A token that does not count raises the counts of the address alone")
  func invalid() throws {
    let shop = try Shop()
    func judge(_ token: String, _ account: String = "user-4711") -> EventJudgement {
      shop.redeemer.judge(
        Question(
          token, event: 3300, account: account, data: EventVerifierTests.data,
          address: "192.0.2.7"))
    }
    let token = try shop.app.event(for: shop.audience)
    #expect(judge(token).counts?.eventsOfDevice.day == 1)
    let stale = try shop.app.event(
      for: shop.audience, count: 2, created: shop.gate.clock.now - 1_000)
    for bad in [token, stale, "A" + String(token.dropFirst()), "x"] {
      let judgement = judge(bad)
      #expect(!judgement.isValid && judgement.counts == nil && judgement.risk == EventRisk())
    }
    #expect(judge(try shop.app.event(for: shop.audience, count: 3), "other").counts == nil)
    let last = judge(try shop.app.event(for: shop.audience, count: 4))
    #expect(last.counts?.eventsOfDevice == .init(minute: 2, hour: 2, day: 2))
    #expect(last.counts?.accountsOfDevice.day == 1)
    #expect(last.invalidOfAddress == .init(minute: 5, hour: 5, day: 5))
    let elsewhere = shop.redeemer.judge(
      Question(
        try shop.app.event(for: shop.audience, count: 5), event: 3300, account: "user-4711",
        data: EventVerifierTests.data, address: "192.0.2.8"))
    #expect(elsewhere.invalidOfAddress == .init())
  }

  @Test("The same question under the same key gets the same counts and risk")
  func idempotency() throws {
    let shop = try Shop(rules: [
      try #require(RiskCondition("events-of-device/minute > 0")).rule(.high, "many")
    ])
    let token = try shop.app.event(for: shop.audience)
    let first = shop.judge(token, key: "a")
    #expect(first.counts?.eventsOfDevice.day == 1 && first.risk.reasons == ["many"])
    let told = try #require(GateVerdict.Event(3300, first, nil))
    #expect(told.risk == first.risk && told.counts == first.counts)
    #expect(told.isAnchored == first.isAnchored && told.isYoung == first.isYoung)
    for count: UInt32 in 2...4 {
      #expect(shop.judge(try shop.app.event(for: shop.audience, count: count)).isValid)
    }
    let again = shop.judge(token, key: "a")
    #expect(again.isRepeated && again.isValid)
    #expect(again.counts == first.counts && again.risk == first.risk)
    #expect(again.invalidOfAddress == first.invalidOfAddress)
    let last = shop.judge(try shop.app.event(for: shop.audience, count: 5))
    #expect(last.counts?.eventsOfDevice.day == 5, "the repeated one counted nothing")
  }

  @Test("A device keeps its counts under another generation of its keys")
  func generations() throws {
    let shop = try Shop()
    #expect(shop.judge(try shop.app.event(for: shop.audience)).counts?.eventsOfDevice.day == 1)
    let renewed = try GateApp(at: shop.gate, instance: shop.app.instance, generation: 2)
    shop.redeemer.admit(renewed.grant)
    let second = shop.judge(try renewed.event(for: shop.audience, start: 9))
    #expect(second.facts?.handle != shop.app.secret.eventKeys(for: shop.audience).handle)
    #expect(second.counts?.eventsOfDevice.day == 2)
  }

  @Test("The highest level of the rules that hold counts, its reasons first")
  func risk() throws {
    func rule(_ condition: String, _ level: RiskLevel, _ reason: String) throws -> RiskRule {
      try #require(RiskCondition(condition)).rule(level, reason)
    }
    let shop = try Shop(
      isFailed: true,
      rules: [
        rule("measured > 2", .low, "old measurement"), rule("failed", .medium, "failed app"),
        rule("accounts-of-device/hour > 1", .high, "many accounts"),
        rule("known < 86400", .low, "new device"), rule("young", .high, "young"),
      ])
    let one = shop.judge(try shop.app.event(for: shop.audience))
    #expect(one.risk.level == .medium && one.risk.reasons.first == "failed app")
    #expect(!one.risk.reasons.contains("many accounts"))
    let two = shop.judge(
      try shop.app.event(for: shop.audience, account: "b", count: 2), account: "b")
    #expect(two.risk.level == .high && two.risk.reasons.first == "many accounts")
    #expect(!two.risk.reasons.contains("young"))
    shop.redeemer.forgetAll(["user-4711", "b"])
    let three = shop.judge(try shop.app.event(for: shop.audience, count: 3))
    #expect(three.counts?.accountsOfDevice.day == 1)
  }

  @Test("A judgement tells eight reasons at most, those of the highest level first")
  func reasons() throws {
    let always = try #require(RiskCondition("events-of-device/minute > 0"))
    let low = try (1...8).map { number in try always.rule(.low, "low \(number)") }
    let shop = try Shop(rules: low + [try always.rule(.high, "high")])
    let risk = shop.judge(try shop.app.event(for: shop.audience)).risk
    #expect(risk.reasons == ["high"] + (1...7).map { "low \($0)" })
  }

  @Test("A condition is read as it is written, and nothing else is one")
  func conditions() throws {
    for subject in RiskCondition.Subject.allCases {
      let text = subject.isNumber ? "\(subject.rawValue) > 4294967295" : subject.rawValue
      #expect(RiskCondition(text)?.text == text)
    }
    for text in [
      "", "failed > 1", "measured", "measured > ", "measured >= 1", "measured > -1",
      "measured > +1", "measured  > 1", "measured > 4294967296", "Failed", "measured > 1 ",
    ] { #expect(RiskCondition(text) == nil, "\(text)") }
    let failed = try #require(RiskCondition("failed"))
    #expect(RiskRule(1...1, failed, .none, "x") == nil && RiskRule(1...1, failed, .low, "") == nil)
    #expect(RiskRule(1...1, failed, .low, "a\nb") == nil)
    #expect(RiskRule(1...1, failed, .low, String(repeating: "a", count: 80)) != nil)
    #expect(RiskRule(1...1, failed, .low, String(repeating: "a", count: 81)) == nil)
  }
}

/// Conditions and kept judgements under inputs that are almost right.
@Suite struct EventCountsFuzzTests {
  @Test("No mutant of a condition or of a kept judgement traps, and each that is taken is whole")
  func mutants() throws {
    var mutator = Mutator("event counts")
    let conditions = RiskCondition.Subject.allCases.map { Array("\($0.rawValue) > 12".utf8) }
    for _ in 0..<Mutator.rounds {
      let text = String(decoding: mutator.mutant(of: conditions), as: UTF8.self)
      if let condition = RiskCondition(text) { #expect(RiskCondition(condition.text) == condition) }
    }
    let shop = try EventVerifierTests.Shop(rules: [
      try #require(RiskCondition("events-of-device/day > 0")).rule(.low, "first"),
      try #require(RiskCondition("events-of-device/day < 9")).rule(.high, "ä second"),
    ])
    let judgement = shop.judge(try shop.app.event(for: shop.audience))
    let kept = KeptJudgement([UInt8](repeating: 1, count: 32), judgement)
    #expect(KeptJudgement(kept.bytes) == kept && kept.bytes.count <= ReplayRecord.byteCountMax)
    #expect(KeptJudgement(Array(kept.bytes.prefix(49)))?.counts == nil)
    for _ in 0..<Mutator.rounds {
      let mutant = mutator.mutant(of: [kept.bytes])
      if let read = KeptJudgement(mutant) { #expect(read.risk.reasons.count <= 255) }
    }
    let longest = EventRisk(
      level: .high, reasons: [String](repeating: String(repeating: "a", count: 80), count: 8))
    var full = kept
    full.risk = longest
    #expect(KeptJudgement(full.bytes) == full && full.bytes.count <= ReplayRecord.byteCountMax)
  }
}

extension RiskCondition {
  fileprivate func rule(_ level: RiskLevel, _ reason: String) throws -> RiskRule {
    try #require(RiskRule(3300...3400, self, level, reason))
  }
}

extension EventVerifier {
  fileprivate func forgetAll(_ accounts: [String]) {
    for account in accounts { #expect(throws: Never.self) { try forget(account: account) } }
  }
}
