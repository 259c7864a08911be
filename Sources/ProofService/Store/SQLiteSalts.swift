// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

// Spent salts. One connection writes in one transaction at a time, so a use reads all that it judges
// by before it writes.

extension SQLiteStore {
  /// Spends a salt and notes the report's facts, in one step.
  public func use(_ use: SaltUse) throws(StoreError) -> SaltOutcome {
    let result = try writer.run(
      WriteJob(mustLast: true) { (connection) throws(StoreError) in
        .outcome(try Self.use(use, connection))
      })
    return Self.outcome(result)
  }

  /// Spends a salt, and tells the outcome when it is on the disk.
  public func use(
    _ use: SaltUse, _ done: @escaping @Sendable (Result<SaltOutcome, StoreError>) -> Void
  ) {
    let job = WriteJob(
      mustLast: true,
      { (connection) throws(StoreError) in .outcome(try Self.use(use, connection)) },
      { done($0.map(Self.outcome)) })
    writer.submit(job)
  }

  private static func outcome(_ result: WriteJob.Result) -> SaltOutcome {
    guard case .outcome(let outcome) = result else { preconditionFailure("The job uses a salt.") }
    return outcome
  }

  private static func use(
    _ use: SaltUse, _ connection: SQLiteConnection
  ) throws(StoreError) -> SaltOutcome {
    guard try counter(revisionName, connection) == use.revision else { return .changed }
    let minute = SpentRing.minute(of: use.expiry)
    let slot = SpentRing.slot(of: minute)
    var floor = Int64.max
    var last = Int64.max
    try connection.run(.spentSlot, [.integer(Int64(slot))]) {
      floor = $0.integer(0)
      last = $0.integer(1)
    }
    guard use.expiry > use.time, minute >= floor else { return .stale }
    if let mark = try mark(of: use.salt, by: use.device, in: slot, connection) {
      return mark.outcome(for: use.report)
    }
    var raises = true
    if let sighting = use.sighting {
      let device = try judged(use.device, sighting.gate, connection)
      raises =
        !sighting.mustRaiseGeneration || Int64(sighting.generation) > device.generation
      guard !raises || sighting.version == device.version else { return .changed }
    }
    try connection.run(
      .insert, slot: slot,
      [
        .bytes(use.device.bytes), .bytes(use.salt.bytes),
        .integer(SpentRing.place(of: use.salt)), .bytes(use.report.bytes),
        .bytes(raises ? use.answer : []),
      ])
    if last < minute {
      try connection.run(.raiseLast, [.integer(Int64(slot)), .integer(minute)])
    }
    guard raises else { return .stale }
    if let sighting = use.sighting { try note(sighting, use, connection) }
    return .used
  }

  /// The version of a device's row, and the generation that a use must be above.
  private static func judged(
    _ device: InstanceID, _ gate: GateID?, _ connection: SQLiteConnection
  ) throws(StoreError) -> (version: UInt64, generation: Int64) {
    var version: UInt64 = 0
    var generation: Int64 = 0
    try connection.run(.device, [.bytes(device.bytes)]) { row in
      generation = row.integer(3)
      version = UInt64(bitPattern: row.integer(5))
    }
    if let gate {
      generation = 0
      try connection.run(.line, [.bytes(device.bytes), .bytes(gate.bytes)]) {
        generation = $0.integer(0)
      }
    }
    return (version, generation)
  }

  private static func note(
    _ sighting: DeviceSighting, _ use: SaltUse, _ connection: SQLiteConnection
  ) throws(StoreError) {
    let device = SQLiteValue.bytes(use.device.bytes)
    let generation = SQLiteValue.integer(Int64(sighting.generation))
    let values = [
      device, .integer(use.time), sighting.gate == nil ? generation : .integer(0),
      .bytes(sighting.note),
    ]
    // A statement that may set the hour writes its index, also if the hour stays.
    if try connection.run(.sightAgain, values) == 0 { try connection.run(.sight, values) }
    if let gate = sighting.gate {
      try connection.run(.raiseLine, [device, .bytes(gate.bytes), generation])
    }
    let key = SQLiteValue.bytes(Array(use.device.description.utf8))
    switch sighting.strings {
    case .none: break
    case .put(let row):
      try connection.run(.putRow, [StoreTable.deviceString.sqlite, key, .bytes(row)])
    case .remove: try connection.run(.removeRow, [StoreTable.deviceString.sqlite, key])
    }
  }

  private static func mark(
    of salt: Salt, by device: InstanceID, in slot: Int, _ connection: SQLiteConnection
  ) throws(StoreError) -> SpentMark? {
    var mark: SpentMark?
    var isDamaged = false
    try connection.run(
      .find, slot: slot,
      [.bytes(device.bytes), .bytes(salt.bytes), .integer(SpentRing.place(of: salt))]
    ) { row in
      guard let report = try? Digest(row.bytes(0)) else {
        isDamaged = true
        return
      }
      mark = SpentMark(report, answer: row.bytes(1))
    }
    if isDamaged { throw .damaged(path: connection.path, detail: "a digest that is none") }
    return mark
  }

  /// Drops all marks of slots whose last mark expired.
  @discardableResult
  public func dropMarks(expiredBefore time: Int64) throws(StoreError) -> Int {
    let result = try writer.run(
      WriteJob(mustLast: false) { (connection) throws(StoreError) in
        var slots: [Int64] = []
        try connection.run(.deadSlots, [.integer(SpentRing.minute(of: time))]) {
          slots.append($0.integer(0))
        }
        guard !slots.isEmpty else { return .count(0) }
        // Overwriting what is deleted would write each page of the table. Marks hold digests and
        // sealed answers, so their pages are freed as they are.
        try connection.execute("PRAGMA secure_delete = OFF")
        defer { _ = try? connection.execute("PRAGMA secure_delete = ON") }
        for slot in slots {
          try connection.run(.raiseFloor, [.integer(slot)])
          try connection.run(.clear, slot: Int(slot))
        }
        return .count(UInt64(slots.count))
      })
    guard case .count(let count) = result else { preconditionFailure("The job counts.") }
    return Int(count)
  }
}
