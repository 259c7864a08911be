// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

/// A challenge that a page works on, with the work that a picture costs and the one that stands for a picture.
struct PageRound: Sendable {
  let challenge: GateChallenge
  let work: GateChallenge?
  let long: GateChallenge?

  /// The members that the page's script reads.
  func json(at now: UnixTime) -> JSONObject {
    let seconds = Int64(max(0, challenge.expiry - now))
    var object: JSONObject = [
      "challenge": .string(challenge.text), "seconds": .number(JSONNumber(seconds)),
    ]
    for (name, part) in [("work", work), ("long", long)] {
      guard let part else { continue }
      object[name] = [
        "challenge": .string(part.text), "level": .number(JSONNumber(Int64(part.level))),
      ]
    }
    return object
  }
}

/// Makes the documents of a page: one file, with a content security policy that lets nothing else in.
struct PageDocument: Sendable {
  /// A picture and a piece of a page without script.
  struct Still: Sendable {
    let picture: [UInt8]
    let mark: String
  }

  private static let scriptTexts: [PageText] = [
    .checking, .slide, .at, .working, .done, .wrong, .failed, .expired, .busy, .network, .cancelled,
    .again, .more, .cookies,
  ]

  let settings: PageSettings
  let language: PageLanguage
  private let nonce = Base64.encode(RandomSource.bytes(16))

  init(_ settings: PageSettings, _ language: PageLanguage) {
    self.settings = settings
    self.language = language
  }

  private func text(_ text: PageText) -> String { text.text(in: language) }

  // MARK: Documents

  /// The page for a round.
  func page(_ round: PageRound, _ wish: PageWish, at now: UnixTime) -> PageAnswer {
    var data = start(wish)
    data["kind"] = .string(PageDocument.word(round.challenge.kind))
    data["level"] = .number(JSONNumber(Int64(round.challenge.level)))
    data["round"] = .object(round.json(at: now))
    var values = texts
    if round.challenge.kind == .person {
      let proceed =
        "<div class=\"actions\"><button class=\"first\">\(text(.proceed))</button></div>"
      values["fallback"] =
        "<form method=\"get\" action=\"page\">"
        + Self.hidden(wish.values(challenge: round.challenge.text, plain: true)) + proceed
        + "</form>"
    }
    return document(200, wish, data, values, code: "page")
  }

  /// The page for a challenge that does not count, or a wish that cannot be read. Its script tells the host.
  func failure(
    _ status: Int, _ code: PageCode, _ shown: PageText, _ wish: PageWish?, reason: String
  ) -> PageAnswer {
    var data = start(wish)
    // A presenter's server is told only by pages of challenges that are the gate's own.
    data["loopback"] = nil
    data["failed"] = .string(code.rawValue)
    data["reason"] = .string(shown.rawValue)
    var values = texts
    values["checking"] = text(shown)
    values["noscript"] = ""
    var answer = document(status, wish, data, values, code: "failed-\(code.rawValue)")
    answer.reason = reason
    if status == 429 { answer.fields.append(("Retry-After", "3600")) }
    return answer
  }

  /// The page for browsers without script.
  func plain(
    _ round: PageRound, _ still: Still, _ wish: PageWish, status: Int = 200, after wrong: Bool
  ) -> PageAnswer {
    var values = texts
    values["message"] = (wrong ? text(.wrong) + " " : "") + text(.read)
    values["hidden"] = Self.hidden(
      wish.values(challenge: round.challenge.text, plain: true) + [("mark", still.mark)])
    values["whole"] = Base64.encode(still.picture)
    let body = Markup.filled(PackageResources.page_plain_html, values)
    return whole(status, wish, String(decoding: body, as: UTF8.self), code: "plain")
  }

  /// The page without script after a right answer, if there is no page to go on to.
  func done(_ wish: PageWish) -> PageAnswer {
    whole(200, wish, "<p role=\"status\">\(text(.done))</p>", code: "right")
  }

  // MARK: Parts

