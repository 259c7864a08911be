// SPDX-License-Identifier: Apache-2.0

import Foundation
import PostgresBackend
import PostgresServers
import PostgresStore
import ProofModel
import Testing

@testable import ProofBackend

/// The two trips of a redemption in PostgreSQL: no half stays open, and a judgement is made once.
extension RedemptionStoreTests {
  /// The sessions of a database that are in a transaction and wait for their client.
  private static func idle(_ database: Database) throws -> Int {
    try Server.main.superuser().number(
      """
      SELECT count(*) FROM pg_stat_activity
      WHERE datname = '\(database.name)' AND state LIKE 'idle in transaction%'
      """)
  }

  @Test(
    "PostgreSQL: a redemption of each outcome leaves no transaction open",
    .enabled(if: Server.isThere), arguments: [Kind.postgres, .gate])
  func closed(_ kind: Kind) throws {
    let folder = TestFolder()
    let store = try kind.make(folder)
    let database = try Kind.database(of: folder)
    let named = try Self.redemption(1, name: 1)
    guard case .redeemed = try store.redeem(named, at: Self.now, { _ in [7] }) else {
      Issue.record("not redeemed")
      return
    }
    #expect(try Self.idle(database) == 0)
    #expect(try store.redeem(Self.redemption(1), at: Self.now) { _ in [8] } == .used)
    #expect(try Self.idle(database) == 0)
    #expect(try store.redeem(named, at: Self.now) { _ in [9] } == .known([7]))
    #expect(try Self.idle(database) == 0)
  }

  @Test(
    "PostgreSQL: a redemption whose commit is refused is none",
    .enabled(if: Server.isThere), arguments: [Kind.postgres, .gate])
  func refusedCommit(_ kind: Kind) throws {
    let folder = TestFolder()
    let store = try kind.make(folder)
    let owner = try Kind.database(of: folder).superuser()
    // Each statement of the redemption succeeds; the trigger runs at its commit.
    try owner.execute(
      """
      CREATE FUNCTION public.no() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN RAISE EXCEPTION ''not at all''; END';
      CREATE CONSTRAINT TRIGGER late AFTER INSERT ON pf.replay_meter
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.no();
      """)
    let named = try Self.redemption(1, name: 1)
    let error = #expect(throws: ReplayStoreFailure.self) {
      try store.redeem(named, at: Self.now) { _ in [7] }
    }
    #expect("\(error, default: "none")".contains("not at all"))
    #expect(try store.judgement(under: #require(named.name)) == nil)
    try owner.execute("DROP TRIGGER late ON pf.replay_meter")
    guard case .redeemed(let counts) = try store.redeem(named, at: Self.now, { _ in [8] }) else {
      Issue.record("the token is used up")
      return
    }
    #expect(counts.eventsOfDevice.day == 1)
  }

  @Test(
    "PostgreSQL: a connection that ends while an event is judged uses no token, and judges once",
    .enabled(if: Server.isThere), arguments: [Kind.postgres, .gate])
  func endedWhileJudged(_ kind: Kind) throws {
    let folder = TestFolder()
    let store = try kind.make(folder)
    let database = try Kind.database(of: folder)
    let watcher = try Server.main.superuser()
    let named = try Self.redemption(1, name: 1)
    var judgements = 0
    let error = #expect(throws: ReplayStoreFailure.self) {
      try store.redeem(named, at: Self.now) { _ in
        judgements += 1
        try? watcher.execute(
          """
          SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
          WHERE datname = '\(database.name)' AND state = 'idle in transaction'
          """)
        return [7]
      }
    }
    #expect("\(error, default: "none")".contains("the connection ended while the event was judged"))
    #expect(judgements == 1)
    #expect(try store.judgement(under: #require(named.name)) == nil)
    guard case .redeemed(let counts) = try store.redeem(named, at: Self.now, { _ in [8] }) else {
      Issue.record("the token is used up")
      return
    }
    #expect(counts.eventsOfDevice.day == 1)
    #expect(try store.judgement(under: #require(named.name)) == [8])
  }

  @Test("A place of gates is a URI; another text is none, and a password is not repeated")
  func places() throws {
    for text in ["replay", "/var/lib/proof/replay", ""] {
      #expect(try PostgresReplayStore.ofGates(at: text, otherwise: "gate") == nil)
    }
    let error = #expect(throws: ReplayStoreFailure.self) {
      try PostgresReplayStore.ofGates(
        at: "postgres://user:guess-me@localhost/proof?sslrootcert=/none", otherwise: "gate")
    }
    guard case .unavailable("postgres://…", let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.contains("holds a password") && !reason.contains("guess-me"))
  }

  @Test(
    "A place of gates has the name of its URI, or that of the gate where the URI has none",
    .enabled(if: Server.isThere))
  func named() throws {
    let database = try Server.main.database()
    let settings = Server.main.settings(database.name, user: "proof_gate")
    // The password stands in a file, as it must.
    let folder = TestFolder()
    let line = "localhost:*:*:proof_gate:\(try #require(settings["password"]))\n"
    #expect(
      FileManager.default.createFile(
        atPath: folder.path("pass"), contents: Data(line.utf8),
        attributes: [.posixPermissions: 0o600]))
    let text =
      "postgres://proof_gate@localhost:\(Server.main.port)/\(database.name)"
      + "?sslrootcert=\(Server.file("authority.pem"))&passfile=\(folder.path("pass"))"
    func store(_ end: String, _ usual: String) throws -> PostgresReplayStore {
      try #require(try PostgresReplayStore.ofGates(at: text + end, otherwise: usual))
    }
    let key = try ReplayKey.numbered(1)
    func isNew(_ end: String, _ usual: String) throws -> Bool {
      try store(end, usual).insert(key, until: Self.now + 150, at: Self.now)
    }
    #expect(try isNew("", "front"))
    #expect(try !isNew("&place=front", "back"))
    #expect(try isNew("&place=back", "front"))
    #expect(try !isNew("", "back"))
  }
}

