// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing
import VectorFiles

/// Vectors that another implementation made from docs/SPEC.md alone.
@Suite("Vectors, through Swift")
struct VectorTests {
  @Test("of keys", arguments: Block.read("key.txt", "mpk", "dpk", "issuer", "diversified"))
  func keys(block: Block) throws {
    switch block["block"] {
    case "mpk":
      #expect(try block.key(block.mode()).id.bytes == block.bytes("key_id"))
    case "dpk":
      let deviceKey = try block.key().deviceKey(under: Salt(block.bytes("salt")))
      #expect(copy(deviceKey) == block.bytes("dpk"))
    case "issuer":
      let issuer = try IssuerKey(seed: block.secret("issuer_seed"))
      #expect(issuer.publicKey.bytes == block.bytes("issuer_public"))
      #expect(issuer.id.bytes == block.bytes("issuer_id"))
    default:
      let form = try #require(TokenForm(rawValue: block.number("form")))
      let secrets = try block.measurement().secrets(
        for: HardwareID(block.bytes("hardware_id")), with: block.key(), form: form)
      #expect(copy(secrets, .integrityKey) == block.bytes("k_hw"))
      #expect(copy(secrets, .integrity) == block.bytes("im_hw"))
      #expect(copy(secrets, .deviceKey) == block.bytes("dpk_hw"))
      #expect(copy(secrets, .device) == block.bytes("dm_hw"))
    }
  }

  @Test("of configurations", arguments: Block.read("config.txt", "config"))
  func configs(block: Block) throws {
    let draft = try BaselineDraft(
      salt: Salt(block.bytes("salt")), sources: block.sources(),
      policy: #require(MeasurementPolicy(rawValue: block.number("policy"))),
      generation: block.number("generation"), limitLog2: block.number("limit"))
    let key = try block.key(block.mode())
    let config = try MeasurementConfig(
      baseline: EvidenceSet(block.records()), draft, with: key)
    #expect(config.bytes == block.bytes("config"))
    #expect(config.keyID.bytes == block.bytes("key_id"))
    #expect(try MeasurementConfig(block.bytes("config")).sources == block.sources())
  }

  @Test("of measurements", arguments: Block.read("measurement.txt", "measurement"))
  func measurements(block: Block) throws {
    let config = try MeasurementConfig(block.bytes("config"))
    let key = try block.key(config.mode)
    let evidence = try EvidenceSet(block.records())
    let measurement = try Measurement(of: evidence, under: config, with: key)
    #expect(copy(measurement, .integrity) == block.bytes("im"))
    #expect(copy(measurement, .device) == block.bytes("dm"))
    #expect(copy(measurement, .deviceKey) == block.bytes("dpk"))

    let difference = try Difference(of: evidence, under: config, with: key)
    let comparable = block["comparable"]
    #expect(difference.deviceComparable == ["device", "all"].contains(comparable))
    #expect(difference.appComparable == ["other", "all"].contains(comparable))
    let differing = block["differing"].split(separator: " ").compactMap { Int($0) }
    #expect(leaves(difference, config) == differing)
  }

  /// The indices of the leaves that a difference names.
  private func leaves(_ difference: Difference, _ config: MeasurementConfig) -> [Int] {
    var first: [SourceID: Int] = [:]
    var count = 0
    for source in config.sources {
      first[source.id] = count
      count += source.groupCount
    }
    return difference.changes.compactMap { change in first[change.source].map { $0 + change.group }
    }
  }

