// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofJOSE
internal import ProofModel

// The answers of pages, as JSON from scripts, or as forms from browsers without script.

extension PageHandler {
  /// The judgement of an answer.
  private enum Judgement {
    case right(GateChallenge)
    /// A wrong answer, and the next round if a try is left.
    case wrong(PageRound?)
    case failed(Int, PageCode, String)
  }

  // MARK: JSON and forms

  func post(_ request: PageRequest, to name: Substring) -> PageAnswer {
    guard request.body.count <= Self.bodyMax else {
      return PageAnswer(problem: 413, .parameter, "The body is too long.")
    }
    switch request.value(of: "content-type").map(Self.mediaType) {
    case "application/json":
      guard isOwnOrigin(request, needsField: false) else { return Self.foreign }
      return json(request, to: name)
    case "application/x-www-form-urlencoded" where name == "answer":
      guard isOwnOrigin(request, needsField: true) else { return Self.foreign }
      return form(request)
    default:
      return PageAnswer(problem: 415, .parameter, "The body is of another type.")
    }
  }

  private static let foreign = PageAnswer(
    problem: 403, .parameter, "The request comes from a page of another origin.")

  /// The type of a `Content-Type`, in lower case, if its only parameter is `charset=utf-8`; else an empty text.
  private static func mediaType(_ text: String) -> String {
    let parts = text.lowercased().split(separator: ";", omittingEmptySubsequences: false)
      .map { $0.filter { $0 != " " } }
    guard parts.count == 1 || parts.count == 2 && parts[1] == "charset=utf-8" else { return "" }
    return parts[0]
  }

  private func json(_ request: PageRequest, to name: Substring) -> PageAnswer {
    let own: Set<String> =
      switch name {
      case "picture": ["work", "answer"]
      case "again": []
      default: ["answer"]
      }
    guard case .object(let object) = try? JSONValue(parsing: request.body.span),
      let values = Self.texts(of: object), let wish = PageWish(values, other: own),
      own.allSatisfy({ values[$0] != nil }),
      values.keys.allSatisfy({
        own.contains($0) || ["challenge", "method", "target", "handle"].contains($0)
      }),
      let subject = try? wish.subject(at: request.authority, from: request.address)
    else {
      return PageAnswer(problem: 400, .parameter, "The body is not the JSON of this path.")
    }
    let challenge: GateChallenge
    do throws(ChallengeRefusal) {
      challenge = try challenges.read(wish.challenge, for: subject)
    } catch {
      let (code, status) = PageCode.of(error)
      return PageAnswer(problem: status, code, error.description)
    }
    switch name {
    case "picture":
      return picture(
        of: challenge, subject, work: values["work"] ?? "", solution: values["answer"] ?? "")
    case "again": return again(challenge, subject)
    default: return judged(challenge, subject, values["answer"] ?? "", request, wish)
    }
  }

  /// The members of an object of texts; nil if one is no text.
  private static func texts(of object: JSONObject) -> [String: String]? {
    var values: [String: String] = [:]
    for (name, value) in object.members {
      guard case .string(let text) = value else { return nil }
      values[name] = text
    }
    return values
  }

  private func judged(
    _ challenge: GateChallenge, _ subject: ChallengeSubject, _ text: String,
    _ request: PageRequest, _ wish: PageWish
  ) -> PageAnswer {
    switch judge(text, to: challenge, subject) {
    case .right(let answered):
      let made = clearance(answered, subject, request)
      var answer = PageAnswer(
        200,
        [
          "clearance": .string(made.text),
          "expires": .number(
            JSONNumber(Int64(max(0, made.expiry - now)))),
        ], code: "right")
      setCookie(made, wish, &answer)
      return answer
    case .wrong(let round):
      var more = JSONObject()
      if let round {
        more["challenge"] = .string(round.challenge.text)
        more["round"] = .object(round.json(at: now))
      }
      return PageAnswer(problem: 422, .failed, "The answer is wrong.", more)
    case .failed(let status, let code, let reason):
      return PageAnswer(problem: status, code, reason)
    }
  }

