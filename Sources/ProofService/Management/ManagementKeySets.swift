// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE

// Key sets: the keys of APIs, and the public keys of backends.

extension Management {
  /// The keys of the key sets.
  public func keys() throws(ServiceError) -> [KeySetKey] { try store.all(KeySetKey.self) }

  /// Makes a key. Its public part, if it has one, is published from now on.
  ///
  /// - Parameters:
  ///   - algorithm: The key's algorithm; not one for sealing to a public key, whose owner makes it.
  ///   - bits: The size of an RSA key: 2048, 3072 or 4096; nil for 3072.
  ///   - id: Its name; nil for the next number.
  /// - Returns: The key.
  /// - Throws: ``ServiceError/alreadyThere(_:name:)``, ``ServiceError/invalid(_:value:allowed:)``.
  @discardableResult
  public func addKey(
    _ algorithm: KeyAlgorithm, bits: Int? = nil, id: String? = nil
  ) throws(ServiceError) -> KeySetKey {
    guard !algorithm.isPublicKeyEncryption else {
      throw .invalid(
        "alg", value: algorithm.rawValue,
        allowed: "with the public part of a key that the backend made: --public FILE")
    }
    let made = try ServiceError.ofJOSE { () throws(JOSEError) in
      try JSONWebKey.random(algorithm, bits: bits)
    }
    return try add(made, named: id)
  }

  /// Takes a backend's public key, to seal tokens to.
  ///
  /// - Parameters:
  ///   - text: A JSON Web Key, or one `PUBLIC KEY` in PEM.
  ///   - algorithm: The key's algorithm: ECDH-ES+A256KW or RSA-OAEP-256.
  ///   - id: Its name; nil for its own `kid`, or the next number if it has none.
  /// - Returns: The key.
  /// - Throws: ``ServiceError/jose(_:)`` for a key of another kind, and for a private one,
  ///   ``ServiceError/alreadyThere(_:name:)``.
  @discardableResult
  public func addPublicKey(
    _ text: String, for algorithm: KeyAlgorithm, id: String? = nil
  ) throws(ServiceError) -> KeySetKey {
    guard algorithm.isPublicKeyEncryption else {
      throw .invalid(
        "alg of a public key", value: algorithm.rawValue,
        allowed: KeyAlgorithm.allCases.filter(\.isPublicKeyEncryption).map(\.rawValue)
          .joined(separator: ", "))
    }
    let key = try ServiceError.ofJOSE { () throws(JOSEError) in
      text.contains("-----BEGIN")
        ? try JSONWebKey(publicPEM: text, algorithm: algorithm)
        : try JSONWebKey(parsing: text, as: algorithm)
    }
    guard !key.isPrivate else { throw .jose(.keyNotPublic) }
    return try add(key, named: id ?? key.id)
  }

  private func add(_ key: JSONWebKey, named id: String?) throws(ServiceError) -> KeySetKey {
    let name: String
    if let id {
      name = id
    } else {
      let step = try ServiceError.ofStore { () throws(StoreError) in
        try store.advance("keys", by: 1)
      }
      name = "\(step + 1)"
    }
    let others = try account.snapshot().keys.values.map(\.key).filter { $0.id != name }
    let isPublic = !key.isPrivate
    let place = KeySetKey.place(of: name, isPublic: isPublic)
    let sealed = try ServiceError.ofJOSE { () throws(JOSEError) in
      // They are published as one set, whose size is limited.
      _ = try JWKS(others + [key.named(name)])
      if let bytes = key.publicBytes, isPublic { return account.vault.seal(bytes.span, for: place) }
      return try key.withSecret { account.vault.seal($0, for: place) }
    }
    let record = KeySetKey(
      name, key.algorithm, added: now, isPublic: isPublic, sealedKey: sealed)
    try add(record)
    return record
  }

  /// Removes a key that no API names.
  ///
  /// - Parameters:
  ///   - id: The key's name.
  ///   - atOnce: Whether to do it even if tokens by it have not ended.
  /// - Throws: ``ServiceError/unknown(_:name:)``, ``ServiceError/inUse(_:by:)``,
  ///   ``ServiceError/outOfTurn(_:instead:)``.
  public func removeKey(_ id: String, atOnce: Bool = false) throws(ServiceError) {
    let users = try apis().filter { $0.keyIDs.contains(id) }
    guard users.isEmpty else {
      throw .inUse("key “\(id)”", by: users.map(\.host).joined(separator: ", "))
    }
    try Self.checkEnd(one(id, KeySetKey.self).end, of: id, at: now, atOnce: atOnce)
    try remove(id, KeySetKey.self)
  }

  /// The secret of a symmetric key, which then counts as handed out; or the public key of another.
  ///
  /// - Parameter id: The key's name.
  /// - Returns: The key, for API backends.
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  public func key(_ id: String) throws(ServiceError) -> JSONWebKey {
    let key = try openedKey(id)
    if key.algorithm.isSymmetric, try !one(id, KeySetKey.self).isGiven {
      try rewrite(id, KeySetKey.self) { $0.isGiven = true }
    }
    return key.publicKey ?? key
  }

  /// The public part of a key in PEM. A shared key has none, and does not count as handed out.
  ///
  /// - Parameter id: The key's name.
  /// - Returns: One `PUBLIC KEY`.
  /// - Throws: ``ServiceError/unknown(_:name:)``, ``ServiceError/jose(_:)`` for a shared key.
  public func publicPEM(ofKey id: String) throws(ServiceError) -> String {
    let key = try openedKey(id)
    return try ServiceError.ofJOSE { () throws(JOSEError) in try key.publicPEM() }
  }

  private func openedKey(_ id: String) throws(ServiceError) -> JSONWebKey {
    guard let key = try account.snapshot().keys[id]?.key else {
      throw .unknown(KeySetKey.noun, name: String(id.prefix(80)))
    }
    return key
  }

  /// The public keys, a JWKS.
  public func jwks() throws(ServiceError) -> String { try account.snapshot().jwks() }
}

extension Snapshot {
  /// The public keys of the key sets; symmetric keys are left out.
  func jwks() throws(ServiceError) -> String {
    let keys = self.keys.values.map(\.key).sorted { ($0.id ?? "") < ($1.id ?? "") }
    return try ServiceError.ofJOSE { () throws(JOSEError) in try JWKS(keys).publicJSON }
  }
}
