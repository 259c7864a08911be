// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ProofRequest
import Testing

@testable import ProofKit

@Suite("The thread of a gate session")
struct GateWorkerTests {
  /// A session whose own thread works, and a word for its second fetch.
  private func started(
    freshness: UInt8 = 0
  ) throws -> (stage: GateStage, second: Handover<Bool>) {
    let (second, count) = (Handover<Bool>(), CoreLock(0))
    let service = InProcessService(gate: { path, _ in
      guard path == "challenge" else { return }
      let number = count.withLock { count in
        count += 1
        return count
      }
      if number == 2 { second.give(true) }
    })
    let stage = try GateStage(service, isStarted: false) { $0.freshness = freshness }
    let ready = Handover<GateError?>()
    stage.session.start { ready.give($0) }
    #expect(ready.wait() == nil)
    return (stage, second)
  }

  /// Lets the session renew nothing any more: the app has not used it for long.
  private func rest(_ stage: GateStage) {
    stage.time.advance(.seconds(2_880))
    #expect(stage.session.work() == .some(.none))
    #expect(stage.session.state.withLock { $0.isDormant } && stage.asked == 1)
  }

  @Test("wakes for the first call after a long rest", .timeLimit(.minutes(5)))
  func dormant() throws {
    let (stage, second) = try started()
    rest(stage)
    _ = try stage.session.eventToken(for: 3300)
    #expect(second.wait())
    stage.session.stop()
  }

  @Test("is started again in a child of a fork")
  func forked() throws {
    let asked = Handover<Bool>()
    let service = InProcessService(gate: { path, _ in
      if path == "challenge" { asked.give(true) }
    })
    let stage = try GateStage(service, isStarted: false)
    _ = stage.session.begin(nil)
    // A thread that ends without work for this session, as if it had stayed with the parent.
    stage.session.worker.start(try GateStage(isStarted: false).session)
    stage.process.withLock { $0 = 2 }
    #expect(try stage.session.eventToken(for: 3300).cause == .notReady)
    #expect(asked.wait(for: .seconds(60)) == true)
    stage.session.stop()
  }

  @Test("asks the service at once about an app that has changed", .timeLimit(.minutes(5)))
  func changed() throws {
    let (stage, second) = try started()
    stage.stage.scene.state.withLock { $0.looks[.environment] = 1 }
    #expect(throws: GateError.environmentChanged) { try stage.session.guarded(stage.request) }
    #expect(second.wait())
    stage.session.stop()
  }

  @Test("work that is cancelled within its fetch leaves no error, no admission and no wait")
  func cancelled() throws {
    let cancellation = Cancellation()
    let service = InProcessService(gate: { path, _ in
      if path == "challenge" { cancellation.cancel() }
    })
    let stage = try GateStage(service, isStarted: false)
    _ = stage.session.begin(nil)
    #expect(stage.session.work(cancellation) == .none)
    #expect(stage.session.lastError == nil && !stage.session.isReady)
    #expect(stage.service.count("challenge") == 1)
  }

  @Test("a session that was started fetches, however late its thread comes to it")
  func late() throws {
    let stage = try GateStage(isStarted: false)
    _ = stage.session.begin(nil)
    stage.time.advance(.seconds(601))
    _ = stage.session.work()
    #expect(stage.asked == 1 && stage.session.isReady)
    // With an admission of before, for the handler that waits.
    stage.session.stop()
    let calls = CoreLock(0)
    _ = stage.session.begin { _ in calls.withLock { $0 += 1 } }
    stage.time.advance(.seconds(601))
    _ = stage.session.work()
    #expect(stage.asked == 2 && calls.withLock { $0 } == 1)
  }
}

@Suite("Calls that wait for a gate")
struct GateWaitTests {
  /// An app whose service answers no challenge until the latch is open.
  private func stage(_ latch: Latch, _ entered: Handover<Bool>) throws -> ClientStage {
    try ClientStage(
      InProcessService(gate: { path, _ in
        guard path == "challenge" else { return }
        entered.give(true)
        latch.wait()
      }))
  }

  @Test("a cancelled request returns at once, and the admission comes for others")
  func cancelled() async throws {
    let (latch, entered) = (Latch(), Handover<Bool>())
    let stage = try stage(latch, entered)
    let (attestor, sent) = (stage.attestor, stage.request())
    let request = Task { () -> GateError? in
      do throws(GateError) {
        _ = try await attestor.client.perform(sent)
        return nil
      } catch { return error }
    }
    await entered.arrival()
    request.cancel()
    #expect(await request.value == .cancelled)
    let ready = Task { () -> AttestationError? in
      do throws(AttestationError) {
        try await attestor.ready()
        return nil
      } catch { return error }
    }
    ready.cancel()
    #expect(await ready.value?.reason == .cancelled)
    latch.open()
    try await attestor.ready()
    #expect(stage.app.service.count("report") == 1)
  }

