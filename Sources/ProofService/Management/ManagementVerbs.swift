public import ProofJOSE
internal import ProofModel

// Every verb by name, from JSON to JSON: what `/v1/manage/` serves, and what a tool calls when it has
// the store itself. docs/MANAGEMENT.md lists arguments and answers.

extension Management {
  /// Does what a verb says.
  ///
  /// - Parameters:
  ///   - verb: Noun and verb, such as `api/add`.
  ///   - arguments: What with.
  /// - Returns: What it gave.
  /// - Throws: ``ServiceError``; ``ServiceError/unknown(_:name:)`` for an unknown verb.
  public func perform(
    _ verb: String, _ arguments: JSONObject = JSONObject()
  ) throws(ServiceError) -> JSONValue {
    let parts = verb.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2 else { throw .unknown("verb", name: String(verb.prefix(80))) }
    var arguments = ManagementArguments(arguments)
    let result: JSONValue?
    switch parts[0] {
    case "secret", "customkey", "sealing", "management", "devkey", "messagekey":
      result = try performSecret(parts[0], parts[1], &arguments)
    case "api": result = try performAPI(parts[1], &arguments)
    case "registration": result = try performRegistration(parts[1], &arguments)
    case "policy": result = try performPolicy(parts[1], &arguments)
    case "device": result = try performDevice(parts[1], &arguments)
    case "pin", "config": result = try performPin(parts[0], parts[1], &arguments)
    case "keyset": result = try performKeySet(parts[1], &arguments)
    case "token", "arc": result = try performToken(parts[0], parts[1], &arguments)
    case "sdk": result = try performSDK(parts[1], &arguments)
    case "hardware": result = try performHardware(parts[1], &arguments)
    case "string": result = try performString(parts[1], &arguments)
    case "metrics" where parts[1] == "show":
      try arguments.finish()
      result = .object(try metrics())
    default: result = nil
    }
    guard let result else { throw .unknown("verb", name: String(verb.prefix(80))) }
    return result
  }

  private static var done: JSONValue { .object([:]) }

  private static func list(_ records: [some Record]) -> JSONValue {
    .array(records.map { .object($0.shown) })
  }

