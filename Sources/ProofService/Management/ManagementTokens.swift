// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
internal import ProofModel

// Verbs that check and make tokens by hand.

/// The result of checking a token.
public struct TokenCheck: Sendable {
  /// The form in which it was handed in.
  public enum Form: String, Sendable {
    /// Signed, compact.
    case signed
    /// Sealed, compact.
    case sealed
    /// The claims in the clear, with the first characters of the signature.
    case loggable
  }

  /// The form in which it was handed in.
  public var form: Form
  /// Whether this account made it. For a loggable token this is almost certain, not proved.
  public var isAuthentic: Bool
  /// Whether it has ended.
  public var isExpired: Bool
  /// The defect, for people; empty if there is none.
  public var problem: String
  /// The token's claims, free of secrets. Empty for a sealed token that does not open.
  public var claims: JSONObject
  /// The content of its response code, if it has one of this account.
  public var responseCode: ResponseCode?

  /// Whether it is a custom token: its claims are the app's, and no API takes it for one of its own.
  public var isCustom = false

  /// Whether it is authentic and has not ended.
  public var isValid: Bool { isAuthentic && !isExpired }

  /// The fields as JSON.
  public var shown: JSONObject {
    var shown: JSONObject = [
      "form": .string(form.rawValue), "valid": .bool(isValid), "authentic": .bool(isAuthentic),
      "expired": .bool(isExpired), "claims": .object(claims),
    ]
    if isCustom { shown.set("custom", true) }
    if !problem.isEmpty { shown.set("problem", problem) }
    if let responseCode { shown["arc"] = .object(responseCode.shown) }
    return shown
  }
}

extension ResponseCode {
  /// The content as JSON.
  public var shown: JSONObject {
    var shown: JSONObject = ["passed": .bool(isPassed)]
    shown.set("properties", properties.names)
    return shown
  }
}

