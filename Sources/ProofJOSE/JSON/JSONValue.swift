// SPDX-License-Identifier: Apache-2.0

internal import ProofBytes

/// Any JSON value. Not for secrets.
public indirect enum JSONValue: Sendable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number as it is spelled.
  case number(JSONNumber)
  /// A string.
  case string(String)
  /// An array.
  case array([JSONValue])
  /// An object.
  case object(JSONObject)

  /// Parses a text strictly (RFC 8259): UTF-8, no name twice, nothing around it but white space.
  ///
  /// - Parameter text: At most 256 KiB, nested at most 16 deep.
  /// - Throws: ``JSONError``.
  public init(parsing text: Span<UInt8>) throws(JSONError) {
    let index = try JSONIndex(parsing: text)
    self = JSONValue(index, at: 0, in: text)
  }

  /// Parses a text strictly (RFC 8259): UTF-8, no name twice, nothing around it but white space.
  ///
  /// - Parameter text: At most 256 KiB, nested at most 16 deep.
  /// - Throws: ``JSONError``.
  public init(parsing text: String) throws(JSONError) {
    try self.init(parsing: Array(text.utf8).span)
  }

  /// Parses just as strictly a longer text from a trusted sender, such as a list of all entries.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - bytesMax: How many bytes it may have.
  /// - Throws: ``JSONError``.
  package init(parsing text: Span<UInt8>, bytesMax: Int) throws(JSONError) {
    let index = try JSONIndex(parsing: text, bytesMax: bytesMax, valuesMax: bytesMax / 4)
    self = JSONValue(index, at: 0, in: text)
  }

  /// Copies a value out of a parsed text. Recursion is bounded by the parser's depth limit.
  init(_ index: JSONIndex, at node: Int, in text: Span<UInt8>) {
    switch index.nodes[node].kind {
    case .null: self = .null
    case .true: self = .bool(true)
    case .false: self = .bool(false)
    case .number: self = .number(index.number(at: node, in: text))
    case .string: self = .string(index.string(at: node, in: text))
    case .array:
      var elements: [JSONValue] = []
      for element in index.elements(of: node) {
        elements.append(JSONValue(index, at: element, in: text))
      }
      self = .array(elements)
    case .object:
      var object = JSONObject()
      for member in index.members(of: node) {
        let name = index.string(at: member.name, in: text)
        object[name] = JSONValue(index, at: member.value, in: text)
      }
      self = .object(object)
    }
  }

  /// The value as canonical JSON: no white space, members sorted by code point, and no unnecessary
  /// escapes.
  public var text: String { String(decoding: utf8, as: UTF8.self) }

  /// The bytes of ``text``.
  package var utf8: [UInt8] {
    TextWriter.bytes { writer, text in writer.json(self, into: &text) }
  }
}

extension JSONValue: Equatable {
  /// Whether both are the same value: strings byte by byte, numbers by their spelling.
  ///
  /// - Parameters:
  ///   - one: A value.
  ///   - other: Another.
  /// - Returns: Whether they are equal.
  public static func == (one: JSONValue, other: JSONValue) -> Bool {
    switch (one, other) {
    case (.null, .null): true
    case (.bool(let one), .bool(let other)): one == other
    case (.number(let one), .number(let other)): one == other
    case (.string(let one), .string(let other)): ExactText.areEqual(one, other)
    case (.array(let one), .array(let other)): one == other
    case (.object(let one), .object(let other)): one == other
    default: false
    }
  }
}

extension JSONValue: CustomStringConvertible {
  /// The value as JSON.
  public var description: String { text }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// A string.
  ///
  /// - Parameter value: The string.
  public init(stringLiteral value: String) { self = .string(value) }

  /// An integer.
  ///
  /// - Parameter value: The integer.
  public init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }

  /// `true` or `false`.
  ///
  /// - Parameter value: Which.
  public init(booleanLiteral value: Bool) { self = .bool(value) }

  /// An array.
  ///
  /// - Parameter elements: Its elements.
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

  /// An object; if a name is given twice, the last value counts.
  ///
  /// - Parameter elements: Names and values.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    var object = JSONObject()
    for (name, value) in elements { object[name] = value }
    self = .object(object)
  }
}
