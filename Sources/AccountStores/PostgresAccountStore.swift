// SPDX-License-Identifier: Apache-2.0

package import PostgresStore
package import ProofModel
package import ProofService

/// One account's store in a PostgreSQL database that several processes and machines share.
///
/// Every call that a decision may rest on goes to the primary: libpq skips a server that only reads. Surveys for
/// people go to the readers, if there are any, and say how old they are. Uses of salts that wait at
/// the same time share a transaction, and other calls share a trip (`Batcher`). A call whose
/// connection broke is repeated for ``Settings/patience`` milliseconds, then fails. No call ends with
/// an unknown commit that a repetition would take effect twice: uses and changes have a key.
///
/// Connections are made when calls need them, so a process starts and goes on beside a database that
/// is away for a while.
package final class PostgresAccountStore: Store {
  /// The number and the patience of connections.
  package struct Settings: Sendable {
    /// Connections for uses of salts, and as many for other calls.
    package var lanes = 4
    /// Milliseconds in which a call is tried again after its first failure.
    package var patience: Int64 = 3_000
    /// Servers for surveys, replicas among them; nil: surveys are read at the primary.
    package var readers: PostgresOptions?

    package init(readers: PostgresOptions? = nil) { self.readers = readers }
  }

  /// The account's number in the database.
  let account: Int32
  /// The database, without the password.
  let place: String
  let options: PostgresOptions
  let settings: Settings
  /// The highest floor of generations that a glance brought; nil if there is none to rely on.
  let seenFloor = CoreLock<UInt32?>(nil)
  private let uses: Batcher<UseLane>
  private let calls: Batcher<CallLane>
  /// A connection for queries over all devices. They take long, and no request waits for them.
  private let surveys: Batcher<CallLane>
  /// A connection for surveys at a replica.
  private let readings: Batcher<CallLane>?
  private let heartbeat: Heartbeat?

  /// Opens the store of an account.
  ///
  /// - Parameters:
  ///   - options: The database, and the role of the service.
  ///   - name: The account's name; nil for the only account of the database.
  ///   - settings: Numbers of connections.
  /// - Throws: ``StoreError/missing(path:)`` without such an account,
  ///   ``StoreError/database(_:detail:)``.
  package convenience init(
    _ options: PostgresOptions, opening name: String?, _ settings: Settings = Settings()
  ) throws(StoreError) {
    let found = try Self.found(options, settings) { (session) throws(PostgresError) in
      try session.run(PostgresStatement.accounts, .bytea(name.map { Array($0.utf8) }))
    }
    guard found.count > 0 else {
      throw .database(
        options.description,
        detail: name.map { "it has no account “\($0)”; make it with “proofctl init”" }
          ?? "it has no account; make one with “proofctl init”")
    }
    guard found.count == 1 else {
      throw .database(
        options.description, detail: "it has several accounts; name one in the URI: account=NAME")
    }
    try self.init(options, found, settings)
  }

  /// Opens the store of an account, and enters an account that is missing. It has no row then.
  ///
  /// - Parameters:
  ///   - options: The database, and the role of the service.
  ///   - name: The account's name.
  ///   - settings: Numbers of connections.
  /// - Throws: ``StoreError/database(_:detail:)``.
  package convenience init(
    _ options: PostgresOptions, creating name: String, _ settings: Settings = Settings()
  ) throws(StoreError) {
    let made = try Self.found(options, settings) { (session) throws(PostgresError) in
      try session.run(PostgresStatement.makeAccount, .bytea(Array(name.utf8)))
    }
    try self.init(options, made, settings)
  }

  private static func found(
    _ options: PostgresOptions, _ settings: Settings,
    _ body: (PostgresConnection) throws(PostgresError) -> PostgresRows
  ) throws(StoreError) -> PostgresRows {
    try StoreError.of(options.description) { () throws(PostgresError) in
      try PostgresSession(options, patience: settings.patience).repeating(body)
    }
  }

  private init(
    _ options: PostgresOptions, _ account: PostgresRows, _ settings: Settings
  ) throws(StoreError) {
    let found = try StoreError.of(options.description) { () throws(PostgresError) in
      try account.integer(0, 0)
    }
    // See v6-move.up.sql.
    guard found > 0 else {
      throw .moved(path: options.description, to: "another store, as its owner told “proofctl”")
    }
    self.account = Int32(truncatingIfNeeded: found)
    place = options.description
    self.options = options
    self.settings = settings
    var patient = options
    patient.callTimeout = 30_000
    let patience = settings.patience
    let lanes = 0..<settings.lanes
    uses = Batcher(lanes: lanes.map { _ in UseLane(options, patience: patience) })
    let number = self.account
    let calls = Batcher(
      lanes: lanes.map { _ in
        CallLane(options, patience: patience, renewingBy: Self.renewal(of: number))
      })
    self.calls = calls
    // No lease: a survey may take longer than one holds.
    surveys = Batcher(lanes: [CallLane(patient, patience: patience)])
    readings = settings.readers.map { readers in
      var patient = readers
      patient.callTimeout = 30_000
      return Batcher(
        lanes: [CallLane(patient, patience: patience, needing: SchemaVersion.neededByReaders)])
    }
    guard settings.readers != nil else {
      heartbeat = nil
      return
    }
    let beat = Self.renewal(of: number)
    // A call that fails leaves no row, and the age of readings grows.
    heartbeat = Heartbeat { _ = try? calls.answer(to: beat) }
  }

  /// The call that commits a row of one connection.
  private static func renewal(of account: Int32) -> PostgresCall {
    let name = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    return PostgresCall(.lease, [.int4(account), .bytea(name)])
  }

  /// Calls a statement whose first parameter is the account's number.
  ///
  /// - Parameters:
  ///   - statement: The statement.
  ///   - values: Its other parameters.
  ///   - isPresent: Whether the answer must be the present state, and not that of a primary that was
  ///     replaced.
  /// - Returns: The rows.
  /// - Throws: `PostgresError`.
  func run(
    _ statement: PostgresStatement, _ values: [PostgresValue], isPresent: Bool = false
  ) throws(PostgresError) -> PostgresRows {
    try calls.answer(
      to: PostgresCall(statement, [.int4(account)] + values, needsLease: isPresent))
  }

  /// Asks the primary for its time. A challenge waits for it, so it does not wait for a survey.
  func time() throws(PostgresError) -> PostgresRows {
    try calls.answer(to: PostgresCall(.time, [], needsLease: true))
  }

  /// Runs a query over all devices, at the primary.
  func survey(_ call: PostgresCall) throws(PostgresError) -> PostgresRows {
    try surveys.answer(to: call, within: 30_000)
  }

  /// Runs a query at a reader; nil without readers.
  func reading(_ call: PostgresCall) throws(PostgresError) -> PostgresRows? {
    try readings?.answer(to: call, within: 30_000)
  }

  func spend(_ use: ChallengeUse) throws(PostgresError) -> ChallengeUsed.Outcome {
    try uses.answer(to: use).outcome
  }

  func stored<R>(_ body: () throws(PostgresError) -> R) throws(StoreError) -> R {
    try StoreError.of(place, body)
  }

  // MARK: Rows

  /// One row, or nil.
  package func row(_ key: String, of table: StoreTable) throws(StoreError) -> [UInt8]? {
    try stored { () throws(PostgresError) in
      let rows = try run(.row, [.int2(table.number), .bytea(Array(key.utf8))])
      return try rows.optionalBytes(0, 0)
    }
  }

  /// All rows of a table, in the order of their keys' bytes.
  package func rows(of table: StoreTable) throws(StoreError) -> [StoreRow] {
    try stored { () throws(PostgresError) in
      let answer = try run(.rows, [.int2(table.number)])
      var rows: [StoreRow] = []
      for row in 0..<answer.count {
        rows.append(StoreRow(try answer.text(row, 0), try answer.bytes(row, 1)))
      }
      return rows
    }
  }

  /// The revision and all rows of some tables, in one statement: one trip, one snapshot.
  package func image(of tables: [StoreTable]) throws(StoreError) -> StoreImage {
    try stored { () throws(PostgresError) in
      let answer = try run(.image, [.int2s(tables.map(\.number))], isPresent: true)
      var rows: [Int16: [StoreRow]] = [:]
      guard answer.count > 0, try answer.integer(0, 0) == 0 else {
        throw PostgresError(.mismatch, "an image has no revision")
      }
      for row in 1..<answer.count {
        let table = Int16(truncatingIfNeeded: try answer.integer(row, 0))
        rows[table, default: []].append(
          StoreRow(try answer.text(row, 1), try answer.bytes(row, 2)))
      }
      return StoreImage(
        revision: UInt64(bitPattern: try answer.integer(0, 3)),
        Dictionary(tables.map { ($0, rows[$0.number] ?? []) }, uniquingKeysWith: { $1 }))
    }
  }

  /// Makes all changes or none, under the name of a random operation: a repeated call knows it.
  package func apply(_ changes: [StoreChange]) throws(StoreError) {
    let parts = changes.map(\.parts)
    let operation = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    let (outcome, refused) = try stored { () throws(PostgresError) in
      let rows = try run(
        .apply,
        [
          .bytea(operation), .bool(changes.countsForRevision), .int2s(parts.map(\.kind)),
          .int2s(parts.map(\.table.number)), .byteas(parts.map { Array($0.key.utf8) }),
          .byteas(parts.map(\.value)),
        ])
      return (try rows.text(0, 0), Int(try rows.integer(0, 1)))
    }
    switch outcome {
    case "applied", "again": return
    case "taken" where changes.indices.contains(refused):
      throw .alreadyThere(table: parts[refused].table, key: parts[refused].key)
    case "changed" where changes.indices.contains(refused):
      throw .changedMeanwhile(table: parts[refused].table, key: parts[refused].key)
    default: throw .database(place, detail: "a change of rows ended as “\(outcome)”")
    }
  }

  /// Grows with each change.
  package func revision() throws(StoreError) -> UInt64 {
    try stored { () throws(PostgresError) in
      let rows = try run(.see, [.bytea([]), .null, .null], isPresent: true)
      return UInt64(bitPattern: try rows.integer(0, 0))
    }
  }

  /// Makes a database that was restored from a backup safe to serve, together with a fresh key of
  /// salts. A repeated call does no harm.
  ///
  /// - Parameters:
  ///   - now: The time.
  ///   - block: Numbers of each counter that are left out: more than were given since the backup.
  /// - Throws: ``StoreError/database(_:detail:)``.
  package func afterRestore(at now: UnixTime, skipping block: Int64) throws(StoreError) {
    try stored { () throws(PostgresError) in
      _ = try run(
        .afterRestore, [.int8(SpentRing.minute(of: now)), .int8(block), .int8(now.seconds)])
    }
  }

  /// Adds to a counter, and returns its earlier value. A call that is repeated after a commit that
  /// was not answered leaves a gap.
  package func advance(_ counter: String, by count: UInt64) throws(StoreError) -> UInt64 {
    try stored { () throws(PostgresError) in
      let name = PostgresValue.bytea(Array("counter.\(counter)".utf8))
      return try UInt64(
        bitPattern: run(.advance, [name, .int8(Int64(bitPattern: count))]).integer(0, 0))
    }
  }
}

extension StoreTable {
  var number: Int16 { Int16(rawValue) }
}

extension StoreChange {
  /// The change as `pf2.apply` takes it.
  fileprivate var parts: (kind: Int16, table: StoreTable, key: String, value: [UInt8]?) {
    switch self {
    case .insert(let table, let key, let value): (0, table, key, value)
    case .put(let table, let key, let value): (1, table, key, value)
    case .expect(let table, let key, let value): (2, table, key, value)
    case .remove(let table, let key): (3, table, key, nil)
    }
  }
}

extension StoreError {
  /// Calls the database.
  static func of<R>(
    _ place: String, _ body: () throws(PostgresError) -> R
  ) throws(StoreError) -> R {
    do throws(PostgresError) {
      return try body()
    } catch {
      throw .database(place, detail: error.description)
    }
  }
}
