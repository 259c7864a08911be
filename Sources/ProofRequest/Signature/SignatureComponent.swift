/// Writes the line of one covered component (RFC 9421, section 2): its identifier as it was given, a colon
/// and the value that this request has.
struct SignatureComponent {
  let input: StructuredDictionary
  /// The place of the identifier, a string with parameters.
  let place: Int

  /// Where the name stands, without quotes. A name with an escape is none that this module knows.
  private var name: Range<Int> { input.range(place).dropFirst().dropLast() }
  private var parameters: Range<Int> { place + 1..<Int(input.places[place].after) }

  func write(_ head: RequestHead, to base: inout [UInt8]) throws(RequestRefusal) {
    input.write(place, to: &base)
    base.append(UInt8(ascii: ":"))
    base.append(0x20)
    if input.text[name].first == UInt8(ascii: "@") {
      try writeDerived(head, to: &base)
    } else {
      try writeField(head.fields, to: &base)
    }
  }

  private func isNamed(_ expected: String) -> Bool { input.stands(expected, at: name) }

  private func writeDerived(_ head: RequestHead, to base: inout [UInt8]) throws(RequestRefusal) {
    if isNamed("@query-param") { return try writeQueryParameter(head, to: &base) }
    guard parameters.isEmpty else { throw .unknownComponent }
    if isNamed("@method") {
      base.append(text: head.method)
    } else if isNamed("@authority") {
      base.append(text: head.authority)
    } else if isNamed("@path") {
      base.append(text: head.path)
    } else if isNamed("@query") {
      base.append(text: head.query ?? "?")
    } else if isNamed("@scheme") {
      base.append(text: head.scheme.rawValue)
    } else if isNamed("@request-target") {
      base.append(text: head.target)
    } else if isNamed("@target-uri") {
      base.append(text: head.scheme.rawValue)
      base.append(text: "://")
      base.append(text: head.authority)
      base.append(text: head.target)
    } else {
      throw .unknownComponent
    }
  }

  private func writeField(_ fields: HeaderFields, to base: inout [UInt8]) throws(RequestRefusal) {
    let name = input.text[name]
    guard !name.isEmpty,
      name.allSatisfy({ ASCII.isTokenCharacter($0) && !ASCII.isUpper($0) })
    else { throw .unknownComponent }
    guard let parameter = parameters.first else {
      guard fields.writeCombined(name, to: &base) else { throw .missingField }
      return
    }
    guard parameters.count == 2 else { throw .unknownComponent }
    let value = input.places[parameter + 1]
    if input.stands("bs", at: input.range(parameter)), value.kind == .boolean, value.number == 1 {
      guard fields.writeWrapped(name, to: &base) else { throw .missingField }
    } else if input.stands("key", at: input.range(parameter)), value.kind == .string {
      var combined: [UInt8] = []
      guard fields.writeCombined(name, to: &combined),
        let dictionary = StructuredDictionary(combined),
        let member = dictionary.member(input.string(parameter + 1).utf8)
      else { throw .missingField }
      dictionary.write(member + 1, to: &base)
    } else {
      throw .unknownComponent
    }
  }

  /// Writes the value of one query parameter, decoded and encoded again (RFC 9421, section 2.2.8). A
  /// name that the query has twice is refused.
  private func writeQueryParameter(
    _ head: RequestHead, to base: inout [UInt8]
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
    base += FormEncoding.encode(found)
  }
}
