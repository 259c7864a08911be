// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing
import VectorFiles

extension Block {
  func secret(_ name: String) -> SecretBytes { ProofModelTests.secret(bytes(name)) }

  func mode(_ name: String = "mode") throws -> Mode { try #require(Mode(rawValue: number(name))) }

  func key(_ mode: Mode = .production) throws -> MeasurementProofKey {
    try MeasurementProofKey(secret("mpk"), mode: mode)
  }

  func sources() throws -> [Source] {
    try all("source").map { line in
      let parts = line.split(separator: " ").compactMap { UInt8($0) }
      let evidenceClass = try #require(EvidenceClass(rawValue: parts[0]))
      return try Source(
        SourceID(evidenceClass, parts[1]), version: parts[2], groupsLog2: parts[3])
    }
  }

  func records() throws -> [EvidenceRecord] {
    try all("record").map { line in
      let parts = line.split(separator: " ")
      let evidenceClass = try #require(UInt8(parts[0]).flatMap(EvidenceClass.init))
      let number = try #require(UInt8(parts[1]))
      let digest = parts[2] == "absent" ? nil : try Digest(hex(parts[2]))
      return try EvidenceRecord(
        SourceID(evidenceClass, number), name: hex(parts[3]), digest: digest)
    }
  }

  func hardware() throws -> HardwareKeys {
    let issuers = try lines.filter { ["issuer", "issuer_public"].contains($0.name) }
      .map { try IssuerPublicKey(hex($0.value)) }
    return try HardwareKeys(
      id: HardwareID(bytes("hardware_id")),
      secretKey: has("hardware_secret") ? secret("hardware_secret") : .random(count: 32),
      mode: has("mode") ? mode() : .production, issuers: issuers,
      allowsLiteralTokens: has("literal") ? self["literal"] == "1" : has("form", "2"),
      challengeSeconds: has("challenge_limit") ? number("challenge_limit") : nil,
      factory: factorySecret())
  }

  /// The factory secret of the block's hardware; nil where it has none.
  func factorySecret() throws -> FactorySecret? {
    guard has("drawn"), !bytes("drawn").isEmpty else { return nil }
    return try FactorySecret(of: HardwareID(bytes("hardware_id")), drawn: secret("drawn"))
  }

  func measurement() throws -> Measurement {
    try Measurement(
      integrity: secret("im"), device: secret("dm"), deviceKey: secret("dpk"))
  }

  func secrets() throws -> HardwareSecrets {
    try HardwareSecrets(
      integrityKey: secret("k_hw"), integrity: secret("im_hw"), deviceKey: secret("dpk_hw"),
      device: secret("dm_hw"), form: .diversified)
  }

  /// Secrets of which only the device proof key matters.
  func deviceSecrets() throws -> HardwareSecrets {
    try HardwareSecrets(
      integrityKey: ProofModelTests.secret(1, 16), integrity: ProofModelTests.secret(1, 32),
      deviceKey: secret("dpk_hw"), device: ProofModelTests.secret(1, 32), form: .diversified)
  }

  func command() throws -> Command {
    try Command(bytes("command"), class: CommandClass(number("class")))
  }

  func challenge() throws -> Challenge {
    try Challenge(counter: number("counter"), bytes: bytes("challenge"))
  }

  func kind() throws -> ProofKind { try #require(ProofKind(rawValue: number("kind"))) }

  func grant(version: TokenVersion = .one) throws -> MeasurementGrant {
    let form = try #require(TokenForm(rawValue: number("form")))
    let hardware = try HardwareID(bytes("hardware_id"))
    let uses: UInt32 = number("uses")
    let notAfter = time("not_after")
    return try MeasurementGrant(
      for: hardware, instance: InstanceID(bytes("instance_id")), mode: mode(),
      integrityClasses: CommandClasses(rawValue: number("integrity_classes")),
      deviceClasses: CommandClasses(rawValue: number("device_classes")),
      attempts: number("attempts"), uses: uses == .max ? .unlimited : .limited(uses),
      generation: number("generation"), issued: time("issued"),
      notAfter: notAfter == 0 ? nil : notAfter,
      secrets: measurement().secrets(for: hardware, with: key(mode()), form: form),
      version: version,
      ratchet: version == .two ? RatchetPolicy(rawValue: number("policy")) : nil)
  }

  func order() throws -> Order {
    let id = bytes("hardware_id")
    let generation: UInt32 = number("generation")
    let action: Order.Action =
      switch self["type"] {
      case "1": .epoch(try HardwareID(id))
      case "2":
        .revoke(
          try InstanceID(bytes("instance_id")), through: generation == .max ? nil : generation,
          try HardwareID(id))
      default: .floor(try HardwareID(id))
      }
    return try Order(action, issued: time("issued"))
  }

  func message() throws -> Message {
    try Message(try #require(MessageType(rawValue: number("type"))), bytes("message"))
  }
}
