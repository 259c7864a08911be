import ProofModel
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
      .outOfRange(field: "generation", value: "0", allowed: "1 to 5"),
      .configForeign(byteCount: 77), .configDamaged(byteCount: 77),
      .configTooNew(version: 77, suite: 1), .configMalformed(byteCount: 77),
      .configForOtherKey(config: key, key: other),
      .configForOtherMode(config: .production, key: .development),
      .evidenceRepeated(EvidenceName(record)), .evidenceOutOfOrder(EvidenceName(record)),
      .evidenceNotAskedFor(EvidenceName(record)), .evidenceMissing([record.source]),
      .evidenceUnavailable(reason: "no /proc"), .measurementEnded,
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

  @Test("of two errors are never the same")
  func distinct() {
    #expect(Set(Self.everyError.map(\.description)).count == Self.everyError.count)
  }

  @Test("of an error contain the value that was wrong")
  func values() {
    #expect(Self.everyError[0].description.contains("12 bytes; it must have 16."))
    #expect(Self.everyError[1].description.contains("300 bytes; it must have 0 to 256."))
    #expect(Self.everyError[3].description.contains("generation is 0; allowed: 1 to 5"))
    #expect(Self.everyError[8].description.contains("0102030405060708"))
    #expect(Self.everyError[10].description.contains("app 3 \"libdoor.so\""))
  }

  @Test("of hardware ids take what the tools print")
  func hardwareIDs() throws {
    let digits = "dbe6593c14ef260cebc52d4439f49983"
    let id = try HardwareID(digits)
    #expect(try HardwareID(digits.uppercased()) == id)
    let bytes: [UInt8] = [
      0xdb, 0xe6, 0x59, 0x3c, 0x14, 0xef, 0x26, 0x0c,
      0xeb, 0xc5, 0x2d, 0x44, 0x39, 0xf4, 0x99, 0x83,
    ]
    #expect(try HardwareID(bytes) == id)
    for wrong in ["", String(digits.dropLast()), digits + "00", digits.dropLast(2) + "0x"] {
      #expect(throws: ProofError.malformed("hardware id", byteCount: wrong.utf8.count)) {
        try HardwareID(wrong)
      }
    }
    #expect(throws: ProofError.allZeros(of: "hardware id")) {
      try HardwareID(String(repeating: "0", count: 32))
    }
  }

  @Test("of a verdict are those of docs/SPEC.md, each once")
  func verdicts() {
    #expect(Verdict.allCases.count == 23)
    #expect(Set(Verdict.allCases.map(\.description)).count == 23)
    #expect(Verdict.acceptedDeviceOnly.description == "accepted, device only")
    #expect(Verdict.allCases.filter(\.isSuccess).map(\.rawValue) == [1, 2, 3, 4])
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
    #expect(Fate.tooOldToTell.advice == .lookFirst)
    #expect(Fate.notExecuted.advice == .sendAgain)
    #expect(Fate.accepted.advice == .done && Fate.acceptedDeviceOnly.advice == .done)
    #expect(Fate.refused(.usesExhausted).advice == .askForNewToken)
  }
}
