// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofModel
import Synchronization

func grant(_ baseline: BaselineProbe, uses: Uses = .unlimited) throws -> MeasurementGrant {
  let identity: HardwareIdentity = baseline.hardware.identity
  return try MeasurementGrant(
    for: identity.id, instance: baseline.instance, mode: .production,
    integrityClasses: [CommandClasses(1)], deviceClasses: [], attempts: 3,
    uses: uses, generation: baseline.config.generation, issued: 100, notAfter: 200,
    secrets: baseline.measurement.secrets(for: identity.id, with: baseline.key))
}

/// A token of version 2 for hardware with a factory secret; other hardware does not open it.
func probeFactorySecret(_ baseline: BaselineProbe) throws {
  let hardware = baseline.hardware.identity
  let first = try grant(baseline)
  let later = try MeasurementGrant(
    for: first.hardware, instance: first.instance, mode: first.mode,
    integrityClasses: first.integrityClasses, attempts: first.attempts, uses: first.uses,
    generation: first.generation, issued: first.issued, secrets: first.secrets, version: .two)
  try expect(first.version == .one && later.version == TokenVersion.two)
  let secret = try FactorySecret(of: hardware.id, drawn: .random(count: FactorySecret.byteCount))
  try expect(secret.hardware == hardware.id && secret.description.contains("FactorySecret"))
  try expect(secret.customMirror.children.count == 1)
  let features: HardwareFeatures = [
    .tokenVersionTwo, .ratchet, .sealedCommands, .log, .grants, .factorySecret, .upcoming,
    .channels,
  ]
  try expect(later.base == later.generation && !later.isUpcoming)
  try expect(features == .known && HardwareFeatures(rawValue: features.rawValue) == features)
  let sealed = try later.sealed(to: hardware, with: secret, signedBy: baseline.issuer)
  try expect((try? baseline.hardware.open(sealed)) == nil)
}

func probeTokens(_ baseline: BaselineProbe) throws {
  let grant = try grant(baseline, uses: .limited(5))
  let token = try grant.sealed(to: baseline.hardware.identity, signedBy: baseline.issuer)
  let once = try grant.sealed(
    to: HardwareIdentity(
      id: baseline.hardware.identity.id, publicKey: baseline.hardware.identity.publicKey),
    signedBy: .random(), ephemeral: .random(count: 32))
  try expect(try MeasurementToken(token.bytes) == token && token.digest != once.digest)
  try expect(MeasurementToken.byteCount == 288 && token.mayBe(for: grant.hardware))
  try baseline.hardware.checkAddressee(of: token)
  let opened = try baseline.hardware.open(token)
  try expect(opened.instance == grant.instance && opened.mode == grant.mode)
  try expect(opened.integrityClasses == grant.integrityClasses && opened.deviceClasses == [])
  try expect(opened.attempts == 3 && opened.uses == .limited(5) && opened.generation == 2)
  try expect(opened.issued == 100 && opened.notAfter == 200 && opened.secrets.form == .diversified)
  try expect(opened.issuer == baseline.issuer.id && opened.description.contains("grant"))
  try expect(opened.customMirror.children.count == 1 && HardwareKeys.issuerCountMax == 4)
  try expect(baseline.hardware.mode == .production)
  try expect(baseline.hardware.description.contains("HardwareKeys"))
  try expect(baseline.hardware.customMirror.children.count == 1)
  try expect(baseline.issuer.publicKey.id == baseline.issuer.id)
  try expect(baseline.issuer.description.contains("IssuerKey"))
  try expect(baseline.issuer.customMirror.children.count == 1)

  let hardware = baseline.hardware.identity.id
  let actions: [Order.Action] = [
    .epoch(hardware), .revoke(baseline.instance, through: 1, hardware), .floor(hardware),
  ]
  for action in actions {
    let order = try Order(action, issued: 7)
    try expect(Order.epochStep == 34_560_000)
    let signed: SignedOrder = order.signed(by: baseline.issuer)
    try expect(try baseline.hardware.open(SignedOrder(signed.bytes)) == order)
    try expect(order.action == action && order.issued == 7 && SignedOrder.byteCount == 124)
    try expect(signed.message.type == .order)
  }
  let classes = CommandClasses([1, 15] as [CommandClass])
  try expect(classes.rawValue == 0x8002 && CommandClasses(rawValue: 2).isSubset(of: .all))
  try expect(CommandClass(rawValue: 15).map { classes.contains($0) && $0.rawValue == 15 } == true)
}

