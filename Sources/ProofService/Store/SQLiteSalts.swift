// SPDX-License-Identifier: Apache-2.0

public import ProofModel

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
    let minute = SpentRing.minute(of: use.expiry)
    let slot = SpentRing.slot(of: minute)
    let facts = try UseFacts(use, in: slot, connection)
    guard facts.revision == use.revision else { return .changed }
    guard use.expiry > use.time, minute >= facts.floor else { return .stale }
    if let mark = facts.mark { return mark.outcome(for: use.report) }
    var raises = true
    if let sighting = use.sighting {
      let generation =
        if let gate = sighting.gate { try line(use.device, gate, connection) } else {
          facts.generation
        }
      raises = !sighting.mustRaiseGeneration || Int64(sighting.generation) > generation
      guard !raises || sighting.version == facts.version else { return .changed }
    }
    try connection.run(
      .insert, slot: slot,
      [
        .bytes(use.device.bytes), .bytes(use.salt.bytes),
        .integer(SpentRing.place(of: use.salt)), .bytes(use.report.bytes),
        .bytes(raises ? use.answer : []),
      ])
    if facts.last < minute {
      try connection.run(.raiseLast, [.integer(Int64(slot)), .integer(minute)])
    }
    guard raises else { return .stale }
    if let sighting = use.sighting { try note(sighting, use, connection) }
    return .used
  }

  /// The generation of a device's line at a gate.
  private static func line(
    _ device: InstanceID, _ gate: GateID, _ connection: SQLiteConnection
  ) throws(StoreError) -> Int64 {
    var generation: Int64 = 0
    try connection.run(.line, [.bytes(device.bytes), .bytes(gate.bytes)]) {
      generation = $0.integer(0)
    }
    return generation
  }

  private static func note(
    _ sighting: DeviceSighting, _ use: SaltUse, _ connection: SQLiteConnection
  ) throws(StoreError) {
    let device = SQLiteValue.bytes(use.device.bytes)
    let generation = SQLiteValue.integer(Int64(sighting.generation))
    let values = [
      device, .integer(use.time.seconds), sighting.gate == nil ? generation : .integer(0),
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

  /// Drops all marks of slots whose last mark expired.
  @discardableResult
  public func dropMarks(expiredBefore time: UnixTime) throws(StoreError) -> Int {
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

/// All that a use of a salt is judged by, read in one statement.
private struct UseFacts {
  private(set) var revision: UInt64 = 0
  /// The lowest minute that the slot takes, and its highest. Without a row it takes none.
  private(set) var floor = Int64.max
  private(set) var last = Int64.max
  private(set) var mark: SpentMark?
  /// The version and the generation of the device's row; 0 for an unknown one.
  private(set) var version: UInt64 = 0
  private(set) var generation: Int64 = 0

  init(_ use: SaltUse, in slot: Int, _ connection: SQLiteConnection) throws(StoreError) {
    var isDamaged = false
    try connection.run(
      .facts, slot: slot,
      [
        SQLiteStore.revisionName, .bytes(use.device.bytes), .bytes(use.salt.bytes),
        .integer(SpentRing.place(of: use.salt)),
      ]
    ) { row in
      revision = UInt64(bitPattern: row.integer(0))
      floor = row.integer(1)
      last = row.integer(2)
      if row.integer(3) == 1 {
        if let report = try? Digest(row.bytes(4)) {
          mark = SpentMark(report, answer: row.bytes(5))
        } else {
          isDamaged = true
        }
      }
      version = UInt64(bitPattern: row.integer(6))
      generation = row.integer(7)
    }
    if isDamaged { throw .damaged(path: connection.path, detail: "a digest that is none") }
  }
}
