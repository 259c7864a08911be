// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing
import VectorFiles

/// Inputs that another implementation says must be refused, and why; and a few that must not.
@Suite("Hostile vectors, through Swift")
struct HostileVectorTests {
  @Test("of configurations", arguments: Block.read("hostile_config.txt", "read_config"))
  func configs(block: Block) {
    expect(block) { _ = try MeasurementConfig(block.bytes("config")) }
  }

  @Test("of measurements", arguments: Block.read("hostile_measurement.txt", "measure"))
  func measurements(block: Block) {
    expect(block) {
      let config = try MeasurementConfig(block.bytes("config"))
      var fold = MeasurementFold(under: config, with: try block.key(config.mode))
      for record in try block.records() { try fold.update(record) }
      _ = try fold.finish()
    }
  }

  @Test("of tokens", arguments: Block.read("hostile_token.txt", "open_token"))
  func tokens(block: Block) {
    expect(block) { _ = try block.hardware().open(MeasurementToken(block.bytes("token"))) }
  }

  @Test("of orders", arguments: Block.read("hostile_order.txt", "open_order"))
  func orders(block: Block) {
    expect(block) { _ = try block.hardware().open(SignedOrder(block.bytes("order"))) }
  }

  @Test(
    "of proofs",
    arguments: Block.read(
      "hostile_proof.txt", "check_proof", "check_escort", "check_receipt", "check_recall"))
  func proofs(block: Block) {
    expect(block) {
      switch block["block"] {
      case "check_receipt":
        let verdict: UInt8 = block.number("verdict")
        let detail: UInt16 = block.number("detail")
        let counter: UInt64 = block.number("counter")
        let bytes = [verdict] + little(detail) + little(counter) + block.bytes("receipt")
        let answer = try Answer(Message(.verdict, bytes))
        _ = try Receipt(
          answer, to: ProofNonce(block.bytes("nonce")), with: block.deviceSecrets())
      case "check_recall":
        _ = try Recall(
          Message(.recall, block.bytes("message")), with: block.deviceSecrets())
      default:
        var nonce = try ProofNonce(
          for: HardwareID(block.bytes("hardware_id")), answering: block.challenge(),
          of: block.kind(), block.command())
        if block["block"] == "check_escort" {
          nonce = try nonce.escort(of: Proof(block.bytes("integrity_proof")))
        }
        let measurement = try Measurement(
          integrity: block.secret("measurement"), device: block.secret("measurement"),
          deviceKey: block.secret("key"))
        try ProofKeyState(device: measurement)
          .check(Proof(block.bytes("proof")), for: nonce, of: measurement)
      }
    }
  }

  @Test("of messages", arguments: Block.read("hostile_message.txt", "parse_message"))
  func messages(block: Block) {
    expect(block) {
      let bytes = block.bytes("message")
      guard let type = MessageType(rawValue: block.number("type")) else {
        throw ProofError.malformed("message", byteCount: bytes.count)
      }
      let message = try Message(type, bytes)
      if type == .command { _ = try ReceivedCommand(message) }
      if type == .ask, message != .askForChallenge, message != .askForStatus {
        throw ProofError.tooNew("ask")
      }
    }
  }

  @Test("of grants", arguments: Block.read("hostile_grant.txt", "open_grant"))
  func grants(block: Block) {
    expect(block) {
      let secrets = try HardwareSecrets(
        integrityKey: block.secret("k"), integrity: block.secret("im"),
        deviceKey: block.secret("dpk"), device: block.secret("dm"), form: .diversified)
      let delegation = try Delegation(block.bytes("grant"))
      try delegation.check(
        with: secrets, at: HardwareID(block.bytes("hardware_id")),
        token: TokenDigest(block.bytes("token_digest")))
    }
  }

  @Test("of frames", arguments: Block.read("hostile_frame.txt", "reassemble"))
  func frames(block: Block) throws {
    var reassembler = Reassembler()
    var result: Reassembly?
    for line in block.lines {
      switch line.name {
      case "packet": result = reassembler.receive(hex(line.value))
      case "outcome": #expect(result.map(word) == line.value)
      case "message":
        guard case .complete(let message) = result else {
          Issue.record("no message was completed")
          return
        }
        #expect(message.bytes == hex(line.value))
      default: break
      }
    }
  }

  /// Does what a block is about, and compares what came of it with what should have.
  private func expect(
    _ block: Block, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
  ) {
    var refusal = "none"
    do {
      try body()
    } catch let error as ProofError {
      refusal = word(error, in: block["block"])
    } catch {
      refusal = "\(error)"
    }
    #expect(refusal == block["refusal"], sourceLocation: sourceLocation)
    #expect((refusal == "none") == (block["result"] == "valid"), sourceLocation: sourceLocation)
  }

  private func word(_ reassembly: Reassembly) -> String {
    switch reassembly {
    case .more: "more"
    case .complete: "complete"
    case .repeated: "repeated"
    case .garbage: "garbage"
    case .lost: "lost"
    }
  }