  /// The members that each page's script reads.
  private func start(_ wish: PageWish?) -> JSONObject {
    var texts = JSONObject()
    for one in Self.scriptTexts { texts[one.rawValue] = .string(text(one)) }
    var data: JSONObject = [
      "texts": .object(texts), "base": .string(PageHandler.folder),
      "dismissible": .bool(wish?.isDismissible ?? false),
    ]
    guard let wish else { return data }
    data["method"] = .string(wish.method)
    data["target"] = .string(wish.target)
    data["handle"] = wish.handle.map { .string(Base64.encode($0.bytes, .url)) }
    data["origin"] = wish.origin.map { .string($0) }
    data["back"] = wish.next.map { .string($0) }
    if let loopback = wish.loopback {
      data["loopback"] = [
        "port": .number(JSONNumber(Int64(loopback.port))), "state": .string(loopback.state),
      ]
    }
    return data
  }

  private var texts: [String: String] {
    var values = ["fallback": ""]
    for one in PageText.allCases { values[one.rawValue] = text(one) }
    return values
  }

  private func document(
    _ status: Int, _ wish: PageWish?, _ data: JSONObject, _ values: [String: String], code: String
  ) -> PageAnswer {
    let json = Markup.scriptData(JSONValue.object(data).text)
    if case .document(let custom) = settings.custom {
      let body = Markup.filled(custom, ["nonce": nonce, "data": json])
      return answer(status, wish, body, hasScript: true, code: code)
    }
    var values = values
    values["nonce"] = nonce
    values["data"] = json
    values["work"] = String(decoding: PackageResources.work_js, as: UTF8.self)
    values["script"] = String(decoding: PackageResources.page_js, as: UTF8.self)
    let body = Markup.filled(PackageResources.page_body_html, values)
    return whole(
      status, wish, String(decoding: body, as: UTF8.self), hasScript: true, code: code)
  }

  private func whole(
    _ status: Int, _ wish: PageWish?, _ body: String, hasScript: Bool = false, code: String
  ) -> PageAnswer {
    let values = [
      "language": language.rawValue, "direction": language.direction, "nonce": nonce,
      "layout": (wish?.layout ?? .popup).rawValue, "title": text(.title), "body": body,
      "style": String(decoding: PackageResources.page_css, as: UTF8.self),
    ]
    return answer(
      status, wish, Markup.filled(PackageResources.page_html, values), hasScript: hasScript,
      code: code)
  }

  private func answer(
    _ status: Int, _ wish: PageWish?, _ body: [UInt8], hasScript: Bool, code: String
  ) -> PageAnswer {
    var answer = PageAnswer(status, "text/html; charset=utf-8", body, code: code)
    answer.fields.append(("Content-Security-Policy", policy(wish, hasScript: hasScript)))
    if settings.origins.isEmpty { answer.fields.append(("X-Frame-Options", "DENY")) }
    return answer
  }

  private func policy(_ wish: PageWish?, hasScript: Bool) -> String {
    // Browsers apply form-action to the redirect after a form, too.
    let form = wish?.loopback.map { " http://127.0.0.1:\($0.port)" } ?? ""
    let frames = settings.origins.isEmpty ? "'none'" : settings.origins.joined(separator: " ")
    let script =
      hasScript
      ? "script-src 'nonce-\(nonce)'; connect-src 'self'; worker-src blob:; " : ""
    return "default-src 'none'; \(script)style-src 'nonce-\(nonce)'; img-src data:; "
      + "form-action 'self'\(form); base-uri 'none'; frame-ancestors \(frames)"
  }

  private static func hidden(_ values: [(name: String, value: String)]) -> String {
    values.map { name, value in
      "<input type=\"hidden\" name=\"\(name)\" value=\"\(Markup.escaped(value))\">"
    }.joined()
  }

  static func word(_ kind: ChallengeKind) -> String {
    switch kind {
    case .token: "token"
    case .proof: "proof"
    case .work: "work"
    case .memoryWork: "memoryWork"
    case .person: "person"
    }
  }
}
