public import ProofModel

extension StandardForm {
  /// Signs a request: sets `Content-Digest`, `Signature-Input` and `Signature`.
  ///
  /// Signatures under other labels stay.
  ///
  /// - Parameters:
  ///   - head: The request as it will be sent.
  ///   - body: The digest of the body; nil only for `GET` and `HEAD` without a body.
  ///   - key: The 32 bytes that `GateKeys.withRequestKey` lends.
  ///   - keyID: The name of the key: the handle of the installation.
  ///   - created: Unix time in seconds.
  ///   - nonce: A text that this key never signs again; at most 128 characters of printable ASCII.
  /// - Throws: ``RequestRefusal``, if a verifier would refuse the request.
  public func sign(
    _ head: inout RequestHead, body: ContentDigest?, with key: RawSpan, keyID: String,
    created: Int64, nonce: String
  ) throws(RequestRefusal) {
    let draft = try SignatureDraft(
      of: self, head, body, SignatureDraft.Parameters(.hmac, keyID, created, nonce))
    let tag = CoreCrypto.hmac(key: key, draft.base.span)
    head = tag.withBytes { draft.signed($0) }
  }

  /// Signs a request with the key of the installation (`ecdsa-p256-sha256`), beside the standard form's own signature
  /// or alone.
  ///
  /// - Parameters:
  ///   - head: The request as it will be sent.
  ///   - body: The digest of the body; nil only for `GET` and `HEAD` without a body.
  ///   - keyID: A name by which the verifier finds the key.
  ///   - created: Unix time in seconds.
  ///   - nonce: A text that this key never signs again; at most 128 characters of printable ASCII.
  ///   - signature: Signs the message with ES256; `InstallationKey.signature(of:)` does.
  /// - Throws: The error of `signature`, or ``RequestRefusal``.
  public func sign(
    _ head: inout RequestHead, body: ContentDigest?, keyID: String, created: Int64, nonce: String,
    byInstallation signature: (_ message: [UInt8]) throws -> InstallationSignature
  ) throws {
    let draft = try SignatureDraft(
      of: self, head, body, SignatureDraft.Parameters(.installation, keyID, created, nonce))
    let signature = try signature(draft.base)
    head = signature.withBytes { draft.signed($0) }
  }
}

/// The bytes that a request's signature covers, written once into one buffer, and the request with its digest.
struct SignatureDraft {
  /// The values of the signature's parameters.
  struct Parameters {
    let kind: SignatureKind
    let keyID: String
    let created: Int64
    let nonce: String

    init(_ kind: SignatureKind, _ keyID: String, _ created: Int64, _ nonce: String) {
      self.kind = kind
      self.keyID = keyID
      self.created = created
      self.nonce = nonce
    }
  }

  private let head: RequestHead
  private let kind: SignatureKind
  let base: [UInt8]
  /// Where the parameters begin in the base: they are the value of `Signature-Input`, too.
  private let parameters: Int

  init(
    of form: StandardForm, _ head: RequestHead, _ body: ContentDigest?, _ parameters: Parameters
  ) throws(RequestRefusal) {
    var head = head
    var base: [UInt8] = []
    head.fields.reserveRoom(for: 3)
    if let body { head.fields.replace("content-digest", checked: body.text) }
    try form.check(head)
    if body == nil, let field = head.fields.first("content-digest") {
      _ = try ContentDigest(reading: field)
    }
    try Self.check(parameters)
    base.reserveCapacity(1024)
    var names: [UInt8] = []
    names.reserveCapacity(256)
    var count = 0
    let signed = head
    try form.forEachComponent(of: signed) { name throws(RequestRefusal) in
      count += 1
      if count > 1 { names.append(0x20) }
      names.append(UInt8(ascii: "\""))
      names.append(text: name)
      names.append(UInt8(ascii: "\""))
      try Self.writeLine(name, signed, to: &base)
    }
    guard count <= RequestLimits.components else { throw .tooLong }
    base.append(text: "\"@signature-params\": ")
    let start = base.count
    base.append(UInt8(ascii: "("))
    base.append(contentsOf: names)
    base.append(text: ");created=")
    base.append(text: String(parameters.created))
    base.append(text: ";keyid=\"")
    base.append(text: parameters.keyID)
    base.append(text: "\";alg=\"")
    base.append(text: parameters.kind.algorithm)
    base.append(text: "\";nonce=\"")
    base.append(text: parameters.nonce)
    base.append(text: "\";tag=\"")
    base.append(text: parameters.kind.tag)
    base.append(UInt8(ascii: "\""))
    guard base.count - start + parameters.kind.tag.utf8.count + 1 <= RequestLimits.fieldBytes else {
      throw .tooLong
    }
    self.base = base
    self.parameters = start
    kind = parameters.kind
    self.head = head
    try checkOthers()
  }

  /// The request with its signature.
  consuming func signed(_ signature: Span<UInt8>) -> RequestHead {
    var signed = head
    var input: [UInt8] = []
    input.reserveCapacity(base.count - parameters + 32)
    input.append(text: kind.tag)
    input.append(UInt8(ascii: "="))
    input.append(contentsOf: base[parameters...])
    signed.fields.append("signature-input", checked: String(decoding: input, as: UTF8.self))
    signed.fields.append("signature", checked: kind.tag + "=:" + Base64.encode(signature) + ":")
    return signed
  }

  private static func writeLine(
    _ name: String, _ head: RequestHead, to base: inout [UInt8]
  ) throws(RequestRefusal) {
    base.append(UInt8(ascii: "\""))
    base.append(text: name)
    base.append(text: "\": ")
    switch name {
    case "@method": base.append(text: head.method)
    case "@authority": base.append(text: head.authority)
    case "@path": base.append(text: head.path)
    case "@query": base.append(text: head.query ?? "?")
    default:
      // The form names fields that the request has, and those of a derived component's name it has not.
      guard head.fields.writeCombined(name, to: &base) else { throw .missingField }
    }
    base.append(0x0a)
  }

  /// The parameters have one spelling: what a verifier could not read is not written.
  private static func check(_ parameters: Parameters) throws(RequestRefusal) {
    guard !parameters.keyID.isEmpty, isPlain(parameters.keyID), isPlain(parameters.nonce),
      1...RequestLimits.nonceBytes ~= parameters.nonce.utf8.count,
      // RFC 8941, section 3.3.1: an integer has at most 15 digits.
      (-999_999_999_999_999...999_999_999_999_999).contains(parameters.created)
    else { throw .badParameter }
  }

  /// Whether a text can stand between quotes as it is.
  private static func isPlain(_ text: String) -> Bool {
    text.utf8.allSatisfy {
      0x20...0x7e ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
    }
  }

  /// A request that has signatures already is read as the verifier will, so that a second signature with this tag, or
  /// under this label, is found here.
  private func checkOthers() throws(RequestRefusal) {
    guard head.fields.count(of: "signature-input") > 0 || head.fields.count(of: "signature") > 0
    else { return }
    let zeros = [UInt8](repeating: 0, count: kind.signatureBytes)
    _ = try MessageSignature.read(from: signed(zeros.span), tag: kind.tag)
  }
}
