// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
internal import ProofModel

/// A part of an account that an operator can see: a row of a table, as JSON.
///
/// The management API sends the same JSON, less the sealed secrets.
public protocol Record: Sendable {
  /// The record's table.
  static var table: StoreTable { get }
  /// The word that people use for the record, for errors.
  static var noun: String { get }
  /// The record's key in its table.
  var key: String { get }
  /// The fields, all but the key; sealed secrets in base64.
  var fields: JSONObject { get }
  /// Reads the output of ``fields``; nil for anything else.
  init?(key: String, fields: JSONObject)
  /// The public fields, with the key under its own name, and without secrets.
  var shown: JSONObject { get }
}

extension Record {
  var bytes: [UInt8] { Array(JSONValue.object(fields).text.utf8) }

  init(_ row: StoreRow) throws(ServiceError) {
    // Refuse another spelling of its key, under which a record could exist twice.
    guard case .object(let fields) = try? JSONValue(parsing: row.value.span),
      let record = Self(key: row.key, fields: fields),
      record.key.utf8.elementsEqual(row.key.utf8)
    else { throw .damaged("\(Self.noun) “\(row.key)”") }
    self = record
  }
}

/// Reading and writing members by type.
extension JSONObject {
  /// A text.
  public func text(_ name: String) -> String? {
    if case .string(let text) = self[name] { text } else { nil }
  }

  /// An integer.
  public func integer(_ name: String) -> Int64? {
    if case .number(let number) = self[name] { number.integer } else { nil }
  }

  /// A time in whole seconds.
  func time(_ name: String) -> UnixTime? { integer(name).map { UnixTime(seconds: $0) } }

  /// `true` or `false`.
  public func flag(_ name: String) -> Bool? {
    if case .bool(let flag) = self[name] { flag } else { nil }
  }

  /// An array of texts.
  public func texts(_ name: String) -> [String]? {
    guard case .array(let values) = self[name] else { return nil }
    var texts: [String] = []
    for value in values {
      guard case .string(let text) = value else { return nil }
      texts.append(text)
    }
    return texts
  }

  func bytes(_ name: String) -> [UInt8]? { text(name).flatMap { Base64.decode($0) } }

  mutating func set(_ name: String, _ value: String?) { self[name] = value.map { .string($0) } }
  mutating func set(_ name: String, _ value: Int64?) {
    self[name] = value.map { .number(JSONNumber($0)) }
  }
  mutating func set(_ name: String, _ value: UnixTime?) { set(name, value?.seconds) }
  mutating func set(_ name: String, _ value: Bool) { self[name] = .bool(value) }
  mutating func set(_ name: String, _ value: [String]) {
    self[name] = .array(value.map { .string($0) })
  }
  mutating func set(_ name: String, _ value: [UInt8]) { self[name] = .string(Base64.encode(value)) }
}
