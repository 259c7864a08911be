// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The service's own store: one SQLite file, in WAL mode, that several processes may share.
///
/// One connection writes, and threads that write at the same time share a transaction
/// (`WriteQueue`). Other connections read, so that no reader waits for the disk. Data that the
/// protocol promises to survive a power cut is committed with `synchronous` FULL. Only
/// ``Store/dropMarks(expiredBefore:)``, which promises less, uses NORMAL.
public final class SQLiteStore: Store {
  /// Connections that read what requests need, one for each thread that reads at a time, as far as there are processors.
  private let readers: SQLiteReaders
  /// A reader for queries over all devices. They take long, and no request waits for them.
  private let surveyor: CoreLock<SQLiteConnection>
  let writer: WriteQueue
  let path: String

  /// Opens a store.
  ///
  /// - Parameters:
  ///   - path: The file's path.
  ///   - patience: The most milliseconds to wait for another process's lock.
  /// - Throws: ``StoreError/missing(path:)``, ``StoreError/foreign(path:)``,
  ///   ``StoreError/damaged(path:detail:)``, ``StoreError/tooNew(path:version:known:)``.
  public init(at path: String, patience: Int32 = 5_000) throws(StoreError) {
    guard SQLiteFile.size(of: path) != nil else { throw .missing(path: path) }
    let connection = try SQLiteConnection(path: path, patience: patience)
    let application = try connection.number("PRAGMA application_id")
    guard application != SQLiteMove.movedID else {
      throw .moved(path: path, to: try SQLiteMove(path).mark()?.place ?? "another store")
    }
    guard application == SQLiteStatement.applicationID else { throw .foreign(path: path) }
    let version = try connection.number("PRAGMA user_version")
    guard version <= SQLiteStatement.schemaVersion else {
      throw .tooNew(path: path, version: Int(version), known: Int(SQLiteStatement.schemaVersion))
    }
    try Self.check(connection)
    try connection.execute(
      """
      PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;
      PRAGMA cache_size = -\(Self.writerCacheKiB);
      """)
    if version < SQLiteStatement.schemaVersion { try Self.migrate(connection) }
    self.path = path
    writer = WriteQueue(connection)
    readers = try SQLiteReaders(path: path, patience: patience)
    surveyor = CoreLock(try SQLiteConnection(path: path, patience: patience))
  }

  /// The cache of the connection that writes. Others read anew after each commit.
  static let writerCacheKiB = 8_192

  /// The most pages that are checked at the start, so that a start takes no longer the more devices
  /// there are. Damage beyond is found when it is read.
  static let checkedPagesMax: Int64 = 2_048

  private static func check(_ connection: SQLiteConnection) throws(StoreError) {
    // Refuse a file that is shorter than its header says, whatever its size.
    guard try connection.number("PRAGMA page_count") <= checkedPagesMax else { return }
    let findings = try connection.text("PRAGMA quick_check(1)")
    guard findings == "ok" else { throw .damaged(path: connection.path, detail: findings) }
  }

  /// Brings the schema of an earlier version up to this program's, in one transaction.
  private static func migrate(_ connection: SQLiteConnection) throws(StoreError) {
    try connection.execute("BEGIN EXCLUSIVE")
    do throws(StoreError) {
      // Another process may have done it since the version was read.
      let version = Int(try connection.number("PRAGMA user_version"))
      guard version >= 1 else {
        throw .damaged(path: connection.path, detail: "schema version \(version)")
      }
      for step in SQLiteStatement.migrations.dropFirst(version - 1) { try connection.execute(step) }
      try connection.execute("PRAGMA user_version = \(SQLiteStatement.schemaVersion); COMMIT")
    } catch {
      if connection.isInTransaction { _ = try? connection.run(.rollBack) }
      throw error
    }
  }

  /// Makes a store at a path that has none.
  ///
  /// - Parameter path: The path of the new file. Only this user may read it.
  /// - Throws: ``StoreError/failed(path:detail:)``, also if there is a file.
  public convenience init(creatingAt path: String) throws(StoreError) {
    // A power cut during this function leaves an empty file.
    if SQLiteFile.size(of: path) != 0 {
      try SQLiteFile.make(path)
    } else if !SQLiteFile.isPrivate(path) {
      throw .failed(path: path, detail: "an empty file is there that others may read or write")
    }
    let connection = try SQLiteConnection(path: path, patience: 5_000)
    guard try connection.text("PRAGMA journal_mode = WAL") == "wal" else {
      throw .failed(path: path, detail: "the file system cannot do what WAL needs")
    }
    try connection.execute(
      """
      PRAGMA synchronous = FULL;
      BEGIN EXCLUSIVE;
      \(SQLiteStatement.schema)
      PRAGMA application_id = \(SQLiteStatement.applicationID);
      PRAGMA user_version = \(SQLiteStatement.schemaVersion);
      COMMIT;
      """)
    try self.init(at: path)
  }

