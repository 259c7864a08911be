// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ReasonRows
import Testing

@Suite("Words for people")
struct ErrorTests {
  static let everyError: [ProofError] = {
    let record = try! EvidenceRecord(SourceID(.app, 3), name: "libdoor.so", digest: nil)
    let key = try! KeyID([1, 2, 3, 4, 5, 6, 7, 8])
    let other = try! KeyID([1, 9, 9, 9, 9, 9, 9, 9])
    return [
      .wrongLength(of: "proof nonce", expected: 16...16, actual: 12),
      .wrongLength(of: "command", expected: 0...256, actual: 300), .allZeros(of: "salt"),
      .notHexadecimal(of: "InstanceID", digitCount: 32),
      .outOfRange(field: "generation", value: "0", allowed: "1 to 5"),
      .configForeign(byteCount: 77), .configDamaged(byteCount: 77),
      .configTooNew(version: 77, suite: 1), .configMalformed(byteCount: 77),
      .configForOtherKey(config: key, key: other),
      .configForOtherMode(config: .production, key: .development),
      .evidenceRepeated(EvidenceName(record)), .evidenceOutOfOrder(EvidenceName(record)),
      .evidenceNotAskedFor(EvidenceName(record)), .evidenceMissing([record.source]),
      .evidenceUnavailable(reason: "no /proc"), .resourcesExhausted(reason: "no memory"),
      .measurementEnded,
      .malformed("order", byteCount: 77), .tooNew("order"), .notForThisHardware("order"),
      .notSigned("order"), .wrongMode("order"), .unusablePublicKey(of: .random()),
      .differs("receipt"), .unauthenticated(.accepted), .answerToAnother(expected: 7, actual: 8),
      .answerToRecall(.stale),
      .storageFailed, .storageDamaged, .randomFailed,
    ]
  }()

  @Test("of an error are sentences that say what happened", arguments: everyError)
  func sentence(error: ProofError) {
    let text = error.description
    #expect(text.count > 30)
    #expect(text.first?.isUppercase == true)
    #expect(text.last == ".")
    #expect(!text.contains("\n"))
    #expect("\(error)" == text)
  }

  @Test("of an error have a number each, which no other case ever had")
  func codes() {
    let numbers = [
      1, 1, 2, 4, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 27,
      28, 29, 30, 31, 32,
    ]
    #expect(Self.everyError.map(\.code) == numbers.map { "PROOF-\($0)" })
  }

  @Test("of an error, and who can mend it, are those of the page of reasons")
  func rows() throws {
    let errors =
      Self.everyError + [.evidenceWithheld([]), .unusableGateKey(number: 1), .logTooFar(steps: 9)]
    let answers = errors.map { ReasonRows.Answer($0.code, "\($0.whoCanMend)") }
    #expect(try ReasonRows(of: "PROOF").differences(fromUnordered: answers) == [])
  }

  @Test("of two errors are never the same")
  func distinct() {
    #expect(Set(Self.everyError.map(\.description)).count == Self.everyError.count)
  }

  @Test("of an error contain the value that was wrong")
  func values() {
    #expect(Self.everyError[0].description.contains("12 bytes; it must have 16."))
    #expect(Self.everyError[1].description.contains("300 bytes; it must have 0 to 256."))
    #expect(Self.everyError[4].description.contains("generation is 0; allowed: 1 to 5"))
    #expect(Self.everyError[9].description.contains("0102030405060708"))
    #expect(Self.everyError[11].description.contains("app 3 \"libdoor.so\""))
  }

  @Test("of a verdict are those of docs/SPEC.md, each once")
  func verdicts() {
    #expect(Verdict.allCases.count == 27)
    #expect(Set(Verdict.allCases.map(\.description)).count == 27)
    #expect(Verdict.acceptedDeviceOnly.description == "accepted, device only")
    #expect(Verdict.allCases.filter(\.isSuccess).map(\.rawValue) == [1, 2, 3, 4, 6, 7, 8])
    #expect(Verdict.allCases.filter(\.tellsCopy).map(\.rawValue) == [6, 7, 23])
  }

  @Test("of an advice are a sentence, and every advice is given by some verdict")
  func advice() {
    let given = Question.allCases.flatMap { question in
      Verdict.allCases.map { $0.advice(to: question) }
    }
    #expect(Set(given) == Set(Advice.allCases))
    for advice in Advice.allCases { #expect(advice.description.hasSuffix(".")) }
    #expect(Verdict.integrityDiffers.advice(to: .command) == .measureAgain)
    #expect(Verdict.stale.advice(to: .command) == .sendAgain)
    #expect(Verdict.busy.advice(to: .recall) == .reconnectLater)
  }

  @Test("never advise to send a command again that a recall has not told to be undone")
  func recallHints() {
    for verdict in Verdict.allCases { #expect(verdict.advice(to: .recall) != .sendAgain) }
  }
}
