// SPDX-License-Identifier: Apache-2.0

public import ProofBackend
public import ProofJOSE
public import ProofModel

// Hardware: its registration, its features, and its factory secret.

extension Management {
  /// The registered hardware.
  public func hardware() throws(ServiceError) -> [RegisteredHardware] {
    try store.all(RegisteredHardware.self)
  }

  /// One piece of hardware.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  public func hardware(_ id: HardwareID) throws(ServiceError) -> RegisteredHardware {
    try one(id.description, RegisteredHardware.self)
  }

  /// Registers hardware. Revoked hardware is never registered again.
  ///
  /// - Parameters:
  ///   - identity: Its name, and the key that tokens are sealed to.
  ///   - mode: The hardware's mode. It refuses tokens that were made in the other mode.
  ///   - allowsLiteral: Whether it takes tokens in the literal form.
  ///   - features: Its features. A factory secret adds those that go with it.
  ///   - name: The name that people use for it.
  ///   - factorySecret: What the factory drew for it, 32 bytes; nil if it has no factory secret.
  /// - Returns: The hardware, as it was registered.
  /// - Throws: ``ServiceError/alreadyThere(_:name:)``, ``ServiceError/invalid(_:value:allowed:)``.
  @discardableResult
  public func addHardware(
    _ identity: HardwareIdentity, mode: Mode = .production, allowsLiteral: Bool = false,
    features: HardwareFeatures = [], name: String, factorySecret: consuming JOSESecret? = nil
  ) throws(ServiceError) -> RegisteredHardware {
    let plain = RegisteredHardware(
      identity, mode: mode, allowsLiteral: allowsLiteral, name: try Self.checked(name: name),
      added: now)
    var hardware = plain
    let drawn = DrawnSecret(factorySecret)
    do {
      try write(drawn, of: identity.id) { sealed throws(ServiceError) in
        hardware = plain
        try Self.add(features, sealed, to: &hardware)
        return [.insert(.hardware, hardware.key, hardware.bytes)]
      }
    } catch .store(.alreadyThere) {
      throw .alreadyThere(RegisteredHardware.noun, name: hardware.key)
    }
    return hardware
  }

  /// Adds features to hardware whose firmware was updated, or replaces its factory secret.
  ///
  /// A registration never loses a feature, because tokens of before are open to more attackers.
  ///
  /// - Parameters:
  ///   - id: The hardware.
  ///   - features: The features to add.
  ///   - factorySecret: What the factory drew for it, 32 bytes; nil to leave the present one.
  /// - Returns: The hardware, as it is registered now.
  /// - Throws: ``ServiceError/unknown(_:name:)``, ``ServiceError/invalid(_:value:allowed:)``.
  @discardableResult
  public func changeHardware(
    _ id: HardwareID, adding features: HardwareFeatures,
    factorySecret: consuming JOSESecret? = nil
  ) throws(ServiceError) -> RegisteredHardware {
    let key = id.description
    var changed = try hardware(id)
    let drawn = DrawnSecret(factorySecret)
    try write(drawn, of: id) { sealed throws(ServiceError) in
      let present = try ServiceError.ofStore { () throws(StoreError) in
        try store.row(key, of: .hardware)
      }
      guard let present else { throw .unknown(RegisteredHardware.noun, name: key) }
      changed = try RegisteredHardware(StoreRow(key, present))
      try Self.add(features, sealed, to: &changed)
      return StoreChange.rewriting(.hardware, key, from: present, to: changed.bytes)
    }
    return changed
  }

  /// Issues nothing for a piece of hardware from now on.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  public func revokeHardware(_ id: HardwareID) throws(ServiceError) {
    try rewrite(id.description, RegisteredHardware.self) { $0.isRevoked = true }
  }

  /// The key that opens the factory secrets of the account's hardware, for a backend that issues
  /// tokens.
  ///
  /// - Throws: ``ServiceError/damaged(_:)``.
  public func factoryKey() throws(ServiceError) -> JOSESecret {
    let present = try FactoryKey.present(in: account)
    return present.copy()
  }

  /// Draws another factory key and seals every factory secret under it, for a key that others know.
  ///
  /// A backend with the key of before issues nothing for hardware with a factory secret until it has
  /// the new one. Others who have the old key *and* a copy of the store know the secrets in it.
  ///
  /// - Throws: ``ServiceError``.
  public func replaceFactoryKey() throws(ServiceError) {
    while true {
      let present = try FactoryKey.present(in: account)
      let sealed = try account.vault.freshKey(FactoryKey.byteCount, for: .factoryKey)
      let place = AccountDocument.factoryKey
      let (old, new) = (
        try FactoryKey(present.copy()),
        try FactoryKey(account.vault.open(sealed, for: place.rawValue))
      )
      var fields = JSONObject()
      fields.set("key", sealed)
      var changes = StoreChange.rewriting(
        .account, place.rawValue, from: present.row, to: Array(JSONValue.object(fields).text.utf8))
      let rows = try ServiceError.ofStore { () throws(StoreError) in
        try store.rows(of: .hardware)
      }
      for row in rows {
        var hardware = try RegisteredHardware(row)
        guard let sealed = hardware.sealedFactorySecret else { continue }
        hardware.sealedFactorySecret = try old.moved(sealed, of: hardware.identity.id, to: new)
        changes += StoreChange.rewriting(
          .hardware, row.key, from: row.value, to: hardware.bytes)
      }
      do { return try account.apply(changes) } catch .store(.changedMeanwhile) { continue }
    }
  }

  /// Applies changes to hardware, with its factory secret sealed under the present factory key. Starts
  /// over if another writer was faster: a secret under a key that was replaced opens for no backend.
  private func write(
    _ drawn: DrawnSecret?, of id: HardwareID,
    _ changes: (_ sealed: [UInt8]?) throws(ServiceError) -> [StoreChange]
  ) throws(ServiceError) {
    while true {
      var sealed: [UInt8]?
      var expected: [StoreChange] = []
      if let drawn {
        let present = try FactoryKey.present(in: account)
        sealed = try FactoryKey(present.copy()).seal(drawn.secret, of: id)
        expected = StoreChange.rewriting(
          .account, AccountDocument.factoryKey.rawValue, from: present.row, to: present.counted)
      }
      do { return try account.apply(expected + changes(sealed)) } catch .store(.changedMeanwhile) {
        continue
      }
    }
  }

  private static func add(
    _ features: HardwareFeatures, _ sealed: [UInt8]?, to hardware: inout RegisteredHardware
  ) throws(ServiceError) {
    hardware.features.formUnion(features)
    if let sealed {
      hardware.features.formUnion([.tokenVersionTwo, .factorySecret])
      hardware.sealedFactorySecret = sealed
    }
    guard hardware.features.contains(.factorySecret) else { return }
    guard hardware.sealedFactorySecret != nil else {
      throw .invalid(
        "features", value: "factory-secret", allowed: "factory-secret with the factory secret")
    }
    guard !hardware.allowsLiteral else {
      throw .invalid(
        "factory secret", value: "of hardware that takes literal tokens",
        allowed: "hardware that takes no literal tokens")
    }
  }
}

