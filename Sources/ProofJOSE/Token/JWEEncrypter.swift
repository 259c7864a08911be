/// Makes sealed tokens (JWE compact, RFC 7516): A256GCM under a shared key, or under a fresh key that
/// is wrapped under a shared key.
///
/// Both sides hold the same key, so a sealed token is also authentic: nobody else can make one.
public struct JWEEncrypter: Sendable {
  private let key: JSONWebKey

  /// An encrypter.
  ///
  /// Each token gets a fresh random IV of 96 bits, which is safe for 2^32 tokens under one key. The
  /// key counts them, over all encrypters and copies in this process, and refuses more. A service
  /// that keeps a key over restarts stores ``sealedCount`` and hands it in again.
  ///
  /// - Parameters:
  ///   - key: A key of `dir` or A256KW.
  ///   - sealedBefore: How many tokens the key sealed before, at least.
  /// - Throws: ``JOSEError/keyForOtherUse(_:wanted:)``.
  public init(_ key: JSONWebKey, sealedBefore: UInt64 = 0) throws(JOSEError) {
    guard !key.operations.isDisjoint(with: [.encrypt, .wrapKey]) else {
      throw .keyForOtherUse(key.algorithm, wanted: "encrypt")
    }
    self.key = key
    key.material.assumeSealed(sealedBefore)
  }

  /// How many tokens the key has sealed.
  public var sealedCount: UInt64 { key.material.sealedCount }

  /// Seals claims.
  ///
  /// - Parameters:
  ///   - claims: The claims; a measurement is copied nowhere but into the token.
  ///   - type: The header's `typ`.
  /// - Returns: The token.
  /// - Throws: ``JOSEError``.
  public func seal(_ claims: Claims, type: String? = "JWT") throws(JOSEError) -> String {
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
    let header = try TokenHeader(
      algorithm: key.algorithm, encryption: TokenHeader.a256gcm, keyID: key.id, type: type,
      contentType: contentType
    ).encoded()
    try key.material.countSealed()
    var iv = [UInt8](repeating: 0, count: GCM.ivByteCount)
    var ivBytes = iv.mutableSpan
    try Randomness.fillPublic(&ivBytes)

    let wrapped: [UInt8]
    let sealed: (ciphertext: [UInt8], tag: [UInt8])
    if key.algorithm == .a256kw {
      let contentKey = try JOSESecret.random(count: GCM.keyByteCount)
      wrapped = try key.withSecret { key throws(JOSEError) in
        try KeyWrap.wrap(contentKey, under: key)
      }
      sealed = try contentKey.withBytes { contentKey throws(JOSEError) in
        try GCM.seal(payload, key: contentKey, iv: iv.span, additionalData: header.span)
      }
    } else {
      wrapped = []
      sealed = try key.withSecret { key throws(JOSEError) in
        try GCM.seal(payload, key: key, iv: iv.span, additionalData: header.span)
      }
    }

    var token = header
    for part in [wrapped, iv, sealed.ciphertext, sealed.tag] {
      token.append(UInt8(ascii: "."))
      token += TextWriter.bytes { writer, text in writer.base64(part.span, .url, into: &text) }
    }
    return String(decoding: token, as: UTF8.self)
  }
}
