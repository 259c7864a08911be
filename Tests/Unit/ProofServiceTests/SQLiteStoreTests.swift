// SPDX-License-Identifier: Apache-2.0

import Foundation
import OwnThreads
import ProofModel
import SeededRandom
import Synchronization
import Testing

@testable import ProofService

@Suite struct SQLiteStoreTests {
  @Test func `everything is there after a restart`() throws {
    let place = Workplace()
    let device = Spender.device(4)
    let use: SaltUse
    do {
      let store = try SQLiteStore(creatingAt: place.path(of: "store"))
      try store.apply([.insert(.api, "a", [1])])
      _ = try store.advance("n", by: 9)
      let sighting = DeviceSighting(over: 0, generation: 2, note: [3])
      use = try Spender(store: store).use(by: device, answer: [8], sighting)
      #expect(try store.use(use) == .used)
    }
    let store = try SQLiteStore(at: place.path(of: "store"))
    #expect(try store.row("a", of: .api) == [1])
    #expect(try store.advance("n", by: 0) == 9)
    #expect(try store.use(use) == .again([8]))
    #expect(try store.device(device)?.generation == 2)
  }

  @Test func `two who have one file open see each other's changes`() throws {
    let place = Workplace()
    let one = try SQLiteStore(creatingAt: place.path(of: "store"))
    let other = try SQLiteStore(at: place.path(of: "store"))
    let revision = try other.revision()
    try one.apply([.insert(.api, "a", [1])])
    #expect(try other.row("a", of: .api) == [1])
    #expect(try other.revision() > revision)
    let use = try Spender(store: one).use(by: Spender.device(1))
    #expect(try other.use(use) == .used)
    #expect(try one.use(use) == .again(use.answer))
  }

  @Test func `as many threads read at a time as there are readers, and all get their turn`() throws
  {
    let place = Workplace()
    let path = place.path(of: "store")
    do { _ = try SQLiteStore(creatingAt: path) }
    let readers = try SQLiteReaders(path: path, patience: 0, count: 3)
    let inside = Mutex((now: 0, most: 0, all: 0))
    onThreads(12) { _ in
      try! readers.lend { connection throws(StoreError) in
        inside.withLock {
          $0.now += 1
          $0.all += 1
          $0.most = max($0.most, $0.now)
        }
        // The first ones leave when every reader is in use.
        waitUntil { inside.withLock { $0.most >= 3 } }
        inside.withLock { $0.now -= 1 }
      }
    }
    #expect(inside.withLock { $0.all } == 12)
    #expect(inside.withLock { $0.most } == 3)
  }

  @Test func `a start checks no more than so much of a store`() throws {
    let place = Workplace()
    let path = place.path(of: "store")
    do {
      let store = try SQLiteStore(creatingAt: path)
      let row = [UInt8](repeating: 1, count: 100_000)
      try store.apply((0..<100).map { .insert(.deviceString, "\($0)", row) })
    }
    // Damage in the last page, far beyond what is checked: no start waits for the way there.
    var bytes = try place.bytes(of: "store")
    #expect(bytes.count > Int(SQLiteStore.checkedPagesMax) * 4_096)
    for index in bytes.count - 4_096..<bytes.count { bytes[index] ^= 0x55 }
    try place.write(bytes, to: "store")
    let store = try SQLiteStore(at: path)
    #expect(try store.rows(of: .api) == [])
    try place.write(Array(bytes.dropLast(4_096)), to: "store")
    #expect(throws: StoreError.self) { try SQLiteStore(at: path) }
  }

  @Test func `a used salt, a registration and a count wait for the disk, dropped marks do not`()
    throws
  {
    let place = Workplace()
    let store = try SQLiteStore(creatingAt: place.path(of: "store"))
    let use = try Spender(store: store).use(
      by: Spender.device(1), DeviceSighting(over: 0, note: []))
    let steps: [(Int, () throws -> Void)] = [
      (1, { _ = try store.use(use) }),
      (1, { try store.apply([.insert(.registration, "app", [])]) }),
      (1, { _ = try store.advance("tokens", by: 1) }),
      (0, { try store.dropMarks(expiredBefore: use.expiry + 60) }),
    ]
    for (index, (expected, step)) in steps.enumerated() {
      let before = store.transactions
      try step()
      #expect(store.transactions.all == before.all + 1, "step \(index)")
      #expect(store.transactions.lasting == before.lasting + expected, "step \(index)")
    }
  }

