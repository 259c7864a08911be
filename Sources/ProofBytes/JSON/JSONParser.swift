// SPDX-License-Identifier: Apache-2.0

/// A strict parser of JSON (RFC 8259): no extension, no leniency, bounded in size and depth.
///
/// Names of an object's members are compared with their escapes resolved, so `"a"` and `"\u0061"`
/// are the same name.
struct JSONParser {
  private(set) var nodes: [JSONIndex.Node] = []
  private var position = 0
  private let limits: JSONLimits

  init(within limits: JSONLimits) { self.limits = limits }

  /// The caller checked the size, and that the text is UTF-8.
  mutating func parse(_ text: Span<UInt8>) throws(JSONFault) {
    skipSpace(text)
    try value(text, depth: 0)
    skipSpace(text)
    if position < text.count { throw fault(.trailing) }
  }

  private func fault(_ reason: JSONFault.Reason) -> JSONFault {
    JSONFault(reason, offset: position)
  }

  private mutating func skipSpace(_ text: Span<UInt8>) {
    while position < text.count {
      switch text[position] {
      case 0x20, 0x09, 0x0a, 0x0d: position += 1
      default: return
      }
    }
  }

  private func peek(_ text: Span<UInt8>) throws(JSONFault) -> UInt8 {
    guard position < text.count else { throw fault(.ended) }
    return text[position]
  }

  private mutating func expect(_ text: Span<UInt8>, _ byte: UInt8) throws(JSONFault) {
    guard try peek(text) == byte else { throw fault(.unexpected) }
    position += 1
  }

  private mutating func open(_ kind: JSONIndex.Kind, start: Int) throws(JSONFault) -> Int {
    guard nodes.count < limits.values else { throw fault(.tooLarge) }
    nodes.append(JSONIndex.Node(kind: kind, start: start, end: start, next: nodes.count + 1))
    return nodes.count - 1
  }

  private mutating func close(_ node: Int, end: Int) {
    nodes[node].end = end
    nodes[node].next = nodes.count
  }

