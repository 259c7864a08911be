// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HistoryChecker
import OwnThreads
import PostgresServers
import PostgresStore
import ProofModel
import Testing

@Suite(
  "Histories with backends that are ended or stopped", .enabled(if: Server.isThere), .serialized)
struct NemesisTests {
  private let database: Database

  init() throws {
    database = try Server.main.database()
    try database.openAccount()
  }

  /// A backend that runs a call of the service's role in this database, or nil. A call that waits for a lock stays
  /// within it until the lock is free; the others may have ended meanwhile.
  private static func busyBackend(
    _ database: Database, _ watcher: PostgresConnection, waits: Bool = false
  ) -> Int32? {
    let rows = try? watcher.run(
      PostgresStatement(
        waits ? "waiting" : "busy",
        """
        SELECT pid FROM pg_stat_activity WHERE datname = $1::text AND usename = 'proof_service'
          AND state = 'active' \(waits ? "AND wait_event_type = 'Lock'" : "") ORDER BY query_start LIMIT 1
        """), .text(database.name))
    return rows.flatMap { try? Int32($0.integer(0, 0)) }
  }

  @Test("Backends are terminated within their calls")
  func terminated() throws {
    let database = database
    let watcher = try Server.main.superuser()
    let ended = CoreLock(0)
    let workload = UseWorkload(database: database, calls: 60)
    // Every call needs this table: the first backend is ended within one.
    let holder = try database.superuser()
    try holder.execute("BEGIN; LOCK TABLE pf.device")
    let history = workload.play(seed: 1) { isOver in
      defer { try? holder.execute("ROLLBACK") }
      while !isOver(), ended.withLock({ $0 }) < 12 {
        let isFirst = ended.withLock { $0 == 0 }
        guard let backend = Self.busyBackend(database, watcher, waits: isFirst) else { continue }
        guard (try? watcher.execute("SELECT pg_terminate_backend(\(backend))")) != nil else {
          return
        }
        ended.withLock { $0 += 1 }
        guard isFirst else { continue }
        workload.unknown.wait(beyond: 0)
        try? holder.execute("ROLLBACK")
      }
    }
    let unknown = history.operations.filter { $0.ended == nil }.count
    print(
      "terminated \(ended.withLock { $0 }) backends: \(history.operations.count) calls, \(unknown) unknown"
    )
    #expect(unknown > 0)
    expectLinearizable(history)
  }

  @Test("A backend is stopped within its call, and goes on after its client has gone")
  func stopped() throws {
    let database = database
    let watcher = try Server.main.superuser()
    let stopped = CoreLock<[Int32]>([])
    // More calls than the four stops need: a backend must be caught within one.
    let workload = UseWorkload(database: database, calls: 200, timeout: 100)
    let history = workload.play(seed: 2) { isOver in
      while !isOver(), stopped.withLock({ $0.count }) < 4 {
        let before = workload.unknown.count
        // A backend that was stopped before has no client any more.
        guard let backend = Self.busyBackend(database, watcher),
          !stopped.withLock({ $0.contains(backend) }), kill(backend, SIGSTOP) == 0
        else { continue }
        stopped.withLock { $0.append(backend) }
        // The backend goes on when a client has given up, its own or one that waits for its locks.
        workload.unknown.wait(beyond: before)
        kill(backend, SIGCONT)
      }
    }
    let unknown = history.operations.filter { $0.ended == nil }.count
    print(
      "stopped \(stopped.withLock { $0.count }) backends: \(history.operations.count) calls, \(unknown) unknown"
    )
    #expect(stopped.withLock { $0.count } == 4)
    #expect(unknown > 0)
    expectLinearizable(history)
  }
}

@Suite("Commits whose standby does not answer", .enabled(if: Server.isThere), .serialized)
struct AloneTests {
  private let database: Database
  private let watcher: PostgresConnection
  private let expiry = Int32(Date().timeIntervalSince1970) / 60 * 60 + 330
  /// Milliseconds of a call that is to miss them: enough for a busy machine to send it.
  private static let deadline: Int64 = 2_000

