// SPDX-License-Identifier: Apache-2.0

import ProofMigration
import ProofModel
import Testing

@testable import ProofKit

@Suite("Challenges that the operator named")
struct NamedChallengeTests {
  /// Answers `GET /.well-known/proofkit/challenges/login` as a gate does: a challenge, then the clearance in the body.
  private func answering(
    _ stage: GateStage, _ gate: ChallengingGate
  ) -> ScriptedAPI {
    ScriptedAPI { request, _ throws(TransportError) in
      guard request.url == "https://api.example.com/.well-known/proofkit/challenges/login" else {
        return TransportResponse(status: 404, body: [])
      }
      var sent = TransportRequest(url: request.url, body: nil, timeout: .seconds(1))
      sent.method = request.method
      sent.fields = request.fields
      let answer = try gate.send(sent)
      guard answer.status == 200 else { return answer }
      let text =
        answer.fields.values(of: "proof-clearance").first
        ?? request.values(of: "proof-clearance").first ?? ""
      return TransportResponse(
        status: 200, body: Array(#"{"clearance":"\#(text)","expires":900}"#.utf8))
    }
  }

  @Test("attest answers the challenge of a name, and gives the clearance that counts now")
  func attest() async throws {
    let stage = try GateStage()
    let (_, gate) = try stage.challenging { $0.level = 3 }
    let client = GateClient(stage.session, over: answering(stage, gate))
    let text = try client.attestAndWait("login")
    #expect(client.clearance(for: "api.example.com") == text)
    #expect(gate.state.withLock { $0.answered } == 1)
    #expect(try await client.attest("login") == client.clearance(for: "api.example.com"))
  }

  @Test("a name that the gate does not know, and one that is none, are errors of their own")
  func unknown() throws {
    let stage = try GateStage()
    let (_, gate) = try stage.challenging()
    let api = answering(stage, gate)
    let client = GateClient(stage.session, over: api)
    #expect(throws: GateError.challenge(.unknownName("other"))) {
      try client.attestAndWait("other")
    }
    #expect(api.sent.count == 1)
    for name in [
      "", ".", "..", "a/b", "a?b", "a b", "ä", String(repeating: "a", count: 65), "a\r\nb",
    ] {
      let error = #expect(throws: GateError.self) { try client.attestAndWait(name) }
      #expect(error?.attestationCode == 3)
    }
    #expect(api.sent.count == 1)
  }

  @Test("a challenge of a name is asked for by the scheme that the host answered with")
  func scheme() throws {
    let stage = try GateStage(host: "localhost:8080", allowsPlainLoopback: true) {
      $0.hosts = ["localhost:8080"]
    }
    let api = ScriptedAPI { _, _ in TransportResponse(status: 404, body: []) }
    let client = GateClient(stage.session, over: api)
    func asked(after url: String? = nil) throws -> String? {
      if let url { _ = try client.performAndWait(Request("GET", url)) }
      #expect(throws: GateError.challenge(.unknownName("login"))) {
        try client.attestAndWait("login")
      }
      return api.sent.last?.url
    }
    let path = "localhost:8080/.well-known/proofkit/challenges/login"
    #expect(try asked() == "http://\(path)")
    #expect(try asked(after: "https://localhost:8080/") == "https://\(path)")
    #expect(try asked() == "https://\(path)")
    #expect(try asked(after: "http://localhost:8080/") == "http://\(path)")
    let far = try GateStage(allowsPlainLoopback: true)
    let other = GateClient(far.session, over: api)
    #expect(throws: GateError.challenge(.unknownName("login"))) {
      try other.attestAndWait("login")
    }
    #expect(api.sent.last?.url.hasPrefix("https://api.example.com/") == true)
  }

  @Test("each way in which it ends without a clearance has its number")
  func codes() throws {
    func error(
      _ answer: @escaping @Sendable (Request, Int) throws(TransportError) -> TransportResponse
    ) throws -> Int? {
      let stage = try GateStage()
      let client = GateClient(stage.session, over: ScriptedAPI(answer))
      return #expect(throws: GateError.self) { try client.attestAndWait("login") }?.attestationCode
    }
    #expect(try error { _, _ in TransportResponse(status: 404, body: []) } == 3)
    #expect(try error { _, _ throws(TransportError) in throw .unreachable("x") } == 5)
    #expect(try error { _, _ in TransportResponse(status: 403, body: []) } == 6)
    #expect(try error { _, _ in challenged(challengeID(7, level: 1)) } == 6)
    #expect(try error { _, _ in challenged(challengeID(9)) } == 7)
    #expect(try error { _, _ in TransportResponse(status: 200, body: Array("{}".utf8)) } == 3)
    let stage = try GateStage(isStarted: false)
    let client = GateClient(stage.session)
    #expect(
      #expect(throws: GateError.self) { try client.attestAndWait("login") }?.attestationCode == 2)
    let time = try GateStage()
    let late = GateClient(
      time.session,
      over: ScriptedAPI { _, _ in
        time.time.advance(.seconds(61))
        return challenged(challengeID(7, level: 18))
      })
    #expect(
      #expect(throws: GateError.self) { try late.attestAndWait("login") }?.attestationCode == 4)
  }

  @Test("calls for one name at once share one answer, and the last one that leaves ends it")
  func shared() async throws {
    let stage = try GateStage()
    let entered = Handover<Bool>()
    let api = CancellableAPI(entered)
    let client = GateClient(stage.session, over: api)
    let tasks = (0..<5).map { _ in
      Task { () -> GateError? in
        do throws(GateError) {
          _ = try await client.attest("login")
          return nil
        } catch { return error }
      }
    }
    await entered.arrival()
    for task in tasks { task.cancel() }
    for task in tasks { #expect(await task.value == .cancelled) }
    await api.ended.arrival()
  }
}

/// Answers when the request is cancelled.
private struct CancellableAPI: Transport {
  let entered: Handover<Bool>
  let ended = Handover<Bool>()

  init(_ entered: Handover<Bool>) { self.entered = entered }

  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    let stop = Handover<Bool>()
    request.cancellation.withHandler({ stop.give(true) }) {
      entered.give(true)
      _ = stop.wait()
    }
    ended.give(true)
    throw .cancelled
  }
}
