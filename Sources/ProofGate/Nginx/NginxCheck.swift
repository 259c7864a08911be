// SPDX-License-Identifier: Apache-2.0

/// Finds the known mistakes in an nginx configuration that asks a gate.
///
/// It knows the directives of nginx's own modules for `auth_request` and proxies. It does not judge variables that
/// are computed (`map`, `set`, Lua), and no other module.
package struct NginxCheck {
  /// The fields of the gate's answer that clients need when a request passes.
  static let answerFields = ["proof-time", "proof-ticket", "proof-clearance", "set-cookie"]
  /// The fields that the gate needs to write the answer to a refused request.
  static let refusalFields = [
    "x-proof-status", "x-proof-time", "x-proof-refusal", "x-proof-nonce", "x-proof-reference",
    "x-proof-challenge", "x-proof-clearance", "x-original-method", "x-original-uri",
    "x-original-host", "x-original-scheme", "x-forwarded-for", "proof-route",
  ]
  /// The least size of the buffer for the header of an answer: a verdict and the fields beside it.
  static let answerBytes = 4096
  /// The least size of the buffer for one field of a request: a gate token.
  static let fieldBytes = 4096

  /// The fields by which nginx tells about the request, with the values that are right.
  static let told: [(name: String, values: [String])] = [
    ("x-original-method", ["$request_method"]),
    ("x-original-uri", ["$request_uri"]),
    ("x-original-host", ["$http_host", "$host"]),
    ("x-original-scheme", ["$scheme"]),
    ("x-original-content-length", ["$content_length", "$http_content_length"]),
    ("x-original-transfer-encoding", ["$http_transfer_encoding"]),
    ("x-forwarded-for", ["$remote_addr", "$proxy_add_x_forwarded_for", "$realip_remote_addr"]),
  ]

  /// Variables that hold a target, or a part of one.
  private static let targetVariables = ["$request_uri", "$uri", "$document_uri", "$is_args"]

  private var findings: [NginxFinding] = []
  private var asks = false

  private init() {}

  /// The mistakes of a configuration.
  ///
  /// - Parameters:
  ///   - files: The configuration.
  ///   - routes: The rules of the gate; nil if they are not at hand.
  /// - Returns: What was found, in the order of the configuration; each once.
  package static func findings(in files: NginxFiles, routes: RouteFile? = nil) -> [NginxFinding] {
    var check = NginxCheck()
    let root = NginxScope([files.directives])
    let servers = check.servers(root)
    for server in servers { check.judge(server) }
    if !check.asks {
      check.add(.noQuestion, root.place, "no location has auth_request, so nothing asks the gate")
    }
    for rule in routes?.rules ?? [] where rule.body == .gate {
      check.add(
        .bodyGate, root.place,
        "route \(rule.name) says body gate, and nginx hands no body to a gate: write body behind, and compare the"
          + " digest in the API")
    }
    var seen: Set<NginxFinding> = []
    return check.findings.filter { seen.insert($0).inserted }
  }

  mutating func add(
    _ kind: NginxFinding.Kind, _ place: NginxDirective.Place, _ problem: String
  ) {
    let plain = NginxDirective.Place.plain(problem)
    findings.append(NginxFinding(kind: kind, place: place, problem: plain))
  }

  /// The servers of a file, or the file itself where it is a part of one.
  private func servers(_ scope: NginxScope) -> [NginxScope] {
    var found: [NginxScope] = []
    for directive in scope.own where directive.block != nil {
      switch directive.name {
      case "server": found.append(scope.inside(directive))
      case "http": found += servers(scope.inside(directive))
      default: break
      }
    }
    if scope.own.contains(where: { $0.name == "location" || $0.name == "auth_request" }),
      scope.opening?.name != "http"
    {
      found.append(scope)
    }
    return found
  }

  // MARK: Servers

  private mutating func judge(_ server: NginxScope) {
    let all = Self.all(below: server)
    let asking = all.filter { $0.question != nil && $0.opening?.name != "if" }
    guard !asking.isEmpty || server.question != nil else { return }
    asks = true
    var endpoints: [NginxScope] = []
    var names: Set<String> = []
    for scope in asking + (server.question == nil ? [] : [server]) {
      guard let question = scope.question, let uri = question.words.first,
        names.insert(uri).inserted
      else { continue }
      guard let endpoint = Self.location(for: uri, in: all) else {
        add(
          .noEndpoint, question.place,
          "no location of this server is for \(uri), which auth_request names: add location = \(uri)"
        )
        continue
      }
      endpoints.append(endpoint)
      judge(endpoint: endpoint, uri, of: server)
    }
    let gates = Set(endpoints.compactMap { $0.pass?.words.first.map(Self.upstream) })
    let ends = Set(endpoints.map(\.place))
    for scope in all where !ends.contains(scope.place) {
      let isGates = scope.pass?.words.first.map { gates.contains(Self.upstream($0)) } ?? false
      if isGates || Self.asksGate(scope) { continue }
      judge(location: scope, all)
    }
    judgeBuffers(server)
    for rewrite in server.own where rewrite.name == "rewrite" {
      add(
        .target, rewrite.place,
        "rewrite changes the target that the API gets, and the verdict is for the one of the client: take it away"
      )
    }
  }

  /// The blocks of a server that are locations, however deep.
  private static func all(below scope: NginxScope) -> [NginxScope] {
    scope.nested.flatMap { [$0] + all(below: $0) }
  }

  /// The location that nginx takes for a URI; regular expressions are not looked at.
  private static func location(for uri: String, in all: [NginxScope]) -> NginxScope? {
    let named = all.filter { $0.opening?.name == "location" }
    if let exact = named.first(where: { $0.opening?.words == ["=", uri] }) { return exact }
    var best: (NginxScope, Int)?
    for scope in named {
      guard let words = scope.opening?.words, let path = words.last,
        words.count == 1 || words.first == "^~", path.hasPrefix("/"), uri.hasPrefix(path),
        path.utf8.count > best?.1 ?? 0
      else { continue }
      best = (scope, path.utf8.count)
    }
    // A prefix that serves clients is for everything else, and not for the question.
    guard let found = best?.0,
      asksGate(found) || found.own.contains(where: { $0.name == "internal" })
    else { return nil }
    return found
  }

  /// Whether a location sends a proxy's question.
  static func asksGate(_ scope: NginxScope) -> Bool {
    let path = scope.pass?.words.first.flatMap { parts(of: $0).1 }
    return path == "/judge" || path == "/refusal"
  }

  /// Scheme, host and port of a URL of `proxy_pass`.
  private static func upstream(_ url: String) -> String {
    let (authority, _) = parts(of: url)
    return authority
  }

  /// A URL's part up to the path, and the path; nil for none.
  static func parts(of url: String) -> (String, String?) {
    let scheme = url.hasPrefix("https://") ? 8 : url.hasPrefix("http://") ? 7 : 0
    let rest = url.dropFirst(scheme)
    if rest.hasPrefix("unix:") {
      // unix:/path/of/socket:/uri
      let parts = rest.dropFirst(5).split(
        separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(url.prefix(scheme + 5)) + (parts.first ?? "")
      return (name, parts.count == 2 ? String(parts[1]) : nil)
    }
    let end = rest.indices.first { index in
      rest[index] == "/" || rest[index] == "?"
        || rest[index] == "$" && targetVariables.contains { rest[index...].hasPrefix($0) }
    }
    guard let end else { return (url, nil) }
    return (String(url[..<end]), String(url[end...]))
  }

  // MARK: The question

  private mutating func judge(endpoint: NginxScope, _ uri: String, of server: NginxScope) {
    let place = endpoint.place
    if !endpoint.own.contains(where: { $0.name == "internal" }) {
      add(
        .notInternal, place,
        "clients reach \(endpoint.title) with fields of their own: write internal; into it")
    }
    guard let pass = endpoint.pass, pass.name == "proxy_pass", let url = pass.words.first else {
      add(.questionPath, place, "\(endpoint.title) has no proxy_pass: send it to the gate's /judge")
      return
    }
    let path = Self.parts(of: url).1
    if path != "/judge" {
      add(
        .questionPath, pass.place,
        "the question goes to \(path ?? uri): end proxy_pass with /judge")
    }
    if endpoint.word("proxy_pass_request_body") != "off" {
      add(
        .questionBody, place,
        "the gate would wait for the client's body: write proxy_pass_request_body off;")
    }
    if endpoint.word("proxy_pass_request_headers") == "off" {
      add(
        .questionFields, place,
        "proxy_pass_request_headers off takes the proof away: take the line away")
    }
    if let cache = endpoint.one("proxy_cache"), cache.words.first != "off" {
      add(
        .cache, cache.place,
        "an answer of the gate is for one request alone: write proxy_cache off; into \(endpoint.title)"
      )
    }
    if endpoint.word("proxy_intercept_errors") == "on" {
      add(
        .intercept, endpoint.one("proxy_intercept_errors")?.place ?? place,
        "proxy_intercept_errors replaces the gate's refusals: write it off in \(endpoint.title)")
    }
    judgeFields(endpoint, of: server)
    judgeAnswerBuffer(endpoint)
  }

  private mutating func judgeFields(_ endpoint: NginxScope, of server: NginxScope) {
    let lines = endpoint.list("proxy_set_header")
    func value(_ name: String) -> NginxDirective? {
      lines.last { $0.words.first?.lowercased() == name }
    }
    let own = endpoint.own.contains { $0.name == "proxy_set_header" }
    let lost = own ? endpoint.above.list("proxy_set_header") : []
    for (name, values) in Self.told {
      guard let line = value(name) else {
        let isLost = lost.contains { $0.words.first?.lowercased() == name }
        add(
          .told, endpoint.place,
          "\(name) is missing\(isLost ? " (the lines of this location drop those of the server)" : ""), so a client's"
            + " own field would count: write proxy_set_header \(name) \(values[0]);")
        continue
      }
      let told = line.words.dropFirst().joined(separator: " ")
      let isTLSOnly =
        name == "x-original-scheme" && told == "https" && Self.isTLSOnly(server)
      guard values.contains(told) || isTLSOnly else {
        add(
          .told, line.place,
          "\(name) has the value \(Self.shown(told)): the gate needs \(values[0])")
        continue
      }
    }
    if value("content-length")?.words.dropFirst().joined() != "" {
      add(
        .questionBody, endpoint.place,
        "the question names a body that does not come: write proxy_set_header Content-Length \"\";")
    }
    guard let route = value("proof-route") else {
      add(
        .route, endpoint.place,
        "a client's own Proof-Route reaches the gate: write proxy_set_header Proof-Route \"\";")
      return
    }
    let name = route.words.dropFirst().joined()
    if name.hasPrefix("$http_") || name.hasPrefix("$arg_") || name.hasPrefix("$cookie_") {
      add(.route, route.place, "the client chooses Proof-Route by \(Self.shown(name))")
    }
  }

  /// Whether each listening socket of a server has TLS.
  private static func isTLSOnly(_ server: NginxScope) -> Bool {
    let sockets = server.own.filter { $0.name == "listen" }
    return !sockets.isEmpty && sockets.allSatisfy { $0.words.contains("ssl") }
  }

  mutating func judgeAnswerBuffer(_ scope: NginxScope) {
    guard let line = scope.one("proxy_buffer_size"), let size = Self.bytes(line.words.first),
      size < Self.answerBytes
    else { return }
    add(
      .buffer, line.place,
      "proxy_buffer_size \(line.text) is too small for the gate's fields: at least \(Self.answerBytes / 1024)k"
    )
  }

  private mutating func judgeBuffers(_ server: NginxScope) {
    guard let line = server.one("large_client_header_buffers"),
      let size = Self.bytes(line.words.last), size < Self.fieldBytes
    else { return }
    add(
      .buffer, line.place,
      "large_client_header_buffers \(line.text) is too small for a gate token: at least 4 \(Self.fieldBytes / 1024)k"
    )
  }

  /// A size as nginx writes it; nil for a text that is none.
  private static func bytes(_ text: String?) -> Int? {
    guard var text = text?.lowercased()[...] else { return nil }
    let unit = text.hasSuffix("k") ? 1024 : text.hasSuffix("m") ? 1_048_576 : 1
    if unit > 1 { text = text.dropLast() }
    guard let number = Int(text) else { return nil }
    let (bytes, isTooMany) = number.multipliedReportingOverflow(by: unit)
    return isTooMany ? nil : bytes
  }

  /// A value for a message, without what could change the line of a log.
  static func shown(_ text: String) -> String {
    let shown = text.unicodeScalars.prefix(80).map { scalar in
      scalar.isASCII && scalar.value >= 0x20 && scalar.value != 0x7F ? String(scalar) : "?"
    }.joined()
    return shown.isEmpty ? "empty" : shown
  }
}
