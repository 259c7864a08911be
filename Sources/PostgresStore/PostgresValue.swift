// SPDX-License-Identifier: Apache-2.0

/// A parameter in the binary format of PostgreSQL's protocol. The statement names each type.
package struct PostgresValue: Sendable, Equatable {
  /// The bytes on the wire, or nil for SQL's NULL.
  let bytes: [UInt8]?

  private init(_ bytes: [UInt8]?) { self.bytes = bytes }

  package static let null = PostgresValue(nil)
  package static func bytea(_ value: [UInt8]?) -> PostgresValue { PostgresValue(value) }
  package static func text(_ value: String) -> PostgresValue { PostgresValue(Array(value.utf8)) }
  package static func bool(_ value: Bool) -> PostgresValue { PostgresValue([value ? 1 : 0]) }
  package static func int2(_ value: Int16) -> PostgresValue { PostgresValue(bigEndian(value)) }
  package static func int4(_ value: Int32) -> PostgresValue { PostgresValue(bigEndian(value)) }
  package static func int8(_ value: Int64) -> PostgresValue { PostgresValue(bigEndian(value)) }

  package static func byteas(_ values: [[UInt8]?]) -> PostgresValue { array(17, values) }
  package static func bools(_ values: [Bool]) -> PostgresValue {
    array(16, values.map { [$0 ? 1 : 0] })
  }
  package static func int2s(_ values: [Int16]) -> PostgresValue { array(21, values.map(bigEndian)) }
  package static func int4s(_ values: [Int32]) -> PostgresValue { array(23, values.map(bigEndian)) }
  package static func int8s(_ values: [Int64?]) -> PostgresValue {
    array(20, values.map { $0.map(bigEndian) })
  }

  /// One dimension: its count, a flag for NULLs, the element's type, the count and the first index;
  /// then each element behind its size, -1 for NULL.
  private static func array(_ type: Int32, _ values: [[UInt8]?]) -> PostgresValue {
    let hasNull: Int32 = values.contains { $0 == nil } ? 1 : 0
    var bytes = bigEndian(Int32(values.isEmpty ? 0 : 1)) + bigEndian(hasNull) + bigEndian(type)
    if !values.isEmpty { bytes += bigEndian(Int32(values.count)) + bigEndian(Int32(1)) }
    for value in values {
      bytes += bigEndian(Int32(value?.count ?? -1))
      bytes += value ?? []
    }
    return PostgresValue(bytes)
  }

  private static func bigEndian<Value: FixedWidthInteger>(_ value: Value) -> [UInt8] {
    (0..<Value.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
  }
}

/// The rows of an answer. Each reading names the type that the statement gives the column.
package struct PostgresRows: Sendable, Equatable {
  package let rows: [[[UInt8]?]]

  package init(rows: [[[UInt8]?]]) { self.rows = rows }

  package var count: Int { rows.count }

  /// The bytes of a column that may be NULL.
  package func optionalBytes(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8]? {
    guard rows.indices.contains(row), rows[row].indices.contains(column) else {
      throw PostgresError(.mismatch, "the answer has no row \(row) with a column \(column)")
    }
    return rows[row][column]
  }

  package func bytes(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8] {
    guard let bytes = try optionalBytes(row, column) else {
      throw PostgresError(.mismatch, "column \(column) of row \(row) is NULL")
    }
    return bytes
  }

  package func text(_ row: Int, _ column: Int) throws(PostgresError) -> String {
    guard let text = String(validating: try bytes(row, column), as: UTF8.self) else {
      throw PostgresError(.mismatch, "column \(column) of row \(row) is no UTF-8")
    }
    return text
  }

  /// An int2, int4 or int8.
  package func integer(_ row: Int, _ column: Int) throws(PostgresError) -> Int64 {
    let bytes = try bytes(row, column)
    switch bytes.count {
    case 2: return Int64(Int16(truncatingIfNeeded: Self.unsigned(bytes)))
    case 4: return Int64(Int32(truncatingIfNeeded: Self.unsigned(bytes)))
    case 8: return Int64(bitPattern: Self.unsigned(bytes))
    default:
      throw PostgresError(
        .mismatch, "column \(column) of row \(row) has \(bytes.count) bytes, not an integer's")
    }
  }

  package func bool(_ row: Int, _ column: Int) throws(PostgresError) -> Bool {
    let bytes = try bytes(row, column)
    guard bytes.count == 1 else {
      throw PostgresError(.mismatch, "column \(column) of row \(row) is no boolean")
    }
    return bytes[0] != 0
  }

  private static func unsigned(_ bytes: [UInt8]) -> UInt64 {
    bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }
}
