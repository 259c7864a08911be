// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ProofRequest
import Testing

@testable import ProofKit

/// An app whose APIs are behind one gate, or behind none.
struct ClientStage {
  static let domains = #"""
    {"api.example.com":"proof","pay.example.com":"proof","open.example.com":"none",
    "token.example.com":"token","measured.example.com":"measurement","roots.example.com":"none"}
    """#

  let app: AppStage
  let attestor: Attestor
  let apis: ProtectedAPIs
  let gate = TestGate()
  let lines = CoreLock<[String]>([])

  var client: ProtectedClient { attestor.client }

  init(
    _ service: InProcessService = InProcessService(),
    _ change: (inout Configuration) -> Void = { _ in }
  ) throws {
    let (gate, lines) = (gate, lines)
    app = try AppStage(service, claims: ["dom": Self.domains]) { configuration in
      configuration.log = Log(upTo: .warning) { level, line in
        lines.withLock { $0.append("\(level) \(line)") }
      }
      change(&configuration)
    }
    service.set { $0.admit = { try gate.admission($0, $1, $2) } }
    apis = ProtectedAPIs(service)
    attestor = try Attestor(
      app.configuration, using: Parts(probe: app.scene, transport: apis, clock: app.time.clock))
  }

  func request(_ host: String = "api.example.com") -> Request {
    Request("POST", "https://\(host)/payments", body: [1])
  }
}

@Suite("A client at APIs without a gate")
struct OpenAPITests {
  private func service() -> InProcessService {
    let service = InProcessService()
    service.set {
      $0.pins = [
        "open.example.com": [pin(1)], "open.example.com:444": [pin(2)], "roots.example.com": [],
        "*": [pin(3)],
      ]
    }
    return service
  }

  @Test("a request goes as it is, with 60 s and 16 MiB, or with the limits of the call")
  func asItIs() async throws {
    let stage = try ClientStage(service())
    let request = Request(
      "PUT", "https://open.example.com/a?b", fields: [HeaderField("X-A", "b")], body: [1, 2])
    stage.apis.answers.withLock {
      $0 = [TransportResponse(status: 418, body: [9], fields: [HeaderField("C", "d")])]
    }
    let response = try await stage.client.perform(request)
    #expect(response == Response(status: 418, fields: [HeaderField("C", "d")], body: [9]))
    _ = try await stage.client.perform(request, within: .seconds(7), responseLimit: 8)
    let sent = stage.apis.sent.withLock { $0 }
    #expect(sent.map(\.timeout) == [.seconds(60), .seconds(7)])
    #expect(sent.map(\.responseLimit) == [1 << 24, 8])
    for each in sent {
      #expect(each.method == "PUT" && each.url == request.url && each.body == [1, 2])
      #expect(each.fields == request.fields && each.pins == [pin(1)])
    }
  }

  @Test("the pins of a host with its port come before those of the host")
  func pins() async throws {
    let stage = try ClientStage(service())
    for host in ["open.example.com:444", "open.example.com:445", "token.example.com"] {
      _ = try await stage.client.perform(stage.request(host))
    }
    #expect(stage.apis.sent.withLock { $0.map(\.pins) } == [[pin(2)], [pin(1)], []])
    let reason =
      "the account pins roots.example.com by trusted roots alone: give the host pins of its own"
    await #expect(throws: GateError.transport(.refused(reason))) {
      try await stage.client.perform(stage.request("roots.example.com"))
    }
    #expect(stage.apis.sent.withLock { $0.count } == 3)
  }

  @Test("an API that needs a token or a measurement gets no proof from the client")
  func kinds() async throws {
    let stage = try ClientStage()
    for host in ["token.example.com", "measured.example.com"] {
      #expect(try await stage.client.perform(stage.request(host)).status == 200)
      #expect(try await stage.client.guarded(stage.request(host)).fields.isEmpty)
    }
    #expect(stage.apis.sent.withLock { $0.allSatisfy { $0.fields?.isEmpty == true } })
    #expect(stage.app.service.count("report") == 0)
  }

  @Test("a failure of the network is the call's error, and a cancelled one is its own")
  func failures() async throws {
    let stage = try ClientStage()
    for failure in [TransportError.unreachable("x"), .timedOut("x"), .cancelled] {
      stage.apis.failure.withLock { $0 = failure }
      let error = failure == .cancelled ? GateError.cancelled : .transport(failure)
      await #expect(throws: error) {
        try await stage.client.perform(stage.request("open.example.com"))
      }
    }
  }

  @Test("a request that no reader understands is refused with its reason, and nothing is sent")
  func malformed() async throws {
    let stage = try ClientStage()
    await #expect(throws: GateError.malformedMethod("GE T")) {
      try await stage.client.perform(Request("GE T", "https://open.example.com/"))
    }
    let error = await #expect(throws: GateError.self) {
      try await stage.client.perform(Request("GET", "nonsense"))
    }
    guard case .malformedRequest? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    await #expect(throws: GateError.malformedHost("a b")) {
      try await stage.client.attest("slider", at: "a b")
    }
    #expect(stage.apis.sent.withLock { $0.isEmpty })
  }

  @Test("without a configuration the error says whether waiting helps")
  func unconfigured() async throws {
    for (status, heals) in [(503, true), (404, false)] {
      let service = InProcessService()
      let stage = try ClientStage(service) { $0.account = service.shortForm }
      service.set { $0.status = status }
      let error = await #expect(throws: GateError.self) {
        try await stage.client.perform(stage.request("open.example.com"))
      }
      switch error {
      case .notReady(let cause?)?: #expect(heals && cause.canHeal)
      case .attestation(let cause)?: #expect(!heals && !cause.canHeal)
      default: Issue.record("\(String(describing: error))")
      }
    }
  }
}

@Suite("A client at APIs behind gates")
struct GatedAPITests {
  @Test("a request that the installation signs needs a key")
  func installation() async throws {
    let stage = try ClientStage()
    await #expect(throws: GateError.installationKey(nil)) {
      try await stage.client.perform(stage.request(), isSignedByInstallation: true)
    }
    await #expect(throws: GateError.installationKey(nil)) {
      try await stage.client.guarded(stage.request(), isSignedByInstallation: true)
    }
    #expect(stage.apis.sent.withLock { $0.isEmpty })
    #expect(try await stage.client.perform(stage.request()).status == 200)
  }

  @Test("the limits of the call, its event and its data go with the request")
  func limits() async throws {
    let stage = try ClientStage()
    _ = try await stage.client.perform(
      stage.request(), event: 3301, data: [7], within: .seconds(9), responseLimit: 10)
    _ = try await stage.client.perform(stage.request())
    let sent = stage.apis.sent.withLock { $0 }
    #expect(sent.map(\.timeout) == [.seconds(9), .seconds(60)])
    #expect(sent.map(\.responseLimit) == [10, 1 << 24])
    let first = Request("POST", sent[0].url, fields: sent[0].fields ?? [], body: sent[0].body)
    let text = try #require(first.values(of: "proof-event").first)
    let event = try stage.gate.check(
      EventToken(text: text, cause: nil), stage.gate.open(first), data: [7])
    #expect(event.event == 3301)
    let guarded = try await stage.client.guarded(stage.request(), event: 3302, data: [8])
    let other = try #require(guarded.values(of: "proof-event").first)
    _ = try stage.gate.check(
      EventToken(text: other, cause: nil), stage.gate.open(first), data: [8])
  }

  @Test("an app's own client finds a challenge, solves it, and answers with the next request alone")
  func challenge() async throws {
    let stage = try ClientStage()
    let sent = try await stage.client.guarded(stage.request())
    let id = challengeID(7, level: 1)
    let asked = CoreLock<[String]>([])
    let challenge = try #require(
      stage.client.challenge(
        status: 428,
        header: { name in
          asked.withLock { $0.append(name) }
          return name == "proof-challenge" ? id : nil
        }, to: sent))
    #expect(
      Set(asked.withLock { $0 }) == [
        "proof-time", "proof-nonce", "proof-refusal", "proof-challenge", "proof-clearance",
        "proof-ticket", "date",
      ])
    #expect(challenge.host == "api.example.com" && !challenge.needsPerson)
    try await stage.client.solve(challenge)
    let next = try await stage.client.guarded(stage.request())
    #expect(next.values(of: "proof-challenge") == [id])
    #expect(next.values(of: "proof-answer").count == 1)
    #expect(try await stage.client.guarded(stage.request()).values(of: "proof-answer").isEmpty)
  }

  @Test("a challenge for a person needs a page, and one without a body to repeat is not solved")
  func person() async throws {
    let stage = try ClientStage()
    let sent = try await stage.client.guarded(stage.request())
    func challenge(_ request: some ProvableRequest) throws -> ProtectedClient.Challenge {
      try #require(
        stage.client.challenge(
          status: 428, header: { $0 == "proof-challenge" ? challengeID(9) : nil }, to: request))
    }
    #expect(try challenge(sent).needsPerson)
    await #expect(throws: GateError.challenge(.presenterMissing)) {
      try await stage.client.solve(challenge(sent))
    }
    await #expect(throws: GateError.challenge(.bodyNotRepeatable)) {
      try await stage.client.solve(challenge(StreamedRequest(request: sent)))
    }
  }

  @Test("an answer asks for another request by status 428, or by a refusal of token, time or proof")
  func repeated() async throws {
    let stage = try ClientStage()
    let sent = try await stage.client.guarded(stage.request())
    for (word, mustRepeat) in [
      ("clock", true), ("proof", true), ("token", true), ("refused", false),
    ] {
      let found = stage.client.challenge(
        status: 401, header: { $0 == "proof-refusal" ? word : nil }, to: sent)
      #expect((found != nil) == mustRepeat, "\(word)")
    }
    let id = challengeID(7, level: 1)
    func isFound(_ status: Int, _ request: Request) -> Bool {
      stage.client.challenge(
        status: status, header: { $0 == "proof-challenge" ? id : nil }, to: request) != nil
    }
    #expect(isFound(428, sent))
    for status in [200, 401, 403, 427, 429] { #expect(!isFound(status, sent)) }
    #expect(!isFound(428, stage.request("open.example.com")) && !isFound(428, Request("GET", "x")))
  }

  @Test("the clearance that a session holds is told for the gate's hosts alone")
  func clearance() async throws {
    let stage = try ClientStage()
    #expect(await stage.client.clearance(for: "api.example.com") == nil)
    let sent = try await stage.client.guarded(stage.request())
    #expect(await stage.client.clearance(for: "api.example.com") == nil)
    let text = try clearanceText(stage)
    _ = stage.client.challenge(
      status: 200, header: { $0 == "proof-clearance" ? text : nil }, to: sent)
    #expect(await stage.client.clearance(for: "api.example.com") == text)
    #expect(await stage.client.clearance(for: "API.example.com:443") == text)
    for host in ["pay.example.com", "open.example.com", "", "a b"] {
      #expect(await stage.client.clearance(for: host) == nil)
    }
  }

  /// A clearance for work (a) of level 3, of 15 minutes: docs/SPEC.md, *Clearance*.
  private func clearanceText(_ stage: ClientStage) throws -> String {
    let session = try #require(stage.attestor.gates.all.first?.session)
    let handle = try #require(session.state.withLock { $0.held?.admitted.handle.bytes })
    let expiry = UInt32(clamping: (stage.app.time.now + 900).seconds)
    var bytes: [UInt8] = [0x1A, 1, 4, 3, 1, 0]
    bytes += (0..<4).map { UInt8(truncatingIfNeeded: expiry >> ($0 * 8)) }
    bytes += [UInt8](repeating: 0, count: 8)
    let host = Digest(hashing: Array("pfc1.host.......api.example.com".utf8))
    bytes += host.bytes.prefix(16) + handle + [UInt8](repeating: 5, count: 16)
    return Base64.encode(bytes, .url)
  }

  @Test("an event is proved to the gate that lists it")
  func events() async throws {
    let stage = try ClientStage()
    let (first, second) = (stage.gate, TestGate())
    first.set { $0.hosts = ["api.example.com"] }
    second.set {
      $0.hosts = ["pay.example.com"]
      $0.events = 5000...5001
    }
    // The gates are asked for in the order of their hosts.
    let count = CoreLock(0)
    stage.app.service.set {
      $0.admit = { measurement, instance, generation in
        let number = count.withLock { count in
          count += 1
          return count
        }
        let gate = number == 1 ? first : second
        return try gate.admission(measurement, instance, generation)
      }
    }
    try await stage.attestor.ready()
    #expect(count.withLock { $0 } == 2)
    let paid = try await stage.client.guarded(stage.request("pay.example.com"))
    let token = try stage.attestor.eventToken(for: 5001)
    #expect(token.cause == nil)
    #expect(try second.check(token, second.open(paid)).event == 5001)
    let served = try await stage.client.guarded(stage.request())
    let other = try stage.attestor.eventToken(for: 3300)
    #expect(try first.check(other, first.open(served)).event == 3300)
    #expect(throws: GateError.unknownEvent(5002)) { try stage.attestor.eventToken(for: 5002) }
  }

  @Test("an event before ready() is a token in the error state, and one line of the log")
  func notStarted() throws {
    let stage = try ClientStage()
    let token = try stage.attestor.eventToken(for: 3300)
    #expect(token.cause == .notStarted)
    #expect(CompactToken.cause(in: token.text, as: .event) == CompactCause.notStarted.rawValue)
    #expect(
      stage.lines.withLock { $0 } == [
        "warning event token in the error state: ready() was not called"
      ])
  }

  @Test("the failure of a gate's admission is that of the fetch, and others have its words")
  func errors() {
    let failure = AttestationError(.rejected)
    #expect(AttestationError(of: .attestation(failure)) == failure)
    #expect(AttestationError(of: .notReady(failure)) == failure)
    #expect(AttestationError(of: .cancelled).reason == .cancelled)
    for error in [GateError.notReady(nil), .timedOut, .notMeasured(reason: "x")] {
      let told = AttestationError(of: error)
      #expect(told.status == .internalError && told.words == error.description)
    }
  }
}

@Suite("The gates of an attestor")
struct GatesTests {
  private static let api = APIAuthority("api.example.com")

  private func gate(_ gates: Gates, _ stage: ClientStage) throws -> Gates.Gate {
    try gates.gate(for: #require(Self.api), of: stage.attestor)
  }

  @Test("have the user that was set, until the account is another one")
  func user() throws {
    let stage = try ClientStage()
    let gates = Gates()
    func name() throws -> String? {
      try gate(gates, stage).session.state.withLock { $0.account?.name }
    }
    gates.configure(stage.app.configuration, account: "acme")
    #expect(try name() == nil)
    try gates.setUser("ada")
    #expect(try name() == "ada")
    gates.configure(stage.app.configuration, account: "acme")
    #expect(gates.all.isEmpty)
    #expect(try name() == "ada" && gates.all.count == 1)
    gates.configure(stage.app.configuration, account: "other")
    #expect(try name() == nil)
  }

  @Test("give out each answer to a challenge once, to its host, under its configuration")
  func answers() throws {
    let stage = try ClientStage()
    let gates = Gates()
    let answer = [HeaderField("proof-answer", "x")]
    gates.take(answer, for: "a.example.com")
    #expect(gates.answer(for: "b.example.com") == [])
    #expect(gates.answer(for: "a.example.com") == answer)
    #expect(gates.answer(for: "a.example.com") == [])
    gates.take(answer, for: "a.example.com")
    gates.configure(stage.app.configuration, account: "acme")
    #expect(gates.answer(for: "a.example.com") == [])
    #expect(gates.configuration?.storage == stage.app.folder)
  }

  @Test("have the app's folder, log and loopback, and a client that signs")
  func settings() throws {
    for isAllowed in [false, true] {
      let stage = try ClientStage {
        $0.network.allowsPlainLoopback = isAllowed
        $0.challenges.workLevelMax = 7
      }
      let made = try gate(stage.attestor.gates, stage)
      #expect(made.session.options.store?.folder == stage.app.folder)
      #expect(made.session.options.allowsPlainLoopback == isAllowed)
      #expect(made.session.log.level == .warning && made.session.host == "api.example.com")
      #expect(made.signing.signsByInstallation && !made.client.signsByInstallation)
      #expect(made.client.challenges.workLevelMax == 7 && made.signing.challenges.workLevelMax == 7)
      let again = try gate(stage.attestor.gates, stage)
      #expect(again.session === made.session && again.client === made.client)
    }
  }
}

/// A request whose body the HTTP library reads from a stream.
private struct StreamedRequest: ProvableRequest {
  var request: Request

  var method: String { request.method }
  var url: String { request.url }
  var body: [UInt8]? { request.body }
  var isRepeatable: Bool { false }

  func values(of name: String) -> [String] { request.values(of: name) }
  mutating func set(_ name: String, to value: String?) { request.set(name, to: value) }
}
