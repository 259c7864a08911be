// SPDX-License-Identifier: Apache-2.0

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
  ///   - created: The present time. The signature carries whole seconds.
  ///   - nonce: A text that this key never signs again; at most 128 characters of printable ASCII.
  /// - Throws: ``RequestRefusal``, if a verifier would refuse the request.
  public func sign(
    _ head: inout RequestHead, body: ContentDigest?, with key: RawSpan, keyID: String,
    created: UnixTime, nonce: String
  ) throws(RequestRefusal) {
    let draft = try SignatureDraft(
      of: self, head, body, SignatureDraft.Parameters(.hmac, keyID, created, nonce))
    let tag = CoreCrypto.hmac(key: key, draft.base.span)
    draft.add(tag.withBytes { Base64.encode($0) }, to: &head)
  }

  /// Signs a request with the key of the installation (`ecdsa-p256-sha256`), beside the standard form's own signature
  /// or alone.
  ///
  /// - Parameters:
  ///   - head: The request as it will be sent.
  ///   - body: The digest of the body; nil only for `GET` and `HEAD` without a body.
  ///   - keyID: A name by which the verifier finds the key.
  ///   - created: The present time. The signature carries whole seconds.
  ///   - nonce: A text that this key never signs again; at most 128 characters of printable ASCII.
  ///   - signature: Signs the message with ES256; `InstallationKey.signature(of:)` does.
  /// - Throws: The error of `signature`, or ``RequestRefusal``.
  public func sign(
    _ head: inout RequestHead, body: ContentDigest?, keyID: String, created: UnixTime,
    nonce: String,
    byInstallation signature: (_ message: [UInt8]) throws -> InstallationSignature
  ) throws {
    let draft = try SignatureDraft(
      of: self, head, body, SignatureDraft.Parameters(.installation, keyID, created, nonce))
    let signature = try signature(draft.base)
    draft.add(signature.withBytes { Base64.encode($0) }, to: &head)
  }
}

/// The bytes that a request's signature covers, written once into one buffer, and the fields that it adds.
struct SignatureDraft {
  /// The values of the signature's parameters.
  struct Parameters {
    let kind: SignatureKind
    let keyID: String
    let created: Int64
    let nonce: String

    init(_ kind: SignatureKind, _ keyID: String, _ created: UnixTime, _ nonce: String) {
      self.kind = kind
      self.keyID = keyID
      self.created = created.seconds
      self.nonce = nonce
    }

    func write(to base: inout ByteWriter) {
      base.append(";created=" as StaticString)
      base.append(decimal: created)
      base.append(";keyid=\"" as StaticString)
      base.append(keyID)
      base.append("\";alg=\"" as StaticString)
      base.append(kind.algorithm)
      base.append("\";nonce=\"" as StaticString)
      base.append(nonce)
      base.append("\";tag=\"" as StaticString)
      base.append(kind.tag)
      base.append(UInt8(ascii: "\""))
    }
  }

  private let kind: SignatureKind
  let base: [UInt8]
  /// The digest of the body that the request is to carry; nil for the one that it has, or for none.
  private let digest: String?
  /// Where the parameters begin in the base: they are the value of `Signature-Input`, too.
  private let parameters: Int

  init(
    of form: StandardForm, _ head: RequestHead, _ body: ContentDigest?, _ parameters: Parameters
  ) throws(RequestRefusal) {
    try form.check(head, isDigestSet: body != nil)
    if body == nil, let field = head.fields.first(.contentDigest) {
      _ = try ContentDigest(reading: field)
    }
    try Self.check(parameters)
    let digest = body?.text
    var more: [String] = []
    form.forEachMoreField(of: head.fields) { more.append($0) }
    let required = StandardForm.required(of: head.fields, hasDigest: digest != nil)
    guard required.rawValue.nonzeroBitCount + more.count <= RequestLimits.components else {
      throw .tooLong
    }
    var start = 0
    base = [UInt8](expecting: 960) { base in
      for component in StandardForm.order where required.has(component) {
        Self.writeLine(component, head, digest, to: &base)
      }
      for name in more { Self.writeLine(name, head, to: &base) }
      base.append("\"@signature-params\": ")
      start = base.count
      Self.write(required, more, to: &base)
      parameters.write(to: &base)
    }
    let tagBytes = parameters.kind.tag.utf8CodeUnitCount
    guard base.count - start + tagBytes + 1 <= RequestLimits.fieldBytes else { throw .tooLong }
    self.parameters = start
    self.digest = digest
    kind = parameters.kind
    try checkOthers(head)
  }

  /// Adds the signature, in base64, and what belongs to it to the request.
  func add(_ signature: String, to head: inout RequestHead) {
    head.fields.reserveRoom(for: 3)
    if let digest { head.fields.replace("content-digest", .contentDigest, checked: digest) }
    let kind = kind
    let input = String(expecting: kind.tag.utf8CodeUnitCount + 1 + base.count - parameters) {
      $0.append(kind.tag)
      $0.append(UInt8(ascii: "="))
      $0.append(base.span.extracting(parameters..<base.count))
    }
    let text = String(expecting: kind.tag.utf8CodeUnitCount + 3 + signature.utf8.count) {
      $0.append(kind.tag)
      $0.append("=:" as StaticString)
      $0.append(signature)
      $0.append(UInt8(ascii: ":"))
    }
    head.fields.append("signature-input", .signatureInput, checked: input)
    head.fields.append("signature", .signature, checked: text)
  }

  private static func writeLine(
    _ component: ComponentName, _ head: RequestHead, _ digest: String?, to base: inout ByteWriter
  ) {
    base.append(component.line)
    if component.isDerived {
      head.write(component, to: &base)
    } else if component == .contentDigest, let digest {
      base.append(digest)
    } else {
      // The form names fields that the request has.
      _ = head.fields.writeCombined(component, to: &base)
    }
    base.append(0x0a)
  }

  private static func writeLine(
    _ name: String, _ head: RequestHead, to base: inout ByteWriter
  ) {
    base.append(UInt8(ascii: "\""))
    base.append(name)
    base.append("\": " as StaticString)
    _ = head.fields.writeCombined(name.utf8.span, to: &base)
    base.append(0x0a)
  }

  /// Writes the list of the covered components.
  private static func write(
    _ required: ComponentSet, _ more: [String], to base: inout ByteWriter
  ) {
    var isFirst = true
    base.append(UInt8(ascii: "("))
    for component in StandardForm.order where required.has(component) {
      if !isFirst { base.append(0x20) }
      isFirst = false
      base.append(component.line, without: 2)
    }
    for name in more {
      base.append(" \"" as StaticString)
      base.append(name)
      base.append(UInt8(ascii: "\""))
    }
    base.append(UInt8(ascii: ")"))
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
    let text = text.utf8.span
    for index in text.indices {
      let byte = text[index]
      guard 0x20...0x7e ~= byte, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else {
        return false
      }
    }
    return true
  }

  /// A request that has signatures already is read as the verifier will, so that a second signature with this tag, or
  /// under this label, is found here.
  private func checkOthers(_ head: RequestHead) throws(RequestRefusal) {
    guard head.fields.known.has(.signatureInput) || head.fields.known.has(.signature) else {
      return
    }
    var signed = head
    let zeros = [UInt8](repeating: 0, count: kind.signatureBytes)
    add(Base64.encode(zeros), to: &signed)
    _ = try MessageSignature.read(from: signed, tag: kind.tag)
  }
}
