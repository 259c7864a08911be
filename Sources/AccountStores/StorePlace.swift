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
    guard text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") else {
      self = .file(text)
      return
    }
    let (uri, account) = Self.split(text)
    do throws(PostgresError) {
      let options = try PostgresOptions(uri)
      guard !options.holdsPassword else {
        throw PostgresError(
          .mismatch,
          "the URI holds a password, which every user of this machine can read in the list of "
            + "processes; write the password to a file, and name the file with passfile=FILE or "
            + "PGPASSFILE")
      }
      self = .database(options, account: account)
    } catch {
      throw .database("postgres://…", detail: error.words)
    }
  }

  /// Takes the parameter `account` out of a URI: it is none of libpq's.
  private static func split(_ text: String) -> (uri: String, account: String?) {
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return (text, nil) }
    let all = parts[1].split(separator: "&")
    let mark = "account="
    let others = all.filter { !$0.hasPrefix(mark) }
    let account = all.last { $0.hasPrefix(mark) }.map { String($0.dropFirst(mark.count)) }
    let query = others.isEmpty ? "" : "?" + others.joined(separator: "&")
    return (parts[0] + query, account)
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
