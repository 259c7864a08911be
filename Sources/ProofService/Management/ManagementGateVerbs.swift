// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

// The verbs of gates and events, from JSON to JSON.

extension Management {
  func performGate(
    _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    if verb == "list" {
      try arguments.finish()
      return Self.list(try gates())
    }
    if verb == "watch" { return try performWatch(&arguments) }
    guard
      ["add", "change", "show", "remove", "rotate", "revoke", "configuration", "credential"]
        .contains(verb)
    else { return nil }
    let name = try arguments.text("name")
    switch verb {
    case "add":
      let publicKey = try Self.publicKey(arguments.text("publicKey"))
      let id =
        try arguments.optionalText("id") == nil ? nil : arguments.bytes("id", GateID.self)
      let mode = try Self.mode(&arguments)
      let settings = try GateSettings(&arguments)
      try arguments.finish()
      try addGate(name, publicKey: publicKey, id: id, mode: mode, settings: settings)
      return .object(try shownGate(name))
    case "change":
      let settings = try GateSettings(&arguments)
      try arguments.finish()
      try changeGate(name, settings)
      return .object(try shownGate(name))
    case "show":
      try arguments.finish()
      return .object(try shownGate(name))
    case "rotate": return try performRotation(of: name, &arguments)
    case "revoke":
      let device = try device(named: arguments.text("device"))
      try arguments.finish()
      try revoke(device, at: name)
      return .object(["device": .string(device.description)])
    case "configuration":
      let audience = try arguments.optionalText("audience")
      try arguments.finish()
      let text =
        if let audience { try gateConfiguration(name, audience: audience) } else {
          try gateConfiguration(name)
        }
      return .object(["configuration": .string(text)])
    case "credential":
      let label = try arguments.optionalText("as")
      try arguments.finish()
      let credential = try addGateCredential(for: name, named: label)
      return .object(["name": .string(credential.name), "token": .string(credential.text)])
    default:
      try arguments.finish()
      try removeGate(name)
      return Self.done
    }
  }

  private func performRotation(
    of name: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue {
    let word = try arguments.text("what")
    let step = try arguments.text("step")
    let publicKey = try arguments.optionalText("publicKey")
      .map { text throws(ServiceError) in try Self.publicKey(text) }
    let atOnce = try arguments.flag("atOnce")
    try arguments.finish()
    guard let kind = Gate.KeyKind(rawValue: word) else {
      throw .invalid(
        "what", value: String(word.prefix(80)),
        allowed: Gate.KeyKind.allCases.map(\.rawValue).joined(separator: ", "))
    }
    guard publicKey == nil || step == "next" else {
      throw .invalid("public key", value: "given", allowed: "with the step “next” alone")
    }
    switch step {
    case "next": return .object(try prepareGateKey(kind, of: name, publicKey: publicKey).shown)
    case "promote": return .object(try promoteGateKey(kind, of: name, atOnce: atOnce).shown)
    case "retire": try retireGateKey(kind, of: name, atOnce: atOnce)
    case "drop": try dropGateKey(kind, of: name)
    default:
      throw .invalid(
        "step", value: String(step.prefix(80)), allowed: "next, promote, retire, drop")
    }
    return Self.done
  }

  private static func publicKey(_ text: String) throws(ServiceError) -> [UInt8] {
    guard let bytes = Hexadecimal.decode(text), bytes.count == 32 else {
      throw .invalid(
        "publicKey", value: String(text.prefix(80)), allowed: "64 hexadecimal digits")
    }
    return bytes
  }

  /// A gate with the public parts of its keys. Those of issuers are in base64url and not in hexadecimal, which
  /// hardware takes: no lock is to know them.
  private func shownGate(_ name: String) throws(ServiceError) -> JSONObject {
    let gate = try gate(name)
    let vault = account.vault
    var shown = gate.shown
    func list(
      _ kind: Gate.KeyKind, _ text: (SealedKey) throws(ServiceError) -> String
    ) throws(ServiceError) -> JSONValue {
      var states: [JSONValue] = []
      for (stage, key) in gate.keys[kind]?.all ?? [] {
        var state = key.state(stage).shown
        state.set("public", try text(key))
        states.append(.object(state))
      }
      return .array(states)
    }
    shown["keys"] = try list(.key) { key throws(ServiceError) in
      Hexadecimal.encode(try gate.publicKey(key, with: vault).bytes)
    }
    shown["issuers"] = try list(.issuer) { key throws(ServiceError) in
      Base64.encode(try gate.issuer(key, with: vault).publicKey.bytes, .url)
    }
    return shown
  }

  func performEvent(
    _ verb: String, _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> JSONValue? {
    switch verb {
    case "list":
      try arguments.finish()
      return .array(try events().map { .object($0.fields) })
    case "add":
      var range = EventRange(
        try Self.numbers(&arguments) ?? EventRange.standard, at: try arguments.text("gate"),
        for: try arguments.text("audience"))
      range.life = try arguments.integer("life") ?? range.life
      range.needsAccount = try arguments.flag("account")
      range.needsData = try arguments.flag("data")
      range.allowsUnanchored = try arguments.flag("unanchored")
      range.measured = try arguments.integer("measured") ?? range.measured
      try arguments.finish()
      try addEvents(range)
      return .object(range.fields)
    case "remove":
      guard let numbers = try Self.numbers(&arguments) else {
        throw .invalid("numbers", value: "", allowed: "a number or FIRST-LAST; it is missing")
      }
      try arguments.finish()
      try removeEvents(numbers)
      return Self.done
    default: return nil
    }
  }

  private static func numbers(
    _ arguments: inout ManagementArguments
  ) throws(ServiceError) -> ClosedRange<UInt16>? {
    guard let text = try arguments.optionalText("numbers") else { return nil }
    guard let numbers = EventRange.numbers(parsing: text) else {
      throw .invalid(
        "numbers", value: String(text.prefix(80)),
        allowed: "a number or FIRST-LAST, 0 to 65535, such as 3300-3400")
    }
    return numbers
  }
}

extension GateSettings {
  fileprivate init(_ arguments: inout ManagementArguments) throws(ServiceError) {
    self.init()
    life = try arguments.integer("life")
    floor = try arguments.integer("floor").map { UnixTime(clamping: $0) }
    if let word = try arguments.optionalText("form") {
      guard let form = GateAdmission.Form(word: word) else {
        throw .invalid(
          "form", value: String(word.prefix(80)), allowed: "standard, compact, body")
      }
      self.form = form
    }
    freshness = try arguments.integer("freshness")
    proofHeader = try arguments.optionalText("proofHeader")
    tokenHeader = try arguments.optionalText("tokenHeader")
    digestHeader = try arguments.optionalText("digestHeader")
  }
}
