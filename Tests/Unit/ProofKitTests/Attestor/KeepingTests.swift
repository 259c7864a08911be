// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

@Suite("Keeping")
struct KeepingTests {
  let api = "api.example.com"

  @Test(
    "a token is handed out again until shortly before its end, signed or encrypted",
    arguments: [
      // Lifetime in seconds, and until when it is handed out again in milliseconds.
      (300, 270_000), (3600, 270_000), (.max, 270_000), (60, 54_000), (10, 9_000), (3, 2_000),
      (2, 1_000), (1, 0), (0, 0),
    ] as [(UInt32, Int)], [false, true])
  func life(_ life: (seconds: UInt32, kept: Int), isEncrypted: Bool) throws {
    let stage = try Stage()
    stage.service.set {
      $0.tokenLife = life.seconds
      $0.isEncrypted = isEncrypted
    }
    let first = stage.attestor.fetchTokenAndWait(for: api)
    #expect(first.status == .success)
    if life.kept > 0 {
      stage.time.advance(.milliseconds(life.kept - 1))
      #expect(stage.attestor.fetchTokenAndWait(for: api) == first)
      #expect(stage.service.count("report") == 1)
      stage.time.advance(.milliseconds(1))
    }
    #expect(stage.attestor.fetchTokenAndWait(for: api) != first)
    #expect(stage.service.count("report") == 2)
  }

  @Test("what its end may say and what time the service's answer bears decide nothing")
  func claimedTime() throws {
    for time in [nil, 0, .last] as [UnixTime?] {
      let stage = try Stage()
      stage.service.set {
        $0.time = time.map { $0 == .last ? .last - 300 : $0 }
        $0.tokenLife = 3
      }
      let first = stage.attestor.fetchTokenAndWait(for: api)
      stage.time.advance(.milliseconds(1_999))
      #expect(stage.attestor.fetchTokenAndWait(for: api) == first)
      stage.time.advance(.milliseconds(1))
      #expect(stage.attestor.fetchTokenAndWait(for: api) != first)
    }
  }

  @Test("the life is counted from before the report was sent, so a slow answer shortens it")
  func slowAnswer() throws {
    let time = ManualClock()
    let service = InProcessService(gate: { path, _ in
      if path == "report" { time.advance(.milliseconds(1_500)) }
    })
    let stage = try Stage(service, time: time)
    stage.service.set { $0.tokenLife = 3 }
    let first = stage.attestor.fetchTokenAndWait(for: api)
    time.advance(.milliseconds(499))
    #expect(stage.attestor.fetchTokenAndWait(for: api) == first)
    time.advance(.milliseconds(1))
    #expect(stage.attestor.fetchTokenAndWait(for: api) != first)
  }

  @Test("a token whose end comes while the environment is looked at is not handed out")
  func slowLook() throws {
    let stage = try Stage()
    stage.service.set { $0.tokenLife = 3 }
    let first = stage.attestor.fetchTokenAndWait(for: api)
    stage.time.advance(.milliseconds(1_900))
    let time = stage.time
    stage.scene.state.withLock { $0.isLooking = { time.advance(.milliseconds(100)) } }
    #expect(stage.attestor.fetchTokenAndWait(for: api) != first)
    #expect(stage.service.count("report") == 2)
  }

  @Test("once the environment looks different, no token from before is handed out")
  func environment() throws {
    let stage = try Stage()
    let first = stage.attestor.fetchTokenAndWait(for: api)
    let other = stage.attestor.fetchTokenAndWait(for: "other.example.com")
    stage.scene.state.withLock { $0.looks[.environment] = 1 }
    #expect(stage.attestor.fetchTokenAndWait(for: api) != first)
    stage.scene.state.withLock { $0.looks[.environment] = 0 }
    // The debugger has gone: what it may have read while it was there stays unused.
    #expect(stage.attestor.fetchTokenAndWait(for: "other.example.com") != other)
    #expect(stage.service.count("report") == 4)
  }

  @Test("each API has a token of its own")
  func domains() throws {
    let stage = try Stage()
    let first = stage.attestor.fetchTokenAndWait(for: api)
    #expect(stage.attestor.fetchTokenAndWait(for: "other.example.com") != first)
    #expect(stage.attestor.fetchTokenAndWait(for: api) == first)
    #expect(stage.service.count("report") == 2)
  }

