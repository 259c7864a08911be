// SPDX-License-Identifier: Apache-2.0

import Foundation
import PostgresServers
import PostgresStore
import ProofModel
import Testing

/// The reading of a device together with the mark of a salt, and the functions that name the table of a slot.
@Suite("Readings of devices and marks", .enabled(if: Server.isThere))
struct SeeTests {
  private let database: Database
  private let connection: PostgresConnection

  init() throws {
    database = try Server.main.database()
    try database.openAccount()
    connection = try database.service()
  }

  private static let see = PostgresStatement(
    "see",
    """
    SELECT revision, version, generation, first_seen, last_seen, note, report, answer, floor
    FROM pf2.see($1::int4, $2::bytea, $3::int2, $4::bytea)
    """)
  /// The statements of the programs of versions 7 to 9.
  private static let earlier = PostgresStatement(
    "see_earlier",
    """
    SELECT revision, version, generation, first_seen, last_seen, note
    FROM pf1.see($1::int4, $2::bytea)
    """)
  private static let earlierWithMark = PostgresStatement(
    "see_with_mark",
    """
    SELECT s.revision, s.version, s.generation, s.first_seen, s.last_seen, s.note, m.report, m.answer
    FROM pf1.see($1::int4, $2::bytea) s
    LEFT JOIN pf2.spent($3::int2, $1::int4, $2::bytea, $4::bytea) m ON true
    """)

  private func table(_ slot: Int) -> String { "pf.spent_\(slot < 10 ? "0" : "")\(slot)" }

  private func see(
    _ device: String, slot: Int16?, account: Int32 = 1, over connection: PostgresConnection? = nil
  ) throws -> PostgresRows {
    try (connection ?? self.connection).run(
      Self.see, .int4(account), .bytea(Array(device.utf8)), slot.map { .int2($0) } ?? .null,
      slot.map { _ in .bytea([115]) } ?? .null)
  }

