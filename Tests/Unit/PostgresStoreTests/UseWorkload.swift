// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HistoryChecker
import OwnThreads
import PostgresServers
import PostgresStore
import ProofModel
import SeededRandom
import Testing

/// Many threads that see and use a few devices, recorded.
struct UseWorkload {
  /// A fault of the client that the checker must find.
  enum Fault {
    case none
    /// Every fifth call is answered, then rolled back.
    case answersBeforeCommit
    /// Every second reading of a device is the thread's last one.
    case readsFromMemory
  }

  let database: Database
  var threads = 8
  var calls = 40
  var fault = Fault.none
  /// Milliseconds of a call.
  var timeout: Int64 = 60_000
  /// The calls with an unknown outcome.
  let unknown = UnknownCalls()
  let expiry = Int32(Date().timeIntervalSince1970) / 60 * 60 + 330

  private static let see = PostgresStatement(
    "see", "SELECT version, generation FROM pf2.see(1, $1::bytea, NULL, NULL)")

  /// Plays the calls, and up to 50 times as many while `beside` runs in a thread of its own. Its
  /// argument tells whether all calls have ended.
  func play(
    seed: UInt64, beside: @escaping @Sendable (_ isOver: () -> Bool) -> Void = { _ in }
  ) -> History<DeviceUses> {
    let recorder = Recorder<DeviceUses>()
    unknown.begin()
    let left = CoreLock(threads)
    let isAlone = CoreLock(false)
    onThreads(threads + 1) { thread in
      if thread == threads {
        beside { left.withLock { $0 == 0 } }
        return isAlone.withLock { $0 = true }
      }
      defer {
        let isLast = left.withLock { left in
          left -= 1
          return left == 0
        }
        if isLast { unknown.end() }
      }
      var generator = SeededGenerator(seed: seed &+ UInt64(thread))
      var connection: PostgresConnection?
      var versions: [Int: Int] = [:]
      var memory: [Int: DeviceUses.Answer] = [:]
      for number in 0..<calls * 50 {
        if number >= calls, isAlone.withLock({ $0 }) { break }
        if connection?.isOpen != true {
          connection = try? PostgresConnection(database.options(timeout: timeout))
        }
        guard let open = connection else { continue }
        let device = Int.random(in: 0..<3, using: &generator)
        let name = Array("device \(device)".utf8)
        if Int.random(in: 0..<3, using: &generator) == 0 {
          let answer = recorder.record(thread: thread, key: "device \(device)", .see) {
            if fault == .readsFromMemory, number % 2 == 0, let last = memory[device] {
              return .answer(last)
            }
            return observe(unknown) { () throws(PostgresError) in
              let rows = try open.run(Self.see, .bytea(name))
              return .seen(
                version: Int(try rows.integer(0, 0)), generation: Int(try rows.integer(0, 1)))
            }
          }
          memory[device] = answer
          if case .seen(let version, _) = answer { versions[device] = version }
          continue
        }
        let call = DeviceUses.Call.use(
          // Salts move on, so that some are new in each part of the history.
          salt: .random(in: number / 3...number / 3 + 2, using: &generator),
          report: .random(in: 0..<3, using: &generator), judged: versions[device] ?? 0,
          generation: number / 4 + .random(in: 0..<3, using: &generator),
          mustRaise: .random(using: &generator))
        let isRolledBack = fault == .answersBeforeCommit && number % 5 == 0
        let answer = recorder.record(thread: thread, key: "device \(device)", call) {
          observe(unknown) { () throws(PostgresError) in
            if isRolledBack { try open.execute("BEGIN") }
            let outcome = try open.use([challenge(call, name)])[0].outcome
            if isRolledBack { try open.execute("ROLLBACK") }
            return Self.answer(outcome)
          }
        }
        if answer == .used { versions[device, default: 0] += 1 }
        if answer == .changed { versions[device] = nil }
      }
    }
    return recorder.history
  }

  private func challenge(_ call: DeviceUses.Call, _ device: [UInt8]) -> ChallengeUse {
    guard case .use(let salt, let report, let judged, let generation, let mustRaise) = call else {
      fatalError("No use.")
    }
    return ChallengeUse(
      account: 1, expiry: expiry, salt: Array("salt \(salt)".utf8), device: device,
      version: Int64(judged), generation: Int64(generation), mustRaise: mustRaise, note: [1],
      digest: [UInt8(report)], answer: [UInt8(report)])
  }

