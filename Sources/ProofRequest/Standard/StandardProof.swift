public import ProofModel

/// A proof of the standard form that was read from a request, whose signature is still to be checked.
public struct StandardProof: Sendable {
  /// The name of the key that the request claims to be signed with.
  public let keyID: String
  /// Unix time in seconds, by the clock of the app.
  public let created: Int64
  /// Unix time in seconds after which the signer wants the proof to be refused.
  public let expires: Int64?
  /// The text that makes the proof single use.
  public let nonce: String
  /// The digest of the body that the proof covers; nil for a request without one.
  public let body: ContentDigest?

  private let base: [UInt8]
  private let signature: Digest

  /// Reads the one signature with the tag of the form, and refuses a request that it does not cover as
  /// the form says. Other signatures are left alone.
  ///
  /// - Parameters:
  ///   - head: The request as it arrived, with scheme and authority from the route.
  ///   - form: The route's additions to the form.
  /// - Throws: ``RequestRefusal``.
  public init(reading head: RequestHead, form: StandardForm = StandardForm()) throws(RequestRefusal)
  {
    var found: MessageSignature?
    for signature in try MessageSignature.read(from: head)
    where signature.parameters["tag"] == .string(StandardForm.tag) {
      guard found == nil else { throw .severalSignatures }
      found = signature
    }
    guard let found else { throw .noSignature }
    try form.check(head)
    // Each required component must be covered as it stands: with a parameter it would be another.
    for component in form.components(of: head) where !found.components.contains(component) {
      throw .uncoveredComponent
    }
    guard found.bytes.count == 32, let signature = try? Digest(found.bytes.span) else {
      throw .wrongSignature
    }
    let parameters = try Parameters(found.parameters)
    keyID = parameters.keyID
    created = parameters.created
    expires = parameters.expires
    nonce = parameters.nonce
    base = try found.base(of: head)
    self.signature = signature
    if let field = head.fields.values(of: "content-digest").first {
      body = try ContentDigest(reading: field)
    } else {
      body = nil
    }
  }

  /// Whether the signature is this key's. Takes the same time for each signature.
  public func isSigned(with key: borrowing SecretBytes) -> Bool {
    let expected = CoreCrypto.hmac(key: key, base.span)
    return expected.withBytes { expected in
      signature.withBytes { CoreCrypto.equal(expected, $0) }
    }
  }

  /// The parameters that the form knows, each with its type.
  private struct Parameters {
    var keyID = ""
    var created: Int64 = 0
    var expires: Int64?
    var nonce = ""

    init(_ parameters: StructuredParameters) throws(RequestRefusal) {
      for required in ["created", "keyid", "nonce"] where parameters[required] == nil {
        throw .missingParameter
      }
      for element in parameters.elements {
        switch (element.key, element.value) {
        case ("created", .integer(let value)): created = value
        case ("expires", .integer(let value)): expires = value
        case ("keyid", .string(let value)) where !value.isEmpty: keyID = value
        case ("nonce", .string(let value))
        where 1...RequestLimits.nonceBytes ~= value.utf8.count:
          nonce = value
        case ("alg", .string(let value)):
          guard value == StandardForm.algorithm else { throw .wrongAlgorithm }
        case ("tag", .string): break
        default: throw .badParameter
        }
      }
    }
  }
}
