// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

@Suite("The values of a gate session's state")
struct GateStateTests {
  private func key(_ number: UInt8, _ byte: UInt8) throws -> GateAccountKey {
    let bytes = [UInt8](repeating: byte, count: 32)
    return try GateAccountKey(SecretBytes(copying: bytes.span), number: number)
  }

  private func held() throws -> GateState.Held {
    let stage = try GateStage()
    let admitted = try #require(stage.session.state.withLock { $0.held?.admitted })
    return GateState.Held(admitted: admitted, obtained: .zero, number: 1)
  }

  /// The digest of a name under a key, and the key's number.
  private func digest(
    _ state: inout GateState, of name: String?, under key: GateAccountKey
  ) throws -> (Digest, UInt8) {
    let found = try state.digest(of: name, under: key)
    return try #require(found)
  }

  @Test("a digest is that of the key that asks, and is kept for the account that was set")
  func digest() throws {
    var state = GateState(process: 1, at: .zero)
    let hasNone = try state.digest(of: nil, under: key(3, 9)) == nil
    #expect(hasNone)
    state.account = GateState.Account(name: "ada")
    let first = try digest(&state, of: nil, under: key(3, 9))
    #expect(try first.0 == key(3, 9).digest(of: "ada") && first.1 == 3)
    #expect(state.account?.digest == first.0 && state.account?.key == 3)
    let second = try digest(&state, of: nil, under: key(4, 8))
    #expect(try second.0 == key(4, 8).digest(of: "ada") && second.1 == 4)
    #expect(state.account?.digest == second.0 && state.account?.key == 4)
    let other = try digest(&state, of: "bob", under: key(5, 7))
    #expect(try other.0 == key(5, 7).digest(of: "bob") && other.1 == 5)
    #expect(state.account?.digest == second.0 && state.account?.key == 4)
    let isKeyless = try state.digest(of: "ada", under: nil) == nil
    #expect(isKeyless)
  }

  @Test("a digest that is kept is not computed again")
  func keptDigest() throws {
    var state = GateState(process: 1, at: .zero)
    let kept = Digest(hashing: [1])
    state.account = GateState.Account(name: "ada", digest: kept, key: 3)
    let same = try digest(&state, of: "ada", under: key(3, 9))
    #expect(same.0 == kept && same.1 == 3)
    let named = try digest(&state, of: "bob", under: key(3, 9))
    #expect(named.0 != kept)
  }

  @Test("a proof's time is second 1 at least, by the system's clock and by the gate's")
  func time() {
    let seconds = CoreLock(UnixTime(seconds: 0))
    let clock = AttestorClock(uptime: { .zero }, time: UnixClock { seconds.withLock { $0 } })
    var state = GateState(process: 1, at: .zero)
    for (now, told) in [(0, 1), (1, 1), (2, 2)] as [(Int64, Int64)] {
      seconds.withLock { $0 = UnixTime(seconds: now) }
      #expect(state.time(clock, at: .zero).seconds == told)
    }
    state.anchor = (0, .seconds(3))
    for (now, told) in [(3, 1), (4, 1), (5, 2), (9, 6)] as [(Int64, Int64)] {
      #expect(state.time(clock, at: .seconds(now)).seconds == told)
    }
  }

  @Test("a changed app is asked about at once where its admission is older than a minute")
  func lost() throws {
    let held = try held()
    for (seconds, failures, wait) in [(60, 4, 8), (61, 1, 0)] as [(Int64, Int, Int64)] {
      var state = GateState(process: 1, at: .zero)
      (state.held, state.failures) = (held, 3)
      state.lose(held, .environmentChanged, at: .seconds(seconds), jitter: 1)
      #expect(state.failures == failures && state.due == .seconds(seconds + wait))
      #expect(state.held?.isOutdated == true && state.lastError == .environmentChanged)
      // The service is asked once about one admission.
      state.lose(held, .environmentChanged, at: .seconds(seconds), jitter: 1)
      #expect(state.failures == failures && state.due == .seconds(seconds + wait))
    }
  }

  @Test("an app that cannot be measured, or has another admission by now, is not asked about")
  func notLost() throws {
    let held = try held()
    let later = GateState.Held(admitted: held.admitted, obtained: .zero, number: 2)
    for (lost, error) in [(held, .notMeasured(reason: "x")), (later, .environmentChanged)]
      as [(GateState.Held, GateError)]
    {
      var state = GateState(process: 1, at: .zero)
      state.held = held
      state.lose(lost, error, at: .seconds(9), jitter: 1)
      #expect(state.held?.isOutdated == false && state.due == nil && state.failures == 0)
      #expect(state.lastError == error)
    }
  }

