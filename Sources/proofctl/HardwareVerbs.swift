import ProofBackend
import ProofJOSE
import ProofModel

/// Verbs about hardware and the key that signs for it.
enum HardwareVerbs {
  static let all: [Verb] = [new, list, revoke, issuerNew, issuerShow]

  private static let registry = Flag(
    "--registry", "FILE", "the backend's registry; else PROOF_HARDWARE")

  static func registryPath(_ invocation: Invocation) -> String? {
    invocation.value("--registry", else: "PROOF_HARDWARE")
  }

  /// The hardware of a registry.
  static func all(in path: String) throws -> [RegisteredHardware] { try HardwareFile(path).all() }

  private static let new = Verb(
    "hardware new", [],
    [
      Flag("--output", "FILE", "the hardware's secret key is written there, 32 bytes"),
      Flag("--name", "TEXT", "what people call it"),
      Flag("--development", nil, "for the bench"),
      Flag("--literal", nil, "takes tokens that carry the app's own keys"),
      registry,
    ], "makes a piece of hardware: name, secret key, registration"
  ) { invocation in
    let path = try invocation.needed("--output")
    let mode: Mode = invocation.has("--development") ? .development : .production
    let isLiteral = invocation.has("--literal")
    try KeyFile.create(path)
    let identity = try HardwareKeys(
      id: HardwareID.random(), secretKey: KeyFile.read(path), mode: mode,
      issuers: [IssuerKey.random().publicKey], allowsLiteralTokens: isLiteral
    ).identity
    let name = invocation.value("--name") ?? ""
    var places: [JSONValue] = []
    if let registry = registryPath(invocation) {
      try HardwareFile(registry).set(
        RegisteredHardware(identity, mode: mode, allowsLiteral: isLiteral, name: name))
      places.append(.string(registry))
    }
    if AccountAccess.isNamed(invocation) {
      _ = try AccountAccess(invocation).perform(
        "hardware/add",
        [
          "id": .string(identity.id.description), "name": .string(name),
          "publicKey": .string(identity.publicKey.description),
        ])
      places.append("account")
    }
    return Answer([
      "id": .string(identity.id.description), "publicKey": .string(identity.publicKey.description),
      "mode": .string(mode == .production ? "production" : "development"),
      "literal": .bool(isLiteral), "secretKey": .string("in \(path)"),
      "registeredIn": .array(places),
    ])
  }

  private static let list = Verb(
    "hardware list", [], [registry], "lists the hardware of a registry, or of the account"
  ) { invocation in
    guard let path = registryPath(invocation) else {
      return Answer(try AccountAccess(invocation).perform("hardware/list"))
    }
    return Answer(
      .array(
        try HardwareFile(path).all().map { hardware -> JSONValue in
          [
            "id": .string(hardware.identity.id.description), "name": .string(hardware.name),
            "mode": .string(hardware.mode == .production ? "production" : "development"),
            "literal": .bool(hardware.allowsLiteral), "revoked": .bool(hardware.isRevoked),
            "publicKey": .string(hardware.identity.publicKey.description),
          ]
        }))
  }

  private static let revoke = Verb(
    "hardware revoke", [Operand("ID")], [registry],
    "issues nothing for a piece of hardware any more"
  ) { invocation in
    let id = try Invocation.parse(invocation.operands[0], "ID") as HardwareID
    guard let path = registryPath(invocation) else {
      return Answer(
        try AccountAccess(invocation).perform("hardware/revoke", ["id": .string(id.description)]))
    }
    let file = try HardwareFile(path)
    guard var hardware = try file.hardware(id) else { throw BackendError.unknownHardware(id) }
    hardware.isRevoked = true
    try file.set(hardware)
    return Answer([:])
  }

  private static let issuerNew = Verb(
    "issuer new", [], [Flag("--output", "FILE", "the signing key is written there, 32 bytes")],
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
