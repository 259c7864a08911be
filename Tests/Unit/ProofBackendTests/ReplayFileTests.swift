// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import Testing

@testable import ProofBackend

/// The SQLite file of a replay store, and the calls to the file system beside it.
@Suite struct ReplayFileTests {
  private static let now: UnixTime = 1_800_000_000

  private func open(_ folder: TestFolder, _ name: String = "replay") throws -> ReplayFile {
    try ReplayFile(path: folder.path(name))
  }

  private func put(_ bytes: [UInt8], _ path: String, mode: Int = 0o600) {
    #expect(
      FileManager.default.createFile(
        atPath: path, contents: Data(bytes), attributes: [.posixPermissions: mode]))
  }

  private func reason(_ body: () throws -> Void) -> String? {
    do {
      try body()
    } catch ReplayStoreFailure.foreign(_, let reason) {
      return reason
    } catch ReplayStoreFailure.unavailable(_, let reason) {
      return reason
    } catch {
      return "\(error)"
    }
    return nil
  }

  // MARK: Steps

  @Test("A step that fails changes nothing, neither keys nor time")
  func rollback() throws {
    let file = try open(TestFolder())
    let failure = ReplayStoreFailure.full(entries: 7)
    let key = try ReplayKey.numbered(1)
    #expect(throws: failure) {
      try file.transaction(at: Self.now, { 7 }) { file throws(ReplayStoreFailure) in
        guard try file.insert(key, Self.now + 9) else { return }
        throw failure
      }
    }
    #expect(try file.number(.highest) == 0 && file.number(.written) == 0)
    let isNew = try file.transaction(at: Self.now, { 8 }) { file throws(ReplayStoreFailure) in
      try file.insert(key, Self.now + 9)
    }
    #expect(isNew)
    #expect(try file.number(.highest) == Self.now.unsigned && file.number(.written) == 8)
  }

  @Test("The time of the last write is noted with each later time, and not with the same one")
  func written() throws {
    let file = try open(TestFolder())
    for (time, system, written) in [(5, 7, 7), (5, 9, 7), (4, 9, 7), (6, 9, 9)]
      as [(UInt64, UInt64, UInt64)]
    {
      try file.transaction(at: UnixTime(clamping: time), { system }) { _ in }
      #expect(try file.number(.written) == written)
      #expect(try file.number(.highest) == max(5, time))
    }
  }

  @Test("A step forgets what has ended by the highest time of all processes")
  func forgets() throws {
    let folder = TestFolder()
    let (one, two) = (try open(folder), try open(folder))
    let (key, other, name) = (
      try ReplayKey.numbered(1), try ReplayKey.numbered(2), try ReplayKey.numbered(3)
    )
    try one.transaction(at: 10, { 1 }) { file throws(ReplayStoreFailure) in
      _ = try file.insert(key, 99)
      try file.keep(ReplayRecord(name: name, bytes: [4, 5], expiry: 99))
    }
    try two.transaction(at: 99, { 1 }) { _ in }
    let first = try one.transaction(at: 11, { 1 }) { file throws(ReplayStoreFailure) in
      (try file.judgement(name), try file.insert(key, 99), try file.insert(other, 98))
    }
    #expect(first.0 == [4, 5] && !first.1 && first.2)
    // By the time of the other process this key has ended.
    let isForgotten = try one.transaction(at: 12, { 1 }) { file throws(ReplayStoreFailure) in
      try file.insert(other, 98)
    }
    #expect(isForgotten)
    try two.transaction(at: 100, { 1 }) { _ in }
    let last = (try one.judgement(name), try one.insert(key, 99))
    #expect(last.0 == nil && last.1)
  }

  // MARK: Numbers

  @Test("A file is untouched by its own start and write alone, five seconds apart at most")
  func untouched() throws {
    let file = try open(TestFolder())
    #expect(ReplayFile.strangeSeconds == 5)
    #expect(try !file.isBoot([1]) && !file.isUntouched([1], changed: 0))
    try file.note(boot: [1], written: 0)
    #expect(try file.isBoot([1]) && !file.isBoot([2]) && !file.isBoot([]))
    #expect(try !file.isUntouched([1], changed: 0))
    try file.note(boot: nil, written: 100)
    #expect(try file.isBoot([1]) && file.number(.written) == 100)
    for (changed, isUntouched) in [(0, true), (104, true), (105, true), (106, false)]
      as [(UInt64, Bool)]
    { #expect(try file.isUntouched([1], changed: changed) == isUntouched) }
    #expect(try !file.isUntouched([2], changed: 0))
    try file.note(boot: [2], written: 101)
    #expect(try !file.isBoot([1]) && file.isUntouched([2], changed: 106))
  }

  @Test("The gap never shrinks")
  func gap() throws {
    let file = try open(TestFolder())
    #expect(try file.number(.gap) == 0)
    for (moment, gap) in [(5, 5), (3, 5), (9, 9)] as [(UInt64, UInt64)] {
      try file.noteGap(until: UnixTime(clamping: moment))
      #expect(try file.number(.gap) == gap)
    }
  }

  @Test("The used keys come in their order, with their ends")
  func used() throws {
    let file = try open(TestFolder())
    let keys = try [3, 1, 2].map { try ReplayKey([UInt8](repeating: $0, count: 24)) }
    for (key, end) in zip(keys, [30, 10, 20] as [UnixTime]) { _ = try file.insert(key, end) }
    #expect(try file.used.map(\.key) == [keys[1], keys[2], keys[0]])
    #expect(try file.used.map(\.expiry) == [10, 20, 30])
  }

  @Test("A file has redemptions if it keeps a judgement, counts a device, or knows a pair")
  func redemptions() throws {
    let folder = TestFolder()
    let plain = try open(folder, "plain")
    _ = try plain.insert(.numbered(1), Self.now)
    #expect(try !plain.hasRedemptions)
    let kept = try open(folder, "kept")
    try kept.keep(ReplayRecord(name: .numbered(1), bytes: [1], expiry: Self.now))
    #expect(try kept.hasRedemptions)
    let counted = try open(folder, "counted")
    _ = try counted.count(Redemption(.numbered(1), until: Self.now, device: .numbered(2)))
    #expect(try counted.hasRedemptions)
    #expect(try counted.forget(.numbered(3)) == 0)
    let paired = try open(folder, "paired")
    _ = try paired.count(
      Redemption(.numbered(1), until: Self.now, device: .numbered(2), account: .numbered(3)))
    #expect(try paired.forget(.numbered(2)) == 0 && paired.forget(.numbered(3)) == 1)
  }

  @Test("An account of a device counts for a minute, an hour and a day, to the second")
  func spans() throws {
    for (seconds, span) in [
      (59, [1, 1, 1]), (60, [0, 1, 1]), (3_599, [0, 1, 1]), (3_600, [0, 0, 1]),
      (86_399, [0, 0, 1]), (86_400, [0, 0, 0]),
    ] as [(UInt64, [UInt32])] {
      let file = try open(TestFolder())
      let device = try ReplayKey.numbered(2)
      try file.transaction(at: Self.now, { 1 }) { file throws(ReplayStoreFailure) in
        guard let key = try? ReplayKey.numbered(3) else { return }
        _ = try file.count(Redemption(key, until: 1, device: device, account: key))
      }
      try file.transaction(at: Self.now + seconds, { 1 }) { file throws(ReplayStoreFailure) in
        let counts = try file.count(Redemption(device, until: 1, device: device))
        let found = counts.accountsOfDevice
        #expect([found.minute, found.hour, found.day] == span, "\(seconds)")
        #expect(counts.devicesOfAccount == EventCounts.Span())
      }
    }
  }

  // MARK: Files of others

  @Test("A file with another id or version in its head is refused with its reason")
  func heads() throws {
    let folder = TestFolder()
    for (place, words) in [(63, "it is of another version"), (71, "it is another program's file")] {
      let path = folder.path("replay-\(place)")
      do { _ = try ReplayFile(path: path) }
      var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
      bytes[place] += 1
      try Data(bytes).write(to: URL(filePath: path))
      #expect(reason { _ = try ReplayFile(path: path) } == words)
    }
  }

  @Test("The database of another program is used if its id is the one that was named")
  func guest() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    let own = try ReplayFile(path: path)
    _ = try own.insert(.numbered(1), Self.now)
    #expect(
      reason { _ = try ReplayFile(path: path, in: .guest(1)) } == "it is another program's file")
    let guest = try ReplayFile(path: path, in: .guest(0x5066_5270))
    #expect(try guest.insert(.numbered(1), Self.now) && !guest.insert(.numbered(1), Self.now))
    #expect(try own.used.count == 1 && guest.used.count == 1)
  }

  @Test("A file that a group or others may use in any way is refused", arguments: [false, true])
  func modes(isJournal: Bool) throws {
    let folder = TestFolder()
    for mode in [0o601, 0o602, 0o604, 0o610, 0o620, 0o640, 0o600, 0o700] {
      let path = folder.path("file-\(mode)")
      put([], path, mode: mode)
      let reason = reason {
        if isJournal {
          _ = try ReplayJournal(path: path)
        } else {
          _ = try ReplayFile(path: path)
        }
      }
      #expect(reason == (mode & 0o077 == 0 ? nil : "others may read or write it"), "\(mode)")
    }
  }

  @Test("A file that cannot be made is told with the system's words, and one that exists as that")
  func making() throws {
    let folder = TestFolder()
    let missing = folder.path("no such folder/replay")
    let failure = ReplayStoreFailure.unavailable(
      place: missing, reason: "No such file or directory")
    for isNew in [false, true] {
      #expect(throws: failure) { try ReplayFile(path: missing, mustBeNew: isNew) }
      #expect(throws: failure) { try ReplayJournal(path: missing, mustBeNew: isNew) }
    }
    let path = folder.path("there")
    put([], path)
    #expect(throws: ReplayStoreFailure.exists(place: path)) {
      try ReplayFile(path: path, mustBeNew: true)
    }
    #expect(throws: ReplayStoreFailure.exists(place: path)) {
      try ReplayJournal(path: path, mustBeNew: true)
    }
    let made = folder.path("made")
    do { _ = try ReplayFile(path: made, mustBeNew: true) }
    let mode = try FileManager.default.attributesOfItem(atPath: made)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  // MARK: The file system

  @Test("The last change is that of a file or of its log, and 0 without either or without bytes")
  func lastChange() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    #expect(ReplayFile.lastChange(of: path) == 0)
    put([], path)
    #expect(ReplayFile.lastChange(of: path) == 0)
    put([1], path + "-wal")
    let log = ReplayFile.lastChange(of: path)
    #expect(log > 1_700_000_000)
    try FileManager.default.removeItem(atPath: path + "-wal")
    put([1], path)
    #expect(ReplayFile.lastChange(of: path) >= log)
  }

  @Test("A SQLite file is known by its first 16 bytes")
  func isThere() {
    let folder = TestFolder()
    let path = folder.path("file")
    #expect(!ReplayFile.isThere(at: path))
    let magic = Array("SQLite format 3\0".utf8)
    for (bytes, isThere) in [
      ([], false), (Array(magic.dropLast()), false), (magic, true), (magic + [1], true),
      (Array(magic.dropLast()) + [1], false), ([0] + magic, false),
    ] {
      put(bytes, path)
      #expect(ReplayFile.isThere(at: path) == isThere)
    }
  }

  @Test("A rename that fails names the new place, and a file that is missing is removed in silence")
  func renames() throws {
    let folder = TestFolder()
    let (path, other) = (folder.path("one"), folder.path("two"))
    #expect(
      throws: ReplayStoreFailure.unavailable(place: other, reason: "No such file or directory")
    ) { try ReplayFile.rename(path, to: other) }
    put([1], path)
    try ReplayFile.rename(path, to: other)
    #expect(FileManager.default.contents(atPath: other) == Data([1]))
    for _ in 0..<2 { ReplayFile.remove(other) }
    #expect(!FileManager.default.fileExists(atPath: other))
  }

  @Test("The id of the machine's start is the kernel's")
  func bootID() {
    let kernel = FileManager.default.contents(atPath: "/proc/sys/kernel/random/boot_id")
    #expect(ReplayFile.bootID == [UInt8](kernel ?? Data()))
  }
}

