// SPDX-License-Identifier: Apache-2.0

internal import CSQLite
internal import Glibc

/// A value to bind.
enum SQLiteValue: Sendable {
  case integer(Int64)
  case bytes([UInt8])
}

/// One connection with its prepared statements.
///
/// `@unchecked Sendable` because its owner lets one thread at a time use it; SQLite is opened
/// without locks of its own.
@safe final class SQLiteConnection: @unchecked Sendable {
  /// The current row of a statement.
  @safe struct Row: ~Copyable {
    fileprivate let statement: OpaquePointer

    borrowing func integer(_ column: Int32) -> Int64 {
      unsafe sqlite3_column_int64(statement, column)
    }

    borrowing func bytes(_ column: Int32) -> [UInt8] {
      let count = Int(unsafe sqlite3_column_bytes(statement, column))
      guard count > 0, let start = unsafe sqlite3_column_blob(statement, column) else { return [] }
      return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }
  }

  let path: String
  private let connection: OpaquePointer
  /// Those of ``SQLiteStatement`` and ``SpentStatement`` by their numbers.
  private var statements: [OpaquePointer?]
  /// Those of moves, by their text.
  private var queries: [String: OpaquePointer]

  private enum Key {
    case fixed(SQLiteStatement)
    case text(String)
    case spent(SpentStatement)

    var sql: String {
      switch self {
      case .fixed(let statement): statement.sql
      case .text(let text): text
      case .spent(let statement): statement.sql
      }
    }
  }

  /// Opens an existing file.
  ///
  /// - Parameters:
  ///   - path: The file's path.
  ///   - patience: The most milliseconds to wait for another process's lock.
  /// - Throws: ``StoreError``.
  init(path: String, patience: Int32) throws(StoreError) {
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let result = unsafe sqlite3_open_v2(path, &opened, flags, nil)
    guard result == SQLITE_OK, let opened = unsafe opened else {
      unsafe sqlite3_close(opened)
      throw Self.error(result, path: path)
    }
    unsafe sqlite3_busy_timeout(opened, patience)
    guard unsafe csqlite_defend(opened) == SQLITE_OK else {
      unsafe sqlite3_close(opened)
      throw .failed(path: path, detail: "this SQLite is older than 3.31")
    }
    unsafe connection = opened
    unsafe statements = Array(
      repeating: nil, count: SQLiteStatement.allCases.count + SpentStatement.count)
    unsafe queries = [:]
    self.path = path
  }

  deinit {
    unsafe statements.forEach { unsafe _ = sqlite3_finalize($0) }
    unsafe queries.values.forEach { unsafe _ = sqlite3_finalize($0) }
    unsafe sqlite3_close(connection)
  }

  /// Runs statements that are not cached.
  func execute(_ sql: String) throws(StoreError) {
    let result = unsafe sqlite3_exec(connection, sql, nil, nil, nil)
    guard result == SQLITE_OK else { throw error(result) }
  }

  /// Runs a pragma or other query whose result is one number.
  func number(_ sql: String) throws(StoreError) -> Int64 {
    let statement = try unsafe prepare(sql, for: 0)
    defer { unsafe _ = sqlite3_finalize(statement) }
    let result = unsafe sqlite3_step(statement)
    guard result == SQLITE_ROW else { throw error(result) }
    return unsafe sqlite3_column_int64(statement, 0)
  }

  /// Runs a pragma or other query whose result is one text.
  func text(_ sql: String) throws(StoreError) -> String {
    let statement = try unsafe prepare(sql, for: 0)
    defer { unsafe _ = sqlite3_finalize(statement) }
    let result = unsafe sqlite3_step(statement)
    guard result == SQLITE_ROW, let text = unsafe sqlite3_column_text(statement, 0) else {
      throw error(result)
    }
    return unsafe String(cString: text)
  }

  /// Runs a prepared statement.
  ///
  /// - Returns: The number of rows that it changed.
  @discardableResult
  func run(
    _ statement: SQLiteStatement, _ values: [SQLiteValue] = [],
    each: (borrowing Row) -> Void = { _ in }
  ) throws(StoreError) -> Int {
    try run(.fixed(statement), values, each)
  }

  /// Runs a prepared statement about a table of spent marks.
  ///
  /// - Returns: The number of rows that it changed.
  @discardableResult
  func run(
    _ verb: SpentStatement.Verb, slot: Int, _ values: [SQLiteValue] = [],
    each: (borrowing Row) -> Void = { _ in }
  ) throws(StoreError) -> Int {
    try run(.spent(SpentStatement(verb: verb, slot: slot)), values, each)
  }

  /// Runs a statement of a move, prepared once.
  func query(
    _ text: String, _ values: [SQLiteValue] = [], each: (borrowing Row) -> Void = { _ in }
  ) throws(StoreError) {
    _ = try run(.text(text), values, each)
  }