  private func form(_ request: PageRequest) -> PageAnswer {
    let accepted = request.fields.values(of: "accept-language").first
    guard let pairs = FormPairs(request.body),
      let wish = PageWish(pairs.values, other: ["reading", "mark"]),
      let reading = pairs.values["reading"], let mark = pairs.values["mark"],
      let subject = try? wish.subject(at: request.authority, from: request.address)
    else {
      return PageDocument(settings, PageLanguage(wish: nil, accepted: accepted)).failure(
        400, .parameter, .failed, nil, reason: "A value of the form is missing or malformed.")
    }
    let document = PageDocument(settings, PageLanguage(wish: wish.language, accepted: accepted))
    let challenge: GateChallenge
    do throws(ChallengeRefusal) {
      challenge = try challenges.read(wish.challenge, for: subject)
    } catch {
      let (code, status) = PageCode.of(error)
      return document.failure(
        status, code, code == .failed ? .expired : .failed, wish, reason: error.description)
    }
    guard challenge.kind == .person else {
      return document.failure(
        400, .parameter, .failed, wish, reason: "The form is for another kind of challenge.")
    }
    switch judge("ruler \(reading) \(mark)", to: challenge, subject) {
    case .right(let answered):
      let made = clearance(answered, subject, request)
      var answer = passed(document, wish, made)
      setCookie(made, wish, &answer)
      return answer
    case .wrong(let round?): return plain(document, round, subject, wish, status: 422, after: true)
    case .wrong(nil):
      return document.failure(422, .failed, .failed, wish, reason: "No try of the session is left.")
    case .failed(let status, let code, let reason):
      return document.failure(status, code, status == 429 ? .busy : .failed, wish, reason: reason)
    }
  }

  /// The answer to a form that was right: on to where the person came from.
  private func passed(_ document: PageDocument, _ wish: PageWish, _ made: Clearance) -> PageAnswer {
    let next: String? =
      if let loopback = wish.loopback {
        "http://127.0.0.1:\(loopback.port)/done?state=\(loopback.state)&data=\(made.text)"
      } else {
        wish.next
      }
    guard let next else { return document.done(wish) }
    var answer = PageAnswer(303, "text/plain; charset=utf-8", [], code: "right")
    answer.fields.append(("Location", next))
    return answer
  }

  // MARK: Judging

  private func judge(
    _ text: String, to challenge: GateChallenge, _ subject: ChallengeSubject
  ) -> Judgement {
    do throws(ChallengeRefusal) {
      switch challenge.kind {
      case .work:
        return .right(try challenges.judge(.work(text), to: challenge.text, for: subject))
      case .memoryWork:
        return .right(try challenges.judge(.memoryWork(text), to: challenge.text, for: subject))
      case .person: return try judgePerson(text, to: challenge, subject)
      case .token, .proof:
        return .failed(404, .parameter, "A page answers no challenge of this kind.")
      }
    } catch {
      guard error == .wrong else {
        let (code, status) = PageCode.of(error)
        return .failed(status, code, error.description)
      }
      return .wrong(next(after: challenge, subject))
    }
  }

  private func judgePerson(
    _ text: String, to challenge: GateChallenge, _ subject: ChallengeSubject
  ) throws(ChallengeRefusal) -> Judgement {
    guard let answer = PersonAnswer(text), let puzzle = SliderPuzzle(challenge, keys) else {
      return .failed(400, .data, "The answer is not the text of a page.")
    }
    // A guess without the picture costs no try and no entry in the store, and gains nothing.
    if case .slider(_, let mark) = answer {
      guard puzzle.isMark(mark[...]) else {
        return .failed(400, .data, "The answer has not the mark of its picture.")
      }
    }
    guard bounds.takeTry(of: subject.client, at: now) else {
      return .failed(429, .failed, "The client has no try left in this hour.")
    }
    let isRight: Bool
    switch answer {
    case .slider(let position, _): isRight = puzzle.isRight(position)
    case .work(let id, let solution): isRight = try isLongWork(id, solution, subject)
    }
    return .right(
      try challenges.judge(.person { _ in isRight }, to: challenge.text, for: subject))
  }

