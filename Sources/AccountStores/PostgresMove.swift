// SPDX-License-Identifier: Apache-2.0

internal import PostgresStore
internal import ProofService

/// A session of the role that owns the schema, for an account that moves.
final class MoveSession {
  private let connection: PostgresConnection
  private let place: String

  init(_ options: PostgresOptions) throws(StoreError) {
    var patient = options
    patient.callTimeout = 120_000
    place = options.description
    connection = try StoreError.of(place) { () throws(PostgresError) in
      let connection = try PostgresConnection(patient)
      try SchemaVersion(of: connection).check()
      return connection
    }
  }

  @discardableResult
  func run(_ text: String, _ values: PostgresValue...) throws(StoreError) -> PostgresRows {
    try run(text, values)
  }

  /// Runs a statement, which is prepared under its own text.
  @discardableResult
  func run(_ text: String, _ values: [PostgresValue]) throws(StoreError) -> PostgresRows {
    try StoreError.of(place) { () throws(PostgresError) in
      let name = "move_" + String(UInt64(bitPattern: Int64(text.hashValue)), radix: 16)
      return try connection.run(PostgresCall(PostgresStatement(name, text), values))
    }
  }

  func read<R>(_ body: () throws(PostgresError) -> R) throws(StoreError) -> R {
    try StoreError.of(place, body)
  }

  func refused(_ detail: String) -> StoreError { .database(place, detail: detail) }

  func execute(_ script: String) throws(StoreError) {
    try StoreError.of(place) { () throws(PostgresError) in try connection.execute(script) }
  }

  func rollBack() { try? connection.execute("ROLLBACK") }

  /// Runs a transaction.
  func write(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    try execute("BEGIN")
    do throws(StoreError) {
      try body()
      try execute("COMMIT")
    } catch {
      rollBack()
      throw error
    }
  }

  /// The next records of an account behind a record, in the order of their keys.
  func page(
    _ kind: MoveKind, of account: Int32, after last: MoveRecord?
  ) throws(StoreError) -> [MoveRecord] {
    let columns = kind.columns
    let names = columns.map(\.name).joined(separator: ", ")
    let keys = columns.prefix(kind.keyCount)
    let list = keys.map(\.name).joined(separator: ", ")
    let places = keys.enumerated().map { "$\($0 + 2)::\($1.isNumber ? "int8" : "bytea")" }
    let condition = last == nil ? "" : "AND (\(list)) > (\(places.joined(separator: ", ")))"
    // The revision is a counter of its own in a file.
    let table =
      kind == .counter
      ? "(SELECT account, name, value FROM pf.counter UNION ALL SELECT abs(account), 'revision'::bytea, "
        + "revision FROM pf.account) AS counter" : "pf.\"\(kind.table)\""
    let rows = try run(
      """
      SELECT \(names) FROM \(table) WHERE account = $1::int4 \(condition) ORDER BY \(list) LIMIT 256
      """,
      [.int4(account)] + (last.map { $0.values.prefix(kind.keyCount).map(\.postgres) } ?? []))
    return try read { () throws(PostgresError) in
      var records: [MoveRecord] = []
      for row in 0..<rows.count {
        var values: [MoveValue] = []
        for (index, column) in columns.enumerated() {
          values.append(
            column.isNumber
              ? .number(try rows.integer(row, index)) : .bytes(try rows.bytes(row, index)))
        }
        records.append(MoveRecord(values))
      }
      return records
    }
  }
}

/// An account of a database that leaves it.
///
/// The mark negates the account's number, so that no function finds it (`v6-move.up.sql`).
final class PostgresMove: MoveSource {
  private let session: MoveSession
  private let account: Int32
  private let place: String

  init(_ options: PostgresOptions, _ name: String?) throws(StoreError) {
    let session = try MoveSession(options)
    let rows = try session.run(
      "SELECT account FROM pf2.accounts($1::bytea)", .bytea(name.map { Array($0.utf8) }))
    guard rows.count == 1 else {
      throw session.refused(
        rows.count == 0
          ? "it has no such account"
          : "it has several accounts; name one: account=NAME")
    }
    let number = try session.read { () throws(PostgresError) in try rows.integer(0, 0) }
    account = abs(Int32(truncatingIfNeeded: number))
    self.session = session
    place = options.description
  }

  func mark() throws(StoreError) -> MoveMark? {
    let rows = try session.run(
      """
      SELECT m.id, m.name, m.place, m.salts FROM pf.move m JOIN pf.account a ON a.account = -m.account
      WHERE m.account = $1::int4 AND NOT m.arrived
      """, .int4(account))
    guard rows.count > 0 else { return nil }
    return try session.read { () throws(PostgresError) in
      MoveMark(
        id: try rows.bytes(0, 0), name: try rows.text(0, 1), place: try rows.text(0, 2),
        salts: try rows.bytes(0, 3))
    }
  }

