// SPDX-License-Identifier: Apache-2.0

package import Console
package import HTTPServing
package import ProofBackend
internal import PostgresBackend
internal import ProofGate

/// The options of the listener where backends redeem event tokens.
package struct EventOptions: Sendable {
  /// Where the listener is.
  package let server: HTTPServerSettings
  let credentials: String
  private let store: Store
  let audience: String?
  let rate: Int

  /// The option that names the audience.
  package static let audienceOption = Option(
    "--event-audience", "NAME", help: "whose events it redeems; the only one if missing")

  private enum Store {
    case memory
    case database
    /// A file, or a database by its URI.
    case named(String)
  }

  /// The options of the command line of a process without a database of its own.
  package static let known = options("FILE|URI|memory")
  /// Those of a process with one.
  package static let knownWithDatabase = options("FILE|URI|memory|database")

  private static func options(_ stores: String) -> [Option] {
    [
      Option(
        "--events", "ADDRESS:PORT", help: "where backends redeem event tokens; nowhere if missing"),
      Option(
        "--event-credentials", "FILE",
        help: "of these backends, as `proof-gate event-credential` writes them"),
      Option(
        "--event-replay", stores,
        help: "remembers used tokens and counts: FOLDER/events of prepare"),
      audienceOption,
      Option(
        "--event-rate", "N", help: "questions a second of each credential; 1000 if missing"),
    ]
  }

  /// The options; nil without `--events`.
  ///
  /// - Parameters:
  ///   - options: Those of the command line.
  ///   - certificate: That of the process; the listener for events has it, too.
  ///   - hasDatabase: Whether the process has a database of its own.
  /// - Throws: `UsageError`.
  package init?(
    _ options: Options, _ certificate: HTTPCertificateFiles?, hasDatabase: Bool = false
  ) throws(UsageError) {
    guard let (address, port) = try options.endpoint("--events") else {
      for option in Self.known where options.has(option.name) {
        throw UsageError("\(option.name) goes with --events")
      }
      return nil
    }
    var server = HTTPServerSettings(address: address, port: port, certificate: certificate)
    server.limits.bodyByteCount = EventText.byteMax
    guard options.has("--insecure") || certificate != nil || server.isForThisMachineOnly else {
      throw UsageError(
        "--events on \(address) would show credentials to the network: listen on 127.0.0.1 or ::1,"
          + " add --certificate, or add --insecure")
    }
    self.server = server
    credentials = try options.needed("--event-credentials")
    store =
      switch try options.needed("--event-replay") {
      case "memory": .memory
      case "database":
        if hasDatabase {
          .database
        } else {
          throw UsageError("--event-replay database is for proof-service: name a file, or memory")
        }
      case let place: .named(place)
      }
    audience = options.value("--event-audience")
    rate = try options.number("--event-rate", within: 1...1_000_000) ?? 1_000
  }

  /// Opens the store.
  ///
  /// - Parameters:
  ///   - database: The process's own database; nil for a process without one.
  ///   - configuration: The configuration that lists the audience; for a process with a database.
  /// - Returns: The store, and the audience that the options name.
  /// - Throws: If the store cannot be opened.
  package func place(
    in database: (any RedemptionPlace)? = nil, _ configuration: GateConfiguration? = nil
  ) throws -> EventPlace {
    let store: any RedemptionStore
    switch self.store {
    case .memory: store = MemoryReplayStore()
    case .named(let place):
      if let database = try PostgresReplayStore.ofGates(at: place, otherwise: "events") {
        store = database
      } else {
        store = try SQLiteReplayStore(at: place)
      }
    case .database:
      guard let database, let events = try configuration?.events(for: audience).first else {
        throw EventFailure(
          "this store keeps no used event tokens: name a file with --event-replay, or memory")
      }
      store = try database.redemptions(for: events.audience)
    }
    return EventPlace(audience: audience, store: store)
  }
}

/// The audience whose events a process redeems, and the store of its redemptions. The store outlives readings of files.
package struct EventPlace: Sendable {
  /// The audience's name; nil for the only one of the configuration.
  let audience: String?
  let store: any RedemptionStore

  /// A place; the audience is nil for the only one of the configuration.
  package init(audience: String?, store: any RedemptionStore) {
    self.audience = audience
    self.store = store
  }

  /// The redeemer by a configuration, which knows no installation yet.
  package func redeemer(
    _ configuration: GateConfiguration, _ own: GateOwnKeys
  ) throws -> EventVerifier {
    let name = try name(configuration)
    return try EventVerifier(
      by: configuration, for: name, name: name, beacons: own.beacons, replay: store)
  }

  /// Whether a redeemer can go on under a configuration: it is still of the audience. A configuration without events of
  /// this audience changes no key; each event is then refused as unlisted.
  package func canFollow(
    _ configuration: GateConfiguration, _ redeemer: EventVerifier?
  ) -> Bool {
    guard let name = try? name(configuration),
      let events = try? configuration.events(for: name), let first = events.first
    else { return redeemer != nil }
    return first.audience == redeemer?.audience
  }

  private func name(_ configuration: GateConfiguration) throws -> String {
    if let audience { return audience }
    let names = Set(configuration.events.map(\.name)).sorted()
    guard names.count == 1 else {
      throw EventFailure(
        names.isEmpty
          ? "the configuration lists no events: list some with proofctl event add, and fetch it again"
          : "the configuration has events of \(names.joined(separator: ", ")): name one with"
            + " --event-audience")
    }
    return names[0]
  }
}

/// The reason why a process cannot redeem events.
package struct EventFailure: Error, CustomStringConvertible {
  /// The cause, and the next step.
  package let description: String

  /// Describes the reason.
  package init(_ description: String) { self.description = description }
}