extension Management {
  /// Checks whether a token is this account's, and reads its claims.
  ///
  /// - Parameter text: A token in compact form, or the loggable form of one.
  /// - Returns: The result of the check.
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)`` if it is neither.
  public func check(token text: String) throws(ServiceError) -> TokenCheck {
    let snapshot = try account.snapshot()
    var check: TokenCheck
    if text.hasPrefix("{") {
      check = try checkLoggable(text, snapshot)
    } else if text.split(separator: ".", omittingEmptySubsequences: false).count == 5 {
      check = checkSealed(text, snapshot)
    } else {
      check = try checkSigned(text, snapshot)
    }
    if let end = check.claims.seconds("exp") {
      // Compare it as it came: a stranger's number may exceed every integer type.
      check.isExpired = !(end > Double(now.seconds))
      if check.isAuthentic, check.isExpired { check.problem = "The token has expired." }
    } else if check.isAuthentic {
      check.isExpired = true
      check.problem = "The token does not say when it ends."
    }
    if let code = check.claims.text("arc") {
      check.responseCode = ResponseCode(code, key: account.vault.responseCodeKey())
    }
    return check
  }

  private func checkSigned(
    _ text: String, _ snapshot: Snapshot
  ) throws(ServiceError) -> TokenCheck {
    let read: UnverifiedToken
    do { read = try UnverifiedToken(reading: text) } catch { throw .jose(error) }
    var check = TokenCheck(
      form: .signed, isAuthentic: true, isExpired: false, problem: "", claims: read.payload)
    check.isCustom = read.type == TokenKey.customType
    let own = check.isCustom ? snapshot.customKeys : snapshot.secrets
    let key = read.keyID.flatMap { snapshot.keys[$0] ?? own[$0] } ?? own.active
    do {
      // Tokens of earlier versions name no key.
      _ = try JWSVerifier(key.key, keyID: .optional).verify(text)
    } catch {
      check.isAuthentic = false
      check.problem = "\(error)"
    }
    return check
  }

  private func checkSealed(_ text: String, _ snapshot: Snapshot) -> TokenCheck {
    var check = TokenCheck(
      form: .sealed, isAuthentic: false, isExpired: false, problem: "", claims: JSONObject())
    let keySets = snapshot.keys.values.map(\.key)
    let keys = snapshot.sealingKeys.all.map(\.key) + keySets
    let verifier = try? JWSVerifier(JWKS(keySets.filter(\.algorithm.isSignature)))
    for key in keys where !key.algorithm.isSignature && key.isPrivate {
      do {
        let opened = try JWEDecrypter(key, keyID: .optional).open(text)
        let payload: JSONValue
        if let verifier, opened.contentType == "JWT" {
          payload = try JWEDecrypter.signedPayload(in: opened, by: verifier).withBytes {
            try JSONValue(parsing: $0)
          }
        } else {
          payload = try opened.payload.withBytes { try JSONValue(parsing: $0) }
        }
        guard case .object(let claims) = payload else { continue }
        check.isAuthentic = true
        check.problem = ""
        check.claims = claims
        for name in ["imh", "dmh", "mpk", "dpk"] where claims[name] != nil {
          check.claims[name] = "(secret)"
        }
        break
      } catch {
        check.problem = "\(error)"
      }
    }
    if !check.isAuthentic, keys.contains(where: { !$0.isPrivate }) {
      check.problem += " If it is sealed to a backend's public key, only that backend opens it."
    }
    return check
  }

  /// The loggable form has no header, so check it with the account's own secret.
  private func checkLoggable(
    _ text: String, _ snapshot: Snapshot
  ) throws(ServiceError) -> TokenCheck {
    guard case .object(var claims) = try? JSONValue(parsing: text), let start = claims.text("sip")
    else {
      throw .invalid(
        "token", value: String(text.prefix(40)),
        allowed: "a token in compact form, or its loggable form with “sip”")
    }
    claims["sip"] = nil
    let payload = Array(JSONValue.object(claims).text.utf8)
    var isAuthentic = false
    for key in snapshot.secrets.all {
      // Try with the key's name in the header, and without it as earlier versions signed.
      for named in [
        key.key, try ServiceError.ofJOSE { () throws(JOSEError) in try key.key.named(nil) },
      ] {
        let token = try ServiceError.ofJOSE { () throws(JOSEError) in
          try JWSSigner(named).sign(payload: payload.span, type: "JWT")
        }
        let signature = token.split(separator: ".").last ?? ""
        if start.utf8.count == 6, signature.hasPrefix(start) { isAuthentic = true }
      }
    }
    return TokenCheck(
      form: .loggable, isAuthentic: isAuthentic, isExpired: false,
      problem: isAuthentic ? "" : "The signature's first characters are not this account's.",
      claims: claims)
  }

  /// Makes a token like an app's, for tests of API backends.
  ///
  /// - Parameters:
  ///   - host: The API.
  ///   - isValid: Whether the right key signs or seals it.
  ///   - boundText: The text that it is bound to, if any.
  ///   - isMeasured: Whether it has a measurement: random bytes, of generation 1 and mode development.
  ///     No app makes proofs under it.
  /// - Returns: The token.
  /// - Throws: ``ServiceError/unknown(_:name:)``; ``ServiceError/invalid(_:value:allowed:)`` if a
  ///   measurement was asked for and the API's tokens are not sealed.
  public func exampleToken(
    for host: String, isValid: Bool = true, boundTo boundText: String? = nil,
    isMeasured: Bool = false
  ) throws(ServiceError) -> String {
    let snapshot = try account.snapshot()
    guard let api = snapshot.apis[host.lowercased()], api.kind != .none else {
      throw .unknown("API with tokens", name: String(host.prefix(80)))
    }
    guard !isMeasured || api.kind == .measurement else {
      throw .invalid(
        "API", value: host, allowed: "for a measurement, one with sealed tokens (--jwe)")
    }
    guard let key = snapshot.key(of: api) else { throw .damaged("key of the API “\(host)”") }
    let policy = snapshot.policy
    var claims = Claims(expiry: now + policy.tokenLifetime)
    claims = try ServiceError.ofJOSE { () throws(JOSEError) in
      claims.instance = InstanceID.random().bytes
      if let boundText { claims.binding = try Claims.Binding(to: boundText) }
      if isMeasured { try claims.addExampleMeasurement() }
      return claims
    }
    if snapshot.hasAudience(api) { claims.audience = [api.host] }
    if !policy.issuer.isEmpty { claims.issuer = policy.issuer }
    let signer = snapshot.signer(of: api)
    return isValid
      ? try key.token(claims, signedBy: signer) : try key.decoy(claims, signedBy: signer)
  }
}

extension Claims {
  /// Sets random bytes in place of a measurement.
  fileprivate mutating func addExampleMeasurement() throws(JOSEError) {
    let integrity = RandomSource.bytes(32)
    let device = RandomSource.bytes(32)
    let proofKey = RandomSource.bytes(16)
    let deviceKey = RandomSource.bytes(16)
    measurement = try MeasurementClaims(
      integrityMeasurement: integrity.span, deviceMeasurement: device.span, proofKey: proofKey.span,
      deviceKey: deviceKey.span)
    others["mgn"] = .number(JSONNumber(Int64(1)))
    others["mmd"] = .string(Mode.development.word)
  }
}

extension JSONObject {
  fileprivate func seconds(_ name: String) -> Double? {
    if case .number(let number) = self[name] { number.double } else { nil }
  }
}
