/// One signature of a request: its label, the components that it covers, its parameters and its bytes
/// (RFC 9421).
public struct MessageSignature: Sendable, Hashable {
  /// The label that joins `Signature-Input` and `Signature`.
  public let label: String
  /// The components in the order of the signature.
  public let components: [SignatureComponent]
  /// `created`, `keyid` and the others in the order of the signature.
  public let parameters: StructuredParameters
  /// The bytes; empty while the request is being signed.
  public let bytes: [UInt8]

  /// Takes what is to be signed.
  init(
    label: String, components: [SignatureComponent], parameters: StructuredParameters,
    bytes: [UInt8] = []
  ) {
    self.label = label
    self.components = components
    self.parameters = parameters
    self.bytes = bytes
  }

  /// Reads all signatures of a request.
  ///
  /// A request without both fields has none.
  ///
  /// - Throws: ``RequestRefusal/malformedInput``, ``RequestRefusal/malformedSignature``,
  ///   ``RequestRefusal/labelWithoutSignature``, ``RequestRefusal/repeatedComponent`` or
  ///   ``RequestRefusal/tooLong``.
  public static func read(from head: RequestHead) throws(RequestRefusal) -> [MessageSignature] {
    guard let input = head.fields.combined("signature-input") else {
      if head.fields.count(of: "signature") > 0 { throw .malformedInput }
      return []
    }
    let signature = head.fields.combined("signature") ?? []
    guard input.count <= RequestLimits.fieldBytes, signature.count <= RequestLimits.fieldBytes
    else { throw .tooLong }
    guard let inputs = StructuredParser.dictionary(input) else { throw .malformedInput }
    guard let signatures = StructuredParser.dictionary(signature) else { throw .malformedSignature }
    var read: [MessageSignature] = []
    for element in inputs.elements {
      guard case .list(let items, let parameters) = element.member else { throw .malformedInput }
      guard items.count <= RequestLimits.components else { throw .tooLong }
      var components: [SignatureComponent] = []
      for item in items {
        guard let component = SignatureComponent(item) else { throw .malformedInput }
        guard !components.contains(component) else { throw .repeatedComponent }
        components.append(component)
      }
      guard let member = signatures[element.key] else { throw .labelWithoutSignature }
      guard case .item(let item) = member, case .bytes(let bytes) = item.value else {
        throw .malformedSignature
      }
      read.append(
        MessageSignature(
          label: element.key, components: components, parameters: parameters, bytes: bytes))
    }
    return read
  }

  /// The bytes that are signed: a line for each component, and the parameters (RFC 9421, 2.5).
  ///
  /// - Throws: ``RequestRefusal/unknownComponent``, ``RequestRefusal/missingField`` or
  ///   ``RequestRefusal/repeatedComponent``.
  public func base(of head: RequestHead) throws(RequestRefusal) -> [UInt8] {
    var base: [UInt8] = []
    base.reserveCapacity(512)
    for component in components {
      try component.write(head, to: &base)
      base.append(0x0a)
    }
    base += "\"@signature-params\": ".utf8
    input.write(to: &base)
    return base
  }

  /// The member of `Signature-Input`.
  var input: StructuredMember { .list(components.map(\.item), parameters) }

  /// The member of `Signature-Input` as text, with its label.
  var inputText: String {
    var text = Array(label.utf8)
    text.append(UInt8(ascii: "="))
    input.write(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// The member of `Signature` as text, with its label.
  static func text(_ label: String, _ bytes: [UInt8]) -> String {
    var text = Array(label.utf8)
    text.append(UInt8(ascii: "="))
    StructuredValue.bytes(bytes).write(to: &text)
    return String(decoding: text, as: UTF8.self)
  }
}
