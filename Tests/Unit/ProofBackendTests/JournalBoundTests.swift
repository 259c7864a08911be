// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import Testing

@testable import ProofBackend

/// Bounds of a journal of used proofs, and the numbers in its file that later versions must read.
@Suite struct JournalBoundTests {
  /// A time in 2096: a file that was changed after the time of its store counts as a backup.
  private static let now: UInt64 = 4_000_000_000

  private static func open(
    _ path: String, chunk: Int, most: Int, steps: Int = 1
  ) throws -> ReplayJournal {
    try ReplayJournal(
      path: path, shape: ReplayJournal.Shape(chunk: chunk, most: most, steps: steps, patience: 20))
  }

  private static func insert(
    _ number: Int, _ journal: ReplayJournal, until expiry: UInt64 = now + 99,
    at moment: UInt64 = now
  ) throws -> Bool {
    try journal.insert(.numbered(number), expiry, at: moment, systemTime: now)
  }

  @Test("A check is the mix of its words, as files of earlier versions have it, and never 0 or 1")
  func checks() {
    // The product of each sum and word, with its upper half added to the lower one.
    #expect(ReplayJournal.check([1, 2, 3][...]) == 5_013_445_578_483_118_600)
    #expect(ReplayJournal.check([1, 2, 3][...], 5) == 9_318_549_841_149_212_986)
    #expect(ReplayJournal.Entry(1, 2, 3, 4).check(7, 5) == 24_481_483_050_538_913)
    let start: UInt64 = 0x9E37_79B9_7F4A_7C15
    for (sum, value) in [(0, 2), (1, 3), (2, 2), (3, 3), (4, 4)] as [(UInt64, UInt64)] {
      #expect(ReplayJournal.Mix(start ^ sum).value == value)
    }
  }

  @Test("Two entries have the same key if each of its three words is the same, whatever their ends")
  func keys() {
    let entry = ReplayJournal.Entry(1, 2, 3, 4)
    for other in [ReplayJournal.Entry(1, 2, 3, 4), .init(1, 2, 3, 9)] {
      #expect(entry.hasKey(of: other))
    }
    for other in [
      ReplayJournal.Entry(9, 2, 3, 4), .init(1, 9, 3, 4), .init(1, 2, 9, 4), .init(1, 9, 9, 4),
      .init(9, 2, 9, 4), .init(9, 9, 3, 4), .init(3, 2, 1, 4),
    ] { #expect(!entry.hasKey(of: other)) }
  }

  @Test("A use steps over 63 entries that live for each step of the shape, and gives up at 64")
  func steps() throws {
    let folder = TestFolder()
    for (living, isFull) in [(63, false), (64, true), (65, true)] {
      let journal = try Self.open(folder.path("replay-\(living)"), chunk: 100, most: 100)
      for number in 0..<100 {
        let end = number < living ? Self.now + 99 : Self.now + 1
        #expect(try Self.insert(number, journal, until: end))
      }
      let later = Self.now + 2
      if isFull {
        #expect(throws: ReplayStoreFailure.full(entries: 100)) {
          try Self.insert(100, journal, at: later)
        }
        #expect(try journal.current().hand == 64)
      }
      // The next use goes on where the hand is, and finds an entry that has ended.
      #expect(try Self.insert(100, journal, at: later), "\(living)")
      #expect(try journal.current().hand == UInt64(living) + 1)
    }
  }

  @Test("A file grows by its chunk, and at last to its most")
  func growth() throws {
    let folder = TestFolder()
    let journal = try Self.open(folder.path("replay"), chunk: 4, most: 10)
    for (number, slots) in [(3, 4), (4, 8), (7, 8), (8, 10), (9, 10)] as [(Int, UInt64)] {
      for other in 0...number { _ = try Self.insert(other, journal) }
      #expect(try journal.current().slots == slots, "\(number + 1) entries")
    }
    #expect(throws: ReplayStoreFailure.full(entries: 10)) { try Self.insert(10, journal) }
  }

  @Test("A file of one slot keeps one key, also for the next process")
  func oneSlot() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    for isNew in [true, false] {
      let journal = try Self.open(path, chunk: 1, most: 1)
      #expect(try Self.insert(1, journal) == isNew)
      #expect(throws: ReplayStoreFailure.full(entries: 1)) { try Self.insert(2, journal) }
    }
  }

  @Test("A use lives through its last second, and no other takes its place before")
  func lastSecond() throws {
    let folder = TestFolder()
    let journal = try Self.open(folder.path("replay"), chunk: 1, most: 1)
    let last = Self.now + 5
    #expect(try Self.insert(1, journal, until: last))
    #expect(throws: ReplayStoreFailure.full(entries: 1)) {
      try Self.insert(2, journal, at: last)
    }
    #expect(try !Self.insert(1, journal, at: last))
    #expect(try Self.insert(2, journal, at: last + 1))
  }

  @Test("A file that was cut to its head is refused, also where both states are torn")
  func cut() throws {
    let folder = TestFolder()
    for isTorn in [false, true] {
      let path = folder.path("replay-\(isTorn)")
      do { _ = try Self.insert(1, Self.open(path, chunk: 4, most: 8)) }
      var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)).prefix(16_384))
      if isTorn { for place in [4_096, 8_192] { bytes[place + 9] ^= 1 } }
      try FileManager.default.removeItem(atPath: path)
      #expect(
        FileManager.default.createFile(
          atPath: path, contents: Data(bytes), attributes: [.posixPermissions: 0o600]))
      #expect(
        throws: ReplayStoreFailure.foreign(
          place: path, reason: "it is shorter than it was, or has more slots than allowed")
      ) { try Self.open(path, chunk: 4, most: 8) }
    }
  }

  @Test("The store of a new gate that no request has used is complete at the next start")
  func unused() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    let now = UnixTime(clamping: Self.now)
    do {
      let store = try JournalReplayStore(
        provisioning: path, boot: [1], systemTime: { Self.now })
      #expect(try store.begin(at: now).gap == nil)
    }
    for _ in 0..<2 {
      let store = try JournalReplayStore(at: path, boot: [1], systemTime: { Self.now })
      #expect(try store.begin(at: now) == ReplayMemory(highest: now, gap: nil))
    }
  }

  @Test("The slot of a damaged entry is free, whatever end the entry has and what stands behind it")
  func damagedSlot() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    let keys = try [7, 8, 9].map { try ReplayKey([UInt8](repeating: $0, count: 24)) }
    func use(_ key: ReplayKey, _ journal: ReplayJournal) throws -> Bool {
      try journal.insert(key, Self.now + 99, at: Self.now, systemTime: Self.now)
    }
    do {
      let journal = try Self.open(path, chunk: 2, most: 2)
      for key in keys.prefix(2) { #expect(try use(key, journal)) }
    }
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    bytes[16_384 + 3] ^= 1
    try Data(bytes).write(to: URL(filePath: path))
    let journal = try Self.open(path, chunk: 2, most: 2)
    #expect(try use(keys[2], journal) && !use(keys[2], journal) && !use(keys[1], journal))
    #expect(throws: ReplayStoreFailure.full(entries: 2)) { try use(keys[0], journal) }
  }
}