/// The file of a journal before its first key, and the slots by their keys.
@Suite struct JournalShapeTests {
  private func open(_ path: String) throws -> ReplayJournal {
    try ReplayJournal(path: path, shape: ReplayJournal.Shape(chunk: 4, most: 64))
  }

  @Test("Bytes of zero are a file that was not finished, up to the size of a new one")
  func zeros() throws {
    let folder = TestFolder()
    let words = "it is another program's file"
    for (count, reason) in [
      (1, words + ", or was cut short"), (16_383, words + ", or was cut short"), (16_384, nil),
      (16_544, nil), (16_545, words),
    ] as [(Int, String?)] {
      let path = folder.path("zeros-\(count)")
      #expect(
        FileManager.default.createFile(
          atPath: path, contents: Data(count: count), attributes: [.posixPermissions: 0o600]))
      do {
        #expect(try open(path).current().slots == 4)
        #expect(reason == nil, "\(count)")
      } catch ReplayStoreFailure.foreign(let place, let found) {
        #expect(place == path && found == reason)
      }
    }
  }

  @Test("A FIFO is no file of a journal")
  func others() throws {
    let folder = TestFolder()
    let path = folder.path("fifo")
    let made = unsafe mkfifo(path, 0o600)
    #expect(made == 0)
    #expect(
      throws: ReplayStoreFailure.foreign(place: path, reason: "it is not a regular file")
    ) { try open(path) }
  }

  @Test("A journal has the sizes of its page: 40 bytes for each of 65,536 to 16 million slots")
  func shape() {
    let shape = ReplayJournal.Shape()
    #expect(shape.chunk == 65_536 && shape.most == 16_777_216)
    #expect(shape.steps == 64 && shape.patience == 5_000)
    #expect(ReplayJournal.slotSize == 40 && ReplayJournal.slotsStart == 16_384)
  }

  @Test("A slot is found in the chain of the bucket that it was put into last, the newest first")
  func index() {
    var index = ReplayJournal.SlotIndex()
    index.grow(to: 40)
    var chains: [[Int]] = Array(repeating: [], count: 5)
    func found(_ bucket: UInt32) -> [Int] {
      var slots: [Int] = []
      var next = index.first(in: bucket)
      while let slot = next, slots.count <= 40 {
        slots.append(slot)
        next = index.next(after: slot)
      }
      return slots
    }
    for step in 0..<400 {
      let (slot, bucket) = (step * 7 % 40, (step * 3 + step / 7) % 5)
      for place in chains.indices { chains[place].removeAll { $0 == slot } }
      chains[bucket].insert(slot, at: 0)
      index.put(slot, in: UInt32(bucket))
      for place in chains.indices { #expect(found(UInt32(place)) == chains[place]) }
    }
    // More slots leave each one in its bucket, and those of another size of the table, too.
    for slots in [40, 39, 64, 65, 129] {
      index.grow(to: slots)
      for place in chains.indices {
        #expect(found(UInt32(place)).sorted() == chains[place].sorted())
      }
    }
    index.put(128, in: 64)
    #expect(found(64) == [128] && found(0).sorted() == chains[0].sorted())
  }

  @Test("A bucket follows from each word of a key, and from nothing else")
  func buckets() {
    let index = ReplayJournal.SlotIndex()
    let first = index.bucket(of: .init(1, 2, 3, 4))
    #expect(index.bucket(of: .init(1, 2, 3, 5)) == first)
    for other in [
      ReplayJournal.Entry(9, 2, 3, 4), .init(1, 9, 3, 4), .init(1, 2, 9, 4), .init(2, 1, 3, 4),
    ] { #expect(index.bucket(of: other) != first) }
  }
}
