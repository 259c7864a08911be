// SPDX-License-Identifier: Apache-2.0

/// Reads JSON byte by byte. Each step consumes bytes or throws, so that it ends with the text.
struct JSONReader {
  private static let depthMax = 32

  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func readAll() throws(JSONText.Fault) -> JSONText {
    let value = try readValue(depth: 0)
    skipSpace()
    guard position == bytes.count else { throw fault }
    return value
  }

  private var fault: JSONText.Fault { JSONText.Fault(offset: position) }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpace() {
    while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
  }

  private mutating func skip(_ character: Unicode.Scalar) -> Bool {
    skipSpace()
    guard next == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func readValue(depth: Int) throws(JSONText.Fault) -> JSONText {
    guard depth < Self.depthMax else { throw fault }
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return .object(try readObject(depth: depth))
    case UInt8(ascii: "["): return .array(try readArray(depth: depth))
    case UInt8(ascii: "\""): return .string(try readString())
    case UInt8(ascii: "t"): return try readWord("true", .bool(true))
    case UInt8(ascii: "f"): return try readWord("false", .bool(false))
    case UInt8(ascii: "n"): return try readWord("null", .null)
    default: return try readNumber()
    }
  }

  private mutating func readWord(
    _ word: String, _ value: JSONText
  ) throws(JSONText.Fault) -> JSONText {
    guard bytes[position...].starts(with: word.utf8) else { throw fault }
    position += word.utf8.count
    return value
  }

  private mutating func readObject(depth: Int) throws(JSONText.Fault) -> [String: JSONText] {
    position += 1
    var members: [String: JSONText] = [:]
    if skip("}") { return members }
    repeat {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw fault }
      let name = try readString()
      guard members[name] == nil, skip(":") else { throw fault }
      members[name] = try readValue(depth: depth + 1)
    } while skip(",")
    guard skip("}") else { throw fault }
    return members
  }

  private mutating func readArray(depth: Int) throws(JSONText.Fault) -> [JSONText] {
    position += 1
    var elements: [JSONText] = []
    if skip("]") { return elements }
    repeat { elements.append(try readValue(depth: depth + 1)) } while skip(",")
    guard skip("]") else { throw fault }
    return elements
  }

  private mutating func readString() throws(JSONText.Fault) -> String {
    position += 1
    var text: [UInt8] = []
    while let byte = next {
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"): text += try readEscape()
      case 0..<0x20: throw fault
      default: text.append(byte)
      }
    }
    throw fault
  }

  private mutating func readEscape() throws(JSONText.Fault) -> [UInt8] {
    guard let byte = next else { throw fault }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0C]
    case UInt8(ascii: "n"): return [0x0A]
    case UInt8(ascii: "r"): return [0x0D]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "u"): return Array(String(try readScalar()).utf8)
    default: throw fault
    }
  }

  /// One `\u` escape, or the two of a surrogate pair; half a pair is refused.
  private mutating func readScalar() throws(JSONText.Fault) -> Character {
    var value = try readHexadecimal()
    if (0xD800..<0xDC00).contains(value) {
      guard bytes[position...].starts(with: "\\u".utf8) else { throw fault }
      position += 2
      let low = try readHexadecimal()
      guard (0xDC00..<0xE000).contains(low) else { throw fault }
      value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
    }
    guard let scalar = Unicode.Scalar(value) else { throw fault }
    return Character(scalar)
  }

  private mutating func readHexadecimal() throws(JSONText.Fault) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next, byte < 0x80,
        let digit = Character(Unicode.Scalar(byte)).hexDigitValue
      else { throw fault }
      value = value << 4 | UInt32(digit)
      position += 1
    }
    return value
  }

  private mutating func readNumber() throws(JSONText.Fault) -> JSONText {
    let start = position
    if next == UInt8(ascii: "-") { position += 1 }
    let first = next
    let count = skipDigits()
    guard count == 1 || (count > 1 && first != UInt8(ascii: "0")) else { throw fault }
    var isWhole = true
    if next == UInt8(ascii: ".") {
      position += 1
      isWhole = false
      guard skipDigits() > 0 else { throw fault }
    }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      position += 1
      isWhole = false
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
      guard skipDigits() > 0 else { throw fault }
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    if isWhole, let value = Int64(text) { return .integer(value) }
    guard let value = Double(text), value.isFinite else { throw fault }
    return .number(value)
  }

  private mutating func skipDigits() -> Int {
    let start = position
    while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
    return position - start
  }
}