  private static func mode(
    _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> Mode {
    let word = try arguments.optionalText("mode") ?? Mode.production.word
    guard let mode = Mode(word: word) else {
      throw .invalid("mode", value: String(word.prefix(80)), allowed: "production, development")
    }
    return mode
  }

  private static func base64(
    _ secret: borrowing JOSESecret, _ encoding: String?
  ) throws(ServiceError) -> JSONValue {
    guard encoding == nil || encoding == "base64" || encoding == "base64url" else {
      throw .invalid("encoding", value: encoding ?? "", allowed: "base64, base64url")
    }
    let text = secret.encoded(as: encoding == "base64url" ? .url : .standard)
    return .object([
      "secret": .string(text.withBytes { String(decoding: Array(copying: $0), as: UTF8.self) })
    ])
  }

  private func performSecret(
    _ noun: String, _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    switch (noun, verb) {
    case ("secret", "get"), ("customkey", "get"), ("sealing", "get"):
      let encoding = try arguments.optionalText("encoding")
      try arguments.finish()
      switch noun {
      case "secret": return try Self.base64(secret(), encoding)
      case "customkey": return try Self.base64(customKey(), encoding)
      default: return try Self.base64(sealingKey(), encoding)
      }
    case ("customkey", "change"):
      try arguments.finish()
      try changeCustomKey()
    case ("secret", "change"):
      let isPrintable = try arguments.flag("printable")
      try arguments.finish()
      try changeSecret(isPrintable: isPrintable)
    case ("sealing", "change"):
      try arguments.finish()
      try changeSealingKey()
    case ("management", "change"):
      try arguments.finish()
      return .object(["token": .string(try changeManagementToken())])
    case ("devkey", "get"):
      try arguments.finish()
      return .object(["key": try developmentKey().map { .string($0) } ?? .null])
    case ("devkey", "change"):
      try arguments.finish()
      return .object(["key": .string(try changeDevelopmentKey())])
    case ("devkey", "remove"):
      try arguments.finish()
      try removeDevelopmentKey()
    case ("messagekey", "get"):
      let encoding = try arguments.optionalText("encoding")
      try arguments.finish()
      return try shownMessageKey(encoding)
    case ("messagekey", "change"):
      try arguments.finish()
      try changeMessageKey()
      return try shownMessageKey(nil)
    case ("messagekey", "remove"):
      try arguments.finish()
      try removeMessageKey()
    default: return nil
    }
    return Self.done
  }

  private func shownMessageKey(_ encoding: String?) throws(ServiceError) -> JSONValue {
    guard let (id, key) = try messageKey() else { return .object(["id": .null, "secret": .null]) }
    let secret = key.withBytes { JOSESecret(copying: $0) }
    guard case .object(var shown) = try Self.base64(secret, encoding) else { return .null }
    shown.set("id", id)
    return .object(shown)
  }

  private func performAPI(
    _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    switch verb {
    case "list":
      try arguments.finish()
      return Self.list(try apis())
    case "add":
      let word = try arguments.optionalText("kind") ?? API.Kind.token.rawValue
      guard let kind = API.Kind(rawValue: word) else {
        throw .invalid(
          "kind", value: String(word.prefix(80)),
          allowed: API.Kind.allCases.map(\.rawValue).joined(separator: ", "))
      }
      let api = try API(
        arguments.text("host"), kind, keyID: arguments.optionalText("kid"),
        hasAudience: arguments.optionalFlag("audience"),
        signerID: arguments.optionalText("signedBy"))
      let pins = try arguments.optionalTexts("pins")
      try arguments.finish()
      try add(api, pins: pins)
    case "remove":
      let host = try arguments.text("host")
      try arguments.finish()
      try removeAPI(host)
    default: return nil
    }
    return Self.done
  }

  private func performRegistration(
    _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    switch verb {
    case "list":
      try arguments.finish()
      return Self.list(try registrations())
    case "add":
      let digest = try arguments.bytes("digest", AppDigest.self)
      let name = try arguments.optionalText("name") ?? ""
      let isDevelopment = try arguments.flag("development")
      let seconds = try arguments.integer("expireAfter")
      let without = try LeftOutEvidence(parsing: arguments.optionalText("without") ?? "none")
      try arguments.finish()
      let registration = try register(
        digest, name: name, isDevelopment: isDevelopment, expireAfter: seconds, without: without)
      return .object(registration.shown)
    case "remove":
      let digest = try arguments.bytes("digest", AppDigest.self)
      try arguments.finish()
      try removeRegistration(digest)
      return Self.done
    default: return nil
    }
  }

  private func performPolicy(
    _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    switch verb {
    case "show": try arguments.finish()
    case "set":
      let settings = try arguments.rest()
      try changePolicy { policy throws(ServiceError) in
        for (name, value) in settings { try policy.set(name, to: value) }
      }
    default: return nil
    }
    return .object(try policy().fields)
  }

  private func performDevice(
    _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    if verb == "list" {
      let count = try arguments.integer("count") ?? 50
      try arguments.finish()
      guard (1...10_000).contains(count) else {
        throw .invalid("count", value: "\(count)", allowed: "1 to 10000")
      }
      return .array(try devices(latest: count).map { .object($0.shown) })
    }
    guard ["pass", "fail", "clear", "annotate"].contains(verb) else { return nil }
    let device = try device(named: arguments.text("device"))
    let annotations = verb == "annotate" ? try arguments.text("annotations") : ""
    try arguments.finish()
    switch verb {
    case "pass": try set(.pass, for: device)
    case "fail": try set(.fail, for: device)
    case "clear": try set(nil, for: device)
    default: try annotate(Properties(parsing: annotations), for: device)
    }
    return .object(["device": .string(device.description)])
  }

  private func performPin(
    _ noun: String, _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    switch (noun, verb) {
    case ("pin", "list"):
      try arguments.finish()
      return Self.list(try pins())
    case ("pin", "set"):
      let pins = try HostPins(arguments.text("host"), arguments.texts("pins"))
      try arguments.finish()
      try set(pins)
    case ("pin", "remove"):
      let host = try arguments.text("host")
      try arguments.finish()
      try removePins(host)
    case ("pin", "service"):
      let pins = try arguments.texts("pins")
      try arguments.finish()
      try setServicePins(pins)
    case ("pin", "force"):
      let confirmation = try arguments.text("confirm")
      try arguments.finish()
      try forcePins(confirmation: confirmation)
    case ("config", "url"):
      let url = try arguments.text("url")
      try arguments.finish()
      try setURL(url)
    case ("config", "show"):
      try arguments.finish()
      var shown = try configuration().fields
      shown.set("account", account.name)
      shown.set("initial", try initialConfiguration())
      shown.set("signed", try signedConfiguration())
      return .object(shown)
    default: return nil
    }
    return Self.done
  }

  private func performKeySet(
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
      if let publicKey, bits == nil {
        return .object(try addPublicKey(publicKey, for: algorithm, id: id).shown)
      }
      return .object(try addKey(algorithm, bits: bits, id: id).shown)
    case "remove":
      let id = try arguments.text("kid")
      try arguments.finish()
      try removeKey(id)
      return Self.done
    case "get":
      let id = try arguments.text("kid")
      let isPEM = try arguments.flag("pem")
      try arguments.finish()
      let key = try key(id)
      guard isPEM else { return try shownKey(key) }
      let pem = try ServiceError.ofJOSE { () throws(JOSEError) in try key.publicPEM() }
      return .object(["pem": .string(pem)])
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

  private func performToken(
    _ noun: String, _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    switch (noun, verb) {
    case ("token", "check"):
      let token = try arguments.text("token")
      try arguments.finish()
      return .object(try check(token: token).shown)
    case ("token", "example"):
      let host = try arguments.text("host")
      let isValid = try arguments.flag("valid", default: true)
      let text = try arguments.optionalText("boundTo")
      try arguments.finish()
      let token = try exampleToken(for: host, isValid: isValid, boundTo: text)
      return .object(["token": .string(token)])
    case ("arc", "read"):
      let code = try arguments.text("code")
      try arguments.finish()
      return .object(try read(responseCode: code).shown)
    default: return nil
    }
  }

  private func performSDK(
    _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    switch verb {
    case "list":
      try arguments.finish()
      return Self.list(try sdkBuilds())
    case "new", "add":
      let name = try arguments.optionalText("name") ?? ""
      let mode = try Self.mode(&arguments)
      let key =
        verb == "add"
        ? try arguments.secret("key") : CoreSodium.random(count: MeasurementProofKey.byteCount)
      let without = try LeftOutSources(parsing: arguments.optionalText("without") ?? "none")
      try arguments.finish()
      let build = try addSDKBuild(
        key: JOSESecret(copying: key.span), name: name, mode: mode, without: without)
      var shown = build.shown
      if verb == "new" { shown.set("key", key) }
      return .object(shown)
    case "sources":
      let id = try arguments.bytes("id", KeyID.self)
      let without = try LeftOutSources(parsing: arguments.text("without"))
      try arguments.finish()
      try setSources(without: without, ofSDKBuild: id)
      return .object(try one(id.description, SDKBuild.self).shown)
    case "revoke":
      let id = try arguments.bytes("id", KeyID.self)
      try arguments.finish()
      try revokeSDKBuild(id)
      return Self.done
    case "config-string":
      try arguments.finish()
      return .object(["config": .string(try initialConfiguration())])
    default: return nil
    }
  }

  private func performHardware(
    _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    switch verb {
    case "list":
      try arguments.finish()
      return Self.list(try hardware())
    case "add":
      let id = try arguments.bytes("id", HardwareID.self)
      let publicKey = try arguments.bytes("publicKey", HardwarePublicKey.self)
      let mode = try Self.mode(&arguments)
      let allowsLiteral = try arguments.flag("literal")
      let name = try arguments.optionalText("name") ?? ""
      try arguments.finish()
      let hardware = try addHardware(
        HardwareIdentity(id: id, publicKey: publicKey), mode: mode, allowsLiteral: allowsLiteral,
        name: name)
      return .object(hardware.shown)
    case "revoke":
      let id = try arguments.bytes("id", HardwareID.self)
      try arguments.finish()
      try revokeHardware(id)
      return Self.done
    default: return nil
    }
  }

  private func performString(
    _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    switch verb {
    case "list":
      try arguments.finish()
      return Self.list(try secureStrings())
    case "set":
      let name = try arguments.text("name")
      let value = try arguments.text("value")
      try arguments.finish()
      try setSecureString(name, to: value)
    case "remove":
      let name = try arguments.text("name")
      try arguments.finish()
      try removeSecureString(name)
    default: return nil
    }
    return Self.done
  }
}
