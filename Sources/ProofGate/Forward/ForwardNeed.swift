// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofModel
internal import ProofRequest

// The second step: the challenges that a rule, the age of an installation or an API asks for.

extension ForwardGate {
  /// The seconds for which an installation is young.
  static let youngSeconds: UInt64 = 86_400

  /// The client's answers to challenges, for the verdict.
  struct Shown {
    var solved: [String] = []
    /// The name of a client without a proof, for an API that asks for a challenge.
    var client: String?
    /// The client's clearance.
    var clearance: Clearance?
  }

  /// One kind that a request must have answered.
  private struct Want {
    let demand: ClearanceRule.Demand
    /// The first second in which the answer counts; nil for any.
    var since: UnixTime?
  }

  /// Judges an answer that the request carries, then its clearance, and finds the first thing that is missing.
  ///
  /// - Throws: ``Lack``.
  func cleared(
    _ question: Question, _ admitted: Admitted, _ more: [ClearanceRule.Demand],
    _ answer: inout ForwardAnswer
  ) throws(Lack) -> Shown {
    let (head, facts) = (question.head, admitted.verdict?.facts)
    let client: ChallengeClient =
      facts.map { .app($0.handle) } ?? .address(question.address ?? "")
    let field: ClearanceField?
    do throws(ClearanceRefusal) {
      field = try ClearanceField(in: head.fields)
    } catch {
      throw .clearance(error)
    }
    let isAnswered = head.fields.count(of: ForwardedRequest.challengeField) > 0
    var held = field.flatMap { self.held($0, question, facts) }
    let names = DemandTable.Names(facts?.handle, held, client)
    let wants = self.wants(question, facts, names) + more.map { Want(demand: $0) }
    guard field != nil || isAnswered || !wants.isEmpty || question.named != nil else {
      return Shown(client: names.client)
    }
    let subject = try self.subject(question, client)
    var isNew = false
    var refusal: ChallengeRefusal?
    let demanded = wants.first { $0.since != nil }
    if let work = admitted.work {
      // The work that paid for the opening is the app's, too.
      (held, isNew) = (joined(work, subject, held, demanded), true)
    } else if isAnswered {
      do throws(ChallengeRefusal) {
        if let next = try answered(question, subject, after: held, demanded) {
          (held, isNew) = (next, true)
          desks.load.answered(client, on: question.rule.number, at: question.now)
        }
      } catch {
        if case .store(let failure) = error {
          throw .doubt(code: "store", reason: failure.description)
        }
        if error == .busy {
          let hasWorked = head.fields.count(of: ForwardedRequest.answerField) > 0
          throw hasWorked ? .rejected(.busy) : .opening(subject, nil)
        }
        refusal = error
      }
    }
    if question.named?.kind == .token, facts != nil, held?.solved.contains(.init(.token)) != true {
      // A proof stands for the token, and the client wants a clearance that says so.
      let shown = desks.challenges.set(.token, route: question.rule.number, for: subject)
      (held, isNew) = (desks.clearances.clearance(for: shown, subject, after: held), true)
    }
    let missing = wants.first { !isMet($0, held) }
    if let missing {
      // The client keeps what it has answered, and sends it with the next answer.
      if isNew, let held { hand(held, in: .header, &answer) }
      // One answer serves all levels of its kind: a client answers each kind once for a request.
      let kind = missing.demand.kind
      let level = wants.lazy.filter { $0.demand.kind == kind }.map(\.demand.level).max()
      throw .challenge(.init(kind, level: level ?? missing.demand.level), subject, refusal)
    }
    if let held {
      if isNew {
        hand(held, in: field?.place ?? .header, &answer)
      } else if question.rule.spends, !wants.isEmpty, let field {
        try spend(
          held, field.place, client, wants[0].demand, subject, question.address ?? "", &answer)
      }
    }
    return Shown(solved: held?.solved.words ?? [], client: names.client, clearance: held)
  }

  // MARK: Wants

  private func wants(
    _ question: Question, _ facts: GateFacts?, _ names: DemandTable.Names
  ) -> [Want] {
    var wants = question.rule.need.demands.map { Want(demand: $0) }
    if let facts {
      wants.removeAll { $0.demand.kind == .token }
      if let level = question.rule.young, facts.firstSeen + Self.youngSeconds > question.now {
        wants.append(Want(demand: .init(.work, level: level)))
      }
    }
    let demand = desks.demands.find(
      names, at: question.head.authority, now: question.now)
    if let demand, demand.kind != .proof || facts != nil {
      wants.append(
        Want(demand: .init(demand.kind, level: demand.level), since: demand.moment))
    }
    return wants
  }

  private func isMet(_ want: Want, _ held: Clearance?) -> Bool {
    guard let held, ClearanceRule(want.demand).isSatisfied(by: held) else { return false }
    return isSince(want, held)
  }

  /// Whether a clearance was made when a demand was there. It tells when it ends: that is its life later.
  private func isSince(_ want: Want?, _ held: Clearance) -> Bool {
    guard let since = want?.since else { return true }
    return held.expiry >= since + desks.clearances.life
  }

  // MARK: Clearances and answers

  /// The clearance that the request carries; nil for one that does not count.
  private func held(
    _ field: ClearanceField, _ question: Question, _ facts: GateFacts?
  ) -> Clearance? {
    try? desks.clearances.check(
      field, for: question.head.authority, proven: facts?.handle, from: question.address ?? "")
  }