  @Test func `dropping marks frees their pages and writes none of them`() throws {
    let place = Workplace()
    let path = place.path(of: "store")
    let store = try SQLiteStore(creatingAt: path)
    let spender = Spender(store: store)
    for _ in 0..<200 {
      let use = try spender.use(by: Spender.device(1), answer: [UInt8](repeating: 1, count: 900))
      #expect(try store.use(use) == .used)
    }
    let connection = try SQLiteConnection(path: path, patience: 0)
    try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    let free = try connection.number("PRAGMA freelist_count")
    #expect(try store.dropMarks(expiredBefore: spender.now + 400) == 1)
    #expect(try connection.number("PRAGMA freelist_count") > free + 40)
    #expect(try place.bytes(of: "store-wal").count < 10 * 4_200)
    // Other rows, which may hold addresses, are overwritten when they are deleted.
    let level = try store.writer.run(
      WriteJob(mustLast: false) { (connection) throws(StoreError) in
        .count(UInt64(try connection.number("PRAGMA secure_delete")))
      })
    guard case .count(1) = level else {
      Issue.record("\(level)")
      return
    }
  }

  @Test func `the file is for its owner alone`() throws {
    let place = Workplace()
    let store = try SQLiteStore(creatingAt: place.path(of: "store"))
    try store.apply([.insert(.api, "a", [])])
    for name in ["store", "store-wal", "store-shm"] {
      #expect(try place.mode(of: name) == 0o600, "\(name)")
    }
  }

