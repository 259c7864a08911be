// SPDX-License-Identifier: Apache-2.0

import AccountStores
import Console
import PostgresStore
import ProofJOSE
import ProofService

/// The verbs about the place of a store.
enum StoreVerbs {
  static let all: [Verb] = [
    Verb(
      "store migrate", [],
      [
        Option(
          "--to", "VERSION",
          help: "the version of the schema, or a version to go back to; this program's if missing")
      ], "makes the tables of a database, or brings them to another version", run: migrate),
    Verb(
      "store move", [Operand("FROM"), Operand("TO")],
      [
        Option("--undo", help: "lets FROM serve again after a move that was cut, if TO is empty")
      ], "moves the account from a store to an empty one; FROM is then out of use", run: move),
  ]

  private static func move(_ invocation: Invocation) throws -> Answer {
    let places = (invocation.operands[0], invocation.operands[1])
    let (from, to) = (try StorePlace(places.0), try StorePlace(places.1))
    let move = try StoreMove(from: from, to: to)
    if invocation.has("--undo") {
      try move.undo()
      return Answer(["undone": .bool(true)])
    }
    var fresh: (name: String, salts: [UInt8])?
    if try !move.isBegun() {
      let account = try Account.open(in: from.open(), with: AccountAccess.lock(invocation))
      fresh = (account.name, try Management(account).movedSaltKeys())
    }
    let moved = try move.move(fresh)
    var answer: JSONObject = ["account": .string(moved.name), "moved": .bool(moved.sum != nil)]
    if let sum = moved.sum {
      let names = [(MoveKind.counter, "counters"), (.device, "devices"), (.gateLine, "gate-lines")]
      for (kind, name) in names {
        answer[name] = .number(JSONNumber(Int64(sum.counts[kind.rawValue])))
      }
      var rows = JSONObject()
      for table in StoreTable.allCases {
        rows["\(table)"] = .number(JSONNumber(Int64(sum.rows[table] ?? 0)))
      }
      answer["rows"] = .object(rows)
    }
    return Answer(.object(answer))
  }

  private static func migrate(_ invocation: Invocation) throws -> Answer {
    guard let text = invocation.value("--store", else: "PROOF_STORE"),
      case .database(let options, _) = try StorePlace(text)
    else {
      throw Failure.usage("name the database: --store postgres://USER@HOST/DATABASE?sslrootcert=…")
    }
    let version = invocation.value("--to").map { Int($0) } ?? Migration.all.count
    guard let version else { throw Failure.usage("--to takes a number") }
    do throws(PostgresError) {
      let migrator = Migrator(try PostgresConnection(options))
      let before = try migrator.version()
      try migrator.move(to: version)
      return Answer([
        "from": .number(JSONNumber(Int64(before))), "to": .number(JSONNumber(Int64(version))),
      ])
    } catch {
      throw Failure("\(options): \(error)")
    }
  }
}
