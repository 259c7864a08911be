// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

// The verbs about keys and management tokens, from JSON to JSON.

extension Management {
  private static func base64(
    _ secret: borrowing JOSESecret, _ encoding: String?
  ) throws(ServiceError) -> JSONObject {
    guard encoding == nil || encoding == "base64" || encoding == "base64url" else {
      throw .invalid("encoding", value: encoding ?? "", allowed: "base64, base64url")
    }
    let text = secret.encoded(as: encoding == "base64url" ? .url : .standard)
    return [
      "secret": .string(text.withBytes { String(decoding: Array(copying: $0), as: UTF8.self) })
    ]
  }

  func performOwnKey(
    _ noun: String, _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    guard let kind = OwnKey(rawValue: noun) else { return nil }
    switch verb {
    case "get":
      let encoding = try arguments.optionalText("encoding")
      try arguments.finish()
      return try shownSecret(of: kind, encoding)
    case "list":
      try arguments.finish()
      return .array(try keyStates(of: kind).map { .object($0.shown) })
    case "keys":
      try arguments.finish()
      let keys = try handOutKeys(of: kind)
      return .object([
        "keys": .array(try keys.map { key throws(ServiceError) in try shownKey(key) })
      ])
    case "next":
      let isPrintable = kind == .secret ? try arguments.flag("printable") : false
      try arguments.finish()
      return .object(try prepareKey(of: kind, isPrintable: isPrintable).shown)
    case "promote":
      let atOnce = try arguments.flag("atOnce")
      try arguments.finish()
      return .object(try promoteKey(of: kind, atOnce: atOnce).shown)
    case "retire":
      let atOnce = try arguments.flag("atOnce")
      try arguments.finish()
      try retireKey(of: kind, atOnce: atOnce)
    case "drop":
      try arguments.finish()
      try dropKey(of: kind)
    case "change":
      let isPrintable = kind == .secret ? try arguments.flag("printable") : false
      let atOnce = try arguments.flag("atOnce")
      try arguments.finish()
      try checkChange(of: kind, atOnce: atOnce)
      try changeKey(of: kind, isPrintable: isPrintable)
      // Show an account's first key at once: no token uses it yet.
      if kind == .message { return try shownSecret(of: kind, nil) }
    case "remove" where kind == .message:
      try arguments.finish()
      try removeMessageKey()
    default: return nil
    }
    return Self.done
  }

  /// Refuses to replace a key at once by accident.
  private func checkChange(of kind: OwnKey, atOnce: Bool) throws(ServiceError) {
    guard !atOnce, try keyStates(of: kind).contains(where: { $0.stage == .active }) else { return }
    throw .outOfTurn(
      "backends would refuse every token until they have the new key",
      instead:
        "Rotate it: “\(kind.rawValue) next”, “keys”, “promote”, “retire”. If the key is "
        + "compromised, add --at-once.")
  }

  private func shownSecret(of kind: OwnKey, _ encoding: String?) throws(ServiceError) -> JSONValue {
    var shown: JSONObject
    switch kind {
    case .secret: shown = try Self.base64(secret(), encoding)
    case .custom: shown = try Self.base64(customKey(), encoding)
    case .sealing: shown = try Self.base64(sealingKey(), encoding)
    case .message:
      guard let (id, key) = try messageKey() else {
        return .object(["id": .null, "secret": .null])
      }
      let secret = key.withBytes { JOSESecret(copying: $0) }
      shown = try Self.base64(secret, encoding)
      shown.set("id", id)
      return .object(shown)
    }
    shown.set("kid", try keyStates(of: kind).first?.id)
    return .object(shown)
  }

  func performDevelopmentKey(
    _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    try arguments.finish()
    switch verb {
    case "get": return .object(["key": try developmentKey().map { .string($0) } ?? .null])
    case "change": return .object(["key": .string(try changeDevelopmentKey())])
    case "remove": try removeDevelopmentKey()
    default: return nil
    }
    return Self.done
  }

