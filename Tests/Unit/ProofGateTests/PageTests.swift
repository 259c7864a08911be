// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofJOSE
import ProofModel
import ProofRequest
import Testing

@testable import ProofGate

/// A handler of a gate's page, and requests to it.
struct PageSite {
  let site: Site
  let handler: PageHandler
  let challenges: ChallengeDesk
  let clearances: ClearanceDesk
  let store = SharedStore()
  let target = "/pay?to=7"

  init(_ change: (inout PageSettings) -> Void = { _ in }, bounds: PersonBounds = PersonBounds())
    throws
  {
    site = try Site()
    challenges = try site.challenges(store)
    clearances = try site.clearances(store)
    var settings = PageSettings()
    settings.pictureLevel = 1
    settings.longLevel = 1
    change(&settings)
    handler = PageHandler(
      settings, own: site.own, challenges, clearances, bounds, clock: site.clock.clock)
  }

  func subject(_ handle: GateHandle? = nil, from address: String = Site.address) throws
    -> ChallengeSubject
  {
    try site.subject("GET", target, from: handle.map { .app($0) } ?? .address(address))
  }

  func set(
    _ kind: ChallengeKind, level: UInt8 = 0, _ handle: GateHandle? = nil, life: UInt32? = nil
  ) throws -> GateChallenge {
    challenges.set(kind, level: level, for: try subject(handle), life: life)
  }

  func ask(
    _ method: String, _ path: String, _ fields: [(String, String)] = [], body: String = "",
    from address: String = Site.address
  ) throws -> PageAnswer {
    handler.answer(
      PageRequest(
        method, PageHandler.folder + path, at: Site.host, from: address,
        fields: try HeaderFields(fields.map { (name: $0.0, value: $0.1) }), body: Array(body.utf8)))
  }

  func page(_ challenge: String, _ more: String = "", _ fields: [(String, String)] = []) throws
    -> PageAnswer
  {
    let query = "challenge=\(challenge)&method=GET&target=\(FormPairs.encoded(target))"
    return try ask("GET", "page?\(query)\(more)", fields)
  }

  func post(
    _ path: String, _ challenge: String, _ members: JSONObject = [:],
    _ fields: [(String, String)] = [], from address: String = Site.address
  ) throws -> PageAnswer {
    var object = members
    object["challenge"] = .string(challenge)
    object["method"] = "GET"
    object["target"] = .string(target)
    return try ask(
      "POST", path, [("Content-Type", "application/json")] + fields,
      body: JSONValue.object(object).text, from: address)
  }

  func answer(_ challenge: GateChallenge, _ text: String) throws -> PageAnswer {
    try post("answer", challenge.text, ["answer": .string(text)])
  }

  /// The right answer of a person, with the mark.
  func slider(_ challenge: GateChallenge, off: Int = 0) throws -> String {
    let puzzle = try #require(SliderPuzzle(challenge, site.own[.challenge]))
    return "slider \(puzzle.place + off) \(puzzle.mark)"
  }

  func form(_ values: [(String, String)], _ fields: [(String, String)]) throws -> PageAnswer {
    let body = values.map { "\($0.0)=\(FormPairs.encoded($0.1))" }.joined(separator: "&")
    return try ask(
      "POST", "answer", [("Content-Type", "application/x-www-form-urlencoded")] + fields, body: body
    )
  }
}

extension PageAnswer {
  var object: JSONObject {
    if case .object(let object) = try? JSONValue(parsing: body.span) { object } else { [:] }
  }
  var text: String { String(decoding: body, as: UTF8.self) }
  func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
  var number: String? { if case .string(let text) = object["code"] { text } else { nil } }
  /// The next challenge.
  var next: String? { if case .string(let text) = object["challenge"] { text } else { nil } }
}

@Suite struct PageTests {
  // MARK: The document

  @Test(
    "A document lets nothing in: policy with a nonce of its own, no store, no frame, no other origin"
  )
  func policy() throws {
    let site = try PageSite()
    let challenge = try site.set(.person)
    let (one, two) = (try site.page(challenge.text), try site.page(challenge.text))
    let policy = try #require(one.field("Content-Security-Policy"))
    #expect(one.status == 200 && policy != two.field("Content-Security-Policy"))
    #expect(policy.contains("default-src 'none'") && policy.contains("base-uri 'none'"))
    #expect(policy.hasSuffix("frame-ancestors 'none'") && !policy.contains("unsafe"))
    #expect(one.field("X-Frame-Options") == "DENY" && one.field("Cache-Control") == "no-store")
    #expect(one.field("X-Content-Type-Options") == "nosniff")
    #expect(!one.text.contains("{{"), "a place was left")
    #expect(!one.text.contains("https://") && !one.text.contains("src=\"http"))
    #expect(!one.text.contains(" onclick") && !one.text.contains("style="))
    let listed = try PageSite { $0.origins = ["https://app.example.com"] }
    let other = try listed.page(try listed.set(.work, level: 3).text)
    let frames = try #require(other.field("Content-Security-Policy"))
    #expect(frames.hasSuffix("frame-ancestors https://app.example.com"))
    #expect(other.field("X-Frame-Options") == nil)
  }

