// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// Keys with their stages, and the regions, challenges and risks of an account.
@Suite struct KeyRecordTests {
  private static let time: UnixTime = 1_700_000_000

  // MARK: Keys

  @Test func `a stored key keeps its name, its time, its stage's facts and its end`() throws {
    var key = SealedKey(sealed: [1, 2, 3], added: Self.time)
    #expect(key.id.utf8.count == 16 && key.id != SealedKey(sealed: [1, 2, 4], added: nil).id)
    #expect(SealedKey(key.fields) == key)
    (key.id, key.isGiven, key.end) = ("mine", true, Self.time + 1)
    #expect(SealedKey(key.fields) == key)
    #expect(Set(key.fields.members.map(\.name)) == ["added", "given", "id", "key", "until"])
    var fields = key.fields
    // Earlier versions wrote another name of the time, and no name of the key.
    fields["added"] = nil
    fields["changed"] = 5
    fields["id"] = nil
    let earlier = try #require(SealedKey(fields))
    #expect(earlier.added == 5 && earlier.id == SealedKey(sealed: [1, 2, 3], added: nil).id)
    fields["key"] = nil
    #expect(SealedKey(fields) == nil)
    for stage in KeyStage.allCases {
      let state = key.state(stage)
      #expect(
        state
          == KeyState(id: "mine", stage: stage, added: Self.time, isGiven: true, end: Self.time + 1)
      )
      #expect(state.shown.flag("given") == (stage == .next ? true : nil))
      #expect(state.shown.integer("until") == 1_700_000_001)
    }
  }

  @Test func `stages hold one key each, the active one first`() throws {
    let keys = [1, 2, 3].map { SealedKey(named: "\($0)", sealed: [$0], added: nil) }
    var stages = KeyStages(active: keys[0])
    (stages.next, stages.old) = (keys[1], keys[2])
    #expect(KeyStages(stages.fields) == stages)
    #expect(stages.all.map(\.key) == keys && stages.all.map(\.stage) == [.active, .next, .old])
    #expect(stages.states.map(\.id) == ["1", "2", "3"])
    for name in ["next", "old"] {
      var fields = stages.fields
      for wrong in [1, [:]] as [JSONValue] {
        fields[name] = wrong
        #expect(KeyStages(fields) == nil, "\(name)")
      }
      fields[name] = nil
      let less = try #require(KeyStages(fields))
      #expect((less.next == nil) == (name == "next") && (less.old == nil) == (name == "old"))
    }
    #expect(KeyStages([:]) == KeyStages() && KeyStages(["key": 1]) == nil)
    #expect(KeyStages().all.isEmpty)
  }

  @Test func `each step of a rotation out of turn says why, and the command that comes first`()
    throws
  {
    let now = Self.time
    let words = RotationWords(OwnKey.sealing)
    let gate = RotationWords(Gate.KeyKind.issuer, of: "door")
    #expect(
      [words.draw, words.handOut, words.retire, words.list] == [
        "sealing next", "sealing keys", "sealing retire", "sealing list",
      ])
    #expect(
      [gate.draw, gate.handOut, gate.retire, gate.list] == [
        "gate rotate door issuer next", "gate configuration door", "gate rotate door issuer retire",
        "gate show door",
      ])
    let keys = [1, 2, 3].map { SealedKey(named: "\($0)", sealed: [$0], added: nil) }
    var stages = KeyStages(active: keys[0])
    func refused(_ why: String, _ instead: String, _ body: () throws -> Void) {
      #expect(throws: ServiceError.outOfTurn(why, instead: instead)) { try body() }
    }
    refused("there is no next key", "Draw one: “sealing next”.") {
      _ = try stages.promote(endingAt: now, atOnce: true, words)
    }
    refused("there is no next key", "“sealing list” shows the keys.") { try stages.dropNext(words) }
    refused("there is no old key", "“sealing list” shows the keys.") {
      try stages.retire(at: now, atOnce: true, words)
    }
    try stages.prepare(keys[1], words)
    refused(
      "the key “2” is the next one already",
      "Hand it out (“sealing keys”) and promote it, or drop it."
    ) { try stages.prepare(keys[2], words) }
    refused(
      "the next key was never handed out, so those who check tokens would refuse them",
      "Hand it out: “sealing keys”."
    ) { _ = try stages.promote(endingAt: now, atOnce: false, words) }
    #expect(stages.next == keys[1] && stages.active == keys[0])
    stages.next?.isGiven = true
    let state = try stages.promote(endingAt: now + 5, atOnce: false, words)
    #expect(state == KeyState(id: "2", stage: .active, added: nil, isGiven: false, end: nil))
    #expect(stages.active == keys[1] && stages.next == nil && stages.old?.id == "1")
    #expect(stages.old?.end == now + 5)
    try stages.prepare(keys[2], words)
    refused("the key “1” is not retired yet", "Retire it: “sealing retire”.") {
      _ = try stages.promote(endingAt: now, atOnce: true, words)
    }
    #expect(throws: ServiceError.self) { try stages.retire(at: now, atOnce: false, words) }
    #expect(stages.old != nil)
    try stages.retire(at: now, atOnce: true, words)
    #expect(stages.old == nil)
    try stages.dropNext(words)
    #expect(stages.next == nil && stages.active == keys[1])
  }

  @Test func `own keys have their algorithm, length and document`() {
    let rows = OwnKey.allCases.map {
      ($0.rawValue, $0.algorithm, $0.byteCount, $0.document.rawValue)
    }
    let expected: [(String, KeyAlgorithm, Int, String)] = [
      ("secret", .hs256, 64, "secret"), ("customkey", .hs256, 64, "customKey"),
      ("sealing", .direct, 32, "sealingKey"), ("messagekey", .hs256, 32, "messageKey"),
    ]
    #expect(rows.count == expected.count && zip(rows, expected).allSatisfy { $0 == $1 })
  }

  // MARK: Regions, challenges and risks

  @Test func `regions have a plain name, an address and perhaps another one`() throws {
    let regions = [
      "a": try RegionAddresses(url: "https://a.example.com"),
      String(repeating: "z", count: 32): try RegionAddresses(
        url: "https://b.example.com", failover: "https://c.example.com"),
      "0-9": try RegionAddresses(
        url: "https://d.example.com"),
    ]
    #expect(RegionAddresses.read(.object(RegionAddresses.object(regions))) == regions)
    let object = RegionAddresses.object(regions, failover: "alt")
    #expect(object["a"] == ["url": "https://a.example.com"])
    #expect(
      object[String(repeating: "z", count: 32)] == [
        "url": "https://b.example.com", "alt": "https://c.example.com",
      ])
    for name in [
      "", "home", "A", "a b", "a_b", "a`", "a{", "a/", "a:", String(repeating: "z", count: 33),
    ] {
      #expect(
        RegionAddresses.read([name: ["url": "https://a.example.com"]] as JSONValue) == nil,
        "\(name)")
      #expect(throws: ServiceError.self) { try RegionAddresses.check(name: name) }
    }
    for value in [
      1, ["a": 1], ["a": [:]], ["a": ["url": "http://a.example.com"]],
      ["a": ["url": "https://a.example.com", "failover": "https://a.example.com"]],
    ] as [JSONValue] { #expect(RegionAddresses.read(value) == nil) }
    #expect(
      throws: ServiceError.invalid(
        "fail-over address", value: "https://a.example.com",
        allowed: "another address than the first one")
    ) { try RegionAddresses(url: "https://a.example.com", failover: "https://a.example.com") }
    #expect(RegionAddresses.countMax == 32)
  }

  @Test(arguments: [
    (NamedChallenge.Kind.token, 0...0, 60), (.proof, 0...0, 60), (.work, 1...24, 120),
    (.memory, 1...7, 120), (.person, 0...0, 600),
  ])
  func `a named challenge has a level of its kind, and 10 to 3600 seconds`(
    _ kind: NamedChallenge.Kind, _ levels: ClosedRange<Int>, _ life: Int
  ) throws {
    #expect(kind.levels == levels && kind.life == life)
    let (first, last) = (levels.lowerBound, levels.upperBound)
    for level in [first, last] {
      for seconds in [10, 3_600] {
        let whole = try NamedChallenge("n", kind, level: level, life: seconds, gate: "g")
        #expect(whole.level == level && whole.life == seconds && whole.gate == "g")
        #expect(NamedChallenge(whole.fields) == whole && whole.claims["gate"] == nil)
      }
    }
    let allowed =
      levels.count == 1
      ? "none; kind “\(kind.rawValue)” has no work"
      : "\(first) to \(last) for kind “\(kind.rawValue)”"
    for level in [first - 1, last + 1] {
      #expect(
        throws: ServiceError.invalid("level", value: "\(level)", allowed: allowed)
      ) { try NamedChallenge("n", kind, level: level) }
    }
    for seconds in [9, 3_601] {
      #expect(
        throws: ServiceError.invalid("life", value: "\(seconds)", allowed: "10 to 3600 seconds")
      ) { try NamedChallenge("n", kind, level: first, life: seconds) }
    }
    if levels.count == 1 {
      let bare = try NamedChallenge("n", kind)
      #expect(bare.level == 0 && bare.life == life && bare.gate == nil)
      #expect(NamedChallenge(bare.fields) == bare)
    } else {
      #expect(
        throws: ServiceError.invalid("level", value: "missing", allowed: allowed)
      ) { try NamedChallenge("n", kind) }
      #expect(try NamedChallenge("n", kind, level: first).life == life)
    }
  }

  @Test func `challenges and risks have names of 1 to 32 plain characters, each once`() throws {
    let rule = try #require(RiskCondition("failed").flatMap { RiskRule(3...9, $0, .high, "why") })
    for name in ["a", "0", "z-9", String(repeating: "n", count: 32)] {
      #expect(try NamedChallenge(name, .person).name == name && NamedRisk(name, rule).name == name)
    }
    for name in [
      "", "A", "a b", "a_b", "é", "a`", "a{", "a/", "a:", String(repeating: "n", count: 33),
    ] {
      for noun in ["challenge", "risk rule"] {
        #expect(
          throws: ServiceError.invalid(
            "name of the \(noun)", value: name,
            allowed: "1 to 32 lower-case letters, digits and “-”")
        ) {
          if noun == "challenge" {
            _ = try NamedChallenge(name, .person)
          } else {
            _ = try NamedRisk(name, rule)
          }
        }
      }
    }
    let (challenge, risk) = (try NamedChallenge("n", .person), try NamedRisk("n", rule))
    for (name, _) in challenge.fields.members {
      var fields = challenge.fields
      for wrong in [nil, [[]]] as [JSONValue?] {
        fields[name] = wrong
        #expect(NamedChallenge(fields) == nil, "\(name)")
      }
    }
    var fields = challenge.fields
    fields["gate"] = 1
    #expect(NamedChallenge(fields) == nil)
    #expect(NamedRisk(risk.fields) == risk)
    #expect(
      risk.fields == [
        "name": "n", "numbers": "3-9", "when": "failed", "level": "high", "reason": "why",
      ])
    #expect(
      risk.claims == ["first": 3, "last": 9, "when": "failed", "level": "high", "reason": "why"])
    for (name, _) in risk.fields.members {
      var fields = risk.fields
      for wrong in [nil, [[]], ""] as [JSONValue?] {
        fields[name] = wrong
        #expect(NamedRisk(fields) == nil, "\(name)")
      }
    }
    var (challenges, risks) = (NamedChallenges(), NamedRisks())
    challenges.all = [challenge, try NamedChallenge("m", .token)]
    risks.all = [risk, try NamedRisk("m", rule)]
    #expect(NamedChallenges(challenges.fields) == challenges && NamedRisks(risks.fields) == risks)
    challenges.all.append(challenge)
    risks.all.append(risk)
    #expect(NamedChallenges(challenges.fields) == nil && NamedRisks(risks.fields) == nil)
    for damaged in [[:], ["challenges": 1, "risks": 1], ["challenges": [1], "risks": [1]]]
      as [JSONObject]
    { #expect(NamedChallenges(damaged) == nil && NamedRisks(damaged) == nil) }
    #expect(NamedChallenge.countMax == 64 && NamedRisk.countMax == 64)
  }
}
