// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofBackend

/// Bounds of an answer about an event, and the digest that a kept judgement begins with.
@Suite struct EventBoundTests {
  typealias Shop = EventVerifierTests.Shop

  private static func span() -> JSONValue { ["minute": 1, "hour": 2, "day": 3] }

  private static func attestation(_ changes: [String: JSONValue?] = [:]) -> JSONValue {
    var object: JSONObject = [
      "failed": false, "forced": true, "findings": ["3.1"], "properties": 7, "firstSeen": 5,
    ]
    for (name, value) in changes { object[name] = value }
    return .object(object)
  }

  private static func answer(_ changes: [String: JSONValue?] = [:]) -> EventAnswer? {
    let id = Hexadecimal.encode([UInt8](1...16))
    var object: JSONObject = [
      "valid": true, "repeated": false, "age": -2, "device": .string(id),
      "risk": ["level": "low", "reasons": ["why"]], "attestation": attestation(),
      "counts": [
        "accountsOfDevice": span(), "devicesOfAccount": span(), "eventsOfDevice": span(),
        "invalidOfAddress": span(),
      ],
    ]
    for (name, value) in changes { object[name] = value }
    return try? EventAnswer(status: 200, body: Array(JSONValue.object(object).text.utf8))
  }

  @Test("An answer's numbers are in their ranges, and it is whole where the event counts")
  func answers() throws {
    #expect(Self.answer()?.device == (try? InstanceID([UInt8](1...16))))
    for (name, value, isRead) in [
      ("firstSeen", 0, true), ("firstSeen", -1, false), ("firstSeen", nil, false),
      ("properties", 0, true), ("properties", 4_294_967_295, true),
      ("properties", 4_294_967_296, false), ("properties", -1, false), ("findings", [], true),
      ("findings", ["3"], false), ("findings", ["0.0", "255.255"], true),
      ("findings", ["256.0"], false), ("failed", 1, false), ("forced", nil, false),
      ("arc", "A", true),
    ] as [(String, JSONValue?, Bool)] {
      let answer = Self.answer(["attestation": Self.attestation([name: value])])
      #expect((answer != nil) == isRead, "\(name) \(String(describing: value))")
    }
    #expect(Self.answer()?.attestation?.firstSeen == 5)
    #expect(
      Self.answer(["attestation": Self.attestation(["firstSeen": 0])])?.attestation?.firstSeen == 0)
    // An answer that does not count names its reason, and may lack the rest.
    for name in ["age", "device", "attestation"] {
      #expect(Self.answer([name: JSONValue?.none]) == nil, "\(name)")
      let refused = Self.answer([name: JSONValue?.none, "valid": false, "reason": "stale"])
      #expect(refused?.reason == "stale", "\(name)")
    }
    #expect(Self.answer(["reason": "stale"]) == nil && Self.answer(["valid": false]) == nil)
  }

  @Test("A judgement is kept with the digest of its token, event, account and data")
  func question() throws {
    let shop = try Shop()
    let digest = Digest(hashing: EventVerifierTests.data)
    let account = EventAccount(try shop.gate.accountKey.digest(of: "user-4711"), key: 1)
    let text = try #require(account?.text)
    for (index, (name, told, data, tail)) in [
      ("user-4711", nil, true, Array("9:user-4711".utf8) + [1] + digest.bytes),
      ("user-4711", nil, false, Array("9:user-4711".utf8) + [0]),
      (nil, nil, true, [0, 1] + digest.bytes), (nil, nil, false, [0, 0]),
      (nil, account, true, Array("\(text.utf8.count):\(text)".utf8) + [1] + digest.bytes),
      ("other", account, false, Array("\(text.utf8.count):\(text)".utf8) + [0]),
    ].enumerated() as EnumeratedSequence<[(String?, EventAccount?, Bool, [UInt8])]> {
      let token = try shop.app.event(
        for: shop.audience, account: name == nil && told == nil ? nil : "user-4711",
        data: data ? EventVerifierTests.data : nil, count: UInt32(index + 1))
      var question = EventVerifier.Question(
        token, event: 3300, account: name, data: data ? EventVerifierTests.data : nil,
        idempotencyKey: "\(index)")
      question.accountDigest = told
      #expect(shop.redeemer.judge(question).isValid, "\(index)")
      let key = try ReplayKey(
        Array(Digest(hashing: Array("4:shop\(index)".utf8)).bytes.prefix(24)))
      let kept = try #require(try shop.store.judgement(under: key))
      let expected = Digest(hashing: Array("88:\(token)3300:".utf8) + tail)
      #expect(Array(kept.prefix(32)) == expected.bytes, "\(index)")
    }
  }
}
