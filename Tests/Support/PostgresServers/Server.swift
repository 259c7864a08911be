// SPDX-License-Identifier: Apache-2.0

import Foundation
import OwnThreads
package import PostgresStore
package import ProofModel

/// One of the servers that Tests/Process/Scale/cluster.sh started.
package struct Server: Sendable {
  package let name: String
  package let port: Int

  package static let folder = ProcessInfo.processInfo.environment["PROOF_POSTGRES"]
  /// Tests that need a server are skipped where none is; `make check PART=scale` starts it.
  package static let isThere = folder != nil

  package static let main = Server("main")
  /// A server whose commits wait for a standby that does not exist.
  package static let alone = Server("alone")
  /// Held while a test changes ``alone`` or depends on its commits having no end: tests of several
  /// suites use it beside each other.
  package static let aloneTurn = CoreLock<Void>(())

  private static let templates = CoreLock<[String: Bool]>([:])
  private static let numbers = CoreLock(0)

  private init(_ name: String) {
    self.name = name
    let text = try? String(contentsOfFile: "\(Self.folder ?? "")/\(name)/port", encoding: .utf8)
    port = Int(text?.dropLast() ?? "") ?? 0
  }

  package static func file(_ name: String) -> String { "\(folder!)/\(name)" }

  /// The text of the server's log.
  package var log: String {
    (try? String(contentsOfFile: Self.file("\(name)/log"), encoding: .utf8)) ?? ""
  }

  /// The settings of a connection over TCP.
  package func settings(_ database: String, user: String = "proof_service") -> [String: String] {
    [
      "host": "localhost", "port": "\(port)", "dbname": database, "user": user,
      "password": user.replacing("proof_", with: "") + "-secret",
      // A machine under load takes longer than the default of 2 s for many handshakes at once.
      "sslrootcert": Self.file("authority.pem"), "connect_timeout": "60",
    ]
  }

  /// The server's superuser, over the Unix socket. Its commits wait for no standby.
  package func superuser(_ database: String = "postgres") throws -> PostgresConnection {
    var options = try PostgresOptions(settings: [
      "host": Self.file("\(name)/socket"), "port": "\(port)", "dbname": database,
      "user": "postgres",
    ])
    options.callTimeout = 60_000
    let connection = try PostgresConnection(options)
    try connection.execute("SET synchronous_commit = local")
    return connection
  }

  /// Waits until a backend waits for a lock.
  @available(*, noasync)
  package func waitForLock(of backend: Int32) throws {
    let watcher = try superuser()
    let text = "SELECT count(*) FROM pg_locks WHERE pid = \(backend) AND NOT granted"
    try waitUntil { try watcher.number(text) != 0 }
  }

  /// A new database that the role proof_migrator owns, with the schema of this program.
  package func database(migrated: Bool = true) throws -> Database {
    let number = Self.numbers.withLock { number in
      number += 1
      return number
    }
    let database = "test_\(number)"
    let connection = try superuser()
    guard migrated else {
      try connection.execute("CREATE DATABASE \(database) OWNER proof_migrator", timeout: 60_000)
      return Database(server: self, name: database)
    }
    try Self.templates.withLock { made in
      if made[name] == nil {
        made[name] = true
        try connection.execute("CREATE DATABASE migrated OWNER proof_migrator", timeout: 60_000)
        try connection.execute("ALTER ROLE proof_migrator SET synchronous_commit = local")
        let template = Database(server: self, name: "migrated")
        let migrator = try template.migrator()
        try migrator.execute("SET synchronous_commit = local")
        let schema = Migrator(migrator)
        try schema.move(to: Migration.all.count)
        _ = try schema.grantGates()
      }
      try connection.execute(
        "CREATE DATABASE \(database) TEMPLATE migrated OWNER proof_migrator", timeout: 60_000)
    }
    return Database(server: self, name: database)
  }
}

/// A database of one test.
package struct Database: Sendable {
  package let server: Server
  package let name: String

  package init(server: Server, name: String) {
    self.server = server
    self.name = name
  }

  /// Connects as the service's role, over TLS.
  package func service(timeout: Int64 = 60_000) throws -> PostgresConnection {
    try PostgresConnection(options(timeout: timeout))
  }

  /// Connects as the role of gates.
  package func gate() throws -> PostgresConnection {
    try PostgresConnection(options(user: "proof_gate"))
  }

  package func options(
    user: String = "proof_service", timeout: Int64 = 60_000
  ) throws -> PostgresOptions {
    var options = try PostgresOptions(settings: server.settings(name, user: user))
    options.callTimeout = timeout
    return options
  }

  package func migrator() throws -> PostgresConnection {
    try PostgresConnection(options(user: "proof_migrator"))
  }

  package func superuser() throws -> PostgresConnection { try server.superuser(name) }

  /// Changes the text of a function, for an answer that the schema never gives.
  ///
  /// - Returns: A call that takes the change back.
  @discardableResult
  package func change(
    _ function: String, _ text: String, to other: String
  ) throws -> () throws -> Void {
    let migrator = try migrator()
    let before = try migrator.run(
      PostgresStatement("text", "SELECT pg_get_functiondef($1::text::regproc)"), .text(function)
    ).text(0, 0)
    precondition(before.contains(text), "\(function) does not have this text.")
    try migrator.execute(before.replacing(text, with: other))
    return { try migrator.execute(before) }
  }

  /// Creates account 1.
  package func openAccount() throws {
    try migrator().execute("SELECT pf1.open_account(1, 'a')")
  }
}

extension PostgresCall {
  /// Changes row `key` of table 1 of account 1 from one value to another; nil is no row. The answer
  /// has the columns `outcome` and `revision`.
  package static func apply(
    _ operation: [UInt8], _ key: [UInt8], from: [UInt8]?, to: [UInt8]?
  ) -> PostgresCall {
    // Kinds of pf2.apply: 0 insert, 1 put, 2 expect, 3 remove.
    let kinds: [Int16] =
      switch (from, to) {
      case (nil, nil): [0, 3]
      case (nil, _?): [0]
      case (_?, nil): [2, 3]
      case (_?, _?): [2, 1]
      }
    return PostgresCall(
      PostgresStatement(
        "test_apply",
        """
        SELECT outcome, revision FROM pf2.apply(1, $1::bytea, true, $2::int2[], $3::int2[],
          $4::bytea[], $5::bytea[])
        """),
      [
        .bytea(operation), .int2s(kinds), .int2s(kinds.map { _ in 1 }),
        .byteas(kinds.map { _ in key }),
        .byteas(kinds.map { $0 == 2 ? from : $0 == 3 ? nil : to ?? [] }),
      ])
  }
}

extension PostgresConnection {
  /// One integer of a statement without parameters.
  package func number(_ text: String) throws -> Int {
    Int(try run(PostgresStatement(text, text)).integer(0, 0))
  }
}

/// A failure, or nil.
package func failure<Value>(_ body: () throws(PostgresError) -> Value) -> PostgresError? {
  do throws(PostgresError) {
    _ = try body()
    return nil
  } catch {
    return error
  }
}
