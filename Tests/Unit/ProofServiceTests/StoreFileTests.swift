// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import OpenFiles
import OwnThreads
import ProofModel
import Synchronization
import Testing

@testable import ProofService

/// The file of a store: its errors by their kind, its mode, its readers, and jobs that share a transaction.
@Suite struct StoreFileTests {
  private let place = Workplace()
  private var path: String { place.path(of: "store") }

  private func connection() throws -> SQLiteConnection {
    if SQLiteFile.size(of: path) == nil { _ = try SQLiteStore(creatingAt: path) }
    return try SQLiteConnection(path: path, patience: 0)
  }

  @Test func `each failure of SQLite is an error of its kind`() throws {
    #expect(throws: StoreError.failed(path: path, detail: "unable to open database file")) {
      try SQLiteConnection(path: path, patience: 0)
    }
    let (one, other) = (try connection(), try connection())
    #expect(throws: StoreError.failed(path: path, detail: "SQL logic error")) {
      try one.execute("nonsense")
    }
    for body in [
      { _ = try one.number("SELECT 1 WHERE 0") }, { _ = try one.text("SELECT 'a' WHERE 0") },
      { _ = try one.text("SELECT NULL") }, { _ = try one.number("nonsense") },
      { try one.query("nonsense") },
    ] as [() throws -> Void] { #expect(throws: StoreError.self) { try body() } }
    #expect(try one.number("SELECT 7") == 7 && one.text("SELECT 'a'") == "a")
    try one.execute("BEGIN IMMEDIATE")
    #expect(one.isInTransaction && !other.isInTransaction)
    #expect(throws: StoreError.busy(path: path)) { try other.run(.begin) }
    try one.execute("ROLLBACK")
    #expect(!one.isInTransaction)
    try one.execute("CREATE TABLE big (a BLOB); PRAGMA max_page_count = 1")
    #expect(throws: StoreError.full(path: path)) {
      while true { try one.execute("INSERT INTO big VALUES (randomblob(100000))") }
    }
    try place.write(Array(repeating: 0x41, count: 4_096), to: "foreign")
    let foreign = try SQLiteConnection(path: place.path(of: "foreign"), patience: 0)
    #expect(throws: StoreError.foreign(path: foreign.path)) {
      try foreign.number("PRAGMA user_version")
    }
  }

  @Test func `values come back as they were bound, and a statement tells the rows it changed`()
    throws
  {
    let connection = try connection()
    let key = SQLiteValue.bytes([0x61])
    for value in [[], [0], [UInt8](0...255)] as [[UInt8]] {
      #expect(try connection.run(.putRow, [.integer(2), key, .bytes(value)]) == 1)
      var read: [[UInt8]] = []
      try connection.run(.row, [.integer(2), key]) { read.append($0.bytes(0)) }
      #expect(read == [value])
    }
    #expect(try connection.run(.insertRow, [.integer(2), key, .bytes([])]) == 0)
    #expect(try connection.run(.removeRow, [.integer(2), key]) == 1)
    #expect(try connection.run(.removeRow, [.integer(2), key]) == 0)
    var numbers: [Int64] = []
    for number in [0, -1, .max, .min] as [Int64] {
      try connection.query("SELECT ?", [.integer(number)]) { numbers.append($0.integer(0)) }
    }
    #expect(numbers == [0, -1, .max, .min])
  }

  @Test func `a file is for one user alone if no bit lets another one in`() throws {
    try place.write([], to: "store")
    for bit in 0..<9 as Range<mode_t> {
      let mode: mode_t = 0o600 | 1 << bit
      #expect(unsafe chmod(path, mode) == 0)
      #expect(SQLiteFile.isPrivate(path) == (bit > 5), "\(String(mode, radix: 8))")
    }
    #expect(!SQLiteFile.isPrivate(place.path(of: "none")))
    #expect(SQLiteFile.size(of: path) == 0 && SQLiteFile.size(of: place.path(of: "none")) == nil)
  }

  @Test func `a file is made once, for its owner, in a folder that is there`() throws {
    try SQLiteFile.make(path)
    #expect(try place.mode(of: "store") == 0o600 && SQLiteFile.size(of: path) == 0)
    #expect(throws: StoreError.failed(path: path, detail: "File exists")) {
      try SQLiteFile.make(path)
    }
    let lost = place.path(of: "none/store")
    #expect(throws: StoreError.failed(path: lost, detail: "No such file or directory")) {
      try SQLiteFile.make(lost)
    }
    try place.write([1], to: "store")
    #expect(throws: StoreError.failed(path: path, detail: "File exists")) {
      try SQLiteStore(creatingAt: path)
    }
    for end in ["-journal", "-wal", "-shm"] { try place.write([1], to: "store\(end)") }
    SQLiteFile.remove(path)
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.path).isEmpty)
  }

  /// The open files of the folder, each as often as it is open.
  private func open() throws -> [String] { try openFiles(in: place.path) }

  @Test func `no file stays open after it was made or named, and none after its store`() throws {
    try SQLiteFile.make(path)
    #expect(try open() == [])
    try SQLiteFile.name(path, place.path(of: "named"))
    #expect(try open() == [])
    do {
      let store = try SQLiteStore(creatingAt: path)
      try store.apply([.put(.api, "a", [1])])
      #expect(try !open().isEmpty)
    }
    #expect(try open() == [])
    #expect(throws: StoreError.foreign(path: place.path(of: "named"))) {
      try SQLiteStore(at: place.path(of: "named"))
    }
    #expect(try open() == [])
  }

  @Test func `a connection that is let go leaves its file alone, whatever it ran`() throws {
    try SQLiteFile.make(path)
    let files = { try FileManager.default.contentsOfDirectory(atPath: place.path).sorted() }
    do {
      let connection = try SQLiteConnection(path: path, patience: 0)
      #expect(try connection.text("PRAGMA journal_mode = WAL") == "wal")
      try connection.execute("CREATE TABLE t (a INTEGER)")
      for number in 1...2 {
        try connection.run(.begin)
        try connection.query("INSERT INTO t VALUES (?)", [.integer(Int64(number))])
        try connection.execute("COMMIT")
      }
      #expect(try files() == ["store", "store-shm", "store-wal"])
      #expect(try connection.number("SELECT sum(a) FROM t") == 3)
    }
    // SQLite closes no connection whose statements are left, and tidies up when the last one closes.
    #expect(try files() == ["store"])
  }

  @Test func `readers are as many as processors, from two to eight, and outlive an error`() throws {
    let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))
    #expect(SQLiteReaders.count == min(max(processors, 2), 8))
    _ = try connection()
    let readers = try SQLiteReaders(path: path, patience: 0, count: 2)
    for _ in 0..<5 {
      #expect(throws: StoreError.missing(path: "x")) {
        try readers.lend { _ throws(StoreError) -> Int in throw .missing(path: "x") }
      }
    }
    // Each connection can be lent while the other one is in use.
    let number = try readers.lend { one throws(StoreError) in
      try readers.lend { other throws(StoreError) in
        #expect(one !== other)
        return try other.number("SELECT 5")
      }
    }
    #expect(number == 5)
  }

  @Test func `the connection that writes keeps 8 MiB and overwrites what it deletes`() throws {
    let store = try SQLiteStore(creatingAt: path)
    for (pragma, expected) in [
      ("cache_size", -8_192), ("secure_delete", 1), ("synchronous", 2), ("foreign_keys", 1),
    ] as [(String, Int64)] {
      let result = try store.writer.run(
        WriteJob(mustLast: true) { (connection) throws(StoreError) in
          .count(UInt64(bitPattern: try connection.number("PRAGMA \(pragma)")))
        })
      guard case .count(let found) = result else { continue }
      #expect(Int64(bitPattern: found) == expected, "\(pragma)")
    }
  }

  @Test func `a connection waits as long as it is told, and heeds no schema that was planted`()
    throws
  {
    let store = try SQLiteStore(creatingAt: path)
    let patient = try SQLiteConnection(path: path, patience: 123)
    #expect(try patient.number("PRAGMA busy_timeout") == 123)
    let wait = try store.read { (connection) throws(StoreError) in
      try connection.number("PRAGMA busy_timeout")
    }
    #expect(wait == 5_000)
    let connection = try connection()
    #expect(try connection.number("PRAGMA trusted_schema") == 0)
    try connection.execute("PRAGMA writable_schema = ON")
    #expect(throws: StoreError.self) {
      try connection.execute("UPDATE sqlite_schema SET sql = 'x' WHERE name = 'row'")
    }
  }

  @Test func `a store of this version is opened while another process writes, and not changed`()
    throws
  {
    let other = try connection()
    try other.execute("BEGIN IMMEDIATE")
    let store = try SQLiteStore(at: path, patience: 0)
    #expect(try store.revision() == 0)
    #expect(throws: StoreError.busy(path: path)) { try store.advance("a", by: 1) }
    try other.execute("ROLLBACK")
    #expect(try store.advance("a", by: 1) == 0)
  }

  // MARK: Jobs

  private func raise(
    _ connection: SQLiteConnection, refused error: StoreError? = nil
  ) throws(StoreError) -> WriteJob.Result {
    try connection.run(.advance, [SQLiteStore.revisionName, .integer(1)])
    if let error { throw error }
    return .done
  }

  @Test func `a job that is refused takes back its own changes, and no other job's`() throws {
    let reader = CoreLock(try connection())
    let queue = WriteQueue(try connection())
    let refusals: [StoreError?] = [
      nil, .alreadyThere(table: .api, key: "a"), nil, .changedMeanwhile(table: .api, key: "b"), nil,
    ]
    let told = Mutex<[Int: StoreError]>([:])
    onThreads(refusals.count + 1) { thread in
      if thread == refusals.count {
        // Holds the connection until all the others wait.
        _ = try! queue.run(
          WriteJob(mustLast: true) { _ throws(StoreError) in
            waitUntil { queue.counts.waiting >= refusals.count }
            return .done
          })
        return
      }
      waitUntil { queue.counts.transactions > 0 }
      let job = WriteJob(mustLast: true, mayBeRefused: true) { (connection) throws(StoreError) in
        try raise(connection, refused: refusals[thread])
      }
      do throws(StoreError) { _ = try queue.run(job) } catch {
        told.withLock { $0[thread] = error }
      }
    }
    #expect(queue.counts.transactions == 2)
    #expect(told.withLock { $0 } == [1: refusals[1], 3: refusals[3]])
    let revision = try reader.withLock { (connection) throws(StoreError) in
      try SQLiteStore.counter(SQLiteStore.revisionName, connection)
    }
    #expect(revision == 3)
  }

  @Test func `a failed transaction is rolled back, and the next one is written`() throws {
    let queue = WriteQueue(try connection())
    let reader = try connection()
    let failure = StoreError.failed(path: "", detail: "as the test wants")
    for mayBeRefused in [false, true] {
      let before = try SQLiteStore.counter(SQLiteStore.revisionName, reader)
      #expect(throws: failure) {
        try queue.run(
          WriteJob(mustLast: true, mayBeRefused: mayBeRefused) { (connection) throws(StoreError) in
            try raise(connection, refused: failure)
          })
      }
      #expect(try SQLiteStore.counter(SQLiteStore.revisionName, reader) == before)
      for _ in 0..<2 {
        _ = try queue.run(
          WriteJob(mustLast: true, mayBeRefused: mayBeRefused) { (connection) throws(StoreError) in
            try raise(connection)
          })
      }
      #expect(try SQLiteStore.counter(SQLiteStore.revisionName, reader) == before + 2)
    }
    #expect(queue.counts == (0, 6, 6))
  }

  @Test func `a job without a wait tells its failure and its outcome to its receiver`() throws {
    let store = try SQLiteStore(creatingAt: path)
    let device = Spender.device(1)
    let use = try Spender(store: store).use(by: device, DeviceSighting(over: 0, note: [1]))
    let told = Mutex<[Result<SaltOutcome, StoreError>]>([])
    func spend() throws -> Result<SaltOutcome, StoreError>? {
      let done = DispatchSemaphore(value: 0)
      store.use(use) { outcome in
        told.withLock { $0.append(outcome) }
        done.signal()
      }
      done.wait()
      return told.withLock { $0.last }
    }
    #expect(try spend() == .success(.used))
    #expect(try spend() == .success(.again(use.answer)))
    try SQLiteConnection(path: path, patience: 1_000).execute("DROP TABLE spent_ring")
    guard case .failure(.failed)? = try spend() else {
      Issue.record("\(told.withLock { $0 })")
      return
    }
    #expect(told.withLock { $0.count } == 3)
  }
}
