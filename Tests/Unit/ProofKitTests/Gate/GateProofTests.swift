// SPDX-License-Identifier: Apache-2.0

import ProofMigration
import ProofModel
import ProofRequest
import SeededRandom
import Testing

@testable import ProofKit

@Suite("Proofs for a gate")
struct GateProofTests {
  @Test("the gate opens the token that a first request carries, and the proof is its key's")
  func first() throws {
    let stage = try GateStage()
    let sent = try stage.session.guarded(stage.request)
    let token = try stage.gate.check(sent)
    try token.judge(by: .init(now: stage.time.now))
    #expect(token.count == 1 && token.isYoung && token.measured == 0)
    #expect(sent.body == stage.request.body && sent.url == stage.request.url)
    #expect(stage.service.state.withLock { $0.hostsAsked } == ["api.example.com"])
  }

  @Test("a proof is for one method, URL, body and authorization")
  func bound() throws {
    let stage = try GateStage()
    let sent = try stage.session.guarded(stage.request)
    var changed = sent
    changed.method = "PUT"
    #expect(throws: GateRefusal.self) { try stage.gate.check(changed) }
    changed = sent
    changed.url += "2"
    #expect(throws: GateRefusal.self) { try stage.gate.check(changed) }
    changed = sent
    changed.body?.append(1)
    #expect(throws: GateRefusal.self) { try stage.gate.check(changed) }
    changed = sent
    changed.set("authorization", to: "Bearer u")
    #expect(throws: GateRefusal.self) { try stage.gate.check(changed) }
  }

  @Test(
    "the digest that a compact proof covers travels in a field of its own, if the account wants it")
  func digest() throws {
    let stage = try GateStage()
    #expect(try stage.session.guarded(stage.request).values(of: "x-digest").first?.count == 43)
    let other = try GateStage { $0.headers.digest = nil }
    #expect(try other.session.guarded(stage.request).values(of: "x-digest") == [])
  }

