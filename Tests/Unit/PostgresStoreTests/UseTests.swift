// SPDX-License-Identifier: Apache-2.0

import Foundation
import OwnThreads
import PostgresServers
import PostgresStore
import ProofModel
import SeededRandom
import Testing

@Suite("Single use of challenges in PostgreSQL", .enabled(if: Server.isThere))
struct UseTests {
  private let database: Database
  private let connection: PostgresConnection

  init() throws {
    database = try Server.main.database()
    try database.openAccount()
    connection = try database.service()
  }

  /// An expiry that stays valid for the test, in the middle of its minute.
  private let expiry = Int32(Date().timeIntervalSince1970) / 60 * 60 + 330

  private func use(
    salt: UInt8 = 1, device: String = "device", version: Int64 = 0, generation: Int64 = 1,
    mustRaise: Bool = false, note: String? = "note", report: UInt8 = 1, answer: String = "answer",
    revision: Int64 = 0, account: Int32 = 1, expiry: Int32? = nil
  ) -> ChallengeUse {
    ChallengeUse(
      account: account, expiry: expiry ?? self.expiry, salt: Array(repeating: salt, count: 16),
      device: Array(device.utf8), version: version, generation: generation, mustRaise: mustRaise,
      note: note.map { Array($0.utf8) }, digest: Array(repeating: report, count: 32),
      answer: Array(answer.utf8), revision: revision)
  }

  private func outcome(_ use: ChallengeUse) throws -> ChallengeUsed.Outcome {
    try connection.use([use])[0].outcome
  }

  /// Version, generation and note of the device's row.
  private func row(_ device: String = "device") throws -> [String] {
    let rows = try connection.run(
      PostgresStatement("see", "SELECT version, generation, note FROM pf1.see(1, $1::bytea)"),
      .bytea(Array(device.utf8)))
    let note = try rows.optionalBytes(0, 2).map { String(decoding: $0, as: UTF8.self) }
    return [try rows.integer(0, 0).description, try rows.integer(0, 1).description, note ?? "-"]
  }

  @Test("An answer with another number of outcomes, or with one that is unknown, is an error")
  func answers() throws {
    func uses(_ salt: UInt8) -> [ChallengeUse] {
      [use(salt: salt, device: "a"), use(salt: salt, device: "b")]
    }
    for (salt, text, other, words) in [
      (1, "generate_series(1, n)", "generate_series(1, n - 1)", "1 outcomes for 2 challenges"),
      (2, "generate_series(1, n)", "generate_series(0, n)", "3 outcomes for 2 challenges"),
      (3, "'used';", "'spent';", "pf2.use_many has no outcome spent"),
    ] as [(UInt8, String, String, String)] {
      let takeBack = try database.change("pf2.use_many", text, to: other)
      let error = failure { () throws(PostgresError) in try connection.use(uses(salt)) }
      #expect(error?.reason == .mismatch && error?.words == words)
      try takeBack()
    }
    // The first ones were written, whatever the answer said.
    let again = try connection.use(uses(1)).map(\.outcome)
    #expect(again == uses(1).map { .again($0.answer) })
  }

  @Test("The same report gets the same answer, another report of the challenge is stale")
  func idempotent() throws {
    let first = use(answer: "first")
    #expect(try outcome(first) == .used)
    var again = first
    again.answer = Array("second".utf8)
    again.version = 1
    #expect(try outcome(again) == .again(Array("first".utf8)))
    #expect(try outcome(use(version: 1, report: 2)) == .stale)
    // The device was counted once.
    #expect(try row() == ["1", "1", "note"])
    // The key has the device in it: the same salt of another device is another challenge.
    #expect(try outcome(use(device: "other")) == .used)
  }

