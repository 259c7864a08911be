// SPDX-License-Identifier: Apache-2.0

package import PostgresStore
package import ProofBackend
package import ProofModel

/// The used event tokens of one audience, or the used proofs of one gate, in a PostgreSQL database: for several machines.
///
/// A call whose connection broke is repeated. If the first attempt was committed, the repeated one
/// finds its own key and answers *used*, or the judgement that it recorded: a token never counts
/// twice, and may be lost.
package final class PostgresReplayStore: RedemptionStore {
  private let place: Int32
  private let statements: ReplayStatements
  private let database: String
  private let calls: Batcher<CallLane>
  /// For redemptions: two trips in one transaction. Those of an audience take turns anyway.
  private let redeemer: CoreLock<PostgresSession>

  /// Opens the place of an account's audience, or makes it.
  package convenience init(
    _ options: PostgresOptions, account: Int32, _ audience: AudienceID, patience: Int64
  ) throws(ReplayStoreFailure) {
    try self.init(
      options, account: account, audience.bytes, by: .ofService, needing: SchemaVersion.needed,
      patience: patience)
  }

  /// Opens a place of gates, or makes it, with the rights of the role of gates.
  ///
  /// - Parameters:
  ///   - options: The database.
  ///   - name: The name of the place. All nodes of one gate name the same.
  ///   - patience: Milliseconds after the first failure in which a call is tried again.
  /// - Throws: `ReplayStoreFailure`.
  package convenience init(
    _ options: PostgresOptions, ofGates name: String, patience: Int64 = 3_000
  ) throws(ReplayStoreFailure) {
    // No account has the number 0.
    try self.init(
      options, account: 0, Array(name.utf8), by: .ofGate, needing: SchemaVersion.neededByGates,
      patience: patience)
  }

  /// Opens the place that an option of a gate names, such as
  /// `postgres://proof_gate@db1,db2/proof?sslrootcert=…&place=front`.
  ///
  /// - Parameters:
  ///   - text: The option's value.
  ///   - usual: The name of the place where the URI has none.
  /// - Returns: The store; nil for a text that is no URI.
  /// - Throws: `ReplayStoreFailure`. Its words hold no password.
  package static func ofGates(
    at text: String, otherwise usual: String
  ) throws(ReplayStoreFailure) -> PostgresReplayStore? {
    guard PostgresPlace.isURI(text) else { return nil }
    let place = try kept("postgres://…") { () throws(PostgresError) in
      try PostgresPlace(text, naming: "place")
    }
    return try PostgresReplayStore(place.options, ofGates: place["place"] ?? usual)
  }

  private init(
    _ options: PostgresOptions, account: Int32, _ name: [UInt8], by statements: ReplayStatements,
    needing version: Int, patience: Int64
  ) throws(ReplayStoreFailure) {
    let session = PostgresSession(options, patience: patience, needing: version)
    database = options.description
    self.statements = statements
    place = try Self.kept(database) { () throws(PostgresError) in
      let rows = try session.repeating { (connection) throws(PostgresError) in
        try connection.run(statements.open, .int4(account), .bytea(name))
      }
      return Int32(truncatingIfNeeded: try rows.integer(0, 0))
    }
    redeemer = CoreLock(session)
    calls = Batcher(lanes: [CallLane(options, patience: patience, needing: version)])
  }

  private static func kept<R>(
    _ database: String, _ body: () throws(PostgresError) -> R
  ) throws(ReplayStoreFailure) -> R {
    do throws(PostgresError) {
      return try body()
    } catch {
      throw .unavailable(place: database, reason: error.description)
    }
  }

  private func run(
    _ statement: PostgresStatement, _ values: [PostgresValue]
  ) throws(PostgresError) -> PostgresRows {
    try calls.answer(to: PostgresCall(statement, [.int4(place)] + values))
  }

  /// Says up to when the database may lack something that was used: until now for a new place, and
  /// for one that was silent for more than 60 s. The database may then be a backup.
  package func begin(at now: UnixTime) throws(ReplayStoreFailure) -> ReplayMemory {
    try Self.kept(database) { () throws(PostgresError) in
      let rows = try run(statements.begin, [.time(now)])
      return ReplayMemory(
        highest: UnixTime(seconds: try rows.integer(0, 0)),
        gap: UnixTime(seconds: try rows.integer(0, 1)))
    }
  }

  /// Inserts a key unless it is there.
  package func insert(
    _ key: ReplayKey, until expiry: UnixTime, at now: UnixTime
  ) throws(ReplayStoreFailure) -> Bool {
    try Self.kept(database) { () throws(PostgresError) in
      try run(statements.insert, [.time(now), .bytea(key.bytes), .time(expiry)]).bool(0, 0)
    }
  }

  /// The judgement that was recorded under a name.
  package func judgement(under name: ReplayKey) throws(ReplayStoreFailure) -> [UInt8]? {
    try Self.kept(database) { () throws(PostgresError) in
      try run(statements.judgement, [.bytea(name.bytes)]).optionalBytes(0, 0)
    }
  }

  /// Records a judgement and uses a proof.
  package func record(
    _ record: ReplayRecord, using key: ReplayKey?, until expiry: UnixTime, at now: UnixTime
  ) throws(ReplayStoreFailure) -> ReplayRecording {
    try Self.kept(database) { () throws(PostgresError) in
      let rows = try run(
        statements.record,
        [
          .time(now), .bytea(record.name.bytes), .bytea(record.bytes), .time(record.expiry),
          .bytea(key?.bytes), .time(expiry),
        ])
      switch try rows.text(0, 0) {
      case "recorded": return .recorded
      case "used": return .used
      default: return .known(try rows.bytes(0, 1))
      }
    }
  }

  /// Uses a token, counts it and records its judgement.
  package func redeem(
    _ redemption: Redemption, at now: UnixTime, _ judged: (EventCounts) -> [UInt8]
  ) throws(ReplayStoreFailure) -> RedemptionEnd {
    // The judgement is made once. A repeated attempt that finds the token new again has none.
    var judgement: (counts: EventCounts, bytes: [UInt8])?
    let (place, statements, database) = (place, statements, database)
    let result: Result<RedemptionEnd, ReplayStoreFailure> = redeemer.withLock { session in
      do throws(ReplayStoreFailure) {
        let end = try Self.kept(database) { () throws(PostgresError) in
          try session.repeating { (connection) throws(PostgresError) in
            do throws(PostgresError) {
              return try Self.redeem(redemption, at: now, place, connection, statements) {
                counts in
                guard judgement == nil else { return nil }
                let bytes = judged(counts)
                judgement = (counts, bytes)
                return bytes
              }
            } catch {
              // A connection that is still open is in a transaction. A broken one has none.
              _ = try? connection.run(.rollBack)
              throw error
            }
          }
        }
        return .success(end)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private static func redeem(
    _ redemption: Redemption, at now: UnixTime, _ place: Int32, _ connection: PostgresConnection,
    _ statements: ReplayStatements, _ judged: (EventCounts) -> [UInt8]?
  ) throws(PostgresError) -> RedemptionEnd {
    let device = PostgresValue.bytea(redemption.device.bytes)
    let name = PostgresValue.bytea(redemption.name?.bytes)
    let first = connection.run([
      PostgresCall(.begin),
      PostgresCall(
        statements.redeem,
        [
          .int4(place), .time(now), name, .bytea(redemption.key.bytes), .time(redemption.expiry),
          device, .bytea(redemption.account?.bytes),
        ]),
    ])
    _ = try first[0].get()
    let rows = try first[1].get()
    switch try rows.text(0, 0) {
    case "known":
      let known = try rows.bytes(0, 1)
      _ = try connection.run(.commit)
      return .known(known)
    case "used":
      _ = try connection.run(.commit)
      return .used
    default: break
    }
    let highest = UnixTime(seconds: try rows.integer(0, 2))
    var meter = EventMeter(try rows.optionalBytes(0, 3) ?? [])
    meter.add(at: highest)
    var counts = EventCounts()
    counts.eventsOfDevice = meter.span(at: highest)
    counts.accountsOfDevice = try span(rows, from: 4)
    counts.devicesOfAccount = try span(rows, from: 7)
    guard let bytes = judged(counts) else {
      throw PostgresError(.refused, "the connection ended while the event was judged")
    }
    let second = connection.run([
      PostgresCall(
        statements.judged,
        [
          .int4(place), device, .bytea(meter.bytes), .time(highest), name, .bytea(bytes),
          .time(redemption.kept),
        ]),
      PostgresCall(.commit),
    ])
    _ = try second[0].get()
    _ = try second[1].get()
    return .redeemed(counts)
  }

  private static func span(
    _ rows: PostgresRows, from column: Int
  ) throws(PostgresError) -> EventCounts.Span {
    EventCounts.Span(
      minute: UInt32(clamping: try rows.integer(0, column)),
      hour: UInt32(clamping: try rows.integer(0, column + 1)),
      day: UInt32(clamping: try rows.integer(0, column + 2)))
  }

  /// Forgets which devices an account was seen with. The server removes the rows from its files at
  /// the next VACUUM, and keeps them in backups and in the log until then.
  @discardableResult
  package func forget(account: ReplayKey) throws(ReplayStoreFailure) -> Int {
    try Self.kept(database) { () throws(PostgresError) in
      Int(try run(statements.forget, [.bytea(account.bytes)]).integer(0, 0))
    }
  }
}

extension PostgresValue {
  fileprivate static func time(_ time: UnixTime) -> PostgresValue {
    .int8(time.seconds)
  }
}

extension PostgresStatement {
  fileprivate static let begin = PostgresStatement("begin", "BEGIN")
  fileprivate static let commit = PostgresStatement("commit", "COMMIT")
  fileprivate static let rollBack = PostgresStatement("roll_back", "ROLLBACK")
}

/// The statements of one role: the service's reach the places of accounts, the gate's those of gates.
private struct ReplayStatements: Sendable {
  let open, begin, insert, judgement, record, redeem, judged, forget: PostgresStatement

  static let ofService = ReplayStatements(schema: "pf2")
  static let ofGate = ReplayStatements(schema: "pfg")

  private init(schema: String) {
    open = PostgresStatement(
      "open_replay", "SELECT \(schema).open_replay($1::int4, $2::bytea)")
    begin = PostgresStatement(
      "begin_replay", "SELECT highest, gap FROM \(schema).begin_replay($1::int4, $2::int8)")
    insert = PostgresStatement(
      "replay_insert",
      "SELECT \(schema).replay_insert($1::int4, $2::int8, $3::bytea, $4::int8)")
    judgement = PostgresStatement(
      "replay_judgement", "SELECT \(schema).replay_judgement($1::int4, $2::bytea)")
    record = PostgresStatement(
      "replay_record",
      """
      SELECT outcome, known FROM \(schema).replay_record($1::int4, $2::int8, $3::bytea, $4::bytea,
        $5::int8, $6::bytea, $7::int8)
      """)
    redeem = PostgresStatement(
      "replay_redeem",
      """
      SELECT outcome, known, highest, meter, accounts_minute, accounts_hour, accounts_day,
        devices_minute, devices_hour, devices_day
      FROM \(schema).replay_redeem($1::int4, $2::int8, $3::bytea, $4::bytea, $5::int8, $6::bytea,
        $7::bytea)
      """)
    judged = PostgresStatement(
      "replay_judged",
      """
      SELECT \(schema).replay_judged($1::int4, $2::bytea, $3::bytea, $4::int8, $5::bytea,
        $6::bytea, $7::int8)
      """)
    forget = PostgresStatement(
      "replay_forget", "SELECT \(schema).replay_forget($1::int4, $2::bytea)")
  }
}
