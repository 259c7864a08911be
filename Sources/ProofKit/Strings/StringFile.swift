// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// The file of an app's own strings: docs/SPEC.md, section 13.
///
/// It holds sealed values only. A key finds and opens the strings that it sealed, and nothing of
/// those that other keys sealed.
struct StringFile: Sendable, Hashable {
  /// The identity of a record: the key that sealed it, and the place that this key derives from the name.
  struct Place: Sendable, Hashable, Comparable {
    let key: StringKey.ID
    let name: [UInt8]

    static func < (one: Place, other: Place) -> Bool {
      one.key == other.key ? one.name.lexicographicallyPrecedes(other.name) : one.key < other.key
    }
  }

  struct Record: Sendable, Hashable {
    let place: Place
    let sealed: StringKey.Sealed

    /// The bytes of name and value.
    var weight: Int { sealed.body.count - StringKey.Sealed.tagByteCount - 2 }
  }

  /// The reason why bytes are not such a file.
  enum Damage: Error, Sendable, Hashable {
    case damaged
    case tooNew(UInt8)
  }

  /// Strictly ascending by place.
  private(set) var records: [Record] = []

  init() {}

  subscript(place: Place) -> Record? { records.first { $0.place == place } }

  /// The records of one key.
  func records(of key: StringKey.ID) -> [Record] { records.filter { $0.place.key == key } }

  mutating func remove(_ place: Place) { records.removeAll { $0.place == place } }

  /// Sets a record, if the limits allow.
  mutating func set(_ record: Record) throws(SecureStringError) {
    var changed = self
    changed.remove(record.place)
    let index = changed.records.firstIndex { record.place < $0.place } ?? changed.records.count
    changed.records.insert(record, at: index)
    let own = changed.records(of: record.place.key)
    guard own.count <= SecureStringLimits.count else { throw .noRoom(.count) }
    guard own.reduce(0, { $0 + $1.weight }) <= SecureStringLimits.totalByteCount else {
      throw .noRoom(.bytes)
    }
    guard changed.records.count <= Layout.countMax, changed.byteCount <= Layout.byteCountMax else {
      throw .noRoom(.file)
    }
    self = changed
  }

  private var byteCount: Int {
    records.reduce(Layout.head + Layout.check) { $0 + Layout.recordHead + $1.sealed.body.count }
  }
}

extension StringFile {
  enum Layout {
    static let magic = Array("PKSS".utf8)
    static let version: UInt8 = 1
    static let label = Array("pfs1.strings....".utf8)
    static let head = 8
    static let check = Digest.byteCount
    static let recordHead = 52
    /// A tag, the name's length, one character, one byte.
    static let bodyMin = StringKey.Sealed.tagByteCount + 4
    static let countMax = SecureStringLimits.sets * SecureStringLimits.count
    static let byteCountMax =
      head + check + countMax * (recordHead + bodyMin)
      + SecureStringLimits.sets * SecureStringLimits.totalByteCount
  }

  /// The file's bytes.
  var bytes: [UInt8] {
    var bytes = Layout.magic + [Layout.version, 0] + UInt16(records.count).littleEndianBytes
    for record in records {
      bytes += record.place.key.bytes + record.place.name + record.sealed.nonce
      bytes += UInt32(record.sealed.body.count).littleEndianBytes + record.sealed.body
    }
    return bytes + Self.check(of: bytes[...])
  }

  /// Reads a file's bytes. Checks the digest before anything else.
  init(parsing bytes: [UInt8]) throws(Damage) {
    guard bytes.count >= Layout.head + Layout.check, bytes.count <= Layout.byteCountMax,
      bytes[..<4].elementsEqual(Layout.magic),
      Self.check(of: bytes.dropLast(Layout.check)).elementsEqual(bytes.suffix(Layout.check))
    else { throw .damaged }
    guard bytes[4] == Layout.version else { throw .tooNew(bytes[4]) }
    let count = Int(littleEndianBytes: bytes[6..<8])
    guard bytes[5] == 0, count <= Layout.countMax else { throw .damaged }
    var rest = bytes[Layout.head...].dropLast(Layout.check)
    func take(_ count: Int) throws(Damage) -> [UInt8] {
      guard count <= rest.count else { throw .damaged }
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }
    for _ in 0..<count {
      let place = Place(
        key: StringKey.ID(try take(StringKey.ID.byteCount)),
        name: try take(StringKey.placeByteCount))
      let nonce = try take(StringKey.Sealed.nonceByteCount)
      let size = Int(littleEndianBytes: try take(4))
      guard size >= Layout.bodyMin else { throw .damaged }
      if let last = records.last, !(last.place < place) { throw .damaged }
      records.append(Record(place: place, sealed: .init(nonce: nonce, body: try take(size))))
    }
    guard rest.isEmpty else { throw .damaged }
  }

  /// SHA-256 detects damage only. A program that may write here can recompute it, but each value is
  /// authenticated under a key that it does not have.
  private static func check(of bytes: ArraySlice<UInt8>) -> [UInt8] {
    Digest(hashing: Layout.label + bytes).bytes
  }
}