  @Test(
    "of proofs", arguments: Block.read("proof.txt", "bare", "nonce", "escort", "receipt", "recall"))
  func proofs(block: Block) throws {
    switch block["block"] {
    case "bare":
      let measurement = try Measurement(
        integrity: block.secret("measurement"), device: block.secret("measurement"),
        deviceKey: block.secret("key"))
      let key = try MeasurementProofKey(block.secret("key"), mode: .production)
      let nonce = try ProofNonce(block.bytes("nonce"))
      for kind in ProofKind.allCases {
        let proof = measurement.proof(of: kind, for: nonce, with: key)
        #expect(proof.bytes == block.bytes("proof"))
      }
      let state = ProofKeyState(integrity: key)
      #expect(state.proof(for: nonce, of: measurement).bytes == block.bytes("proof"))
    case "nonce":
      let nonce = try ProofNonce(
        for: HardwareID(block.bytes("hardware_id")), answering: block.challenge(),
        of: block.kind(), block.command())
      #expect(nonce.bytes == block.bytes("nonce"))
    case "escort":
      let escort = try ProofNonce(block.bytes("nonce"))
        .escort(of: Proof(block.bytes("integrity_proof")))
      #expect(escort.bytes == block.bytes("escort"))
    case "receipt":
      let nonce = try ProofNonce(block.bytes("nonce"))
      let verdict = try #require(Verdict(rawValue: block.number("verdict")))
      let answer = try Answer(
        verdict, detail: block.number("detail"), counter: block.number("counter"), to: nonce,
        with: block.deviceSecrets())
      #expect(Array(answer.message.bytes.suffix(32)) == block.bytes("receipt"))
    default:
      let recall = try Recall(
        of: ProofNonce(block.bytes("nonce")), counter: block.number("counter"),
        from: InstanceID(block.bytes("instance_id")), with: block.deviceSecrets())
      #expect(Array(recall.message.bytes.suffix(32)) == block.bytes("tag"))
    }
  }

  @Test("of tokens", arguments: Block.read("token.txt", "token"))
  func tokens(block: Block) throws {
    let issuer = try IssuerKey(seed: block.secret("issuer_seed"))
    let hardware = try block.hardware()
    #expect(hardware.identity.publicKey.bytes == block.bytes("hardware_public"))
    let token = try block.grant().sealed(
      to: hardware.identity, signedBy: issuer, ephemeral: block.secret("ephemeral_secret"))
    #expect(token.bytes == block.bytes("token"))
    #expect(token.digest.bytes == block.bytes("digest"))
    let opened = try hardware.open(MeasurementToken(block.bytes("token")))
    #expect(opened.issuer == issuer.id)
    #expect(try opened.instance == InstanceID(block.bytes("instance_id")))
  }

  @Test("of ratchets", arguments: Block.read("proof.txt", "ratchet"))
  func ratchets(block: Block) throws {
    let secrets = try HardwareSecrets(
      integrityKey: SecretBytes(copying: [UInt8](repeating: 1, count: 16).span),
      integrity: SecretBytes(copying: [UInt8](repeating: 1, count: 32).span),
      deviceKey: block.secret("dpk_hw"), device: block.secret("dm_hw"), form: .diversified)
    let id = try InstanceID([UInt8](repeating: 1, count: 16))
    // The first value, by a command of the same token: its tag is in the message.
    let begun = try Ratchet(.report, of: TokenDigest(block.bytes("token_digest")))
    let proved = try ProvedCommand(
      Command("", class: 0), proving: .device, from: id, to: HardwareID(id.bytes),
      answering: Challenge(counter: 1, bytes: [UInt8](repeating: 1, count: 32)), with: secrets,
      stepping: begun)
    let ratchet = try #require(proved.ratchet)
    #expect(ratchet.value == block.bytes("first"))
    let after = try #require(ratchet.after)
    #expect(ratchet.following(.accepted, counter: 1).value == after.next)
    #expect(ratchet.following(.acceptedCopy, counter: 1).value == after.fork)
    #expect(ratchet.following(.notExecuted, counter: 1).value == block.bytes("first"))
    let refusing = Ratchet(
      .refuse, of: ratchet.token, lastAccepted: 0, value: ratchet.value, after: after)
    #expect(refusing.following(.acceptedCopy, counter: 1).value == block.bytes("first"))
  }

