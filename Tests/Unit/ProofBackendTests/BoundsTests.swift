// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import Testing

@testable import ProofBackend

/// The bounds of backends are those of docs/BACKEND.md, docs/REQUESTS.md and docs/SPEC.md, with the
/// numbers written out.
@Suite struct BoundsTests {
  /// docs/BACKEND.md: the defaults of a right.
  @Test("A right has five attempts and 30 days, upcoming tokens and the clock's step 90 days")
  func rights() {
    let rights = GrantPermissions([])
    #expect(rights.attempts == 5 && rights.uses == .unlimited)
    #expect(rights.lifetime == 2_592_000)
    #expect(GrantPermissions.upcomingLifetime == 7_776_000)
    #expect(MeasurementTokenIssuer.defaultClockStep == 7_776_000)
    #expect(UnlockGrant.upcomingMax == 3)
    #expect(TokenSuite.one.rawValue == 1 && TokenSuite.two.rawValue == 2)
  }

  /// docs/SPEC.md, section 16, *Verdict* and *Demand*.
  @Test("A verdict and a demand have the bounds of SPEC")
  func verdicts() {
    #expect(GateVerdict.head == 0x1C && GateVerdict.textMax == 4_096)
    #expect(GateDemand.head == 0x1D && GateDemand.textMax == 1_024)
    #expect(GateDemand.secondsMax == 86_400)
    #expect(GateDemand(.work, of: "a.192.0.2.1").seconds == 3_600)
  }

  /// docs/REQUESTS.md, *A gate's own keys*, and docs/SPEC.md, section 16, *Own keys*.
  @Test("A gate has up to four secrets of 32 bytes, its tags 16")
  func secrets() throws {
    #expect(GateOwnSecret.byteCount == 32 && GateOwnKeys.secretCountMax == 4)
    #expect(GateKey.tagByteCount == 16)
    func isTaken(_ count: Int) -> Bool {
      let numbers = (0..<count).map { UInt8($0 + 1) }
      let keys = try? GateOwnKeys(
        of: .random(),
        numbers.map { number in
          let bytes = [UInt8](repeating: number, count: 32)
          return try GateOwnSecret(SecretBytes(copying: bytes.span), number: number)
        })
      return keys != nil
    }
    #expect(!isTaken(0) && isTaken(1) && isTaken(4) && !isTaken(5))
  }

  /// docs/REQUESTS.md, *Limits*.
  @Test("Openings have the budget of the page")
  func openings() {
    let budget = OpeningBudget()
    #expect(budget.perAddress == .init(burst: 8, perSecond: 0.2))
    #expect(budget.strangers == .init(burst: 200, perSecond: 100))
    #expect(budget.known == .init(burst: 200, perSecond: 100))
    #expect(budget.worked == .init(burst: 60, perSecond: 30))
  }

  /// docs/REQUESTS.md, *Coverage of each form*.
  @Test("Forms of a request are one bit each, a word on the time counts for a minute")
  func requests() {
    #expect(RequestForms.standard.rawValue == 1 && RequestForms.compact.rawValue == 2)
    #expect(RequestForms.bodyOnly.rawValue == 4)
    #expect(GateNonce.seconds == 60)
    let settings = RequestVerifier.Settings()
    #expect(settings.skew == 30 && settings.capacity == 100_000)
  }

  /// docs/REQUESTS.md, *Events*.
  @Test("Events are counted up to 256 and kept for 25 h, with 8 reasons of 80 bytes")
  func events() {
    #expect(EventCounts.most == 256 && EventCounts.retention == 90_000)
    #expect(EventMeter.byteCount == 192)
    #expect(RiskRule.reasonMax == 80 && EventRisk.reasonsMax == 8)
    let levels: [RiskLevel] = [.none, .low, .medium, .high]
    #expect(levels.map(\.rawValue) == [0, 1, 2, 3])
    #expect(KeptJudgement.headByteCount == 49 && KeptJudgement.spanByteCount == 12)
    #expect(ReplayRecord.byteCountMax == 1_024)
    let settings = EventVerifier.Settings()
    #expect(settings.skew == 30 && settings.window == 60 && settings.measuredMax == 255)
    #expect(settings.capacity == 100_000 && settings.retention == 86_400)
  }

