// SPDX-License-Identifier: Apache-2.0

/// A database as an option of a command line names it: a URI, with a parameter of ours beside those of libpq.
package struct PostgresPlace: Sendable {
  /// The settings of connections.
  package let options: PostgresOptions
  /// The value of the parameter; nil without it.
  package let name: String?

  /// Whether a text is a URI of a database.
  package static func isURI(_ text: String) -> Bool {
    text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
  }

  /// Reads a URI.
  ///
  /// - Parameters:
  ///   - text: The URI.
  ///   - parameter: The name of our parameter.
  /// - Throws: `.mismatch` for a URI that is malformed, asks for less than TLS and SCRAM, or holds a
  ///   password. Its words hold no password.
  package init(_ text: String, naming parameter: String) throws(PostgresError) {
    let (uri, name) = Self.split(text, at: parameter + "=")
    options = try PostgresOptions(uri)
    self.name = name
    guard !options.holdsPassword else {
      throw PostgresError(
        .mismatch,
        "the URI holds a password, which every user of this machine can read in the list of "
          + "processes; write the password to a file, and name the file with passfile=FILE or "
          + "PGPASSFILE")
    }
  }

  private static func split(_ text: String, at mark: String) -> (uri: String, name: String?) {
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return (text, nil) }
    let all = parts[1].split(separator: "&")
    let others = all.filter { !$0.hasPrefix(mark) }
    let name = all.last { $0.hasPrefix(mark) }.map { String($0.dropFirst(mark.count)) }
    let query = others.isEmpty ? "" : "?" + others.joined(separator: "&")
    return (parts[0] + query, name)
  }
}
