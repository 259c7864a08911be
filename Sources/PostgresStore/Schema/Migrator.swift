// SPDX-License-Identifier: Apache-2.0

/// Moves a database's schema forward and back, one step and one transaction at a time.
///
/// The connection's role owns the schema. Two migrators take turns: each step locks the version.
package struct Migrator {
  private let connection: PostgresConnection
  private let steps: [Migration]

  /// Milliseconds for which a step waits for a table's lock.
  private let lockTimeout: Int
  /// The times that a step is tried when a lock was not granted.
  private static let attemptsMax = 20
  /// Milliseconds of one step.
  private static let stepTimeout: Int64 = 120_000

  /// - Parameters:
  ///   - connection: A session of the role that owns the schema, or will own it.
  ///   - steps: Ascending by version, from 1, without gaps.
  ///   - lockTimeout: Milliseconds for which a step waits for a table's lock before it is tried anew. The service's
  ///     calls wait behind it.
  package init(
    _ connection: PostgresConnection, steps: [Migration] = Migration.all, lockTimeout: Int = 200
  ) {
    precondition(steps.map(\.version) == Array(1...steps.count), "Steps ascend without gaps.")
    self.connection = connection
    self.steps = steps
    self.lockTimeout = lockTimeout
  }

  /// The version that the database has; 0 without a schema.
  package func version() throws(PostgresError) -> Int {
    let exists = try connection.run(
      PostgresStatement("schema-exists", "SELECT to_regclass('pf.schema') IS NOT NULL"))
    guard try exists.bool(0, 0) else { return 0 }
    let rows = try connection.run(
      PostgresStatement("schema-owner", "SELECT version FROM pf.schema"))
    return Int(try rows.integer(0, 0))
  }

  /// Moves to a version, forward or back. Each step is committed before the next begins, so a
  /// failure leaves the schema at a whole version.
  package func move(to wanted: Int) throws(PostgresError) {
    guard (0...steps.count).contains(wanted) else {
      throw PostgresError(
        .mismatch, "this program knows versions 0 to \(steps.count), not \(wanted)")
    }
    var present = try version()
    guard present <= steps.count else {
      throw PostgresError(
        .mismatch,
        "the schema has version \(present), this program knows \(steps.count); use a later one")
    }
    while present != wanted {
      let next = present < wanted ? present + 1 : present - 1
      try retry(step(from: present, to: next))
      present = next
    }
  }

  /// Gives the role of gates its rights.
  ///
  /// - Returns: Whether there is such a role; nil for a schema without places for gates.
  package func grantGates() throws(PostgresError) -> Bool? {
    guard try version() >= SchemaVersion.neededByGates else { return nil }
    return try connection.run(PostgresStatement("grant-gates", "SELECT pf.grant_gate()"))
      .bool(0, 0)
  }

  /// The script of one step. It fails if the version is not the one it begins with.
  private func step(from present: Int, to next: Int) -> String {
    let forward = next > present
    let body = forward ? steps[next - 1].forward : steps[present - 1].back
    let guardian = """
      DO $guard$ BEGIN
        PERFORM FROM pf.schema WHERE version = \(present) FOR UPDATE;
        IF NOT FOUND THEN RAISE EXCEPTION 'another migrator moved the schema' USING ERRCODE = '40001'; END IF;
      END $guard$;
      """
    let oldest = next == 0 ? 0 : steps[next - 1].oldestProgram
    let note = """
      UPDATE pf.schema SET version = \(next), oldest_program = \(oldest), changed = now();
      """
    return """
      BEGIN;
      SET LOCAL lock_timeout = '\(lockTimeout)ms';
      \(present == 0 ? "" : guardian)
      \(body)
      \(next == 0 ? "" : note)
      COMMIT;
      """
  }

  private func retry(_ script: String) throws(PostgresError) {
    var attempt = 1
    while true {
      do throws(PostgresError) {
        return try connection.execute(script, timeout: Self.stepTimeout)
      } catch {
        try? connection.execute("ROLLBACK")
        // A lock that was not granted. Every other failure is the caller's to see.
        guard error.state == "55P03", attempt < Self.attemptsMax else { throw error }
        attempt += 1
      }
    }
  }
}