func probeFrames() throws {
  let message = try Message(.verdict, [1] + [UInt8](repeating: 0, count: 42))
  let packets = try message.packets(of: Frame.packetSizes.lowerBound)
  try expect(try packets.count == Frame.packetCount(of: message, packetSize: 20))
  try expect(try Frame.packetCount(of: .ask, byteCount: 1, packetSize: 20) == 1)
  var fragmenter = try Fragmenter(message, packetSize: 20)
  var reassembler = Reassembler()
  var results: [Reassembly] = []
  while let packet = fragmenter.next() { results.append(reassembler.receive(packet)) }
  try expect(results == [.more, .more, .complete(message)])
  let noise: [UInt8] = [0, 1, 2]
  let ignored = reassembler.receive(noise.span)
  try expect(ignored == .garbage)
  try expect(results.contains(.repeated) == false && results.contains(.lost) == false)
}

func probeMessages(_ baseline: BaselineProbe) throws {
  try expect(MessageType.allCases.allSatisfy { MessageType(rawValue: $0.rawValue) == $0 })
  try expect(
    MessageType.token.fits(288) && Message.askForStatus.bytes != Message.askForChallenge.bytes)
  try expect([MessageType.ask, .challenge, .command, .recall, .status].count == 5)
  let challenge = try Challenge(
    counter: 5, bytes: [UInt8](repeating: 1, count: Challenge.byteCount))
  try expect(try Challenge(challenge.message) == challenge && challenge.bytes.count == 32)
  let command = try Command([1, 2], class: 1)
  try expect(command.bytes.count < Command.byteCountMax && command.commandClass.rawValue == 1)
  let hardware = baseline.hardware.identity.id
  let secrets = baseline.measurement.secrets(for: hardware, with: baseline.key)
  let proved = ProvedCommand(
    command, proving: .integrity, from: baseline.instance, to: hardware, answering: challenge,
    with: secrets)
  try expect(
    proved.nonce
      == ProofNonce(for: hardware, answering: challenge, of: .integrity, command))
  try expect(proved.kind == .integrity && proved.counter == challenge.counter)
  try expect(proved.instance == baseline.instance)
  let received = try ReceivedCommand(proved.message)
  try expect(received.command == command && received.kind == .integrity && received.counter == 5)
  try expect(received.instance == baseline.instance && received.integrityProof != nil)
  try expect(received.deviceProof.bytes.count == Proof.byteCount)

  let answer = Answer(.accepted, detail: 3, counter: 5, to: proved.nonce, with: secrets)
  try expect(try Answer(answer.message) == answer && !answer.isHint)
  try expect(answer.verdict == .accepted && answer.detail == 3 && answer.counter == 5)
  let receipt = try proved.receipt(of: answer)
  try expect(try receipt == Receipt(answer, to: proved.nonce, with: secrets))
  try expect(receipt.verdict == .accepted && receipt.detail == 3 && receipt.counter == 5)
  try expect(receipt.usesLeft == 3 && receipt.attemptsLeft == nil && receipt.nonce == proved.nonce)
  try expect(answer.refusal == nil && receipt.refusal == nil)
  let stale = Answer(.stale, detail: 2, counter: 5, to: proved.nonce, with: secrets)
  try expect(stale.refusal == .otherChallenge && stale.refusal?.code == "LOCK-18.2")
  let recall = Recall(of: proved.nonce, counter: 5, from: baseline.instance, with: secrets)
  try expect(recall.message == proved.recall.message && recall.nonce == proved.nonce)
  let opened = try Recall(recall.message, with: secrets)
  try expect(opened.counter == 5 && opened.instance == baseline.instance)
  try expect(try recall.outcome(of: answer) == .accepted(receipt))
  try expect([Outcome.notExecuted, .unknown].allSatisfy { !$0.isAccepted })
  try expect(Question.allCases == [.token, .command, .order, .recall, .delegation])
}

/// The least that hardware must provide.
final class LeastPlatform: Platform {
  private let areas = Mutex<[StorageArea: [UInt8]]>([:])

  var seconds: (@Sendable () -> UInt32)? { nil }

  func fillRandom(_ bytes: inout MutableSpan<UInt8>) throws(PlatformFailure) {
    for index in bytes.indices { bytes[index] = .random(in: .min ... .max) }
  }

  func read(_ bytes: inout MutableSpan<UInt8>, from area: StorageArea) throws(PlatformFailure) {
    // Blank storage is all zeros.
    let stored = areas.withLock { $0[area] } ?? []
    for index in bytes.indices { bytes[index] = index < stored.count ? stored[index] : 0 }
  }

