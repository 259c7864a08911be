// SPDX-License-Identifier: Apache-2.0

import AccountStores
import PostgresServers
import PostgresStore
import ProofBackend
import ProofModel
import Testing

@testable import ProofService

/// Properties of moves between stores; `Tests/Process/Scale/move_test.py` moves the accounts of services.
@Suite struct StoreMoveTests {
  private let place = Workplace()

  private func file(_ name: String) -> StorePlace { .file(place.path(of: name)) }

  private static func bytes(_ most: Int) -> [UInt8] {
    (0..<Int.random(in: 0...most)).map { _ in .random(in: .min ... .max) }
  }

  /// Random content, more of each kind than a page holds.
  private func fill(_ store: any Store, records: Int = 600) throws {
    let spender = Spender(store: store)
    for number in 0..<records {
      let table = StoreTable.allCases.randomElement()!
      try store.apply([.put(table, "é\(number)\u{0}", Self.bytes(300))])
      _ = try store.advance("count \(number)", by: .random(in: 1...UInt64(Int64.max)))
      let id = try InstanceID((0..<16).map { _ in .random(in: .min ... .max) })
      let gate = try GateID((0..<GateID.byteCount).map { _ in .random(in: .min ... .max) })
      let generation = UInt32.random(in: 1 ... .max)
      for gate in [nil, gate] {
        let outcome = try spender.see(
          id, generation: generation, must: true, gate: gate, note: Self.bytes(40),
          strings: .put(Self.bytes(40)))
        #expect(outcome == .used)
      }
    }
    #expect(try store.dropDevices(lastSeenBefore: .last, atMost: 3) == 3)
  }

  @Test(.enabled(if: Server.isThere))
  func `a file, a database and a file again hold the same bytes`() throws {
    let options = try PostgresOptions(
      settings: Server.main.settings(Server.main.database().name, user: "proof_migrator"))
    let database = StorePlace.database(options, account: nil)
    try fill(SQLiteStore(creatingAt: place.path(of: "first")))
    let places = [file("first"), database, file("last"), file("end")]
    var sums: [MoveSum?] = []
    for (from, to) in zip(places, places.dropFirst()) {
      sums.append(try StoreMove(from: from, to: to).move(("name", [])).sum)
      #expect(try StoreMove(from: from, to: to).move(nil).sum == nil, "it is known")
    }
    let sum = try #require(sums[0])
    #expect(sums == [sum, sum, sum] && sum.counts[2] == 597 && sum.counts[3] == 597)
    #expect(throws: StoreError.self) { try database.open() }
  }

  @Test func `an open store ends at the mark, and serves again when it is taken back`() throws {
    let store = try SQLiteStore(creatingAt: place.path(of: "first"))
    try fill(store, records: 5)
    let use = try Spender(store: store).use(by: Spender.device(1))
    let revision = try store.revision()
    // The target cannot be made, so the move stops behind the mark.
    let move = try StoreMove(from: file("first"), to: file("none/store"))
    #expect(throws: StoreError.self) { try move.move(("name", [])) }
    #expect(throws: StoreError.self) { try store.use(use) }
    #expect(throws: StoreError.self) { try store.revision() }
    #expect(throws: StoreError.self) { try store.advance("a", by: 1) }
    #expect(throws: StoreError.self) { try store.apply([.put(.api, "a", [])]) }
    let error = #expect(throws: StoreError.self) { try file("first").open() }
    #expect(try #require(error).description.contains("was moved to"))
    try move.undo()
    #expect(try store.revision() == revision)
    #expect(try file("first").open().use(use) == .used)
  }

