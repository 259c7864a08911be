// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import ProofRequest
import Testing

@testable import ProofBackend
@testable import ProofGate

/// The parts of a gate's door: demands that stand, documents of refusals field by field, and words
/// for log and metrics.
@Suite struct DoorTests {
  // MARK: Demands

  private func demand(_ moment: UnixTime, until end: UnixTime, level: UInt8 = 1)
    -> DemandTable.Demand
  {
    .init(kind: .work, level: level, moment: moment, end: end)
  }

  @Test("A demand is found by each name of its client, at its host, until its last second")
  func demands() throws {
    let table = DemandTable()
    let handle = try GateSecret.random(generation: 1).keys.handle
    let app = DemandTable.Names(handle, nil, .app(handle))
    let guest = DemandTable.Names(nil, nil, .address("2001:db8::7"))
    let name = "h." + Base64.encode(handle.bytes, .url)
    #expect(app.all == [name] && app.client == nil)
    #expect(guest.all == ["a.2001:db8:0:0"] && guest.client == guest.all[0])
    #expect(table.find(app, at: "a", now: 1) == nil)
    #expect(table.put(demand(10, until: 20), for: name, at: "a", now: 10))
    #expect(table.find(app, at: "a", now: 20)?.moment == 10)
    #expect(table.find(app, at: "b", now: 20) == nil && table.find(guest, at: "a", now: 20) == nil)
    // A later demand replaces an earlier one, and not the other way round.
    #expect(table.put(demand(9, until: 99), for: name, at: "a", now: 10))
    #expect(table.find(app, at: "a", now: 20)?.end == 20 && table.count == 1)
    #expect(table.put(demand(10, until: 21, level: 2), for: name, at: "a", now: 10))
    #expect(table.find(app, at: "a", now: 21)?.level == 2)
    #expect(table.put(demand(11, until: 22, level: 3), for: name, at: "a", now: 10))
    #expect(table.find(app, at: "a", now: 22)?.level == 3)
    #expect(
      table.find(app, at: "a", now: 23) == nil && table.count == 0, "one that ended makes room")
    #expect(DemandTable.countMax == 10_000)
  }

  @Test("A session's name stands before its address, and an app's handle before both")
  func names() throws {
    let site = try Site()
    let challenge = try site.challenges().set(.person, for: site.subject())
    let held = try site.clearances().clearance(for: challenge, site.subject())
    guard case .session(let bytes) = held.holder else {
      Issue.record("no session")
      return
    }
    let session = "s." + Base64.encode(bytes, .url)
    let guest = DemandTable.Names(nil, held, .address(Site.address))
    #expect(guest.all == [session, "a.\(Site.address)"] && guest.client == session)
    let app = DemandTable.Names(site.app.handle, held, .app(site.app.handle))
    #expect(
      app.all == ["h." + Base64.encode(site.app.handle.bytes, .url), session] && app.client == nil)
    let table = DemandTable()
    #expect(table.put(demand(1, until: 5), for: "a.\(Site.address)", at: "a", now: 1))
    #expect(table.put(demand(1, until: 3, level: 2), for: session, at: "a", now: 1))
    #expect(table.find(guest, at: "a", now: 3)?.level == 2)
    #expect(
      table.find(guest, at: "a", now: 4)?.level == 1,
      "the next name counts after the first one's end")
  }

  // MARK: Documents

  private func fields(_ document: RefusalDocument) -> [String: String] {
    Dictionary(document.fields.map { ($0.name, $0.value) }) { one, _ in one }
  }

  @Test(
    "A refusal hands each field on up to its length, and none with other characters",
    arguments: [
      ("Proof-Time", 64), ("Proof-Refusal", 16), ("Proof-Nonce", 128), ("Proof-Reference", 32),
      ("Proof-Challenge", 80), ("Proof-Clearance", 88),
    ])
  func told(_ name: String, _ most: Int) throws {
    let gate = try ForwardSite.needing().gate
    func value(_ text: String) -> String? {
      fields(gate.refusal([("x-proof-status", "401"), ("X-" + name, text)], at: ForwardSite.now))[
        name]
    }
    let longest = String(repeating: "a", count: most)
    #expect(value(longest) == longest && value(longest + "a") == nil && value("") == nil)
    #expect(value("a-Z.0_9~") == "a-Z.0_9~" && value("a b") == nil && value("a\"") == nil)
    let twice = gate.refusal(
      [("x-proof-status", "401"), ("X-" + name, "a"), ("x-" + name, "a")], at: ForwardSite.now)
    #expect(fields(twice)[name] == nil)
  }

  @Test("A status that asks for a pause has one of five seconds, and another status has none")
  func pauses() throws {
    let gate = try ForwardSite.needing().gate
    for (status, shown, isPause) in [
      ("401", 401, false), ("403", 403, false), ("428", 428, false), ("429", 429, true),
      ("503", 503, true), ("200", 503, true), ("500", 503, true), ("x", 503, true),
    ] {
      let document = gate.refusal([("X-Proof-Status", status)], at: ForwardSite.now)
      #expect(document.status == shown)
      #expect(fields(document)["Retry-After"] == (isPause ? "5" : nil), "\(status)")
      #expect(fields(document)["Cache-Control"] == "private, no-store")
      #expect(fields(document)["X-Content-Type-Options"] == "nosniff")
      #expect(document.fields.allSatisfy { $0.name != "Proof-Status" })
    }
  }

  @Test("A browser that shows a page gets one; each program gets problem details")
  func navigations() throws {
    let site = try ForwardSite.needing(style: .forwarded)
    func isPage(_ method: String, _ accept: String) -> Bool {
      let document = site.gate.document(of: site.answer(method, "/search", [("Accept", accept)]))
      let type = fields(document)["Content-Type"]
      #expect(type == "text/html; charset=utf-8" || type == "application/problem+json")
      return type == "text/html; charset=utf-8"
    }
    for method in ["GET", "HEAD", "POST"] { #expect(isPage(method, "text/html")) }
    for method in ["PUT", "DELETE", "PATCH"] { #expect(!isPage(method, "text/html")) }
    for accept in ["TEXT/HTML", "a/b, text/html;q=0.9", "a/b,text/html ;q=1", "  text/html"] {
      #expect(isPage("GET", accept), "\(accept)")
    }
    for accept in ["", "text/htmlx", "text/*", "*/*", "a/b;text/html", "xtext/html"] {
      #expect(!isPage("GET", accept), "\(accept)")
    }
    let origin = [("Origin", "https://www.example.com")]
    let listed = fields(site.gate.document(of: site.answer("GET", "/search", origin)))
    #expect(listed["Access-Control-Allow-Origin"] == "https://www.example.com")
    #expect(listed["Access-Control-Allow-Credentials"] == "true" && listed["Vary"] == "Origin")
    let twice = site.gate.document(of: site.answer("GET", "/search", origin + origin))
    #expect(fields(twice)["Access-Control-Allow-Origin"] == nil)
  }

  @Test("Problem details and page have challenge, kind and reference; links are for a page's kinds")
  func bodies() throws {
    let site = try ForwardSite.needing(style: .forwarded)
    for (path, kind, isLinked) in [
      ("/search", "work", true), ("/memory", "memory", true), ("/person", "person", true),
      ("/token", "token", false),
    ] {
      let answer = site.answer("GET", path)
      let document = site.gate.document(of: answer)
      guard case .object(let object) = try JSONValue(parsing: document.body.span) else {
        Issue.record("no object")
        return
      }
      #expect(object["challenge"] == answer["Proof-Challenge"].map { .string($0) })
      #expect(object["kind"] == .string(kind) && object["reference"] == .string(answer.reference))
      #expect(object["type"] == "about:blank" && object["refusal"] == nil)
      let page = site.gate.document(of: site.answer("GET", path, [("Accept", "text/html")]))
      let text = String(decoding: page.body, as: UTF8.self)
      #expect(text.contains("<a href=") == isLinked && text.contains("http-equiv") == isLinked)
      #expect(text.contains("Reference: <code>"))
    }
    let refused = site.answer("GET", "/x")
    guard
      case .object(let object) = try JSONValue(parsing: site.gate.document(of: refused).body.span)
    else {
      Issue.record("no object")
      return
    }
    #expect(object["challenge"] == nil && object["kind"] == nil && object["status"] == 401)
    #expect(object["refusal"] == refused["Proof-Refusal"].map { .string($0) })
  }

  // MARK: Words

  @Test("Each reason of the door has its word in metrics and its sentence in the log")
  func words() {
    for (refusal, code, words) in [
      (.missing("x-a"), "forward-missing", "did not send x-a"),
      (.repeated("x-a"), "forward-repeated", "x-a came twice"),
      (.encodedLetter, "ambiguous-target", "percent-encodes"), (.scheme("ws"), "scheme", "used ws"),
      (.host("h"), "host", "the host h"),
      (.foreignField("proof-x"), "foreign-field", "sent proof-x"),
      (.bypass, "bypass-refused", "--bypass-file"), (.body("it is short"), "body", "it is short"),
      (.methodOverride("x-m"), "method-override", "sent x-m"),
    ] as [(ForwardRefusal, String, String)] {
      #expect(refusal.code == code && refusal.description.contains(words), "\(refusal)")
    }
    #expect(ForwardGateError.bodyForm.description.contains("--form standard"))
  }

  @Test("A proxy of nginx's kind gets 401 or 403, another one the client's status")
  func statuses() {
    for status in [200, 401, 403, 428, 429, 503] {
      let answer = ForwardAnswer(status: status, fields: [], reference: "r", route: "a")
      #expect(answer.status(for: .forwarded) == status)
      #expect(answer.status(for: .original) == ([200, 403].contains(status) ? status : 401))
    }
  }

  @Test("The fields by which a proxy tells of a request")
  func styles() {
    let style = ForwardStyle.original
    #expect(
      style.told(method: "GET", target: "/a", host: "h").map(\.name) == [
        "x-original-method", "x-original-uri", "x-original-host", "x-original-scheme",
      ])
    #expect(
      ForwardStyle.forwarded.told(method: "GET", target: "/a", host: "h").map(\.name) == [
        "x-forwarded-method", "x-forwarded-uri", "x-forwarded-host", "x-forwarded-proto",
      ])
    #expect(
      style.told(method: "GET", target: "/a", host: "h").map(\.value) == [
        "GET", "/a", "h", "https",
      ])
    #expect(
      ForwardStyle.allCases.map(\.requestID) == ["x-original-request-id", "x-forwarded-request-id"])
  }

  @Test("The set of kinds and its words, levels and lives")
  func kinds() {
    #expect(ChallengeKind.allCases.map(\.rawValue) == [5, 6, 7, 8, 9])
    #expect(ChallengeKind.allCases.map(\.word) == ["token", "proof", "work", "memory", "person"])
    #expect(ChallengeKind.allCases.map(\.life) == [60, 60, 120, 120, 600])
    #expect(ChallengeKind.allCases.map(\.levels) == [0...0, 0...0, 1...24, 1...7, 0...9])
    #expect(ChallengeKinds.all.words == ChallengeKind.allCases.map(\.word))
    #expect(ChallengeKind.allCases.map { ChallengeKinds($0).rawValue } == [1, 2, 4, 8, 16])
    #expect(
      ([ChallengeKinds(.work), ChallengeKinds(.token)] as ChallengeKinds).words == [
        "token", "work",
      ])
  }
}
