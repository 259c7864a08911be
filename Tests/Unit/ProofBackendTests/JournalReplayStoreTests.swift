// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import Testing

@testable import ProofBackend

/// The file of a replay journal: restarts, backups, damage, growth, and the SQLite file of earlier versions.
@Suite struct JournalReplayStoreTests {
  /// A time in 2096: a file that was changed after the time of its store counts as a backup.
  static let now: UnixTime = 4_000_000_000
  private static let boot: [UInt8] = [1]
  /// A file of few slots, so that tests fill it.
  private static let small = ReplayJournal.Shape(chunk: 4, most: 8, steps: 2, patience: 20)

  private static func open(
    _ path: String, boot: [UInt8] = boot, shape: ReplayJournal.Shape = ReplayJournal.Shape(),
    systemTime: UnixTime? = nil
  ) throws -> JournalReplayStore {
    try JournalReplayStore(
      at: path, boot: boot, shape: shape,
      systemTime: { systemTime?.unsigned ?? ReplayFile.systemTime })
  }

  /// Makes a store that is complete at ``now``, with a used key.
  private static func used(_ folder: TestFolder, _ name: String = "replay") throws -> String {
    let path = folder.path(name)
    let store = try JournalReplayStore(provisioning: path, boot: boot, systemTime: { now.unsigned })
    #expect(try store.begin(at: now).gap == nil)
    #expect(try store.insert(.numbered(1), until: now + 150, at: now))
    return path
  }

  // MARK: Starts

