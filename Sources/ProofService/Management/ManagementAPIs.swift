// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

// The APIs, and the keys of their tokens.

extension Management {
  /// The APIs, by host.
  public func apis() throws(ServiceError) -> [API] { try store.all(API.self) }

  /// Adds an API with its pins, in one step.
  ///
  /// - Parameters:
  ///   - api: The API.
  ///   - pins: Its pins; nil to keep the present ones.
  /// - Throws: ``ServiceError/alreadyThere(_:name:)``, ``ServiceError/unknown(_:name:)`` for its keys,
  ///   ``ServiceError/invalid(_:value:allowed:)`` for a key of the wrong use.
  public func add(_ api: API, pins: [String]? = nil) throws(ServiceError) {
    var keys: [String: KeySetKey] = [:]
    for key in try self.keys() { keys[key.id] = key }
    try Self.check(api, with: keys)
    if let name = api.gate { try checkRoom(at: gate(name)) }
    var changes = [StoreChange.insert(.api, api.key, api.bytes)]
    if let pins {
      let pinned = try HostPins(api.host, pins)
      changes.append(.put(.pin, pinned.key, pinned.bytes))
    }
    do {
      try changeConfiguration(changes)
    } catch .store(.alreadyThere) {
      throw .alreadyThere(API.noun, name: api.key)
    }
  }

