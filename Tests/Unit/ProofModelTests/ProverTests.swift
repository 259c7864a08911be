// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofModel
import Synchronization
import Testing

@Suite("A prover")
struct ProverTests {
  @Test("makes the proofs that the measurement makes", arguments: ProofKind.allCases)
  func proofs(kind: ProofKind) throws {
    let world = try World()
    let prover = Prover(config: world.config, collector: world.evidence, key: world.key)
    let nonce = ProofNonce.random()
    let proof =
      try kind == .integrity
      ? prover.integrityMeasurementProof(nonce: nonce.bytes)
      : prover.deviceMeasurementProof(nonce: nonce.bytes)
    #expect(proof == world.measurement.proof(of: kind, for: nonce, with: world.key))
  }

  @Test("refuses a nonce that has not 16 bytes", arguments: [0, 1, 15, 17, 32, 4096])
  func nonceLength(count: Int) throws {
    let world = try World()
    let prover = Prover(config: world.config, collector: world.evidence, key: world.key)
    let nonce = [UInt8](repeating: 1, count: count)
    let error = ProofError.wrongLength(of: "proof nonce", expected: 16...16, actual: count)
    #expect(throws: error) { try prover.integrityMeasurementProof(nonce: nonce) }
    #expect(throws: error) { try prover.deviceMeasurementProof(nonce: nonce) }
  }

  @Test("proves commands that the hardware accepts, and believes its answers")
  func link() throws {
    let world = try World()
    let prover = Prover(config: world.config, collector: world.evidence, key: world.key)
    var link = Link(try world.verifier())
    let hardware = world.hardware.identity.id
    let token = try world.token(world.grant())
    let answer = try link.present(token)
    #expect(try prover.receipt(of: answer, to: token, for: hardware).verdict == .held)
    for kind in ProofKind.allCases {
      let proved = try prover.prove(
        ringBell, kind, from: world.instance, to: hardware, answering: link.challenge())
      let receipt = try proved.receipt(of: Answer(link.send(proved.message).reply))
      #expect(receipt.verdict.isSuccess)
    }
  }

  @Test("after an update of the SDK says so for integrity, and still proves the device")
  func updatedSDK() throws {
    let world = try World()
    let key = try MeasurementProofKey(.random(count: 16), mode: .production)
    let prover = Prover(config: world.config, collector: world.evidence, key: key)
    let error = ProofError.configForOtherKey(config: world.key.id, key: key.id)
    #expect(throws: error) { try prover.integrityMeasurementProof(nonce: .random()) }
    let challenge = try Challenge(counter: 1, bytes: [UInt8](repeating: 1, count: 32))
    let hardware = world.hardware.identity.id
    #expect(throws: error) {
      try prover.prove(
        ringBell, .integrity, from: world.instance, to: hardware, answering: challenge)
    }
    let nonce = ProofNonce.random()
    #expect(
      try prover.deviceMeasurementProof(nonce: nonce)
        == world.measurement.proof(of: .device, for: nonce, with: world.key))
    var link = Link(try world.verifier())
    _ = try link.present(world.token(world.grant()))
    let proved = try prover.prove(
      ringBell, .device, from: world.instance, to: hardware, answering: link.challenge())
    #expect(link.send(proved.message).verdict == .acceptedDeviceOnly)
  }

  @Test("measures afresh at every call")
  func fresh() throws {
    let world = try World()
    let collector = CountingCollector(evidence: world.evidence)
    let prover = Prover(config: world.config, collector: collector, key: world.key)
    let nonce = ProofNonce.random()
    let before = try prover.integrityMeasurementProof(nonce: nonce)
    #expect(try prover.integrityMeasurementProof(nonce: nonce) == before)
    #expect(try prover.difference().isEmpty)
    collector.replace(with: try World.evidence(changing: "settings"))
    #expect(try prover.integrityMeasurementProof(nonce: nonce) != before)
    #expect(try prover.difference().changes.count == 1)
    #expect(collector.count == 5)
  }

  @Test("sends a proof only after the collector has looked again and released it")
  func released() throws {
    let world = try World()
    let collector = CountingCollector(evidence: world.evidence)
    let prover = Prover(config: world.config, collector: collector, key: world.key)
    var link = Link(try world.verifier())
    _ = try link.present(world.token(world.grant()))
    let hardware = world.hardware.identity.id
    func verdict(_ kind: ProofKind) throws -> Verdict? {
      let proved = try prover.prove(
        ringBell, kind, from: world.instance, to: hardware, answering: link.challenge())
      return link.send(proved.message).verdict
    }
    #expect(try verdict(.integrity) == .accepted)
    // The first proof of an integrity command, the second, and a literal one.
    collector.spoil(release: 0)
    #expect(try verdict(.integrity) == .integrityDiffers)
    collector.spoil(release: 1)
    #expect(try verdict(.integrity) == .deviceDiffers)
    collector.spoil(release: 0)
    #expect(try verdict(.device) == .deviceDiffers)
    let nonce = ProofNonce.random()
    let right = try prover.integrityMeasurementProof(nonce: nonce)
    collector.spoil(release: 0)
    #expect(try prover.integrityMeasurementProof(nonce: nonce) != right)
    #expect(try prover.integrityMeasurementProof(nonce: nonce) == right)
  }

  @Test("throws what its collector throws")
  func failingCollector() throws {
    struct Failing: EvidenceCollector {
      func collect(for config: MeasurementConfig) throws(ProofError) -> EvidenceSet {
        throw .evidenceUnavailable(reason: "the disk is gone")
      }
    }
    let prover = Prover(config: try World().config, collector: Failing(), key: try World().key)
    #expect(throws: ProofError.evidenceUnavailable(reason: "the disk is gone")) {
      try prover.integrityMeasurementProof(nonce: .random())
    }
  }
}

@Suite("The SDK's key")
struct SDKKeyTests {
  @Test("works through the generated code, and the same each time")
  func works() throws {
    let key = MeasurementProofKey.sdk
    #expect(key.id == MeasurementProofKey.sdk.id)
    #expect(key.id.bytes[0] == key.mode.rawValue)
    let evidence = try World.evidence()
    let draft = try BaselineDraft(salt: .random(), sources: World.sources())
    let config = try MeasurementConfig(baseline: evidence, draft, with: key)
    #expect(config.keyID == key.id)
    let prover = Prover(config: config, collector: evidence)
    let nonce = ProofNonce.random()
    let measurement = try Measurement(of: evidence, under: config, with: key)
    #expect(
      try prover.integrityMeasurementProof(nonce: nonce)
        == ProofKeyState(integrity: key).proof(for: nonce, of: measurement))
  }
}

/// Counts its calls, and can change its mind.
private final class CountingCollector: EvidenceCollector {
  private let state: Mutex<(evidence: EvidenceSet, count: Int)>
  private let spoiled = Mutex(-1)

  init(evidence: EvidenceSet) { state = Mutex((evidence, 0)) }

  func collect(for config: MeasurementConfig) throws(ProofError) -> EvidenceSet {
    state.withLock { state in
      state.count += 1
      return state.evidence
    }
  }

  /// Sees something new when it is asked to release, so many releases from now.
  func spoil(release: Int) { spoiled.withLock { $0 = release } }

  func release(_ proof: inout Proof, after previous: Proof?) throws(ProofError) {
    let spoils = spoiled.withLock { left in
      left -= 1
      return left == -1
    }
    if spoils { proof = try Proof([UInt8](repeating: 7, count: Proof.byteCount)) }
  }

  func replace(with evidence: EvidenceSet) { state.withLock { $0.evidence = evidence } }

  var count: Int { state.withLock { $0.count } }
}
