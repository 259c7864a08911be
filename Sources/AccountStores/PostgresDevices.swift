// SPDX-License-Identifier: Apache-2.0

internal import PostgresStore
package import ProofModel
package import ProofService

// Spent salts and devices.

extension PostgresAccountStore {
  /// Spends a salt and notes the report's facts, in one step. The salt must be unexpired by the
  /// database's clock, too.
  package func use(_ use: SaltUse) throws(StoreError) -> SaltOutcome {
    // The schema keeps times as 32 bits.
    guard let expiry = Int32(exactly: use.expiry.seconds) else { return .stale }
    var challenge = ChallengeUse(
      account: account, expiry: expiry, time: Int64(Int32(clamping: use.time.seconds)),
      salt: use.salt.bytes, device: use.device.bytes, note: use.sighting?.note,
      digest: use.report.bytes, answer: use.answer, revision: Int64(bitPattern: use.revision))
    if let sighting = use.sighting {
      challenge.version = Int64(bitPattern: sighting.version)
      challenge.generation = Int64(sighting.generation)
      challenge.mustRaise = sighting.mustRaiseGeneration
      challenge.gate = sighting.gate?.bytes
      let key = Array(use.device.description.utf8)
      switch sighting.strings {
      case .none: break
      case .put(let row): challenge.strings = .init(key: key, value: row)
      case .remove: challenge.strings = .init(key: key, value: nil)
      }
    }
    let outcome = try stored { () throws(PostgresError) in try spend(challenge) }
    switch outcome {
    case .used: return .used
    case .again(let answer): return answer.isEmpty ? .stale : .again(answer)
    case .stale: return .stale
    case .changed: return .changed
    }
  }

  /// The database's time.
  package func sharedTime() throws(StoreError) -> UnixTime? {
    try stored { () throws(PostgresError) in
      UnixTime(seconds: try time().integer(0, 0))
    }
  }

  /// Drops all marks of slots whose last mark expired.
  @discardableResult
  package func dropMarks(expiredBefore time: UnixTime) throws(StoreError) -> Int {
    try stored { () throws(PostgresError) in
      // The ring has the marks of all accounts.
      let minute = PostgresValue.int8(SpentRing.minute(of: time))
      return try Int(survey(PostgresCall(.dropMarks, [minute])).integer(0, 0))
    }
  }

  /// Forgets devices not seen for long. Devices that a report holds stay until the next call.
  package func dropDevices(
    lastSeenBefore time: UnixTime, atMost count: Int
  ) throws(StoreError) -> Int {
    try stored { () throws(PostgresError) in
      let values: [PostgresValue] = [.int4(account), .int8(time.seconds), .int8(Int64(count))]
      defer { seenFloor.withLock { $0 = nil } }
      return try Int(survey(PostgresCall(.dropDevices, values)).integer(0, 0))
    }
  }

  /// The highest generation of a device that was dropped.
  ///
  /// A glance that finds no device brings it along. The answer is then that of the glance, or of a
  /// later one: it is not below the generation of the device that the glance missed.
  package func generationFloor() throws(StoreError) -> UInt32 {
    if let seen = seenFloor.withLock({ $0 }) { return seen }
    return try floor("generation floor")
  }

  /// The highest generation, at any gate, of a device that was dropped.
  package func gateGenerationFloor() throws(StoreError) -> UInt32 {
    try floor("gate generation floor")
  }

  private func floor(_ name: String) throws(StoreError) -> UInt32 {
    try stored { () throws(PostgresError) in
      try Self.generation(run(.counter, [.bytea(Array(name.utf8))]), 0, 0)
    }
  }

  /// The highest generation of a device's own line at a gate.
  package func generation(
    of device: InstanceID, at gate: GateID
  ) throws(StoreError) -> UInt32? {
    try stored { () throws(PostgresError) in
      let rows = try run(.line, [.bytea(device.bytes), .bytea(gate.bytes)])
      guard try rows.optionalBytes(0, 0) != nil else { return nil }
      return try Self.generation(rows, 0, 0)
    }
  }

  private static func generation(
    _ rows: PostgresRows, _ row: Int, _ column: Int
  ) throws(PostgresError) -> UInt32 {
    guard let generation = UInt32(exactly: try rows.integer(row, column)) else {
      throw PostgresError(.mismatch, "a device has a generation that is none")
    }
    return generation
  }

  /// The row of a device.
  package func device(_ id: InstanceID) throws(StoreError) -> DeviceRow? {
    try glance(at: id, and: nil).device
  }

