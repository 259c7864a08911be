// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import Testing

@testable import ProofKit

@Suite("An attestor")
struct AttestorTests {
  let api = "api.example.com"

  @Test("is made without network and measurement, and its storage folder is private")
  func configured() throws {
    let stage = try AppStage()
    #expect(stage.service.state.withLock { $0.counts.isEmpty })
    #expect(stage.scene.state.withLock { $0.count } == 0)
    let attributes = try FileManager.default.attributesOfItem(atPath: stage.folder)
    #expect((attributes[.posixPermissions] as? Int) == 0o700)
  }

  @Test("says what is wrong with a configuration")
  func refused() throws {
    func error(_ change: (inout Configuration) -> Void) -> SetupError? {
      do throws(SetupError) {
        let service = InProcessService()
        var configuration = Configuration(
          account: service.configuration(), storage: "/var/tmp/proofkit-refused")
        change(&configuration)
        _ = try Attestor(configuration, using: Parts(probe: Scene(), transport: service))
        return nil
      } catch { return error }
    }
    defer { try? FileManager.default.removeItem(atPath: "/var/tmp/proofkit-refused") }
    #expect(error { $0.account = "nonsense" }?.code == "SETUP-1")
    #expect(error { $0.storage = "/dev/null/x" }?.code == "SETUP-7")
    #expect(error { $0.developmentKey = "" }?.code == "SETUP-11")
    #expect(error { $0.developmentKey = String(repeating: "k", count: 1025) }?.code == "SETUP-11")
    #expect(error { $0.developmentKey = "k" } == nil)
  }

  @Test("gives a token with its life, and the same one while it counts")
  func token() async throws {
    let stage = try AppStage()
    let first = try await stage.attestor.token(for: api)
    #expect(first.timeLeft > .seconds(290) && first.timeLeft <= .seconds(300))
    #expect(first.attestationCode == "ABCDEFGHIJ" && first.rejectionReasons.isEmpty)
    #expect(!first.description.contains(first.text) && first.description.contains("sip"))
    stage.time.advance(.seconds(100))
    let second = try await stage.attestor.token(for: api)
    #expect(second.text == first.text && second.timeLeft <= .seconds(200))
    #expect(stage.service.count("report") == 1)
  }

  @Test("binds a token to data of this call alone")
  func bound() async throws {
    let stage = try AppStage()
    let plain = try await stage.attestor.token(for: api)
    let bound = try await stage.attestor.token(for: api, boundTo: [1, 2])
    #expect(bound.text != plain.text)
    #expect(try await stage.attestor.token(for: api).text == plain.text)
    #expect(try await stage.attestor.token(for: api, boundTo: [1, 2]).text == bound.text)
    let hashes = stage.service.state.withLock { $0.subjects.map(\.dataHash) }
    #expect(hashes == [nil, Digest(hashing: [1, 2])])
  }

