// SPDX-License-Identifier: Apache-2.0

import ProofMigration
import ProofModel
import Testing

@testable import ProofKit

@Suite("Errors of a gate session")
struct GateErrorTests {
  /// The error of a start under a condition.
  private func start(_ change: (inout InProcessService.State) -> Void) throws -> GateError {
    let stage = try GateStage(isStarted: false)
    stage.service.set(change)
    _ = stage.session.begin(nil)
    _ = stage.session.work()
    return try #require(stage.session.lastError)
  }

  @Test("a network error is -4, and heals")
  func network() throws {
    for failure in [TransportError.unreachable("x"), .timedOut("x"), .untrusted("x")] {
      let error = try start { $0.failure = failure }
      #expect(error.initializationCode == -4 && error.attestationCode == 5)
    }
  }

  @Test("an empty answer is -5, one that does not parse -6, another status -8")
  func answers() throws {
    #expect(try start { $0.tamper = { _, _ in [] } }.initializationCode == -5)
    #expect(
      try start { $0.tamper = { $0 == "report" ? [] : $1 } }.initializationCode == -5)
    #expect(try start { $0.tamper = { _, _ in [1, 2] } }.initializationCode == -6)
    #expect(
      try start { $0.tamper = { $0 == "report" ? $1 + [0] : $1 } }.initializationCode == -6)
    #expect(try start { $0.status = 503 }.initializationCode == -8)
    #expect(try start { $0.status = 400 }.initializationCode == -8)
  }

  @Test("a configuration that cannot be believed is -7")
  func configuration() throws {
    let service = InProcessService()
    let stage = try GateStage(service, isInitialized: false, isStarted: false)
    try stage.stage.attestor.initializeAndWait(service.shortForm)
    service.set { $0.configurationText = "nonsense" }
    _ = stage.session.begin(nil)
    _ = stage.session.work()
    #expect(stage.session.lastError?.initializationCode == -7)
  }

  @Test("an admission of another generation than the challenge's is not believed")
  func otherGeneration() throws {
    let stage = try GateStage(isStarted: false)
    let gate = stage.gate
    stage.service.set { $0.admit = { try gate.admission($0, $1, $2 + 1) } }
    _ = stage.session.begin(nil)
    _ = stage.session.work()
    #expect(stage.session.lastError?.initializationCode == -6 && !stage.session.isReady)
  }

  @Test("an API without a gate and a text that is no host are -10, a start that was left out is -1")
  func parameters() throws {
    #expect(try start { $0.outcome = .noGate }.initializationCode == -10)
    let stage = try GateStage(isStarted: false)
    for host in ["", "https://api.example.com", "a b", "-a.com"] {
      let error = #expect(throws: GateError.self) {
        try GateSession(stage.stage.attestor, for: host)
      }
      #expect(error?.initializationCode == -10)
    }
    let error = #expect(throws: GateError.self) { try stage.session.guarded(stage.request) }
    #expect(error?.initializationCode == -1 && error?.attestationCode == 2)
  }

  @Test(
    "a text that is empty is -9, a configuration of another key -12, and a folder without rights -2"
  )
  func attestor() throws {
    let stage = try Stage(isInitialized: false)
    func code(_ text: String, _ updates: Attestor.ConfigurationUpdates = .none) -> Int? {
      do throws(SetupError) {
        try stage.attestor.initializeAndWait(text, updates: updates)
        return nil
      } catch { return error.initializationCode }
    }
    #expect(code("") == -9)
    #expect(code("nonsense") == -10)
    #expect(code(stage.service.configuration(signer: .random())) == -12)
    let update = InProcessService().configuration()
    #expect(code(stage.service.configuration(), .given(update)) == -12)
    #expect(code(stage.service.shortForm, .automatic(.init(folder: "/dev/null/x"))) == -2)
  }

  @Test(
    "the three texts stand for a missing start, a request that makes no sense, and a bad method")
  func texts() throws {
    let stage = try GateStage(isStarted: false)
    func text(_ request: Request) -> String? {
      do throws(GateError) {
        _ = try stage.session.guarded(request)
        return nil
      } catch { return error.signingText }
    }
    #expect(text(stage.request) == "you must call init first")
    _ = stage.session.begin(nil)
    #expect(text(stage.request) == "you must call init first")
    _ = stage.session.work()
    #expect(text(stage.request) == nil)
    for url in ["", "nonsense", "https://api.example.com/ü", "https://api.example.com/a b"] {
      #expect(text(Request("POST", url)) == "you must input correct data")
    }
    for method in ["", "GE T", "POST\r\nX: y"] {
      #expect(text(Request(method, "https://api.example.com/")) == "you must input correct type")
    }
  }

  @Test("a request that two readers could read differently is not signed")
  func ambiguous() throws {
    var request = Request("GET", "https://api.example.com/a?")
    let standard = try GateStage { $0.form = .standard }
    #expect(throws: GateError.self) { try standard.session.guarded(request) }
    request = Request(
      "GET", "https://api.example.com/",
      fields: [HeaderField("Authorization", "a"), HeaderField("authorization", "b")])
    #expect(throws: GateError.self) { try standard.session.guarded(request) }
    #expect(throws: GateError.self) { try GateStage().session.guarded(request) }
  }

  @Test("an error says what failed and what to do, and each line of the log is one line")
  func words() {
    // The error, the code of an initialisation, and the number of an error of a challenge SDK.
    let errors: [(GateError, Int, Int)] = [
      (.notStarted, -1, 2), (.notReady(nil), -3, 5),
      (.notReady(AttestationError(.noNetwork)), -4, 5),
      (.notMeasured(reason: "no memory"), -11, 9), (.environmentChanged, -11, 9),
      (.storageUnusable(reason: "x"), -2, 9), (.malformedHost("a b"), -10, 9),
      (.hostNotListed("evil.com"), -10, 9), (.malformedMethod("GE T"), -10, 9),
      (.malformedRequest(reason: "x"), -10, 9), (.unknownEvent(7), -10, 9),
      (.malformedAccount(byteCount: 0), -10, 9), (.tokenRefused, -3, 6),
      (.transport(.cancelled), -4, 5), (.timedOut, -4, 4), (.cancelled, -3, 8),
    ]
    for (error, initialization, attestation) in errors {
      #expect(error.description.last == "." || error.description.last == "x")
      #expect(error.initializationCode == initialization, "\(error)")
      #expect(error.attestationCode == attestation, "\(error)")
    }
  }

  @Test("each status of a fetch, and each error of a set-up, has its code")
  func codes() {
    let network: Set<FetchStatus> = [.noNetwork, .poorNetwork, .mitmDetected]
    let setUp: Set<FetchStatus> = [.badURL, .unknownURL, .unprotectedURL, .disabled]
    for status in FetchStatus.allCases where status != .success {
      let error = GateError.attestation(AttestationError(status))
      let others: [FetchStatus: Int] = [.noService: -8, .keyUnavailable: -11, .notInitialized: -1]
      let code = network.contains(status) ? -4 : setUp.contains(status) ? -10 : others[status] ?? -3
      #expect(error.initializationCode == code, "\(status)")
      let heals = network.contains(status) || [.noService, .keyUnavailable].contains(status)
      #expect(error.attestationCode == (status == .notInitialized ? 1 : heals ? 5 : 9), "\(status)")
    }
    let errors: [(SetupError, Int)] = [
      (.notInitialized, -1), (.notMeasured(.randomFailed), -11), (.storeUnusable(reason: "x"), -2),
      (.malformedConfiguration(reason: "it is empty"), -9),
      (.malformedConfiguration(reason: "x"), -10), (.untrustedConfiguration(reason: "x"), -12),
      (.configurationTooOld(serial: 1, held: 2), -12),
      (.configurationOfAnotherAccount(expected: "a", actual: "b"), -10),
      (.alreadyInitialized(account: "a"), -10), (.fetchesInFlight(count: 1), -10),
      (.malformedRoute(reason: "x"), -10),
      (.outOfRange(field: "a", value: "b", allowed: "c"), -10),
      (.needsNewAttestor(setting: "a"), -10),
    ]
    for (error, code) in errors { #expect(error.initializationCode == code, "\(error)") }
  }

  @Test("an error of a challenge has the number of a challenge SDK")
  func challengeNumbers() {
    for (error, number) in [
      (.malformed(reason: "x"), 3), (.unknownName("n"), 3), (.tooHard(level: 9, allowed: 1), 6),
      (.rejected(status: 403), 6), (.presenterMissing, 7), (.page(.cancelled), 8),
      (.page(.network), 5), (.page(.verificationFailed), 6), (.page(.abnormalData), 9),
      (.outOfMemory, 9), (.bodyNotRepeatable, 9),
    ] as [(ChallengeError, Int)] { #expect(error.attestationCode == number, "\(error)") }
  }
}

@Suite("The log of a gate session")
struct GateLogTests {
  /// A session's whole life.
  private func live(_ level: Log.Level) throws -> ([(Log.Level, String)], [String]) {
    let stage = try GateStage(log: level) { $0.freshness = 1 }
    try stage.session.setAccount("ada@example.com")
    let sent = try stage.session.guarded(stage.request, event: 3300, data: [1])
    let event = try stage.session.eventToken(for: 3301)
    let ask = Response(status: 401, fields: [HeaderField("Proof-Refusal", "token")])
    for _ in 0..<2 { stage.session.note(ask, to: try stage.session.guarded(stage.request)) }
    stage.service.set { $0.failure = .unreachable("nobody\nthere") }
    stage.time.advance(.seconds(60))
    _ = stage.session.work()
    stage.stage.scene.state.withLock { $0.looks[.environment] = 1 }
    _ = try? stage.session.guarded(stage.request)
    _ = try stage.session.eventToken(for: 3300)
    stage.session.stop()
    let secret = try stage.gate.open(sent)
    var secrets = [event.text, "ada@", "Bearer t", "cents"]
    for name in ["x-proof", "x-token", "x-digest", "proof-event"] {
      secrets += sent.values(of: name).map { String($0.prefix(12)) }
    }
    secret.keys.withRequestKey { key in
      let bytes = (0..<key.byteCount).map {
        unsafe key.unsafeLoad(fromByteOffset: $0, as: UInt8.self)
      }
      secrets.append(String(Base64.encode(bytes).prefix(8)))
      secrets.append(bytes.prefix(6).map { String($0, radix: 16) }.joined())
    }
    try stage.gate.accountKey().withBytes { _ in }
    secrets.append(String(repeating: "09", count: 4))
    let instance = try #require(stage.session.state.withLock { $0.held?.admitted.instance })
    secrets.append(instance.description)
    return (stage.lines.withLock { $0 }, secrets)
  }

  @Test(
    "each level has its lines and those above, and none has a secret", arguments: Log.Level.allCases
  )
  func levels(level: Log.Level) throws {
    let (lines, secrets) = try live(level)
    #expect(lines.isEmpty == (level < .warning))
    for (weight, line) in lines {
      #expect(weight <= level && weight != .none && !line.contains("\n"))
      for secret in secrets { #expect(!line.contains(secret), "\(line)") }
    }
    if level == .debug { #expect(Set(lines.map(\.0)) == [.warning, .info, .debug]) }
    let proved = lines.filter { $0 == (.debug, "POST api.example.com: proved") }
    #expect(proved.isEmpty == (level < .debug))
    let ready = lines.filter { $0.1.hasPrefix("ready: account acme, app door, SDK ") }
    #expect(ready.count == (level >= .info ? 1 : 0))
    #expect(ready.allSatisfy { $0.1.contains("instance ") })
  }
}
