// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// The header fields of a request in their order, with names in lower case.
public struct HeaderFields: Sendable, Hashable {
  /// One line of the header.
  public struct Field: Sendable, Hashable {
    /// The name in lower case.
    public let name: String
    /// The value without white space at its ends.
    public let value: String
    /// The number of the name.
    let component: ComponentName

    /// Lengths are compared first: they differ for almost all names.
    func isNamed(_ other: String) -> Bool {
      name.utf8.count == other.utf8.count && name == other
    }
  }

  /// The lines in their order.
  public private(set) var fields: [Field] = []
  /// The known names that have a line.
  private(set) var known = ComponentSet()
  /// The known names that have two lines or more.
  private(set) var repeated = ComponentSet()

  /// No fields.
  public init() {}

  /// Takes name and value pairs.
  ///
  /// - Throws: ``RequestFormatError/badField(_:)`` with the name of the first field that HTTP forbids.
  public init(_ pairs: [(name: String, value: String)]) throws(RequestFormatError) {
    fields.reserveCapacity(pairs.count)
    for pair in pairs { try append(pair.name, pair.value) }
  }

  /// Adds a line behind the others.
  ///
  /// - Throws: ``RequestFormatError/badField(_:)`` if the name is no token of HTTP, or the value has a
  ///   control character (a line feed among them).
  public mutating func append(_ name: String, _ value: String) throws(RequestFormatError) {
    guard ASCII.isToken(name.utf8.span), ASCII.isFieldValue(value.utf8.span) else {
      throw .badField(name)
    }
    let lower =
      name.utf8.contains(where: ASCII.isUpper)
      ? String(decoding: name.utf8.map(ASCII.lower), as: UTF8.self) : name
    add(Field(name: lower, value: Self.trimmed(value), component: ComponentName(lower.utf8.span)))
  }

  private mutating func add(_ field: Field) {
    if known.has(field.component) { repeated.add(field.component) }
    known.add(field.component)
    fields.append(field)
  }

  /// Removes all lines of a name.
  private mutating func removeAll(_ name: String, _ component: ComponentName) {
    fields.removeAll { $0.name == name }
    known.drop(component)
    repeated.drop(component)
  }

  /// Replaces all lines of a name by one.
  ///
  /// - Throws: ``RequestFormatError/badField(_:)``, as ``append(_:_:)``.
  public mutating func set(_ name: String, _ value: String) throws(RequestFormatError) {
    let before = self
    let lower = String(decoding: name.utf8.map(ASCII.lower), as: UTF8.self)
    removeAll(lower, ComponentName(lower.utf8.span))
    do { try append(name, value) } catch {
      self = before
      throw error
    }
  }

  /// Adds a line that this module wrote: its name is in lower case, and its value has no character that HTTP forbids.
  mutating func append(_ name: String, _ component: ComponentName, checked value: String) {
    add(Field(name: name, value: value, component: component))
  }

  /// Makes room for more lines at once.
  package mutating func reserveRoom(for count: Int) { fields.reserveCapacity(fields.count + count) }

  /// Replaces all lines of a name by one that this module wrote.
  mutating func replace(_ name: String, _ component: ComponentName, checked value: String) {
    if known.has(component) { removeAll(name, component) }
    append(name, component, checked: value)
  }

  /// The values of a name, in lower case, in their order.
  public func values(of name: String) -> [String] {
    fields.filter { $0.name == name }.map(\.value)
  }

  /// How many lines have a name, in lower case.
  package func count(of name: String) -> Int {
    fields.reduce(0) { $0 + ($1.isNamed(name) ? 1 : 0) }
  }

  /// The first value of a name, in lower case.
  package func first(_ name: String) -> String? {
    for field in fields where field.isNamed(name) { return field.value }
    return nil
  }

  /// The first value of a known name.
  func first(_ component: ComponentName) -> String? {
    guard known.has(component) else { return nil }
    for index in fields.indices where fields[index].component == component {
      return fields[index].value
    }
    return nil
  }

  /// The combined value of RFC 9421, section 2.1; nil if there is no line.
  func combined(_ component: ComponentName) -> [UInt8]? {
    guard repeated.has(component) else { return first(component).map { Array($0.utf8) } }
    return [UInt8](expecting: 512) { _ = writeCombined(component, to: &$0) }
  }

  /// Writes the combined value of RFC 9421, section 2.1: all lines of the name, joined by a comma and a
  /// space. Returns false if there is no line.
  func writeCombined(_ component: ComponentName, to output: inout ByteWriter) -> Bool {
    guard known.has(component) else { return false }
    var isFirst = true
    for index in fields.indices where fields[index].component == component {
      if !isFirst { output.append(", ") }
      isFirst = false
      output.append(fields[index].value)
    }
    return !isFirst
  }

  /// The same for a name in bytes.
  func writeCombined(_ name: Span<UInt8>, to output: inout ByteWriter) -> Bool {
    var isFirst = true
    for index in fields.indices where name.isText(fields[index].name) {
      if !isFirst { output.append(", ") }
      isFirst = false
      output.append(fields[index].value)
    }
    return !isFirst
  }

  /// Writes each line of the name as a byte sequence (RFC 9421, section 2.1.3). Returns false if there is
  /// no line.
  func writeWrapped(_ name: Span<UInt8>, to output: inout ByteWriter) -> Bool {
    var isFirst = true
    for index in fields.indices where name.isText(fields[index].name) {
      if !isFirst { output.append(", ") }
      isFirst = false
      output.append(UInt8(ascii: ":"))
      output.append(Base64.encode(fields[index].value.utf8.span))
      output.append(UInt8(ascii: ":"))
    }
    return !isFirst
  }

  private static func trimmed(_ value: String) -> String {
    let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    guard let first = value.utf8.first, let last = value.utf8.last, isSpace(first) || isSpace(last)
    else { return value }
    let start = value.utf8.drop(while: isSpace)
    guard let end = start.lastIndex(where: { !isSpace($0) }) else { return "" }
    return String(Substring(start[...end]))
  }
}
