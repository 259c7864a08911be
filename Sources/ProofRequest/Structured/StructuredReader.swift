// SPDX-License-Identifier: Apache-2.0

/// Reads a dictionary of structured fields into places.
///
/// The caller bounds the length of the field. Nothing nests deeper than an inner list, so the reader does
/// not recurse.
struct StructuredReader: ~Copyable {
  typealias Kind = StructuredDictionary.Kind
  typealias Place = StructuredDictionary.Place

  private let text: [UInt8]
  private var position = 0
  private(set) var places: [Place] = []

  init(_ text: [UInt8]) {
    self.text = text
    // A member has two places, and each item or parameter one or two more: about one for ten bytes.
    places.reserveCapacity(text.count < 128 ? 8 : 24)
  }

  mutating func readDictionary() -> Bool {
    skip(tabs: false)
    while next != nil {
      let member = places.count
      guard readKey(.member), isNew(member, from: 0), readMember() else { return false }
      places[member].after = Int32(places.count)
      skip(tabs: true)
      guard next != nil else { return true }
      guard take(UInt8(ascii: ",")) else { return false }
      skip(tabs: true)
      guard next != nil else { return false }
    }
    return true
  }

  private var next: UInt8? { position < text.count ? text[position] : nil }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    position += 1
    return true
  }

  private mutating func skip(tabs: Bool) {
    while let byte = next, byte == 0x20 || tabs && byte == 0x09 { position += 1 }
  }

  private mutating func add(_ kind: Kind, from start: Int, _ number: Int64 = 0) -> Bool {
    places.append(
      Place(
        kind: kind, start: Int32(start), end: Int32(position), after: Int32(places.count + 1),
        number: number))
    return true
  }

  /// Whether no place of this level before `index` has the same key.
  private func isNew(_ index: Int, from first: Int) -> Bool {
    let key = places[index]
    var other = first
    while other < index {
      let place = places[other]
      if place.end - place.start == key.end - key.start,
        text.isSame(at: place.range, and: key.range)
      {
        return false
      }
      other = Int(place.after)
    }
    return true
  }

  private mutating func readMember() -> Bool {
    guard take(UInt8(ascii: "=")) else {
      let item = places.count
      return add(.boolean, from: position, 1) && readParameters(of: item)
    }
    return next == UInt8(ascii: "(") ? readList() : readItem()
  }

  private mutating func readList() -> Bool {
    let list = places.count
    let start = position
    position += 1
    _ = add(.list, from: start)
    while true {
      skip(tabs: false)
      if take(UInt8(ascii: ")")) { break }
      guard readItem(), next == 0x20 || next == UInt8(ascii: ")") else { return false }
    }
    places[list].end = Int32(position)
    places[list].number = Int64(places.count)
    return readParameters(of: list)
  }

  private mutating func readItem() -> Bool {
    let item = places.count
    return readBareItem() && readParameters(of: item)
  }

  private mutating func readParameters(of owner: Int) -> Bool {
    let first = places.count
    while take(UInt8(ascii: ";")) {
      skip(tabs: false)
      let parameter = places.count
      guard readKey(.parameter), isNew(parameter, from: first) else { return false }
      guard take(UInt8(ascii: "=")) ? readBareItem() : add(.boolean, from: position, 1) else {
        return false
      }
      places[parameter].after = Int32(places.count)
    }
    places[owner].after = Int32(places.count)
    return true
  }

  private mutating func readKey(_ kind: Kind) -> Bool {
    guard let first = next, ASCII.isLower(first) || first == UInt8(ascii: "*") else { return false }
    let start = position
    var index = start + 1
    while index < text.count, ASCII.isKey(text[index]) { index += 1 }
    position = index
    return add(kind, from: start)
  }

  private mutating func readBareItem() -> Bool {
    guard let first = next else { return false }
    switch first {
    case UInt8(ascii: "\""): return readString()
    case UInt8(ascii: ":"): return readBytes()
    case UInt8(ascii: "?"): return readBoolean()
    case UInt8(ascii: "-"): return readNumber()
    default:
      if ASCII.isDigit(first) { return readNumber() }
      return (ASCII.isLetter(first) || first == UInt8(ascii: "*")) && readToken()
    }
  }

  private mutating func readNumber() -> Bool {
    let start = position
    let isNegative = take(UInt8(ascii: "-"))
    var digits = 0
    var value: Int64 = 0
    while let byte = next, ASCII.isDigit(byte) {
      digits += 1
      guard digits <= 15 else { return false }
      value = value * 10 + Int64(byte - UInt8(ascii: "0"))
      position += 1
    }
    guard digits > 0 else { return false }
    guard take(UInt8(ascii: ".")) else {
      return add(.integer, from: start, isNegative ? -value : value)
    }
    guard digits <= 12 else { return false }
    var decimals = 0
    while let byte = next, ASCII.isDigit(byte) {
      decimals += 1
      guard decimals <= 3 else { return false }
      value = value * 10 + Int64(byte - UInt8(ascii: "0"))
      position += 1
    }
    guard decimals > 0 else { return false }
    for _ in decimals..<3 { value *= 10 }
    return add(.decimal, from: start, isNegative ? -value : value)
  }

  private mutating func readString() -> Bool {
    let start = position
    var index = start + 1
    while index < text.count {
      let byte = text[index]
      index += 1
      switch byte {
      case UInt8(ascii: "\""):
        position = index
        return add(.string, from: start)
      case UInt8(ascii: "\\"):
        guard index < text.count,
          text[index] == UInt8(ascii: "\"") || text[index] == UInt8(ascii: "\\")
        else { return false }
        index += 1
      case 0x20...0x7e: break
      default: return false
      }
    }
    return false
  }

  private mutating func readToken() -> Bool {
    let start = position
    while let byte = next,
      ASCII.isTokenCharacter(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "/")
    {
      position += 1
    }
    return add(.token, from: start)
  }

  private mutating func readBytes() -> Bool {
    let start = position
    var index = start + 1
    while index < text.count, text[index] != UInt8(ascii: ":") { index += 1 }
    position = index
    let isCanonical = Base64Text.isCanonical(text, start + 1..<index)
    return take(UInt8(ascii: ":")) && isCanonical && add(.bytes, from: start)
  }

  private mutating func readBoolean() -> Bool {
    let start = position
    position += 1
    if take(UInt8(ascii: "1")) { return add(.boolean, from: start, 1) }
    return take(UInt8(ascii: "0")) && add(.boolean, from: start, 0)
  }
}
