// SPDX-License-Identifier: Apache-2.0

import ProofMigration
import ProofModel
import Testing

@testable import ProofKit

/// The service, and APIs whose answers a test scripts.
private final class GuardedAPIs: Transport {
  let service: InProcessService
  let sent = CoreLock<[TransportRequest]>([])
  let answers = CoreLock<[Result<TransportResponse, TransportError>]>([])

  init(_ service: InProcessService) { self.service = service }

  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    guard !request.url.contains("attest.example.com") else { return try service.send(request) }
    sent.withLock { $0.append(request) }
    let next = answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    return try next?.get() ?? TransportResponse(status: 200, body: [7])
  }
}

@Suite("Migration: calls for an app with gates")
struct GuardCallsTests {
  private let stage: AppStage
  private let attestor: Attestor
  private let apis: GuardedAPIs
  private let gate = TestGate()
  private let request = Request("POST", "https://api.example.com/payments", body: [1])

  init() throws {
    let domains = #"{"api.example.com":"proof","open.example.com":"none"}"#
    stage = try AppStage(claims: ["dom": domains, "pin": #"{"open.example.com":["\#(pin(3))"]}"#])
    let gate = gate
    stage.service.set { $0.admit = { try gate.admission($0, $1, $2) } }
    apis = GuardedAPIs(stage.service)
    attestor = try Attestor(
      stage.configuration,
      using: Parts(probe: stage.scene, transport: apis, clock: stage.time.clock))
  }

  @Test("a request that is signed has its proof, and one that is not has the text of its error")
  func sign() async throws {
    let calls = RequestGuardCalls(attestor)
    #expect(await calls.initialize() == 0)
    guard case .request(let signed) = await calls.sign(request) else {
      Issue.record("not signed")
      return
    }
    _ = try gate.check(signed)
    func text(_ request: Request) async -> String? {
      if case .text(let text) = await calls.sign(request) { text } else { nil }
    }
    #expect(await text(Request("GE T", request.url)) == "you must input correct type")
    #expect(await text(Request("GET", "nonsense")) == "you must input correct data")
    #expect(
      await text(Request("GET", "https://evil.example.com/")) == "you must input correct data")
    stage.scene.state.withLock { $0.failure = .evidenceUnavailable(reason: "x") }
    #expect(await text(request) == "")
  }

  @Test("a challenge is found in cookies and in a body, and nowhere else")
  func challenged() {
    let id = challengeID(6)
    #expect(RequestGuardCalls.isChallenged(cookies: "proof-challenge=\(id)", body: []))
    let body = Array(#"{"status":428,"challenge":"\#(id)"}"#.utf8)
    #expect(RequestGuardCalls.isChallenged(cookies: "", body: body))
    #expect(!RequestGuardCalls.isChallenged(cookies: "", body: []))
    #expect(!RequestGuardCalls.isChallenged(cookies: "a=b", body: [0x7B, 0x7D]))
  }

  @Test("a challenge SDK's start prepares the gates, and its call sends the request")
  func challenges() async throws {
    let calls = ChallengeCalls(attestor)
    try await calls.start()
    let asked = stage.service.count("report")
    #expect(asked == 1)
    #expect(try await calls.attest(request) == Response(status: 200, body: [7]))
    #expect(stage.service.count("report") == asked)
    #expect(apis.sent.withLock { $0.count } == 1)
  }

  @Test("an event SDK's start tells its end, and an event that cannot be proved is an empty text")
  func events() async throws {
    let calls = EventCalls(attestor)
    let ended = Handover<AttestationError?>()
    calls.start { ended.give($0) }
    #expect(await ended.arrival() == nil)
    let text = calls.info(3300, account: "ada", data: [1])
    #expect(text.utf8.count == 88)
    #expect(calls.info(1) == "" && calls.info(3300, account: "") == "")
    let other = try AppStage(claims: ["dom": #"{"api.example.com":"proof"}"#])
    let failed = Handover<AttestationError?>()
    EventCalls(other.attestor).start { failed.give($0) }
    #expect(await failed.arrival()?.status == .badURL)
  }

  @Test("an API without a gate gets the request as it is, with its pins and the call's limits")
  func open() async throws {
    let open = Request(
      "PUT", "https://open.example.com/a?b", fields: [HeaderField("X", "1")], body: [2])
    let client = attestor.client
    #expect(
      try await client.perform(open, within: .seconds(7), responseLimit: 9)
        == Response(status: 200, body: [7]))
    _ = try await client.perform(open)
    let sent = apis.sent.withLock { $0 }
    #expect(sent.map(\.timeout) == [.seconds(7), .seconds(60)])
    #expect(sent.map(\.responseLimit) == [9, 1 << 24])
    for request in sent {
      #expect(request.url == open.url && request.method == "PUT" && request.body == [2])
      #expect(request.fields == open.fields && request.pins == [pin(3)])
    }
    for (error, expected) in [
      (TransportError.cancelled, GateError.cancelled),
      (.timedOut("x"), .transport(.timedOut("x"))),
    ] {
      apis.answers.withLock { $0 = [.failure(error)] }
      await #expect(throws: expected) { try await client.perform(open) }
    }
    #expect(try await client.guarded(open) == open)
    await #expect(throws: GateError.hostNotListed("evil.example.com")) {
      try await client.guarded(Request("GET", "https://evil.example.com/"))
    }
    await #expect(throws: GateError.hostNotListed("open.example.com")) {
      try await client.attest("login", at: "open.example.com")
    }
    await #expect(throws: GateError.malformedHost("a b")) {
      try await client.attest("login", at: "a b")
    }
    #expect(await client.clearance(for: "open.example.com") == nil)
    #expect(await client.clearance(for: "a b") == nil)
  }

