// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofModel
internal import ProofRequest

// The first step: the proof of a request, and the token or ticket that its keys come from.

extension ForwardGate {
  /// The app that a request shows.
  struct Admitted {
    /// The verdict; nil for a request without a proof, on a route that needs none.
    var verdict: RequestVerdict?
    /// The challenge whose solution paid for the opening of the app's token; nil for an opening within the budget.
    var work: GateChallenge?
  }

  /// The least level of the work for an opening beyond the budget.
  static let openingLevel: UInt8 = 16

  /// Judges the request's proof.
  ///
  /// A proof that came counts on each route: a wrong one is refused also where none is needed.
  ///
  /// - Throws: ``Lack``.
  func admitted(
    _ question: Question, _ answer: inout ForwardAnswer
  ) throws(Lack) -> Admitted {
    let head = question.head
    guard var route = places[head.authority] else { preconditionFailure("The host was looked up.") }
    let carries =
      head.fields.count(of: "signature-input") + head.fields.count(of: route.fields.compact) > 0
    guard question.rule.need.proof || carries else {
      // No proof covers the field by which a server would read another method.
      guard head.fields.count(of: "x-http-method-override") == 0 else {
        throw .refused(.methodOverride("x-http-method-override"))
      }
      return Admitted()
    }
    route.unanchored = question.rule.unanchored.worth
    let (judgement, work) = try judge(question, on: route, &answer)
    switch judgement.result {
    case .success(let found):
      guard found.isReplayChecked || question.rule.doubt == .pass else {
        throw .doubt(code: "store", reason: "The replay store did not answer.")
      }
      if let opened = judgement.opened {
        answer.fields.append((name: "Proof-Ticket", value: desks.tickets.ticket(for: opened)))
      }
      return Admitted(verdict: found, work: work)
    case .failure(let rejection):
      throw .rejected(rejection)
    }
  }

  /// Judges the proof, by the app's ticket if the node does not know the app, and by its work if the budget of openings
  /// is spent.
  private func judge(
    _ question: Question, on route: RequestRoute, _ answer: inout ForwardAnswer
  ) throws(Lack) -> (RequestJudgement, GateChallenge?) {
    let head = question.head
    // Forward auth hands no body over. A GET or HEAD has none, and the verdict says so to the API.
    let isBodiless = head.method == "GET" || head.method == "HEAD"
    let unread = isBodiless && rules.configuration.form == .compact ? Digest(hashing: []) : nil
    var received = ReceivedRequest(
      method: head.method, target: head.target, fields: head.fields,
      body: question.body.map { Digest(hashing: $0) } ?? unread,
      address: question.address)
    received.head = head
    var judgement = requests.judge(received, on: route)
    defer { answer.fields = judgement.fields }
    if judgement.opened != nil,
      question.head.fields.count(of: ForwardedRequest.challengeField) > 0
    {
      // The budget has room again. Count the work that the gate asked for before.
      return (judgement, try? paidWork(question))
    }
    guard judgement.rejection == .request(.unknownKey) || judgement.rejection == .busy else {
      return (judgement, nil)
    }
    // The first judgement of an unknown app ends before its proof is used up.
    if (try? admit(ticketOf: question)) != nil {
      judgement = requests.judge(received, on: route)
    }
    guard judgement.rejection == .busy else { return (judgement, nil) }
    let work = try paidWork(question)
    received.hasWorked = true
    judgement = requests.judge(received, on: route)
    return (judgement, work)
  }

  /// Judges the answer of kind work with which a client pays for the opening of its token. The answer is used up: it
  /// pays for one opening.
  ///
  /// - Returns: The challenge that was answered.
  /// - Throws: ``Lack``: the challenge to answer, for a request without a right answer.
  private func paidWork(_ question: Question) throws(Lack) -> GateChallenge {
    let subject = try subject(question, .address(question.address ?? ""))
    guard question.head.fields.count(of: ForwardedRequest.challengeField) > 0 else {
      throw .opening(subject, nil)
    }
    do throws(ChallengeRefusal) {
      let challenge = try challenge(answeredBy: question, for: subject)
      guard challenge.kind == .work, challenge.level >= Self.openingLevel else {
        throw .otherAnswer
      }
      let solution = question.head.fields.first(ForwardedRequest.answerField) ?? ""
      let solved = try desks.challenges.judge(.work(solution), to: challenge.text, for: subject)
      desks.load.answered(subject.client, on: question.rule.number, at: question.now)
      return solved
    } catch {
      if case .store(let failure) = error {
        throw .doubt(code: "store", reason: failure.description)
      }
      throw .opening(subject, error)
    }
  }

  /// Admits the app of the request's ticket.
  ///
  /// - Returns: The app's handle; nil for a request without a ticket.
  func admit(ticketOf question: Question) throws -> GateHandle? {
    let fields = question.head.fields
    guard fields.count(of: ForwardedRequest.ticketField) == 1,
      let text = fields.first(ForwardedRequest.ticketField)
    else { return nil }
    let configuration = rules.configuration
    let grant = try desks.tickets.open(
      text, mode: configuration.mode, floor: configuration.floor, at: question.now)
    return try requests.admit(grant)
  }
}

extension RouteRule.Unanchored {
  var worth: Unanchored {
    switch self {
    case .pass: .passes
    case .safe: .passesForSafeMethods
    case .refuse: .refused
    }
  }
}
