// SPDX-License-Identifier: Apache-2.0

import OwnThreads
import ProofJOSE
import ProofModel
import SeededRandom
import Synchronization
import Testing

@testable import ProofService

@Suite struct HostileTests {
  private func make(_ bench: Bench, _ app: TestApp) throws -> (bytes: [UInt8], salt: Salt) {
    let challenge = try bench.challenge(app, .measurement)
    let subject = AttestationReport.Subject(
      .measurement, name: Bench.lockAPI, userProperty: "x", dataHash: Digest(hashing: [1]),
      properties: [.init("os", "Debian")])
    return (try app.report(subject, answering: challenge), challenge.draft.salt)
  }

  @Test func `a report with any byte changed is never believed`() throws {
    let store = MemoryStore()
    let bench = try Bench(store, policy: [.deviceRate: "0", .addressRate: "0"])
    let (whole, salt) = try make(bench, bench.app)
    for place in whole.indices {
      var bytes = whole
      bytes[place] ^= 1 << UInt8(place % 8)
      let response = bench.post("/v1/report", bytes)
      if response.status == 200 {
        let named = try AttestationReport(bytes).salt
        let answer = try AttestationAnswer(response.body, to: named, with: bench.app.key)
        #expect(answer.token == "", "byte \(place)")
        #expect([.unbelievable, .askAgain].contains(answer.outcome), "byte \(place)")
      } else {
        #expect([400, 404].contains(response.status), "byte \(place)")
      }
      // A refused attempt spent the salt: make it good for the next one.
      store.forgetMarks()
    }
    #expect(try bench.send(whole, salt, bench.app).outcome == .done)
    #expect(bench.service.metrics[.passed] == 1)
  }

