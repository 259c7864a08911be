// SPDX-License-Identifier: Apache-2.0

/// An SQLite file that an account leaves.
///
/// The mark is another application id, which every program refuses, and another name for each table,
/// so that statements of a service that still runs fail.
package final class SQLiteMove: MoveSource {
  /// "PfMv": a file whose account was moved.
  static let movedID: Int64 = 0x5066_4D76
  static let pageCount = 256
  private static let prefix = "moved_"
  private static let markTable = "account_moved"

  private let connection: SQLiteConnection
  private let path: String

  package init(_ path: String) throws(StoreError) {
    guard SQLiteFile.size(of: path) != nil else { throw .missing(path: path) }
    connection = try SQLiteConnection(path: path, patience: 5_000)
    self.path = path
    try connection.execute("PRAGMA synchronous = FULL")
    let application = try connection.number("PRAGMA application_id")
    guard [SQLiteStatement.applicationID, Self.movedID].contains(application) else {
      throw .foreign(path: path)
    }
    let version = try connection.number("PRAGMA user_version")
    guard version <= SQLiteStatement.schemaVersion else {
      throw .tooNew(path: path, version: Int(version), known: Int(SQLiteStatement.schemaVersion))
    }
  }

  private var isMoved: Bool {
    get throws(StoreError) { try connection.number("PRAGMA application_id") == Self.movedID }
  }

  package func mark() throws(StoreError) -> MoveMark? {
    guard try isMoved else { return nil }
    var mark: MoveMark?
    try connection.query("SELECT id, name, place, salts FROM \(Self.markTable)") { row in
      mark = MoveMark(
        id: row.bytes(0), name: String(decoding: row.bytes(1), as: UTF8.self),
        place: String(decoding: row.bytes(2), as: UTF8.self), salts: row.bytes(3))
    }
    guard let mark else { throw .damaged(path: path, detail: "a mark of a move that is none") }
    return mark
  }

  package func leave(_ mark: MoveMark) throws(StoreError) {
    try write { () throws(StoreError) in
      guard try !isMoved else { throw .busy(path: path) }
      try connection.execute(
        try tables("NOT LIKE 'moved\\_%' ESCAPE '\\'").map {
          "ALTER TABLE \"\($0)\" RENAME TO \"\(Self.prefix)\($0)\";"
        }.joined())
      try connection.execute(
        """
        CREATE TABLE \(Self.markTable) (id BLOB NOT NULL, name BLOB NOT NULL, place BLOB NOT NULL,
          salts BLOB NOT NULL) STRICT;
        PRAGMA application_id = \(Self.movedID);
        """)
      try connection.query(
        "INSERT INTO \(Self.markTable) VALUES (?, ?, ?, ?)",
        [
          .bytes(mark.id), .bytes(Array(mark.name.utf8)), .bytes(Array(mark.place.utf8)),
          .bytes(mark.salts),
        ])
    }
  }

  package func undo(_ check: () throws(StoreError) -> Void) throws(StoreError) {
    try write { () throws(StoreError) in
      guard try isMoved else { return }
      try check()
      try connection.execute("DROP TABLE \(Self.markTable)")
      try connection.execute(
        try tables("LIKE 'moved\\_%' ESCAPE '\\'").map {
          "ALTER TABLE \"\($0)\" RENAME TO \"\($0.dropFirst(Self.prefix.utf8.count))\";"
        }.joined())
      try connection.execute("PRAGMA application_id = \(SQLiteStatement.applicationID)")
    }
  }

  private func tables(_ condition: String) throws(StoreError) -> [String] {
    var names: [String] = []
    try connection.query(
      """
      SELECT CAST(name AS BLOB) FROM sqlite_schema WHERE type = 'table'
      AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name \(condition)
      """
    ) { names.append(String(decoding: $0.bytes(0), as: UTF8.self)) }
    return names
  }

  private func write(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    try connection.run(.begin)
    do throws(StoreError) {
      try body()
      try connection.run(.commit)
    } catch {
      end()
      throw error
    }
  }

  /// Takes the lock of writers, which a move of another process and ``undo(_:)`` need, too.
  package func begin() throws(StoreError) {
    try connection.run(.begin)
    guard try isMoved else { throw .busy(path: path) }
    let findings = try connection.text("PRAGMA integrity_check(1)")
    guard findings == "ok" else { throw .damaged(path: path, detail: findings) }
  }

  package func page(_ kind: MoveKind, after last: MoveRecord?) throws(StoreError) -> [MoveRecord] {
    try connection.page(kind, Self.prefix + kind.table, after: last)
  }

  package func end() {
    if connection.isInTransaction { _ = try? connection.run(.rollBack) }
  }
}

