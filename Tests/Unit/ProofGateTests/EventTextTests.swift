// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import SeededRandom
import Testing

@testable import ProofBackend
@testable import ProofGate

/// The JSON of the events' endpoint.
@Suite struct EventTextTests {
  static let digest = Digest(hashing: Array("order 17".utf8))
  static let whole =
    #"{"token":"AAAA","event":3300,"account":"ada","data":""# + Base64.encode(digest.bytes, .url)
    + #"","address":"2001:db8::1","key":"order 17"}"#

  private static func question(
    _ text: String, from asker: String = "shop"
  ) throws(EventTextError) -> EventVerifier.Question {
    try EventText.question(Array(text.utf8), from: asker)
  }

  @Test("Each member of a question is read, and the key is the credential's own")
  func members() throws {
    let question = try Self.question(Self.whole)
    #expect(question.token == "AAAA" && question.event == 3300 && question.account == "ada")
    #expect(question.digest == Self.digest && question.data == nil)
    #expect(question.address == "2001:db8::1")
    let few = try Self.question(#"{"event":0,"token":"A"}"#)
    #expect(few.account == nil && few.digest == nil && few.address == nil)
    #expect(few.idempotencyKey == nil)
    // No name of a credential with a key is another name with another key.
    let one = try Self.question(#"{"event":0,"token":"A","key":"pa"}"#, from: "sho")
    let other = try Self.question(#"{"event":0,"token":"A","key":"a"}"#, from: "shop")
    #expect(one.idempotencyKey != other.idempotencyKey)
    func key(_ count: Int) throws -> String? {
      let key = String(repeating: "k", count: count)
      return try Self.question(#"{"event":0,"token":"A","key":"\#(key)"}"#).idempotencyKey
    }
    #expect(try key(128) != nil)
    #expect(throws: EventTextError.self) { try key(129) }
  }

  @Test(
    "A question with a member that cannot be used says which, and nothing of its value",
    arguments: [
      "", "[]", "{", #"{"event":1}"#, #"{"token":"A"}"#, #"{"event":65536,"token":"A"}"#,
      #"{"event":-1,"token":"A"}"#, #"{"event":"1","token":"A"}"#, #"{"event":1.5,"token":"A"}"#,
      #"{"event":1,"token":""}"#, #"{"event":1,"token":7}"#, #"{"event":1,"event":1,"token":"A"}"#,
      #"{"event":1,"token":"A","acount":"secret"}"#, #"{"event":1,"token":"A","account":""}"#,
      #"{"event":1,"token":"A","account":null}"#, #"{"event":1,"token":"A","data":"secret"}"#,
      #"{"event":1,"token":"A","address":"secret.example"}"#, #"{"event":1,"token":"A","key":""}"#,
      #"{"event":1,"token":"A"} "# + String(repeating: " ", count: EventText.byteMax),
    ])
  func unusable(_ text: String) {
    do throws(EventTextError) {
      _ = try Self.question(text)
      Issue.record("read: \(text)")
    } catch {
      #expect(!error.description.contains("secret") && !error.description.contains("acount"))
    }
  }

  @Test("An account to forget is one text")
  func accounts() throws {
    #expect(try EventText.account(Array(#"{"account":"ada"}"#.utf8)) == "ada")
    for text in [#"{}"#, #"{"account":1}"#, #"{"account":"ada","event":1}"#, #""ada""#] {
      #expect(throws: EventTextError.self) { try EventText.account(Array(text.utf8)) }
    }
  }

  private static func object(_ judgement: EventJudgement) throws -> JSONObject {
    guard case .object(let object) = try JSONValue(parsing: EventText.answer(judgement).span)
    else { throw EventTextError("", "is no object") }
    return object
  }

  @Test("An answer has the counts and the risk of a token that counts, and facts of no other")
  func answers() throws {
    let secret = try GateSecret.random(generation: 1)
    var grant = GateGrant(
      for: .random(), instance: .random(), mode: .production, issued: 1, notAfter: 9,
      firstSeen: 1, secret: secret)
    grant.isFailed = true
    var judgement = EventJudgement(
      reason: nil, facts: GateFacts(grant, handle: secret.keys.handle), created: 5, age: -2,
      measured: 3, isYoung: true, isAnchored: false, isRepeated: true)
    var counts = EventCounts()
    counts.devicesOfAccount.hour = 7
    judgement.counts = counts
    judgement.risk = EventRisk(level: .high, reasons: ["many \"devices\""])
    let object = try Self.object(judgement)
    #expect(object["valid"] == true && object["repeated"] == true && object["age"] == -2)
    #expect(object["reason"] == nil)
    #expect(object["device"] == .string(Hexadecimal.encode(grant.instance.bytes)))
    guard case .object(let attestation)? = object["attestation"],
      case .object(let told)? = object["counts"],
      case .object(let devices)? = told["devicesOfAccount"]
    else { throw EventTextError("", "lacks a part") }
    #expect(attestation["failed"] == true && attestation["anchored"] == false)
    #expect(attestation["measured"] == 3 && devices["hour"] == 7 && devices["day"] == 0)
    #expect(object["risk"] == ["level": "high", "reasons": ["many \"devices\""]])

    let refused = try Self.object(.refused(.refused(.handle)))
    #expect(refused["valid"] == false && refused["reason"] == "unknown-app")
    #expect(refused["device"] == nil && refused["age"] == nil && refused["attestation"] == nil)
    guard case .object(let none)? = refused["counts"] else {
      throw EventTextError("", "lacks a part")
    }
    #expect(none.members.map(\.name) == ["invalidOfAddress"])
  }

  @Test("Each reason has a word that no other kind of reason has")
  func words() {
    let own: [EventJudgement.Reason] = [
      .beforeStart, .unknownAccountKey, .otherQuestion, .store, .unlistedEvent, .needsAccount,
      .needsData, .otherApp,
    ]
    let fields: [GateRefusal] = [
      .errorState, .handle, .tag, .otherAccount, .otherData, .generation, .event, .ahead, .stale,
      .unanchored, .measured, .kept, .replayed, .text,
    ]
    let words = own.map(\.word) + fields.map { EventJudgement.Reason.refused($0).word }
    #expect(Set(words).count == words.count)
  }

  @Test("Bodies of any form are read or refused, and what is read is within its bounds")
  func fuzz() {
    let seeds = [
      Self.whole, #"{"event":0,"token":"A"}"#, #"{"account":"ada"}"#,
      #"{"event":65535,"token":"\u0041","account":"\ud83d\ude00"}"#,
    ].map { Array($0.utf8) }
    var mutator = Mutator("event questions")
    for _ in 0..<Mutator.rounds {
      let body = mutator.mutant(of: seeds)
      if let question = try? EventText.question(body, from: "shop") {
        #expect((1...256).contains(question.token.utf8.count))
        #expect(question.account.map { (1...EventText.accountMax).contains($0.utf8.count) } ?? true)
        #expect(question.idempotencyKey?.hasPrefix("4:shop") ?? true)
        #expect(body.count <= EventText.byteMax)
      }
      if let account = try? EventText.account(body) { #expect(!account.isEmpty) }
    }
  }
}
