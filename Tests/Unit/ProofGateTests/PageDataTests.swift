// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofJOSE
import ProofModel
import ProofRequest
import Testing

@testable import ProofGate

/// The data that a page's script and its forms get: of a document, of a round, and of a form
/// without script.
@Suite struct PageDataTests {
  /// A site whose documents are their data alone.
  private func site(_ change: (inout PageSettings) -> Void = { _ in }) throws -> PageSite {
    try PageSite {
      $0.custom = .document(Array("{{data}}".utf8))
      change(&$0)
    }
  }

  private func object(_ value: JSONValue?) throws -> JSONObject {
    guard case .object(let object)? = value else { throw ProofError.differs("object") }
    return object
  }

  private func text(_ value: JSONValue?) throws -> String {
    guard case .string(let text)? = value else { throw ProofError.differs("text") }
    return text
  }

  @Test("A picture costs work of level 11, and memory work of level 4 stands for one")
  func defaults() {
    let settings = PageSettings()
    #expect(settings.pictureLevel == 11 && settings.longLevel == 4)
    #expect(settings.origins.isEmpty && settings.custom == nil)
    #expect(PageHandler.workLife == 600 && PageHandler.bodyMax == 16_384)
  }

  @Test("A person's round has a challenge, its seconds, and two kinds of work for ten minutes")
  func round() throws {
    let site = try site {
      $0.pictureLevel = 3
      $0.longLevel = 2
    }
    let challenge = try site.set(.person, level: 1, life: 300)
    site.site.clock.now += 20
    let data = try site.page(challenge.text).object
    #expect(data["kind"] == "person" && data["level"] == 1)
    let round = try object(data["round"])
    #expect(round["challenge"] == .string(challenge.text) && round["seconds"] == 280)
    for (name, kind, level) in [("work", ChallengeKind.work, 3), ("long", .memoryWork, 2)] {
      let part = try object(round[name])
      #expect(part["level"] == .number(JSONNumber(Int64(level))))
      let read = try site.challenges.read(try text(part["challenge"]), for: site.subject())
      #expect(read.kind == kind && read.level == UInt8(level))
      #expect(read.expiry == site.site.clock.now + 600)
    }
    let work = try site.page(try site.set(.work, level: 7).text).object
    #expect(work["kind"] == "work" && work["level"] == 7)
    #expect(try object(work["round"])["work"] == nil && object(work["round"])["long"] == nil)
    let memory = try site.page(try site.set(.memoryWork, level: 2).text).object
    #expect(memory["kind"] == "memoryWork")
    // A person's next round has the same members, with the tries that it had.
    let again = try site.post("again", challenge.text)
    #expect(again.status == 200 && again.code == "again")
    let next = try object(again.object["round"])
    #expect(try object(next["work"])["level"] == 3 && object(next["long"])["level"] == 2)
    #expect(next["seconds"] == 600)
    let other = try site.challenges.read(try text(next["challenge"]), for: site.subject())
    #expect(other.level == 1 && other.text != challenge.text)
  }

