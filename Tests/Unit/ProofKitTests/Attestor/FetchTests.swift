// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import Testing

@testable import ProofKit

@Suite("Fetch")
struct FetchTests {
  let api = "api.example.com"

  @Test(
    "each outcome of the service is the status it should be, and the ARC is there",
    arguments: [
      (AttestationAnswer.Outcome.done, FetchStatus.success), (.unknownDomain, .unknownURL),
      (.unprotectedDomain, .unprotectedURL), (.rejected, .rejected), (.disabled, .disabled),
      (.unknownKey, .unknownKey), (.badKey, .badKey), (.badPayload, .badPayload),
      (.askAgain, .noService), (.unbelievable, .internalError), (.notEncrypted, .badURL),
      (.noGate, .badURL),
    ])
  func outcomes(outcome: AttestationAnswer.Outcome, status: FetchStatus) async throws {
    let stage = try Stage()
    stage.service.set { $0.outcome = outcome }
    let result = try await stage.attestor.fetchToken(for: api)
    #expect(result.status == status)
    #expect(result.token.isEmpty == (status != .success))
    #expect(result.arc == (outcome == .askAgain ? "" : "ABCDEFGHIJ"))
    #expect(result.rejectionReasons == (outcome == .rejected ? "debug,root" : ""))
    #expect(result.measurementConfig == nil)
    // A used salt is worth one more round, and no third one.
    #expect(stage.service.count("report") == (outcome == .askAgain ? 2 : 1))
  }

  @Test(
    "each failure of a transport is the status it should be",
    arguments: [
      (TransportError.unreachable("x"), FetchStatus.noNetwork, 1),
      (.timedOut("x"), .poorNetwork, 1),
      (.brokenOff("x"), .poorNetwork, 2), (.untrusted("x"), .mitmDetected, 1),
      (.garbled("x"), .noService, 1), (.refused("x"), .internalError, 1),
    ])
  func failures(failure: TransportError, status: FetchStatus, rounds: Int) throws {
    let stage = try Stage()
    stage.service.set { $0.failure = failure }
    let result = stage.attestor.fetchTokenAndWait(for: api)
    #expect(result.status == status)
    #expect(result.reason == failure.description)
    #expect(stage.service.count("challenge") == rounds)
  }

  @Test("a report whose answer was lost is sent again as it is, and then a new round begins")
  func lostAnswers() throws {
    let stage = try Stage()
    for (lost, challenges, reports) in [(1, 1, 2), (2, 2, 3)] {
      stage.service.set {
        $0.counts = [:]
        $0.reports = []
        $0.lostAnswerCount = lost
      }
      #expect(stage.attestor.fetchTokenAndWait(for: "\(lost).example.com").status == .success)
      #expect(stage.service.count("challenge") == challenges)
      #expect(stage.service.count("report") == reports)
      let sent = stage.service.state.withLock { $0.reports }
      #expect(sent[0] == sent[1] && Set(sent).count == challenges)
    }
  }

  @Test(
    "the result of the second round is the status, not that of the first",
    arguments: [
      (TransportError.unreachable("x"), FetchStatus.noNetwork), (.untrusted("x"), .mitmDetected),
      (.garbled("x"), .noService), (.timedOut("x"), .poorNetwork),
    ])
  func secondRound(failure: TransportError, status: FetchStatus) throws {
    let stage = try Stage()
    stage.service.set { $0.failures = [.brokenOff("first"), failure] }
    let result = stage.attestor.fetchTokenAndWait(for: api)
    #expect(result.status == status && result.reason == failure.description)
    #expect(stage.service.count("challenge") == 2)
  }

  @Test("a configuration that came in the second round counts, though that round failed too")
  func configurationOfSecondRound() throws {
    let stage = try Stage(isInitialized: false)
    try stage.attestor.initializeAndWait(stage.service.shortForm)
    stage.service.set {
      $0.pins = ["api.example.com": [pin(1)]]
      $0.failures = [.brokenOff("config"), nil, .brokenOff("challenge")]
    }
    let result = stage.attestor.fetchTokenAndWait(for: api)
    #expect(result.status == .poorNetwork)
    #expect(stage.attestor.pins.byHost == ["api.example.com": [pin(1)]])
  }

  @Test(
    "a status of HTTP is the service's fault or this side's",
    arguments: [
      (400, FetchStatus.internalError), (404, .internalError), (413, .internalError),
      (429, .noService), (500, .noService), (503, .noService), (302, .noService), (204, .noService),
    ])
  func httpStatuses(status: Int, expected: FetchStatus) throws {
    let stage = try Stage()
    stage.service.set { $0.status = status }
    #expect(stage.attestor.fetchTokenAndWait(for: api).status == expected)
  }

