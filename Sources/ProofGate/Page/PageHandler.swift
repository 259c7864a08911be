// SPDX-License-Identifier: Apache-2.0

package import ProofBackend
package import ProofJOSE
internal import ProofModel
internal import ProofRequest

/// Answers requests below `/.well-known/proofkit/`: the page of a challenge, its picture, its answers and scripts.
/// docs/PAGE.md describes them. Named challenges are the door's: ``ForwardGate``.
package struct PageHandler: Sendable {
  /// The path that everything is below.
  package static let folder = "/.well-known/proofkit/"
  /// The most bytes of a body.
  package static let bodyMax = 16_384

  /// The life of a picture's work and of the work that stands for a picture, in seconds.
  static let workLife: UInt32 = 600

  let settings: PageSettings
  let keys: GateKeySet
  let challenges: ChallengeDesk
  let clearances: ClearanceDesk
  let bounds: PersonBounds
  let clock: UnixClock

  /// A handler.
  ///
  /// - Parameters:
  ///   - settings: The settings of the page.
  ///   - own: The gate's own keys: the places of gaps follow from them.
  ///   - challenges: Sets and judges challenges.
  ///   - clearances: Makes clearances.
  ///   - bounds: Counts tries and pictures; one for all handlers of a process.
  ///   - clock: The time.
  package init(
    _ settings: PageSettings, own: GateOwnKeys, _ challenges: ChallengeDesk,
    _ clearances: ClearanceDesk, _ bounds: PersonBounds, clock: UnixClock = .system
  ) {
    self.settings = settings
    keys = own[.challenge]
    self.challenges = challenges
    self.clearances = clearances
    self.bounds = bounds
    self.clock = clock
  }

  var now: UnixTime { clock.now.whole }

  /// Answers a request.
  package func answer(_ request: PageRequest) -> PageAnswer {
    guard request.path.utf8.starts(with: Self.folder.utf8) else { return Self.unknown }
    let name = request.path.dropFirst(Self.folder.count)
    switch (name, request.method) {
    case ("page", "GET"), ("page", "HEAD"): return page(request)
    case ("picture", "POST"), ("again", "POST"), ("answer", "POST"):
      return allowingOrigin(post(request, to: name), request)
    case ("picture", "OPTIONS"), ("again", "OPTIONS"), ("answer", "OPTIONS"):
      return preflight(request)
    case ("work.js", "GET"), ("work.js", "HEAD"): return Self.script(PackageResources.work_js)
    case ("page", _), ("work.js", _): return Self.method("GET, HEAD")
    case ("picture", _), ("again", _), ("answer", _): return Self.method("POST")
    default: break
    }
    guard name.utf8.starts(with: "challenges/".utf8) else { return Self.unknown }
    guard request.method == "GET" else { return Self.method("GET") }
    return Self.unknown
  }

  // MARK: Documents

  private func page(_ request: PageRequest) -> PageAnswer {
    let accepted = request.fields.values(of: "accept-language").first
    guard let pairs = FormPairs(request.query.utf8), let wish = PageWish(pairs.values),
      wish.origin.map({ isListed($0, request) }) ?? true
    else {
      let language = FormPairs(request.query.utf8)?.values["language"]
      return PageDocument(settings, PageLanguage(wish: language, accepted: accepted)).failure(
        400, .parameter, .failed, nil, reason: "A parameter of the page is missing or malformed.")
    }
    let document = PageDocument(settings, PageLanguage(wish: wish.language, accepted: accepted))
    guard let subject = try? wish.subject(at: request.authority, from: request.address) else {
      return document.failure(
        400, .parameter, .failed, nil, reason: "The page's method or target is malformed.")
    }
    let challenge: GateChallenge
    do throws(ChallengeRefusal) {
      challenge = try challenges.read(wish.challenge, for: subject)
    } catch {
      let (code, status) = PageCode.of(error)
      return document.failure(
        status, code, code == .failed ? .expired : .failed, wish, reason: error.description)
    }
    guard Self.kinds.contains(challenge.kind) else {
      return document.failure(
        404, .parameter, .failed, wish, reason: "A page answers no challenge of this kind.")
    }
    if case .address(let address) = settings.custom { return redirect(to: address, wish) }
    let round = round(of: challenge, subject)
    guard wish.isPlain else { return document.page(round, wish, at: now) }
    guard challenge.kind == .person else {
      return document.failure(
        404, .picture, .noscript, wish, reason: "This kind of challenge needs script.")
    }
    return plain(document, round, subject, wish, after: false)
  }

  /// The page for browsers without script, which cannot work for its picture: it takes one of a budget of its own.
  func plain(
    _ document: PageDocument, _ round: PageRound, _ subject: ChallengeSubject, _ wish: PageWish,
    status: Int = 200, after wrong: Bool
  ) -> PageAnswer {
    guard let puzzle = SliderPuzzle(round.challenge, keys),
      bounds.takePicture(of: subject.client, hasWorked: false, at: now)
    else {
      return document.failure(
        429, .picture, .busy, wish, reason: "No picture is left for this client, or for all.")
    }
    let still = PageDocument.Still(
      picture: puzzle.pictures(hasRuler: true).picture, mark: puzzle.mark)
    return document.plain(round, still, wish, status: status, after: wrong)
  }

  /// The kinds that a page answers.
  static let kinds: Set<ChallengeKind> = [.work, .memoryWork, .person]

  /// A challenge with the work that its page needs.
  func round(of challenge: GateChallenge, _ subject: ChallengeSubject) -> PageRound {
    guard challenge.kind == .person else {
      return PageRound(challenge: challenge, work: nil, long: nil)
    }
    return PageRound(
      challenge: challenge,
      work: challenges.set(
        .work, level: settings.pictureLevel, for: subject, life: Self.workLife),
      long: challenges.set(
        .memoryWork, level: settings.longLevel, for: subject, life: Self.workLife))
  }

  /// Sends the browser to the operator's page, with the page's own parameters.
  private func redirect(to address: String, _ wish: PageWish) -> PageAnswer {
    let query = wish.values(challenge: wish.challenge, plain: false).map { name, value in
      "\(name)=\(FormPairs.encoded(value))"
    }.joined(separator: "&")
    let mark = address.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
    var answer = PageAnswer(302, "text/plain; charset=utf-8", [], code: "custom")
    answer.fields.append(("Location", address + mark + query))
    return answer
  }

  private static func script(_ bytes: [UInt8]) -> PageAnswer {
    var answer = PageAnswer(200, "text/javascript; charset=utf-8", bytes, code: "script")
    answer.fields[1].value = "public, max-age=86400"
    return answer
  }

  // MARK: Origins

  /// Whether an origin may get a result: the page's own, or one of the operator's list.
  private func isListed(_ origin: String, _ request: PageRequest) -> Bool {
    origin == "https://" + request.authority || settings.origins.contains { $0 == origin }
  }

  /// The origin of the operator's own page, if that is on another host.
  private func customOrigin(_ request: PageRequest) -> String? {
    guard case .address(let address) = settings.custom,
      let origin = PageSettings.origin(ofAddress: address), origin != "https://" + request.authority
    else { return nil }
    return origin
  }

  /// Whether a POST comes from a page that may send it. Browsers name the origin of each POST, and no script changes
  /// it; programs name none, and pass with JSON alone.
  func isOwnOrigin(_ request: PageRequest, needsField: Bool) -> Bool {
    let sites = request.fields.values(of: "sec-fetch-site")
    let origins = request.fields.values(of: "origin")
    guard let origin = origins.first else {
      return !needsField && sites.allSatisfy { $0 == "same-origin" || $0 == "none" }
    }
    guard origins.count == 1 else { return false }
    if let custom = customOrigin(request), origin == custom, !needsField { return true }
    return origin == "https://" + request.authority && sites.allSatisfy { $0 == "same-origin" }
  }

  private func allowingOrigin(_ answer: PageAnswer, _ request: PageRequest) -> PageAnswer {
    guard let origin = customOrigin(request), request.value(of: "origin") == origin else {
      return answer
    }
    var answer = answer
    answer.fields += [("Access-Control-Allow-Origin", origin), ("Vary", "Origin")]
    return answer
  }

  private func preflight(_ request: PageRequest) -> PageAnswer {
    guard customOrigin(request) != nil else { return Self.method("POST") }
    var answer = PageAnswer(204, "text/plain; charset=utf-8", [], code: "preflight")
    answer.fields += [
      ("Access-Control-Allow-Methods", "POST"), ("Access-Control-Allow-Headers", "content-type"),
      ("Access-Control-Max-Age", "600"),
    ]
    return allowingOrigin(answer, request)
  }

  // MARK: Other answers

  static let unknown = PageAnswer(problem: 404, .parameter, "There is nothing at this path.")

  private static func method(_ allowed: String) -> PageAnswer {
    var answer = PageAnswer(
      problem: 405, .parameter, "This path takes another method.", reason: nil)
    answer.fields.append(("Allow", allowed))
    return answer
  }
}