extension IssueLedgerTests {
  @Test(
    "PostgreSQL: notes beyond a page follow it, and each one is told once",
    .enabled(if: Server.isThere))
  func pages() throws {
    let folder = TestFolder()
    let ledger = try Kind.postgres.open(folder)
    let owner = try ReplayStoreTests.Kind.database(of: folder).superuser()
    var there = 0
    // 10,000 notes are a page. Three pairs share an instance, so that a page ends among them.
    for count in [1, 9_999, 10_000, 10_001] {
      try owner.execute(
        """
        INSERT INTO pf.ledger_pair
          SELECT place, int8send(1) || int8send(n / 3), int8send(1) || int8send(9 - n % 3),
            n + 1, 0, 1
          FROM pf.ledger, generate_series(\(there)::int8, \(count - 1)) AS n
        """, timeout: 60_000)
      there = count
      let notes = try ledger.notes()
      #expect(notes.count == count)
      #expect(Set(notes.map(\.issued)) == Set((1...count).map { UInt32($0) }))
      #expect(notes.allSatisfy { $0.revokedThrough == 0 })
    }
  }

  @Test(
    "A token of suite two seals its hardware in its own ledger, and no other one's notes tell it",
    arguments: Kind.allCases)
  func sealedElsewhere(_ kind: Kind) throws {
    let folder = TestFolder()
    let (one, other) = (try kind.open(folder, "one"), try kind.open(folder, "other"))
    let pair = try IssuePair(
      InstanceID([UInt8](repeating: 1, count: 16)),
      at: HardwareID([UInt8](repeating: 8, count: 16)))
    try one.noteIssue(of: 5, base: 5, to: pair, by: .two, at: 10)
    try other.noteIssue(of: 5, base: 5, to: pair, by: .one, at: 10)
    #expect(try one.notes().map(\.isSealedWithSecret) == [true])
    #expect(try other.notes().map(\.isSealedWithSecret) == [false])
  }
}
