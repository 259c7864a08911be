// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE

// The secret from which the keys of installations' own strings are derived. Only the service knows
// it, so no verifier has to learn the next one first: a rotation has two steps.

extension Management {
  /// The secrets of strings without their bytes: the active one, and the one before until it is retired.
  ///
  /// - Throws: ``ServiceError``.
  public func stringKeyStates() throws(ServiceError) -> [KeyState] {
    try AccountDocument.stringKey.read(KeyStages.self, from: store)?.states ?? []
  }

  /// Draws another secret. Apps get the keys of both from now on, and seal their strings under the new one when they
  /// use a string next.
  ///
  /// - Returns: The new secret, without its bytes.
  /// - Throws: ``ServiceError/outOfTurn(_:instead:)`` while the one before is not retired.
  @discardableResult
  public func rotateStringKey() throws(ServiceError) -> KeyState {
    let days = try policy().deviceRetention
    let end = now + Int64(days == 0 ? Self.longestRetention : days) * 86_400
    let sealed = try account.vault.freshKey(StringSecret.byteCount, for: .stringKey)
    let fresh = SealedKey(sealed: sealed, added: now)
    try rewrite(.stringKey) { (stages: inout KeyStages) throws(ServiceError) in
      if let old = stages.old {
        throw .outOfTurn(
          "the secret “\(old.id)” is not retired yet", instead: "Retire it: “stringkey retire”.")
      }
      stages.old = stages.active
      stages.old?.end = end
      stages.active = fresh
    }
    return fresh.state(.active)
  }

  /// Drops the secret of before. Strings that are still sealed under it are lost for their apps.
  ///
  /// - Parameter atOnce: Whether to do it before installations that used no string since the rotation are
  ///   forgotten by the policy's `device-retention`.
  /// - Throws: ``ServiceError/outOfTurn(_:instead:)``.
  public func retireStringKey(atOnce: Bool = false) throws(ServiceError) {
    let now = now
    try rewrite(.stringKey) { (stages: inout KeyStages) throws(ServiceError) in
      guard let old = stages.old else {
        throw .outOfTurn(
          "there is no old secret", instead: "“stringkey list” shows the secrets.")
      }
      if let end = old.end, end > now, !atOnce {
        throw .outOfTurn(
          "installations that used no string since the rotation are kept for another "
            + "\(end - now) seconds",
          instead: "Try again then. If the secret is compromised, add --at-once: its strings are "
            + "lost.")
      }
      stages.old = nil
    }
  }

  /// The most days of `device-retention`: the wait for an account that keeps devices for ever.
  private static let longestRetention = 3_650

  func performStringKey(
    _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    switch verb {
    case "list":
      try arguments.finish()
      return .array(try stringKeyStates().map { .object($0.shown) })
    case "rotate":
      try arguments.finish()
      return .object(try rotateStringKey().shown)
    case "retire":
      let atOnce = try arguments.flag("atOnce")
      try arguments.finish()
      try retireStringKey(atOnce: atOnce)
      return Self.done
    default: return nil
    }
  }
}