  func performManagement(
    _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    switch verb {
    case "list":
      try arguments.finish()
      return .array(try managementTokens().map { .object($0.shown) })
    case "add":
      let name = try arguments.text("name")
      let word = try arguments.text("role")
      try arguments.finish()
      guard let role = ManagementRole(rawValue: word) else {
        throw .invalid(
          "role", value: String(word.prefix(80)),
          allowed: ManagementRole.allCases.map(\.rawValue).joined(separator: ", "))
      }
      return .object(["token": .string(try addManagementToken(name, role: role))])
    case "change":
      let name = try arguments.optionalText("name") ?? ManagementToken.ownerName
      try arguments.finish()
      return .object(["token": .string(try changeManagementToken(name))])
    case "remove":
      let name = try arguments.text("name")
      try arguments.finish()
      try removeManagementToken(name)
      return Self.done
    default: return nil
    }
  }

  static func apiChange(
    _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> APIChange {
    var change = APIChange()
    let id = try arguments.optionalText("kid")
    let isOwn = try arguments.flag("ownKey")
    switch (id, isOwn) {
    case (let id?, false): change.key = .named(id)
    case (nil, true): change.key = .own
    case (nil, false): break
    case (_?, true):
      throw .invalid("key of the API", value: "kid and ownKey", allowed: "one of the two")
    }
    let signer = try arguments.optionalText("signedBy")
    switch (signer, try arguments.flag("unsigned")) {
    case (let id?, false): change.signerID = .some(id)
    case (nil, true): change.signerID = .some(nil)
    case (nil, false): break
    case (_?, true):
      throw .invalid(
        "key that signs inside", value: "signedBy and unsigned", allowed: "one of the two")
    }
    if let word = try arguments.optionalText("audience") {
      switch word {
      case "on": change.hasAudience = .some(true)
      case "off": change.hasAudience = .some(false)
      case "policy": change.hasAudience = .some(nil)
      default:
        throw .invalid("audience", value: String(word.prefix(80)), allowed: "on, off, policy")
      }
    }
    return change
  }

  func performKeySet(
    _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    switch verb {
    case "list":
      try arguments.finish()
      return Self.list(try keys())
    case "add":
      let word = try arguments.text("alg")
      guard let algorithm = KeyAlgorithm(rawValue: word) else {
        throw .invalid(
          "alg", value: String(word.prefix(80)),
          allowed: KeyAlgorithm.allCases.map(\.rawValue).joined(separator: ", "))
      }
      let id = try arguments.optionalText("kid")
      let bits = try arguments.integer("bits")
      let publicKey = try arguments.optionalText("public")
      try arguments.finish()
      guard let publicKey else { return .object(try addKey(algorithm, bits: bits, id: id).shown) }
      guard bits == nil else {
        throw .invalid("bits", value: "\(bits ?? 0)", allowed: "none: a public key has its size")
      }
      return .object(try addPublicKey(publicKey, for: algorithm, id: id).shown)
    case "change":
      let old = try arguments.text("kid")
      let new = try arguments.text("to")
      let atOnce = try arguments.flag("atOnce")
      try arguments.finish()
      var shown = JSONObject()
      shown.set("apis", try changeKey(old, to: new, atOnce: atOnce))
      return .object(shown)
    case "remove":
      let id = try arguments.text("kid")
      let atOnce = try arguments.flag("atOnce")
      try arguments.finish()
      try removeKey(id, atOnce: atOnce)
      return Self.done
    case "get":
      let id = try arguments.text("kid")
      let isPEM = try arguments.flag("pem")
      try arguments.finish()
      return isPEM ? .object(["pem": .string(try publicPEM(ofKey: id))]) : try shownKey(key(id))
    case "jwks":
      try arguments.finish()
      guard let jwks = try? JSONValue(parsing: jwks()) else { throw .damaged("key set") }
      return jwks
    default: return nil
    }
  }

  /// The public key, or the secret of one that has none.
  private func shownKey(_ key: JSONWebKey) throws(ServiceError) -> JSONValue {
    let text: String
    if key.algorithm.isSymmetric {
      let json = try ServiceError.ofJOSE { () throws(JOSEError) in try key.privateJSON() }
      text = json.withBytes { String(decoding: Array(copying: $0), as: UTF8.self) }
    } else {
      text = try ServiceError.ofJOSE { () throws(JOSEError) in try key.publicJSON() }
    }
    guard let shown = try? JSONValue(parsing: text) else { throw .damaged("key") }
    return shown
  }
}