  /// Whether a text solves memory work that this page asked for.
  private func isLongWork(
    _ id: String, _ solution: String, _ subject: ChallengeSubject
  ) throws(ChallengeRefusal) -> Bool {
    do throws(ChallengeRefusal) {
      let work = try challenges.judge(.memoryWork(solution), to: id, for: subject)
      return work.level >= settings.longLevel
    } catch {
      // A store that does not answer is no fault of the client, so its challenge stays.
      if case .store = error { throw error }
      return false
    }
  }

  /// The round after a wrong answer; nil if the session has no try left. The level of a person's challenge counts the
  /// tries before it.
  private func next(after challenge: GateChallenge, _ subject: ChallengeSubject) -> PageRound? {
    guard challenge.kind == .person else {
      return round(
        of: challenges.set(
          challenge.kind, level: challenge.level, route: challenge.route, for: subject), subject)
    }
    let tries = challenge.level + 1
    guard tries < bounds.settings.triesOfSession else { return nil }
    return round(
      of: challenges.set(.person, level: tries, route: challenge.route, for: subject), subject)
  }

  private func clearance(
    _ challenge: GateChallenge, _ subject: ChallengeSubject, _ request: PageRequest
  ) -> Clearance {
    var held: Clearance?
    if case .address(let address) = subject.client,
      let field = (try? ClearanceField(in: request.fields)) ?? nil
    {
      held = try? clearances.check(field, for: request.authority, proven: nil, from: address)
    }
    return clearances.clearance(for: challenge, subject, after: held)
  }

  /// A browser keeps a session's clearance. An app's is useless to it.
  private func setCookie(_ made: Clearance, _ wish: PageWish, _ answer: inout PageAnswer) {
    guard wish.handle == nil else { return }
    let seconds = UInt32(clamping: made.expiry - now)
    answer.fields.append(
      ("Set-Cookie", ClearanceField.setCookie(made.text, for: seconds)))
  }

  // MARK: Pictures

  /// The picture and its piece, for work that was done for them.
  private func picture(
    of challenge: GateChallenge, _ subject: ChallengeSubject, work: String, solution: String
  ) -> PageAnswer {
    guard let puzzle = SliderPuzzle(challenge, keys) else {
      return PageAnswer(problem: 400, .parameter, "The challenge has no picture.")
    }
    do throws(ChallengeRefusal) {
      let done = try challenges.judge(.work(solution), to: work, for: subject)
      guard done.level >= settings.pictureLevel else {
        return PageAnswer(problem: 400, .parameter, "The work is of a lower level.")
      }
    } catch {
      let (code, status) = PageCode.of(error)
      return PageAnswer(problem: status, code, error.description)
    }
    guard bounds.takePicture(of: subject.client, hasWorked: true, at: now) else {
      return PageAnswer(problem: 429, .picture, "No picture is left for this client, or for all.")
    }
    let (picture, piece) = puzzle.pictures()
    return PageAnswer(
      200,
      [
        "picture": .string(Base64.encode(picture)), "piece": .string(Base64.encode(piece)),
        "mark": .string(puzzle.mark),
      ], code: "picture")
  }

  /// Another picture and ten more minutes. The challenge is used up, and the next one has the tries of this one.
  private func again(_ challenge: GateChallenge, _ subject: ChallengeSubject) -> PageAnswer {
    guard challenge.kind == .person else {
      return PageAnswer(problem: 400, .parameter, "The challenge has no picture.")
    }
    guard bounds.takePicture(of: subject.client, hasWorked: true, at: now) else {
      return PageAnswer(problem: 429, .picture, "No picture is left for this client, or for all.")
    }
    do throws(ChallengeRefusal) {
      _ = try challenges.judge(.person { _ in true }, to: challenge.text, for: subject)
    } catch {
      let (code, status) = PageCode.of(error)
      return PageAnswer(problem: status, code, error.description)
    }
    let next = challenges.set(
      .person, level: challenge.level, route: challenge.route, for: subject)
    return PageAnswer(
      200, ["round": .object(round(of: next, subject).json(at: now))], code: "again")
  }
}
