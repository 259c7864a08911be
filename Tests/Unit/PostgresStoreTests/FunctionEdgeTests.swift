// SPDX-License-Identifier: Apache-2.0

import Foundation
import OwnThreads
import PostgresServers
import PostgresStore
import ProofModel
import Testing

/// The rows that functions forget, keep and order, and what steps back leave.
@Suite("Ends of functions and of steps back", .enabled(if: Server.isThere))
struct FunctionEdgeTests {
  private let database: Database

  init() throws {
    database = try Server.main.database()
    try database.openAccount()
  }

  /// One text of a statement without parameters; nil for NULL.
  private func text(_ statement: String) throws -> String? {
    try database.superuser().run(PostgresStatement(statement, statement)).optionalBytes(0, 0)
      .map { String(decoding: $0, as: UTF8.self) }
  }

  // MARK: Accounts

  @Test("An operation is known for a day, and a later change forgets those before of its account")
  func operations() throws {
    try database.superuser().execute(
      """
      INSERT INTO pf.operation (account, id, result, at) VALUES
        (1, 'early', '5', now() - interval '25 hours'),
        (1, 'late', '6', now() - interval '23 hours'),
        (2, 'early', '7', now() - interval '25 hours')
      """)
    let service = try database.service()
    func apply(_ operation: String, _ key: UInt8) throws -> [String] {
      let rows = try service.run(.apply(Array(operation.utf8), [key], from: nil, to: [1]))
      return [try rows.text(0, 0), "\(try rows.integer(0, 1))"]
    }
    // A repeated call is answered as before, and forgets nothing.
    #expect(try apply("early", 1) == ["again", "5"])
    #expect(try apply("own", 2) == ["applied", "1"])
    #expect(try apply("late", 3) == ["again", "6"])
    #expect(
      try text(
        "SELECT string_agg(account || ' ' || convert_from(id, 'UTF8'), ', ' ORDER BY account, id)"
          + " FROM (SELECT * FROM pf.operation ORDER BY account, id) AS o")
        == "1 late, 1 own, 2 early")
    #expect(try apply("early", 4) == ["applied", "2"])
  }

  @Test("Two accounts that are made at once have two numbers, and no number is given again")
  func numbers() throws {
    let making = PostgresStatement("make", "SELECT pf2.make_account($1::bytea)")
    func make(_ name: String, _ service: PostgresConnection) throws(PostgresError) -> Int64 {
      try service.run(making, .bytea(Array(name.utf8))).integer(0, 0)
    }
    let (one, two) = (try database.service(), try database.service())
    try one.execute("BEGIN")
    #expect(try make("x", one) == 2)
    let number = CoreLock<Int64?>(nil)
    let done = DispatchSemaphore(value: 0)
    Thread {
      let made = try? two.run(making, .bytea(Array("y".utf8))).integer(0, 0)
      number.withLock { $0 = made }
      done.signal()
    }.start()
    try Server.main.waitForLock(of: two.backend)
    try one.execute("COMMIT")
    done.wait()
    #expect(number.withLock { $0 } == 3)
    #expect(try make("x", one) == 2)
    // Account 3 moves away.
    let owner = try database.superuser()
    try owner.execute("UPDATE pf.account SET account = -3 WHERE account = 3")
    #expect(try make("y", one) == -3 && make("z", one) == 4)

    let listing = PostgresStatement("list", "SELECT account FROM pf2.accounts($1::bytea)")
    func list(_ name: String?) throws -> [Int64] {
      let rows = try one.run(listing, name.map { .bytea(Array($0.utf8)) } ?? .null)
      return try (0..<rows.count).map { try rows.integer($0, 0) }
    }
    #expect(try list(nil) == [1, 2] && list("y") == [-3] && list("none") == [])
    try owner.execute("UPDATE pf.account SET account = -account WHERE account IN (1, 2)")
    #expect(try list(nil) == [4], "those that moved away are not asked for")
    try owner.execute("UPDATE pf.account SET account = -4 WHERE account = 4")
    #expect(try list(nil) == [-1, -2])
  }

  // MARK: Devices

  @Test("A device that a report holds is not dropped, and the call does not wait for it")
  func heldDevice() throws {
    let user = try database.service()
    let expiry = Int32(Date().timeIntervalSince1970) / 60 * 60 + 330
    func use(_ device: UInt8, _ salt: UInt8, version: Int64) throws {
      let use = ChallengeUse(
        account: 1, expiry: expiry, salt: [salt], device: [device], version: version,
        note: [salt], digest: [1], answer: [1])
      #expect(try user.use([use])[0].outcome == .used)
    }
    for device: UInt8 in 1...2 { try use(device, 1, version: 0) }
    try user.execute("BEGIN")
    try use(1, 2, version: 1)
    let service = try database.service()
    let drop = "SELECT pf2.drop_devices(1, \(Int64(expiry)), 9)"
    #expect(try service.number(drop) == 1)
    try user.execute("COMMIT")
    #expect(try text("SELECT note FROM pf.device WHERE account = 1") == "\u{2}")
    #expect(try service.number(drop) == 1 && service.number(drop) == 0)
  }

  @Test("The devices of a later day come first, and a day of a device never falls")
  func latest() throws {
    let service = try database.service()
    let start = Int64(Date().timeIntervalSince1970) / 86_400 * 86_400 + 40_000
    var salt: UInt8 = 0
    func use(_ device: String, _ version: Int64, at seconds: Int64) throws {
      salt += 1
      let use = ChallengeUse(
        account: 1, expiry: Int32(start + 5 * 86_400), time: start + seconds, salt: [salt],
        device: Array(device.utf8), version: version, note: [], digest: [1], answer: [1])
      #expect(try service.use([use])[0].outcome == .used)
    }
    func latest() throws -> String? {
      let names = "string_agg(convert_from(device, 'UTF8'), ' ')"
      return try text("SELECT \(names) FROM pf2.latest_devices(1, 9)")
    }
    try use("a", 0, at: 0)
    try use("b", 0, at: 86_400)
    try use("c", 0, at: 86_400)
    try use("d", 0, at: 86_399)
    #expect(try latest() == "b c d a")
    try use("a", 1, at: 2 * 86_400)
    #expect(try latest() == "a b c d")
    try use("a", 2, at: 0)
    #expect(try latest() == "a b c d")
    #expect(
      try database.superuser().number(
        "SELECT count(*) FROM pf.device WHERE seen_day = last_seen / 86400") == 4)
  }

  // MARK: Nodes

  @Test("A lease is renewed in its own row, and rows of an hour ago go with a new one's first")
  func leases() throws {
    let (owner, service) = (try database.superuser(), try database.service())
    try owner.execute(
      """
      INSERT INTO pf.node VALUES (1, 'early', now() - interval '61 minutes'),
        (1, 'late', now() - interval '59 minutes'), (2, 'early', now() - interval '61 minutes')
      """)
    func nodes() throws -> String? {
      try text(
        """
        SELECT string_agg(account || ' ' || convert_from(node, 'UTF8'), ', ' ORDER BY account, node)
        FROM pf.node
        """)
    }
    try service.execute("SELECT pf2.lease(1, 'own')")
    #expect(try nodes() == "1 late, 1 own, 2 early")
    try owner.execute("UPDATE pf.node SET seen = now() - interval '30 minutes'")
    try service.execute("SELECT pf2.lease(1, 'own')")
    #expect(
      try text(
        "SELECT string_agg(convert_from(node, 'UTF8'), ', ') FROM pf.node"
          + " WHERE seen > now() - interval '5 minutes'") == "own")
    // An account that is not there has no rows.
    try service.execute("SELECT pf2.lease(9, 'own')")
    #expect(try nodes() == "1 late, 1 own, 2 early")
  }

  @Test("The age of an account is that of its newest row, and no other account's")
  func ages() throws {
    try database.superuser().execute(
      """
      INSERT INTO pf.node VALUES (1, 'a', clock_timestamp() - interval '1000 s'),
        (1, 'b', clock_timestamp() - interval '100 s'), (2, 'a', clock_timestamp())
      """)
    let service = try database.service()
    #expect(try (100..<160).contains(service.number("SELECT floor(pf2.age(1))::int8")))
    #expect(try (0..<60).contains(service.number("SELECT floor(pf2.age(2))::int8")))
    #expect(try text("SELECT pf2.age(3)::text") == nil)
  }

  // MARK: Event tokens

  @Test("The highest time forgets what ended before it in its own place, and nothing else")
  func forgotten() throws {
    let (owner, service) = (try database.superuser(), try database.service())
    for name in ["a", "b"] { try service.execute("SELECT pf2.open_replay(1, '\(name)')") }
    try owner.execute(
      """
      INSERT INTO pf.replay_used SELECT p, k, 999999 + n
        FROM generate_series(1, 2) p, (VALUES (0, 'k0'::bytea), (1, 'k1')) AS v(n, k);
      INSERT INTO pf.replay_judgement SELECT place, key, 'j'::bytea, expiry FROM pf.replay_used;
      INSERT INTO pf.replay_meter SELECT place, key, 'm'::bytea, expiry - 90000 FROM pf.replay_used;
      INSERT INTO pf.replay_pair SELECT place, key, 'n'::bytea, expiry - 90000 FROM pf.replay_used;
      """)
    func rows() throws -> [Int] {
      try ["used", "judgement", "meter", "pair"].map {
        try owner.number("SELECT count(*) FROM pf.replay_\($0)")
      }
    }
    func isNew(_ moment: Int, _ key: String, place: Int = 1) throws -> Bool {
      try service.run(
        PostgresStatement(
          "new", "SELECT pf2.replay_insert($1::int4, $2::int8, $3::bytea, $2::int8 + 9)"),
        .int4(Int32(place)), .int8(Int64(moment)), .bytea(Array(key.utf8))
      ).bool(0, 0)
    }
    #expect(try rows() == [4, 4, 4, 4])
    #expect(try isNew(999_999, "new") && rows() == [5, 4, 4, 4])
    #expect(try isNew(1_000_000, "newer") && rows() == [5, 3, 3, 3])
    #expect(try isNew(1_000_000, "k0") && !isNew(1_000_000, "k1"))
    #expect(try owner.number("SELECT count(*) FROM pf.replay_meter WHERE place = 2") == 2)
    // A time that falls back is not the place's time.
    #expect(try !isNew(5, "k1") && rows() == [6, 3, 3, 3])
    #expect(try owner.number("SELECT highest FROM pf.replay WHERE place = 1") == 1_000_000)
    let none = failure { () throws(PostgresError) in
      try service.execute("SELECT pf2.replay_insert(3, 1, 'k', 2)")
    }
    #expect(none?.state == "P0002")
  }

  // MARK: Steps back

  @Test(
    "A step back waits for a row that is being written, and refuses to lose it",
    .timeLimit(.minutes(5)),
    arguments: [
      (9, "pf.ledger (name) VALUES ('a')"),
      (8, "pf.replay (account, audience) VALUES (0, 'gate')"),
      (6, "pf.move VALUES (1, true, 'i', 'n', 'p', 's')"),
      (5, "pf.replay (account, audience) VALUES (1, 'a')"),
      (4, "pf.gate_line VALUES (1, 'd', 'g', 7)"),
      (1, "pf.counter VALUES (1, 'c', 1)"),
      (1, "pf.spent_07 VALUES (1, 0, 'd', 's', 'r', 'a')"),
      (1, "pf.event_63 VALUES (1, 0, 'e')"),
    ])
  func meanwhile(_ version: Int, _ row: String) throws {
    let database = try Server.main.database()
    let connection = try database.migrator()
    try Migrator(connection).move(to: version)
    let writer = try database.superuser()
    try writer.execute("BEGIN; INSERT INTO \(row)")
    let end = CoreLock<(isThere: Bool, error: PostgresError?)>((false, nil))
    let done = DispatchSemaphore(value: 0)
    Thread {
      let error = failure { () throws(PostgresError) in
        // It waits at the lock until the row is there, however long the watcher takes to see it.
        try Migrator(connection, lockTimeout: 100_000).move(to: version - 1)
      }
      end.withLock { $0 = (true, error) }
      done.signal()
    }.start()
    let watcher = try Server.main.superuser()
    let waits = "SELECT count(*) FROM pg_locks WHERE pid = \(connection.backend) AND NOT granted"
    try waitUntil { try watcher.number(waits) != 0 || end.withLock({ $0.isThere }) }
    try writer.execute("COMMIT")
    done.wait()
    #expect(end.withLock { $0.error?.state } == "55006")
    #expect(try Migrator(connection).version() == version)
  }

  @Test("Nothing of gates is open to another role, and a step back takes their rights")
  func rightsOfGates() throws {
    let owner = try database.superuser()
    #expect(
      try owner.number(
        """
        SELECT count(*) FROM pg_proc, (VALUES ('proof_plain'), ('proof_service')) AS v(who)
          WHERE pronamespace::regnamespace::text = 'pfg'
            AND has_function_privilege(who, oid, 'EXECUTE')
        """) == 0)
    func rights() throws -> Int {
      try owner.number(
        """
        SELECT has_schema_privilege('proof_gate', 'pf1', 'USAGE')::int
          + 2 * has_function_privilege('proof_gate', 'pf1.schema()', 'EXECUTE')::int
        """)
    }
    let migrator = Migrator(try database.migrator())
    #expect(try rights() == 3)
    try migrator.move(to: 7)
    #expect(try rights() == 0)
    try migrator.move(to: 8)
    #expect(try rights() == 0 && migrator.grantGates() == true)
    #expect(try rights() == 3)
  }
}
