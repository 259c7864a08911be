// SPDX-License-Identifier: Apache-2.0

/// The content of a member to write: a value, or a secret in base64.
enum JSONMember {
  case value(JSONValue)
  case secret(SharedSecret, Range<Int>, Base64Alphabet)
}

extension TextWriter {
  /// Writes an object of values and secrets, sorted by name. No name may come twice.
  mutating func json(
    _ members: [(name: String, member: JSONMember)], into text: inout MutableSpan<UInt8>
  ) {
    byte(UInt8(ascii: "{"), into: &text)
    let sorted = members.sorted { ExactText.precedes($0.name, $1.name) }
    for (position, (name, member)) in sorted.enumerated() {
      if position > 0 { byte(UInt8(ascii: ","), into: &text) }
      json(name, into: &text)
      byte(UInt8(ascii: ":"), into: &text)
      switch member {
      case .value(let value): json(value, into: &text)
      case .secret(let secret, let range, let alphabet):
        byte(UInt8(ascii: "\""), into: &text)
        secret.withBytes { bytes in base64(bytes.extracting(range), alphabet, into: &text) }
        byte(UInt8(ascii: "\""), into: &text)
      }
    }
    byte(UInt8(ascii: "}"), into: &text)
  }

  mutating func json(_ value: JSONValue, into text: inout MutableSpan<UInt8>) {
    switch value {
    case .null: utf8("null", into: &text)
    case .bool(let bool): utf8(bool ? "true" : "false", into: &text)
    case .number(let number): utf8(number.text, into: &text)
    case .string(let string): json(string, into: &text)
    case .array(let elements):
      byte(UInt8(ascii: "["), into: &text)
      for (position, element) in elements.enumerated() {
        if position > 0 { byte(UInt8(ascii: ","), into: &text) }
        json(element, into: &text)
      }
      byte(UInt8(ascii: "]"), into: &text)
    case .object(let object):
      json(object.members.map { ($0.name, .value($0.value)) }, into: &text)
    }
  }

  mutating func json(_ string: String, into text: inout MutableSpan<UInt8>) {
    byte(UInt8(ascii: "\""), into: &text)
    let bytes = string.utf8.span
    // Bytes that stand for themselves are written together.
    var start = 0
    for index in bytes.indices {
      let byte = bytes[index]
      guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else {
        continue
      }
      self.bytes(bytes.extracting(start..<index), into: &text)
      escaped(byte, into: &text)
      start = index + 1
    }
    self.bytes(bytes.extracting(start...), into: &text)
    byte(UInt8(ascii: "\""), into: &text)
  }

  private mutating func escaped(_ byte: UInt8, into text: inout MutableSpan<UInt8>) {
    switch byte {
    case UInt8(ascii: "\""): utf8("\\\"", into: &text)
    case UInt8(ascii: "\\"): utf8("\\\\", into: &text)
    case 0x08: utf8("\\b", into: &text)
    case 0x09: utf8("\\t", into: &text)
    case 0x0a: utf8("\\n", into: &text)
    case 0x0c: utf8("\\f", into: &text)
    case 0x0d: utf8("\\r", into: &text)
    default:
      utf8("\\u00", into: &text)
      for digit in [byte >> 4, byte & 0xf] {
        self.byte(digit < 10 ? digit + 0x30 : digit + 0x57, into: &text)
      }
    }
  }
}
