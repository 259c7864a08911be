// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import FolderModel
import Foundation
import OpenFiles
import ProofModel
import Synchronization
import Testing

@testable import ProofBackend

/// A folder that counts the files that are open. Each call can fail.
private final class CountingFolder: FolderAccess {
  let open = Mutex(0)
  private let model: ModelFolder

  init(_ model: ModelFolder) { self.model = model }

  var path: String { model.path }

  func read(_ name: String, limit: Int) throws(FileFailure) -> [UInt8]? {
    try model.read(name, limit: limit)
  }

  func read(_ name: String, from offset: Int, limit: Int) throws(FileFailure) -> [UInt8]? {
    try model.read(name, from: offset, limit: limit)
  }

  func create(_ name: String) throws(FileFailure) -> OpenFile {
    let file = try model.create(name)
    open.withLock { $0 += 1 }
    return file
  }

  func openAtEnd(_ name: String) throws(FileFailure) -> OpenFile {
    let file = try model.openAtEnd(name)
    open.withLock { $0 += 1 }
    return file
  }

  func write(_ bytes: ArraySlice<UInt8>, to file: OpenFile) throws(FileFailure) -> Int {
    try model.write(bytes, to: file)
  }

  func synchronize(_ file: OpenFile) throws(FileFailure) { try model.synchronize(file) }

  func close(_ file: OpenFile) {
    model.close(file)
    open.withLock { $0 -= 1 }
  }

  func rename(_ name: String, to other: String) throws(FileFailure) {
    try model.rename(name, to: other)
  }

  func remove(_ name: String) throws(FileFailure) { try model.remove(name) }
  func exists(_ name: String) throws(FileFailure) -> Bool { try model.exists(name) }
  func synchronizeFolder() throws(FileFailure) { try model.synchronizeFolder() }
}

/// The files that stores and ledgers have open or mapped: those in use, and none after a refusal or
/// after the last use.
@Suite struct OpenFileTests {
  private static let now: UnixTime = 1_800_000_000
  private let folder = TestFolder()

  /// The folder's files that this process has open, each as often as it is open.
  private func open() throws -> [String] { try openFiles(in: folder.path("")) }

  /// How many of the folder's files this process has mapped.
  private func mappings() throws -> Int {
    let maps = try Data(contentsOf: URL(filePath: "/proc/self/maps"))
    return String(decoding: maps, as: UTF8.self).split(separator: "\n")
      .count { $0.contains(folder.path("")) }
  }

  private func expectNone(_ words: String) throws {
    #expect(try open() == [], "\(words)")
    #expect(try mappings() == 0, "\(words)")
  }