  @Test("The page's data have each part of the wish, and none that it does not have")
  func wishes() throws {
    let site = try site { $0.origins = ["https://app.example.com"] }
    let plain = try site.page(try site.set(.work, level: 1).text).object
    #expect(plain["base"] == "/.well-known/proofkit/" && plain["dismissible"] == false)
    #expect(plain["method"] == "GET" && plain["target"] == .string(site.target))
    #expect(plain["back"] == .string(site.target), "the target of a GET")
    for name in ["handle", "origin", "loopback", "failed", "reason"] {
      #expect(plain[name] == nil, "\(name)")
    }
    let handle = site.site.app.handle
    let state = String(repeating: "s", count: 16)
    let name = Base64.encode(handle.bytes, .url)
    let more =
      "&handle=\(name)&dismissible=yes&origin=https%3A%2F%2Fapp.example.com&return=%2Fback"
      + "&loopback=1024&state=\(state)"
    let full = try site.page(try site.set(.person, handle).text, more)
    #expect(full.status == 200)
    #expect(full.object["handle"] == .string(name) && full.object["dismissible"] == true)
    #expect(full.object["origin"] == "https://app.example.com" && full.object["back"] == "/back")
    #expect(full.object["loopback"] == ["port": 1024, "state": .string(state)])
    // An app's page has no path to go on to.
    #expect(
      try site.page(try site.set(.person, handle).text, "&handle=\(name)").object["back"] == nil)
    // A page of a challenge that does not count tells no server of a presenter.
    let failed = try site.page(flipped(try site.set(.person, handle).text, bit: 300), more)
    #expect(failed.object["failed"] == "1003" && failed.object["reason"] == "failed")
    #expect(failed.object["loopback"] == nil && failed.object["round"] == nil)
    #expect(failed.object["handle"] == .string(name) && failed.reason?.isEmpty == false)
    let unread = try site.ask("GET", "page?challenge=x").object
    #expect(unread["method"] == nil && unread["dismissible"] == false && unread["failed"] == "1003")
    let last = try site.set(.person, life: 0)
    #expect(try site.page(last.text).status == 200, "the last second counts")
    site.site.clock.now += 1
    #expect(try site.page(last.text).status == 410)
  }

  @Test("Bounds of each parameter hold from both sides")
  func bounds() throws {
    let site = try site()
    let name = Base64.encode(site.site.app.handle.bytes, .url)
    func status(_ more: String, app: Bool = false) throws -> Int {
      let challenge = app ? try site.set(.person, site.site.app.handle) : try site.set(.person)
      return try site.page(challenge.text, (app ? "&handle=\(name)" : "") + more).status
    }
    for (more, isRight) in [
      ("&layout=embedded", true), ("&layout=popup", true), ("&layout=Popup", false),
      ("&language=\(String(repeating: "a", count: 35))", true),
      ("&language=\(String(repeating: "a", count: 36))", false), ("&language=", false),
      ("&language=a.b", false), ("&language=zZ-_09", true), ("&dismissible=yes", true),
      ("&dismissible=no", true), ("&dismissible=true", false), ("&script=yes", true),
      ("&script=maybe", false), ("&state=\(String(repeating: "s", count: 16))", false),
      ("&return=%2F\(String(repeating: "a", count: 2047))", true),
      ("&return=%2F\(String(repeating: "a", count: 2048))", false), ("&other=1", false),
      ("&handle=\(name.dropLast())", false), ("&handle=", false), ("&method=GET", false),
    ] {
      #expect(try status(more) == (isRight ? 200 : 400), "\(more.prefix(40))")
    }
    func loopback(_ port: String, _ count: Int, _ letter: Character = "s") -> String {
      "&loopback=\(port)&state=\(String(repeating: letter, count: count))"
    }
    for (more, isRight) in [
      (loopback("1024", 16), true), (loopback("65535", 128), true), (loopback("1023", 16), false),
      (loopback("65536", 16), false), (loopback("8080", 15), false), (loopback("8080", 129), false),
      (loopback("8080", 16, "."), false), ("&loopback=8080", false), (loopback("999", 16), false),
    ] {
      #expect(try status(more, app: true) == (isRight ? 200 : 400), "\(more.prefix(40))")
    }
    // Method and target of a request.
    func asked(_ method: String, _ target: String) throws -> Int {
      // A method or target that is too long names no request, so no challenge is for one.
      let other = try site.subject()
      let subject = (try? site.site.subject(method, target)) ?? other
      let challenge = site.challenges.set(.person, for: subject)
      let query = "challenge=\(challenge.text)&method=\(method)&target=\(FormPairs.encoded(target))"
      return try site.ask("GET", "page?\(query)").status
    }
    #expect(try asked(String(repeating: "M", count: 32), "/") == 200)
    #expect(try asked(String(repeating: "M", count: 33), "/") == 400)
    #expect(try asked("GET", "/" + String(repeating: "a", count: 8191)) == 200)
    #expect(try asked("GET", "/" + String(repeating: "a", count: 8192)) == 400)
  }

  @Test("A form without script has all that the next request needs, and the picture")
  func plain() throws {
    let site = try PageSite()
    let challenge = try site.set(.person)
    let more = "&script=no&language=de&layout=embedded&return=%2Fback%3Fa%3D%22b%22"
    let answer = try site.page(challenge.text, more)
    let puzzle = try #require(SliderPuzzle(challenge, site.site.own[.challenge]))
    #expect(answer.status == 200 && answer.code == "plain")
    for (name, value) in [
      ("challenge", challenge.text), ("method", "GET"), ("target", Markup.escaped(site.target)),
      ("layout", "embedded"), ("language", "de"), ("return", "/back?a=&quot;b&quot;"),
      ("script", "no"), ("mark", puzzle.mark),
    ] {
      #expect(
        answer.text.contains("<input type=\"hidden\" name=\"\(name)\" value=\"\(value)\">"),
        "\(name)")
    }
    #expect(answer.text.contains(Base64.encode(puzzle.pictures(hasRuler: true).picture)))
    #expect(answer.text.contains(PageText.read.text(in: .german)))
    #expect(!answer.text.contains(PageText.wrong.text(in: .german)))
    #expect(
      try site.page(challenge.text, more + "&dismissible=yes").text.contains("\"dismissible\""))
    // The form of the page with script asks for the page without one.
    let scripted = try site.page(challenge.text)
    #expect(scripted.text.contains("<form method=\"get\" action=\"page\">"))
    #expect(scripted.text.contains("name=\"script\" value=\"no\""))
    #expect(scripted.text.contains(PageText.proceed.text(in: .english)))
    let work = try site.page(try site.set(.work, level: 1).text)
    #expect(!work.text.contains("action=\"page\""))
    #expect(try site.page(try site.set(.work, level: 1).text, "&script=no").status == 404)
    // A failure has its text, and neither form nor work.
    let failed = try site.page(flipped(challenge.text, bit: 300))
    #expect(failed.text.contains(PageText.failed.text(in: .english)))
  }

  @Test("A form that was right goes on where it came from, or says that it is done")
  func passed() throws {
    let site = try PageSite()
    let own = [("Origin", "https://\(Site.host)"), ("Sec-Fetch-Site", "same-origin")]
    func send(_ handle: GateHandle?, _ method: String, _ more: [(String, String)]) throws
      -> PageAnswer
    {
      let subject = try site.site.subject(
        method, site.target, from: handle.map { .app($0) } ?? .address(Site.address))
      let challenge = site.challenges.set(.person, for: subject)
      let puzzle = try #require(SliderPuzzle(challenge, site.site.own[.challenge]))
      return try site.form(
        [
          ("challenge", challenge.text), ("method", method), ("target", site.target),
          ("reading", "\((puzzle.place + 22) / 2)"), ("mark", puzzle.mark), ("script", "no"),
        ] + more, own)
    }
    let back = try send(nil, "GET", [])
    #expect(back.status == 303 && back.field("Location") == site.target && back.code == "right")
    let done = try send(nil, "POST", [])
    #expect(done.status == 200 && done.field("Location") == nil && done.code == "right")
    #expect(done.text.contains(PageText.done.text(in: .english)))
    #expect(done.field("Set-Cookie") != nil)
    let handle = site.site.app.handle
    let name = ("handle", Base64.encode(handle.bytes, .url))
    let state = String(repeating: "s", count: 16)
    let app = try send(handle, "GET", [name, ("loopback", "8080"), ("state", state)])
    #expect(app.status == 303 && app.field("Set-Cookie") == nil)
    let prefix = "http://127.0.0.1:8080/done?state=\(state)&data="
    let data = try #require(app.field("Location"))
    #expect(data.hasPrefix(prefix))
    let text = String(data.dropFirst(prefix.count))
    let held = try site.clearances.check(
      ClearanceField(text, in: .header), for: Site.host, proven: handle, from: Site.address)
    #expect(held.solved == ChallengeKinds(.person))
    // A form for another kind, or with a part missing.
    let work = try site.set(.work, level: 1)
    let values = [
      ("challenge", work.text), ("method", "GET"), ("target", site.target), ("reading", "1"),
      ("mark", "m"),
    ]
    #expect(try site.form(values, own).status == 400)
    for index in values.indices {
      var less = values
      less.remove(at: index)
      #expect(try site.form(less, own).status == 400)
    }
  }

  @Test(
    "A preflight and an answer of an operator's page name its origin, and other paths their methods"
  )
  func methods() throws {
    let site = try PageSite { $0.custom = .address("https://app.example.com/check") }
    let origin = [("Origin", "https://app.example.com")]
    for path in ["answer", "picture", "again"] {
      let preflight = try site.ask("OPTIONS", path, origin)
      #expect(preflight.status == 204 && preflight.code == "preflight")
      #expect(preflight.field("Access-Control-Allow-Origin") == "https://app.example.com")
      #expect(
        preflight.field("Access-Control-Allow-Methods") == "POST"
          && preflight.field("Vary") == "Origin")
      #expect(preflight.field("Access-Control-Allow-Headers") == "content-type")
      let refused = try site.ask("PUT", path)
      #expect(refused.status == 405 && refused.field("Allow") == "POST" && refused.number == "1003")
      let other = try site.ask("OPTIONS", path, [("Origin", "https://x.example")])
      #expect(other.field("Access-Control-Allow-Origin") == nil)
    }
    for path in ["page", "work.js"] {
      let refused = try site.ask("POST", path)
      #expect(refused.status == 405 && refused.field("Allow") == "GET, HEAD")
    }
    #expect(try site.ask("HEAD", "work.js").status == 200)
    #expect(try site.ask("GET", "challenges/x").status == 404)
    let named = try site.ask("POST", "challenges/x")
    #expect(named.status == 405 && named.field("Allow") == "GET")
    #expect(try site.ask("POST", "other").status == 404)
    let script = try site.ask("GET", "work.js")
    #expect(script.body == PackageResources.work_js && script.code == "script")
    #expect(script.field("Content-Type") == "text/javascript; charset=utf-8")
    #expect(script.field("Referrer-Policy") == "same-origin")
    #expect(
      site.handler.answer(PageRequest("GET", "/page", at: Site.host, from: "a")).status == 404)
  }

  @Test("The number and status of each refusal of a challenge")
  func codes() {
    let store = ReplayStoreFailure.unavailable(place: "a", reason: "b")
    for (refusal, code, status) in [
      (.text, .parameter, 400), (.version, .parameter, 400), (.kind, .parameter, 400),
      (.key, .parameter, 400), (.tag, .parameter, 400), (.subject, .parameter, 400),
      (.otherAnswer, .parameter, 400), (.expired, .failed, 410), (.ahead, .failed, 410),
      (.earlier, .failed, 410), (.spent, .failed, 410), (.wrong, .failed, 422),
      (.busy, .system, 503), (.store(store), .system, 503),
    ] as [(ChallengeRefusal, PageCode, Int)] {
      let found = PageCode.of(refusal)
      #expect(found.code == code && found.status == status, "\(refusal)")
    }
    for (status, seconds) in [(429, "3600"), (503, "5"), (400, nil)] as [(Int, String?)] {
      let answer = PageAnswer(problem: status, .system, "A title.")
      #expect(answer.field("Retry-After") == seconds && answer.code == "failed-1002")
      #expect(answer.object["status"] == .number(JSONNumber(Int64(status))))
      #expect(answer.object["title"] == "A title." && answer.reason == "A title.")
    }
  }

  @Test("Weights of accepted languages have up to three decimals, and 16 of a list count")
  func weights() {
    for (accepted, found) in [
      ("de;q=0.1, fr;q=0.2", "fr"), ("de;q=0.02, fr;q=0.1", "fr"), ("de;q=0.10, fr;q=0.1", "de"),
      ("de;q=0.123, fr;q=0.124", "fr"), ("de;q=1.0, fr", "de"), ("de;q=0.5, fr;q=1", "fr"),
      ("de;q=0.1234, fr;q=0.001", "fr"), ("de;q=0., fr;q=0.001", "fr"), ("de;q=0, fr;q=0", "en"),
      ("de;q=.9, fr;q=0.1", "fr"), ("de;Q=0.9, fr;q=0.1", "fr"), ("de ; q=0.9 , fr;q=0.1", "de"),
      ("de;q=0.9;x, fr", "fr"), ("\tde", "de"), ("zh_TW", "zh"), ("d", "en"),
      ("de;q=0x5, fr;q=0.1", "fr"),
      ("de;q=1x, fr;q=0.1", "fr"), (String(repeating: "xx,", count: 15) + "de", "de"),
      (String(repeating: "xx,", count: 16) + "de", "en"),
    ] {
      #expect(PageLanguage(wish: nil, accepted: accepted).rawValue == found, "\(accepted)")
    }
    #expect(PageLanguage.allCases.map(\.direction) == ["ltr", "ltr", "ltr", "ltr", "ltr", "rtl"])
  }

  @Test("A form's values are decoded byte by byte, and markup is filled once")
  func decoding() {
    func values(_ text: String) -> [String: String]? { FormPairs(text.utf8)?.values }
    #expect(values("") == [:] && values("a=b+c&d=%41%7e%4F%aF") == nil)
    #expect(values("a=b+c&d=%41%7e%4F") == ["a": "b c", "d": "A~O"])
    #expect(values("a=!~") == ["a": "!~"] && values("a=b=c") == ["a": "b=c"])
    #expect(values("%C3%BC=%C3%9f") == ["ü": "ß"])
    for bad in [
      "a=%", "a=%4", "a=%g0", "a=%0g", "a= b", "a=ü", "a=\u{7f}", "a=%ff", "&", "a=b&", "a%3Db",
      "=",
    ] {
      #expect(values(bad) == nil, "\(bad)")
    }
    func filled(_ text: String) -> String {
      String(
        decoding: Markup.filled(Array(text.utf8), ["a": "1", "abcdefghijklmnop": "2"]),
        as: UTF8.self)
    }
    for (text, found) in [
      ("{{a}}", "1"), ("x{{a}}y{{a}}", "x1y1"), ("{{a}", "{{a}"), ("{a}}", "{a}}"),
      ("{{b}}", "{{b}}"),
      ("{{abcdefghijklmnop}}", "2"), ("{{abcdefghijklmnopq}}", "{{abcdefghijklmnopq}}"),
      ("{{A}}", "{{A}}"),
      ("{{{a}}}", "{1}"), ("{{a", "{{a"), ("{{", "{{"), ("{{}}", "{{}}"), ("{{a}}}", "1}"),
      ("", ""),
    ] {
      #expect(filled(text) == found, "\(text)")
    }
    #expect(Markup.scriptData("<>&\u{2028}\u{2029}a") == "\\u003c\\u003e\\u0026\\u2028\\u2029a")
  }

  @Test("An origin is https with a host in lower case, of at most 260 bytes")
  func origins() {
    let label = String(repeating: "a", count: 60)
    let long = "https://" + [label, label, label, label, "example"].joined(separator: ".")
    #expect(PageSettings.isOrigin(long + "s") && !PageSettings.isOrigin(long + "ss"))
    #expect(long.utf8.count == 259)
    for (text, isRight) in [
      ("https://a.example", true), ("https://a.example:8443", true), ("https://a-1.example", true),
      ("https://127.0.0.1", true), ("https://A.example", false), ("https://a_b.example", false),
      ("https://a.example:443", false), ("http://a.example", false), ("https://", false),
      ("", false),
    ] {
      #expect(PageSettings.isOrigin(text) == isRight, "\(text)")
    }
    for (address, origin) in [
      ("https://a.example", "https://a.example"), ("https://a.example/b?c", "https://a.example"),
      ("https://a.example?b", "https://a.example"),
      ("https://a.example:8443/", "https://a.example:8443"),
      ("https://a.example/b c", nil), ("https://a.example/\"", nil), ("https://a.example/<", nil),
      ("https://a.example/#b", nil), ("https://a.example/b/c/d", "https://a.example"),
      ("https:/a/b", nil),
      ("https://a.example/\u{7f}", nil), ("https://a.example/~!", "https://a.example"), ("", nil),
    ] as [(String, String?)] {
      #expect(PageSettings.origin(ofAddress: address) == origin, "\(address)")
    }
  }
}
