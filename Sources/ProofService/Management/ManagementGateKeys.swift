// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

// The keys of gates: drawn, handed out in the gate's configuration, promoted, retired. The steps are those of the
// account's own keys.

extension Management {
  /// Adds the next key of a kind. It is in use after ``promoteGateKey(_:of:atOnce:)``.
  ///
  /// - Parameters:
  ///   - kind: The kind.
  ///   - name: The gate.
  ///   - publicKey: For ``Gate/KeyKind/key``: the X25519 key that the gate made.
  /// - Returns: The key's state.
  /// - Throws: ``ServiceError/outOfTurn(_:instead:)``, ``ServiceError/invalid(_:value:allowed:)``.
  @discardableResult
  public func prepareGateKey(
    _ kind: Gate.KeyKind, of name: String, publicKey: [UInt8]? = nil
  ) throws(ServiceError) -> KeyState {
    var fresh: SealedKey?
    try rewriteStages(kind, of: name) { stages, gate throws(ServiceError) in
      // The gate has room for two keys, and tokens by the old one are still good.
      if kind == .key, let old = stages.old {
        throw RotationWords(kind, of: name).notRetired(old)
      }
      var key = try freshKey(kind, of: gate, publicKey: publicKey)
      // The gate made it, so the gate has it.
      key.isGiven = kind == .key
      try stages.prepare(key, RotationWords(kind, of: name))
      fresh = key
    }
    guard let fresh else { throw .damaged("gate “\(name)”") }
    return fresh.state(.next)
  }

  /// Uses the next key from now on.
  ///
  /// - Parameters:
  ///   - kind: The kind.
  ///   - name: The gate.
  ///   - atOnce: Whether to do it although no configuration with the key was handed out.
  /// - Returns: The key's state.
  /// - Throws: ``ServiceError/outOfTurn(_:instead:)``.
  @discardableResult
  public func promoteGateKey(
    _ kind: Gate.KeyKind, of name: String, atOnce: Bool = false
  ) throws(ServiceError) -> KeyState {
    var promoted: KeyState?
    let now = now
    try rewriteStages(kind, of: name) { stages, gate throws(ServiceError) in
      let end = now + Int64(gate.life) + Self.endMargin
      promoted = try stages.promote(
        endingAt: end, atOnce: atOnce, RotationWords(kind, of: name))
    }
    guard let promoted else { throw .damaged("gate “\(name)”") }
    return promoted
  }

  /// Drops the key before the active one.
  ///
  /// - Throws: ``ServiceError/outOfTurn(_:instead:)``.
  public func retireGateKey(
    _ kind: Gate.KeyKind, of name: String, atOnce: Bool = false
  ) throws(ServiceError) {
    let now = now
    try rewriteStages(kind, of: name) { stages, _ throws(ServiceError) in
      try stages.retire(at: now, atOnce: atOnce, RotationWords(kind, of: name))
    }
  }

  /// Forgets the next key.
  ///
  /// - Throws: ``ServiceError/outOfTurn(_:instead:)``.
  public func dropGateKey(_ kind: Gate.KeyKind, of name: String) throws(ServiceError) {
    try rewriteStages(kind, of: name) { stages, _ throws(ServiceError) in
      try stages.dropNext(RotationWords(kind, of: name))
    }
  }

  private func rewriteStages(
    _ kind: Gate.KeyKind, of name: String,
    _ change: (inout KeyStages, Gate) throws(ServiceError) -> Void
  ) throws(ServiceError) {
    try rewriteGate(name) { gate throws(ServiceError) in
      guard var stages = gate.keys[kind] else { throw .damaged("gate “\(name)”") }
      try change(&stages, gate)
      gate.keys[kind] = stages
    }
  }

