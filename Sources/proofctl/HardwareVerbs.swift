// SPDX-License-Identifier: Apache-2.0

import Console
import DurableFiles
import ProofJOSE
import ProofModel
import ProofService

/// Verbs about hardware and the key that signs for it.
enum HardwareVerbs {
  static let all: [Verb] = [
    new, add, change, list, revoke, factoryKey, issuerNew, issuerShow,
  ]

  private static let name = Option("--name", "TEXT", help: "what people call it")
  private static let development = Option("--development", help: "for the bench")
  private static let literal = Option(
    "--literal", help: "accepts tokens that carry the app's own keys")
  private static let features = Option(
    "--features", "LIST", help: "its features, as --provision prints them (0x21), or as words")

  private static let new = Verb(
    "hardware new", [],
    [
      Option("--output", "FILE", help: "the hardware's secret key is written there, 32 bytes"),
      name, development, literal, features,
      Option(
        "--factory-secret", "FILE", help: "draws a factory secret and writes it there, 32 bytes"),
    ], "makes a piece of hardware: name, secret key, registration with the account"
  ) { invocation in
    let path = try invocation.needed("--output")
    let mode: Mode = invocation.has("--development") ? .development : .production
    let access = try AccountAccess(invocation)
    let isLiteral = invocation.has("--literal")
    let secretPath = invocation.value("--factory-secret")
    var arguments = try registration(invocation, mode)
    // Store the keys durably before tokens can be sealed to them.
    try KeyFile.create(path)
    if let secretPath {
      do { try KeyFile.create(secretPath) } catch {
        throw Failure("\(error) The key in \(path) is registered nowhere: delete it.")
      }
      arguments["factorySecret"] = .string(try KeyFile.base64(secretPath))
    }
    let identity = try HardwareKeys(
      id: HardwareID.random(), secretKey: KeyFile.read(path), mode: mode,
      issuers: [IssuerKey.random().publicKey], allowsLiteralTokens: isLiteral
    ).identity
    do {
      arguments["id"] = .string(identity.id.description)
      arguments["publicKey"] = .string(identity.publicKey.description)
      guard case .object(var hardware) = try access.perform("hardware/add", arguments) else {
        throw Failure("the service answered with something else than hardware")
      }
      hardware["secretKey"] = .string("in \(path)")
      hardware["factorySecret"] = secretPath.map { .string("in \($0)") }
      return Answer(.object(hardware))
    } catch {
      let files = [path, secretPath].compactMap { $0 }.joined(separator: " and ")
      throw Failure("\(error) The key in \(files) is registered nowhere: delete it, and try again.")
    }
  }

  private static let add = Verb(
    "hardware add", [Operand("ID"), Operand("PUBLIC-KEY")],
    [
      name, development, literal, features,
      Option("--factory-secret", "FILE", help: "what the factory drew for it, 32 bytes"),
    ], "registers hardware that was provisioned elsewhere"
  ) { invocation in
    var arguments = try registration(
      invocation, invocation.has("--development") ? .development : .production)
    let id = try Invocation.parse(invocation.operands[0], "ID") as HardwareID
    let key = try Invocation.parse(invocation.operands[1], "PUBLIC-KEY") as HardwarePublicKey
    arguments["id"] = .string(id.description)
    arguments["publicKey"] = .string(key.description)
    try addSecret(of: invocation, to: &arguments)
    return Answer(try AccountAccess(invocation).perform("hardware/add", arguments))
  }

  private static let change = Verb(
    "hardware change", [Operand("ID")],
    [
      features,
      Option("--factory-secret", "FILE", help: "what the factory drew for it, 32 bytes"),
    ], "adds features to hardware, or replaces its factory secret"
  ) { invocation in
    let id = try Invocation.parse(invocation.operands[0], "ID") as HardwareID
    var arguments: JSONObject = [
      "id": .string(id.description), "features": try words(of: invocation),
    ]
    try addSecret(of: invocation, to: &arguments)
    return Answer(try AccountAccess(invocation).perform("hardware/change", arguments))
  }

