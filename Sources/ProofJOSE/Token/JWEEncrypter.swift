// SPDX-License-Identifier: Apache-2.0

/// Makes sealed tokens (JWE compact, RFC 7516): A256GCM under a shared key, or under a fresh key that
/// is wrapped under a shared key or for the owner of a public one.
///
/// If both sides hold the same key, a sealed token is also authentic, because no third party can
/// make one. Every sender may have a public key, so sign the content first, with
/// ``seal(_:signedBy:type:)``.
public struct JWEEncrypter: Sendable {
  private let key: JSONWebKey

  /// Makes an encrypter.
  ///
  /// Each token gets a fresh random IV of 96 bits, which is safe for 2^32 tokens under one key. The
  /// key counts them, over all encrypters and copies in this process, and refuses more. A service
  /// that keeps a key over restarts stores ``sealedCount`` and passes it in again.
  ///
  /// - Parameters:
  ///   - key: A key of `dir` or A256KW, or a public key of ECDH-ES+A256KW or RSA-OAEP-256.
  ///   - sealedBefore: The number of tokens that the key sealed before, at least.
  /// - Throws: ``JOSEError/keyForOtherUse(_:wanted:)``.
  public init(_ key: JSONWebKey, sealedBefore: UInt64 = 0) throws(JOSEError) {
    guard !key.operations.isDisjoint(with: [.encrypt, .wrapKey]) else {
      throw .keyForOtherUse(key.algorithm, wanted: "encrypt")
    }
    self.key = key
    key.material.assumeSealed(sealedBefore)
  }

  var isForPublicKey: Bool { key.algorithm.isPublicKeyEncryption }

  /// The number of tokens that the key has sealed.
  public var sealedCount: UInt64 { key.material.sealedCount }

  /// Seals claims under a shared key. For a public key, sign them first: use
  /// ``seal(_:signedBy:type:)``.
  ///
  /// - Parameters:
  ///   - claims: The claims. A measurement is copied into the token and to no other place.
  ///   - type: The header's `typ`.
  /// - Returns: The token.
  /// - Throws: ``JOSEError``, among it ``JOSEError/signatureMissing``.
  public func seal(_ claims: Claims, type: String? = "JWT") throws(JOSEError) -> String {
    guard !key.algorithm.isPublicKeyEncryption else { throw .signatureMissing }
    let json = try claims.secretJSON()
    return try json.withBytes { bytes throws(JOSEError) in
      try seal(payload: bytes, type: type)
    }
  }

  /// Seals any payload.
  ///
  /// - Parameters:
  ///   - payload: At most 40 KiB.
  ///   - type: The header's `typ`.
  ///   - contentType: The header's `cty`; `JWT` for a signed token inside.
  /// - Returns: The token.
  /// - Throws: ``JOSEError``.
  public func seal(
    payload: Span<UInt8>, type: String? = nil, contentType: String? = nil
  ) throws(JOSEError) -> String {
    guard payload.count <= JOSELimits.payloadBytes else {
      throw .tooLong("payload", count: payload.count, limit: JOSELimits.payloadBytes)
    }
    let contentKey = try ContentKey(for: key)
    let header = try TokenHeader(
      algorithm: key.algorithm, encryption: TokenHeader.a256gcm, keyID: key.id, type: type,
      contentType: contentType, agreement: contentKey.agreement
    ).encoded()
    try key.material.countSealed()
    var iv = [UInt8](repeating: 0, count: GCM.ivByteCount)
    var ivBytes = iv.mutableSpan
    try Randomness.fillPublic(&ivBytes)

    let sealed = try contentKey.withBytes { bytes throws(JOSEError) in
      try GCM.seal(payload, key: bytes, iv: iv.span, additionalData: header.span)
    }

    var token = header
    for part in [contentKey.wrapped, iv, sealed.ciphertext, sealed.tag] {
      token.append(UInt8(ascii: "."))
      token += TextWriter.bytes { writer, text in writer.base64(part.span, .url, into: &text) }
    }
    return String(decoding: token, as: UTF8.self)
  }
}
