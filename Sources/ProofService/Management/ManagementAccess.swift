// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE

// Management tokens, which let their holders change an account behind a running service.

extension Management {
  /// The management tokens, without their texts.
  public func managementTokens() throws(ServiceError) -> [ManagementTokenEntry] {
    try account.snapshot().managementTokens.entries
  }

  /// Draws a management token beside those that are there.
  ///
  /// - Parameters:
  ///   - name: Its name: 1 to 64 letters, digits, dots, hyphens and underscores.
  ///   - role: The verbs that it covers.
  /// - Returns: The token, which is shown only here.
  /// - Throws: ``ServiceError/alreadyThere(_:name:)``, ``ServiceError/invalid(_:value:allowed:)``.
  public func addManagementToken(
    _ name: String, role: ManagementRole
  ) throws(ServiceError) -> String {
    try addToken(name, role, gate: nil)
  }

  /// Draws a credential with which one gate fetches its configuration: a management token of the role that covers
  /// this gate alone. ``removeManagementToken(_:)`` revokes it.
  ///
  /// - Parameters:
  ///   - gate: The gate.
  ///   - name: Its name among the management tokens; nil for the gate's name after `gate.`.
  /// - Returns: Its name, and its text, which is shown only here.
  /// - Throws: ``ServiceError/unknown(_:name:)`` for the gate, and as ``addManagementToken(_:role:)``.
  public func addGateCredential(
    for gate: String, named name: String? = nil
  ) throws(ServiceError) -> (name: String, text: String) {
    let gate = try self.gate(gate).name
    let name = name ?? "gate.\(gate)"
    return (name, try addToken(name, .gate, gate: gate))
  }

  /// Revokes the credentials of a gate: a later gate of its name must not meet them.
  func removeCredentials(of gate: String) throws(ServiceError) {
    guard try managementTokens().contains(where: { $0.gate == gate }) else { return }
    try rewrite(.management) { (tokens: inout ManagementTokens) in
      tokens.entries.removeAll { $0.gate == gate }
    }
  }

  private func addToken(
    _ name: String, _ role: ManagementRole, gate: String?
  ) throws(ServiceError) -> String {
    let isPlain = name.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
      default: false
      }
    }
    guard isPlain, (1...64).contains(name.utf8.count) else {
      throw .invalid(
        "name of the token", value: String(name.prefix(80)),
        allowed: "1 to 64 letters, digits, “.”, “-” and “_”")
    }
    let token = ManagementToken.fresh(name, role, at: now)
    try rewrite(.management) { (tokens: inout ManagementTokens) throws(ServiceError) in
      guard !tokens.entries.contains(where: { $0.name == name }) else {
        throw .alreadyThere(Self.tokenNoun, name: name)
      }
      guard tokens.entries.count < ManagementTokens.countMax else {
        throw .invalid(
          "number of management tokens", value: "\(tokens.entries.count + 1)",
          allowed: "at most \(ManagementTokens.countMax)")
      }
      var entry = token.entry
      entry.gate = gate
      tokens.entries.append(entry)
    }
    return token.text
  }

  /// Draws another text for a token, of the same role; the old text is refused from now on.
  ///
  /// - Parameter name: The token's name.
  /// - Returns: The token, which is shown only here.
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  public func changeManagementToken(_ name: String = "owner") throws(ServiceError) -> String {
    var text = ""
    try rewrite(.management) { (tokens: inout ManagementTokens) throws(ServiceError) in
      let index = try Self.index(of: name, in: tokens)
      let token = ManagementToken.fresh(name, tokens.entries[index].role, at: now)
      let gate = tokens.entries[index].gate
      tokens.entries[index] = token.entry
      tokens.entries[index].gate = gate
      text = token.text
    }
    return text
  }

  /// Refuses a token from now on.
  ///
  /// - Parameter name: The token's name.
  /// - Throws: ``ServiceError/unknown(_:name:)``; ``ServiceError/outOfTurn(_:instead:)`` for the last one of
  ///   the role that covers every verb.
  public func removeManagementToken(_ name: String) throws(ServiceError) {
    try rewrite(.management) { (tokens: inout ManagementTokens) throws(ServiceError) in
      let index = try Self.index(of: name, in: tokens)
      tokens.entries.remove(at: index)
      guard tokens.entries.contains(where: { $0.role == .all }) else {
        throw .outOfTurn(
          "no token with the role “all” would be left",
          instead: "Add one and hand it to its tools first: “management add NAME --role all”.")
      }
    }
  }

  private static let tokenNoun = "management token"

  private static func index(
    of name: String, in tokens: ManagementTokens
  ) throws(ServiceError) -> Int {
    guard let index = tokens.entries.firstIndex(where: { $0.name == name }) else {
      throw .unknown(tokenNoun, name: String(name.prefix(80)))
    }
    return index
  }
}
