// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofMigration
import ProofModel
import Testing

@testable import ProofKit

/// Calls of the overlay, with their service and their time.
private struct Calls {
  let service: InProcessService
  let scene = Scene()
  let time = ManualClock()
  let calls: FetchCalls

  init(_ service: InProcessService = InProcessService(), isInitialized: Bool = true) throws {
    self.service = service
    calls = FetchCalls(
      Configuration(account: "", storage: "/nonexistent"),
      using: Parts(probe: scene, transport: service, clock: time.clock))
    if isInitialized { try calls.initializeAndWait(service.configuration()) }
  }
}

@Suite("Migration: the calls of a fetch")
struct FetchCallsTests {
  let api = "api.example.com"

  @Test("the sixteen statuses have their order, their words and their recommendations")
  func statuses() {
    typealias Status = FetchCalls.FetchStatus
    let table: [(Status, String, Status.Recommendation)] = [
      (.success, "success", .continue), (.noNetwork, "no network", .retry),
      (.mitmDetected, "mitm detected", .retry), (.poorNetwork, "poor network", .retry),
      (.noService, "no service", .continue), (.badURL, "bad url", .error),
      (.unknownURL, "unknown url", .continue), (.unprotectedURL, "unprotected url", .continue),
      (.notInitialized, "not initialized", .error), (.rejected, "rejected", .message),
      (.disabled, "disabled", .error), (.unknownKey, "unknown key", .error),
      (.badKey, "bad key", .error), (.badPayload, "bad payload", .error),
      (.internalError, "internal error", .error), (.keyUnavailable, "key unavailable", .retry),
    ]
    #expect(Status.allCases == table.map(\.0))
    for (number, row) in table.enumerated() {
      #expect(row.0.rawValue == number)
      #expect(row.0.description == row.1)
      #expect(row.0.recommendation == row.2)
    }
  }

  @Test("before an initialisation each call says so, and asks for nothing")
  func notInitialized() async throws {
    let calls = try Calls(isInitialized: false)
    #expect(try await calls.calls.fetchToken(for: api).status == .notInitialized)
    #expect(calls.calls.fetchSecureStringAndWait("key").status == .notInitialized)
    #expect(calls.calls.fetchCustomJWTAndWait("{}").status == .notInitialized)
    #expect(calls.calls.pins() == nil && calls.calls.pinsJSON() == nil)
    #expect(calls.calls.fetchConfigAndWait() == nil && calls.calls.deviceID == nil)
    #expect(calls.calls.messageSignature(of: "m") == nil)
    #expect(calls.service.state.withLock { $0.counts.isEmpty })
  }

  @Test("isConfigChanged stays until the configuration was fetched")
  func configChanged() throws {
    let calls = try Calls()
    func flag(_ api: String) -> Bool { calls.calls.fetchTokenAndWait(for: api).isConfigChanged }
    #expect(!flag(api))
    calls.service.set { $0.serial = 2 }
    #expect(flag("b.example.com"))
    #expect(flag(api))
    #expect(flag(""))
    let count = calls.service.count("config")
    let text = try #require(calls.calls.fetchConfigAndWait())
    #expect(try AccountConfiguration(text).serial == 2)
    #expect(calls.service.count("config") == count, "what is here is not asked for again")
    #expect(!flag(api))
  }

  @Test("isConfigChanged also ends with a fetch that does not block")
  func configFetched() async throws {
    let calls = try Calls()
    #expect(!calls.calls.fetchTokenAndWait(for: api).isConfigChanged)
    calls.service.set { $0.serial = 2 }
    #expect(calls.calls.fetchTokenAndWait(for: "b.example.com").isConfigChanged)
    #expect(await calls.calls.fetchConfig() != nil)
    #expect(!calls.calls.fetchTokenAndWait(for: api).isConfigChanged)
  }

  @Test("a message's signature is the library's, once there is a key")
  func messageSignature() throws {
    let calls = try Calls()
    #expect(calls.calls.messageSignature(of: "m") == nil)
    let key = MessageKey.random()
    calls.service.set { $0.messageKey = key }
    _ = calls.calls.fetchTokenAndWait(for: api)
    #expect(calls.calls.messageSignature(of: "m") == Base64.encode(key.signature(of: "m")))
  }

