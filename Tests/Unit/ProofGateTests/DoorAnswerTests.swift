// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend
@testable import ProofGate

/// Each kind of answer has its reference and the name of its rule, in answer, field and verdict.
@Suite struct DoorAnswerTests {
  private static let rules = """
    route open
      path /open
      need none
    route watched
      path /watched
      need proof
      mode watch
    route limited
      path /limited
      need none
      limit address 1/hour
    route rest
      path /*
      need proof
      young none
    """

  private static func site() throws -> ForwardSite {
    let line = BypassFile.line(for: "secret", named: "on-call", until: ForwardSite.now + 60)
    return try ForwardSite(rules, bypass: BypassFile(Array(line.utf8)))
  }

  /// Expects a pass whose verdict has reference and rule of the answer.
  private func expectPass(
    _ site: ForwardSite, _ answer: ForwardAnswer, _ path: String, code: String, route: String
  ) throws {
    #expect(answer.status == 200 && answer.code == code && answer.route == route)
    #expect(answer.reference.utf8.count == 22 && answer["Proof-Reference"] == nil)
    let verdict = try #require(try site.verdict(answer, "GET", path))
    #expect(verdict.reference == answer.reference && verdict.rule == route)
    #expect(verdict.passes && verdict.moment == ForwardSite.now)
  }

  /// Expects a refusal with the reference of the answer.
  private func expectRefusal(_ answer: ForwardAnswer, _ status: Int, code: String, route: String) {
    #expect(answer.status == status && answer.code == code && answer.route == route)
    #expect(answer.reference.utf8.count == 22 && answer["Proof-Verdict"] == nil)
    #expect(answer["Proof-Reference"] == answer.reference && !answer.isWatched)
    #expect(answer["Proof-Status"] == "\(status)" && answer.reason?.isEmpty == false)
  }

  @Test("A request that passes has one reference and rule, in its answer and in its verdict")
  func passes() throws {
    let site = try Self.site()
    try expectPass(site, site.answer("GET", "/open"), "/open", code: "unjudged", route: "open")
    try expectPass(
      site, site.answer("GET", "/open", [("Proof-Bypass", "secret")]), "/open", code: "bypass",
      route: "open")
    try expectPass(
      site, site.answer("GET", "/x", try site.proven("GET", "/x")), "/x", code: "passed",
      route: "rest")
    let watched = site.answer("GET", "/watched")
    #expect(watched.isWatched)
    try expectPass(site, watched, "/watched", code: "request-1", route: "watched")
  }

  @Test("A request that is refused has one reference, in its answer and in the field")
  func refusals() throws {
    let site = try Self.site()
    expectRefusal(
      site.answer("GET", "/open", [("X-HTTP-Method-Override", "PUT")]), 403,
      code: "method-override", route: "open")
    expectRefusal(
      site.answer("GET", "/open", [("Proof-Bypass", "other")]), 403, code: "bypass-refused",
      route: "open")
    expectRefusal(site.answer("GET", "/x"), 401, code: "request-1", route: "rest")
    #expect(site.answer("GET", "/limited").status == 200)
    expectRefusal(site.answer("GET", "/limited"), 429, code: "limit-address", route: "limited")
    expectRefusal(
      site.answer("GET", "/open", host: "x.example"), 403, code: "host", route: "unmatched")
    expectRefusal(
      site.answer("GET", "/open", [("Proof-Verdict", "x")]), 403, code: "foreign-field",
      route: "unmatched")
    let references = (0..<50).map { _ in site.answer("GET", "/x").reference }
    #expect(Set(references).count == 50)
  }

  @Test("A gate that watches all lets what it cannot read pass without a verdict")
  func watchesAll() throws {
    let site = try ForwardSite(Self.rules, watchesAll: true)
    let answer = site.answer("GET", "/open", host: "x.example")
    #expect(answer.status == 200 && answer.isWatched && answer.fields.isEmpty)
    #expect(answer.code == "host" && answer.route == "unmatched")
    #expect(answer.reference.utf8.count == 22)
  }

  @Test("A page's request has method, target, host, address, fields and body of the client")
  func pageRequests() throws {
    let lines: [ForwardSite.Line] = [
      ("X-Original-Host", "API.example.com"), ("X-Original-Scheme", "https"), ("Accept", "a/b"),
      ("X-Other", "c"),
    ]
    let request = try PageRequest(
      "POST", "/a?b=c?d", lines, body: [1, 2], from: "192.0.2.1", in: .original)
    #expect(request.method == "POST" && request.target == "/a?b=c?d")
    #expect(request.authority == "api.example.com" && request.address == "192.0.2.1")
    #expect(request.path == "/a" && request.query == "b=c?d" && request.body == [1, 2])
    #expect(request.proven == nil && request.fields.fields.map(\.name) == ["accept", "x-other"])
    #expect(request.value(of: "accept") == "a/b" && request.value(of: "x-none") == nil)
    let bare = PageRequest("GET", "/a", at: "h", from: "b")
    #expect(bare.query.isEmpty && bare.path == "/a" && bare.body.isEmpty)
    #expect(PageRequest("GET", "/a?", at: "h", from: "b").query.isEmpty)
  }

  /// The lengths of a question's parts have eight bytes, so that no line can hold two others.
  @Test("A line of 256 bytes more is another question than the lines that it has inside")
  func lengths() {
    let id = (name: "x-original-request-id", value: String(repeating: "a", count: 16))
    let filler = String(repeating: "f", count: 125)
    let inner = "\u{1}m\u{7d}" + filler
    let one = SecondQuestions.name(
      of: [id, (name: "n", value: "v" + inner + inner)], from: nil, .original)
    let three = SecondQuestions.name(
      of: [id, (name: "n", value: "v"), (name: "m", value: filler), (name: "m", value: filler)],
      from: nil, .original)
    #expect(one != nil && three != nil && one != three)
  }
}
