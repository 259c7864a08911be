// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofJOSE
package import ProofModel

// Named challenges: a client asks for one at any time, answers it as it answers a route's, and gets a clearance.

extension ForwardGate {
  /// The folder of the named challenges.
  private static let namedFolder = PageHandler.folder + "challenges/"

  /// Answers a request for a named challenge, which a proxy has passed on to the gate.
  ///
  /// - Parameters:
  ///   - method: The request's method.
  ///   - target: Its raw target.
  ///   - lines: The lines of its header, with those of the proxy.
  ///   - address: The client's address, as the proxy tells it.
  ///   - now: The time.
  /// - Returns: The answer for the client; nil for a request that asks for no named challenge.
  package func answer(
    named method: String, _ target: String, _ lines: [(name: String, value: String)],
    from address: String?, at now: UnixTime
  ) -> PageAnswer? {
    guard method == "GET", target.utf8.starts(with: Self.namedFolder.utf8) else { return nil }
    let name = target.dropFirst(Self.namedFolder.count)
    guard let found = rules.configuration.challenges.first(where: { $0.name == name }) else {
      return nil
    }
    let named = PageChallenge(found)
    let reference = VerdictDesk.reference()
    do throws(ForwardRefusal) {
      // A client's own field with the same name makes two of them, and two are refused.
      let request = try ForwardedRequest(
        lines + [
          (name: style.names.method, value: method), (name: style.names.target, value: target),
        ],
        at: door)
      guard places[request.head.authority] != nil else { throw .host(request.head.authority) }
      var question = Question(
        request: request, rule: Self.rule(for: named), reference: reference, address: address,
        now: now.whole)
      question.named = named
      var answer = judged(
        question, named.kind == .token ? [] : [.init(named.kind, level: named.level)])
      answer.asker = asker(of: question)
      return page(answer, at: now)
    } catch {
      return page(refused(error, reference), at: now)
    }
  }

  private static func rule(for named: PageChallenge) -> RouteRule {
    var rule = RouteRule("challenge-\(named.name)")
    rule.need = .none
    rule.need.token = named.kind == .token
    rule.young = nil
    return rule
  }

  private func page(_ answer: ForwardAnswer, at now: UnixTime) -> PageAnswer {
    guard answer.status == 200, let held = answer.clearance else {
      let status = answer.status == 200 ? 503 : answer.status
      let document = RefusalDocument(status: status, answer.fields, answer.asker)
      var page = PageAnswer(document.status, "", document.body, code: answer.code)
      page.fields = document.fields.map { ($0.name, $0.value) }
      page.reason = answer.code.hasPrefix("challenge-") ? nil : answer.reason
      return page
    }
    let seconds = max(0, held.expiry - now)
    var page = PageAnswer(
      200,
      ["clearance": .string(held.text), "expires": .number(JSONNumber(Int64(seconds)))],
      code: "cleared")
    let told = ["Proof-Time", "Proof-Ticket"]
    page.fields += answer.fields.filter { told.contains($0.name) }.map { ($0.name, $0.value) }
    page.fields.append(("Proof-Clearance", held.text))
    return page
  }
}