  /// A key under the next free number, or under the issuer's name.
  func freshKey(
    _ kind: Gate.KeyKind, of gate: Gate, publicKey: [UInt8]?
  ) throws(ServiceError) -> SealedKey {
    guard (kind == .key) == (publicKey != nil) else {
      throw .invalid(
        "public key", value: publicKey == nil ? "missing" : "given",
        allowed: "with the gate's own key, and not with account and issuer keys")
    }
    let place = gate.place(of: kind)
    switch kind {
    case .key:
      let number = Self.nextNumber(in: gate.keys[kind])
      let bytes = publicKey ?? []
      // A point of small order would give every token the same key.
      guard (try? GatePublicKey(bytes, number: number)) != nil,
        !gate.hasKey(bytes, with: account.vault), CoreSodium.isUsablePoint(bytes)
      else {
        throw .invalid(
          "public key of the gate", value: String(Hexadecimal.encode(bytes).prefix(80)),
          allowed: "another X25519 key of 32 bytes, such as “gate keys new” makes")
      }
      return SealedKey(
        named: "\(number)", sealed: account.vault.seal(bytes.span, for: place), added: now)
    case .account:
      let secret = try ServiceError.ofJOSE { () throws(JOSEError) in
        try JOSESecret.random(count: GateAccountKey.byteCount)
      }
      return SealedKey(
        named: "\(Self.nextNumber(in: gate.keys[kind]))",
        sealed: account.vault.seal(secret, for: place), added: now)
    case .issuer:
      let seed = try ServiceError.ofJOSE { () throws(JOSEError) in
        try JOSESecret.random(count: 32)
      }
      let id = seed.withBytes { (try? IssuerKey(seed: SecretBytes(copying: $0)))?.id }
      guard let id else { throw .invalid("issuer", value: "", allowed: "32 bytes") }
      return SealedKey(
        named: id.description, sealed: account.vault.seal(seed, for: place), added: now)
    }
  }

  /// One above the highest number in use, and 1 after 255.
  private static func nextNumber(in stages: KeyStages?) -> UInt8 {
    let used = (stages?.all ?? []).compactMap { UInt8($0.key.id) }
    guard let newest = stages?.next ?? stages?.active, let number = UInt8(newest.id) else {
      return 1
    }
    var next = number == 255 ? 1 : number + 1
    while used.contains(next) { next = next == 255 ? 1 : next + 1 }
    return next
  }

  // MARK: The configuration of a gate

  /// Everything that a gate judges by, signed by the account's configuration key. It holds the account keys:
  /// secret. The next keys count as handed out from then on.
  ///
  /// - Parameter name: The gate.
  /// - Returns: A JWS in compact form: docs/SERVICE.md, section 10.
  /// - Throws: ``ServiceError/unknown(_:name:)``, ``ServiceError/invalid(_:value:allowed:)`` if it is too long.
  public func gateConfiguration(_ name: String) throws(ServiceError) -> String {
    let kinds = try gate(name).keys.filter { $0.value.next?.isGiven == false }.keys
    if !kinds.isEmpty {
      try rewriteGate(name) { gate in for kind in kinds { gate.keys[kind]?.next?.isGiven = true } }
    }
    let snapshot = try account.snapshot()
    return try Self.signed(
      gateClaims(name, snapshot), as: GateConfiguration.type, by: snapshot)
  }

  /// The configuration for the redeemers of one audience at a gate: account keys, and the audience's events alone. No
  /// key counts as handed out to the gate by it.
  ///
  /// - Parameters:
  ///   - name: The gate.
  ///   - audience: The audience's name.
  /// - Returns: A JWS in compact form: docs/SERVICE.md, section 10.
  /// - Throws: ``ServiceError/unknown(_:name:)`` for the gate, or an audience without events there.
  public func gateConfiguration(
    _ name: String, audience: String
  ) throws(ServiceError) -> String {
    let snapshot = try account.snapshot()
    guard
      let claims = GateConfiguration.claims(for: audience, of: try gateClaims(name, snapshot))
    else { throw .unknown("audience of the gate's events", name: String(audience.prefix(80))) }
    return try Self.signed(claims, as: GateConfiguration.redeemerType, by: snapshot)
  }

  private func gateClaims(
    _ name: String, _ snapshot: Snapshot
  ) throws(ServiceError) -> JSONObject {
    guard let open = snapshot.gates[name] else { throw .unknown(Gate.noun, name: name) }
    return try GateConfiguration.claims(
      open, account: account, snapshot, events: events(), challenges: challenges(),
      risks: risks(), at: now)
  }

  private static func signed(
    _ claims: JSONObject, as type: String, by snapshot: Snapshot
  ) throws(ServiceError) -> String {
    do throws(ServiceError) {
      return try ServiceError.ofJOSE { () throws(JOSEError) in
        try JWSSigner(snapshot.configurationKey.key).sign(
          payload: Array(JSONValue.object(claims).text.utf8).span, type: type)
      }
    } catch .jose(.tooLong) {
      throw .invalid(
        "configuration of the gate", value: "too long for a token",
        allowed: "40 KiB with all revocations and events")
    }
  }
}

extension Gate {
  /// Whether a public key is one of the gate's: under two numbers it would be no rotation.
  fileprivate func hasKey(_ bytes: [UInt8], with vault: Vault) -> Bool {
    (keys[.key]?.all ?? []).contains { (try? publicKey($0.key, with: vault))?.bytes == bytes }
  }
}
