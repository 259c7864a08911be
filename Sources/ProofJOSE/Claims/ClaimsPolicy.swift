// SPDX-License-Identifier: Apache-2.0

/// The conditions on a token's claims.
///
/// By default a token must have an end. `iat` and `nbf` must not be in the future. A token for an
/// audience is refused where none is expected.
public struct ClaimsPolicy: Sendable {
  /// The source of the time.
  public let clock: UnixClock
  /// Seconds by which the issuer's clock may differ.
  public let leeway: Int
  /// The expected `iss`; `nil` if it does not matter.
  public let issuer: String?
  /// The name of this service that `aud` must have; `nil` if tokens must have no `aud`.
  public let audience: String?
  /// The expected `sub`; `nil` if it does not matter.
  public let subject: String?
  /// The binding that the token must have in `pay`; `nil` if it does not matter.
  public let binding: Claims.Binding?
  /// The header's `typ`. The issuer may leave `JWT` out, as its standard allows.
  public let type: String
  /// Whether a token must end.
  public let isExpiryRequired: Bool
  /// The most seconds that a token's end may be ahead; `nil` for any.
  public let longestLifetime: Int?

  /// Makes a policy.
  ///
  /// - Parameters:
  ///   - clock: The source of the time.
  ///   - leeway: Seconds by which the issuer's clock may differ: 0 to 300.
  ///   - issuer: The expected `iss`.
  ///   - audience: This service's name in `aud`.
  ///   - subject: The expected `sub`.
  ///   - binding: The binding that the token must have.
  ///   - type: The header's `typ`.
  ///   - isExpiryRequired: Whether a token must end.
  ///   - longestLifetime: The most seconds that a token's end may be ahead: at least 1.
  /// - Throws: ``JOSEError/outOfRange(_:allowed:actual:)``.
  public init(
    clock: UnixClock = .system, leeway: Int = 0, issuer: String? = nil, audience: String? = nil,
    subject: String? = nil, binding: Claims.Binding? = nil, type: String = "JWT",
    isExpiryRequired: Bool = true, longestLifetime: Int? = nil
  ) throws(JOSEError) {
    guard JOSELimits.leeway.contains(leeway) else {
      throw .outOfRange("leeway in seconds", allowed: JOSELimits.leeway, actual: leeway)
    }
    if let longestLifetime, longestLifetime < 1 {
      throw .outOfRange(
        "longest lifetime in seconds", allowed: 1...Int.max, actual: longestLifetime)
    }
    self.clock = clock
    self.leeway = leeway
    self.issuer = issuer
    self.audience = audience
    self.subject = subject
    self.binding = binding
    self.type = type
    self.isExpiryRequired = isExpiryRequired
    self.longestLifetime = longestLifetime
  }

  /// Checks claims that a verifier or decrypter has found authentic.
  ///
  /// - Parameter claims: The claims.
  /// - Throws: ``JOSEError``.
  public func judge(_ claims: Claims) throws(JOSEError) {
    try judgeTimes(claims, now: clock.now)
    if let issuer, !ExactText.areEqual(claims.issuer, issuer) {
      throw .issuerRefused(claims.issuer.map(ExactText.quoted))
    }
    if let audience {
      guard claims.audience.contains(where: { ExactText.areEqual($0, audience) }) else {
        throw .audienceRefused(claims.audience.map(ExactText.quoted))
      }
    } else if !claims.audience.isEmpty {
      throw .audienceRefused(claims.audience.map(ExactText.quoted))
    }
    if let subject, !ExactText.areEqual(claims.subject, subject) {
      throw .subjectRefused(claims.subject.map(ExactText.quoted))
    }
    if let binding {
      guard let actual = claims.binding, actual.matches(binding) else { throw .bindingWrong }
    }
  }

  private func judgeTimes(_ claims: Claims, now: UnixTime) throws(JOSEError) {
    if let expiry = claims.expiry {
      // RFC 7519, 4.1.4: a token is no longer valid at its end.
      guard now < expiry.advanced(by: leeway) else { throw .expired(at: expiry, now: now) }
      if let limit = longestLifetime, expiry > now.advanced(by: limit).advanced(by: leeway) {
        throw .validTooLong(until: expiry, limit: limit)
      }
    } else if isExpiryRequired {
      throw .claimMissing("exp")
    }
    let latest = now.advanced(by: leeway)
    if let start = claims.notBefore, start > latest { throw .notYetValid(from: start, now: now) }
    if let time = claims.issuedAt, time > latest { throw .issuedInFuture(at: time, now: now) }
  }

  /// Checks a header's `typ` and `cty`.
  func judge(type actual: String?, contentType: String?) throws(JOSEError) {
    let isStandard = Self.isSameType("JWT", type)
    if let actual {
      guard Self.isSameType(actual, type) else {
        throw .typeRefused(ExactText.quoted(actual), expected: type)
      }
    } else if !isStandard {
      throw .typeRefused(nil, expected: type)
    }
    if let contentType { throw .contentTypeRefused(ExactText.quoted(contentType)) }
  }

  /// RFC 7515, 4.1.9: a media type, in any case, whose `application/` may be left out.
  private static func isSameType(_ one: String, _ other: String) -> Bool {
    func plain(_ type: String) -> [UInt8] {
      let lower = type.utf8.map { (65...90).contains($0) ? $0 | 0x20 : $0 }
      let prefix = Array("application/".utf8)
      return lower.starts(with: prefix) ? Array(lower.dropFirst(prefix.count)) : lower
    }
    return plain(one) == plain(other)
  }
}
