// SPDX-License-Identifier: Apache-2.0

import AccountStores
import Foundation
import OwnThreads
import PostgresBackend
import PostgresServers
import PostgresStore
import ProofModel
import ProofService
import Synchronization
import Testing

@testable import ProofBackend

/// The properties of every replay store. An implementation of another place adds itself to ``Kind``, or to ``Place`` if
/// it redeems no events.
@Suite struct ReplayStoreTests {
  enum Place: CaseIterable {
    case journal
    case redemptions(Kind)

    static let allCases = [Place.journal] + Kind.allCases.map { .redemptions($0) }

    func make(_ folder: TestFolder) throws -> any ReplayStore {
      switch self {
      case .journal: try JournalReplayStore(at: folder.path("replay"))
      case .redemptions(let kind): try kind.make(folder)
      }
    }
  }

  enum Kind: CaseIterable {
    case memory, sqlite, service, postgres, gate

    /// Those of the service's databases, with several audiences each. PostgreSQL is among them where
    /// Tests/Process/Scale/cluster.sh runs a server.
    static let databases = [Kind.service] + (Server.isThere ? [.postgres, .gate] : [])
    static let lasting = [Kind.sqlite] + databases
    static let allCases = [Kind.memory] + lasting

    func make(_ folder: TestFolder) throws -> any RedemptionStore {
      try make(folder, for: try AudienceID([UInt8](1...16)))
    }

    func make(_ folder: TestFolder, for audience: AudienceID) throws -> any RedemptionStore {
      switch self {
      case .memory: MemoryReplayStore(capacity: 10_000)
      case .sqlite: try SQLiteReplayStore(at: folder.path("replay"))
      case .service: try Self.service(folder, audience)
      case .postgres: try Self.postgres(folder, audience)
      case .gate: try Self.gate(folder, audience)
      }
    }

    /// The part of an audience in the database of a folder.
    private static func postgres(
      _ folder: TestFolder, _ audience: AudienceID
    ) throws -> any RedemptionStore {
      var settings = PostgresAccountStore.Settings()
      settings.patience = 60_000
      return try PostgresAccountStore(
        database(of: folder).options(), creating: "account", settings
      ).redemptions(for: audience)
    }

    /// A place of gates in the database of a folder, with the rights of the role of gates.
    private static func gate(
      _ folder: TestFolder, _ audience: AudienceID
    ) throws -> any RedemptionStore {
      try PostgresReplayStore(
        database(of: folder).options(user: "proof_gate"), ofGates: "\(audience)", patience: 60_000)
    }

    /// The folder's database: a file holds its name.
    static func database(of folder: TestFolder) throws -> Database {
      let path = folder.path("database")
      if let name = try? String(contentsOfFile: path, encoding: .utf8) {
        return Database(server: .main, name: name)
      }
      let database = try Server.main.database()
      try Data(database.name.utf8).write(to: URL(filePath: path))
      return database
    }

    /// The part of an audience in the service's database.
    static func service(
      _ folder: TestFolder, _ audience: AudienceID
    ) throws -> any RedemptionStore {
      let path = folder.path("replay")
      let isThere = FileManager.default.fileExists(atPath: path)
      let store = try isThere ? SQLiteStore(at: path) : SQLiteStore(creatingAt: path)
      return try store.redemptions(for: audience)
    }
  }

  static let now: UnixTime = 1_800_000_000