  /// Parses a value. It calls itself through `array` and `object`, at most to the depth limit.
  private mutating func value(_ text: Span<UInt8>, depth: Int) throws(JSONFault) {
    switch try peek(text) {
    case UInt8(ascii: "{"): try object(text, depth: depth + 1)
    case UInt8(ascii: "["): try array(text, depth: depth + 1)
    case UInt8(ascii: "\""): _ = try string(text)
    case UInt8(ascii: "t"): try word(text, "true", .true)
    case UInt8(ascii: "f"): try word(text, "false", .false)
    case UInt8(ascii: "n"): try word(text, "null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number(text)
    default: throw fault(.unexpected)
    }
  }

  private mutating func word(
    _ text: Span<UInt8>, _ word: String, _ kind: JSONIndex.Kind
  ) throws(JSONFault) {
    let node = try open(kind, start: position)
    for byte in word.utf8 { try expect(text, byte) }
    close(node, end: position)
  }

  private mutating func array(_ text: Span<UInt8>, depth: Int) throws(JSONFault) {
    guard depth <= limits.depth else { throw fault(.tooDeep) }
    let node = try open(.array, start: position)
    position += 1
    skipSpace(text)
    if try peek(text) == UInt8(ascii: "]") {
      position += 1
      return close(node, end: position)
    }
    while true {
      skipSpace(text)
      try value(text, depth: depth)
      skipSpace(text)
      if try peek(text) == UInt8(ascii: "]") { break }
      try expect(text, UInt8(ascii: ","))
    }
    position += 1
    close(node, end: position)
  }

  private mutating func object(_ text: Span<UInt8>, depth: Int) throws(JSONFault) {
    guard depth <= limits.depth else { throw fault(.tooDeep) }
    let node = try open(.object, start: position)
    var names = JSONNames()
    position += 1
    skipSpace(text)
    if try peek(text) == UInt8(ascii: "}") {
      position += 1
      return close(node, end: position)
    }
    while true {
      skipSpace(text)
      guard try peek(text) == UInt8(ascii: "\"") else { throw fault(.unexpected) }
      let start = position
      let name = try string(text)
      guard names.insert(nodes[name], in: text) else {
        throw JSONFault(.repeatedMember, offset: start)
      }
      skipSpace(text)
      try expect(text, UInt8(ascii: ":"))
      skipSpace(text)
      try value(text, depth: depth)
      skipSpace(text)
      if try peek(text) == UInt8(ascii: "}") { break }
      try expect(text, UInt8(ascii: ","))
    }
    position += 1
    close(node, end: position)
  }

  private mutating func string(_ text: Span<UInt8>) throws(JSONFault) -> Int {
    position += 1
    let node = try open(.string, start: position)
    while true {
      switch try peek(text) {
      case UInt8(ascii: "\""):
        close(node, end: position)
        position += 1
        return node
      case UInt8(ascii: "\\"):
        try escape(text)
      case 0..<0x20:
        throw fault(.badString)
      default:
        position += 1
      }
    }
  }

  private mutating func escape(_ text: Span<UInt8>) throws(JSONFault) {
    position += 1
    switch try peek(text) {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
      UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      position += 1
    case UInt8(ascii: "u"):
      position += 1
      switch try hexDigits(text) {
      case 0xd800..<0xdc00:
        guard try peek(text) == UInt8(ascii: "\\") else { throw fault(.badString) }
        position += 1
        guard try peek(text) == UInt8(ascii: "u") else { throw fault(.badString) }
        position += 1
        guard case 0xdc00..<0xe000 = try hexDigits(text) else { throw fault(.badString) }
      case 0xdc00..<0xe000:
        throw fault(.badString)
      default:
        break
      }
    default:
      throw fault(.badString)
    }
  }

  private mutating func hexDigits(_ text: Span<UInt8>) throws(JSONFault) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = Self.hexDigit(try peek(text)) else { throw fault(.badString) }
      value = value << 4 | UInt32(digit)
      position += 1
    }
    return value
  }

  static func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  private mutating func number(_ text: Span<UInt8>) throws(JSONFault) {
    let node = try open(.number, start: position)
    if text[position] == UInt8(ascii: "-") { position += 1 }
    let firstDigit = position
    try digits(text)
    // Only 0 itself may begin with 0.
    if text[firstDigit] == UInt8(ascii: "0") && position > firstDigit + 1 {
      throw fault(.badNumber)
    }
    if position < text.count && text[position] == UInt8(ascii: ".") {
      position += 1
      try digits(text)
    }
    if position < text.count && (text[position] | 0x20) == UInt8(ascii: "e") {
      position += 1
      let sign = try peek(text)
      if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { position += 1 }
      try digits(text)
    }
    guard position - nodes[node].start <= limits.numberCharacters else {
      throw fault(.badNumber)
    }
    close(node, end: position)
  }

  /// One digit or more.
  private mutating func digits(_ text: Span<UInt8>) throws(JSONFault) {
    let start = position
    while position < text.count, case UInt8(ascii: "0")...UInt8(ascii: "9") = text[position] {
      position += 1
    }
    if position == text.count && position == start { throw fault(.ended) }
    if position == start { throw fault(.badNumber) }
  }
}

/// The names of one object's members, to refuse a name that comes twice.
private struct JSONNames {
  /// Up to here each name is compared with all others, which takes less time than a set of them does.
  private static let fewMax = 24

  private var few: [JSONIndex.Node] = []
  private var many: Set<[UInt8]> = []

  /// - Returns: Whether the name is new.
  mutating func insert(_ name: JSONIndex.Node, in text: Span<UInt8>) -> Bool {
    guard many.isEmpty else { return many.insert(Self.resolved(name, in: text)).inserted }
    guard !few.contains(where: { Self.areEqual($0, name, in: text) }) else { return false }
    few.append(name)
    if few.count > Self.fewMax { many = Set(few.map { Self.resolved($0, in: text) }) }
    return true
  }

  private static func areEqual(
    _ one: JSONIndex.Node, _ other: JSONIndex.Node, in text: Span<UInt8>
  ) -> Bool {
    var first = JSONStringCursor(one)
    var second = JSONStringCursor(other)
    while true {
      let (byte, against) = (first.next(in: text), second.next(in: text))
      guard byte == against else { return false }
      if byte == nil { return true }
    }
  }

  private static func resolved(_ name: JSONIndex.Node, in text: Span<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    var cursor = JSONStringCursor(name)
    while let byte = cursor.next(in: text) { bytes.append(byte) }
    return bytes
  }
}