  @Test("of tokens of version 2, in both suites", arguments: Block.read("token.txt", "token_2"))
  func tokensOfVersion2(block: Block) throws {
    let issuer = try IssuerKey(seed: block.secret("issuer_seed"))
    let hardware = try block.hardware()
    let opened = try hardware.open(MeasurementToken(block.bytes("token")))
    #expect(opened.version == .two)
    #expect(opened.issuer == issuer.id)
    #expect(opened.generation == block.number("generation"))
    // A grant passes nothing on, and its base is its generation.
    guard block["delegable_classes"] == "0", block["base"] == block["generation"] else { return }
    let token = try block.grant(version: .two).sealed(
      to: hardware.identity, with: block.factorySecret(), signedBy: issuer,
      ephemeral: block.secret("ephemeral_secret"))
    #expect(token.bytes == block.bytes("token"))
    #expect(token.digest.bytes == block.bytes("digest"))
  }

  @Test("of orders", arguments: Block.read("order.txt", "order"))
  func orders(block: Block) throws {
    let issuer = try IssuerKey(seed: block.secret("issuer_seed"))
    #expect(try block.order().signed(by: issuer).bytes == block.bytes("order"))
  }

  @Test(
    "of messages",
    arguments: Block.read(
      "message.txt", "ask", "challenge", "command", "command_ratchet", "verdict", "recall",
      "status"))
  func messages(block: Block) throws {
    let message = try block.message()
    switch block["block"] {
    case "ask":
      let ask: Message = block["what"] == "1" ? .askForChallenge : .askForStatus
      #expect(ask == message)
    case "challenge":
      #expect(try block.challenge().message == message)
      #expect(try Challenge(message) == block.challenge())
    case "command":
      let proved = try ProvedCommand(
        block.command(), proving: block.kind(), from: InstanceID(block.bytes("instance_id")),
        to: HardwareID(block.bytes("hardware_id")), answering: block.challenge(),
        with: block.secrets())
      #expect(proved.message == message)
      #expect(proved.nonce.bytes == block.bytes("nonce"))
      let received = try ReceivedCommand(message)
      #expect(received.deviceProof.bytes == block.bytes("device_proof"))
      #expect(received.integrityProof?.bytes ?? [] == block.bytes("integrity_proof"))
    case "command_ratchet":
      let ratchet = try Ratchet(
        .report, of: TokenDigest([UInt8](repeating: 0, count: 16)),
        lastAccepted: block.number("known"), value: block.bytes("ratchet"), after: nil)
      let proved = try ProvedCommand(
        block.command(), proving: ReceivedCommand(message).kind,
        from: InstanceID(block.bytes("instance_id")), to: HardwareID(block.bytes("hardware_id")),
        answering: block.challenge(), with: block.secrets(), stepping: ratchet)
      #expect(proved.message == message)
      #expect(proved.nonce.bytes == block.bytes("nonce"))
    case "verdict":
      let answer = try Answer(message)
      #expect(answer.message == message)
      #expect(answer.verdict.rawValue == block.number("verdict"))
      #expect(answer.detail == block.number("detail"))
      #expect(answer.counter == block.number("counter"))
    case "recall":
      let recall = try Recall(message, with: block.deviceSecrets())
      #expect(recall.nonce.bytes == block.bytes("nonce"))
      #expect(recall.counter == block.number("counter"))
    default:
      let status = try HardwareStatus(message)
      #expect(status.message == message)
      #expect(try status.mode == block.mode())
      #expect(status.slotCount == block.number("slots"))
      #expect(status.slotsUsed == block.number("slots_used"))
      #expect(status.epoch ?? 0 == block.time("epoch"))
    }
  }

  @Test("of frames", arguments: Block.read("frame.txt", "frame"))
  func frames(block: Block) throws {
    let packets = try block.message().packets(of: block.number("packet"))
    #expect(packets == block.all("fragment").map { hex($0) })
  }
}
