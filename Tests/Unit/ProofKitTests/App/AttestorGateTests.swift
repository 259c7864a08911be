// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

/// APIs: `api` and `pay` behind one gate, `open` without any.
final class ProtectedAPIs: Transport {
  let service: InProcessService
  let failure = CoreLock<TransportError?>(nil)
  let sent = CoreLock<[TransportRequest]>([])
  let answers = CoreLock<[TransportResponse]>([])

  init(_ service: InProcessService) { self.service = service }

  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    guard !request.url.contains("attest.example.com") else { return try service.send(request) }
    sent.withLock { $0.append(request) }
    if let failure = failure.withLock({ $0 }) { throw failure }
    return answers.withLock { answers in
      answers.isEmpty ? TransportResponse(status: 200, body: []) : answers.removeFirst()
    }
  }
}

@Suite("An attestor's client and events")
struct AttestorGateTests {
  private static let domains =
    #"{"api.example.com":"proof","pay.example.com":"proof","open.example.com":"none"}"#

  private func stage(
    _ service: InProcessService = InProcessService(),
    _ change: (inout Configuration) -> Void = { _ in }
  ) throws -> (AppStage, Attestor, ProtectedAPIs, TestGate) {
    let gate = TestGate()
    let stage = try AppStage(service, claims: ["dom": Self.domains], change)
    stage.service.set { $0.admit = { try gate.admission($0, $1, $2) } }
    let apis = ProtectedAPIs(stage.service)
    let attestor = try Attestor(
      stage.configuration,
      using: Parts(probe: stage.scene, transport: apis, clock: stage.time.clock))
    return (stage, attestor, apis, gate)
  }

  private func request(_ host: String = "api.example.com") -> Request {
    Request("POST", "https://\(host)/payments", body: [1])
  }

  @Test("proves requests to a gate's hosts with one admission, and finds the gate by itself")
  func proved() async throws {
    let (stage, attestor, apis, gate) = try stage()
    #expect(try await attestor.client.perform(request()).status == 200)
    #expect(try await attestor.client.perform(request("pay.example.com")).status == 200)
    #expect(stage.service.state.withLock { $0.hostsAsked } == ["api.example.com"])
    let sent = apis.sent.withLock { $0 }.map { request in
      Request(request.method ?? "", request.url, fields: request.fields ?? [], body: request.body)
    }
    #expect(sent.count == 2)
    for request in sent { _ = try gate.check(request, secret: gate.open(sent[0])) }
  }