  /// Removes an API with its pins.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  public func removeAPI(_ host: String) throws(ServiceError) {
    let api = try one(host.lowercased(), API.self)
    try changeConfiguration([.remove(.api, api.host), .remove(.pin, api.host)])
  }

  // MARK: Changes

  /// A change of an API. Parts that are nil stay unchanged.
  public struct APIChange: Sendable {
    /// The key of its tokens: the named key of a key set, or the account's own.
    public enum Key: Sendable, Hashable {
      /// A key of a key set.
      case named(String)
      /// The account's own key.
      case own
    }

    /// The key of its tokens.
    public var key: Key?
    /// The key that signs the token inside a sealed one; the inner nil for none.
    public var signerID: String??
    /// Whether its tokens name it in `aud`; the inner nil for the policy's default.
    public var hasAudience: Bool??

    /// Makes a change that changes nothing.
    public init() {}
  }

  /// Changes an API: its next token uses the new keys, or names another audience. Tokens of the
  /// earlier keys stay valid until they end.
  ///
  /// - Parameters:
  ///   - host: The API.
  ///   - change: The change.
  ///   - atOnce: Whether to do it even if verifiers may not have the keys yet.
  /// - Throws: ``ServiceError/unknown(_:name:)``, ``ServiceError/invalid(_:value:allowed:)``,
  ///   ``ServiceError/outOfTurn(_:instead:)``.
  public func changeAPI(
    _ host: String, _ change: APIChange, atOnce: Bool = false
  ) throws(ServiceError) {
    try move(atOnce: atOnce) { apis throws(ServiceError) in
      guard var api = apis.first(where: { $0.host == host.lowercased() }) else {
        throw .unknown(API.noun, name: String(host.prefix(80)))
      }
      if let key = change.key {
        guard api.kind != .none, api.kind != .proof else {
          throw .invalid("key of an API without tokens", value: host, allowed: "none")
        }
        api.keyID = if case .named(let id) = key { id } else { nil }
      }
      if let signerID = change.signerID { api.signerID = signerID }
      if let hasAudience = change.hasAudience { api.hasAudience = hasAudience }
      return [api]
    }
  }

  /// Moves all APIs from one key to another: those whose tokens it signs or seals, and those whose
  /// inner tokens it signs.
  ///
  /// - Parameters:
  ///   - old: The key that they have.
  ///   - new: The key that they get.
  ///   - atOnce: Whether to do it even if verifiers may not have the new key yet.
  /// - Returns: The hosts of the APIs.
  /// - Throws: As ``changeAPI(_:_:atOnce:)``.
  @discardableResult
  public func changeKey(
    _ old: String, to new: String, atOnce: Bool = false
  ) throws(ServiceError) -> [String] {
    _ = try one(old, KeySetKey.self)
    return try move(atOnce: atOnce) { apis in
      apis.filter { $0.keyIDs.contains(old) }.map { api in
        var api = api
        if api.keyID == old { api.keyID = new }
        if api.signerID == old { api.signerID = new }
        return api
      }
    }
  }

  /// Rewrites APIs, and notes the end of tokens by the keys that they leave, in one step.
  @discardableResult
  private func move(
    atOnce: Bool, _ change: ([API]) throws(ServiceError) -> [API]
  ) throws(ServiceError) -> [String] {
    let end = now + Int64(try policy().tokenLifetime) + Self.endMargin
    while true {
      let rows = try [StoreTable.api, .key].map { table throws(ServiceError) in
        try ServiceError.ofStore { () throws(StoreError) in try store.rows(of: table) }
      }
      var present: [API] = []
      for row in rows[0] { present.append(try API(row)) }
      let changed = try change(present)
      var keys: [String: KeySetKey] = [:]
      for row in rows[1] { keys[row.key] = try KeySetKey(row) }
      func expected(_ table: StoreTable, _ key: String) -> [StoreChange] {
        rows[table == .api ? 0 : 1].filter { $0.key == key }.map { .expect(table, key, $0.value) }
      }
      var changes: [StoreChange] = []
      var ends: [String: KeySetKey] = [:]
      var begins: [String: KeySetKey] = [:]
      for api in changed {
        guard let before = present.first(where: { $0.host == api.host }) else { continue }
        try Self.check(api, with: keys)
        changes += expected(.api, api.key) + [.put(.api, api.key, api.bytes)]
        for id in api.keyIDs where !before.keyIDs.contains(id) {
          guard let key = keys[id] else { continue }
          try checkReady(key, atOnce: atOnce)
          begins[id] = key
        }
        for id in before.keyIDs where !api.keyIDs.contains(id) { ends[id] = keys[id] }
      }
      // A key that several APIs leave ends with the last of them: note its end each time.
      for (id, key) in ends.merging(begins, uniquingKeysWith: { $1 }) {
        var noted = key
        noted.end = begins[id] == nil ? end : nil
        changes += expected(.key, id) + [.put(.key, id, noted.bytes)]
      }
      do {
        try account.apply(changes)
        return changed.map(\.host)
      } catch .store(.changedMeanwhile) {
        continue
      }
    }
  }

  // MARK: The keys an API may have

  /// Refuses one host more than an admission has room for.
  private func checkRoom(at gate: Gate) throws(ServiceError) {
    guard try apis().count(where: { $0.gate == gate.name }) < GateAdmission.hostCountMax else {
      throw .invalid(
        "number of APIs of the gate", value: "\(GateAdmission.hostCountMax + 1)",
        allowed: "at most \(GateAdmission.hostCountMax)")
    }
  }

  /// Refuses an API whose keys are unknown or of the wrong use. Refuses also an API whose tokens
  /// are sealed to a public key, unless they are signed and have `aud`.
  private static func check(
    _ api: API, with keys: [String: KeySetKey]
  ) throws(ServiceError) {
    try api.check()
    func named(_ id: String) throws(ServiceError) -> KeySetKey {
      guard let key = keys[id] else { throw .unknown(KeySetKey.noun, name: String(id.prefix(80))) }
      return key
    }
    var isForPublicKey = false
    if let id = api.keyID {
      let algorithm = try named(id).algorithm
      guard algorithm.isSignature == (api.kind == .token) else {
        throw .invalid(
          "key of the API", value: "\(id) (\(algorithm.rawValue))",
          allowed: api.kind == .token ? "a signing key" : "a sealing key")
      }
      isForPublicKey = algorithm.isPublicKeyEncryption
    }
    if let id = api.signerID {
      let algorithm = try named(id).algorithm
      guard algorithm.isSignature, !algorithm.isSymmetric else {
        throw .invalid(
          "key that signs inside", value: "\(id) (\(algorithm.rawValue))",
          allowed: "a key of ES256, EdDSA or RS256")
      }
    } else if isForPublicKey {
      throw .invalid(
        "key that signs inside", value: "none",
        allowed: "a key of ES256, EdDSA or RS256 (--signed-by): a public key seals for everybody")
    }
    guard !isForPublicKey || api.hasAudience != false else {
      throw .invalid("audience", value: "off", allowed: "on: tokens of a public key need it")
    }
  }

  /// Refuses a key that verifiers cannot have yet.
  private func checkReady(_ key: KeySetKey, atOnce: Bool) throws(ServiceError) {
    // A backend sent the public part of its own pair, so it has the key.
    guard !atOnce, !key.isPublic else { return }
    if key.algorithm.isSymmetric {
      guard key.isGiven else {
        throw .outOfTurn(
          "the key “\(key.id)” was never handed out, so backends would refuse its tokens",
          instead: "Hand it out: “keyset get \(key.id)”.")
      }
      return
    }
    let left = key.added + KeySetKey.publishedSeconds - now
    guard left <= 0 else {
      throw .outOfTurn(
        "backends may keep the published keys without “\(key.id)” for \(left) more seconds",
        instead: "Try again then, or add --at-once if they have it.")
    }
  }
}
