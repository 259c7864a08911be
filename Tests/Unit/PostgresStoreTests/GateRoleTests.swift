// SPDX-License-Identifier: Apache-2.0

import PostgresServers
import PostgresStore
import Testing

/// The rights of the role proof_gate: the places of gates, and nothing of an account.
@Suite("The role of gates", .enabled(if: Server.isThere))
struct GateRoleTests {
  private static let open = PostgresStatement(
    "open", "SELECT pfg.open_replay($1::int4, $2::bytea)")

  @Test("It executes the functions of gates and the one that tells the version, and reads no table")
  func rights() throws {
    let database = try Server.main.database()
    let rows = try database.superuser().run(
      PostgresStatement(
        "rights",
        """
        SELECT coalesce(string_agg(n.nspname || '.' || p.proname, ' ' ORDER BY 1), '')::text
          FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
          WHERE n.nspname LIKE 'pf%' AND has_schema_privilege('proof_gate', n.oid, 'USAGE')
            AND has_function_privilege('proof_gate', p.oid, 'EXECUTE')
        UNION ALL
        SELECT coalesce(string_agg(c.relname, ' '), '')::text
          FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE n.nspname LIKE 'pf%' AND c.relkind IN ('r', 'S', 'v')
            AND (has_schema_privilege('proof_gate', n.oid, 'USAGE')
              OR has_table_privilege('proof_gate', c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE'))
        """))
    let functions = try rows.text(0, 0).split(separator: " ").sorted()
    #expect(
      functions == [
        "pf1.schema", "pfg.begin_replay", "pfg.open_replay", "pfg.replay_forget",
        "pfg.replay_insert", "pfg.replay_judged", "pfg.replay_judgement", "pfg.replay_record",
        "pfg.replay_redeem",
      ])
    #expect(try rows.text(1, 0) == "")
  }

  @Test("No function of gates opens, reads or changes the place of an account")
  func places() throws {
    let database = try Server.main.database()
    let gate = try database.gate()
    let own = try gate.run(Self.open, .int4(0), .bytea([1])).integer(0, 0)
    #expect(
      failure { () throws(PostgresError) in _ = try gate.run(Self.open, .int4(1), .bytea([1])) }?
        .state == "42501")
    try database.openAccount()
    let theirs = try database.service().run(
      PostgresStatement("open", "SELECT pf2.open_replay(1, $1::bytea)"), .bytea([1])
    ).integer(0, 0)
    #expect(theirs != own)
    for call in [
      "begin_replay(PLACE, 1)", "replay_insert(PLACE, 1, 'k', 2)", "replay_judgement(PLACE, 'n')",
      "replay_record(PLACE, 1, 'n', 'j', 2, 'k', 2)",
      "replay_redeem(PLACE, 1, 'n', 'k', 2, 'd', 'a')",
      "replay_judged(PLACE, 'd', 'm', 1, 'n', 'j', 2)", "replay_forget(PLACE, 'a')",
    ] {
      func run(_ place: Int64) -> PostgresError? {
        let text = "SELECT pfg." + call.replacing("PLACE", with: "\(place)")
        return failure { () throws(PostgresError) in _ = try gate.execute(text) }
      }
      #expect(run(theirs)?.state == "42501", "\(call)")
      #expect(run(own) == nil, "\(call)")
    }
  }

  @Test("Without the role a migration goes through, and the role gets its rights later")
  func later() throws {
    let database = try Server.main.database()
    // The role is there on this server; `grantGates` says so each time, without harm.
    let migrator = Migrator(try database.migrator())
    #expect(try migrator.grantGates() == true)
    #expect(try migrator.grantGates() == true)
    try migrator.move(to: 7)
    #expect(try migrator.grantGates() == nil)
    let service = try database.service()
    let old = failure { () throws(PostgresError) in
      try SchemaVersion(of: service).check(needed: SchemaVersion.neededByGates)
    }
    #expect(old?.reason == .mismatch)
  }
}