  @Test("measures for each measured token, and refuses the vendor's suffix elsewhere")
  func measured() async throws {
    let stage = try AppStage()
    let first = try await stage.attestor.measuredToken(for: api)
    let second = try await stage.attestor.measuredToken(for: "https://api.example.com/x")
    #expect(second.generation > first.generation && second.token.text != first.token.text)
    #expect(first.instance == (try await stage.attestor.instance()))
    let error = await #expect(throws: AttestationError.self) {
      try await stage.attestor.token(for: "api.example.com?measurement")
    }
    #expect(error?.reason == .invalidHost)
    #expect(stage.service.count("report") == 2)
  }

  @Test(
    "throws the reason, and says whether the API may be called",
    arguments: [
      (AttestationAnswer.Outcome.unknownDomain, AttestationError.Reason.unknownHost, true),
      (.unprotectedDomain, .hostNeedsNoToken, true), (.rejected, .rejected, false),
      (.disabled, .notEnabled, false), (.unbelievable, .serviceRefused, false),
    ])
  func reasons(
    outcome: AttestationAnswer.Outcome, reason: AttestationError.Reason, mayProceed: Bool
  ) async throws {
    let stage = try AppStage()
    stage.service.set { $0.outcome = outcome }
    let error = await #expect(throws: AttestationError.self) {
      try await stage.attestor.token(for: api)
    }
    #expect(error?.reason == reason && error?.mayProceedWithoutToken == mayProceed)
    #expect(error?.measurement == nil && error?.code.hasPrefix("SDK-") == true)
    if outcome == .rejected { #expect(error?.rejectionReasons == ["debug", "root"]) }
  }

  @Test("tells memory or descriptors that ran out as that")
  func exhausted() async throws {
    let stage = try AppStage()
    let cause = ProofError.resourcesExhausted(reason: "too many open files")
    stage.scene.state.withLock { $0.failure = cause }
    let error = await #expect(throws: AttestationError.self) {
      try await stage.attestor.token(for: api)
    }
    #expect(error?.reason == .notMeasured && error?.measurement == cause)
    #expect(error?.code == "PROOF-17" && error?.whoCanMend == .retry)
    #expect(error?.description == cause.description)
    let named = await #expect(throws: MeasurementError.self) {
      try await stage.attestor.instance()
    }
    #expect(named == .notMeasured(cause) && named?.whoCanMend == .retry)
  }

  @Test("changes nothing when pins, configuration and pairs are read")
  func reading() async throws {
    let stage = try AppStage()
    _ = try await stage.attestor.token(for: api)
    let old = stage.attestor.pins
    stage.service.set {
      $0.serial = 2
      $0.forced = 2
      $0.pins = ["api.example.com": [pin(1)]]
    }
    var updates = stage.attestor.updates.makeAsyncIterator()
    try await stage.attestor.update()
    _ = try await stage.attestor.token(for: "b.example.com")
    let before = stage.service.state.withLock { $0.counts }
    let looks = stage.scene.state.withLock { $0.count }
    for _ in 0..<3 {
      let new = stage.attestor.pins
      #expect(new.serial == 2 && new.mustReplace(old) && !new.mustReplace(new))
      #expect(try AccountConfiguration(stage.attestor.accountConfiguration).serial == 2)
      #expect(try stage.attestor.pairs.all().isEmpty)
    }
    #expect(stage.service.state.withLock { $0.counts } == before)
    #expect(stage.scene.state.withLock { $0.count } == looks)
    guard case .configuration(let text) = await updates.next() else {
      Issue.record("no configuration")
      return
    }
    #expect(text == stage.attestor.accountConfiguration)
    guard case .pins(let told) = await updates.next() else {
      Issue.record("no pins")
      return
    }
    #expect(told.byHost == ["api.example.com": [pin(1)]] && told.serial == 2)
  }

  @Test("keeps a newer configuration across restarts")
  func stored() async throws {
    let stage = try AppStage()
    stage.service.set { $0.serial = 5 }
    try await stage.attestor.update()
    #expect(stage.attestor.pins.serial == 5)
    let next = try AppStage(stage.service, folder: stage.folder) {
      $0.account = stage.configuration.account
    }
    #expect(next.attestor.pins.serial == 5)
  }

  @Test("takes another account by reconfigure, and calls begun before end under the old one")
  func reconfigured() async throws {
    let latch = Latch()
    let service = InProcessService { path, _ in if path == "challenge" { latch.wait() } }
    let stage = try AppStage(service)
    let attestor = stage.attestor
    let begun = Task { try await attestor.token(for: "api.example.com") }
    await attestor.waitForSeats(1)
    var other = stage.configuration
    other.account = InProcessService("other").configuration()
    try attestor.reconfigure(other)
    #expect(attestor.account == "other")
    latch.open()
    #expect(try await begun.value.text.isEmpty == false)
    other.bundle = "/elsewhere"
    #expect(throws: SetupError.needsNewAttestor(setting: "bundle")) {
      try attestor.reconfigure(other)
    }
    other.bundle = nil
    other.account = "nonsense"
    #expect(throws: SetupError.self) { try attestor.reconfigure(other) }
    #expect(attestor.account == "other")
  }

  @Test("names a setting that cannot change")
  func fixedSettings() {
    let now = Configuration(account: "a", storage: "s")
    let changes: [String: (inout Configuration) -> Void] = [
      "bundle": { $0.bundle = "b" }, "folders": { $0.folders = [Probe.Folder("f", path: "p")] },
      "storage": { $0.storage = "t" }, "plugins": { $0.plugins = ["p"] },
      "collection": { $0.collection = .notGranted }, "network": { $0.network.authorities = "p" },
      "appName": { $0.appName = "n" }, "installationKey": { $0.installationKey = NoKey() },
    ]
    for (name, change) in changes {
      var other = now
      change(&other)
      #expect(other.fixed(differingFrom: now) == name && now.fixed(differingFrom: other) == name)
    }
    var free = now
    free.account = "b"
    free.developmentKey = "d"
    #expect(free.fixed(differingFrom: now) == nil)
  }

  @Test("tells a measurement error once, after which the note is there again")
  func measurementError() async throws {
    let stage = try AppStage()
    try stage.attestor.setNote("kiosk 7")
    #expect(throws: ProofError.self) { try stage.attestor.setNote("$error") }
    #expect(throws: ProofError.self) {
      try stage.attestor.setNote(String(repeating: "n", count: 129))
    }
    _ = try await stage.attestor.token(for: api)
    stage.attestor.reportMeasurementError()
    _ = try await stage.attestor.token(for: api)
    stage.time.advance(.seconds(600))
    _ = try await stage.attestor.token(for: api)
    let notes = stage.service.state.withLock { $0.subjects.map(\.userProperty) }
    #expect(notes == ["kiosk 7", "$error", "kiosk 7"])
  }

  @Test("reports the development key of its configuration")
  func developmentKey() async throws {
    let stage = try AppStage { $0.developmentKey = "let me in" }
    _ = try await stage.attestor.token(for: api)
    #expect(stage.service.state.withLock { $0.subjects.map(\.developmentKey) } == ["let me in"])
  }

  @Test("tells of copies that hardware saw with the next report that the service answers, once")
  func copies() async throws {
    let stage = try AppStage()
    let locks = try [1, 2].map { try Sample.hardware($0) }
    func told() -> [String?] {
      stage.service.state.withLock { state in
        state.subjects.map { subject in
          subject.properties.first { $0.name == Ratchet.copyProperty }?.value
        }
      }
    }
    _ = try await stage.attestor.token(for: api)
    // The kept token does not hold it back.
    for lock in locks { stage.attestor.noteCopy(seenBy: lock) }
    stage.service.set { $0.status = 503 }
    _ = try? await stage.attestor.token(for: api)
    #expect(!stage.attestor.hasReportedCopy(seenBy: locks[0]))
    stage.service.set { $0.status = 200 }
    // An app waits after a failure.
    stage.time.advance(.seconds(60))
    _ = try await stage.attestor.token(for: api)
    #expect(told() == [nil, "2"])
    #expect(locks.allSatisfy { stage.attestor.hasReportedCopy(seenBy: $0) })
    stage.time.advance(.seconds(600))
    _ = try await stage.attestor.token(for: api)
    #expect(told() == [nil, "2", nil])
    // Another sighting is told again.
    stage.attestor.noteCopy(seenBy: locks[1])
    #expect(!stage.attestor.hasReportedCopy(seenBy: locks[1]))
    _ = try await stage.attestor.token(for: api)
    #expect(told().last == "1" && stage.attestor.hasReportedCopy(seenBy: locks[1]))
  }

  @Test("signs bytes with the key that came with a token, and says why there is none")
  func signature() async throws {
    let stage = try AppStage()
    let early = #expect(throws: AttestationError.self) { try stage.attestor.signature(of: [1]) }
    #expect(early?.reason == .noMessageKey && early?.code == "SDK-17")
    let key = MessageKey.random()
    stage.service.set { $0.messageKey = key }
    _ = try await stage.attestor.token(for: api)
    let signature = try stage.attestor.signature(of: [1, 0xFF])
    #expect(signature.bytes == key.signature(of: [1, 0xFF]))
    #expect(signature.description == Base64.encode(signature.bytes))
  }

  @Test("ends a cancelled call with its own error")
  func cancelled() async throws {
    let latch = Latch()
    defer { latch.open() }
    let stage = try AppStage(InProcessService { _, _ in latch.wait() })
    let attestor = stage.attestor
    let call = Task { try await attestor.token(for: "api.example.com") }
    await attestor.waitForSeats(1)
    call.cancel()
    let error = await #expect(throws: AttestationError.self) { try await call.value }
    #expect(error?.reason == .cancelled && error?.whoCanMend == .retry)
  }

  @Test("without a network it still reads pairs, and each fetch says “no network”")
  func offline() async throws {
    let folder = "/var/tmp/proofkit-offline-\(UInt64.random(in: 1 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let configuration = Configuration(
      account: InProcessService().configuration(), storage: folder)
    let attestor = try Attestor(configuration, using: .offline(configuration))
    #expect(try attestor.pairs.all().isEmpty)
    let error = await #expect(throws: AttestationError.self) {
      try await attestor.token(for: api)
    }
    #expect(error?.reason == .noNetwork)
  }

  @Test("reads the account's string where the app has none of its own")
  func strings() async throws {
    let stage = try AppStage()
    let key = try stringKey(1)
    stage.service.set {
      $0.stringKeys = [key]
      $0.secureString = "the account's"
    }
    let strings = stage.attestor.secureStrings
    #expect(try await strings.string(named: "maps").text == "the account's")
    try await strings.define("maps", as: "mine")
    #expect(try await strings.string(named: "maps").text == "mine")
    try await strings.remove("maps")
    #expect(try await strings.string(named: "maps").text == "the account's")
    stage.service.set { $0.secureString = nil }
    stage.time.advance(.seconds(600))
    await #expect(throws: SecureStringError.notThere(name: "maps")) {
      _ = try await strings.string(named: "maps")
    }
    try await strings.define("a", as: "b")
    try await strings.erase()
    await #expect(throws: SecureStringError.notThere(name: "a")) {
      _ = try await strings.string(named: "a")
    }
  }
}

/// A key that is never asked.
private struct NoKey: InstallationKey {
  func identity() throws(InstallationKeyError) -> InstallationKeyIdentity { throw .libraryFailed }

  func signature(
    of message: [UInt8]
  ) throws(InstallationKeyError) -> InstallationSignature { throw .libraryFailed }

  func endorsementCertificate() throws(InstallationKeyError) -> [UInt8]? { nil }

  func open(
    _ credential: KeyCredential
  ) throws(InstallationKeyError) -> CredentialSecret { throw .libraryFailed }
}
