// SPDX-License-Identifier: Apache-2.0

/// The settings of connections to one database.
///
/// Connections over TCP use TLS with `sslmode=verify-full` and `channel_binding=require`, so the
/// server proves its name by its certificate, and its knowledge of the password by SCRAM. A text
/// that asks for less is refused. Connections over a Unix socket need neither.
///
/// Every setting with a security effect is passed explicitly, so no variable of the environment
/// replaces it.
package struct PostgresOptions: Sendable {
  /// Milliseconds that one call may take, commit included.
  package var callTimeout: Int64 = 3_000

  /// The settings by keyword. One of them may be the password, so they are not printed.
  private(set) var settings: [String: String]
  private let usesSockets: Bool

  private static let allowed: Set<String> = [
    "host", "hostaddr", "port", "dbname", "user", "password", "passfile", "sslmode", "sslrootcert",
    "sslcert", "sslkey", "sslcrl", "connect_timeout", "tcp_user_timeout", "channel_binding",
    "target_session_attrs", "application_name",
  ]

  /// The settings of a connection string: a URI `postgres://…` or `keyword=value …`.
  ///
  /// - Throws: `.mismatch`. The error names keywords only, never a value.
  package init(_ text: String) throws(PostgresError) {
    guard !text.utf8.contains(0), let given = PostgresConnection.settings(of: text) else {
      throw PostgresError(
        .mismatch, "the connection string is malformed; its form is postgres://USER@HOST:PORT/DB")
    }
    try self.init(settings: given)
  }

  package init(settings given: [String: String]) throws(PostgresError) {
    for keyword in given.keys.sorted() where !Self.allowed.contains(keyword) {
      throw PostgresError(.mismatch, "the connection string sets \(keyword), which is not allowed")
    }
    for keyword in ["host", "dbname", "user"] where (given[keyword] ?? "").isEmpty {
      throw PostgresError(.mismatch, "the connection string has no \(keyword)")
    }
    usesSockets = try Self.areSockets(
      given["host"]!.split(separator: ",", omittingEmptySubsequences: false))
    var all = given
    let fixed =
      usesSockets
      ? ["sslmode": "disable", "channel_binding": "disable"]
      : ["sslmode": "verify-full", "channel_binding": "require"]
    for (keyword, value) in fixed.merging(
      ["target_session_attrs": "read-write"], uniquingKeysWith: { $1 })
    {
      if let other = given[keyword], other != value {
        throw PostgresError(.mismatch, "the connection string needs \(keyword)=\(value)")
      }
      all[keyword] = value
    }
    if !usesSockets, (given["sslrootcert"] ?? "").isEmpty {
      throw PostgresError(
        .mismatch, "the connection string has no sslrootcert, a file of certificates")
    }
    let defaults = [
      "connect_timeout": "2", "tcp_user_timeout": "3000", "keepalives": "1",
      "keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "2",
      "ssl_min_protocol_version": "TLSv1.2", "gssencmode": "disable", "client_encoding": "UTF8",
      "application_name": "proofkit", "port": "5432",
      // PostgresConnection sets what a session needs: poolers refuse options.
      "options": "",
    ]
    all.merge(defaults) { given, _ in given }
    for keyword in ["connect_timeout", "tcp_user_timeout"] {
      guard let number = Int(all[keyword]!), (1...60_000).contains(number) else {
        throw PostgresError(.mismatch, "\(keyword) is not a number from 1 to 60000")
      }
    }
    settings = all
  }

  private static func areSockets(_ hosts: [Substring]) throws(PostgresError) -> Bool {
    let sockets = hosts.filter { $0.hasPrefix("/") || $0.hasPrefix("@") }.count
    guard sockets == 0 || sockets == hosts.count, !hosts.contains("") else {
      throw PostgresError(.mismatch, "the hosts must be all TCP or all Unix sockets, none empty")
    }
    return sockets > 0
  }

  /// The same database at other servers, a standby if one answers: for readings that may be out of date.
  ///
  /// - Parameter servers: Hosts with commas between, each with its port if it is another one: `db2,db3:5433`.
  /// - Returns: The settings; all but the servers are those of `self`.
  /// - Throws: `.mismatch` for a list that is malformed.
  package func reading(at servers: String) throws(PostgresError) -> PostgresOptions {
    var copy = self
    var hosts: [Substring] = []
    var ports: [String] = []
    for server in servers.split(separator: ",", omittingEmptySubsequences: false) {
      let parts = server.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count <= 2, parts.count == 1 || UInt16(parts[1]) ?? 0 > 0 else {
        throw PostgresError(.mismatch, "the readers are no list of HOST or HOST:PORT")
      }
      hosts.append(parts[0])
      ports.append(parts.count == 2 ? String(parts[1]) : "5432")
    }
    guard try Self.areSockets(hosts) == usesSockets else {
      throw PostgresError(
        .mismatch, "the readers must be all TCP or all Unix sockets, as the hosts")
    }
    copy.settings["host"] = hosts.joined(separator: ",")
    copy.settings["port"] = ports.joined(separator: ",")
    copy.settings["hostaddr"] = nil
    copy.settings["target_session_attrs"] = "prefer-standby"
    return copy
  }

  /// Whether the settings hold the password itself. libpq reads it from a file otherwise.
  package var holdsPassword: Bool { !(settings["password"] ?? "").isEmpty }

  /// The text without the password, wherever libpq or the server may have put it.
  func redacted(_ words: String) -> String {
    guard let password = settings["password"], !password.isEmpty else { return words }
    return words.split(separator: password, omittingEmptySubsequences: false).joined(
      separator: "***")
  }
}

extension PostgresOptions: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
  package var description: String {
    let host = settings["host"] ?? ""
    return "postgres://\(settings["user"] ?? "")@\(host)/\(settings["dbname"] ?? "")"
  }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(reflecting: description) }
}
