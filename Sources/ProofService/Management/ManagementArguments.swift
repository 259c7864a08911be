// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

/// The arguments of a verb: members of a JSON object, each taken once by name and type. A member
/// that was not taken is an error in the request.
struct ManagementArguments {
  private let object: JSONObject
  private var taken: [String] = []

  init(_ object: JSONObject) { self.object = object }

  private mutating func value(_ name: String) -> JSONValue? {
    taken.append(name)
    return object[name]
  }

  mutating func optionalText(_ name: String) throws(ServiceError) -> String? {
    switch value(name) {
    case nil, .null: return nil
    case .string(let text): return text
    default: throw .invalid(name, value: "of another type", allowed: "a text")
    }
  }

  mutating func text(_ name: String) throws(ServiceError) -> String {
    guard let text = try optionalText(name) else {
      throw .invalid(name, value: "", allowed: "a text; it is missing")
    }
    return text
  }

  mutating func flag(_ name: String, default value: Bool = false) throws(ServiceError) -> Bool {
    switch self.value(name) {
    case nil, .null: return value
    case .bool(let flag): return flag
    default: throw .invalid(name, value: "of another type", allowed: "true, false")
    }
  }

  mutating func optionalFlag(_ name: String) throws(ServiceError) -> Bool? {
    switch value(name) {
    case nil, .null: return nil
    case .bool(let flag): return flag
    default: throw .invalid(name, value: "of another type", allowed: "true, false")
    }
  }

  mutating func integer(_ name: String) throws(ServiceError) -> Int? {
    switch value(name) {
    case nil, .null: return nil
    case .number(let number):
      guard let integer = number.integer else { fallthrough }
      return Int(integer)
    default: throw .invalid(name, value: "of another type", allowed: "an integer")
    }
  }

  mutating func optionalTexts(_ name: String) throws(ServiceError) -> [String]? {
    switch value(name) {
    case nil, .null: nil
    default: try texts(name)
    }
  }

  mutating func texts(_ name: String) throws(ServiceError) -> [String] {
    _ = value(name)
    guard let texts = object.texts(name) else {
      throw .invalid(name, value: "of another type", allowed: "an array of texts")
    }
    return texts
  }

  /// Bytes in hexadecimal, as a type that checks them.
  mutating func bytes<Value: FixedBytes>(
    _ name: String, _: Value.Type
  ) throws(ServiceError) -> Value {
    let text = try text(name)
    guard let value = try? Value(text) else {
      throw .invalid(
        name, value: String(text.prefix(80)), allowed: "\(2 * Value.byteCount) hexadecimal digits")
    }
    return value
  }

  /// Bytes in base64.
  mutating func secret(_ name: String) throws(ServiceError) -> [UInt8] {
    try Self.decoded(text(name), name)
  }

  mutating func optionalSecret(_ name: String) throws(ServiceError) -> [UInt8]? {
    try optionalText(name).map { text throws(ServiceError) in try Self.decoded(text, name) }
  }

  private static func decoded(_ text: String, _ name: String) throws(ServiceError) -> [UInt8] {
    guard let bytes = Base64.decode(text) else {
      throw .invalid(name, value: "(not shown)", allowed: "base64")
    }
    return bytes
  }

  /// All members that were not taken by name.
  mutating func rest() throws(ServiceError) -> [(name: String, value: String)] {
    var rest: [(name: String, value: String)] = []
    for (name, value) in object.members where !taken.contains(name) {
      guard case .string(let text) = value else {
        throw .invalid(name, value: "of another type", allowed: "a text")
      }
      rest.append((name, text))
    }
    taken += rest.map(\.name)
    return rest
  }

  func finish() throws(ServiceError) {
    for (name, _) in object.members where !taken.contains(name) {
      throw .unknown("argument", name: String(name.prefix(80)))
    }
  }
}
