// SPDX-License-Identifier: Apache-2.0

/// The content of a signed token whose signature was found right.
public struct VerifiedToken: Sendable {
  /// The key that signed it.
  public let key: JSONWebKey
  /// The header's `typ`.
  public let type: String?
  /// The header's `cty`.
  public let contentType: String?
  /// The bytes that were signed.
  public let payload: [UInt8]
}

/// Checks signed tokens (JWS compact, RFC 7515) with keys that each have one algorithm.
public struct JWSVerifier: Sendable {
  let ring: KeyRing

  /// Makes a verifier with one key.
  ///
  /// - Parameters:
  ///   - key: A key of HS256, ES256, EdDSA or RS256; its public part is enough.
  ///   - keyID: The rule by which tokens name the key.
  /// - Throws: ``JOSEError/keyForOtherUse(_:wanted:)``.
  public init(_ key: JSONWebKey, keyID: KeyIDRule = .exact) throws(JOSEError) {
    ring = try KeyRing([key], rule: keyID, for: .verify, wanted: "check signatures")
  }

  /// Makes a verifier with several keys. Tokens must name the key that they are signed with.
  ///
  /// - Parameter keys: Keys of HS256, ES256, EdDSA and RS256.
  /// - Throws: ``JOSEError/keyForOtherUse(_:wanted:)``.
  public init(_ keys: JWKS) throws(JOSEError) {
    ring = try KeyRing(keys.keys, rule: .exact, for: .verify, wanted: "check signatures")
  }

  /// Checks a token's signature, and nothing else.
  ///
  /// - Parameter token: The token, nothing around it.
  /// - Returns: The signed content.
  /// - Throws: ``JOSEError``.
  public func verify(_ token: String) throws(JOSEError) -> VerifiedToken {
    let parts = try CompactToken(token, parts: 3)
    let header = try parts.header()
    let key = try ring.key(for: header)
    let payload = try parts.decoded(1, as: .payload)
    let signature = try parts.decoded(2, as: .signature)
    let message = parts.characters.span.extracting(parts.signingInput)
    guard try Self.isSignature(signature.span, of: message, by: key) else {
      throw .signatureWrong
    }
    return VerifiedToken(
      key: key, type: header.type, contentType: header.contentType, payload: payload)
  }

  /// Checks a token's signature, then its claims.
  ///
  /// - Parameters:
  ///   - token: The token, nothing around it.
  ///   - policy: The conditions on the claims.
  /// - Returns: The claims.
  /// - Throws: ``JOSEError``.
  public func claims(of token: String, under policy: ClaimsPolicy) throws(JOSEError) -> Claims {
    let verified = try verify(token)
    try policy.judge(type: verified.type, contentType: verified.contentType)
    let claims = try Claims(parsing: verified.payload.span)
    guard claims.measurement == nil else { throw .measurementInClear }
    try policy.judge(claims)
    return claims
  }

  static func isSignature(
    _ signature: Span<UInt8>, of message: Span<UInt8>, by key: JSONWebKey
  ) throws(JOSEError) -> Bool {
    if let coreKey = key.material.coreKey {
      return try coreKey.isSignature(signature, of: message)
    }
    return try key.withSecret { secret throws(JOSEError) in
      try Digest.isMAC(signature, of: message, key: secret)
    }
  }
}
