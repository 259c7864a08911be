// SPDX-License-Identifier: Apache-2.0

import ProofMigration
import ProofModel
import Testing

@testable import ProofKit

@Suite("The work of a gate session")
struct GateWorkTests {
  /// The calls of a ready handler.
  final class Calls: Sendable {
    let errors = CoreLock<[GateError?]>([])
    let first = Handover<GateError?>()

    func note(_ error: GateError?) {
      errors.withLock { $0.append(error) }
      first.give(error)
    }
  }

  @Test("an app that cannot be measured with its admission asks for the next one after a wait")
  func unmeasured() throws {
    let stage = try GateStage(isStarted: false)
    let (scene, gate) = (stage.stage.scene, stage.gate)
    stage.service.set {
      $0.admit = { measurement, instance, generation in
        scene.state.withLock { $0.failure = .evidenceUnavailable(reason: "x") }
        return try gate.admission(measurement, instance, generation)
      }
    }
    _ = stage.session.begin(nil)
    for _ in 0..<3 { _ = stage.session.work() }
    guard case .notMeasured? = stage.session.lastError else {
      Issue.record("\(String(describing: stage.session.lastError))")
      return
    }
    #expect(stage.asked == 1)
    scene.state.withLock { $0.failure = nil }
    stage.time.advance(.seconds(2))
    _ = stage.session.work()
    #expect(stage.asked == 2)
  }