  @Test func `an empty file that others may read is no place for a store`() throws {
    let place = Workplace()
    try place.write([], to: "store")
    let path = place.path(of: "store")
    unsafe chmod(path, 0o640)
    #expect(throws: StoreError.self) { try SQLiteStore(creatingAt: path) }
    // Foundation loses a page of memory whenever it reads an empty file.
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.size] as? Int == 0)
    unsafe chmod(path, 0o600)
    _ = try SQLiteStore(creatingAt: path)
  }

  @Test func `no store, a foreign file, a newer one and a damaged one are told apart`() throws {
    let place = Workplace()
    let path = place.path(of: "store")
    #expect(throws: StoreError.missing(path: path)) { try SQLiteStore(at: path) }
    try place.write(Array("not a database, but long enough to be looked at".utf8), to: "store")
    #expect(throws: StoreError.foreign(path: path)) { try SQLiteStore(at: path) }
    #expect(throws: StoreError.self) { try SQLiteStore(creatingAt: path) }
    #expect(try place.bytes(of: "store").count == 47)

    let newer = place.path(of: "newer")
    do { _ = try SQLiteStore(creatingAt: newer) }
    do { try SQLiteConnection(path: newer, patience: 0).execute("PRAGMA user_version = 9") }
    #expect(throws: StoreError.tooNew(path: newer, version: 9, known: 3)) {
      try SQLiteStore(at: newer)
    }

    let damaged = place.path(of: "damaged")
    do {
      let store = try SQLiteStore(creatingAt: damaged)
      let row = [UInt8](repeating: 1, count: 1000)
      for index in 0..<100 { try store.apply([.insert(.api, "\(index)", row)]) }
    }
    var bytes = try place.bytes(of: "damaged")
    for index in 8_192..<bytes.count where index % 4_096 < 512 { bytes[index] ^= 0x55 }
    try place.write(bytes, to: "damaged")
    let error = #expect(throws: StoreError.self) { try SQLiteStore(at: damaged) }
    guard case .damaged = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `a file cut at any length is refused or whole, never a crash`() throws {
    let place = Workplace()
    do {
      let store = try SQLiteStore(creatingAt: place.path(of: "store"))
      for index in 0..<20 { try store.apply([.insert(.api, "\(index)", [1, 2, 3])]) }
    }
    let whole = try place.bytes(of: "store")
    for length in stride(from: 0, to: whole.count, by: 1_000) {
      try place.write(Array(whole[..<length]), to: "cut")
      // A cut through the unused end of the last page takes nothing away.
      guard let store = try? SQLiteStore(at: place.path(of: "cut")) else { continue }
      #expect(length > whole.count - 4_096, "\(length)")
      #expect(try store.rows(of: .api).count == 20, "\(length)")
    }
  }

  /// The child uses salts and registers apps from four threads, writes down what was confirmed, and
  /// is killed in the middle of it. Whatever it wrote down must be so afterwards.
  @Test(arguments: 1...8)
  func `killed at any moment: no salt is used twice, nothing confirmed is lost`(
    _ seed: Int
  ) async throws {
    let place = Workplace()
    let path = place.path(of: "store")
    do { _ = try SQLiteStore(creatingAt: path) }
    var generator = SeededGenerator(seed: UInt64(seed))
    let life = Int.random(in: 20...350, using: &generator)
    let log = place.path(of: "log")
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = path as String, log = log as String, life = life as Int, seed = seed as Int] in
      let store = try SQLiteStore(at: path)
      let uses = SeededUses(seed)
      let descriptor = unsafe open(log, O_CREAT | O_WRONLY | O_APPEND, 0o600)
      let done = Atomic(0)
      onThreads(4) { thread in
        for index in stride(from: thread, to: 400, by: 4) {
          let outcome = try! store.use(uses.use(index))
          try! store.apply([.insert(.deviceString, "\(index)", [1])])
          if outcome == .used {
            let line = Array("\(index)\n".utf8)
            precondition(unsafe write(descriptor, line, line.count) == line.count)
          }
          if done.wrappingAdd(1, ordering: .relaxed).newValue == life { kill(getpid(), SIGKILL) }
        }
      }
    }
    let confirmed = String(decoding: try place.bytes(of: "log"), as: UTF8.self)
      .split(separator: "\n").compactMap { Int($0) }
    #expect(confirmed.count >= life - 4, "seed \(seed), life \(life)")
    let store = try SQLiteStore(at: path)
    let uses = SeededUses(seed)
    for index in confirmed {
      var use = uses.use(index)
      #expect(try store.device(use.device)?.note == [UInt8(index % 256)], "seed \(seed), \(index)")
      #expect(try store.row(use.device.description, of: .deviceString) == use.answer)
      #expect(try store.row("\(index)", of: .deviceString) == [1], "seed \(seed), row \(index)")
      use.revision = try store.revision()
      #expect(try store.use(use) == .again(use.answer), "seed \(seed), salt \(index)")
      use.report = Digest(hashing: [2])
      #expect(try store.use(use) == .stale, "seed \(seed), salt \(index)")
    }
    // Salt, device and strings were written in one step, confirmed or not.
    for index in 0..<400 {
      let use = uses.use(index)
      let mark = try store.mark(of: use)
      #expect(try (mark != nil) == (store.device(use.device) != nil), "seed \(seed), \(index)")
      let strings = try store.row(use.device.description, of: .deviceString)
      #expect((mark != nil) == (strings != nil), "seed \(seed), \(index)")
    }
  }

  // MARK: Schema

  /// The schema of version 1, as earlier programs made it.
  private static let schema1 = """
    CREATE TABLE row (tbl INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,
      PRIMARY KEY (tbl, key)) STRICT, WITHOUT ROWID;
    CREATE TABLE counter (name BLOB PRIMARY KEY NOT NULL, value INTEGER NOT NULL)
      STRICT, WITHOUT ROWID;
    CREATE TABLE salt (salt BLOB PRIMARY KEY NOT NULL, expiry INTEGER NOT NULL, note BLOB NOT NULL)
      STRICT, WITHOUT ROWID;
    CREATE TABLE device (device BLOB PRIMARY KEY NOT NULL, first_seen INTEGER NOT NULL,
      last_seen INTEGER NOT NULL, generation INTEGER NOT NULL, note BLOB NOT NULL)
      STRICT, WITHOUT ROWID;
    PRAGMA application_id = 0x50665374;
    PRAGMA user_version = 1;
    """

  private static func columns(_ path: String) throws -> String {
    try SQLiteConnection(path: path, patience: 0).text(
      """
      SELECT group_concat(n || '.' || c || '.' || t || '.' || k || '.' || u, char(10)) FROM
      (SELECT m.name n, i.name c, i.type t, i.pk k, i."notnull" u FROM sqlite_master m
      JOIN pragma_table_info(m.name) i WHERE m.type IN ('table', 'index') ORDER BY 1, i.cid)
      """)
  }

  @Test(arguments: [false, true])
  func `a store of version 1 gets this version's schema, and loses nothing but waiting salts`(
    hasLines: Bool
  ) throws {
    let place = Workplace()
    let path = place.path(of: "store")
    try place.write([], to: "store")
    do {
      let old = try SQLiteConnection(path: path, patience: 0)
      try old.execute("PRAGMA journal_mode = WAL; \(Self.schema1)")
      if hasLines {
        try old.execute(
          """
          CREATE INDEX device_last_seen ON device (last_seen);
          CREATE TABLE gate_line (device BLOB NOT NULL, gate BLOB NOT NULL,
            generation INTEGER NOT NULL, PRIMARY KEY (device, gate)) STRICT, WITHOUT ROWID;
          INSERT INTO gate_line VALUES (x'01', x'02', 6);
          """)
      }
      try old.execute(
        """
        INSERT INTO row VALUES (2, x'61', x'01');
        INSERT INTO counter VALUES (CAST('revision' AS BLOB), 7);
        INSERT INTO device VALUES (x'\(String(repeating: "01", count: 16))', 5, 6, 4, x'09');
        INSERT INTO salt VALUES (x'02', 99, x'');
        """)
    }
    let store = try SQLiteStore(at: path)
    #expect(try store.row("a", of: .api) == [1] && store.revision() == 7)
    let ring = try SQLiteConnection(path: path, patience: 0)
    #expect(
      try ring.number("SELECT count(*) FROM spent_ring WHERE floor = 0 AND last = 0") == 64)
    let row = try #require(try store.device(Spender.device(1)))
    #expect(row.firstSeen == 5 && row.lastSeen == 6 && row.generation == 4 && row.note == [9])
    #expect(row.version == 1)
    #expect(try Spender(store: store).see(Spender.device(1), generation: 5, must: true) == .used)
    let fresh = place.path(of: "fresh")
    do { _ = try SQLiteStore(creatingAt: fresh) }
    #expect(try Self.columns(path) == Self.columns(fresh))
    #expect(try SQLiteConnection(path: path, patience: 0).number("PRAGMA user_version") == 3)
    _ = try SQLiteStore(at: path)
  }

  @Test func `a store of version 2 loses nothing: hours of devices, places of marks`() throws {
    let place = Workplace()
    let path = place.path(of: "store")
    var generator = SeededGenerator(seed: 20)
    // All digits of hexadecimal numbers, in each place.
    let salts =
      try (0..<600).map { number in
        try Salt((0..<16).map { UInt8(truncatingIfNeeded: number * 17 + $0 * 29 + 1) })
      } + (0..<400).map { _ in .random(using: &generator) }
    do {
      let store = try SQLiteStore(creatingAt: path)
      for number in 1...9 as ClosedRange<UInt8> {
        #expect(
          try Self.see(Spender.device(number), at: UnixTime(clamping: 1_000 * Int(number)), store)
            == .used)
      }
      for (number, salt) in salts.enumerated() {
        #expect(try store.use(Self.use(of: salt, number, store)) == .used)
      }
    }
    do {
      let old = try SQLiteConnection(path: path, patience: 0)
      try old.execute(
        """
        DROP INDEX device_seen_hour; ALTER TABLE device DROP COLUMN seen_hour;
        CREATE INDEX device_last_seen ON device (last_seen); PRAGMA user_version = 2;
        """)
      for slot in 0..<SpentRing.slotCount {
        try old.execute(
          """
          ALTER TABLE spent_\(slot) RENAME TO x;
          CREATE TABLE spent_\(slot) (device BLOB NOT NULL, salt BLOB NOT NULL,
            report BLOB NOT NULL, answer BLOB NOT NULL, UNIQUE (device, salt)) STRICT;
          INSERT INTO spent_\(slot) SELECT device, salt, report, answer FROM x; DROP TABLE x;
          """)
      }
    }
    let store = try SQLiteStore(at: path)
    for (number, salt) in salts.enumerated() {
      let use = try Self.use(of: salt, number, store)
      #expect(try store.mark(of: use)?.report == use.report)
      #expect(try store.use(use) == .again([UInt8(number % 251)]))
    }
    let fresh = place.path(of: "fresh")
    do { _ = try SQLiteStore(creatingAt: fresh) }
    #expect(try Self.columns(path) == Self.columns(fresh))
    #expect(try Self.strayHours(path) == 0)
    #expect(try store.devices(latest: 3).map(\.lastSeen) == [9_000, 8_000, 7_000])
    #expect(try store.dropDevices(lastSeenBefore: 3_500, atMost: 9) == 3)
    #expect(try store.devices(latest: 9).map(\.lastSeen).last == 4_000)
  }

  private static func use(of salt: Salt, _ number: Int, _ store: any Store) throws -> SaltUse {
    SaltUse(
      of: salt, by: Spender.device(UInt8(number % 9 + 1)), expiring: 1_000 + Int64(number), at: 900,
      report: Digest(hashing: [UInt8(number % 256)]), answer: [UInt8(number % 251)],
      revision: try store.revision())
  }

  private static func see(
    _ device: InstanceID, at time: UnixTime, _ store: any Store
  ) throws -> SaltOutcome {
    let version = try store.device(device)?.version ?? 0
    return try store.use(
      SaltUse(
        of: .random(), by: device, expiring: time + 300, at: time, report: Digest(hashing: [1]),
        answer: [1], revision: try store.revision(),
        sighting: DeviceSighting(over: version, note: [])))
  }

  /// The count of devices whose hour is not that of their last sighting.
  private static func strayHours(_ path: String) throws -> Int64 {
    try SQLiteConnection(path: path, patience: 0).number(
      "SELECT count(*) FROM device WHERE seen_hour <> last_seen / 3600")
  }

  @Test func `a device has the hour of its last sighting, whichever way the clock goes`() throws {
    let place = Workplace()
    let path = place.path(of: "store")
    let store = try SQLiteStore(creatingAt: path)
    for time in [7_199, 7_200, 7_201, 10_799, 10_800, 3_600, 10_801, 100_000, 7_200] as [UnixTime] {
      #expect(try Self.see(Spender.device(1), at: time, store) == .used)
      #expect(try Self.strayHours(path) == 0, "\(time)")
    }
    #expect(try store.device(Spender.device(1))?.lastSeen == 100_000)
    #expect(try store.device(Spender.device(1))?.version == 9)
  }

  @Test func `a step to a newer schema that fails leaves the store as it was`() throws {
    let place = Workplace()
    let path = place.path(of: "store")
    try place.write([], to: "store")
    let old = try SQLiteConnection(path: path, patience: 0)
    try old.execute("PRAGMA journal_mode = WAL; \(Self.schema1) CREATE TABLE spent_63 (x);")
    #expect(throws: StoreError.self) { try SQLiteStore(at: path) }
    #expect(try old.number("PRAGMA user_version") == 1)
    #expect(try old.number("SELECT count(*) FROM sqlite_master WHERE name GLOB 'spent_*'") == 1)
    try old.execute("DROP TABLE spent_63")
    _ = try SQLiteStore(at: path)
  }
}

/// Uses of 400 salts that two processes draw alike. Each is of a device of its own.
struct SeededUses {
  private let salts: [Salt]

  init(_ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    salts = (0..<400).map { _ in Salt.random(using: &generator) }
  }

  func use(_ index: Int) -> SaltUse {
    let number = [UInt8(index / 256), UInt8(index % 256)]
    let device = try! InstanceID([UInt8](repeating: 1, count: 14) + number)
    let answer = [UInt8](repeating: UInt8(index % 256), count: 900)
    return SaltUse(
      of: salts[index], by: device, expiring: 4_000_000_000, at: 1, report: Digest(hashing: [1]),
      answer: answer, revision: 0,
      sighting: DeviceSighting(over: 0, note: [UInt8(index % 256)], strings: .put(answer)))
  }
}
