// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// The content of an account's store, in a form that all kinds of stores share.
///
/// Marks of used challenges and event tokens do not move: at the new place the salts have another
/// key, and event tokens of before the move are refused there.
package enum MoveKind: Int, CaseIterable, Sendable {
  case row, counter, device, gateLine

  /// A column of a table.
  package struct Column: Sendable {
    package let name: String
    package let isNumber: Bool
  }

  /// The table's name, with the same columns in every kind of store.
  package var table: String {
    switch self {
    case .row: "row"
    case .counter: "counter"
    case .device: "device"
    case .gateLine: "gate_line"
    }
  }

  /// The columns of the primary key, then the others.
  package var columns: [Column] {
    func bytes(_ name: String) -> Column { Column(name: name, isNumber: false) }
    func number(_ name: String) -> Column { Column(name: name, isNumber: true) }
    return switch self {
    case .row: [number("tbl"), bytes("key"), bytes("value")]
    case .counter: [bytes("name"), number("value")]
    case .device:
      [bytes("device"), number("version"), number("generation"), number("first_seen")]
        + [number("last_seen"), bytes("note")]
    case .gateLine: [bytes("device"), bytes("gate"), number("generation")]
    }
  }

  /// The count of columns in the primary key.
  package var keyCount: Int {
    switch self {
    case .row, .gateLine: 2
    case .counter, .device: 1
    }
  }
}

/// A value of a column.
package enum MoveValue: Sendable, Hashable {
  case number(Int64)
  case bytes([UInt8])
}

/// One record: the values of ``MoveKind/columns``.
package struct MoveRecord: Sendable, Hashable {
  package let values: [MoveValue]

  package init(_ values: [MoveValue]) { self.values = values }

  package func bytes(_ column: Int) -> [UInt8] {
    if case .bytes(let bytes) = values[column] { bytes } else { [] }
  }

  package func number(_ column: Int) -> Int64 {
    if case .number(let number) = values[column] { number } else { 0 }
  }

  /// Each value behind its kind and its length.
  package var encoded: [UInt8] {
    values.flatMap { value in
      switch value {
      case .number(let number): [0] + number.littleEndianBytes
      case .bytes(let bytes): [1] + UInt64(bytes.count).littleEndianBytes + bytes
      }
    }
  }

  /// The fault of a record; nil for a sound one.
  package func fault(as kind: MoveKind) -> String? {
    let generation: Int64 =
      switch kind {
      case .row, .counter: 0
      case .device, .gateLine: number(2)
      }
    guard UInt32(exactly: generation) != nil else { return "a generation that is none" }
    switch kind {
    case .row:
      guard UInt8(exactly: number(0)).flatMap(StoreTable.init) != nil else {
        return "a row of table \(number(0)), which this program does not know"
      }
    case .counter: break
    case .device:
      guard (try? InstanceID(bytes(0))) != nil else { return "a device that is none" }
      guard Int32(exactly: number(3)) != nil, Int32(exactly: number(4)) != nil else {
        return "a device with a time beyond 2038"
      }
    case .gateLine:
      guard (try? InstanceID(bytes(0))) != nil else { return "a line of a device that is none" }
    }
    return nil
  }
}

/// The counts of what was moved, and a digest over all of it in order.
package struct MoveSum: Sendable, Hashable {
  package private(set) var counts: [Int] = MoveKind.allCases.map { _ in 0 }
  /// Rows by their table's number.
  package private(set) var rows: [StoreTable: Int] = [:]
  package private(set) var digest: [UInt8] = []

  package init() {}

  /// Takes the next records of a kind.
  package mutating func add(_ records: [MoveRecord], of kind: MoveKind) {
    guard !records.isEmpty else { return }
    counts[kind.rawValue] += records.count
    if kind == .row {
      for record in records {
        if let table = StoreTable(rawValue: UInt8(truncatingIfNeeded: record.number(0))) {
          rows[table, default: 0] += 1
        }
      }
    }
    for record in records {
      let bytes = digest + [UInt8(kind.rawValue)] + record.encoded
      digest = CoreCrypto.sha256(bytes.span).bytes
    }
  }
}

/// The mark of a store whose account was moved, or came by a move.
package struct MoveMark: Sendable, Hashable {
  /// Names the move.
  package let id: [UInt8]
  /// The account's name.
  package let name: String
  /// The place that the account was moved to.
  package let place: String
  /// The document of the salts' keys at that place.
  package let salts: [UInt8]

  package init(id: [UInt8], name: String, place: String, salts: [UInt8]) {
    self.id = id
    self.name = name
    self.place = place
    self.salts = salts
  }
}

extension [MoveRecord] {
  /// The records with another document of the salts' keys.
  package func with(salts: [UInt8]) -> [MoveRecord] {
    map { record in
      guard record.number(0) == Int64(StoreTable.account.rawValue),
        record.bytes(1) == [UInt8](AccountDocument.saltKey.rawValue.utf8)
      else { return record }
      return MoveRecord([record.values[0], record.values[1], .bytes(salts)])
    }
  }
}

/// The store that an account leaves. Its mark is set before the first record is read.
package protocol MoveSource {
  /// The mark of a move that was begun; nil if none was.
  func mark() throws(StoreError) -> MoveMark?
  /// Ends the service of the account, and sets the mark. Uses that were begun end before.
  func leave(_ mark: MoveMark) throws(StoreError)
  /// Removes the mark, if a check passes while no move goes on: the store serves again.
  func undo(_ check: () throws(StoreError) -> Void) throws(StoreError)
  /// Keeps other moves away until ``end()``, and checks the whole store.
  func begin() throws(StoreError)
  /// The next records behind a record, in the order of their keys.
  func page(_ kind: MoveKind, after last: MoveRecord?) throws(StoreError) -> [MoveRecord]
  func end()
}

/// The store that an account enters: it is whole after ``commit(_:)``, and unchanged before.
package protocol MoveTarget {
  /// The move that the store's account came by; nil for a store without account.
  ///
  /// - Throws: ``StoreError`` for a store with any other account.
  func arrived() throws(StoreError) -> [UInt8]?
  func begin() throws(StoreError)
  func add(_ records: [MoveRecord], of kind: MoveKind) throws(StoreError)
  func page(_ kind: MoveKind, after last: MoveRecord?) throws(StoreError) -> [MoveRecord]
  func commit(_ mark: MoveMark) throws(StoreError)
  func rollBack()
}