  /// docs/REQUESTS.md, *Single use*: 40 bytes for each proof, up to 16.7 million, 2.6 MB at least.
  @Test("A journal has pages of 4,096 bytes, slots of 40, and the numbers that others know")
  func journal() {
    #expect(ReplayJournal.slotSize == 40 && ReplayJournal.slotsStart == 16_384)
    #expect(ReplayJournal.pageSize == 4_096 && ReplayJournal.version == 1)
    #expect(ReplayJournal.magic.0 == 0x7469_4B66_6F6F_7250)
    #expect(ReplayJournal.magic.1 == 0x0A73_7961_6C70_6572)
    #expect(ReplayJournal.State.wordCount == 9)
    #expect(ReplayJournal.Check.none == 0 && ReplayJournal.Check.unfinished == 1)
    let shape = ReplayJournal.Shape()
    #expect(shape.chunk == 65_536 && shape.most == 16_777_216)
    #expect(shape.steps == 64 && shape.patience == 5_000)
  }

  @Test("Stores of used proofs have their numbers")
  func stores() {
    let numbers: [ReplayFile.Number] = [.highest, .written, .gap]
    #expect(numbers.map(\.rawValue) == [1, 2, 4])
    #expect(ReplayFile.strangeSeconds == 5 && SQLiteReplayStore.silenceMax == 60)
    #expect(IssueLedgerFile.recordByteCount == 64)
  }

  /// docs/REQUESTS.md, *Limits*: addresses from which a token opened in the last day.
  @Test("An address is known for a day after its last token that opened")
  func known() throws {
    var budget = OpeningBudget()
    budget.strangers = .init(burst: 1, perSecond: 0)
    let now: UnixTime = 1_800_000_000
    for (age, isKnown) in [(0, true), (86_400, true), (86_401, false)] as [(Int64, Bool)] {
      let openings = Openings(budget)
      let first = openings.take(for: "192.0.2.1", hasWorked: false, at: now)
      openings.opened(try #require(first), isCharged: false, at: now)
      // Another address uses up the share of all strangers.
      #expect(openings.take(for: "192.0.2.2", hasWorked: false, at: now) != nil)
      let later = openings.take(for: "192.0.2.1", hasWorked: false, at: now + age)
      #expect((later != nil) == isKnown, "\(age)")
    }
  }

  /// docs/SPEC.md, section 10: a step is 34,560,000 seconds.
  @Test("Hardware that is far behind gets 256 orders at most, each a step of 400 days")
  func orders() throws {
    let backend = try Backend()
    let step: Int64 = 34_560_000
    for (steps, count) in [(255, 255), (256, 256), (257, 256)] as [(Int64, Int)] {
      let issuer = MeasurementTokenIssuer(
        backend.issuerKey, for: backend.registry, ledger: backend.ledger,
        clock: .fixed(UnixTime(seconds: 1 + steps * step)), clockStep: nil)
      let orders = try issuer.orderEpochs(for: backend.hardware, from: 1)
      #expect(orders.count == count, "\(steps)")
      let last = try #require(orders.last)
      #expect(try backend.keys.open(last).issued.seconds == 1 + Int64(count) * step)
    }
  }

  /// The head of an SQLite file: bytes 60 to 63 are its version, 68 to 71 the application's id.
  @Test("A store in SQLite has the id “PfRp” and version 1")
  func file() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    do { _ = try ReplayFile(path: path) }
    let bytes = try [UInt8](Data(contentsOf: URL(filePath: path)))
    #expect(bytes[60..<64].elementsEqual([0, 0, 0, 1]))
    #expect(bytes[68..<72].elementsEqual(Array("PfRp".utf8)))
  }
}
