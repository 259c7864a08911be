// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import SeededRandom
import Testing

@testable import ProofBackend
@testable import ProofGate

/// A backend in a process of its own: its questions to a listener for events, and the answers as it reads them.
@Suite struct EventCallTests {
  private static let secret = try? GateSecret.random(generation: 1)

  private static func judgement(_ reason: EventJudgement.Reason? = nil) throws -> EventJudgement {
    let secret = try #require(secret)
    var grant = GateGrant(
      for: .random(), instance: .random(), mode: .production, issued: 1, notAfter: 9,
      firstSeen: 1_700_000_000, secret: secret)
    grant.isFailed = true
    grant.responseCode = "ABCDEFGH27"
    grant.properties = 1 << 31
    grant.findings = [GateFinding(category: 3, number: 1), GateFinding(category: 255, number: 0)]
    var judgement = EventJudgement(
      reason: reason, facts: GateFacts(grant, handle: secret.keys.handle), created: 5, age: -2,
      measured: 3, isYoung: true, isAnchored: false, isRepeated: true)
    judgement.invalidOfAddress.hour = 4
    guard reason == nil else { return judgement }
    var counts = EventCounts()
    counts.devicesOfAccount.hour = 7
    counts.eventsOfDevice = .init(minute: 1, hour: 2, day: .max)
    judgement.counts = counts
    judgement.risk = EventRisk(level: .high, reasons: ["many \"devices\"", "ü"])
    return judgement
  }

  @Test("The listener reads a question as it was written, and gets a digest of the data")
  func questions() throws {
    let question = EventVerifier.Question(
      "AAAA", event: 3300, account: "a\"da", data: [1, 2], idempotencyKey: "order 17",
      address: "192.0.2.1")
    let read = try EventText.question(EventCall(question).body, from: "shop")
    #expect(read.token == "AAAA" && read.event == 3300 && read.account == "a\"da")
    #expect(read.digest == Digest(hashing: [1, 2]) && read.data == nil)
    #expect(read.address == "192.0.2.1" && read.idempotencyKey == "4:shoporder 17")
    let few = try EventText.question(EventCall(.init("A", event: 0)).body, from: "shop")
    #expect(few.account == nil && few.digest == nil && few.idempotencyKey == nil)
  }

  @Test("The backend reads the judgement as the listener wrote it")
  func answers() throws {
    let judgement = try Self.judgement()
    let read = try EventAnswer(status: 200, body: EventText.answer(judgement))
    #expect(read.isValid && read.reason == nil && read.isRepeated && read.age == -2)
    #expect(read.device == judgement.facts?.instance && read.counts == judgement.counts)
    #expect(read.risk == judgement.risk && read.invalidOfAddress == judgement.invalidOfAddress)
    let attestation = try #require(read.attestation)
    #expect(attestation.isFailed && !attestation.isForced && attestation.properties == 1 << 31)
    #expect(attestation.responseCode == "ABCDEFGH27" && attestation.firstSeen == 1_700_000_000)
    #expect(attestation.findings == judgement.facts?.findings)
    let late = try EventAnswer(
      status: 200, body: EventText.answer(Self.judgement(.refused(.replayed))))
    #expect(!late.isValid && late.reason == "replayed" && late.counts == nil)
    let strange = try EventAnswer(
      status: 200, body: EventText.answer(.refused(.refused(.handle))))
    #expect(!strange.isValid && strange.reason == "unknown-app" && strange.device == nil)
  }

  @Test("An answer without a judgement is an error, and none of them lets an event count")
  func errors() throws {
    let good = EventText.answer(try Self.judgement())
    func error(_ status: Int, _ body: [UInt8]) -> EventCallError? {
      #expect(throws: EventCallError.self) { try EventAnswer(status: status, body: body) }
    }
    #expect(error(503, EventText.answer(.refused(.store))) == .unavailable)
    #expect(error(503, good) == .unavailable && error(401, good) == .unauthorized)
    #expect(error(429, []) == .tooOften && error(500, []) == .unreadable)
    #expect(error(201, good) == .unreadable && error(200, Array("[]".utf8)) == .unreadable)
    #expect(
      error(400, EventText.problem(400, "No body.")) == .refused(status: 400, words: "No body."))
    guard case .object(let whole) = try JSONValue(parsing: good.span) else { return }
    for name in ["valid", "repeated", "counts", "risk", "age", "device", "attestation"] {
      var object = whole
      object[name] = nil
      #expect(error(200, Array(JSONValue.object(object).text.utf8)) == .unreadable, "\(name)")
    }
    var contradiction = whole
    contradiction["reason"] = "replayed"
    #expect(error(200, Array(JSONValue.object(contradiction).text.utf8)) == .unreadable)
    var silent = whole
    silent["valid"] = false
    #expect(error(200, Array(JSONValue.object(silent).text.utf8)) == .unreadable)
  }

  @Test("Answers of any form are read or refused, and one that counts is whole")
  func fuzz() throws {
    let seeds = [
      EventText.answer(try Self.judgement()),
      EventText.answer(try Self.judgement(.refused(.stale))), EventText.problem(400, "x"),
    ]
    var mutator = Mutator("event answers")
    for _ in 0..<Mutator.rounds {
      guard let answer = try? EventAnswer(status: 200, body: mutator.mutant(of: seeds)) else {
        continue
      }
      #expect(answer.isValid == (answer.reason == nil))
      #expect(!answer.isValid || answer.attestation != nil && answer.device != nil)
    }
  }
}
