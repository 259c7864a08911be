// SPDX-License-Identifier: Apache-2.0

/// A value of JSON (RFC 8259).
///
/// ProofKit links only libsodium, so it has a parser of its own for the few objects it reads:
/// configurations and claims of tokens.
enum JSONText: Sendable, Hashable {
  case object([String: JSONText])
  case array([JSONText])
  case string(String)
  /// A number without fraction and exponent that fits.
  case integer(Int64)
  /// Any other number.
  case number(Double)
  case bool(Bool)
  case null

  /// A parse error, and its position.
  struct Fault: Error, Hashable { let offset: Int }

  /// Reads a whole text: strict, no name twice in an object, at most 32 deep, UTF-8.
  static func parse(_ bytes: [UInt8]) throws(Fault) -> JSONText {
    guard String(validating: bytes, as: UTF8.self) != nil else { throw Fault(offset: 0) }
    var reader = JSONReader(bytes)
    return try reader.readAll()
  }

  var members: [String: JSONText]? {
    if case .object(let members) = self { members } else { nil }
  }

  var text: String? {
    if case .string(let text) = self { text } else { nil }
  }

  var elements: [JSONText]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  /// An array of strings and nothing else.
  var texts: [String]? {
    guard let elements else { return nil }
    let texts = elements.compactMap(\.text)
    return texts.count == elements.count ? texts : nil
  }

  /// A whole number that fits 32 bits.
  var serial: UInt32? {
    if case .integer(let value) = self { UInt32(exactly: value) } else { nil }
  }

  /// A point in time, in seconds; a fraction is dropped.
  var seconds: Int64? {
    switch self {
    case .integer(let value): value
    case .number(let value): Int64(exactly: value.rounded(.down))
    default: nil
    }
  }

  /// A string in quotes, with the escapes that JSON demands.
  static func quote(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\u{0}"..."\u{1F}", "\u{7F}":
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