/// A new SQLite file that an account enters. It is written beside its path, and gets its name at the
/// end.
package final class SQLiteArrival: MoveTarget {
  private let path: String
  private var draft: String { path + ".moving" }
  private var connection: SQLiteConnection?

  /// The path from the root.
  package let place: String

  package init(_ path: String) {
    self.path = path
    place = SQLiteFile.full(path)
  }

  package func arrived() throws(StoreError) -> [UInt8]? {
    guard SQLiteFile.size(of: path) != nil else { return nil }
    let connection = try SQLiteConnection(path: path, patience: 5_000)
    var id: [UInt8]?
    if try connection.number("SELECT count(*) FROM sqlite_schema WHERE name = 'arrival'") == 1 {
      try connection.query("SELECT id FROM arrival") { id = $0.bytes(0) }
    }
    guard let id else {
      throw .failed(path: path, detail: "a file is there; an account moves to a path without file")
    }
    return id
  }

  package func begin() throws(StoreError) {
    // A move that was cut left it. The lock at the source keeps another move away.
    SQLiteFile.remove(draft)
    try SQLiteFile.make(draft)
    let connection = try SQLiteConnection(path: draft, patience: 5_000)
    self.connection = connection
    try connection.execute(
      """
      PRAGMA synchronous = FULL;
      BEGIN EXCLUSIVE;
      \(SQLiteStatement.schema)
      CREATE TABLE arrival (id BLOB NOT NULL) STRICT;
      PRAGMA application_id = \(SQLiteStatement.applicationID);
      PRAGMA user_version = \(SQLiteStatement.schemaVersion);
      """)
  }

  private func opened() throws(StoreError) -> SQLiteConnection {
    guard let connection else { throw .missing(path: draft) }
    return connection
  }

  package func add(_ records: [MoveRecord], of kind: MoveKind) throws(StoreError) {
    let names = kind.columns.map(\.name)
    let places = names.map { _ in "?" }.joined(separator: ", ")
    let text =
      "INSERT INTO \(kind.table) (\(names.joined(separator: ", "))) VALUES (\(places))"
    for record in records {
      try opened().query(text, record.values.map(\.sqlite))
    }
  }

  package func page(_ kind: MoveKind, after last: MoveRecord?) throws(StoreError) -> [MoveRecord] {
    try opened().page(kind, kind.table, after: last)
  }

  package func commit(_ mark: MoveMark) throws(StoreError) {
    do {
      let connection = try opened()
      try connection.run(.fillHours)
      try connection.query("INSERT INTO arrival VALUES (?)", [.bytes(mark.id)])
      try connection.run(.commit)
      guard try connection.text("PRAGMA journal_mode = WAL") == "wal" else {
        throw StoreError.failed(path: path, detail: "the file system cannot do what WAL needs")
      }
    }
    // Closing it writes everything to the file.
    connection = nil
    try SQLiteFile.name(draft, path)
  }

  package func rollBack() {
    connection = nil
    SQLiteFile.remove(draft)
  }
}

extension MoveValue {
  fileprivate var sqlite: SQLiteValue {
    switch self {
    case .number(let number): .integer(number)
    case .bytes(let bytes): .bytes(bytes)
    }
  }
}

extension SQLiteConnection {
  /// The next records of a table behind a record, in the order of their keys.
  fileprivate func page(
    _ kind: MoveKind, _ table: String, after last: MoveRecord?
  ) throws(StoreError) -> [MoveRecord] {
    let columns = kind.columns
    let names = columns.map(\.name).joined(separator: ", ")
    let keys = columns.prefix(kind.keyCount).map(\.name).joined(separator: ", ")
    let places = (0..<kind.keyCount).map { _ in "?" }.joined(separator: ", ")
    let condition = last == nil ? "" : "WHERE (\(keys)) > (\(places))"
    var records: [MoveRecord] = []
    try query(
      "SELECT \(names) FROM \"\(table)\" \(condition) ORDER BY \(keys) LIMIT \(SQLiteMove.pageCount)",
      last.map { $0.values.prefix(kind.keyCount).map(\.sqlite) } ?? []
    ) { row in
      var values: [MoveValue] = []
      for (index, column) in columns.enumerated() {
        let place = Int32(index)
        values.append(column.isNumber ? .number(row.integer(place)) : .bytes(row.bytes(place)))
      }
      records.append(MoveRecord(values))
    }
    return records
  }
}
