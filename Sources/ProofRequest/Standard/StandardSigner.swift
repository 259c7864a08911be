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
    let input = try input(signed, keyID, created, nonce)
    guard let signature = MessageSignature(signing: Array(input.utf8)) else { throw .badParameter }
    let base = try signature.base(of: signed)
    let tag = CoreCrypto.hmac(key: key, base.span)
    try Self.add("signature-input", input, to: &signed.fields)
    try Self.add(
      "signature", "\(Self.label)=:\(Base64.encode(tag.bytes)):", to: &signed.fields)
    // Reads the result as the verifier will, so that a parameter that cannot be written, or a second
    // signature with this tag, is found here.
    _ = try StandardProof(reading: signed, form: self)
    head = signed
  }

  /// `Signature-Input` with the one label.
  private func input(
    _ head: RequestHead, _ keyID: String, _ created: Int64, _ nonce: String
  ) throws(RequestRefusal) -> String {
    guard Self.isPlain(keyID), Self.isPlain(nonce) else { throw .badParameter }
    var input = Self.label + "=("
    forEachComponent(of: head) { name in
      if input.utf8.last != UInt8(ascii: "(") { input += " " }
      input += "\"" + name + "\""
    }
    input += ");created=\(created);keyid=\"" + keyID + "\";alg=\"" + Self.algorithm
    return input + "\";nonce=\"" + nonce + "\";tag=\"" + Self.tag + "\""
  }

  /// Whether a text can stand between quotes as it is.
  private static func isPlain(_ text: String) -> Bool {
    text.utf8.allSatisfy {
      0x20...0x7e ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
    }
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