  @Test("The program before this one reads the same beside it, in each state")
  func besideEarlier() throws {
    try SchemaVersion(of: connection).check(program: 9, needed: 7)
    try database.migrator().execute(
      """
      UPDATE pf.account SET revision = 12;
      INSERT INTO pf.device VALUES (1, 'device', 3, 7, 100, 200, 0, 'note'), (1, 'both', 4, 0, 1, 2, 0, '');
      INSERT INTO pf.spent_05 VALUES (1, 0, 'both', 's', 'r', 'a'), (1, 0, 'mark', 's', 'r', 'a'),
        (1, 0, 'refused', 's', 'r', NULL), (2, 0, 'device', 's', 'r', 'a'), (1, 0, 'device', 't', 'r', 'a');
      INSERT INTO pf.spent_06 VALUES (1, 0, 'device', 's', 'r', 'a')
      """)
    for device in ["device", "both", "mark", "refused", "none"] {
      for account: Int32 in [1, 2] {
        let key: [PostgresValue] = [.int4(account), .bytea(Array(device.utf8))]
        let old = try connection.run(PostgresCall(Self.earlier, key)).rows
        let new = try see(device, slot: nil, account: account).rows
        #expect(
          new.map { $0.dropLast() } == old.map { $0 + [nil, nil] },
          "\(device) of account \(account)")
        let salt: [PostgresValue] = [.int2(5), .bytea([115])]
        let oldWithMark = try connection.run(PostgresCall(Self.earlierWithMark, key + salt))
        let newWithMark = try see(device, slot: 5, account: account).rows.map { $0.dropLast() }
        #expect(
          newWithMark == oldWithMark.rows.map { $0[...] },
          "\(device) of account \(account), with its mark")
      }
    }
    // The comparison is one of rows with content.
    let both = try see("both", slot: 5)
    #expect(try both.count == 1 && both.integer(0, 0) == 12 && both.integer(0, 1) == 4)
    #expect(try both.text(0, 6) == "r" && both.text(0, 7) == "a")
    #expect(try see("refused", slot: 5).rows[0][6...7] == [[114], nil])
    #expect(try see("none", slot: 5, account: 2).count == 0)
  }

  @Test("Each slot has its own table: to read, to lock and to write")
  func slots() throws {
    let migrator = try database.migrator()
    for slot in 0..<64 {
      try migrator.execute("INSERT INTO \(table(slot)) VALUES (1, 0, 'd', 's', '\(slot)', 'a')")
    }
    for slot in 0..<64 {
      #expect(try see("d", slot: Int16(slot)).text(0, 6) == "\(slot)")
      let made = try migrator.run(
        PostgresStatement(
          "mark", "SELECT pf.mark($1::int2, 1, 0, 'own', 's', $2::bytea, 'a')"),
        .int2(Int16(slot)), .bytea([UInt8(slot)]))
      #expect(try made.bool(0, 0))
      let found = "SELECT count(*) FROM \(table(slot)) WHERE device = 'own'"
      #expect(try migrator.number(found) == 1, "slot \(slot)")
      try migrator.execute("BEGIN; SELECT pf.lock_spent(\(slot)::int2)")
      let locks = """
        SELECT count(*) FROM pg_locks WHERE relation = '\(table(slot))'::regclass
          AND pid = pg_backend_pid() AND mode = 'RowExclusiveLock'
        """
      #expect(try migrator.number(locks) == 1, "slot \(slot)")
      try migrator.execute("ROLLBACK")
    }
  }

  @Test(
    "Where the device is missing, the reading brings the floor of generations, with a mark or not")
  func floor() throws {
    let migrator = try database.migrator()
    try migrator.execute("INSERT INTO pf.device VALUES (1, 'd', 1, 0, 0, 0, 0, '')")
    for slot: Int16? in [nil, 5] {
      #expect(try see("none", slot: slot).integer(0, 8) == 0)
      #expect(try see("d", slot: slot).optionalBytes(0, 8) == nil)
    }
    try migrator.execute(
      """
      INSERT INTO pf.counter VALUES (1, 'generation floor', 9), (1, 'gate generation floor', 11),
        (2, 'generation floor', 12)
      """)
    for slot: Int16? in [nil, 5] {
      #expect(try see("none", slot: slot).integer(0, 8) == 9)
      #expect(try see("d", slot: slot).optionalBytes(0, 8) == nil)
    }
  }

  @Test("A slot that is none is refused", arguments: ["-32768", "-1", "64", "32767", "NULL"])
  func noSlot(slot: String) throws {
    let migrator = try database.migrator()
    for call in [
      "pf2.see(1, 'd', (\(slot))::int2, 's')", "pf.lock_spent((\(slot))::int2)",
      "pf.mark((\(slot))::int2, 1, 0, 'd', 's', 'r', 'a')",
    ] {
      let refused = failure { () throws(PostgresError) in try migrator.execute("SELECT \(call)") }
      // pf2.see reads the device alone if there is no slot.
      let mayBe = slot == "NULL" && call.hasPrefix("pf2.see")
      #expect(refused?.state == (mayBe ? nil : "22023"), "\(call)")
    }
  }

  @Test("The device and the mark are those of one moment")
  func oneSnapshot() throws {
    try database.migrator().execute("INSERT INTO pf.device VALUES (1, 'd', 1, 0, 0, 0, 0, '')")
    // A use commits while a reading waits for the table of marks.
    let writer = try database.migrator()
    try writer.execute(
      """
      BEGIN; LOCK TABLE pf.spent_05 IN ACCESS EXCLUSIVE MODE;
      UPDATE pf.device SET version = 2; INSERT INTO pf.spent_05 VALUES (1, 0, 'd', 's', 'r', 'a')
      """)
    let seen = CoreLock<PostgresRows?>(nil)
    let done = DispatchSemaphore(value: 0)
    let call = PostgresCall(
      Self.see, [.int4(1), .bytea(Array("d".utf8)), .int2(5), .bytea(Array("s".utf8))])
    Thread { [connection] in
      let rows = try? connection.run(call)
      seen.withLock { $0 = rows }
      done.signal()
    }.start()
    try Server.main.waitForLock(of: connection.backend)
    try writer.execute("COMMIT")
    done.wait()
    let rows = try #require(seen.withLock { $0 })
    // The moment is that of the statement's begin, as for every reading of one statement.
    #expect(try rows.integer(0, 1) == 1 && rows.optionalBytes(0, 6) == nil)
    #expect(try see("d", slot: 5).integer(0, 1) == 2 && see("d", slot: 5).text(0, 6) == "r")
  }

  @Test("The service's role reads by the function, the role of gates and others do not")
  func rights() throws {
    #expect(try see("d", slot: 5).count == 1)
    let plain = "has_function_privilege('proof_plain', oid, 'EXECUTE')"
    let gate = "has_function_privilege('proof_gate', oid, 'EXECUTE')"
    #expect(
      try database.superuser().number(
        "SELECT count(*) FROM pg_proc WHERE oid = 'pf2.see'::regproc AND (\(plain) OR \(gate))")
        == 0)
    // A function with its owner's rights finds no table or operator of its caller.
    #expect(
      try database.superuser().number(
        """
        SELECT count(*) FROM pg_proc WHERE pronamespace::regnamespace::text IN ('pf1', 'pf2', 'pfg')
          AND (NOT prosecdef OR proconfig IS DISTINCT FROM ARRAY['search_path=pg_catalog, pg_temp'])
        """) == 0)
  }

  @Test("Marks and devices of one schema are there in the other, forward and back")
  func forwardAndBack() throws {
    let expiry = Int32(Date().timeIntervalSince1970) / 60 * 60 + 330
    func use(_ salt: UInt8, version: Int64) -> ChallengeUse {
      ChallengeUse(
        account: 1, expiry: expiry, salt: [salt], device: Array("d".utf8), version: version,
        note: [salt], digest: [salt], answer: [salt])
    }
    let migrator = Migrator(try database.migrator())
    let slot = PostgresValue.int2(use(1, version: 0).slot)
    func mark(_ statement: PostgresStatement, _ salt: UInt8) throws -> [UInt8]? {
      try connection.run(statement, .int4(1), .bytea(Array("d".utf8)), slot, .bytea([salt]))
        .optionalBytes(0, 7)
    }
    #expect(try connection.use([use(1, version: 0)])[0].outcome == .used)
    try migrator.move(to: 9)
    try SchemaVersion(of: connection).check(program: 9, needed: 7)
    let refused = failure { () throws(PostgresError) in try SchemaVersion(of: connection).check() }
    #expect(refused?.reason == .mismatch && refused?.words.contains("migrate") == true)
    #expect(try mark(Self.earlierWithMark, 1) == [1])
    #expect(try connection.use([use(2, version: 1)])[0].outcome == .used)
    #expect(try connection.use([use(1, version: 2)])[0].outcome == .again([1]))
    try migrator.move(to: 10)
    // The open session goes on with both.
    for salt: UInt8 in [1, 2] {
      #expect(try mark(Self.earlierWithMark, salt) == [salt])
      #expect(try mark(Self.see, salt) == [salt])
    }
    #expect(try connection.use([use(2, version: 2)])[0].outcome == .again([2]))
    #expect(try see("d", slot: nil).integer(0, 1) == 2)
  }
}