  func leave(_ mark: MoveMark) throws(StoreError) {
    try session.write { () throws(StoreError) in
      // Uses, changes and blocks that were begun end before.
      try session.run("SELECT pg_advisory_xact_lock(20561, $1::int4) IS NULL", .int4(account))
      let others = try session.run(
        """
        SELECT 1 WHERE EXISTS (SELECT FROM pf.issue WHERE account = $1::int4)
          OR EXISTS (SELECT FROM pf.event_count WHERE account = $1::int4)
        """, .int4(account))
      guard others.count == 0 else {
        throw session.refused("the account has a ledger that this program cannot move")
      }
      let changed = try session.run(
        "UPDATE pf.account SET account = -$1::int4 WHERE account = $1::int4 RETURNING account",
        .int4(account))
      guard changed.count == 1 else { throw .busy(path: place) }
      for table in ["used", "judgement", "meter", "pair"] {
        try session.run(
          """
          WITH held AS (SELECT place FROM pf.replay WHERE account = $1::int4 FOR UPDATE)
          DELETE FROM pf.replay_\(table) WHERE place IN (SELECT place FROM held)
          """, .int4(account))
      }
      try session.run("DELETE FROM pf.replay WHERE account = $1::int4", .int4(account))
      try session.run(
        """
        INSERT INTO pf.move (account, arrived, id, name, place, salts)
        VALUES ($1::int4, false, $2::bytea, $3::bytea, $4::bytea, $5::bytea)
        """, .int4(account), .bytea(mark.id), .bytea(Array(mark.name.utf8)),
        .bytea(Array(mark.place.utf8)), .bytea(mark.salts))
    }
  }

  private func lock() throws(StoreError) {
    let held = try session.run(
      "SELECT 1 FROM pf.move WHERE account = $1::int4 AND NOT arrived FOR UPDATE NOWAIT",
      .int4(account))
    guard held.count == 1 else { throw .busy(path: place) }
  }

  func undo(_ check: () throws(StoreError) -> Void) throws(StoreError) {
    try session.write { () throws(StoreError) in
      try lock()
      try check()
      try session.run(
        "UPDATE pf.account SET account = $1::int4 WHERE account = -$1::int4", .int4(account))
      try session.run(
        "DELETE FROM pf.move WHERE account = $1::int4 AND NOT arrived", .int4(account))
    }
  }

  func begin() throws(StoreError) {
    // One snapshot: a node's housekeeping may still remove devices.
    try session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    try lock()
  }

  func page(_ kind: MoveKind, after last: MoveRecord?) throws(StoreError) -> [MoveRecord] {
    try session.page(kind, of: account, after: last)
  }

  func end() { session.rollBack() }
}

/// A database that an account enters, in one transaction.
final class PostgresArrival: MoveTarget {
  private let session: MoveSession
  private let name: String
  private var account: Int32 = 0

  init(_ options: PostgresOptions, _ name: String) throws(StoreError) {
    session = try MoveSession(options)
    self.name = name
  }

  func arrived() throws(StoreError) -> [UInt8]? {
    let rows = try session.run(
      """
      SELECT m.id FROM pf.account a LEFT JOIN pf.move m ON m.account = abs(a.account) AND m.arrived
      WHERE a.name = $1::bytea
      """, .bytea(Array(name.utf8)))
    guard rows.count > 0 else { return nil }
    let id = try session.read { () throws(PostgresError) in try rows.optionalBytes(0, 0) }
    guard let id else {
      throw session.refused("it has an account “\(name)”; an account moves to a place without it")
    }
    return id
  }

  func begin() throws(StoreError) {
    try session.execute("BEGIN")
    // pf2.make_account takes the lock, too.
    try session.run("SELECT pg_advisory_xact_lock(20561, 0) IS NULL")
    let rows = try session.run(
      """
      INSERT INTO pf.account (account, name)
      SELECT coalesce(max(abs(account)), 0) + 1, $1::bytea FROM pf.account RETURNING account
      """, .bytea(Array(name.utf8)))
    account = Int32(
      truncatingIfNeeded: try session.read { () throws(PostgresError) in try rows.integer(0, 0) })
  }

  func add(_ records: [MoveRecord], of kind: MoveKind) throws(StoreError) {
    let revision = Array("revision".utf8)
    var records = records
    if kind == .counter, let index = records.firstIndex(where: { $0.bytes(0) == revision }) {
      try session.run(
        "UPDATE pf.account SET revision = $2::int8 WHERE account = $1::int4", .int4(account),
        .int8(records.remove(at: index).number(1)))
    }
    guard !records.isEmpty else { return }
    let columns = kind.columns
    let names = columns.map(\.name).joined(separator: ", ")
    let lists = columns.enumerated().map { index, column in
      let values = records.map { $0.values[index] }
      return column.isNumber
        ? PostgresValue.int8s(values.map { if case .number(let value) = $0 { value } else { nil } })
        : PostgresValue.byteas(values.map { if case .bytes(let value) = $0 { value } else { nil } })
    }
    let places = columns.enumerated().map { "$\($0 + 2)::\($1.isNumber ? "int8[]" : "bytea[]")" }
    let day = kind == .device ? ("seen_day, ", "last_seen / 86400, ") : ("", "")
    try session.run(
      """
      INSERT INTO pf."\(kind.table)" (account, \(day.0)\(names))
      SELECT $1::int4, \(day.1)\(names) FROM unnest(\(places.joined(separator: ", "))) AS i(\(names))
      """, [.int4(account)] + lists)
  }

  func page(_ kind: MoveKind, after last: MoveRecord?) throws(StoreError) -> [MoveRecord] {
    try session.page(kind, of: account, after: last)
  }

  func commit(_ mark: MoveMark) throws(StoreError) {
    try session.run(
      """
      INSERT INTO pf.move (account, arrived, id, name, place, salts)
      VALUES ($1::int4, true, $2::bytea, $3::bytea, $4::bytea, '')
      """, .int4(account), .bytea(mark.id), .bytea(Array(name.utf8)),
      .bytea(Array(mark.place.utf8)))
    try session.execute("COMMIT")
  }

  func rollBack() { session.rollBack() }
}

extension MoveValue {
  fileprivate var postgres: PostgresValue {
    switch self {
    case .number(let number): .int8(number)
    case .bytes(let bytes): .bytea(bytes)
    }
  }
}
