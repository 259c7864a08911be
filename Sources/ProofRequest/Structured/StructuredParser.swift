internal import ProofModel

/// Reads structured fields (RFC 8941) from the bytes of one combined field value.
///
/// It is stricter than the RFC in one point: a key that stands twice in a dictionary or in parameters
/// is refused. The RFC lets the last one win, and two readers that disagree about that would check
/// different signatures.
///
/// The caller bounds the length of the field. Nothing nests deeper than an inner list, so the parser
/// does not recurse.
struct StructuredParser: ~Copyable {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The whole field as a dictionary; nil if it is none.
  static func dictionary(_ bytes: [UInt8]) -> StructuredDictionary? {
    var parser = StructuredParser(bytes)
    return parser.dictionary()
  }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    position += 1
    return true
  }

  private mutating func skip(tabs: Bool) {
    while let byte = next, byte == 0x20 || tabs && byte == 0x09 { position += 1 }
  }

  private mutating func dictionary() -> StructuredDictionary? {
    var dictionary = StructuredDictionary()
    skip(tabs: false)
    while next != nil {
      guard let key = key(), let member = member(), dictionary.append(key, member) else {
        return nil
      }
      skip(tabs: true)
      guard next != nil else { return dictionary }
      guard take(UInt8(ascii: ",")) else { return nil }
      skip(tabs: true)
      guard next != nil else { return nil }
    }
    return dictionary
  }

  private mutating func member() -> StructuredMember? {
    guard take(UInt8(ascii: "=")) else {
      guard let parameters = parameters() else { return nil }
      return .item(StructuredItem(value: .boolean(true), parameters: parameters))
    }
    guard next == UInt8(ascii: "(") else {
      guard let item = item() else { return nil }
      return .item(item)
    }
    return innerList()
  }

  private mutating func innerList() -> StructuredMember? {
    guard take(UInt8(ascii: "(")) else { return nil }
    var items: [StructuredItem] = []
    while true {
      skip(tabs: false)
      if take(UInt8(ascii: ")")) {
        guard let parameters = parameters() else { return nil }
        return .list(items, parameters)
      }
      guard let item = item(), next == 0x20 || next == UInt8(ascii: ")") else { return nil }
      items.append(item)
    }
  }

  private mutating func item() -> StructuredItem? {
    guard let value = bareItem(), let parameters = parameters() else { return nil }
    return StructuredItem(value: value, parameters: parameters)
  }

  private mutating func parameters() -> StructuredParameters? {
    var parameters = StructuredParameters()
    while take(UInt8(ascii: ";")) {
      skip(tabs: false)
      guard let key = key() else { return nil }
      var value = StructuredValue.boolean(true)
      if take(UInt8(ascii: "=")) {
        guard let given = bareItem() else { return nil }
        value = given
      }
      guard parameters.append(key, value) else { return nil }
    }
    return parameters
  }

  private mutating func key() -> String? {
    guard let first = next, ASCII.isLower(first) || first == UInt8(ascii: "*") else { return nil }
    let start = position
    while let byte = next, ASCII.isKey(byte) { position += 1 }
    return text(start..<position)
  }

  private mutating func bareItem() -> StructuredValue? {
    guard let first = next else { return nil }
    switch first {
    case UInt8(ascii: "\""): return string()
    case UInt8(ascii: ":"): return binary()
    case UInt8(ascii: "?"): return boolean()
    case UInt8(ascii: "-"): return number()
    default:
      if ASCII.isDigit(first) { return number() }
      return ASCII.isLetter(first) || first == UInt8(ascii: "*") ? token() : nil
    }
  }

  private mutating func number() -> StructuredValue? {
    let isNegative = take(UInt8(ascii: "-"))
    var digits = 0
    var whole: Int64 = 0
    while let byte = next, ASCII.isDigit(byte) {
      digits += 1
      guard digits <= 15 else { return nil }
      whole = whole * 10 + Int64(byte - UInt8(ascii: "0"))
      position += 1
    }
    guard digits > 0 else { return nil }
    guard take(UInt8(ascii: ".")) else { return .integer(isNegative ? -whole : whole) }
    guard digits <= 12 else { return nil }
    var places = 0
    while let byte = next, ASCII.isDigit(byte) {
      places += 1
      guard places <= 3 else { return nil }
      whole = whole * 10 + Int64(byte - UInt8(ascii: "0"))
      position += 1
    }
    guard places > 0 else { return nil }
    for _ in places..<3 { whole *= 10 }
    return .decimal(thousandths: isNegative ? -whole : whole)
  }

  private mutating func string() -> StructuredValue? {
    position += 1
    var value: [UInt8] = []
    while let byte = next {
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return .string(String(decoding: value, as: UTF8.self))
      case UInt8(ascii: "\\"):
        guard let escaped = next, escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\")
        else { return nil }
        position += 1
        value.append(escaped)
      case 0x20...0x7e: value.append(byte)
      default: return nil
      }
    }
    return nil
  }

  private mutating func token() -> StructuredValue? {
    let start = position
    while let byte = next,
      ASCII.isTokenCharacter(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "/")
    {
      position += 1
    }
    return .token(text(start..<position))
  }

  private mutating func binary() -> StructuredValue? {
    position += 1
    let start = position
    while let byte = next, byte != UInt8(ascii: ":") { position += 1 }
    let encoded = start..<position
    guard take(UInt8(ascii: ":")),
      let decoded = Base64.decode(bytes.span.extracting(encoded))
    else { return nil }
    return .bytes(decoded)
  }

  private mutating func boolean() -> StructuredValue? {
    position += 1
    if take(UInt8(ascii: "1")) { return .boolean(true) }
    return take(UInt8(ascii: "0")) ? .boolean(false) : nil
  }

  private func text(_ range: Range<Int>) -> String {
    String(decoding: bytes[range], as: UTF8.self)
  }
}