  @Test("an admission has the next number, ends the old digest, and is due at 80 % of its life")
  func taken() throws {
    let admitted = try held().admitted
    var state = GateState(process: 1, at: .zero)
    for number in 1...3 {
      state.account = GateState.Account(name: "ada", digest: Digest(hashing: [1]), key: 3)
      state.take(admitted, obtained: .seconds(5), jitter: 1)
      #expect(state.held?.number == number && state.held?.obtained == .seconds(5))
      #expect(state.account?.name == "ada" && state.account?.digest == nil)
      #expect(state.due?.components.seconds == 2_885 && state.lastError == nil)
    }
  }

  @Test("an admission ends the count of failures, except after a refused token and a changed app")
  func failures() throws {
    let admitted = try held().admitted
    let errors: [(GateError?, Int)] = [
      (nil, 0), (.timedOut, 0), (.notMeasured(reason: "x"), 0), (.tokenRefused, 3),
      (.environmentChanged, 3),
    ]
    for (error, failures) in errors {
      var state = GateState(process: 1, at: .zero)
      (state.lastError, state.failures) = (error, 3)
      state.take(admitted, obtained: .zero, jitter: 1)
      #expect(state.failures == failures && state.lastError == nil)
    }
  }

  @Test("a measurement refutes the error that the app could not be measured, and no other one")
  func measurable() {
    for (error, isLeft) in [(.notMeasured(reason: "x"), false), (.tokenRefused, true)]
      as [(GateError, Bool)]
    {
      var state = GateState(process: 1, at: .zero)
      state.lastError = error
      state.isMeasurable()
      #expect(state.lastError == (isLeft ? error : nil))
    }
  }

  @Test("a try that is put off waits as long as its count says, times the jitter")
  func putOff() {
    var state = GateState(process: 1, at: .zero)
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60] as [Int64] {
      state.putOff(at: .seconds(10), jitter: 0.5)
      #expect(state.due == .seconds(10) + .seconds(seconds) / 2)
    }
    #expect(state.failures == 8)
  }
}

@Suite("The keys of a gate session")
struct GateKeyTests {
  private func draw(_ stage: GateStage) throws -> GateState.Draw {
    try stage.session.draw(at: stage.time.clock.uptime())
  }

  private func hasKeys(_ stage: GateStage) -> Bool {
    stage.session.state.withLock { $0.keyring != nil }
  }

  @Test("keys of an admission that was replaced while the app was measured are not kept")
  func replaced() throws {
    let stage = try GateStage { $0.freshness = 10 }
    let before = try draw(stage)
    stage.time.advance(.seconds(2_880))
    _ = try draw(stage)
    _ = stage.session.work()
    #expect(stage.asked == 2)
    _ = try stage.session.keyring(before)
    #expect(!hasKeys(stage))
    _ = try stage.session.keyring(draw(stage))
    #expect(hasKeys(stage))
  }

  @Test("keys of the process before a fork are not kept")
  func forked() throws {
    let stage = try GateStage { $0.freshness = 10 }
    let before = try draw(stage)
    stage.process.withLock { $0 = 2 }
    let after = try draw(stage)
    _ = try stage.session.keyring(before)
    #expect(!hasKeys(stage))
    _ = try stage.session.keyring(after)
    #expect(hasKeys(stage))
  }

  @Test("a renewed admission ends keys that are fresh")
  func renewed() throws {
    let stage = try GateStage {
      $0.freshness = 10
      $0.life = 10
    }
    _ = try stage.session.guarded(stage.request)
    stage.time.advance(.seconds(8))
    _ = try stage.session.guarded(stage.request)
    _ = stage.session.work()
    #expect(stage.asked == 2)
    let sent = try stage.session.guarded(stage.request)
    #expect(try stage.gate.check(sent).measured == 0)
  }

  @Test("a child that was forked after it drew its keys has numbers of its own")
  func forkedBetween() throws {
    let stage = try GateStage()
    let draw = try draw(stage)
    let keyring = try stage.session.keyring(draw)
    let digest = Digest(hashing: [1])
    func token() throws -> CompactToken {
      let text = try stage.session.compact(keyring, keyring.compact, draw.held, nil, 0) {
        .body(digest, account: $0)
      }
      return try CompactToken(checking: text, for: .body(digest), with: keyring.compact)
    }
    let parent = try (token(), token())
    #expect(parent.0.start == parent.1.start && parent.1.count == 2)
    stage.process.withLock { $0 = 2 }
    let child = try token()
    #expect(child.start != parent.1.start && child.count == 1)
  }

  @Test("a session is ready until the end of its admission, to the millisecond")
  func ready() throws {
    let stage = try GateStage()
    stage.time.advance(.milliseconds(3_599_999))
    #expect(stage.session.isReady)
    stage.time.advance(.milliseconds(1))
    #expect(!stage.session.isReady)
  }
}
