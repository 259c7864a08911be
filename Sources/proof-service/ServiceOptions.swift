// SPDX-License-Identifier: Apache-2.0

import Console
import HTTPServing
import ProofService

/// The options of the command line.
struct ServiceOptions: Sendable {
  let store: String
  let key: StoreKeySource
  let server: HTTPServerSettings
  let tpmAuthorities: String?
  let metricsReaders: Set<String>
  let logForm: HTTPLog.Form
  let notesRequests: Bool
  let logsPeers: Bool
  /// How long the service says that it leaves, before it stops to accept connections.
  let leaveSeconds: UInt32
  let drainTime: Duration
  /// Seconds for which configurations and key sets are answered while the storage is away.
  let graceSeconds: Int64
  /// Where event tokens are redeemed; nil for nowhere.
  let events: ServiceEventOptions?

  private static let known = [
    Option(
      "--store", "FILE|URI",
      help: "the account's store, as `proofctl init` made it: a file, or postgres://…"),
    Option("--key-file", "FILE", help: "holds the key that the store is encrypted under"),
    Option(
      "--passphrase-file", "FILE", help: "holds the passphrase instead; else PROOF_PASSPHRASE"),
    Option("--listen", "ADDRESS:PORT", help: "where to listen; 127.0.0.1:8443 if missing"),
    Option("--certificate", "FILE", help: "the certificate and its chain, PEM"),
    Option("--private-key", "FILE", help: "the certificate's private key, PEM"),
    Option(
      "--tpm-authorities", "FILE",
      help: "certificates (PEM) that may vouch for TPMs; without it no key counts as hardware"),
    Option("--plain", help: "HTTP without TLS, for a proxy on this machine"),
    Option("--insecure", help: "allows --plain on an address that others reach"),
    Option(
      "--trusted-proxy", "ADDRESS,…",
      help: "proxies: their X-Forwarded-For is believed, and they read no measures"),
    Option("--metrics-reader", "ADDRESS,…", help: "who may read /metrics, beside this machine"),
    Option("--log", "json|text", help: "how the log's lines look; text if missing"),
    Option("--quiet", help: "does not log every request"),
    Option("--log-peers", help: "logs whom each request came from"),
    Option("--threads", "N", help: "threads that answer; 8 if missing"),
    Option("--connections", "N", help: "connections open at once; 1024 if missing"),
    Option(
      "--connections-per-address", "N",
      help: "the same from one address that is no trusted proxy's; 64 if missing, 0 for no limit"),
    Option("--request-seconds", "N", help: "how long a request may take to arrive; 10 if missing"),
    Option("--idle-seconds", "N", help: "how long a connection may be idle; 60 if missing"),
    Option(
      "--leave-seconds", "N",
      help: "how long a stop says “leaving” at /health and still serves, for a load balancer;"
        + " 0 if missing"),
    Option(
      "--grace-seconds", "N",
      help: "how long configurations and key sets are answered from memory while the store is away;"
        + " 0 if missing"),
    Option("--drain-seconds", "N", help: "how long a stop waits for requests; 30 if missing"),
  ]

  private static let usage = Usage(
    "proof-service", "--store FILE|URI --certificate FILE --private-key FILE [options]",
    """
    Serves the token fetch of one account: challenges, reports, configurations, key sets.
    SIGTERM and SIGINT stop it when the requests in flight are answered, a second one at once;
    SIGHUP makes it read its certificate and its file of event credentials again.
    """, known + ServiceEventOptions.known)

  init(_ arguments: some Collection<String>) {
    self = Self.usage.made(of: arguments) { try Self($0) }
  }

  private init(_ options: Options) throws(UsageError) {
    guard let store = options.value("--store") else {
      throw UsageError("--store is missing: the file or database that `proofctl init` made")
    }
    self.store = store
    key = try StoreKeySource(options)
    var server = HTTPServerSettings()
    (server.address, server.port) = try options.endpoint("--listen") ?? ("127.0.0.1", 8443)
    server.certificate = try Self.certificate(options)
    if server.certificate == nil, !options.has("--insecure"), !server.isForThisMachineOnly {
      throw UsageError(
        "--plain on \(server.address) would show everything to the network: listen on 127.0.0.1 or"
          + " ::1, or add --insecure")
    }
    server.limits.threads =
      try options.number("--threads", within: 0...Int.max) ?? server.limits.threads
    server.limits.connections =
      try options.number("--connections", within: 0...Int.max) ?? server.limits.connections
    server.limits.connectionsPerAddress =
      try options.number("--connections-per-address", within: 0...Int.max)
      ?? server.limits.connectionsPerAddress
    server.limits.requestTime =
      try options.number("--request-seconds", within: 0...Int.max).map { .seconds($0) }
      ?? server.limits.requestTime
    server.limits.idleTime =
      try options.number("--idle-seconds", within: 0...Int.max).map { .seconds($0) }
      ?? server.limits.idleTime
    server.trustedProxies = Set(options.list("--trusted-proxy"))
    self.server = server
    events = try ServiceEventOptions(options, server.certificate)
    tpmAuthorities = options.value("--tpm-authorities")
    metricsReaders = Set(options.list("--metrics-reader"))
    logForm = try options.choice("--log") ?? .text
    notesRequests = !options.has("--quiet")
    logsPeers = options.has("--log-peers")
    leaveSeconds = UInt32(try options.number("--leave-seconds", within: 0...3_600) ?? 0)
    graceSeconds = Int64(try options.number("--grace-seconds", within: 0...86_400) ?? 0)
    drainTime = .seconds(try options.number("--drain-seconds", within: 0...Int.max) ?? 30)
  }

  private static func certificate(_ options: Options) throws(UsageError) -> HTTPCertificateFiles? {
    switch (options.value("--certificate"), options.value("--private-key"), options.has("--plain"))
    {
    case (let chain?, let key?, false): return HTTPCertificateFiles(chain: chain, privateKey: key)
    case (nil, nil, true): return nil
    case (nil, nil, false):
      throw UsageError("--certificate and --private-key are missing; behind a proxy, --plain")
    case (_, _, true): throw UsageError("--plain has no certificate: leave one or the other away")
    case (_, nil, false): throw UsageError("--private-key is missing")
    case (nil, _, false): throw UsageError("--certificate is missing")
    }
  }
}
