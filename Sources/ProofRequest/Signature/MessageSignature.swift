internal import ProofModel

/// One signature of a request (RFC 9421): the components that it covers, its parameters and its bytes.
struct MessageSignature: Sendable {
  let input: StructuredDictionary
  /// The place of its label in the input. Its list follows.
  let member: Int
  /// The bytes of the signature; empty while the request is being signed.
  let bytes: [UInt8]

  private var list: StructuredDictionary.Place { input.places[member + 1] }

  /// Reads the signature whose parameter `tag` is the given string; without a tag, the one with the label.
  ///
  /// Every other signature is left alone, but a malformed one is refused with the whole field.
  ///
  /// - Throws: ``RequestRefusal/noSignature``, ``RequestRefusal/severalSignatures``,
  ///   ``RequestRefusal/malformedInput``, ``RequestRefusal/malformedSignature``,
  ///   ``RequestRefusal/labelWithoutSignature``, ``RequestRefusal/repeatedComponent`` or
  ///   ``RequestRefusal/tooLong``.
  static func read(
    from head: RequestHead, tag: String? = nil, label: String = ""
  ) throws(RequestRefusal) -> MessageSignature {
    var text: [UInt8] = []
    var tags: [UInt8] = []
    let hasTags = head.fields.writeCombined("signature", to: &tags)
    guard head.fields.writeCombined("signature-input", to: &text) else {
      throw hasTags ? .malformedInput : .noSignature
    }
    guard text.count <= RequestLimits.fieldBytes, tags.count <= RequestLimits.fieldBytes else {
      throw .tooLong
    }
    guard let input = StructuredDictionary(text) else { throw .malformedInput }
    guard let signatures = StructuredDictionary(tags) else { throw .malformedSignature }
    var found: MessageSignature?
    try input.forEach(from: 0, to: input.places.count) { member throws(RequestRefusal) in
      let bytes = try Self.bytes(of: member, input, signatures)
      let signature = MessageSignature(input: input, member: member, bytes: bytes)
      try signature.checkComponents()
      if let tag {
        guard signature.string("tag", is: tag) else { return }
      } else {
        guard input.stands(label, at: input.range(member)) else { return }
      }
      guard found == nil else { throw .severalSignatures }
      found = signature
    }
    guard let found else { throw .noSignature }
    return found
  }

  /// Takes the input of a request that is to be signed: one label with its list.
  init?(signing text: [UInt8]) {
    guard let input = StructuredDictionary(text), let member = input.members.first,
      input.places[member + 1].kind == .list
    else { return nil }
    self.init(input: input, member: member, bytes: [])
  }

  private init(input: StructuredDictionary, member: Int, bytes: [UInt8]) {
    self.input = input
    self.member = member
    self.bytes = bytes
  }

  private static func bytes(
    of member: Int, _ input: StructuredDictionary, _ signatures: StructuredDictionary
  ) throws(RequestRefusal) -> [UInt8] {
    guard input.places[member + 1].kind == .list else { throw .malformedInput }
    guard let signature = signatures.member(input.bytes(member)) else {
      throw .labelWithoutSignature
    }
    guard signatures.places[signature + 1].kind == .bytes,
      let bytes = Base64.decode(
        signatures.text.span.extracting(signatures.base64(signature + 1)))
    else { throw .malformedSignature }
    return bytes
  }

  /// Refuses a component that is no string, one that stands twice, and too many of them.
  private func checkComponents() throws(RequestRefusal) {
    var count = 0
    var item = member + 2
    while item < Int(list.number) {
      guard input.places[item].kind == .string else { throw .malformedInput }
      count += 1
      guard count <= RequestLimits.components else { throw .tooLong }
      var other = member + 2
      while other < item {
        if isSame(other, item) { throw .repeatedComponent }
        other = Int(input.places[other].after)
      }
      item = Int(input.places[item].after)
    }
  }

  /// Whether two components have one name, and parameters of the same text.
  private func isSame(_ one: Int, _ other: Int) -> Bool {
    let count = Int(input.places[one].after) - one
    guard Int(input.places[other].after) - other == count else { return false }
    for offset in 0..<count {
      let (mine, theirs) = (input.range(one + offset), input.range(other + offset))
      guard mine.count == theirs.count, input.text[mine] == input.text[theirs] else {
        return false
      }
    }
    return true
  }

  /// Whether the list covers a component by its name alone, without parameters.
  func covers(_ name: String) -> Bool {
    var item = member + 2
    while item < Int(list.number) {
      let after = Int(input.places[item].after)
      if after == item + 1, input.isString(name, at: item) { return true }
      item = after
    }
    return false
  }

  /// The places of the parameters' keys.
  func forEachParameter<E: Error>(_ body: (Int) throws(E) -> Void) throws(E) {
    try input.forEach(from: Int(list.number), to: Int(list.after), body)
  }

  private func string(_ key: String, is value: String) -> Bool {
    var isValue = false
    forEachParameter { parameter in
      guard input.stands(key, at: input.range(parameter)) else { return }
      isValue = input.isString(value, at: parameter + 1)
    }
    return isValue
  }

  /// The bytes that are signed: a line for each component, and the parameters (RFC 9421, 2.5).
  ///
  /// - Throws: ``RequestRefusal/unknownComponent``, ``RequestRefusal/missingField`` or
  ///   ``RequestRefusal/repeatedComponent``.
  func base(of head: RequestHead) throws(RequestRefusal) -> [UInt8] {
    var base: [UInt8] = []
    base.reserveCapacity(1024)
    var item = member + 2
    while item < Int(list.number) {
      try SignatureComponent(input: input, place: item).write(head, to: &base)
      base.append(0x0a)
      item = Int(input.places[item].after)
    }
    base.append(text: "\"@signature-params\": ")
    input.write(member + 1, to: &base)
    return base
  }
}
