// SPDX-License-Identifier: Apache-2.0

/// Writes the line of one covered component (RFC 9421, section 2): its identifier as it was given, a colon
/// and the value that this request has.
struct SignatureComponent {
  let input: StructuredDictionary
  /// The place of the identifier, a string with parameters.
  let place: Int

  /// Where the name stands, without quotes. A name with an escape is none that this module knows.
  private var name: Range<Int> { input.inner(place) }
  private var parameters: Range<Int> { place + 1..<Int(input.places[place].after) }

  func write(_ head: RequestHead, to base: inout ByteWriter) throws(RequestRefusal) {
    let component = ComponentName(input.text.span.extracting(name))
    if parameters.isEmpty, component != .other {
      base.append(component.line)
      return try writeKnown(component, head, to: &base)
    }
    input.write(place, to: &base)
    base.append(": ")
    if component == .queryParameter { return try writeQueryParameter(head, to: &base) }
    guard !component.isDerived else { throw .unknownComponent }
    try writeField(head.fields, to: &base)
  }

  private func writeKnown(
    _ component: ComponentName, _ head: RequestHead, to base: inout ByteWriter
  ) throws(RequestRefusal) {
    if component.isDerived {
      guard component != .queryParameter else { throw .unknownComponent }
      head.write(component, to: &base)
    } else {
      guard head.fields.writeCombined(component, to: &base) else { throw .missingField }
    }
  }

  private func writeField(
    _ fields: HeaderFields, to base: inout ByteWriter
  ) throws(RequestRefusal) {
    let name = input.text.span.extracting(name)
    guard ASCII.isLowerToken(name) else { throw .unknownComponent }
    guard let parameter = parameters.first else {
      guard fields.writeCombined(name, to: &base) else { throw .missingField }
      return
    }
    guard parameters.count == 2 else { throw .unknownComponent }
    let value = input.places[parameter + 1]
    if input.stands("bs", at: input.range(parameter)), value.kind == .boolean, value.number == 1 {
      guard fields.writeWrapped(name, to: &base) else { throw .missingField }
    } else if input.stands("key", at: input.range(parameter)), value.kind == .string {
      var isThere = false
      let combined = [UInt8](expecting: 512) { isThere = fields.writeCombined(name, to: &$0) }
      guard isThere, let dictionary = StructuredDictionary(combined),
        let member = dictionary.member(input.string(parameter + 1).utf8.span)
      else { throw .missingField }
      dictionary.write(member + 1, to: &base)
    } else {
      throw .unknownComponent
    }
  }

  /// Writes the value of one query parameter, decoded and encoded again (RFC 9421, section 2.2.8). A
  /// name that the query has twice is refused.
  private func writeQueryParameter(
    _ head: RequestHead, to base: inout ByteWriter
  ) throws(RequestRefusal) {
    guard let parameter = parameters.first, parameters.count == 2,
      input.stands("name", at: input.range(parameter)),
      input.places[parameter + 1].kind == .string
    else { throw .unknownComponent }
    let name = input.string(parameter + 1)
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
    base.append(FormEncoding.encode(found).span)
  }
}

extension RequestHead {
  /// Writes the value of a derived component that has no parameters.
  func write(_ component: ComponentName, to base: inout ByteWriter) {
    switch component {
    case .method: base.append(method)
    case .authority: base.append(authority)
    case .path: base.append(path)
    case .query: if let query { base.append(query) } else { base.append(UInt8(ascii: "?")) }
    case .scheme: base.append(scheme.rawValue)
    case .requestTarget: base.append(target)
    case .targetURI:
      base.append(scheme.rawValue)
      base.append("://" as StaticString)
      base.append(authority)
      base.append(target)
    default: preconditionFailure("A derived component without parameters, not \(component).")
    }
  }
}
