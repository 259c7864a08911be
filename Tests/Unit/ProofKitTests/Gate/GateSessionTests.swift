// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

@Suite("The state of a gate session")
struct GateSessionTests {
  private func log(_ stage: GateStage) -> [String] {
    stage.lines.withLock { lines in lines.map { "\($0.0) \($0.1)" } }
  }

  @Test("the handler is called at most once, though renewals and failures come later")
  func readyOnce() throws {
    let stage = try GateStage(isStarted: false)
    let calls = CoreLock(0)
    _ = stage.session.begin { _ in calls.withLock { $0 += 1 } }
    _ = stage.session.work()
    #expect(calls.withLock { $0 } == 1)
    for outcome in [AttestationAnswer.Outcome.done, .noGate, .done] {
      stage.service.set { $0.outcome = outcome }
      let next = try stage.due()
      stage.time.advance(next - stage.time.clock.uptime())
      _ = try stage.session.guarded(stage.request)
      _ = stage.session.work()
    }
    #expect(stage.asked == 4 && calls.withLock { $0 } == 1)
  }

  @Test("each begin and end of the work is one line of the log")
  func lines() throws {
    let stage = try GateStage(log: .info)
    _ = stage.session.begin(nil)
    stage.session.stop()
    stage.session.stop()
    let held = try #require(stage.session.state.withLock { $0.held })
    #expect(
      log(stage) == [
        "info starting for api.example.com",
        "info ready: account acme, app door, SDK \(CoreProbe.version), gate of api.example.com, "
          + "generation 1, instance \(held.admitted.handle)",
        "warning started already", "info stopped",
      ])
  }

  @Test("a try that is put off says when the next one comes")
  func putOff() throws {
    let stage = try GateStage(log: .info, isStarted: false)
    let told = CoreLock<[GateError]>([])
    stage.session.putOffObserver.withLock { observer in
      observer = { error in told.withLock { $0.append(error) } }
    }
    stage.service.set { $0.failure = .unreachable("x") }
    _ = stage.session.begin(nil)
    for _ in 0..<3 {
      let next = try stage.due()
      stage.time.advance(next - stage.time.clock.uptime())
    }
    let lines = log(stage)
    #expect(lines.count == 4 && told.withLock { $0.count } == 3)
    let error = try #require(stage.session.lastError)
    #expect(told.withLock { $0 } == [error, error, error])
    for (line, seconds) in zip(lines.dropFirst(), [1, 2, 4]) {
      #expect(line == "warning \(error) Next try in \(seconds) s.")
    }
  }

  @Test("a failure that waiting does not mend is one line of the log")
  func failed() throws {
    let stage = try GateStage(log: .error, isStarted: false)
    stage.service.set { $0.outcome = .noGate }
    _ = stage.session.begin(nil)
    _ = stage.session.work()
    let error = try #require(stage.session.lastError)
    #expect(log(stage) == ["error \(error)"])
  }

  @Test("a new start asks at once, from the shortest wait on, and has no error")
  func anew() throws {
    let stage = try GateStage(isStarted: false)
    stage.service.set { $0.failure = .unreachable("x") }
    _ = stage.session.begin(nil)
    for _ in 0..<4 {
      let next = try stage.due()
      stage.time.advance(next - stage.time.clock.uptime())
    }
    stage.session.stop()
    #expect(stage.session.lastError != nil)
    #expect(stage.session.begin(nil))
    #expect(stage.session.lastError == nil && !stage.session.begin(nil))
    let asked = stage.service.count("challenge")
    let next = try stage.due()
    #expect(stage.service.count("challenge") == asked + 1)
    #expect((next - stage.time.clock.uptime()).components.seconds == 1)
  }

  @Test("a dormant session that starts anew asks at once")
  func dormant() throws {
    let stage = try GateStage()
    stage.time.advance(.seconds(2_880))
    #expect(stage.session.work() == .some(.none))
    stage.session.stop()
    _ = stage.session.begin(nil)
    #expect(stage.session.state.withLock { !$0.isDormant })
    _ = stage.session.work()
    #expect(stage.asked == 2 && stage.session.isReady)
  }

  @Test("a child of a fork starts a session that its parent has started")
  func forked() throws {
    let stage = try GateStage()
    #expect(!stage.session.begin(nil))
    stage.process.withLock { $0 = 2 }
    #expect(stage.session.begin(nil))
    #expect(stage.session.state.withLock { $0.process } == 2)
    #expect(!stage.session.begin(nil))
  }

  @Test("a session counts as used for ten minutes after its last proof, to the second")
  func quiet() throws {
    for (seconds, asked) in [(600, 2), (601, 1)] as [(Int64, Int)] {
      let stage = try GateStage()
      stage.time.advance(.seconds(2_880 - seconds))
      _ = try stage.session.guarded(stage.request)
      stage.time.advance(.seconds(seconds))
      _ = stage.session.work()
      #expect(stage.asked == asked)
    }
    #expect(GateTimes.backOff == .seconds(1) && GateTimes.backOffMax == .seconds(60))
    #expect(GateTimes.quiet == .seconds(600) && GateTimes.youth == .seconds(2))
  }

  @Test("the worker wakes for the end of the keys, and drops them then")
  func keysEnd() throws {
    let stage = try GateStage { $0.freshness = 10 }
    let started = stage.time.clock.uptime()
    #expect(try (stage.due() - started).components.seconds == 2_880)
    _ = try stage.session.guarded(stage.request)
    #expect(try stage.due() == started + .seconds(10))
    stage.time.advance(.milliseconds(9_999))
    _ = stage.session.work()
    #expect(stage.session.state.withLock { $0.keyring != nil })
    stage.time.advance(.milliseconds(1))
    #expect(try (stage.due() - started).components.seconds == 2_880)
    #expect(stage.session.state.withLock { $0.keyring == nil })
  }

  @Test("a process counts as young for two seconds")
  func youth() throws {
    let stage = try GateStage()
    for (milliseconds, isYoung) in [(1_999, true), (1, false)] as [(Int64, Bool)] {
      stage.time.advance(.milliseconds(milliseconds))
      let sent = try stage.session.guarded(stage.request)
      let secret = try stage.gate.open(sent)
      #expect(try stage.gate.check(sent, secret: secret).isYoung == isYoung)
    }
  }

  @Test("a proof tells the age of its measurement in whole seconds, up to 255")
  func age() throws {
    let stage = try GateStage { $0.freshness = 10 }
    let sent = try stage.session.guarded(stage.request)
    let secret = try stage.gate.open(sent)
    #expect(try stage.gate.check(sent, secret: secret).measured == 0)
    stage.time.advance(.milliseconds(9_999))
    let later = try stage.session.guarded(stage.request)
    let token = try stage.gate.check(later, secret: secret)
    #expect(token.measured == 9 && token.count == 2)
    #expect(token.created == stage.time.now)
  }

  @Test("a request whose field Authorization is given twice is refused with its reason")
  func authorizationTwice() throws {
    let stage = try GateStage()
    let request = Request(
      "GET", "https://api.example.com/",
      fields: [HeaderField("Authorization", "a"), HeaderField("authorization", "b")])
    #expect(
      throws: GateError.malformedRequest(reason: "the field Authorization is given twice.")
    ) { try stage.session.guarded(request) }
  }

  @Test("what a session added is taken off, and nothing else")
  func unguarded() throws {
    let names = [
      "proof-event", "proof-challenge", "proof-answer", "proof-clearance", "proof-ticket",
      "signature-input", "signature", "content-digest", "proof-account", "x-proof", "x-token",
      "x-digest",
    ]
    let stage = try GateStage()
    var request = stage.request
    for name in names { request.set(name, to: "x") }
    #expect(stage.session.unguarded(request).fields == stage.request.fields)
    // A proof that is made anew replaces the fields of the gate, and leaves those of a signature.
    let again = try stage.session.guarded(request)
    for name in ["proof-event", "proof-challenge", "proof-answer", "proof-clearance"] {
      #expect(again.values(of: name).isEmpty)
    }
    #expect(again.values(of: "proof-ticket").isEmpty)
    #expect(again.values(of: "signature") == ["x"])
    // The gate's own names are known from an admission alone.
    let idle = try GateStage(isStarted: false)
    #expect(
      idle.session.unguarded(request).fields.map(\.name).filter { $0.hasPrefix("proof-") } == [])
  }

  @Test("plain HTTP to this machine is allowed by its option alone, by name and by address")
  func plain() throws {
    let hosts = ["localhost:8080", "127.0.0.1:8080", "localhost", "127.0.0.1", "127.0.0.2"]
    for isAllowed in [false, true] {
      let stage = try GateStage(host: "localhost:8080", allowsPlainLoopback: isAllowed) {
        $0.hosts = hosts
      }
      for (host, isLocal) in zip(hosts, [true, true, true, true, false]) {
        let request = Request("GET", "http://\(host)/")
        if isAllowed, isLocal {
          let head = try stage.session.head(of: request)
          #expect(stage.session.isAllowed(head))
        } else {
          #expect(throws: GateError.hostNotListed(host)) {
            try stage.session.guarded(request)
          }
        }
      }
    }
  }

  @Test("names of hosts stand with their port and without it, those of IPv6 in brackets")
  func hosts() throws {
    let stage = try GateStage()
    func hosts(_ url: String) -> [String] {
      stage.session.hosts(of: Request("GET", url)).map { [$0.authority, $0.host] } ?? []
    }
    #expect(hosts("https://api.example.com/") == ["api.example.com", "api.example.com"])
    #expect(hosts("https://api.example.com:444/") == ["api.example.com:444", "api.example.com"])
    #expect(hosts("https://[::1]:444/") == ["[::1]:444", "[::1]:444"])
    #expect(hosts("nonsense") == [])
  }

  @Test("a beacon counts if it is newer, and a word on the time for 50 seconds after a refusal")
  func words() throws {
    let stage = try GateStage { $0.form = .standard }
    let key = try BeaconKey(
      from: SecretBytes(copying: [UInt8](repeating: 1, count: 32).span), number: 1,
      of: stage.gate.id)
    let (old, new) = (key.header(at: 1_900_000_000), key.header(at: 1_900_000_600))
    let sent = try stage.session.guarded(stage.request)
    func note(_ status: Int, _ fields: [(String, String)]) -> GateRefusal.Kind? {
      stage.session.note(
        Response(status: status, fields: fields.map { HeaderField($0.0, $0.1) }), to: sent)
    }
    func nonce() throws -> Substring? {
      let input = try stage.session.guarded(stage.request).values(of: "signature-input").first
      let rest = try #require(input?.split(separator: "nonce=\"").last)
      let parts = rest.prefix { $0 != "\"" }.split(separator: ".")
      return parts.count == 2 ? parts[0] : nil
    }
    #expect(try nonce() == nil)
    #expect(note(200, [("proof-time", new)]) == nil)
    #expect(try nonce() == new[...])
    #expect(note(200, [("proof-time", old)]) == nil)
    #expect(try nonce() == new[...])
    let word = String(repeating: "A", count: 32)
    let refused = [("proof-refusal", "clock")]
    // The word counts with a refusal of its class alone, and in its form alone.
    #expect(note(200, [("proof-nonce", word)]) == nil)
    #expect(note(401, [("proof-nonce", word), ("proof-refusal", "proof")]) == .proof)
    #expect(note(401, refused + [("proof-nonce", word + "A")]) == .clock)
    #expect(note(401, refused + [("proof-nonce", String(word.dropLast() + "*"))]) == .clock)
    #expect(try nonce() == new[...])
    #expect(note(401, refused + [("proof-nonce", word)]) == .clock)
    #expect(try nonce() == word[...])
    // A refusal that brings no other word keeps it.
    #expect(note(401, refused) == .clock)
    stage.time.advance(.milliseconds(49_999))
    #expect(try nonce() == word[...])
    stage.time.advance(.milliseconds(1))
    #expect(try nonce() == new[...])
  }

  @Test("after a refusal for its time a proof has the gate's, which goes on")
  func anchor() throws {
    let stage = try GateStage()
    let sent = try stage.session.guarded(stage.request)
    let secret = try stage.gate.open(sent)
    func created() throws -> UnixTime {
      try stage.gate.check(stage.session.guarded(stage.request), secret: secret).created
    }
    let date = HeaderField("Date", "Sun, 17 Mar 2030 17:46:40 GMT")
    // A date counts with a refusal of class clock alone.
    stage.session.note(Response(status: 200, fields: [date]), to: sent)
    #expect(try created() == stage.time.now)
    stage.session.note(
      Response(status: 401, fields: [date, HeaderField("Proof-Refusal", "clock")]), to: sent)
    #expect(try created() == 1_900_000_000)
    stage.time.advance(.seconds(7))
    #expect(try created() == 1_900_000_007)
  }

  @Test("an answer of the gate's own host tells the scheme, one of another host does not")
  func scheme() throws {
    let stage = try GateStage(host: "localhost:8080", allowsPlainLoopback: true) {
      $0.hosts = ["localhost:8080", "127.0.0.1:8080"]
    }
    #expect(stage.session.scheme == .http)
    func answer(_ url: String) {
      stage.session.note(Response(status: 200), to: Request("GET", url))
    }
    answer("https://127.0.0.1:8080/")
    #expect(stage.session.scheme == .http)
    answer("https://localhost:8080/")
    #expect(stage.session.scheme == .https)
    answer("http://127.0.0.1:8080/")
    #expect(stage.session.scheme == .https)
    answer("http://localhost:8080/")
    #expect(stage.session.scheme == .http)
  }

  @Test("the class of a refusal counts with the statuses 401 and 428")
  func refusals() {
    let kinds: [(String, GateRefusal.Kind)] = [
      ("token", .token), ("clock", .clock), ("proof", .proof), ("refused", .refused),
    ]
    for (word, kind) in kinds {
      for status in [200, 400, 401, 402, 403, 427, 428, 429, 500] {
        let found = GateSession.refusal(
          of: Response(status: status, fields: [HeaderField("Proof-Refusal", word)]))
        #expect(found == (status == 401 || status == 428 ? kind : nil))
      }
    }
    #expect(GateSession.refusal(of: Response(status: 401)) == nil)
    for (kind, refusal) in [(5, .token), (6, nil), (9, nil)] as [(UInt8, GateRefusal.Kind?)] {
      let fields = [HeaderField("Proof-Challenge", challengeID(kind))]
      #expect(GateSession.refusal(of: Response(status: 428, fields: fields)) == refusal)
      #expect(GateSession.refusal(of: Response(status: 401, fields: fields)) == nil)
    }
  }

  @Test("a token in the error state has the cause of its error")
  func causes() {
    let causes: [(GateError, CompactCause)] = [
      (.notStarted, .notStarted), (.notReady(nil), .notReady),
      (.attestation(AttestationError(.rejected)), .failed),
      (.storageUnusable(reason: "x"), .failed), (.notMeasured(reason: "x"), .measurement),
      (.environmentChanged, .measurement), (.tokenRefused, .internal), (.timedOut, .internal),
    ]
    for (error, cause) in causes { #expect(error.cause == cause) }
  }

  @Test("a session's text is its host, and no mirror shows a key")
  func text() throws {
    let stage = try GateStage()
    #expect(stage.session.description == "GateSession(api.example.com)")
    let children = Mirror(reflecting: stage.session).children
    #expect(children.map(\.label) == ["host"])
    #expect(children.first?.value as? String == "api.example.com")
  }
}

