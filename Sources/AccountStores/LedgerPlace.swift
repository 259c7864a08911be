// SPDX-License-Identifier: Apache-2.0

internal import PostgresBackend
internal import PostgresStore
package import ProofBackend

/// The place of a backend's ledger, as `--ledger` names it: a folder, or a database.
///
///     ledger
///     postgres://proof_service@db1,db2/proof?sslrootcert=/etc/proof/db.pem&passfile=/etc/proof/pgpass
///     postgres://proof_service@db1/proof?sslrootcert=/etc/proof/db.pem&ledger=front
package enum LedgerPlace {
  /// Opens a ledger, or makes it.
  ///
  /// - Parameter text: The value of `--ledger`.
  /// - Returns: The ledger.
  /// - Throws: ``BackendError``. Its words hold no password.
  package static func open(_ text: String) throws(BackendError) -> any IssueNotes {
    guard PostgresPlace.isURI(text) else { return try IssueLedgerFile(folder: text) }
    let place: PostgresPlace
    do throws(PostgresError) {
      place = try PostgresPlace(text, naming: "ledger")
    } catch {
      throw .storage(path: "postgres://…", reason: error.words)
    }
    return try PostgresIssueLedger(
      place.options, named: place["ledger"] ?? PostgresIssueLedger.usualName)
  }
}
