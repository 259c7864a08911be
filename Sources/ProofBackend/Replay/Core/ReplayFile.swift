// SPDX-License-Identifier: Apache-2.0

internal import CSQLite
internal import Glibc
import ProofModel

/// The SQLite file of a replay store, and the statements on it.
///
/// Its owner lets one thread at a time use it: SQLite is opened without locks of its own.
@safe
final class ReplayFile: @unchecked Sendable {
  /// Numbers that the file keeps beside the entries.
  enum Number: Int64 {
    /// The highest time that the store was given.
    case highest = 1
    /// The time of the store's last write, by the system's clock.
    case written = 2
    /// The latest moment up to which proofs that were used may be missing.
    case gap = 4
  }

  /// "PfRp": distinguishes a replay store from other SQLite files.
  private static let applicationID: Int64 = 0x5066_5270
  private static let version: Int64 = 1
  private static let bootRow: Int64 = 3
  private static let patience: Int32 = 5_000
  /// A file that was changed this many seconds after the store wrote it was changed by something else.
  static let strangeSeconds: UInt64 = 5
  private static let schema = """
    PRAGMA journal_mode = WAL;
    BEGIN EXCLUSIVE;
    \(ReplayTables("").made)
    PRAGMA application_id = \(applicationID);
    PRAGMA user_version = \(version);
    COMMIT;
    """

  /// The file that the tables stand in.
  enum Form {
    /// A file of the replay store alone.
    case own
    /// The database of another program of ours, which has this application id.
    case guest(Int64)
  }

  private let path: String
  private let tables: ReplayTables
  private let connection: OpaquePointer
  private var statements: [String: OpaquePointer] = unsafe [:]
  /// The highest time that this process has written.
  private var highest: UInt64 = 0
  /// Whether a commit waits for the disk.
  private var isSynchronous = false

  init(path: String, in form: Form = .own, mustBeNew: Bool = false) throws(ReplayStoreFailure) {
    self.path = path
    var isNew = false
    var host: Int64?
    switch form {
    case .own:
      isNew = try Self.make(path, mustBeNew: mustBeNew)
      tables = ReplayTables("")
    case .guest(let applicationID):
      host = applicationID
      tables = ReplayTables("replay_")
    }
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let result = unsafe sqlite3_open_v2(path, &opened, flags, nil)
    guard result == SQLITE_OK, let opened = unsafe opened else {
      unsafe sqlite3_close(opened)
      throw Self.failure(result, path)
    }
    unsafe connection = opened
    unsafe sqlite3_busy_timeout(opened, Self.patience)
    guard unsafe csqlite_defend(opened) == SQLITE_OK else {
      throw .foreign(place: path, reason: "this SQLite is older than 3.31")
    }
    if isNew { try execute(Self.schema) }
    guard try number("PRAGMA application_id") == host ?? Self.applicationID else {
      throw .foreign(place: path, reason: "it is another program's file")
    }
    if host == nil {
      guard try number("PRAGMA user_version") == Self.version else {
        throw .foreign(place: path, reason: "it is of another version")
      }
    }
    // Programs of earlier versions know no counts, and leave them alone.
    if try number(tables.countMade) < 5 {
      try execute("BEGIN IMMEDIATE; \(tables.made) COMMIT;")
    }
    // A killed process loses nothing. A power cut may take back transactions that need not last; the store then
    // reports that it is not complete.
    try execute("PRAGMA synchronous = NORMAL")
    highest = try number(.highest)
  }

  deinit {
    unsafe statements.values.forEach { unsafe _ = sqlite3_finalize($0) }
    unsafe sqlite3_close(connection)
  }

  // MARK: Entries

