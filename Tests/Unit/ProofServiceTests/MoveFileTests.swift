// SPDX-License-Identifier: Apache-2.0

import AccountStores
import Foundation
import ProofModel
import Testing

@testable import ProofService

/// The files that an account leaves and enters: the mark, the draft, and what each refusal leaves.
@Suite struct MoveFileTests {
  private let place = Workplace()
  private var path: String { place.path(of: "store") }
  private let mark = MoveMark(id: [1, 2], name: "door", place: "/there", salts: [7])

  private func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: place.path).sorted()
  }

  @Test func `a store is left once, tells its mark, and serves again when that is taken back`()
    throws
  {
    let store = try SQLiteStore(creatingAt: path)
    try store.apply([.put(.api, "a", [1])])
    let move = try SQLiteMove(path)
    #expect(try move.mark() == nil)
    #expect(throws: StoreError.busy(path: path)) { try move.begin() }
    move.end()
    try move.undo { Issue.record("there is no mark to be taken back") }
    try move.leave(mark)
    let other = MoveMark(id: [3], name: "door", place: "/elsewhere", salts: [])
    #expect(throws: StoreError.busy(path: path)) { try move.leave(other) }
    #expect(try move.mark() == mark)
    #expect(throws: StoreError.moved(path: path, to: "/there")) { try SQLiteStore(at: path) }
    try move.begin()
    #expect(try move.page(.row, after: nil).map { $0.bytes(1) } == [Array("a".utf8)])
    move.end()
    #expect(throws: StoreError.missing(path: "x")) {
      try move.undo { () throws(StoreError) in throw .missing(path: "x") }
    }
    #expect(try move.mark() == mark)
    try move.undo {}
    #expect(try move.mark() == nil && store.row("a", of: .api) == [1])
    _ = try SQLiteStore(at: path)
  }

  @Test func `a source that is missing, foreign, newer or has no whole mark is told`() throws {
    #expect(throws: StoreError.missing(path: path)) { try SQLiteMove(path) }
    do { _ = try SQLiteStore(creatingAt: path) }
    let connection = try SQLiteConnection(path: path, patience: 0)
    try connection.execute("PRAGMA user_version = 4")
    #expect(throws: StoreError.tooNew(path: path, version: 4, known: 3)) { try SQLiteMove(path) }
    try connection.execute("PRAGMA user_version = 3; PRAGMA application_id = 1")
    #expect(throws: StoreError.foreign(path: path)) { try SQLiteMove(path) }
    try connection.execute("PRAGMA application_id = \(0x5066_5374)")
    let move = try SQLiteMove(path)
    try move.leave(mark)
    #expect(try connection.number("PRAGMA application_id") == 0x5066_4D76)
    try connection.execute("DELETE FROM account_moved")
    #expect(throws: StoreError.damaged(path: path, detail: "a mark of a move that is none")) {
      try move.mark()
    }
  }

  /// Makes the store as long as this, with pages that belong to nothing.
  private func pad(to pages: Int) throws {
    var bytes = try place.bytes(of: "store")
    bytes += [UInt8](repeating: 0, count: pages * 4_096 - bytes.count)
    // The header counts the pages, from its byte 28 on.
    for index in 0..<4 { bytes[28 + index] = UInt8(truncatingIfNeeded: pages >> (24 - 8 * index)) }
    try place.write(bytes, to: "store")
  }

  @Test func `damage is found at the start in up to 2,048 pages, and by a move in any number`()
    throws
  {
    do { _ = try SQLiteStore(creatingAt: path) }
    try pad(to: 2_048)
    #expect {
      try SQLiteStore(at: path)
    } throws: {
      guard case .damaged(path, let detail) = $0 as? StoreError else { return false }
      return detail.contains("never used")
    }
    try pad(to: 2_049)
    do { _ = try SQLiteStore(at: path) }
    let move = try SQLiteMove(path)
    try move.leave(mark)
    #expect {
      try move.begin()
    } throws: {
      guard case .damaged(path, let detail) = $0 as? StoreError else { return false }
      return detail.contains("never used")
    }
    move.end()
    #expect(try move.mark() == mark)
  }

  @Test func `a new store gets its name when it is whole, and is one of this version`() throws {
    let path = place.path(of: "new")
    let arrival = SQLiteArrival(path)
    #expect(try arrival.arrived() == nil && arrival.place == path)
    #expect(throws: StoreError.missing(path: path + ".moving")) {
      try arrival.page(.row, after: nil)
    }
    try arrival.begin()
    let device = MoveRecord([
      .bytes(Spender.device(1).bytes), .number(3), .number(4), .number(5), .number(7_200),
      .bytes([6]),
    ])
    try arrival.add([device], of: .device)
    #expect(try arrival.page(.device, after: nil) == [device])
    #expect(try arrival.page(.device, after: device) == [])
    #expect(try !names().contains("new"))
    try arrival.commit(mark)
    #expect(try names().filter { !$0.hasPrefix("new") }.isEmpty && names().contains("new"))
    #expect(try !names().contains { $0.contains("moving") })
    #expect(try arrival.arrived() == [1, 2])
    let connection = try SQLiteConnection(path: path, patience: 0)
    #expect(try connection.text("PRAGMA journal_mode") == "wal")
    #expect(try connection.number("PRAGMA application_id") == 0x5066_5374)
    #expect(try connection.number("PRAGMA user_version") == 3)
    #expect(try connection.number("SELECT seen_hour FROM device") == 2)
    let row = try #require(try SQLiteStore(at: path).device(Spender.device(1)))
    #expect(row.version == 3 && row.generation == 4 && row.note == [6])
    #expect(row.firstSeen == 5 && row.lastSeen == 7_200)
  }

  @Test func `an arrival that is given up leaves no file, and one that is late replaces none`()
    throws
  {
    let path = place.path(of: "new")
    let arrival = SQLiteArrival(path)
    try arrival.begin()
    #expect(try names().contains("new.moving"))
    arrival.rollBack()
    #expect(try names().isEmpty && arrival.arrived() == nil)
    try arrival.begin()
    try place.write([9], to: "new")
    #expect(throws: StoreError.failed(path: path, detail: "File exists")) {
      try arrival.commit(mark)
    }
    #expect(try place.bytes(of: "new") == [9])
  }

  @Test func `a file that came by no move is no place for an account`() throws {
    for name in ["made", "empty"] {
      let path = place.path(of: name)
      if name == "made" {
        _ = try SQLiteStore(creatingAt: path)
      } else {
        try place.write([], to: name)
      }
      #expect(
        throws: StoreError.failed(
          path: path, detail: "a file is there; an account moves to a path without file")
      ) { try SQLiteArrival(path).arrived() }
    }
  }

  @Test func `a path is told from the root, and one from the root as it is`() {
    let folder = FileManager.default.currentDirectoryPath
    #expect(SQLiteArrival("a/b").place == "\(folder)/a/b")
    #expect(SQLiteArrival("/a/b").place == "/a/b")
  }

  // MARK: Moves

  @Test func `a place with an account of another move is refused before the source is marked`()
    throws
  {
    for name in ["one", "two"] { _ = try SQLiteStore(creatingAt: place.path(of: name)) }
    let last = place.path(of: "last")
    let places = ["one", "two"].map { StorePlace.file(place.path(of: $0)) }
    #expect(try StoreMove(from: places[0], to: .file(last)).move(("door", [])).sum != nil)
    let move = try StoreMove(from: places[1], to: .file(last))
    #expect(
      throws: StoreError.database(
        last, detail: "it has an account; an account moves to an empty place")
    ) { try move.move(("door", [])) }
    #expect(try !move.isBegun())
    #expect(try places[1].open().revision() == 0)
    #expect(
      throws: StoreError.database(
        place.path(of: "two"), detail: "it has no mark of a move; nothing was changed")
    ) { try move.undo() }
  }

  @Test func `a record that no store takes ends the move, and leaves nothing at the new place`()
    throws
  {
    let store = try SQLiteStore(creatingAt: path)
    #expect(try Spender(store: store).see(Spender.device(1)) == .used)
    let connection = try SQLiteConnection(path: path, patience: 0)
    try connection.execute("UPDATE device SET generation = -1")
    let before = try names().filter { !$0.hasPrefix("store") }
    let move = try StoreMove(from: .file(path), to: .file(place.path(of: "last")))
    for _ in 0..<2 {
      #expect(throws: StoreError.damaged(path: path, detail: "a generation that is none")) {
        try move.move(("door", []))
      }
      #expect(try move.isBegun())
      #expect(try names().filter { !$0.hasPrefix("store") } == before)
    }
    try move.undo()
    #expect(try store.counts().devices == 1)
  }

  @Test func `a URI of another account is refused before anything is marked or made`() throws {
    let store = try SQLiteStore(creatingAt: path)
    let database = try StorePlace(
      "postgres://proof_service@db1/proof?sslrootcert=/none&account=other")
    let move = try StoreMove(from: .file(path), to: database)
    #expect(
      throws: StoreError.database(
        database.description, detail: "the URI names another account than door")
    ) { try move.move(("door", [])) }
    #expect(try !move.isBegun() && store.revision() == 0)
    #expect(
      throws: StoreError.database(
        database.description, detail: "the URI names another account, other")
    ) { try database.create(for: "door") }
  }

  @Test func `a store is made where none is, and opened where one is`() throws {
    let file = StorePlace.file(path)
    #expect(throws: StoreError.missing(path: path)) { try file.open() }
    try file.create(for: "door").apply([.put(.api, "a", [1])])
    for store in [try file.create(for: "door"), try file.open()] {
      #expect(try store.row("a", of: .api) == [1])
    }
    try place.write([1], to: "other")
    #expect(throws: StoreError.self) {
      try StorePlace.file(place.path(of: "other")).create(for: "door")
    }
    #expect(try place.bytes(of: "other") == [1])
    #expect(file.description == path)
  }
}
