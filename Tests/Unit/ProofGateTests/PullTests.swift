// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import Foundation
import ProofJOSE
import ProofModel
import SeededRandom
import Testing

@testable import ProofBackend
@testable import ProofGate

/// The configuration that a gate fetches: what it takes, what it keeps, and when it asks.
@Suite struct PullTests {
  /// A service that signs configurations, and says what a test wants.
  private final class Service: Sendable {
    private struct State {
      var answer: ConfigurationPull.Answer?
      var tags: [String?] = []
    }

    private let key: JSONWebKey
    private let state = CoreLock(State())
    let fingerprint: Digest

    init() throws {
      key = try JSONWebKey.random(.edDSA)
      fingerprint = Digest(hashing: Array("pfa1.config-key.".utf8) + (key.publicBytes ?? []))
    }

    func text(
      serial: Int, made: Int = 1000, gate: UInt8 = 7, extra: String = "", type: String = "gate+jwt"
    ) throws -> String {
      func text(_ bytes: [UInt8]) -> String { Base64.encode(bytes, .url) }
      let payload = """
        {"acc":"demo","nam":"web","gat":"\(text([UInt8](repeating: gate, count: 16)))","ser":\(serial),\
        "iat":\(made),"use":3600,"mod":"production","flr":0,"frm":"standard",\
        "hdr":{"proof":"proof","token":"proof-token"},"hst":["api.example.com"],"xks":[],"aks":[],\
        "iss":[],"rev":[],"evt":[]\(extra),"key":"\(text(key.publicBytes ?? []))"}
        """
      return try JWSSigner(key).sign(payload: Array(payload.utf8).span, type: type)
    }

    /// The answers from now on; nil for none.
    var answer: ConfigurationPull.Answer? {
      get { state.withLock { $0.answer } }
      set { state.withLock { $0.answer = newValue } }
    }

    /// The tags of the questions so far.
    var tags: [String?] { state.withLock { $0.tags } }

    func ask(_ tag: String?) throws -> ConfigurationPull.Answer {
      try state.withLock { state in
        state.tags.append(tag)
        guard let answer = state.answer else { throw PullFailure("gone") }
        return answer
      }
    }
  }

  private let folder: String
  private let file: String
  private let service: Service
  private let pull: ConfigurationPull

  init() throws {
    folder = NSTemporaryDirectory() + "pull-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    file = folder + "/kept.jws"
    let service = try Service()
    self.service = service
    pull = ConfigurationPull(keptIn: file, signedBy: service.fingerprint, clock: .fixed(77)) {
      tag in
      try service.ask(tag)
    }
  }

  private func kept() throws -> GateConfiguration {
    let bytes = try SecretFile.read(file, limit: 65_536)
    let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
    return try GateConfiguration(text, signedBy: service.fingerprint)
  }

  @Test("A configuration is kept before it counts, and asked for by its tag from then on")
  func taken() throws {
    service.answer = .text(try service.text(serial: 3), tag: "\"a\"")
    let pulled = try #require(try pull.pull(after: nil))
    #expect(pulled.configuration.serial == 3 && pulled.problem == nil)
    #expect(try kept().serial == 3)
    service.answer = .unchanged
    #expect(try pull.pull(after: pulled.configuration) == nil)
    #expect(service.tags == [nil, "\"a\""])
    _ = try pull.pull(after: nil)
    #expect(service.tags.last == .some(nil), "a gate that holds nothing asks for the whole")
    #expect(pull.counts.taken == 1 && pull.counts.unchanged == 2 && pull.counts.heard == 77)
  }

  @Test("An older, foreign or forged configuration is refused, and the file stays")
  func refused() throws {
    service.answer = .text(try service.text(serial: 3), tag: "\"a\"")
    let held = try #require(try pull.pull(after: nil)).configuration
    let other = try Service()
    let good = try service.text(serial: 4)
    for text in [
      try service.text(serial: 2), try service.text(serial: 3, made: 999),
      try service.text(serial: 4, gate: 8), try other.text(serial: 4), String(good.dropLast(4)), "",
      try service.text(serial: 4, extra: ",\"aud\":\"x\"").replacingOccurrences(of: ".", with: ""),
    ] {
      service.answer = .text(text, tag: "\"b\"")
      #expect(throws: PullFailure.self) { try pull.pull(after: held) }
      #expect(try kept().serial == 3)
    }
    #expect(pull.counts.refused == 7 && pull.counts.inRow == 7)
    service.answer = .text(good, tag: "\"c\"")
    #expect(try pull.pull(after: held)?.configuration.serial == 4)
    #expect(service.tags.last == .some(nil), "a tag stands only for a configuration that was taken")
    #expect(pull.counts.inRow == 0)
  }