  /// Runs a step atomically. Takes the time, and forgets entries that have ended.
  ///
  /// - Parameters:
  ///   - now: The highest time that the verifier has seen.
  ///   - mustLast: Whether the step must survive a power cut when this function returns.
  ///   - systemTime: Gives the system's time.
  ///   - body: The step.
  /// - Returns: The result of the step.
  /// - Throws: ``ReplayStoreFailure``; nothing was changed then.
  func transaction<R>(
    at now: UnixTime, mustLast: Bool = false, _ systemTime: () -> UInt64,
    _ body: (ReplayFile) throws(ReplayStoreFailure) -> R
  ) throws(ReplayStoreFailure) -> R {
    let now = now.unsigned
    try setSynchronous(mustLast)
    try execute("BEGIN IMMEDIATE")
    do throws(ReplayStoreFailure) {
      if now > highest {
        try run(
          """
          INSERT INTO \(tables.note) VALUES (?1, ?2, x'') ON CONFLICT DO UPDATE SET number = max(number, ?2)
          """, [.number(Number.highest.rawValue), .number(Int64(clamping: now))])
        try note(boot: nil, written: systemTime())
        // Another process may have seen a later time.
        let latest = Int64(clamping: try number(.highest))
        try run("DELETE FROM \(tables.used) WHERE expiry < ?", [.number(latest)])
        try run("DELETE FROM \(tables.judgement) WHERE expiry < ?", [.number(latest)])
        let eldest = latest - min(latest, Int64(EventCounts.retention))
        try run("DELETE FROM \(tables.meter) WHERE last < ?", [.number(eldest)])
        try run("DELETE FROM \(tables.pair) WHERE last < ?", [.number(eldest)])
      }
      let result = try body(self)
      try execute("COMMIT")
      highest = max(highest, now)
      return result
    } catch {
      if unsafe sqlite3_get_autocommit(connection) == 0 { try? execute("ROLLBACK") }
      throw error
    }
  }

  /// In WAL mode FULL waits for the disk at each commit; NORMAL leaves that to the next FULL one.
  private func setSynchronous(_ mustLast: Bool) throws(ReplayStoreFailure) {
    guard mustLast != isSynchronous else { return }
    try execute("PRAGMA synchronous = \(mustLast ? "FULL" : "NORMAL")")
    isSynchronous = mustLast
  }

  func insert(_ key: ReplayKey, _ expiry: UnixTime) throws(ReplayStoreFailure) -> Bool {
    try run(
      "INSERT INTO \(tables.used) VALUES (?, ?) ON CONFLICT DO NOTHING",
      [.bytes(key.bytes), .number(expiry.seconds)]) == 1
  }

  func judgement(_ name: ReplayKey) throws(ReplayStoreFailure) -> [UInt8]? {
    var found: [UInt8]?
    try run("SELECT bytes FROM \(tables.judgement) WHERE name = ?", [.bytes(name.bytes)]) { row in
      found = row.bytes()
    }
    return found
  }

  func keep(_ record: ReplayRecord) throws(ReplayStoreFailure) {
    try run(
      "INSERT INTO \(tables.judgement) VALUES (?, ?, ?)",
      [
        .bytes(record.name.bytes), .bytes(record.bytes), .number(record.expiry.seconds),
      ])
  }

  // MARK: Counts

  /// Counts an event at the highest time of the store.
  func count(_ redemption: Redemption) throws(ReplayStoreFailure) -> EventCounts {
    let now = UnixTime(clamping: try number(.highest))
    let (device, moment) = (Value.bytes(redemption.device.bytes), Value.number(now.seconds))
    var counts = EventCounts()
    var meter = EventMeter()
    try run("SELECT bytes FROM \(tables.meter) WHERE device = ?", [device]) { row in
      meter = EventMeter(row.bytes())
    }
    meter.add(at: now)
    counts.eventsOfDevice = meter.span(at: now)
    try run(
      "INSERT OR REPLACE INTO \(tables.meter) VALUES (?, ?, ?)",
      [device, .bytes(meter.bytes), moment])
    if let account = redemption.account {
      try run(
        """
        INSERT INTO \(tables.pair) VALUES (?1, ?2, ?3)
        ON CONFLICT DO UPDATE SET last = max(last, excluded.last)
        """, [device, .bytes(account.bytes), moment])
      counts.devicesOfAccount = try span(of: "account", .bytes(account.bytes), at: now)
    }
    counts.accountsOfDevice = try span(of: "device", device, at: now)
    return counts
  }

  /// Counts the rows of a column's value, the latest ones up to ``EventCounts/most``.
  private func span(
    of column: String, _ value: Value, at now: UnixTime
  ) throws(ReplayStoreFailure) -> EventCounts.Span {
    var span = EventCounts.Span()
    try run(
      "SELECT last FROM \(tables.pair) WHERE \(column) = ? ORDER BY last DESC LIMIT ?",
      [value, .number(Int64(EventCounts.most))]
    ) { row in
      let last = UnixTime(seconds: row.number())
      if last + 60 > now { span.minute += 1 }
      if last + 3_600 > now { span.hour += 1 }
      if last + 86_400 > now { span.day += 1 }
    }
    return span
  }

  /// Forgets which devices an account was seen with, and leaves nothing of it in the file's free pages. A power cut does
  /// not bring it back.
  func forget(_ account: ReplayKey) throws(ReplayStoreFailure) -> Int {
    try setSynchronous(true)
    try execute("PRAGMA secure_delete = ON")
    defer { try? execute("PRAGMA secure_delete = OFF") }
    return try run("DELETE FROM \(tables.pair) WHERE account = ?", [.bytes(account.bytes)])
  }

