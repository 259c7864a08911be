import Console
import ProofJOSE
import ProofModel
import ProofService

/// Verbs about hardware and the key that signs for it.
enum HardwareVerbs {
  static let all: [Verb] = [new, list, revoke, issuerNew, issuerShow]

  private static let new = Verb(
    "hardware new", [],
    [
      Option("--output", "FILE", help: "the hardware's secret key is written there, 32 bytes"),
      Option("--name", "TEXT", help: "what people call it"),
      Option("--development", help: "for the bench"),
      Option("--literal", help: "takes tokens that carry the app's own keys"),
    ], "makes a piece of hardware: name, secret key, registration with the account"
  ) { invocation in
    let path = try invocation.needed("--output")
    let mode: Mode = invocation.has("--development") ? .development : .production
    let isLiteral = invocation.has("--literal")
    let access = try AccountAccess(invocation)
    // Store the key durably before tokens can be sealed to it.
    try KeyFile.create(path)
    let identity = try HardwareKeys(
      id: HardwareID.random(), secretKey: KeyFile.read(path), mode: mode,
      issuers: [IssuerKey.random().publicKey], allowsLiteralTokens: isLiteral
    ).identity
    do {
      guard
        case .object(var hardware) = try access.perform(
          "hardware/add",
          [
            "id": .string(identity.id.description), "mode": .string(mode.word),
            "publicKey": .string(identity.publicKey.description), "literal": .bool(isLiteral),
            "name": .string(invocation.value("--name") ?? ""),
          ])
      else { throw Failure("the service answered with something else than hardware") }
      hardware["secretKey"] = .string("in \(path)")
      return Answer(.object(hardware))
    } catch {
      throw Failure("\(error) The key in \(path) is registered nowhere: delete it, and try again.")
    }
  }

  private static let list = AccountVerbs.verb(
    "hardware list", [], [], "lists the account's hardware", as: "hardware/list")

  private static let revoke = Verb(
    "hardware revoke", [Operand("ID")], [],
    "issues nothing for a piece of hardware any more, for good"
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
