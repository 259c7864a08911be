// SPDX-License-Identifier: Apache-2.0

import ProofGate
import ProofMigration
import ProofModel
import Testing

@testable import ProofKit

@Suite("Challenges that the client answers")
struct ChallengeAnswerTests {
  @Test(
    "a challenge is answered once, and method, body and fields are sent again as they were",
    arguments: [(ChallengeKind.work, 8), (.memoryWork, 1), (.proof, 0)] as [(ChallengeKind, UInt8)])
  func answered(kind: ChallengeKind, level: UInt8) throws {
    let stage = try GateStage()
    let (client, gate) = try stage.challenging { state in
      state.kind = kind
      state.level = level
    }
    #expect(try client.performAndWait(stage.request).status == 200)
    let state = gate.state.withLock { $0 }
    #expect(state.answered == 1 && state.requests.count == 2 && state.refusals == [])
    for sent in state.requests {
      #expect(sent.method == "POST" && sent.body == stage.request.body)
      #expect(sent.values(of: "content-type") == ["application/json"])
    }
    // The clearance serves the next request, which meets no challenge.
    #expect(try client.performAndWait(stage.request).status == 200)
    #expect(gate.state.withLock { $0.set } == 1)
    #expect(client.clearance(for: "api.example.com")?.utf8.count == 88)
  }

  @Test("the second challenge of one call is the app's: a gate that always asks is answered once")
  func always() throws {
    let stage = try GateStage()
    let (client, gate) = try stage.challenging { $0.refusesAll = true }
    #expect(try client.performAndWait(stage.request).status == 428)
    let state = gate.state.withLock { $0 }
    #expect(state.requests.count == 2 && state.answered == 0)
    #expect(state.requests.map { $0.values(of: "proof-answer").count } == [0, 1])
  }

