// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

/// The APIs of a gate, in the test's process: answers what the test says.
final class ScriptedAPI: Transport {
  let requests = CoreLock<[TransportRequest]>([])
  private let answer: @Sendable (Request, Int) throws(TransportError) -> TransportResponse

  init(_ answer: @escaping @Sendable (Request, Int) throws(TransportError) -> TransportResponse) {
    self.answer = answer
  }

  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    let number = requests.withLock { requests in
      requests.append(request)
      return requests.count
    }
    return try answer(
      Request(
        request.method ?? "", request.url, fields: request.fields ?? [], body: request.body),
      number)
  }

  var sent: [Request] {
    requests.withLock { $0 }.map {
      Request($0.method ?? "", $0.url, fields: $0.fields ?? [], body: $0.body)
    }
  }
}

func refusal(_ word: String, _ status: Int = 401) -> TransportResponse {
  TransportResponse(
    status: status, body: [],
    fields: [
      HeaderField("Proof-Refusal", word), HeaderField("Date", "Sun, 17 Mar 2030 17:46:40 GMT"),
    ])
}

@Suite("A client for protected APIs")
struct ProtectedClientTests {
  private func perform(
    _ stage: GateStage, _ request: Request? = nil,
    _ answer: @escaping @Sendable (Request, Int) throws(TransportError) -> TransportResponse
  ) -> (Result<Response, GateError>, ScriptedAPI) {
    let api = ScriptedAPI(answer)
    let client = GateClient(stage.session, over: api)
    do throws(GateError) {
      return (.success(try client.performAndWait(request ?? stage.request)), api)
    } catch {
      return (.failure(error), api)
    }
  }

  @Test("a request is sent with its proof, and the answer is the app's with any status")
  func plain() throws {
    let stage = try GateStage()
    for status in [200, 204, 302, 403, 500] {
      let (result, api) = perform(stage) { _, _ in TransportResponse(status: status, body: [7]) }
      #expect(try result.get() == Response(status: status, body: [7]))
      let sent = try #require(api.sent.first)
      #expect(api.sent.count == 1 && sent.method == "POST" && sent.body == stage.request.body)
      #expect(sent.values(of: "x-proof").count == 1)
      #expect(sent.values(of: "content-type") == ["application/json"])
    }
  }

  @Test("where the gate asks for the token it is sent, in the same call")
  func token() throws {
    let stage = try GateStage()
    _ = perform(stage) { _, _ in TransportResponse(status: 200, body: []) }
    let (result, api) = perform(stage) { request, _ in
      request.values(of: "x-token").isEmpty
        ? refusal("token") : TransportResponse(status: 200, body: [])
    }
    #expect(try result.get().status == 200)
    #expect(api.sent.map { $0.values(of: "x-token").count } == [0, 1])
    // Each sending has a proof of its own.
    let secret = try stage.gate.open(api.sent[1])
    let keys = try api.sent.map { try stage.gate.check($0, secret: secret).replayKey }
    #expect(Set(keys).count == 2)
  }

  @Test(
    "a token is sent twice at most, then there is an error and no more requests",
    arguments: [401, 428])
  func tokenTwice(status: Int) throws {
    let stage = try GateStage()
    let (result, api) = perform(stage) { _, _ in refusal("token", status) }
    #expect(result == .failure(.tokenRefused))
    #expect(api.sent.map { $0.values(of: "x-token").count } == [1, 1])
    let (again, none) = perform(stage) { _, _ in refusal("token", status) }
    #expect(again == .failure(.tokenRefused) && none.sent.isEmpty)
    // With another token the gate is asked again.
    stage.time.advance(.seconds(1))
    _ = stage.session.work()
    let (last, _) = perform(stage) { _, _ in TransportResponse(status: 200, body: []) }
    #expect(try last.get().status == 200)
  }