  @Test("token, pins, configuration and device need an initialisation")
  func notInitialized() async throws {
    let stage = try Stage(isInitialized: false)
    #expect(try await stage.attestor.fetchToken(for: api).status == .notInitialized)
    #expect(stage.attestor.fetchSecureStringAndWait("key").status == .notInitialized)
    #expect(stage.attestor.fetchCustomJWTAndWait("{}").status == .notInitialized)
    #expect(stage.attestor.pins.byHost.isEmpty && stage.attestor.accountConfiguration.isEmpty)
    #expect(throws: SetupError.notInitialized) { try stage.attestor.readInstance() }
    #expect(stage.service.state.withLock { $0.counts.isEmpty })
  }

  @Test(
    "a domain that is no host and no https URL is a bad URL, and no request is sent",
    arguments: [
      "", "?measurement", "http://api.example.com", "ftp://api.example.com", "https://",
      "https://user@api.example.com", "api.example.com/path", "api..example.com",
      "-api.example.com",
      "api example.com", "b\u{FC}cher.example", "api.example.com:0", "api.example.com:70000",
      "api.example.com:+80", "api.example.com?other", "https:api.example.com",
      String(repeating: "a", count: 64) + ".example", "[::1]", "api.example.com\n",
      // In lower case the Kelvin sign is a k.
      "\u{212A}.example.com",
    ])
  func badURLs(domain: String) throws {
    let stage = try Stage()
    #expect(stage.attestor.fetchTokenAndWait(for: domain).status == .badURL)
    #expect(stage.service.state.withLock { $0.counts.isEmpty })
  }

  @Test(
    "a URL's host counts, in lower case, without port and path",
    arguments: [
      "api.example.com", "API.Example.COM", "https://api.example.com",
      "HTTPS://api.example.com:8443/a?b#c",
      "api.example.com:443",
    ])
  func goodURLs(domain: String) throws {
    let stage = try Stage()
    #expect(stage.attestor.fetchTokenAndWait(for: domain).status == .success)
    #expect(stage.service.state.withLock { $0.subjects.map(\.name) } == ["api.example.com"])
  }