  @Test("a status 428 without a challenge is an answer, and a warning in the log")
  func bare() throws {
    let stage = try GateStage(log: .warning)
    let api = ScriptedAPI { _, _ in TransportResponse(status: 428, body: []) }
    #expect(
      try GateClient(stage.session, over: api).performAndWait(stage.request).status == 428)
    #expect(api.sent.count == 1)
    #expect(stage.lines.withLock { $0.contains { $0.1.contains("428") } })
  }

  @Test("the proof of a challenge rests on a measurement of its own, also where keys are kept")
  func freshProof() throws {
    let stage = try GateStage { $0.freshness = 10 }
    let (client, gate) = try stage.challenging { $0.kind = .proof }
    let scene = stage.stage.scene
    _ = try stage.session.guarded(stage.request)
    gate.arrived.withLock { arrived in
      arrived = { _ in scene.state.withLock { $0.looks[.app] = 1 } }
    }
    #expect(throws: GateError.environmentChanged) { try client.performAndWait(stage.request) }
    #expect(gate.state.withLock { $0.answered } == 0)
  }

  @Test(
    "an id that is no challenge is a typed error",
    arguments: [
      "", "A", String(repeating: "A", count: 80), String(repeating: "*", count: 80),
      challengeID(4), challengeID(10), challengeID(7), challengeID(7, level: 25),
      challengeID(8, level: 8), challengeID(9, level: 1),
    ])
  func malformed(id: String) throws {
    let stage = try GateStage()
    let api = ScriptedAPI { _, _ in challenged(id) }
    let error = #expect(throws: GateError.self) {
      try GateClient(stage.session, over: api).performAndWait(stage.request)
    }
    guard case .challenge(.malformed) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(error?.attestationCode == 3 && api.sent.count == 1)
  }

  @Test("work beyond the client's ceiling is refused before any of it is done")
  func ceilings() throws {
    let stage = try GateStage()
    for (kind, level, allowed) in [(7, 19, 18), (7, 24, 18), (8, 5, 4), (8, 7, 4)]
      as [(UInt8, UInt8, UInt8)]
    {
      let api = ScriptedAPI { _, _ in challenged(challengeID(kind, level: level)) }
      #expect(throws: GateError.challenge(.tooHard(level: level, allowed: allowed))) {
        try GateClient(stage.session, over: api).performAndWait(stage.request)
      }
      #expect(api.sent.count == 1)
    }
    var settings = ChallengeSettings()
    settings.workLevelMax = 3
    let api = ScriptedAPI { _, _ in challenged(challengeID(7, level: 4)) }
    #expect(throws: GateError.challenge(.tooHard(level: 4, allowed: 3))) {
      try GateClient(stage.session, over: api, challenges: settings).performAndWait(
        stage.request)
    }
  }

  @Test("hashes have 1 to 16 threads, a birthday problem one")
  func threads() throws {
    for (count, hashing) in [(0, 1), (1, 1), (5, 5), (17, 16)] {
      var settings = ChallengeSettings()
      settings.threadCount = count
      let hashes = try GateClient.Challenge(challengeID(7, level: 1))
      let memory = try GateClient.Challenge(challengeID(8, level: 1))
      #expect(try WorkThreads(hashes, settings).threadCount == hashing)
      #expect(try WorkThreads(memory, settings).threadCount == 1)
    }
  }

  @Test("a cancellation and the end of the time stop the work within a puzzle")
  func stopped() throws {
    let stage = try GateStage()
    var settings = ChallengeSettings()
    settings.workLevelMax = 24
    // 16 puzzles of 2^24 hashes would take minutes.
    let challenge = try GateClient.Challenge(challengeID(7, level: 24))
    let work = try WorkThreads(challenge, settings)
    let steps = CoreLock(0)
    #expect(throws: GateError.cancelled) {
      try work.solve {
        let step = steps.withLock { steps in
          steps += 1
          return steps
        }
        return step > 6 ? .cancelled : nil
      }
    }
    #expect(steps.withLock { $0 } >= 7)
    let cancellation = Cancellation()
    let client = GateClient(
      stage.session,
      over: ScriptedAPI { _, _ in
        cancellation.cancel()
        return challenged(challengeID(7, level: 24))
      }, challenges: settings)
    #expect(throws: GateError.cancelled) {
      try client.performAndWait(stage.request, cancellation: cancellation)
    }
    let time = stage.time
    let late = ScriptedAPI { _, _ in
      time.advance(.seconds(61))
      return challenged(challengeID(7, level: 24))
    }
    #expect(throws: GateError.timedOut) {
      try GateClient(stage.session, over: late, challenges: settings).performAndWait(
        stage.request)
    }
  }

  // Each request has a thread of its own. The kinds run one after the other, so that no more than 1,000 threads exist: the
  // thread sanitizer keeps megabytes for each.
  @Test(
    "requests that meet a challenge at once cause one solution", .serialized,
    arguments: [
      (ChallengeKind.work, 8, 1000), (.memoryWork, 1, 100), (.proof, 0, 100),
    ] as [(ChallengeKind, UInt8, Int)])
  func atOnce(kind: ChallengeKind, level: UInt8, count: Int) async throws {
    let stage = try GateStage()
    let (client, gate) = try stage.challenging { state in
      state.kind = kind
      state.level = level
    }
    // No request is judged before as many have come as the library sends at once, so that each of
    // these meets the challenge. The others come after one of them, and may have its clearance.
    let together = min(count, 64)
    let gathered = Gathering(together)
    gate.arrived.withLock { arrived in
      arrived = { request in
        if request.values(of: GateField.clearance).isEmpty,
          request.values(of: GateField.challenge).isEmpty
        {
          gathered.arrive()
        }
      }
    }
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<count {
        group.addTask { try await client.perform(stage.request).status }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses == [Int](repeating: 200, count: count))
    let state = gate.state.withLock { $0 }
    #expect((together...count).contains(state.set))
    #expect(state.answered == 1 && state.served == count)
    // The others have no answer with them either, which would be work for nothing.
    #expect(state.requests.count { !$0.values(of: GateField.challenge).isEmpty } == 1)
  }

  @Test("where each clearance counts once, each request answers for itself, one after the other")
  func spent() async throws {
    let stage = try GateStage()
    let (client, gate) = try stage.challenging { state in
      state.spends = true
      state.level = 2
    }
    let count = 20
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<count {
        group.addTask { try await client.perform(stage.request).status }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses == [Int](repeating: 200, count: count))
    #expect(gate.state.withLock { $0.served } == count)
  }

  @Test("a leader that fails passes the lead on: the others answer challenges of their own")
  func leaderFails() async throws {
    let stage = try GateStage()
    let (client, gate) = try stage.challenging { $0.refusesAll = true }
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<10 {
        group.addTask { try await client.perform(stage.request).status }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses == [Int](repeating: 428, count: 10))
    #expect(gate.state.withLock { $0.refusals.count } == 10)
    // No flight is left behind.
    #expect(
      stage.session.flights.withLock {
        $0.leader(of: .init(authority: "api.example.com", kind: .work, level: 6)) == nil
      })
  }

  @Test("a body that can be read once is not sent again, and no work is done for it")
  func stream() throws {
    let stage = try GateStage()
    let client = GateClient(stage.session, over: ScriptedAPI { _, _ in refusal("") })
    let challenge = try GateClient.Challenge(challengeID(7, level: 18))
    #expect(throws: GateError.challenge(.bodyNotRepeatable)) {
      try client.answerAndWait(to: challenge, for: StreamingRequest())
    }
    #expect(stage.request.isRepeatable)
  }

  @Test("nothing is answered for a host that the account does not list, and for plain HTTP")
  func hosts() throws {
    let stage = try GateStage()
    let client = GateClient(stage.session, over: ScriptedAPI { _, _ in refusal("") })
    for url in ["https://evil.example.com/", "http://api.example.com/"] {
      for kind: UInt8 in [5, 6, 7, 8, 9] {
        let challenge = try GateClient.Challenge(
          challengeID(kind, level: kind == 7 || kind == 8 ? 1 : 0))
        let error = #expect(throws: GateError.self) {
          try client.answerAndWait(to: challenge, for: Request("GET", url))
        }
        guard case .hostNotListed = error else {
          Issue.record("\(String(describing: error))")
          continue
        }
      }
    }
  }

  @Test("an app with a client of its own answers by fields, and the answer brings the clearance")
  func ownClient() async throws {
    let stage = try GateStage()
    let (client, gate) = try stage.challenging { $0.level = 4 }
    let first = try stage.session.guarded(stage.request)
    let response = try client.send(first, .seconds(10), 1 << 16, Cancellation())
    stage.session.note(response, to: first)
    let challenge = try #require(try GateClient.challenge(in: response))
    let fields = try await client.answer(to: challenge, for: stage.request)
    #expect(fields.map(\.name) == ["proof-challenge", "proof-answer"])
    var again = try stage.session.guarded(stage.request)
    for field in fields { again.set(field.name, to: field.value) }
    let last = try client.send(again, .seconds(10), 1 << 16, Cancellation())
    stage.session.note(last, to: again)
    #expect(last.status == 200 && gate.state.withLock { $0.answered } == 1)
    #expect(client.clearance(for: "api.example.com") == last.value(of: "proof-clearance"))
    // The added fields can be taken off, for a redirect to another host.
    let plain = stage.session.unguarded(again)
    #expect(plain.fields == stage.request.fields)
  }
}

/// Holds each thread until a number of threads have come.
final class Gathering: Sendable {
  private let count: CoreLock<Int>
  private let all = Handover<Bool>()

  init(_ count: Int) { self.count = CoreLock(count) }

  func arrive() {
    let left = count.withLock { count in
      count -= 1
      return count
    }
    if left == 0 { all.give(true) }
    if left >= 0 { _ = all.wait() }
  }
}

/// A request whose body is read from a stream as it is sent.
private struct StreamingRequest: ProvableRequest {
  let method = "POST"
  let url = "https://api.example.com/"
  let body: [UInt8]? = [1]
  let isRepeatable = false

  func values(of name: String) -> [String] { [] }
  mutating func set(_ name: String, to value: String?) {}
}