  // MARK: Notes

  func number(_ number: Number) throws(ReplayStoreFailure) -> UInt64 {
    var found: Int64 = 0
    try run("SELECT number FROM \(tables.note) WHERE id = ?", [.number(number.rawValue)]) { row in
      found = row.number()
    }
    return UInt64(clamping: found)
  }

  func noteGap(until moment: UnixTime) throws(ReplayStoreFailure) {
    try run(
      """
      INSERT INTO \(tables.note) VALUES (?1, ?2, x'') ON CONFLICT DO UPDATE SET number = max(number, ?2)
      """,
      [.number(Number.gap.rawValue), .number(moment.seconds)])
  }

  /// Whether the file's last write was after the machine's last start.
  func isBoot(_ boot: [UInt8]) throws(ReplayStoreFailure) -> Bool {
    var count = 0
    try run(
      "SELECT 1 FROM \(tables.note) WHERE id = ? AND bytes = ?",
      [.number(Self.bootRow), .bytes(boot)]
    ) { row in count += Int(row.number()) }
    return count == 1
  }

  func note(boot: [UInt8]?, written: UInt64) throws(ReplayStoreFailure) {
    try run(
      "INSERT OR REPLACE INTO \(tables.note) VALUES (?, ?, x'')",
      [.number(Number.written.rawValue), .number(Int64(clamping: written))])
    guard let boot else { return }
    try run(
      "INSERT OR REPLACE INTO \(tables.note) VALUES (?, 0, ?)",
      [.number(Self.bootRow), .bytes(boot)])
  }

  /// Whether nothing but this store has written the file since the machine's last start.
  ///
  /// - Parameters:
  ///   - boot: The kernel's id of that start.
  ///   - changed: When the file was changed before this program opened it.
  /// - Returns: Whether it is so.
  /// - Throws: ``ReplayStoreFailure``.
  func isUntouched(_ boot: [UInt8], changed: UInt64) throws(ReplayStoreFailure) -> Bool {
    let written = try number(.written)
    return try isBoot(boot) && written > 0 && changed <= written + Self.strangeSeconds
  }

  // MARK: Taking over

  /// Keeps every other program out until this one closes the file, and moves its log into it.
  func holdAlone() throws(ReplayStoreFailure) {
    var mode: [UInt8] = []
    try run("PRAGMA journal_mode = DELETE", []) { mode = $0.bytes() }
    guard mode == Array("delete".utf8) else {
      throw .unavailable(place: path, reason: "another process has it open: stop that one first")
    }
    try execute("BEGIN EXCLUSIVE")
  }

  /// Whether events were redeemed with it.
  var hasRedemptions: Bool {
    get throws(ReplayStoreFailure) {
      for table in [tables.judgement, tables.meter, tables.pair]
      where try number("SELECT count(*) FROM (SELECT 1 FROM \(table) LIMIT 1)") > 0 {
        return true
      }
      return false
    }
  }

  /// The used proofs and their ends.
  var used: [(key: ReplayKey, expiry: UInt64)] {
    get throws(ReplayStoreFailure) {
      var keys: [[UInt8]] = []
      var ends: [UInt64] = []
      try run("SELECT key FROM \(tables.used) ORDER BY key", []) { keys.append($0.bytes()) }
      try run("SELECT expiry FROM \(tables.used) ORDER BY key", []) {
        ends.append(UInt64(clamping: $0.number()))
      }
      return try zip(keys, ends).map { (key, end) throws(ReplayStoreFailure) in
        guard let key = try? ReplayKey(key) else {
          throw .foreign(place: path, reason: "a key in it has another size")
        }
        return (key, end)
      }
    }
  }

  // MARK: SQLite

  private enum Value {
    case number(Int64)
    case bytes([UInt8])
  }

  /// The current row of a statement.
  @safe
  private struct Row: ~Copyable {
    fileprivate let statement: OpaquePointer

    borrowing func number() -> Int64 { unsafe sqlite3_column_int64(statement, 0) }

    borrowing func bytes() -> [UInt8] {
      let count = Int(unsafe sqlite3_column_bytes(statement, 0))
      guard count > 0, let start = unsafe sqlite3_column_blob(statement, 0) else { return [] }
      return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }
  }

