// SPDX-License-Identifier: Apache-2.0

// A token that is signed, then sealed (RFC 7519, 5.2 and 11.2). The signed token is as secret as
// the claims, so it stays in memory for secrets.

extension JWEEncrypter {
  /// Signs claims, and seals the signed token.
  ///
  /// Use this for every public key: sealing alone does not authenticate the sender.
  ///
  /// - Parameters:
  ///   - claims: The claims. A measurement is in the sealed token only. They must name the audience
  ///     (`aud`), because a recipient could seal the signed token again, to another backend's key.
  ///   - signer: Signs the inner token.
  ///   - type: The `typ` of both headers.
  /// - Returns: The token.
  /// - Throws: ``JOSEError``, among it ``JOSEError/claimMissing(_:)`` for claims without `aud` to a
  ///   public key.
  public func seal(
    _ claims: Claims, signedBy signer: JWSSigner, type: String? = "JWT"
  ) throws(JOSEError) -> String {
    guard !isForPublicKey || !claims.audience.isEmpty else { throw .claimMissing("aud") }
    guard !isForPublicKey || !signer.key.algorithm.isSymmetric else {
      throw .keyForOtherUse(signer.key.algorithm, wanted: "sign inside a token of a public key")
    }
    let signed = try signer.signed(claims, type: type)
    return try signed.withBytes { bytes throws(JOSEError) in
      try seal(payload: bytes, type: type, contentType: JWEDecrypter.nested)
    }
  }
}

extension JWSSigner {
  /// A signed token in memory for secrets.
  func signed(_ claims: Claims, type: String?) throws(JOSEError) -> JOSESecret {
    let header = try TokenHeader(
      algorithm: key.algorithm, keyID: key.id, type: type, contentType: nil
    ).encoded()
    let json = try claims.secretJSON()
    let message = json.withBytes { (json) -> JOSESecret in
      TextWriter.secret { writer, text in
        for byte in header { writer.byte(byte, into: &text) }
        writer.byte(UInt8(ascii: "."), into: &text)
        writer.base64(json, .url, into: &text)
      }
    }
    let signature = try message.withBytes { bytes throws(JOSEError) in
      try self.signature(of: bytes)
    }
    return message.withBytes { message in
      TextWriter.secret { writer, text in
        for index in message.indices { writer.byte(message[index], into: &text) }
        writer.byte(UInt8(ascii: "."), into: &text)
        writer.base64(signature.span, .url, into: &text)
      }
    }
  }
}

extension JWEDecrypter {
  /// The `cty` of a token with another inside.
  static let nested = "JWT"

  /// Opens a token, checks the signature of the token inside, then checks its claims.
  ///
  /// - Parameters:
  ///   - token: The token, nothing around it.
  ///   - verifier: Checks the signature inside. For a token of a public key, only asymmetric keys
  ///     count: with a shared key, a backend that opens tokens could also make them.
  ///   - policy: The conditions on the claims.
  /// - Returns: The claims.
  /// - Throws: ``JOSEError``, among it ``JOSEError/signatureMissing`` if no token is inside.
  public func claims(
    of token: String, signedBy verifier: JWSVerifier, under policy: ClaimsPolicy
  ) throws(JOSEError) -> Claims {
    try claims(in: open(token), signedBy: verifier, under: policy)
  }

  /// Opens a token that is only sealed, or signed and then sealed: its content type says which. For
  /// a public key only the latter is accepted.
  ///
  /// - Parameters:
  ///   - token: The token, nothing around it.
  ///   - verifier: Checks the signature inside, if there is one; nil if none is expected.
  ///   - policy: The conditions on the claims.
  /// - Returns: The claims.
  /// - Throws: ``JOSEError``.
  package func claims(
    of token: String, mayBeSignedBy verifier: JWSVerifier?, under policy: ClaimsPolicy
  ) throws(JOSEError) -> Claims {
    let opened = try open(token)
    if let verifier, ExactText.areEqual(opened.contentType, Self.nested) {
      return try claims(in: opened, signedBy: verifier, under: policy)
    }
    return try claims(in: opened, under: policy)
  }

  /// The claims' JSON of the token inside, after its signature was found right; the claims are not
  /// checked.
  package static func signedPayload(
    in opened: borrowing OpenedToken, by verifier: JWSVerifier
  ) throws(JOSEError) -> JOSESecret {
    guard ExactText.areEqual(opened.contentType, nested) else { throw .signatureMissing }
    let isForPublicKey = opened.key.algorithm.isPublicKeyEncryption
    return try opened.payload.withBytes { bytes throws(JOSEError) in
      let inside = try verifier.payload(inside: bytes, asymmetricOnly: isForPublicKey)
      return inside.payload.withBytes { JOSESecret(copying: $0) }
    }
  }

  func claims(
    in opened: borrowing OpenedToken, signedBy verifier: JWSVerifier, under policy: ClaimsPolicy
  ) throws(JOSEError) -> Claims {
    guard ExactText.areEqual(opened.contentType, Self.nested) else { throw .signatureMissing }
    try policy.judge(type: opened.type, contentType: nil)
    let isForPublicKey = opened.key.algorithm.isPublicKeyEncryption
    let inside = try opened.payload.withBytes { bytes throws(JOSEError) in
      try verifier.payload(inside: bytes, asymmetricOnly: isForPublicKey)
    }
    try policy.judge(type: inside.type, contentType: inside.contentType)
    let claims = try inside.payload.withBytes { bytes throws(JOSEError) in
      try Claims(parsing: bytes)
    }
    guard !isForPublicKey || !claims.audience.isEmpty else { throw .audienceRefused([]) }
    try policy.judge(claims)
    return claims
  }
}

/// The content of a sealed signed token, after its signature was found right.
struct InnerToken: ~Copyable {
  let type: String?
  let contentType: String?
  let payload: JOSESecret
}

extension JWSVerifier {
  /// Checks the signature of an opened token, and returns its content.
  func payload(
    inside token: Span<UInt8>, asymmetricOnly: Bool
  ) throws(JOSEError) -> InnerToken {
    let parts = try CompactToken.parts(of: token, 3)
    let header = try CompactToken.header(token.extracting(parts[0]))
    let key = try ring.key(for: header)
    guard !asymmetricOnly || !key.algorithm.isSymmetric else {
      throw .keyForOtherUse(key.algorithm, wanted: "sign inside a token of a public key")
    }
    guard let signature = Base64Alphabet.url.decode(token.extracting(parts[2])) else {
      throw .notBase64(.signature)
    }
    let message = token.extracting(0..<parts[1].upperBound)
    guard try Self.isSignature(signature.span, of: message, by: key) else {
      throw .signatureWrong
    }
    let text = token.extracting(parts[1])
    guard let count = Base64Alphabet.url.decodedCount(of: text) else { throw .notBase64(.payload) }
    let payload = try JOSESecret(count: count) { bytes throws(JOSEError) in
      guard Base64Alphabet.url.decode(text, into: &bytes) else { throw .notBase64(.payload) }
    }
    return InnerToken(type: header.type, contentType: header.contentType, payload: payload)
  }
}
