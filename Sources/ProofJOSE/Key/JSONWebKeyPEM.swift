// SPDX-License-Identifier: Apache-2.0

extension JSONWebKey {
  private static let pemBegin = "-----BEGIN PUBLIC KEY-----"
  private static let pemEnd = "-----END PUBLIC KEY-----"

  /// The public key in PEM (RFC 7468, 13), as OpenSSL and web servers read it.
  ///
  /// - Returns: Lines of at most 64 characters, each with its end.
  /// - Throws: ``JOSEError/keyForOtherUse(_:wanted:)`` for a symmetric key, which has no public part.
  public func publicPEM() throws(JOSEError) -> String {
    guard let der = subjectPublicKeyInfo else {
      throw .keyForOtherUse(algorithm, wanted: "be published")
    }
    let text = Array(Claims.base64(der).utf8)
    var lines = [Self.pemBegin]
    for start in stride(from: 0, to: text.count, by: 64) {
      lines.append(String(decoding: text[start..<min(start + 64, text.count)], as: UTF8.self))
    }
    return (lines + [Self.pemEnd]).map { $0 + "\n" }.joined()
  }

  /// Reads a public key in PEM, a form that does not name the key's algorithm.
  ///
  /// - Parameters:
  ///   - text: One `PUBLIC KEY`, with nothing around it but white space.
  ///   - algorithm: The key's algorithm: an asymmetric one of its kind.
  ///   - id: The key's name.
  /// - Throws: ``JOSEError/keyNotPublic`` for a private key, ``JOSEError/keyUnsupported(_:)``,
  ///   ``JOSEError/keyInvalid(_:)``, ``JOSEError/tooLong(_:count:limit:)``.
  public init(
    publicPEM text: String, algorithm: KeyAlgorithm, id: String? = nil
  ) throws(JOSEError) {
    guard text.utf8.count <= JOSELimits.pemBytes else {
      throw .tooLong("public key", count: text.utf8.count, limit: JOSELimits.pemBytes)
    }
    guard let kind = algorithm.coreKind else {
      throw .keyUnsupported("\(algorithm.rawValue) has no public keys")
    }
    // Refuses PKCS #8, RSA PRIVATE KEY, EC PRIVATE KEY, and encrypted ones.
    guard !text.contains("PRIVATE KEY-----") else { throw .keyNotPublic }
    let lines = text.split(whereSeparator: \.isNewline).map { line in
      String(line.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }.filter { !$0.isEmpty }
    guard lines.count > 2, lines.first == Self.pemBegin, lines.last == Self.pemEnd else {
      throw .keyInvalid("it is not one “PUBLIC KEY” in PEM; openssl pkey -pubout writes one")
    }
    let body = Array(lines.dropFirst().dropLast().joined().utf8)
    guard let der = Base64Alphabet.standard.decode(body.span) else {
      throw .keyInvalid("its PEM is not base64")
    }
    guard let bytes = SubjectPublicKeyInfo.decode(der, kind) else {
      throw .keyUnsupported(
        "its PEM is not a public key for \(algorithm.rawValue): "
          + (kind == .rsa
            ? "RSA of 2048, 3072 or 4096 bits with the exponent 65537"
            : kind == .p256 ? "an uncompressed point of P-256" : "a point of Ed25519"))
    }
    try self.init(publicBytes: bytes, algorithm: algorithm, id: id)
  }
}
