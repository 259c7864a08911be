// SPDX-License-Identifier: Apache-2.0

import Foundation
import HistoryChecker
import PostgresServers
import PostgresStore
import Testing

/// A change of the SQL functions that breaks one property.
struct Mutant: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// The function to change, by name.
  let function: String
  /// A pattern of its text, and the text in its place.
  let pattern: String
  let replacement: String
  /// Statements to run before.
  var script = ""

  init(
    _ name: String, _ function: String, _ pattern: String, _ replacement: String,
    script: String = ""
  ) {
    testDescription = name
    self.function = function
    self.pattern = pattern
    self.replacement = replacement
    self.script = script
  }

  /// Changes the functions of a database.
  func plant(in database: Database) throws {
    let migrator = try database.migrator()
    if !script.isEmpty { try migrator.execute(script) }
    let text = try migrator.run(
      PostgresStatement("text", "SELECT pg_get_functiondef($1::text::regproc)"), .text(function)
    ).text(0, 0)
    let changed = text.replacingOccurrences(
      of: pattern, with: replacement, options: .regularExpression)
    try #require(changed != text, "\(testDescription): the pattern is not in \(function)")
    try migrator.execute(changed)
  }

  static let uses = [
    Mutant(
      "a reading before the insert, without a unique key", "pf.mark",
      #"(spent_\d\d) \(account, expiry, device, salt, report, answer\) VALUES \(a, x, d, s, r, w\)\s+ON CONFLICT DO NOTHING"#,
      "$1 (account, expiry, device, salt, report, answer) SELECT a, x, d, s, r, w "
        + "WHERE NOT EXISTS (SELECT FROM pf.$1 t WHERE t.account = a AND t.device = d AND t.salt = s)",
      script: """
        DO $$ BEGIN FOR n IN 0..63 LOOP
          EXECUTE format('ALTER TABLE pf.spent_%1$s DROP CONSTRAINT spent_%1$s_pkey', to_char(n, 'FM00'));
        END LOOP; END $$
        """),
    Mutant("the report's digest is not compared", "pf.marked", " AND report = r", ""),
    Mutant(
      "the device is written over any version", "pf2.use_many",
      #"AND d.version = item.version\s+AND \(NOT"#, "AND (NOT"),
    Mutant(
      "the device is made again under version 0", "pf2.use_many",
      #"(item.must_raise OR item.generation > 0)\s+ON CONFLICT DO NOTHING"#,
      "$1 ON CONFLICT (account, device) DO UPDATE SET version = device.version + 1, generation = excluded.generation"
    ),
    Mutant(
      "a generation that must rise may stay", "pf2.use_many",
      #"AND \(NOT item.must_raise OR pf.generation\([^)]*\) < item.generation\)"#, ""),
    Mutant(
      "the generation may fall", "pf2.use_many",
      #"greatest\(d.generation, own\)"#, "own"),
    Mutant(
      "a refused generation keeps its answer", "pf2.use_many", #"PERFORM pf.mark_refused\([^;]*;"#,
      ""),
    Mutant("a changed device keeps the mark", "pf2.use_many", #"PERFORM pf.unmark\([^;]*;"#, ""),
    Mutant(
      "the mark is taken back where it must stay", "pf2.use_many", "PERFORM pf.mark_refused",
      "PERFORM pf.unmark"),
    Mutant(
      "another report is told to judge again", "pf2.use_many", "'stale' ELSE 'again'",
      "'changed' ELSE 'again'"),
  ]

  static let sweeps = [
    Mutant(
      "the floor is left out", "pf2.use_many", #"item.expiry / 60 < held.floor_minute OR"#, ""),
    Mutant(
      "the floor is read before the table is locked", "pf2.use_many",
      #"PERFORM pf.lock_spent\([^;]*;"#, ""),
  ]
}

@Suite("Recorded histories of pf2.use_many", .enabled(if: Server.isThere), .serialized)
struct MutantTests {
  /// Histories of the functions as they are, and the most that a mutant gets to show itself.
  static let (rounds, mutantRounds) = (UInt64(12), UInt64(60))

  private func database(_ mutant: Mutant? = nil) throws -> Database {
    let database = try Server.main.database()
    try database.openAccount()
    try mutant?.plant(in: database)
    return database
  }

  /// The verdict of the first history that violates the specification, or the last one.
  private func verdict(_ fault: UseWorkload.Fault = .none, _ mutant: Mutant? = nil) throws
    -> Verdict
  {
    var last = Verdict.undecided("no round")
    let isAsIs = fault == .none && mutant == nil
    for round in 0..<(isAsIs ? Self.rounds : Self.mutantRounds) {
      let workload = UseWorkload(database: try database(mutant), fault: fault)
      let history = workload.play(seed: round * 100)
      // A mutant may also fail a call, which leaves it out of the history.
      let count = history.operations.count
      try #require(mutant != nil || count >= workload.threads * workload.calls)
      last = history.check()
      if last != .linearizable { break }
    }
    return last
  }

  @Test("The functions as they are: every history is linearizable")
  func unchanged() throws {
    #expect(try verdict() == .linearizable)
    #expect(try playSweep(database(), minutesAhead: 5).check() == .linearizable)
  }

  @Test(
    "A mutant of the functions gives a history that is not linearizable", arguments: Mutant.uses)
  func killed(mutant: Mutant) throws {
    guard case .violated(let words) = try verdict(.none, mutant) else {
      Issue.record("The mutant lives.")
      return
    }
    print("killed: \(mutant.testDescription): \(words)")
  }

  @Test(
    "A mutant of the sweep's order gives a history that is not linearizable",
    arguments: Mutant.sweeps)
  func sweepKilled(mutant: Mutant) throws {
    guard case .violated(let words) = try playSweep(database(mutant), minutesAhead: 5).check()
    else {
      Issue.record("The mutant lives.")
      return
    }
    print("killed: \(mutant.testDescription): \(words)")
  }

  @Test(
    "A faulty client gives a history that is not linearizable",
    arguments: [UseWorkload.Fault.answersBeforeCommit, .readsFromMemory])
  func faultyClient(fault: UseWorkload.Fault) throws {
    guard case .violated(let words) = try verdict(fault) else {
      Issue.record("The mutant lives.")
      return
    }
    print("killed: \(fault): \(words)")
  }
}