  /// One row, or nil.
  public func row(_ key: String, of table: StoreTable) throws(StoreError) -> [UInt8]? {
    try read { (connection) throws(StoreError) in
      var value: [UInt8]?
      try connection.run(.row, [table.sqlite, .bytes(Array(key.utf8))]) { value = $0.bytes(0) }
      return value
    }
  }

  /// All rows of a table, in the order of their keys' bytes.
  public func rows(of table: StoreTable) throws(StoreError) -> [StoreRow] {
    try read { (connection) throws(StoreError) in
      var rows: [StoreRow] = []
      try connection.run(.rows, [table.sqlite]) { row in
        rows.append(StoreRow(String(decoding: row.bytes(0), as: UTF8.self), row.bytes(1)))
      }
      return rows
    }
  }

  /// Makes all changes or none.
  public func apply(_ changes: [StoreChange]) throws(StoreError) {
    _ = try writer.run(
      WriteJob(mustLast: true, mayBeRefused: true) { (connection) throws(StoreError) in
        for change in changes { try Self.apply(change, connection) }
        if changes.countsForRevision {
          try connection.run(.advance, [Self.revisionName, .integer(1)])
        }
        return .done
      })
  }

  private static func apply(
    _ change: StoreChange, _ connection: SQLiteConnection
  ) throws(StoreError) {
    switch change {
    case .insert(let table, let key, let value):
      let count = try connection.run(
        .insertRow, [table.sqlite, .bytes(Array(key.utf8)), .bytes(value)])
      guard count == 1 else { throw .alreadyThere(table: table, key: key) }
    case .put(let table, let key, let value):
      try connection.run(.putRow, [table.sqlite, .bytes(Array(key.utf8)), .bytes(value)])
    case .expect(let table, let key, let value):
      var present: [UInt8]?
      try connection.run(.row, [table.sqlite, .bytes(Array(key.utf8))]) { present = $0.bytes(0) }
      guard present == value else { throw .changedMeanwhile(table: table, key: key) }
    case .remove(let table, let key):
      try connection.run(.removeRow, [table.sqlite, .bytes(Array(key.utf8))])
    }
  }

  /// Grows with each change.
  public func revision() throws(StoreError) -> UInt64 {
    try read { (connection) throws(StoreError) in
      try Self.counter(Self.revisionName, connection)
    }
  }

  /// Adds to a counter, and returns its earlier value.
  public func advance(_ counter: String, by count: UInt64) throws(StoreError) -> UInt64 {
    let name = SQLiteValue.bytes(Array("counter.\(counter)".utf8))
    let result = try writer.run(
      WriteJob(mustLast: true) { (connection) throws(StoreError) in
        let before = try Self.counter(name, connection)
        try connection.run(.advance, [name, .integer(Int64(bitPattern: count))])
        return .count(before)
      })
    guard case .count(let before) = result else { preconditionFailure("The job counts.") }
    return before
  }

  /// Forgets devices not seen for long.
  public func dropDevices(
    lastSeenBefore time: UnixTime, atMost count: Int
  ) throws(StoreError) -> Int {
    let path = path
    let result = try writer.run(
      WriteJob(mustLast: true) { (connection) throws(StoreError) in
        let rows = try Self.devices(
          .eldestDevices, [.integer(time.seconds), .integer(Int64(count))], connection, path: path)
        var line: Int64 = 0
        for row in rows {
          try connection.run(.linesOfDevice, [.bytes(row.device.bytes)]) {
            line = max(line, $0.integer(0))
          }
          try connection.run(.dropLines, [.bytes(row.device.bytes)])
          try connection.run(.dropDevice, [.bytes(row.device.bytes)])
          try connection.run(
            .removeRow,
            [StoreTable.deviceString.sqlite, .bytes(Array(row.device.description.utf8))])
        }
        if let floor = rows.map(\.generation).max(), floor > 0 {
          try connection.run(.raise, [Self.generationFloorName, .integer(Int64(floor))])
        }
        if line > 0 { try connection.run(.raise, [Self.gateFloorName, .integer(line)]) }
        return .count(UInt64(rows.count))
      })
    guard case .count(let count) = result else { preconditionFailure("The job counts.") }
    return Int(count)
  }

  /// The highest generation of a device that was dropped.
  public func generationFloor() throws(StoreError) -> UInt32 {
    try floor(Self.generationFloorName)
  }

  /// The highest generation, at any gate, of a device that was dropped.
  public func gateGenerationFloor() throws(StoreError) -> UInt32 { try floor(Self.gateFloorName) }

  private func floor(_ name: SQLiteValue) throws(StoreError) -> UInt32 {
    let floor = try read { (connection) throws(StoreError) in
      try Self.counter(name, connection)
    }
    guard let floor = UInt32(exactly: floor) else {
      throw .damaged(path: path, detail: "a generation that is none")
    }
    return floor
  }