  @Test("the form over the body alone covers the body")
  func body() throws {
    let stage = try GateStage { $0.form = .body }
    let sent = try stage.session.guarded(stage.request)
    let secret = try stage.gate.open(sent)
    let text = try #require(sent.values(of: "x-proof").first)
    _ = try CompactToken(
      checking: text, for: .body(Digest(hashing: sent.body ?? [])), with: secret.keys.compact)
    #expect(throws: GateRefusal.self) {
      try CompactToken(checking: text, for: .body(Digest(hashing: [1])), with: secret.keys.compact)
    }
  }

  @Test(
    "the standard form is RFC 9421 under the handle's key", arguments: ["GET", "POST", "DELETE"])
  func standard(method: String) throws {
    let stage = try GateStage { $0.form = .standard }
    try stage.session.setAccount("ada")
    var request = stage.request
    request.method = method
    if method == "GET" { request.body = nil }
    let sent = try stage.session.guarded(request)
    var head = try RequestHead(method: method, url: request.url)
    for field in sent.fields { try head.fields.append(field.name, field.value) }
    let proof = try StandardProof(reading: head)
    let keys = try stage.gate.open(sent).keys
    #expect(keys.withRequestKey { proof.isSigned(with: $0) })
    #expect(proof.keyID == Base64.encode(keys.handle.bytes, .url))
    #expect(proof.created == stage.time.now)
    #expect((proof.body == nil) == (method == "GET"))
    let account = try stage.gate.accountKey().digest(of: "ada")
    #expect(sent.values(of: "proof-account") == ["3." + Base64.encode(account.bytes, .url)])
    #expect(
      try stage.session.guarded(request).values(of: "signature") != sent.values(of: "signature"))
  }

  // MARK: Hosts

  @Test(
    "a host that the account does not list for the gate gets no proof",
    arguments: [
      "https://evil.example.com/", "https://api.example.com.evil.com/",
      "https://api.example.com:8443/", "http://api.example.com/",
      "https://api.example.com@evil.com/",
      "http://127.0.0.1/", "https://xapi.example.com/",
    ])
  func unlisted(url: String) throws {
    let stage = try GateStage()
    #expect(throws: GateError.self) { try stage.session.guarded(Request("GET", url)) }
  }

  @Test("a listed host is known in either case, with the port of https and the root's dot")
  func listed() throws {
    let stage = try GateStage()
    for url in [
      "https://API.example.com/", "https://pay.example.com:443/", "https://api.example.com./",
    ] {
      #expect(try stage.session.guarded(Request("GET", url)).values(of: "x-proof").count == 1)
    }
  }

  @Test("plain http to this machine is proved only where it was allowed")
  func loopback() throws {
    let request = Request("GET", "http://127.0.0.1:8080/")
    let open = try GateStage(allowsPlainLoopback: true) { $0.hosts = ["127.0.0.1:8080", "a.b"] }
    #expect(try open.session.guarded(request).values(of: "x-proof").count == 1)
    #expect(throws: GateError.hostNotListed("a.b")) {
      try open.session.guarded(Request("GET", "http://a.b:80/"))
    }
    let closed = try GateStage { $0.hosts = ["127.0.0.1:8080"] }
    #expect(throws: GateError.hostNotListed("127.0.0.1:8080")) {
      try closed.session.guarded(request)
    }
  }

  // MARK: Token

  @Test("the token is sent until the gate knows it, and again when the gate asks")
  func shown() throws {
    let stage = try GateStage()
    let first = try stage.session.guarded(stage.request)
    #expect(try stage.session.guarded(stage.request).values(of: "x-token").count == 1)
    #expect(stage.session.note(Response(status: 200), to: first) == nil)
    let second = try stage.session.guarded(stage.request)
    #expect(second.values(of: "x-token") == [])
    let ask = Response(status: 401, fields: [HeaderField("Proof-Refusal", "token")])
    #expect(stage.session.note(ask, to: second) == .token)
    #expect(try stage.session.guarded(stage.request).values(of: "x-token").count == 1)
  }

  @Test("a token that is refused twice leads to another one, after a wait")
  func refused() throws {
    let stage = try GateStage()
    let ask = Response(status: 401, fields: [HeaderField("proof-refusal", "token")])
    for _ in 0..<2 {
      let sent = try stage.session.guarded(stage.request)
      #expect(stage.session.note(ask, to: sent) == .token)
    }
    #expect(stage.session.lastError == .tokenRefused)
    #expect(throws: GateError.tokenRefused) { try stage.session.guarded(stage.request) }
    _ = stage.session.work()
    #expect(stage.asked == 1)
    stage.time.advance(.seconds(1))
    _ = stage.session.work()
    #expect(stage.asked == 2)
    // The next one is refused, too: the wait grows.
    for _ in 0..<2 {
      let sent = try stage.session.guarded(stage.request)
      _ = stage.session.note(ask, to: sent)
    }
    stage.time.advance(.milliseconds(1_999))
    _ = stage.session.work()
    #expect(stage.asked == 2)
    stage.time.advance(.milliseconds(1))
    _ = stage.session.work()
    #expect(stage.asked == 3)
  }

  @Test("an answer of a host that is not the gate's changes nothing")
  func stranger() throws {
    let stage = try GateStage()
    _ = try stage.session.guarded(stage.request)
    let key = try BeaconKey(from: .random(count: 32), number: 1, of: stage.gate.id)
    let answer = Response(
      status: 401,
      fields: [
        HeaderField("Proof-Time", key.header(at: 1_900_000_000)),
        HeaderField("Proof-Refusal", "token"),
      ])
    for url in ["https://evil.example.com/", "http://api.example.com/", "nonsense"] {
      #expect(stage.session.note(answer, to: Request("GET", url)) == nil)
      #expect(stage.session.state.withLock { $0.beacon } == nil)
    }
  }

  // MARK: Time

  @Test("the newest beacon that the gate told is in each token")
  func beacon() throws {
    let stage = try GateStage()
    let key = try BeaconKey(from: .random(count: 32), number: 1, of: stage.gate.id)
    let now = stage.time.now
    func note(_ time: UnixTime) throws {
      let sent = try stage.session.guarded(stage.request)
      stage.session.note(
        Response(status: 200, fields: [HeaderField("Proof-Time", key.header(at: time))]), to: sent)
    }
    let secret = try stage.gate.open(try stage.session.guarded(stage.request))
    #expect(
      try !stage.gate.check(stage.session.guarded(stage.request), secret: secret)
        .isAnchored(by: key.valid(at: now)))
    try note(now)
    try note(now - 3_000)
    #expect(
      try stage.gate.check(stage.session.guarded(stage.request), secret: secret)
        .isAnchored(by: key.valid(at: now)))
  }

  @Test("after a refusal of class clock the gate's time counts, and the device's does not")
  func clock() throws {
    let stage = try GateStage()
    stage.time.boot.withLock { $0 = 1_000_000_000 }
    let sent = try stage.session.guarded(stage.request)
    let answer = Response(
      status: 401,
      fields: [
        HeaderField("Proof-Refusal", "clock"), HeaderField("Date", "Sun, 17 Mar 2030 17:46:40 GMT"),
      ])
    #expect(stage.session.note(answer, to: sent) == .clock)
    stage.time.advance(.seconds(5))
    let secret = try stage.gate.open(sent)
    let token = try stage.gate.check(stage.session.guarded(stage.request), secret: secret)
    #expect(token.created == 1_900_000_005)
    #expect(HTTPDate("Sun, 06 Nov 1994 08:49:37 GMT")?.time == 784_111_777)
    #expect(HTTPDate("Thu, 29 Feb 2024 00:00:00 GMT")?.time == 1_709_164_800)
    for text in [
      "", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Foo 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 24:49:37 GMT",
    ] {
      #expect(HTTPDate(text) == nil)
    }
  }

  @Test("any text is a date or none, and an answer of any kind is noted without harm")
  func anyAnswer() throws {
    let stage = try GateStage()
    let sent = try stage.session.guarded(stage.request)
    var mutator = Mutator("answer of a gate")
    let inputs = ["Sun, 06 Nov 1994 08:49:37 GMT", "FAAAAAABAgME", "token", "clock"]
    for _ in 0..<Mutator.rounds {
      func text() -> String {
        String(decoding: mutator.mutant(of: inputs.map { Array($0.utf8) }), as: UTF8.self)
      }
      let answer = Response(
        status: 401,
        fields: [
          HeaderField("Date", text()), HeaderField("Proof-Time", text()),
          HeaderField("Proof-Refusal", text()),
        ])
      if let date = HTTPDate(text()) { #expect(0..<253_402_300_800 ~= date.time) }
      _ = stage.session.note(answer, to: sent)
      if stage.session.lastError == .tokenRefused { break }
    }
  }

  // MARK: Measuring

  @Test(
    "each proof rests on a measurement that is not older than the account allows",
    arguments: [0, 1, 10] as [UInt8])
  func freshness(seconds: UInt8) throws {
    let stage = try GateStage { $0.freshness = seconds }
    func looks() -> Int { stage.stage.scene.state.withLock { $0.count } }
    _ = try stage.session.guarded(stage.request)
    var before = looks()
    _ = try stage.session.guarded(stage.request)
    #expect(looks() - before == (seconds == 0 ? 1 : 0))
    stage.time.advance(.seconds(Int64(seconds)) - .milliseconds(1))
    before = looks()
    let token = try stage.gate.check(stage.session.guarded(stage.request))
    #expect(token.measured <= seconds)
    stage.time.advance(.milliseconds(1))
    before = looks()
    _ = try stage.session.guarded(stage.request)
    #expect(looks() - before == 1)
  }

  @Test("keys that are too old are dropped although nothing is asked")
  func dropped() throws {
    let stage = try GateStage { $0.freshness = 10 }
    _ = try stage.session.guarded(stage.request)
    let next = stage.session.work()
    #expect(next == .some(.some(stage.time.clock.uptime() + .seconds(10))))
    stage.time.advance(.seconds(10))
    weak let keyring = stage.session.state.withLock { $0.keyring }
    #expect(keyring != nil)
    _ = stage.session.work()
    #expect(keyring == nil)
  }

  @Test("a changed environment gives no proof, and the service is asked anew")
  func environment() throws {
    let stage = try GateStage { $0.freshness = 1 }
    let before = try stage.gate.open(try stage.session.guarded(stage.request))
    stage.stage.scene.state.withLock { $0.looks[.environment] = 1 }
    stage.time.advance(.seconds(1))
    #expect(throws: GateError.environmentChanged) { try stage.session.guarded(stage.request) }
    #expect(try stage.session.eventToken(for: 3300).cause == .measurement)
    #expect(stage.asked == 1)
    _ = stage.session.work()
    #expect(stage.asked == 2)
    // The service decides about the app as it is now; the app has keys as before, of another generation.
    let sent = try stage.session.guarded(stage.request)
    #expect(try stage.gate.check(sent).handle != before.keys.handle)
  }

  @Test("an environment that goes on changing has the app attested ever more rarely")
  func flapping() throws {
    let stage = try GateStage()
    var waits: [Int64] = []
    for look in 1...9 {
      stage.stage.scene.state.withLock { $0.looks[.environment] = UInt8(look) }
      for _ in 0..<3 {
        #expect(throws: GateError.environmentChanged) { try stage.session.guarded(stage.request) }
      }
      let asked = stage.asked
      var seconds: Int64 = 0
      _ = stage.session.work()
      while stage.asked == asked {
        stage.time.advance(.seconds(1))
        seconds += 1
        _ = stage.session.work()
      }
      waits.append(seconds)
    }
    #expect(waits == [0, 2, 4, 8, 16, 32, 60, 60, 60])
    // A minute without a change is enough to be quick again.
    stage.time.advance(.seconds(61))
    _ = try stage.session.guarded(stage.request)
    stage.stage.scene.state.withLock { $0.looks[.environment] = 100 }
    #expect(throws: GateError.environmentChanged) { try stage.session.guarded(stage.request) }
    let asked = stage.asked
    _ = stage.session.work()
    #expect(stage.asked == asked + 1)
  }

  @Test("an environment that changes while the app is measured gives no keys")
  func race() throws {
    let stage = try GateStage()
    let admitted = try #require(stage.session.state.withLock { $0.held?.admitted })
    let scene = stage.stage.scene
    let watched = WatchedScene(scene)
    let surroundings = AttestationExchange.Surroundings(
      observer: watched, key: .sdk, installationKey: nil, appName: "door", clock: stage.time.clock)
    _ = try GateKeyring.derive(for: admitted, in: surroundings)
    #expect(watched.guards.withLock { $0 } == [1])
    watched.isChanged.withLock { $0 = true }
    #expect(throws: GateError.environmentChanged) {
      try GateKeyring.derive(for: admitted, in: surroundings)
    }
  }

  @Test("an app that cannot be measured says so")
  func unmeasured() throws {
    let stage = try GateStage()
    stage.stage.scene.state.withLock { $0.failure = .evidenceUnavailable(reason: "no memory") }
    let error = try #require(throws: GateError.self) { try stage.session.guarded(stage.request) }
    guard case .notMeasured = error else {
      Issue.record("\(error)")
      return
    }
    #expect(error.initializationCode == -11)
    #expect(try stage.session.eventToken(for: 3300).cause == .measurement)
    #expect(stage.session.lastError == error)
    stage.stage.scene.state.withLock { $0.failure = nil }
    _ = try stage.session.guarded(stage.request)
    #expect(stage.session.lastError == nil && stage.asked == 1)
  }

  // MARK: Numbers

  @Test("proofs and events share one sequence, and no two have one number, from many threads")
  func sequence() async throws {
    let stage = try GateStage { $0.freshness = 10 }
    let secret = try stage.gate.open(try stage.session.guarded(stage.request))
    let keys = try await withThrowingTaskGroup(of: [ReplayKey].self) { group in
      for _ in 0..<8 {
        group.addTask {
          try (0..<20).map { number in
            if number.isMultiple(of: 2) {
              return try stage.gate.check(stage.session.eventToken(for: 3300), secret).replayKey
            }
            return try stage.gate.check(
              stage.session.guarded(stage.request), secret: secret
            ).replayKey
          }
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(Set(keys).count == 160)
    #expect(try stage.gate.check(stage.session.eventToken(for: 3300), secret).count == 162)
  }

  @Test("a forked process has numbers and keys of its own")
  func fork() throws {
    let stage = try GateStage { $0.freshness = 10 }
    let secret = try stage.gate.open(try stage.session.guarded(stage.request))
    stage.time.advance(.seconds(3))
    let parent = try stage.gate.check(stage.session.eventToken(for: 3300), secret)
    let looks = stage.stage.scene.state.withLock { $0.count }
    stage.process.withLock { $0 = 2 }
    let child = try stage.gate.check(stage.session.eventToken(for: 3300), secret)
    #expect(child.start != parent.start && child.count == 1 && child.isYoung && !parent.isYoung)
    #expect(stage.stage.scene.state.withLock { $0.count } == looks + 1)
  }
}

/// Counts how deep a guard is while it is measured, and sees a debugger in the last look.
private struct WatchedScene: EvidenceObserver {
  let scene: Scene
  let depth = CoreLock(0)
  let guards = CoreLock<[Int]>([])
  let isChanged = CoreLock(false)

  init(_ scene: Scene) { self.scene = scene }

  func observe(
    _ sources: [Source], policy: MeasurementPolicy, limitLog2: UInt8, cancellation: Cancellation
  ) throws(ProofError) -> Observation {
    try scene.observe(sources, policy: policy, limitLog2: limitLog2, cancellation: cancellation)
  }

  func collect(for config: MeasurementConfig) throws(ProofError) -> EvidenceSet {
    try scene.collect(for: config)
  }

  func measurement(
    under config: MeasurementConfig, with key: MeasurementProofKey
  ) throws(ProofError) -> Measurement {
    let depth = depth.withLock { $0 }
    guards.withLock { $0.append(depth) }
    return try Measurement(of: collect(for: config), under: config, with: key)
  }

  func release(_ proof: inout Proof, after previous: Proof?) throws(ProofError) {
    if isChanged.withLock({ $0 }) { proof = try Proof([UInt8](repeating: 1, count: 32)) }
  }

  func guarding<R>(_ body: () throws(ProofError) -> R) throws(ProofError) -> R {
    depth.withLock { $0 += 1 }
    defer { depth.withLock { $0 -= 1 } }
    return try body()
  }
}