  private func execute(_ sql: String) throws(ReplayStoreFailure) {
    let result = unsafe sqlite3_exec(connection, sql, nil, nil, nil)
    guard result == SQLITE_OK else { throw Self.failure(result, path) }
  }

  private func number(_ sql: String) throws(ReplayStoreFailure) -> Int64 {
    var found: Int64 = 0
    try run(sql, []) { found = $0.number() }
    return found
  }

  /// Runs a statement that is prepared once. Returns the number of rows it changed.
  @discardableResult
  private func run(
    _ sql: String, _ values: [Value], each: (borrowing Row) -> Void = { _ in }
  ) throws(ReplayStoreFailure) -> Int {
    let statement = try unsafe prepared(sql)
    defer {
      unsafe sqlite3_reset(statement)
      unsafe sqlite3_clear_bindings(statement)
    }
    for (index, value) in values.enumerated() {
      let place = Int32(index + 1)
      let result =
        switch value {
        case .number(let number): unsafe sqlite3_bind_int64(statement, place, number)
        case .bytes(let bytes):
          unsafe bytes.withUnsafeBytes { buffer in
            unsafe csqlite_bind_bytes(
              statement, place, buffer.baseAddress, Int32(buffer.count))
          }
        }
      guard result == SQLITE_OK else { throw Self.failure(result, path) }
    }
    while true {
      let result = unsafe sqlite3_step(statement)
      if result == SQLITE_DONE { return Int(unsafe sqlite3_changes(connection)) }
      guard result == SQLITE_ROW else { throw Self.failure(result, path) }
      each(unsafe Row(statement: statement))
    }
  }

  private func prepared(_ sql: String) throws(ReplayStoreFailure) -> OpaquePointer {
    if let statement = unsafe statements[sql] { return unsafe statement }
    var statement: OpaquePointer?
    let result = unsafe sqlite3_prepare_v3(
      connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard result == SQLITE_OK, let statement = unsafe statement else {
      throw Self.failure(result, path)
    }
    unsafe statements[sql] = statement
    return unsafe statement
  }

  private static func failure(_ result: Int32, _ path: String) -> ReplayStoreFailure {
    let reason = unsafe String(cString: sqlite3_errstr(result))
    return switch result & 0xFF {
    case SQLITE_CORRUPT, SQLITE_NOTADB: .foreign(place: path, reason: reason)
    default: .unavailable(place: path, reason: reason)
    }
  }
}

// Calls to the file system beside SQLite.
extension ReplayFile {
  /// Makes an empty file that only its owner may read, unless it exists. Returns whether the file
  /// is empty.
  private static func make(_ path: String, mustBeNew: Bool) throws(ReplayStoreFailure) -> Bool {
    let flags = O_CREAT | O_RDWR | O_CLOEXEC | (mustBeNew ? O_EXCL : 0)
    let descriptor = unsafe open(path, flags, 0o600)
    guard descriptor >= 0 else {
      if mustBeNew, errno == EEXIST { throw .exists(place: path) }
      throw .unavailable(place: path, reason: unsafe String(cString: strerror(errno)))
    }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & 0o077 == 0 else {
      throw .unavailable(place: path, reason: "others may read or write it")
    }
    return status.st_size == 0
  }

  /// The time when the file or its log was last changed, in seconds since 1970; 0 if the file is missing.
  /// No program can set this time.
  static func lastChange(of path: String) -> UInt64 {
    var latest: UInt64 = 0
    for name in [path, path + "-wal"] {
      var status = stat()
      guard unsafe stat(name, &status) == 0, status.st_size > 0 else { continue }
      latest = max(latest, UInt64(clamping: status.st_ctim.tv_sec))
    }
    return latest
  }

  /// Whether a path leads to a SQLite file.
  static func isThere(at path: String) -> Bool {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = unsafe pread(descriptor, &bytes, 16, 0)
    return count == 16 && bytes == Array("SQLite format 3\0".utf8)
  }

  static func rename(_ path: String, to other: String) throws(ReplayStoreFailure) {
    guard unsafe Glibc.rename(path, other) == 0 else {
      throw .unavailable(place: other, reason: unsafe String(cString: strerror(errno)))
    }
  }

  /// Removes a file if it is there.
  static func remove(_ path: String) { unsafe _ = unlink(path) }

  static var systemTime: UInt64 { UInt64(clamping: time(nil)) }

  /// The kernel's id of the machine's last start; empty if the kernel has none.
  static var bootID: [UInt8] {
    let descriptor = unsafe open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    return unsafe [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
      count = max(0, unsafe read(descriptor, buffer.baseAddress, 64))
    }
  }
}
