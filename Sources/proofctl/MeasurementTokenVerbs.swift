// SPDX-License-Identifier: Apache-2.0

import AccountStores
import Console
import DurableFiles
import Glibc
import ProofBackend
import ProofJOSE
import ProofModel
import ProofService

/// Verbs that do a backend's work by hand, and read its output.
enum MeasurementTokenVerbs {
  static let all: [Verb] = [issue, inspect, order]

  private static let backend = [
    Option("--issuer-key", "FILE", help: "the backend's signing key, as \"issuer new\" made it"),
    Option(
      "--ledger", "FOLDER|URI",
      help: "remembers what was issued, a folder or postgres://…; else PROOF_LEDGER"),
    Option("--trust-clock", help: "signs although the clock is 90 days beyond the ledger"),
  ]

  private static func issuer(_ invocation: Invocation) throws -> MeasurementTokenIssuer {
    guard let ledger = invocation.value("--ledger", else: "PROOF_LEDGER") else {
      throw Failure.usage("--ledger is missing")
    }
    return MeasurementTokenIssuer(
      try HardwareVerbs.issuer(invocation.needed("--issuer-key")),
      for: NamedAccountHardware(
        access: try AccountAccess(invocation), factoryKey: try factoryKey(invocation)),
      ledger: try LedgerPlace.open(ledger),
      clockStep: invocation.has("--trust-clock") ? nil : MeasurementTokenIssuer.defaultClockStep)
  }

  private static func factoryKey(_ invocation: Invocation) throws -> FactoryKey? {
    guard let path = invocation.value("--factory-key") else { return nil }
    return try FactoryKey(KeyFile.secret(path))
  }

  private static func factorySecret(
    _ invocation: Invocation, of id: HardwareID
  ) throws -> FactorySecret? {
    guard let path = invocation.value("--factory-secret") else { return nil }
    return try FactorySecret(of: id, drawn: KeyFile.read(path))
  }

  private static let issue = Verb(
    "measurement-token issue", [Operand("TOKEN|@FILE|-"), Operand("HARDWARE")],
    [
      Option("--key", "FILE,…", help: "opens the service's token: a JWK or a JWKS in each file"),
      Option("--audience", "NAME", help: "the API that the service's token names, if any"),
      Option("--classes", "N,…", help: "command classes of an integrity match"),
      Option("--device-classes", "N,…", help: "command classes of a device match; none if missing"),
      Option("--attempts", "N", help: "integrity failures allowed; 5 if missing"),
      Option("--uses", "N|unlimited", help: "commands allowed; unlimited if missing"),
      Option("--lifetime", "SECONDS|endless", help: "30 days if missing"),
      Option("--ratchet", "report|refuse", help: "what the lock does with copies; none if missing"),
      Option("--delegable-classes", "N,…", help: "classes the app may lend; none if missing"),
      Option("--sealed-only", help: "the lock takes sealed commands only"),
      Option("--channel", help: "a sealed command may open a channel for further ones"),
      Option("--literal", help: "puts the app's own keys into the token"),
      Option("--factory-key", "FILE", help: "opens factory secrets, for hardware that has one"),
      Option("--output", "FILE", help: "writes the token there; else it is shown"),
    ] + backend, "turns the service's token into a measurement token for hardware"
  ) { invocation in
    let hardware = try Invocation.parse(invocation.operands[1], "HARDWARE") as HardwareID
    let permissions = try GrantPermissions(
      classes: invocation.needed("--classes"), deviceClasses: invocation.value("--device-classes"),
      attempts: invocation.value("--attempts"), uses: invocation.value("--uses"),
      lifetime: invocation.value("--lifetime"), ratchet: invocation.value("--ratchet"),
      delegable: invocation.value("--delegable-classes"),
      demandsSealing: invocation.has("--sealed-only"), permitsChannel: invocation.has("--channel"))
    var rules = TokenVerifier.Rules()
    rules.audience = invocation.value("--audience")
    let verifier = try TokenVerifier(TokenVerbs.keys(invocation.needed("--key")), rules: rules)
    let app = try verifier.measurement(of: Invocation.text(of: invocation.operands[0]))
    let token = try issuer(invocation).issue(
      to: app, for: hardware, permissions,
      form: invocation.has("--literal") ? .literal : .diversified)
    var value: JSONObject = [
      "digest": .string(token.digest.description), "instance": .string(app.instance.description),
      "generation": .number(JSONNumber(Int64(app.generation))),
    ]
    if let path = invocation.value("--output") {
      try SecretFile.create(path, token.bytes.span)
      value["token"] = .string("in \(path)")
    } else {
      value["token"] = .string(Hexadecimal.encode(token.bytes))
    }
    return Answer(.object(value))
  }

