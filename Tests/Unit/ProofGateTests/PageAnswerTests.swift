// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofJOSE
import ProofModel
import ProofRequest
import Testing

@testable import ProofGate

/// The answers of pages: single use, tries, origins, types, codes, cookies and forms.
@Suite struct PageAnswerTests {
  private static let own = [("Origin", "https://\(Site.host)"), ("Sec-Fetch-Site", "same-origin")]

  // MARK: Kinds

  @Test("Work that is solved gives a clearance, as JSON and as the cookie")
  func work() throws {
    let site = try PageSite()
    for kind in [ChallengeKind.work, .memoryWork] {
      let challenge = try site.set(kind, level: 1)
      let answer = try site.answer(challenge, try solve(challenge.text).solution)
      #expect(answer.status == 200 && answer.object["expires"] == 900)
      guard case .string(let text) = answer.object["clearance"] else {
        Issue.record("none"); return
      }
      #expect(answer.field("Set-Cookie") == ClearanceField.setCookie(text, for: 900))
      let held = try site.clearances.check(
        ClearanceField(text, in: .cookie), for: Site.host, proven: nil, from: Site.address)
      #expect(held.solved == ChallengeKinds(kind))
      #expect(try site.answer(challenge, try solve(challenge.text).solution).status == 410)
    }
  }

