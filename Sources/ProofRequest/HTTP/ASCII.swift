// SPDX-License-Identifier: Apache-2.0

/// Classes of ASCII characters that HTTP and structured fields name.
enum ASCII {
  static func isLower(_ byte: UInt8) -> Bool { 0x61...0x7a ~= byte }
  static func isUpper(_ byte: UInt8) -> Bool { 0x41...0x5a ~= byte }
  static func isLetter(_ byte: UInt8) -> Bool { isLower(byte | 0x20) }
  static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

  static func lower(_ byte: UInt8) -> UInt8 { isUpper(byte) ? byte | 0x20 : byte }

  /// The six bits and more of a hexadecimal digit, or nil.
  static func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x41 + 10
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
  }

  /// `tchar` of RFC 9110, section 5.6.2: names of fields and methods.
  static func isTokenCharacter(_ byte: UInt8) -> Bool {
    if isLetter(byte) || isDigit(byte) { return true }
    switch byte {
    case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"),
      UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"),
      UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
      return true
    default: return false
    }
  }

  /// Whether a text is a token of HTTP: the name of a field, or a method.
  static func isToken(_ text: Span<UInt8>) -> Bool {
    for index in text.indices where !isTokenCharacter(text[index]) { return false }
    return !text.isEmpty
  }

  /// Whether a text is the name of a field in lower case.
  static func isLowerToken(_ text: Span<UInt8>) -> Bool {
    for index in text.indices {
      guard isTokenCharacter(text[index]), !isUpper(text[index]) else { return false }
    }
    return !text.isEmpty
  }

  /// A character of a key of RFC 8941.
  static func isKey(_ byte: UInt8) -> Bool {
    isLower(byte) || isDigit(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
      || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "*")
  }

  /// Whether a text has characters only that a field's value may have.
  static func isFieldValue(_ text: Span<UInt8>) -> Bool {
    for index in text.indices where !isFieldValue(text[index]) { return false }
    return true
  }

  /// A character that a field's value may have: visible ASCII, space, tab, and bytes above ASCII.
  static func isFieldValue(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte != 0x7f || byte == 0x09
  }
}
