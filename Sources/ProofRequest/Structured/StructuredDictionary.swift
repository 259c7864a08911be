// SPDX-License-Identifier: Apache-2.0

/// A dictionary of structured fields (RFC 8941, section 3.2), kept as its bytes and a flat list of places
/// in them. Reading one allocates twice, however many members it has.
///
/// It is stricter than the RFC in one point: a key that stands twice, in the dictionary or among the
/// parameters of one item, is refused. The RFC lets the last one win, and two readers that disagree about
/// that would check different signatures.
struct StructuredDictionary: Sendable {
  /// The kind of a place in the text.
  enum Kind: UInt8, Sendable {
    /// A key of the dictionary. Its item or list follows.
    case member
    /// A list in parentheses. Its items follow, then its parameters.
    case list
    /// The key of a parameter. Its value follows.
    case parameter
    case integer, decimal, string, token, bytes, boolean
  }

  /// A key, a list or a bare item.
  struct Place: BitwiseCopyable, Sendable {
    var kind: Kind
    /// Where it begins in the text.
    var start: Int32
    /// Behind its last byte. A list ends behind its parenthesis.
    var end: Int32
    /// The next place on the same level: behind the item with its parameters, the member, or the list.
    var after: Int32
    /// The value of an integer or a Boolean, thousandths of a decimal; of a list the place of its first
    /// parameter.
    var number: Int64

    var range: Range<Int> { Int(start)..<Int(end) }
  }

  /// The field as it was given.
  let text: [UInt8]
  /// All places in the order of the text.
  private(set) var places: [Place]

  /// Reads the whole field; nil if it is no dictionary, or has a key twice.
  init?(_ text: [UInt8]) {
    guard text.count <= Int(Int32.max) else { return nil }
    self.text = text
    var reader = StructuredReader(text)
    guard reader.readDictionary() else { return nil }
    places = reader.places
  }

  /// The places of a level, from the first one to `end`.
  func forEach<E: Error>(
    from start: Int, to end: Int, _ body: (Int) throws(E) -> Void
  ) throws(E) {
    var index = start
    while index < end {
      try body(index)
      index = Int(places[index].after)
    }
  }

  /// The places of the members.
  var members: [Int] {
    var members: [Int] = []
    var index = 0
    while index < places.count {
      members.append(index)
      index = Int(places[index].after)
    }
    return members
  }

  /// The place of the member with a key, or nil.
  func member(_ key: Span<UInt8>) -> Int? {
    var index = 0
    while index < places.count {
      if text.span.extracting(range(index)).isSame(as: key) { return index }
      index = Int(places[index].after)
    }
    return nil
  }

  /// Where a place stands in the text.
  func range(_ index: Int) -> Range<Int> { places[index].range }

  /// Where the content of a string or of a byte sequence stands: without its quotes or colons.
  func inner(_ index: Int) -> Range<Int> {
    Int(places[index].start) + 1..<Int(places[index].end) - 1
  }

  /// Whether this text stands there.
  func stands(_ expected: StaticString, at range: Range<Int>) -> Bool {
    text.span.extracting(range).isText(expected)
  }

  /// Whether a place is a string with this content, which has nothing to escape.
  func isString(_ expected: StaticString, at index: Int) -> Bool {
    places[index].kind == .string && stands(expected, at: inner(index))
  }

  /// How many characters the content of a string has: without quotes and escapes.
  func stringCount(_ index: Int) -> Int {
    var count = 0
    var position = inner(index).lowerBound
    let end = inner(index).upperBound
    while position < end {
      position += text[position] == UInt8(ascii: "\\") ? 2 : 1
      count += 1
    }
    return count
  }

  /// The content of a string: without quotes and escapes.
  func string(_ index: Int) -> String {
    let inner = inner(index)
    var isEscaped = false
    return String(expecting: inner.count) { output in
      for position in inner {
        if !isEscaped && text[position] == UInt8(ascii: "\\") {
          isEscaped = true
        } else {
          isEscaped = false
          output.append(text[position])
        }
      }
    }
  }

  /// Writes the item or the list at a place with its parameters, in the one form of RFC 8941, section
  /// 4.1.
  func write(_ index: Int, to output: inout ByteWriter) {
    let place = places[index]
    guard place.kind == .list else {
      writeBareItem(place, to: &output)
      return writeParameters(index + 1, Int(place.after), to: &output)
    }
    output.append(UInt8(ascii: "("))
    var item = index + 1
    while item < Int(place.number) {
      if item > index + 1 { output.append(0x20) }
      write(item, to: &output)
      item = Int(places[item].after)
    }
    output.append(UInt8(ascii: ")"))
    writeParameters(Int(place.number), Int(place.after), to: &output)
  }

  private func writeParameters(_ start: Int, _ end: Int, to output: inout ByteWriter) {
    var index = start
    while index < end {
      let value = places[index + 1]
      output.append(UInt8(ascii: ";"))
      output.append(text.span.extracting(range(index)))
      if value.kind != .boolean || value.number == 0 {
        output.append(UInt8(ascii: "="))
        writeBareItem(value, to: &output)
      }
      index = Int(places[index].after)
    }
  }

  private func writeBareItem(_ place: Place, to output: inout ByteWriter) {
    switch place.kind {
    case .integer: output.append(decimal: place.number)
    case .decimal: writeDecimal(place.number, to: &output)
    case .boolean: output.append(place.number == 0 ? "?0" : "?1")
    // The reader takes strings, tokens and byte sequences in their one spelling only.
    default: output.append(text.span.extracting(place.range))
    }
  }

  private func writeDecimal(_ thousandths: Int64, to output: inout ByteWriter) {
    if thousandths < 0 { output.append(UInt8(ascii: "-")) }
    output.append(decimal: Int64(thousandths.magnitude / 1000))
    output.append(UInt8(ascii: "."))
    var places = thousandths.magnitude % 1000
    var unit: UInt64 = 100
    repeat {
      output.append(UInt8(ascii: "0") + UInt8(places / unit))
      places %= unit
      unit /= 10
    } while places > 0
  }
}
