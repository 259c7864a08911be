// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofBackend

/// Meters, counts, conditions and kept judgements: each field, and each bound from both sides.
@Suite struct EventValuesTests {
  private typealias Span = EventCounts.Span

  // MARK: Counts

  /// The whole number of a day, an hour and a minute.
  private static let now: UnixTime = 1_800_057_600

  @Test("An event counts for its minute, hour and day, and for the rest of the next cell")
  func spans() {
    var meter = EventMeter()
    meter.add(at: Self.now)
    // Cells of 10 s, 300 s and 3,600 s begin with the event; the span has one more than its name.
    for (seconds, span) in [
      (0, Span(minute: 1, hour: 1, day: 1)), (69, Span(minute: 1, hour: 1, day: 1)),
      (70, Span(hour: 1, day: 1)), (3_899, Span(hour: 1, day: 1)), (3_900, Span(day: 1)),
      (89_999, Span(day: 1)), (90_000, Span()), (10_000_000, Span()),
    ] as [(UInt64, EventCounts.Span)] {
      var later = meter
      #expect(later.span(at: Self.now + seconds) == span, "\(seconds)")
      later.add(at: Self.now + seconds)
      #expect(
        later.span(at: Self.now + seconds)
          == Span(minute: span.minute + 1, hour: span.hour + 1, day: span.day + 1))
    }
  }

  @Test("One event in each cell is counted once, and a clock that goes back loses none")
  func cells() {
    for (width, count) in [(10, 7), (300, 13), (3_600, 25)] as [(UInt64, UInt32)] {
      var meter = EventMeter()
      for step in 0..<UInt64(count) { meter.add(at: Self.now + step * width) }
      let last = Self.now + UInt64(count - 1) * width
      func number(_ meter: inout EventMeter, _ now: UnixTime) -> UInt32 {
        let span = meter.span(at: now)
        return width == 10 ? span.minute : width == 300 ? span.hour : span.day
      }
      #expect(number(&meter, last) == count && number(&meter, last + (width - 1)) == count)
      // An earlier moment counts in the youngest cell, and the spans go on.
      meter.add(at: Self.now)
      #expect(number(&meter, Self.now) == count + 1)
      for step in 1..<UInt64(count) {
        #expect(number(&meter, last + step * width) == count + 1 - UInt32(step), "\(width) \(step)")
      }
      #expect(number(&meter, last + UInt64(count) * width) == 0)
    }
  }

  @Test("The number of a day alone is the one of the span, and leaves the meter as it is")
  func day() {
    var random = SplitMix64(seed: 1)
    var meter = EventMeter()
    for start in [0, 5_000, 1_800_000_000] as [UnixTime] {
      var now = start
      for _ in 0..<300 {
        now += random.next() % 20_000
        let before = meter
        var read = meter
        #expect(meter.day(at: now) == read.span(at: now).day && meter == before)
        if random.next() % 3 > 0 { meter.add(at: now) }
      }
    }
    let full = EventMeter([UInt8](repeating: 0, count: 12) + [UInt8](repeating: 0xFF, count: 180))
    #expect(full.day(at: 0) == .max)
  }

  @Test("A meter is 192 bytes, and anything else is an empty one")
  func bytes() {
    var meter = EventMeter()
    #expect(EventMeter.byteCount == 192 && meter.bytes == [UInt8](repeating: 0, count: 192))
    for seconds in [0, 40, 700, 9_000] as [UInt64] { meter.add(at: Self.now + seconds) }
    #expect(EventMeter(meter.bytes) == meter && meter.bytes.count == 192)
    for bytes in [[], Array(meter.bytes.dropLast()), meter.bytes + [0]] {
      #expect(EventMeter(bytes) == EventMeter())
    }
    // Each of the numbers is read from its own place.
    let numbers = (0..<192).map { UInt8($0) }
    #expect(EventMeter(numbers).bytes == numbers)
    // A count that is full stays full, and so does a sum.
    var full = EventMeter([UInt8](repeating: 0, count: 12) + [UInt8](repeating: 0xFF, count: 180))
    full.add(at: 0)
    #expect(full.span(at: 0) == Span(minute: .max, hour: .max, day: .max))
    var almost = EventMeter()
    almost.add(at: 0)
    var bytes = almost.bytes
    bytes.replaceSubrange(12..<16, with: [0xFE, 0xFF, 0xFF, 0xFF])
    bytes.replaceSubrange(16..<20, with: [1, 0, 0, 0])
    almost = EventMeter(bytes)
    #expect(almost.span(at: 0).minute == .max)
  }

  @Test("Counts are written by their names, and read whole or not at all")
  func counts() {
    var counts = EventCounts()
    counts.accountsOfDevice = Span(minute: 1, hour: 2, day: 3)
    counts.devicesOfAccount = Span(minute: 4, hour: 5, day: 6)
    counts.eventsOfDevice = Span(minute: 7, hour: 8, day: .max)
    #expect(
      counts.object == [
        "accountsOfDevice": ["minute": 1, "hour": 2, "day": 3],
        "devicesOfAccount": ["minute": 4, "hour": 5, "day": 6],
        "eventsOfDevice": ["minute": 7, "hour": 8, "day": 4_294_967_295],
      ])
    #expect(EventCounts(counts.object) == counts)
    for (name, _) in counts.object.members {
      for wrong in [
        nil, 1, [:], ["minute": 1, "hour": 1], ["minute": 1, "day": 1], ["hour": 1, "day": 1],
        ["minute": -1, "hour": 1, "day": 1], ["minute": 1, "hour": 4_294_967_296, "day": 1],
        ["minute": 1, "hour": 1, "day": "1"],
      ] as [JSONValue?] {
        var object = counts.object
        object[name] = wrong
        #expect(EventCounts(object) == nil, "\(name)")
      }
    }
    #expect(EventCounts.most == 256 && EventCounts.retention == 90_000)
  }

  @Test("Tokens that did not count are counted for the sender's address, and for no other one")
  func addresses() {
    let counts = AddressCounts()
    counts.add(nil, at: Self.now)
    #expect(counts.span(of: nil, at: Self.now) == Span())
    for address in ["2001:db8::1", "2001:db8::2"] { counts.add(address, at: Self.now) }
    #expect(counts.span(of: "2001:DB8:0:0:9::", at: Self.now) == Span(minute: 2, hour: 2, day: 2))
    #expect(counts.span(of: "2001:db8:0:0:9::", at: Self.now + 70) == Span(hour: 2, day: 2))
    #expect(counts.span(of: "2001:db8:0:1::", at: Self.now) == Span())
    // Twice as many addresses as have room: some are forgotten, and none has another one's.
    let address = { (number: Int) in "10.0.\(number / 256).\(number % 256)" }
    for number in 0..<8_192 { counts.add(address(number), at: Self.now) }
    let kept = (0..<8_192).count { number in
      let span = counts.span(of: address(number), at: Self.now)
      #expect(span == Span(minute: 1, hour: 1, day: 1) || span == Span())
      return span.day == 1
    }
    #expect(kept <= 4_096 && kept > 2_048)
    #expect(counts.span(of: "2001:db8::", at: Self.now).day == 2, "it has the most to lose")
    // After a day it has nothing to lose.
    for number in 0..<20_000 { counts.add(address(number), at: Self.now + 90_000) }
    #expect(counts.span(of: "2001:db8::", at: Self.now + 90_000) == Span())
  }

  // MARK: Risk

  private static func event(
    failed: Bool = false, forced: Bool = false, found: Bool = false, young: Bool = false,
    anchored: Bool = true, measured: UInt8? = 5, counts: EventCounts = EventCounts(),
    invalid: UInt32 = 0, firstSeen: UnixTime = now - 100
  ) throws -> RiskEvent {
    let secret = try GateSecret.random(generation: 1)
    var grant = GateGrant(
      for: .random(), instance: .random(), mode: .production, issued: now, notAfter: now + 1,
      firstSeen: firstSeen, secret: secret)
    grant.isFailed = failed
    grant.isForced = forced
    grant.findings = found ? [GateFinding(category: 1, number: 1)] : []
    return RiskEvent(
      judgement: EventJudgement(
        reason: nil, facts: nil, created: now, age: 0, measured: measured, isYoung: young,
        isAnchored: anchored, isRepeated: false),
      facts: GateFacts(grant, handle: secret.keys.handle), counts: counts,
      invalid: Span(minute: 90, hour: invalid, day: 91), now: now)
  }

  @Test("Each fact and number of a condition is its own")
  func subjects() throws {
    typealias Subject = RiskCondition.Subject
    var counts = EventCounts()
    counts.accountsOfDevice = Span(minute: 11, hour: 12, day: 13)
    counts.devicesOfAccount = Span(minute: 14, hour: 15, day: 16)
    counts.eventsOfDevice = Span(minute: 17, hour: 18, day: 19)
    let event = try Self.event(counts: counts, invalid: 20)
    let numbers: [(Subject, UInt64)] = [
      (.failed, 0), (.forced, 0), (.young, 0), (.unanchored, 0), (.found, 0), (.measured, 5),
      (.known, 100), (.accountsInMinute, 11), (.accountsInHour, 12), (.accountsInDay, 13),
      (.devicesInMinute, 14), (.devicesInHour, 15), (.devicesInDay, 16), (.eventsInMinute, 17),
      (.eventsInHour, 18), (.eventsInDay, 19), (.invalidInHour, 20),
    ]
    #expect(numbers.map(\.0) == Subject.allCases)
    for (subject, number) in numbers {
      #expect(event.number(of: subject) == number, "\(subject)")
      guard subject.isNumber else { continue }
      for (side, bound, holds) in [
        (">", number - 1, true), (">", number, false), ("<", number, false),
        ("<", number + 1, true),
      ] {
        let condition = try #require(RiskCondition("\(subject.rawValue) \(side) \(bound)"))
        #expect(condition.holds(for: event) == holds, "\(condition.text)")
      }
    }
    for (subject, event) in try [
      (.failed, Self.event(failed: true)), (.forced, Self.event(forced: true)),
      (.young, Self.event(young: true)), (.unanchored, Self.event(anchored: false)),
      (.found, Self.event(found: true)),
    ] as [(Subject, RiskEvent)] {
      for other in [Subject.failed, .forced, .young, .unanchored, .found] {
        #expect(event.number(of: other) == (other == subject ? 1 : 0))
        let condition = try #require(RiskCondition(other.rawValue))
        #expect(condition.holds(for: event) == (other == subject))
        #expect(!other.isNumber && condition.bound == 0 && condition.side == .above)
      }
    }
    #expect(try Self.event(measured: nil).number(of: .measured) == 255)
    #expect(try Self.event(firstSeen: Self.now + 5).number(of: .known) == 0)
  }

  @Test("A rule counts for its numbers, and a reason is told once, at its highest level")
  func rules() throws {
    let failed = try #require(RiskCondition("failed"))
    func rule(_ numbers: ClosedRange<UInt16>, _ level: RiskLevel, _ reason: String) throws
      -> RiskRule
    {
      try #require(RiskRule(numbers, failed, level, reason))
    }
    let rules = [
      try rule(5...9, .low, "a"), try rule(5...9, .medium, "b"), try rule(9...9, .high, "a"),
      try rule(5...9, .low, "b"),
    ]
    let event = try Self.event(failed: true)
    for number in [4, 10] as [UInt16] { #expect(EventRisk(rules, number, event) == EventRisk()) }
    #expect(EventRisk(rules, 5, event) == EventRisk(level: .medium, reasons: ["b", "a"]))
    #expect(EventRisk(rules, 9, event) == EventRisk(level: .high, reasons: ["a", "b"]))
    #expect(EventRisk(rules, 9, try Self.event()) == EventRisk(level: .none, reasons: []))
    for (reason, isOne) in [
      ("\u{1F}", false), (" ", true), ("~", true), ("\u{7F}", false), ("é", true),
    ] {
      #expect((RiskRule(1...1, failed, .low, reason) != nil) == isOne)
    }
    #expect(RiskLevel.allCases.map(\.word) == ["none", "low", "medium", "high"])
    #expect(RiskLevel.allCases.map(\.rawValue) == [0, 1, 2, 3])
    for level in RiskLevel.allCases { #expect(RiskLevel(word: level.word) == level) }
    #expect(RiskLevel(word: "High") == nil && RiskLevel.low < .medium && !(RiskLevel.low < .low))
    #expect(RiskRule.reasonMax == 80 && EventRisk.reasonsMax == 8)
  }

  @Test("A risk is written with its level's word, and read whole or not at all")
  func risk() {
    let risk = EventRisk(level: .medium, reasons: ["a", "b"])
    #expect(risk.object == ["level": "medium", "reasons": ["a", "b"]])
    #expect(EventRisk(.object(risk.object)) == risk)
    for wrong in [
      nil, 1, [:], ["level": "medium"], ["reasons": []], ["level": "most", "reasons": []],
      ["level": 1, "reasons": []], ["level": "low", "reasons": [1]],
      ["level": "low", "reasons": 1],
    ] as [JSONValue?] { #expect(EventRisk(wrong) == nil) }
  }

  // MARK: Small texts

  @Test("A finding is two numbers with a dot between")
  func findings() {
    let finding = GateFinding(category: 3, number: 255)
    #expect(finding.text == "3.255" && GateFinding(text: "3.255") == finding)
    for text in [nil, "", "3", "3.", ".3", "3.256", "256.3", "3.1.2", "a.1", "-1.1"] {
      #expect(GateFinding(text: text) == nil)
    }
  }

  @Test("An account in a header is a key's number and a digest")
  func accounts() throws {
    let keys = try [3, 4].map { number in
      try GateAccountKey(
        SecretBytes(copying: [UInt8](repeating: 9, count: 32).span), number: number)
    }
    let digest = try keys[0].digest(of: "ada")
    let account = try #require(EventAccount(digest, key: 3))
    #expect(account.text == "3." + Base64.encode(digest.bytes, .url))
    #expect(EventAccount(account.text) == account && EventAccount(digest, key: 0) == nil)
    #expect(account.isOf("ada", keys) && !account.isOf("bob", keys) && !account.isOf("ada", []))
    #expect(!account.isOf("ada", [keys[1]]))
    let tail = account.text.dropFirst(2)
    for text in ["", "\(tail)", ".\(tail)", "0.\(tail)", "03.\(tail)", "+3.\(tail)", "256.\(tail)"]
    {
      #expect(EventAccount(text) == nil, "\(text)")
    }
    for text in ["3.", "3.AAAA", account.text + ".", "3..\(tail)"] {
      #expect(EventAccount(text) == nil)
    }
    #expect(EventAccount("255.\(tail)")?.key == 255)
  }

  // MARK: Questions

  @Test("A question names an account by its name or digest, and data by its bytes or digest")
  func question() throws {
    var question = EventVerifier.Question(
      "t", event: 5, account: "a", data: [1], idempotencyKey: "k", address: "192.0.2.1")
    #expect(question.token == "t" && question.event == 5 && question.account == "a")
    #expect(question.idempotencyKey == "k" && question.address == "192.0.2.1")
    #expect(question.bound == Digest(hashing: [1]) && question.namesAccount)
    question.digest = Digest(hashing: [2])
    #expect(question.bound == Digest(hashing: [2]))
    question.account = nil
    #expect(!question.namesAccount)
    question.accountDigest = EventAccount(Digest(hashing: []), key: 1)
    #expect(question.namesAccount)
    let bare = EventVerifier.Question("t", event: 5)
    #expect(bare.bound == nil && !bare.namesAccount && bare.address == nil)
  }

  @Test("The rules of a range are those that the account lists, or the settings for every number")
  func eventRules() throws {
    let listed = GateConfiguration.Events(
      numbers: 5...9, name: "a", audience: .random(), life: 7, needsAccount: true, needsData: false,
      allowsUnanchored: true, measuredMax: 3)
    let rules = EventRules(listed)
    #expect(rules.numbers == 5...9 && rules.window == 7 && rules.measuredMax == 3)
    #expect(rules.needsAccount && !rules.needsData && rules.allowsUnanchored)
    var settings = EventVerifier.Settings()
    #expect(settings.skew == 30 && settings.window == CompactToken.window)
    #expect(!settings.allowsUnanchored && settings.measuredMax == 255)
    #expect(settings.capacity == 100_000 && settings.retention == 86_400)
    settings.window = 8
    settings.allowsUnanchored = true
    settings.measuredMax = 2
    let all = EventRules(settings)
    #expect(all.numbers == 0...65_535 && all.window == 8 && all.measuredMax == 2)
    #expect(!all.needsAccount && !all.needsData && all.allowsUnanchored)
  }

  // MARK: Judgements

  /// Three numbers, of which the first and the last byte are not zero.
  private static func span(_ first: UInt32) -> EventCounts.Span {
    let numbers = (first..<first + 3).map { $0 | $0 << 24 }
    return Span(minute: numbers[0], hour: numbers[1], day: numbers[2])
  }

  private static func kept(_ reason: EventJudgement.Reason?) -> KeptJudgement {
    var judgement = EventJudgement(
      reason: reason, facts: nil, created: 0x0403_0201, age: -2, measured: 9, isYoung: true,
      isAnchored: false, isRepeated: false)
    if reason == nil {
      var counts = EventCounts()
      counts.accountsOfDevice = span(1)
      counts.devicesOfAccount = span(4)
      counts.eventsOfDevice = span(7)
      judgement.counts = counts
      judgement.invalidOfAddress = span(10)
      judgement.risk = EventRisk(level: .high, reasons: ["ab", "c"])
    }
    return KeptJudgement([UInt8](0..<32), judgement)
  }

  @Test("A kept judgement has its bytes in their order, and gives them back")
  func keptBytes() throws {
    let whole = Self.kept(nil)
    var expected = [UInt8](0..<32) + [0, 0, 1, 2, 3, 4, 0xFE]
    expected += [UInt8](repeating: 0xFF, count: 7) + [9, 1, 0]
    for number in 1...12 as ClosedRange<UInt8> { expected += [number, 0, 0, number] }
    expected += [3, 2, 2, 0x61, 0x62, 1, 0x63]
    #expect(whole.bytes == expected)
    #expect(KeptJudgement(whole.bytes) == whole)
    let told = whole.judgement(nil)
    #expect(told.isValid && told.isRepeated && told.created == 0x0403_0201 && told.age == -2)
    #expect(told.measured == 9 && told.isYoung && !told.isAnchored && told.facts == nil)
    #expect(told.counts == whole.counts && told.risk == whole.risk)
    #expect(told.invalidOfAddress == Self.span(10))
    for count in 0..<whole.bytes.count where count != 49 {
      #expect(KeptJudgement(Array(whole.bytes.prefix(count))) == nil, "\(count)")
    }
    #expect(KeptJudgement(whole.bytes + [0]) == nil)
    for (place, byte) in [(97, 4), (97, 255), (98, 1), (98, 3), (99, 1), (99, 3), (100, 0xFF)] {
      var bytes = whole.bytes
      bytes[place] = UInt8(byte)
      #expect(KeptJudgement(bytes) == nil, "\(place)")
    }
    for (place, flag) in [(47, \.isYoung), (48, \.isAnchored)]
      as [(Int, KeyPath<EventJudgement, Bool>)]
    {
      for (byte, isSet) in [(0, false), (1, true), (2, false)] {
        var bytes = whole.bytes
        bytes[place] = UInt8(byte)
        let read = try #require(KeptJudgement(bytes)).judgement(nil)
        #expect(read[keyPath: flag] == isSet)
      }
    }
  }

  @Test("A reason is kept as its number; one that is never recorded comes back as another question")
  func keptReasons() {
    for refusal in GateRefusal.allCases {
      let kept = Self.kept(.refused(refusal))
      #expect(kept.reason == UInt16(refusal.rawValue) && kept.bytes.count == 49)
      #expect(kept.judgement(nil).reason == .refused(refusal) && kept.counts == nil)
    }
    let numbers: [(EventJudgement.Reason, UInt16, EventJudgement.Reason)] = [
      (.beforeStart, 256, .beforeStart), (.unknownAccountKey, 257, .unknownAccountKey),
      (.otherQuestion, 258, .otherQuestion), (.store, 259, .otherQuestion),
      (.unlistedEvent, 260, .otherQuestion), (.needsAccount, 261, .otherQuestion),
      (.needsData, 262, .otherQuestion), (.otherApp, 263, .otherQuestion),
    ]
    for (reason, number, told) in numbers {
      let kept = Self.kept(reason)
      #expect(kept.reason == number && kept.judgement(nil).reason == told)
      #expect(KeptJudgement(kept.bytes) == kept)
      #expect(reason.description.hasSuffix("."))
    }
    var unknown = Self.kept(nil)
    unknown.reason = 255
    #expect(unknown.judgement(nil).reason == .otherQuestion)
    #expect(Set(numbers.map(\.0.description)).count == numbers.count)
    let bare = KeptJudgement([], .refused(.store))
    #expect(bare.created == 0 && bare.age == 0 && bare.measured == 255)
  }
}
