// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
internal import ProofModel

/// An account whose secrets are unlocked. The service and the operator's tool work with one.
///
/// Several processes may have the same account open; each sees the others' changes.
public final class Account: Sendable {
  /// The account's name.
  public let name: String
  /// The account's store.
  public let store: any Store
  let vault: Vault
  private let cache = CoreLock(Cache())

  private struct Cache {
    var snapshot: Snapshot?
    /// Keys by their place and sealed form in the store. A key counts the tokens that it sealed, so
    /// it must not be made again when other parts of the account change.
    var keys: [KeyPlace: TokenKey] = [:]
  }

  private struct KeyPlace: Hashable {
    let place: String
    let sealed: [UInt8]
  }

  private init(_ name: String, _ store: any Store, _ vault: Vault) {
    self.name = name
    self.store = store
    self.vault = vault
  }

  /// Opens the account of a store.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - lock: The passphrase or key file that the account was locked with.
  /// - Returns: The account.
  /// - Throws: ``ServiceError/noAccount``, ``ServiceError/wrongPassphrase``,
  ///   ``ServiceError/wrongKeyFile``, ``ServiceError/otherLock(expected:)``.
  public static func open(
    in store: any Store, with lock: borrowing AccountLock
  ) throws(ServiceError) -> Account {
    guard let fields = try AccountDocument.lock.read(from: store) else { throw .noAccount }
    guard let name = fields.text("account"), let wrapped = WrappedKey(fields) else {
      throw AccountDocument.lock.damage
    }
    let account = Account(name, store, Vault(try wrapped.open(with: lock)))
    try account.addKey(64, .customKey)
    try account.addKey(StringSecret.byteCount, .stringKey)
    try account.addKey(SaltKey.byteCount, .saltKey)
    try account.addKey(FactoryKey.byteCount, .factoryKey)
    return account
  }

  /// Draws a key that accounts of an earlier version do not have.
  private func addKey(_ count: Int, _ document: AccountDocument) throws(ServiceError) {
    guard try document.read(from: store) == nil else { return }
    var fields = JSONObject()
    fields.set("key", try vault.freshKey(count, for: document))
    let bytes = Array(JSONValue.object(fields).text.utf8)
    do { try store.apply([.insert(.account, document.rawValue, bytes)]) } catch .alreadyThere {
      // Another process has drawn one at the same time: use that key.
    } catch {
      throw .store(error)
    }
  }

  /// Reads the name of a store's account, which needs no key.
  ///
  /// - Parameter store: The store.
  /// - Returns: The name, and the kind of its lock: `passphrase` or `key file`.
  /// - Throws: ``ServiceError/noAccount``.
  public static func identity(
    in store: any Store
  ) throws(ServiceError) -> (name: String, lock: String) {
    guard let fields = try AccountDocument.lock.read(from: store) else { throw .noAccount }
    guard let name = fields.text("account"), let kind = fields.text("kind") else {
      throw AccountDocument.lock.damage
    }
    return (name, kind)
  }

  /// Makes an account in a store that holds none.
  ///
  /// It gets fresh keys: the 64-byte secret of HS256, another one for custom tokens, the configuration's
  /// Ed25519 key, the key that seals measurement tokens, the secret of the installations' own strings, the
  /// key of challenges' salts, the key that seals factory secrets, and a management token.
  ///
  /// - Parameters:
  ///   - name: 1 to 64 lower-case letters, digits and hyphens.
  ///   - store: The store.
  ///   - lock: The passphrase or key file that locks its secrets from now on.
  ///   - url: The service's address, such as `https://attest.example.com:8443`.
  ///   - clock: Gives the time of making.
  /// - Returns: The account, and the management token, which is shown only here.
  /// - Throws: ``ServiceError/accountThere(_:)``, ``ServiceError/invalid(_:value:allowed:)``.
  public static func create(
    _ name: String, in store: any Store, lockedBy lock: borrowing AccountLock, url: String,
    clock: UnixClock = .system
  ) throws(ServiceError) -> (account: Account, managementToken: String) {
    try check(name)
    let url = try ServiceURL.checked(url)
    let now = clock.now
    let accountKey = try ServiceError.ofJOSE { () throws(JOSEError) in
      try JOSESecret.random(count: CoreSodium.keyByteCount)
    }
    var lockDocument = try WrappedKey.wrap(accountKey, by: lock).fields
    lockDocument.set("account", name)
    let vault = Vault(accountKey)
    var configuration = ConfigurationSettings(
      serial: 1, forcedPinsSerial: 0, url: url, servicePins: [], changed: now
    ).fields
    configuration.set("key", try vault.freshKey(32, for: .configuration))
    func fresh(_ kind: OwnKey) throws(ServiceError) -> JSONObject {
      let sealed = try vault.freshKey(kind.byteCount, for: kind.document)
      return KeyStages(active: SealedKey(sealed: sealed, added: now)).fields
    }
    let sealedStringKey = try vault.freshKey(StringSecret.byteCount, for: .stringKey)
    let stringKeys = KeyStages(active: SealedKey(sealed: sealedStringKey, added: now))
    let saltKeys = SaltKeyStages(
      active: SealedKey(sealed: try vault.freshKey(SaltKey.byteCount, for: .saltKey), added: now))
    var factoryKey = JSONObject()
    factoryKey.set("key", try vault.freshKey(FactoryKey.byteCount, for: .factoryKey))
    let token = ManagementToken.fresh(ManagementToken.ownerName, .all, at: now)
    let documents: [(AccountDocument, JSONObject)] = [
      (.lock, lockDocument), (.secret, try fresh(.secret)), (.customKey, try fresh(.custom)),
      (.sealingKey, try fresh(.sealing)), (.configuration, configuration),
      (.stringKey, stringKeys.fields), (.saltKey, saltKeys.fields), (.factoryKey, factoryKey),
      (.policy, Policy().fields), (.management, ManagementTokens([token.entry]).fields),
    ]
    do {
      try store.apply(
        documents.map { document, fields in
          .insert(.account, document.rawValue, Array(JSONValue.object(fields).text.utf8))
        })
    } catch .alreadyThere {
      throw .accountThere(try identity(in: store).name)
    } catch {
      throw .store(error)
    }
    return (Account(name, store, vault), token.text)
  }