  @Test(
    "Gates work with schema 8 and ledgers with schema 9; services need their own",
    .enabled(if: Server.isThere))
  func earlierSchemas() throws {
    let database = try Server.main.database()
    let migrator = Migrator(try database.migrator())
    func openLedger() throws {
      let ledger = try PostgresIssueLedger(database.options(), named: "ledger")
      #expect(try ledger.latestTime() == nil)
    }
    for version in [8, 9] {
      try migrator.move(to: version)
      let gate = try PostgresReplayStore(database.options(user: "proof_gate"), ofGates: "front")
      #expect(try gate.insert(.numbered(version), until: Self.now + 150, at: Self.now))
      if version == 8 {
        #expect(throws: BackendError.self) { try openLedger() }
      } else {
        try openLedger()
      }
      let error = #expect(throws: StoreError.self) {
        try PostgresAccountStore(database.options(), creating: "account")
      }
      #expect(try #require(error).description.contains("migrate it"))
    }
  }

  @Test("A key is new once", arguments: Place.allCases)
  func once(_ place: Place) throws {
    let folder = TestFolder()
    let store = try place.make(folder)
    let (one, two) = (try ReplayKey.numbered(1), try ReplayKey.numbered(2))
    #expect(try store.insert(one, until: Self.now + 150, at: Self.now))
    #expect(try !store.insert(one, until: Self.now + 150, at: Self.now))
    #expect(try store.insert(two, until: Self.now + 150, at: Self.now))
    #expect(try !store.insert(one, until: Self.now + 150, at: Self.now + 1))
  }

  @Test("Keys that differ in one byte are two", arguments: Place.allCases)
  func bytes(_ place: Place) throws {
    let folder = TestFolder()
    let store = try place.make(folder)
    let zeros = [UInt8](repeating: 0, count: ReplayKey.byteCount)
    var keys = [try ReplayKey(zeros)]
    for index in zeros.indices {
      var bytes = zeros
      bytes[index] = UInt8(index + 1)
      keys.append(try ReplayKey(bytes))
    }
    for isNew in [true, false] {
      for key in keys {
        #expect(try store.insert(key, until: Self.now + 150, at: Self.now) == isNew, "\(key)")
      }
    }
  }

  @Test(
    "A key is there until the highest time is past its end, and no clock brings it back",
    arguments: Place.allCases)
  func expiry(_ place: Place) throws {
    let folder = TestFolder()
    let store = try place.make(folder)
    let key = try ReplayKey.numbered(1)
    let end = Self.now + 150
    #expect(try store.insert(key, until: end, at: Self.now))
    for number in 2...12 {
      let other = try ReplayKey.numbered(number)
      _ = try store.insert(other, until: end + 500, at: Self.now + UInt64(number) * 10)
      #expect(try !store.insert(key, until: end, at: Self.now + UInt64(number) * 10))
    }
    #expect(try !store.insert(key, until: end, at: end))
    // A clock that was set back forgets nothing.
    #expect(try !store.insert(key, until: end, at: Self.now - 10_000))
    // A clock that was set back finds out nothing about what was forgotten: the verifier's time only rises.
    _ = try store.insert(try .numbered(99), until: end + 900, at: end + 400)
    #expect(try store.insert(key, until: end + 900, at: end + 400))
  }

  @Test("One of many threads that insert a key finds it new", arguments: Place.allCases)
  func race(_ place: Place) throws {
    let folder = TestFolder()
    let store = try place.make(folder)
    let new = Atomic(0)
    let keys = try (0..<50).map { try ReplayKey.numbered($0) }
    onThreads(4) { _ in
      for key in keys where (try? store.insert(key, until: Self.now + 99, at: Self.now)) == true {
        new.add(1, ordering: .relaxed)
      }
    }
    #expect(new.load(ordering: .relaxed) == 50)
  }

  @Test("A judgement is recorded with its key or not at all", arguments: Kind.allCases)
  func judgements(_ kind: Kind) throws {
    let folder = TestFolder()
    let store = try kind.make(folder)
    let (name, key) = (try ReplayKey.numbered(1), try ReplayKey.numbered(2))
    let record = ReplayRecord(name: name, bytes: [1, 2, 3], expiry: Self.now + 86_400)
    #expect(try store.judgement(under: name) == nil)
    #expect(
      try store.record(record, using: key, until: Self.now + 150, at: Self.now) == .recorded)
    #expect(try store.judgement(under: name) == [1, 2, 3])
    #expect(try !store.insert(key, until: Self.now + 150, at: Self.now))
    // The same name again: the old judgement, and the other key is not used.
    let other = try ReplayKey.numbered(3)
    let again = ReplayRecord(name: name, bytes: [9], expiry: Self.now + 86_400)
    #expect(
      try store.record(again, using: other, until: Self.now + 150, at: Self.now)
        == .known([1, 2, 3]))
    #expect(try store.insert(other, until: Self.now + 150, at: Self.now))
    // A used key: nothing is recorded.
    let late = ReplayRecord(name: try .numbered(4), bytes: [9], expiry: Self.now + 86_400)
    #expect(try store.record(late, using: key, until: Self.now + 150, at: Self.now) == .used)
    #expect(try store.judgement(under: late.name) == nil)
    // A judgement that uses no key.
    #expect(try store.record(late, using: nil, until: 0, at: Self.now) == .recorded)
    // It outlives the keys, and ends.
    _ = try store.insert(try .numbered(5), until: Self.now + 90_000, at: Self.now + 80_000)
    #expect(try store.judgement(under: name) == [1, 2, 3])
    _ = try store.insert(try .numbered(6), until: Self.now + 90_000, at: Self.now + 86_500)
    #expect(try store.judgement(under: name) == nil)
    // The key that it used has ended, too.
    #expect(try store.insert(key, until: Self.now + 90_000, at: Self.now + 86_500))
  }

  @Test("A full memory refuses, and forgets nothing")
  func full() throws {
    let store = MemoryReplayStore(capacity: 3)
    for number in 0..<3 {
      #expect(try store.insert(try .numbered(number), until: Self.now + 99, at: Self.now))
    }
    #expect(throws: ReplayStoreFailure.full(entries: 3)) {
      try store.insert(try .numbered(3), until: Self.now + 99, at: Self.now)
    }
    for number in 0..<3 {
      #expect(try !store.insert(try .numbered(number), until: Self.now + 99, at: Self.now))
    }
    #expect(try store.insert(try .numbered(3), until: Self.now + 300, at: Self.now + 200))
  }
}

