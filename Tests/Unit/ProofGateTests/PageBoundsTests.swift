// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofJOSE
import ProofModel
import ProofRequest
import Testing

@testable import ProofGate

/// Bounds of the page from both sides: its budgets, last seconds, types of bodies and languages.
@Suite struct PageBoundsTests {
  private static let json = "application/json"
  private static let own = [("Origin", "https://\(Site.host)"), ("Sec-Fetch-Site", "same-origin")]

  /// A site whose documents are their data alone.
  private func bare() throws -> PageSite {
    try PageSite { $0.custom = .document(Array("{{data}}".utf8)) }
  }

  // MARK: Doors

  @Test("A body has a type with no parameter but UTF-8, once")
  func types() throws {
    let site = try PageSite()
    for (type, status) in [
      ("application/json; charset=utf-8", 400), ("Application/JSON;Charset=UTF-8", 400),
      ("application/json ;  charset=utf-8", 400),
      ("application/json; charset=utf-8; charset=utf-8", 415), ("application/json;", 415),
      ("application/json; q=1", 415), (";charset=utf-8", 415), ("charset=utf-8", 415),
    ] {
      let answer = try site.ask("POST", "answer", [("Content-Type", type)], body: "{}")
      #expect(answer.status == status, "\(type)")
      #expect(answer.number == "1003")
    }
    let twice = [("Content-Type", Self.json), ("Content-Type", Self.json)]
    #expect(try site.ask("POST", "answer", twice, body: "{}").status == 415)
    let form = [("Content-Type", "application/x-www-form-urlencoded")] + Self.own
    #expect(try site.ask("POST", "picture", form, body: "a=b").status == 415, "answers alone")
  }

  @Test("A body of 16,384 bytes is read, a longer one is not")
  func lengths() throws {
    let site = try PageSite()
    for (count, status) in [(16_383, 400), (16_384, 400), (16_385, 413)] {
      let body = "{}" + String(repeating: " ", count: count - 2)
      let answer = try site.ask("POST", "answer", [("Content-Type", Self.json)], body: body)
      #expect(answer.status == status, "\(count)")
    }
  }

  @Test("A program names no origin, or says that no page sends its request")
  func programs() throws {
    let site = try PageSite()
    for (fields, isTaken) in [
      ([], true), ([("Sec-Fetch-Site", "none")], true), ([("Sec-Fetch-Site", "same-origin")], true),
      ([("Sec-Fetch-Site", "none"), ("Sec-Fetch-Site", "cross-site")], false),
      ([("Sec-Fetch-Site", "")], false),
      ([("Origin", "https://\(Site.host)")], true),
      ([("Origin", "https://\(Site.host)"), ("Sec-Fetch-Site", "none")], false),
      ([("Origin", "https://\(Site.host)"), ("Origin", "https://\(Site.host)")], false),
    ] as [([(String, String)], Bool)] {
      let challenge = try site.set(.work, level: 1)
      let answer = try site.post("answer", challenge.text, ["answer": "x"], fields)
      #expect(answer.status == (isTaken ? 422 : 403), "\(fields)")
    }
    // A form of the operator's own page is none of the gate's.
    let custom = try PageSite { $0.custom = .address("https://app.example.com/check") }
    let origin = [("Origin", "https://app.example.com")]
    #expect(try custom.form([("a", "b")], origin).status == 403)
    #expect(try custom.form([("a", "b")], Self.own).status == 400)
  }

  // MARK: Kinds and budgets