  func write(_ bytes: Span<UInt8>, to area: StorageArea) throws(PlatformFailure) {
    let copied = bytes.indices.map { bytes[$0] }
    guard copied.count <= StorageArea.byteCountMax, area.record < 2 * StorageArea.recordCount,
      area.copy < 2
    else { throw PlatformFailure() }
    areas.withLock { $0[area] = copied }
  }
}

func probeVerifier(_ baseline: BaselineProbe) throws {
  let platform = LeastPlatform()
  try Verifier.provision(baseline.hardware, on: platform, floor: 1, counter: 2)
  let verifier = try Verifier(baseline.hardware, on: platform)
  var session = VerifierSession()
  let hardware = baseline.hardware.identity.id
  let secrets = baseline.measurement.secrets(for: hardware, with: baseline.key)
  let token = try grant(baseline).sealed(to: baseline.hardware.identity, signedBy: baseline.issuer)
  let held = try Answer(verifier.receive(token.message, in: &session).reply)
  try expect(try token.receipt(of: held, with: secrets).usesLeft == nil)

  let command = try Command([9], class: 1)
  let asked = verifier.receive(type: MessageType.ask.rawValue, [1], in: &session)
  let proved = ProvedCommand(
    command, proving: .integrity, from: baseline.instance, to: hardware,
    answering: try Challenge(asked.reply), with: secrets)
  let outcome: Decision = verifier.receive(proved.message, in: &session)
  let execution: Decision.Execution? = outcome.execution
  try expect(execution?.command == command && execution?.kind == .integrity)
  try expect(outcome.verdict == .accepted && outcome.instance == baseline.instance)
  try expect(outcome.verdict?.isSuccess == true && outcome.verdict?.advice(to: .command) == .done)
  session.disconnect()

  let status: HardwareStatus = verifier.status
  let told = try HardwareStatus(verifier.receive(.askForStatus, in: &session).reply)
  try expect(told == status && status.message.type == .status)
  try expect(status.mode == .production && status.hardware == hardware && status.slotCount == 8)
  try expect(status.slotsUsed == 1 && status.epoch == 100 && verifier.epoch == 100)
}

func probeErrors() throws {
  do throws(ProofError) {
    _ = try ProofNonce([1, 2, 3])
    try! expect(false)
  } catch {
    try expect(error == .wrongLength(of: "proof nonce", expected: 16...16, actual: 3))
    try expect(error.description.contains("3 bytes"))
  }
  try expect(Verdict.allCases.allSatisfy { !$0.description.isEmpty })
  try expect(Advice.allCases.allSatisfy { !$0.description.isEmpty })
}

struct Collector: EvidenceCollector {
  func collect(for config: MeasurementConfig) throws(ProofError) -> EvidenceSet {
    do {
      return try evidence().collect(for: config)
    } catch {
      throw .evidenceUnavailable(reason: "\(error)")
    }
  }
}

func probeProver(_ baseline: BaselineProbe) throws {
  let prover = Prover(config: baseline.config, collector: Collector(), key: baseline.key)
  try expect(prover.config == baseline.config && prover.difference().isEmpty)
  let challenge = try Challenge(counter: 1, bytes: [UInt8](repeating: 1, count: 32))
  let hardware = baseline.hardware.identity.id
  let proved = try prover.prove(
    Command([1], class: 1), .integrity, from: baseline.instance, to: hardware,
    answering: challenge)
  try expect(proved.counter == 1)
  try expect(try !prover.hasChanged(since: proved, at: hardware))
  let token = try grant(baseline).sealed(to: baseline.hardware.identity, signedBy: baseline.issuer)
  let secrets = baseline.measurement.secrets(for: hardware, with: baseline.key)
  let nonce = try ProofNonce(token.digest.bytes)
  let held = Answer(.held, to: nonce, with: secrets)
  try expect(try prover.receipt(of: held, to: token, for: hardware).verdict == .held)
  try probeProofs(of: prover, baseline)
  try probeLending(by: prover, baseline)
}

func probeProofs(of prover: Prover<Collector>, _ baseline: BaselineProbe) throws {
  let nonce = ProofNonce.random()
  try expect(
    try prover.integrityMeasurementProof(nonce: nonce)
      == baseline.measurement.proof(of: .integrity, for: nonce, with: baseline.key))
  try expect(
    try prover.deviceMeasurementProof(nonce: nonce.bytes)
      == baseline.measurement.proof(of: .device, for: nonce, with: baseline.key))
  try expect(MeasurementProofKey.sdk.id.bytes.count == KeyID.byteCount)
}
