// SPDX-License-Identifier: Apache-2.0

import ProofBytes

/// A value of JSON (RFC 8259): configurations and claims of tokens.
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
  typealias Fault = JSONFault

  /// Reads a whole text: strict, no name twice in an object, at most 32 deep, UTF-8.
  static func parse(_ bytes: [UInt8]) throws(Fault) -> JSONText {
    let index = try JSONIndex(parsing: bytes.span, within: JSONLimits(depth: 32))
    return try JSONText(index, at: 0, in: bytes.span)
  }

  /// Copies a value out of a parsed text. Recursion is bounded by the parser's depth limit.
  private init(_ index: JSONIndex, at node: Int, in text: Span<UInt8>) throws(Fault) {
    switch index.nodes[node].kind {
    case .null: self = .null
    case .true: self = .bool(true)
    case .false: self = .bool(false)
    case .string: self = .string(index.string(at: node, in: text))
    case .number:
      let spelling = index.spelling(at: node, in: text)
      if let value = Int64(spelling) {
        self = .integer(value)
      } else {
        guard let value = Double(spelling), value.isFinite else {
          throw Fault(.badNumber, offset: index.nodes[node].start)
        }
        self = .number(value)
      }
    case .array:
      var elements: [JSONText] = []
      for element in index.elements(of: node) {
        elements.append(try JSONText(index, at: element, in: text))
      }
      self = .array(elements)
    case .object:
      var members: [String: JSONText] = [:]
      for (name, value) in index.members(of: node) {
        let member = try JSONText(index, at: value, in: text)
        // Swift takes two spellings of one character for the same name.
        guard members.updateValue(member, forKey: index.string(at: name, in: text)) == nil else {
          throw Fault(.repeatedMember, offset: index.nodes[name].start)
        }
      }
      self = .object(members)
    }
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
  static func quote(_ text: String) -> String { JSONQuoting.quoted(text) }
}
