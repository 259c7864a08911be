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
    #expect(try await strings.string(named: "session").text == "s3cret \u{1F511}")
    #expect(first.service.count("report") == 1)
    let next = try stage(1).attestor.secureStrings(in: store)
    #expect(try next.stringAndWait(named: "session").text == "s3cret \u{1F511}")
    try next.removeAndWait("session")
    let error = await #expect(throws: Failure.self) { try await strings.string(named: "session") }
    #expect(error == .notThere(name: "session"))
    first.time.advance(AttestorTimes.life)
    try strings.defineAndWait("session", as: "again")
    #expect(first.service.count("report") == 2)
  }

  @Test("the key is dropped when the environment changes")
  func environment() throws {
    let stage = try stage(1)
    let strings = stage.attestor.secureStrings(in: store)
    try strings.defineAndWait("a", as: "1")
    // The service judges anew, and gives another key.
    let other = try stringKey(9)
    stage.service.set { $0.stringKeys = [other] }
    #expect(try strings.stringAndWait(named: "a").text == "1")
    stage.scene.state.withLock { $0.looks[.environment] = 1 }
    #expect(throws: Failure.notThere(name: "a")) { _ = try strings.stringAndWait(named: "a") }
    #expect(stage.service.count("report") == 2)
  }

  @Test("a failing app's key opens nothing, destroys nothing, and looks like every other")
  func failing() throws {
    try stage(1).attestor.secureStrings(in: store).defineAndWait("a", as: "mine")
    let failing = try stage(9).attestor.secureStrings(in: store)
    #expect(throws: Failure.notThere(name: "a")) { _ = try failing.stringAndWait(named: "a") }
    try failing.removeAndWait("a")
    try failing.defineAndWait("a", as: "other")
    #expect(try failing.stringAndWait(named: "a").text == "other")
    let passing = try stage(1).attestor.secureStrings(in: store)
    #expect(try passing.stringAndWait(named: "a").text == "mine")
  }

  @Test("names and values out of bounds are refused before anything is sent")
  func bounds() throws {
    let stage = try stage(1)
    let strings = stage.attestor.secureStrings(in: store)
    #expect(throws: Failure.badName(characterCount: 0)) { _ = try strings.stringAndWait(named: "") }
    #expect(throws: Failure.badName(characterCount: 65)) {
      try strings.removeAndWait(String(repeating: "n", count: 65))
    }
    #expect(throws: Failure.badValue(byteCount: 0)) { try strings.defineAndWait("a", as: "") }
    #expect(throws: Failure.badValue(byteCount: 65_536)) {
      try strings.defineAndWait("a", as: String(repeating: "v", count: 65_536))
    }
    #expect(stage.service.count("report") == 0)
    let name = String(repeating: "\u{1F511}", count: 64)
    let value = String(repeating: "v", count: 65_535)
    try strings.defineAndWait(name, as: value)
    #expect(try strings.stringAndWait(named: name).text == value)
  }

  @Test("a missing key gives the fetch's error, and keeps the stored strings")
  func withoutKey() async throws {
    let unset = try Stage(isInitialized: false).attestor.secureStrings(in: store)
    let early = #expect(throws: Failure.self) { _ = try unset.stringAndWait(named: "a") }
    guard case .noKey(.notInitialized, _) = early else {
      Issue.record("\(String(describing: early))")
      return
    }
    let stage = try stage(1)
    let strings = stage.attestor.secureStrings(in: store)
    try strings.defineAndWait("a", as: "1")
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
      guard case .noKey(let found, _) = error, found == status else {
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
    #expect(try strings.stringAndWait(named: "a").text == "1")
  }

  @Test("no text of a string, an error or a result has the value")
  func texts() throws {
    let stage = try stage(1)
    let strings = stage.attestor.secureStrings(in: store)
    try strings.defineAndWait("a", as: "the value")
    let string = try strings.stringAndWait(named: "a")
    #expect("\(string)" == "(secure string)" && !"\(Mirror(reflecting: string))".contains("value"))
    #expect(string.withBytes { $0.byteCount } == 9)
    #expect("\(try stringKey(1))" == "StringKey(secret)")
    let errors: [Failure] = [
      .badName(characterCount: 0), .badValue(byteCount: 0), .notThere(name: "a\u{1B}"),
      .noRoom(.count), .noRoom(.bytes), .noRoom(.file), .stringDamaged(name: "a"),
      .damaged(keptAs: "x", byteCount: 3), .tooNew(version: 2), .storageUnusable(reason: "x"),
      .notDurable(reason: "x"), .noKey(.disabled, reason: "x"), .cancelled,
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