  @Test("start returns at once, and its thread calls the handler once, on another thread")
  func ready() throws {
    let gate = TestGate()
    let service = InProcessService()
    service.set { $0.admit = { try gate.admission($0, $1, $2) } }
    let attestor = Attestor(observer: Scene(), over: service, appName: "door")
    try attestor.initializeAndWait(service.configuration())
    let session = try GateSession(attestor, for: "api.example.com")
    let calls = Calls()
    session.start { calls.note($0) }
    #expect(calls.first.wait() == nil && session.isReady)
    session.start { calls.note($0) }
    #expect(calls.errors.withLock { $0.count } == 1 && gate.settings.withLock { $0.issued } == 1)
    session.stop()
    #expect(!session.isReady)
    #expect(throws: GateError.notStarted) {
      try session.guarded(Request("GET", "https://api.example.com/"))
    }
    let again = Calls()
    session.start { again.note($0) }
    #expect(again.first.wait() == nil)
    session.stop()
  }

  @Test("a session that is dropped ends its thread and its fetch")
  func drop() throws {
    let entered = Handover<Cancellation>()
    let ended = Handover<Bool>()
    let service = InProcessService(gate: { path, cancellation in
      guard path == "challenge" else { return }
      let signal = Handover<Bool>()
      cancellation.withHandler({ signal.give(true) }) {
        entered.give(cancellation)
        ended.give(signal.wait())
      }
    })
    let attestor = Attestor(observer: Scene(), over: service, appName: "door")
    try attestor.initializeAndWait(service.configuration())
    let session = try GateSession(attestor, for: "api.example.com")
    session.start()
    _ = entered.wait()
    session.stop()
    #expect(ended.wait())
  }

  @Test("with a bad network the session tries again after 1, 2, 4 … 60 s, and then it is ready")
  func backOff() throws {
    let stage = try GateStage(isStarted: false)
    let calls = Calls()
    stage.service.set { $0.failure = .unreachable("x") }
    #expect(stage.session.begin { calls.note($0) })
    var waits: [Int64] = []
    for _ in 0..<9 {
      let now = stage.time.clock.uptime()
      let next = try stage.due()
      waits.append((next - now).components.seconds)
      // Nothing is asked a moment earlier.
      let asked = stage.service.count("challenge")
      stage.time.advance(next - now - .milliseconds(1))
      _ = stage.session.work()
      #expect(stage.service.count("challenge") == asked)
      stage.time.advance(.milliseconds(1))
    }
    #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60])
    #expect(calls.errors.withLock { $0.isEmpty })
    #expect(stage.session.lastError?.initializationCode == -4)
    let refusal = #expect(throws: GateError.self) { try stage.session.guarded(stage.request) }
    guard case .notReady(let last?) = refusal else {
      Issue.record("\(String(describing: refusal))")
      return
    }
    #expect(last.reason == .noNetwork && last.code == "SDK-1")
    #expect(try stage.session.eventToken(for: 3300).cause == .notReady)
    stage.service.set { $0.failure = nil }
    _ = stage.session.work()
    #expect(calls.first.wait() == nil)
    #expect(try stage.session.eventToken(for: 3300).cause == nil)
    #expect(calls.errors.withLock { $0.count } == 1)
  }

  @Test("fifty threads start, and the handlers are called once in all")
  func threads() async throws {
    let stage = try GateStage(isStarted: false)
    let calls = Calls()
    let begun = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<50 { group.addTask { stage.session.begin { calls.note($0) } } }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    _ = stage.session.work()
    #expect(begun == 1 && calls.first.wait() == nil)
    #expect(calls.errors.withLock { $0.count } == 1 && stage.asked == 1)
  }

  @Test(
    "a failure that waiting does not mend goes to the handler, and tokens say so",
    arguments: [
      (AttestationAnswer.Outcome.noGate, FetchStatus.badURL), (.unknownDomain, .unknownURL),
      (.unprotectedDomain, .unprotectedURL), (.unbelievable, .internalError),
    ])
  func failure(outcome: AttestationAnswer.Outcome, status: FetchStatus) throws {
    let stage = try GateStage(isStarted: false)
    stage.service.set { $0.outcome = outcome }
    let calls = Calls()
    _ = stage.session.begin { calls.note($0) }
    #expect(stage.session.work() == .none)
    guard case .attestation(let failure) = calls.first.wait() else {
      Issue.record("no error")
      return
    }
    #expect(failure.status == status)
    let token = try stage.session.eventToken(for: 3300)
    #expect(token.cause == .failed && token.text.utf8.count == 88)
    #expect(CompactToken.cause(in: token.text, as: .event) == CompactCause.failed.rawValue)
    // Starting anew is allowed.
    stage.service.set { $0.outcome = .done }
    stage.time.advance(.seconds(30))
    _ = stage.session.begin(nil)
    _ = stage.session.work()
    #expect(try stage.session.eventToken(for: 3300).cause == nil)
  }

  @Test("stop drops the keys at once")
  func stopped() throws {
    let stage = try GateStage { $0.freshness = 10 }
    _ = try stage.session.guarded(stage.request)
    weak let keyring = stage.session.state.withLock { $0.keyring }
    #expect(keyring != nil)
    stage.session.stop()
    #expect(keyring == nil && !stage.session.isReady)
    #expect(stage.session.work() == .none)
  }

  @Test("before the start a token says that the SDK was not started")
  func notStarted() throws {
    let stage = try GateStage(isStarted: false)
    let token = try stage.session.eventToken(for: 3300)
    #expect(CompactToken.cause(in: token.text, as: .event) == CompactCause.notStarted.rawValue)
    #expect(throws: GateError.notStarted) { try stage.session.guarded(stage.request) }
  }

  @Test(
    "an admission is renewed at 72 to 88 % of its life",
    arguments: [(0.0, 2_592), (0.5, 2_880), (1.0, 3_168)])
  func renewal(random: Double, seconds: Int64) throws {
    let stage = try GateStage(jitter: random)
    let next = try stage.due()
    #expect((next - stage.time.clock.uptime()).components.seconds == seconds)
    stage.time.advance(next - stage.time.clock.uptime())
    // The app asked lately.
    _ = try stage.session.eventToken(for: 3300)
    _ = stage.session.work()
    #expect(stage.asked == 2)
  }

  @Test("an idle session stops renewing after ten minutes, and the next call starts it again")
  func quiet() throws {
    let stage = try GateStage()
    stage.time.advance(.seconds(2_880))
    #expect(stage.session.work() == .some(.none))
    stage.time.advance(.seconds(10_000))
    #expect(stage.session.work() == .some(.none))
    #expect(stage.asked == 1)
    // Its admission is over by now: the app has none until the service answers.
    #expect(try stage.session.eventToken(for: 3300).cause == .notReady)
    _ = stage.session.work()
    #expect(stage.asked == 2)
    #expect(try stage.session.eventToken(for: 3300).cause == nil)
  }

  @Test("while a renewal fails the admission counts until its end")
  func renewalFails() throws {
    let stage = try GateStage()
    stage.time.advance(.seconds(2_880))
    _ = try stage.session.guarded(stage.request)
    stage.service.set { $0.outcome = .noGate }
    _ = stage.session.work()
    _ = try stage.session.guarded(stage.request)
    stage.time.advance(.seconds(719))
    _ = try stage.session.guarded(stage.request)
    stage.time.advance(.seconds(1))
    #expect(throws: GateError.self) { try stage.session.guarded(stage.request) }
  }

  @Test("an attestor that is not initialised is an error that waiting does not mend")
  func uninitialized() throws {
    let stage = try GateStage(isInitialized: false)
    guard case .attestation(let failure) = stage.session.lastError else {
      Issue.record("no error")
      return
    }
    #expect(failure.status == .notInitialized)
    #expect(stage.session.lastError?.attestationCode == 1)
  }
}