  private func run(
    _ key: Key, _ values: [SQLiteValue], _ each: (borrowing Row) -> Void
  ) throws(StoreError) -> Int {
    let prepared = try unsafe self.prepared(key)
    defer {
      unsafe sqlite3_reset(prepared)
      unsafe sqlite3_clear_bindings(prepared)
    }
    for (index, value) in values.enumerated() {
      let result =
        switch value {
        case .integer(let value): unsafe sqlite3_bind_int64(prepared, Int32(index + 1), value)
        case .bytes(let bytes):
          unsafe bytes.withUnsafeBytes { buffer in
            unsafe csqlite_bind_bytes(
              prepared, Int32(index + 1), buffer.baseAddress, Int32(buffer.count))
          }
        }
      guard result == SQLITE_OK else { throw error(result) }
    }
    while true {
      let result = unsafe sqlite3_step(prepared)
      switch result {
      case SQLITE_ROW: each(unsafe Row(statement: prepared))
      case SQLITE_DONE: return Int(unsafe sqlite3_changes(connection))
      default: throw error(result)
      }
    }
  }

  /// Whether a transaction is open. SQLite rolls one back by itself after some errors.
  var isInTransaction: Bool { unsafe sqlite3_get_autocommit(connection) == 0 }

  private func prepared(_ key: Key) throws(StoreError) -> OpaquePointer {
    let place: Int
    switch key {
    case .fixed(let statement): place = statement.rawValue
    case .spent(let statement): place = SQLiteStatement.allCases.count + statement.number
    case .text(let text):
      if let prepared = unsafe queries[text] { return unsafe prepared }
      let prepared = try unsafe prepare(text, for: UInt32(SQLITE_PREPARE_PERSISTENT))
      unsafe queries[text] = prepared
      return unsafe prepared
    }
    if let prepared = unsafe statements[place] { return unsafe prepared }
    let prepared = try unsafe prepare(key.sql, for: UInt32(SQLITE_PREPARE_PERSISTENT))
    unsafe statements[place] = prepared
    return unsafe prepared
  }

  private func prepare(_ sql: String, for flags: UInt32) throws(StoreError) -> OpaquePointer {
    var statement: OpaquePointer?
    let result = unsafe sqlite3_prepare_v3(connection, sql, -1, flags, &statement, nil)
    guard result == SQLITE_OK, let statement = unsafe statement else { throw error(result) }
    return unsafe statement
  }

  private func error(_ result: Int32) -> StoreError { Self.error(result, path: path) }

  private static func error(_ result: Int32, path: String) -> StoreError {
    let detail = unsafe String(cString: sqlite3_errstr(result))
    // The low byte is the kind; the rest is detail.
    return switch result & 0xFF {
    case SQLITE_CORRUPT: .damaged(path: path, detail: detail)
    case SQLITE_NOTADB: .foreign(path: path)
    case SQLITE_BUSY, SQLITE_LOCKED: .busy(path: path)
    case SQLITE_FULL: .full(path: path)
    default: .failed(path: path, detail: detail)
    }
  }
}

/// Calls to the file system beside SQLite.
enum SQLiteFile {
  /// The length of a file, in bytes; nil if it is missing.
  static func size(of path: String) -> Int64? {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? Int64(status.st_size) : nil
  }

  /// Whether a file is this user's, and no other user may read or write it.
  static func isPrivate(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_uid == geteuid()
      && status.st_mode & 0o077 == 0
  }

  /// Makes an empty file that only its owner may read. SQLite gives its other files the same mode.
  static func make(_ path: String) throws(StoreError) {
    let descriptor = unsafe open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw .failed(path: path, detail: unsafe String(cString: strerror(errno)))
    }
    close(descriptor)
  }

  /// Removes a database with its companions.
  static func remove(_ path: String) {
    for end in ["", "-journal", "-wal", "-shm"] { unsafe unlink(path + end) }
  }

  /// Gives a file its final name, which survives a power cut. Unlike a renaming, this replaces no
  /// file.
  static func name(_ draft: String, _ path: String) throws(StoreError) {
    guard unsafe link(draft, path) == 0 else {
      throw .failed(path: path, detail: unsafe String(cString: strerror(errno)))
    }
    unsafe unlink(draft)
    try keep(folderOf: path)
  }

  /// A path from the root.
  static func full(_ path: String) -> String {
    guard !path.hasPrefix("/"), let folder = unsafe getcwd(nil, 0) else { return path }
    defer { unsafe free(folder) }
    return unsafe String(cString: folder) + "/" + path
  }

  /// Makes the names in a file's folder survive a power cut.
  private static func keep(folderOf path: String) throws(StoreError) {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { if descriptor >= 0 { close(descriptor) } }
    guard descriptor >= 0, fsync(descriptor) == 0 else {
      throw .failed(path: path, detail: unsafe String(cString: strerror(errno)))
    }
  }
}