  init() throws {
    database = try Server.alone.database()
    watcher = try Server.alone.superuser()
    try database.superuser().execute(
      "SET synchronous_commit = local; SELECT pf1.open_account(1, 'a')")
  }

  private func use(_ report: UInt8, salt: UInt16 = 1) -> ChallengeUse {
    ChallengeUse(
      account: 1, expiry: expiry, salt: [UInt8(salt >> 8), UInt8(salt & 255)], device: [1],
      note: nil, digest: [report],
      answer: [report])
  }

  /// Whether a commit misses its deadline because it waits for the standby. A slow machine is
  /// another reason.
  private func waits(_ salt: UInt16) throws -> Bool {
    let connection = try PostgresConnection(options(Self.deadline))
    let backend = connection.backend
    let late = failure { () throws(PostgresError) in
      try connection.use([use(1, salt: salt)])
    }
    return try late != nil && waitsForStandby(backend)
  }

  private func waitsForStandby(_ backend: Int32) throws -> Bool {
    try watcher.number(
      "SELECT count(*) FROM pg_stat_activity WHERE pid = \(backend) AND wait_event = 'SyncRep'"
    ) > 0
  }

  private func waitForStandby(_ backend: Int32) throws {
    try waitUntil { try waitsForStandby(backend) }
  }

  @Test(
    "A commit that misses its deadline is unknown and is never canceled; its key tells the rest")
  func deadline() throws {
    try Server.aloneTurn.withLock { _ in try missDeadline() }
  }

  private func missDeadline() throws {
    let first = try PostgresConnection(options(Self.deadline))
    let backend = first.backend
    let late = failure { () throws(PostgresError) in try first.use([use(1)]) }
    #expect(late?.reason == .timedOut && late?.commit == .unknown)
    try waitForStandby(backend)
    // No call is told of the mark before the standby has it: another report waits too.
    let other = failure { () throws(PostgresError) in
      try PostgresConnection(options(Self.deadline)).use([use(2)])
    }
    #expect(other?.commit == .unknown)
    #expect(!Server.alone.log.contains("canceling"))
    // The standby is given up by the operator; both commits end, and the first one stands.
    try watcher.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
    try watcher.execute("SELECT pg_reload_conf()")
    let connection = try PostgresConnection(options(60_000))
    #expect(try connection.use([use(1)])[0].outcome == .again([1]))
    #expect(try connection.use([use(2)])[0].outcome == .stale)
    try watcher.execute("ALTER SYSTEM SET synchronous_standby_names = 'absent'")
    try watcher.execute("SELECT pg_reload_conf()")
    // The checkpointer brings the setting into force; then commits wait again.
    var salt: UInt16 = 2
    while try !waits(salt) { salt += 1 }
  }

  @Test("A commit whose wait another party cancels is unknown, although the server says success")
  func canceled() throws {
    try Server.aloneTurn.withLock { _ in try cancelWait() }
  }

  private func cancelWait() throws {
    let connection = try PostgresConnection(options(60_000))
    let backend = connection.backend
    let outcome = CoreLock<PostgresError?>(nil)
    let done = DispatchSemaphore(value: 0)
    let use = use(3)
    Thread {
      let failed = failure { () throws(PostgresError) in try connection.use([use]) }
      outcome.withLock { $0 = failed }
      done.signal()
    }.start()
    try waitForStandby(backend)
    try watcher.execute("SELECT pg_cancel_backend(\(backend))")
    done.wait()
    let failed = outcome.withLock { $0 }
    #expect(failed?.state == "01000" && failed?.commit == .unknown && failed?.mayRepeat == true)
  }

  private func options(_ timeout: Int64) throws(PostgresError) -> PostgresOptions {
    var options = try PostgresOptions(settings: Server.alone.settings(database.name))
    options.callTimeout = timeout
    return options
  }
}