  @Test("a failure is remembered for half a second, and not longer")
  func failure() throws {
    let stage = try Stage()
    stage.service.set { $0.failure = .unreachable("x") }
    #expect(stage.attestor.fetchTokenAndWait(for: api).status == .noNetwork)
    stage.service.set { $0.failure = nil }
    stage.time.advance(.milliseconds(499))
    #expect(stage.attestor.fetchTokenAndWait(for: api).status == .noNetwork)
    #expect(stage.service.count("challenge") == 1)
    // Another API is another matter.
    #expect(stage.attestor.fetchTokenAndWait(for: "other.example.com").status == .success)
    stage.time.advance(.milliseconds(1))
    #expect(stage.attestor.fetchTokenAndWait(for: api).status == .success)
  }

  @Test(
    "that an API needs no token is remembered for half a minute",
    arguments: [
      (AttestationAnswer.Outcome.unprotectedDomain, FetchStatus.unprotectedURL),
      (.unknownDomain, .unknownURL),
    ])
  func unprotected(outcome: AttestationAnswer.Outcome, status: FetchStatus) throws {
    let stage = try Stage()
    stage.service.set { $0.outcome = outcome }
    #expect(stage.attestor.fetchTokenAndWait(for: api).status == status)
    stage.time.advance(.milliseconds(29_999))
    #expect(stage.attestor.fetchTokenAndWait(for: api).status == status)
    #expect(stage.service.count("report") == 1)
    stage.time.advance(.milliseconds(1))
    stage.service.set { $0.outcome = .done }
    #expect(stage.attestor.fetchTokenAndWait(for: api).status == .success)
  }

  @Test("other bound data makes another token, the same data does not, and only its hash is told")
  func binding() throws {
    let stage = try Stage()
    let attestor = stage.attestor
    attestor.setDataHash(of: "Bearer 1")
    let first = attestor.fetchTokenAndWait(for: api)
    attestor.setDataHash(of: "Bearer 1")
    #expect(attestor.fetchTokenAndWait(for: api) == first)
    attestor.setDataHash(of: "Bearer 2")
    #expect(attestor.fetchTokenAndWait(for: api) != first)
    attestor.setDataHash(of: nil)
    _ = attestor.fetchTokenAndWait(for: api)
    let hashes = stage.service.state.withLock { $0.subjects.map(\.dataHash) }
    #expect(
      hashes == [
        Digest(hashing: Array("Bearer 1".utf8)), Digest(hashing: Array("Bearer 2".utf8)), nil,
      ])
  }

  @Test("user property and development key go into the reports that follow")
  func settings() throws {
    let stage = try Stage()
    let attestor = stage.attestor
    func told() -> AttestationReport.Subject? {
      _ = attestor.fetchTokenAndWait(for: api)
      return stage.service.state.withLock { $0.subjects.last }
    }
    attestor.setUserProperty("$error")
    attestor.setDevelopmentKey("let me in")
    #expect(told()?.userProperty == "$error")
    #expect(told()?.developmentKey == "let me in")
    attestor.setUserProperty("gr\u{FC}n")
    #expect(told()?.userProperty == "grn")
    attestor.setUserProperty(String(repeating: "x", count: 129))
    #expect(told()?.userProperty == "grn")
    attestor.setUserProperty(String(repeating: "x", count: 128))
    #expect(told()?.userProperty.utf8.count == 128)
    attestor.setUserProperty(nil)
    attestor.setDevelopmentKey(nil)
    #expect(told()?.userProperty == "" && told()?.developmentKey == "")
  }

  @Test("a secure string is kept, and a new definition is asked for and replaces it")
  func secureStrings() throws {
    let stage = try Stage()
    let attestor = stage.attestor
    stage.service.set { $0.secureString = "one" }
    #expect(attestor.fetchSecureStringAndWait("key").secureString == "one")
    stage.service.set { $0.secureString = "two" }
    #expect(attestor.fetchSecureStringAndWait("key").secureString == "one")
    #expect(attestor.fetchSecureStringAndWait("key", newDefinition: "two").secureString == "two")
    #expect(attestor.fetchSecureStringAndWait("key").secureString == "two")
    stage.service.set { $0.outcome = .unknownKey }
    #expect(attestor.fetchSecureStringAndWait("key", newDefinition: "").status == .unknownKey)
    #expect(attestor.fetchSecureStringAndWait("key").status == .unknownKey)
    let payloads = stage.service.state.withLock { $0.subjects.map(\.payload) }
    #expect(payloads == [[0], [1] + Array("two".utf8), [0], [1], [0]])
    stage.time.advance(.milliseconds(270_000))
    stage.service.set { $0.outcome = .done }
    #expect(attestor.fetchSecureStringAndWait("key").secureString == "two")
  }

  @Test("a custom token is made each time")
  func custom() throws {
    let stage = try Stage()
    let first = stage.attestor.fetchCustomJWTAndWait("{}")
    #expect(stage.attestor.fetchCustomJWTAndWait("{}").token != first.token)
  }
}
