// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

/// An account as it stood at one revision of its store, opened and ready for use.
final class Snapshot: Sendable {
  let revision: UInt64
  let configuration: ConfigurationSettings
  let configurationKey: TokenKey
  let secrets: OwnKeys
  let customKeys: OwnKeys
  let sealingKeys: OwnKeys
  let policy: Policy
  let developmentKey: [UInt8]?
  let messageKey: (id: String, key: MessageKey)?
  /// The decoy key for apps that fail, if the account has a message key.
  let messageDecoy: MessageKey?
  /// The secrets of the installations' own strings, the active one first.
  let stringSecrets: [StringSecret]
  /// The keys of challenges' salts.
  let saltKeys: SaltKeys
  let managementTokens: ManagementTokens
  let apis: [String: API]
  let registrations: [AppDigest: Registration]
  let builds: [KeyID: (build: SDKBuild, key: MeasurementProofKey)]
  let keys: [String: TokenKey]
  let pins: [HostPins]
  let rules: [InstanceID: DeviceRule]
  let secureStrings: [[UInt8]: SecureString]
  /// The gates by name.
  let gates: [String: OpenGate]
  /// The signed configuration, as apps get it.
  let signedConfiguration: String

  /// The tables that a snapshot is made of.
  private static let tables: [StoreTable] = [
    .account, .api, .registration, .sdkBuild, .key, .pin, .secureString, .deviceRule, .gate,
  ]

  /// Reads the account at its present revision, in one call of the store.
  init(of account: Account) throws(ServiceError) {
    let store = try ServiceError.ofStore { () throws(StoreError) in
      try account.store.image(of: Self.tables)
    }
    revision = store.revision

    let document = try AccountDocument.configuration.needed(from: store)
    guard let settings = ConfigurationSettings(document), let sealed = document.bytes("key") else {
      throw AccountDocument.configuration.damage
    }
    configuration = settings
    configurationKey = try account.key(
      sealed, at: AccountDocument.configuration.rawValue, .edDSA, id: nil)
    secrets = try OwnKeys(.secret, of: account, in: store)
    customKeys = try OwnKeys(.custom, of: account, in: store)
    sealingKeys = try OwnKeys(.sealing, of: account, in: store)
    policy = try Policy(fields: AccountDocument.policy.needed(from: store))
    if let sealed = try AccountDocument.developmentKey.read(from: store)?.bytes("key") {
      let key = try account.vault.open(sealed, for: AccountDocument.developmentKey.rawValue)
      developmentKey = key.withBytes { Array(copying: $0) }
    } else {
      developmentKey = nil
    }
    messageKey = try Self.messageKey(of: account, in: store)
    messageDecoy = messageKey.flatMap { account.vault.messageDecoy(of: $0.id) }
    stringSecrets = try StringSecret.all(of: account, in: store)
    saltKeys = try SaltKeys(of: account, in: store)
    managementTokens = try AccountDocument.management.needed(ManagementTokens.self, from: store)

    apis = Dictionary(uniqueKeysWithValues: try store.all(API.self).map { ($0.host, $0) })
    registrations = Dictionary(
      uniqueKeysWithValues: try store.all(Registration.self).map { ($0.digest, $0) })
    rules = Dictionary(uniqueKeysWithValues: try store.all(DeviceRule.self).map { ($0.device, $0) })
    secureStrings = Dictionary(
      uniqueKeysWithValues: try store.all(SecureString.self).map { (Array($0.name.utf8), $0) })
    pins = try store.all(HostPins.self)
    var builds: [KeyID: (build: SDKBuild, key: MeasurementProofKey)] = [:]
    for build in try store.all(SDKBuild.self) {
      builds[build.id] = (build, try build.open(with: account.vault))
    }
    self.builds = builds
    var keys: [String: TokenKey] = [:]
    for key in try store.all(KeySetKey.self) {
      keys[key.id] = try account.key(
        key.sealedKey, at: key.place, key.algorithm, id: key.id, isPublic: key.isPublic)
    }
    self.keys = keys
    var gates: [String: OpenGate] = [:]
    let events = try EventRanges(of: store)
    for gate in try store.all(Gate.self) {
      gates[gate.name] = try OpenGate(
        gate, with: account.vault, apis: apis.values, events: events)
    }
    self.gates = gates
    signedConfiguration = try AccountConfiguration.signed(
      account.name, settings, configurationKey.key, apis: apis, pins: pins)
  }

