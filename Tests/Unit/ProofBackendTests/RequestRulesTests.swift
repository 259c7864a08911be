// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofKitKeys
import ProofModel
import ProofRequest
import Testing

@testable import ProofBackend

/// The rules of request proofs that must hold, each with a case that fails without it.
@Suite struct RequestRulesTests {
  static let route = RequestRoute(Gate.host)

  // MARK: Nothing counts twice

  @Test("A request counts once, in each form, also with the clock set back")
  func once() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    let (standard, compact) = (try app.standard(), try app.compact())
    for request in [standard, compact] {
      #expect(verifier.judge(request, on: Self.route).verdict != nil)
    }
    // One nonce, signed again at another second, is the same proof.
    let nonce = "fixed-nonce"
    #expect(verifier.judge(try app.standard(nonce: nonce), on: Self.route).verdict != nil)
    let again = try app.standard(created: Gate.start + 1, nonce: nonce)
    #expect(verifier.judge(again, on: Self.route).rejection == .request(.replayed))
    for seconds in [0, 30, 60, -100_000, 59] as [Int64] {
      gate.clock.now = Gate.start + seconds
      for request in [standard, compact] {
        #expect(verifier.judge(request, on: Self.route).rejection == .request(.replayed))
      }
    }
    // After the window the proof is stale, and after the store forgot it, a clock set back does not revive it.
    gate.clock.now = Gate.start + 1_000
    for number in 0..<3 {
      gate.clock.now += 100
      let other = try app.compact(count: UInt32(10 + number))
      #expect(verifier.judge(other, on: Self.route).verdict != nil)
    }
    gate.clock.now = Gate.start
    #expect(verifier.judge(standard, on: Self.route).rejection == .request(.stale))
    #expect(verifier.judge(compact, on: Self.route).rejection == .gate(.stale))
  }

  @Test("Nodes whose clocks differ share a store that forgets nothing too early")
  func skew() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let store = FailingReplayStore()
    let fast = try gate.verifier(store)
    let slow = try Gate(id: gate.id)
    var settings = RequestVerifier.Settings()
    settings.clock = slow.clock.clock
    let node = try RequestVerifier(
      gate.identity, own: gate.ownKeys(), replay: store, settings: settings)
    // The app is 60 s ahead of the slow node, which is 30 s behind the fast one.
    slow.clock.now = Gate.start - 30
    let request = try app.standard(created: Gate.start + 30)
    #expect(fast.judge(request, on: Self.route).verdict != nil)
    for step in 0..<13 {
      gate.clock.now = Gate.start + Int64(step) * 10
      slow.clock.now = gate.clock.now - 30
      // Another request moves the store's time.
      #expect(fast.judge(try app.standard(), on: Self.route).verdict != nil)
      #expect(node.judge(request, on: Self.route).verdict == nil, "\(step)")
    }
  }

  @Test("A verifier with an empty store accepts nothing that an earlier one may have accepted")
  func startsEmpty() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let request = try app.standard(created: Gate.start + 60)
    let compact = try app.compact(created: Gate.start + 60)
    #expect(try gate.verifier().judge(request, on: Self.route).verdict != nil)
    #expect(try gate.verifier().judge(compact, on: Self.route).verdict != nil)
    let restarted = try gate.verifier(MemoryReplayStore())
    let word = try #require(
      RequestVerifierTests.field(restarted.judge(request, on: Self.route), "Proof-Nonce"))
    for seconds in stride(from: 0, through: 120, by: 20) as StrideThrough<Int64> {
      gate.clock.now = Gate.start + seconds
      #expect(restarted.judge(request, on: Self.route).rejection == .request(.stale))
      #expect(restarted.judge(compact, on: Self.route).verdict == nil)
    }
    // A proof that this start's own word anchors counts at once. Another one counts after one window.
    gate.clock.now = Gate.start + 1
    let fresh = try gate.verifier(MemoryReplayStore())
    #expect(fresh.judge(try app.standard(), on: Self.route).rejection == .request(.stale))
    let own = try #require(
      RequestVerifierTests.field(fresh.judge(request, on: Self.route), "Proof-Nonce"))
    let foreign = word + "." + ReplayKey.fresh()
    #expect(
      fresh.judge(try app.standard(nonce: foreign), on: Self.route).rejection == .request(.stale))
    let anchored = own + "." + ReplayKey.fresh()
    #expect(fresh.judge(try app.standard(nonce: anchored), on: Self.route).verdict != nil)
    gate.clock.now = Gate.start + 62
    #expect(fresh.judge(try app.standard(), on: Self.route).verdict != nil)
  }

  @Test("A durable store lets a verifier go on at once, and a restored backup does not")
  func durable() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let folder = TestFolder()
    let path = folder.path("replay")
    let request = try app.standard()
    do {
      let first = try gate.verifier(SQLiteReplayStore(at: path))
      gate.clock.now += 61
      #expect(first.judge(try app.standard(), on: Self.route).verdict != nil)
      gate.clock.now += 1
      #expect(first.judge(request, on: Self.route).rejection == .request(.stale))
    }
    let used = try app.standard()
    do {
      let second = try gate.verifier(SQLiteReplayStore(at: path))
      #expect(second.judge(used, on: Self.route).verdict != nil)
    }
    // The clock goes back; the store's time does not.
    gate.clock.now -= 1_000
    let third = try gate.verifier(SQLiteReplayStore(at: path))
    #expect(third.judge(used, on: Self.route).rejection == .request(.replayed))
    gate.clock.now += 1_000
    let incomplete = FailingReplayStore(
      ReplayMemory(highest: gate.clock.now, gap: gate.clock.now))
    let restored = try gate.verifier(incomplete)
    #expect(restored.judge(used, on: Self.route).rejection == .request(.stale))
  }

  @Test("With the store out of reach, an unsafe request is 503, and a safe one passes")
  func storeFails() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let store = FailingReplayStore()
    let verifier = try gate.verifier(store)
    store.isFailing = true
    let post = verifier.judge(try app.standard(), on: Self.route)
    #expect(post.rejection?.status == 503)
    #expect(RequestVerifierTests.field(post, "Proof-Refusal") == nil)
    let get = verifier.judge(try app.standard("GET", body: nil, fields: []), on: Self.route)
    #expect(get.verdict?.isReplayChecked == false)
    store.isFailing = false
    #expect(verifier.judge(try app.standard(), on: Self.route).verdict?.isReplayChecked == true)
  }

  // MARK: What is covered does not change

  @Test("A change of method, target, host, body, authorization or account never verifies")
  func changes() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    let fields = [
      (name: "Content-Type", value: "application/json"), ("Authorization", "Bearer abc"),
    ]
    var requests = [try app.standard(fields: fields), try app.compact(account: "user-4711")]
    for request in requests {
      var changed: [ReceivedRequest] = []
      func change(_ body: (inout ReceivedRequest) throws -> Void) rethrows {
        var copy = request
        try body(&copy)
        changed.append(copy)
      }
      change { $0.method = "PUT" }
      change { $0.target = "/pay?to=8" }
      change { $0.target = "/pay/?to=7" }
      change { $0.target = "/PAY?to=7" }
      change { $0.body = Digest(hashing: [1]) }
      change { $0.body = Digest(hashing: []) }
      try change { try $0.fields.set("Authorization", "Bearer abd") }
      try change { try $0.fields.append("Authorization", "Bearer abc") }
      try change { try $0.fields.append("X-HTTP-Method-Override", "DELETE") }
      for other in changed {
        #expect(verifier.judge(other, on: Self.route).verdict == nil, "\(other)")
      }
      for host in ["api.example.com:8443", "evil.example.com"] {
        #expect(verifier.judge(request, on: RequestRoute(host)).verdict == nil)
      }
      let plain = RequestRoute(Gate.host, scheme: .http)
      if request.fields.values(of: "proof").count == 1 {
        #expect(verifier.judge(request, on: plain).rejection == .gate(.otherRequest))
      }
    }
    requests[1].account = try gate.accountKey.digest(of: "user-4712")
    #expect(verifier.judge(requests[1], on: Self.route).rejection == .gate(.otherAccount))
    requests[1].account = nil
    #expect(verifier.judge(requests[1], on: Self.route).rejection == .gate(.otherAccount))
    // None of these used anything up.
    requests[1].account = try gate.accountKey.digest(of: "user-4711")
    for request in requests { #expect(verifier.judge(request, on: Self.route).verdict != nil) }
  }

  @Test("A proof says which of body and the rest differs, for the log")
  func hints() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    var request = try app.compact()
    request.body = Digest(hashing: [2])
    #expect(verifier.judge(request, on: Self.route).rejection == .gate(.otherBody))
    request = try app.compact()
    request.target = "/pay?to=8"
    #expect(verifier.judge(request, on: Self.route).rejection == .gate(.otherRequest))
    request = try app.standard()
    request.body = Digest(hashing: [2])
    let judged = verifier.judge(request, on: Self.route)
    #expect(judged.rejection == .request(.otherBody))
    #expect(RequestVerifierTests.field(judged, "Proof-Refusal") == "proof")
  }

  @Test("Targets that servers read differently are refused, unless the route allows them")
  func targets() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    for target in ["/a%00", "/a?", "/%zz"] {
      let request = try app.compact("POST", target)
      #expect(verifier.judge(request, on: Self.route).rejection == .request(.ambiguousTarget))
    }
    var count: UInt32 = 1
    for target in ["/a//b", "/a/../b", "/a%2fb"] {
      count += 1
      let request = try app.compact("POST", target, count: count)
      #expect(verifier.judge(request, on: Self.route).rejection == .request(.ambiguousTarget))
      var route = Self.route
      route.standard.allowed = [.doubleSlash, .dotSegment, .encodedSlash]
      #expect(verifier.judge(request, on: route).verdict != nil)
    }
  }

  // MARK: One gate's keys are useless elsewhere

  @Test("A proof or token of one gate is useless at another one with the same installation")
  func otherGate() throws {
    let (gate, other) = (try Gate(), try Gate())
    let app = try GateApp(at: gate)
    let twin = try GateApp(at: other, instance: app.instance)
    let verifier = try other.verifier()
    #expect(verifier.judge(try twin.standard(), on: Self.route).verdict != nil)
    #expect(verifier.judge(try app.standard(), on: Self.route).rejection == .gate(.tokenGate))
    // The other gate's token beside this gate's proof.
    var mixed = try app.standard(withToken: false)
    try mixed.fields.append("Proof-Token", twin.token)
    #expect(verifier.judge(mixed, on: Self.route).verdict == nil)
    // A word of one gate on the time is none of another's.
    let word = GateNonce(try gate.ownKeys()[.nonce]).text(at: Gate.start)
    let nonce = word + "." + ReplayKey.fresh()
    var route = Self.route
    route.unanchored = .refused
    #expect(
      verifier.judge(try twin.standard(nonce: nonce), on: route).rejection == .gate(.unanchored))
  }

  // MARK: Hosts

  @Test("A proof that was made for another host does not count here, whatever the headers say")
  func otherHost() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    for make in [
      try app.standard(host: "evil.example.com"), try app.compact(host: "evil.example.com"),
    ] {
      for host in [Gate.host, "evil.example.com"] {
        var request = make
        try request.fields.append("Host", host)
        try request.fields.append("X-Forwarded-Host", host)
        #expect(verifier.judge(request, on: Self.route).verdict == nil)
      }
    }
  }

  // MARK: Gates and locks

  @Test("100 renewals at a gate leave a lock's token as it is; neither takes the other's token")
  func renewals() throws {
    let backend = try Backend()
    let gate = try Gate()
    let verifier = try gate.verifier()
    let lockToken = try backend.issuer.issue(
      to: backend.app(), for: backend.hardware, Backend.permissions)
    let instance = try InstanceID(Backend.instanceBytes)
    for generation in 1...100 as ClosedRange<UInt32> {
      let app = try GateApp(at: gate, instance: instance, generation: generation)
      #expect(verifier.judge(try app.standard(), on: Self.route).verdict != nil)
      #expect(throws: ProofError.self) { try MeasurementToken(app.grantBytes) }
    }
    var request = try GateApp(at: gate).standard(withToken: false)
    try request.fields.append("Proof-Token", Base64.encode(lockToken.bytes, .url))
    #expect(verifier.judge(request, on: Self.route).rejection == .gate(.tokenMagic))
    let grant = try backend.keys.open(lockToken)
    #expect(grant.generation == 3 && grant.instance == instance)
    let again = try backend.issuer.issue(
      to: backend.app(), for: backend.hardware, Backend.permissions)
    #expect(try backend.keys.open(again).generation == 3)
  }

  // MARK: A failing app

  @Test("An app that failed cannot tell from any answer: the same requests get the same bytes")
  func failing() throws {
    let cases: [(String, (GateApp) throws -> ReceivedRequest)] = [
      ("standard", { try $0.standard() }), ("compact", { try $0.compact(count: 2) }),
      ("without token", { try $0.standard(withToken: false) }),
      ("stale", { try $0.standard(created: Gate.start - 100) }),
      ("ahead", { try $0.compact(count: 3, created: Gate.start + 100) }),
      ("unanchored", { try $0.compact(count: 4, anchored: false) }),
      (
        "other body",
        { app in
          var request = try app.standard()
          request.body = Digest(hashing: [])
          return request
        }
      ),
      ("replayed", { try $0.standard(nonce: "once") }),
      ("replayed again", { try $0.standard(nonce: "once") }),
      ("other host", { try $0.standard(host: "evil.example.com") }),
    ]
    let gate = try Gate()
    for hasWrongSecret in [false, true] {
      let failed = try GateApp(at: gate, isFailed: true, hasWrongSecret: hasWrongSecret)
      // A passing app, or for a token with a secret that no app has, one whose keys are of another generation.
      let passing = try GateApp(at: gate, hasWrongSecret: hasWrongSecret)
      let (one, other) = (try gate.verifier(), try gate.verifier())
      for (name, request) in cases {
        let (mine, theirs) = (
          one.judge(try request(failed), on: Self.route),
          other.judge(try request(passing), on: Self.route)
        )
        #expect(mine.rejection == theirs.rejection, "\(name)")
        #expect(mine.rejection?.status == theirs.rejection?.status, "\(name)")
        #expect(Self.withoutNonces(mine) == Self.withoutNonces(theirs), "\(name)")
        if let verdict = mine.verdict { #expect(verdict.facts.isFailed) }
      }
    }
  }

  /// The answer's fields as they go out. A nonce has random bytes of its verifier; its length stays.
  static func withoutNonces(_ judgement: RequestJudgement) -> String {
    judgement.fields.map { field in
      field.name + ": "
        + (field.name == "Proof-Nonce" ? "\(field.value.utf8.count)" : field.value)
    }.joined(separator: "\r\n")
  }
}

extension GateApp {
  var grantBytes: [UInt8] { Base64.decode(token, .url) ?? [] }
}
