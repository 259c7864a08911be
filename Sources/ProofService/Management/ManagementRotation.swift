// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE

// The rotation of the account's own keys, during which no token is refused. The next key is drawn,
// handed out to verifiers, and made the active one. The old key is dropped when its last token has
// ended. docs/ROTATION.md has the steps.

extension Management {
  /// Seconds for which the old key is kept after its last token's end, for requests in progress.
  static let endMargin: Int64 = 60

  /// The keys of a kind without their secrets, the active one first.
  ///
  /// - Parameter kind: The kind.
  /// - Returns: At most one of each stage; empty for a message key that the account does not have.
  /// - Throws: ``ServiceError``.
  public func keyStates(of kind: OwnKey) throws(ServiceError) -> [KeyState] {
    try kind.document.read(KeyStages.self, from: store)?.states ?? []
  }

  /// Draws the next key. It makes no token until ``promoteKey(of:atOnce:)``.
  ///
  /// - Parameters:
  ///   - kind: The kind.
  ///   - isPrintable: Whether a secret of HS256 is to have 64 printable characters.
  /// - Returns: The key, without its secret.
  /// - Throws: ``ServiceError/outOfTurn(_:instead:)`` if a next key exists.
  @discardableResult
  public func prepareKey(
    of kind: OwnKey, isPrintable: Bool = false
  ) throws(ServiceError) -> KeyState {
    let fresh = try freshKey(kind, isPrintable: isPrintable)
    try rewrite(kind.document, absent: KeyStages()) { stages throws(ServiceError) in
      try stages.prepare(fresh, RotationWords(kind))
    }
    return fresh.state(.next)
  }

  /// The keys with their secrets, for verifiers: all keys that a token may be made with now, after
  /// the next step, and before the last.
  ///
  /// From then on the next key counts as handed out.
  ///
  /// - Parameter kind: The kind.
  /// - Returns: The keys by name, the active one first.
  /// - Throws: ``ServiceError``.
  public func handOutKeys(of kind: OwnKey) throws(ServiceError) -> [JSONWebKey] {
    guard let stages = try kind.document.read(KeyStages.self, from: store) else { return [] }
    if let next = stages.next, !next.isGiven {
      try rewrite(kind.document, absent: KeyStages()) { stages in
        if stages.next?.id == next.id { stages.next?.isGiven = true }
      }
    }
    var keys: [JSONWebKey] = []
    for (_, key) in stages.all {
      let place = kind.document.rawValue
      keys.append(try account.key(key.sealed, at: place, kind.algorithm, id: key.id).key)
    }
    return keys
  }

  /// Makes tokens with the next key from now on. Tokens by the earlier key stay valid until they
  /// end.
  ///
  /// - Parameters:
  ///   - kind: The kind.
  ///   - atOnce: Whether to do it even if the next key was never handed out.
  /// - Returns: The active key, without its secret.
  /// - Throws: ``ServiceError/outOfTurn(_:instead:)``.
  @discardableResult
  public func promoteKey(
    of kind: OwnKey, atOnce: Bool = false
  ) throws(ServiceError) -> KeyState {
    let end = now + Int64(try policy().tokenLifetime) + Self.endMargin
    var promoted: KeyState?
    try rewrite(kind.document, absent: KeyStages()) { stages throws(ServiceError) in
      promoted = try stages.promote(endingAt: end, atOnce: atOnce, RotationWords(kind))
    }
    guard let promoted else { throw .damaged(kind.document.rawValue) }
    return promoted
  }

  /// Drops the old key.
  ///
  /// - Parameters:
  ///   - kind: The kind.
  ///   - atOnce: Whether to do it even if tokens by it have not ended.
  /// - Throws: ``ServiceError/outOfTurn(_:instead:)``.
  public func retireKey(of kind: OwnKey, atOnce: Bool = false) throws(ServiceError) {
    let now = now
    try rewrite(kind.document, absent: KeyStages()) { stages throws(ServiceError) in
      try stages.retire(at: now, atOnce: atOnce, RotationWords(kind))
    }
  }

  /// Drops the next key.
  ///
  /// - Throws: ``ServiceError/outOfTurn(_:instead:)`` if there is none.
  public func dropKey(of kind: OwnKey) throws(ServiceError) {
    try rewrite(kind.document, absent: KeyStages()) { stages throws(ServiceError) in
      try stages.dropNext(RotationWords(kind))
    }
  }

  /// Replaces all keys of a kind at once, for a key that was leaked. Tokens in use are refused.
  ///
  /// - Parameters:
  ///   - kind: The kind.
  ///   - isPrintable: Whether a secret of HS256 is to have 64 printable characters.
  /// - Throws: ``ServiceError``.
  public func changeKey(of kind: OwnKey, isPrintable: Bool = false) throws(ServiceError) {
    let fresh = try freshKey(kind, isPrintable: isPrintable)
    try rewrite(kind.document, absent: KeyStages()) { $0 = KeyStages(active: fresh) }
  }

  static func checkEnd(
    _ end: UnixTime?, of id: String, at now: UnixTime, atOnce: Bool
  ) throws(ServiceError) {
    guard let end, end > now, !atOnce else { return }
    throw .outOfTurn(
      "tokens by the key “\(id)” end in \(end - now) seconds",
      instead: "Try again then. If the key is compromised, add --at-once: its tokens are refused.")
  }

  private func freshKey(_ kind: OwnKey, isPrintable: Bool) throws(ServiceError) -> SealedKey {
    let place = kind.document
    guard isPrintable else {
      return SealedKey(sealed: try account.vault.freshKey(kind.byteCount, for: place), added: now)
    }
    // 64 characters of base64url carry 384 random bits.
    let random = try ServiceError.ofJOSE { () throws(JOSEError) in
      try JOSESecret.random(count: 48)
    }
    let text = random.encoded(as: .url)
    return SealedKey(sealed: account.vault.seal(text, for: place.rawValue), added: now)
  }
}
