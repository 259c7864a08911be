// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// One signature of a request (RFC 9421): the components that it covers, its parameters and its bytes.
struct MessageSignature: Sendable {
  let input: StructuredDictionary
  /// The place of its label in the input. Its list follows.
  let member: Int
  /// The known components that the list covers by their name alone, without parameters.
  let covered: ComponentSet
  private let signatures: StructuredDictionary
  /// The place of the label in the signatures.
  private let signature: Int

  private var list: StructuredDictionary.Place { input.places[member + 1] }

  /// The bytes of the signature.
  var bytes: [UInt8] { withBase64 { Base64.decode($0) ?? [] } }

  /// Lends the bytes of the signature as base64, which was checked.
  func withBase64<R>(_ body: (Span<UInt8>) -> R) -> R {
    body(signatures.text.span.extracting(signatures.inner(signature + 1)))
  }

  /// Reads the signature whose parameter `tag` is the given string; without a tag, the one with the label.
  ///
  /// Every other signature is left alone, but a malformed one is refused with the whole field.
  ///
  /// - Throws: ``RequestRefusal/noSignature``, ``RequestRefusal/severalSignatures``,
  ///   ``RequestRefusal/malformedInput``, ``RequestRefusal/malformedSignature``,
  ///   ``RequestRefusal/labelWithoutSignature``, ``RequestRefusal/repeatedComponent`` or
  ///   ``RequestRefusal/tooLong``.
  static func read(
    from head: RequestHead, tag: StaticString? = nil, label: String = ""
  ) throws(RequestRefusal) -> MessageSignature {
    let tags = head.fields.combined(.signature)
    guard let text = head.fields.combined(.signatureInput) else {
      throw tags == nil ? .noSignature : .malformedInput
    }
    guard text.count <= RequestLimits.fieldBytes, tags?.count ?? 0 <= RequestLimits.fieldBytes
    else { throw .tooLong }
    guard let input = StructuredDictionary(text) else { throw .malformedInput }
    guard let signatures = StructuredDictionary(tags ?? []) else { throw .malformedSignature }
    var found: MessageSignature?
    try input.forEach(from: 0, to: input.places.count) { member throws(RequestRefusal) in
      let signature = try MessageSignature(member, of: input, signatures)
      if let tag {
        guard signature.isTagged(tag) else { return }
      } else {
        guard input.text.span.extracting(input.range(member)).isText(label) else { return }
      }
      guard found == nil else { throw .severalSignatures }
      found = signature
    }
    guard let found else { throw .noSignature }
    return found
  }

  private init(
    _ member: Int, of input: StructuredDictionary, _ signatures: StructuredDictionary
  ) throws(RequestRefusal) {
    guard input.places[member + 1].kind == .list else { throw .malformedInput }
    guard
      let signature = signatures.member(input.text.span.extracting(input.range(member)))
    else { throw .labelWithoutSignature }
    guard signatures.places[signature + 1].kind == .bytes else { throw .malformedSignature }
    self.input = input
    self.member = member
    self.signatures = signatures
    self.signature = signature
    covered = try Self.components(of: member, in: input)
  }

  /// The known components that stand without parameters. Refuses a component that is no string, one that
  /// stands twice, and too many of them.
  private static func components(
    of member: Int, in input: StructuredDictionary
  ) throws(RequestRefusal) -> ComponentSet {
    let end = Int(input.places[member + 1].number)
    var covered = ComponentSet()
    var count = 0
    var item = member + 2
    while item < end {
      let place = input.places[item]
      guard place.kind == .string else { throw .malformedInput }
      count += 1
      guard count <= RequestLimits.components else { throw .tooLong }
      let name = ComponentName(input.text.span.extracting(input.inner(item)))
      if name != .other, Int(place.after) == item + 1 {
        if covered.has(name) { throw .repeatedComponent }
        covered.add(name)
      } else {
        var other = member + 2
        while other < item {
          if isSame(other, item, in: input) { throw .repeatedComponent }
          other = Int(input.places[other].after)
        }
      }
      item = Int(place.after)
    }
    return covered
  }

  /// Whether two components have one name, and parameters of the same text.
  private static func isSame(_ one: Int, _ other: Int, in input: StructuredDictionary) -> Bool {
    let count = Int(input.places[one].after) - one
    guard Int(input.places[other].after) - other == count else { return false }
    for offset in 0..<count {
      guard input.text.isSame(at: input.range(one + offset), and: input.range(other + offset))
      else { return false }
    }
    return true
  }

  /// Whether the list covers a component by its name alone, without parameters.
  func covers(_ name: String) -> Bool {
    var item = member + 2
    while item < Int(list.number) {
      let after = Int(input.places[item].after)
      if after == item + 1, input.text.span.extracting(input.inner(item)).isText(name) {
        return true
      }
      item = after
    }
    return false
  }

  /// The places of the parameters' keys.
  func forEachParameter<E: Error>(_ body: (Int) throws(E) -> Void) throws(E) {
    try input.forEach(from: Int(list.number), to: Int(list.after), body)
  }

  private func isTagged(_ value: StaticString) -> Bool {
    var isTagged = false
    forEachParameter { parameter in
      guard input.stands("tag", at: input.range(parameter)) else { return }
      isTagged = input.isString(value, at: parameter + 1)
    }
    return isTagged
  }

  /// The bytes that are signed: a line for each component, and the parameters (RFC 9421, 2.5).
  ///
  /// - Throws: ``RequestRefusal/unknownComponent``, ``RequestRefusal/missingField`` or
  ///   ``RequestRefusal/repeatedComponent``.
  func base(of head: RequestHead) throws(RequestRefusal) -> [UInt8] {
    // The allocator keeps blocks of up to a kilobyte at hand. Most bases fit.
    try [UInt8](expecting: 960) { base throws(RequestRefusal) in
      var item = member + 2
      while item < Int(list.number) {
        try SignatureComponent(input: input, place: item).write(head, to: &base)
        base.append(0x0a)
        item = Int(input.places[item].after)
      }
      base.append("\"@signature-params\": ")
      input.write(member + 1, to: &base)
    }
  }
}
