// SPDX-License-Identifier: Apache-2.0

import Console
import EventServing
import HTTPServing
import ProofGate
import ProofModel

/// The options of the command line.
struct GateOptions: Sendable {
  let files: GateFiles
  /// Where the configuration is fetched; nil if it is handed over as a file.
  let pull: PullOptions?
  let replay: String
  let server: HTTPServerSettings
  /// Where measures and health are read; nil for nowhere.
  let status: HTTPServerSettings?
  /// Where event tokens are redeemed; nil for nowhere.
  let events: EventOptions?
  let metricsReaders: Set<String>
  let logForm: HTTPLog.Form
  let notesPasses: Bool
  let drainTime: Duration

  private static let known =
    GateFiles.known + PullOptions.known + EventOptions.known + [
      Option(
        "--replay", "FILE|URI|memory",
        help: "remembers used proofs: FOLDER/replay of prepare, or postgres://… (docs/SCALE.md)"),
      Option(
        "--listen", "ADDRESS:PORT|unix:FILE",
        help: "where the proxy asks; 127.0.0.1:9080 if missing"),
      Option("--socket-mode", "MODE", help: "of a Unix socket, in octal digits; 660 if missing"),
      Option(
        "--certificate", "FILE", help: "has the proxy ask over TLS: certificate and chain, PEM"),
      Option("--private-key", "FILE", help: "the certificate's private key, PEM"),
      Option("--insecure", help: "allows an address that others reach: questions are plain HTTP"),
      Option(
        "--trusted-proxy", "ADDRESS,…",
        help: "who may ask; this machine (127.0.0.1, ::1) if missing"),
      Option(
        "--status", "ADDRESS:PORT", help: "where /metrics and /health are; nowhere if missing"),
      Option("--metrics-reader", "ADDRESS,…", help: "who may read /metrics, beside this machine"),
      Option("--log", "json|text", help: "how the log's lines look; json if missing"),
      Option("--quiet", help: "does not log requests that pass"),
      Option("--threads", "N", help: "threads that answer; 8 if missing"),
      Option("--drain-seconds", "N", help: "how long a stop waits for requests; 30 if missing"),
    ]

  private static let usage = Usage(
    "proof-gate",
    """
    --configuration FILE --fingerprint BASE64 --gate-key FILE,… --own-secret N:FILE,…
                      --routes FILE --replay FILE [options]
           proof-gate prepare FOLDER              makes the own secret and replay store of a new gate
           proof-gate verdict-key … --output FILE HOST   writes the keys for the API of a host
           proof-gate check … REQUEST-FILE        judges a request from a file, and uses nothing up
           proof-gate check --nginx FILE          finds mistakes in nginx's configuration
           proof-gate bypass --file FILE --seconds N NAME   draws an emergency token
           proof-gate event-credential --file FILE --seconds N NAME   lets a backend redeem event tokens
    """,
    """
    Answers a reverse proxy's question about each request (GET /judge): 200 with Proof-Verdict, 401, 403 or 503.
    SIGHUP makes it read its files again; a file that cannot be used changes nothing. SIGTERM and SIGINT stop
    it when the requests in flight are answered, a second one at once.
    """, known)

  init(_ arguments: some Collection<String>) {
    self = Self.usage.made(of: arguments) { try Self($0) }
  }

  private init(_ options: Options) throws(UsageError) {
    files = try GateFiles(options)
    pull = try PullOptions(options)
    replay = try options.needed("--replay")
    var server = HTTPServerSettings()
    (server.address, server.port) = try Self.listener(options)
    server.socketMode = try Self.socketMode(options, server)
    server.certificate = try Self.certificate(options)
    guard options.has("--insecure") || server.certificate != nil || server.isForThisMachineOnly
    else {
      throw UsageError(
        "--listen on \(server.address) would show each request to the network, and take questions from"
          + " it: listen on 127.0.0.1, ::1 or unix:FILE, add --certificate, or add --insecure")
    }
    let proxies = options.list("--trusted-proxy")
    server.trustedProxies = Set(proxies.isEmpty ? ["127.0.0.1", "::1"] : proxies)
    server.limits.threads =
      try options.number("--threads", within: 1...256) ?? server.limits.threads
    self.server = server
    if let (address, port) = try options.endpoint("--status") {
      status = HTTPServerSettings(address: address, port: port)
    } else {
      status = nil
    }
    events = try EventOptions(options, server.certificate)
    metricsReaders = Set(options.list("--metrics-reader"))
    logForm = try options.choice("--log") ?? .json
    notesPasses = !options.has("--quiet")
    drainTime = .seconds(try options.number("--drain-seconds", within: 0...Int.max) ?? 30)
  }

  private static func listener(_ options: Options) throws(UsageError) -> (String, UInt16) {
    if let text = options.value("--listen"), text.hasPrefix("unix:") {
      guard text.utf8.count > 5 else {
        throw UsageError("--listen is unix:; name a file behind it")
      }
      return (text, 0)
    }
    return try options.endpoint("--listen") ?? ("127.0.0.1", 9080)
  }

  private static func socketMode(
    _ options: Options, _ server: HTTPServerSettings
  ) throws(UsageError) -> UInt32 {
    guard let text = options.value("--socket-mode") else { return server.socketMode }
    // A socket that each user of the machine may write to would take questions from each.
    guard server.isLocalSocket, let mode = UInt32(text, radix: 8), mode & ~0o770 == 0 else {
      throw UsageError(
        "--socket-mode is \(text); it is for a Unix socket, and takes 600 to 770 in octal digits")
    }
    return mode
  }

  private static func certificate(_ options: Options) throws(UsageError) -> HTTPCertificateFiles? {
    switch (options.value("--certificate"), options.value("--private-key")) {
    case (let chain?, let key?): HTTPCertificateFiles(chain: chain, privateKey: key)
    case (nil, nil): nil
    default: throw UsageError("--certificate and --private-key go together")
    }
  }
}