  @Test("A configuration for redeemers alone is none for a gate")
  func audience() throws {
    service.answer = .text(
      try service.text(serial: 3, extra: ",\"aud\":\"shop\"", type: "redeemer+jwt"), tag: "\"a\"")
    let failure = #expect(throws: PullFailure.self) { try pull.pull(after: nil) }
    #expect(failure?.description == "\(GateConfigurationError.audienceOnly("shop"))")
    #expect(pull.counts.refused == 1 && pull.counts.inRow == 1 && pull.counts.heard == nil)
    #expect(!FileManager.default.fileExists(atPath: file))
  }

  @Test(
    "An earlier configuration of the same serial is told with both seconds, the same one is taken")
  func sameSerial() throws {
    service.answer = .text(try service.text(serial: 3), tag: "\"a\"")
    let held = try #require(try pull.pull(after: nil)).configuration
    #expect(try pull.pull(after: held)?.configuration.serial == 3)
    service.answer = .text(try service.text(serial: 3, made: 999), tag: "\"b\"")
    let failure = #expect(throws: PullFailure.self) { try pull.pull(after: held) }
    #expect(
      failure?.description == "The gate holds a configuration of second 1000, and 999 is older.")
    service.answer = .text(try service.text(serial: 4, made: 999), tag: "\"c\"")
    #expect(try pull.pull(after: held)?.configuration.serial == 4)
    #expect(
      pull.counts
        == .init(taken: 3, unchanged: 0, failed: 0, refused: 1, inRow: 0, heard: 77))
  }

  @Test("A service that is gone changes nothing")
  func gone() throws {
    service.answer = .text(try service.text(serial: 3), tag: "\"a\"")
    let held = try #require(try pull.pull(after: nil)).configuration
    service.answer = nil
    for number in 1...3 {
      #expect(throws: PullFailure("gone")) { try pull.pull(after: held) }
      #expect(pull.counts.inRow == number)
    }
    #expect(pull.counts.failed == 3 && pull.counts.heard == 77)
    #expect(try kept().serial == 3)
  }

  @Test("A configuration that cannot be kept counts, and is fetched again")
  func notKept() throws {
    try FileManager.default.removeItem(atPath: folder)
    service.answer = .text(try service.text(serial: 3), tag: "\"a\"")
    let pulled = try #require(try pull.pull(after: nil))
    #expect(pulled.configuration.serial == 3 && pulled.problem != nil)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    #expect(try pull.pull(after: pulled.configuration)?.problem == nil)
    #expect(service.tags.last == .some(nil))
    #expect(try kept().serial == 3)
  }

  @Test("Questions wait longer after each failure, up to a bound, and spread by a fifth")
  func schedule() {
    let schedule = PullSchedule(interval: 30, ceiling: 600)
    let waits = [0, 1, 2, 4, 5, 1000].map { schedule.wait(afterFailures: $0, random: 0.5) }
    #expect(waits == [30, 60, 120, 480, 600, 600])
    #expect(schedule.wait(afterFailures: 0, random: 0) == 24)
    #expect(abs(schedule.wait(afterFailures: 0, random: 1) - 36) < 0.001)
    #expect(PullSchedule(interval: 900).wait(afterFailures: 3, random: 0.5) == 900)
    #expect(PullSchedule() == PullSchedule(interval: 30, ceiling: 600))
    #expect(schedule.wait(afterFailures: -1, random: 0.5) == 30)
    #expect(PullSchedule(interval: 500).wait(afterFailures: 1, random: 0.5) == 600)
  }

  @Test("Answers of any form are judged, and only the service's own are taken")
  func fuzz() throws {
    let texts = [try service.text(serial: 3), try service.text(serial: 4, gate: 9)]
    var mutator = Mutator("pulled configurations")
    for _ in 0..<Mutator.rounds {
      let text = String(decoding: mutator.mutant(of: texts.map { Array($0.utf8) }), as: UTF8.self)
      service.answer = .text(text, tag: nil)
      if (try? pull.pull(after: nil)) ?? nil != nil { #expect(texts.contains(text)) }
    }
  }
}
