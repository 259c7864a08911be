// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
internal import ProofModel

// Every verb by name, from JSON to JSON, for `/v1/manage/` and for a tool that has the store
// itself. docs/MANAGEMENT.md lists arguments and answers.

extension Management {
  /// Carries out a verb.
  ///
  /// - Parameters:
  ///   - verb: Noun and verb, such as `api/add`.
  ///   - arguments: The verb's arguments.
  /// - Returns: The verb's result.
  /// - Throws: ``ServiceError``; ``ServiceError/unknown(_:name:)`` for an unknown verb.
  public func perform(
    _ verb: String, _ arguments: JSONObject = JSONObject()
  ) throws(ServiceError) -> JSONValue {
    let parts = verb.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2 else { throw .unknown("verb", name: String(verb.prefix(80))) }
    var arguments = ManagementArguments(arguments)
    let result: JSONValue?
    switch parts[0] {
    case "secret", "customkey", "sealing", "messagekey":
      result = try performOwnKey(parts[0], parts[1], &arguments)
    case "management": result = try performManagement(parts[1], &arguments)
    case "devkey": result = try performDevelopmentKey(parts[1], &arguments)
    case "api": result = try performAPI(parts[1], &arguments)
    case "registration": result = try performRegistration(parts[1], &arguments)
    case "policy": result = try performPolicy(parts[1], &arguments)
    case "device": result = try performDevice(parts[1], &arguments)
    case "pin", "config": result = try performPin(parts[0], parts[1], &arguments)
    case "keyset": result = try performKeySet(parts[1], &arguments)
    case "token", "arc": result = try performToken(parts[0], parts[1], &arguments)
    case "sdk": result = try performSDK(parts[1], &arguments)
    case "hardware": result = try performHardware(parts[1], &arguments)
    case "gate": result = try performGate(parts[1], &arguments)
    case "event": result = try performEvent(parts[1], &arguments)
    case "challenge": result = try performChallenge(parts[1], &arguments)
    case "risk": result = try performRisk(parts[1], &arguments)
    case "stringkey": result = try performStringKey(parts[1], &arguments)
    case "saltkey": result = try performSaltKey(parts[1], &arguments)
    case "string": result = try performString(parts[1], &arguments)
    case "metrics" where parts[1] == "show":
      try arguments.finish()
      result = .object(try metrics())
    default: result = nil
    }
    guard let result else { throw .unknown("verb", name: String(verb.prefix(80))) }
    return result
  }

  static var done: JSONValue { .object([:]) }

  static func list(_ records: [some Record]) -> JSONValue {
    .array(records.map { .object($0.shown) })
  }

  static func mode(
    _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> Mode {
    let word = try arguments.optionalText("mode") ?? Mode.production.word
    guard let mode = Mode(word: word) else {
      throw .invalid("mode", value: String(word.prefix(80)), allowed: "production, development")
    }
    return mode
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
        signerID: arguments.optionalText("signedBy"), gate: arguments.optionalText("gate"))
      let pins = try arguments.optionalTexts("pins")
      try arguments.finish()
      try add(api, pins: pins)
    case "change":
      let host = try arguments.text("host")
      let change = try Self.apiChange(&arguments)
      let atOnce = try arguments.flag("atOnce")
      try arguments.finish()
      try changeAPI(host, change, atOnce: atOnce)
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
      var shown: [JSONValue] = []
      for registration in try registrations() {
        shown.append(.object(try self.shown(registration)))
      }
      return .array(shown)
    case "add":
      let digest = try arguments.bytes("digest", AppDigest.self)
      let name = try arguments.optionalText("name") ?? ""
      let isDevelopment = try arguments.flag("development")
      let seconds = try arguments.integer("expireAfter")
      let without = try LeftOutEvidence(parsing: arguments.optionalText("without") ?? "none")
      let prediction = try Prediction(&arguments)
      try arguments.finish()
      let registration = try register(
        digest, name: name, isDevelopment: isDevelopment, expireAfter: seconds, without: without,
        prediction: prediction)
      return .object(try shown(registration))
    case "environment-add":
      let name = try arguments.text("name")
      let records = try Prediction.records(arguments.text("records"))
      let seconds = try arguments.integer("expireAfter")
      try arguments.finish()
      let registration = try register(
        Prediction.name(ofEnvironment: records), name: name, expireAfter: seconds,
        prediction: Prediction(records: records))
      return .object(try shown(registration))
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
    case ("config", "change-key"):
      try arguments.finish()
      try changeConfigurationKey()
    case ("config", "retire-keys"):
      let confirmation = try arguments.text("confirm")
      try arguments.finish()
      try retireConfigurationKeys(confirmation: confirmation)
    case ("config", "url"):
      let url = try arguments.text("url")
      try arguments.finish()
      try setURL(url)
    case ("config", "failover"):
      let url = try arguments.optionalText("url")
      try arguments.finish()
      try setFailover(url)
    case ("config", "region"):
      let name = try arguments.text("region")
      let url = try arguments.optionalText("url")
      let failover = try arguments.optionalText("failover")
      try arguments.finish()
      guard let url else {
        guard failover == nil else {
          throw .invalid("url", value: "none", allowed: "an address; a fail-over address is given")
        }
        try setRegion(name, to: nil)
        break
      }
      try setRegion(name, to: RegionAddresses(url: url, failover: failover))
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
      let isMeasured = try arguments.flag("measured", default: false)
      try arguments.finish()
      let token = try exampleToken(
        for: host, isValid: isValid, boundTo: text, isMeasured: isMeasured)
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
        ? try arguments.secret("key") : RandomSource.bytes(MeasurementProofKey.byteCount)
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
