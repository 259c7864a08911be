// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import Testing

@testable import ProofBackend

/// Bounds of the stores of used proofs and of their counts, from both sides.
@Suite struct StoreBoundTests {
  private static let now: UnixTime = 1_800_000_000

  // MARK: Counts

  @Test("The memory changes its halves after 90,000 s, and drops both after twice as long")
  func halves() throws {
    let (one, two, account) = (
      try ReplayKey.numbered(1), try ReplayKey.numbered(2), try ReplayKey.numbered(3)
    )
    // The moments of other events after the first one, and whether the account is still known.
    for (later, devices) in [
      ([179_999], 1), ([180_000], 0), ([90_000, 179_999], 1), ([90_000, 180_000], 0),
      ([90_000, 90_001, 180_000], 0), ([89_999, 90_000, 179_999], 1),
      ([89_999, 90_000, 180_000], 0),
    ] as [([UInt64], Int)] {
      var counts = MemoryCounts()
      _ = counts.add(device: one, account: account, at: Self.now)
      #expect(counts.count == 2)
      for seconds in later { _ = counts.add(device: two, account: nil, at: Self.now + seconds) }
      let forgotten = counts.forget(account)
      #expect(forgotten == devices, "\(later)")
    }
  }

  @Test("Counts of devices and accounts are deleted when they are older than 90,000 s")
  func retention() throws {
    let folder = TestFolder()
    let file = try ReplayFile(path: folder.path("replay"))
    let redemption = try RedemptionStoreTests.redemption(1)
    try file.transaction(at: Self.now, { 1 }) { file throws(ReplayStoreFailure) in
      _ = try file.count(redemption)
    }
    for (seconds, isKept) in [(90_000, true), (90_001, false)] as [(UInt64, Bool)] {
      try file.transaction(at: Self.now + seconds, { 1 }) { _ in }
      #expect(try file.hasRedemptions == isKept, "\(seconds)")
    }
    #expect(try file.forget(#require(redemption.account)) == 0)
  }

  // MARK: Room

  @Test(
    "A memory has room for a use of four entries, a judgement with its key of two, a key of one")
  func room() throws {
    let until: UnixTime = Self.now + 9
    let uses: [(Int, (MemoryReplayStore) throws -> Bool)] = [
      (1, { try $0.insert(.numbered(1), until: until, at: Self.now) }),
      (
        2,
        { store in
          let record = ReplayRecord(name: try .numbered(2), bytes: [1], expiry: until)
          return try store.record(record, using: .numbered(1), until: until, at: Self.now)
            == .recorded
        }
      ),
      (
        4,
        { store in
          let end = try store.redeem(RedemptionStoreTests.redemption(1, name: 1), at: Self.now) {
            _ in [1]
          }
          if case .redeemed = end { return true }
          return false
        }
      ),
    ]
    for (entries, use) in uses {
      let small = MemoryReplayStore(capacity: entries - 1)
      #expect(throws: ReplayStoreFailure.full(entries: entries - 1)) { try use(small) }
      #expect(try use(MemoryReplayStore(capacity: entries)))
    }
    let mirror = Mirror(reflecting: MemoryReplayStore())
    #expect(mirror.children.first { $0.label == "capacity" }?.value as? Int == 1_000_000)
  }

  @Test("A key's room is taken until its end, and free again 16 s later at the latest")
  func interval() throws {
    for offset in 0..<64 as Range<UInt64> {
      let store = MemoryReplayStore(capacity: 1)
      let end = Self.now + offset
      #expect(try store.insert(.numbered(1), until: end, at: Self.now))
      #expect(throws: ReplayStoreFailure.full(entries: 1)) {
        try store.insert(.numbered(2), until: end, at: end)
      }
      #expect(try store.insert(.numbered(3), until: end + 99, at: end + 16), "\(offset)")
    }
  }

  @Test(
    "A memory knows no time before its first use, and its gap ends now, or with its highest time")
  func begin() throws {
    let store = MemoryReplayStore()
    #expect(store.begin(at: 0) == ReplayMemory(highest: 0, gap: 0))
    #expect(store.begin(at: 7) == ReplayMemory(highest: 0, gap: 7))
    #expect(try store.insert(.numbered(1), until: 20, at: 10))
    for (now, gap) in [(7, 10), (10, 10), (11, 11)] as [(UnixTime, UnixTime)] {
      #expect(store.begin(at: now) == ReplayMemory(highest: 10, gap: gap))
    }
    #expect(store.isOfOneProcess)
  }

  // MARK: Damage

  @Test("A file that SQLite finds damaged, or no database, is foreign, with SQLite's words")
  func damaged() throws {
    let folder = TestFolder()
    let (text, torn) = (folder.path("text"), folder.path("torn"))
    do {
      let file = try ReplayFile(path: torn)
      _ = try file.insert(.numbered(1), Self.now)
    }
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: torn)))
    for index in 4_096..<bytes.count { bytes[index] = 0xFF }
    try Data(bytes).write(to: URL(filePath: torn))
    let words = Data("This text is not a database, and is longer than the head of one. ".utf8)
    #expect(
      FileManager.default.createFile(
        atPath: text, contents: words + words, attributes: [.posixPermissions: 0o600]))
    for (path, reason) in [
      (torn, "database disk image is malformed"), (text, "file is not a database"),
    ] {
      #expect(throws: ReplayStoreFailure.foreign(place: path, reason: reason)) {
        try ReplayFile(path: path)
      }
    }
  }
}
