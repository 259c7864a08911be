extension JSONWebKey {
  /// The public key as JSON, canonical: sorted, without white space.
  ///
  /// - Returns: The JSON.
  /// - Throws: ``JOSEError/keyForOtherUse(_:wanted:)`` for a symmetric key, which has no public part.
  public func publicJSON() throws(JOSEError) -> String {
    guard let key = publicKey else { throw .keyForOtherUse(algorithm, wanted: "be published") }
    let bytes = TextWriter.bytes { writer, text in writer.json(key.members(), into: &text) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The key with its secret as JSON, canonical: sorted, without white space.
  ///
  /// - Returns: The JSON, which is as secret as the key.
  /// - Throws: ``JOSEError/keyNotPrivate``.
  public func privateJSON() throws(JOSEError) -> JOSESecret {
    guard isPrivate else { throw .keyNotPrivate }
    return TextWriter.secret { writer, text in writer.json(members(), into: &text) }
  }

  /// The thumbprint of RFC 7638: SHA-256 over the members that make the key.
  ///
  /// A symmetric key's thumbprint is made from its secret. It does not give the key away, but whoever
  /// suspects a key can check it with it: do not publish it.
  ///
  /// - Returns: 32 bytes.
  /// - Throws: ``JOSEError/libraryFailed``.
  public func thumbprint() throws(JOSEError) -> [UInt8] {
    let text = TextWriter.secret { writer, text in
      writer.json(essentialMembers(withPrivate: algorithm.isSymmetric), into: &text)
    }
    return try text.withBytes { bytes throws(JOSEError) in try Digest.sha256(bytes) }
  }

  /// The thumbprint in base64url, as it is used for names of keys.
  ///
  /// - Returns: 43 characters.
  /// - Throws: ``JOSEError/libraryFailed``.
  public func thumbprintText() throws(JOSEError) -> String {
    let digest = try thumbprint()
    let text = TextWriter.bytes { writer, text in writer.base64(digest.span, .url, into: &text) }
    return String(decoding: text, as: UTF8.self)
  }

  /// The public key as DER SubjectPublicKeyInfo, the content of PEM; `nil` for a symmetric key.
  public var subjectPublicKeyInfo: [UInt8]? {
    guard let bytes = publicBytes else { return nil }
    return (algorithm == .es256 ? SubjectPublicKeyInfo.p256 : SubjectPublicKeyInfo.ed25519) + bytes
  }

  func members() -> [(name: String, member: JSONMember)] {
    var members = essentialMembers(withPrivate: isPrivate)
    members.append(("alg", .value(.string(algorithm.rawValue))))
    members.append(("use", .value(.string(algorithm.use))))
    if let id { members.append(("kid", .value(.string(id)))) }
    let all = KeyOperations.all(of: algorithm)
    if operations != all && isPrivate {
      let names = KeyOperations.names.filter { operations.contains($0.operation) }
      members.append(("key_ops", .value(.array(names.map { .string($0.name) }))))
    }
    return members
  }

  private func essentialMembers(
    withPrivate: Bool
  ) -> [(name: String, member: JSONMember)] {
    var members: [(name: String, member: JSONMember)] = [
      ("kty", .value(.string(algorithm.keyType)))
    ]
    if let bytes = publicBytes {
      let isCurve = algorithm == .es256
      members.append(("crv", .value(.string(isCurve ? "P-256" : "Ed25519"))))
      for (name, start) in [("x", 0), ("y", 32)] where start < bytes.count {
        let coordinate = Array(bytes[start..<start + 32])
        let text = TextWriter.bytes { writer, text in
          writer.base64(coordinate.span, .url, into: &text)
        }
        members.append((name, .value(.string(String(decoding: text, as: UTF8.self)))))
      }
    }
    if withPrivate, let secret = material.secret {
      let name = algorithm.isSymmetric ? "k" : "d"
      members.append((name, .secret(secret, 0..<secret.count, .url)))
    }
    return members
  }
}

/// What stands before the point in a public key's DER (RFC 5480, RFC 8410).
enum SubjectPublicKeyInfo {
  /// A sequence of 89 bytes: id-ecPublicKey and prime256v1, then a bit string that begins with 4, the
  /// mark of an uncompressed point.
  static let p256: [UInt8] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
  ]

  /// A sequence of 42 bytes: id-Ed25519, then a bit string.
  static let ed25519: [UInt8] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
  ]
}
