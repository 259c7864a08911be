// SPDX-License-Identifier: Apache-2.0

/// One step of the schema, forward and back.
package struct Migration: Sendable {
  /// The version that the step forward leads to.
  package let version: Int
  /// The oldest program that works with this version. A step that only adds leaves it as it was.
  package let oldestProgram: Int
  let forward: String
  let back: String

  package init(version: Int, oldestProgram: Int, forward: String, back: String) {
    self.version = version
    self.oldestProgram = oldestProgram
    self.forward = forward
    self.back = back
  }

  /// The steps of this program, in files below Schema/Migrations.
  package static let all = [
    Migration(
      1, PackageResources.v1_tables_up_sql, PackageResources.v1_tables_down_sql),
    Migration(
      2, PackageResources.v2_use_up_sql, PackageResources.v2_use_down_sql),
    Migration(
      3, PackageResources.v3_operations_up_sql, PackageResources.v3_operations_down_sql),
    // Takes rights from functions of version 2 and 3. No program called them.
    Migration(
      4, oldestProgram: 4, PackageResources.v4_store_up_sql, PackageResources.v4_store_down_sql),
    Migration(
      5, oldestProgram: 4, PackageResources.v5_replay_up_sql, PackageResources.v5_replay_down_sql),
    // Programs before 6 do not know an account that was moved away.
    Migration(
      6, oldestProgram: 6, PackageResources.v6_move_up_sql, PackageResources.v6_move_down_sql),
    // Adds. Programs of version 6 go on beside those of version 7.
    Migration(
      7, oldestProgram: 6, PackageResources.v7_lease_up_sql, PackageResources.v7_lease_down_sql),
    // Adds. Gates need it, services do not.
    Migration(
      8, oldestProgram: 6, PackageResources.v8_gate_up_sql, PackageResources.v8_gate_down_sql),
    // Adds. Ledgers need it. No program called the two functions that it drops.
    Migration(
      9, oldestProgram: 6, PackageResources.v9_ledger_up_sql, PackageResources.v9_ledger_down_sql),
    // Adds. Programs of versions 6 to 9 go on beside those of version 10.
    Migration(
      10, oldestProgram: 6, PackageResources.v10_plans_up_sql, PackageResources.v10_plans_down_sql),
    // Adds. Services that read from replicas need it.
    Migration(
      11, oldestProgram: 6, PackageResources.v11_replicas_up_sql,
      PackageResources.v11_replicas_down_sql),
  ]

  private init(
    _ version: Int, oldestProgram: Int = 0, _ forward: [UInt8], _ back: [UInt8]
  ) {
    self.init(
      version: version, oldestProgram: oldestProgram,
      forward: String(decoding: forward, as: UTF8.self),
      back: String(decoding: back, as: UTF8.self))
  }
}

/// The version of a database's schema, and the oldest program that works with it.
package struct SchemaVersion: Sendable, Equatable {
  package let version: Int
  package let oldestProgram: Int

  /// The schema that this program's functions belong to.
  package static let program = 11
  /// The oldest schema that a service of this program works with. Migrate first, then replace the
  /// programs: the one before this works with the new schema, too.
  package static let needed = 10
  /// The oldest schema that has places for gates.
  package static let neededByGates = 8
  /// The oldest schema that has ledgers of backends.
  package static let neededByLedgers = 9
  /// The oldest schema that tells the age of a reading.
  package static let neededByReaders = 11

  /// Reads the version with the rights of the service's role.
  package init(of connection: PostgresConnection) throws(PostgresError) {
    let rows = try connection.run(
      PostgresStatement("schema", "SELECT version, oldest_program FROM pf1.schema()"))
    version = Int(try rows.integer(0, 0))
    oldestProgram = Int(try rows.integer(0, 1))
  }

  /// Refuses to go on with a schema that is too old for a program, or too new.
  ///
  /// - Parameters:
  ///   - program: The number of the program.
  ///   - needed: The oldest schema that the program works with.
  /// - Throws: `.mismatch`, with the next step in its words.
  package func check(
    program: Int = SchemaVersion.program, needed: Int = SchemaVersion.needed
  ) throws(PostgresError) {
    guard version >= needed else {
      throw PostgresError(
        .mismatch, "the schema has version \(version), this program needs \(needed); migrate it")
    }
    guard oldestProgram <= program else {
      throw PostgresError(
        .mismatch,
        "the schema has version \(version) for program \(oldestProgram) or later, this is \(program); "
          + "update the program")
    }
  }
}
