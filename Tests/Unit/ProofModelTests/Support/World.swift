// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom

/// One service, one app, one backend and one piece of hardware that know of each other: what most
/// tests begin with. Everything that is drawn comes from a seed.
struct World {
  var evidence: EvidenceSet
  var draft: BaselineDraft
  var key: MeasurementProofKey
  var config: MeasurementConfig
  var measurement: Measurement
  let instance: InstanceID
  let issuer: IssuerKey
  let hardware: HardwareKeys
  let platform: BenchPlatform

  static let now: UnixTime = 1_800_000_000
  static let classes: CommandClasses = [
    CommandClasses(CommandClass(rawValue: 0)!), CommandClasses(CommandClass(rawValue: 1)!),
    CommandClasses(CommandClass(rawValue: 2)!),
  ]
  static let deviceClasses = CommandClasses(CommandClass(rawValue: 0)!)

  init(
    seed: UInt64 = 1, mode: Mode = .production, hasClock: Bool = true, allowsLiteral: Bool = false
  ) throws {
    var generator = SeededGenerator(seed: seed)
    key = try MeasurementProofKey(Self.secret(16, &generator), mode: mode)
    evidence = try Self.evidence()
    draft = try BaselineDraft(salt: .random(using: &generator), sources: Self.sources())
    config = try MeasurementConfig(baseline: evidence, draft, with: key)
    measurement = try Measurement(of: evidence, under: config, with: key)
    instance = .random(using: &generator)
    issuer = try IssuerKey(seed: Self.secret(32, &generator))
    hardware = try HardwareKeys(
      id: .random(using: &generator), secretKey: Self.secret(32, &generator), mode: mode,
      issuers: [issuer.publicKey], allowsLiteralTokens: allowsLiteral, challengeSeconds: 30)
    platform = BenchPlatform(seed: seed, hasClock: hasClock)
  }

  static func secret(_ count: Int, _ generator: inout SeededGenerator) -> SecretBytes {
    SecretBytes(count: count) { span in
      for index in span.indices { span[index] = .random(in: 1 ... .max, using: &generator) }
    }
  }

  static func sources() throws -> [Source] {
    [
      try Source(SourceID(.device, 1)), try Source(SourceID(.device, 2)),
      try Source(SourceID(.app, 1), groupsLog2: 4),
      try Source(SourceID(.app, 7), version: 3, groupsLog2: 2),
      try Source(SourceID(.environment, 1)),
    ]
  }

  /// Two device sources, forty files of code, some configuration, one absent observation.
  static func evidence(changing name: String? = nil) throws -> EvidenceSet {
    var records = [
      try EvidenceRecord(SourceID(.device, 1), name: "machine-id", digest: digest("machine-id")),
      try EvidenceRecord(SourceID(.device, 2), name: "processor", digest: digest("processor")),
      try EvidenceRecord(SourceID(.app, 7), name: "settings", digest: digest("settings")),
      try EvidenceRecord(SourceID(.environment, 1), name: "tracer", digest: nil),
    ]
    for number in 0..<40 {
      let file = "/opt/door/lib/part\(number).so"
      records.append(try EvidenceRecord(SourceID(.app, 1), name: file, digest: digest(file)))
    }
    return try EvidenceSet(
      records.map { record in
        guard let name, record.name == Array(name.utf8) else { return record }
        return try EvidenceRecord(
          record.source, name: record.name, digest: digest("changed \(name)"))
      })
  }

  static func digest(_ text: String) -> Digest { Digest(hashing: Array(text.utf8)) }

  var secrets: HardwareSecrets { measurement.secrets(for: hardware.identity.id, with: key) }

  /// The backend's grant unless a test wants another.
  func grant(
    attempts: UInt16 = 3, uses: Uses = .limited(10), generation: UInt32 = 1,
    issued: UnixTime = World.now, notAfter: UnixTime? = nil, instance: InstanceID? = nil,
    mode: Mode? = nil, form: TokenForm = .diversified
  ) throws -> MeasurementGrant {
    try MeasurementGrant(
      for: hardware.identity.id, instance: instance ?? self.instance,
      mode: mode ?? hardware.mode, integrityClasses: Self.classes,
      deviceClasses: Self.deviceClasses, attempts: attempts, uses: uses, generation: generation,
      issued: issued, notAfter: notAfter,
      secrets: measurement.secrets(for: hardware.identity.id, with: key, form: form))
  }

  func token(_ grant: MeasurementGrant) throws -> MeasurementToken {
    try grant.sealed(to: hardware.identity, signedBy: issuer)
  }

  /// A token of version two for the usual grant, under which a sealed command may open a channel.
  func channelToken(permits: Bool = true) throws -> MeasurementToken {
    let granted = try grant()
    return try token(
      MeasurementGrant(
        for: granted.hardware, instance: granted.instance, mode: granted.mode,
        integrityClasses: granted.integrityClasses, attempts: granted.attempts,
        uses: granted.uses, generation: granted.generation, issued: granted.issued,
        secrets: granted.secrets, version: .two, permitsChannel: permits))
  }

  func verifier() throws -> Verifier {
    try Verifier.provision(hardware, on: platform)
    return try Verifier(hardware, on: platform)
  }

  /// The app after something changed: another measurement, the same device.
  func secrets(changing name: String) throws -> HardwareSecrets {
    try Measurement(of: Self.evidence(changing: name), under: config, with: key)
      .secrets(for: hardware.identity.id, with: key)
  }

  func prove(
    _ command: Command, _ kind: ProofKind = .integrity, from instance: InstanceID? = nil,
    answering challenge: Challenge, with secrets: HardwareSecrets? = nil
  ) -> ProvedCommand {
    ProvedCommand(
      command, proving: kind, from: instance ?? self.instance, to: hardware.identity.id,
      answering: challenge, with: secrets ?? self.secrets)
  }
}

/// One link between an app and a verifier, without packets in between.
struct Link: ~Copyable {
  let verifier: Verifier
  var session = VerifierSession()

  init(_ verifier: Verifier) { self.verifier = verifier }

  mutating func send(_ message: Message) -> Decision {
    verifier.receive(message, in: &session)
  }

  mutating func challenge() throws -> Challenge {
    try Challenge(send(.askForChallenge).reply)
  }

  mutating func present(_ token: MeasurementToken) throws -> Answer {
    try Answer(send(token.message).reply)
  }

  /// Asks for a challenge and sends a command under it.
  mutating func command(
    _ world: World, _ command: Command, _ kind: ProofKind = .integrity,
    from instance: InstanceID? = nil, with secrets: HardwareSecrets? = nil
  ) throws -> (proved: ProvedCommand, outcome: Decision, answer: Answer) {
    let proved = world.prove(
      command, kind, from: instance, answering: try challenge(), with: secrets)
    let outcome = send(proved.message)
    return (proved, outcome, try Answer(outcome.reply))
  }
}

/// Opens the door; class 1, which an integrity match alone permits.
let openDoor = Command("open", class: 1)
/// Rings the bell; class 0, which a device match permits too.
let ringBell = Command("ring", class: 0)
/// Something no token of the tests permits.
let formatAll = Command("wipe", class: 9)
