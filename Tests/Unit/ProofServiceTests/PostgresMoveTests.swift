// SPDX-License-Identifier: Apache-2.0

import Foundation
import OwnThreads
import PostgresServers
import PostgresStore
import ProofBackend
import ProofModel
import Testing

@testable import AccountStores
@testable import ProofService

/// The locks of a move in a database, its comparison, and what a move that failed leaves.
extension StoreMoveTests {
  private struct Scene {
    let database: Database
    let owner: PostgresOptions
    let store: PostgresAccountStore
    let place = Workplace()

    init() throws {
      database = try Server.main.database()
      owner = try PostgresOptions(
        settings: Server.main.settings(database.name, user: "proof_migrator"))
      store = try PostgresAccountStore(database.options(), creating: "door")
      try store.apply([.put(.api, "a", [1]), .put(.pin, "b", [2])])
    }
  }

  private static let mark = MoveMark(id: [1, 2], name: "door", place: "/there", salts: [7])

  /// The SQLSTATE in an error's words.
  private static func state(_ body: () throws -> Void) -> String? {
    do {
      try body()
      return nil
    } catch {
      let words = "\(error)"
      return words.split(separator: "SQLSTATE ").dropFirst().first.map { String($0.prefix(5)) }
    }
  }

  @Test(.enabled(if: Server.isThere))
  func `a source is left once, and its mark is needed to begin`() throws {
    let scene = try Scene()
    let (one, other) = try (PostgresMove(scene.owner, nil), PostgresMove(scene.owner, "door"))
    let there = scene.owner.description
    #expect(try one.mark() == nil)
    #expect(throws: StoreError.busy(path: there)) { try one.begin() }
    one.end()
    #expect(throws: StoreError.busy(path: there)) {
      try one.undo { Issue.record("there is no mark to be taken back") }
    }
    try one.leave(Self.mark)
    #expect(throws: StoreError.busy(path: there)) { try other.leave(Self.mark) }
    #expect(try one.mark() == Self.mark && other.mark() == Self.mark)
    // An account that is away gives no numbers, and opens no place of event tokens.
    let audience = try AudienceID([UInt8](1...16))
    #expect(throws: (any Error).self) { try scene.store.advance("a", by: 7) }
    #expect(throws: (any Error).self) { try scene.store.redemptions(for: audience).begin(at: 1) }
    // The refusals left no transaction open, which would keep the next one out.
    try one.begin()
    #expect(Self.state { try other.begin() } == "55P03")
    other.end()
    #expect(Self.state { try other.undo {} } == "55P03")
    one.end()
    try other.begin()
    other.end()
    #expect(throws: StoreError.missing(path: "x")) {
      try one.undo { () throws(StoreError) in throw .missing(path: "x") }
    }
    #expect(try other.mark() == Self.mark)
    try other.undo {}
    #expect(try one.mark() == nil && scene.store.row("a", of: .api) == [1])
    #expect(try scene.store.advance("a", by: 0) == 0)
    #expect(try scene.database.superuser().number("SELECT count(*) FROM pf.replay") == 0)
  }

  @Test(.enabled(if: Server.isThere), .timeLimit(.minutes(5)))
  func `a mark waits for the changes that were begun before it`() throws {
    let scene = try Scene()
    let user = try scene.database.service()
    try user.execute("BEGIN")
    _ = try user.run(PostgresStatement("block", "SELECT pf1.block(1, 'given', 7)"))
    let done = DispatchSemaphore(value: 0)
    let isLeft = CoreLock(false)
    let owner = scene.owner
    Thread {
      try? PostgresMove(owner, nil).leave(Self.mark)
      isLeft.withLock { $0 = true }
      done.signal()
    }.start()
    let watcher = try scene.database.superuser()
    let waits = """
      SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
      WHERE d.datname = '\(scene.database.name)' AND l.locktype = 'advisory' AND NOT l.granted
      """
    try waitUntil { try watcher.number(waits) != 0 || isLeft.withLock({ $0 }) }
    #expect(!isLeft.withLock { $0 })
    try user.execute("COMMIT")
    done.wait()
    let move = try PostgresMove(owner, nil)
    #expect(try move.mark() == Self.mark)
    try move.begin()
    let counters = try move.page(.counter, after: nil)
    #expect(counters.contains(MoveRecord([.bytes(Array("given".utf8)), .number(7)])))
    move.end()
  }

  @Test(.enabled(if: Server.isThere))
  func `a mark leaves no row of used event tokens, in no table of theirs`() throws {
    let scene = try Scene()
    let watcher = try scene.database.superuser()
    let other = try PostgresAccountStore(scene.database.options(), creating: "other")
    try watcher.execute(
      """
      INSERT INTO pf.replay (account, audience) VALUES (1, 'a'), (2, 'a'), (0, 'gate');
      INSERT INTO pf.replay_used SELECT place, 'k'::bytea, 1 FROM pf.replay;
      INSERT INTO pf.replay_judgement SELECT place, 'n'::bytea, 'j'::bytea, 1 FROM pf.replay;
      INSERT INTO pf.replay_meter SELECT place, 'd'::bytea, 'm'::bytea, 1 FROM pf.replay;
      INSERT INTO pf.replay_pair SELECT place, 'd'::bytea, 'a'::bytea, 1 FROM pf.replay;
      """)
    try PostgresMove(scene.owner, "door").leave(Self.mark)
    for table in ["replay", "replay_used", "replay_judgement", "replay_meter", "replay_pair"] {
      #expect(try watcher.number("SELECT count(*) FROM pf.\(table)") == 2, "\(table)")
    }
    #expect(try other.revision() == 0)
  }

  @Test(.enabled(if: Server.isThere))
  func `a target that has other records than its source is none`() throws {
    let scene = try Scene()
    let path = scene.place.path(of: "first")
    let first = try SQLiteStore(creatingAt: path)
    try first.apply([.put(.api, "a", [1]), .put(.api, "b", [2])])
    // A row is lost on its way in.
    let watcher = try scene.database.superuser()
    try watcher.execute(
      """
      CREATE FUNCTION public.lose() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN IF NEW.key = ''b''::bytea THEN RETURN NULL; END IF; RETURN NEW; END';
      CREATE TRIGGER lose BEFORE INSERT ON pf."row" FOR EACH ROW EXECUTE FUNCTION public.lose();
      """)
    let move = try StoreMove(from: .file(path), to: .database(scene.owner, account: nil))
    let refused = StoreError.database(
      scene.owner.description,
      detail: "it has other records than the source; nothing was moved")
    for _ in 0..<2 { #expect(throws: refused) { try move.move(("mine", [])) } }
    #expect(try watcher.number("SELECT count(*) FROM pf.account") == 1)
    #expect(try watcher.number("SELECT count(*) FROM pf.\"row\"") == 2)
    try watcher.execute("DROP TRIGGER lose ON pf.\"row\"")
    #expect(try move.move(("mine", [])).sum?.rows[.api] == 2)
  }

  @Test(.enabled(if: Server.isThere))
  func `an arrival that is given up holds nothing, and one account at a time arrives`() throws {
    let scene = try Scene()
    let one = try PostgresArrival(scene.owner, "one")
    #expect(try one.arrived() == nil)
    try one.begin()
    try one.add([MoveRecord([.bytes([1]), .number(7)])], of: .counter)
    #expect(try one.page(.counter, after: nil).map { $0.number(1) }.sorted() == [0, 7])
    let watcher = try scene.database.superuser()
    let locks = """
      SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
      WHERE d.datname = '\(scene.database.name)' AND l.locktype = 'advisory' AND l.granted
      """
    #expect(try watcher.number(locks) == 1)
    one.rollBack()
    #expect(try watcher.number(locks) == 0)
    #expect(try one.arrived() == nil)
    try one.begin()
    try one.commit(Self.mark)
    #expect(try one.arrived() == [1, 2] && watcher.number(locks) == 0)
    #expect(try watcher.number("SELECT max(account) FROM pf.account") == 2)
    let moved = "SELECT count(*) FROM pf.move WHERE account = 2 AND arrived AND salts = ''"
    #expect(try watcher.number(moved) == 1)
  }

  @Test(.enabled(if: Server.isThere))
  func `a role without rights to the tables marks nothing`() throws {
    let scene = try Scene()
    // The service's role has no right to the tables.
    let service = try scene.database.options()
    let move = try PostgresMove(service, nil)
    #expect(Self.state { try move.leave(Self.mark) } == "42501")
    #expect(Self.state { _ = try move.mark() } == "42501")
    #expect(try scene.store.row("a", of: .api) == [1])
  }
}
