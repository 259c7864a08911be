// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// Rows of a store's file that no version writes: each reading tells the damage, and takes no other
/// value in its place.
@Suite struct StoreDamageTests {
  private let place = Workplace()
  private var path: String { place.path(of: "store") }
  private let device = try! InstanceID([UInt8](repeating: 3, count: 16))
  private let gate = try! GateID([UInt8](repeating: 4, count: 16))
  private let salt = try! Salt([UInt8](repeating: 5, count: 16))
  private let expiry: UnixTime = 1_800_000_060

  /// A store with one device, one line at a gate, and one mark.
  private func store() throws -> SQLiteStore {
    let store = try SQLiteStore(creatingAt: path)
    #expect(try use(store, DeviceSighting(over: 0, generation: 7, gate: gate, note: [1])) == .used)
    return store
  }

  private func use(
    _ store: SQLiteStore, _ sighting: DeviceSighting? = nil
  ) throws -> SaltOutcome {
    try store.use(
      SaltUse(
        of: salt, by: device, expiring: expiry, at: expiry - 60, report: Digest(hashing: [1]),
        answer: [9], revision: store.revision(), sighting: sighting))
  }

  private func change(_ statement: String) throws {
    try SQLiteConnection(path: path, patience: 1_000).execute(statement)
  }

  private func damage<R>(_ detail: String, _ body: () throws -> R) {
    #expect(throws: StoreError.damaged(path: path, detail: detail)) { _ = try body() }
  }

  @Test func `a device whose generation is none is told by each reading of it`() throws {
    let store = try store()
    let detail = "a device or a mark that is none"
    for generation in ["-1", "4294967296"] {
      try change("UPDATE device SET generation = \(generation)")
      damage(detail) { try store.device(device) }
      damage(detail) { try store.glance(at: device, and: nil) }
      damage(detail) { try store.devices(latest: 1) }
      damage(detail) { try store.dropDevices(lastSeenBefore: .last, atMost: 1) }
      #expect(try store.counts().devices == 1)
    }
    try change("UPDATE device SET generation = 4294967295")
    #expect(try store.device(device)?.generation == .max)
    #expect(try store.glance(at: device, and: nil).device?.generation == .max)
  }

  @Test func `a line and a floor whose generation is none are told`() throws {
    let store = try store()
    let detail = "a generation that is none"
    #expect(try store.generation(of: device, at: gate) == 7)
    #expect(try store.generationFloor() == 0 && store.gateGenerationFloor() == 0)
    for generation in ["-1", "4294967296"] {
      try change("UPDATE gate_line SET generation = \(generation)")
      damage(detail) { try store.generation(of: device, at: gate) }
      for name in ["generation floor", "gate generation floor"] {
        try change(
          "INSERT OR REPLACE INTO counter VALUES (CAST('\(name)' AS BLOB), \(generation))")
      }
      damage(detail) { try store.generationFloor() }
      damage(detail) { try store.gateGenerationFloor() }
    }
    for (name, value) in [("generation floor", 5), ("gate generation floor", 6)] {
      try change("INSERT OR REPLACE INTO counter VALUES (CAST('\(name)' AS BLOB), \(value))")
    }
    #expect(try store.generationFloor() == 5 && store.gateGenerationFloor() == 6)
  }

  @Test func `a mark whose digest is none is told, and gives no answer`() throws {
    let store = try store()
    let spent = SaltPlace(salt, expiring: expiry)
    #expect(try use(store) == .again([9]))
    #expect(try store.glance(at: device, and: spent).mark?.answer == [9])
    for report in ["x'01'", "zeroblob(31)", "zeroblob(33)"] {
      try change("UPDATE spent_\(spent.slot) SET report = \(report)")
      damage("a digest that is none") { try use(store) }
      damage("a device or a mark that is none") { try store.glance(at: device, and: spent) }
      #expect(try store.glance(at: device, and: nil).device?.note == [1])
    }
    // A slot that lost its row takes no salt.
    try change("UPDATE spent_\(spent.slot) SET report = zeroblob(32)")
    #expect(try use(store) == .stale, "another report's mark")
    try change("DELETE FROM spent_ring WHERE slot = \(spent.slot)")
    #expect(try use(store) == .stale)
  }

  @Test func `a file of no version, a later one, or another program is told before it is used`()
    throws
  {
    _ = try store()
    func opened(_ pragma: String) throws {
      try change(pragma)
      _ = try SQLiteStore(at: path)
    }
    for version in [0, -1] {
      damage("schema version \(version)") { try opened("PRAGMA user_version = \(version)") }
    }
    #expect(throws: StoreError.tooNew(path: path, version: 4, known: 3)) {
      try opened("PRAGMA user_version = 4")
    }
    try opened("PRAGMA user_version = 3")
    #expect(throws: StoreError.foreign(path: path)) { try opened("PRAGMA application_id = 1") }
    try opened("PRAGMA application_id = \(0x5066_5374)")
    #expect(throws: StoreError.missing(path: place.path(of: "none"))) {
      try SQLiteStore(at: place.path(of: "none"))
    }
  }

  // MARK: Records

  @Test func `records of an update are 1 to 4,096, in base64url and in their order`() throws {
    func text(_ count: Int) throws -> String {
      let records = try (0..<count).map {
        try EvidenceRecord(SourceID(.app, 1), name: "\($0)", digest: nil)
      }
      return Base64.encode(try EvidenceSet(records).recordBytes, .url)
    }
    for count in [1, 4_096] {
      #expect(try Prediction.records(text(count)).records.count == count)
    }
    for text in [try text(0), try text(4_097), "", "?", try text(1) + "AAAA"] {
      #expect(
        throws: ServiceError.invalid(
          "records", value: "\(text.utf8.count) characters",
          allowed: "1 to 4096 records in base64url, in their order")
      ) { try Prediction.records(text) }
    }
  }
}