extension Management {
  func performHardware(
    _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    switch verb {
    case "list":
      try arguments.finish()
      return Self.list(try hardware())
    case "add":
      let id = try arguments.bytes("id", HardwareID.self)
      let publicKey = try arguments.bytes("publicKey", HardwarePublicKey.self)
      let mode = try Self.mode(&arguments)
      let allowsLiteral = try arguments.flag("literal")
      let name = try arguments.optionalText("name") ?? ""
      let features = try Self.features(&arguments)
      let secret = try Self.factorySecret(&arguments)
      try arguments.finish()
      let hardware = try addHardware(
        HardwareIdentity(id: id, publicKey: publicKey), mode: mode, allowsLiteral: allowsLiteral,
        features: features, name: name, factorySecret: secret)
      return .object(hardware.shown)
    case "change":
      let id = try arguments.bytes("id", HardwareID.self)
      let features = try Self.features(&arguments)
      let secret = try Self.factorySecret(&arguments)
      try arguments.finish()
      return .object(try changeHardware(id, adding: features, factorySecret: secret).shown)
    case "sealed-secret":
      let id = try arguments.bytes("id", HardwareID.self)
      try arguments.finish()
      var shown = JSONObject()
      shown.set("sealed", try hardware(id).sealedFactorySecret.map { Base64.encode($0) })
      return .object(shown)
    case "factory-key":
      try arguments.finish()
      let text = try factoryKey().encoded(as: .standard)
      return .object([
        "key": .string(text.withBytes { String(decoding: Array(copying: $0), as: UTF8.self) })
      ])
    case "replace-factory-key":
      try arguments.finish()
      try replaceFactoryKey()
      return Self.done
    case "revoke":
      let id = try arguments.bytes("id", HardwareID.self)
      try arguments.finish()
      try revokeHardware(id)
      return Self.done
    default: return nil
    }
  }

  private static func features(
    _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> HardwareFeatures {
    let words = try arguments.optionalTexts("features") ?? []
    guard let features = HardwareFeatures(words: words) else {
      throw .invalid(
        "features", value: String(words.joined(separator: ", ").prefix(80)),
        allowed: HardwareFeatures.known.words.joined(separator: ", "))
    }
    return features
  }

  private static func factorySecret(
    _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JOSESecret? {
    guard let bytes = try arguments.optionalSecret("factorySecret") else { return nil }
    return JOSESecret(copying: bytes.span)
  }
}

/// A factory secret as it was drawn. A class, so that a closure can use it again.
private final class DrawnSecret {
  let secret: JOSESecret

  init?(_ secret: consuming JOSESecret?) {
    guard let secret = consume secret else { return nil }
    self.secret = secret
  }
}
