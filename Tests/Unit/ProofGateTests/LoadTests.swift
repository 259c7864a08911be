// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofGate

/// Counts of open challenges: answers lower them, and each sender and route has a cell of many.
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

  @Test("There are 4,096 cells for senders and as many for routes, each of 24 bytes")
  func cells() {
    #expect(ChallengeLoad.byteCount == 196_608)
    let load = ChallengeLoad()
    // Eight challenges of each of 2,000 senders: two that share a cell have a bit. Of 4,096 cells
    // about 770 senders share one, with a deviation of 30; of 2,048 about 1,250.
    for client in 0..<2_000 {
      for _ in 0..<8 { _ = load.set(Self.client(client), on: UInt32(client), at: Self.now) }
    }
    let shared = (0..<2_000).count { client in
      load.answered(Self.client(client), on: UInt32(client), at: Self.now)
      return load.set(Self.client(client), on: UInt32(client), at: Self.now) > 0
    }
    #expect((1..<1_000).contains(shared), "\(shared)")
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