@Suite("The limits of a client's requests")
struct GateClientLimitTests {
  @Test("a request has 60 s and 16 MiB, and the call's own limits in place of these")
  func requests() async throws {
    let stage = try GateStage()
    let api = ScriptedAPI { _, _ in TransportResponse(status: 200, body: []) }
    let client = GateClient(stage.session, over: api)
    _ = try client.performAndWait(stage.request)
    _ = try await client.perform(stage.request)
    _ = try client.performAndWait(stage.request, within: .seconds(7), responseLimit: 8)
    _ = try await client.perform(stage.request, within: .seconds(9), responseLimit: 10)
    let sent = api.requests.withLock { $0 }
    #expect(sent.map(\.timeout) == [60, 60, 7, 9].map { Duration.seconds($0) })
    #expect(sent.map(\.responseLimit) == [1 << 24, 1 << 24, 8, 10])
    #expect(sent.allSatisfy { $0.connectHost == nil && $0.authorization == nil })
  }

  @Test("the time that is left shrinks with each sending of one call, and its end is one")
  func left() throws {
    let stage = try GateStage()
    let time = stage.time
    let api = ScriptedAPI { _, number in
      time.advance(.seconds(20))
      return number < 3
        ? refusal(number == 1 ? "clock" : "proof") : TransportResponse(status: 200, body: [])
    }
    _ = try GateClient(stage.session, over: api).performAndWait(stage.request)
    #expect(
      api.requests.withLock { $0.map(\.timeout) } == [60, 40, 20].map { Duration.seconds($0) })
    let late = ScriptedAPI { _, _ in
      time.advance(.seconds(60))
      return refusal("clock")
    }
    #expect(throws: GateError.timedOut) {
      try GateClient(stage.session, over: late).performAndWait(stage.request)
    }
    #expect(late.sent.count == 1)
  }

  @Test("a failure of the network is the call's error, and a cancelled one is its own")
  func failures() throws {
    let stage = try GateStage()
    for error in [
      TransportError.unreachable("x"), .timedOut("x"), .brokenOff("x"), .untrusted("x"),
      .garbled("x"), .refused("x"),
    ] {
      let api = ScriptedAPI { _, _ throws(TransportError) in throw error }
      #expect(throws: GateError.transport(error)) {
        try GateClient(stage.session, over: api).performAndWait(stage.request)
      }
    }
    let api = ScriptedAPI { _, _ throws(TransportError) in throw .cancelled }
    #expect(throws: GateError.cancelled) {
      try GateClient(stage.session, over: api).performAndWait(stage.request)
    }
  }

  @Test("the pins of a host with its port come before those of the host")
  func pins() throws {
    let service = InProcessService()
    service.set {
      $0.pins = [
        "api.example.com": [pin(1)], "api.example.com:444": [pin(2)], "pay.example.com": [],
        "*": [pin(3)],
      ]
    }
    let stage = try GateStage(service) {
      $0.hosts = [
        "api.example.com", "api.example.com:444", "api.example.com:445", "pay.example.com",
        "free.example.com",
      ]
    }
    let api = ScriptedAPI { _, _ in TransportResponse(status: 200, body: []) }
    let client = GateClient(stage.session, over: api)
    for host in [":444", ":445", ""] {
      _ = try client.performAndWait(Request("GET", "https://api.example.com\(host)/"))
    }
    _ = try client.performAndWait(Request("GET", "https://free.example.com/"))
    #expect(api.requests.withLock { $0.map(\.pins) } == [[pin(2)], [pin(1)], [pin(1)], []])
    let reason =
      "the account pins pay.example.com by trusted roots alone: give the host pins of its own"
    #expect(throws: GateError.transport(.refused(reason))) {
      try client.performAndWait(Request("GET", "https://pay.example.com/"))
    }
  }
}
