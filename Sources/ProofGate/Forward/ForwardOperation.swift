// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofModel
internal import ProofRequest

// Before and between the steps: emergency tokens, rate limits, and bodies that a proxy hands over.

extension ForwardGate {
  // MARK: Emergency tokens

  /// The answer to a request with an emergency token; nil for a request without one.
  func bypassed(_ question: Question) -> ForwardAnswer? {
    let fields = question.head.fields
    guard let bypass = rules.bypass, fields.count(of: BypassFile.field) > 0 else { return nil }
    guard fields.count(of: BypassFile.field) == 1, let token = fields.first(BypassFile.field),
      let name = bypass.name(of: token, at: question.now)
    else {
      return refused(.bypass, question.reference, question.rule.name)
    }
    var answer = ForwardAnswer(
      status: 200, fields: [], reference: question.reference, route: question.rule.name)
    answer.code = "bypass"
    answer.reason = "The emergency token \(name) lets it pass."
    var verdict = GateVerdict(
      reference: question.reference, moment: question.now, rule: question.rule.name, passes: true)
    verdict.reason = answer.reason
    add(verdict, for: question, to: &answer)
    return answer
  }

  // MARK: Rate limits

  /// The answer to a request whose address has exceeded a limit.
  func limited(_ question: Question, _ exceeded: GateLimits.Exceeded) -> ForwardAnswer {
    var answer = ForwardAnswer(
      status: 200, fields: [], reference: question.reference, route: question.rule.name)
    lack(.limit(exceeded), question, &answer)
    return answer
  }

  /// Counts a request with a valid proof at the limits of its installation and account.
  ///
  /// - Returns: The challenges that the request must have answered.
  /// - Throws: ``Lack``.
  func counted(
    _ question: Question, _ facts: GateFacts?
  ) throws(Lack) -> [ClearanceRule.Demand] {
    let rule = question.rule
    guard let facts, !rule.limits.isEmpty else { return [] }
    var names: [(RouteLimit.Subject, String)] = [
      (.instance, Base64.encode(facts.handle.bytes, .url))
    ]
    // A proof of another form does not cover the field.
    if rules.configuration.form == .standard,
      let account = question.head.fields.first(StandardForm.accountField)
    {
      names.append((.account, account))
    }
    var demands: [ClearanceRule.Demand] = []
    for (subject, name) in names {
      guard let exceeded = limits.take(subject, name, rule.limits, rule: rule.name) else {
        continue
      }
      guard let demand = exceeded.limit.demand else { throw .limit(exceeded) }
      demands.append(demand)
    }
    return demands
  }

  // MARK: Bodies

  /// The body of a request whose rule wants it at the gate; nil for others.
  ///
  /// - Throws: ``ForwardRefusal/body(_:)`` if the proxy did not hand the whole over.
  func whole(
    _ body: [UInt8]?, of question: Question
  ) throws(ForwardRefusal) -> [UInt8]? {
    guard question.rule.body == .gate else { return nil }
    let fields = question.head.fields
    guard fields.count(of: "transfer-encoding") == 0 else {
      throw .body("it is chunked, and its end is not known")
    }
    let told = fields.first("content-length") ?? "0"
    guard let count = Int(told), count == body?.count ?? 0 else {
      throw .body(
        "it has \(body?.count ?? 0) bytes here, and the client's length is \(told.prefix(20))")
    }
    return body ?? []
  }
}

extension RouteLimit {
  /// The challenge for a request beyond the limit; nil if it is refused.
  var demand: ClearanceRule.Demand? {
    if case .challenge(let kind, let level) = excess { .init(kind, level: level) } else { nil }
  }
}