/// The file of a replay store: restarts, backups, foreign files.
@Suite struct SQLiteReplayStoreTests {
  /// A time in 2096: a file that was changed after the time of its store counts as a backup.
  static let now: UnixTime = 4_000_000_000
  private static let boot: [UInt8] = [1]

  private static func open(
    _ path: String, boot: [UInt8] = boot, systemTime: UnixTime? = nil
  ) throws -> SQLiteReplayStore {
    try SQLiteReplayStore(
      at: path, boot: boot, systemTime: { systemTime?.unsigned ?? ReplayFile.systemTime })
  }

  @Test("A file says whose it is, and of which version")
  func head() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    do { _ = try SQLiteReplayStore(at: path) }
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    // SQLite's header: the user version, and the application's id, "PfRp".
    #expect(Array(bytes[60..<64]) == [0, 0, 0, 1] && Array(bytes[68..<72]) == Array("PfRp".utf8))
  }

  @Test("A key outlives its process, and so does the moment up to which others may be missing")
  func restart() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    do {
      let store = try Self.open(path)
      #expect(try store.begin(at: Self.now).gap == Self.now)
      #expect(try store.insert(try .numbered(1), until: Self.now + 150, at: Self.now))
    }
    // The second start is complete since the first: what was used before that is still unknown.
    let store = try Self.open(path)
    #expect(try store.begin(at: Self.now + 2) == ReplayMemory(highest: Self.now, gap: Self.now))
    #expect(try !store.insert(try .numbered(1), until: Self.now + 150, at: Self.now + 2))
  }

  @Test("The store of a new gate is complete at once, for 60 s, and is made once")
  func provisioning() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    do {
      let made = try SQLiteReplayStore(
        provisioning: path, boot: Self.boot, systemTime: { Self.now.unsigned })
      #expect(try made.begin(at: Self.now) == ReplayMemory(highest: Self.now, gap: nil))
    }
    #expect(throws: ReplayStoreFailure.exists(place: path)) {
      try SQLiteReplayStore(provisioning: path)
    }
    // It believes to have been written in the year 2027: the file's own time is no later.
    let later: (UInt64) throws -> UnixTime? = { seconds in
      try SQLiteReplayStore(at: path, boot: Self.boot, systemTime: { Self.now.unsigned })
        .begin(at: Self.now + seconds).gap
    }
    #expect(try later(0) == nil && later(60) == nil)
    #expect(try later(61) == Self.now + 61)
    #expect(
      try SQLiteReplayStore(at: folder.path("other")).begin(at: Self.now).gap == Self.now)
  }

  @Test("A store that was silent, or whose machine was started anew, is not complete")
  func silence() throws {
    let folder = TestFolder()
    func gap(_ name: String, after seconds: UInt64, boot: [UInt8] = Self.boot) throws -> UnixTime? {
      let path = folder.path(name)
      do { _ = try Self.open(path).insert(.numbered(1), until: Self.now + 150, at: Self.now) }
      return try Self.open(path, boot: boot).begin(at: Self.now + seconds).gap
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
    do { _ = try Self.open(path, systemTime: then).insert(.numbered(1), until: 1, at: Self.now) }
    #expect(try Self.open(path).begin(at: Self.now).gap == Self.now)
    do { _ = try Self.open(path).insert(.numbered(2), until: Self.now + 9, at: Self.now + 1) }
    #expect(try Self.open(path).begin(at: Self.now + 1).gap == Self.now)
    // The same file with the time of an honest write of 100 s ago, copied back now.
    do {
      let store = try Self.open(path, systemTime: then)
      #expect(try store.insert(.numbered(3), until: Self.now + 9, at: Self.now + 2))
    }
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.copyItem(atPath: copy, toPath: path)
    #expect(try Self.open(path).begin(at: Self.now + 2).gap == Self.now + 2)
  }

  @Test("Two processes share one file")
  func shared() throws {
    let folder = TestFolder()
    let one = try Self.open(folder.path("replay"))
    let two = try Self.open(folder.path("replay"))
    #expect(try one.insert(.numbered(1), until: Self.now + 150, at: Self.now))
    #expect(try !two.insert(.numbered(1), until: Self.now + 150, at: Self.now))
    #expect(try two.insert(.numbered(2), until: Self.now + 150, at: Self.now + 20))
    #expect(try !one.insert(.numbered(2), until: Self.now + 150, at: Self.now - 20))
  }

  @Test("A file of another program, or one that others may read, is refused and left alone")
  func foreign() throws {
    let folder = TestFolder()
    let path = folder.path("replay")
    let text = Data("not a database, but long enough to be looked at".utf8)
    #expect(
      FileManager.default.createFile(
        atPath: path, contents: text, attributes: [.posixPermissions: 0o600]))
    #expect(throws: ReplayStoreFailure.self) { try SQLiteReplayStore(at: path) }
    #expect(FileManager.default.contents(atPath: path) == text)
    let open = folder.path("open")
    #expect(
      FileManager.default.createFile(
        atPath: open, contents: Data(), attributes: [.posixPermissions: 0o644]))
    #expect(throws: ReplayStoreFailure.self) { try SQLiteReplayStore(at: open) }
    #expect(throws: ReplayStoreFailure.self) {
      try SQLiteReplayStore(at: folder.path("no such folder/replay"))
    }
    let missing = folder.path("missing")
    let error = #expect(throws: ReplayStoreFailure.self) {
      try ReplayFile(path: missing, in: .guest(1))
    }
    guard case .unavailable(let place, let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(place == missing && reason != missing)
  }
}

/// A folder that goes with the test.
final class TestFolder: Sendable {
  private let url: URL

  init() {
    url = FileManager.default.temporaryDirectory.appendingPathComponent(
      "replay-\(UUID().uuidString)")
    try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}
