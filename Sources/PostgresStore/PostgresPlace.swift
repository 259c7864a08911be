// SPDX-License-Identifier: Apache-2.0

/// A database as an option of a command line names it: a URI, with parameters of ours beside those of libpq.
package struct PostgresPlace: Sendable {
  /// The settings of connections.
  package let options: PostgresOptions
  private let values: [String: String]

  /// Whether a text is a URI of a database.
  package static func isURI(_ text: String) -> Bool {
    text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
  }

  /// Reads a URI.
  ///
  /// - Parameters:
  ///   - text: The URI.
  ///   - parameters: The names of our parameters.
  /// - Throws: `.mismatch` for a URI that is malformed, asks for less than TLS and SCRAM, or holds a
  ///   password. Its words hold no password.
  package init(_ text: String, naming parameters: String...) throws(PostgresError) {
    let (uri, values) = Self.split(text, parameters)
    options = try PostgresOptions(uri)
    self.values = values
    guard !options.holdsPassword else {
      throw PostgresError(
        .mismatch,
        "the URI holds a password, which every user of this machine can read in the list of "
          + "processes; write the password to a file, and name the file with passfile=FILE or "
          + "PGPASSFILE")
    }
  }

  /// The value of a parameter of ours; nil without it.
  package subscript(parameter: String) -> String? { values[parameter] }

  private static func split(
    _ text: String, _ parameters: [String]
  ) -> (uri: String, values: [String: String]) {
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return (text, [:]) }
    var others: [Substring] = []
    var values: [String: String] = [:]
    for setting in parts[1].split(separator: "&") {
      let pair = setting.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if pair.count == 2, parameters.contains(String(pair[0])) {
        values[String(pair[0])] = String(pair[1])
      } else {
        others.append(setting)
      }
    }
    let query = others.isEmpty ? "" : "?" + others.joined(separator: "&")
    return (parts[0] + query, values)
  }
}
