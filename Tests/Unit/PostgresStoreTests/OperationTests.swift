// SPDX-License-Identifier: Apache-2.0

import Foundation
import HistoryChecker
import OwnThreads
import PostgresServers
import PostgresStore
import ProofModel
import SeededRandom
import Testing

/// Histories of the other functions, from 8 threads with a connection each.
@Suite("Recorded histories of accounts, events and ledgers", .enabled(if: Server.isThere))
struct OperationTests {
  private let database: Database

  init() throws {
    database = try Server.main.database()
    try database.openAccount()
  }

  private func onConnections(
    _ body: @escaping @Sendable (Int, PostgresConnection, inout SeededGenerator) -> Void
  ) {
    onThreads(8) { thread in
      var generator = SeededGenerator(seed: UInt64(thread))
      guard let connection = try? database.service() else {
        Issue.record("no connection")
        return
      }
      body(thread, connection, &generator)
    }
  }

  /// Value 0 is no row.
  private static func value(_ number: Int) -> [UInt8]? { number == 0 ? nil : [UInt8(number)] }

  @Test("Register and ban: rows change by compare-and-set, and every reading is the latest")
  func registers() throws {
    let recorder = Recorder<Register>()
    let row = PostgresStatement("row", "SELECT value FROM pf1.row(1, 1::int2, $1::bytea)")
    onConnections { thread, connection, generator in
      for number in 0..<40 {
        let key = Int.random(in: 0..<2, using: &generator)
        if Bool.random(using: &generator) {
          recorder.record(thread: thread, key: "row \(key)", .read) {
            observe { () throws(PostgresError) in
              let rows = try connection.run(row, .bytea([UInt8(key)]))
              return Int(try rows.optionalBytes(0, 0)?.first ?? 0)
            }
          }
          continue
        }
        let from = Int.random(in: 0..<3, using: &generator)
        let to = Int.random(in: 0..<3, using: &generator)
        recorder.record(thread: thread, key: "row \(key)", .set(from: from, to: to)) {
          observe { () throws(PostgresError) in
            let operation = Array("\(thread) \(number)".utf8)
            let rows = try connection.run(
              .apply(operation, [UInt8(key)], from: Self.value(from), to: Self.value(to)))
            return try rows.text(0, 0) == "applied" ? 1 : 0
          }
        }
      }
    }
    #expect(recorder.history.operations.count == 320)
    expectLinearizable(recorder.history)
  }

  @Test("Rotate a key: two acknowledged rotations have two revisions, a repeated one has its own")
  func rotations() throws {
    let recorder = Recorder<Rotation>()
    let repeated = CoreLock(0)
    onConnections { thread, connection, _ in
      for number in 0..<25 {
        var serial: Int64 = 0
        // Each operation has a row of its own, so none is refused; the revision is the serial.
        let name = Array("\(thread) \(number)".utf8)
        recorder.record(thread: thread, key: "account", .rotate) {
          observe { () throws(PostgresError) in
            serial = try connection.run(.apply(name, name, from: nil, to: [1])).integer(0, 1)
            return Int(serial)
          }
        }
        let again = try? connection.run(.apply(name, name, from: nil, to: [1]))
        if (try? again?.text(0, 0)) == "again", (try? again?.integer(0, 1)) == serial {
          repeated.withLock { $0 += 1 }
        }
      }
    }
    #expect(repeated.withLock { $0 } == 200)
    #expect(recorder.history.operations.count == 200)
    expectLinearizable(recorder.history)
  }

  @Test("Events are redeemed once, and their count is the sum of the first redemptions")
  func events() throws {
    let recorder = Recorder<EventOnce>()
    let counts = CoreLock<[(count: Int, began: Int, ended: Int)]>([])
    let minute = Int32(Date().timeIntervalSince1970) / 60
    let redeem = PostgresStatement(
      "redeem", "SELECT pf1.redeem_event(1, $1::int4, $2::bytea, 'sale', $3::int2)")
    let count = PostgresStatement("count", "SELECT pf1.count_events(1, 'sale')")
    onConnections { thread, connection, generator in
      for _ in 0..<40 {
        let event = Int.random(in: 0..<60, using: &generator)
        recorder.record(thread: thread, key: "event \(event)", .redeem) {
          observe { () throws(PostgresError) in
            // The event's own time decides the table, so both redemptions meet in it.
            let isFirst = try connection.run(
              redeem, .int4(minute - Int32(event % 5)), .bytea([UInt8(event)]), .int2(Int16(thread))
            ).bool(0, 0)
            return isFirst ? 1 : 0
          }
        }
        guard Int.random(in: 0..<4, using: &generator) == 0 else { continue }
        let began = recorder.now
        if let sum = try? connection.run(count).integer(0, 0) {
          let ended = recorder.now
          counts.withLock { $0.append((Int(sum), began, ended)) }
        }
      }
    }
    let history = recorder.history
    #expect(history.operations.count == 320)
    expectLinearizable(history)
    let firsts = history.operations.filter { $0.answer == 1 }
    let added = firsts.map { Bounds.Added(began: $0.began, ended: $0.ended) }
    #expect(counts.withLock { $0.count } > 20)
    for (sum, began, ended) in counts.withLock({ $0 }) {
      #expect(Bounds.allows(count: sum, began: began, ended: ended, added))
    }
    #expect(try database.service().run(count).integer(0, 0) == Int64(firsts.count))
  }

  @Test("Devices are counted between the acknowledged and the begun")
  func devices() throws {
    let recorder = Recorder<DeviceUses>()
    let counts = CoreLock<[(count: Int, began: Int, ended: Int)]>([])
    let expiry = Int32(Date().timeIntervalSince1970) / 60 * 60 + 330
    let count = PostgresStatement("count", "SELECT pf1.count_devices(1)")
    onConnections { thread, connection, _ in
      for number in 0..<30 {
        let device = "\(thread) \(number)"
        let call = DeviceUses.Call.use(
          salt: 0, report: 0, judged: 0, generation: 0, mustRaise: false)
        recorder.record(thread: thread, key: device, call) {
          observe { () throws(PostgresError) in
            let use = ChallengeUse(
              account: 1, expiry: expiry, salt: [0], device: Array(device.utf8), note: [0],
              digest: [0], answer: [0])
            return try connection.use([use])[0].outcome == .used ? .used : .stale
          }
        }
        let began = recorder.now
        if let sum = try? connection.run(count).integer(0, 0) {
          let ended = recorder.now
          counts.withLock { $0.append((Int(sum), began, ended)) }
        }
      }
    }
    expectLinearizable(recorder.history)
    let added = recorder.history.operations.map { Bounds.Added(began: $0.began, ended: $0.ended) }
    #expect(added.count == 240 && counts.withLock { $0.count } == 240)
    for (sum, began, ended) in counts.withLock({ $0 }) {
      #expect(Bounds.allows(count: sum, began: began, ended: ended, added))
    }
  }

  @Test("Blocks of a counter are disjoint")
  func blocks() throws {
    let blocks = CoreLock<[Range<Int>]>([])
    let block = PostgresStatement("block", "SELECT pf1.block(1, 'seal', $1::int8)")
    onConnections { _, connection, generator in
      for _ in 0..<40 {
        let size = Int.random(in: 1...9, using: &generator)
        if let first = try? connection.run(block, .int8(Int64(size))).integer(0, 0) {
          blocks.withLock { $0.append(Int(first)..<Int(first) + size) }
        }
      }
    }
    #expect(blocks.withLock { $0.count } == 320)
    #expect(blocks.withLock { Bounds.areDisjoint($0) })
  }
}