  @Test("The device's note is written only over the version that was judged")
  func noteVersion() throws {
    #expect(try outcome(use(salt: 1, generation: 5, note: "a")) == .used)
    // 1. A second machine judged the same row: its challenge is not used up.
    let late = use(salt: 2, version: 0, generation: 6, note: "b", report: 2)
    #expect(try outcome(late) == .changed)
    #expect(try row() == ["1", "5", "a"])
    var judgedAgain = late
    judgedAgain.version = 1
    #expect(try outcome(judgedAgain) == .used)
    #expect(try row() == ["2", "6", "b"])
    // 2. A generation never falls.
    #expect(try outcome(use(salt: 3, version: 2, generation: 4, note: "c")) == .used)
    #expect(try row() == ["3", "6", "c"])
    // 3. A device that was removed after it was judged is not made again.
    try database.migrator().execute("DELETE FROM pf.device")
    #expect(try outcome(use(salt: 4, version: 3, generation: 6)) == .changed)
    #expect(try row() == ["0", "0", "-"])
  }

  @Test("A generation that must rise and does not uses the challenge up, without an answer")
  func generation() throws {
    #expect(try outcome(use(salt: 1, generation: 5)) == .used)
    let equal = use(salt: 2, version: 1, generation: 5, mustRaise: true)
    #expect(try outcome(equal) == .stale)
    // A repeated call does not fetch the answer of the refused report.
    #expect(try outcome(equal) == .stale)
    var above = equal
    above.generation = 6
    #expect(try outcome(above) == .stale)
    #expect(try row() == ["1", "5", "note"])
    #expect(try outcome(use(salt: 3, version: 1, generation: 6, mustRaise: true)) == .used)
    #expect(try row() == ["2", "6", "note"])
  }

  @Test("A report that is not believed uses its challenge up, and leaves the device as it is")
  func notBelieved() throws {
    let first = use(note: nil, answer: "")
    #expect(try outcome(first) == .used)
    #expect(try outcome(first) == .again([]))
    #expect(try outcome(use(report: 2)) == .stale)
    #expect(try row() == ["0", "0", "-"])
  }

  @Test("Judged by an old revision: nothing is written")
  func revision() throws {
    _ = try connection.run(.apply([1], [2], from: nil, to: [3]))
    #expect(try outcome(use(revision: 0)) == .changed)
    #expect(try outcome(use(revision: 1)) == .used)
    #expect(try outcome(use(salt: 9, revision: 0, account: 2)) == .stale)
  }

  @Test("A change of the account waits for uses that were judged before it, and later ones see it")
  func changeAfterUses() throws {
    let user = try database.service()
    try user.execute("BEGIN")
    #expect(try user.use([use(salt: 1)])[0].outcome == .used)
    let outcome = CoreLock<String?>(nil)
    let done = DispatchSemaphore(value: 0)
    Thread { [connection] in
      let applied = try? connection.run(.apply([1], [2], from: nil, to: [3])).text(0, 0)
      outcome.withLock { $0 = applied }
      done.signal()
    }.start()
    // The ban is not acknowledged while a use under the old revision may still be committed.
    try Server.main.waitForLock(of: connection.backend)
    #expect(outcome.withLock { $0 } == nil)
    try user.execute("COMMIT")
    done.wait()
    #expect(outcome.withLock { $0 } == "applied")
    #expect(try user.use([use(salt: 2, version: 1)])[0].outcome == .changed)
    #expect(try user.use([use(salt: 2, version: 1, revision: 1)])[0].outcome == .used)
  }

  @Test("A challenge outside its time is stale, by the database's clock")
  func time() throws {
    let now = Int32(Date().timeIntervalSince1970)
    for wrong in [0, 1, now - 3_600, now - 1, -60] {
      #expect(try outcome(use(expiry: wrong)) == .stale, "\(wrong - now) s from now")
    }
    let slotOfOther = try connection.run(
      PostgresStatement(
        "wrong-slot",
        """
        SELECT outcome, now_us FROM pf2.use_many('{1}', ARRAY[(($1::int4 / 60 + 1) % 64)::int2], ARRAY[$1::int4], '{NULL}',
          '{s}', '{d}', '{0}', '{1}', '{f}', '{NULL}', '{n}', '{NULL}', '{NULL}', '{r}', '{a}', '{0}')
        """), .int4(expiry))
    #expect(try slotOfOther.text(0, 0) == "stale")
    #expect(abs(try slotOfOther.integer(0, 1) / 1_000_000 - Int64(now)) < 60)
    #expect(try connection.number("SELECT pf1.count_devices(1)") == 0)
  }