  private static let inspect = Verb(
    "measurement-token inspect", [Operand("TOKEN|@FILE|-")],
    [
      Option("--hardware", "ID", help: "opens it as this hardware"),
      Option("--hardware-key", "FILE", help: "the hardware's secret key"),
      Option("--issuer", "HEX", help: "the public key of who signed it"),
      Option("--factory-secret", "FILE", help: "what the factory drew for the hardware"),
      Option("--development", help: "the hardware is for the bench"),
    ], "shows a measurement token, with the hardware's key also its rights"
  ) { invocation in
    let token = try MeasurementToken(bytes(of: invocation.operands[0]))
    var value: JSONObject = [
      "digest": .string(token.digest.description),
      "bytes": .number(JSONNumber(Int64(token.bytes.count))),
      "hardwareBegins": .string(Hexadecimal.encode(token.bytes[4..<8])),
    ]
    guard let path = invocation.value("--hardware-key") else { return Answer(.object(value)) }
    let id = try invocation.hexadecimal("--hardware", HardwareID.self)
    let keys = try HardwareKeys(
      id: id, secretKey: KeyFile.read(path),
      mode: invocation.has("--development") ? .development : .production,
      issuers: [invocation.hexadecimal("--issuer", IssuerPublicKey.self)],
      allowsLiteralTokens: true, factory: factorySecret(invocation, of: id))
    let grant = try keys.open(token)
    value["instance"] = .string(grant.instance.description)
    value["generation"] = .number(JSONNumber(Int64(grant.generation)))
    value["version"] = .number(JSONNumber(Int64(grant.version.rawValue)))
    value["form"] = .string("\(grant.secrets.form)")
    value["integrityClasses"] = classes(grant.integrityClasses)
    value["deviceClasses"] = classes(grant.deviceClasses)
    value["delegableClasses"] = classes(grant.delegableClasses)
    value["attempts"] = .number(JSONNumber(Int64(grant.attempts)))
    value["uses"] =
      switch grant.uses {
      case .limited(let count): .number(JSONNumber(Int64(count)))
      case .unlimited: "unlimited"
      }
    value["ratchet"] = .string(grant.ratchet.map { "\($0)" } ?? "none")
    value["sealedOnly"] = .bool(grant.demandsSealing)
    value["channel"] = .bool(grant.permitsChannel)
    value["issued"] = .number(JSONNumber(grant.issued.seconds))
    value["notAfter"] = grant.notAfter.map { .number(JSONNumber($0.seconds)) } ?? "endless"
    return Answer(.object(value))
  }

  /// A token in hexadecimal, or a file with its bytes or its hexadecimal.
  private static func bytes(of operand: String) throws -> [UInt8] {
    if operand.hasPrefix("@") {
      let bytes = try SecretFile.read(String(operand.dropFirst()), limit: 4_096)
      if bytes.count == MeasurementToken.byteCount { return bytes }
    }
    guard let bytes = Hexadecimal.decode(try Invocation.text(of: operand)) else {
      throw Failure(
        "that is no measurement token: write it in hexadecimal, or name a file by @FILE")
    }
    return bytes
  }

  private static func classes(_ classes: CommandClasses) -> JSONValue {
    .array(
      (0..<16).filter { classes.rawValue >> $0 & 1 == 1 }.map { .number(JSONNumber(Int64($0))) })
  }

  private static let order = Verb(
    "order sign", [Operand("epoch|revoke|floor"), Operand("HARDWARE")],
    [
      Option("--from", "EPOCH", help: "epoch: orders in steps, from the hardware's own time"),
      Option("--instance", "ID", help: "revoke: whose tokens"),
      Option(
        "--through", "GENERATION", help: "revoke: the last generation; all, for good, if missing"),
      Option("--output", "FILE", help: "writes the order there; else it is shown"),
    ] + backend, "signs an order that any app may carry to the hardware"
  ) { invocation in
    // A revocation counts once it is signed: if the order cannot be written, sign none.
    if let path = invocation.value("--output"), unsafe access(path, F_OK) == 0 {
      throw Failure("\(path): File exists. Nothing was signed; name another file.")
    }
    let issuer = try issuer(invocation)
    let hardware = try Invocation.parse(invocation.operands[1], "HARDWARE") as HardwareID
    let order: SignedOrder
    switch invocation.operands[0] {
    case "epoch":
      guard let text = invocation.value("--from") else {
        order = try issuer.orderEpoch(for: hardware)
        break
      }
      guard let from = Int64(text), from > 0 else {
        throw Failure.usage("--from takes Unix seconds from 1, as the hardware's status tells them")
      }
      let orders = try issuer.orderEpochs(for: hardware, from: UnixTime(seconds: from)).map {
        Hexadecimal.encode($0.bytes)
      }
      let lines = orders.joined(separator: "\n")
      return try written(lines, ["orders": .array(orders.map { .string($0) })], invocation)
    case "floor": order = try issuer.orderFloor(for: hardware)
    case "revoke":
      let through = try invocation.value("--through").map { text in
        guard let generation = UInt32(text), generation > 0, generation < .max else {
          throw Failure.usage("--through takes 1 to 4294967294")
        }
        return generation
      }
      order = try issuer.orderRevocation(
        of: invocation.hexadecimal("--instance", InstanceID.self), through: through, at: hardware)
    case let word: throw Failure.usage("\"\(word)\" is no order; write epoch, revoke or floor")
    }
    let text = Hexadecimal.encode(order.bytes)
    return try written(text, ["order": .string(text)], invocation)
  }

  /// Orders in hexadecimal, one a line: shown, or in a file.
  private static func written(
    _ text: String, _ value: JSONObject, _ invocation: Invocation
  ) throws -> Answer {
    guard let path = invocation.value("--output") else { return Answer(.object(value), text: text) }
    try SecretFile.create(path, Array((text + "\n").utf8).span)
    return Answer(["order": .string("in \(path)")])
  }
}
