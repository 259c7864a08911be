// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import Testing

@testable import ProofKit

@Suite("Strings of the app's own, with keys from the service")
final class SecureStringTests {
  private typealias Failure = SecureStringError

  let folder = "/var/tmp/proofkit-strings-\(UInt64.random(in: 1 ... .max))"
  private var store: SecureStringStore { SecureStringStore(folder: folder) }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func stage(_ keys: UInt8...) throws -> Stage {
    let stage = try Stage()
    let keys = try keys.map { try stringKey($0) }
    stage.service.set { $0.stringKeys = keys }
    return stage
  }

  @Test("a string survives the app's restart, and a key that still lives is not asked for again")
  func lasting() async throws {
    let first = try stage(1)
    let strings = first.attestor.secureStrings(in: store)
    try await strings.define("session", as: "s3cret \u{1F511}")
    #expect(try await strings.ownString(named: "session").text == "s3cret \u{1F511}")
    #expect(first.service.count("report") == 1)
    let next = try stage(1).attestor.secureStrings(in: store)
    #expect(try await next.ownString(named: "session").text == "s3cret \u{1F511}")
    try await next.remove("session")
    let error = await #expect(throws: Failure.self) {
      try await strings.ownString(named: "session")
    }
    #expect(error == .notThere(name: "session"))
    first.time.advance(AttestorTimes.life)
    try await strings.define("session", as: "again")
    #expect(first.service.count("report") == 2)
  }

  @Test("the key is dropped when the environment changes")
  func environment() async throws {
    let stage = try stage(1)
    let strings = stage.attestor.secureStrings(in: store)
    try await strings.define("a", as: "1")
    // The service judges anew, and gives another key.
    let other = try stringKey(9)
    stage.service.set { $0.stringKeys = [other] }
    #expect(try await strings.ownString(named: "a").text == "1")
    stage.scene.state.withLock { $0.looks[.environment] = 1 }
    await #expect(throws: Failure.notThere(name: "a")) {
      _ = try await strings.ownString(named: "a")
    }
    #expect(stage.service.count("report") == 2)
  }

  @Test("a failing app's key opens nothing, destroys nothing, and looks like every other")
  func failing() async throws {
    try await stage(1).attestor.secureStrings(in: store).define("a", as: "mine")
    let failing = try stage(9).attestor.secureStrings(in: store)
    await #expect(throws: Failure.notThere(name: "a")) {
      _ = try await failing.ownString(named: "a")
    }
    try await failing.remove("a")
    try await failing.define("a", as: "other")
    #expect(try await failing.ownString(named: "a").text == "other")
    let passing = try stage(1).attestor.secureStrings(in: store)
    #expect(try await passing.ownString(named: "a").text == "mine")
  }

  @Test("names and values out of bounds are refused before anything is sent")
  func bounds() async throws {
    let stage = try stage(1)
    let strings = stage.attestor.secureStrings(in: store)
    await #expect(throws: Failure.badName(characterCount: 0)) {
      _ = try await strings.ownString(named: "")
    }
    await #expect(throws: Failure.badName(characterCount: 65)) {
      try await strings.remove(String(repeating: "n", count: 65))
    }
    await #expect(throws: Failure.badValue(byteCount: 0)) { try await strings.define("a", as: "") }
    await #expect(throws: Failure.badValue(byteCount: 65_536)) {
      try await strings.define("a", as: String(repeating: "v", count: 65_536))
    }
    #expect(stage.service.count("report") == 0)
    let name = String(repeating: "\u{1F511}", count: 64)
    let value = String(repeating: "v", count: 65_535)
    try await strings.define(name, as: value)
    #expect(try await strings.ownString(named: name).text == value)
  }

  @Test("a missing key gives the fetch's error, and keeps the stored strings")
  func withoutKey() async throws {
    let unset = try Stage(isInitialized: false).attestor.secureStrings(in: store)
    let early = await #expect(throws: Failure.self) { _ = try await unset.ownString(named: "a") }
    guard case .attestation(let reason) = early, reason.status == .notInitialized else {
      Issue.record("\(String(describing: early))")
      return
    }
    let stage = try stage(1)
    let strings = stage.attestor.secureStrings(in: store)
    try await strings.define("a", as: "1")
    stage.attestor.setUserProperty("drops what is kept")
    let changes: [(inout InProcessService.State) -> Void] = [
      { $0.outcome = .disabled }, { $0.failure = .unreachable("x") },
      { $0.stringKeys = [] },
    ]
    let expected: [FetchStatus] = [.disabled, .noNetwork, .noService]
    for (change, status) in zip(changes, expected) {
      let keys = stage.service.state.withLock { $0.stringKeys }
      stage.service.set(change)
      let error = await #expect(throws: Failure.self) {
        try await strings.define("a", as: "2")
      }
      guard case .attestation(let found) = error, found.status == status else {
        Issue.record("\(String(describing: error))")
        return
      }
      stage.service.set {
        $0.outcome = .done
        $0.failure = nil
        $0.stringKeys = keys
      }
      stage.time.advance(AttestorTimes.failure)
    }
    #expect(try await strings.ownString(named: "a").text == "1")
  }

  @Test("no text of a string, an error or a result has the value")
  func texts() async throws {
    let stage = try stage(1)
    let strings = stage.attestor.secureStrings(in: store)
    try await strings.define("a", as: "the value")
    let string = try await strings.ownString(named: "a")
    #expect("\(string)" == "(secure string)" && !"\(Mirror(reflecting: string))".contains("value"))
    #expect(string.withBytes { $0.byteCount } == 9)
    #expect("\(try stringKey(1))" == "StringKey(secret)")
    let errors: [Failure] = [
      .badName(characterCount: 0), .badValue(byteCount: 0), .notThere(name: "a\u{1B}"),
      .noRoom(.count), .noRoom(.bytes), .noRoom(.file), .stringDamaged(name: "a"),
      .damaged(keptAs: "x", byteCount: 3), .tooNew(version: 2), .storageUnusable(reason: "x"),
      .notDurable(reason: "x"), .attestation(AttestationError(.disabled, "x")), .cancelled,
    ]
    for error in errors {
      let text = error.description
      #expect(!text.contains("\u{1B}") && text.hasSuffix("."))
      for word in ["attack", "tamper", "stolen", "clone", "fraud", "failed"] {
        #expect(!text.contains(word), "\(text)")
      }
    }
  }
}