  /// The highest generation of a device's own line at a gate.
  public func generation(of device: InstanceID, at gate: GateID) throws(StoreError) -> UInt32? {
    let line = try read { (connection) throws(StoreError) in
      var line: Int64?
      try connection.run(.line, [.bytes(device.bytes), .bytes(gate.bytes)]) {
        line = $0.integer(0)
      }
      return line
    }
    guard let line else { return nil }
    guard let generation = UInt32(exactly: line) else {
      throw .damaged(path: path, detail: "a generation that is none")
    }
    return generation
  }

  /// The row of a device.
  public func device(_ id: InstanceID) throws(StoreError) -> DeviceRow? {
    let path = path
    return try read { (connection) throws(StoreError) in
      try Self.devices(.device, [.bytes(id.bytes)], connection, path: path)
    }.first
  }

  /// Reads the revision, the row of a device and the mark of a salt by one statement, and so at one
  /// time.
  public func glance(
    at id: InstanceID, and salt: SaltPlace?
  ) throws(StoreError) -> StoreGlance {
    let path = path
    return try read { (connection) throws(StoreError) in
      var seen = StoreGlance(revision: 0, device: nil)
      var isDamaged = false
      let values = [Self.revisionName, .bytes(id.bytes)]
      func take(_ row: borrowing SQLiteConnection.Row) {
        let device = Self.device(row, from: 1)
        let report = salt == nil ? [] : row.bytes(7)
        let mark = (try? Digest(report)).map { SpentMark($0, answer: row.bytes(8)) }
        isDamaged = !row.bytes(1).isEmpty && device == nil || !report.isEmpty && mark == nil
        seen = StoreGlance(
          revision: UInt64(bitPattern: row.integer(0)), device: device, mark: mark)
      }
      if let salt {
        let place = SpentRing.place(of: salt.salt)
        try connection.run(
          .glance, slot: salt.slot, values + [.bytes(salt.salt.bytes), .integer(place)], each: take)
      } else {
        try connection.run(.glance, values, each: take)
      }
      if isDamaged { throw Self.damage(path) }
      return seen
    }
  }

  /// The devices seen last, the latest first.
  public func devices(latest count: Int) throws(StoreError) -> [DeviceRow] {
    let path = path
    return try surveyor.withLock { (connection) throws(StoreError) in
      try Self.devices(.latestDevices, [.integer(Int64(count))], connection, path: path)
    }
  }

  /// The number of devices.
  public func counts() throws(StoreError) -> StoreCounts {
    try surveyor.withLock { (connection) throws(StoreError) in
      var counts = StoreCounts(devices: 0)
      try connection.run(.countDevices) { counts.devices = Int($0.integer(0)) }
      return counts
    }
  }

  private static func devices(
    _ statement: SQLiteStatement, _ values: [SQLiteValue], _ connection: SQLiteConnection,
    path: String
  ) throws(StoreError) -> [DeviceRow] {
    var rows: [DeviceRow] = []
    var isDamaged = false
    try connection.run(statement, values) { row in
      if let device = Self.device(row) { rows.append(device) } else { isDamaged = true }
    }
    if isDamaged { throw damage(path) }
    return rows
  }

  /// The device in a row's columns; nil if they hold none.
  private static func device(
    _ row: borrowing SQLiteConnection.Row, from first: Int32 = 0
  ) -> DeviceRow? {
    guard let device = try? InstanceID(row.bytes(first)),
      let generation = UInt32(exactly: row.integer(first + 3))
    else { return nil }
    return DeviceRow(
      device: device, firstSeen: UnixTime(seconds: row.integer(first + 1)),
      lastSeen: UnixTime(seconds: row.integer(first + 2)), generation: generation,
      note: row.bytes(first + 4),
      version: UInt64(bitPattern: row.integer(first + 5)))
  }

  private static func damage(_ path: String) -> StoreError {
    .damaged(path: path, detail: "a device or a mark that is none")
  }

  /// The number of transactions that were begun, and of those that wait for the disk: for tests.
  var transactions: (all: Int, lasting: Int) {
    let counts = writer.counts
    return (counts.transactions, counts.lasting)
  }

  private static let generationFloorName = SQLiteValue.bytes(Array("generation floor".utf8))
  private static let gateFloorName = SQLiteValue.bytes(Array("gate generation floor".utf8))
  static let revisionName = SQLiteValue.bytes(Array("revision".utf8))

  static func counter(
    _ name: SQLiteValue, _ connection: SQLiteConnection
  ) throws(StoreError) -> UInt64 {
    var value: Int64 = 0
    try connection.run(.counter, [name]) { value = $0.integer(0) }
    return UInt64(bitPattern: value)
  }

  func read<R: Sendable>(
    _ body: (SQLiteConnection) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try readers.lend(body)
  }
}

extension StoreTable {
  var sqlite: SQLiteValue { .integer(Int64(rawValue)) }
}
