// SPDX-License-Identifier: Apache-2.0

import Foundation
import OwnThreads
import PostgresServers
import PostgresStore
import ProofModel
import Testing

@Suite("The schema forward and back", .enabled(if: Server.isThere))
struct MigrationTests {
  /// Every table, column, index and function of the schemas, with the rights of the service's role.
  private func inventory(_ database: Database) throws -> String {
    try database.superuser().run(
      PostgresStatement(
        "inventory",
        """
        SELECT coalesce(string_agg(line, E'\\n' ORDER BY line), '')::text FROM (
          SELECT format('column %s.%s.%s %s', table_schema, table_name, column_name, data_type) AS line
            FROM information_schema.columns WHERE table_schema IN ('pf', 'pf1', 'pf2', 'pfg', 'pf3')
          UNION ALL SELECT format('index %s', indexdef) FROM pg_indexes WHERE schemaname = 'pf'
          UNION ALL SELECT format('function %s %s %s %s', oid::regprocedure, prosecdef, proacl, md5(prosrc)) FROM pg_proc
            WHERE pronamespace::regnamespace::text IN ('pf', 'pf1', 'pf2', 'pfg', 'pf3')) AS lines
        """)
    ).text(0, 0)
  }

  @Test("Forward, back and forward again gives the same schema at each version")
  func forwardBackForward() throws {
    let database = try Server.main.database(migrated: false)
    let migrator = Migrator(try database.migrator())
    let last = Migration.all.count
    #expect(try migrator.version() == 0)
    var seen = [try inventory(database)]
    for version in 1...last {
      try migrator.move(to: version)
      seen.append(try inventory(database))
    }
    #expect(Set(seen).count == last + 1)
    for version in (0..<last).reversed() {
      try migrator.move(to: version)
      #expect(try inventory(database) == seen[version], "back at version \(version)")
      #expect(try migrator.version() == version)
    }
    try migrator.move(to: last)
    #expect(try inventory(database) == seen[last])
    #expect(try SchemaVersion(of: database.service()).version == last)
    #expect(
      failure { () throws(PostgresError) in try migrator.move(to: last + 1) }?.reason == .mismatch)
  }

  @Test(
    "Moving back refuses to lose a row, whichever table has one",
    arguments: [
      "INSERT INTO pf.account VALUES (1, 'a')",
      "INSERT INTO pf.\"row\" VALUES (1, 1, 'ban', 'v')",
      "INSERT INTO pf.counter VALUES (1, 'seal', 1)",
      "INSERT INTO pf.device VALUES (1, 'd', 1, 7, 0, 0, 0, '')",
      "INSERT INTO pf.issue VALUES (1, 'i', 'h', 1, 0)",
      "INSERT INTO pf.operation VALUES (1, 'o', 'r')",
      "INSERT INTO pf.event_count VALUES (1, 'n', 1, 1)",
      "INSERT INTO pf.spent_00 VALUES (1, 0, 'd', 's', 'r', 'a')",
      "INSERT INTO pf.spent_63 VALUES (1, 0, 'd', 's', 'r', 'a')",
      "INSERT INTO pf.event_40 VALUES (1, 40, 'e')",
      "INSERT INTO pf.gate_line VALUES (1, 'd', 'g', 7)",
      "INSERT INTO pf.replay (account, audience) VALUES (1, 'a')",
      "INSERT INTO pf.replay (account, audience) VALUES (0, 'gate')",
      "INSERT INTO pf.ledger (name) VALUES ('a')",
      "UPDATE pf.spent_ring SET floor_minute = 5 WHERE slot = 5",
      "UPDATE pf.event_ring SET floor_minute = 5 WHERE slot = 5",
    ])
  func nothingIsLost(insert: String) throws {
    let database = try Server.main.database()
    let connection = try database.migrator()
    try connection.execute(insert)
    let migrator = Migrator(connection)
    let refused = failure { () throws(PostgresError) in try migrator.move(to: 0) }
    #expect(refused?.state == "55006", "\(String(describing: refused))")
    // The steps before it were whole: the schema is at the version before that step, and goes forward again.
    let table = insert.split(separator: " ")[2]
    let isOfGate = insert.contains("(0, 'gate')")
    #expect(
      try migrator.version()
        == (isOfGate ? 8 : ["pf.gate_line": 4, "pf.replay": 5, "pf.ledger": 9][table, default: 1]))
    try migrator.move(to: Migration.all.count)
    #expect(try SchemaVersion(of: database.service()).version == Migration.all.count)
  }

  @Test("A step that fails leaves the version as it was")
  func failedStep() throws {
    let database = try Server.main.database()
    let count = Migration.all.count
    let connection = try database.migrator()
    let before = try inventory(database)
    let broken = Migration(
      version: count + 1, oldestProgram: 0, forward: "CREATE SCHEMA pf3; SELECT nothing;", back: "")
    let migrator = Migrator(connection, steps: Migration.all + [broken])
    #expect(
      failure { () throws(PostgresError) in try migrator.move(to: count + 1) }?.state == "42703")
    #expect(try migrator.version() == count)
    #expect(try inventory(database) == before)
  }

  @Test("A change in two steps keeps the old program working between them, and stops it after")
  func twoSteps() throws {
    let database = try Server.main.database()
    let count = Migration.all.count
    let program = SchemaVersion.program
    let steps =
      Migration.all + [
        Migration(
          version: count + 1, oldestProgram: 0,
          forward: """
            CREATE SCHEMA pf3; GRANT USAGE ON SCHEMA pf3 TO proof_service;
            ALTER TABLE pf.account ADD COLUMN region int NOT NULL DEFAULT 0;
            CREATE FUNCTION pf3.count_devices(a int) RETURNS bigint LANGUAGE sql SECURITY DEFINER
              SET search_path = pg_catalog AS 'SELECT count(*) FROM pf.device WHERE account = a';
            """,
          back: "DROP SCHEMA pf3 CASCADE; ALTER TABLE pf.account DROP COLUMN region;"),
        Migration(
          version: count + 2, oldestProgram: program + 1,
          forward: "DROP FUNCTION pf1.count_devices(int);",
          back: """
            CREATE FUNCTION pf1.count_devices(a int) RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER
              SET search_path = pg_catalog, pg_temp AS 'SELECT count(*) FROM pf.device WHERE account = a';
            """),
      ]
    let migrator = Migrator(try database.migrator(), steps: steps)
    let node = try database.service()
    let old = PostgresStatement("old", "SELECT pf1.count_devices(1)")
    let new = PostgresStatement("new", "SELECT pf3.count_devices(1)")
    #expect(
      failure { () throws(PostgresError) in
        try SchemaVersion(of: node).check(program: program + 1, needed: count + 1)
      }?.reason == .mismatch)
    #expect(failure { () throws(PostgresError) in try node.run(new) }?.state == "3F000")

    // 1. The new schema beside the old one: both programs work.
    try migrator.move(to: count + 1)
    try SchemaVersion(of: node).check()
    try SchemaVersion(of: node).check(program: program + 1, needed: count + 1)
    #expect(try node.run(old).integer(0, 0) == 0)
    #expect(try node.run(new).integer(0, 0) == 0)

    // 2. The old functions are gone: the old program says so at its next check.
    try migrator.move(to: count + 2)
    try SchemaVersion(of: node).check(program: program + 1, needed: count + 1)
    let tooOld = failure { () throws(PostgresError) in
      try SchemaVersion(of: node).check(program: program)
    }
    #expect(tooOld?.reason == .mismatch && tooOld?.mender == .operatorOfDatabase)
    #expect(tooOld?.words.contains("update the program") == true)

    // 3. Back by one step: the old program works again.
    try migrator.move(to: count + 1)
    try SchemaVersion(of: node).check(program: program)
    #expect(try node.run(old).integer(0, 0) == 0)
    // A program without these steps does not touch a schema that is ahead of it.
    let behind = Migrator(try database.migrator())
    #expect(failure { () throws(PostgresError) in try behind.move(to: count) }?.reason == .mismatch)
  }

  @Test("A version that this program does not know is refused, and says what to do")
  func unknownVersions() throws {
    let database = try Server.main.database()
    let migrator = Migrator(try database.migrator())
    func words(_ body: () throws(PostgresError) -> Void) -> String? {
      let error = failure(body)
      #expect(error == nil || error?.reason == .mismatch)
      return error?.words
    }
    for version in [-1, 12] {
      #expect(
        words { () throws(PostgresError) in try migrator.move(to: version) }
          == "this program knows versions 0 to 11, not \(version)")
    }
    let owner = try database.superuser()
    for (version, oldest, said) in [
      (11, 11, nil), (10, 6, nil),
      (9, 6, "the schema has version 9, this program needs 10; migrate it"),
      (
        12, 12,
        "the schema has version 12 for program 12 or later, this is 11; update the program"
      ), (12, 11, nil),
    ] as [(Int, Int, String?)] {
      try owner.execute("UPDATE pf.schema SET version = \(version), oldest_program = \(oldest)")
      let node = try database.service()
      #expect(
        words { () throws(PostgresError) in try SchemaVersion(of: node).check() } == said,
        "\(version) \(oldest)")
    }
    #expect(try migrator.version() == 12)
    #expect(
      words { () throws(PostgresError) in try migrator.move(to: 11) }
        == "the schema has version 12, this program knows 11; use a later one")
  }

  @Test("Two migrators at once make each step once")
  func twoMigrators() throws {
    let database = try Server.main.database(migrated: false)
    try Migrator(database.migrator()).move(to: 1)
    let errors = CoreLock<[PostgresError]>([])
    onThreads(4) { _ in
      guard let migrator = try? Migrator(database.migrator()) else { return }
      let error = failure { () throws(PostgresError) in try migrator.move(to: Migration.all.count) }
      if let error { errors.withLock { $0.append(error) } }
    }
    // A migrator that lost says so; the schema is whole.
    #expect(errors.withLock { $0 }.allSatisfy { $0.state == "40001" })
    #expect(errors.withLock { $0.count } < 4)
    #expect(try Migrator(database.migrator()).version() == Migration.all.count)
  }

  @Test("The service's role reads and writes by functions only")
  func rights() throws {
    let database = try Server.main.database()
    let service = try database.service()
    for text in [
      "SELECT * FROM pf.device", "SELECT * FROM pf.account", "SELECT * FROM pf.spent_05",
      "SELECT pf.mark(5::int2, 1, 0, 'd', 's', 'r', 'a')", "TRUNCATE pf.spent_00",
      "DELETE FROM pf.spent_00", "UPDATE pf.spent_ring SET floor_minute = 0",
      "INSERT INTO pf.account VALUES (1, 'a')",
      "SELECT pf.mark_refused(0::int2, 1, 'd', 's')", "SELECT pf1.sweep(0::int2)",
      "SELECT pf1.apply(1, 'o', 1::int2, 'k', NULL, 'v')", "CREATE TABLE pf1.mine (n int)",
      "DROP FUNCTION pf1.schema()", "CREATE SCHEMA mine", "ALTER TABLE pf.device ADD COLUMN n int",
      "UPDATE pf.schema SET version = 9",
    ] {
      let refused = failure { () throws(PostgresError) in
        try service.run(PostgresStatement(text, text))
      }
      #expect(refused?.state == "42501", "\(text): \(String(describing: refused))")
    }
    // A function of a later step is not open to every role.
    #expect(
      try database.superuser().number(
        """
        SELECT count(*) FROM pg_proc WHERE pronamespace::regnamespace::text IN ('pf', 'pf1', 'pf2')
          AND has_function_privilege('proof_plain', oid, 'EXECUTE')
        """) == 0)
  }
}