  @Test("Pictures are a person's alone, and a page answers no kind of an app")
  func kinds() throws {
    let site = try PageSite()
    let work = try site.set(.work, level: 1)
    for path in ["picture", "again"] {
      let members: JSONObject = path == "again" ? [:] : ["work": "a", "answer": "b"]
      let answer = try site.post(path, work.text, members)
      #expect(answer.status == 400 && answer.number == "1003", "\(path)")
    }
    for kind in [ChallengeKind.token, .proof] {
      let answer = try site.answer(try site.set(kind), "x")
      #expect(answer.status == 404 && answer.number == "1003", "\(kind)")
    }
    let wrong = try site.answer(work, "x")
    #expect(wrong.status == 422 && wrong.number == "1001" && wrong.next != nil)
    let next = try site.challenges.read(try #require(wrong.next), for: site.subject())
    #expect(next.kind == .work && next.level == 1 && next.text != work.text)
    let page = try site.ask("GET", "page?challenge=x&method=G%20T&target=%2F")
    #expect(page.status == 400 && page.code == "failed-1003")
  }

  @Test("A client without a picture left is told to come again in an hour")
  func pictures() throws {
    var settings = PersonBounds.Settings()
    settings.picturesOfClient = 2
    let site = try PageSite(bounds: PersonBounds(settings))
    func solved() throws -> (GateChallenge, String) {
      let work = try site.set(.work, level: 1)
      return (work, try solve(work.text).solution)
    }
    let first = try site.set(.person)
    let (work, solution) = try solved()
    let shown = try site.post(
      "picture", first.text, ["work": .string(work.text), "answer": .string(solution)])
    #expect(shown.status == 200 && shown.code == "picture")
    #expect(try site.post("again", first.text).status == 200)
    let other = try site.set(.person)
    let (more, answer) = try solved()
    for refused in [
      try site.post(
        "picture", other.text, ["work": .string(more.text), "answer": .string(answer)]),
      try site.post("again", other.text), try site.page(other.text, "&script=no"),
    ] {
      #expect(refused.status == 429 && refused.code == "failed-8001")
      #expect(refused.field("Retry-After") == "3600")
    }
    #expect(try site.answer(other, try site.slider(other)).status == 200, "it is not used up")
  }

  @Test("A form without script ends with the third try, and the client's tenth")
  func tries() throws {
    let site = try bare()
    func send(_ level: UInt8, off: Int) throws -> PageAnswer {
      let challenge = try site.set(.person, level: level)
      let puzzle = try #require(SliderPuzzle(challenge, site.site.own[.challenge]))
      return try site.form(
        [
          ("challenge", challenge.text), ("method", "GET"), ("target", site.target),
          ("reading", "\((puzzle.place + 22) / 2 + off)"), ("mark", puzzle.mark),
        ], Self.own)
    }
    let second = try send(1, off: 8)
    #expect(second.status == 422 && second.code == "plain" && second.field("Retry-After") == nil)
    #expect(second.text.contains(PageText.wrong.text(in: .english)))
    let third = try send(2, off: 8)
    #expect(third.status == 422 && third.code == "failed-1001")
    #expect(third.reason == "No try of the session is left.")
    #expect(third.object["reason"] == "failed")
    for _ in 0..<8 { _ = try send(2, off: 8) }
    let busy = try send(0, off: 0)
    #expect(busy.status == 429 && busy.code == "failed-1001")
    #expect(busy.field("Retry-After") == "3600")
    #expect(busy.object["reason"] == "busy")
  }

  @Test("A form whose time is over says so, and another challenge that it failed")
  func expired() throws {
    let site = try bare()
    let challenge = try site.set(.person)
    func send(_ id: String) throws -> PageAnswer {
      try site.form(
        [
          ("challenge", id), ("method", "GET"), ("target", site.target), ("reading", "1"),
          ("mark", "m"),
        ], Self.own)
    }
    let wrong = try send(flipped(challenge.text, bit: 300))
    #expect(wrong.status == 400 && wrong.object["reason"] == "failed")
    site.site.clock.now += 601
    let late = try send(challenge.text)
    #expect(late.status == 410 && late.object["reason"] == "expired")
  }

  // MARK: Last seconds

  @Test("In the last second of a challenge or a clearance no second is left")
  func lastSeconds() throws {
    let site = try bare()
    let last = try site.set(.person, life: 0)
    guard case .object(let round)? = try site.page(last.text).object["round"] else {
      Issue.record("no round")
      return
    }
    #expect(round["seconds"] == 0)
    let work = try site.set(.work, level: 2)
    let first = try site.answer(work, try solve(work.text).solution)
    let cookie = try #require(first.field("Set-Cookie")).prefix { $0 != ";" }
    site.site.clock.now += 900
    let next = try site.set(.work, level: 1)
    let answer = try site.post(
      "answer", next.text, ["answer": .string(try solve(next.text).solution)],
      [("Cookie", String(cookie))])
    // The answer of the lower level keeps the end of the one before.
    #expect(answer.status == 200 && answer.object["expires"] == 0)
    #expect(answer.field("Set-Cookie")?.contains("; Max-Age=0;") == true)
  }

  // MARK: Texts

  @Test("Weights are compared by each of their digits")
  func weights() {
    for (accepted, found) in [
      ("fr, de;q=1", "fr"), ("de;q=1, fr", "de"), ("de;q=0.099, fr;q=0.1", "fr"),
      ("de;q=0.9, fr;q=1", "fr"), ("de;q=0.999, fr;q=1", "fr"), ("de;q=0.909, fr;q=0.91", "fr"),
      ("de;q=0.:, fr;q=0.1", "fr"), ("de;q=0.9/, fr;q=0.1", "fr"), ("de;q=0.0:, fr;q=0.001", "fr"),
      ("de;q=0.01, fr;q=0.009", "de"), ("de;q=0.9, fr;q=0.899", "de"), ("de;q=, fr;q=0.001", "fr"),
      ("de;q=0-9, fr;q=0.1", "fr"), ("de;q=2.000, fr;q=0.1", "fr"),
    ] {
      #expect(PageLanguage(wish: nil, accepted: accepted).rawValue == found, "\(accepted)")
    }
  }

  @Test("A place of a template is closed by two braces, within its end")
  func places() {
    func filled(_ text: String) -> String {
      let values = [
        "a": "1", "ab": "2", "abcdefghijklmnop": "3", "abcdefghijklmnopq": "4", "A": "5", "1": "6",
        "aB": "7", "{": "8", "`": "9",
      ]
      return String(decoding: Markup.filled(Array(text.utf8), values), as: UTF8.self)
    }
    for (text, found) in [
      ("{{abcdefghijklmnop}}", "3"), ("{{abcdefghijklmnopq}}", "{{abcdefghijklmnopq}}"),
      ("{{ab}", "{{ab}"), ("{{ab}}", "2"), ("{{ab} }", "{{ab} }"), ("{{ab", "{{ab"),
      ("{{a}x", "{{a}x"), ("x{{a}}", "x1"), ("{{a}}{", "1{"), ("{{a}}{{", "1{{"),
      ("{ {a}}", "{ {a}}"), ("{{a{{ab}}", "{{a2"), ("{{A}} ", "{{A}} "), ("{{1}} ", "{{1}} "),
      ("{{aB}} ", "{{aB}} "), ("{{{}} ", "{{{}} "), ("{{`}} ", "{{`}} "),
    ] {
      #expect(filled(text) == found, "\(text)")
    }
    // Each beginning of a template is filled, and none is read beyond its end.
    let whole = "a{{a}}b{{abcdefghijklmnop}}{{{ab}}}{{abcdefghijklmnopqr}}"
    for count in 0...whole.utf8.count {
      let start = String(whole.prefix(count))
      #expect(filled(start + " ").hasPrefix(filled(start)), "\(start)")
    }
  }

  @Test("A path to go on to has visible characters alone, and an address a whole scheme")
  func paths() {
    for good in ["/!", "/~", "/[", "/]", "/a"] { #expect(PageWish.isLocal(good), "\(good)") }
    for bad in ["/ ", "/\u{7f}", "/\\", "/\u{80}", "a"] {
      #expect(!PageWish.isLocal(bad), "\(bad)")
    }
    for bad in ["https:", "https:/", "https://", "https:///", "https:/a.example", "https"] {
      #expect(PageSettings.origin(ofAddress: bad) == nil, "\(bad)")
    }
    #expect(PageSettings.origin(ofAddress: "https://a.example/!~") == "https://a.example")
  }
}