  @Test("a gate that refuses each token, though another one comes each time, ends the call")
  func tokenAlways() throws {
    let stage = try GateStage { $0.life = 10 }
    let api = ScriptedAPI { _, _ in
      stage.time.advance(.seconds(9))
      _ = stage.session.work()
      return refusal("token")
    }
    let client = GateClient(stage.session, over: api)
    #expect(throws: GateError.tokenRefused) {
      try client.performAndWait(stage.request, within: .seconds(1000))
    }
    #expect(stage.asked == 4 && Set(api.sent.map { $0.values(of: "x-token") }).count == 3)
    #expect(api.sent.count == 3)
  }

  @Test(
    "a proof that is refused for its time or for itself is made anew once",
    arguments: ["clock", "proof"])
  func anew(word: String) throws {
    let stage = try GateStage()
    let (result, api) = perform(stage) { _, number in
      number == 1 ? refusal(word) : TransportResponse(status: 200, body: [])
    }
    #expect(try result.get().status == 200 && api.sent.count == 2)
    #expect(api.sent[0].values(of: "x-proof") != api.sent[1].values(of: "x-proof"))
    let (second, others) = perform(stage) { _, _ in refusal(word) }
    #expect(try second.get().status == 401 && others.sent.count == 2)
  }

  @Test(
    "a refusal that the client cannot mend is an answer",
    arguments: ["refused", "", "TOKEN", "else"])
  func refused(word: String) throws {
    let stage = try GateStage()
    let (result, api) = perform(stage) { _, _ in refusal(word) }
    #expect(try result.get().status == 401 && api.sent.count == 1)
    // The same field on another status means nothing.
    let (other, _) = perform(stage) { _, _ in refusal("token", 200) }
    #expect(try other.get().status == 200)
  }

  @Test("nothing at all is sent to a host that the account does not list")
  func unlisted() throws {
    let stage = try GateStage()
    let (result, api) = perform(stage, Request("GET", "https://evil.example.com/")) { _, _ in
      TransportResponse(status: 200, body: [])
    }
    #expect(result == .failure(.hostNotListed("evil.example.com")) && api.sent.isEmpty)
  }

  @Test("the account's pins for the host go with each request; roots alone are an error")
  func pins() throws {
    let service = InProcessService()
    service.set {
      $0.pins = ["api.example.com": [pin(1), pin(2)], "pay.example.com": [], "*": [pin(3)]]
    }
    let stage = try GateStage(service)
    let (_, api) = perform(stage) { _, _ in TransportResponse(status: 200, body: []) }
    #expect(api.requests.withLock { $0.first?.pins } == [pin(1), pin(2)])
    let (roots, none) = perform(stage, Request("GET", "https://pay.example.com/")) { _, _ in
      TransportResponse(status: 200, body: [])
    }
    guard case .failure(.transport(.refused)) = roots else {
      Issue.record("\(roots)")
      return
    }
    #expect(none.sent.isEmpty)
  }

  @Test("time that is over and a cancellation are errors of their own")
  func time() throws {
    let stage = try GateStage()
    let time = stage.time
    let (late, api) = perform(stage) { _, _ in
      time.advance(.seconds(61))
      return refusal("clock")
    }
    #expect(late == .failure(.timedOut) && api.sent.count == 1)
    let cancellation = Cancellation()
    cancellation.cancel()
    let client = GateClient(
      stage.session, over: ScriptedAPI { _, _ in TransportResponse(status: 200, body: []) })
    #expect(throws: GateError.cancelled) {
      try client.performAndWait(stage.request, cancellation: cancellation)
    }
    let (broken, _) = perform(stage) { _, _ throws(TransportError) in throw .unreachable("x") }
    #expect(broken == .failure(.transport(.unreachable("x"))))
  }

  @Test("cancelling the task ends the request")
  func cancelled() async throws {
    let stage = try GateStage()
    let entered = Handover<Bool>()
    let api = WaitingAPI(entered)
    let client = GateClient(stage.session, over: api)
    let task = Task { () -> GateError? in
      do throws(GateError) {
        _ = try await client.perform(stage.request)
        return nil
      } catch { return error }
    }
    await entered.arrival()
    task.cancel()
    #expect(await task.value == .cancelled)
  }

  @Test("an event goes with its request, in a field of its own")
  func event() throws {
    let stage = try GateStage()
    let api = ScriptedAPI { _, _ in TransportResponse(status: 200, body: []) }
    _ = try GateClient(stage.session, over: api).performAndWait(
      stage.request, event: 3301, data: [1])
    let sent = try #require(api.sent.first)
    let token = EventToken(text: try #require(sent.values(of: "proof-event").first), cause: nil)
    let checked = try stage.gate.check(token, stage.gate.open(sent), data: [1])
    #expect(checked.event == 3301)
  }
}

/// Answers when the request is cancelled.
private struct WaitingAPI: Transport {
  let entered: Handover<Bool>

  init(_ entered: Handover<Bool>) { self.entered = entered }

  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    let ended = Handover<Bool>()
    request.cancellation.withHandler({ ended.give(true) }) {
      entered.give(true)
      _ = ended.wait()
    }
    throw .cancelled
  }
}
