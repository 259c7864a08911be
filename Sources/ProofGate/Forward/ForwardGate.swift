package import ProofBackend
internal import ProofModel
internal import ProofRequest

/// Answers a proxy's questions about requests (forward auth): by a file of routes, and the gate's configuration.
package struct ForwardGate: Sendable {
  /// The rules that a gate judges by, beside its own keys.
  package struct Rules: Sendable {
    /// The configuration that the service signed.
    package var configuration: GateConfiguration
    /// The rules of the routes.
    package var routes: RouteFile
    /// How the proxy tells about requests.
    package var style: ForwardStyle
    /// Whether the proxy names routes.
    package var takesRouteNames: Bool
    /// Whether nothing is enforced, whatever the rules say.
    package var watchesAll: Bool

    package init(
      _ configuration: GateConfiguration, _ routes: RouteFile, _ style: ForwardStyle,
      takesRouteNames: Bool, watchesAll: Bool
    ) {
      self.configuration = configuration
      self.routes = routes
      self.style = style
      self.takesRouteNames = takesRouteNames
      self.watchesAll = watchesAll
    }
  }

  private let rules: Rules
  private let requests: RequestVerifier
  private let own: GateOwnKeys
  private let door: ForwardedRequest.Door
  private let places: [String: RequestRoute]

  /// A gate with these rules.
  ///
  /// - Parameters:
  ///   - rules: The rules.
  ///   - requests: Judges proofs.
  ///   - own: The gate's own keys: they sign verdicts.
  /// - Throws: ``ForwardGateError`` or ``RouteFileError`` for rules that cannot hold.
  package init(_ rules: Rules, _ requests: RequestVerifier, own: GateOwnKeys) throws {
    // A proof over the body alone covers no URL: each answered request could be sent again as another one.
    guard rules.configuration.form != .body else { throw ForwardGateError.bodyForm }
    try rules.routes.check(hosts: rules.configuration.hosts)
    self.rules = rules
    self.requests = requests
    self.own = own
    var places: [String: RequestRoute] = [:]
    for host in rules.configuration.hosts { places[host] = rules.configuration.route(for: host) }
    self.places = places
    door = ForwardedRequest.Door(
      rules.style, takesRouteNames: rules.takesRouteNames,
      fields: places.values.first?.fields ?? RequestFields())
  }

  /// Answers a question.
  ///
  /// - Parameters:
  ///   - lines: The lines of the question's header.
  ///   - address: The client's address, as the proxy tells it.
  ///   - now: Unix seconds.
  /// - Returns: The answer for the proxy, the log and the metrics.
  package func answer(
    _ lines: [(name: String, value: String)], from address: String?, at now: UInt64
  ) -> ForwardAnswer {
    let reference = VerdictDesk.reference()
    let request: ForwardedRequest
    do throws(ForwardRefusal) {
      request = try ForwardedRequest(lines, at: door)
      guard places[request.head.authority] != nil else { throw .host(request.head.authority) }
    } catch {
      return refused(error, RouteRule.unmatchedName, reference)
    }
    let rule = rules.routes.rule(
      host: request.head.authority, method: request.head.method, path: request.head.path,
      named: request.route)
    if rule.need == .none { return unjudged(request, rule, reference, now) }
    return judged(request, rule, reference, address, now)
  }

  // MARK: Kinds of answers

  /// A request whose rule needs nothing. A server must not read it as one of another method.
  private func unjudged(
    _ request: ForwardedRequest, _ rule: RouteRule, _ reference: String, _ now: UInt64
  ) -> ForwardAnswer {
    guard request.head.fields.count(of: "x-http-method-override") == 0 else {
      return refused(ForwardRefusal.methodOverride("x-http-method-override"), rule.name, reference)
    }
    var answer = ForwardAnswer(status: 200, fields: [], reference: reference, route: rule.name)
    answer.code = "unjudged"
    let verdict = GateVerdict(reference: reference, moment: now, rule: rule.name, passes: true)
    add(verdict, for: request, to: &answer)
    return answer
  }

  private func judged(
    _ request: ForwardedRequest, _ rule: RouteRule, _ reference: String, _ address: String?,
    _ now: UInt64
  ) -> ForwardAnswer {
    let head = request.head
    guard !isTooOld(at: now) || rule.doubt == .pass && head.isSafe else {
      return doubtful(
        "configuration-age",
        "The gate's configuration is too old. Fetch it: proofctl gate configuration.",
        request, rule, reference, now)
    }
    guard var route = places[head.authority] else { preconditionFailure("The host was looked up.") }
    route.unanchored = rule.unanchored.worth
    // Forward auth hands no body over. A GET or HEAD has none, and the verdict says so to the API.
    let isBodiless = head.method == "GET" || head.method == "HEAD"
    let received = ReceivedRequest(
      method: head.method, target: head.target, fields: head.fields,
      body: isBodiless && rules.configuration.form == .compact ? Digest(hashing: []) : nil,
      address: address)
    let judgement = requests.judge(received, on: route)
    var answer = ForwardAnswer(
      status: 200, fields: judgement.fields, reference: reference, route: rule.name)
    switch judgement.result {
    case .success(let found):
      guard found.isReplayChecked || rule.doubt == .pass else {
        return doubtful(
          "store", "The replay store did not answer.", request, rule, reference, now)
      }
      var verdict = GateVerdict(reference: reference, moment: now, rule: rule.name, passes: true)
      verdict.app = GateVerdict.App(found.facts, isAnchored: found.isAnchored)
      if rule.body == .behind { verdict.body = found.body ?? Digest(hashing: []) }
      answer.handle = Base64.encode(found.facts.handle.bytes, .url)
      add(verdict, for: request, to: &answer)
    case .failure(let rejection):
      answer.code = rejection.code
      answer.reason = rejection.description
      refuse(&answer, request, rule, status: Self.status(of: rejection), now)
    }
    return answer
  }

  /// The answer while the gate cannot judge.
  private func doubtful(
    _ code: String, _ reason: String, _ request: ForwardedRequest, _ rule: RouteRule,
    _ reference: String, _ now: UInt64
  ) -> ForwardAnswer {
    var answer = ForwardAnswer(status: 503, fields: [], reference: reference, route: rule.name)
    answer.code = code
    answer.reason = reason
    refuse(&answer, request, rule, status: 503, now)
    return answer
  }

  /// Refuses, unless the rule or the whole gate only watches.
  private func refuse(
    _ answer: inout ForwardAnswer, _ request: ForwardedRequest, _ rule: RouteRule, status: Int,
    _ now: UInt64
  ) {
    guard rule.mode == .watch || rules.watchesAll else {
      answer.status = status
      answer.fields.append((name: "Proof-Reference", value: answer.reference))
      return
    }
    answer.isWatched = true
    // The client is served, so it must not be told to prove anew.
    answer.fields.removeAll { $0.name == "Proof-Refusal" || $0.name == "Proof-Nonce" }
    var verdict = GateVerdict(
      reference: answer.reference, moment: now, rule: rule.name, passes: true)
    verdict.reason = answer.reason
    add(verdict, for: request, to: &answer)
  }

  /// A request that has no rule, because it cannot be read in one way. No verdict can name it, so the API gets none.
  private func refused(
    _ refusal: ForwardRefusal, _ route: String, _ reference: String
  ) -> ForwardAnswer {
    var answer = ForwardAnswer(
      status: 403,
      fields: [
        (name: "Proof-Refusal", value: GateRefusal.Kind.refused.text),
        (name: "Proof-Reference", value: reference),
      ], reference: reference, route: route)
    answer.code = refusal.code
    answer.reason = refusal.description
    if rules.watchesAll {
      answer.status = 200
      answer.fields = []
      answer.isWatched = true
    }
    return answer
  }

  // MARK: Parts

  /// Adds the verdict; a request that no verdict can name gets none.
  private func add(
    _ verdict: GateVerdict, for request: ForwardedRequest, to answer: inout ForwardAnswer
  ) {
    let desk = VerdictDesk(own, for: request.head.authority)
    let text = try? desk.text(
      of: verdict, method: request.head.method, target: request.head.target,
      authorization: request.head.fields.values(of: "authorization").first)
    if let text { answer.fields.append((name: "Proof-Verdict", value: text)) }
  }

  /// Whether the configuration's time of use is over.
  package func isTooOld(at now: UInt64) -> Bool {
    let configuration = rules.configuration
    let (end, isLate) = configuration.made.addingReportingOverflow(configuration.useSeconds)
    return !isLate && UInt64(clamping: end) < now
  }

  /// Proxies take 401 and 403 for a refusal, and other statuses for a failure of the gate.
  private static func status(of rejection: RejectedRequest) -> Int {
    switch rejection.status {
    case 503: 503
    case 401, 429: 401
    default: 403
    }
  }
}

extension RouteRule.Unanchored {
  fileprivate var worth: Unanchored {
    switch self {
    case .pass: .passes
    case .safe: .passesForSafeMethods
    case .refuse: .refused
    }
  }
}

/// The reason why a gate cannot judge for a proxy.
package enum ForwardGateError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The account's form covers the body alone.
  case bodyForm

  package var description: String {
    "The account's form for this gate is body: it covers no URL, and a gate beside a proxy sees no body. Change it:"
      + " proofctl gate change NAME --form standard."
  }
}