  /// The key that a backend opens factory secrets with. It is written to a file and never shown.
  private static let factoryKey = Verb(
    "hardware factory-key", [],
    [
      Option("--output", "FILE", help: "the key is written there, 32 bytes, for its owner alone"),
      Option("--replace", help: "replaces the key first, after a compromise"),
    ], "hands out the key that opens factory secrets, for a backend that issues tokens"
  ) { invocation in
    let path = try invocation.needed("--output")
    let access = try AccountAccess(invocation)
    if invocation.has("--replace") { _ = try access.perform("hardware/replace-factory-key") }
    let answer = try access.perform("hardware/factory-key")
    guard case .object(let object) = answer,
      let bytes = object.text("key").flatMap({ Base64.decode($0) }),
      bytes.count == KeyFile.byteCount
    else { throw Failure("the service answered with something else than a factory key") }
    try SecretFile.replace(path, bytes.span)
    return Answer(["factoryKey": .string("in \(path)")])
  }

  private static func registration(
    _ invocation: Invocation, _ mode: Mode
  ) throws -> JSONObject {
    [
      "mode": .string(mode.word), "literal": .bool(invocation.has("--literal")),
      "name": .string(invocation.value("--name") ?? ""), "features": try words(of: invocation),
    ]
  }

  /// The features as words, from words or from the number that hardware prints.
  private static func words(of invocation: Invocation) throws -> JSONValue {
    guard let text = invocation.value("--features") else { return [] }
    if text.hasPrefix("0x") {
      guard let bits = UInt32(text.dropFirst(2), radix: 16) else {
        throw Failure.usage("--features takes a number such as 0x21, or words")
      }
      let features = HardwareFeatures(rawValue: bits)
      guard HardwareFeatures.known.isSuperset(of: features) else {
        throw Failure.usage(
          "--features \(text) has features that this proofctl does not know. Update it.")
      }
      return .array(features.words.map { .string($0) })
    }
    let words = text.split(separator: ",").map(String.init)
    guard HardwareFeatures(words: words) != nil else {
      throw Failure.usage(
        "--features takes \(HardwareFeatures.known.words.joined(separator: ", ")), with commas")
    }
    return .array(words.map { .string($0) })
  }

  private static func addSecret(of invocation: Invocation, to arguments: inout JSONObject) throws {
    guard let path = invocation.value("--factory-secret") else { return }
    arguments["factorySecret"] = .string(try KeyFile.base64(path))
  }

  private static let list = AccountVerbs.verb(
    "hardware list", [], [], "lists the account's hardware", as: "hardware/list")

  private static let revoke = Verb(
    "hardware revoke", [Operand("ID")], [],
    "stops all tokens for a piece of hardware, permanently"
  ) { invocation in
    let id = try Invocation.parse(invocation.operands[0], "ID") as HardwareID
    return Answer(
      try AccountAccess(invocation).perform("hardware/revoke", ["id": .string(id.description)]))
  }

  private static let issuerNew = Verb(
    "issuer new", [],
    [Option("--output", "FILE", help: "the signing key is written there, 32 bytes")],
    "makes the key with which a backend signs measurement tokens"
  ) { invocation in
    let path = try invocation.needed("--output")
    try KeyFile.create(path)
    return shown(try issuer(path))
  }

  private static let issuerShow = Verb(
    "issuer show", [Operand("FILE")], [], "shows the public side of a signing key, for the hardware"
  ) { invocation in
    shown(try issuer(invocation.operands[0]))
  }

  static func issuer(_ path: String) throws -> IssuerKey {
    try IssuerKey(seed: KeyFile.read(path))
  }

  private static func shown(_ key: IssuerKey) -> Answer {
    Answer([
      "id": .string(key.id.description), "publicKey": .string(key.publicKey.description),
    ])
  }
}
