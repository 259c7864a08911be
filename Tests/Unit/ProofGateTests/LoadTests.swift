// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofGate

/// Counts of open challenges: answers lower them, and each sender and route has its own.
@Suite struct LoadTests {
  private static let now: UnixTime = 1_000

  private static func client(_ number: Int) -> ChallengeClient {
    .address("10.\(number >> 16).\(number >> 8 & 255).\(number & 255)")
  }

  @Test("An answer takes one challenge of its sender back, and none that was not set")
  func answers() {
    let load = ChallengeLoad()
    let client = Self.client(1)
    for _ in 0..<3 { load.answered(client, on: 1, at: Self.now) }
    for _ in 0..<3 {
      _ = load.set(client, on: 1, at: Self.now)
      load.answered(client, on: 1, at: Self.now)
    }
    let bits = (1...16).map { _ in load.set(client, on: 1, at: Self.now) }
    #expect(bits == [UInt8](repeating: 0, count: 15) + [1])
    load.answered(client, on: 1, at: Self.now)
    load.answered(client, on: 1, at: Self.now)
    #expect((0..<2).map { _ in load.set(client, on: 1, at: Self.now) } == [0, 1])
  }

  @Test("An answer takes one challenge of its route back")
  func routes() {
    let load = ChallengeLoad()
    func set(_ client: Int) -> UInt8 { load.set(Self.client(client), on: 5, at: Self.now) }
    for client in 0..<999 { #expect(set(client) == 0) }
    load.answered(Self.client(7), on: 5, at: Self.now)
    #expect(set(1_001) == 0 && set(1_002) == 1)
    load.answered(Self.client(8), on: 6, at: Self.now)
    #expect(set(1_003) == 1, "an answer of another route")
  }

  @Test("Challenges of 2,000 senders on as many routes raise no other one's level")
  func neighbours() {
    let load = ChallengeLoad()
    for client in 0..<2_000 {
      for _ in 0..<8 { _ = load.set(Self.client(client), on: UInt32(client), at: Self.now) }
    }
    for client in 0..<2_000 {
      load.answered(Self.client(client), on: UInt32(client), at: Self.now)
      #expect(load.set(Self.client(client), on: UInt32(client), at: Self.now) == 0)
    }
  }

  @Test(
    "A flood from 20,000 senders adds the route's 2 bits to another sender, and none of its own")
  func flood() {
    let load = ChallengeLoad()
    for client in 0..<20_000 {
      for _ in 0..<32 { _ = load.set(Self.client(client), on: 1, at: Self.now) }
    }
    for client in 100_000..<100_200 {
      for _ in 1...8 { #expect(load.set(Self.client(client), on: 1, at: Self.now) == 2) }
    }
  }

  @Test("4,096 senders and as many routes are counted, and those with fewer challenges go first")
  func room() {
    #expect(ChallengeLoad.byteCount == 262_144)
    let load = ChallengeLoad()
    func set(_ client: Int, after seconds: UInt64 = 0) -> UInt8 {
      load.set(Self.client(client), on: UInt32(client), at: Self.now + seconds)
    }
    for client in 0..<100 { for _ in 1...16 { _ = set(client) } }
    for client in 1_000..<9_192 { for _ in 1...15 { _ = set(client) } }
    for client in 0..<100 { #expect(set(client) == 1) }
    let kept = (1_000..<9_192).count { set($0) == 1 }
    #expect(kept > 1_024 && kept < 4_096)
    // After many half-lives they have nothing to lose.
    for client in 20_000..<120_000 { _ = set(client, after: 3_600) }
    for client in 0..<100 { #expect((1...15).allSatisfy { _ in set(client, after: 3_600) == 0 }) }
  }

  @Test("A challenge that was open for half an hour counts nothing")
  func past() {
    let load = ChallengeLoad()
    for _ in 0..<100_000 { _ = load.set(Self.client(1), on: 1, at: Self.now) }
    let bits = (1...16).map { _ in load.set(Self.client(1), on: 1, at: Self.now + 1_800) }
    #expect(bits == [UInt8](repeating: 0, count: 15) + [1])
    // A clock that was set back takes nothing away.
    let before = load.set(Self.client(1), on: 1, at: Self.now)
    #expect(before == 1)
  }
}