  /// The keys that make tokens at present.
  var secret: TokenKey { secrets.active }
  var customKey: TokenKey { customKeys.active }
  var sealingKey: TokenKey { sealingKeys.active }

  private static func messageKey(
    of account: Account, in rows: any RowReader
  ) throws(ServiceError) -> (id: String, key: MessageKey)? {
    let place = AccountDocument.messageKey
    let stages = try place.read(KeyStages.self, from: rows)
    guard let active = stages?.active else { return nil }
    let secret = try account.vault.open(active.sealed, for: place.rawValue)
    let key = secret.withBytes { try? MessageKey(SecretBytes(copying: $0)) }
    guard let key else { throw place.damage }
    return (active.id, key)
  }

  /// Whether an API's tokens name it. Tokens sealed to a public key do: otherwise a backend that
  /// opens one could seal the signed token in it again, for another API.
  func hasAudience(_ api: API) -> Bool {
    if key(of: api)?.key.algorithm.isPublicKeyEncryption == true { return true }
    return api.hasAudience ?? policy.hasAudience
  }

  /// The key that signs the token inside an API's sealed tokens; nil if they hold the claims
  /// themselves.
  func signer(of api: API) -> TokenKey? { api.signerID.flatMap { keys[$0] } }

  /// The sources that apps with a build's key are not asked for.
  func leftOut(of build: SDKBuild) -> LeftOutSources {
    policy.sourcesWithout.union(build.sourcesWithout)
  }

  /// The key of an API's tokens; nil if it names a key that was removed.
  func key(of api: API) -> TokenKey? {
    if let id = api.keyID { return keys[id] }
    return api.kind == .measurement ? sealingKey : secret
  }
}

/// The keys of one kind, opened: the active one, and those that are rotated in or out.
struct OwnKeys: Sendable {
  let active: TokenKey
  /// The keys, the active one first.
  let all: [TokenKey]

  init(
    _ kind: OwnKey, of account: Account, in rows: any RowReader
  ) throws(ServiceError) {
    let document = kind.document
    let stages = try document.needed(KeyStages.self, from: rows)
    guard stages.active != nil else { throw document.damage }
    var keys: [TokenKey] = []
    for (_, key) in stages.all {
      keys.append(
        try account.key(key.sealed, at: document.rawValue, kind.algorithm, id: key.id))
    }
    active = keys[0]
    all = keys
  }

  /// The key that a token names.
  subscript(id: String) -> TokenKey? {
    all.first { $0.key.id.map { $0.utf8.elementsEqual(id.utf8) } ?? false }
  }
}

extension RowReader {
  /// All records of a kind.
  func all<R: Record>(_: R.Type) throws(ServiceError) -> [R] {
    let rows: [StoreRow]
    do { rows = try self.rows(of: R.table) } catch { throw .store(error) }
    var records: [R] = []
    for row in rows { records.append(try R(row)) }
    return records
  }

  /// One record; nil if there is none.
  func one<R: Record>(_ key: String, _: R.Type) throws(ServiceError) -> R? {
    let value: [UInt8]?
    do { value = try row(key, of: R.table) } catch { throw .store(error) }
    return try value.map { value throws(ServiceError) in try R(StoreRow(key, value)) }
  }
}

extension KeySetKey {
  var place: String { Self.place(of: id, isPublic: isPublic) }

  /// The place of a key. A public key is sealed too: otherwise an attacker who can change the store
  /// could put another public key there, without the account's key, and read the backend's tokens.
  static func place(of id: String, isPublic: Bool = false) -> String {
    isPublic ? "recipient/\(id)" : "key/\(id)"
  }
}

extension SDKBuild {
  static func place(of id: KeyID) -> String { "sdk/\(id)" }

  func open(with vault: Vault) throws(ServiceError) -> MeasurementProofKey {
    let secret = try vault.open(sealedKey, for: Self.place(of: id))
    let key = secret.withBytes { bytes in
      try? MeasurementProofKey(SecretBytes(copying: bytes), mode: mode)
    }
    guard let key, key.id == id else { throw .damaged("SDK build “\(id)”") }
    return key
  }
}
