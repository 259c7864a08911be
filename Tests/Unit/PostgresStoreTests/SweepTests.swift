// SPDX-License-Identifier: Apache-2.0

import Foundation
import PostgresServers
import PostgresStore
import ProofModel
import Testing

/// The ring's tables are emptied while challenges are used.
@Suite("Sweeps of the ring of spent challenges", .enabled(if: Server.isThere))
struct SweepTests {
  private let database: Database
  private let connection: PostgresConnection
  private let expiry: Int32
  private var slot: Int32 { expiry / 60 % 64 }
  private var table: String { slot < 10 ? "pf.spent_0\(slot)" : "pf.spent_\(slot)" }

  init() throws {
    database = try Server.main.database()
    try database.openAccount()
    connection = try database.service()
    expiry = Int32(Date().timeIntervalSince1970) / 60 * 60 + 330
  }

  private func use(_ report: UInt8 = 1) -> ChallengeUse {
    ChallengeUse(
      account: 1, expiry: expiry, salt: [1], device: [1], note: nil, digest: [report],
      answer: [report])
  }

  /// The changes of pf2.drop_marks for a slot whose minute is over. The minute here is still alive, so that
  /// only the floor can refuse the challenge.
  private func sweep() -> String {
    """
    UPDATE pf.spent_ring SET floor_minute = \(expiry / 60 + 1) WHERE slot = \(slot);
    TRUNCATE \(table)
    """
  }

  @Test("A use that begins after a sweep has taken the table sees the raised floor")
  func sweepFirst() throws {
    #expect(try connection.use([use()])[0].outcome == .used)
    let sweeper = try database.migrator()
    try sweeper.execute("BEGIN; \(sweep())")
    // The use waits for the table's lock. The sweep's commit comes after the use began.
    let outcome = CoreLock<ChallengeUsed.Outcome?>(nil)
    let done = DispatchSemaphore(value: 0)
    let again = use(2)
    Thread { [connection] in
      let used = try? connection.use([again])[0].outcome
      outcome.withLock { $0 = used }
      done.signal()
    }.start()
    try Server.main.waitForLock(of: connection.backend)
    try sweeper.execute("COMMIT")
    done.wait()
    // The mark of the first use is gone; the floor refuses the second.
    #expect(outcome.withLock { $0 } == .stale)
    #expect(try database.superuser().number("SELECT count(*) FROM \(table)") == 0)
  }

  @Test("A sweep that comes after a use waits for its commit, and gives up in time")
  func useFirst() throws {
    let user = try database.service()
    try user.execute("BEGIN")
    #expect(try user.use([use()])[0].outcome == .used)
    let sweeper = try database.migrator()
    let refused = failure { () throws(PostgresError) in
      try sweeper.execute("BEGIN; SET LOCAL lock_timeout = '50ms'; \(sweep()); COMMIT")
    }
    #expect(refused?.reason == .conflict && refused?.state == "55P03")
    try sweeper.execute("ROLLBACK")
    try user.execute("COMMIT")
    // The sweep's floor was rolled back with it, and the mark is there.
    #expect(try connection.use([use(2)])[0].outcome == .stale)
    #expect(try connection.use([use()])[0].outcome == .again([1]))
    // The next sweep succeeds, and nothing below its floor lives again.
    try sweeper.execute("BEGIN; \(sweep()); COMMIT")
    #expect(try connection.use([use()])[0].outcome == .stale)
    #expect(try connection.use([use(3)])[0].outcome == .stale)
  }

  private static let drop = PostgresStatement("drop", "SELECT pf2.drop_marks($1::int8)")

  @Test("Slots whose last mark ended before a minute are emptied, and no slot with a later mark")
  func sweeper() throws {
    let minute = Int(Date().timeIntervalSince1970) / 60
    // A mark in each minute, and in minute -20 one of the next lap of the ring.
    let script = """
      DO $$ BEGIN FOR m IN \(minute - 40)..\(minute + 23) LOOP
        EXECUTE format('INSERT INTO pf.spent_%s VALUES (1, %s, ''d'', ''s'', ''r'', ''a'')',
          to_char(m % 64, 'FM00'), m * 60 + 59);
        IF m = \(minute - 20) THEN
          EXECUTE format('INSERT INTO pf.spent_%s VALUES (1, %s, ''d'', ''t'', ''r'', ''a'')',
            to_char(m % 64, 'FM00'), (m + 64) * 60);
        END IF;
      END LOOP; END $$
      """
    try database.migrator().execute(script)
    // A use holds the table of minute -30: its slot is left for the next call.
    let holder = try database.migrator()
    let held = (minute - 30) % 64
    let heldTable = held < 10 ? "pf.spent_0\(held)" : "pf.spent_\(held)"
    try holder.execute("BEGIN; LOCK TABLE \(heldTable) IN ROW EXCLUSIVE MODE")
    let before = PostgresValue.int8(Int64(minute - 2))
    #expect(try connection.run(Self.drop, before).integer(0, 0) == 36)
    try holder.execute("ROLLBACK")
    #expect(try connection.run(Self.drop, before).integer(0, 0) == 1)
    #expect(try connection.run(Self.drop, before).integer(0, 0) == 0)
    let left = try database.superuser()
    for m in (minute - 40)...(minute + 23) {
      let slot = m % 64
      let table = slot < 10 ? "pf.spent_0\(slot)" : "pf.spent_\(slot)"
      let isDropped = m < minute - 2 && m != minute - 20
      let count = try left.number("SELECT count(*) FROM \(table)")
      #expect((count == 0) == isDropped, "minute \(m - minute)")
      let floor = try left.number("SELECT floor_minute FROM pf.spent_ring WHERE slot = \(slot)")
      #expect(floor == (isDropped ? m + 1 : 0), "minute \(m - minute)")
    }
  }

  @Test("One node sweeps at a time; another one's call does nothing")
  func oneSweeper() throws {
    let sweeper = try database.service()
    try sweeper.execute("BEGIN")
    #expect(try sweeper.run(Self.drop, .int8(0)).integer(0, 0) == 0)
    #expect(try connection.use([use()])[0].outcome == .used)
    let later = PostgresValue.int8(Int64(expiry / 60 + 1))
    #expect(try connection.run(Self.drop, later).integer(0, 0) == 0)
    try sweeper.execute("COMMIT")
    #expect(try connection.run(Self.drop, later).integer(0, 0) == 1)
    #expect(try connection.use([use()])[0].outcome == .stale)
  }

  @Test("A use under REPEATABLE READ is refused: its snapshot would be older than its lock")
  func isolation() throws {
    try connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    #expect(failure { () throws(PostgresError) in try connection.use([use()]) }?.state == "25001")
    try connection.execute("ROLLBACK")
  }
}
