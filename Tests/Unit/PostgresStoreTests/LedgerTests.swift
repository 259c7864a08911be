// SPDX-License-Identifier: Apache-2.0

import Foundation
import HistoryChecker
import OwnThreads
import PostgresServers
import PostgresStore
import ProofModel
import SeededRandom
import Testing

extension Mutant {
  /// Faults of a backend's ledger.
  static let ledgers = [
    Mutant(
      "the base of the last fetch stands, not the highest", "pf2.ledger_issue",
      #"issued = greatest\(l.issued, base\)"#, "issued = base"),
    Mutant(
      "the generation of a token counts as its base", "pf2.ledger_issue",
      #"greatest\(l.issued, base\)"#, "greatest(l.issued, g)"),
    Mutant(
      "a revocation takes an earlier one's place", "pf2.ledger_revoke",
      #"revoked = greatest\(l.revoked, g\)"#, "revoked = g"),
    Mutant(
      "a revocation of a pair without a token is lost", "pf2.ledger_revoke",
      #"INSERT INTO pf.ledger_pair AS l VALUES \(p, i, h, 0, g, m\)"#,
      "INSERT INTO pf.ledger_pair AS l VALUES (p, i, h, 0, 0, m)"),
  ]

  /// Faults that show only if another session commits between the reading and the write.
  static let overtaken = [
    Mutant(
      "a token behind a newer one", "pf2.ledger_issue",
      #"WHERE l.issued <= g AND l.revoked < g"#, "WHERE l.revoked < g"),
    Mutant(
      "a token behind its revocation", "pf2.ledger_issue",
      #"WHERE l.issued <= g AND l.revoked < g"#, "WHERE l.issued <= g"),
    Mutant(
      "a write that changed nothing ends the call", "pf2.ledger_issue", "EXIT WHEN FOUND", "EXIT"),
  ]
}

@Suite("Recorded histories of a backend's ledger", .enabled(if: Server.isThere), .serialized)
struct LedgerTests {
  /// The most histories that a mutant gets to show itself. The calls' order is the threads', and in one history of four
  /// it may hide a mutant.
  static let rounds: UInt64 = 60
  private static let threads = 8
  private static let calls = 40

  private static let open = PostgresStatement("open", "SELECT pf2.open_ledger('backend')")
  private static let issue = PostgresStatement(
    "issue",
    """
    SELECT outcome FROM pf2.ledger_issue($1::int4, $2::bytea, 'h', $3::int8, $4::int8, false, 0)
    """)
  private static let revoke = PostgresStatement(
    "revoke", "SELECT pf2.ledger_revoke($1::int4, $2::bytea, 'h', $3::int8, 0)")

  /// Calls of 8 threads with a connection each, at three pairs. Before them a fourth pair is revoked that has no token,
  /// and a token below is asked for: the threads rarely begin with a revocation.
  private func play(_ mutant: Mutant?, seed: UInt64) throws -> History<IssueLedger> {
    let database = try Server.main.database()
    let place = Int32(try database.service().run(Self.open).integer(0, 0))
    try mutant?.plant(in: database)
    let recorder = Recorder<IssueLedger>()
    @Sendable func call(
      _ thread: Int, _ pair: Int, _ call: IssueLedger.Call, _ connection: PostgresConnection
    ) {
      let key: [PostgresValue] = [.int4(place), .bytea([UInt8(pair)])]
      recorder.record(thread: thread, key: "\(pair)", call) {
        observe { () throws(PostgresError) in
          switch call {
          case .revoke(let base):
            _ = try connection.run(PostgresCall(Self.revoke, key + [.int8(Int64(base))]))
            return 1
          case .issue(let generation, let base):
            let values = key + [.int8(Int64(generation)), .int8(Int64(base))]
            let rows = try connection.run(PostgresCall(Self.issue, values))
            return try rows.text(0, 0) == "issued" ? 1 : 0
          }
        }
      }
    }
    let first = try database.service()
    call(0, 3, .revoke(9), first)
    call(0, 3, .issue(5, base: 5), first)
    onThreads(Self.threads) { thread in
      var generator = SeededGenerator(seed: seed + UInt64(thread))
      guard let connection = try? database.service() else {
        Issue.record("no connection")
        return
      }
      for number in 0..<Self.calls {
        let pair = Int.random(in: 0..<3, using: &generator)
        let base = 1 + number / 4 + Int.random(in: 0..<4, using: &generator)
        let generation = base + Int.random(in: 0..<3, using: &generator)
        let revokes = Int.random(in: 0..<4, using: &generator) == 0
        call(
          thread, pair, revokes ? .revoke(base) : .issue(generation, base: base), connection)
      }
    }
    return recorder.history
  }

  @Test("The functions as they are: every history is linearizable, and both generations only grow")
  func unchanged() throws {
    for seed: UInt64 in 0..<3 {
      let history = try play(nil, seed: seed * 100)
      #expect(history.operations.count == 2 + Self.threads * Self.calls)
      expectLinearizable(history)
    }
  }

  @Test(
    "A mutant of the functions gives a history that is not linearizable", arguments: Mutant.ledgers)
  func killed(mutant: Mutant) throws {
    for seed in 0..<Self.rounds {
      guard case .violated(let words) = try play(mutant, seed: seed * 100).check() else { continue }
      print("killed: \(mutant.testDescription): \(words)")
      return
    }
    Issue.record("The mutant lives.")
  }

  /// The outcomes of two tokens whose write waits for another session's note of the same pair.
  private func overtaken(_ mutant: Mutant?) throws -> [String] {
    let database = try Server.main.database()
    let place = Int32(try database.service().run(Self.open).integer(0, 0))
    try mutant?.plant(in: database)
    func values(_ generation: Int64) -> [PostgresValue] {
      [.int4(place), .bytea([1]), .int8(generation)]
    }
    return try [true, false].map { revokes in
      let first = try database.service()
      try first.execute("BEGIN")
      _ = try first.run(
        revokes
          ? PostgresCall(Self.revoke, values(7))
          : PostgresCall(Self.issue, values(20) + [.int8(20)]))
      let second = try database.service()
      let outcome = CoreLock("")
      let done = DispatchSemaphore(value: 0)
      let call = PostgresCall(Self.issue, values(revokes ? 7 : 19) + [.int8(1)])
      Thread {
        let told = try? second.run(call).text(0, 0)
        outcome.withLock { $0 = told ?? "none" }
        done.signal()
      }.start()
      try Server.main.waitForLock(of: second.backend)
      try first.execute("COMMIT")
      done.wait()
      return outcome.withLock { $0 }
    }
  }

  @Test("A token whose write waits for another note obeys that note")
  func waits() throws {
    #expect(try overtaken(nil) == ["revoked", "superseded"])
  }

  @Test("A mutant lets a token overtake the note that it waited for", arguments: Mutant.overtaken)
  func overtakes(mutant: Mutant) throws {
    #expect(try overtaken(mutant) != ["revoked", "superseded"])
  }
}
