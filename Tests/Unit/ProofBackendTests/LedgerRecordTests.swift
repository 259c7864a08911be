// SPDX-License-Identifier: Apache-2.0

import FolderModel
import ProofModel
import Testing

@testable import ProofBackend

/// The bytes of a ledger by docs/BACKEND.md, and the words about damage.
@Suite("IssueLedgerFile, bytes")
struct LedgerRecordTests {
  private static let instance = [UInt8](1...16)
  private static let hardware = [UInt8](21...36)

  private func pair() throws -> IssuePair {
    try IssuePair(InstanceID(Self.instance), at: HardwareID(Self.hardware))
  }

  private func checked(_ label: String, _ body: [UInt8]) -> [UInt8] {
    body + Digest(hashing: Array(label.utf8) + body).bytes.prefix(16)
  }

  private func record(
    _ event: UInt8 = 1, suite: UInt8 = 0, offset: [UInt8] = [0, 0],
    generation: [UInt8] = [5, 0, 0, 0], time: [UInt8] = [9, 0, 0, 0, 0, 0, 0, 0],
    instance: [UInt8] = instance, hardware: [UInt8] = hardware
  ) -> [UInt8] {
    checked(
      "pfb2.ledger.....", instance + hardware + [event, suite] + offset + generation + time)
  }

  private func count(_ number: UInt8) -> [UInt8] {
    checked("pfb2.ledgercount", [number, 0, 0, 0, 0, 0, 0, 0])
  }

  private func folder(_ records: [[UInt8]], counted: UInt8? = nil) -> ModelFolder {
    ModelFolder(holding: [
      "issued": records.flatMap(\.self), "issued.count": count(counted ?? UInt8(records.count)),
    ])
  }

  @Test("Records and count have the layout of the page")
  func layout() throws {
    let folder = ModelFolder()
    let ledger = try IssueLedgerFile(folder)
    try ledger.noteIssue(
      of: 0x0403_0201, base: 0x0403_0100, to: pair(), by: .one, at: 0x0807_0605)
    try ledger.noteIssue(of: 0x0403_0201, base: 0x0403_0201, to: pair(), by: .two, at: 1)
    try ledger.noteRevocation(through: .max, of: pair(), at: 2)
    let generation: [UInt8] = [1, 2, 3, 4]
    let records = [
      record(1, offset: [1, 1], generation: generation, time: [5, 6, 7, 8, 0, 0, 0, 0]),
      record(1, suite: 2, generation: generation, time: [1, 0, 0, 0, 0, 0, 0, 0]),
      record(
        2, generation: [255, 255, 255, 255], time: [2, 0, 0, 0, 0, 0, 0, 0]),
    ]
    #expect(
      folder.contents == ["issued": records.flatMap(\.self), "issued.count": count(3)])
  }

  @Test("A record that another program made is read field by field")
  func read() throws {
    let ledger = try IssueLedgerFile(
      folder([record(offset: [2, 0]), record(2, generation: [1, 0, 0, 0])]))
    let note = try #require(try ledger.notes().first)
    #expect(try note.pair == pair() && note.issued == 3 && note.revokedThrough == 1)
    #expect(!note.isSealedWithSecret)
    #expect(try ledger.latestTime() == 9)
    // A base below 0 is 0.
    let low = try IssueLedgerFile(folder([record(offset: [6, 0])]))
    #expect(try low.notes().map(\.issued) == [0])
    let sealed = try IssueLedgerFile(folder([record(suite: 2)]))
    #expect(try sealed.notes().map(\.isSealedWithSecret) == [true])
  }

  private func reason(_ folder: ModelFolder) -> String? {
    do throws(BackendError) {
      _ = try IssueLedgerFile(folder)
      return nil
    } catch {
      guard case .damaged(let path, let reason) = error, path == "model/issued" else { return "" }
      return reason
    }
  }

  @Test("A record under a right check has a known event, suite and ids, or stops the ledger")
  func contents() {
    let zeros = [UInt8](repeating: 0, count: 16)
    #expect(reason(folder([record(1), record(2), record(suite: 2)])) == nil)
    for bad in [
      record(0), record(3), record(suite: 1), record(suite: 3), record(instance: zeros),
      record(hardware: zeros),
    ] {
      #expect(reason(folder([bad])) == "record 1 of 1 was changed")
      #expect(reason(folder([record(), bad, record()])) == "record 2 of 3 was changed")
    }
    // One byte that is not zero makes an id.
    let first = [1] + zeros.dropLast()
    let last = zeros.dropLast() + [1]
    for id in [first, Array(last)] {
      #expect(reason(folder([record(instance: id), record(hardware: id)])) == nil)
    }
  }

  @Test("The words about damage have the numbers of records, and name the file")
  func words() throws {
    let one = record()
    #expect(reason(folder([one], counted: 2)) == "there are 1 records, and 2 were counted")
    #expect(
      reason(folder([one, one, one], counted: 1)) == "there are 3 records, and 1 were counted")
    #expect(reason(folder([one, one], counted: 1)) == nil)
    #expect(reason(folder([one], counted: 0)) == nil)
    #expect(
      reason(ModelFolder(holding: ["issued": one]))
        == "issued.count is missing: restore both files from one backup")
    for bytes in [[], Array(count(1).dropLast()), count(1) + [0], [9] + count(1).dropFirst()] {
      #expect(
        reason(ModelFolder(holding: ["issued": one, "issued.count": bytes]))
          == "issued.count was changed")
    }
    #expect(reason(ModelFolder(holding: ["issued.count": count(0)])) == nil)
  }

  @Test("A running ledger tells which record is not the one that it read")
  func replaced() throws {
    let folder = folder([record(), record()])
    let ledger = try IssueLedgerFile(folder)
    let other = record(generation: [6, 0, 0, 0])
    folder.put(["issued": record() + other, "issued.count": count(2)])
    #expect(
      throws: BackendError.damaged(
        path: "model/issued", reason: "record 2 is not the one that was read before")
    ) { try ledger.latestTime() }
    // The first record is not read again: a restart finds what was changed there.
    folder.put(["issued": other + record(), "issued.count": count(2)])
    #expect(try ledger.latestTime() == 9)
    folder.put(["issued": record() + record() + other, "issued.count": count(3)])
    #expect(try ledger.notes().map(\.issued) == [6])
  }

  @Test("A step that notes nothing writes nothing, and the latest of two times is kept")
  func quiet() throws {
    let folder = ModelFolder()
    let ledger = try IssueLedgerFile(folder)
    #expect(try ledger.latestTime() == nil && ledger.notes().isEmpty)
    #expect(throws: BackendError.superseded(issued: 6, offered: 5)) {
      try ledger.noteIssue(of: 5, base: 6, to: pair(), by: .one, at: 1)
    }
    let before = folder.contents
    #expect(throws: BackendError.revokedInstance(try pair().instance, through: 0)) {
      try ledger.noteIssue(of: 0, base: 0, to: pair(), by: .one, at: 1)
    }
    #expect(folder.contents == before && (before["issued"] ?? []).isEmpty)
    for (time, latest) in [(7, 7), (3, 7), (8, 8)] as [(UnixTime, UnixTime)] {
      try ledger.noteRevocation(through: 1, of: pair(), at: time)
      #expect(try ledger.latestTime() == latest)
    }
  }
}
