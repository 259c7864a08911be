// SPDX-License-Identifier: Apache-2.0

/// The parse of a JSON text: the places of its values, and no copy of the text.
///
/// Strings are decoded only on request, so that a secret in the text is decoded straight into a
/// secret's memory.
package struct JSONIndex: Sendable {
  package enum Kind: UInt8, Sendable {
    case null, `true`, `false`, number, string, array, object
  }

  package struct Node: Sendable {
    package let kind: Kind
    /// The first byte; for a string, the one after the quotation mark.
    package let start: Int
    /// The byte after the last; for a string, its quotation mark.
    package internal(set) var end: Int
    /// The index of the next node that is not inside this one.
    package internal(set) var next: Int
  }

  /// The nodes in the order of the text, containers before their content. An object's members are
  /// the name's node, then the value's.
  package let nodes: [Node]

  /// Parses a text completely: UTF-8, one value, white space around it, nothing else.
  package init(parsing text: Span<UInt8>, within limits: JSONLimits) throws(JSONFault) {
    guard text.count <= limits.bytes else { throw JSONFault(.tooLarge, offset: limits.bytes) }
    do {
      _ = try UTF8Span(validating: text)
    } catch {
      throw JSONFault(.notUTF8, offset: error.byteOffsets.lowerBound)
    }
    var parser = JSONParser(within: limits)
    try parser.parse(text)
    nodes = parser.nodes
  }

  /// The nodes directly inside an array.
  package func elements(of array: Int) -> [Int] {
    var elements: [Int] = []
    var node = array + 1
    while node < nodes[array].next {
      elements.append(node)
      node = nodes[node].next
    }
    return elements
  }

  /// The nodes of names and values directly inside an object.
  package func members(of object: Int) -> [(name: Int, value: Int)] {
    var members: [(name: Int, value: Int)] = []
    var node = object + 1
    while node < nodes[object].next {
      members.append((name: node, value: node + 1))
      node = nodes[node + 1].next
    }
    return members
  }

  /// A string's text. Not for secrets.
  package func string(at node: Int, in text: Span<UInt8>) -> String {
    String(decoding: bytes(at: node, in: text), as: UTF8.self)
  }

  /// A string's text as UTF-8. Not for secrets.
  package func bytes(at node: Int, in text: Span<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(nodes[node].end - nodes[node].start)
    var cursor = JSONStringCursor(nodes[node])
    while let byte = cursor.next(in: text) { bytes.append(byte) }
    return bytes
  }

  /// Whether a string's text is this one, byte by byte.
  package func string(at node: Int, is text: String, in whole: Span<UInt8>) -> Bool {
    guard nodes[node].kind == .string else { return false }
    var cursor = JSONStringCursor(nodes[node])
    for byte in text.utf8 {
      guard cursor.next(in: whole) == byte else { return false }
    }
    return cursor.next(in: whole) == nil
  }

  /// The characters of a number.
  package func spelling(at node: Int, in text: Span<UInt8>) -> String {
    var characters: [UInt8] = []
    for index in nodes[node].start..<nodes[node].end { characters.append(text[index]) }
    return String(decoding: characters, as: UTF8.self)
  }
}

/// Reads a string's UTF-8 byte by byte, with its escapes resolved.
package struct JSONStringCursor {
  private var position: Int
  private let end: Int
  /// The rest of a resolved escape, the next byte lowest.
  private var pending: UInt32 = 0
  private var pendingCount = 0

  package init(_ string: JSONIndex.Node) {
    position = string.start
    end = string.end
  }

  package mutating func next(in text: Span<UInt8>) -> UInt8? {
    if pendingCount > 0 {
      defer {
        pending >>= 8
        pendingCount -= 1
      }
      return UInt8(truncatingIfNeeded: pending)
    }
    guard position < end else { return nil }
    let byte = text[position]
    position += 1
    guard byte == UInt8(ascii: "\\") else { return byte }
    let kind = text[position]
    position += 1
    switch kind {
    case UInt8(ascii: "b"): return 0x08
    case UInt8(ascii: "t"): return 0x09
    case UInt8(ascii: "n"): return 0x0a
    case UInt8(ascii: "f"): return 0x0c
    case UInt8(ascii: "r"): return 0x0d
    case UInt8(ascii: "u"): return unicode(in: text)
    default: return kind
    }
  }

  private mutating func unicode(in text: Span<UInt8>) -> UInt8? {
    var value = fourDigits(in: text)
    if value >= 0xd800 && value < 0xdc00 {
      // The parser has checked that the other half follows, behind `\u`.
      position += 2
      value = 0x10000 + (value - 0xd800) << 10 + (fourDigits(in: text) - 0xdc00)
    }
    guard let scalar = Unicode.Scalar(value), let encoded = UTF8.encode(scalar) else {
      preconditionFailure("The parser lets no half of a surrogate pair through.")
    }
    for byte in encoded {
      pending |= UInt32(byte) << (8 * UInt32(pendingCount))
      pendingCount += 1
    }
    return next(in: text)
  }

  private mutating func fourDigits(in text: Span<UInt8>) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      value = value << 4 | UInt32(JSONParser.hexDigit(text[position]) ?? 0)
      position += 1
    }
    return value
  }
}