  @Test func `a record that no store takes is told by its fault`() throws {
    let id = MoveValue.bytes([UInt8](repeating: 7, count: 16))
    func device(_ generation: Int64, _ seen: Int64, id: MoveValue = id) -> MoveRecord {
      MoveRecord([id, .number(1), .number(generation), .number(0), .number(seen), .bytes([])])
    }
    func line(_ generation: Int64, of device: MoveValue = id) -> MoveRecord {
      MoveRecord([device, .bytes([1]), .number(generation)])
    }
    let (last, none) = (Int64(UInt32.max), MoveValue.bytes([1]))
    #expect(device(last, Int64(Int32.max)).fault(as: .device) == nil)
    #expect(line(last).fault(as: .gateLine) == nil)
    for generation in [-1, last + 1] {
      #expect(device(generation, 0).fault(as: .device) == "a generation that is none")
      #expect(line(generation).fault(as: .gateLine) == "a generation that is none")
    }
    let late = device(1, Int64(Int32.max) + 1)
    #expect(late.fault(as: .device) == "a device with a time beyond 2038")
    #expect(device(1, 0, id: none).fault(as: .device) == "a device that is none")
    #expect(line(1, of: none).fault(as: .gateLine) == "a line of a device that is none")
    let row = MoveRecord([.number(255), .bytes([]), .bytes([])])
    #expect(
      row.fault(as: .row) == "a row of table 255, which this program does not know")
  }

  @Test func `a target with a file is refused before the source is marked`() throws {
    let store = try SQLiteStore(creatingAt: place.path(of: "first"))
    try place.write([1], to: "last")
    let move = try StoreMove(from: file("first"), to: file("last"))
    #expect(throws: StoreError.self) { try move.move(("name", [])) }
    #expect(try !move.isBegun() && store.revision() == 0)
    #expect(try place.bytes(of: "last") == [1])
  }

  @Test func `a move that is finished is not taken back, and names where the account is`() throws {
    let store = try SQLiteStore(creatingAt: place.path(of: "first"))
    try fill(store, records: 5)
    let move = try StoreMove(from: file("first"), to: file("last"))
    let none = #expect(throws: StoreError.self) { try move.undo() }
    #expect(try #require(none).description.contains("it has no mark of a move"))
    #expect(try !move.isBegun())
    #expect(throws: StoreError.busy(path: place.path(of: "first"))) { try move.move(nil) }
    let moved = try move.move(("name", []))
    #expect(try moved.name == "name" && move.isBegun())
    let error = #expect(throws: StoreError.self) { try move.undo() }
    #expect(try #require(error).description.contains("its account is at \(place.path(of: "last"))"))
    #expect(try move.isBegun())
    #expect(throws: StoreError.self) { try store.revision() }
    // Another target is told where the account went.
    let other = try StoreMove(from: file("first"), to: file("other"))
    for body in [{ _ = try other.move(nil) }, { try other.undo() }] as [() throws -> Void] {
      let error = #expect(throws: StoreError.self) { try body() }
      #expect(try #require(error).description.contains(place.path(of: "last")))
    }
    #expect(throws: StoreError.self) { try file("other").open() }
    _ = try file("last").open()
  }

  @Test func `a sum counts each kind and each table, and its digest each byte in order`() throws {
    func row(_ table: StoreTable, _ key: UInt8) -> MoveRecord {
      MoveRecord([.number(Int64(table.rawValue)), .bytes([key]), .bytes([])])
    }
    let counter = MoveRecord([.bytes([1]), .number(7)])
    var sum = MoveSum()
    sum.add([], of: .row)
    #expect(sum == MoveSum() && sum.digest == [])
    sum.add([row(.api, 1), row(.api, 2), row(.pin, 1)], of: .row)
    sum.add([counter], of: .counter)
    #expect(sum.counts == [3, 1, 0, 0] && sum.rows == [.api: 2, .pin: 1])
    #expect(sum.digest.count == 32)
    var parts = MoveSum()
    for record in [row(.api, 1), row(.api, 2), row(.pin, 1)] { parts.add([record], of: .row) }
    parts.add([counter], of: .counter)
    #expect(parts == sum, "pages may have any size")
    var other = MoveSum()
    other.add([row(.api, 2), row(.api, 1), row(.pin, 1)], of: .row)
    other.add([counter], of: .counter)
    #expect(other.counts == sum.counts && other.digest != sum.digest)
    #expect(
      MoveRecord([.number(-2), .bytes([5, 6])]).encoded
        == [0, 0xFE] + [UInt8](repeating: 0xFF, count: 7) + [1, 2, 0, 0, 0, 0, 0, 0, 0, 5, 6])
    #expect(MoveKind.allCases.map(\.table) == ["row", "counter", "device", "gate_line"])
    #expect(MoveKind.allCases.map(\.keyCount) == [2, 1, 1, 2])
    #expect(
      MoveKind.allCases.map { $0.columns.map(\.name).joined(separator: " ") } == [
        "tbl key value", "name value",
        "device version generation first_seen last_seen note", "device gate generation",
      ])
    #expect(
      MoveKind.allCases.map { $0.columns.map { $0.isNumber ? 1 : 0 } } == [
        [1, 0, 0], [0, 1], [0, 1, 1, 1, 1, 0], [0, 0, 1],
      ])
    #expect(counter.bytes(1) == [] && counter.number(0) == 0 && counter.number(1) == 7)
  }

  @Test func `a moved account has another document of its salts' keys, and no other change`() throws
  {
    func row(_ table: StoreTable, _ key: String) -> MoveRecord {
      MoveRecord([.number(Int64(table.rawValue)), .bytes(Array(key.utf8)), .bytes([1])])
    }
    let records = [
      row(.account, "saltKey"), row(.account, "secret"), row(.api, "saltKey"),
      row(.account, "saltKey2"),
    ]
    let moved = records.with(salts: [7, 8])
    #expect(moved[0].bytes(2) == [7, 8] && moved[0].bytes(1) == records[0].bytes(1))
    #expect(Array(moved[1...]) == Array(records[1...]))
  }

  @Test(.enabled(if: Server.isThere))
  func
    `a mark in a database forgets used event tokens: an account that returns does not claim them`()
    throws
  {
    let database = try Server.main.database()
    let store = try PostgresAccountStore(database.options(), creating: "name")
    let audience = try AudienceID([UInt8](1...16))
    let now: UnixTime = 1_800_000_000
    let used = try store.redemptions(for: audience)
    _ = try used.begin(at: now)
    #expect(try used.insert(ReplayKey([UInt8](1...24)), until: now + 150, at: now))
    let owner = try PostgresOptions(
      settings: Server.main.settings(database.name, user: "proof_migrator"))
    let move = try StoreMove(from: .database(owner, account: nil), to: file("none/store"))
    #expect(throws: StoreError.self) { try move.move(("name", [])) }
    try move.undo()
    let again = try PostgresAccountStore(database.options(), opening: "name")
      .redemptions(for: audience)
    #expect(try again.begin(at: now + 10) == ReplayMemory(highest: 0, gap: now + 10))
  }

  // MARK: Accounts of a database

  private func owner(_ database: Database) throws -> PostgresOptions {
    try PostgresOptions(settings: Server.main.settings(database.name, user: "proof_migrator"))
  }

  private func refused(_ place: String, _ detail: String, _ body: () throws -> Void) {
    #expect(throws: StoreError.database(place, detail: detail)) { try body() }
  }

  @Test(.enabled(if: Server.isThere))
  func `one of several accounts leaves a database by its name, and the others stay`() throws {
    let database = try Server.main.database()
    let options = try owner(database)
    let there = options.description
    func move(_ name: String?) throws -> StoreMove {
      try StoreMove(from: .database(options, account: name), to: file("last"))
    }
    for name in [nil, "one"] {
      refused(there, "it has no such account") { _ = try move(name) }
    }
    #expect(
      throws: StoreError.database(
        try database.options().description,
        detail: "it has no account; make one with “proofctl init”")
    ) { try PostgresAccountStore(database.options(), opening: nil) }
    let stores = try ["one", "two"].map {
      try PostgresAccountStore(database.options(), creating: $0)
    }
    for (number, store) in stores.enumerated() {
      try store.apply([.put(.api, "a", [UInt8(number)])])
      #expect(try Spender(store: store).see(Spender.device(UInt8(number + 1))) == .used)
    }
    refused(there, "it has several accounts; name one: account=NAME") { _ = try move(nil) }
    refused(there, "it has no such account") { _ = try move("three") }
    refused(there, "it has no mark of a move; nothing was changed") { try move("two").undo() }
    #expect(try move("two").move(("two", [])).name == "two")
    let last = try SQLiteStore(at: place.path(of: "last"))
    #expect(try last.row("a", of: .api) == [1] && last.devices(latest: 9).count == 1)
    #expect(try last.device(Spender.device(2)) != nil && last.revision() == 1)
    #expect(try stores[0].row("a", of: .api) == [0] && stores[0].counts().devices == 1)
    #expect(throws: StoreError.self) { try stores[1].revision() }
    refused(
      there,
      "its account is at \(place.path(of: "last")); move it from there to a place that is empty"
    ) { try move("two").undo() }
    #expect(
      throws: StoreError.moved(
        path: try database.options().description,
        to: "another store, as its owner told “proofctl”")
    ) { try PostgresAccountStore(database.options(), opening: "two") }
    #expect(try PostgresAccountStore(database.options(), opening: "one").revision() == 1)
  }

  @Test(.enabled(if: Server.isThere))
  func `an account with rows that no program moves is not marked`() throws {
    let database = try Server.main.database()
    let store = try PostgresAccountStore(database.options(), creating: "one")
    let options = try owner(database)
    for (table, columns) in [
      ("issue", "'\\x01', '\\x02', 1, 0"), ("event_count", "'\\x01', 1, 1"),
    ] {
      try database.superuser().execute("INSERT INTO pf.\(table) VALUES (1, \(columns))")
      let move = try StoreMove(from: .database(options, account: nil), to: file("last"))
      refused(options.description, "the account has a ledger that this program cannot move") {
        _ = try move.move(("one", []))
      }
      // Nothing is held: the account serves, and changes.
      try store.apply([.put(.api, table, [1])])
      #expect(try !move.isBegun() && store.row(table, of: .api) == [1])
      try database.superuser().execute("DELETE FROM pf.\(table)")
    }
    let owner = try database.superuser()
    try owner.execute("UPDATE pf.schema SET version = 9")
    refused(
      options.description,
      "the database is not as this program needs it: the schema has version 9, this program needs 10;"
        + " migrate it"
    ) { _ = try StoreMove(from: .database(options, account: "one"), to: file("last")) }
    try owner.execute("UPDATE pf.schema SET version = 11")
    let move = try StoreMove(from: .database(options, account: "one"), to: file("last"))
    #expect(try move.move(("one", [])).sum != nil)
  }

  @Test(.enabled(if: Server.isThere))
  func `an account enters a database beside others, and never over one of its name`() throws {
    let database = try Server.main.database()
    let other = try PostgresAccountStore(database.options(), creating: "other")
    try other.apply([.put(.api, "o", [9])])
    let options = try owner(database)
    try fill(SQLiteStore(creatingAt: place.path(of: "first")), records: 5)
    let named = try StoreMove(from: file("first"), to: .database(options, account: nil))
    refused(
      options.description,
      "it has an account “other”; an account moves to a place without it"
    ) { _ = try named.move(("other", [])) }
    #expect(try !named.isBegun())
    #expect(try named.move(("mine", [])).sum?.counts[2] == 2)
    let mine = try PostgresAccountStore(database.options(), opening: "mine")
    let first = try PostgresAccountStore(database.options(), opening: "other")
    #expect(try mine.counts().devices == 2 && first.counts().devices == 0)
    #expect(try first.row("o", of: .api) == [9] && mine.row("o", of: .api) == nil)
    let owner = try database.superuser()
    #expect(
      try owner.number("SELECT count(*) FROM pf.device WHERE seen_day = last_seen / 86400") == 2)
    #expect(try owner.number("SELECT count(*) FROM pf.account") == 2)
    #expect(try named.move(nil).sum == nil, "it is known")
  }
}
