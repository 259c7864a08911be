internal import ProofModel

/// A part of a request that a signature covers: a derived component such as `@method`, or a header
/// field by its name in lower case (RFC 9421, section 2).
public struct SignatureComponent: Sendable, Hashable {
  let item: StructuredItem

  /// A component without parameters.
  public init(_ name: String) {
    item = StructuredItem(value: .string(name), parameters: StructuredParameters())
  }

  init?(_ item: StructuredItem) {
    guard case .string = item.value else { return nil }
    self.item = item
  }

  /// The name, such as `@path` or `content-type`.
  public var name: String {
    guard case .string(let name) = item.value else { return "" }
    return name
  }

  /// Whether the component has parameters, such as `;bs`.
  public var isPlain: Bool { item.parameters.elements.isEmpty }

  /// Writes `"name";parameters: value` of this request.
  func write(_ head: RequestHead, to base: inout [UInt8]) throws(RequestRefusal) {
    item.write(to: &base)
    base.append(UInt8(ascii: ":"))
    base.append(0x20)
    if name.utf8.first == UInt8(ascii: "@") {
      try writeDerived(head, to: &base)
    } else {
      try writeField(head.fields, to: &base)
    }
  }

  private func writeDerived(_ head: RequestHead, to base: inout [UInt8]) throws(RequestRefusal) {
    if name == "@query-param" { return try writeQueryParameter(head, to: &base) }
    guard isPlain else { throw .unknownComponent }
    switch name {
    case "@method": base += head.method.utf8
    case "@scheme": base += head.scheme.rawValue.utf8
    case "@authority": base += head.authority.utf8
    case "@path": base += head.path.utf8
    case "@query": base += (head.query ?? "?").utf8
    case "@request-target": base += head.target.utf8
    case "@target-uri":
      base += head.scheme.rawValue.utf8
      base += "://".utf8
      base += head.authority.utf8
      base += head.target.utf8
    default: throw .unknownComponent
    }
  }

  private func writeField(_ fields: HeaderFields, to base: inout [UInt8]) throws(RequestRefusal) {
    guard !name.isEmpty,
      name.utf8.allSatisfy({ ASCII.isTokenCharacter($0) && !ASCII.isUpper($0) })
    else { throw .unknownComponent }
    guard let value = fields.combined(name) else { throw .missingField }
    let parameters = item.parameters.elements
    guard let parameter = parameters.first else {
      base += value
      return
    }
    guard parameters.count == 1 else { throw .unknownComponent }
    switch (parameter.key, parameter.value) {
    case ("bs", .boolean(true)):
      for (index, line) in fields.values(of: name).enumerated() {
        if index > 0 { base += ", ".utf8 }
        StructuredValue.bytes(Array(line.utf8)).write(to: &base)
      }
    case ("key", .string(let key)):
      guard let member = StructuredParser.dictionary(value)?[key] else { throw .missingField }
      member.write(to: &base)
    default: throw .unknownComponent
    }
  }

  /// Writes the value of one query parameter, decoded and encoded again (RFC 9421, section 2.2.8). A
  /// name that the query has twice is refused.
  private func writeQueryParameter(
    _ head: RequestHead, to base: inout [UInt8]
  ) throws(RequestRefusal) {
    guard item.parameters.elements.count == 1, case .string(let name)? = item.parameters["name"]
    else { throw .unknownComponent }
    var found: [UInt8]?
    for pair in (head.query?.dropFirst() ?? "").utf8.split(separator: UInt8(ascii: "&")) {
      let parts = pair.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard FormEncoding.encode(FormEncoding.decode(parts[0])).elementsEqual(name.utf8) else {
        continue
      }
      guard found == nil else { throw .repeatedComponent }
      found = parts.count == 2 ? FormEncoding.decode(parts[1]) : []
    }
    guard let found else { throw .missingField }
    base += FormEncoding.encode(found)
  }
}

/// `application/x-www-form-urlencoded` as the URL standard of WHATWG parses and writes it.
private enum FormEncoding {
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