  /// The word of docs/SPEC.md for an error.
  private func word(_ error: ProofError, in block: String) -> String {
    switch error {
    case .malformed where block == "check_receipt": "length"
    case .configForeign: "foreign"
    case .configDamaged: "damaged"
    case .configTooNew, .tooNew: "too-new"
    case .configMalformed: "malformed"
    case .malformed: "malformed"
    case .evidenceNotAskedFor: "not-asked"
    case .evidenceMissing: "missing"
    case .evidenceOutOfOrder, .evidenceRepeated: "disordered"
    case .notForThisHardware: "not-for-me"
    case .notSigned: "not-signed"
    // Hardware without a usable issuer cannot be made here at all.
    case .outOfRange("number of issuers", _, _), .allZeros("issuer public key"): "not-signed"
    case .wrongMode: "wrong-mode"
    case .wrongLength("proof", _, _): "length"
    // A receipt of zeros is no receipt, which this library tells apart.
    case .differs, .unauthenticated: "differs"
    default: "another error: \(error)"
    }
  }
}

/// Dialogues with one piece of hardware, byte for byte.
@Suite("Verifier scripts, through Swift")
struct ScriptTests {
  @Test("end as the second implementation says", arguments: Block.read("verifier.txt", "script"))
  func scripts(block: Block) throws {
    let hardware = try block.hardware()
    let platform = BenchPlatform()
    try Verifier.provision(hardware, on: platform, counter: 1)
    var verifier = try Verifier(hardware, on: platform)
    // Sessions cannot be copied, and so not be in an array.
    var first = VerifierSession()
    var second = VerifierSession()
    var link = 1
    var outcome: Decision?
    var steps = 0
    for line in block.lines {
      switch line.name {
      case "clock": platform.set(seconds: try #require(UInt32(line.value)))
      case "random": platform.script(random: hex(line.value))
      case "link": link = try #require(Int(line.value))
      case "disconnect": if link == 1 { first.disconnect() } else { second.disconnect() }
      case "restart":
        verifier = try Verifier(hardware, on: platform)
        first = VerifierSession()
        second = VerifierSession()
        link = 1
      case "channels": verifier.keepChannels()
      case "grants": try verifier.takeDelegations()
      case "prepare":
        platform.script(random: hex(line.value))
        try verifier.prepareSealedCommands()
        // A pair that is ready draws nothing.
        platform.forgetScript()
      case "send":
        let parts = line.value.split(separator: " ", omittingEmptySubsequences: false)
        let bytes = parts.count > 1 ? hex(parts[1]) : []
        let type = try #require(UInt8(parts[0]))
        if link == 1 {
          outcome = verifier.receive(type: type, bytes, in: &first)
        } else {
          outcome = verifier.receive(type: type, bytes, in: &second)
        }
      case "reply":
        let reply = try #require(outcome?.reply)
        #expect("\(reply.type.rawValue) \(hexadecimal(reply.bytes))" == line.value)
        steps += 1
      default: break
      }
    }
    #expect(steps > 0)
  }

  private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

/// Stored records of the hardware, as docs/SPEC.md, section 12, lays them out.
@Suite("Stored records of the second implementation, through Swift")
struct RecordVectorTests {
  @Test("load", arguments: Block.read("record.txt", "global", "slot"))
  func load(block: Block) throws {
    let record: Int = block["block"] == "global" ? 0 : block.number("number")
    let bytes = block.bytes("bytes")
    let platform = BenchPlatform()
    for copy in 0..<2 { platform.store(bytes, record: record, copy: copy) }
    let records = try CoreRecords(on: platform, secretKey: block.secret("hardware_secret"))
    let loaded = try records.load(record, byteCount: bytes.count - 24)
    #expect(loaded.sequence == block.number("sequence"))
    #expect(copy(loaded.payload) == Array(bytes[8..<bytes.count - 16]))
    guard record > 0 else { return }

    let slot = try CoreSlot(loaded)
    #expect(slot.state.rawValue == block.number("state"))
    #expect(slot.instance?.bytes ?? [UInt8](repeating: 0, count: 16) == block.bytes("instance_id"))
    #expect(slot.integrityClasses.rawValue == block.number("integrity_classes"))
    #expect(slot.deviceClasses.rawValue == block.number("device_classes"))
    #expect(slot.attempts == block.number("attempts"))
    #expect(
      slot.uses == (block["uses"] == "4294967295" ? .unlimited : .limited(block.number("uses"))))
    #expect(slot.generation == block.number("generation"))
    #expect(slot.revoked == block.number("revoked_generation"))
    #expect(slot.notAfter ?? 0 == block.time("not_after"))
    #expect(slot.issued == block.time("issued"))
    #expect(slot.tokenDigest.bytes == block.bytes("token_digest"))
    #expect(slot.lastVerdict?.rawValue ?? 0 == block.number("last_verdict"))
    #expect(slot.lastCounter == block.number("last_counter"))
    #expect(slot.lastNonce == block.bytes("last_nonce"))
    #expect(copy(slot.encoded()) == copy(loaded.payload))
  }
}