  @Test("makes no proof for hosts that need none, and none leaves for others")
  func others() async throws {
    let (stage, attestor, apis, _) = try stage()
    #expect(try await attestor.client.perform(request("open.example.com")).status == 200)
    let sent = apis.sent.withLock { $0 }
    #expect(sent.count == 1 && sent[0].fields?.isEmpty == true)
    #expect(try await attestor.client.guarded(request("open.example.com")).fields.isEmpty)
    await #expect(throws: GateError.hostNotListed("evil.example")) {
      try await attestor.client.perform(request("evil.example"))
    }
    await #expect(throws: GateError.hostNotListed("evil.example")) {
      try await attestor.client.guarded(request("evil.example"))
    }
    #expect(stage.service.count("report") == 0 && apis.sent.withLock { $0.count } == 1)
  }

  @Test("a named challenge is asked of the gate of the host")
  func named() async throws {
    let (_, attestor, apis, _) = try stage()
    apis.answers.withLock { $0.append(TransportResponse(status: 404, body: [])) }
    await #expect(throws: GateError.challenge(.unknownName("slider"))) {
      try await attestor.client.attest("slider", at: "pay.example.com")
    }
    #expect(
      apis.sent.withLock { $0.map(\.url) } == [
        "https://pay.example.com/.well-known/proofkit/challenges/slider"
      ])
    await #expect(throws: GateError.hostNotListed("open.example.com")) {
      try await attestor.client.attest("slider", at: "open.example.com")
    }
  }

  @Test("a refusal is told, and the next call tries again")
  func notReady() async throws {
    let (stage, attestor, _, _) = try stage()
    stage.service.set { $0.failure = .unreachable("x") }
    let error = await #expect(throws: GateError.self) {
      try await attestor.client.perform(request())
    }
    guard case .notReady(let cause?) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(cause.reason == .noNetwork && error?.whoCanMend == .retry)
    // The gate may list the event.
    #expect(try attestor.eventToken(for: 3300).cause == .notReady)
  }

  @Test("waiting does not help where the service says that there is no gate")
  func final() async throws {
    let (stage, attestor, _, _) = try stage()
    stage.service.set { $0.admit = nil }
    let error = await #expect(throws: GateError.self) {
      try await attestor.client.perform(request())
    }
    guard case .attestation(let cause) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(cause.reason == .invalidHost)
    let ready = await #expect(throws: AttestationError.self) { try await attestor.ready() }
    #expect(ready?.reason == .invalidHost)
    // The next call begins anew, and waits for what comes of that.
    let gate = TestGate()
    stage.service.set { $0.admit = { try gate.admission($0, $1, $2) } }
    stage.time.advance(.seconds(60))
    try await attestor.ready()
    #expect(try attestor.eventToken(for: 3300).cause == nil)
  }

  @Test("ready() of an app that was never online fetches the account's configuration")
  func neverOnline() async throws {
    let service = InProcessService()
    let (stage, attestor, _, _) = try stage(service) { $0.account = service.shortForm }
    let text = service.configuration(claims: ["dom": Self.domains])
    stage.service.set { $0.configurationText = text }
    try await attestor.ready()
    #expect(try attestor.eventToken(for: 3300).cause == nil)
  }

  @Test("ready() prepares all gates, after which events need no network")
  func ready() async throws {
    let (stage, attestor, _, _) = try stage()
    let early = try attestor.eventToken(for: 3300)
    #expect(early.cause == .notStarted && early.text.utf8.count == 88)
    try await attestor.ready()
    stage.service.set { $0.failure = .unreachable("x") }
    let token = try attestor.eventToken(for: 3300, account: "ada", data: [1])
    #expect(token.cause == nil && token.text.utf8.count == 88)
    #expect(throws: GateError.unknownEvent(7)) { try attestor.eventToken(for: 7) }
    #expect(throws: GateError.malformedAccount(byteCount: 0)) {
      try attestor.eventToken(for: 3300, account: "")
    }
  }

  @Test("the user is bound to proofs of gates that are there and that come")
  func user() async throws {
    let (_, attestor, apis, gate) = try stage()
    try attestor.setUser("ada")
    #expect(throws: GateError.malformedAccount(byteCount: 0)) { try attestor.setUser("") }
    _ = try await attestor.client.perform(request())
    try attestor.setUser(nil)
    _ = try await attestor.client.perform(request())
    let sent = apis.sent.withLock { $0 }.map { request in
      Request(request.method ?? "", request.url, fields: request.fields ?? [], body: request.body)
    }
    let secret = try gate.open(sent[0])
    _ = try gate.check(sent[0], account: "ada", secret: secret)
    _ = try gate.check(sent[1], secret: secret)
  }

  @Test("a client of the app's own hands responses back, and sends again after a refusal")
  func ownClient() async throws {
    let (_, attestor, apis, gate) = try stage()
    let client = attestor.client
    let first = try await client.guarded(request())
    let secret = try gate.open(first)
    let refused = ["proof-refusal": "token"]
    let challenge = try #require(
      client.challenge(status: 401, header: { refused[$0] }, to: first))
    #expect(challenge.host == "api.example.com" && !challenge.needsPerson)
    try await client.solve(challenge)
    let second = try await client.guarded(request())
    _ = try gate.check(second, secret: secret)
    #expect(client.challenge(status: 200, header: { _ in nil }, to: second) == nil)
    // The gate has opened the token: it is sent no more.
    let third = try await client.guarded(request())
    #expect(third.values(of: "x-token").isEmpty)
    let plain = client.unguarded(third)
    #expect(plain.fields.allSatisfy { !$0.name.hasPrefix("x-") })
    #expect(apis.sent.withLock { $0.isEmpty })
  }

  @Test("the attestor is released although its gates use it")
  func released() async throws {
    weak var gone: Attestor?
    do {
      let (_, attestor, _, _) = try stage()
      try await attestor.ready()
      gone = attestor
    }
    #expect(gone == nil)
  }
}
