public import ProofModel

extension StandardForm {
  /// Signs a request: sets `Content-Digest`, `Signature-Input` and `Signature`.
  ///
  /// Signatures under other labels stay.
  ///
  /// - Parameters:
  ///   - head: The request as it will be sent.
  ///   - body: The digest of the body; nil only for `GET` and `HEAD` without a body.
  ///   - key: The key of the standard form.
  ///   - keyID: The name of the key: the handle of the installation.
  ///   - created: Unix time in seconds.
  ///   - nonce: A text that this key never signs again; at most 128 characters of printable ASCII.
  /// - Throws: ``RequestRefusal``, if a verifier would refuse the request.
  public func sign(
    _ head: inout RequestHead, body: ContentDigest?, with key: borrowing SecretBytes,
    keyID: String, created: Int64, nonce: String
  ) throws(RequestRefusal) {
    var signed = head
    if let body { try Self.set("content-digest", body.text, in: &signed.fields) }
    try check(signed)
    var parameters = StructuredParameters()
    _ = parameters.append("created", .integer(created))
    _ = parameters.append("keyid", .string(keyID))
    _ = parameters.append("alg", .string(Self.algorithm))
    _ = parameters.append("nonce", .string(nonce))
    _ = parameters.append("tag", .string(Self.tag))
    let signature = MessageSignature(
      label: Self.label, components: components(of: signed), parameters: parameters)
    let base = try signature.base(of: signed)
    let tag = CoreCrypto.hmac(key: key, base.span)
    try Self.add("signature-input", signature.inputText, to: &signed.fields)
    try Self.add("signature", MessageSignature.text(Self.label, tag.bytes), to: &signed.fields)
    // Reads the result as the verifier will, so that a parameter that cannot be written, or a second
    // signature with this tag, is found here.
    _ = try StandardProof(reading: signed, form: self)
    head = signed
  }

  private static func set(
    _ name: String, _ value: String, in fields: inout HeaderFields
  ) throws(RequestRefusal) {
    do { try fields.set(name, value) } catch { throw .badParameter }
  }

  private static func add(
    _ name: String, _ value: String, to fields: inout HeaderFields
  ) throws(RequestRefusal) {
    do { try fields.append(name, value) } catch { throw .badParameter }
  }
}
