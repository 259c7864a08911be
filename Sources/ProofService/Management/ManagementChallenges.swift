// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE

// Named challenges, and the switch that has a gate refuse nothing.

extension Management {
  /// The named challenges, by name.
  public func challenges() throws(ServiceError) -> [NamedChallenge] {
    try NamedChallenges(of: store).all
  }

  /// Adds a named challenge. The next configuration of its gates has it.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)`` for the gate, ``ServiceError/alreadyThere(_:name:)``,
  ///   ``ServiceError/invalid(_:value:allowed:)``.
  public func addChallenge(_ challenge: NamedChallenge) throws(ServiceError) {
    if let gate = challenge.gate { _ = try self.gate(gate) }
    try rewrite(.challenges, absent: NamedChallenges()) { challenges throws(ServiceError) in
      guard !challenges.all.contains(where: { $0.name == challenge.name }) else {
        throw .alreadyThere(NamedChallenge.noun, name: challenge.name)
      }
      guard challenges.all.count < NamedChallenge.countMax else {
        throw .invalid(
          "number of challenges", value: "\(challenges.all.count + 1)",
          allowed: "at most \(NamedChallenge.countMax)")
      }
      challenges.all.append(challenge)
      challenges.all.sort { $0.name < $1.name }
    }
  }

  /// Removes a named challenge.
  ///
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  public func removeChallenge(_ name: String) throws(ServiceError) {
    try rewrite(.challenges, absent: NamedChallenges()) { challenges throws(ServiceError) in
      guard let index = challenges.all.firstIndex(where: { $0.name == name }) else {
        throw .unknown(NamedChallenge.noun, name: String(name.prefix(80)))
      }
      challenges.all.remove(at: index)
    }
  }

  /// Has a gate log what its routes would refuse and let it pass, or ends that. It counts with the gate's next
  /// configuration.
  ///
  /// - Parameters:
  ///   - name: The gate; nil for each gate of the account.
  ///   - isWatched: Whether the gate lets pass what it would refuse.
  /// - Returns: The names of the gates, in their order.
  /// - Throws: ``ServiceError/unknown(_:name:)``.
  @discardableResult
  public func watchGate(_ name: String?, _ isWatched: Bool) throws(ServiceError) -> [String] {
    let names = if let name { [name] } else { try gates().map(\.name) }
    for name in names { try rewriteGate(name) { gate in gate.isWatched = isWatched } }
    return names
  }

  func performChallenge(
    _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    switch verb {
    case "list":
      try arguments.finish()
      return .array(try challenges().map { .object($0.fields) })
    case "add":
      let name = try arguments.text("name")
      let word = try arguments.text("kind")
      guard let kind = NamedChallenge.Kind(rawValue: word) else {
        throw .invalid(
          "kind", value: String(word.prefix(80)),
          allowed: NamedChallenge.Kind.allCases.map(\.rawValue).joined(separator: ", "))
      }
      let challenge = try NamedChallenge(
        name, kind, level: arguments.integer("level"), life: arguments.integer("life"),
        gate: arguments.optionalText("gate"))
      try arguments.finish()
      try addChallenge(challenge)
      return .object(challenge.fields)
    case "remove":
      let name = try arguments.text("name")
      try arguments.finish()
      try removeChallenge(name)
      return Self.done
    default: return nil
    }
  }

  func performWatch(_ arguments: inout ManagementArguments) throws(ServiceError) -> JSONValue {
    let name = try arguments.optionalText("name")
    let isAll = try arguments.flag("all")
    let isWatched = try arguments.optionalFlag("watch")
    try arguments.finish()
    guard let isWatched else {
      throw .invalid("watch", value: "missing", allowed: "true, false")
    }
    guard (name == nil) == isAll else {
      throw .invalid(
        "name", value: name.map { String($0.prefix(80)) } ?? "missing",
        allowed: "the name of a gate, or “all” in its place")
    }
    var answer: JSONObject = ["watch": .bool(isWatched)]
    answer.set("gates", try watchGate(name, isWatched))
    return .object(answer)
  }
}
