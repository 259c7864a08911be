// SPDX-License-Identifier: Apache-2.0

/// The content of a sealed token that was found authentic.
public struct OpenedToken: ~Copyable, Sendable {
  /// The key that it was sealed under.
  public let key: JSONWebKey
  /// The header's `typ`.
  public let type: String?
  /// The header's `cty`.
  public let contentType: String?
  /// The bytes that were sealed.
  public let payload: JOSESecret
}

/// Opens sealed tokens (JWE compact, RFC 7516) with keys that each have one algorithm.
///
/// Every defect of a token of the right form gives ``JOSEError/decryptionFailed``, after the same
/// work: a wrong key, an altered wrapped key, altered content or an altered tag.
public struct JWEDecrypter: Sendable {
  private let ring: KeyRing

  /// Makes a decrypter with one key.
  ///
  /// - Parameters:
  ///   - key: A key of `dir` or A256KW, or a private key of ECDH-ES+A256KW or RSA-OAEP-256.
  ///   - keyID: The rule by which tokens name the key.
  /// - Throws: ``JOSEError/keyForOtherUse(_:wanted:)``, ``JOSEError/keyNotPrivate``.
  public init(_ key: JSONWebKey, keyID: KeyIDRule = .exact) throws(JOSEError) {
    ring = try KeyRing([key], rule: keyID, for: [.decrypt, .unwrapKey], wanted: "decrypt")
  }

  /// Makes a decrypter with several keys. Tokens must name the key that they are sealed under.
  ///
  /// - Parameter keys: Keys of `dir`, A256KW, ECDH-ES+A256KW and RSA-OAEP-256.
  /// - Throws: ``JOSEError/keyForOtherUse(_:wanted:)``, ``JOSEError/keyNotPrivate``.
  public init(_ keys: JWKS) throws(JOSEError) {
    ring = try KeyRing(keys.keys, rule: .exact, for: [.decrypt, .unwrapKey], wanted: "decrypt")
  }

  /// Opens a token, and checks nothing else. Any sender can seal to a public key.
  ///
  /// - Parameter token: The token, nothing around it.
  /// - Returns: The sealed content.
  /// - Throws: ``JOSEError``.
  public func open(_ token: String) throws(JOSEError) -> OpenedToken {
    let parts = try CompactToken(token, parts: 5)
    let header = try parts.header()
    let key = try ring.key(for: header)
    guard let encryption = header.encryption else { throw .headerMember("enc") }
    guard encryption == TokenHeader.a256gcm else {
      throw .encryptionRefused(ExactText.quoted(encryption))
    }
    let wrapped = try parts.decoded(
      1, as: .encryptedKey, count: ContentKey.wrappedByteCount(of: key))
    let iv = try parts.decoded(2, as: .initializationVector, count: GCM.ivByteCount)
    let ciphertext = try parts.decoded(3, as: .ciphertext)
    let tag = try parts.decoded(4, as: .tag, count: GCM.tagByteCount)

    let contentKey = try ContentKey(of: header, wrapped: wrapped, for: key)
    let payload = try contentKey.withBytes { (contentKey) throws(JOSEError) -> JOSESecret? in
      try GCM.open(
        ciphertext.span, tag: tag.span, key: contentKey, iv: iv.span,
        additionalData: parts.characters.span.extracting(parts.encodedHeader))
    }
    guard let payload else { throw .decryptionFailed }
    return OpenedToken(
      key: key, type: header.type, contentType: header.contentType, payload: payload)
  }

  /// Opens a token of a shared key, then checks its claims. A token sealed to a public key can come
  /// from any sender and is refused; ``claims(of:signedBy:under:)`` takes it.
  ///
  /// - Parameters:
  ///   - token: The token, nothing around it.
  ///   - policy: The conditions on the claims.
  /// - Returns: The claims.
  /// - Throws: ``JOSEError``.
  public func claims(of token: String, under policy: ClaimsPolicy) throws(JOSEError) -> Claims {
    try claims(in: open(token), under: policy)
  }

  func claims(
    in opened: borrowing OpenedToken, under policy: ClaimsPolicy
  ) throws(JOSEError) -> Claims {
    guard !opened.key.algorithm.isPublicKeyEncryption else { throw .signatureMissing }
    try policy.judge(type: opened.type, contentType: opened.contentType)
    let claims = try opened.payload.withBytes { bytes throws(JOSEError) in
      try Claims(parsing: bytes)
    }
    try policy.judge(claims)
    return claims
  }
}
