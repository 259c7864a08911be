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
    let found = try MessageSignature.read(from: head, tag: StandardForm.tag)
    try form.check(head)
    // Each required component must be covered as it stands: with a parameter it would be another.
    try form.forEachComponent(of: head) { name throws(RequestRefusal) in
      guard found.covers(name.utf8) else { throw .uncoveredComponent }
    }
    let parameters = try Parameters(found)
    guard let signature = try? Digest(found.bytes) else { throw .wrongSignature }
    keyID = parameters.keyID
    created = parameters.created
    expires = parameters.expires
    nonce = parameters.nonce
    base = try found.base(of: head)
    self.signature = signature
    if let field = head.fields.first("content-digest") {
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

    init(_ signature: MessageSignature) throws(RequestRefusal) {
      let input = signature.input
      var isAlgorithm = true
      var hasCreated = false
      try signature.forEachParameter { parameter throws(RequestRefusal) in
        let key = input.range(parameter)
        let value = input.places[parameter + 1]
        if input.stands("created", at: key), value.kind == .integer {
          created = value.number
          hasCreated = true
        } else if input.stands("expires", at: key), value.kind == .integer {
          expires = value.number
        } else {
          guard value.kind == .string else { throw .badParameter }
          let text = input.string(parameter + 1)
          if input.stands("keyid", at: key), !text.isEmpty {
            keyID = text
          } else if input.stands("nonce", at: key),
            1...RequestLimits.nonceBytes ~= text.utf8.count
          {
            nonce = text
          } else if input.stands("alg", at: key) {
            isAlgorithm = text == StandardForm.algorithm
          } else if !input.stands("tag", at: key) {
            throw .badParameter
          }
        }
      }
      guard isAlgorithm else { throw .wrongAlgorithm }
      guard hasCreated, !keyID.isEmpty, !nonce.isEmpty else { throw .missingParameter }
    }
  }
}