  @Test("A key outlives its process, and so does the moment up to which others may be missing")
  func restart() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    do {
      let store = try Self.open(path)
      #expect(try store.begin(at: Self.now).gap == Self.now)
      #expect(try store.insert(.numbered(1), until: Self.now + 150, at: Self.now))
    }
    let store = try Self.open(path)
    #expect(try store.begin(at: Self.now + 2) == ReplayMemory(highest: Self.now, gap: Self.now))
    #expect(try !store.insert(.numbered(1), until: Self.now + 150, at: Self.now + 2))
  }

  @Test("A store that no verifier has begun with is not complete at the next start")
  func unbegun() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    for _ in 0..<2 { #expect(try Self.open(path).insert(.random(), until: 1, at: Self.now)) }
    #expect(try Self.open(path).begin(at: Self.now).gap == Self.now)
  }

  @Test("The store of a new gate is complete at once, for 60 s, and is made once")
  func provisioning() throws {
    let folder = TestFolder()
    let path = try Self.used(folder)
    #expect(throws: ReplayStoreFailure.exists(place: path)) {
      try JournalReplayStore(provisioning: path)
    }
    let later: (UInt64) throws -> UnixTime? = { seconds in
      try Self.open(path, systemTime: Self.now).begin(at: Self.now + seconds).gap
    }
    #expect(try later(0) == nil && later(60) == nil)
    #expect(try later(61) == Self.now + 61)
  }

  @Test("A store that was silent, or whose machine was started anew, is not complete")
  func silence() throws {
    let folder = TestFolder()
    func gap(_ name: String, after seconds: UInt64, boot: [UInt8] = Self.boot) throws -> UnixTime? {
      try Self.open(Self.used(folder, name), boot: boot).begin(at: Self.now + seconds).gap
    }
    #expect(try gap("one", after: 60) == nil)
    #expect(try gap("two", after: 61) == Self.now + 61)
    #expect(try gap("three", after: 1, boot: [2]) == Self.now + 1)
    // A clock that was set back: what was used may be as late as the highest time.
    #expect(try Self.open(folder.path("one"), boot: [3]).begin(at: 5).gap == Self.now)
    // The gap stays, and never shrinks.
    #expect(try Self.open(folder.path("three"), boot: [2]).begin(at: Self.now).gap == Self.now + 1)
  }

  @Test("A backup that was put back is not complete")
  func backup() throws {
    let folder = TestFolder()
    let (path, copy) = (folder.path("replay"), folder.path("backup"))
    // The store believes to have written 100 s ago, so that the test need not wait.
    let then = UnixTime(clamping: ReplayFile.systemTime - 100)
    do {
      let store = try Self.open(path, systemTime: then)
      #expect(try store.begin(at: Self.now).gap == Self.now)
      #expect(try store.insert(.numbered(3), until: Self.now + 9, at: Self.now + 2))
    }
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.copyItem(atPath: copy, toPath: path)
    #expect(try Self.open(path).begin(at: Self.now + 2).gap == Self.now + 2)
  }

  // MARK: Slots

  @Test("Two processes that share a file see each other's keys, round after round")
  func shared() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    var shape = Self.small
    shape.most = 64
    let stores = [try Self.open(path, shape: shape), try Self.open(path, shape: shape)]
    for number in 0..<300 {
      // Some live so long that the hand steps over them.
      let end = Self.now + UInt64(number) + (number % 7 == 0 ? 30 : 3)
      let (own, other) = (stores[number / 3 % 2], stores[1 - number / 3 % 2])
      let now = Self.now + UInt64(number)
      #expect(try own.insert(.numbered(number), until: end, at: now))
      #expect(try !other.insert(.numbered(number), until: end, at: now))
      #expect(try !own.insert(.numbered(number - number % 7), until: end, at: now))
    }
    // A third that opens now knows the living ones, too.
    let third = try Self.open(path, shape: shape)
    #expect(try !third.insert(.numbered(299), until: Self.now + 400, at: Self.now + 300))
    // One that was silent for several rounds.
    for number in 300..<600 {
      #expect(
        try stores[0].insert(
          .numbered(number), until: Self.now + UInt64(number) + 3, at: Self.now + UInt64(number)))
    }
    #expect(try !third.insert(.numbered(599), until: Self.now + 900, at: Self.now + 600))
    #expect(try !stores[1].insert(.numbered(598), until: Self.now + 900, at: Self.now + 600))
  }

  @Test("A full file refuses, forgets nothing, and takes keys again when others have ended")
  func full() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    let store = try Self.open(path, shape: Self.small)
    for number in 0..<8 {
      #expect(try store.insert(.numbered(number), until: Self.now + 99, at: Self.now))
    }
    #expect(throws: ReplayStoreFailure.full(entries: 8)) {
      try store.insert(.numbered(8), until: Self.now + 99, at: Self.now)
    }
    for store in [store, try Self.open(path, shape: Self.small)] {
      for number in 0..<8 {
        #expect(try !store.insert(.numbered(number), until: Self.now + 99, at: Self.now))
      }
    }
    for number in 0..<8 {
      #expect(try store.insert(.numbered(number), until: Self.now + 300, at: Self.now + 100))
    }
  }

  @Test("The file grows with the keys that live at once, and no further")
  func size() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    var shape = Self.small
    shape.most = 4_000
    let store = try Self.open(path, shape: shape)
    func size() throws -> Int {
      let found = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
      return (found - 16_384) / ReplayJournal.slotSize
    }
    #expect(try size() == 4)
    // 100 live at a time.
    for number in 0..<5_000 {
      let now = Self.now + UInt64(number)
      #expect(try store.insert(.numbered(number), until: now + 99, at: now))
    }
    #expect(try (100..<120).contains(size()))
  }

  @Test("A file grows when the hand has met its number of living keys, and not one before")
  func steps() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    let store = try Self.open(path, shape: Self.small)
    #expect(try store.insert(.numbered(0), until: Self.now + 99, at: Self.now))
    for number in 1..<4 {
      #expect(try store.insert(.numbered(number), until: Self.now + 5, at: Self.now))
    }
    // The hand meets one that lives, and then one that has ended.
    #expect(try store.insert(.numbered(4), until: Self.now + 99, at: Self.now + 10))
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
    #expect(size == 16_384 + 4 * ReplayJournal.slotSize)
  }

  @Test(
    "A process sees each key of another one, however far that one's hand has gone",
    arguments: 1...26)
  func follows(count: Int) throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    let shape = ReplayJournal.Shape(chunk: 8, most: 8)
    let (here, there) = (try Self.open(path, shape: shape), try Self.open(path, shape: shape))
    for number in 0..<3 {
      #expect(try here.insert(.numbered(number), until: Self.now, at: Self.now))
    }
    // A key ends before its slot is wanted again; the last seven live.
    let last = Self.now + UInt64(count)
    for number in 1...count {
      let now = Self.now + UInt64(number)
      #expect(try there.insert(.numbered(100 + number), until: now + 6, at: now))
    }
    for number in max(1, count - 6)...count {
      #expect(try !here.insert(.numbered(100 + number), until: last + 6, at: last))
    }
  }

  // MARK: Files that cannot be used

  private static func refuses(_ path: String, _ reason: String) {
    do {
      _ = try Self.open(path)
      Issue.record("opened")
    } catch ReplayStoreFailure.foreign(_, let found) {
      #expect(found.contains(reason))
    } catch {
      Issue.record("\(error)")
    }
  }

  private static func change(_ path: String, _ body: (inout [UInt8]) -> Void) throws {
    let file = try FileHandle(forUpdating: URL(filePath: path))
    var bytes = [UInt8](try file.read(upToCount: 65_536) ?? Data())
    body(&bytes)
    try file.seek(toOffset: 0)
    try file.write(contentsOf: Data(bytes))
    try file.close()
  }

  @Test("A file of another program, of another version or that others may read is left alone")
  func foreign() throws {
    let folder = TestFolder()
    for (number, count) in [50, 40_000].enumerated() {
      let path = folder.path("other-\(number)")
      let bytes = Data(repeating: 7, count: count)
      #expect(
        FileManager.default.createFile(
          atPath: path, contents: bytes, attributes: [.posixPermissions: 0o600]))
      Self.refuses(path, "another program's file")
      #expect(FileManager.default.contents(atPath: path) == bytes)
    }
    let newer = try Self.used(folder, "newer")
    try Self.change(newer) { $0[20] += 1 }
    Self.refuses(newer, "another version")
    let damaged = try Self.used(folder, "damaged")
    try Self.change(damaged) { $0[24] ^= 1 }
    Self.refuses(damaged, "its head is damaged")
    let short = try Self.used(folder, "short")
    try FileHandle(forUpdating: URL(filePath: short)).truncate(atOffset: 20_000)
    Self.refuses(short, "shorter than it was")
    let open = folder.path("open")
    #expect(
      FileManager.default.createFile(
        atPath: open, contents: Data(), attributes: [.posixPermissions: 0o644]))
    #expect(throws: ReplayStoreFailure.self) { try Self.open(open) }
    #expect(throws: ReplayStoreFailure.self) { try Self.open(folder.path("no such folder/replay")) }
  }

  @Test("A file that was not finished when its maker ended is made anew")
  func unfinished() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    _ = try Self.open(path)
    try Self.change(path) { bytes in for index in 0..<40 { bytes[index] = 0 } }
    let store = try Self.open(path)
    #expect(try store.begin(at: Self.now).gap == Self.now)
    #expect(try store.insert(.numbered(1), until: Self.now + 9, at: Self.now))
  }

  @Test("A damaged entry or state makes the store incomplete, also at a start after the next")
  func damage() throws {
    let folder = TestFolder()
    // The first entry's key, end and check; a check that was never written; the states.
    let places = [16_384, 16_384 + 24, 16_384 + 32, 4_096 + 8, 8_192 + 8]
    for (number, place) in places.enumerated() {
      let path = try Self.used(folder, "replay-\(number)")
      do {
        let store = try Self.open(path, systemTime: Self.now)
        #expect(try store.begin(at: Self.now).gap == nil)
        #expect(try store.insert(.numbered(2), until: Self.now + 150, at: Self.now))
      }
      try Self.change(path) { $0[place] ^= 0x40 }
      // This start ends before its verifier has begun.
      do { _ = try Self.open(path, systemTime: Self.now) }
      let store = try Self.open(path, systemTime: Self.now)
      #expect(try store.begin(at: Self.now + 1).gap == Self.now + 1, "damage at \(place)")
      #expect(try !store.insert(.numbered(2), until: Self.now + 150, at: Self.now + 1))
    }
    let lost = try Self.used(folder, "lost")
    try Self.change(lost) { bytes in for index in 16_384..<16_424 { bytes[index] = 0 } }
    #expect(try Self.open(lost, systemTime: Self.now).begin(at: Self.now).gap == Self.now)
    // Both states are torn. The entries are there.
    let torn = try Self.used(folder, "torn")
    try Self.change(torn) { bytes in for place in [4_096, 8_192] { bytes[place + 9] ^= 1 } }
    let store = try Self.open(torn, systemTime: Self.now)
    #expect(try store.begin(at: Self.now + 1).gap == Self.now + 1)
    #expect(try !store.insert(.numbered(1), until: Self.now + 150, at: Self.now + 1))
    #expect(try store.insert(.numbered(3), until: Self.now + 150, at: Self.now + 1))
  }

  @Test("An entry counts at its own slot of its own file; at another place it is damage")
  func moved() throws {
    let folder = TestFolder()
    func pair(_ name: String) throws -> String {
      let path = try Self.used(folder, name)
      let store = try Self.open(path, systemTime: Self.now)
      #expect(try store.begin(at: Self.now).gap == nil)
      #expect(try store.insert(.numbered(2), until: Self.now + 150, at: Self.now))
      return path
    }
    func gap(_ path: String) throws -> UnixTime? {
      try Self.open(path, systemTime: Self.now).begin(at: Self.now + 1).gap
    }
    let (whole, swapped, foreign) = (try pair("whole"), try pair("swapped"), try pair("foreign"))
    let entries = 16_384..<16_424
    try Self.change(swapped) { bytes in
      for index in entries { bytes.swapAt(index, index + 40) }
    }
    // The same keys and ends, under the seed of another file.
    let other = [UInt8](try Data(contentsOf: URL(filePath: whole)))
    try Self.change(foreign) { $0.replaceSubrange(entries, with: other[entries]) }
    #expect(try gap(whole) == nil)
    #expect(try gap(swapped) == Self.now + 1 && gap(foreign) == Self.now + 1)
  }

  @Test("A file has the layout that its page gives")
  func layout() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    let key = try ReplayKey([UInt8](2...25))
    let boot = [UInt8](1...9)
    do {
      let store = try JournalReplayStore(
        provisioning: path, boot: boot, systemTime: { Self.now.unsigned - 7 })
      #expect(try store.insert(key, until: Self.now + 150, at: Self.now + 1))
    }
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    func word(_ place: Int) -> UInt64 {
      bytes[place..<place + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    #expect(String(decoding: bytes[..<16], as: UTF8.self) == "ProofKitreplays\n")
    #expect(word(16) == 1 << 32 | 40)
    #expect(bytes[40..<4_096].allSatisfy { $0 == 0 })
    // Each change is in the copy that the one before is not in.
    let (one, two) = (word(4_096), word(8_192))
    #expect(one % 2 == 0 && two % 2 == 1 && (one + 1 == two || two + 1 == one))
    let newest = one > two ? 4_096 : 8_192
    let digest = Digest(hashing: boot).bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }
    #expect(
      (1...8).map { word(newest + 8 * $0) } == [
        Self.now.unsigned + 1, Self.now.unsigned - 7, 0, 1, 0, 65_536, 1, digest | 1,
      ])
    #expect(Array(bytes[16_384..<16_408]) == [UInt8](2...25))
    #expect(word(16_408) == Self.now.unsigned + 150 && word(16_416) > 1)
    #expect(bytes.count == 16_384 + 65_536 * 40)
    #expect(bytes[16_424...].allSatisfy { $0 == 0 })
  }

  @Test("A process that holds the file for too long makes a use fail, not wait")
  func held() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    let store = try Self.open(path, shape: Self.small)
    let holder = try FileHandle(forReadingFrom: URL(filePath: path))
    #expect(flock(holder.fileDescriptor, LOCK_EX) == 0)
    #expect(
      throws: ReplayStoreFailure.unavailable(
        place: path, reason: "another process has used it for 20 ms")
    ) { try store.insert(.numbered(1), until: Self.now + 9, at: Self.now) }
    #expect(flock(holder.fileDescriptor, LOCK_UN) == 0)
    #expect(try store.insert(.numbered(1), until: Self.now + 9, at: Self.now))
  }

  // MARK: The file of earlier versions

  private static func earlier(
    _ path: String, systemTime: UnixTime? = nil
  ) throws -> SQLiteReplayStore {
    try SQLiteReplayStore(
      at: path, boot: boot, systemTime: { systemTime?.unsigned ?? ReplayFile.systemTime })
  }

  @Test("The used proofs, the time and the gap of a SQLite file are taken over")
  func takesOver() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    do {
      let old = try Self.earlier(path)
      #expect(try old.begin(at: Self.now).gap == Self.now)
      for number in 0..<1_000 {
        #expect(try old.insert(.numbered(number), until: Self.now + 150, at: Self.now + 9))
      }
    }
    #expect(FileManager.default.createFile(atPath: path + ".new", contents: Data([1])))
    for _ in 0..<2 {
      let store = try Self.open(path)
      #expect(
        try store.begin(at: Self.now + 10) == ReplayMemory(highest: Self.now + 9, gap: Self.now))
      for number in 0..<1_000 {
        #expect(try !store.insert(.numbered(number), until: Self.now + 150, at: Self.now + 9))
      }
    }
    for name in ["-wal", "-shm", "-journal", ".new"] {
      #expect(!FileManager.default.fileExists(atPath: path + name))
    }
    #expect(throws: ReplayStoreFailure.self) { try Self.earlier(path) }
  }

  @Test("A SQLite file that was not complete makes a journal that is not")
  func takesOverLess() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    do {
      let old = try SQLiteReplayStore(
        provisioning: path, boot: [9], systemTime: { Self.now.unsigned })
      #expect(try old.insert(.numbered(1), until: Self.now + 150, at: Self.now))
    }
    let store = try Self.open(path)
    #expect(try store.begin(at: Self.now + 1).gap == Self.now + 1)
    #expect(try !store.insert(.numbered(1), until: Self.now + 150, at: Self.now + 1))
  }

  @Test("A SQLite file with more proofs than a journal takes stays, and no part of a journal does")
  func takesOverTooMany() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    do {
      let old = try Self.earlier(path)
      for number in 0..<9 {
        #expect(try old.insert(.numbered(number), until: Self.now + 150, at: Self.now))
      }
    }
    #expect(throws: ReplayStoreFailure.full(entries: 8)) {
      try Self.open(path, shape: Self.small)
    }
    #expect(ReplayFile.isThere(at: path))
    #expect(!FileManager.default.fileExists(atPath: path + ".new"))
    let old = try Self.earlier(path)
    #expect(try !old.insert(.numbered(8), until: Self.now + 150, at: Self.now))
  }

  @Test("A SQLite file that another process has open, or that has redeemed events, is left alone")
  func leavesAlone() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    let old = try Self.earlier(path)
    #expect(try old.insert(.numbered(1), until: Self.now + 150, at: Self.now))
    #expect(throws: ReplayStoreFailure.self) { try Self.open(path) }
    #expect(try !old.insert(.numbered(1), until: Self.now + 150, at: Self.now))
    let events = folder.path("events")
    do {
      let redemption = Redemption(
        try .numbered(1), until: Self.now + 150, device: try .numbered(2))
      #expect(
        try Self.earlier(events).redeem(redemption, at: Self.now) { _ in [] } != .used)
    }
    Self.refuses(events, "events that were redeemed")
    #expect(ReplayFile.isThere(at: events))
  }
}

extension ReplayKey {
  fileprivate static func random() throws -> ReplayKey {
    try ReplayKey((0..<24).map { _ in UInt8.random(in: 0...255) })
  }
}