  @Test("a measurement is made anew each time, and its configuration is in the result")
  func measurement() async throws {
    let stage = try Stage()
    stage.service.set { $0.isEncrypted = true }
    let domain = api + "?measurement"
    let first = try await stage.attestor.fetchToken(for: domain)
    let second = stage.attestor.fetchTokenAndWait(for: domain)
    let one = try #require(first.measurementConfig)
    let two = try #require(second.measurementConfig)
    #expect(one != two && first.token != second.token)
    #expect(
      stage.service.state.withLock { $0.subjects.map(\.purpose) } == [.measurement, .measurement])
    let nonce = [UInt8](1...16)
    let prover = Prover(config: one, collector: stage.scene)
    #expect(
      try stage.attestor.integrityMeasurementProof(nonce: nonce, config: one.bytes)
        == prover.integrityMeasurementProof(nonce: nonce))
    #expect(
      try stage.attestor.deviceMeasurementProof(nonce: nonce, config: one.bytes)
        == prover.deviceMeasurementProof(nonce: nonce))
  }

  @Test("a wrong nonce and a damaged configuration are errors of their own kinds")
  func proofErrors() throws {
    // Not initialised, and no network.
    let stage = try Stage(isInitialized: false)
    let other = try Stage()
    other.service.set { $0.isEncrypted = true }
    let config = try #require(
      other.attestor.fetchTokenAndWait(for: api + "?measurement").measurementConfig
    ).bytes
    for count in [0, 15, 17] {
      let nonce = [UInt8](repeating: 1, count: count)
      let error = ProofError.wrongLength(of: "proof nonce", expected: 16...16, actual: count)
      #expect(throws: error) {
        try stage.attestor.integrityMeasurementProof(nonce: nonce, config: config)
      }
      #expect(throws: error) {
        try stage.attestor.deviceMeasurementProof(nonce: nonce, config: config)
      }
    }
    var damaged = config
    damaged[40] ^= 1
    let nonce = [UInt8](1...16)
    #expect(throws: ProofError.configDamaged(byteCount: config.count)) {
      try stage.attestor.integrityMeasurementProof(nonce: nonce, config: damaged)
    }
    #expect(throws: ProofError.configForeign(byteCount: 4)) {
      try stage.attestor.deviceMeasurementProof(nonce: nonce, config: [1, 2, 3, 4])
    }
    #expect(
      try stage.attestor.deviceMeasurementProof(nonce: nonce, config: config).bytes.count == 32)
  }

  @Test("names of secure strings and claims of custom tokens are checked before anybody is asked")
  func payloads() throws {
    let stage = try Stage()
    let attestor = stage.attestor
    #expect(attestor.fetchSecureStringAndWait("").status == .badKey)
    let long = String(repeating: "\u{E4}", count: 65)
    #expect(attestor.fetchSecureStringAndWait(long).status == .badKey)
    #expect(attestor.fetchSecureStringAndWait(String(long.dropLast())).status == .success)
    for claims in ["", "[]", "7", "{", #"{"a":1,"a":2}"#, #"{"a":1}x"#, "{'a':1}"] {
      #expect(attestor.fetchCustomJWTAndWait(claims).status == .badPayload)
    }
    func claims(_ count: Int) -> String {
      #"{"a":"\#(String(repeating: "x", count: count - 8))"}"#
    }
    let long40001 = attestor.fetchCustomJWTAndWait(claims(40_001))
    #expect(long40001.status == .badPayload)
    #expect(long40001.reason.contains("40001 bytes; at most 40,000"))
    #expect(attestor.fetchCustomJWTAndWait(claims(40_000)).status == .success)
    #expect(attestor.fetchCustomJWTAndWait(#"{"a":[1,{"b":null}]}"#).status == .success)
    #expect(stage.service.count("report") == 3)
  }

  @Test("a report says what the app is, and what is wrong by itself")
  func properties() throws {
    let stage = try Stage()
    let mappings = try SourceID(.environment, 4)
    stage.scene.state.withLock {
      $0.alarms = [
        .init(mappings, name: "anonymous", words: "executable memory\nof nobody"),
        .init(mappings, name: "memfd", words: String(repeating: "x", count: 2000)),
        .init(try! SourceID(.app, 1), name: "libfoo.so", words: "code differs from its file"),
      ]
    }
    #expect(stage.attestor.fetchTokenAndWait(for: api).status == .success)
    let subject = try #require(stage.service.state.withLock { $0.subjects.first })
    let properties = Dictionary(
      uniqueKeysWithValues: subject.properties.map { ($0.name, $0.value) })
    #expect(properties["app"] == "door")
    #expect(properties["os"]?.isEmpty == false && properties["kernel"]?.isEmpty == false)
    #expect(properties["architecture"]?.isEmpty == false)
    #expect(properties["finding.2.1"] == "libfoo.so: code differs from its file")
    let finding = try #require(properties["finding.3.4"])
    #expect(finding.hasPrefix("anonymous: executable memory?of nobody; memfd: xxx"))
    #expect(finding.utf8.count == 1024)
  }

  @Test("the system's name has no quotes; a system that says none is Linux")
  func operatingSystem() throws {
    let folder = "/var/tmp/proofkit-system-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let files = ["absent", "nameless", "double", "single"].map { "\(folder)/\($0)" }
    for (path, text) in zip(
      files[1...], ["NAME=x\n", "NAME=x\nPRETTY_NAME=\"Our System 5\"\n", "PRETTY_NAME='Other 6'"])
    { try text.write(toFile: path, atomically: true, encoding: .utf8) }
    #expect(CoreSystem.operatingSystem(of: files) == "Our System 5")
    #expect(CoreSystem.operatingSystem(of: [files[3]]) == "Other 6")
    #expect(CoreSystem.operatingSystem(of: Array(files[..<2])) == "Linux")
  }

  @Test("evidence that cannot be collected is an internal error that says why")
  func unobservable() throws {
    let stage = try Stage()
    stage.scene.state.withLock { $0.failure = .evidenceUnavailable(reason: "/app: does not exist") }
    let result = stage.attestor.fetchTokenAndWait(for: api)
    #expect(result.status == .internalError)
    #expect(result.reason.contains("/app: does not exist"))
    #expect(
      throws: SetupError.notMeasured(.evidenceUnavailable(reason: "/app: does not exist"))
    ) { try stage.attestor.readInstance() }
  }

  @Test("the instance is the one the service knows, and differs from account to account")
  func instance() throws {
    let stage = try Stage()
    _ = stage.attestor.fetchTokenAndWait(for: api)
    let id = try stage.attestor.readInstance()
    #expect(stage.service.state.withLock { $0.devices } == [id])
    let other = InProcessService("other")
    try stage.attestor.initializeAndWait(other.configuration(), comment: "reinit")
    #expect(try stage.attestor.readInstance() != id)
  }
}
