// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE

// The keys that authenticate the salts of challenges. Each process reads the account's revision with
// each request, so all of them take the new key at once, and a rotation has one step.

extension Management {
  /// The keys of challenges' salts without their bytes, the active one first.
  ///
  /// - Throws: ``ServiceError``.
  public func saltKeyStates() throws(ServiceError) -> [KeyState] {
    try AccountDocument.saltKey.needed(SaltKeyStages.self, from: store).states
  }

  /// Draws another key. Challenges of the key before stay good until they expire.
  ///
  /// - Returns: The new key, without its bytes.
  /// - Throws: ``ServiceError/outOfTurn(_:instead:)`` while challenges of an earlier rotation may be
  ///   waiting.
  @discardableResult
  public func rotateSaltKey() throws(ServiceError) -> KeyState {
    let (now, fresh) = (now, try freshSaltKey())
    try rewrite(.saltKey) { (stages: inout SaltKeyStages) throws(ServiceError) in
      if let old = stages.old, let end = old.end, end > now {
        throw .outOfTurn(
          "challenges of the key “\(old.id)” may wait for another \(end - now) seconds",
          instead: "Try again then. If a key is compromised, use “saltkey replace”.")
      }
      var old = stages.active
      old.end = now + SaltTerms.longestLife
      stages.begin(fresh, after: old)
    }
    return fresh.state(.active)
  }

  /// Draws another key and drops those before, after a backup was restored or for keys that others
  /// know. Apps whose challenges wait ask again.
  ///
  /// - Returns: The new key, without its bytes.
  /// - Throws: ``ServiceError``.
  @discardableResult
  public func replaceSaltKey() throws(ServiceError) -> KeyState {
    let fresh = try freshSaltKey()
    try rewrite(.saltKey) { (stages: inout SaltKeyStages) in
      stages.begin(fresh, after: nil)
    }
    return fresh.state(.active)
  }

  /// The row of the salts' keys for the place that the account moves to. It has one key, which no
  /// salt of the present place was made under.
  package func movedSaltKeys() throws(ServiceError) -> [UInt8] {
    var stages = try AccountDocument.saltKey.needed(SaltKeyStages.self, from: store)
    stages.begin(try freshSaltKey(), after: nil)
    return Array(JSONValue.object(stages.fields).text.utf8)
  }

  private func freshSaltKey() throws(ServiceError) -> SealedKey {
    SealedKey(
      sealed: try account.vault.freshKey(SaltKey.byteCount, for: .saltKey), added: now)
  }

  func performSaltKey(
    _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    try arguments.finish()
    return switch verb {
    case "list": .array(try saltKeyStates().map { .object($0.shown) })
    case "rotate": .object(try rotateSaltKey().shown)
    case "replace": .object(try replaceSaltKey().shown)
    default: nil
    }
  }
}
