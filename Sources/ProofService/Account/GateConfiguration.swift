// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

/// The configuration that a gate judges by: SERVICE.md section 10.
enum GateConfiguration {
  /// The type of the JWS, so that it is no configuration of apps.
  static let type = "gate+jwt"
  /// The type of the JWS for the redeemers of one audience, so that no gate takes it for its own.
  static let redeemerType = "redeemer+jwt"
  /// The claims that the redeemers of one audience get, beside `evt` and `aud`: nothing that opens gate tokens or judges
  /// requests.
  private static let redeemerClaims = [
    "acc", "gat", "nam", "mod", "key", "hnd", "ser", "iat", "use", "aks", "risk",
  ]
  /// Seconds for which a gate may judge by it while the service is gone.
  static let useSeconds: Int64 = 604_800

  static func claims(
    _ open: OpenGate, account: Account, _ snapshot: Snapshot, events: [EventRange],
    challenges: [NamedChallenge], risks: [NamedRisk], at now: UnixTime
  ) throws(ServiceError) -> JSONObject {
    let gate = open.gate
    let vault = account.vault
    var claims: JSONObject = [
      "acc": .string(account.name), "gat": .string(encoded(gate.id.bytes)),
      "nam": .string(gate.name), "mod": .string(gate.mode.word), "frm": .string(gate.form.word),
      "key": .string(encoded(snapshot.configurationKey.key.publicBytes ?? [])),
    ]
    if !snapshot.configuration.handovers.isEmpty {
      claims.set("hnd", snapshot.configuration.handovers)
    }
    claims.set("ser", Int64(clamping: snapshot.revision))
    claims.set("iat", now)
    claims.set("use", useSeconds)
    claims.set("lif", Int64(gate.life))
    claims.set("flr", gate.floor)
    claims.set("frs", Int64(gate.freshness))
    claims.set("hst", open.hosts.sorted())
    var headers: JSONObject = [
      "proof": .string(gate.headers.proof), "token": .string(gate.headers.token),
    ]
    headers.set("digest", gate.headers.digest)
    claims["hdr"] = .object(headers)
    claims["xks"] = try list(gate, .key) { key throws(ServiceError) in
      encoded(try gate.publicKey(key, with: vault).bytes)
    }
    claims["aks"] = try list(gate, .account) { key throws(ServiceError) in
      try gate.accountKey(key, with: vault).withBytes { bytes in
        JOSESecret(copying: bytes).withBytes { encoded(Array(copying: $0)) }
      }
    }
    claims["iss"] = try list(gate, .issuer) { key throws(ServiceError) in
      encoded(try gate.issuer(key, with: vault).publicKey.bytes)
    }
    claims["rev"] = .array(
      gate.revocations.filter { $0.end >= now }.map { revocation in
        var object: JSONObject = ["ins": .string(encoded(revocation.device.bytes))]
        object.set("gen", Int64(revocation.generation))
        return .object(object)
      })
    claims["evt"] = .array(
      events.filter { $0.gate == gate.name }.map { range in
        var object = range.fields
        object["gate"] = nil
        object["numbers"] = nil
        object.set("first", Int64(range.numbers.lowerBound))
        object.set("last", Int64(range.numbers.upperBound))
        object.set("aud", encoded(EventRange.id(of: range.audience, at: gate.id).bytes))
        return .object(object)
      })
    claims["challenges"] = .array(
      challenges.filter { $0.gate == nil || $0.gate == gate.name }.map { .object($0.claims) })
    claims.set("watch", gate.isWatched)
    claims["risk"] = .array(risks.map { .object($0.claims) })
    return claims
  }

  /// The part of the claims that the redeemers of one audience get.
  ///
  /// - Parameters:
  ///   - audience: Its name.
  ///   - claims: Those of its gate.
  /// - Returns: The claims; nil if the gate has no event of the audience.
  static func claims(for audience: String, of claims: JSONObject) -> JSONObject? {
    guard case .array(let events)? = claims["evt"] else { return nil }
    let own = events.filter { event in
      guard case .object(let event) = event else { return false }
      return event.text("audience") == audience
    }
    guard !own.isEmpty else { return nil }
    var part: JSONObject = ["aud": .string(audience), "evt": .array(own)]
    for name in redeemerClaims { part[name] = claims[name] }
    return part
  }

  /// The keys of a kind, the active one first: `{num, sta, key}` each, and `id` in the place of `num` for issuers.
  private static func list(
    _ gate: Gate, _ kind: Gate.KeyKind, _ text: (SealedKey) throws(ServiceError) -> String
  ) throws(ServiceError) -> JSONValue {
    var list: [JSONValue] = []
    for (stage, key) in gate.keys[kind]?.all ?? [] {
      var object: JSONObject = ["sta": .string(stage.rawValue), "key": .string(try text(key))]
      if kind == .issuer { object.set("id", key.id) } else { object.set("num", Int64(key.id)) }
      list.append(.object(object))
    }
    return .array(list)
  }

  private static func encoded(_ bytes: [UInt8]) -> String { Base64.encode(bytes, .url) }
}
