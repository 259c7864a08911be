// SPDX-License-Identifier: Apache-2.0

package import PostgresStore
package import ProofService

/// The place of an account's store, as `--store` names it: a file, or a database.
///
///     account.store
///     postgres://proof_service@db1,db2/proof?sslrootcert=/etc/proof/db.pem&passfile=/etc/proof/pgpass
///     postgres://proof_service@db1/proof?sslrootcert=/etc/proof/db.pem&account=door
package enum StorePlace: Sendable {
  /// The path of an SQLite file.
  case file(String)
  /// A database, and the account's name there; nil for the only one.
  case database(PostgresOptions, account: String?)

  /// Reads the value of `--store`.
  ///
  /// - Throws: ``StoreError/database(_:detail:)`` for a URI that is malformed, asks for less than
  ///   TLS and SCRAM, or holds a password. Its words hold no password.
  package init(_ text: String) throws(StoreError) {
    guard PostgresPlace.isURI(text) else {
      self = .file(text)
      return
    }
    do throws(PostgresError) {
      let place = try PostgresPlace(text, naming: "account")
      self = .database(place.options, account: place.name)
    } catch {
      throw .database("postgres://…", detail: error.words)
    }
  }

  /// Opens the store of an account that exists.
  package func open() throws(StoreError) -> any Store {
    switch self {
    case .file(let path): return try SQLiteStore(at: path)
    case .database(let options, let account):
      return try PostgresAccountStore(options, opening: account)
    }
  }

  /// Makes an empty store for an account, or opens the one that is there.
  ///
  /// - Parameter account: The name of the account in a database.
  /// - Returns: The store.
  /// - Throws: ``StoreError``.
  package func create(for account: String) throws(StoreError) -> any Store {
    switch self {
    case .file(let path):
      if let store = try? SQLiteStore(at: path) { return store }
      return try SQLiteStore(creatingAt: path)
    case .database(let options, let named):
      if let named, named != account {
        throw .database(options.description, detail: "the URI names another account, \(named)")
      }
      return try PostgresAccountStore(options, creating: account)
    }
  }
}

extension StorePlace: CustomStringConvertible {
  package var description: String {
    switch self {
    case .file(let path): path
    case .database(let options, _): options.description
    }
  }
}