  private static func check(_ name: String) throws(ServiceError) {
    let isPlain = name.utf8.allSatisfy { byte in
      (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D
    }
    guard isPlain, (1...64).contains(name.utf8.count) else {
      throw .invalid(
        "account name", value: String(name.prefix(80)),
        allowed: "1 to 64 lower-case letters, digits and hyphens")
    }
  }

  /// Locks the account with another secret; the earlier one no longer opens it.
  ///
  /// - Parameter lock: The new lock.
  /// - Throws: ``ServiceError``.
  public func relock(with lock: borrowing AccountLock) throws(ServiceError) {
    var fields = try vault.rewrapped(by: lock).fields
    fields.set("account", name)
    try apply([AccountDocument.lock.put(fields)])
  }

  /// The account at its present revision.
  func snapshot() throws(ServiceError) -> Snapshot {
    try snapshot(at: currentRevision())
  }

  /// The account as it was last read, which may be out of date; nil if it was not read yet.
  var lastSnapshot: Snapshot? { cache.withLock { $0.snapshot } }

  /// The account at this revision of the store, or a later one.
  func snapshot(at seen: UInt64) throws(ServiceError) -> Snapshot {
    if let known = cache.withLock({ $0.snapshot }), known.revision == seen { return known }
    let fresh = try Snapshot(of: self)
    cache.withLock { $0.snapshot = fresh }
    return fresh
  }

  private func currentRevision() throws(ServiceError) -> UInt64 {
    try ServiceError.ofStore { () throws(StoreError) in try store.revision() }
  }

  func apply(_ changes: [StoreChange]) throws(ServiceError) {
    do { try store.apply(changes) } catch { throw .store(error) }
  }

  /// The key that is stored, sealed, at a place.
  func key(
    _ sealed: [UInt8], at place: String, _ algorithm: KeyAlgorithm, id: String?,
    isPublic: Bool = false
  ) throws(ServiceError) -> TokenKey {
    let keyPlace = KeyPlace(place: place, sealed: sealed)
    if let known = cache.withLock({ $0.keys[keyPlace] }) { return known }
    let fresh = try makeKey(sealed, at: place, algorithm, id: id, isPublic: isPublic)
    return cache.withLock { cache in
      if let known = cache.keys[keyPlace] { return known }
      cache.keys[keyPlace] = fresh
      return fresh
    }
  }

  private func makeKey(
    _ sealed: [UInt8], at place: String, _ algorithm: KeyAlgorithm, id: String?, isPublic: Bool
  ) throws(ServiceError) -> TokenKey {
    let secret = try vault.open(sealed, for: place)
    do {
      let key =
        isPublic
        ? try JSONWebKey(
          publicBytes: secret.withBytes { Array(copying: $0) }, algorithm: algorithm, id: id)
        : try JSONWebKey(secret: secret, algorithm: algorithm, id: id)
      return TokenKey(key, counter: "sealed." + Hexadecimal.encode(sealed.prefix(16)), in: store)
    } catch {
      throw .jose(error)
    }
  }
}

extension WrappedKey {
  var fields: JSONObject {
    var fields: JSONObject = ["kind": .string(kind)]
    fields.set("salt", salt)
    fields.set("passes", Int64(passes))
    fields.set("memory", Int64(memory))
    fields.set("wrapped", wrapped)
    return fields
  }

  init?(_ fields: JSONObject) {
    guard let kind = fields.text("kind"), let salt = fields.bytes("salt"),
      let passes = fields.integer("passes").flatMap(UInt64.init(exactly:)),
      let memory = fields.integer("memory"), let wrapped = fields.bytes("wrapped")
    else { return nil }
    self.init(kind: kind, salt: salt, passes: passes, memory: Int(memory), wrapped: wrapped)
  }
}
