// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

@Suite("A challenge at its bounds")
struct ChallengeBoundTests {
  private static func refusal(_ id: String) -> String? {
    do throws(ChallengeError) {
      _ = try GateClient.Challenge(id)
      return nil
    } catch {
      guard case .malformed(let reason) = error else { return "\(error)" }
      return reason
    }
  }

  @Test("each kind has the levels of docs/SPEC.md, and a reason for each other one")
  func levels() throws {
    let kinds: [(UInt8, GateClient.Challenge.Kind, ClosedRange<UInt8>)] = [
      (5, .token, 0...0), (6, .proof, 0...0), (7, .work, 1...24), (8, .memoryWork, 1...7),
      (9, .person, 0...0),
    ]
    #expect(GateClient.Challenge.Kind.allCases == kinds.map(\.1))
    for (number, kind, levels) in kinds {
      for level in UInt8(0)...40 {
        let id = challengeID(number, level: level)
        let expected = levels.contains(level) ? nil : "its level is \(level)"
        #expect(Self.refusal(id) == expected, "\(kind) \(level)")
        guard expected == nil else { continue }
        let read = try GateClient.Challenge(id)
        #expect(read.kind == kind && read.level == level && read.id == id)
        #expect(read.needsPerson == (kind == .person))
      }
    }
    for number in [0, 4, 10, 15] as [UInt8] {
      #expect(Self.refusal(challengeID(number)) == "its kind is \(number)")
    }
  }

  @Test("an id has a length, a version, a byte of zero, and an expiry in little-endian")
  func form() throws {
    func id(_ change: (inout [UInt8]) -> Void) -> String {
      var bytes: [UInt8] = [0x16, 1, 0, 0] + [UInt8](repeating: 7, count: 56)
      change(&bytes)
      return Base64.encode(bytes, .url)
    }
    let length = "it is not 80 characters of base64url"
    #expect(Self.refusal(id { _ in }) == nil)
    #expect(Self.refusal("") == length && Self.refusal(id { $0.removeLast(3) }) == length)
    #expect(Self.refusal(id { $0 += [0, 0, 0] }) == length)
    #expect(Self.refusal(String(repeating: "*", count: 80)) == length)
    for version in [0, 2, 15] as [UInt8] {
      #expect(Self.refusal(id { $0[0] = version << 4 | 6 }) == "its version is \(version)")
    }
    #expect(Self.refusal(id { $0[3] = 1 }) == "its level is 0")
    let place = ChallengeWire.expiryAt
    let read = try GateClient.Challenge(
      id { $0.replaceSubrange(place..<place + 4, with: [1, 2, 3, 4]) })
    #expect(read.expiry == 0x0403_0201 && place == 4)
  }

  @Test("a body of 4 KiB and cookies of 16 KiB are read, and longer ones are not")
  func lengths() throws {
    let id = challengeID(6)
    func found(body count: Int) throws -> Bool {
      let text = #"{"status":428,"challenge":"\#(id)"}"#
      let body = Array(text.utf8) + [UInt8](repeating: 0x20, count: count - text.utf8.count)
      return try GateClient.challenge(body: body)?.id == id
    }
    #expect(try found(body: 4_096) && !found(body: 4_097))
    func found(cookies count: Int) throws -> Bool {
      let text = "proof-challenge=\(id);"
      let cookies = text + String(repeating: "a", count: count - text.utf8.count)
      return try GateClient.challenge(cookies: cookies)?.id == id
    }
    #expect(try found(cookies: 16_384) && !found(cookies: 16_385))
    // The first cookie of the name decides; the body is read if it holds no challenge.
    let body = Array(#"{"status":428,"challenge":"\#(challengeID(9))"}"#.utf8)
    let both = try GateClient.challenge(
      cookies: "proof-challenge=x;proof-challenge=\(id)", body: body)
    #expect(both?.kind == .person)
    #expect(
      try GateClient.challenge(cookies: "proof-challenge=\(id)", body: body)?.kind == .proof)
  }

  @Test("a page's message of 4 KiB is read, and a longer one is not")
  func messages() {
    func message(_ count: Int) -> String {
      let text = #"{"success":{"data":"x"}}"#
      return text + String(repeating: " ", count: count - text.utf8.count)
    }
    #expect(ChallengePage.result(of: message(4_096)) == .success("x"))
    #expect(ChallengePage.result(of: message(4_097)) == nil)
  }

  @Test("settings and times are those of the page, unless the app sets others")
  func defaults() {
    let settings = ChallengeSettings()
    #expect(settings.workLevelMax == 18 && settings.memoryWorkLevelMax == 4)
    #expect(settings.threadCount == 2 && settings.presenter == nil)
    #expect(settings.page == ChallengePage.Options())
    #expect(settings.page.layout == .popUp && settings.page.isDismissible)
    #expect(settings.page.language == nil && settings.page.page == nil)
    let own = ChallengeSettings(
      page: .init(layout: .embedded, isDismissible: false, language: "de", page: "https://a/"),
      workLevelMax: 3, memoryWorkLevelMax: 2, threadCount: 7)
    #expect(own.workLevelMax == 3 && own.memoryWorkLevelMax == 2 && own.threadCount == 7)
    #expect(own.page.layout == .embedded && !own.page.isDismissible)
    #expect(own.page.language == "de" && own.page.page == "https://a/")
    #expect(ChallengeTimes.page == .seconds(660) && ChallengeTimes.share == .seconds(20))
  }