  @Test("an app's own client learns of a challenge, solves it, and sends the answer once")
  func solve() async throws {
    let client = attestor.client
    let sent = try await client.guarded(request)
    let id = challengeID(7, level: 1)
    func challenge(_ status: Int, _ fields: [String: String]) -> ProtectedClient.Challenge? {
      client.challenge(status: status, header: { fields[$0] }, to: sent)
    }
    #expect(challenge(200, [:]) == nil && challenge(428, [:]) == nil)
    #expect(challenge(401, ["proof-refusal": "refused"]) == nil)
    for word in ["token", "clock", "proof"] {
      let again = try #require(challenge(401, ["proof-refusal": word]))
      #expect(again.host == "api.example.com" && !again.needsPerson && again.found == nil)
      try await client.solve(again)
    }
    let person = try #require(challenge(428, ["proof-challenge": challengeID(9)]))
    #expect(person.needsPerson)
    await #expect(throws: GateError.challenge(.presenterMissing)) {
      try await client.solve(person)
    }
    #expect(challenge(401, ["proof-challenge": id]) == nil)
    let found = try #require(challenge(428, ["proof-challenge": id]))
    #expect(found.found?.id == id && found.isRepeatable && found.request.url == request.url)
    try await client.solve(found)
    let answered = try await client.guarded(request)
    #expect(answered.values(of: "proof-challenge") == [id])
    #expect(answered.values(of: "proof-answer").count == 1)
    let plain = client.unguarded(answered)
    #expect(plain.fields == request.fields)
    #expect(try await client.guarded(request).values(of: "proof-answer").isEmpty)
    let foreign = Request("GET", "https://evil.example.com/")
    #expect(
      client.challenge(status: 428, header: { ["proof-challenge": id][$0] }, to: foreign) == nil)
  }

  @Test("a cancelled task ends ready() while the network is bad")
  func cancelled() async throws {
    let service = InProcessService()
    let text = service.shortForm
    service.set { $0.failure = .unreachable("x") }
    let stage = try AppStage(service) { $0.account = text }
    let task = Task { () -> AttestationError? in
      do throws(AttestationError) {
        try await stage.attestor.ready()
        return nil
      } catch { return error }
    }
    task.cancel()
    #expect(await task.value?.status == .cancelled)
  }
}
