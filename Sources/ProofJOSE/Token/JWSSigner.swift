// SPDX-License-Identifier: Apache-2.0

/// Makes signed tokens (JWS compact, RFC 7515) with one key and its one algorithm.
public struct JWSSigner: Sendable {
  let key: JSONWebKey
  /// The header of a token of the usual type, made once.
  private let usualHeader: [UInt8]
  private static let usualType = "JWT"

  /// Makes a signer.
  ///
  /// - Parameter key: A private or shared key of HS256, ES256, EdDSA or RS256.
  /// - Throws: ``JOSEError/keyForOtherUse(_:wanted:)``, ``JOSEError/keyNotPrivate``.
  public init(_ key: JSONWebKey) throws(JOSEError) {
    guard key.algorithm.isSignature else {
      throw .keyForOtherUse(key.algorithm, wanted: "sign")
    }
    guard key.isPrivate else { throw .keyNotPrivate }
    guard key.operations.contains(.sign) else {
      throw .keyForOtherUse(key.algorithm, wanted: "sign")
    }
    self.key = key
    usualHeader = try TokenHeader(
      algorithm: key.algorithm, keyID: key.id, type: Self.usualType, contentType: nil
    ).encoded()
  }

  /// Signs claims.
  ///
  /// - Parameters:
  ///   - claims: Claims that have no measurement, because the token is not encrypted.
  ///   - type: The header's `typ`.
  /// - Returns: The token.
  /// - Throws: ``JOSEError``, among it ``JOSEError/measurementInClear``.
  public func sign(_ claims: Claims, type: String? = "JWT") throws(JOSEError) -> String {
    guard claims.measurement == nil else { throw .measurementInClear }
    let json = try claims.clearJSON()
    return try sign(payload: json.span, type: type)
  }

  /// Signs any payload.
  ///
  /// - Parameters:
  ///   - payload: At most 40 KiB.
  ///   - type: The header's `typ`.
  ///   - contentType: The header's `cty`.
  /// - Returns: The token.
  /// - Throws: ``JOSEError``.
  public func sign(
    payload: Span<UInt8>, type: String? = nil, contentType: String? = nil
  ) throws(JOSEError) -> String {
    guard payload.count <= JOSELimits.payloadBytes else {
      throw .tooLong("payload", count: payload.count, limit: JOSELimits.payloadBytes)
    }
    var token: [UInt8] = []
    token.reserveCapacity(usualHeader.count + payload.count / 3 * 4 + 256)
    if type == Self.usualType, contentType == nil {
      token += usualHeader
    } else {
      token += try TokenHeader(
        algorithm: key.algorithm, keyID: key.id, type: type, contentType: contentType
      ).encoded()
    }
    token.append(UInt8(ascii: "."))
    token += TextWriter.bytes { writer, text in writer.base64(payload, .url, into: &text) }
    let signature = try signature(of: token.span)
    token.append(UInt8(ascii: "."))
    token += TextWriter.bytes { writer, text in writer.base64(signature.span, .url, into: &text) }
    return String(decoding: token, as: UTF8.self)
  }

  func signature(of message: Span<UInt8>) throws(JOSEError) -> [UInt8] {
    if let coreKey = key.material.coreKey { return try coreKey.sign(message) }
    return try key.withSecret { secret throws(JOSEError) in
      try Digest.hmac(message, key: secret)
    }
  }
}