  /// Reads the revision, the row of a device and the mark of a salt in one statement.
  package func glance(
    at id: InstanceID, and salt: SaltPlace?
  ) throws(StoreError) -> StoreGlance {
    try stored { () throws(PostgresError) in
      let values: [PostgresValue] = [
        .bytea(id.bytes), salt.map { .int2(Int16($0.slot)) } ?? .null, .bytea(salt?.salt.bytes),
      ]
      let rows = try run(.see, values, isPresent: true)
      let device = try rows.integer(0, 1) > 0 ? Self.device(id, rows, 0, from: 1) : nil
      if device == nil {
        // It only grows, and readings over several connections end in any order.
        let read = try Self.generation(rows, 0, 6)
        seenFloor.withLock { $0 = max($0 ?? 0, read) }
      }
      return StoreGlance(
        revision: UInt64(bitPattern: try rows.integer(0, 0)), device: device,
        mark: try salt.flatMap { _ throws(PostgresError) in try Self.mark(rows, from: 7) })
    }
  }

  /// Columns: report, answer. Without a report there is no mark.
  private static func mark(
    _ rows: PostgresRows, from column: Int
  ) throws(PostgresError) -> SpentMark? {
    guard let bytes = try rows.optionalBytes(0, column) else { return nil }
    guard let report = try? Digest(bytes) else {
      throw PostgresError(.mismatch, "a mark has a digest that is none")
    }
    return SpentMark(report, answer: try rows.optionalBytes(0, column + 1) ?? [])
  }

  /// The devices seen last, the latest first.
  package func devices(latest count: Int) throws(StoreError) -> [DeviceRow] {
    try stored { () throws(PostgresError) in
      let values: [PostgresValue] = [.int4(account), .int8(Int64(count))]
      return try Self.devices(survey(PostgresCall(.latestDevices, values)), from: 0)
    }
  }

  /// The devices seen last, at a reader.
  package func surveyedDevices(
    latest count: Int
  ) throws(StoreError) -> Surveyed<[DeviceRow]> {
    let found = try stored { () throws(PostgresError) -> Surveyed<[DeviceRow]>? in
      let values: [PostgresValue] = [.int4(account), .int8(Int64(count))]
      guard let rows = try reading(PostgresCall(.surveyDevices, values)) else { return nil }
      return Surveyed(try Self.devices(rows, from: 1), try Self.age(rows))
    }
    if let found { return found }
    return Surveyed(try devices(latest: count), .present)
  }

  /// Columns: device, version, generation, first seen, last seen, note. A row without device is none.
  private static func devices(
    _ rows: PostgresRows, from column: Int
  ) throws(PostgresError) -> [DeviceRow] {
    var devices: [DeviceRow] = []
    for row in 0..<rows.count {
      guard let bytes = try rows.optionalBytes(row, column) else { continue }
      guard let device = try? InstanceID(bytes) else {
        throw PostgresError(.mismatch, "a row has a device that is none")
      }
      devices.append(try Self.device(device, rows, row, from: column + 1))
    }
    return devices
  }

  /// The age of a reading, in the first column of the first row.
  private static func age(_ rows: PostgresRows) throws(PostgresError) -> SurveyAge {
    guard try rows.optionalBytes(0, 0) != nil else { return .unknown }
    return .atMost(seconds: max(0, try rows.integer(0, 0)))
  }

  /// Columns: version, generation, first seen, last seen, note.
  private static func device(
    _ id: InstanceID, _ rows: PostgresRows, _ row: Int, from column: Int
  ) throws(PostgresError) -> DeviceRow {
    DeviceRow(
      device: id, firstSeen: UnixTime(seconds: try rows.integer(row, column + 2)),
      lastSeen: UnixTime(seconds: try rows.integer(row, column + 3)),
      generation: try generation(rows, row, column + 1), note: try rows.bytes(row, column + 4),
      version: UInt64(bitPattern: try rows.integer(row, column)))
  }

  /// The number of devices.
  package func counts() throws(StoreError) -> StoreCounts {
    try stored { () throws(PostgresError) in
      let rows = try survey(PostgresCall(.countDevices, [.int4(account)]))
      return StoreCounts(devices: Int(try rows.integer(0, 0)))
    }
  }

  /// The number of devices, at a reader.
  package func surveyedCounts() throws(StoreError) -> Surveyed<StoreCounts> {
    let found = try stored { () throws(PostgresError) -> Surveyed<StoreCounts>? in
      guard let rows = try reading(PostgresCall(.surveyCounts, [.int4(account)])) else {
        return nil
      }
      return Surveyed(StoreCounts(devices: Int(try rows.integer(0, 1))), try Self.age(rows))
    }
    if let found { return found }
    return Surveyed(try counts(), .present)
  }
}
