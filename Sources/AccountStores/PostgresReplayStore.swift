// SPDX-License-Identifier: Apache-2.0

internal import PostgresStore
package import ProofBackend
package import ProofModel

/// The used event tokens of one audience in a PostgreSQL database, for redeemers on several machines.
///
/// A call whose connection broke is repeated. If the first attempt was committed, the repeated one
/// finds its own key and answers *used*, or the judgement that it recorded: a token never counts
/// twice, and may be lost.
package final class PostgresReplayStore: RedemptionStore {
  private let place: Int32
  private let database: String
  private let calls: Batcher<CallLane>
  /// For redemptions: two trips in one transaction. Those of an audience take turns anyway.
  private let redeemer: CoreLock<PostgresSession>

  /// Opens the place of an audience, or makes it.
  init(
    _ options: PostgresOptions, account: Int32, _ audience: AudienceID, patience: Int64
  ) throws(ReplayStoreFailure) {
    let session = PostgresSession(options, patience: patience)
    database = options.description
    place = try Self.kept(database) { () throws(PostgresError) in
      let rows = try session.repeating { (connection) throws(PostgresError) in
        try connection.run(.openReplay, .int4(account), .bytea(audience.bytes))
      }
      return Int32(truncatingIfNeeded: try rows.integer(0, 0))
    }
    redeemer = CoreLock(session)
    calls = Batcher(lanes: [CallLane(options, patience: patience)])
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
  package func begin(at now: UInt64) throws(ReplayStoreFailure) -> ReplayMemory {
    try Self.kept(database) { () throws(PostgresError) in
      let rows = try run(.beginReplay, [.time(now)])
      return ReplayMemory(
        highest: UInt64(clamping: try rows.integer(0, 0)),
        gap: UInt64(clamping: try rows.integer(0, 1)))
    }
  }

  /// Inserts a key unless it is there.
  package func insert(
    _ key: ReplayKey, until expiry: UInt64, at now: UInt64
  ) throws(ReplayStoreFailure) -> Bool {
    try Self.kept(database) { () throws(PostgresError) in
      try run(.replayInsert, [.time(now), .bytea(key.bytes), .time(expiry)]).bool(0, 0)
    }
  }

  /// The judgement that was recorded under a name.
  package func judgement(under name: ReplayKey) throws(ReplayStoreFailure) -> [UInt8]? {
    try Self.kept(database) { () throws(PostgresError) in
      try run(.replayJudgement, [.bytea(name.bytes)]).optionalBytes(0, 0)
    }
  }

  /// Records a judgement and uses a proof.
  package func record(
    _ record: ReplayRecord, using key: ReplayKey?, until expiry: UInt64, at now: UInt64
  ) throws(ReplayStoreFailure) -> ReplayRecording {
    try Self.kept(database) { () throws(PostgresError) in
      let rows = try run(
        .replayRecord,
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
    _ redemption: Redemption, at now: UInt64, _ judged: (EventCounts) -> [UInt8]
  ) throws(ReplayStoreFailure) -> RedemptionEnd {
    // The judgement is made once. A repeated attempt that finds the token new again has none.
    var judgement: (counts: EventCounts, bytes: [UInt8])?
    let (place, database) = (place, database)
    let result: Result<RedemptionEnd, ReplayStoreFailure> = redeemer.withLock { session in
      do throws(ReplayStoreFailure) {
        let end = try Self.kept(database) { () throws(PostgresError) in
          try session.repeating { (connection) throws(PostgresError) in
            do throws(PostgresError) {
              return try Self.redeem(redemption, at: now, place, connection) { counts in
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
    _ redemption: Redemption, at now: UInt64, _ place: Int32, _ connection: PostgresConnection,
    _ judged: (EventCounts) -> [UInt8]?
  ) throws(PostgresError) -> RedemptionEnd {
    let device = PostgresValue.bytea(redemption.device.bytes)
    let name = PostgresValue.bytea(redemption.name?.bytes)
    let first = connection.run([
      PostgresCall(.begin),
      PostgresCall(
        .replayRedeem,
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
    let highest = UInt64(clamping: try rows.integer(0, 2))
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
        .replayJudged,
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
      Int(try run(.replayForget, [.bytea(account.bytes)]).integer(0, 0))
    }
  }
}

extension PostgresAccountStore: RedemptionPlace {
  /// Opens the redemption store of one audience, on connections of its own.
  package func redemptions(
    for audience: AudienceID
  ) throws(ReplayStoreFailure) -> any RedemptionStore {
    try PostgresReplayStore(options, account: account, audience, patience: settings.patience)
  }
}

extension PostgresValue {
  /// Unix seconds.
  fileprivate static func time(_ seconds: UInt64) -> PostgresValue {
    .int8(Int64(clamping: seconds))
  }
}

extension PostgresStatement {
  fileprivate static let begin = PostgresStatement("begin", "BEGIN")
  fileprivate static let commit = PostgresStatement("commit", "COMMIT")
  fileprivate static let rollBack = PostgresStatement("roll_back", "ROLLBACK")

  fileprivate static let openReplay = PostgresStatement(
    "open_replay", "SELECT pf2.open_replay($1::int4, $2::bytea)")
  fileprivate static let beginReplay = PostgresStatement(
    "begin_replay", "SELECT highest, gap FROM pf2.begin_replay($1::int4, $2::int8)")
  fileprivate static let replayInsert = PostgresStatement(
    "replay_insert", "SELECT pf2.replay_insert($1::int4, $2::int8, $3::bytea, $4::int8)")
  fileprivate static let replayJudgement = PostgresStatement(
    "replay_judgement", "SELECT pf2.replay_judgement($1::int4, $2::bytea)")
  fileprivate static let replayRecord = PostgresStatement(
    "replay_record",
    """
    SELECT outcome, known FROM pf2.replay_record($1::int4, $2::int8, $3::bytea, $4::bytea, $5::int8,
      $6::bytea, $7::int8)
    """)
  fileprivate static let replayRedeem = PostgresStatement(
    "replay_redeem",
    """
    SELECT outcome, known, highest, meter, accounts_minute, accounts_hour, accounts_day,
      devices_minute, devices_hour, devices_day
    FROM pf2.replay_redeem($1::int4, $2::int8, $3::bytea, $4::bytea, $5::int8, $6::bytea, $7::bytea)
    """)
  fileprivate static let replayJudged = PostgresStatement(
    "replay_judged",
    """
    SELECT pf2.replay_judged($1::int4, $2::bytea, $3::bytea, $4::int8, $5::bytea, $6::bytea,
      $7::int8)
    """)
  fileprivate static let replayForget = PostgresStatement(
    "replay_forget", "SELECT pf2.replay_forget($1::int4, $2::bytea)")
}
