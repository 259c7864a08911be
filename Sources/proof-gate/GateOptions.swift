import Console
import ProofGate
import ProofModel
import ProofService

/// The options of the command line.
struct GateOptions: Sendable {
  let files: GateFiles
  let replay: String
  let server: HTTPServerSettings
  /// Where measures and health are read; nil for nowhere.
  let status: HTTPServerSettings?
  let metricsReaders: Set<String>
  let logForm: HTTPLog.Form
  let notesPasses: Bool
  let drainTime: Duration

  private static let known =
    GateFiles.known + [
      Option("--replay", "FILE|memory", help: "remembers used proofs: FOLDER/replay of prepare"),
      Option("--listen", "ADDRESS:PORT", help: "where the proxy asks; 127.0.0.1:9080 if missing"),
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
    replay = try options.needed("--replay")
    var server = HTTPServerSettings()
    (server.address, server.port) = try options.endpoint("--listen") ?? ("127.0.0.1", 9080)
    guard options.has("--insecure") || server.isForThisMachineOnly else {
      throw UsageError(
        "--listen on \(server.address) would show each request to the network, and take questions from"
          + " it: listen on 127.0.0.1 or ::1, or add --insecure")
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
    metricsReaders = Set(options.list("--metrics-reader"))
    logForm = try options.choice("--log") ?? .json
    notesPasses = !options.has("--quiet")
    drainTime = .seconds(try options.number("--drain-seconds", within: 0...Int.max) ?? 30)
  }
}