  @Test("fetchConfig asks the service only if it was not asked before")
  func fetchConfig() async throws {
    let calls = try Calls()
    calls.service.set { $0.serial = 2 }
    let first = try AccountConfiguration(try #require(await calls.calls.fetchConfig()))
    #expect(first.serial == 2 && calls.service.count("config") == 1)
    calls.service.set { $0.serial = 3 }
    let second = try AccountConfiguration(try #require(calls.calls.fetchConfigAndWait()))
    #expect(second.serial == 2 && calls.service.count("config") == 1)
    let offline = try Calls(isInitialized: false)
    offline.service.set { $0.failure = .unreachable("x") }
    try offline.calls.initializeAndWait(offline.service.shortForm)
    #expect(offline.calls.fetchConfigAndWait() == offline.service.shortForm)
  }

  @Test(
    "isForceApplyPins says that pins were read before the forced ones came, until they are read")
  func forcedPins() throws {
    let calls = try Calls()
    func flag() -> Bool {
      calls.calls.fetchTokenAndWait(
        for: "\(calls.time.uptime.withLock { $0 })".filter(\.isNumber) + ".example"
      ).isForceApplyPins
    }
    // Newer pins are here, and the app is not forced to update.
    _ = calls.calls.pins()
    calls.service.set { $0.serial = 2 }
    #expect(!flag())
    // Now they are forced, and the app has read older ones.
    calls.service.set { $0.forced = 2 }
    calls.time.advance(.seconds(1))
    #expect(flag())
    #expect(flag())
    #expect(calls.calls.pinsJSON() == calls.calls.attestor.pins.json)
    #expect(!flag())
    // A restart that read the forced pins already is told nothing.
    let next = try Calls(calls.service, isInitialized: false)
    try next.calls.initializeAndWait(try #require(calls.calls.fetchConfigAndWait()))
    _ = next.calls.pins()
    #expect(!next.calls.fetchTokenAndWait(for: api).isForceApplyPins)
    // Forced ones that cannot be had are no reason to restart.
    calls.service.set {
      $0.serial = 3
      $0.forced = 3
      $0.configurationText = "garbage"
    }
    calls.time.advance(.seconds(1))
    #expect(!flag())
  }

  @Test("an initialisation that changes nothing forgets nothing that was read")
  func initializedAgain() throws {
    let calls = try Calls()
    _ = calls.calls.pins()
    let initial = calls.service.configuration()
    calls.service.set {
      $0.serial = 2
      $0.forced = 2
    }
    calls.time.advance(.seconds(1))
    #expect(calls.calls.fetchTokenAndWait(for: "b.example.com").isForceApplyPins)
    try calls.calls.initializeAndWait(initial)
    #expect(calls.calls.fetchTokenAndWait(for: api).isForceApplyPins)
  }

  @Test("a comment that begins with reinit takes another account, and forgets what was read")
  func reinitialisation() throws {
    let calls = try Calls()
    _ = calls.calls.pins()
    let other = InProcessService("other")
    #expect(throws: SetupError.alreadyInitialized(account: "acme")) {
      try calls.calls.initializeAndWait(other.configuration())
    }
    try calls.calls.initializeAndWait(other.configuration(), comment: "reinit")
    #expect(calls.calls.attestor.account == "other")
    #expect(!calls.calls.fetchTokenAndWait(for: api).isForceApplyPins)
  }

  @Test("statements of the app go into the reports that follow, the development key from the start")
  func statements() throws {
    let service = InProcessService()
    var configuration = Configuration(account: "", storage: "/nonexistent")
    configuration.developmentKey = "from the start"
    let time = ManualClock()
    let calls = FetchCalls(
      configuration, using: Parts(probe: Scene(), transport: service, clock: time.clock))
    try calls.initializeAndWait(service.configuration())
    func told() -> AttestationReport.Subject? {
      _ = calls.fetchTokenAndWait(for: api)
      return service.state.withLock { $0.subjects.last }
    }
    #expect(told()?.developmentKey == "from the start")
    calls.setDevelopmentKey("later")
    calls.setUserProperty("$error")
    calls.setDataHash(of: "Bearer 1")
    let subject = told()
    #expect(subject?.developmentKey == "later" && subject?.userProperty == "$error")
    #expect(subject?.dataHash == Digest(hashing: Array("Bearer 1".utf8)))
  }
}

@Suite("Migration: the calls of a WAF's app protection")
struct RequestGuardCallsTests {
  @Test("an initialisation is 0 or the code of its failure, and a name is 0 or -10")
  func codes() async throws {
    let fetch = try Calls()
    let calls = RequestGuardCalls(fetch.calls.attestor)
    for name in ["a", String(repeating: "a", count: 128), nil] {
      #expect(calls.setAccount(name) == 0)
    }
    for name in ["", String(repeating: "a", count: 129)] { #expect(calls.setAccount(name) == -10) }
    let offline = try Calls(isInitialized: false)
    let code = await RequestGuardCalls(offline.calls.attestor).initialize()
    #expect((-12 ... -1).contains(code))
  }

  @Test("the number of an error of either SDK is the one of the error itself")
  func numbers() {
    let result = ProofKit.FetchResult(.internalError, reason: "x")
    let error = AttestationError(result)
    #expect(error.initializationCode == GateError.attestation(error).initializationCode)
    #expect(error.attestationNumber == GateError.attestation(error).attestationCode)
    #expect((-12 ... -1).contains(error.initializationCode))
    #expect((1...9).contains(error.attestationNumber))
  }

  @Test("a result has each member of the library's, and its description names the causes")
  func members() {
    let fetched = ProofKit.FetchResult(
      .rejected, token: "t", secureString: "s", arc: "ABCD", rejectionReasons: "a,b", reason: "why")
    let result = FetchCalls.FetchResult(fetched, isConfigChanged: true, isForceApplyPins: true)
    #expect(result.status == .rejected && result.token == "t" && result.secureString == "s")
    #expect(result.arc == "ABCD" && result.rejectionReasons == "a,b" && result.reason == "why")
    #expect(result.isConfigChanged && result.isForceApplyPins)
    #expect(result.loggableToken == fetched.loggableToken)
    #expect(result.description == "fetch result: rejected, ARC ABCD, rejected for a,b, why")
  }
}

@Suite("Migration: the table of docs/MIGRATION.md")
struct MigrationTableTests {
  /// Every call that the page's column “overlay” names is one of the library's sources.
  @Test("each call of the overlay that the page names exists")
  func calls() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../..").standardizedFileURL
    let page = try String(
      contentsOf: root.appending(path: "docs/MIGRATION.md"), encoding: .utf8)
    let folder = root.appending(path: "Sources/ProofMigration")
    let sources = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".swift") }
      .map { try String(contentsOf: folder.appending(path: $0), encoding: .utf8) }.joined()
    let named = page.matches(
      of: /`((?:FetchCalls|RequestGuardCalls|ChallengeCalls|EventCalls)\.(\w+))/)
    #expect(named.count > 20)
    for match in named {
      let name = String(match.output.2)
      let declared = try Regex("(func|var|let|case|struct|enum|init) ?\(name)\\b")
      #expect(
        sources.contains(declared) || name == "init" && sources.contains("public init("),
        "\(match.output.1) does not exist")
    }
  }
}