  @Test("ready() waits through a try that failed, and a request tells of it")
  func putOff() async throws {
    let stage = try ClientStage()
    stage.app.service.set { $0.failure = .unreachable("x") }
    let attestor = stage.attestor
    let ready = Task { try await attestor.ready() }
    let error = await #expect(throws: GateError.self) {
      try await stage.client.perform(stage.request())
    }
    guard case .notReady(let cause?)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(cause.reason == .noNetwork)
    stage.app.service.set { $0.failure = nil }
    stage.app.time.advance(.seconds(2))
    let session = try #require(attestor.gates.all.first?.session)
    // The session's thread would come to it, too.
    _ = session.work()
    try await ready.value
    #expect(session.isReady)
  }
}

/// A key whose signature does not depend on the message.
private struct FixedKey: InstallationKey {
  var error: InstallationKeyError?

  func identity() throws(InstallationKeyError) -> InstallationKeyIdentity {
    do {
      return InstallationKeyIdentity(
        try InstallationPoint([UInt8](repeating: 4, count: 64)), in: .storage)
    } catch { throw .libraryFailed }
  }

  func signature(
    of message: [UInt8]
  ) throws(InstallationKeyError) -> InstallationSignature {
    if let error, String(decoding: message, as: UTF8.self).contains("proofkit-key") { throw error }
    do {
      return try InstallationSignature([UInt8](repeating: 5, count: 64))
    } catch { throw .libraryFailed }
  }

  func endorsementCertificate() throws(InstallationKeyError) -> [UInt8]? { nil }

  func open(
    _ credential: KeyCredential
  ) throws(InstallationKeyError) -> CredentialSecret { throw .libraryFailed }
}

@Suite("Requests that the installation signs")
struct GateInstallationTests {
  private func session(
    _ form: GateAdmission.Form, _ key: FixedKey?
  ) throws -> GateSession {
    let (gate, service, time) = (TestGate(), InProcessService(), ManualClock())
    gate.set { $0.form = form }
    service.set { $0.admit = { try gate.admission($0, $1, $2) } }
    let attestor = Attestor(
      observer: Scene(), over: service, appName: "door", installationKey: key, clock: time.clock)
    try attestor.initializeAndWait(service.configuration())
    let session = try GateSession(
      attestor, for: "api.example.com", options: .init(), random: { 0.5 }, process: { 1 })
    _ = session.begin(nil)
    _ = session.work()
    return session
  }

  private let request = Request("POST", "https://api.example.com/a", body: [1])

  @Test("carry one signature of the key, beside that of the proof in the standard form")
  func signatures() throws {
    for (form, count) in [(GateAdmission.Form.compact, 1), (.standard, 2)] {
      let session = try session(form, FixedKey())
      let once = try session.signedByInstallation(session.guarded(request))
      let twice = try session.signedByInstallation(session.guarded(once))
      for signed in [once, twice] {
        let signatures = signed.values(of: "signature")
        let inputs = signed.values(of: "signature-input")
        #expect(signatures.count == 1 && inputs.count == 1)
        #expect(signatures.first?.split(separator: ", ").count == count, "\(signatures)")
        // Each input names its key.
        #expect(inputs.first?.split(separator: "keyid=").count == count + 1, "\(inputs)")
        #expect(signed.values(of: "content-digest").count == 1)
      }
    }
  }

  @Test("have a content digest if they have a body, or are neither GET nor HEAD")
  func digests() throws {
    let session = try session(.compact, FixedKey())
    for (method, body, hasDigest) in [
      ("GET", nil, false), ("HEAD", nil, false), ("GET", [1], true), ("DELETE", nil, true),
    ] as [(String, [UInt8]?, Bool)] {
      let signed = try session.signedByInstallation(
        Request(method, "https://api.example.com/", body: body))
      #expect(signed.values(of: "content-digest").count == (hasDigest ? 1 : 0), "\(method)")
      #expect(signed.values(of: "signature").count == 1)
    }
  }

  @Test("are refused without a key, to another host, in the clear, and with a key that fails")
  func refused() throws {
    let keyless = try session(.compact, nil)
    #expect(throws: GateError.installationKey(nil)) { try keyless.signedByInstallation(request) }
    let session = try session(.compact, FixedKey())
    for url in ["https://evil.example.com/", "http://api.example.com/"] {
      let host = String(url.split(separator: "/")[1])
      #expect(throws: GateError.hostNotListed(host)) {
        try session.signedByInstallation(Request("GET", url))
      }
    }
    #expect(throws: GateError.malformedMethod("GE T")) {
      try session.signedByInstallation(Request("GE T", "https://api.example.com/"))
    }
    let failing = try self.session(.compact, FixedKey(error: .inUse(path: "p")))
    #expect(throws: GateError.installationKey(.inUse(path: "p"))) {
      try failing.signedByInstallation(request)
    }
  }
}