  /// The request that a challenge is bound to.
  func subject(
    _ question: Question, _ client: ChallengeClient
  ) throws(Lack) -> ChallengeSubject {
    let head = question.head
    do throws(ProofError) {
      return try ChallengeSubject(
        ChallengePlace(
          method: head.method, scheme: head.scheme.rawValue, authority: head.authority,
          target: head.target), from: client)
    } catch {
      throw .rejected(.request(.ambiguousTarget))
    }
  }

  /// The challenge that a request answers. It is not used up.
  func challenge(
    answeredBy question: Question, for subject: ChallengeSubject
  ) throws(ChallengeRefusal) -> GateChallenge {
    let fields = question.head.fields
    guard fields.count(of: ForwardedRequest.challengeField) == 1,
      fields.count(of: ForwardedRequest.answerField) <= 1,
      let text = fields.first(ForwardedRequest.challengeField)
    else { throw .text }
    return try desks.challenges.read(text, for: subject)
  }

  /// Judges the answer to a challenge.
  ///
  /// - Returns: The clearance for it; nil for a request that names a challenge and answers it by its proof alone.
  private func answered(
    _ question: Question, _ subject: ChallengeSubject, after held: Clearance?, _ demanded: Want?
  ) throws(ChallengeRefusal) -> Clearance? {
    let challenge = try challenge(answeredBy: question, for: subject)
    let given = question.head.fields.first(ForwardedRequest.answerField)
    guard let reply = try reply(to: challenge, given, question, subject) else { return nil }
    let solved = try desks.challenges.judge(reply, to: challenge.text, for: subject)
    let cleared = joined(solved, subject, held, demanded)
    guard solved.kind == .work, solved.level >= Self.openingLevel, question.rule.need.token,
      case .address = subject.client, token(of: question) != nil
    else { return cleared }
    // The work pays for the opening of the token that comes with it.
    _ = try handle(of: question, hasWorked: true)
    let shown = desks.challenges.set(.token, route: question.rule.number, for: subject)
    return desks.clearances.clearance(for: shown, subject, after: cleared)
  }

  /// The clearance for a challenge that was answered now, and for what the client had answered before.
  private func joined(
    _ solved: GateChallenge, _ subject: ChallengeSubject, _ held: Clearance?, _ demanded: Want?
  ) -> Clearance {
    // An answer that a demand wants anew is not joined with one from before: the earlier end would count.
    let isOfDemand = demanded?.demand.kind == solved.kind
    let kept = held.flatMap { isOfDemand && !isSince(demanded, $0) ? nil : $0 }
    return desks.clearances.clearance(for: solved, subject, after: kept)
  }

  private func reply(
    to challenge: GateChallenge, _ given: String?, _ question: Question,
    _ subject: ChallengeSubject
  ) throws(ChallengeRefusal) -> ChallengeAnswer? {
    switch challenge.kind {
    case .token:
      // A proof answers it, too.
      guard case .address = subject.client else { return nil }
      return .token(try handle(of: question))
    case .proof:
      guard let given, case .app(let handle) = subject.client,
        let keys = requests.keys(of: handle), let bytes = Base64.decode(given, .url),
        let proof = try? Digest(bytes)
      else { throw .wrong }
      return .proof(proof, keys)
    case .work: return .work(given ?? "")
    case .memoryWork: return .memoryWork(given ?? "")
    // The page judges a person's answer, and gives a clearance for it.
    case .person: throw .otherAnswer
    }
  }

  /// The handle of a ticket, or of a gate token, that comes without a proof.
  private func handle(
    of question: Question, hasWorked: Bool = false
  ) throws(ChallengeRefusal) -> GateHandle {
    if let handle = (try? admit(ticketOf: question)) ?? nil { return handle }
    guard let text = token(of: question) else { throw .wrong }
    do throws(RejectedRequest) {
      return try requests.admit(token: text, from: question.address, hasWorked: hasWorked)
    } catch {
      throw error == .busy ? .busy : .wrong
    }
  }

  /// The gate token of a request; nil for none, and for two.
  private func token(of question: Question) -> String? {
    let name = places[question.head.authority]?.fields.token ?? RequestFields().token
    guard question.head.fields.count(of: name) == 1 else { return nil }
    return question.head.fields.first(name)
  }

  private func spend(
    _ held: Clearance, _ place: ClearanceField.Place, _ client: ChallengeClient,
    _ demand: ClearanceRule.Demand, _ subject: ChallengeSubject, _ address: String,
    _ answer: inout ForwardAnswer
  ) throws(Lack) {
    // A session's clearance stays bound to its address beside a proof.
    let holder: ChallengeClient =
      if case .app = held.holder { client } else { .address(address) }
    do throws(ClearanceRefusal) {
      hand(try desks.clearances.spend(held, from: holder), in: place, &answer)
    } catch {
      if case .store(let failure) = error {
        throw .doubt(code: "store", reason: failure.description)
      }
      throw .challenge(demand, subject, nil)
    }
  }

  /// Gives a clearance to the client, in the place where it had one.
  private func hand(
    _ clearance: Clearance, in place: ClearanceField.Place, _ answer: inout ForwardAnswer
  ) {
    guard place == .cookie, case .session = clearance.holder else {
      answer.fields.append((name: "Proof-Clearance", value: clearance.text))
      return
    }
    answer.fields.append(
      (
        name: "Set-Cookie",
        value: ClearanceField.setCookie(clearance.text, for: desks.clearances.life)
      ))
  }
}