  @Test("each error says what failed, with its value")
  func texts() {
    let texts: [(ChallengeError, String)] = [
      (.malformed(reason: "its kind is 4"), "its kind is 4"), (.unknownName("login"), "login"),
      (.tooHard(level: 9, allowed: 4), "level 9; this client solves up to 4"),
      (.rejected(status: 403), "status 403"), (.page(.network), "\(PresenterError.network)"),
      (.outOfMemory, "memory"), (.presenterMissing, "BrowserPresenter"),
      (.bodyNotRepeatable, "body"),
    ]
    for (error, text) in texts { #expect(error.description.contains(text), "\(error)") }
    for error in PresenterError.allCases { #expect(error.description.hasSuffix(".")) }
    #expect(Set(PresenterError.allCases.map(\.description)).count == PresenterError.allCases.count)
  }

  @Test("a clearance counts until two seconds before its end, and for an hour at most")
  func clearances() throws {
    let handle = try GateHandle([UInt8](repeating: 4, count: 16))
    func bytes(_ seconds: UInt32, flags: [UInt8] = [1, 0]) -> [UInt8] {
      var bytes: [UInt8] = [0x1A, 1, 4, 3] + flags
      bytes += (0..<4).map { UInt8(truncatingIfNeeded: seconds >> ($0 * 8)) }
      bytes += [UInt8](repeating: 0, count: 8)
      bytes += Digest(hashing: Array("pfc1.host.......a.example".utf8)).bytes.prefix(16)
      return bytes + handle.bytes + [UInt8](repeating: 5, count: 16)
    }
    func held(_ bytes: [UInt8], _ host: String = "a.example") -> Clearances.Held? {
      Clearances.Held(Base64.encode(bytes, .url), for: host, handle, 1_000, .seconds(50))
    }
    for (expiry, life) in [
      (1_003, 1), (1_900, 898), (4_599, 3_597), (4_600, 3_598), (9_000, 3_598),
    ]
      as [(UInt32, Int64)]
    {
      #expect(held(bytes(expiry))?.end == .seconds(50 + life))
    }
    #expect(held(bytes(1_002)) == nil && held(bytes(1_000)) == nil && held(bytes(0)) == nil)
    #expect(held(bytes(1_900, flags: [1, 1])) == nil && held(bytes(1_900, flags: [3, 0])) == nil)
    #expect(held(bytes(1_900), "b.example") == nil)
    // A clearance that is no app's is bound by the host alone.
    var person = bytes(1_900, flags: [0, 0])
    person.replaceSubrange(34..<50, with: [UInt8](repeating: 9, count: 16))
    #expect(held(person) != nil)
    person[4] = 1
    #expect(held(person) == nil)
    var clearances = Clearances()
    let first = try #require(held(bytes(1_900)))
    let second = try #require(held(bytes(1_901)))
    clearances.take(first, for: "a.example")
    clearances.take(second, for: "a.example")
    #expect(clearances.text(for: "a.example", at: .seconds(948)) == second)
    #expect(clearances.text(for: "b.example", at: .seconds(50)) == nil)
    #expect(clearances.text(for: "a.example", at: .seconds(949)) == nil)
    #expect(clearances.text(for: "a.example", at: .seconds(50)) == nil)
    clearances.take(first, for: "a.example")
    clearances.drop()
    #expect(clearances.text(for: "a.example", at: .seconds(50)) == nil)
  }

  @Test("names of challenges have 1 to 64 letters, digits, dots, hyphens and underscores")
  func names() throws {
    let stage = try GateStage()
    let api = ScriptedAPI { _, _ in TransportResponse(status: 404, body: []) }
    let client = GateClient(stage.session, over: api)
    let good = ["a", "azAZ09-._", "...", String(repeating: "n", count: 64)]
    for name in good {
      #expect(throws: GateError.challenge(.unknownName(name))) { try client.attestAndWait(name) }
      #expect(
        api.sent.last?.url == "https://api.example.com/.well-known/proofkit/challenges/\(name)")
    }
    #expect(api.sent.count == good.count && api.sent.allSatisfy { $0.method == "GET" })
    let limits = api.requests.withLock { $0 }
    #expect(limits.allSatisfy { $0.responseLimit == 4_096 && $0.timeout == .seconds(60) })
    for name in [
      "/", ":", "@", "[", "`", "{", ",", "^", "\u{7f}", String(repeating: "n", count: 65),
    ] {
      #expect(throws: GateError.challenge(.unknownName(Observation.line(name)))) {
        try client.attestAndWait(name)
      }
    }
    let long = String(repeating: "n", count: 100)
    #expect(throws: GateError.challenge(.unknownName(String(long.prefix(80))))) {
      try client.attestAndWait(long)
    }
    #expect(api.sent.count == good.count)
    _ = try? client.attestAndWait("a", within: .seconds(5))
    #expect(api.requests.withLock { $0.last?.timeout } == .seconds(5))
    for status in [201, 204, 400, 403, 500] {
      let api = ScriptedAPI { _, _ in TransportResponse(status: status, body: []) }
      #expect(throws: GateError.challenge(.rejected(status: status))) {
        try GateClient(stage.session, over: api).attestAndWait("a")
      }
    }
    for body in ["", "{}", #"{"clearance":5}"#, #"{"clearance":"x"}"#, #"["clearance"]"#] {
      let api = ScriptedAPI { _, _ in TransportResponse(status: 200, body: Array(body.utf8)) }
      #expect(
        throws: GateError.challenge(
          .malformed(reason: "the answer is no clearance for api.example.com"))
      ) { try GateClient(stage.session, over: api).attestAndWait("a") }
    }
  }
}
