// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofBackend

/// A gate's own keys: numbered, one for each use, and rotated without a refusal.
@Suite struct GateOwnKeysTests {
  private static let gate = GateID.random()

  private static func secret(_ number: UInt8, _ byte: UInt8) throws -> GateOwnSecret {
    try GateOwnSecret(
      SecretBytes(copying: [UInt8](repeating: byte, count: 32).span), number: number)
  }

  private static func copy(_ key: GateKey) -> [UInt8] {
    key.withBytes { unsafe $0.withUnsafeBytes { unsafe Array($0) } }
  }

  private static func keys(_ keys: GateOwnKeys) -> [[UInt8]] {
    GateOwnKeys.Use.allCases.flatMap { keys[$0].keys.map(copy) }
      + ["a.example", "b.example"].flatMap { keys.verdictKeySet(for: $0).keys.map(copy) }
  }

  @Test("Each use, secret, number, gate and host of a verdict has another key")
  func different() throws {
    let both = [try Self.secret(1, 7), try Self.secret(2, 8)]
    let here = try GateOwnKeys(of: Self.gate, both)
    var all = Self.keys(here)
    #expect(all.count == 2 * (GateOwnKeys.Use.allCases.count + 2))
    all += Self.keys(try GateOwnKeys(of: .random(), both))
    all += Self.keys(try GateOwnKeys(of: Self.gate, [Self.secret(3, 7)]))
    #expect(Set(all).count == all.count)
    // The same secret and number give the same keys on each node.
    #expect(Self.keys(try GateOwnKeys(of: Self.gate, both)) == Self.keys(here))
  }

  @Test("Numbers are checked, and the active secret is one of them")
  func numbers() throws {
    let secrets = try (0...4).map { try Self.secret(UInt8($0), UInt8($0)) }
    for wrong in [[], [secrets[1], secrets[1]], secrets] {
      #expect(throws: ProofError.self) { try GateOwnKeys(of: Self.gate, wrong) }
    }
    #expect(throws: ProofError.self) { try GateOwnKeys(of: Self.gate, [secrets[1]], active: 2) }
    let short = ProofError.wrongLength(of: "gate's own secret", expected: 32...32, actual: 31)
    #expect(throws: short) {
      try GateOwnSecret(.random(count: 31), number: 1)
    }
    let keys = try GateOwnKeys(of: Self.gate, Array(secrets[..<4]), active: 2)
    #expect(keys.active == 2)
    for use in GateOwnKeys.Use.allCases {
      #expect(keys[use].active.number == 2 && keys[use].keys.count == 4)
      #expect(keys[use].key(3)?.number == 3 && keys[use].key(4) == nil)
    }
  }

  @Test("A rotation in three steps refuses no word, whichever node is ahead")
  func rotation() throws {
    let (old, new) = (try Self.secret(1, 7), try Self.secret(2, 8))
    let steps = [
      try GateOwnKeys(of: Self.gate, [old]),
      try GateOwnKeys(of: Self.gate, [old, new], active: 1),
      try GateOwnKeys(of: Self.gate, [old, new], active: 2),
      try GateOwnKeys(of: Self.gate, [new]),
    ].map { GateNonce($0[.nonce]) }
    for (step, next) in zip(steps, steps.dropFirst()) {
      for (maker, reader) in [(step, next), (next, step), (step, step)] {
        // The last step waits until the words of the step before have ended.
        if step === steps[2], maker === step || reader === step, maker !== reader { continue }
        #expect(reader.read(Substring(maker.text(at: 100)))?.time == 100)
      }
    }
    #expect(steps[3].read(Substring(steps[1].text(at: 100))) == nil)
    #expect(steps[0].read(Substring(steps[2].text(at: 100))) == nil)
  }

  @Test("A verifier does not take the own keys of another gate")
  func otherGate() throws {
    let gate = try Gate()
    let other = try Gate().ownKeys()
    #expect(throws: ProofError.self) {
      try RequestVerifier(gate.identity, own: other, replay: MemoryReplayStore())
    }
  }

  @Test(
    "A beacon is made anew each five minutes, and counts five minutes early and ten minutes late")
  func beaconClock() throws {
    let key = try BeaconKey(
      from: SecretBytes(copying: [UInt8](repeating: 7, count: 32).span), number: 1, of: Self.gate)
    let clock = BeaconClock(key)
    #expect(clock.header(at: 0) == key.header(at: 0))
    for start in stride(from: 1_500 as UnixTime, through: 9_000, by: 300) {
      let header = key.header(at: start)
      for now: UnixTime in [start - 1, start, start + 299] {
        #expect(clock.header(at: now) == key.header(at: now))
      }
      for (now, isValid) in [
        (start - 301, false), (start - 300, true), (start, true), (start + 599, true),
        (start + 899, true),
        (start + 900, false),
      ] {
        #expect(clock.isValid(header[...], at: now) == isValid, "\(now) of \(start)")
      }
    }
  }

  @Test("No description shows a secret")
  func descriptions() throws {
    let keys = try GateOwnKeys(of: Self.gate, [Self.secret(1, 0xA7)])
    var text = ""
    dump(keys, to: &text)
    dump(try Self.secret(1, 0xA7), to: &text)
    // The gate's name is public, and random: it may have these digits.
    text = text.split(separator: "\(Self.gate)").joined(separator: "gate")
    #expect(!text.contains("a7a7") && !text.contains("167"))
    #expect("\(keys)" == "GateOwnKeys(\(Self.gate), active 1)")
  }
}
