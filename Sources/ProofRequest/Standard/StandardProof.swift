// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// A proof of the standard form that was read from a request, whose signature is still to be checked.
public struct StandardProof: Sendable {
  /// The name of the key that the request claims to be signed with.
  public var keyID: String { read.keyID }
  /// The time when it was made, by the clock of the app.
  public var created: UnixTime { UnixTime(seconds: read.parameters.created) }
  /// The time after which the signer wants the proof to be refused.
  public var expires: UnixTime? { read.parameters.expires.map { UnixTime(seconds: $0) } }
  /// The text that makes the proof single use.
  public var nonce: String { read.nonce }
  /// The digest of the body that the proof covers; nil for a request without one.
  public var body: ContentDigest? { read.body }

  private let read: ReadSignature
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
    let read = try ReadSignature(.hmac, head, form)
    guard let signature = read.signature.withBase64(Base64Text.digest) else {
      throw .wrongSignature
    }
    self.read = read
    self.signature = signature
  }

  /// Whether the signature is this key's. Takes the same time for each signature.
  ///
  /// - Parameter key: The 32 bytes that `GateKeys.withRequestKey` lends.
  /// - Returns: Whether it is.
  public func isSigned(with key: RawSpan) -> Bool {
    let expected = CoreCrypto.hmac(key: key, read.base.span)
    return expected.withBytes { expected in
      signature.withBytes { CoreCrypto.equal(expected, $0) }
    }
  }
}

/// A signature by the installation's own key (ES256) that was read from a request and is still to be checked.
public struct InstallationProof: Sendable {
  /// The name of the key that the request claims to be signed with.
  public var keyID: String { read.keyID }
  /// The time when it was made, by the clock of the app.
  public var created: UnixTime { UnixTime(seconds: read.parameters.created) }
  /// The time after which the signer wants the proof to be refused.
  public var expires: UnixTime? { read.parameters.expires.map { UnixTime(seconds: $0) } }
  /// The text that makes the proof single use.
  public var nonce: String { read.nonce }
  /// The digest of the body that the proof covers; nil for a request without one.
  public var body: ContentDigest? { read.body }
  /// The bytes that were signed; their SHA-256 goes into ES256.
  public var message: [UInt8] { read.base }
  /// r and s.
  public let signature: InstallationSignature

  private let read: ReadSignature

  /// Reads the one signature with the tag ``StandardForm/installationTag``, under the same rules as
  /// ``StandardProof/init(reading:form:)``.
  ///
  /// - Parameters:
  ///   - head: The request as it arrived, with scheme and authority from the route.
  ///   - form: The route's additions to the form.
  /// - Throws: ``RequestRefusal``.
  public init(reading head: RequestHead, form: StandardForm = StandardForm()) throws(RequestRefusal)
  {
    let read = try ReadSignature(.installation, head, form)
    guard let signature = try? InstallationSignature(read.signature.bytes) else {
      throw .wrongSignature
    }
    self.read = read
    self.signature = signature
  }
}

/// A signature of one kind as a request carries it, with the bytes that it covers.
struct ReadSignature: Sendable {
  let signature: MessageSignature
  let parameters: Parameters
  let body: ContentDigest?
  let base: [UInt8]

  var keyID: String { signature.input.string(parameters.keyID) }
  var nonce: String { signature.input.string(parameters.nonce) }

  init(_ kind: SignatureKind, _ head: RequestHead, _ form: StandardForm) throws(RequestRefusal) {
    let found = try MessageSignature.read(from: head, tag: kind.tag)
    try form.check(head)
    let digest = head.fields.first(.contentDigest)
    // Each required component must be covered as it stands: with a parameter it would be another.
    let required = StandardForm.required(of: head.fields, hasDigest: digest != nil)
    guard required.isSubset(of: found.covered) else { throw .uncoveredComponent }
    try form.forEachMoreField(of: head.fields) { name throws(RequestRefusal) in
      guard found.covers(name) else { throw .uncoveredComponent }
    }
    signature = found
    parameters = try Parameters(found, kind)
    base = try found.base(of: head)
    body = if let digest { try ContentDigest(reading: digest) } else { nil }
  }

  /// The parameters that the form knows, each with its type.
  struct Parameters: Sendable {
    var created: Int64 = 0
    var expires: Int64?
    /// The places of the strings in the input.
    var keyID = 0
    var nonce = 0

    init(_ signature: MessageSignature, _ kind: SignatureKind) throws(RequestRefusal) {
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
          if input.stands("keyid", at: key) {
            keyID = parameter + 1
            guard input.stringCount(keyID) > 0 else { throw .badParameter }
          } else if input.stands("nonce", at: key) {
            nonce = parameter + 1
            guard 1...RequestLimits.nonceBytes ~= input.stringCount(nonce) else {
              throw .badParameter
            }
          } else if input.stands("alg", at: key) {
            isAlgorithm = input.isString(kind.algorithm, at: parameter + 1)
          } else if !input.stands("tag", at: key) {
            throw .badParameter
          }
        }
      }
      guard isAlgorithm else { throw .wrongAlgorithm }
      // The first place of an input is its label.
      guard hasCreated, keyID > 0, nonce > 0 else { throw .missingParameter }
    }
  }
}