  @Test(arguments: 1...3)
  func `random mutations of a report are never believed and never crash`(_ seed: Int) throws {
    let store = MemoryStore()
    let bench = try Bench(store, policy: [.deviceRate: "0", .addressRate: "0"])
    let (whole, _) = try make(bench, bench.app)
    var generator = SeededGenerator(seed: UInt64(seed))
    for round in 0..<1_500 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...6, using: &generator) {
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
        case 1: bytes.removeSubrange(place...)
        case 2: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: place)
        case 3:
          let end = min(bytes.count, place + Int.random(in: 1...64, using: &generator))
          bytes.replaceSubrange(place..<end, with: bytes[place..<end].reversed())
        default: bytes.remove(at: place)
        }
        if bytes.isEmpty { break }
      }
      if bytes == whole { continue }
      let response = bench.post("/v1/report", bytes)
      #expect([200, 400, 404].contains(response.status), "seed \(seed), round \(round)")
      store.forgetMarks()
    }
    #expect(bench.service.metrics[.passed] == 0, "seed \(seed)")
    #expect(bench.service.metrics[.failed] == 0, "seed \(seed)")
  }

  @Test func `a report that is inconsistent spends its salt`() throws {
    let bench = try Bench()
    var (bytes, salt) = try make(bench, bench.app)
    let whole = bytes
    bytes[bytes.count - 1] ^= 1
    #expect(try bench.send(bytes, salt, bench.app).outcome == .unbelievable)
    #expect(try bench.send(whole, salt, bench.app).outcome == .askAgain)
    #expect(try bench.send(bytes, salt, bench.app).outcome == .unbelievable, "the same answer")
    #expect(bench.service.metrics[.unbelievable] == 1)
    #expect(try bench.store.counts().devices == 0)
  }

  @Test func `a report under another key, device or purpose than the challenge's must ask again`()
    throws
  {
    let bench = try Bench()
    let otherKey = [UInt8](repeating: 9, count: 16)
    try bench.management.addSDKBuild(key: secret(otherKey), name: "other", mode: .production)
    var stranger = bench.app
    stranger.key = try MeasurementProofKey(
      SecretBytes(copying: otherKey.span), mode: .production)
    var neighbour = bench.app
    neighbour.evidence[TestApp.Name(.device, 5, "secret")] = Digest(hashing: [9])
    for app in [stranger, neighbour] {
      let challenge = try bench.challenge(bench.app)
      let report = try app.report(.init(.token, name: Bench.api), answering: challenge)
      #expect(try bench.send(report, challenge.draft.salt, app).outcome == .askAgain)
    }
    let challenge = try bench.challenge(bench.app, .token)
    let report = try bench.app.report(
      .init(.measurement, name: Bench.lockAPI), answering: challenge)
    #expect(try bench.send(report, challenge.draft.salt, bench.app).outcome == .askAgain)
    #expect(bench.service.metrics[.unknownSalts] == 3 && bench.service.metrics[.parsed] == 0)
    // A stranger who saw the salt cannot spend it.
    let own = try bench.app.report(.init(.token, name: Bench.api), answering: challenge)
    #expect(try bench.send(own, challenge.draft.salt, bench.app).outcome == .done)
  }

  @Test func `records that are missing or unasked are not believed`() throws {
    let bench = try Bench()
    var missing = bench.app
    for name in missing.evidence.keys where name.evidenceClass == .environment && name.number == 1 {
      missing.evidence[name] = nil
    }
    var unasked = bench.app
    unasked.evidence[TestApp.Name(.environment, 200, "more")] = Digest(hashing: [1])
    for app in [missing, unasked] {
      let challenge = try bench.challenge(app)
      // An app that measures honestly cannot even make such a report, so another asks for less or
      // more than the service did.
      let asked = Set(app.set.records.map(\.source))
      let sources = try asked.map { try Source($0) }
      let draft = try BaselineDraft(salt: challenge.draft.salt, sources: sources)
      let forged = AttestationChallenge(draft, lifetime: 60, configSerial: 1)
      let report = try app.report(.init(.token, name: Bench.api), answering: forged)
      #expect(try bench.send(report, challenge.draft.salt, app).outcome == .unbelievable)
    }
  }

  @Test func `measured under other terms than the challenge's is not believed`() throws {
    let bench = try Bench()
    let challenge = try bench.challenge(bench.app, .measurement)
    let draft = try BaselineDraft(
      salt: challenge.draft.salt, sources: challenge.draft.sources,
      generation: challenge.draft.generation + 1)
    let forged = AttestationChallenge(draft, lifetime: 60, configSerial: 1)
    let report = try bench.app.report(
      .init(.measurement, name: Bench.lockAPI), answering: forged)
    #expect(try bench.send(report, challenge.draft.salt, bench.app).outcome == .unbelievable)
  }

  @Test func `the second of two reports under one generation spends its salt, too`() throws {
    let bench = try Bench()
    let (one, salt) = try make(bench, bench.app)
    let (other, otherSalt) = try make(bench, bench.app)
    #expect(try bench.send(one, salt, bench.app).outcome == .done)
    for _ in 0..<2 {
      #expect(try bench.send(other, otherSalt, bench.app).outcome == .askAgain)
    }
    #expect(bench.service.metrics[.parsed] == 2, "the third report came under a spent salt")
  }

  @Test func `a definition that is none is refused before anything is looked up`() throws {
    let bench = try Bench(policy: [.secureStrings: "on"])
    let challenge = try bench.challenge(bench.app, .secureString)
    let subject = AttestationReport.Subject(.secureString, name: "n", payload: [2])
    let report = try bench.app.report(subject, answering: challenge)
    #expect(bench.post("/v1/report", report).status == 400)
    #expect(try bench.store.counts().devices == 0)
    let good = AttestationReport.Subject(.secureString, name: "n", payload: [0])
    let next = try bench.app.report(good, answering: challenge)
    #expect(try bench.send(next, challenge.draft.salt, bench.app).outcome == .unknownKey)
  }

  @Test func `an app's statements hide neither the devices nor a clone`() throws {
    let bench = try Bench()
    var subject = AttestationReport.Subject(.token, name: Bench.api)
    subject.properties = (0..<64).map { index in
      let name = "\(index)" + String(repeating: "\u{1}", count: 1_000)
      return .init(name, String(repeating: "\"", count: 1_024))
    }
    #expect(try bench.attest(bench.app, subject).outcome == .done)
    #expect(try #require(try bench.store.device(bench.app.device)).note.count < 8_192)
    #expect(try bench.management.devices().map(\.device) == [bench.app.device])
    var clone = bench.app
    clone.evidence[TestApp.Name(.device, 1, "machine-id")] = Digest(hashing: [1])
    _ = try bench.attest(clone)
    let seen = try #require(try bench.management.devices().first).note.texts("properties")
    #expect(seen == ["cloned-storage"])
  }

  @Test func `one report sent by many at once is judged once, and all get its answer`() throws {
    let place = Workplace()
    let bench = try Bench(
      try SQLiteStore(creatingAt: place.path(of: "store")),
      policy: [.deviceRate: "0", .addressRate: "0"])
    for _ in 0..<10 {
      let challenge = try bench.challenge(bench.app)
      let report = try bench.app.report(.init(.token, name: Bench.api), answering: challenge)
      let answers = Mutex<Set<[UInt8]>>([])
      onThreads(8) { _ in
        let response = bench.post("/v1/report", report)
        precondition(response.status == 200)
        _ = answers.withLock { $0.insert(response.body) }
      }
      let all = answers.withLock { $0 }
      #expect(all.count == 1)
      let salt = challenge.draft.salt
      let answer = try AttestationAnswer(#require(all.first), to: salt, with: bench.app.key)
      #expect(answer.outcome == .done && !answer.token.isEmpty)
    }
    #expect(bench.service.metrics[.passed] == 10)
  }

  @Test func `a report's records are read only when its head is in order`() throws {
    let bench = try Bench(policy: [.deviceRate: "0"])
    let challenge = try bench.challenge(bench.app)
    let subject = AttestationReport.Subject(.token, name: Bench.api)
    let whole = try bench.app.report(subject, answering: challenge)
    let head = 4 + KeyID.byteCount + Salt.byteCount + InstanceID.byteCount
    var parsed = 0
    /// The bytes behind each head are no report, and the service does not get that far.
    func expect(_ status: Int, _ change: (inout [UInt8]) -> Void, peer: String = "192.0.2.7") {
      var bytes = Array(whole.prefix(head + 64)) + [UInt8](repeating: 255, count: 400_000)
      change(&bytes)
      let response = bench.post("/v1/report", bytes, peer: peer)
      #expect(response.status == status)
      #expect(bench.service.metrics[.parsed] == parsed)
    }
    expect(404) { $0[4] ^= 1 }  // an unknown key
    expect(404) { $0[head + 7] ^= 1 }  // another account
    expect(200) { $0[12] ^= 1 }  // an unknown salt
    let other = try bench.challenge(bench.app, .measurement)
    expect(200) { $0.replaceSubrange(12..<28, with: other.draft.salt.bytes) }  // another purpose
    let third = try bench.challenge(bench.app)
    expect(200) {
      $0.replaceSubrange(12..<28, with: third.draft.salt.bytes)
      $0[28] ^= 1  // another device
    }
    // With the right head the rest is read, and found to be none.
    parsed = 1
    expect(400) { _ in }
    #expect(try bench.send(whole, challenge.draft.salt, bench.app).outcome == .done)
    parsed = 2
    expect(200) { _ in }  // a used salt
    bench.clock.advance(by: 60)
    let late = try bench.challenge(bench.app)
    bench.clock.advance(by: 60)
    expect(200) { $0.replaceSubrange(12..<28, with: late.draft.salt.bytes) }
    try bench.management.revokeSDKBuild(bench.app.key.id)
    expect(404) { _ in }
  }

  @Test func `random questions and paths never crash`() throws {
    let bench = try Bench(policy: [.deviceRate: "0", .addressRate: "0"])
    var generator = SeededGenerator(seed: 11)
    let whole = bench.app.question().bytes
    for round in 0..<2_000 {
      var bytes = whole
      let place = Int.random(in: 0..<bytes.count, using: &generator)
      if round % 2 == 0 {
        bytes[place] = UInt8.random(in: 0...255, using: &generator)
      } else {
        bytes.removeSubrange(place...)
      }
      #expect([200, 400, 404].contains(bench.post("/v1/challenge", bytes).status))
    }
    for path in ["//", "/v1//", "/v1/manage/", "/v1/manage//", "/v1/config/\u{0}", "v1/report"] {
      #expect([401, 404, 405].contains(bench.get(path).status))
      #expect([401, 404, 405].contains(bench.post(path, []).status))
    }
  }
}
