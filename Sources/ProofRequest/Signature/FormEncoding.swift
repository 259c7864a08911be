// SPDX-License-Identifier: Apache-2.0

/// `application/x-www-form-urlencoded` as the URL standard of WHATWG reads it, and the percent-encoding of
/// RFC 9421, section 2.2.8.
enum FormEncoding {
  static func decode(_ text: some Collection<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = text[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): bytes.append(0x20)
      case UInt8(ascii: "%"):
        let digits = rest.prefix(2).compactMap(ASCII.hexValue)
        if digits.count == 2 {
          bytes.append(digits[0] << 4 | digits[1])
          rest = rest.dropFirst(2)
        } else {
          bytes.append(byte)
        }
      default: bytes.append(byte)
      }
    }
    return bytes
  }

  /// The percent-encoded text: letters, digits and `*-._` stay, a space becomes `%20`.
  static func encode(_ bytes: [UInt8]) -> [UInt8] {
    let digits = Array("0123456789ABCDEF".utf8)
    var text: [UInt8] = []
    for byte in bytes {
      if ASCII.isLetter(byte) || ASCII.isDigit(byte) || "*-._".utf8.contains(byte) {
        text.append(byte)
      } else {
        text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return text
  }
}