  @Test("In a batch each challenge has its own outcome, in the order of the call")
  func batch() throws {
    #expect(try outcome(use(salt: 1, answer: "kept")) == .used)
    let outcomes = try connection.use([
      use(salt: 9, device: "z"), use(salt: 1), use(salt: 2, version: 0, report: 3),
      use(salt: 1, report: 2), use(salt: 3, device: "a"), use(salt: 3, device: "a"),
      use(salt: 4, device: "b", expiry: 5), use(salt: 4, device: "c", revision: 8),
    ]).map(\.outcome)
    #expect(
      outcomes == [
        .used, .again(Array("kept".utf8)), .changed, .changed, .used, .changed, .stale, .changed,
      ])
    // A key that stood twice in the batch is told by the next call.
    #expect(try outcome(use(salt: 1, report: 2)) == .stale)
    #expect(try outcome(use(salt: 3, device: "a")) == .again(Array("answer".utf8)))
    let tooMany = failure { () throws(PostgresError) in
      try connection.use((0..<33).map { use(salt: $0) })
    }
    #expect(tooMany?.state == "22023")
    #expect(connection.isOpen)
  }

  @Test("16 connections race on 400 challenges: each has exactly one winner")
  func race() throws {
    let expiry = expiry
    let winners = CoreLock<[Int: [Int]]>([:])
    let failures = CoreLock<[PostgresError]>([])
    let attempts = CoreLock(0)
    let connections = try (0..<16).map { _ in try database.service() }
    onThreads(16) { thread in
      var generator = SeededGenerator(seed: UInt64(thread))
      let connection = connections[thread]
      for round in 0..<50 {
        // Four threads begin with the same batch, each with the challenges in an order of its own.
        let start = (round + thread % 4 * 12) % 50 * 8
        let salts = (start..<start + 8).shuffled(using: &generator)
        let uses = salts.map { salt in
          ChallengeUse(
            account: 1, expiry: expiry, salt: Array("salt \(salt)".utf8),
            device: Array("\(salt % 5)".utf8),
            note: nil, digest: [UInt8(thread)], answer: [UInt8(thread)])
        }
        do throws(PostgresError) {
          let used = try connection.use(uses)
          attempts.withLock { $0 += used.count }
          for (salt, outcome) in zip(salts, used) where outcome.outcome == .used {
            winners.withLock { $0[salt, default: []].append(thread) }
          }
        } catch {
          failures.withLock { $0.append(error) }
        }
      }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(attempts.withLock { $0 } == 16 * 400)
    #expect(winners.withLock { $0.count } == 400)
    #expect(winners.withLock { $0.values.allSatisfy { $0.count == 1 } })
    // More than one thread won, or the race was none.
    #expect(winners.withLock { Set($0.values.joined()).count } > 1)
  }

  @Test("A batch that waits for a mark holds no mark behind it, and no device")
  func lockOrder() throws {
    let holder = try database.service()
    try holder.execute("BEGIN")
    #expect(try holder.use([use(salt: 2, note: nil, report: 9)])[0].outcome == .used)
    // The batch marks salt 1, then waits for salt 2.
    let batch = [use(salt: 3), use(salt: 2), use(salt: 1)]
    let outcomes = CoreLock<[ChallengeUsed.Outcome]>([])
    let done = DispatchSemaphore(value: 0)
    Thread { [connection] in
      let used = (try? connection.use(batch)) ?? []
      outcomes.withLock { $0 = used.map(\.outcome) }
      done.signal()
    }.start()
    try Server.main.waitForLock(of: connection.backend)
    // Salt 3 and the device are free for another node.
    let other = try database.service(timeout: 10_000)
    #expect(try other.use([use(salt: 3, report: 8)])[0].outcome == .used)
    try holder.execute("COMMIT")
    done.wait()
    #expect(outcomes.withLock { $0 } == [.stale, .stale, .changed])
    #expect(try row() == ["1", "1", "note"])
  }

  @Test("16 connections use marks and devices in opposite orders: no deadlock, no lost note")
  func orders() throws {
    let expiry = expiry
    let failures = CoreLock<[PostgresError]>([])
    let wins = CoreLock<[String: Int]>([:])
    let connections = try (0..<16).map { _ in try database.service() }
    onThreads(16) { thread in
      var generator = SeededGenerator(seed: UInt64(thread))
      let connection = connections[thread]
      let see = PostgresStatement("see", "SELECT version FROM pf1.see(1, $1::bytea)")
      for round in 0..<25 {
        do throws(PostgresError) {
          var uses: [ChallengeUse] = []
          for device in ["a", "b", "c", "d"].shuffled(using: &generator) {
            let version = try connection.run(see, .bytea(Array(device.utf8))).integer(0, 0)
            for salt in [round, round + 1] {
              uses.append(
                ChallengeUse(
                  account: 1, expiry: expiry, salt: Array("\(salt)".utf8),
                  device: Array(device.utf8),
                  version: version, generation: 1, note: [0], digest: [UInt8(thread)], answer: [1]))
            }
          }
          for (use, used) in zip(uses, try connection.use(uses)) where used.outcome == .used {
            wins.withLock { $0[String(decoding: use.device, as: UTF8.self), default: 0] += 1 }
          }
        } catch {
          failures.withLock { $0.append(error) }
        }
      }
    }
    #expect(failures.withLock { $0 } == [])
    // Each win wrote the note once over the version it had judged.
    for device in ["a", "b", "c", "d"] {
      #expect(try row(device)[0] == wins.withLock { "\($0[device] ?? 0)" })
    }
  }

  @Test("A lane uses a challenge that stands twice in its batch one after the other")
  func twiceInALane() throws {
    let lane = UseLane(try database.options())
    let uses = [
      use(salt: 1, answer: "first"), use(salt: 2, device: "other"), use(salt: 1, answer: "second"),
      use(salt: 1, report: 2),
    ]
    let outcomes = try lane.perform(uses).map { try $0.get().outcome }
    #expect(outcomes == [.used, .used, .again(Array("first".utf8)), .stale])
  }

  @Test("A lane of calls gives each its own answer, and a refused one undoes no other")
  func callLane() throws {
    let lane = CallLane(try database.options())
    let count = PostgresStatement("count", "SELECT pf1.block(1, 'c', $1::int8)")
    let refused = PostgresStatement("refused", "SELECT pf2.spent(99::int2, 1, 'd', 's')")
    let answers = lane.perform([
      PostgresCall(count, [.int8(5)]), PostgresCall(refused), PostgresCall(count, [.int8(7)]),
    ])
    #expect(try answers[0].get().integer(0, 0) == 0)
    #expect(failure { () throws(PostgresError) in try answers[1].get() }?.reason == .refused)
    #expect(try answers[2].get().integer(0, 0) == 5)
  }

  @Test("A batcher's lanes gather the uses of 24 threads, and survive a terminated backend")
  func lanes() throws {
    let lanes = try (0..<2).map { _ in UseLane(try database.options(), patience: 60_000) }
    let batcher = Batcher(lanes: lanes)
    let expiry = expiry
    let outcomes = CoreLock<[ChallengeUsed.Outcome]>([])
    let failures = CoreLock<[PostgresError]>([])
    onThreads(24) { thread in
      for round in 0..<40 {
        let use = ChallengeUse(
          account: 1, expiry: expiry, salt: Array("\(round)".utf8), device: Array("\(thread)".utf8),
          version: Int64(round), generation: 1, note: [1], digest: [1], answer: [UInt8(round)])
        do throws(PostgresError) {
          let used = try batcher.answer(to: use, within: 60_000)
          outcomes.withLock { $0.append(used.outcome) }
          // The own answer comes back if the first attempt was committed before its connection ended.
          guard used.outcome == .used || used.outcome == .again([UInt8(round)]) else {
            throw PostgresError(.mismatch, "\(used.outcome)")
          }
        } catch {
          failures.withLock { $0.append(error) }
        }
        if thread == 0, round % 10 == 5 {
          try? Server.main.superuser().execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = '\(database.name)' AND usename = 'proof_service' AND pid <> \(connection.backend)
            """)
        }
      }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(outcomes.withLock { $0.count } == 960)
    #expect(batcher.counts.free == 2)
    for thread in 0..<24 { #expect(try row("\(thread)")[0] == "40") }
  }
}
