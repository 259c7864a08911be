// SPDX-License-Identifier: Apache-2.0

/// The most times that a call is repeated after it lost a race (SQLSTATE 40001, 40P01).
package let conflictRetriesMax = 3

/// Calls `body`, and again after each conflict, at most ``conflictRetriesMax`` times.
///
/// Only conflicts are repeated here: the server has rolled the call back. A broken connection needs
/// a new connection and a key, so its caller repeats.
package func retryingConflicts<Answer>(
  _ body: () throws(PostgresError) -> Answer
) throws(PostgresError) -> Answer {
  for _ in 0..<conflictRetriesMax {
    do throws(PostgresError) {
      return try body()
    } catch {
      guard error.state == "40001" || error.state == "40P01" else { throw error }
    }
  }
  return try body()
}
