// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE

/// Checks the tokens that apps present to an API backend: signed ones (HS256, ES256, EdDSA, RS256),
/// sealed ones (JWE), and those that are signed, then sealed.
///
/// A token's shape decides whether it is signed or sealed, its `kid` the key, and the key the
/// algorithm. No other part of the token has an influence. Any sender can seal to this backend's
/// public key (ECDH-ES+A256KW, RSA-OAEP-256). So such a token must hold one that the service signed
/// for this audience.
public struct TokenVerifier: Sendable {
  /// The claims that tokens must have, beside an expiry in the future.
  public struct Rules: Sendable {
    /// The expected `iss`; nil if it does not matter.
    public var issuer: String?
    /// This API's name in `aud`; nil if tokens have no `aud`.
    public var audience: String?
    /// Seconds by which the service's clock may differ, 0 to 300.
    public var leeway = 0
    /// The most seconds that a token's end may be ahead; nil for any.
    public var longestLifetime: Int?
    /// The source of the time.
    public var clock = UnixClock.system

    /// The default rules.
    public init() {}
  }

  private let rules: Rules
  private let signed: JWSVerifier?
  private let sealed: JWEDecrypter?

  /// Makes a verifier.
  ///
  /// - Parameters:
  ///   - keys: The keys that check or open the service's tokens. If there are several of a kind,
  ///     each has a name, and tokens must name theirs: old and new keys while one replaces the
  ///     other. A single key also takes tokens that name none; a single key without a name takes
  ///     any name.
  ///   - rules: The claims that tokens must have.
  /// - Throws: `JOSEError` for keys that cannot check or open anything, or rules out of range;
  ///   `audienceRefused` for a private key of this backend without `Rules.audience`.
  public init(_ keys: [JSONWebKey], rules: Rules = Rules()) throws(JOSEError) {
    self.rules = rules
    let signing = keys.filter(\.algorithm.isSignature)
    let sealing = keys.filter { !$0.algorithm.isSignature }
    switch signing.count {
    case 0: signed = nil
    case 1: signed = try JWSVerifier(signing[0], keyID: Self.rule(signing[0]))
    default: signed = try JWSVerifier(JWKS(signing))
    }
    switch sealing.count {
    case 0: sealed = nil
    case 1: sealed = try JWEDecrypter(sealing[0], keyID: Self.rule(sealing[0]))
    default: sealed = try JWEDecrypter(JWKS(sealing))
    }
    guard rules.audience != nil || !sealing.contains(where: \.algorithm.isPublicKeyEncryption)
    else { throw .audienceRefused([]) }
    // Check the rules here, rather than with the first token.
    _ = try policy(boundTo: nil)
  }

  /// Checks a token.
  ///
  /// - Parameters:
  ///   - token: The token, nothing around it.
  ///   - text: The text that the token must be bound to, such as the whole value of a header;
  ///     compared in constant time. nil if it need not be bound.
  /// - Returns: The token's claims.
  /// - Throws: ``TokenRefusal``.
  public func claims(
    of token: String, boundTo text: String? = nil
  ) throws(TokenRefusal) -> Claims {
    guard !token.isEmpty else { throw TokenRefusal(.missing) }
    do throws(JOSEError) {
      let policy = try policy(boundTo: text)
      if Self.isSealed(token) {
        guard let sealed else { throw .wrongParts(expected: 3, actual: 5) }
        return try sealed.claims(of: token, mayBeSignedBy: signed, under: policy)
      }
      guard let signed else { throw .wrongParts(expected: 5, actual: 3) }
      return try signed.claims(of: token, under: policy)
    } catch {
      throw TokenRefusal(error)
    }
  }

  /// Checks a token that must carry a measurement, and so must be sealed.
  ///
  /// - Parameters:
  ///   - token: The token, nothing around it.
  ///   - text: The text that the token must be bound to; nil if it need not be bound.
  /// - Returns: The token's statement about the app.
  /// - Throws: ``TokenRefusal``.
  public func measurement(
    of token: String, boundTo text: String? = nil
  ) throws(TokenRefusal) -> MeasuredApp {
    try MeasuredApp(claims(of: token, boundTo: text))
  }

  private static func rule(_ key: JSONWebKey) -> KeyIDRule { key.id == nil ? .any : .optional }

  private static func isSealed(_ token: String) -> Bool {
    token.utf8.reduce(0) { $0 + ($1 == UInt8(ascii: ".") ? 1 : 0) } == 4
  }

  private func policy(boundTo text: String?) throws(JOSEError) -> ClaimsPolicy {
    var binding: Claims.Binding?
    if let text { binding = try Claims.Binding(to: text) }
    return try ClaimsPolicy(
      clock: rules.clock, leeway: rules.leeway, issuer: rules.issuer, audience: rules.audience,
      binding: binding, longestLifetime: rules.longestLifetime)
  }
}
