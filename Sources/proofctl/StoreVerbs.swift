// SPDX-License-Identifier: Apache-2.0

import AccountStores
import Console
import PostgresStore
import ProofJOSE

/// The verbs about the place of a store. They need no key.
enum StoreVerbs {
  static let all: [Verb] = [
    Verb(
      "store migrate", [],
      [
        Option(
          "--to", "VERSION",
          help: "the version of the schema, or a version to go back to; this program's if missing")
      ], "makes the tables of a database, or brings them to another version", run: migrate)
  ]

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
