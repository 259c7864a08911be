// SPDX-License-Identifier: Apache-2.0

import OwnThreads
import PostgresServers
import ProofModel
import Testing

@testable import PostgresStore

/// The ends of calls: trips that end early, lanes whose batch fails, leases, and steps that wait.
@Suite("Ends of calls and of connections", .enabled(if: Server.isThere))
struct SessionEdgeTests {
  private let database: Database

  init() throws {
    database = try Server.main.database()
    try database.openAccount()
  }

  private static let echo = PostgresStatement("echo", "SELECT $1::int4")

  // MARK: Connections

  @Test("A call that cannot be sent keeps the answers before it, and fails those behind it")
  func unsent() throws {
    let connection = try database.service()
    let wide = PostgresCall(
      PostgresStatement("wide", "SELECT 1"), (0..<33).map { .int4($0) })
    for place in 0..<3 {
      let calls = (0..<3).map { number in
        number == place ? wide : PostgresCall(Self.echo, [.int4(Int32(number))])
      }
      let answers = connection.run(calls)
      #expect(answers.count == 3)
      for (number, answer) in answers.enumerated() {
        if number < place {
          #expect(try answer.get().integer(0, 0) == Int64(number))
        } else {
          let error = failure { () throws(PostgresError) in try answer.get() }
          #expect(error == PostgresError(.mismatch, "more than 32 parameters"))
        }
      }
    }
    #expect(connection.run([PostgresCall]()).isEmpty)
    #expect(try connection.run(Self.echo, .int4(7)).integer(0, 0) == 7)
  }

  @Test("A script has its own time where one is given")
  func scriptTime() throws {
    let connection = try database.service(timeout: 60_000)
    let late = failure { () throws(PostgresError) in
      try connection.execute("SELECT pg_sleep(60)", timeout: 50)
    }
    #expect(late?.reason == .timedOut && !connection.isOpen)
    // The server notices at its next write, so it is told here.
    try Server.main.superuser().execute(
      """
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = '\(database.name)' AND query LIKE 'SELECT pg_sleep(60)%'
      """)
  }

  @Test("A connection that is let go ends its backend", .timeLimit(.minutes(5)))
  func released() throws {
    let watcher = try Server.main.superuser()
    let backend: Int32
    do { backend = try database.service().backend }
    let text = "SELECT count(*) FROM pg_stat_activity WHERE pid = \(backend)"
    try waitUntil { try watcher.number(text) == 0 }
  }

  // MARK: Lanes

  private func use(_ salt: UInt8, _ answer: UInt8) -> ChallengeUse {
    ChallengeUse(
      account: 1, expiry: 2_000_000_000, salt: [salt], device: [1], note: nil, digest: [1],
      answer: [answer])
  }

  @Test("Uses that a batch's failure met fail with it, and those before it keep their outcome")
  func failedBatch() throws {
    let lane = UseLane(try database.options())
    // One challenge stands there twice, so the second use of it is in a batch of its own.
    let takeBack = try database.change(
      "pf2.use_many", "IF n NOT BETWEEN 1 AND 32", to: "IF n NOT BETWEEN 2 AND 32")
    let answers = lane.perform([use(1, 10), use(1, 11), use(2, 12)])
    #expect(try answers.count == 3 && answers[0].get().outcome == .used)
    #expect(try answers[2].get().outcome == .used)
    let error = failure { () throws(PostgresError) in try answers[1].get() }
    #expect(error?.state == "22023" && error?.reason == .refused)
    let alone = lane.perform([use(3, 13)])
    #expect(failure { () throws(PostgresError) in try alone[0].get() }?.state == "22023")
    try takeBack()
    let again = lane.perform([use(1, 11), use(2, 14), use(3, 15)])
    #expect(try again.map { try $0.get().outcome } == [.again([10]), .again([12]), .used])
  }

  /// Adds to a counter, which tells how often it was called.
  private static let renewal = PostgresStatement(
    "renewal", "SELECT pf1.block(1, 'renewals', $1::int8)")

  private func renewals() throws -> Int {
    try database.superuser().number(
      "SELECT coalesce(sum(value), 0)::int8 FROM pf.counter WHERE name = 'renewals'")
  }

  @Test("A lane renews its lease with a reading that needs it, and with no other call")
  func renewed() throws {
    let lane = CallLane(
      try database.options(), renewingBy: PostgresCall(Self.renewal, [.int8(1)]))
    let (plain, present) = (
      PostgresCall(Self.echo, [.int4(1)]), PostgresCall(Self.echo, [.int4(2)], needsLease: true)
    )
    #expect(try lane.perform([plain, plain]).map { try $0.get().integer(0, 0) } == [1, 1])
    #expect(try renewals() == 0)
    let mixed = lane.perform([plain, present, plain])
    #expect(try mixed.map { try $0.get().integer(0, 0) } == [1, 2, 1])
    #expect(try renewals() >= 1)
    // A lane that has no renewal confirms nothing, and reads too.
    let bare = CallLane(try database.options())
    #expect(try bare.perform([present])[0].get().integer(0, 0) == 2)
  }

