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
    Verb(
      "store after-restore", [], [],
      "makes a database that was restored from a backup safe to serve, before the services start",
      run: afterRestore),
    Verb(
      "ledger copy", [Operand("FROM"), Operand("TO")], [],
      "copies a backend's ledger to an empty one, a folder or a database; no backend may run",
      run: copyLedger),
  ]

  private static func copyLedger(_ invocation: Invocation) throws -> Answer {
    let (from, to) = (invocation.operands[0], invocation.operands[1])
    let count = try LedgerPlace.open(from).copy(to: LedgerPlace.open(to))
    return Answer(["pairs": .number(JSONNumber(Int64(count)))])
  }

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

  /// Numbers of each counter that a restored database leaves out.
  private static let skipped: Int64 = 1 << 20

  private static func afterRestore(_ invocation: Invocation) throws -> Answer {
    guard let text = invocation.value("--store", else: "PROOF_STORE"),
      case .database = try StorePlace(text),
      let store = try StorePlace(text).open() as? PostgresAccountStore
    else {
      throw Failure.usage(
        "name the database: --store postgres://USER@HOST/DATABASE?sslrootcert=…; for a file, replace"
          + " the key of challenges: proofctl saltkey replace")
    }
    let account = try Account.open(in: store, with: AccountAccess.lock(invocation))
    try store.afterRestore(at: .now, skipping: skipped)
    try Management(account).replaceSaltKey()
    return Answer(["account": .string(account.name), "skipped": .number(JSONNumber(skipped))])
  }

  private static func migrate(_ invocation: Invocation) throws -> Answer {
    guard let text = invocation.value("--store", else: "PROOF_STORE"),
      case .database(let options, _, _) = try StorePlace(text)
    else {
      throw Failure.usage("name the database: --store postgres://USER@HOST/DATABASE?sslrootcert=…")
    }
    let version = invocation.value("--to").map { Int($0) } ?? Migration.all.count
    guard let version else { throw Failure.usage("--to takes a number") }
    do throws(PostgresError) {
      let migrator = Migrator(try PostgresConnection(options))
      let before = try migrator.version()
      try migrator.move(to: version)
      var answer: JSONObject = [
        "from": .number(JSONNumber(Int64(before))), "to": .number(JSONNumber(Int64(version))),
      ]
      if let hasGates = try migrator.grantGates() { answer["gates"] = .bool(hasGates) }
      return Answer(.object(answer))
    } catch {
      throw Failure("\(options): \(error)")
    }
  }
}