  private static func answer(_ outcome: ChallengeUsed.Outcome) -> DeviceUses.Answer {
    switch outcome {
    case .used: .used
    case .again(let bytes): .again(Int(bytes.first ?? 255))
    case .stale: .stale
    case .changed: .changed
    }
  }
}

/// Counts calls with an unknown outcome, and lets a thread wait for the next.
final class UnknownCalls: Sendable {
  private struct State {
    var count = 0
    var isOver = false
  }

  private let state = CoreLock(State())
  private let change = NSCondition()

  var count: Int { state.withLock { $0.count } }

  /// Begins a round of calls.
  func begin() { tell { $0 = State() } }
  func raise() { tell { $0.count += 1 } }
  /// Ends the round: no thread waits any longer.
  func end() { tell { $0.isOver = true } }

  /// Waits until there are more than `count`, or the round has ended.
  @available(*, noasync)
  func wait(beyond count: Int) {
    change.lock()
    defer { change.unlock() }
    while state.withLock({ $0.count <= count && !$0.isOver }) { change.wait() }
  }

  private func tell(_ how: (inout State) -> Void) {
    change.lock()
    defer { change.unlock() }
    state.withLock { how(&$0) }
    change.broadcast()
  }
}

/// A call's result as its thread sees it. `unknown` counts those that may take effect later.
func observe<Answer: Sendable>(
  _ unknown: UnknownCalls? = nil, _ body: () throws(PostgresError) -> Answer
) -> Observed<Answer> {
  do throws(PostgresError) {
    return .answer(try body())
  } catch {
    guard error.commit == .unknown else { return .nothing }
    unknown?.raise()
    return .unknown
  }
}

/// Expects a history to be linearizable. One that is not is kept in a file, which the issue names.
func expectLinearizable<Object: Specification>(
  _ history: History<Object>, sourceLocation: SourceLocation = #_sourceLocation
) {
  let verdict = history.check()
  guard verdict != .linearizable else { return }
  let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).history")
  try? Data(history.text.utf8).write(to: file)
  Issue.record("\(verdict); the history is in \(file.path)", sourceLocation: sourceLocation)
}

/// Uses a challenge, sweeps its slot while a second use waits for the table, and records all three.
func playSweep(_ database: Database, minutesAhead: Int32) throws -> History<RedeemOnce> {
  let recorder = Recorder<RedeemOnce>()
  let expiry = (Int32(Date().timeIntervalSince1970) / 60 + minutesAhead) * 60 + 30
  let slot = expiry / 60 % 64
  let table = slot < 10 ? "pf.spent_0\(slot)" : "pf.spent_\(slot)"
  let connection = try database.service()
  let watcher = try database.superuser()
  let sweeper = try database.migrator()

  @Sendable func redeem(_ report: Int, _ connection: PostgresConnection) {
    recorder.record(thread: report, key: "\(slot)", .redeem(report: report, answer: report)) {
      observe { () throws(PostgresError) in
        let use = ChallengeUse(
          account: 1, expiry: expiry, salt: [1], device: [1], note: nil, digest: [UInt8(report)],
          answer: [UInt8(report)])
        switch try connection.use([use])[0].outcome {
        case .used: return .used
        case .again(let bytes): return .again(Int(bytes.first ?? 255))
        case .stale, .changed: return .stale
        }
      }
    }
  }
  redeem(1, connection)
  let done = DispatchSemaphore(value: 0)
  let backend = connection.backend
  var failed: PostgresError?
  recorder.record(thread: 0, key: "\(slot)", .sweep) {
    observe { () throws(PostgresError) in
      do throws(PostgresError) {
        try sweeper.execute(
          """
          BEGIN; UPDATE pf.spent_ring SET floor_minute = \(expiry / 60 + 1) WHERE slot = \(slot);
          TRUNCATE \(table)
          """)
        Thread {
          redeem(2, connection)
          done.signal()
        }.start()
        let waits = PostgresStatement(
          "waits", "SELECT count(*) FROM pg_locks WHERE pid = \(backend) AND NOT granted")
        try waitUntil { () throws(PostgresError) in
          try watcher.run(waits).integer(0, 0) != 0
        }
        try sweeper.execute("COMMIT")
      } catch {
        failed = error
        throw error
      }
      return .done
    }
  }
  if let failed { throw failed }
  done.wait()
  redeem(3, connection)
  redeem(1, connection)
  return recorder.history
}