  @Test("Where a lease cannot be renewed, a reading that needs it fails and the others do not")
  func notRenewed() throws {
    let refused = PostgresStatement("refused", "SELECT 1 / $1::int4")
    let lane = CallLane(
      try database.options(), renewingBy: PostgresCall(refused, [.int4(0)]))
    let answers = lane.perform([
      PostgresCall(Self.echo, [.int4(1)]), PostgresCall(Self.echo, [.int4(2)], needsLease: true),
      PostgresCall(refused, [.int4(0)]),
    ])
    #expect(try answers.count == 3 && answers[0].get().integer(0, 0) == 1)
    for answer in answers[1...] {
      let error = failure { () throws(PostgresError) in try answer.get() }
      #expect(error?.state == "22012" && error?.reason == .refused)
    }
  }

  @Test("Calls that a passing failure met are sent again, and those that were answered are not")
  func sentAgain() throws {
    let lane = CallLane(try database.options(), patience: 60_000)
    let count = PostgresStatement("count", "SELECT pf1.block(1, 'sent', $1::int8)")
    // Ends its own session once: a sequence forgets no call that failed.
    try database.superuser().execute(
      """
      CREATE SEQUENCE public.ends; GRANT USAGE ON SEQUENCE public.ends TO proof_service;
      CREATE FUNCTION public.once() RETURNS int8 LANGUAGE plpgsql AS $$
        BEGIN
          IF nextval('public.ends') = 1 THEN
            PERFORM pg_terminate_backend(pg_backend_pid());
            PERFORM pg_sleep(60);
          END IF;
          RETURN 5;
        END $$;
      """)
    let answers = lane.perform([
      PostgresCall(count, [.int8(1)]),
      PostgresCall(PostgresStatement("once", "SELECT public.once()")),
    ])
    #expect(try answers.map { try $0.get().integer(0, 0) } == [0, 5])
    let sent = "SELECT value FROM pf.counter WHERE account = 1 AND name = 'sent'"
    #expect(try database.superuser().number(sent) == 1)
  }

  // MARK: Steps

  @Test("A step whose lock was not granted is tried 20 times")
  func lockedStep() throws {
    let count = Migration.all.count
    for (failures, passes) in [(19, true), (20, false)] {
      let database = try Server.main.database()
      let connection = try database.migrator()
      // A sequence keeps the count of attempts that were rolled back.
      try connection.execute("CREATE SEQUENCE public.tries")
      let step = Migration(
        version: count + 1, oldestProgram: 0,
        forward: """
          DO $$ BEGIN
            IF nextval('public.tries') <= \(failures) THEN
              RAISE EXCEPTION 'held' USING ERRCODE = '55P03';
            END IF;
          END $$;
          """, back: "")
      let migrator = Migrator(connection, steps: Migration.all + [step])
      let error = failure { () throws(PostgresError) in try migrator.move(to: count + 1) }
      #expect(error?.state == (passes ? nil : "55P03"))
      #expect(try migrator.version() == (passes ? count + 1 : count))
      #expect(try connection.number("SELECT last_value FROM public.tries") == 20)
    }
  }

  @Test("The role of gates gets its rights from schema 8 on")
  func firstGates() throws {
    let migrator = Migrator(try database.migrator())
    for (version, granted) in [(7, nil), (8, true)] as [(Int, Bool?)] {
      try migrator.move(to: version)
      #expect(try migrator.grantGates() == granted, "\(version)")
    }
  }
}

/// Texts of settings that need no server.
@Suite("Ends of settings")
struct SettingsEdgeTests {
  @Test("An empty password is none: no text is changed by it, and no list of processes shows it")
  func emptyPassword() throws {
    let options = try PostgresOptions(settings: [
      "host": "/run/a", "dbname": "proof", "user": "proof_service", "password": "",
    ])
    #expect(!options.holdsPassword && options.redacted("a b") == "a b")
    _ = try PostgresPlace("postgres://proof_service:@%2Frun/proof")
  }

  @Test("The first question mark of a URI begins its settings, and another one is part of a value")
  func questionMarks() throws {
    let place = try PostgresPlace(
      "postgres://proof_service@%2Frun/proof?place=a?b=c", naming: "place")
    #expect(place["place"] == "a?b=c" && place.options.settings["host"] == "/run")
  }

  @Test("Settings of ours are taken from any place among those of libpq, and the last one counts")
  func ownSettings() throws {
    let place = try PostgresPlace(
      "postgres://proof_service@db1/proof?place=a&sslrootcert=x&place=b&port=7", naming: "place")
    #expect(place["place"] == "b" && place["sslrootcert"] == nil)
    #expect(place.options.settings["port"] == "7" && place.options.settings["sslrootcert"] == "x")
  }
}
