// SPDX-License-Identifier: Apache-2.0

package import PostgresStore
package import ProofService

/// The place of an account's store, as `--store` names it: a file, or a database.
///
///     account.store
///     postgres://proof_service@db1,db2/proof?sslrootcert=/etc/proof/db.pem&passfile=/etc/proof/pgpass
///     postgres://proof_service@db1/proof?sslrootcert=/etc/proof/db.pem&account=door
///     postgres://proof_service@db1/proof?sslrootcert=/etc/proof/db.pem&readers=db2,db3
package enum StorePlace: Sendable {
  /// The path of an SQLite file.
  case file(String)
  /// A database, and the account's name there; nil for the only one. Lists of devices are read at the readers; nil
  /// for the primary.
  case database(PostgresOptions, account: String?, readers: PostgresOptions? = nil)

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
      let place = try PostgresPlace(text, naming: "account", "readers")
      let readers = try place["readers"].map { (servers) throws(PostgresError) in
        try place.options.reading(at: servers)
      }
      self = .database(place.options, account: place["account"], readers: readers)
    } catch {
      throw .database("postgres://…", detail: error.words)
    }
  }

  /// Opens the store of an account that exists.
  package func open() throws(StoreError) -> any Store {
    switch self {
    case .file(let path): return try SQLiteStore(at: path)
    case .database(let options, let account, let readers):
      return try PostgresAccountStore(options, opening: account, .init(readers: readers))
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
    case .database(let options, let named, let readers):
      if let named, named != account {
        throw .database(options.description, detail: "the URI names another account, \(named)")
      }
      return try PostgresAccountStore(options, creating: account, .init(readers: readers))
    }
  }
}

extension StorePlace: CustomStringConvertible {
  package var description: String {
    switch self {
    case .file(let path): path
    case .database(let options, _, _): options.description
    }
  }
}
