// SPDX-License-Identifier: Apache-2.0

import AllocationCounter
import Glibc
import ProofModel
import Testing

@testable import ProofKit

@Suite("Event tokens")
struct GateEventTests {
  private func secret(_ stage: GateStage) throws -> GateSecret {
    try stage.gate.open(stage.session.guarded(stage.request))
  }

  @Test("a token of 88 characters proves one event, account and business data to its audience")
  func event() throws {
    let stage = try GateStage()
    let secret = try secret(stage)
    let token = try stage.session.eventToken(for: 3301, account: "ada", data: [1, 2])
    #expect(token.text.utf8.count == 88 && token.cause == nil)
    let checked = try stage.gate.check(token, secret, account: "ada", data: [1, 2])
    #expect(checked.event == 3301 && checked.accountKey == 3)
    #expect(throws: GateRefusal.self) { try stage.gate.check(token, secret, data: [1, 2]) }
    #expect(throws: GateRefusal.self) {
      try stage.gate.check(token, secret, account: "ada", data: [1])
    }
    #expect(throws: GateRefusal.self) {
      try CompactToken(
        checking: token.text,
        for: .event(
          data: Digest(hashing: [1, 2]), account: stage.gate.accountKey().digest(of: "ada")),
        with: secret.eventKeys(for: .random()))
    }
  }

  @Test("the account that was set counts until it is set to none, for requests too")
  func account() throws {
    let stage = try GateStage()
    let secret = try secret(stage)
    try stage.session.setAccount("ada")
    for _ in 0..<2 {
      _ = try stage.gate.check(stage.session.eventToken(for: 3300), secret, account: "ada")
      _ = try stage.gate.check(
        stage.session.guarded(stage.request), account: "ada", secret: secret)
    }
    _ = try stage.gate.check(
      stage.session.eventToken(for: 3300, account: "bob"), secret, account: "bob")
    _ = try stage.gate.check(stage.session.eventToken(for: 3300), secret, account: "ada")
    try stage.session.setAccount(nil)
    _ = try stage.gate.check(stage.session.eventToken(for: 3300), secret)
  }

  @Test("a gate without an account key gets no account")
  func noAccountKey() throws {
    let stage = try GateStage { $0.hasAccountKey = false }
    try stage.session.setAccount("ada")
    let token = try stage.session.eventToken(for: 3300)
    #expect(try stage.gate.check(token, secret(stage)).accountKey == 0)
  }

  @Test(
    "an event that the account does not list, and a name without or with too many bytes, are errors"
  )
  func arguments() throws {
    let stage = try GateStage()
    for event in [3299, 3401, 0, .max] as [UInt16] {
      #expect(throws: GateError.unknownEvent(event)) {
        try stage.session.eventToken(for: EventID(event))
      }
    }
    for name in ["", String(repeating: "x", count: 129)] {
      let error = GateError.malformedAccount(byteCount: name.utf8.count)
      #expect(throws: error) { try stage.session.setAccount(name) }
      #expect(throws: error) { try stage.session.eventToken(for: 3300, account: name) }
    }
    _ = try stage.session.eventToken(for: 3300, account: String(repeating: "ü", count: 64))
  }

  @Test(
    "with fresh keys a token allocates no more than its text",
    .enabled(if: allocation_count_works() == 1), arguments: [nil, "ada"])
  func allocations(account: String?) throws {
    let stage = try GateStage { $0.freshness = 10 }
    try stage.session.setAccount(account)
    for _ in 0..<2 { _ = try stage.session.eventToken(for: 3300) }
    let data = [UInt8](repeating: 1, count: 64)
    let before = allocation_count()
    let token = try stage.session.eventToken(for: 3300, data: data)
    let count = allocation_count() - before
    // A build without optimisation allocates once more, where it looks through the account's events.
    #expect(count <= 2)
    #expect(token.cause == nil)
  }

  @Test("a child of a fork has another number, and its parent keeps its own")
  func child() async {
    await #expect(processExitsWith: .success) {
      let number = CoreProcess.number
      #expect(number == CoreProcess.number && number != 0)
      let process = try forked {
        let mine = CoreProcess.number
        return mine != number && mine == CoreProcess.number ? 7 : 8
      }
      var status: Int32 = 0
      #expect(unsafe waitpid(process, &status, 0) == process)
      #expect(status == 7 << 8 && CoreProcess.number == number)
    }
  }

  @Test("while the keys are fresh a token needs no look at the app, and none is made twice")
  func fresh() throws {
    let stage = try GateStage { $0.freshness = 10 }
    let first = try stage.session.eventToken(for: 3300)
    let looks = stage.stage.scene.state.withLock { $0.count }
    let texts = try (0..<100).map { _ in try stage.session.eventToken(for: 3300).text }
    #expect(stage.stage.scene.state.withLock { $0.count } == looks)
    #expect(Set(texts + [first.text]).count == 101)
  }
}