  @Test("A session keeps what it has solved before")
  func keeps() throws {
    let site = try PageSite()
    let work = try site.set(.work, level: 1)
    let cookie = try #require(
      try site.answer(work, try solve(work.text).solution).field("Set-Cookie"))
    let person = try site.set(.person)
    let answer = try site.post(
      "answer", person.text, ["answer": .string(try site.slider(person))],
      [("Cookie", String(cookie.prefix { $0 != ";" }))])
    guard case .string(let text) = answer.object["clearance"] else { Issue.record("none"); return }
    let held = try site.clearances.check(
      ClearanceField(text, in: .cookie), for: Site.host, proven: nil, from: Site.address)
    #expect(held.solved == [ChallengeKinds(.work), ChallengeKinds(.person)])
  }

  @Test("An app's clearance is for its handle, and comes without a cookie")
  func app() throws {
    let site = try PageSite()
    let handle = site.site.app.handle
    let challenge = try site.set(.person, handle)
    let text = try site.slider(challenge)
    #expect(try site.answer(challenge, text).status == 400, "not without the handle")
    let answer = try site.post(
      "answer", challenge.text,
      ["answer": .string(text), "handle": .string(Base64.encode(handle.bytes, .url))])
    #expect(answer.status == 200 && answer.field("Set-Cookie") == nil)
    guard case .string(let held) = answer.object["clearance"] else { Issue.record("none"); return }
    #expect(throws: ClearanceRefusal.handle) {
      try site.clearances.check(
        ClearanceField(held, in: .header), for: Site.host, proven: nil, from: Site.address)
    }
  }

  // MARK: Persons

  @Test("A right answer counts once, and each try uses its challenge up")
  func once() throws {
    let site = try PageSite()
    let challenge = try site.set(.person)
    let right = try site.slider(challenge)
    #expect(try site.answer(challenge, right).status == 200)
    #expect(try site.answer(challenge, right).status == 410)
    let other = try site.set(.person)
    #expect(try site.answer(other, try site.slider(other, off: 6)).status == 422)
    #expect(
      try site.answer(other, try site.slider(other)).status == 410, "the right one comes too late")
  }

  @Test("A session has three tries, and what follows a wrong answer cannot be restarted")
  func session() throws {
    let site = try PageSite()
    var challenge = try site.set(.person)
    for turn in 0..<3 {
      #expect(challenge.level == UInt8(turn))
      let answer = try site.answer(challenge, try site.slider(challenge, off: -6))
      #expect(answer.status == 422 && answer.number == "1001")
      guard turn < 2 else {
        #expect(answer.next == nil)
        break
      }
      challenge = try site.challenges.read(try #require(answer.next), for: try site.subject())
      // Another picture keeps the count of tries, and uses the challenge up.
      let again = try site.post("again", challenge.text)
      guard case .object(let round) = again.object["round"],
        case .string(let id) = round["challenge"]
      else { Issue.record("no round"); return }
      #expect(try site.answer(challenge, try site.slider(challenge)).status == 410)
      challenge = try site.challenges.read(id, for: try site.subject())
    }
  }

  @Test("An address has ten tries in an hour, whatever its sessions")
  func address() throws {
    let site = try PageSite()
    for turn in 0..<12 {
      let challenge = try site.set(.person)
      let answer = try site.answer(challenge, try site.slider(challenge, off: 20))
      #expect(answer.status == (turn < 10 ? 422 : 429))
      if turn >= 10 { #expect(answer.number == "1001" && answer.field("Retry-After") == "3600") }
    }
    let used = site.store.count
    let challenge = try site.set(.person)
    #expect(try site.answer(challenge, try site.slider(challenge)).status == 429)
    #expect(site.store.count == used, "a try beyond the bound costs the store nothing")
  }

  @Test("A picture costs work of its level, once, and a guess without a picture gains nothing")
  func pictures() throws {
    let site = try PageSite { $0.pictureLevel = 4 }
    let challenge = try site.set(.person)
    func picture(_ work: GateChallenge, _ solution: String) throws -> PageAnswer {
      try site.post(
        "picture", challenge.text, ["work": .string(work.text), "answer": .string(solution)])
    }
    let work = try site.set(.work, level: 4)
    let solution = try solve(work.text).solution
    let shown = try picture(work, solution)
    #expect(shown.status == 200)
    guard case .string(let mark) = shown.object["mark"] else { Issue.record("no mark"); return }
    #expect(try picture(work, solution).status == 410)
    let low = try site.set(.work, level: 3)
    #expect(try picture(low, try solve(low.text).solution).status == 400)
    #expect(try picture(try site.set(.work, level: 4), solution).status == 422)
    let before = site.store.count
    let place = try #require(SliderPuzzle(challenge, site.site.own[.challenge])).place
    for text in [
      "slider \(place) \(flipped(mark, bit: 5))", "slider \(place)", "slider \(place) ", "x",
    ] {
      let answer = try site.answer(challenge, text)
      #expect(answer.status == 400 && answer.number == "8002", "\(text)")
    }
    #expect(site.store.count == before)
    #expect(try site.answer(challenge, "slider \(place) \(mark)").status == 200)
  }

  @Test("The way without a picture takes memory work of its level, under the same bounds")
  func withoutPicture() throws {
    let site = try PageSite { $0.longLevel = 2 }
    func answer(_ level: UInt8, _ kind: ChallengeKind = .memoryWork) throws -> Int {
      let (challenge, work) = (try site.set(.person), try site.set(kind, level: level))
      return try site.answer(challenge, "work \(work.text) \(try solve(work.text).solution)").status
    }
    #expect(try answer(2) == 200)
    #expect(try answer(1) == 422, "a lower level")
    #expect(try answer(3, .work) == 422, "another kind")
    let (challenge, work) = (try site.set(.person), try site.set(.memoryWork, level: 2))
    let solution = try solve(work.text).solution
    #expect(try site.answer(challenge, "work \(work.text) \(solution)").status == 200)
    #expect(
      try site.answer(try site.set(.person), "work \(work.text) \(solution)").status == 422, "used")
    for turn in 5..<12 {
      #expect(
        try site.answer(try site.set(.person), "work \(work.text) AAAA").status
          == (turn < 10 ? 422 : 429))
    }
  }

  // MARK: Doors

  @Test("A POST of another origin, type or form is refused before anything is used up")
  func doors() throws {
    let site = try PageSite()
    let challenge = try site.set(.person)
    let right: JSONObject = ["answer": .string(try site.slider(challenge))]
    for fields in [
      [("Origin", "https://evil.example")], [("Origin", "null")],
      [("Origin", "http://\(Site.host)")],
      [("Origin", "https://\(Site.host).evil.example")], [("Sec-Fetch-Site", "cross-site")],
      [("Sec-Fetch-Site", "same-site")],
      [("Origin", "https://\(Site.host)"), ("Sec-Fetch-Site", "cross-site")],
      Self.own + [("Origin", "https://evil.example")],
    ] {
      let answer = try site.post("answer", challenge.text, right, fields)
      #expect(answer.status == 403 && answer.number == "1003", "\(fields)")
    }
    for type in ["text/plain", "application/json; charset=latin1", "application/jsonp", ""] {
      let answer = try site.ask("POST", "answer", [("Content-Type", type)], body: "{}")
      #expect(answer.status == 415, "\(type)")
    }
    for body in [
      "", "[]", "{}", "{\"challenge\":1}", "{\"challenge\":\"\(challenge.text)\"}", "{\"a\":\"b\"}",
    ] {
      let answer = try site.ask(
        "POST", "answer", [("Content-Type", "application/json")], body: body)
      #expect(answer.status == 400 && answer.number == "1003", "\(body)")
    }
    #expect(try site.post("answer", challenge.text, ["answer": "x", "other": "y"]).status == 400)
    #expect(try site.ask("GET", "answer").status == 405 && site.ask("GET", "other").status == 404)
    let long = String(repeating: "x", count: PageHandler.bodyMax + 1)
    #expect(
      try site.ask("POST", "answer", [("Content-Type", "application/json")], body: long).status
        == 413)
    #expect(try site.post("answer", challenge.text, right, [], from: "192.0.2.77").status == 400)
    site.store.isFailing = true
    let busy = try site.post("answer", challenge.text, right, Self.own)
    #expect(busy.status == 503 && busy.number == "1002")
    site.store.isFailing = false
    #expect(try site.post("answer", challenge.text, right, Self.own).status == 200)
  }

  @Test(
    "A form without script needs the origin, and sends the person back, wrong ones to another picture"
  )
  func forms() throws {
    let site = try PageSite()
    let challenge = try site.set(.person)
    let plain = try site.page(challenge.text, "&script=no&return=%2Fback")
    #expect(plain.status == 200 && !plain.text.contains("<script"))
    #expect(plain.field("Content-Security-Policy")?.contains("script-src") == false)
    let puzzle = try #require(SliderPuzzle(challenge, site.site.own[.challenge]))
    func values(_ reading: Int, _ challenge: String, _ mark: String) -> [(String, String)] {
      [
        ("challenge", challenge), ("method", "GET"), ("target", site.target), ("return", "/back"),
        ("reading", "\(reading)"), ("mark", mark), ("script", "no"),
      ]
    }
    let reading = (puzzle.place + 22) / 2
    let right = values(reading, challenge.text, puzzle.mark)
    for fields in [[], [("Origin", "null")], [("Origin", "https://evil.example")]]
      as [[(String, String)]]
    {
      #expect(try site.form(right, fields).status == 403)
    }
    let answer = try site.form(right, Self.own)
    #expect(answer.status == 303 && answer.field("Location") == "/back")
    #expect(answer.field("Set-Cookie")?.hasPrefix("__Host-proof-clearance=") == true)
    #expect(try site.form(right, Self.own).status == 410)
    let other = try site.set(.person)
    let mark = try #require(SliderPuzzle(other, site.site.own[.challenge])).mark
    let wrong = try site.form(values(0, other.text, mark), Self.own)
    #expect(wrong.status == 422 && wrong.text.contains("<form method=\"post\""))
    #expect(!wrong.text.contains(other.text), "another challenge")
  }

  // MARK: Requests

  @Test("A request that a proxy passes on needs its lines, once each, and https")
  func lines() throws {
    func read(_ lines: [(String, String)]) -> Result<PageRequest, ForwardRefusal> {
      Result { () throws(ForwardRefusal) in
        try PageRequest(
          "GET", "/x", lines.map { (name: $0.0, value: $0.1) }, body: [], from: "192.0.2.1",
          in: .original)
      }
    }
    let good = [
      ("X-Original-Host", "API.example.com:443"), ("X-Original-Scheme", "https"), ("Accept", "*/*"),
    ]
    #expect(try read(good).get().authority == "api.example.com")
    for bad in [
      [], [good[0]], [good[1]], [good[0], ("X-Original-Scheme", "http")], good + [good[0]],
      good + [("X_Original_Host", "evil.example")], [("X-Original-Host", "a b"), good[1]],
    ] {
      if case .success = read(bad) { Issue.record("\(bad)") }
    }
  }
}
