// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofModel

// The third step: the answer to a request that does not pass.

/// The reason why a request does not pass.
enum Lack: Error {
  /// Its proof does not count.
  case rejected(RejectedRequest)
  /// It has a field that is not the client's to send.
  case refused(ForwardRefusal)
  /// It carries clearances that can be read in two ways.
  case clearance(ClearanceRefusal)
  /// It lacks the answer to a challenge; the last part is the reason why an answer did not count.
  case challenge(ClearanceRule.Demand, ChallengeSubject, ChallengeRefusal?)
  /// Its gate token is to be opened, and the budget of openings is spent. The client has to solve a puzzle first; the
  /// last part is the reason why an answer did not count.
  case opening(ChallengeSubject, ChallengeRefusal?)
  /// It exceeds a rate limit.
  case limit(GateLimits.Exceeded)
  /// Its event token does not count.
  case event(EventRefusal)
  /// The gate cannot judge.
  case doubt(code: String, reason: String)
}

extension ForwardGate {
  /// Seconds until a client asks again, where the gate cannot judge it now.
  private static let retrySeconds = 5

  static var age: Lack {
    .doubt(
      code: "configuration-age",
      reason: "The gate's configuration is too old. Fetch it: proofctl gate configuration.")
  }

  /// Writes the answer while the gate cannot judge.
  func doubt(_ answer: inout ForwardAnswer, _ question: Question, _ lack: Lack) {
    self.lack(lack, question, &answer)
  }

  /// Writes the answer to a request that does not pass.
  func lack(_ lack: Lack, _ question: Question, _ answer: inout ForwardAnswer) {
    switch lack {
    case .rejected(let rejection):
      answer.code = rejection.code
      answer.reason = rejection.description
      // An app that the node does not know is asked for its ticket or token.
      let isUnknown = rejection == .request(.unknownKey)
      let subject = isUnknown ? try? self.subject(question, .address(question.address ?? "")) : nil
      if isUnknown, !answer.fields.contains(where: { $0.name == "Proof-Refusal" }) {
        answer.fields.append((name: "Proof-Refusal", value: GateRefusal.Kind.token.text))
      }
      refuse(
        &answer, question, status: isUnknown && subject != nil ? 428 : Self.status(of: rejection),
        subject.map { (.init(.token), $0) })
    case .refused(let refusal):
      answer.code = refusal.code
      answer.reason = refusal.description
      refuse(&answer, question, status: 403, nil)
    case .clearance(let refusal):
      answer.code = "clearance"
      answer.reason = refusal.description
      refuse(&answer, question, status: 403, nil)
    case .challenge(let demand, let subject, let refusal):
      answer.code = "challenge-\(demand.kind.word)"
      answer.reason =
        refusal?.description
        ?? "The request needs the answer to a challenge of kind \(demand.kind.word)."
      refuse(&answer, question, status: 428, (demand, subject))
    case .opening(let subject, let refusal):
      let busy = RejectedRequest.busy
      answer.code = busy.code
      answer.reason = refusal?.description ?? busy.description
      answer.fields.removeAll { $0.name == "Proof-Refusal" }
      answer.fields.append((name: "Proof-Refusal", value: GateRefusal.Kind.token.text))
      refuse(&answer, question, status: 428, (openingDemand(question.rule), subject))
    case .limit(let exceeded):
      answer.code = "limit-\(exceeded.limit.subject.rawValue)"
      answer.reason = exceeded.description
      refuse(&answer, question, status: 429, nil, retry: exceeded.seconds)
    case .event(let refusal):
      answer.code = refusal.code
      answer.reason = refusal.description
      if refusal.told == .clock {
        answer.fields.append((name: "Proof-Refusal", value: GateRefusal.Kind.clock.text))
        answer.fields.append((name: "Proof-Nonce", value: requests.nonce))
      }
      refuse(&answer, question, status: refusal.told == .clock ? 401 : 403, nil)
    case .doubt(let code, let reason):
      answer.code = code
      answer.reason = reason
      answer.fields = []
      refuse(&answer, question, status: 503, nil)
    }
  }

  /// The work for an opening: as much as the rule asks for in any case, so that one answer serves both.
  private func openingDemand(_ rule: RouteRule) -> ClearanceRule.Demand {
    let levels = rule.need.demands.filter { $0.kind == .work }.map(\.level)
    return .init(.work, level: ([Self.openingLevel, rule.young ?? 0] + levels).max() ?? 0)
  }

  /// Whether a refusal of the request has no effect, because the rule or the whole gate only watches.
  func isWatched(_ question: Question, _ handle: String?) -> Bool {
    let isEnforced = question.rule.rollout.takes(
      handle: handle, address: question.address, rule: question.rule.name)
    return question.rule.mode == .watch || rules.watchesAll || !isEnforced
  }

  /// Refuses, unless the rule or the whole gate only watches.
  private func refuse(
    _ answer: inout ForwardAnswer, _ question: Question, status: Int,
    _ challenge: (demand: ClearanceRule.Demand, subject: ChallengeSubject)?,
    retry: Int = retrySeconds
  ) {
    // A client that asks for a challenge gets it, whatever is enforced.
    guard isWatched(question, answer.handle), question.named == nil else {
      answer.status = status
      if status == 403, !answer.fields.contains(where: { $0.name == "Proof-Refusal" }) {
        answer.fields.append((name: "Proof-Refusal", value: GateRefusal.Kind.refused.text))
      }
      if let challenge {
        let set = self.set(challenge.demand, challenge.subject, question)
        answer.fields.append((name: "Proof-Challenge", value: set.text))
      }
      if status == 429 || status == 503 {
        answer.fields.append((name: "Retry-After", value: "\(retry)"))
      }
      answer.fields.append((name: "Proof-Reference", value: answer.reference))
      tellStatus(&answer)
      return
    }
    answer.isWatched = true
    // The client is served, so it must not be told to prove anew.
    answer.fields.removeAll { $0.name == "Proof-Refusal" || $0.name == "Proof-Nonce" }
    var verdict = GateVerdict(
      reference: answer.reference, moment: question.now, rule: question.rule.name, passes: true)
    verdict.reason = answer.reason
    add(verdict, for: question, to: &answer)
  }

  private func set(
    _ demand: ClearanceRule.Demand, _ subject: ChallengeSubject, _ question: Question
  ) -> GateChallenge {
    let route = question.rule.number
    // Kinds without a cost count nothing: after a restart all apps of one address are asked for their tickets.
    let bits =
      demand.kind == .token || demand.kind == .proof
      ? 0 : desks.load.set(subject.client, on: route, at: question.now)
    return desks.challenges.set(
      demand.kind, level: ChallengeLoad.level(demand, adding: bits), route: route, for: subject,
      life: demand.kind == question.named?.kind ? question.named?.life : nil)
  }

  /// A request that cannot be read in one way. No verdict can name it, so the API gets none.
  func refused(
    _ refusal: ForwardRefusal, _ reference: String, _ route: String = RouteRule.unmatchedName
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
    } else {
      tellStatus(&answer)
    }
    return answer
  }

  /// Tells the client's status beside the one that the proxy understands.
  private func tellStatus(_ answer: inout ForwardAnswer) {
    guard style == .original else { return }
    answer.fields.append((name: "Proof-Status", value: "\(answer.status)"))
  }

  private static func status(of rejection: RejectedRequest) -> Int {
    switch rejection.status {
    case 429, 503: rejection.status
    case 401: 401
    default: 403
    }
  }
}
