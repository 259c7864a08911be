internal import ProofModel

/// The header fields of a request in their order, with names in lower case.
public struct HeaderFields: Sendable, Hashable {
  /// One line of the header.
  public struct Field: Sendable, Hashable {
    /// The name in lower case.
    public let name: String
    /// The value without white space at its ends.
    public let value: String
  }

  /// The lines in their order.
  public private(set) var fields: [Field] = []

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
    guard !name.isEmpty, name.utf8.allSatisfy(ASCII.isTokenCharacter),
      value.utf8.allSatisfy(ASCII.isFieldValue)
    else { throw .badField(name) }
    let lower =
      name.utf8.contains(where: ASCII.isUpper)
      ? String(decoding: name.utf8.map(ASCII.lower), as: UTF8.self) : name
    fields.append(Field(name: lower, value: Self.trimmed(value)))
  }

  /// Replaces all lines of a name by one.
  ///
  /// - Throws: ``RequestFormatError/badField(_:)``, as ``append(_:_:)``.
  public mutating func set(_ name: String, _ value: String) throws(RequestFormatError) {
    let before = fields
    let lower = String(decoding: name.utf8.map(ASCII.lower), as: UTF8.self)
    fields.removeAll { $0.name == lower }
    do { try append(name, value) } catch {
      fields = before
      throw error
    }
  }

  /// The values of a name, in lower case, in their order.
  public func values(of name: String) -> [String] {
    fields.filter { $0.name == name }.map(\.value)
  }

  /// How many lines have a name, in lower case.
  func count(of name: String) -> Int {
    fields.reduce(0) { $0 + ($1.name == name ? 1 : 0) }
  }

  /// The first value of a name, in lower case.
  func first(_ name: String) -> String? {
    for field in fields where field.name == name { return field.value }
    return nil
  }

  /// Writes the combined value of RFC 9421, section 2.1: all lines of the name, joined by a comma and a
  /// space. Returns false if there is no line.
  func writeCombined(_ name: some Collection<UInt8>, to output: inout [UInt8]) -> Bool {
    var isFirst = true
    for field in fields where field.name.utf8.elementsEqual(name) {
      if !isFirst { output += ", ".utf8 }
      isFirst = false
      output += field.value.utf8
    }
    return !isFirst
  }

  /// Writes each line of the name as a byte sequence (RFC 9421, section 2.1.3). Returns false if there is
  /// no line.
  func writeWrapped(_ name: some Collection<UInt8>, to output: inout [UInt8]) -> Bool {
    var isFirst = true
    for field in fields where field.name.utf8.elementsEqual(name) {
      if !isFirst { output += ", ".utf8 }
      isFirst = false
      output.append(UInt8(ascii: ":"))
      output += Base64.encode(Array(field.value.utf8)).utf8
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
