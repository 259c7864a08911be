// SPDX-License-Identifier: Apache-2.0

extension JSONWebKey {
  /// The public key as canonical JSON: sorted, with no white space.
  ///
  /// - Returns: The JSON.
  /// - Throws: ``JOSEError/keyForOtherUse(_:wanted:)`` for a symmetric key, which has no public part.
  public func publicJSON() throws(JOSEError) -> String {
    guard let key = publicKey else { throw .keyForOtherUse(algorithm, wanted: "be published") }
    let bytes = TextWriter.bytes { writer, text in writer.json(key.members(), into: &text) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The key with its secret as canonical JSON: sorted, with no white space.
  ///
  /// - Returns: The JSON, which is as secret as the key.
  /// - Throws: ``JOSEError/keyNotPrivate``.
  public func privateJSON() throws(JOSEError) -> JOSESecret {
    guard isPrivate else { throw .keyNotPrivate }
    return TextWriter.secret { writer, text in writer.json(members(), into: &text) }
  }

  /// The thumbprint of RFC 7638: SHA-256 over the members that make the key.
  ///
  /// Do not publish a symmetric key's thumbprint, because it is made from the secret. It does not
  /// reveal the key, but an attacker can check a guess of the key against it.
  ///
  /// - Returns: 32 bytes.
  /// - Throws: ``JOSEError/libraryFailed``.
  public func thumbprint() throws(JOSEError) -> [UInt8] {
    let text = TextWriter.secret { writer, text in
      writer.json(essentialMembers(withPrivate: algorithm.isSymmetric), into: &text)
    }
    return try text.withBytes { bytes throws(JOSEError) in try Digest.sha256(bytes) }
  }

  /// The thumbprint in base64url, the form used for names of keys.
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
    guard let bytes = publicBytes, let kind = algorithm.coreKind else { return nil }
    return SubjectPublicKeyInfo.encode(bytes, kind)
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
    func add(_ name: String, _ bytes: some Sequence<UInt8>) {
      let bytes = Array(bytes)
      let text = TextWriter.bytes { writer, text in
        writer.base64(bytes.span, .url, into: &text)
      }
      members.append((name, .value(.string(String(decoding: text, as: UTF8.self)))))
    }
    let bytes = publicBytes ?? []
    switch algorithm.coreKind {
    case .p256, .ed25519:
      let isCurve = algorithm.coreKind == .p256
      members.append(("crv", .value(.string(isCurve ? "P-256" : "Ed25519"))))
      add("x", bytes.prefix(32))
      if isCurve { add("y", bytes.suffix(32)) }
    case .rsa:
      add("n", bytes)
      add("e", SubjectPublicKeyInfo.exponent)
    case nil: break
    }
    guard withPrivate, let secret = material.secret else { return members }
    guard algorithm.coreKind == .rsa else {
      let name = algorithm.isSymmetric ? "k" : "d"
      return members + [(name, .secret(secret, 0..<secret.count, .url))]
    }
    for (name, place) in Self.rsaPlaces(modulusByteCount: bytes.count) {
      members.append((name, .secret(secret, secret.withoutLeadingZeros(place), .url)))
    }
    return members
  }

  /// The range of each private number of RSA in the secret, by its name in JSON.
  static func rsaPlaces(modulusByteCount count: Int) -> [(name: String, place: Range<Int>)] {
    var places = [("d", 0..<count)]
    for name in ["p", "q", "dp", "dq", "qi"] {
      let start = places[places.count - 1].1.upperBound
      places.append((name, start..<start + count / 2))
    }
    return places
  }
}

extension SharedSecret {
  /// The part of a range to write for a number: RFC 7518, 2, leaves leading zeros out.
  fileprivate func withoutLeadingZeros(_ range: Range<Int>) -> Range<Int> {
    withBytes { bytes in
      var start = range.lowerBound
      while start < range.upperBound - 1 && bytes[start] == 0 { start += 1 }
      return start..<range.upperBound
    }
  }
}
