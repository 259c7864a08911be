// SPDX-License-Identifier: Apache-2.0

import ProofMigration
import ProofModel
import Testing

@testable import ProofKit

@Suite("Migration: each way to wait for a fetch")
struct MigrationCallsTests {
  private let service = InProcessService()
  private let calls: FetchCalls

  init() throws {
    calls = FetchCalls(
      Configuration(account: "", storage: "/nonexistent"),
      using: Parts(probe: Scene(), transport: service, clock: ManualClock().clock))
    try calls.initializeAndWait(service.configuration())
  }

  /// The result of a call that calls back.
  private func called(
    _ call: (@escaping @Sendable (FetchCalls.FetchResult) -> Void) -> Void
  ) async -> FetchCalls.FetchResult {
    await withCheckedContinuation { continuation in
      call { continuation.resume(returning: $0) }
    }
  }

  private var subject: AttestationReport.Subject? {
    service.state.withLock { $0.subjects.last }
  }

  @Test("a token comes by return, by a call that blocks, and by a call that calls back")
  func tokens() async throws {
    let results = [
      try await calls.fetchToken(for: "a.example.com"),
      calls.fetchTokenAndWait(for: "b.example.com"),
      await called { calls.fetchToken(for: "c.example.com", completion: $0) },
    ]
    for result in results { #expect(result.status == .success && !result.token.isEmpty) }
    let subjects = service.state.withLock { $0.subjects }
    #expect(subjects.map(\.name) == ["a.example.com", "b.example.com", "c.example.com"])
    #expect(subjects.map(\.purpose) == [.token, .token, .token])
    let measured = await called {
      calls.fetchToken(for: "c.example.com?measurement", completion: $0)
    }
    #expect(measured.status == .success && subject?.purpose == .measurement)
  }

  @Test("a secure string is read and defined in each way, with its name and its definition")
  func strings() async throws {
    service.set { $0.secureString = "value" }
    let read = [
      try await calls.fetchSecureString("k1"), calls.fetchSecureStringAndWait("k2"),
      await called { calls.fetchSecureString("k3", completion: $0) },
    ]
    for result in read { #expect(result.status == .success && result.secureString == "value") }
    let defined = [
      try await calls.fetchSecureString("k1", newDefinition: "d1"),
      calls.fetchSecureStringAndWait("k2", newDefinition: "d2"),
      await called { calls.fetchSecureString("k3", newDefinition: "d3", completion: $0) },
    ]
    for result in defined { #expect(result.status == .success) }
    let subjects = service.state.withLock { $0.subjects }
    #expect(subjects.allSatisfy { $0.purpose == .secureString })
    #expect(subjects.map(\.name) == ["k1", "k2", "k3", "k1", "k2", "k3"])
    let payloads = ["d1", "d2", "d3"].map { [1] + Array($0.utf8) }
    #expect(subjects.map(\.payload) == [[0], [0], [0]] + payloads)
  }

  @Test("a token with the app's claims comes in each way")
  func claims() async throws {
    let results = [
      try await calls.fetchCustomJWT(#"{"a":1}"#), calls.fetchCustomJWTAndWait(#"{"a":2}"#),
      await called { calls.fetchCustomJWT(#"{"a":3}"#, completion: $0) },
    ]
    for result in results { #expect(result.status == .success && !result.token.isEmpty) }
    let subjects = service.state.withLock { $0.subjects }
    #expect(subjects.allSatisfy { $0.purpose == .customJWT })
    #expect(subjects.map(\.payload) == [1, 2, 3].map { Array(#"{"a":\#($0)}"#.utf8) })
  }

  @Test("an invalid call ends at once in each way, with the reason")
  func invalid() async throws {
    let long = String(repeating: "k", count: 65)
    let strings = [
      try await calls.fetchSecureString(long), calls.fetchSecureStringAndWait(long),
      await called { calls.fetchSecureString(long, completion: $0) },
    ]
    for result in strings {
      #expect(result.status == .badKey)
      #expect(result.reason == "the name has 65 characters; 1 to 64 are allowed")
    }
    #expect(calls.fetchSecureStringAndWait("").status == .badKey)
    #expect(calls.fetchSecureStringAndWait(String(long.dropLast())).status == .success)
    let large = String(repeating: "d", count: 65_536)
    #expect(calls.fetchSecureStringAndWait("k", newDefinition: large).status == .badPayload)
    let most = String(large.dropLast())
    #expect(calls.fetchSecureStringAndWait("k", newDefinition: most).status == .success)
    for (claims, reason) in [
      ("[]", "the claims are JSON, but no object"), ("{", "the claims are no JSON: see byte 1"),
      (
        #"{"a":"\#(String(repeating: "b", count: 39_993))"}"#,
        "the claims have 40001 bytes; at most 40,000 are allowed"
      ),
    ] {
      let result = calls.fetchCustomJWTAndWait(claims)
      #expect(result.status == .badPayload && result.reason == reason)
    }
    let whole = #"{"a":"\#(String(repeating: "b", count: 39_992))"}"#
    #expect(calls.fetchCustomJWTAndWait(whole).status == .success)
    let url = try await calls.fetchToken(for: "a b")
    #expect(url.status == .badURL)
    #expect(url.reason == "a b is neither a host name nor an https URL with one")
  }

  @Test("an activity goes into the reports that follow, and too long a one is ignored")
  func activity() throws {
    func told() -> [AttestationReport.Property] {
      _ = calls.fetchCustomJWTAndWait("{}")
      return (subject?.properties ?? []).filter { $0.name.hasPrefix("act") }
    }
    let none = told()
    calls.setActivity("https://app.example.com/door")
    let set = told()
    #expect(set != none && set.contains { $0.value.contains("app.example.com") })
    calls.setActivity(String(repeating: "a", count: 1_025))
    #expect(told() == set)
    calls.setActivity(nil)
    #expect(told() == none)
  }

  @Test("the device's id is the installation's in base64")
  func device() throws {
    let instance = try calls.attestor.readInstance()
    #expect(calls.deviceID == Base64.encode(instance.bytes))
    #expect(calls.pins()?.json == calls.pinsJSON())
  }
}

@Suite("Statements of the app at their bounds")
struct StatementTests {
  @Test("a longer key, property or note changes nothing")
  func bounds() throws {
    let stage = try Stage()
    func told() throws -> AttestationReport.Subject {
      _ = stage.attestor.fetchCustomJWTAndWait("{}")
      return try #require(stage.service.state.withLock { $0.subjects.last })
    }
    func text(_ count: Int) -> String { String(repeating: "a", count: count) }
    stage.attestor.setDevelopmentKey(text(1_024))
    stage.attestor.setUserProperty(text(128))
    #expect(try told().developmentKey == text(1_024))
    #expect(try told().userProperty == text(128))
    stage.attestor.setDevelopmentKey(text(1_025))
    stage.attestor.setUserProperty(text(129))
    #expect(try told().developmentKey == text(1_024))
    #expect(try told().userProperty == text(128))
    stage.attestor.setUserProperty("f\u{fc}r " + String(repeating: "\u{e4}", count: 200))
    #expect(try told().userProperty == "fr ")
    stage.attestor.setDevelopmentKey(nil)
    stage.attestor.setUserProperty(nil)
    #expect(try told().developmentKey == "" && told().userProperty == "")
    try stage.attestor.setNote(text(128))
    #expect(try told().userProperty == text(128))
    for note in [text(129), "$a", "a\u{e4}", "a\n", "\u{7f}", "\u{1f}"] {
      let error = #expect(throws: ProofError.self) { try stage.attestor.setNote(note) }
      guard case .outOfRange("note", Observation.line(note), let allowed)? = error else {
        Issue.record("\(String(describing: error))")
        continue
      }
      #expect(
        allowed == "at most 128 printable characters of ASCII, the first of them not $")
    }
    #expect(try told().userProperty == text(128))
    try stage.attestor.setNote(" ~a$")
    #expect(try told().userProperty == " ~a$")
    try stage.attestor.setNote(nil)
    #expect(try told().userProperty == "")
    try stage.attestor.setActivity(text(1_024))
    #expect(
      throws: ProofError.outOfRange(
        field: "activity", value: "1025 bytes", allowed: "at most 1024 bytes")
    ) { try stage.attestor.setActivity(text(1_025)) }
  }

  @Test("a statement that stays the same keeps the token, and another one ends it")
  func unchanged() throws {
    let stage = try Stage()
    func asked(_ change: () throws -> Void) rethrows -> Int {
      let before = stage.service.count("report")
      try change()
      #expect(stage.attestor.fetchTokenAndWait(for: "api.example.com").status == .success)
      return stage.service.count("report") - before
    }
    #expect(asked {} == 1)
    #expect(asked {} == 0)
    #expect(asked { stage.attestor.setUserProperty("a") } == 1)
    #expect(asked { stage.attestor.setUserProperty("a") } == 0)
    #expect(asked { stage.attestor.setDevelopmentKey("a") } == 1)
    #expect(asked { stage.attestor.setDevelopmentKey("a") } == 0)
    #expect(asked { stage.attestor.setDataHash(of: "a") } == 1)
    #expect(asked { stage.attestor.setDataHash(of: "a") } == 0)
    #expect(asked { stage.attestor.setDataHash(of: nil) } == 1)
    #expect(try asked { try stage.attestor.setActivity("a") } == 1)
    #expect(try asked { try stage.attestor.setActivity("a") } == 0)
    #expect(asked { stage.attestor.reportMeasurementError() } == 1)
    #expect(asked { stage.attestor.noteCopy(seenBy: .random()) } == 1)
  }
}
