public import ProofJOSE
internal import ProofModel

// Key sets, and which key of theirs an API's tokens are made with.

extension Management {
  /// The keys of the key sets.
  public func keys() throws(ServiceError) -> [KeySetKey] { try store.all(KeySetKey.self) }

  /// Makes a key. A public one is published from now on.
  ///
  /// - Parameters:
  ///   - algorithm: What it is for.
  ///   - id: Its name; nil for the next number.
  /// - Returns: The key.
  /// - Throws: ``ServiceError/alreadyThere(_:name:)``.
  @discardableResult
  public func addKey(
    _ algorithm: KeyAlgorithm, id: String? = nil
  ) throws(ServiceError) -> KeySetKey {
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
    let sealed = try ServiceError.ofJOSE { () throws(JOSEError) in
      let made = try JSONWebKey.random(algorithm, id: name)
      // They are published as one set, which takes no more than so many.
      _ = try JWKS(others + [made])
      return try made.withSecret { account.vault.seal($0, for: "key/\(name)") }
    }
    let key = KeySetKey(name, algorithm, added: now, sealedKey: sealed)
    try add(key)
    return key
  }

  /// Removes a key that no API names.
  ///
  /// - Parameters:
  ///   - id: The key's name.
  ///   - atOnce: Whether to do it although tokens by it have not ended.
  /// - Throws: ``ServiceError/unknown(_:name:)``, ``ServiceError/inUse(_:by:)``,
  ///   ``ServiceError/outOfTurn(_:instead:)``.
  public func removeKey(_ id: String, atOnce: Bool = false) throws(ServiceError) {
    let users = try apis().filter { $0.keyID == id }
    guard users.isEmpty else {
      throw .inUse("key “\(id)”", by: users.map(\.host).joined(separator: ", "))
    }
    try Self.checkEnd(one(id, KeySetKey.self).end, of: id, at: now, atOnce: atOnce)
    try remove(id, KeySetKey.self)
  }

  /// The secret of a symmetric key, which counts as handed out from then on; or the public key of another.
  ///
  /// - Parameter id: The key's name.
  /// - Returns: The key, for API backends.
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  public func key(_ id: String) throws(ServiceError) -> JSONWebKey {
    guard let key = try account.snapshot().keys[id]?.key else {
      throw .unknown(KeySetKey.noun, name: String(id.prefix(80)))
    }
    if key.algorithm.isSymmetric, try !one(id, KeySetKey.self).isGiven {
      try rewrite(id, KeySetKey.self) { $0.isGiven = true }
    }
    return key.publicKey ?? key
  }

  /// The public keys, a JWKS.
  public func jwks() throws(ServiceError) -> String { try account.snapshot().jwks() }

  // MARK: Which key an API has

  /// A change of an API. Parts that are nil stay.
  public struct APIChange: Sendable {
    /// The key of its tokens: a key set's by name, or the account's own.
    public enum Key: Sendable, Hashable {
      /// A key of a key set.
      case named(String)
      /// The account's own key.
      case own
    }

    /// The key of its tokens.
    public var key: Key?
    /// Whether its tokens name it in `aud`; the inner nil for what the policy says.
    public var hasAudience: Bool??

    /// A change of nothing.
    public init() {}
  }

  /// Changes an API: its next token is by another key, or names another audience. Tokens by the key before are
  /// good until they end.
  ///
  /// - Parameters:
  ///   - host: The API.
  ///   - change: The change.
  ///   - atOnce: Whether to do it although those who check tokens may not have the key.
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
        guard api.kind != .none else {
          throw .invalid("key of an API without tokens", value: host, allowed: "none")
        }
        api.keyID = if case .named(let id) = key { id } else { nil }
      }
      if let hasAudience = change.hasAudience { api.hasAudience = hasAudience }
      return [api]
    }
  }

  /// Makes the tokens of all APIs that have one key with another from now on.
  ///
  /// - Parameters:
  ///   - old: The key that they have.
  ///   - new: The key that they get.
  ///   - atOnce: Whether to do it although those who check tokens may not have the new key.
  /// - Returns: The hosts of the APIs.
  /// - Throws: As ``changeAPI(_:_:atOnce:)``.
  @discardableResult
  public func changeKey(
    _ old: String, to new: String, atOnce: Bool = false
  ) throws(ServiceError) -> [String] {
    _ = try one(old, KeySetKey.self)
    return try move(atOnce: atOnce) { apis in
      apis.filter { $0.keyID == old }.map { api in
        var api = api
        api.keyID = new
        return api
      }
    }
  }

  /// Rewrites APIs and notes until when tokens by the keys that they leave are good, in one step.
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
        changes += expected(.api, api.key) + [.put(.api, api.key, api.bytes)]
        guard api.keyID != before.keyID else { continue }
        if let id = api.keyID {
          guard let key = keys[id] else { throw .unknown(KeySetKey.noun, name: id) }
          try checkUse(of: key, by: api)
          try checkReady(key, atOnce: atOnce)
          begins[id] = key
        }
        if let id = before.keyID, let key = keys[id] { ends[id] = key }
      }
      // A key that another API still has ends with the last of them: its end is noted each time.
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

  func checkUse(of key: KeySetKey, by api: API) throws(ServiceError) {
    guard key.algorithm.isSignature == (api.kind == .token) else {
      throw .invalid(
        "key of the API", value: "\(key.id) (\(key.algorithm.rawValue))",
        allowed: api.kind == .token ? "a signing key" : "a sealing key (dir, A256KW)")
    }
  }

  /// Refuses a key that those who check tokens cannot have yet.
  private func checkReady(_ key: KeySetKey, atOnce: Bool) throws(ServiceError) {
    guard !atOnce else { return }
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

extension Snapshot {
  /// The public keys of the key sets; symmetric keys are left out.
  func jwks() throws(ServiceError) -> String {
    let keys = self.keys.values.map(\.key).sorted { ($0.id ?? "") < ($1.id ?? "") }
    return try ServiceError.ofJOSE { () throws(JOSEError) in try JWKS(keys).publicJSON }
  }
}
