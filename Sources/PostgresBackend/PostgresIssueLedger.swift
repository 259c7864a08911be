// SPDX-License-Identifier: Apache-2.0

package import PostgresStore
package import ProofBackend
package import ProofModel

/// A ledger of issued and revoked generations in a PostgreSQL database: for backends on several machines.
///
/// Each note is one call, and is committed before the call returns. A call whose connection broke is
/// repeated: the same note once more changes nothing.
package final class PostgresIssueLedger: IssueNotes {
  /// The name of the ledger for a URI that gives none.
  package static let usualName = "ledger"

  private static let pageSize: Int32 = 10_000

  private let place: Int32
  private let database: String
  private let calls: Batcher<CallLane>

  /// Opens a ledger, or makes it.
  ///
  /// - Parameters:
  ///   - options: The database, with the role of services.
  ///   - name: The ledger's name. All backends of one issuer key name the same.
  ///   - patience: Milliseconds after the first failure in which a call is tried again.
  /// - Throws: ``BackendError/storage(path:reason:)``.
  package init(
    _ options: PostgresOptions, named name: String, patience: Int64 = 3_000
  ) throws(BackendError) {
    let version = SchemaVersion.neededByLedgers
    let session = PostgresSession(options, patience: patience, needing: version)
    database = options.description
    place = try Self.kept(database) { () throws(PostgresError) in
      let rows = try session.repeating { (connection) throws(PostgresError) in
        try connection.run(.openLedger, .bytea(Array(name.utf8)))
      }
      return Int32(truncatingIfNeeded: try rows.integer(0, 0))
    }
    calls = Batcher(lanes: [CallLane(options, patience: patience, needing: version)])
  }

  private static func kept<R>(
    _ database: String, _ body: () throws(PostgresError) -> R
  ) throws(BackendError) -> R {
    do throws(PostgresError) {
      return try body()
    } catch {
      throw .storage(path: database, reason: error.description)
    }
  }

  private func run(
    _ statement: PostgresStatement, _ values: PostgresValue...
  ) throws(PostgresError) -> PostgresRows {
    try calls.answer(to: PostgresCall(statement, [.int4(place)] + values))
  }

  /// The latest time of a note.
  package func latestTime() throws(BackendError) -> UnixTime? {
    try Self.kept(database) { () throws(PostgresError) in
      let rows = try run(.latestNote)
      guard try rows.optionalBytes(0, 0) != nil else { return nil }
      return UnixTime(seconds: try rows.integer(0, 0))
    }
  }

  /// Notes that a token of a generation will be issued; returns when that is committed.
  package func noteIssue(
    of generation: UInt32, base: UInt32, to pair: IssuePair, by suite: TokenSuite, at time: UnixTime
  ) throws(BackendError) {
    guard UInt16(exactly: Int64(generation) - Int64(base)) != nil else {
      throw .superseded(issued: base, offered: generation)
    }
    let (outcome, known) = try Self.kept(database) { () throws(PostgresError) in
      let rows = try run(
        .noteIssue, .bytea(pair.instance.bytes), .bytea(pair.hardware.bytes),
        .int8(Int64(generation)), .int8(Int64(base)), .bool(suite == .two),
        .int8(time.seconds))
      return (try rows.text(0, 0), UInt32(clamping: try rows.integer(0, 1)))
    }
    switch outcome {
    case "issued": return
    case "revoked": throw .revokedInstance(pair.instance, through: known)
    case "superseded": throw .superseded(issued: known, offered: generation)
    case "downgraded": throw .downgraded(pair.hardware)
    default:
      throw .storage(
        path: database, reason: "its answer \(outcome) is not known; update the program")
    }
  }

  /// Notes that tokens up to a generation will be revoked; returns when that is committed.
  package func noteRevocation(
    through generation: UInt32, of pair: IssuePair, at time: UnixTime
  ) throws(BackendError) {
    try Self.kept(database) { () throws(PostgresError) in
      _ = try run(
        .noteRevocation, .bytea(pair.instance.bytes), .bytea(pair.hardware.bytes),
        .int8(Int64(generation)), .int8(time.seconds))
    }
  }

  /// All notes, in the order of pairs.
  package func notes() throws(BackendError) -> [IssueNote] {
    try Self.kept(database) { () throws(PostgresError) in
      var notes: [IssueNote] = []
      var last: (instance: [UInt8], hardware: [UInt8]) = ([], [])
      while true {
        let rows = try run(
          .notes, .bytea(last.instance), .bytea(last.hardware), .int4(Self.pageSize))
        for row in 0..<rows.count {
          last = (try rows.bytes(row, 0), try rows.bytes(row, 1))
          guard let instance = try? InstanceID(last.instance),
            let hardware = try? HardwareID(last.hardware)
          else { throw PostgresError(.mismatch, "a note has no ids of 16 bytes") }
          notes.append(
            IssueNote(
              pair: IssuePair(instance, at: hardware),
              issued: UInt32(clamping: try rows.integer(row, 2)),
              revokedThrough: UInt32(clamping: try rows.integer(row, 3)),
              isSealedWithSecret: try rows.bool(row, 4)))
        }
        guard rows.count == Int(Self.pageSize) else { return notes }
      }
    }
  }
}

extension PostgresStatement {
  fileprivate static let openLedger = PostgresStatement(
    "open_ledger", "SELECT pf2.open_ledger($1::bytea)")
  fileprivate static let latestNote = PostgresStatement(
    "ledger_latest", "SELECT pf2.ledger_latest($1::int4)")
  fileprivate static let noteIssue = PostgresStatement(
    "ledger_issue",
    """
    SELECT outcome, known FROM pf2.ledger_issue($1::int4, $2::bytea, $3::bytea, $4::int8, $5::int8,
      $6::bool, $7::int8)
    """)
  fileprivate static let noteRevocation = PostgresStatement(
    "ledger_revoke",
    "SELECT pf2.ledger_revoke($1::int4, $2::bytea, $3::bytea, $4::int8, $5::int8)")
  fileprivate static let notes = PostgresStatement(
    "ledger_notes",
    """
    SELECT instance, hardware, issued, revoked, sealed
    FROM pf2.ledger_notes($1::int4, $2::bytea, $3::bytea, $4::int4)
    """)
}