  private func put(_ bytes: [UInt8], _ path: String, mode: Int = 0o600) {
    #expect(
      FileManager.default.createFile(
        atPath: path, contents: Data(bytes), attributes: [.posixPermissions: mode]))
  }

  // MARK: Journals

  @Test("A journal's file is open once and mapped once until its store is let go")
  func journal() throws {
    let path = folder.path("replay")
    do {
      let store = try JournalReplayStore(at: path)
      #expect(try store.insert(.numbered(1), until: Self.now + 9, at: Self.now))
      #expect(try open() == [path] && mappings() == 1)
    }
    try expectNone("let go")
    do { _ = try JournalReplayStore(provisioning: folder.path("new")) }
    try expectNone("made")
  }

  @Test("A journal that is refused leaves no file open or mapped")
  func refusedJournals() throws {
    func refuse(_ path: String, isNew: Bool = false) throws {
      #expect(throws: ReplayStoreFailure.self, "\(path)") {
        try ReplayJournal(path: path, mustBeNew: isNew)
      }
      try expectNone(path)
    }
    let whole = folder.path("whole")
    do { _ = try ReplayJournal(path: whole) }
    try refuse(whole, isNew: true)
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: whole)))
    var head = bytes
    head[24] ^= 1
    for (name, bytes, mode) in [
      ("other", [UInt8](repeating: 7, count: 40_000), 0o600), ("short", [1, 2, 3], 0o600),
      ("shared", [], 0o644), ("head", head, 0o600), ("cut", Array(bytes.prefix(20_000)), 0o600),
    ] as [(String, [UInt8], Int)] {
      put(bytes, folder.path(name), mode: mode)
      try refuse(folder.path(name))
    }
    let made = unsafe mkfifo(folder.path("fifo"), 0o600)
    #expect(made == 0)
    try refuse(folder.path("fifo"))
  }

  @Test("A journal that another process holds is not open after the wait for it")
  func held() throws {
    let path = folder.path("replay")
    let shape = ReplayJournal.Shape(chunk: 4, most: 8, steps: 2, patience: 1)
    do { _ = try ReplayJournal(path: path, shape: shape) }
    let holder = try FileHandle(forReadingFrom: URL(filePath: path))
    #expect(flock(holder.fileDescriptor, LOCK_EX) == 0)
    #expect(throws: ReplayStoreFailure.self) { try ReplayJournal(path: path, shape: shape) }
    #expect(try open() == [path] && mappings() == 0, "the holder's own")
    try holder.close()
    try expectNone("let go")
  }

  // MARK: SQLite

  @Test("A SQLite file is open while its store is used, and not after it was let go")
  func sqlite() throws {
    let path = folder.path("events")
    do {
      let store = try SQLiteReplayStore(at: path)
      #expect(try store.insert(.numbered(1), until: Self.now + 9, at: Self.now))
      #expect(try open().contains(path))
    }
    try expectNone("let go")
    do { _ = try SQLiteReplayStore(provisioning: folder.path("new")) }
    try expectNone("made")
    // Its used keys go into a journal, and the SQLite file is not needed any more.
    do {
      let store = try JournalReplayStore(at: path)
      #expect(try !store.insert(.numbered(1), until: Self.now + 9, at: Self.now))
      #expect(try open().count == 1)
    }
    try expectNone("taken over")
  }

  @Test("A SQLite file that is refused or looked at is not left open")
  func refusedFiles() throws {
    let whole = folder.path("whole")
    do { _ = try ReplayFile(path: whole) }
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: whole)))
    func refuse(
      _ path: String, in form: ReplayFile.Form = .own, isNew: Bool = false
    ) throws {
      #expect(throws: ReplayStoreFailure.self, "\(path)") {
        try ReplayFile(path: path, in: form, mustBeNew: isNew)
      }
      try expectNone(path)
    }
    try refuse(whole, isNew: true)
    try refuse(whole, in: .guest(1))
    try refuse(folder.path("none"), in: .guest(1))
    for place in [63, 71] {
      var other = bytes
      other[place] += 1
      put(other, folder.path("other-\(place)"))
      try refuse(folder.path("other-\(place)"))
    }
    put([UInt8](repeating: 7, count: 4_096), folder.path("text"))
    try refuse(folder.path("text"))
    put([], folder.path("shared"), mode: 0o644)
    try refuse(folder.path("shared"))
    #expect(ReplayFile.isThere(at: whole) && !ReplayFile.isThere(at: folder.path("text")))
    try expectNone("looked at")
  }

  @Test("The kernel's id of the machine's start is read from a file that is closed")
  func bootID() async {
    // In a process of its own, where no other test opens a file.
    await #expect(processExitsWith: .success) {
      _ = ReplayFile.bootID
      let before = try openFiles()
      for _ in 0..<3 { #expect(!ReplayFile.bootID.isEmpty) }
      #expect(try openFiles() == before)
    }
  }

  // MARK: Ledgers

  private static func pair(_ number: UInt8) throws -> IssuePair {
    try IssuePair(
      InstanceID([UInt8](repeating: number, count: 16)),
      at: HardwareID([UInt8](repeating: 8, count: 16)))
  }

  @Test("A ledger has its folder open, and its files and its lock within one step alone")
  func ledger() throws {
    let place = folder.path("ledger")
    do {
      let ledger = try IssueLedgerFile(folder: place)
      for number: UInt8 in 1...3 {
        try ledger.noteIssue(of: 1, base: 1, to: Self.pair(number), by: .one, at: 5)
        #expect(try open() == [place])
      }
      try ledger.noteIssue(of: 1, base: 1, to: Self.pair(4), by: .two, at: 5)
      #expect(throws: BackendError.self) {
        try ledger.noteIssue(of: 1, base: 1, to: Self.pair(5), by: .one, at: 5)
      }
      #expect(try ledger.notes().count == 4)
      #expect(try open() == [place])
    }
    try expectNone("let go")
  }

  @Test("A ledger closes each file that it opened, whichever call fails")
  func failing() throws {
    var calls = 0
    for failing in 0... {
      let model = ModelFolder(.init(failing: (failing, EIO)))
      let folder = CountingFolder(model)
      let ledger = try? IssueLedgerFile(folder)
      for number: UInt8 in 1...2 {
        _ = try? ledger?.noteIssue(of: 1, base: 1, to: Self.pair(number), by: .one, at: 5)
      }
      #expect(folder.open.withLock { $0 } == 0, "call \(failing)")
      calls = model.callCount
      if failing > calls { break }
    }
    #expect(calls > 10)
  }
}
