// SPDX-License-Identifier: Apache-2.0

package import ProofBackend
package import ProofModel
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
    /// The most seconds for which a configuration counts; nil for what it says itself.
    package var staleAfter: Int64?
    /// The emergency tokens of the operators; nil for none.
    package var bypass: BypassFile?

    package init(
      _ configuration: GateConfiguration, _ routes: RouteFile, _ style: ForwardStyle,
      takesRouteNames: Bool, watchesAll: Bool, staleAfter: Int64? = nil,
      bypass: BypassFile? = nil
    ) {
      self.staleAfter = staleAfter
      self.bypass = bypass
      self.configuration = configuration
      self.routes = routes
      self.style = style
      self.takesRouteNames = takesRouteNames
      self.watchesAll = watchesAll
    }
  }

  let rules: Rules
  let requests: RequestVerifier
  let own: GateOwnKeys
  let desks: GateDesks
  let limits: GateLimits
  /// Redeems the event tokens of requests; nil for a gate that redeems none.
  let redeemer: EventVerifier?
  let places: [String: RequestRoute]
  /// One desk for each host: its key stands in a guarded block, which costs some system calls to make.
  private let verdicts: [String: VerdictDesk]
  let door: ForwardedRequest.Door

  /// A gate with these rules.
  ///
  /// - Parameters:
  ///   - rules: The rules.
  ///   - requests: Judges proofs.
  ///   - own: The gate's own keys: they sign verdicts.
  ///   - desks: Challenges, clearances and tickets.
  ///   - limits: Counts requests by the limits of the rules.
  ///   - redeemer: Redeems the event tokens of requests. It learns keys from the tokens that `requests` opens.
  /// - Throws: ``ForwardGateError`` or ``RouteFileError`` for rules that cannot hold.
  package init(
    _ rules: Rules, _ requests: RequestVerifier, own: GateOwnKeys, desks: GateDesks,
    limits: GateLimits = GateLimits(), redeemer: EventVerifier? = nil
  ) throws {
    // A proof over the body alone covers no URL: each answered request could be sent again as another one.
    guard rules.configuration.form != .body else { throw ForwardGateError.bodyForm }
    try rules.routes.check(style: rules.style)
    // A host or a number that the account lists no more makes no rule of this file unusable: its requests are refused.
    // Otherwise a pulled configuration would be refused as a whole, and its revocations with it.
    if redeemer == nil { try rules.routes.check(events: nil) }
    self.rules = rules
    self.requests = requests
    self.own = own
    self.desks = desks
    self.limits = limits
    self.redeemer = redeemer
    var places: [String: RequestRoute] = [:]
    var verdicts: [String: VerdictDesk] = [:]
    for host in rules.configuration.hosts {
      places[host] = rules.configuration.route(for: host)
      verdicts[host] = VerdictDesk(own, for: host)
    }
    self.places = places
    self.verdicts = verdicts
    door = ForwardedRequest.Door(
      rules.style, takesRouteNames: rules.takesRouteNames,
      fields: places.values.first?.fields ?? RequestFields(), takesBypass: rules.bypass != nil)
  }

  /// One question of a proxy, and the rule for it.
  struct Question {
    let request: ForwardedRequest
    let rule: RouteRule
    let reference: String
    let address: String?
    let now: UnixTime
    /// The body, where the proxy hands it over.
    var body: [UInt8]?
    /// The named challenge that the request asks for; nil for a request to the API.
    var named: PageChallenge?

    var head: RequestHead { request.head }
  }

  /// How the proxy tells about requests.
  package var style: ForwardStyle { rules.style }

  /// Answers a question.
  ///
  /// - Parameters:
  ///   - lines: The lines of the question's header.
  ///   - body: The body, where the proxy hands it over; nil elsewhere.
  ///   - address: The client's address, as the proxy tells it.
  ///   - now: The time.
  /// - Returns: The answer for the proxy, the log and the metrics.
  package func answer(
    _ lines: [(name: String, value: String)], body: [UInt8]? = nil, from address: String?,
    at now: UnixTime
  ) -> ForwardAnswer {
    let reference = VerdictDesk.reference()
    var question: Question
    do throws(ForwardRefusal) {
      question = try self.question(lines, reference, address, now)
      question.body = try whole(body, of: question)
    } catch {
      return refused(error, reference)
    }
    var answer = self.answer(question)
    answer.asker = asker(of: question)
    return answer
  }

  private func answer(_ question: Question) -> ForwardAnswer {
    if let answer = bypassed(question) { return answer }
    var more: [ClearanceRule.Demand] = []
    if let exceeded = limits.take(
      .address, question.address, question.rule.limits, rule: question.rule.name)
    {
      guard let demand = exceeded.limit.demand else { return limited(question, exceeded) }
      more.append(demand)
    }
    if question.rule.need.isNone && more.isEmpty || isPreflight(question) {
      return unjudged(question)
    }
    return judged(question, more)
  }

  func question(
    _ lines: [(name: String, value: String)], _ reference: String, _ address: String?,
    _ now: UnixTime
  ) throws(ForwardRefusal) -> Question {
    let request = try ForwardedRequest(lines, at: door)
    let head = request.head
    guard places[head.authority] != nil else { throw .host(head.authority) }
    // A preflight stands under the rule of the request that it announces.
    let announced =
      head.method == "OPTIONS" ? head.fields.first("access-control-request-method") : nil
    let rule = rules.routes.rule(
      host: head.authority, method: announced ?? head.method, path: head.path,
      named: request.route)
    return Question(
      request: request, rule: rule, reference: reference, address: address,
      now: now.whole)
  }

  // MARK: Kinds of answers

  /// A browser's question whether a page of another origin may send a request. It carries no proof and no cookie, and an
  /// API must not act on it.
  private func isPreflight(_ question: Question) -> Bool {
    let fields = question.head.fields
    return question.head.method == "OPTIONS"
      && fields.count(of: "access-control-request-method") == 1
      && origin(of: question) != nil && fields.count(of: "content-length") == 0
      && fields.count(of: "transfer-encoding") == 0
  }

  /// A request whose rule needs nothing. A server must not read it as one of another method.
  private func unjudged(_ question: Question) -> ForwardAnswer {
    guard question.head.fields.count(of: "x-http-method-override") == 0 else {
      return refused(
        ForwardRefusal.methodOverride("x-http-method-override"), question.reference,
        question.rule.name)
    }
    var answer = ForwardAnswer(
      status: 200, fields: [], reference: question.reference, route: question.rule.name)
    answer.code = "unjudged"
    let verdict = GateVerdict(
      reference: question.reference, moment: question.now, rule: question.rule.name, passes: true)
    add(verdict, for: question, to: &answer)
    return answer
  }

  func judged(_ question: Question, _ more: [ClearanceRule.Demand]) -> ForwardAnswer {
    let (head, rule) = (question.head, question.rule)
    var answer = ForwardAnswer(
      status: 200, fields: [], reference: question.reference, route: rule.name)
    guard !isTooOld(at: question.now) || rule.doubt == .pass && head.isSafe else {
      doubt(&answer, question, Self.age)
      return answer
    }
    var verdict = GateVerdict(
      reference: question.reference, moment: question.now, rule: rule.name, passes: true)
    do throws(Lack) {
      let admitted = try admitted(question, &answer)
      if let found = admitted.verdict {
        verdict.app = GateVerdict.App(found.facts, isAnchored: found.isAnchored)
        if rule.body != .unchecked { verdict.body = found.body ?? Digest(hashing: []) }
        answer.handle = Base64.encode(found.facts.handle.bytes, .url)
      }
      let demands = try more + counted(question, admitted.verdict?.facts)
      let shown = try cleared(question, admitted, demands, &answer)
      verdict.solved = shown.solved
      verdict.client = shown.client
      answer.clearance = shown.clearance
      // The last step, so that a request that is refused for another reason uses no event up.
      verdict.event = try event(of: question, admitted.verdict, answer.handle)
      add(verdict, for: question, to: &answer)
    } catch {
      lack(error, question, &answer)
    }
    return answer
  }

  // MARK: Parts

  /// Adds the verdict; a request that no verdict can name gets none.
  func add(_ verdict: GateVerdict, for question: Question, to answer: inout ForwardAnswer) {
    let text = try? verdicts[question.head.authority]?.text(
      of: verdict, method: question.head.method, target: question.head.target,
      authorization: question.head.fields.first("authorization"))
    if let text { answer.fields.append((name: "Proof-Verdict", value: text)) }
  }

  /// Whether the configuration's time of use is over.
  package func isTooOld(at now: UnixTime) -> Bool {
    let configuration = rules.configuration
    let life = min(configuration.useSeconds, rules.staleAfter ?? .max)
    return configuration.made + life < now.whole
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