  @Test("No value of the address becomes markup, script or a header")
  func injection() throws {
    let site = try PageSite { $0.origins = ["https://app.example.com"] }
    let bad = "\"'><script>alert(1)</script>{{data}}\u{2028}&"
    let target = "/x?\(FormPairs.encoded("</script><!--"))"
    for name in [
      "challenge", "method", "target", "handle", "layout", "language", "return",
      "dismissible", "origin", "loopback", "state", "script", "other",
    ] {
      let answer = try site.page(try site.set(.person).text, "&\(name)=\(FormPairs.encoded(bad))")
      #expect(answer.status == 400, "\(name)")
      #expect(!answer.text.contains("alert(1)"), "\(name)")
    }
    // A target with markup is a request's own right: it is data in JSON, and escaped in forms.
    let raw = "/a?b=</script><script>alert(1)//"
    if let subject = try? site.site.subject("GET", raw) {
      let challenge = site.challenges.set(.person, for: subject)
      for more in ["", "&script=no"] {
        let answer = try site.ask(
          "GET",
          "page?challenge=\(challenge.text)&method=GET&target=\(FormPairs.encoded(raw))\(more)")
        #expect(answer.status == 200 && !answer.text.contains("<script>alert"))
      }
    }
    #expect(Markup.escaped("<a b='\"&'>") == "&lt;a b=&#39;&quot;&amp;&#39;&gt;")
    #expect(Markup.scriptData("</script>\u{2028}&") == "\\u003c/script\\u003e\\u2028\\u0026")
    #expect(
      Markup.filled(Array("{{a}}{{b}}{{c}}".utf8), ["a": "{{b}}", "b": "1"])
        == Array("{{b}}1{{c}}".utf8))
    #expect(target.utf8.count < 99)
  }

  @Test("A page goes on to a path of its own host alone")
  func returns() throws {
    let site = try PageSite()
    for bad in [
      "//evil.example", "/\\evil.example", "https://evil.example", "evil", "/a\\b", "/a b", "/a\nb",
      "javascript:alert(1)", "", "/\t/evil.example", "/.well-known/proofkit/page", "/ü",
    ] {
      #expect(!PageWish.isLocal(bad), "\(bad)")
      let answer = try site.page(try site.set(.person).text, "&return=\(FormPairs.encoded(bad))")
      #expect(answer.status == 400, "\(bad)")
    }
    #expect(PageWish.isLocal("/") && PageWish.isLocal("/a?b=//c#d"))
    let handle = Base64.encode(site.site.app.handle.bytes, .url)
    let state = String(repeating: "s", count: 16)
    for bad in ["80", "99999", "08080", "8080@evil", "1e4", "-8080"] {
      let more = "&handle=\(handle)&loopback=\(FormPairs.encoded(bad))&state=\(state)"
      #expect(
        try site.page(try site.set(.person, site.site.app.handle).text, more).status == 400,
        "\(bad)")
    }
    let good = "&loopback=8080&state=\(state)"
    #expect(try site.page(try site.set(.person).text, good).status == 400, "an app's alone")
    let app = try site.set(.person, site.site.app.handle)
    let answer = try site.page(app.text, good + "&handle=\(handle)")
    #expect(answer.status == 200 && answer.text.contains("\"port\":8080"))
    #expect(
      answer.field("Content-Security-Policy")?.contains("form-action 'self' http://127.0.0.1:8080;")
        == true)
  }

  @Test("A result goes to a listed origin alone")
  func origins() throws {
    let site = try PageSite { $0.origins = ["https://app.example.com"] }
    for (origin, status) in [
      ("https://app.example.com", 200), ("https://\(Site.host)", 200),
      ("https://evil.example", 400),
      ("https://app.example.com.evil.example", 400), ("*", 400), ("null", 400),
      ("http://app.example.com", 400),
    ] {
      let answer = try site.page(
        try site.set(.work, level: 1).text, "&origin=\(FormPairs.encoded(origin))")
      #expect(answer.status == status, "\(origin)")
    }
    for text in [
      "https://", "https://a/", "https://A.example", "https://a.example:443", "https://a b",
      "https://a.example\n", "https://u@a.example", "https://a;b",
    ] { #expect(!PageSettings.isOrigin(text), "\(text)") }
  }

  @Test("The language is the wished one, else the accepted one of the highest weight, else English")
  func languages() {
    for (wish, accepted, found) in [
      (nil, nil, "en"), ("ar", "de", "ar"), ("cn", nil, "zh"), ("zh-Hant-TW", nil, "zh"),
      ("xx", "fr-CH", "fr"),
      (nil, "xx, es;q=0.5, de;q=0.7", "de"), (nil, "de;q=0, fr;q=0.001", "fr"),
      (nil, "de;q=2, es;q=", "en"),
      (nil, "AR", "ar"), (nil, ";;,,q=1", "en"),
    ] as [(String?, String?, String)] {
      #expect(
        PageLanguage(wish: wish, accepted: accepted).rawValue == found,
        "\(wish ?? "") \(accepted ?? "")")
    }
    for language in PageLanguage.allCases {
      for text in PageText.allCases {
        let words = text.text(in: language)
        #expect(!words.isEmpty && Markup.escaped(words) == words, "\(language) \(text)")
      }
    }
  }

  @Test("A challenge that does not count gives a page that says so, with its code")
  func refused() throws {
    let site = try PageSite()
    let challenge = try site.set(.person)
    func code(_ answer: PageAnswer) -> String { "\(answer.status) \(answer.code)" }
    #expect(code(try site.page(flipped(challenge.text, bit: 300))) == "400 failed-1003")
    #expect(code(try site.page(try site.set(.proof).text)) == "404 failed-1003")
    #expect(
      code(try site.page(try site.set(.person, site.site.app.handle).text)) == "400 failed-1003")
    site.site.clock.now += 601
    #expect(code(try site.page(challenge.text)) == "410 failed-1001")
    #expect(code(try site.ask("GET", "page?challenge=x")) == "400 failed-1003")
  }

  @Test("A form has 16,384 bytes and 24 values at most, each once")
  func forms() {
    func isForm(_ text: String) -> Bool { FormPairs(text.utf8) != nil }
    let long = "a=" + String(repeating: "b", count: 16_382)
    #expect(isForm(long) && !isForm(long + "b"))
    let many = (1...24).map { "a\($0)=" }.joined(separator: "&")
    #expect(isForm(many) && !isForm(many + "&b="))
    #expect(isForm("a=1&b=1") && !isForm("a=1&a=1") && !isForm("=1") && !isForm("a"))
  }

  @Test("The worker's script is kept for a day, a preflight for ten minutes, a page never")
  func caches() throws {
    let site = try PageSite { $0.custom = .address("https://app.example.com/check") }
    #expect(try site.ask("GET", "work.js").field("Cache-Control") == "public, max-age=86400")
    let origin = [("Origin", "https://app.example.com")]
    let preflight = try site.ask("OPTIONS", "answer", origin)
    #expect(preflight.field("Access-Control-Max-Age") == "600")
    #expect(preflight.field("Cache-Control") == "no-store")
  }

  @Test("Each text that the page's script shows is in its data", arguments: PageLanguage.allCases)
  func texts(_ language: PageLanguage) throws {
    let site = try PageSite { $0.custom = .document(Array("{{data}}".utf8)) }
    let answer = try site.page(try site.set(.work, level: 3).text, "&language=\(language.rawValue)")
    guard case .object(let texts) = answer.object["texts"] else {
      Issue.record("no texts")
      return
    }
    let script = String(decoding: PackageResources.page_js, as: UTF8.self)
    let names = Set(script.matches(of: /\btexts\.([a-z]+)/).map { String($0.output.1) })
    #expect(names.count > 10)
    for name in names {
      let text = try #require(PageText(rawValue: name)).text(in: language)
      #expect(!text.isEmpty && texts[name] == .string(text), "\(name)")
    }
  }

  @Test("The document and the id of a challenge have the place nowhere")
  func leak() throws {
    let site = try PageSite()
    var (named, all) = (0, 0)
    for _ in 0..<40 {
      let challenge = try site.set(.person)
      let puzzle = try #require(SliderPuzzle(challenge, site.site.own[.challenge]))
      let answer = try site.page(challenge.text)
      all += 1
      // The same document for another place: apart from ids and nonce, no byte differs.
      let other = try site.page(try site.set(.person).text)
      if answer.body.count != other.body.count { named += 1 }
      #expect(!answer.text.contains("\"place\"") && !answer.text.contains(puzzle.mark))
    }
    #expect(named == 0 && all == 40)
  }

  @Test("An operator's page gets nonce and data, or the browser is sent to its address")
  func custom() throws {
    let own = try PageSite {
      $0.custom = .document(Array("<p nonce={{nonce}}>{{data}}{{other}}".utf8))
    }
    let challenge = try own.set(.person)
    let answer = try own.page(challenge.text)
    #expect(answer.text.contains(challenge.text) && answer.text.contains("{{other}}"))
    #expect(answer.field("Content-Security-Policy")?.contains("script-src 'nonce-") == true)
    let sent = try PageSite { $0.custom = .address("https://app.example.com/check?a=b") }
    let id = try sent.set(.person).text
    let there = try sent.page(id)
    #expect(there.status == 302)
    #expect(
      there.field("Location")?.hasPrefix("https://app.example.com/check?a=b&challenge=\(id)&")
        == true)
    let origin = [("Origin", "https://app.example.com"), ("Sec-Fetch-Site", "cross-site")]
    let asked = try sent.post("answer", id, ["answer": "slider 1 x"], origin)
    #expect(
      asked.status == 400 && asked.field("Access-Control-Allow-Origin") == "https://app.example.com"
    )
    #expect(try sent.ask("OPTIONS", "answer", origin).status == 204)
    #expect(try own.ask("OPTIONS", "answer", origin).status == 405)
    for text in ["http://a.example/", "https:///x", "https://a.example\\@b", "javascript:x", "//a"]
    {
      #expect(PageSettings.origin(ofAddress: text) == nil, "\(text)")
    }
  }
}
